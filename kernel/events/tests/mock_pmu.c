// SPDX-License-Identifier: GPL-2.0
/*
 * A PMU without hardware, for tests of the perf core.
 *
 * To the core, mock0 and mock1 are like the PMU of a CPU: each CPU has a few
 * counters, groups of events compete for them, and a group that does not fit
 * has to wait for its turn. A test can see what the core asked of the PMU, by
 * counts of the calls, and can make the PMU say no.
 *
 * Locking: the core calls add(), del(), start(), stop(), read(), the
 * transaction and the pmu_enable() and pmu_disable() callbacks on the CPU
 * which they are about, with interrupts off. mock_pmu_tick() and
 * mock_pmu_disabled() send an IPI to be there as well. No NMI is involved, so
 * struct mock_pmu_cpu needs no lock. An event_init() and the destroy() of an
 * event run anywhere in process context.
 */
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/processor.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/task_stack.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/time64.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "mock_pmu.h"

/*
 * A transaction collects a group before it checks whether the group fits, and
 * event_init() lets in no group that is larger than the PMU.
 */
#define MOCK_PMU_MAX_ADDED	(2 * MOCK_PMU_MAX_COUNTERS)

struct mock_pmu_cpu {
	struct perf_event	*events[MOCK_PMU_MAX_ADDED];
	unsigned int		nr_added;
	unsigned int		txn_flags;
	bool			disabled;
	unsigned long		calls[MOCK_PMU_NR_CALLS];
};

struct mock_pmu_failure {
	/* Raw, since add() runs under the scheduler's locks */
	raw_spinlock_t		lock;
	unsigned int		err;
	unsigned int		skip;
	unsigned int		count;
};

struct mock_pmu {
	struct pmu			pmu;
	struct mock_pmu_cpu __percpu	*cpu;
	unsigned int			nr_counters;
	/* Events that exist; below zero while nr_counters changes */
	atomic_t			nr_events;
	struct mock_pmu_failure		fail[MOCK_PMU_NR_FAILS];
	/* Whether events that are inherited wait in event_init(), how many do */
	bool				hold;
	atomic_t			nr_held;
	wait_queue_head_t		hold_wait;
	/* Protects base */
	struct mutex			lock;
	/* What the calls of all CPUs summed up to at the last reset */
	unsigned long			base[MOCK_PMU_NR_CALLS];
};

static struct mock_pmu *mock_pmus[MOCK_PMU_NR];

static const char * const mock_pmu_names[MOCK_PMU_NR] = { "mock0", "mock1" };

static const char * const mock_pmu_call_names[MOCK_PMU_NR_CALLS] = {
	[MOCK_PMU_EVENT_INIT]	= "event_init",
	[MOCK_PMU_DESTROY]	= "destroy",
	[MOCK_PMU_ADD]		= "add",
	[MOCK_PMU_DEL]		= "del",
	[MOCK_PMU_START]	= "start",
	[MOCK_PMU_STOP]		= "stop",
	[MOCK_PMU_READ]		= "read",
	[MOCK_PMU_PMU_DISABLE]	= "pmu_disable",
	[MOCK_PMU_PMU_ENABLE]	= "pmu_enable",
	[MOCK_PMU_START_TXN]	= "start_txn",
	[MOCK_PMU_COMMIT_TXN]	= "commit_txn",
	[MOCK_PMU_CANCEL_TXN]	= "cancel_txn",
};

static const char * const mock_pmu_fail_names[MOCK_PMU_NR_FAILS] = {
	[MOCK_PMU_FAIL_EVENT_INIT]		= "fail_event_init",
	[MOCK_PMU_FAIL_EVENT_INIT_CHILD]	= "fail_event_init_child",
	[MOCK_PMU_FAIL_ADD]			= "fail_add",
};

static struct mock_pmu *to_mock_pmu(struct pmu *pmu)
{
	return container_of(pmu, struct mock_pmu, pmu);
}

static void mock_pmu_count_call(struct mock_pmu *mock, enum mock_pmu_call call)
{
	this_cpu_inc(mock->cpu->calls[call]);
}

/* Called last, so that only calls that would succeed count. */
static int mock_pmu_fail(struct mock_pmu *mock, enum mock_pmu_fail where)
{
	struct mock_pmu_failure *fail = &mock->fail[where];

	/* Pairs with mock_pmu_set_failure(); take no lock unless a test asks. */
	if (likely(!READ_ONCE(fail->count)))
		return 0;

	guard(raw_spinlock_irqsave)(&fail->lock);
	if (!fail->count)
		return 0;
	if (fail->skip) {
		fail->skip--;
		return 0;
	}
	WRITE_ONCE(fail->count, fail->count - 1);
	return -(int)fail->err;
}

/* Like x86_perf_event_set_period(): begin a new period if the last one is over. */
static void mock_pmu_set_period(struct hw_perf_event *hwc)
{
	if (local64_read(&hwc->period_left) > 0)
		return;

	local64_set(&hwc->period_left, hwc->sample_period);
	hwc->last_period = hwc->sample_period;
}

static void mock_pmu_update(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 now = local_clock();

	/* Ticks are counted when they are made. */
	if (hwc->config != MOCK_PMU_CONFIG_TIME)
		return;

	local64_add(now - local64_xchg(&hwc->prev_count, now), &event->count);
}

static void __mock_pmu_start(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;

	if (is_sampling_event(event))
		mock_pmu_set_period(hwc);
	local64_set(&hwc->prev_count, local_clock());
	hwc->state = 0;
}

static void __mock_pmu_stop(struct perf_event *event)
{
	struct hw_perf_event *hwc = &event->hw;

	if (hwc->state & PERF_HES_STOPPED)
		return;

	mock_pmu_update(event);
	hwc->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static void mock_pmu_start(struct perf_event *event, int flags)
{
	mock_pmu_count_call(to_mock_pmu(event->pmu), MOCK_PMU_START);
	/* As x86_pmu_start() */
	if (WARN_ON_ONCE(!(event->hw.state & PERF_HES_STOPPED)))
		return;
	__mock_pmu_start(event);
}

static void mock_pmu_stop(struct perf_event *event, int flags)
{
	mock_pmu_count_call(to_mock_pmu(event->pmu), MOCK_PMU_STOP);
	__mock_pmu_stop(event);
}

static void mock_pmu_read(struct perf_event *event)
{
	mock_pmu_count_call(to_mock_pmu(event->pmu), MOCK_PMU_READ);
	if (!(event->hw.state & PERF_HES_STOPPED))
		mock_pmu_update(event);
}

static int mock_pmu_add(struct perf_event *event, int flags)
{
	struct mock_pmu *mock = to_mock_pmu(event->pmu);
	struct mock_pmu_cpu *cpu = this_cpu_ptr(mock->cpu);
	struct hw_perf_event *hwc = &event->hw;
	int err;

	lockdep_assert_irqs_disabled();
	mock_pmu_count_call(mock, MOCK_PMU_ADD);

	/* In a transaction, the group as a whole is checked by the commit. */
	if (!(cpu->txn_flags & PERF_PMU_TXN_ADD) && cpu->nr_added >= mock->nr_counters)
		return -EAGAIN;
	if (WARN_ON_ONCE(cpu->nr_added >= MOCK_PMU_MAX_ADDED))
		return -EAGAIN;

	err = mock_pmu_fail(mock, MOCK_PMU_FAIL_ADD);
	if (err)
		return err;

	hwc->idx = cpu->nr_added;
	cpu->events[cpu->nr_added++] = event;
	hwc->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		__mock_pmu_start(event);
	perf_event_update_userpage(event);

	return 0;
}

static void mock_pmu_del(struct perf_event *event, int flags)
{
	struct mock_pmu *mock = to_mock_pmu(event->pmu);
	struct mock_pmu_cpu *cpu = this_cpu_ptr(mock->cpu);
	struct hw_perf_event *hwc = &event->hw;
	struct perf_event *last;

	lockdep_assert_irqs_disabled();
	mock_pmu_count_call(mock, MOCK_PMU_DEL);

	if (WARN_ON_ONCE(hwc->idx < 0 || cpu->events[hwc->idx] != event))
		return;

	__mock_pmu_stop(event);

	last = cpu->events[--cpu->nr_added];
	cpu->events[hwc->idx] = last;
	last->hw.idx = hwc->idx;
	cpu->events[cpu->nr_added] = NULL;
	hwc->idx = -1;
	perf_event_update_userpage(event);
}

static void mock_pmu_disable(struct pmu *pmu)
{
	struct mock_pmu *mock = to_mock_pmu(pmu);

	mock_pmu_count_call(mock, MOCK_PMU_PMU_DISABLE);
	this_cpu_write(mock->cpu->disabled, true);
}

static void mock_pmu_enable(struct pmu *pmu)
{
	struct mock_pmu *mock = to_mock_pmu(pmu);

	mock_pmu_count_call(mock, MOCK_PMU_PMU_ENABLE);
	this_cpu_write(mock->cpu->disabled, false);
}

static void mock_pmu_start_txn(struct pmu *pmu, unsigned int flags)
{
	struct mock_pmu *mock = to_mock_pmu(pmu);
	struct mock_pmu_cpu *cpu = this_cpu_ptr(mock->cpu);

	mock_pmu_count_call(mock, MOCK_PMU_START_TXN);

	WARN_ON_ONCE(cpu->txn_flags);
	cpu->txn_flags = flags;
	if (flags & PERF_PMU_TXN_ADD)
		perf_pmu_disable(pmu);
}

static void mock_pmu_end_txn(struct pmu *pmu, struct mock_pmu_cpu *cpu)
{
	unsigned int flags = cpu->txn_flags;

	WARN_ON_ONCE(!flags);
	cpu->txn_flags = 0;
	if (flags & PERF_PMU_TXN_ADD)
		perf_pmu_enable(pmu);
}

static int mock_pmu_commit_txn(struct pmu *pmu)
{
	struct mock_pmu *mock = to_mock_pmu(pmu);
	struct mock_pmu_cpu *cpu = this_cpu_ptr(mock->cpu);

	mock_pmu_count_call(mock, MOCK_PMU_COMMIT_TXN);

	/* The core takes the group off again, then cancels. */
	if ((cpu->txn_flags & PERF_PMU_TXN_ADD) && cpu->nr_added > mock->nr_counters)
		return -EAGAIN;

	mock_pmu_end_txn(pmu, cpu);
	return 0;
}

static void mock_pmu_cancel_txn(struct pmu *pmu)
{
	struct mock_pmu *mock = to_mock_pmu(pmu);

	mock_pmu_count_call(mock, MOCK_PMU_CANCEL_TXN);
	mock_pmu_end_txn(pmu, this_cpu_ptr(mock->cpu));
}

static int mock_pmu_validate_attr(const struct perf_event_attr *attr)
{
	if (attr->config >= MOCK_PMU_NR_CONFIGS)
		return -EINVAL;
	if (attr->config1 || attr->config2 || attr->config3 || attr->config4)
		return -EINVAL;

	/* Time runs on without anything that could interrupt it. */
	if (attr->config == MOCK_PMU_CONFIG_TIME && attr->sample_period)
		return -EOPNOTSUPP;
	if (attr->precise_ip || attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		return -EOPNOTSUPP;
	/*
	 * What a guest does is not seen, but see mock_pmu_guest(). The other
	 * exclude bits filter samples, but not what is counted.
	 */
	if (attr->exclude_host)
		return -EOPNOTSUPP;

	return 0;
}

/*
 * Refuse what could not be on the PMU even if it was alone there. The core
 * sees to it that no other hardware PMU is in the group.
 */
static int mock_pmu_validate_group(struct mock_pmu *mock, struct perf_event *event)
{
	struct perf_event *sibling, *leader = event->group_leader;
	unsigned int nr = 1;

	if (leader == event)
		return 0;

	nr += leader->pmu == event->pmu;
	for_each_sibling_event(sibling, leader)
		nr += sibling->pmu == event->pmu;

	return nr > mock->nr_counters ? -EINVAL : 0;
}

static void mock_pmu_event_destroy(struct perf_event *event)
{
	struct mock_pmu *mock = to_mock_pmu(event->pmu);

	mock_pmu_count_call(mock, MOCK_PMU_DESTROY);
	atomic_dec(&mock->nr_events);
}

static void mock_pmu_hold(struct mock_pmu *mock)
{
	if (likely(!READ_ONCE(mock->hold)))
		return;

	atomic_inc(&mock->nr_held);
	wait_event_killable(mock->hold_wait, !READ_ONCE(mock->hold));
	atomic_dec(&mock->nr_held);
}

static int mock_pmu_event_init(struct perf_event *event)
{
	struct mock_pmu *mock = to_mock_pmu(event->pmu);
	int err;

	/* Counts events of other types too: a test may want none to come here. */
	mock_pmu_count_call(mock, MOCK_PMU_EVENT_INIT);

	if (event->attr.type != mock->pmu.type)
		return -ENOENT;

	if (event->parent)
		mock_pmu_hold(mock);

	err = mock_pmu_validate_attr(&event->attr);
	if (err)
		return err;

	/* From here on nr_counters does not change, see mock_pmu_set_counters(). */
	if (!atomic_inc_unless_negative(&mock->nr_events))
		return -EBUSY;

	err = mock_pmu_validate_group(mock, event);
	if (!err)
		err = mock_pmu_fail(mock, MOCK_PMU_FAIL_EVENT_INIT);
	if (!err && event->parent)
		err = mock_pmu_fail(mock, MOCK_PMU_FAIL_EVENT_INIT_CHILD);
	if (err) {
		atomic_dec(&mock->nr_events);
		return err;
	}

	event->hw.config = event->attr.config;
	event->hw.idx = -1;
	event->destroy = mock_pmu_event_destroy;

	return 0;
}

PMU_FORMAT_ATTR(event, "config:0-63");
PMU_EVENT_ATTR_STRING(time, mock_pmu_attr_time, "event=0x0");
PMU_EVENT_ATTR_STRING(ticks, mock_pmu_attr_ticks, "event=0x1");

static struct attribute *mock_pmu_format_attrs[] = {
	&format_attr_event.attr,
	NULL
};

static const struct attribute_group mock_pmu_format_group = {
	.name	= "format",
	.attrs	= mock_pmu_format_attrs,
};

static struct attribute *mock_pmu_events_attrs[] = {
	&mock_pmu_attr_time.attr.attr,
	&mock_pmu_attr_ticks.attr.attr,
	NULL
};

static const struct attribute_group mock_pmu_events_group = {
	.name	= "events",
	.attrs	= mock_pmu_events_attrs,
};

static const struct attribute_group *mock_pmu_attr_groups[] = {
	&mock_pmu_format_group,
	&mock_pmu_events_group,
	NULL
};

/**
 * mock_pmu_get() - Find a mock PMU
 * @nr: its number, 0 for mock0
 *
 * Return: the PMU, or NULL if there is none. It never goes away.
 */
struct mock_pmu *mock_pmu_get(unsigned int nr)
{
	return nr < MOCK_PMU_NR ? mock_pmus[nr] : NULL;
}

/**
 * mock_pmu_type() - The type of a mock PMU
 * @mock: the PMU
 *
 * Return: the value for perf_event_attr::type.
 */
int mock_pmu_type(struct mock_pmu *mock)
{
	return mock->pmu.type;
}

static unsigned long mock_pmu_sum_calls(struct mock_pmu *mock, enum mock_pmu_call call)
{
	unsigned long sum = 0;
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(mock->cpu, cpu)->calls[call]);

	return sum;
}

/**
 * mock_pmu_calls() - How often the core has called a callback
 * @mock: the PMU
 * @call: the callback
 *
 * Only calls by the core count: an add() that starts the event is no start().
 * An event_init() counts for events of any type, and if it fails as well.
 *
 * Return: the number of calls on all CPUs since the last mock_pmu_reset_calls().
 */
unsigned long mock_pmu_calls(struct mock_pmu *mock, enum mock_pmu_call call)
{
	guard(mutex)(&mock->lock);
	return mock_pmu_sum_calls(mock, call) - mock->base[call];
}

/**
 * mock_pmu_reset_calls() - Begin to count the calls from 0
 * @mock: the PMU
 */
void mock_pmu_reset_calls(struct mock_pmu *mock)
{
	enum mock_pmu_call call;

	/* The other CPUs go on counting, so leave their counts alone. */
	guard(mutex)(&mock->lock);
	for (call = 0; call < MOCK_PMU_NR_CALLS; call++)
		mock->base[call] = mock_pmu_sum_calls(mock, call);
}

/**
 * mock_pmu_counters() - How many counters each CPU has
 * @mock: the PMU
 *
 * Return: the number of counters.
 */
unsigned int mock_pmu_counters(struct mock_pmu *mock)
{
	return READ_ONCE(mock->nr_counters);
}

/**
 * mock_pmu_set_counters() - Change how many counters each CPU has
 * @mock: the PMU
 * @nr: the number of counters, 1 to MOCK_PMU_MAX_COUNTERS
 *
 * An event that is opened meanwhile is refused with -EBUSY.
 *
 * Return: 0; -EINVAL if @nr is out of range; -EBUSY while the PMU has events,
 * whether on a CPU or not.
 */
int mock_pmu_set_counters(struct mock_pmu *mock, unsigned int nr)
{
	if (nr < 1 || nr > MOCK_PMU_MAX_COUNTERS)
		return -EINVAL;

	if (atomic_cmpxchg(&mock->nr_events, 0, -1))
		return -EBUSY;
	WRITE_ONCE(mock->nr_counters, nr);
	atomic_set_release(&mock->nr_events, 0);

	return 0;
}

static int mock_pmu_set_failure(struct mock_pmu_failure *fail, unsigned int err,
				unsigned int skip, unsigned int count)
{
	if (count && (err < 1 || err > MAX_ERRNO))
		return -EINVAL;

	guard(raw_spinlock_irqsave)(&fail->lock);
	fail->err = err;
	fail->skip = skip;
	WRITE_ONCE(fail->count, count);

	return 0;
}

/**
 * mock_pmu_set_fail() - Make a callback fail
 * @mock: the PMU
 * @where: which callback
 * @err: the error, a positive errno
 * @skip: how many more calls succeed before
 * @count: how many calls fail then; 0 to let all succeed again
 *
 * Calls that fail for a reason of their own are not counted.
 *
 * Return: 0, or -EINVAL if @err is no errno.
 */
int mock_pmu_set_fail(struct mock_pmu *mock, enum mock_pmu_fail where,
		      unsigned int err, unsigned int skip, unsigned int count)
{
	return mock_pmu_set_failure(&mock->fail[where], err, skip, count);
}

struct mock_pmu_tick_args {
	struct mock_pmu	*mock;
	u64		nr;
};

static void mock_pmu_tick_event(struct perf_event *event, u64 nr, struct pt_regs *regs)
{
	struct hw_perf_event *hwc = &event->hw;
	struct perf_sample_data data;
	u64 step;

	if (!is_sampling_event(event)) {
		if (!(hwc->state & PERF_HES_STOPPED))
			local64_add(nr, &event->count);
		return;
	}

	/* Throttling ends this early if the period is short and @nr is large. */
	while (nr && !(hwc->state & PERF_HES_STOPPED)) {
		step = min_t(u64, nr, local64_read(&hwc->period_left));
		local64_add(step, &event->count);
		nr -= step;

		if (local64_sub_return(step, &hwc->period_left))
			break;

		perf_sample_data_init(&data, 0, hwc->last_period);
		mock_pmu_set_period(hwc);
		if (!perf_exclude_event(event, regs) &&
		    perf_event_overflow(event, &data, regs))
			__mock_pmu_stop(event);
	}
}

static void mock_pmu_tick_cpu(void *info)
{
	struct mock_pmu_tick_args *args = info;
	struct mock_pmu_cpu *cpu = this_cpu_ptr(args->mock->cpu);
	struct pt_regs kernel_regs = {}, *regs = &kernel_regs;
	unsigned int i;

	/* The core has left the PMU disabled; a real one would not count. */
	if (cpu->disabled)
		return;

	/*
	 * A sample shows where the task entered the kernel, so that it can
	 * hold no kernel address which its owner must not see.
	 */
	if (current->flags & PF_KTHREAD)
		perf_fetch_caller_regs(regs);
	else
		regs = task_pt_regs(current);

	/* An overflow can stop events, but takes none off. */
	for (i = 0; i < cpu->nr_added; i++) {
		if (cpu->events[i]->hw.config == MOCK_PMU_CONFIG_TICKS)
			mock_pmu_tick_event(cpu->events[i], args->nr, regs);
	}
}

/**
 * mock_pmu_tick() - Let the events that count ticks advance
 * @mock: the PMU
 * @cpu: the CPU
 * @nr: the number of ticks
 *
 * Adds @nr to each started MOCK_PMU_CONFIG_TICKS event that is on the PMU on
 * @cpu at the moment, and takes a sample for each period that ends, in an
 * interrupt on @cpu. When this returns it is done.
 *
 * Context: interrupts enabled.
 * Return: 0, or -ENXIO if @cpu is not online.
 */
int mock_pmu_tick(struct mock_pmu *mock, unsigned int cpu, u64 nr)
{
	struct mock_pmu_tick_args args = { .mock = mock, .nr = nr };

	return smp_call_function_single(cpu, mock_pmu_tick_cpu, &args, true);
}

struct mock_pmu_disabled_args {
	struct mock_pmu	*mock;
	bool		disabled;
};

static void mock_pmu_disabled_cpu(void *info)
{
	struct mock_pmu_disabled_args *args = info;

	args->disabled = this_cpu_read(args->mock->cpu->disabled);
}

/**
 * mock_pmu_disabled() - Whether the core has left the PMU disabled on a CPU
 * @mock: the PMU
 * @cpu: the CPU
 *
 * The core disables the PMU only with interrupts off, and this looks from an
 * interrupt on @cpu. Hence a PMU that is found disabled stays so until a
 * pmu_enable() that has no pmu_disable().
 *
 * Context: interrupts enabled.
 * Return: 1 if disabled, 0 if not, or -ENXIO if @cpu is not online.
 */
int mock_pmu_disabled(struct mock_pmu *mock, unsigned int cpu)
{
	struct mock_pmu_disabled_args args = { .mock = mock };
	int err;

	err = smp_call_function_single(cpu, mock_pmu_disabled_cpu, &args, true);
	return err ?: args.disabled;
}

static void mock_pmu_guest_cpu(void *info)
{
	u64 ns = *(unsigned int *)info * (u64)NSEC_PER_MSEC, start = local_clock();

	perf_load_guest_context();
	while (local_clock() - start < ns)
		cpu_relax();
	perf_put_guest_context();
}

/**
 * mock_pmu_guest() - Let a CPU do what it does for a guest that owns the PMU
 * @cpu: the CPU
 * @ms: for how many milliseconds
 *
 * Takes events with perf_event_attr::exclude_guest off the mock PMUs on @cpu,
 * and puts them on again at the end, as KVM does around the time that a guest
 * with a mediated PMU runs. Interrupts are off on @cpu meanwhile.
 *
 * Context: interrupts enabled.
 * Return: 0; -EINVAL if @ms is above MOCK_PMU_MAX_GUEST_MS; -ENXIO if @cpu is not
 * online.
 */
int mock_pmu_guest(unsigned int cpu, unsigned int ms)
{
	if (ms > MOCK_PMU_MAX_GUEST_MS)
		return -EINVAL;

	return smp_call_function_single(cpu, mock_pmu_guest_cpu, &ms, true);
}

static int mock_pmu_calls_show(struct seq_file *m, void *v)
{
	struct mock_pmu *mock = m->private;
	enum mock_pmu_call call;

	for (call = 0; call < MOCK_PMU_NR_CALLS; call++)
		seq_printf(m, "%s %lu\n", mock_pmu_call_names[call],
			   mock_pmu_calls(mock, call));

	return 0;
}

static ssize_t mock_pmu_calls_write(struct file *file, const char __user *ubuf,
				    size_t len, loff_t *pos)
{
	struct seq_file *m = file->private_data;

	mock_pmu_reset_calls(m->private);
	return len;
}
DEFINE_SHOW_STORE_ATTRIBUTE(mock_pmu_calls);

static int mock_pmu_counters_get(void *data, u64 *val)
{
	*val = mock_pmu_counters(data);
	return 0;
}

static int mock_pmu_counters_set(void *data, u64 val)
{
	return mock_pmu_set_counters(data, min(val, UINT_MAX));
}
DEFINE_DEBUGFS_ATTRIBUTE(mock_pmu_counters_fops, mock_pmu_counters_get,
			 mock_pmu_counters_set, "%llu\n");

/* Reads exactly @nr numbers. */
static int mock_pmu_parse(const char __user *ubuf, size_t len, unsigned int *val, int nr)
{
	char buf[64], *p, *word;
	int i, err;

	if (len >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, len))
		return -EFAULT;
	buf[len] = '\0';
	p = strim(buf);

	for (i = 0; i < nr; i++) {
		word = strsep(&p, " ");
		if (!word)
			return -EINVAL;
		err = kstrtouint(word, 0, &val[i]);
		if (err)
			return err;
	}

	return p ? -EINVAL : 0;
}

static int mock_pmu_fail_show(struct seq_file *m, void *v)
{
	struct mock_pmu_failure *fail = m->private;
	unsigned int err, skip, count;

	scoped_guard(raw_spinlock_irqsave, &fail->lock) {
		err = fail->err;
		skip = fail->skip;
		count = fail->count;
	}
	seq_printf(m, "%u %u %u\n", err, skip, count);

	return 0;
}

static ssize_t mock_pmu_fail_write(struct file *file, const char __user *ubuf,
				   size_t len, loff_t *pos)
{
	struct seq_file *m = file->private_data;
	unsigned int val[3];
	int err;

	err = mock_pmu_parse(ubuf, len, val, ARRAY_SIZE(val));
	if (!err)
		err = mock_pmu_set_failure(m->private, val[0], val[1], val[2]);

	return err ?: len;
}
DEFINE_SHOW_STORE_ATTRIBUTE(mock_pmu_fail);

static int mock_pmu_hold_get(void *data, u64 *val)
{
	struct mock_pmu *mock = data;

	*val = atomic_read(&mock->nr_held);
	return 0;
}

static int mock_pmu_hold_set(void *data, u64 val)
{
	struct mock_pmu *mock = data;

	WRITE_ONCE(mock->hold, val);
	wake_up_all(&mock->hold_wait);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(mock_pmu_hold_fops, mock_pmu_hold_get,
			 mock_pmu_hold_set, "%llu\n");

static ssize_t mock_pmu_tick_write(struct file *file, const char __user *ubuf,
				   size_t len, loff_t *pos)
{
	unsigned int val[2];
	int err;

	err = mock_pmu_parse(ubuf, len, val, ARRAY_SIZE(val));
	if (!err)
		err = mock_pmu_tick(file->private_data, val[0], val[1]);

	return err ?: len;
}

static const struct file_operations mock_pmu_tick_fops = {
	.open	= simple_open,
	.write	= mock_pmu_tick_write,
	.llseek	= noop_llseek,
};

static ssize_t mock_pmu_guest_write(struct file *file, const char __user *ubuf,
				    size_t len, loff_t *pos)
{
	unsigned int val[2];
	int err;

	err = mock_pmu_parse(ubuf, len, val, ARRAY_SIZE(val));
	if (!err)
		err = mock_pmu_guest(val[0], val[1]);

	return err ?: len;
}

static const struct file_operations mock_pmu_guest_fops = {
	.open	= simple_open,
	.write	= mock_pmu_guest_write,
	.llseek	= noop_llseek,
};

static int mock_pmu_disabled_show(struct seq_file *m, void *v)
{
	unsigned int cpu;
	int disabled;

	guard(cpus_read_lock)();
	for_each_online_cpu(cpu) {
		disabled = mock_pmu_disabled(m->private, cpu);
		if (disabled < 0)
			return disabled;
		seq_printf(m, "cpu%u %d\n", cpu, disabled);
	}

	return 0;
}
DEFINE_SHOW_ATTRIBUTE(mock_pmu_disabled);

static void __init mock_pmu_debugfs_init(struct mock_pmu *mock, struct dentry *root)
{
	struct dentry *dir = debugfs_create_dir(mock->pmu.name, root);
	enum mock_pmu_fail where;

	debugfs_create_file("calls", 0600, dir, mock, &mock_pmu_calls_fops);
	debugfs_create_file("counters", 0600, dir, mock, &mock_pmu_counters_fops);
	for (where = 0; where < MOCK_PMU_NR_FAILS; where++)
		debugfs_create_file(mock_pmu_fail_names[where], 0600, dir,
				    &mock->fail[where], &mock_pmu_fail_fops);
	/* Write whether forks are to wait there; read how many do. */
	debugfs_create_file("hold_event_init_child", 0600, dir, mock, &mock_pmu_hold_fops);
	debugfs_create_file("tick", 0200, dir, mock, &mock_pmu_tick_fops);
	debugfs_create_file("guest", 0200, dir, mock, &mock_pmu_guest_fops);
	debugfs_create_file("disabled", 0400, dir, mock, &mock_pmu_disabled_fops);
}

static struct mock_pmu * __init mock_pmu_create(const char *name)
{
	struct mock_pmu *mock;
	int i, err;

	mock = kzalloc_obj(*mock);
	if (!mock)
		return ERR_PTR(-ENOMEM);

	/* For all possible CPUs, and empty while one is offline: see add() and del(). */
	mock->cpu = alloc_percpu(struct mock_pmu_cpu);
	if (!mock->cpu) {
		err = -ENOMEM;
		goto free;
	}

	mutex_init(&mock->lock);
	init_waitqueue_head(&mock->hold_wait);
	for (i = 0; i < MOCK_PMU_NR_FAILS; i++)
		raw_spin_lock_init(&mock->fail[i].lock);
	mock->nr_counters = MOCK_PMU_DEFAULT_COUNTERS;

	mock->pmu = (struct pmu) {
		.task_ctx_nr	= perf_hw_context,
		.capabilities	= PERF_PMU_CAP_NO_NMI |
					  PERF_PMU_CAP_MEDIATED_VPMU,
		.attr_groups	= mock_pmu_attr_groups,
		.event_init	= mock_pmu_event_init,
		.add		= mock_pmu_add,
		.del		= mock_pmu_del,
		.start		= mock_pmu_start,
		.stop		= mock_pmu_stop,
		.read		= mock_pmu_read,
		.pmu_disable	= mock_pmu_disable,
		.pmu_enable	= mock_pmu_enable,
		.start_txn	= mock_pmu_start_txn,
		.commit_txn	= mock_pmu_commit_txn,
		.cancel_txn	= mock_pmu_cancel_txn,
	};

	err = perf_pmu_register(&mock->pmu, name, -1);
	if (!err)
		return mock;

	free_percpu(mock->cpu);
free:
	kfree(mock);
	return ERR_PTR(err);
}

static int __init mock_pmu_init(void)
{
	struct dentry *root = debugfs_create_dir("perf_mock", NULL);
	struct mock_pmu *mock;
	unsigned int i;

	for (i = 0; i < MOCK_PMU_NR; i++) {
		mock = mock_pmu_create(mock_pmu_names[i]);
		if (IS_ERR(mock)) {
			pr_err("Cannot register the PMU %s: %pe\n", mock_pmu_names[i], mock);
			return PTR_ERR(mock);
		}
		mock_pmus[i] = mock;
		mock_pmu_debugfs_init(mock, root);
	}

	return 0;
}

/*
 * Last, for the core asks the newest PMU first when it has to search for one: a
 * test sees that it did so.
 */
late_initcall(mock_pmu_init);
