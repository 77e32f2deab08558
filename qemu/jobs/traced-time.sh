# Run in the guest under -icount: there the test has a truth to go by, so it must not skip.
/kselftest/sched/traced_time >/tmp/log
status=$?
cat /tmp/log
if grep -q SKIP /tmp/log; then
	exit 1
fi
exit $status
