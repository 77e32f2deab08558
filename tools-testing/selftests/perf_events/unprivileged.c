// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a user without rights must not get: counts and samples of others, of the
 * kernel, of CPUs and of cgroups, by whichever way, nor the controls of the mock
 * PMU. And what they may have at the usual perf_event_paranoid.
 */

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>

#include <linux/hw_breakpoint.h>
#include <sys/ioctl.h>

#include "common.h"
#include "kselftest_harness.h"

#define NOBODY		65534
#define OTHER		65533
#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"
#define NR_CALLS	100

FIXTURE(unprivileged)
{
	char paranoid[16];
	struct stat debugfs;
	char *path;
	/* Asleep: another user's process, and root's */
	pid_t other;
	pid_t root;
	/* A kernel address */
	unsigned long addr;
};

FIXTURE_VARIANT(unprivileged)
{
	char *paranoid;
};

FIXTURE_VARIANT_ADD(unprivileged, paranoid_2)
{
	.paranoid = "2",
};

/* Some distributions have this; elsewhere it is the same as 2. */
FIXTURE_VARIANT_ADD(unprivileged, paranoid_3)
{
	.paranoid = "3",
};

static int become(uid_t uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return -1;
	/* As if it had been executed by that user: this is not about ptrace alone. */
	return prctl(PR_SET_DUMPABLE, 1);
}

static pid_t start_sleeper(uid_t uid)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		if (uid && become(uid))
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		pid = -1;
	close(ready[0]);
	return pid;
}

FIXTURE_SETUP(unprivileged)
{
	const char *missing;
	char root[256];

	missing = cgroup_missing(root, sizeof(root)) ?: mock_pmu_missing();
	if (missing)
		SKIP(return, "%s", missing);

	ASSERT_LT(0, read_text(PARANOID, self->paranoid, sizeof(self->paranoid)));
	ASSERT_LT(0, write_text(PARANOID, variant->paranoid, strlen(variant->paranoid)));
	/* Let nothing but the files' own permissions stand in the way. */
	ASSERT_EQ(0, stat("/sys/kernel/debug", &self->debugfs));
	ASSERT_EQ(0, chmod("/sys/kernel/debug", 0755));
	self->path = cg_name_indexed(root, "perf_events", getpid());
	ASSERT_EQ(0, cg_create(self->path));
	self->other = start_sleeper(OTHER);
	ASSERT_LT(0, self->other);
	self->root = start_sleeper(0);
	ASSERT_LT(0, self->root);
	self->addr = kernel_symbol("do_nanosleep");
	ASSERT_NE(0, self->addr);
}

FIXTURE_TEARDOWN(unprivileged)
{
	kill(self->other, SIGKILL);
	waitpid(self->other, NULL, 0);
	kill(self->root, SIGKILL);
	waitpid(self->root, NULL, 0);
	EXPECT_EQ(0, chmod("/sys/kernel/debug", self->debugfs.st_mode & 07777));
	EXPECT_LT(0, write_text(PARANOID, self->paranoid, strlen(self->paranoid)));
	EXPECT_EQ(0, cgroup_remove(self->path));
	free(self->path);
}

static bool refused(int ret)
{
	return ret < 0 && (errno == EACCES || errno == EPERM);
}

/* Of both kinds of event: one of the kernel's own, and one of a PMU */
static void user_attr(struct perf_event_attr *attr, int mock)
{
	memset(attr, 0, sizeof(*attr));
	if (mock) {
		attr->type = mock_pmu_type("mock0");
		attr->config = 1;	/* Ticks */
	} else {
		attr->type = PERF_TYPE_SOFTWARE;
		attr->config = PERF_COUNT_SW_TASK_CLOCK;
	}
	attr->read_format = PERF_COUNT_FORMAT;
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
}

/* Runs @code as nobody in a process of its own; its checks count here. */
#define as_nobody(code) do { \
	int status_; \
	pid_t pid_ = fork(); \
	ASSERT_LE(0, pid_); \
	if (!pid_) { \
		ASSERT_EQ(0, become(NOBODY)); \
		code; \
		_exit(_metadata->exit_code); \
	} \
	ASSERT_EQ(pid_, waitpid(pid_, &status_, 0)); \
	EXPECT_EQ(0, status_); \
} while (0)

static void open_what_is_refused(struct __test_metadata *_metadata,
				 FIXTURE_DATA(unprivileged) * self)
{
	struct perf_event_attr attr;
	int mock, inherit;

	for (mock = 0; mock < 2; mock++) {
		for (inherit = 0; inherit < 2; inherit++) {
			user_attr(&attr, mock);
			attr.inherit = inherit;
			EXPECT_TRUE(refused(perf_open(&attr, -1, 0, -1, 0)));
			EXPECT_TRUE(refused(perf_open_cgroup(&attr, self->path, 0)));
			EXPECT_TRUE(refused(perf_open(&attr, self->root, -1, -1, 0)));
			EXPECT_TRUE(refused(perf_open(&attr, self->other, -1, -1, 0)));
			EXPECT_TRUE(refused(perf_open(&attr, 1, -1, -1, 0)));

			attr.exclude_kernel = 0;
			EXPECT_TRUE(refused(perf_open(&attr, 0, -1, -1, 0)));
			attr.exclude_kernel = 1;
			attr.sample_type = PERF_SAMPLE_PHYS_ADDR;
			attr.sample_period = mock ? 1 : 1000000;
			EXPECT_TRUE(refused(perf_open(&attr, 0, -1, -1, 0)));
		}
	}

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_addr = self->addr;
	/* Whether it says that it leaves out the kernel, or not */
	EXPECT_TRUE(refused(perf_open(&attr, 0, -1, -1, 0)));
	attr.exclude_kernel = 1;
	attr.inherit = 1;
	EXPECT_GT(0, perf_open(&attr, 0, -1, -1, 0));

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = 1;
	EXPECT_GT(0, perf_open(&attr, 0, -1, -1, 0));
	attr.type = mock_pmu_type("kprobe");
	attr.kprobe_addr = self->addr;
	attr.exclude_kernel = 1;
	if ((int)attr.type >= 0)
		EXPECT_GT(0, perf_open(&attr, 0, -1, -1, 0));
}

TEST_F(unprivileged, open)
{
	/* Root may, so that it is not for another reason that nobody may not. */
	struct perf_event_attr attr;
	int mock, fd[4], i;

	for (mock = 0; mock < 2; mock++) {
		user_attr(&attr, mock);
		attr.exclude_kernel = 0;
		fd[0] = perf_open(&attr, -1, 0, -1, 0);
		fd[1] = perf_open_cgroup(&attr, self->path, 0);
		fd[2] = perf_open(&attr, self->other, -1, -1, 0);
		fd[3] = perf_open(&attr, 0, -1, -1, 0);
		for (i = 0; i < 4; i++) {
			EXPECT_LE(0, fd[i]);
			close(fd[i]);
		}
	}

	as_nobody(open_what_is_refused(_metadata, self));
}

static void open_own(struct __test_metadata *_metadata, bool expected)
{
	struct perf_event_attr attr;
	struct perf_count count;
	int fd;

	user_attr(&attr, 0);
	fd = perf_open(&attr, 0, -1, -1, 0);
	if (!expected) {
		EXPECT_TRUE(refused(fd));
		return;
	}
	ASSERT_LE(0, fd);
	burn_cpu(5);
	ASSERT_EQ(0, perf_read(fd, &count));
	EXPECT_LT(0, count.value);
	close(fd);
}

/* At 2, a user may look at what is their own, and at 3 where that means the same. */
TEST_F(unprivileged, own)
{
	struct perf_event_attr attr;
	bool restricted = false;
	int fd, status;
	pid_t pid;

	if (!strcmp(variant->paranoid, "3")) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			user_attr(&attr, 0);
			fd = become(NOBODY) ? -1 : perf_open(&attr, 0, -1, -1, 0);
			_exit(fd < 0);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		restricted = status;
		TH_LOG("at 3, this kernel %s", restricted ? "refuses all" : "does as at 2");
	}
	as_nobody(open_own(_metadata, !restricted));
}

/* An event that root has opened and left to a user counts no more than root meant. */
static void use_roots_events(struct __test_metadata *_metadata,
			     FIXTURE_DATA(unprivileged) * self, int fd, int breakpoint)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_len = HW_BREAKPOINT_LEN_4,
		.bp_addr = self->addr,
	};
	struct perf_event_attr user;
	int own;

	/* It is the task's own address that it watches; that of the kernel is refused. */
	EXPECT_GT(0, ioctl(breakpoint, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr));
	attr.exclude_kernel = 1;
	EXPECT_GT(0, ioctl(breakpoint, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr));
	/* A program or a filter takes rights of its own. */
	EXPECT_GT(0, ioctl(fd, PERF_EVENT_IOC_SET_BPF, 0));
	EXPECT_GT(0, ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "common_pid != 0"));

	/* To be in a group with it does not make another one's event allowed. */
	user_attr(&user, 0);
	EXPECT_TRUE(refused(perf_open(&user, -1, 0, fd, 0)));
	EXPECT_TRUE(refused(perf_open(&user, self->other, -1, fd, 0)));
	user.exclude_kernel = 0;
	EXPECT_TRUE(refused(perf_open(&user, 0, -1, fd, 0)));
	/* Nor to give it its output */
	user_attr(&user, 0);
	own = perf_open(&user, 0, -1, -1, 0);
	if (own >= 0) {
		EXPECT_GT(0, ioctl(own, PERF_EVENT_IOC_SET_OUTPUT, fd));
		close(own);
	}
}

static volatile long breakpoint_target;

TEST_F(unprivileged, roots_events)
{
	struct perf_event_attr attr;
	int fd, breakpoint;

	user_attr(&attr, 0);
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.exclude_kernel = 0;
	fd = perf_open(&attr, -1, 0, -1, 0);
	ASSERT_LE(0, fd);
	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_addr = (unsigned long)&breakpoint_target;
	attr.inherit = 1;
	breakpoint = perf_open(&attr, 0, -1, -1, 0);
	if (breakpoint < 0)
		SKIP(return, "no breakpoints: %s", strerror(errno));

	/* The process that tries has inherited a breakpoint of its own by then. */
	as_nobody(use_roots_events(_metadata, self, fd, breakpoint));
	close(breakpoint);
	close(fd);
}

/* What root's event makes of the children of a user's task tells the user nothing. */
static void fork_with_roots_event(struct __test_metadata *_metadata, int go)
{
	pid_t pid;
	char c;

	ASSERT_EQ(1, read(go, &c, 1));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* No event of it is this process's to switch. */
		prctl(PR_TASK_PERF_EVENTS_DISABLE);
		burn_cpu(5);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

TEST_F(unprivileged, switch_off)
{
	struct perf_event_attr attr;
	struct perf_count count;
	int fd, go[2], status;
	pid_t pid;

	ASSERT_EQ(0, pipe(go));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		ASSERT_EQ(0, become(NOBODY));
		fork_with_roots_event(_metadata, go[0]);
		_exit(_metadata->exit_code);
	}
	user_attr(&attr, 0);
	attr.inherit = 1;
	fd = perf_open(&attr, pid, -1, -1, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(1, write(go[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_EQ(0, perf_read(fd, &count));
	EXPECT_LE(4000000, count.value);
	close(fd);
}

static void open_controls(struct __test_metadata *_metadata)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int i, nr = 0;
	DIR *dir;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), MOCK_PMU_DIR "/mock%d", i);
		dir = opendir(path);
		ASSERT_NE(NULL, dir);
		while ((entry = readdir(dir))) {
			if (entry->d_type != DT_REG)
				continue;
			nr++;
			snprintf(path, sizeof(path), MOCK_PMU_DIR "/mock%d/%s", i, entry->d_name);
			EXPECT_TRUE(refused(open(path, O_RDONLY)));
			EXPECT_TRUE(refused(open(path, O_WRONLY)));
			EXPECT_TRUE(refused(open(path, O_RDWR)));
		}
		closedir(dir);
	}
	EXPECT_LT(10, nr);
}

TEST_F(unprivileged, mock_pmu)
{
	as_nobody(open_controls(_metadata));
}

/* A sample of a user's own event shows where the task was, and no kernel address. */
struct ip_sample {
	struct perf_event_header header;
	__u64 ip;
};

static void own_samples(struct __test_metadata *_metadata, int ready, int go)
{
	size_t page_size = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page;
	struct perf_event_attr attr;
	struct ip_sample *sample;
	__u64 pos, nr = 0;
	int fd;
	char c;

	user_attr(&attr, 1);
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP;
	fd = perf_open(&attr, 0, -1, -1, 0);
	ASSERT_LE(0, fd);
	page = mmap(NULL, 9 * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(1, write(ready, "", 1));
	/* Until root has made enough ticks, in the kernel and outside */
	fcntl(go, F_SETFL, O_NONBLOCK);
	while (read(go, &c, 1) != 1)
		burn_cpu(0);

	for (pos = 0; pos < page->data_head; pos += sample->header.size) {
		sample = (void *)((char *)page + page_size + pos);
		if (sample->header.type != PERF_RECORD_SAMPLE)
			continue;
		nr++;
		EXPECT_EQ(0, sample->ip >> 63);
	}
	EXPECT_LT(0, nr);
}

TEST_F(unprivileged, samples)
{
	int ready[2], go[2], status, i;
	char c;
	pid_t pid;

	if (!strcmp(variant->paranoid, "3"))
		SKIP(return, "the same as at 2, or nothing at all");
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	if (pin_to_cpu(1))
		SKIP(return, "needs CPU 0 and CPU 1");
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		ASSERT_EQ(0, pin_to_cpu(0));
		ASSERT_EQ(0, become(NOBODY));
		own_samples(_metadata, ready[1], go[0]);
		_exit(_metadata->exit_code);
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	for (i = 0; i < NR_CALLS; i++)
		ASSERT_EQ(0, mock_pmu_write("mock0", "tick", "0 10"));
	ASSERT_EQ(1, write(go[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
