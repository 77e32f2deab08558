// SPDX-License-Identifier: GPL-2.0-only
/*
 * Much at once, at random, and what must hold at any time: no count and no time
 * goes back; an event is not on a PMU for longer than it is enabled, and not
 * enabled for longer than it exists; what is below a cgroup counts in it; and
 * the clock of a CPU goes as fast as time does.
 *
 * PERF_EVENTS_SECONDS=N lets each test go on for so long, PERF_EVENTS_SEED=N
 * repeats what it does.
 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <sys/ioctl.h>
#include <sys/ptrace.h>

#include "common.h"
#include "kselftest_harness.h"

/* The harness ends a test after that; the seconds asked for have to be less. */
#define MAX_SECONDS	7200
#define DEFAULT_SECONDS	1

static const char * const pmu_name[] = { "mock0", "mock1" };
#define NR_PMUS		((int)ARRAY_SIZE(pmu_name))

#define NR_PINGS	2

struct stress {
	unsigned int seed;
	__u64 end;
	unsigned long steps;
	int nr_cpus;
	int pmu_type[NR_PMUS];
	char counters[NR_PMUS][16];
	/* CPU 0's own clock */
	int clock;
	__u64 clock_min;
	__u64 clock_max;
	pid_t ping[NR_PINGS];
};

/* An event that is watched */
struct watched {
	int fd;
	/* When it was opened, at the earliest */
	__u64 since;
	/* How many CPUs it can be on at once */
	int nr_cpus;
	struct perf_count last;
};

static unsigned int random_number;

static unsigned int rnd(unsigned int n)
{
	random_number = random_number * 1103515245 + 12345;
	return (random_number >> 8) % n;
}

static __u64 wall_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_RAW);
}

/* Two tasks that switch all the time, on CPU 0 */
static int start_pings(pid_t *pid)
{
	int there[2], back[2], i;
	char c;

	if (pipe(there) || pipe(back))
		return -1;
	for (i = 0; i < NR_PINGS; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin_to_cpu(0);
		while (!i && write(there[1], "", 1) == 1 && read(back[0], &c, 1) == 1)
			;
		while (i && read(there[0], &c, 1) == 1 && write(back[1], "", 1) == 1)
			;
		_exit(1);
	}
	for (i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	return pid[0] > 0 && pid[1] > 0 ? 0 : -1;
}

static void end_task(pid_t *pid)
{
	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, __WALL);
	}
	*pid = 0;
}

#define stress_begin(stress) __stress_begin(_metadata, stress)
static void __stress_begin(struct __test_metadata *_metadata, struct stress *stress)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.read_format = PERF_COUNT_FORMAT,
	};
	struct sched_param param = { .sched_priority = 1 };
	const char *seed = getenv("PERF_EVENTS_SEED"), *seconds = getenv("PERF_EVENTS_SECONDS");
	__u64 now;
	int i;

	stress->seed = seed ? strtoul(seed, NULL, 0) : time(NULL);
	TH_LOG("PERF_EVENTS_SEED=%u", stress->seed);
	random_number = stress->seed;
	stress->nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	for (i = 0; i < NR_PMUS; i++) {
		stress->pmu_type[i] = mock_pmu_type(pmu_name[i]);
		ASSERT_EQ(0, mock_pmu_read(pmu_name[i], "counters", stress->counters[i],
					   sizeof(stress->counters[i])));
	}
	now = wall_ns();
	stress->clock = perf_open(&attr, -1, 0, -1, 0);
	ASSERT_LE(0, stress->clock);
	stress->clock_max = now;
	stress->clock_min = wall_ns();
	ASSERT_EQ(0, start_pings(stress->ping));
	/* The others, who never rest, are not to keep this task from its steps. */
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
	stress->end = wall_ns() +
		      (seconds ? strtoul(seconds, NULL, 0) : DEFAULT_SECONDS) * 1000000000ULL;
}

static bool stress_on(struct stress *stress)
{
	/* Where most events are, it does not have to wait for that CPU. */
	if (stress->steps++ % 32 == 0)
		pin_to_cpu(rnd(2) ? 0 : rnd(stress->nr_cpus));
	usleep(rnd(1000));
	return wall_ns() < stress->end;
}

/*
 * The clock of CPU 0: all of the time since it was opened, to 1 %. While that CPU
 * puts its events off and on, a read does not wait for it and gives what was
 * before, which is long ago where the CPU is a virtual one: look again then. And a
 * virtual CPU can lose its processor in between, which no event counts.
 */
#define CLOCK_SLACK_NS	20000000ULL

static void check_clock(struct __test_metadata *_metadata, struct stress *stress)
{
	struct perf_count count;
	int tries = 1000;
	__u64 min, max;

	do {
		min = wall_ns() - stress->clock_min;
		ASSERT_EQ(0, perf_read(stress->clock, &count));
		max = wall_ns() - stress->clock_max;
	} while (count.value + CLOCK_SLACK_NS < min / 100 * 99 && --tries);
	EXPECT_LE(min / 100 * 99, count.value + CLOCK_SLACK_NS);
	EXPECT_GE(max / 100 * 101 + 100, count.value);
	EXPECT_EQ(count.enabled, count.running);
}

static void stress_end(struct stress *stress)
{
	int i;

	for (i = 0; i < NR_PINGS; i++)
		end_task(&stress->ping[i]);
	close(stress->clock);
	for (i = 0; i < NR_PMUS; i++)
		mock_pmu_write(pmu_name[i], "counters", "%s", stress->counters[i]);
}

static int watch(struct watched *watched, struct perf_event_attr *attr, pid_t pid, int cpu,
		 int group_fd, unsigned long flags)
{
	attr->read_format = PERF_COUNT_FORMAT;
	memset(watched, 0, sizeof(*watched));
	watched->since = wall_ns();
	watched->nr_cpus = attr->inherit ? sysconf(_SC_NPROCESSORS_CONF) : 1;
	watched->fd = perf_open(attr, pid, cpu, group_fd, flags);
	return watched->fd;
}

static void unwatch(struct watched *watched)
{
	if (watched->fd >= 0)
		close(watched->fd);
	watched->fd = -1;
}

/*
 * What holds for each event at any time. One in ERROR state, or whose task has
 * gone with its events, cannot be read.
 */
static void check(struct __test_metadata *_metadata, struct watched *watched)
{
	struct perf_count now;

	if (watched->fd < 0 || perf_read(watched->fd, &now))
		return;
	EXPECT_LE(watched->last.value, now.value);
	EXPECT_LE(watched->last.enabled, now.enabled);
	EXPECT_LE(watched->last.running, now.running);
	EXPECT_LE(now.running, now.enabled);
	EXPECT_GE((wall_ns() - watched->since) / 100 * 101 * watched->nr_cpus + 100,
		  now.enabled);
	watched->last = now;
}

static void random_attr(struct stress *stress, struct perf_event_attr *attr)
{
	static const int software[] = {
		PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
		PERF_COUNT_SW_CONTEXT_SWITCHES,
	};

	memset(attr, 0, sizeof(*attr));
	if (rnd(4)) {
		attr->type = stress->pmu_type[rnd(NR_PMUS)];
		attr->config = rnd(2);
	} else {
		attr->type = PERF_TYPE_SOFTWARE;
		attr->config = software[rnd(ARRAY_SIZE(software))];
	}
	attr->disabled = !rnd(4);
	attr->pinned = !rnd(8);
}

static void random_ioctl(int fd)
{
	static const unsigned long request[] = { PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE };

	ioctl(fd, request[rnd(2)], rnd(3) ? 0 : PERF_IOC_FLAG_GROUP);
}

/* Uses up CPU time and memory, sleeps in between. */
static __attribute__((noreturn)) void work(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	volatile char *p = mmap(NULL, page, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		for (i = 0; i < 1000; i++)
			*p = i;
		madvise((void *)p, page, MADV_DONTNEED);
		if (!rnd(8))
			usleep(rnd(1000));
	}
}

static pid_t start_work(int cpu)
{
	pid_t pid = fork();

	if (!pid) {
		if (cpu >= 0)
			pin_to_cpu(cpu);
		work();
	}
	return pid;
}

/*
 * A tree of cgroups that grows and shrinks. Each cgroup has an event on CPU 0 from
 * the beginning on, before any below it has, so that these cannot have more.
 */
#define NR_NODES	12
#define NR_EVENTS	16
#define NR_WORKERS	4
#define MAX_DEPTH	5

struct node {
	char *path;
	int parent;
	int depth;
	int nr_children;
	struct watched faults;
	/* What those had that were below it and are gone */
	__u64 gone_value;
	__u64 gone_enabled;
};

FIXTURE(stress_cgroup)
{
	struct stress stress;
	char root[256];
	struct node node[NR_NODES];
	struct watched event[NR_EVENTS];
	pid_t worker[NR_WORKERS];
	int where[NR_WORKERS];
	int offline;
	unsigned long moves;
	unsigned long hotplugs;
};

FIXTURE_SETUP(stress_cgroup)
{
	const char *missing;
	int i;

	missing = cgroup_missing(self->root, sizeof(self->root)) ?: mock_pmu_missing();
	if (missing)
		SKIP(return, "%s", missing);
	for (i = 0; i < NR_NODES; i++)
		self->node[i].faults.fd = -1;
	for (i = 0; i < NR_EVENTS; i++)
		self->event[i].fd = -1;
	stress_begin(&self->stress);
}

static int set_online(int cpu, bool on)
{
	char path[128], value[2] = { on ? '1' : '0', '\0' };

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return write_text(path, value, 1) == 1 ? 0 : -1;
}

FIXTURE_TEARDOWN(stress_cgroup)
{
	int i;

	if (self->offline)
		set_online(self->offline, true);
	for (i = 0; i < NR_WORKERS; i++)
		end_task(&self->worker[i]);
	for (i = 0; i < NR_EVENTS; i++)
		unwatch(&self->event[i]);
	for (i = 0; i < NR_NODES; i++)
		unwatch(&self->node[i].faults);
	stress_end(&self->stress);
	if (self->node[0].path)
		EXPECT_EQ(0, cgroup_remove(self->node[0].path));
	for (i = 0; i < NR_NODES; i++)
		free(self->node[i].path);
}

static int watch_cgroup(struct watched *watched, struct perf_event_attr *attr, const char *path,
			int cpu, int group_fd)
{
	int dir, fd;

	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = watch(watched, attr, dir, cpu, group_fd, PERF_FLAG_PID_CGROUP);
	close(dir);
	return fd;
}

#define self_add_node(i, parent) add_node(_metadata, self, i, parent)
static void add_node(struct __test_metadata *_metadata, FIXTURE_DATA(stress_cgroup) * self,
		     int i, int parent)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
	};
	struct node *node = &self->node[i];

	node->parent = parent;
	node->gone_value = 0;
	node->gone_enabled = 0;
	node->nr_children = 0;
	if (parent < 0) {
		node->depth = 0;
		node->path = cg_name_indexed(self->root, "perf_events", getpid());
	} else {
		node->depth = self->node[parent].depth + 1;
		node->path = cg_name_indexed(self->node[parent].path, "n", i);
		self->node[parent].nr_children++;
	}
	ASSERT_EQ(0, cg_create(node->path));
	ASSERT_LE(0, watch_cgroup(&node->faults, &attr, node->path, 0, -1));
}

#define self_remove_node(i) remove_node(_metadata, self, i)
static void remove_node(struct __test_metadata *_metadata, FIXTURE_DATA(stress_cgroup) * self,
			int i)
{
	struct node *node = &self->node[i], *parent = &self->node[node->parent];
	struct perf_count count;
	int j;

	for (j = 0; j < NR_WORKERS; j++) {
		if (self->where[j] == i) {
			ASSERT_EQ(0, cg_enter(parent->path, self->worker[j]));
			self->where[j] = node->parent;
		}
	}
	/* With all the events that it has */
	ASSERT_EQ(0, cg_destroy(node->path));
	ASSERT_EQ(0, perf_read(node->faults.fd, &count));
	parent->gone_value += count.value;
	parent->gone_enabled += count.enabled;
	parent->nr_children--;
	unwatch(&node->faults);
	free(node->path);
	node->path = NULL;
}

/* Those below a cgroup first: it may only get more meanwhile. */
#define self_check_sum(i) check_sum(_metadata, self, i)
static void check_sum(struct __test_metadata *_metadata, FIXTURE_DATA(stress_cgroup) * self,
		      int i)
{
	__u64 value = self->node[i].gone_value, enabled = self->node[i].gone_enabled;
	struct perf_count count;
	int j;

	if (!self->node[i].path)
		return;
	for (j = 0; j < NR_NODES; j++) {
		if (!self->node[j].path || self->node[j].parent != i)
			continue;
		ASSERT_EQ(0, perf_read(self->node[j].faults.fd, &count));
		value += count.value;
		enabled += count.enabled;
	}
	ASSERT_EQ(0, perf_read(self->node[i].faults.fd, &count));
	EXPECT_LE(value, count.value);
	EXPECT_LE(enabled, count.enabled);
	EXPECT_EQ(count.enabled, count.running);
}

static void step_cgroup(struct __test_metadata *_metadata, FIXTURE_DATA(stress_cgroup) * self)
{
	struct stress *stress = &self->stress;
	int i = rnd(NR_NODES), j = rnd(NR_NODES), k;
	struct perf_event_attr attr;
	struct watched *event;

	switch (rnd(10)) {
	case 0:
		if (!self->node[i].path && self->node[j].path && self->node[j].depth < MAX_DEPTH)
			self_add_node(i, j);
		else if (i && self->node[i].path && !self->node[i].nr_children)
			self_remove_node(i);
		break;
	case 1 ... 3:
		k = rnd(NR_WORKERS);
		if (!self->node[i].path)
			break;
		ASSERT_EQ(0, cg_enter(self->node[i].path, self->worker[k]));
		self->where[k] = i;
		self->moves++;
		break;
	case 4 ... 6:
		event = &self->event[rnd(NR_EVENTS)];
		random_attr(stress, &attr);
		k = self->event[rnd(NR_EVENTS)].fd;
		unwatch(event);
		if (!rnd(3))
			watch(event, &attr, -1, rnd(stress->nr_cpus), -1, 0);
		else if (self->node[i].path)
			watch_cgroup(event, &attr, self->node[i].path, rnd(stress->nr_cpus),
				     rnd(2) ? -1 : k);
		break;
	case 7 ... 8:
		random_ioctl(self->event[rnd(NR_EVENTS)].fd);
		break;
	default:
		/* The CPU that comes back has lost its events. */
		if (rnd(8) || stress->nr_cpus < 2)
			break;
		if (self->offline) {
			ASSERT_EQ(0, set_online(self->offline, true));
			self->offline = 0;
		} else {
			k = 1 + rnd(stress->nr_cpus - 1);
			if (set_online(k, false))
				break;
			self->offline = k;
			self->hotplugs++;
		}
		break;
	}
}

TEST_F_TIMEOUT(stress_cgroup, tree, MAX_SECONDS)
{
	struct stress *stress = &self->stress;
	int i;

	self_add_node(0, -1);
	for (i = 0; i < NR_WORKERS; i++) {
		/* Two of them always on CPU 0, in turns with those that switch */
		self->worker[i] = start_work(i % 2 ? -1 : 0);
		ASSERT_LT(0, self->worker[i]);
		ASSERT_EQ(0, cg_enter(self->node[0].path, self->worker[i]));
	}
	for (i = 0; i < NR_PINGS; i++)
		ASSERT_EQ(0, cg_enter(self->node[0].path, stress->ping[i]));

	while (stress_on(stress) && _metadata->exit_code == KSFT_PASS) {
		step_cgroup(_metadata, self);
		self_check_sum(rnd(NR_NODES));
		check(_metadata, &self->event[rnd(NR_EVENTS)]);
		i = rnd(NR_NODES);
		check(_metadata, &self->node[i].faults);
		check_clock(_metadata, stress);
	}
	for (i = 0; i < NR_NODES; i++)
		self_check_sum(i);
	TH_LOG("%lu steps, %lu moves, %lu times a CPU went offline", stress->steps, self->moves,
	       self->hotplugs);
}

/* Tasks that are monitored by others, while they fork, make threads and end */
#define NR_FORKERS	3
#define NR_INHERITED	4

struct forks {
	unsigned long nr;
};

FIXTURE(stress_fork)
{
	struct stress stress;
	pid_t forker[NR_FORKERS];
	struct watched inherited[NR_FORKERS][NR_INHERITED];
	struct watched event[NR_EVENTS];
	struct forks *forks;
};

FIXTURE_SETUP(stress_fork)
{
	const char *missing = mock_pmu_missing();
	int i;

	if (missing)
		SKIP(return, "%s", missing);
	memset(self->inherited, 0xff, sizeof(self->inherited));
	for (i = 0; i < NR_EVENTS; i++)
		self->event[i].fd = -1;
	self->forks = mmap(NULL, sizeof(*self->forks), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->forks);
	stress_begin(&self->stress);
}

FIXTURE_TEARDOWN(stress_fork)
{
	int i;

	for (i = 0; i < NR_FORKERS; i++)
		end_task(&self->forker[i]);
	for (i = 0; i < NR_FORKERS * NR_INHERITED; i++)
		unwatch(&self->inherited[i / NR_INHERITED][i % NR_INHERITED]);
	for (i = 0; i < NR_EVENTS; i++)
		unwatch(&self->event[i]);
	stress_end(&self->stress);
	munmap(self->forks, sizeof(*self->forks));
}

static void *thread(void *arg)
{
	burn_cpu(rnd(2));
	return NULL;
}

/* Children, some with children of their own and some with threads */
static void fork_some(struct forks *forks, int depth)
{
	pthread_t threads[2];
	pid_t pid[3];
	int i, nr;

	nr = 1 + rnd(3);
	for (i = 0; i < nr; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		random_number += getpid();
		if (depth && !rnd(3))
			fork_some(forks, depth - 1);
		if (rnd(2) && !pthread_create(&threads[0], NULL, thread, NULL)) {
			if (!rnd(2) && !pthread_create(&threads[1], NULL, thread, NULL))
				pthread_join(threads[1], NULL);
			/* Some end with a thread that goes on. */
			if (rnd(2))
				pthread_join(threads[0], NULL);
		}
		if (!rnd(4))
			execl("/proc/self/exe", "nothing", NULL);
		_exit(0);
	}
	for (i = 0; i < nr; i++) {
		if (pid[i] <= 0)
			continue;
		__atomic_fetch_add(&forks->nr, 1, __ATOMIC_RELAXED);
		if (!rnd(4))
			kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
}

TEST_F_TIMEOUT(stress_fork, storm, MAX_SECONDS)
{
	struct stress *stress = &self->stress;
	struct perf_event_attr attr;
	struct watched *event;
	int i, j, k, cpu, leader;

	for (i = 0; i < NR_FORKERS; i++) {
		self->forker[i] = fork();
		ASSERT_LE(0, self->forker[i]);
		if (!self->forker[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			random_number += i;
			for (;;)
				fork_some(self->forks, 2);
		}
		for (j = leader = 0; j < NR_INHERITED; j++) {
			attr = (struct perf_event_attr) { .inherit = 1 };
			if (j == 1) {
				attr.type = stress->pmu_type[0];
			} else {
				attr.type = PERF_TYPE_SOFTWARE;
				attr.config = j == 3 ? PERF_COUNT_SW_PAGE_FAULTS :
						       PERF_COUNT_SW_TASK_CLOCK;
			}
			/* A group of two, and two for themselves */
			leader = j == 1 ? self->inherited[i][0].fd : -1;
			ASSERT_LE(0, watch(&self->inherited[i][j], &attr, self->forker[i], -1,
					   leader, 0));
		}
	}

	while (stress_on(stress) && _metadata->exit_code == KSFT_PASS) {
		i = rnd(NR_FORKERS);
		j = rnd(NR_INHERITED);
		event = &self->event[rnd(NR_EVENTS)];
		switch (rnd(8)) {
		case 0 ... 3:
			k = self->event[rnd(NR_EVENTS)].fd;
			random_attr(stress, &attr);
			attr.inherit = rnd(4) > 0;
			attr.enable_on_exec = !rnd(4);
			attr.remove_on_exec = !rnd(4) && !attr.enable_on_exec;
			unwatch(event);
			cpu = rnd(4) ? -1 : (int)rnd(stress->nr_cpus);
			watch(event, &attr, self->forker[i], cpu, rnd(2) ? -1 : k, 0);
			break;
		case 4:
			random_ioctl(self->inherited[i][j].fd);
			break;
		case 5 ... 6:
			random_ioctl(event->fd);
			break;
		default:
			unwatch(event);
			break;
		}
		check(_metadata, &self->inherited[i][j]);
		check(_metadata, &self->event[rnd(NR_EVENTS)]);
		check_clock(_metadata, stress);
	}
	TH_LOG("%lu steps, %lu children", stress->steps, self->forks->nr);
	EXPECT_LT(0, self->forks->nr);
}

/* More groups than there are counters, on tasks that exec() and are traced */
#define NR_TASKS	2
#define NR_GROUPS	6
#define GROUP_SIZE	3
/* Two groups, of two mock events and one of software each */
#define NR_COUNTERS	4

FIXTURE(stress_groups)
{
	struct stress stress;
	pid_t task[NR_TASKS];
	struct watched event[NR_TASKS][NR_GROUPS][GROUP_SIZE];
	bool traced[NR_TASKS];
};

FIXTURE_SETUP(stress_groups)
{
	const char *missing = mock_pmu_missing();
	int tries = 1000;

	if (missing)
		SKIP(return, "%s", missing);
	memset(self->event, 0xff, sizeof(self->event));
	stress_begin(&self->stress);
	/* The last events of the test before may be on their way yet. */
	while (atoi(self->stress.counters[0]) != NR_COUNTERS &&
	       mock_pmu_write(pmu_name[0], "counters", "%d", NR_COUNTERS) && --tries)
		usleep(10000);
	ASSERT_LT(0, tries);
}

#define for_each_watched(event, task, self) \
	for ((event) = &(self)->event[task][0][0]; \
	     (event) < &(self)->event[task][0][0] + NR_GROUPS * GROUP_SIZE; (event)++)

FIXTURE_TEARDOWN(stress_groups)
{
	struct watched *event;
	int i;

	for (i = 0; i < NR_TASKS; i++) {
		for_each_watched(event, i, self)
			unwatch(event);
		end_task(&self->task[i]);
	}
	stress_end(&self->stress);
}

/* What such a task does: system calls, and exec() of itself now and then */
static __attribute__((noreturn)) void traced_work(unsigned int seed)
{
	char arg[32];
	int i;

	random_number = seed;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = rnd(200); i; i--) {
		if (!rnd(4))
			burn_cpu(rnd(5));
		else if (rnd(2))
			usleep(rnd(500));
		else
			sched_yield();
	}
	snprintf(arg, sizeof(arg), "%u", rnd(1 << 30));
	execl("/proc/self/exe", "traced", arg, NULL);
	_exit(1);
}

/* Of /proc/PID/stat; a task that is stopped or dead explains events that do not run. */
static char task_state(pid_t pid)
{
	char path[32], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return '-';
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	fclose(file);

	return state;
}

#define self_open_groups(i) open_groups(_metadata, self, i)
static void open_groups(struct __test_metadata *_metadata, FIXTURE_DATA(stress_groups) * self,
			int i)
{
	struct stress *stress = &self->stress;
	struct perf_event_attr attr;
	int j, k;

	for (j = 0; j < NR_GROUPS; j++) {
		for (k = 0; k < GROUP_SIZE; k++) {
			memset(&attr, 0, sizeof(attr));
			attr.type = k < 2 ? stress->pmu_type[0] : PERF_TYPE_SOFTWARE;
			attr.config = k < 2 ? (unsigned int)k : PERF_COUNT_SW_TASK_CLOCK;
			attr.inherit = j % 2;
			ASSERT_LE(0, watch(&self->event[i][j][k], &attr, self->task[i], -1,
					   k ? self->event[i][j][0].fd : -1, 0));
		}
	}
}

/*
 * Stop it, look at it for a while, let it go. Neither that stop nor exec() sends it
 * a signal, which would be on its way yet when the tracer leaves; a step does, but
 * it is the tracer who gets that.
 */
static void step_trace(FIXTURE_DATA(stress_groups) * self, int i)
{
	int status, n;

	if (ptrace(PTRACE_SEIZE, self->task[i], 0, 0) ||
	    ptrace(PTRACE_INTERRUPT, self->task[i], 0, 0))
		return;
	if (waitpid(self->task[i], &status, __WALL) != self->task[i])
		return;
	for (n = rnd(10); n && WIFSTOPPED(status); n--) {
		if (ptrace(rnd(2) ? PTRACE_SYSCALL : PTRACE_SINGLESTEP, self->task[i], 0, 0))
			break;
		if (waitpid(self->task[i], &status, __WALL) != self->task[i])
			break;
	}
	ptrace(PTRACE_DETACH, self->task[i], 0, 0);
}

TEST_F_TIMEOUT(stress_groups, rotation, MAX_SECONDS)
{
	struct stress *stress = &self->stress;
	unsigned long traces = 0;
	struct watched *event;
	int i;

	for (i = 0; i < NR_TASKS; i++) {
		self->task[i] = fork();
		ASSERT_LE(0, self->task[i]);
		if (!self->task[i]) {
			pin_to_cpu(i % stress->nr_cpus);
			traced_work(stress->seed + i);
		}
		self_open_groups(i);
	}

	while (stress_on(stress) && _metadata->exit_code == KSFT_PASS) {
		i = rnd(NR_TASKS);
		event = &self->event[i][rnd(NR_GROUPS)][rnd(GROUP_SIZE)];
		switch (rnd(8)) {
		case 0:
			step_trace(self, i);
			traces++;
			break;
		case 1:
			random_ioctl(event->fd);
			break;
		case 2:
			ioctl(event->fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
			break;
		case 3:
			mock_pmu_write(pmu_name[0], "tick", "%u %u", rnd(NR_TASKS), rnd(100));
			break;
		default:
			break;
		}
		check(_metadata, event);
		check_clock(_metadata, stress);
	}

	/* All of them are on again, and take turns. */
	for (i = 0; i < NR_TASKS; i++) {
		for_each_watched(event, i, self) {
			check(_metadata, event);
			EXPECT_EQ(0, ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0));
		}
		for_each_watched(event, i, self) {
			struct perf_count now;
			int tries = 5000;

			do {
				usleep(2000);
				ASSERT_EQ(0, perf_read(event->fd, &now));
			} while (now.running <= event->last.running && --tries);
			EXPECT_LT(event->last.running, now.running)
				TH_LOG("task %d is in state %c", i, task_state(self->task[i]));
		}
	}
	TH_LOG("%lu steps, traced %lu times", stress->steps, traces);
}

#define main test_main
TEST_HARNESS_MAIN
#undef main
int main(int argc, char *argv[])
{
	if (argc == 2 && !strcmp(argv[0], "traced"))
		traced_work(strtoul(argv[1], NULL, 0));
	if (argc == 1 && !strcmp(argv[0], "nothing"))
		return 0;

	return test_main(argc, argv);
}
