// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
//
// What the mechanism and the manager share: records in memory that both see. `shared.rs` has the same records, and
// their sizes are compared when the object is loaded.
#pragma once

#define CPUS 64
#define TASKS 512

// A budget that never ends; and one that is used up, whose thread gets no CPU.
#define NO_BUDGET (~0ULL)

// Threads are named by their index, and by its successor where 0 says that there is none (`thread1`). A wake-up has a
// number, which names what the thread does between this and its next sleep: what is said of an earlier one is stale.

// What a CPU is to run.
struct slot {
	u32 thread1;
	u32 wake;
	u64 budget;
};

// What the manager wants a CPU to run from now on, if `is_set`.
struct order {
	u32 is_set;
	u32 thread1;
	u32 wake;
	u32 pad;
	u64 budget;
};

// What a CPU runs when its thread has gone to sleep, and how long; valid in one epoch of the tables.
struct successor {
	u32 epoch;
	u32 after1;
	u32 after_wake;
	u32 thread1;
	u32 wake;
	u32 pad;
	u64 budget;
};

// The CPU that a thread takes when it wakes, from whom, and how long; valid in one epoch of the tables.
struct wake {
	u32 epoch;
	u32 wake;
	u32 cpu1;
	u32 over1;
	u64 budget;
};

struct thread {
	// Written by the manager: the deadline of the job and of a job that begins by itself, for the caretaker.
	u64 deadline;
	u64 relative;
	// The kernel's name of it.
	u64 tid;
	// Processor time up to `since`; a number that is odd while this changes.
	u64 ran;
	u64 since;
	u32 changes;
	// The CPU that it is on, or -1; and the one whose slot it has, or -1.
	s32 on;
	s32 want;
	u32 is_managed;
	u32 is_awake;
	// Wake-ups so far.
	u32 wakes;
	// Whether it waits for the mechanism to put it somewhere.
	u32 custody;
	u32 pad;
	// When it woke last, ran first after that, and fell asleep last; what it had got by then.
	u64 woke_at;
	u64 began_at;
	u64 slept_at;
	u64 slept_ran;
};

// What is told to the manager.
struct record {
	u64 at;
	u32 kind;
	u32 thread;
	s32 cpu;
	// Of a wake-up: the CPU that it took by the table and its successor; of a sleep: the thread that followed by it.
	u32 taken1;
};
enum { WOKE = 1, SLEPT, RUNS, STOPS, USED_UP, ONLINE, OFFLINE, LEFT, GONE };

struct counts {
	// Records that did not fit into the ring.
	u64 lost;
	// Orders about jobs that had ended meanwhile.
	u64 stale;
	// Threads that came back because a higher class took their CPU.
	u64 bounced;
	// Decisions of the caretaker.
	u64 cared;
	// Successors and wake-ups that followed the tables.
	u64 followed;
	u64 woken;
};

// All that both write.
struct shared {
	struct slot slots[CPUS];
	struct order orders[CPUS];
	struct successor successors[CPUS];
	struct wake wakes[TASKS];
	struct thread threads[TASKS];
	struct counts counts;
	// Since when the manager has not answered what it was told, or 0.
	u64 asked_at;
	// The tables are valid in this epoch; 0 is none.
	u32 epoch;
	// Why the kernel has ended the scheduler; 0 while it goes on.
	u32 exit_kind;
	char exit_reason[128];
	char exit_message[256];
};

// Set before loading, and constant then. Under PREEMPT_RT there are no BPF timers, and a wake-up of the manager would
// preempt the very thread that it tells of: the manager polls, and looks after budgets itself.
struct settings {
	// The CPUs that threads may be given, a bit each.
	u64 cpus_used;
	// How long the manager may take to answer before the caretaker acts, and before everything ends. With 0 the caretaker
	// always acts: it is a global EDF without a manager then, to compare latencies with.
	u64 late_ns;
	u64 dead_ns;
	u32 has_timers;
	u32 wakes_manager;
};
