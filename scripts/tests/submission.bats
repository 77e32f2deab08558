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
