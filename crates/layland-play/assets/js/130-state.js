// What is edited, its history, and the link that carries it.

/** More text than this is not edited here: the command takes it. */
const MOST_TEXT = 1_000_000;
/** Coloured and completed up to this length; longer texts stay plain, so that typing stays quick. */
const MOST_COLOURED = 120_000;
const MOST_STEPS = 300;
/** Changes of one kind closer together than this (in ms) are one step back. */
const ONE_STEP = 900;

/** The state is { text, policies, until, seed? }. The text and the table share this history. */
class History {
  constructor(state) { this.state = state; this.past = []; this.future = []; this.kind = null; this.at = 0; }
  /** A new state; changes of the same kind within a moment, or within a drag, are one step. */
  push(state, kind, now) {
    const same = kind !== null && kind === this.kind && (now - this.at < ONE_STEP || kind.startsWith("drag"));
    if (!same) {
      this.past.push(this.state);
      if (this.past.length > MOST_STEPS) this.past.shift();
    }
    this.kind = kind;
    this.at = now;
    this.future = [];
    this.state = state;
  }
  /** What comes next begins a step of its own. */
  seal() { this.kind = null; }
  back() { return this.step(this.past, this.future); }
  forth() { return this.step(this.future, this.past); }
  step(from, to) {
    if (!from.length) return null;
    to.push(this.state);
    this.kind = null;
    return (this.state = from.pop());
  }
}

function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}
/** Base64 that can stand in a link. */
function base64url(bytes) { return base64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, ""); }

async function through(bytes, stream, most = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader(), parts = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) { reader.cancel(); throw new Error("it holds more than this page takes"); }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** The state as the fragment of a link. */
async function toFragment({ text, policies, until, seed }) {
  const bytes = new TextEncoder().encode(JSON.stringify({ set: text, policies, ...(until ? { until } : {}), ...(seed ? { seed } : {}) }));
  return "s=" + base64url(await through(bytes, new CompressionStream("deflate-raw")));
}

/** What a fragment carries, as the page was told at its start; nothing if it has none; an error if it is damaged. */
async function fromFragment(hash) {
  const found = /^#?s=([A-Za-z0-9_-]*)$/.exec(hash);
  if (!found) return null;
  const packed = Uint8Array.from(atob(found[1].replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const bytes = await through(packed, new DecompressionStream("deflate-raw"), MOST_TEXT + 100_000);
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
}

/** A state from outside: its shape is checked, and its size. */
function soundState({ set, policies: given, until, seed }) {
  if (typeof set !== "string" || set.length > MOST_TEXT) throw new Error("it holds no task set that this page takes");
  const policies = (Array.isArray(given) ? given : []).filter((one) => typeof one === "string" && one.length < 300).slice(0, MOST_POLICIES);
  return { text: set, policies: policies.length ? policies : ["g-edf"], until: typeof until === "string" && until.length < 40 ? until : "",
    ...(Number.isSafeInteger(seed) && seed > 0 ? { seed } : {}) };
}
const MOST_POLICIES = 8;
