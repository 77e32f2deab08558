// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events on cgroups: that they can be opened, and what they leave behind.
 */

#include <errno.h>
#include <limits.h>

#include <sys/mman.h>
#include <sys/wait.h>

#include "common.h"
#include "kselftest_harness.h"

#define MAX_DEPTH	1000
#define NR_PAGES	16

FIXTURE(cgroup)
{
	char root[256];
	char *path;
};

FIXTURE_SETUP(cgroup)
{
	const char *missing = cgroup_missing(self->root, sizeof(self->root));

	if (missing)
		SKIP(return, "%s", missing);

	self->path = cg_name_indexed(self->root, "perf_events", getpid());
	ASSERT_EQ(0, cg_create(self->path));
}

FIXTURE_TEARDOWN(cgroup)
{
	EXPECT_EQ(0, cgroup_remove(self->path));
	free(self->path);
}

/* In a cgroup: use pages that were not there. Returns the exit status. */
static int fault_pages(const char *cgroup)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *p;
	int i;

	if (pin_to_cpu(0) || cg_enter_current(cgroup))
		return 1;

	p = mmap(NULL, NR_PAGES * page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;

	for (i = 0; i < NR_PAGES; i++)
		p[i * page] = 1;

	return 0;
}

/*
 * perf_event is an implicit controller of cgroup v2: it is there without a
 * write to any cgroup.subtree_control.
 */
TEST_F(cgroup, implicit)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.read_format = PERF_COUNT_FORMAT,
	};
	struct perf_count count;
	char control[256];
	char *nested;
	pid_t pid;
	int fd, status;

	/* Any controller that was enabled has brought the implicit ones along. */
	ASSERT_EQ(0, cg_read(self->root, "cgroup.subtree_control", control, sizeof(control)));
	if (control[0])
		SKIP(return, "controllers were enabled in the root cgroup already");

	nested = cg_name(self->path, "nested");
	ASSERT_NE(NULL, nested);
	ASSERT_EQ(0, cg_create(nested));

	fd = perf_open_cgroup(&attr, self->path, 0);
	ASSERT_LE(0, fd) {
		TH_LOG("event on a child of the root cgroup: %s", strerror(errno));
	}
	close(fd);

	fd = perf_open_cgroup(&attr, nested, 0);
	ASSERT_LE(0, fd) {
		TH_LOG("event on a nested cgroup: %s", strerror(errno));
	}

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(fault_pages(nested));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);

	ASSERT_EQ(0, perf_read(fd, &count));
	EXPECT_LE(NR_PAGES, count.value);

	close(fd);
	free(nested);
}

static struct perf_event_attr nomem_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_CPU_CLOCK,
	.disabled = 1,
};

FIXTURE(cgroup_nomem)
{
	char *path;
	char deepest[PATH_MAX];
	struct nomem nomem;
};

FIXTURE_SETUP(cgroup_nomem)
{
	char root[256];
	const char *missing;
	int fd, err;

	missing = cgroup_missing(root, sizeof(root)) ?: nomem_missing();
	if (missing)
		SKIP(return, "%s", missing);

	self->path = cg_name_indexed(root, "perf_events", getpid());
	ASSERT_EQ(0, cg_create(self->path));
	strcpy(self->deepest, self->path);

	fd = perf_open_cgroup(&nomem_attr, self->path, 0);
	err = errno;
	if (fd < 0) {
		cgroup_remove(self->path);
		SKIP(return, "no event on a new cgroup: %s", strerror(err));
	}
	close(fd);
	ASSERT_EQ(0, nomem_begin(&self->nomem, false));
}

FIXTURE_TEARDOWN(cgroup_nomem)
{
	EXPECT_EQ(0, nomem_end(&self->nomem));
	EXPECT_EQ(0, cgroup_remove(self->path));
	free(self->path);
}

/* Make another cgroup below the last one. */
static int one_deeper(char *path)
{
	strcat(path, "/d");
	return cg_create(path);
}

/*
 * Open and close an event on a cgroup, with the @nth allocation on the way
 * failing. Returns how many were missing to get to the @nth, so 0 when it has
 * failed, or -1 when fail-nth does not work.
 */
static int open_failing(struct nomem *nomem, const char *path, int nth)
{
	int dir, fd, left = -1;

	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;

	if (!nomem_arm(nomem, nth)) {
		fd = perf_open(&nomem_attr, dir, 0, -1, PERF_FLAG_PID_CGROUP);
		left = nomem_disarm(nomem);
		if (fd >= 0)
			close(fd);
	}

	close(dir);
	return left;
}

/*
 * An event that cannot be opened for lack of memory must not hold on to its
 * cgroup. Each allocation on the way is made to fail once.
 *
 * Events on cgroups deeper than all before need more storage, which then stays.
 * So find a depth where an event takes more allocations the first time than
 * the second, and go on from there, one deeper each time.
 */
TEST_F_TIMEOUT(cgroup_nomem, no_leak, 60)
{
	int first, again, left, nth = 0, depth = 0;
	char *child;

	do {
		ASSERT_GT(MAX_DEPTH, ++depth);
		ASSERT_EQ(0, one_deeper(self->deepest));
		first = open_failing(&self->nomem, self->deepest, INT_MAX);
		again = open_failing(&self->nomem, self->deepest, INT_MAX);
		ASSERT_LT(0, first);
		ASSERT_LT(0, again);
	} while (first >= again);

	do {
		ASSERT_EQ(0, one_deeper(self->deepest));
		left = open_failing(&self->nomem, self->deepest, ++nth);
		ASSERT_LE(0, left);
	} while (!left);

	child = cg_name(self->path, "d");
	ASSERT_NE(NULL, child);
	ASSERT_EQ(0, cgroup_remove(child));
	free(child);

	EXPECT_EQ(0, cg_read_key_long_poll(self->path, "cgroup.stat",
					   "nr_dying_subsys_perf_event ", 0,
					   200, DEFAULT_WAIT_INTERVAL_US));
}

TEST_HARNESS_MAIN
