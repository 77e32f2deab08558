#!/usr/bin/env bash
# Usage: setup.sh [COMMAND:PACKAGE...]
# Install what the host needs and does not have, the named included. Debian as root
# does it alone; elsewhere the missing commands are named.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
for arg; do
	case $arg in ?*:?*) ;; *) die "'$arg' is not COMMAND:PACKAGE" ;; esac
done

# command or file that shows the package is there : Debian package
needs=(
	make:make gcc:gcc flex:flex bison:bison bc:bc ccache:ccache cpio:cpio xz:xz-utils
	python3:python3 rsync:rsync quilt:quilt bats:bats shellcheck:shellcheck
	flock:util-linux perl:perl-base patch:patch git:git xmlstarlet:xmlstarlet
	/usr/include/libelf.h:libelf-dev /usr/include/stdio.h:libc6-dev
	qemu-system-x86_64:qemu-system-x86 qemu-system-aarch64:qemu-system-arm
)
case $(uname -m) in
x86_64) needs+=(aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu /usr/aarch64-linux-gnu/lib/libc.a:libc6-dev-arm64-cross) ;;
aarch64) needs+=(x86_64-linux-gnu-gcc:gcc-x86-64-linux-gnu /usr/x86_64-linux-gnu/lib/libc.a:libc6-dev-amd64-cross) ;;
*) die "this host is $(uname -m): x86_64 and aarch64 are supported" ;;
esac
needs+=("$@")

missing=()
for need in "${needs[@]}"; do
	case ${need%%:*} in
	/*) [ -e "${need%%:*}" ] ;;
	*) command -v "${need%%:*}" >/dev/null ;;
	esac || missing+=("${need##*:}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
	die "not installed here: ${missing[*]} (names of Debian packages): install them, or run as root on Debian"
fi
say "installing ${#missing[@]} packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$BUILD/setup.log
mkdir -p "$BUILD"
# apt-get is not for two at a time.
exec 8>"$BUILD/setup.lock"
flock 8
{ apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null 8>&- || {
	tail -n 5 "$log" >&2
	die "cannot install the packages: the whole log is $log"
}
