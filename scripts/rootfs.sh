#!/usr/bin/env bash
# Usage: rootfs.sh ARCH SRC OBJ
# Make OBJ/rootfs.cpio.gz: static busybox, qemu/init and SRC's kselftests,
# installed as their own makefiles do it.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 3 ] || die "usage: rootfs.sh ARCH SRC OBJ"
arch=$1 src=$2 obj=$3
arch_vars "$arch"
log=$BUILD/$arch/rootfs.log
TARGETS="perf_events sched"

busybox=$CACHE/busybox-$arch
if [ ! -x "$busybox" ]; then
	say "fetching busybox for $arch"
	tmp=$(mktemp -d "$CACHE/busybox.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
	"$TOP/scripts/apt-fetch.sh" "$DEBARCH" "$suite" busybox-static "$tmp"
	dpkg-deb -x "$tmp"/*.deb "$tmp/x"
	mv "$(find "$tmp/x" -path '*/bin/busybox' -type f)" "$busybox"
fi

# The same tests in the same frame are not built again, see build.sh.
stamp=$({ git -C "$src" rev-parse HEAD; "${CROSS}gcc" --version; cat "$TOP"/qemu/init "$TOP"/qemu/timeout "$0" "$busybox"; } | sha256sum)
[ "$stamp" != "$(cat "$obj/.rootfs" 2>/dev/null)" ] || [ ! -f "$obj/rootfs.cpio.gz" ] || exit 0
rm -f "$obj/.rootfs"

install_selftests() {
	kmake "$src" "$obj" headers
	# A test that is gone from the source must not stay behind.
	rm -rf "$obj/kselftest-install"
	kmake "$src" "$obj" -C "$src/tools/testing/selftests" "TARGETS=$TARGETS" \
		USERLDFLAGS=-static INSTALL_PATH="$obj/kselftest-install" CC="${CROSS}gcc" install
}
say "building the kselftests for $arch"
counted "$log" "$arch kselftests, files" '(-o |CC)' install_selftests
# A collection that does not build or install is left out by the makefiles.
for collection in $TARGETS; do
	grep -qs "^$collection:" "$obj/kselftest-install/kselftest-list.txt" && continue
	tail -n 5 "$log" >&2
	[ "${SERIES:-}" = none ] || die "$arch: the kselftests of $collection do not build or install: the whole log is $log"
	warn "ATTENTION: the kselftests of $collection do not build or install on this base: left out"
done

root=$obj/rootfs
rm -rf "$root"
mkdir -p "$root/bin" "$root/usr/bin" "$root/usr/sbin" "$root/sbin"
cp "$busybox" "$root/bin/busybox"
# run_kselftest.sh limits each test's time only with this very path.
install -m 755 "$TOP/qemu/timeout" "$root/usr/bin/timeout"
install -m 755 "$TOP/qemu/init" "$root/init"
cp -a "$obj/kselftest-install" "$root/kselftest"
(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc -R 0:0 --quiet | gzip -1n >"$obj/rootfs.new")
mv "$obj/rootfs.new" "$obj/rootfs.cpio.gz"
echo "$stamp" >"$obj/.rootfs"
