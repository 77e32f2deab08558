#!/usr/bin/env bats
# LAVA's jobs: what the schemas refuse, and how a run is judged. The dispatcher is a
# stand-in that prints what a real one does.
load helper
setup() {
	setup_copy
	export SRC=$work/src
	mkdir -p "$work/bin"
	export PATH=$work/bin:$PATH
}
teardown() { teardown_copy; }

# kernel_there: files that pass for a kernel and its root file system.
kernel_there() {
	mkdir -p "$SRC/obj-x86_64-test/arch/x86/boot"
	echo kernel >"$SRC/obj-x86_64-test/arch/x86/boot/bzImage"
	echo rootfs >"$SRC/obj-x86_64-test/rootfs.cpio.gz"
}

# dispatcher STATUS: a lava-run that prints the results on stdin, SUITE CASE RESULT.
dispatcher() {
	{
		printf '#!/bin/sh\ncat <<LOG\n'
		echo '{"dt": "2026-01-01T00:00:00", "lvl": "info", "msg": "start: 0 validate"}'
		while read -r suite case result; do
			echo "{\"dt\": \"2026-01-01T00:00:00\", \"lvl\": \"results\", \"msg\": {\"case\": \"x\", \"definition\": \"$suite\", \"extra\": {\"test_case_id\": \"$case\"}, \"level\": \"3.1\", \"result\": \"$result\"}}"
		done
		echo '{"dt": "2026-01-01T00:00:00", "lvl": "results", "msg": {"case": "job", "definition": "lava", "result": "pass"}}'
		printf 'LOG\nexit %s\n' "$1"
	} >"$work/bin/lava-run"
	chmod +x "$work/bin/lava-run"
}

@test "lava: the jobs of both architectures are valid, from the table of boot.sh" {
	run "$repo/scripts/lava.sh"
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q 'console=ttyAMA0' "$repo/build/lava/arm64/job.yaml"
	grep -q 'gic-version=3' "$repo/build/lava/arm64/device.yaml"
	sed -i 's/CONSOLE=ttyAMA0/CONSOLE=ttyXYZ0/' "$repo/scripts/lib.sh"
	LAVA_URL=https://farm.example/x run "$repo/scripts/lava.sh" arm64
	[ "$status" -eq 0 ]
	grep -q 'console=ttyXYZ0' "$repo/build/lava/arm64/job.yaml"
	grep -q 'url: https://farm.example/x/arm64/kernel' "$repo/build/lava/arm64/job.yaml"
}

@test "lava: what LAVA's schema does not know is refused" {
	sed -i 's/visibility: public/visibility: nobody/' "$repo/scripts/lava.sh"
	run "$repo/scripts/lava.sh" x86_64
	one_line "LAVA's schema refuses"
	[[ "$output" == *visibility* ]]
}

@test "lava: a device that lacks something is refused" {
	sed -i '/constants: {/d' "$repo/scripts/lava.sh"
	run "$repo/scripts/lava.sh" x86_64
	one_line "LAVA's schema refuses"
	[[ "$output" == *constants* ]]
}

@test "lava: a run without a kernel, and without a dispatcher" {
	RUN=1 run "$repo/scripts/lava.sh" x86_64
	one_line "'make run ARCH=x86_64' makes one"
	command -v lava-run >/dev/null && skip "there is a dispatcher here"
	kernel_there
	RUN=1 run "$repo/scripts/lava.sh" x86_64
	one_line "there is no lava-run"
}

@test "lava: a run passes if both suites have reported and all passed" {
	kernel_there
	dispatcher 0 <<<$'kunit first pass\nkselftest one pass'
	RUN=1 run "$repo/scripts/lava.sh" x86_64
	echo "$output"
	[ "$status" -eq 0 ]
	cmp "$repo/build/lava/x86_64/kernel" "$SRC/obj-x86_64-test/arch/x86/boot/bzImage"
	grep -qx $'kselftest\tone\tpass' "$repo/build/lava/x86_64/results.tsv"
}

@test "lava: a run fails with a test, with a suite missing, with the job" {
	kernel_there
	dispatcher 0 <<<$'kunit first pass\nkselftest one fail'
	RUN=1 run "$repo/scripts/lava.sh" x86_64
	one_line "tests failed"
	printf 'x86_64\tone\tfor a reason\n' >"$repo/scripts/known-failures"
	RUN=1 run "$repo/scripts/lava.sh" x86_64
	[ "$status" -eq 0 ]
	[[ "$output" == *"kselftest: one: fail"* ]]
	dispatcher 0 <<<$'kunit first pass'
	RUN=1 run "$repo/scripts/lava.sh" x86_64
	one_line "there are 'kunit'"
	dispatcher 1 <<<$'kunit first pass\nkselftest one pass'
	RUN=1 run "$repo/scripts/lava.sh" x86_64
	one_line "did not come to its end"
}
