// The core in a worker: takes the compiled module once, then a question at a time, as text in and text out.

"use strict";
let core = null;
const waiting = [], encoder = new TextEncoder(), decoder = new TextDecoder();

/** A text of the core: its length in four bytes, then UTF-8. */
function textAt(place) {
  const size = new DataView(core.memory.buffer).getUint32(place, true);
  return { text: decoder.decode(new Uint8Array(core.memory.buffer, place + 4, size)), size: size + 4 };
}

function answer({ id, input }) {
  try {
    const bytes = encoder.encode(input), place = core.alloc(bytes.length);
    new Uint8Array(core.memory.buffer, place, bytes.length).set(bytes);
    // The core takes the question, and gives an answer that is freed here.
    const found = core.answer(place, bytes.length), { text, size } = textAt(found);
    core.free(found, size);
    postMessage({ id, output: text });
  } catch (error) {
    let reason = 0;
    try { reason = core.panicked(); } catch { /* it is past telling */ }
    postMessage({ id, error: reason ? textAt(reason).text : "its memory is used up, or it failed: " + error.message });
  }
}

onmessage = async ({ data }) => {
  if (data.module) {
    core = (await WebAssembly.instantiate(data.module, {})).exports;
    waiting.splice(0).forEach(answer);
  } else if (core) answer(data);
  else waiting.push(data);
};
