/* SPDX-License-Identifier: GPL-2.0-only */
/* What the guest programs share: times in nanoseconds, and SCHED_DEADLINE without a library. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef int64_t ns;
#define US 1000LL
#define MS 1000000LL
#define S 1000000000LL

#define DEADLINE 6
#define RESET_ON_FORK 1

/* struct sched_attr of the kernel, in its first form. */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t budget, deadline, period;
};

static inline ns clock_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * S + t.tv_nsec;
}

static inline ns now(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

static inline ns cpu_time(void)
{
	return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

static inline void sleep_until(ns at)
{
	struct timespec t = { at / S, at % S };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static inline int thread_id(void)
{
	return syscall(SYS_gettid);
}

/* Gives the thread (0: the caller) a reservation; returns 0 or the error. */
static inline int reserve(int tid, ns budget, ns period, uint64_t flags)
{
	struct attr a = { sizeof(a), DEADLINE, flags, 0, 0, budget, period, period };

	return syscall(SYS_sched_setattr, tid, &a, 0) ? errno : 0;
}

/* Makes the thread (0: the caller) an ordinary one; returns 0 or the error. */
static inline int leave(int tid)
{
	struct attr a = { .size = sizeof(a) };

	return syscall(SYS_sched_setattr, tid, &a, 0) ? errno : 0;
}

static inline cpu_set_t only(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return set;
}

static inline cpu_set_t range(int first, int last)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu = first; cpu <= last; cpu++)
		CPU_SET(cpu, &set);
	return set;
}

static inline int allow(int tid, cpu_set_t set)
{
	return sched_setaffinity(tid, sizeof(set), &set) ? errno : 0;
}

/* Writes a text into a file of the kernel; returns 0 or the error. */
static inline int put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY), error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

/* The names of the errors that sched_setattr() and the kernel's files give. */
static inline const char *error_name(int error)
{
	switch (error) {
	case 0: return "ok";
	case EBUSY: return "EBUSY";
	case EINVAL: return "EINVAL";
	case EPERM: return "EPERM";
	case EACCES: return "EACCES";
	default: return strerror(error);
	}
}
