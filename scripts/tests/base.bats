#!/usr/bin/env bats
# The base: where it comes from, and what is said when it does not come.
load helper
setup() { setup_copy; }
teardown() { teardown_copy; }

@test "an unknown ARCH is refused by name" {
	ARCH=sparc run "$repo/scripts/run.sh"
	one_line "unknown ARCH 'sparc'"
}

@test "KDIR that is not there" {
	KDIR=$work/nothing run "$repo/scripts/base.sh"
	one_line "there is no folder"
}

@test "KDIR that is no git tree" {
	mkdir "$work/plain"
	KDIR=$work/plain GIT_CEILING_DIRECTORIES=$work run "$repo/scripts/base.sh"
	one_line "is no git tree"
}

@test "KDIR that is no kernel tree" {
	git init -q "$work/other"
	git -C "$work/other" -c user.name=t -c user.email=t@t commit -q --allow-empty -m x
	KDIR=$work/other run "$repo/scripts/base.sh"
	one_line "is no Linux kernel tree"
}

@test "KDIR keeps its branch and its files" {
	small_kernel "$work/kdir"
	git init -q -b mine "$work/kdir"
	git -C "$work/kdir" add -A
	git -C "$work/kdir" -c user.name=t -c user.email=t@t commit -q -m x
	echo edited >>"$work/kdir/Kbuild"
	echo new >"$work/kdir/untracked"
	before=$(git -C "$work/kdir" rev-parse HEAD mine; git -C "$work/kdir" status --porcelain; md5sum "$work/kdir/Kbuild")
	mkdir "$work/cache"
	KDIR=$work/kdir SERIES=none run "$repo/scripts/source.sh"
	[ "$status" -eq 0 ]
	grep -q kbuild "${lines[-1]}/Kbuild"
	! grep -q edited "${lines[-1]}/Kbuild"
	[ "$before" = "$(git -C "$work/kdir" rev-parse HEAD mine; git -C "$work/kdir" status --porcelain; md5sum "$work/kdir/Kbuild")" ]
}

@test "BASE that is not there" {
	BASE=$work/nothing.tar run "$repo/scripts/base.sh"
	one_line "there is no file"
}

@test "BASE that is no tarball" {
	echo text >"$work/base.tar"
	BASE=$work/base.tar run "$repo/scripts/base.sh"
	one_line "no tarball"
}

@test "BASE that is a tarball of something else" {
	tar -cf "$work/base.tar" -C "$repo" scripts
	BASE=$work/base.tar run "$repo/scripts/base.sh"
	one_line "holds no Linux kernel tree"
}

@test "BASE wins over the pin, and is imported once" {
	small_tarball "$work/base.tar"
	echo 'exit 1' | stand_in apt-fetch.sh
	BASE=$work/base.tar run "$repo/scripts/base.sh"
	[ "$status" -eq 0 ]
	first=${lines[-1]}
	BASE=$work/base.tar run "$repo/scripts/base.sh"
	[ "${lines[-1]}" = "$first" ]
	[[ "$output" != *unpacking* ]]
}

@test "the checksum is wrong: refused, nothing kept" {
	small_package "$work/p.deb" 7.3.4-1~bpo13+1
	echo "cp $work/p.deb \"\$4\"" | stand_in apt-fetch.sh
	run "$repo/scripts/base.sh"
	one_line "checksum wrong"
	[ -z "$(git -C "$work/cache/linux.git" for-each-ref)" ]
}

@test "the content is not the pinned one: refused, nothing kept" {
	small_package "$work/p.deb" 7.3.4-1~bpo13+1
	echo "cp $work/p.deb \"\$4\"" | stand_in apt-fetch.sh
	sed -i "s/^BASE_SHA256=.*/BASE_SHA256=$(sha256sum "$work/p.deb" | cut -d' ' -f1)/" "$repo/scripts/base.conf"
	run "$repo/scripts/base.sh"
	one_line "base.conf says"
	[ -z "$(git -C "$work/cache/linux.git" for-each-ref)" ]
}

@test "the pinned package is gone: another one is taken, loudly" {
	small_package "$work/p.deb" 7.3.9-1~bpo13+1
	printf 'case $3 in *=*) exit 2 ;; esac\ncp %s/p.deb "$4/linux-source-7.3_7.3.9.deb"\n' "$work" | stand_in apt-fetch.sh
	run "$repo/scripts/base.sh"
	[ "$status" -eq 0 ]
	[[ "$output" == *"ATTENTION: 7.3.4-1~bpo13+1 is gone, taking linux-source-7.3_7.3.9.deb"* ]]
	run "$repo/scripts/base.sh"
	[ "$status" -eq 0 ]
	[[ "$output" == *"ATTENTION"* ]]
}

@test "the package is gone altogether" {
	echo 'exit 2' | stand_in apt-fetch.sh
	run "$repo/scripts/base.sh"
	one_line "give BASE=TARBALL or KDIR=TREE"
}

@test "no network" {
	http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 run "$repo/scripts/base.sh"
	one_line "no network"
}

@test "the disk is full" {
	mkdir "$work/cache"
	mount -t tmpfs -o size=8M tmpfs "$work/cache" || skip "cannot mount a small file system"
	run "$repo/scripts/base.sh"
	one_line "disk full"
}

@test "an import that was cut short is begun anew" {
	small_tarball "$work/base.tar"
	# git dies in the middle of it
	mkdir "$work/bin"
	printf '#!/bin/sh\ncase "$*" in *write-tree*) exit 1 ;; esac\nexec %s "$@"\n' "$(command -v git)" >"$work/bin/git"
	chmod +x "$work/bin/git"
	PATH=$work/bin:$PATH BASE=$work/base.tar run "$repo/scripts/base.sh"
	one_line "cannot add the base"
	[ -z "$(git -C "$work/cache/linux.git" for-each-ref)" ]
	[ -z "$(find "$work/cache" -maxdepth 1 -name 'import.*')" ]
	BASE=$work/base.tar run "$repo/scripts/base.sh"
	[ "$status" -eq 0 ]
}
