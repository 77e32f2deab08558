#!/usr/bin/env bash
# Usage: virtual-time.sh ARCH JOB
# What needs a clock that nothing disturbs, in the guest that run.sh has built, under
# QEMU's -icount. JOB is one of qemu/jobs:
# groups: more groups of events than the PMU has room for, and their samples;
# preempt: who is charged for a wakeup, in each mode of preemption, with one CPU and two;
# perf-stat, on x86_64: what 'perf stat -a -A -G' prints, with the series' perf;
# traced-time, on arm64, where a PMU counts instructions: the CPU time of a traced process.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 2 ] || die "usage: virtual-time.sh ARCH JOB"
arch=$1 job=$2
arch_vars "$arch"
[ -r "$TOP/qemu/jobs/$job.sh" ] || die "there is no qemu/jobs/$job.sh"
"$TOP/scripts/setup.sh"
lock
src=$("$TOP/scripts/source.sh")

# boot OUT CPUS [APPEND]
boot() {
	ICOUNT=1 SMP=$2 APPEND=${3:-} "$TOP/scripts/boot.sh" "$arch" "$src/obj-$arch-test" \
		"$TOP/qemu/jobs/$job.sh" "$BUILD/$arch-$1"
}

case $job in
preempt)
	for mode in full lazy; do
		for cpus in 1 2; do
			boot "$job-$mode-$cpus" "$cpus" "preempt=$mode kunit.filter_glob=sched_rq_clock" ||
				die "$arch: failed with preempt=$mode, see above"
		done
	done
	;;
perf-stat)
	EXTRA=$("$TOP/scripts/perf.sh" "$src")
	export EXTRA
	boot "$job" 2
	;;
*) boot "$job" 2 ;;
esac
