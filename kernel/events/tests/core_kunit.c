// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the perf core, on the mock PMU.
 *
 * This is included by core.c: event groups can be made only through the system
 * call, and there is no other way to call it from within the kernel.
 *
 * The events are put on tasks that do what a test tells them and sleep between
 * (perf_test_run()), all of them on one CPU. So a test knows which of them are
 * on the CPU, can make ticks there, and finds everything at rest when it looks
 * at the result. Nothing here is judged by how long it takes.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/sched/task.h>

#include "mock_pmu.h"

#define PERF_TEST_MAX_EVENTS	64
#define PERF_TEST_MAX_TASKS	2

/* An errno that nothing but an injected failure returns */
#define PERF_TEST_ERRNO		EXFULL

/* Only there so that a broken kernel fails the test rather than hang it */
#define PERF_TEST_TIMEOUT	(60 * HZ)

struct perf_test_task {
	struct task_struct	*task;
	struct perf_test	*pt;
	struct completion	go;
	struct completion	done;
	void			(*fn)(struct perf_test_task *t, void *arg);
	void			*arg;
	bool			running;
	bool			stop;
};

struct perf_test_event {
	struct perf_event	*event;
	int			fd;
};

struct perf_test {
	struct mock_pmu			*mock;
	struct mock_pmu			*other_mock;
	struct perf_event_attr __user	*uattr;
	/* Where the tasks run */
	int				cpu;
	struct perf_test_event		events[PERF_TEST_MAX_EVENTS];
	struct perf_test_task		tasks[PERF_TEST_MAX_TASKS];
};

/* ===== Tasks ===== */

static int perf_test_thread(void *data)
{
	struct perf_test_task *t = data;

	for (;;) {
		wait_for_completion(&t->go);
		if (!t->fn)
			return 0;
		t->fn(t, t->arg);
		complete(&t->done);
	}
}

/* Waits until the task sleeps, with its events off the PMU. */
static void perf_test_settle(struct perf_test_task *t)
{
	while (!wait_task_inactive(t->task, TASK_UNINTERRUPTIBLE))
		schedule_timeout_uninterruptible(1);
}

static struct perf_test_task *perf_test_task(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = NULL;
	struct task_struct *task;

	for (int i = 0; i < PERF_TEST_MAX_TASKS && !t; i++) {
		if (!pt->tasks[i].task)
			t = &pt->tasks[i];
	}
	KUNIT_ASSERT_NOT_NULL(test, t);

	t->pt = pt;
	init_completion(&t->go);
	init_completion(&t->done);
	task = kthread_create(perf_test_thread, t, "perf_test");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	kthread_bind(task, pt->cpu);
	t->task = get_task_struct(task);
	wake_up_process(task);
	perf_test_settle(t);

	return t;
}

static void perf_test_start(struct perf_test_task *t,
			    void (*fn)(struct perf_test_task *t, void *arg), void *arg)
{
	t->fn = fn;
	t->arg = arg;
	t->stop = false;
	t->running = true;
	complete(&t->go);
}

static void perf_test_finish(struct perf_test_task *t)
{
	if (!t->running)
		return;

	WRITE_ONCE(t->stop, true);
	wait_for_completion(&t->done);
	t->running = false;
	perf_test_settle(t);
}

static void perf_test_run(struct perf_test_task *t,
			  void (*fn)(struct perf_test_task *t, void *arg), void *arg)
{
	perf_test_start(t, fn, arg);
	wait_for_completion(&t->done);
	t->running = false;
	perf_test_settle(t);
}

static void perf_test_task_exit(struct perf_test_task *t)
{
	t->fn = NULL;
	complete(&t->go);
	kthread_stop_put(t->task);
	t->task = NULL;
}

/* What tasks can be told to do */

static void perf_test_nop(struct perf_test_task *t, void *arg)
{
}

static void perf_test_clock(struct perf_test_task *t, void *arg)
{
	u64 *clock = arg;

	*clock = local_clock();
}

static void perf_test_delay(struct perf_test_task *t, void *arg)
{
	mdelay(1);
}

static void perf_test_spin(struct perf_test_task *t, void *arg)
{
	while (!READ_ONCE(t->stop)) {
		cpu_relax();
		cond_resched();
	}
}

static void perf_test_tick(struct perf_test_task *t, void *arg)
{
	unsigned long nr = (unsigned long)arg;

	/* The task is on its CPU now, hence its events are on the PMU. */
	WARN_ON_ONCE(mock_pmu_tick(t->pt->mock, t->pt->cpu, nr));
}

static void perf_test_run_ticks(struct perf_test_task *t, unsigned long nr)
{
	perf_test_run(t, perf_test_tick, (void *)nr);
}

/* ===== Events ===== */

static noinline long perf_test_sys_open(struct perf_event_attr __user *uattr, pid_t pid,
					int cpu, int group_fd)
{
	return __do_sys_perf_event_open(uattr, pid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);
}

/* Opens an event on task @t, or on CPU @cpu if @t is NULL. */
static struct perf_event *perf_test_open(struct kunit *test, struct perf_event_attr *attr,
					 struct perf_test_task *t, int cpu,
					 struct perf_event *leader)
{
	struct perf_test *pt = test->priv;
	struct perf_test_event *e = NULL;
	int group_fd = -1;
	long fd;
	int i;

	attr->size = sizeof(*attr);
	KUNIT_ASSERT_EQ(test, 0, copy_to_user(pt->uattr, attr, sizeof(*attr)));

	for (i = 0; i < PERF_TEST_MAX_EVENTS; i++) {
		if (!pt->events[i].event)
			e = &pt->events[i];
		else if (pt->events[i].event == leader)
			group_fd = pt->events[i].fd;
	}
	KUNIT_ASSERT_NOT_NULL(test, e);

	fd = perf_test_sys_open(pt->uattr, t ? task_pid_vnr(t->task) : -1, cpu, group_fd);
	if (fd < 0)
		return ERR_PTR(fd);

	CLASS(fd, f)(fd);
	e->event = fd_file(f)->private_data;
	e->fd = fd;

	return e->event;
}

static struct perf_event *perf_test_open_task(struct kunit *test, enum mock_pmu_config config,
					      struct perf_test_task *t,
					      struct perf_event *leader)
{
	struct perf_test *pt = test->priv;
	struct perf_event_attr attr = {
		.type	= mock_pmu_type(pt->mock),
		.config	= config,
	};
	struct perf_event *event;

	event = perf_test_open(test, &attr, t, -1, leader);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);

	return event;
}

static void __perf_test_close(struct perf_test_event *e)
{
	/* At once, rather than later as a kernel thread's close would be. */
	__fput_sync(file_close_fd(e->fd));
	e->event = NULL;
}

static void perf_test_close(struct kunit *test, struct perf_event *event)
{
	struct perf_test *pt = test->priv;

	for (int i = 0; i < PERF_TEST_MAX_EVENTS; i++) {
		if (pt->events[i].event == event)
			__perf_test_close(&pt->events[i]);
	}
}

static u64 perf_test_count(struct perf_event *event)
{
	u64 enabled, running;

	return perf_event_read_value(event, &enabled, &running);
}

static void perf_test_expect_calls(struct kunit *test, enum mock_pmu_call call,
				   unsigned long nr)
{
	struct perf_test *pt = test->priv;

	KUNIT_EXPECT_EQ_MSG(test, nr, mock_pmu_calls(pt->mock, call), "callback %d", call);
}

/* ===== Test cases ===== */

static void test_lookup(struct kunit *test)
{
	struct mock_pmu *mock;
	struct pmu *pmu;
	char name[8];
	int i;

	for (i = 0; i < MOCK_PMU_NR; i++) {
		mock = mock_pmu_get(i);
		KUNIT_ASSERT_NOT_NULL(test, mock);
		KUNIT_EXPECT_GE(test, mock_pmu_type(mock), PERF_TYPE_MAX);

		scoped_guard(rcu)
			pmu = idr_find(&pmu_idr, mock_pmu_type(mock));
		KUNIT_ASSERT_NOT_NULL(test, pmu);
		snprintf(name, sizeof(name), "mock%d", i);
		KUNIT_EXPECT_STREQ(test, name, pmu->name);
	}
	KUNIT_EXPECT_NULL(test, mock_pmu_get(MOCK_PMU_NR));
}

static void test_refused_attr(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	static const struct {
		struct perf_event_attr	attr;
		long			err;
	} cases[] = {
		{ { .config = MOCK_PMU_NR_CONFIGS }, -EINVAL },
		{ { .config = MOCK_PMU_CONFIG_TICKS, .config1 = 1 }, -EINVAL },
		{ { .config = MOCK_PMU_CONFIG_TIME, .sample_period = 1 }, -EOPNOTSUPP },
		{ { .config = MOCK_PMU_CONFIG_TICKS, .exclude_host = 1 }, -EOPNOTSUPP },
		{ { .config = MOCK_PMU_CONFIG_TICKS, .sample_period = 1, .precise_ip = 1 },
		  -EOPNOTSUPP },
	};
	struct perf_event_attr attr;

	for (int i = 0; i < ARRAY_SIZE(cases); i++) {
		attr = cases[i].attr;
		attr.type = mock_pmu_type(pt->mock);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].err,
				    PTR_ERR(perf_test_open(test, &attr, t, -1, NULL)),
				    "case %d", i);
	}
}

static void test_count_time(struct kunit *test)
{
	struct perf_test_task *t = perf_test_task(test);
	struct perf_test_task *other = perf_test_task(test);
	u64 count, enabled, running, begin, end;
	struct perf_event *event;

	/* Clocks of different CPUs need not agree, so stay on one. */
	perf_test_run(other, perf_test_clock, &begin);
	event = perf_test_open_task(test, MOCK_PMU_CONFIG_TIME, t, NULL);
	perf_test_run(t, perf_test_delay, NULL);
	count = perf_event_read_value(event, &enabled, &running);
	perf_test_run(other, perf_test_clock, &end);

	KUNIT_EXPECT_GT(test, count, 0);
	KUNIT_EXPECT_LT(test, count, end - begin);
	KUNIT_EXPECT_GT(test, running, 0);
	KUNIT_EXPECT_LT(test, running, end - begin);
	/* Nothing competes with it. */
	KUNIT_EXPECT_EQ(test, enabled, running);

	perf_test_run(other, perf_test_delay, NULL);
	KUNIT_EXPECT_EQ(test, count, perf_event_read_value(event, &enabled, &running));
	KUNIT_EXPECT_EQ(test, enabled, running);
}

static void test_count_ticks(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	struct perf_test_task *other = perf_test_task(test);
	struct perf_event_attr attr = {
		.type	= mock_pmu_type(pt->mock),
		.config	= MOCK_PMU_CONFIG_TICKS,
	};
	struct perf_event *task_event, *cpu_event;

	task_event = perf_test_open_task(test, MOCK_PMU_CONFIG_TICKS, t, NULL);
	cpu_event = perf_test_open(test, &attr, NULL, pt->cpu, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cpu_event);

	perf_test_run_ticks(t, 5);
	perf_test_run_ticks(other, 70);
	perf_test_run_ticks(t, 600);

	KUNIT_EXPECT_EQ(test, 605, perf_test_count(task_event));
	KUNIT_EXPECT_EQ(test, 675, perf_test_count(cpu_event));
}

static void test_group_too_large(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	struct perf_event_attr attr = { .type = mock_pmu_type(pt->mock) };
	struct perf_event *leader;
	int i;

	KUNIT_ASSERT_EQ(test, 0, mock_pmu_set_counters(pt->mock, 3));

	leader = perf_test_open_task(test, MOCK_PMU_CONFIG_TIME, t, NULL);
	for (i = 1; i < 3; i++)
		perf_test_open_task(test, MOCK_PMU_CONFIG_TIME, t, leader);

	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(perf_test_open(test, &attr, t, -1, leader)));
	KUNIT_EXPECT_EQ(test, -EBUSY, mock_pmu_set_counters(pt->mock, 4));

	/* Not part of the group, so it only has to wait for its turn. */
	perf_test_open_task(test, MOCK_PMU_CONFIG_TIME, t, NULL);
}

static void test_groups_compete(struct kunit *test)
{
	enum { GROUPS = 2, EVENTS = 3 };

	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	unsigned long timeout = jiffies + PERF_TEST_TIMEOUT;
	struct perf_event *events[GROUPS][EVENTS];
	u64 enabled[GROUPS][EVENTS], running[GROUPS][EVENTS], total;
	int g, i;

	/* One group leaves a counter free, which must not go to the other. */
	KUNIT_ASSERT_EQ(test, 0, mock_pmu_set_counters(pt->mock, EVENTS + 1));

	for (g = 0; g < GROUPS; g++) {
		events[g][0] = perf_test_open_task(test, MOCK_PMU_CONFIG_TIME, t, NULL);
		for (i = 1; i < EVENTS; i++)
			events[g][i] = perf_test_open_task(test, MOCK_PMU_CONFIG_TIME, t,
							   events[g][0]);
	}

	/* The first one runs at once, the others need the rotation. */
	perf_test_start(t, perf_test_spin, NULL);
	for (g = 0; g < GROUPS; g++) {
		do {
			schedule_timeout_uninterruptible(1);
			perf_event_read_value(events[g][0], &enabled[g][0], &running[g][0]);
		} while (!running[g][0] && time_before(jiffies, timeout));
	}
	perf_test_finish(t);

	for (g = 0; g < GROUPS; g++) {
		for (i = 0; i < EVENTS; i++) {
			KUNIT_EXPECT_GT(test, perf_event_read_value(events[g][i],
								    &enabled[g][i],
								    &running[g][i]), 0);
		}
	}

	total = enabled[0][0];
	for (g = 0; g < GROUPS; g++) {
		KUNIT_EXPECT_GT(test, running[g][0], 0);
		KUNIT_EXPECT_LT(test, running[g][0], total);
		for (i = 0; i < EVENTS; i++) {
			/* A group is on the PMU as a whole or not at all. */
			KUNIT_EXPECT_EQ(test, running[g][0], running[g][i]);
			KUNIT_EXPECT_EQ(test, total, enabled[g][i]);
		}
	}
	/* There always is exactly one group that runs. */
	KUNIT_EXPECT_EQ(test, total, running[0][0] + running[1][0]);
	KUNIT_EXPECT_GT(test, mock_pmu_calls(pt->mock, MOCK_PMU_CANCEL_TXN), 0);
}

static void test_calls(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	struct perf_event *event;

	mock_pmu_reset_calls(pt->mock);
	event = perf_test_open_task(test, MOCK_PMU_CONFIG_TICKS, t, NULL);
	perf_test_expect_calls(test, MOCK_PMU_EVENT_INIT, 1);
	perf_test_expect_calls(test, MOCK_PMU_ADD, 0);
	perf_test_expect_calls(test, MOCK_PMU_START_TXN, 0);

	perf_test_run(t, perf_test_nop, NULL);
	KUNIT_EXPECT_GE(test, mock_pmu_calls(pt->mock, MOCK_PMU_ADD), 1);
	perf_test_expect_calls(test, MOCK_PMU_DEL, mock_pmu_calls(pt->mock, MOCK_PMU_ADD));
	perf_test_expect_calls(test, MOCK_PMU_START_TXN,
			       mock_pmu_calls(pt->mock, MOCK_PMU_ADD));
	perf_test_expect_calls(test, MOCK_PMU_COMMIT_TXN,
			       mock_pmu_calls(pt->mock, MOCK_PMU_ADD));
	perf_test_expect_calls(test, MOCK_PMU_CANCEL_TXN, 0);
	/* An event that is off the PMU cannot be asked. */
	perf_test_count(event);
	perf_test_expect_calls(test, MOCK_PMU_READ, 0);
	perf_test_expect_calls(test, MOCK_PMU_DESTROY, 0);

	mock_pmu_reset_calls(pt->mock);
	perf_test_close(test, event);
	perf_test_expect_calls(test, MOCK_PMU_DESTROY, 1);
	perf_test_expect_calls(test, MOCK_PMU_DEL, 0);
	perf_test_run(t, perf_test_nop, NULL);
	perf_test_expect_calls(test, MOCK_PMU_ADD, 0);
	perf_test_expect_calls(test, MOCK_PMU_EVENT_INIT, 0);
}

static unsigned long perf_test_nr_switches(struct perf_test_task *t)
{
	return READ_ONCE(t->task->nvcsw) + READ_ONCE(t->task->nivcsw);
}

struct perf_test_pingpong {
	struct completion	ping;
	struct completion	pong;
	int			rounds;
};

static void perf_test_ping(struct perf_test_task *t, void *arg)
{
	struct perf_test_pingpong *p = arg;

	for (int i = 0; i < p->rounds; i++) {
		complete(&p->ping);
		wait_for_completion(&p->pong);
	}
}

static void perf_test_pong(struct perf_test_task *t, void *arg)
{
	struct perf_test_pingpong *p = arg;

	for (int i = 0; i < p->rounds; i++) {
		wait_for_completion(&p->ping);
		complete(&p->pong);
	}
}

static void test_context_switch(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	struct perf_test_task *other = perf_test_task(test);
	struct perf_test_pingpong p = { .rounds = 100 };
	unsigned long nr;

	init_completion(&p.ping);
	init_completion(&p.pong);
	perf_test_open_task(test, MOCK_PMU_CONFIG_TIME, t, NULL);
	perf_test_run(t, perf_test_nop, NULL);

	/* There is nothing to rotate, so only switches move the event. */
	mock_pmu_reset_calls(pt->mock);
	nr = perf_test_nr_switches(t);
	perf_test_start(other, perf_test_pong, &p);
	perf_test_run(t, perf_test_ping, &p);
	perf_test_finish(other);
	nr = perf_test_nr_switches(t) - nr;

	KUNIT_EXPECT_GE(test, nr, p.rounds);
	perf_test_expect_calls(test, MOCK_PMU_ADD, nr);
	perf_test_expect_calls(test, MOCK_PMU_DEL, nr);
	perf_test_expect_calls(test, MOCK_PMU_EVENT_INIT, 0);
}

static void test_event_init_error(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	struct perf_event_attr attr = { .type = mock_pmu_type(pt->mock) };
	struct perf_event *event;
	int i;

	KUNIT_EXPECT_EQ(test, -EINVAL,
			mock_pmu_set_fail(pt->mock, MOCK_PMU_FAIL_EVENT_INIT, 0, 0, 1));
	KUNIT_ASSERT_EQ(test, 0, mock_pmu_set_fail(pt->mock, MOCK_PMU_FAIL_EVENT_INIT,
						   PERF_TEST_ERRNO, 1, 2));
	mock_pmu_reset_calls(pt->mock);
	mock_pmu_reset_calls(pt->other_mock);

	for (i = 0; i < 4; i++) {
		event = perf_test_open(test, &attr, t, -1, NULL);
		if (i == 1 || i == 2)
			KUNIT_EXPECT_EQ(test, -PERF_TEST_ERRNO, PTR_ERR(event));
		else
			KUNIT_EXPECT_NOT_ERR_OR_NULL(test, event);
	}

	perf_test_expect_calls(test, MOCK_PMU_EVENT_INIT, 4);
	/* What has failed to begin need not be undone. */
	perf_test_expect_calls(test, MOCK_PMU_DESTROY, 0);
	/* The type says which PMU is meant, so no other one is to be asked. */
	KUNIT_EXPECT_EQ(test, 0, mock_pmu_calls(pt->other_mock, MOCK_PMU_EVENT_INIT));
}

static void test_add_error(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	struct perf_event *leader, *sibling;
	u64 enabled, running;

	leader = perf_test_open_task(test, MOCK_PMU_CONFIG_TICKS, t, NULL);
	sibling = perf_test_open_task(test, MOCK_PMU_CONFIG_TICKS, t, leader);

	/* Fail the first sibling, and all that is tried after it. */
	KUNIT_ASSERT_EQ(test, 0, mock_pmu_set_fail(pt->mock, MOCK_PMU_FAIL_ADD,
						   PERF_TEST_ERRNO, 1, UINT_MAX));
	perf_test_run_ticks(t, 5);
	KUNIT_EXPECT_EQ(test, 0, perf_event_read_value(leader, &enabled, &running));
	KUNIT_EXPECT_GT(test, enabled, 0);
	KUNIT_EXPECT_EQ(test, 0, running);
	KUNIT_EXPECT_EQ(test, 0, perf_test_count(sibling));

	KUNIT_ASSERT_EQ(test, 0, mock_pmu_set_fail(pt->mock, MOCK_PMU_FAIL_ADD, 0, 0, 0));
	perf_test_run_ticks(t, 70);
	KUNIT_EXPECT_EQ(test, 70, perf_event_read_value(leader, &enabled, &running));
	KUNIT_EXPECT_GT(test, running, 0);
	KUNIT_EXPECT_LT(test, running, enabled);
	KUNIT_EXPECT_EQ(test, 70, perf_test_count(sibling));
}

static void test_overflow_disables(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	struct perf_event_attr attr = {
		.type		= mock_pmu_type(pt->mock),
		.config		= MOCK_PMU_CONFIG_TICKS,
		.sample_period	= 3,
		.disabled	= 1,
	};
	struct perf_event *event;

	event = perf_test_open(test, &attr, t, -1, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);
	perf_test_run_ticks(t, 9);
	KUNIT_EXPECT_EQ(test, 0, perf_test_count(event));

	KUNIT_ASSERT_EQ(test, 0, perf_event_refresh(event, 2));
	perf_test_run_ticks(t, 2);
	perf_test_run_ticks(t, 2);
	KUNIT_EXPECT_EQ(test, 4, perf_test_count(event));
	KUNIT_EXPECT_EQ(test, PERF_EVENT_STATE_INACTIVE, event->state);
	/* The second period ends in the midst of these. */
	perf_test_run_ticks(t, 9);
	irq_work_sync(&event->pending_disable_irq);
	KUNIT_EXPECT_EQ(test, 6, perf_test_count(event));
	KUNIT_EXPECT_EQ(test, PERF_EVENT_STATE_OFF, event->state);
	perf_test_run_ticks(t, 9);
	KUNIT_EXPECT_EQ(test, 6, perf_test_count(event));

	KUNIT_ASSERT_EQ(test, 0, perf_event_refresh(event, 1));
	perf_test_run_ticks(t, 9);
	irq_work_sync(&event->pending_disable_irq);
	KUNIT_EXPECT_EQ(test, 9, perf_test_count(event));
	KUNIT_EXPECT_EQ(test, PERF_EVENT_STATE_OFF, event->state);
}

struct perf_test_fork {
	struct perf_test_task	*t;
	unsigned long		ticks;
	pid_t			pid;
};

static int perf_test_child(void *data)
{
	struct perf_test_fork *f = data;

	perf_test_tick(f->t, (void *)f->ticks);
	kthread_exit(0);
}

static void perf_test_fork(struct perf_test_task *t, void *arg)
{
	struct perf_test_fork *f = arg;
	int stat;

	f->t = t;
	f->pid = kernel_thread(perf_test_child, f, "perf_test_child", SIGCHLD);
	/* The child reaps itself, but its parent hears of its end. */
	if (f->pid > 0)
		kernel_wait(f->pid, &stat);
}

static void test_fork_inherits(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	struct perf_event_attr attr = {
		.type		= mock_pmu_type(pt->mock),
		.config		= MOCK_PMU_CONFIG_TICKS,
		.inherit	= 1,
	};
	struct perf_test_fork f = { .ticks = 70 };
	struct perf_event *event;

	/*
	 * With an event that is not inherited, a switch between the two tasks
	 * does not swap their contexts, and the child's event ends with the child.
	 */
	perf_test_open_task(test, MOCK_PMU_CONFIG_TIME, t, NULL);
	event = perf_test_open(test, &attr, t, -1, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);

	mock_pmu_reset_calls(pt->mock);
	perf_test_run(t, perf_test_fork, &f);
	KUNIT_ASSERT_GT(test, f.pid, 0);
	perf_test_run_ticks(t, 5);

	KUNIT_EXPECT_EQ(test, 75, perf_test_count(event));
	perf_test_expect_calls(test, MOCK_PMU_EVENT_INIT, 1);
	perf_test_expect_calls(test, MOCK_PMU_DESTROY, 1);
}

static void test_fork_error(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	struct perf_event_attr attr = {
		.type		= mock_pmu_type(pt->mock),
		.config		= MOCK_PMU_CONFIG_TICKS,
		.inherit	= 1,
	};
	struct perf_test_fork f = { .ticks = 70 };
	struct perf_event *events[2];
	int i;

	/* Of two events, the second one cannot be inherited. */
	KUNIT_ASSERT_EQ(test, 0, mock_pmu_set_fail(pt->mock, MOCK_PMU_FAIL_EVENT_INIT_CHILD,
						   PERF_TEST_ERRNO, 1, UINT_MAX));
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		events[i] = perf_test_open(test, &attr, t, -1, NULL);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, events[i]);
	}

	mock_pmu_reset_calls(pt->mock);
	mock_pmu_reset_calls(pt->other_mock);
	perf_test_run(t, perf_test_fork, &f);
	KUNIT_EXPECT_EQ(test, -PERF_TEST_ERRNO, f.pid);
	perf_test_expect_calls(test, MOCK_PMU_DESTROY, 1);
	KUNIT_EXPECT_EQ(test, 0, mock_pmu_calls(pt->other_mock, MOCK_PMU_EVENT_INIT));

	perf_test_run_ticks(t, 5);
	for (i = 0; i < ARRAY_SIZE(events); i++)
		KUNIT_EXPECT_EQ(test, 5, perf_test_count(events[i]));
}

/* ===== A PMU that goes away ===== */

struct perf_test_pmu {
	struct pmu		pmu;
	/* Events that exist, and those of them that were inherited, ever */
	atomic_t		nr_events;
	atomic_t		nr_inherited;
	/* What came when perf_pmu_unregister() had returned */
	bool			gone;
	atomic_t		nr_late;
	/* The event whose destroy() waits, from one completion to the other */
	struct perf_event	*first;
	struct completion	first_gone;
	struct completion	go_on;
	/* The same for the event_init() of an event that is inherited */
	bool			hold;
	struct completion	held;
	struct completion	release;
	int			err;
};

static struct perf_test_pmu *perf_test_pmu_called(struct pmu *pmu)
{
	struct perf_test_pmu *tp = container_of(pmu, struct perf_test_pmu, pmu);

	if (READ_ONCE(tp->gone))
		atomic_inc(&tp->nr_late);

	return tp;
}

static void perf_test_pmu_destroy(struct perf_event *event)
{
	struct perf_test_pmu *tp = perf_test_pmu_called(event->pmu);

	atomic_dec(&tp->nr_events);
	if (event == tp->first) {
		complete(&tp->first_gone);
		/* Interruptible, so that it is not taken for what comes after. */
		wait_for_completion_interruptible_timeout(&tp->go_on, PERF_TEST_TIMEOUT);
	}
}

static int perf_test_pmu_event_init(struct perf_event *event)
{
	struct perf_test_pmu *tp = perf_test_pmu_called(event->pmu);

	if (event->attr.type != tp->pmu.type)
		return -ENOENT;

	if (event->parent) {
		atomic_inc(&tp->nr_inherited);
		if (READ_ONCE(tp->hold)) {
			WRITE_ONCE(tp->hold, false);
			complete(&tp->held);
			wait_for_completion_timeout(&tp->release, PERF_TEST_TIMEOUT);
		}
	}
	atomic_inc(&tp->nr_events);
	event->destroy = perf_test_pmu_destroy;

	return 0;
}

static int perf_test_pmu_add(struct perf_event *event, int flags)
{
	perf_test_pmu_called(event->pmu);
	return 0;
}

static void perf_test_pmu_del(struct perf_event *event, int flags)
{
	perf_test_pmu_called(event->pmu);
}

static void perf_test_pmu_read(struct perf_event *event)
{
	perf_test_pmu_called(event->pmu);
}

static void perf_test_pmu_switch(struct pmu *pmu)
{
	perf_test_pmu_called(pmu);
}

static struct perf_test_pmu *perf_test_pmu_register(struct kunit *test)
{
	struct perf_test_pmu *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, tp);
	init_completion(&tp->first_gone);
	init_completion(&tp->go_on);
	init_completion(&tp->held);
	init_completion(&tp->release);
	tp->pmu = (struct pmu) {
		.task_ctx_nr	= perf_hw_context,
		.capabilities	= PERF_PMU_CAP_NO_NMI,
		.event_init	= perf_test_pmu_event_init,
		.add		= perf_test_pmu_add,
		.del		= perf_test_pmu_del,
		.start		= perf_test_pmu_del,
		.stop		= perf_test_pmu_del,
		.read		= perf_test_pmu_read,
		.pmu_enable	= perf_test_pmu_switch,
		.pmu_disable	= perf_test_pmu_switch,
	};
	KUNIT_ASSERT_EQ(test, 0, perf_pmu_register(&tp->pmu, "mock_gone", -1));

	return tp;
}

static struct perf_event *perf_test_pmu_open(struct kunit *test, struct perf_test_pmu *tp,
					     struct perf_test_task *t, int cpu)
{
	struct perf_event_attr attr = {
		.type		= tp->pmu.type,
		.inherit	= 1,
	};
	struct perf_event *event = perf_test_open(test, &attr, t, cpu, NULL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);
	return event;
}

static void perf_test_pmu_unregister(struct perf_test_task *t, void *arg)
{
	struct perf_test_pmu *tp = arg;

	tp->err = perf_pmu_unregister(&tp->pmu);
	WRITE_ONCE(tp->gone, true);
}

/* A child, which may wait, and tells how many events it has in the end */
struct perf_test_heir {
	struct completion	*end;
	int			nr_events;
	unsigned int		nr_forks;
	pid_t			pid;
};

static int perf_test_nr_events(void)
{
	struct perf_event_context *ctx = current->perf_event_ctxp;

	return ctx ? READ_ONCE(ctx->nr_events) : 0;
}

static int perf_test_heir(void *data)
{
	struct perf_test_heir *heir = data;

	if (heir->end)
		wait_for_completion_timeout(heir->end, PERF_TEST_TIMEOUT);
	heir->nr_events = perf_test_nr_events();
	kthread_exit(0);
}

static void perf_test_fork_heir(struct perf_test_task *t, void *arg)
{
	struct perf_test_heir *heir = arg;
	int stat;

	heir->pid = kernel_thread(perf_test_heir, heir, "perf_test_heir", SIGCHLD);
	if (heir->pid > 0)
		kernel_wait(heir->pid, &stat);
	WRITE_ONCE(heir->nr_forks, heir->nr_forks + 1);
}

static void perf_test_fork_heirs(struct perf_test_task *t, void *arg)
{
	struct perf_test_heir *heir = arg;

	do {
		perf_test_fork_heir(t, heir);
		cond_resched();
	} while (heir->pid > 0 && !READ_ONCE(t->stop));
}

static void perf_test_expect_gone(struct kunit *test, struct perf_test_pmu *tp)
{
	KUNIT_EXPECT_EQ(test, 0, tp->err);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&tp->nr_events));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&tp->nr_late));
}

/*
 * A fork that begins when perf_pmu_unregister() has ceased to wait for those that
 * were there already, and that inherits an event before this is taken off. What
 * it inherits has to be found behind that one.
 */
static void test_unregister_in_fork(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test), *unregister = perf_test_task(test);
	struct perf_test_pmu *tp = perf_test_pmu_register(test);
	struct completion end;
	struct perf_test_heir heir = { .end = &end };
	struct perf_event *event;

	init_completion(&end);
	tp->first = perf_test_pmu_open(test, tp, NULL, pt->cpu);
	event = perf_test_pmu_open(test, tp, t, -1);

	/* Events are taken off in the order in which they were opened. */
	perf_test_start(unregister, perf_test_pmu_unregister, tp);
	KUNIT_EXPECT_NE(test, 0, wait_for_completion_timeout(&tp->first_gone, PERF_TEST_TIMEOUT));
	WRITE_ONCE(tp->hold, true);
	perf_test_start(t, perf_test_fork_heir, &heir);
	KUNIT_EXPECT_NE(test, 0, wait_for_completion_timeout(&tp->held, PERF_TEST_TIMEOUT));
	complete(&tp->go_on);
	/* Now it waits for the fork, to take @event off. */
	perf_test_settle(unregister);
	KUNIT_EXPECT_FALSE(test, completion_done(&unregister->done));
	complete(&tp->release);

	perf_test_finish(unregister);
	perf_test_expect_gone(test, tp);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&tp->nr_inherited));
	KUNIT_EXPECT_EQ(test, PERF_EVENT_STATE_REVOKED, event->state);

	/* The child has been there all the time. */
	complete_all(&end);
	perf_test_finish(t);
	KUNIT_EXPECT_GT(test, heir.pid, 0);
	KUNIT_EXPECT_EQ(test, 0, heir.nr_events);

	/* Nothing is left to be inherited. */
	perf_test_run(t, perf_test_fork_heir, &heir);
	KUNIT_EXPECT_GT(test, heir.pid, 0);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&tp->nr_inherited));
	perf_test_expect_gone(test, tp);
}

#define PERF_TEST_UNREGISTER_ROUNDS	5

static void perf_test_wait_for_forks(struct perf_test_heir *heir)
{
	unsigned int nr = READ_ONCE(heir->nr_forks);

	while (READ_ONCE(heir->nr_forks) - nr < 3 && READ_ONCE(heir->pid) >= 0)
		schedule_timeout_uninterruptible(1);
}

/* The same at any moment of a fork, and of an exit */
static void test_unregister_while_forking(struct kunit *test)
{
	struct perf_test_task *t = perf_test_task(test);
	struct perf_test_heir heir = {};
	struct perf_event *events[4];
	struct perf_test_pmu *tp;
	int i, j;

	for (i = 0; i < PERF_TEST_UNREGISTER_ROUNDS; i++) {
		tp = perf_test_pmu_register(test);
		for (j = 0; j < ARRAY_SIZE(events); j++)
			events[j] = perf_test_pmu_open(test, tp, t, -1);

		perf_test_start(t, perf_test_fork_heirs, &heir);
		perf_test_wait_for_forks(&heir);
		perf_test_pmu_unregister(NULL, tp);
		KUNIT_EXPECT_EQ(test, 0, atomic_read(&tp->nr_events));
		perf_test_wait_for_forks(&heir);
		perf_test_finish(t);

		perf_test_expect_gone(test, tp);
		KUNIT_EXPECT_GE(test, atomic_read(&tp->nr_inherited), 3 * ARRAY_SIZE(events));
		KUNIT_EXPECT_GT(test, heir.pid, 0);
		KUNIT_EXPECT_EQ(test, 0, heir.nr_events);
		for (j = 0; j < ARRAY_SIZE(events); j++) {
			KUNIT_EXPECT_EQ(test, PERF_EVENT_STATE_REVOKED, events[j]->state);
			perf_test_close(test, events[j]);
		}
	}
}

static void test_cpu_offline(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_event_attr attr = {
		.type	= mock_pmu_type(pt->mock),
		.config	= MOCK_PMU_CONFIG_TICKS,
	};
	struct perf_event *event;

	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU) || num_online_cpus() < 2)
		kunit_skip(test, "needs a CPU that can go offline");

	mock_pmu_reset_calls(pt->mock);
	event = perf_test_open(test, &attr, NULL, pt->cpu, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);
	KUNIT_EXPECT_EQ(test, 0, mock_pmu_tick(pt->mock, pt->cpu, 5));
	KUNIT_EXPECT_EQ(test, 5, perf_test_count(event));
	perf_test_expect_calls(test, MOCK_PMU_ADD, 1);

	KUNIT_ASSERT_EQ(test, 0, remove_cpu(pt->cpu));
	perf_test_expect_calls(test, MOCK_PMU_DEL, 1);
	KUNIT_EXPECT_EQ(test, -ENXIO, mock_pmu_tick(pt->mock, pt->cpu, 5));
	KUNIT_EXPECT_EQ(test, -ENODEV,
			PTR_ERR(perf_test_open(test, &attr, NULL, pt->cpu, NULL)));
	KUNIT_ASSERT_EQ(test, 0, add_cpu(pt->cpu));

	event = perf_test_open(test, &attr, NULL, pt->cpu, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);
	KUNIT_EXPECT_EQ(test, 0, mock_pmu_tick(pt->mock, pt->cpu, 70));
	KUNIT_EXPECT_EQ(test, 70, perf_test_count(event));
}

/* ===== More groups than the PMU has room for ===== */

/*
 * What a PMU of PERF_TEST_COUNTERS counters is to do with the groups of a task:
 * put them on in their order until one does not go on, then none. A rotation
 * moves the first of those that are on to the end.
 */
struct perf_test_group {
	struct perf_event	*leader;
	unsigned int		nr;
	bool			exclusive;
	bool			on;
	unsigned int		turns;
};

#define PERF_TEST_COUNTERS	7
#define PERF_TEST_MAX_GROUPS	12

struct perf_test_rotation {
	struct kunit		*test;
	struct pmu		*pmu;
	/* In the order of their turns */
	struct perf_test_group	*groups[PERF_TEST_MAX_GROUPS];
	unsigned int		nr_groups;
	unsigned int		rotations;
	/* Of which none ever waits */
	struct perf_event	*others[PERF_TEST_MAX_GROUPS];
	unsigned int		nr_others;
	unsigned int		wrong;
};

static void perf_test_expect_groups(struct perf_test_rotation *r)
{
	unsigned int used = 0;
	bool full = false, any = false, exclusive = false;
	struct perf_test_group *g;

	for (unsigned int i = 0; i < r->nr_groups; i++) {
		g = r->groups[i];
		if (exclusive || (g->exclusive && any) || used + g->nr > PERF_TEST_COUNTERS)
			full = true;
		g->on = !full;
		if (full)
			continue;
		used += g->nr;
		any = true;
		exclusive = g->exclusive;
	}
}

static void perf_test_check_groups(struct perf_test_rotation *r)
{
	for (unsigned int i = 0; i < r->nr_groups; i++) {
		struct perf_test_group *g = r->groups[i];

		r->wrong += g->on != (g->leader->state == PERF_EVENT_STATE_ACTIVE);
		g->turns += g->on;
	}
	for (unsigned int i = 0; i < r->nr_others; i++)
		r->wrong += r->others[i]->state != PERF_EVENT_STATE_ACTIVE;
}

static void perf_test_rotate(struct perf_test_task *t, void *arg)
{
	struct perf_test_rotation *r = arg;
	struct perf_cpu_pmu_context *cpc;
	struct perf_test_group *first;
	unsigned int i, n;

	/* No timer rotates meanwhile. */
	guard(irqsave)();
	cpc = this_cpc(r->pmu);

	/* The timer may have done so before. Find the order that it has left. */
	for (n = 0; n < r->nr_groups; n++) {
		for (i = n + 1; i < r->nr_groups; i++) {
			if (r->groups[i]->leader->group_index < r->groups[n]->leader->group_index)
				swap(r->groups[i], r->groups[n]);
		}
	}

	for (n = 0; n < r->rotations; n++) {
		perf_test_expect_groups(r);
		perf_test_check_groups(r);

		for (i = 0; !r->groups[i]->on; i++)
			;
		first = r->groups[i];
		for (; i + 1 < r->nr_groups; i++)
			r->groups[i] = r->groups[i + 1];
		r->groups[i] = first;
		perf_rotate_context(cpc);
	}
}

static void perf_test_open_group(struct kunit *test, struct perf_test_task *t, int cpu,
				 struct perf_test_group *g)
{
	struct perf_test *pt = test->priv;
	struct perf_event_attr attr = {
		.type		= mock_pmu_type(pt->mock),
		.config		= MOCK_PMU_CONFIG_TIME,
		.exclusive	= g->exclusive,
	};
	struct perf_event *event;

	g->leader = perf_test_open(test, &attr, t, cpu, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, g->leader);
	attr.exclusive = 0;
	for (unsigned int i = 1; i < g->nr; i++) {
		event = perf_test_open(test, &attr, t, cpu, g->leader);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);
	}
}

static struct perf_event *perf_test_open_sw(struct kunit *test, struct perf_test_task *t,
					    struct perf_event *leader)
{
	struct perf_event_attr attr = {
		.type	= PERF_TYPE_SOFTWARE,
		.config	= PERF_COUNT_SW_DUMMY,
	};
	struct perf_event *event;

	event = perf_test_open(test, &attr, t, -1, leader);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);
	return event;
}

static void perf_test_groups(struct kunit *test, struct perf_test_group *groups,
			     unsigned int nr, bool cpus)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	struct perf_test_rotation *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	struct perf_event_attr attr = { .type = mock_pmu_type(pt->other_mock) };
	struct perf_event *event;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_ASSERT_EQ(test, 0, mock_pmu_set_counters(pt->mock, PERF_TEST_COUNTERS));

	r->test = test;
	r->nr_groups = nr;
	for (i = 0; i < nr; i++) {
		/* Those for one CPU are in a tree of their own. */
		perf_test_open_group(test, t, cpus && i % 2 ? pt->cpu : -1, &groups[i]);
		r->groups[i] = &groups[i];
	}
	r->pmu = groups[0].leader->pmu;

	/* A software group, and another PMU */
	event = perf_test_open_sw(test, t, NULL);
	r->others[r->nr_others++] = event;
	r->others[r->nr_others++] = perf_test_open_sw(test, t, event);
	event = perf_test_open(test, &attr, t, -1, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);
	r->others[r->nr_others++] = event;

	r->rotations = nr * 10;
	for (i = 0; i < 3; i++)
		perf_test_run(t, perf_test_rotate, r);
	KUNIT_EXPECT_EQ(test, 0, r->wrong);
}

/* Each gets as many turns as the others. */
static void test_groups_fair(struct kunit *test)
{
	struct perf_test_group *groups;
	unsigned int i;

	groups = kunit_kcalloc(test, PERF_TEST_MAX_GROUPS, sizeof(*groups), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, groups);
	for (i = 0; i < PERF_TEST_MAX_GROUPS; i++)
		groups[i].nr = 4;
	perf_test_groups(test, groups, PERF_TEST_MAX_GROUPS, false);
	for (i = 0; i < PERF_TEST_MAX_GROUPS; i++)
		KUNIT_EXPECT_EQ(test, 30, groups[i].turns);
}

/* A small group does not overtake a large one that has to wait. */
static void test_groups_sizes(struct kunit *test)
{
	struct perf_test_group groups[] = {
		{ .nr = 5 }, { .nr = 5 }, { .nr = 1 }, { .nr = 3 }, { .nr = 7 },
		{ .nr = 2 }, { .nr = 1 }, { .nr = 4 }, { .nr = 6 }, { .nr = 1 },
	};

	perf_test_groups(test, groups, ARRAY_SIZE(groups), false);
}

static void test_groups_exclusive(struct kunit *test)
{
	struct perf_test_group groups[] = {
		{ .nr = 3 }, { .nr = 2, .exclusive = true }, { .nr = 2 }, { .nr = 2 },
		{ .nr = 1, .exclusive = true }, { .nr = 1 }, { .nr = 6 },
	};

	perf_test_groups(test, groups, ARRAY_SIZE(groups), false);
}

/* Groups for any CPU and for this one take their turns in one order. */
static void test_groups_cpu(struct kunit *test)
{
	struct perf_test_group groups[] = {
		{ .nr = 5 }, { .nr = 5 }, { .nr = 1 }, { .nr = 3 }, { .nr = 6 },
		{ .nr = 2 }, { .nr = 1 }, { .nr = 4 },
	};

	perf_test_groups(test, groups, ARRAY_SIZE(groups), true);
}

/* Each pinned group that does not fit is in ERROR state, and flexible ones wait. */
static void test_groups_pinned(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	struct perf_event_attr attr = {
		.type	= mock_pmu_type(pt->mock),
		.config	= MOCK_PMU_CONFIG_TIME,
	};
	struct perf_test_group flexible[] = { { .nr = 3 }, { .nr = 1 } };
	struct perf_event *leaders[4], *event;
	u64 enabled, running;
	int i, j;

	KUNIT_ASSERT_EQ(test, 0, mock_pmu_set_counters(pt->mock, PERF_TEST_COUNTERS));
	for (i = 0; i < ARRAY_SIZE(flexible); i++)
		perf_test_open_group(test, t, -1, &flexible[i]);
	for (i = 0; i < ARRAY_SIZE(leaders); i++) {
		attr.pinned = 1;
		leaders[i] = perf_test_open(test, &attr, t, -1, NULL);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, leaders[i]);
		attr.pinned = 0;
		/* The last one would fit. */
		for (j = 1; j < (i == 3 ? 1 : 5); j++) {
			event = perf_test_open(test, &attr, t, -1, leaders[i]);
			KUNIT_ASSERT_NOT_ERR_OR_NULL(test, event);
		}
	}
	perf_test_run(t, perf_test_delay, NULL);

	KUNIT_EXPECT_EQ(test, PERF_EVENT_STATE_INACTIVE, leaders[0]->state);
	for (i = 1; i < ARRAY_SIZE(leaders); i++)
		KUNIT_EXPECT_EQ(test, PERF_EVENT_STATE_ERROR, leaders[i]->state);
	perf_event_read_value(leaders[0], &enabled, &running);
	KUNIT_EXPECT_EQ(test, enabled, running);
}

/* A software group that a hardware event joins needs counters from then on. */
static void test_groups_moved(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct perf_test_task *t = perf_test_task(test);
	struct perf_event *sw, *leader, *sibling;
	u64 enabled, running;

	KUNIT_ASSERT_EQ(test, 0, mock_pmu_set_counters(pt->mock, 1));

	sw = perf_test_open_sw(test, t, NULL);
	leader = perf_test_open_sw(test, t, NULL);
	perf_test_open_sw(test, t, leader);
	KUNIT_EXPECT_EQ(test, 2, leader->pmu_ctx->nr_sw_groups);

	sibling = perf_test_open_task(test, MOCK_PMU_CONFIG_TIME, t, leader);
	KUNIT_EXPECT_PTR_EQ(test, leader->pmu_ctx, sibling->pmu_ctx);
	KUNIT_EXPECT_EQ(test, 0, leader->pmu_ctx->nr_sw_groups);
	KUNIT_EXPECT_EQ(test, 1, sw->pmu_ctx->nr_sw_groups);

	perf_test_run(t, perf_test_delay, NULL);
	perf_event_read_value(leader, &enabled, &running);
	KUNIT_EXPECT_GT(test, running, 0);

	/* What is left of the group stays where it is. */
	perf_test_close(test, leader);
	KUNIT_EXPECT_EQ(test, 0, sibling->pmu_ctx->nr_sw_groups);
	perf_test_close(test, sibling);
	perf_test_close(test, sw);
}

/* ===== Frequencies ===== */

#define PERF_TEST_FREQ	1000

struct perf_test_freq {
	struct perf_event	*events[3];
	unsigned int		nr;
	/* What to count until a tick, in which time on the PMU */
	u64			count;
	u64			nsec;
	unsigned int		ticks;
	/* What that took */
	u64			took;
	unsigned int		wrong;
};

static void perf_test_open_freq(struct kunit *test, struct perf_test_task *t,
				struct perf_test_freq *f)
{
	struct perf_test *pt = test->priv;
	struct perf_event_attr attr = {
		.type		= mock_pmu_type(pt->mock),
		.config		= MOCK_PMU_CONFIG_TICKS,
		.freq		= 1,
		.sample_freq	= PERF_TEST_FREQ,
	};

	for (unsigned int i = 0; i < f->nr; i++) {
		f->events[i] = perf_test_open(test, &attr, t, -1, i ? f->events[0] : NULL);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, f->events[i]);
	}
}

/*
 * The time that passes is made up, and so long that the time which passes on top
 * of it does not matter.
 */
static void perf_test_freq_ticks(struct perf_test_task *t, void *arg)
{
	struct perf_test_freq *f = arg;

	guard(irqsave)();
	for (unsigned int n = 0; n < f->ticks; n++) {
		for (unsigned int i = 0; i < f->nr; i++) {
			local64_add(f->count, &f->events[i]->count);
			f->events[i]->total_time_running += f->nsec;
		}
		perf_event_task_tick();
	}
}

static void perf_test_freq_run(struct perf_test_task *t, struct perf_test_freq *f,
			       u64 count, u64 nsec, unsigned int ticks)
{
	f->count = count;
	f->nsec = nsec;
	f->ticks = ticks;
	perf_test_run(t, perf_test_freq_ticks, f);
}

static void perf_test_expect_near(struct kunit *test, u64 want, u64 value)
{
	KUNIT_EXPECT_GE(test, value, want - want / 50);
	KUNIT_EXPECT_LE(test, value, want + want / 50);
}

/* Each event of a group has its own period, and the tick adjusts all of them. */
static void test_freq_siblings(struct kunit *test)
{
	struct perf_test_task *t = perf_test_task(test);
	struct perf_test_freq f = { .nr = 3 };

	perf_test_open_freq(test, t, &f);
	perf_test_freq_run(t, &f, 1000000, TICK_NSEC, 200);
	KUNIT_EXPECT_GT(test, f.events[0]->hw.sample_period, 1000);
	for (unsigned int i = 1; i < f.nr; i++)
		perf_test_expect_near(test, f.events[0]->hw.sample_period,
				      f.events[i]->hw.sample_period);
}

/* What is counted in the time of many ticks is not taken for what one gives. */
static void test_freq_many_ticks(struct kunit *test)
{
	struct perf_test_task *t = perf_test_task(test);
	struct perf_test_freq f = { .nr = 1 };

	/* 10^9 in a second make a period of 10^6. */
	perf_test_open_freq(test, t, &f);
	perf_test_freq_run(t, &f, 1000 * NSEC_PER_SEC, 1000 * NSEC_PER_SEC, 200);
	perf_test_expect_near(test, 1000000, f.events[0]->hw.sample_period);
}

static void perf_test_freq_two_ticks(struct perf_test_task *t, void *arg)
{
	struct perf_test_freq *f = arg;
	struct perf_event *event = f->events[0];
	u64 now, enabled, begin, end, period;

	guard(irqsave)();
	local64_add(NSEC_PER_SEC, &event->count);
	event->total_time_running += NSEC_PER_SEC;
	calc_timer_values(event, &now, &enabled, &begin);
	perf_event_task_tick();

	period = event->hw.sample_period;
	local64_add(1, &event->count);
	perf_event_task_tick();
	calc_timer_values(event, &now, &enabled, &end);

	f->took = end - begin;
	f->count = event->hw.sample_period - period;
}

/* A tick just after the last one does not tell anything. */
static void test_freq_part_of_tick(struct kunit *test)
{
	struct perf_test_task *t = perf_test_task(test);
	struct perf_test_freq f = { .nr = 1 };
	int i;

	perf_test_open_freq(test, t, &f);
	perf_test_freq_run(t, &f, 1000 * NSEC_PER_SEC, 1000 * NSEC_PER_SEC, 200);
	for (i = 0; i < 100; i++) {
		perf_test_run(t, perf_test_freq_two_ticks, &f);
		if (f.took < TICK_NSEC / 2)
			break;
	}
	KUNIT_ASSERT_LT(test, f.took, TICK_NSEC / 2);
	KUNIT_EXPECT_EQ(test, 0, f.count);
}

/* Samples that are 1 ms apart on the PMU, however long that takes. */
static void perf_test_freq_overflows(struct perf_test_task *t, void *arg)
{
	struct perf_test_freq *f = arg;
	struct hw_perf_event *hwc = &f->events[0]->hw;
	s64 left;

	f->count = 0;
	for (unsigned int n = 0; n < 250; n++) {
		scoped_guard(irqsave) {
			left = local64_read(&hwc->period_left);
			f->events[0]->total_time_running += left * f->nsec;
		}
		WARN_ON_ONCE(mock_pmu_tick(t->pt->mock, t->pt->cpu, left));
		f->count += n >= 200 && hwc->sample_period > 40 && hwc->sample_period < 60;
	}
}

/* Only the time on the PMU makes the frequency. */
static void test_freq_overflow(struct kunit *test)
{
	struct perf_test_task *t = perf_test_task(test);
	struct perf_test_freq f = { .nr = 1, .nsec = 20 * NSEC_PER_USEC };

	perf_test_open_freq(test, t, &f);
	perf_test_run(t, perf_test_freq_overflows, &f);
	/* Of the last 50: some may have been disturbed. */
	KUNIT_EXPECT_GT(test, f.count, 25);
}

static void perf_test_throttled_tick(struct perf_test_task *t, void *arg)
{
	struct perf_test_freq *f = arg;
	struct pmu *pmu = f->events[0]->pmu;

	guard(irqsave)();
	for (unsigned int i = 0; i < f->nr; i++) {
		local64_add(f->count, &f->events[i]->count);
		f->events[i]->total_time_running += f->nsec;
	}
	perf_pmu_disable(pmu);
	perf_event_throttle_group(f->events[0]);
	perf_pmu_enable(pmu);
	__this_cpu_inc(perf_throttled_count);
	perf_event_task_tick();

	f->wrong = 0;
	for (unsigned int i = 0; i < f->nr; i++)
		f->wrong += f->events[i]->hw.interrupts || f->events[i]->hw.state;
}

/* The tick starts what was throttled, and each event once: mock_pmu_start() complains. */
static void test_freq_throttled(struct kunit *test)
{
	struct perf_test_task *t = perf_test_task(test);
	struct perf_test_freq f = { .nr = 3, .count = 1000 };

	perf_test_open_freq(test, t, &f);
	/* Enough to adjust the period by, and not. */
	f.nsec = TICK_NSEC;
	perf_test_run(t, perf_test_throttled_tick, &f);
	KUNIT_EXPECT_EQ(test, 0, f.wrong);
	f.nsec = 0;
	perf_test_run(t, perf_test_throttled_tick, &f);
	KUNIT_EXPECT_EQ(test, 0, f.wrong);
}

static struct kunit_case perf_events_core_test_cases[] = {
	KUNIT_CASE(test_lookup),
	KUNIT_CASE(test_refused_attr),
	KUNIT_CASE(test_count_time),
	KUNIT_CASE(test_count_ticks),
	KUNIT_CASE(test_group_too_large),
	KUNIT_CASE(test_groups_compete),
	KUNIT_CASE(test_calls),
	KUNIT_CASE(test_context_switch),
	KUNIT_CASE(test_event_init_error),
	KUNIT_CASE(test_add_error),
	KUNIT_CASE(test_overflow_disables),
	KUNIT_CASE(test_fork_inherits),
	KUNIT_CASE(test_fork_error),
	KUNIT_CASE(test_unregister_in_fork),
	KUNIT_CASE(test_unregister_while_forking),
	KUNIT_CASE(test_cpu_offline),
	KUNIT_CASE(test_groups_fair),
	KUNIT_CASE(test_groups_sizes),
	KUNIT_CASE(test_groups_exclusive),
	KUNIT_CASE(test_groups_cpu),
	KUNIT_CASE(test_groups_pinned),
	KUNIT_CASE(test_groups_moved),
	KUNIT_CASE(test_freq_siblings),
	KUNIT_CASE(test_freq_throttled),
	KUNIT_CASE(test_freq_many_ticks),
	KUNIT_CASE(test_freq_part_of_tick),
	KUNIT_CASE(test_freq_overflow),
	{}
};

static int perf_events_core_init(struct kunit *test)
{
	struct perf_test *pt;
	unsigned long uattr;

	pt = kunit_kzalloc(test, sizeof(*pt), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pt);
	pt->mock = mock_pmu_get(0);
	pt->other_mock = mock_pmu_get(1);
	KUNIT_ASSERT_NOT_NULL(test, pt->mock);
	KUNIT_ASSERT_NOT_NULL(test, pt->other_mock);
	pt->cpu = cpumask_last(cpu_online_mask);

	uattr = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			      MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, uattr, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(uattr));
	pt->uattr = (void __user *)uattr;

	test->priv = pt;
	return 0;
}

/* Ends what a failed test has left, and checks what must hold after each. */
static void perf_events_core_exit(struct kunit *test)
{
	struct perf_test *pt = test->priv;
	struct mock_pmu *mock;
	int i, cpu, where;

	if (!pt)
		return;

	for (i = 0; i < PERF_TEST_MAX_TASKS; i++)
		perf_test_finish(&pt->tasks[i]);
	for (i = 0; i < PERF_TEST_MAX_EVENTS; i++) {
		if (pt->events[i].event)
			__perf_test_close(&pt->events[i]);
	}
	for (i = 0; i < PERF_TEST_MAX_TASKS; i++) {
		if (pt->tasks[i].task)
			perf_test_task_exit(&pt->tasks[i]);
	}

	for (i = 0; i < MOCK_PMU_NR; i++) {
		mock = mock_pmu_get(i);
		for (where = 0; where < MOCK_PMU_NR_FAILS; where++)
			mock_pmu_set_fail(mock, where, 0, 0, 0);
		/* Refused if an event is left. */
		KUNIT_EXPECT_EQ(test, 0, mock_pmu_set_counters(mock, MOCK_PMU_DEFAULT_COUNTERS));
		KUNIT_EXPECT_EQ(test, mock_pmu_calls(mock, MOCK_PMU_PMU_DISABLE),
				mock_pmu_calls(mock, MOCK_PMU_PMU_ENABLE));
		for_each_online_cpu(cpu)
			KUNIT_EXPECT_EQ(test, 0, mock_pmu_disabled(mock, cpu));
	}
}

static struct kunit_suite perf_events_core_test_suite = {
	.name		= "perf_events_core",
	.init		= perf_events_core_init,
	.exit		= perf_events_core_exit,
	.test_cases	= perf_events_core_test_cases,
};

kunit_test_suite(perf_events_core_test_suite);
