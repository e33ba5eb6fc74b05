// The playground in a headless Firefox, over WebDriver BiDi: it starts, answers as the command does, is edited by
// keyboard and by pointer, and says nothing in the console.
//
//   node firefox.mjs PAGE LAYLAND [SCREENSHOT-PREFIX]
//
// Needs a WebSocket, which Node.js has since 22 (20 with --experimental-websocket).

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [page, layland, pictures] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "layland-firefox-")), folder = mkdtempSync(join(tmpdir(), "layland-play-"));
const browser = spawn(process.env.FIREFOX ?? "firefox-esr", ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank"],
  { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: profile } });
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const address = await new Promise((done, fail) => {
  let said = "";
  browser.stderr.on("data", (data) => { said += data; const found = /WebDriver BiDi listening on (ws:\S+)/.exec(said); if (found) done(found[1]); });
  browser.on("exit", (code) => fail(new Error("the browser ended with " + code + ": " + said.slice(-400))));
  setTimeout(() => fail(new Error("the browser does not answer: " + said.slice(-400))), 60000);
});
const socket = new WebSocket(address + "/session");
await new Promise((done, fail) => { socket.onopen = done; socket.onerror = () => fail(new Error("no connection to the browser")); });
let number = 0;
const waiting = new Map(), errors = [], requests = [];
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.id !== undefined) {
    const { done, fail } = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.type === "error") fail(new Error(message.error + ": " + message.message)); else done(message.result);
  } else if (message.method === "log.entryAdded" && ["error", "warn"].includes(message.params.level)) errors.push(message.params.text);
  else if (message.method === "network.beforeRequestSent") requests.push(message.params.request.url);
};
const send = (method, params) => new Promise((done, fail) => { waiting.set(++number, { done, fail }); socket.send(JSON.stringify({ id: number, method, params })); });

let context;
async function evaluate(expression) {
  const found = await send("script.evaluate", { expression: `(async () => JSON.stringify((${expression})) ?? "null")()`, target: { context }, awaitPromise: true });
  if (found.type === "exception") throw new Error(found.exceptionDetails.text);
  return JSON.parse(found.result.value);
}
async function settled() {
  const began = Date.now();
  while (!(await evaluate("window.laylandPlay !== undefined && laylandPlay.asked > 0 && Number(document.documentElement.dataset.settled) === laylandPlay.asked"))) {
    if (Date.now() - began > 90000) throw new Error("no answer: " + (await evaluate("document.getElementById('status-text').textContent")));
    await pause(40);
  }
}
const keys = (text) => send("input.performActions", { context, actions: [{ type: "key", id: "keys", actions: [...text].flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]) }] });
const wrong = [];
const expect = (holds, what) => { if (!holds) wrong.push(what); };
const counts = { passed: 0, failed: 0 };
async function part(name, test) {
  const before = wrong.length;
  try { await test(); } catch (error) { wrong.push(String(error.stack ?? error)); }
  const ok = wrong.length === before;
  counts[ok ? "passed" : "failed"]++;
  console.log((ok ? "passed: " : "failed: ") + "Firefox, " + name + (ok ? "" : ": " + wrong.slice(before).join("; ").slice(0, 1500)));
}
async function sameBytes() {
  const { text, policies, until } = await evaluate("laylandPlay.history.state"), called = await evaluate("laylandPlay.nameOf(laylandPlay.history.state.text)");
  writeFileSync(join(folder, "set.toml"), text);
  for (const [name, field] of [["sim", "simText"], ["check", "checkText"]]) {
    let theirs;
    const words = [name, called, "--policy", policies.join(","), ...(name === "sim" && until ? ["--until", until] : []), "--json"];
    try { theirs = execFileSync(layland, words, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] }).toString(); } catch (error) { theirs = error.stdout.toString(); }
    expect((await evaluate("laylandPlay." + field)) === theirs, name + " differs from the command");
  }
}

try {
  await send("session.new", { capabilities: {} });
  await send("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent"] });
  ({ context } = (await send("browsingContext.getTree", {})).contexts[0]);
  await send("browsingContext.setViewport", { context, viewport: { width: 1280, height: 900 } });
  await send("browsingContext.navigate", { context, url: pathToFileURL(resolve(page)).href, wait: "complete" });
  await part("the start", async () => {
    await settled();
    expect((await evaluate("document.querySelectorAll('#panels .panel').length")) === 2, "there are not two schedules");
    await sameBytes();
  });
  await part("every guided example", async () => {
    for (const { id, steps } of await evaluate("laylandPlay.lessons.map(({ id, steps }) => ({ id, steps: steps.length }))")) {
      await evaluate(`document.querySelector("[data-lesson=${id}]").click()`);
      for (let at = 1; at <= steps; at++) {
        await settled();
        expect((await evaluate("laylandPlay.editor.problems.length")) === 0, id + " has problems");
        if (at < steps) await evaluate("document.getElementById('lesson-next').click()");
      }
      await sameBytes();
    }
    await evaluate("document.getElementById('lesson-close').click()");
  });
  await part("keyboard and pointer", async () => {
    await evaluate(`laylandPlay.replace({ text: laylandPlay.demos.find((one) => one.name === "dhall").text, policies: ["g-edf"], until: "" }, "a test")`);
    await settled();
    await evaluate("document.querySelector(\"input[data-row='2'][data-key=wcet]\").focus()");
    await keys("\uE015");
    await settled();
    expect((await evaluate("laylandPlay.history.state.text")).includes('wcet = "9ms"'), "a step down does not arrive");
    expect((await evaluate("laylandPlay.sim.results[0].summary.total.missed")) === 0, "nothing is recomputed");
    const at = await evaluate(`(() => { const panel = laylandReport.panels[0]; panel.canvas.scrollIntoView({ block: "center" });
      const lane = panel.lanes.find((one) => one.kind === "task" && one.index === 2), box = panel.canvas.getBoundingClientRect();
      return { x: Math.round(box.left + panel.x(11e6)), y: Math.round(box.top + 24 + lane.y + lane.height / 2), ms: panel.x(1e6) - panel.x(0) }; })()`);
    await send("input.performActions", { context, actions: [{ type: "pointer", id: "mouse", actions: [
      { type: "pointerMove", x: at.x, y: at.y }, { type: "pointerDown", button: 0 }, { type: "pointerMove", x: Math.round(at.x + at.ms), y: at.y, duration: 200 },
      { type: "pointerMove", x: Math.round(at.x + 2 * at.ms), y: at.y, duration: 200 }, { type: "pointerUp", button: 0 }] }] });
    await settled();
    const [, wcet] = /name = "heavy"[^]*?wcet = "([\d.]+)ms"/.exec(await evaluate("laylandPlay.history.state.text"));
    expect(Math.abs(wcet - 11) <= 0.2, "dragging a bar by 2 ms makes " + wcet);
    await sameBytes();
    if (pictures) writeFileSync(pictures + "firefox.png", Buffer.from((await send("browsingContext.captureScreenshot", { context })).data, "base64"));
  });
  expect(errors.length === 0, "there are errors: " + errors.join("; "));
  const network = requests.filter((url) => /^https?:/.test(url));
  expect(network.length === 0, "there are network requests: " + network.join(" "));
} catch (error) { wrong.push(String(error.stack ?? error)); }
console.log(`Firefox: ${counts.passed} passed, ${counts.failed} failed` + (wrong.length ? ": " + wrong.join("; ").slice(0, 1500) : ""));
browser.removeAllListeners("exit");
await Promise.race([send("browser.close", {}).catch(() => {}), pause(3000)]);
browser.kill("SIGKILL");
[profile, folder].forEach((one) => rmSync(one, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
process.exit(wrong.length ? 1 : 0);
