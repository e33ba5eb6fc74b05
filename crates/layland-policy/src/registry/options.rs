//! The options of policies: what they can be, and what they are.

use crate::{Refusal, fair};
use layland_model::Rate;
use std::fmt;

/// An option of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its name.
    pub name: &'static str,
    /// What it does, with its values and the default.
    pub help: &'static str,
    /// What it can be.
    pub values: Values,
}

/// What an option can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// On or off.
    Switch,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number from 0 on.
    Number,
    /// A fraction or a decimal above 0.
    Rate,
    /// Numbers of CPUs.
    Cpus,
    /// Items in bins.
    Bins,
}

impl Values {
    /// Whether a text is such a value.
    pub fn accepts(self, text: &str) -> bool {
        match self {
            Values::Switch => matches!(text, "on" | "off" | "true" | "false"),
            Values::OneOf(words) => words.contains(&text),
            Values::Number => text.parse::<usize>().is_ok(),
            Values::Rate => text.parse().is_ok_and(|rate: Rate| rate > Rate::ZERO),
            Values::Cpus => text.split(',').all(|cpu| cpu.trim().parse::<u32>().is_ok()),
            Values::Bins => fair::parse_rounds(text).is_ok(),
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Switch => f.write_str("on or off"),
            Values::OneOf([rest @ .., last]) if !rest.is_empty() => {
                write!(f, "{} or {last}", rest.join(", "))
            }
            Values::OneOf(words) => f.write_str(&words.concat()),
            Values::Number => f.write_str("a whole number"),
            Values::Rate => f.write_str("a number above 0, such as 19/20 or 0.95"),
            Values::Cpus => f.write_str("CPUs, such as 0,2,1"),
            Values::Bins => f.write_str("bins of numbers, such as 0+1/2"),
        }
    }
}

/// The options of a policy, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(pub(super) Vec<(String, String)>);

impl Options {
    /// The value of an option as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
    }

    /// The value of an option that is on or off.
    ///
    /// # Errors
    /// If it is neither.
    pub fn switch(&self, name: &str, default: bool) -> Result<bool, Refusal> {
        match self.text(name) {
            None => Ok(default),
            Some("on" | "true") => Ok(true),
            Some("off" | "false") => Ok(false),
            Some(other) => Err(Refusal::invalid(format!("{name}=`{other}` is neither on nor off"))),
        }
    }

    /// The value of an option that is one of these words; none if it is not given.
    ///
    /// # Errors
    /// If it is none of them.
    pub fn one_of<T: Copy>(
        &self,
        option: &OptionInfo,
        values: &[(&str, T)],
    ) -> Result<Option<T>, Refusal> {
        let find = |text: &str| {
            let found = values.iter().find(|(word, _)| *word == text).map(|&(_, value)| value);
            let (name, known) = (option.name, option.values);
            found.ok_or_else(|| Refusal::invalid(format!("{name}=`{text}` is not {known}")))
        };
        self.text(option.name).map(find).transpose()
    }

    /// The value of an option as a number.
    ///
    /// # Errors
    /// If it is not a number.
    pub fn number(&self, name: &str) -> Result<Option<usize>, Refusal> {
        let parse = |text: &str| {
            text.parse().map_err(|_| Refusal::invalid(format!("{name}=`{text}` is not a number")))
        };
        self.text(name).map(parse).transpose()
    }
}
