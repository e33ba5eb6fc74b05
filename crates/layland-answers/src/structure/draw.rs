//! Structures as text, SVG and DOT.

use super::{Node, Structure};
use std::fmt::Write;

// --- Text ---------------------------------------------------------------------------------------

impl Structure {
    /// Returns the structure as lines of text.
    pub fn text(&self) -> String {
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

impl Structure {
    /// Returns the structure for Graphviz.
    pub fn dot(&self) -> String {
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

impl Structure {
    /// Returns the structure as an SVG picture.
    pub fn svg(&self) -> String {
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
    use layland_model::{Duration, Service, System, Task};
    use layland_policy::Registry;

    #[test]
    fn drawings_have_every_node_and_escape_names() {
        let task = |name: &str| Task::implicit(name, Service::from_ms(2), Duration::from_ms(3));
        let system = System::new(2, ["a", "b<&", "\"c\\"].map(task).to_vec());
        let registry = Registry::standard();
        let of = |policy| Structure::of(&registry, &system, policy).expect("it has a structure");
        let dot = of("run").dot();
        assert!(dot.starts_with("digraph structure {") && dot.ends_with("}\n"), "{dot}");
        assert!(dot.contains("[label=\"S3 2/3 (dual 1/3)\\n\\\"c\\\\ 2/3\"];"), "{dot}");
        assert_eq!(dot.matches(" -> ").count(), 3);
        let text = of("cd").text();
        assert!(text.contains("1 of 3 tasks split, 1 migration per job at most"), "{text}");
        assert!(
            text.contains("CPU 1: b<& 2ms in 3ms; \"c\\ 1ms in 2ms from 1ms on (2 of 2)"),
            "{text}"
        );
        let svg = of("qps").svg();
        assert_eq!(svg.matches("rx=\"4\"").count(), 2, "a box per CPU: {svg}");
        assert_eq!(svg.matches("<path").count(), 1);
        assert!(svg.contains("b&lt;&amp; 2/3") && !svg.contains("b<&"), "{svg}");
    }
}
