#!/usr/bin/env bash
# Usage: [ARCH=] [KDIR=] [BASE=] [SERIES=none] shell.sh
# Boot the patched kernel with a prompt on this terminal.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments: ARCH=, KDIR=, BASE= and SERIES= come from the environment"
ARCH=${ARCH:-x86_64}
arch_vars "$ARCH"
lock
read -r _ obj < <(ARCH=$ARCH PURPOSE=test "$TOP/scripts/kernel.sh") || exit 1
say "Ctrl-A X ends QEMU"
exec "$TOP/scripts/boot.sh" "$ARCH" "$obj" - "$BUILD/$ARCH-shell"
