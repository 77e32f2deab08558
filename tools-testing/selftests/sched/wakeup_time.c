// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time between a wakeup and the switch to the wakee: it is charged to the
 * task that ran, and to the wakee it is time that it waited for the CPU.
 *
 * What a test compares are parts of an interval with the whole, all of them by
 * clocks that a virtual CPU which loses its processor sees go on alike. A round
 * can be disturbed all the same, so the median of many counts.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common.h"
#include "kselftest_harness.h"

#define NR_DUPS		100
#define MAX_SETS	400

/* How long the waker's write() shall take; 10000 waiters are about 1 ms. */
#define WALK_NS		1000000

/* Less than that would drown in what the wakeup itself costs. */
#define MIN_WALK_NS	100000

#define ROUNDS		21

/* In seconds: emulated machines are slow, and busy at times. */
#define TIMEOUT		60

/*
 * An eventfd with a long queue of waiters. The first of them is the wakee in
 * poll(), the others are in epoll sets that nobody looks at. So write() wakes
 * the wakee at once, and then keeps interrupts off while it walks the rest of
 * the queue.
 */
FIXTURE(slow_waker)
{
	int fd;
	int dups[NR_DUPS];
	/* What is left over from before */
	cpu_set_t allowed;
};

static void ring(int fd)
{
	__u64 one = 1;

	if (write(fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static void drain(int fd)
{
	__u64 count;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		abort();
}

/* The shortest of a few walks, without a wakee. */
static long long walk_ns(int fd)
{
	long long ns, min = 0;
	int i;

	for (i = 0; i < 5; i++) {
		ns = clock_ns(CLOCK_MONOTONIC);
		ring(fd);
		ns = clock_ns(CLOCK_MONOTONIC) - ns;
		drain(fd);
		if (!min || ns < min)
			min = ns;
	}

	return min;
}

FIXTURE_SETUP(slow_waker)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct rlimit limit;
	int set, i, sets;

	ASSERT_EQ(0, sched_getaffinity(0, sizeof(self->allowed), &self->allowed));
	ASSERT_EQ(0, pin_to_cpu(sched_getcpu()));
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));

	self->fd = eventfd(0, 0);
	if (self->fd < 0)
		SKIP(return, "eventfd: %s", strerror(errno));
	for (i = 0; i < NR_DUPS; i++) {
		self->dups[i] = dup(self->fd);
		ASSERT_LE(0, self->dups[i]);
	}

	for (sets = 0; sets < MAX_SETS && walk_ns(self->fd) < WALK_NS; sets++) {
		set = epoll_create1(0);
		if (set < 0)
			SKIP(return, "epoll_create1: %s", strerror(errno));
		for (i = 0; i < NR_DUPS; i++) {
			if (epoll_ctl(set, EPOLL_CTL_ADD, self->dups[i], &event))
				SKIP(return, "epoll_ctl: %s", strerror(errno));
		}
	}
	if (walk_ns(self->fd) < MIN_WALK_NS)
		SKIP(return, "%d waiters are too few for this machine", sets * NR_DUPS);
}

FIXTURE_TEARDOWN(slow_waker)
{
}

/* What waker and wakee tell each other, in memory that both have */
struct wakee {
	enum {
		/* The queue is to be drained before it polls again. */
		WAKEE_WAITS,
		WAKEE_POLLS,
		WAKEE_DONE,
		WAKEE_FAILED,
	} state;
	pid_t tid;
	int fd;
	struct task_attr attr;
	int error;
	bool stop;

	/* Where it polls, and where it was woken */
	int cpu;
	int woken_cpu;
	long long woken_at;
	/* What it was charged, and how long it waited for the CPU, or -1 */
	long long cpu_ns;
	long long waited_ns;
	/* What is left of its budget, if it is a deadline task */
	long long left_ns;
};

static int wakee_state(struct wakee *wakee)
{
	return __atomic_load_n(&wakee->state, __ATOMIC_ACQUIRE);
}

static void wakee_set_state(struct wakee *wakee, int state)
{
	__atomic_store_n(&wakee->state, state, __ATOMIC_RELEASE);
}

static void wakee_wait_for_state(struct wakee *wakee, int state)
{
	while (wakee_state(wakee) != state && wakee_state(wakee) != WAKEE_FAILED)
		sleep_ns(1000000);
}

static void wakee_fail(struct wakee *wakee)
{
	wakee->error = errno;
	wakee_set_state(wakee, WAKEE_FAILED);
}

static void wakee_poll(struct wakee *wakee)
{
	struct pollfd pollfd = { .fd = wakee->fd, .events = POLLIN };

	wakee->cpu = sched_getcpu();
	wakee_set_state(wakee, WAKEE_POLLS);
	poll(&pollfd, 1, -1);
	/* First of all: to read its CPU clock may end its slice. */
	wakee->woken_at = clock_ns(CLOCK_MONOTONIC);
	wakee->woken_cpu = sched_getcpu();
}

/* How many rounds are of use, and what they gave */
struct rounds {
	int nr;
	/* In per cent of the time from the call of write() until the wakee ran */
	long long waker[ROUNDS];
	long long wakee[ROUNDS];
	long long waited[ROUNDS];
	/* In nanoseconds */
	long long left_ns[ROUNDS];
};

/* Run @rounds with a wakee that has been started. Returns its errno, if it failed. */
static int run_rounds(struct wakee *wakee, struct rounds *rounds)
{
	long long cpu, start, end, walk;
	int i;

	rounds->nr = 0;
	for (i = 0; i < ROUNDS; i++) {
		wakee_wait_for_state(wakee, WAKEE_POLLS);
		while (wakee_state(wakee) == WAKEE_POLLS && !task_sleeps(wakee->tid))
			sleep_ns(1000000);
		if (wakee_state(wakee) == WAKEE_FAILED)
			return wakee->error;
		if (i == ROUNDS - 1)
			wakee->stop = true;
		if (pin_to_cpu(wakee->cpu))
			return errno;

		/* With a full slice, and not always as far from the tick: it reads the clock. */
		sleep_ns(1000000 + i * 180000);
		cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		start = clock_ns(CLOCK_MONOTONIC);
		ring(wakee->fd);
		end = clock_ns(CLOCK_MONOTONIC);
		cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;

		wakee_wait_for_state(wakee, WAKEE_DONE);
		drain(wakee->fd);
		walk = wakee->woken_at - start;
		/* The wakee preempted the waker. */
		if (wakee->woken_at < end && wakee->woken_cpu == wakee->cpu) {
			rounds->waker[rounds->nr] = cpu * 100 / walk;
			rounds->wakee[rounds->nr] = wakee->cpu_ns * 100 / walk;
			rounds->waited[rounds->nr] = wakee->waited_ns < 0 ? -1 :
						     wakee->waited_ns * 100 / walk;
			rounds->left_ns[rounds->nr] = wakee->left_ns;
			rounds->nr++;
		}
		wakee_set_state(wakee, WAKEE_WAITS);
	}

	return 0;
}

static void expect_waker_pays(struct __test_metadata *_metadata, struct rounds *rounds)
{
	long long waker = median(rounds->waker, rounds->nr);
	long long wakee = median(rounds->wakee, rounds->nr);
	long long waited = median(rounds->waited, rounds->nr);

	TH_LOG("of the time until the switch, median of %d: waker %lld %%, wakee %lld %%",
	       rounds->nr, waker, wakee);
	EXPECT_LT(75, waker);
	EXPECT_GT(25, wakee);
	if (waited >= 0) {
		TH_LOG("run delay of the wakee: %lld %%", waited);
		EXPECT_LT(75, waited);
	}
}

static void *wakee_thread(void *arg)
{
	struct wakee *wakee = arg;
	long long cpu, waited;
	int schedstat;

	wakee->tid = syscall(__NR_gettid);
	schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	if (task_set_attr(&wakee->attr)) {
		wakee_fail(wakee);
		return NULL;
	}

	while (!wakee->stop) {
		waited = run_delay(schedstat);
		cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		wakee_poll(wakee);
		wakee->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
		wakee->waited_ns = waited < 0 ? -1 : run_delay(schedstat) - waited;

		wakee_set_state(wakee, WAKEE_DONE);
		wakee_wait_for_state(wakee, WAKEE_WAITS);
	}

	close(schedstat);
	return NULL;
}

static int run_thread_rounds(struct wakee *wakee, struct rounds *rounds)
{
	pthread_t thread;
	int error;

	error = pthread_create(&thread, NULL, wakee_thread, wakee);
	if (error)
		return error;
	error = run_rounds(wakee, rounds);
	/* After an error it may wait for ever: it ends with the test. */
	if (!error)
		pthread_join(thread, NULL);
	return error;
}

TEST_F_TIMEOUT(slow_waker, rt_wakee, TIMEOUT)
{
	static struct wakee wakee = {
		.attr = { .policy = SCHED_FIFO, .priority = 10 },
	};
	struct rounds rounds;
	int error;

	wakee.fd = self->fd;
	error = run_thread_rounds(&wakee, &rounds);
	if (error == EPERM)
		SKIP(return, "SCHED_FIFO needs CAP_SYS_NICE");
	ASSERT_EQ(0, error);
	if (rounds.nr < ROUNDS / 2)
		SKIP(return, "the wakee preempted in %d of %d rounds only", rounds.nr, ROUNDS);
	expect_waker_pays(_metadata, &rounds);
}

/* Under preempt=full the switch comes with the end of the walk, else with that of write(). */
TEST_F_TIMEOUT(slow_waker, fair_wakee, TIMEOUT)
{
	/* A short slice is preferred, a long one outlasts the walk. */
	struct task_attr attr = { .policy = SCHED_OTHER, .runtime = 100000000 };
	static struct wakee wakee = {
		.attr = { .policy = SCHED_OTHER, .runtime = 100000 },
	};
	struct rounds rounds;

	wakee.fd = self->fd;
	ASSERT_EQ(0, task_set_attr(&attr));
	ASSERT_EQ(0, run_thread_rounds(&wakee, &rounds));
	if (rounds.nr < 5)
		SKIP(return, "the wakee preempted in %d of %d rounds only", rounds.nr, ROUNDS);
	expect_waker_pays(_metadata, &rounds);
}

/* A budget that the walk exceeds */
#define DL_RUNTIME_NS	(WALK_NS / 4 * 3)
#define DL_PERIOD_NS	10000000

/* What is left of the budget of this task, negative if it was overrun */
static int dl_left_ns(long long *left)
{
	struct task_attr attr;

	if (task_get_attr(&attr, SCHED_GETATTR_FLAG_DL_DYNAMIC))
		return -1;
	*left = attr.runtime;
	return 0;
}

static void dl_wakee(struct wakee *wakee, const cpu_set_t *allowed)
{
	long long before, waited;
	int schedstat;

	wakee->tid = getpid();
	schedstat = open("/proc/self/schedstat", O_RDONLY);
	/* It may not be bound to one CPU, but stays on this one if it can. */
	if (sched_setaffinity(0, sizeof(*allowed), allowed) || task_set_attr(&wakee->attr)) {
		wakee_fail(wakee);
		return;
	}
	if (dl_left_ns(&before)) {
		errno = EOPNOTSUPP;
		wakee_fail(wakee);
		return;
	}

	for (;;) {
		/* Whatever has happened to its budget, it is full again. */
		sleep_ns(2 * DL_PERIOD_NS);
		waited = run_delay(schedstat);
		dl_left_ns(&before);
		wakee_poll(wakee);
		dl_left_ns(&wakee->left_ns);
		/* If this is another period, it began with a full budget. */
		if (wakee->left_ns > before)
			before = DL_RUNTIME_NS;
		wakee->cpu_ns = before - wakee->left_ns;
		wakee->waited_ns = waited < 0 ? -1 : run_delay(schedstat) - waited;

		wakee_set_state(wakee, WAKEE_DONE);
		wakee_wait_for_state(wakee, WAKEE_WAITS);
	}
}

TEST_F_TIMEOUT(slow_waker, deadline_wakee, TIMEOUT)
{
	struct rounds rounds;
	struct wakee *wakee;
	int error, status;
	pid_t pid;

	wakee = shared_memory(sizeof(*wakee));
	ASSERT_NE(NULL, wakee);
	wakee->fd = self->fd;
	wakee->attr = (struct task_attr) {
		.policy = SCHED_DEADLINE,
		.runtime = DL_RUNTIME_NS,
		.deadline = DL_PERIOD_NS,
		.period = DL_PERIOD_NS,
	};

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dl_wakee(wakee, &self->allowed);
		_exit(1);
	}
	error = run_rounds(wakee, &rounds);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));

	if (error == EPERM)
		SKIP(return, "SCHED_DEADLINE needs CAP_SYS_NICE and all CPUs");
	if (error == EBUSY)
		SKIP(return, "no bandwidth is left for SCHED_DEADLINE");
	if (error == EOPNOTSUPP)
		SKIP(return, "sched_getattr() does not tell the budget that is left");
	ASSERT_EQ(0, error);
	if (rounds.nr < ROUNDS / 2)
		SKIP(return, "the wakee preempted in %d of %d rounds only", rounds.nr, ROUNDS);
	expect_waker_pays(_metadata, &rounds);
	/* The budget is not overrun. */
	EXPECT_LT(0, median(rounds.left_ns, rounds.nr));
}

#define FEATURES	"/sys/kernel/debug/sched/features"
#define TAINTED		"/proc/sys/kernel/tainted"
/* The kernel has warned. */
#define TAINT_WARN	0x200

static int set_feature(const char *feature)
{
	int fd = open(FEATURES, O_WRONLY);
	ssize_t len = fd < 0 ? -1 : write(fd, feature, strlen(feature));

	if (fd >= 0)
		close(fd);
	return len < 0 ? -1 : 0;
}

static bool has_warned(void)
{
	char buf[32] = "";
	int fd = open(TAINTED, O_RDONLY);

	if (fd >= 0) {
		if (read(fd, buf, sizeof(buf) - 1) < 0)
			buf[0] = '\0';
		close(fd);
	}
	return strtoull(buf, NULL, 10) & TAINT_WARN;
}

/*
 * Who asks for the budget that is left locks the runqueue as everybody does: the
 * scheduler warns, where that is enabled, if its clock is brought up to date twice
 * under what it takes for one lock.
 */
TEST(deadline_budget)
{
	struct task_attr attr = {
		.policy = SCHED_DEADLINE,
		.runtime = DL_RUNTIME_NS,
		.deadline = DL_PERIOD_NS,
		.period = DL_PERIOD_NS,
	};
	long long left;
	int i;

	if (has_warned())
		SKIP(return, "the kernel has warned before: one more would not be seen");
	if (task_set_attr(&attr))
		SKIP(return, "SCHED_DEADLINE: %s", strerror(errno));
	if (dl_left_ns(&left))
		SKIP(return, "sched_getattr() does not tell the budget that is left");
	if (set_feature("WARN_DOUBLE_CLOCK"))
		SKIP(return, FEATURES ": %s", strerror(errno));

	for (i = 0; i < 100; i++)
		EXPECT_EQ(0, dl_left_ns(&left));
	EXPECT_EQ(0, set_feature("NO_WARN_DOUBLE_CLOCK"));
	EXPECT_FALSE(has_warned());
}

#define NR_SLEEPS	200

/* Nobody is in the way of a timer's wakeup on an idle CPU, but the exit from idle. */
TEST(idle_exit)
{
	int i, schedstat, delayed = 0;
	long long delay, last;

	schedstat = open("/proc/self/schedstat", O_RDONLY);
	last = run_delay(schedstat);
	if (last < 0)
		SKIP(return, "needs CONFIG_SCHEDSTATS");
	ASSERT_EQ(0, pin_to_cpu(sched_getcpu()));

	for (i = 0; i < NR_SLEEPS; i++) {
		sleep_ns(1000000);
		delay = run_delay(schedstat);
		delayed += delay > last;
		last = delay;
	}

	TH_LOG("%d of %d wakeups had a run delay", delayed, NR_SLEEPS);
	EXPECT_LT(NR_SLEEPS * 9 / 10, delayed);
	close(schedstat);
}

TEST_HARNESS_MAIN
