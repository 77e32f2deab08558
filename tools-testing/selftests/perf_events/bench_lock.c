// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two threads that hand a lock to and fro, each parked while the other one has
 * it, with more groups of events on them than the PMU has room for: what a hand
 * over costs, and how many samples come of events with a frequency.
 */

#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "bench_event.h"

#define GROUP_SIZE	5
#define MAX_EVENTS	(14 * GROUP_SIZE)
#define HAND_OVERS	2000

#define FREQ		4000
#define DATA_PAGES	1024
#define WARM_UP_MS	100
#define SAMPLE_MS	1000

struct lock_case {
	int groups;
	bool freq;
	bool rate;
};

static const struct lock_case *lock_case;

static struct {
	/* Who may take the lock */
	uint32_t turn;
	bool done;
	unsigned long parks[2];
	unsigned long long result;
} lock;

struct events {
	int fd[MAX_EVENTS];
	int nr;
	struct perf_event_mmap_page *page;
	__u64 tail;
};

static void take_turn(uint32_t me)
{
	while (__atomic_load_n(&lock.turn, __ATOMIC_ACQUIRE) != me) {
		lock.parks[me]++;
		syscall(__NR_futex, &lock.turn, FUTEX_WAIT_PRIVATE, !me, NULL, NULL, 0);
	}
}

static void pass_turn(uint32_t me)
{
	__atomic_store_n(&lock.turn, !me, __ATOMIC_RELEASE);
	syscall(__NR_futex, &lock.turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* With the lock, so that software events have something to count as well. */
static void work(void)
{
	static char *page;
	size_t size = sysconf(_SC_PAGESIZE);

	if (!page)
		page = bench_shared(size);
	madvise(page, size, MADV_DONTNEED);
	__atomic_store_n(page, 1, __ATOMIC_RELAXED);
}

static void hand_over(void *arg)
{
	take_turn(0);
	work();
	pass_turn(0);
}

/* On this thread. What samples does so to one buffer. */
static void open_events(struct events *events)
{
	struct perf_event_attr attr, leader_attr;
	size_t size = sysconf(_SC_PAGESIZE);
	int i, leader = -1;

	attr = bench_attr;
	attr.read_format = PERF_COUNT_FORMAT;
	if (lock_case->freq && !bench_mock) {
		attr.freq = 1;
		attr.sample_freq = FREQ;
		attr.sample_type = PERF_SAMPLE_PERIOD;
	}
	leader_attr = attr;
	if (lock_case->freq && bench_mock) {
		/* The time of the mock PMU takes no samples, page faults do. */
		leader_attr.type = PERF_TYPE_SOFTWARE;
		leader_attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
		leader_attr.freq = 1;
		leader_attr.sample_freq = FREQ;
		leader_attr.sample_type = PERF_SAMPLE_PERIOD;
	}

	for (i = 0; i < lock_case->groups * GROUP_SIZE; i++) {
		if (i % GROUP_SIZE == 0)
			leader = -1;
		events->fd[i] = bench_open(leader < 0 ? &leader_attr : &attr, 0, -1, leader);
		if (leader < 0)
			leader = events->fd[i];
		if (!lock_case->freq)
			continue;
		if (i) {
			if (ioctl(events->fd[i], PERF_EVENT_IOC_SET_OUTPUT, events->fd[0]))
				err(1, "output of an event");
			continue;
		}
		events->page = mmap(NULL, (DATA_PAGES + 1) * size, PROT_READ | PROT_WRITE,
				    MAP_SHARED, events->fd[0], 0);
		if (events->page == MAP_FAILED)
			err(1, "mmap of an event");
	}
	events->nr = i;
	events->tail = 0;
}

static void close_events(struct events *events)
{
	if (lock_case->freq)
		munmap(events->page, (DATA_PAGES + 1) * sysconf(_SC_PAGESIZE));
	while (events->nr)
		close(events->fd[--events->nr]);
}

/* How many samples there are since the last call, also those that were lost. */
static unsigned long long samples(struct events *events)
{
	size_t size = sysconf(_SC_PAGESIZE);
	char *data = (char *)events->page + size;
	unsigned long long nr = 0;
	__u64 head;

	head = __atomic_load_n(&events->page->data_head, __ATOMIC_ACQUIRE);
	while (events->tail < head) {
		/* Records consist of whole words, so none of these is split. */
		__u64 *record = (__u64 *)(data + events->tail % (DATA_PAGES * size));
		struct perf_event_header *header = (struct perf_event_header *)record;

		if (header->type == PERF_RECORD_SAMPLE)
			nr++;
		if (header->type == PERF_RECORD_LOST)
			nr += *(__u64 *)(data + (events->tail + 16) % (DATA_PAGES * size));
		events->tail += header->size;
	}
	__atomic_store_n(&events->page->data_tail, head, __ATOMIC_RELEASE);
	return nr;
}

/* How long the events that sample have been on the PMU, all together. */
static unsigned long long running(const struct events *events)
{
	unsigned long long sum = 0;
	struct perf_count count;
	int i;

	for (i = 0; i < events->nr; i++) {
		if (bench_mock && i % GROUP_SIZE)
			continue;
		if (perf_read(events->fd[i], &count))
			err(1, "read of an event");
		sum += count.running;
	}
	return sum;
}

static void hand_over_for(unsigned int ms)
{
	__u64 end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000ULL;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		hand_over(NULL);
}

/* Samples in a second that an event is on the PMU, after a while: FREQ is right. */
static unsigned long long sample_rate(struct events *events)
{
	unsigned long long begin, nr = 0;
	int i;

	hand_over_for(WARM_UP_MS);
	samples(events);
	begin = running(events);
	for (i = 0; i < 10; i++) {
		hand_over_for(SAMPLE_MS / 10);
		nr += samples(events);
	}
	return nr * 1000000000ULL / (running(events) - begin);
}

static void *first_thread(void *arg)
{
	static struct events events;

	open_events(&events);
	if (lock_case->rate)
		lock.result = sample_rate(&events);
	else
		/* There and back are two. */
		lock.result = bench_time(hand_over, NULL, HAND_OVERS) / 2;
	take_turn(0);
	lock.done = true;
	pass_turn(0);
	close_events(&events);
	return NULL;
}

static void *second_thread(void *arg)
{
	static struct events events;

	/* None of the two has inherited anything: a switch swaps no contexts. */
	open_events(&events);
	for (;;) {
		take_turn(1);
		if (lock.done)
			break;
		if (lock_case->freq)
			samples(&events);
		pass_turn(1);
	}
	close_events(&events);
	return NULL;
}

static unsigned long long run(const void *arg)
{
	pthread_t threads[2];

	lock_case = arg;
	memset(&lock, 0, sizeof(lock));
	if (pthread_create(&threads[0], NULL, first_thread, NULL) ||
	    pthread_create(&threads[1], NULL, second_thread, NULL) ||
	    pthread_join(threads[0], NULL) || pthread_join(threads[1], NULL))
		errx(1, "a thread failed");
	if (!lock.parks[0] || !lock.parks[1])
		errx(1, "nobody had to wait for the lock");
	return lock.result;
}

static const struct bench_case cases[] = {
	BENCH_CASE("lock/0", run, lock_case, 0),
	BENCH_CASE("lock/1", run, lock_case, 1),
	BENCH_CASE("lock/2", run, lock_case, 2),
	BENCH_CASE("lock/14", run, lock_case, 14),
	BENCH_CASE("lock/1-freq", run, lock_case, 1, true),
	BENCH_CASE("lock/14-freq", run, lock_case, 14, true),
	BENCH_CASE_OF("samples", "lock/1-samples", run, lock_case, 1, true, true),
	BENCH_CASE_OF("samples", "lock/14-samples", run, lock_case, 14, true, true),
};

int main(int argc, char **argv)
{
	return bench_event_main(argc, argv, cases, ARRAY_SIZE(cases), bench_set_counters);
}
