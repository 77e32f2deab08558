#!/usr/bin/env bats
# Verbs whose kernels take long, with stand-ins for what they build and boot: what is
# asked for, and that a failure is one.
load helper
setup() {
	setup_copy
	for script in setup rootfs; do
		stand_in $script.sh <<<'exit 0'
	done
	stand_in source.sh <<<"mkdir -p $work/src; echo $work/src"
	stand_in build.sh <<<"mkdir -p $work/src; echo $work/src/obj"
}
teardown() { teardown_copy; }

@test "debug: both kernels on both architectures, with stress and random calls" {
	stand_in run.sh <<<'echo "run $ARCH $PURPOSE $SMP: $APPEND; $EXTRA"'
	stand_in trinity.sh <<<'echo "trinity for $1"'
	SEED=7 run "$repo/scripts/debug.sh"
	[ "$status" -eq 0 ]
	[ "$(grep -c '^run ' <<<"$output")" -eq 4 ]
	grep -q '^run arm64 test-kcsan 4: .*quietperf.stress=600 quietperf.fuzz=20000 quietperf.trinity=20000 quietperf.seed=7.*; trinity for arm64$' <<<"$output"
}

@test "debug: a kernel that fails is named, and the others are run" {
	stand_in run.sh <<<"echo \"\$PURPOSE\" >>$work/runs; [ \"\$PURPOSE\" != test-debug ]"
	TRINITY=0 ARCH=x86_64 run "$repo/scripts/debug.sh"
	one_line "failed: x86_64-debug"
	[ "$(wc -l <"$work/runs")" -eq 2 ]
}

@test "debug: an unknown kind is named" {
	ONLY=slow run "$repo/scripts/debug.sh"
	one_line "unknown 'slow'"
}

@test "shell: the kernel of the tests, with a prompt" {
	stand_in boot.sh <<<'echo "boot $1 $2 $3"'
	ARCH=arm64 run "$repo/scripts/shell.sh"
	[ "$status" -eq 0 ]
	grep -qx "boot arm64 $work/src/obj -" <<<"$output"
}

@test "virtual-time: four boots for the modes of preemption, and one that fails is a failure" {
	stand_in boot.sh <<<"[ -n \"\$ICOUNT\" ] && echo \"\$SMP \$APPEND\" >>$work/boots"
	run "$repo/scripts/virtual-time.sh" x86_64 preempt
	[ "$status" -eq 0 ]
	[ "$(sort -u "$work/boots" | wc -l)" -eq 4 ]
	stand_in boot.sh <<<'[[ "$SMP $APPEND" != "1 preempt=lazy "* ]]'
	run "$repo/scripts/virtual-time.sh" x86_64 preempt
	one_line "failed with preempt=lazy"
}

@test "virtual-time: an unknown job is named" {
	run "$repo/scripts/virtual-time.sh" x86_64 nope
	one_line "there is no qemu/jobs/nope.sh"
}

# kunit_py N: one whose first N runs lose a change of code.
kunit_py() {
	mkdir -p "$work/src/tools/testing/kunit" "$work/src/obj-x86_64-kunit"
	cat >"$work/src/tools/testing/kunit/kunit.py" <<-SCRIPT
		#!/bin/bash
		echo run >>"$work/runs"
		if [ "\$(wc -l <"$work/runs")" -le $1 ]; then
			echo "Oops: int3: 0000" >"$work/src/obj-x86_64-kunit/test.log"
			exit 1
		fi
		echo "Testing complete. Ran 1 tests"
	SCRIPT
	chmod +x "$work/src/tools/testing/kunit/kunit.py"
	stand_in kvm-works.sh <<<'exit 0'
}

@test "kunit: code that QEMU lost is worth a second boot, and not a third" {
	kunit_py 1
	run "$repo/scripts/kunit.sh" x86_64 "$work/src"
	[ "$status" -eq 0 ]
	[[ "$output" == *"ATTENTION: x86_64: QEMU has lost a change of code"* ]]
	[ "$(wc -l <"$work/runs")" -eq 2 ]
	rm "$work/runs"
	kunit_py 9
	run "$repo/scripts/kunit.sh" x86_64 "$work/src"
	[ "$status" -eq 1 ]
	[ "$(wc -l <"$work/runs")" -eq 2 ]
}

@test "perf-test: no perf is an error" {
	mkdir -p "$work/src"
	run "$repo/scripts/perf-test.sh" "$work/src"
	one_line "there is no $work/src/obj-perf/perf"
}

# perf_that_fails BPF CASE...: a perf with BPF ON or OFF, and its test, of which these
# cases fail.
perf_that_fails() {
	local bpf=$1 tests=$work/src/tools/perf/tests/shell
	shift
	mkdir -p "$tests" "$work/src/obj-perf"
	printf '#!/bin/sh\necho "bpf_skeletons: [ %s ]"\n' "$bpf" >"$work/src/obj-perf/perf"
	chmod +x "$work/src/obj-perf/perf"
	{ printf "echo '%s [Failed to record]'\n" "$@"; echo 'exit 1'; } >"$tests/a.sh"
	TESTS=a.sh SUITES='' run "$repo/scripts/perf-test.sh" "$work/src"
	[ "$status" -ne 4 ] || skip "${lines[-1]}"
}

@test "perf-test: the case that needs BPF is left out without it, loudly" {
	perf_that_fails OFF 'Uid sampling'
	[ "$status" -eq 0 ]
	[[ "$output" == *"Uid sampling [Skipped: this perf has no BPF]"* ]]
}

@test "perf-test: that case with BPF, and any other without, is a failure" {
	perf_that_fails ON 'Uid sampling'
	[ "$status" -eq 1 ]
	perf_that_fails OFF 'Uid sampling' 'Basic'
	[ "$status" -eq 1 ]
}

# tree_of TEXT...: a kernel of one file, a commit for each text. Its compiler warns of
# each line with 'bad' in it, and fails at 'broken'.
tree_of() {
	local text
	tree=$work/tree
	mkdir -p "$tree"/{kernel,include,arch,lib,drivers/perf,mm,scripts/kconfig} "$work/bin"
	for text in include arch lib drivers/perf mm; do echo >"$tree/$text/file"; done
	cat >"$tree/Makefile" <<-'MAKE'
		.RECIPEPREFIX = >
		tinyconfig olddefconfig:
		> @mkdir -p $(O); echo CONFIG_PERF_EVENTS=y >$(O)/.config
		prepare:
		> @true
		%.o:
		> @! grep -q broken $*.c
		> @mkdir -p $(O)/$(dir $@); touch $(O)/$@
		> @! grep -q bad $*.c || echo "$*.c:1:1: warning: bad"
	MAKE
	printf '#!/bin/sh\nexit 0\n' >"$tree/scripts/kconfig/merge_config.sh"
	printf '#!/bin/sh\nexit 0\n' >"$work/bin/sparse"
	chmod +x "$tree/scripts/kconfig/merge_config.sh" "$work/bin/sparse"
	git -C "$tree" init -q
	for text; do
		echo "$text" >"$tree/kernel/a.c"
		git -C "$tree" add -A
		git -C "$tree" -c user.name=t -c user.email=t@t commit -q -m "$text"
	done
	stand_in worktree.sh <<<"rm -rf $work/wt; mkdir $work/wt; git -C $tree archive \$2 | tar -x -C $work/wt; echo $work/wt"
	export PATH=$work/bin:$PATH TREE=$tree TREE_BASE=HEAD~$(($# - 1)) VARIANTS=none ARCH=x86_64
}

@test "check-commits: a new warning and a commit that does not build are failures" {
	tree_of "one" "two bad" "three bad" "four broken" "five"
	run "$repo/scripts/check-commits.sh"
	[ "$status" -eq 1 ]
	grep -q '^not ok x86_64 test 1: two bad: new warnings' <<<"$output"
	grep -q '^not ok x86_64 test 3: four broken: does not build' <<<"$output"
	grep -q '^ok x86_64 test 4: five' <<<"$output"
}

@test "check-commits: a warning that was there before is no failure" {
	tree_of "one bad" "two bad"
	run "$repo/scripts/check-commits.sh"
	[ "$status" -eq 0 ]
	grep -q '^ok x86_64 test 1: two bad' <<<"$output"
}
