#!/usr/bin/env bats
# Faults on purpose, one for each of the sanitizers of 'make debug': a kernel that has
# them must not pass. Where LKDTM or a test can make the fault, one guest of the debug
# kernel makes them all, one after the other, and each report is then judged alone;
# where nothing in the kernel can (its own selftests of these are quiet), the report is
# given to the judge as the kernel prints it, and the test's name says so.
load helper

setup_file() {
	setup_copy
	obj=$main_cache/src/test/obj-x86_64-test-debug
	if [ -f "$obj/rootfs.cpio.gz" ]; then
		job >"$work/job"
		boot
		# With two processors, which core scheduling needs, QEMU now and then loses a
		# change of code (see run.sh).
		! grep -q 'Oops: int3' "$BATS_FILE_TMPDIR/kernel.log" || boot
	fi
	teardown_copy
}

# boot: KASAN tells of the first fault alone if it is not asked for more.
boot() {
	QUIETPERF_CACHE=$main_cache LIMIT=${LIMIT:-600} SMP=2 MEM=2G \
		APPEND='kunit.enable=0 kasan_multi_shot' \
		"$repo/scripts/boot.sh" x86_64 "$obj" "$work/job" "$BATS_FILE_TMPDIR" \
		>"$BATS_FILE_TMPDIR/verdict" 2>&1 3>&- || echo "status $?" >>"$BATS_FILE_TMPDIR/verdict"
}

setup() { setup_copy; }
teardown() { teardown_copy; }

# provoke NAME: a task that makes a fault, and may die of it.
provoke() { echo "sh -c 'echo $1 >/sys/kernel/debug/provoke-crash/DIRECT'"; }

# job: in an order in which none keeps another one from being told. Lockdep ends with
# the first report of KASAN.
job() {
	cat <<-'JOB'
		echo WARN_DOUBLE_CLOCK >/sys/kernel/debug/sched/features
		(cd /kselftest/sched && ./cs_prctl_test >/dev/null 2>&1)
		echo NO_WARN_DOUBLE_CLOCK >/sys/kernel/debug/sched/features
	JOB
	provoke ARRAY_BOUNDS
	provoke CORRUPT_LIST_ADD
	provoke SPINLOCKUP
	provoke SLAB_LINEAR_OVERFLOW
	provoke READ_AFTER_FREE
	echo true
}

# reported PATTERN: the kernel has said so, and the judge fails a boot for this alone.
reported() {
	local line
	[ -s "$BATS_FILE_TMPDIR/verdict" ] || skip "no debug kernel in the cache yet: 'make debug ARCH=x86_64' makes one"
	line=$(grep -m1 -E "$1" "$BATS_FILE_TMPDIR/kernel.log") || {
		cat "$BATS_FILE_TMPDIR/verdict"
		echo "no report of '$1'"
		return 1
	}
	judged "$(sed 's/^\[[^]]*\] //' <<<"$line" | tr -d '\r')"
}

# judged LINE: a log that is good but for this line fails, by that line's name.
judged() {
	local log=$work/judged
	mkdir -p "$log"
	printf '[    1.000000] Linux version 7.3.4\n[    2.000000] %s\n' "$1" >"$log/kernel.log"
	printf 'guest: begin\nguest: end 0\n' >"$log/job.log"
	run "$repo/scripts/log-check.sh" x86_64 "$log"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"the kernel complains: $1"* ]]
}

@test "the guest with the faults does not pass" {
	[ -s "$BATS_FILE_TMPDIR/verdict" ] || skip "no debug kernel in the cache yet: 'make debug ARCH=x86_64' makes one"
	cat "$BATS_FILE_TMPDIR/verdict"
	grep -q 'the kernel complains: ' "$BATS_FILE_TMPDIR/verdict"
	grep -q '^status 1' "$BATS_FILE_TMPDIR/verdict"
}

@test "KASAN: a write behind an object" {
	reported 'BUG: KASAN: slab-out-of-bounds in'
}

@test "KASAN: a read of an object that is free" {
	reported 'BUG: KASAN: slab-use-after-free in'
}

@test "DEBUG_LIST: a corrupted list" {
	reported 'list_add corruption'
}

@test "UBSAN: an index behind an array" {
	reported 'UBSAN: array-index-out-of-bounds in'
}

@test "lockdep: back to user space with a spinlock" {
	reported 'WARNING: lock held when returning to user space'
}

@test "DEBUG_ATOMIC_SLEEP: the same task goes on" {
	reported 'BUG: (sleeping function called from invalid context|scheduling while atomic)'
}

@test "WARN_DOUBLE_CLOCK: core scheduling sets it off, with and without the series" {
	reported 'WARNING: (kernel/sched/core.c:[0-9]+|.*update_rq_clock)'
}

@test "as printed, not provoked: PROVE_LOCKING, PROVE_RCU, DEBUG_OBJECTS, kmemleak, KCSAN" {
	judged 'kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)'
	judged 'kmemleak: unreferenced object 0xff11000001234560 (size 64):'
	judged 'WARNING: possible circular locking dependency detected'
	judged 'WARNING: possible recursive locking detected'
	judged 'WARNING: inconsistent lock state'
	judged 'WARNING: suspicious RCU usage'
	judged 'ODEBUG: free active (active state 0) object: 0000000000000000 object type: hrtimer hint: 0x0'
	judged 'BUG: KCSAN: data-race in perf_event_task_tick / perf_event_update_time'
}
