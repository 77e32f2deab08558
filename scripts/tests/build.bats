#!/usr/bin/env bats
# Building: what is asked of the configuration, what is said when it fails.
load helper
setup() {
	setup_copy
	export QUIETPERF_CACHE=$main_cache
	src=$main_cache/src/test
	[ -x "$src/scripts/kconfig/merge_config.sh" ] || skip "no kernel tree in the cache yet: 'make run' makes one"
}
teardown() {
	rm -rf "$src/obj-x86_64-bats"
	teardown_copy
}

@test "a symbol that does not make it into .config is named" {
	printf 'CONFIG_NO_SUCH_THING=y\nCONFIG_PRINTK=y\n' >"$repo/qemu/configs/bats.config"
	run "$repo/scripts/build.sh" x86_64 bats "$src"
	one_line "not in the final .config: CONFIG_NO_SUCH_THING=y"
}

@test "a fragment that is not there is named" {
	run "$repo/scripts/build.sh" x86_64 nothing "$src"
	one_line "there is no qemu/configs/nothing.config"
}

@test "help lists every verb" {
	run make -s -C "$top" help
	[ "$status" -eq 0 ]
	for verb in run test bench ablate debug kunit shell tree export check-series submission lava; do
		[[ "$output" == *"$verb "* ]]
	done
}
