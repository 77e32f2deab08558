#!/usr/bin/env bash
# Usage: table.sh RESULTS.TSV...
# Print the results as one table with totals, the reasons of skips and failures below.
. "$(dirname "$0")/lib.sh"
cat "$@" | awk -F'\t' '
	BEGIN { printf "%-8s %-44s %7s %7s %8s\n", "arch", "suite", "passed", "failed", "skipped" }
	{
		printf "%-8s %-44s %7d %7d %8d\n", $1, $2, $3, $4, $5
		p += $3; f += $4; s += $5
		if ($6 != "") why = why sprintf("  %s %s: %s\n", $1, $2, $6)
	}
	END {
		printf "%-8s %-44s %7d %7d %8d\n", "", "together", p, f, s
		printf "%s", why
	}'
