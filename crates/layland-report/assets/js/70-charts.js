// Distributions, drawn with uPlot: the share of jobs up to a length of time, or a histogram.

const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const BARS = 32;
/** From this ratio on, the axis is logarithmic. */
const DECADES = 50;

function drawDistributions(list, look, kind) {
  const boxes = document.querySelectorAll(".distribution");
  list.forEach((distribution, index) => drawDistribution(boxes[index], distribution, look, kind));
}

function drawDistribution(box, { series, title }, look, kind) {
  box.replaceChildren();
  const filled = series.filter((one) => one.steps.length);
  if (!filled.length) { box.append("no job completed"); return; }
  // Jobs of one chart may differ by orders of magnitude; then equal distances are equal ratios.
  const ends = filled.flatMap(({ steps }) => [steps[0][0], steps[steps.length - 1][0]]);
  const low = Math.min(...ends), high = Math.max(...ends), log = low > 0 && high > DECADES * low;
  const { xs, columns } = kind === "cdf" ? shares(filled, log) : histogram(filled, log);
  const percent = (v) => (v == null ? "–" : +(v * 100).toPrecision(3) + " %");
  const axis = { stroke: look.faint, grid: { stroke: look.line, width: 1 }, ticks: { stroke: look.line, width: 1 }, font: "11px system-ui, sans-serif" };
  const chart = new uPlot({
    width: Math.max(box.clientWidth, 260), height: 240, cursor: { y: false },
    scales: { x: { time: false, ...(log ? { distr: 3 } : {}) }, y: { range: (_, low, high) => [0, kind === "cdf" ? 1 : Math.max(high, 0.01) * 1.05] } },
    axes: [{ ...axis, values: (_, ticks) => ticks.map((tick) => (tick === null ? null : tick === 0 ? "0" : about(tick))), space: 70 },
      { ...axis, values: (_, ticks) => ticks.map(percent), size: 56 }],
    series: [{ label: "length", value: (_, v) => (v == null ? "–" : about(v)) }, ...filled.map((one, k) => ({
      label: "series " + k, stroke: k === 7 ? look.faint : [PALETTE[0], PALETTE[6], PALETTE[2], PALETTE[3], PALETTE[1], PALETTE[4], PALETTE[5]][k % 7][0],
      width: 2, dash: DASHES[k % DASHES.length], points: { show: false }, spanGaps: true, value: (_, v) => percent(v),
      paths: uPlot.paths.stepped({ align: 1 }),
    }))],
  }, [xs, ...columns], box);
  // uPlot takes labels as markup: write them as texts.
  box.querySelectorAll(".u-legend .u-label").forEach((label, k) => { label.textContent = k === 0 ? title : filled[k - 1].name; });
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", title + ": " + filled.map((one) => one.name + " at most " + about(one.steps[one.steps.length - 1][0])).join(", "));
  return chart;
}

function shares(series, log) {
  const last = Math.max(...series.map((one) => one.steps[one.steps.length - 1][0]));
  const first = log ? Math.min(...series.map((one) => one.steps[0][0])) / 1.2 : 0;
  const xs = [...new Set([first, ...series.flatMap((one) => one.steps.map(([value]) => value)), last * 1.03 || 1])].sort((a, b) => a - b);
  const columns = series.map(({ steps }) => {
    const total = steps.reduce((sum, [, count]) => sum + count, 0);
    let k = 0, sum = 0;
    return xs.map((x) => {
      while (k < steps.length && steps[k][0] <= x) sum += steps[k++][1];
      return sum / total;
    });
  });
  return { xs, columns };
}

function histogram(series, log) {
  const values = series.flatMap((one) => one.steps.map(([value]) => value));
  const low = Math.min(...values), high = Math.max(...values);
  const width = (log ? Math.log(high / low) : high - low) / BARS || 1;
  const xs = Array.from({ length: BARS + 2 }, (_, k) => (log ? low * Math.exp(k * width) : low + k * width));
  const bar = (value) => Math.floor((log ? Math.log(value / low) : value - low) / width);
  const columns = series.map(({ steps }) => {
    const bars = new Array(BARS + 2).fill(0);
    const total = steps.reduce((sum, [, count]) => sum + count, 0);
    for (const [value, count] of steps) bars[Math.min(BARS, bar(value))] += count / total;
    return bars;
  });
  return { xs, columns };
}
