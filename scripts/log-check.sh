#!/usr/bin/env bash
# Usage: [HANG=1] log-check.sh ARCH OUT
# Judge a boot by OUT/kernel.log and OUT/job.log: complaints of the kernel, a hang,
# a log cut short, a job that failed.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 2 ] || die "usage: log-check.sh ARCH OUT"
arch=$1 out=$2

# What a kernel prints when something is wrong with it.
complaints='Kernel panic|Oops|BUG:|WARNING:|INFO: (possible|trying to register|rcu|task .* blocked|inconsistent)'
complaints+='|rcu: INFO|soft lockup|hard LOCKUP|UBSAN:|kmemleak: [1-9][0-9]* new|kmemleak: unreferenced object|KTAP .*truncated|DEBUG_LOCKS_WARN_ON'
complaints+='|suspicious RCU usage|general protection fault|Unable to handle kernel|stack-protector:|refcount_t:'
complaints+='|list_(add|del) corruption|ODEBUG:|possible recursive locking|Out of memory:'

bad() {
	say "--- the last lines of $2:"
	tail -n "${3:-15}" "$2" >&2
	die "$arch: $1: the whole log is $2"
}
if line=$(grep -m1 -E "$complaints" "$out/kernel.log"); then
	say "--- from the first complaint on:"
	grep -m1 -A 40 -E "$complaints" "$out/kernel.log" >&2
	die "$arch: the kernel complains: ${line#*] }: the whole log is $out/kernel.log"
fi
if [ "${HANG:-0}" = 1 ]; then
	say "--- the last lines of $out/job.log:"
	tail -n 5 "$out/job.log" >&2
	bad "the guest hangs: not done after ${LIMIT:-?} s" "$out/kernel.log"
fi
grep -q '^guest: begin' "$out/job.log" || bad "the guest did not get as far as its job" "$out/kernel.log"
end=$(tr -d '\r' <"$out/job.log" | sed -n 's/^guest: end //p')
[ -n "$end" ] || bad "the guest's log is cut short: no 'guest: end'" "$out/job.log"
[ "$end" = 0 ] || bad "the guest's job ended with status $end" "$out/job.log"
