// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each allocation of a call fails once: nothing is left behind, what was there
 * before goes on, and the same call without a failure gives what is right.
 */

#include <errno.h>
#include <stdlib.h>

#include <sys/wait.h>

#include "common.h"
#include "kselftest_harness.h"

#define PMU		"mock0"
#define NR_COUNTERS	2
/* More of this task's than there are counters, so that they take turns */
#define NR_OWN		(2 * NR_COUNTERS)
#define RING_PAGES	8
/* No call takes so many allocations. */
#define MAX_NTH		2000

FIXTURE(nomem)
{
	struct nomem nomem;
	char root[256];
	char *path;
	char counters[16];
	int own[NR_OWN];
};

FIXTURE_SETUP(nomem)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.read_format = PERF_COUNT_FORMAT,
	};
	const char *missing;
	int i;

	missing = cgroup_missing(self->root, sizeof(self->root)) ?:
		  mock_pmu_missing() ?: nomem_missing();
	if (missing)
		SKIP(return, "%s", missing);

	ASSERT_EQ(0, pin_to_cpu(0));
	self->path = cg_name_indexed(self->root, "perf_events", getpid());
	ASSERT_EQ(0, cg_create(self->path));
	ASSERT_EQ(0, mock_pmu_read(PMU, "counters", self->counters, sizeof(self->counters)));
	ASSERT_EQ(0, mock_pmu_write(PMU, "counters", "%d", NR_COUNTERS));
	for (i = 0; i < NR_OWN; i++) {
		self->own[i] = perf_open(&attr, 0, -1, -1, 0);
		ASSERT_LE(0, self->own[i]);
	}
	ASSERT_EQ(0, nomem_begin(&self->nomem, true));
}

FIXTURE_TEARDOWN(nomem)
{
	int i;

	EXPECT_EQ(0, nomem_end(&self->nomem));
	for (i = 0; i < NR_OWN; i++)
		close(self->own[i]);
	/* This is refused as long as there is an event, so none was left behind. */
	for (i = 0; i < 1000 && mock_pmu_write(PMU, "counters", "%s", self->counters); i++)
		usleep(10000);
	EXPECT_GT(1000, i);

	EXPECT_EQ(0, cg_read_key_long_poll(self->path, "cgroup.stat",
					   "nr_dying_descendants ", 0,
					   200, DEFAULT_WAIT_INTERVAL_US));
	EXPECT_EQ(0, cg_read_key_long_poll(self->path, "cgroup.stat",
					   "nr_dying_subsys_perf_event ", 0,
					   200, DEFAULT_WAIT_INTERVAL_US));
	EXPECT_EQ(0, cgroup_remove(self->path));
	free(self->path);
}

/* The events of this task still take turns: all of them get time on the PMU. */
#define self_expect_rotation() expect_rotation(_metadata, self)
static void expect_rotation(struct __test_metadata *_metadata, FIXTURE_DATA(nomem) * self)
{
	struct perf_count before[NR_OWN], now;
	int i, nr, tries = 500;

	for (i = 0; i < NR_OWN; i++)
		ASSERT_EQ(0, perf_read(self->own[i], &before[i]));
	do {
		burn_cpu(10);
		for (i = nr = 0; i < NR_OWN; i++) {
			ASSERT_EQ(0, perf_read(self->own[i], &now));
			nr += now.running > before[i].running;
		}
	} while (nr < NR_OWN && --tries);
	EXPECT_EQ(NR_OWN, nr);
}

/* It counts, and shows the time that this takes. */
static void expect_counts(struct __test_metadata *_metadata, int fd)
{
	struct perf_count before, after;

	ASSERT_EQ(0, perf_read(fd, &before));
	burn_cpu(20);
	ASSERT_EQ(0, perf_read(fd, &after));
	EXPECT_LT(before.value, after.value);
	EXPECT_LE(18 * 1000000ULL, after.enabled - before.enabled);
	EXPECT_LE(after.running - before.running, after.enabled - before.enabled);
}

/*
 * Calls @what with the first allocation failing, then with the second, until it
 * takes fewer. It must give -ENOMEM or 0, for not all failures matter.
 */
#define self_each(what, arg) each_failure(_metadata, self, what, arg)
static int each_failure(struct __test_metadata *_metadata, FIXTURE_DATA(nomem) * self,
			int (*what)(struct nomem *nomem, int nth, void *arg, int *left),
			void *arg)
{
	int nth, left, err, nr_failed = 0;

	for (nth = 1; nth < MAX_NTH; nth++) {
		err = what(&self->nomem, nth, arg, &left);
		ASSERT_LE(0, left);
		if (left)
			break;
		if (err) {
			ASSERT_EQ(-ENOMEM, err) {
				TH_LOG("allocation %d: %s", nth, strerror(-err));
			}
			nr_failed++;
		}
	}
	ASSERT_GT(MAX_NTH, nth);
	/* Nothing failed on the way, so the call went well. */
	ASSERT_EQ(0, err);
	TH_LOG("%d of %d allocations fail it", nr_failed, nth - 1);
	return nr_failed;
}

static int map_failing(struct nomem *nomem, int nth, void *arg, int *left)
{
	size_t size = (RING_PAGES + 1) * sysconf(_SC_PAGESIZE);
	int err, fd = *(int *)arg;
	void *ring;

	*left = -1;
	if (nomem_arm(nomem, nth))
		return -EIO;
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = -errno;
	*left = nomem_disarm(nomem);
	if (ring == MAP_FAILED)
		return err;
	munmap(ring, size);
	return 0;
}

/* The user page of an event that counts, and the ring of its samples */
TEST_F_TIMEOUT(nomem, mmap, 120)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.config = 1,	/* Ticks */
		.sample_period = 10,
		.read_format = PERF_COUNT_FORMAT,
		.pinned = 1,
	};
	size_t size = (RING_PAGES + 1) * sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page;
	struct perf_count count;
	__u64 head;
	int fd;

	fd = perf_open(&attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	/* The ring at least, and its pages' table */
	EXPECT_LE(1, self_each(map_failing, &fd));
	self_expect_rotation();

	/* Not mapped now: counts, and keeps no sample. */
	ASSERT_EQ(0, mock_pmu_write(PMU, "tick", "0 100"));
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(0, page->data_head);
	ASSERT_EQ(0, mock_pmu_write(PMU, "tick", "0 100"));
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	EXPECT_LE(10 * sizeof(struct perf_event_header), head);
	ASSERT_EQ(0, perf_read(fd, &count));
	EXPECT_EQ(200, count.value);

	munmap(page, size);
	close(fd);
}

struct open_args {
	pid_t pid;
	const char *path;
};

/* A leader and a sibling on a task or on a cgroup */
static int open_failing(struct nomem *nomem, int nth, void *arg, int *left)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.read_format = PERF_COUNT_FORMAT,
		.inherit = 1,
	};
	struct open_args *args = arg;
	int id = args->pid, cpu = -1, err = 0, fd[2] = { -1, -1 };
	unsigned long flags = 0;

	*left = -1;
	if (args->path) {
		id = open(args->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (id < 0)
			return -errno;
		cpu = 0;
		flags = PERF_FLAG_PID_CGROUP;
		attr.inherit = 0;
	}

	if (!nomem_arm(nomem, nth)) {
		fd[0] = perf_open(&attr, id, cpu, -1, flags);
		if (fd[0] >= 0)
			fd[1] = perf_open(&attr, id, cpu, fd[0], flags);
		err = -errno;
		*left = nomem_disarm(nomem);
	}
	if (fd[1] >= 0)
		err = 0;
	close(fd[1]);
	close(fd[0]);
	if (args->path)
		close(id);
	return err;
}

/*
 * On a task that had no event before, so that it has to have its context made:
 * a new task each time, for it keeps that.
 */
static int open_task_failing(struct nomem *nomem, int nth, void *arg, int *left)
{
	struct open_args args = {};
	int err;

	args.pid = fork();
	if (!args.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	*left = -1;
	if (args.pid < 0)
		return -errno;
	err = open_failing(nomem, nth, &args, left);
	kill(args.pid, SIGKILL);
	waitpid(args.pid, NULL, 0);
	return err;
}

TEST_F_TIMEOUT(nomem, open_task, 240)
{
	/* The context, the PMU's part of it, and two events */
	EXPECT_LE(4, self_each(open_task_failing, NULL));
	self_expect_rotation();
}

/* On a new cgroup each time, which is gone before the next one */
static int open_cgroup_failing(struct nomem *nomem, int nth, void *arg, int *left)
{
	struct open_args args = {};
	char *path;
	int err;

	*left = -1;
	path = cg_name_indexed(arg, "nomem", nth);
	if (!path || cg_create(path))
		return -EIO;
	args.path = path;
	err = open_failing(nomem, nth, &args, left);
	if (cg_destroy(path))
		*left = -1;
	free(path);
	return err;
}

TEST_F_TIMEOUT(nomem, open_cgroup, 240)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.read_format = PERF_COUNT_FORMAT,
	};
	struct perf_count count;
	int fd;

	EXPECT_LE(2, self_each(open_cgroup_failing, self->path));
	self_expect_rotation();

	/* Nothing runs in the cgroup, then this task does. */
	fd = perf_open_cgroup(&attr, self->path, 0);
	ASSERT_LE(0, fd);
	burn_cpu(20);
	ASSERT_EQ(0, perf_read(fd, &count));
	EXPECT_EQ(0, count.value);
	EXPECT_EQ(0, count.enabled);
	ASSERT_EQ(0, cg_enter_current(self->path));
	expect_counts(_metadata, fd);
	ASSERT_EQ(0, cg_enter_current(self->root));
	close(fd);
}

/* A fork in a cgroup that has events, of a task that has some to inherit */
static int fork_failing(struct nomem *nomem, int nth, void *arg, int *left)
{
	int err, status;
	pid_t pid;

	*left = -1;
	if (nomem_arm(nomem, nth))
		return -EIO;
	pid = fork();
	err = -errno;
	if (!pid) {
		burn_cpu(1);
		_exit(0);
	}
	*left = nomem_disarm(nomem);
	if (pid < 0)
		return err;
	if (waitpid(pid, &status, 0) != pid || status)
		*left = -1;
	return 0;
}

TEST_F_TIMEOUT(nomem, fork, 240)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.read_format = PERF_COUNT_FORMAT,
		.inherit = 1,
	};
	struct perf_event_attr clock = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.read_format = PERF_COUNT_FORMAT,
	};
	struct perf_event_attr mock = {
		.type = mock_pmu_type(PMU),
		.read_format = PERF_COUNT_FORMAT,
		.inherit = 1,
	};
	struct perf_count before, after;
	int fd[4], cgroup, i;
	pid_t pid;

	ASSERT_EQ(0, cg_enter_current(self->path));
	cgroup = perf_open_cgroup(&clock, self->path, 0);
	ASSERT_LE(0, cgroup);
	/* Two groups: one of both kinds, and one of software alone */
	fd[0] = perf_open(&mock, 0, -1, -1, 0);
	fd[1] = perf_open(&attr, 0, -1, fd[0], 0);
	fd[2] = perf_open(&attr, 0, -1, -1, 0);
	fd[3] = perf_open(&attr, 0, -1, fd[2], 0);
	for (i = 0; i < 4; i++)
		ASSERT_LE(0, fd[i]);

	/* The context, and each event */
	EXPECT_LE(5, self_each(fork_failing, NULL));
	self_expect_rotation();
	expect_counts(_metadata, cgroup);

	/* What a child used up is in the sum. */
	ASSERT_EQ(0, perf_read(fd[3], &before));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		burn_cpu(50);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	ASSERT_EQ(0, perf_read(fd[3], &after));
	EXPECT_LE(45 * 1000000ULL, after.value - before.value);

	for (i = 0; i < 4; i++)
		close(fd[i]);
	close(cgroup);
	ASSERT_EQ(0, cg_enter_current(self->root));
}

TEST_HARNESS_MAIN
