#!/usr/bin/env bash
# Usage: [ARCH=] [ONLY=] [KDIR=] [BASE=] debug.sh
# KUnit and the kselftests on kernels that watch themselves, with four CPUs: one with
# lockdep, KASAN, kmemleak and their like, one with KCSAN; emulated in a thread each, for
# races that are real. Afterwards, in the same boot, the stress tests for so long, all
# three at once, and so many random calls by a test of the series and by trinity. From
# the environment: ARCH (both if left out), ONLY (debug or kcsan), STRESS (seconds, 600;
# 0 for none), FUZZ and TRINITY (calls, 20000 each; 0 for none), SEED (another one each
# time), THREADS (single: all CPUs in one thread, on a busy machine), KDIR, BASE, SERIES
# as for run.sh.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments: ARCH=, ONLY=, KDIR=, BASE= and SERIES= come from the environment"
read -ra arches <<<"${ARCH:-x86_64 arm64}"
for arch in "${arches[@]}"; do arch_vars "$arch"; done
read -ra kinds <<<"${ONLY:-debug kcsan}"
for kind in "${kinds[@]}"; do
	case $kind in
	debug | kcsan) ;;
	*) die "ONLY: unknown '$kind': debug and kcsan are there" ;;
	esac
done
stress=${STRESS:-600} fuzz=${FUZZ:-20000} trinity=${TRINITY:-20000} long='' extra=''
[ "$stress" = 0 ] || long+=" quietperf.stress=$stress"
[ "$fuzz" = 0 ] || long+=" quietperf.fuzz=$fuzz"
[ "$trinity" = 0 ] || long+=" quietperf.trinity=$trinity"
[ -z "${SEED:-}" ] || long+=" quietperf.seed=$SEED"
failed=
# slab_debug=Z, for kmemleak: else a slab keeps stale pointers to what was allocated last.
for arch in "${arches[@]}"; do
	[ "$trinity" = 0 ] || extra=$("$TOP/scripts/trinity.sh" "$arch")
	for kind in "${kinds[@]}"; do
		say "== $arch, $kind"
		EXTRA=$extra ARCH=$arch PURPOSE=test-$kind OUT_SUFFIX=-$kind SMP=4 THREADS=${THREADS:-multi} MEM=2G LIMIT=${LIMIT:-$((5400 + stress))} \
			APPEND="quietperf.limit=900 quietperf.debug=1 slab_debug=Z$long ${APPEND:-}" "$TOP/scripts/run.sh" || failed+=" $arch-$kind"
	done
done
[ -z "$failed" ] || die "failed:$failed, see above"
