// In and out: files that are opened, dropped and pasted; formats, pictures, the command, the link.

/** A larger file is not read: the command takes it. */
const MOST_FILE = 8_000_000;

/** A word of a command line, in quotes where a shell would read it otherwise. */
function shellWord(text) { return /^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'"; }

/** What the formats are called here. */
const FORMATS = { toml: "Layland (TOML)", "rt-app": "rt-app (JSON)", csv: "a table (CSV)", plain: "plain lines", sag: "a job set of SAG (CSV)", simso: "SimSo (XML)", schedcat: "SchedCAT (XML)", jsonl: "lines of JSON" };

class Files {
  constructor(play) {
    this.play = play;
    const picker = document.getElementById("picker"), zone = document.body;
    document.getElementById("open").addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => { if (picker.files[0]) this.read(picker.files[0]); picker.value = ""; });
    zone.addEventListener("dragover", (event) => { if (event.dataTransfer.types.includes("Files")) { event.preventDefault(); zone.classList.add("over"); } });
    zone.addEventListener("dragleave", (event) => { if (!event.relatedTarget) zone.classList.remove("over"); });
    zone.addEventListener("drop", (event) => {
      zone.classList.remove("over");
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      this.read(event.dataTransfer.files[0]);
    });
    // Pasted outside of any field, a text is a set of any format.
    document.addEventListener("paste", (event) => {
      if (event.target.closest?.("input, textarea, select, dialog")) return;
      const [file] = event.clipboardData.files, text = event.clipboardData.getData("text");
      if (file) this.read(file);
      else if (text.trim()) this.take(text, "");
      else return;
      event.preventDefault();
    });
    this.dialog = document.getElementById("share");
    document.getElementById("export").addEventListener("click", () => this.open());
    this.dialog.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-copy]");
      if (button) this.copy(document.getElementById(button.dataset.copy), button);
    });
    document.getElementById("save").addEventListener("click", () => this.save());
    document.getElementById("save-svg").addEventListener("click", () => this.picture("svg"));
    document.getElementById("save-png").addEventListener("click", () => this.picture("png"));
    document.getElementById("save-json").addEventListener("click", () => this.json());
  }

  async read(file) {
    if (file.size > MOST_FILE) {
      this.play.complain("“" + file.name + "” has " + (file.size / 1e6).toFixed(1) + " MB. This page reads at most " + MOST_FILE / 1e6 + " MB; the command reads it: layland check " + shellWord(file.name));
      return;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text;
    try { text = new TextDecoder("utf-8", { fatal: true }).decode(bytes); } catch {
      this.play.complain("“" + file.name + "” is no text in UTF-8, so it is no task set in any format.");
      return;
    }
    await this.take(text, file.name);
  }

  /** Takes a text of any format. A set of Layland's own stays as it is, also with errors: they are shown. */
  async take(text, name) {
    const own = /^\s*layland\s*=/m.test(text) || (/\.toml$/i.test(name) && !/^\s*[{<]/.test(text));
    if (own) {
      if (text.length > MOST_TEXT) { this.play.complain(tooLong(text.length)); return; }
      this.play.replace({ text }, name || "the pasted text");
      return;
    }
    let found, guessed = null;
    try {
      found = await this.play.core.load(text, name);
      // A format that has no CPUs is asked about those that the page shows.
      if (found.errors?.some((one) => one.code === "layland::platform::cpus_not_given")) {
        guessed = this.play.set.cpus ?? 1;
        found = await this.play.core.load(text, name, guessed);
      }
    } catch (error) { if (!(error instanceof Dropped)) this.play.complain((name ? "“" + name + "”: " : "") + error.message); return; }
    if (found.errors) {
      const [first] = found.errors, place = first.line ? "line " + first.line + (first.column ? ", column " + first.column : "") + ": " : "";
      this.play.complain((name ? "“" + name + "”" : "What was pasted") + " cannot be read: " + place + first.message, first.help, found.errors.slice(1, 4).map((one) => one.message));
      return;
    }
    if (found.toml.length > MOST_TEXT) { this.play.complain(tooLong(found.toml.length)); return; }
    const asks = { ...(found.policy ? { policies: [found.policy] } : {}), ...(found.until ? { until: found.until } : {}) };
    const notes = found.notes.map((one) => one.message);
    if (guessed) notes.unshift("It does not say how many CPUs there are: " + guessed + ", as before.");
    this.play.replace({ text: found.toml, ...asks }, name || "the pasted text", notes);
  }

  command() {
    const { text, policies, until, seed } = this.play.history.state, demo = this.play.demos.find((one) => one.text === text);
    const set = demo ? "demo:" + demo.name : "set.toml", list = shellWord(policies.join(","));
    return (demo ? "" : "# save the set as set.toml (the button above)\n") + "layland sim " + set + " --policy " + list + (until ? " --until " + shellWord(until) : "") + (seed ? " --seed " + seed : "") +
      "\nlayland check " + set + " --policy " + list;
  }

  async open() {
    const select = document.getElementById("format"), { formats } = this.play;
    if (!select.children.length) select.append(...formats.filter((one) => one.writes).map(({ name, title, extension }) => element("option", { value: name }, title ?? FORMATS[name] ?? name + " (." + extension + ")")));
    const which = document.getElementById("which-chart");
    which.replaceChildren(...this.play.history.state.policies.map((policy) => element("option", {}, policy)));
    document.getElementById("command").value = this.command();
    document.getElementById("export-note").textContent = "";
    this.dialog.showModal();
    const link = document.getElementById("link"), note = document.getElementById("link-note");
    link.value = "";
    const base = location.href.split("#")[0], fragment = await toFragment(this.play.history.state);
    link.value = base + "#" + fragment;
    note.textContent = fragment.length.toLocaleString("en") + " characters carry the set, the policies and the time: nothing is sent anywhere." +
      (fragment.length > 30000 ? " Some programs cut links that are so long; a file is safer." : "") + (location.protocol === "file:" ? " It opens where this file is at the same place." : "");
  }

  async copy(field, button) {
    let copied = false;
    try { await navigator.clipboard.writeText(field.value); copied = true; } catch { field.select(); copied = document.execCommand("copy"); }
    const before = button.textContent;
    button.textContent = copied ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { button.textContent = before; }, 1500);
  }

  download(content, name, type) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = element("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    this.saved = { name, size: content.size ?? content.length };
  }
  note(text) { document.getElementById("export-note").textContent = text; }

  async save() {
    const to = document.getElementById("format").value, { extension } = this.play.formats.find((one) => one.name === to);
    try {
      const found = to === "toml" ? { text: this.play.history.state.text, lost: [] } : await this.play.core.export(this.play.history.state.text, to);
      if (found.errors) { this.note(found.errors.map((one) => one.message + (one.help ? ": " + one.help : "")).join("; ")); return; }
      this.download(found.text, "set." + extension, "text/plain");
      this.note("Saved set." + extension + "." + (found.lost.length ? " Not everything can be expressed in this format: " + found.lost.map((one) => one.message).join("; ") + "." : ""));
    } catch (error) { if (!(error instanceof Dropped)) this.note(error.message); }
  }

  async picture(kind) {
    const policy = document.getElementById("which-chart").value;
    try {
      const found = await this.play.core.svg(this.play.history.state, policy, this.play.schedule);
      if (found.errors) { this.note(found.errors.map((one) => one.message).join("; ")); return; }
      const name = "schedule-" + policy.replace(/[^\w.-]+/g, "-") + "." + kind;
      if (kind === "svg") this.download(found.svg, name, "image/svg+xml");
      else this.download(await painted(found.svg), name);
      this.note("Saved " + name + ".");
    } catch (error) { if (!(error instanceof Dropped)) this.note(error.message); }
  }

  json() {
    const { simText, checkText } = this.play;
    if (simText) this.download(simText, "sim.json", "application/json");
    if (checkText) this.download(checkText, "check.json", "application/json");
    this.note(simText ? "Saved what the command prints with --json." : "There is no answer to save.");
  }
}

function tooLong(length) {
  return "The set has " + (length / 1e6).toFixed(1) + " MB as text. This page edits at most " + MOST_TEXT / 1e6 + " MB; the command takes any size.";
}

/** A picture in points of an SVG, twice as fine. */
async function painted(text) {
  const image = new Image();
  const url = "data:image/svg+xml;base64," + base64(new TextEncoder().encode(text));
  await new Promise((done, fail) => { image.onload = done; image.onerror = () => fail(new Error("the picture cannot be painted")); image.src = url; });
  // A canvas has at most so many points on each side in every browser.
  const scale = Math.min(2, 16000 / Math.max(image.naturalWidth, image.naturalHeight, 1));
  const canvas = element("canvas", { width: Math.round(image.naturalWidth * scale), height: Math.round(image.naturalHeight * scale) });
  const c = canvas.getContext("2d");
  c.fillStyle = "#fff";
  c.fillRect(0, 0, canvas.width, canvas.height);
  c.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("the picture cannot be painted"))), "image/png"));
}
