# shellcheck shell=bash disable=SC2034
# What the scripts share: messages, --help, the cache, the lock, the table of
# architectures, the postings, the exceptions of the series.
# Sourced, never run. Callers set -euo pipefail through it.
set -euo pipefail
export LC_ALL=C

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
CACHE=${QUIETPERF_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/quietperf}
GITDIR=$CACHE/linux.git
BUILD=$TOP/build
JOBS=${JOBS:-$(nproc)}
# Kernel builds repeat to the byte, so that the compiler cache and figures do too.
export KBUILD_BUILD_TIMESTAMP='2026-01-01' KBUILD_BUILD_USER=quietperf KBUILD_BUILD_HOST=quietperf
# Depend mode: a miss costs one pass of the compiler, not two.
export CCACHE_DIR=$CACHE/ccache CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-5G} CCACHE_DEPEND=1

# Progress and messages go to stderr: stdout is for results.
say() { printf "%s\n" "$*" >&2; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
	warn "$*"
	exit 1
}

# usage_if_asked ARG...: --help prints the comment at the top of the script, and ends it;
# no script has other options.
usage_if_asked() {
	local arg
	for arg; do
		case $arg in
		--help | -h)
			awk 'NR > 1 && !/^#/ { exit } /^# / || /^#$/ { sub(/^# ?/, ""); print }' "$0"
			exit 0
			;;
		-?*) die "unknown option '$arg': --help tells the usage" ;;
		esac
	done
}

# excuses NAME: the types that scripts/series-exceptions excuses for that patch,
# separated by commas. Its lines: 'FILE: TYPE,TYPE reason', FILE without its number or
# 'all'.
excuses() {
	sed -n "s/^${1#*-}: *\([A-Z_,]*\) .*/\1/p; s/^all: *\([A-Z_,]*\) .*/\1/p" "$TOP/scripts/series-exceptions" | paste -sd,
}

# excused NAME TYPE
excused() {
	case ,$(excuses "$1"), in *",$2,"*) ;; *) return 1 ;; esac
}

# lock: one user of the cache at a time, for the rest of this process and its children.
lock() {
	[ -n "${QUIETPERF_LOCKED:-}" ] && return
	mkdir -p "$CACHE" 2>/dev/null || die "cannot make the cache folder $CACHE: set QUIETPERF_CACHE to one that can be written"
	exec 9>"$CACHE/lock"
	if ! flock -n 9; then
		say "waiting for another run that uses $CACHE"
		flock 9
	fi
	export QUIETPERF_LOCKED=1
}

# remembered WHAT KEY...: the name of a file in the cache for a verdict on standard input
# and KEY, which has everything else that the verdict depends on. Who finds nothing wrong
# makes the file.
remembered() {
	local folder=$CACHE/remembered/$1
	shift
	mkdir -p "$folder"
	echo "$folder/$({ printf '%s\n' "$@" && cat; } | sha256sum | cut -c 1-64)"
}

# need_space DIR GIB: stop before a disk fills up half-way.
need_space() {
	local free
	free=$(df --output=avail -k "$1" | tail -n 1)
	[ "$free" -ge $(($2 * 1024 * 1024)) ] ||
		die "disk full: $1 has $((free / 1024)) MiB free, $2 GiB are needed: free some or set QUIETPERF_CACHE"
}

# arch_vars ARCH: one row of the table of architectures, as variables.
arch_vars() {
	CROSS=''
	case $1 in
	x86_64)
		KARCH=x86_64 KIMAGE=arch/x86/boot/bzImage DEBARCH=amd64
		QEMU=qemu-system-x86_64
		# The guest's job talks through the second serial port.
		JOB_TTY=/dev/ttyS1 CONSOLE=ttyS0
		JOB_ARGS=(-serial chardev:job)
		# With a thread for each processor, code that one of them patches can
		# be lost on another.
		TCG_ARGS=(-machine pc -cpu max) TCG_THREADS=single
		KVM_ARGS=(-machine pc -cpu host -accel kvm)
		# On a busy machine the emulated timer can miss the moment that a check at
		# boot looks at, and the kernel panics: 'IO-APIC + timer doesn't work'.
		CMDLINE='tsc=reliable no_timer_check'
		;;
	arm64)
		KARCH=arm64 KIMAGE=arch/arm64/boot/Image DEBARCH=arm64
		QEMU=qemu-system-aarch64
		JOB_TTY=/dev/hvc0 CONSOLE=ttyAMA0
		JOB_ARGS=(-device virtio-serial-device -device 'virtconsole,chardev=job')
		TCG_ARGS=(-machine 'virt,gic-version=3' -cpu 'max,pauth-impdef=on') TCG_THREADS=multi
		KVM_ARGS=(-machine 'virt,gic-version=host' -cpu host -accel kvm)
		CMDLINE=''
		;;
	*) die "unknown ARCH '$1': x86_64 and arm64 are supported" ;;
	esac
	if [ "$(uname -m)" != "$(uname_of "$1")" ]; then
		case $1 in
		x86_64) CROSS=x86_64-linux-gnu- ;;
		arm64) CROSS=aarch64-linux-gnu- ;;
		esac
	fi
}

uname_of() {
	case $1 in
	arm64) echo aarch64 ;;
	*) echo "$1" ;;
	esac
}

# posting_vars NAME: which patches, by their subjects, go to which maintainers in one
# posting, and the benchmarks that are about them.
POSTINGS='perf sched record cgroup'
posting_vars() {
	case $1 in
	perf) SUBJECTS='^(perf(/[a-z0-9]+)?|selftests/perf_events): ' FAMILIES='cgroup|fork|thread|groups|lock' ;;
	sched) SUBJECTS='^(sched/[a-z]+|selftests/sched): ' FAMILIES='clock' ;;
	record) SUBJECTS='^perf (record|test|config): ' FAMILIES='record' ;;
	cgroup) SUBJECTS='^cgroup: ' FAMILIES='' ;;
	*) die "which posting? SERIES=perf, sched, record or cgroup" ;;
	esac
}

# kmake SRC OBJ [ARG...]: the kernel's make for the architecture of arch_vars.
kmake() {
	local src=$1 obj=$2
	shift 2
	make -s -C "$src" O="$obj" ARCH="$KARCH" CROSS_COMPILE="$CROSS" \
		CC="ccache ${CROSS}gcc" HOSTCC="ccache gcc" "$@"
}

# lost_code ARCH LOG: whether a boot died since QEMU's emulation has run code on one
# processor that another one had just patched, as static keys are. Seen now and then with
# THREADS=multi, without the series as well; worth a second boot, loudly.
lost_code() {
	grep -q 'Oops: int3' "$2" || return 1
	say "ATTENTION: $1: QEMU has lost a change of code (int3, see above): booting once more"
}

# counted LOG NOUN PATTERN CMD...: run with the output in LOG; while it runs, say
# every few seconds how many lines match PATTERN; on failure show the log's end.
counted() {
	local log=$1 noun=$2 pattern=$3 pid rc=0
	shift 3
	mkdir -p "$(dirname "$log")"
	# A process group of its own, so that an interrupt ends all of it.
	set -m
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	set +m
	# shellcheck disable=SC2064 # the pid of now is meant
	trap "kill -- -$pid 2>/dev/null; exit 130" INT TERM
	local seen=0 now
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.5
		[ "$((SECONDS % 10))" -eq 0 ] || continue
		now=$(grep -cE "$pattern" "$log" || true)
		[ "$now" = "$seen" ] || say "  $noun: $now"
		seen=$now
	done
	wait "$pid" || rc=$?
	trap - INT TERM
	[ "$rc" -eq 0 ] || {
		tail -n 20 "$log" >&2
		die "${noun} failed (status $rc): the whole log is $log"
	}
}
