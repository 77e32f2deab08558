// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events that a child inherits at fork().
 */

#define _GNU_SOURCE

/* We need the latest siginfo from the kernel repo. */
#include <sys/types.h>
#include <asm/siginfo.h>
#define __have_siginfo_t 1
#define __have_sigval_t 1
#define __have_sigevent_t 1
#define __siginfo_t_defined
#define __sigval_t_defined
#define __sigevent_t_defined
#define _BITS_SIGINFO_CONSTS_H 1
#define _BITS_SIGEVENT_CONSTS_H 1

#include <errno.h>
#include <limits.h>

#include <linux/hw_breakpoint.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "actor.h"
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

enum target {
	KPROBE_NAME,
	KPROBE_ADDRESS,
	UPROBE,
	KERNEL_BREAKPOINT,
};

/*
 * Root's event on another process. What it takes to open it, the rights and
 * the memory that attr points to, is root's: the process that forks needs
 * neither.
 */
FIXTURE(others_event)
{
	struct actors actors;
	char *text;
};

FIXTURE_VARIANT(others_event)
{
	enum target target;
	bool nobody;
};

FIXTURE_VARIANT_ADD(others_event, kprobe_name)
{
	.target = KPROBE_NAME,
	.nobody = false,
};

FIXTURE_VARIANT_ADD(others_event, kprobe_name_nobody)
{
	.target = KPROBE_NAME,
	.nobody = true,
};

FIXTURE_VARIANT_ADD(others_event, kprobe_address_nobody)
{
	.target = KPROBE_ADDRESS,
	.nobody = true,
};

FIXTURE_VARIANT_ADD(others_event, uprobe)
{
	.target = UPROBE,
	.nobody = false,
};

FIXTURE_VARIANT_ADD(others_event, uprobe_nobody)
{
	.target = UPROBE,
	.nobody = true,
};

FIXTURE_VARIANT_ADD(others_event, kernel_breakpoint_nobody)
{
	.target = KERNEL_BREAKPOINT,
	.nobody = true,
};

FIXTURE_SETUP(others_event)
{
	if (geteuid())
		SKIP(return, "needs root");

	ASSERT_EQ(0, actors_create(&self->actors));
	/* The actors do not have this. */
	self->text = mmap(NULL, PATH_MAX, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->text);
}

FIXTURE_TEARDOWN(others_event)
{
	actors_destroy(&self->actors);
	munmap(self->text, PATH_MAX);
}

/* Where in its file a function of this program is. */
static unsigned long file_offset(unsigned long addr)
{
	unsigned long start, end, offset;
	char line[512];
	FILE *f;

	f = fopen("/proc/self/maps", "r");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    addr >= start && addr < end) {
			fclose(f);
			return addr - start + offset;
		}
	}
	fclose(f);
	return 0;
}

#define KPROBE_SYMBOL	"do_nanosleep"

static int open_others_event(pid_t pid, enum target target, char *text)
{
	struct perf_event_attr attr = {
		.inherit = 1,
		.read_format = PERF_COUNT_FORMAT,
	};

	switch (target) {
	case KPROBE_NAME:
		attr.type = mock_pmu_type("kprobe");
		strcpy(text, KPROBE_SYMBOL);
		attr.kprobe_func = (unsigned long)text;
		break;
	case KPROBE_ADDRESS:
		attr.type = mock_pmu_type("kprobe");
		attr.kprobe_addr = kernel_symbol(KPROBE_SYMBOL);
		break;
	case UPROBE:
		attr.type = mock_pmu_type("uprobe");
		if (readlink("/proc/self/exe", text, PATH_MAX - 1) < 0)
			return -1;
		attr.uprobe_path = (unsigned long)text;
		attr.probe_offset = file_offset((unsigned long)actor_probed);
		break;
	case KERNEL_BREAKPOINT:
		attr.type = PERF_TYPE_BREAKPOINT;
		attr.bp_type = HW_BREAKPOINT_W;
		attr.bp_len = HW_BREAKPOINT_LEN_4;
		/* Any address will do. */
		attr.bp_addr = kernel_symbol(KPROBE_SYMBOL);
		break;
	}

	return perf_open(&attr, pid, -1, -1, 0);
}

TEST_F(others_event, fork)
{
	enum actor_op op = variant->target == UPROBE ? ACTOR_CALL : ACTOR_SLEEP;
	/* Nobody writes to the breakpoint. */
	__u64 expected = variant->target == KERNEL_BREAKPOINT ? 0 : 3 + 5 + 7;
	struct actors *actors = &self->actors;
	struct perf_count count;
	int fd;

	if (variant->nobody)
		ASSERT_EQ(0, actor_do(actors, 0, ACTOR_NOBODY, 0));
	fd = open_others_event(actors->pid, variant->target, self->text);
	if (fd < 0)
		SKIP(return, "no such event: %s", strerror(errno));

	ASSERT_EQ(0, actor_do(actors, 0, ACTOR_FORK, 0));
	/* The path is of no use to the children, whatever it says now. */
	strcpy(self->text, "/nowhere");
	ASSERT_EQ(0, actor_do(actors, 1, ACTOR_FORK, 0));

	ASSERT_EQ(0, actor_do(actors, 0, op, 3));
	ASSERT_EQ(0, actor_do(actors, 1, op, 5));
	ASSERT_EQ(0, actor_do(actors, 2, op, 7));
	ASSERT_EQ(0, perf_read(fd, &count));
	EXPECT_EQ(expected, count.value);

	/* What they share stays until the last of them is gone. */
	actors_destroy(actors);
	ASSERT_EQ(0, perf_read(fd, &count));
	EXPECT_EQ(expected, count.value);
	close(fd);
}

FIXTURE(inherit)
{
	struct actors actors;
};

FIXTURE_SETUP(inherit)
{
	const char *missing = mock_pmu_missing();

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, actors_create(&self->actors));
}

FIXTURE_TEARDOWN(inherit)
{
	mock_pmu_write(PMU, "hold_event_init_child", "0");
	actors_destroy(&self->actors);
}

/*
 * A grandchild's event follows the event of the task that forks it. What turns
 * that one off while the fork is under way turns off the new one as well.
 */
TEST_F(inherit, disable_during_fork)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.read_format = PERF_COUNT_FORMAT,
		.inherit = 1,
	};
	struct actors *actors = &self->actors;
	struct perf_count before, after;
	char held[16] = "";
	int fd;

	ASSERT_EQ(0, actor_do(actors, 0, ACTOR_NO_CLONE, 0));
	fd = perf_open(&attr, actors->pid, -1, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, actor_do(actors, 0, ACTOR_FORK, 0));
	ASSERT_EQ(0, actor_do(actors, 1, ACTOR_NO_CLONE, 0));

	ASSERT_EQ(0, mock_pmu_write(PMU, "hold_event_init_child", "1"));
	ASSERT_EQ(0, actor_tell(actors, 1, ACTOR_FORK, 0));
	do {
		usleep(1000);
		ASSERT_EQ(0, mock_pmu_read(PMU, "hold_event_init_child", held, sizeof(held)));
	} while (!atoi(held));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(0, mock_pmu_write(PMU, "hold_event_init_child", "0"));
	ASSERT_EQ(0, actor_result(actors, 1));

	ASSERT_EQ(0, perf_read(fd, &before));
	ASSERT_EQ(0, actor_do(actors, 2, ACTOR_BURN, 20));
	ASSERT_EQ(0, perf_read(fd, &after));
	EXPECT_EQ(before.value, after.value);
	EXPECT_EQ(before.enabled, after.enabled);

	/* And on again */
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	ASSERT_EQ(0, actor_do(actors, 2, ACTOR_BURN, 20));
	ASSERT_EQ(0, perf_read(fd, &after));
	EXPECT_LT(before.value, after.value);
	close(fd);
}

static volatile unsigned int told_type;

static void sigtrap_handler(int sig, siginfo_t *info, void *ucontext)
{
	told_type = info->si_perf_type;
}

/* Gives the type of event that a signal to this process tells, or 255. */
static int wait_for_sigtrap(void)
{
	int tries = 1000;

	told_type = 255;
	while (told_type == 255 && tries--)
		burn_cpu(10);
	return told_type;
}

/* A signal tells the type that was asked for, also where a PMU maps it to another. */
TEST(sigtrap_type)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.disabled = 1,
		.inherit = 1,
		.remove_on_exec = 1,
		.sigtrap = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct sigaction action = {
		.sa_flags = SA_SIGINFO,
		.sa_sigaction = sigtrap_handler,
	};
	int fd, status, type;
	pid_t pid;

	ASSERT_EQ(0, sigaction(SIGTRAP, &action, NULL));
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		SKIP(return, "cannot open a clock event: %s", strerror(errno));
	/* The children's own events, and not this one's, are to tell. */
	attr = (struct perf_event_attr) {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	ASSERT_LE(0, perf_open(&attr, 0, -1, -1, 0));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));

	type = wait_for_sigtrap();
	EXPECT_EQ(PERF_TYPE_SOFTWARE, type);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		type = wait_for_sigtrap();
		pid = fork();
		if (!pid)
			_exit(wait_for_sigtrap());
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			_exit(255);
		_exit(type == WEXITSTATUS(status) ? type : 254);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(PERF_TYPE_SOFTWARE, WEXITSTATUS(status));
	close(fd);
}

#define RING_PAGES	64

struct period_sample {
	struct perf_event_header header;
	__u32 pid, tid;
	__u64 period;
};

/* The period of the first sample from a position in the ring on, or of the last, or 0. */
static __u64 sample_period(void *ring, __u64 pos, bool last)
{
	struct perf_event_mmap_page *page = ring;
	size_t page_size = sysconf(_SC_PAGESIZE);
	char *data = (char *)ring + page_size;
	struct period_sample *sample;
	__u64 head, period = 0;

	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	for (; pos < head; pos += sample->header.size) {
		/* Nothing wraps: the ring is never full. */
		sample = (void *)(data + pos);
		if (sample->header.type != PERF_RECORD_SAMPLE)
			continue;
		period = sample->period;
		if (!last)
			break;
	}
	return period;
}

/*
 * With a frequency, a grandchild begins with the period that the task has which
 * forks it. The one of the event at the top is 1 if its task has never run.
 */
TEST_F(inherit, first_period)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.config = 1,	/* Ticks */
		.freq = 1,
		.sample_freq = 1000,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD,
		.disabled = 1,
		.inherit = 1,
	};
	struct actors *actors = &self->actors;
	size_t size = (RING_PAGES + 1) * sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *ring;
	int fd, tries = 100;
	__u64 last, end;

	ASSERT_EQ(0, actor_do(actors, 0, ACTOR_NO_CLONE, 0));
	fd = perf_open(&attr, actors->pid, 0, -1, 0);
	ASSERT_LE(0, fd);
	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, ring);

	ASSERT_EQ(0, actor_do(actors, 0, ACTOR_FORK, 0));
	ASSERT_EQ(0, actor_do(actors, 1, ACTOR_NO_CLONE, 0));
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	do {
		ASSERT_EQ(0, actor_do(actors, 1, ACTOR_TICK, 1000));
		last = sample_period(ring, 0, true);
	} while (last < 64 && --tries);
	if (last < 64)
		SKIP(return, "the period does not grow here");

	end = ring->data_head;
	ASSERT_EQ(0, actor_do(actors, 1, ACTOR_FORK, 0));
	for (tries = 100; !sample_period(ring, end, false) && tries; tries--)
		ASSERT_EQ(0, actor_do(actors, 2, ACTOR_TICK, 10000000));
	EXPECT_LT(1, sample_period(ring, end, false));

	munmap(ring, size);
	close(fd);
}

FIXTURE(inherit_nomem)
{
	struct nomem nomem;
	char counters[16];
	int fd[NR_EVENTS];
};

FIXTURE_SETUP(inherit_nomem)
{
	const char *missing = mock_pmu_missing() ?: nomem_missing();

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, nomem_begin(&self->nomem, false));
	ASSERT_EQ(0, mock_pmu_read(PMU, "counters", self->counters, sizeof(self->counters)));
}

FIXTURE_TEARDOWN(inherit_nomem)
{
	EXPECT_EQ(0, nomem_end(&self->nomem));
	EXPECT_EQ(0, mock_pmu_write(PMU, "counters", "%s", self->counters));
}

/*
 * Fork with the @nth allocation failing. Returns 0 if that was one of fork()'s
 * and it failed with ENOMEM, 1 if it went without it, 2 if it takes fewer, or
 * -1 on another error.
 */
static int fork_failing(struct nomem *nomem, int nth)
{
	int left, err, status;
	pid_t pid;

	if (nomem_arm(nomem, nth))
		return -1;
	pid = fork();
	err = errno;
	if (!pid)
		_exit(0);
	left = nomem_disarm(nomem);
	if (left < 0)
		return -1;

	if (pid < 0)
		return err == ENOMEM ? 0 : -1;
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return left ? 2 : 1;
}

/*
 * Whichever allocation of a fork fails, nothing of the child's events is left
 * behind, and those of the parent go on to count and to take turns.
 */
TEST_F_TIMEOUT(inherit_nomem, fork, 60)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.read_format = PERF_COUNT_FORMAT,
		.inherit = 1,
	};
	int i, ret, nr_failed = 0, nth = 0;

	ASSERT_EQ(0, pin_to_cpu(0));
	ASSERT_EQ(0, mock_pmu_write(PMU, "counters", "%d", NR_COUNTERS));
	for (i = 0; i < NR_EVENTS; i++) {
		/* Pairs */
		self->fd[i] = perf_open(&attr, 0, -1, i % 2 ? self->fd[i - 1] : -1, 0);
		ASSERT_LE(0, self->fd[i]);
	}

	do {
		ret = fork_failing(&self->nomem, ++nth);
		ASSERT_LE(0, ret);
		nr_failed += !ret;
	} while (ret != 2);
	TH_LOG("%d of %d allocations fail a fork", nr_failed, nth - 1);
	/* The context and the PMU's part of it, and an event. */
	EXPECT_LE(3, nr_failed);

	EXPECT_EQ(NR_EVENTS, nr_running(self->fd));
	for (i = 0; i < NR_EVENTS; i++)
		close(self->fd[i]);
	/* This is refused while there are events. */
	for (i = 0; i < 1000 && mock_pmu_write(PMU, "counters", "%d", NR_COUNTERS); i++)
		usleep(10000);
	EXPECT_GT(1000, i);
}

TEST_HARNESS_MAIN
