#!/usr/bin/env bats
# Guests that go wrong on purpose: the kernel that 'make run' built, other jobs.
load helper
setup() {
	setup_copy
	export QUIETPERF_CACHE=$main_cache
	obj=$main_cache/src/test/obj-x86_64-test
	[ -f "$obj/rootfs.cpio.gz" ] || skip "no kernel in the cache yet: 'make run' makes one"
	out=$work/out
	# One processor: with more, QEMU now and then loses a change of code (see run.sh).
	export LIMIT=120 SMP=1
}
teardown() { teardown_copy; }

boot() {
	cat >"$work/job"
	run "$repo/scripts/boot.sh" x86_64 "$obj" "$work/job" "$out"
	echo "$output"
	no_qemu
}

no_qemu() {
	! pgrep -f "path=$out/kernel.log" >/dev/null || {
		echo "a QEMU is left behind"
		return 1
	}
}

@test "a guest that does its job" {
	boot <<<'echo hello'
	[ "$status" -eq 0 ]
	grep -q '^hello' "$out/job.log"
}

@test "a guest whose job fails" {
	boot <<<'exit 3'
	one_line "ended with status 3"
}

@test "a guest that panics" {
	boot <<<'echo PANIC >/sys/kernel/debug/provoke-crash/DIRECT'
	one_line "the kernel complains: Kernel panic"
}

@test "a guest that warns and goes on" {
	boot <<<'echo WARNING >/sys/kernel/debug/provoke-crash/DIRECT; echo on; true'
	one_line "the kernel complains: "
	grep -q '^guest: end 0' "$out/job.log"
}

@test "a guest that oopses" {
	boot <<<'echo EXCEPTION >/sys/kernel/debug/provoke-crash/DIRECT'
	one_line "the kernel complains: "
}

@test "a guest that hangs" {
	LIMIT=15 boot <<<'sleep 1000'
	one_line "the guest hangs: not done after 15 s"
}

@test "a test program that hangs is ended with all that it started" {
	boot <<-'JOB'
		echo 'exit 4' >/tmp/skips
		echo 'sleep 777 & sleep 777' >/tmp/hangs
		/usr/bin/timeout --foreground 9 /usr/bin/timeout 9 sh /tmp/skips
		echo "skips: $?"
		/usr/bin/timeout --foreground 2 /usr/bin/timeout 2 sh /tmp/hangs | cat
		/usr/bin/timeout 2 sh /tmp/hangs
		echo "hangs: $?"
		sleep 1
		echo "left: $(pidof sleep | wc -w)"
	JOB
	[ "$status" -eq 0 ]
	grep -q '^skips: 4' "$out/job.log"
	grep -q '^hangs: 124' "$out/job.log"
	grep -q '^left: 0' "$out/job.log"
}

@test "a guest that goes away in the middle" {
	boot <<<'echo half; reboot -f'
	one_line "cut short"
}

@test "a kernel that is none" {
	mkdir -p "$work/obj/arch/x86/boot"
	head -c 4096 /dev/zero >"$work/obj/arch/x86/boot/bzImage"
	cp "$obj/rootfs.cpio.gz" "$work/obj/"
	echo true >"$work/job"
	LIMIT=10 run "$repo/scripts/boot.sh" x86_64 "$work/obj" "$work/job" "$out"
	[ "$status" -eq 1 ]
	no_qemu
}

@test "Ctrl-C leaves no QEMU behind" {
	echo 'sleep 1000' >"$work/job"
	# A job of its own, as a terminal would have it.
	setsid "$repo/scripts/boot.sh" x86_64 "$obj" "$work/job" "$out" 2>/dev/null 3>&- &
	leader=$!
	for _ in $(seq 100); do
		[ -s "$out/job.log" ] && break
		sleep 0.2
	done
	pgrep -f "path=$out/kernel.log"
	kill -INT -- "-$leader"
	wait "$leader" || true
	sleep 0.5
	no_qemu
}
