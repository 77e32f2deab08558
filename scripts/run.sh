#!/usr/bin/env bash
# Usage: [ARCH=] [KDIR=] [BASE=] [SERIES=none] run.sh
# The main job: base, series, kernel, boot, KUnit and kselftests, one table.
# From the environment: ARCH (x86_64 or arm64), KDIR (the caller's git tree),
# BASE (a tarball), SERIES=none (the tree as it is, without patches/).
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments: ARCH=, KDIR=, BASE= and SERIES= come from the environment"
ARCH=${ARCH:-x86_64}
arch_vars "$ARCH"
# Twice what the tests take under emulation on a busy machine.
export LIMIT=${LIMIT:-1200}

lock
read -r src obj < <(ARCH=$ARCH "$TOP/scripts/kernel.sh") || exit 1

out=$BUILD/$ARCH${OUT_SUFFIX:-}
rm -f "$out"/*.tsv "$out"/*.xml "$out"/*.json
say "booting $ARCH"
boot=0 tests=0
hangs=$(awk -F'\t' -v arch="$ARCH" '$1 == arch && $3 ~ /^hangs/ { sub(/.*: /, "", $2); print $2 }' "$TOP/scripts/known-failures" | paste -sd,)
run_tests() {
	APPEND="quietperf.hangs=$hangs ${APPEND:-}" "$TOP/scripts/boot.sh" "$ARCH" "$obj" "$TOP/qemu/jobs/kselftest.sh" "$out"
}
run_tests || { lost_code "$ARCH" "$out/kernel.log" && run_tests; } || boot=1
# Also of a guest that ended badly: what it got done is told.
"$TOP/scripts/results.sh" "$ARCH" "$src" "$out" || tests=1
[ ! -s "$out/results.tsv" ] || "$TOP/scripts/table.sh" "$out/results.tsv"
say "logs and JUnit XML: $out"
[ "$boot" -eq 0 ] || die "$ARCH: the boot failed, see above"
[ "$tests" -eq 0 ] || die "$ARCH: tests failed, see above"
