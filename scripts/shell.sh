#!/usr/bin/env bash
# Usage: [ARCH=] [KDIR=] [BASE=] [SERIES=none] shell.sh
# Boot the patched kernel with a prompt on this terminal.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments: ARCH=, KDIR=, BASE= and SERIES= come from the environment"
ARCH=${ARCH:-x86_64}
arch_vars "$ARCH"
"$TOP/scripts/setup.sh"
lock
src=$("$TOP/scripts/source.sh")
obj=$("$TOP/scripts/build.sh" "$ARCH" test "$src")
"$TOP/scripts/rootfs.sh" "$ARCH" "$src" "$obj"
say "Ctrl-A X ends QEMU"
exec "$TOP/scripts/boot.sh" "$ARCH" "$obj" - "$BUILD/$ARCH-shell"
