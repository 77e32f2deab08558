#!/usr/bin/env bash
# Usage: kunit.sh ARCH SRC
# The suites as kernel people run them: kunit.py with the series' .kunitconfig.
. "$(dirname "$0")/lib.sh"
[ $# -eq 2 ] || die "usage: kunit.sh ARCH SRC"
arch_vars "$1"
cd "$2"
counted "$BUILD/$1/kunit-py.log" "kunit.py on $1, lines" . \
	./tools/testing/kunit/kunit.py run --kunitconfig=kernel/events --arch="$1" \
	--cross_compile="$CROSS" --jobs="$JOBS" --build_dir="$2/obj-$1-kunit" \
	--make_options "CC=ccache ${CROSS}gcc" --junit="$BUILD/$1/kunit-py.xml"
grep 'Testing complete' "$BUILD/$1/kunit-py.log" >&2
