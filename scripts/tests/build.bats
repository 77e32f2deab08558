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

@test "the mock PMU is in no kernel that does not ask for it by name, its controls are root's" {
	src=$main_cache/src/test
	[ -f "$src/kernel/events/tests/mock_pmu.c" ] || skip "no patched kernel tree in the cache yet: 'make run' makes one"
	# A question of its own among the tests, with no default; nothing selects it.
	sed -n '/^if RUNTIME_TESTING_MENU/,/^endif # RUNTIME_TESTING_MENU/p' "$src/lib/Kconfig.debug" >"$work/menu"
	sed -n '/^config PERF_MOCK_PMU$/,/^config /p' "$work/menu" >"$work/option"
	grep -q '^	bool "' "$work/option"
	[ "$(sed 1d "$work/option" | sed '/^config /,$d' | grep -cE '^	(def_|default)')" -eq 0 ]
	[ -z "$(grep -rE '(select|imply) PERF_MOCK_PMU' --include='Kconfig*' "$src/lib" "$src/init" "$src/kernel" "$src/arch" "$src/drivers")" ]
	# It alone decides what is built.
	[ "$(grep -rhE 'mock_pmu\.o|tests/$' "$src/kernel/events" --include=Makefile | sort -u)" = \
		"$(printf 'obj-$(CONFIG_PERF_MOCK_PMU) += mock_pmu.o\nobj-$(CONFIG_PERF_MOCK_PMU) += tests/')" ]
	[ "$(grep -cE 'debugfs_create_file\([^,]*, 0[246]00,' "$src/kernel/events/tests/mock_pmu.c")" -eq \
		"$(grep -c 'debugfs_create_file(' "$src/kernel/events/tests/mock_pmu.c")" ]
}
