// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of when the scheduler reads the clock: the time between a wakeup
 * and the switch to the wakee belongs to the task that ran.
 *
 * Times are read from the clock that the scheduler itself goes by, and a test
 * compares the parts of an interval with the whole, over several rounds. So it
 * does not matter how fast the machine is, or whether it is a virtual one that
 * loses its processor now and then.
 */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/sched/clock.h>
#include <linux/sched/cputime.h>
#include <linux/sort.h>
#include <uapi/linux/sched/types.h>

#include "../sched.h"

/* Below half a tick, which would read the clock as well */
#define CLOCK_TEST_BUSY_NS	500000

#define CLOCK_TEST_ROUNDS	15

/* Only there so that a broken kernel fails the test rather than hang it */
#define CLOCK_TEST_TIMEOUT	(10 * HZ)

static u64 clock_test_busy(void)
{
	u64 start = local_clock(), ns;

	do {
		cpu_relax();
		ns = local_clock() - start;
	} while (ns < CLOCK_TEST_BUSY_NS);

	return ns;
}

static int clock_test_compare(const void *a, const void *b)
{
	const u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 clock_test_median(u64 *values, int nr)
{
	sort(values, nr, sizeof(*values), clock_test_compare, NULL);
	return values[nr / 2];
}

/* ===== Tasks ===== */

/* For how long the task was runnable and did not run. */
static u64 clock_test_run_delay(const struct task_struct *task)
{
#ifdef CONFIG_SCHED_INFO
	return task->sched_info.run_delay;
#else
	return 0;
#endif
}

/* Goes to sleep again when it is woken. */
static int clock_test_sleeper(void *unused)
{
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule();
	}

	__set_current_state(TASK_RUNNING);
	return 0;
}

/* Wait until @task is off its CPU. */
static bool clock_test_asleep(struct task_struct *task)
{
	unsigned long timeout = jiffies + CLOCK_TEST_TIMEOUT;

	while (!wait_task_inactive(task, TASK_INTERRUPTIBLE)) {
		if (time_after(jiffies, timeout))
			return false;
		schedule_timeout_uninterruptible(1);
	}

	return true;
}

static void clock_test_stop(void *task)
{
	kthread_stop(task);
	put_task_struct(task);
}

/* Let a task sleep that runs @fn on @cpu, and ends with the test. */
static struct task_struct *clock_test_task(struct kunit *test, int (*fn)(void *), void *data,
					   int cpu, const struct sched_attr *attr)
{
	struct task_struct *task;
	int ret;

	task = kthread_create(fn, data, "clock_kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, clock_test_stop, task));

	kthread_bind(task, cpu);
	ret = sched_setattr_nocheck(task, attr);
	if (ret == -EBUSY)
		kunit_skip(test, "no bandwidth left for a deadline task");
	KUNIT_ASSERT_EQ(test, 0, ret);

	wake_up_process(task);
	KUNIT_ASSERT_TRUE(test, clock_test_asleep(task));
	return task;
}

/* ===== Requests to skip the update of the clock ===== */

static void clock_test_wakeup_request(struct kunit *test)
{
	unsigned int request;
	struct rq_flags rf;
	struct rq *rq;

	rq = this_rq_lock_irq(&rf);
	update_rq_clock(rq);
	resched_curr(rq);
	wakeup_preempt(rq, current, 0);
	request = rq->clock_update_flags & RQCF_REQ_SKIP;
	rq_unlock_irq(rq, &rf);

	KUNIT_EXPECT_EQ(test, 0, request);
}

/* sched_yield() has just read the clock, and goes straight to schedule(). */
static void clock_test_yield_request(struct kunit *test)
{
	static const struct sched_attr normal = { .sched_policy = SCHED_NORMAL };
	struct task_struct *other;
	unsigned int request;
	struct rq_flags rf;
	struct rq *rq;
	int cpu;

	cpu = get_cpu();
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	put_cpu();
	other = clock_test_task(test, clock_test_sleeper, NULL, cpu, &normal);

	/* There is nothing to yield to unless another task is runnable. */
	preempt_disable();
	wake_up_process(other);
	rq = this_rq_lock_irq(&rf);
	rq->donor->sched_class->yield_task(rq);
	request = rq->clock_update_flags & RQCF_REQ_SKIP;
	rq_unlock_irq(rq, &rf);
	sched_preempt_enable_no_resched();
	schedule();

	KUNIT_EXPECT_NE(test, 0, request);
}

/* ===== Whose time it is ===== */

struct clock_test_class {
	const char *name;
	struct sched_attr attr;
};

static const struct clock_test_class clock_test_classes[] = {
	{
		.name = "SCHED_FIFO",
		.attr = { .sched_policy = SCHED_FIFO, .sched_priority = 1 },
	},
	{
		.name = "SCHED_DEADLINE",
		.attr = {
			.sched_policy = SCHED_DEADLINE,
			.sched_runtime = 4 * NSEC_PER_MSEC,
			.sched_deadline = 20 * NSEC_PER_MSEC,
			.sched_period = 20 * NSEC_PER_MSEC,
		},
	},
};

KUNIT_ARRAY_PARAM_DESC(clock_test_classes, clock_test_classes, name);

/* A waker of the fair class keeps interrupts off for a while after the wakeup. */
static void clock_test_wakee(struct kunit *test)
{
	u64 waker[CLOCK_TEST_ROUNDS], wakee[CLOCK_TEST_ROUNDS], waited[CLOCK_TEST_ROUNDS];
	const struct clock_test_class *class = test->param_value;
	struct task_struct *task;
	u64 busy;
	int cpu, i;

	cpu = get_cpu();
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	put_cpu();
	task = clock_test_task(test, clock_test_sleeper, NULL, cpu, &class->attr);

	for (i = 0; i < CLOCK_TEST_ROUNDS; i++) {
		waker[i] = task_sched_runtime(current);
		wakee[i] = task_sched_runtime(task);
		waited[i] = clock_test_run_delay(task);

		local_irq_disable();
		wake_up_process(task);
		busy = clock_test_busy();
		local_irq_enable();
		/* Whether or not the kernel is preemptible. */
		schedule();

		KUNIT_ASSERT_TRUE(test, clock_test_asleep(task));
		waker[i] = div64_u64((task_sched_runtime(current) - waker[i]) * 100, busy);
		wakee[i] = div64_u64((task_sched_runtime(task) - wakee[i]) * 100, busy);
		waited[i] = div64_u64((clock_test_run_delay(task) - waited[i]) * 100, busy);
	}

	/* In per cent of the time between wakeup and switch. */
	KUNIT_EXPECT_GT(test, clock_test_median(waker, CLOCK_TEST_ROUNDS), 75);
	KUNIT_EXPECT_LT(test, clock_test_median(wakee, CLOCK_TEST_ROUNDS), 25);
	if (IS_ENABLED(CONFIG_SCHED_INFO))
		KUNIT_EXPECT_GT(test, clock_test_median(waited, CLOCK_TEST_ROUNDS), 75);
}

/* ===== A task that is pulled within __schedule() ===== */

#define CLOCK_TEST_PULLS	5
#define CLOCK_TEST_PULL_TRIES	30

struct clock_test_pull {
	struct cpumask both;
	bool holding;
	bool stop;
	bool moved;
	int moved_to;
	unsigned int request;
	u64 busy;
};

/* Keeps its CPU until it is told to stop. */
static int clock_test_hold(void *data)
{
	struct clock_test_pull *pull = data;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule();

		WRITE_ONCE(pull->holding, true);
		while (!READ_ONCE(pull->stop) && !kthread_should_stop()) {
			cpu_relax();
			cond_resched();
		}
	}

	__set_current_state(TASK_RUNNING);
	return 0;
}

/* Looks where it is and whether an update is to be skipped there, works, sleeps. */
static int clock_test_move(void *data)
{
	struct clock_test_pull *pull = data;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule();

		local_irq_disable();
		pull->moved_to = smp_processor_id();
		pull->request = this_rq()->clock_update_flags & RQCF_REQ_SKIP;
		pull->busy = clock_test_busy();
		local_irq_enable();
		WRITE_ONCE(pull->moved, true);
	}

	__set_current_state(TASK_RUNNING);
	return 0;
}

static const struct sched_attr clock_test_hold_attr = {
	.sched_policy = SCHED_DEADLINE,
	.sched_runtime = 40 * NSEC_PER_MSEC,
	.sched_deadline = 80 * NSEC_PER_MSEC,
	.sched_period = 80 * NSEC_PER_MSEC,
};

static const struct sched_attr clock_test_spend_attr = {
	.sched_policy = SCHED_DEADLINE,
	.sched_runtime = 1 * NSEC_PER_MSEC,
	.sched_deadline = 100 * NSEC_PER_MSEC,
	.sched_period = 100 * NSEC_PER_MSEC,
};

static const struct sched_attr clock_test_move_attr = {
	.sched_policy = SCHED_DEADLINE,
	.sched_runtime = 10 * NSEC_PER_MSEC,
	.sched_deadline = 200 * NSEC_PER_MSEC,
	.sched_period = 200 * NSEC_PER_MSEC,
};

static bool clock_test_wait_for(const bool *what)
{
	unsigned long timeout = jiffies + CLOCK_TEST_TIMEOUT;

	while (!READ_ONCE(*what)) {
		if (time_after(jiffies, timeout))
			return false;
		schedule_timeout_uninterruptible(1);
	}

	return true;
}

/*
 * One CPU runs a deadline task that uses up its budget, another one has two
 * deadline tasks. When the budget is spent, the first CPU pulls the task that
 * waits on the other. It does so within __schedule(), with the clock read
 * already, while the task without budget is still current, queued and marked to
 * be rescheduled. A request to skip an update that is made at this point is left
 * to the next __schedule(): the one when the task that was pulled goes to sleep.
 */
static void clock_test_pulled_task(struct kunit *test)
{
	struct task_struct *holder, *spender, *mover;
	struct clock_test_pull *pull;
	u64 charged[CLOCK_TEST_PULLS];
	int cpu, other, i, pulls = 0;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");

	pull = kunit_kzalloc(test, sizeof(*pull), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pull);

	cpu = cpumask_first(cpu_online_mask);
	other = cpumask_next(cpu, cpu_online_mask);
	cpumask_set_cpu(cpu, &pull->both);
	cpumask_set_cpu(other, &pull->both);
	set_cpus_allowed_ptr(current, cpumask_of(cpu));

	holder = clock_test_task(test, clock_test_hold, pull, other, &clock_test_hold_attr);
	spender = clock_test_task(test, clock_test_hold, pull, cpu, &clock_test_spend_attr);
	mover = clock_test_task(test, clock_test_move, pull, other, &clock_test_move_attr);

	for (i = 0; i < CLOCK_TEST_PULL_TRIES && pulls < CLOCK_TEST_PULLS; i++) {
		pull->moved = false;
		pull->stop = false;
		set_cpus_allowed_ptr(mover, cpumask_of(other));
		charged[pulls] = task_sched_runtime(mover);

		pull->holding = false;
		wake_up_process(holder);
		KUNIT_ASSERT_TRUE(test, clock_test_wait_for(&pull->holding));
		wake_up_process(mover);
		set_cpus_allowed_ptr(mover, &pull->both);
		/* This task stands back until the budget is spent. */
		wake_up_process(spender);

		/* The mover, wherever it may be, ends by itself. */
		KUNIT_ASSERT_TRUE(test, clock_test_wait_for(&pull->moved));
		WRITE_ONCE(pull->stop, true);
		KUNIT_ASSERT_TRUE(test, clock_test_asleep(mover));
		KUNIT_ASSERT_TRUE(test, clock_test_asleep(spender));
		KUNIT_ASSERT_TRUE(test, clock_test_asleep(holder));

		/* The holder's budget may be spent as well: try again. */
		if (pull->moved_to != cpu)
			continue;
		KUNIT_EXPECT_EQ(test, 0, pull->request);
		charged[pulls] = div64_u64((task_sched_runtime(mover) - charged[pulls]) * 100,
					   pull->busy);
		pulls++;
	}

	if (!pulls)
		kunit_skip(test, "the task was never pulled");
	/* In per cent of what it has worked. */
	KUNIT_EXPECT_GT(test, clock_test_median(charged, pulls), 75);
}

static struct kunit_case clock_test_cases[] = {
	KUNIT_CASE(clock_test_wakeup_request),
	KUNIT_CASE(clock_test_yield_request),
	KUNIT_CASE_PARAM(clock_test_wakee, clock_test_classes_gen_params),
	KUNIT_CASE_SLOW(clock_test_pulled_task),
	{}
};

static struct kunit_suite clock_test_suite = {
	.name = "sched_rq_clock",
	.test_cases = clock_test_cases,
};

kunit_test_suite(clock_test_suite);
