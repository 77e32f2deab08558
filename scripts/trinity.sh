#!/usr/bin/env bash
# Usage: trinity.sh ARCH
# Fetch trinity, which makes random system calls, and the C library that it needs, from
# Debian for a guest of ARCH; print the folder that boot.sh takes as EXTRA.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 1 ] || die "usage: trinity.sh ARCH"
arch_vars "$1"
dir=$CACHE/trinity-$1
if [ ! -x "$dir/usr/bin/trinity" ]; then
	say "fetching trinity for $1"
	tmp=$(mktemp -d "$CACHE/trinity.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
	for package in trinity libc6; do
		"$TOP/scripts/apt-fetch.sh" "$DEBARCH" "$suite" "$package" "$tmp"
	done
	for package in "$tmp"/*.deb; do dpkg-deb -x "$package" "$tmp/x"; done
	# The loader is looked for where systems with a merged /usr have a link.
	for lib in lib lib64; do
		[ -e "$tmp/x/$lib" ] || [ ! -e "$tmp/x/usr/$lib" ] || ln -s "usr/$lib" "$tmp/x/$lib"
	done
	rm -rf "$tmp/x/usr/share" "$tmp"/x/{,usr/}lib/*/gconv "$dir"
	mv "$tmp/x" "$dir"
fi
echo "$dir"
