// Opens a report in a headless Chromium, goes to its first miss, and reads who held the CPUs meanwhile.
//
//   node held.mjs REPORT.html 'TEXT'...
//
// Each text must be in the story of the first miss.

import { evaluate, expect, frame, key, open, run } from "./driver.mjs";

const [file, ...texts] = process.argv.slice(2);

run(async () => {
  await open(file);
  await key("N");
  await frame();
  const story = await evaluate("document.getElementById('tip').textContent");
  for (const text of texts) expect(story.includes(text), "the story lacks: " + text + ": " + story);
  expect((await evaluate("laylandReport.view.from >= laylandReport.range.from")), "what was before the start is shown");
  return { story };
});
