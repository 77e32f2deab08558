#!/usr/bin/env bats
# Benchmarks: what is said, and that no results are left, when something is missing.
load helper
setup() {
	setup_copy
	# Guests that give each case the figure 100, or what the test says instead.
	stand_in setup.sh <<<'exit 0'
	stand_in base.sh <<<'echo repo base'
	stand_in test-only.sh <<<'echo "$1"'
	stand_in series.sh <<<'echo commit'
	stand_in worktree.sh <<<'echo "/nowhere/$3"'
	stand_in build.sh <<<'echo "$3/obj"'
	stand_in rootfs.sh <<<'exit 0'
	stand_in perf.sh <<<'echo perf'
	stand_in boot.sh <<-'SCRIPT'
		mkdir -p "$4"
		awk "/^run / { mock = \$3 ~ /mock/ ? \"-mock\" : \"\"; for (i = 4; i <= NF; i++) print \$i mock, 100, \"ns\" }" "$3" >"$4/job.log"
		[ "$2" != /nowhere/bench-patched/obj-arm64-bench ] || sed -i "${BATS_EDIT:-}" "$4/job.log"
	SCRIPT
	results=$repo/build/bench/results.tsv
	mkdir -p "${results%/*}"
	echo old >"$results"
}
teardown() {
	teardown_copy
}

@test "bench: all figures, and their ratios" {
	command -v gnuplot >/dev/null || skip "no gnuplot: 'make bench' installs it"
	BATS_EDIT='/^fork.16 /s/100/40/' ONLY=fork run "$repo/scripts/bench.sh"
	[ "$status" -eq 0 ]
	[ "$(head -n 1 "$results")" = $'arch\tcase\tkernel\tvalue\tunit' ]
	# Eight cases, twice each, on two architectures and two kernels
	[ "$(wc -l <"$results")" -eq 65 ]
	grep -qx $'arm64\tfork/16-mock\tpatched\t100\tns' "$results"
	grep -qE '^arm64 +fork/16 +100 +40 +ns +0.400$' <<<"$output"
	[ -s "$repo/build/bench/fork-arm64.svg" ]
}

@test "bench: an unknown case is named" {
	ONLY='fork nope/1' run "$repo/scripts/bench.sh"
	one_line "there is no case or family 'nope/1'"
}

@test "bench: a case that one kernel does not give is named, and nothing is written" {
	BATS_EDIT='/^fork.16 /d' ONLY=fork run "$repo/scripts/bench.sh"
	one_line "arm64: the patched kernel gives no figure for fork/16:"
	[ ! -e "$results" ]
}

@test "bench: the reason why a case is missing is told" {
	BATS_EDIT='s/^fork.16 .*/bench_fork: needs something/' ONLY=fork run "$repo/scripts/bench.sh"
	one_line "no figure for fork/16 (bench_fork: needs something)"
}

@test "bench: a kernel that does not boot leaves no results" {
	stand_in boot.sh <<<'echo "boot.sh: x86_64: the guest hangs" >&2; exit 1'
	run "$repo/scripts/bench.sh"
	one_line "the guest hangs"
	[ ! -e "$results" ]
}

@test "bench: a patch is only tests if it changes nothing else" {
	git -C "$work" init -q
	mkdir -p "$work/tools/testing" "$work/kernel/events"
	touch "$work/tools/testing/a" "$work/kernel/events/core.c"
	git -C "$work" add tools kernel
	echo 1 >"$work/tools/testing/a"
	git -C "$work" diff -- tools >"$work/1.patch"
	echo 1 >"$work/kernel/events/core.c"
	git -C "$work" diff -- tools kernel >"$work/2.patch"
	printf '%s\n' '#ifdef CONFIG_X_KUNIT_TEST' '#include "tests/x.c"' '#endif' >"$work/kernel/events/core.c"
	git -C "$work" diff -- tools kernel >"$work/3.patch"
	run "$top/scripts/test-only.sh" "$work/1.patch" "$work/2.patch" "$work/3.patch"
	[ "$status" -eq 0 ]
	[ "$output" = "$work/1.patch"$'\n'"$work/3.patch" ]
}
