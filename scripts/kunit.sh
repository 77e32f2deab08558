#!/usr/bin/env bash
# Usage: kunit.sh ARCH SRC
# The suites as kernel people run them: kunit.py with the series' .kunitconfig. Its
# kernel gets the configuration of 'make run' on top, so that the compiler cache has
# nearly all of it.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 2 ] || die "usage: kunit.sh ARCH SRC"
arch_vars "$1"
obj=$("$TOP/scripts/build.sh" "$1" test "$2")
# kunit.py trusts /dev/kvm if it is there.
without_kvm=()
if [ -e /dev/kvm ] && ! "$TOP/scripts/kvm-works.sh" "$1" "$obj"; then
	without_kvm=(unshare --mount sh -c 'mount --bind /dev/null /dev/kvm && exec "$@"' sh)
fi
cd "$2"
run_suites() {
	counted "$BUILD/$1/kunit-py.log" "kunit.py on $1, lines" . \
		"${without_kvm[@]}" ./tools/testing/kunit/kunit.py run --kunitconfig=kernel/events --kunitconfig="$obj/.config" \
		--arch="$1" --cross_compile="$CROSS" --jobs="$JOBS" --build_dir="$2/obj-$1-kunit" \
		--qemu_args '-smp 2' --make_options "CC=ccache ${CROSS}gcc" --junit="$BUILD/$1/kunit-py.xml"
}
# In a shell of its own: a failure ends only that.
(run_suites "$@") || { lost_code "$1" "$2/obj-$1-kunit/test.log" && run_suites "$@"; } || exit 1
grep 'Testing complete' "$BUILD/$1/kunit-py.log" >&2
