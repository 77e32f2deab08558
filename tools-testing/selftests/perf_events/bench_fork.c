// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a new process or thread costs that inherits events: from its creation
 * to its end, its parent's wait for it included.
 */

#include <pthread.h>

#include "bench_event.h"

#define MAX_EVENTS	16
#define LOOPS		200

struct inherited {
	void (*op)(void *arg);
	int nr_events;
	int group_size;
	bool paused;
};

static void fork_and_wait(void *arg)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		err(1, "fork");
	if (!pid)
		_exit(0);
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "a child failed");
}

static void *no_work(void *arg)
{
	return NULL;
}

static void create_and_join(void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, no_work, NULL) || pthread_join(thread, NULL))
		errx(1, "a thread failed");
}

static unsigned long long run(const void *arg)
{
	const struct inherited *c = arg;
	struct perf_event_attr attr = bench_attr;
	int fd[MAX_EVENTS], leader = -1, i;
	unsigned long long ns;

	attr.inherit = 1;
	attr.disabled = c->paused;
	for (i = 0; i < c->nr_events; i++) {
		if (i % c->group_size == 0)
			leader = -1;
		fd[i] = bench_open(&attr, 0, -1, leader);
		if (leader < 0)
			leader = fd[i];
	}

	ns = bench_time(c->op, NULL, LOOPS);

	for (i = 0; i < c->nr_events; i++)
		close(fd[i]);
	return ns;
}

static const struct bench_case cases[] = {
	BENCH_CASE("fork/0", run, inherited, fork_and_wait, 0),
	BENCH_CASE("fork/1", run, inherited, fork_and_wait, 1, 1),
	BENCH_CASE("fork/2", run, inherited, fork_and_wait, 2, 1),
	BENCH_CASE("fork/4", run, inherited, fork_and_wait, 4, 1),
	BENCH_CASE("fork/8", run, inherited, fork_and_wait, 8, 1),
	BENCH_CASE("fork/16", run, inherited, fork_and_wait, 16, 1),
	BENCH_CASE("fork/group-16", run, inherited, fork_and_wait, 16, 4),
	BENCH_CASE("fork/paused-16", run, inherited, fork_and_wait, 16, 1, true),
	BENCH_CASE("thread/0", run, inherited, create_and_join, 0),
	BENCH_CASE("thread/16", run, inherited, create_and_join, 16, 1),
};

int main(int argc, char **argv)
{
	return bench_event_main(argc, argv, cases, ARRAY_SIZE(cases), NULL);
}
