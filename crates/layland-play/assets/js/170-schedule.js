// The schedule: the chart of the report, fed again with every answer, and bars and arrows that can be dragged.

/** How near (in pixels) a pointer has to come to what it can drag. */
const NEAR = 5, NEAR_TOUCH = 12;

class EditablePanel extends Panel {
  /** The names make room for misses that come up; while one drags, time stays where it is under the pointer. */
  resize() {
    const { left } = this;
    super.resize();
    if (this.app.play.dragging && left !== undefined) this.left = left;
  }
  draw() {
    super.draw();
    const { grip } = this.app;
    if (!grip || grip.panel !== this) return;
    // The edge that a drag would move, over everything else.
    const { context: c } = this, lane = this.lanes.find((one) => one.kind === grip.lane.kind && one.index === grip.lane.index);
    if (!lane) return;
    const x = this.x(grip.at), y = AXIS + lane.y - this.scroller.scrollTop;
    c.save();
    c.beginPath();
    c.rect(this.left, AXIS, this.width - this.left, this.height - AXIS);
    c.clip();
    c.fillStyle = this.app.look.accent;
    c.fillRect(x - 2, y + 2, 4, lane.height - 4);
    for (const side of [-1, 1]) {
      c.beginPath();
      c.moveTo(x + side * 11, y + lane.height / 2); c.lineTo(x + side * 5, y + lane.height / 2 - 5); c.lineTo(x + side * 5, y + lane.height / 2 + 5);
      c.fill();
    }
    c.restore();
  }
}

class Schedule extends App {
  constructor(play) {
    super({ names: [], levels: [], cpus: 1, range: ["0", "1"], window: ["0", "1"], runs: [], distributions: [] });
    this.play = play;
    this.grip = null;
    this.feeds = 0;
    this.box = null;
    this.holder = document.getElementById("panels");
    const section = document.getElementById("chart");
    const does = {
      in: () => this.zoom(0.5), out: () => this.zoom(2), all: () => this.whole(), next: () => this.visit(1), previous: () => this.visit(-1),
      theme: () => this.theme(), help: () => document.getElementById("help").showModal(),
    };
    document.querySelectorAll("[data-do]").forEach((button) => button.addEventListener("click", () => does[button.dataset.do]?.()));
    document.querySelectorAll("[data-mode]").forEach((button) => button.addEventListener("click", () => this.panels.length && this.setMode(button.dataset.mode)));
    const search = document.getElementById("search");
    search.addEventListener("input", () => this.search(search.value));
    search.addEventListener("keydown", (event) => { if (event.key === "Escape") { search.value = ""; this.search(""); } });
    // The keys of the chart count in its section alone: everywhere else they are text.
    section.addEventListener("keydown", (event) => { if (this.panels.length && !(event.target instanceof HTMLSelectElement)) keys(this, does, event); });
    // The page has one element that is pinned, which the key lets go wherever the focus is.
    document.addEventListener("keydown", (event) => { if (event.key === "Escape" && this.selected) this.unpin(); });
    addEventListener("resize", () => { if (this.panels.length) this.layout(); });
    addEventListener("scroll", () => { if (this.panels.length) this.redraw(); }, { passive: true });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    this.table = new ScheduleTable(this);
  }

  drawNow() { if (this.panels.length) super.drawNow(); }
  recolour() {
    if (this.panels.length) super.recolour(); else this.look.read();
    this.play.recoloured?.();
  }

  /** Shows another answer. The view stays, unless the set is another one. */
  async feed({ data, packed, panels }, fresh) {
    const feed = ++this.feeds, now = () => Promise.resolve();
    const traces = [];
    for (const [index, run] of data.runs.entries()) {
      const trace = await decode(run.layout, packed[index], data.names, now);
      if (feed !== this.feeds) return;
      trace.overExact = BigInt(run.over);
      traces.push(prepare(trace, data.names, data.cpus, Number(run.over)));
    }
    const before = { range: this.range, view: this.view, names: this.names };
    if (!this.play.dragging) this.unpin();
    // Distributions are for reports.
    Object.assign(this, { data: { ...data, distributions: [] }, names: data.names, levels: data.levels, visited: undefined });
    this.range = { from: Number(data.range[0]), to: Number(data.range[1]) };
    this.heads(data.runs, panels, traces);
    if (!this.panels.length) { this.holder.replaceChildren(); return; }
    this.base = this.panels[0].trace.base;
    this.listMisses();
    if (!this.overview) {
      this.overview = new Overview(this, document.querySelector("#overview canvas"));
      overviewPointers(this);
    }
    const late = (task) => this.panels.some(({ trace }) => trace.missesOf.from[task + 1] > trace.missesOf.from[task]);
    const tasks = this.names.map((_, task) => task);
    // While one drags no lane moves.
    if (!this.play.dragging || !this.order || this.order.length !== tasks.length) this.order = tasks.length > 12 ? [...tasks.filter(late), ...tasks.filter((task) => !late(task))] : tasks;
    this.current = this.misses.length ? { ...this.misses[0] } : null;
    this.found = null;
    if (fresh || !before.names.length) this.view = { from: Number(data.window[0]), to: Number(data.window[1]) };
    else if (!this.play.dragging) this.show(before.view.from, before.view.to);
    this.layout();
    this.drawNow();
    legend(this);
    this.table.changed();
  }

  /** A panel for each run, and what stands above it. */
  heads(runs, panels, traces) {
    while (this.panels.length > runs.length) this.panels.pop().element.remove();
    for (let index = this.panels.length; index < runs.length; index++) {
      const canvas = element("canvas", { tabindex: "0", role: "img" });
      this.holder.append(element("section", { class: "panel", id: "panel-" + index },
        element("h3", {}, element("span", { class: "name" }), " ", element("span", { class: "chip" }), " ", element("span", { class: "figures" })),
        element("p", { class: "note" }), element("div", { class: "scroller" }, element("div", { class: "spacer" }, canvas))));
      const panel = new EditablePanel(this, index);
      this.panels.push(panel);
      this.listenTo(panel);
    }
    this.panels.forEach((panel, index) => {
      const { name, sign, severity, verdict, figures, note } = panels[index], box = panel.element;
      panel.name = runs[index].name;
      panel.trace = traces[index];
      box.setAttribute("aria-label", name);
      box.querySelector(".name").textContent = name;
      const chip = box.querySelector(".chip");
      chip.className = "chip " + severity;
      chip.textContent = sign + " " + verdict;
      box.querySelector(".figures").textContent = figures;
      const line = box.querySelector(".note");
      line.textContent = note ?? "";
      line.hidden = !note;
      panel.canvas.setAttribute("aria-label", "Gantt chart of " + name + ": " + verdict + ", " + figures +
        ". The same as a table and in words below. Keys: arrows, plus, minus, n and p for misses, question mark for help. Change the set in its table.");
    });
  }

  listenTo(panel) {
    const { scroller, canvas } = panel;
    const point = (event) => { const box = canvas.getBoundingClientRect(); return { x: event.clientX - box.left, y: event.clientY - box.top }; };
    // Before the chart hears of it: what can be dragged is not panned.
    scroller.addEventListener("pointermove", (event) => {
      if (event.buttons || event.target !== canvas) return;
      const { x, y } = point(event), grip = this.gripAt(panel, x, y, NEAR);
      canvas.style.cursor = grip ? "ew-resize" : "";
      if (grip?.at !== this.grip?.at || grip?.lane !== this.grip?.lane) { this.grip = grip; this.redraw(); }
      // What is said about a job would hide the edge.
      if (grip) { event.stopPropagation(); this.hint(event, grip.what + " of " + this.names[grip.task] + ": drag to change it"); }
      else this.play.tip(null);
    }, { capture: true });
    scroller.addEventListener("pointerleave", () => { if (!this.play.dragging) { this.grip = null; this.play.tip(null); this.redraw(); } });
    scroller.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.target !== canvas || event.shiftKey) return;
      const { x, y } = point(event), grip = this.gripAt(panel, x, y, event.pointerType === "touch" ? NEAR_TOUCH : NEAR);
      if (!grip) return;
      event.stopPropagation();
      event.preventDefault();
      this.tip.hidden = true;
      this.drag(panel, grip, event);
    }, { capture: true });
    pointers(this, panel);
  }
  hint(event, text) { this.tip.hidden = true; this.play.tip(text, event.clientX, event.clientY); }

  /** What is under the pointer that one can drag: the end of a bar (WCET), an arrow up (offset, period), an
   *  arrow down (deadline). Only what the text has as one plain time. */
  gripAt(panel, x, y, near) {
    const lane = panel.laneAt(y);
    if (!lane || lane.kind === "level" || x < panel.left) return null;
    const { trace } = panel, { jobs, segments } = trace;
    let best = null;
    const consider = (at, job, what, key, part, per) => {
      const gap = Math.abs(panel.x(at) - x);
      if (gap > near || (best && gap >= best.gap)) return;
      const task = jobs.task[job], value = this.play.plainTime(task, key, part);
      if (value) best = { panel, lane, at, job, task, what, key, part: value.part, per, value, gap };
    };
    const list = (lane.kind === "cpu" ? trace.cpuLanes : trace.taskLanes)[lane.index], end = segments.end.at;
    const time = panel.time(x), slack = panel.time(x + near) - time;
    const last = firstAfter(segments.start.at, time + slack, list.from, list.to, list.order);
    for (let i = last - 1; i >= Math.max(list.from, last - 4); i--) {
      const s = list.at(i), job = segments.job[s];
      if (end[s] < time - slack) break;
      if (jobs.how[job] === COMPLETED && jobs.end.at[job] === end[s] && panel.x(end[s]) - panel.x(segments.start.at[s]) > 3) consider(end[s], job, "WCET", "wcet", null, 1);
    }
    if (lane.kind === "task") {
      const { from, order } = trace.jobsOf, first = from[lane.index], stop = firstAfter(jobs.arrival.at, time + slack, first, from[lane.index + 1], order);
      for (let k = Math.max(first, stop - 6); k < stop; k++) {
        const job = order[k], seq = Number(jobs.seq.exact(job));
        // On the left of an arrow up lies the arrow down of the job before.
        if (seq === 0) consider(jobs.arrival.at[job], job, "Offset", "offset", null, 1);
        else if (panel.x(jobs.arrival.at[job]) <= x) consider(jobs.arrival.at[job], job, "Period", "period", null, seq);
        if (jobs.deadline.at[job] < Infinity && panel.x(jobs.deadline.at[job]) >= x - 1) consider(jobs.deadline.at[job], job, "Deadline", "deadline", null, 1);
      }
    }
    return best;
  }

  drag(panel, grip, event) {
    const { scroller, canvas } = panel, { play } = this;
    const perPixel = panel.time(1) - panel.time(0), start = event.clientX, before = play.history.state, kind = "drag bar " + ++play.table.drags;
    scroller.setPointerCapture(event.pointerId);
    play.dragging = true;
    this.grip = grip;
    document.body.classList.add("dragging");
    // A round step of about four pixels, and at least a nanosecond.
    const pixel = 4 * perPixel, power = 10 ** Math.floor(Math.log10(Math.max(1, pixel)));
    const step = BigInt(Math.max(1, Math.round((pixel / power > 5 ? 10 : pixel / power > 2 ? 5 : pixel / power > 1 ? 2 : 1) * power)));
    const move = (now) => {
      if (now.pointerId !== event.pointerId) return;
      const by = BigInt(Math.round(((now.clientX - start) * perPixel) / grip.per));
      const next = grip.value.ns + by, round = ((next + (next < 0n ? -step : step) / 2n) / step) * step, least = grip.key === "offset" ? 0n : step;
      const ns = round < least ? least : round;
      this.grip = { ...grip, at: grip.at + Number(ns - grip.value.ns) * grip.per };
      play.setTime(grip, ns, kind);
      this.hint(now, grip.what + " of " + this.names[grip.task] + ": " + writeTime(ns, grip.value.unit));
      this.redraw();
    };
    const end = (now) => {
      if (now.pointerId !== undefined && now.pointerId !== event.pointerId) return;
      scroller.removeEventListener("pointermove", move);
      ["pointerup", "pointercancel"].forEach((name) => scroller.removeEventListener(name, end));
      removeEventListener("keydown", escape, true);
      document.body.classList.remove("dragging");
      canvas.style.cursor = "";
      // Where it was let go counts, also if no move was told of it.
      if (now.type === "pointerup") move(now);
      this.grip = null;
      play.tip(null);
      if (now.type === "pointercancel") play.edit(before, null, null);
      play.dropped();
    };
    const escape = (key) => { if (key.key === "Escape") { key.preventDefault(); key.stopPropagation(); end({ type: "pointercancel" }); } };
    scroller.addEventListener("pointermove", move);
    ["pointerup", "pointercancel"].forEach((name) => scroller.addEventListener(name, end));
    addEventListener("keydown", escape, true);
  }
}

/** The schedule as a table, made when it is opened: every piece of every job, some at a time. */
class ScheduleTable {
  constructor(app) {
    this.app = app;
    this.box = document.getElementById("as-table");
    this.body = document.getElementById("pieces");
    this.from = 0;
    this.box.addEventListener("toggle", () => this.changed());
    this.which = document.getElementById("which-run");
    this.which.addEventListener("change", () => { this.from = 0; this.fill(); });
    document.getElementById("earlier").addEventListener("click", () => { this.from = Math.max(0, this.from - SHOWN); this.fill(); });
    document.getElementById("later").addEventListener("click", () => { this.from += SHOWN; this.fill(); });
  }
  changed() {
    if (!this.box.open) return;
    const { panels } = this.app, at = Math.max(0, this.which.selectedIndex);
    this.which.replaceChildren(...panels.map(({ name }, k) => element("option", { value: k }, name)));
    this.which.selectedIndex = Math.min(at, panels.length - 1);
    this.from = 0;
    this.fill();
  }
  fill() {
    const panel = this.app.panels[this.which.selectedIndex];
    if (!panel) { this.body.replaceChildren(); return; }
    const { trace } = panel, { segments, jobs } = trace, { story, names } = this.app, order = byStart(trace);
    this.from = Math.min(this.from, Math.max(0, Math.floor((segments.count - 1) / SHOWN) * SHOWN));
    const to = Math.min(segments.count, this.from + SHOWN);
    const rows = [...order.subarray(this.from, to)].map((s) => {
      const job = segments.job[s], last = jobs.end.at[job] === segments.end.at[s];
      return element("tr", trace.missed[job] ? { class: "bad" } : {}, element("th", { scope: "row" }, names[jobs.task[job]] + " #" + (jobs.seq.exact(job) + 1n)),
        ...["CPU " + cpuOf(trace, s), story.time(trace, segments.start.exact(s)), story.time(trace, segments.end.exact(s)),
          jobs.deadline.at[job] < Infinity ? story.time(trace, jobs.deadline.exact(job)) : "none", last ? story.fate(trace, job) : "goes on later"].map((text) => element("td", {}, text)));
    });
    this.body.replaceChildren(...rows);
    document.getElementById("shown").textContent = segments.count ? "Pieces " + (this.from + 1).toLocaleString("en") + " to " + to.toLocaleString("en") + " of " + segments.count.toLocaleString("en") : "Nothing runs.";
    document.getElementById("earlier").disabled = this.from === 0;
    document.getElementById("later").disabled = to >= segments.count;
  }
}
const SHOWN = 50;
