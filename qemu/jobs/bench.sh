# Run in the guest. The host adds a line for each program: run PROGRAM EVENT CASE...
# What fails leaves figures out, and the host misses them.

# Kernels without the fix know no events on cgroups before any controller is enabled.
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
# Let what booting leaves behind come to its end.
sleep 2

# record EVENT CASE...: what perf itself causes when it records the whole system.
record() {
	shift
	cd /tmp
	perf record -e 'raw_syscalls:*,sched:sched_switch' -a -o perf.data -- sleep 1 >perf.log 2>&1 ||
		{ echo "record: $(tail -n 1 perf.log)"; return; }
	for name; do
		case $name in
		*-bytes) echo "$name $(stat -c %s perf.data) bytes" ;;
		*-perf-events) echo "$name $(perf report -i perf.data --stdio -q -s comm -F sample,comm 2>/dev/null |
			awk '$2 == "perf" { n += $1 } END { print n + 0 }') events" ;;
		esac
	done
	cd /
	rm -f /tmp/perf.*
}

run() {
	[ "$1" != record ] || { shift; record "$@"; return; }
	# perf leaves its hooks in the scheduler for a second after the last event.
	sleep 2
	program=/kselftest/$1
	event=$2
	shift 2
	"$program" ${event:+-e "$event"} "$@"
}

