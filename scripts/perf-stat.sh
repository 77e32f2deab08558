#!/usr/bin/env bash
# 'perf stat -a -A -G' of the series' perf in the x86_64 guest that run.sh has built,
# in virtual time: qemu/jobs/perf-stat.sh tells what it has to print.
. "$(dirname "$0")/lib.sh"
[ $# -eq 0 ] || die "takes no arguments: KDIR=, BASE= and SERIES= come from the environment"
"$TOP/scripts/setup.sh" /usr/include/traceevent/event-parse.h:libtraceevent-dev
lock
src=$("$TOP/scripts/source.sh")
EXTRA=$("$TOP/scripts/perf.sh" "$src")
export EXTRA
ICOUNT=1 SMP=2 "$TOP/scripts/boot.sh" x86_64 "$src/obj-x86_64-test" "$TOP/qemu/jobs/perf-stat.sh" "$BUILD/x86_64-perf-stat"
