// A list of completions under a field, and what it offers: keys and values from the schema, policies and
// their options from the core.

class Completer {
  /** `offer(text, at, asked)` gives { from, to, items: [{ text, insert, help }] } or nothing. */
  constructor(field, offer, apply) {
    Object.assign(this, { field, offer, apply, chosen: 0, offered: null });
    this.list = element("ul", { class: "offers", role: "listbox", id: field.id + "-offers", "aria-label": "Completions" });
    this.list.hidden = true;
    document.body.append(this.list);
    // A field of several lines is no combobox: it says what is active, and that is all.
    this.box = field.tagName === "INPUT";
    if (this.box) field.setAttribute("role", "combobox");
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", this.list.id);
    this.expanded(false);
    field.addEventListener("blur", () => this.close());
    this.list.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const at = [...this.list.children].indexOf(event.target.closest("li"));
      if (at >= 0) { this.chosen = at; this.take(); }
    });
  }
  get open() { return !this.list.hidden; }
  expanded(open) { if (this.box) this.field.setAttribute("aria-expanded", open); }
  show(asked = false) {
    const { field } = this;
    const found = field.selectionStart === field.selectionEnd ? this.offer(field.value, field.selectionStart, asked) : null;
    if (!found || !found.items.length) { this.close(); return; }
    this.offered = found;
    this.chosen = 0;
    this.list.replaceChildren(...found.items.slice(0, 40).map(({ text, help }, k) =>
      element("li", { role: "option", id: this.list.id + "-" + k }, element("b", {}, text), ...(help ? [element("span", {}, help)] : []))));
    this.list.hidden = false;
    this.expanded(true);
    this.mark();
    const { left, top, below } = this.place(found.from);
    const box = this.list.getBoundingClientRect();
    this.list.style.left = Math.max(4, Math.min(left, innerWidth - box.width - 4)) + "px";
    this.list.style.top = (below + box.height > innerHeight && top > box.height ? top - box.height - 2 : below + 2) + "px";
  }
  /** Where a position of the text is on the screen. */
  place(position) {
    const box = this.field.getBoundingClientRect();
    const spot = this.spot?.(position);
    return spot ?? { left: box.left, top: box.top, below: box.bottom };
  }
  mark() {
    [...this.list.children].forEach((item, k) => {
      item.setAttribute("aria-selected", k === this.chosen);
      if (k === this.chosen) item.scrollIntoView({ block: "nearest" });
    });
    this.field.setAttribute("aria-activedescendant", this.list.id + "-" + this.chosen);
  }
  close() {
    this.list.hidden = true;
    this.expanded(false);
    this.field.removeAttribute("aria-activedescendant");
  }
  take() {
    const { from, to, items } = this.offered, item = items[this.chosen];
    this.close();
    this.apply(from, to, item);
  }
  /** Whether the key was for the list. */
  key(event) {
    if (!this.open) return false;
    const count = this.list.children.length;
    const moves = { ArrowDown: 1, ArrowUp: count - 1, PageDown: Math.min(8, count - 1 - this.chosen), PageUp: count - Math.min(8, this.chosen) };
    if (event.key in moves && !event.ctrlKey) { this.chosen = (this.chosen + moves[event.key]) % count; this.mark(); }
    else if (event.key === "Enter" || event.key === "Tab") this.take();
    else if (event.key === "Escape") this.close();
    else return false;
    event.preventDefault();
    return true;
  }
}

/** What may follow in the text of a set, by its schema. */
class SchemaOffers {
  constructor(schema) { this.schema = schema; }
  resolve(node) {
    for (let depth = 0; node && depth < 8; depth++) {
      if (node.$ref) node = this.schema.$defs[node.$ref.split("/").pop()];
      else return node;
    }
    return node;
  }
  /** All that a value may be, through references and alternatives. */
  *kinds(node, depth = 0) {
    node = this.resolve(node);
    if (!node || depth > 6) return;
    yield node;
    for (const one of [...(node.anyOf ?? []), ...(node.oneOf ?? [])]) yield* this.kinds(one, depth + 1);
    if (node.type === "array" && node.items) yield* this.kinds(node.items, depth + 1);
  }
  keysAt(path) {
    let nodes = [this.schema];
    for (const part of path) {
      nodes = nodes.flatMap((node) => [...this.kinds(node)]).flatMap((node) => (node.properties?.[part] ? [...this.kinds(node.properties[part])] : []));
    }
    const found = new Map();
    for (const node of nodes.flatMap((one) => [...this.kinds(one)])) {
      for (const [name, value] of Object.entries(node.properties ?? {})) if (!found.has(name)) found.set(name, value);
    }
    return found;
  }
  valuesOf(node) {
    const found = new Map();
    for (const one of this.kinds(node)) {
      for (const value of [...(one.enum ?? []), ...(one.const !== undefined ? [one.const] : [])]) {
        if (value !== null) found.set(typeof value === "string" ? quoted(value) : String(value), one.description ?? "");
      }
      if (one.type === "boolean") { found.set("true", ""); found.set("false", ""); }
    }
    return found;
  }
  offer(text, at, asked) {
    const lineFrom = text.lastIndexOf("\n", at - 1) + 1, line = text.slice(lineFrom, at);
    if (/^[^"']*#/.test(line)) return null;
    // The table that the line is in.
    const heads = text.slice(0, lineFrom).match(/^\s*\[\[?[^\]\n]+\]\]?/gm);
    const path = (heads?.[heads.length - 1] ?? "").replace(/[[\]\s]/g, "").split(".").filter(Boolean);
    const head = /^\s*\[\[?([\w.]*)$/.exec(line);
    if (head) {
      const items = [...this.keysAt([])].filter(([name, node]) => [...this.kinds(node)].some((kind) => kind.properties)).map(([name, node]) => {
        const list = [...this.kinds(node)].some((kind) => kind.type === "array");
        return { text: list ? "[[" + name + "]]" : "[" + name + "]", insert: list ? "[[" + name + "]]" : "[" + name + "]", help: node.description };
      }).filter((item) => item.text.replace(/[[\]]/g, "").startsWith(head[1]));
      const from = lineFrom + line.search(/\[/), close = /^\]*/.exec(text.slice(at))[0].length;
      return { from, to: at + close, items };
    }
    const value = /^\s*([\w-]+)\s*=\s*("?[^"{}[\]]*)$/.exec(line);
    if (value) {
      const node = this.keysAt(path).get(value[1]);
      if (!node || (!asked && value[2] === "")) return null;
      const items = [...this.valuesOf(node)].map(([insert, help]) => ({ text: insert, insert, help })).filter((item) => item.insert.startsWith(value[2]) && item.insert !== value[2]);
      const from = at - value[2].length, close = text[at] === '"' && value[2].startsWith('"') ? 1 : 0;
      return { from, to: at + close, items };
    }
    const key = /^\s*([\w-]*)$/.exec(line);
    if (!key || (!asked && key[1] === "")) return null;
    const there = this.keysThere(text, lineFrom);
    const items = [...this.keysAt(path)].filter(([name]) => name.startsWith(key[1]) && name !== key[1] && !there.has(name))
      .map(([name, node]) => ({ text: name, insert: name + " = ", help: this.help(node) }));
    const rest = /^[\w-]*(\s*=\s*)?/.exec(text.slice(at))[0];
    return { from: at - key[1].length, to: at + (rest.includes("=") ? rest.length : 0), items };
  }
  help(node) { return node.description ?? this.resolve(node)?.description ?? ""; }
  keysThere(text, lineFrom) {
    const before = text.slice(0, lineFrom), after = text.slice(lineFrom);
    const from = Math.max(before.lastIndexOf("\n["), before.startsWith("[") ? 0 : -1), to = after.search(/^\s*\[/m);
    const own = before.slice(Math.max(from, 0)) + after.slice(after.indexOf("\n") < 0 ? after.length : after.indexOf("\n"), to < 0 ? after.length : Math.max(to, 0));
    return new Set([...own.matchAll(/^\s*([\w-]+)\s*=/gm)].map((one) => one[1]));
  }
}

/** Policies by name, and their options behind a colon. */
function offerPolicies(policies, text, at) {
  const from = text.slice(0, at).search(/[^\s]*$/), word = text.slice(from, at);
  const parts = word.split(":"), policy = policies.find((one) => one.name === parts[0]);
  if (parts.length === 1) {
    const wanted = word.toLowerCase();
    const rank = ({ name, title }) => (name.startsWith(wanted) ? 0 : name.includes(wanted) ? 1 : title.toLowerCase().includes(wanted) ? 2 : 3);
    const items = policies.filter((one) => rank(one) < 3).sort((a, b) => rank(a) - rank(b))
      .map(({ name, title }) => ({ text: name, insert: name, help: title }));
    return { from, to: text.length, items };
  }
  if (!policy) return null;
  const last = parts[parts.length - 1];
  if (last.includes("=")) return null;
  const set = new Set(parts.slice(1, -1).map((one) => one.split("=")[0]));
  const items = policy.options.filter(({ name }) => name.startsWith(last) && !set.has(name)).map(({ name, help }) => ({ text: name, insert: name + "=", help }));
  return { from: at - last.length, to: at, items };
}
