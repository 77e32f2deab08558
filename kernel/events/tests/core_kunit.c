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

#define PERF_TEST_MAX_EVENTS	16
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
	KUNIT_CASE(test_cpu_offline),
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
