#!/usr/bin/env python3
"""Holds the tests for graphs that share CPUs against DAG-scheduling, the library of a survey of DAG tasks.

    git clone https://github.com/mive93/DAG-scheduling FOLDER
    python3 tools/compare_dags.py target/release/layland --dags FOLDER      # needs g++ and libyaml-cpp-dev

Verucchi, Olmedo and Bertogna (Real-Time Systems 2023) implement the response times of Melani et al. 2015 under global EDF
and deadline-monotonic priorities, as GRAPH-EDF and GRAPH-DM do. `layland gen` draws sets of four graphs on four CPUs,
with implicit and with constrained deadlines. One unit of the library is one nanosecond here, so that both round times of
the same size.

GRAPH-EDF and GRAPH-DM have to accept what the library accepts, and it ends with 1 if they do not. They accept more: the
library rounds the interference of others down and keeps the fraction of the graph's own, and under EDF it counts work
that is carried in where all of it is due too late. Sets in which two graphs have one deadline are left out: there the
library takes some order. Without the library it says what it needs, and does nothing.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

PEER = r"""
#include "dagSched/tests.h"
#include <iostream>
using namespace dagSched;
int main() {
    int cpus, graphs;
    while (std::cin >> cpus >> graphs) {
        Taskset set;
        for (int k = 0; k < graphs; ++k) {
            float period, deadline;
            int nodes, edges;
            std::cin >> period >> deadline >> nodes >> edges;
            DAGTask task(period, deadline);
            std::vector<SubTask*> all;
            for (int j = 0; j < nodes; ++j) {
                all.push_back(new SubTask);
                all[j]->id = j;
                std::cin >> all[j]->c;
            }
            for (int j = 0; j < edges; ++j) {
                int from, to;
                std::cin >> from >> to;
                all[from]->succ.push_back(all[to]);
                all[to]->pred.push_back(all[from]);
            }
            task.setVertices(all);
            task.topologicalSort();
            task.computeLength();
            task.computeVolume();
            task.computeWorstCaseWorkload();
            set.tasks.push_back(task);
        }
        std::cout << GP_FP_EDF_Melani2015_C(set, cpus) << GP_FP_FTP_Melani2015_C(set, cpus) << std::endl;
    }
}
"""

SOURCES = ("DAGTask/DAGTask", "DAGTask/DAGTask_Melani", "DAGTask/DAGTask_io", "SubTask", "Taskset", "SP-Tree", "utils")
TESTS = ("Melani2015", "tests_common")


def build(folder, source, program):
    source.write_text(PEER)
    parts = [f"src/{name}.cpp" for name in SOURCES] + [f"src/tests/{name}.cpp" for name in TESTS]
    command = ["g++", "-std=c++17", "-O1", "-w", f"-I{folder / 'include'}", source]
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layland", help="the program")
    parser.add_argument("--dags", type=pathlib.Path, help="a clone of DAG-scheduling")
    parser.add_argument("--sets", type=int, default=300, help="sets of each kind and load")
    arguments = parser.parse_args()
    if not arguments.dags or not (arguments.dags / "include/dagSched").is_dir():
        print("skipped: needs DAG-scheduling (--dags FOLDER)")
        return 0
    tally = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        build(arguments.dags, folder / "peer.cpp", folder / "peer")
        for utilization in ("0.8", "1", "1.4", "1.8", "2.2"):
            for deadlines in ("implicit", "factor:0.6..1"):
                sets = drawn(arguments.layland, utilization, deadlines, arguments.sets)
                path = folder / "sets.jsonl"
                path.write_text("".join(f"{line}\n" for line, _ in sets))
                command = [arguments.layland, "check", path, "-p", "g-edf,g-dm", "--test", "GRAPH-EDF,GRAPH-DM"]
                ours = subprocess.run([*command, "--no-margin", "--json"], capture_output=True, text=True).stdout
                text = "".join(f"{as_text(one)}\n" for _, one in sets)
                theirs = subprocess.run([folder / "peer"], input=text, check=True, capture_output=True, text=True)
                for one, their in zip(ours.splitlines(), theirs.stdout.split(), strict=True):
                    for policy, said in zip(json.loads(one)["policies"], their, strict=True):
                        tally[policy["policy"], policy["verdict"] == "yes", said == "1"] += 1
    for policy in ("g-edf", "g-dm"):
        both, here, there, none = (tally[policy, *pair] for pair in ((1, 1), (1, 0), (0, 1), (0, 0)))
        print(f"{policy}: {both} sets by both, {here} here alone, {there} there alone, {none} by none")
    return 1 if tally["g-edf", 0, 1] or tally["g-dm", 0, 1] else 0


if __name__ == "__main__":
    sys.exit(main())
