// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
//
// What the mechanism needs of the kernel, written by hand. Records name the fields that are used, and no others: when
// the object is loaded, each is found by its name in the running kernel (CO-RE), and the members of `sched_ext_ops` are
// matched by name, too.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef signed long long s64;
typedef _Bool bool;
#define true 1
#define false 0
// Names that libbpf's headers use.
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;

enum { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_RINGBUF = 27, BPF_MAP_TYPE_TASK_STORAGE = 29 };
enum { BPF_F_NO_PREALLOC = 1, BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2, CLOCK_MONOTONIC = 1 };

struct bpf_iter_num;
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct cpumask {
	unsigned long bits[1];
};
struct sched_ext_entity {
	u64 tid;
};
struct task_struct {
	const struct cpumask *cpus_ptr;
	unsigned short migration_disabled;
	struct sched_ext_entity scx;
};
// As a plain number its relocation would not be resolved.
enum scx_exit_kind { SCX_EXIT_NONE_ };
struct scx_exit_info {
	enum scx_exit_kind kind;
	const char *reason;
	char *msg;
};
#pragma clang attribute pop

struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));
struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_spin_lock {
	u32 val;
};

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *, s32, u64);
	void (*enqueue)(struct task_struct *, u64);
	void (*dequeue)(struct task_struct *, u64);
	void (*dispatch)(s32, struct task_struct *);
	void (*runnable)(struct task_struct *, u64);
	void (*running)(struct task_struct *);
	void (*stopping)(struct task_struct *, bool);
	void (*quiescent)(struct task_struct *, u64);
	void (*enable)(struct task_struct *);
	void (*disable)(struct task_struct *);
	void (*cpu_online)(s32);
	void (*cpu_offline)(s32);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

// Values of the kernel's enums. clang 14 and 15 cut enums of 64 bits, so that they are written down here.
#define SCX_DSQ_LOCAL 0x8000000000000002ULL
#define SCX_DSQ_LOCAL_ON 0xC000000000000000ULL
#define SCX_SLICE_INF (~0ULL)
#define SCX_WAKE_TTWU 8ULL
#define SCX_ENQ_WAKEUP 1ULL
#define SCX_ENQ_PREEMPT (1ULL << 32)
#define SCX_ENQ_REENQ (1ULL << 40)
#define SCX_DEQ_SLEEP 1ULL
#define SCX_KICK_IDLE 1ULL
#define SCX_KICK_PREEMPT 2ULL
#define SCX_OPS_ENQ_LAST 2ULL
#define SCX_OPS_ENQ_EXITING 4ULL
#define SCX_OPS_SWITCH_PARTIAL 8ULL
#define SCX_OPS_ALWAYS_ENQ_IMMED 128ULL
#define SCX_OPS_TID_TO_TASK 256ULL

extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym;
extern s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
extern bool scx_bpf_dsq_move_to_local(u64 dsq_id) __ksym;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
extern void scx_bpf_dsq_reenq(u64 dsq_id, u64 flags) __ksym;
extern u32 scx_bpf_nr_cpu_ids(void) __ksym;
extern s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
extern struct task_struct *scx_bpf_tid_to_task(u64 tid) __ksym;
extern void scx_bpf_error_bstr(char *fmt, u64 *data, u32 data__sz) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
