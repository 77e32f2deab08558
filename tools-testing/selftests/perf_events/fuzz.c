// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random calls about events: whatever they ask for, the kernel stays in order,
 * and nothing is left at the PMU when the last of them is gone.
 *
 * Usage: fuzz [SEED [CALLS]]
 *
 * The calls are drawn from a small grammar, which knows what a valid attr, a
 * group, a target and an ioctl() look like, and breaks the rules now and then.
 * A seed repeats what is called, in each of the processes; how these run beside
 * each other is up to the scheduler. What a kernel with checks of its locks and
 * memory reports on the way is what this is for.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include <linux/hw_breakpoint.h>
#include <sys/ioctl.h>

#include "common.h"

#define DEFAULT_CALLS	2000
#define NR_SLOTS	32
#define NR_CGROUPS	4
#define NR_CHILDREN	4
#define MAX_DEPTH	2
#define CHILD_CALLS	100
#define MAX_CLOCK_FREQ	50
#define MIN_CLOCK_PERIOD 20000000

static const char * const pmu_name[] = { "mock0", "mock1" };
#define NR_PMUS		((int)ARRAY_SIZE(pmu_name))

/* What all processes share */
struct shared {
	unsigned long calls;
	unsigned long opened;
};

static struct shared *shared;
static int pmu_type[NR_PMUS];
static char *cgroup_path[NR_CGROUPS + 1];
static int nr_cpus;
static size_t page_size;

/* What each process has for itself */
static __u64 random_state;
static int depth;
static struct slot {
	int fd;
	void *map;
	size_t map_size;
	bool writable;
} slot[NR_SLOTS];
static pid_t child[NR_CHILDREN];
static volatile long breakpoint_target;

/* xorshift64*: the same numbers with each C library */
static unsigned int rnd(unsigned int n)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 0x2545f4914f6cdd1dULL >> 33) % n;
}

static bool one_in(unsigned int n)
{
	return !rnd(n);
}

static void set_seed(unsigned int seed)
{
	random_state = seed * 0x9e3779b97f4a7c15ULL + 0x632be59bd9b4e019ULL;
}

static int any_fd(void)
{
	return slot[rnd(NR_SLOTS)].fd;
}

static int any_cpu(void)
{
	return one_in(20) ? nr_cpus : (int)rnd(nr_cpus);
}

static pid_t any_task(void)
{
	return one_in(2) ? 0 : child[rnd(NR_CHILDREN)];
}

/* An event with so many a second at most: the test has to get on. */
static void random_sampling(struct perf_event_attr *attr, bool clock)
{
	static const __u64 types[] = {
		PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR,
		PERF_SAMPLE_READ, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_ID, PERF_SAMPLE_CPU,
		PERF_SAMPLE_PERIOD, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_RAW,
		PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER, PERF_SAMPLE_WEIGHT,
		PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_REGS_INTR, PERF_SAMPLE_CGROUP,
	};
	int i;

	if (one_in(3)) {
		attr->freq = 1;
		attr->sample_freq = 1 + rnd(clock ? MAX_CLOCK_FREQ : 1000);
	} else {
		attr->sample_period = clock ? MIN_CLOCK_PERIOD + rnd(10000000) : 1 + rnd(1000);
	}
	for (i = rnd(4); i; i--)
		attr->sample_type |= types[rnd(ARRAY_SIZE(types))];
	if (attr->sample_type & PERF_SAMPLE_STACK_USER)
		attr->sample_stack_user = 8 * rnd(64);
	if (attr->sample_type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR)) {
		attr->sample_regs_user = rnd(16);
		attr->sample_regs_intr = rnd(16);
	}
	attr->sample_max_stack = rnd(8);
	attr->wakeup_events = rnd(3);
	attr->watermark = one_in(4);
	attr->mmap = one_in(4);
	attr->mmap2 = one_in(8);
	attr->comm = one_in(4);
	attr->task = one_in(4);
	attr->context_switch = one_in(8);
	attr->cgroup = one_in(8);
	attr->write_backward = one_in(8);
	attr->sample_id_all = one_in(2);
	attr->inherit_stat = one_in(8);
	attr->inherit_thread = one_in(8);
}

static const int software[] = {
	PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
	PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
	PERF_COUNT_SW_DUMMY, PERF_COUNT_SW_BPF_OUTPUT, PERF_COUNT_SW_CGROUP_SWITCHES,
};

static void random_attr(struct perf_event_attr *attr)
{
	unsigned char *byte;

	memset(attr, 0, sizeof(*attr));
	switch (rnd(16)) {
	case 0 ... 9:
		attr->type = pmu_type[rnd(NR_PMUS)];
		attr->config = one_in(50) ? rnd(8) : rnd(2);
		if (attr->config && one_in(2))
			random_sampling(attr, false);
		if (attr->sample_period && one_in(10)) {
			attr->sigtrap = 1;
			attr->remove_on_exec = 1;
			attr->sig_data = rnd(1000);
		}
		break;
	case 10 ... 14:
		attr->type = PERF_TYPE_SOFTWARE;
		attr->config = software[rnd(ARRAY_SIZE(software))];
		if (one_in(3))
			random_sampling(attr, attr->config <= PERF_COUNT_SW_TASK_CLOCK);
		break;
	default:
		attr->type = PERF_TYPE_BREAKPOINT;
		attr->bp_type = one_in(2) ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
		attr->bp_addr = (unsigned long)&breakpoint_target;
		attr->bp_len = HW_BREAKPOINT_LEN_4;
		break;
	}

	attr->read_format = one_in(4) ? rnd(32) : PERF_COUNT_FORMAT;
	attr->disabled = one_in(3);
	attr->inherit = one_in(3);
	attr->pinned = one_in(6);
	attr->exclusive = one_in(20);
	attr->exclude_user = one_in(20);
	attr->exclude_kernel = one_in(8);
	attr->exclude_idle = one_in(20);
	attr->exclude_guest = one_in(8);
	attr->enable_on_exec = one_in(8);
	attr->remove_on_exec |= one_in(8);
	attr->use_clockid = one_in(10);
	attr->clockid = one_in(4) ? (int)rnd(16) : CLOCK_MONOTONIC;

	/* Nonsense */
	if (one_in(50)) {
		byte = (unsigned char *)attr + rnd(sizeof(*attr));
		*byte ^= 1 << rnd(8);
	}
	/* But no clock that is faster than this machine */
	if (attr->type == PERF_TYPE_SOFTWARE && attr->sample_period &&
	    attr->config <= PERF_COUNT_SW_TASK_CLOCK) {
		if (attr->freq && attr->sample_freq > MAX_CLOCK_FREQ)
			attr->sample_freq = MAX_CLOCK_FREQ;
		else if (!attr->freq && attr->sample_period < MIN_CLOCK_PERIOD)
			attr->sample_period = MIN_CLOCK_PERIOD;
	}
}

static void drop(struct slot *s)
{
	if (s->map)
		munmap(s->map, s->map_size);
	if (s->fd >= 0)
		close(s->fd);
	s->map = NULL;
	s->fd = -1;
}

static void call_open(void)
{
	struct slot *s = &slot[rnd(NR_SLOTS)];
	struct perf_event_attr attr;
	unsigned long flags = 0;
	int id, cpu, dir = -1, group = -1;

	random_attr(&attr);
	switch (rnd(4)) {
	case 0:
		id = -1;
		cpu = any_cpu();
		break;
	case 1:
		dir = open(cgroup_path[rnd(NR_CGROUPS + 1)], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		id = dir;
		cpu = any_cpu();
		flags = PERF_FLAG_PID_CGROUP;
		break;
	default:
		id = any_task();
		cpu = one_in(4) ? any_cpu() : -1;
		break;
	}
	if (one_in(2))
		group = any_fd();
	if (one_in(20))
		flags |= PERF_FLAG_FD_NO_GROUP;
	if (one_in(20))
		flags |= PERF_FLAG_FD_OUTPUT;

	drop(s);
	s->fd = perf_open(&attr, id, cpu, group, flags);
	if (s->fd >= 0)
		__atomic_fetch_add(&shared->opened, 1, __ATOMIC_RELAXED);
	if (dir >= 0)
		close(dir);
}

/* A group that the PMU just holds, or just does not, more often than by chance */
static void call_open_group(void)
{
	struct perf_event_attr attr = {
		.type = pmu_type[rnd(NR_PMUS)],
		.read_format = rnd(2) ? PERF_COUNT_FORMAT : PERF_COUNT_FORMAT | PERF_FORMAT_GROUP,
		.disabled = one_in(2),
		.inherit = one_in(2),
		.pinned = one_in(4),
	};
	int i, nr = 1 + rnd(5), leader = -1, id = any_task(), cpu = -1;
	struct slot *s;

	if (one_in(3)) {
		id = -1;
		cpu = any_cpu();
	}
	for (i = 0; i < nr; i++) {
		s = &slot[(i + 7) % NR_SLOTS];
		drop(s);
		attr.config = rnd(2);
		s->fd = perf_open(&attr, id, cpu, leader, 0);
		if (leader < 0) {
			leader = s->fd;
			attr.disabled = 0;
			attr.pinned = 0;
		}
	}
}

static void call_ioctl(void)
{
	static const unsigned long plain[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_RESET,
	};
	struct perf_event_attr attr;
	int fd = any_fd();
	__u64 val;

	switch (rnd(10)) {
	case 0:
		ioctl(fd, PERF_EVENT_IOC_REFRESH, rnd(4));
		break;
	case 1:
		val = one_in(10) ? rnd(3) - 1 : MIN_CLOCK_PERIOD + rnd(1000000);
		ioctl(fd, PERF_EVENT_IOC_PERIOD, &val);
		break;
	case 2:
		ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, one_in(4) ? -1 : any_fd());
		break;
	case 3:
		ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, rnd(2));
		break;
	case 4:
		ioctl(fd, PERF_EVENT_IOC_ID, &val);
		break;
	case 5:
		random_attr(&attr);
		attr.size = sizeof(attr);
		ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr);
		break;
	default:
		ioctl(fd, plain[rnd(ARRAY_SIZE(plain))],
		      one_in(3) ? PERF_IOC_FLAG_GROUP : 0);
		break;
	}
}

static void call_read(void)
{
	char buf[1024];

	if (read(any_fd(), buf, one_in(4) ? rnd(sizeof(buf)) : sizeof(buf)) < 0)
		return;
}

static void call_mmap(void)
{
	static const int pages[] = { 0, 1, 2, 4, 8, 3 };
	struct slot *s = &slot[rnd(NR_SLOTS)];
	void *map;

	if (s->fd < 0)
		return;
	if (s->map) {
		munmap(s->map, s->map_size);
		s->map = NULL;
		return;
	}
	s->writable = !one_in(3);
	s->map_size = (1 + pages[rnd(ARRAY_SIZE(pages))]) * page_size;
	map = mmap(NULL, s->map_size, s->writable ? PROT_READ | PROT_WRITE : PROT_READ,
		   MAP_SHARED, s->fd, one_in(20) ? page_size : 0);
	if (map != MAP_FAILED)
		s->map = map;
}

/* What the consumer of a ring does, and what it had better not do */
static void call_ring(void)
{
	struct slot *s = &slot[rnd(NR_SLOTS)];
	volatile struct perf_event_mmap_page *page = s->map;

	if (page && s->writable)
		page->data_tail = one_in(10) ? rnd(~0U) : page->data_head;
	else if (page)
		breakpoint_target = page->time_enabled;
}

static void call_mock(void)
{
	static const char * const fail[] = {
		"fail_event_init", "fail_event_init_child", "fail_add",
	};
	static const int errors[] = { EAGAIN, EINVAL, ENOMEM, EBUSY, ENOSPC };
	const char *pmu = pmu_name[rnd(NR_PMUS)];
	char buf[256];

	switch (rnd(10)) {
	case 0:
		mock_pmu_write(pmu, fail[rnd(ARRAY_SIZE(fail))], "%d %u %u",
			       errors[rnd(ARRAY_SIZE(errors))], rnd(4), rnd(4));
		break;
	case 1:
		mock_pmu_write(pmu, "counters", "%u", 1 + rnd(8));
		break;
	case 2:
		mock_pmu_read(pmu, "disabled", buf, sizeof(buf));
		break;
	case 3:
		if (one_in(4))
			mock_pmu_write(pmu, "guest", "%d %u", any_cpu(), 1);
		break;
	default:
		mock_pmu_write(pmu, "tick", "%d %u", any_cpu(), 1 + rnd(300));
		break;
	}
}

static void call_cgroup(void)
{
	int i = 1 + rnd(NR_CGROUPS);
	pid_t pid = any_task();

	switch (rnd(6)) {
	case 0:
		rmdir(cgroup_path[i]);
		break;
	case 1:
		mkdir(cgroup_path[i], 0755);
		break;
	default:
		if (pid >= 0)
			cg_enter(cgroup_path[rnd(NR_CGROUPS + 1)], pid ?: getpid());
		break;
	}
}

static void call_task(void)
{
	struct pollfd pollfd = { .fd = any_fd(), .events = POLLIN };
	int fd;

	switch (rnd(8)) {
	case 0:
		prctl(one_in(2) ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE);
		break;
	case 1:
		pin_to_cpu(rnd(nr_cpus));
		break;
	case 2:
		usleep(rnd(500));
		break;
	case 3:
		breakpoint_target++;
		break;
	case 4:
		poll(&pollfd, 1, 0);
		break;
	case 5:
		fd = any_fd();
		fcntl(fd, F_SETOWN, getpid());
		fcntl(fd, F_SETFL, one_in(2) ? O_ASYNC : 0);
		break;
	default:
		sched_yield();
		break;
	}
}

static void *thread(void *arg)
{
	burn_cpu((long)arg);
	return NULL;
}

static void call_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, thread, (void *)(long)rnd(2)))
		return;
	pthread_join(t, NULL);
}

static void fuzz(unsigned long calls);

static void end_child(int i)
{
	if (child[i] <= 0)
		return;
	if (one_in(2))
		kill(child[i], SIGKILL);
	waitpid(child[i], NULL, 0);
	child[i] = -1;
}

/* A child goes on with the same events, then ends or executes this program. */
static void call_fork(void)
{
	int i = rnd(NR_CHILDREN), j;
	unsigned int seed = rnd(1U << 30);
	unsigned int calls = rnd(CHILD_CALLS);
	bool exec = one_in(3);

	if (child[i] > 0) {
		end_child(i);
		return;
	}
	if (depth == MAX_DEPTH)
		return;
	child[i] = fork();
	if (child[i])
		return;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	depth++;
	set_seed(seed);
	/* Rings are not inherited. */
	for (j = 0; j < NR_SLOTS; j++)
		slot[j].map = NULL;
	for (j = 0; j < NR_CHILDREN; j++)
		child[j] = -1;
	fuzz(calls);
	for (j = 0; j < NR_CHILDREN; j++)
		end_child(j);
	if (exec)
		execl("/proc/self/exe", "nothing", NULL);
	_exit(0);
}

static void fuzz(unsigned long calls)
{
	while (calls--) {
		__atomic_fetch_add(&shared->calls, 1, __ATOMIC_RELAXED);
		switch (rnd(64)) {
		case 0 ... 15:
			call_open();
			break;
		case 16 ... 17:
			call_open_group();
			break;
		case 18 ... 29:
			call_ioctl();
			break;
		case 30 ... 36:
			call_read();
			break;
		case 37 ... 42:
			call_mmap();
			break;
		case 43 ... 44:
			call_ring();
			break;
		case 45 ... 50:
			call_mock();
			break;
		case 51 ... 54:
			call_cgroup();
			break;
		case 55 ... 58:
			call_task();
			break;
		case 59:
			call_thread();
			break;
		case 60:
			call_fork();
			break;
		default:
			drop(&slot[rnd(NR_SLOTS)]);
			break;
		}
	}
}

static void ignore(int sig)
{
}

/* Whether the core has left the PMU disabled on any CPU */
static bool left_disabled(const char *pmu)
{
	char buf[1024], *line, *rest;

	if (mock_pmu_read(pmu, "disabled", buf, sizeof(buf)))
		return true;
	for (line = strtok_r(buf, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strcmp(strchr(line, ' ') ?: "", " 0"))
			return true;
	}
	return false;
}

/*
 * The kernel turns its hooks on and off by patching its code, which QEMU's
 * emulation of several CPUs now and then overlooks on one of them: keep them on.
 */
static void keep_hooks_on(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE };
	int i;

	for (i = 0; i < (int)ARRAY_SIZE(software); i++) {
		attr.config = software[i];
		perf_open(&attr, 0, -1, -1, 0);
	}
}

static void test(unsigned int seed, unsigned long calls)
{
	char counters[NR_PMUS][16], root[256], name[32], *top;
	const char *missing;
	int i, tries;

	missing = cgroup_missing(root, sizeof(root)) ?: mock_pmu_missing();
	if (missing)
		ksft_exit_skip("%s\n", missing);
	for (i = 0; i < NR_PMUS; i++) {
		pmu_type[i] = mock_pmu_type(pmu_name[i]);
		if (mock_pmu_read(pmu_name[i], "counters", counters[i], sizeof(counters[i])))
			ksft_exit_fail_msg("no counters of %s\n", pmu_name[i]);
	}
	top = cg_name_indexed(root, "perf_events", getpid());
	cgroup_path[0] = top;
	for (i = 1; i <= NR_CGROUPS; i++) {
		snprintf(name, sizeof(name), i % 2 ? "a%d" : "a%d/b", i - !(i % 2));
		cgroup_path[i] = cg_name(top, name);
	}
	for (i = 0; i <= NR_CGROUPS; i++) {
		if (cg_create(cgroup_path[i]))
			ksft_exit_fail_msg("cannot make %s\n", cgroup_path[i]);
	}

	for (i = 0; i < NR_SLOTS; i++)
		slot[i].fd = -1;
	for (i = 0; i < NR_CHILDREN; i++)
		child[i] = -1;
	keep_hooks_on();
	set_seed(seed);
	while (shared->calls < calls)
		fuzz(100);

	for (i = 0; i < NR_CHILDREN; i++) {
		if (child[i] > 0)
			kill(child[i], SIGKILL);
		end_child(i);
	}
	for (i = 0; i < NR_SLOTS; i++)
		drop(&slot[i]);
	ksft_print_msg("%lu calls, %lu events\n", shared->calls, shared->opened);

	cg_enter_current(root);
	for (i = 0; i < NR_PMUS; i++) {
		mock_pmu_write(pmu_name[i], "fail_event_init", "0 0 0");
		mock_pmu_write(pmu_name[i], "fail_event_init_child", "0 0 0");
		mock_pmu_write(pmu_name[i], "fail_add", "0 0 0");
		/* This is refused as long as there is an event. */
		for (tries = 0; tries < 1000; tries++) {
			if (!mock_pmu_write(pmu_name[i], "counters", "%s", counters[i]))
				break;
			usleep(10000);
		}
		ksft_test_result(tries < 1000, "no event is left at %s\n", pmu_name[i]);
		ksft_test_result(!left_disabled(pmu_name[i]), "%s is on\n", pmu_name[i]);
	}
	ksft_test_result(!cgroup_remove(top) || access(top, F_OK), "cgroups can be removed\n");
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = ignore, .sa_flags = SA_RESTART };
	unsigned int seed = argc > 1 ? strtoul(argv[1], NULL, 0) : time(NULL);
	unsigned long calls = argc > 2 ? strtoul(argv[2], NULL, 0) : DEFAULT_CALLS;

	if (argc && !strcmp(argv[0], "nothing"))
		return 0;
	ksft_print_header();
	ksft_print_msg("fuzz %u %lu\n", seed, calls);

	page_size = sysconf(_SC_PAGESIZE);
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	sigaction(SIGTRAP, &action, NULL);
	sigaction(SIGIO, &action, NULL);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		ksft_exit_fail_msg("no memory\n");

	ksft_set_plan(2 * NR_PMUS + 1);
	test(seed, calls);
	ksft_finished();
}
