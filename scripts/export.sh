#!/usr/bin/env bash
# Usage: [TREE=] export.sh
# Write patches/, kernel/ and tools-testing/ from the kernel git tree that 'make
# tree' made. TREE names its folder. The same tree gives the same bytes anywhere.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments: TREE= comes from the environment"
TREE=${TREE:-$CACHE/tree}
OUT=${OUT:-$TOP}
gitdir=$(git -C "$TREE" rev-parse --absolute-git-dir 2>/dev/null) && [ -f "$gitdir/quietperf-base" ] ||
	die "$TREE was not made by 'make tree': run that first"
base=$(cat "$gitdir/quietperf-base")
[ -z "$(git -C "$TREE" status --porcelain --untracked-files=no)" ] ||
	die "$TREE has changes that are not committed: commit them first"
[ "$(git -C "$TREE" rev-list --count --merges "$base..HEAD")" -eq 0 ] || die "$TREE has merges: rebase them away"
[ "$(git -C "$TREE" rev-list --count "$base..HEAD")" -gt 0 ] || die "$TREE has no commit on top of the base"

tmp=$(mktemp -d "$OUT/.export.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/patches" "$tmp/kernel" "$tmp/tools-testing"
GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null \
	git -C "$TREE" -c core.abbrev=12 -c diff.algorithm=myers -c diff.context=3 -c diff.renames=true \
	format-patch -q -N --zero-commit --no-signature --no-base --stat=72 -o "$tmp/patches" "$base"
(cd "$tmp/patches" && printf '%s\n' *.patch >.series)

# The added files under kernel/ and tools/testing/, as plain files.
git -C "$TREE" diff --name-only --no-renames --diff-filter=A "$base" HEAD -- kernel tools/testing |
	while read -r file; do
		case $file in
		kernel/*) to=$file ;;
		tools/testing/*) to=tools-testing/${file#tools/testing/} ;;
		esac
		mkdir -p "$tmp/$(dirname "$to")"
		git -C "$TREE" show "HEAD:$file" >"$tmp/$to"
	done
for part in patches kernel tools-testing; do
	rm -rf "${OUT:?}/$part"
	mv "$tmp/$part" "$OUT/$part"
done
git -C "$TREE" rev-parse HEAD >"$gitdir/quietperf-made"
say "exported $(wc -l <"$OUT/patches/.series") patches from $TREE"
