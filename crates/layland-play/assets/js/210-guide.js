// Shows the guided examples, and the tree of RUN and the clusters of QPS as they are built.

/** A text with `code` in it, as nodes. */
function prose(text) { return text.split("`").map((part, k) => (k % 2 ? element("code", {}, part) : part)); }

/** The text of a set with the values of some tasks changed: null takes a key out, `{ LEVEL: time }` is one level. */
function changed(text, edits) {
  for (const [name, key, value] of edits ?? []) {
    const set = new SetText(text), task = set.tasks.find((one) => one.keys.get("name")?.value === name);
    if (!task) throw new Error("there is no task " + name);
    if (value === null) text = set.dropKey(task, key);
    else if (typeof value === "string") text = set.setKey(task, key, quoted(value));
    else if (value.raw) text = set.setKey(task, key, value.raw);
    else for (const [part, time] of Object.entries(value)) text = set.setPart(task, key, part, quoted(time));
  }
  return text;
}

class Guide {
  constructor(play) {
    this.play = play;
    this.lesson = null;
    this.list = document.getElementById("lessons");
    const on = (id, what) => document.getElementById(id).addEventListener("click", what);
    on("lesson-close", () => this.close());
    on("lesson-back", () => this.open(this.lesson, this.at - 1));
    on("lesson-next", () => {
      if (this.at + 1 < this.lesson.steps.length) this.open(this.lesson, this.at + 1);
      else { const next = LESSONS[LESSONS.indexOf(this.lesson) + 1]; if (next) this.open(next, 0); else this.close(); }
    });
    on("lesson-do", () => this.act());
    on("lesson-again", () => this.open(this.lesson, this.at));
  }

  begin() {
    this.list.replaceChildren(...LESSONS.map((lesson) => {
      const button = element("button", { type: "button", "data-lesson": lesson.id }, element("b", {}, lesson.title), element("span", {}, lesson.brief));
      button.addEventListener("click", () => this.open(lesson, 0));
      return element("li", {}, button);
    }));
    const asked = LESSONS.find((lesson) => lesson.id === this.play.given?.example);
    if (asked) queueMicrotask(() => this.open(asked, 0)); // When the page has begun.
  }

  textOf(step) { return changed(this.play.demos.find((one) => one.name === step.demo).text, step.edits); }

  open(lesson, at) {
    const step = lesson.steps[at];
    if (!step) return;
    Object.assign(this, { lesson, at, step });
    document.body.classList.add("learning");
    const by = (id) => document.getElementById(id);
    by("lesson").hidden = false;
    this.list.querySelectorAll("button").forEach((button) => button.setAttribute("aria-current", button.dataset.lesson === lesson.id));
    by("lesson-title").textContent = step.title;
    by("lesson-step").textContent = lesson.title + ", step " + (at + 1) + " of " + lesson.steps.length;
    by("lesson-text").replaceChildren(...step.text.map((text) => element("p", {}, ...prose(text))));
    by("lesson-change").replaceChildren(...prose(step.change));
    by("lesson-watch").replaceChildren(...prose(step.watch));
    by("lesson-back").disabled = at === 0;
    const following = LESSONS[LESSONS.indexOf(lesson) + 1];
    by("lesson-next").textContent = at + 1 < lesson.steps.length ? "Next ▸" : following ? "Next example: " + following.title + " ▸" : "Done";
    by("lesson-do").hidden = !step.act;
    by("lesson-do").textContent = step.act?.label ?? "";
    this.figureOf = null;
    by("lesson-figure").hidden = true;
    this.play.replace({ text: this.textOf(step), policies: step.policies, until: step.until ?? "" }, step.title);
    this.changed();
    by("lesson-title").focus({ preventScroll: true });
  }
  close() {
    this.lesson = this.step = null;
    document.body.classList.remove("learning");
    document.getElementById("lesson").hidden = true;
    this.list.querySelectorAll("button").forEach((button) => button.setAttribute("aria-current", "false"));
    this.list.querySelector("button").focus();
  }

  /** Does what the step asks for, for those who would rather watch. */
  act() {
    const { edits, policies, until } = this.step.act, { state } = this.play.history;
    let { text } = state;
    try { text = changed(text, edits); } catch { text = changed(this.textOf(this.step), edits); }
    this.play.history.seal();
    this.play.edit({ text, ...(policies ? { policies } : {}), ...(until ? { until } : {}) }, null, null);
  }

  /** The picture follows the set. */
  async changed() {
    const { step } = this, { text } = this.play.history.state;
    if (!step?.figure || this.figureOf === text + step.title) return;
    this.figureOf = text + step.title;
    let found;
    try { found = await this.play.core.explain(text, step.figure.policy); } catch { return; }
    if (this.step !== step || this.figureOf !== text + step.title) return;
    const box = document.getElementById("lesson-figure");
    box.hidden = false;
    if (found.errors) box.replaceChildren(element("p", { class: "note" }, found.errors[0].message));
    else box.replaceChildren(drawTree(found.trees, step.figure.rows), element("p", { class: "note" }, found.trees.heading.join("; ")));
  }
}

/** Trees of servers, the root on top. Of the rows from below so many are drawn; the newest has the accent. */
function drawTree({ trees }, rows) {
  const LINE = 15, GAP = 14, ROW = 34, PAD = 8;
  const heightOf = (node) => (node.height = node.children.length ? 1 + Math.max(...node.children.map(heightOf)) : 0);
  const highest = Math.max(...trees.map(heightOf));
  const newest = Math.min(rows - 1, highest), nodes = [], edges = [];
  const textsOf = (node) => [node.title, ...node.lines];
  const widthOf = (node) => Math.max(64, ...textsOf(node).map((text) => text.length * 6.9 + 2 * PAD));
  const room = (node) => Math.max(widthOf(node), node.children.reduce((sum, child) => sum + room(child) + GAP, -GAP));
  // A node is in the middle of its room, which its children share.
  const place = (node, left) => {
    node.x = left + room(node) / 2;
    nodes.push(node);
    let at = node.x - node.children.reduce((sum, child) => sum + room(child) + GAP, -GAP) / 2;
    for (const child of node.children) {
      place(child, at);
      at += room(child) + GAP;
      edges.push([node, child]);
    }
  };
  let right = 0;
  for (const tree of trees) { place(tree, right); right += room(tree) + 2 * GAP; }
  const tall = Array.from({ length: highest + 1 }, (_, row) => Math.max(...nodes.filter((node) => node.height === row).map((node) => textsOf(node).length * LINE + 2 * PAD), 0));
  const tops = [];
  let y = 4;
  for (let row = highest; row >= 0; row--) { tops[row] = y; y += tall[row] + ROW; }
  const seen = (node) => node.height <= newest, boxTall = (node) => textsOf(node).length * LINE + 2 * PAD;
  const drawn = [];
  for (const [parent, child] of edges) {
    if (!seen(parent)) continue;
    const from = tops[parent.height] + boxTall(parent), to = tops[child.height], middle = (from + to) / 2;
    drawn.push(svg("path", { class: "edge", d: `M${parent.x} ${from}V${middle}H${child.x}V${to}` }));
  }
  for (const node of nodes) {
    if (!seen(node)) continue;
    const width = widthOf(node);
    drawn.push(svg("rect", { class: "node" + (node.height === newest ? " new" : ""), x: node.x - width / 2, y: tops[node.height], width, height: boxTall(node), rx: 6 }));
    textsOf(node).forEach((text, k) => drawn.push(svg("text", { class: k ? "sub" : "", x: node.x, y: tops[node.height] + PAD + LINE * (k + 0.72), "text-anchor": "middle" }, text)));
  }
  // Rows that are not built yet take no room.
  const width = Math.ceil(right - 2 * GAP) + 4, top = tops[newest] - 4, height = y - ROW + 4 - top;
  const words = nodes.filter(seen).map((node) => textsOf(node).join(", ")).join("; ");
  return svg("svg", { viewBox: `-2 ${top} ${width} ${height}`, width, height, role: "img", "aria-label": "Servers, from the lowest row: " + words }, ...drawn);
}
