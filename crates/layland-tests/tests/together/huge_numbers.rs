//! No number in a trace makes memory grow. Each number of small traces in every form is replaced by
//! huge ones, and the readers, and all uses of their results, must take no more memory than before.
#![cfg(target_os = "linux")]

use layland_checker::{Evidence, check_with};
use layland_interchange::infer::{Taking, Wanted, infer, of_trace};
use layland_interchange::kernel::{self, ReadOptions, Threads};
use layland_interchange::st_trace;
use layland_model::{Duration, ScheduleRule, Service, System, Task, Time};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::{Labels, Statistics, Trace, json};

/// The replacements of a number.
const HUGE: [&str; 5] =
    ["65535", "1000000000", "4294967295", "9223372036854775807", "18446744073709551615"];

/// The memory limit for all of these together, in KiB. A single number that is used as an index
/// takes a hundred times as much.
const MOST_KIB: u64 = 160 * 1024;

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.expect("the kernel tells the largest size")
}

fn system() -> System {
    let task = |name: &str, wcet, period| {
        Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
    };
    System::new(2, vec![task("a", 1, 5), task("b", 2, 10), task("c", 3, 10)])
}

/// Uses a trace in all ways that are possible once it is read.
fn use_trace(trace: &Trace, labels: &Labels, system: &System) {
    let mut statistics = Statistics::new(labels.tasks.len(), labels.cpus);
    trace.replay(&mut statistics);
    let _ = statistics.summary(labels);
    let evidence = Evidence::within(Duration::from_ns(1));
    let _ = check_with(trace, system, &ScheduleRule::None, 3, &evidence);
    let _ = infer(&of_trace(trace, labels), Wanted::RealTime, &Taking::default());
    let mut sink = std::io::sink();
    let _ = json::write_json(&mut sink, trace, labels, None);
}

fn use_kernel_text(text: &str, system: &System) {
    let all = |_: &str, _: u32| true;
    for threads in [Threads::Marked, Threads::Of(system), Threads::Where(&all)] {
        if let Ok(import) = kernel::read(text, &ReadOptions { threads, ..ReadOptions::default() }) {
            use_trace(&import.trace, &import.labels, system);
            let _ = kernel::write(&import.trace, &import.labels, import.origin_ns);
        }
    }
    if let Ok(seen) = kernel::observe(text) {
        let _ = infer(&seen, Wanted::RealTime, &Taking::default());
    }
}

/// Replaces each number of the text by each of the huge ones, one at a time, and passes the results
/// to `see`. Returns the number of results.
fn with_huge_numbers(text: &str, mut see: impl FnMut(&str)) -> usize {
    let mut count = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            for huge in HUGE {
                see(&format!("{}{huge}{}", &text[..at], &text[at + digits..]));
                count += 1;
            }
        }
        at += digits.max(1);
    }
    count
}

/// A few lines of each dialect, with a migration, marks, and a message about lost events.
const KERNEL: [&str; 4] = [
    "# entries-in-buffer/entries-written: 5/5   #P:2
<idle>-0 [001] d.h3. 5.000100: sched_waking: comm=a pid=7 prio=39 target_cpu=001
<idle>-0 [001] d..2. 5.000102: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R \
 ==> next_comm=a next_pid=7 next_prio=39
a-7 [001] d.s1. 5.000103: sched_migrate_task: comm=b pid=8 prio=49 orig_cpu=0 dest_cpu=1
a-7 [001] d..2. 5.001102: sched_switch: prev_comm=a prev_pid=7 prev_prio=39 prev_state=S \
 ==> next_comm=swapper/1 next_pid=0 next_prio=120
",
    "x-9 [000] ..... 5.000000: tracing_mark_write: layland: begin t=5000000000 cpus=0,1
x-9 [000] ..... 5.000010: tracing_mark_write: layland: decision cpu=1 run=a/0
a-7 [001] ..... 5.000010: tracing_mark_write: layland: release task=a job=0 t=5000000000 deadline=5005000000
x-9 [001] d..2. 5.000020: sched_switch: prev_comm=x prev_pid=9 prev_prio=39 prev_state=R \
 ==> next_comm=a next_pid=7 next_prio=39
a-7 [001] ..... 5.000900: tracing_mark_write: layland: overrun task=a job=0
a-7 [001] ..... 5.001000: tracing_mark_write: layland: complete task=a job=0
a-7 [001] d..2. 5.001010: sched_switch: prev_comm=a prev_pid=7 prev_prio=39 prev_state=S \
 ==> next_comm=x next_pid=9 next_prio=39
x-9 [000] ..... 5.002000: tracing_mark_write: layland: end t=5002000000
",
    "a 7 [001] 5.000102: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R \
 ==> next_comm=a next_pid=7 next_prio=39
a 7 [001] 5.001102: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=39 prev_state=S \
 ==> next_comm=swapper/1 next_pid=0 next_prio=120
",
    "a-7 [001] 5.000102: sched_switch: swapper/1:0 [120] R ==> a:7 [39]
a-7 [001] 5.001102: sched_switch: prev_comm=a prev_pid=7 prev_prio=39 prev_state=1 next_comm=b next_pid=8 next_prio=49
",
];

#[test]
fn no_number_in_a_trace_takes_memory() {
    let system = system();
    let before = peak_kib();
    let mut tried = 0;
    for text in KERNEL {
        tried += with_huge_numbers(text, |text| use_kernel_text(text, &system));
    }
    let policy = registry().build("g-edf", &system).expect("it takes every set");
    let mut trace = Trace::default();
    let until = SimOptions::until(Time::from_ms(10));
    let _ = simulate(&system, policy, &mut trace, &until).expect("it is short");
    let labels = Labels::of(&system);
    let mut bytes = Vec::new();
    json::write_json(&mut bytes, &trace, &labels, None).expect("memory is enough");
    let text = String::from_utf8(bytes).expect("JSON is text");
    tried += with_huge_numbers(&text, |text| {
        if let Ok((trace, labels)) = json::read_json(text.as_bytes()) {
            use_trace(&trace, &labels, &system);
        }
    });
    if let Ok(records) = st_trace::write(&trace, &labels) {
        for at in 0..records.len() {
            for byte in [0x7f, 0xff] {
                let mut changed = records.clone();
                let end = (at + 8).min(changed.len());
                changed[at..end].fill(byte);
                tried += 1;
                if let Ok((trace, labels)) = st_trace::read(&changed) {
                    use_trace(&trace, &labels, &system);
                }
            }
        }
    }
    assert!(tried > 1_000, "{tried}");
    let grown = peak_kib() - before;
    assert!(grown < MOST_KIB, "{tried} traces took {grown} KiB");
}
