// Beside the panels: the whole run as a strip, and the legend.

/** The whole run as a strip: load and misses of each run, and what is visible of it. */
class Overview {
  constructor(app, canvas) { this.app = app; this.canvas = canvas; this.context = canvas.getContext("2d"); }
  resize() {
    const rows = this.app.panels.length, scale = Math.max(1, Math.min(window.devicePixelRatio || 1, 3));
    this.width = Math.max(this.canvas.parentElement.clientWidth, 50);
    this.row = rows > 4 ? 12 : 18;
    this.height = rows * this.row + 6;
    this.canvas.width = this.width * scale;
    this.canvas.height = this.height * scale;
    this.canvas.style.height = this.height + "px";
    this.scale = scale;
    this.image = document.createElement("canvas");
    this.image.width = this.canvas.width;
    this.image.height = this.canvas.height;
    const c = this.image.getContext("2d");
    c.scale(scale, scale);
    this.app.panels.forEach((panel, index) => this.paint(c, panel.trace, 3 + index * this.row));
  }
  x(at) { const { from, to } = this.app.range; return ((at - from) / (to - from)) * this.width; }
  time(x) { const { from, to } = this.app.range; return from + (x / this.width) * (to - from); }
  paint(c, trace, y) {
    const { look } = this.app, start = trace.segments.start.at, height = this.row - 3;
    const columns = Math.ceil(this.width / 2), load = new Float64Array(columns + 1);
    const step = this.time(2) - this.time(0);
    for (const lane of trace.cpuLanes) {
      let i = lane.from;
      for (let k = 0; k < columns && i < lane.to; k++) {
        const j = firstAfter(start, this.time(2 * k + 2), i, lane.to, null);
        if (j - i > 40) load[k] += lane.sum(i, j).busy / step;
        else for (let s = i; s < j; s++) {
          // A segment may reach over several columns.
          for (let m = k, from = start[s]; m <= columns && from < trace.segments.end.at[s]; m++) {
            const to = Math.min(trace.segments.end.at[s], this.time(2 * m + 2));
            load[m] += Math.max(0, to - from) / step;
            from = Math.max(from, to);
          }
        }
        i = j;
      }
    }
    c.fillStyle = look.wait;
    for (let k = 0; k < columns; k++) {
      const h = Math.min(1, load[k] / Math.max(trace.cpuLanes.length, 1)) * height;
      c.fillRect(2 * k, y + height - h, 2, h);
    }
    c.fillStyle = look.miss;
    let last = -9;
    const due = trace.jobs.deadline.at;
    for (let k = 0; k < trace.misses.length; ) {
      const x = this.x(due[trace.misses[k]]);
      c.fillRect(Math.max(x - 1, last), y - 2, 2, height * 0.6);
      last = x + 1;
      k = Math.max(k + 1, firstAfter(due, this.time(x + 1), k, trace.misses.length, trace.misses));
    }
  }
  draw() {
    const { context: c, app: { look, view } } = this;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = look.lane;
    c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    c.drawImage(this.image, 0, 0);
    c.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    const a = this.x(view.from), b = Math.max(this.x(view.to), a + 3);
    c.fillStyle = look.paper;
    c.globalAlpha = 0.55;
    c.fillRect(0, 0, a, this.height);
    c.fillRect(b, 0, this.width - b, this.height);
    c.globalAlpha = 1;
    c.strokeStyle = look.accent;
    c.lineWidth = 2;
    c.strokeRect(a + 1, 1, Math.max(b - a - 2, 2), this.height - 2);
  }
}

/** The legend: a small picture and a word for everything that may be drawn. */
function legend(app) {
  const box = document.getElementById("legend"), { look } = app;
  const used = { task: app.mode !== "cpus" };
  const kinds = new Map(), anywhere = (test) => app.panels.some(({ trace }) => test(trace));
  const steps = (test) => anywhere((t) => t.steps?.some(test));
  const spins = anywhere((t) => t.steps && t.segments.overhead.at.some((x, s) => x > 0 && spinsIn(t, s).length));
  // Each kind once, with the sign of its first mark.
  app.panels.forEach(({ trace: { marks } }) => marks.kinds.forEach((kind, number) => {
    const first = marks.kind.indexOf(number);
    if (!kinds.has(kind.name)) kinds.set(kind.name, { legend: kind.legend, sign: marks.signs[marks.sign[first]], ofTask: marks.task[first] >= 0 });
  }));
  const pictures = {
    throttled: (c) => { c.fillRect(5, 4, 2, 8); c.fillRect(9, 4, 2, 8); },
    replenished: (c) => { c.arc(8, 8, 3.5, 0, 7); c.stroke(); },
    budget_exhausted: (c) => { c.moveTo(3, 4); c.lineTo(13, 4); c.lineTo(8, 12); c.fill(); },
  };
  const ofTasks = [...kinds].filter(([, kind]) => kind.ofTask).map(([name, { legend, sign }]) =>
    [true, pictures[name] ?? ((c) => { c.font = "12px sans-serif"; c.fillText(sign, 0, 12); }), legend]);
  const entries = [
    [true, (c) => { c.moveTo(8, 14); c.lineTo(8, 3); c.stroke(); c.beginPath(); c.moveTo(4, 7); c.lineTo(8, 1); c.lineTo(12, 7); c.fill(); }, "release"],
    [true, (c) => { c.moveTo(8, 2); c.lineTo(8, 13); c.stroke(); c.beginPath(); c.moveTo(4, 9); c.lineTo(8, 15); c.lineTo(12, 9); c.fill(); }, "deadline"],
    [app.misses.length, (c) => { c.strokeStyle = look.miss; c.lineWidth = 2.6; c.moveTo(3, 3); c.lineTo(13, 13); c.moveTo(13, 3); c.lineTo(3, 13); c.stroke(); }, "deadline missed"],
    [app.misses.length, (c) => { c.fillStyle = look.hatch(c, look.late); c.fillRect(0, 3, 16, 10); }, "late"],
    [used.task, (c) => { c.strokeStyle = look.wait; c.lineWidth = 2; c.setLineDash([2, 3]); c.moveTo(0, 8); c.lineTo(16, 8); c.stroke(); }, "ready, waiting"],
    [true, (c) => { c.fillStyle = PALETTE[0][0]; c.fillRect(0, 3, 16, 10); c.fillStyle = "#fff"; c.font = "10px sans-serif"; c.fillText("0", 5, 12); }, "running, on CPU 0"],
    [true, (c) => { c.fillStyle = PALETTE[1][0]; c.fillRect(0, 3, 15, 10); c.fillStyle = look.paper; c.moveTo(16, 3); c.lineTo(11, 5); c.lineTo(16, 8); c.lineTo(11, 10); c.lineTo(16, 13); c.fill(); }, "preempted"],
    [true, (c) => { c.moveTo(8, 3); c.lineTo(13, 8); c.lineTo(8, 13); c.lineTo(3, 8); c.fill(); }, "migrated"],
    [anywhere((t) => t.segments.overhead.at.some((x, s) => x > 0 && overheadOf(t, s) > 0)), (c) => { c.fillStyle = look.over; c.fillRect(0, 9, 16, 4); }, "overhead"],
    [used.task && spins, (c) => { c.fillStyle = PALETTE[7][0]; c.fillRect(0, 3, 16, 10); c.fillStyle = "rgba(255,255,255,.65)"; c.fillRect(0, 3, 16, 10); c.fillStyle = look.waves(c); c.fillRect(0, 3, 16, 10); }, "spinning"],
    [used.task && steps((of) => of.holds.length), (c) => { c.fillRect(0, 4, 16, 8); }, "holds a resource"],
    [used.task && steps((of) => of.halts.some(({ number }) => number !== null)), (c) => { c.setLineDash([2, 1.5]); c.strokeRect(0.5, 4.5, 15, 7); }, "waits for one"],
    [used.task && steps((of) => of.halts.some(({ number }) => number === null)), (c) => { c.strokeStyle = look.wait; c.moveTo(0, 8); c.lineTo(16, 8); c.stroke(); }, "suspended"],
    ...ofTasks,
    [anywhere((t) => t.levels), (c) => { c.moveTo(1, 13); c.lineTo(6, 13); c.lineTo(6, 4); c.lineTo(15, 4); c.lineTo(15, 14); c.stroke(); }, "criticality level of a CPU: only jobs of at least this level run"],
    [kinds.has("cpu_offline"), (c) => { c.fillStyle = look.hatch(c, look.faint); c.fillRect(0, 2, 16, 12); }, "offline"],
  ];
  box.replaceChildren();
  for (const [shown, paint, text] of entries) {
    if (!shown) continue;
    const canvas = element("canvas", { width: 32, height: 32, style: "width:16px;height:16px", "aria-hidden": "true" });
    const c = canvas.getContext("2d");
    c.scale(2, 2);
    c.strokeStyle = c.fillStyle = look.ink;
    c.lineWidth = 1.4;
    c.beginPath();
    paint(c);
    box.append(element("span", {}, canvas, text));
  }
}
