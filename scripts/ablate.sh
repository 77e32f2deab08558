#!/usr/bin/env bash
# Usage: [ONLY=] [RESUME=1] [KDIR=] [BASE=] ablate.sh
# Which tests notice when a change is taken out: for each patch of the series that
# is not only tests, and for each scripts/ablate/*.patch, a kernel of the series
# without it is built, booted and tested on x86_64; for those of tools/perf, perf is
# built and its tests are run on this machine. What only makes something cheaper
# (scripts/ablate/cost-only lists it) has to be noticed by the benchmarks instead. A
# change that nothing notices is a failure. From the environment: ONLY (parts of
# patches' names), RESUME (1: go on where the last run was cut short), KDIR, BASE.
#
# scripts/ablate/NAME.patch are made for the series as a whole. Where NAME is that of a
# mail without its number, it takes that change out by hand, of what later ones build on.
# The others take out what the base itself has had for years; the first line of each says
# what. A line 'Architecture: arm64' is for what only that shows.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments: ONLY=, RESUME=, KDIR= and BASE= come from the environment"
read -ra only <<<"$(tr , ' ' <<<"${ONLY:-}")"
out=$BUILD/ablate

wanted() {
	local word
	[ ${#only[@]} -gt 0 ] || return 0
	for word in "${only[@]}"; do
		case $1 in *"$word"*) return 0 ;; esac
	done
	return 1
}

# change FROM REVERSE PATCH...: the commit FROM with patches applied, or taken out last
# first; prints the commit, or fails if one does not apply.
change() {
	local from=$1 reverse=$2 patch index=$tmp/index tree
	shift 2
	GIT_INDEX_FILE=$index git -C "$repo" read-tree "$from"
	while read -r patch && [ -n "$patch" ]; do
		# shellcheck disable=SC2086 # nothing or one word
		GIT_INDEX_FILE=$index git -C "$repo" apply --cached -3 $reverse "$patch" >"$tmp/apply" 2>&1 || return 1
	done < <(printf '%s\n' "$@" | if [ -n "$reverse" ]; then tac; else cat; fi)
	tree=$(GIT_INDEX_FILE=$index git -C "$repo" write-tree)
	# Who and when are always the same: what has been tested before is known again.
	GIT_AUTHOR_NAME=ablate GIT_AUTHOR_EMAIL=ablate@localhost GIT_AUTHOR_DATE='1700000000 +0000' \
		GIT_COMMITTER_NAME=ablate GIT_COMMITTER_EMAIL=ablate@localhost GIT_COMMITTER_DATE='1700000000 +0000' \
		git -C "$repo" commit-tree -p "$series" -m "Taken out" "$tree"
}

# up_to PATCH WITH: the series as far as PATCH, with it (1) or without (0), and the tests
# of the whole series; of those in C that see the data of what they test, those till then.
up_to() {
	local patch before=1 set=()
	for patch in "$TOP"/patches/*.patch; do
		if [ "$patch" = "$1" ]; then
			before=0
			[ "$2" = 0 ] || set+=("$patch")
		elif [ $before = 1 ] || { grep -qxF "$patch" "$tmp/tests" && ! grep -qE '^(--- a/.*_kunit|[+]{3} b/tools/perf/tests/.*)\.c$' "$patch"; }; then
			set+=("$patch")
		fi
	done
	change "$base" '' "${set[@]}"
}

# failures ARCH COMMIT: a file with a line for each test that fails on this kernel; a
# kernel that complains, panics or hangs is a line too, without whom it happened to.
# Fails if it cannot be built.
failures() {
	local arch=$1 commit=$2 dir=$out/$1-$2 src obj xml
	if [ ! -e "$dir/failures" ]; then
		mkdir -p "$dir"
		src=$("$TOP/scripts/worktree.sh" "$repo" "$commit" ablate) || return 1
		obj=$("$TOP/scripts/build.sh" "$arch" test "$src" 2>"$dir/build.err") || return 1
		# The tests are the same in all of these trees.
		[ "$commit" != "$series" ] || "$TOP/scripts/rootfs.sh" "$arch" "$src" "$obj" || return 1
		"$TOP/scripts/boot.sh" "$arch" "$obj" "$TOP/qemu/jobs/kselftest.sh" "$dir" 2>"$dir/boot.err" ||
			sed -n 's/^[a-z-]*\.sh: [a-z0-9_]*: //p' "$dir/boot.err" | sed 's/: the whole log is .*//; s/+0x.*//' | tail -n 1 >"$dir/kernel"
		"$TOP/scripts/results.sh" "$arch" "$src" "$dir" >&2 || true
		{
			[ ! -s "$dir/kernel" ] || cat "$dir/kernel"
			for xml in "$dir"/kunit.xml "$dir"/kselftest.xml; do
				[ ! -s "$xml" ] || xmlstarlet sel -T -t -m '//testcase[failure|error]' -v 'concat(../@name, " ", @name)' -n "$xml"
			done
		} | { grep -vFf <(awk -F'\t' -v arch="$arch" '$1 == arch { print $2 }' "$TOP/scripts/known-failures") || true; } |
			sort -u >"$dir/failures.new"
		mv "$dir/failures.new" "$dir/failures"
	fi
	echo "$dir/failures"
}

# perf_only PATCH: whether it is about tools/perf alone.
perf_only() {
	! git apply --numstat "$1" | cut -f3 | grep -qv '^tools/perf/'
}

# perf_failures ARCH COMMIT: the same for the tests of perf record on this machine.
perf_failures() {
	local dir=$out/perf-$2 src
	if [ ! -e "$dir/failures" ]; then
		mkdir -p "$dir"
		src=$("$TOP/scripts/worktree.sh" "$repo" "$2" ablate) || return 1
		"$TOP/scripts/perf.sh" "$src" 2>"$dir/build.err" >&2 || return 1
		TESTS=record_output_mmap.sh SUITES='' "$TOP/scripts/perf-test.sh" "$src" >"$dir/perf-test.log" 2>&1 || [ $? -ne 4 ] || return 1
		cp "$BUILD/perf-test/record_output_mmap.sh.log" "$dir/"
		sed -nE 's/^(.*) \[Failed.*/record_output_mmap \1/p' "$dir/record_output_mmap.sh.log" | sort -u >"$dir/failures.new"
		mv "$dir/failures.new" "$dir/failures"
	fi
	echo "$dir/failures"
}

# What the figures are taken from; the events are those that the architecture has.
cost_job() {
	cat "$TOP/qemu/jobs/bench.sh"
	case $1 in
	x86_64)
		echo "run perf_events/bench_fork cpu-clock fork/16 fork/group-16 fork/paused-16 thread/16"
		# Groups of what the kernel takes for hardware have a lock of their own.
		echo "run perf_events/bench_fork mock fork/group-16"
		echo "run perf_events/bench_groups mock groups/28 groups/28-mmap groups/swap-14"
		echo "run perf_events/bench_cgroup mock cgroup/ab-8 cgroup/in-out-8"
		;;
	arm64) echo "run perf_events/bench_fork cycles fork/16 fork/group-16" ;;
	esac
	echo "exit 0"
}

# costs ARCH COMMIT: a file with 'case instructions' lines, in virtual time.
costs() {
	local arch=$1 commit=$2 dir=$out/cost-$1-$2 src obj
	if [ ! -e "$dir/figures" ]; then
		mkdir -p "$dir"
		src=$("$TOP/scripts/worktree.sh" "$repo" "$commit" ablate) || return 1
		obj=$("$TOP/scripts/build.sh" "$arch" test "$src" 2>"$dir/build.err") || return 1
		[ "$commit" != "$series" ] || "$TOP/scripts/rootfs.sh" "$arch" "$src" "$obj" || return 1
		cost_job "$arch" >"$dir/job"
		ICOUNT=1 APPEND='norandmaps kunit.enable=0' "$TOP/scripts/boot.sh" "$arch" "$obj" "$dir/job" "$dir" 2>"$dir/boot.err" || return 1
		tr -d '\r' <"$dir/job.log" | awk 'NF == 3 && $3 == "ns" { print $1, $2 }' >"$dir/figures.new"
		[ "$(wc -l <"$dir/figures.new")" -eq "$(awk '$1 == "run" && /\// { n += NF - 3 } END { print n }' "$dir/job")" ] || return 1
		mv "$dir/figures.new" "$dir/figures"
	fi
	echo "$dir/figures"
}

# noticed LOOK WITHOUT WITH: what tells the two apart. Figures repeat to the digit, and
# a change moves what it does not concern by less than 0.2 %.
noticed() {
	case $1 in
	costs) awk 'NR == FNR { with[$1] = $2; next }
		$2 > with[$1] * 1.002 { printf "%s +%.1f %%\n", $1, 100 * ($2 / with[$1] - 1) }' "$3" "$2" ;;
	*) comm -23 "$2" "$3" ;;
	esac
}

# row WHAT FILE: a line of the table; FILE has a line for each test that notices, or
# figure. Of a program that many tests of notice, the number.
row() {
	local by
	by=$(awk '
		{ name = $1 == "selftests:" ? $3 : $0 }
		!(name in n) { order[++names] = name }
		{ all[name] = all[name] (n[name]++ ? ", " : "") $4 }
		END {
			for (i = 1; i <= names; i++) {
				name = order[i]
				printf "%s%s", (i > 1 ? "; " : ""), name
				if (name !~ / /)
					printf ": %s", (n[name] > 6 ? n[name] " tests" : all[name])
			}
		}' "$2")
	if [ -z "$by" ]; then
		by='**nothing**'
		rc=1
	fi
	echo "| $1 | $by |" | tee -a "$out/table.new" >&2
}

# without PATCH: its row. Where later changes build on it, or save the same, it is taken
# out of the series as far as it, and what that fails at does not count.
without() {
	local patch=$1 name what why commit with without look=failures arch how
	name=${patch##*/} name=${name#*-}
	how=(-R "$patch")
	[ ! -e "$TOP/scripts/ablate/$name" ] || how=('' "$TOP/scripts/ablate/$name")
	what=$(sed -n '/^Subject: /,/^$/{s/^Subject: \(\[[^]]*\] \)\?//;p}' "$patch" | tr -d '\n')
	if perf_only "$patch"; then
		look=perf_failures arch=x86_64
	elif read -r _ arch why < <(grep "^${name%.patch}:" "$TOP/scripts/ablate/cost-only"); then
		look=costs
		if [ "$arch" = none ]; then
			echo "| $what | not seen: $why |" | tee -a "$out/table.new" >&2
			return
		fi
	else
		arch=x86_64
	fi
	say "without: $what"
	if commit=$(change "$series" "${how[@]}") && with=$($look $arch "$series") && without=$($look $arch "$commit"); then
		noticed $look "$without" "$with" >"$tmp/row"
		# What a later change saves as well is seen before that.
		if [ -s "$tmp/row" ] || [ $look != costs ]; then
			row "$what" "$tmp/row"
			return
		fi
	fi
	if commit=$(up_to "$patch" 1) && with=$($look $arch "$commit") &&
		commit=$(up_to "$patch" 0) && without=$($look $arch "$commit"); then
		noticed $look "$without" "$with" >"$tmp/row"
		row "$what (in the series as far as it)" "$tmp/row"
		return
	fi
	echo "| $what | **cannot be taken out: it does not apply in reverse, or does not build or boot** |" | tee -a "$out/table.new" >&2
	rc=1
}

"$TOP/scripts/setup.sh"
lock
[ -n "${RESUME:-}" ] || rm -rf "$out"
mkdir -p "$out"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/quietperf-ablate.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
read -r repo base < <("$TOP/scripts/base.sh") || exit 1
series=$("$TOP/scripts/series.sh" "$repo" "$base")
"$TOP/scripts/test-only.sh" "$TOP"/patches/*.patch >"$tmp/tests"
mapfile -t changes < <(printf '%s\n' "$TOP"/patches/*.patch | grep -vxFf "$tmp/tests")

# whole ARCH: the series as it is must pass.
whole() {
	local failures
	[ ! -e "$out/$1-$series/failures" ] || return 0
	say "the series as it is, on $1"
	failures=$(failures "$1" "$series") || die "the series does not build: see $out/$1-$series/build.err"
	[ ! -s "$failures" ] || {
		cat "$failures" >&2
		die "tests fail on the series as it is: see $out/$1-$series"
	}
}

sed -n 's/^\([^# ][^:]*\):.*/\1/p' "$TOP/scripts/ablate/cost-only" | while read -r name; do
	compgen -G "$TOP/patches/*-$name.patch" >/dev/null || die "scripts/ablate/cost-only: there is no patch $name"
done
rc=0
whole x86_64
printf '| taken out | noticed by |\n|---|---|\n' >"$out/table.new"
for patch in "${changes[@]}"; do
	if wanted "${patch##*/}"; then without "$patch"; fi
done
for patch in "$TOP"/scripts/ablate/*.patch; do
	[ -e "$patch" ] && wanted "${patch##*/}" && ! compgen -G "$TOP/patches/*-${patch##*/}" >/dev/null || continue
	what=$(head -n 1 "$patch")
	arch=$(sed -n 's/^Architecture: //p' "$patch")
	arch=${arch:-x86_64}
	whole "$arch"
	say "without: $what"
	if commit=$(change "$series" '' "$patch") && without=$(failures "$arch" "$commit"); then
		row "Linux: $what ($arch)" "$without"
	else
		echo "| Linux: $what | **${patch##*/} does not apply or does not build** |" | tee -a "$out/table.new" >&2
		rc=1
	fi
done
mv "$out/table.new" "$out/table.md"
cat "$out/table.md"
say "logs: $out"
[ $rc -eq 0 ] || die "a change that nothing notices, or that cannot be taken out: see the table"
