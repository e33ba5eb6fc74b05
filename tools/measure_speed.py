#!/usr/bin/env python3
"""Measures how fast the command `layland` is, and writes docs/speed.md.

    cargo build --profile dist -p layland
    python3 tools/measure_speed.py [--program target/dist/layland] [--runs 5] [--page docs/speed.md]
                                   [--schedcat FOLDER] [--short]

It fetches nothing. Peers are measured where they are installed: SimSo if this Python can import it, SchedCAT if
`--schedcat` names a checkout (its simulator is compiled with g++ and GMP). The page names
the peers that are not installed.

Method: each command is a process of its own on one CPU, and its time is what the kernel counts for it (user
and system), so that other programs cost less than they would in elapsed time. Commands of one table take turns, and a
figure is the median of `--runs` runs with the least and the most behind it. A rate of the simulator is a slope: jobs of
a long run less those of a short one, by the difference of their times, so that starting up does not count.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETS = ROOT / "crates" / "layland-testkit" / "benches" / "sets"

SIMSO = """
import sys
from simso.core import Model
from simso.configuration import Configuration
tasks, cpus, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
configuration = Configuration()
configuration.duration = int(seconds * 1000 * configuration.cycles_per_ms)
for index, line in enumerate(open(tasks)):
    wcet, period = (float(number) / 1000 for number in line.split())
    configuration.add_task(name=f"t{index}", identifier=index, period=period, activation_date=0, wcet=wcet,
                           deadline=period, abort_on_miss=False)
for index in range(cpus):
    configuration.add_processor(name=f"cpu{index}", identifier=index)
configuration.scheduler_info.clas = "simso.schedulers.EDF"
configuration.check_all()
model = Model(configuration)
model.run_model()
print(sum(1 for task in model.results.tasks.values() for job in task.jobs if job.response_time is not None))
"""

OWN_POLICY = """
import sys
import layland


class Key(layland.Policy):
    def key(self, job, now):
        return job.deadline


class FixedKey(Key):
    fixed_key = True


class Handlers(layland.Policy):
    def setup(self, tasks, cpus):
        self.ready, self.on = [], [None] * cpus

    def on_release(self, job, now):
        self.ready.append(job)

    def on_completion(self, job, now):
        self.ready.remove(job)
        self.on = [None if on is job else on for on in self.on]

    def decide(self, now):
        first = sorted(self.ready, key=lambda job: (job.deadline, job.task.rank))[: len(self.on)]
        self.on = [job if job in first else None for job in self.on]
        for job in first:
            if job not in self.on:
                self.on[self.on.index(None)] = job
        return self.on


name, path, cpus, seconds = sys.argv[1:]
tasks = layland.TaskSet.load(path, cpus=int(cpus))
print(tasks.simulate(globals()[name], until=f"{seconds}s").total["completed"])
"""


class Failed(Exception):
    """A command that does not do what is measured."""


def run(command, stdout=None, environment=None):
    """Runs a command on one CPU; yes, no and unknown are answers.

    Its seconds of CPU time, its largest resident set in MB, and what it printed.
    """
    cpu = {max(os.sched_getaffinity(0))}
    with tempfile.TemporaryFile() as captured, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=stdout or captured,
            stderr=errors,
            env={**os.environ, **(environment or {})},
            preexec_fn=lambda: os.sched_setaffinity(0, cpu),
        )
        # The figure of the kernel at the end includes this interpreter, of which the child is a copy before it starts:
        # look up its own resident set while it runs.
        memory, status = 0.0, None
        while status is None:
            memory = resident(child.pid) or memory
            pid, ended, usage = os.wait4(child.pid, os.WNOHANG)
            if pid == child.pid:
                status = ended
            else:
                time.sleep(0.01)
        child.returncode = os.waitstatus_to_exitcode(status)
        captured.seek(0)
        errors.seek(0)
        if child.returncode not in (0, 1, 4):
            raise Failed(f"{command} ended with {child.returncode}: {errors.read().decode()[:500]}")
        return usage.ru_utime + usage.ru_stime, memory, captured.read()


def resident(pid):
    """The largest resident set of a process so far, in MB; None if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    sizes = [int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")]
    return sizes[0] if sizes else None


def spread(values):
    return statistics.median(values), min(values), max(values)


def figure(number):
    """Three digits, with the unit that suits."""
    for limit, unit in ((1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.3g}{unit}"
    return f"{number:.3g}"


def cell(values):
    median, least, most = spread(values)
    if len(values) == 1:
        return figure(median)
    return f"{figure(median)} ({figure(least)} to {figure(most)})"


def tasks_of(name, folder):
    """A set as lines of microseconds, and its number of CPUs."""
    lines = (SETS / f"{name}.txt").read_text().splitlines()
    cpus = int(lines[0].split()[1])
    tasks = [line.replace("us", "") for line in lines[1:] if line.strip()]
    path = folder / f"{name}.us"
    path.write_text("\n".join(tasks) + "\n")
    return path, cpus


class Peers:
    """The peers that are installed, and why the others are not."""

    def __init__(self, arguments, folder):
        self.missing = []
        self.schedcat = self.build_schedcat(arguments.schedcat, folder)
        found = subprocess.run([sys.executable, "-c", "import simso"], capture_output=True, check=False)
        self.simso = found.returncode == 0
        if not self.simso:
            self.missing.append("SimSo: needs the Python package `simso`")
        found = subprocess.run([sys.executable, "-c", "import layland"], capture_output=True, check=False)
        self.package = found.returncode == 0
        if not self.package:
            self.missing.append("policies in Python: need the Python package `layland`")

    def build_schedcat(self, checkout, folder):
        if checkout is None:
            self.missing.append("SchedCAT: needs `--schedcat FOLDER`, a checkout")
            return None
        native = Path(checkout) / "native"
        program = folder / "schedcat_simulation"
        sources = [native / "src" / name for name in ("tasks.cpp", "schedule_sim.cpp", "edf/sim.cpp")]
        command = ["g++", "-O2", "-march=native", f"-I{native / 'include'}", "-o", program,
                   ROOT / "tools" / "schedcat_simulation.cpp", *sources, "-lgmpxx", "-lgmp"]
        built = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
        if built.returncode != 0:
            self.missing.append(f"SchedCAT: does not compile here ({built.stderr.strip().splitlines()[-1:]})")
            return None
        return program


def layland_simulation(program, policy, name, cpus, seconds):
    command = [program, "sim", SETS / f"{name}.txt", "--cpus", cpus, "--policy", policy, "--until", f"{seconds}s",
               "--json", "-q"]
    taken, memory, printed = run(command)
    page = json.loads(printed)
    result = page["results"][0]
    if "summary" not in result:
        raise Failed(f"{policy} refuses {name}")
    return taken, memory, result["summary"]["total"]["completed"]


def slope(short, long):
    return (long[2] - short[2]) / (long[0] - short[0])


def simulation(program, peers, folder, runs, short):
    """The table of the simulator."""
    policies = ["g-edf", "p-edf", "hpa-edf", "strong-edf", "dl", "apedf", "run", "qps"]
    of_a, of_b = ((0.1, 1.1), (0.1, 0.4)) if short else ((500, 5500), (10, 160))
    horizons = {"a0": of_a, "a1": of_a, "b0": of_b}
    lines = ["| set | SchedCAT, global EDF | " + " | ".join(f"`{policy}`" for policy in policies) + " |",
             "|---|---|" + "---|" * len(policies)]
    ratios = []
    for name, (brief, long) in horizons.items():
        tasks, cpus = tasks_of(name, folder)
        rates = {policy: [] for policy in policies}
        theirs = []
        for _ in range(runs):
            for policy in policies:
                try:
                    measured = [layland_simulation(program, policy, name, cpus, seconds) for seconds in (brief, long)]
                except Failed:
                    continue
                rates[policy].append(slope(*measured))
            if peers.schedcat:
                measured = []
                for seconds in (brief, long):
                    taken, memory, printed = run([peers.schedcat, tasks, cpus, int(seconds * 1_000_000)])
                    measured.append((taken, memory, int(printed.split()[0])))
                theirs.append(slope(*measured))
        cells = [cell(rates[policy]) if rates[policy] else "refuses" for policy in policies]
        lines.append(f"| {name} | {cell(theirs) if theirs else 'not measured'} | " + " | ".join(cells) + " |")
        if theirs:
            ratio = statistics.median(rates["g-edf"]) / statistics.median(theirs)
            ratios.append(f"{ratio:.2f} ({name})")
    if ratios:
        lines += ["", f"`g-edf` by SchedCAT: {', '.join(ratios)}."]
    return lines


def whole_runs(program, peers, folder, runs, short):
    """Ten simulated seconds, all of the process."""
    lines = ["| set | Layland, `g-edf` | Layland with a trace as JSON | SimSo, EDF |", "|---|---|---|---|"]
    for name in ("a1", "b0"):
        tasks, cpus = tasks_of(name, folder)
        plain, traced, theirs = [], [], []
        for _ in range(runs):
            seconds, _, jobs = layland_simulation(program, "g-edf", name, cpus, 10)
            plain.append(jobs / seconds)
            out = folder / "trace.json"
            seconds, _, _ = run([program, "sim", SETS / f"{name}.txt", "--cpus", cpus, "--policy", "g-edf", "--until", "10s",
                              "-q", "-o", out])
            traced.append(jobs / seconds)
        if peers.simso:
            # Once: it takes minutes.
            seconds, _, printed = run([sys.executable, "-c", SIMSO, tasks, cpus, 0.5 if short else 10])
            theirs.append(int(printed.split()[-1]) / seconds)
        lines.append(f"| {name} | {cell(plain)} | {cell(traced)} | {cell(theirs) if theirs else 'not measured'} |")
    return lines


def own_policies(_program, peers, folder, runs, short):
    """Global EDF as a class in Python."""
    lines = ["| set | `key` | `key`, fixed | `on_release`, `on_completion`, `decide` | SimSo, EDF | by SimSo |",
             "|---" * 6 + "|"]
    brief, long = (0.2, 0.4) if short else (2, 12)
    for name in ("a1", "b0"):
        tasks, cpus = tasks_of(name, folder)

        def rate(command, times):
            """Events for a second: each job is released and completes."""
            measured = []
            for seconds in times:
                taken, memory, printed = run([*command, seconds])
                measured.append((taken, memory, 2 * int(printed.split()[-1])))
            return slope(*measured)

        rates = {"Key": [], "FixedKey": [], "Handlers": []}
        if peers.package:
            script = folder / "own_policy.py"
            script.write_text(OWN_POLICY)
            for _ in range(runs):
                for policy, measured in rates.items():
                    command = [sys.executable, script, policy, SETS / f"{name}.txt", cpus]
                    measured.append(rate(command, (brief, long)))
        # Once: it takes minutes.
        theirs = [rate([sys.executable, "-c", SIMSO, tasks, cpus], (0.1, 0.2 if short else 1.1))] if peers.simso else []
        cells = [cell(measured) if measured else "not measured" for measured in [*rates.values(), theirs]]
        ratio = f"{statistics.median(rates['Key']) / theirs[0]:.0f}" if rates["Key"] and theirs else ""
        lines.append(f"| {name} | " + " | ".join([*cells, ratio]) + " |")
    return lines


def batches(program, _peers, folder, runs, short):
    """Many sets in a stream."""
    count = 100 if short else 10_000
    sets = folder / "sets.jsonl"
    generate = [program, "gen", "-n", 20, "-u", 4, "--cpus", 8, "--sets", count, "--to", "jsonl"]
    with open(sets, "wb") as file:
        run(generate, stdout=file)
    few = folder / "few.jsonl"
    few.write_text("".join(sets.read_text().splitlines(keepends=True)[:count // 10]))
    commands = [
        ("generated", "gen -n 20 -u 4 --cpus 8 --to jsonl", generate, count),
        ("`g-edf`, verdicts", "check sets.jsonl -p g-edf --no-margin",
         [program, "check", sets, "-p", "g-edf", "--no-margin"], count),
        ("`g-edf`, JSON", "check sets.jsonl -p g-edf --json", [program, "check", sets, "-p", "g-edf", "--json"], count),
        ("`p-edf`, verdicts", "check sets.jsonl -p p-edf --no-margin",
         [program, "check", sets, "-p", "p-edf", "--no-margin"], count),
        ("`p-edf`, JSON", "check sets.jsonl -p p-edf --json", [program, "check", sets, "-p", "p-edf", "--json"], count),
        ("all policies, JSON", "check sets.jsonl --json", [program, "check", few, "--json"], count // 10),
        ("simulated for 1 s", "sim sets.jsonl -p g-edf --until 1s --json",
         [program, "sim", few, "-p", "g-edf", "--until", "1s", "--json"], count // 10),
    ]
    rates = {what: [] for what, *_ in commands}
    memory = {}
    for _ in range(runs):
        for what, _, command, sets_in in commands:
            with open(os.devnull, "wb") as nowhere:
                seconds, peak, _ = run(command, stdout=nowhere)
            rates[what].append(sets_in / seconds)
            memory[what] = peak
    lines = ["| what | command | sets/s | memory, MB |", "|---|---|---|---|"]
    lines += [f"| {what} | `layland {text}` | {cell(rates[what])} | {memory[what]:.0f} |" for what, text, *_ in commands]
    return lines


HUGE_PAGES = "glibc.malloc.hugetlb=1"


def scale(program, _peers, folder, runs, short):
    """A million tasks."""
    tasks, cpus = (1000, 64) if short else (1_000_000, 4096)
    path = folder / "large.jsonl"
    with open(path, "wb") as file:
        run([program, "gen", "-n", tasks, "-u", cpus * 3 // 4, "--cpus", cpus, "--generator", "uunifast",
             "--periods", "log:100ms..1s", "--to", "jsonl"], stdout=file)
    lines = [f"| policy, {tasks:,} tasks on {cpus:,} CPUs, 1 s | seconds | with huge pages | memory, MB |",
             "|---|---|---|---|"]
    for policy in ("g-edf", "p-edf", "hpa-edf"):
        command = [program, "sim", path, "-p", policy, "--until", "1s", "-q"]
        times, memory = {"": [], HUGE_PAGES: []}, 0
        for _ in range(min(runs, 3)):
            for tunables, taken in times.items():
                with open(os.devnull, "wb") as nowhere:
                    seconds, peak, _ = run(command, stdout=nowhere, environment={"GLIBC_TUNABLES": tunables})
                taken.append(seconds)
                memory = max(memory, peak)
        lines.append(f"| `{policy}` | {cell(times[''])} | {cell(times[HUGE_PAGES])} | {memory:.0f} |")
    return lines


def start(program, _peers, _folder, runs, _short):
    """The cost of starting the program."""
    lines = ["| command | ms |", "|---|---|"]
    for arguments in (["--version"], ["sim", "demo:dhall", "--policy", "g-edf"], ["check", "demo:dhall"]):
        times = [1000 * run([program, *arguments])[0] for _ in range(4 * runs)]
        lines.append(f"| `layland {' '.join(arguments)}` | {cell(times)} |")
    return lines


# Which part of the simulator a symbol belongs to: the first whose crate is named in it.
PARTS = {
    "deciding": ["layland_policy"],
    "statistics": ["layland_trace", "hdrhistogram"],
    "engine": ["layland_sim", "layland_engine"],
}


def instructions(program, folder, tasks, cpus, policy, seconds):
    """The instructions of a simulation by part, and how many jobs it completed."""
    profile = folder / "callgrind"
    command = [program, "sim", tasks, "--cpus", cpus, "--policy", policy, "--until", f"{seconds}s", "--json", "-q"]
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    result = json.loads(run([*valgrind, *command])[2])
    parts, names, part, is_call = dict.fromkeys([*PARTS, "rest"], 0), {}, "rest", False
    for line in profile.read_text().splitlines():
        if line.startswith(("fn=", "cfn=")):
            number, _, name = line.split("=", 1)[1].partition(" ")
            names.setdefault(number, name)
            if line.startswith("fn="):
                crates = ((part, crate) for part, crates in PARTS.items() for crate in crates)
                part = next((part for part, crate in crates if crate in names[number]), "rest")
        elif line.startswith("calls="):
            # The next line has what the callee costs, which is counted there.
            is_call = True
        elif line and (line[0].isdigit() or line[0] in "+-*"):
            if not is_call:
                parts[part] += int(line.split()[1])
            is_call = False
    return parts, result["results"][0]["summary"]["total"]["completed"]


def costs(program, peers, folder, runs, short):
    if not shutil.which("valgrind"):
        return ["Not measured: valgrind is not installed."]
    lines = ["| set | policy | a job | deciding | statistics | engine | rest |", "|---|---|---|---|---|---|---|"]
    for name, cpus, brief, long in [("a0", 8, 30, 60), ("a1", 8, 30, 60), ("b0", 24, 30, 40)][: 1 if short else 3]:
        for policy in ["g-edf"] if short else ["g-edf", "dl"]:
            few, many = (
                instructions(program, folder, SETS / f"{name}.txt", cpus, policy, seconds)
                for seconds in ((0.1, 0.3) if short else (brief, long))
            )
            jobs = many[1] - few[1]
            parts = {part: (many[0][part] - few[0][part]) / jobs for part in few[0]}
            figures = [sum(parts.values()), *(parts[part] for part in [*PARTS, "rest"])]
            lines.append(f"| {name} | `{policy}` | " + " | ".join(f"{figure:,.0f}" for figure in figures) + " |")
    return lines


TABLES = [
    ("The simulator", simulation,
     "Jobs for a second of CPU time, from a long run and a short one. Layland counts misses, tardiness, the distribution "
     "of response times, preemptions and migrations; SchedCAT counts tardiness. The sets are those of "
     "`crates/layland-testkit/benches/sets`: 8 CPUs and 16 tasks with utilization 7.6 (a), 24 and 240 with 18 (b).\n\n"
     "`layland sim a0.txt --cpus 8 --policy g-edf --until 5500s --json -q`, and the same with 500 s"),
    ("What a job costs", costs,
     "Instructions for a job, from a long run and a short one under valgrind's callgrind, by the crate of the function "
     "(functions that the compiler has inlined into the loop of the engine count there, and so do parts of the "
     "statistics). A job is a release, a completion, and the execution between them: some one and a half decisions and "
     "one and a half segments at a1.\n\n"
     "The floor is some 300 to 400: an operation of a heap for the release and one for the completion (some 60 each in "
     "the first-level cache), a comparison with the running job that comes last, and a dozen counters. The cost above it "
     "is the price of running any policy in any engine: two events and a decision that pass the boundary of policies "
     "(some 100), the agendas of arrivals, ends and timers (250), the set of running jobs and the choice of their CPUs "
     "(400), the execution on every CPU and the segments that show it (350), misses, preemptions, migrations and the "
     "distribution of response times (200). No part stands out. `dl` moves a thread between run queues about once for "
     "each job, and so pays for four operations of queues, with its view of every CPU."),
    ("Ten seconds, with everything around them", whole_runs,
     "Jobs for a second of CPU time of the whole process: start, reading, simulation, results.\n\n"
     "`layland sim a1.txt --cpus 8 --policy g-edf --until 10s -q -o trace.json`"),
    ("A policy in Python", own_policies,
     "Global EDF as a class, events for a second of CPU time: a job has two, its release and its completion. From a long "
     "run and a short one, the package with profile `dist` and one interpreter; *by SimSo* is the ratio of `key` to it."),
    ("Many sets in a stream", batches, "20 tasks, 8 CPUs, utilization 4; a set is a line of JSON."),
    ("A million tasks", scale,
     "`layland gen -n 1000000 -u 3072 --cpus 4096 --generator uunifast --periods log:100ms..1s --to jsonl`, then "
     "`layland sim large.jsonl -p POLICY --until 1s -q`, the chart of its first moments included. A job waits for memory "
     "more than it computes: with `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` in the environment, glibc asks for huge pages."),
    ("Starting", start, "CPU time of the whole process."),
]


def wrapped(text):
    return "\n\n".join(textwrap.fill(part, 112) for part in text.split("\n\n")).splitlines()


def machine():
    model = "an unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{os.cpu_count()} x {model}, Linux {platform.release().split('-')[0]}, Python {platform.python_version()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "dist" / "layland")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "speed.md")
    parser.add_argument("--schedcat", type=Path)
    parser.add_argument("--short", action="store_true", help="small inputs: whether the script works, not how fast")
    arguments = parser.parse_args()
    if not arguments.program.exists():
        parser.error(f"{arguments.program} is not there: cargo build --profile dist -p layland")
    folder = Path(tempfile.mkdtemp(prefix="layland-speed-"))
    try:
        peers = Peers(arguments, folder)
        version = run([arguments.program, "--version"])[2].decode().strip()
        page = [
            "# How fast, and how we know",
            "",
            *wrapped(
                "`tools/measure_speed.py` wrote this page: its header describes the method. Every figure is a median, with "
                "the least and the most of several runs; a ratio is of two figures of the same table, whose commands took "
                "turns. Absolute figures are of this machine, on which other programs ran."
            ),
            "",
            f"- {version}, profile `dist`; runs of each command: {arguments.runs}",
            f"- {machine()}",
        ]
        page += [f"- not measured: {what}" for what in peers.missing]
        for title, table, text in TABLES:
            print(title, file=sys.stderr)
            page += ["", f"## {title}", "", *wrapped(text), ""]
            page += table(arguments.program, peers, folder, arguments.runs, arguments.short)
        page += [
            "",
            "## What this page does not measure",
            "",
            *wrapped(
                "`cargo bench -p layland-testkit` measures the parts: analyses (`--bench analyses`), decisions (`--bench "
                "affinity`, `--bench optimal`, `--bench mixed`) and the simulator without the command around it (`--bench "
                "simulator`). Real threads are on [a page of their own](overheads.md)."
            ),
        ]
        arguments.page.write_text("\n".join(page) + "\n")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
