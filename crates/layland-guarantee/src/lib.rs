//! Can it be guaranteed? A policy held against every analysis that is about it.
//!
//! Analyses say which algorithms they are about, policies which algorithm they implement; neither knows the
//! other, and here they meet. For one
//! policy ([`assess`]):
//!
//! 1. the policy is built: what it refuses is not guaranteed, and its reason is the reason;
//! 2. the system becomes what the policy makes of it ([`placed`]): tasks on the CPUs or clusters that
//!    it assigned them to;
//! 3. overheads become part of the WCETs ([`layland_analysis::overheads`]);
//! 4. the tests about the policy run, and those about any scheduler: the first that says *no* or *yes*
//!    decides;
//! 5. each task gets its smallest response or tardiness bound;
//! 6. if asked, the [`Margin`]: by how much all WCETs could grow in what the policy makes of the system;
//! 7. if tasks have affinities, the verdict without them, to tell what they cost.
//!
//! Long because a policy, its views, its tests and its bounds come together here.
//!
//! ```
//! use layland_guarantee::{AssessOptions, assess};
//! use layland_analysis::Verdict;
//! use layland_model::{Duration, Service, System, Task};
//! use layland_policy::Registry;
//! let task = |name| Task::implicit(name, Service::from_ms(2), Duration::from_ms(4));
//! let system = System::new(1, vec![task("a"), task("b")]);
//! let options = AssessOptions::with_margin();
//! let found = assess(&Registry::standard(), "p-edf", &system, &options).unwrap();
//! assert_eq!((found.verdict, found.decided_by), (Verdict::Yes, Some("QPA")));
//! // The CPU is full: nothing may grow.
//! assert_eq!(found.margin.unwrap().thousandths, 1000);
//! ```

// A new event, action or verdict breaks every match here, until somebody has decided what it means.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod about;
pub mod admission;
mod affinities;
mod chains;
mod kept;
mod margin;
mod memo;
mod optimal;
mod placed;
mod proven;
mod shown;
mod stated;
pub mod states;
mod views;

pub use affinities::{Affinities, affinities, has_affinities, without_affinities};
pub use chains::{ChainBound, chain_bounds};
pub use margin::{Margin, Stop, scaled, verdict_at};
pub use placed::placed;
pub use proven::{Analysed, Proven};
pub use shown::{Shown, unexplained};
pub use stated::Stated;

use about::{ABOUT_SOME_SCHEDULER, ADMISSIONS, About, OF_CACHES, Places, is_of_caches};
use kept::Kept;
use layland_analysis::deadline::admission::{self as bandwidth, Limit};
use layland_analysis::overheads::{Inflated, Inflation, inflate_placed};
use layland_analysis::{
    Assumption, Finding, Reason, Refusal, ResponseBound, SchedulabilityTest, Subject, Tardiness,
    TestKind, Verdict, catalogue, mixed, necessary, semi_partitioned,
};
use layland_model::{
    Algorithm, Behaviour, Duration, Form, InLevel, JobOrder, OnMiss, Order, Piece, Rate,
    ScheduleRule, SplitOrder, System, Task, TaskId, TaskMap,
};
use layland_policy::{BuildError, PolicyInfo, RefusalKind, Registry, SystemRefusal};
use margin::margin;
use memo::{Known, Memo};
use placed::placed_anew;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};
use views::{Answers, Bounds, View, algorithms};

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct AssessOptions {
    /// Only these tests, by name; all of them if empty.
    pub tests: Vec<String>,
    /// What is wanted.
    pub wanted: Wanted,
    /// How hard to try.
    pub effort: Effort,
}

/// What is wanted of an assessment: by default the verdict with its reasons, and bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// What is told of the tests.
    pub findings: Findings,
    /// Whom to ask for bounds of the tasks.
    pub bounds: BoundsBy,
    /// What else.
    pub more: More,
}

/// What is told of the tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Findings {
    /// The verdict, and the test that decides; no reasons, which some tests have later than their verdicts.
    Verdict,
    /// What tests say up to the one that decides, with reasons.
    #[default]
    UntilDecided,
    /// What every test says, also after one has decided.
    All,
}

/// Who is asked for bounds of the tasks, which can take longer than all tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoundsBy {
    /// Nobody.
    Nobody,
    /// The analyses that are [named](AssessOptions::tests).
    #[default]
    Named,
    /// Every analysis, also one that is not named.
    All,
}

/// What is wanted besides the verdict and the bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum More {
    /// Nothing.
    #[default]
    Nothing,
    /// The [`Margin`].
    Margin,
    /// What was analysed, and what proves the answer ([`Assessment::proven`]).
    Proof,
    /// Both.
    MarginAndProof,
}

impl More {
    /// These.
    pub const fn of(margin: bool, proof: bool) -> More {
        match (margin, proof) {
            (false, false) => More::Nothing,
            (true, false) => More::Margin,
            (false, true) => More::Proof,
            (true, true) => More::MarginAndProof,
        }
    }

    /// The same but for the margin.
    #[must_use]
    pub const fn without_margin(self) -> More {
        More::of(false, self.has_proof())
    }

    /// Whether the margin is wanted.
    pub const fn has_margin(self) -> bool {
        matches!(self, More::Margin | More::MarginAndProof)
    }

    /// Whether a proof is wanted.
    pub const fn has_proof(self) -> bool {
        matches!(self, More::Proof | More::MarginAndProof)
    }
}

/// How hard to try.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Leave out what searches ([`catalogue::LONG`]), unless it is [named](AssessOptions::tests).
    Quick,
    /// Whatever may decide.
    #[default]
    Thorough,
}

impl AssessOptions {
    /// The verdict with its reasons, bounds, and the [`Margin`].
    pub fn with_margin() -> AssessOptions {
        let wanted = Wanted { more: More::Margin, ..Wanted::default() };
        AssessOptions { wanted, ..AssessOptions::default() }
    }

    /// What every test says, and bounds.
    pub fn of_every_test() -> AssessOptions {
        let wanted = Wanted { findings: Findings::All, ..Wanted::default() };
        AssessOptions { wanted, ..AssessOptions::default() }
    }

    fn has(&self, name: &str) -> bool {
        match self.tests.is_empty() {
            true => self.effort == Effort::Thorough || !catalogue::LONG.contains(&name),
            false => self.tests.iter().any(|test| test.eq_ignore_ascii_case(name)),
        }
    }

    fn bounds_by(&self, name: &str) -> bool {
        match self.wanted.bounds {
            BoundsBy::Nobody => false,
            BoundsBy::Named => self.has(name),
            BoundsBy::All => self.has(name) || !self.tests.is_empty(),
        }
    }

    /// Whether anybody wants the reasons of the tests. A proof is made from them.
    fn tells(&self) -> bool {
        self.wanted.findings != Findings::Verdict || self.wanted.more.has_proof()
    }

    /// The same for a verdict that is compared with that of the system as it is.
    fn for_another_system(&self) -> AssessOptions {
        let AssessOptions { tests, wanted: _, effort } = self;
        let wanted =
            Wanted { findings: Findings::Verdict, bounds: BoundsBy::Nobody, more: More::Nothing };
        AssessOptions { tests: tests.clone(), wanted, effort: *effort }
    }
}

/// What a test said.
#[derive(Clone)]
pub struct Said {
    /// The test.
    pub test: &'static SchedulabilityTest,
    /// Its finding, or why it does not apply: shared by all policies that become the same system.
    pub finding: Arc<Stated>,
}

/// What is known of how late a task gets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Bound {
    /// No job finishes later than this after its arrival; in a run of mixed criticality, none that is covered
    /// ([`Subject::Covered`]).
    Response {
        /// The bound.
        within: Duration,
        /// The analysis.
        by: &'static str,
        /// [`TestKind::Exact`] if it is reached.
        kind: TestKind,
        /// Mixed criticality: the same in runs that belong to each level from the lowest to the task's own; empty
        /// if the analysis does not tell them apart.
        per_level: Vec<Duration>,
    },
    /// No job finishes later than this after its deadline.
    Tardiness {
        /// The bound, in nanoseconds.
        within: Rate,
        /// The analysis.
        by: &'static str,
    },
    /// Nothing.
    Unknown,
}

impl Bound {
    /// A task that may be later than this many periods is not known to do anything in time.
    pub const USEFUL_PERIODS: i64 = 100;

    /// Whether the bound lets jobs be later than [`USEFUL_PERIODS`](Self::USEFUL_PERIODS): true, and of no use but to
    /// say that the task falls behind no further.
    pub fn is_useless(&self, task: &Task) -> bool {
        let most = i128::from(Bound::USEFUL_PERIODS) * i128::from(task.period.ns());
        match self {
            Bound::Response { within, .. } => i128::from((*within - task.deadline).ns()) > most,
            // A fraction is above a whole number if the next whole number is.
            Bound::Tardiness { within, .. } => match within.ceil() {
                Some(within) => i128::from(within) > most,
                None => *within > Rate::of_wide(most, 1),
            },
            Bound::Unknown => false,
        }
    }
}

/// What is known of one policy.
#[derive(Clone)]
pub struct Assessment {
    /// The policy, as `name:option=value`.
    pub spec: String,
    /// Whether every deadline is guaranteed.
    pub verdict: Verdict,
    /// The test that decided.
    pub decided_by: Option<&'static str>,
    /// Why, in sentences without full stops.
    pub reasons: Vec<String>,
    /// Why the policy does not take the system.
    pub refused: Option<SystemRefusal>,
    /// What the tests said, in the order in which they were asked.
    pub said: Vec<Said>,
    /// For each task. Empty if the policy refused.
    pub bounds: TaskMap<Bound>,
    /// What overheads add to each task, where there are any.
    pub inflation: Option<TaskMap<Inflation>>,
    /// By how much WCETs could grow, if that was asked and the policy takes the system.
    pub margin: Option<Margin>,
    /// What proves the answer, if that was asked and the policy takes the system.
    pub proven: Option<Proven>,
    /// The verdict if every task could use its whole cluster. None if every task can, or if the
    /// policy refuses the system with or without affinities.
    pub without_affinities: Option<Verdict>,
}

impl Assessment {
    /// Whether the policy is not made for such a system at all: not a matter of how much there is to
    /// do.
    pub fn is_out_of_place(&self) -> bool {
        self.refused.as_ref().is_some_and(|refusal| match refusal.answer.kind {
            RefusalKind::Busy => false,
            RefusalKind::NotPermitted | RefusalKind::Invalid => true,
        })
    }

    /// Whether nothing is known: no test applies, and there is no bound.
    pub fn is_empty(&self) -> bool {
        self.verdict == Verdict::Unknown
            && self.bounds.values().all(|bound| *bound == Bound::Unknown)
            && self
                .said
                .iter()
                .all(|said| said.finding.is_err() || said.test.subject == Subject::SomeScheduler)
    }
}

/// What is known of a policy of the registry, given as `name:option=value`, and a valid system.
///
/// # Errors
/// If there is no such policy or option. That the policy refuses the system is an assessment.
pub fn assess(
    registry: &Registry,
    spec: &str,
    system: &System,
    options: &AssessOptions,
) -> Result<Assessment, BuildError> {
    Assessor::new(registry, system, options).assess(spec)
}

/// One system, about which several policies are asked: what an analysis says of a system that several of them make
/// of it is computed once.
pub struct Assessor<'a> {
    registry: &'a Registry,
    system: &'a System,
    options: &'a AssessOptions,
    memo: Memo<'a>,
}

impl<'a> Assessor<'a> {
    /// For policies of this registry on a valid system.
    pub fn new(
        registry: &'a Registry,
        system: &'a System,
        options: &'a AssessOptions,
    ) -> Assessor<'a> {
        Assessor { registry, system, options, memo: Memo::default() }
    }

    /// What [`assess`] says of a policy.
    ///
    /// # Errors
    /// As [`assess`].
    pub fn assess(&self, spec: &str) -> Result<Assessment, BuildError> {
        let Assessor { registry, system, options, memo } = self;
        let (info, policy_options) = registry.parse(spec)?;
        let policy = Asked { spec, info, options: policy_options, memo };
        let mut found = verdict(&policy, Cow::Borrowed(*system), options, None);
        if options.wanted.more.has_margin() && found.refused.is_none() {
            found.margin = margin(&policy, system, options, found.verdict);
        }
        if found.refused.is_none() {
            found.without_affinities = affinities::verdict_without(&policy, system, options);
        }
        Ok(found)
    }

    /// What is known of the system whatever the policy: what some scheduler, some partition or some priorities can
    /// do.
    pub fn whatever_the_policy(&self) -> Vec<Said> {
        self.said_about(|subject| match subject {
            Subject::SomeScheduler | Subject::SomePartition | Subject::SomePriorities => true,
            Subject::Algorithms(_)
            | Subject::Covered(_)
            | Subject::Unsound(..)
            | Subject::SomePartitionUnder(_)
            | Subject::Admission(_) => false,
        })
    }

    /// The finding on partitions of the system under fixed priorities in this order: a search that takes its time.
    pub fn some_partition_under(&self, order: Order) -> Vec<Said> {
        self.said_about(|subject| *subject == Subject::SomePartitionUnder(order))
    }

    /// The part of [`whatever_the_policy`](Self::whatever_the_policy) that rules out every scheduler.
    pub fn whatever_the_scheduler(&self) -> Vec<Said> {
        self.said_about(|subject| *subject == Subject::SomeScheduler)
    }

    fn said_about(&self, is_meant: impl Fn(&Subject) -> bool) -> Vec<Said> {
        let known = self.memo.of(Cow::Borrowed(self.system));
        (catalogue::TESTS.iter().enumerate())
            .filter(|(_, test)| is_meant(&test.subject) && self.options.has(test.name))
            .map(|(at, test)| Said { test, finding: self.believed(self.of_all(&known, at)) })
            .collect()
    }

    /// What a test says whatever the policy, also one that drops jobs.
    fn of_all(&self, known: &Known<'_>, at: usize) -> Arc<Stated> {
        let test = &catalogue::TESTS[at];
        match test.subject == Subject::SomeScheduler && self.system.levels.is_mixed() {
            true => Arc::new(Stated::new(necessary::of_what_none_may_drop(test, self.system))),
            false => known.test(at),
        }
    }

    fn believed(&self, finding: Arc<Stated>) -> Arc<Stated> {
        let is_yes = (*finding).as_ref().is_ok_and(|finding| finding.verdict == Verdict::Yes);
        match is_yes && may_skip_in_time(self.system) {
            true => {
                let reason = Reason::Holds(SKIPS_IN_TIME);
                Arc::new(Stated::new(Ok(Finding::new(Verdict::Unknown, reason))))
            }
            false => finding,
        }
    }
}

/// The policy that is asked about.
pub(crate) struct Asked<'s, 'a> {
    spec: &'s str,
    info: &'s PolicyInfo,
    options: layland_policy::PolicyOptions,
    memo: &'s Memo<'a>,
}

/// A [view](View), with what is known of its system.
struct Seen<'a> {
    about: About,
    answers: Answers,
    bounds: Bounds,
    tells: &'static str,
    /// Whether of two jobs that are due at once the one with the smaller rank goes first.
    has_ties_by_rank: bool,
    known: Arc<Known<'a>>,
}

impl<'a> Seen<'a> {
    fn of(view: View<'a>, memo: &Memo<'a>) -> Seen<'a> {
        let View { algorithms, system, answers, bounds, tells } = view;
        Seen {
            about: About::of(&algorithms),
            answers,
            bounds,
            tells,
            has_ties_by_rank: false,
            known: memo.of(system),
        }
    }
}

/// Whether the jobs that a rule has as equals, being due at once, go by rank. Threads with servers, tasks that come
/// first and pieces have rules of their own, and so has EDF where the running job goes on.
fn has_ties_by_rank(rule: &ScheduleRule) -> bool {
    match rule {
        ScheduleRule::HighestFirst { order, .. } | ScheduleRule::Deferred { order, .. } => {
            *order == JobOrder::Deadline
        }
        ScheduleRule::Served { .. }
        | ScheduleRule::Locking(_)
        | ScheduleRule::LeastLaxity { .. }
        | ScheduleRule::Weak { .. }
        | ScheduleRule::Strong { .. }
        | ScheduleRule::Optimal { .. }
        | ScheduleRule::Pfair { .. }
        | ScheduleRule::Shares { .. }
        | ScheduleRule::Allotted { .. }
        | ScheduleRule::Split { .. }
        | ScheduleRule::MixedCriticality { .. }
        | ScheduleRule::None => false,
    }
}

/// [`assess`] of the system as it is, without a margin; where something is kept, with what was decided for other WCETs.
pub(crate) fn verdict<'a>(
    asked: &Asked<'_, 'a>,
    system: Cow<'a, System>,
    options: &AssessOptions,
    kept: Option<&Kept<'_>>,
) -> Assessment {
    let system = &system;
    let mut found = Assessment {
        spec: asked.spec.to_owned(),
        verdict: Verdict::Unknown,
        decided_by: None,
        reasons: Vec::new(),
        refused: None,
        said: Vec::new(),
        bounds: TaskMap::default(),
        inflation: None,
        margin: None,
        proven: None,
        without_affinities: None,
    };
    let rule = match kept {
        Some(kept) => kept.rule_for(asked.info, system),
        None => {
            let built = asked.info.build(system, &asked.options.for_its_rule());
            built.map(|policy| policy.rule())
        }
    };
    let rule = match rule {
        Ok(rule) => rule,
        Err(refusal) => {
            found.verdict = Verdict::No;
            found.reasons.push(format!("the policy refuses the set: {refusal}"));
            found.refused = Some(refusal);
            return found;
        }
    };
    // Whatever a test would say is of jobs that are not those of the trace.
    if !system.unexplained().is_empty() {
        found.bounds = TaskMap::filled(Bound::Unknown, system.tasks.len());
        found
            .reasons
            .extend(system.unexplained().iter().map(|what| format!("{UNEXPLAINED}: {what}")));
        return found;
    }
    let placed = placed_anew(system, &rule).map_or_else(|| system.clone(), Cow::Owned);
    let inflated = match (&rule, system.platform.overheads.without_reloads().is_zero()) {
        // Its jobs preempt when they run out of laxity, too, which it finds by their WCETs without what is added.
        (ScheduleRule::HighestFirst { order: JobOrder::ZeroLaxity, .. }, false) => {
            found.reasons.push("no analysis of EDZL counts overheads".to_owned());
            None
        }
        (ScheduleRule::HighestFirst { .. }, false) if system.has_followers() => {
            found
                .reasons
                .push("no analysis of tasks that follow others counts overheads".to_owned());
            None
        }
        (ScheduleRule::HighestFirst { .. }, false) => match inflate_placed(&placed, system) {
            Ok(inflated) => Some(inflated),
            Err(refusal) => {
                found.reasons.push(format!("overheads: {refusal}"));
                None
            }
        },
        (ScheduleRule::HighestFirst { .. }, true)
        | (
            ScheduleRule::LeastLaxity { .. }
            | ScheduleRule::Deferred { .. }
            | ScheduleRule::Served { .. }
            | ScheduleRule::Locking(_)
            | ScheduleRule::Weak { .. }
            | ScheduleRule::Strong { .. }
            | ScheduleRule::Optimal { .. }
            | ScheduleRule::Pfair { .. }
            | ScheduleRule::Shares { .. }
            | ScheduleRule::Allotted { .. }
            | ScheduleRule::Split { .. }
            | ScheduleRule::MixedCriticality { .. }
            | ScheduleRule::None,
            _,
        ) => None,
    };
    let algorithm = match (&rule, in_its_levels(&rule, asked.info.algorithm(&asked.options))) {
        // The tasks ask for regions.
        (ScheduleRule::Deferred { .. }, Algorithm::Ordered(form, order)) => {
            Algorithm::Deferred(form, order)
        }
        // The tasks have steps; or there is nothing to lock.
        (ScheduleRule::Locking(rule), Algorithm::Ordered(Form::Partitioned, order)) => {
            Algorithm::Locking(order, rule.protocol)
        }
        (ScheduleRule::HighestFirst { .. }, Algorithm::Locking(order, _)) => {
            Algorithm::Ordered(Form::Partitioned, order)
        }
        (_, algorithm) => algorithm,
    };
    let is_another_theory =
        is_of_threads(algorithm) && views::is_another_theory(system, &asked.options);
    let theory = match is_another_theory || is_in_slots(algorithm) {
        true => Vec::new(),
        false => algorithms(algorithm, &placed),
    };
    // Who comes first, and when jobs count as due, was decided by the WCETs without what is added.
    let has_other_classes =
        matches!(algorithm, Algorithm::TopFirst(_) | Algorithm::FairLateness) && inflated.is_some();
    let is_other =
        kept.is_some_and(|kept| !kept.is_of_the_algorithm(asked.info, &asked.options, system));
    let theory = if has_other_classes || is_other { Vec::new() } else { theory };
    let analysed = match inflated {
        Some(Inflated { system, tasks }) => {
            found.inflation = Some(tasks);
            Cow::Owned(system)
        }
        None => placed,
    };
    let top_first = views::of_top_class(&analysed, &rule);
    let pieces = views::of_pieces(&analysed, &rule);
    let servers = views::of_servers(&analysed, algorithm, &rule);
    let mut views = vec![match views::with_regions(&analysed, &rule) {
        Some(regions) => View { algorithms: theory, ..regions },
        None => View::plain(theory, analysed),
    }];
    views.extend(top_first);
    views.extend(pieces);
    views.extend(servers);
    // Why there is nothing to analyse but what is said of the algorithm itself.
    let has_servers = views.iter().any(|view| view.answers == Answers::None);
    let mut nothing_more = has_servers.then_some(
        "when the jobs of servers end, nobody promises; bounds are of the tasks beside them",
    );
    let is_admitted = |finding: &Finding| finding.verdict != Verdict::No;
    let turned_away = asks_for_admission(algorithm, &asked.options)
        && !admission(algorithm, system, &asked.options).as_ref().is_ok_and(is_admitted);
    if turned_away {
        nothing_more = Some("admission control turns threads away");
    } else if is_of_threads(algorithm) {
        match views::of_threads(algorithm, system, &asked.options) {
            Ok(more) => views.extend(more),
            Err(why) => nothing_more = Some(why),
        }
    } else if is_in_slots(algorithm) {
        match views::in_slots(algorithm, system, &asked.options) {
            Ok(view) => views.push(view),
            Err(why) => nothing_more = Some(why),
        }
    }
    let mut views: Vec<Seen<'_>> =
        views.into_iter().map(|view| Seen::of(view, asked.memo)).collect();
    views[0].has_ties_by_rank = has_ties_by_rank(&rule);
    let views = views;
    let known = asked.memo.of(system.clone());
    // A policy may run with parameters (an order, instants, lists) that no sound analysis accepts.
    let uncovered = match &rule {
        ScheduleRule::MixedCriticality { guaranteed, .. } => {
            *guaranteed != system.platform.all_cpus()
        }
        ScheduleRule::HighestFirst { .. }
        | ScheduleRule::Deferred { .. }
        | ScheduleRule::Served { .. }
        | ScheduleRule::Locking(_)
        | ScheduleRule::LeastLaxity { .. }
        | ScheduleRule::Weak { .. }
        | ScheduleRule::Strong { .. }
        | ScheduleRule::Optimal { .. }
        | ScheduleRule::Pfair { .. }
        | ScheduleRule::Shares { .. }
        | ScheduleRule::Allotted { .. }
        | ScheduleRule::Split { .. }
        | ScheduleRule::None => false,
    };
    // With several levels some jobs need not meet their deadlines: that no scheduler keeps them all says nothing.
    let covered_only = system.levels.is_mixed()
        && catalogue::TESTS.iter().any(|test| match test.subject {
            Subject::Covered(covered) => covered.contains(&algorithm),
            Subject::Algorithms(_)
            | Subject::Unsound(..)
            | Subject::SomeScheduler
            | Subject::SomePartition
            | Subject::SomePartitionUnder(_)
            | Subject::SomePriorities
            | Subject::Admission(_) => false,
        });
    if options.wanted.more.has_proof() {
        found.proven = Some(Proven::open(&views[0]));
    }
    // The tests for caches count preemptions by jobs that come first: budgets that end, and jobs that move, are more.
    let counts_reloads = system.has_reloads()
        && matches!(
            (&rule, algorithm),
            (ScheduleRule::HighestFirst { .. }, Algorithm::Ordered(..))
        );
    let about_some =
        views.iter().map(|seen| seen.about.tests).fold(Places::default(), Places::union);
    let of_split = of_split(algorithm);
    let all = about_some.union(of_split).union(*ABOUT_SOME_SCHEDULER).without(*ADMISSIONS);
    let others = if counts_reloads { all } else { all.without(*OF_CACHES) };
    let tells = options.tells();
    let orders = kept.and_then(|kept| kept.orders.as_ref());
    let kept_pieces = kept.and_then(|_| pieces_of(&rule));
    // What is not admitted does not run, whatever the other tests say of it.
    for at in ADMISSIONS.iter().chain(others.iter()) {
        let test = &catalogue::TESTS[at];
        let mut by = None;
        let finding = match test.subject {
            Subject::SomeScheduler if !covered_only && options.has(test.name) => {
                said(&known, at, tells)
            }
            Subject::Covered(_) if orders.is_some() => match orders {
                Some(orders) if test.name == orders.test() && options.has(test.name) => {
                    Arc::new(Stated::new(mixed::under(views[0].known.system(), orders)))
                }
                Some(_) | None => continue,
            },
            Subject::Covered(_) if uncovered => continue,
            // What is split already is not split anew.
            Subject::Algorithms(_) if of_split.has(at) && kept_pieces.is_some() => {
                match kept_pieces {
                    Some(pieces) if options.has(test.name) => {
                        Arc::new(Stated::new(semi_partitioned::in_pieces(system, pieces)))
                    }
                    Some(_) | None => continue,
                }
            }
            Subject::Algorithms(_) | Subject::Covered(_) | Subject::Unsound(..)
                if about_some.has(at) && options.has(test.name) =>
            {
                match on_views(at, &views, tells) {
                    Some((finding, seen)) => {
                        by = Some(seen);
                        finding
                    }
                    None => continue,
                }
            }
            // The tests of splitting are about the default order: here they take that of the policy.
            Subject::Algorithms(_) if of_split.has(at) && options.has(test.name) => {
                let Algorithm::Split(splitting, order) = algorithm else { continue };
                Arc::new(Stated::new(semi_partitioned::in_order(system, splitting, order)))
            }
            Subject::Admission(about) if about.contains(&algorithm) && options.has(test.name) => {
                Arc::new(Stated::new(admission(algorithm, system, &asked.options)))
            }
            Subject::SomeScheduler
            | Subject::Algorithms(_)
            | Subject::Covered(_)
            | Subject::Unsound(..)
            | Subject::Admission(_)
            | Subject::SomePartition
            | Subject::SomePartitionUnder(_)
            | Subject::SomePriorities => continue,
        };
        let was_open = found.verdict == Verdict::Unknown;
        found.listen(test, finding, system, options.wanted.findings);
        let decided = found.said.last().and_then(|said| (*said.finding).as_ref().ok());
        if let (true, true, Some(finding)) = (options.wanted.more.has_proof(), was_open, decided)
            && found.verdict != Verdict::Unknown
        {
            found.proven = Some(Proven::by(test, finding, by, system, algorithm));
        }
        if found.verdict != Verdict::Unknown && options.wanted.findings != Findings::All {
            break;
        }
    }
    let wants_bounds = options.wanted.bounds != BoundsBy::Nobody;
    if wants_bounds && !turned_away {
        found.bounds = bounds(algorithm, &views, (system, counts_reloads), &found, options);
    }
    if found.verdict == Verdict::Unknown {
        found.reasons.extend(nothing_more.map(str::to_owned));
    }
    if found.verdict == Verdict::Unknown {
        let bounded = wants_bounds && found.bounds.values().all(|bound| *bound != Bound::Unknown);
        if bounded && found.reasons.is_empty() {
            found
                .reasons
                .push("no test says that deadlines are met; tardiness is bounded".to_owned());
        }
    }
    let is_optimal = matches!(rule, ScheduleRule::Optimal { .. });
    if is_optimal && !system.platform.overheads.without_reloads().is_zero() {
        match optimal::inflated(system, &asked.options) {
            Ok((tasks, sentence)) => {
                found.inflation = Some(tasks);
                found.reasons.push(sentence);
            }
            Err(reason) => found.reasons.push(reason),
        }
    }
    if uncovered && found.verdict == Verdict::Unknown {
        let why =
            "no sound analysis accepts the tasks with the parameters that the policy runs with";
        found.reasons.push(why.to_owned());
    }
    if found.reasons.is_empty() {
        found.reasons.push("no test applies".to_owned());
    }
    found
}

impl Assessment {
    fn listen(
        &mut self,
        test: &'static SchedulabilityTest,
        finding: Arc<Stated>,
        system: &System,
        wanted: Findings,
    ) {
        let tells = wanted != Findings::Verdict;
        let admission = matches!(test.subject, Subject::Admission(_));
        let about_any = test.subject == Subject::SomeScheduler;
        match &**finding {
            // Of a set without graphs the tests for graphs have nothing to say, not even that they do not apply.
            Err(refusal)
                if matches!(
                    refusal.assumption,
                    Assumption::Graphs | Assumption::GraphsTogether
                ) && !system.has_followers() =>
            {
                return;
            }
            // What a paper claims and does not hold decides nothing.
            _ if matches!(test.subject, Subject::Unsound(..)) => {}
            // That some scheduler can do it, or that tasks are let in, guarantees no deadline.
            Ok(Finding { verdict: Verdict::Yes, .. }) if admission || about_any => {}
            Ok(Finding { verdict: Verdict::Yes, .. }) if may_skip_in_time(system) => {
                if self.verdict == Verdict::Unknown && tells {
                    self.reasons
                        .push(format!("{} counts on jobs that would be skipped", test.name));
                }
            }
            Ok(Finding { verdict, .. }) => {
                let text = |sentence: &String| {
                    let what = if admission { "not admitted: " } else { "" };
                    format!("{what}{sentence}")
                };
                // A yes and a no do not come together; the first stands.
                if *verdict != Verdict::Unknown && self.verdict == Verdict::Unknown {
                    self.verdict = *verdict;
                    self.decided_by = Some(test.name);
                    let told = if tells { finding.sentences(system) } else { &[] };
                    self.reasons = told.iter().map(text).collect();
                } else if self.verdict == Verdict::Unknown && !about_any && tells {
                    let first = finding.sentences(system).first().map(text).unwrap_or_default();
                    self.reasons.push(format!("{}: {first}", test.name));
                }
            }
            Err(refusal) if self.verdict == Verdict::Unknown && !about_any && tells => {
                self.reasons.push(format!("{} does not apply: {refusal}", test.name));
            }
            Err(_) => {}
        }
        self.said.push(Said { test, finding });
    }
}

const UNEXPLAINED: &str = "the trace shows what the set does not explain";

const SKIPS_IN_TIME: &str = "a job may come while the one before it has time left, and be skipped";

/// Whether a job may be skipped although none is late: one that comes while the one before it, which has until after
/// its period, still runs. Analyses let it wait, and a skipped job is a miss.
fn may_skip_in_time(system: &System) -> bool {
    let skips = |task: &Task| task.on_miss == OnMiss::Skip && task.deadline > task.period;
    system.tasks.values().any(skips)
}

fn is_of_threads(algorithm: Algorithm) -> bool {
    match algorithm {
        Algorithm::SchedDeadline
        | Algorithm::SemiPartitionedDeadline
        | Algorithm::AdaptivePartitioning => true,
        Algorithm::Ordered(..)
        | Algorithm::Deferred(..)
        | Algorithm::Levels(..)
        | Algorithm::Served(..)
        | Algorithm::Locking(..)
        | Algorithm::Edzl
        | Algorithm::FairLateness
        | Algorithm::TopFirst(_)
        | Algorithm::Federated
        | Algorithm::Run
        | Algorithm::Qps
        | Algorithm::Pd2
        | Algorithm::ErPd2
        | Algorithm::DpWrap
        | Algorithm::LreTl
        | Algorithm::UEdf
        | Algorithm::Split(..)
        | Algorithm::MixedCriticality(_)
        | Algorithm::Other => false,
    }
}

/// The algorithm of a policy with this rule: where some tasks share a priority and ranks do not decide, that of levels.
/// What has steps locks nothing then.
pub fn in_its_levels(rule: &ScheduleRule, algorithm: Algorithm) -> Algorithm {
    match (in_level_of(rule), algorithm) {
        (Some(in_level), Algorithm::Ordered(form, _) | Algorithm::Levels(form, _)) => {
            Algorithm::Levels(form, in_level)
        }
        (Some(in_level), Algorithm::Locking(..)) => Algorithm::Levels(Form::Partitioned, in_level),
        // No two tasks share one.
        (None, Algorithm::Levels(form, _)) => Algorithm::Ordered(form, Order::Given),
        (_, algorithm) => algorithm,
    }
}

/// What decides between jobs of tasks of one priority under a policy, if some share one and ranks do not.
pub fn in_level(registry: &Registry, spec: &str, system: &System) -> Option<InLevel> {
    let (info, options) = registry.parse(spec).ok()?;
    in_level_of(&info.build(system, &options.for_its_rule()).ok()?.rule())
}

/// What decides between jobs of one number, if ranks do not.
fn in_level_of(rule: &ScheduleRule) -> Option<InLevel> {
    let order = match rule {
        ScheduleRule::HighestFirst { order, .. }
        | ScheduleRule::Deferred { order, .. }
        | ScheduleRule::Served { order, .. }
        | ScheduleRule::Weak { order }
        | ScheduleRule::Strong { order } => order,
        ScheduleRule::Locking(rule) => &rule.order,
        ScheduleRule::None
        | ScheduleRule::LeastLaxity { .. }
        | ScheduleRule::Optimal { .. }
        | ScheduleRule::Pfair { .. }
        | ScheduleRule::Shares { .. }
        | ScheduleRule::Allotted { .. }
        | ScheduleRule::Split { .. }
        | ScheduleRule::MixedCriticality { .. } => return None,
    };
    match order {
        JobOrder::Levels { in_level, .. } => Some(*in_level),
        JobOrder::Deadline
        | JobOrder::DeadlineThenRunning
        | JobOrder::Points(_)
        | JobOrder::ZeroLaxity
        | JobOrder::Fixed(_)
        | JobOrder::TopFirst { .. } => None,
    }
}

/// The tests that are about the default order, of a policy that splits tasks as they assume, in any order.
fn of_split(algorithm: Algorithm) -> Places {
    let Algorithm::Split(splitting, _) = algorithm else { return Places::default() };
    About::of(&[Algorithm::Split(splitting, SplitOrder::default())]).tests
}

/// The pieces of tasks, if the rule has some.
fn pieces_of(rule: &ScheduleRule) -> Option<&TaskMap<Vec<Piece>>> {
    let ScheduleRule::Split { pieces } = rule else { return None };
    Some(pieces)
}

/// Whether jobs run in whole slots.
fn is_in_slots(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Pd2 | Algorithm::ErPd2)
}

/// What a test says of a system; without reasons, if nobody is to be told.
fn said(known: &Known<'_>, test: usize, tells: bool) -> Arc<Stated> {
    match tells {
        true => known.test(test),
        false => match known.verdict(test) {
            Ok(verdict) => Arc::clone(&BARE[verdict as usize]),
            Err(refusal) => Arc::new(Stated::new(Err(refusal))),
        },
    }
}

/// Verdicts without reasons.
static BARE: LazyLock<[Arc<Stated>; 3]> = LazyLock::new(|| {
    [Verdict::Yes, Verdict::No, Verdict::Unknown]
        .map(|verdict| Arc::new(Stated::new(Ok(Finding { verdict, reasons: Vec::new() }))))
});

/// What a test says of the views that it is about: the first answer that decides and holds for the policy, or else the
/// first that does not, or else the first refusal; and the view. None if it is about none.
fn on_views<'s, 'a>(
    test: usize,
    views: &'s [Seen<'a>],
    tells: bool,
) -> Option<(Arc<Stated>, &'s Seen<'a>)> {
    let mut first: Option<(Arc<Stated>, &Seen<'_>)> = None;
    let speaks = |seen: &&Seen<'_>| seen.about.tests.has(test) && seen.answers != Answers::None;
    for seen in views.iter().filter(speaks) {
        let mut finding = said(&seen.known, test, tells);
        let holds = |finding: &Finding| match finding.verdict {
            Verdict::Yes => matches!(seen.answers, Answers::All | Answers::Yes),
            Verdict::No => matches!(seen.answers, Answers::All | Answers::No),
            Verdict::Unknown => true,
        };
        let is_told = tells && !seen.tells.is_empty();
        if (*finding).as_ref().is_ok_and(|finding| is_told || !holds(finding))
            && let Ok(finding) = Arc::make_mut(&mut finding).finding_mut()
        {
            if !holds(finding) {
                finding.verdict = Verdict::Unknown;
            }
            if is_told {
                finding.reasons.push(Reason::Holds(seen.tells));
            }
        }
        if (*finding).as_ref().is_ok_and(|finding| finding.verdict != Verdict::Unknown) {
            return Some((finding, seen));
        }
        match (first.as_ref().map(|(first, _)| first.is_err()), finding.is_ok()) {
            (None, _) | (Some(true), true) => first = Some((finding, seen)),
            (Some(_), _) => {}
        }
    }
    first
}

/// Whether a thread has to be admitted.
fn asks_for_admission(algorithm: Algorithm, options: &layland_policy::PolicyOptions) -> bool {
    match algorithm {
        Algorithm::SchedDeadline => options.switch("ac", false).unwrap_or(true),
        Algorithm::SemiPartitionedDeadline => options.switch("ac", true).unwrap_or(true),
        Algorithm::Ordered(..)
        | Algorithm::Deferred(..)
        | Algorithm::Levels(..)
        | Algorithm::Served(..)
        | Algorithm::Locking(..)
        | Algorithm::Edzl
        | Algorithm::FairLateness
        | Algorithm::TopFirst(_)
        | Algorithm::Federated
        | Algorithm::AdaptivePartitioning
        | Algorithm::Run
        | Algorithm::Qps
        | Algorithm::Pd2
        | Algorithm::ErPd2
        | Algorithm::DpWrap
        | Algorithm::LreTl
        | Algorithm::UEdf
        | Algorithm::Split(..)
        | Algorithm::MixedCriticality(_)
        | Algorithm::Other => false,
    }
}

/// Whether admission control adds up the speeds of CPUs: Linux since 5.9.
fn adds_up_capacities(options: &layland_policy::PolicyOptions) -> bool {
    let by_version = options.text("kernel").is_some_and(|version| version != "5.4");
    options.switch("capacity", by_version).unwrap_or(by_version)
}

/// Admission control with the limit of the policy, or with the default one. Where the policy has it off, the kernel
/// would not ask: then a *no* is *unknown*.
fn admission(
    algorithm: Algorithm,
    system: &System,
    options: &layland_policy::PolicyOptions,
) -> Result<Finding, Refusal> {
    let semi_partitioned = algorithm == Algorithm::SemiPartitionedDeadline;
    let limit = options.text("limit").and_then(|text| text.parse().ok());
    let limit = limit.map_or_else(Limit::default, Limit::Share);
    let mut finding = if semi_partitioned {
        bandwidth::semi_partitioned(system, &limit)
    } else if adds_up_capacities(options) {
        bandwidth::global_by_capacity(system, &limit)
    } else {
        bandwidth::global(system, &limit)
    }?;
    if !asks_for_admission(algorithm, options) && finding.verdict == Verdict::No {
        finding.verdict = Verdict::Unknown;
    }
    Ok(finding)
}

/// The smallest bound of each task. The tardiness of a task with a larger WCET bounds that of the
/// task as it is.
fn bounds(
    algorithm: Algorithm,
    views: &[Seen<'_>],
    (system, counts_reloads): (&System, bool),
    found: &Assessment,
    options: &AssessOptions,
) -> TaskMap<Bound> {
    // The job of a thread that never blocks is a budget: it counts from a period before its deadline.
    let sooner = |id: TaskId| {
        let task = &system.tasks[id];
        let is_hog = is_of_threads(algorithm) && task.behaviour == Behaviour::Hog;
        if is_hog { task.period - task.deadline } else { Duration::ZERO }
    };
    let mut bounds = TaskMap::filled(Bound::Unknown, system.tasks.len());
    for seen in views.iter().filter(|seen| seen.bounds != Bounds::None) {
        for at in seen.about.responses.iter() {
            let analysis = &catalogue::RESPONSES[at];
            if !options.bounds_by(analysis.name) {
                continue;
            }
            if !counts_reloads && is_of_caches(analysis.assumptions) {
                continue;
            }
            let Ok(responses) = seen.known.responses(at) else { continue };
            // Where ties change what is reached, they have to go by rank for anything to be.
            let has_ties = analysis.depends_on_ties();
            let reached = match has_ties && seen.has_ties_by_rank && seen.bounds == Bounds::All {
                true => seen.known.responses_by_rank(at).as_ref().ok().and_then(Option::as_ref),
                false => None,
            };
            let in_time = |(id, response): (TaskId, &Option<ResponseBound>)| {
                let deadline = seen.known.system().tasks[id].deadline;
                response.as_ref().is_some_and(|response| response.response <= deadline)
            };
            if seen.bounds == Bounds::InTime && !responses.iter().all(in_time) {
                continue;
            }
            for response in responses.values().flatten() {
                let is_served = system.tasks[response.task].budget.is_some();
                if seen.bounds == Bounds::Unserved && is_served {
                    continue;
                }
                let bound = &mut bounds[response.task];
                let within = response.response + sooner(response.task);
                if !matches!(bound, Bound::Response { within: known, .. } if *known <= within) {
                    let by = analysis.name;
                    let task = &seen.known.system().tasks[response.task];
                    // No run has to block a job for as long as it says.
                    let is_blocked = task.blocking_time > Duration::ZERO;
                    let kind = match seen.bounds {
                        Bounds::All if is_blocked => TestKind::Sufficient,
                        Bounds::All if !has_ties => analysis.kind,
                        Bounds::All
                            if reached.is_some_and(|reached| {
                                reached[response.task].as_ref() == Some(response)
                            }) =>
                        {
                            analysis.kind
                        }
                        Bounds::All
                        | Bounds::Above
                        | Bounds::Unserved
                        | Bounds::InTime
                        | Bounds::None => TestKind::Sufficient,
                    };
                    let per_level = response.per_level.clone();
                    *bound = Bound::Response { within, by, kind, per_level };
                }
            }
        }
    }
    if let (Verdict::Yes, Some(by)) = (found.verdict, found.decided_by) {
        for (id, task) in system.tasks.iter() {
            let within = task.deadline + sooner(id);
            let closer =
                matches!(&bounds[id], Bound::Response { within: known, .. } if *known <= within);
            if !closer {
                let (kind, per_level) = (TestKind::Sufficient, Vec::new());
                bounds[id] = Bound::Response { within, by, kind, per_level };
            }
        }
        return bounds;
    }
    let of_late = |seen: &&Seen<'_>| matches!(seen.bounds, Bounds::All | Bounds::Above);
    for seen in views.iter().filter(of_late) {
        for at in seen.about.bounds.iter() {
            let analysis = &catalogue::BOUNDS[at];
            if !options.bounds_by(analysis.name) {
                continue;
            }
            let Ok(Tardiness::Bounded(found)) = seen.known.tardiness(at) else { continue };
            for tardiness in found.values() {
                let bound = &mut bounds[tardiness.task];
                let closer = match bound {
                    Bound::Response { .. } => true,
                    Bound::Tardiness { within, .. } => *within <= tardiness.tardiness,
                    Bound::Unknown => false,
                };
                if !closer {
                    let (within, by) = (tardiness.tardiness.clone(), analysis.name);
                    *bound = Bound::Tardiness { within, by };
                }
            }
        }
    }
    bounds
}
