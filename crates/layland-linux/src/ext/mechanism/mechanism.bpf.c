// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
//
// The mechanism of the engine `ext`. It knows no policy: slots say what each CPU is to run, and two tables say what to
// do at once when a thread falls asleep or wakes, until the manager has decided.
//
// A thread that is awake and not on a CPU's own queue is in *custody*: the kernel has handed it over, and nobody else
// runs it. `dispatch` and `enqueue` put a thread on a CPU only by taking it out of custody, which succeeds once;
// putting one there that sleeps or runs elsewhere would make the kernel try again for ever.
//
// The kernel must not queue a thread past us, for the same reason: one that has no right to its CPU would be sent away
// before its first instruction, and be there again, for ever, and nobody else would have that CPU. So a thread that is
// about to end is handed over like any other (SCX_OPS_ENQ_EXITING). One that may not leave its CPU for the moment is still
// queued by the kernel, because its slot may be on another CPU; it is left alone for PINNED_NS at a time.
//
// Slots, wants and what is known of sleep change under one lock. What the kernel is asked to do follows outside of it,
// because a lock may not be held meanwhile; every callback looks at the slots again, so that the last word shared.counts.
//
// A thread of the kernel's class that is none of ours, a *stranger*, waits in a queue of its own. A CPU takes from it when
// its slot has nothing to run, and only until it has.
//
// The manager may be late. Then, after `late_ns` without an answer to what it was told, waiting threads get the CPUs
// by earliest deadline (the *caretaker*); after `dead_ns` the mechanism gives up with an error, and the kernel makes
// every thread an ordinary one.
#include "kernel.h"
#include "shared.h"

char _license[] SEC("license") = "Dual MIT/GPL";

// Each is a section, and so a map, of its own, which the manager sees as this one record.
const volatile struct settings settings SEC(".rodata.settings") = {};
struct shared shared SEC(".bss.shared");

// Without a use the record would not be emitted, and no function of the kernel would match its prototype.
struct cpumask keep_cpumask;

static struct bpf_spin_lock lock SEC(".bss.lock");

// CPUs that are about to go, or are gone.
static u64 leaving;

// The queue of strangers, how long one of them has a CPU, and the CPUs that run one.
#define STRANGERS 1
#define STRANGERS_NS 1000000
static u64 with_stranger;

// Where the kernel may have put a thread that it moved by itself, which it does when a CPU goes: on which CPU the thread
// was queued last, and to which one it was sent since; each plus 1.
static struct place {
	u32 queued1, sent1;
} places[TASKS];

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

// The index of a managed thread and 1. The manager writes it before the thread is of our class.
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} indices SEC(".maps");

struct timed {
	struct bpf_timer timer;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CPUS);
	__type(key, u32);
	__type(value, struct timed);
} timers SEC(".maps");

// The verifier forgets that an index is small once the compiler has widened it.
static __always_inline u32 thread_index(u32 i)
{
	asm volatile("" : "+r"(i));
	i &= TASKS - 1;
	return i;
}
static __always_inline u32 cpu_index(u32 i)
{
	asm volatile("" : "+r"(i));
	i &= CPUS - 1;
	return i;
}
#define LOAD(x) (*(volatile typeof(x) *)&(x))
#define STORE(x, value) (*(volatile typeof(x) *)&(x) = (value))

enum { QUIET, AWAIT };

// How much earlier than it should a timer may fire.
#define TIMER_GRAIN 1000

// For how long a thread that may not leave its CPU, and has no right to it, is left alone.
#define PINNED_NS 50000

// Tells the manager; AWAIT says that it is to answer.
static __always_inline void tell(u32 kind, u32 thread, s32 cpu, u32 taken1, u32 how)
{
	u64 now = bpf_ktime_get_ns();
	struct record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (how == AWAIT)
		__sync_val_compare_and_swap(&shared.asked_at, 0, now);
	if (!r) {
		__sync_fetch_and_add(&shared.counts.lost, 1);
		return;
	}
	r->at = now;
	r->kind = kind;
	r->thread = thread;
	r->cpu = cpu;
	r->taken1 = taken1;
	// Adaptive wake-ups would be lost behind a quiet record that is unread.
	bpf_ringbuf_submit(r, how == AWAIT && settings.wakes_manager ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

// A CPU goes. The kernel says so late: it waits for all readers of RCU first, and a thread that it has moved off that CPU
// may be one. As long as the manager believes that the thread is where it belongs, that never ends.
static __always_inline void leaves(u32 cpu)
{
	u64 bit = 1ULL << cpu_index(cpu);
	if (!(__sync_fetch_and_or(&leaving, bit) & bit))
		tell(OFFLINE, 0, cpu, 0, AWAIT);
}

static __always_inline bool is_late(void)
{
	u64 asked = LOAD(shared.asked_at), now = bpf_ktime_get_ns();
	if (!settings.late_ns)
		return true;
	if (!asked || now < asked + settings.late_ns)
		return false;
	if (now > asked + settings.dead_ns) {
		static char words[] = "the manager has not answered for too long";
		u64 none[1] = {};
		scx_bpf_error_bstr(words, none, sizeof(none));
	}
	return true;
}

static __always_inline struct thread *managed(struct task_struct *p, u32 *index)
{
	u32 *index1 = bpf_task_storage_get(&indices, p, 0, 0);
	if (!index1 || !*index1)
		return 0;
	*index = thread_index(*index1 - 1);
	struct thread *t = &shared.threads[*index];
	return t->is_managed ? t : 0;
}

// Whether nobody of ours is to run on a CPU. One whose budget is used up waits until the manager has answered.
static __always_inline bool is_left(u32 c)
{
	return !LOAD(shared.slots[c].thread1) || !LOAD(shared.slots[c].budget);
}

static __always_inline void stop_timer(u32 cpu)
{
	u32 key = cpu;
	if (!settings.has_timers)
		return;
	struct timed *timed = bpf_map_lookup_elem(&timers, &key);
	if (timed)
		bpf_timer_cancel(&timed->timer);
}

static __always_inline void start_timer(u32 cpu, u64 ns)
{
	u32 key = cpu;
	if (!settings.has_timers)
		return;
	struct timed *timed = bpf_map_lookup_elem(&timers, &key);
	if (timed)
		bpf_timer_start(&timed->timer, ns, 0);
}

// The following change slots, and are called with the lock held.

// Gives a CPU to a thread that has none. Whoever had it waits. Gives the index1 of that one.
static __always_inline u32 give(u32 cpu, u32 index, u32 wake, u64 budget)
{
	u32 c = cpu_index(cpu), out = shared.slots[c].thread1;
	if (out && out != index + 1) {
		struct thread *o = &shared.threads[thread_index(out - 1)];
		if (o->want == (s32)c)
			o->want = -1;
	}
	shared.slots[c].thread1 = index + 1;
	shared.slots[c].wake = wake;
	shared.slots[c].budget = budget;
	shared.threads[thread_index(index)].want = c;
	return out;
}

// Takes its CPU from a thread, and gives which, or -1.
static __always_inline s32 take(u32 index)
{
	struct thread *t = &shared.threads[thread_index(index)];
	s32 want = t->want;
	t->want = -1;
	if (want < 0)
		return -1;
	u32 c = cpu_index(want);
	if (shared.slots[c].thread1 != index + 1)
		return -1;
	shared.slots[c].thread1 = 0;
	return want;
}

// A thread wakes. The kernel asks for a CPU first, and not always: whichever callback comes first tells of it.
static __always_inline void wake_up(struct thread *t, u32 index, s32 cpu)
{
	u64 now = bpf_ktime_get_ns();
	u32 taken1 = 0;
	bool late = is_late();
	u32 current = LOAD(shared.epoch);
	struct wake *entry = &shared.wakes[thread_index(index)];

	bpf_spin_lock(&lock);
	if (t->is_awake) {
		bpf_spin_unlock(&lock);
		return;
	}
	t->wakes++;
	t->woke_at = now;
	t->began_at = 0;
	if (t->relative)
		t->deadline = now + t->relative;
	// A full barrier: the manager reads without the lock, and whoever sees it awake sees which wake-up this is.
	__sync_lock_test_and_set(&t->is_awake, 1);
	s32 want = t->want;
	if (want >= 0) {
		// The manager was faster, if this is the wake-up that it meant.
		u32 c = cpu_index(want);
		if (shared.slots[c].thread1 != index + 1 || shared.slots[c].wake != t->wakes)
			take(index);
	}
	if (t->want < 0 && !late && current && __sync_fetch_and_add(&entry->epoch, 0) == current &&
	    entry->wake == t->wakes && entry->cpu1) {
		u32 c = cpu_index(entry->cpu1 - 1);
		u64 budget = LOAD(entry->budget);
		if (shared.slots[c].thread1 == entry->over1 && __sync_fetch_and_add(&entry->epoch, 0) == current) {
			give(c, index, t->wakes, budget);
			shared.successors[c].epoch = 0;
			shared.counts.woken++;
			taken1 = c + 1;
		}
	}
	entry->epoch = 0;
	bpf_spin_unlock(&lock);
	tell(WOKE, index, cpu, taken1, AWAIT);
}

s32 SEC("struct_ops/layland_select_cpu") BPF_PROG(layland_select_cpu, struct task_struct *p, s32 previous, u64 flags)
{
	u32 i;
	struct thread *t = managed(p, &i);
	if (!t || !(flags & SCX_WAKE_TTWU))
		return previous;
	wake_up(t, i, previous);
	s32 want = t->want;
	if (want >= 0 && bpf_cpumask_test_cpu(want, p->cpus_ptr))
		return want;
	return previous;
}

void SEC("struct_ops/layland_runnable") BPF_PROG(layland_runnable, struct task_struct *p, u64 flags)
{
	u32 i;
	struct thread *t = managed(p, &i);
	// One that comes to our class while it could run has not woken: its first job begins here.
	if (t && (flags & SCX_ENQ_WAKEUP || !t->is_awake))
		wake_up(t, i, scx_bpf_task_cpu(p));
}

void SEC("struct_ops/layland_quiescent") BPF_PROG(layland_quiescent, struct task_struct *p, u64 flags)
{
	u32 i;
	struct thread *t = managed(p, &i);
	// Without the flag an attribute changes, and the thread goes on.
	if (!t || !(flags & SCX_DEQ_SLEEP))
		return;
	places[thread_index(i)].queued1 = 0;
	u64 now = bpf_ktime_get_ns();
	u32 taken1 = 0, current = LOAD(shared.epoch);

	bpf_spin_lock(&lock);
	t->slept_ran = t->ran;
	t->slept_at = now;
	__sync_lock_test_and_set(&t->is_awake, 0);
	s32 cpu = take(i);
	if (cpu >= 0) {
		u32 c = cpu_index(cpu);
		struct successor *entry = &shared.successors[c];
		if (current && __sync_fetch_and_add(&entry->epoch, 0) == current && entry->after1 == i + 1 &&
		    entry->after_wake == t->wakes && entry->thread1) {
			u32 n = thread_index(entry->thread1 - 1), wake = entry->wake;
			u64 budget = LOAD(entry->budget);
			struct thread *next = &shared.threads[n];
			if (next->is_awake && next->wakes == wake && next->want < 0 &&
			    __sync_fetch_and_add(&entry->epoch, 0) == current) {
				give(c, n, wake, budget);
				shared.counts.followed++;
				taken1 = n + 1;
			}
		}
		entry->epoch = 0;
	}
	bpf_spin_unlock(&lock);
	tell(SLEPT, i, cpu, taken1, AWAIT);
	// It may have slept on a CPU that it was to leave: the other one would ask nobody.
	if (taken1 && cpu != scx_bpf_task_cpu(p))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

void SEC("struct_ops/layland_running") BPF_PROG(layland_running, struct task_struct *p)
{
	u32 i;
	struct thread *t = managed(p, &i);
	u32 c = cpu_index(scx_bpf_task_cpu(p));
	if (!t) {
		// A full barrier: whoever gets the slot from now on sees the stranger, or is seen here.
		__sync_fetch_and_or(&with_stranger, 1ULL << c);
		if (!is_left(c))
			scx_bpf_kick_cpu(c, SCX_KICK_PREEMPT);
		return;
	}
	u64 now = bpf_ktime_get_ns();
	__sync_fetch_and_add(&t->changes, 1);
	t->on = c;
	t->since = now;
	if (!t->began_at)
		t->began_at = now;
	__sync_fetch_and_add(&t->changes, 1);
	struct place *place = &places[thread_index(i)];
	if (place->sent1 && place->sent1 != c + 1)
		leaves(place->sent1 - 1);
	place->sent1 = 0;
	if (LOAD(shared.slots[c].thread1) != i + 1) {
		// It lost the CPU on its way here, when nobody could have seen it: whoever takes a slot from now on sees it.
		// One that may not leave the CPU would be back at once. Without timers it has the slice of the kernel.
		if (!p->migration_disabled)
			scx_bpf_kick_cpu(c, SCX_KICK_PREEMPT);
		else
			start_timer(c, PINNED_NS);
	} else {
		u64 budget = shared.slots[c].budget;
		if (budget != NO_BUDGET)
			start_timer(c, budget);
	}
	tell(RUNS, i, c, 0, QUIET);
	// A CPU that goes waits until no thread is queued there. It looks when it reschedules, and one that waited in custody
	// has just left it from afar.
	u64 left = LOAD(leaving);
	s32 going;
	if (left)
		bpf_for(going, 0, CPUS)
			if (left >> cpu_index(going) & 1)
				scx_bpf_kick_cpu(going, 0);
}

void SEC("struct_ops/layland_stopping") BPF_PROG(layland_stopping, struct task_struct *p, bool runnable)
{
	u32 i;
	struct thread *t = managed(p, &i);
	if (!t)
		__sync_fetch_and_and(&with_stranger, ~(1ULL << cpu_index(scx_bpf_task_cpu(p))));
	if (!t || t->on < 0)
		return;
	u32 c = cpu_index(t->on);
	u64 now = bpf_ktime_get_ns(), length = now - t->since;
	__sync_fetch_and_add(&t->changes, 1);
	t->ran += length;
	t->since = now;
	t->on = -1;
	__sync_fetch_and_add(&t->changes, 1);
	bool is_timed = false;
	bpf_spin_lock(&lock);
	if (shared.slots[c].thread1 == i + 1 && shared.slots[c].budget != NO_BUDGET) {
		u64 budget = shared.slots[c].budget;
		shared.slots[c].budget = budget > length ? budget - length : 0;
		is_timed = true;
	}
	bpf_spin_unlock(&lock);
	if (is_timed)
		stop_timer(c);
	tell(STOPS, i, c, runnable, QUIET);
}

// The budget of what a CPU runs is used up: it loses the CPU, and the manager says what follows.
static int use_up(void *map, u32 *key, struct timed *timed)
{
	u32 c = cpu_index(*key), used_up1 = 0;
	u64 now = bpf_ktime_get_ns();
	bool is_away = true;
	bpf_spin_lock(&lock);
	u32 thread1 = shared.slots[c].thread1;
	if (thread1)
		is_away = shared.threads[thread_index(thread1 - 1)].on != (s32)c;
	if (thread1 && shared.slots[c].budget != NO_BUDGET) {
		struct thread *t = &shared.threads[thread_index(thread1 - 1)];
		// Otherwise it is the timer of a thread that had the CPU before.
		if (t->on == (s32)c && now + TIMER_GRAIN >= t->since + shared.slots[c].budget) {
			shared.slots[c].budget = 0;
			used_up1 = thread1;
		}
	}
	bpf_spin_unlock(&lock);
	if (used_up1) {
		tell(USED_UP, thread_index(used_up1 - 1), c, 0, AWAIT);
		scx_bpf_kick_cpu(c, SCX_KICK_PREEMPT);
	} else if (is_away) {
		// Whoever is there has no right to it.
		scx_bpf_kick_cpu(c, SCX_KICK_PREEMPT);
	}
	return 0;
}

// The caretaker: an empty CPU for a thread that waits, else the one with the latest deadline.
static __always_inline void care_for(struct task_struct *p, struct thread *t, u32 index)
{
	u64 latest = t->deadline;
	s32 to = -1, cpu;
	bpf_for(cpu, 0, CPUS) {
		u32 c = cpu_index(cpu);
		if (!(settings.cpus_used >> c & 1) || !bpf_cpumask_test_cpu(c, p->cpus_ptr))
			continue;
		u32 has = shared.slots[c].thread1;
		if (!has) {
			to = c;
			break;
		}
		u64 deadline = shared.threads[thread_index(has - 1)].deadline;
		if (deadline > latest) {
			latest = deadline;
			to = c;
		}
	}
	if (to < 0)
		return;
	bpf_spin_lock(&lock);
	if (t->want < 0 && t->is_awake) {
		give(to, index, t->wakes, NO_BUDGET);
		shared.counts.cared++;
	}
	bpf_spin_unlock(&lock);
}

// The caretaker: the earliest deadline among the threads that wait.
static __always_inline u32 earliest(void)
{
	u64 best = ~0ULL;
	u32 found = 0;
	s32 at;
	bpf_for(at, 0, TASKS) {
		u32 i = thread_index(at);
		struct thread *t = &shared.threads[i];
		if (t->is_managed && t->custody && t->want < 0 && t->deadline < best) {
			best = t->deadline;
			found = i + 1;
		}
	}
	return found;
}

static __always_inline bool leave_custody(struct thread *t)
{
	return __sync_val_compare_and_swap(&t->custody, 1, 0) == 1;
}

// A stranger waits, and a CPU that has nothing else to do looks.
static __always_inline void let_wait(struct task_struct *p)
{
	u32 here = cpu_index(scx_bpf_task_cpu(p)), count = scx_bpf_nr_cpu_ids();
	s32 cpu;
	scx_bpf_dsq_insert(p, STRANGERS, STRANGERS_NS, 0);
	// It may have run here until now, and the CPU has chosen what follows.
	if (is_left(here))
		scx_bpf_kick_cpu(here, 0);
	bpf_for(cpu, 0, CPUS) {
		u32 c = cpu_index(cpu);
		if (c < count && c != here && is_left(c) && bpf_cpumask_test_cpu(c, p->cpus_ptr))
			scx_bpf_kick_cpu(c, SCX_KICK_IDLE);
	}
}

void SEC("struct_ops/layland_enqueue") BPF_PROG(layland_enqueue, struct task_struct *p, u64 flags)
{
	u32 i;
	struct thread *t = managed(p, &i);
	if (!t) {
		let_wait(p);
		return;
	}
	struct place *place = &places[thread_index(i)];
	u32 here1 = scx_bpf_task_cpu(p) + 1, there1 = place->queued1;
	place->queued1 = here1;
	if (there1 && there1 != here1 && !(flags & SCX_ENQ_WAKEUP) && bpf_cpumask_test_cpu(there1 - 1, p->cpus_ptr))
		leaves(there1 - 1);
	// A full barrier: whoever gives it a CPU from now on sees it.
	__sync_lock_test_and_set(&t->custody, 1);
	if (LOAD(t->want) < 0 && is_late())
		care_for(p, t, i);
	s32 want = LOAD(t->want);
	if (want < 0)
		return;
	u32 c = cpu_index(want);
	if (shared.slots[c].thread1 != i + 1 || shared.slots[c].wake != t->wakes || !shared.slots[c].budget)
		return;
	// It stays in custody, and its CPU asks what to run. To put it into the queue of a CPU that runs something would send
	// it back here first.
	if (flags & SCX_ENQ_REENQ)
		// A higher class has the CPU, maybe for some microseconds: then nobody would ask again.
		__sync_fetch_and_add(&shared.counts.bounced, 1);
	bool is_elsewhere = c != cpu_index(scx_bpf_task_cpu(p)), has_stranger = LOAD(with_stranger) >> c & 1;
	scx_bpf_kick_cpu(c, is_elsewhere || has_stranger || flags & SCX_ENQ_WAKEUP ? SCX_KICK_PREEMPT : 0);
}

void SEC("struct_ops/layland_dequeue") BPF_PROG(layland_dequeue, struct task_struct *p, u64 flags)
{
	u32 i;
	struct thread *t = managed(p, &i);
	if (t)
		__sync_lock_test_and_set(&t->custody, 0);
}

void SEC("struct_ops/layland_dispatch") BPF_PROG(layland_dispatch, s32 cpu, struct task_struct *previous)
{
	u32 c = cpu_index(cpu);
	u32 thread1 = LOAD(shared.slots[c].thread1);
	if (!thread1 && settings.cpus_used >> c & 1 && is_late()) {
		thread1 = earliest();
		if (thread1) {
			u32 n = thread_index(thread1 - 1);
			bpf_spin_lock(&lock);
			if (!shared.slots[c].thread1 && shared.threads[n].want < 0 && shared.threads[n].is_awake) {
				give(c, n, shared.threads[n].wakes, NO_BUDGET);
				shared.counts.cared++;
			}
			thread1 = shared.slots[c].thread1;
			bpf_spin_unlock(&lock);
		}
	}
	if (is_left(c)) {
		scx_bpf_dsq_move_to_local(STRANGERS);
		return;
	}
	if (!thread1)
		return;
	struct thread *t = &shared.threads[thread_index(thread1 - 1)];
	if (!t->custody || shared.slots[c].wake != t->wakes || !shared.slots[c].budget)
		return;
	struct task_struct *p = scx_bpf_tid_to_task(t->tid);
	if (!p || !bpf_cpumask_test_cpu(c, p->cpus_ptr))
		return;
	// The kernel would not let it run there, but somewhere else.
	if (LOAD(leaving) >> c & 1)
		return;
	if (leave_custody(t)) {
		struct place *place = &places[thread_index(thread1 - 1)];
		place->queued1 = 0;
		place->sent1 = c + 1;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_INF, 0);
	}
}

void SEC("struct_ops/layland_enable") BPF_PROG(layland_enable, struct task_struct *p)
{
	u32 *index1 = bpf_task_storage_get(&indices, p, 0, 0);
	if (!index1 || !*index1)
		return;
	struct thread *t = &shared.threads[thread_index(*index1 - 1)];
	t->tid = p->scx.tid;
	t->want = -1;
	t->on = -1;
	// Another thread may have had the index: what that one had got is not this one's.
	t->slept_ran = t->ran;
	struct place *place = &places[thread_index(*index1 - 1)];
	place->queued1 = place->sent1 = 0;
	t->is_managed = 1;
}

void SEC("struct_ops/layland_disable") BPF_PROG(layland_disable, struct task_struct *p)
{
	u32 i;
	struct thread *t = managed(p, &i);
	if (!t)
		return;
	// It has to be named anew: its index may be another thread's when it comes back.
	u32 *index1 = bpf_task_storage_get(&indices, p, 0, 0);
	if (index1)
		*index1 = 0;
	bpf_spin_lock(&lock);
	s32 cpu = take(i);
	t->is_awake = 0;
	t->is_managed = 0;
	t->custody = 0;
	bpf_spin_unlock(&lock);
	tell(LEFT, i, cpu, 0, AWAIT);
}

void SEC("struct_ops/layland_cpu_online") BPF_PROG(layland_cpu_online, s32 cpu)
{
	__sync_fetch_and_and(&leaving, ~(1ULL << cpu_index(cpu)));
	tell(ONLINE, 0, cpu, 0, AWAIT);
}

void SEC("struct_ops/layland_cpu_offline") BPF_PROG(layland_cpu_offline, s32 cpu)
{
	leaves(cpu);
}

s32 SEC("struct_ops.s/layland_init") BPF_PROG(layland_init)
{
	return scx_bpf_create_dsq(STRANGERS, -1);
}

void SEC("struct_ops/layland_exit") BPF_PROG(layland_exit, struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(shared.exit_reason, sizeof(shared.exit_reason), info->reason);
	bpf_probe_read_kernel_str(shared.exit_message, sizeof(shared.exit_message), info->msg);
	STORE(shared.exit_kind, info->kind);
	tell(GONE, 0, -1, 0, AWAIT);
}

// What a commit has changed, by CPU. Commits come from one thread.
u64 changed;
u32 stale;

// Functions of their own are verified once each, for every CPU; as bodies of loops they would be refused as too complex.
__noinline int place(u32 cpu)
{
	u32 c = cpu_index(cpu);
	struct order *order = &shared.orders[c];
	if (!order->is_set)
		return 0;
	order->is_set = 0;
	u32 thread1 = order->thread1, wake = order->wake, n = 0;
	u64 budget = order->budget, now = bpf_ktime_get_ns();
	bool restarts = false;

	bpf_spin_lock(&lock);
	u32 before = shared.slots[c].thread1;
	if (thread1) {
		n = thread_index(thread1 - 1);
		struct thread *t = &shared.threads[n];
		// It has ended what the manager means: it must not begin something else without a decision.
		if (wake != (t->is_awake ? t->wakes : t->wakes + 1)) {
			stale++;
			thread1 = 0;
		}
	}
	if (thread1) {
		struct thread *t = &shared.threads[n];
		s32 want = t->want;
		if (want >= 0 && want != (s32)c && take(n) >= 0)
			changed |= 1ULL << cpu_index(want);
		give(c, n, wake, budget);
		// Also if the slot was another's for a moment. It goes on, and its time counts anew from here: `stopping` takes
		// the whole stretch from the budget. A timer that is set for another budget may fire before it is set anew.
		restarts = t->on == (s32)c;
		if (restarts && budget != NO_BUDGET && now > t->since)
			shared.slots[c].budget = budget + (now - t->since);
	} else if (before) {
		take(thread_index(before - 1));
		shared.slots[c].thread1 = 0;
	}
	shared.successors[c].epoch = 0;
	bpf_spin_unlock(&lock);
	if (before != thread1)
		changed |= 1ULL << c;
	if (restarts) {
		if (budget == NO_BUDGET)
			stop_timer(c);
		else
			start_timer(c, budget);
	} else if (before == thread1 && thread1) {
		// A budget was used up, and there is a new one.
		changed |= 1ULL << c;
	}
	return 0;
}

__noinline int touch(u32 cpu)
{
	u32 c = cpu_index(cpu);
	if (!(changed >> c & 1))
		return 0;
	u32 thread1 = shared.slots[c].thread1;
	if (thread1) {
		struct thread *t = &shared.threads[thread_index(thread1 - 1)];
		s32 on = t->on;
		if (on == (s32)c)
			return 0;
		if (on >= 0) {
			// Its CPU lets go of it, and `enqueue` puts it here.
			scx_bpf_kick_cpu(on, SCX_KICK_PREEMPT);
		} else if (!t->custody && t->is_awake) {
			// In the queue of another CPU, behind a higher class: it comes back to `enqueue`.
			bpf_rcu_read_lock();
			struct task_struct *p = scx_bpf_tid_to_task(t->tid);
			s32 where = p ? scx_bpf_task_cpu(p) : -1;
			bpf_rcu_read_unlock();
			if (where >= 0)
				scx_bpf_dsq_reenq(SCX_DSQ_LOCAL_ON | where, 0);
		}
	}
	scx_bpf_kick_cpu(c, SCX_KICK_PREEMPT);
	return 0;
}

// Carries out what the manager wrote into `orders`.
SEC("syscall")
int commit(void *unused)
{
	s32 cpu;
	changed = 0;
	stale = 0;
	bpf_for(cpu, 0, CPUS) place(cpu);
	// A full barrier: a thread that comes to a CPU from now on sees the slots.
	__sync_fetch_and_add(&shared.counts.stale, stale);
	bpf_for(cpu, 0, CPUS) touch(cpu);
	return stale;
}

SEC("syscall")
int setup(void *unused)
{
	s32 cpu;
	if (!settings.has_timers)
		return 0;
	bpf_for(cpu, 0, CPUS) {
		u32 key = cpu_index(cpu);
		struct timed *timed = bpf_map_lookup_elem(&timers, &key);
		if (!timed || bpf_timer_init(&timed->timer, &timers, CLOCK_MONOTONIC))
			return 1;
		bpf_timer_set_callback(&timed->timer, use_up);
	}
	return 0;
}

// Under PREEMPT_RT ticks and timers are threads of a higher class: with IMMED every one of them would send the thread
// back here.
#define OPERATIONS(FLAGS)                                                                                     \
	{                                                                                                     \
		.select_cpu = (void *)layland_select_cpu, .enqueue = (void *)layland_enqueue,                 \
		.dequeue = (void *)layland_dequeue, .dispatch = (void *)layland_dispatch,                     \
		.runnable = (void *)layland_runnable, .running = (void *)layland_running,                     \
		.stopping = (void *)layland_stopping, .quiescent = (void *)layland_quiescent,                 \
		.enable = (void *)layland_enable, .disable = (void *)layland_disable,                         \
		.cpu_online = (void *)layland_cpu_online, .cpu_offline = (void *)layland_cpu_offline,         \
		.init = (void *)layland_init, .exit = (void *)layland_exit,                                   \
		.flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING | SCX_OPS_SWITCH_PARTIAL |                        \
			 SCX_OPS_TID_TO_TASK | (FLAGS),                                                       \
		.timeout_ms = 30000, .name = "layland",                                                       \
	}

SEC(".struct_ops.link")
struct sched_ext_ops layland = OPERATIONS(SCX_OPS_ALWAYS_ENQ_IMMED);
SEC(".struct_ops.link")
struct sched_ext_ops layland_rt = OPERATIONS(0);
