/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes that are monitored, and do what a test tells them: each the child
 * of the one before. Between two orders they sleep, and nothing else runs in
 * them, so that a test knows what their events have to count.
 */
#ifndef __PERF_EVENTS_ACTOR_H
#define __PERF_EVENTS_ACTOR_H

#include <errno.h>
#include <stdlib.h>

#include "common.h"

#define NR_ACTORS	3

enum actor_op {
	/* Fork the next one */
	ACTOR_FORK,
	/* Use up so many milliseconds of CPU time */
	ACTOR_BURN,
	/* Sleep so many times */
	ACTOR_SLEEP,
	/* Call actor_probed() so many times */
	ACTOR_CALL,
	/* Make so many ticks of mock0 while on CPU 0 */
	ACTOR_TICK,
	/* Give up all rights */
	ACTOR_NOBODY,
	/* Have an event that is not inherited: no context is a clone of this one */
	ACTOR_NO_CLONE,
};

struct actor_order {
	enum actor_op op;
	int arg;
};

struct actors {
	int orders[NR_ACTORS][2];
	int results[NR_ACTORS][2];
	/* The first one; the others end when their parents do */
	pid_t pid;
};

static volatile int actor_probed_calls;

static __attribute__((noinline)) void actor_probed(void)
{
	actor_probed_calls++;
}

static __attribute__((noreturn)) void actor_run(struct actors *actors, int i);

static inline int actor_fork(struct actors *actors, int i)
{
	pid_t pid = fork();

	if (!pid)
		actor_run(actors, i);
	return pid < 0 ? -errno : 0;
}

static inline int actor_obey(struct actors *actors, int i, const struct actor_order *order)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int n = order->arg;

	switch (order->op) {
	case ACTOR_FORK:
		return actor_fork(actors, i + 1);
	case ACTOR_BURN:
		burn_cpu(n);
		return 0;
	case ACTOR_SLEEP:
		while (n--)
			usleep(1);
		return 0;
	case ACTOR_CALL:
		while (n--)
			actor_probed();
		return 0;
	case ACTOR_TICK:
		return mock_pmu_write("mock0", "tick", "0 %d", n);
	case ACTOR_NOBODY:
		return setresuid(65534, 65534, 65534) ? -errno : 0;
	case ACTOR_NO_CLONE:
		return perf_open(&attr, 0, -1, -1, 0) < 0 ? -errno : 0;
	}
	return -EINVAL;
}

static void actor_run(struct actors *actors, int i)
{
	struct actor_order order;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(actors->orders[i][0], &order, sizeof(order)) == sizeof(order)) {
		ret = actor_obey(actors, i, &order);
		if (write(actors->results[i][1], &ret, sizeof(ret)) != sizeof(ret))
			break;
	}
	_exit(0);
}

/* Let an actor begin with something; actor_result() waits until it is done. */
static inline int actor_tell(struct actors *actors, int i, enum actor_op op, int arg)
{
	struct actor_order order = { .op = op, .arg = arg };

	return write(actors->orders[i][1], &order, sizeof(order)) == sizeof(order) ? 0 : -1;
}

/* 0 or more, or -errno. */
static inline int actor_result(struct actors *actors, int i)
{
	int ret;

	return read(actors->results[i][0], &ret, sizeof(ret)) == sizeof(ret) ? ret : -EPIPE;
}

static inline int actor_do(struct actors *actors, int i, enum actor_op op, int arg)
{
	return actor_tell(actors, i, op, arg) ? -EPIPE : actor_result(actors, i);
}

/* Makes the first one, on CPU 0. */
static inline int actors_create(struct actors *actors)
{
	int i;

	for (i = 0; i < NR_ACTORS; i++) {
		if (pipe(actors->orders[i]) || pipe(actors->results[i]))
			return -1;
	}
	actors->pid = fork();
	if (!actors->pid) {
		if (pin_to_cpu(0))
			_exit(1);
		actor_run(actors, 0);
	}
	return actors->pid < 0 ? -1 : 0;
}

static inline void actors_destroy(struct actors *actors)
{
	int i;

	if (actors->pid <= 0)
		return;
	kill(actors->pid, SIGKILL);
	waitpid(actors->pid, NULL, 0);
	for (i = 0; i < 2 * NR_ACTORS; i++) {
		close(actors->orders[i / 2][i % 2]);
		close(actors->results[i / 2][i % 2]);
	}
	actors->pid = 0;
}

#endif /* __PERF_EVENTS_ACTOR_H */
