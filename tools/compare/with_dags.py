"""Holds the tests for graphs that share CPUs against DAG-scheduling, the library of a survey of DAG tasks.

    git clone https://github.com/mive93/DAG-scheduling FOLDER
    python3 tools/compare dags --dags FOLDER      # needs g++ and libyaml-cpp-dev

Verucchi, Olmedo and Bertogna (Real-Time Systems 2023) implement the response times of Melani et al. 2015 under global EDF
and deadline-monotonic priorities, as GRAPH-EDF and GRAPH-DM do. `layland gen` draws sets of four graphs on four CPUs,
with implicit and with constrained deadlines. One unit of the library is one nanosecond here, so that both round times of
the same size.

GRAPH-EDF and GRAPH-DM have to accept what the library accepts, and it ends with 1 if they do not. They accept more: the
library rounds the interference of others down and keeps the fraction of the graph's own, and under EDF it counts work
that is carried in where all of it is due too late. Sets in which two graphs have one deadline are left out: there the
library takes some order. Without the library it says what it needs, and does nothing.
"""

import collections
import json
import pathlib
import subprocess
import tempfile

import shared

PEER = pathlib.Path(__file__).with_name("peer_dags.cpp")
SOURCES = ("DAGTask/DAGTask", "DAGTask/DAGTask_Melani", "DAGTask/DAGTask_io", "SubTask", "Taskset", "SP-Tree", "utils")
TESTS = ("Melani2015", "tests_common")


def build(folder, program):
    parts = [f"src/{name}.cpp" for name in SOURCES] + [f"src/tests/{name}.cpp" for name in TESTS]
    command = ["g++", "-std=c++17", "-O1", "-w", f"-I{folder / 'include'}", PEER]
    subprocess.run([*command, *(folder / part for part in parts), "-lyaml-cpp", "-o", program], check=True)


def graphs(one):
    """The graphs of a set: their tasks, in the order of the file."""
    place = {task["name"]: at for at, task in enumerate(one["task"])}
    first = list(range(len(place)))
    for at, task in enumerate(one["task"]):
        for other in task.get("follows", ()):
            joined, into = first[at], first[place[other]]
            first = [into if graph == joined else graph for graph in first]
    found = collections.defaultdict(list)
    for at, graph in enumerate(first):
        found[graph].append(one["task"][at])
    return list(found.values())


def ns(text):
    return int(text.removesuffix("ns"))


def deadline(graph):
    return ns(graph[0].get("deadline", graph[0]["period"]))


def as_text(one):
    """The set as the library reads it: a graph has one source and one sink, which execute nothing."""
    lines = [f"{one['platform']['cpus']} {len(graphs(one))}"]
    for graph in graphs(one):
        place = {task["name"]: at for at, task in enumerate(graph, 1)}
        edges = [(place[other], place[task["name"]]) for task in graph for other in task.get("follows", ())]
        before, after = {to for _, to in edges}, {start for start, _ in edges}
        inner = place.values()
        edges += [(0, at) for at in inner if at not in before]
        edges += [(at, len(graph) + 1) for at in inner if at not in after]
        work = [0, *(ns(task["wcet"]) for task in graph), 0]
        numbers = [ns(graph[0]["period"]), deadline(graph), len(work), len(edges), *work]
        lines.append(" ".join(map(str, numbers + [end for edge in edges for end in edge])))
    return "\n".join(lines)


def drawn(program, utilization, deadlines, count):
    command = [program, "gen", "-n", "4", "-u", utilization, "--cpus", "4", "--graphs", "gnp", "--nodes", "3..12"]
    command += ["--max", "3", "--periods", "log:50ns..500ns", "--period-granularity", "1ns", "--granularity", "1ns"]
    command += ["--deadlines", deadlines, "--sets", str(count), "--seed", "5", "--to", "jsonl"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    sets = [json.loads(line) for line in lines]
    differ = [len({deadline(graph) for graph in graphs(one)}) == len(graphs(one)) for one in sets]
    return [(line, one) for line, one, kept in zip(lines, sets, differ, strict=True) if kept]


def add_arguments(parser):
    parser.add_argument("--dags", type=pathlib.Path, help="a clone of DAG-scheduling")
    parser.add_argument("--sets", type=int, default=300, help="sets of each kind and load")


def run(arguments):
    if not arguments.dags or not (arguments.dags / "include/dagSched").is_dir():
        print("skipped: needs DAG-scheduling (--dags FOLDER)")
        return 0
    tally = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        build(arguments.dags, folder / "peer")
        for utilization in ("0.8", "1", "1.4", "1.8", "2.2"):
            for deadlines in ("implicit", "factor:0.6..1"):
                sets = drawn(arguments.program, utilization, deadlines, arguments.sets)
                path = folder / "sets.jsonl"
                path.write_text("".join(f"{line}\n" for line, _ in sets))
                ours = shared.checked(arguments.program, path, "g-edf,g-dm", "GRAPH-EDF,GRAPH-DM", "--no-margin")
                text = "".join(f"{as_text(one)}\n" for _, one in sets)
                theirs = subprocess.run([folder / "peer"], input=text, check=True, capture_output=True, text=True)
                for policies, their in zip(ours, theirs.stdout.split(), strict=True):
                    for policy, said in zip(policies, their, strict=True):
                        tally[policy["policy"], policy["verdict"] == "yes", said == "1"] += 1
    for policy in ("g-edf", "g-dm"):
        both, here, there, none = (tally[policy, *pair] for pair in ((1, 1), (1, 0), (0, 1), (0, 0)))
        print(f"{policy}: {both} sets by both, {here} here alone, {there} there alone, {none} by none")
    return 1 if tally["g-edf", 0, 1] or tally["g-dm", 0, 1] else 0
