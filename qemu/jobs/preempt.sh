# Run in the guest under -icount, with preempt=MODE: who is charged between a wakeup and
# the switch, by KUnit at boot and by the selftests. Only what needs two CPUs, or a PMU,
# may skip, and only where there is none.
mode=$(tr ' ' '\n' </proc/cmdline | sed -n 's/^preempt=//p')
results=/sys/kernel/debug/kunit/sched_rq_clock/results
result=0 nr=0

check() { # check NAME CMD...
	name=$1
	shift
	nr=$((nr + 1))
	if "$@" >/tmp/log 2>&1; then
		echo "ok $nr $name"
	else
		cat /tmp/log
		echo "not ok $nr $name"
		result=1
	fi
}

in_mode() {
	cat /sys/kernel/debug/sched/preempt
	grep -qF "($mode)" /sys/kernel/debug/sched/preempt
}

kunit() {
	cat $results
	grep -q '^ok .*sched_rq_clock' $results && ! grep -q 'not ok' $results || return 1
	[ "$(nproc)" -eq 1 ] || ! grep -q SKIP $results
}

wakeup_time() {
	/kselftest/sched/wakeup_time >/tmp/wakeup_time
	status=$?
	cat /tmp/wakeup_time
	[ $status -eq 0 ] && ! grep -q SKIP /tmp/wakeup_time
}

where="preempt=$mode, CPUs: $(nproc)"
check "$where: mode" in_mode
check "$where: KUnit sched_rq_clock" kunit
check "$where: wakeup_time" wakeup_time
check "$where: traced_time" /kselftest/sched/traced_time
exit $result
