// The task set as text: where each value stands, so that the table and the chart can replace exactly
// that value, and comments and layout stay.
//
// This is no parser of TOML: what is valid, the core says. It finds tables, keys and values in any text,
// also in one that is being written, and colours it on the way.

/** A length of time as it is written: exact nanoseconds, or null where a fraction or nonsense stands. */
function readTime(text) {
  const found = /^\s*(-?\d[\d_]*)(?:\.(\d[\d_]*))?\s*(ns|us|µs|μs|ms|s)\s*$/.exec(text ?? "");
  if (!found) return null;
  const [, whole, part = "", unit] = found, digits = part.replaceAll("_", "");
  const scale = UNITS[unit], ten = 10n ** BigInt(digits.length);
  const all = BigInt(whole.replaceAll("_", "") + digits) * scale;
  return all % ten === 0n ? { ns: all / ten, unit, decimals: digits.length } : null;
}
const UNITS = { ns: 1n, us: 1000n, "µs": 1000n, "μs": 1000n, ms: 1000000n, s: 1000000000n };

/** Nanoseconds in a unit, exactly. */
function writeTime(ns, unit) {
  const scale = UNITS[unit], size = ns < 0n ? -ns : ns;
  const part = String((size % scale) + scale).slice(1).replace(/0+$/, "");
  return (ns < 0n ? "-" : "") + size / scale + (part && scale > 1n ? "." + part : "") + unit;
}

/** What one step of a value is: one in its last written digit. */
function stepOf({ unit, decimals }) {
  const step = UNITS[unit] / 10n ** BigInt(decimals);
  return step > 0n ? step : 1n;
}

/** Text as a string of TOML. */
function quoted(text) { return JSON.stringify(text).replace(/\u007f/g, "\\u007f"); }

class SetText {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.tokens = [];   // { from, to, kind } for colours.
    this.sections = []; // { path, array, from, headTo, to, keys: Map }
    this.open("", false, 0, 0);
    while (this.at < text.length) this.line();
    this.sections.forEach((section, k) => { section.to = k + 1 < this.sections.length ? this.sections[k + 1].from : text.length; });
    this.collect();
  }

  open(path, array, from, headTo) { this.section = { path, array, from, headTo, lastTo: headTo, keys: new Map() }; this.sections.push(this.section); }
  token(kind, from, to) { if (to > from) this.tokens.push({ kind, from, to }); }

  blank() { while (this.at < this.text.length && (this.text[this.at] === " " || this.text[this.at] === "\t")) this.at++; }
  comment() {
    if (this.text[this.at] !== "#") return;
    let end = this.text.indexOf("\n", this.at);
    if (end < 0) end = this.text.length;
    this.token("comment", this.at, end);
    this.at = end;
  }
  restOfLine() {
    this.blank();
    this.comment();
    const end = this.text.indexOf("\n", this.at);
    this.at = end < 0 ? this.text.length : end + 1;
  }

  line() {
    this.blank();
    const { text } = this, from = this.at;
    if (text[from] === "[") {
      const array = text[from + 1] === "[";
      let end = from;
      while (end < text.length && text[end] !== "\n" && text[end] !== "#") end++;
      const path = text.slice(from, end).replace(/[[\]\s"']/g, "");
      this.token("header", from, end);
      this.open(path, array, from, from + text.slice(from, end).trimEnd().length);
      this.at = end;
    } else if (text[from] !== "#" && text[from] !== "\n" && text[from] !== "\r" && from < text.length) {
      this.pair(this.section.keys);
      this.section.lastTo = this.at;
    }
    this.restOfLine();
  }

  /** `key = value` into a map; a key with dots is kept under its whole name. */
  pair(keys, depth = 0) {
    const { text } = this, keyFrom = this.at;
    while (this.at < text.length && !"=\n#,}".includes(text[this.at])) {
      if (text[this.at] === '"' || text[this.at] === "'") this.string(); else this.at++;
    }
    const name = text.slice(keyFrom, this.at).trim().replace(/["']/g, "");
    this.token("key", keyFrom, keyFrom + text.slice(keyFrom, this.at).trimEnd().length);
    if (text[this.at] !== "=") return;
    this.at++;
    this.blank();
    const value = this.value(depth);
    keys.set(name, { ...value, keyFrom });
  }

  string() {
    const { text } = this, mark = text[this.at], long = text.startsWith(mark.repeat(3), this.at), end = mark.repeat(long ? 3 : 1);
    this.at += end.length;
    while (this.at < text.length && !text.startsWith(end, this.at)) {
      if (!long && text[this.at] === "\n") return;
      this.at += mark === '"' && text[this.at] === "\\" ? 2 : 1;
    }
    this.at = Math.min(this.at + end.length, text.length);
  }

  /** The white space, comments and line breaks within a list. */
  gap() {
    for (;;) {
      while (this.at < this.text.length && " \t\r\n".includes(this.text[this.at])) this.at++;
      if (this.text[this.at] !== "#") return;
      this.comment();
    }
  }

  value(depth = 0) {
    const { text } = this, from = this.at, first = text[from];
    if (first === '"' || first === "'") {
      this.string();
      this.token("string", from, this.at);
      const raw = text.slice(from, this.at);
      return { kind: "string", from, to: this.at, value: unquoted(raw) };
    }
    if (first === "[" && depth < 40) {
      const items = [];
      this.at++;
      for (this.gap(); this.at < text.length && text[this.at] !== "]"; this.gap()) {
        const before = this.at;
        items.push(this.value(depth + 1));
        this.gap();
        if (text[this.at] === ",") this.at++;
        if (this.at === before) this.at++;
      }
      this.at = Math.min(this.at + 1, text.length);
      return { kind: "list", from, to: this.at, items };
    }
    if (first === "{" && depth < 40) {
      const keys = new Map();
      this.at++;
      for (this.gap(); this.at < text.length && text[this.at] !== "}"; this.gap()) {
        const before = this.at;
        this.pair(keys, depth + 1);
        this.gap();
        if (text[this.at] === ",") this.at++;
        if (this.at === before) this.at++;
      }
      this.at = Math.min(this.at + 1, text.length);
      return { kind: "table", from, to: this.at, keys };
    }
    while (this.at < text.length && !",]}\n#".includes(text[this.at])) this.at++;
    const raw = text.slice(from, this.at).trimEnd();
    this.token("number", from, from + raw.length);
    return { kind: "bare", from, to: from + raw.length, value: raw };
  }

  /** The tasks, each with its keys; those of `[task.exec]` and the like belong to the task before. */
  collect() {
    this.tasks = [];
    this.platform = { keys: new Map() };
    for (const [k, section] of this.sections.entries()) {
      if (section.path === "task" && section.array) {
        this.tasks.push({ keys: section.keys, section, inline: false, end: section.to, lastTo: section.lastTo });
      } else if (section.path.startsWith("task.") && this.tasks.length) {
        const task = this.tasks[this.tasks.length - 1];
        task.end = section.to;
        task.lastTo = section.lastTo;
        task.keys.set(section.path.slice(5), { kind: "table", keys: section.keys, from: section.from, to: section.lastTo, own: true });
      } else if (section.path === "platform") this.platform = section;
      else if (section.path === "criticality") this.criticality = section;
      for (const item of k === 0 ? section.keys.get("task")?.items ?? [] : []) {
        if (item.kind === "table") this.tasks.push({ keys: item.keys, item, inline: true, end: item.to, lastTo: item.to });
      }
    }
    const root = this.sections[0].keys.get("platform");
    if (root?.kind === "table") this.platform = { keys: root.keys, inline: true };
  }

  /** The names of the criticality levels, low to high. */
  get levels() { return (this.criticality?.keys.get("levels")?.items ?? []).map((item) => item.value ?? ""); }
  get cpus() {
    const { value } = this.platform.keys.get("cpus") ?? {};
    return value === undefined ? null : /^\d+$/.test(value) ? Number(value) : /^0-\d+$/.test(value) ? Number(value.slice(2)) + 1 : null;
  }

  /** The task whose text a position lies in. */
  taskAt(position) { return this.tasks.findIndex((task) => position >= (task.section ?? task.item).from && position < task.end); }

  /** The texts with a value replaced, a key put in, a key taken out. */
  put(from, to, text) { return this.text.slice(0, from) + text + this.text.slice(to); }
  setKey(task, name, raw) {
    const there = task.keys.get(name);
    if (there && !there.own) return this.put(there.from, there.to, raw);
    if (task.inline) {
      const inside = this.text.slice(task.item.from + 1, task.item.to - 1).trimEnd(), end = task.item.from + 1 + inside.length;
      return this.put(end, end, (task.keys.size ? ", " : " ") + name + " = " + raw);
    }
    // After the last key of the task itself, before its tables; a comment behind that key stays with it.
    let end = this.text.indexOf("\n", task.section.lastTo);
    if (end < 0) end = this.text.length;
    return this.put(end, end, "\n" + name + " = " + raw);
  }
  dropKey(task, name) {
    const there = task.keys.get(name);
    if (!there) return this.text;
    if (task.inline) {
      let { keyFrom: from, to } = there;
      const after = /^\s*,\s*/.exec(this.text.slice(to)), before = /\s*,\s*$/.exec(this.text.slice(0, from));
      if (after) to += after[0].length; else if (before) from -= before[0].length;
      return this.put(from, to, "");
    }
    const from = this.text.lastIndexOf("\n", there.keyFrom) + 1, end = this.text.indexOf("\n", there.to);
    return this.put(from, end < 0 ? this.text.length : end + 1, "");
  }
  /** What can stand beside the value of one key, as `LO` in `wcet = { LO = .. }`. */
  setPart(task, name, part, raw) {
    const there = task.keys.get(name), inner = there?.keys?.get(part);
    if (inner) return this.put(inner.from, inner.to, raw);
    return this.setKey(task, name, raw);
  }
  addTask(lines) {
    const block = "[[task]]\n" + lines.join("\n") + "\n", last = this.tasks[this.tasks.length - 1];
    if (last?.inline) {
      const item = "{ " + lines.join(", ") + " }";
      return this.put(last.item.to, last.item.to, ", " + item);
    }
    // Behind the last task, or at the end: a table may come after the tasks.
    const end = last ? this.lineEnd(last.lastTo) : this.text.length;
    const head = this.text.slice(0, end).replace(/\n*$/, "\n"), tail = this.text.slice(end).replace(/^\n*/, "");
    return head + "\n" + block + (tail ? "\n" + tail : "");
  }
  dropTask(index) {
    const task = this.tasks[index];
    if (task.inline) {
      let { from, to } = task.item;
      const after = /^\s*,\s*/.exec(this.text.slice(to)), before = /\s*,\s*$/.exec(this.text.slice(0, from));
      if (after) to += after[0].length; else if (before) from -= before[0].length;
      return this.put(from, to, "");
    }
    const end = this.lineEnd(task.lastTo), from = this.text.lastIndexOf("\n", task.section.from) + 1;
    const before = this.text.slice(0, from), after = this.text.slice(end).replace(/^\n+/, "");
    return after ? before + after : before.replace(/\n+$/, "\n");
  }
  lineEnd(position) { const end = this.text.indexOf("\n", position); return end < 0 ? this.text.length : end + 1; }
  setCpus(count) {
    const there = this.platform.keys.get("cpus");
    if (there) return this.put(there.from, there.to, String(count));
    if (this.platform.section || this.platform.headTo) return this.put(this.platform.headTo, this.platform.headTo, "\ncpus = " + count);
    if (this.platform.inline) return this.text;
    const version = this.sections[0].keys.get("layland"), at = version ? this.lineEnd(version.to) : 0;
    return this.put(at, at, (version ? "\n" : "layland = 1\n\n") + "[platform]\ncpus = " + count + "\n" + (this.text.slice(at).startsWith("\n") ? "" : "\n"));
  }
}

/** A string of TOML without its quotes; what JSON cannot read is taken as it stands. */
function unquoted(raw) {
  if (raw.startsWith("'")) return raw.replace(/^'+|'+$/g, "");
  try { return JSON.parse(raw); } catch { return raw.replace(/^"+|"+$/g, ""); }
}

/** A line and a column, from 1, of a position. */
function placeOf(text, position) {
  const before = text.slice(0, position), line = before.split("\n").length;
  return { line, column: position - before.lastIndexOf("\n") };
}
