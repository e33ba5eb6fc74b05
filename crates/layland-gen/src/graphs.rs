//! DAG tasks: draws the graph of each task, and divides its volume among the nodes.
//!
//! There are two shapes. **G(n, p)**: nodes in a fixed order, and from each node an edge to each
//! later one with the same probability (the Erdős–Rényi method in Cordeiro et al. 2010). If the
//! graph has several components, the first node of each but the first follows a uniformly drawn
//! node before it, so that the graph becomes connected. **Nested fork-join** (Melani et al. 2015,
//! without conditional branches): a source forks into branches that a sink joins; a branch is one
//! node, or forks in turn. Edges between nodes that are not ordered are then added with a given
//! probability.
//!
//! Each of the `n` nodes draws a weight, uniform on 1 to 100. It gets one granule of the
//! volume, and a part of the rest in proportion to its weight: with `S_j` the sum of the
//! first `j` weights and `R` the rest, `floor(R S_j / S_n) - floor(R S_(j-1) / S_n)`
//! granules. So the WCETs sum to the volume exactly.

use crate::parameters::{Reader, Writer};
use crate::rounding::{Chance, split};
use crate::{GenError, Random};
use layland_model::{Duration, Rate, Service, System, Task, TaskId};

/// The maximum number of nodes of a graph.
const MOST_NODES: u32 = 1000;

/// A distribution of DAG tasks: each drawn utilization is that
/// of a graph, and so are period, deadline, offset and affinity.
///
/// A graph is drawn again if its longest path exceeds its
/// period, or if its number of nodes is out of range.
///
/// ```
/// use layland_gen::{Graphs, Recipe, Shape, Utilizations};
/// use layland_model::Rate;
/// let (min, max) = (Rate::ZERO, Rate::whole(3));
/// let utilizations = Utilizations::RandFixedSum { tasks: 3, total: Rate::whole(5), min, max };
/// let graphs = Graphs { shape: Shape::Gnp { edge: Rate::new(1, 5) }, nodes: (5, 20) };
/// let recipe = Recipe { graphs: Some(graphs), ..Recipe::new(8, utilizations, 7) };
/// let system = recipe.generate(0).unwrap();
/// assert_eq!((system.graphs().len(), system.validate()), (3, vec![]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graphs {
    /// The shape.
    pub shape: Shape,
    /// The least and the largest number of nodes: 1 to 1000. Uniform for G(n, p).
    pub nodes: (u32, u32),
}

/// The shape of graphs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// G(n, p), connected.
    Gnp {
        /// The probability of an edge between two nodes.
        edge: Rate,
    },
    /// Nested fork-join.
    ForkJoin {
        /// The probability that a branch forks, unless it has the largest depth.
        fork: Rate,
        /// The least and the largest number of branches of a fork, 2 to 64; uniform.
        branches: (u32, u32),
        /// The maximum depth of nested forks, including the outermost: 1 to 16.
        depth: u32,
        /// The probability of an edge between two nodes that are not ordered.
        edge: Rate,
    },
}

/// A graph without times: for each node the nodes that it follows, all of smaller number.
type Edges = Vec<Vec<usize>>;

/// A drawn graph.
pub(crate) struct Drawn {
    wcets: Vec<Service>,
    edges: Edges,
    /// The length of the longest path.
    pub(crate) length: Duration,
}

impl Graphs {
    pub(crate) fn check(&self) -> Result<(), GenError> {
        let range = |(min, max): (u32, u32)| format!("{min}..{max}");
        let (least, most) = self.nodes;
        if least < 1 || least > most || most > MOST_NODES {
            let help = "a graph has 1 to 1000 nodes, the smaller number first";
            return Err(GenError::parameter("nodes", range(self.nodes), help));
        }
        let probability = |name: &'static str, p: &Rate| {
            if *p < Rate::ZERO || *p > Rate::ONE {
                Err(GenError::parameter(name, p, "a probability is between 0 and 1"))
            } else {
                Ok(())
            }
        };
        match &self.shape {
            Shape::Gnp { edge } => probability("edge_probability", edge),
            Shape::ForkJoin { fork, branches, depth, edge } => {
                probability("edge_probability", edge)?;
                probability("fork_probability", fork)?;
                if branches.0 < 2 || branches.0 > branches.1 || branches.1 > 64 {
                    let help = "a fork has 2 to 64 branches, the smaller number first";
                    return Err(GenError::parameter("branches", range(*branches), help));
                }
                if !(1..=16).contains(depth) {
                    let help = "1 to 16 forks are within each other";
                    return Err(GenError::parameter("depth", depth, help));
                }
                Ok(())
            }
        }
    }

    /// Draws a graph whose longest path is at most `limit`. Its volume is the given one, or a
    /// granule for each node if that is more.
    pub(crate) fn draw(
        &self,
        volume: Service,
        limit: Duration,
        granule: Duration,
        tries: u32,
        random: &mut Random,
    ) -> Result<Drawn, GenError> {
        let volume = volume.at_unit_speed().div_floor(granule);
        let mut too_many = false;
        for _ in 0..tries {
            let Some(edges) = self.edges(random) else {
                too_many = true;
                continue;
            };
            let granules = split(volume, edges.len(), random);
            let length = granule * longest_path(&edges, &granules);
            if length <= limit {
                let service = |granules| (granule * granules).at_unit_speed();
                return Ok(Drawn {
                    wcets: granules.into_iter().map(service).collect(),
                    edges,
                    length,
                });
            }
        }
        Err(if too_many {
            GenError::Exhausted {
                tries,
                wanted: "drew a graph with this many `nodes` and a path within its period",
                help: "widen `nodes`, or change `branches`, `depth` or `fork_probability`",
            }
        } else {
            GenError::Exhausted {
                tries,
                wanted: "drew a graph whose longest path is within its period",
                help: "draw more nodes, fewer edges, or smaller utilizations",
            }
        })
    }

    /// Draws the edges of a graph; returns `None` if its number of nodes is out of range.
    fn edges(&self, random: &mut Random) -> Option<Edges> {
        let (least, most) = (self.nodes.0 as usize, self.nodes.1 as usize);
        match &self.shape {
            Shape::Gnp { edge } => {
                let nodes = random.between(least as i64, most as i64) as usize;
                Some(gnp(nodes, &Chance::new(edge), random))
            }
            Shape::ForkJoin { fork, branches, depth, edge } => {
                let mut forks = Forks {
                    edges: vec![vec![]],
                    fork: Chance::new(fork),
                    branches: *branches,
                    most,
                };
                forks.expand(0, *depth, random)?;
                let mut edges = forks.edges;
                if !(least..=most).contains(&edges.len()) {
                    return None;
                }
                add_parallel(&mut edges, &Chance::new(edge), random);
                Some(edges)
            }
        }
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        let range = |(min, max): (u32, u32)| [min, max];
        to.put_list("graphs.nodes", &range(self.nodes));
        match &self.shape {
            Shape::Gnp { edge } => {
                to.put("graphs", "gnp");
                to.put("graphs.edge", edge);
            }
            Shape::ForkJoin { fork, branches, depth, edge } => {
                to.put("graphs", "fork-join");
                to.put("graphs.fork", fork);
                to.put_list("graphs.branches", &range(*branches));
                to.put("graphs.depth", depth);
                to.put("graphs.edge", edge);
            }
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Option<Graphs>, GenError> {
        let Some(kind) = from.find::<String>("graphs")? else { return Ok(None) };
        let mut from = from.part("graphs");
        let nodes = from.pair("nodes")?;
        let shape = match kind.as_str() {
            "gnp" => Shape::Gnp { edge: from.get("edge")? },
            "fork-join" => Shape::ForkJoin {
                fork: from.get("fork")?,
                branches: from.pair("branches")?,
                depth: from.get("depth")?,
                edge: from.get("edge")?,
            },
            _ => return Err(from.invalid("")),
        };
        Ok(Some(Graphs { shape, nodes }))
    }
}

/// Draws a graph with `nodes` nodes and random edges, and adds the edges that connect it.
fn gnp(nodes: usize, edge: &Chance, random: &mut Random) -> Edges {
    let mut edges: Edges = vec![Vec::new(); nodes];
    // For each node the smallest node to which it is connected.
    let mut first: Vec<usize> = (0..nodes).collect();
    for to in 1..nodes {
        for from in 0..to {
            if edge.happens(random) {
                edges[to].push(from);
                let (one, other) = (first[from].min(first[to]), first[from].max(first[to]));
                first.iter_mut().filter(|first| **first == other).for_each(|first| *first = one);
            }
        }
    }
    // The smallest node of a component follows no other,
    // and all nodes before it are in other components.
    for node in (1..nodes).filter(|&node| first[node] == node) {
        edges[node].push(random.below(node as u64) as usize);
    }
    edges
}

/// A nested fork-join graph under construction.
struct Forks {
    edges: Edges,
    fork: Chance,
    branches: (u32, u32),
    most: usize,
}

impl Forks {
    /// Adds a fork after a node and returns the node that
    /// joins it; `None` if there are too many nodes.
    fn expand(&mut self, source: usize, depth: u32, random: &mut Random) -> Option<usize> {
        let (least, most) = self.branches;
        let mut ends = Vec::new();
        for _ in 0..random.between(least.into(), most.into()) {
            let node = self.push(vec![source])?;
            let forks = depth > 1 && self.fork.happens(random);
            ends.push(if forks { self.expand(node, depth - 1, random)? } else { node });
        }
        self.push(ends)
    }

    fn push(&mut self, follows: Vec<usize>) -> Option<usize> {
        self.edges.push(follows);
        (self.edges.len() <= self.most).then(|| self.edges.len() - 1)
    }
}

/// Adds edges between nodes that are not ordered, each with the same probability, from the smaller
/// to the larger one; for each node, those from the nearest one come first.
fn add_parallel(edges: &mut [Vec<usize>], edge: &Chance, random: &mut Random) {
    let nodes = edges.len();
    let mut before = vec![vec![false; nodes]; nodes];
    for (to, follows) in edges.iter_mut().enumerate() {
        let (earlier, rest) = before.split_at_mut(to);
        let own = &mut rest[0];
        let add = |own: &mut [bool], from: usize| {
            own[from] = true;
            own.iter_mut().zip(&earlier[from]).for_each(|(own, &other)| *own |= other);
        };
        follows.iter().for_each(|&from| add(own, from));
        for from in (0..to).rev() {
            if !own[from] && edge.happens(random) {
                add(own, from);
                follows.push(from);
            }
        }
        follows.sort_unstable();
    }
}

/// Returns the largest sum on a path.
fn longest_path(edges: &Edges, wcets: &[i64]) -> i64 {
    let mut end: Vec<i64> = Vec::with_capacity(wcets.len());
    for (follows, wcet) in edges.iter().zip(wcets) {
        let begin = follows.iter().map(|&node| end[node]).max().unwrap_or(0);
        end.push(begin + wcet);
    }
    end.into_iter().max().unwrap_or(0)
}

/// Returns the system in which the nodes of graphs replace
/// the tasks. Those of `t3` are `t3.1`, `t3.2` and so on.
pub(crate) fn expanded(system: &System, graphs: &[Drawn]) -> System {
    let mut nodes: Vec<Task> = Vec::new();
    for (task, graph) in system.tasks.values().zip(graphs) {
        let first = nodes.len();
        for (at, (&wcet, follows)) in graph.wcets.iter().zip(&graph.edges).enumerate() {
            let mut node = task.clone();
            node.name = format!("{}.{}", task.name, at + 1).into();
            node.wcet = vec![wcet].into();
            node.follows = follows.iter().map(|&node| TaskId((first + node) as u32)).collect();
            nodes.push(node);
        }
    }
    let mut expanded = System::new(system.platform.cpu_count(), nodes);
    expanded.platform = system.platform.clone();
    expanded
}
