// What happened in the run, and what is guaranteed for every run: policies side by side, with reasons.

const SAID = { yes: ["good", "✓", "yes"], no: ["bad", "✗", "no"], unknown: ["warning", "?", "unknown"] };

/** A sign and a word: nothing is told by colour alone. */
function chip(severity, sign, word) {
  return element("span", { class: "chip " + severity }, element("span", { "aria-hidden": "true" }, sign), " " + word);
}
function answerChip(verdict) { return verdict === null || verdict === undefined ? chip("note", "–", "does not apply") : chip(...SAID[verdict] ?? ["note", "–", verdict]); }

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

class Verdicts {
  constructor(play) {
    this.play = play;
    this.body = document.getElementById("verdict-rows");
    this.details = document.getElementById("details");
    this.any = document.getElementById("any");
    this.stale = document.getElementById("verdicts");
    this.details.addEventListener("toggle", () => this.more());
  }

  /** `sim` and `check` are the documents that the command writes as JSON; either may not be there yet. */
  show(policies, sim, check) {
    this.sim = sim;
    this.check = check;
    const open = new Set([...this.body.querySelectorAll("details[open]")].map((one) => one.dataset.policy));
    this.body.replaceChildren(...policies.map((policy) => this.row(policy, open)));
    this.more();
  }
  find(list, policy) { return list?.find((one) => one.policy === policy); }

  row(policy, open) {
    const run = this.find(this.sim?.results, policy), found = this.find(this.check?.policies, policy);
    const cells = [element("th", { scope: "row" }, policy), element("td", { "data-title": "in this run" }, ...this.ran(run))];
    if (!found) return element("tr", {}, ...cells, element("td", { colspan: "4", class: "why" }, element("span", { class: "note" }, this.check === undefined ? "working out what is guaranteed …" : "")));
    const says = found.refused ? chip("bad", "✗", "refused") : answerChip(found.verdict);
    const reasons = found.refused ? [found.refused] : found.reasons;
    const why = element("td", { class: "why", "data-title": "why" }, ...reasons.slice(0, 2).map((text) => element("p", {}, text)));
    if (reasons.length > 2) {
      const rest = element("details", { "data-policy": policy }, element("summary", {}, "and " + (reasons.length - 2) + " more"), ...reasons.slice(2).map((text) => element("p", {}, text)));
      if (open.has(policy)) rest.open = true;
      why.append(rest);
    }
    return element("tr", { "data-verdict": found.verdict ?? "" }, ...cells, element("td", { "data-title": "guaranteed" }, says),
      element("td", { "data-title": "decided by" }, found.decided_by ?? element("span", { class: "note" }, "no test")), this.margin(found), why);
  }

  ran(run) {
    if (!run) return [element("span", { class: "note" }, "…")];
    if (run.refused) return [chip("bad", "✗", "refused")];
    const { missed, released, max_tardiness_ns: late } = run.summary.total;
    if (!missed) return [chip("good", "✓", "no miss"), " ", element("span", { class: "note" }, released.toLocaleString("en") + (released === 1 ? " job" : " jobs"))];
    return [chip("bad", "✗", missed.toLocaleString("en") + (missed === 1 ? " miss" : " misses")), " ", element("span", { class: "note" }, "of " + released.toLocaleString("en") + (late ? ", up to " + timeText(late) + " late" : ""))];
  }

  /** The factor by which all WCETs could grow: right of the middle is room, left of it is what is missing. */
  margin({ margin }) {
    const cell = element("td", { class: "margin", "data-title": "distance to the limit" });
    if (!margin || margin.wcet_factor === null || margin.wcet_factor === undefined) { cell.append(element("span", { class: "note" }, this.check.hurry ? "when you let go" : "not known")); return cell; }
    const factor = margin.wcet_factor, share = Math.max(0, Math.min(100, 50 * factor));
    const [from, length, kind] = factor >= 1 ? [50, share - 50, "kept"] : [share, 50 - share, "late"];
    cell.append(svg("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { class: "track", width: 100, height: 12 }),
      svg("rect", { class: kind, x: from, y: 2, width: length, height: 8 }), svg("rect", { class: "due", x: 49.4, width: 1.2, height: 12 })),
      element("b", {}, "× " + factor), " ", element("span", { class: "note" }, factor >= 1 ? "WCETs can grow by this factor" : "WCETs would have to shrink to this"));
    const { stopped_by: stop, decided_anew: anew } = margin, more = [];
    if (stop && (stop.task || stop.cpus)) more.push("stopped by " + [stop.task, stop.cpus && "CPU " + stop.cpus].filter(Boolean).join(" on "));
    if (anew) more.push("× " + anew.wcet_factor + " if the policy could assign tasks to CPUs again");
    if (more.length) cell.append(element("br"), element("span", { class: "note" }, more.join("; ")));
    return cell;
  }

  /** Bounds of the tasks and all tests, made when they are looked at. */
  more() {
    const { check } = this;
    if (!this.details.open) return;
    if (!check) { this.any.replaceChildren(element("p", { class: "note" }, "Working …")); return; }
    const parts = [], bounded = check.policies.filter((one) => one.bounds?.length);
    if (bounded.length) {
      const tasks = bounded[0].bounds.map((bound) => bound.task).slice(0, MOST_ROWS);
      const cell = (bound) => {
        if (!bound || bound.kind === "unknown") return element("td", {}, element("span", { class: "note" }, "unknown"));
        const by = element("span", { class: "note" }, " " + (bound.by ?? ""));
        if (bound.kind === "response") return element("td", {}, (bound.worth === "exact" ? "" : "≤ ") + timeText(bound.ns), by);
        if (bound.ns === null || bound.ns === undefined) return element("td", {}, "late, without bound", by);
        return element("td", {}, bound.ns ? "late by ≤ " + timeText(bound.ns) : "not late", by);
      };
      parts.push(element("h3", {}, "Bounds on response times, or on tardiness"), element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Bounds" }, element("table", { class: "tests" },
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "task"), ...bounded.map(({ policy }) => element("th", { scope: "col" }, policy)))),
        element("tbody", {}, ...tasks.map((task, k) => element("tr", {}, element("th", { scope: "row" }, task), ...bounded.map(({ bounds }) => cell(bounds[k]))))))));
    }
    if (check.any_policy?.length) parts.push(element("h3", {}, "Whatever the policy"), this.tests(check.any_policy, "Whatever the policy"));
    for (const { policy, tests } of check.policies) if (tests?.length) parts.push(element("h3", {}, policy + ": all tests"), this.tests(tests, "Tests for " + policy));
    this.any.replaceChildren(...parts);
  }
  tests(list, label) {
    return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, element("table", { class: "tests" },
      element("thead", {}, element("tr", {}, ...["test", "kind", "says", "why"].map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...list.map(({ test, kind, verdict, reasons, does_not_apply: not }) => element("tr", {}, element("th", { scope: "row" }, test), element("td", { "data-title": "kind" }, kind),
        element("td", { "data-title": "says" }, answerChip(verdict)), element("td", { class: "why" }, ...(not ? [not.reason] : (reasons ?? []).slice(0, 4)).map((text) => element("p", {}, text))))))));
  }
}
