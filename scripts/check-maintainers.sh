#!/usr/bin/env bash
# Usage: check-maintainers.sh TREE BASE
# TREE is a git tree with the series, BASE its commit without. MAINTAINERS-snippet goes
# into MAINTAINERS; there, get_maintainer.pl --self-test finds nothing that it does not
# find in BASE; each pattern of the snippet matches a file; each patch has a maintainer,
# and not only a list. A line for each complaint; status 1 if there is any.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 2 ] || die "usage: check-maintainers.sh TREE BASE"
tree=$1 base=$2
script=$tree/scripts/get_maintainer.pl
[ -x "$script" ] || die "there is no $script"

# A tree of names alone: get_maintainer.pl reads nothing but MAINTAINERS and the index,
# and its test of patterns takes minutes for the whole of MAINTAINERS.
tmp=$(mktemp -d "${TMPDIR:-/tmp}/quietperf-maintainers.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
top=$tmp/top
mkdir -p "$top"/{Documentation,arch,include,drivers,fs,init,ipc,kernel,lib,scripts}
touch "$top"/{COPYING,CREDITS,Kbuild,Makefile,README}
cp "$script" "$top/scripts/"
git init -q "$top"
git -C "$tree" ls-tree -r HEAD | git -C "$top" update-index --add --index-info

rc=0
complain() {
	echo "$*"
	rc=1
}
# self_test WHAT: what it says of MAINTAINERS, without line numbers.
self_test() {
	(cd "$top" && ./scripts/get_maintainer.pl --self-test="$1") | sed 's/^[^ ]*:[0-9]*: //' | sort
}

git -C "$tree" show "$base:MAINTAINERS" >"$tmp/base" || die "there is no MAINTAINERS in $base"
"$TOP/scripts/maintainers.sh" "$tmp/base" >"$tmp/merged" || exit 1
cp "$TOP/MAINTAINERS-snippet" "$top/MAINTAINERS"
self_test sections,patterns >"$tmp/snippet.says"
cp "$tmp/base" "$top/MAINTAINERS"
self_test sections >"$tmp/base.says"
cp "$tmp/merged" "$top/MAINTAINERS"
self_test sections | comm -13 "$tmp/base.says" - >"$tmp/merged.says"
while read -r line; do
	complain "MAINTAINERS-snippet: $line"
done < <(sort -u "$tmp/snippet.says" "$tmp/merged.says")

# Patches of the same files have the same owners: one is asked about, and once for the
# same MAINTAINERS.
for patch in "$TOP"/patches/*.patch; do
	printf '%s\t%s\n' "$(git apply --numstat "$patch" | cut -f 3 | paste -sd ' ')" "$patch"
done | awk -F'\t' '!($1 in seen) { seen[$1]; print }' >"$tmp/ask"
rules=$(cd "$top" && sha256sum MAINTAINERS scripts/get_maintainer.pl)
owned() {
	local mark
	mark=$(remembered owners "$rules" <<<"${1%%	*}")
	[ ! -e "$mark" ] || return 0
	cd "$top"
	if ./scripts/get_maintainer.pl --no-git --no-git-fallback "${1#*	}" 2>/dev/null |
		grep -v ":THE REST)" | grep -qE "\((maintainer|supporter)"; then
		touch "$mark"
	else
		echo "${1##*/}"
	fi
}
export -f owned remembered
export top rules CACHE
xargs -d '\n' -P "$JOBS" -I '{}' bash -c 'owned "$1"' _ '{}' <"$tmp/ask" >"$tmp/ownerless"
while read -r name; do
	excused "$name" OWNER || complain "$name: get_maintainer.pl finds no maintainer for it"
done < <(sort "$tmp/ownerless")
exit $rc
