// What wheel, pointer, keys and buttons do, and the start of the page.

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
  // With Caps Lock too, as W, A, S and D of other viewers.
  const action = actions[event.key] ?? actions[event.key.toLowerCase()];
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

