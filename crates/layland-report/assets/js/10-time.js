// Times: exact nanoseconds as text, and columns of times.
//
// A time is a number of nanoseconds after the base of its trace. What is drawn are floating-point
// numbers; what is written are integers of any length, so that every digit is right up to 2^63 ns.

/** Nanoseconds (BigInt) in the largest unit that keeps them exact with at most three decimals. */
function timeText(ns) {
  ns = BigInt(ns);
  const sign = ns < 0n ? "-" : "";
  const length = ns < 0n ? -ns : ns;
  for (const [unit, scale, step] of [["s", 1000000000n, 1000000n], ["ms", 1000000n, 1000n], ["µs", 1000n, 1n]]) {
    if (length >= scale && length % step === 0n) {
      const part = String((length % scale) / step).padStart(3, "0").replace(/0+$/, "");
      return sign + length / scale + (part ? "." + part : "") + " " + unit;
    }
  }
  return length === 0n ? "0" : sign + length + " ns";
}

/** About: for figures, three digits. */
function about(ns) {
  const length = Math.abs(ns);
  for (const [unit, scale] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (length >= scale) return +(ns / scale).toPrecision(3) + " " + unit;
  }
  return +ns.toPrecision(3) + " ns";
}

/** A column of times. In a wide trace `rest` has what the floating-point numbers lose. */
class Times {
  constructor(count, wide) {
    this.at = new Float64Array(count);
    this.rest = wide ? new Int16Array(count) : null;
  }
  /** Stores a BigInt. */
  put(index, value) {
    const near = Number(value);
    this.at[index] = near;
    this.rest[index] = Number(value - BigInt(near));
  }
  /** The exact value, a BigInt. */
  exact(index) {
    const near = BigInt(this.at[index]);
    return this.rest ? near + BigInt(this.rest[index]) : near;
  }
}

/** The first index of a sorted array (through `order`, if given) in [from, to) whose value is > x. */
function firstAfter(values, x, from, to, order) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[order ? order[middle] : middle] > x) to = middle; else from = middle + 1;
  }
  return from;
}
