// The playground: one state, and everything that shows or changes it.

/** After so long (in ms) a computation says that it goes on, and can be stopped. */
const LONG = 400;
/** What is guaranteed is asked when nothing changed for so long (in ms). */
const REST = 90;
/** A check that is out of date is given up when it takes longer than this (in ms). */
const GIVE_UP = 120;

class Play {
  constructor() {
    const source = document.getElementById("worker").textContent;
    this.engines = [new Engine(source, (state) => this.said("sim", state)), new Engine(source, (state) => this.said("check", state))];
    [this.core, this.checker] = this.engines.map((engine) => new Core(engine, (text) => this.nameOf(text)));
    this.busy = {};
    this.done = {};
    this.took = {};
    this.demos = [];
    this.formats = [];
    this.policies = [];
    this.dragging = false;
    this.asked = 0;
    this.fresh = true;
    this.history = new History({ text: "", policies: ["g-edf", "p-edf"], until: "" });
    this.set = new SetText("");
    this.schedule = new Schedule(this);
    this.editor = new Editor(this);
    this.table = new SetTable(this);
    this.verdicts = new Verdicts(this);
    this.files = new Files(this);
    this.guide = new Guide(this);
    this.listen();
  }

  async start() {
    const began = performance.now();
    const module = await compiled(document.getElementById("core"));
    this.compiled = performance.now() - began;
    this.engines[0].begin(module);
    const { policies, formats, schema, demos, version, columns } = await this.core.about();
    // The report has them in the page; here the core says what it writes.
    COLUMNS.push(...columns);
    Object.assign(this, { policies, formats, demos, schema });
    document.getElementById("about").append(" Layland " + version + ".");
    document.getElementById("demos").append(...demos.map(({ name, title }) => element("option", { value: name }, name + ": " + title)));
    this.editor.complete(schema);
    const first = { text: demos.find((one) => one.name === "dhall").text, policies: ["g-edf", "p-edf"], until: "" };
    this.history = new History(first);
    const given = JSON.parse(document.getElementById("start").textContent);
    if (given) this.begin(given);
    // There is nothing to go back to before what the page was opened with.
    if (await this.fromLink() || given) this.history.past = [];
    this.guide.begin();
    this.apply(null);
    // The picture comes first: the second worker begins when the first has the question.
    this.engines[1].begin(module);
  }

  /** What the command would call a set: a bundled one that is as it was has its name. */
  nameOf(text) {
    const demo = this.demos.find((one) => one.text === text);
    return demo ? "demo:" + demo.name : this.given && text === this.given.set && this.given.name ? this.given.name : "set.toml";
  }

  /** Begins with what a file or a link gives: a set, its policies, how it is shown. */
  begin(given) {
    const state = soundState(given);
    this.given = given;
    this.fresh = true;
    document.body.classList.toggle("embedded", given.embedded === true);
    this.history.push(state, null, performance.now());
    this.policyNote(state.seed ? "Random times are drawn from the seed " + state.seed + "." : "");
  }

  /** Takes the state of the link, if there is one; says so if it is damaged. */
  async fromLink() {
    try {
      const found = await fromFragment(location.hash);
      if (found) { this.begin(found); return true; }
      if (/^#?s=/.test(location.hash)) throw new Error("it is cut");
    } catch (error) { this.complain("The link is damaged: " + error.message + ". What is shown is another set."); }
    return false;
  }

  listen() {
    const on = (id, what) => document.getElementById(id).addEventListener("click", what);
    on("undo", () => this.undo());
    on("redo", () => this.redo());
    on("stop", () => this.stop());
    on("again", () => this.ask());
    document.getElementById("demos").addEventListener("change", (event) => {
      const demo = this.demos.find((one) => one.name === event.target.value);
      event.target.value = "";
      if (demo) this.replace({ text: demo.text }, "demo:" + demo.name);
    });
    addEventListener("hashchange", async () => { if (await this.fromLink()) this.apply(null); });
    // One history for the whole page; the keys of a dialog are its own.
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.target.closest?.("dialog")) return;
      const name = event.key.toLowerCase();
      if (name === "z" && !event.shiftKey) { event.preventDefault(); this.undo(); }
      else if (name === "y" || (name === "z" && event.shiftKey)) { event.preventDefault(); this.redo(); }
    });
    const until = document.getElementById("until");
    until.addEventListener("input", () => {
      const value = until.value.trim(), sound = value === "" || TIME.test(value);
      until.setAttribute("aria-invalid", !sound);
      if (sound) this.edit({ until: value }, "until", "until");
    });
    const field = document.getElementById("policy");
    const completer = new Completer(field, (text, at) => offerPolicies(this.policies, text, at), (from, to, { insert }) => {
      field.value = field.value.slice(0, from) + insert;
      if (insert.endsWith("=")) field.setSelectionRange(field.value.length, field.value.length); else this.addPolicy();
    });
    field.addEventListener("input", () => completer.show());
    field.addEventListener("focus", () => { if (this.policies.length) completer.show(); });
    field.addEventListener("keydown", (event) => {
      // What is written in full is taken as it is.
      if (event.key === "Enter" && this.policies.some((one) => one.name === field.value.trim())) completer.close();
      if (completer.key(event)) return;
      if (event.key === "Enter") { event.preventDefault(); this.addPolicy(); }
      if (event.key === "ArrowDown") { event.preventDefault(); completer.show(true); }
    });
    document.getElementById("chosen").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const at = Number(button.dataset.at), { policies } = this.history.state, rest = policies.filter((_, k) => k !== at);
      if (button.classList.contains("name")) { field.value = policies[at]; this.replacing = at; field.focus(); field.select(); return; }
      if (!rest.length) { this.announce("One policy has to stay."); return; }
      this.edit({ policies: rest }, null, null);
      (document.querySelectorAll("#chosen .drop")[Math.max(0, at - 1)] ?? field).focus();
    });
  }

  addPolicy() {
    const field = document.getElementById("policy"), name = field.value.trim().replace(/[:=]+$/, ""), { policies } = this.history.state;
    if (!name) { field.value = ""; return; }
    const plain = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
    const known = this.policies.find((one) => plain(one.name) === plain(name.split(":")[0]));
    if (this.policies.length && !known) {
      this.policyNote("There is no policy `" + name.split(":")[0] + "`. The list below the field has all of them.");
      field.setAttribute("aria-invalid", true);
      return;
    }
    field.removeAttribute("aria-invalid");
    field.value = "";
    const next = [...policies];
    if (this.replacing !== undefined && this.replacing < next.length) next[this.replacing] = name;
    else if (next.length >= MOST_POLICIES) { this.policyNote("At most " + MOST_POLICIES + " policies are compared at a time."); return; }
    else next.push(name);
    this.replacing = undefined;
    this.edit({ policies: [...new Set(next)] }, null, null);
    this.policyNote(known ? known.name + ": " + known.title + ". " + known.summary[0].toUpperCase() + known.summary.slice(1) + "." : "");
  }
  policyNote(text) { document.getElementById("policy-note").textContent = text; }

  /** A change of the state. `kind` names what belongs together in one step back, `by` who shows it already. */
  edit(patch, kind, by) {
    const state = { ...this.history.state, ...patch }, before = this.history.state;
    if (state.text === before.text && state.until === before.until && state.policies.join() === before.policies.join()) return;
    if (state.text.length > MOST_TEXT) { this.complain(tooLong(state.text.length)); return; }
    this.history.push(state, kind, performance.now());
    this.apply(by);
  }
  /** Another set: the view begins anew. */
  replace(patch, name, notes = []) {
    this.fresh = true;
    this.history.seal();
    // A seed belongs to the set that it came with.
    this.edit({ seed: undefined, ...patch }, null, null);
    document.querySelector(".set-side").scrollTop = 0;
    this.announce("Opened " + name + "." + (notes.length ? " " + notes.join(" ") : ""));
    this.policyNote(notes.join(" "));
  }
  undo() { if (this.history.back()) { this.apply(null); this.announce("Undone."); } }
  redo() { if (this.history.forth()) { this.apply(null); this.announce("Done again."); } }
  /** The end of a drag: what was put off comes now. */
  dropped() { this.dragging = false; this.history.seal(); this.ask(); }

  apply(by) {
    const { text, policies, until } = this.history.state;
    this.changedBy = by;
    if (this.set.text !== text) {
      this.set = new SetText(text);
      // Where a problem was, the text has moved: it is told anew in a moment.
      this.editor.problems = [];
    }
    this.editor.show(text);
    this.editor.colour();
    this.table.show();
    const field = document.getElementById("until");
    if (by !== "until") { field.value = until; field.removeAttribute("aria-invalid"); }
    const names = policies.join("\n");
    if (names !== this.named) {
      this.named = names;
      document.getElementById("chosen").replaceChildren(...policies.map((policy, at) => element("li", {},
        element("button", { type: "button", class: "name", "data-at": at, title: "Change its options" }, policy), element("button", { type: "button", class: "quiet drop", "data-at": at, "aria-label": "Remove " + policy }, "×"))));
    }
    document.getElementById("undo").disabled = !this.history.past.length;
    document.getElementById("redo").disabled = !this.history.future.length;
    this.ask();
    this.guide.changed?.();
  }

  /** Asks for the run, and for what is guaranteed as soon as nothing changes for a moment. */
  async ask() {
    const asked = ++this.asked, { state } = this.history;
    clearTimeout(this.later);
    this.stopped = false;
    document.getElementById("again").hidden = true;
    const slow = this.engines[1];
    if (slow.current && performance.now() - slow.current.since > GIVE_UP) slow.stop();
    this.later = setTimeout(() => this.askCheck(asked, state), REST);
    let found;
    try { found = await this.core.sim(state); } catch (error) { this.failed(error); return; }
    // A newer answer may be shown already, and an older one must not take its place.
    if (asked < (this.shown ?? 0)) return;
    this.shown = asked;
    if (found.errors) { this.problems(found.errors); this.settled("sim", asked); return; }
    this.problems([]);
    const fresh = this.fresh && asked === this.asked;
    if (fresh) this.fresh = false;
    this.simText = found.json;
    this.sim = JSON.parse(found.json);
    if (this.checkOf !== state) { this.check = undefined; this.checkText = undefined; }
    this.lines(found.report.lines);
    this.words(found.report.words);
    await this.schedule.feed(found.report, fresh);
    this.pictured ??= performance.now();
    this.verdicts.show(state.policies, this.sim, this.check);
    this.settled("sim", asked);
  }

  async askCheck(asked, state) {
    // While one drags, what takes long comes at the end.
    const hurry = this.dragging && (this.took.full ?? 0) > GIVE_UP;
    let found;
    try { found = await this.checker.check(state, hurry); } catch (error) { this.failed(error); return; }
    if (asked !== this.asked || found.errors) { this.settled("check", asked); return; }
    if (!hurry) this.took.full = this.took.check;
    this.checkText = found.json;
    this.check = { ...JSON.parse(found.json), hurry };
    this.checkOf = state;
    if (this.sim) this.verdicts.show(state.policies, this.sim, this.check);
    this.settled("check", asked);
  }

  /** One of the two answers is shown. With both the page shows the state, which it says for tests. */
  settled(which, asked) {
    this.done[which] = asked;
    if (this.done.sim === this.asked && this.done.check === this.asked) document.documentElement.dataset.settled = asked;
    if (this.done.sim) document.documentElement.dataset.ready = "yes";
  }

  failed(error) {
    if (error instanceof Dropped) return;
    this.status("The core failed: " + error.message + ". It was started again; undo the last change.", "wrong");
  }

  problems(list) {
    const text = this.history.state.text;
    const found = list.map((one) => (one.from === undefined || one.from === null ? { ...one, from: undefined } : { ...placeOf(text, one.from), ...one }));
    this.editor.tell(found);
    document.body.classList.toggle("stale", found.length > 0);
    document.querySelector(".page").classList.toggle("has-problems", found.length > 0);
    if (!found.length) return;
    // The verdict of the set before must not stand there like an answer.
    const [{ message, help, line }] = found, more = found.length > 1 ? " (" + (found.length - 1) + " more below the text)" : "";
    const reason = (line ? "line " + line + ": " : "") + message + more + (help ? "; " + help : "");
    this.lines([{ severity: "problem", sign: "!", word: "problem", text: reason }]);
    this.status("The schedule is still that of the set before.", "wrong");
  }

  lines(list) {
    document.getElementById("lines").replaceChildren(...list.slice(0, 6).map(({ severity, sign, word, text }, k) =>
      element("p", { class: "line " + severity + (k ? "" : " first") }, element("span", { class: "sign", "aria-hidden": "true" }, sign), element("span", {}, element("b", { class: "word" }, word + ":"), " " + text))));
  }
  words(list) {
    document.getElementById("words").replaceChildren(...list.map((run) => element("ul", { class: "words" }, ...run.slice(0, 120).map((text) => element("li", {}, text)))));
  }

  /** What the engines say: busy since when, or done after how long. */
  said(which, state) {
    this.busy[which] = state.busy ? state : null;
    if (state.took !== undefined && (state.kind === "sim" || state.kind === "check")) this.took[state.kind] = state.took;
    const going = () => Object.values(this.busy).filter(Boolean);
    const show = () => {
      const list = going();
      if (!list.length) {
        clearInterval(this.clock);
        this.clock = null;
        document.getElementById("stop").hidden = true;
        if (this.stopped || this.editor.problems.length) return;
        const time = (ms) => (ms < 10 ? ms.toFixed(1) + " ms" : ms < 1000 ? Math.round(ms) + " ms" : (ms / 1000).toFixed(1) + " s");
        this.status(Object.entries(this.took).filter(([kind]) => kind !== "full").map(([kind, ms]) => (kind === "sim" ? "simulated in " : "checked in ") + time(ms)).join(", ").replace(/^./, (c) => c.toUpperCase()));
        return;
      }
      const longest = Math.max(...list.map(({ since }) => performance.now() - since));
      if (longest < LONG) return;
      const doing = list.some(({ kind }) => kind === "sim") ? "Simulating" : "Looking for what is guaranteed";
      // What is shown is of the set before.
      if (doing === "Simulating") document.body.classList.add("stale");
      this.status(doing + " … " + (longest / 1000).toFixed(1) + " s", "wait");
      document.getElementById("stop").hidden = false;
    };
    if (!this.clock && going().length) this.clock = setInterval(show, 100);
    if (!going().length) show();
  }
  status(text, kind = "") {
    document.getElementById("status").className = "status " + kind;
    document.getElementById("status-text").textContent = text;
  }

  stop() {
    clearTimeout(this.later);
    this.stopped = true;
    this.engines.forEach((engine) => engine.stop());
    document.getElementById("stop").hidden = true;
    document.getElementById("again").hidden = false;
    this.status("Stopped. What is shown may be of the set before.", "wrong");
    document.getElementById("again").focus();
  }

  complain(text, help = "", more = []) {
    this.status([text, help, ...more].filter(Boolean).join("; "), "wrong");
    this.announce(text);
    document.getElementById("status").scrollIntoView({ block: "nearest" });
  }
  announce(text) { document.getElementById("live").textContent = text; }

  /** A short text beside the pointer; nothing takes it away. */
  tip(text, left, top) {
    const hint = document.getElementById("hint");
    hint.hidden = text === null;
    if (text === null) return;
    hint.textContent = text;
    const { width } = hint.getBoundingClientRect();
    hint.style.left = Math.max(4, Math.min(left + 14, innerWidth - width - 4)) + "px";
    hint.style.top = Math.max(4, top - 34) + "px";
  }

  /** Which task of the text each task of the chart is: one with `count` is several. */
  textTask(drawn) {
    let at = 0;
    for (const task of this.set.tasks) {
      at += Number(task.keys.get("count")?.value ?? 1);
      if (drawn < at) return task;
    }
    return null;
  }
  /** A value of a task as one plain time, with the level that it is of; nothing if the text has it otherwise. */
  plainTime(drawn, key) {
    const task = this.textTask(drawn);
    if (!task || (key === "wcet" && task.keys.has("exec")) || this.editor.problems.length) return null;
    let found = task.keys.get(key), part;
    if (key === "wcet" && found?.kind === "table") { part = this.table.levelOf(task); found = found.keys.get(part); }
    if (!found) {
      const period = readTime(task.keys.get("period")?.value ?? "");
      if (!period) return null;
      if (key === "deadline") return period;
      return key === "offset" ? { ns: 0n, unit: period.unit, decimals: 0 } : null;
    }
    const time = readTime(found.value ?? "");
    return time && { ...time, part };
  }
  setTime({ task, key, part, value }, ns, kind) {
    const text = writeTime(ns, value.unit);
    this.edit({ text: this.table.written(this.textTask(task), key, part, text) }, kind, "chart");
  }
}

// The digits of base 85 as packaging/play.py writes them. It is a sixteenth shorter than base64.
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;.=>?@^_`{|}~";

/** Five digits are four bytes, the first digit and the first byte the highest; the last group may be shorter. */
function base85(text) {
  const values = new Uint8Array(128);
  for (let i = 0; i < DIGITS.length; i++) values[DIGITS.charCodeAt(i)] = i;
  const lacking = (5 - text.length % 5) % 5, whole = text + DIGITS[84].repeat(lacking);
  const bytes = new DataView(new ArrayBuffer(whole.length / 5 * 4));
  for (let from = 0, to = 0; from < whole.length; from += 5, to += 4) {
    let value = 0;
    for (let i = from; i < from + 5; i++) value = value * 85 + values[whole.charCodeAt(i)];
    bytes.setUint32(to, value);
  }
  return new Uint8Array(bytes.buffer, 0, bytes.byteLength - lacking);
}

/** The core, from base 85 and deflate, compiled while it is unpacked. */
function compiled(node) {
  const packed = base85(node.textContent.trim());
  node.remove();
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return WebAssembly.compileStreaming(new Response(stream, { headers: { "content-type": "application/wasm" } }));
}

const play = new Play();
// For tests and for those who are curious.
play.lessons = LESSONS;
window.laylandPlay = play;
window.laylandReport = play.schedule;
if (typeof DecompressionStream === "undefined" || typeof WebAssembly === "undefined") {
  play.status("This browser is too old for the playground: it needs WebAssembly and DecompressionStream (2023 or newer).", "wrong");
} else {
  play.start().catch((error) => { play.status("The playground cannot start: " + error.message, "wrong"); throw error; });
}
