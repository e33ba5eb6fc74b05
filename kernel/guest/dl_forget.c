// SPDX-License-Identifier: GPL-2.0-only
/*
 * dl_forget: a thread with 100 ms every second executes 50 ms and exits, so that its bandwidth counts
 * for some 500 ms more. Its parent writes the limit of real-time threads again meanwhile, unchanged.
 * Then it waits until that time has passed, and asks for 1 ms every second.
 *
 * On stock kernels up to 7.3.4 the write makes the kernel sum up the living threads only, and the
 * bandwidth of the dead one is given back all the same: total_bw of the root domain is too small by it
 * for ever. If nothing else counts there (6.12.117 forgets the fair servers in the same write), it is
 * negative, and as an unsigned number too large for anything: the last line is EBUSY.
 */
#include "dl.h"

#define LIMIT "/proc/sys/kernel/sched_rt_runtime_us"

int main(void)
{
	char limit[32] = { 0 };
	int fd = open(LIMIT, O_RDONLY), error;
	pid_t child;
	ns end;

	if (fd < 0 || read(fd, limit, sizeof(limit) - 1) < 0)
		return 2;
	close(fd);
	child = fork();
	if (!child) {
		error = reserve(0, 100 * MS, S, 0);
		if (error) {
			fprintf(stderr, "failed to enter: %s\n", error_name(error));
			_exit(1);
		}
		for (end = cpu_time() + 50 * MS; cpu_time() < end;)
			;
		_exit(0);
	}
	waitpid(child, NULL, 0);
	printf("limit %s\n", error_name(put(LIMIT, limit)));
	sleep(2);
	error = reserve(0, MS, S, 0);
	printf("enter %s\n", error_name(error));
	return 0;
}
