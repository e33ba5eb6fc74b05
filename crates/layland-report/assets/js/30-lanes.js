// Lanes: which segments a CPU or a task has, and what a stretch of many of them amounts to.
//
// A lane is a list of segments in the order of time. Over it stands a pyramid: one entry for every 16
// segments, one for every 32, and so on, with the time that they run and the task that runs longest in
// it. What is narrower than a pixel is taken from the pyramid, so that drawing a lane costs about
// pixels times log(segments), however many there are.

const BLOCK = 16;

/** Positions 0..count sorted by a small key, keeping the order within a key: where each key begins. */
function groupBy(count, keys, keyOf) {
  const from = new Uint32Array(keys + 1);
  for (let i = 0; i < count; i++) from[keyOf(i) + 1]++;
  for (let k = 0; k < keys; k++) from[k + 1] += from[k];
  const next = from.slice(0, keys), order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[next[keyOf(i)]++] = i;
  return { from, order };
}

/** All segments in the order of their start: the lists of the CPUs, which have that order, merged. */
function byStart({ segments, cpus }) {
  const start = segments.start.at, order = new Uint32Array(segments.count);
  // A heap of CPUs by what comes next on them; of equals the lower CPU, whose segments are first.
  const heap = [], sink = (k) => {
    for (;;) {
      let least = k;
      for (let child = 2 * k + 1; child <= 2 * k + 2 && child < heap.length; child++) {
        const a = heap[child].next, b = heap[least].next;
        if (start[a] < start[b] || (start[a] === start[b] && a < b)) least = child;
      }
      if (least === k) return;
      [heap[k], heap[least]] = [heap[least], heap[k]];
      k = least;
    }
  };
  for (const { from, to } of cpus) if (from < to) heap.push({ next: from, to });
  for (let k = heap.length - 1; k >= 0; k--) sink(k);
  for (let i = 0; i < segments.count; i++) {
    const top = heap[0];
    order[i] = top.next++;
    if (top.next === top.to) { const last = heap.pop(); if (heap.length) heap[0] = last; }
    if (heap.length) sink(0);
  }
  return order;
}

class Lane {
  /** Segments [from, to) of the trace, or of `order` if that is given. */
  constructor(trace, from, to, order) {
    Object.assign(this, { trace, from, to, order });
    this.levels = [];
    const count = to - from;
    if (count > 4 * BLOCK) this.build(count);
  }
  at(i) { return this.order ? this.order[i] : i; }
  build(count) {
    const { segments, jobs } = this.trace;
    let size = Math.ceil(count / BLOCK);
    let busy = new Float64Array(size), task = new Uint32Array(size), most = new Float64Array(size);
    const sums = new Map();
    for (let b = 0; b < size; b++) {
      const last = Math.min(this.to, this.from + (b + 1) * BLOCK);
      sums.clear();
      for (let i = this.from + b * BLOCK; i < last; i++) {
        const s = this.at(i), length = segments.end.at[s] - segments.start.at[s];
        const t = jobs.task[segments.job[s]], sum = (sums.get(t) ?? 0) + length;
        busy[b] += length;
        sums.set(t, sum);
        if (sum > most[b]) { most[b] = sum; task[b] = t; }
      }
    }
    for (;;) {
      this.levels.push({ busy, task, most });
      if (size <= 1) break;
      const half = Math.ceil(size / 2);
      const up = { busy: new Float64Array(half), task: new Uint32Array(half), most: new Float64Array(half) };
      for (let b = 0; b < half; b++) {
        const left = 2 * b, right = Math.min(left + 1, size - 1);
        up.busy[b] = busy[left] + (right > left ? busy[right] : 0);
        const longer = most[right] > most[left] ? right : left;
        up.task[b] = task[longer];
        up.most[b] = task[left] === task[right] && right > left ? most[left] + most[right] : most[longer];
      }
      ({ busy, task, most } = up);
      size = half;
    }
  }
  /** What segments [i, j) amount to: time, and the task that runs longest (of blocks: in one of them). */
  sum(i, j) {
    const { segments, jobs } = this.trace;
    let busy = 0, most = 0, task = -1;
    const one = (k) => {
      const s = this.at(k), length = segments.end.at[s] - segments.start.at[s];
      busy += length;
      if (length > most) { most = length; task = jobs.task[segments.job[s]]; }
    };
    if (this.levels.length === 0 || j - i <= 2 * BLOCK) {
      for (; i < j; i++) one(i);
      return { busy, task };
    }
    let a = i - this.from, b = j - this.from;
    while (a < b && a % BLOCK) one(this.from + a++);
    while (b > a && b % BLOCK && b !== this.to - this.from) one(this.from + --b);
    a /= BLOCK; b = Math.ceil(b / BLOCK);
    for (let level = 0; a < b; level++) {
      const at = this.levels[Math.min(level, this.levels.length - 1)];
      const take = (k) => {
        busy += at.busy[k];
        if (at.most[k] > most) { most = at.most[k]; task = at.task[k]; }
      };
      if (level >= this.levels.length - 1) { for (; a < b; a++) take(a); break; }
      if (a % 2) take(a++);
      if (b > a && b % 2) take(--b);
      a /= 2; b /= 2;
    }
    return { busy, task };
  }
}

/** Adds to a decoded trace what drawing and telling needs. */
function prepare(trace, names, cpuCount, over) {
  const { jobs, segments, marks } = trace;
  trace.over = over;
  while (trace.cpus.length < cpuCount) trace.cpus.push({ from: segments.count, to: segments.count });
  trace.cpuLanes = trace.cpus.map(({ from, to }) => new Lane(trace, from, to, null));
  const tasks = names.length;
  const inTime = byStart(trace);
  const byTask = groupBy(segments.count, tasks, (i) => jobs.task[segments.job[inTime[i]]]);
  for (let i = 0; i < segments.count; i++) byTask.order[i] = inTime[byTask.order[i]];
  trace.taskLanes = names.map((_, t) => {
    const [from, to] = [byTask.from[t], byTask.from[t + 1]];
    return new Lane(trace, from, to, byTask.order);
  });
  trace.jobsOf = groupBy(jobs.count, tasks, (i) => jobs.task[i]);
  const isMiss = (i) => jobs.deadline.at[i] < Infinity && (jobs.how[i] === COMPLETED ? later(jobs.end, jobs.deadline, i)
    : jobs.how[i] === ABORTED || (jobs.how[i] === PENDING && jobs.deadline.at[i] <= over));
  trace.missed = new Uint8Array(jobs.count);
  const missed = [];
  for (let i = 0; i < jobs.count; i++) if (isMiss(i)) { trace.missed[i] = 1; missed.push(i); }
  missed.sort((a, b) => jobs.deadline.at[a] - jobs.deadline.at[b] || a - b);
  trace.misses = Uint32Array.from(missed);
  trace.missesOf = groupBy(missed.length, tasks, (i) => jobs.task[missed[i]]);
  trace.missesOf.order = trace.missesOf.order.map((i) => missed[i]);
  // A job is looked for from a point of time: the longest life says how far back to look.
  trace.longest = new Float64Array(tasks);
  for (let i = 0; i < jobs.count; i++) {
    const life = Math.min(Math.max(jobs.end.at[i], jobs.deadline.at[i] < Infinity ? jobs.deadline.at[i] : 0), over) - jobs.arrival.at[i];
    if (life > trace.longest[jobs.task[i]]) trace.longest[jobs.task[i]] = life;
  }
  // Those of CPUs come last.
  trace.marksOf = groupBy(marks.count, tasks + 1, (i) => (marks.task[i] < 0 ? tasks : Math.min(marks.task[i], tasks)));
  trace.levels = levelsOf(trace, over);
  trace.steps = stepsOf(trace, tasks, over);
  trace.offline = trace.cpus.map(() => []);
  const online = kindNamed(marks, "cpu_online"), offline = kindNamed(marks, "cpu_offline");
  for (let k = trace.marksOf.from[tasks]; k < trace.marksOf.from[tasks + 1]; k++) {
    const i = trace.marksOf.order[k], spans = trace.offline[marks.cpu[i]];
    if (!spans) continue;
    const open = spans.length && spans[spans.length - 1][1] === Infinity;
    if (marks.kind[i] === offline && !open) spans.push([marks.at.at[i], Infinity]);
    if (marks.kind[i] === online && open) spans[spans.length - 1][1] = marks.at.at[i];
  }
  return trace;
}

/** The number of a kind of mark in a trace; -1 if none occurs. */
function kindNamed(marks, name) {
  return marks.kinds.findIndex((kind) => kind.name === name);
}

/** The values of the criticality indicator of each CPU, as { from, to, level, mark } in the order of time, with
 *  the mark that began each; nothing if no indicator ever changed. An indicator begins at the lowest level. */
function levelsOf({ marks, cpus }, over) {
  const indicator = kindNamed(marks, "indicator");
  if (indicator < 0) return null;
  const levels = cpus.map(() => [{ from: 0, to: over, level: 0, mark: -1 }]);
  for (let i = 0; i < marks.count; i++) {
    const spans = marks.kind[i] === indicator ? levels[marks.cpu[i]] : undefined;
    if (!spans) continue;
    const last = spans[spans.length - 1], at = marks.at.at[i], level = marks.level[i];
    if (last.level === level) continue;
    last.to = at;
    spans.push({ from: at, to: over, level, mark: i });
  }
  return levels;
}

function later(a, b, i) {
  return a.at[i] > b.at[i] || (a.rest !== null && a.exact(i) > b.exact(i));
}

/** The position of a segment in the lane of its task. */
function inTaskLane(trace, s) {
  const lane = trace.taskLanes[trace.jobs.task[trace.segments.job[s]]];
  let i = firstAfter(trace.segments.start.at, trace.segments.start.at[s], lane.from, lane.to, lane.order) - 1;
  while (i > lane.from && lane.order[i] !== s) i--;
  return i;
}

/** The CPU of a segment. */
function cpuOf(trace, s) {
  let low = 0, high = trace.cpus.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (s < trace.cpus[middle].to) high = middle; else low = middle + 1;
  }
  return low;
}

/** The segments of a job, in the order of time. */
function segmentsOf(trace, job) {
  const lane = trace.taskLanes[trace.jobs.task[job]], found = [];
  const start = trace.segments.start.at;
  let i = firstAfter(start, trace.jobs.arrival.at[job] - 1, lane.from, lane.to, lane.order);
  const until = Math.min(trace.jobs.end.at[job], trace.over);
  for (; i < lane.to && start[lane.order[i]] <= until; i++) {
    if (trace.segments.job[lane.order[i]] === job) found.push(lane.order[i]);
  }
  return found;
}

/** Why the job of a task does not go on by itself after some time: what the last mark until then says; nothing if it could. */
function haltAt(trace, task, at) {
  const { marks } = trace, { from, order } = trace.marksOf;
  const k = firstAfter(marks.at.at, at, from[task], from[task + 1], order) - 1;
  const name = k < from[task] ? "" : marks.kinds[marks.kind[order[k]]].name;
  return { suspended: "suspended", requested: "waiting for a lock" }[name] ?? null;
}
