/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What benchmarks share: cases with names, the time that an operation takes,
 * and two tasks that take turns.
 *
 * A benchmark prints a line for each case: its name, a figure, the unit. Exit
 * status 1 is an error, KSFT_SKIP that something is missing here.
 */
#ifndef __PERF_EVENTS_BENCH_H
#define __PERF_EVENTS_BENCH_H

#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

#include "kselftest.h"

#define BENCH_ROUNDS	5

struct bench_case {
	const char *name;
	/* Returns how many nanoseconds one operation takes */
	unsigned long long (*run)(const void *arg);
	const void *arg;
	/* If it returns something else: what */
	const char *unit;
};

#define BENCH_CASE(_name, _run, _type, ...) \
	{ .name = _name, .run = _run, .arg = &(const struct _type){ __VA_ARGS__ } }

#define BENCH_CASE_OF(_unit, _name, _run, _type, ...) \
	{ .name = _name, .run = _run, .arg = &(const struct _type){ __VA_ARGS__ }, .unit = _unit }

static inline unsigned long long bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a, y = *(const unsigned long long *)b;

	return x < y ? -1 : x > y;
}

static inline unsigned long long bench_median(unsigned long long *ns, int nr)
{
	qsort(ns, nr, sizeof(*ns), bench_compare);
	return ns[nr / 2];
}

/* The median of a few rounds, so that a disturbance of one does not count. */
static inline unsigned long long bench_time(void (*op)(void *arg), void *arg, int loops)
{
	unsigned long long ns[BENCH_ROUNDS], start;
	int round, i;

	/* The first round only warms up. */
	for (round = -1; round < BENCH_ROUNDS; round++) {
		start = bench_now();
		for (i = 0; i < loops; i++)
			op(arg);
		if (round >= 0)
			ns[round] = (bench_now() - start) / loops;
	}

	return bench_median(ns, BENCH_ROUNDS);
}

/* Memory that tasks share over fork(). */
static inline void *bench_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

/*
 * Run both functions, each in a process of its own. They return when they are
 * done; it is an error of the benchmark if one of them fails.
 */
static inline void bench_two_tasks(void (*first)(void *arg), void (*second)(void *arg),
				   void *arg)
{
	int i, status;
	pid_t pid[2];

	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			err(1, "fork");
		if (!pid[i]) {
			i ? second(arg) : first(arg);
			_exit(0);
		}
	}

	for (i = 0; i < 2; i++) {
		pid_t done = wait(&status);

		if (!status)
			continue;
		/* The other one would wait for ever. */
		if (!i)
			kill(done == pid[0] ? pid[1] : pid[0], SIGKILL);
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
}

/* Two tasks that wake each other through pipes. */
struct bench_ping_pong {
	int ping[2];
	int pong[2];
	unsigned long long ns;
};

#define BENCH_PING_PONG_LOOPS	2000

static inline struct bench_ping_pong *bench_ping_pong_init(void)
{
	struct bench_ping_pong *pp = bench_shared(sizeof(*pp));

	if (pipe(pp->ping) || pipe(pp->pong))
		err(1, "pipe");
	return pp;
}

static inline unsigned long long bench_ping_pong_done(struct bench_ping_pong *pp)
{
	unsigned long long ns = pp->ns;
	int i;

	for (i = 0; i < 2; i++) {
		close(pp->ping[i]);
		close(pp->pong[i]);
	}
	munmap(pp, sizeof(*pp));
	return ns;
}

static inline void bench_to_and_fro(void *arg)
{
	struct bench_ping_pong *pp = arg;
	char c = 1;

	if (write(pp->ping[1], &c, 1) != 1 || read(pp->pong[0], &c, 1) != 1)
		err(1, "pipe");
}

/* The task that measures. */
static inline void bench_ping(struct bench_ping_pong *pp)
{
	char end = 0;

	/* There and back are two switches. */
	pp->ns = bench_time(bench_to_and_fro, pp, BENCH_PING_PONG_LOOPS) / 2;
	if (write(pp->ping[1], &end, 1) != 1)
		err(1, "pipe");
}

/* The other task. */
static inline void bench_pong(struct bench_ping_pong *pp)
{
	char c;

	while (read(pp->ping[0], &c, 1) == 1 && c) {
		if (write(pp->pong[1], &c, 1) != 1)
			err(1, "pipe");
	}
}

static inline const char *bench_unit(const struct bench_case *c)
{
	return c->unit ? c->unit : "ns";
}

static inline void bench_list(const struct bench_case *cases, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		fprintf(stderr, " %s", cases[i].name);
	fprintf(stderr, "\n");
}

static inline bool bench_wanted(char **names, const char *name)
{
	if (!*names)
		return true;
	for (; *names; names++) {
		if (!strcmp(*names, name))
			return true;
	}
	return false;
}

static inline void bench_check_names(char **names, const struct bench_case *cases, int nr)
{
	int i;

	for (; *names; names++) {
		for (i = 0; i < nr && strcmp(*names, cases[i].name); i++)
			;
		if (i == nr)
			errx(1, "there is no case '%s'", *names);
	}
}

/* Run the cases that are named on the command line, or all; all on one CPU. */
static inline int bench_main(char **names, const struct bench_case *cases, int nr,
			     const char *suffix)
{
	cpu_set_t cpu0;
	int i;

	bench_check_names(names, cases, nr);

	CPU_ZERO(&cpu0);
	CPU_SET(0, &cpu0);
	if (sched_setaffinity(0, sizeof(cpu0), &cpu0))
		err(KSFT_SKIP, "cannot run on CPU 0");

	for (i = 0; i < nr; i++) {
		if (!bench_wanted(names, cases[i].name))
			continue;
		printf("%s%s %llu %s\n", cases[i].name, suffix, cases[i].run(cases[i].arg),
		       bench_unit(&cases[i]));
		fflush(stdout);
	}

	return 0;
}

#endif /* __PERF_EVENTS_BENCH_H */
