#!/usr/bin/env bash
# Usage: check-mails.sh [FOLDER]
# The mails of a series, patches/ if left out, by what a program can tell of
# Documentation/process/maintainer-tip.rst and submitting-patches.rst, without a kernel
# tree: subject, changelog, trailers, size, spelling, and that each belongs to one
# posting. Prints a line for each complaint: patch, type, what. Status 1 if there is any
# that scripts/series-exceptions does not excuse.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -le 1 ] || die "takes one argument at most, the folder of the patches"
folder=${1:-$TOP/patches}
[ -d "$folder" ] || die "there is no folder $folder"
patches=("$folder"/*.patch)
[ -e "${patches[0]}" ] || die "there is no patch in $folder"
exceptions=$TOP/scripts/series-exceptions
# Lines added and removed that one patch may have. Tests and benchmarks are read file
# by file, code is read line by line.
MAX_CODE=400 MAX_TESTS=1100

tmp=$(mktemp -d "${TMPDIR:-/tmp}/quietperf-mails.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/text"
: >"$tmp/marks"

# check_text SUBJECT BODY PATCH: complaints, 'TYPE what', about what people read.
check_text() {
	awk -v subject="$1" -v patch="$3" '
	function say(type, what) { print type " " what }
	# Names of functions that the patch calls or changes, where it is C.
	FILENAME == patch {
		if (/^diff --git /) c = $4 ~ /[.][ch]$/
		if (!c || !/^([-+ ]|@@)/) next
		rest = $0
		while (match(rest, /[a-z_][a-z0-9]*_[a-z0-9_]*\(/)) {
			function_[substr(rest, RSTART, RLENGTH - 1)]
			rest = substr(rest, RSTART + RLENGTH)
		}
		next
	}
	{ line[++n] = $0 }
	/^[A-Z][A-Za-z-]*-(by|to|Id|and): ./ || /^(Cc|Closes|Fixes|Link): ./ { trailer[n] = 1; trailers++ }
	!/^$/ && !trailer[n] && /[a-z].*[a-z]/ { words++ }
	END {
		if (subject !~ /^([a-z][a-z0-9_\/-]*( [a-z]+)?: )+[A-Z]/) say("SUBJECT", "is not \"subsystem/component: Capital letter ...\": " subject)
		if (subject ~ /[.]$/) say("SUBJECT", "ends with a full stop: " subject)
		if (length(subject) > 75) say("SUBJECT", "has " length(subject) " characters, more than 75: " subject)
		if (!words) say("CHANGELOG", "is empty")
		for (i = 1; i <= n; i++) {
			if (trailer[i]) {
				if (line[i] == "Assisted-by: LLM") assisted++
				else if (line[i] ~ /^Fixes: /) {
					if (line[i] !~ /^Fixes: [0-9a-f]+ \(".+"\)$/ || index(line[i], "(") < 21) say("TRAILER", "is not \"Fixes: 12 digits (\"subject\")\": " line[i])
				} else if (line[i] !~ /^(Link|Closes): https:\/\//) say("TRAILER", "is no business of the series: " line[i])
				continue
			}
			# What is indented is quoted.
			if (line[i] ~ /^( |\t)/) continue
			if (length(line[i]) > 75) say("LONG_LINE", "has " length(line[i]) " characters, more than 75: " line[i])
			text = text " " line[i]
		}
		if (assisted != 1) say("TRAILER", "Assisted-by: LLM is there " assisted + 0 " times, not once")
		for (i = n; i > 0 && line[i] == ""; i--);
		for (last = 0; i > 0 && trailer[i]; i--) last++
		if (last != trailers) say("TRAILER", "the trailers are not one paragraph at the end")
		if (match(tolower(text), /this (patch|commit)/)) say("IMPERSONAL", "\"" substr(text, RSTART, RLENGTH) "\": what it does is told in the imperative")
		if (match(text, /(^|[ (])(we|We|our|us|I)([ ,.;:)]|$)/)) say("IMPERSONAL", "\"" substr(text, RSTART + 1, 20) "...\": code has no persons")
		text = subject " " text
		while (match(text, /[a-z_][a-z0-9]*_[a-z0-9_]*/)) {
			name = substr(text, RSTART, RLENGTH)
			before = RSTART > 1 ? substr(text, RSTART - 1, 1) : " "
			after = substr(text, RSTART + RLENGTH, 2)
			text = substr(text, RSTART + RLENGTH)
			# Not a part of a path, a member, a constant or an assignment.
			if (before !~ /[ (]/ || after ~ /^([(:\/=-]|[.][a-z])/) continue
			if (name in function_ && !(name in told)) {
				say("BRACKETS", name " is a function: " name "()")
				told[name]
			}
		}
	}' "$3" "$2"
}

# check_size PATCH.
check_size() {
	git apply --numstat "$1" | awk -v code=$MAX_CODE -v tests=$MAX_TESTS '
		$3 ~ /(^|\/)(tests|selftests)\// { test += $1 + $2; next }
		{ other += $1 + $2 }
		END {
			if (other > code) print "SIZE " other " lines of code, more than " code
			if (test > tests) print "SIZE " test " lines of tests, more than " tests
		}'
}

# check_posting SUBJECT: it has to be in one, and no more.
check_posting() {
	local posting found=''
	for posting in $POSTINGS; do
		posting_vars "$posting"
		if grep -qE "$SUBJECTS" <<<"$1"; then found+=" $posting"; fi
	done
	case $found in
	'') echo "POSTING belongs to none ($POSTINGS): $1" ;;
	' '*' '*) echo "POSTING belongs to more than one ($found): $1" ;;
	esac
}

# A patch of which nothing was said is not read again by the same scripts.
rules=$(cat "$TOP/scripts/"{check-mails,lib}.sh "$exceptions" | sha256sum && codespell --version) || die "there is no codespell"
for patch in "${patches[@]}"; do
	name=${patch##*/}
	mark=$(remembered mails "$rules" <"$patch")
	[ ! -e "$mark" ] || continue
	echo "$name	$mark" >>"$tmp/marks"
	if ! git mailinfo -b "$tmp/body" /dev/null <"$patch" >"$tmp/head" 2>/dev/null || ! git apply --numstat "$patch" >/dev/null 2>&1; then
		echo "$name	MAIL is no mail with a patch"
		continue
	fi
	subject=$(sed -n 's/^Subject: //p' "$tmp/head")
	subject=${subject#\[PATCH*\] }
	{
		check_text "$subject" "$tmp/body" "$patch"
		check_size "$patch"
		check_posting "$subject"
	} | sed "s|^|$name\t|"
	{ echo "$subject" && cat "$tmp/body" && sed -n '/^diff --git/,$s/^+//p' "$patch"; } >"$tmp/text/$name"
done >"$tmp/complaints"
sed -n 's/^spelling: *\([a-z,]*\) .*/\1/p' "$exceptions" | tr , '\n' >"$tmp/words"
status=0
codespell --ignore-words "$tmp/words" "$tmp/text" >"$tmp/spelling" || status=$?
# 65 is its way to say that it found something.
[ "$status" -eq 0 ] || [ "$status" -eq 65 ] || die "codespell failed (status $status), see above"
sed "s|^$tmp/text/\([^:]*\):[0-9]*: |\1\tSPELLING |" "$tmp/spelling" >>"$tmp/complaints"

while IFS=$'\t' read -r name mark; do
	grep -q "^$name	" "$tmp/complaints" || touch "$mark"
done <"$tmp/marks"

rc=0
while IFS=$'\t' read -r name what; do
	excused "$name" "${what%% *}" && continue
	printf '%s: %s\n' "$name" "$what"
	rc=1
done < <(sort "$tmp/complaints")
exit $rc
