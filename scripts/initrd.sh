#!/usr/bin/env bash
# Usage: [EXTRA=PROGRAM|FOLDER] initrd.sh OBJ JOB OUT
# Write OUT: OBJ's root file system with the script JOB in it, which its init runs.
# EXTRA=PROGRAM goes to /usr/bin, what is in EXTRA=FOLDER to where it is there.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 3 ] || die "usage: initrd.sh OBJ JOB OUT"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/quietperf-initrd.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
install -D -m 755 "$2" "$tmp/root/job"
if [ -d "${EXTRA:-}" ]; then
	cp -a "$EXTRA/." "$tmp/root/"
elif [ -n "${EXTRA:-}" ]; then
	install -D -m 755 "$EXTRA" "$tmp/root/usr/bin/${EXTRA##*/}"
fi
(cd "$tmp/root" && find . | cpio -o -H newc -R 0:0 --quiet | gzip -1n) >"$tmp/job.cpio.gz"
cat "$1/rootfs.cpio.gz" "$tmp/job.cpio.gz" >"$3"
