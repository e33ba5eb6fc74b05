//! The options for DAG tasks, critical sections and self-suspensions.

use crate::ui::exit::Failure;
use crate::ui::numbers::whole;
use clap::{Args, ValueEnum};
use layland_gen::{Graphs, Sections, Shape, Suspensions, text};
use layland_model::{Rate, Service};

#[derive(Args)]
pub(crate) struct GraphArgs {
    /// Draw DAG tasks of this shape. -n is the number of graphs, and each utilization is that of a graph. It
    /// may exceed 1 if --max does
    #[arg(long = "graphs", value_name = "SHAPE", value_enum, help_heading = "Graphs")]
    #[arg(conflicts_with_all = ["criticality", "levels", "min_wcet", "bursts", "resources", "suspensions"])]
    pub shape: Option<ShapeArg>,
    /// The number of nodes of a graph
    #[arg(long, value_name = "MIN..MAX", value_parser = text::counts, default_value = "5..20")]
    #[arg(help_heading = "Graphs", requires = "shape")]
    #[arg(hide_short_help = true)]
    pub nodes: (u32, u32),
    /// gnp: the probability of an edge between two nodes (0.2); fork-join: of an additional edge
    /// between two nodes that could run in parallel (0)
    #[arg(long, value_name = "P", help_heading = "Graphs", requires = "shape")]
    #[arg(hide_short_help = true)]
    pub edge_probability: Option<Rate>,
    /// fork-join: the probability that a branch forks again (0.8)
    #[arg(long, value_name = "P", help_heading = "Graphs", requires = "shape")]
    #[arg(hide_short_help = true)]
    pub fork_probability: Option<Rate>,
    /// fork-join: the number of branches of a fork (2..6)
    #[arg(long, value_name = "MIN..MAX", value_parser = text::counts)]
    #[arg(help_heading = "Graphs", requires = "shape")]
    #[arg(hide_short_help = true)]
    pub branches: Option<(u32, u32)>,
    /// fork-join: the largest depth of nested forks (2)
    #[arg(long, value_name = "N", help_heading = "Graphs", requires = "shape")]
    #[arg(hide_short_help = true, value_parser = whole::<0, { u32::MAX as u64 }>)]
    pub depth: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShapeArg {
    /// Edges between all pairs of nodes with the same probability, connected
    Gnp,
    /// Nested fork-join: branches that fork and join again
    ForkJoin,
}

impl GraphArgs {
    pub(crate) fn graphs(&self) -> Result<Option<Graphs>, Failure> {
        let edge = |default| self.edge_probability.clone().unwrap_or(default);
        let shape = match self.shape {
            None => return Ok(None),
            Some(ShapeArg::Gnp) => {
                let forks = [
                    ("--fork-probability", self.fork_probability.is_some()),
                    ("--branches", self.branches.is_some()),
                    ("--depth", self.depth.is_some()),
                ];
                if let Some((name, _)) = forks.into_iter().find(|option| option.1) {
                    return Err(Failure::usage(format!(
                        "{name} describes forks, and gnp has none"
                    ))
                    .help("leave it out, or draw --graphs fork-join"));
                }
                Shape::Gnp { edge: edge(Rate::new(1, 5)) }
            }
            Some(ShapeArg::ForkJoin) => Shape::ForkJoin {
                fork: self.fork_probability.clone().unwrap_or(Rate::new(4, 5)),
                branches: self.branches.unwrap_or((2, 6)),
                depth: self.depth.unwrap_or(2),
                edge: edge(Rate::ZERO),
            },
        };
        Ok(Some(Graphs { shape, nodes: self.nodes }))
    }
}

#[derive(Args)]
pub(crate) struct StepArgs {
    /// The number of shared resources. Jobs have critical sections, which are a part of their WCETs
    #[arg(long, value_name = "N", help_heading = "Locks and suspensions")]
    #[arg(conflicts_with_all = ["criticality", "levels"])]
    #[arg(value_parser = whole::<0, { u32::MAX as u64 }>)]
    pub resources: Option<u32>,
    /// The probability that a task uses a resource
    #[arg(long, value_name = "P", default_value = "0.25", requires = "resources")]
    #[arg(help_heading = "Locks and suspensions")]
    #[arg(hide_short_help = true)]
    pub access: Rate,
    /// The number of times that a job requests each resource that its task uses
    #[arg(long, value_name = "MIN..MAX", value_parser = text::counts, default_value = "1..5")]
    #[arg(help_heading = "Locks and suspensions", requires = "resources")]
    #[arg(hide_short_help = true)]
    pub requests: (u32, u32),
    /// The time for which a task holds a resource: short is 1us..15us, medium 1us..100us, long 5us..1280us
    #[arg(long, value_name = "MIN..MAX|short|medium|long", value_parser = text::sections)]
    #[arg(default_value = "short", help_heading = "Locks and suspensions", requires = "resources")]
    #[arg(hide_short_help = true)]
    pub section: (Service, Service),
    /// The number of times that a job suspends itself
    #[arg(long, value_name = "MIN..MAX", value_parser = text::counts)]
    #[arg(help_heading = "Locks and suspensions", conflicts_with_all = ["criticality", "levels"])]
    #[arg(hide_short_help = true)]
    pub suspensions: Option<(u32, u32)>,
    /// The share of the period minus the WCET for which a job suspends itself: short is 0.01..0.1, medium
    /// 0.1..0.3, long 0.3..0.6
    #[arg(long, value_name = "MIN..MAX|short|medium|long", value_parser = text::suspension)]
    #[arg(
        default_value = "short",
        help_heading = "Locks and suspensions",
        requires = "suspensions"
    )]
    #[arg(hide_short_help = true)]
    pub suspension: (Rate, Rate),
}

impl StepArgs {
    pub(crate) fn sections(&self) -> Option<Sections> {
        self.resources.map(|resources| Sections {
            resources,
            access: self.access.clone(),
            requests: self.requests,
            length: self.section,
        })
    }

    pub(crate) fn suspensions(&self) -> Option<Suspensions> {
        self.suspensions.map(|count| Suspensions { count, share: self.suspension.clone() })
    }
}
