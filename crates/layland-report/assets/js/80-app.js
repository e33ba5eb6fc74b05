// The page: what is visible, and what wheel, pointer, keys and buttons do with it.

const COLUMNS = JSON.parse(document.getElementById("data").textContent).columns;

class App {
  constructor(data) {
    this.data = data;
    this.names = data.names;
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
      trace.speeds = run.layout.speeds;
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
      timeText(this.exact(this.view.from)) + " to " + timeText(this.exact(this.view.to)) + (span > 99999n ? "" : " (" + span + "ns)");
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
    const [unit, scale] = [["s", 1000000000n], ["ms", 1000000n], ["us", 1000n], ["ns", 1n]].find(([, size]) => BigInt(Math.ceil(step * 9)) >= size) ?? ["ns", 1n];
    const start = this.base + BigInt(Math.ceil(from));
    let first = floor(start);
    // Where the labels would have too many digits they count from a round time on the left.
    const origin = first / scale > 999999n ? floor(first) : null;
    const list = [];
    for (let at = first; at <= this.base + BigInt(Math.floor(to)) && list.length < 400; at += exact) {
      if (at < start) continue;
      const shown = origin === null ? at : at - origin, size = shown < 0n ? -shown : shown;
      const part = String((size % scale) + scale).slice(1).replace(/0+$/, "");
      const text = (shown < 0n ? "-" : origin === null ? "" : "+") + size / scale + (part ? "." + part : "") + unit;
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
    this.show(due - span / 2, due + span / 2);
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
    if (!lane || x < panel.left) return null;
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
      const hit = this.hit(panel, x, y);
      if (!hit) this.tip.hidden = true;
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
  const kinds = new Set(), anywhere = (test) => app.panels.some(({ trace }) => test(trace));
  app.panels.forEach(({ trace }) => { for (let i = 0; i < Math.min(trace.marks.count, 100000); i++) kinds.add(trace.marks.kind[i]); });
  const entries = [
    [true, (c) => { c.moveTo(8, 14); c.lineTo(8, 3); c.stroke(); c.beginPath(); c.moveTo(4, 7); c.lineTo(8, 1); c.lineTo(12, 7); c.fill(); }, "release"],
    [true, (c) => { c.moveTo(8, 2); c.lineTo(8, 13); c.stroke(); c.beginPath(); c.moveTo(4, 9); c.lineTo(8, 15); c.lineTo(12, 9); c.fill(); }, "deadline"],
    [app.misses.length, (c) => { c.strokeStyle = look.miss; c.lineWidth = 2.6; c.moveTo(3, 3); c.lineTo(13, 13); c.moveTo(13, 3); c.lineTo(3, 13); c.stroke(); }, "deadline missed"],
    [app.misses.length, (c) => { c.fillStyle = look.hatch(c, look.late); c.fillRect(0, 3, 16, 10); }, "late"],
    [used.task, (c) => { c.strokeStyle = look.wait; c.lineWidth = 2; c.setLineDash([2, 3]); c.moveTo(0, 8); c.lineTo(16, 8); c.stroke(); }, "ready, waiting"],
    [true, (c) => { c.fillStyle = PALETTE[0][0]; c.fillRect(0, 3, 16, 10); c.fillStyle = "#fff"; c.font = "10px sans-serif"; c.fillText("0", 5, 12); }, "running, on CPU 0"],
    [true, (c) => { c.fillStyle = PALETTE[1][0]; c.fillRect(0, 3, 15, 10); c.fillStyle = look.paper; c.moveTo(16, 3); c.lineTo(11, 5); c.lineTo(16, 8); c.lineTo(11, 10); c.lineTo(16, 13); c.fill(); }, "preempted"],
    [true, (c) => { c.moveTo(8, 3); c.lineTo(13, 8); c.lineTo(8, 13); c.lineTo(3, 8); c.fill(); }, "migrated"],
    [anywhere((t) => t.segments.overhead.at.some((x) => x > 0)), (c) => { c.fillStyle = look.over; c.fillRect(0, 9, 16, 4); }, "overhead"],
    [kinds.has(THROTTLED), (c) => { c.fillRect(5, 4, 2, 8); c.fillRect(9, 4, 2, 8); }, "throttled"],
    [kinds.has(REPLENISHED), (c) => { c.arc(8, 8, 3.5, 0, 7); c.stroke(); }, "budget replenished"],
    [kinds.has(BUDGET), (c) => { c.moveTo(3, 4); c.lineTo(13, 4); c.lineTo(8, 12); c.fill(); }, "budget used up"],
    [kinds.has(MOVED), (c) => { c.font = "12px sans-serif"; c.fillText("»2", 0, 12); }, "moved to the run queue of CPU 2: » pushed, « pulled, → otherwise"],
    [kinds.has(OFFLINE), (c) => { c.fillStyle = look.hatch(c, look.faint); c.fillRect(0, 2, 16, 12); }, "offline"],
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

function listen(app) {
  const does = {
    in: () => app.zoom(0.5), out: () => app.zoom(2), all: () => app.whole(), next: () => app.visit(1), previous: () => app.visit(-1),
    theme: () => app.theme(), help: () => document.getElementById("help").showModal(),
  };
  document.querySelectorAll("[data-do]").forEach((button) => button.addEventListener("click", () => does[button.dataset.do]()));
  document.querySelectorAll("[data-mode]").forEach((button) => button.addEventListener("click", () => app.setMode(button.dataset.mode)));
  document.querySelectorAll("[data-kind]").forEach((button) => button.addEventListener("click", () => {
    app.kind = button.dataset.kind;
    document.querySelectorAll("[data-kind]").forEach((one) => one.setAttribute("aria-pressed", one === button));
    drawDistributions(app.data.distributions, app.look, app.kind);
  }));
  const search = document.getElementById("search");
  search.addEventListener("input", () => app.search(search.value));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { app.search(search.value); event.preventDefault(); }
    if (event.key === "Escape") { search.value = ""; app.search(""); search.blur(); }
  });
  document.addEventListener("keydown", (event) => keys(app, does, event));
  app.panels.forEach((panel) => pointers(app, panel));
  overviewPointers(app);
  let timer;
  addEventListener("resize", () => {
    app.layout();
    clearTimeout(timer);
    timer = setTimeout(() => drawDistributions(app.data.distributions, app.look, app.kind ?? "cdf"), 200);
  });
  addEventListener("scroll", () => app.redraw(), { passive: true });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.recolour());
  const print = (printing) => {
    if (app.printing === printing) return;
    app.printing = printing;
    app.look.read();
    app.layout();
    app.drawNow();
    drawDistributions(app.data.distributions, app.look, app.kind ?? "cdf");
  };
  matchMedia("print").addEventListener("change", (event) => print(event.matches));
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  const charts = () => drawDistributions(app.data.distributions, app.look, "cdf");
  if (window.requestIdleCallback) requestIdleCallback(charts, { timeout: 800 }); else setTimeout(charts, 50);
}

function keys(app, does, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("help").open) return;
  if (event.target instanceof HTMLInputElement) return;
  const lanes = (by) => app.panels.forEach((panel) => panel.scroller.scrollBy(0, by));
  const onChart = event.target instanceof HTMLCanvasElement;
  const focused = app.panels.find((panel) => panel.canvas === event.target);
  const scrollable = focused && focused.scroller.scrollHeight > focused.scroller.clientHeight;
  const step = event.shiftKey ? 0.5 : 0.1, span = app.view.to - app.view.from;
  const actions = {
    ArrowLeft: () => app.pan(-step), ArrowRight: () => app.pan(step), a: () => app.pan(-0.1), d: () => app.pan(0.1),
    "+": () => app.zoom(0.7), "=": () => app.zoom(0.7), w: () => app.zoom(0.7), "-": () => app.zoom(1 / 0.7), _: () => app.zoom(1 / 0.7), s: () => app.zoom(1 / 0.7),
    Home: () => app.show(app.range.from, app.range.from + span), End: () => app.show(app.range.to - span, app.range.to), 0: () => app.whole(),
    n: () => app.visit(1), p: () => app.visit(-1), "/": () => document.getElementById("search").focus(), "?": does.help, t: does.theme,
    l: () => app.setMode({ both: "cpus", cpus: "tasks", tasks: "both" }[app.mode]), Escape: () => app.unpin(),
  };
  // The page scrolls with these, unless lanes can.
  if (onChart && scrollable) Object.assign(actions, { ArrowUp: () => lanes(-40), ArrowDown: () => lanes(40) });
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function pointers(app, panel) {
  const { canvas } = panel, active = new Map();
  let moved = 0, spread = null;
  const point = (event) => { const box = canvas.getBoundingClientRect(); return { x: event.clientX - box.left, y: event.clientY - box.top }; };
  canvas.addEventListener("wheel", (event) => {
    const { x } = point(event);
    // Over the names the wheel scrolls, as everywhere else.
    if (x < panel.left || event.ctrlKey && event.deltaY === 0) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) app.pan((event.deltaX * unit) / panel.plot);
    else if (event.shiftKey) app.pan((event.deltaY * unit) / panel.plot);
    else app.zoom(Math.min(4, Math.max(0.25, Math.exp(event.deltaY * unit * 0.002))), panel.time(x));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const { x, y } = point(event);
    if (x < panel.left) return;
    canvas.setPointerCapture(event.pointerId);
    active.set(event.pointerId, { x, y });
    moved = 0;
    spread = null;
    if (active.size === 1 && (event.shiftKey || y < AXIS)) app.box = [panel.time(x), panel.time(x)];
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = point(event), before = active.get(event.pointerId);
    if (!before) { if (event.pointerType !== "touch") app.hover(panel, now.x, now.y, event.clientX, event.clientY); return; }
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    active.set(event.pointerId, now);
    if (active.size === 2) {
      const [a, b] = [...active.values()];
      const width = Math.max(Math.abs(a.x - b.x), 8), centre = (a.x + b.x) / 2;
      if (spread) { app.zoom(spread.width / width, panel.time(centre)); app.pan((spread.centre - centre) / panel.plot); }
      spread = { width, centre };
    } else if (app.box) { app.box[1] = panel.time(now.x); app.redraw(); }
    else if (moved > 3) { canvas.style.cursor = "grabbing"; app.pan((before.x - now.x) / panel.plot); if (!app.selected) app.tip.hidden = true; }
  });
  const up = (event) => {
    const at = active.get(event.pointerId);
    active.delete(event.pointerId);
    spread = null;
    canvas.style.cursor = "";
    if (!at || event.type === "pointercancel") { app.box = null; return; }
    if (app.box) {
      const [from, to] = [Math.min(...app.box), Math.max(...app.box)];
      app.box = null;
      if (moved > 4) app.show(from, to); else app.redraw();
    } else if (moved <= 4 && active.size === 0) {
      const hit = app.hit(panel, at.x, at.y);
      app.unpin();
      if (hit) app.pin(panel, hit.job, event.clientX, event.clientY);
    }
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => { app.cursor = null; if (!app.selected) app.tip.hidden = true; app.redraw(); });
  canvas.addEventListener("dblclick", (event) => { const { x } = point(event); if (x >= panel.left) app.zoom(event.shiftKey ? 3 : 1 / 3, panel.time(x)); });
}

function overviewPointers(app) {
  const { canvas } = app.overview;
  let grip = null;
  const time = (event) => app.overview.time(event.clientX - canvas.getBoundingClientRect().left);
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const at = time(event), { from, to } = app.view, edge = app.overview.time(7) - app.overview.time(0);
    if (Math.abs(at - from) < edge && to - from > 4 * edge) grip = { edge: "from" };
    else if (Math.abs(at - to) < edge && to - from > 4 * edge) grip = { edge: "to" };
    else {
      if (at < from || at > to) app.show(at - (to - from) / 2, at + (to - from) / 2);
      grip = { shift: at - app.view.from };
    }
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const at = time(event), { from, to } = app.view;
    if (grip.edge === "from") app.show(Math.min(at, to - app.least), to);
    else if (grip.edge === "to") app.show(from, Math.max(at, from + app.least));
    else app.show(at - grip.shift, at - grip.shift + to - from);
  });
  const up = () => { grip = null; };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
}

const report = new App(JSON.parse(document.getElementById("data").textContent));
if (report.data.runs.length) {
  if (typeof DecompressionStream === "undefined") {
    document.getElementById("loading").textContent = "This browser is too old to read the traces: it needs DecompressionStream (2023 or newer). The tables below do not.";
  } else {
    report.start().catch((error) => {
      document.getElementById("loading")?.replaceChildren("Reading the traces failed: " + error.message);
      throw error;
    });
  }
} else {
  // A page without a chart: everything is in the page already.
  drawDistributions(report.data.distributions, report.look, "cdf");
  document.querySelectorAll("[data-do=theme]").forEach((button) => button.addEventListener("click", () => report.theme()));
  addEventListener("keydown", (event) => { if (event.key === "t" && !event.ctrlKey && !event.metaKey && !event.altKey) report.theme(); });
  document.documentElement.dataset.ready = "yes";
}
// For tests and for those who are curious.
window.laylandReport = report;
