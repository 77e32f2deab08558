#!/usr/bin/env bash
# Usage: faults.sh ARCH SRC OBJ
# Build qemu/faults, the module of faults on purpose, for the kernel in OBJ, which is
# SRC's; print its file.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 3 ] || die "usage: faults.sh ARCH SRC OBJ"
arch=$1 src=$2 obj=$3
arch_vars "$arch"
[ -f "$obj/Module.symvers" ] || die "$arch: the kernel in $obj has no modules"
out=$BUILD/$arch/faults-${obj##*-}
rm -rf "$out"
mkdir -p "$out"
kmake "$src" "$obj" M="$TOP/qemu/faults" MO="$out" modules >"$out/log" 2>&1 </dev/null || {
	tail -n 20 "$out/log" >&2
	die "$arch: the module of faults does not build: the whole log is $out/log"
}
echo "$out/faults.ko"
