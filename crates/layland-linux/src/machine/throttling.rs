//! The processor time that the kernel withholds from real-time threads, for other threads.
//!
//! | kernel | mechanism |
//! |---|---|
//! | before 6.12, or with `RT_GROUP_SCHED` | *throttling*: once the real-time threads of a CPU have used `sched_rt_runtime_us` within `sched_rt_period_us`, they are stopped for the rest of the period |
//! | since 6.12 | the *fair server*: ordinary threads that wait for a CPU get 50 ms of every second of it, at any priority of the real-time threads |

use super::limit::Limit;
use layland_model::{CpuId, Duration, Group, Rate, RateSum, ScheduleRule, System, TaskId};
use std::fs;

/// The limit of real-time threads on each CPU, in each period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttling {
    /// The processor time that they may use.
    pub runtime: Duration,
    /// The period of the limit.
    pub period: Duration,
    /// True if the limit applies only while ordinary threads wait.
    pub is_fair_server: bool,
}

/// The processor time that the manager uses for a job on the CPU that it shares: a release and an
/// end, each about 20 us from the expiry of the timer to the first instruction of the next thread.
const MANAGER_PER_JOB: Duration = Duration::from_us(40);

impl Throttling {
    /// Reads the limits of this kernel; empty if there are none, or if they are unknown.
    pub fn of_machine() -> Vec<Throttling> {
        let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<i64>().ok();
        let Limit { runtime_us, period_us } = Limit::get();
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let fair = number("/sys/kernel/debug/sched/fair_server/cpu0/runtime");
        // The file exists only in kernels with `RT_GROUP_SCHED`.
        let group = number("/sys/fs/cgroup/cpu/cpu.rt_runtime_us");
        Throttling::of(&release, runtime_us.zip(period_us), group.is_some(), fair)
    }

    /// Returns the limits of the control groups of a process, each with its file: of its own group
    /// and of all above it. Only kernels with `RT_GROUP_SCHED` have such files, and only in version
    /// 1.
    pub fn of_groups(process: i32) -> Vec<(String, Throttling)> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        of_groups(&read("/proc/self/mounts"), &read(&format!("/proc/{process}/cgroup")), |path| {
            fs::read_to_string(path).ok()?.trim().parse().ok()
        })
    }

    /// Computes the limits of a kernel of this release with these settings: microseconds, and
    /// nanoseconds of the fair server in every second.
    fn of(
        release: &str,
        runtime: Option<(i64, i64)>,
        has_groups: bool,
        fair_ns: Option<i64>,
    ) -> Vec<Throttling> {
        let mut numbers = release.split(['.', '-']).map_while(|word| word.parse::<u32>().ok());
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let has_server = version >= (6, 12);
        let mut found = Vec::new();
        if let Some((runtime, period)) = runtime
            // A runtime of -1 means that there is no limit.
            && (0..period).contains(&runtime)
            && (!has_server || has_groups)
        {
            let (runtime, period) = (Duration::from_us(runtime), Duration::from_us(period));
            found.push(Throttling { runtime, period, is_fair_server: false });
        }
        let fair = Duration::from_ns(fair_ns.unwrap_or(50_000_000));
        if has_server && fair > Duration::ZERO {
            let period = Duration::from_secs(1);
            found.push(Throttling { runtime: period - fair, period, is_fair_server: true });
        }
        found
    }

    /// Returns the time for which real-time threads are stopped.
    pub fn gap(&self) -> Duration {
        self.period - self.runtime
    }

    fn share(&self) -> Rate {
        Rate::new(self.runtime.ns(), self.period.ns())
    }
}

impl std::fmt::Display for Throttling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Throttling { runtime, period, .. } = self;
        if self.is_fair_server {
            let gap = self.gap();
            write!(
                f,
                "the fair server of the kernel, which gives {gap} of every {period} to ordinary threads"
            )
        } else {
            write!(f, "the kernel's real-time throttling, {runtime} of every {period}")
        }
    }
}

/// See [`Throttling::of_groups`].
fn of_groups(
    mounts: &str,
    groups: &str,
    number: impl Fn(&str) -> Option<i64>,
) -> Vec<(String, Throttling)> {
    let has_cpu = |list: &str| list.split(',').any(|name| name == "cpu");
    let place = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (path, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup" && has_cpu(options)).then_some(path)
    });
    let own = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        has_cpu(controllers).then_some(path)
    });
    let (Some(place), Some(own)) = (place, own) else { return Vec::new() };
    let mut found = Vec::new();
    let mut group = own.trim_end_matches('/');
    loop {
        let file = format!("{place}{group}/cpu.rt_runtime_us");
        let period = number(&format!("{place}{group}/cpu.rt_period_us"));
        // Without a limit, the value is -1.
        if let (Some(runtime @ 0..), Some(period)) = (number(&file), period) {
            let (runtime, period) = (Duration::from_us(runtime), Duration::from_us(period));
            if runtime < period {
                found.push((file, Throttling { runtime, period, is_fair_server: false }));
            }
        }
        match group.rsplit_once('/') {
            Some((above, _)) => group = above,
            None => return found,
        }
    }
}

/// Returns the groups of CPUs with known tasks; if there are none, all CPUs with all tasks.
fn groups(system: &System, rule: &ScheduleRule) -> Vec<Group> {
    let all = || Group { cpus: system.platform.all_cpus(), tasks: system.tasks.ids().collect() };
    rule.groups().map_or_else(|| vec![all()], <[Group]>::to_vec)
}

/// Predicts problems of a run, as messages: CPUs that will be busy for more of their time than the
/// kernel allows real-time threads. `manager` is the CPU of the platform that the manager shares,
/// if any.
pub fn foresee(
    system: &System,
    rule: &ScheduleRule,
    manager: Option<CpuId>,
    throttling: &[Throttling],
) -> Vec<String> {
    // A limit that always applies precedes one that depends on ordinary threads.
    let Some(strictest) = throttling.iter().min_by_key(|one| (one.is_fair_server, one.runtime))
    else {
        return Vec::new();
    };
    let rate = |task: TaskId| {
        let task = &system.tasks[task];
        (Rate::new(task.own_wcet().ns(), task.period.ns()), task.period)
    };
    let mut found = Vec::new();
    for group in groups(system, rule) {
        let mut sum = RateSum::default();
        group.tasks.iter().for_each(|&task| sum.add(&rate(task).0));
        let mut own = RateSum::default();
        if manager.is_some_and(|manager| group.cpus.contains(manager)) {
            for &task in &group.tasks {
                own.add(&Rate::new(MANAGER_PER_JOB.ns(), rate(task).1.ns()));
            }
        }
        let cpus = group.cpus.len() as i64;
        let load = &(&sum.exact() + &own.exact()) * &Rate::new(1, cpus.max(1));
        if load <= strictest.share() {
            continue;
        }
        let (load, share) = (load.to_f64(), strictest.share().to_f64());
        let many = if cpus == 1 { "CPU" } else { "CPUs" };
        let with = if own.exact() > Rate::ZERO { " with the manager" } else { "" };
        let condition = if strictest.is_fair_server { ", where ordinary threads wait" } else { "" };
        found.push(format!(
            "{many} {} will be busy for {load:.3} of the time{with}, and the kernel lets real-time threads have \
             {share:.3} of it{condition}: expect pauses of {} and missed deadlines",
            group.cpus,
            strictest.gap(),
        ));
    }
    found
}

/// Returns advice about the predicted problems.
pub fn way_out(throttling: &[Throttling]) -> &'static str {
    if throttling.iter().any(|one| !one.is_fair_server) {
        "give it less to do, or as root, for the time of the run: sysctl kernel.sched_rt_runtime_us=-1"
    } else {
        "give it less to do, keep ordinary threads from these CPUs, or as root: echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime"
    }
}

/// Returns the limit, if any, that explains a pause of this length, given how busy a CPU was before
/// it.
pub(crate) fn cause(
    throttling: &[Throttling],
    pause: Duration,
    busiest: impl Fn(Duration) -> Duration,
) -> Option<Throttling> {
    throttling.iter().copied().find(|one| {
        let gap = one.gap();
        // The CPU is stopped for the gap, and continues at the next tick of the kernel. Only a CPU
        // that has used nearly all of its allowance is stopped.
        (gap * 4..=gap * 6 + Duration::from_ms(20) * 5).contains(&(pause * 5))
            && busiest(one.period) + Duration::from_ns(one.period.ns() / 50) >= one.runtime
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{CpuSet, JobOrder, Service, Task};

    #[test]
    fn kernels_keep_different_things() {
        let of = |release, runtime, groups, fair| -> Vec<(i64, bool)> {
            let found = Throttling::of(release, runtime, groups, fair);
            found.iter().map(|one| (one.gap().ns() / 1_000_000, one.is_fair_server)).collect()
        };
        let usual = Some((950_000, 1_000_000));
        assert_eq!(of("6.1.0-18-amd64", usual, false, None), [(50, false)]);
        assert_eq!(of("6.12.107", usual, false, None), [(50, true)]);
        assert_eq!(of("6.18.44-fc", usual, true, None), [(50, false), (50, true)]);
        assert_eq!(of("6.18.44-fc", usual, true, Some(0)), [(50, false)]);
        assert_eq!(of("7.2.13-rt", Some((1_000_000, 1_000_000)), true, Some(0)), []);
        assert_eq!(of("6.1.0", Some((-1, 1_000_000)), false, None), []);
    }

    #[test]
    fn a_group_has_its_own_limit_and_those_above_it() {
        let mounts =
            "proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n";
        let groups = "9:name=systemd:/a\n2:cpu,cpuacct:/robot/arm\n0::/\n";
        let number = |path: &str| {
            let own = path.strip_prefix("/sys/fs/cgroup/cpu,cpuacct")?;
            match own {
                "/robot/arm/cpu.rt_runtime_us" => Some(300_000),
                "/robot/cpu.rt_runtime_us" => Some(-1),
                "/cpu.rt_runtime_us" => Some(950_000),
                _ => own.ends_with("cpu.rt_period_us").then_some(1_000_000),
            }
        };
        let of = |groups| -> Vec<(String, i64)> {
            let found = of_groups(mounts, groups, number).into_iter();
            found.map(|(file, limit)| (file, limit.runtime.ns() / 1_000_000)).collect()
        };
        let root = ("/sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us".to_owned(), 950);
        let arm = ("/sys/fs/cgroup/cpu,cpuacct/robot/arm/cpu.rt_runtime_us".to_owned(), 300);
        assert_eq!(of(groups), [arm, root.clone()]);
        assert_eq!(of("2:cpu,cpuacct:/\n"), [root]);
        assert_eq!(of("0::/user.slice\n"), []);
    }

    fn system() -> (System, ScheduleRule) {
        let task = |name, wcet, period| {
            Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
        };
        let system = System::new(2, vec![task("a", 94, 100), task("b", 50, 100)]);
        let group = |cpu: u32| Group {
            cpus: [CpuId(cpu)].into_iter().collect::<CpuSet>(),
            tasks: vec![TaskId(cpu)],
        };
        let groups = vec![group(0), group(1)];
        (system, ScheduleRule::highest_first(groups, JobOrder::Deadline))
    }

    #[test]
    fn a_cpu_that_is_too_busy_is_foreseen() {
        let (system, rule) = system();
        let throttling = Throttling::of("6.1", Some((950_000, 1_000_000)), false, None);
        assert_eq!(foresee(&system, &rule, None, &throttling), Vec::<String>::new());
        let tight = Throttling::of("6.1", Some((940_000, 1_000_000)), false, None);
        assert_eq!(foresee(&system, &rule, None, &tight), Vec::<String>::new(), "just as much");
        // With the manager, the load is 0.9404.
        let said = foresee(&system, &rule, Some(CpuId(0)), &tight);
        assert_eq!(
            said,
            [
                "CPU 0 will be busy for 0.940 of the time with the manager, and the kernel lets real-time threads \
              have 0.940 of it: expect pauses of 60ms and missed deadlines"
            ]
        );
        assert_eq!(foresee(&system, &rule, Some(CpuId(1)), &tight), Vec::<String>::new());
        assert_eq!(foresee(&system, &ScheduleRule::None, None, &tight), Vec::<String>::new());
    }

    #[test]
    fn a_pause_of_the_gap_on_a_busy_cpu_is_throttling() {
        let throttling = Throttling::of("6.1", Some((950_000, 1_000_000)), false, None);
        let of = |pause, busy| {
            cause(&throttling, Duration::from_ms(pause), |_| Duration::from_ms(busy)).is_some()
        };
        assert!(of(50, 950) && of(54, 940) && of(42, 949));
        assert!(!of(50, 600) && !of(8, 950) && !of(822, 950));
    }
}
