// Drives the playground in a headless Chromium, as a person would: every guided example, the set by keyboard and by
// pointer, files, links, stop. The answers have to be the bytes of the command.
//
//   node play.mjs PAGE LAYLAND [AXE] [SCREENSHOT-PREFIX]
//
// AXE is the file axe.min.js of axe-core; without it accessibility is not checked, and that is said.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { evaluate, expect, frame, mouse, open, picture, run, screen, send } from "../../../layland-report/tests/browser/driver.mjs";

const [page, layland, axe, pictures] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "layland-play-"));
const counts = { passed: 0, failed: 0, skipped: 0 };
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** One part of the test: what fails in it is told with its name. ONLY=words runs the parts whose names have them. */
async function part(name, test) {
  if (process.env.ONLY && !name.includes(process.env.ONLY)) return;
  const wrong = [];
  try { await test((holds, what) => { if (!holds) wrong.push(what); }); } catch (error) { wrong.push(String(error.stack ?? error)); }
  wrong.forEach((what) => expect(false, name + ": " + what));
  counts[wrong.length ? "failed" : "passed"]++;
  console.log((wrong.length ? "failed: " : "passed: ") + name + (wrong.length ? ": " + wrong.join("; ").slice(0, 1500) : ""));
}
function skip(name, needs) { counts.skipped++; console.log(name + ": skipped: needs " + needs); }

/** Waits until the page shows what was asked last, run and guarantees. */
async function settled(patience = 60000) {
  const began = Date.now();
  while (!(await evaluate("Number(document.documentElement.dataset.settled) === laylandPlay.asked"))) {
    if (Date.now() - began > patience) throw new Error("no answer after " + patience + " ms: " + (await evaluate("document.getElementById('status-text').textContent")));
    await pause(20);
  }
  await frame();
}
async function until(expression, what, patience = 20000) {
  const began = Date.now();
  while (!(await evaluate(expression))) {
    if (Date.now() - began > patience) throw new Error(what);
    await pause(20);
  }
}
const text = () => evaluate("laylandPlay.history.state.text");
const state = () => evaluate("laylandPlay.history.state");
const word = (selector) => evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`);
const click = (selector) => evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
const CODES = { Enter: 13, Tab: 9, Escape: 27, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39, Backspace: 8, " ": 32, End: 35, Home: 36 };
/** Presses a key; modifiers: 1 alt, 2 ctrl, 8 shift. */
async function press(key, modifiers = 0) {
  const named = { key, modifiers, windowsVirtualKeyCode: CODES[key] ?? (/[a-z0-9]/i.test(key) ? key.toUpperCase().charCodeAt(0) : 0), code: key.length === 1 && /[a-z]/i.test(key) ? "Key" + key.toUpperCase() : key === " " ? "Space" : key };
  const typed = key === "Enter" ? "\r" : key.length === 1 && !(modifiers & 2) ? key : undefined;
  await send("Input.dispatchKeyEvent", { type: typed ? "keyDown" : "rawKeyDown", ...named, text: typed });
  await send("Input.dispatchKeyEvent", { type: "keyUp", ...named });
}
async function type(what) { for (const key of what) await press(key); }
async function center(selector) {
  return evaluate(`(() => { const node = document.querySelector(${JSON.stringify(selector)}); node.scrollIntoView({ block: "center" }); const box = node.getBoundingClientRect(); return { x: box.left + box.width / 2, y: box.top + box.height / 2 }; })()`);
}
async function drag(from, to, steps = 8) {
  await mouse("mouseMoved", from.x, from.y);
  await mouse("mousePressed", from.x, from.y, { button: "left", clickCount: 1, buttons: 1 });
  for (let k = 1; k <= steps; k++) await mouse("mouseMoved", from.x + ((to.x - from.x) * k) / steps, from.y + ((to.y - from.y) * k) / steps, { button: "left", buttons: 1 });
  await mouse("mouseReleased", to.x, to.y, { button: "left", clickCount: 1 });
}
/** The set, policies and time of the page at once, as after a file or a link. */
async function put(set, policies, time = "") {
  await evaluate(`laylandPlay.replace(${JSON.stringify({ text: set, policies, until: time })}, "a test")`);
  await settled();
}

/** What the command prints for the state of the page. */
function command(name, { text: set, policies, until: time }, called) {
  if (called === "set.toml") writeFileSync(join(folder, "set.toml"), set);
  const words = [name, called, "--policy", policies.join(","), ...(name === "sim" && time ? ["--until", time] : []), "--json"];
  try { return execFileSync(layland, words, { cwd: folder, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] }).toString(); } catch (error) { return error.stdout.toString(); }
}
/** Whether both documents are those of the command, byte for byte. */
async function sameBytes(check) {
  const now = await state(), called = await evaluate("laylandPlay.nameOf(laylandPlay.history.state.text)");
  for (const [name, field] of [["sim", "simText"], ["check", "checkText"]]) {
    const [ours, theirs] = [await evaluate("laylandPlay." + field), command(name, now, called)];
    let at = 0;
    while (at < theirs.length && ours?.[at] === theirs[at]) at++;
    check(ours === theirs, `${name} of ${called} under ${now.policies} differs from the command at byte ${at}: ${JSON.stringify(ours?.slice(at - 60, at + 60))} and not ${JSON.stringify(theirs.slice(at - 60, at + 60))}`);
  }
}

/** What is wrong with the facts of a step, by the answers that the page shows. */
async function wrongFacts(facts) {
  return evaluate(`(() => {
    const { sim, check } = laylandPlay, scale = { us: 1e3, ms: 1e6, s: 1e9 }, wrong = [];
    for (const fact of ${JSON.stringify(facts)}) {
      const [policy, what, ...rest] = fact, value = rest.pop(), task = rest[0];
      const run = sim.results.find((one) => one.policy === policy), found = check.policies.find((one) => one.policy === policy);
      const row = task === undefined ? run?.summary?.total : run?.summary?.tasks.find((one) => one.name === task);
      const time = typeof value === "string" && /^[\\d.]+(us|ms|s)$/.test(value) ? parseFloat(value) * scale[value.replace(/[\\d.]+/, "")] : value;
      const witness = found?.witness ?? {};
      const said = document.getElementById("lines").textContent + document.getElementById("verdicts").textContent;
      const lane = () => { const { trace } = laylandReport.panels.find((one) => one.name === policy); return trace.taskLanes[laylandReport.names.indexOf(task)]; };
      const is = { says: () => (said.includes(value) ? value : said), starts: () => lane().trace.segments.start.at[lane().at(lane().from)], job: () => witness.job + 1, arrives: () => witness.arrival_ns, due: () => witness.deadline_ns, ends: () => witness.end_ns, load: () => Math.round((100 * sim.set.utilization) / sim.set.cpus),
        utilization: () => Math.round(100 * sim.set.utilization), missed: () => row.missed, misses: () => row.missed > 0, late: () => row.max_tardiness_ns, response: () => row.max_response_ns, jobs: () => row.released, verdict: () => found.verdict,
        by: () => found.decided_by, refused: () => run.refused !== undefined, margin: () => found.margin?.wcet_factor }[what]();
      if (is !== time) wrong.push(JSON.stringify(fact) + " is " + is);
    }
    return wrong; })()`);
}

/** The numbers of a text, with a unit, that are neither in the set nor in a fact. */
function unfounded({ text: said, facts, then, act }, set) {
  const known = set + JSON.stringify([facts, then ?? [], act ?? ""]);
  return [...said.join(" ").matchAll(/(?<![\w./-])(\d+(?:\.\d+)?) (ms\b|s\b|%)/g)].filter(([, number, unit]) => {
    const forms = unit === "%" ? [number, String(number / 100)] : [number + unit, number + " " + unit, number * 1000 + "us"];
    return !forms.some((form) => new RegExp("(?<![\\d.])" + form.replace(".", "\\.") + "(?!\\d)").test(known));
  }).map(([number]) => number);
}

async function accessible(check, where) {
  if (!axe || !existsSync(axe)) return;
  if (!(await evaluate("typeof window.axe === 'object'"))) await evaluate(readFileSync(axe, "utf8") + "; 0");
  const found = await evaluate(`axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
    .then(({ violations }) => violations.map(({ id, impact, help, nodes }) => id + " (" + impact + "): " + help + ": " + nodes.slice(0, 4).map((node) => node.target.join(" ") + " " + (node.any[0]?.message ?? "")).join(" | ")))`);
  check(found.length === 0, where + ": " + found.join("; "));
}
const theme = (name) => send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: name }] });

const DEMOS = join(import.meta.dirname, "../../../layland-config/demos");
const demo = (name) => readFileSync(join(DEMOS, name + ".toml"), "utf8");

run(async () => {
  const measured = { ready_ms: await open(page) };
  await settled();
  measured.page_bytes = readFileSync(page).length;
  measured.compile_ms = Math.round(await evaluate("laylandPlay.compiled"));
  measured.first_picture_ms = Math.round(await evaluate("laylandPlay.pictured"));

  await part("what a visitor sees first", async (check) => {
    check((await word("#lines .line.first")).includes("heavy"), "the first line does not say who is late: " + (await word("#lines")));
    check((await evaluate("document.querySelectorAll('#panels .panel').length")) === 2, "there are not two schedules");
    check((await evaluate("document.querySelectorAll('#verdict-rows tr').length")) === 2, "there are not two verdicts");
    check((await evaluate("laylandPlay.schedule.misses.length")) > 0, "no miss is drawn");
    const colours = await evaluate(`(() => { const canvas = document.querySelector("#panels canvas"), seen = new Set();
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
      return seen.size; })()`);
    check(colours > 8, "the chart is blank");
    await sameBytes(check);
  });

  await part("the page finds values where the core does", async (check) => {
    for (const file of readdirSync(DEMOS)) {
      const wrong = await evaluate(`(async () => {
        const text = ${JSON.stringify(demo(file.replace(".toml", "")))}, set = laylandPlay.set.constructor, mine = new set(text), wrong = [];
        const rows = (await laylandPlay.core.ask("inspect", { set: text })).tasks;
        // Those of one [[task]] with a count share their places.
        const tasks = rows.filter((one, k) => k === 0 || one.places.table.from !== rows[k - 1].places.table.from);
        if (tasks.length !== mine.tasks.length) return "other tasks";
        tasks.forEach(({ name, places }, k) => {
          for (const key of ["name", "wcet", "period", "deadline", "offset"]) {
            const [theirs, ours] = [places[key], mine.tasks[k].keys.get(key)];
            if (!theirs !== !ours || (theirs && (theirs.from !== ours.from || theirs.to !== ours.to))) wrong.push(name + " " + key + " " + JSON.stringify(theirs) + " and not " + ours?.from + ".." + ours?.to);
          }
        });
        return wrong.join("; "); })()`);
      check(wrong === "", file + ": " + wrong);
    }
    // Text that is being written, or hostile, has an end.
    for (const odd of ["a = " + "[".repeat(100000), "a = " + "{x=".repeat(50000), '[[task]]\nname = "', "'''", "\u0000=", "[[[[", "= = =", "}{", "x = {,,,}"]) {
      check((await evaluate(`new laylandPlay.set.constructor(${JSON.stringify(odd)}).tokens.length >= 0`)) === true, "odd text: " + odd.slice(0, 20));
    }
  });

  const lessons = await evaluate("laylandPlay.lessons.map(({ id, steps }) => ({ id, steps: steps.map(({ title, facts, then, act, text }) => ({ title, facts, then, act, text })) }))");
  for (const { id, steps } of lessons) {
    await part("guided example " + id, async (check) => {
      await click(`[data-lesson=${id}]`);
      for (const [at, step] of steps.entries()) {
        await settled();
        check((await word("#lesson-title")) === step.title, "step " + (at + 1) + " is not shown");
        check(step.facts.length > 0, "a step says nothing that can be tested: " + step.title);
        for (const wrong of await wrongFacts(step.facts)) check(false, step.title + ": " + wrong);
        for (const number of unfounded(step, (await text()).replace(/#.*/g, ""))) check(false, step.title + ": nothing stands for " + number);
        await sameBytes(check);
        if (["run", "qps"].includes(id)) {
          await until("!document.getElementById('lesson-figure').hidden", "no tree is drawn: " + step.title);
          check((await evaluate("document.querySelectorAll('#lesson-figure rect').length")) > 1, "the tree has no servers: " + step.title);
        }
        if (step.act) {
          const before = await state();
          await click("#lesson-do");
          await settled();
          check(JSON.stringify(before) !== JSON.stringify(await state()), "the button changes nothing: " + step.title);
          for (const wrong of await wrongFacts(step.then)) check(false, step.title + ", after the change: " + wrong);
          check((await evaluate("laylandPlay.editor.problems.length")) === 0, "the change is an error: " + step.title);
          await click("#lesson-again");
          await settled();
          check(JSON.stringify(before) === JSON.stringify(await state()), "starting over does not bring the set back: " + step.title);
        }
        if (at + 1 < steps.length) await click("#lesson-next");
      }
      await frame();
      await picture(pictures, "lesson-" + id);
      await click("#lesson-close");
    });
  }

  await part("every bundled set, as the command", async (check) => {
    for (const file of readdirSync(DEMOS)) {
      const name = file.replace(".toml", "");
      await put(demo(name), name.startsWith("mixed") ? ["p-rm", "amc"] : ["g-edf", "dl", "p-edf"], "200ms");
      check((await evaluate("laylandPlay.editor.problems.length")) === 0, name + " has problems");
      await sameBytes(check);
    }
  });

  const set = "# kept\nlayland = 1 # one\n\n[platform]\ncpus = 2\n\n[[task]]\nname = \"a\"\nperiod = \"10ms\" # ten\nwcet = \"4ms\"\n\n[[task]]\nname = \"b\"\nperiod = \"20ms\"\nwcet = \"5ms\"\n";
  await part("the table by keyboard", async (check) => {
    await put(set, ["g-edf"]);
    const cell = "input[data-row='0'][data-key=wcet]";
    await evaluate(`document.querySelector("${cell}").focus()`);
    await press("ArrowUp");
    await press("ArrowUp");
    await settled();
    check((await text()) === set.replace('"4ms"', '"6ms"'), "two steps up do not make 6ms, or touch more than the value: " + (await text()));
    await press("a", 2);
    await type("7.5ms");
    await settled();
    check((await text()) === set.replace('"4ms"', '"7.5ms"'), "typing does not replace exactly the value: " + (await text()));
    check((await evaluate("document.getElementById('text').value")) === (await text()), "the text is not in step with the table");
    await press("ArrowDown");
    check((await text()).includes('"7.4ms"'), "a step is not one in the last digit");
    await evaluate("document.querySelector(\"input[data-row='0'][data-key=deadline]\").focus()");
    await type("9ms");
    await settled();
    check((await text()).includes('wcet = "7.4ms"\ndeadline = "9ms"'), "a deadline is not put behind the last key: " + (await text()));
    await press("a", 2);
    await press("Backspace");
    await settled();
    check(!(await text()).includes("deadline"), "an empty deadline stays in the text");
    for (let k = 0; k < 12 && (await text()) !== set; k++) { await press("z", 2); }
    await settled();
    check((await text()) === set, "undo does not lead back: " + (await text()));
    await press("z", 10);
    check((await text()) !== set, "redo does nothing");
    await put(set, ["g-edf"]);
    await click("#add");
    await settled();
    check((await text()).startsWith(set.trimEnd()) && (await text()).includes('name = "task-3"'), "a task is not added at the end: " + (await text()));
    await click("button[data-drop='2']");
    await settled();
    check((await text()).trim() === set.trim(), "removing the task does not lead back: " + (await text()));
    await evaluate("document.getElementById('cpus').focus()");
    await press("ArrowUp");
    await settled();
    check((await text()) === set.replace("cpus = 2", "cpus = 3"), "the number of CPUs is not changed in its place");
    await sameBytes(check);
  });

  await part("numbers and bars by pointer", async (check) => {
    await put(set, ["g-edf"], "40ms");
    const cell = await center("input[data-row='0'][data-key=wcet]");
    await drag(cell, { x: cell.x + 16, y: cell.y });
    await settled();
    check((await text()) === set.replace('"4ms"', '"7ms"'), "dragging a number by 16 pixels is not three steps: " + (await text()));
    await click("#undo");
    check((await text()) === set, "a drag is not one step back: " + (await text()));
    await settled();
    // The end of the first bar of `a`, in its lane.
    const spot = (key, shift) => evaluate(`(() => { const app = laylandReport, panel = app.panels[0], { trace } = panel;
      panel.canvas.scrollIntoView({ block: "center" });
      const lane = panel.lanes.find((one) => one.kind === "task" && one.index === 0), box = panel.canvas.getBoundingClientRect();
      const job = trace.jobsOf.order[trace.jobsOf.from[0] + ${key === "period" ? 1 : 0}];
      const at = ${JSON.stringify(key)} === "wcet" ? trace.jobs.end.at[job] : ${JSON.stringify(key)} === "deadline" ? trace.jobs.deadline.at[job] : trace.jobs.arrival.at[job];
      return { x: box.left + panel.x(at) + ${shift}, y: box.top + 24 + lane.y + lane.height / 2 - panel.scroller.scrollTop, ms: panel.x(1e6) - panel.x(0) }; })()`);
    let at = await spot("wcet", 0);
    await mouse("mouseMoved", at.x + 1, at.y);
    await mouse("mouseMoved", at.x, at.y);
    await frame();
    check((await word("#hint")).startsWith("WCET of a"), "pointing at the end of a bar does not say what a drag does: " + (await word("#hint")));
    await picture(pictures, "grip");
    const asked = await evaluate("laylandPlay.asked");
    await drag(at, { x: at.x + 3 * at.ms, y: at.y }, 12);
    await settled();
    check((await text()) === set.replace('"4ms"', '"7ms"'), "dragging a bar by 3 ms does not change its WCET to 7ms: " + (await text()));
    check((await evaluate("laylandPlay.asked")) - asked > 3, "nothing is recomputed while one drags");
    check((await evaluate("laylandPlay.sim.results[0].summary.tasks[0].max_response_ns")) === 7e6, "the answer is not that of the dragged set");
    await click("#undo");
    check((await text()) === set, "a drag of a bar is not one step back");
    await settled();
    at = await spot("deadline", -1.5);
    await drag(at, { x: at.x - 2 * at.ms, y: at.y });
    await settled();
    check((await text()).includes('deadline = "8ms"'), "dragging the arrow down does not set a deadline of 8ms: " + (await text()));
    await click("#undo");
    await settled();
    at = await spot("period", 2);
    await drag(at, { x: at.x + 2 * at.ms, y: at.y });
    await settled();
    check((await text()).includes('period = "12ms" # ten'), "dragging the second arrow up does not set a period of 12ms: " + (await text()));
    await click("#undo");
    await settled();
    at = await spot("offset", 1);
    await drag(at, { x: at.x + 2 * at.ms, y: at.y });
    await settled();
    check((await text()).includes('offset = "2ms"'), "dragging the first arrow up does not set an offset of 2ms: " + (await text()));
    // Escape gives a drag up.
    await put(set, ["g-edf"], "40ms");
    at = await spot("wcet", 0);
    await mouse("mouseMoved", at.x, at.y);
    await mouse("mousePressed", at.x, at.y, { button: "left", clickCount: 1, buttons: 1 });
    await mouse("mouseMoved", at.x + 2 * at.ms, at.y, { button: "left", buttons: 1 });
    await press("Escape");
    await mouse("mouseReleased", at.x + 2 * at.ms, at.y, { button: "left", clickCount: 1 });
    await settled();
    check((await text()) === set, "Escape does not give a drag up: " + (await text()));
    // Elsewhere the chart pans, as in a report.
    const view = await evaluate("({ ...laylandReport.view })");
    const free = await evaluate(`(() => { const panel = laylandReport.panels[0], box = panel.canvas.getBoundingClientRect();
      for (let x = panel.left + 60; x < panel.width - 10; x += 7) if (!laylandReport.gripAt(panel, x, 40, 12)) return { x: box.left + x, y: box.top + 40 }; })()`);
    await evaluate("laylandReport.zoom(0.5)");
    await drag(free, { x: free.x - 50, y: free.y });
    check((await evaluate("laylandReport.view.from")) !== view.from && (await text()) === set, "dragging elsewhere does not pan");
  });

  await part("the text by keyboard", async (check) => {
    await put(set, ["g-edf"]);
    await evaluate(`(() => { const field = document.getElementById("text"); field.focus(); const at = field.value.indexOf('"4ms"') + 2; field.setSelectionRange(at, at); })()`);
    await press("Backspace");
    await type("3");
    await settled();
    check((await text()).includes('wcet = "3ms"') || (await text()).includes('"34ms"') === false, "typing does not arrive");
    await put(set, ["g-edf"]);
    await evaluate(`(() => { const field = document.getElementById("text"); field.focus(); const at = field.value.indexOf('period = "20ms"'); field.setSelectionRange(at, at + 6); })()`);
    await type("perod");
    await settled();
    const problems = await evaluate("laylandPlay.editor.problems");
    check(problems.length > 0 && (await text()).slice(problems[0].from, problems[0].to) === "perod", "an unknown key is not underlined at its place: " + JSON.stringify(problems));
    check((await word("#problems")).includes("Line 14, column 1") && /period/.test(await word("#problems")), "the message does not say where and what to do: " + (await word("#problems")));
    check((await word("#paint .wrong")) === "perod", "nothing is underlined");
    check(await evaluate("document.body.classList.contains('stale')"), "an old schedule looks like an answer");
    const banner = await word("#lines");
    check(banner.includes("line 14") && /perod/.test(banner) && !/[✓✗]/.test(banner), "an old verdict looks like an answer: " + banner);
    check((await evaluate("document.querySelectorAll('#lines .good, #lines .bad').length")) === 0, "the banner has the colour of a verdict");
    await picture(pictures, "wrong");
    await press("z", 2);
    await settled();
    check((await evaluate("laylandPlay.editor.problems.length")) === 0, "the problem stays after undo: " + (await word("#problems")));
    // Completion: a key and a value from the schema.
    await put(set, ["g-edf"]);
    await evaluate(`(() => { const field = document.getElementById("text"); field.focus(); field.setSelectionRange(field.value.length, field.value.length); })()`);
    await type("rele");
    check((await word(".offers[id=text-offers] li[aria-selected=true] b")) === "release", "no key is offered: " + (await word("#text-offers")));
    await picture(pictures, "completion");
    await press("Enter");
    check((await text()).endsWith("release = "), "the key is not put in: " + (await text()).slice(-40));
    await type('"ho');
    await press("Tab");
    await settled();
    check((await text()).endsWith('release = "hog"'), "the value is not completed: " + (await text()).slice(-40));
    check((await evaluate("laylandPlay.editor.problems.length")) === 0, "what was completed is wrong");
    await sameBytes(check);
  });

  await part("policies by keyboard", async (check) => {
    await put(set, ["g-edf"]);
    await evaluate("document.getElementById('policy').focus()");
    await type("p-e");
    check((await word("#policy-offers li b")) === "p-edf", "p-edf is not offered first: " + (await word("#policy-offers")));
    await press("Enter");
    await settled();
    check((await state()).policies.join() === "g-edf,p-edf", "the policy is not added: " + (await state()).policies);
    await type("p-edf:fit=wfd");
    await press("Enter");
    await settled();
    check((await state()).policies.join() === "g-edf,p-edf,p-edf:fit=wfd", "a policy with an option is not added");
    await sameBytes(check);
    await type("no-such");
    await press("Enter");
    await settled();
    check(/no-such/.test(await word("#policy-note")), "an unknown policy is not told: " + (await word("#policy-note")));
    check((await state()).policies.join() === "g-edf,p-edf,p-edf:fit=wfd", "an unknown policy is added: " + (await state()).policies);
    await evaluate("document.getElementById('policy').value = ''");
    await click("#chosen .drop");
    await settled();
    check((await state()).policies.join() === "p-edf,p-edf:fit=wfd", "a policy is not removed");
    await click("#chosen .name");
    check((await evaluate("document.getElementById('policy').value")) === "p-edf", "a policy cannot be changed");
    await evaluate("document.getElementById('policy').value = ''; document.getElementById('policy').blur()");
  });

  await part("a policy that refuses, and one that is late", async (check) => {
    await put(demo("three-tasks"), ["p-edf:fit=ffd", "g-edf"]);
    check(/refused/.test(await word("#verdict-rows tr:first-child")) && /failed to place/.test(await word("#verdict-rows tr:first-child .why")), "a refusal is not told: " + (await word("#verdict-rows tr:first-child")));
    check(/miss/.test(await word("#verdict-rows tr:last-child")), "the other one is hidden");
  });

  await part("files in", async (check) => {
    const give = async (name, content) => {
      const file = join(folder, name);
      writeFileSync(file, content);
      const { root } = await send("DOM.getDocument");
      const { nodeId } = await send("DOM.querySelector", { nodeId: root.nodeId, selector: "#picker" });
      await send("DOM.setFileInputFiles", { nodeId, files: [file] });
    };
    await put(set, ["g-edf"]);
    await give("mine.csv", "name,wcet,period\na,2ms,10ms\nb,3ms,20ms\n");
    await until("laylandPlay.history.state.text.includes('[[task]]') && laylandPlay.set.tasks.length === 2 && laylandPlay.history.state.text.includes('3ms')", "a table is not read: " + (await word("#status-text")));
    await settled();
    check((await evaluate("laylandPlay.editor.problems.length")) === 0, "a table becomes a wrong set: " + (await word("#problems")) + (await text()));
    check((await evaluate("laylandPlay.set.cpus")) === 2 && /how many CPUs/.test(await word("#policy-note")), "nothing says where the number of CPUs is from: " + (await word("#policy-note")));
    await give("robot.toml", demo("robot"));
    await until("laylandPlay.set.tasks.length === 6", "a set is not opened");
    await settled();
    const before = await text();
    await give("wrong.json", '{"tasks": {"a": {"runtime": }}}');
    await until("document.getElementById('status-text').textContent.includes('wrong.json')", "a wrong file is not told");
    check(/cannot be read/.test(await word("#status-text")) && (await text()) === before, "a wrong file changes the set: " + (await word("#status-text")));
    await give("picture.png", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe, 0x00, 0x80]));
    await until("document.getElementById('status-text').textContent.includes('picture.png')", "a picture is not refused");
    check((await text()) === before, "a picture changes the set");
    // Huge files: bounded, told, and the page lives.
    await give("huge.csv", "name,wcet,period\n" + Array.from({ length: 100000 }, (_, k) => `t${k},1ms,100ms\n`).join(""));
    await until("/huge.csv|5,?000|tasks/.test(document.getElementById('status-text').textContent)", "a huge table is not told: " + (await word("#status-text")), 60000);
    measured.huge = await word("#status-text");
    check((await text()) === before, "a huge table is taken");
    await give("huge.toml", "layland = 1\n" + Array.from({ length: 100000 }, (_, k) => `[[task]]\nname = "t${k}"\nperiod = "100ms"\nwcet = "1ms"\n`).join(""));
    await until("document.getElementById('status-text').textContent.includes(' MB')", "a huge set is not told: " + (await word("#status-text")), 60000);
    check((await text()) === before, "a huge set is taken");
    await give("large.bin", Buffer.alloc(9_000_000, 32));
    await until("document.getElementById('status-text').textContent.includes('large.bin')", "a file of 9 MB is not told");
    // Pasted outside of a field.
    await evaluate(`(() => { document.activeElement.blur(); const data = new DataTransfer(); data.setData("text", ${JSON.stringify(set)}); document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true })); })()`);
    await settled();
    check((await text()) === set, "a pasted set is not taken");
    // Dropped.
    await evaluate(`(() => { const data = new DataTransfer(); data.items.add(new File([${JSON.stringify(demo("shifting"))}], "shifting.toml")); document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })); })()`);
    await until("laylandPlay.history.state.text.includes('driver')", "a dropped file is not taken");
    await settled();
  });

  await part("names are no markup", async (check) => {
    const wild = 'layland = 1\n\n[platform]\ncpus = 1\n\n[[task]]\nname = "<img src=x onerror=window.laylandInjected=1>"\nperiod = "10ms"\nwcet = "11ms"\n';
    await put(wild, ["g-edf"]);
    check((await word("#lines") + (await word("#verdict-rows")) + (await word("#problems"))).includes("<img"), "the name is not shown as it is");
    check((await evaluate("document.querySelectorAll('#lines img, #verdicts img, #panels img, #words img, #problems img').length")) === 0, "a name became an element");
    check((await evaluate("window.laylandInjected === undefined")), "a name was run");
    const policy = await evaluate("document.querySelector('meta[http-equiv]').content");
    check(/default-src 'none'/.test(policy) && !/unsafe-inline/.test(policy) && !/connect-src|https?:/.test(policy), "the policy of the page is weak: " + policy);
  });

  await part("files out", async (check) => {
    await put(set, ["g-edf", "p-edf"], "60ms");
    await click("#export");
    await until("document.getElementById('link').value !== ''", "no link is made");
    await picture(pictures, "share");
    await evaluate("laylandPlay.files.download = function (content, name) { this.kept ??= []; this.kept.push({ name, content }); }");
    const formats = await evaluate("laylandPlay.formats.filter((one) => one.writes).map((one) => one.name)");
    check(formats.length >= 5, "hardly any format: " + formats);
    for (const format of formats) {
      await evaluate(`laylandPlay.files.kept = []; document.getElementById("export-note").textContent = ""; document.getElementById("format").value = ${JSON.stringify(format)}; document.getElementById("save").click()`);
      await until("laylandPlay.files.kept.length || document.getElementById('export-note').textContent", "nothing is saved as " + format);
      const ours = await evaluate("laylandPlay.files.kept[0]?.content ?? ''");
      writeFileSync(join(folder, "set.toml"), set);
      let theirs = "";
      try { theirs = execFileSync(layland, ["convert", "set.toml", "--to", format], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] }).toString(); } catch (error) { theirs = "error: " + error.stderr; }
      // The set itself is saved as it was written, with its comments.
      check(format === "toml" ? ours === set : ours === theirs, format + " differs from the command: " + ours.slice(0, 200) + " and not " + theirs.slice(0, 200) + (await word("#export-note")));
    }
    await evaluate("laylandPlay.files.kept = []; document.getElementById('save-svg').click()");
    await until("laylandPlay.files.kept.length", "no SVG is saved: " + (await word("#export-note")));
    check(/^<svg[^]*<\/svg>\s*$/.test((await evaluate("laylandPlay.files.kept[0].content")).replace(/^<\?xml[^>]*>\s*/, "")), "what is saved is no SVG");
    await evaluate("laylandPlay.files.kept = []; document.getElementById('save-png').click()");
    await until("laylandPlay.files.kept.length", "no PNG is saved: " + (await word("#export-note")));
    const png = await evaluate("laylandPlay.files.kept[0].content.arrayBuffer().then((buffer) => { const view = new DataView(buffer); return [view.getUint32(0), view.getUint32(16), view.getUint32(20), buffer.byteLength]; })");
    check(png[0] === 0x89504e47 && png[1] > 300 && png[2] > 50 && png[3] > 2000, "what is saved is no picture: " + png);
    const words = await evaluate("document.getElementById('command').value");
    check(words.includes("layland sim set.toml --policy g-edf,p-edf --until 60ms") && words.includes("layland check set.toml --policy g-edf,p-edf"), "the command is another one: " + words);
    await evaluate("delete laylandPlay.files.download");
    await evaluate("document.getElementById('share').close()");
  });

  await part("a link carries everything", async (check) => {
    await put(set, ["g-edf", "p-edf:fit=wfd"], "70ms");
    await click("#export");
    await until("document.getElementById('link').value !== ''", "no link is made");
    const link = await evaluate("document.getElementById('link').value"), wanted = await state();
    await evaluate("document.getElementById('share').close()");
    await put(demo("dhall"), ["dl"]);
    await evaluate(`location.hash = ${JSON.stringify(link.split("#")[1])}`);
    await until("laylandPlay.history.state.until === '70ms'", "the link is not followed");
    await settled();
    check(JSON.stringify(await state()) === JSON.stringify(wanted), "the link brings something else");
    const before = await state();
    for (const broken of ["s=AAAA", "s=", "s=!!", link.split("#")[1].slice(0, -9)]) {
      await evaluate(`document.getElementById("status-text").textContent = ""; location.hash = ${JSON.stringify(broken)}`);
      await until("/damaged/.test(document.getElementById('status-text').textContent)", "a damaged link is not told: " + broken, 5000);
      check(JSON.stringify(await state()) === JSON.stringify(before), "a damaged link changes the set: " + broken);
      await settled();
    }
    // In a new tab.
    const { targetId } = await send("Target.createTarget", { url: link });
    const found = await (async () => {
      for (let k = 0; k < 300; k++) {
        const { targetInfos } = await send("Target.getTargets");
        const title = targetInfos.find((one) => one.targetId === targetId)?.url;
        if (title === link) return true;
        await pause(20);
      }
      return false;
    })();
    check(found, "the link does not open");
    await send("Target.closeTarget", { targetId });
  });

  await part("long work says so, and stops", async (check) => {
    const many = "layland = 1\n\n[platform]\ncpus = 8\n\n" + Array.from({ length: 60 }, (_, k) => `[[task]]\nname = "t${k}"\nperiod = "${(k % 7) + 3}.${(k % 9) + 1}7ms"\nwcet = "0.4ms"\n\n`).join("");
    await put(set, ["g-edf"]);
    await evaluate(`laylandPlay.replace(${JSON.stringify({ text: many, policies: ["g-edf", "dl", "run", "strong-edf"], until: "900s" })}, "a test")`);
    await until("!document.getElementById('stop').hidden", "no button to stop it");
    check(/…/.test(await word("#status-text")), "nothing says that it goes on");
    await picture(pictures, "long");
    const began = Date.now();
    await click("#stop");
    check(/Stopped/.test(await word("#status-text")), "it does not say that it stopped: " + (await word("#status-text")));
    await put(set, ["g-edf"]);
    measured.after_stop_ms = Date.now() - began;
    check((await evaluate("laylandPlay.sim.set.tasks")) === 2, "after a stop nothing is answered");
    await sameBytes(check);
  });

  await part("an older answer never replaces a newer one", async (check) => {
    await put(set, ["g-edf"], "40ms");
    await evaluate(`(() => { for (let k = 1; k <= 30; k++) laylandPlay.edit({ text: ${JSON.stringify(set)}.replace('"4ms"', '"' + (4 + k / 10) + 'ms"') }, "drag 1", null); })()`);
    await settled();
    check((await evaluate("laylandPlay.sim.results[0].summary.tasks[0].max_response_ns")) === 7e6, "the last answer is not shown");
    check((await evaluate("laylandPlay.engines[0].number")) > 0 && (await evaluate("laylandPlay.engines[0].queue.length")) === 0, "questions wait");
  });

  await part("100 tasks on 8 CPUs", async (check) => {
    const tasks = Array.from({ length: 100 }, (_, k) => `[[task]]\nname = "t${k}"\nperiod = "${[10, 20, 25, 40, 50][k % 5]}ms"\nwcet = "${[6, 13, 16, 25, 33][k % 5] / 10}ms"\n\n`).join("");
    const hundred = "layland = 1\n\n[platform]\ncpus = 8\n\n" + tasks;
    await put(hundred, ["g-edf"], "100ms");
    const times = [];
    for (let k = 0; k < 12; k++) {
      await evaluate(`laylandPlay.edit({ text: laylandPlay.history.state.text.replace(/wcet = "[^"]*"/, 'wcet = "${k + 4}00us"') }, null, null)`);
      await settled();
      times.push(await evaluate("laylandPlay.took.sim"));
    }
    times.sort((a, b) => a - b);
    measured.hundred_tasks_ms = { least: +times[0].toFixed(1), median: +times[6].toFixed(1), segments: await evaluate("laylandReport.panels[0].trace.segments.count"), draw_ms: +(await evaluate("laylandReport.lastFrame")).toFixed(1) };
    check(times.length === 12, "not every change was answered");
    await picture(pictures, "hundred");
  });

  await part("the schedule for those who cannot see it", async (check) => {
    await put(demo("dhall"), ["g-edf", "p-edf"]);
    await evaluate("document.getElementById('as-table').open = true; document.getElementById('in-words').open = true");
    await until("document.querySelectorAll('#pieces tr').length > 5", "the table is empty");
    const heavy = await evaluate("[...document.querySelectorAll('#pieces tr')].map((row) => row.textContent).find((row) => row.startsWith('heavy #1'))");
    check(heavy === "heavy #1CPU 12 ms12 ms11 mscompleted 1 ms late" || heavy === "heavy #1CPU 02 ms12 ms11 mscompleted 1 ms late", "the table tells another story: " + heavy);
    check(/Under g-edf: 67 jobs/.test(await word("#words")), "the words are missing: " + (await word("#words")).slice(0, 200));
    check((await evaluate("document.querySelector('#panels canvas').getAttribute('aria-label')")).startsWith("Gantt chart of g-edf: ✗ 4 misses") || /Gantt chart of g-edf: 4 misses/.test(await evaluate("document.querySelector('#panels canvas').getAttribute('aria-label')")), "the chart has no words");
    await click("#later");
    check(/Pieces 51/.test(await word("#shown")), "the table has no second page");
    await evaluate("document.getElementById('as-table').open = false; document.getElementById('in-words').open = false");
  });

  await part("the keyboard alone reaches everything", async (check) => {
    await put(set, ["g-edf"]);
    await evaluate("document.activeElement.blur(); scrollTo(0, 0)");
    const seen = new Set();
    for (let k = 0; k < 90; k++) {
      await press("Tab");
      const where = await evaluate(`(() => { const node = document.activeElement; if (!node || node === document.body) return ""; const style = getComputedStyle(node), box = node.closest(".code") ? getComputedStyle(node.closest(".code")) : style;
        return (node.id || node.dataset.do || node.dataset.mode || node.dataset.key || node.dataset.lesson || node.className || node.tagName) + (style.outlineStyle === "none" && box.outlineStyle === "none" ? " without a ring" : ""); })()`);
      if (where) seen.add(where);
    }
    const missing = ["undo", "demos", "open", "export", "theme", "cpus", "wcet", "add", "text", "policy", "until", "both", "in"].filter((one) => ![...seen].some((found) => found.split(" ")[0] === one) && !(one === "undo"));
    check(missing.length === 0, "not reached: " + missing + " of " + [...seen]);
    check(![...seen].some((one) => one.endsWith("without a ring")), "no visible focus: " + [...seen].filter((one) => one.endsWith("without a ring")));
    check([...seen].some((one) => /CANVAS|canvas/.test(one)), "the chart is not reached");
  });

  if (!axe || !existsSync(axe)) skip("accessibility", "axe-core (npm)");
  else await part("accessibility, by axe-core", async (check) => {
    await put(demo("dhall"), ["g-edf", "p-edf"]);
    for (const name of ["light", "dark"]) {
      await theme(name);
      await frame();
      await accessible(check, name);
      await click("[data-lesson=run]");
      await settled();
      await accessible(check, name + ", in an example");
      await click("#lesson-close");
    }
    await theme("light");
    await put(set.replace("period", "perod"), ["g-edf"]);
    await accessible(check, "with a problem");
    await put(demo("mixed"), ["amc", "p-rm"]);
    await evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
    await frame();
    await accessible(check, "everything open");
    await click("#export");
    await accessible(check, "the dialog");
    await evaluate("document.getElementById('share').close()");
  });

  await part("three sizes, light and dark", async (check) => {
    await put(demo("dhall"), ["g-edf", "p-edf"]);
    for (const [width, height, phone] of [[400, 860, true], [900, 1100, false], [1600, 1000, false]]) {
      await screen(width, height, phone);
      for (const name of ["light", "dark"]) {
        await theme(name);
        await evaluate("scrollTo(0, 0)");
        await pause(150);
        await frame();
        const wide = await evaluate("document.documentElement.scrollWidth");
        check(wide <= width + 1, `at ${width} pixels the page is ${wide} wide`);
        await picture(pictures, `${width}-${name}`);
      }
      await theme("light");
      await evaluate("document.getElementById('verdicts').scrollIntoView()");
      await frame();
      await picture(pictures, `${width}-verdicts`);
      await click("[data-lesson=run]");
      await settled();
      await evaluate("scrollTo(0, 0)");
      await frame();
      await picture(pictures, `${width}-lesson`);
      check((await evaluate("document.documentElement.scrollWidth")) <= width + 1, `in an example the page is wider than ${width}`);
      await click("#lesson-close");
      await put(demo("dhall"), ["g-edf", "p-edf"]);
      if (phone) {
        await evaluate("document.getElementById('set').scrollIntoView()");
        await frame();
        await picture(pictures, `${width}-set`);
      }
    }
    await screen(1280, 900);
    await click("[data-do=theme]");
    check((await evaluate("getComputedStyle(document.body).backgroundColor")) === "rgb(20, 23, 28)", "the switch does not make it dark");
    await click("[data-do=theme]");
    await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "light" }, { name: "prefers-reduced-motion", value: "reduce" }] });
    const moving = await evaluate("[...document.querySelectorAll('*')].filter((one) => parseFloat(getComputedStyle(one).transitionDuration) > 0 || getComputedStyle(one).animationName !== 'none').length");
    check(moving === 0, "something moves although less motion is wanted: " + moving);
  });

  rmSync(folder, { recursive: true, force: true });
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return measured;
});
