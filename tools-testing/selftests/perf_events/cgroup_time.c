// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events on cgroups: that they count while a task of the cgroup runs, and only
 * then, whatever happens to the events beside them.
 *
 * All that runs in a cgroup here is one process that spins on CPU 0. The time
 * of an event must then equal the CPU time of that process. Where an event is
 * enabled, disabled or read while the process runs, bounds of its CPU time are
 * taken before and after, so that it does not matter how long that takes.
 */

#include <errno.h>

#include <sys/ioctl.h>
#include <sys/mount.h>

#include "common.h"
#include "kselftest_harness.h"

#define RUN_MS		100

/*
 * A virtual CPU can lose its processor between the moments when the scheduler
 * and perf look at the clock. What goes wrong is off by a third of RUN_MS at the
 * very least.
 */
static __u64 slack_ns = RUN_MS * 1000000ULL / 5;

/* What is to be found within, with 1 % of tolerance */
struct range {
	__u64 min;
	__u64 max;
};

static void expect_within(struct __test_metadata *_metadata, const char *what,
			  __u64 value, struct range range)
{
	EXPECT_TRUE(value + slack_ns >= range.min - range.min / 100 &&
		    value <= range.max + range.max / 100 + slack_ns) {
		TH_LOG("%s: %llu, should be %llu to %llu", what, value, range.min, range.max);
	}
}

/* An event was enabled, ran and counted all of the time. */
static void expect_count(struct __test_metadata *_metadata, struct range range,
			 const struct perf_count *count)
{
	expect_within(_metadata, "enabled", count->enabled, range);
	expect_within(_metadata, "running", count->running, range);
	expect_within(_metadata, "count", count->value, range);
}

/* It was not. */
static void expect_not_counted(struct __test_metadata *_metadata,
			       const struct perf_count *count)
{
	EXPECT_EQ(0, count->enabled);
	EXPECT_EQ(0, count->running);
	EXPECT_EQ(0, count->value);
}

/*
 * The time while an event is enabled, as far as it can be known: CPU time of
 * @spinner, or if there is none, of the clock on the wall.
 */
struct period {
	const struct spinner *spinner;
	/* Just before and just after the event was enabled */
	__u64 before;
	__u64 after;
	/* The sum of what is over */
	struct range sum;
};

static __u64 period_min_ns(const struct period *period)
{
	return period->spinner ? spinner_min_ns(period->spinner) : clock_ns(CLOCK_MONOTONIC);
}

static __u64 period_max_ns(const struct period *period)
{
	return period->spinner ? spinner_max_ns(period->spinner) : clock_ns(CLOCK_MONOTONIC);
}

static int period_begin(struct period *period, int fd, unsigned long flags)
{
	int err;

	period->before = period_min_ns(period);
	err = ioctl(fd, PERF_EVENT_IOC_ENABLE, flags);
	period->after = period_max_ns(period);
	return err;
}

static int period_end(struct period *period, int fd, unsigned long flags)
{
	__u64 before, after;
	int err;

	before = period_min_ns(period);
	err = ioctl(fd, PERF_EVENT_IOC_DISABLE, flags);
	after = period_max_ns(period);

	period->sum.min += before - period->after;
	period->sum.max += after - period->before;
	return err;
}

/* Read an event that is enabled, and what its time should be. */
static int period_read(const struct period *period, int fd, struct perf_count *count,
		       struct range *range)
{
	int err;

	range->min = period->sum.min + period_min_ns(period) - period->after;
	err = perf_read(fd, count);
	range->max = period->sum.max + period_max_ns(period) - period->before;
	return err;
}

static struct perf_event_attr cpu_clock = {
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_CPU_CLOCK,
	.read_format = PERF_COUNT_FORMAT,
};

static struct perf_event_attr cpu_clock_disabled = {
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_CPU_CLOCK,
	.read_format = PERF_COUNT_FORMAT,
	.disabled = 1,
};

/* Other events on the CPU, which an event on a cgroup must not depend on */
enum neighbour {
	ALONE,
	BESIDE_CPU_WIDE,
	BESIDE_TASK,
	BESIDE_PINNED_TASK,
	BESIDE_CGROUP,
};

FIXTURE(cgroup_time)
{
	char *path;
	/* Where the spinner belongs: path or below */
	char *inner;
	/* A cgroup beside path, with a spinner of its own */
	char *other;
	struct spinner spinner;
	struct spinner other_spinner;
	struct period period;
	int neighbour;
	int fd;
};

FIXTURE_VARIANT(cgroup_time)
{
	enum neighbour neighbour;
	/* Call from the spinner's own CPU, so never while it runs there */
	bool same_cpu;
	/* The spinner is two levels below the cgroup that has the event. */
	bool nested;
};

FIXTURE_VARIANT_ADD(cgroup_time, alone)
{
	.neighbour = ALONE,
};

FIXTURE_VARIANT_ADD(cgroup_time, alone_same_cpu)
{
	.neighbour = ALONE,
	.same_cpu = true,
};

FIXTURE_VARIANT_ADD(cgroup_time, alone_nested)
{
	.neighbour = ALONE,
	.nested = true,
};

FIXTURE_VARIANT_ADD(cgroup_time, beside_cpu_wide)
{
	.neighbour = BESIDE_CPU_WIDE,
};

FIXTURE_VARIANT_ADD(cgroup_time, beside_cpu_wide_same_cpu)
{
	.neighbour = BESIDE_CPU_WIDE,
	.same_cpu = true,
};

FIXTURE_VARIANT_ADD(cgroup_time, beside_cpu_wide_nested)
{
	.neighbour = BESIDE_CPU_WIDE,
	.nested = true,
};

FIXTURE_VARIANT_ADD(cgroup_time, beside_task)
{
	.neighbour = BESIDE_TASK,
};

FIXTURE_VARIANT_ADD(cgroup_time, beside_pinned_task)
{
	.neighbour = BESIDE_PINNED_TASK,
};

FIXTURE_VARIANT_ADD(cgroup_time, beside_cgroup)
{
	.neighbour = BESIDE_CGROUP,
};

FIXTURE_SETUP(cgroup_time)
{
	struct perf_event_attr attr = cpu_clock;
	const char *missing;
	char root[256];

	missing = cgroup_missing(root, sizeof(root));
	if (missing)
		SKIP(return, "%s", missing);
	if (pin_to_cpu(variant->same_cpu ? 0 : 1))
		SKIP(return, "needs CPU 0 and CPU 1");

	self->fd = -1;
	self->neighbour = -1;
	self->path = cg_name_indexed(root, "perf_events", getpid());
	self->other = cg_name_indexed(root, "perf_events_other", getpid());
	ASSERT_EQ(0, cg_create(self->path));
	ASSERT_EQ(0, cg_create(self->other));
	self->inner = cg_name(self->path, variant->nested ? "a" : "");
	if (variant->nested) {
		ASSERT_EQ(0, cg_create(self->inner));
		free(self->inner);
		self->inner = cg_name(self->path, "a/b");
		ASSERT_EQ(0, cg_create(self->inner));
	}

	ASSERT_EQ(0, spinner_create(&self->other_spinner, 0));
	ASSERT_EQ(0, cg_enter(self->other, self->other_spinner.pid));
	ASSERT_EQ(0, spinner_create(&self->spinner, 0));
	self->period.spinner = &self->spinner;

	switch (variant->neighbour) {
	case ALONE:
		return;
	case BESIDE_CPU_WIDE:
		self->neighbour = perf_open(&attr, -1, 0, -1, 0);
		break;
	case BESIDE_PINNED_TASK:
	case BESIDE_TASK:
		attr.pinned = variant->neighbour == BESIDE_PINNED_TASK;
		self->neighbour = perf_open(&attr, self->spinner.pid, -1, -1, 0);
		break;
	case BESIDE_CGROUP:
		self->neighbour = perf_open_cgroup(&attr, self->other, 0);
		break;
	}
	ASSERT_LE(0, self->neighbour);
}

FIXTURE_TEARDOWN(cgroup_time)
{
	spinner_destroy(&self->spinner);
	spinner_destroy(&self->other_spinner);
	close(self->neighbour);
	close(self->fd);
	EXPECT_EQ(0, cgroup_remove(self->path));
	EXPECT_EQ(0, cgroup_remove(self->other));
	free(self->path);
	free(self->inner);
	free(self->other);
}

/* Enabled, disabled and enabled again while the task runs. */
TEST_F(cgroup_time, toggle)
{
	struct perf_count count;
	int i;

	ASSERT_EQ(0, cg_enter(self->inner, self->spinner.pid));
	self->fd = perf_open_cgroup(&cpu_clock_disabled, self->path, 0);
	ASSERT_LE(0, self->fd);

	ASSERT_EQ(0, spinner_go(&self->spinner));
	for (i = 0; i < 2; i++) {
		spinner_wait(&self->spinner, RUN_MS);
		ASSERT_EQ(0, period_begin(&self->period, self->fd, 0));
		spinner_wait(&self->spinner, RUN_MS);
		ASSERT_EQ(0, period_end(&self->period, self->fd, 0));
	}
	spinner_wait(&self->spinner, RUN_MS);

	ASSERT_EQ(0, perf_read(self->fd, &count));
	expect_count(_metadata, self->period.sum, &count);
}

/* Enabled and disabled while nothing of the cgroup runs. */
TEST_F(cgroup_time, toggle_outside)
{
	struct perf_count count;
	int i;

	ASSERT_EQ(0, cg_enter(self->inner, self->spinner.pid));
	self->fd = perf_open_cgroup(&cpu_clock_disabled, self->path, 0);
	ASSERT_LE(0, self->fd);

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, spinner_run(&self->spinner, RUN_MS));
		ASSERT_EQ(0, period_begin(&self->period, self->fd, 0));
		ASSERT_EQ(0, spinner_run(&self->spinner, RUN_MS));
		ASSERT_EQ(0, period_end(&self->period, self->fd, 0));
	}
	ASSERT_EQ(0, spinner_run(&self->spinner, RUN_MS));

	ASSERT_EQ(0, perf_read(self->fd, &count));
	expect_count(_metadata, self->period.sum, &count);
}

/* The CPU goes to a guest and comes back, see the mock PMU. */
static int guest(unsigned int ms)
{
	return mock_pmu_write("mock0", "guest", "0 %u", ms);
}

/*
 * A guest that owns the PMU interrupts the task: its time does not count for an
 * event that excludes guests, and counts for one that does not.
 */
TEST_F(cgroup_time, guest)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type("mock0"),
		.read_format = PERF_COUNT_FORMAT,
		.exclude_guest = 1,
		.disabled = 1,
	};
	struct period with_guest = { .spinner = &self->spinner };
	struct perf_count count;
	struct range range;
	int all, i;

	if (mock_pmu_missing())
		SKIP(return, "%s", mock_pmu_missing());
	if (variant->same_cpu)
		SKIP(return, "the guest would interrupt the test, not the spinner");

	ASSERT_EQ(0, cg_enter(self->inner, self->spinner.pid));
	self->fd = perf_open_cgroup(&attr, self->path, 0);
	ASSERT_LE(0, self->fd);
	all = perf_open_cgroup(&cpu_clock_disabled, self->path, 0);
	ASSERT_LE(0, all);

	ASSERT_EQ(0, spinner_go(&self->spinner));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, guest(RUN_MS));
		ASSERT_EQ(0, period_begin(&self->period, self->fd, 0));
		ASSERT_EQ(0, period_begin(&with_guest, all, 0));
		spinner_wait(&self->spinner, RUN_MS);
		ASSERT_EQ(0, guest(RUN_MS));
		spinner_wait(&self->spinner, RUN_MS);
		ASSERT_EQ(0, guest(RUN_MS));

		ASSERT_EQ(0, period_read(&with_guest, all, &count, &range));
		expect_count(_metadata, range, &count);
		ASSERT_EQ(0, period_end(&with_guest, all, 0));
		ASSERT_EQ(0, period_end(&self->period, self->fd, 0));
	}
	close(all);

	range.min = self->period.sum.min - 4 * RUN_MS * 1000000ULL;
	range.max = self->period.sum.max - 4 * RUN_MS * 1000000ULL;
	ASSERT_EQ(0, perf_read(self->fd, &count));
	expect_count(_metadata, range, &count);
}

/* Read while it counts, with an event that was enabled from the start. */
TEST_F(cgroup_time, open_while_running)
{
	struct perf_count count;
	struct range range;

	ASSERT_EQ(0, cg_enter(self->inner, self->spinner.pid));
	ASSERT_EQ(0, spinner_go(&self->spinner));
	spinner_wait(&self->spinner, RUN_MS);

	self->period.before = period_min_ns(&self->period);
	self->fd = perf_open_cgroup(&cpu_clock, self->path, 0);
	ASSERT_LE(0, self->fd);
	self->period.after = period_max_ns(&self->period);

	spinner_wait(&self->spinner, RUN_MS);
	ASSERT_EQ(0, period_read(&self->period, self->fd, &count, &range));
	expect_count(_metadata, range, &count);
}

/* Opened before any task of the cgroup has run. */
TEST_F(cgroup_time, open_before_first_task)
{
	struct range range = {};
	struct perf_count count;

	self->fd = perf_open_cgroup(&cpu_clock, self->path, 0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, spinner_run(&self->other_spinner, RUN_MS));
	ASSERT_EQ(0, spinner_run(&self->spinner, RUN_MS));

	/* Nothing has run in the cgroup. */
	ASSERT_EQ(0, perf_read(self->fd, &count));
	expect_not_counted(_metadata, &count);

	ASSERT_EQ(0, cg_enter(self->inner, self->spinner.pid));
	range.min = spinner_min_ns(&self->spinner);
	ASSERT_EQ(0, spinner_run(&self->spinner, RUN_MS));
	ASSERT_EQ(0, spinner_run(&self->other_spinner, RUN_MS));
	range.min = spinner_min_ns(&self->spinner) - range.min;
	range.max = range.min;

	ASSERT_EQ(0, perf_read(self->fd, &count));
	expect_count(_metadata, range, &count);
}

/* What one event leaves behind when it is closed does not count for the next. */
TEST_F(cgroup_time, close_and_open)
{
	struct perf_count count;
	struct range range;

	ASSERT_EQ(0, cg_enter(self->inner, self->spinner.pid));
	ASSERT_EQ(0, spinner_go(&self->spinner));
	self->fd = perf_open_cgroup(&cpu_clock, self->path, 0);
	ASSERT_LE(0, self->fd);
	spinner_wait(&self->spinner, RUN_MS);
	close(self->fd);
	spinner_wait(&self->spinner, RUN_MS);

	self->period.before = period_min_ns(&self->period);
	self->fd = perf_open_cgroup(&cpu_clock, self->path, 0);
	ASSERT_LE(0, self->fd);
	self->period.after = period_max_ns(&self->period);

	spinner_wait(&self->spinner, RUN_MS);
	ASSERT_EQ(0, period_read(&self->period, self->fd, &count, &range));
	expect_count(_metadata, range, &count);
}

/* Enabled again while another cgroup's task runs and is monitored as well. */
TEST_F(cgroup_time, other_cgroup_running)
{
	struct perf_count count, last;
	int other;

	ASSERT_EQ(0, cg_enter(self->inner, self->spinner.pid));
	self->fd = perf_open_cgroup(&cpu_clock_disabled, self->path, 0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, spinner_go(&self->spinner));
	ASSERT_EQ(0, period_begin(&self->period, self->fd, 0));
	spinner_wait(&self->spinner, RUN_MS);
	ASSERT_EQ(0, period_end(&self->period, self->fd, 0));
	ASSERT_EQ(0, spinner_halt(&self->spinner));
	ASSERT_EQ(0, perf_read(self->fd, &last));

	ASSERT_EQ(0, spinner_go(&self->other_spinner));
	other = perf_open_cgroup(&cpu_clock, self->other, 0);
	ASSERT_LE(0, other);
	spinner_wait(&self->other_spinner, RUN_MS);
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0));
	spinner_wait(&self->other_spinner, RUN_MS);
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_DISABLE, 0));
	close(other);

	/* None of this was time of the cgroup. */
	ASSERT_EQ(0, perf_read(self->fd, &count));
	EXPECT_EQ(last.enabled, count.enabled);
	EXPECT_EQ(last.running, count.running);
	EXPECT_EQ(last.value, count.value);
}

/* Two cgroups, each with a task that runs and an event that comes and goes. */
TEST_F(cgroup_time, two_cgroups)
{
	struct period other = { .spinner = &self->other_spinner };
	struct perf_count count;
	int other_fd, i;

	ASSERT_EQ(0, cg_enter(self->inner, self->spinner.pid));
	self->fd = perf_open_cgroup(&cpu_clock_disabled, self->path, 0);
	ASSERT_LE(0, self->fd);
	other_fd = perf_open_cgroup(&cpu_clock_disabled, self->other, 0);
	ASSERT_LE(0, other_fd);

	ASSERT_EQ(0, spinner_go(&self->spinner));
	ASSERT_EQ(0, spinner_go(&self->other_spinner));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, period_begin(&self->period, self->fd, 0));
		spinner_wait(&self->spinner, RUN_MS);
		ASSERT_EQ(0, period_begin(&other, other_fd, 0));
		spinner_wait(&self->spinner, RUN_MS);
		ASSERT_EQ(0, period_end(&self->period, self->fd, 0));
		spinner_wait(&self->other_spinner, RUN_MS);
		ASSERT_EQ(0, period_end(&other, other_fd, 0));
		spinner_wait(&self->other_spinner, RUN_MS);
	}

	ASSERT_EQ(0, perf_read(self->fd, &count));
	expect_count(_metadata, self->period.sum, &count);
	ASSERT_EQ(0, perf_read(other_fd, &count));
	expect_count(_metadata, other.sum, &count);
	close(other_fd);
}

/* A group, as a whole. */
TEST_F(cgroup_time, group)
{
	struct perf_count count;
	int sibling, dir, i;

	ASSERT_EQ(0, cg_enter(self->inner, self->spinner.pid));
	self->fd = perf_open_cgroup(&cpu_clock_disabled, self->path, 0);
	ASSERT_LE(0, self->fd);
	dir = open(self->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_LE(0, dir);
	sibling = perf_open(&cpu_clock_disabled, dir, 0, self->fd, PERF_FLAG_PID_CGROUP);
	ASSERT_LE(0, sibling);
	close(dir);

	ASSERT_EQ(0, spinner_go(&self->spinner));
	for (i = 0; i < 2; i++) {
		spinner_wait(&self->spinner, RUN_MS);
		ASSERT_EQ(0, period_begin(&self->period, self->fd, PERF_IOC_FLAG_GROUP));
		spinner_wait(&self->spinner, RUN_MS);
		ASSERT_EQ(0, period_end(&self->period, self->fd, PERF_IOC_FLAG_GROUP));
	}

	ASSERT_EQ(0, perf_read(self->fd, &count));
	expect_count(_metadata, self->period.sum, &count);
	ASSERT_EQ(0, perf_read(sibling, &count));
	expect_count(_metadata, self->period.sum, &count);
	close(sibling);
}

FIXTURE(cgroup_busy)
{
	char root[256];
	char *path;
	struct spinner spinner[2];
	int task_event[2];
	int fd;
};

FIXTURE_SETUP(cgroup_busy)
{
	const char *missing = cgroup_missing(self->root, sizeof(self->root));
	int i;

	if (missing)
		SKIP(return, "%s", missing);
	if (pin_to_cpu(1))
		SKIP(return, "needs CPU 0 and CPU 1");

	self->fd = -1;
	self->path = cg_name_indexed(self->root, "perf_events", getpid());
	ASSERT_EQ(0, cg_create(self->path));
	for (i = 0; i < 2; i++) {
		self->task_event[i] = -1;
		ASSERT_EQ(0, spinner_create(&self->spinner[i], 0));
	}
}

FIXTURE_TEARDOWN(cgroup_busy)
{
	int i;

	for (i = 0; i < 2; i++) {
		spinner_destroy(&self->spinner[i]);
		close(self->task_event[i]);
	}
	close(self->fd);
	EXPECT_EQ(0, cgroup_remove(self->path));
	free(self->path);
}

/* Tasks of one cgroup take turns, each with an event of its own. */
TEST_F(cgroup_busy, tasks_with_events)
{
	struct range range = {};
	struct perf_count count;
	int i;

	for (i = 0; i < 2; i++) {
		self->task_event[i] = perf_open(&cpu_clock, self->spinner[i].pid, -1, -1, 0);
		ASSERT_LE(0, self->task_event[i]);
		ASSERT_EQ(0, cg_enter(self->path, self->spinner[i].pid));
		range.min -= spinner_min_ns(&self->spinner[i]);
	}
	self->fd = perf_open_cgroup(&cpu_clock, self->path, 0);
	ASSERT_LE(0, self->fd);

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, spinner_go(&self->spinner[i]));
	spinner_wait(&self->spinner[0], 2 * RUN_MS);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, spinner_halt(&self->spinner[i]));
		range.min += spinner_min_ns(&self->spinner[i]);
	}
	range.max = range.min;

	ASSERT_EQ(0, perf_read(self->fd, &count));
	expect_count(_metadata, range, &count);
}

/*
 * Events of the task that are enabled by exec() reschedule those of the CPU.
 * See main() for what is executed.
 */
TEST_F(cgroup_busy, enable_on_exec)
{
	struct perf_event_attr attr = cpu_clock_disabled;
	struct period period = { .spinner = &self->spinner[0] };
	struct perf_count count;
	struct range range;

	attr.enable_on_exec = 1;
	attr.pinned = 1;

	spinner_destroy(&self->spinner[0]);
	ASSERT_EQ(0, __spinner_create(&self->spinner[0], 0, true));

	self->task_event[0] = perf_open(&attr, self->spinner[0].pid, -1, -1, 0);
	ASSERT_LE(0, self->task_event[0]);
	ASSERT_EQ(0, cg_enter(self->path, self->spinner[0].pid));
	self->fd = perf_open_cgroup(&cpu_clock, self->path, 0);
	ASSERT_LE(0, self->fd);
	period.before = period_min_ns(&period);
	period.after = period.before;

	/* Soon, before a switch to a kernel thread and back changes anything */
	ASSERT_EQ(0, spinner_go(&self->spinner[0]));
	do {
		spinner_wait(&self->spinner[0], RUN_MS / 10);
		ASSERT_EQ(0, perf_read(self->task_event[0], &count));
	} while (count.running < RUN_MS / 5 * 1000000ULL);
	ASSERT_EQ(0, period_read(&period, self->fd, &count, &range));
	expect_count(_metadata, range, &count);
}

/* The same by ioctl() */
TEST_F(cgroup_busy, enable_pinned_task)
{
	struct perf_event_attr attr = cpu_clock_disabled;
	struct period period = { .spinner = &self->spinner[0] };
	struct perf_count count;
	struct range range;
	int i;

	attr.pinned = 1;
	self->task_event[0] = perf_open(&attr, self->spinner[0].pid, -1, -1, 0);
	ASSERT_LE(0, self->task_event[0]);
	ASSERT_EQ(0, cg_enter(self->path, self->spinner[0].pid));
	self->fd = perf_open_cgroup(&cpu_clock, self->path, 0);
	ASSERT_LE(0, self->fd);
	period.before = period_min_ns(&period);
	period.after = period.before;

	ASSERT_EQ(0, spinner_go(&self->spinner[0]));
	for (i = 0; i < 10; i++) {
		spinner_wait(&self->spinner[0], RUN_MS / 10);
		ASSERT_EQ(0, ioctl(self->task_event[0], PERF_EVENT_IOC_ENABLE, 0));
		spinner_wait(&self->spinner[0], RUN_MS / 5);
		ASSERT_EQ(0, period_read(&period, self->fd, &count, &range));
		expect_count(_metadata, range, &count);
		ASSERT_EQ(0, ioctl(self->task_event[0], PERF_EVENT_IOC_DISABLE, 0));
	}
}

/*
 * The first event of the CPU is on a cgroup of which nothing runs, and no other
 * cgroup takes the CPU.
 */
TEST_F(cgroup_busy, first_event_not_running)
{
	struct period period = {};
	struct perf_count count;
	int wide;

	ASSERT_EQ(0, cg_enter(self->root, self->spinner[0].pid));
	ASSERT_EQ(0, spinner_go(&self->spinner[0]));
	self->fd = perf_open_cgroup(&cpu_clock, self->path, 0);
	ASSERT_LE(0, self->fd);
	wide = perf_open(&cpu_clock_disabled, -1, 0, -1, 0);
	ASSERT_LE(0, wide);

	ASSERT_EQ(0, period_begin(&period, wide, 0));
	spinner_wait(&self->spinner[0], RUN_MS);
	ASSERT_EQ(0, period_end(&period, wide, 0));

	ASSERT_EQ(0, perf_read(wide, &count));
	expect_count(_metadata, period.sum, &count);
	close(wide);

	ASSERT_EQ(0, perf_read(self->fd, &count));
	EXPECT_EQ(0, count.enabled);
}

#define PMU		"mock0"
#define MUX_INTERVAL	"/sys/bus/event_source/devices/" PMU "/perf_event_mux_interval_ms"

FIXTURE(cgroup_waiting)
{
	char *path;
	struct spinner spinner;
	int wide;
	int fd;
	char counters[16];
	char interval[16];
};

FIXTURE_SETUP(cgroup_waiting)
{
	const char *missing;
	char root[256];

	missing = cgroup_missing(root, sizeof(root)) ?: mock_pmu_missing();
	if (missing)
		SKIP(return, "%s", missing);
	if (pin_to_cpu(1))
		SKIP(return, "needs CPU 0 and CPU 1");

	self->fd = -1;
	self->wide = -1;
	ASSERT_EQ(0, mock_pmu_read(PMU, "counters", self->counters, sizeof(self->counters)));
	ASSERT_LT(0, read_text(MUX_INTERVAL, self->interval, sizeof(self->interval)));
	self->path = cg_name_indexed(root, "perf_events", getpid());
	ASSERT_EQ(0, cg_create(self->path));
	ASSERT_EQ(0, spinner_create(&self->spinner, 0));
	ASSERT_EQ(0, cg_enter(self->path, self->spinner.pid));
}

FIXTURE_TEARDOWN(cgroup_waiting)
{
	spinner_destroy(&self->spinner);
	close(self->wide);
	close(self->fd);
	EXPECT_EQ(0, mock_pmu_write(PMU, "counters", "%s", self->counters));
	EXPECT_LT(0, write_text(MUX_INTERVAL, self->interval, strlen(self->interval)));
	EXPECT_EQ(0, cgroup_remove(self->path));
	free(self->path);
}

/*
 * An event that waits for a counter is read from another CPU: the time that it
 * is enabled goes on, also between two turns of the events.
 */
TEST_F(cgroup_waiting, read)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(PMU),
		.read_format = PERF_COUNT_FORMAT,
	};
	struct period period = { .spinner = &self->spinner };
	struct perf_count count;
	struct range range;
	char interval[] = "1000";
	__u64 before;
	int i;

	ASSERT_EQ(0, mock_pmu_write(PMU, "counters", "1"));
	ASSERT_LT(0, write_text(MUX_INTERVAL, interval, strlen(interval)));

	self->fd = perf_open_cgroup(&attr, self->path, 0);
	ASSERT_LE(0, self->fd);
	attr.pinned = 1;
	self->wide = perf_open(&attr, -1, 0, -1, 0);
	ASSERT_LE(0, self->wide);

	period.before = period_min_ns(&period);
	period.after = period.before;
	ASSERT_EQ(0, spinner_go(&self->spinner));
	spinner_wait(&self->spinner, RUN_MS);
	ASSERT_EQ(0, period_read(&period, self->fd, &count, &range));
	expect_within(_metadata, "enabled", count.enabled, range);
	/* Where it stands still, tasks that come in between bring it up to date. */
	for (i = 0; i < 20; i++) {
		before = count.enabled;
		spinner_wait(&self->spinner, 1);
		ASSERT_EQ(0, perf_read(self->fd, &count));
		EXPECT_LT(before, count.enabled);
	}
	/* It may have had the counter for the end of the spinner's way to a halt. */
	EXPECT_GT(RUN_MS * 10000, count.running);
	EXPECT_GT(RUN_MS * 10000, count.value);
}

/*
 * Cgroups within cgroups, with events and tasks on all levels. What an event
 * should show is known for each of them at any time: see tree_begin().
 */
enum tree_place { TOP, X, X_Z, X_Z_W, Y, OTHER, NR_PLACES };

#define NR_TREE_SPINNERS	3
#define NR_TREE_EVENTS		8

struct tree_event {
	int fd;
	enum tree_place place;
	bool enabled;
	/* What it should show of the time that is over */
	struct range sum;
	/* The same for what goes on: when each spinner began to count */
	bool counts[NR_TREE_SPINNERS];
	struct range since[NR_TREE_SPINNERS];
};

FIXTURE(cgroup_tree)
{
	char *path[NR_PLACES];
	struct spinner spinner[NR_TREE_SPINNERS];
	enum tree_place where[NR_TREE_SPINNERS];
	__u64 before[NR_TREE_SPINNERS];
	struct tree_event event[NR_TREE_EVENTS];
};

FIXTURE_SETUP(cgroup_tree)
{
	static const char * const name[NR_PLACES] = { "", "x", "x/z", "x/z/w", "y" };
	const char *missing;
	char root[256];
	int i;

	missing = cgroup_missing(root, sizeof(root));
	if (missing)
		SKIP(return, "%s", missing);
	if (pin_to_cpu(1))
		SKIP(return, "needs CPU 0 and CPU 1");

	self->path[TOP] = cg_name_indexed(root, "perf_events", getpid());
	self->path[OTHER] = cg_name_indexed(root, "perf_events_other", getpid());
	for (i = 0; i < NR_PLACES; i++) {
		if (name[i] && i != TOP)
			self->path[i] = cg_name(self->path[TOP], name[i]);
		ASSERT_EQ(0, cg_create(self->path[i]));
	}
	for (i = 0; i < NR_TREE_EVENTS; i++)
		self->event[i].fd = -1;
	for (i = 0; i < NR_TREE_SPINNERS; i++) {
		ASSERT_EQ(0, spinner_create(&self->spinner[i], 0));
		self->where[i] = OTHER;
		ASSERT_EQ(0, cg_enter(self->path[OTHER], self->spinner[i].pid));
	}
}

FIXTURE_TEARDOWN(cgroup_tree)
{
	int i;

	for (i = 0; i < NR_TREE_SPINNERS; i++)
		spinner_destroy(&self->spinner[i]);
	for (i = 0; i < NR_TREE_EVENTS; i++)
		close(self->event[i].fd);
	EXPECT_EQ(0, cgroup_remove(self->path[TOP]));
	EXPECT_EQ(0, cgroup_remove(self->path[OTHER]));
	for (i = 0; i < NR_PLACES; i++)
		free(self->path[i]);
}

static bool tree_is_below(enum tree_place place, enum tree_place top)
{
	switch (top) {
	case TOP:
		return place != OTHER;
	case X:
		return place == X || place == X_Z || place == X_Z_W;
	case X_Z:
		return place == X_Z || place == X_Z_W;
	default:
		return place == top;
	}
}

/*
 * Each change is made between these two. What an event gains or loses by it has
 * begun or ended somewhere between the CPU times from before and after.
 */
static void tree_begin(FIXTURE_DATA(cgroup_tree) * self)
{
	int i;

	for (i = 0; i < NR_TREE_SPINNERS; i++)
		self->before[i] = spinner_min_ns(&self->spinner[i]);
}

static void tree_end(FIXTURE_DATA(cgroup_tree) * self)
{
	struct tree_event *event;
	struct range now;
	bool counts;
	int i;

	for (i = 0; i < NR_TREE_SPINNERS; i++) {
		now.min = self->before[i];
		now.max = spinner_max_ns(&self->spinner[i]);
		for (event = self->event; event < self->event + NR_TREE_EVENTS; event++) {
			counts = event->enabled && tree_is_below(self->where[i], event->place);
			if (counts == event->counts[i])
				continue;
			event->counts[i] = counts;
			if (counts) {
				event->since[i] = now;
				continue;
			}
			event->sum.min += now.min - event->since[i].max;
			event->sum.max += now.max - event->since[i].min;
		}
	}
}

static int tree_open(FIXTURE_DATA(cgroup_tree) * self, int i, enum tree_place place, bool enabled)
{
	struct tree_event *event = &self->event[i];

	memset(event, 0, sizeof(*event));
	event->place = place;
	tree_begin(self);
	event->fd = perf_open_cgroup(enabled ? &cpu_clock : &cpu_clock_disabled,
				     self->path[place], 0);
	event->enabled = enabled;
	tree_end(self);
	return event->fd;
}

static int tree_toggle(FIXTURE_DATA(cgroup_tree) * self, int i)
{
	struct tree_event *event = &self->event[i];
	int err;

	tree_begin(self);
	err = ioctl(event->fd, event->enabled ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
	event->enabled = !event->enabled;
	tree_end(self);
	return err;
}

static int tree_move(FIXTURE_DATA(cgroup_tree) * self, int i, enum tree_place place)
{
	int err;

	tree_begin(self);
	err = cg_enter(self->path[place], self->spinner[i].pid);
	self->where[i] = place;
	tree_end(self);
	return err;
}

/* Check an event while no spinner runs. */
static void tree_check(struct __test_metadata *_metadata, FIXTURE_DATA(cgroup_tree) * self, int nr)
{
	struct tree_event *event = &self->event[nr];
	struct range range = event->sum;
	struct perf_count count;
	int i;

	for (i = 0; i < NR_TREE_SPINNERS; i++) {
		if (!event->counts[i])
			continue;
		range.min += spinner_min_ns(&self->spinner[i]) - event->since[i].max;
		range.max += spinner_min_ns(&self->spinner[i]) - event->since[i].min;
	}

	ASSERT_EQ(0, perf_read(event->fd, &count));
	expect_count(_metadata, range, &count);
	/* It is alone on its PMU, or together with others that count as well. */
	EXPECT_EQ(count.enabled, count.running);
}

/* Tasks on each level take turns, all of them at once. */
TEST_F(cgroup_tree, sums)
{
	static const enum tree_place where[NR_TREE_SPINNERS] = { X_Z_W, X, Y };
	long usec[NR_PLACES];
	struct perf_count count[NR_PLACES];
	struct range usage;
	int i;

	for (i = 0; i < NR_TREE_SPINNERS; i++)
		ASSERT_EQ(0, tree_move(self, i, where[i]));
	for (i = 0; i < NR_PLACES; i++) {
		ASSERT_LE(0, tree_open(self, i, i, true));
		usec[i] = cg_read_key_long(self->path[i], "cpu.stat", "usage_usec ");
		ASSERT_LE(0, usec[i]);
	}

	for (i = 0; i < NR_TREE_SPINNERS; i++)
		ASSERT_EQ(0, spinner_go(&self->spinner[i]));
	spinner_wait(&self->spinner[0], 2 * RUN_MS);
	for (i = 0; i < NR_TREE_SPINNERS; i++)
		ASSERT_EQ(0, spinner_halt(&self->spinner[i]));

	for (i = 0; i < NR_PLACES; i++) {
		tree_check(_metadata, self, i);
		ASSERT_EQ(0, perf_read(self->event[i].fd, &count[i]));
		usage.min = (cg_read_key_long(self->path[i], "cpu.stat", "usage_usec ") -
			     usec[i]) * 1000;
		usage.max = usage.min;
		expect_count(_metadata, usage, &count[i]);
	}
	/* To the nanosecond: what counts for one counts for all above it. */
	EXPECT_EQ(count[X_Z].enabled, count[X_Z_W].enabled);
	expect_not_counted(_metadata, &count[OTHER]);
}

/* An event on a nearer cgroup comes and goes, and so does the one it hides. */
TEST_F(cgroup_tree, toggle_nested)
{
	int i;

	ASSERT_LE(0, tree_open(self, 0, TOP, true));
	ASSERT_LE(0, tree_open(self, 1, X, false));
	ASSERT_LE(0, tree_open(self, 2, X_Z, false));
	ASSERT_LE(0, tree_open(self, 3, Y, true));
	ASSERT_EQ(0, tree_move(self, 0, X_Z_W));
	ASSERT_EQ(0, spinner_go(&self->spinner[0]));

	for (i = 0; i < 16; i++) {
		spinner_wait(&self->spinner[0], RUN_MS / 4);
		ASSERT_EQ(0, tree_toggle(self, i % 4 == 3 ? 0 : 1 + i % 2));
	}

	ASSERT_EQ(0, spinner_halt(&self->spinner[0]));
	for (i = 0; i < 4; i++)
		tree_check(_metadata, self, i);
}

/* A task moves while it runs, in and out and from one level to the other. */
TEST_F(cgroup_tree, move)
{
	static const enum tree_place to[] = {
		TOP, X, X_Z_W, X_Z, Y, OTHER, X_Z_W, OTHER, Y, TOP, X_Z, X
	};
	int i;

	for (i = 0; i < NR_PLACES; i++) {
		/* One of them without an event */
		if (i != X_Z)
			ASSERT_LE(0, tree_open(self, i, i, true));
	}

	ASSERT_EQ(0, spinner_go(&self->spinner[0]));
	for (i = 0; i < 2 * (int)ARRAY_SIZE(to); i++) {
		spinner_wait(&self->spinner[0], RUN_MS / 5);
		ASSERT_EQ(0, tree_move(self, 0, to[i % ARRAY_SIZE(to)]));
	}

	ASSERT_EQ(0, spinner_halt(&self->spinner[0]));
	for (i = 0; i < NR_PLACES; i++) {
		if (i != X_Z)
			tree_check(_metadata, self, i);
	}
}

/* The cgroup is removed, and its event stays. */
TEST_F(cgroup_tree, removed)
{
	int i;

	ASSERT_LE(0, tree_open(self, 0, TOP, true));
	ASSERT_LE(0, tree_open(self, 1, X_Z, true));
	ASSERT_LE(0, tree_open(self, 2, X_Z_W, true));
	ASSERT_EQ(0, tree_move(self, 0, X_Z_W));
	ASSERT_EQ(0, spinner_go(&self->spinner[0]));
	spinner_wait(&self->spinner[0], RUN_MS);

	/* The CPU is in a cgroup that goes. */
	ASSERT_EQ(0, tree_move(self, 0, X));
	ASSERT_EQ(0, cg_destroy(self->path[X_Z_W]));
	ASSERT_EQ(0, cg_destroy(self->path[X_Z]));
	for (i = 0; i < 4; i++) {
		spinner_wait(&self->spinner[0], RUN_MS / 4);
		ASSERT_EQ(0, tree_toggle(self, 2 - i % 2));
	}
	close(self->event[2].fd);
	self->event[2].fd = -1;
	spinner_wait(&self->spinner[0], RUN_MS / 4);

	ASSERT_EQ(0, spinner_halt(&self->spinner[0]));
	tree_check(_metadata, self, 0);
	tree_check(_metadata, self, 1);
}

/* The events of a CPU go with it, and leave nothing behind for the next. */
TEST_F(cgroup_tree, offline)
{
	char online[] = "/sys/devices/system/cpu/cpu1/online", off[] = "0", on[] = "1";
	struct perf_count count;
	struct range range;
	cpu_set_t cpu1;
	int fd[2], i;

	if (access(online, W_OK))
		SKIP(return, "CPU 1 cannot be taken offline");
	CPU_ZERO(&cpu1);
	CPU_SET(1, &cpu1);
	ASSERT_EQ(0, pin_to_cpu(0));
	ASSERT_EQ(0, tree_move(self, 0, X_Z));

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, sched_setaffinity(self->spinner[0].pid, sizeof(cpu1), &cpu1));
		fd[0] = perf_open_cgroup(&cpu_clock, self->path[TOP], 1);
		ASSERT_LE(0, fd[0]);
		fd[1] = perf_open_cgroup(&cpu_clock, self->path[X], 1);
		ASSERT_LE(0, fd[1]);
		range.min = spinner_min_ns(&self->spinner[0]);
		ASSERT_EQ(0, spinner_run(&self->spinner[0], RUN_MS));
		range.min = spinner_min_ns(&self->spinner[0]) - range.min;
		range.max = range.min;
		ASSERT_EQ(0, perf_read(fd[0], &count));
		expect_count(_metadata, range, &count);
		ASSERT_EQ(0, perf_read(fd[1], &count));
		expect_count(_metadata, range, &count);

		/* With a task in the cgroup on the CPU */
		ASSERT_EQ(0, spinner_go(&self->spinner[0]));
		EXPECT_LT(0, write_text(online, off, 1));
		EXPECT_LT(0, write_text(online, on, 1));
		ASSERT_EQ(0, spinner_halt(&self->spinner[0]));
		close(fd[0]);
		close(fd[1]);
	}
}

#define RANDOM_STEPS	60

/* Whatever happens in whatever order. PERF_EVENTS_SEED=N repeats a run. */
TEST_F(cgroup_tree, random)
{
	const char *env = getenv("PERF_EVENTS_SEED");
	unsigned int seed = env ? atoi(env) : time(NULL);
	int step, i, j;

	TH_LOG("PERF_EVENTS_SEED=%u", seed);
	srand(seed);
	for (i = 0; i < NR_TREE_EVENTS; i++)
		ASSERT_LE(0, tree_open(self, i, rand() % NR_PLACES, rand() % 2));

	for (step = 0; step < RANDOM_STEPS; step++) {
		/* Two tasks that take turns, or one that runs while things change */
		i = rand() % NR_TREE_SPINNERS;
		ASSERT_EQ(0, spinner_go(&self->spinner[i]));
		if (rand() % 3 == 0) {
			j = (i + 1) % NR_TREE_SPINNERS;
			ASSERT_EQ(0, spinner_go(&self->spinner[j]));
			spinner_wait(&self->spinner[j], RUN_MS / 10);
			ASSERT_EQ(0, spinner_halt(&self->spinner[j]));
		}
		for (j = rand() % 4; j >= 0; j--) {
			spinner_wait(&self->spinner[i], RUN_MS / 20);
			switch (rand() % 4) {
			case 0:
				ASSERT_EQ(0, tree_move(self, i, rand() % NR_PLACES));
				break;
			case 1:
				ASSERT_EQ(0, tree_move(self, rand() % NR_TREE_SPINNERS,
						       rand() % NR_PLACES));
				break;
			default:
				ASSERT_EQ(0, tree_toggle(self, rand() % NR_TREE_EVENTS));
				break;
			}
		}
		ASSERT_EQ(0, spinner_halt(&self->spinner[i]));

		/* Now and then, one event is closed and another one opened. */
		if (rand() % 4)
			continue;
		i = rand() % NR_TREE_EVENTS;
		tree_check(_metadata, self, i);
		close(self->event[i].fd);
		ASSERT_LE(0, tree_open(self, i, rand() % NR_PLACES, rand() % 2));
	}

	for (i = 0; i < NR_TREE_EVENTS; i++)
		tree_check(_metadata, self, i);
}

/*
 * What 'perf stat -a -C 0 -G' does: one event on the CPU, one on a cgroup, while
 * a task runs outside the cgroup and then inside.
 */
FIXTURE(cgroup_stat)
{
	char root[256];
	/* The cgroup of the event: on cgroup v1 not the one that counts usage */
	char *event_path;
	char *path;
	char mount[32];
	struct spinner spinner;
	int wide;
	int fd;
};

FIXTURE_VARIANT(cgroup_stat)
{
	bool v1;
};

FIXTURE_VARIANT_ADD(cgroup_stat, v2)
{
	.v1 = false,
};

FIXTURE_VARIANT_ADD(cgroup_stat, v1)
{
	.v1 = true,
};

FIXTURE_SETUP(cgroup_stat)
{
	const char *missing = cgroup_missing(self->root, sizeof(self->root));
	int err;

	self->fd = -1;
	self->wide = -1;
	if (missing)
		SKIP(return, "%s", missing);
	if (pin_to_cpu(1))
		SKIP(return, "needs CPU 0 and CPU 1");

	strcpy(self->mount, "/tmp/perf_events.XXXXXX");
	if (variant->v1) {
		ASSERT_NE(NULL, mkdtemp(self->mount));
		if (mount("none", self->mount, "cgroup", 0, "perf_event")) {
			err = errno;
			rmdir(self->mount);
			SKIP(return, "perf_event cannot be moved to cgroup v1: %s",
			     strerror(err));
		}
	}

	self->path = cg_name_indexed(self->root, "perf_events", getpid());
	self->event_path = cg_name_indexed(variant->v1 ? self->mount : self->root,
					   "perf_events", getpid());
	ASSERT_EQ(0, cg_create(self->path));
	if (variant->v1)
		ASSERT_EQ(0, mkdir(self->event_path, 0755));
	ASSERT_EQ(0, spinner_create(&self->spinner, 0));
}

/*
 * Give perf_event back to cgroup v2. It does not go as long as the memory of a
 * removed cgroup is in use when the hierarchy is unmounted: try again then.
 */
static int unmount_v1(const char *root, const char *path)
{
	int tries = 100;

	while (tries--) {
		if (umount(path))
			return -1;
		usleep(50000);
		if (!cg_read_strstr(root, "cgroup.stat", "nr_subsys_perf_event"))
			return 0;
		if (mount("none", path, "cgroup", 0, "perf_event"))
			return -1;
	}

	umount(path);
	return -1;
}

FIXTURE_TEARDOWN(cgroup_stat)
{
	spinner_destroy(&self->spinner);
	close(self->wide);
	close(self->fd);
	EXPECT_EQ(0, cgroup_remove(self->path));
	if (variant->v1) {
		EXPECT_EQ(0, rmdir(self->event_path));
		EXPECT_EQ(0, unmount_v1(self->root, self->mount));
		EXPECT_EQ(0, rmdir(self->mount));
	}
	free(self->path);
	free(self->event_path);
}

TEST_F(cgroup_stat, outside_and_inside)
{
	struct period period = {};
	struct perf_count count;
	struct range range, usage;
	long usec;

	/* Nothing is read or enabled while a task runs: 1 % and a tick. */
	slack_ns = 4000000;

	self->wide = perf_open(&cpu_clock_disabled, -1, 0, -1, 0);
	ASSERT_LE(0, self->wide);
	self->fd = perf_open_cgroup(&cpu_clock_disabled, self->event_path, 0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, period_begin(&period, self->wide, 0));
	ASSERT_EQ(0, ioctl(self->fd, PERF_EVENT_IOC_ENABLE, 0));

	/* Outside: '<not counted>' and all of the time. */
	ASSERT_EQ(0, spinner_run(&self->spinner, 2 * RUN_MS));
	ASSERT_EQ(0, perf_read(self->fd, &count));
	expect_not_counted(_metadata, &count);
	ASSERT_EQ(0, period_read(&period, self->wide, &count, &range));
	expect_count(_metadata, range, &count);

	/* Inside: the usage of the cgroup and all of the time. */
	ASSERT_EQ(0, cg_enter(self->path, self->spinner.pid));
	if (variant->v1)
		ASSERT_EQ(0, cg_enter(self->event_path, self->spinner.pid));
	usec = cg_read_key_long(self->path, "cpu.stat", "usage_usec ");
	ASSERT_LE(0, usec);
	ASSERT_EQ(0, spinner_run(&self->spinner, 2 * RUN_MS));
	usec = cg_read_key_long(self->path, "cpu.stat", "usage_usec ") - usec;
	usage.min = usec * 1000;
	usage.max = usage.min;
	ASSERT_LE(2 * RUN_MS * 990, usec);
	ASSERT_EQ(0, perf_read(self->fd, &count));
	expect_count(_metadata, usage, &count);
	ASSERT_EQ(0, period_read(&period, self->wide, &count, &range));
	expect_count(_metadata, range, &count);

	/* The same with the cgroup's event gone. */
	close(self->fd);
	self->fd = -1;
	ASSERT_EQ(0, spinner_run(&self->spinner, RUN_MS));
	ASSERT_EQ(0, period_read(&period, self->wide, &count, &range));
	expect_count(_metadata, range, &count);
}

#define main test_main
TEST_HARNESS_MAIN
#undef main
int main(int argc, char *argv[])
{
	/* See enable_on_exec */
	spinner_main(argc, argv);

	return test_main(argc, argv);
}
