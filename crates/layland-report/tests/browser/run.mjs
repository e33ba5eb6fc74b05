// Drives a report with a chart in a headless Chromium, as a person would: opens it from disk, looks, zooms,
// points.
//
//   node run.mjs REPORT.html [SCREENSHOT-PREFIX]

import { evaluate, expect, frame, key, mouse, open, picture, print, run, screen, send } from "./driver.mjs";

const [file, pictures] = process.argv.slice(2);
const view = () => evaluate("({ ...laylandReport.view })");

/** Lanes of criticality levels: as high as the level at any time and zoom, with a story and in every mode. */
async function levels() {
  const shown = await view();
  for (const mode of ["cpus", "tasks", "both"]) {
    const wrong = await evaluate(`(() => { const app = laylandReport, panel = app.panels[0], { trace, scale } = panel;
      app.setMode("${mode}");
      const lanes = panel.lanes.filter((lane) => lane.kind === "level");
      if (lanes.length !== trace.cpus.length) return "there are " + lanes.length + " lanes of levels";
      if (app.panels[1].lanes.some((lane) => lane.kind === "level")) return "a run without levels has a lane of them";
      const lane = lanes[1], spans = trace.levels[1];
      for (const { from, to, level } of spans) {
        const length = Math.max(to - from, 1);
        app.view = { from: from - length / 2, to: to + length / 2 };
        panel.draw();
        // The step: a line of ink at the height of the level, in the middle of the span.
        const x = panel.x(from + length / 2) + 0.1 * panel.plot * (length > 1000), bottom = lane.y + lane.height - 2.5;
        const y = bottom - Math.round(((lane.height - 5) * level) / (app.levels.length - 1)) + AXIS_HEIGHT - panel.scroller.scrollTop;
        const ink = (at) => { const [r, g, b] = panel.context.getImageData(Math.round(x * scale), Math.round(at * scale), 1, 1).data; return (r + g + b) / 3; };
        const least = Math.min(ink(y - 1), ink(y), ink(y - 0.5));
        if (least > 110) return "no step at " + level + ": " + least;
      }
      return ""; })()`.replace("AXIS_HEIGHT", "24"));
    expect(wrong === "", mode + ": " + wrong);
  }
  await evaluate(`laylandReport.show(0, 31e6)`);
  await frame();
  const at = await evaluate(`(() => { const panel = laylandReport.panels[0], lane = panel.lanes.filter((one) => one.kind === "level")[1];
    const box = panel.canvas.getBoundingClientRect();
    return { x: box.left + panel.x(4e6), y: box.top + 24 + lane.y + 8 - panel.scroller.scrollTop }; })()`);
  await mouse("mouseMoved", at.x + 1, at.y);
  await mouse("mouseMoved", at.x, at.y);
  await frame();
  const tip = await evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent");
  expect(tip === "Criticality level HI on CPU 1from3000.001 µs to 6000.002 µs" + "Only jobs of tasks of criticality HI run.", "a level tells no story: " + tip);
  await picture(pictures, "levels");
  await mouse("mouseMoved", 5, 5);
  await evaluate(`laylandReport.show(${shown.from}, ${shown.to})`);
  await frame();
}

/** Who spins, holds and sleeps, as the trace has it; a spin covers its bar and is no overhead; in the legend and in words. */
async function steps() {
  const found = await evaluate(`(() => { const panel = laylandReport.panels[0], { trace } = panel, { segments } = trace;
    const spans = (list) => list.map(({ from, to, number }) => [from / 1e6, to / 1e6, number]);
    const s = segments.overhead.at.findIndex((x) => x > 0), job = segments.job[s];
    return { halts: trace.steps.map((of) => spans(of.halts)), holds: trace.steps.map((of) => spans(of.holds)),
      said: laylandReport.story.pieces(trace, job).join("; "), legend: document.getElementById("legend").textContent }; })()`);
  const wanted = { halts: [[[4, 8, null]], [[2, 4, "3"]]], holds: [[[1, 4, "3"]], [[4, 6, "3"]]] };
  for (const [what, value] of Object.entries(wanted)) {
    expect(JSON.stringify(found[what]) === JSON.stringify(value), what + ": " + JSON.stringify(found[what]));
  }
  expect(found.said.includes("spinning for 2 ms") && !found.said.includes("overhead"), "the story of a spin: " + found.said);
  for (const word of ["spinning", "holds a resource", "waits for one", "suspended"]) expect(found.legend.includes(word), "no " + word + " in the legend");
  expect(await evaluate("laylandReport.story.obstacles(laylandReport.panels[0].trace, 0) === null"), "a suspension is told as a wait for the CPU");
  expect(!found.legend.includes("overhead"), "a spin is called overhead");
  // Above the bar of what it waits for, the colour of the bar is lighter where the job spins.
  const light = await evaluate(`(() => { const panel = laylandReport.panels[0], { scale } = panel;
    const lane = panel.lanes.find((one) => one.kind === "task" && one.index === 1), { y } = panel.inside(lane);
    const mean = (ms) => { const data = panel.context.getImageData(Math.round(panel.x(ms * 1e6) * scale), Math.round((y + 2 + 24 - panel.scroller.scrollTop) * scale), 24, 8).data;
      let sum = 0; for (let i = 0; i < data.length; i++) if (i % 4 < 3) sum += data[i]; return sum / data.length; };
    return [mean(1), mean(2.4)]; })()`);
  expect(light[1] > light[0] + 5, "a spin looks like work: " + light);
  await picture(pictures, "steps");
}

run(async () => {
  const measured = { ready_ms: await open(file) };
  measured.decode_ms = Math.round(await evaluate("laylandReport.loaded"));
  measured.first_paint_ms = Math.round(await evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"));
  measured.segments = await evaluate("laylandReport.panels.map((panel) => panel.trace.segments.count)");
  await frame();
  await new Promise((done) => setTimeout(done, 900));
  await picture(pictures, "light");

  const colours = () => evaluate(`(() => { const canvas = document.querySelector(".spacer canvas");
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data, seen = new Set();
    for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return seen.size; })()`);
  expect((await colours()) > 8, "the canvas is blank");
  expect((await evaluate("document.querySelectorAll('.uplot canvas').length")) > 0, "no distribution is drawn");

  // A point over a bar: the wheel zooms there, and the time under it stays.
  const spot = await evaluate(`(() => { const panel = laylandReport.panels[0], box = panel.canvas.getBoundingClientRect();
    for (let y = 30; y < panel.height; y += 6) for (let x = panel.left + panel.plot / 2; x < panel.width; x += 9) {
      if (laylandReport.hit(panel, x, y)) return { x: box.left + x, y: box.top + y, at: panel.time(x) }; }
    return null; })()`);
  expect(spot !== null, "no bar is found");
  const under = `laylandReport.panels[0].time(${spot?.x} - laylandReport.panels[0].canvas.getBoundingClientRect().left)`;
  let before = await view();
  await mouse("mouseWheel", spot.x, spot.y, { deltaX: 0, deltaY: -240 });
  await frame();
  let after = await view();
  expect(after.to - after.from < before.to - before.from, "the wheel does not zoom");
  expect(Math.abs((await evaluate(under)) - spot.at) <= (after.to - after.from) / 500, "the wheel does not zoom at the pointer");

  for (const [name, test] of [["-", (a, b) => b.to - b.from > a.to - a.from], ["+", (a, b) => b.to - b.from < a.to - a.from],
    ["ArrowRight", (a, b) => b.from > a.from], ["ArrowLeft", (a, b) => b.from < a.from], ["End", (a, b) => b.to > a.to],
    ["Home", (a, b) => b.from < a.from], ["0", (a, b) => b.to - b.from > a.to - a.from]]) {
    // At rest in the middle, so that there is room for each.
    await evaluate("(() => { const { from, to } = laylandReport.range, s = to - from; laylandReport.show(from + s * 0.4, from + s * 0.6); })()");
    await frame();
    before = await view();
    await key(name);
    after = await view();
    expect(test(before, after), "the key " + name + " does not do its work");
  }

  await evaluate(`laylandReport.show(${JSON.stringify(before)}.from, ${JSON.stringify(before)}.to)`);
  const start = await view();
  await mouse("mousePressed", spot.x, spot.y, { button: "left", clickCount: 1 });
  await mouse("mouseMoved", spot.x - 60, spot.y, { button: "left", buttons: 1 });
  await mouse("mouseReleased", spot.x - 60, spot.y, { button: "left", clickCount: 1 });
  // On a machine that has much else to do the page draws when it can.
  let frames = 0;
  while ((await view()).from <= start.from && frames++ < 200) await frame();
  expect((await view()).from > start.from, "dragging does not pan");

  await evaluate("laylandReport.show(Number(laylandReport.data.window[0]), Number(laylandReport.data.window[1]))");
  await frame();
  await mouse("mouseMoved", spot.x + 1, spot.y);
  await mouse("mouseMoved", spot.x, spot.y);
  await frame();
  const tip = await evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent");
  expect(/arrival/.test(tip) && /on CPU/.test(tip), "the tooltip does not tell the story of a job: " + tip);
  measured.tip = tip.slice(0, 200);
  await picture(pictures, "tip");
  await mouse("mousePressed", spot.x, spot.y, { button: "left", clickCount: 1 });
  await mouse("mouseReleased", spot.x, spot.y, { button: "left", clickCount: 1 });
  await mouse("mouseMoved", 5, 5);
  await frame();
  expect(await evaluate("!document.getElementById('tip').hidden && laylandReport.selected !== null"), "a click does not pin");
  await key("Escape");
  expect(await evaluate("document.getElementById('tip').hidden"), "Escape does not unpin");

  const misses = await evaluate("laylandReport.misses.length");
  measured.misses = misses;
  if (misses) {
    await key("n");
    const due = await evaluate("(() => { const { panel, job } = laylandReport.current; return panel.trace.jobs.deadline.at[job]; })()");
    after = await view();
    expect(after.from <= due && due <= after.to, "n does not show the first miss");
    expect(after.from >= (await evaluate("laylandReport.range.from")) - (after.to - after.from) * 0.021, "n shows what was before the start");
    const story = await evaluate("document.getElementById('tip').textContent");
    // Every job of these traces that is late has waited between its two pieces.
    const held = await evaluate("(() => { const { panel, job } = laylandReport.current; return laylandReport.story.obstacles(panel.trace, job); })()");
    expect(held && story.includes("Before its deadline it waited for " + held.waited), "a miss does not tell how long it waited: " + story);
    expect(held?.lines.every((line) => story.includes(line)), "a miss does not tell what the CPUs did: " + story);
    measured.held = held;
    await picture(pictures, "miss");
    await key("Escape");
  }
  measured.levels = await evaluate("laylandReport.panels.filter((panel) => panel.trace.levels).length");
  if (measured.levels) await levels();
  measured.steps = await evaluate("laylandReport.panels.filter((panel) => panel.trace.steps).length");
  if (measured.steps) await steps();
  await key("/");
  expect((await evaluate("document.activeElement.id")) === "search", "/ does not go to the search");
  await send("Input.insertText", { text: await evaluate("laylandReport.names[laylandReport.names.length - 1]") });
  await frame();
  expect((await evaluate("laylandReport.found")) !== null, "a task is not found by its name");
  await evaluate("document.activeElement.value = ''; document.activeElement.blur(); laylandReport.search('')");
  await key("?");
  expect(await evaluate("document.getElementById('help').open"), "? shows no help");
  await evaluate("document.getElementById('help').close()");
  await key("l");
  expect((await evaluate("laylandReport.mode")) === "cpus", "l does not switch the lanes");
  await evaluate("laylandReport.setMode('both')");

  const paper = "getComputedStyle(document.body).backgroundColor";
  const light = await evaluate(paper);
  await key("t");
  expect((await evaluate(paper)) !== light, "t does not change the theme");
  await evaluate("laylandReport.show(Number(laylandReport.data.window[0]), Number(laylandReport.data.window[1]))");
  await frame();
  await new Promise((done) => setTimeout(done, 250));
  await picture(pictures, "dark");

  // Frames while panning through the run, at the first window and with all of it in sight.
  // What is drawn of a lane is what adding up all of its segments one by one gives.
  const columns = await evaluate(`(() => { const app = laylandReport, panel = app.panels[0], { trace } = panel, { segments } = trace;
    for (const share of [1, 0.31, 0.08, 0.013]) for (const kind of ["cpu", "task"]) {
      const { from, to } = app.range, span = (to - from) * share, at = from + (to - from - span) * 0.37;
      app.view = { from: at, to: at + span };
      const list = (kind === "cpu" ? trace.cpuLanes : trace.taskLanes)[0], h = 40, { raster } = panel;
      raster.begin(Math.ceil(panel.width - panel.left), 60, 1);
      panel.gather({ kind, index: 0, y: 0, height: kind === "cpu" ? 46 : 60 }, 0);
      const perPixel = span / panel.plot, high = new Array(raster.width).fill(0);
      const put = (a, b, share, height) => { for (let x = Math.max(a, 0); x < b && x < high.length; x++) high[x] = Math.max(high[x], Math.round(Math.max(1.5, share * height))); };
      let pixel = null, busy = 0;
      const flush = () => { if (pixel !== null) put(pixel, pixel + 1, Math.min(1, busy / perPixel), h); pixel = null; busy = 0; };
      for (let i = list.from; i < list.to; i++) {
        const s = list.order ? list.order[i] : i, a = segments.start.at[s], b = segments.end.at[s];
        if ((a >= at + span && !(pixel !== null && a <= at + (pixel + 1) * perPixel)) || (i + 1 < list.to && segments.start.at[list.order ? list.order[i + 1] : i + 1] <= at)) continue;
        const x0 = (a - at) / perPixel, x1 = (b - at) / perPixel;
        if (b - a >= 1.5 * perPixel) {
          flush();
          if (b > at && b - a < 4 * perPixel) put(Math.round(x0), Math.max(Math.round(x1), Math.round(x0) + 1), 1, h);
          continue;
        }
        if (pixel === null || a > at + (pixel + 1) * perPixel) { flush(); pixel = Math.floor(x0); }
        busy += b - a;
      }
      flush();
      for (let x = 0; x < raster.width; x++) {
        let rows = 0;
        for (let y = 0; y < raster.height; y++) if (raster.pixels[y * raster.width + x]) rows++;
        if (Math.abs(rows - high[x]) > 1) return kind + " at " + share + ": column " + x + " is " + rows + " high, not " + high[x];
      }
    }
    app.whole();
    return ""; })()`);
  expect(columns === "", columns);
  await send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async () => (await send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  const pan = async (share) => {
    const before = await busy();
    const found = await panned(share);
    // What the thread of the page computes per frame, whatever else the machine does.
    return { ...found, cpu_ms_per_frame: +((await busy() - before) / 90).toFixed(1) };
  };
  const panned = (share) => evaluate(`(async () => {
    const app = laylandReport, { from, to } = app.range, times = [], draws = [];
    const span = ${share === null} ? Number(app.data.window[1]) - Number(app.data.window[0]) : (to - from) * ${share};
    let last = await new Promise(requestAnimationFrame);
    for (let k = 0; k < 90; k++) {
      const at = from + ((to - from - span) * k) / 90;
      app.show(at, at + span);
      const now = await new Promise(requestAnimationFrame);
      times.push(now - last); last = now; draws.push(app.lastFrame);
    }
    const at = (list, share) => { list.sort((a, b) => a - b); return +list[Math.floor(list.length * share)].toFixed(1); };
    return { fps: Math.round(1000 / (times.reduce((a, b) => a + b) / times.length)), draw_p50_ms: at(draws, 0.5), draw_p95_ms: at(draws, 0.95) };
  })()`);
  measured.panning_window = await pan(null);
  for (const share of [0.5, 0.1, 0.03, 0.01]) measured["panning_" + share] = await pan(share);
  measured.whole = await evaluate("(async () => { laylandReport.whole(); await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame); const list = []; for (let k = 0; k < 10; k++) { laylandReport.drawNow(); list.push(laylandReport.lastFrame); } return +list.sort((a, b) => a - b)[5].toFixed(1); })()");
  measured.heap_mb = Math.round(await evaluate("(performance.memory?.usedJSHeapSize ?? 0) / 1e6"));
  await evaluate("laylandReport.theme('light')");
  await frame();
  await picture(pictures, "whole");
  if (pictures) {
    await evaluate("laylandReport.show(Number(laylandReport.data.window[0]), Number(laylandReport.data.window[1]))");
    await frame();
    await print(pictures, "print");
    await screen(390, 800, true);
    await frame();
    await new Promise((done) => setTimeout(done, 300));
    await picture(pictures, "phone");
    await screen(1280, 2400);
    await frame();
    await new Promise((done) => setTimeout(done, 400));
    await picture(pictures, "page");
  }
  return measured;
});
