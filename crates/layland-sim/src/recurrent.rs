//! The figures of a long run of a schedule that recurs, from a few turns of its cycle.
//!
//! Let the state at time `a` recur at `a + L`. Then it also recurs from `a + r` to `a + L + r`, for
//! every `r`. A run up to `a + L + r + k L` has `k` more turns than one up to `a + L + r`, each with
//! what that one has more than a run up to `a + r`.

use crate::figures::Figures;
use crate::options::{EventLoop, Horizon, Outcome, SimOptions, last_offset};
use crate::simulator::simulate;
use layland_model::{Duration, System, Time};
use layland_policy::{Policy, State};
use layland_trace::{Both, FirstMiss, NoRecord, Refusals, Statistics};

/// The number of hyperperiods in which a cycle is searched for.
const SEARCHED: i64 = 4;
/// The least number of hyperperiods of a run for which a search pays: one in vain costs a tenth.
const MANY: i64 = 64;

/// Simulates a run whose schedule recurs soon. Returns `None` for every other run, and for one that
/// is interrupted: it is to be simulated event by event.
pub(crate) fn figures(
    system: &System,
    policy: &dyn Policy,
    options: &SimOptions<'_>,
) -> Option<(Figures, Outcome<()>)> {
    let is_plain = options.explore.is_none() && options.event_loop == EventLoop::Fitting;
    let end = match options.horizon {
        Horizon::At(_) | Horizon::Hyperperiods(_) if is_plain => {
            options.horizon.end(system).ok()?
        }
        Horizon::At(_) | Horizon::Hyperperiods(_) | Horizon::Recurrence { .. } => return None,
    };
    let every = system.hyperperiod()?;
    let at = |turns: i64| Some(last_offset(system).saturating_add(every.checked_mul(turns)?));
    if end < at(MANY)? || !system.requests.is_empty() {
        return None;
    }
    // A policy of another language may not know its state, and says a different one each time.
    let state = || {
        let mut state = State::default();
        policy.save(Time::ZERO, &mut state);
        state
    };
    if state() != state() {
        return None;
    }
    let search = Horizon::Recurrence { at_most: at(SEARCHED)? };
    let searched = SimOptions { horizon: search, ..*options };
    let found = simulate(system, policy.clone_policy(), &mut NoRecord, &searched).ok()?;
    let cycle = found.cycle?;
    let again = cycle.from.saturating_add(cycle.length);
    let left = (end - again).ns();
    let (turns, rest) = (left / cycle.length.ns(), left % cycle.length.ns());
    let run = |until: Time| {
        let statistics = Statistics::new(system.tasks.len(), system.platform.cpu_count());
        let mut recorder = Both(statistics, Both(FirstMiss::default(), Refusals::default()));
        let horizon = Horizon::At(until.saturating_add(Duration::from_ns(rest)));
        let options = SimOptions { horizon, ..*options };
        let outcome = simulate(system, policy.clone_policy(), &mut recorder, &options).ok()?;
        (!outcome.interrupted).then(|| (recorder, outcome.without_policy()))
    };
    let (earlier, before) = run(cycle.from)?;
    let (later, after) = run(again)?;
    let turns = u64::try_from(turns).ok()?;
    // A job that is late in a further turn has a twin in the first one, which is late, too.
    let Both(statistics, firsts) = later;
    let recorder = Both(statistics.after(&earlier.0, turns, end), firsts);
    let more = |now: u64, before: u64| now + turns * (now - before);
    let outcome = Outcome {
        policy: (),
        end,
        interrupted: false,
        cycle: None,
        events: more(after.events, before.events),
        decisions: more(after.decisions, before.decisions),
    };
    Some((recorder, outcome))
}
