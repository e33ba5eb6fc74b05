//! Finds the times between the captures of a text that consists of several.

use super::line::Event;

/// A time without events is a gap if it is at least
/// this long, and this many times as long as the rest.
const GAP_NS: i64 = 1_000_000_000;
const GAP_TIMES: i64 = 10;
/// The least number of events in each of several captures.
const CAPTURE: usize = 20;

/// Returns the times between the captures of a text, in order: times without events, each of which
/// is much longer than all captures together.
pub(super) fn gaps(events: &[Event<'_>]) -> Vec<(i64, i64)> {
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return Vec::new() };
    let apart = |at: usize| events[at].at.saturating_sub(events[at - 1].at);
    // The indices of the events after the longest times, the longest first.
    let mut longest: Vec<usize> = (1..events.len()).filter(|&at| apart(at) >= GAP_NS).collect();
    longest.sort_by_key(|&at| (std::cmp::Reverse(apart(at)), at));
    let mut rest = last.at.saturating_sub(first.at);
    let mut count = 0;
    // The events at which captures begin, and the end.
    let mut begins = vec![0, events.len()];
    for (more, &at) in longest.iter().enumerate() {
        rest = rest.saturating_sub(apart(at));
        begins.push(at);
        begins.sort_unstable();
        // A rare job is not a capture of its own.
        let is_told = more == 0 || begins.windows(2).all(|pair| pair[1] - pair[0] >= CAPTURE);
        if !is_told {
            break;
        }
        if apart(at) >= rest.saturating_mul(GAP_TIMES) {
            count = more + 1;
        }
    }
    let mut found = longest[..count].to_vec();
    found.sort_unstable();
    found.iter().map(|&at| (events[at - 1].at, events[at].at)).collect()
}
