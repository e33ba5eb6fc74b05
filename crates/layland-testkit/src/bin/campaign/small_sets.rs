//! The arguments of the campaigns about small systems of some policies.

use layland_testkit::registry;
use std::process::ExitCode;

/// The systems that a campaign draws, for each of its policies.
pub(crate) struct SmallSets {
    pub(crate) specs: Vec<String>,
    pub(crate) sets: u64,
    pub(crate) seed: u64,
    /// The largest number of tasks.
    pub(crate) tasks: u64,
    /// True if the flag of the campaign was given.
    pub(crate) flag: bool,
}

impl SmallSets {
    /// Reads `[POLICY..] [--sets N] [--seed N] [--tasks N]` and perhaps a flag. Without policies, those
    /// of the function are taken. Prints what is wrong, with the usage.
    pub(crate) fn asked(
        words: &[String],
        (sets, tasks): (u64, u64),
        flag: Option<&str>,
        usual: impl FnOnce() -> Vec<String>,
        usage: &str,
    ) -> Result<SmallSets, ExitCode> {
        let asked = SmallSets { specs: Vec::new(), sets, seed: 1, tasks, flag: false };
        let mut asked = asked.with(words, flag).map_err(|error| {
            eprintln!("error: {error}\n{usage}");
            ExitCode::from(2)
        })?;
        if asked.specs.is_empty() {
            asked.specs = usual();
        }
        Ok(asked)
    }

    fn with(mut self, words: &[String], flag: Option<&str>) -> Result<SmallSets, String> {
        let mut words = words.iter().cloned();
        while let Some(word) = words.next() {
            let mut number = || {
                let text = words.next().ok_or(format!("{word} needs a value"))?;
                text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"))
            };
            match word.as_str() {
                "--sets" => self.sets = number()?,
                "--seed" => self.seed = number()?,
                "--tasks" => self.tasks = number()?.clamp(2, 6),
                other if Some(other) == flag => self.flag = true,
                spec => {
                    registry().parse(spec).map_err(|error| error.to_string())?;
                    self.specs.push(spec.to_owned());
                }
            }
        }
        Ok(self)
    }
}
