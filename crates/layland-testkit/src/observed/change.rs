//! The features of runs: each changes a run of periodic threads in one way.

use super::Feature::{self, *};
use super::kernel::{Act, Activation, Lent, ObservedThread};
use super::{BurstModel, Draw, MS, RunPlan, US};

/// Changes a run so that it has a feature.
pub(super) fn change(feature: Feature, plan: &mut RunPlan, draw: &mut Draw) {
    let until = plan.until;
    let chosen = draw.below(plan.threads.len() as i64) as usize;
    let period = gap(&plan.threads[chosen]);
    match feature {
        Offsets | Global | Pinned | Deadline | CpuSet | ShortPinned | Mixed => {}
        Jitter => each(plan, |thread, own| {
            let most = own / 100 * draw.between(5, 40);
            thread.activations.iter_mut().for_each(|job| job.at += draw.us(0, most));
        }),
        SmallJitter => each(plan, |thread, own| {
            thread.activations.iter_mut().for_each(|job| job.at += draw.us(0, own / 100));
        }),
        Rounding => each(plan, |thread, own| {
            let shorter = own / 1_000 * draw.between(1, 12);
            let less = |(k, job): (usize, &mut Activation)| job.at -= k as i64 * shorter / US * US;
            thread.activations.iter_mut().enumerate().for_each(less);
        }),
        Sporadic => each(plan, |thread, own| {
            let mut more = 0;
            for job in &mut thread.activations {
                job.at += more;
                more += draw.us(0, own);
            }
        }),
        Bursts => add_bursts(plan, chosen, draw),
        Bursty => draw_bursty(plan, chosen, draw),
        Varying => each(plan, |thread, _| {
            for job in &mut thread.activations {
                stretch(job, |length| draw.us(length / 3, length));
            }
        }),
        CutStart => plan.from = draw.us(US, until / 3),
        Ordinary => add_ordinary(plan, draw),
        Overrun => {
            let jobs = &mut plan.threads[chosen].activations;
            let at = draw.below(jobs.len() as i64) as usize;
            let times = draw.between(12, 25);
            stretch(&mut jobs[at], |length| (length * times / 10).max(period * times / 10));
        }
        Double | RareBurst => add_double(feature, plan, chosen, draw),
        Late => {
            let jobs = &mut plan.threads[chosen].activations;
            let at = draw.below(jobs.len() as i64) as usize;
            jobs[at].at += draw.us(period / 5, period - US);
        }
        Drift => {
            let mut later = 0;
            for job in &mut plan.threads[chosen].activations {
                job.at += later;
                later += draw.us(0, period / 20);
            }
        }
        Suspension | Disk => pause(feature, plan, chosen, draw),
        Latency => plan.latency = draw.us(5 * US, 300 * US),
        Interrupts | Migration => add_interrupts(feature, plan, draw),
        FewJobs => add_rare(plan, draw),
        Born | Dies | LongFirst => limit_life(feature, plan, chosen, draw),
        Pending => {
            let thread = &mut plan.threads[chosen];
            if let Some(job) = thread.activations.last_mut() {
                stretch(job, |length| length + 40 * MS);
            }
        }
        ClassChange | PriorityChange | Inheritance => lend(feature, plan, chosen, draw),
        FairServer => add_fair(plan, draw),
        Constrained => each(plan, |thread, own| {
            if let Some([runtime, deadline, _]) = &mut thread.server {
                *deadline = (own / 4 * draw.between(1, 3)).max(*runtime);
            }
        }),
        Throttled => {
            let thread = &mut plan.threads[chosen];
            if let Some([runtime, ..]) = &mut thread.server {
                *runtime = (*runtime / 10 * draw.between(5, 9)).max(10 * US);
            }
        }
    }
}

/// Replaces each job by a few short ones.
fn add_bursts(plan: &mut RunPlan, chosen: usize, draw: &mut Draw) {
    let period = gap(&plan.threads[chosen]);
    let thread = &mut plan.threads[chosen];
    let count = draw.between(2, 3);
    thread.activations.iter_mut().for_each(|job| stretch(job, |length| length / count));
    let more = thread.activations.clone();
    for job in more {
        for k in 1..count {
            let at = job.at + k * draw.us(0, period / 10);
            thread.activations.push(Activation { at, acts: job.acts.clone() });
        }
    }
}

/// Gives a thread arrivals of a model of bursts.
fn draw_bursty(plan: &mut RunPlan, chosen: usize, draw: &mut Draw) {
    let until = plan.until;
    let period = gap(&plan.threads[chosen]);
    let model = BurstModel::ALL[draw.below(BurstModel::ALL.len() as i64) as usize];
    let thread = &mut plan.threads[chosen];
    let (mut at, seed) = (draw.us(0, period), draw.below(i64::MAX) as u64);
    let gaps = model.gaps(thread.activations.len(), period, seed);
    for (job, gap) in thread.activations.iter_mut().zip(gaps) {
        job.at = at;
        stretch(job, |length| length / 4);
        at += (gap / US * US).max(US);
    }
    thread.activations.retain(|job| job.at < until);
}

/// Adds threads of the ordinary class.
fn add_ordinary(plan: &mut RunPlan, draw: &mut Draw) {
    let until = plan.until;
    for (number, name) in ["kworker/0:1", "web"].into_iter().enumerate() {
        let mut at = 0;
        let mut activations = Vec::new();
        while at < until {
            activations.push(Activation { at, acts: vec![Act::Run(draw.us(US, 2 * MS))] });
            at += draw.us(MS, 9 * MS);
        }
        let cpus = (0..plan.cpus).collect();
        let pid = 900 + number as u32;
        let name = name.to_owned();
        plan.threads.push(ObservedThread {
            name,
            pid,
            priority: 120,
            cpus,
            activations,
            ..ObservedThread::default()
        });
    }
}

/// Adds one job or a few soon after another.
fn add_double(feature: Feature, plan: &mut RunPlan, chosen: usize, draw: &mut Draw) {
    let period = gap(&plan.threads[chosen]);
    let jobs = &mut plan.threads[chosen].activations;
    let count = if feature == Double { 1 } else { draw.between(3, 8) };
    let at = draw.below(jobs.len() as i64) as usize;
    for _ in 0..count {
        let job = Activation { at: jobs[at].at + draw.us(0, period / 2), ..jobs[at].clone() };
        jobs.push(job);
    }
}

/// Makes each job suspend itself, or wait for a disk.
fn pause(feature: Feature, plan: &mut RunPlan, chosen: usize, draw: &mut Draw) {
    let period = gap(&plan.threads[chosen]);
    let long = draw.us(10 * US, period / 5);
    let varies = draw.below(3) == 0;
    for job in &mut plan.threads[chosen].activations {
        let Some(&Act::Run(length)) = job.acts.first() else { continue };
        let first = (length / 5 * draw.between(1, 4)).max(US);
        let pause = if varies { draw.us(5 * US, long) } else { long };
        let pause = if feature == Disk { Act::Block(pause) } else { Act::Sleep(pause) };
        job.acts = vec![Act::Run(first), pause, Act::Run((length - first).max(US))];
    }
}

/// Adds a thread for interrupts or for migrations.
fn add_interrupts(feature: Feature, plan: &mut RunPlan, draw: &mut Draw) {
    let until = plan.until;
    let is_interrupt = feature == Interrupts;
    let own = if is_interrupt { draw.one_of(&[3, 7, 10]) * MS } else { 37 * MS };
    let wcet = if is_interrupt { draw.us(100 * US, own / 5) } else { draw.us(5 * US, 300 * US) };
    let offset = draw.us(0, own);
    let at = (0..).map(|k| offset + k * own).take_while(|&at| at < until);
    let activations = at.map(|at| Activation { at, acts: vec![Act::Run(wcet)] }).collect();
    let (name, priority) = if is_interrupt { ("irq/24-eth0", 25) } else { ("migration/0", 0) };
    let (name, cpus) = (name.to_owned(), vec![0]);
    plan.threads.push(ObservedThread {
        name,
        pid: 20,
        priority,
        cpus,
        activations,
        ..ObservedThread::default()
    });
}

/// Adds a thread with one or two jobs.
fn add_rare(plan: &mut RunPlan, draw: &mut Draw) {
    let until = plan.until;
    let activations = (0..draw.between(1, 2))
        .map(|_| Activation { at: draw.us(0, until), acts: vec![Act::Run(draw.us(MS, 12 * MS))] });
    let (name, activations) = ("rare".to_owned(), activations.collect());
    let cpus = (0..plan.cpus).collect();
    plan.threads.push(ObservedThread {
        name,
        pid: 700,
        priority: 9,
        cpus,
        activations,
        ..ObservedThread::default()
    });
}

/// Lets a thread begin or end during the trace, or makes its first job long.
fn limit_life(feature: Feature, plan: &mut RunPlan, chosen: usize, draw: &mut Draw) {
    let until = plan.until;
    let period = gap(&plan.threads[chosen]);
    let long = draw.us(2 * MS, 15 * MS);
    let thread = &mut plan.threads[chosen];
    let begin = draw.us(0, until / 2);
    match feature {
        Born => {
            thread.is_born = true;
            thread.activations.retain(|job| job.at >= begin);
        }
        Dies => {
            thread.dies = true;
            thread.activations.retain(|job| job.at < begin.max(4 * period));
        }
        _ => {}
    }
    let job = match feature {
        Dies => thread.activations.last_mut(),
        _ => thread.activations.first_mut(),
    };
    job.into_iter().for_each(|job| stretch(job, |length| length + long));
    if feature == LongFirst {
        plan.from = plan.threads[chosen].activations.first().map_or(0, |job| job.at + 10 * US);
    }
}

/// Gives a thread another class or priority for a time.
fn lend(feature: Feature, plan: &mut RunPlan, chosen: usize, draw: &mut Draw) {
    let until = plan.until;
    let all = plan.threads.len();
    let (from, length) = (draw.us(0, until / 2), draw.us(5 * MS, until / 3));
    let change = match feature {
        ClassChange => Lent { from, to: from + length, priority: 9, shown: 9 },
        _ => Lent { from, to: from + length / 2, priority: 29, shown: 29 },
    };
    let which = if feature == ClassChange { chosen } else { all - 1 };
    let thread = &mut plan.threads[which];
    if feature == ClassChange {
        thread.priority = 120;
    }
    thread.lent.push(change);
}

/// Adds an ordinary thread that a server of the kernel runs for a time.
fn add_fair(plan: &mut RunPlan, draw: &mut Draw) {
    let until = plan.until;
    let activations = (0..until / (10 * MS))
        .map(|k| Activation { at: k * 10 * MS, acts: vec![Act::Run(draw.us(MS, 4 * MS))] });
    let activations = activations.collect();
    let from = draw.us(0, until / 2);
    let lent = Lent { from, to: from + 30 * MS, priority: -2, shown: 120 };
    let (name, lent) = ("batch".to_owned(), vec![lent]);
    let cpus = (0..plan.cpus).collect();
    plan.threads.push(ObservedThread {
        name,
        pid: 800,
        priority: 120,
        cpus,
        activations,
        lent,
        ..ObservedThread::default()
    });
}

/// Changes the execution time of a job.
fn stretch(activation: &mut Activation, change: impl FnOnce(i64) -> i64) {
    let first = activation.acts.iter_mut().find_map(|act| match act {
        Act::Run(length) => Some(length),
        Act::Sleep(_) | Act::Block(_) => None,
    });
    if let Some(length) = first {
        *length = change(*length).max(US);
    }
}

/// Changes each thread, given its period.
fn each(plan: &mut RunPlan, mut change: impl FnMut(&mut ObservedThread, i64)) {
    for thread in &mut plan.threads {
        let own = gap(thread);
        change(thread, own);
    }
}

/// Returns the time between the first two jobs of a thread.
fn gap(thread: &ObservedThread) -> i64 {
    match thread.activations.as_slice() {
        [first, second, ..] => (second.at - first.at).max(US),
        [] | [_] => 10 * MS,
    }
}
