// The core in its worker: one question at a time, the newest of each kind, and a way to stop it.
//
// A question that was not begun is replaced by a newer one of its kind. Answers come in order, so that an
// older one never lands on top of a newer one. The core itself cannot be interrupted: to stop it, the worker
// is ended and another one is started from the module, which is compiled already.

/** What a question that was replaced or stopped ends with. */
class Dropped extends Error {}

class Engine {
  /** `said(state)` is told what goes on: { busy, since, kind }. */
  constructor(source, said) {
    this.url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.said = said;
    this.queue = [];
    this.current = null;
    this.number = 0;
  }

  /** Takes the compiled core. What is asked before waits. */
  begin(module) { this.module = module; this.launch(); }

  launch() {
    this.worker = new Worker(this.url);
    this.worker.onmessage = ({ data }) => this.answer(data);
    this.worker.onerror = (event) => { event.preventDefault(); this.fail("the core failed: " + event.message); };
    this.worker.postMessage({ module: this.module });
    this.next();
  }

  /** Asks, in place of what waits of the same kind. */
  ask(kind, input) {
    const replaced = this.queue.filter((one) => one.kind === kind);
    this.queue = this.queue.filter((one) => one.kind !== kind);
    replaced.forEach((one) => one.fail(new Dropped("a newer question took its place")));
    return new Promise((done, fail) => {
      this.queue.push({ kind, input: JSON.stringify(input), done, fail, id: ++this.number });
      this.next();
    });
  }

  next() {
    if (this.current || !this.worker || !this.queue.length) return;
    this.current = this.queue.shift();
    this.current.since = performance.now();
    this.said({ busy: true, since: this.current.since, kind: this.current.kind });
    this.worker.postMessage({ id: this.current.id, input: this.current.input });
  }

  answer({ id, output, error }) {
    const current = this.current;
    if (!current || id !== current.id) return;
    this.current = null;
    this.took = performance.now() - current.since;
    if (error !== undefined) {
      // A trap leaves the memory of the core in an unknown state.
      this.restart();
      current.fail(new Error(error));
    } else {
      try { current.done(JSON.parse(output)); } catch (wrong) { current.fail(wrong); }
    }
    if (!this.queue.length) this.said({ busy: false, took: this.took, kind: current.kind });
    this.next();
  }

  fail(text) { if (this.current) this.answer({ id: this.current.id, error: text }); }

  restart() {
    this.worker?.terminate();
    this.worker = null;
    this.launch();
  }

  /** Ends what is computed, and forgets what waits. */
  stop() {
    const ended = [...(this.current ? [this.current] : []), ...this.queue];
    this.queue = [];
    this.current = null;
    this.restart();
    ended.forEach((one) => one.fail(new Dropped("stopped")));
    this.said({ busy: false, stopped: true });
  }
}
