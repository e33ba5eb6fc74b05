// From the text in the page to columns: base64, inflate, variable-length integers.
//
// The layout is described where it is written (encode.rs).

async function inflate(base64) {
  const text = atob(base64.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < packed.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads a column of integers below 2^52. */
class Reader {
  constructor(bytes, from) { this.bytes = bytes; this.position = from; }
  next() {
    const bytes = this.bytes;
    let byte = bytes[this.position++];
    if (byte < 128) return byte;
    let value = byte & 127, shift = 7;
    do {
      byte = bytes[this.position++];
      value = shift < 28 ? value | ((byte & 127) << shift) : value + (byte & 127) * 2 ** shift;
      shift += 7;
    } while (byte >= 128);
    return value;
  }
  signed() {
    const value = this.next();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}

/** The same with integers of any length. */
class WideReader {
  constructor(bytes, from) { this.bytes = bytes; this.position = from; }
  next() {
    let value = 0n, shift = 0n, byte;
    do {
      byte = this.bytes[this.position++];
      value |= BigInt(byte & 127) << shift;
      shift += 7n;
    } while (byte >= 128);
    return value;
  }
  signed() {
    const value = this.next();
    return value & 1n ? -((value + 1n) >> 1n) : value >> 1n;
  }
}

const PENDING = 0, COMPLETED = 1, ABORTED = 2, LEFT = 3, UNKNOWN = 4;

/** Decodes one trace. `wait` lets the page breathe between two steps. */
async function decode(layout, base64, names, wait) {
  const bytes = await inflate(base64);
  await wait();
  const readers = {}, wide = layout.wide;
  let from = 0;
  COLUMNS.forEach((name, index) => {
    const isTime = !["task", "how", "on_cpu", "job", "kind", "of_task", "of_cpu", "level", "sign"].includes(name);
    readers[name] = wide && isTime ? new WideReader(bytes, from) : new Reader(bytes, from);
    from += layout.columns[index];
  });
  const one = wide ? 1n : 1, zero = wide ? 0n : 0;
  const set = wide ? (times, i, value) => times.put(i, value) : (times, i, value) => { times.at[i] = value; };
  const times = (count) => new Times(count, wide);
  const shared = { base: BigInt(layout.base), wide };
  const J = layout.jobs, S = layout.segments, M = layout.marks;

  const jobs = { count: J, task: new Uint32Array(J), seq: times(J), arrival: times(J), release: times(J),
    deadline: times(J), end: times(J), how: new Uint8Array(J), executed: times(J) };
  const numbers = new Array(names.length);
  let arrival = zero;
  for (let i = 0; i < J; i++) {
    arrival += readers.arrival.next();
    set(jobs.arrival, i, arrival);
    const task = jobs.task[i] = readers.task.next();
    const seq = (numbers[task] ?? -one) + one + readers.seq.signed();
    numbers[task] = seq;
    set(jobs.seq, i, seq);
    set(jobs.release, i, arrival + readers.release.signed());
    const due = readers.deadline.next();
    if (due === zero) {
      jobs.deadline.at[i] = Infinity;
    } else {
      const folded = due - one;
      const after = wide ? (folded & 1n ? -((folded + 1n) >> 1n) : folded >> 1n)
        : folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
      set(jobs.deadline, i, arrival + after);
    }
    const how = jobs.how[i] = readers.how.next();
    if (how === PENDING || how === UNKNOWN) jobs.end.at[i] = Infinity;
    else set(jobs.end, i, arrival + readers.end.signed());
    set(jobs.executed, i, readers.executed.signed());
    if ((i & 0x3ffff) === 0x3ffff) await wait();
  }
  await wait();

  const segments = { count: S, start: times(S), end: times(S), job: new Uint32Array(S), overhead: times(S) };
  const cpus = [];
  // The column of the CPUs ends where the next begins.
  const lastCpu = startOf(layout, "start");
  for (let at = 0; readers.on_cpu.position < lastCpu; ) {
    const count = readers.on_cpu.next();
    cpus.push({ from: at, to: at + count });
    let end = zero, job = 0;
    for (let i = at; i < at + count; i++) {
      const start = end + readers.start.signed();
      end = start + readers.length.signed();
      job += readers.job.signed();
      set(segments.start, i, start);
      set(segments.end, i, end);
      segments.job[i] = job;
      set(segments.overhead, i, readers.overhead.signed());
      if ((i & 0x3ffff) === 0x3ffff) await wait();
    }
    at += count;
  }
  await wait();

  // A mark without a task or without a CPU has -1 there.
  const marks = { count: M, at: times(M), kind: new Uint8Array(M), task: new Int32Array(M), cpu: new Int32Array(M),
    level: new Uint8Array(M), sign: new Uint32Array(M), kinds: layout.kinds, signs: layout.signs };
  let at = zero;
  for (let i = 0; i < M; i++) {
    at += readers.at.next();
    set(marks.at, i, at);
    marks.kind[i] = readers.kind.next();
    marks.task[i] = readers.of_task.next() - 1;
    marks.cpu[i] = readers.of_cpu.next() - 1;
    marks.level[i] = readers.level.next();
    marks.sign[i] = readers.sign.next();
    if ((i & 0x3ffff) === 0x3ffff) await wait();
  }
  return { ...shared, jobs, segments, marks, cpus };
}

function startOf(layout, column) {
  return layout.columns.slice(0, COLUMNS.indexOf(column)).reduce((sum, length) => sum + length, 0);
}
