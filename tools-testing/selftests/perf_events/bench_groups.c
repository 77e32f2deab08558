// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a switch costs from and to a task with more groups of events than the
 * PMU has room for.
 */

#include <pthread.h>

#include "bench_event.h"

#define GROUP_SIZE	5
#define MAX_EVENTS	(28 * GROUP_SIZE)

struct groups {
	int nr;
	bool mmap;
};

static const struct groups *groups;

/* On this task. */
static void open_groups(int *fd, bool inherit)
{
	struct perf_event_attr attr = bench_attr;
	int i, leader = -1;

	attr.inherit = inherit;
	for (i = 0; i < groups->nr * GROUP_SIZE; i++) {
		if (i % GROUP_SIZE == 0)
			leader = -1;
		fd[i] = bench_open(&attr, 0, -1, leader);
		if (leader < 0)
			leader = fd[i];
		if (groups->mmap && mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
					 MAP_SHARED, fd[i], 0) == MAP_FAILED)
			err(1, "mmap of an event");
	}
}

static void ping_monitored(void *pp)
{
	int fd[MAX_EVENTS];

	open_groups(fd, false);
	bench_ping(pp);
}

static void pong(void *pp)
{
	bench_pong(pp);
}

static unsigned long long run(const void *arg)
{
	struct bench_ping_pong *pp = bench_ping_pong_init();

	groups = arg;
	bench_two_tasks(ping_monitored, pong, pp);
	return bench_ping_pong_done(pp);
}

static void *ping_thread(void *pp)
{
	bench_ping(pp);
	return NULL;
}

static void *pong_thread(void *pp)
{
	bench_pong(pp);
	return NULL;
}

/* Both threads inherit the same, so that a switch can swap their contexts. */
static unsigned long long run_siblings(const void *arg)
{
	struct bench_ping_pong *pp = bench_ping_pong_init();
	int fd[MAX_EVENTS], i;
	pthread_t threads[2];

	groups = arg;
	open_groups(fd, true);
	if (pthread_create(&threads[0], NULL, ping_thread, pp) ||
	    pthread_create(&threads[1], NULL, pong_thread, pp) ||
	    pthread_join(threads[0], NULL) || pthread_join(threads[1], NULL))
		errx(1, "a thread failed");
	for (i = 0; i < groups->nr * GROUP_SIZE; i++)
		close(fd[i]);
	return bench_ping_pong_done(pp);
}

static const struct bench_case cases[] = {
	BENCH_CASE("groups/0", run, groups, 0),
	BENCH_CASE("groups/1", run, groups, 1),
	BENCH_CASE("groups/2", run, groups, 2),
	BENCH_CASE("groups/4", run, groups, 4),
	BENCH_CASE("groups/8", run, groups, 8),
	BENCH_CASE("groups/14", run, groups, 14),
	BENCH_CASE("groups/28", run, groups, 28),
	BENCH_CASE("groups/0-mmap", run, groups, 0, true),
	BENCH_CASE("groups/1-mmap", run, groups, 1, true),
	BENCH_CASE("groups/2-mmap", run, groups, 2, true),
	BENCH_CASE("groups/4-mmap", run, groups, 4, true),
	BENCH_CASE("groups/8-mmap", run, groups, 8, true),
	BENCH_CASE("groups/14-mmap", run, groups, 14, true),
	BENCH_CASE("groups/28-mmap", run, groups, 28, true),
	BENCH_CASE("groups/swap-14", run_siblings, groups, 14),
};

int main(int argc, char **argv)
{
	return bench_event_main(argc, argv, cases, ARRAY_SIZE(cases), bench_set_counters);
}
