#!/usr/bin/env bats
# What check-mails.sh, check-maintainers.sh, maintainers.sh and check-kernel-doc.sh say
# of a series that breaks the rules, each rule on its own.
load helper
setup() {
	setup_copy
	command -v codespell >/dev/null || skip "no codespell: 'make check-series' installs it"
	rm -f "$repo"/patches/*
	mail=$repo/patches/0001-perf-core-Mend-it.patch
	cat >"$mail" <<-'MAIL'
		From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
		From: A Person <a@localhost>
		Date: Mon, 1 Jan 2026 00:00:00 +0000
		Subject: [PATCH] perf/core: Mend what is broken

		The function perf_mend() does nothing. Let it do something.

		Assisted-by: LLM
		---
		 kernel/events/core.c | 2 +-
		 1 file changed, 1 insertion(+), 1 deletion(-)

		diff --git a/kernel/events/core.c b/kernel/events/core.c
		index 1111111..2222222 100644
		--- a/kernel/events/core.c
		+++ b/kernel/events/core.c
		@@ -1,3 +1,3 @@
		 int a;
		-perf_mend(0);
		+perf_mend(1);
		 int b;
		--
	MAIL
	sed -i 's/^--$/-- /' "$mail"
	original=$(cat "$mail")
}
teardown() { teardown_copy; }

# broken TYPE SED: the mail with that change is refused, for that alone.
broken() {
	echo "$original" | sed -E "$2" >"$mail"
	[ "$original" != "$(cat "$mail")" ]
	run "$repo/scripts/check-mails.sh"
	echo "$2: $output"
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" == "${mail##*/}: $1 "* ]]
}

@test "mails: one by the rules passes" {
	run "$repo/scripts/check-mails.sh"
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "mails: the subject" {
	broken SUBJECT 's/core: Mend/core: mend/'
	broken SUBJECT 's/(Subject.*broken)/\1./'
	broken SUBJECT 's/(Subject.*broken)/\1 and whatever else there may be to mend in all the kernel/'
}

@test "mails: a subject without subsystem is in no posting" {
	echo "$original" | sed 's/perf.core: //' >"$mail"
	run "$repo/scripts/check-mails.sh"
	[ "$status" -eq 1 ]
	[[ "$output" == *": SUBJECT is not"* ]]
	[[ "$output" == *": POSTING belongs to none"* ]]
}

@test "mails: a patch belongs to one posting" {
	broken POSTING 's/perf.core:/mm:/'
	sed -i "s/^\tcgroup) SUBJECTS='^cgroup: '/\tcgroup) SUBJECTS='^(cgroup|perf.core): '/" "$repo/scripts/lib.sh"
	echo "$original" >"$mail"
	run "$repo/scripts/check-mails.sh"
	[ "$status" -eq 1 ]
	[[ "$output" == *"POSTING belongs to more than one ( perf cgroup)"* ]]
}

@test "mails: the changelog" {
	broken CHANGELOG '/^The function/d'
	broken IMPERSONAL 's/Let it do/This patch lets it do/'
	broken IMPERSONAL 's/Let it do/With this commit it does/'
	broken IMPERSONAL 's/Let it/Hence we let it/'
	broken IMPERSONAL 's/Let it/Let us let it/'
	broken LONG_LINE 's/(Let it.*)/and some more than the number of characters. \1/'
	broken BRACKETS 's/perf_mend\(\)/perf_mend/'
	broken SPELLING 's/function perf_mend/funtion perf_mend/'
	broken SPELLING 's/^\+perf_mend/+\/* recieve *\/ perf_mend/'
}

@test "mails: quotes may be long, and names of files are no functions" {
	echo "$original" | sed 's/^The function/  A quoted line of some program that has a good deal more than seventy-five characters\n\nSee perf_mend.c and perf_mend::member.\n\n&/' >"$mail"
	run "$repo/scripts/check-mails.sh"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "mails: the trailers" {
	broken TRAILER '/^Assisted-by/d'
	broken TRAILER 's/^Assisted-by.*/&\n&/'
	broken TRAILER 's/^Assisted-by/Signed-off-by: A Person <a@localhost>\n&/'
	broken TRAILER 's/^Assisted-by/Change-Id: I0123\n&/'
	broken TRAILER 's/^Assisted-by/Reviewed-by: B Person <b@localhost>\n&/'
	broken TRAILER 's/^Assisted-by/Fixes: 0123456 ("perf: Break it")\n&/'
	broken TRAILER 's/^Assisted-by/Fixes: 0123456789ab\n&/'
	broken TRAILER 's/^Assisted-by: LLM/&\n\nMore text after that./'
	echo "$original" | sed 's/^Assisted-by/Fixes: 0123456789ab ("perf: Break it")\n&/' >"$mail"
	"$repo/scripts/check-mails.sh"
}

@test "mails: the size, and what excuses it" {
	plus=$(seq -f '+int c%g;' 401)
	broken SIZE "s/^@@.*/@@ -1,3 +1,404 @@\n${plus//$'\n'/\\n}/"
	echo "perf-core-Mend-it.patch: SIZE it has a reason" >"$repo/scripts/series-exceptions"
	run "$repo/scripts/check-mails.sh"
	[ "$status" -eq 0 ]
	echo "perf-core-Other.patch: SIZE it has a reason" >"$repo/scripts/series-exceptions"
	run "$repo/scripts/check-mails.sh"
	[ "$status" -eq 1 ]
}

@test "mails: what is no mail, and a folder without any" {
	echo text >"$mail"
	run "$repo/scripts/check-mails.sh"
	[ "$status" -eq 1 ]
	[ "$output" = "${mail##*/}: MAIL is no mail with a patch" ]
	mkdir "$work/empty"
	run "$repo/scripts/check-mails.sh" "$work/empty"
	one_line "there is no patch"
}

# kernel_tree: a git tree with the real get_maintainer.pl and kernel-doc, and files that
# pass for the series on top of a base.
kernel_tree() {
	local real=$main_cache/src/test
	[ -x "$real/scripts/get_maintainer.pl" ] || skip "no kernel tree in the cache yet: 'make run' makes one"
	tree=$work/tree
	mkdir -p "$tree/scripts" "$tree/kernel/events" "$tree/tools"
	cp "$real/scripts/get_maintainer.pl" "$tree/scripts/"
	cp -rL --parents "$real/tools/docs/kernel-doc" "$real/tools/lib/python" "$work/" 2>/dev/null || true
	cp -r "$work/${real#/}/tools/." "$tree/tools/"
	ln -s ../tools/docs/kernel-doc "$tree/scripts/kernel-doc"
	cat >"$tree/MAINTAINERS" <<-'LIST'
		Maintainers List
		----------------

		ACORN DRIVER
		M:	A Person <a@localhost>
		S:	Maintained
		F:	drivers/acorn.c

		PERFORMANCE
		M:	B Person <b@localhost>
		S:	Maintained
		F:	kernel/events/

		ZOO
		M:	C Person <c@localhost>
		S:	Maintained
		F:	fs/zoo.c

		THE REST
		M:	D Person <d@localhost>
		S:	Maintained
		F:	*
		F:	*/
	LIST
	printf '/**\n * old - does it\n */\nint old(int a);\n' >"$tree/kernel/events/core.c"
	git init -q "$tree"
	commit base
	base=$(git -C "$tree" rev-parse HEAD)
	cat >"$repo/MAINTAINERS-snippet" <<-'LIST'
		PERFORMANCE TESTS
		L:	list@localhost
		S:	Supported
		F:	tests/
	LIST
	mkdir "$tree/tests"
	printf '/**\n * mend() - Mend it\n * @a: what\n */\nvoid mend(int a);\n' >"$tree/tests/mend.c"
	commit series
}

commit() {
	git -C "$tree" add -f -A
	git -C "$tree" -c user.name=t -c user.email=t@t commit -q -m "$1"
}

@test "maintainers: the snippet is put where the alphabet has it" {
	kernel_tree
	run "$repo/scripts/maintainers.sh" "$tree/MAINTAINERS"
	[ "$status" -eq 0 ]
	[ "$(grep -E '^[A-Z ]{3,}$' <<<"$output" | paste -sd,)" = "ACORN DRIVER,PERFORMANCE,PERFORMANCE TESTS,ZOO,THE REST" ]
	[ "$(diff "$tree/MAINTAINERS" - <<<"$output" | grep -c '^<')" -eq 0 ]
	"$repo/scripts/check-maintainers.sh" "$tree" "$base"
}

@test "maintainers: after all others, and a section that is there already" {
	kernel_tree
	sed -i 's/^PERFORMANCE TESTS/ZZZ/' "$repo/MAINTAINERS-snippet"
	run "$repo/scripts/maintainers.sh" "$tree/MAINTAINERS"
	[ "$(grep -E '^[A-Z ]{3,}$' <<<"$output" | paste -sd,)" = "ACORN DRIVER,PERFORMANCE,ZOO,ZZZ,THE REST" ]
	sed -i 's/^ZZZ/ZOO/' "$repo/MAINTAINERS-snippet"
	run "$repo/scripts/maintainers.sh" "$tree/MAINTAINERS"
	one_line "has a section 'ZOO' already"
}

@test "maintainers: a pattern without a file, a section without status" {
	kernel_tree
	echo 'F:	tools/nothing.c' >>"$repo/MAINTAINERS-snippet"
	run "$repo/scripts/check-maintainers.sh" "$tree" "$base"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"no file matches"*"tools/nothing.c"* ]]
	sed -i '/nothing/d; /^S:/d' "$repo/MAINTAINERS-snippet"
	run "$repo/scripts/check-maintainers.sh" "$tree" "$base"
	[ "$status" -eq 1 ]
	[[ "$output" == *"section without status"* ]]
}

@test "maintainers: a patch that nobody maintains" {
	kernel_tree
	sed -i 's,kernel/events/core,fs/orphan,g' "$mail"
	run "$repo/scripts/check-maintainers.sh" "$tree" "$base"
	echo "$output"
	[ "$status" -eq 1 ]
	[ "$output" = "${mail##*/}: get_maintainer.pl finds no maintainer for it" ]
}

@test "kernel-doc: a comment that the series leaves wrong, and not the base's" {
	kernel_tree
	run "$repo/scripts/check-kernel-doc.sh" "$tree" "$base"
	echo "$output"
	[ "$status" -eq 0 ]
	# Of old() the base has something to say already.
	printf '/**\n * old - does it\n */\nint old(int a, int b);\n' >"$tree/kernel/events/core.c"
	commit change
	"$repo/scripts/check-kernel-doc.sh" "$tree" "$base"
	printf '/**\n * mend() - Mend it\n * @b: what\n */\nvoid mend(int a);\n' >"$tree/tests/mend.c"
	commit break
	run "$repo/scripts/check-kernel-doc.sh" "$tree" "$base"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"tests/mend.c: "*"'a' not described in 'mend'"* ]]
}
