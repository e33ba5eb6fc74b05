//! Gantt charts for LaTeX.
//!
//! The output is a document of class `standalone` with one `tikzpicture`; it needs only the package
//! `tikz`. Each drawn item is one line, so that authors can edit it. Lengths are integers in
//! thousandths of a centimetre, so the bytes are the same on any machine. Colours have names
//! (`laylandA` ..) that can be redefined. Every segment has the name of its job if it fits.

use super::axis::Axis;
use super::scene::{CpuRow, RunSegment, Scene, TaskRow};
use super::view::{Rows, View};
use super::words::{Nanoseconds, counted_misses};
use layland_model::Time;
use std::fmt::{self, Write};

/// Options of a chart for LaTeX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TikzOptions {
    /// The width of the time axis in millimetres; at least 20 are used.
    pub width: u32,
    /// The rows to draw.
    pub rows: Rows,
    /// A title above the chart.
    pub title: Option<String>,
    /// The maximum number of tasks with rows; if there are more, those with misses come first.
    pub max_rows: usize,
}

impl Default for TikzOptions {
    /// Returns a width of 140 mm, both kinds of rows, no title, at most 40 tasks.
    fn default() -> Self {
        TikzOptions { width: 140, rows: Rows::Both, title: None, max_rows: 40 }
    }
}

/// Thousandths of a centimetre, printed in centimetres.
#[derive(Clone, Copy)]
struct Cm(i64);

impl fmt::Display for Cm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, length) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        write!(f, "{sign}{}.{:03}", length / 1000, length % 1000)
    }
}

/// The colours of Okabe and Ito, which people with any kind of colour vision can distinguish.
const PALETTE: [&str; 8] =
    ["0072B2", "E69F00", "009E73", "CC79A7", "56B4E9", "F0E442", "D55E00", "B0B0B0"];

/// The distance between two rows, and the height of a bar.
const LANE: i64 = 900;
const BAR: i64 = 420;
/// The distance of a row of criticality levels from its CPU, and its height.
const LEVEL_LANE: i64 = 420;
const LEVEL: i64 = 260;
/// The height of the bar of a lock.
const LOCK: i64 = 190;
/// The width that a bar needs for text, and for each further character.
const TEXT: i64 = 150;

/// Text in which the special characters of LaTeX are escaped.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '#' | '$' | '%' | '&' | '_' | '{' | '}' => write!(f, "\\{c}")?,
                '\\' => f.write_str("\\textbackslash{}")?,
                '~' => f.write_str("\\textasciitilde{}")?,
                '^' => f.write_str("\\textasciicircum{}")?,
                '<' => f.write_str("\\textless{}")?,
                '>' => f.write_str("\\textgreater{}")?,
                'µ' | 'μ' => f.write_str("\\textmu{}")?,
                c if c.is_control() => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Formats a time.
fn time_text(time: impl Into<Nanoseconds>) -> String {
    time.into().to_string().replace("us", "µs")
}

fn colour(position: usize) -> char {
    char::from(b'A' + (position % PALETTE.len()) as u8)
}

struct TikzChart<'a> {
    scene: &'a Scene,
    width: i64,
    out: String,
}

impl View<'_> {
    /// Returns a LaTeX document that produces a page of the size of the chart
    /// (class `standalone`, package `tikz`). To include the chart in a paper,
    /// copy its `tikzpicture` and the colours above it, or use the package
    /// `standalone` and `\input` the file; then the paper needs only `tikz`.
    ///
    /// ```
    /// use layland_chart::gantt::{TikzOptions, View};
    /// use layland_trace::{Labels, Trace};
    /// let (trace, labels) = (Trace::default(), Labels::default());
    /// let tex = View::new(&trace, &labels).tikz(&TikzOptions::default());
    /// assert!(tex.contains("\\begin{tikzpicture}") && tex.ends_with("\\end{document}\n"));
    /// ```
    pub fn tikz(&self, options: &TikzOptions) -> String {
        draw(self, options)
    }
}

fn draw(view: &View, options: &TikzOptions) -> String {
    let scene = Scene::new(view.trace, view.labels, view.from, view.to, options.max_rows);
    let width = i64::from(options.width.clamp(20, 5_000)) * 100;
    let mut chart = TikzChart { scene: &scene, width, out: String::new() };
    chart.head();
    let mut y = 0;
    if let Some(title) = &options.title {
        chart.label(0, 1000, "west", "\\bfseries", title);
    }
    let misses = counted_misses(scene.miss_count());
    let about = format!("{} to {}, {misses}", time_text(scene.from), time_text(scene.to));
    chart.label(0, 620, "west", "\\small", &about);
    if options.rows.has_cpus() {
        for row in &scene.cpus {
            y -= LANE;
            chart.cpu(row, y);
            if !scene.level_names.is_empty() {
                y -= LEVEL_LANE;
                chart.levels(row, "level", y);
            }
        }
    } else if !scene.level_names.is_empty() {
        for row in &scene.cpus {
            y -= LEVEL_LANE;
            chart.levels(row, &scene.level_label(row), y);
        }
    }
    if options.rows.has_tasks() {
        for row in &scene.tasks {
            y -= LANE;
            chart.task(row, y);
        }
    }
    chart.axis(y - 200);
    if options.rows.has_tasks() && !scene.hidden.is_empty() {
        let hidden = format!("{} more tasks are not shown", scene.hidden.len());
        chart.label(0, y - 1200, "west", "\\small", &hidden);
    }
    chart.out += "\\end{tikzpicture}\n\\end{document}\n";
    chart.out
}

impl TikzChart<'_> {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        let _ = writeln!(self.out, "{line}");
    }

    fn head(&mut self) {
        self.out += "% A schedule, drawn by layland. Needs the package tikz.\n\
                     \\documentclass[tikz,border=2mm]{standalone}\n\
                     \\usepackage{textcomp}\n\\usetikzlibrary{arrows.meta,patterns}\n\
                     \\begin{document}\n";
        for (position, value) in PALETTE.into_iter().enumerate() {
            self.line(format_args!(
                "\\definecolor{{layland{}}}{{HTML}}{{{value}}}",
                colour(position)
            ));
        }
        self.out += "\\definecolor{laylandmiss}{HTML}{C00000}\n\
                     \\begin{tikzpicture}[x=1cm,y=1cm,font=\\sffamily\\footnotesize,\n  \
                     run/.style={draw=black,line width=.3pt},\n  \
                     wait/.style={black!50,line width=.6pt,densely dotted},\n  \
                     suspended/.style={black!50,line width=.3pt},\n  \
                     hold/.style={draw=black,fill=black,text=white,line width=.3pt},\n  \
                     request/.style={draw=black,fill=white,line width=.3pt,densely dashed},\n  \
                     overhead/.style={pattern=crosshatch,pattern color=black!70},\n  \
                     spin/.style={draw=black,line width=.3pt,pattern=north east lines,pattern color=black!70},\n  \
                     offline/.style={pattern=north west lines,pattern color=black!40},\n  \
                     level/.style={draw=black,fill=black!20,line width=.3pt},\n  \
                     release/.style={-{Stealth[length=1.6mm]},line width=.6pt},\n  \
                     deadline/.style={{Stealth[length=1.6mm]}-,line width=.6pt},\n  \
                     miss/.style={laylandmiss,line width=1.2pt},\n  \
                     move/.style={black!60,line width=.4pt,densely dashed,-{Stealth[length=1.2mm]}}]\n";
    }

    /// Returns the coordinate of a time; times outside the window are at its ends.
    fn x(&self, at: Time) -> Cm {
        let (from, to) = (i128::from(self.scene.from.ns()), i128::from(self.scene.to.ns()));
        let offset = i128::from(at.ns()).clamp(from, to) - from;
        Cm((offset * i128::from(self.width) / (to - from)) as i64)
    }

    fn label(&mut self, x: i64, y: i64, anchor: &str, font: &str, text: &str) {
        let (x, y) = (Cm(x), Cm(y));
        self.line(format_args!(
            "\\node[anchor={anchor}] at ({x},{y}) {{{font} {}}};",
            Escaped(text)
        ));
    }

    fn row(&mut self, name: &str, y: i64) {
        self.label(-100, y + BAR / 2, "east", "", name);
        let (width, y) = (Cm(self.width), Cm(y));
        self.line(format_args!("\\draw[black!30,line width=.3pt] (0,{y}) -- ({width},{y});"));
    }

    fn bar(&mut self, run: &RunSegment, y: i64, text: &str) {
        let (start, end) = (self.x(run.start), self.x(run.end));
        let fits = end.0 - start.0 >= TEXT * (text.chars().count() as i64 + 1);
        let text = if fits { text } else { "" };
        let (low, high, colour) = (Cm(y), Cm(y + BAR), colour(run.position));
        self.line(format_args!(
            "\\filldraw[run,fill=layland{colour}!60] ({start},{low}) rectangle node[font=\\sffamily\\tiny] {{{}}} ({end},{high});",
            Escaped(text)
        ));
        if run.overhead.ns() > 0 {
            // Overheads precede the execution of the job.
            let until = self.x(run.start.saturating_add(run.overhead).min(run.end));
            self.line(format_args!("\\fill[overhead] ({start},{low}) rectangle ({until},{high});"));
        }
        let scene = self.scene;
        for spin in scene.spins(run) {
            let (from, to) = (self.x(spin.from), self.x(spin.to));
            if from.0 < to.0 {
                self.line(format_args!("\\filldraw[spin] ({from},{low}) rectangle ({to},{high});"));
            }
        }
    }

    fn cpu(&mut self, row: &CpuRow, y: i64) {
        self.row(&format!("CPU {}", row.id), y);
        for &(start, end) in &row.offline {
            let (start, end, low, high) = (self.x(start), self.x(end), Cm(y), Cm(y + BAR));
            self.line(format_args!("\\fill[offline] ({start},{low}) rectangle ({end},{high});"));
        }
        let names: Vec<(usize, &str)> = (self.scene.tasks.iter().chain(&self.scene.hidden))
            .map(|row| (row.position, row.name.as_str()))
            .collect();
        for run in &row.runs {
            let name = names.iter().find(|(position, _)| *position == run.position);
            self.bar(run, y, name.map_or("", |(_, name)| name));
        }
        let scene = self.scene;
        for migration in scene.migrations.iter().filter(|to| to.to.1 == row.id) {
            let place = |cpu| scene.cpus.iter().position(|row| row.id == cpu);
            let Some(row) = place(migration.from.1) else { continue };
            let from_y = Cm(-(row as i64) * self.cpu_pitch() - LANE + BAR / 2);
            let (from, to, y) = (self.x(migration.from.0), self.x(migration.to.0), Cm(y + BAR / 2));
            self.line(format_args!("\\draw[move] ({from},{from_y}) -- ({to},{y});"));
        }
    }

    /// Returns the distance between two rows of CPUs.
    fn cpu_pitch(&self) -> i64 {
        LANE + if self.scene.level_names.is_empty() { 0 } else { LEVEL_LANE }
    }

    /// Draws the criticality indicator of a CPU: bars with the height and the name of the level.
    fn levels(&mut self, row: &CpuRow, label: &str, y: i64) {
        let scene = self.scene;
        self.label(-100, y + LEVEL / 2, "east", "\\tiny", label);
        let steps = scene.level_names.len().max(2) as i64 - 1;
        for stretch in &row.levels {
            let (level, name) = (stretch.level.level(), &scene.level_names[stretch.level.level()]);
            let (start, end) = (self.x(stretch.from), self.x(stretch.to));
            let (low, high) = (Cm(y), Cm(y + 30 + (LEVEL - 30) * level as i64 / steps));
            let fits = end.0 - start.0 >= TEXT * (name.chars().count() as i64 + 1);
            self.line(format_args!("\\filldraw[level] ({start},{low}) rectangle ({end},{high});"));
            if fits {
                let (name, middle) = (Escaped(name), Cm(y + LEVEL / 2));
                self.line(format_args!(
                    "\\node[anchor=west,inner sep=1pt] at ({start},{middle}) {{\\tiny {name}}};"
                ));
            }
        }
    }

    fn task(&mut self, row: &TaskRow, y: i64) {
        self.row(&row.name, y);
        for &(start, end) in &row.waits {
            let (start, end, y) = (self.x(start), self.x(end), Cm(y + BAR / 2));
            self.line(format_args!("\\draw[wait] ({start},{y}) -- ({end},{y});"));
        }
        for &(start, end) in &row.suspensions {
            let (start, end, y) = (self.x(start), self.x(end), Cm(y + BAR / 2));
            self.line(format_args!("\\draw[suspended] ({start},{y}) -- ({end},{y});"));
        }
        for run in &row.runs {
            let many = self.scene.cpus.len() > 1;
            let cpu = if many { run.cpu.to_string() } else { String::new() };
            self.bar(run, y, &cpu);
        }
        self.locks(row, y);
        let (low, high) = (Cm(y), Cm(y + BAR + 280));
        for job in &row.jobs {
            if self.scene.shows(job.release) {
                let x = self.x(job.release);
                self.line(format_args!("\\draw[release] ({x},{low}) -- ({x},{high});"));
            }
            if self.scene.shows(job.deadline) {
                let x = self.x(job.deadline);
                self.line(format_args!("\\draw[deadline] ({x},{low}) -- ({x},{high});"));
            }
            if let Some(at) = job.missed_at.filter(|&at| self.scene.shows(at)) {
                let (x, middle) = (self.x(at), y + BAR + 120);
                let (left, right) = (Cm(x.0 - 90), Cm(x.0 + 90));
                let (low, high) = (Cm(middle - 90), Cm(middle + 90));
                self.line(format_args!(
                    "\\draw[miss] ({left},{low}) -- ({right},{high}) ({left},{high}) -- ({right},{low}); % {}#{} misses its deadline",
                    // A line break would end the comment.
                    row.name.replace(char::is_control, " "),
                    job.id.number(),
                ));
            }
        }
    }

    /// Draws the locks that jobs hold or wait for, along the
    /// line; with the name of the resource if it fits.
    fn locks(&mut self, row: &TaskRow, y: i64) {
        for lock in &row.locks {
            let (start, end, low, high) = (self.x(lock.from), self.x(lock.to), Cm(y), Cm(y + LOCK));
            let name = self.scene.resource(lock);
            let fits = end.0 - start.0 >= TEXT * (name.chars().count() as i64 + 1);
            let name = if fits { name } else { String::new() };
            let name = Escaped(&name);
            let style = if lock.holds { "hold" } else { "request" };
            self.line(format_args!(
                "\\filldraw[{style}] ({start},{low}) rectangle node[font=\\sffamily\\tiny] {{{name}}} ({end},{high});"
            ));
        }
    }

    fn axis(&mut self, y: i64) {
        let scene = self.scene;
        let columns = usize::try_from(self.width / 180).unwrap_or(0);
        let axis = Axis::new(scene.from.ns(), scene.to.ns(), columns, 12);
        let (end, line) = (Cm(self.width), Cm(y));
        self.line(format_args!("\\draw (0,{line}) -- ({end},{line});"));
        for (at, label) in &axis.ticks {
            let (x, low) = (self.x(Time::from_ns(*at)), Cm(y - 80));
            self.line(format_args!("\\draw ({x},{line}) -- ({x},{low}) node[below] {{{label}}};"));
        }
        let unit = match axis.base {
            Some(base) => format!("time in {} from {}", axis.unit, time_text(Time::from_ns(base))),
            None => format!("time in {}", axis.unit),
        };
        let unit = unit.replace("us", "µs");
        self.label(self.width / 2, y - 650, "center", "", &unit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_latex_takes_for_commands_is_escaped() {
        let text = Escaped("a_1 & 50% #2 {x} \\y ~^$ <µ>\n").to_string();
        assert_eq!(
            text,
            "a\\_1 \\& 50\\% \\#2 \\{x\\} \\textbackslash{}y \\textasciitilde{}\\textasciicircum{}\\$ \
             \\textless{}\\textmu{}\\textgreater{} "
        );
    }
}
