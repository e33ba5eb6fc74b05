// What jobs do at their steps: they hold resources, wait for them on their CPUs or off them, and suspend themselves.

/** For each task its `halts`, when a job waits for a lock or suspends itself, and its `holds`, as { from, to, number }
 *  in the order of time; nothing if no job has steps. */
function stepsOf({ marks }, tasks, over) {
  const named = ["requested", "granted", "unlocked", "suspended", "resumed"];
  if (!marks.kinds.some(({ name }) => named.includes(name))) return null;
  const steps = Array.from({ length: tasks }, () => ({ halts: [], holds: [], open: new Map() }));
  for (let i = 0; i < marks.count; i++) {
    const { name } = marks.kinds[marks.kind[i]], of = steps[marks.task[i]], at = marks.at.at[i];
    if (!of || !named.includes(name)) continue;
    const isLock = name !== "suspended" && name !== "resumed";
    // The sign of a lock has the number of its resource.
    const number = isLock ? marks.signs[marks.sign[i]].slice(1) : null;
    const before = of.open.get(number);
    if (before) before.to = at;
    of.open.delete(number);
    if (name === "unlocked" || name === "resumed") continue;
    const span = { from: at, to: over, number };
    (name === "granted" ? of.holds : of.halts).push(span);
    of.open.set(number, span);
  }
  for (const of of steps) {
    of.halts = of.halts.filter(({ from, to }) => from < to);
    of.longest = of.holds.reduce((most, { from, to }) => Math.max(most, to - from), 0);
  }
  return steps;
}

/** The first of some spans that begins after a time. */
function spanAfter(spans, at) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (spans[middle].from > at) high = middle; else low = middle + 1;
  }
  return low;
}

/** The halts of a task that overlap some time, cut to it: those of one task follow each other. */
function haltsIn(trace, task, from, to) {
  const found = [], halts = trace.steps ? trace.steps[task].halts : [];
  for (let k = Math.max(0, spanAfter(halts, from) - 1); k < halts.length && halts[k].from < to; k++) {
    const [a, b] = [Math.max(halts[k].from, from), Math.min(halts[k].to, to)];
    if (a < b) found.push({ from: a, to: b, number: halts[k].number });
  }
  return found;
}

/** When the job of a segment spins in it. */
function spinsIn(trace, s) {
  if (!trace.steps) return [];
  const { segments, jobs } = trace;
  const halts = haltsIn(trace, jobs.task[segments.job[s]], segments.start.at[s], segments.end.at[s]);
  return halts.filter(({ number }) => number !== null);
}

/** The overhead of a segment without the time that its job spins, which a trace counts as overhead, too. */
function overheadOf(trace, s) {
  return spinsIn(trace, s).reduce((left, { from, to }) => Math.max(left - (to - from), 0), trace.segments.overhead.at[s]);
}

/** Draws steps in the lanes of tasks and CPUs. */
class StepDrawing {
  /** What a bar is covered with while its job spins. */
  drawSpins(s, y, height) {
    const { context: c } = this, { look } = this.app;
    for (const { from, to } of spinsIn(this.trace, s)) {
      const a = Math.max(this.x(from), this.left - 4), b = Math.min(this.x(to), this.width + 4);
      if (b <= a) continue;
      c.fillStyle = "rgba(255,255,255,.65)";
      c.fillRect(a, y, b - a, height);
      c.fillStyle = look.waves(c);
      c.fillRect(a, y, b - a, height);
    }
  }

  /** When a job waits for the CPU, in dots, and when it suspends itself, as a line. */
  drawWait(task, from, to, y) {
    const { context: c } = this, { look } = this.app;
    const line = (from, to, fill, y, height) => {
      const a = Math.max(this.x(from), this.left), b = Math.min(this.x(to), this.width);
      if (b > a) { c.fillStyle = fill; c.fillRect(a, y, b - a, height); }
    };
    let at = from;
    for (const halt of haltsIn(this.trace, task, from, to)) {
      line(at, halt.from, look.dots(c), y - 1, 2);
      if (halt.number === null) line(halt.from, halt.to, look.wait, y - 0.5, 1);
      at = halt.to;
    }
    line(at, to, look.dots(c), y - 1, 2);
  }

  /** What jobs hold, dark, and what they wait for, dashed, with the number of the resource where there is room. */
  drawLocks(task, base) {
    const { context: c, trace } = this, { look, view } = this.app, steps = trace.steps?.[task];
    if (!steps) return;
    const first = spanAfter(steps.holds, view.from - steps.longest - 1), last = spanAfter(steps.holds, view.to);
    const waits = haltsIn(trace, task, view.from, view.to).filter(({ number }) => number !== null);
    const all = [...waits.map((span) => [span, false]), ...steps.holds.slice(first, last).map((span) => [span, true])];
    if (all.length > this.plot) return;
    c.lineWidth = 1;
    for (const [{ from, to, number }, holds] of all) {
      const a = Math.max(this.x(from), this.left), b = Math.min(this.x(to), this.width), y = base - 8;
      if (b - a < 1) continue;
      c.fillStyle = holds ? look.ink : look.paper;
      c.fillRect(a, y, b - a, 8);
      c.strokeStyle = look.ink;
      c.setLineDash(holds ? [] : [2, 1.5]);
      c.strokeRect(a + 0.5, y + 0.5, b - a - 1, 7);
      c.setLineDash([]);
      c.font = "8px system-ui, sans-serif";
      c.textAlign = "left";
      const wide = c.measureText(number).width;
      if (wide + 3 > b - a) continue;
      c.fillStyle = holds ? look.paper : look.ink;
      c.fillText(number, (a + b - wide) / 2, y + 4.5);
    }
  }
}
