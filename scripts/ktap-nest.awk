# Turn the output of run_kselftest.sh into nested KTAP as kunit.py's parser reads
# it: the runner puts "# " before all that a test prints, also before the test's own
# results; here they become subtests under the test's name. The reason of a test
# that skips as a whole ("1..0 # SKIP why") moves to the test's own line. Of the tests
# in the variable known, one a line, only the runner's verdict is kept.
BEGIN { n = split(known, names, "\n"); for (i = 1; i <= n; i++) verdict_only[names[i]] = 1 }
{ sub(/\r$/, "") }
# A program whose last line lacks its newline has the runner's verdict appended to it.
match($0, /^# .*(not )?ok [0-9]+ selftests: /) {
	at = match($0, /(not )?ok [0-9]+ selftests: /)
	print "    " substr($0, 3, at - 3)
	$0 = substr($0, at)
}
/^guest: / { next }
/^# timeout set to / { next }
/^# selftests: / { name = substr($0, 3); reason = ""; next }
/^# / && name in verdict_only { next }
/^# TAP version |^# KTAP version / { print "    KTAP version 1"; print "    # Subtest: " name; next }
/^# 1\.\.0 # SKIP/ { reason = $0; sub(/^# 1\.\.0 # SKIP ?/, "", reason) }
/^# / { print "    " substr($0, 3); next }
/ # SKIP *$/ && reason != "" { sub(/ *$/, " " reason) }
{ print }
