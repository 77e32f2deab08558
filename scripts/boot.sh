#!/usr/bin/env bash
# Usage: [SMP=2] [LIMIT=300] [APPEND=...] [ICOUNT=] [THREADS=] boot.sh ARCH OBJ JOB OUT
# Boot OBJ's kernel and root file system, run the script JOB in the guest, leave
# OUT/kernel.log and OUT/job.log. EXTRA=FILE adds a program, EXTRA=FOLDER what is in it. THREADS=multi emulates each
# CPU in a thread of its own, single all in one. With JOB '-': a prompt on this terminal
# instead.
# Status: 0 the job ended with 0 and the kernel had nothing to say against it;
# else one line tells what was wrong.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 4 ] || die "usage: boot.sh ARCH OBJ JOB OUT"
arch=$1 obj=$2 job=$3 out=$4
arch_vars "$arch"
[ -n "${SMP:-}" ] || { [ -n "${ICOUNT:-}" ] && SMP=1 || SMP=2; }
LIMIT=${LIMIT:-600} MEM=${MEM:-1G}
[ -f "$obj/$KIMAGE" ] || die "$arch: there is no kernel in $obj"
[ -f "$obj/rootfs.cpio.gz" ] || die "$arch: there is no rootfs.cpio.gz in $obj"
mkdir -p "$out"

accel=("${TCG_ARGS[@]}" -accel "tcg,thread=${THREADS:-$TCG_THREADS}")
if [ -n "${ICOUNT:-}" ]; then
	accel=("${TCG_ARGS[@]}" -icount "shift=0,sleep=off")
elif [ "$(uname -m)" = "$(uname_of "$arch")" ] && "$TOP/scripts/kvm-works.sh" "$arch" "$obj"; then
	accel=("${KVM_ARGS[@]}")
fi
# Two threads a core, where there are two: core scheduling has something to share.
topology=$SMP
[ $((SMP % 2)) -ne 0 ] || topology=$SMP,cores=$((SMP / 2)),threads=2
common=("${accel[@]}" -smp "$topology" -m "$MEM" -nodefaults -no-user-config -no-reboot -display none
	-kernel "$obj/$KIMAGE")
append="console=$CONSOLE panic=-1 oops=panic quietperf.tty=$JOB_TTY $CMDLINE ${APPEND:-}"

if [ "$job" = - ]; then
	exec "$QEMU" "${common[@]}" -initrd "$obj/rootfs.cpio.gz" -serial mon:stdio \
		-append "$append quietperf.shell=1"
fi

tmp=$(mktemp -d "${TMPDIR:-/tmp}/quietperf-boot.XXXXXX")
qemu=0 show=0
cleanup() {
	[ "$qemu" -eq 0 ] || kill -9 "$qemu" 2>/dev/null || true
	[ "$show" -eq 0 ] || kill "$show" 2>/dev/null || true
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
"$TOP/scripts/initrd.sh" "$obj" "$job" "$tmp/initrd"

: >"$out/kernel.log"
: >"$out/job.log"
"$QEMU" "${common[@]}" -initrd "$tmp/initrd" \
	-chardev "file,id=con,path=$out/kernel.log" -serial chardev:con \
	-chardev "file,id=job,path=$out/job.log" "${JOB_ARGS[@]}" \
	-append "$append" >"$tmp/qemu.err" 2>&1 </dev/null 9>&- &
qemu=$!
# The job's results as they come.
tail -q -n +1 -f --pid="$qemu" "$out/job.log" 2>/dev/null |
	grep --line-buffered -E '^(# )?(not )?ok |^guest: |^[a-z]+/' | sed -u "s/^/  $arch: /" >&2 &
show=$!

end=$((SECONDS + LIMIT))
while kill -0 "$qemu" 2>/dev/null && [ "$SECONDS" -lt "$end" ]; do
	sleep 0.2
done
hang=0
if kill -0 "$qemu" 2>/dev/null; then
	hang=1
	kill -9 "$qemu"
fi
rc=0
wait "$qemu" || rc=$?
qemu=0
wait "$show" 2>/dev/null || true
show=0
if [ "$hang" -eq 0 ] && [ "$rc" -ne 0 ]; then
	cat "$tmp/qemu.err" >&2
	die "$arch: QEMU ended with status $rc"
fi
HANG=$hang LIMIT=$LIMIT "$TOP/scripts/log-check.sh" "$arch" "$out"
