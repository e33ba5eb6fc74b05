// What the core is asked, and in which words.

/** So many segments of a run are drawn; a longer run is cut, and says so. */
const MOST_SEGMENTS = 150_000;

/** What the core says is wrong with a question: of the text, with places, or of something else. */
function wrongs({ message, help, problems }) {
  const found = (problems ?? []).filter(({ severity }) => severity === "error");
  return found.length ? found : [{ message, help, from: null }];
}

class Core {
  /** `nameOf(text)` is what the command would call the set. */
  constructor(engine, nameOf) { this.engine = engine; this.nameOf = nameOf; }
  /** The answer, or `{ errors }`. */
  async ask(name, members) {
    const { ok, error } = await this.engine.ask(name, { ask: name, ...members });
    return ok ?? { errors: wrongs(error) };
  }
  of({ text, policies, until, seed }) { return { set: text, name: this.nameOf(text), policies, ...(until ? { until } : {}), ...(seed ? { seed } : {}) }; }

  about() { return this.ask("about", {}); }
  load(text, name, cpus) { return this.ask("load", { text, name, ...(cpus ? { cpus } : {}) }); }
  sim(state) { return this.ask("sim", { ...this.of(state), report: true, segments: MOST_SEGMENTS }); }
  /** What is guaranteed; in a hurry the verdicts alone, without bounds and margins. */
  check(state, hurry) {
    const { set, name, policies } = this.of(state);
    return this.ask("check", { set, name, policies, ...(hurry ? { bounds: false, margins: false } : {}) });
  }
  export(text, to) { return this.ask("export", { set: text, name: this.nameOf(text), to }); }
  explain(text, policy) { return this.ask("explain", { set: text, name: this.nameOf(text), policy }); }
  /** The part of the schedule that is visible, as a picture. */
  async svg(state, policy, { view, range, base }) {
    const at = (time) => base + BigInt(Math.round(Math.min(Math.max(time, range.from), range.to))) + "ns";
    const found = await this.ask("svg", { ...this.of({ ...state, policies: [policy] }), window: at(view.from) + ".." + at(view.to) });
    return found.errors ? found : { svg: found.charts[0].svg };
  }
}
