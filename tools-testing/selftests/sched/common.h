/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of the scheduler's accounting share: clocks, CPUs, attributes,
 * and what the kernel tells about a task.
 */
#ifndef __SELFTESTS_SCHED_COMMON_H
#define __SELFTESTS_SCHED_COMMON_H

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <linux/types.h>

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE			6
#endif

#ifndef SCHED_GETATTR_FLAG_DL_DYNAMIC
#define SCHED_GETATTR_FLAG_DL_DYNAMIC	0x01
#endif

/* The first version of struct sched_attr, which libraries may define as well */
struct task_attr {
	__u32 size;
	__u32 policy;
	__u64 flags;
	__s32 nice;
	__u32 priority;
	__u64 runtime;
	__u64 deadline;
	__u64 period;
};

static inline int task_set_attr(struct task_attr *attr)
{
	attr->size = sizeof(*attr);
	return syscall(__NR_sched_setattr, 0, attr, 0);
}

static inline int task_get_attr(struct task_attr *attr, unsigned int flags)
{
	return syscall(__NR_sched_getattr, 0, attr, sizeof(*attr), flags);
}

static inline int pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static inline long long clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static inline void sleep_ns(long ns)
{
	struct timespec ts = { .tv_nsec = ns };

	while (nanosleep(&ts, &ts))
		;
}

/* How long a task was runnable without running, or -1 if nobody counts that. */
static inline long long run_delay(int schedstat_fd)
{
	long long delay;
	char buf[128];
	ssize_t len;

	len = pread(schedstat_fd, buf, sizeof(buf) - 1, 0);
	if (len <= 0)
		return -1;
	buf[len] = '\0';
	return sscanf(buf, "%*d %lld", &delay) == 1 ? delay : -1;
}

/* Does the task sleep? */
static inline bool task_sleeps(pid_t tid)
{
	char path[64], buf[256] = "", *state;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	if (read(fd, buf, sizeof(buf) - 1) <= 0)
		buf[0] = '\0';
	close(fd);

	state = strrchr(buf, ')');
	return state && state[1] == ' ' && state[2] == 'S';
}

static inline int compare(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return x < y ? -1 : x > y;
}

static inline long long median(long long *values, int nr)
{
	qsort(values, nr, sizeof(*values), compare);
	return values[nr / 2];
}

/* Memory that tasks share over fork(), or NULL. */
static inline void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

#endif /* __SELFTESTS_SCHED_COMMON_H */
