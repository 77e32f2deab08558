# Run in the guest under -icount, with the series' perf as a program: what 'perf stat
# -a -A -G' prints for a CPU-wide event and one on a cgroup, against the time that
# passed and the usage in the cgroup's cpu.stat. 1 %, which virtual time makes sharp.
cgroup=/sys/fs/cgroup/perf_stat
result=0 nr=0
mkdir $cgroup || exit 1
# Linux without the series needs it for events on cgroups.
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control

cat >/tmp/work <<'WORK'
[ "$1" = outside ] || echo $$ >/sys/fs/cgroup/perf_stat/cgroup.procs
sleep 0.1
sed -n 's/^usage_usec //p' /sys/fs/cgroup/perf_stat/cpu.stat >/tmp/before
i=0
while [ $i -lt 20000 ]; do i=$((i + 1)); done
exit 0
WORK

# check NAME VALUE WANT: both in milliseconds, or both a text.
check() {
	nr=$((nr + 1))
	if awk -v v="$2" -v w="$3" 'BEGIN {
		if (w !~ /^[0-9.]+$/ || v !~ /^[0-9.]+$/) exit v != w
		exit !(w > 0 && v >= w * 0.99 && v <= w * 1.01)
	}'; then
		echo "ok $nr $1: $2"
	else
		echo "not ok $nr $1: $2, should be $3"
		result=1
	fi
}

# parse CPU: what perf stat printed for it; sets wide, inside and elapsed.
parse() {
	wide=$(awk -F, -v cpu="$1" '$1 == cpu && $4 == "cpu-clock" && $5 == "" { print $2 }' /tmp/stat)
	inside=$(awk -F, -v cpu="$1" '$1 == cpu && $4 == "cpu-clock" && $5 == "perf_stat" { print $2 }' /tmp/stat)
	elapsed=$(awk -F, '$4 ~ /duration_time/ { print $2 / 1e6 }' /tmp/stat)
}

# measure WHERE OPTION...: perf stat over the work, on CPU 0; sets usage as well.
measure() {
	where=$1
	shift
	perf stat -a -A -x, -o /tmp/stat "$@" -e cpu-clock,cpu-clock,duration_time -G ,perf_stat, -- \
		taskset 1 sh /tmp/work "$where" 2>/tmp/err || cat /tmp/err
	usage=$(awk -v before="$(cat /tmp/before)" '$1 == "usage_usec" { print ($2 - before) / 1000 }' $cgroup/cpu.stat)
	parse CPU0
}

measure outside
check "outside: the CPU-wide event counts what passed" "$wide" "$elapsed"
check "outside: the event on the cgroup does not count" "$inside" "<not counted>"
measure inside
check "inside: the CPU-wide event counts what passed" "$wide" "$elapsed"
check "inside: the event on the cgroup counts its usage" "$inside" "$usage"
parse CPU1
check "inside: the CPU-wide event of the other CPU counts what passed" "$wide" "$elapsed"
check "inside: the cgroup's event of the other CPU does not count" "$inside" "<not counted>"
# Enabled while the cgroup exists and nothing in it runs.
measure inside -D 50
check "enabled later: the event on the cgroup counts its usage" "$inside" "$usage"

# Enabled from one CPU while a task of the cgroup runs on another, and all the time.
sh -c 'echo $$ >/sys/fs/cgroup/perf_stat/cgroup.procs; exec taskset 2 sh -c "while :; do :; done"' &
sleep 0.1
taskset 1 perf stat -C 1 -A -x, -o /tmp/stat -e cpu-clock,duration_time -G perf_stat, -- sleep 1
parse CPU1
check "enabled while it runs: the event on the cgroup counts what passed" "$inside" "$elapsed"
kill -KILL $!
wait
rmdir $cgroup
exit $result
