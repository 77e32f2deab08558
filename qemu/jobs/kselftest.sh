# Run in the guest: every installed kselftest, through the kernel's own runner. With
# quietperf.debug=1 on the command line, with the scheduler's check of its clock; with
# quietperf.stress=SECONDS, quietperf.fuzz=CALLS and quietperf.trinity=CALLS, that much of
# each afterwards.
# A failed test is the results' matter, not the job's: -f.
cd /kselftest || exit 1
word() { # the value of quietperf.NAME= on the kernel's command line
	tr ' ' '\n' </proc/cmdline | sed -n "s/^quietperf\.$1=//p"
}
limit=$(word limit)
skip=
if [ -n "$(word debug)" ]; then
	# Core scheduling, which that test is about, sets this off by itself.
	echo WARN_DOUBLE_CLOCK >/sys/kernel/debug/sched/features && skip=sched:cs_prctl_test
fi
./run_kselftest.sh -f ${limit:+-o "$limit"} ${skip:+-S "$skip"}

# What these print is told to the host, and no result of the kselftests.
status=0
seed=$(word seed)
seed=${seed:-$(date +%s)}
long() {
	what=$1
	shift
	"$@" >"/tmp/$what" 2>&1
	echo "guest: $what: seed $seed, status $?" >>"/tmp/$what"
}
if [ -n "$(word stress)" ]; then
	PERF_EVENTS_SECONDS=$(word stress)
	export PERF_EVENTS_SECONDS PERF_EVENTS_SEED="$seed"
	for test in tree storm rotation; do
		long "$test" perf_events/stress -t "$test" &
	done
	wait
fi
[ -z "$(word fuzz)" ] || long fuzz perf_events/fuzz "$seed" "$(word fuzz)"
# Opening events, and ioctl() on these.
trinity() {
	mkdir /tmp/trinity-files && cd /tmp/trinity-files || return
	/usr/bin/trinity --dangerous -q -q -l off -C 4 -a 64 -s "$seed" -N "$(word trinity)" \
		-c perf_event_open -c ioctl --enable-fds=perf --stats
}
[ -z "$(word trinity)" ] || long trinity trinity
for what in tree storm rotation fuzz trinity; do
	[ -e "/tmp/$what" ] || continue
	sed '/^guest: /!s/^/guest: /' "/tmp/$what"
	grep -q "^guest: $what: .* status 0$" "/tmp/$what" || status=1
done

# What leaked, where the kernel can tell: it complains on the console, with the number; here
# is what and where from.
leaks=/sys/kernel/debug/kmemleak
if [ -e $leaks ]; then
	# An object must look lost twice, and be older than 5 s.
	sleep 6
	echo scan >$leaks
	echo scan >$leaks
	sed 's/^/guest: kmemleak: /' $leaks
fi
exit $status
