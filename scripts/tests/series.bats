#!/usr/bin/env bats
# Applying the series, and what is said when that fails.
load helper
setup() {
	setup_copy
	small_tarball "$work/base.tar"
	export BASE=$work/base.tar
	rm -f "$repo"/patches/*.patch
	make_patch 20 twenty
}
teardown() { teardown_copy; }

# make_patch LINE TEXT: a series of one patch that changes that line of core.c.
make_patch() {
	local dir=$work/patching
	rm -rf "$dir"
	mkdir "$dir"
	tar -xf "$work/base.tar" -C "$dir" --strip-components=1
	git -C "$dir" init -q
	git -C "$dir" add -A
	git -C "$dir" -c user.name=t -c user.email=t@t commit -q -m base
	sed -i "$1s/.*/$2/" "$dir/kernel/events/core.c"
	git -C "$dir" -c user.name=t -c user.email=t@t commit -q -a -m "test: Change a line"
	git -C "$dir" format-patch -q -N -o "$repo/patches" HEAD~
	(cd "$repo/patches" && printf '%s\n' *.patch >.series)
}

@test "a series applies, once" {
	read -r git commit < <("$repo/scripts/base.sh")
	run "$repo/scripts/series.sh" "$git" "$commit"
	[ "$status" -eq 0 ]
	[[ "$output" == *"1 patches applied"* ]]
	git -C "$git" show "${lines[-1]}:kernel/events/core.c" | grep -qx twenty
	run "$repo/scripts/series.sh" "$git" "$commit"
	[ "$status" -eq 0 ]
	[[ "$output" != *applied* ]]
}

@test "a patch that does not apply is named" {
	sed -i 's/^-20$/-other/' "$repo"/patches/*.patch
	read -r git commit < <("$repo/scripts/base.sh")
	run "$repo/scripts/series.sh" "$git" "$commit"
	one_line "a patch does not apply"
	[[ "$output" == *"test: Change a line"* ]]
	[ -z "$(git -C "$git" for-each-ref refs/quietperf)" ]
	[ "$(git -C "$git" worktree list | wc -l)" -eq 1 ]
}

@test "no patch at all" {
	rm "$repo"/patches/*.patch
	read -r git commit < <("$repo/scripts/base.sh")
	run "$repo/scripts/series.sh" "$git" "$commit"
	one_line "there is no patch"
}

@test "an offset fails the check of the series" {
	sed -i 's/^@@ -17,7 +17,7 @@/@@ -15,7 +15,7 @@/' "$repo"/patches/*.patch
	run "$repo/scripts/check-series.sh"
	[ "$status" -eq 1 ]
	[[ "$output" == *"not ok quilt push -a"* ]]
	[[ "$output" == *offset* ]]
}

@test "a file in patches/ that is no mail fails the check of the series" {
	echo note >"$repo/patches/notes"
	run "$repo/scripts/check-series.sh"
	[ "$status" -eq 1 ]
	[[ "$output" == *"not ok patches/ is what .series lists"* ]]
}

@test "tree and export: a commit made there comes back as a patch" {
	tree=$(TREE=$work/tree "$repo/scripts/tree.sh")
	cp "$repo"/patches/*.patch "$work/before.patch"
	TREE=$tree "$repo/scripts/export.sh"
	TREE=$tree "$repo/scripts/tree.sh"
	mkdir -p "$tree/kernel/events/tests"
	echo new >"$tree/kernel/events/tests/new.c"
	git -C "$tree" add -A
	git -C "$tree" -c user.name=t -c user.email=t@t commit -q -m "test: Add a file"
	TREE=$tree run "$repo/scripts/tree.sh"
	one_line "has commits that patches/ lacks"
	TREE=$tree "$repo/scripts/export.sh"
	[ "$(wc -l <"$repo/patches/.series")" -eq 2 ]
	[ "$(cat "$repo/kernel/events/tests/new.c")" = new ]
	TREE=$tree "$repo/scripts/tree.sh"
}

@test "export refuses what is not committed, and a folder that is not the tree" {
	tree=$(TREE=$work/tree "$repo/scripts/tree.sh")
	echo edited >>"$tree/Kbuild"
	TREE=$tree run "$repo/scripts/export.sh"
	one_line "not committed"
	TREE=$work run "$repo/scripts/export.sh"
	one_line "was not made by 'make tree'"
}

@test "a plain copy that is not what the patches make fails the check of the series, and no later check is left out" {
	# Mails as export writes them, and the (empty) copies.
	tree=$(TREE=$work/tree "$repo/scripts/tree.sh")
	TREE=$tree "$repo/scripts/export.sh"
	run "$repo/scripts/check-series.sh"
	[[ "$output" == *$'\n'"ok make tree && make export change nothing"* ]]
	echo stale >"$repo/kernel/stale.c"
	run "$repo/scripts/check-series.sh"
	[ "$status" -eq 1 ]
	[[ "$output" == *"not ok make tree && make export change nothing"* ]]
	[[ "$output" == *stale.c* ]]
	# A kernel without the tools that are asked is no kernel that passes.
	[[ "$output" == *"not ok MAINTAINERS and owners"* ]]
	[[ "$output" == *"not ok kernel-doc"* ]]
	[[ "$output" == *"not ok checkpatch --strict 0001-"* ]]
}

@test "a mail that breaks the rules fails the check of the series" {
	sed -i 's/^Subject: .*/Subject: [PATCH] perf\/core: change a line./' "$repo"/patches/*.patch
	run "$repo/scripts/check-series.sh"
	[ "$status" -eq 1 ]
	[[ "$output" == *"not ok subjects, changelogs, trailers, sizes, spelling"* ]]
	[[ "$output" == *"SUBJECT ends with a full stop"* ]]
}
