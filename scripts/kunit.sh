#!/usr/bin/env bash
# Usage: kunit.sh ARCH SRC
# The suites as kernel people run them: kunit.py with the series' .kunitconfig.
. "$(dirname "$0")/lib.sh"
[ $# -eq 2 ] || die "usage: kunit.sh ARCH SRC"
arch_vars "$1"
cd "$2"
# kunit.py starts from the defaults; what no test of these needs is left out, for
# the time that it takes to build.
trim=(--kconfig_add=CONFIG_EXPERT=y)
for symbol in VT INPUT SERIO HID_SUPPORT USB_SUPPORT BLK_DEV_INITRD BLOCK SUSPEND; do
	trim+=("--kconfig_add=CONFIG_$symbol=n")
done
counted "$BUILD/$1/kunit-py.log" "kunit.py on $1, lines" . \
	./tools/testing/kunit/kunit.py run --kunitconfig=kernel/events --arch="$1" \
	--cross_compile="$CROSS" --jobs="$JOBS" --build_dir="$2/obj-$1-kunit" \
	--make_options "CC=ccache ${CROSS}gcc" "${trim[@]}" --junit="$BUILD/$1/kunit-py.xml"
grep 'Testing complete' "$BUILD/$1/kunit-py.log" >&2
