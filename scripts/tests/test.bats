#!/usr/bin/env bats
# What CI runs, with stand-ins for its steps: those beside others count as well, and what
# fails in any of them is a failure of the whole.
load helper
setup() {
	setup_copy
	mkdir "$repo/.ci"
	cp "$top/.ci/run" "$repo/.ci/"
	rm "$repo"/scripts/tests/*
	printf '#!/usr/bin/env bats\n@test "one" { true; }\n@test "two" { skip "not here"; }\n' >"$repo/scripts/tests/small.bats"
	for script in setup kernel perf check-series virtual-time kunit lava; do
		stand_in $script.sh <<<'exit 0'
	done
	mkdir "$work/bin"
	ln -s /bin/true "$work/bin/shellcheck"
	PATH=$work/bin:$PATH
	stand_in source.sh <<<"echo $work/src"
	stand_in run.sh <<-'SCRIPT'
		mkdir -p "$(dirname "$0")/../build/$ARCH"
		printf '%s\tsuite\t3\t0\t1\t\n' "$ARCH" >"$(dirname "$0")/../build/$ARCH/results.tsv"
	SCRIPT
	stand_in perf-test.sh <<<'echo "4 passed, 0 failed, 0 skipped"'
	# shellcheck, the series, both kernels: built, run, with kunit.py; LAVA; in virtual
	# time groups and preemption on both, traced-time on arm64; perf built, perf stat
	# and perf record on x86_64 hosts only.
	steps=14 perf=0
	[ "$(uname -m)" != x86_64 ] || steps=16 perf=4
}
teardown() { teardown_copy; }

@test "test: each step, each test of a guest and of perf is counted once" {
	run "$repo/scripts/test.sh"
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = "$((steps + 2 * 3 + 1 + perf)) passed, 0 failed, 3 skipped" ]
}

@test "test: a step beside the others that fails is told, with what it said, and fails the whole" {
	stand_in virtual-time.sh <<<'[ "$1 $2" != "arm64 groups" ] || { echo "a group waits"; exit 3; }'
	run "$repo/scripts/test.sh"
	[ "$status" -eq 1 ]
	[[ "$output" == *"a group waits"*"not ok arm64: many groups"* ]]
	[[ "${lines[-1]}" == *" passed, 1 failed, 3 skipped" ]]
}

@test "test: a step beside the others that is killed has failed" {
	stand_in virtual-time.sh <<<'[ "$1 $2" != "arm64 preempt" ] || kill -9 $PPID'
	run "$repo/scripts/test.sh"
	[ "$status" -eq 1 ]
	[[ "$output" == *"not ok arm64: modes of preemption"* ]]
}

@test "test: an interrupt ends the steps beside the others too" {
	stand_in virtual-time.sh <<<"[ \$2 = perf-stat ] || { echo \$\$ >$work/beside; exec sleep 100; }"
	stand_in kunit.sh <<<"echo \$\$ >$work/run; exec sleep 100"
	"$repo/scripts/test.sh" >"$work/out" 2>&1 &
	while [ ! -s "$work/beside" ] || [ ! -s "$work/run" ]; do sleep 0.1; done
	kill $!
	kill "$(cat "$work/run")"
	wait $! || true
	# Whoever inherits it may take its time to collect it.
	for _ in $(seq 50); do
		grep -qs '^State:[[:space:]]*[^Z]' "/proc/$(cat "$work/beside")/status" || return 0
		sleep 0.1
	done
	false
}
