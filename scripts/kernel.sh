#!/usr/bin/env bash
# Usage: [ARCH=] [PURPOSE=test] [KDIR=] [BASE=] [SERIES=none] kernel.sh
# Have all that a boot takes: the source, its kernel, a root file system with its
# kselftests. Prints the folders of the source and of the objects.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments: ARCH=, PURPOSE=, KDIR=, BASE= and SERIES= come from the environment"
ARCH=${ARCH:-x86_64}
arch_vars "$ARCH"
"$TOP/scripts/setup.sh"
lock
src=$("$TOP/scripts/source.sh")
obj=$("$TOP/scripts/build.sh" "$ARCH" "${PURPOSE:-test}" "$src")
"$TOP/scripts/rootfs.sh" "$ARCH" "$src" "$obj"
echo "$src $obj"
