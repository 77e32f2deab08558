#!/usr/bin/env bash
# Usage: [ARCH=] [ONLY=] [KDIR=] [BASE=] bench.sh
# Base and patched kernel side by side: what each case of qemu/bench.cases costs.
# From the environment: ARCH (both if left out), ONLY (families or names of cases,
# separated by blanks or commas; all if left out), KDIR and BASE as for run.sh.
# 'Base' has those patches of the series that only add tests, since it takes these
# to measure. Writes build/bench/results.tsv when all figures are there, else nothing.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments: ARCH=, ONLY=, KDIR= and BASE= come from the environment"
read -ra arches <<<"${ARCH:-x86_64 arm64}"
for arch in "${arches[@]}"; do arch_vars "$arch"; done
read -ra only <<<"$(tr , ' ' <<<"${ONLY:-}")"
out=$BUILD/bench

# plan ARCH [WORD...]: a line for each figure: name, unit, program, case, event.
plan() {
	local arch=$1 event
	shift
	case $arch in
	x86_64) event=cpu-clock ;;
	arm64) event=cycles ;;
	esac
	awk -v arch="$arch" -v host="$(uname -m)" -v event="$event" -v words="$*" '
		function add(name, event) {
			if (words == "" || index(" " words " ", " " name " ") ||
			    index(" " words " ", " " substr(name, 1, index(name, "/") - 1) " "))
				print name, $2, $3, $1, event
		}
		/^#/ { next }
		$4 ~ /64$/ { if ($4 == arch && host == arch) add($1, ""); next }
		$4 == "events" { add($1, event); add($1 "-mock", "mock"); next }
		{ add($1, "") }' "$TOP/qemu/bench.cases"
}

# job ARCH: the script for the guest.
job() {
	cat "$TOP/qemu/jobs/bench.sh"
	plan "$1" "${only[@]}" | awk '
		{ key = "run " $3 " '\''" $5 "'\''" }
		!(key in cases) { order[++n] = key }
		{ cases[key] = cases[key] " " $4 }
		END { for (i = 1; i <= n; i++) print order[i] cases[order[i]]; print "exit 0" }'
}

# commit_of KERNEL: the commit of the base with the series' tests, or with all of it.
commit_of() {
	local patches=("$TOP"/patches/*.patch)
	if [ "$1" = base ]; then
		mkdir "$tmp/patches"
		# perf's own tests measure nothing, and may need what they test.
		"$TOP/scripts/test-only.sh" "${patches[@]}" | while read -r patch; do
			git apply --numstat "$patch" | cut -f3 | grep -q '^tools/perf/' || cp "$patch" "$tmp/patches/"
		done
		[ -n "$(ls "$tmp/patches")" ] || die "the series has no patch with tests: there is nothing to measure with"
		PATCHES=$tmp/patches "$TOP/scripts/series.sh" "$repo" "$base"
	else
		"$TOP/scripts/series.sh" "$repo" "$base"
	fi
}

# measure ARCH KERNEL: boot it, and add its figures to those there are.
measure() {
	local arch=$1 kernel=$2 log=$out/$1-$2 name unit why perf=
	if [[ $(plan "$arch" "${only[@]}") == *record/* ]]; then perf=$("$TOP/scripts/perf.sh" "${src[$kernel]}"); fi
	say "measuring: $arch, $kernel"
	job "$arch" >"$tmp/job"
	EXTRA=$perf ICOUNT=1 APPEND=norandmaps LIMIT=${LIMIT:-1200} "$TOP/scripts/boot.sh" "$arch" "${src[$kernel]}/obj-$arch-bench" "$tmp/job" "$log" || exit 1
	tr -d '\r' <"$log/job.log" >"$tmp/log"
	while read -r name unit _; do
		awk -v OFS='\t' -v arch="$arch" -v kernel="$kernel" -v name="$name" -v unit="$unit" '
			NF == 3 && $1 == name && $2 ~ /^[0-9]+$/ && $3 == unit { print arch, name, kernel, $2, unit; n++ }
			END { exit n != 1 }' "$tmp/log" >>"$tmp/results.tsv" || {
			why=$(grep -m1 -E '^(bench_[a-z]+|record|perf): ' "$tmp/log" || true)
			die "$arch: the $kernel kernel gives no figure for $name${why:+ ($why)}: see $log/job.log"
		}
	done < <(plan "$arch" "${only[@]}")
}

for word in "${only[@]}"; do
	[ -n "$(for arch in "${arches[@]}"; do plan "$arch" "$word"; done)" ] ||
		die "ONLY: there is no case or family '$word': qemu/bench.cases lists them"
done
mapfile -t arches < <(for arch in "${arches[@]}"; do
	[ -z "$(plan "$arch" "${only[@]}")" ] || echo "$arch"
done)
rm -f "$out/results.tsv"
"$TOP/scripts/setup.sh" gnuplot:gnuplot-nox
lock
mkdir -p "$out"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/quietperf-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
read -r repo base < <("$TOP/scripts/base.sh") || exit 1
declare -A src
for kernel in base patched; do
	commit=$(commit_of $kernel)
	src[$kernel]=$("$TOP/scripts/worktree.sh" "$repo" "$commit" bench-$kernel)
	for arch in "${arches[@]}"; do
		obj=$("$TOP/scripts/build.sh" "$arch" bench "${src[$kernel]}")
		"$TOP/scripts/rootfs.sh" "$arch" "${src[$kernel]}" "$obj"
	done
done
printf 'arch\tcase\tkernel\tvalue\tunit\n' >"$tmp/results.tsv"
for arch in "${arches[@]}"; do
	for kernel in base patched; do measure "$arch" $kernel; done
done
"$TOP/scripts/bench-plot.sh" "$tmp/results.tsv" "$out"
cp "$tmp/results.tsv" "$out/results.tsv.new"
mv "$out/results.tsv.new" "$out/results.tsv"
"$TOP/scripts/bench-table.sh" "$out/results.tsv"
say "figures and plots: $out"
