// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on purpose, for the guests that have to notice them: "insmod faults.ko
 * fault=NAME" makes one, for a sanitizer that LKDTM has nothing for. Loading then
 * fails with ECANCELED, so that nothing stays and the next one can be made.
 */

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

static char *fault = "";
module_param(fault, charp, 0);
MODULE_PARM_DESC(fault, "lock-order, rcu, sleep, timer, leak or race");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

/* PROVE_LOCKING: two locks, once in each order. */
static int lock_order(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);

	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);

	return 0;
}

/* PROVE_RCU: a pointer read where no reader is. */
static int rcu(void)
{
	static int __rcu *pointer;

	(void)rcu_dereference(pointer);

	return 0;
}

/* DEBUG_ATOMIC_SLEEP */
static int sleep_in_atomic(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);

	return 0;
}

static void ignore(struct timer_list *timer)
{
}

/* DEBUG_OBJECTS: the memory of a timer that is on its way. The check takes it off. */
static int free_timer(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return -ENOMEM;
	timer_setup(timer, ignore, 0);
	mod_timer(timer, jiffies + 3600 * HZ);
	kfree(timer);

	return 0;
}

/* kmemleak: a few, since the address of the last one may still be on a stack. */
static int leak(void)
{
	int i;

	for (i = 0; i < 16; i++) {
		if (!kmalloc(64, GFP_KERNEL))
			return -ENOMEM;
	}

	return 0;
}

static long raced;

static int race_on(void *unused)
{
	while (!kthread_should_stop()) {
		raced++;
		cond_resched();
	}

	return 0;
}

/* KCSAN: two tasks count in one variable, for long enough that it looks at it. */
static int race(void)
{
	struct task_struct *task[2];
	int i;

	for (i = 0; i < 2; i++)
		task[i] = kthread_run(race_on, NULL, "race/%d", i);
	msleep(5000);
	for (i = 0; i < 2; i++) {
		if (!IS_ERR(task[i]))
			kthread_stop(task[i]);
	}

	return 0;
}

static int __init faults_init(void)
{
	static const struct {
		const char *name;
		int (*make)(void);
	} faults[] = {
		{ "lock-order", lock_order },
		{ "rcu", rcu },
		{ "sleep", sleep_in_atomic },
		{ "timer", free_timer },
		{ "leak", leak },
		{ "race", race },
	};
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(fault, faults[i].name))
			continue;
		pr_info("faults: %s\n", fault);
		ret = faults[i].make();
		return ret ?: -ECANCELED;
	}

	return -EINVAL;
}
module_init(faults_init);

MODULE_DESCRIPTION("Faults on purpose");
MODULE_LICENSE("GPL");
