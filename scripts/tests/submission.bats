#!/usr/bin/env bats
# Postings: what is said when one cannot be made.
load helper
setup() {
	setup_copy
	git -C "$repo" init -q
	export HOME=$work GIT_CONFIG_SYSTEM=/dev/null
}
teardown() { teardown_copy; }

@test "submission: an unknown posting is named" {
	SERIES=nope run "$repo/scripts/submission.sh"
	one_line "which posting?"
}

@test "submission: nobody signs for somebody else" {
	SERIES=sched run "$repo/scripts/submission.sh"
	one_line "who submits? Only a person can sign off"
}

@test "submission: a second version needs the first" {
	VERSION=2 SERIES=sched run "$repo/scripts/submission.sh"
	one_line "needs PREVIOUS="
}

@test "submission: a version is a number" {
	VERSION=two SERIES=sched run "$repo/scripts/submission.sh"
	one_line "VERSION is a number"
}

# small_series: a kernel with a get_maintainer.pl that gives the addresses of the test,
# and a series of one patch for cgroup and one for perf/core.
small_series() {
	local dir=$work/small/linux-7.3.4
	rm -rf "$work/small" "$repo/Documentation"
	cp -r "$top/Documentation" "$repo/"
	small_kernel "$dir"
	mkdir -p "$dir/scripts"
	printf '#!/bin/sh\ncase "$*" in *--nol*) printf "%s" ;; *) printf "%s" ;; esac\n' \
		"${1-A Maintainer <a@localhost>\\nB Maintainer <b@localhost>\\n}" "${2-list@lists.example.org\\n}" \
		>"$dir/scripts/get_maintainer.pl"
	chmod +x "$dir/scripts/get_maintainer.pl"
	tar -cf "$work/base.tar" -C "$work/small" linux-7.3.4
	git -C "$dir" init -q
	git -C "$dir" add -A
	git -C "$dir" -c user.name=t -c user.email=t@t commit -q -m base
	rm -f "$repo"/patches/*
	change cgroup 10
	change perf/core 20
	export BASE=$work/base.tar
	# Long enough for the From to be folded.
	git -C "$repo" config user.name "A Person with Quite a Long Name"
	git -C "$repo" config user.email a.person.with.quite.a.long.name@localhost.example
	out=$repo/build/submission/cgroup
}

# change SUBSYSTEM LINE
change() {
	local dir=$work/small/linux-7.3.4
	sed -i "$2s/.*/changed/" "$dir/kernel/events/core.c"
	git -C "$dir" -c user.name=t -c user.email=t@t commit -q -a -m "$1: Change line $2" -m "It is changed." -m "Assisted-by: LLM"
	rm -f "$repo"/patches/*
	git -C "$dir" format-patch -q -N -o "$repo/patches" "$(git -C "$dir" rev-list --max-parents=0 HEAD)"
}

@test "submission: the posting's own patches, signed, addressed, with a cover" {
	small_series
	SERIES=cgroup run "$repo/scripts/submission.sh"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "${lines[-1]}" == "2 mails in $out; nothing was sent."* ]]
	[ "$(find "$out" -type f -printf '%f\n' | sort | paste -sd' ')" = "0000-cover-letter.patch 0001-cgroup-Change-line-10.patch" ]
	grep -q "^Subject: \[PATCH 0/1\] $(head -n 1 "$repo/Documentation/cover/cgroup.txt")$" "$out"/0000*
	grep -q '^Based on Linux 7.3.4.$' "$out"/0000*
	[ "$(sed -n '/^Assisted-by/,/^---$/p' "$out"/0001* | paste -sd'|')" = \
		"Assisted-by: LLM|Signed-off-by: A Person with Quite a Long Name <a.person.with.quite.a.long.name@localhost.example>|---" ]
	for mail in "$out"/*; do
		[ "$(grep -A 1 '^To: ' "$mail" | paste -sd'|')" = "To: A Maintainer <a@localhost>,| B Maintainer <b@localhost>" ]
		grep -q '^Cc: list@lists.example.org$' "$mail"
	done
	# The series itself stays unsigned.
	! grep -q Signed-off-by "$repo"/patches/*
}

@test "submission: figures are those of the posting's benchmarks" {
	small_series
	SERIES=perf run "$repo/scripts/submission.sh"
	[ "$status" -eq 0 ]
	grep -q '^  x86_64   cgroup/ab-8 ' "$repo"/build/submission/perf/0000*
	! grep -q ' clock/' "$repo"/build/submission/perf/0000*
}

@test "submission: a second version says what has changed" {
	small_series
	SERIES=cgroup "$repo/scripts/submission.sh"
	cp -r "$out" "$work/v1"
	sed -i 's/^It is changed/It is changed for good/' "$repo"/patches/0001*
	VERSION=2 PREVIOUS=$work/v1 SERIES=cgroup run "$repo/scripts/submission.sh"
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q '^Subject: \[PATCH v2 0/1\]' "$out"/v2-0000*
	grep -q '^Changes since v1:' "$out"/v2-0000*
	grep -qE '^  1:.*1:.*cgroup: Change line 10' "$out"/v2-0000*
}

@test "submission: on a tree of one's own the base is its commit" {
	small_series
	git -C "$work/small/linux-7.3.4" checkout -q --detach HEAD~2
	unset BASE
	mkdir "$work/cache"
	KDIR=$work/small/linux-7.3.4 SERIES=cgroup run "$repo/scripts/submission.sh"
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q "^base-commit: $(git -C "$work/small/linux-7.3.4" rev-parse HEAD)$" "$out"/0000*
}

@test "submission: a posting without patches, and one that nobody maintains" {
	small_series
	SERIES=record run "$repo/scripts/submission.sh"
	one_line "no patch of the series belongs to the posting 'record'"
	small_series ''
	SERIES=cgroup run "$repo/scripts/submission.sh"
	one_line "finds nobody"
	[ ! -e "$out" ]
}

@test "submission: mails that git send-email refuses, and addresses without a list" {
	small_series 'A Maintainer <a@localhost>\\n' ''
	SERIES=cgroup run "$repo/scripts/submission.sh"
	[ "$status" -eq 0 ]
	! grep -q '^Cc:' "$out"/0001*
	mkdir "$work/bin"
	printf '#!/bin/sh\ncase "$*" in *send-email*) echo "no such address"; exit 1 ;; esac\nexec %s "$@"\n' "$(command -v git)" >"$work/bin/git"
	chmod +x "$work/bin/git"
	PATH=$work/bin:$PATH SERIES=cgroup run "$repo/scripts/submission.sh"
	one_line "git send-email would not send"
	[[ "$output" == *"no such address"* ]]
}

@test "submission: mails in which b4 does not find all patches" {
	small_series
	mkdir "$work/bin"
	printf '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n: >"$2/x.mbx"\n' >"$work/bin/b4"
	chmod +x "$work/bin/b4"
	PATH=$work/bin:$PATH SERIES=cgroup run "$repo/scripts/submission.sh"
	one_line "b4 does not find all patches"
}
