// SPDX-License-Identifier: GPL-2.0-only
/*
 * dl_threads: real threads under SCHED_DEADLINE from a description of one word each, and how late
 * each of them was.
 *
 *   dl_threads [-g CGROUP] [-c FIRST-LAST] [-u UNIT_US] [-d UNITS] [-m MODE] [-p PERMILLE] [-s AT_MS]
 *              NAME:C:T:CPU:KIND[:PARAMETER..] ..
 *
 * Budget C and period T are in units, and may have decimals. CPU is a number, or `-` for all of
 * FIRST-LAST. Kinds:
 *
 *   hog:OFFSET:FIRST            executes without end from OFFSET on, first on CPU FIRST if given
 *   per:OFFSET:EXTRA:EVERY      a job every EVERY units (0: T) plus a random time below EXTRA
 *   self:OFFSET:GAP             executes a job, sleeps for GAP, and so on
 *   ctl                         a job whenever the adversary releases one (mode adversary)
 *
 * A job of the last three executes PERMILLE thousandths (970) of C. Modes:
 *
 *   move=P      every P units ask that the first thread may run only where the second one is
 *   regroup=T:CGROUP   T units after the start, moves the process with the threads to another cgroup
 *   adversary   releases the `ctl` threads so that both hogs are preempted at the same time
 *
 * The process with the threads is in CGROUP. The controller is another process, on CPU 0, which has to
 * be outside of the threads' CPUs. With AT_MS the threads start at this time since the boot.
 *
 * It prints a line for each thread: `jobs` that ended, those that were `late`, the greatest tardiness
 * `worst_us`, changes of CPU `moves`. A hog's jobs are its budgets; `lag_us` is what it should have
 * executed by now, C/T of the time, minus what it has, and `lags_us` the same at the ends of 16
 * intervals. The others have `worsts_us`, the greatest tardiness in each interval.
 */
#include "dl.h"
#include <linux/futex.h>

#define THREADS 32
#define INTERVALS 16

enum kind { HOG, PERIODIC, SELF_SUSPENDING, CONTROLLED };

struct thread {
	char name[16];
	ns budget, period;
	int cpu;		/* -1: all */
	enum kind kind;
	ns offset, extra, every, gap;
	int first;		/* the CPU on which a hog starts; 0: any */

	/* Written by the thread, read by the controller. */
	_Atomic int tid, error, running, here;
	_Atomic ns used;	/* CPU time of a hog since its start */
	_Atomic ns boundary;	/* .. at which its next budget is used up */
	_Atomic ns deadline;	/* of its server, as far as can be said from outside */

	/* Written by the controller. */
	_Atomic uint32_t released;
	_Atomic ns release;

	long jobs, late, moves;
	ns worst, lag, worsts[INTERVALS], lags[INTERVALS];
};

static struct shared {
	struct thread threads[THREADS];
	_Atomic int ready;
	_Atomic ns begin, end;
	long accepted, refused, attacks;
} *shared;

static int count, first_cpu = 1, last_cpu = 3, permille = 970;
static ns unit = 10 * MS, duration, start_at;

static int interval(ns at)
{
	ns which = (at - shared->begin) * INTERVALS / (duration + 1);

	return which < 0 ? 0 : which >= INTERVALS ? INTERVALS - 1 : (int)which;
}

static long futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
	return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static void spin(int steps)
{
	for (volatile int i = 0; i < steps; i++)
		;
}

static cpu_set_t affinity(int cpu)
{
	return cpu < 0 ? range(first_cpu, last_cpu) : only(cpu);
}

static void see_cpu(struct thread *t)
{
	int cpu = sched_getcpu();

	if (t->here >= 0 && cpu != t->here)
		t->moves++;
	t->here = cpu;
}

static void end_job(struct thread *t, ns finish, ns deadline)
{
	ns tardiness = finish - deadline;
	ns *of_interval = &t->worsts[interval(finish)];

	t->jobs++;
	if (tardiness > 0)
		t->late++;
	if (tardiness > t->worst)
		t->worst = tardiness;
	if (tardiness > *of_interval)
		*of_interval = tardiness;
}

/* Executes until the end of the run, and counts a job at the end of each budget. */
static void execute_without_end(struct thread *t)
{
	ns at, used, begin, before;

	sleep_until(shared->begin + t->offset);
	begin = now();
	before = cpu_time();
	t->deadline = begin + t->period;
	t->boundary = t->budget;
	t->running = 1;
	do {
		used = cpu_time() - before;
		at = now();
		t->used = used;
		see_cpu(t);
		t->lag = (ns)((__int128)(at - begin) * t->budget / t->period) - used;
		t->lags[interval(at)] = t->lag;
		while (used >= t->boundary) {
			end_job(t, at, begin + (t->jobs + 1) * t->period);
			t->boundary += t->budget;
			t->deadline += t->period;
			/* The kernel renews a server whose deadline has passed. */
			if (t->deadline < at)
				t->deadline = at + t->period;
		}
		spin(8000);
	} while (at < shared->end);
	t->running = 0;
}

static void execute_job(struct thread *t, ns deadline)
{
	ns before = cpu_time(), demand = t->budget * permille / 1000;

	t->running = 1;
	while (cpu_time() - before < demand && now() < shared->end + 100 * unit) {
		see_cpu(t);
		spin(2000);
	}
	t->running = 0;
	end_job(t, now(), deadline);
}

static void execute_jobs(struct thread *t)
{
	unsigned seed = 1000 + (unsigned)(t - shared->threads);
	ns release = shared->begin + t->offset;

	sleep_until(release);
	while (release < shared->end) {
		execute_job(t, release + t->period);
		if (t->kind == SELF_SUSPENDING) {
			release = now() + t->gap;
		} else {
			release += t->every ? t->every : t->period;
			if (t->extra)
				release += rand_r(&seed) % (unsigned)(t->extra / US + 1) * US;
		}
		sleep_until(release);
	}
}

static void execute_released_jobs(struct thread *t)
{
	for (;;) {
		uint32_t seen = t->released;

		while (t->released == seen && now() < shared->end)
			futex(&t->released, FUTEX_WAIT, seen);
		if (now() >= shared->end)
			return;
		execute_job(t, t->release + t->period);
	}
}

static void *live(void *argument)
{
	struct thread *t = argument;
	int starts_elsewhere = t->kind == HOG && t->first;

	t->tid = thread_id();
	t->here = -1;
	prctl(PR_SET_NAME, t->name);
	/*
	 * All threads enter before any of them executes: an ordinary thread gets nothing beside a hog
	 * with C = T. The wake-up at the first release begins a new period.
	 */
	t->error = allow(0, affinity(starts_elsewhere ? t->first : t->cpu));
	if (starts_elsewhere && !t->error)
		t->error = allow(0, affinity(t->cpu));
	if (!t->error)
		t->error = reserve(0, t->budget, t->period, 0);
	shared->ready++;
	if (t->error)
		return NULL;
	while (!shared->begin)
		usleep(1000);
	if (t->kind == HOG)
		execute_without_end(t);
	else if (t->kind == CONTROLLED)
		execute_released_jobs(t);
	else
		execute_jobs(t);
	return NULL;
}

static void release(struct thread *t, ns at)
{
	sleep_until(at);
	t->release = at;
	t->released++;
	futex(&t->released, FUTEX_WAKE, 1);
}

/* Two releases, of the tied threads of the CPUs where the two hogs are. */
struct attack {
	ns gain;	/* for how long both hogs are preempted at once; 0: no attack */
	ns release[2];
};

/*
 * Looks for the best attack on the next eight jobs of each hog.
 *
 * A tied thread whose deadline lies between those of two consecutive jobs of the hog on its CPU waits
 * until the first of them ends, and preempts the hog there. If this happens to both hogs at nearly the
 * same time, the third CPU serves one of them alone, as in Example 5.
 */
static struct attack plan(struct thread *const hogs[2], struct thread *const tied[2], ns at)
{
	struct attack best = { 0 };

	for (int i = 0; i < 64; i++) {
		const int ahead[2] = { i / 8, i % 8 };
		ns ends[2], gain, score;
		struct attack attack;

		for (int k = 0; k < 2; k++) {
			struct thread *h = hogs[k];
			ns deadline = h->deadline + (1 + ahead[k]) * h->period;

			ends[k] = at + h->boundary - h->used + ahead[k] * h->budget;
			attack.release[k] = deadline - h->period / 2 - tied[k]->period;
		}
		if (attack.release[0] < at || attack.release[1] < at)
			continue;
		gain = 2 * unit - llabs(ends[0] - ends[1]);
		/* Rather soon than late. */
		score = gain - (ends[0] - at) / 16;
		if (gain > unit / 4 && (!best.gain || score > best.gain)) {
			best = attack;
			best.gain = score;
		}
	}
	return best;
}

static void attack_hogs(void)
{
	struct thread *hogs[2] = { NULL }, *tied_of[CPU_SETSIZE] = { NULL };
	ns last[CPU_SETSIZE] = { 0 };
	int found = 0;

	for (int i = 0; i < count; i++) {
		struct thread *t = &shared->threads[i];

		if (t->kind == HOG && found < 2)
			hogs[found++] = t;
		if (t->kind == CONTROLLED)
			tied_of[t->cpu] = t;
	}
	sleep_until(shared->begin + 2 * unit);
	while (now() < shared->end) {
		const int cpus[2] = { hogs[0]->here, hogs[1]->here };
		struct thread *tied[2];
		struct attack attack = { 0 };
		int can = cpus[0] != cpus[1];
		ns at = now();

		for (int k = 0; k < 2 && can; k++) {
			tied[k] = cpus[k] < 0 ? NULL : tied_of[cpus[k]];
			can = tied[k] && !tied[k]->running && at >= last[cpus[k]] + tied[k]->period;
		}
		if (can)
			attack = plan(hogs, tied, at);
		if (attack.gain) {
			int second = attack.release[0] < attack.release[1];

			release(tied[!second], attack.release[!second]);
			release(tied[second], attack.release[second]);
			for (int k = 0; k < 2; k++)
				last[cpus[k]] = attack.release[k];
			shared->attacks++;
			while ((tied[0]->released != tied[0]->jobs || tied[1]->released != tied[1]->jobs) &&
			       now() < shared->end)
				sleep_until(now() + unit / 10);
		} else {
			sleep_until(at + unit / 10);
		}
	}
	for (int i = 0; i < count; i++)
		if (shared->threads[i].kind == CONTROLLED)
			release(&shared->threads[i], shared->end);
}

static void ask_for_moves(ns every)
{
	for (ns at = shared->begin + every + unit / 20; at < shared->end; at += every) {
		sleep_until(at);
		if (shared->threads[1].here < 0)
			continue;
		if (allow(shared->threads[0].tid, only(shared->threads[1].here)))
			shared->refused++;
		else
			shared->accepted++;
	}
}

static void move_to_group(const char *text, pid_t process)
{
	char group[200], file[256], pid[16];
	double at;

	if (sscanf(text, "%lf:%199s", &at, group) != 2)
		return;
	snprintf(file, sizeof(file), "%s/cgroup.procs", group);
	snprintf(pid, sizeof(pid), "%d", process);
	sleep_until(shared->begin + (ns)(at * unit));
	if (put(file, pid))
		shared->refused++;
	else
		shared->accepted++;
}

static void run_threads(const char *group)
{
	pthread_t handles[THREADS];
	char file[256];
	int error;

	if (group) {
		snprintf(file, sizeof(file), "%s/cgroup.procs", group);
		error = put(file, "0");
		if (error) {
			fprintf(stderr, "failed to enter %s: %s\n", group, strerror(error));
			_exit(1);
		}
	}
	for (int i = 0; i < count; i++)
		pthread_create(&handles[i], NULL, live, &shared->threads[i]);
	for (int i = 0; i < count; i++)
		pthread_join(handles[i], NULL);
	_exit(0);
}

static void read_thread(const char *text)
{
	struct thread *t = &shared->threads[count++];
	double c, p, a = 0, b = 0, e = 0;
	char cpu[8], kind[8];

	if (count == THREADS || sscanf(text, "%15[^:]:%lf:%lf:%7[^:]:%7[^:]:%lf:%lf:%lf", t->name, &c,
				       &p, cpu, kind, &a, &b, &e) < 5) {
		fprintf(stderr, "`%s` is not a thread NAME:C:T:CPU:KIND\n", text);
		exit(2);
	}
	t->budget = c * unit;
	t->period = p * unit;
	t->cpu = *cpu == '-' ? -1 : atoi(cpu);
	t->offset = a * unit;
	t->kind = *kind == 'h' ? HOG : *kind == 'p' ? PERIODIC : *kind == 's' ? SELF_SUSPENDING : CONTROLLED;
	if (t->kind == HOG)
		t->first = b;
	else if (t->kind == PERIODIC)
		t->extra = b * unit;
	else
		t->gap = b * unit;
	t->every = e * unit;
}

static void print_list(const char *name, const ns *values)
{
	printf(" %s=", name);
	for (int i = 0; i < INTERVALS; i++)
		printf("%s%lld", i ? "," : "", (long long)(values[i] / US));
}

static void print_thread(const struct thread *t)
{
	if (t->error) {
		printf("%s refused=%s\n", t->name, error_name(t->error));
		return;
	}
	printf("%s jobs=%ld late=%ld worst_us=%lld moves=%ld", t->name, t->jobs, t->late,
	       (long long)(t->worst / US), t->moves);
	if (t->kind == HOG) {
		printf(" used_us=%lld lag_us=%lld", (long long)(t->used / US), (long long)(t->lag / US));
		print_list("lags_us", t->lags);
	} else {
		print_list("worsts_us", t->worsts);
	}
	printf("\n");
}

int main(int arguments, char **argument)
{
	struct sched_param priority = { 50 };
	char *group = NULL, *mode = "";
	long units = 100;
	int option;
	pid_t child;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	while ((option = getopt(arguments, argument, "g:c:u:d:m:p:s:")) > 0) {
		switch (option) {
		case 'g': group = optarg; break;
		case 'c': sscanf(optarg, "%d-%d", &first_cpu, &last_cpu); break;
		case 'u': unit = atol(optarg) * US; break;
		case 'd': units = atol(optarg); break;
		case 'm': mode = optarg; break;
		case 'p': permille = atoi(optarg); break;
		case 's': start_at = atol(optarg) * MS; break;
		default: return 2;
		}
	}
	duration = units * unit;
	while (optind < arguments)
		read_thread(argument[optind++]);

	child = fork();
	if (!child)
		run_threads(group);
	if (group)
		allow(0, only(0));
	sched_setscheduler(0, SCHED_FIFO, &priority);
	while (shared->ready < count && !waitpid(child, NULL, WNOHANG))
		usleep(1000);
	shared->end = (start_at ? start_at : now() + 20 * MS) + duration;
	shared->begin = shared->end - duration;
	if (!strncmp(mode, "move=", 5))
		ask_for_moves(atof(mode + 5) * unit);
	else if (!strncmp(mode, "regroup=", 8))
		move_to_group(mode + 8, child);
	else if (!strcmp(mode, "adversary"))
		attack_hogs();
	waitpid(child, NULL, 0);
	for (int i = 0; i < count; i++)
		print_thread(&shared->threads[i]);
	if (*mode)
		printf("requests accepted=%ld refused=%ld attacks=%ld\n", shared->accepted, shared->refused,
		       shared->attacks);
	return 0;
}
