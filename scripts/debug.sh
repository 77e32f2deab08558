#!/usr/bin/env bash
# Usage: [ARCH=] [ONLY=] [KDIR=] [BASE=] debug.sh
# KUnit and the kselftests on kernels that watch themselves, with four CPUs: one with
# lockdep, KASAN, kmemleak and their like, one with KCSAN. From the environment:
# ARCH (both if left out), ONLY (debug or kcsan), KDIR, BASE, SERIES as for run.sh.
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
failed=
for arch in "${arches[@]}"; do
	for kind in "${kinds[@]}"; do
		say "== $arch, $kind"
		ARCH=$arch PURPOSE=test-$kind OUT_SUFFIX=-$kind SMP=4 MEM=2G LIMIT=${LIMIT:-3600} \
			APPEND="quietperf.limit=900 ${APPEND:-}" "$TOP/scripts/run.sh" || failed+=" $arch-$kind"
	done
done
[ -z "$failed" ] || die "failed:$failed, see above"
