//! Mixed-criticality tasks with two execution times each (Huang, Gill, Lu 2014, Section 4).
//!
//! Task `i`, from 0, has level `i mod N`. Let `Cn = max(1 granule, floor(u T))`, as without levels,
//! and `Co = ceil(CF Cn)`, in whole granules. `C(l)` is `Cn` below the task's own level and `Co`
//! from there on. A task of the lowest level thus has `Co` at every level. This is the literal
//! reading of the paper, agrees with its Table I, and makes the share of accepted sets rise with
//! the number of levels, as it reports. The paper does not specify how `CF Cn` is rounded.

use crate::GenError;
use crate::parameters::{Reader, Writer};
use layland_model::{Criticality, Duration, Levels, Rate, Service, Task};

/// Levels in turn, and two execution times per task: one below its own level and one from there on.
///
/// ```
/// use layland_gen::{Recipe, TwoBudgets, Utilizations};
/// use layland_model::Rate;
/// let utilizations = Utilizations::UUniFast { tasks: 20, total: Rate::new(3, 5) };
/// let two_budgets = Some(TwoBudgets::new(4, Rate::new(3, 2)));
/// let recipe = Recipe { two_budgets, ..Recipe::new(1, utilizations, 7) };
/// let system = recipe.generate(0).unwrap();
/// assert_eq!(system.validate(), []);
/// let levels: Vec<u8> = system.tasks.values().map(|task| task.criticality.0).collect();
/// assert_eq!(levels[..6], [0, 1, 2, 3, 0, 1]);
/// for task in system.tasks.values() {
///     let (own, below) = (task.criticality.level(), task.wcet[0].ns());
///     assert!(task.wcet[..own].iter().all(|c| c.ns() == below));
///     assert!(task.wcet[own..].iter().all(|c| *c == task.own_wcet()));
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TwoBudgets {
    /// The number of levels, `N`.
    pub levels: usize,
    /// The factor `CF`, at least 1.
    pub factor: Rate,
    /// True if tasks of the lowest level also have `Co`; otherwise they keep `Cn`.
    pub lowest_grows: bool,
}

impl TwoBudgets {
    /// Returns the parameters as in the paper.
    pub fn new(levels: usize, factor: Rate) -> TwoBudgets {
        TwoBudgets { levels, factor, lowest_grows: true }
    }

    pub(crate) fn check(&self) -> Result<(), GenError> {
        if !(1..=255).contains(&self.levels) {
            let help = "1 to 255 levels are possible";
            return Err(GenError::parameter("levels", self.levels, help));
        }
        if self.factor < Rate::ONE || self.factor > Rate::whole(1000) {
            let help = "it is 1 at least and 1000 at most";
            return Err(GenError::parameter("level factor", &self.factor, help));
        }
        Ok(())
    }

    /// The names of the levels.
    pub(crate) fn names(&self) -> Levels {
        match self.levels {
            1 => Levels::default(),
            more => Levels::new((0..more).map(|level| format!("L{level}")).collect()),
        }
    }

    /// Sets the level and the other times of the `index`-th task, which has one execution time.
    pub(crate) fn apply(&self, task: &mut Task, index: usize, granule: Duration) {
        let level = index % self.levels;
        let below = task.wcet[0];
        let grown = if level == 0 && !self.lowest_grows {
            below
        } else {
            let granules = &self.factor * &Rate::new(below.ns(), granule.ns());
            let ns = granules.ceil().and_then(|n| n.checked_mul(granule.ns()));
            Service::from_ns(ns.unwrap_or(i64::MAX))
        };
        task.wcet = (0..self.levels).map(|l| if l < level { below } else { grown }).collect();
        task.criticality = Criticality(level as u8);
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        to.put("two-budgets.levels", self.levels);
        to.put("two-budgets.factor", &self.factor);
        to.put("two-budgets.lowest_grows", self.lowest_grows);
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Option<TwoBudgets>, GenError> {
        if from.find::<String>("two-budgets.levels")?.is_none() {
            return Ok(None);
        }
        let mut from = from.part("two-budgets");
        Ok(Some(TwoBudgets {
            levels: from.get("levels")?,
            factor: from.get("factor")?,
            lowest_grows: from.get("lowest_grows")?,
        }))
    }
}
