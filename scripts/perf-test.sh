#!/usr/bin/env bash
# Usage: perf-test.sh SRC
# Run the tests of perf record on this machine, with the perf that perf.sh built in
# SRC. Needs root: tracefs is mounted for the time, if it is not. Prints a line for
# each test and 'N passed, N failed, N skipped'; status 0 if none failed, 4 if the
# tests cannot run here. TESTS= and SUITES= name others.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 1 ] || die "usage: perf-test.sh SRC"
src=$(cd "$1" && pwd -P)
perf=$src/obj-perf/perf
tests=${TESTS:-record_output_mmap.sh record.sh record+zstd_comp_decomp.sh pipe_test.sh}
LIMIT=${LIMIT:-600}

cannot() {
	warn "perf's tests cannot run here: $*"
	exit 4
}

[ -x "$perf" ] || die "there is no $perf: run perf.sh $1"
[ "$(id -u)" -eq 0 ] || cannot "not root"
[ -e /proc/sys/kernel/perf_event_paranoid ] || cannot "the kernel has no perf events"

tmp=$(mktemp -d "${TMPDIR:-/tmp}/quietperf-perf.XXXXXX")
mounted=''
cleanup() {
	[ -z "$mounted" ] || umount "$mounted" || warn "$mounted stays mounted"
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

if [ ! -d /sys/kernel/tracing/events/raw_syscalls ]; then
	[ -d /sys/kernel/tracing ] || cannot "the kernel has no tracefs"
	mount -t tracefs tracefs /sys/kernel/tracing 2>"$tmp/err" ||
		cannot "tracefs cannot be mounted: $(cat "$tmp/err")"
	mounted=/sys/kernel/tracing
fi
[ -d /sys/kernel/tracing/events/raw_syscalls ] || cannot "the kernel does not trace system calls"
"$perf" record -q -e raw_syscalls:sys_enter -a -o "$tmp/perf.data" true >"$tmp/err" 2>&1 ||
	cannot "perf record fails: $(tail -n 1 "$tmp/err")"

# only_without_bpf LOG: the only case that failed is the one that needs BPF, and this perf
# has none.
only_without_bpf() {
	[ "$(grep '\[Failed' "$1")" = 'Uid sampling [Failed to record]' ] &&
		"$perf" version --build-options | grep -q 'bpf_skeletons: \[ OFF \]'
}

# The tests call it by its name.
mkdir "$tmp/bin"
ln -s "$perf" "$tmp/bin/perf"
mkdir -p "$BUILD/perf-test"
passed=0 failed=0 skipped=0
for name in $tests; do
	test=$src/tools/perf/tests/shell/$name
	log=$BUILD/perf-test/$name.log
	[ -f "$test" ] || die "there is no $test"
	rc=0
	(cd "$src/tools/perf" && PATH=$tmp/bin:$PATH timeout "$LIMIT" bash "$test") >"$log" 2>&1 || rc=$?
	without=''
	if [ "$rc" -eq 1 ] && only_without_bpf "$log"; then
		rc=0 without='Uid sampling [Skipped: this perf has no BPF]'
	fi
	case $rc in
	0) passed=$((passed + 1)) result=ok ;;
	2) skipped=$((skipped + 1)) result="skip: $(tail -n 1 "$log")" ;;
	*) failed=$((failed + 1)) result="FAILED (status $rc): $log" ;;
	esac
	echo "$name: $result"
	# What a test that passed has left out.
	[ "$rc" -ne 0 ] || { grep -i '\[Skipped' "$log"; echo "$without"; } | sed '/./!d; s/^/  /' || true
done
# A suite that is built in; perf tells how it went in the last word of a line.
for suite in ${SUITES-data_window}; do
	name=$(sed -n "s/^DEFINE_SUITE(\"\(.*\)\", $suite);/\1/p" "$src"/tools/perf/tests/*.c)
	[ -n "$name" ] || die "there is no suite $suite in $src/tools/perf/tests"
	log=$BUILD/perf-test/$suite.log
	# By its number: parts of other tests' names would run these as well.
	number=$("$perf" test list 2>/dev/null | sed -n "s/^ *\([0-9]*\): $name\$/\1/p")
	(cd "$src/tools/perf" && timeout "$LIMIT" "$perf" test -F "${number:-$name}") >"$log" 2>&1 || true
	case $(grep -F ": $name" "$log") in
	*Ok) passed=$((passed + 1)) result=ok ;;
	*) failed=$((failed + 1)) result="FAILED: $log" ;;
	esac
	echo "$suite: $result"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
