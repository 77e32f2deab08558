#!/usr/bin/env bash
# Usage: [KDIR=] [BASE=] check-series.sh
# The series by itself: mails and .series agree, three ways of applying it to the base
# without fuzz or offset, the round trip, the rules for mails, owners, kernel-doc,
# checkpatch.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments: KDIR= and BASE= come from the environment"
"$TOP/scripts/setup.sh" codespell:codespell
lock
rc=0
ok() { say "ok $1"; }
bad() {
	say "not ok $1"
	rc=1
}
read -r repo base < <("$TOP/scripts/base.sh") || exit 1
commit=$("$TOP/scripts/series.sh" "$repo" "$base")
want=$(git -C "$repo" rev-parse "$commit^{tree}")
tmp=$(mktemp -d "${TMPDIR:-/tmp}/quietperf-check.XXXXXX")
cleanup() {
	local tree
	for tree in am import tree; do
		git -C "$repo" worktree remove -f "$tmp/$tree" 2>/dev/null || true
	done
	git -C "$repo" update-ref -d refs/heads/patches 2>/dev/null || true
	rm -rf "$tmp"
}
trap cleanup EXIT
# Committer's identity for a machine where git has none.
export GIT_COMMITTER_NAME=quietperf GIT_COMMITTER_EMAIL=quietperf@localhost

# bare_tree NAME: a worktree of the base with its index and without files.
bare_tree() {
	git -C "$repo" worktree add -q --no-checkout --detach "$tmp/$1" "$base"
	git -C "$tmp/$1" read-tree HEAD
}

# check NAME CMD...: it passes if the command says nothing and ends with 0.
check() {
	local name=$1
	shift
	if "$@" >"$tmp/log" 2>&1 && [ ! -s "$tmp/log" ]; then
		ok "$name"
	else
		cat "$tmp/log" >&2
		bad "$name"
	fi
}

# patches/ holds mails and .series, and these name each other.
if diff <(find "$TOP/patches" -mindepth 1 ! -name .series -printf '%f\n' | sort) "$TOP/patches/.series" >"$tmp/log"; then
	ok "patches/ is what .series lists"
else
	cat "$tmp/log" >&2
	bad "patches/ is what .series lists"
fi
check "subjects, changelogs, trailers, sizes, spelling" "$TOP/scripts/check-mails.sh"

# applies NAME FUNCTION: a way of applying that has held for these patches, on this base,
# with these tools and scripts, holds: it is not gone again.
applied=$(sha256sum <"$TOP/patches/.series" && cat "$TOP"/scripts/{check-series,series,tree,export,lib}.sh | sha256sum &&
	{ find "$TOP/kernel" "$TOP/tools-testing" -type f 2>/dev/null || true; } | sort | xargs -r sha256sum | sed "s|  $TOP/|  |" &&
	git --version && quilt --version && git -C "$repo" rev-parse "$base^{tree}")
applies() {
	local mark
	mark=$(cat "$TOP"/patches/* | remembered applies "$1" "$applied")
	if [ -e "$mark" ]; then
		ok "$1 (since $(date -r "$mark" '+%F %T'))"
	elif "$2"; then
		ok "$1"
		touch "$mark"
	else
		bad "$1"
	fi
}

# The literal command.
git_am() {
	bare_tree am
	(cd "$tmp/am" && git -c core.hooksPath=/dev/null am -q "$TOP"/patches/*) >"$tmp/log" 2>&1 || cat "$tmp/log" >&2
	[ "$(git -C "$tmp/am" rev-parse 'HEAD^{tree}')" = "$want" ]
}
applies "git am patches/*" git_am

# quilt, on the files that the patches touch; it tells fuzz and offsets.
quilt_push() {
	local quilt_ok=1
	mkdir "$tmp/quilt"
	git -C "$repo" diff --name-only --no-renames --diff-filter=a "$base" "$commit" >"$tmp/files"
	git -C "$repo" archive "$base" --pathspec-from-file="$tmp/files" 2>/dev/null | tar -xf - -C "$tmp/quilt" 2>/dev/null ||
		xargs git -C "$repo" archive "$base" -- <"$tmp/files" | tar -xf - -C "$tmp/quilt"
	cp -r "$TOP/patches" "$tmp/quilt/patches"
	(cd "$tmp/quilt" && QUILT_SERIES=.series quilt --quiltrc - push -a --fuzz=0 --color=never) >"$tmp/log" 2>&1 || quilt_ok=0
	if grep -E '^Hunk .*(offset|fuzz)' "$tmp/log" >&2; then quilt_ok=0; fi
	git -C "$repo" diff --name-only --no-renames --diff-filter=d "$base" "$commit" | while read -r file; do
		git -C "$repo" show "$commit:$file" | cmp -s - "$tmp/quilt/$file" || echo "$file differs after quilt push"
	done >"$tmp/differs"
	[ "$quilt_ok" = 1 ] && [ ! -s "$tmp/differs" ] || {
		tail -n 5 "$tmp/log" "$tmp/differs" >&2
		return 1
	}
}
applies "quilt push -a, no fuzz, no offset" quilt_push

quiltimport() {
	bare_tree import
	(cd "$tmp/import" && git -c core.hooksPath=/dev/null quiltimport --patches "$TOP/patches" --series "$TOP/patches/.series") \
		>"$tmp/log" 2>&1 || tail -n 5 "$tmp/log" >&2
	[ "$(git -C "$tmp/import" rev-parse 'HEAD^{tree}')" = "$want" ]
}
applies "git quiltimport" quiltimport

# make tree and make export change nothing: the mails and the plain copies.
round_trip() {
	local part
	mkdir "$tmp/out"
	TREE=$tmp/tree "$TOP/scripts/tree.sh" >/dev/null && TREE=$tmp/tree OUT=$tmp/out "$TOP/scripts/export.sh" || return 1
	for part in patches kernel tools-testing; do
		diff -r "$TOP/$part" "$tmp/out/$part" >"$tmp/log" || {
			head -n 20 "$tmp/log" >&2
			return 1
		}
	done
}
applies "make tree && make export change nothing" round_trip

# What needs the patched tree.
src=$("$TOP/scripts/source.sh") || exit 1
check "MAINTAINERS and owners" "$TOP/scripts/check-maintainers.sh" "$src" "$base"
check "kernel-doc" "$TOP/scripts/check-kernel-doc.sh" "$src" "$base"
# checkpatch PATCH: leaves what it says, and a mark if that is nothing. A patch that
# was clean to this checkpatch.pl, with these excuses, is not asked about again.
checkpatch() {
	local log=$tmp/checkpatch/${1##*/} mark
	mark=$(remembered checkpatch "$rules" "$(excuses "${1##*/}")" <"$1")
	cd "$src"
	if [ -e "$mark" ] || ./scripts/checkpatch.pl --strict --no-signoff --quiet --show-types \
		--ignore "$(excuses "${1##*/}")" "$1" >"$log" 2>&1; then
		touch "$log.ok" "$mark"
	fi
}
# Without them nothing passes, and nothing is remembered.
rules=$(cd "$src/scripts" && sha256sum checkpatch.pl spelling.txt const_structs.checkpatch) || rules=
export -f checkpatch excuses remembered
export tmp src TOP CACHE rules
mkdir "$tmp/checkpatch"
printf '%s\n' "$TOP"/patches/*.patch | xargs -P "$JOBS" -I '{}' bash -c 'checkpatch "$1"' _ '{}' || true
for patch in "$TOP"/patches/*.patch; do
	name=${patch##*/}
	if [ -e "$tmp/checkpatch/$name.ok" ]; then
		ok "checkpatch --strict $name"
	else
		cat "$tmp/checkpatch/$name" >&2
		bad "checkpatch --strict $name"
	fi
done
exit $rc
