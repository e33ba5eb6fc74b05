use super::*;
use layland_model::{CpuId, Duration, Service};

fn registry() -> Registry {
    Registry::standard()
}

const fn at(ms: i64) -> Time {
    Time::from_ms(ms)
}

fn task(name: &str, c: i64, t: i64) -> Reservation {
    Reservation::implicit(name, Service::from_ms(c), Duration::from_ms(t))
}

fn due(name: &str, c: i64, d: i64, t: i64) -> Reservation {
    Reservation { deadline: Duration::from_ms(d), ..task(name, c, t) }
}

fn cpu(cpu: u32) -> CpuSet {
    CpuSet::single(CpuId(cpu))
}

fn ask(admitted: &Admitted, now: Time, ask: Ask<'_>) -> Admission {
    admit(&registry(), admitted, now, &ask, &AdmitOptions::default()).unwrap()
}

fn refused(admitted: &Admitted, now: Time, asked: Ask<'_>) -> Refused {
    match ask(admitted, now, asked) {
        Admission::Refused(refused) => refused,
        Admission::Granted(grant) => panic!("granted: {grant:?}"),
    }
}

fn granted(admitted: &mut Admitted, now: Time, asked: Ask<'_>) -> Grant {
    match ask(admitted, now, asked) {
        Admission::Granted(grant) => {
            *admitted = grant.after.clone();
            *grant
        }
        Admission::Refused(refused) => panic!("refused: {refused}"),
    }
}

fn enter(admitted: &mut Admitted, now: Time, task: &Reservation) -> Grant {
    granted(admitted, now, Ask::Enter(task))
}

fn on(cpus: usize, spec: &str) -> Admitted {
    Admitted::new(Platform::identical(cpus), spec)
}

#[test]
fn a_refusal_names_what_is_missing_and_what_would_fit() {
    let mut admitted = on(1, "p-edf");
    enter(&mut admitted, at(0), &task("a", 6, 10));
    let options = AdmitOptions { policies: vec!["p-rm".to_owned()], ..AdmitOptions::default() };
    let newcomer = task("b", 5, 10);
    let answer = admit(&registry(), &admitted, at(0), &Ask::Enter(&newcomer), &options).unwrap();
    let Admission::Refused(refused) = answer else { panic!("it does not fit") };
    assert_eq!(refused.shortfalls[0].missing(), Some(Rate::new(1, 10)));
    assert_eq!(refused.suggestions, [Suggestion::Runtime(Service::from_ms(4))]);
    let text = refused.to_string();
    assert!(text.contains("add up to 1.1, but at most 1 is allowed (0.1 too much)"), "{text}");
    assert!(text.contains("a runtime of 4ms would fit"), "{text}");
}

#[test]
fn other_cpus_and_other_policies_are_suggested_if_they_fit() {
    let mut admitted = on(2, "p-edf");
    enter(&mut admitted, at(0), &task("a", 6, 10).on(cpu(0)));
    let refused = refused(&admitted, at(0), Ask::Enter(&task("b", 5, 10).on(cpu(0))));
    assert!(refused.suggestions.contains(&Suggestion::Cpus(cpu(1))), "{refused}");
    // Response times accept 1/2 and 3/6; both together need EDF if the second is 3/5.
    let mut admitted = on(1, "p-rm");
    enter(&mut admitted, at(0), &task("a", 3, 6));
    let options = AdmitOptions { policies: vec!["p-edf".to_owned()], ..AdmitOptions::default() };
    let newcomer = task("b", 5, 10);
    let answer = admit(&registry(), &admitted, at(0), &Ask::Enter(&newcomer), &options).unwrap();
    let Admission::Refused(refused) = answer else { panic!("it does not fit") };
    assert!(refused.suggestions.contains(&Suggestion::Policy("p-edf".to_owned())), "{refused}");
}

#[test]
fn whoever_was_put_somewhere_stays_there() {
    let mut admitted = on(2, "p-edf:fit=ff");
    let cpus = |grant: Grant| grant.holding.unwrap().cpus;
    assert_eq!(cpus(enter(&mut admitted, at(0), &task("a", 4, 10))), cpu(0));
    assert_eq!(cpus(enter(&mut admitted, at(0), &task("b", 4, 10))), cpu(0));
    // A partition from scratch would put both on one CPU, and 7/10 on the other.
    assert_eq!(cpus(enter(&mut admitted, at(0), &task("c", 7, 10))), cpu(1));
    assert!(!ask(&admitted, at(0), Ask::Enter(&task("d", 4, 10))).is_granted());
    for spec in ["p-edf", "p-edf:fit=wf"] {
        let mut admitted = on(2, spec);
        assert_eq!(cpus(enter(&mut admitted, at(0), &task("a", 4, 10))), cpu(0));
        assert_eq!(cpus(enter(&mut admitted, at(0), &task("b", 4, 10))), cpu(1));
    }
    let mut admitted = on(2, "p-edf:fit=bf");
    enter(&mut admitted, at(0), &task("a", 1, 10).on(cpu(1)));
    assert_eq!(cpus(enter(&mut admitted, at(0), &task("b", 4, 10))), cpu(1));
}

#[test]
fn bandwidth_is_in_use_until_the_window_is_over() {
    let mut admitted = on(1, "p-edf");
    enter(&mut admitted, at(0), &task("a", 2, 10));
    enter(&mut admitted, at(0), &task("l", 8, 10));
    assert!(admitted.leave("l", at(3)));
    // This also holds for the departed task itself, if it comes back at once.
    for (name, now) in [("l", at(3)), ("n", Time::from_ns(12_999_999))] {
        let refused = refused(&admitted, now, Ask::Enter(&task(name, 8, 10)));
        assert!(refused.suggestions.contains(&Suggestion::Later(at(13))), "{refused}");
        assert_eq!(refused.leaving.len(), 1);
    }
    enter(&mut admitted, at(13), &task("n", 8, 10));
    // A caller that knows the state of the last job may report it.
    let mut admitted = on(1, "p-edf");
    enter(&mut admitted, at(0), &task("a", 2, 10));
    enter(&mut admitted, at(0), &task("l", 8, 10));
    assert!(admitted.leave_knowing("l", at(3), at(10)));
    enter(&mut admitted, at(10), &task("n", 8, 10));
}

/// The example of the module's documentation.
#[test]
fn what_demand_let_in_stays_until_the_cpu_was_quiet() {
    let mut admitted = on(1, "p-edf");
    enter(&mut admitted, at(0), &due("a", 10, 12, 1000));
    let grant = enter(&mut admitted, at(0), &task("l", 2, 10));
    assert_eq!((grant.rule, grant.decided_by), (Rule::Quiet, Some("QPA")));
    assert!(admitted.leave_knowing("l", at(0), at(10)));
    let n = due("n", 2, 2, 100);
    // At its deadline `l` still counts.
    let refused = refused(&admitted, at(10), Ask::Enter(&n));
    // `l` and `a` together are busy for 14 ms, and with `n` for 16.
    assert!(refused.suggestions.contains(&Suggestion::Later(at(14))), "{refused}");
    let mut quiet = admitted.clone();
    quiet.quiet(&cpu(0));
    enter(&mut quiet, at(10), &n);
    enter(&mut admitted, at(14), &n);
}

#[test]
fn the_larger_of_two_densities_counts_while_a_task_changes() {
    let mut admitted = on(1, "p-edf");
    enter(&mut admitted, at(0), &task("a", 6, 10));
    granted(&mut admitted, at(1), Ask::Change(&task("a", 5, 10)));
    enter(&mut admitted, at(2), &task("b", 4, 10));
    assert!(!ask(&admitted, at(10), Ask::Enter(&task("c", 1, 10))).is_granted());
    enter(&mut admitted, at(11), &task("c", 1, 10));
    assert!(!ask(&admitted, at(50), Ask::Change(&task("a", 6, 10))).is_granted());
}

/// A change to the same parameters counts once, under either rule.
#[test]
fn a_task_that_asks_for_what_it_has_is_still_there() {
    for spec in ["p-edf", "p-rm", "c-rm"] {
        let mut admitted = on(1, spec);
        enter(&mut admitted, at(0), &task("a", 6, 10));
        granted(&mut admitted, at(1), Ask::Change(&task("a", 6, 10).on(cpu(0))));
        assert!(!ask(&admitted, at(2), Ask::Enter(&task("b", 5, 10))).is_granted(), "{spec}");
    }
}

#[test]
fn other_cpus_need_an_instant_without_a_pending_job() {
    let mut admitted = on(2, "p-edf");
    enter(&mut admitted, at(0), &task("a", 6, 10).on(cpu(0)));
    let grant = granted(&mut admitted, at(1), Ask::Change(&task("a", 6, 10).on(cpu(1))));
    assert_eq!(grant.carry_out, CarryOut::BetweenJobs);
    assert_eq!(grant.holding.unwrap().cpus, cpu(1));
    // No other task was there, so the CPU is empty.
    enter(&mut admitted, at(1), &task("b", 10, 10).on(cpu(0)));
}

#[test]
fn a_server_keeps_the_time_between_deadline_and_period() {
    let mut admitted = on(1, "dl");
    enter(&mut admitted, at(0), &due("a", 2, 8, 10));
    for wrong in [due("a", 1, 5, 10), due("a", 1, 9, 10), task("a", 1, 5)] {
        let refused = refused(&admitted, at(1), Ask::Change(&wrong));
        assert!(matches!(refused.shortfalls[0], Shortfall::Anew { .. }), "{refused}");
    }
    granted(&mut admitted, at(1), Ask::Change(&due("a", 1, 10, 12)));
    let mut trusted = Admitted { overruns: Overruns::Excluded, ..on(1, "dl") };
    enter(&mut trusted, at(0), &due("a", 2, 8, 10));
    granted(&mut trusted, at(1), Ask::Change(&due("a", 1, 9, 10)));
}

/// A set that the demand test accepts: 3 due in 4 and 3 due in 10, of 10 each, with densities of
/// 1.05 together.
#[test]
fn servers_that_may_overrun_need_densities() {
    let (a, b) = (due("a", 3, 4, 10), task("b", 3, 10));
    let mut admitted = on(1, "dl");
    enter(&mut admitted, at(0), &a);
    let answer = refused(&admitted, at(0), Ask::Enter(&b));
    assert!(matches!(answer.shortfalls[1], Shortfall::MayResume { .. }), "{answer}");
    let mut admitted = Admitted { overruns: Overruns::Excluded, ..on(1, "dl") };
    enter(&mut admitted, at(0), &a);
    assert_eq!(enter(&mut admitted, at(0), &b).rule, Rule::Quiet);
}

#[test]
fn cpus_go_if_everybody_keeps_its_deadlines() {
    let mut admitted = on(3, "g-edf");
    enter(&mut admitted, at(0), &task("a", 5, 10));
    enter(&mut admitted, at(0), &task("b", 5, 10));
    enter(&mut admitted, at(0), &task("c", 5, 10));
    granted(&mut admitted, at(1), Ask::Lose(&cpu(2)));
    assert_eq!(admitted.platform.clusters, [CpuSet::first(2)]);
    assert!(admitted.tasks().all(|holding| holding.cpus == CpuSet::first(2)));
    assert!(!ask(&admitted, at(2), Ask::Lose(&cpu(1))).is_granted());
    let mut admitted = on(2, "p-edf");
    enter(&mut admitted, at(0), &task("a", 5, 10));
    let refused = refused(&admitted, at(0), Ask::Lose(&cpu(0)));
    assert_eq!(refused.shortfalls, [Shortfall::NoCpus { allowed: cpu(0) }]);
    granted(&mut admitted, at(0), Ask::Lose(&cpu(1)));
}

#[test]
fn tardiness_is_promised_where_it_is_wanted() {
    let soft = |name: &str, ms| Reservation {
        guarantee: Guarantee::Tardiness(Duration::from_ms(ms)),
        ..task(name, 6, 10)
    };
    let mut admitted = on(2, "g-edf");
    enter(&mut admitted, at(0), &soft("a", 20));
    enter(&mut admitted, at(0), &soft("b", 20));
    // 1.8 of 2 CPUs: deadlines may be missed, and no guarantee may be tighter than the bound.
    let grant = enter(&mut admitted, at(0), &soft("c", 20));
    assert_eq!(grant.rule, Rule::Quiet);
    let late = refused(&admitted, at(0), Ask::Enter(&soft("d", 20)));
    assert!(late.suggestions.iter().any(|it| matches!(it, Suggestion::Runtime(_))), "{late}");
    let mut hard = on(2, "g-edf");
    enter(&mut hard, at(0), &task("a", 6, 10));
    enter(&mut hard, at(0), &task("b", 6, 10));
    let refused = refused(&hard, at(0), Ask::Enter(&soft("c", 20)));
    let late = refused.shortfalls.iter().filter(|it| matches!(it, Shortfall::Bound { .. }));
    assert_eq!(late.count(), 2, "{refused}");
}

/// Found by the campaign (`weak-dm`): the pending job of a task keeps its guarantee after a change.
#[test]
fn the_last_job_before_a_change_keeps_its_promise() {
    let soft = |task: Reservation| Reservation {
        guarantee: Guarantee::Tardiness(Duration::from_ms(2)),
        ..task
    };
    let mut admitted = on(1, "p-dm");
    enter(&mut admitted, at(0), &soft(task("a", 12, 20)));
    granted(&mut admitted, at(1), Ask::Change(&soft(task("a", 1, 6))));
    // 12 + 9 + 1 and more, due in 20 and 2.
    let newcomer = soft(due("b", 9, 19, 20));
    let answer = refused(&admitted, at(1), Ask::Enter(&newcomer));
    assert!(matches!(answer.shortfalls[0], Shortfall::Bound { .. }), "{answer}");
    admitted.quiet(&cpu(0));
    enter(&mut admitted, at(13), &newcomer);
}

#[test]
fn adaptive_policies_are_not_trusted_with_what_seems_to_be_free() {
    let mut admitted = on(2, "apedf");
    for name in ["a", "b", "l"] {
        enter(&mut admitted, at(0), &task(name, 4, 10));
    }
    assert!(admitted.leave("l", at(1)));
    // 8/10, and `l` is in use until 11: the policy would place the newcomer where `l` was.
    assert!(!ask(&admitted, at(2), Ask::Enter(&task("n", 4, 10))).is_granted());
    enter(&mut admitted, at(11), &task("n", 4, 10));
    // Lopez et al. allow 5/3 for tasks of at most 1/2.
    enter(&mut admitted, at(11), &task("o", 3, 10));
    assert!(!ask(&admitted, at(11), Ask::Enter(&task("p", 5, 10))).is_granted());
}

#[test]
fn questions_without_an_answer_are_errors() {
    let admitted = on(1, "run");
    let a = task("a", 1, 10);
    let ask = |admitted: &Admitted, ask: Ask<'_>| {
        admit(&registry(), admitted, at(0), &ask, &AdmitOptions::default()).map(|_| ())
    };
    assert!(matches!(ask(&admitted, Ask::Enter(&a)), Err(AdmissionError::TakesNobody { .. })));
    assert!(matches!(ask(&on(1, "nothing"), Ask::Enter(&a)), Err(AdmissionError::Policy(_))));
    let own = ask(&on(2, "c-edf:size=1"), Ask::Enter(&a));
    assert!(matches!(own, Err(AdmissionError::OwnClusters { .. })));
    let mut admitted = on(1, "p-edf");
    assert!(matches!(ask(&admitted, Ask::Change(&a)), Err(AdmissionError::Unknown { .. })));
    let nothing = Reservation { runtime: Service::ZERO, ..a.clone() };
    assert!(matches!(ask(&admitted, Ask::Enter(&nothing)), Err(AdmissionError::Invalid(_))));
    enter(&mut admitted, at(0), &a);
    assert!(matches!(ask(&admitted, Ask::Enter(&a)), Err(AdmissionError::NameTaken { .. })));
    let elsewhere = task("b", 1, 10).on(cpu(7));
    let answer = refused(&admitted, at(0), Ask::Enter(&elsewhere));
    assert!(matches!(answer.shortfalls[..], [Shortfall::NoCpus { .. }]), "{answer}");
}
