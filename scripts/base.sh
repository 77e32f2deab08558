#!/usr/bin/env bash
# Usage: [KDIR=TREE] [BASE=FILE] base.sh
# Make sure that the base kernel is there; print its git repository and commit.
# KDIR (the caller's git tree, at its HEAD) wins over BASE (a tarball or a
# linux-source .deb), and that over the pinned package of base.conf.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
. "$TOP/scripts/base.conf"
[ $# -eq 0 ] || die "usage: [KDIR=TREE] [BASE=FILE] base.sh"

# version_of REPO COMMIT: the version in the kernel's Makefile, or nothing.
version_of() {
	git -C "$1" show "$2:Makefile" 2>/dev/null |
		awk -F' *= *' '/^(VERSION|PATCHLEVEL|SUBLEVEL) =/ { v = v s $2; s = "." } END { print v }'
}

if [ -n "${KDIR:-}" ]; then
	[ -d "$KDIR" ] || die "KDIR: there is no folder $KDIR"
	commit=$(git -C "$KDIR" rev-parse --verify -q 'HEAD^{commit}' 2>/dev/null) ||
		die "KDIR: $KDIR is no git tree with a commit"
	git -C "$KDIR" cat-file -e "$commit:kernel/events/core.c" 2>/dev/null &&
		git -C "$KDIR" cat-file -e "$commit:Kbuild" 2>/dev/null ||
		die "KDIR: $KDIR is no Linux kernel tree (its HEAD has no kernel/events/core.c)"
	say "base: $KDIR at $(git -C "$KDIR" log -1 --format='%h %s' "$commit") (Linux $(version_of "$KDIR" "$commit"))"
	echo "$(git -C "$KDIR" rev-parse --path-format=absolute --git-common-dir) $commit"
	exit 0
fi

mkdir -p "$CACHE" 2>/dev/null || die "cannot make the cache folder $CACHE: set QUIETPERF_CACHE to one that can be written"
[ -d "$GITDIR" ] || {
	git init -q --bare "$CACHE/init.$$"
	git -C "$CACHE/init.$$" config core.compression 1
	git -C "$CACHE/init.$$" config gc.auto 0
	mv "$CACHE/init.$$" "$GITDIR"
}

# take_file FILE REF [TREE]: import a tarball or source package as a commit; the
# ref is the last thing written, so an import cut short is begun anew.
take_file() {
	local file=$1 ref=$2 want=${3:-} tmp top tree commit
	need_space "$CACHE" 6
	tmp=$(mktemp -d "$CACHE/import.XXXXXX")
	# shellcheck disable=SC2064 # the folder of now is meant
	trap "rm -rf '$tmp'" EXIT
	say "unpacking ${file##*/} and adding it to git (about a minute)"
	if [ "${file%.deb}" != "$file" ]; then
		dpkg-deb --fsys-tarfile "$file" | tar -xf - -C "$tmp" --wildcards './usr/src/linux-source-*.tar*' ||
			die "cannot unpack $file: no linux-source package, or disk full"
		file=$(echo "$tmp"/usr/src/linux-source-*.tar*)
	fi
	mkdir "$tmp/src"
	tar -xf "$file" -C "$tmp/src" || die "cannot unpack $file: no tarball, damaged, or disk full"
	top=$(dirname "$(find "$tmp/src" -maxdepth 2 -name Kbuild -print -quit)")
	[ -f "$top/kernel/events/core.c" ] || die "$file holds no Linux kernel tree"
	rm -rf "$top/.git"
	# With that threshold git writes one pack rather than 100,000 loose files.
	tree=$(export GIT_DIR=$GITDIR GIT_WORK_TREE=$top GIT_INDEX_FILE=$tmp/index
		git -c core.autocrlf=false -c core.bigFileThreshold=1 add -Af -- "$top" && git write-tree) ||
		die "cannot add the base to $GITDIR: disk full?"
	[ -z "$want" ] || [ "$tree" = "$want" ] ||
		die "the base's content is $tree, base.conf says $want: the unpacking went wrong or the pin is stale"
	commit=$(GIT_AUTHOR_NAME=base GIT_AUTHOR_EMAIL=base@localhost GIT_AUTHOR_DATE='1700000000 +0000' \
		GIT_COMMITTER_NAME=base GIT_COMMITTER_EMAIL=base@localhost GIT_COMMITTER_DATE='1700000000 +0000' \
		git -C "$GITDIR" commit-tree -m "Linux base" "$tree")
	git -C "$GITDIR" update-ref "$ref" "$commit"
	rm -rf "$tmp"
	trap - EXIT
}

# fetch: the pinned package, or with a loud line another of the same series.
fetch() {
	local dl=$CACHE/download file rc=0
	rm -rf "$dl"
	mkdir -p "$dl"
	need_space "$CACHE" 6
	say "fetching $BASE_PACKAGE $BASE_PACKAGE_VERSION"
	"$TOP/scripts/apt-fetch.sh" all "$BASE_SUITE" "$BASE_PACKAGE=$BASE_PACKAGE_VERSION" "$dl" || rc=$?
	[ "$rc" -ne 1 ] || exit 1
	if [ "$rc" -eq 2 ]; then
		"$TOP/scripts/apt-fetch.sh" all "$BASE_SUITE" "$BASE_PACKAGE" "$dl" ||
			die "$BASE_PACKAGE is gone from $BASE_SUITE: give BASE=TARBALL or KDIR=TREE"
		file=$(echo "$dl"/*.deb)
		warn "ATTENTION: $BASE_PACKAGE_VERSION is gone, taking ${file##*/}: figures and line numbers may differ"
		take_file "$file" "refs/bases/$(sha256sum "$file" | cut -c1-16)"
		git -C "$GITDIR" symbolic-ref refs/bases/pinned-substitute "refs/bases/$(sha256sum "$file" | cut -c1-16)"
	else
		file=$(echo "$dl"/*.deb)
		echo "$BASE_SHA256  $file" | sha256sum -c --quiet >/dev/null 2>&1 ||
			die "checksum wrong: ${file##*/} is not the file that scripts/base.conf pins"
		take_file "$file" "refs/bases/$BASE_SHA256" "$BASE_TREE"
	fi
	rm -rf "$dl"
}

if [ -n "${BASE:-}" ]; then
	[ -f "$BASE" ] || die "BASE: there is no file $BASE"
	ref=refs/bases/$(sha256sum "$BASE" | cut -d' ' -f1)
	commit=$(git -C "$GITDIR" rev-parse --verify -q "$ref") || take_file "$BASE" "$ref"
else
	ref=refs/bases/$BASE_SHA256
	if ! commit=$(git -C "$GITDIR" rev-parse --verify -q "$ref"); then
		if git -C "$GITDIR" rev-parse --verify -q refs/bases/pinned-substitute >/dev/null; then
			ref=refs/bases/pinned-substitute
			warn "ATTENTION: the pinned base is gone, another $BASE_PACKAGE stands in for it"
		else
			fetch
			git -C "$GITDIR" rev-parse --verify -q "$ref" >/dev/null || ref=refs/bases/pinned-substitute
		fi
	fi
fi
commit=$(git -C "$GITDIR" rev-parse --verify "$ref")
say "base: Linux $(version_of "$GITDIR" "$commit")"
echo "$GITDIR $commit"
