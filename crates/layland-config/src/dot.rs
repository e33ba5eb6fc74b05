//! Reads a graph of tasks in the language of Graphviz (DOT): nodes are tasks, and edges are the
//! tasks that they follow.
//!
//! ```text
//! digraph pipeline {
//!   period = "10ms"
//!   camera [wcet = "1ms"]
//!   detect [wcet = "4ms"]
//!   camera -> detect
//! }
//! ```
//!
//! The attributes of nodes have the titles of tables. An attribute of the graph counts for each
//! node without its own, as those of `node [..]` do. Attributes for the look (`label`, `shape`,
//! `color`) do not count, and neither do those of edges. The graph becomes a table, so that its
//! values are read as those of a table.

use crate::csv::{self, Grid};
use crate::host::Host;
use crate::problem::{Problem, Problems, Span};
use layland_model::System;
use std::collections::BTreeMap;

/// A word or a sign, with its place.
#[derive(Clone)]
struct Token {
    text: String,
    /// True for a word, in quotes or without.
    is_word: bool,
    span: Span,
}

/// The attributes of a node, each with the place of its key and its value.
type Attributes = Vec<(Token, Token)>;

#[derive(Default)]
struct Graph {
    names: Vec<Token>,
    at: BTreeMap<String, usize>,
    attributes: Vec<Attributes>,
    /// For each node the nodes before it.
    before: Vec<Vec<usize>>,
    /// Those of the graph and of `node [..]`.
    defaults: Attributes,
    has_edge_attributes: Option<Span>,
}

/// Reads a graph. Returns the system and the span of each task, or `None` after reporting errors.
pub(crate) fn read(
    text: &str,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    let graph = tokens(text).and_then(|tokens| Parser { tokens, at: 0 }.graph(text));
    let graph = match graph {
        Ok(graph) => graph,
        Err(problem) => {
            problems.push(*problem);
            return None;
        }
    };
    if let Some(span) = &graph.has_edge_attributes {
        let message = "the attributes of edges do not count";
        let problem = Problem::warning("layland::dot::edge", message).at(span.clone(), "here");
        problems
            .push(problem.help("add the time for a message to the WCET of the task that sends it"));
    }
    csv::read_grid(text, &graph.grid(), host, problems)
}

impl Graph {
    fn node(&mut self, name: &Token) -> usize {
        let next = self.names.len();
        let at = *self.at.entry(name.text.clone()).or_insert(next);
        if at == next {
            self.names.push(name.clone());
            self.attributes.push(Vec::new());
            self.before.push(Vec::new());
        }
        at
    }

    /// Returns the nodes as a table.
    fn grid(&self) -> Grid {
        const LOOK: [&str; 15] = [
            "label",
            "shape",
            "color",
            "fillcolor",
            "style",
            "rankdir",
            "pos",
            "width",
            "height",
            "fontsize",
            "fontname",
            "fontcolor",
            "xlabel",
            "tooltip",
            "penwidth",
        ];
        let mut grid = Grid::default();
        let counts = |key: &Token| !LOOK.contains(&&*key.text);
        for (at, name) in self.names.iter().enumerate() {
            let mut row =
                vec![("name".to_owned(), name.text.clone(), name.span.clone(), name.span.clone())];
            let own = &self.attributes[at];
            let is_own = |key: &Token| own.iter().any(|(other, _)| other.text == key.text);
            let inherited = self.defaults.iter().filter(|(key, _)| !is_own(key));
            for (key, value) in own.iter().chain(inherited).filter(|(key, _)| counts(key)) {
                row.push((
                    key.text.clone(),
                    value.text.clone(),
                    key.span.clone(),
                    value.span.clone(),
                ));
            }
            if !self.before[at].is_empty() {
                let names: Vec<&str> =
                    self.before[at].iter().map(|&before| &*self.names[before].text).collect();
                row.push((
                    "follows".to_owned(),
                    names.join("; "),
                    name.span.clone(),
                    name.span.clone(),
                ));
            }
            grid.push(row, &name.span);
        }
        grid
    }
}

type Parsed<T> = Result<T, Box<Problem>>;

fn fault(span: Span, message: &str, help: &str) -> Box<Problem> {
    let problem = Problem::error("layland::dot::syntax", format!("not read as a graph: {message}"));
    Box::new(problem.at(span, "here").help(help))
}

/// Splits a text into words and signs.
fn tokens(text: &str) -> Parsed<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let mut push = |text: String, is_word, length| {
            tokens.push(Token { text, is_word, span: at..at + length });
            length
        };
        let is_bare = |c: char| c.is_alphanumeric() || "_.µ".contains(c);
        at += if c.is_whitespace() || c == '\u{feff}' {
            c.len_utf8()
        } else if rest.starts_with("//") || c == '#' {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            match rest.find("*/") {
                Some(end) => end + 2,
                None => {
                    return Err(fault(at..at + 2, "the comment does not end", "close it with */"));
                }
            }
        } else if c == '"' {
            match rest[1..].find('"') {
                Some(end) => push(rest[1..=end].to_owned(), true, end + 2),
                None => {
                    return Err(fault(at..at + 1, "the quote is not closed", "close it with \""));
                }
            }
        } else if rest.starts_with("->") || rest.starts_with("--") {
            push(rest[..2].to_owned(), false, 2)
        } else if is_bare(c) || (c == '-' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            let length = rest[c.len_utf8()..]
                .find(|c| !is_bare(c))
                .map_or(rest.len(), |end| end + c.len_utf8());
            push(rest[..length].to_owned(), true, length)
        } else {
            push(c.to_string(), false, c.len_utf8())
        };
    }
    Ok(tokens)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(|token| &*token.text)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is = self.tokens.get(self.at).is_some_and(|token| !token.is_word && token.text == sign);
        self.at += usize::from(is);
        is
    }

    fn span(&self) -> Span {
        match self.tokens.get(self.at).or(self.tokens.last()) {
            Some(token) => token.span.clone(),
            None => 0..0,
        }
    }

    fn word(&mut self) -> Parsed<Token> {
        match self.tokens.get(self.at) {
            Some(token) if token.is_word => {
                self.at += 1;
                Ok(token.clone())
            }
            Some(_) | None => Err(fault(
                self.span(),
                "a name is missing",
                "write nodes as a [wcet = \"1ms\"], and edges as a -> b",
            )),
        }
    }

    fn graph(mut self, text: &str) -> Parsed<Graph> {
        if self.peek() == Some("strict") {
            self.at += 1;
        }
        if self.peek() != Some("digraph") {
            let help = "edges need a direction, from a task to the one that follows it: digraph { a -> b }";
            return Err(fault(self.span(), "the graph is not directed", help));
        }
        self.at += 1;
        if self.peek() != Some("{") {
            self.word()?;
        }
        if !self.takes("{") {
            return Err(fault(self.span(), "`{` is missing", "write digraph { a -> b }"));
        }
        let mut graph = Graph::default();
        while !self.takes("}") {
            if self.at >= self.tokens.len() {
                return Err(fault(
                    text.len()..text.len(),
                    "the graph does not end",
                    "close it with }",
                ));
            }
            self.statement(&mut graph)?;
        }
        Ok(graph)
    }

    fn statement(&mut self, graph: &mut Graph) -> Parsed<()> {
        if self.takes(";") || self.takes(",") {
            return Ok(());
        }
        if matches!(self.peek(), Some("subgraph" | "cluster")) {
            return Err(fault(
                self.span(),
                "parts of graphs have no meaning for tasks",
                "write its nodes and edges into the graph",
            ));
        }
        let mut ends = self.nodes(graph)?;
        let first = self.tokens[self.at - 1].clone();
        if self.takes("=") {
            let value = self.word()?;
            // An attribute of the graph: its name has been taken for a node.
            graph.forget(&first);
            graph.defaults.push((first, value));
            return Ok(());
        }
        let is_word = matches!(&*first.text, "node" | "graph" | "edge");
        if is_word && self.peek() == Some("[") {
            graph.forget(&first);
            let attributes = self.attributes()?;
            if first.text != "edge" {
                graph.defaults.extend(attributes);
            }
            return Ok(());
        }
        let mut is_edge = false;
        while self.takes("->") {
            let next = self.nodes(graph)?;
            for &to in &next {
                for &from in &ends {
                    if !graph.before[to].contains(&from) {
                        graph.before[to].push(from);
                    }
                }
            }
            (ends, is_edge) = (next, true);
        }
        let at = self.span();
        let attributes = self.attributes()?;
        if is_edge {
            if !attributes.is_empty() {
                graph.has_edge_attributes.get_or_insert(at);
            }
        } else {
            for node in ends {
                graph.attributes[node].extend(attributes.iter().cloned());
            }
        }
        Ok(())
    }

    /// Parses a node, or several in braces.
    fn nodes(&mut self, graph: &mut Graph) -> Parsed<Vec<usize>> {
        if !self.takes("{") {
            let name = self.word()?;
            return Ok(vec![graph.node(&name)]);
        }
        let mut nodes = Vec::new();
        while !self.takes("}") {
            if !self.takes(";") && !self.takes(",") {
                let name = self.word()?;
                nodes.push(graph.node(&name));
            }
        }
        Ok(nodes)
    }

    fn attributes(&mut self) -> Parsed<Attributes> {
        let mut attributes = Vec::new();
        while self.takes("[") {
            while !self.takes("]") {
                if self.takes(",") || self.takes(";") {
                    continue;
                }
                let key = self.word()?;
                if !self.takes("=") {
                    return Err(fault(
                        self.span(),
                        "`=` is missing",
                        "write attributes as [wcet = \"1ms\"]",
                    ));
                }
                attributes.push((key, self.word()?));
            }
        }
        Ok(attributes)
    }
}

impl Graph {
    /// Removes the last node, which was none.
    fn forget(&mut self, name: &Token) {
        let is_last = self.names.last().is_some_and(|last| last.span == name.span);
        if is_last {
            self.names.pop();
            self.attributes.pop();
            self.before.pop();
            self.at.remove(&name.text);
        }
    }
}
