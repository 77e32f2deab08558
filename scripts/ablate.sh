#!/usr/bin/env bash
# Which tests notice when a change is taken out: for each patch of the series that
# is not only tests, and for each scripts/ablate/*.patch, a kernel of the series
# without it is built, booted and tested on x86_64; for those of tools/perf, perf is
# built and its tests are run on this machine. A change that no test notices is a
# failure. From the environment: ONLY (parts of patches' names), KDIR, BASE.
#
# scripts/ablate/NAME.patch take out what the base itself has had for years; the first
# line of each says what. They are made for the series as a whole. A line
# 'Architecture: arm64' is for what only that shows.
. "$(dirname "$0")/lib.sh"
[ $# -eq 0 ] || die "takes no arguments: ONLY=, KDIR= and BASE= come from the environment"
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

# change REVERSE PATCH...: the series with patches applied, or taken out last first;
# prints the commit, or fails if one does not apply.
change() {
	local reverse=$1 patch index=$tmp/index tree
	shift
	GIT_INDEX_FILE=$index git -C "$repo" read-tree "$series"
	while read -r patch; do
		# shellcheck disable=SC2086 # nothing or one word
		GIT_INDEX_FILE=$index git -C "$repo" apply --cached -3 $reverse "$patch" >"$tmp/apply" 2>&1 || return 1
	done < <(printf '%s\n' "$@" | if [ -n "$reverse" ]; then tac; else cat; fi)
	tree=$(GIT_INDEX_FILE=$index git -C "$repo" write-tree)
	GIT_AUTHOR_NAME=ablate GIT_AUTHOR_EMAIL=ablate@localhost GIT_AUTHOR_DATE='1700000000 +0000' \
		GIT_COMMITTER_NAME=ablate GIT_COMMITTER_EMAIL=ablate@localhost GIT_COMMITTER_DATE='1700000000 +0000' \
		git -C "$repo" commit-tree -p "$series" -m "Without ${*##*/}" "$tree"
}

# failures ARCH COMMIT: a file with a line for each test that fails on this kernel; a
# kernel that complains, panics or hangs is a line too. Fails if it cannot be built.
failures() {
	local arch=$1 commit=$2 dir=$out/$1-$2 src obj xml
	if [ ! -e "$dir/failures" ]; then
		mkdir -p "$dir"
		src=$("$TOP/scripts/worktree.sh" "$repo" "$commit" ablate) || return 1
		obj=$("$TOP/scripts/build.sh" "$arch" test "$src" 2>"$dir/build.err") || return 1
		# The tests are the same in all of these trees.
		[ "$commit" != "$series" ] || "$TOP/scripts/rootfs.sh" "$arch" "$src" "$obj" || return 1
		"$TOP/scripts/boot.sh" "$arch" "$obj" "$TOP/qemu/jobs/kselftest.sh" "$dir" 2>"$dir/boot.err" ||
			sed -n 's/^[a-z-]*\.sh: [a-z0-9_]*: //p' "$dir/boot.err" | sed 's/: the whole log is .*//' | tail -n 1 >"$dir/kernel"
		"$TOP/scripts/results.sh" "$arch" "$src" "$dir" >&2 || true
		{
			[ ! -s "$dir/kernel" ] || cat "$dir/kernel"
			for xml in "$dir"/kunit.xml "$dir"/kselftest.xml; do
				[ ! -s "$xml" ] || xmlstarlet sel -T -t -m '//testcase[failure|error]' -v 'concat(../@name, " ", @name)' -n "$xml"
			done
		} | sort -u >"$dir/failures.new"
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
		TESTS=record_output_mmap.sh "$TOP/scripts/perf-test.sh" "$src" >"$dir/perf-test.log" 2>&1 || [ $? -ne 4 ] || return 1
		cp "$BUILD/perf-test/record_output_mmap.sh.log" "$dir/"
		sed -nE 's/^(.*) \[Failed.*/record_output_mmap \1/p' "$dir/record_output_mmap.sh.log" | sort -u >"$dir/failures.new"
		mv "$dir/failures.new" "$dir/failures"
	fi
	echo "$dir/failures"
}

# row WHAT FILE: a line of the table; FILE has a line for each test that notices.
row() {
	local by
	by=$(paste -sd ';' "$2" | sed 's/;/; /g')
	if [ -z "$by" ]; then
		by='**no test**'
		rc=1
	fi
	echo "| $1 | $by |" | tee -a "$out/table.new" >&2
}

# related PATCH: it and the later changes to the same files.
related() {
	local patch seen=0 files
	files=$(git apply --numstat "$1" | cut -f3)
	for patch in "${changes[@]}"; do
		[ "$patch" != "$1" ] || seen=1
		[ $seen = 1 ] && git apply --numstat "$patch" | cut -f3 | grep -qxF "$files" && echo "$patch"
	done || true
}

# without PATCH: its row. Where later changes build on it, they are taken out as
# well, and what a kernel without these alone fails at does not count.
without() {
	local patch=$1 what set rest commit with without look=failures
	! perf_only "$patch" || look=perf_failures
	what=$(sed -n '/^Subject: /,/^$/{s/^Subject: \(\[[^]]*\] \)\?//;p}' "$patch" | tr -d '\n')
	say "without: $what"
	if commit=$(change -R "$patch") && without=$($look x86_64 "$commit"); then
		row "$what" "$without"
		return
	fi
	mapfile -t set < <(related "$patch")
	rest=("${set[@]:1}")
	if [ ${#rest[@]} -gt 0 ] && commit=$(change -R "${set[@]}") && without=$($look x86_64 "$commit") &&
		commit=$(change -R "${rest[@]}") && with=$($look x86_64 "$commit"); then
		comm -23 "$without" "$with" >"$tmp/row"
		row "$what (with ${#rest[@]} later changes to the same files)" "$tmp/row"
		return
	fi
	echo "| $what | **cannot be taken out: it does not apply in reverse, or does not build** |" | tee -a "$out/table.new" >&2
	rc=1
}

"$TOP/scripts/setup.sh"
lock
rm -rf "$out"
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

rc=0
whole x86_64
printf '| taken out | noticed by |\n|---|---|\n' >"$out/table.new"
for patch in "${changes[@]}"; do
	if wanted "${patch##*/}"; then without "$patch"; fi
done
for patch in "$TOP"/scripts/ablate/*.patch; do
	[ -e "$patch" ] && wanted "${patch##*/}" || continue
	what=$(head -n 1 "$patch")
	arch=$(sed -n 's/^Architecture: //p' "$patch")
	arch=${arch:-x86_64}
	whole "$arch"
	say "without: $what"
	if commit=$(change '' "$patch") && without=$(failures "$arch" "$commit"); then
		row "Linux: $what ($arch)" "$without"
	else
		echo "| Linux: $what | **${patch##*/} does not apply or does not build** |" | tee -a "$out/table.new" >&2
		rc=1
	fi
done
mv "$out/table.new" "$out/table.md"
cat "$out/table.md"
say "logs: $out"
[ $rc -eq 0 ] || die "a change that no test notices, or that cannot be taken out: see the table"
