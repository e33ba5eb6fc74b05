// SPDX-License-Identifier: GPL-2.0-only
/*
 * dl_requests CPU: requests of deadline threads, each with its answer, on a line of its own. All CPUs
 * are one domain; CPU is one of them, not the first.
 */
#include "dl.h"

static int all_cpus, target;
static _Atomic int tid, over;
static cpu_set_t initial;
static int entry;

static void *wait_as_deadline_thread(void *argument)
{
	(void)argument;
	entry = allow(0, initial);
	if (!entry)
		entry = reserve(0, 10 * MS, 100 * MS, 0);
	tid = thread_id();
	while (!over)
		usleep(5000);
	return NULL;
}

static void say(const char *request, int error)
{
	printf("%s %s\n", request, error_name(error));
}

static pthread_t start(const char *request, cpu_set_t may)
{
	pthread_t thread;

	initial = may;
	tid = over = 0;
	pthread_create(&thread, NULL, wait_as_deadline_thread, NULL);
	while (!tid)
		usleep(1000);
	say(request, entry);
	return thread;
}

static void end(pthread_t thread)
{
	over = 1;
	pthread_join(thread, NULL);
	usleep(200000);
}

static int offline(int cpu)
{
	char file[64];
	int error;

	snprintf(file, sizeof(file), "/sys/devices/system/cpu/cpu%d/online", cpu);
	error = put(file, "0");
	if (!error)
		put(file, "1");
	return error;
}

int main(int arguments, char **argument)
{
	pthread_t thread;

	if (arguments != 2)
		return 2;
	target = atoi(argument[1]);
	all_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	thread = start("enter-tied", only(target));
	if (!entry) {
		say("tied-same-parameters", reserve(tid, 10 * MS, 100 * MS, 0));
		say("tied-more-budget", reserve(tid, 20 * MS, 100 * MS, 0));
		say("tied-same-bandwidth", reserve(tid, 20 * MS, 200 * MS, 0));
		say("tied-same-affinity", allow(tid, only(target)));
		say("tied-other-cpu", allow(tid, only(target - 1)));
		say("tied-all-cpus", allow(tid, range(0, all_cpus - 1)));
		say("tied-offline", offline(target));
		say("tied-leaves", leave(tid));
	}
	end(thread);

	thread = start("enter-migrating", range(0, all_cpus - 1));
	if (!entry) {
		say("migrating-one-cpu", allow(tid, only(target)));
		say("migrating-more-budget", reserve(tid, 20 * MS, 100 * MS, 0));
		say("migrating-offline", offline(target));
	}
	end(thread);

	thread = start("enter-two-cpus", range(0, 1));
	end(thread);
	return 0;
}
