//! The structure that a policy derives from a task set before the first release ([`Structure`]).

mod draw;
pub(crate) mod levels;

use crate::{Unanswered, unknown_policy};
use layland_model::shown::{self, DIGITS};
use layland_model::{Algorithm, CpuId, Piece, Rate, ScheduleRule, System, TaskId, counted};
use layland_offline::{Client, Clients, Hierarchy, RateGrid, Reduction};
use layland_policy::fair::{Prepared, qps, run};
use layland_policy::{PolicyOptions, Registry, SystemRefusal};
use serde::Serialize;
use std::fmt::Write;

/// The structure that a policy derives from a task set before the first release: the reduction tree
/// of RUN, the processor hierarchy of QPS, the pieces of C=D and EDF-WM, the response times and job
/// patterns of mixed criticality.
///
/// ```
/// use layland_answers::Structure;
/// use layland_model::{Duration, Service, System, Task};
/// use layland_policy::Registry;
///
/// let task = |name| Task::implicit(name, Service::from_ms(2), Duration::from_ms(3));
/// let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// let structure = Structure::of(&Registry::standard(), &system, "cd")?;
/// assert!(structure.text().contains("1 of 3 tasks split, 1 migration per job at most"));
/// # Ok::<(), layland_answers::Unanswered>(())
/// ```
#[derive(Serialize)]
pub struct Structure {
    /// Sentences about the whole structure.
    heading: Vec<String>,
    trees: Vec<Node>,
}

impl Structure {
    /// Returns the structure that a policy derives from a valid system.
    ///
    /// # Errors
    /// If the policy is unknown, derives no structure, or refuses the set.
    pub fn of(registry: &Registry, system: &System, spec: &str) -> Result<Structure, Unanswered> {
        let (info, options) = registry.parse(spec).map_err(|error| unknown_policy(&error))?;
        let algorithm = info.algorithm(&options);
        let structure = if algorithm == Algorithm::Run {
            of_run(system, &options)
        } else if algorithm == Algorithm::Qps {
            of_qps(system, &options)
        } else if matches!(algorithm, Algorithm::Split(..)) {
            info.build(system, &options).map(|policy| of_pieces(system, algorithm, &policy.rule()))
        } else if let Algorithm::MixedCriticality(protection) = algorithm
            && let Some(structure) = Structure::of_levels(system, &info.name, protection)
        {
            return structure;
        } else {
            let why = format!("{} builds no structure to draw", info.name);
            let help = "policies with a structure are run, qps, cd, edf-wm, amc, plrs and ocbp";
            return Err(Unanswered::usage(why).help(help));
        };
        structure
            .map_err(|refusal| Unanswered::no(format!("{} refuses the set: {refusal}", info.name)))
    }

    /// Returns the numbers of the analyses of mixed criticality, with those of the papers that are not
    /// safe; `None` if the policy has none, or the set is not for it.
    pub fn numbers(registry: &Registry, system: &System, spec: &str) -> Option<Structure> {
        let (info, options) = registry.parse(spec).ok()?;
        let Algorithm::MixedCriticality(protection) = info.algorithm(&options) else { return None };
        Structure::of_levels(system, spec, protection)?.ok()
    }
}

#[derive(Serialize)]
struct Node {
    title: String,
    lines: Vec<String>,
    /// The separator of the lines when they are joined into one.
    #[serde(skip)]
    separator: &'static str,
    children: Vec<Node>,
}

/// Describes the rounding of the rates, if they were rounded.
fn rounding(system: &System, grid: &RateGrid) -> Option<String> {
    (!grid.is_exact(system)).then(|| {
        let sums = (&grid.total(), &system.utilization().exact());
        let (rounded, exact) = shown::numbers(sums, DIGITS);
        format!(
            "rates are rounded up to multiples of 1/{}: they sum to {rounded}, the utilizations to {exact}",
            grid.unit.ns(),
        )
    })
}

/// Formats a short rate as a fraction, and others as decimals.
fn short(rate: &Rate) -> String {
    let text = rate.to_string();
    if text.len() <= 9 { text } else { shown::number(rate, DIGITS) }
}

fn of_run(system: &System, options: &PolicyOptions) -> Result<Structure, SystemRefusal> {
    let (Prepared { order, grid, rates }, tree) = run::tree(system, options)?;
    let mut heading = vec![format!(
        "RUN on {}: {}, {}, at most {} per job on average",
        counted(system.platform.cpu_count(), "CPU"),
        counted(tree.subsystems.len(), "subsystem"),
        counted(tree.reductions(), "reduction"),
        counted(tree.preemption_bound(), "preemption")
    )];
    if tree.unused_processors > 0 {
        heading.push(format!("{} never used", counted(tree.unused_processors, "CPU")));
    }
    heading.extend(rounding(system, &grid));
    let names = Names { system, order: &order, rates: &rates };
    let trees = tree.subsystems.iter().map(|subsystem| {
        let cpus = &subsystem.processors;
        let mut root = names.server(&tree, subsystem.root, false);
        let which = match cpus.len() {
            1 => format!("CPU {}", cpus.start),
            _ => format!("CPUs {}-{}", cpus.start, cpus.end - 1),
        };
        root.title = format!("{which}: {}", root.title);
        root
    });
    Ok(Structure { heading, trees: trees.collect() })
}

fn of_qps(system: &System, options: &PolicyOptions) -> Result<Structure, SystemRefusal> {
    let (Prepared { order, grid, rates }, sets) = qps::sets(system, options)?;
    let clusters = sets.clusters();
    let mut heading = vec![format!(
        "QPS on {}: {}, {} at most",
        counted(sets.sets.len(), "CPU"),
        counted(clusters.len(), "hierarchy"),
        counted(sets.levels(), "level")
    )];
    heading.extend(rounding(system, &grid));
    let names = Names { system, order: &order, rates: &rates };
    let roots = clusters.iter().filter_map(|cluster| cluster.last());
    Ok(Structure { heading, trees: roots.map(|&root| names.set(&sets, root)).collect() })
}

/// Returns the pieces on each CPU, in the order of the tasks.
fn of_pieces(system: &System, algorithm: Algorithm, rule: &ScheduleRule) -> Structure {
    let ScheduleRule::Split { pieces } = rule else { unreachable!("it is the rule of pieces") };
    let split: Vec<usize> = pieces.values().map(Vec::len).filter(|&count| count > 1).collect();
    let heading = format!(
        "{algorithm} on {}: {} of {} split, {} per job at most",
        counted(system.platform.cpu_count(), "CPU"),
        split.len(),
        counted(system.tasks.len(), "task"),
        counted(split.iter().max().map_or(0, |most| most - 1), "migration"),
    );
    let tree = |cpu: CpuId| {
        let mut lines = Vec::new();
        for (id, own) in pieces.iter() {
            for (k, piece) in own.iter().enumerate().filter(|(_, piece)| piece.cpu == cpu) {
                let Piece { offset, budget, deadline, .. } = *piece;
                let mut line = format!("{} {} in {deadline}", system.tasks[id].name, budget);
                if own.len() > 1 {
                    let _ = write!(line, " from {offset} on ({} of {})", k + 1, own.len());
                }
                lines.push(line);
            }
        }
        Node { title: format!("CPU {cpu}"), lines, separator: "; ", children: Vec::new() }
    };
    Structure { heading: vec![heading], trees: system.platform.cpus().map(tree).collect() }
}

struct Names<'a> {
    system: &'a System,
    order: &'a [TaskId],
    rates: &'a [Rate],
}

impl Names<'_> {
    fn task(&self, seat: usize) -> String {
        format!("{} {}", self.system.tasks[self.order[seat]].name, short(&self.rates[seat]))
    }

    /// Returns a server with its whole subtree.
    fn server(&self, tree: &Reduction, id: usize, with_dual: bool) -> Node {
        let server = &tree.servers[id];
        // Papers number servers from 1.
        let mut title = format!("S{} {}", id + 1, short(&server.rate));
        if with_dual {
            let _ = write!(title, " (dual {})", short(&(&Rate::ONE - &server.rate)));
        }
        let (mut lines, children) = match &server.clients {
            Clients::Tasks(tasks) => {
                (tasks.iter().map(|&task| self.task(task)).collect(), Vec::new())
            }
            Clients::Duals(duals) => {
                (Vec::new(), duals.iter().map(|&dual| self.server(tree, dual, true)).collect())
            }
        };
        if server.idle > Rate::ZERO {
            lines.push(format!("idle {}", short(&server.idle)));
        }
        Node { title, lines, separator: ", ", children }
    }

    /// Returns the name of the master of a CPU, as in Fig. 2 of Compagnin et al.: tasks have the first
    /// numbers, and masters follow in the order in which their CPUs were dedicated.
    fn master(&self, cpu: usize) -> String {
        format!("S{}", self.order.len() + cpu + 1)
    }

    /// Returns the execution set of a CPU, with the sets whose masters it has.
    fn set(&self, sets: &Hierarchy, cpu: usize) -> Node {
        let set = &sets.sets[cpu];
        let client = |client: &Client| match *client {
            Client::Task(task) => self.task(task),
            Client::Master(below) => {
                let excess = short(&(&sets.sets[below].rate - &Rate::ONE));
                format!("{} {excess} (master of CPU {below})", self.master(below))
            }
        };
        let list = |clients: &[Client]| clients.iter().map(client).collect::<Vec<_>>();
        let (title, lines, separator) = match &set.master {
            None => (format!("CPU {cpu}: minor {}", short(&set.rate)), list(&set.clients), ", "),
            Some(master) => {
                let (a, b) = set.clients.split_at(master.split);
                (
                    format!(
                        "CPU {cpu}: major {}, excess {} as {} on CPU {}",
                        short(&set.rate),
                        short(&master.excess),
                        self.master(cpu),
                        master.host
                    ),
                    vec![
                        format!("A: {}", list(a).join(", ")),
                        format!("B: {}", list(b).join(", ")),
                    ],
                    "; ",
                )
            }
        };
        let below = set.clients.iter().filter_map(|client| match *client {
            Client::Master(below) => Some(self.set(sets, below)),
            Client::Task(_) => None,
        });
        Node { title, lines, separator, children: below.collect() }
    }
}
