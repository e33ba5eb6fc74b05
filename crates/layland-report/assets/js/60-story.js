// The story of a job, told from its trace: when it was released, where it ran, who preempted it.

/** A tree of elements: texts stay texts, whatever they contain. The policy of the page refuses style attributes, and lets
    scripts set styles. */
function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "style") node.style.cssText = value; else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** More pieces than this are counted and not told. */
const TOLD = 14;

class Story {
  constructor(app) { this.app = app; }

  time(trace, ns) { return timeText(trace.base + ns); }
  nameOf(trace, job) { return this.app.names[trace.jobs.task[job]] + " #" + (trace.jobs.seq.exact(job) + 1n); }

  /** What became of a job, in a few words. */
  fate(trace, job) {
    const { jobs } = trace, due = jobs.deadline;
    if (jobs.how[job] === UNKNOWN) return "nothing is known but where it ran";
    if (jobs.how[job] === PENDING) {
      return trace.missed[job] ? "not completed when the run ended, " + timeText(trace.overExact - due.exact(job)) + " after its deadline"
        : "not completed when the run ended";
    }
    if (jobs.how[job] === ABORTED) return "aborted";
    if (jobs.how[job] === LEFT) return "its task left";
    return trace.missed[job] ? "completed " + timeText(jobs.end.exact(job) - due.exact(job)) + " late" : "completed in time";
  }

  facts(trace, job) {
    const { jobs } = trace, rows = [];
    if (jobs.how[job] !== UNKNOWN) {
      rows.push(["arrival", this.time(trace, jobs.arrival.exact(job))]);
      if (jobs.release.at[job] !== jobs.arrival.at[job]) rows.push(["released", this.time(trace, jobs.release.exact(job))]);
      rows.push(["deadline", jobs.deadline.at[job] < Infinity ? this.time(trace, jobs.deadline.exact(job)) : "none"]);
    }
    if (jobs.end.at[job] < Infinity) {
      const end = jobs.end.exact(job);
      rows.push([jobs.how[job] === COMPLETED ? "completed" : "ended", this.time(trace, end)]);
      if (jobs.how[job] === COMPLETED) {
        rows.push(["response", timeText(end - jobs.arrival.exact(job))]);
        const late = jobs.deadline.at[job] < Infinity ? end - jobs.deadline.exact(job) : 0n;
        rows.push(["tardiness", timeText(late > 0n ? late : 0n), late > 0n]);
      }
    }
    const raised = this.raised(trace, job);
    if (raised) rows.push(["level", raised]);
    rows.push(["fate", this.fate(trace, job), trace.missed[job]]);
    if (jobs.how[job] !== UNKNOWN) rows.push(["work done", timeText(jobs.executed.exact(job))]);
    return rows;
  }

  /** When a span of levels begins and ends, exactly. */
  spanTime(trace, cpu, k) {
    const spans = trace.levels[cpu], { mark } = spans[k];
    const start = mark < 0 ? "the start" : this.time(trace, trace.marks.at.exact(mark));
    return start + " to " + (k + 1 < spans.length ? this.time(trace, trace.marks.at.exact(spans[k + 1].mark)) : "the end");
  }

  /** At which criticality levels the CPUs of a job were raised during its life, if they were. */
  raised(trace, job) {
    if (!trace.levels || trace.jobs.how[job] === UNKNOWN) return null;
    const { jobs } = trace, found = [], ran = new Set(segmentsOf(trace, job).map((s) => cpuOf(trace, s)));
    const cpus = trace.cpus.length === 1 ? [0] : [...ran];
    const from = jobs.arrival.at[job], to = Math.min(jobs.end.at[job], trace.over);
    for (const cpu of cpus) {
      const spans = trace.levels[cpu];
      for (let k = levelAt(spans, from); k < spans.length && spans[k].from <= to; k++) {
        if (spans[k].level && spans[k].to > from) found.push(this.app.levels[spans[k].level] + " from " + this.spanTime(trace, cpu, k));
      }
    }
    return found.length === 0 ? null : found.slice(0, 3).join("; ") + (found.length > 3 ? "; and " + (found.length - 3) + " times more" : "");
  }

  /** Fills a box with the criticality level of a CPU at some time. */
  tellLevel(box, panel, cpu, at) {
    const { trace } = panel, k = levelAt(trace.levels[cpu], at), { level } = trace.levels[cpu][k], name = this.app.levels[level];
    const list = element("dl", {}, element("dt", {}, "from"), element("dd", {}, this.spanTime(trace, cpu, k)));
    const runs = level ? "Only jobs of tasks of criticality " + name + (level + 1 < this.app.levels.length ? " or above" : "") + " run."
      : "Jobs of every criticality run.";
    box.replaceChildren(element("h4", {}, "Criticality level " + name + " on CPU " + cpu), list, element("p", { class: "other" }, runs));
  }

  /** Where it ran, piece by piece. */
  pieces(trace, job) {
    const found = segmentsOf(trace, job), { segments, jobs } = trace, list = [];
    found.slice(0, TOLD).forEach((s, k) => {
      const cpu = cpuOf(trace, s);
      let text = this.time(trace, segments.start.exact(s)) + " to " + this.time(trace, segments.end.exact(s)) + " on CPU " + cpu;
      if (k > 0 && cpuOf(trace, found[k - 1]) !== cpu) text += ", migrated from CPU " + cpuOf(trace, found[k - 1]);
      const spun = spinsIn(trace, s).reduce((sum, { from, to }) => sum + to - from, 0), overhead = overheadOf(trace, s);
      if (spun > 0) text += ", spinning for " + timeText(BigInt(spun));
      if (overhead > 0) text += ", overhead " + timeText(spun > 0 ? BigInt(overhead) : segments.overhead.exact(s));
      const goesOn = k + 1 < found.length || jobs.end.at[job] > segments.end.at[s];
      if (goesOn) {
        const next = s + 1, there = next < trace.cpus[cpu].to && segments.start.at[next] === segments.end.at[s];
        const moves = k + 1 < found.length && segments.start.at[found[k + 1]] === segments.end.at[s];
        const halt = haltAt(trace, jobs.task[job], segments.end.at[s]);
        if (halt) text += ", then " + halt;
        else if (there) text += (moves ? ", gave way to " : ", then preempted by ") + this.nameOf(trace, segments.job[next]);
        else if (!moves && segments.end.at[s] < trace.over) text += ", then stopped";
      }
      list.push(text);
    });
    if (found.length > TOLD) list.push("and " + (found.length - TOLD) + " more pieces");
    return list;
  }

  /** What each CPU did while a job was ready and did not run, of a late job before its deadline: how long it waited,
   *  and a line per CPU. Nothing if it did not wait. */
  obstacles(trace, job) {
    const { jobs, segments } = trace, start = segments.start.at, end = segments.end.at;
    if (jobs.how[job] === UNKNOWN) return null;
    const until = Math.min(jobs.end.at[job], trace.over, trace.missed[job] ? jobs.deadline.at[job] : Infinity);
    // A job is not ready before the one before it of its task has ended.
    const previous = this.find(trace, jobs.task[job], jobs.seq.exact(job) - 1n);
    let ready = Math.max(jobs.release.at[job], previous === null ? -Infinity : jobs.end.at[previous]), waited = 0;
    const waits = [], add = (from, to) => { if (from < to) { waits.push([from, to]); waited += to - from; } };
    // While it suspends itself or waits for a lock it is not the CPU that it waits for.
    const wait = (to) => {
      let at = ready;
      for (const halt of haltsIn(trace, jobs.task[job], ready, to)) { add(at, halt.from); at = halt.to; }
      add(at, to);
    };
    for (const s of segmentsOf(trace, job)) { wait(Math.min(start[s], until)); ready = Math.max(ready, end[s]); }
    wait(until);
    if (!waits.length) return null;
    const length = (ns) => (trace.wide ? about(ns) : timeText(BigInt(ns)));
    const lines = trace.cpus.map(({ from, to }, cpu) => {
      const held = new Map();
      let idle = waited;
      for (const [a, b] of waits) {
        for (let s = Math.max(from, firstAfter(start, a, from, to) - 1); s < to && start[s] < b; s++) {
          const part = Math.min(b, end[s]) - Math.max(a, start[s]), task = jobs.task[segments.job[s]];
          if (part > 0) { held.set(task, (held.get(task) ?? 0) + part); idle -= part; }
        }
      }
      const by = [...held].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([task, ns]) => this.app.names[task] + " for " + length(ns));
      if (by.length > 4) by.splice(3, by.length, by.length - 3 + " more tasks");
      if (idle > 0) by.push("idle for " + length(idle));
      return "CPU " + cpu + ": " + by.join(", ");
    });
    if (lines.length > TOLD) lines.splice(TOLD, lines.length, "and " + (lines.length - TOLD) + " more CPUs");
    return { waited: length(waited), lines };
  }

  /** The same job elsewhere, or nothing. */
  find(trace, task, seq) {
    const { from, order } = trace.jobsOf;
    let low = from[task], high = from[task + 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (trace.jobs.seq.exact(order[middle]) < seq) low = middle + 1; else high = middle;
    }
    return low < from[task + 1] && trace.jobs.seq.exact(order[low]) === seq ? order[low] : null;
  }

  /** Fills a box with the story of a job. */
  tell(box, panel, job, pinned) {
    const { trace } = panel, { jobs } = trace;
    box.replaceChildren(element("h4", {}, this.nameOf(trace, job) + " under " + panel.name));
    const list = element("dl");
    for (const [name, value, late] of this.facts(trace, job)) {
      list.append(element("dt", {}, name), element("dd", late ? { class: "late" } : {}, value));
    }
    box.append(list);
    const pieces = this.pieces(trace, job);
    if (pieces.length) box.append(element("ol", {}, ...pieces.map((text) => element("li", {}, text))));
    else box.append(element("p", { class: "other" }, "It never ran in what is shown."));
    const kept = this.obstacles(trace, job);
    if (kept) {
      const when = trace.missed[job] ? "Before its deadline it waited for " : "It waited for ";
      box.append(element("p", { class: "other" }, when + kept.waited + ". Meanwhile:"),
        element("ul", { class: "held" }, ...kept.lines.map((text) => element("li", {}, text))));
    }
    for (const other of this.app.panels) {
      if (other === panel) continue;
      const same = this.find(other.trace, jobs.task[job], jobs.seq.exact(job));
      if (same !== null) box.append(element("p", { class: "other" }, "Under " + other.name + ": " + this.fate(other.trace, same) + "."));
    }
    if (pinned) {
      const close = element("button", { type: "button", "aria-label": "Close" }, "×");
      close.addEventListener("click", () => this.app.unpin());
      box.append(close);
    }
  }
}
