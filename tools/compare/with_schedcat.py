"""Holds schedulability tests and blocking bounds against SchedCAT itself.

    git clone https://github.com/brandenburg/schedcat FOLDER
    make -C FOLDER PYTHON=python2.7                     # needs SWIG, g++ and GMP
    python3 tools/compare schedcat --schedcat FOLDER
    python3 tools/compare schedcat --schedcat FOLDER --kit target/release/campaign
                                   [--write crates/layland-testkit/vectors/schedcat]

SchedCAT runs in a Python 2.7 of its own (`peer_schedcat.py`), and `layland check` reads the same sets. One unit of SchedCAT is one nanosecond here, so that both round at the same places. It draws

- `locks`: partitioned tasks of distinct priorities on two to four CPUs, every resource used on two CPUs or more, since
  SchedCAT counts local ones as global. Verdicts and all response times under MPCP, FMLP+ (preemptive) and DPCP, at the
  least common fixed point of SchedCAT's bounds and its suspension-aware response times.
- `msrp`: the same with local resources, MSRP by its classic bounds and by its holistic ones.
- `srp`: one CPU, EDF; SchedCAT's classic test for MSRP against SRP.
- `msrp-edf`: as `locks`, under EDF; SchedCAT's classic test for MSRP against MSRP-QPA.
- `edf`: global EDF by GFB, BAK, BAR, BCL, BCLI, RTA, FF-DBF, LOAD and LA, which is held against BAR, the modules in
  Python and those in C++; response times of RTA; tardiness under G-EDF and G-FL by a compliant vector, and Devi and
  Anderson's.
- `fp`: global fixed priorities by Bertogna's and Guan's response times.
- `split`: the first CPU under C=D splitting, the piece of the first task that does not fit as a whole included.
- `one`: one CPU: QPA, and response times under fixed priorities and EDF.

Some answers are known to be better here, and then they only have to be at least as good: SchedCAT does not limit what
one task adds to another in Bertogna's response times, takes the slack of all later deadlines for EDF on one CPU, searches
LOAD on a grid, counts each request alone under MSRP and EDF, and in BAR and LA lets a job miss that waits for one unit
less than it takes. It accepts by LOAD where the load is equal to its bound, which is not safe (docs/errata.md). Both
try speeds on grids in FF-DBF, each its own. Everything else has to be equal, and it ends with 1 if something is not.
The compliant vectors are those of SchedCAT's Python, since its C++ sometimes has larger bounds.

With --kit, the program of the test kit compares the blocking terms as well; with --write it keeps the first of these
sets as vectors. Without SchedCAT it says what it needs, and does nothing.
"""

import collections
import fractions
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import shared

PEER = pathlib.Path(__file__).with_name("peer_schedcat.py")
LOCKS = {
    "MPCP": "p-fp:locks=mpcp",
    "FMLP+": "p-fp:locks=fmlp+",
    "DPCP": "p-fp:locks=dpcp",
    "MSRP": "p-fp:locks=msrp",
    "MSRP-HOLISTIC": "p-fp:locks=msrp",
}
GLOBAL = ("GFB", "BAK", "BAR", "BCL", "BCLI", "G-RTA", "FF-DBF", "LOAD")
# LA without suspensions is BAR, with stricter conditions.
HELD_AGAINST = {name: name for name in GLOBAL} | {"LA": "BAR"}
AT_MOST = ("BERTOGNA-FP", "EDF-RTA", "DEVI-ANDERSON")
BETTER = ("BERTOGNA-FP", "BAR", "FF-DBF", "LOAD", "LA", "MSRP-QPA")
COLUMNS = {"MSRP": ("spin", "arrival"), "MSRP-HOLISTIC": ("spin", "arrival")}
KEPT = 12


def times(draw, count, load, constrained, shortest, longest):
    """Tasks as (WCET, period, deadline), which sum to about this load."""
    parts = [draw.expovariate(1) for _ in range(count)]
    tasks = []
    for part in parts:
        period = round(shortest * (longest / shortest) ** draw.random())
        wcet = min(period, max(1, round(part * load / sum(parts) * period)))
        tasks.append((wcet, period, draw.randint((wcet + period) // 2, period) if constrained else period))
    return tasks


def executing(draw, kind):
    while True:
        one = any_executing(draw, kind)
        # Where deadlines are equal, SchedCAT's response times of EDF leave out some jobs.
        if kind != "one" or len({deadline for _, _, deadline in one["times"]}) == len(one["times"]):
            return one


def any_executing(draw, kind):
    cpus = 1 if kind == "one" else draw.choice([2, 2, 3, 4])
    load = cpus * (draw.uniform(0.7, 1) if kind == "one" else draw.uniform(0.25, 0.95))
    # Fixed points for global scheduling skip a 64th of the way at a time: here they skip nothing.
    tasks = times(draw, draw.randint(cpus + 1, cpus + 5), load, draw.random() < 0.5, 4, 500 if kind == "one" else 63)
    if kind != "edf":
        tasks.sort(key=lambda task: task[2])
    return {"kind": kind, "cpus": cpus, "times": tasks}


def splitting(draw, kind):
    """Tasks of which one CPU takes some and a part of another, by falling utilization."""
    while True:
        tasks = times(draw, draw.randint(3, 7), draw.uniform(1.4, 1.95), False, 4, 500)
        shares = [fractions.Fraction(wcet, period) for wcet, period, _ in tasks]
        if len(set(shares)) == len(shares) and 1 < sum(shares) <= 2:
            return {"kind": kind, "cpus": 2, "times": tasks}


def on_first_cpu(program, path):
    """The tasks and budgets of CPU 0 under C=D splitting; none if some task has no place."""
    command = [program, "explain", path, "--policy", "cd:split=next-first"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    line = re.search(r"^CPU 0: (.*)$", said, re.MULTILINE)
    return line and sorted([int(task), int(budget)] for task, budget in re.findall(r"t(\d+) (\d+)ns in", line[1]))


def locking(draw, kind):
    """Tasks with sections, the highest priority first."""
    while not any((one := with_sections(draw, kind))["uses"]):
        pass
    return one


def with_sections(draw, kind):
    """A set with sections, of which maybe none is left."""
    cpus = 1 if kind == "srp" else draw.randint(2, 4)
    count = draw.randint(2, 6) if kind == "srp" else draw.randint(cpus, 3 * cpus)
    load = draw.uniform(0.3, 0.95) if kind == "srp" else cpus * draw.uniform(0.1, 0.55)
    tasks = times(draw, count, load, draw.random() < 0.5, 100, 5000)
    tasks.sort(key=lambda task: task[1] if draw.random() < 0.9 else draw.randint(100, 5000))
    cpu = [draw.randrange(cpus) for _ in tasks]
    resources = draw.randint(1, 4)
    uses = []
    for wcet, _, _ in tasks:
        left, mine = wcet, []
        for q in range(resources):
            most = max(1, int(wcet * draw.choice([0.05, 0.2, 0.6])))
            number, length = draw.choice([1, 1, 1, 2, 3]), draw.randint(1, most)
            if draw.random() < 0.5 and number * length <= left:
                mine.append((q, number, length))
                left -= number * length
        uses.append(mine)
    if kind in ("locks", "msrp-edf"):
        users = collections.defaultdict(set)
        for at, mine in enumerate(uses):
            for q, _, _ in mine:
                users[q].add(cpu[at])
        uses = [[use for use in mine if len(users[use[0]]) > 1] for mine in uses]
    homes = [draw.randrange(cpus) for _ in range(resources)]
    return {"kind": kind, "cpus": cpus, "times": tasks, "cpu": cpu, "uses": uses, "homes": homes}


DRAWN = {"locks": locking, "msrp": locking, "srp": locking, "msrp-edf": locking}
DRAWN |= {"edf": executing, "fp": executing, "one": executing, "split": splitting}


def steps(one, at):
    """The steps of a job: its sections, with its remaining execution spread around them."""
    sections = [(q, length) for q, number, length in one["uses"][at] for _ in range(number)]
    left = one["times"][at][0] - sum(length for _, length in sections)
    said = []
    for place, (q, length) in enumerate(sections):
        apart = left // (len(sections) + 1 - place)
        left -= apart
        said += [["run", apart]] if apart else []
        said += [["lock", q], ["run", length], ["unlock", q]]
    return said + ([["run", left]] if left else [])


def line(one):
    """The set as a line of JSON of layland."""
    tasks = []
    for at, (wcet, period, deadline) in enumerate(one["times"]):
        task = {"name": f"t{at}", "period": f"{period}ns", "deadline": f"{deadline}ns", "priority": at}
        task |= {"affinity": str(one["cpu"][at])} if "cpu" in one else {}
        if one.get("uses", [[]] * (at + 1))[at]:
            said = steps(one, at)
            task["steps"] = [f"{word} {what}ns" if word == "run" else f"{word} q{what}" for word, what in said]
        tasks.append(task | {"wcet": f"{wcet}ns"})
    homes = [{"name": f"q{q}", "home": home} for q, home in enumerate(one.get("homes", []))]
    return json.dumps({"layland": 1, "platform": {"cpus": one["cpus"]}, "resource": homes, "task": tasks})


def checked(program, path, policy, tests, *options):
    """For each set, whether each test accepts it, and the bounds of its tasks: kind, nanoseconds, their test."""
    found = []
    for (answer,) in shared.checked(program, path, policy, tests, "--all", "--effort", "0", *options):
        accepts = {test["test"]: test["verdict"] == "yes" for test in answer["tests"]}
        found.append((accepts, [(bound["kind"], bound.get("ns"), bound.get("by")) for bound in answer["bounds"]]))
    return found


def said_by_schedcat(arguments, sets):
    """The results of SchedCAT for each set; none if it cannot run."""
    command = [arguments.python, PEER, arguments.schedcat]
    lines = "".join(json.dumps(one) + "\n" for one in sets)
    try:
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    except OSError as error:
        return None, str(error)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1]
    # Some of its C++ prints, too.
    return [json.loads(one) for one in done.stdout.splitlines() if one.startswith("{")], ""


class Tally:
    """The number of sets on which both agree, and the sets on which they do not."""

    def __init__(self):
        self.counts = collections.defaultdict(collections.Counter)
        self.differ = []

    def verdict(self, name, one, ours, theirs):
        both = {(True, True): "accepted by both", (False, False): "by none"}
        told = both.get((ours, theirs), "by layland alone" if ours else "by SchedCAT alone")
        self.counts[name][told] += 1
        test = name.split(",")[0]
        if ours != theirs and not (test in BETTER and ours or test in ("LOAD", "FF-DBF")):
            self.differ.append((name, told, one))

    def times(self, name, one, bounds, theirs):
        """Holds the bounds that are of this test against the times of SchedCAT."""
        for at, ((_, ns, _), their) in enumerate(zip(bounds, theirs, strict=True)):
            is_less = ns < their and name in AT_MOST
            self.counts[name]["times equal" if ns == their else "times less" if is_less else "times differ"] += 1
            if ns != their and not is_less:
                self.differ.append((name, f"task {at}: {ns} here, {their} there", one))

    def responses(self, name, one, found, theirs):
        """Compares the verdicts of a test, and the response times if both accept."""
        accepts, bounds = found
        self.verdict(name, one, accepts[name], theirs is not None)
        if accepts[name] and theirs is not None:
            self.times(name, one, bounds, theirs)


def compared(tally, program, kind, path, sets, theirs):
    """Holds the answers about all sets of one kind against each other."""
    if kind in ("locks", "msrp", "fp"):
        for name in theirs[0]:
            answers = checked(program, path, LOCKS.get(name, "g-fp"), name)
            for one, ours, their in zip(sets, answers, theirs, strict=True):
                their = their[name]
                tally.responses(name, one, ours, their["response"] if isinstance(their, dict) else their)
    elif kind == "srp":
        for one, ours, their in zip(sets, checked(program, path, "p-edf:locks=srp", "SRP"), theirs, strict=True):
            tally.verdict("SRP", one, ours[0]["SRP"], their["SRP"])
    elif kind == "split":
        for one, their in zip(sets, theirs, strict=True):
            path.write_text(line(one) + "\n")
            ours = on_first_cpu(program, path)
            if ours is None:
                tally.counts["C=D"]["without a place"] += 1
                continue
            tally.counts["C=D"]["equal" if ours == their["C=D"] else "differ"] += 1
            if ours != their["C=D"]:
                tally.differ.append(("C=D", f"{ours} here, {their['C=D']} there", one))
    elif kind == "msrp-edf":
        answers = checked(program, path, "p-edf:locks=msrp", "MSRP-QPA")
        for one, ours, their in zip(sets, answers, theirs, strict=True):
            tally.verdict("MSRP-QPA", one, ours[0]["MSRP-QPA"], their["MSRP-QPA"])
    elif kind == "edf":
        for one, ours, their in zip(sets, checked(program, path, "g-edf", ",".join(GLOBAL)), theirs, strict=True):
            for name, test in HELD_AGAINST.items():
                for accepts, form in zip(their[name], ("Python", "C++"), strict=True):
                    if accepts is not None:
                        tally.verdict(f"{name}, {form}", one, ours[0][test], accepts)
        for one, ours, their in zip(sets, checked(program, path, "g-edf", "G-RTA"), theirs, strict=True):
            if ours[0]["G-RTA"] and "response" in their:
                tally.times("G-RTA", one, ours[1], their["response"])
        for policy, test, bound in (("g-edf", "GFB", "CVA-REDUCED"), ("g-fl", "FAIR-LATENESS", "CVA-FL")):
            for one, ours, their in zip(sets, checked(program, path, policy, test, "--bounds"), theirs, strict=True):
                late = their.get(f"{policy} late")
                # Where another bound is smaller, it is shown in the place of this one.
                if late and all(by == bound for _, _, by in ours[1]):
                    tally.times(bound, one, ours[1], late)
                if policy == "g-edf" and "at most" in their and all(kind == "tardiness" for kind, _, _ in ours[1]):
                    tally.times("DEVI-ANDERSON", one, ours[1], their["at most"])
    else:
        for name, policy in (("QPA", "p-edf"), ("RTA", "p-fp"), ("EDF-RTA", "p-edf")):
            for one, ours, their in zip(sets, checked(program, path, policy, name), theirs, strict=True):
                if name == "QPA":
                    tally.verdict(name, one, ours[0][name], their[name])
                elif name == "RTA":
                    tally.responses(name, one, ours, their[name])
                elif ours[0][name] and their[name] is not None:
                    tally.times(name, one, ours[1], their[name])


def vectors(sets, theirs):
    """The sets with locks as vectors of the test kit, with the blocking terms of SchedCAT."""
    written = []
    for number, (one, their) in enumerate(zip(sets, theirs, strict=True)):
        expected = {}
        for name, found in their.items():
            columns = COLUMNS.get(name, ("remote", "local"))
            terms = found["terms"] if found else [None, None]
            ceiling = {} if name in COLUMNS else {"ceiling": [0] * len(one["times"]) if found else None}
            expected[name.lower().replace("-", "_")] = {
                "schedulable": found is not None,
                "response": found["response"] if found else None,
                **dict(zip(columns, terms, strict=True)),
                **ceiling,
            }
        tasks = [
            {"period": period, "deadline": deadline, "cpu": one["cpu"][at], "priority": at, "program": steps(one, at)}
            for at, (_, period, deadline) in enumerate(one["times"])
        ]
        system = {"tasks": tasks, "resources": len(one["homes"]), "cpus": one["cpus"], "home": one["homes"]}
        name = f"{one['kind']}-{number}"
        written.append({"name": name, "kind": "partitioned", "system": system, "expected": expected})
    return written


def add_arguments(parser):
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="by default all")
    parser.add_argument("--schedcat", metavar="FOLDER", help="a checkout that is built")
    parser.add_argument("--python", default="python2.7", help="the Python that it is built for")
    parser.add_argument("--kit", type=pathlib.Path, help="the program of the test kit")
    parser.add_argument("--sets", type=int, default=300, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER")


def run(arguments):
    if unknown := [kind for kind in arguments.kinds if kind not in DRAWN]:
        sys.exit(f"{unknown[0]} is none of {', '.join(DRAWN)}")
    needs = "a checkout of SchedCAT with its native modules: `make -C FOLDER PYTHON=python2.7`, then --schedcat FOLDER"
    if not arguments.schedcat:
        sys.exit(f"skipped: needs {needs}")
    _, why = said_by_schedcat(arguments, [])
    if why:
        sys.exit(f"skipped: needs {needs}; here: {why}")
    differ = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for kind in arguments.kinds or DRAWN:
            draw = random.Random(f"{arguments.seed} {kind}")
            sets = [DRAWN[kind](draw, kind) for _ in range(arguments.sets)]
            theirs, why = said_by_schedcat(arguments, sets)
            if theirs is None:
                sys.exit(f"SchedCAT fails: {why}")
            path = folder / f"{kind}.jsonl"
            path.write_text("".join(f"{line(one)}\n" for one in sets))
            tally = Tally()
            compared(tally, arguments.program, kind, path, sets, theirs)
            print(f"{kind}: {len(sets)} sets, {sum(len(one['times']) for one in sets)} tasks", flush=True)
            for name, counts in sorted(tally.counts.items()):
                print(f"  {name:28} " + ", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
            differ += tally.differ
            if arguments.kit and kind in ("locks", "msrp"):
                (folder / kind).mkdir()
                (folder / kind / f"{kind}.json").write_text(json.dumps(vectors(sets, theirs)))
                command = [arguments.kit, "vectors", folder / kind]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                print("  terms: " + "\n  ".join(done.stdout.strip().splitlines()[-5:]) + done.stderr, flush=True)
                differ += [(kind, "terms", sets[0])] * (done.returncode != 0)
                if arguments.write:
                    kept = vectors(sets[:KEPT], theirs[:KEPT])
                    shared.write_vectors(arguments.write / f"{kind}.json", kept)
    for name, what, one in differ[:20]:
        print(f"\n{name}, {what}:\n  {line(one)}")
    return 1 if differ else 0
