// A headless Chromium and what a reader does with it. It speaks the DevTools protocol over a pipe, so
// that it needs Node.js (18 or newer) and Chromium and nothing else.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const chromium = process.env.CHROMIUM ?? "chromium";
const profile = mkdtempSync(join(tmpdir(), "layland-report-"));
const browser = spawn(chromium, ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
  "--remote-debugging-pipe", "--user-data-dir=" + profile, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
let finished = false;
browser.on("exit", (code) => { if (!finished) { console.error("the browser ended with " + code); process.exit(1); } });

// The protocol: messages end with a zero byte.
let number = 0, rest = "";
const waiting = new Map(), listeners = new Map();
browser.stdio[4].on("data", (data) => {
  rest += data;
  const parts = rest.split("\0");
  rest = parts.pop();
  for (const part of parts) {
    const message = JSON.parse(part);
    if (message.id) {
      const { done, fail } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) fail(new Error(message.error.message)); else done(message.result);
    } else listeners.get(message.method)?.(message.params);
  }
});
let session;
export const send = (method, params = {}) => new Promise((done, fail) => {
  waiting.set(++number, { done, fail });
  browser.stdio[3].write(JSON.stringify({ id: number, method, params, sessionId: session }) + "\0");
});
export const evaluate = async (expression) => {
  const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
};
export const frame = () => evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
export const key = async (name) => {
  await send("Input.dispatchKeyEvent", { type: "keyDown", key: name, text: name.length === 1 ? name : undefined });
  await send("Input.dispatchKeyEvent", { type: "keyUp", key: name });
  await frame();
};
export const mouse = (type, x, y, more = {}) => send("Input.dispatchMouseEvent", { type, x, y, ...more });
/** A picture of what is visible, if pictures are wanted. */
export const picture = async (prefix, name) => {
  if (!prefix) return;
  const { data } = await send("Page.captureScreenshot", { format: "png" });
  writeFileSync(prefix + name + ".png", Buffer.from(data, "base64"));
};
export const screen = (width, height, phone = false) => send("Emulation.setDeviceMetricsOverride",
  { width, height, deviceScaleFactor: phone ? 2 : 1, mobile: phone });
export const print = async (prefix, name) => {
  const { data } = await send("Page.printToPDF", { printBackground: true, paperWidth: 11.7, paperHeight: 8.3 });
  if (prefix) writeFileSync(prefix + name + ".pdf", Buffer.from(data, "base64"));
  return Buffer.from(data, "base64").length;
};

const wrong = [], requests = [], errors = [];
export const expect = (holds, what) => { if (!holds) wrong.push(what); };

/** Opens a report from disk and waits until it says that it is ready; returns after how long, in ms. */
export async function open(file) {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  ({ sessionId: session } = await send("Target.attachToTarget", { targetId, flatten: true }));
  listeners.set("Network.requestWillBeSent", ({ request }) => requests.push(request.url));
  listeners.set("Runtime.exceptionThrown", ({ exceptionDetails }) => errors.push(exceptionDetails.exception?.description ?? exceptionDetails.text));
  listeners.set("Runtime.consoleAPICalled", ({ type, args }) => { if (type === "error" || type === "warning") errors.push(args.map((a) => a.value).join(" ")); });
  listeners.set("Log.entryAdded", ({ entry }) => { if (entry.level === "error") errors.push(entry.text); });
  listeners.set("Page.javascriptDialogOpening", () => errors.push("a dialog opened: something in the data was run"));
  await Promise.all(["Page", "Runtime", "Log", "Network"].map((domain) => send(domain + ".enable")));
  await send("Emulation.setDeviceMetricsOverride", { width: 1280, height: 900, deviceScaleFactor: 1, mobile: false });
  await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "light" }] });

  await send("Page.addScriptToEvaluateOnNewDocument", { source: `window.laylandViolations = [];
    document.addEventListener("securitypolicyviolation", (event) => laylandViolations.push(event.effectiveDirective + " " + event.sample));` });
  const began = Date.now();
  await send("Page.navigate", { url: pathToFileURL(resolve(file)).href });
  const patience = Number(process.env.PATIENCE ?? 120000);
  while ((await evaluate("document.documentElement.dataset.ready").catch(() => null)) !== "yes") {
    if (Date.now() - began > patience) throw new Error("the page is not ready: " + (await evaluate("document.getElementById('loading')?.textContent")) + errors.join());
    await new Promise((done) => setTimeout(done, 50));
  }
  return Date.now() - began;
}

/** What a foreign script, handler, style, base or form would do: nothing, by the policy of the page. Each is tried, and
    the page says of each that it was refused. */
async function intrude() {
  const seen = await evaluate(`(async () => {
    const refused = [], body = document.body, before = body.offsetHeight;
    document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
    const add = (tag, attributes, text = "") => {
      const node = document.createElement(tag);
      for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
      node.textContent = text;
      return body.appendChild(node);
    };
    add("script", {}, "window.laylandInjected = 1");
    add("div", { onclick: "window.laylandInjected = 2" }).click();
    add("style", {}, "body { display: none }");
    body.setAttribute("style", "display: none");
    add("base", { href: "https://example.invalid/" });
    add("form", { action: "https://example.invalid/" }).submit();
    // What was refused is told later, and that of the form by another process.
    for (let round = 0; round < 200 && new Set(refused).size < 6; round += 1) await new Promise((done) => setTimeout(done, 25));
    return { refused, injected: window.laylandInjected, hidden: getComputedStyle(body).display === "none",
      base: document.baseURI === location.href, here: location.protocol }; })()`);
  expect(seen.injected === undefined && !seen.hidden && seen.base && seen.here === "file:", "something foreign had an effect: " + JSON.stringify(seen));
  for (const directive of ["script-src-elem", "script-src-attr", "style-src-elem", "style-src-attr", "base-uri", "form-action"]) {
    expect(seen.refused.includes(directive), "not refused: " + directive + ", but " + seen.refused);
  }
}

/** Runs a test to its end: prints what it measured as one line of JSON, and exits with 1 if something is wrong. */
export async function run(test) {
  let measured = {};
  try {
    measured = await test();
    expect((await evaluate("window.laylandInjected === undefined")), "something in the data was run");
    const network = requests.filter((url) => !["file:", "data:", "about:", "blob:"].some((known) => url.startsWith(known)));
    expect(network.length === 0, "there are network requests: " + network.join(" "));
    expect(requests.filter((url) => url.startsWith("file:")).length === 1, "more than the report was read: " + requests.map((u) => u.slice(0, 80)).join(" "));
    expect(errors.length === 0, "there are errors: " + errors.join("; "));
    expect((await evaluate("window.laylandViolations")).length === 0, "the page breaks its own policy: " + (await evaluate("window.laylandViolations.join()")));
    await intrude();
  } catch (error) {
    wrong.push(String(error.stack));
  }
  console.log(JSON.stringify({ ok: wrong.length === 0, wrong, ...measured }));
  finished = true;
  await send("Browser.close").catch(() => {});
  await Promise.race([new Promise((done) => browser.on("exit", done)), new Promise((done) => setTimeout(done, 3000))]);
  browser.kill("SIGKILL");
  rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
  process.exit(wrong.length === 0 ? 0 : 1);
}
