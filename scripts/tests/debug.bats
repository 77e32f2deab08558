#!/usr/bin/env bats
# Faults on purpose, one for each of the sanitizers of 'make debug': a kernel that has
# them must not pass. Where LKDTM can make the fault, a guest of the debug kernel does;
# where nothing in the kernel can (its own selftests of these are quiet), the report is
# fed to the judge as the kernel would print it, and the test says so.
load helper
setup() {
	setup_copy
	export QUIETPERF_CACHE=$main_cache
	obj=$main_cache/src/test/obj-x86_64-test-debug
	out=$work/out
	# One processor: with more, QEMU now and then loses a change of code (see run.sh).
	export LIMIT=240 SMP=1 MEM=2G
}
teardown() { teardown_copy; }

# boot: the job of stdin on the debug kernel; it has to fail.
boot() {
	[ -f "$obj/rootfs.cpio.gz" ] || skip "no debug kernel in the cache yet: 'make debug ARCH=x86_64' makes one"
	cat >"$work/job"
	run "$repo/scripts/boot.sh" x86_64 "$obj" "$work/job" "$out"
	echo "$output"
	[ "$status" -eq 1 ]
}

# provoke NAME: a job that lets LKDTM make a fault, and goes on after an oops.
provoke() {
	echo 'echo 0 >/proc/sys/kernel/panic_on_oops'
	echo "sh -c 'echo $1 >/sys/kernel/debug/provoke-crash/DIRECT'"
	echo 'true'
}

# reported PATTERN: the kernel has said so, and the judge fails a boot for this alone.
reported() {
	local line
	line=$(grep -m1 -E "$1" "$out/kernel.log") || {
		echo "no report of '$1'"
		return 1
	}
	judged "${line#*] }"
}

# judged LINE: a log that is good but for this line fails, by that line's name.
judged() {
	local log=$work/judged
	mkdir -p "$log"
	printf '[    1.000000] Linux version 7.3.4\n[    2.000000] %s\n' "$1" >"$log/kernel.log"
	printf 'guest: begin\nguest: end 0\n' >"$log/job.log"
	run "$repo/scripts/log-check.sh" x86_64 "$log"
	[ "$status" -eq 1 ]
	[[ "$output" == *"the kernel complains: $1"* ]]
}

@test "a debug kernel without a fault passes" {
	[ -f "$obj/rootfs.cpio.gz" ] || skip "no debug kernel in the cache yet: 'make debug ARCH=x86_64' makes one"
	echo true >"$work/job"
	run "$repo/scripts/boot.sh" x86_64 "$obj" "$work/job" "$out"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "KASAN: a write behind an object, and a read of one that is free" {
	boot < <(provoke SLAB_LINEAR_OVERFLOW; provoke READ_AFTER_FREE)
	reported 'BUG: KASAN: slab-out-of-bounds in'
	reported 'BUG: KASAN: slab-use-after-free in'
}

@test "DEBUG_LIST: a corrupted list" {
	boot < <(provoke CORRUPT_LIST_ADD)
	reported 'list_add corruption'
}

@test "UBSAN: an index behind an array" {
	boot < <(provoke ARRAY_BOUNDS)
	reported 'UBSAN: array-index-out-of-bounds in'
}

@test "lockdep and DEBUG_ATOMIC_SLEEP: back to user space with a spinlock" {
	# It ends in a kernel that cannot go on: either that is the report, or these are.
	boot < <(provoke SPINLOCKUP)
	reported 'WARNING: lock held when returning to user space'
	reported 'BUG: (sleeping function called from invalid context|scheduling while atomic)'
}

@test "kmemleak: memory that a task which died had" {
	boot < <(
		provoke EXEC_KMALLOC
		# What the selftests' job does at its end
		sed -n '/^leaks=/,$p' "$repo/qemu/jobs/kselftest.sh"
	)
	reported 'kmemleak: [1-9][0-9]* new suspected memory leaks'
	reported 'kmemleak: unreferenced object'
}

@test "WARN_DOUBLE_CLOCK: core scheduling sets it off, with and without the series" {
	boot <<-'JOB'
		echo WARN_DOUBLE_CLOCK >/sys/kernel/debug/sched/features
		cd /kselftest/sched && ./cs_prctl_test >/dev/null 2>&1
		true
	JOB
	reported 'WARNING: kernel/sched/core.c:[0-9]+'
}

@test "as printed, not provoked: PROVE_LOCKING, PROVE_RCU, DEBUG_OBJECTS, KCSAN" {
	judged 'WARNING: possible circular locking dependency detected'
	judged 'WARNING: possible recursive locking detected'
	judged 'WARNING: inconsistent lock state'
	judged 'WARNING: suspicious RCU usage'
	judged 'ODEBUG: free active (active state 0) object: (____ptrval____) object type: hrtimer hint: 0x0'
	judged 'BUG: KCSAN: data-race in perf_event_task_tick / perf_event_update_time'
}

