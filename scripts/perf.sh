#!/usr/bin/env bash
# Usage: perf.sh SRC
# Build SRC's perf for x86_64, static, with what it takes to record tracepoints, to read
# symbols as its tests do, and not much else; print the program's path.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 1 ] || die "usage: perf.sh SRC"
src=$1 obj=$1/obj-perf
[ "$(uname -m)" = x86_64 ] || die "perf is built on an x86_64 host only"
"$TOP/scripts/setup.sh" pkg-config:pkg-config /usr/include/libelf.h:libelf-dev /usr/include/traceevent/event-parse.h:libtraceevent-dev /usr/include/zstd.h:libzstd-dev
mkdir -p "$obj"
# That of the same source is not built again, see build.sh.
stamp=$({ git -C "$src" rev-parse HEAD && gcc --version && cat "$0"; } | sha256sum)
if [ "$stamp" = "$(cat "$obj/.built" 2>/dev/null)" ] && [ -x "$obj/stripped/perf" ]; then
	echo "$obj/stripped/perf"
	exit 0
fi
rm -f "$obj/.built"
say "building perf"
counted "$BUILD/x86_64/perf.log" "perf, files" '^ +CC ' \
	make -C "$src/tools/perf" O="$obj" -j"$JOBS" CC="ccache gcc" HOSTCC="ccache gcc" LDFLAGS=-static \
	NO_RUST=1 NO_LIBDW=1 NO_LIBPYTHON=1 NO_LIBPERL=1 NO_SLANG=1 NO_LIBBPF=1 BUILD_BPF_SKEL=0 \
	NO_JVMTI=1 NO_LIBNUMA=1 NO_LIBCAP=1 NO_LIBLLVM=1 NO_LIBBABELTRACE=1 NO_LIBDEBUGINFOD=1 perf
mkdir -p "$obj/stripped"
strip -o "$obj/stripped/perf" "$obj/perf"
echo "$stamp" >"$obj/.built"
echo "$obj/stripped/perf"
