#!/usr/bin/env bats
# Faults on purpose, one for each of the sanitizers of 'make debug': a kernel that has
# them must not pass. LKDTM, a test or qemu/faults makes them, in one guest of each of
# the two kernels, one after the other; each report is then judged alone.
load helper

setup_file() {
	setup_copy
	for kind in debug kcsan; do
		obj=$main_cache/src/test/obj-x86_64-test-$kind out=$BATS_FILE_TMPDIR/$kind
		[ -f "$obj/rootfs.cpio.gz" ] && [ -f "$obj/Module.symvers" ] || continue
		mkdir "$out"
		EXTRA=$(QUIETPERF_CACHE=$main_cache "$repo/scripts/faults.sh" x86_64 "$main_cache/src/test" "$obj")
		export EXTRA
		${kind}_job >"$work/job"
		boot
		# With two processors, which core scheduling needs, QEMU now and then loses a
		# change of code (see run.sh).
		! grep -q 'Oops: int3' "$out/kernel.log" || boot
	done
	teardown_copy
}

# boot: KASAN tells of the first fault alone if it is not asked for more; slab_debug is as
# in 'make debug'.
boot() {
	QUIETPERF_CACHE=$main_cache LIMIT=${LIMIT:-600} SMP=2 MEM=2G THREADS=multi \
		APPEND='kunit.enable=0 kasan_multi_shot slab_debug=Z' \
		"$repo/scripts/boot.sh" x86_64 "$obj" "$work/job" "$out" \
		>"$out/verdict" 2>&1 3>&- || echo "status $?" >>"$out/verdict"
}

setup() { setup_copy; }
teardown() { teardown_copy; }

# provoke NAME: a task that makes a fault, and may die of it; fault NAME: the module does.
provoke() { echo "sh -c 'echo $1 >/sys/kernel/debug/provoke-crash/DIRECT'"; }
fault() { echo "insmod /usr/bin/faults.ko fault=$1 2>/dev/null"; }

# debug_job: in an order in which none keeps another one from being told. Lockdep ends
# with its first report but that of RCU, and with the first one of KASAN.
debug_job() {
	cat <<-'JOB'
		echo WARN_DOUBLE_CLOCK >/sys/kernel/debug/sched/features
		(cd /kselftest/sched && ./cs_prctl_test >/dev/null 2>&1)
		echo NO_WARN_DOUBLE_CLOCK >/sys/kernel/debug/sched/features
	JOB
	fault rcu
	fault timer
	fault sleep
	fault leak
	# The scan is that of the job of 'make debug'.
	sed -n '/^leaks=/,/^fi$/p' "$repo/qemu/jobs/kselftest.sh"
	fault lock-order
	provoke ARRAY_BOUNDS
	provoke CORRUPT_LIST_ADD
	provoke SLAB_LINEAR_OVERFLOW
	provoke READ_AFTER_FREE
	echo true
}

kcsan_job() {
	fault race
	echo true
}

# reported KIND PATTERN: that kernel has said so, and the judge fails a boot for this alone.
reported() {
	local line out=$BATS_FILE_TMPDIR/$1
	[ -s "$out/verdict" ] || skip "no $1 kernel in the cache yet: 'make debug ARCH=x86_64' makes one"
	line=$(grep -m1 -E "$2" "$out/kernel.log") || {
		cat "$out/verdict"
		echo "no report of '$2'"
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

# guest_fails KIND
guest_fails() {
	local verdict=$BATS_FILE_TMPDIR/$1/verdict
	[ -s "$verdict" ] || skip "no $1 kernel in the cache yet: 'make debug ARCH=x86_64' makes one"
	cat "$verdict"
	grep -q 'the kernel complains: ' "$verdict"
	grep -q '^status 1' "$verdict"
}

@test "the guest with the faults does not pass, debug kernel" { guest_fails debug; }

@test "the guest with the faults does not pass, KCSAN" { guest_fails kcsan; }

@test "KASAN: a write behind an object" {
	reported debug 'BUG: KASAN: slab-out-of-bounds in'
}

@test "KASAN: a read of an object that is free" {
	reported debug 'BUG: KASAN: slab-use-after-free in'
}

@test "DEBUG_LIST: a corrupted list" {
	reported debug 'list_add corruption'
}

@test "UBSAN: an index behind an array" {
	reported debug 'UBSAN: array-index-out-of-bounds in'
}

@test "PROVE_LOCKING: two locks in both orders" {
	reported debug 'WARNING: possible circular locking dependency detected'
}

@test "PROVE_RCU: a pointer read without a reader" {
	reported debug 'WARNING: suspicious RCU usage'
}

@test "DEBUG_ATOMIC_SLEEP: a task that may sleep with a spinlock" {
	reported debug 'BUG: sleeping function called from invalid context'
}

@test "DEBUG_OBJECTS: the memory of a timer that is on its way is freed" {
	reported debug 'ODEBUG: free active'
}

@test "kmemleak: objects that nobody points to" {
	reported debug 'kmemleak: [0-9]+ new suspected memory leaks'
	grep -A3 '^guest: kmemleak: unreferenced object 0x[0-9a-f]* (size 64)' "$BATS_FILE_TMPDIR/debug/job.log" | grep insmod
}

@test "WARN_DOUBLE_CLOCK: core scheduling sets it off, with and without the series" {
	reported debug 'WARNING: (kernel/sched/core.c:[0-9]+|.*update_rq_clock)'
}

@test "KCSAN: two tasks count in one variable" {
	reported kcsan 'BUG: KCSAN: data-race in'
}
