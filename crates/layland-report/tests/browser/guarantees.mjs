// Drives a report of guarantees in a headless Chromium: opens it from disk, reads what it shows, changes the
// theme, prints it, and looks at it on a phone.
//
//   node guarantees.mjs REPORT.html '{"policies": 3, "tasks": 3, "late": 2, "open": 1}' [SCREENSHOT-PREFIX]
//
// What is expected: how many policies and tasks there are, and how many bounds lie after their deadline.

import { evaluate, expect, frame, key, open, picture, print, run, screen, send } from "./driver.mjs";

const [file, expected, pictures] = process.argv.slice(2);
const { policies, tasks, late, open: undecided } = JSON.parse(expected);
const count = (selector) => evaluate(`document.querySelectorAll(${JSON.stringify(selector)}).length`);
const ground = () => evaluate("getComputedStyle(document.body).backgroundColor");

run(async () => {
  const measured = { ready_ms: await open(file) };
  await frame();
  await picture(pictures, "light");

  expect((await count(".verdicts tbody tr")) === policies, "not every policy has its verdict");
  expect((await count(".verdicts tbody .chip")) === policies, "a verdict has no sign");
  expect((await count(".bounds tbody tr")) === tasks, "not every task has its bounds");
  expect((await count("td.bound.open")) === undecided, "not as many bounds are open: " + (await count("td.bound.open")));
  expect((await count("td.bound.late")) === late, "not as many bounds are after their deadline: " + (await count("td.bound.late")));
  expect((await count("#tests details")) > 0, "what the tests say is not there for every policy");

  // What is drawn agrees with what is written: late begins at the deadline, and nothing else goes beyond it.
  const drawn = await evaluate(`(() => {
    const wrong = [], box = (node) => node.getBoundingClientRect();
    for (const cell of document.querySelectorAll("td.bound")) {
      const text = cell.textContent, svg = cell.querySelector("svg");
      if (!svg) { if (!cell.classList.contains("none")) wrong.push("no picture: " + text); continue; }
      const due = box(svg.querySelector(".due")), late = svg.querySelector(".late, .open"), kept = box(svg.querySelector(".kept"));
      const middle = (due.left + due.right) / 2;
      if (due.height < 8 || box(svg).width < 100) wrong.push("too small to see: " + text);
      if (kept.right > middle + 1) wrong.push("what is kept goes beyond the deadline: " + text);
      if (["late", "open"].some((name) => cell.classList.contains(name) !== (late !== null && late.classList.contains(name)))) wrong.push("late is not drawn as it is written: " + text);
      if (late && (Math.abs(box(late).left - middle) > 1.5 || box(late).height <= kept.height)) wrong.push("late is not after the deadline: " + text);
    }
    return wrong; })()`);
  expect(drawn.length === 0, drawn.join("; "));

  const lost = await evaluate(`[...document.querySelectorAll(".cite a")].filter((a) => !document.getElementById(a.hash.slice(1))).length`);
  expect(lost === 0 && (await count(".cite a")) > 0, "a source is named that is not listed");

  const before = await ground();
  await evaluate("document.querySelector('[data-do=theme]').click()");
  const dark = await ground();
  expect(dark !== before, "the button does not change the theme");
  const ink = (selector) => evaluate(`getComputedStyle(document.querySelector("${selector}")).fill`);
  const inks = [await ink("svg .work"), await ink("svg .track")];
  expect(inks[0] !== inks[1], "in the dark a bar looks like its ground");
  await frame();
  await picture(pictures, "dark");
  await key("t");
  expect((await ground()) === before, "the key t does not change the theme");

  await send("Emulation.setEmulatedMedia", { media: "print" });
  await evaluate("document.querySelector('[data-do=theme]').click()");
  expect((await ground()) === "rgb(255, 255, 255)", "paper is not white: " + (await ground()));
  expect((await evaluate("getComputedStyle(document.querySelector('.bar')).display")) === "none", "buttons are printed");
  await evaluate("document.querySelector('[data-do=theme]').click()");
  await send("Emulation.setEmulatedMedia", { media: "", features: [{ name: "prefers-color-scheme", value: "light" }] });
  measured.pdf_bytes = await print(pictures, "print");

  await screen(390, 800, true);
  await frame();
  expect((await evaluate("document.documentElement.scrollWidth")) <= 392, "on a phone the page is wider than the screen: " + (await evaluate("document.documentElement.scrollWidth")));
  await picture(pictures, "phone");
  const outside = await evaluate(`[...document.querySelectorAll(".verdicts th, .verdicts td, .tests td")]
    .filter((cell) => cell.offsetParent && cell.getBoundingClientRect().right > 391).map((cell) => cell.textContent.trim().slice(0, 40))`);
  expect(outside.length === 0, "on a phone these cells of the verdicts are outside: " + outside.slice(0, 4).join("; "));
  await screen(1280, 2600);
  await frame();
  await picture(pictures, "page");
  return measured;
});
