//! Graphs, critical sections and self-suspensions: golden bytes, exact volumes, the documented
//! distributions, and errors. The thresholds are those of `statistics.rs`.
//!
//! Long because the exact distribution of each shape and the errors of each rule are here.

use layland_gen::{
    Affinities, Arrivals, Criticalities, Deadlines, Graphs, Offsets, Periods, Recipe, Sections,
    Shape, Suspensions, TwoBudgets, Utilizations,
};
use layland_model::{Duration, Graph, Rate, Service, Step, System, TaskId};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Returns chi-square of counts against expected counts, over the threshold; cells with an
/// expectation below 5 are merged.
fn chi_square(cells: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let (few, many): (Vec<_>, Vec<_>) = cells.into_iter().partition(|cell| cell.1 < 5.0);
    let rest = few.iter().fold((0.0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
    let mut sum = 0.0;
    let cells = many.iter().chain((rest.1 > 0.0).then_some(&rest));
    for (count, expected) in cells.clone() {
        sum += (count - expected).powi(2) / expected.max(1.0);
    }
    let degrees = cells.count() as f64 - 1.0;
    let spread = 2.0 / (9.0 * degrees);
    sum / (degrees * (1.0 - spread + 4.753 * f64::sqrt(spread)).powi(3))
}

fn against<K: Ord>(counts: &BTreeMap<K, f64>, expected: &BTreeMap<K, f64>) -> f64 {
    assert!(counts.keys().all(|key| expected.contains_key(key)), "something has probability 0");
    let total: f64 = counts.values().sum();
    chi_square(expected.iter().map(|(key, p)| (counts.get(key).copied().unwrap_or(0.0), p * total)))
}

/// A recipe with this number of tasks and this total, each task at most `max`.
fn recipe(tasks: usize, total: Rate, max: Rate, seed: u64) -> Recipe {
    let min = Rate::new(1, 100);
    Recipe::new(8, Utilizations::RandFixedSum { tasks, total, min, max }, seed)
}

fn with_graphs(shape: Shape, nodes: (u32, u32), plain: Recipe) -> Recipe {
    Recipe { graphs: Some(Graphs { shape, nodes }), ..plain }
}

fn gnp(edge: Rate) -> Shape {
    Shape::Gnp { edge }
}

fn fork_join(fork: Rate, branches: (u32, u32), depth: u32, edge: Rate) -> Shape {
    Shape::ForkJoin { fork, branches, depth, edge }
}

fn sections() -> Sections {
    Sections {
        resources: 3,
        access: Rate::new(1, 2),
        requests: (1, 4),
        length: (Service::from_us(5), Service::from_us(9)),
    }
}

fn lines(system: &System) -> Vec<String> {
    let name = |id: &TaskId| system.tasks[*id].name.as_str();
    let line = |task: &layland_model::Task| {
        let follows: Vec<&str> = task.follows.iter().map(name).collect();
        format!("{task} after {}", follows.join(" "))
    };
    system.tasks.values().map(line).collect()
}

#[test]
fn golden_sets() {
    let plain = || recipe(2, Rate::new(5, 2), Rate::whole(2), 2024);
    let made = with_graphs(gnp(Rate::new(1, 4)), (3, 6), plain()).generate(0).unwrap();
    assert_eq!(lines(&made), GOLDEN_GNP);
    let shape = fork_join(Rate::new(1, 2), (2, 3), 2, Rate::new(1, 10));
    let made = with_graphs(shape, (4, 9), plain()).generate(1).unwrap();
    assert_eq!(lines(&made), GOLDEN_FORK_JOIN);
    let suspensions = Suspensions { count: (1, 2), share: (Rate::new(1, 10), Rate::new(3, 10)) };
    let recipe = Recipe {
        sections: Some(sections()),
        suspensions: Some(suspensions),
        ..recipe(2, Rate::ONE, Rate::ONE, 2024)
    };
    let made = recipe.generate(2).unwrap();
    let step = |step: &Step| match step {
        Step::Run(length) => length.to_string(),
        Step::Lock(resource) => format!("+{resource}"),
        Step::Unlock(resource) => format!("-{resource}"),
        Step::Suspend(length) => format!("z{length}"),
    };
    let steps = made.tasks.values().map(|task| {
        let steps: Vec<String> =
            task.steps.iter().flat_map(|steps| steps.iter()).map(step).collect();
        format!("{task}: {}", steps.join(" "))
    });
    assert_eq!(steps.collect::<Vec<_>>(), GOLDEN_STEPS);
    let homes: Vec<_> = made.resources.iter().map(|r| (&*r.name, r.home.unwrap().0)).collect();
    assert_eq!(homes, [("r1", 0), ("r2", 1), ("r3", 2)]);
}

const GOLDEN_GNP: [&str; 10] = [
    "t1.1=41.736ms/111ms after ",
    "t1.2=13.208ms/111ms after ",
    "t1.3=45.435ms/111ms after t1.1 t1.2",
    "t1.4=43.321ms/111ms after t1.1",
    "t1.5=19.02ms/111ms after t1.1 t1.3",
    "t2.1=5.034ms/17ms after ",
    "t2.2=3.925ms/17ms after t2.1",
    "t2.3=3.925ms/17ms after ",
    "t2.4=2.986ms/17ms after t2.1 t2.3",
    "t2.5=1.708ms/17ms after t2.4",
];
const GOLDEN_FORK_JOIN: [&str; 16] = [
    "t1.1=136.036ms/684ms after ",
    "t1.2=294.744ms/684ms after t1.1",
    "t1.3=154.93ms/684ms after t1.1",
    "t1.4=275.85ms/684ms after t1.3",
    "t1.5=86.912ms/684ms after t1.3",
    "t1.6=86.912ms/684ms after t1.4 t1.5",
    "t1.7=302.302ms/684ms after t1.1 t1.5",
    "t1.8=3.78ms/684ms after t1.2 t1.6 t1.7",
    "t2.1=699us/21ms after ",
    "t2.2=541us/21ms after t2.1",
    "t2.3=2.859ms/21ms after t2.1 t2.2",
    "t2.4=922us/21ms after t2.3",
    "t2.5=1.176ms/21ms after t2.3 t2.4",
    "t2.6=2.002ms/21ms after t2.3 t2.4",
    "t2.7=2.796ms/21ms after t2.4 t2.5 t2.6",
    "t2.8=319us/21ms after t2.2 t2.7",
];
const GOLDEN_STEPS: [&str; 2] = [
    "t1=4.191ms/16ms: 746us +0 9us -0 463us +0 9us -0 453us +0 9us -0 799us +0 9us -0 536us z1.184ms 306us z631us 852us",
    "t2=190.412ms/258ms: 36.802ms +0 9us -0 4.248ms +0 9us -0 16.279ms z1.569ms 50.957ms z5.631ms 57.327ms +0 9us -0 24.772ms",
];

/// Returns the longest path, by following all paths backwards from each node.
fn longest_path(system: &System, graph: &Graph) -> Service {
    fn until(system: &System, task: TaskId) -> Service {
        let before = system.tasks[task].follows.iter().map(|&before| until(system, before));
        system.tasks[task].own_wcet() + before.max().unwrap_or_default()
    }
    graph.tasks.iter().map(|&task| until(system, task)).max().unwrap()
}

fn shapes() -> impl Strategy<Value = (Shape, (u32, u32))> {
    let percent = |most: i64| (0..=most).prop_map(|percent| Rate::new(percent, 100));
    prop_oneof![
        (percent(100), 2u32..6, 0u32..6)
            .prop_map(|(edge, least, more)| (gnp(edge), (least, least + more))),
        (percent(100), 2u32..4, 0u32..2, 1u32..4, percent(20)).prop_map(
            |(fork, least, more, depth, edge)| {
                (fork_join(fork, (least, least + more), depth, edge), (4, 200))
            }
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn graphs_have_the_volume_of_their_tasks(
        (shape, nodes) in shapes(),
        (tasks, percent) in (1usize..6, 1i64..95),
        nested in any::<bool>(),
        deadlines in prop_oneof![
            Just(Deadlines::Implicit),
            Just(Deadlines::Constrained { min: Rate::ZERO, max: Rate::ONE }),
            Just(Deadlines::Factor { min: Rate::new(1, 3), max: Rate::new(2, 1) }),
        ],
        seed in any::<u64>(),
    ) {
        let plain = Recipe {
            affinities: if nested { Affinities::Nested } else { Affinities::Clustered { clusters: 2 } },
            offsets: Offsets::Uniform,
            arrivals: Arrivals::Uniform { max: Rate::ONE },
            ..recipe(tasks, Rate::new(percent * tasks as i64 + 1, 100), Rate::ONE, seed)
        };
        let recipe = with_graphs(shape, nodes, Recipe { deadlines, ..plain.clone() });
        let (system, plain) = (recipe.generate(5).unwrap(), plain.generate(5).unwrap());
        prop_assert_eq!(system.validate(), []);
        let (again, index) = Recipe::from_provenance(system.provenance.as_ref().unwrap()).unwrap();
        prop_assert_eq!((&again, index), (&recipe, 5));
        prop_assert_eq!(&again.generate(5).unwrap(), &system);

        let graphs = system.graphs();
        prop_assert_eq!(graphs.len(), tasks);
        prop_assert_eq!(system.platform.clusters.clone(), plain.platform.clusters.clone());
        for (graph, task) in graphs.iter().zip(plain.tasks.values()) {
            let count = graph.tasks.len() as i64;
            prop_assert!((i64::from(nodes.0)..=i64::from(nodes.1)).contains(&count));
            let volume: Service = graph.tasks.iter().map(|&node| system.tasks[node].own_wcet()).sum();
            prop_assert_eq!(volume, task.own_wcet().max(Service::from_us(count)));
            let length = longest_path(&system, graph).at_unit_speed();
            for (at, &node) in graph.tasks.iter().enumerate() {
                let node = &system.tasks[node];
                prop_assert_eq!(&node.name, &format!("{}.{}", task.name, at + 1));
                prop_assert_eq!((node.period, node.offset), (task.period, task.offset));
                prop_assert_eq!((&node.affinity, node.cluster), (&task.affinity, task.cluster));
                prop_assert_eq!(&node.behaviour, &task.behaviour);
                prop_assert!(length <= node.period && length <= node.deadline);
            }
        }
    }

    #[test]
    fn steps_are_within_the_wcet(
        locks in any::<bool>(),
        count in prop_oneof![Just(None), (0u32..4, 0u32..3).prop_map(Some)],
        seed in any::<u64>(),
    ) {
        let share = (Rate::new(1, 10), Rate::new(3, 10));
        let recipe = Recipe {
            sections: locks.then(sections),
            suspensions: count.map(|(least, more)| Suspensions { count: (least, least + more), share }),
            deadlines: Deadlines::Constrained { min: Rate::ZERO, max: Rate::ONE },
            ..recipe(4, Rate::whole(2), Rate::ONE, seed)
        };
        let plain = Recipe { sections: None, suspensions: None, ..recipe.clone() }.generate(1).unwrap();
        let system = recipe.generate(1).unwrap();
        prop_assert_eq!(system.validate(), []);
        let (again, _) = Recipe::from_provenance(system.provenance.as_ref().unwrap()).unwrap();
        prop_assert_eq!(&again, &recipe);
        for (task, plain) in system.tasks.values().zip(plain.tasks.values()) {
            prop_assert_eq!((&task.wcet, task.period), (&plain.wcet, plain.period));
            let steps = task.steps.as_deref().unwrap_or_default();
            let mut suspended = (0, Duration::ZERO);
            for pair in steps.windows(2) {
                // Between a section and the following section or suspension there is execution.
                prop_assert!(matches!(pair, [Step::Run(_), _] | [_, Step::Run(_)]), "{steps:?}");
            }
            for step in steps {
                if let Step::Suspend(length) = *step {
                    suspended = (suspended.0 + 1, suspended.1 + length);
                }
            }
            for section in task.sections() {
                prop_assert_eq!(section.within, None);
                prop_assert!((5_000..=9_000).contains(&section.length.ns()));
            }
            let rest = (task.period - task.own_wcet().at_unit_speed()).ns();
            match count {
                None => prop_assert_eq!(suspended.0, 0),
                Some((least, more)) => {
                    // If the suspension is too short for the drawn number
                    // of granules, a job suspends itself less often.
                    prop_assert!(suspended.0 <= least + more);
                    prop_assert!(suspended.0 >= least || suspended.1.ns() / 1_000 < i64::from(least));
                    if suspended.0 > 0 {
                        prop_assert!(suspended.1.ns() > rest / 10 - 1_000);
                    }
                    prop_assert!(suspended.1.ns() <= rest * 3 / 10 + 1);
                }
            }
            prop_assert!(task.own_wcet().at_unit_speed() + suspended.1 <= task.deadline);
        }
    }
}

/// Returns the graphs of sets with one graph each.
fn graphs_of(shape: Shape, nodes: (u32, u32), count: u64) -> impl Iterator<Item = Graph> {
    let generator =
        with_graphs(shape, nodes, recipe(1, Rate::new(1, 2), Rate::ONE, 3)).generator().unwrap();
    (0..count).map(move |index| generator.generate(index).unwrap().graphs().swap_remove(0))
}

/// Returns the probability of each graph with four nodes, from all 64 choices of edges. `attach` is
/// the probability that the first node of a remaining component follows a given node before it.
fn distribution(
    p: f64,
    attach: impl Fn(usize, usize) -> f64,
) -> BTreeMap<Vec<(usize, usize)>, f64> {
    let pairs = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)];
    let mut all = BTreeMap::new();
    for bits in 0..64u32 {
        let edges: Vec<(usize, usize)> =
            (0..6).filter(|bit| bits >> bit & 1 == 1).map(|bit| pairs[bit]).collect();
        let chance = p.powi(edges.len() as i32) * (1.0 - p).powi(6 - edges.len() as i32);
        let mut first = [0, 1, 2, 3];
        for _ in 0..4 {
            for &(from, to) in &edges {
                let smaller = first[from].min(first[to]);
                (first[from], first[to]) = (smaller, smaller);
            }
        }
        let mut found = vec![(edges, chance)];
        for node in (1..4).filter(|&node| first[node] == node) {
            let each = |(edges, chance): (Vec<(usize, usize)>, f64)| {
                let attach = &attach;
                (0..node).map(move |from| {
                    let edges = edges.iter().copied().chain([(from, node)]).collect();
                    (edges, chance * attach(from, node))
                })
            };
            found = found.into_iter().flat_map(each).collect::<Vec<(Vec<_>, f64)>>();
        }
        for (mut edges, chance) in found {
            edges.sort_by_key(|&(from, to)| (to, from));
            *all.entry(edges).or_insert(0.0) += chance;
        }
    }
    all
}

/// G(n, p), connected: compares with the exact distribution of all graphs with four nodes.
#[test]
fn random_graphs_have_their_distribution() {
    let mut counts = BTreeMap::new();
    for graph in graphs_of(gnp(Rate::new(3, 10)), (4, 4), 20_000) {
        *counts.entry(graph.edges).or_insert(0.0) += 1.0;
    }
    let uniform = distribution(0.3, |_, node| 1.0 / node as f64);
    assert!((uniform.values().sum::<f64>() - 1.0).abs() < 1e-9);
    let d = against(&counts, &uniform);
    assert!(d < 1.0, "{d}");
    // The test detects a sampler that attaches to the
    // node just before, or uses another probability.
    let before = distribution(0.3, |from, node| if from + 1 == node { 0.9 } else { 0.1 });
    assert!(against(&counts, &before) > 3.0);
    assert!(against(&counts, &distribution(0.33, |_, node| 1.0 / node as f64)) > 1.0);
}

#[test]
fn the_number_of_nodes_is_uniform() {
    let mut counts = BTreeMap::new();
    for graph in graphs_of(gnp(Rate::new(1, 5)), (3, 12), 10_000) {
        *counts.entry(graph.tasks.len()).or_insert(0.0) += 1.0;
    }
    let d = against(&counts, &(3..=12).map(|nodes| (nodes, 0.1)).collect());
    assert!(d < 1.0, "{d}");
}

/// Two nested forks: the exact distribution of the number of nodes, by convolution.
#[test]
fn forks_have_their_distribution() {
    let (fork, most) = (0.4, 4);
    let branch: BTreeMap<usize, f64> = std::iter::once((1, 1.0 - fork))
        .chain((2..=most).map(|inner| (inner + 2, fork / (most - 1) as f64)))
        .collect();
    let mut sums = BTreeMap::from([(2, 1.0)]);
    let mut expected = BTreeMap::new();
    for branches in 1..=most {
        let mut next = BTreeMap::new();
        for (nodes, p) in &sums {
            for (more, q) in &branch {
                *next.entry(nodes + more).or_insert(0.0) += p * q;
            }
        }
        sums = next;
        for (nodes, p) in sums.iter().filter(|_| branches >= 2) {
            *expected.entry(*nodes).or_insert(0.0) += p / (most - 1) as f64;
        }
    }
    let mut counts = BTreeMap::new();
    let shape = fork_join(Rate::new(2, 5), (2, most as u32), 2, Rate::ZERO);
    for graph in graphs_of(shape, (4, 1000), 20_000) {
        *counts.entry(graph.tasks.len()).or_insert(0.0) += 1.0;
        // The source precedes all other nodes, and the sink follows
        // them: every other node has a predecessor and a successor.
        let last = graph.tasks.len() - 1;
        assert!((1..=last).all(|node| graph.edges.iter().any(|edge| edge.1 == node)));
        assert!((0..last).all(|node| graph.edges.iter().any(|edge| edge.0 == node)));
        assert!((1..last).all(|node| {
            let (ins, outs) = (
                graph.edges.iter().filter(|e| e.1 == node).count(),
                graph.edges.iter().filter(|e| e.0 == node).count(),
            );
            ins == 1 || outs == 1
        }));
    }
    let d = against(&counts, &expected);
    assert!(d < 1.0, "{d}");
}

/// Edges between all nodes that could run in parallel leave one path.
#[test]
fn added_edges_order_what_was_parallel() {
    let parallel = |edge| {
        let shape = fork_join(Rate::new(1, 2), (2, 4), 2, edge);
        let recipe = with_graphs(shape, (4, 1000), recipe(1, Rate::new(1, 2), Rate::ONE, 3));
        let free = |index| {
            let system = recipe.generate(index).unwrap();
            let graph = system.graphs().swap_remove(0);
            let volume: Service = system.tasks.values().map(|task| task.own_wcet()).sum();
            volume > longest_path(&system, &graph)
        };
        (0..100).filter(|&index| free(index)).count()
    };
    assert_eq!([Rate::ZERO, Rate::ONE].map(parallel), [100, 0]);
}

/// The number and the length of the requests of a job.
#[test]
fn sections_have_their_distributions() {
    let periods = Periods::Choice(vec![Duration::from_ms(100)]);
    let recipe =
        Recipe { sections: Some(sections()), periods, ..recipe(4, Rate::whole(2), Rate::ONE, 8) };
    let generator = recipe.generator().unwrap();
    let (mut requests, mut lengths) = (BTreeMap::new(), BTreeMap::new());
    for index in 0..2_000 {
        for task in generator.generate(index).unwrap().tasks.values() {
            for resource in 0..3 {
                let sections = task.sections();
                let own: Vec<i64> = (sections.iter())
                    .filter(|section| section.resource.0 == resource)
                    .map(|section| section.length.ns())
                    .collect();
                assert!(own.windows(2).all(|pair| pair[0] == pair[1]));
                *requests.entry(own.len()).or_insert(0.0) += 1.0;
                if let Some(length) = own.first() {
                    *lengths.entry(length / 1_000).or_insert(0.0) += 1.0;
                }
            }
        }
    }
    let half = |count: usize| (count, if count == 0 { 0.5 } else { 0.125 });
    assert!(against(&requests, &(0..=4).map(half).collect()) < 1.0, "{requests:?}");
    assert!(against(&lengths, &(5..=9).map(|us| (us, 0.2)).collect()) < 1.0, "{lengths:?}");
}

#[test]
fn errors_say_what_to_do() {
    let plain = || recipe(2, Rate::ONE, Rate::ONE, 1);
    let graphs = |plain| with_graphs(gnp(Rate::new(1, 5)), (3, 5), plain);
    let error = |recipe: Recipe| recipe.generate(0).unwrap_err().to_string();
    let two_budgets = || Some(TwoBudgets::new(2, Rate::whole(2)));
    assert_eq!(
        error(graphs(Recipe { two_budgets: two_budgets(), ..plain() })),
        "`levels` is given: nodes of graphs have one WCET: leave levels or graphs out"
    );
    assert_eq!(
        error(graphs(Recipe { min_wcet: Service::from_us(1), ..plain() })),
        "`min_wcet` is given: nodes share a volume: leave it or graphs out"
    );
    assert_eq!(
        error(graphs(Recipe { sections: Some(sections()), ..plain() })),
        "`sections` is given: nodes of graphs only execute: leave them or graphs out"
    );
    let criticalities = Some(Criticalities::dual(Rate::new(1, 2), Rate::whole(2)));
    assert_eq!(
        error(Recipe { sections: Some(sections()), criticalities, ..plain() }),
        "`sections` is given: jobs with steps have one WCET: leave them or levels out"
    );
    assert_eq!(
        error(with_graphs(gnp(Rate::ONE), (3, 5), recipe(1, Rate::new(3, 2), Rate::whole(2), 1))),
        "none of 1000 tries drew a graph whose longest path is within its period: draw more nodes, fewer edges, or \
         smaller utilizations"
    );
    let shape = fork_join(Rate::ONE, (3, 3), 2, Rate::ZERO);
    assert_eq!(
        error(with_graphs(shape, (4, 5), plain())),
        "none of 1000 tries drew a graph with this many `nodes` and a path within its period: widen `nodes`, or change \
         `branches`, `depth` or `fork_probability`"
    );
    let long = Sections { length: (Service::from_ms(990), Service::from_ms(999)), ..sections() };
    let all = Sections { access: Rate::ONE, ..long };
    assert_eq!(
        error(Recipe { sections: Some(all), ..plain() }),
        "none of 1000 tries drew sections that fit into a WCET: raise `min_wcet`, or draw shorter sections, fewer \
         requests or fewer resources"
    );
    let half = || Rate::new(1, 2);
    let wrong_shapes = [
        (gnp(Rate::whole(2)), (3, 5), "`edge_probability` is 2: a probability is between 0 and 1"),
        (
            gnp(half()),
            (5, 3),
            "`nodes` is 5..3: a graph has 1 to 1000 nodes, the smaller number first",
        ),
        (
            gnp(half()),
            (0, 3),
            "`nodes` is 0..3: a graph has 1 to 1000 nodes, the smaller number first",
        ),
        (
            fork_join(half(), (1, 3), 2, half()),
            (3, 5),
            "`branches` is 1..3: a fork has 2 to 64 branches, the smaller number first",
        ),
        (
            fork_join(half(), (2, 3), 0, half()),
            (3, 5),
            "`depth` is 0: 1 to 16 forks are within each other",
        ),
    ];
    for (shape, nodes, message) in wrong_shapes {
        assert_eq!(error(with_graphs(shape, nodes, plain())), message);
    }
    let wrong_sections = [
        (
            Sections { resources: 0, ..sections() },
            "`resources` is 0: 1 to 1000 resources are possible",
        ),
        (
            Sections { requests: (0, 2), ..sections() },
            "`requests` is 0..2: a job makes 1 to 1000 requests, the smaller number first",
        ),
        (
            Sections { length: (Service::ZERO, Service::from_us(1)), ..sections() },
            "`section` is 0ns..1us: sections are longer than 0, the shorter length first",
        ),
    ];
    for (sections, message) in wrong_sections {
        assert_eq!(error(Recipe { sections: Some(sections), ..plain() }), message);
    }
    let suspensions = Suspensions { count: (1, 1), share: (half(), Rate::whole(2)) };
    assert_eq!(
        error(Recipe { suspensions: Some(suspensions), ..plain() }),
        "`suspension` is 1/2..2: shares of the period less the WCET are between 0 and 1, and in order"
    );
}
