"""Holds the policies that files of SimSo are given against SimSo itself.

    python3 -m venv VENV && VENV/bin/pip install simso==0.8.5
    VENV/bin/python tools/compare simso
    VENV/bin/python tools/compare simso --write crates/layland-testkit/vectors/simso

Each scheduler of SimSo that `layland` reads as a policy is run by both on random files: periodic tasks with
implicit deadlines whose times are multiples of 100 us, on one to three CPUs, half of the sets at 80 % or more.
Without ties no two periods are equal, and releases are shifted so that no two deadlines are; schedulers for which
all tasks have to begin at 0 are left out of that. With ties all tasks begin at 0. Schedules are the same if every
job runs at the same instants, on whichever CPU; times may differ by TOLERANCE nanoseconds, because SimSo rounds to
its cycles. It prints how many schedules are the same, how many differ, and of how many sets SimSo or layland makes
none.

With --write it keeps the first sets with the same schedules, and what SimSo makes of them, of each scheduler that is read
without a warning.
"""

import contextlib
import io
import json
import pathlib
import pkgutil
import random
import subprocess
import tempfile
import warnings

import shared

TOLERANCE = 100
UNTIL_MS = 80
ON_ONE_CPU = {"EDF_mono", "RM_mono", "CC_EDF", "Static_EDF"}
# They look at the last job of every task, and there is none before its first release.
FROM_ZERO = {"BF", "DP_WRAP", "EDF2", "LRE_TL", "U_EDF", "WC_U_EDF", "NVNLF", "RUN", "WC_RUN"}
PERIODS = [4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 30, 40]
KEPT = 3


def drawn(draw, name, ties):
    """Tasks as (WCET, period, offset) in microseconds, and how many CPUs there are."""
    cpus = 1 if name in ON_ONE_CPU else draw.choice([2, 3])
    full = draw.uniform(0.8, 1) if draw.random() < 0.5 else draw.uniform(0.4, 0.8)
    count = draw.randint(cpus + 1, 2 * cpus + 3)
    parts = [draw.random() for _ in range(count)]
    periods = draw.choices(PERIODS[:8], k=count) if ties else draw.sample(PERIODS, count)
    tasks = []
    for part, period in zip(parts, periods, strict=True):
        wcet = max(1, int(min(0.95, part * full * cpus / sum(parts)) * period * 10)) * 100
        tasks.append((wcet, period * 1000, 0 if ties else 7 * len(tasks)))
    return tasks, cpus


def xml(tasks, cpus, name):
    """The file of SimSo, which writes numbers as Python does."""
    head = f'class="simso.schedulers.{name}" overhead="0" overhead_activate="0" overhead_terminate="0"'
    lines = [
        '<?xml version="1.0" ?>',
        f'<simulation duration="{UNTIL_MS * 1000000}" cycles_per_ms="1000000" etm="wcet">',
        f"  <sched {head}/>",
        '  <caches memory_access_time="100"/>',
        '  <processors migration_overhead="0">',
    ]
    for cpu in range(1, cpus + 1):
        lines.append(f'    <processor name="CPU {cpu}" id="{cpu}" cl_overhead="0" cs_overhead="0" speed="1"/>')
    lines += ["  </processors>", "  <tasks>", '    <field name="priority" type="int"/>']
    for index, (wcet, period, offset) in enumerate(tasks):
        lines.append(
            f'    <task name="t{index}" id="{index + 1}" task_type="Periodic" abort_on_miss="no"'
            f' period="{period / 1000}" activationDate="{offset / 1000}" list_activation_dates=""'
            f' deadline="{period / 1000}" WCET="{wcet / 1000}" ACET="0" et_stddev="0" base_cpi="1" instructions="0" mix="0.5"'
            f' preemption_cost="0" priority="{index * 7 % 11}"/>'
        )
    return "\n".join([*lines, "  </tasks>", "</simulation>", ""])


def in_simso(path):
    """When each job ran, as SimSo says: by task and job, from and to."""
    from simso.configuration import Configuration
    from simso.core import JobEvent, Model

    configuration = Configuration(str(path))
    model = Model(configuration)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.run_model()
    runs = {}
    for position, task in enumerate(model.task_list):
        number = {job: seq for seq, job in enumerate(task.jobs)}
        since = {}
        for at, event in task.monitor:
            job = number[event.job]
            if event.event == JobEvent.EXECUTE:
                since[job] = at
            elif event.event in (JobEvent.PREEMPTED, JobEvent.TERMINATED, JobEvent.ABORTED) and job in since:
                runs.setdefault((position, job), []).append((since.pop(job), at))
        for job, at in since.items():
            runs.setdefault((position, job), []).append((at, configuration.duration))
    return runs


def here(program, path, folder):
    """The schedule of layland, under the policy that the file requests; none if it refuses the set."""
    out = folder / "trace.json"
    out.unlink(missing_ok=True)
    command = [program, "sim", path, "--until", f"{UNTIL_MS}ms", "--chart", "none", "-o", out]
    subprocess.run(command, capture_output=True, text=True, check=False)
    if not out.exists():
        return None
    runs = {}
    for segment in json.loads(out.read_text())["segments"]:
        runs.setdefault((segment["task"], segment["seq"]), []).append((segment["start"], segment["end"]))
    return runs


def said_of(program, path):
    """The output of layland about a file."""
    done = subprocess.run([program, "sim", path, "--until", "1ms"], capture_output=True, text=True, check=False)
    return done.stderr + done.stdout


def merged(runs):
    """Stretches of a job that follow each other at once are one."""
    result = {}
    for job, stretches in runs.items():
        whole = []
        for start, end in sorted(stretches):
            if end - start <= TOLERANCE:
                continue
            if whole and start - whole[-1][1] <= TOLERANCE:
                whole[-1] = (whole[-1][0], end)
            else:
                whole.append((start, end))
        if whole:
            result[job] = whole
    return result


def is_same(ours, theirs):
    def near(a, b):
        times = zip(a, b, strict=False)
        return len(a) == len(b) and all(
            abs(x - y) <= TOLERANCE for one, other in times for x, y in zip(one, other, strict=True)
        )

    return ours.keys() == theirs.keys() and all(near(ours[job], theirs[job]) for job in ours)


def compared(program, name, ties, sets, seed, folder):
    """The numbers of schedules that agree, differ, fail in SimSo or are refused; and the first sets that agree."""
    draw = random.Random(f"{seed} {name} {ties}")
    counts = dict.fromkeys(("same", "differ", "SimSo fails", "refused"), 0)
    kept = []
    for _ in range(sets):
        tasks, cpus = drawn(draw, name, ties)
        path = folder / "set.xml"
        path.write_text(xml(tasks, cpus, name))
        ours = here(program, path, folder)
        # SimSo raises whatever its schedulers run into.
        try:
            theirs = in_simso(path)
        except Exception:
            counts["SimSo fails"] += 1
            continue
        if ours is None:
            counts["refused"] += 1
        elif is_same(merged(ours), merged(theirs)):
            counts["same"] += 1
            runs = [[*job, *run] for job, whole in sorted(merged(theirs).items()) for run in whole]
            kept.append({"xml": path.read_text(), "runs": runs})
        else:
            counts["differ"] += 1
    return counts, kept


def add_arguments(parser):
    parser.add_argument("schedulers", nargs="*", help="by default all of SimSo")
    parser.add_argument("--sets", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER")


def run(arguments):
    import simso.schedulers

    modules = [module.name for module in pkgutil.iter_modules(simso.schedulers.__path__)]
    names = arguments.schedulers or [name for name in modules if name != "RUNServer"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in names:
            path = folder / "set.xml"
            path.write_text(xml([(1000, 4000, 0)], 1, name))
            said = said_of(arguments.program, path)
            if "no policy is the scheduler" in said:
                print(f"{name:14} no policy", flush=True)
                continue
            for ties in (False, True):
                if not ties and name in FROM_ZERO:
                    continue
                counts, kept = compared(arguments.program, name, ties, arguments.sets, arguments.seed, folder)
                told = ", ".join(f"{what} {count}" for what, count in counts.items() if count)
                print(f"{name:14} {'ties' if ties else 'no ties':8} {told}", flush=True)
                decides = not ties or name in FROM_ZERO
                if arguments.write and decides and kept and "makes other schedules" not in said:
                    shared.write_vectors(arguments.write / f"{name}.json", kept[:KEPT])
