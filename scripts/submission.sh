#!/usr/bin/env bash
# Usage: SERIES=perf|sched|record|cgroup [VERSION=2 PREVIOUS=FOLDER] submission.sh
# Write the mails of one posting to build/submission/SERIES: a cover letter with the
# measured figures, the patches with From and Signed-off-by of who runs this (git
# config), To and Cc from get_maintainer.pl; then let git send-email and b4 read them
# without sending anything. PREVIOUS is the folder of the last version.
# From the environment too: KDIR and BASE, as for run.sh.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -eq 0 ] || die "takes no arguments: SERIES=, VERSION=, PREVIOUS=, KDIR= and BASE= come from the environment"
posting=${SERIES:-} version=${VERSION:-1}
unset SERIES
posting_vars "$posting"
case $version in
'' | *[!0-9]* | 0) die "VERSION is a number from 1 on, not '$version'" ;;
esac
[ "$version" -eq 1 ] || [ -d "${PREVIOUS:-}" ] || die "VERSION=$version needs PREVIOUS=, the folder with the mails of the version before"
name=$(git -C "$TOP" config user.name) && email=$(git -C "$TOP" config user.email) ||
	die "who submits? Only a person can sign off: git config user.name and user.email first"
cover=$TOP/Documentation/cover/$posting.txt
results=$BUILD/bench/results.tsv
[ -s "$results" ] || results=$TOP/Documentation/bench/results.tsv
out=$BUILD/submission/$posting

"$TOP/scripts/setup.sh" /usr/lib/git-core/git-send-email:git-email /usr/share/perl5/Mail/Address.pm:libmailtools-perl b4:b4
lock
read -r repo base < <("$TOP/scripts/base.sh") || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/quietperf-submission.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# select_patches: those of this posting, as a folder of their own.
select_patches() {
	local patch
	mkdir "$tmp/patches"
	for patch in "$TOP"/patches/*.patch; do
		if git mailinfo /dev/null /dev/null <"$patch" | sed -n 's/^Subject: //p' | grep -qE "$SUBJECTS"; then
			cp "$patch" "$tmp/patches/"
		fi
	done
	[ -n "$(ls "$tmp/patches")" ] || die "no patch of the series belongs to the posting '$posting'"
}

# signed COMMIT: the same commits, by the person who submits them.
signed() {
	local commit parent=$base
	for commit in $(git -C "$repo" rev-list --reverse "$base..$1"); do
		parent=$(git -C "$repo" log -1 --format=%B "$commit" |
			git -C "$repo" interpret-trailers --if-exists addIfDifferent --trailer "Signed-off-by: $name <$email>" |
			GIT_AUTHOR_NAME=$name GIT_AUTHOR_EMAIL=$email GIT_COMMITTER_NAME=$name GIT_COMMITTER_EMAIL=$email \
				GIT_AUTHOR_DATE=$(git -C "$repo" log -1 --format=%aI "$commit") \
				git -C "$repo" commit-tree -p "$parent" "$commit^{tree}")
	done
	echo "$parent"
}

# body: the text of the cover letter, the figures, what changed since the last version.
body() {
	local previous
	sed 1,2d "$cover"
	if [ -n "$FAMILIES" ] && [ -s "$results" ]; then
		printf '\nMeasured in QEMU with -icount (ns are instructions), base against patched:\n\n'
		{ head -n 1 "$results"; awk -F'\t' -v f="^($FAMILIES)/" '$2 ~ f' "$results"; } >"$tmp/results.tsv"
		"$TOP/scripts/bench-table.sh" "$tmp/results.tsv" | sed 's/^/  /; s/ *$//'
	fi
	# An import's commit means nothing to others; their own tree's does.
	if [ -n "${KDIR:-}" ]; then
		printf '\nbase-commit: %s\n' "$base"
	else
		printf '\nBased on Linux %s.\n' "$(git -C "$repo" show "$base:Makefile" |
			awk '$2 == "=" && /^(VERSION|PATCHLEVEL|SUBLEVEL)/ { v = v s $3; s = "." } END { print v }')"
	fi
	[ "$version" -gt 1 ] || return 0
	previous=$(PATCHES=$tmp/previous "$TOP/scripts/series.sh" "$repo" "$base") || return 1
	printf '\nChanges since v%d:\n\n' $((version - 1))
	git -C "$repo" range-diff --no-color --no-patch "$base..$previous" "$base..$commit" | sed 's/^/  /'
}

# owners OPTION... PATCH...: what get_maintainer.pl says, an address a line.
owners() {
	(cd "$src" && ./scripts/get_maintainer.pl --no-git --no-git-fallback --no-rolestats --no-roles "$@")
}

select_patches
if [ "$version" -gt 1 ]; then
	mkdir "$tmp/previous"
	cp "$PREVIOUS"/*.patch "$tmp/previous/"
	rm -f "$tmp"/previous/*0000-cover-letter.patch
fi
src=$("$TOP/scripts/source.sh")
commit=$(PATCHES=$tmp/patches "$TOP/scripts/series.sh" "$repo" "$base")
commit=$(signed "$commit")
body >"$tmp/body"

reroll=()
[ "$version" -eq 1 ] || reroll=(-v "$version")
git -C "$repo" -c user.name="$name" -c user.email="$email" format-patch -q --cover-letter "${reroll[@]}" \
	--no-signature --no-base --thread=shallow -o "$tmp/mails" "$base..$commit"
cover_mail=$(ls "$tmp"/mails/*0000-cover-letter.patch)
COVER_SUBJECT=$(head -n 1 "$cover") awk -v body="$tmp/body" '
	/^Subject: / { sub(/\*\*\* SUBJECT HERE \*\*\*/, ENVIRON["COVER_SUBJECT"]) }
	$0 == "*** BLURB HERE ***" { while ((getline line <body) > 0) print line; next }
	{ print }' "$cover_mail" >"$tmp/cover"
mv "$tmp/cover" "$cover_mail"
people=$(owners --nol "$tmp"/patches/*.patch)
lists=$(owners --nom --nor "$tmp"/patches/*.patch)
[ -n "$people" ] || die "get_maintainer.pl finds nobody for these patches"
# header NAME: one header for the addresses on stdin, none if there are none.
header() {
	awk -v name="$1" 'NF { printf "%s%s", n++ ? ",\n " : name ": ", $0 } END { if (n) print "" }'
}
{
	header To <<<"$people"
	header Cc <<<"$lists"
} >"$tmp/addresses"
for mail in "$tmp"/mails/*.patch; do
	# Into the head of the mail, after its subject, which may be folded.
	awk -v addresses="$tmp/addresses" '
		!done && subject && !/^ / { while ((getline line <addresses) > 0) print line; done = 1 }
		/^Subject: / { subject = 1 }
		{ print }' "$mail" >"$mail.new"
	mv "$mail.new" "$mail"
done

rm -rf "$out"
mkdir -p "$(dirname "$out")"
cp -r "$tmp/mails" "$out"
git -C "$out" -c sendemail.confirm=never send-email --dry-run --suppress-cc=all --quiet --validate \
	--from "$name <$email>" "$out"/*.patch >"$tmp/send" 2>&1 || {
	tail -n 5 "$tmp/send" >&2
	die "git send-email would not send these mails, see above"
}
# b4 makes a mailbox for git am of them again. It has no use for folded headers.
for mail in "$out"/*.patch; do
	awk '!body && /^[ \t]/ { sub(/^[ \t]+/, " "); held = held $0; next }
		held != "" { print held; held = "" }
		body { print; next }
		/^$/ { body = 1; print; next }
		{ held = $0 }' "$mail"
done >"$tmp/mbox"
mkdir "$tmp/b4" "$tmp/split"
# It ends without a word where git has no identity.
GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=b4.attestation-policy GIT_CONFIG_VALUE_0=off \
	GIT_CONFIG_KEY_1=user.name GIT_CONFIG_VALUE_1=$name GIT_CONFIG_KEY_2=user.email GIT_CONFIG_VALUE_2=$email \
	b4 -q am -m "$tmp/mbox" -o "$tmp/b4" --no-cover >"$tmp/b4.log" 2>&1 &&
	[ "$(cat "$tmp"/b4/*.mbx | git mailsplit -o"$tmp/split")" = "$(git -C "$repo" rev-list --count "$base..$commit")" ] || {
	tail -n 5 "$tmp/b4.log" >&2
	die "b4 does not find all patches in these mails, see above"
}
say "$(find "$out" -name '*.patch' | wc -l) mails in $out; nothing was sent. To send them: git send-email $out/*.patch"
