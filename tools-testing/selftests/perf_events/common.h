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

#include <sys/mman.h>
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
	/* Its CPU time, exact unless it runs: then it is that of the last tick */
	clockid_t clock;
	/* Its CPU time as it told last, in memory that it shares over exec() */
	volatile __u64 *told;
	int told_fd;
	bool running;
};

/* What a spinner does. */
static inline __attribute__((noreturn)) void spinner_spin(int told_fd)
{
	volatile __u64 *told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
				    MAP_SHARED, told_fd, 0);

	if (told == MAP_FAILED)
		_exit(1);
	for (;;)
		*told = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* At least the CPU time that the spinner had when this was called */
static inline __u64 spinner_min_ns(const struct spinner *spinner)
{
	return spinner->running ? *spinner->told : clock_ns(spinner->clock);
}

/* At least the CPU time that it has by now */
static inline __u64 spinner_max_ns(const struct spinner *spinner)
{
	__u64 last;
	int i;

	/* It may be about to tell a time that it has read before the call. */
	for (i = 0; spinner->running && i < 2; i++) {
		last = *spinner->told;
		while (*spinner->told == last)
			usleep(50);
	}

	return spinner_min_ns(spinner);
}

/*
 * Wait until a task that has stopped or is about to sleep is off its CPU, and its
 * events with it: who is told of the stop can still find it there.
 */
static inline int wait_off_cpu(pid_t pid)
{
	char buf[256];

	do {
		if (proc_read_text(pid, false, "syscall", buf, sizeof(buf)) <= 0)
			return -1;
	} while (!strncmp(buf, "running", 7));
	return 0;
}

static inline int spinner_halt(struct spinner *spinner)
{
	int status;

	if (kill(spinner->pid, SIGSTOP) ||
	    waitpid(spinner->pid, &status, WUNTRACED) != spinner->pid)
		return -1;
	spinner->running = false;
	return WIFSTOPPED(status) ? wait_off_cpu(spinner->pid) : -1;
}

static inline int spinner_go(struct spinner *spinner)
{
	spinner->running = true;
	return kill(spinner->pid, SIGCONT);
}

/* Wait until a spinner that was let go has used up some more CPU time. */
static inline void spinner_wait(const struct spinner *spinner, unsigned int ms)
{
	__u64 now, end = spinner_max_ns(spinner) + ms * 1000000ULL;

	while ((now = spinner_min_ns(spinner)) < end)
		usleep((end - now) / 1000 + 1);
}

static inline int spinner_run(struct spinner *spinner, unsigned int ms)
{
	if (spinner_go(spinner))
		return -1;
	spinner_wait(spinner, ms);
	return spinner_halt(spinner);
}

/*
 * Make a spinner that has not been let go yet. It ends with its parent. With
 * @exec, it executes this program again when it is let go, as "spin FD": see
 * spinner_main().
 */
static inline int __spinner_create(struct spinner *spinner, int cpu, bool exec)
{
	char fd[16];
	int status;

	spinner->running = false;
	spinner->told_fd = memfd_create("spinner", 0);
	if (spinner->told_fd < 0 || ftruncate(spinner->told_fd, sizeof(*spinner->told)))
		return -1;
	spinner->told = mmap(NULL, sizeof(*spinner->told), PROT_READ, MAP_SHARED,
			     spinner->told_fd, 0);
	if (spinner->told == MAP_FAILED)
		return -1;

	spinner->pid = fork();
	if (!spinner->pid) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || pin_to_cpu(cpu))
			_exit(1);
		raise(SIGSTOP);
		if (!exec)
			spinner_spin(spinner->told_fd);
		snprintf(fd, sizeof(fd), "%d", spinner->told_fd);
		execl("/proc/self/exe", "spin", fd, NULL);
		_exit(1);
	}

	if (spinner->pid < 0 || waitpid(spinner->pid, &status, WUNTRACED) != spinner->pid)
		return -1;
	if (!WIFSTOPPED(status) || wait_off_cpu(spinner->pid) ||
	    clock_getcpuclockid(spinner->pid, &spinner->clock))
		return -1;
	return 0;
}

static inline int spinner_create(struct spinner *spinner, int cpu)
{
	return __spinner_create(spinner, cpu, false);
}

/* To be called first by main() of a test that lets spinners execute it */
static inline void spinner_main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[0], "spin"))
		spinner_spin(atoi(argv[1]));
}

static inline void spinner_destroy(struct spinner *spinner)
{
	if (spinner->pid <= 0)
		return;
	kill(spinner->pid, SIGKILL);
	waitpid(spinner->pid, NULL, 0);
	munmap((void *)spinner->told, sizeof(*spinner->told));
	close(spinner->told_fd);
	spinner->pid = 0;
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

/* Allocations of this thread that fail, see nomem_arm() */
struct nomem {
	int fail_nth;
	bool pages;
	/* What the settings were */
	char saved[7][32];
};

/*
 * Every allocation counts, those that can wait and single pages too; no traces
 * in the log.
 */
static const struct {
	const char *dir;
	const char *name;
	char *value;
} nomem_setting[] = {
	{ "/sys/kernel/debug/failslab", "ignore-gfp-wait", "N" },
	{ "/sys/kernel/debug/failslab", "verbose", "0" },
	/* Each failure takes one off. */
	{ "/sys/kernel/debug/failslab", "times", "-1" },
	{ "/sys/kernel/debug/fail_page_alloc", "ignore-gfp-wait", "N" },
	{ "/sys/kernel/debug/fail_page_alloc", "verbose", "0" },
	{ "/sys/kernel/debug/fail_page_alloc", "times", "-1" },
	{ "/sys/kernel/debug/fail_page_alloc", "min-order", "0" },
};

static inline int nr_nomem_settings(const struct nomem *nomem)
{
	return nomem->pages ? 7 : 3;
}

/* Why allocations cannot be made to fail, or NULL. */
static inline const char *nomem_missing(void)
{
	if (geteuid())
		return "fault injection needs root";
	if (access(nomem_setting[0].dir, F_OK) || access("/proc/thread-self/fail-nth", F_OK))
		return "needs CONFIG_FAILSLAB, CONFIG_FAULT_INJECTION_DEBUG_FS and debugfs";
	return NULL;
}

/* With @pages, those of pages count as well, where the kernel has that. */
static inline int nomem_begin(struct nomem *nomem, bool pages)
{
	int i;

	nomem->pages = pages && !access(nomem_setting[3].dir, F_OK);
	nomem->fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nomem->fail_nth < 0)
		return -1;
	for (i = 0; i < nr_nomem_settings(nomem); i++) {
		if (cg_read(nomem_setting[i].dir, nomem_setting[i].name, nomem->saved[i],
			    sizeof(nomem->saved[i])))
			return -1;
	}
	for (i = 0; i < nr_nomem_settings(nomem); i++) {
		if (cg_write(nomem_setting[i].dir, nomem_setting[i].name, nomem_setting[i].value))
			return -1;
	}
	return 0;
}

static inline int nomem_end(struct nomem *nomem)
{
	int i, err = 0;

	for (i = 0; i < nr_nomem_settings(nomem); i++)
		err |= cg_write(nomem_setting[i].dir, nomem_setting[i].name, nomem->saved[i]);
	close(nomem->fail_nth);
	return err;
}

/* From now on, let the @nth allocation of this thread fail. */
static inline int nomem_arm(struct nomem *nomem, int nth)
{
	char buf[16];
	int len;

	len = snprintf(buf, sizeof(buf), "%d", nth);
	return pwrite(nomem->fail_nth, buf, len, 0) == len ? 0 : -1;
}

/*
 * No longer. Returns how many allocations were missing to get to the one that
 * was to fail, so 0 when it has failed, or -1 when fail-nth does not work.
 */
static inline int nomem_disarm(struct nomem *nomem)
{
	char buf[16] = "";
	int len;

	len = pread(nomem->fail_nth, buf, sizeof(buf) - 1, 0);
	if (len <= 0 || pwrite(nomem->fail_nth, "0", 1, 0) != 1)
		return -1;
	return atoi(buf);
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

/* The address of a function of the kernel, or 0. */
static inline unsigned long kernel_symbol(const char *symbol)
{
	unsigned long addr = 0, a;
	char line[512], name[256];
	FILE *f;

	f = fopen("/proc/kallsyms", "r");
	if (!f)
		return 0;
	while (!addr && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %*c %255s", &a, name) == 2 && !strcmp(name, symbol))
			addr = a;
	}
	fclose(f);
	return addr;
}

#endif /* __PERF_EVENTS_COMMON_H */
