#!/usr/bin/env bash
# Usage: bench-table.sh RESULTS.TSV
# Print the figures of 'make bench' side by side, with the ratio of the kernels.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 1 ] || die "usage: bench-table.sh RESULTS.TSV"
awk -F'\t' '
	NR == 1 { next }
	{ key = $1 SUBSEP $2; value[key, $3] = $4; unit[key] = $5 }
	!(key in seen) { seen[key]; order[++n] = key }
	END {
		printf "%-8s %-24s %10s %10s %-6s %7s\n", "arch", "case", "base", "patched", "unit", "ratio"
		for (i = 1; i <= n; i++) {
			split(order[i], k, SUBSEP)
			b = value[order[i], "base"]; p = value[order[i], "patched"]
			printf "%-8s %-24s %10d %10d %-6s %7s\n", k[1], k[2], b, p, unit[order[i]],
				b ? sprintf("%.3f", p / b) : "-"
		}
	}' "$1"
