#!/usr/bin/env bash
# Usage: check-kernel-doc.sh TREE BASE
# TREE is a git tree with the series, BASE its commit without. The kernel-doc comments in
# all files of C that the series adds or changes outside of tools/, read by the kernel's
# scripts/kernel-doc -Wall. What it says of a function or struct of which it has nothing
# to say in BASE is printed; status 1 if there is any.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 2 ] || die "usage: check-kernel-doc.sh TREE BASE"
tree=$1 base=$2
[ -x "$tree/scripts/kernel-doc" ] || die "there is no $tree/scripts/kernel-doc"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/quietperf-kernel-doc.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

mapfile -t files < <(git -C "$tree" diff --name-only --no-renames --diff-filter=d "$base" HEAD -- '*.c' '*.h' ':!tools')
# read_docs TOP: the complaints, one a line as 'FILE about SYMBOL: text'.
read_docs() {
	local file
	for file in "${files[@]}"; do
		[ ! -e "$1/$file" ] || echo "$file"
	done >"$tmp/list"
	[ -s "$tmp/list" ] || return 0
	# Its status tells of warnings, which are read here; what it cannot read it names.
	(cd "$1" && xargs python3 "$tree/scripts/kernel-doc" -none -Wall <"$tmp/list") 2>&1 |
		sed -nE "/^ \*|^\s*$/d; s/^(Warning|Error): ([^:]+):[0-9]+ (.*)$/\2: \3/; p"
}
for file in "${files[@]}"; do
	mkdir -p "$tmp/base/$(dirname "$file")"
	git -C "$tree" show "$base:$file" >"$tmp/base/$file" 2>/dev/null || rm "$tmp/base/$file"
done
mkdir -p "$tmp/base"
tree=$(cd "$tree" && pwd -P)
read_docs "$tmp/base" >"$tmp/base.says"
read_docs "$tree" >"$tmp/tree.says"
# What a complaint is about: the file, and the last name in quotes where there is one.
awk '
	{
		about = $0
		if (match($0, /\x27[A-Za-z0-9_]+\x27[^\x27]*$/)) about = substr($0, 1, index($0, ":")) substr($0, RSTART)
	}
	FILENAME == ARGV[1] { known[about]; next }
	!(about in known) { print; bad = 1 }
	END { exit bad }' "$tmp/base.says" "$tmp/tree.says"
