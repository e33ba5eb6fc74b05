// SPDX-License-Identifier: GPL-2.0-only
/*
 * dl_leave MS: a thread with 10 ms every 100 ms executes 5 ms and sleeps: its 0-lag time is 50 ms after
 * its start. MS milliseconds after the start its parent gives it SCHED_OTHER, and it exits. If MS > 50,
 * stock kernels up to 7.3.4 keep its bandwidth for ever in total_bw of its root domain.
 */
#include "dl.h"

int main(int arguments, char **argument)
{
	int error;
	pid_t child;
	ns until;

	if (arguments != 2)
		return 2;
	child = fork();
	if (!child) {
		error = reserve(0, 10 * MS, 100 * MS, 0);
		if (error)
			fprintf(stderr, "failed to enter: %s\n", error_name(error));
		for (until = cpu_time() + 5 * MS; cpu_time() < until;)
			;
		sleep(3);
		_exit(!!error);
	}
	usleep(atoi(argument[1]) * 1000);
	error = leave(child);
	if (error)
		fprintf(stderr, "failed to return it to SCHED_OTHER: %s\n", error_name(error));
	waitpid(child, NULL, 0);
	sleep(1);
	return !!error;
}
