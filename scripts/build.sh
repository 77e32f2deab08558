#!/usr/bin/env bash
# Usage: build.sh ARCH PURPOSE SRC
# Configure and build the kernel of SRC from qemu/configs/{common,ARCH,PURPOSE},
# and series where SRC has the series' tests; print the folder of the objects.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 3 ] || die "usage: build.sh ARCH PURPOSE SRC"
arch=$1 purpose=$2 src=$3
arch_vars "$arch"

# A direct subfolder of the source: paths in the objects are then the same in
# every tree, and the compiler cache serves all of them.
obj=$src/obj-$arch-$purpose
log=$BUILD/$arch/build-$purpose.log
mkdir -p "$obj" "$BUILD/$arch"
need_space "$obj" 3

fragments=("$TOP/qemu/configs/common.config" "$TOP/qemu/configs/$arch.config")
for extra in $(echo "$purpose" | tr - ' '); do
	[ -r "$TOP/qemu/configs/$extra.config" ] || die "there is no qemu/configs/$extra.config"
	fragments+=("$TOP/qemu/configs/$extra.config")
done
[ ! -r "$TOP/qemu/configs/$arch-$purpose.config" ] || fragments+=("$TOP/qemu/configs/$arch-$purpose.config")
if [ -d "$src/kernel/events/tests" ]; then
	case $purpose in
	test* | debug*) fragments+=("$TOP/qemu/configs/series.config") ;;
	esac
fi
# What the selftests' own config files ask for belongs to a kernel that runs them.
case $purpose in
test* | debug*) fragments+=("$src/tools/testing/selftests/perf_events/config") ;;
esac

configure() {
	kmake "$src" "$obj" tinyconfig &&
		(cd "$src" && ./scripts/kconfig/merge_config.sh -m -O "$obj" "$obj/.config" "${fragments[@]}") &&
		kmake "$src" "$obj" olddefconfig
}
# Rewrite .config only if something that goes into it changed.
stamp=$({ cat "${fragments[@]}"; git -C "$src" rev-parse HEAD; "${CROSS}gcc" --version; } | sha256sum)
if [ "$stamp" != "$(cat "$obj/.stamp" 2>/dev/null)" ]; then
	rm -f "$obj/.stamp"
	configure >"$log" 2>&1 </dev/null || {
		tail -n 20 "$log" >&2
		die "$arch: configuring failed: the whole log is $log"
	}
	absent=
	while read -r want; do
		case $want in
		CONFIG_*=*) grep -qxF "$want" "$obj/.config" || absent+=" $want" ;;
		'# CONFIG_'*' is not set') name=${want#\# } && ! grep -q "^${name% is not set}=" "$obj/.config" || absent+=" '$want'" ;;
		esac
	done < <(sed 's/[[:space:]]*$//' "${fragments[@]}")
	[ -z "$absent" ] || die "$arch: asked for by a config fragment and not in the final .config:$absent"
	echo "$stamp" >"$obj/.stamp"
fi

# A kernel of the same source and configuration is not built again: source.sh leaves no
# change in SRC that its commit does not have.
if [ "$stamp" = "$(cat "$obj/.built" 2>/dev/null)" ] && [ -f "$obj/$KIMAGE" ]; then
	echo "$obj"
	exit 0
fi
rm -f "$obj/.built"
say "building $arch kernel ($purpose)"
counted "$log" "$arch build, objects" '^ +(CC|AS|AR|LD)' \
	kmake "$src" "$obj" -j"$JOBS" "KBUILD_VERBOSE=0" -s quiet=quiet_ all
grep -nE 'warning:' "$log" >&2 && die "$arch: the build warns: the whole log is $log"
[ -f "$obj/$KIMAGE" ] || die "$arch: the build made no $KIMAGE: the whole log is $log"
echo "$stamp" >"$obj/.built"
echo "$obj"
