// SPDX-License-Identifier: GPL-2.0-only
/*
 * A deadline task exits, and before its 0-lag time the limit of real-time tasks is written again,
 * unchanged. As root:
 *
 *	gcc -o forget forget.c
 *	grep -m1 total_bw /sys/kernel/debug/sched/debug
 *	./forget
 *	grep -m1 total_bw /sys/kernel/debug/sched/debug		# 104857 less, for ever
 *
 * On 6.12.y the write also forgets the fair servers, and the sum is negative: nothing is admitted then.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	struct sched_attr deadline = {
		.size = sizeof(deadline), .sched_policy = SCHED_DEADLINE,
		.sched_runtime = 100000000, .sched_deadline = 1000000000, .sched_period = 1000000000,
	};
	int limit = open("/proc/sys/kernel/sched_rt_runtime_us", O_RDWR);
	char text[16];
	ssize_t length = read(limit, text, sizeof(text));

	if (!fork()) {
		syscall(SYS_sched_setattr, 0, &deadline, 0);
		_exit(0);
	}
	wait(NULL);
	if (length < 1 || pwrite(limit, text, length, 0) != length)
		return 1;
	sleep(2);
	return 0;
}
