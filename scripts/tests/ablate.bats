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
	sed -i 's/^1$/fix one/' "$tree/kernel/a"
	commit "One"
	sed -i 's/^9$/fix two/' "$tree/kernel/a"
	commit "Two"
	git -C "$tree" format-patch -q -o "$repo/patches" HEAD~2

	stand_in setup.sh <<<'exit 0'
	stand_in test-only.sh <<<'exit 0'
	stand_in base.sh <<<"echo $tree/.git base"
	stand_in series.sh <<<"git -C $tree rev-parse HEAD"
	stand_in worktree.sh <<<'git --git-dir="$1" show "$2:kernel/a" >'"$work/a; echo $work"
	stand_in build.sh <<<"! grep -q broken $work/a && echo obj"
	stand_in rootfs.sh <<<'exit 0'
	stand_in boot.sh <<<'exit 0'
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

stand_in() {
	cat >"$repo/scripts/$1"
	sed -i '1i #!/bin/bash' "$repo/scripts/$1"
	chmod +x "$repo/scripts/$1"
}

@test "ablate: each change is noticed by its own test" {
	run "$repo/scripts/ablate.sh"
	[ "$status" -eq 0 ]
	grep -qxF '| One | suite one |' "$repo/build/ablate/table.md"
	grep -qxF '| Two | suite two |' "$repo/build/ablate/table.md"
}

@test "ablate: a change that no test notices is a failure" {
	BATS_TESTS=two run "$repo/scripts/ablate.sh"
	one_line "a change that no test notices"
	grep -qxF '| One | **no test** |' "$repo/build/ablate/table.md"
}

@test "ablate: where a later change builds on it, that one does not count" {
	sed -i 's/fix one/fix one, fix three/' "$tree/kernel/a"
	commit "Three"
	git -C "$tree" format-patch -q -o "$repo/patches" --start-number=3 HEAD~1
	BATS_TESTS='one two three' run "$repo/scripts/ablate.sh"
	[ "$status" -eq 0 ]
	grep -qxF '| One (with 2 later changes to the same files) | suite one |' "$repo/build/ablate/table.md"
	grep -qxF '| Three | suite three |' "$repo/build/ablate/table.md"
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
