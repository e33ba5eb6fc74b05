//! The time window of a chart, if the user names none.

use layland_model::{Duration, System, Time};

/// The approximate number of jobs and preemptions that fit into a chart.
pub(crate) const SEGMENTS: i64 = 160;

/// Returns a window of about this length within a run up to `end`. Two thirds of it lie before the
/// first miss; without a miss it begins at 0. It consists of whole periods of the most frequent
/// task of `system`; without a system, or if it is shorter, both its ends are round numbers.
pub(crate) fn around(
    span: i64,
    end: Time,
    first_miss: Option<Time>,
    system: Option<&System>,
) -> (Time, Time) {
    let span = span.clamp(1, end.ns());
    let tasks = system.into_iter().flat_map(|system| system.tasks.values());
    let period = tasks.map(|task| task.period.ns()).min();
    let step = period.filter(|period| (1..=span).contains(period)).unwrap_or_else(|| step(span));
    let span = Duration::from_ns(span / step * step);
    let from = first_miss
        .map_or(Time::ZERO, |miss| Time::ZERO.max(miss - Duration::from_ns(span.ns() / 3 * 2)));
    let from = Time::from_ns(from.min(end - span).ns() / step * step);
    match first_miss.filter(|&miss| miss >= from + span) {
        // A period may be longer than a third of the window.
        Some(miss) => {
            let to = Time::from_ns(miss.ns() / step * step + step).min(end);
            (Time::ZERO.max(to - span), to)
        }
        None => (from, from + span),
    }
}

/// Returns [`around`] the earliest of the first misses of several runs, longer by up to twice its
/// length where that shows the first misses of the others.
pub(crate) fn around_all(
    span: i64,
    end: Time,
    first_misses: &[Time],
    system: Option<&System>,
) -> (Time, Time) {
    let (from, to) = around(span, end, first_misses.iter().min().copied(), system);
    let most = to.saturating_add(Duration::from_ns((to - from).ns().saturating_mul(2)));
    let last = first_misses.iter().copied().filter(|&miss| (to..most).contains(&miss)).max();
    let Some(last) = last else { return (from, to) };
    let tasks = system.into_iter().flat_map(|system| system.tasks.values());
    let step = tasks.map(|task| task.period.ns()).min().unwrap_or(1).max(1);
    (from, Time::from_ns((last.ns() / step).saturating_add(1).saturating_mul(step)).min(end))
}

/// Returns the unit of the third digit of a number. Charts begin and end at multiples of it.
fn step(length: i64) -> i64 {
    let mut step = 1;
    while length / step >= 1000 {
        step *= 10;
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Service, Task};

    #[test]
    fn the_first_miss_is_in_the_window() {
        let ms = Time::from_ms;
        for period in [1, 3, 7, 10, 25] {
            let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(period));
            let system = System::new(1, vec![task]);
            for span in [1_000_000, 9_000_000, 30_000_000, 77_000_000] {
                for miss in [0, 5, 11, 12, 40, 99] {
                    for of in [Some(&system), None] {
                        let (from, to) = around(span, ms(100), Some(ms(miss)), of);
                        assert!(from <= ms(miss) && ms(miss) < to, "{period} {span} {miss}");
                        assert!(Time::ZERO <= from && to <= ms(100), "{period} {span} {miss}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_misses_of_all_runs_are_in_the_window() {
        let ms = Time::from_ms;
        let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(8));
        let system = System::new(1, vec![task]);
        let (from, to) = around_all(30_000_000, ms(90), &[ms(32), ms(10)], Some(&system));
        assert_eq!((from, to), (ms(0), ms(40)));
        // One that is far away would make the others small.
        let (from, to) = around_all(30_000_000, ms(900), &[ms(10), ms(800), ms(12)], Some(&system));
        assert_eq!((from, to), (ms(0), ms(24)));
    }
}
