// The page: what is visible, what is selected, and where to go.

const COLUMNS = JSON.parse(document.getElementById("data").textContent).columns;

class App {
  constructor(data) {
    this.data = data;
    this.names = data.names;
    this.levels = data.levels; // The names of the criticality levels, low to high.
    // Texts, because JSON numbers lose digits; drawing may.
    this.range = { from: Number(data.range[0]), to: Number(data.range[1]) };
    this.view = { from: Number(data.window[0]), to: Number(data.window[1]) };
    this.mode = "both";
    this.cursor = null;   // The time under the pointer.
    this.box = null;      // What is being marked, as two times.
    this.selected = null; // The job whose story is kept: { panel, job }.
    this.current = null;  // The miss that was visited last: { panel, job }.
    this.found = null;    // The task that was searched.
    this.printing = false;
    this.panels = [];
    this.frames = [];
    this.story = new Story(this);
    this.tip = document.getElementById("tip");
    try { const theme = localStorage.getItem("layland-theme"); if (theme) document.documentElement.dataset.theme = theme; } catch { /* no storage */ }
    this.look = new Look();
  }

  async start() {
    const began = performance.now();
    const wait = () => new Promise((done) => { const channel = new MessageChannel(); channel.port1.onmessage = done; channel.port2.postMessage(0); });
    const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    const loading = document.getElementById("loading");
    for (const [index, run] of this.data.runs.entries()) {
      loading.textContent = "Reading " + run.layout.segments.toLocaleString("en") + " segments of " + run.name + " …";
      if (run.layout.segments > 50000) await painted();
      const text = document.getElementById("run-" + index);
      const trace = await decode(run.layout, text.textContent, this.names, wait);
      text.remove();
      const over = Number(run.over);
      trace.overExact = BigInt(run.over);
      prepare(trace, this.names, this.data.cpus, over);
      const panel = new Panel(this, index);
      panel.name = run.name;
      panel.trace = trace;
      this.panels.push(panel);
    }
    loading.remove();
    this.base = this.panels[0].trace.base;
    this.listMisses();
    this.overview = new Overview(this, document.querySelector("#overview canvas"));
    // Of many tasks those that miss a deadline in any run come first, in every panel.
    const late = (task) => this.panels.some(({ trace }) => trace.missesOf.from[task + 1] > trace.missesOf.from[task]);
    const tasks = this.names.map((_, task) => task);
    this.order = tasks.length > 12 ? [...tasks.filter(late), ...tasks.filter((task) => !late(task))] : tasks;
    if (this.misses.length) this.current = { ...this.misses[0] };
    this.layout();
    listen(this);
    this.drawNow();
    legend(this);
    this.loaded = performance.now() - began;
    document.documentElement.dataset.ready = "yes";
  }

  /** All misses of all runs by deadline, as positions, not objects: there may be millions. */
  listMisses() {
    const total = this.panels.reduce((sum, { trace }) => sum + trace.misses.length, 0);
    const at = this.panels.map(() => 0);
    const app = this;
    const whose = new Uint16Array(total), which = new Uint32Array(total);
    for (let k = 0; k < total; k++) {
      let best = -1, due = Infinity;
      this.panels.forEach(({ trace }, p) => {
        if (at[p] >= trace.misses.length) return;
        const next = trace.jobs.deadline.at[trace.misses[at[p]]];
        if (next < due || best < 0) { best = p; due = next; }
      });
      whose[k] = best;
      which[k] = this.panels[best].trace.misses[at[best]++];
    }
    this.misses = new Proxy({ length: total }, {
      get: (target, key) => (key === "length" ? total : typeof key === "string" && key in whose
        ? { panel: app.panels[whose[key]], job: which[key] } : undefined),
    });
    document.querySelectorAll(".miss-group button").forEach((button) => { button.disabled = total === 0; });
  }

  layout() { this.panels.forEach((panel) => panel.layout(this.mode)); this.overview.resize(); this.redraw(); }

  redraw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.drawNow(); });
  }

  drawNow() {
    const began = performance.now();
    for (const panel of this.panels) {
      // A panel that is scrolled out of sight waits until it is seen.
      const place = panel.element.getBoundingClientRect();
      if (this.printing || (place.bottom > -50 && place.top < window.innerHeight + 50)) panel.draw();
    }
    this.overview.draw();
    const span = BigInt(Math.max(1, Math.round(this.view.to - this.view.from)));
    document.getElementById("span").textContent =
      timeText(this.exact(this.view.from)) + " to " + timeText(this.exact(this.view.to)) + (span > 99999n ? "" : " (" + span + " ns)");
    this.lastFrame = performance.now() - began;
    this.frames.push(this.lastFrame);
    if (this.frames.length > 600) this.frames.shift();
  }

  /** A time of the view as it is written: to the nanosecond, or as exact as a pixel. */
  exact(at) {
    const pixel = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, (this.view.to - this.view.from) / 1000))));
    return this.base + BigInt(Math.round(at / pixel)) * BigInt(pixel);
  }

  /** Round times about 90 pixels apart, and their labels. */
  ticks(width) {
    const { from, to } = this.view, about = ((to - from) * 90) / Math.max(width, 1);
    let step = 10 ** Math.floor(Math.log10(Math.max(about, 1)));
    if (step * 5 < about) step *= 10; else if (step * 2 < about) step *= 5; else if (step < about) step *= 2;
    step = Math.max(1, step);
    const exact = BigInt(step);
    const floor = (value) => (value >= 0n ? (value / exact) * exact : -((-value + exact - 1n) / exact) * exact);
    const [unit, scale] = [["s", 1000000000n], ["ms", 1000000n], ["µs", 1000n], ["ns", 1n]].find(([, size]) => BigInt(Math.ceil(step * 9)) >= size) ?? ["ns", 1n];
    const start = this.base + BigInt(Math.ceil(from));
    let first = floor(start);
    // Where the labels would have too many digits they count from a round time on the left.
    const origin = first / scale > 999999n ? floor(first) : null;
    const list = [];
    for (let at = first; at <= this.base + BigInt(Math.floor(to)) && list.length < 400; at += exact) {
      if (at < start) continue;
      const shown = origin === null ? at : at - origin, size = shown < 0n ? -shown : shown;
      const part = String((size % scale) + scale).slice(1).replace(/0+$/, "");
      const text = (shown < 0n ? "-" : origin === null ? "" : "+") + size / scale + (part ? "." + part : "") + " " + unit;
      list.push({ at: Number(at - this.base), text });
    }
    return { list, base: origin === null ? null : timeText(origin) };
  }

  get least() { return Math.max(20, this.range.to * 2 ** -46); }

  show(from, to) {
    const all = this.range.to - this.range.from, margin = all * 0.02;
    let span = Math.min(Math.max(to - from, this.least), all + 2 * margin);
    from = Math.min(Math.max(from, this.range.from - margin), this.range.to + margin - span);
    this.view = { from, to: from + span };
    this.redraw();
  }
  zoom(factor, at = (this.view.from + this.view.to) / 2) {
    const { from, to } = this.view, span = Math.min(Math.max((to - from) * factor, this.least), (this.range.to - this.range.from) * 1.04);
    const share = (at - from) / (to - from);
    this.show(at - share * span, at + (1 - share) * span);
  }
  pan(share) {
    const { from, to } = this.view, by = (to - from) * share;
    this.show(from + by, to + by);
  }
  whole() { this.show(this.range.from, this.range.to); }

  /** To the next (1) or the previous (-1) miss. */
  visit(direction) {
    const total = this.misses.length;
    if (!total) { this.announce("No deadline is missed."); return; }
    let index = this.visited === undefined ? (direction > 0 ? 0 : total - 1) : this.visited + direction;
    index = (index + total) % total;
    this.visited = index;
    const miss = this.misses[index], { jobs } = miss.panel.trace;
    this.current = miss;
    const due = jobs.deadline.at[miss.job], life = Math.max(due - jobs.arrival.at[miss.job], this.least);
    let span = this.view.to - this.view.from;
    if (span > life * 40) span = life * 6;
    if (span < life) span = life * 3;
    // Before the start there is nothing to see.
    const from = Math.max(due - span / 2, Math.min(this.range.from, due));
    this.show(from, from + span);
    miss.panel.showLane(jobs.task[miss.job]);
    miss.panel.element.scrollIntoView({ block: "nearest" });
    this.drawNow();
    const place = miss.panel.canvas.getBoundingClientRect();
    this.pin(miss.panel, miss.job, place.left + miss.panel.x(due) + 14, place.top + 60);
    this.announce("Miss " + (index + 1) + " of " + total + ": " + this.story.nameOf(miss.panel.trace, miss.job) + " under " +
      miss.panel.name + ", due at " + this.story.time(miss.panel.trace, jobs.deadline.exact(miss.job)) + ", " + lateness(miss.panel.trace, miss.job));
  }

  search(text) {
    const wanted = text.trim().toLowerCase();
    const task = wanted ? [(name) => name === wanted, (name) => name.startsWith(wanted), (name) => name.includes(wanted)]
      .map((test) => this.names.findIndex((name) => test(name.toLowerCase()))).find((index) => index >= 0) ?? null : null;
    this.found = task;
    if (task !== null) {
      if (this.mode === "cpus") this.setMode("both");
      this.panels.forEach((panel) => panel.showLane(task));
      this.announce("Found " + this.names[task]);
    } else if (wanted) this.announce("No task is called " + text);
    this.redraw();
    return task !== null;
  }

  setMode(mode) {
    this.mode = mode;
    document.querySelectorAll("[data-mode]").forEach((button) => button.setAttribute("aria-pressed", button.dataset.mode === mode));
    this.layout();
  }

  theme(name) {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = name ?? (dark ? "light" : "dark");
    try { localStorage.setItem("layland-theme", root.dataset.theme); } catch { /* no storage */ }
    this.recolour();
  }
  recolour() {
    this.look.read();
    drawDistributions(this.data.distributions, this.look, this.kind ?? "cdf");
    if (!this.overview) return;
    this.overview.resize();
    this.drawNow();
    legend(this);
  }

  announce(text) { document.getElementById("live").textContent = text; }

  /** The job at a point of a panel, or how many segments are too narrow there. */
  hit(panel, x, y) {
    const lane = panel.laneAt(y);
    if (!lane || lane.kind === "level" || x < panel.left) return null;
    const { trace } = panel, at = panel.time(x), slack = panel.time(x + 3) - at;
    const list = (lane.kind === "cpu" ? trace.cpuLanes : trace.taskLanes)[lane.index];
    const start = trace.segments.start.at, end = trace.segments.end.at;
    const near = firstAfter(start, at + slack, list.from, list.to, list.order);
    let best = null, gap = Infinity;
    for (let i = near - 1; i >= Math.max(list.from, near - 24); i--) {
      const s = list.at(i), distance = Math.max(start[s] - at, at - end[s], 0);
      if (distance < gap) { gap = distance; best = s; }
    }
    const slow = firstAfter(start, at - slack, list.from, list.to, list.order);
    if (best !== null && gap <= slack) return { job: trace.segments.job[best], crowd: near - slow };
    if (lane.kind !== "task") return null;
    const { from, order } = trace.jobsOf, arrival = trace.jobs.arrival.at;
    const last = firstAfter(arrival, at + slack, from[lane.index], from[lane.index + 1], order);
    for (let k = last - 1; k >= from[lane.index] && k > last - 200; k--) {
      const job = order[k], due = trace.jobs.deadline.at[job];
      const until = Math.max(Math.min(trace.jobs.end.at[job], trace.over), due < Infinity ? due : 0);
      if (until + slack >= at) return { job, crowd: 0 };
    }
    return null;
  }

  hover(panel, x, y, left, top) {
    this.cursor = panel.time(x) >= this.view.from ? panel.time(x) : null;
    if (!this.selected) {
      const hit = this.hit(panel, x, y), lane = panel.laneAt(y);
      if (lane?.kind === "level" && x >= panel.left && panel.time(x) <= panel.trace.over) {
        this.story.tellLevel(this.tip, panel, lane.index, panel.time(x));
        this.place(left, top);
      } else if (!hit) this.tip.hidden = true;
      else {
        this.story.tell(this.tip, panel, hit.job, false);
        if (hit.crowd > 3) this.tip.append(element("p", { class: "other" }, hit.crowd + " segments lie within 3 pixels: zoom in to tell them apart."));
        this.place(left, top);
      }
    }
    this.redraw();
  }
  place(left, top) {
    this.tip.hidden = false;
    const box = this.tip.getBoundingClientRect();
    const x = left + 16 + box.width > window.innerWidth ? Math.max(4, left - 16 - box.width) : left + 16;
    const y = Math.max(4, Math.min(top + 14, window.innerHeight - box.height - 6));
    this.tip.style.left = x + "px";
    this.tip.style.top = y + "px";
  }
  pin(panel, job, left, top) {
    this.selected = { panel, job };
    this.story.tell(this.tip, panel, job, true);
    this.tip.classList.add("pinned");
    this.place(left, top);
    this.redraw();
  }
  unpin() {
    this.selected = null;
    this.tip.hidden = true;
    this.tip.classList.remove("pinned");
    this.redraw();
  }
}
