// SPDX-License-Identifier: GPL-2.0-only
/*
 * A deadline task sleeps past its 0-lag time, its parent gives it SCHED_OTHER, and it dies. As root:
 *
 *	gcc -o leave leave.c
 *	grep -m1 total_bw /sys/kernel/debug/sched/debug
 *	./leave
 *	grep -m1 total_bw /sys/kernel/debug/sched/debug		# 104857 more, for ever
 */
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	struct sched_attr other = { .size = sizeof(other) };
	struct sched_attr deadline = {
		.size = sizeof(deadline), .sched_policy = SCHED_DEADLINE,
		.sched_runtime = 10000000, .sched_deadline = 100000000, .sched_period = 100000000,
	};
	pid_t child = fork();

	if (!child) {
		syscall(SYS_sched_setattr, 0, &deadline, 0);
		for (;;)
			pause();
	}
	sleep(1);
	syscall(SYS_sched_setattr, child, &other, 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	sleep(1);
	return 0;
}
