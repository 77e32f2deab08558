#!/usr/bin/env bats
# Every script tells what it is for, and refuses what it does not know.
load helper
setup() {
	setup_copy
	# Nothing may get as far as installing or fetching.
	export PATH=$work/bin:$PATH
	mkdir "$work/bin"
	for name in apt-get git make; do
		printf '#!/bin/sh\necho "%s was called: $*" >&2\nexit 9\n' $name >"$work/bin/$name"
		chmod +x "$work/bin/$name"
	done
}
teardown() { teardown_copy; }

# each_script FUNCTION: call it with each script; all are tried, and the bad ones named.
each_script() {
	local script bad=''
	for script in "$repo"/scripts/*.sh; do
		[ "${script##*/}" != lib.sh ] || continue
		"$1" "$script" || bad+=" ${script##*/}"
	done
	[ -z "$bad" ] || {
		echo "not so:$bad"
		return 1
	}
}

helps() {
	run "$1" --help
	[ "$status" -eq 0 ] && [ "${#lines[@]}" -ge 2 ] &&
		[[ "${lines[0]}" == "Usage: "*"${1##*/}"* ]] && [[ "$output" != *"was called"* ]]
}

# The refusal is one line of the script's own.
refuses_option() {
	run "$1" --nonsense
	[ "$status" -eq 1 ] && [ "${#lines[@]}" -eq 1 ] && [[ "$output" == "${1##*/}: unknown option '--nonsense'"* ]]
}

# As many words as no script takes, the last of which are no file, folder or package.
refuses_arguments() {
	run "$1" /no/such /no/such /no/such /no/such /no/such
	[ "$status" -eq 1 ] && [ "${#lines[@]}" -eq 1 ] && [[ "$output" == "${1##*/}: "* ]]
}

@test "every script answers --help with its usage" {
	each_script helps
}

@test "every script refuses an unknown option in one line" {
	each_script refuses_option
}

@test "every script refuses unknown arguments in one line" {
	each_script refuses_arguments
}
