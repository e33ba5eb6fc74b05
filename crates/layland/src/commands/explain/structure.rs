//! The structure that a policy derives from a task set before the start: the reduction tree of RUN,
//! the processor hierarchy of QPS, the pieces of C=D and EDF-WM; as text, SVG or DOT.

use crate::ui::exit::Failure;
use layland_model::{Algorithm, CpuId, Piece, Rate, ScheduleRule, System, TaskId, counted};
use layland_offline::{Client, Clients, Hierarchy, RateGrid, Reduction};
use layland_policy::fair::{Prepared, qps, run};
use layland_policy::{PolicyOptions, Registry, SystemRefusal};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Svg,
    Dot,
}

impl Format {
    /// Returns the format for the extension of a file.
    pub(super) fn of(path: &Path) -> Result<Format, Failure> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(Format::Svg),
            Some("dot" | "gv") => Ok(Format::Dot),
            Some("txt") => Ok(Format::Text),
            Some(_) | None => {
                Err(Failure::usage(format!("what should be drawn into {}?", path.display()))
                    .help("end its name in .svg, .dot or .txt"))
            }
        }
    }
}

/// Returns the drawing of the structure that a policy derives from a valid system.
pub(super) fn explain_structure(
    registry: &Registry,
    system: &System,
    spec: &str,
    format: Format,
) -> Result<String, Failure> {
    let forest = structure(registry, system, spec)?;
    Ok(match format {
        Format::Text => forest.text(),
        Format::Svg => forest.svg(),
        Format::Dot => forest.dot(),
    })
}

/// Returns the structure that a policy derives from a valid system.
pub(crate) fn structure(
    registry: &Registry,
    system: &System,
    spec: &str,
) -> Result<Forest, Failure> {
    let (info, options) =
        registry.parse(spec).map_err(|error| layland_answers::unknown_policy(&error))?;
    let algorithm = info.algorithm(&options);
    let forest = if algorithm == Algorithm::Run {
        of_run(system, &options)
    } else if algorithm == Algorithm::Qps {
        of_qps(system, &options)
    } else if matches!(algorithm, Algorithm::Split(..)) {
        info.build(system, &options).map(|policy| of_pieces(system, algorithm, &policy.rule()))
    } else {
        let why = format!("{} makes nothing of a set that could be drawn", info.name);
        let help = "policies with a structure are run, qps, cd and edf-wm";
        return Err(Failure::usage(why).help(help));
    };
    forest.map_err(|refusal| Failure::no(format!("{} refuses the set: {refusal}", info.name)))
}

/// Trees with a heading.
#[derive(Serialize)]
pub(crate) struct Forest {
    heading: Vec<String>,
    trees: Vec<Node>,
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
        format!(
            "rates are rounded up to multiples of 1/{}: they sum to {:.6}, the utilizations to {:.6}",
            grid.unit.ns(),
            grid.total().to_f64(),
            system.utilization().to_f64()
        )
    })
}

/// Formats a short rate as a fraction, and others as decimals.
fn short(rate: &Rate) -> String {
    let text = rate.to_string();
    if text.len() <= 9 { text } else { format!("{:.6}", rate.to_f64()) }
}

fn of_run(system: &System, options: &PolicyOptions) -> Result<Forest, SystemRefusal> {
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
    Ok(Forest { heading, trees: trees.collect() })
}

fn of_qps(system: &System, options: &PolicyOptions) -> Result<Forest, SystemRefusal> {
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
    Ok(Forest { heading, trees: roots.map(|&root| names.set(&sets, root)).collect() })
}

/// Returns the pieces on each CPU, in the order of the tasks.
fn of_pieces(system: &System, algorithm: Algorithm, rule: &ScheduleRule) -> Forest {
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
                let mut line =
                    format!("{} {} in {deadline}", system.tasks[id].name, budget.at_unit_speed());
                if own.len() > 1 {
                    let _ = write!(line, " from {offset} on ({} of {})", k + 1, own.len());
                }
                lines.push(line);
            }
        }
        Node { title: format!("CPU {cpu}"), lines, separator: "; ", children: Vec::new() }
    };
    Forest { heading: vec![heading], trees: system.platform.cpus().map(tree).collect() }
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
        let mut title = format!("S{id} {}", short(&server.rate));
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

    /// Returns the execution set of a CPU, with the sets whose masters it has.
    fn set(&self, sets: &Hierarchy, cpu: usize) -> Node {
        let set = &sets.sets[cpu];
        let client = |client: &Client| match *client {
            Client::Task(task) => self.task(task),
            Client::Master(below) => {
                format!("master of CPU {below} {}", short(&(&sets.sets[below].rate - &Rate::ONE)))
            }
        };
        let list = |clients: &[Client]| clients.iter().map(client).collect::<Vec<_>>();
        let (title, lines, separator) = match &set.master {
            None => (format!("CPU {cpu}: minor {}", short(&set.rate)), list(&set.clients), ", "),
            Some(master) => {
                let (a, b) = set.clients.split_at(master.split);
                (
                    format!(
                        "CPU {cpu}: major {}, excess {} on CPU {}",
                        short(&set.rate),
                        short(&master.excess),
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

// --- Text ---------------------------------------------------------------------------------------

impl Forest {
    pub(crate) fn text(&self) -> String {
        let mut text = self.heading.join("\n") + "\n";
        for tree in &self.trees {
            text.push('\n');
            tree.text(&mut text, "", "");
        }
        text
    }
}

impl Node {
    fn text(&self, text: &mut String, first: &str, rest: &str) {
        let lines = self.lines.join(self.separator);
        let gap = if lines.is_empty() { "" } else { ": " };
        let _ = writeln!(text, "{first}{}{gap}{lines}", self.title);
        for (at, child) in self.children.iter().enumerate() {
            let last = at + 1 == self.children.len();
            let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            child.text(text, &format!("{rest}{branch}"), &format!("{rest}{below}"));
        }
    }
}

// --- DOT ----------------------------------------------------------------------------------------

impl Forest {
    pub(crate) fn dot(&self) -> String {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let heading: Vec<String> = self.heading.iter().map(|line| quoted(line)).collect();
        let mut text = format!(
            "digraph structure {{\n  label=\"{}\";\n  labelloc=t;\n  node [shape=box, fontname=\"Helvetica\"];\n",
            heading.join("\\n")
        );
        let mut next = 0;
        let mut open: Vec<(&Node, Option<usize>)> =
            self.trees.iter().rev().map(|tree| (tree, None)).collect();
        while let Some((node, parent)) = open.pop() {
            let lines: Vec<String> =
                std::iter::once(&node.title).chain(&node.lines).map(|line| quoted(line)).collect();
            let _ = writeln!(text, "  n{next} [label=\"{}\"];", lines.join("\\n"));
            if let Some(parent) = parent {
                let _ = writeln!(text, "  n{parent} -> n{next};");
            }
            open.extend(node.children.iter().rev().map(|child| (child, Some(next))));
            next += 1;
        }
        text + "}\n"
    }
}

// --- SVG ----------------------------------------------------------------------------------------

const LINE: f64 = 15.0;
const PAD: f64 = 8.0;
const GAP: (f64, f64) = (16.0, 36.0);
const CHARACTER: f64 = 6.7;

/// A node with its position: the upper left corner, and the size.
struct Placed<'a> {
    node: &'a Node,
    at: (f64, f64),
    size: (f64, f64),
    children: Vec<Placed<'a>>,
}

impl<'a> Placed<'a> {
    /// Places a tree with its left edge at `left`. Also returns its right edge.
    fn new(node: &'a Node, left: f64, top: f64) -> (Placed<'a>, f64) {
        let longest = std::iter::once(&node.title).chain(&node.lines);
        let longest = longest.map(|line| line.chars().count()).max().unwrap_or(0);
        let size = (
            longest as f64 * CHARACTER + 2.0 * PAD,
            (1 + node.lines.len()) as f64 * LINE + 2.0 * PAD,
        );
        let mut right = left;
        let mut children = Vec::new();
        for child in &node.children {
            let (placed, end) = Placed::new(child, right, top + size.1 + GAP.1);
            right = end + GAP.0;
            children.push(placed);
        }
        let below = if children.is_empty() { 0.0 } else { right - GAP.0 - left };
        let width = below.max(size.0);
        if below < width {
            let shift = (width - below) / 2.0;
            children.iter_mut().for_each(|child| child.shift(shift));
        }
        (Placed { node, at: (left + (width - size.0) / 2.0, top), size, children }, left + width)
    }

    fn shift(&mut self, by: f64) {
        self.at.0 += by;
        self.children.iter_mut().for_each(|child| child.shift(by));
    }

    fn bottom(&self) -> f64 {
        self.children.iter().map(Placed::bottom).fold(self.at.1 + self.size.1, f64::max)
    }

    fn svg(&self, out: &mut String) {
        let ((x, y), (width, height)) = (self.at, self.size);
        for child in &self.children {
            let _ = writeln!(
                out,
                "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"#777\"/>",
                x + width / 2.0,
                y + height,
                child.at.0 + child.size.0 / 2.0,
                child.at.1
            );
        }
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\" \
             fill=\"#eef3fa\" stroke=\"#456\"/>"
        );
        for (at, line) in std::iter::once(&self.node.title).chain(&self.node.lines).enumerate() {
            let weight = if at == 0 { " font-weight=\"bold\"" } else { "" };
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\"{weight}>{}</text>",
                x + PAD,
                y + PAD + LINE * (at as f64 + 0.75),
                escaped(line)
            );
        }
        self.children.iter().for_each(|child| child.svg(out));
    }
}

impl Forest {
    pub(crate) fn svg(&self) -> String {
        let top = PAD + LINE * self.heading.len() as f64 + PAD;
        let mut right = PAD;
        let mut placed = Vec::new();
        for tree in &self.trees {
            let (tree, end) = Placed::new(tree, right, top);
            right = end + 2.0 * GAP.0;
            placed.push(tree);
        }
        let heading = self.heading.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        let width = (right - 2.0 * GAP.0 + PAD).max(heading as f64 * CHARACTER + 2.0 * PAD);
        let height = placed.iter().map(Placed::bottom).fold(top, f64::max) + PAD;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Helvetica, Arial, 'Liberation Sans', \
             sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        );
        for (at, line) in self.heading.iter().enumerate() {
            let y = PAD + LINE * (at as f64 + 0.75);
            let _ = writeln!(out, "<text x=\"{PAD}\" y=\"{y:.1}\">{}</text>", escaped(line));
        }
        placed.iter().for_each(|tree| tree.svg(&mut out));
        out + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Duration, Service, Task};

    #[test]
    fn drawings_have_every_node_and_escape_names() {
        let task = |name: &str| Task::implicit(name, Service::from_ms(2), Duration::from_ms(3));
        let system = System::new(2, ["a", "b<&", "\"c\\"].map(task).to_vec());
        let draw = |policy, format| match explain_structure(
            &Registry::standard(),
            &system,
            policy,
            format,
        ) {
            Ok(text) => text,
            Err(failure) => panic!("{failure:?}"),
        };
        let dot = draw("run", Format::Dot);
        assert!(dot.starts_with("digraph structure {") && dot.ends_with("}\n"), "{dot}");
        assert!(dot.contains("[label=\"S2 2/3 (dual 1/3)\\n\\\"c\\\\ 2/3\"];"), "{dot}");
        assert_eq!(dot.matches(" -> ").count(), 3);
        let text = draw("cd", Format::Text);
        assert!(text.contains("1 of 3 tasks split, 1 migration per job at most"), "{text}");
        assert!(
            text.contains("CPU 1: b<& 2ms in 3ms; \"c\\ 1ms in 2ms from 1ms on (2 of 2)"),
            "{text}"
        );
        let svg = draw("qps", Format::Svg);
        assert_eq!(svg.matches("rx=\"4\"").count(), 2, "a box per CPU: {svg}");
        assert_eq!(svg.matches("<path").count(), 1);
        assert!(svg.contains("b&lt;&amp; 2/3") && !svg.contains("b<&"), "{svg}");
    }
}
