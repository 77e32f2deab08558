# Run in the guest: every installed kselftest, through the kernel's own runner.
# A failed test is the results' matter, not the job's: -f.
cd /kselftest || exit 1
limit=$(tr ' ' '\n' </proc/cmdline | sed -n 's/^quietperf.limit=//p')
./run_kselftest.sh -f ${limit:+-o "$limit"}
# What leaked, where the kernel can tell: on the console, as a complaint.
leaks=/sys/kernel/debug/kmemleak
if [ -e $leaks ]; then
	# An object must look lost twice, and be older than 5 s.
	sleep 6
	echo scan >$leaks
	echo scan >$leaks
	sed 's/^/kmemleak: /' $leaks >/dev/kmsg
fi
