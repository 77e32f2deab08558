// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a switch between two tasks costs while events on cgroups exist.
 */

#include <limits.h>

#include "bench_event.h"

#define MAX_EVENTS	8
#define DEEP		8

/*
 * The cgroups a and b are siblings, each with a chain of others below it down
 * to level DEEP. The events are on the third, m, which has two children.
 */
enum place { A, B, A_DEEP, B_DEEP, M, M_A, M_B, NR_PLACES };

static char place[NR_PLACES][PATH_MAX];
static pid_t owner;

struct pair {
	enum place ping;
	enum place pong;
	int nr_events;
};

static const struct pair *pair;

static void ping(void *pp)
{
	if (cg_enter_current(place[pair->ping]))
		errx(1, "cannot enter %s", place[pair->ping]);
	bench_ping(pp);
}

static void pong(void *pp)
{
	if (cg_enter_current(place[pair->pong]))
		errx(1, "cannot enter %s", place[pair->pong]);
	bench_pong(pp);
}

static unsigned long long run(const void *arg)
{
	struct bench_ping_pong *pp = bench_ping_pong_init();
	int fd[MAX_EVENTS + 1], nr = 0, i;

	pair = arg;
	for (i = 0; i < pair->nr_events; i++) {
		fd[nr] = perf_open_cgroup(&bench_attr, place[M], 0);
		if (fd[nr] < 0 && errno == ENOENT)
			errx(KSFT_SKIP, "first enable a controller in the root cgroup");
		if (fd[nr++] < 0)
			err(1, "event on a cgroup");
	}
	if (nr)
		fd[nr++] = bench_open(&bench_attr, -1, 0, -1);

	bench_two_tasks(ping, pong, pp);

	while (nr)
		close(fd[--nr]);
	return bench_ping_pong_done(pp);
}

static void remove_cgroups(void)
{
	/* The tasks come along here as well when they fail. */
	if (getpid() != owner)
		return;
	cgroup_remove(place[A]);
	cgroup_remove(place[B]);
	cgroup_remove(place[M]);
}

static void make(enum place p, const char *parent, const char *fmt, ...)
{
	va_list args;
	int len;

	len = snprintf(place[p], sizeof(place[p]), "%s/", parent);
	va_start(args, fmt);
	vsnprintf(place[p] + len, sizeof(place[p]) - len, fmt, args);
	va_end(args);
	if (cg_create(place[p]))
		err(1, "%s", place[p]);
}

static void make_deep(enum place p, enum place top)
{
	int level;

	strcpy(place[p], place[top]);
	for (level = 2; level <= DEEP; level++) {
		strcat(place[p], "/d");
		if (cg_create(place[p]))
			err(1, "%s", place[p]);
	}
}

static int make_cgroups(void)
{
	char root[256];
	const char *missing = cgroup_missing(root, sizeof(root));

	if (missing)
		errx(KSFT_SKIP, "%s", missing);

	owner = getpid();
	atexit(remove_cgroups);
	make(A, root, "bench_%d_a", owner);
	make(B, root, "bench_%d_b", owner);
	make(M, root, "bench_%d_m", owner);
	make(M_A, place[M], "a");
	make(M_B, place[M], "b");
	make_deep(A_DEEP, A);
	make_deep(B_DEEP, B);

	return 0;
}

static const struct bench_case cases[] = {
	BENCH_CASE("cgroup/same-0", run, pair, A, A, 0),
	BENCH_CASE("cgroup/ab-0", run, pair, A, B, 0),
	BENCH_CASE("cgroup/ab-0-deep", run, pair, A_DEEP, B_DEEP, 0),
	BENCH_CASE("cgroup/same-8", run, pair, A, A, 8),
	BENCH_CASE("cgroup/ab-8", run, pair, A, B, 8),
	BENCH_CASE("cgroup/ab-8-deep", run, pair, A_DEEP, B_DEEP, 8),
	BENCH_CASE("cgroup/in-out-8", run, pair, M, A, 8),
	BENCH_CASE("cgroup/kids-8", run, pair, M_A, M_B, 8),
};

int main(int argc, char **argv)
{
	return bench_event_main(argc, argv, cases, ARRAY_SIZE(cases), make_cgroups);
}
