// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CPU time of a process that is stopped by ptrace() at each system call:
 * it is not charged for the time until its tracer runs, or itself again.
 *
 * The CPU clock of the traced process is held against the instructions that a
 * PMU has counted for it, where an instruction takes a nanosecond, as it does
 * under QEMU's -icount shift=0 on arm64. At a switch the PMU stops before the
 * clock does, and starts after it. What that adds up to for each stop must not
 * depend on where the tracer runs. Elsewhere there is no such truth, and the tests
 * skip.
 *
 * A report of how utime changes when a process is traced is printed wherever the
 * test runs. It fails nothing: utime is sampled by ticks.
 */

#include <errno.h>
#include <signal.h>

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <linux/perf_event.h>

#include "common.h"
#include "kselftest_harness.h"

#define NR_CALLS	500
#define NR_LOOPS	2000

/* By how much the tracee's time may depend on where its tracer runs */
#define SLACK_NS	500

static void burn(void)
{
	int i;

	for (i = 0; i < NR_LOOPS; i++)
		asm volatile("" ::: "memory");
}

/* Count the instructions of a process, in the kernel as well. */
static int open_instructions(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.pinned = 1,
	};

	return syscall(__NR_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static long long read_count(int fd)
{
	__u64 count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? (long long)count : -1;
}

/* Why the number of instructions says nothing about the CPU clock, or NULL */
static const char *truth_missing(void)
{
	long long ns, count;
	int fd, i, n;

	fd = open_instructions(0);
	if (fd < 0)
		return "no PMU that counts a task's instructions in user and kernel mode";

	for (i = 0; i < 5; i++) {
		count = read_count(fd);
		ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (n = 0; n < 200; n++)
			burn();
		ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ns;
		count = read_count(fd) - count;
		if (count < 200 * NR_LOOPS || ns < count * 98 / 100 || ns > count * 102 / 100) {
			close(fd);
			return "an instruction does not take a nanosecond";
		}
	}

	close(fd);
	return NULL;
}

/* Some user time and some system calls, between two stops. */
static void tracee(bool traced)
{
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);

	raise(SIGSTOP);
	for (i = 0; i < NR_CALLS; i++) {
		burn();
		syscall(__NR_getppid);
	}
	raise(SIGSTOP);
	_exit(0);
}

/* From one stop to the other, but for the usage, which is that of the process */
struct result {
	int stops;
	long long cpu_ns;
	long long instructions;
	struct rusage usage;
};

/* Let a process go on until it stops itself. Returns 0 if it does. */
static int run_until_sigstop(pid_t pid, bool traced, int *stops)
{
	int status;

	if (!traced) {
		kill(pid, SIGCONT);
		return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) ? 0 : -1;
	}

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) == SIGSTOP)
			return 0;
		(*stops)++;
	}
}

/* Run a tracee on CPU @cpu, and its tracer where this process is. Returns 0 on success. */
static int run_tracee(int cpu, bool traced, struct result *result)
{
	int status, fd, ret = -1;
	clockid_t clock;
	pid_t pid;

	memset(result, 0, sizeof(*result));
	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		struct sched_param param = {};

		if (sched_setscheduler(0, SCHED_OTHER, &param) || pin_to_cpu(cpu))
			_exit(1);
		tracee(traced);
	}

	fd = open_instructions(pid);
	if (!clock_getcpuclockid(pid, &clock) &&
	    waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status)) {
		result->cpu_ns = clock_ns(clock);
		result->instructions = read_count(fd);
		ret = run_until_sigstop(pid, traced, &result->stops);
		result->cpu_ns = clock_ns(clock) - result->cpu_ns;
		result->instructions = read_count(fd) - result->instructions;
	}

	close(fd);
	kill(pid, SIGKILL);
	return wait4(pid, &status, 0, &result->usage) == pid ? ret : -1;
}

/* What the tracee was charged at each stop beyond what it executed */
static long long surplus_ns(const struct result *result)
{
	return (result->cpu_ns - result->instructions) / result->stops;
}

FIXTURE(traced)
{
	/* The second is -1 if there is none. */
	int cpus[2];
};

FIXTURE_SETUP(traced)
{
	cpu_set_t allowed;
	int cpu, nr = 0;

	ASSERT_EQ(0, sched_getaffinity(0, sizeof(allowed), &allowed));
	self->cpus[1] = -1;
	for (cpu = 0; cpu < CPU_SETSIZE && nr < 2; cpu++) {
		if (CPU_ISSET(cpu, &allowed))
			self->cpus[nr++] = cpu;
	}
	ASSERT_EQ(0, pin_to_cpu(self->cpus[0]));
}

FIXTURE_TEARDOWN(traced)
{
}

static int be_fifo(void)
{
	struct sched_param param = { .sched_priority = 10 };

	return sched_setscheduler(0, SCHED_FIFO, &param);
}

TEST_F(traced, by_fifo_task)
{
	const char *missing = truth_missing();
	struct result control, fifo;

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, run_tracee(self->cpus[0], true, &control));
	if (be_fifo())
		SKIP(return, "SCHED_FIFO needs CAP_SYS_NICE");
	ASSERT_EQ(0, run_tracee(self->cpus[0], true, &fifo));

	TH_LOG("beyond its instructions, at each of %d stops: %lld ns, by a fair task %lld ns",
	       fifo.stops, surplus_ns(&fifo), surplus_ns(&control));
	EXPECT_GT(SLACK_NS, llabs(surplus_ns(&fifo) - surplus_ns(&control)));
}

/* To leave the idle loop is no work of the tracee. */
TEST_F(traced, from_another_cpu)
{
	const char *missing = truth_missing();
	struct result control, remote;

	if (missing)
		SKIP(return, "%s", missing);
	if (self->cpus[1] < 0)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, run_tracee(self->cpus[0], true, &control));
	ASSERT_EQ(0, run_tracee(self->cpus[1], true, &remote));

	TH_LOG("beyond its instructions, at each of %d stops: %lld ns, on one CPU %lld ns",
	       remote.stops, surplus_ns(&remote), surplus_ns(&control));
	EXPECT_GT(surplus_ns(&control), surplus_ns(&remote));
}

static long long timeval_us(const struct timeval *tv)
{
	return tv->tv_sec * 1000000LL + tv->tv_usec;
}

static long long per_mille(long long value, long long base)
{
	return base ? (value - base) * 1000 / base : 0;
}

static void report(struct __test_metadata *_metadata, int cpu, const char *where)
{
	struct result untraced, traced;
	long long before, after;

	ASSERT_EQ(0, run_tracee(cpu, false, &untraced));
	ASSERT_EQ(0, run_tracee(cpu, true, &traced));
	TH_LOG("tracer %s: untraced, traced, difference", where);

	before = untraced.cpu_ns / 1000;
	after = traced.cpu_ns / 1000;
	TH_LOG("CPU clock %lld us, %lld us, %+lld per mille",
	       before, after, per_mille(after, before));
	before = timeval_us(&untraced.usage.ru_utime);
	after = timeval_us(&traced.usage.ru_utime);
	TH_LOG("utime %lld us, %lld us, %+lld per mille",
	       before, after, per_mille(after, before));
	before += timeval_us(&untraced.usage.ru_stime);
	after += timeval_us(&traced.usage.ru_stime);
	TH_LOG("utime + stime %lld us, %lld us, %+lld per mille",
	       before, after, per_mille(after, before));
}

TEST_F(traced, report)
{
	report(_metadata, self->cpus[0], "on the same CPU");
	if (self->cpus[1] >= 0)
		report(_metadata, self->cpus[1], "on another CPU");
	if (!be_fifo())
		report(_metadata, self->cpus[0], "on the same CPU, SCHED_FIFO");
}

TEST_HARNESS_MAIN
