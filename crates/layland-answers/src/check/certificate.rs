//! `layland check --certificate FILE`: the proof of each answer, for a verifier that shares no code
//! with this program (`tools/verify_certificate.py`). `docs/certificates.md` describes the format
//! and the meaning of each proof.

mod document;

use super::checked::Checked;
use document::{
    AnalysedSystem, AnalysedTask, Compared, Item, LateJob, OfAnyPolicy, OfPolicy, PartDocument,
    ProofDocument, RunJob,
};
use layland_analysis::{
    Comparison, Evidence, Part, Point, Proof, Quantity, Reason, Subject, Verdict,
};
use layland_guarantee::search::{self, Witness};
use layland_guarantee::{Analysed, Assessment, in_time};
use layland_model::{Algorithm, Behaviour, CpuSet, Duration, Index, System, Task, TaskId};
use layland_offline::Heuristic;
use layland_policy::deadline::KernelOptions;
use layland_policy::fair::has_explicit_packing;
use layland_policy::{Fit, Registry, Ties, never_preempts};
use layland_trace::Job;

pub use document::Certificate;

impl Checked {
    /// Returns the proof of each answer, for the verifier. The question must ask for proofs.
    pub fn certificate(&self, registry: &Registry) -> Certificate<'_> {
        certificate(registry, self)
    }

    /// Returns the certificate as indented JSON: the file that `layland check --certificate` writes.
    ///
    /// ```
    /// use layland_answers::{CheckQuestion, Set};
    /// use layland_model::{Duration, Service, System, Task};
    /// let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(5));
    /// let set = Set::in_memory("mine", System::new(1, vec![task]));
    /// let registry = layland_policy::Registry::standard();
    /// let question = CheckQuestion::about(vec!["p-edf".to_owned()]).with_proofs()?;
    /// let proven = question.ask(&registry, set)?.certificate_text(&registry);
    /// assert!(proven.contains("\"decided_by\": \"QPA\""));
    /// # Ok::<(), layland_answers::Unanswered>(())
    /// ```
    pub fn certificate_text(&self, registry: &Registry) -> String {
        // Serialization cannot fail: all keys are names.
        serde_json::to_string_pretty(&self.certificate(registry)).unwrap_or_default() + "\n"
    }
}

/// Returns the certificate of one set.
fn certificate<'a>(registry: &Registry, checked: &'a Checked) -> Certificate<'a> {
    let system = &checked.set.system;
    let answers = checked.policies.iter().map(|policy| {
        let proof = match policy.witness.as_deref() {
            Some(found) => of_witness(registry, policy, found, system),
            None => of_policy(policy, system),
        };
        let proof = known(system).and(known_options(registry, policy)).and(proof);
        let analysed = policy.proven.as_ref().map(|proven| &proven.analysed);
        let (proof, without) = or_reason(proof);
        OfPolicy {
            policy: &policy.spec,
            verdict: policy.verdict.name(),
            decided_by: policy.decided_by,
            analysed: analysed.map(of_analysed),
            proof,
            without,
        }
    });
    let any_policy = checked.any_policy.iter().filter_map(|said| {
        let finding = (*said.finding).as_ref().ok()?;
        // Feasibility under some scheduler claims nothing about a policy.
        let is_of_schedulers = matches!(said.test.subject, Subject::SomeScheduler);
        let claims = match finding.verdict {
            Verdict::Yes => !is_of_schedulers,
            Verdict::No => true,
            Verdict::Unknown => false,
        };
        let proof = if is_of_schedulers && system.levels.is_mixed() {
            Err("some policies drop jobs of lower criticality, and the verifier counts all jobs")
        } else {
            // The tests ran on the set in the time of its CPUs.
            said.test.prove(&in_time(system), finding).map(|proof| of_proof(&proof, system))
        };
        let proof = known(system).and(proof.map_err(str::to_owned));
        let (proof, without) = or_reason(proof);
        let (test, verdict) = (said.test.name, finding.verdict.name());
        claims.then_some(OfAnyPolicy { test, verdict, proof, without })
    });
    Certificate {
        layland: env!("CARGO_PKG_VERSION"),
        certificate: 1,
        set: &checked.set.name,
        answers: answers.collect(),
        any_policy: any_policy.collect(),
    }
}

/// Returns the proof, or the reason why there is none.
fn or_reason(
    proof: Result<ProofDocument<'_>, String>,
) -> (Option<ProofDocument<'_>>, Option<String>) {
    match proof {
        Ok(proof) => (Some(proof), None),
        Err(why) => (None, Some(why)),
    }
}

/// Checks that the verifier supports such systems.
fn known(system: &System) -> Result<(), String> {
    if !system.requests.is_empty() {
        return Err("the verifier does not know systems that change while they run".to_owned());
    }
    if system.tasks.values().any(|task| matches!(task.behaviour, Behaviour::Curve(_))) {
        return Err("the verifier does not know arrival curves".to_owned());
    }
    let has_homes = system.resources.iter().any(|resource| resource.home.is_some());
    if has_homes && !system.platform.is_unit_speed() {
        return Err("the verifier does not know the speeds of the homes of resources".to_owned());
    }
    Ok(())
}

/// Checks that the proof is about the policy with all of its options. A proof of infeasibility
/// holds with any options.
fn known_options(registry: &Registry, policy: &Assessment) -> Result<(), String> {
    let test = policy.decided_by.unwrap_or_default();
    if policy.verdict == Verdict::No && matches!(test, "CAPACITY" | "AFFINITY") {
        return Ok(());
    }
    let (info, options) = registry.parse(&policy.spec).map_err(|error| error.to_string())?;
    if never_preempts(&options) != Ok(false) {
        return Err("the verifier does not know non-preemptive regions".to_owned());
    }
    if has_explicit_packing(&options) {
        return Err("the verifier does not know what is packed by hand".to_owned());
    }
    // The bound for these heuristics is the one of Lopez et al.; `auto` begins with one of them.
    let is_known = match Fit::of(&options) {
        Ok(None | Some(Fit::Auto)) => true,
        Ok(Some(Fit::By(heuristic))) => {
            use Heuristic::{Bf, Bfd, Ff, Ffd, Wfd};
            matches!(heuristic, Ff | Ffd | Bf | Bfd | Wfd)
        }
        Ok(Some(Fit::Given)) | Err(_) => false,
    };
    let begins_elsewhere = || {
        let threads = KernelOptions::of(info.algorithm(&options), &options);
        threads.map_or(true, |threads| threads.start.is_some())
    };
    match test {
        "LOPEZ" if !is_known => {
            Err("the verifier knows the bound for first fit, best fit and decreasing sizes"
                .to_owned())
        }
        "LOPEZ-ADAPTIVE" if begins_elsewhere() => {
            Err("the verifier knows the bound for threads that begin where the policy places them"
                .to_owned())
        }
        search::WITNESS if Ties::of(&options) != Ok(Ties::Rank) => {
            Err("the verifier simulates equal deadlines by rank alone".to_owned())
        }
        _ => Ok(()),
    }
}

fn of_policy<'a>(policy: &Assessment, system: &'a System) -> Result<ProofDocument<'a>, String> {
    match (&policy.refused, &policy.proven) {
        (Some(_), _) => Err("the policy refuses the set".to_owned()),
        (None, _) if matches!(policy.decided_by, Some(search::STATES | search::INFLATED)) => {
            Err("every state was looked at, and there is no shorter proof".to_owned())
        }
        (None, _) if policy.decided_by == Some(search::CYCLE) => {
            Err("the schedule was followed to its recurrence, and there is no shorter proof"
                .to_owned())
        }
        (None, None) if !system.unexplained().is_empty() => Err(policy.reasons.join("; ")),
        (None, None) => Err("nothing is decided".to_owned()),
        (None, Some(proven)) => match &proven.proof {
            Ok(proof) => Ok(of_proof(proof, system)),
            Err(why) => Err((*why).to_owned()),
        },
    }
}

/// Returns a run for the simulator of the verifier. It supports policies that run the jobs of the
/// highest priorities, on CPUs without overheads.
fn of_witness<'a>(
    registry: &Registry,
    policy: &Assessment,
    found: &Witness,
    system: &'a System,
) -> Result<ProofDocument<'a>, String> {
    let (info, options) = registry.parse(&policy.spec).map_err(|error| error.to_string())?;
    let rule =
        info.build(system, &options.for_its_rule()).map_err(|refusal| refusal.to_string())?;
    let algorithm = layland_guarantee::in_its_levels(&rule.rule(), info.algorithm(&options));
    let known = match algorithm {
        Algorithm::Ordered(form, _) if !form.has_affinities() => true,
        // If any two affinities are equal or disjoint, they are clusters.
        Algorithm::Ordered(..) => {
            let placed = policy.proven.as_ref().map(|proven| &proven.analysed.system);
            placed.is_some_and(|placed| {
                let clusters = &placed.platform.clusters;
                let whole =
                    |(id, task): (_, &Task)| placed.allowed_cpus(id) == clusters[task.cluster];
                placed.tasks.iter().all(whole)
            })
        }
        _ => false,
    };
    if !known {
        return Err("the verifier does not simulate this policy".to_owned());
    }
    if !system.platform.overheads.is_zero() {
        return Err("the verifier does not simulate overheads".to_owned());
    }
    if !system.platform.is_unit_speed() {
        return Err("the verifier does not simulate CPUs of other speeds".to_owned());
    }
    if system.tasks.values().any(|task| !task.preemption.is_anywhere()) {
        return Err("the verifier does not simulate non-preemptive regions".to_owned());
    }
    let suspends = |task: &Task| matches!(task.behaviour, Behaviour::SelfSuspending { .. });
    if system.tasks.values().any(suspends) {
        return Err("the verifier does not simulate tasks that suspend themselves".to_owned());
    }
    let built = registry.build(&policy.spec, system).map_err(|error| error.to_string())?;
    let jobs = found.jobs(built).ok_or("the run cannot be repeated")?;
    let late = found.record.job;
    let job = |job: &Job| RunJob {
        task: &system.tasks[job.id.task].name,
        arrival_ns: job.arrival.ns(),
        ready_ns: job.release.ns(),
        execution_ns: system.tasks[job.id.task].own_wcet().ns(),
    };
    Ok(ProofDocument::Run {
        jobs: jobs.iter().filter(|job| job.arrival < late.deadline).map(job).collect(),
        late: LateJob {
            task: &system.tasks[late.id.task].name,
            arrival_ns: late.arrival.ns(),
            deadline_ns: late.deadline.ns(),
        },
    })
}

fn of_analysed(analysed: &Analysed) -> AnalysedSystem<'_> {
    let Analysed { system, tells } = analysed;
    let tasks = system.tasks.iter().map(|(id, task)| AnalysedTask {
        task: &task.name,
        cpus: cpus(&system.allowed_cpus(id)),
        wcet_ns: task.own_wcet().ns(),
        deadline_ns: task.deadline.ns(),
    });
    AnalysedSystem { how: tells, tasks: tasks.collect() }
}

fn of_proof<'a>(proof: &Proof, system: &'a System) -> ProofDocument<'a> {
    match proof {
        Proof::Reasons(reasons) => ProofDocument::Comparisons {
            comparisons: reasons.iter().flat_map(|reason| of_reason(reason, system)).collect(),
        },
        Proof::Parts(parts) => {
            ProofDocument::Parts { parts: parts.iter().map(|part| of_part(part, system)).collect() }
        }
    }
}

fn of_reason<'a>(reason: &Reason, system: &'a System) -> Vec<Compared<'a>> {
    let name = |task: TaskId| system.tasks[task].name.as_str();
    let late = |what, task| Compared {
        what,
        task: Some(name(task)),
        cpus: None,
        interval_ns: None,
        value: None,
        bound: None,
        holds: false,
    };
    match reason {
        Reason::Compared(comparison) => {
            let Comparison { what, scope, value, bound, holds, .. } = &**comparison;
            let exact = |quantity: &Quantity| Some(quantity.exact().to_string());
            vec![Compared {
                what,
                task: scope.task.map(name),
                cpus: scope.cpus.as_ref().map(cpus),
                interval_ns: scope.interval.map(Duration::ns),
                value: exact(value),
                bound: exact(bound),
                holds: *holds,
            }]
        }
        Reason::Largest { count: _, interval, cpus: fastest, value, bound } => vec![Compared {
            what: match interval {
                None => "the sum of the largest utilizations",
                Some(_) => "the sum of the largest demands",
            },
            task: None,
            cpus: Some(cpus(fastest)),
            interval_ns: interval.map(Duration::ns),
            value: Some(value.exact().to_string()),
            bound: Some(bound.exact().to_string()),
            holds: false,
        }],
        Reason::NoBound(task, _) => vec![late("the response time grows for ever", *task)],
        Reason::NoneCanBeLowest(tasks) => {
            let late = |&task| late("it is late below all the others of these", task);
            tasks.iter().map(late).collect()
        }
        Reason::Partition(_)
        | Reason::Split(_)
        | Reason::NotPartitioned(_)
        | Reason::PriorityOrder(_)
        | Reason::AcceptedBy(_)
        | Reason::MayBeLate(_)
        | Reason::StaysLate(_)
        | Reason::DoesNotFit(..)
        | Reason::Holds(_)
        | Reason::JobPattern { .. }
        | Reason::GaveUp(_)
        | Reason::OfGroup(..)
        | Reason::PatternMayNotOccur => Vec::new(),
    }
}

fn of_part<'a>(part: &Part, system: &'a System) -> PartDocument<'a> {
    let name = |task: TaskId| system.tasks[task].name.as_str();
    let lengths = |found: &[(TaskId, Vec<Duration>)]| {
        let of = |(task, lengths): &(TaskId, Vec<Duration>)| Item::Lengths {
            task: name(*task),
            lengths_ns: lengths.iter().map(|length| length.ns()).collect(),
        };
        found.iter().map(of).collect()
    };
    let (evidence, items) = match &part.evidence {
        Evidence::Points(points) => {
            let of = |point: &Point| Item::Point {
                task: point.task.map(name),
                interval_ns: point.interval.ns(),
                demand_ns: point.demand.to_string(),
            };
            ("points", points.iter().map(of).collect())
        }
        Evidence::BusyPeriods(found) => ("busy periods", lengths(found)),
        Evidence::Levels(found) => ("levels", lengths(found)),
        Evidence::Slacks(steps) => {
            let of = |&(task, slack): &(TaskId, Duration)| Item::Slack {
                task: name(task),
                slack_ns: slack.ns(),
            };
            ("slacks", steps.iter().map(of).collect())
        }
        Evidence::Rates { unit, rates } => {
            let of = |&(task, rate): &(TaskId, i64)| Item::Rate {
                task: name(task),
                rate,
                unit_ns: unit.ns(),
            };
            ("rates", rates.iter().map(of).collect())
        }
    };
    let tasks = part.tasks.iter().map(|&task| name(task)).collect();
    PartDocument { cpus: cpus(&part.cpus), tasks, evidence, items }
}

fn cpus(set: &CpuSet) -> Vec<usize> {
    set.iter().map(Index::index).collect()
}
