// The playground when it is given a set: by `layland play FILE`, by a link, and in a frame of the book.
//
//   node start.mjs PAGE file|link|frame [SCREENSHOT-PREFIX]

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { evaluate, expect, frame, open, picture, run, screen } from "../../../layland-report/tests/browser/driver.mjs";

const [page, how, pictures] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "layland-play-")), file = join(folder, "page.html");
const set = 'layland = 1\n\n[platform]\ncpus = 1\n\n[[task]]\nname = "</script><b>wild"\nperiod = "10ms"\nwcet = "3ms"\n';
const start = { set, name: "mine.toml", policies: ["p-rm", "p-edf"], until: "30ms", seed: 7, ...(how === "frame" ? { embedded: true } : {}) };
const html = readFileSync(page, "utf8"), place = '<script type="application/json" id="start">null</script>';
const json = JSON.stringify(start).replaceAll("<", "\\u003c").replaceAll(">", "\\u003e").replaceAll("&", "\\u0026");
const carried = deflateRawSync(JSON.stringify(start)).toString("base64url");
writeFileSync(file, how === "file" ? html.replace(place, () => place.replace("null", json)) : html);

run(async () => {
  const measured = { how, ready_ms: await open(file) };
  if (how !== "file") await evaluate(`location.hash = "s=${carried}"`);
  const began = Date.now();
  while (!(await evaluate("laylandPlay.history.state.until === '30ms' && Number(document.documentElement.dataset.settled) === laylandPlay.asked"))) {
    if (Date.now() - began > 30000) throw new Error("the set is not there");
    await new Promise((done) => setTimeout(done, 30));
  }
  const state = await evaluate("laylandPlay.history.state");
  expect(state.text === set && state.policies.join() === "p-rm,p-edf" && state.until === "30ms", "another set is shown: " + JSON.stringify(state));
  expect((await evaluate("JSON.parse(laylandPlay.simText).set.name")) === "mine.toml", "the set has another name");
  expect((await evaluate("JSON.parse(laylandPlay.simText).seed")) === 7, "the seed is lost");
  expect((await evaluate("laylandPlay.files.command()")).includes(" --seed 7"), "the command has no seed");
  expect((await evaluate("document.querySelectorAll('#panels .panel').length")) === 2, "there are not two schedules");
  expect((await evaluate("document.querySelectorAll('b.wild, #panels b').length")) === 0, "a name became an element");
  if (how === "file") expect(await evaluate("document.getElementById('undo').disabled"), "before the first set there is another one");
  await screen(900, 760);
  await frame();
  const shown = await evaluate("document.querySelector('.top').getBoundingClientRect().height > 0");
  expect(shown === (how !== "frame"), how === "frame" ? "in a frame the page has its header" : "the header is missing");
  expect((await evaluate("document.documentElement.scrollWidth")) <= 900, "the page is too wide for its frame");
  await picture(pictures, "start-" + how);
  rmSync(folder, { recursive: true, force: true });
  return measured;
});
