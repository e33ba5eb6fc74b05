//! Random systems for optimal policies. The sum of their rates, as rounded by the policies, is
//! exactly or nearly the number of CPUs.

use layland_gen::Random;
use layland_model::{
    Behaviour, Duration, ExecutionModel, Rate, Separation, Service, System, Task, Time,
};

/// A system, and the end of its simulation.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The system.
    pub system: System,
    /// A hyperperiod, or a few periods.
    pub until: Time,
}

/// The periods of a set are from one of these lists, whose least common multiples are small.
const PERIODS: [&[i64]; 7] = [
    &[1, 2, 3, 4, 5, 6],
    &[1, 2, 4, 8, 16, 32, 64],
    &[2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60],
    &[3, 4, 6, 8, 9, 12, 18, 24, 36, 72],
    &[4, 5, 8, 10, 12, 15, 20, 24, 30, 40, 60, 120],
    &[20, 40],
    &[7],
];

const DENOMINATORS: [i64; 8] = [10, 12, 20, 35, 60, 100, 997, 1000];

/// Draws rates over a denominator whose sum is the number of CPUs.
fn full_rates(random: &mut Random, cpus: i64, denominator: &mut i64) -> Vec<i64> {
    let shape = random.below(7);
    if shape == 0 {
        // Equal rates.
        *denominator = random.between(cpus + 1, 3 * cpus + 1);
        return vec![cpus; *denominator as usize];
    }
    let share = |permille: i64| (permille * *denominator / 1000).clamp(1, *denominator);
    let mut left = cpus * *denominator;
    let mut rates = Vec::new();
    while left > 0 {
        let (low, high) = match shape {
            1 => (500, 900),
            2 => (100, 500),
            3 => (20, 250),
            4 => (0, 1000),
            5 => (900, 999),
            _ if random.below(2) == 0 => (20, 200),
            _ => (600, 950),
        };
        let rate = random.between(share(low), share(high)).min(left);
        rates.push(rate);
        left -= rate;
    }
    random.shuffle(&mut rates);
    rates
}

fn lcm(periods: impl Iterator<Item = i64>) -> i64 {
    periods.fold(1, num_integer::lcm)
}

/// Draws tasks that fully use 2 to 16 CPUs. Returns them with the denominator of their rates, which
/// divides every period, and the hyperperiod.
fn full(random: &mut Random) -> (System, i64, i64) {
    let denominator = DENOMINATORS[random.below(DENOMINATORS.len() as u64) as usize];
    full_of(random, denominator)
}

fn full_of(random: &mut Random, mut denominator: i64) -> (System, i64, i64) {
    let cpus = random.between(2, 16);
    let rates = full_rates(random, cpus, &mut denominator);
    let periods = PERIODS[random.below(PERIODS.len() as u64) as usize];
    let tasks: Vec<Task> = rates
        .iter()
        .enumerate()
        .map(|(index, &rate)| {
            let period = periods[random.below(periods.len() as u64) as usize];
            let wcet = Service::from_ns(rate * period);
            Task::implicit(format!("t{index}"), wcet, Duration::from_ns(period * denominator))
        })
        .collect();
    let hyperperiod = lcm(tasks.iter().map(|task| task.period.ns()));
    (System::new(cpus as usize, tasks), denominator, hyperperiod)
}

/// Draws periodic tasks at full load. Of ten sets, seven use every nanosecond; in one the WCETs are
/// slightly shorter, by as much as rounding up the rates compensates; in one tasks have offsets;
/// and in one jobs end early.
pub fn periodic(random: &mut Random) -> Drawn {
    let (mut system, unit, hyperperiod) = full(random);
    let mut until = hyperperiod;
    match random.below(10) {
        0 => {
            let common =
                system.tasks.values().fold(0, |g, task| num_integer::gcd(g, task.period.ns()));
            for task in system.tasks.values_mut() {
                let less = random.below((task.period.ns() / common) as u64) as i64;
                task.wcet = vec![Service::from_ns((task.wcet[0].ns() - less).max(1))].into();
            }
        }
        1 => {
            for task in system.tasks.values_mut() {
                let units = task.period.ns() / unit;
                task.offset = Duration::from_ns(unit * random.between(0, 2 * units));
            }
            let last = system.tasks.values().map(|task| task.offset.ns()).max().unwrap_or(0);
            until = last + hyperperiod.max(1);
        }
        2 => early(random, &mut system),
        _ => {}
    }
    Drawn { system, until: Time::from_ns(until) }
}

/// Lets some jobs need less than their WCETs.
fn early(random: &mut Random, system: &mut System) {
    for task in system.tasks.values_mut() {
        let max = task.wcet[0];
        if random.below(2) == 0 {
            let min = Service::from_ns(random.between(1, max.ns()));
            task.execution = ExecutionModel::Uniform { min, max };
        }
    }
}

/// Draws sporadic tasks at full load, some of whose jobs end early. In two of three sets the
/// releases are at multiples of the unit, for which no rate is rounded; in the others they are at
/// arbitrary times.
pub fn sporadic(random: &mut Random) -> Drawn {
    let (mut system, unit, hyperperiod) = full(random);
    let longest = system.tasks.values().map(|task| task.period.ns()).max().unwrap_or(1);
    if random.below(3) < 2 {
        let until = hyperperiod.max(6 * longest);
        for task in system.tasks.values_mut() {
            let units = task.period.ns() / unit;
            let mut at = unit * random.between(0, units);
            let mut times = Vec::new();
            while at < until && times.len() < 400 {
                times.push(Time::from_ns(at));
                let late = if random.below(2) == 0 { 0 } else { random.between(0, units) };
                at += task.period.ns() + unit * late;
            }
            task.behaviour = Behaviour::Explicit(times);
        }
        early(random, &mut system);
        return Drawn { system, until: Time::from_ns(until) };
    }
    // On a grid of one microsecond, the window of every job is its period rounded down to the grid,
    // minus one unit. The rate is the one to which the WCET is rounded up.
    const Q: i64 = 1_000;
    let mut until = 0;
    for task in system.tasks.values_mut() {
        let (wcet, old) = (task.wcet[0].ns(), task.period.ns());
        let period = Q * (10 * old / unit + 1) + random.between(0, Q - 1);
        let window = (period / Q - 1) * Q;
        let numerator = wcet * Q / old;
        let wcet = (numerator * (window / Q)).max(1);
        (task.wcet, task.period) = (vec![Service::from_ns(wcet)].into(), Duration::from_ns(period));
        task.deadline = task.period;
        task.offset = Duration::from_ns(random.between(0, period));
        let max = Duration::from_ns(random.between(0, period));
        task.behaviour = Behaviour::Sporadic(Separation::Uniform { max });
        until = until.max(10 * period);
    }
    early(random, &mut system);
    Drawn { system, until: Time::from_ns(until) }
}

/// Draws tasks at full load with times of a few units each. In one of four sets tasks have offsets,
/// and in one jobs end early. Sporadic jobs may be released later than possible, and may end early
/// as well.
pub fn in_slots(random: &mut Random, sporadic: bool) -> Drawn {
    const SMALL: [i64; 6] = [4, 5, 6, 7, 10, 12];
    let denominator = SMALL[random.below(SMALL.len() as u64) as usize];
    let (mut system, _, hyperperiod) = full_of(random, denominator);
    let mut until = hyperperiod.min(2_000);
    if sporadic {
        until = 300;
        for task in system.tasks.values_mut() {
            let mut at = random.between(0, task.period.ns());
            let mut times = Vec::new();
            while at < until {
                times.push(Time::from_ns(at));
                let late =
                    if random.below(2) == 0 { 0 } else { random.between(0, task.period.ns()) };
                at += task.period.ns() + late;
            }
            task.behaviour = Behaviour::Explicit(times);
        }
        early(random, &mut system);
    } else {
        match random.below(4) {
            0 => {
                for task in system.tasks.values_mut() {
                    task.offset = Duration::from_ns(random.between(0, 2 * task.period.ns()));
                }
            }
            1 => early(random, &mut system),
            _ => {}
        }
    }
    Drawn { system, until: Time::from_ns(until) }
}

/// Returns true if all tasks are periodic from 0 on and use their WCETs.
pub fn is_synchronous(system: &System) -> bool {
    system.tasks.values().all(|task| {
        task.behaviour == Behaviour::Periodic
            && task.offset == Duration::ZERO
            && task.execution == ExecutionModel::Wcet
    })
}

/// Returns true if the CPUs are never idle in a hyperperiod of a schedule that misses no deadline.
pub fn is_full(system: &System) -> bool {
    let cpus = Rate::whole(system.platform.cpu_count() as i64);
    is_synchronous(system) && system.tasks.values().map(Task::utilization).sum::<Rate>() == cpus
}
