#!/usr/bin/env bats
# How a boot is judged by its logs: made-up logs, the real parser.
load helper
setup() {
	setup_copy
	src=$main_cache/src/test
	out=$work/out
	mkdir -p "$out"
	kernel_log
	job_log
}
teardown() { teardown_copy; }

# kernel_log: what a good boot prints, KUnit's results within.
kernel_log() {
	cat >"$out/kernel.log" <<-'LOG'
		[    0.000000] Linux version 7.3.4
		[    1.000000] KTAP version 1
		[    1.000000] 1..1
		[    1.000000]     KTAP version 1
		[    1.000000]     # Subtest: suite
		[    1.000000]     1..2
		[    1.000000]     ok 1 first
		[    1.000000]     ok 2 second # SKIP no such thing here
		[    1.000000] # suite: pass:1 fail:0 skip:1 total:2
		[    1.000000] ok 1 suite
		[    2.000000] Run /init as init process
	LOG
}

# job_log: what a good run of two test programs prints.
job_log() {
	cat >"$out/job.log" <<-'LOG'
		guest: begin
		TAP version 13
		1..3
		# timeout set to 120
		# selftests: perf_events: one
		# TAP version 13
		# 1..2
		# # Starting 2 tests from 1 test cases.
		# ok 1 global.a
		# ok 2 global.b
		# # Totals: pass:2 fail:0 xfail:0 xpass:0 skip:0 error:0
		ok 1 selftests: perf_events: one
		# timeout set to 120
		# selftests: sched: plain
		# hello
		ok 2 selftests: sched: plain
		# timeout set to 120
		# selftests: sched: absent
		# TAP version 13
		# 1..0 # SKIP needs a thing
		ok 3 selftests: sched: absent # SKIP
		# Totals: pass:2 fail:0 xfail:0 xpass:0 skip:1 error:0
		guest: end 0
	LOG
}

results() {
	[ -x "$src/tools/testing/kunit/kunit.py" ] || skip "no kernel tree in the cache yet: 'make run' makes one"
	run "$repo/scripts/results.sh" x86_64 "$src" "$out"
}

row() { awk -F'\t' -v s="$1" '$2 == s { print $3, $4, $5 }' "$out/results.tsv"; }

@test "good logs pass, and every result is counted" {
	run "$repo/scripts/log-check.sh" x86_64 "$out"
	[ "$status" -eq 0 ]
	results
	cat "$out/results.tsv"
	[ "$status" -eq 0 ]
	[ "$(row suite)" = "1 0 1" ]
	[ "$(row 'selftests: perf_events: one')" = "2 0 0" ]
	[ "$(row 'selftests: sched: plain')" = "1 0 0" ]
	[ "$(row 'selftests: sched: absent')" = "0 0 1" ]
	grep -q 'needs a thing' "$out/results.tsv"
	grep -q 'no such thing here' "$out/results.tsv"
	xmlstarlet val -q "$out/kunit.xml" "$out/kselftest.xml"
}

@test "every kind of complaint by the kernel fails the boot" {
	while IFS= read -r line; do
		kernel_log
		echo "[    3.000000] $line" >>"$out/kernel.log"
		run "$repo/scripts/log-check.sh" x86_64 "$out"
		[[ "$output" == *"the kernel complains: "* ]] || { echo "not noticed: $line"; false; }
		one_line "$out/kernel.log"
	done <<-'LINES'
		Kernel panic - not syncing: Fatal exception
		Oops: general protection fault, probably for non-canonical address
		BUG: kernel NULL pointer dereference, address: 0000000000000000
		BUG: KASAN: slab-use-after-free in perf_event_task
		BUG: KCSAN: data-race in a / b
		BUG: sleeping function called from invalid context at kernel/x.c:1
		WARNING: kernel/events/core.c:123 at perf_foo+0x1/0x2, CPU#0: a/1
		WARNING: possible circular locking dependency detected
		INFO: task perf:12 blocked for more than 120 seconds.
		watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [perf:12]
		rcu: INFO: rcu_preempt detected stalls on CPUs/tasks
		UBSAN: array-index-out-of-bounds in kernel/x.c:1:2
		kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
		kmemleak: unreferenced object 0xff11000001234560 (size 64):
		Unable to handle kernel paging request at virtual address 0
		ODEBUG: free active (active state 0) object type: hrtimer
		Out of memory: Killed process 12 (a)
	LINES
}

# json FILE EXPRESSION: what Python makes of it, with the content as j.
json() { python3 -c "import json, sys; j = json.load(open(sys.argv[1])); print($2)" "$out/$1"; }

@test "results as KernelCI has them: every case with its status" {
	results
	[ "$status" -eq 0 ]
	[ "$(json kunit.json 'j["name"], j["arch"]')" = "kunit x86_64" ]
	[ "$(json kunit.json '[(c["name"], c["status"]) for c in j["sub_groups"][0]["test_cases"]]')" = "[('first', 'PASS'), ('second', 'SKIP')]" ]
	[ "$(json kselftest.json '[g["name"] for g in j["sub_groups"]]')" = "['selftests: perf_events: one']" ]
	[ "$(json kselftest.json '[c["status"] for c in j["test_cases"]]')" = "['PASS', 'SKIP']" ]
	sed -i -e 's/^# ok 2 global.b/# not ok 2 global.b/' -e 's/^ok 1 .*/not ok 1 selftests: perf_events: one # exit=1/' "$out/job.log"
	results
	[ "$(json kselftest.json '[c["status"] for c in j["sub_groups"][0]["test_cases"]]')" = "['PASS', 'FAIL']" ]
	[ "$(json kselftest.json 'j["misc"]["failed"]')" = 1 ]
}

@test "a log cut short" {
	sed -i '/guest: end/d' "$out/job.log"
	run "$repo/scripts/log-check.sh" x86_64 "$out"
	one_line "cut short"
}

@test "a guest that never came to its job" {
	: >"$out/job.log"
	run "$repo/scripts/log-check.sh" x86_64 "$out"
	one_line "did not get as far as its job"
}

@test "a job that failed" {
	sed -i 's/guest: end 0/guest: end 3/' "$out/job.log"
	run "$repo/scripts/log-check.sh" x86_64 "$out"
	one_line "ended with status 3"
}

@test "a hang" {
	HANG=1 LIMIT=60 run "$repo/scripts/log-check.sh" x86_64 "$out"
	one_line "the guest hangs: not done after 60 s"
}

@test "a failed subtest fails" {
	sed -i -e 's/^# ok 2 global.b/# not ok 2 global.b/' -e 's/^ok 1 .*/not ok 1 selftests: perf_events: one # exit=1/' "$out/job.log"
	results
	[ "$status" -eq 1 ]
	[ "$(row 'selftests: perf_events: one')" = "1 1 0" ]
}

@test "a program that fails without results of its own fails" {
	sed -i 's/^ok 2 .*/not ok 2 selftests: sched: plain # exit=1/' "$out/job.log"
	results
	[ "$status" -eq 1 ]
	[ "$(row 'selftests: sched: plain')" = "0 1 0" ]
}

@test "what a test said that fails is shown, and not what others said" {
	sed -i -e 's/^# ok 1 global.a/# # a.c:1:a:fine\n&/' \
		-e 's/^# ok 2 global.b/# # b.c:7:b:Expected 1 (1) == n (2)\n# not ok 2 global.b/' \
		-e 's/^ok 1 sel.*/not ok 1 selftests: perf_events: one # exit=1/' "$out/job.log"
	results
	[ "$status" -eq 1 ]
	[[ "$output" == *$'what the tests said that failed:\n# b.c:7:b:Expected 1 (1) == n (2)\n[FAILED] global.b'* ]]
	[[ "$output" != *"a.c:1:a:fine"* ]]
}

@test "a program whose results pass and which then exits with an error fails" {
	sed -i 's/^ok 1 sel.*/not ok 1 selftests: perf_events: one # exit=139/' "$out/job.log"
	results
	[ "$status" -eq 1 ]
	awk -F'\t' '{ f += $4 } END { exit !f }' "$out/results.tsv"
}

@test "fewer subtests than planned fail" {
	sed -i '/^# ok 2 global.b/d' "$out/job.log"
	results
	[ "$status" -eq 1 ]
	awk -F'\t' '{ f += $4 } END { exit !f }' "$out/results.tsv"
}

@test "fewer test programs than planned fail" {
	sed -i '/^ok 3/d' "$out/job.log"
	results
	[ "$status" -eq 1 ]
	awk -F'\t' '{ f += $4 } END { exit !f }' "$out/results.tsv"
}

@test "fewer KUnit cases than planned fail" {
	sed -i '/ok 2 second/d' "$out/kernel.log"
	results
	[ "$status" -eq 1 ]
	awk -F'\t' '{ f += $4 } END { exit !f }' "$out/results.tsv"
}

@test "no plan, no results at all" {
	printf 'guest: begin\nguest: end 0\n' >"$out/job.log"
	results
	one_line "no KTAP"
}

@test "the table adds up and tells the reasons" {
	results
	run "$repo/scripts/table.sh" "$out/results.tsv"
	[ "$status" -eq 0 ]
	[[ "$output" == *"together"*"4"*"0"*"2"* ]]
	[[ "$output" == *"needs a thing"* ]]
}

@test "a verdict that a program left no newline for is read all the same" {
	sed -i -e '/^# hello/d' -e 's/^ok 2 .*/# hello not ok 2 selftests: sched: plain # exit=1/' "$out/job.log"
	results
	[ "$status" -eq 1 ]
	[ "$(row 'selftests: sched: plain')" = "0 1 0" ]
	[ "$(row 'selftests: perf_events: one')" = "2 0 0" ]
}

@test "what fails on the base too is shown apart, and fails nothing else" {
	printf 'x86_64-debug\tselftests: perf_events: one\tin another boot\n' >"$repo/scripts/known-failures"
	sed 's/^# ok 2 global.b/# not ok 2 global.b/' "$out/job.log" >"$work/job.log"
	cp "$work/job.log" "$out/job.log"
	results
	[ "$status" -eq 1 ]
	job_log
	printf 'x86_64\tselftests: perf_events: one\tfor a reason\n' >"$repo/scripts/known-failures"
	sed -i -e '/^# ok 2 global.b/d' -e 's/^ok 1 sel.*/not ok 1 selftests: perf_events: one # exit=1/' "$out/job.log"
	results
	cat "$out/results.tsv"
	[ "$status" -eq 0 ]
	[ "$(row 'selftests: perf_events: one')" = "0 0 0" ]
	grep -q 'known to fail: for a reason' "$out/results.tsv"
	# OUT is called "out"
	printf 'out\tselftests: perf_events: one\tin this boot\n' >"$repo/scripts/known-failures"
	results
	[ "$status" -eq 0 ]
	grep -q 'known to fail: in this boot' "$out/results.tsv"
}
