// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the perf core must not ask of a PMU. Each of these calls is lost time,
 * and shows nowhere but in the number of calls.
 */

#include <errno.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include "actor.h"
#include "kselftest_harness.h"

#define NR_SWITCHES	2000

FIXTURE(calls)
{
};

FIXTURE_SETUP(calls)
{
	const char *missing = mock_pmu_missing();

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(calls)
{
}

static int reset_calls(void)
{
	return mock_pmu_write("mock0", "calls", "0") || mock_pmu_write("mock1", "calls", "0");
}

static int fork_and_wait(void)
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(0);
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

/*
 * An event that is inherited belongs to the PMU of the event it comes from: no
 * other PMU is asked, although PERF_TYPE_HARDWARE names no particular one.
 */
TEST_F(calls, inherit_hardware)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.inherit = 1,
	};
	int fd;

	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		SKIP(return, "no hardware events: %s", strerror(errno));

	ASSERT_EQ(0, reset_calls());
	ASSERT_EQ(0, fork_and_wait());
	EXPECT_EQ(0, mock_pmu_calls("mock0", "event_init"));
	EXPECT_EQ(0, mock_pmu_calls("mock1", "event_init"));

	close(fd);
}

/* The same for a PMU that has a type of its own, which is asked once. */
TEST_F(calls, inherit_mock)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type("mock0"),
		.inherit = 1,
	};
	int fd;

	fd = perf_open(&attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);

	ASSERT_EQ(0, reset_calls());
	ASSERT_EQ(0, fork_and_wait());
	EXPECT_EQ(1, mock_pmu_calls("mock0", "event_init"));
	EXPECT_EQ(0, mock_pmu_calls("mock1", "event_init"));

	close(fd);
}

/* If that PMU says no, that is the answer: nobody else is asked, nor is it again. */
TEST_F(calls, inherit_refused)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type("mock0"),
		.inherit = 1,
	};
	int fd, ret, err, adds, tries = 1000;
	struct rusage before, after;

	fd = perf_open(&attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);

	/* Whenever this task is switched out and in, its own event is added. */
	do {
		ASSERT_EQ(0, mock_pmu_write("mock0", "fail_event_init_child", "%d 0 1", ENOENT));
		ASSERT_EQ(0, getrusage(RUSAGE_THREAD, &before));
		ASSERT_EQ(0, reset_calls());
		ret = fork_and_wait();
		err = errno;
		adds = mock_pmu_calls("mock0", "add");
		ASSERT_EQ(0, getrusage(RUSAGE_THREAD, &after));
	} while (ret && --tries &&
		 (after.ru_nvcsw != before.ru_nvcsw || after.ru_nivcsw != before.ru_nivcsw));
	ASSERT_NE(0, tries);
	EXPECT_EQ(0, mock_pmu_write("mock0", "fail_event_init_child", "0 0 0"));
	EXPECT_EQ(-1, ret);
	EXPECT_EQ(ENOENT, err);
	EXPECT_EQ(1, mock_pmu_calls("mock0", "event_init"));
	EXPECT_EQ(0, mock_pmu_calls("mock1", "event_init"));
	EXPECT_EQ(0, adds);

	close(fd);
}

/* Each event of a group once, and each is destroyed. */
TEST_F(calls, inherit_group)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type("mock0"),
		.inherit = 1,
	};
	struct perf_event_attr own = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
	};
	int fd[4], own_fd, i, tries = 1000;

	/* Lest the contexts are swapped, and the child ends with these events. */
	own_fd = perf_open(&own, 0, -1, -1, 0);
	ASSERT_LE(0, own_fd);
	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = perf_open(&attr, 0, -1, i ? fd[0] : -1, 0);
		ASSERT_LE(0, fd[i]);
	}

	ASSERT_EQ(0, reset_calls());
	ASSERT_EQ(0, fork_and_wait());
	EXPECT_EQ(ARRAY_SIZE(fd), mock_pmu_calls("mock0", "event_init"));
	EXPECT_EQ(0, mock_pmu_calls("mock1", "event_init"));
	while (mock_pmu_calls("mock0", "destroy") < ARRAY_SIZE(fd) && tries--)
		usleep(1000);
	EXPECT_EQ(ARRAY_SIZE(fd), mock_pmu_calls("mock0", "destroy"));

	for (i = 0; i < ARRAY_SIZE(fd); i++)
		close(fd[i]);
	close(own_fd);
}

/*
 * The event at the top joins a group of the mock PMU after a child has
 * inherited it. The child's event stays what it was, and a grandchild's is the
 * same: to let it run, the mock PMU need not be stopped.
 */
TEST_F(calls, inherit_before_move)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.inherit = 1,
	};
	struct actors actors = {};
	int fd, mock;

	ASSERT_EQ(0, actors_create(&actors));
	ASSERT_EQ(0, actor_do(&actors, 0, ACTOR_NO_CLONE, 0));
	fd = perf_open(&attr, actors.pid, -1, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, actor_do(&actors, 0, ACTOR_FORK, 0));
	ASSERT_EQ(0, actor_do(&actors, 1, ACTOR_NO_CLONE, 0));

	attr.type = mock_pmu_type("mock0");
	attr.config = 0;
	mock = perf_open(&attr, actors.pid, -1, fd, 0);
	ASSERT_LE(0, mock);
	ASSERT_EQ(0, actor_do(&actors, 1, ACTOR_FORK, 0));
	/* The first time, it goes on from its parent's fork. */
	ASSERT_EQ(0, actor_do(&actors, 2, ACTOR_SLEEP, 1));

	ASSERT_EQ(0, reset_calls());
	ASSERT_EQ(0, actor_do(&actors, 2, ACTOR_SLEEP, 10));
	EXPECT_EQ(0, mock_pmu_calls("mock0", "pmu_disable"));

	actors_destroy(&actors);
	close(mock);
	close(fd);
}

FIXTURE(calls_cgroup)
{
	char *path;
};

FIXTURE_SETUP(calls_cgroup)
{
	const char *missing;
	char root[256];

	missing = mock_pmu_missing() ?: cgroup_missing(root, sizeof(root));
	if (missing)
		SKIP(return, "%s", missing);

	self->path = cg_name_indexed(root, "perf_events", getpid());
	ASSERT_EQ(0, cg_create(self->path));
}

FIXTURE_TEARDOWN(calls_cgroup)
{
	EXPECT_EQ(0, cgroup_remove(self->path));
	free(self->path);
}

static int pass(int in, int out, int rounds)
{
	char c = 0;

	while (rounds--) {
		if (read(in, &c, 1) != 1 || write(out, &c, 1) != 1)
			return 1;
	}
	return 0;
}

/* Two tasks in one cgroup, on one CPU, take turns. Returns an exit status. */
static int take_turns(const char *cgroup)
{
	int ping[2], pong[2], status;
	pid_t pid;

	if (pin_to_cpu(0) || cg_enter_current(cgroup) || pipe(ping) || pipe(pong))
		return 1;

	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid)
		_exit(pass(ping[0], pong[1], NR_SWITCHES / 2));

	if (reset_calls() || write(ping[1], "", 1) != 1 ||
	    pass(pong[0], ping[1], NR_SWITCHES / 2))
		return 1;
	return waitpid(pid, &status, 0) == pid ? status : 1;
}

/*
 * A switch between tasks of one cgroup leaves the event on it alone. Other
 * tasks run as well now and then, but not half as often.
 */
TEST_F(calls_cgroup, same_cgroup)
{
	struct perf_event_attr attr = { .type = mock_pmu_type("mock0") };
	int fd, status;
	pid_t pid;

	fd = perf_open_cgroup(&attr, self->path, 0);
	if (fd < 0)
		SKIP(return, "no event on a new cgroup: %s", strerror(errno));

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(take_turns(self->path));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);

	EXPECT_GT(NR_SWITCHES / 2, mock_pmu_calls("mock0", "add"));
	EXPECT_GT(NR_SWITCHES / 2, mock_pmu_calls("mock0", "del"));

	close(fd);
}

TEST_HARNESS_MAIN
