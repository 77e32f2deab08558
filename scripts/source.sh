#!/usr/bin/env bash
# Usage: [KDIR=] [BASE=] [SERIES=none] source.sh [NAME]
# The base with the series applied, in a worktree under the cache; print its path.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -le 1 ] || die "usage: [KDIR=] [BASE=] [SERIES=none] source.sh [NAME]"
read -r repo commit < <("$TOP/scripts/base.sh") || exit 1
case ${SERIES:-} in
'') commit=$("$TOP/scripts/series.sh" "$repo" "$commit") ;;
none) ;;
*) die "unknown SERIES '$SERIES': leave it out, or say none" ;;
esac
"$TOP/scripts/worktree.sh" "$repo" "$commit" "${1:-test}"
