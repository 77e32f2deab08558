#!/usr/bin/env bash
# Usage: table.sh RESULTS.TSV...
# Print the results as one table with totals, the reasons of skips and failures below.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -gt 0 ] || die "usage: table.sh RESULTS.TSV..."
[ -r "$1" ] || die "cannot read $1"
cat "$@" | awk -F'\t' '
	BEGIN { printf "%-8s %-44s %7s %7s %8s %6s\n", "arch", "suite", "passed", "failed", "skipped", "known" }
	{
		printf "%-8s %-44s %7d %7d %8d %6d\n", $1, $2, $3, $4, $5, $6
		p += $3; f += $4; s += $5; k += $6
		if ($7 != "") why = why sprintf("  %s %s: %s\n", $1, $2, $7)
	}
	END {
		printf "%-8s %-44s %7d %7d %8d %6d\n", "", "together", p, f, s, k
		printf "%s", why
	}'
