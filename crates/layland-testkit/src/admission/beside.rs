//! Programs in the book of a machine, beside threads of others with known bounds.
//!
//! The claim: no job of an admitted task is later than promised, whatever the foreign threads do
//! within their bounds, and through all arrivals and departures of tasks. It is the theorem of
//! `layland_guarantee::admission` about threads of a higher class, and its rules about loads and
//! about the time that the kernel keeps.
//!
//! A [`Scene`] is drawn from one seed. Tasks ask the [`Book`] and leave, and a task that is refused
//! asks again with the runtime that would fit, so that CPUs are nearly full. A simulation in steps of
//! a microsecond, which shares no code with the analyses, runs each CPU by itself: the classes of the
//! kernel in their order, throttling, and the fair server with ordinary threads that always want the
//! CPU. A foreign thread of a higher class uses its budget early in its period, late in it, or at any
//! time. One of the same class wants it when its period begins, because the kernel gives a thread
//! that wakes up later a later deadline. Each CPU that a thread may use has a copy of it, because the
//! bounds are about one CPU.
//!
//! Long because a scene, its threads and the simulation of a CPU are here.

use crate::registry;
use layland_gen::Random;
use layland_guarantee::admission::{
    Book, Budgeted, Foreign, Guarantee, Kept, NotGranted, Outsider, Regime, Reservation,
    Suggestion, Terms, Watched,
};
use layland_model::{CpuId, CpuSet, Duration, Rate, Service, Time};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// The end of a simulation. All times are in microseconds.
const UNTIL: i64 = 400;
/// No task enters after this time.
const ENTRY: i64 = 240;
const OWNER: &str = "1";

/// The parameters of one simulation.
#[derive(Clone, Debug)]
struct Scene {
    regime: Regime,
    /// The CPUs of the region; all of the machine.
    cpus: CpuSet,
    foreign: Foreign,
    habits: Vec<Habit>,
    tasks: Vec<Program>,
    random: Random,
}

/// A task that asks to enter.
#[derive(Clone, Debug)]
struct Program {
    reservation: Reservation,
    enters: i64,
    leaves: i64,
    /// The longest additional time between two of its jobs.
    separation: i64,
}

/// The time at which a foreign thread uses its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    /// As soon as its period begins.
    Early,
    /// As late as its deadline allows.
    Late,
    /// Late in one period, and early in the next.
    InTurn,
    /// At random.
    Erratic,
}

/// The counts of one simulation, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenBeside {
    /// Requests to enter.
    pub asked: u64,
    /// Tasks that entered.
    pub entered: u64,
    /// Admitted tasks that left.
    pub left: u64,
    /// Jobs of admitted tasks that ended.
    pub jobs: u64,
    /// Jobs that ended exactly when they had to.
    pub tight: u64,
    /// The microseconds that foreign threads took.
    pub foreign: u64,
}

impl SeenBeside {
    fn plus(self, other: SeenBeside) -> SeenBeside {
        SeenBeside {
            asked: self.asked + other.asked,
            entered: self.entered + other.entered,
            left: self.left + other.left,
            jobs: self.jobs + other.jobs,
            tight: self.tight + other.tight,
            foreign: self.foreign + other.foreign,
        }
    }
}

/// A scene in which the claim does not hold.
#[derive(Clone, Debug)]
pub struct BrokenBeside {
    /// The regime.
    pub regime: Regime,
    /// The seed, which determines the whole scene.
    pub seed: u64,
    /// A description of the late job.
    pub how: String,
    /// The foreign threads, and the requests and answers before.
    pub story: Vec<String>,
}

/// Checks the claim in this number of scenes, with the seeds from `seed` on.
///
/// # Errors
/// The first scene, by its seed, in which the claim does not hold.
pub fn campaign_beside(
    regime: Regime,
    scenes: u64,
    seed: u64,
) -> Result<SeenBeside, Box<BrokenBeside>> {
    let seeds = (seed..seed.saturating_add(scenes)).into_par_iter();
    let found = seeds.map(|seed| check_beside(regime, seed));
    found.reduce(
        || Ok(SeenBeside::default()),
        |a, b| match (a, b) {
            (Ok(a), Ok(b)) => Ok(a.plus(b)),
            (Err(a), Err(b)) => Err(if a.seed <= b.seed { a } else { b }),
            (Err(broken), Ok(_)) | (Ok(_), Err(broken)) => Err(broken),
        },
    )
}

/// Checks the claim in one scene.
///
/// # Errors
/// If the claim does not hold.
pub fn check_beside(regime: Regime, seed: u64) -> Result<SeenBeside, Box<BrokenBeside>> {
    let scene = Scene::draw(regime, seed);
    let mut run = Run::of(&scene);
    match run.run_to_the_end() {
        Ok(()) => Ok(run.seen),
        Err(how) => Err(Box::new(BrokenBeside { regime, seed, how, story: run.story })),
    }
}

fn us(us: i64) -> Duration {
    Duration::from_us(us)
}

fn whole_us(time: Duration) -> i64 {
    time.ns() / 1000
}

impl Scene {
    /// Draws the scene of a seed.
    fn draw(regime: Regime, seed: u64) -> Scene {
        // A stream of random numbers that no task uses.
        let mut random = Random::of_task(seed, u64::MAX - 5);
        // The simulation is of CPUs by themselves, so that no task may use several.
        let is_global = matches!(
            regime,
            Regime::KernelDl | Regime::KernelDlSp | Regime::ExtDl | Regime::Apedf | Regime::A2pedf
        );
        let cpus = CpuSet::first(if is_global { 1 } else { 2 });
        let mut scene = Scene {
            regime,
            foreign: Foreign::default(),
            habits: Vec::new(),
            tasks: Vec::new(),
            cpus,
            random: random.clone(),
        };
        for at in 0..random.between(1, 2) {
            scene.budgeted(&mut random, at);
        }
        if !regime.has_budgets() {
            for at in 0..random.between(0, 2) {
                scene.watched(&mut random, at);
            }
        }
        if !regime.is_ext() {
            scene.kept(&mut random);
        }
        for at in 0..random.between(2, 9) {
            scene.task(&mut random, at);
        }
        scene.random = random;
        scene
    }

    fn outsider(&mut self, random: &mut Random, number: i64) -> Outsider {
        let is_of_same_class = self.regime.has_budgets() && !self.regime.is_ext();
        self.habits.push(match random.below(6) {
            _ if is_of_same_class => Habit::Early,
            0 => Habit::Early,
            1 => Habit::Late,
            2 => Habit::Erratic,
            _ => Habit::InTurn,
        });
        let cpus = match random.below(3) {
            0 => self.cpus.clone(),
            _ => CpuSet::single(CpuId(random.below(self.cpus.len() as u64) as u32)),
        };
        // Without a foreign thread on each CPU, a task could be granted several CPUs.
        let cpus = if self.regime == Regime::DlSp { self.cpus.clone() } else { cpus };
        let number = i32::try_from(number).unwrap_or(0);
        Outsider { number, started: 1, name: "other".to_owned(), cpus }
    }

    fn budgeted(&mut self, random: &mut Random, number: i64) {
        let thread = self.outsider(random, number);
        let runtime = random.between(1, 8);
        let period = random.between(3 * runtime, 120.max(3 * runtime));
        let deadline = if random.below(2) == 0 { period } else { random.between(runtime, period) };
        let (period, deadline) = (us(period), us(deadline));
        self.foreign.budgeted.push(Budgeted {
            thread,
            runtime: Service::from_us(runtime),
            deadline,
            period,
        });
    }

    fn watched(&mut self, random: &mut Random, number: i64) {
        let thread = self.outsider(random, 10 + number);
        let used = random.between(1, 12);
        let within = random.between(4 * used, 150.max(4 * used));
        let most = random.between(1, used);
        let between = random.between(most, within.min(30).max(most));
        let in_short = (random.below(2) == 0).then(|| (us(most), us(between)));
        let (used, within) = (us(used), us(within));
        let class = "SCHED_FIFO";
        self.foreign.watched.push(Watched { thread, class, priority: 95, used, within, in_short });
    }

    fn kept(&mut self, random: &mut Random) {
        if random.below(3) == 0 {
            let period = random.between(40, 200);
            let runtime = us(period * random.between(6, 10) / 10);
            let of = "sched_rt_runtime_us".to_owned();
            self.foreign.kept.push(Kept::Throttling { of, runtime, period: us(period) });
        }
        if random.below(3) == 0 {
            let period = random.between(40, 200);
            let runtime = us((period * random.between(1, 4) / 20).max(1));
            self.foreign.kept.push(Kept::FairServer { runtime, period: us(period) });
        }
    }

    fn task(&mut self, random: &mut Random, at: i64) {
        const PERIODS: [i64; 8] = [8, 10, 12, 20, 30, 45, 60, 110];
        let period = PERIODS[random.below(8) as usize];
        let deadline = if random.below(2) == 0 { period } else { random.between(4, period) };
        let runtime = random.between(1, deadline);
        let mut reservation =
            Reservation::implicit(format!("t{at}"), Service::from_us(runtime), us(period));
        reservation.deadline = us(deadline);
        reservation.priority = Some(random.between(1, 4));
        if random.below(6) == 0 {
            reservation.guarantee = Guarantee::Tardiness(us(random.between(1, 40)));
        }
        let enters = if at == 0 { 0 } else { random.between(0, ENTRY) };
        let leaves = match random.below(3) {
            0 => UNTIL + 1,
            _ => enters + random.between(1, 120),
        };
        let separation = if random.below(2) == 0 { 0 } else { random.between(1, period) };
        self.tasks.push(Program { reservation, enters, leaves, separation });
    }
}

/// A job of an admitted task.
struct SceneJob {
    name: String,
    due: i64,
    /// The latest end that was promised.
    by: i64,
    left: i64,
    /// The number of jobs of its CPU before it.
    at: u64,
}

/// A copy of a foreign thread on one CPU.
struct Visitor {
    habit: Habit,
    /// The budget of each period; the thread may use it within the first `window` of the period.
    budget: i64,
    window: i64,
    period: i64,
    /// The budget of each of the shorter periods that are counted from 0, and their length.
    in_short: Option<(i64, i64)>,
    is_throttled: bool,
    begins: i64,
    next: i64,
    left: i64,
    left_in_short: i64,
    /// The number of periods so far.
    periods: u64,
}

impl Visitor {
    fn of(scene: &Scene, cpu: CpuId, random: &mut Random) -> Vec<Visitor> {
        let mut visitors = Vec::new();
        let Foreign { budgeted, watched, .. } = &scene.foreign;
        let reserved = budgeted.iter().map(|one| {
            let window = one.deadline.min(one.period);
            let budget = whole_us(one.runtime.at_unit_speed());
            (&one.thread, budget, whole_us(window), whole_us(one.period), None, false)
        });
        let measured = watched.iter().map(|one| {
            let in_short = one.in_short.map(|(most, between)| (whole_us(most), whole_us(between)));
            let (used, within) = (whole_us(one.used), whole_us(one.within));
            (&one.thread, used, within, within, in_short, true)
        });
        for (all, &habit) in reserved.chain(measured).zip(&scene.habits) {
            let (thread, budget, window, period, in_short, is_throttled) = all;
            if !thread.cpus.contains(cpu) {
                continue;
            }
            let (begins, next) = (0, random.between(0, period));
            let (left, left_in_short, periods) = (0, 0, random.below(2));
            visitors.push(Visitor {
                habit,
                budget,
                window,
                period,
                in_short,
                is_throttled,
                begins,
                next,
                left,
                left_in_short,
                periods,
            });
        }
        visitors
    }

    /// Begins a period if one begins at this time.
    fn tick(&mut self, now: i64, random: &mut Random) {
        if now >= self.next {
            self.begins = now;
            self.left =
                if random.below(8) == 0 { random.between(0, self.budget) } else { self.budget };
            let gap = if random.below(6) == 0 { random.between(0, self.period) } else { 0 };
            // The periods of a measured use follow each other.
            self.next = now + self.period + if self.is_throttled { 0 } else { gap };
            self.periods += 1;
        }
        if let Some((most, between)) = self.in_short
            && now % between == 0
        {
            self.left_in_short = most;
        }
    }

    fn wants(&self, now: i64, random: &mut Random) -> bool {
        let until = self.begins + self.window;
        let is_late = until - now <= self.left;
        let may = self.left > 0 && now < until;
        let may = may && (self.in_short.is_none() || self.left_in_short > 0);
        may && match self.habit {
            Habit::Early => true,
            Habit::Late => is_late,
            Habit::InTurn => is_late || self.periods.is_multiple_of(2),
            Habit::Erratic => is_late || random.below(4) == 0,
        }
    }

    fn runs(&mut self) {
        self.left -= 1;
        self.left_in_short -= 1;
    }
}

/// Time that the kernel keeps on one CPU.
struct Keeper {
    /// True for the fair server, false for throttling.
    is_server: bool,
    runtime: i64,
    period: i64,
    begins: i64,
    used: i64,
}

impl Keeper {
    fn of(kept: &Kept, random: &mut Random) -> Keeper {
        let (is_server, runtime, period) = match kept {
            Kept::Throttling { runtime, period, .. } => (false, *runtime, *period),
            Kept::FairServer { runtime, period } => (true, *runtime, *period),
        };
        let (runtime, period) = (whole_us(runtime), whole_us(period));
        // A period may have begun before the simulation, and ordinary threads had the CPU then.
        let before = random.between(0, period - 1);
        let used = if is_server { before.min(runtime) } else { 0 };
        Keeper { is_server, runtime, period, begins: -before, used }
    }

    fn tick(&mut self, now: i64) {
        if now >= self.begins + self.period {
            (self.begins, self.used) = (now, 0);
        }
    }

    /// Returns true if ordinary threads must run now to have their time in this period.
    fn serves(&self, now: i64) -> bool {
        let left = self.runtime - self.used;
        self.is_server && left > 0 && self.begins + self.period - now <= left
    }

    fn stops(&self) -> bool {
        !self.is_server && self.used >= self.runtime
    }
}

/// The state of a CPU.
struct Cpu {
    id: CpuId,
    visitors: Vec<Visitor>,
    keepers: Vec<Keeper>,
    jobs: Vec<SceneJob>,
    count: u64,
}

/// The execution of a CPU in one step.
enum Step {
    Visitor(usize),
    Job(usize),
    /// Ordinary threads.
    Ordinary,
}

/// An admitted task.
struct Member {
    program: usize,
    reservation: Reservation,
    cpu: CpuId,
    next: i64,
}

struct Run<'a> {
    scene: &'a Scene,
    random: Random,
    book: Book,
    cpus: Vec<Cpu>,
    members: Vec<Member>,
    seen: SeenBeside,
    story: Vec<String>,
}

impl<'a> Run<'a> {
    fn of(scene: &'a Scene) -> Run<'a> {
        let mut random = scene.random.clone();
        let cpu = |id: CpuId| Cpu {
            id,
            visitors: Visitor::of(scene, id, &mut random),
            keepers: scene.foreign.kept.iter().map(|kept| Keeper::of(kept, &mut random)).collect(),
            jobs: Vec::new(),
            count: 0,
        };
        let cpus = scene.cpus.iter().map(cpu).collect();
        let story = vec![format!("{:?}, {:?}", scene.foreign, scene.habits)];
        let (members, seen) = (Vec::new(), SeenBeside::default());
        Run { scene, random, book: Book::default(), cpus, members, seen, story }
    }

    /// # Errors
    /// If a job is later than promised.
    fn run_to_the_end(&mut self) -> Result<(), String> {
        for now in 0..UNTIL {
            self.depart(now);
            for (at, program) in self.scene.tasks.iter().enumerate() {
                if program.enters == now {
                    self.ask(at, now)?;
                }
            }
            self.release(now);
            self.look_for_late_jobs(now)?;
            for at in 0..self.cpus.len() {
                self.step(at, now);
            }
        }
        self.look_for_late_jobs(UNTIL)
    }

    fn depart(&mut self, now: i64) {
        let tasks = &self.scene.tasks;
        let leaving = self.members.extract_if(.., |member| tasks[member.program].leaves <= now);
        for Member { reservation, .. } in leaving {
            let name = reservation.name;
            self.seen.left += 1;
            self.story.push(format!("{now}: {name} leaves"));
            self.book.leave(OWNER, Time::from_us(now), |own| own == name);
            for cpu in &mut self.cpus {
                cpu.jobs.retain(|job| job.name != name);
            }
        }
    }

    /// A task asks to enter, and once more with the runtime that would fit.
    fn ask(&mut self, program: usize, now: i64) -> Result<(), String> {
        let mut reservation = self.scene.tasks[program].reservation.clone();
        self.seen.asked += 1;
        let mut answer = self.admit(&reservation, now);
        if let Err(NotGranted::Refused(refused)) = &answer
            && let Some(&Suggestion::Runtime(fits)) = refused.suggestions.first()
        {
            reservation.runtime = fits;
            answer = self.admit(&reservation, now);
            if let Err(refused) = &answer {
                return Err(format!("at {now}, {fits} would fit, and does not: {refused}"));
            }
        }
        let Ok(cpus) = answer else { return Ok(()) };
        self.seen.entered += 1;
        let Some(cpu) = cpus.lowest().filter(|_| cpus.len() == 1) else {
            return Err(format!("{} was granted CPUs {cpus}", reservation.name));
        };
        self.members.push(Member { program, reservation, cpu, next: now });
        Ok(())
    }

    fn admit(&mut self, reservation: &Reservation, now: i64) -> Result<CpuSet, NotGranted> {
        let terms = Terms {
            registry: registry(),
            regime: self.scene.regime,
            online: &self.scene.cpus,
            limit: &Rate::ONE,
            cpus: Some(&self.scene.cpus),
            runs: &[],
            owner: OWNER,
            now: Time::from_us(now),
        };
        let answer = self.book.admit(&terms, &self.scene.foreign, reservation);
        let told = match &answer {
            Ok(granted) => format!("on CPU {}, {:?}", granted.cpus, granted.decided_by),
            Err(refused) => format!("refused: {refused}"),
        };
        let Reservation { name, runtime, deadline, period, priority, guarantee, .. } = reservation;
        self.story.push(format!(
            "{now}: {name}, {runtime} within {deadline} of every {period}, {priority:?}, {guarantee:?}: {told}"
        ));
        answer.map(|granted| granted.cpus)
    }

    fn release(&mut self, now: i64) {
        for member in self.members.iter_mut().filter(|member| member.next <= now) {
            let Program { separation, .. } = self.scene.tasks[member.program];
            let of = &member.reservation;
            let allowed = match of.guarantee {
                Guarantee::Deadlines => of.deadline,
                Guarantee::Tardiness(most) => of.deadline + most,
            };
            member.next = now + whole_us(of.period) + self.random.between(0, separation);
            let cpu = self.cpus.iter_mut().find(|cpu| cpu.id == member.cpu);
            let cpu = cpu.expect("the CPU is in the region");
            cpu.count += 1;
            cpu.jobs.push(SceneJob {
                name: of.name.clone(),
                due: now + whole_us(of.deadline),
                by: now + whole_us(allowed),
                left: whole_us(of.runtime.at_unit_speed()),
                at: cpu.count,
            });
        }
    }

    fn look_for_late_jobs(&self, now: i64) -> Result<(), String> {
        let late = self.cpus.iter().flat_map(|cpu| &cpu.jobs).find(|job| job.by <= now);
        late.map_or(Ok(()), |job| {
            Err(format!(
                "a job of {} had to end by {}, and needs {} more",
                job.name, job.by, job.left
            ))
        })
    }

    /// Executes one microsecond of a CPU.
    fn step(&mut self, at: usize, now: i64) {
        let Run { random, book, scene, cpus, seen, .. } = self;
        let cpu = &mut cpus[at];
        cpu.visitors.iter_mut().for_each(|visitor| visitor.tick(now, random));
        cpu.keepers.iter_mut().for_each(|keeper| keeper.tick(now));
        let step = cpu.choose(scene.regime, book, now, random);
        let is_throttled = match step {
            Step::Visitor(of) => {
                cpu.visitors[of].runs();
                seen.foreign += 1;
                cpu.visitors[of].is_throttled
            }
            Step::Job(of) => {
                let job = &mut cpu.jobs[of];
                job.left -= 1;
                if job.left == 0 {
                    seen.jobs += 1;
                    seen.tight += u64::from(job.by == now + 1);
                    cpu.jobs.remove(of);
                }
                !scene.regime.has_budgets()
            }
            Step::Ordinary => false,
        };
        for keeper in &mut cpu.keepers {
            let counts =
                if keeper.is_server { matches!(step, Step::Ordinary) } else { is_throttled };
            keeper.used += i64::from(counts);
        }
    }
}

impl Cpu {
    /// Chooses by the order of the kernel's classes.
    fn choose(&self, regime: Regime, book: &Book, now: i64, random: &mut Random) -> Step {
        if self.keepers.iter().any(|keeper| keeper.serves(now)) {
            return Step::Ordinary;
        }
        let is_stopped = self.keepers.iter().any(Keeper::stops);
        let mut visitors = self.visitors.iter().enumerate().filter(|(_, visitor)| {
            visitor.wants(now, random) && !(visitor.is_throttled && is_stopped)
        });
        let visitor = if regime.has_budgets() && !regime.is_ext() {
            // They are of the same class as the admitted threads, which EDF orders.
            let visitor = visitors.min_by_key(|(_, visitor)| visitor.begins + visitor.window);
            let first = self.jobs.iter().map(|job| job.due).min().unwrap_or(i64::MAX);
            visitor.filter(|(_, visitor)| visitor.begins + visitor.window <= first)
        } else {
            visitors.next()
        };
        if let Some((at, _)) = visitor {
            return Step::Visitor(at);
        }
        let jobs = self.jobs.iter().enumerate();
        let job = if regime.has_budgets() {
            jobs.min_by_key(|(_, job)| (job.due, job.at))
        } else if is_stopped {
            None
        } else {
            let priority = |job: &SceneJob| book.priority(OWNER, &job.name).map(|it| -it);
            jobs.min_by_key(|(_, job)| (priority(job), job.at))
        };
        job.map_or(Step::Ordinary, |(at, _)| Step::Job(at))
    }
}
