#!/usr/bin/env bash
# Usage: virtual-time.sh ARCH
# What needs a clock that nothing disturbs, in the guest that run.sh has built, under
# QEMU's -icount with two CPUs: on x86_64 what 'perf stat -a -A -G' prints, with the
# series' perf; on arm64, where a PMU counts instructions, the CPU time of a traced
# process.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 1 ] || die "usage: virtual-time.sh ARCH"
arch=$1
arch_vars "$arch"
case $arch in
x86_64) job=perf-stat ;;
arm64) job=traced-time ;;
esac
"$TOP/scripts/setup.sh"
lock
src=$("$TOP/scripts/source.sh")
if [ "$job" = perf-stat ]; then
	EXTRA=$("$TOP/scripts/perf.sh" "$src")
	export EXTRA
fi
ICOUNT=1 SMP=2 "$TOP/scripts/boot.sh" "$arch" "$src/obj-$arch-test" "$TOP/qemu/jobs/$job.sh" "$BUILD/$arch-$job"
