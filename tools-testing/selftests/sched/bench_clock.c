// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a switch of one task to another costs, by the way it comes about.
 */

#include <sys/prctl.h>

#include "../perf_events/bench.h"

#define NR_SLEEPS	501
#define SLEEP_NS	1000000
#define YIELD_LOOPS	2000

static void ping(void *pp)
{
	bench_ping(pp);
}

static void pong(void *pp)
{
	bench_pong(pp);
}

static void pong_fifo(void *pp)
{
	struct sched_param param = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		err(KSFT_SKIP, "SCHED_FIFO");
	bench_pong(pp);
}

static unsigned long long fair_wake(const void *arg)
{
	struct bench_ping_pong *pp = bench_ping_pong_init();

	bench_two_tasks(ping, pong, pp);
	return bench_ping_pong_done(pp);
}

/* Half of the switches preempt a waker, the other half follow a sleep. */
static unsigned long long rt_wake(const void *arg)
{
	struct bench_ping_pong *pp = bench_ping_pong_init();

	bench_two_tasks(ping, pong_fifo, pp);
	return bench_ping_pong_done(pp);
}

/* From the moment that a timer wakes a task on the idle CPU until it runs. */
static unsigned long long idle_wake(const void *arg)
{
	unsigned long long late[NR_SLEEPS], until;
	struct timespec ts;
	int i;

	if (prctl(PR_SET_TIMERSLACK, 1))
		err(1, "PR_SET_TIMERSLACK");

	for (i = 0; i < NR_SLEEPS; i++) {
		until = bench_now() + SLEEP_NS;
		ts.tv_sec = until / 1000000000;
		ts.tv_nsec = until % 1000000000;
		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
			errx(1, "clock_nanosleep");
		late[i] = bench_now() - until;
	}

	return bench_median(late, NR_SLEEPS);
}

struct yielders {
	unsigned long turns;
	bool done;
	unsigned long long ns;
};

/* Until the other one has been there. */
static void yield_turn(void *arg)
{
	struct yielders *y = arg;
	unsigned long turns = __atomic_load_n(&y->turns, __ATOMIC_RELAXED);

	do {
		sched_yield();
	} while (__atomic_load_n(&y->turns, __ATOMIC_RELAXED) == turns);
}

static void yield_measured(void *arg)
{
	struct yielders *y = arg;

	y->ns = bench_time(yield_turn, y, YIELD_LOOPS) / 2;
	__atomic_store_n(&y->done, true, __ATOMIC_RELEASE);
}

static void yield_back(void *arg)
{
	struct yielders *y = arg;

	while (!__atomic_load_n(&y->done, __ATOMIC_ACQUIRE)) {
		__atomic_add_fetch(&y->turns, 1, __ATOMIC_RELAXED);
		sched_yield();
	}
}

static unsigned long long yield(const void *arg)
{
	struct yielders *y = bench_shared(sizeof(*y));

	bench_two_tasks(yield_measured, yield_back, y);
	return y->ns;
}

static const struct bench_case cases[] = {
	{ .name = "clock/fair-wake", .run = fair_wake },
	{ .name = "clock/rt-wake", .run = rt_wake },
	{ .name = "clock/idle-wake", .run = idle_wake },
	{ .name = "clock/yield", .run = yield },
};

int main(int argc, char **argv)
{
	if (argc > 1 && argv[1][0] == '-') {
		fprintf(stderr, "usage: %s [CASE...]\ncases:", argv[0]);
		bench_list(cases, ARRAY_SIZE(cases));
		return 1;
	}

	return bench_main(argv + 1, cases, ARRAY_SIZE(cases), "");
}
