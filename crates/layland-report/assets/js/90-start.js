const report = new App(JSON.parse(document.getElementById("data").textContent));
if (report.data.runs.length) {
  if (typeof DecompressionStream === "undefined") {
    document.getElementById("loading").textContent = "This browser is too old to read the traces: it needs DecompressionStream (2023 or newer). The tables below do not.";
  } else {
    report.start().catch((error) => {
      document.getElementById("loading")?.replaceChildren("Reading the traces failed: " + error.message);
      throw error;
    });
  }
} else {
  // A page without a chart: everything is in the page already.
  drawDistributions(report.data.distributions, report.look, "cdf");
  document.querySelectorAll("[data-do=theme]").forEach((button) => button.addEventListener("click", () => report.theme()));
  addEventListener("keydown", (event) => { if (event.key === "t" && !event.ctrlKey && !event.metaKey && !event.altKey) report.theme(); });
  document.documentElement.dataset.ready = "yes";
}
// For tests and for those who are curious.
window.laylandReport = report;
