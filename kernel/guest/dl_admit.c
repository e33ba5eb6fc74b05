// SPDX-License-Identifier: GPL-2.0-only
/*
 * dl_admit [-g CGROUP] [-c FIRST-LAST] SYSTEM..
 *
 * A system is a list `BUDGET:PERIOD:CPU,..` of threads, in microseconds; CPU is a number, or `-` for all
 * of FIRST-LAST. Its threads ask for their reservations one after the other and sleep then. A line for
 * each system has a letter for each thread: `+` admitted, `b` EBUSY, `p` EPERM, `?` anything else.
 */
#include "dl.h"

#define THREADS 64

struct thread {
	ns budget, period;
	cpu_set_t may;
	_Atomic int error, asked;
};

static struct thread threads[THREADS];
static _Atomic int over;
static int first_cpu = 1, last_cpu = 3;

static void *ask(void *argument)
{
	struct thread *t = argument;

	t->error = allow(0, t->may);
	if (!t->error)
		t->error = reserve(0, t->budget, t->period, 0);
	t->asked = 1;
	while (!over)
		usleep(5000);
	return NULL;
}

static int read_system(char *text)
{
	int count = 0;

	for (char *word = strtok(text, ","); word && count < THREADS; word = strtok(NULL, ",")) {
		struct thread *t = &threads[count++];
		long long budget, period;
		char cpu[8];

		if (sscanf(word, "%lld:%lld:%7s", &budget, &period, cpu) != 3) {
			fprintf(stderr, "`%s` is not BUDGET:PERIOD:CPU\n", word);
			exit(2);
		}
		t->budget = budget * US;
		t->period = period * US;
		t->may = *cpu == '-' ? range(first_cpu, last_cpu) : only(atoi(cpu));
		t->asked = 0;
	}
	return count;
}

int main(int arguments, char **argument)
{
	pthread_t handles[THREADS];
	char *group = NULL, file[256];
	int option;

	while ((option = getopt(arguments, argument, "g:c:")) > 0) {
		switch (option) {
		case 'g': group = optarg; break;
		case 'c': sscanf(optarg, "%d-%d", &first_cpu, &last_cpu); break;
		default: return 2;
		}
	}
	if (group) {
		snprintf(file, sizeof(file), "%s/cgroup.procs", group);
		if (put(file, "0"))
			return 2;
	}
	for (; optind < arguments; optind++) {
		int count = read_system(argument[optind]);

		over = 0;
		for (int i = 0; i < count; i++) {
			pthread_create(&handles[i], NULL, ask, &threads[i]);
			while (!threads[i].asked)
				usleep(500);
		}
		for (int i = 0; i < count; i++) {
			int error = threads[i].error;

			putchar(!error ? '+' : error == EBUSY ? 'b' : error == EPERM ? 'p' : '?');
		}
		putchar('\n');
		over = 1;
		for (int i = 0; i < count; i++)
			pthread_join(handles[i], NULL);
		/* Bandwidth counts until the 0-lag time, which is over soon: they hardly executed. */
		usleep(60000);
	}
	return 0;
}
