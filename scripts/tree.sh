#!/usr/bin/env bash
# Usage: [TREE=] [KDIR=] [BASE=] tree.sh
# Make the kernel git tree in which the series is worked on: the base and a commit
# for each patch, on a detached HEAD. TREE names the folder.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments: TREE=, KDIR= and BASE= come from the environment"
TREE=${TREE:-$CACHE/tree}
"$TOP/scripts/setup.sh"
lock
read -r repo base < <("$TOP/scripts/base.sh") || exit 1
commit=$("$TOP/scripts/series.sh" "$repo" "$base")
if [ -e "$TREE" ]; then
	[ -f "$(git -C "$TREE" rev-parse --git-dir 2>/dev/null)/quietperf-base" ] ||
		die "$TREE exists and was not made by 'make tree': name another folder with TREE="
	[ -z "$(git -C "$TREE" status --porcelain --untracked-files=no)" ] ||
		die "$TREE has changes that are not committed: commit them, or name another folder with TREE="
	# What is there must be in patches/ already, else it would be lost.
	made=$(cat "$(git -C "$TREE" rev-parse --git-dir)/quietperf-made")
	[ "$(git -C "$TREE" rev-parse HEAD)" = "$made" ] ||
		[ "$(git -C "$TREE" rev-parse 'HEAD^{tree}')" = "$(git -C "$repo" rev-parse "$commit^{tree}")" ] ||
		die "$TREE has commits that patches/ lacks: run 'make export' first, or name another folder with TREE="
	git -C "$TREE" -c core.hooksPath=/dev/null reset -q --hard "$commit"
else
	say "checking out $TREE (about half a minute)"
	git -C "$repo" worktree prune
	git -C "$repo" worktree add -q --detach "$TREE" "$commit" || die "cannot check out $TREE: disk full?"
fi
gitdir=$(git -C "$TREE" rev-parse --git-dir)
echo "$base" >"$gitdir/quietperf-base"
echo "$commit" >"$gitdir/quietperf-made"
say "edit and commit in $TREE, then 'make export'"
echo "$TREE"
