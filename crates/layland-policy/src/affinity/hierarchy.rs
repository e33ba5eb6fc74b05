//! The set of tasks that run under hierarchical affinities (Bonifaci et al. 2016, Section III-C,
//! Algorithms 3 and 5), independent of the CPUs on which they run.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | masks, `pi` | `nodes`, node 0 | the masks in use and the set of all CPUs, as a tree in preorder |
//! | `abs(beta)` | `size` | the number of CPUs of a mask |
//! | `abs(s[beta])` | `count` | the number of chosen tasks with masks within this one |
//! | `s[beta]` | `own` of `beta` and of the masks within it | the chosen tasks, each kept at its own mask, in order |
//! | `b[beta]` | `backlog` | the waiting tasks with exactly this mask |
//!
//! Deviations from the paper:
//!
//! - `s[beta]` is not copied to every ancestor. The nodes within `beta` are adjacent, and the last
//!   task of each is at the end of its list: *FindMin* is one pass over them, O(m).
//! - Algorithm 5 offers the first task of every backlog to Algorithm 3, O(m^2). Here one pass finds
//!   the only task that can enter: the chosen sets are the independent sets of a laminar matroid,
//!   and when an element leaves a best basis, the best element that fits instead completes it. A
//!   task fits if no mask from its own up to the root is full. A waiting task was kept out by a
//!   full mask, so it is within the largest mask around the departed task that was full. O(m + log
//!   n).
//! - A task that departs while it waits is deleted from its backlog.

use super::backlog::{Backlog, PlaceInOrder};
use super::bits::{Bits, Places};
use super::laminar::parents;
use super::touches::touch;
use layland_model::CpuSet;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Node<B: Bits> {
    pub cpus: B,
    own: B::Places,
    size: u32,
    count: u32,
    /// [`NONE`] for the root.
    parent: u32,
    /// One past the last node within this one.
    end: u32,
    backlog: Backlog,
}

impl<B: Bits> Node<B> {
    #[inline]
    fn is_full(&self) -> bool {
        self.count == self.size
    }
}

/// The effect of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrivalEffect {
    /// The task runs too.
    Enters,
    /// The task runs instead of another one.
    Replaces(PlaceInOrder),
    /// The task waits.
    Waits,
}

/// The effect of a departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// The task was waiting.
    Waited,
    /// The task was chosen; the given task, if any, is chosen in its place.
    Left(Option<PlaceInOrder>),
}

/// The masks in use, and the ready tasks by mask.
#[derive(Clone, Debug)]
pub(crate) struct MaskHierarchy<B: Bits> {
    pub nodes: Vec<Node<B>>,
}

impl<B: Bits> MaskHierarchy<B> {
    /// Returns the tree of distinct laminar masks, with the node of each. An empty mask is allowed,
    /// and always full.
    pub(crate) fn new(masks: &[&CpuSet], all: &CpuSet, cpus: usize) -> (Self, Vec<u32>) {
        let mut masks = masks.to_vec();
        let given = masks.len();
        let root = masks.iter().position(|mask| *mask == all).unwrap_or_else(|| {
            masks.push(all);
            given
        });
        let parents = parents(&masks, cpus).expect("masks that are not laminar were refused");
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); masks.len()];
        for (at, parent) in parents.iter().enumerate() {
            if at != root {
                children[parent.unwrap_or(root)].push(at);
            }
        }
        let mut tree = Self { nodes: Vec::with_capacity(masks.len()) };
        let mut node_of = vec![NONE; masks.len()];
        // In preorder; a node that the loop meets a second time is complete.
        let mut stack = vec![(root, NONE)];
        while let Some((at, parent)) = stack.pop() {
            if node_of[at] != NONE {
                tree.nodes[node_of[at] as usize].end = tree.nodes.len() as u32;
                continue;
            }
            let node = tree.nodes.len() as u32;
            node_of[at] = node;
            tree.nodes.push(Node {
                cpus: B::of(masks[at], cpus),
                own: B::Places::default(),
                size: masks[at].len() as u32,
                count: 0,
                parent,
                end: node,
                backlog: Backlog::default(),
            });
            stack.push((at, parent));
            stack.extend(children[at].iter().rev().map(|&child| (child, node)));
        }
        node_of.truncate(given);
        (tree, node_of)
    }

    /// Adds or removes a task in the counts of its node and of all ancestors.
    #[inline]
    fn count(&mut self, node: u32, change: i32) {
        let mut at = node;
        while at != NONE {
            touch();
            let node = &mut self.nodes[at as usize];
            node.count = node.count.wrapping_add_signed(change);
            debug_assert!(node.count <= node.size, "no mask has more tasks than CPUs");
            at = node.parent;
        }
    }

    #[inline]
    fn insert(&mut self, node: u32, place: PlaceInOrder) {
        self.nodes[node as usize].own.put(place);
    }

    /// Algorithm 3: a task with the mask of `node` becomes ready.
    #[inline]
    pub(crate) fn arrive(&mut self, node: u32, place: PlaceInOrder) -> ArrivalEffect {
        // Lines 2-5: the smallest full mask around it.
        let mut beta = node;
        while !self.nodes[beta as usize].is_full() {
            touch();
            beta = self.nodes[beta as usize].parent;
            if beta == NONE {
                // Lines 6-7.
                self.insert(node, place);
                self.count(node, 1);
                return ArrivalEffect::Enters;
            }
        }
        // Line 9: the last task within the mask, or the new one.
        let end = self.nodes[beta as usize].end;
        let mut last: Option<(PlaceInOrder, u32)> = None;
        for (at, inside) in (beta..end).zip(&self.nodes[beta as usize..end as usize]) {
            touch();
            if let Some(place) = inside.own.final_one()
                && last.is_none_or(|(last, _)| place > last)
            {
                last = Some((place, at));
            }
        }
        match last {
            Some((last, at)) if last > place => {
                // Lines 6-7 and 10-12.
                self.count(at, -1);
                self.nodes[at as usize].own.take(last);
                self.nodes[at as usize].backlog.insert(last);
                self.insert(node, place);
                self.count(node, 1);
                ArrivalEffect::Replaces(last)
            }
            Some(_) | None => {
                self.nodes[node as usize].backlog.insert(place);
                ArrivalEffect::Waits
            }
        }
    }

    /// Algorithm 5: a task with the mask of `node` is no longer ready.
    #[inline]
    pub(crate) fn depart(&mut self, node: u32, place: PlaceInOrder, is_chosen: bool) -> Departure {
        if !is_chosen {
            self.nodes[node as usize].backlog.remove(place);
            return Departure::Waited;
        }
        self.nodes[node as usize].own.take(place);
        // Lines 2-3, and the largest mask that is no longer full.
        let (mut at, mut top) = (node, NONE);
        while at != NONE {
            touch();
            let around = &mut self.nodes[at as usize];
            if around.is_full() {
                top = at;
            }
            around.count -= 1;
            at = around.parent;
        }
        if top == NONE {
            return Departure::Left(None);
        }
        // Lines 4-6: the first task that fits.
        let mut best: Option<(PlaceInOrder, u32)> = None;
        let mut at = top;
        while at < self.nodes[top as usize].end {
            touch();
            let inside = &self.nodes[at as usize];
            if inside.is_full() {
                at = inside.end;
                continue;
            }
            if let Some(first) = inside.backlog.first()
                && best.is_none_or(|(best, _)| first < best)
            {
                best = Some((first, at));
            }
            at += 1;
        }
        // Lines 7-8.
        let Some((first, node)) = best else { return Departure::Left(None) };
        self.nodes[node as usize].backlog.remove(first);
        self.insert(node, first);
        self.count(node, 1);
        Departure::Left(Some(first))
    }

    /// Returns the chosen tasks, smaller masks before those around them, tasks of one mask in
    /// order.
    #[inline]
    pub(crate) fn chosen(&self) -> impl Iterator<Item = (&B, PlaceInOrder)> {
        self.nodes
            .iter()
            .rev()
            .inspect(|_| touch())
            .flat_map(|node| node.own.in_order().map(move |own| (&node.cpus, own)))
            .inspect(|_| touch())
    }

    pub(crate) fn cpus(&self, node: u32) -> &B {
        &self.nodes[node as usize].cpus
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::TaskId;

    fn place(key: i64) -> PlaceInOrder {
        PlaceInOrder { key, ready: 0, rank: 0, task: TaskId(key as u32) }
    }

    #[test]
    fn arrivals_replace_and_departures_call_back() {
        let masks: Vec<CpuSet> = ["0", "0-1", "2"].map(|cpus| cpus.parse().unwrap()).to_vec();
        let masks: Vec<&CpuSet> = masks.iter().collect();
        let (mut tree, node_of) = MaskHierarchy::<u64>::new(&masks, &CpuSet::first(3), 3);
        let all = 0;
        let [one, two, other] = [node_of[0], node_of[1], node_of[2]];
        assert_eq!(tree.arrive(all, place(5)), ArrivalEffect::Enters);
        assert_eq!(tree.arrive(two, place(6)), ArrivalEffect::Enters);
        assert_eq!(tree.arrive(all, place(7)), ArrivalEffect::Enters);
        assert_eq!(tree.arrive(one, place(8)), ArrivalEffect::Waits);
        assert_eq!(tree.arrive(one, place(4)), ArrivalEffect::Replaces(place(7)));
        // The mask of CPUs 0 and 1 is full: its last task is evicted, not the last task of all.
        assert_eq!(tree.arrive(two, place(3)), ArrivalEffect::Replaces(place(6)));
        assert_eq!(tree.arrive(other, place(1)), ArrivalEffect::Replaces(place(5)));
        assert_eq!(tree.depart(other, place(1), true), Departure::Left(Some(place(5))));
        assert_eq!(tree.depart(two, place(6), false), Departure::Waited);
        // Task 8 may use only CPU 0, which task 4 occupies; task 7 may use any.
        assert_eq!(tree.depart(two, place(3), true), Departure::Left(Some(place(7))));
        assert_eq!(tree.depart(all, place(5), true), Departure::Left(None));
        assert_eq!(tree.depart(one, place(4), true), Departure::Left(Some(place(8))));
        assert_eq!(tree.chosen().map(|(_, place)| place.key).collect::<Vec<_>>(), [8, 7]);
    }
}
