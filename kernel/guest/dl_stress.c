// SPDX-License-Identifier: GPL-2.0-only
/*
 * dl_stress SECONDS SEED [hotplug] [cpusets] [switches] [leavers] [placement]
 *
 * Threads enter SCHED_DEADLINE, tied to a CPU or not, execute in all manners, leave or exit, while
 * another thread changes their affinities and parameters, forks, and, with the words above, takes CPUs
 * off-line, moves and resizes cpusets, writes the switches of the patches and the limit of real-time
 * threads, and returns threads to SCHED_OTHER. It prints the counts of all this, and in `outside` the
 * number of times that a deadline thread found itself on a CPU that it may not use.
 *
 * It expects a cgroup `rt` below the root of cgroup v2, with some of CPUs 1 to 3.
 */
#include "dl.h"

#define THREADS 14
#define LIVES 6
#define ROOT "/sys/fs/cgroup"

static _Atomic ns end;
static int cpus;
static _Atomic int tids[THREADS];
static pthread_mutex_t inheriting[3];
static _Atomic long entered, refused, yields, outside;
static long moved, not_moved, changed, not_changed, forks, unplugged, not_unplugged, regrouped,
	not_regrouped, switched;

static int draw(unsigned *seed, int below)
{
	return rand_r(seed) % below;
}

static void execute(ns span)
{
	ns until = now() + span;

	while (now() < until)
		for (volatile int i = 0; i < 3000; i++)
			;
}

/* Whether the caller is on a CPU outside of its affinity. */
static int strays(void)
{
	cpu_set_t may;

	return !sched_getaffinity(0, sizeof(may), &may) && !CPU_ISSET(sched_getcpu(), &may);
}

/*
 * Another thread may change the affinity between two calls, and may have made the caller an ordinary
 * thread, which goes on for a moment where it is: only what is so twice, under SCHED_DEADLINE, counts.
 */
static void count_straying(void)
{
	if (sched_getscheduler(0) == DEADLINE && strays() && strays() &&
	    sched_getscheduler(0) == DEADLINE)
		outside++;
}

/* One of the five manners of using a budget. */
static void use(int manner, ns budget, unsigned *seed)
{
	pthread_mutex_t *lock = &inheriting[draw(seed, 3)];

	switch (manner) {
	case 0: /* never blocks */
		execute(5 * MS);
		break;
	case 1:
		execute(budget / 2);
		usleep(draw(seed, 20000));
		break;
	case 2:
		execute(budget / 2);
		sched_yield();
		yields++;
		break;
	case 3: /* inherits and passes on deadlines */
		pthread_mutex_lock(lock);
		execute(300 * US + draw(seed, 3000) * US);
		pthread_mutex_unlock(lock);
		usleep(draw(seed, 3000));
		break;
	default: /* overruns */
		execute(2 * budget);
		usleep(100);
	}
}

static void *live(void *argument)
{
	long me = (long)argument;
	unsigned seed = me * 77 + (unsigned)now();
	char name[16];

	snprintf(name, sizeof(name), "w%ld", me);
	prctl(PR_SET_NAME, name);
	tids[me] = thread_id();
	for (int lives = 0; now() < end && lives < LIVES; lives++) {
		cpu_set_t may = draw(&seed, 2) ? only(draw(&seed, cpus)) : range(0, cpus - 1);
		ns period = (2 + draw(&seed, 40)) * MS, budget = period * (2 + draw(&seed, 45)) / 100;
		int manner, exit;
		ns leaves;

		if (allow(0, may))
			continue;
		if (reserve(0, budget, period, draw(&seed, 2) ? RESET_ON_FORK : 0)) {
			refused++;
			usleep(2000 + draw(&seed, 9000));
			continue;
		}
		entered++;
		manner = draw(&seed, 5);
		for (leaves = now() + draw(&seed, 400) * MS; now() < leaves && now() < end;) {
			count_straying();
			use(manner, budget, &seed);
		}
		exit = draw(&seed, 4);
		if (!exit)
			return NULL;
		leave(0);
		if (exit == 1)
			usleep(draw(&seed, 50000));
	}
	return NULL;
}

/* Starts the thread again whenever it ends. */
static void *keep(void *argument)
{
	pthread_t thread;

	while (now() < end)
		if (!pthread_create(&thread, NULL, live, argument))
			pthread_join(thread, NULL);
	return NULL;
}

static void count(int error, long *done, long *not_done)
{
	++*(error ? not_done : done);
}

static void disturb_threads(unsigned *seed, int with_leavers)
{
	int tid = tids[draw(seed, THREADS)];
	ns period = (2 + draw(seed, 40)) * MS;
	pid_t child;

	if (tid)
		count(allow(tid, draw(seed, 3) ? only(draw(seed, cpus)) : range(0, cpus - 1)), &moved,
		      &not_moved);
	tid = tids[draw(seed, THREADS)];
	if (tid && !draw(seed, 4))
		count(reserve(tid, period / (3 + draw(seed, 20)), period, 0), &changed, &not_changed);
	if (tid && with_leavers && !draw(seed, 16))
		leave(tid);
	if (!draw(seed, 4)) {
		int enters = draw(seed, 2);

		child = fork();
		if (!child) {
			if (enters)
				reserve(0, 200 * US, 10 * MS, 0);
			_exit(0);
		}
		forks++;
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void write_switches(unsigned *seed, int with_placement)
{
	char value[8];

	snprintf(value, sizeof(value), "%d", draw(seed, 16));
	put("/proc/sys/kernel/sched_dl_semi_partitioned", value);
	if (with_placement) {
		snprintf(value, sizeof(value), "%d", draw(seed, 3));
		put("/proc/sys/kernel/sched_dl_placement", value);
	}
	switched++;
}

static int set_online(int cpu, int online)
{
	char file[64];

	snprintf(file, sizeof(file), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return put(file, online ? "1" : "0");
}

static void change_cpusets(unsigned *seed)
{
	static const char *const sets[] = { "1-3", "1-2", "2-3", "3" };
	static int step;
	int error;

	switch (step++ % 3) {
	case 0:
		error = put(ROOT "/rt/cpuset.cpus", sets[draw(seed, 4)]);
		break;
	case 1:
		error = put(ROOT "/rt/cpuset.cpus.partition", draw(seed, 2) ? "root" : "member");
		break;
	default:
		error = put(draw(seed, 2) ? ROOT "/rt/cgroup.procs" : ROOT "/cgroup.procs", "0");
	}
	count(error, &regrouped, &not_regrouped);
}

static int has(int arguments, char **argument, const char *word)
{
	for (int i = 3; i < arguments; i++)
		if (!strcmp(argument[i], word))
			return 1;
	return 0;
}

int main(int arguments, char **argument)
{
	const int hotplug = has(arguments, argument, "hotplug"),
		  cpusets = has(arguments, argument, "cpusets"),
		  switches = has(arguments, argument, "switches"),
		  leavers = has(arguments, argument, "leavers"),
		  placement = has(arguments, argument, "placement");
	struct sched_param priority = { 10 };
	pthread_mutexattr_t inherits;
	pthread_t threads[THREADS];
	ns next_plug, next_group;
	int offline = 0;
	unsigned seed;

	if (arguments < 3)
		return 2;
	seed = atoi(argument[2]);
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	end = now() + atoi(argument[1]) * S;
	pthread_mutexattr_init(&inherits);
	pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
	for (int i = 0; i < 3; i++)
		pthread_mutex_init(&inheriting[i], &inherits);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, keep, (void *)i);
	sched_setscheduler(0, SCHED_FIFO, &priority);

	next_plug = now() + S;
	next_group = now() + 3 * S / 2;
	while (now() < end) {
		usleep(draw(&seed, 4000));
		disturb_threads(&seed, leavers);
		if ((switches || placement) && !draw(&seed, 60))
			write_switches(&seed, placement);
		if (switches && !draw(&seed, 200))
			put("/proc/sys/kernel/sched_rt_runtime_us", draw(&seed, 2) ? "950000" : "-1");
		if (hotplug && now() > next_plug) {
			if (offline) {
				set_online(offline, 1);
				offline = 0;
			} else {
				int cpu = 1 + draw(&seed, cpus - 1), error = set_online(cpu, 0);

				count(error, &unplugged, &not_unplugged);
				offline = error ? 0 : cpu;
			}
			next_plug = now() + 200 * MS + draw(&seed, 500) * MS;
		}
		if (cpusets && now() > next_group) {
			change_cpusets(&seed);
			next_group = now() + 100 * MS + draw(&seed, 300) * MS;
		}
	}
	if (offline)
		set_online(offline, 1);
	if (switches)
		put("/proc/sys/kernel/sched_rt_runtime_us", "950000");
	put(ROOT "/cgroup.procs", "0");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	while (wait(NULL) > 0)
		;
	printf("entered=%ld refused=%ld yields=%ld forks=%ld outside=%ld\n", entered, refused, yields,
	       forks, outside);
	printf("affinities=%ld not=%ld parameters=%ld not=%ld unplugged=%ld not=%ld regrouped=%ld not=%ld switched=%ld\n",
	       moved, not_moved, changed, not_changed, unplugged, not_unplugged, regrouped,
	       not_regrouped, switched);
	return 0;
}
