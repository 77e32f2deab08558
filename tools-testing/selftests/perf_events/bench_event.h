/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events that benchmarks use: of which PMU is the user's choice.
 */
#ifndef __PERF_EVENTS_BENCH_EVENT_H
#define __PERF_EVENTS_BENCH_EVENT_H

#include <errno.h>
#include <getopt.h>

#include "common.h"
#include "bench.h"

#define BENCH_MOCK_PMU	"mock0"
/* Room for one group of five, not for two: as in QEMU's PMU for arm64. */
#define BENCH_MOCK_COUNTERS	7

static struct perf_event_attr bench_attr;
static bool bench_mock;

static inline int bench_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
	int fd = perf_open(attr, pid, cpu, group_fd, 0);

	if (fd < 0)
		err(1, "perf_event_open");
	return fd;
}

static inline void bench_choose_event(const char *name)
{
	bench_mock = false;

	if (!strcmp(name, "cpu-clock")) {
		bench_attr.type = PERF_TYPE_SOFTWARE;
		bench_attr.config = PERF_COUNT_SW_CPU_CLOCK;
	} else if (!strcmp(name, "cycles")) {
		bench_attr.type = PERF_TYPE_HARDWARE;
		bench_attr.config = PERF_COUNT_HW_CPU_CYCLES;
	} else if (!strcmp(name, "mock")) {
		const char *missing = mock_pmu_missing();

		if (missing)
			errx(KSFT_SKIP, "%s", missing);
		bench_mock = true;
		bench_attr.type = mock_pmu_type(BENCH_MOCK_PMU);
		/* Time */
		bench_attr.config = 0;
	} else {
		errx(1, "there is no event '%s': say cpu-clock, cycles or mock", name);
	}
}

static char bench_counters[16];
static pid_t bench_owner;

static inline void bench_reset_counters(void)
{
	if (getpid() == bench_owner)
		mock_pmu_write(BENCH_MOCK_PMU, "counters", "%s", bench_counters);
}

/* Until this process ends */
static inline int bench_set_counters(void)
{
	if (!bench_mock)
		return 0;

	bench_owner = getpid();
	if (mock_pmu_read(BENCH_MOCK_PMU, "counters", bench_counters, sizeof(bench_counters)) ||
	    mock_pmu_write(BENCH_MOCK_PMU, "counters", "%d", BENCH_MOCK_COUNTERS))
		err(1, "counters of the mock PMU");
	atexit(bench_reset_counters);
	return 0;
}

static inline int bench_event_main(int argc, char **argv, const struct bench_case *cases,
				   int nr, int (*setup)(void))
{
	const char *event = "cpu-clock", *suffix = "";
	struct perf_event_attr attr;
	int opt, fd;

	while ((opt = getopt(argc, argv, "e:")) != -1) {
		if (opt != 'e') {
			fprintf(stderr, "usage: %s [-e cpu-clock|cycles|mock] [CASE...]\ncases:",
				argv[0]);
			bench_list(cases, nr);
			return 1;
		}
		event = optarg;
	}
	bench_check_names(argv + optind, cases, nr);

	bench_choose_event(event);
	attr = bench_attr;
	attr.disabled = 1;
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (fd < 0)
		err(KSFT_SKIP, "cannot open the event %s", event);
	close(fd);
	if (setup)
		setup();

	if (bench_mock)
		suffix = "-mock";

	return bench_main(argv + optind, cases, nr, suffix);
}

#endif /* __PERF_EVENTS_BENCH_EVENT_H */
