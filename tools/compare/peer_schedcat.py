"""Reads sets as lines of JSON, and writes what SchedCAT finds about them; for the Python that SchedCAT is built for."""
from __future__ import division
import json, sys
from math import ceil
sys.path.insert(0, sys.argv[1])
import schedcat.sched.native as native
import schedcat.sched.edf as edf
import schedcat.sched.edf.gel_pl as gel
import schedcat.sched.edf.gy_rta as gy
import schedcat.sched.fp as fp
import schedcat.sched.fp.bertogna as bertogna
from schedcat.sched import get_native_taskset
from schedcat.model.tasks import SporadicTask, TaskSystem
from schedcat.model.resources import initialize_resource_model
import schedcat.locking.bounds as bounds

def system(one):
    tasks = TaskSystem([SporadicTask(c, t, d) for c, t, d in one["times"]])
    for at, task in enumerate(tasks):
        task.id = at
        if "cpu" in one:
            task.partition = one["cpu"][at]
    if "uses" in one:
        initialize_resource_model(tasks)
        for task, uses in zip(tasks, one["uses"]):
            for q, count, length in uses:
                task.resmodel[q].add_request(length)
                task.resmodel[q].max_writes = count
    return tasks

def joint(one, apply, terms):
    tasks = system(one)
    bounds.assign_fp_preemption_levels(tasks)
    costs = [t.cost for t in tasks]
    for task in tasks:
        task.response_time = task.cost
    while True:
        before = [t.response_time for t in tasks]
        for task, cost in zip(tasks, costs):
            task.cost = cost
        found = apply(tasks, one)
        for cpu in set(t.partition for t in tasks):
            if not fp.uni_is_schedulable(1, TaskSystem([t for t in tasks if t.partition == cpu])):
                return None
        if [t.response_time for t in tasks] == before:
            each = [[int(value) for value in terms(found, tasks, i, costs)] for i in range(len(tasks))]
            return {"response": [int(r) for r in before], "terms": zip(*each)}

def suspended(found, tasks, i, costs):
    return found.get_remote_blocking(i), found.get_local_blocking(i)

def fmlp(tasks, one):
    return bounds.apply_part_fmlp_bounds(tasks, preemptive=True)

def dpcp(tasks, one):
    return bounds.apply_dpcp_bounds(tasks, dict(enumerate(one["homes"])))

def spinning(found, tasks, i, costs):
    return tasks[i].cost - costs[i], tasks[i].blocked

def native_of(name):
    def accepts(m, tasks):
        return getattr(native, name)(m).is_schedulable(get_native_taskset(tasks))
    return accepts

GLOBAL = {
    "GFB": (edf.gfb_test, native_of("GFBGedf")), "BAK": (edf.bak_test, native_of("BakerGedf")),
    "BAR": (edf.bar_test, native_of("BaruahGedf")), "BCL": (edf.bcl_test, native_of("BCLGedf")),
    "BCLI": (edf.bcli_test, native_of("BCLIterativeGedf")), "FF-DBF": (edf.ffdbf_test, native_of("FFDBFGedf")),
    "G-RTA": (lambda m, tasks: edf.rta_test(m, tasks, round_limit=None), native_of("RTAGedf")),
    "LOAD": (None, native_of("LoadGedf")), "LA": (None, native_of("LAGedf")),
}

def responses(tasks):
    return [int(t.response_time) for t in tasks]

def late(tasks, details):
    return None if details is None else [max(0, int(ceil(b)) - t.deadline) for b, t in zip(details.bounds, tasks)]

def of(one):
    kind, m = one["kind"], one["cpus"]
    if kind == "locks":
        return {
            "MPCP": joint(one, lambda tasks, _: bounds.apply_mpcp_bounds(tasks), suspended),
            "FMLP+": joint(one, fmlp, suspended), "DPCP": joint(one, dpcp, suspended),
        }
    if kind == "msrp":
        classic = lambda tasks, _: bounds.apply_msrp_bounds(tasks, m)
        holistic = lambda tasks, _: bounds.apply_msrp_bounds_holistic(tasks)
        return {"MSRP": joint(one, classic, spinning), "MSRP-HOLISTIC": joint(one, holistic, spinning)}
    tasks = system(one)
    if kind == "srp":
        bounds.assign_edf_preemption_levels(tasks)
        return {"SRP": bool(bounds.pedf_msrp_classic_is_schedulable(tasks, 1))}
    if kind == "msrp-edf":
        bounds.assign_edf_preemption_levels(tasks)
        return {"MSRP-QPA": bool(bounds.pedf_msrp_classic_is_schedulable(tasks, m))}
    if kind == "edf":
        found = {}
        for name, (module, in_cpp) in GLOBAL.items():
            found[name] = [None if test is None else bool(test(m, tasks)) for test in (module, in_cpp)]
        if edf.rta_response_times(m, tasks, round_limit=None):
            found["response"] = responses(tasks)
        if all(t.deadline == t.period for t in tasks) and tasks.utilization_q() <= m:
            for task in tasks:
                task.prio_pt = task.deadline
            found["g-edf late"] = late(tasks, gel.compute_response_bounds(m, tasks, 0))
            for task in tasks:
                task.prio_pt = task.deadline - (m - 1) * task.cost // m
            found["g-fl late"] = late(tasks, gel.compute_response_bounds(m, tasks, 0))
            if edf.da_tardiness_bounds(m, tasks):
                found["at most"] = [int(t.tardiness()) for t in tasks]
        return found
    if kind == "split":
        here, rest = [], []
        for task in sorted(tasks, key=lambda task: -task.utilization_q()):
            fits = native.QPATest(1).is_schedulable(get_native_taskset(here + [task]))
            (here if fits else rest).append(task)
        first = rest[0]
        piece = native.qpa_get_max_C_equal_D_cost(get_native_taskset(here), first.cost, first.period)
        return {"C=D": sorted([[t.id, int(t.cost)] for t in here] + ([[first.id, int(piece)]] if piece else []))}
    if kind == "fp":
        found = {}
        for name, test in (("BERTOGNA-FP", bertogna.is_schedulable), ("GUAN-FP", fp.global_is_schedulable)):
            found[name] = responses(tasks) if test(m, tasks) else None
        return found
    found = {"QPA": bool(native.QPATest(1).is_schedulable(get_native_taskset(tasks)))}
    found["RTA"] = responses(tasks) if fp.uni_is_schedulable(1, tasks) else None
    found["EDF-RTA"] = None
    if found["QPA"] and tasks.utilization_q() < 1:
        order = list(tasks)
        gy.exact_wcrt(tasks)
        found["EDF-RTA"] = responses(order)
    return found

for line in sys.stdin:
    print(json.dumps(of(json.loads(line))))
