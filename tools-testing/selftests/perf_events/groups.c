// SPDX-License-Identifier: GPL-2.0-only
/*
 * More groups of events than the PMU has room for: each of them must get its
 * turn, what needs no turn must not wait, and the times must be right, also as
 * seen in the page that an event is mapped to.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <sys/ioctl.h>
#include <sys/resource.h>

#include "common.h"
#include "kselftest_harness.h"

#define GROUP_SIZE	5
/* Room for one group, not for two */
#define COUNTERS	7
#define MAX_GROUPS	28
#define MAX_EVENTS	(MAX_GROUPS * GROUP_SIZE)

#define CPU		0

/* Rounding in the conversion of cycles, and what the reader itself takes */
#define SLACK_NS	1000

struct event {
	int fd;
	struct perf_event_mmap_page *page;
};

struct event_set {
	struct event events[MAX_EVENTS];
	int nr;
};

FIXTURE(groups)
{
	char counters[16];
	bool changed;
	struct event_set set;
	struct spinner spinner;
};

FIXTURE_SETUP(groups)
{
	const char *missing = mock_pmu_missing();

	if (missing)
		SKIP(return, "%s", missing);

	ASSERT_EQ(0, mock_pmu_read("mock0", "counters", self->counters,
				   sizeof(self->counters)));
	ASSERT_EQ(0, mock_pmu_write("mock0", "counters", "%d", COUNTERS));
	self->changed = true;
	ASSERT_EQ(0, pin_to_cpu(CPU));
}

FIXTURE_TEARDOWN(groups)
{
	int i;

	spinner_destroy(&self->spinner);
	for (i = 0; i < self->set.nr; i++) {
		if (self->set.events[i].page)
			munmap(self->set.events[i].page, sysconf(_SC_PAGESIZE));
		close(self->set.events[i].fd);
	}
	if (self->changed)
		mock_pmu_write("mock0", "counters", "%s", self->counters);
}

static struct event *open_event(struct event_set *set, struct perf_event_attr *attr,
				pid_t pid, const struct event *leader)
{
	struct event *event = &set->events[set->nr];

	attr->read_format = PERF_COUNT_FORMAT;
	event->page = NULL;
	event->fd = perf_open(attr, pid, -1, leader ? leader->fd : -1, 0);
	if (event->fd < 0)
		return NULL;
	set->nr++;
	return event;
}

static int map_event(struct event *event)
{
	void *page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, event->fd, 0);

	if (page == MAP_FAILED)
		return -1;
	event->page = page;
	return 0;
}

enum which { NONE, SIBLINGS, ALL };

/* Groups of @size on task @pid, with @mapped of each group mapped here. */
static struct event *open_groups(struct event_set *set, pid_t pid, int nr, int size,
				 enum which mapped)
{
	struct perf_event_attr attr = { .type = mock_pmu_type("mock0") };
	struct event *first = &set->events[set->nr], *leader = NULL, *event;
	int i;

	for (i = 0; i < nr * size; i++) {
		if (i % size == 0)
			leader = NULL;
		event = open_event(set, &attr, pid, leader);
		if (!event)
			return NULL;
		if ((mapped == ALL || (mapped == SIBLINGS && leader)) && map_event(event))
			return NULL;
		if (!leader)
			leader = event;
	}

	return first;
}

/* The clock that user pages are about, 0 if it is not known here */
static inline __u64 read_cycles(void)
{
#ifdef __x86_64__
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	__u64 cycles;

	asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r" (cycles) : : "memory");
	return cycles;
#else
	return 0;
#endif
}

static bool page_has_time(const struct event *event)
{
	return event->page->cap_user_time && read_cycles();
}

/* What struct perf_event_mmap_page tells a task to do. */
static void read_page(const struct event *event, struct perf_count *count)
{
	const struct perf_event_mmap_page *page = event->page;
	__u64 cycles, offset, mult, quot, rem, delta;
	__u32 seq, index;
	__u16 shift;

	do {
		seq = __atomic_load_n(&page->lock, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		count->enabled = page->time_enabled;
		count->running = page->time_running;
		cycles = read_cycles();
		offset = page->time_offset;
		mult = page->time_mult;
		shift = page->time_shift;
		if (page->cap_user_time_short)
			cycles = page->time_cycles +
				 ((cycles - page->time_cycles) & page->time_mask);
		index = page->index;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) != seq);

	if (count->enabled == count->running)
		return;

	quot = cycles >> shift;
	rem = cycles & (((__u64)1 << shift) - 1);
	delta = offset + quot * mult + ((rem * mult) >> shift);
	count->enabled += delta;
	if (index)
		count->running += delta;
}

/* How many of the mapped events of this task tell other times than the kernel. */
static int wrong_pages(const struct event *events, int nr)
{
	struct perf_count before, page, after;
	int i, wrong = 0;

	for (i = 0; i < nr; i++) {
		if (!events[i].page)
			continue;
		if (perf_read(events[i].fd, &before))
			return -1;
		read_page(&events[i], &page);
		if (perf_read(events[i].fd, &after))
			return -1;
		/* There the time of the page does not go on. */
		if (page.enabled == page.running)
			continue;
		/* Without an index, it is unknown that an event runs. */
		if (before.running != after.running)
			before.running = 0;
		if (page.enabled + SLACK_NS < before.enabled ||
		    page.enabled > after.enabled + SLACK_NS ||
		    page.running < before.running ||
		    page.running > after.running + SLACK_NS) {
			if (!wrong)
				ksft_print_msg("%d: enabled %lld of %lld, running %lld of %lld\n",
					       i, page.enabled - before.enabled,
					       after.enabled - before.enabled,
					       page.running - before.running,
					       after.running - before.running);
			wrong++;
		}
	}

	return wrong;
}

/* Run, sleep and look, often enough to see each group in and out of its turn. */
static int wrong_pages_of_rounds(const struct event *events, int nr, int rounds)
{
	int i, ret, wrong = 0;

	for (i = 0; i < rounds; i++) {
		burn_cpu(3);
		usleep(5000);
		ret = wrong_pages(events, nr);
		if (ret < 0)
			return ret;
		wrong += ret;
	}

	return wrong;
}

/*
 * The time that this task sleeps is no time of its events, so the page of each
 * event has to follow, whether it is on the PMU or waits.
 */
TEST_F(groups, page_all)
{
	struct event *events = open_groups(&self->set, 0, 6, GROUP_SIZE, ALL);

	ASSERT_NE(NULL, events);
	if (!page_has_time(events))
		SKIP(return, "no clock that user space can read");
	EXPECT_EQ(0, wrong_pages_of_rounds(events, self->set.nr, 20));
}

/* The same where the leader is not mapped. */
TEST_F(groups, page_siblings)
{
	struct event *events = open_groups(&self->set, 0, 4, GROUP_SIZE, SIBLINGS);

	ASSERT_NE(NULL, events);
	if (!page_has_time(events + 1))
		SKIP(return, "no clock that user space can read");
	EXPECT_EQ(0, wrong_pages_of_rounds(events, self->set.nr, 20));
}

/* An event that cannot run yet when it is enabled, and software events in its group. */
TEST_F(groups, page_enabled_late)
{
	struct perf_event_attr attr = { .type = mock_pmu_type("mock0"), .disabled = 1 };
	struct perf_event_attr sw = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
	};
	struct event *events = open_groups(&self->set, 0, 3, GROUP_SIZE, ALL), *leader, *event;
	int i;

	ASSERT_NE(NULL, events);
	if (!page_has_time(events))
		SKIP(return, "no clock that user space can read");

	leader = open_event(&self->set, &attr, 0, NULL);
	ASSERT_NE(NULL, leader);
	ASSERT_EQ(0, map_event(leader));
	attr.disabled = 0;
	for (i = 1; i < GROUP_SIZE; i++) {
		event = open_event(&self->set, &attr, 0, leader);
		ASSERT_NE(NULL, event);
		ASSERT_EQ(0, map_event(event));
	}
	event = open_event(&self->set, &sw, 0, leader);
	ASSERT_NE(NULL, event);
	ASSERT_EQ(0, map_event(event));

	for (i = 0; i < 8; i++) {
		burn_cpu(1);
		usleep(3000);
		ASSERT_EQ(0, ioctl(leader->fd, PERF_EVENT_IOC_ENABLE, 0));
		EXPECT_EQ(0, wrong_pages_of_rounds(events, self->set.nr, 2));
		ASSERT_EQ(0, ioctl(leader->fd, PERF_EVENT_IOC_DISABLE, 0));
	}
}

struct thread {
	pthread_t thread;
	pthread_barrier_t barrier;
	pid_t tid;
	struct event *events;
	int nr;
	int wrong;
};

static void *read_own_pages(void *arg)
{
	struct thread *thread = arg;

	thread->tid = syscall(__NR_gettid);
	pthread_barrier_wait(&thread->barrier);
	/* The events are opened. */
	pthread_barrier_wait(&thread->barrier);
	if (thread->events && page_has_time(thread->events))
		thread->wrong = wrong_pages_of_rounds(thread->events, thread->nr, 20);
	return NULL;
}

/* Another thread has opened and mapped the events; it is all one address space. */
TEST_F(groups, page_thread)
{
	struct thread thread = {};
	struct event *events;

	ASSERT_EQ(0, pthread_barrier_init(&thread.barrier, NULL, 2));
	ASSERT_EQ(0, pthread_create(&thread.thread, NULL, read_own_pages, &thread));
	pthread_barrier_wait(&thread.barrier);
	events = open_groups(&self->set, thread.tid, 3, GROUP_SIZE, ALL);
	thread.events = events;
	thread.nr = self->set.nr;
	pthread_barrier_wait(&thread.barrier);
	ASSERT_EQ(0, pthread_join(thread.thread, NULL));
	ASSERT_NE(NULL, events);
	if (!page_has_time(events))
		SKIP(return, "no clock that user space can read");
	EXPECT_EQ(0, thread.wrong);
}

/* A second address space that maps an event takes nothing away from the first. */
TEST_F(groups, page_shared)
{
	struct event *events = open_groups(&self->set, 0, 3, GROUP_SIZE, ALL);
	int ready[2], status;
	pid_t pid;
	char c;

	ASSERT_NE(NULL, events);
	if (!page_has_time(events))
		SKIP(return, "no clock that user space can read");

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c = map_event(&events[0]) ? 'n' : 'y';
		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ('y', c);
	EXPECT_EQ(0, wrong_pages_of_rounds(events, self->set.nr, 20));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(ready[0]);
	close(ready[1]);
}

/*
 * Whoever monitors another task has to ask with read(): in a page the time does
 * not stop where the task stops. But what is in the page is never ahead, and how
 * long the event was on the PMU is always right.
 */
TEST_F(groups, page_of_other_task)
{
	struct perf_count count;
	struct event *events;
	int round, i;

	ASSERT_EQ(0, spinner_create(&self->spinner, CPU));
	events = open_groups(&self->set, self->spinner.pid, 3, GROUP_SIZE, ALL);
	ASSERT_NE(NULL, events);

	for (round = 0; round < 10; round++) {
		ASSERT_EQ(0, spinner_run(&self->spinner, 5));
		for (i = 0; i < self->set.nr; i++) {
			ASSERT_EQ(0, perf_read(events[i].fd, &count));
			EXPECT_EQ(count.running, events[i].page->time_running);
			EXPECT_GE(count.enabled, events[i].page->time_enabled);
			EXPECT_LE(count.running, events[i].page->time_enabled);
		}
	}
}

static int compare_u64(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

static __u64 median(__u64 *values, int nr)
{
	qsort(values, nr, sizeof(*values), compare_u64);
	return values[nr / 2];
}

#define TURNS	15
/* No kernel needs that much CPU time for them. */
#define MAX_TURNS_NS	20000000000ULL

struct turns {
	/* What the page of a group's leader told, now and when its turn began */
	__u64 last[MAX_GROUPS];
	__u64 begin[MAX_GROUPS];
	__u64 len[MAX_GROUPS][TURNS];
	int nr[MAX_GROUPS];
	bool on[MAX_GROUPS];
};

static bool has_turn(const struct event *leader)
{
	struct perf_count before, after;

	return !perf_read(leader->fd, &before) && !perf_read(leader->fd, &after) &&
	       before.running != after.running;
}

/*
 * When an event goes on the PMU or off, its page tells how long it has been
 * there. Between two looks, there can have been more than one rotation.
 */
static void watch_turns(const struct event *events, struct turns *turns)
{
	bool rotated = false;
	int i;

	for (i = 0; i < MAX_GROUPS; i++) {
		__u64 now = __atomic_load_n(&events[i * GROUP_SIZE].page->time_running,
					    __ATOMIC_RELAXED);

		if (now == turns->last[i])
			continue;
		if (!turns->on[i]) {
			turns->on[i] = true;
			turns->begin[i] = turns->last[i];
			rotated = true;
		}
		turns->last[i] = now;
	}

	for (i = 0; rotated && i < MAX_GROUPS; i++) {
		if (!turns->on[i] || has_turn(&events[i * GROUP_SIZE]))
			continue;
		turns->on[i] = false;
		turns->last[i] = events[i * GROUP_SIZE].page->time_running;
		if (turns->nr[i] < TURNS)
			turns->len[i][turns->nr[i]++] = turns->last[i] - turns->begin[i];
	}
}

static bool turns_done(const struct turns *turns)
{
	int i;

	for (i = 0; i < MAX_GROUPS && turns->nr[i] < TURNS; i++)
		;
	return i < MAX_GROUPS;
}

/* Let all of %MAX_GROUPS groups have their turns, the same number of them each. */
static struct turns *watch_all_turns(struct __test_metadata *_metadata, struct event_set *set)
{
	struct turns *turns = calloc(1, sizeof(*turns));
	struct event *events;
	__u64 end;
	int i;

	ASSERT_NE(NULL, turns);
	events = open_groups(set, 0, MAX_GROUPS, GROUP_SIZE, ALL);
	ASSERT_NE(NULL, events);
	for (i = 0; i < MAX_GROUPS; i++)
		turns->last[i] = events[i * GROUP_SIZE].page->time_running;

	end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + MAX_TURNS_NS;
	while (!turns_done(turns) && clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		watch_turns(events, turns);
	ASSERT_TRUE(turns_done(turns));

	for (i = 0; i < MAX_GROUPS; i++)
		ASSERT_LE(TURNS - 2, turns->nr[i]);
	return turns;
}

/* All groups have the same number of turns, however long these are. */
TEST_F(groups, rotation_fair)
{
	free(watch_all_turns(_metadata, &self->set));
}

/*
 * All groups are on the PMU for the same time. A turn ends with a timer, and where
 * another machine has the processor now and then, that is late: the longest turn
 * of each group does not count, and if there are more of these in too many groups,
 * this is to be run where nothing disturbs the clock. The shortest one does not
 * count either.
 */
TEST_F(groups, rotation_time)
{
	struct turns *turns = watch_all_turns(_metadata, &self->set);
	__u64 all[MAX_GROUPS * TURNS], sum[MAX_GROUPS] = {}, mean = 0, len;
	const int used = TURNS - 2;
	int i, j, irregular = 0, nr = 0;

	for (i = 0; i < MAX_GROUPS; i++) {
		qsort(turns->len[i], used, sizeof(turns->len[i][0]), compare_u64);
		for (j = 1; j < used - 1; j++) {
			all[nr++] = turns->len[i][j];
			sum[i] += turns->len[i][j];
		}
		mean += sum[i] / MAX_GROUPS;
	}

	len = median(all, nr);
	for (i = 0; i < MAX_GROUPS; i++)
		irregular += turns->len[i][1] < len * 9 / 10 ||
			     turns->len[i][used - 2] > len * 11 / 10;
	free(turns);
	if (irregular > MAX_GROUPS / 10)
		SKIP(return, "in %d groups not all turns took about %lld ns", irregular, len);

	for (i = 0; i < MAX_GROUPS; i++) {
		EXPECT_LE(mean * 9 / 10, sum[i]);
		EXPECT_GE(mean * 11 / 10, sum[i]);
	}
}

/* All events of a group have the times of their leader, in each of many groups. */
TEST_F(groups, sums)
{
	__u64 sum = 0, enabled = 0;
	struct perf_count leader = {}, count;
	struct event *events;
	int i;

	ASSERT_EQ(0, spinner_create(&self->spinner, CPU));
	events = open_groups(&self->set, self->spinner.pid, MAX_GROUPS, GROUP_SIZE, NONE);
	ASSERT_NE(NULL, events);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, spinner_run(&self->spinner, 7));

	for (i = 0; i < MAX_EVENTS; i++) {
		ASSERT_EQ(0, perf_read(events[i].fd, &count));
		if (i % GROUP_SIZE == 0) {
			leader = count;
			sum += count.running;
			if (i)
				EXPECT_EQ(enabled, count.enabled);
			enabled = count.enabled;
		} else {
			EXPECT_EQ(leader.enabled, count.enabled);
			EXPECT_EQ(leader.running, count.running);
		}
	}
	EXPECT_EQ(enabled, sum);
}

/* What needs no counter of the PMU that is full does not wait for one. */
TEST_F(groups, others_not_starved)
{
	struct perf_event_attr sw = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
	};
	struct perf_event_attr other = { .type = mock_pmu_type("mock1") };
	struct event *events, *event, *leader = NULL;
	struct perf_count count;
	int first, i;

	ASSERT_EQ(0, spinner_create(&self->spinner, CPU));
	events = open_groups(&self->set, self->spinner.pid, 8, GROUP_SIZE, NONE);
	ASSERT_NE(NULL, events);
	first = self->set.nr;
	/* A group, a single one, and another PMU */
	for (i = 0; i < 3; i++) {
		event = open_event(&self->set, &sw, self->spinner.pid, leader);
		ASSERT_NE(NULL, event);
		leader = i ? NULL : event;
	}
	ASSERT_NE(NULL, open_event(&self->set, &other, self->spinner.pid, NULL));

	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, spinner_run(&self->spinner, 7));

	for (i = first; i < self->set.nr; i++) {
		ASSERT_EQ(0, perf_read(self->set.events[i].fd, &count));
		EXPECT_NE(0, count.running);
		EXPECT_EQ(count.enabled, count.running);
	}
}

/* A pinned group that finds no room is in ERROR, all of them: read() says EOF. */
TEST_F(groups, pinned_error)
{
	struct perf_event_attr attr = { .type = mock_pmu_type("mock0"), .pinned = 1 };
	struct event *leader, *event, *leaders[20];
	struct perf_count count;
	int i, j;

	ASSERT_EQ(0, spinner_create(&self->spinner, CPU));
	for (i = 0; i < ARRAY_SIZE(leaders); i++) {
		attr.pinned = 1;
		leader = open_event(&self->set, &attr, self->spinner.pid, NULL);
		ASSERT_NE(NULL, leader);
		leaders[i] = leader;
		attr.pinned = 0;
		for (j = 1; j < GROUP_SIZE; j++) {
			event = open_event(&self->set, &attr, self->spinner.pid, leader);
			ASSERT_NE(NULL, event);
		}
	}
	/* All of them are tried at the first switch to the task. */
	ASSERT_EQ(0, spinner_run(&self->spinner, 1));

	EXPECT_EQ(sizeof(count), read(leaders[0]->fd, &count, sizeof(count)));
	EXPECT_EQ(count.enabled, count.running);
	for (i = 1; i < ARRAY_SIZE(leaders); i++)
		EXPECT_EQ(0, read(leaders[i]->fd, &count, sizeof(count)));
}

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/*
 * A switch puts on one group, tries one more, and takes off what is on the PMU:
 * the number of groups that wait changes nothing.
 */
TEST_F(groups, switch_calls)
{
	const int groups[] = { 2, MAX_GROUPS - 2 };
	long begin, nr, adds, dels;
	int i, n;

	for (n = 0; n < ARRAY_SIZE(groups); n++) {
		ASSERT_NE(NULL, open_groups(&self->set, 0, groups[n], GROUP_SIZE, NONE));
		ASSERT_EQ(0, mock_pmu_write("mock0", "calls", "0"));
		begin = switches();
		for (i = 0; i < 300; i++)
			usleep(50);
		adds = mock_pmu_calls("mock0", "add");
		dels = mock_pmu_calls("mock0", "del");
		nr = switches() - begin;
		/* Rotations add some. */
		EXPECT_LT(100, nr);
		EXPECT_GE(nr * 2 * GROUP_SIZE * 3 / 2, adds);
		EXPECT_GE(nr * 2 * GROUP_SIZE * 3 / 2, dels);
	}
}

int main(int argc, char **argv)
{
	spinner_main(argc, argv);
	return test_harness_run(argc, argv);
}
