#!/usr/bin/env bash
# Usage: apt-fetch.sh DEBARCH SUITE PACKAGE[=VERSION] DIR
# Download a Debian package for any architecture and suite into DIR, verified by
# apt, through a private configuration: the machine's own sources stay as they are.
# Status: 0 done, 1 mirror not to be reached, 2 no such package or version.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 4 ] || die "usage: apt-fetch.sh DEBARCH SUITE PACKAGE[=VERSION] DIR"
arch=$1 suite=$2 package=$3 dir=$4
# Packages for all architectures are in the index of each.
[ "$arch" != all ] || arch=$(dpkg --print-architecture)

command -v apt-get >/dev/null || die "apt-get is not here: give BASE= or KDIR=, or work on Debian"
# The mirror is the one that this machine uses for Debian itself.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' | awk '$2 == "Debian" { print $1; exit }')
[ -n "$mirror" ] || die "apt knows no Debian mirror: run 'apt-get update' once, as root"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keyring" ] || die "$keyring is missing: install debian-archive-keyring"

conf=$CACHE/apt/$suite-$arch
mkdir -p "$conf/lists/partial" "$conf/archives/partial" "$dir"
echo "deb [signed-by=$keyring] $mirror $suite main" >"$conf/sources.list"
opts=(-qq -o "Dir::Etc::SourceList=$conf/sources.list" -o Dir::Etc::SourceParts=/dev/null
	-o "Dir::State::Lists=$conf/lists" -o "Dir::Cache=$conf" -o Dir::State::status=/dev/null
	-o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o APT::Sandbox::User=root
	-o Acquire::Retries=2 -o APT::Update::Error-Mode=any)
apt-get "${opts[@]}" update >"$conf/log" 2>&1 || {
	tail -n 2 "$conf/log" >&2
	die "cannot read the package lists of $suite: no network, mirror down or disk full"
}
cd "$dir"
apt-get "${opts[@]}" download "$package" >"$conf/log" 2>&1 || {
	tail -n 2 "$conf/log" >&2
	warn "cannot download the package $package of $suite"
	exit 2
}
