// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a task and all that inherited its events count together.
 *
 * The events are of a system call that nobody makes but this program, so that
 * the sum is known to the last one, whichever way the children come and go.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <sys/ioctl.h>
#include <sys/wait.h>

#include "common.h"
#include "kselftest_harness.h"

#define NR_EVENTS	16
#define GROUP_SIZE	4
/* More than one that is read with the others */
#define MAX_READ	(3 + 2 * GROUP_SIZE)

static void make_calls(int nr)
{
	while (nr--)
		syscall(__NR_getppid);
}

/* The tracepoint at the entry of getppid(), or a reason why there is none. */
static const char *getppid_event(struct perf_event_attr *attr)
{
	static const char * const dirs[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[256], buf[32];
	int i;

	if (geteuid())
		return "tracepoints need root";
	for (i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/events/syscalls/sys_enter_getppid/id", dirs[i]);
		if (read_text(path, buf, sizeof(buf)) > 0) {
			*attr = (struct perf_event_attr) {
				.type = PERF_TYPE_TRACEPOINT,
				.config = atoi(buf),
				.inherit = 1,
			};
			return NULL;
		}
	}
	return "needs CONFIG_FTRACE_SYSCALLS and tracefs";
}

/* Whether an event counts one call on each CPU that this task may use. */
static bool counts_everywhere(int fd)
{
	struct perf_count count;
	cpu_set_t all;
	int cpu;

	if (sched_getaffinity(0, sizeof(all), &all))
		return false;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all) && !pin_to_cpu(cpu))
			make_calls(1);
	}
	sched_setaffinity(0, sizeof(all), &all);
	return !perf_read(fd, &count) && count.value == CPU_COUNT(&all);
}

/*
 * The kernel turns a tracepoint on by patching its code, which QEMU's emulation of
 * several CPUs now and then overlooks on one of them. Turn it on for all tests at
 * once, and see that it is.
 */
static void keep_tracepoint_on(void)
{
	struct perf_event_attr attr;
	int tries = 10, fd;

	if (getppid_event(&attr))
		return;
	attr.inherit = 0;
	attr.read_format = PERF_COUNT_FORMAT;
	while (tries--) {
		fd = perf_open(&attr, 0, -1, -1, 0);
		if (fd < 0 || counts_everywhere(fd))
			return;
		close(fd);
	}
}

static int wait_for(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static void *thread_calls(void *arg)
{
	make_calls((long)arg);
	return NULL;
}

static int run_threads(int nr, int calls)
{
	pthread_t *threads = calloc(nr, sizeof(*threads));
	int i, err = !threads;
	pthread_attr_t attr;

	/* Small, but more than the least on any architecture */
	if (err || pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 256 * 1024))
		return -1;
	for (i = 0; i < nr && !err; i++)
		err = pthread_create(&threads[i], &attr, thread_calls, (void *)(long)calls);
	if (err)
		i--;
	while (i--)
		err |= pthread_join(threads[i], NULL);
	free(threads);
	return err;
}

/* All at once; every other one has a child of its own. */
static int run_processes(int nr, int calls)
{
	pid_t *pids = calloc(nr, sizeof(*pids));
	int i, err = !pids;

	for (i = 0; i < nr && !err; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			make_calls(calls / 2);
			if (i % 2) {
				pids[i] = fork();
				if (pids[i])
					_exit(wait_for(pids[i]) ? 1 : 0);
			}
			make_calls(calls - calls / 2);
			_exit(0);
		}
	}
	for (i = 0; i < nr; i++)
		err |= wait_for(pids[i]);
	free(pids);
	return err;
}

FIXTURE(inherit_sum)
{
	struct perf_event_attr attr;
	int fd[NR_EVENTS];
};

FIXTURE_VARIANT(inherit_sum)
{
	int nr;
	bool threads;
};

FIXTURE_VARIANT_ADD(inherit_sum, process)
{
	.nr = 1,
	.threads = false,
};

FIXTURE_VARIANT_ADD(inherit_sum, processes_16)
{
	.nr = 16,
	.threads = false,
};

FIXTURE_VARIANT_ADD(inherit_sum, processes_200)
{
	.nr = 200,
	.threads = false,
};

FIXTURE_VARIANT_ADD(inherit_sum, thread)
{
	.nr = 1,
	.threads = true,
};

FIXTURE_VARIANT_ADD(inherit_sum, threads_16)
{
	.nr = 16,
	.threads = true,
};

FIXTURE_VARIANT_ADD(inherit_sum, threads_1000)
{
	.nr = 1000,
	.threads = true,
};

FIXTURE_SETUP(inherit_sum)
{
	const char *missing = getppid_event(&self->attr);

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(inherit_sum)
{
	int i;

	for (i = 0; i < NR_EVENTS; i++) {
		if (self->fd[i] > 0)
			close(self->fd[i]);
	}
}

static int open_all(struct perf_event_attr *attr, int *fd, int group_size)
{
	int i;

	for (i = 0; i < NR_EVENTS; i++) {
		fd[i] = perf_open(attr, 0, -1, i % group_size ? fd[i - i % group_size] : -1, 0);
		if (fd[i] < 0)
			return -1;
	}
	return 0;
}

static int run(int nr, bool threads, int calls)
{
	return threads ? run_threads(nr, calls) : run_processes(nr, calls);
}

#define CALLS	6

/* Each event alone, and with everything in between the forks that there is */
TEST_F_TIMEOUT(inherit_sum, single, 300)
{
	struct perf_count count;
	int i;

	self->attr.read_format = PERF_COUNT_FORMAT;
	ASSERT_EQ(0, open_all(&self->attr, self->fd, 1));
	ASSERT_EQ(0, run(variant->nr, variant->threads, CALLS));
	make_calls(1);

	for (i = 0; i < NR_EVENTS; i++) {
		ASSERT_EQ(0, perf_read(self->fd[i], &count));
		EXPECT_EQ(variant->nr * CALLS + 1, count.value);
		EXPECT_EQ(count.enabled, count.running);
	}
}

/* In groups that are read at once, with and without samples that do it as well */
TEST_F_TIMEOUT(inherit_sum, group, 300)
{
	__u64 ids[NR_EVENTS], buf[MAX_READ];
	int i, j;

	self->attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_COUNT_FORMAT;
	if (variant->nr == 16)
		self->attr.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID;
	ASSERT_EQ(0, open_all(&self->attr, self->fd, GROUP_SIZE));
	for (i = 0; i < NR_EVENTS; i++)
		ASSERT_EQ(0, ioctl(self->fd[i], PERF_EVENT_IOC_ID, &ids[i]));
	ASSERT_EQ(0, run(variant->nr, variant->threads, CALLS));
	make_calls(1);

	for (i = 0; i < NR_EVENTS; i += GROUP_SIZE) {
		ASSERT_EQ(sizeof(buf), read(self->fd[i], buf, sizeof(buf)));
		ASSERT_EQ(GROUP_SIZE, buf[0]);
		EXPECT_EQ(buf[1], buf[2]);
		for (j = 0; j < GROUP_SIZE; j++) {
			EXPECT_EQ(variant->nr * CALLS + 1, buf[3 + 2 * j]);
			EXPECT_EQ(ids[i + j], buf[4 + 2 * j]);
		}
	}
}

/* Events that are off when the children inherit them count from when they are enabled. */
TEST_F_TIMEOUT(inherit_sum, paused, 300)
{
	struct perf_count count;
	int i;

	self->attr.read_format = PERF_COUNT_FORMAT;
	self->attr.disabled = 1;
	ASSERT_EQ(0, open_all(&self->attr, self->fd, 1));
	ASSERT_EQ(0, run(variant->nr, variant->threads, CALLS));
	for (i = 0; i < NR_EVENTS; i++) {
		ASSERT_EQ(0, perf_read(self->fd[i], &count));
		EXPECT_EQ(0, count.value);
		EXPECT_EQ(0, count.enabled);
		ASSERT_EQ(0, ioctl(self->fd[i], PERF_EVENT_IOC_ENABLE, 0));
	}
	ASSERT_EQ(0, run(variant->nr, variant->threads, CALLS));
	for (i = 0; i < NR_EVENTS; i++) {
		ASSERT_EQ(0, perf_read(self->fd[i], &count));
		EXPECT_EQ(variant->nr * CALLS, count.value);
	}
}

FIXTURE(inherit_one)
{
	struct perf_event_attr attr;
	int go[2], done[2];
	pid_t pid;
};

FIXTURE_SETUP(inherit_one)
{
	const char *missing = getppid_event(&self->attr);

	if (missing)
		SKIP(return, "%s", missing);
	self->attr.read_format = PERF_COUNT_FORMAT;
	ASSERT_EQ(0, pipe(self->go));
	ASSERT_EQ(0, pipe(self->done));
}

FIXTURE_TEARDOWN(inherit_one)
{
	if (self->pid > 0) {
		kill(self->pid, SIGKILL);
		waitpid(self->pid, NULL, 0);
	}
}

/* What a child does, until it is killed. */
static void count_on_demand(int go, int done)
{
	char calls;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(go, &calls, 1) == 1) {
		make_calls(calls);
		if (write(done, &calls, 1) != 1)
			break;
	}
	_exit(0);
}

static int demand(int go, int done, char calls)
{
	return write(go, &calls, 1) == 1 && read(done, &calls, 1) == 1 ? 0 : -1;
}

static __u64 value(int fd)
{
	struct perf_count count;

	return perf_read(fd, &count) ? -1ULL : count.value;
}

/* What is enabled and disabled while the child lives, with the child's event */
TEST_F(inherit_one, family)
{
	int fd;

	self->attr.disabled = 1;
	fd = perf_open(&self->attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	self->pid = fork();
	if (!self->pid)
		count_on_demand(self->go[0], self->done[1]);
	ASSERT_LT(0, self->pid);

	ASSERT_EQ(0, demand(self->go[1], self->done[0], 3));
	EXPECT_EQ(0, value(fd));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(0, demand(self->go[1], self->done[0], 5));
	EXPECT_EQ(5, value(fd));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(0, demand(self->go[1], self->done[0], 7));
	EXPECT_EQ(5, value(fd));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(0, demand(self->go[1], self->done[0], 9));
	EXPECT_EQ(14, value(fd));
	close(fd);
	EXPECT_EQ(0, demand(self->go[1], self->done[0], 1));
}

/*
 * Tasks that take turns on a CPU swap their contexts. It makes no difference
 * to the sum, with and without the counts of each task kept apart.
 */
TEST_F(inherit_one, swap)
{
	int i, stat, fd[2];

	ASSERT_EQ(0, pin_to_cpu(0));
	for (stat = 0; stat < 2; stat++) {
		self->attr.inherit_stat = stat;
		fd[stat] = perf_open(&self->attr, 0, -1, -1, 0);
		ASSERT_LE(0, fd[stat]);
	}
	self->pid = fork();
	if (!self->pid)
		count_on_demand(self->go[0], self->done[1]);
	ASSERT_LT(0, self->pid);

	for (i = 0; i < 200; i++) {
		make_calls(1);
		ASSERT_EQ(0, demand(self->go[1], self->done[0], 2));
	}
	EXPECT_EQ(600, value(fd[0]));
	EXPECT_EQ(600, value(fd[1]));
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, 0);
	self->pid = 0;
	make_calls(1);
	EXPECT_EQ(601, value(fd[0]));
	EXPECT_EQ(601, value(fd[1]));
	close(fd[0]);
	close(fd[1]);
}

/* Threads inherit, processes do not. */
TEST_F(inherit_one, thread_only)
{
	int fd;

	self->attr.inherit_thread = 1;
	fd = perf_open(&self->attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, run_threads(4, 3));
	ASSERT_EQ(0, run_processes(4, 5));
	EXPECT_EQ(12, value(fd));
	close(fd);
}

/* Fork, make calls, and make others after exec(). */
static int run_exec(int before, int after)
{
	char arg[16];
	pid_t pid;

	pid = fork();
	if (!pid) {
		make_calls(before);
		snprintf(arg, sizeof(arg), "%d", after);
		execl("/proc/self/exe", "calls", arg, NULL);
		_exit(1);
	}
	return wait_for(pid);
}

TEST_F(inherit_one, exec)
{
	int fd, on, off;

	fd = perf_open(&self->attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	self->attr.remove_on_exec = 1;
	off = perf_open(&self->attr, 0, -1, -1, 0);
	ASSERT_LE(0, off);
	self->attr.remove_on_exec = 0;
	self->attr.enable_on_exec = 1;
	self->attr.disabled = 1;
	on = perf_open(&self->attr, 0, -1, -1, 0);
	ASSERT_LE(0, on);

	ASSERT_EQ(0, run_exec(3, 5));
	EXPECT_EQ(8, value(fd));
	EXPECT_EQ(3, value(off));
	EXPECT_EQ(5, value(on));
	ASSERT_EQ(0, run_exec(1, 2));
	EXPECT_EQ(11, value(fd));
	EXPECT_EQ(4, value(off));
	EXPECT_EQ(7, value(on));
	close(fd);
	close(off);
	close(on);
}

/*
 * The switch from a task that waits for its child to that child swaps their
 * contexts. Still it is the child that has executed a program, and not its parent:
 * the next child's event is enabled as well when it does so.
 */
TEST_F(inherit_one, exec_after_swap)
{
	int fd, i;

	ASSERT_EQ(0, pin_to_cpu(0));
	self->attr.enable_on_exec = 1;
	self->attr.disabled = 1;
	fd = perf_open(&self->attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);

	for (i = 1; i <= 10; i++) {
		ASSERT_EQ(0, run_exec(3, 5));
		EXPECT_EQ(5 * i, value(fd));
	}
	close(fd);
}

/* Events come and go on a task that forks all the time, in groups and alone. */
TEST_F_TIMEOUT(inherit_one, close_while_forking, 300)
{
	const char *missing = mock_pmu_missing();
	char counters[16];
	int i, j, fd[4];

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, mock_pmu_read("mock0", "counters", counters, sizeof(counters)));

	self->pid = fork();
	if (!self->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			pid_t pid = fork();

			if (!pid) {
				pid = fork();
				if (pid > 0)
					waitpid(pid, NULL, 0);
				_exit(pid < 0);
			}
			if (wait_for(pid))
				_exit(1);
		}
	}
	ASSERT_LT(0, self->pid);

	for (i = 0; i < 300; i++) {
		struct perf_event_attr attr = {
			.type = mock_pmu_type("mock0"),
			.inherit = 1,
			.disabled = i % 3 == 1,
		};

		for (j = 0; j < ARRAY_SIZE(fd); j++) {
			fd[j] = perf_open(&attr, self->pid, -1, i % 2 && j ? fd[0] : -1, 0);
			/* The leader can be in a child's context by now, or gone with it. */
			if (fd[j] < 0)
				ASSERT_TRUE(i % 2 && (errno == EINVAL || errno == ENODEV));
		}
		ASSERT_EQ(0, waitpid(self->pid, NULL, WNOHANG));
		/* The leader first, or last. */
		for (j = 0; j < ARRAY_SIZE(fd); j++)
			close(fd[i % 4 < 2 ? j : ARRAY_SIZE(fd) - 1 - j]);
	}
	kill(self->pid, SIGKILL);
	ASSERT_EQ(self->pid, waitpid(self->pid, NULL, 0));
	self->pid = 0;

	/* This is refused while there are events. */
	for (i = 0; i < 1000 && mock_pmu_write("mock0", "counters", "%s", counters); i++)
		usleep(10000);
	EXPECT_GT(1000, i);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[0], "calls")) {
		make_calls(atoi(argv[1]));
		return 0;
	}
	keep_tracepoint_on();
	return test_harness_run(argc, argv);
}
