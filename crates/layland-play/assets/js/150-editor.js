// The set as text: colours, problems underlined where they are, completion.

class Editor {
  constructor(play) {
    this.play = play;
    this.field = document.getElementById("text");
    this.paint = document.getElementById("paint");
    this.list = document.getElementById("problems");
    this.problems = [];
    const { field } = this;
    field.addEventListener("input", (event) => {
      play.edit({ text: field.value }, /delete/.test(event.inputType) ? "delete" : /Paste|Drop/.test(event.inputType) ? null : "type", "text");
      if (event.inputType === "insertText" || (this.completer?.open && /^delete/.test(event.inputType))) this.completer?.show(); else this.completer?.close();
    });
    // The history is shared with the table, so the one of the field is not used.
    field.addEventListener("beforeinput", (event) => {
      if (event.inputType === "historyUndo") { event.preventDefault(); play.undo(); }
      if (event.inputType === "historyRedo") { event.preventDefault(); play.redo(); }
    });
    field.addEventListener("keydown", (event) => {
      if (this.completer?.key(event)) return;
      if (event.key === " " && event.ctrlKey) { event.preventDefault(); this.completer?.show(true); }
    });
    field.addEventListener("scroll", () => { this.follow(); this.completer?.close(); }, { passive: true });
    field.addEventListener("click", () => this.completer?.close());
  }

  complete(schema) {
    const offers = new SchemaOffers(schema), { field } = this;
    this.completer = new Completer(field, (text, at, asked) => (text.length > MOST_COLOURED ? null : offers.offer(text, at, asked)), (from, to, { insert }) => {
      const text = field.value.slice(0, from) + insert + field.value.slice(to);
      field.value = text;
      field.setSelectionRange(from + insert.length, from + insert.length);
      this.play.edit({ text }, null, "text");
    });
    this.completer.spot = (position) => {
      const { line, column } = placeOf(field.value, position), box = field.getBoundingClientRect();
      const high = parseFloat(getComputedStyle(field).lineHeight), top = box.top + 8 + (line - 1) * high - field.scrollTop;
      this.wide ??= this.measure();
      return { left: box.left + 10 + (column - 1) * this.wide - field.scrollLeft, top, below: top + high };
    };
  }
  measure() {
    const probe = element("span", { class: "probe" }, "0".repeat(100));
    this.paint.append(probe);
    const { width } = probe.getBoundingClientRect();
    probe.remove();
    return width / 100;
  }

  /** Shows a text that was changed elsewhere; the caret stays where it is, as far as there is text. */
  show(text) {
    const { field } = this;
    if (field.value !== text) {
      const { selectionStart, scrollTop, scrollLeft } = field;
      field.value = text;
      if (document.activeElement === field) field.setSelectionRange(selectionStart, selectionStart);
      field.scrollTop = scrollTop;
      field.scrollLeft = scrollLeft;
    }
  }

  /** Colours the text, and underlines what is wrong with it. */
  colour() {
    const { text, tokens } = this.play.set;
    const plain = text.length > MOST_COLOURED;
    this.field.classList.toggle("plain", plain);
    if (plain) { this.paint.replaceChildren(); return; }
    const wrong = this.problems.map(({ from, to }) => ({ from, to: Math.max(to, from + 1), kind: "wrong" })).sort((a, b) => a.from - b.from);
    const pieces = [], marked = (from, to, kind) => {
      // A piece is cut where a problem begins and ends.
      for (let at = from; at < to; ) {
        const problem = wrong.find((one) => one.to > at && one.from < to);
        const inside = problem && problem.from <= at, end = !problem ? to : inside ? Math.min(problem.to, to) : Math.min(problem.from, to);
        const names = (kind ?? "") + (inside ? " wrong" : ""), part = text.slice(at, end);
        pieces.push(names.trim() ? element("span", { class: names.trim() }, part) : part);
        at = end;
      }
    };
    let at = 0;
    for (const { from, to, kind } of tokens) {
      if (from < at) continue;
      marked(at, from, null);
      marked(from, to, kind);
      at = to;
    }
    marked(at, text.length, null);
    if (wrong.some((one) => one.from >= text.length)) pieces.push(element("span", { class: "wrong" }, " "));
    this.paint.replaceChildren(...pieces, "\n");
    this.follow();
  }
  follow() {
    this.paint.scrollTop = this.field.scrollTop;
    this.paint.scrollLeft = this.field.scrollLeft;
  }

  /** What is wrong, each with a button that goes there. */
  tell(problems) {
    this.problems = problems;
    this.field.setAttribute("aria-invalid", problems.length > 0);
    this.list.replaceChildren(...problems.slice(0, 20).map(({ from, to, message, help, line, column }) => {
      const place = line ? "Line " + line + ", column " + column : "Go there";
      const button = element("button", { type: "button", class: "place" }, place);
      button.addEventListener("click", () => this.go(from, to));
      return element("li", {}, ...(from === undefined ? [] : [button]), " ", element("span", {}, message), ...(help ? [element("span", { class: "note" }, " " + help)] : []));
    }));
    if (problems.length > 20) this.list.append(element("li", {}, "and " + (problems.length - 20) + " more"));
    this.colour();
  }
  go(from, to = from) {
    const { field } = this, { line } = placeOf(field.value, from);
    field.closest("details")?.setAttribute("open", "");
    field.focus();
    field.setSelectionRange(from, to);
    const high = parseFloat(getComputedStyle(field).lineHeight);
    field.scrollTop = Math.max(0, (line - 4) * high);
    field.scrollIntoView({ block: "nearest" });
  }
}
