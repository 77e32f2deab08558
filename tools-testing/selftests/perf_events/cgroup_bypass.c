// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a CPU asks of its PMUs when it switches between cgroups. An event on a
 * cgroup counts what is below that, too: only a switch that enters or leaves a
 * cgroup with events may call a PMU, and only for the events of that cgroup.
 *
 * Two tasks take turns on CPU 0, so many times for each command. Between the
 * commands CPU 0 is idle, which belongs to the root cgroup. Other tasks of the
 * root cgroup may get in between: where that matters, the least of a few rounds
 * counts.
 */

#include <errno.h>

#include <sys/ioctl.h>

#include "common.h"
#include "kselftest_harness.h"

#define NR_PMUS		2
#define NR_COUNTERS	4
#define MAX_EVENTS	8
#define ROUNDS		20
#define TURNS		50

static const char * const pmu_name[NR_PMUS] = { "mock0", "mock1" };
#define MUX_INTERVAL	"/sys/bus/event_source/devices/mock0/perf_event_mux_interval_ms"

/* The calls that move an event, or that are made around such calls */
enum { ADD, DEL, DISABLE, ENABLE, NR_CALLS };
static const char * const call_name[NR_CALLS] = { "add", "del", "pmu_disable", "pmu_enable" };

struct calls {
	long nr[NR_PMUS][NR_CALLS];
};

/*
 * The tree of cgroups: a and b are siblings, and so is m, with m/x, m/x/z and
 * m/y below.
 */
enum place { ROOT, A, B, M, M_X, M_X_Z, M_Y, NR_PLACES };
static const char * const place_name[NR_PLACES] = {
	"", "a", "b", "m", "m/x", "m/x/z", "m/y"
};

struct task {
	pid_t pid;
	/* The other end of these is the task's. */
	int command;
	int done;
};

FIXTURE(cgroup_bypass)
{
	char root[256];
	char *top;
	char *path[NR_PLACES];
	char counters[NR_PMUS][16];
	char interval[16];
	int fd[MAX_EVENTS];
	int nr_fds;
	/* Of ping; pong only answers. */
	struct task task;
	pid_t pong;
	/* Read and write ends */
	int there[2];
	int back[2];
};

FIXTURE_SETUP(cgroup_bypass)
{
	const char *missing;
	int i;

	missing = cgroup_missing(self->root, sizeof(self->root)) ?: mock_pmu_missing();
	if (missing)
		SKIP(return, "%s", missing);
	if (pin_to_cpu(1))
		SKIP(return, "needs CPU 0 and CPU 1");

	for (i = 0; i < NR_PMUS; i++) {
		ASSERT_EQ(0, mock_pmu_read(pmu_name[i], "counters", self->counters[i],
					   sizeof(self->counters[i])));
		ASSERT_EQ(0, mock_pmu_write(pmu_name[i], "counters", "%d", NR_COUNTERS));
	}
	ASSERT_LT(0, read_text(MUX_INTERVAL, self->interval, sizeof(self->interval)));

	self->top = cg_name_indexed(self->root, "perf_events", getpid());
	ASSERT_EQ(0, cg_create(self->top));
	self->path[ROOT] = cg_name(self->root, "");
	for (i = A; i < NR_PLACES; i++) {
		self->path[i] = cg_name(self->top, place_name[i]);
		ASSERT_EQ(0, cg_create(self->path[i]));
	}
}

FIXTURE_TEARDOWN(cgroup_bypass)
{
	int i;

	if (self->task.pid > 0) {
		kill(self->task.pid, SIGKILL);
		waitpid(self->task.pid, NULL, 0);
	}
	if (self->pong > 0) {
		kill(self->pong, SIGKILL);
		waitpid(self->pong, NULL, 0);
	}
	for (i = 0; i < self->nr_fds; i++)
		close(self->fd[i]);
	for (i = 0; i < NR_PMUS; i++)
		EXPECT_EQ(0, mock_pmu_write(pmu_name[i], "counters", "%s", self->counters[i]));
	EXPECT_LT(0, write_text(MUX_INTERVAL, self->interval, strlen(self->interval)));
	EXPECT_EQ(0, cgroup_remove(self->top));
	for (i = 0; i < NR_PLACES; i++)
		free(self->path[i]);
	free(self->top);
}

static void ping(int there, int back, int command, int done)
{
	int i, nr;
	char c;

	while (read(command, &nr, sizeof(nr)) == sizeof(nr)) {
		for (i = 0; i < nr; i++) {
			if (write(there, "", 1) != 1 || read(back, &c, 1) != 1)
				_exit(1);
		}
		if (write(done, "", 1) != 1)
			_exit(1);
	}
	_exit(1);
}

static void pong(int there, int back)
{
	char c;

	while (read(there, &c, 1) == 1 && write(back, &c, 1) == 1)
		;
	_exit(1);
}

static pid_t fork_into(const char *path)
{
	struct sched_param param = { .sched_priority = 1 };
	pid_t pid = fork();

	if (pid)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || pin_to_cpu(0) || cg_enter_current(path))
		_exit(1);
	/* Then neither preempts the other one, and few others can. */
	sched_setscheduler(0, SCHED_FIFO, &param);
	return 0;
}

#define self_start(first, second) start_tasks(_metadata, self, first, second)
static void start_tasks(struct __test_metadata *_metadata,
			FIXTURE_DATA(cgroup_bypass) * self, enum place first, enum place second)
{
	int command[2], done[2], i;

	ASSERT_EQ(0, pipe(self->there));
	ASSERT_EQ(0, pipe(self->back));
	ASSERT_EQ(0, pipe(command));
	ASSERT_EQ(0, pipe(done));

	self->pong = fork_into(self->path[second]);
	ASSERT_LE(0, self->pong);
	if (!self->pong)
		pong(self->there[0], self->back[1]);

	self->task.pid = fork_into(self->path[first]);
	ASSERT_LE(0, self->task.pid);
	if (!self->task.pid)
		ping(self->there[1], self->back[0], command[0], done[1]);

	self->task.command = command[1];
	self->task.done = done[0];

	/* Both are where they belong once they have taken turns. */
	for (i = 0; i < 2; i++) {
		int nr = 1;
		char c;

		ASSERT_EQ(sizeof(nr), write(self->task.command, &nr, sizeof(nr)));
		ASSERT_EQ(1, read(self->task.done, &c, 1));
	}
}

/* Let the tasks take turns so many times: 2 * @turns switches and a few more. */
#define self_turns(turns, calls) take_turns(_metadata, self, turns, calls)
static void take_turns(struct __test_metadata *_metadata,
		       FIXTURE_DATA(cgroup_bypass) * self, int turns, struct calls *calls)
{
	int pmu, call;
	char c;

	ASSERT_EQ(0, wait_off_cpu(self->task.pid));
	ASSERT_EQ(0, wait_off_cpu(self->pong));
	for (pmu = 0; pmu < NR_PMUS; pmu++)
		ASSERT_EQ(0, mock_pmu_write(pmu_name[pmu], "calls", "0"));
	ASSERT_EQ(sizeof(turns), write(self->task.command, &turns, sizeof(turns)));
	ASSERT_EQ(1, read(self->task.done, &c, 1));
	ASSERT_EQ(0, wait_off_cpu(self->task.pid));
	ASSERT_EQ(0, wait_off_cpu(self->pong));
	for (pmu = 0; pmu < NR_PMUS; pmu++) {
		for (call = 0; call < NR_CALLS; call++) {
			calls->nr[pmu][call] = mock_pmu_calls(pmu_name[pmu], call_name[call]);
			ASSERT_LE(0, calls->nr[pmu][call]);
		}
	}
}

/* The same; the least calls of a few rounds, which is what the tasks need. */
#define self_least_calls(calls) least_calls(_metadata, self, calls)
static void least_calls(struct __test_metadata *_metadata,
			FIXTURE_DATA(cgroup_bypass) * self, struct calls *least)
{
	struct calls calls;
	int round, pmu;

	for (round = 0; round < ROUNDS; round++) {
		self_turns(TURNS, &calls);
		for (pmu = 0; pmu < NR_PMUS; pmu++) {
			if (!round || calls.nr[pmu][DISABLE] < least->nr[pmu][DISABLE])
				memcpy(least->nr[pmu], calls.nr[pmu], sizeof(calls.nr[pmu]));
		}
	}
}

static void expect_calls(struct __test_metadata *_metadata, const struct calls *calls, int pmu,
			 long moved, long touched)
{
	EXPECT_EQ(moved, calls->nr[pmu][ADD]);
	EXPECT_EQ(moved, calls->nr[pmu][DEL]);
	EXPECT_EQ(touched, calls->nr[pmu][DISABLE]);
	EXPECT_EQ(touched, calls->nr[pmu][ENABLE]);
}

/* An event of a mock PMU on a cgroup, or on the CPU if that is -1 */
#define self_open(pmu, place) open_event(_metadata, self, pmu, place, 0)
#define self_open_pinned(pmu, place) open_event(_metadata, self, pmu, place, 1)
static int open_event(struct __test_metadata *_metadata,
		      FIXTURE_DATA(cgroup_bypass) * self, int pmu, int place, bool pinned)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(pmu_name[pmu]),
		.read_format = PERF_COUNT_FORMAT,
		.pinned = pinned,
	};
	int fd;

	fd = place < 0 ? perf_open(&attr, -1, 0, -1, 0) :
			 perf_open_cgroup(&attr, self->path[place], 0);
	ASSERT_LE(0, fd) {
		TH_LOG("event on %s: %s", place < 0 ? "the CPU" : self->path[place],
		       strerror(errno));
	}
	self->fd[self->nr_fds++] = fd;
	return fd;
}

#define CPU_WIDE	(-1)

/* Neither cgroup has events: whatever others have, nothing is to be done. */
TEST_F(cgroup_bypass, siblings)
{
	struct calls calls;
	int i;

	self_open(0, CPU_WIDE);
	self_open(1, CPU_WIDE);
	for (i = 0; i < 3; i++)
		self_open(0, M);
	self_open(1, M_X);

	self_start(A, B);
	for (i = 0; i < ROUNDS; i++) {
		self_turns(TURNS, &calls);
		expect_calls(_metadata, &calls, 0, 0, 0);
		expect_calls(_metadata, &calls, 1, 0, 0);
	}
}

/* All cgroups are below the one that has events. */
TEST_F(cgroup_bypass, root)
{
	struct calls calls;
	int i;

	self_open(0, CPU_WIDE);
	self_open(0, ROOT);
	self_open(1, ROOT);

	self_start(A, M_X);
	for (i = 0; i < ROUNDS; i++) {
		self_turns(TURNS, &calls);
		expect_calls(_metadata, &calls, 0, 0, 0);
		expect_calls(_metadata, &calls, 1, 0, 0);
	}
}

/* Both are: only to enter and to leave it with the first and last task counts. */
TEST_F(cgroup_bypass, children)
{
	struct calls calls;

	self_open(0, CPU_WIDE);
	self_open(0, M);
	self_open(0, M);

	self_start(M_X_Z, M_Y);
	self_least_calls(&calls);
	expect_calls(_metadata, &calls, 0, 2, 2);
	expect_calls(_metadata, &calls, 1, 0, 0);
}

/* One of them has events: these go on and off, and nothing else does. */
TEST_F(cgroup_bypass, enter_and_leave)
{
	struct calls calls;

	self_open(0, CPU_WIDE);
	self_open(0, M);
	self_open(0, M);
	/* These wait for a task in b: the other PMU has nothing to do. */
	self_open(1, CPU_WIDE);
	self_open(1, B);

	self_start(M_X, A);
	self_least_calls(&calls);
	expect_calls(_metadata, &calls, 0, 2 * (TURNS + 1), 2 * (TURNS + 1));
	expect_calls(_metadata, &calls, 1, 0, 0);
}

/* From the one to the other. */
TEST_F(cgroup_bypass, both)
{
	struct calls calls;

	self_open(0, CPU_WIDE);
	self_open(0, A);
	self_open(0, B);
	self_open(0, B);

	self_start(A, B);
	self_least_calls(&calls);
	/* In a, TURNS + 1 times in all; from idle, to b, ..., from b, to idle */
	expect_calls(_metadata, &calls, 0, TURNS + 1 + 2 * TURNS, 2 * TURNS + 2);
}

/* The events of the outer cgroup stay when the CPU enters the inner one. */
TEST_F(cgroup_bypass, nested)
{
	struct calls calls;

	self_open(0, CPU_WIDE);
	self_open(0, M);
	self_open(0, M_X);

	self_start(M_X_Z, M_Y);
	self_least_calls(&calls);
	/* That of m goes on and off once, the other with every turn. */
	expect_calls(_metadata, &calls, 0, 1 + TURNS + 1, 2 * (TURNS + 1));
}

/* A disabled event is none, and neither is one that is closed. */
TEST_F(cgroup_bypass, disabled)
{
	struct calls calls;
	int fd, i;

	self_open(0, CPU_WIDE);
	self_open(0, ROOT);
	fd = self_open(0, A);
	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	close(self_open(0, B));
	self->nr_fds--;

	self_start(A, B);
	for (i = 0; i < ROUNDS; i++) {
		self_turns(TURNS, &calls);
		expect_calls(_metadata, &calls, 0, 0, 0);
	}

	ASSERT_EQ(0, ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	self_least_calls(&calls);
	expect_calls(_metadata, &calls, 0, TURNS + 1, 2 * (TURNS + 1));
}

/* The task that runs is moved, with its events on the PMU as well. */
TEST_F(cgroup_bypass, move)
{
	static const struct {
		enum place to;
		long moved;
		long touched;
	} moves[] = {
		{ B, 0, 0 },
		{ M, 1, 1 },
		{ M_Y, 0, 0 },
		{ M_X, 1, 1 },
		{ M_X_Z, 0, 0 },
		{ M, 1, 1 },
		{ A, 1, 1 },
		{ M_X_Z, 2, 1 },
	};
	struct perf_event_attr attr = { .type = mock_pmu_type(pmu_name[0]) };
	struct spinner spinner;
	long moved, disable, enable;
	int i, try, fd;

	self_open(0, CPU_WIDE);
	self_open(0, M);
	self_open(0, M_X);
	ASSERT_EQ(0, spinner_create(&spinner, 0));
	fd = perf_open(&attr, spinner.pid, -1, -1, 0);
	ASSERT_LE(0, fd);
	self->fd[self->nr_fds++] = fd;

	for (i = 0; i < (int)ARRAY_SIZE(moves); i++) {
		/* Another task may have the CPU at that moment. Then try again. */
		for (try = 0; try < ROUNDS; try++) {
			ASSERT_EQ(0, cg_enter(self->path[i ? moves[i - 1].to : A], spinner.pid));
			ASSERT_EQ(0, spinner_go(&spinner));
			spinner_wait(&spinner, 2);
			ASSERT_EQ(0, mock_pmu_write(pmu_name[0], "calls", "0"));
			ASSERT_EQ(0, cg_enter(self->path[moves[i].to], spinner.pid));
			moved = mock_pmu_calls(pmu_name[0], "add") +
				mock_pmu_calls(pmu_name[0], "del");
			disable = mock_pmu_calls(pmu_name[0], "pmu_disable");
			enable = mock_pmu_calls(pmu_name[0], "pmu_enable");
			ASSERT_EQ(0, spinner_halt(&spinner));
			if (moved == moves[i].moved && disable == moves[i].touched &&
			    enable == moves[i].touched)
				break;
		}
		EXPECT_EQ(moves[i].moved, moved) {
			TH_LOG("to %s", place_name[moves[i].to]);
		}
		EXPECT_EQ(moves[i].touched, disable);
		EXPECT_EQ(moves[i].touched, enable);
	}

	spinner_destroy(&spinner);
}

static void read_count(struct __test_metadata *_metadata, int fd, struct perf_count *count)
{
	ASSERT_EQ(0, perf_read(fd, count));
}

/*
 * Where there are not enough counters, those who stay have to make way: for a
 * pinned event always, for a flexible one when it is its turn.
 */
TEST_F(cgroup_bypass, not_enough_counters)
{
	struct perf_count count, wide, before;
	int wide_fd, pinned, flexible, i;
	struct calls calls;

	ASSERT_EQ(0, mock_pmu_write(pmu_name[0], "counters", "1"));
	wide_fd = self_open(0, CPU_WIDE);
	pinned = self_open_pinned(0, A);
	flexible = self_open(0, B);
	self_start(A, B);
	for (i = 0; i < 10 * ROUNDS; i++) {
		self_turns(TURNS, &calls);
		read_count(_metadata, flexible, &count);
		if (count.running)
			break;
	}

	/* An event in ERROR state cannot be read. */
	read_count(_metadata, pinned, &count);
	EXPECT_LT(0, count.value);
	EXPECT_EQ(count.enabled, count.running);
	/* The other two share what is left. */
	read_count(_metadata, flexible, &count);
	EXPECT_LT(0, count.running);
	EXPECT_GT(count.enabled, count.running);
	read_count(_metadata, wide_fd, &wide);
	EXPECT_LT(0, wide.running);
	EXPECT_GT(wide.enabled, wide.running);

	/* With room again, all of the time counts, from the next rotation on. */
	ASSERT_EQ(0, ioctl(pinned, PERF_EVENT_IOC_DISABLE, 0));
	ASSERT_EQ(0, ioctl(flexible, PERF_EVENT_IOC_DISABLE, 0));
	for (i = 0; i < 10 * ROUNDS; i++) {
		read_count(_metadata, wide_fd, &before);
		self_turns(TURNS, &calls);
		read_count(_metadata, wide_fd, &wide);
		if (wide.enabled - before.enabled == wide.running - before.running)
			break;
	}
	EXPECT_LT(before.value, wide.value);
	EXPECT_EQ(wide.enabled - before.enabled, wide.running - before.running);
}

/*
 * The counter of a cgroup that a running task leaves goes to who waits, at once
 * and not with the next rotation. @pid is who the event that waits counts, or -1
 * for the CPU.
 */
#define self_expect_counter_passed_on(spinner, pid) \
	expect_counter_passed_on(_metadata, self, spinner, pid)
static void expect_counter_passed_on(struct __test_metadata *_metadata,
				     FIXTURE_DATA(cgroup_bypass) * self,
				     struct spinner *spinner, pid_t pid)
{
	struct perf_event_attr attr = {
		.type = mock_pmu_type(pmu_name[0]),
		.read_format = PERF_COUNT_FORMAT,
	};
	struct perf_count before, count;
	int fd;

	/* That there is none meanwhile */
	ASSERT_LT(0, write_text(MUX_INTERVAL, "10000", 5));
	ASSERT_EQ(0, mock_pmu_write(pmu_name[0], "counters", "1"));
	ASSERT_EQ(0, cg_enter(self->path[A], spinner->pid));
	self_open_pinned(0, A);
	fd = perf_open(&attr, pid, pid < 0 ? 0 : -1, -1, 0);
	ASSERT_LE(0, fd);
	self->fd[self->nr_fds++] = fd;

	ASSERT_EQ(0, spinner_go(spinner));
	spinner_wait(spinner, 2);
	ASSERT_EQ(0, cg_enter(self->path[B], spinner->pid));
	read_count(_metadata, fd, &before);
	spinner_wait(spinner, 2);
	read_count(_metadata, fd, &count);
	ASSERT_EQ(0, spinner_halt(spinner));

	EXPECT_LT(before.running, count.running);
	EXPECT_EQ(count.enabled - before.enabled, count.running - before.running);
}

TEST_F(cgroup_bypass, counter_to_cpu)
{
	struct spinner spinner;

	ASSERT_EQ(0, spinner_create(&spinner, 0));
	self_expect_counter_passed_on(&spinner, -1);
	spinner_destroy(&spinner);
}

TEST_F(cgroup_bypass, counter_to_task)
{
	struct spinner spinner;

	ASSERT_EQ(0, spinner_create(&spinner, 0));
	self_expect_counter_passed_on(&spinner, spinner.pid);
	spinner_destroy(&spinner);
}

/* What runs in the cgroup is counted by the task's real cgroup, not the nearest. */
TEST_F(cgroup_bypass, cgroup_switches)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CGROUP_SWITCHES,
		.read_format = PERF_COUNT_FORMAT,
	};
	struct perf_count count;
	struct calls calls;
	int fd;

	fd = perf_open(&attr, -1, 0, -1, 0);
	ASSERT_LE(0, fd);
	self->fd[self->nr_fds++] = fd;
	self_open(0, ROOT);

	self_start(A, B);
	self_turns(TURNS, &calls);
	expect_calls(_metadata, &calls, 0, 0, 0);
	read_count(_metadata, fd, &count);
	EXPECT_LE(2 * TURNS, count.value);
}

TEST_HARNESS_MAIN
