#!/usr/bin/env bash
# Usage: test.sh
# What CI runs. The scripts' own tests, the series' checks, both architectures booted
# with KUnit and kselftests, perf stat in the guest, perf record here. The last line is
# 'N passed, N failed, N skipped'; status 0 only if nothing failed.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments"
unset ARCH SERIES
"$TOP/scripts/setup.sh"
lock
passed=0 failed=0 skipped=0
mkdir -p "$BUILD"

# step NAME CMD...: one test that is a command.
step() {
	local name=$1 from=$SECONDS
	shift
	if "$@"; then
		passed=$((passed + 1))
		echo "ok $name ($((SECONDS - from)) s)"
	else
		failed=$((failed + 1))
		echo "not ok $name ($((SECONDS - from)) s)"
	fi
}

quietly() { "$@" >/dev/null; }

# beside NAME CMD...: a step that runs beside those to come, one such at a time: what the
# load of this machine does not matter to. A guest keeps one processor busy.
beside_logs=()
beside() {
	local name=$1 log=$BUILD/beside/${#beside_logs[@]}
	shift
	mkdir -p "$BUILD/beside"
	beside_logs+=("$log")
	echo "$name" >"$log.name"
	rm -f "$log.status"
	: >"$log"
	# A process group of its own, so that an interrupt ends all of it.
	set -m
	{
		exec 8>"$BUILD/beside/lock"
		flock 8
		say "beside: $name"
		from=$SECONDS rc=0
		"$@" >"$log" 2>&1 8>&- || rc=$?
		echo "$rc $((SECONDS - from))" >"$log.status"
	} </dev/null &
	set +m
	beside_pids+=($!)
}
beside_pids=()
trap '[ ${#beside_pids[@]} -eq 0 ] || kill -- "${beside_pids[@]/#/-}" 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM

# collect: the results of the steps beside, once all have ended.
collect() {
	local log rc time
	[ ${#beside_pids[@]} -eq 0 ] || wait "${beside_pids[@]}" || true
	beside_pids=()
	for log in "${beside_logs[@]}"; do
		cat "$log"
		# Without a status it was killed.
		rc=1 time=0
		read -r rc time 2>/dev/null <"$log.status" || true
		if [ "$rc" -eq 0 ]; then
			passed=$((passed + 1))
			echo "ok $(cat "$log.name") ($time s)"
		else
			failed=$((failed + 1))
			echo "not ok $(cat "$log.name") ($time s)"
		fi
	done
}

# add_rows FILE: a guest's results into the totals.
add_rows() {
	local p f s
	read -r p f s < <(awk -F'\t' '{ p += $3; f += $4; s += $5 } END { print p + 0, f + 0, s + 0 }' "$1")
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# run_bats FILE...: bats counts, not its files.
run_bats() {
	local rc=0 plan ok bad skip
	bats --tap --timing "$@" >"$BUILD/bats.tap" 2>&1 </dev/null || rc=$?
	cat "$BUILD/bats.tap"
	plan=$(sed -nE 's/^1\.\.([0-9]+)$/\1/p' "$BUILD/bats.tap")
	skip=$(grep -cE '^ok .* # skip' "$BUILD/bats.tap" || true)
	ok=$(($(grep -cE '^ok ' "$BUILD/bats.tap" || true) - skip))
	bad=$(grep -cE '^not ok ' "$BUILD/bats.tap" || true)
	[ $((ok + bad + skip)) -eq "${plan:-0}" ] && [ "${plan:-0}" -gt 0 ] && [ "$rc" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

# run_perf_tests: those of perf record, on this machine with the perf that is built by now.
run_perf_tests() {
	local p f s rc=0
	say "== perf record, on this machine"
	"$TOP/scripts/perf-test.sh" "$src" >"$BUILD/perf-test.log" || rc=$?
	cat "$BUILD/perf-test.log"
	read -r p f s < <(sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$BUILD/perf-test.log") || true
	case $rc in
	4) skipped=$((skipped + 1)) ;;
	*) passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1})) skipped=$((skipped + ${s:-0})) ;;
	esac
}

say "== the scripts"
step shellcheck shellcheck -x -S warning "$TOP"/scripts/*.sh "$TOP/.ci/run"
say "== the series"
src=$("$TOP/scripts/source.sh") || die "no patched tree, see above: nothing else can be tested"
rm -f "$BUILD"/*/results.tsv
# Nothing is compiled beside a guest.
say "== what is built"
for arch in x86_64 arm64; do
	step "$arch: kernel and kselftests are built" quietly env ARCH=$arch "$TOP/scripts/kernel.sh"
done
[ "$(uname -m)" != x86_64 ] || step "perf is built" quietly "$TOP/scripts/perf.sh" "$src"

# Two rows of steps, one for each processor: a guest that is emulated in one thread, or
# in virtual time, keeps one busy.
say "== x86_64, and beside it what does not take this machine as a whole"
beside "series is formally right" "$TOP/scripts/check-series.sh"
beside "arm64: run" env ARCH=arm64 THREADS=single "$TOP/scripts/run.sh"
for arch in x86_64 arm64; do
	beside "$arch: many groups, and frequencies, in virtual time" "$TOP/scripts/virtual-time.sh" $arch groups
	beside "$arch: modes of preemption, in virtual time" "$TOP/scripts/virtual-time.sh" $arch preempt
done
beside "arm64: CPU time of a traced process, in virtual time" "$TOP/scripts/virtual-time.sh" arm64 traced-time
step "x86_64: run" env ARCH=x86_64 "$TOP/scripts/run.sh"
[ "$(uname -m)" != x86_64 ] ||
	step "x86_64: perf stat on cgroups, in virtual time" "$TOP/scripts/virtual-time.sh" x86_64 perf-stat
for arch in x86_64 arm64; do
	step "$arch: kunit.py" "$TOP/scripts/kunit.sh" $arch "$src"
done
step "LAVA jobs are valid" env SRC="$src" "$TOP/scripts/lava.sh"
say "== the scripts' own tests"
run_bats "$TOP"/scripts/tests/*.bats
say "== what ran beside"
collect
for arch in x86_64 arm64; do
	[ ! -s "$BUILD/$arch/results.tsv" ] || add_rows "$BUILD/$arch/results.tsv"
done
# These record all of this machine: nothing else is to run.
[ "$(uname -m)" != x86_64 ] || run_perf_tests
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
