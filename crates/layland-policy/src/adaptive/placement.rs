//! The options by which adaptively partitioned policies place threads.

use crate::Refusal;
use crate::info::PolicyOptions;
use layland_model::Rate;

/// The jobs that are placed again on an overloaded CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Each job.
    Printed,
    /// The jobs that cannot run at once.
    Waiting,
    /// As `Waiting`, with the pushes and pulls of the kernel of the authors.
    Kernel,
    /// As `Kernel`, but preempted threads can be pulled.
    Pulling,
}

impl Place {
    /// Returns true if threads are pushed and pulled as in the kernel of the authors.
    pub(crate) fn is_kernel(self) -> bool {
        match self {
            Place::Printed | Place::Waiting => false,
            Place::Kernel | Place::Pulling => true,
        }
    }
}

/// The CPU that is taken of those that a thread fits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The lowest.
    First,
    /// The emptiest.
    Worst,
}

/// The options by which both policies place threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub limit: Rate,
    pub place: Place,
    pub fit: Fit,
    pub fallback: bool,
}

impl Placement {
    /// Reads the options.
    pub(crate) fn of(options: &PolicyOptions) -> Result<Placement, Refusal> {
        let limit = options.rate("limit")?.unwrap_or(Rate::ONE);
        if limit > Rate::ONE {
            return Err(Refusal::invalid(format!(
                "limit=`{limit}` is more than a CPU has: it is at most 1"
            )));
        }
        let places = [
            ("printed", Place::Printed),
            ("waiting", Place::Waiting),
            ("kernel", Place::Kernel),
            ("pulling", Place::Pulling),
        ];
        let fits = [("first", Fit::First), ("worst", Fit::Worst)];
        Ok(Placement {
            limit,
            place: options.one_of("place", &places)?.unwrap_or(Place::Printed),
            fit: options.one_of("fit", &fits)?.unwrap_or(Fit::First),
            fallback: options.switch("fallback", true)?,
        })
    }

    /// Returns true if threads are placed by Algorithm 1 as printed, with or without its last part.
    pub(crate) fn is_printed(&self) -> bool {
        self.limit == Rate::ONE && self.place == Place::Printed && self.fit == Fit::First
    }
}
