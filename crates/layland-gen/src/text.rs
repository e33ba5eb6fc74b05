//! Parses parts of a recipe from single words, as in the command line and in experiment files.
//!
//! ```
//! use layland_gen::{Affinities, text};
//! assert_eq!(text::affinities("levels:2"), Ok(Affinities::Levels { sockets: 2 }));
//! assert!(text::affinities("levels").unwrap_err().contains("as in levels:2"));
//! ```
//!
//! Every error is a sentence with the expected form.

use crate::{Affinities, Arrivals, Deadlines, Offsets, Periods, Regions};
use layland_model::{Duration, ParseTimeError, Rate, Service};

/// Splits `name:rest`; a plain `name` has an empty rest.
fn parts(text: &str) -> (&str, &str) {
    text.split_once(':').unwrap_or((text, ""))
}

fn duration(text: &str) -> Result<Duration, String> {
    text.trim().parse().map_err(|error: ParseTimeError| format!("{error}: {}", error.help()))
}

/// Parses `MIN..MAX`, or one number for both.
pub fn rates(text: &str) -> Result<(Rate, Rate), String> {
    let rate = |text: &str| text.trim().parse::<Rate>().map_err(|error| error.to_string());
    match text.split_once("..") {
        Some((min, max)) => Ok((rate(min)?, rate(max)?)),
        None => rate(text).map(|both| (both.clone(), both)),
    }
}

/// Parses `MIN..MAX`, or one number for both.
pub fn counts(text: &str) -> Result<(u32, u32), String> {
    let count = |part: &str| {
        part.trim().parse::<u32>().map_err(|_| format!("`{text}` is not MIN..MAX, as in 5..20"))
    };
    match text.split_once("..") {
        Some((min, max)) => Ok((count(min)?, count(max)?)),
        None => count(text).map(|both| (both, both)),
    }
}

/// Parses `MIN..MAX`, or the ranges of experiments with SchedCAT: `short` (1us..15us), `medium`
/// (1us..100us) or `long` (5us..1280us).
pub fn sections(text: &str) -> Result<(Service, Service), String> {
    let text = match text {
        "short" => "1us..15us",
        "medium" => "1us..100us",
        "long" => "5us..1280us",
        text => text,
    };
    let (min, max) = text.split_once("..").unwrap_or((text, text));
    Ok((duration(min)?.at_unit_speed(), duration(max)?.at_unit_speed()))
}

/// Parses `MIN..MAX` of the period minus the WCET; `short`
/// is 0.01..0.1, `medium` 0.1..0.3 and `long` 0.3..0.6.
pub fn suspension(text: &str) -> Result<(Rate, Rate), String> {
    match text {
        "short" => rates("0.01..0.1"),
        "medium" => rates("0.1..0.3"),
        "long" => rates("0.3..0.6"),
        text => rates(text),
    }
}

/// Parses `segments:MIN..MAX`, `floating:MIN..MAX` of the WCET, or `whole`.
pub fn regions(text: &str) -> Result<Regions, String> {
    let needs = |example| format!("`{text}` needs MIN..MAX, as in {example}");
    match parts(text) {
        ("segments", "") => Err(needs("segments:2..5")),
        ("segments", rest) => counts(rest).map(|count| Regions::Segments { count }),
        ("floating", "") => Err(needs("floating:0.1..0.3")),
        ("floating", rest) => rates(rest).map(|share| Regions::Floating { share }),
        ("whole", "") => Ok(Regions::Whole),
        _ => Err(format!(
            "`{text}` regions are not known: use segments:MIN..MAX, floating:MIN..MAX or whole"
        )),
    }
}

/// Parses a factor by which execution times grow: 1 to 1000.
pub fn factor(text: &str) -> Result<Rate, String> {
    let factor = text.trim().parse::<Rate>().map_err(|error| error.to_string())?;
    if factor < Rate::ONE || factor > Rate::whole(1000) {
        Err(format!("a factor is 1 at least and 1000 at most, and not {factor}"))
    } else {
        Ok(factor)
    }
}

/// Parses `MIN..MAX`, `heavy` or `medium`.
pub fn range(text: &str) -> Result<(Rate, Rate), String> {
    match text {
        "heavy" => rates("0.5..0.9"),
        "medium" => rates("0.1..0.5"),
        text => rates(text),
    }
}

/// Parses `log:10ms..1s`, `uniform:10ms..100ms`, `harmonic:5ms,8ms*2^4` or `list:5ms,10ms`.
pub fn periods(text: &str, granularity: Duration) -> Result<Periods, String> {
    let (kind, rest) = parts(text);
    let range = || -> Result<(Duration, Duration), String> {
        let (min, max) = rest.split_once("..").ok_or_else(|| format!("`{text}` needs MIN..MAX"))?;
        Ok((duration(min)?, duration(max)?))
    };
    let list = |text: &str| text.split(',').map(duration).collect::<Result<Vec<_>, _>>();
    match kind {
        "log" => range().map(|(min, max)| Periods::LogUniform { min, max, granularity }),
        "uniform" => range().map(|(min, max)| Periods::Uniform { min, max, granularity }),
        "list" => list(rest).map(Periods::Choice),
        "harmonic" => {
            let (bases, power) = rest.split_once('*').unwrap_or((rest, "2^4"));
            let numbers = power.split_once('^').and_then(|(factor, powers)| {
                Some((factor.trim().parse().ok()?, powers.trim().parse().ok()?))
            });
            let (factor, powers) =
                numbers.ok_or_else(|| format!("`{power}` is not FACTOR^POWERS, as in 2^4"))?;
            Ok(Periods::Harmonic { bases: list(bases)?, factor, powers })
        }
        _ => Err(format!("`{kind}` periods are not known: use log, uniform, harmonic or list")),
    }
}

/// Parses `implicit`, `constrained:MIN..MAX` or `factor:MIN..MAX`.
pub fn deadlines(text: &str) -> Result<Deadlines, String> {
    let (kind, rest) = parts(text);
    match kind {
        "implicit" => Ok(Deadlines::Implicit),
        "constrained" => {
            let (min, max) = if rest.is_empty() { (Rate::ZERO, Rate::ONE) } else { rates(rest)? };
            Ok(Deadlines::Constrained { min, max })
        }
        "factor" => rates(rest).map(|(min, max)| Deadlines::Factor { min, max }),
        _ => Err(format!("`{kind}` deadlines are not known: use implicit, constrained or factor")),
    }
}

/// Parses `synchronous` or `uniform`.
pub fn offsets(text: &str) -> Result<Offsets, String> {
    match text {
        "synchronous" => Ok(Offsets::Synchronous),
        "uniform" => Ok(Offsets::Uniform),
        _ => Err(format!("`{text}` offsets are not known: use synchronous or uniform")),
    }
}

/// Parses `periodic`, `sporadic:MAX` or `exponential:MEAN..MAX`.
pub fn arrivals(text: &str) -> Result<Arrivals, String> {
    let (kind, rest) = parts(text);
    match kind {
        "periodic" => Ok(Arrivals::Periodic),
        "sporadic" => {
            let max = if rest.is_empty() { Rate::ONE } else { rates(rest)?.1 };
            Ok(Arrivals::Uniform { max })
        }
        "exponential" => rates(rest).map(|(mean, max)| Arrivals::Exponential { mean, max }),
        _ => Err(format!("`{kind}` arrivals are not known: use periodic, sporadic or exponential")),
    }
}

/// Parses `global`, `clustered:K`, `partitioned`, `round-robin`, `levels:SOCKETS` or `nested`.
pub fn affinities(text: &str) -> Result<Affinities, String> {
    let (kind, rest) = parts(text);
    let count = || rest.parse().map_err(|_| format!("`{text}` needs a number, as in {kind}:2"));
    match kind {
        "global" => Ok(Affinities::Global),
        "clustered" => Ok(Affinities::Clustered { clusters: count()? }),
        "partitioned" => Ok(Affinities::Partitioned),
        "round-robin" => Ok(Affinities::RoundRobin),
        "levels" => Ok(Affinities::Levels { sockets: count()? }),
        "nested" => Ok(Affinities::Nested),
        _ => Err(format!(
            "`{kind}` affinities are not known: use global, clustered, partitioned, round-robin, levels or nested"
        )),
    }
}
