#!/usr/bin/env bash
# Usage: maintainers.sh MAINTAINERS >NEW
# Print the kernel's MAINTAINERS with the sections of MAINTAINERS-snippet in it, where
# the alphabet has them.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 1 ] || die "usage: maintainers.sh MAINTAINERS"
[ -f "$1" ] || die "there is no file $1"
snippet=$TOP/MAINTAINERS-snippet
[ -s "$snippet" ] || die "there is no $snippet"
while read -r title; do
	! grep -qxF "$title" "$1" || die "$1 has a section '$title' already"
done < <(grep -E '^[^:]{2,}$' "$snippet")
# A title is a line that 'K:<tab>' follows, below "Maintainers List". Not all titles are
# in order: the place is where the fewest are on the wrong side.
awk '
	FNR == 1 { file++ }
	# The snippet: sections, a blank line between them.
	file == 1 && /^$/ { next }
	file == 1 && !/^[A-Z]:\t/ { name[++n] = $0 }
	file == 1 { text[n] = text[n] $0 "\n"; next }
	# MAINTAINERS: where each section begins, and for each of ours what speaks
	# against the place before it.
	file == 2 && /^Maintainers List$/ { list = 1 }
	file == 2 {
		if (list && /^[A-Z]:\t/ && held != "" && held !~ /^[A-Z]:\t/ && held != "THE REST") {
			for (i = 1; i <= n; i++) {
				if (!(i in best) || wrong[i] <= best[i]) { best[i] = wrong[i] + 0; place[i] = FNR - 1 }
				wrong[i] += held < name[i] ? -1 : 1
			}
		}
		if (held == "THE REST") for (i = 1; i <= n; i++)
			if (wrong[i] <= best[i]) { best[i] = wrong[i]; place[i] = FNR - 1 }
		held = $0
		next
	}
	{ for (i = 1; i <= n; i++) if (place[i] == FNR) printf "%s\n", text[i] }
	{ print }' "$snippet" "$1" "$1"
