#!/usr/bin/env bats
# Taking changes out: the table, and what counts as a failure. The guests are
# stand-ins: a test fails where the line that it wants is not in the tree.
load helper
setup() {
	setup_copy
	tree=$work/tree
	git init -q "$tree"
	git -C "$tree" config user.name test
	git -C "$tree" config user.email test@localhost
	mkdir -p "$tree/kernel"
	printf '%s\n' 1 2 3 4 5 6 7 8 9 >"$tree/kernel/a"
	commit base
	rm -rf "$repo"/patches/* "$repo"/scripts/ablate
	mkdir -p "$repo/scripts/ablate"
	echo '# none' >"$repo/scripts/ablate/cost-only"
	sed -i 's/^1$/fix one/' "$tree/kernel/a"
	commit "One"
	sed -i 's/^9$/fix two/' "$tree/kernel/a"
	commit "Two"
	git -C "$tree" format-patch -q -o "$repo/patches" HEAD~2

	stand_in setup.sh <<<'exit 0'
	stand_in test-only.sh <<<'exit 0'
	stand_in base.sh <<<"echo $tree/.git $(git -C "$tree" rev-parse HEAD~2)"
	stand_in series.sh <<<"git -C $tree rev-parse HEAD"
	stand_in worktree.sh <<<'git --git-dir="$1" show "$2:kernel/a" >'"$work/a; echo $work"
	stand_in build.sh <<<"! grep -q broken $work/a && echo obj"
	stand_in rootfs.sh <<<'exit 0'
	# Every figure is 1000, and 3 more without the second fix.
	stand_in boot.sh <<-SCRIPT
		[ -n "\$ICOUNT" ] || exit 0
		n=1003
		! grep -q 'fix two' $work/a || n=1000
		awk -v n="\$n" '\$1 == "run" && /\// { for (i = 4; i <= NF; i++) print \$i, n, "ns" }' "\$3" >"\$4/job.log"
	SCRIPT
	stand_in results.sh <<-SCRIPT
		{
			echo '<testsuites><testsuite name="suite">'
			for fix in \${BATS_TESTS:-one two}; do
				echo "<testcase name=\"\$fix\">"
				grep -q "fix \$fix" $work/a || echo '<failure/>'
				echo '</testcase>'
			done
			echo '</testsuite></testsuites>'
		} >"\$3/kselftest.xml"
	SCRIPT
}
teardown() {
	teardown_copy
}

commit() {
	git -C "$tree" add kernel
	git -C "$tree" commit -q -m "$1"
}

@test "ablate: each change is noticed by its own test" {
	run "$repo/scripts/ablate.sh"
	[ "$status" -eq 0 ]
	grep -qxF '| One | suite one |' "$repo/build/ablate/table.md"
	grep -qxF '| Two | suite two |' "$repo/build/ablate/table.md"
}

@test "ablate: a change that nothing notices is a failure" {
	BATS_TESTS=two run "$repo/scripts/ablate.sh"
	one_line "a change that nothing notices"
	grep -qxF '| One | **nothing** |' "$repo/build/ablate/table.md"
}

@test "ablate: where a later change builds on it, the series as far as it counts" {
	sed -i 's/fix one/fix one, fix three/' "$tree/kernel/a"
	commit "Three"
	git -C "$tree" format-patch -q -o "$repo/patches" --start-number=3 HEAD~1
	BATS_TESTS='one two three' run "$repo/scripts/ablate.sh"
	echo "$output"
	[ "$status" -eq 0 ]
	grep -qxF '| One (in the series as far as it) | suite one |' "$repo/build/ablate/table.md"
	grep -qxF '| Three | suite three |' "$repo/build/ablate/table.md"
}

@test "ablate: what later changes build on can be taken out by hand" {
	sed -i 's/fix one/fix one, fix three/' "$tree/kernel/a"
	commit "Three"
	git -C "$tree" format-patch -q -o "$repo/patches" --start-number=3 HEAD~1
	printf 'By hand.\n\n--- a/kernel/a\n+++ b/kernel/a\n@@ -1,4 +1,4 @@\n-fix one, fix three\n+fix three\n 2\n 3\n 4\n' >"$repo/scripts/ablate/One.patch"
	BATS_TESTS='one two three' run "$repo/scripts/ablate.sh"
	[ "$status" -eq 0 ]
	grep -qxF '| One | suite one |' "$repo/build/ablate/table.md"
	[ "$(wc -l <"$repo/build/ablate/table.md")" -eq 5 ]
}

@test "ablate: a patch that does not apply is a failure" {
	printf 'Something\n\n--- a/kernel/a\n+++ b/kernel/a\n@@ -1 +1 @@\n-nothing\n+no\n' >"$repo/scripts/ablate/x.patch"
	ONLY=x run "$repo/scripts/ablate.sh"
	one_line "cannot be taken out"
	grep -qF '| Linux: Something | **x.patch does not apply' "$repo/build/ablate/table.md"
}

@test "ablate: tests that fail on the series as it is are an error" {
	BATS_TESTS='one four' run "$repo/scripts/ablate.sh"
	one_line "tests fail on the series as it is"
	[ ! -e "$repo/build/ablate/table.md" ]
}

@test "ablate: of a program, its tests; of many tests, their number" {
	stand_in results.sh <<-SCRIPT
		{
			echo '<testsuites><testsuite name="selftests: folder: program">'
			grep -q 'fix one' $work/a || printf '<testcase name="%s"><failure/></testcase>' a b
			grep -q 'fix two' $work/a || printf '<testcase name="%s"><failure/></testcase>' 1 2 3 4 5 6 7
			echo '</testsuite></testsuites>'
		} >"\$3/kselftest.xml"
	SCRIPT
	run "$repo/scripts/ablate.sh"
	[ "$status" -eq 0 ]
	grep -qxF '| One | program: a, b |' "$repo/build/ablate/table.md"
	grep -qxF '| Two | program: 7 tests |' "$repo/build/ablate/table.md"
}

@test "ablate: what only costs less is noticed by a figure, and by no test" {
	echo 'Two: x86_64' >"$repo/scripts/ablate/cost-only"
	ONLY=Two run "$repo/scripts/ablate.sh"
	[ "$status" -eq 0 ]
	grep -qE '^\| Two \| fork/16 \+0\.3 %; .*cgroup/in-out-8 \+0\.3 % \|$' "$repo/build/ablate/table.md"
}

@test "ablate: a change that should cost less and does not is a failure" {
	echo 'One: x86_64' >"$repo/scripts/ablate/cost-only"
	ONLY=One run "$repo/scripts/ablate.sh"
	one_line "a change that nothing notices"
	grep -qxF '| One (in the series as far as it) | **nothing** |' "$repo/build/ablate/table.md"
}

@test "ablate: what a later change saves as well is seen in the series as far as it" {
	sed -i 's/^5$/fix two/' "$tree/kernel/a"
	commit "Three"
	git -C "$tree" format-patch -q -o "$repo/patches" --start-number=3 HEAD~1
	echo 'Two: x86_64' >"$repo/scripts/ablate/cost-only"
	ONLY=Two run "$repo/scripts/ablate.sh"
	[ "$status" -eq 0 ]
	grep -qE '^\| Two \(in the series as far as it\) \| fork/16 \+0\.3 %;' "$repo/build/ablate/table.md"
}

@test "ablate: what no guest can show is said, with the reason" {
	echo 'One: none no such machine' >"$repo/scripts/ablate/cost-only"
	ONLY=One run "$repo/scripts/ablate.sh"
	[ "$status" -eq 0 ]
	grep -qxF '| One | not seen: no such machine |' "$repo/build/ablate/table.md"
}

@test "ablate: a list of costs that names no patch is an error" {
	echo 'Three: x86_64' >"$repo/scripts/ablate/cost-only"
	run "$repo/scripts/ablate.sh"
	one_line "there is no patch Three"
}

@test "ablate: what is known to fail on the guests is in no row" {
	printf 'x86_64\tsuite three\twhy\n' >"$repo/scripts/known-failures"
	BATS_TESTS='one two three' run "$repo/scripts/ablate.sh"
	[ "$status" -eq 0 ]
	! grep three "$repo/build/ablate/table.md"
}
