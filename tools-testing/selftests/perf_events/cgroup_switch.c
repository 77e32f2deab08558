// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of the events of a CPU when it switches between cgroups: they all
 * go off and on again, and some of them may have to stay off.
 */

#include <errno.h>

#include <sys/ioctl.h>

#include "common.h"
#include "kselftest_harness.h"

#define PMU		"mock0"
#define RUN_MS		20
#define PERIODS		100

/* TAINT_WARN and TAINT_BAD_PAGE: the kernel has warned, or KASAN has. */
#define TAINT_WARNED	0x220

static int kernel_warned(void)
{
	char buf[32];

	if (read_text("/proc/sys/kernel/tainted", buf, sizeof(buf)) <= 0)
		return -1;
	return atoi(buf) & TAINT_WARNED;
}

FIXTURE(cgroup_switch)
{
	int warned;
	char *path;
	/* Another cgroup, without events */
	char *other;
	struct spinner spinner;
	struct spinner other_spinner;
	bool mock;
	char counters[16];
	/* Events of the CPU */
	int wide;
	/* Of the cgroup */
	int fd;
	int sibling;
};

FIXTURE_SETUP(cgroup_switch)
{
	const char *missing;
	char root[256];

	missing = cgroup_missing(root, sizeof(root));
	if (missing)
		SKIP(return, "%s", missing);
	if (pin_to_cpu(1))
		SKIP(return, "needs CPU 0 and CPU 1");

	self->warned = kernel_warned();
	ASSERT_LE(0, self->warned);
	self->mock = !mock_pmu_missing();
	if (self->mock)
		ASSERT_EQ(0, mock_pmu_read(PMU, "counters", self->counters,
					   sizeof(self->counters)));
	self->wide = -1;
	self->fd = -1;
	self->sibling = -1;
	self->path = cg_name_indexed(root, "perf_events", getpid());
	self->other = cg_name_indexed(root, "perf_events_other", getpid());
	ASSERT_EQ(0, cg_create(self->path));
	ASSERT_EQ(0, cg_create(self->other));
	ASSERT_EQ(0, spinner_create(&self->spinner, 0));
	ASSERT_EQ(0, cg_enter(self->path, self->spinner.pid));
	ASSERT_EQ(0, spinner_create(&self->other_spinner, 0));
	ASSERT_EQ(0, cg_enter(self->other, self->other_spinner.pid));
}

FIXTURE_TEARDOWN(cgroup_switch)
{
	spinner_destroy(&self->spinner);
	spinner_destroy(&self->other_spinner);
	close(self->sibling);
	close(self->fd);
	close(self->wide);
	if (self->mock) {
		EXPECT_EQ(0, mock_pmu_write(PMU, "fail_add", "0 0 0"));
		EXPECT_EQ(0, mock_pmu_write(PMU, "counters", "%s", self->counters));
	}
	EXPECT_EQ(0, cgroup_remove(self->path));
	if (!access(self->other, F_OK))
		EXPECT_EQ(0, cgroup_remove(self->other));
	free(self->path);
	free(self->other);
	EXPECT_EQ(self->warned, kernel_warned());
}

static struct perf_event_attr switches_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
	.read_format = PERF_COUNT_FORMAT,
	.sample_period = 1,
	.disabled = 1,
};

/* An event that counts all the time must go on, whatever runs on its CPU. */
static void expect_goes_on(struct __test_metadata *_metadata, int fd,
			   struct spinner *spinner, struct spinner *other)
{
	struct perf_count before, after;

	ASSERT_EQ(0, perf_read(fd, &before));
	ASSERT_EQ(0, spinner_run(spinner, RUN_MS));
	ASSERT_EQ(0, spinner_run(other, RUN_MS));
	ASSERT_EQ(0, perf_read(fd, &after));

	EXPECT_LT(before.value, after.value);
	EXPECT_LE(2 * RUN_MS * 990000, after.enabled - before.enabled);
	EXPECT_EQ(after.enabled - before.enabled, after.running - before.running);
}

static void expect_pmu_enabled(struct __test_metadata *_metadata)
{
	char disabled[1024];

	ASSERT_EQ(0, mock_pmu_read(PMU, "disabled", disabled, sizeof(disabled)));
	EXPECT_NE(NULL, strstr(disabled, "cpu0 0\n"));
}

/*
 * The only event of the cgroup may overflow once. It does so in the very switch
 * that leaves the cgroup, and is disabled when it is taken off.
 */
TEST_F(cgroup_switch, refresh)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.read_format = PERF_COUNT_FORMAT,
	};
	struct perf_count count;
	int i;

	self->wide = perf_open(&attr, -1, 0, -1, 0);
	ASSERT_LE(0, self->wide);
	self->fd = perf_open_cgroup(&switches_attr, self->path, 0);
	ASSERT_LE(0, self->fd);

	for (i = 1; i <= 2; i++) {
		ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_REFRESH, 1));
		ASSERT_EQ(0, spinner_run(&self->spinner, RUN_MS));
		ASSERT_EQ(0, perf_read(self->fd, &count));
		EXPECT_EQ(i, count.value);
		expect_goes_on(_metadata, self->wide, &self->spinner, &self->other_spinner);
	}
}

static volatile sig_atomic_t nr_signals;

static void count_signal(int sig)
{
	nr_signals++;
}

/* The same with a signal for each overflow, which is sent from the switch. */
TEST_F(cgroup_switch, refresh_signal)
{
	struct sigaction action = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.read_format = PERF_COUNT_FORMAT,
	};
	struct perf_count count;
	int i, tries;

	ASSERT_EQ(0, sigaction(SIGIO, &action, NULL));
	self->wide = perf_open(&attr, -1, 0, -1, 0);
	ASSERT_LE(0, self->wide);
	self->fd = perf_open_cgroup(&switches_attr, self->path, 0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, fcntl(self->fd, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_ASYNC));

	for (i = 1; i <= 2; i++) {
		ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_REFRESH, 1));
		ASSERT_EQ(0, spinner_run(&self->spinner, RUN_MS));
		ASSERT_EQ(0, perf_read(self->fd, &count));
		EXPECT_EQ(i, count.value);
		/* It comes from an interrupt. */
		for (tries = 0; nr_signals < i && tries < 1000; tries++)
			usleep(1000);
		EXPECT_EQ(i, nr_signals);
		expect_goes_on(_metadata, self->wide, &self->spinner, &self->other_spinner);
	}
}

/* The same for an event that is scheduled with those of a hardware PMU. */
TEST_F(cgroup_switch, refresh_hardware)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.read_format = PERF_COUNT_FORMAT,
	};
	struct perf_count count;
	int dir, i;

	if (!self->mock)
		SKIP(return, "%s", mock_pmu_missing());

	self->wide = perf_open(&attr, -1, 0, -1, 0);
	ASSERT_LE(0, self->wide);
	self->fd = perf_open_cgroup(&switches_attr, self->path, 0);
	ASSERT_LE(0, self->fd);
	dir = open(self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_LE(0, dir);
	attr.disabled = 1;
	self->sibling = perf_open(&attr, dir, 0, self->fd, PERF_FLAG_PID_CGROUP);
	ASSERT_LE(0, self->sibling);
	close(dir);

	for (i = 1; i <= 2; i++) {
		ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_REFRESH, 1));
		ASSERT_EQ(0, spinner_run(&self->spinner, RUN_MS));
		ASSERT_EQ(0, perf_read(self->fd, &count));
		EXPECT_EQ(i, count.value);
		expect_pmu_enabled(_metadata);
		expect_goes_on(_metadata, self->wide, &self->spinner, &self->other_spinner);
	}
}

/*
 * The only event of the cgroup is pinned, and the PMU refuses it in the switch
 * to the cgroup.
 */
TEST_F(cgroup_switch, pinned_error)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.read_format = PERF_COUNT_FORMAT,
	};
	struct perf_count count;

	if (!self->mock)
		SKIP(return, "%s", mock_pmu_missing());

	self->wide = perf_open(&attr, -1, 0, -1, 0);
	ASSERT_LE(0, self->wide);
	attr.pinned = 1;
	self->fd = perf_open_cgroup(&attr, self->path, 0);
	ASSERT_LE(0, self->fd);

	/*
	 * Pinned events come first: tried with the other event on the PMU, and
	 * then again without it.
	 */
	ASSERT_EQ(0, mock_pmu_write(PMU, "fail_add", "%d 0 2", EAGAIN));
	ASSERT_EQ(0, spinner_run(&self->spinner, RUN_MS));
	ASSERT_NE(0, perf_read(self->fd, &count));

	expect_pmu_enabled(_metadata);
	expect_goes_on(_metadata, self->wide, &self->spinner, &self->other_spinner);
}

/*
 * No cgroup may be remembered when the last cgroup event has left in a switch:
 * it can be removed. It takes about a second each until the scheduler does not
 * look for events any more, and until the memory of the cgroup is free.
 */
TEST_F(cgroup_switch, removed)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.read_format = PERF_COUNT_FORMAT,
	};
	struct perf_count count;

	self->wide = perf_open(&attr, -1, 0, -1, 0);
	ASSERT_LE(0, self->wide);
	self->fd = perf_open_cgroup(&switches_attr, self->path, 0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_REFRESH, 1));

	/* Switch from the one cgroup to the other */
	ASSERT_EQ(0, spinner_go(&self->other_spinner));
	ASSERT_EQ(0, spinner_run(&self->spinner, RUN_MS));
	ASSERT_EQ(0, perf_read(self->fd, &count));
	EXPECT_EQ(1, count.value);
	close(self->fd);
	self->fd = -1;
	sleep(2);

	spinner_destroy(&self->other_spinner);
	self->other_spinner.pid = 0;
	ASSERT_EQ(0, cgroup_remove(self->other));
	sleep(2);

	close(self->wide);
	self->wide = perf_open(&attr, -1, 0, -1, 0);
	ASSERT_LE(0, self->wide);
	ASSERT_EQ(0, spinner_run(&self->spinner, RUN_MS));
	ASSERT_EQ(0, perf_read(self->wide, &count));
	EXPECT_LE(RUN_MS * 990000, count.enabled);
	EXPECT_EQ(count.enabled, count.running);
}

#define NR_COUNTERS	2

/* Flexible events of a task hold all counters. */
FIXTURE(cgroup_pinned)
{
	char *path;
	char *other;
	char counters[16];
	struct spinner spinner;
	int task_event[NR_COUNTERS];
	int fd;
};

FIXTURE_SETUP(cgroup_pinned)
{
	const char *missing;
	char root[256];
	int i;

	missing = cgroup_missing(root, sizeof(root)) ?: mock_pmu_missing();
	if (missing)
		SKIP(return, "%s", missing);
	if (pin_to_cpu(1))
		SKIP(return, "needs CPU 0 and CPU 1");

	self->fd = -1;
	for (i = 0; i < NR_COUNTERS; i++)
		self->task_event[i] = -1;
	ASSERT_EQ(0, mock_pmu_read(PMU, "counters", self->counters, sizeof(self->counters)));
	ASSERT_EQ(0, mock_pmu_write(PMU, "counters", "%d", NR_COUNTERS));
	self->path = cg_name_indexed(root, "perf_events", getpid());
	self->other = cg_name_indexed(root, "perf_events_other", getpid());
	ASSERT_EQ(0, cg_create(self->path));
	ASSERT_EQ(0, cg_create(self->other));
}

FIXTURE_TEARDOWN(cgroup_pinned)
{
	int i;

	spinner_destroy(&self->spinner);
	for (i = 0; i < NR_COUNTERS; i++)
		close(self->task_event[i]);
	close(self->fd);
	EXPECT_EQ(0, mock_pmu_write(PMU, "counters", "%s", self->counters));
	EXPECT_EQ(0, cgroup_remove(self->path));
	EXPECT_EQ(0, cgroup_remove(self->other));
	free(self->path);
	free(self->other);
}

/* A task that runs is moved to the cgroup which has the pinned event. */
TEST_F(cgroup_pinned, attach)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.read_format = PERF_COUNT_FORMAT,
	};
	__u64 running[NR_COUNTERS], start;
	struct perf_count count;
	int i, nr;

	ASSERT_EQ(0, spinner_create(&self->spinner, 0));
	ASSERT_EQ(0, cg_enter(self->other, self->spinner.pid));
	for (i = 0; i < NR_COUNTERS; i++) {
		self->task_event[i] = perf_open(&attr, self->spinner.pid, -1, -1, 0);
		ASSERT_LE(0, self->task_event[i]);
	}
	attr.pinned = 1;
	self->fd = perf_open_cgroup(&attr, self->path, 0);
	ASSERT_LE(0, self->fd);

	ASSERT_EQ(0, spinner_go(&self->spinner));
	spinner_wait(&self->spinner, RUN_MS);
	for (i = 0; i < NR_COUNTERS; i++) {
		ASSERT_EQ(0, perf_read(self->task_event[i], &count));
		EXPECT_LT(0, count.running);
		EXPECT_EQ(count.enabled, count.running);
		running[i] = count.running;
	}
	ASSERT_EQ(0, cg_enter(self->path, self->spinner.pid));
	start = spinner_min_ns(&self->spinner);
	spinner_wait(&self->spinner, RUN_MS);

	/* In ERROR state there is nothing to read. */
	ASSERT_EQ(0, perf_read(self->fd, &count));
	EXPECT_LE((RUN_MS - 1) * 1000000, count.enabled);
	EXPECT_EQ(count.enabled, count.running);

	/* The task's events take turns on what is left. */
	do {
		spinner_wait(&self->spinner, RUN_MS);
		for (i = nr = 0; i < NR_COUNTERS; i++) {
			ASSERT_EQ(0, perf_read(self->task_event[i], &count));
			nr += count.running > running[i];
		}
	} while (nr < NR_COUNTERS &&
		 spinner_min_ns(&self->spinner) < start + PERIODS * RUN_MS * 1000000ULL);
	EXPECT_EQ(NR_COUNTERS, nr);
}

/* One side of a pair of tasks that wake up each other: exit status */
static int ping_pong(int in, int out, int rounds)
{
	char c = 0;

	while (rounds--) {
		if (read(in, &c, 1) != 1 || write(out, &c, 1) != 1)
			return 1;
	}
	return 0;
}

/*
 * A task with events and its child, which has inherited them, take turns on the
 * CPU in two cgroups. Their contexts are swapped, and the events stay where they
 * are. Returns the exit status.
 */
static int swap_contexts(const char *path, const char *other, int start)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.inherit = 1,
	};
	int there[2], back[2], i, status;
	pid_t pid;
	char c;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || pin_to_cpu(0))
		return 1;
	if (pipe(there) || pipe(back) || cg_enter_current(other))
		return 1;
	for (i = 0; i < NR_COUNTERS; i++) {
		if (perf_open(&attr, 0, -1, -1, 0) < 0)
			return 1;
	}

	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || cg_enter_current(path))
			_exit(1);
		/* Tell that this task does not run in @path any more. */
		_exit(ping_pong(there[0], back[1], PERIODS));
	}

	if (read(start, &c, 1) != 1 || write(there[1], &c, 1) != 1)
		return 1;
	if (ping_pong(back[0], there[1], PERIODS - 1))
		return 1;
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status);
}

TEST_F(cgroup_pinned, context_swap)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.read_format = PERF_COUNT_FORMAT,
		.pinned = 1,
	};
	struct perf_count count;
	int start[2], status;
	pid_t pid;

	ASSERT_EQ(0, pipe(start));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(swap_contexts(self->path, self->other, start[0]));

	/* When both wait, nothing runs in the cgroup. */
	ASSERT_EQ(0, cg_wait_for_proc_count(self->path, 1));
	usleep(RUN_MS * 1000);
	self->fd = perf_open_cgroup(&attr, self->path, 0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(1, write(start[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);

	ASSERT_EQ(0, perf_read(self->fd, &count));
	EXPECT_LT(0, count.enabled);
	EXPECT_EQ(count.enabled, count.running);
	close(start[0]);
	close(start[1]);
}

TEST_HARNESS_MAIN
