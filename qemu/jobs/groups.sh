# Run in the guest under -icount: more groups of events than the PMU has room for. Here
# no test has a reason to skip, and events with a frequency have to keep to it.
freq=4000
result=0 nr=0

cd /kselftest/perf_events || exit 1
./groups >/tmp/log || result=1
cat /tmp/log
if grep -q SKIP /tmp/log; then
	result=1
fi

# rate EVENT: samples in a second that an event is on the PMU, after its first 100 ms.
rate() {
	for groups in 1 14; do
		nr=$((nr + 1))
		rate=$(./bench_lock -e "$1" "lock/$groups-samples" | awk '{ print $2 }')
		if [ "${rate:-0}" -ge $((freq * 8 / 10)) ] && [ "$rate" -le $((freq * 12 / 10)) ]; then
			echo "ok $nr samples of $1, groups: $groups: $rate"
		else
			echo "not ok $nr samples of $1, groups: $groups: $rate, should be $freq"
			result=1
		fi
	done
}

rate mock
# x86_64 has no PMU here.
[ "$(uname -m)" = x86_64 ] || rate cycles
exit $result
