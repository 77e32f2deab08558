#!/usr/bin/env bash
# Usage: kvm-works.sh ARCH OBJ
# Status 0 if KVM boots OBJ's kernel here: /dev/kvm alone promises nothing. The
# answer holds until the host boots anew.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 2 ] || die "usage: kvm-works.sh ARCH OBJ"
[ -w /dev/kvm ] || exit 1
arch_vars "$1"
answer=$CACHE/kvm-$1-$(cat /proc/sys/kernel/random/boot_id)
if [ ! -e "$answer" ]; then
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	# A kernel that lives prints on its console within seconds; without a root
	# file system it panics and, told so, ends the guest.
	timeout -k 1 20 "$QEMU" "${KVM_ARGS[@]}" -m 512M -nodefaults -no-reboot -display none \
		-kernel "$2/$KIMAGE" -serial stdio -append "console=$CONSOLE panic=-1" \
		>"$log" 2>&1 </dev/null || true
	rm -f "$CACHE/kvm-$1-"*
	if grep -q 'Kernel panic' "$log"; then echo yes; else echo no; fi >"$answer"
	[ "$(cat "$answer")" = yes ] || say "/dev/kvm is here and does not boot a kernel: using TCG"
fi
[ "$(cat "$answer")" = yes ]
