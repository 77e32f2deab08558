#!/usr/bin/env bats
# The documents: what they point to is there.
setup() {
	top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	work=$(mktemp -d)
}
teardown() { rm -rf "$work"; }

# bad_links FOLDER: relative links of its Markdown files that lead nowhere, and names of
# its own files in backquotes that are not there.
bad_links() {
	local doc link
	while read -r doc; do
		{
			grep -oE '\]\([^)]+\)' "$doc" | sed -E 's/^\]\(//; s/\)$//; s/#.*//' | grep -vE '^[a-z]+:|^$' || true
			# From the top of the repository.
			grep -oE '`(scripts|qemu|Documentation)/[A-Za-z0-9_./-]+`' "$doc" | tr -d '`' | sed "s|^|$1/|" || true
		} | while read -r link; do
			case $link in
			/*) [ -e "$link" ] ;;
			*) [ -e "$(dirname "$doc")/$link" ] ;;
			esac || echo "${doc#"$1"/}: $link"
		done
	done < <(find "$1" -name '*.md' -not -path '*/build/*' -not -path '*/.git/*')
}

@test "docs: every relative link leads somewhere" {
	run bad_links "$top"
	echo "$output"
	[ -z "$output" ]
}

@test "docs: a link to nothing is found" {
	mkdir "$work/Documentation"
	touch "$work/there.md"
	echo 'See [this](../there.md#part), [that](https://example.org/x), [other](gone.md) and `scripts/gone.sh`.' >"$work/Documentation/a.md"
	run bad_links "$work"
	echo "$output"
	[ "${#lines[@]}" -eq 2 ]
	[ "${lines[0]}" = "Documentation/a.md: gone.md" ]
	[[ "${lines[1]}" == "Documentation/a.md: "*"/scripts/gone.sh" ]]
}

@test "docs: every document is in the index, and every verb in the README" {
	for doc in "$top"/Documentation/*.md; do
		[ "${doc##*/}" = README.md ] || grep -qF "](${doc##*/})" "$top/Documentation/README.md" || {
			echo "${doc##*/} is not in Documentation/README.md"
			return 1
		}
	done
	for verb in $(sed -nE 's/^([a-z-]+): ##.*/\1/p' "$top/Makefile"); do
		grep -qE "^\| \`make $verb\`" "$top/README.md" || {
			echo "make $verb is not in README.md"
			return 1
		}
	done
}
