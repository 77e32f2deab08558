#!/usr/bin/env bash
# Usage: worktree.sh REPO COMMIT NAME
# Have the files of COMMIT in a worktree of REPO under the cache; print its path.
# A change of commit rewrites only the files that differ: builds stay incremental.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 3 ] || die "usage: worktree.sh REPO COMMIT NAME"
repo=$1 commit=$2
dir=$CACHE/src/$3
[ "$repo" = "$GITDIR" ] || dir=$dir-$(echo "$repo" | sha256sum | cut -c1-8)

# One at a time: those who share the cache's lock may run beside each other.
mkdir -p "$CACHE/src"
exec 8>"$CACHE/src/lock"
flock 8
if [ ! -e "$dir/.git" ]; then
	need_space "$CACHE" 8
	say "checking out the kernel tree (about half a minute)"
	git -C "$repo" worktree prune
	rm -rf "$dir" "$dir.new"
	# Moved into place when whole.
	git -C "$repo" -c core.hooksPath=/dev/null worktree add -q --force --detach "$dir.new" "$commit" ||
		die "cannot check out the kernel tree in $CACHE: disk full?"
	git -C "$repo" worktree move "$dir.new" "$dir"
else
	# The lock is held: an index.lock is what an interrupted run left.
	rm -f "$(git -C "$dir" rev-parse --git-dir)/index.lock"
	git -C "$dir" -c core.hooksPath=/dev/null checkout -q --force --detach "$commit" ||
		die "cannot bring $dir to $commit: disk full? Removing that folder makes it anew"
fi
echo "$dir"
