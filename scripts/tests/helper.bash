# What the tests of the scripts share: a copy of the repository that a test may
# damage, with a cache of its own.
setup_copy() {
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	work=$(mktemp -d)
	mkdir "$work/repo"
	cp -r "$top/scripts" "$top/qemu" "$top/patches" "$work/repo/"
	repo=$work/repo
	main_cache=${QUIETPERF_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quietperf}
	export QUIETPERF_CACHE=$work/cache QUIETPERF_LOCKED=1
	unset KDIR BASE SERIES ARCH PATCHES
}

teardown_copy() {
	umount "$work/cache" 2>/dev/null || true
	rm -rf "$work"
}

# small_kernel DIR: files that pass for a kernel tree, a megabyte less than real.
small_kernel() {
	mkdir -p "$1/kernel/events"
	printf 'VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\n' >"$1/Makefile"
	echo kbuild >"$1/Kbuild"
	seq 1 40 >"$1/kernel/events/core.c"
}

# small_tarball FILE: such a tree as a tarball.
small_tarball() {
	small_kernel "$work/small/linux-7.3.4"
	tar -cf "$1" -C "$work/small" linux-7.3.4
}

# small_package FILE VERSION: such a tree as a linux-source package.
small_package() {
	mkdir -p "$work/deb/DEBIAN" "$work/deb/usr/src"
	small_tarball "$work/deb/usr/src/linux-source-7.3.tar"
	printf 'Package: linux-source-7.3\nVersion: %s\nArchitecture: all\nMaintainer: test <test@localhost>\nDescription: test\n' \
		"$2" >"$work/deb/DEBIAN/control"
	dpkg-deb -b "$work/deb" "$1" >/dev/null
}

# stand_in SCRIPT: replace it by a script of the test, read from stdin.
stand_in() {
	cat >"$repo/scripts/$1"
	sed -i '1i #!/bin/bash' "$repo/scripts/$1"
	chmod +x "$repo/scripts/$1"
}

# one_line TEXT: the last run's output ends with one line that holds TEXT.
one_line() {
	[ "$status" -eq 1 ] || {
		echo "status $status: $output"
		return 1
	}
	case ${lines[-1]} in
	*"$1"*) ;;
	*)
		echo "the last line is not about '$1': $output"
		return 1
		;;
	esac
}
