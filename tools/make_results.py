#!/usr/bin/env python3
"""Makes `docs/results/`: the pictures and the tables of the pages about experiments, and nothing that a person writes.

    python3 tools/make_results.py PART.. [--program target/dist/layland] [--no-timing]

| part | takes | makes |
|---|---|---|
| comparison | 2 minutes | pictures and tables of docs/comparison.md, with --no-timing without measured times |
| comparison-more | 2 minutes | pictures and tables of docs/comparison-more.md |
| comparison-one-cpu | 1 minute | pictures and tables of docs/comparison-one-cpu.md |
| atlas | 3 minutes | pictures of docs/atlas.md, with 20 sets per point |
| tang2021 | 1 minute | the page about the paper, simulated for 600 s as in docs/papers.md |
| stevanato2021, stevanato2021-kernel | 1 minute, 2 minutes | the pages about the paper |
| bonifaci2016 | 2 minutes | the page about the paper, simulated for 60 s |
| compagnin2015 | 1 minute | the page about the paper |
| huang2014 | 1 minute | the page about the paper |
| overheads | 10 minutes a kernel | pictures of docs/overheads.md; prints its first tables; needs QEMU and a network |

These are times on two idle CPUs with `--profile dist`; the command prints those of its own run. Everything but measured
times and the part `overheads` is the same in each run, so that a difference shows what a change does. A page of tables
has each table of its experiment, one column at a time: rows are series, columns are points. A page about a paper is what
`layland lab paper` writes, without measured times.
"""

import argparse
import collections
import csv
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import textwrap
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
# The options of `layland lab run` of each experiment.
EXPERIMENTS = {"comparison": [], "comparison-more": [], "comparison-one-cpu": [], "atlas": ["--sets", "20"]}
# The options of `layland lab paper` of each experiment that repeats a paper.
PAPERS = {"tang2021": ["--horizon", "600s"], "stevanato2021": [], "stevanato2021-kernel": [],
          "bonifaci2016": ["--horizon", "60s"], "compagnin2015": [], "huang2014": []}
# The kernel whose traces are shown, and the pictures of them.
KERNEL = "6.18"
TRACES = {"affinity-defect-dl": "example-5-dl", "affinity-defect-dl-sp": "example-5-dl-sp"}


def share(value):
    return f"{100 * value:.0f} %"


def number(value):
    return f"{value:.2f}"


STATISTICS = {"mean": statistics.fmean, "median": statistics.median, "max": max}
# The columns that a page shows, with their captions; the others are in the files of a run.
SHOWN = {
    "accepted:mean": ("Sets without a missed deadline", share),
    "miss_ratio:mean": ("Jobs that miss their deadline or are dropped", share),
    "max_tardiness:max": ("The largest tardiness of all jobs, in periods", number),
    "bound:max": ("The largest bound on tardiness of a task, in periods", number),
    "tardiness_over_bound:max": ("The largest tardiness over its bound", number),
    "preemptions_per_job:mean": ("Preemptions per job", number),
    "migrations_per_job:mean": ("Migrations per job", number),
    "mean_response_over_bound:median": ("The longest response time over its bound: mean of tasks, median of sets", number),
}


def pivot(caption, points, rows):
    """A table in Markdown with a row for each series: its label, and a cell for each point."""
    head = [f"{caption}:", "", "| policy | " + " | ".join(points) + " |", "|---|" + "---:|" * len(points)]
    return [*head, *(f"| {label} | " + " | ".join(cells) + " |" for label, cells in rows), ""]


def labels(experiment, shown):
    """The labels of some series, with their names where two have one label."""
    all_labels = {series["name"]: series.get("label", series["name"]) for series in experiment["series"]}
    counts = collections.Counter(all_labels[name] for name in shown)
    return {name: all_labels[name] + (f" (`{name}`)" if counts[all_labels[name]] > 1 else "") for name in shown}


def tables(experiment, path):
    """The tables of an experiment, from the file of its results."""
    found = collections.defaultdict(list)
    points = collections.defaultdict(dict)
    with path.open() as file:
        for row in csv.DictReader(file):
            points[row["grid"]][row["point"]] = f"U = {row['at_utilization']}"
            found[row["grid"], row["series"], row["point"]].append(row)
    lines = []
    for table in experiment["table"]:
        grid = table["grid"]
        label = labels(experiment, table["series"])
        title, _, accepted = table["title"].partition(": ")
        if not accepted:
            lines += [f"## {title}", ""]
        for column in (column for column in table["columns"] if column in SHOWN):
            metric, statistic = column.split(":")
            caption, form = SHOWN[column]
            if accepted:
                caption = accepted[0].upper() + accepted[1:].replace("layland check", "`layland check`")
            rows = []
            for series in table["series"]:
                sets = [[row[metric] for row in found[grid, series, point]] for point in points[grid]]
                values = [[float(value) for value in one if value] for one in sets]
                cells = [form(STATISTICS[statistic](one)) if one else "–" for one in values]
                rows.append((label[series], cells))
            lines += pivot(caption, points[grid].values(), rows)
    return lines


def measured(experiment, folder):
    """A table for each figure of measured times."""
    lines = []
    for figure in experiment["figure"]:
        label = labels(experiment, figure["series"])
        path = folder / f"{figure['name']}.csv"
        if not path.exists():
            continue
        rows = collections.defaultdict(list)
        points = {}
        with path.open() as file:
            for row in csv.DictReader(file):
                points[row["x"]] = f"U = {row['x']}"
                rows[label[row["series"]]].append(f"{float(row['y']):.3f}" if row["y"] else "–")
        lines += pivot(figure["y_label"], points.values(), rows.items())
    return lines


def page(name, part, title, about, lines):
    made = textwrap.fill(f"`tools/make_results.py {part}` writes this page. {about}", 120, break_on_hyphens=False)
    head = [f"# {title}", "", made, ""]
    (RESULTS / f"{name}.md").write_text("\n".join(head + lines).rstrip("\n") + "\n")


def of_experiment(name, arguments, folder):
    options = [*EXPERIMENTS[name], *(["--no-timing"] if arguments.no_timing else [])]
    subprocess.run([arguments.program, "lab", "run", name, "--output", folder, "--quiet", *options], check=True,
                   stdout=subprocess.DEVNULL)
    experiment = tomllib.loads((folder / "experiment.toml").read_text())
    figures = RESULTS / name
    figures.mkdir(parents=True, exist_ok=True)
    shown = re.findall(rf"\(results/{name}/([\w-]+\.svg)\)", (RESULTS.parent / f"{name}.md").read_text())
    for picture in [*folder.glob("figures/*.svg"), *folder.glob("measured/*.svg")]:
        if picture.name in shown:
            shutil.copy(picture, figures)
    provenance = (folder / "claims.txt").read_text().splitlines()[1]
    about = f"It has the tables of {provenance}. [The text](../{name}.md) says what they show."
    if "table" in experiment:
        page(name, name, experiment["title"], about, tables(experiment, folder / "results.csv"))
    if lines := measured(experiment, folder / "measured"):
        about = f"Its times are those of one machine, never the same twice. [The text](../{name}.md) says what they are."
        page(f"{name}-measured", name, f"{experiment['title']}: measured times", about, lines)


def of_paper(name, arguments, folder):
    subprocess.run([arguments.program, "lab", "paper", name, "--no-timing", "--output", folder, "--quiet", *PAPERS[name]],
                   check=True, stdout=subprocess.DEVNULL)
    pages = RESULTS / "papers"
    shutil.rmtree(pages / name, ignore_errors=True)
    shutil.copytree(folder / name, pages / name)
    shutil.copy(folder / f"{name}.md", pages)


def of_kernels(folder):
    cargo = ["cargo", "run", "--release", "-p", "layland-system-tests", "--bin", "overheads", "--"]
    subprocess.run([*cargo, "1", "1", folder], check=True, cwd=ROOT)
    for trace, picture in TRACES.items():
        shutil.copy(folder / f"{trace}-{KERNEL}.svg", RESULTS / "overheads" / f"{picture}.svg")


def main():
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("parts", nargs="+", metavar="PART", choices=[*EXPERIMENTS, *PAPERS, "overheads"])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target" / "dist" / "layland")
    parser.add_argument("--no-timing", action="store_true", help="leave the measured times as they are")
    arguments = parser.parse_args()
    for part in arguments.parts:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            if part == "overheads":
                of_kernels(folder)
            elif part in PAPERS:
                of_paper(part, arguments, folder)
            else:
                of_experiment(part, arguments, folder)
        print(f"{part}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
