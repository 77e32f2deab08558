/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the perf_events tests share: events, CPU time, cgroups and the mock PMU.
 *
 * Where something can be missing, a helper returns the reason as a string, to
 * be handed on to SKIP().
 */
#ifndef __PERF_EVENTS_COMMON_H
#define __PERF_EVENTS_COMMON_H

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/perf_event.h>

#include "cgroup_util.h"
#include "kselftest.h"

/* What read() gives for an event with read_format PERF_COUNT_FORMAT */
struct perf_count {
	__u64 value;
	__u64 enabled;
	__u64 running;
};

#define PERF_COUNT_FORMAT \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static inline int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu,
			    int group_fd, unsigned long flags)
{
	attr->size = sizeof(*attr);
	return syscall(__NR_perf_event_open, attr, pid, cpu, group_fd,
		       flags | PERF_FLAG_FD_CLOEXEC);
}

static inline int perf_read(int fd, struct perf_count *count)
{
	return read(fd, count, sizeof(*count)) == sizeof(*count) ? 0 : -1;
}

static inline int pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

/* Use up CPU time of this thread, however long that takes. */
static inline void burn_cpu(unsigned int ms)
{
	struct timespec now, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	end.tv_sec += ms / 1000;
	end.tv_nsec += ms % 1000 * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static inline __u64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* A process that uses up CPU time and does nothing else, while it is let go. */
struct spinner {
	pid_t pid;
	/* Its CPU time, exact even while it runs */
	clockid_t clock;
};

static inline __u64 spinner_ns(const struct spinner *spinner)
{
	return clock_ns(spinner->clock);
}

static inline int spinner_halt(const struct spinner *spinner)
{
	int status;

	if (kill(spinner->pid, SIGSTOP) ||
	    waitpid(spinner->pid, &status, WUNTRACED) != spinner->pid)
		return -1;
	return WIFSTOPPED(status) ? 0 : -1;
}

static inline int spinner_go(const struct spinner *spinner)
{
	return kill(spinner->pid, SIGCONT);
}

/* Wait until a spinner that was let go has used up some more CPU time. */
static inline void spinner_wait(const struct spinner *spinner, unsigned int ms)
{
	__u64 now, end = spinner_ns(spinner) + ms * 1000000ULL;

	while ((now = spinner_ns(spinner)) < end)
		usleep((end - now) / 1000 + 1);
}

static inline int spinner_run(const struct spinner *spinner, unsigned int ms)
{
	if (spinner_go(spinner))
		return -1;
	spinner_wait(spinner, ms);
	return spinner_halt(spinner);
}

/* Make a spinner that has not been let go yet. It ends with its parent. */
static inline int spinner_create(struct spinner *spinner, int cpu)
{
	int status;

	spinner->pid = fork();
	if (!spinner->pid) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || pin_to_cpu(cpu))
			_exit(1);
		raise(SIGSTOP);
		for (;;)
			;
	}

	if (spinner->pid < 0 || waitpid(spinner->pid, &status, WUNTRACED) != spinner->pid)
		return -1;
	if (!WIFSTOPPED(status) || clock_getcpuclockid(spinner->pid, &spinner->clock))
		return -1;
	return 0;
}

static inline void spinner_destroy(const struct spinner *spinner)
{
	if (spinner->pid <= 0)
		return;
	kill(spinner->pid, SIGKILL);
	waitpid(spinner->pid, NULL, 0);
}

/* Why there are no cgroup v2 events, or NULL and where cgroup v2 is mounted. */
static inline const char *cgroup_missing(char *root, size_t len)
{
	if (geteuid())
		return "cgroup events need root";
	if (cg_find_unified_root(root, len, NULL))
		return "cgroup v2 is not mounted";
	if (cg_read_strstr(root, "cgroup.stat", "nr_subsys_perf_event"))
		return "needs CONFIG_CGROUP_PERF and perf_event not on cgroup v1";
	return NULL;
}

static inline int cgroup_remove_one(const char *path, const struct stat *st,
				    int type, struct FTW *ftw)
{
	return type == FTW_DP ? cg_destroy(path) : 0;
}

/* Remove a cgroup with all cgroups below it, and kill what runs there. */
static inline int cgroup_remove(const char *path)
{
	return nftw(path, cgroup_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int perf_open_cgroup(struct perf_event_attr *attr,
				   const char *path, int cpu)
{
	int dir, fd;

	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = perf_open(attr, dir, cpu, -1, PERF_FLAG_PID_CGROUP);
	close(dir);
	return fd;
}

#define MOCK_PMU_DIR	"/sys/kernel/debug/perf_mock"

/* Why there is no mock PMU, or NULL. */
static inline const char *mock_pmu_missing(void)
{
	if (geteuid())
		return "the mock PMU needs root";
	if (access(MOCK_PMU_DIR "/mock0", F_OK))
		return "needs CONFIG_PERF_MOCK_PMU and debugfs";
	return NULL;
}

/* The attr.type of a mock PMU, or -1. */
static inline int mock_pmu_type(const char *pmu)
{
	char path[256], buf[32];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	return read_text(path, buf, sizeof(buf)) > 0 ? atoi(buf) : -1;
}

/* Read a control file of a mock PMU: 0 on success. */
static inline int mock_pmu_read(const char *pmu, const char *file, char *buf, size_t len)
{
	char path[256];

	snprintf(path, sizeof(path), MOCK_PMU_DIR "/%s/%s", pmu, file);
	return read_text(path, buf, len) > 0 ? 0 : -1;
}

/* Write to a control file of a mock PMU: 0 on success. */
static inline __printf(3, 4) int
mock_pmu_write(const char *pmu, const char *file, const char *fmt, ...)
{
	char path[256], buf[64];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(buf, sizeof(buf), fmt, args);
	va_end(args);

	snprintf(path, sizeof(path), MOCK_PMU_DIR "/%s/%s", pmu, file);
	return write_text(path, buf, len) == len ? 0 : -1;
}

/* How often the core has called a callback of a mock PMU, or -1. */
static inline long mock_pmu_calls(const char *pmu, const char *call)
{
	char buf[1024], *line, *rest;
	size_t len = strlen(call);

	if (mock_pmu_read(pmu, "calls", buf, sizeof(buf)))
		return -1;
	for (line = strtok_r(buf, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (!strncmp(line, call, len) && line[len] == ' ')
			return atol(line + len);
	}
	return -1;
}

#endif /* __PERF_EVENTS_COMMON_H */
