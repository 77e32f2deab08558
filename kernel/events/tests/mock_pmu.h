/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A PMU without hardware, for tests of the perf core.
 *
 * The functions below are for KUnit suites; debugfs offers the same to user
 * space. All of them run in process context and may sleep.
 */
#ifndef _KERNEL_EVENTS_TESTS_MOCK_PMU_H
#define _KERNEL_EVENTS_TESTS_MOCK_PMU_H

#include <linux/types.h>

/* How many mock PMUs there are: mock0, mock1 */
#define MOCK_PMU_NR			2

/* Counters of each CPU: the most there can be, and how many there are at boot */
#define MOCK_PMU_MAX_COUNTERS		8
#define MOCK_PMU_DEFAULT_COUNTERS	4

/* How long a guest may keep a CPU */
#define MOCK_PMU_MAX_GUEST_MS		1000

/* Values of perf_event_attr::config */
enum mock_pmu_config {
	/* Counts the nanoseconds of local_clock() that the event is started */
	MOCK_PMU_CONFIG_TIME,
	/* Counts nothing but mock_pmu_tick(), can sample */
	MOCK_PMU_CONFIG_TICKS,
	MOCK_PMU_NR_CONFIGS,
};

/* The callbacks of struct pmu whose calls by the perf core are counted */
enum mock_pmu_call {
	MOCK_PMU_EVENT_INIT,
	MOCK_PMU_DESTROY,
	MOCK_PMU_ADD,
	MOCK_PMU_DEL,
	MOCK_PMU_START,
	MOCK_PMU_STOP,
	MOCK_PMU_READ,
	MOCK_PMU_PMU_DISABLE,
	MOCK_PMU_PMU_ENABLE,
	MOCK_PMU_START_TXN,
	MOCK_PMU_COMMIT_TXN,
	MOCK_PMU_CANCEL_TXN,
	MOCK_PMU_NR_CALLS,
};

/* The places that can be made to fail */
enum mock_pmu_fail {
	/* Each event_init() of an event of this PMU */
	MOCK_PMU_FAIL_EVENT_INIT,
	/* The same for events that a new task inherits */
	MOCK_PMU_FAIL_EVENT_INIT_CHILD,
	/* Each add() */
	MOCK_PMU_FAIL_ADD,
	MOCK_PMU_NR_FAILS,
};

struct mock_pmu;

struct mock_pmu *mock_pmu_get(unsigned int nr);
int mock_pmu_type(struct mock_pmu *mock);

unsigned long mock_pmu_calls(struct mock_pmu *mock, enum mock_pmu_call call);
void mock_pmu_reset_calls(struct mock_pmu *mock);

unsigned int mock_pmu_counters(struct mock_pmu *mock);
int mock_pmu_set_counters(struct mock_pmu *mock, unsigned int nr);

int mock_pmu_set_fail(struct mock_pmu *mock, enum mock_pmu_fail where,
		      unsigned int err, unsigned int skip, unsigned int count);

int mock_pmu_tick(struct mock_pmu *mock, unsigned int cpu, u64 nr);
int mock_pmu_disabled(struct mock_pmu *mock, unsigned int cpu);
int mock_pmu_guest(unsigned int cpu, unsigned int ms);

#endif /* _KERNEL_EVENTS_TESTS_MOCK_PMU_H */
