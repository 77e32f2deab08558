#!/usr/bin/env bash
# Usage: series.sh REPO COMMIT
# Apply patches/ on COMMIT with git am; print the commit that results. Needs no
# checkout: git takes the files that the patches touch from the index.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 2 ] || die "usage: series.sh REPO COMMIT"
repo=$1 base=$2

patches=("${PATCHES:-$TOP/patches}"/*.patch)
[ -e "${patches[0]}" ] || die "there is no patch in ${PATCHES:-$TOP/patches}"
# The same patches on the same base are the same commit: applied once.
key=$({ echo "$base"; cat "${patches[@]}"; } | sha256sum | cut -c1-40)
ref=refs/quietperf/series-$key
if commit=$(git -C "$repo" rev-parse --verify -q "$ref"); then
	echo "$commit"
	exit 0
fi

tmp=$(mktemp -d "${TMPDIR:-/tmp}/quietperf-am.XXXXXX")
trap 'git -C "$repo" worktree remove -f "$tmp/src" 2>/dev/null; rm -rf "$tmp"' EXIT
git -C "$repo" worktree add -q --no-checkout --detach "$tmp/src" "$base"
cd "$tmp/src"
git read-tree HEAD
# The caller's hooks, signing and ways of applying are not ours to run.
GIT_COMMITTER_NAME=quietperf GIT_COMMITTER_EMAIL=quietperf@localhost \
	git -c core.hooksPath=/dev/null -c commit.gpgSign=false -c am.threeWay=false -c apply.whitespace=error \
	am -q --committer-date-is-author-date "${patches[@]}" >"$tmp/log" 2>&1 || {
	cat "$tmp/log" >&2
	die "a patch does not apply to $(git log -1 --format=%s "$base") ($base): the message above names it"
}
commit=$(git rev-parse HEAD)
git -C "$repo" update-ref "$ref" "$commit"
say "series: ${#patches[@]} patches applied"
echo "$commit"
