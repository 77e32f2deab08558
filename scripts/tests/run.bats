#!/usr/bin/env bats
# The main job when a boot goes wrong; the guests are stand-ins.
load helper
setup() {
	setup_copy
	for script in setup source build rootfs results table; do
		stand_in $script.sh <<<"echo $script"
	done
}
teardown() { teardown_copy; }

# boots N MESSAGE: the first N boots fail, with that in the kernel's log.
boots() {
	stand_in boot.sh <<-SCRIPT
		mkdir -p "\$4"
		echo boot >>"$work/boots"
		echo fine >"\$4/kernel.log"
		[ "\$(wc -l <"$work/boots")" -gt $1 ] || { echo "$2" >"\$4/kernel.log"; exit 1; }
	SCRIPT
}

@test "run: code that QEMU lost is worth a second boot, loudly" {
	boots 1 "Oops: int3: 0000"
	run "$repo/scripts/run.sh"
	[ "$status" -eq 0 ]
	[[ "$output" == *"ATTENTION: x86_64: QEMU has lost a change of code"* ]]
	[ "$(wc -l <"$work/boots")" -eq 2 ]
}

@test "run: and not a third" {
	boots 2 "Oops: int3: 0000"
	run "$repo/scripts/run.sh"
	one_line "the boot failed"
	[ "$(wc -l <"$work/boots")" -eq 2 ]
}

@test "run: any other failed boot fails at once" {
	boots 1 "Oops: general protection fault"
	run "$repo/scripts/run.sh"
	one_line "the boot failed"
	[ "$(wc -l <"$work/boots")" -eq 1 ]
}

@test "run: the guest is told what is known to hang in it" {
	stand_in boot.sh <<<"mkdir -p \"\$4\"; touch \"\$4/kernel.log\"; echo \"\$1 \$APPEND\" >>$work/boots"
	printf 'arm64\tselftests: a: slow\tfails\narm64\tselftests: a: one\thangs here\narm64\tselftests: b: two\thangs too\n' >"$repo/scripts/known-failures"
	ARCH=arm64 APPEND=more "$repo/scripts/run.sh"
	ARCH=x86_64 "$repo/scripts/run.sh"
	[ "$(cat "$work/boots")" = $'arm64 quietperf.hangs=one,two more\nx86_64 quietperf.hangs= ' ]
}
