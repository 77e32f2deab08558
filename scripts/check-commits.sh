#!/usr/bin/env bash
# Usage: [FROM=N] [ARCH=x86_64] [VARIANTS=none] check-commits.sh
# Each commit of the series by itself, by hand (it takes an hour the first time): what
# it touches is compiled for both architectures with W=1 and checked by sparse, and
# must bring no warning that the commit before does not have; at the end of the series,
# so are configurations that the harness does not boot. Nothing is linked or booted.
# From the environment: FROM (a commit of the series' tree, or a number: start there),
# ARCH (both if left out), VARIANTS=none (leave these out), KDIR, BASE, TREE (a git
# tree that has the series as commits, to be taken instead: TREE_BASE is its base).
#
# What was found is kept in the cache, by the content of the sources, so that only what
# has changed is compiled again.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments: FROM=, ARCH=, VARIANTS=, KDIR=, BASE= and TREE= come from the environment"
read -ra arches <<<"${ARCH:-x86_64 arm64}"
for arch in "${arches[@]}"; do arch_vars "$arch"; done
command -v sparse >/dev/null || die "sparse is missing: apt-get install sparse"
# The kernel asks for a newer one than Debian 12 has, for this keyword alone; with
# another one, it would leave it out and go on.
CHECK=sparse
[ -z "$(echo 'static inline int f(const int *p) { __typeof_unqual__(*p) v = *p; return v; }' | sparse - 2>&1 | grep error)" ] ||
	CHECK='sparse -D__typeof_unqual__=__typeof__'
lock
if [ -n "${TREE:-}" ]; then
	repo=$TREE base=$(git -C "$TREE" rev-parse "${TREE_BASE:?is the commit under the series}") series=$(git -C "$TREE" rev-parse HEAD)
else
	"$TOP/scripts/setup.sh"
	read -r repo base < <("$TOP/scripts/base.sh") || exit 1
	series=$("$TOP/scripts/series.sh" "$repo" "$base")
fi
results=$CACHE/commits
out=$BUILD/commits
mkdir -p "$results" "$out"
rc=0

# Configurations, each as what is added to that of the tests: at the end of the series.
variant_config() {
	cat "$TOP/qemu/configs/common.config" "$TOP/qemu/configs/$1.config"
	case $2 in
	test)
		cat "$TOP/qemu/configs/test.config"
		echo CONFIG_KUNIT=y
		echo CONFIG_PERF_MOCK_PMU=y
		echo CONFIG_PERF_EVENTS_KUNIT_TEST=y
		echo CONFIG_SCHED_CLOCK_KUNIT_TEST=y
		;;
	no-cgroup-perf) echo '# CONFIG_CGROUP_PERF is not set' ;;
	no-smp) echo '# CONFIG_SMP is not set' ;;
	preempt) printf '# CONFIG_PREEMPT_LAZY is not set\nCONFIG_PREEMPT=y\n' ;;
	no-perf) printf '# CONFIG_PERF_EVENTS is not set\n# CONFIG_CGROUP_PERF is not set\n# CONFIG_KPROBE_EVENTS is not set\n' ;;
	esac
}

# x86 selects PERF_EVENTS, arm64 cannot be without SMP.
variants() {
	case $1 in
	x86_64) echo no-cgroup-perf no-smp preempt ;;
	arm64) echo no-cgroup-perf no-perf preempt ;;
	esac
}

# variant_objects ARCH VARIANT: what of that depends on it; a folder is all that is
# configured in it.
variant_objects() {
	printf '%s\n' kernel/sched/ kernel/cgroup/cgroup.o kernel/fork.o kernel/exit.o
	[ "$2" = no-perf ] && return
	echo kernel/events/
	case $1 in
	x86_64) echo arch/x86/events/core.o ;;
	arm64) echo drivers/perf/arm_pmu.o ;;
	esac
}

# must_be ARCH VARIANT: what makes the variant one, in .config.
must_be() {
	case $2 in
	no-cgroup-perf) ! grep -q '^CONFIG_CGROUP_PERF=' "$1/.config" ;;
	no-smp) ! grep -q '^CONFIG_SMP=' "$1/.config" ;;
	preempt) grep -q '^CONFIG_PREEMPT=y' "$1/.config" ;;
	no-perf) ! grep -q '^CONFIG_PERF_EVENTS=' "$1/.config" ;;
	test) grep -q '^CONFIG_PERF_EVENTS=y' "$1/.config" ;;
	esac
}

# configure ARCH VARIANT SRC OBJ
configure() {
	mkdir -p "$4"
	variant_config "$1" "$2" >"$4/fragment"
	kmake "$3" "$4" tinyconfig &&
		(cd "$3" && ./scripts/kconfig/merge_config.sh -m -O "$4" "$4/.config" "$4/fragment") &&
		kmake "$3" "$4" olddefconfig && must_be "$4" "$2"
}

# objects FILES: the objects to be made for changed files; a header stands for those
# that are most concerned.
objects() {
	local file
	while read -r file; do
		case $file in
		tools/* | Documentation/*) ;;
		# core.c has it as a part.
		kernel/events/tests/core_kunit.c) echo kernel/events/core.o ;;
		kernel/sched/core.c | kernel/sched/fair.c | kernel/sched/tests/*.c) echo "${file%.c}.o" ;;
		kernel/sched/*.c) echo kernel/sched/build_policy.o ;;
		*.c) echo "${file%.c}.o" ;;
		kernel/sched/*.h) printf '%s\n' kernel/sched/core.o kernel/sched/fair.o kernel/sched/build_policy.o ;;
		*.h) printf '%s\n' kernel/events/core.o kernel/events/ring_buffer.o kernel/sched/core.o ;;
		esac
	done <"$1" | sort -u
}

# of_arch ARCH: of these, those that the architecture has.
of_arch() {
	case $1 in
	x86_64) grep -vE '^(arch/[^x]|drivers/perf/arm)' ;;
	arm64) grep -vE '^arch/([^a]|arm/)' ;;
	esac
}

# state ARCH VARIANT COMMIT OBJECTS: a name for what a compilation depends on.
state() {
	{
		echo "$1 $2"
		variant_config "$1" "$2"
		"${CROSS}gcc" --version
		sparse --version
		cat "$4"
		git -C "$repo" rev-parse "$3:kernel" "$3:include" "$3:arch" "$3:lib" "$3:drivers/perf" "$3:mm" "$3:scripts"
	} | sha256sum | cut -c1-40
}

# warnings ARCH VARIANT COMMIT OBJECTS: a file with the warnings, without line numbers.
# Fails if it does not build.
warnings() {
	local arch=$1 variant=$2 commit=$3 list=$4 src obj name target kconfig
	arch_vars "$arch"
	name=$results/$(state "$arch" "$variant" "$commit" "$list")
	if [ ! -e "$name" ]; then
		src=$("$TOP/scripts/worktree.sh" "$repo" "$commit" commits) || return 1
		obj=$src/obj-$arch-$variant
		# What a commit adds to Kconfig comes with it.
		kconfig=$({ git -C "$repo" ls-tree -r "$commit" | grep Kconfig; variant_config "$arch" "$variant"; } | sha256sum)
		if [ "$kconfig" != "$(cat "$obj/.kconfig" 2>/dev/null)" ]; then
			configure "$arch" "$variant" "$src" "$obj" >"$out/build.log" 2>&1 </dev/null || return 1
			echo "$kconfig" >"$obj/.kconfig"
		fi
		kmake "$src" "$obj" -j"$JOBS" prepare >"$out/build.log" 2>&1 </dev/null || return 1
		while read -r target; do
			# Its warnings are wanted again, so it has to be made again.
			case $target in
			*/) rm -f "$obj/$target"*.o ;;
			*) rm -f "$obj/$target" ;;
			esac
			kmake "$src" "$obj" W=1 C=1 CHECK="$CHECK" "$target" >>"$out/build.log" 2>&1 </dev/null || return 1
			! grep -q 'specified, but sparse is not available' "$out/build.log" || return 1
		done <"$list"
		grep -E '(warning|error):' "$out/build.log" | sed -E 's/:[0-9]+:[0-9]+:/:/; s/:[0-9]+:/:/' | sort -u >"$name.new" || true
		mv "$name.new" "$name"
	fi
	echo "$name"
}

# compare NAME ARCH VARIANT BEFORE AFTER OBJECTS
compare() {
	local name=$1 arch=$2 variant=$3 before=$4 after=$5 list=$6 old new object
	[ -s "$list" ] || return 0
	if ! new=$(warnings "$arch" "$variant" "$after" "$list"); then
		tail -n 15 "$out/build.log" >&2
		say "not ok $arch $variant $name: does not build"
		rc=1
		return
	fi
	if [ ! -s "$new" ]; then
		say "ok $arch $variant $name"
		return
	fi
	# What is new has nothing to be compared with.
	while read -r object; do
		case $object in
		*/) echo "$object" ;;
		*) ! git -C "$repo" cat-file -e "$before:${object%.o}.c" 2>/dev/null || echo "$object" ;;
		esac
	done <"$list" >"$out/objects.before"
	old=$(warnings "$arch" "$variant" "$before" "$out/objects.before") || old=/dev/null
	if comm -13 "$old" "$new" >"$out/new" && [ ! -s "$out/new" ]; then
		say "ok $arch $variant $name"
	else
		cat "$out/new" >&2
		say "not ok $arch $variant $name: new warnings"
		rc=1
	fi
}

mapfile -t commits < <(git -C "$repo" rev-list --reverse "$base..$series")
n=0
for commit in "${commits[@]}"; do
	n=$((n + 1))
	case ${FROM:-1} in
	*[!0-9]*) git -C "$repo" merge-base --is-ancestor "$FROM" "$commit" || continue ;;
	*) [ "$n" -ge "${FROM:-1}" ] || continue ;;
	esac
	git -C "$repo" diff --name-only --diff-filter=d "$commit^" "$commit" >"$out/files"
	objects "$out/files" >"$out/all"
	name="$n: $(git -C "$repo" log -1 --format=%s "$commit")"
	for arch in "${arches[@]}"; do
		of_arch "$arch" <"$out/all" >"$out/objects" || true
		compare "$name" "$arch" test "$commit^" "$commit" "$out/objects"
	done
done
if [ "${VARIANTS:-}" != none ]; then
	for arch in "${arches[@]}"; do
		for variant in $(variants "$arch"); do
			variant_objects "$arch" "$variant" >"$out/objects"
			compare "the whole series" "$arch" "$variant" "$base" "$series" "$out/objects"
		done
	done
fi
exit $rc
