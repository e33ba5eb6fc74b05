#!/usr/bin/env python3
"""Checks the claims of `layland check --certificate`, from the task set and the certificate alone.

    verify_certificate.py SET.toml CERTIFICATE.json [POLICY ..]
    verify_certificate.py --lines      (standard input: {"set": TOML, "certificate": {..}}, one per line)

Prints each claim, and whether its proof is valid. With POLICY .., written as the certificate has them (with their
options), it looks at the answers about these policies alone. Exits with 0 if every claim is shown, with 1 if
an answer has no proof or one that is not valid, with 2 if something cannot be read or there is no answer. It shares
nothing with the program that wrote the certificate: every number is computed again, in integers and fractions. It
reads a task set as `layland convert SET --to toml` writes it. docs/certificates.md explains each proof.
"""

import json
import re
import sys
import tomllib
from collections import Counter
from fractions import Fraction
from math import ceil, floor, gcd, lcm, prod

STEPS = 2_000_000  # of one search by the verifier itself
LARGEST = 10**40  # of the numbers in a file
DIGITS = 4000  # of a rational in a certificate
CPUS = 4096


class Invalid(Exception):
    """The reason why a proof is not valid."""


def need(holds, why):
    if not holds:
        raise Invalid(why)


# ---- The task set ---------------------------------------------------------------------------------------------------


def time(text):
    """A time in nanoseconds."""
    found = isinstance(text, str) and re.fullmatch(r"([0-9]{1,30}(?:\.[0-9]{1,30})?) ?(ns|us|ms|s)", text)
    need(found, f"{text!r} is not a time")
    ns = Fraction(found[1]) * {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}[found[2]]
    need(ns.denominator == 1, f"{text} is not a whole number of nanoseconds")
    return int(ns)


def whole(value, what, least=0, most=LARGEST):
    """An integer, which true and 1.0 are not."""
    need(type(value) is int and least <= value <= most, f"{what} is {value!r}, which is no integer that may be here")
    return value


def cpu_set(value):
    """CPUs, as a list of numbers or as in "0-1,3"."""
    if isinstance(value, list):
        return frozenset(whole(cpu, "a CPU", most=CPUS - 1) for cpu in value)
    found = set()
    for part in value.split(",") if isinstance(value, str) else [""]:
        ends = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", part)
        need(ends, f"{value!r} are no CPUs")
        found.update(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return frozenset(found)


class Task:
    """A task of the file; or as it is analysed, with other `C`, `D` and `cpus`."""

    KNOWN = {
        "name", "period", "deadline", "wcet", "budget", "criticality", "affinity", "cluster", "offset", "jitter",
        "rank", "priority", "jobs", "on_miss", "release", "exec", "reclaim", "steps", "blocking", "group",
    }  # fmt: skip

    def __init__(self, at, table, levels, clusters, groups):
        unknown = set(table) - self.KNOWN
        need(not unknown, f"the verifier does not know {sorted(unknown)}: use `layland convert SET --to toml`")
        self.at, self.name, self.T = at, table["name"], time(table["period"])
        self.D = time(table["deadline"]) if "deadline" in table else self.T
        self.J, self.offset = time(table.get("jitter", "0ns")), time(table.get("offset", "0ns"))
        # For how long jobs of lower priority delay one of the task, once in a busy period.
        self.B = time(table.get("blocking", "0ns"))
        self.level = levels.index(table["criticality"]) if "criticality" in table else 0
        wcet = table["wcet"]
        if isinstance(wcet, str):
            self.by_level = [time(wcet)] * len(levels)
        else:
            given = {levels.index(name): time(text) for name, text in wcet.items()}
            self.by_level = [given.get(level, given[self.level]) for level in range(len(levels))]
        self.grows = any(c != self.by_level[self.level] for c in self.by_level[self.level :])
        self.C = self.by_level[self.level]
        self.has_budget = "budget" in table
        self.budget = time(table["budget"]) if self.has_budget else self.C
        self.cluster = whole(table.get("cluster", 0), "a cluster", most=len(clusters) - 1)
        self.group = table.get("group")
        need(self.group is None or self.group in groups, f"{self.name} is in a group that does not exist")
        # Within a group, its CPUs take the place of the cluster.
        around = clusters[self.cluster] if self.group is None else groups[self.group].cpus
        self.allowed = cpu_set(table["affinity"]) if "affinity" in table else around
        self.cpus = self.allowed
        self.has_rank = "rank" in table
        self.rank, self.priority, self.jobs = table.get("rank", at), table.get("priority"), table.get("jobs")
        for name, value in (("rank", self.rank), ("priority", self.priority), ("jobs", self.jobs)):
            need(value is None or whole(value, name, -LARGEST) == value, name)
        self.reclaims, self.late = table.get("reclaim", False), table.get("on_miss", "continue")
        need(self.reclaims in (True, False), "reclaim is true or false")
        need(self.late in ("continue", "abort", "skip"), f"the verifier does not know on_miss = {self.late!r}")
        self.steps, self.speed = table.get("steps"), Fraction(1)
        self.read_steps(self.steps)
        need(self.T > 0 and self.D > 0 and min(self.by_level) > 0, f"{self.name} has a time of 0")
        release = table.get("release", "periodic")
        self.kind = release if isinstance(release, str) else release["kind"]
        self.extra, self.times = 0, []
        if self.kind == "sporadic":
            extra = release["extra"]
            self.extra = time(extra if isinstance(extra, str) else extra["max"])
        elif self.kind == "explicit":
            self.times = [time(text) for text in release["at"]]
        need(self.kind != "curve", "arrival curves are not known")
        need(self.kind in ("periodic", "sporadic", "explicit", "hog", "yield", "self-suspending"), self.kind)
        self.longest = self.longest_execution(table.get("exec"), levels)

    def at_speed(self, speed, may_exceed=False):
        """The task in the time of CPUs of this speed: every WCET, budget and `run` step, each rounded up."""
        if speed == 1:
            return self

        def timed(work):
            return ceil(work / speed)

        found = self.copy(
            by_level=[timed(c) for c in self.by_level], C=timed(self.C), budget=timed(self.budget),
            longest=timed(self.longest), speed=speed,
        )  # fmt: skip
        # More than the WCET may take no longer, and breaks the same assumption.
        need(may_exceed or self.longest <= self.C, f"{self.name} may execute for longer")
        if self.steps is not None:
            runs = [step.split(maxsplit=1) for step in self.steps]
            steps = [f"run {timed(time(what))}ns" if does == "run" else f"{does} {what}" for does, what in runs]
            whole = sum(timed(time(what)) for does, what in runs if does == "run")
            found.by_level, found.C, found.longest = [whole] * len(self.by_level), whole, whole
            found.read_steps(steps)
        return found

    def read_steps(self, steps):
        """Reads the steps of each job: the length and number of its suspensions, and its sections: the resource, the
        execution within, and the resources that are locked around it."""
        self.has_steps, self.S, self.suspensions, self.sections, self.holding = steps is not None, 0, 0, [], False
        done, open_sections = 0, []
        for step in steps or ():
            does, what = step.split(maxsplit=1)
            if does == "run":
                done += time(what)
            elif does == "suspend":
                self.S, self.suspensions = self.S + time(what), self.suspensions + (time(what) > 0)
                self.holding |= bool(open_sections) and time(what) > 0
            elif does == "lock":
                self.sections.append([what, -done, [self.sections[at][0] for at in open_sections]])
                open_sections.append(len(self.sections) - 1)
            else:
                need(does == "unlock" and self.sections[open_sections[-1]][0] == what, f"{step} makes no sense")
                section = self.sections[open_sections.pop()]
                section[1] += done
                need(section[1] > 0, f"a section of {self.name} is empty")
        need(not open_sections, f"{self.name} keeps a lock")
        need(not self.has_steps or self.by_level == [done] * len(self.by_level), f"{self.name} has another WCET")
        # A job that only runs is one without steps.
        self.has_steps = any(step.split()[0] != "run" for step in steps or ())

    def longest_execution(self, model, levels):
        if model is None:
            return self.C
        kind = model["model"]
        if kind == "level":
            return self.by_level[levels.index(model["level"])]
        if kind == "fraction":
            return max(1, ceil(Fraction(model["of"]) * self.C))
        if kind == "uniform":
            return time(model["max"])
        values = model["values"]
        return max(time(value.split(" x ")[0]) for value in values)

    @property
    def u(self):
        return Fraction(self.C, self.T)

    def comes_for_ever(self):
        # A task that suspends itself has no period.
        return self.jobs is None and self.kind not in ("explicit", "self-suspending")

    def copy(self, **changes):
        other = object.__new__(Task)
        other.__dict__.update(self.__dict__, **changes)
        return other


IN_TURN = "nothing is shown of tasks of one priority that are served in turn"


class Group:
    """A group of tasks with a budget in each period."""

    def __init__(self, table, everywhere):
        known = {"name", "budget", "period", "deadline", "cpus", "inner", "quantum", "server", "priority", "parent"}
        need(not set(table) - known, f"the verifier does not know {sorted(set(table) - known)} of a group")
        self.name, self.inner, self.rule = table["name"], table["inner"], table.get("server", "cbs")
        self.P = time(table["period"])
        self.D = time(table["deadline"]) if "deadline" in table else self.P
        self.cpus = cpu_set(table["cpus"]) if "cpus" in table else everywhere
        self.has_parent = "parent" in table


class Set:
    """The task set of a file."""

    def __init__(self, text):
        # A number with a fraction stays the text that it is: nothing here is one but what is exact as text.
        file = tomllib.loads(text, parse_float=str)
        known = {
            "layland", "platform", "criticality", "task", "request", "provenance", "sim", "resource", "defaults",
            "group",
        }  # fmt: skip
        need(not set(file) - known, "the verifier does not know this file: use `layland convert SET --to toml`")
        ranked = {"tie": "rank"}
        need(file.get("defaults", ranked) == ranked, IN_TURN)
        platform = file.get("platform", {})
        # A topology has names for sets of CPUs, which are numbers elsewhere.
        known = {"cpus", "clusters", "overhead", "speed", "topology"}
        need(not set(platform) - known, "the verifier does not know this platform: use `layland convert SET --to toml`")
        need("cpus" in platform, "the number of CPUs is missing: use `layland convert SET --to toml`")
        self.all = frozenset(range(whole(platform["cpus"], "the number of CPUs", 1, CPUS)))
        self.clusters = [cpu_set(cpus) for cpus in platform.get("clusters", [])] or [self.all]
        need(sorted(cpu for cluster in self.clusters for cpu in cluster) == sorted(self.all), "clusters do not share CPUs")
        levels = file.get("criticality", {}).get("levels", ["all"])
        self.overhead = {
            name: time(text)
            for name, text in platform.get("overhead", {}).items()
        }
        known = {"release", "scheduling", "context_switch", "migration", "interrupt", "tick", "tick_period"}
        unknown = {name for name, cost in self.overhead.items() if cost} - known
        need(not unknown, f"the verifier does not know the overheads {sorted(unknown)}")
        self.costs = any(cost for name, cost in self.overhead.items() if name != "tick_period")
        groups = [Group(table, self.all) for table in file.get("group", [])]
        self.groups = {group.name: group for group in groups}
        need(len(self.groups) == len(groups), "two groups have one name")
        self.tasks = [Task(at, table, levels, self.clusters, self.groups) for at, table in enumerate(file["task"])]
        self.by_name = {task.name: task for task in self.tasks}
        need(len(self.by_name) == len(self.tasks), "two tasks have one name")
        self.by_rank = "tie" in file.get("defaults", {}) or all(task.has_rank for task in self.sharing(self.tasks))
        self.mixed = len(levels) > 1
        # Sections on a resource with a home are executed there.
        self.homes = any("home" in resource for resource in file.get("resource", []))
        self.changes, self.speeds = "request" in file, {cpu: Fraction(1) for cpu in self.all}
        for cpus, value in platform.get("speed", {}).items():
            for cpu in cpu_set(cpus) & self.all:
                self.speeds[cpu] = Fraction(str(value))
        need(min(self.speeds.values()) > 0, "a speed is 0")
        self.other_speeds = any(speed != 1 for speed in self.speeds.values())

    def sharing(self, tasks):
        """Those of these tasks that share a given priority with another of them."""
        count = Counter(task.priority for task in tasks if task.priority is not None)
        return [task for task in tasks if count[task.priority] > 1]


# ---- What is analysed -----------------------------------------------------------------------------------------------

ORDERS = ("edf", "rm", "dm", "fp")
SERVERS = ("ss", "ds", "ps")
THREADS = ("dl", "dl-sp", "apedf", "a2pedf")
MIXED = ("smc", "rms", "cms", "amc")
FAIR = ("g-fl", "c-fl")

# The values that each option of a policy may have. Other values are refused, so that no option changes the claim
# without the proof noticing. `verify` says which of them a test covers.
ON, OFF = ("on", "true"), ("off", "false")
FITS = ("ff", "ffd", "bf", "bfd", "wf", "wfd", "nf", "nfd", "ef", "efd")
PLACED = {"fit": ("auto", *FITS, "given")}
SIZED = {"fit": FITS, "size": r"[1-9][0-9]{0,3}"}
# On CPUs of one speed, which proofs are about, jobs are where they are without the option.
WHERE = {"place": ("greedy", "locality")}
# Jobs that are not preempted are under other tests.
PREEMPTIVE = {"nonpreemptive": OFF}
LOCKS = ("none", "pip", "pcp", "ipcp", "mpcp", "dpcp", "fmlp+", "msrp")
SHARE = r"[0-9]{1,30}([.][0-9]{1,30}|/0*[1-9][0-9]{0,29})?"
TIME = r"[0-9]{1,30}([.][0-9]{1,30})? ?(ns|us|ms|s)"
QUEUES = {"tie": ("running", "rank", "fifo"), "lag_reset": ON + OFF, "start": r"[0-9+]*"}
# Of threads that are placed by other rules nothing is shown.
PRINTED = {"limit": "1(/1)?", "place": ("printed",), "fit": ("first",)}
# No analysis covers changes while the system runs, so that the versions of the kernel make no difference.
RESERVED = {
    **QUEUES, "ac": ON + OFF, "limit": SHARE, "exhaust": ("throttle",), "grub": ON + OFF, "umax": SHARE,
    "lend": ("domain", "cpu", "parallel"), "arith": ("exact", "kernel"), "grub_pa": OFF, "fair": SHARE,
}  # fmt: skip
REPAIRED = {"throttle": ("all", "waiting"), "throttle_cost": TIME, "slack": ON + OFF}
KERNEL = {
    "kernel": ("5.4", "6.12", "6.18", "7.2"), "setattr_tardy": ("keep", "restart"), "capacity": ON + OFF,
    "affinity_tardy": ("keep", "moved", "any"), "affinity_early": ("keep", "wake-up"),
}  # fmt: skip
SORTED = {**PLACED, "sort": ("size", "criticality")}
TIES = {"tie": ("rank", "running")}
# Of first come, first served within a priority nothing is shown.
RANKED = {"tie": ("rank",)}
POLICIES = {
    "g-edf": {**TIES, **PREEMPTIVE, **WHERE},
    "c-edf": {**SIZED, **TIES, **PREEMPTIVE, **WHERE},
    "p-edf": {**PLACED, **TIES, **PREEMPTIVE, "locks": ("none", "srp", "fmlp+", "msrp")},
    **{f"g-{order}": {**PREEMPTIVE, **WHERE} for order in ORDERS[1:]},
    **{f"c-{order}": {**SIZED, **PREEMPTIVE, **WHERE} for order in ORDERS[1:]},
    **{f"p-{order}": {**PLACED, "accept": ("test", "load"), **PREEMPTIVE, "locks": LOCKS} for order in ORDERS[1:]},
    **{f"{form}-{order}": {} for form in ("weak", "strong") for order in ORDERS},
    **{f"hpa-{order}": {"assign": ("local", "plain")} for order in ORDERS},
    **{name: {**PLACED, **RANKED, "order": ("rm", "dm", "fp")} for name in SERVERS},
    "edzl": {},
    "efdf": WHERE,
    "g-fl": WHERE,
    "c-fl": {**SIZED, **WHERE},
    "federated": {"sizing": ("graham", "long", "path", "order", "chains", "order-chains", "li")},
    "dl": {**RESERVED, **KERNEL},
    "dl-sp": {**RESERVED, **REPAIRED},
    "apedf": {**QUEUES, "fallback": ON + OFF, **PRINTED},
    "a2pedf": {**QUEUES, "fallback": ON + OFF, **PRINTED},
    # Tasks that are packed by hand may not fit.
    "run": {"fit": FITS, "dual_fit": FITS, "fill": ("largest", "order"), "packing": (), "duals": ()},
    "qps": {"fit": ("ffd", "bfd", "wfd", "nfd", "efd"), "master": ("stay", "edf"), "packing": ()},
    "dp-wrap": {"mirror": ON + OFF},
    "lre-tl": {},
    "u-edf": {},
    "smc": {**SORTED, "order": ("audsley", "rm", "cm")},
    "rms": SORTED,
    "cms": SORTED,
    # With another order than that of the test the policy runs with other priorities.
    "amc": {**SORTED, "order": ("amc-rt",), "own_overrun": ("raise", "cut")},
}
for form in ("g", "c", "p", "weak", "strong", "hpa"):
    POLICIES[f"{form}-fp"] = {**POLICIES[f"{form}-fp"], **RANKED}
# Policies of which nothing is shown but what holds of every scheduler.
OTHERS = {
    "edf-us": ("zeta", "place"), "fpedf": ("place",), "edf-k": ("k", "place"), "rm-us": ("zeta", "place"),
    "llf": ("quantum", "tie"), "mllf": (),
    "cd": ("split", "order"), "edf-wm": ("order",), "pd2": ("quantum", "releases"), "er-pd2": ("quantum", "releases"),
    "groups": ("outer",),
}  # fmt: skip
# They drop jobs of lower criticality, and then what holds of every scheduler that drops none says nothing.
DROPPING = {
    "zss": ("instants", "late", "fit", "sort"), "pt": ("fit", "sort"), "edf-vd": ("deadlines", "fit", "sort"),
    "plrs": ("lists", "own_overrun", "fit", "sort"), "ocbp": ("lists", "releases", "own_overrun", "fit", "sort"),
}  # fmt: skip


class Spec:
    """A policy, by its name and its options."""

    def __init__(self, text):
        self.text = text
        self.name, *parts = text.split(":")
        self.given = {}
        known = {**POLICIES, **OTHERS, **DROPPING}.get(self.name)
        need(known is not None, f"the verifier does not know the policy {self.name}")
        for part in parts:
            name, is_given, value = part.partition("=")
            need(name in known, f"the verifier does not know the option {name} of {self.name}")
            need(name not in self.given, f"the option {name} is given twice")
            self.given[name] = value if is_given else "true"
        self.form, self.order = form_and_order(self.name, self.given)

    def known(self):
        """Refuses options that a proof cannot cover."""
        for name, value in self.given.items():
            values = POLICIES[self.name][name]
            fits = re.fullmatch(values, value) if isinstance(values, str) else value in values
            need(fits, f"the verifier does not know {name}={value} of {self.name}")

    def option(self, name, otherwise):
        return self.given.get(name, otherwise)

    def on(self, name, otherwise="off"):
        return self.option(name, otherwise) in ON


def form_and_order(name, given):
    form, _, order = name.partition("-")
    if order in ORDERS and form in ("g", "c", "p", "weak", "strong", "hpa"):
        return form, order
    # Where no task has a budget, there is no server.
    if name in SERVERS:
        return "p", given.get("order", "rm")
    if name in THREADS:
        return "threads", "edf"
    if name in ("run", "qps", "dp-wrap", "lre-tl", "u-edf"):
        return "optimal", None
    # Where global EDF meets all deadlines, EDZL makes the same schedule.
    if name == "edzl":
        return "edzl", "edf"
    # A set is guaranteed under EFDF if and only if it is guaranteed under global EDF.
    if name == "efdf":
        return "g", "edf"
    if name in FAIR:
        return name[0], "edf"
    # The verifier knows no graphs, and a task alone is light: it has a CPU with others, under EDF.
    if name == "federated":
        return "p", "edf"
    if name in MIXED:
        return "mixed", name
    return None, None


def analysed_tasks(system, spec, form, answer, as_given):
    """The tasks as the certificate has them, where it may have them so."""
    claimed = answer["analysed"]["tasks"]
    need([one["task"] for one in claimed] == [task.name for task in system.tasks], "these are other tasks")
    tasks = []
    for task, one in zip(system.tasks, claimed):
        cpus, C, D = frozenset(one["cpus"]), one["wcet_ns"], one["deadline_ns"]
        need(cpus and cpus <= system.all, "there are no such CPUs")
        task, whole_group = in_time(system, spec, form, task, cpus, answer, as_given)
        if as_given or form == "optimal":
            right = cpus == task.allowed and (C, D) == (task.C, task.D)
        elif form == "threads":
            right = cpus <= task.allowed and (C, D) in (
                (task.C, task.D), (task.budget, task.D), (task.budget, task.D - 1), (task.C, task.D - 1)
            )  # fmt: skip
        else:
            right = D == task.D and C == inflated(system, task, len(cpus) > 1, form)
            if form in ("p", "mixed"):
                right &= len(cpus) == 1 and cpus <= task.allowed
                right &= spec.option("fit", None) != "given" or len(task.allowed) == 1
            else:
                right &= cpus == whole_group
        need(right, f"task {task.name} may not be analysed with {one}")
        tasks.append(task.copy(cpus=cpus, C=C, D=D))
    if not as_given and form != "optimal":
        for a in tasks:
            need(all(a.cpus == b.cpus or not a.cpus & b.cpus for b in tasks), "CPUs of tasks overlap in part")
    if form == "threads" and not as_given:
        threads(spec, system, tasks, answer)
    return tasks


def group_of(system, spec, form, task, cpus):
    """The CPUs that a task shares with others, which have these among them."""
    if form in ("p", "mixed", "threads"):
        return cpus
    if form == "c" and "size" in spec.given:
        size = int(spec.given["size"])
        need(len(system.all) % size == 0, "the CPUs make no clusters of this size")
        first = min(cpus) // size * size
        group = frozenset(range(first, first + size))
        need(group <= task.allowed, f"{task.name} may not use its whole cluster")
        return group
    return system.clusters[task.cluster] if form == "c" else task.allowed


def in_time(system, spec, form, task, cpus, answer, as_given):
    """The task as CPUs of one speed see it, and the CPUs of its group that it may have (docs/certificates.md)."""
    whole_group = group_of(system, spec, form, task, cpus)
    if not system.other_speeds:
        return task, whole_group
    need(not as_given, "speeds are not counted by this test")
    if answer["decided_by"].startswith("U-"):
        return task, whole_group
    counted = ("g", "c", "p", "weak", "strong", "hpa", "mixed", "threads")
    need(form in counted, "speeds are not counted under this policy")
    need(not system.changes, "requests may change the speed of a task")
    # Sections would be executed at the speeds of other CPUs.
    need(spec.option("locks", None) != "dpcp", "the verifier does not know the speeds of homes")
    slowest = min(system.speeds[cpu] for cpu in cpus)
    if len({system.speeds[cpu] for cpu in whole_group}) > 1:
        # A job is done no later than if every CPU were as slow as the slowest of those that it may get.
        need(answer["verdict"] == "yes" and not system.costs, "CPUs of different speeds have no exact test")
        need(form in ("g", "c") and spec.name not in FAIR, "other rules move jobs to slow CPUs")
        need(spec.option("tie", "rank") == "rank", "a running job keeps its CPU among equals")
        if cpus != whole_group:
            need(spec.option("place", "greedy") == "greedy", "the fastest CPUs may be idle")
            rest = [system.speeds[cpu] for cpu in whole_group - cpus]
            need(cpus < whole_group and slowest >= max(rest), "these are not the fastest CPUs")
            whole_group = cpus
    # A budget limits a thread that exceeds its WCET.
    return task.at_speed(slowest, may_exceed=form == "threads"), whole_group


def inflated(system, task, several, form):
    """The WCET with overheads (docs/certificates.md)."""
    cost = system.overhead
    if not system.costs:
        return task.C
    need(form in ("g", "c", "p"), "overheads are not counted under this policy")
    release, more, left = cost.get("release", 0), 0, Fraction(1)
    for other in system.tasks:
        if release and other.cluster == task.cluster:
            left -= Fraction(release, other.T)
            more += release * (1 + -(-other.J // other.T))
    if cost.get("tick", 0):
        left -= Fraction(cost["tick"], cost["tick_period"])
    need(left > 0, "releases and ticks take a whole CPU")
    more += cost.get("tick", 0) + 3 * cost.get("scheduling", 0)
    more += 2 * cost.get("context_switch", 0) + 2 * cost.get("interrupt", 0)
    return ceil((task.C + more + (cost.get("migration", 0) if several else 0)) / left)


def threads(spec, system, tasks, answer):
    """Verifies the proofs about EDF that hold for threads with reservations."""
    need(not system.costs, "threads have overheads of their own")
    if answer["decided_by"] == "LOPEZ-ADAPTIVE":
        return
    one_each = all(len(task.cpus) == 1 for task in tasks)
    need(one_each or not spec.name.startswith("a"), "who is placed anew is not analysed as EDF")
    for a in tasks:
        need(a.cpus == a.allowed, "a thread may use other CPUs")
    given = [b.at_speed(a.speed, may_exceed=True) for a, b in zip(tasks, system.tasks)]
    earlier = all(a.D == b.D - 1 for a, b in zip(tasks, given))
    as_given = all(a.D == b.D for a, b in zip(tasks, given))
    need(earlier or as_given, "deadlines are either all earlier or none")
    budgets = all(a.C == b.budget for a, b in zip(tasks, given))
    reclaims = spec.on("grub") and any(task.reclaims for task in system.tasks)
    costs = time(spec.option("throttle_cost", "0 ns")) > 0
    if answer["verdict"] == "yes":
        admission(spec, system)
        need(all(task.J == 0 for task in tasks), "with jitter a server goes on with an old deadline")
        need(budgets or earlier, "a thread may use its budget")
        if reclaims:
            need(budgets and as_given, "with reclaiming the budgets count, and deadlines as they are")
            reclaiming(spec, system, tasks)
        need(reclaims or earlier or one_each or spec.name != "dl", "a server may be bypassed")
        need(earlier or not costs, "a late server may be throttled")
        for a, b in zip(tasks, given):
            need(a.C == b.budget or b.kind != "hog", "a hog uses its budget")
        need(not (reclaims and system.other_speeds), "threads that reclaim do not pay for the work of such CPUs")
        for a, b in zip(tasks, system.tasks):
            if a.speed != 1:
                kernel = spec.option("arith", "exact") == "kernel"
                exceeds = b.kind == "hog" or b.longest > b.budget
                need(not (kernel and exceeds), "with the kernel's roundings a thread gets more than its budget")
                # A job that ends at its deadline leaves the next one what is overdrawn.
                overdrawn = kernel or ceil(b.budget / a.speed) * a.speed > b.budget
                need(earlier or b.D < b.T or not overdrawn, f"the budget of {a.name} may be overdrawn at a deadline")
    else:
        need(one_each and all(a.C == b.C for a, b in zip(tasks, given)), "a no needs WCETs on one CPU")
        need(not costs, "a late server may be throttled")


def is_asked(spec):
    """Returns true if threads have to be admitted."""
    return spec.name in ("dl", "dl-sp") and spec.on("ac", "on" if spec.name == "dl-sp" else "off")


def admission(spec, system):
    """No thread is turned away."""
    if not is_asked(spec):
        return
    limit, fair = Fraction(spec.option("limit", "19/20")), Fraction(spec.option("fair", "0"))
    rate = lambda tasks: sum(Fraction(task.budget, task.T) for task in tasks)
    cost = time(spec.option("throttle_cost", "0 ns"))
    for task in system.tasks if spec.on("slack") else ():
        least = min(ceil(task.budget / system.speeds[cpu]) for cpu in task.allowed)
        need(len(task.allowed) == 1 or least + cost < task.T, "admission control turns a thread away")
    by_speeds = spec.name == "dl" and len(set(system.speeds.values())) > 1
    by_speeds &= spec.on("capacity", "off" if spec.option("kernel", "5.4") == "5.4" else "on")
    in_units = by_speeds and spec.option("arith", "exact") == "kernel"
    for at, cluster in enumerate(system.clusters):
        inside = [task for task in system.tasks if task.cluster == at]
        if in_units:
            # Bandwidths in 2^-20, capacities in 2^-10, each rounded down.
            total = sum((task.budget << 20) // task.T for task in inside)
            capacity = sum(floor(system.speeds[cpu] * 1024) for cpu in cluster)
            bound = (floor(limit * 2**20) * capacity >> 10) - floor(fair * 2**20) * len(cluster)
            need(total <= max(0, bound), "admission control turns a thread away")
        else:
            capacity = sum(system.speeds[cpu] for cpu in cluster) if by_speeds else len(cluster)
            need(rate(inside) <= limit * capacity - fair * len(cluster), "admission control turns a thread away")
        if spec.name == "dl":
            need(all(task.allowed == cluster for task in inside), "admission control wants whole clusters")
        for cpu in cluster if spec.name == "dl-sp" else ():
            tied = [task for task in inside if task.allowed == {cpu}]
            need(rate(tied) <= limit - fair, "admission control turns a thread away")


def reclaiming(spec, system, tasks):
    """No server is late although threads reclaim (the header of `views.rs` has the proof)."""
    need(spec.option("arith", "exact") == "exact", "with the kernel's roundings threads pay too little")
    limit = min(Fraction(spec.option("limit", "19/20")), Fraction(1))
    most = Fraction(spec.option("umax", limit if is_asked(spec) else 1))
    need(0 < most <= 1, "more than a CPU is lent")
    lend = spec.option("lend", "domain")
    for cpus, group in groups_of(tasks).items():
        m = len(cpus)
        cluster = next(cluster for cluster in system.clusters if cpus <= cluster)
        right = len(cluster) == 1 or lend == ("cpu" if m == 1 else "parallel")
        need(right and (m == 1 or cpus == cluster), "more is lent than the threads there leave")
        need(all(task.D == task.T for task in group), "reclaiming needs deadlines at the ends of periods")
        widest = max(task.u for task in group)
        need(sum(task.u for task in group) <= m * most - (m - 1) * widest, "more is reserved than can be lent")
        more = 1 / most - 1 if m == 1 else min(m * (1 - most), Fraction(m - 1))
        for task in group:
            longest = task.budget if task.kind == "hog" else task.longest
            need(m == 1 or longest <= task.budget, f"{task.name} may need more than its budget")
            spare = task.budget - min(longest, task.budget)
            needed = len(group) + (1 if m == 1 else 2 * m)
            need(spare + more * task.budget >= needed, f"{task.name} has no room for whole nanoseconds")


def groups_of(tasks):
    """Tasks that are scheduled together, by their CPUs."""
    groups = {}
    for task in tasks:
        groups.setdefault(task.cpus, []).append(task)
    return groups


def priority(order):
    """The order of fixed priorities: ties go to the smaller rank, then to the earlier task of the file."""
    key = {"rm": lambda t: t.T, "dm": lambda t: t.D, "fp": lambda t: t.priority}[order]
    return lambda task: (key(task), task.rank, task.at)


def sporadic(system, tasks, jitter=False, constrained=True, implicit=False, budget=False, fits=True, uniform=False):
    """The assumptions of most tests."""
    need(not system.changes, "requests are not analysed")
    for task in tasks:
        counted = uniform or min(system.speeds[cpu] for cpu in task.cpus) == task.speed
        need(counted, f"the speeds of the CPUs of {task.name} are not counted")
        need(task.kind != "self-suspending", f"{task.name} suspends itself")
        need(all(b - a >= task.T for a, b in zip(task.times, task.times[1:])), f"{task.name} comes too early")
        need(task.longest <= (task.budget if budget else task.C), f"{task.name} may execute for longer")
        need(jitter or task.J == 0, f"{task.name} has jitter")
        need(not constrained or task.D <= task.T, f"{task.name} has a deadline beyond its period")
        need(not implicit or task.D == task.T, f"{task.name} has a deadline that is not its period")
        need(not fits or uniform or task.C <= task.D, f"{task.name} does not fit")


def together(tasks):
    """All tasks come for ever and may become ready at one instant."""
    ready = {task.offset + task.J for task in tasks if task.extra == 0}
    return all(task.comes_for_ever() for task in tasks) and len(ready) <= 1


# ---- Comparisons ----------------------------------------------------------------------------------------------------


def comparisons(proof):
    need(proof["kind"] == "comparisons", "comparisons were expected")
    return proof["comparisons"]


def of_group(found, cpus):
    right = [one for one in found if one["cpus"] is not None and frozenset(one["cpus"]) == cpus]
    need(len(right) == 1, f"one comparison was expected on CPUs {sorted(cpus)}")
    return Fraction(right[0]["value"]), Fraction(right[0]["bound"])


def of_tasks(found, tasks):
    """The comparison of each task of a group, in the order of the certificate."""
    names = {task.name: task for task in tasks}
    right = [(names[one["task"]], one) for one in found if one["task"] in names]
    need(len(right) == len(names) == len({one["task"] for _, one in right}), "each task needs one comparison")
    return [(task, Fraction(one["value"]), Fraction(one["bound"])) for task, one in right]


def equal(claimed, value, bound):
    need(claimed == (value, bound), f"{claimed[0]} and {claimed[1]} are claimed, {value} and {bound} are right")
    need(value <= bound, "the value is above the bound")


def density_test(found, groups):
    for cpus, tasks in groups.items():
        densities, m = [Fraction(task.C, task.D) for task in tasks], len(cpus)
        equal(of_group(found, cpus), sum(densities), m - (m - 1) * max(densities))


def product_test(found, groups, factors):
    for cpus, tasks in groups.items():
        value, bound = of_group(found, cpus)
        tasks = sorted(tasks, key=lambda task: (task.T, task.rank, task.at))
        rates = [task.u for task in tasks]
        # What blocks a task delays it, and those above it not at all.
        blocked = [rates[:i] + [rates[i] + Fraction(task.B, task.T)] for i, task in enumerate(tasks) if task.B]
        products = [prod(factors(some)) for some in [rates, *blocked]]
        # The certificate may round up.
        need(bound == 2 and max(products) <= value <= 2, "the product is more than 2")


def bak(found, groups):
    for cpus, tasks in groups.items():
        m = len(cpus)
        for k, value, bound in of_tasks(found, tasks):
            lam, total = Fraction(k.C, k.D), Fraction(0)
            for i in tasks:
                beta = i.u * (1 + Fraction(i.T - i.D, k.D))
                if i.u > lam:
                    beta += (i.C - lam * i.T) / k.D
                total += min(Fraction(1), beta)
            equal((value, bound), total, m * (1 - lam) + lam)


def bcl(found, groups):
    for cpus, tasks in groups.items():
        for k, value, bound in of_tasks(found, tasks):
            slack, m, betas = k.D - k.C, len(cpus), []
            for i in tasks:
                if i is not k:
                    jobs = (k.D - i.D) // i.T + 1
                    betas.append(jobs * i.C + min(i.C, max(0, k.D - jobs * i.T)))
            equal((value, bound), Fraction(sum(min(beta, slack) for beta in betas)), Fraction(m * slack))
            need(value < bound or any(0 < beta <= slack for beta in betas), "the interference leaves no time")


def demand(tasks, t, due=lambda task: task.D):
    return sum(max(0, (t - due(task)) // task.T + 1) * task.C for task in tasks)


def below(need_at, lead, room):
    """Compares the demand at each length from `lead / room` down. A demand does not fall with the length."""
    need(room > 0, "the load leaves no room")
    t = ceil(lead / room)
    for _ in range(STEPS):
        if t <= 0:
            return
        # All lengths down to the one at which this demand is too much.
        least = need_at(t)
        need(least <= t, f"the demand in {t} ns is more than the CPUs do")
        t = ceil(least) - 1
    raise Invalid("the verifier gave up")


def load_test(found, groups):
    for cpus, tasks in groups.items():
        m = len(cpus)
        delta = max(Fraction(task.C, min(task.D, task.T)) for task in tasks)
        mu = m - (m - 1) * delta
        load = sum(task.u for task in tasks)
        # Any number up to mu may stand for it: the next smaller whole one has room for one task more.
        speed = max(some - (ceil(some) - 1) * delta for some in (mu, Fraction(ceil(mu) - 1)) if some == mu or some > 0)
        equal(of_group(found, cpus), load, speed)
        lead = sum(max(0, task.T - task.D) * task.u for task in tasks)
        below(lambda t: demand(tasks, t) / speed, lead, speed - load)


def forced_forward(found, groups):
    for cpus, tasks in groups.items():
        sigma, one = of_group(found, cpus)
        need(one == 1 and 0 < sigma <= 1, "the speed is not between 0 and 1")
        need(all(Fraction(task.C, task.D) <= sigma for task in tasks), "a density is above the speed")
        speed = len(cpus) - (len(cpus) - 1) * sigma
        load = sum(task.u for task in tasks)

        def least(t):
            total = Fraction(0)
            for task in tasks:
                q, r = divmod(t, task.T)
                total += q * task.C + (task.C if r >= task.D else max(0, task.C - (task.D - r) * sigma))
            return total / speed

        lead = sum((task.T - task.D) * task.u for task in tasks)
        if lead == 0:
            need(load <= speed, "the load is above the speed")
        else:
            below(least, lead, speed - load)


def lopez(found, system, C):
    rates = [Fraction(C(task), task.T) for task in system.tasks]
    need(len(found) == 1, "one comparison was expected")
    beta = floor(1 / max(rates))
    bound = Fraction(beta * len(system.all) + 1, beta + 1)
    equal((Fraction(found[0]["value"]), Fraction(found[0]["bound"])), sum(rates), bound)


# ---- Response times under global fixed priorities ----------------------------------------------------------------------


def workload(task, length, slack):
    jobs, rest = divmod(length + task.D - task.C - slack, task.T)
    return jobs * task.C + min(task.C, rest)


def global_fixed(found, groups, order, test):
    for cpus, tasks in groups.items():
        claimed, m, done = of_tasks(found, tasks), len(cpus), []
        names = [task.name for task in sorted(tasks, key=priority(order))]
        need([task.name for task, _, _ in claimed] == names, "this is another order of priorities")
        for k, R, D in claimed:
            need(R.denominator == 1 and k.C <= R <= D == k.D, f"{k.name} has no such response time")
            R = int(R)
            if test == "BCL":
                others = sum(min(workload(i, k.D, 0), k.D - k.C + 1) for i, _ in done)
            elif test == "BERTOGNA":
                others = sum(min(workload(i, R, slack), R - k.C + 1) for i, slack in done)
            else:
                others = guan(k, R, done, m)
            need(k.C + others // m <= R, f"{k.name} may respond later than {R} ns")
            done.append((k, k.D - R))


LOCKING = {
    "LOCK-RTA": ("none",),
    "PIP-RTA": ("pip",),
    "PIP-MATCHING": ("pip",),
    "PCP-RTA": ("pcp", "ipcp"),
    # Where nothing is locked all protocols are one.
    **{f"SUSP-{how}": ("none", "pip", "pcp", "ipcp", "mpcp", "dpcp", "fmlp+", "msrp")
       for how in ("OBL", "JITTER-D", "JITTER-R", "BLOCK", "UNIFIED")},
}  # fmt: skip


def locking_test(test):
    """The name without the order of priorities at its end."""
    for suffix in ("-RM", "-DM"):
        if test.endswith(suffix):
            return test.removesuffix(suffix), suffix[1:].lower()
    return test, "fp"


def protocol_of(spec):
    """The protocol of the policy for locks."""
    return spec.option("locks", "none")


def locking(found, system, groups, spec, test):
    """Locks and self-suspension on single CPUs: `own + sum of ceil((R + J) / T) C <= R` for each task, where `own` has its
    execution, its suspensions and its blocking. Then the least such length is no longer."""
    name, order = locking_test(test)
    need(protocol_of(spec) in LOCKING[name], "the test is about another protocol")
    tasks = [task for group in groups.values() for task in group]
    suspend = any(task.S for task in tasks)
    users = {}
    for task in tasks:
        for q, _, _ in task.sections:
            need(users.setdefault(q, task.cpus) == task.cpus, f"{q} is shared between CPUs")
    if name in ("LOCK-RTA", "PIP-RTA"):
        need(not suspend, "a task suspends itself")
        need(nesting_has_an_order(tasks), "locks are nested without an order")
    elif name == "PIP-MATCHING":
        need(not suspend, "a task suspends itself")
        need(not any(around for task in tasks for _, _, around in task.sections), "locks are nested")
    elif name == "PCP-RTA":
        need(not any(task.holding for task in tasks), "a task suspends itself within a section")
    else:
        need(not users, "a task locks something")
    for group in groups.values():
        claimed, R = of_tasks(found, group), {}
        in_order = sorted(group, key=priority(order))
        need([task for task, _, _ in claimed] == in_order, "this is another order of priorities")
        for at, (k, response, D) in enumerate(claimed):
            need(response.denominator == 1 and D == k.D, f"{k.name} has no such response time")
            R[k.name], above = int(response), in_order[:at]
            own, terms = k.C + k.S, [(i.C, i.T, 0) for i in above]
            if name in ("LOCK-RTA", "PIP-RTA", "PIP-MATCHING", "PCP-RTA"):
                own += (k.suspensions + 1) * blocking(name, in_order, at)
                terms = [(i.C, i.T, R[i.name] - i.C if i.S else 0) for i in above]
            elif name == "SUSP-OBL":
                terms = [(i.C + i.S, i.T, 0) for i in above]
            elif name == "SUSP-JITTER-D":
                terms = [(i.C, i.T, i.D - i.C) for i in above]
            elif name == "SUSP-JITTER-R":
                terms = [(i.C, i.T, R[i.name] - i.C) for i in above]
            elif name == "SUSP-BLOCK":
                own += sum(min(i.C, i.S) for i in above)
            choices = vectors(above, R) if name == "SUSP-UNIFIED" else [terms]
            fits = any(own + sum(-(-(R[k.name] + J) // T) * C for C, T, J in some) <= R[k.name] for some in choices)
            need(fits and R[k.name] <= k.D, f"{k.name} may respond later than {R[k.name]} ns")


def nesting_has_an_order(tasks):
    """Returns true if no resource is locked within itself, by way of others."""
    within = {}
    for task in tasks:
        for q, _, around in task.sections:
            within.setdefault(q, set()).update(around)
    while free := [q for q, around in within.items() if not around & within.keys()]:
        for q in free:
            del within[q]
    return not within


def blocking(name, in_order, at):
    """For how long tasks of lower priority delay the task at this place."""
    ceiling = {}
    for place, task in enumerate(in_order):
        for q, _, _ in task.sections:
            ceiling.setdefault(q, place)
    lower = in_order[at + 1 :]
    if name == "PCP-RTA":
        return max((length for j in lower for q, length, _ in j.sections if ceiling[q] <= at), default=0)
    if name == "LOCK-RTA":
        need(all(ceiling[q] > at for j in lower for q, _, _ in j.sections), f"nothing bounds what {in_order[at].name} waits")
        return 0
    if name == "PIP-MATCHING":
        return largest_assignment([{q: max(length for other, length, _ in j.sections if other == q)
                                    for q, _, _ in j.sections if ceiling[q] <= at} for j in lower])  # fmt: skip
    if any(around for task in in_order for _, _, around in task.sections):
        # A job that waits for a resource that is locked within another section passes on the priorities of the users of
        # that section's resource.
        reach = dict(ceiling)
        for _ in ceiling:
            for task in in_order:
                for q, _, around in task.sections:
                    reach[q] = min([reach[q], *(reach[x] for x in around)])
        longest = []
        for j in lower:
            outermost = []
            for q, length, around in j.sections:
                if not around:
                    outermost.append([length, reach[q]])
                outermost[-1][1] = min(outermost[-1][1], reach[q])
            longest.append(max((length for length, highest in outermost if highest <= at), default=0))
        return sum(longest)
    by_task, by_resource = 0, {}
    for j in lower:
        reaching = [(q, length) for q, length, _ in j.sections if ceiling[q] <= at]
        by_task += max((length for _, length in reaching), default=0)
        for q, length in reaching:
            by_resource[q] = max(length, by_resource.get(q, 0))
    return min(by_task, sum(by_resource.values()))


def largest_assignment(gains):
    """The largest sum of gains, one of each row and of each column at most. While some way through what is taken adds
    something, from a row without a column to a column without a row, the way that adds most is gone."""
    taken, total = {}, 0
    while True:
        best = {row: 0 for row in range(len(gains)) if row not in taken.values()}
        ways = {}
        changed = True
        while changed:
            changed = False
            for row, before in list(best.items()):
                for column, gain in gains[row].items():
                    if taken.get(column) != row and before + gain > ways.get(column, (0, None))[0]:
                        ways[column], changed = (before + gain, row), True
                        other = taken.get(column)
                        if other is not None:
                            best[other] = before + gain - gains[other][column]
        free = [column for column in ways if column not in taken]
        if not free:
            return total
        column = max(free, key=lambda column: ways[column][0])
        total += ways[column][0]
        while column is not None:
            row = ways[column][1]
            left = next((other for other, owner in taken.items() if owner == row), None)
            taken[column] = row
            column = left


def vectors(above, R):
    """SUSP-UNIFIED: what comes from above, for each choice of the tasks whose suspensions count as blocking. Each is safe.
    Of many tasks that suspend themselves only these choices are looked at: none, the shortest ones, and those that suspend
    themselves for no longer than they execute."""
    suspending = [i.name for i in above if i.S]
    if len(suspending) <= 16:
        chosen = ({q for bit, q in enumerate(suspending) if mask >> bit & 1} for mask in range(1 << len(suspending)))
    else:
        by_length = sorted((i for i in above if i.S), key=lambda i: i.S)
        chosen = [{i.name for i in by_length[:count]} for count in range(len(by_length) + 1)]
        chosen.append({i.name for i in by_length if i.S <= i.C})
    for blocks in chosen:
        Q, terms = 0, []
        for i in reversed(above):
            as_blocking = i.S == 0 or i.name in blocks
            Q += i.S if as_blocking else 0
            terms.append((i.C, i.T, Q if as_blocking else Q + R[i.name] - i.C))
        yield terms


def carry(i, x, slack):
    """The most that `i` executes in a window without, and with, a job that is carried in."""
    y = max(0, x - i.C)
    alpha = min(i.C - 1, max(0, y % i.T - (i.T - (i.D - slack))))
    return (x // i.T) * i.C + min(i.C, x % i.T), (y // i.T) * i.C + i.C + alpha


def guan(k, R, done, m):
    total, more = 0, []
    for i, slack in done:
        without, inside = (min(length, R - k.C + 1) for length in carry(i, R, slack))
        total += without
        more.append(max(0, inside - without))
    return total + sum(sorted(more, reverse=True)[: m - 1])


# ---- Affinities -----------------------------------------------------------------------------------------------------


def by_affinity(found, tasks, order):
    """APA: each task as under global scheduling on some of its CPUs. A job waits only for jobs before it, so that the
    response times may rest on each other: the first job that breaks one would contradict this."""
    names = {task.name: task for task in tasks}
    claims = {one["task"]: one for one in found}
    need(sorted(claims) == sorted(names) and len(found) == len(names), "each task needs one comparison")
    R = {name: Fraction(one["value"]) for name, one in claims.items()}
    in_order = sorted(tasks, key=priority(order)) if order != "edf" else tasks
    for at, k in enumerate(in_order):
        S, x = frozenset(claims[k.name]["cpus"]), R[k.name]
        need(x.denominator == 1 and k.C <= x <= k.D and S and S <= k.allowed, f"{k.name} has no such response time")
        x, others, more, union = int(x), 0, [], frozenset()
        for i in in_order[:at] if order != "edf" else (i for i in tasks if i is not k):
            if not i.allowed & S:
                continue
            slack, most = int(i.D - R[i.name]), x - k.C + 1
            if order == "edf":
                due = (k.D // i.T) * i.C + min(i.C, max(0, k.D % i.T - slack))
                others += min(due, most, workload(i, x, slack))
            elif S <= i.allowed:
                union |= i.allowed
                without, inside = (min(length, most) for length in carry(i, x, slack))
                others += without
                more.append(max(0, inside - without))
            else:
                others += min(most, workload(i, x, slack))
        others += sum(sorted(more, reverse=True)[: max(0, len(union) - 1)])
        need(k.C + others // len(S) <= x, f"{k.name} may respond later than {x} ns")


def speed(found, system):
    """HPA-SPEED: each task, each affinity and all together fit CPUs that are slower by the speed."""
    sets = {task.allowed for task in system.tasks} - {system.all}
    need(all(a == b or not a & b for a in sets for b in sets), "affinities are on more than two levels")
    m, largest = len(system.all), max(map(len, sets), default=1)
    s1 = 2 - Fraction(1, largest)
    rest, root = (s1 + 1) / 2 - s1 / m, (2 * s1 - m * (s1 + 1)) ** 2 + 4 * s1 * m * m
    need(found, "nothing is compared")

    def fits(load, cpus, one):
        value, bound = Fraction(one["value"]), Fraction(one["bound"])
        claimed = cpus / bound
        # The speed is irrational: the one that is claimed has to be at least as high.
        far = (claimed - rest) * 2 * m
        need(far >= 0 and far * far >= root, "the speed is too low")
        need(value == load <= bound, f"a load of {load} does not fit")

    tasks = [one for one in found if one["task"] is not None]
    need(len(tasks) == 1, "one task is compared")
    fits(max(task.u for task in system.tasks), 1, tasks[0])
    for cpus in sets | {system.all}:
        inside = [task for task in system.tasks if task.allowed == cpus or cpus == system.all]
        (one,) = [one for one in found if one["task"] is None and frozenset(one["cpus"]) == cpus]
        fits(sum(task.u for task in inside), len(cpus), one)


# ---- Evidence in parts ----------------------------------------------------------------------------------------------


def parts(proof, groups, kind):
    """The tasks and the evidence of each group."""
    need(proof["kind"] == "parts", "evidence in parts was expected")
    found = {frozenset(part["cpus"]): part for part in proof["parts"]}
    need(set(found) == set(groups) and len(found) == len(proof["parts"]), "each group of CPUs needs one part")
    need(all(part["evidence"] == kind for part in found.values()), f"{kind} were expected")
    for cpus, tasks in groups.items():
        need(sorted(found[cpus]["tasks"]) == sorted(task.name for task in tasks), "these tasks are not on these CPUs")
    return [(cpus, tasks, found[cpus]["items"]) for cpus, tasks in groups.items()]


def last_deadline_before(tasks, t):
    return max((task.D - task.J + task.T * ((t - 1 - task.D + task.J) // task.T)
                for task in tasks if task.D - task.J < t), default=None)  # fmt: skip


def processor_demand(proof, groups):
    """QPA: at each point the demand and the blocking are met, and from one point to the next by monotony."""
    for _, tasks, points in parts(proof, groups, "points"):
        due = lambda task: task.D - task.J
        B = max(task.B for task in tasks)
        blocking = lambda t: max((task.B for task in tasks if due(task) <= t), default=0)
        load = sum(task.u for task in tasks)
        need(load <= 1, "the utilization of a CPU is more than 1")
        need(min(map(due, tasks)) > 0, "a job may be ready too late")
        if B == 0 and all(due(task) >= task.T for task in tasks):
            continue
        L = None
        if load < 1:
            lead = B + sum((task.T - due(task)) * task.u for task in tasks)
            L = max(ceil(max(0, lead) / (1 - load)), max(due(task) - task.T for task in tasks))
        if all(task.J == 0 for task in tasks) and (load < 1 or B == 0):
            L = busy_period(tasks, L, B)
        if B > 0:
            # From the longest deadline on the demand grows by at most a hyperperiod in each, and the blocking does not.
            repetition = lcm(*(task.T for task in tasks)) + max(map(due, tasks))
            L = repetition if L is None else min(L, repetition)
        need(L is not None, "there is no bound on the intervals")
        # All lengths from `covered` on are shown.
        covered = L
        for point in points:
            t, claimed = point["interval_ns"], int(point["demand_ns"])
            right = demand(tasks, t, due) + blocking(t)
            need(claimed == right <= t, f"the demand in {t} ns is {right}, and {claimed} is claimed")
            last = last_deadline_before(tasks, covered)
            if last is None or last <= t:
                covered = min(covered, right)
        need(last_deadline_before(tasks, covered) is None, "the points leave a gap")


def stacked_demand(proof, groups, spec):
    """SRP: at each point the demand and the blocking fit. From one point to the next the demand falls, and the blocking
    is the same as long as no relative deadline lies between them."""
    need(protocol_of(spec) == "srp", "the test is about another protocol")
    need(not any(task.S for group in groups.values() for task in group), "a task suspends itself")
    demand_fits(proof, groups)


def suspended_demand(proof, groups, spec):
    """EDF with self-suspension: the same, with suspensions as execution."""
    need(protocol_of(spec) in ("none", "srp", "fmlp+", "msrp"), "the test is about another protocol")
    need(not any(task.sections for group in groups.values() for task in group), "a task locks something")
    lengthened = {cpus: [task.copy(C=task.C + task.S, S=0) for task in group] for cpus, group in groups.items()}
    demand_fits(proof, lengthened)


def demand_fits(proof, groups):
    users = {}
    for task in [task for group in groups.values() for task in group]:
        for q, _, _ in task.sections:
            need(users.setdefault(q, task.cpus) == task.cpus, f"{q} is shared between CPUs")
    for _, tasks, points in parts(proof, groups, "points"):
        load = sum(task.u for task in tasks)
        need(load <= 1, "the utilization of a CPU is more than 1")
        # From the longest deadline on nothing blocks, and demand that is met up to here is met for ever.
        covered = 0
        if any(task.D < task.T for task in tasks):
            lead = sum((task.T - task.D) * task.u for task in tasks)
            covered = busy_period(tasks, ceil(lead / (1 - load)) if load < 1 else None)
            need(covered is not None, "there is no bound on the intervals")
        covered = max(covered, *(task.D for task in tasks))
        for point in points:
            t, claimed = point["interval_ns"], int(point["demand_ns"])
            due = {q for task in tasks if task.D <= t for q, _, _ in task.sections}
            blocks = [length for task in tasks if task.D > t for q, length, _ in task.sections if q in due]
            right = demand(tasks, t) + max(blocks, default=0)
            need(claimed == right <= t, f"what is needed in {t} ns is {right}, and {claimed} is claimed")
            last = last_deadline_before(tasks, covered)
            if last is None or last <= t:
                covered = min(covered, max(right, *(task.D for task in tasks if task.D <= t), 0))
        need(last_deadline_before(tasks, covered) is None, "the points leave a gap")


def busy_period(tasks, limit, B=0):
    w = B + sum(task.C for task in tasks)
    for _ in range(STEPS // 10):
        if limit is not None and w >= limit:
            return limit
        following = B + sum(-(-w // task.T) * task.C for task in tasks)
        if following == w:
            return w
        w = following
    return limit


def busy_periods(proof, groups, order):
    """Fixed priorities on one CPU: no busy period, blocking included, is longer than claimed, and each response is in
    time."""
    for _, tasks, items in parts(proof, groups, "busy periods"):
        in_order = by_name(tasks, items, order and sorted(tasks, key=priority(order)))
        for at, (k, item) in enumerate(zip(in_order, items)):
            lengths = item["lengths_ns"]
            need(lengths, "a busy period has a job")
            for q, w in enumerate(lengths):
                arrives = k.B + (q + 1) * k.C + sum(-(-(w + j.J) // j.T) * j.C for j in in_order[:at])
                need(arrives <= w, f"{arrives} ns of work arrive in a busy period of {w} ns of {k.name}")
                need(w + k.J - q * k.T <= k.D, f"job {q + 1} of {k.name} may be late")
            need(lengths[-1] <= len(lengths) * k.T - k.J, f"the next job of {k.name} may be in the busy period")


def by_name(tasks, items, right):
    """The tasks in the order of the items, which is this one if it is given."""
    names = {task.name: task for task in tasks}
    need(sorted(item["task"] for item in items) == sorted(names), "each task has its place once")
    need(right is None or [task.name for task in right] == [item["task"] for item in items], "this is another order")
    return [names[item["task"]] for item in items]


def levels(proof, groups, test):
    """Mixed criticality: response times at each level, or at the own level alone. Where the policy searches for priorities
    (Audsley), it finds some if any pass the test: those of the proof need not be the ones that it runs with."""
    for _, tasks, items in parts(proof, groups, "levels"):
        order = {
            "SMC-RM": lambda t: (t.T, -t.level, t.rank, t.at),
            "SMC-CM": lambda t: (-t.level, t.T, t.rank, t.at),
        }.get(test)
        in_order = by_name(tasks, items, order and sorted(tasks, key=order))
        for at, (k, item) in enumerate(zip(in_order, items)):
            found, higher = item["lengths_ns"], in_order[:at]
            own = [k.level] if test != "AMC-RT" else list(range(k.level + 1))
            need(len(found) == len(own) and found == sorted(found), f"{k.name} has other levels")
            for m, R in zip(own, found):
                work = k.by_level[m]
                for j in higher:
                    if test == "AMC-RT" and j.level < m:
                        work += -(-found[j.level] // j.T) * j.by_level[j.level]
                    else:
                        work += -(-R // j.T) * j.by_level[m]
                need(work <= R <= k.D, f"{k.name} may respond later than {R} ns at level {m}")


def slacks(proof, groups, test):
    """BCLI and G-RTA: each slack follows from those that are known before; at the end all are in time."""
    for cpus, tasks, steps in parts(proof, groups, "slacks"):
        known, names, m = {task.name: 0 for task in tasks}, {task.name: task for task in tasks}, len(cpus)

        def shown(k, S):
            need(0 <= S <= k.D - k.C, f"{k.name} has no such slack")
            R = k.D if test == "BCLI" else k.D - S
            most, others = R - k.C + 1, 0
            for i in tasks:
                if i is not k:
                    due = (k.D // i.T) * i.C + min(i.C, max(0, k.D % i.T - known[i.name]))
                    others += min(due, most, workload(i, R, known[i.name]) if test != "BCLI" else due)
            need(S <= k.D - k.C - others // m, f"{k.name} may end later than {S} ns before its deadline")

        for step in steps:
            need(step["task"] in names, "this task is elsewhere")
            shown(names[step["task"]], step["slack_ns"])
            known[step["task"]] = max(known[step["task"]], step["slack_ns"])
        for task in tasks:
            shown(task, known[task.name])


def bar(proof, groups):
    """BAR: no interval that ends with a job of `k` can be asked for more than the CPUs do."""
    for cpus, tasks, points in parts(proof, groups, "points"):
        m, load = len(cpus), sum(task.u for task in tasks)
        need(load < m, "the load leaves no room")
        largest = sum(sorted((task.C for task in tasks), reverse=True)[: m - 1])
        lead = sum((task.T - task.D) * task.u for task in tasks)
        for k in tasks:
            t = ceil((largest + lead + m * k.C) / (m - load))
            for point in (point for point in points if point["task"] == k.name):
                at, claimed = point["interval_ns"], int(point["demand_ns"])
                need(at >= k.D, "the interval is shorter than the deadline")
                right = carried(tasks, k, at, m)
                need(claimed == right < m * (at - k.C + 1), f"in {at} ns {right} is asked for, {claimed} is claimed")
                if at >= t:
                    t = min(t, right // m + k.C - 1)
            need(t < k.D, f"the points of {k.name} leave a gap")


def carried(tasks, k, t, m):
    total, more = 0, []
    for i in tasks:
        plain = max(0, (t - i.D) // i.T + 1) * i.C
        inside = (t // i.T) * i.C + min(i.C, t % i.T)
        most = t - k.C + 1
        if i is k:
            plain, inside, most = plain - k.C, inside - k.C, t - k.D
        plain, inside = min(plain, most), min(inside, most)
        total += plain
        more.append(max(0, inside - plain))
    return total + sum(sorted(more, reverse=True)[: m - 1])


# ---- CPUs of different speeds ---------------------------------------------------------------------------------------


class Fastest:
    """The fastest CPUs of a group, alone: what is slower makes no job later."""

    def __init__(self, system, cpus, whole_group):
        need(cpus and cpus <= whole_group, "these CPUs are not in the group")
        self.speeds = sorted((system.speeds[cpu] for cpu in cpus), reverse=True)
        need(all(system.speeds[cpu] <= self.speeds[-1] for cpu in whole_group - cpus), "other CPUs are faster")
        self.first, self.all = self.speeds[0], sum(self.speeds)
        self.slack = max(sum(self.speeds[at + 1 :]) / speed for at, speed in enumerate(self.speeds))
        self.grain = Fraction(1, lcm(*(speed.denominator for speed in self.speeds)))

    def taken(self, task):
        """The WCET with what a job wastes in the nanosecond in which it ends."""
        return task.C + self.first - self.grain


def on_the_fastest(system, proof, groups, kind, condition):
    """A condition about each group, on some of its fastest CPUs."""
    need(proof["kind"] == "parts", "evidence in parts was expected")
    need(len(proof["parts"]) == len(groups), "each group of CPUs needs one part")
    for whole_group, tasks in groups.items():
        found = [part for part in proof["parts"] if frozenset(part["cpus"]) <= whole_group]
        need(len(found) == 1 and found[0]["evidence"] == kind, f"{kind} were expected")
        (part,) = found
        need(sorted(part["tasks"]) == sorted(task.name for task in tasks), "these tasks are not on these CPUs")
        condition(Fastest(system, frozenset(part["cpus"]), whole_group), tasks, part["items"])


def u_gfb(cpus, tasks, items):
    need(not items, "there is nothing else to show")
    densities = [cpus.taken(task) / task.D for task in tasks]
    need(sum(densities) <= cpus.all - cpus.slack * max(densities), "the densities are too much")


def u_bcl(cpus, tasks, items):
    need(not items, "there is nothing else to show")
    for k in tasks:
        others = 0
        for i in tasks:
            if i is not k:
                jobs = max(0, (k.D - i.D) // i.T + 1)
                carried = min(cpus.taken(i), cpus.first * max(0, k.D - jobs * i.T))
                others += min(jobs * cpus.taken(i) + carried, cpus.first * k.D)
        need(others <= cpus.all * k.D - (cpus.slack + 1) * k.C, f"{k.name} may get too little")


def u_load(cpus, tasks, items):
    need(not items, "there is nothing else to show")
    widest = max(cpus.taken(task) / task.D for task in tasks)
    mu = cpus.all - cpus.slack * widest
    need(mu > 0, "a task is too dense")
    busy = max(k for k in range(len(cpus.speeds) + 1) if k == 0 or sum(cpus.speeds[:k]) < mu)
    bound = mu - busy * widest
    load = sum(cpus.taken(task) / task.T for task in tasks)
    need(load <= bound, "the load is too much")
    if all(task.D >= task.T for task in tasks):
        return
    asked = lambda t: sum(max(0, (t - task.D) // task.T + 1) * cpus.taken(task) for task in tasks) / bound
    lead = sum(max(0, task.T - task.D) * cpus.taken(task) / task.T for task in tasks)
    if load < bound:
        return below(asked, lead, bound - load)
    # The demand grows by as much as the bound in each hyperperiod.
    below(asked, Fraction(lcm(*(task.T for task in tasks)) + max(task.D for task in tasks)), Fraction(1))


def u_bar(cpus, tasks, items):
    """The demand and the bound are straight between two lengths at which a term changes, but for the largest of the terms,
    which is convex: so it is enough to look at those lengths, and at the whole ones beside them."""
    need(not items, "there is nothing else to show")
    total = sum(cpus.taken(task) / task.T for task in tasks)
    need(total < cpus.all, "the load leaves no room")
    everything = sum(cpus.taken(task) for task in tasks)
    carried = sum(sorted((cpus.taken(task) for task in tasks), reverse=True)[: len(cpus.speeds) - 1])
    looked = 0
    for k in tasks:
        horizon = floor((everything + carried + (cpus.slack + 1) * k.C) / (cpus.all - total))
        ends = {k.D, horizon}
        for i in tasks:
            takes = cpus.taken(i) / cpus.first
            for job in range(horizon // i.T + 2):
                at = (job * i.T, job * i.T + i.D, job * i.T + takes, job * takes, k.D + job * takes, job * i.T + i.D + takes)
                ends.update(whole for one in at for whole in (floor(one), floor(one) + 1))
                looked += 1
                need(looked <= STEPS // 10, "the verifier gave up")
        for L in ends:
            if k.D <= L <= horizon:
                need(u_asked(cpus, tasks, k, L) <= cpus.all * L - (cpus.slack + 1) * k.C, f"{k.name} may get too little")


def u_asked(cpus, tasks, k, L):
    asked, more = 0, []
    for i in tasks:
        C = cpus.taken(i)
        own, most = (C, cpus.first * (L - i.D)) if i is k else (0, cpus.first * L)
        plain = min(max(0, (L - i.D) // i.T + 1) * C - own, most)
        body = (L // i.T) * C + min(C, cpus.first * (L % i.T)) - own
        asked += plain
        more.append(max(0, min(body, most) - plain))
    return asked + sum(sorted(more, reverse=True)[: len(cpus.speeds) - 1])


def u_rta(order):
    """Response times under fixed priorities."""

    def condition(cpus, tasks, items):
        above = []
        for k, item in zip(by_name(tasks, items, sorted(tasks, key=priority(order))), items):
            need(len(item["lengths_ns"]) == 1, "each task has one response time")
            (x,) = item["lengths_ns"]
            asked, more = 0, []
            for i, R in above:
                plain = min(u_body(cpus, i, Fraction(x)), cpus.first * x)
                reach = x + R - cpus.taken(i) / cpus.first
                carries = min(u_body(cpus, i, reach), cpus.first * x) if reach > 0 else 0
                asked += plain
                more.append(max(0, carries - plain))
            asked += sum(sorted(more, reverse=True)[: len(cpus.speeds) - 1])
            need(asked + (cpus.slack + 1) * k.C <= cpus.all * x, f"{k.name} may respond later than {x} ns")
            need(x <= k.D, f"{k.name} may be late")
            above.append((k, x))

    return condition


def u_body(cpus, i, length):
    """What jobs of a task take in an interval that begins with one of them."""
    return (length // i.T) * cpus.taken(i) + min(cpus.taken(i), cpus.first * (length % i.T))


def rates(proof, system, tasks):
    """RUN and QPS: a rate for each task, enough for it in windows on a grid, and their sum."""
    (_, tasks, items) = parts(proof, {system.all: tasks}, "rates")[0]
    total = Fraction(0)
    for task, item in zip(by_name(tasks, items, tasks), items):
        unit = item["unit_ns"]
        need(unit > 0 and unit == items[0]["unit_ns"], "there is one grid")
        regular = task.kind in ("periodic", "hog", "yield", "explicit") and task.J == 0
        known = task.times if task.kind == "explicit" else [task.offset]
        regular &= task.T % unit == 0 and all(at % unit == 0 for at in known)
        window = task.T if regular else (task.T // unit - 1) * unit
        rate = Fraction(item["rate"], unit)
        need(0 < rate <= 1 and rate * window >= task.C, f"the rate of {task.name} is too small")
        total += rate
    need(total <= len(system.all), "the rates are more than the CPUs")


# ---- What shows a no ------------------------------------------------------------------------------------------------


def timed_tasks(system):
    """The tasks in the time of their CPUs, where each has CPUs of one speed; none otherwise."""
    clusters = [{system.speeds[cpu] for cpu in cluster} for cluster in system.clusters]
    tied = all(len(task.allowed) == 1 for task in system.tasks)
    if system.other_speeds and (system.homes or not tied and any(len(speeds) > 1 for speeds in clusters)):
        return None
    return [task.at_speed(min(system.speeds[cpu] for cpu in task.allowed)) for task in system.tasks]


def in_whole_times(system, one):
    """The numbers of CAPACITY in the time of the CPUs."""
    timed = timed_tasks(system)
    if timed is None:
        return None
    if one["task"] is not None:
        task = next(task for task in timed if task.name == one["task"])
        return Fraction(task.C), Fraction(task.D)
    return sum(task.u for task in timed), Fraction(len(system.all))


def too_much(system, found):
    """CAPACITY: no scheduler can do it."""
    (one,) = found
    need(all(task.longest <= task.C for task in system.tasks), "a job may execute for longer")
    if one["task"] is not None:
        task = system.by_name[one["task"]]
        # A section may be executed on the home of its resource.
        cpus = system.all if task.sections else task.allowed
        right = (Fraction(min(ceil(task.C / system.speeds[cpu]) for cpu in cpus)), Fraction(task.D))
    else:
        need(all(task.comes_for_ever() for task in system.tasks), "tasks end")
        right = (sum(task.u for task in system.tasks), sum(system.speeds.values()))
        if one["interval_ns"] is not None:
            return too_much_in(system, one)
        if one["cpus"] is not None:
            # The largest tasks, and as many of the fastest CPUs: a job runs on one at a time.
            count = len(one["cpus"])
            need(0 < count <= len(system.tasks), "there are no more tasks than CPUs here")
            largest = sorted((task.u for task in system.tasks), reverse=True)[:count]
            right = (sum(largest), sum(sorted(system.speeds.values(), reverse=True)[:count]))
    claimed = (Fraction(one["value"]), Fraction(one["bound"]))
    need(claimed in (right, in_whole_times(system, one)), "other numbers are right")
    need(claimed[0] > claimed[1], "it is not too much")


def too_much_in(system, one):
    """CAPACITY: the largest demands in an interval are more than as many CPUs of a cluster do, or all are more than all do."""
    t, cpus = one["interval_ns"], frozenset(one["cpus"])
    at, cluster = next(((at, cluster) for at, cluster in enumerate(system.clusters) if cpus <= cluster), (None, cpus))
    tasks = [task for task in system.tasks if task.cluster == at]
    need(tasks and cpus and t > 0, "there are no such tasks")
    need(not system.homes and all(task.allowed <= cluster for task in tasks), "tasks may use other CPUs")
    need(together(tasks) and all(task.J == 0 for task in tasks), "the tasks may not come together")
    count = len(tasks) if cpus == cluster else len(cpus)
    demands = sorted((max(0, (t - task.D) // task.T + 1) * task.C for task in tasks), reverse=True)
    fastest = sorted((system.speeds[cpu] for cpu in cluster), reverse=True)[: len(cpus)]
    claimed = (Fraction(one["value"]), Fraction(one["bound"]))
    need(claimed == (sum(demands[:count]), sum(fastest) * t), "other numbers are right")
    need(claimed[0] > claimed[1], "it is not too much")


def confined(system, found):
    """AFFINITY: tasks that may use these CPUs alone need more than there are."""
    (one,) = found
    tasks = timed_tasks(system)
    need(tasks is not None, "the CPUs of a task have different speeds")
    sporadic(system, tasks, implicit=True, fits=False)
    need(all(task.comes_for_ever() for task in tasks), "tasks end")
    if one["task"] is not None:
        right = (next(task for task in tasks if task.name == one["task"]).u, Fraction(1))
    else:
        cpus = frozenset(one["cpus"])
        right = (sum(task.u for task in tasks if task.allowed <= cpus), Fraction(len(cpus)))
    need((Fraction(one["value"]), Fraction(one["bound"])) == right, "other numbers are right")
    need(right[0] > right[1], "it is not too much")


def demand_exceeds(found, groups):
    """QPA: in this interval more is due than there is time."""
    for one in found:
        tasks = groups[frozenset(one["cpus"])]
        need(together(tasks), "the releases may not come together")
        value, bound = Fraction(one["value"]), Fraction(one["bound"])
        if one["what"] == "the demand":
            t = one["interval_ns"]
            right = (demand(tasks, t, lambda task: task.D - task.J), t)
        elif one["what"] == "the release jitter":
            task = {task.name: task for task in tasks}[one["task"]]
            right = (task.J, task.D)
            need(task.C > 0, "there is nothing to do")
            need(value == right[0] and bound == right[1] and value >= bound, "other numbers are right")
            return
        else:
            right = (sum(task.u for task in tasks), 1)
        need((value, bound) == right and value > bound, f"{value} and {bound} are claimed, {right} is right")
        return
    raise Invalid("nothing is compared")


def responds_late(found, groups, order):
    """Fixed priorities on one CPU: a job of this task is late when all become ready together."""
    need(len(found) > 0, "nothing is compared")
    one = found[0]
    (tasks,) = [group for group in groups.values() if any(task.name == one["task"] for task in group)]
    in_order = sorted(tasks, key=priority(order))
    at = [task.name for task in in_order].index(one["task"])
    k = in_order[at]
    if one["value"] is None:
        need(sum(task.u for task in in_order[: at + 1]) > 1, "the response time does not grow for ever")
    else:
        need(Fraction(one["value"]) > k.D == Fraction(one["bound"]), "it is in time")
    need(together(tasks), "the releases may not come together")
    late_below(k, in_order[:at])


def none_can_be_lowest(found, groups):
    """Fixed priorities on one CPU: each of these tasks is late below all the others of them."""
    need(len(found) > 0, "nothing is compared")
    names = {one["task"] for one in found}
    # One CPU is enough, if there are several.
    tasks = next(group for group in groups.values() if any(task.name in names for task in group))
    stuck = [task for task in tasks if task.name in names]
    need(together(tasks), "the releases may not come together")
    for k in stuck:
        late_below(k, [j for j in stuck if j is not k])


def late_below(k, higher):
    """Some job of `k` is late below these tasks."""
    if k.u + sum(task.u for task in higher) > 1:
        return
    w, q = 0, 0
    for _ in range(STEPS // (4 * len(higher) + 4)):
        following = (q + 1) * k.C + sum(-(-(w + j.J) // j.T) * j.C for j in higher)
        if following > w:
            w = following
            if w > q * k.T + k.D - k.J:
                return
        else:
            # The job ends at `w`, in time. The busy period may go on with the next one.
            need(w > (q + 1) * k.T - k.J, f"no job of {k.name} is late")
            q += 1
    raise Invalid(f"the verifier gave up before a job of {k.name} was late")


def run_misses(system, tasks, proof, order):
    """A run: its releases are legal, and the job that is named is not done by its deadline."""
    jobs, late = proof["jobs"], proof["late"]
    # When the first job of each task that is not named must have come at the latest.
    end, of, missing = late["deadline_ns"], {task.name: [] for task in tasks}, {}
    names = {task.name: task for task in tasks}
    need(not system.costs and not system.other_speeds and not system.changes and not system.mixed, "not simulated")
    for job in jobs:
        need(job["task"] in names, "there is no such task")
        task = names[job["task"]]
        need(0 <= job["ready_ns"] - job["arrival_ns"] <= task.J, f"a job of {task.name} is ready too early or late")
        need(0 < job["execution_ns"] <= task.C, f"a job of {task.name} executes for too long")
        of[task.name].append(job)
    # Then a verdict is about jobs that come at any distance from those of other tasks.
    free = together(tasks) and all(task.kind in ("periodic", "sporadic") and task.J == 0 for task in tasks)
    for task in tasks:
        arrivals = [job["arrival_ns"] for job in of[task.name]]
        need(task.kind in ("periodic", "sporadic", "explicit", "hog", "yield"), "not simulated")
        if task.kind == "explicit":
            times = [at for at in task.times if at < end][: task.jobs]
            need(arrivals == times[: len(arrivals)], f"{task.name} comes at other times")
            missing[task.name] = min((at + task.J for at in times[len(arrivals) :]), default=end)
            continue
        need(task.jobs is None or len(arrivals) <= task.jobs, f"{task.name} has too many jobs")
        following = task.offset
        for at in arrivals:
            latest = following + (0 if at == arrivals[0] else task.extra)
            need(following <= at and (free or at <= latest), f"{task.name} comes too early or late")
            following = at + task.T
        more = task.jobs is None or len(arrivals) < task.jobs
        # A job that may be ready by the end only may be left out.
        if not free and more:
            missing[task.name] = following + (task.extra if arrivals else 0) + task.J
    due = [job for job in of[late["task"]] if job["arrival_ns"] == late["arrival_ns"]]
    need(len(due) == 1 and end == late["arrival_ns"] + names[late["task"]].D, "there is no such job")
    job = of[late["task"]].index(due[0])
    left, skipped = simulate(tasks, of, order, end)
    need(left[late["task"]][job] > 0, "the job is done in time")
    if (late["task"], job) in skipped:
        # It never runs, whatever comes later.
        end = skipped[late["task"], job]
        left, _ = simulate(tasks, of, order, end)
    for name, by in missing.items():
        # A job that waits behind another one of its own task has not executed yet.
        need(by >= end or (left[name] and left[name][-1] > 0), f"a job of {name} is missing")


def simulate(tasks, of, order, end):
    """The remaining execution of each job at `end` if on each group of CPUs the first jobs in the order run; and the
    jobs that were skipped, with their times."""
    left = {name: [job["execution_ns"] for job in jobs] for name, jobs in of.items()}
    head, seen, skipped = {name: 0 for name in of}, {name: 0 for name in of}, {}
    fixed = order != "edf" and priority(order)
    now = 0
    while now < end:
        ready, following = [], end
        for task in tasks:
            name, jobs = task.name, of[task.name]
            while head[name] < len(jobs) and (left[name][head[name]] == 0 or (name, head[name]) in skipped):
                head[name] += 1
            while seen[name] < len(jobs) and jobs[seen[name]]["ready_ns"] <= now:
                # A task that skips has no job wait for the one before it.
                if task.late == "skip" and head[name] < seen[name]:
                    skipped[name, seen[name]] = now
                seen[name] += 1
            if seen[name] < len(jobs):
                following = min(following, jobs[seen[name]]["ready_ns"])
            if head[name] == seen[name]:
                continue
            job = jobs[head[name]]
            key = fixed(task) if fixed else (job["arrival_ns"] + task.D, task.rank, task.at)
            ready.append((key, task))
        ready.sort(key=lambda entry: entry[0])
        free, running = {}, []
        for _, task in ready:
            if free.setdefault(task.cpus, len(task.cpus)):
                free[task.cpus] -= 1
                running.append(task.name)
                following = min(following, now + left[task.name][head[task.name]])
        for name in running:
            left[name][head[name]] -= following - now
        now = following
    return left, skipped


# ---- The answers ----------------------------------------------------------------------------------------------------


def verify(system, answer):
    """Verifies the proof of an answer about a policy."""
    spec, test, proof = Spec(answer["policy"]), answer["decided_by"], answer["proof"]
    form, order = spec.form, spec.order
    if (test, answer["verdict"]) in (("CAPACITY", "no"), ("AFFINITY", "no")):
        need(not system.mixed or not (form == "mixed" or spec.name in DROPPING), "the policy may drop jobs")
        return no_scheduler(system, test, proof)
    need(not system.groups, "the verifier does not know groups with budgets under policies")
    need(form is not None, "the verifier does not know this policy")
    spec.known()
    served = spec.name in SERVERS and any(task.has_budget for task in system.tasks)
    need(not served, "the verifier does not know servers")
    with_affinities = test == "HPA-SPEED" or (test or "").startswith("APA-")
    tasks = analysed_tasks(system, spec, form, answer, test == "LOPEZ-ADAPTIVE" or with_affinities)
    groups, yes = groups_of(tasks), answer["verdict"] == "yes"
    by_rank = order != "fp" or system.by_rank or spec.option("tie", None) == "rank"
    need(by_rank or not any(system.sharing(group) for group in groups), IN_TURN)
    # A set that is late without blocking is late with it. Of all tests for a yes these count it.
    counts = not yes or test in ("QPA", "RTA", "RTA-RM", "RTA-DM", "LL", "HB")
    if any(task.B for task in system.tasks):
        need(counts, f"{test} counts no blocking times")
        need(not system.costs and form != "threads", "blocking is not counted with overheads, and not of threads")
    locks = test in ("SRP", "SUSP-OBL-EDF") or locking_test(test or "")[0] in LOCKING
    need(locks or not any(task.has_steps for task in system.tasks), "what jobs with steps do is not analysed")
    need(yes or answer["verdict"] == "no", "nothing is decided")
    # A job that is skipped is missed, and tests let it wait.
    need(not yes or all(task.late != "skip" or task.D <= task.T for task in tasks), "a job may be skipped in time")
    if form == "edzl":
        need(yes and not system.costs, "what holds of EDZL is that deadlines are met without overheads")
        need(all(task.cpus == system.all for task in tasks), "the policy knows no affinities")
        need(test not in ("QPA", "LOPEZ"), "the test is about another policy")
    if spec.name == "efdf":
        need(not system.costs, "nothing is proven of EFDF with overheads")
    one_each = all(len(cpus) == 1 for cpus in groups)
    if spec.name in FAIR:
        # With one CPU a job counts as due at its deadline.
        need(one_each and not system.costs, "fair lateness is EDF on single CPUs alone")
    name, _, of_order = (test or "").rpartition("-")
    if test == "WITNESS":
        need(not yes and proof["kind"] == "run" and form in ("g", "c", "p", "weak", "strong", "hpa"), "a run shows a no")
        need(spec.option("tie", "rank") == "rank", "equal deadlines are by rank where the verifier simulates")
        return run_misses(system, tasks, proof, order)
    if test in ("QPA", "RTA", "RTA-RM", "RTA-DM"):
        need(one_each, "the test is about single CPUs")
        right = {"QPA": "edf", "RTA": "fp", "RTA-RM": "rm", "RTA-DM": "dm"}[test]
        need(order == right, "the test is about another policy")
        sporadic(system, tasks, jitter=True, constrained=False, fits=False)
        if test == "QPA":
            return processor_demand(proof, groups) if yes else demand_exceeds(comparisons(proof), groups)
        return busy_periods(proof, groups, right) if yes else responds_late(comparisons(proof), groups, right)
    if form == "optimal":
        need(test == "OPTIMAL" and not system.costs, "the test is about another policy")
        sporadic(system, tasks, implicit=True, fits=False)
        need(all(task.cpus == system.all for task in tasks), "the policy knows no affinities")
        if yes:
            return rates(proof, system, tasks)
        need(sum(task.u for task in tasks) > len(system.all), "the utilization is not too much")
        return None
    need(yes, "a sufficient test does not say no")
    if form == "mixed":
        right = {"SMC-RM": "rms", "SMC-CM": "cms", "FTP-SMC": "smc", "AMC-RT": "amc"}.get(test)
        if order == "smc":
            # An order that passes these tests passes the one for the best order.
            own = {"audsley": ("FTP-SMC", "SMC-RM", "SMC-CM"), "rm": ("SMC-RM",), "cm": ("SMC-CM",)}
            need(test in own[spec.option("order", "audsley")], "the test is about another policy")
        else:
            need(order == right, "the test is about another policy")
        need(not any(task.grows for task in tasks), "a task grows above its level")
        sporadic(system, tasks)
        need(not system.costs, "overheads are not analysed")
        return levels(proof, groups, test)
    if test in ("LL", "HB"):
        need(one_each and order in ("rm", "dm"), "the test is about another policy")
        sporadic(system, tasks, implicit=True, fits=False)
        mean = lambda rates: [sum(rates) / len(rates) + 1] * len(rates)
        each = lambda rates: [rate + 1 for rate in rates]
        return product_test(comparisons(proof), groups, mean if test == "LL" else each)
    if test in ("LOPEZ", "LOPEZ-ADAPTIVE"):
        adaptive = test == "LOPEZ-ADAPTIVE"
        need(spec.name in (("apedf", "a2pedf") if adaptive else ("p-edf",)), "the test is about another policy")
        # Next fit leaves room behind; the other ways need decreasing sizes.
        # The first partition that is tried comes from worst fit decreasing.
        packs = spec.option("fit", "auto") in ("auto", "ff", "ffd", "bf", "bfd", "wfd") and "start" not in spec.given
        need(packs, "the test is about tasks that are placed by another heuristic")
        need(not system.costs and all(task.allowed == system.all for task in system.tasks), "not analysed")
        sporadic(system, system.tasks, implicit=True, budget=adaptive)
        return lopez(comparisons(proof), system, lambda task: task.budget if adaptive else task.C)
    if with_affinities:
        need(form in ("weak", "strong", "hpa") and not system.costs, "the test is about another policy")
        sporadic(system, tasks, implicit=test == "HPA-SPEED")
        if test == "HPA-SPEED":
            need(order == "edf" and form != "weak", "the test is about another policy")
            return speed(comparisons(proof), system)
        need(order == of_order.lower(), "the test is about another policy")
        return by_affinity(comparisons(proof), tasks, order)
    if test == "SRP":
        need(one_each and form == "p" and order == "edf" and not system.costs, "the test is about another policy")
        sporadic(system, tasks)
        return stacked_demand(proof, groups, spec)
    if test == "SUSP-OBL-EDF":
        need(one_each and form == "p" and order == "edf" and not system.costs, "the test is about another policy")
        sporadic(system, tasks)
        return suspended_demand(proof, groups, spec)
    if locks:
        need(one_each and form == "p" and order == locking_test(test)[1], "the test is about another policy")
        need(not system.costs, "overheads are not analysed")
        sporadic(system, tasks)
        return locking(comparisons(proof), system, groups, spec, test)
    if test.startswith("U-"):
        need(spec.name == f"{form}-{order}" and form in ("g", "c"), "the test is about another policy")
        need(not system.costs, "overheads are not analysed")
        need(spec.option("place", "greedy") == "greedy", "the fastest CPUs may be idle")
        need(spec.option("tie", "rank") == "rank", "a running job keeps its CPU among equals")
        sporadic(system, tasks, uniform=True)
        if name == "U-RTA-LC":
            need(order == of_order.lower(), "the test is about another policy")
            return on_the_fastest(system, proof, groups, "busy periods", u_rta(order))
        conditions = {"U-GFB": u_gfb, "U-BCL": u_bcl, "U-LOAD": u_load, "U-BAR": u_bar}
        need(order == "edf" and test in conditions, f"the verifier does not know {test}")
        return on_the_fastest(system, proof, groups, "points", conditions[test])
    sporadic(system, tasks, constrained=test != "LOAD")
    if name in ("BCL", "BERTOGNA", "GUAN"):
        need(order == of_order.lower(), "the test is about another policy")
        return global_fixed(comparisons(proof), groups, order, name)
    need(order == "edf", "the test is about another policy")
    if test in ("BCLI", "G-RTA"):
        return slacks(proof, groups, test)
    if test == "BAR":
        return bar(proof, groups)
    tests = {"GFB": density_test, "LOAD": load_test, "BAK": bak, "BCL": bcl, "FF-DBF": forced_forward}
    need(test in tests, f"the verifier does not know {test}")
    return tests[test](comparisons(proof), groups)


def no_scheduler(system, test, proof):
    """More is to be done than the CPUs do."""
    need(not system.changes, "requests are not analysed")
    need(not system.costs or test == "CAPACITY", "overheads are not analysed")
    return {"CAPACITY": too_much, "AFFINITY": confined}[test](system, comparisons(proof))


def verify_whatever(system, answer):
    """Verifies the proof of an answer that does not depend on the policy."""
    test, proof = answer["test"], answer["proof"]
    need(answer["verdict"] in ("yes", "no"), "nothing is decided")
    need(answer["verdict"] == "no" or not system.groups, "the verifier does not know groups with budgets here")
    is_blocked = any(task.B for task in system.tasks)
    need(answer["verdict"] == "no" or not is_blocked, f"{test} counts no blocking times")
    known = test in ("CAPACITY", "AFFINITY") or not any(task.has_steps for task in system.tasks)
    need(known, "what jobs with steps do is not analysed")
    if test == "OPA":
        tasks = [task.copy(cpus=task.allowed) for task in system.tasks]
        need(all(len(task.cpus) == 1 for task in tasks) and not system.costs, "the test is about single CPUs")
        tasks = [task.at_speed(system.speeds[min(task.cpus)]) for task in tasks]
        sporadic(system, tasks, jitter=True, constrained=False, fits=False)
        if answer["verdict"] == "no":
            return none_can_be_lowest(comparisons(proof), groups_of(tasks))
        return busy_periods(proof, groups_of(tasks), None)
    if test == "PARTITION" and answer["verdict"] == "yes":
        cpu_of = {name: frozenset(part["cpus"]) for part in proof["parts"] for name in part["tasks"]}
        tasks = [task.copy(cpus=cpu_of[task.name]) for task in system.tasks]
        need(all(len(t.cpus) == 1 and t.cpus <= t.allowed for t in tasks), "a task is not on a CPU that it may use")
        tasks = [task.at_speed(system.speeds[min(task.cpus)]) for task in tasks]
        sporadic(system, tasks, constrained=False)
        need(not system.costs, "overheads are not analysed")
        return processor_demand(proof, groups_of(tasks))
    need(answer["verdict"] == "no" and test in ("CAPACITY", "AFFINITY"), f"the verifier does not know {test}")
    need(not system.mixed, "some policies drop jobs of lower criticality")
    return no_scheduler(system, test, proof)


# ---- Budgets of groups ----------------------------------------------------------------------------------------------


class Supply:
    """The least time that a constant-bandwidth server gives a group with work (Easwaran, Anand and Lee 2007)."""

    def __init__(self, Q, P, D):
        self.Q, self.P, self.D, self.gap = Q, P, D, P - Q
        self.delay = self.gap + D - Q
        self.alpha = Fraction(Q, P)

    def within(self, t):
        k, r = divmod(max(0, t - self.gap), self.P)
        return k * self.Q + min(self.Q, max(0, r - (self.D - self.Q)))

    def takes(self, work):
        if work <= 0:
            return 0
        k = (work - 1) // self.Q
        return self.gap + k * self.P + self.D - self.Q + work - k * self.Q


def due(tasks, t):
    return sum(max(0, (t - task.D) // task.T + 1) * task.C for task in tasks)


def interferes(others, t):
    return sum(-(-t // task.T) * task.C for task in others)


def longest(tasks, supply):
    """No longer window has more demand than supply, if none up to here has."""
    load = sum(task.u for task in tasks)
    need(load <= supply.alpha, "the tasks need more than the bandwidth")
    # From there on both grow by the same in each hyperperiod, the demand by no more than the supply.
    repeats = max(supply.gap, *(task.D - task.T for task in tasks))
    limits = [repeats + lcm(supply.P, *(task.T for task in tasks))]
    if load < supply.alpha:
        early = sum(task.u * max(0, task.T - task.D) for task in tasks)
        limits.append(floor((early + supply.alpha * supply.delay) / (supply.alpha - load)))
    return min(limits)


def first_of(tasks, task):
    """The tasks that delay this one under fixed priorities: those of equal priority count as higher."""
    return [other for other in tasks if other is not task and other.priority <= task.priority]


def alone_in_time(tasks, Q, P, D):
    """Each job of a single task begins a new period of its server."""
    [task] = tasks
    k = -(-task.C // Q)
    return k * P <= task.T and (k - 1) * P + D <= task.D


def shows_enough(proof, inner, tasks, supply):
    [(kind, steps)] = proof.items()
    if kind == "responses":
        need(inner == "fp" and all(task.D <= task.T for task in tasks), "response times are for fixed priorities")
        lengths = {step["task"]: step["length_ns"] for step in steps}
        need(len(lengths) == len(steps) and lengths.keys() == {task.name for task in tasks}, "each task needs one length")
        for task in tasks:
            t = lengths[task.name]
            need(t <= task.D, f"{task.name} has a length beyond its deadline")
            work = task.C + interferes(first_of(tasks, task), t)
            need(work <= supply.within(t), f"the supply in {t} is too little for {task.name}")
    elif kind == "lengths_ns":
        need(inner == "edf", "lengths are for EDF")
        until, shortest = longest(tasks, supply), min(task.D for task in tasks)
        # Windows that are longer than need be are no harm.
        need(due(tasks, until) <= due(tasks, steps[0] if steps else 0), "longer windows are left out")
        for t, after in zip(steps, steps[1:] + [min([shortest, *steps])]):
            need(after <= t and due(tasks, t) <= supply.within(t), f"more than the supply is due in {t}")
            need(after == t or due(tasks, t - 1) <= supply.within(after), f"the windows from {after} to {t} are left out")
    else:
        need(kind == "periods" and len(tasks) == 1, "the task is not alone")
        need(steps == -(-tasks[0].C // supply.Q), "this is another number of periods")
        need(alone_in_time(tasks, supply.Q, supply.P, supply.D), "the task is late")


def shows_too_little(proof, inner, tasks, supply):
    [(kind, steps)] = proof.items()
    if kind == "bandwidth":
        need(steps and sum(task.u for task in tasks) > supply.alpha, "the bandwidth is enough")
    elif kind == "length_ns":
        need(inner == "edf" and due(tasks, steps) > supply.within(steps), f"the supply in {steps} is enough")
    else:
        need(kind == "late" and inner == "fp", "this is no proof against a budget")
        task = next((task for task in tasks if task.name == steps["task"]), None)
        need(task is not None and steps["lengths_ns"], "there is no such task")
        before = 0
        for t in steps["lengths_ns"]:
            need(t <= supply.takes(task.C + interferes(first_of(tasks, task), before)), f"{t} does not follow")
            before = t
        need(before > task.D, f"{task.name} is not late")


def verify_design(system, found):
    """A budget of a group is enough, and for the tests 1 ns less is not."""
    need(found["group"] in system.groups, "there is no such group")
    group, choice = system.groups[found["group"]], found["choice"]
    tasks = [task for task in system.tasks if task.group == group.name]
    need(tasks and choice is not None, "there is nothing to show")
    need((found["inner"], found["server"]) == (group.inner, group.rule) and group.rule == "cbs", "it is another group")
    need(not system.mixed and not system.other_speeds, "the verifier does not know levels or speeds here")
    sporadic(system, tasks, constrained=False, fits=False)
    for task in tasks:
        need(task.allowed == group.cpus and not task.has_budget, f"{task.name} has other CPUs or a budget")
        need(not task.has_steps and task.B == 0, f"{task.name} does more than execute")
        need(group.inner != "fp" or task.priority is not None, f"{task.name} has no priority")
    Q, P, D, m = choice["budget_ns"], choice["period_ns"], choice["deadline_ns"], choice["cpus"]
    cost = 2 * system.overhead.get("context_switch", 0) + system.overhead.get("scheduling", 0)
    need(found["cost_ns"] == cost, "switches cost something else")
    need(0 < Q <= D <= P and (D == P or (P, D) == (group.P, group.D)), "there is no such server")
    need(m == 1, "the tests for several servers have no proof")

    def bandwidth(row):
        return row["cpus"] * Fraction(row["budget_ns"] + cost, row["period_ns"])

    rows = [row for row in found["table"] if row["budget_ns"] is not None]
    need(choice in rows and Fraction(choice["bandwidth"]) == bandwidth(choice), "the choice is not in the table")
    need(all(bandwidth(row) >= bandwidth(choice) for row in rows if row["budget_ns"] + cost <= row["period_ns"]), "a row is better")
    shows_enough(found["proof"]["yes"], group.inner, tasks, Supply(Q, P, D))
    no = found["proof"]["no"]
    need((no is None) == (Q == 1), "a budget of 1 ns less needs a proof, too")
    if no is not None:
        shows_too_little(no, group.inner, tasks, Supply(Q - 1, P, D))
        need(len(tasks) > 1 or not alone_in_time(tasks, Q - 1, P, D), "1 ns less is enough for a single task")


# ---- The form of a certificate --------------------------------------------------------------------------------------


def unique(pairs):
    """The object of JSON with these members, each of them once."""
    found = dict(pairs)
    need(len(found) == len(pairs), "an object has two members of one name")
    return found


def integer(text):
    need(text != "-0" and len(text) <= len(str(LARGEST)), f"{text[:50]} is no integer that may be here")
    return int(text)


def no_fraction(text):
    raise Invalid(f"{text[:50]} is not an integer")


def read_json(text):
    """JSON with integers alone, and with one meaning."""
    return json.loads(text, object_pairs_hook=unique, parse_int=integer, parse_float=no_fraction, parse_constant=no_fraction)


def is_text(value):
    return type(value) is str


def is_flag(value):
    return type(value) is bool


def is_whole(value):
    return type(value) is int and 0 <= value < LARGEST


def is_rational(value):
    """An integer or a fraction in lowest terms."""
    if type(value) is not str or len(value) > DIGITS or not re.fullmatch(r"-?(0|[1-9][0-9]*)(/[1-9][0-9]*)?", value):
        return False
    above, slash, below = value.partition("/")
    return value != "-0" and (not slash or int(below) > 1 and gcd(int(above), int(below)) == 1)


def is_integer(value):
    return is_rational(value) and "/" not in value


class Or:
    """A shape, or null."""

    def __init__(self, shape):
        self.shape = shape


TIMES = {"task": is_text, "arrival_ns": is_whole}
COMPARISONS = {
    "kind": is_text,
    "comparisons": [{
        "what": is_text, "task": Or(is_text), "cpus": Or([is_whole]), "interval_ns": Or(is_whole),
        "value": Or(is_rational), "bound": Or(is_rational), "holds": is_flag,
    }],
}  # fmt: skip
PARTS = {
    "kind": is_text,
    "parts": [{
        "cpus": [is_whole], "tasks": [is_text], "evidence": is_text,
        "items": [{
            "task": Or(is_text), "interval_ns": is_whole, "demand_ns": is_integer, "lengths_ns": [is_whole],
            "slack_ns": is_whole, "rate": is_whole, "unit_ns": is_whole,
        }],
    }],
}  # fmt: skip
RUN = {
    "kind": is_text,
    "jobs": [{**TIMES, "ready_ns": is_whole, "execution_ns": is_whole}],
    "late": {**TIMES, "deadline_ns": is_whole},
}
PROOFS = {"comparisons": COMPARISONS, "parts": PARTS, "run": RUN}
ANALYSED = {
    "how": is_text,
    "tasks": [{"task": is_text, "cpus": [is_whole], "wcet_ns": is_whole, "deadline_ns": is_whole}],
}
SAID = {"verdict": is_text, "proof": Or(PROOFS), "without": Or(is_text)}
CERTIFICATE = {
    "layland": is_text,
    "certificate": is_whole,
    "set": is_text,
    "answers": [{"policy": is_text, "decided_by": Or(is_text), "analysed": Or(ANALYSED), **SAID}],
    "any_policy": [{"test": is_text, **SAID}],
}


ROW = {
    "cpus": is_whole, "period_ns": is_whole, "deadline_ns": is_whole, "budget_ns": Or(is_whole),
    "bandwidth": Or(is_rational), "why": Or(is_text),
}  # fmt: skip
DESIGN = {
    "layland": is_text, "design": is_whole, "set": is_text, "group": is_text, "inner": is_text, "server": is_text,
    "cost_ns": is_whole, "choice": Or(ROW), "table": [ROW], "without": Or(is_text),
    "proof": Or({
        "yes": {"responses": [{"task": is_text, "length_ns": is_whole}], "lengths_ns": [is_whole], "periods": is_whole},
        "no": Or({"late": {"task": is_text, "lengths_ns": [is_whole]}, "length_ns": is_whole, "bandwidth": is_flag}),
    }),
}  # fmt: skip


def check_design(text, found):
    """As `check`, for the answer of `layland check --design`."""
    try:
        has_shape(found, DESIGN)
        need(found.get("design") == 1, "this is no design of a version that the verifier knows")
        need(found.keys() == DESIGN.keys(), "something is missing")
        system = Set(text)
    except Invalid:
        raise
    except Exception as error:
        raise Invalid(f"it cannot be read: {error!r}") from None
    claim = f"design {found['group']}", "yes", "least budget"
    if found["proof"] is None:
        return [(*claim, None, found["without"] or "the certificate does not say why")]
    try:
        verify_design(system, found)
        return [(*claim, True, "")]
    except Invalid as why:
        return [(*claim, False, str(why))]
    except Exception as error:
        return [(*claim, False, f"it cannot be read: {error!r}")]


def has_shape(value, shape, where="the certificate"):
    """Refuses a value that is not a certificate, so that nothing below meets a value of another type."""
    if isinstance(shape, Or):
        if value is not None:
            has_shape(value, shape.shape, where)
    elif isinstance(shape, list):
        need(type(value) is list, f"{where} is no list")
        for at, one in enumerate(value):
            has_shape(one, shape[0], f"{where}[{at}]")
    elif shape is PROOFS:
        kind = value.get("kind") if type(value) is dict else None
        need(type(kind) is str and kind in PROOFS, f"{where} is of no known kind")
        has_shape(value, PROOFS[kind], where)
    elif isinstance(shape, dict):
        need(type(value) is dict, f"{where} is no object")
        for name, one in value.items():
            need(type(name) is str and name in shape, f"{where} has a member {name!r}, which the verifier does not know")
            has_shape(one, shape[name], f"{where}.{name}")
    else:
        need(shape(value), f"{where} has another type, or is not in its one form")


def read_certificate(certificate):
    """The certificate, if it is one and answers something."""
    has_shape(certificate, CERTIFICATE)
    need(certificate.get("certificate") == 1, "this is no certificate of a version that the verifier knows")
    for kind in ("answers", "any_policy"):
        need(kind in certificate, f"{kind} are missing")
        for answer in certificate[kind]:
            missing = sorted(CERTIFICATE[kind][0].keys() - answer.keys())
            need(not missing, f"an answer has no {', '.join(missing)}")
            need(answer["verdict"] in ("yes", "no", "unknown"), "a verdict is yes, no or unknown")
    need(certificate["answers"] or certificate["any_policy"], "there is no answer")
    policies = [answer["policy"] for answer in certificate["answers"]]
    need(len(policies) == len(set(policies)), "two answers are about one policy")


def check(text, certificate):
    """Each answer: who it is about, the verdict, the test, and `valid`, why it is not, or why it has no proof. Raises
    Invalid if the set or the certificate cannot be read."""
    if type(certificate) is dict and "design" in certificate:
        return check_design(text, certificate)
    try:
        read_certificate(certificate)
        system = Set(text)
    except Invalid:
        raise
    except Exception as error:
        raise Invalid(f"it cannot be read: {error!r}") from None
    found = []
    for kind, how in (("answers", verify), ("any_policy", verify_whatever)):
        for answer in certificate[kind]:
            test = answer["decided_by"] if kind == "answers" else answer["test"]
            claim = answer.get("policy", "any policy"), answer["verdict"], test
            if answer["proof"] is None:
                found.append((*claim, None, answer["without"] or "the certificate does not say why"))
                continue
            try:
                how(system, answer)
                found.append((*claim, True, ""))
            except Invalid as why:
                found.append((*claim, False, str(why)))
            except Exception as error:
                # A member that is missing, a number that is too large: whatever it is, it shows nothing.
                found.append((*claim, False, f"it cannot be read: {error!r}"))
    return found


def lines():
    """Answers each line of standard input, whatever is in it."""
    for line in sys.stdin.buffer:
        try:
            case = read_json(line.decode())
            result = [list(entry) for entry in check(case["set"], case["certificate"])]
        except Exception as why:
            result = [["", "", None, False, f"it cannot be read: {why}"]]
        print(json.dumps(result), flush=True)
    return 0


def shown(text):
    """Text of a file for a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def main(arguments):
    if arguments == ["--lines"]:
        return lines()
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    name, path, *policies = arguments
    try:
        with open(name, encoding="utf-8") as file:
            text = file.read()
        with open(path, encoding="utf-8") as file:
            certificate = read_json(file.read())
        found = check(text, certificate)
        missing = set(policies) - {entry[0] for entry in found}
        need(not missing, f"there is no answer about {', '.join(sorted(missing))}")
    except Exception as why:
        print(f"failed to read: {shown(str(why) or repr(why))}", file=sys.stderr)
        return 2
    found = [entry for entry in found if not policies or entry[0] in policies]
    rows = [[shown(text) for text in (name, policy, verdict, test or "-")] for policy, verdict, test, _, _ in found]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row, (_, _, _, valid, why) in zip(rows, found):
        said = {True: "valid", False: "NOT VALID", None: "no proof"}[valid]
        claim = "  ".join(text.ljust(width) for text, width in zip(row, widths))
        print(f"{claim}  {said}{': ' + shown(why) if why else ''}")
    return 0 if all(entry[3] for entry in found) else 1


def start():
    """The exit code of the program."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    try:
        return main(sys.argv[1:])
    except BrokenPipeError:
        # The reader has gone: the output is incomplete, so that nothing counts as shown.
        sys.stdout = None
        return 2


if __name__ == "__main__":
    sys.exit(start())
