// The set as a table: each cell is one value of the text. Type, step with the arrow keys, or drag a number.

const MOST_ROWS = 200;
/** So many pixels of a drag are one step of a number. */
const PIXELS = 5;

class SetTable {
  constructor(play) {
    this.play = play;
    this.box = document.getElementById("tasks");
    this.cells = [];
    this.shape = "";
    this.drags = 0;
    document.getElementById("add").addEventListener("click", () => this.add());
    const cpus = document.getElementById("cpus");
    cpus.addEventListener("input", () => {
      const count = Number(cpus.value);
      if (Number.isInteger(count) && count >= 1 && count <= 4096) play.edit({ text: play.set.setCpus(count) }, "cpus", "cpus");
    });
    this.box.addEventListener("input", (event) => this.typed(event.target));
    this.box.addEventListener("change", (event) => { if (event.target.tagName === "SELECT") this.typed(event.target); });
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("pointerdown", (event) => this.grab(event));
    this.box.addEventListener("focusin", (event) => { play.history.seal(); if (event.target.matches("input")) event.target.select(); });
    this.box.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-drop]");
      if (!button) return;
      const at = Number(button.dataset.drop);
      play.edit({ text: play.set.dropTask(at) }, null, null);
      play.announce("Removed a task. Undo brings it back.");
      (this.box.querySelectorAll("button[data-drop]")[Math.max(0, at - 1)] ?? document.getElementById("add")).focus();
    });
  }

  /** Which columns the set needs. */
  columns() {
    const { set } = this.play, levels = set.levels.length > 1 ? set.levels : [];
    const times = (key, title, help) => ({ key, title, help, time: true });
    const wcets = levels.length ? levels.map((level) => ({ ...times("wcet", "WCET " + level, "longest execution time at level " + level), part: level })) : [times("wcet", "WCET", "longest execution time of a job")];
    return [{ key: "name", title: "Task", help: "name" }, ...wcets, times("period", "Period", "time between two jobs"),
      times("deadline", "Deadline", "how long after its arrival a job has to be done; the period if empty"),
      times("offset", "Offset", "arrival of the first job; 0 if empty"),
      { key: "affinity", title: "CPUs", help: "where it may run; everywhere if empty" },
      ...(levels.length ? [{ key: "criticality", title: "Level", help: "criticality level" }] : [])];
  }

  /** What a cell shows; null if the table cannot show it as one value. */
  read(task, { key, part }) {
    let found = task.keys.get(key);
    if (!found) return "";
    if (part !== undefined) {
      if (found.kind === "table") found = found.keys.get(part);
      else return part === this.levelOf(task) ? found.value ?? null : "";
      if (!found) return "";
    }
    if (key === "affinity" && found.kind === "list") return found.items.every((item) => item.value !== undefined) ? found.items.map((item) => item.value).join(",") : null;
    return found.kind === "string" || found.kind === "bare" ? found.value : null;
  }
  levelOf(task) { return task.keys.get("criticality")?.value ?? this.play.set.levels[0]; }

  show() {
    const { set } = this.play, tasks = set.tasks.slice(0, MOST_ROWS), columns = this.columns();
    const cpus = document.getElementById("cpus");
    if (document.activeElement !== cpus) cpus.value = set.cpus ?? "";
    cpus.disabled = set.cpus === null && set.platform.keys.has("cpus");
    const shape = JSON.stringify([tasks.length, set.levels, columns.length]);
    if (shape !== this.shape) { this.shape = shape; this.build(tasks, columns); }
    tasks.forEach((task, row) => {
      const name = this.read(task, columns[0]) || "task " + (row + 1);
      columns.forEach((column, at) => {
        const cell = this.cells[row][at], value = this.read(task, column), shown = value ?? "";
        cell.disabled = value === null;
        cell.title = value === null ? "written in the text in a way that has no cell" : column.help;
        if (cell.value !== shown && document.activeElement !== cell) cell.value = shown;
        else if (cell.value !== shown && this.play.changedBy !== "table") cell.value = shown;
        cell.setAttribute("aria-label", column.title + " of " + name);
        if (column.time) {
          const wrong = shown !== "" && !TIME.test(shown);
          cell.setAttribute("aria-invalid", wrong);
          if (wrong) cell.title = "a time needs a number and a unit: 300us, 2.5ms, 1s";
        }
        if (column.key === "deadline") cell.placeholder = this.read(task, { key: "period" }) ?? "";
      });
      const count = task.keys.get("count")?.value;
      this.shares[row].textContent = this.share(task) + (count ? " ×" + count : "");
      this.drops[row].setAttribute("aria-label", "Remove " + name);
    });
    const more = set.tasks.length - tasks.length;
    document.getElementById("more").textContent = more > 0 ? "The table shows the first " + MOST_ROWS + " tasks; " + more.toLocaleString("en") + " more are in the text." : "";
  }
  /** The utilization of a task, to read and not to decide. */
  share(task) {
    const wcet = readTime(this.read(task, this.play.set.levels.length > 1 ? { key: "wcet", part: this.levelOf(task) } : { key: "wcet" }) ?? ""), period = readTime(this.read(task, { key: "period" }) ?? "");
    return wcet && period && period.ns > 0n ? (Number(wcet.ns) / Number(period.ns)).toFixed(2) : "–";
  }

  build(tasks, columns) {
    this.cells = [];
    this.shares = [];
    this.drops = [];
    const head = element("tr", {}, ...columns.map(({ title, help }) => element("th", { scope: "col", title: help }, title)),
      element("th", { scope: "col", title: "utilization: WCET by period" }, "U"), element("th", { scope: "col" }, element("span", { class: "hidden" }, "Remove")));
    const rows = tasks.map((_, row) => {
      const cells = columns.map((column) => {
        if (column.key === "criticality") {
          return element("select", { "data-row": row, "data-key": column.key }, element("option", { value: "" }, "–"), ...this.play.set.levels.map((level) => element("option", { value: level }, level)));
        }
        return element("input", { "data-row": row, "data-key": column.key, ...(column.part !== undefined ? { "data-part": column.part } : {}), spellcheck: "false", autocomplete: "off",
          maxlength: "200", class: column.time ? "number" : "", size: column.key === "name" ? 9 : 6 });
      });
      const share = element("td", { class: "share" }), drop = element("button", { type: "button", class: "quiet", "data-drop": row, title: "Remove this task" }, "×");
      this.cells.push(cells);
      this.shares.push(share);
      this.drops.push(drop);
      const chip = element("span", { class: "swatch", style: "background:" + PALETTE[row % PALETTE.length][0], "aria-hidden": "true" });
      return element("tr", {}, ...cells.map((cell, at) => (at === 0 ? element("th", { scope: "row" }, chip, cell) : element("td", {}, cell))), share, element("td", {}, drop));
    });
    this.box.replaceChildren(element("table", { class: "set" }, element("caption", { class: "hidden" }, "The tasks of the set"), element("thead", {}, head), element("tbody", {}, ...rows)));
  }

  typed(cell) {
    const { row, key, part } = cell.dataset, task = this.play.set.tasks[row];
    if (task) this.play.edit({ text: this.written(task, key, part, cell.value) }, "cell " + row + key + (part ?? ""), "table");
  }

  /** The text with another value of one cell. */
  written(task, key, part, value) {
    const { set } = this.play, there = task.keys.get(key);
    if (value.trim() === "" && (key === "deadline" || key === "offset" || key === "affinity" || key === "criticality")) return set.dropKey(task, key);
    if (part !== undefined) {
      if (there?.kind === "table") {
        const inner = there.keys.get(part);
        if (inner) return value.trim() === "" ? set.text : set.put(inner.from, inner.to, quoted(value));
        // A level that was not written: it joins the others.
        const end = there.own ? there.to : there.to - 1, inside = set.text.slice(there.from + 1, end).trimEnd();
        return there.own ? set.put(end, end, "\n" + part + " = " + quoted(value)) : set.put(there.from + 1 + inside.length, end, (there.keys.size ? ", " : " ") + part + " = " + quoted(value) + " ");
      }
      if (part === this.levelOf(task) || !there) return set.setKey(task, key, quoted(value));
      return set.setKey(task, key, "{ " + this.levelOf(task) + " = " + set.text.slice(there.from, there.to) + ", " + part + " = " + quoted(value) + " }");
    }
    // A number stays a number, as in `affinity = 0`; everything else is a string.
    const bare = there?.kind === "bare" && /^\d+$/.test(value.trim());
    const list = key === "affinity" && there?.kind === "list" && /^\d+(\s*,\s*\d+)*$/.test(value.trim());
    return set.setKey(task, key, bare ? value.trim() : list ? "[" + value.trim().split(/\s*,\s*/).join(", ") + "]" : quoted(value));
  }

  step(cell, count, kind) {
    const time = readTime(cell.value === "" ? cell.placeholder || (cell.dataset.key === "offset" ? "0ms" : "") : cell.value);
    if (!time) return;
    this.change(cell, time, stepOf(time) * BigInt(count), kind);
  }
  change(cell, { ns, unit }, by, kind) {
    const least = cell.dataset.key === "offset" ? 0n : 1n;
    let next = ns + by;
    if (next < least) next = least === 0n ? 0n : ns < UNITS[unit] || by > -UNITS[unit] ? ns : UNITS[unit];
    const value = writeTime(next, unit);
    if (value === cell.value) return;
    cell.value = value;
    const { row, key, part } = cell.dataset;
    this.play.edit({ text: this.written(this.play.set.tasks[row], key, part, value) }, kind, "table");
  }
  key(event) {
    const cell = event.target;
    if (cell.tagName !== "INPUT" || event.ctrlKey || event.metaKey) return;
    if (cell.classList.contains("number") && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      this.step(cell, (event.key === "ArrowUp" ? 1 : -1) * (event.shiftKey ? 10 : 1), "step " + cell.dataset.row + cell.dataset.key);
    } else if (event.key === "Enter") {
      const down = this.cells[Number(cell.dataset.row) + (event.shiftKey ? -1 : 1)]?.[this.cells[cell.dataset.row].indexOf(cell)];
      down?.focus();
    } else if (event.key === "Escape") cell.blur();
  }

  /** A drag over a number that is not being edited changes it. */
  grab(event) {
    const cell = event.target;
    // A finger scrolls the table.
    if (event.button !== 0 || event.pointerType === "touch" || !cell.matches?.("input.number") || cell.disabled || document.activeElement === cell) return;
    const start = readTime(cell.value === "" ? cell.placeholder || "0ms" : cell.value), from = event.clientX, before = this.play.history.state, kind = "drag " + ++this.drags;
    let moved = false;
    if (!start) return;
    event.preventDefault();
    cell.setPointerCapture(event.pointerId);
    const move = (now) => {
      const by = Math.trunc((now.clientX - from) / PIXELS);
      if (!moved && Math.abs(now.clientX - from) < 4) return;
      if (!moved) { moved = true; document.body.classList.add("dragging"); this.play.dragging = true; }
      const fine = now.shiftKey && start.decimals < 9 ? stepOf({ ...start, decimals: start.decimals + 1 }) : stepOf(start);
      this.change(cell, start, fine * BigInt(by), kind);
    };
    const end = (now) => {
      cell.removeEventListener("pointermove", move);
      ["pointerup", "pointercancel"].forEach((name) => cell.removeEventListener(name, end));
      removeEventListener("keydown", escape, true);
      document.body.classList.remove("dragging");
      if (!moved) { cell.focus(); return; }
      this.play.dropped();
      if (now.type === "pointercancel") this.play.edit(before, null, null);
    };
    const escape = (key) => { if (key.key === "Escape") { key.preventDefault(); key.stopPropagation(); end({ type: "pointercancel" }); } };
    cell.addEventListener("pointermove", move);
    ["pointerup", "pointercancel"].forEach((name) => cell.addEventListener(name, end));
    addEventListener("keydown", escape, true);
  }

  add() {
    const { set } = this.play, names = new Set(set.tasks.map((task) => task.keys.get("name")?.value));
    let number = set.tasks.length + 1;
    while (names.has("task-" + number)) number++;
    const lines = ["name = " + quoted("task-" + number), 'period = "20ms"', 'wcet = "2ms"'];
    this.play.edit({ text: set.addTask(lines) }, null, null);
    this.play.announce("Added task-" + number + ".");
    const row = this.cells[this.play.set.tasks.length - 1];
    row?.[1].focus();
  }
}
const TIME = /^\s*-?[0-9_./ ]+\s*(ns|us|µs|μs|ms|s)\s*$/;
