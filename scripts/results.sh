#!/usr/bin/env bash
# Usage: results.sh ARCH SRC OUT
# Read OUT/kernel.log (KUnit) and OUT/job.log (kselftests) with the kernel's own
# KTAP parser; write kunit.xml and kselftest.xml (JUnit), kunit.json and
# kselftest.json (as KernelCI has it), and results.tsv
# (arch, suite, passed, failed, skipped, known to fail, why). Status 1 if anything
# failed that is not in known-failures for ARCH or the name of OUT, or fewer results came
# than were planned.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 3 ] || die "usage: results.sh ARCH SRC OUT"
arch=$1 src=$2 out=$3
rc=0

# parse NAME KTAP: the parser's verdict in NAME.txt, the results in NAME.xml and
# NAME.json.
parse() {
	local ok=1
	rm -f "$out/$1.xml" "$out/$1.json"
	grep -qE '(^|[] ])K?TAP version [0-9]+' "$2" || die "$arch: $1: no KTAP in $2: no test ran"
	"$src/tools/testing/kunit/kunit.py" parse --junit="$out/$1.xml" --json="$out/$1.json" "$2" >"$out/$1.txt" 2>&1 || ok=0
	[ -s "$out/$1.xml" ] || {
		tail -n 20 "$out/$1.txt" >&2
		die "$arch: $1: the parser wrote no results: see $out/$1.txt"
	}
	# The parser does not know where the log is from.
	sed -i "s/\"arch\": \"\"/\"arch\": \"$arch\"/; s/\"name\": \"KUnit Test Group\"/\"name\": \"$1\"/" "$out/$1.json"
	# One row for each suite or test program; what the parser holds against the
	# log as a whole is a row of its own.
	xmlstarlet sel -T -t -m '/testsuite/*' -v "'$arch'" -o '	' -v '@name' -o '	' \
		-v 'count(descendant-or-self::testcase[not(failure|error|skipped)])' -o '	' \
		-v 'count(descendant-or-self::testcase[failure|error])' -o '	' \
		-v 'count(descendant-or-self::testcase[skipped])' -o '	0	' \
		-m 'descendant-or-self::testcase[skipped|failure|error]' \
		-v '@name' -i skipped -o ' skipped: ' -v skipped --else -o ' FAILED' -b -o '; ' -b -n \
		"$out/$1.xml" >>"$out/results.tsv"
	errors=$(xmlstarlet sel -T -t -v '/testsuite/@errors' "$out/$1.xml")
	# All skipped is no success to the parser, and no failure to us.
	[ "$(xmlstarlet sel -T -t -v 'count(//testcase[not(skipped)])' "$out/$1.xml")" != 0 ] || ok=1
	if [ "$errors" != 0 ] || { [ "$ok" = 0 ] && ! cut -f4 "$out/results.tsv" | grep -qv '^0$'; }; then
		printf '%s\t%s\t0\t1\t0\t0\t%s\n' "$arch" "$1: the log as a whole" \
			"$(grep -oE '\[(ERROR|CRASHED|FAILED)\].*' "$out/$1.txt" | sort -u | head -n 4 | paste -sd ';')" >>"$out/results.tsv"
	fi
}

# said: what failed, and what it had said before, as the parser prints it.
said() {
	sed 's/^\[[0-9:]*\] //' "$out/kunit.txt" "$out/kselftest.txt" | awk '
		/^\[(FAILED|CRASHED|ERROR)\]/ { printf "%s%s\n", lines, $0 }
		/^\[|^=/ { lines = ""; next }
		{ lines = lines $0 "\n" }' >&2
}

rm -f "$out/results.tsv"
parse kunit "$out/kernel.log"
known=$(awk -F'\t' -v arch="$arch" -v boot="${out##*/}" '$1 == arch || $1 == boot { print $2 }' "$TOP/scripts/known-failures")
awk -v known="$known" -f "$TOP/scripts/ktap-nest.awk" "$out/job.log" >"$out/kselftest.ktap"
parse kselftest "$out/kselftest.ktap"

# What is known to fail moves to its own column.
awk -F'\t' -v OFS='\t' -v arch="$arch" -v boot="${out##*/}" '
	NR == FNR { if ($1 == arch || $1 == boot) why[$2] = $3; next }
	$2 in why && $4 { $6 = $4; $4 = 0; $7 = "known to fail: " why[$2] }
	{ print; failed += $4 }
	END { exit failed > 0 }' "$TOP/scripts/known-failures" "$out/results.tsv" >"$out/results.new" || rc=1
mv "$out/results.new" "$out/results.tsv"
[ "$rc" -eq 0 ] || {
	say "--- what the tests said that failed:"
	said
}
exit $rc
