// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events that a child inherits at fork().
 */

#include <errno.h>

#include <sys/wait.h>

#include "common.h"
#include "kselftest_harness.h"

#define PMU		"mock0"
#define NR_COUNTERS	2
#define NR_EVENTS	(3 * NR_COUNTERS)

/* No call gives this error by itself. */
#define FORK_ERRNO	EXDEV

/* More events of this task than there are counters, so that they take turns. */
FIXTURE(failed_fork)
{
	char counters[16];
	int fd[NR_EVENTS];
};

FIXTURE_VARIANT(failed_fork)
{
	/* How many events are inherited before the one that fails */
	int skip;
};

FIXTURE_VARIANT_ADD(failed_fork, first_event)
{
	.skip = 0,
};

FIXTURE_VARIANT_ADD(failed_fork, last_event)
{
	.skip = NR_EVENTS - 1,
};

FIXTURE_SETUP(failed_fork)
{
	const char *missing = mock_pmu_missing();
	int i;

	if (missing)
		SKIP(return, "%s", missing);

	for (i = 0; i < NR_EVENTS; i++)
		self->fd[i] = -1;
	ASSERT_EQ(0, mock_pmu_read(PMU, "counters", self->counters, sizeof(self->counters)));
}

FIXTURE_TEARDOWN(failed_fork)
{
	int i;

	for (i = 0; i < NR_EVENTS; i++)
		close(self->fd[i]);

	EXPECT_EQ(0, mock_pmu_write(PMU, "fail_event_init_child", "0 0 0"));
	EXPECT_EQ(0, mock_pmu_write(PMU, "counters", "%s", self->counters));
}

/*
 * How many events get time on a counter. They all do within NR_EVENTS /
 * NR_COUNTERS turns of a few milliseconds each; wait a thousand times as long.
 */
static int nr_running(const int *fd)
{
	__u64 before[NR_EVENTS];
	struct perf_count count;
	int i, nr, tries = 500;

	for (i = 0; i < NR_EVENTS; i++) {
		if (perf_read(fd[i], &count))
			return -1;
		before[i] = count.running;
	}

	do {
		burn_cpu(10);
		for (i = nr = 0; i < NR_EVENTS; i++) {
			if (perf_read(fd[i], &count))
				return -1;
			nr += count.running > before[i];
		}
	} while (nr < NR_EVENTS && --tries);

	return nr;
}

/* When fork() fails half-way through the events, the parent's still rotate. */
TEST_F(failed_fork, rotation)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.read_format = PERF_COUNT_FORMAT,
		.inherit = 1,
	};
	int err, i;
	pid_t pid;

	ASSERT_EQ(0, pin_to_cpu(0));
	ASSERT_EQ(0, mock_pmu_write(PMU, "counters", "%d", NR_COUNTERS));
	for (i = 0; i < NR_EVENTS; i++) {
		self->fd[i] = perf_open(&attr, 0, -1, -1, 0);
		ASSERT_LE(0, self->fd[i]);
	}
	ASSERT_EQ(NR_EVENTS, nr_running(self->fd));

	ASSERT_EQ(0, mock_pmu_write(PMU, "fail_event_init_child", "%d %d %d",
				    FORK_ERRNO, variant->skip, NR_EVENTS));
	pid = fork();
	err = errno;
	if (!pid)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	ASSERT_EQ(-1, pid);
	ASSERT_EQ(FORK_ERRNO, err);

	EXPECT_EQ(NR_EVENTS, nr_running(self->fd));
}

TEST_HARNESS_MAIN
