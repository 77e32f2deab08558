#!/usr/bin/env bash
# Usage: [RUN=1] [LAVA_URL=] [SRC=] lava.sh [ARCH...]
# For machines under LAVA, the engine of kernel board farms: write a job definition and
# a description of the local QEMU for each architecture (both if none is named) to
# build/lava/ARCH/, from the same table as boot.sh has, and validate them with LAVA's own
# schemas. The job boots the kernel that run.sh has built and runs the same job in it.
# With RUN=1: run it here, with Debian's lava-dispatcher, and judge the results.
# From the environment: LAVA_URL, where a farm finds the folder build/lava; SRC, the
# kernel tree, else that of run.sh without KDIR.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -gt 0 ] || set -- x86_64 arm64
for arch; do arch_vars "$arch"; done
src=${SRC:-$CACHE/src/test}
"$TOP/scripts/setup.sh" /usr/lib/python3/dist-packages/lava_common:lava-common

# yaml_list WORD...: a flow sequence of strings.
yaml_list() {
	local word list=''
	for word; do list+="${list:+, }'${word//\'/\'\'}'"; done
	echo "[$list]"
}

# write_device: what lava-run is to know about QEMU on this machine.
write_device() {
	cat <<-YAML
		# QEMU on this machine, as boot.sh calls it.
		available_architectures: [$DEBARCH]
		constants: {failure_retry: 1, boot_retry: 1, spawn_maxread: '4092', kernel-start-message: 'Linux version', default-shell-prompt: '#'}
		parameters: {}
		actions:
		  deploy:
		    methods: {image: {}}
		  boot:
		    connections: {serial: {}}
		    methods:
		      qemu:
		        parameters:
		          command: $QEMU
		          options: $(yaml_list "${options[@]}")
		timeouts:
		  actions: {}
		  connections: {}
	YAML
}

# write_job: boots, reads KUnit's results from the kernel's messages and then those of
# the kselftests. The second monitor ends by the end of the guest's job with status 0:
# with another one, or if the kernel dies, the connection closes and the job fails.
write_job() {
	cat <<-YAML
		# One boot of the series' tests; written by 'make lava'.
		job_name: kernel events and scheduler tests, $arch
		device_type: qemu
		visibility: public
		priority: medium
		timeouts:
		  job: {minutes: 60}
		  action: {minutes: 45}
		  connection: {minutes: 30}
		context:
		  arch: $DEBARCH
		  machine: '${TCG_ARGS[1]}'
		  cpu: '-cpu ${TCG_ARGS[3]}'
		  memory: 1024
		  extra_options: $(yaml_list "${extra[@]}")
		actions:
		- deploy:
		    timeout: {minutes: 5}
		    to: tmpfs
		    images:
		      kernel:
		        url: $url/$arch/kernel
		        image_arg: -kernel {kernel} -append "$append"
		      initrd:
		        url: $url/$arch/initrd
		        image_arg: -initrd {initrd}
		- boot:
		    # The time between two results, too.
		    timeout: {minutes: 30}
		    method: qemu
		    media: tmpfs
		- test:
		    timeout: {minutes: 45}
		    monitors:
		    - name: kunit
		      start: 'KTAP version 1'
		      end: 'Run /init as init process'
		      pattern: '(?P<result>not ok|ok) \d+ (?P<test_case_id>(?![^\r\n]*# SKIP)[^\r\n#]+)[^\r\n]*[\r\n]'
		      fixupdict: {ok: pass, not ok: fail}
		    - name: kselftest
		      start: 'guest: begin'
		      end: 'guest: end 0'
		      pattern: '(?P<result>not ok|ok) \d+ (?P<test_case_id>selftests: (?![^\r\n]*# SKIP)[^\r\n#]+)[^\r\n]*[\r\n]'
		      fixupdict: {ok: pass, not ok: fail}
	YAML
}

# validate FILE SCHEMA
validate() {
	# Debian's own Python has Debian's LAVA.
	/usr/bin/python3 - "$1" "$2" <<-'PYTHON' >"$out/validate.log" 2>&1 || {
		import importlib, sys, yaml
		schema = importlib.import_module(sys.argv[2])
		schema.validate(yaml.safe_load(open(sys.argv[1])))
	PYTHON
		tail -n 1 "$out/validate.log" >&2
		die "$arch: LAVA's schema refuses $1"
	}
}

# run_job: lava-run on this machine; each line of its log is a message in YAML, some of
# them results.
run_job() {
	local rc=0 seen
	command -v lava-run >/dev/null || die "there is no lava-run: install lava-dispatcher (see Documentation/lava.md for a way that keeps it apart)"
	rm -rf "$out/lava" "$out/log.yaml"
	mkdir "$out/lava"
	say "running the job of $arch in LAVA"
	lava-run --job-id 1 --output-dir "$out/lava" --device "$out/device.yaml" "$out/job.yaml" >"$out/log.yaml" 2>&1 || rc=$?
	/usr/bin/python3 - "$out/log.yaml" <<-'PYTHON' >"$out/results.tsv" || die "$arch: cannot read $out/log.yaml"
		import sys, yaml
		for line in open(sys.argv[1]):
		    entry = yaml.safe_load(line) if line.startswith("{") else {"lvl": ""}
		    if entry["lvl"] == "results" and entry["msg"]["definition"] != "lava":
		        msg = entry["msg"]
		        print(msg["definition"], msg["extra"]["test_case_id"], msg["result"], sep="\t")
	PYTHON
	seen=$(cut -f1 "$out/results.tsv" | sort -u | paste -sd ' ')
	awk -F'\t' '{ n[$1, $3]++ } $3 != "pass" { print "  " $1 ": " $2 ": " $3 }
		END { for (k in n) { split(k, part, SUBSEP); print part[1] ", " part[2] ": " n[k] } }' "$out/results.tsv" >&2
	[ "$rc" -eq 0 ] || die "$arch: the job did not come to its end (lava-run: status $rc): the whole log is $out/log.yaml"
	[ "$seen" = "kselftest kunit" ] || die "$arch: results of kunit and kselftest are expected, there are '$seen'"
	awk -F'\t' -v arch="$arch" 'NR == FNR { known[$1, $2]; next }
		$3 != "pass" && !((arch, $2) in known) { bad = 1 }
		END { exit bad }' "$TOP/scripts/known-failures" "$out/results.tsv" || die "$arch: tests failed, see above"
}

for arch; do
	arch_vars "$arch"
	out=$BUILD/lava/$arch url=${LAVA_URL:-file://$BUILD/lava}
	mkdir -p "$out"
	extra=(-smp '2,cores=1,threads=2' -no-reboot)
	options=("${TCG_ARGS[@]}" -accel "tcg,thread=$TCG_THREADS" -m 1024 -nodefaults -no-user-config -display none -serial stdio "${extra[@]}")
	append="console=$CONSOLE panic=-1 oops=panic quietperf.tty=/dev/$CONSOLE $CMDLINE"
	append=${append% }
	write_device >"$out/device.yaml"
	write_job >"$out/job.yaml"
	validate "$out/device.yaml" lava_common.schemas.device
	validate "$out/job.yaml" lava_common.schemas
	say "$arch: $out/job.yaml and device.yaml are valid"
	obj=$src/obj-$arch-test
	if [ -f "$obj/$KIMAGE" ] && [ -f "$obj/rootfs.cpio.gz" ]; then
		cp "$obj/$KIMAGE" "$out/kernel"
		"$TOP/scripts/initrd.sh" "$obj" "$TOP/qemu/jobs/kselftest.sh" "$out/initrd"
	elif [ -n "${RUN:-}" ]; then
		die "$arch: there is no kernel in $obj: 'make run ARCH=$arch' makes one"
	else
		say "$arch: no kernel in $obj yet: 'make run ARCH=$arch' makes one"
	fi
	[ -z "${RUN:-}" ] || run_job
done
