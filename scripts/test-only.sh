#!/usr/bin/env bash
# Usage: test-only.sh PATCH...
# Print those of the patches that only add tests: outside of the folders below they
# change nothing, or add an #include of a KUnit suite under its configuration symbol,
# so that the kernel does for its users what it did before.
. "$(dirname "$0")/lib.sh"
usage_if_asked "$@"
[ $# -gt 0 ] || die "usage: test-only.sh PATCH..."
tests='^(kernel/(events|sched)/(tests/|Makefile$|[.]kunitconfig$)|lib/Kconfig[.]debug$|tools/testing/|tools/perf/tests/)'
for patch; do
	[ -f "$patch" ] || die "there is no patch $patch"
	git apply --numstat "$patch" >/dev/null || die "$patch is no patch, or changes nothing"
	awk -v tests="$tests" '
		/^diff --git / { files++; outside = substr($4, 3) !~ tests; next }
		!files || !outside || /^(---|\+\+\+|-- $)/ { next }
		/^(old|new|deleted|rename|similarity|Binary|GIT binary)/ { other = 1 }
		/^-/ || (/^\+/ && !/^\+$|^\+#ifdef CONFIG_[A-Z0-9_]*KUNIT_TEST$|^\+#include "tests\/|^\+#endif/) { other = 1 }
		END { exit other || !files }' "$patch" || continue
	echo "$patch"
done
