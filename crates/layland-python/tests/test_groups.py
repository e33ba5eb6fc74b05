"""Every group of keys of a task-set file in the constructors, and nothing that is dropped in silence."""

import copy
import json
import warnings

import layland
import pytest

GROUPS = ("platform", "levels", "defaults", "resources", "groups", "chains", "requests", "provenance")

EVERYTHING = """
layland = 1
[platform]
cpus = 4
clusters = ["0-1", "2-3"]
topology = { l2 = ["0-1", "2-3"] }
speed = { "2-3" = "1/2" }
overhead = { release = "1us" }
[defaults]
tie = "any"
[[resource]]
name = "bus"
[[group]]
name = "g"
budget = "2ms"
period = "5ms"
cpus = [0]
inner = "fp"
[[task]]
name = "a"
period = "10ms"
priority = 1
cluster = 0
steps = ["run 1ms", "lock bus", "run 1ms", "unlock bus"]
group = "g"
[[task]]
name = "b"
period = "20ms"
wcet = "2ms"
priority = 1
cluster = 1
jitter = "1ms"
[[chain]]
name = "eye to hand"
tasks = ["a", "b"]
max_reaction = "60ms"
[[request]]
at = "15ms"
task = "b"
leave = true
[provenance]
generator = "by hand"
seed = 18446744073709551615
parameters = { why = "to try" }
"""


def everything():
    return layland.TaskSet.loads(EVERYTHING, format="toml")


def sets():
    drawn = layland.generate(4, "1.5", cpus=2, seed=3, resources=2)
    drawn += layland.generate(4, "1.5", cpus=2, seed=3, criticality=["LO", "HI"])
    return [everything(), *(layland.TaskSet.load(f"demo:{name}") for name in layland.demos()), *drawn]


def groups(tasks):
    return {group: getattr(tasks, group) for group in GROUPS}


@pytest.mark.parametrize("at", range(len(sets())))
def test_a_set_is_its_tasks_and_its_groups(at):
    tasks = sets()[at]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert layland.TaskSet(tasks.tasks, cpus=tasks.cpus, **groups(tasks)) == tasks
        assert layland.TaskSet(tasks, cpus=tasks.cpus, **groups(tasks)) == tasks
        assert tasks.replace() == tasks.replace(tasks=tasks.tasks) == tasks
        assert copy.copy(tasks) == tasks


def test_every_key_of_the_file_has_an_argument():
    """The schema has no group that the constructor lacks, and each is in the set of this test."""
    tasks = everything()
    schema = json.loads(_schema())
    of_file = {key for key in schema["properties"] if key not in ("layland", "task")}
    arguments = {"criticality": "levels", "resource": "resources", "group": "groups"}
    arguments |= {"chain": "chains", "request": "requests"}
    assert {arguments.get(key, key) for key in of_file} == set(GROUPS)
    for group in set(GROUPS) - {"levels"}:
        assert getattr(tasks, group), group


def _schema():
    import subprocess
    import sys

    return subprocess.run([sys.executable, "-m", "layland", "schema"], capture_output=True, text=True, check=True).stdout


def test_what_tasks_do_not_carry_is_warned_about():
    for tasks in sets():
        document = json.loads(tasks.dumps("jsonl"))
        lost = {key for key in ("resource", "group", "chain", "request", "criticality", "defaults") if document.get(key)}
        lost |= {"platform"} if set(document["platform"]) > {"cpus"} else set()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                built = layland.TaskSet([task for task in tasks], cpus=tasks.cpus)
            except layland.InputError:
                built = None
        told = [str(warning.message) for warning in told if "old.replace" in str(warning.message)]
        assert len(told) == bool(lost), (tasks, lost, told)
        # What is not warned about is not lost, but for the origin of a drawn set.
        if not lost:
            assert built.replace(provenance={}) == tasks.replace(provenance={})
    tasks = everything()
    with pytest.warns(layland.InputWarning, match="`chains`"):
        layland.TaskSet([tasks["b"]], cpus=4, platform=tasks.platform, requests=[], resources=[], defaults={})
    # Who says that there are none is not warned.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = {"platform": tasks.platform, "defaults": {}, "resources": (), "groups": (), "chains": (), "requests": ()}
        assert layland.TaskSet([tasks["b"]], cpus=4, **given).chains == []


def test_parts_are_replaced():
    tasks = everything()
    assert tasks.replace(chains=[], requests=[]).chains == []
    assert tasks.replace(chains=[]).requests == tasks.requests
    assert tasks.replace(cpus=8).cpus == 8 and tasks.replace(cpus=8).platform == tasks.platform
    slower = tasks.replace(tasks=[tasks["a"], tasks["b"].replace(wcet="4ms")])
    assert slower["b"].wcet_ns == 4_000_000 and slower.chains == tasks.chains
    assert tasks.replace(name="other").name == "other" and tasks.replace(name="other") == tasks
    with pytest.raises(layland.InputError, match="chain `eye to hand`, `tasks`, number 1"):
        tasks.replace(tasks=[tasks["b"]])
    with pytest.raises(layland.InputError, match="`platform`, `topology`, `l2`"):
        tasks.replace(cpus=1)


def test_the_request_of_a_file_for_a_policy_and_a_length_stays(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = layland.TaskSet.load(f"{__file__.rsplit('/', 1)[0]}/identifiers.xml")
        other = loaded.replace(cpus=loaded.cpus + 1)
    assert other.policy == loaded.policy
    assert other.simulate().end_ns == loaded.simulate().end_ns == 30_000_000
    assert other.simulate().policy == loaded.policy and other.simulate().because == "the file asks for it"


def test_tasks_by_name_and_by_place():
    tasks = everything()
    assert tasks["a"] == tasks[0] == tasks[-2] and tasks[1:] == (tasks["b"],)
    assert "a" in tasks and tasks["b"] in tasks and "c" not in tasks and 3 not in tasks
    with pytest.raises(IndexError):
        tasks[2]
    assert (tasks["a"].wcet_ns, tasks["b"].jitter_ns, tasks["a"].offset_ns) == (2_000_000, 1_000_000, 0)
    built = layland.Task("a", period="10ms", steps=["run 1ms", "lock bus", "run 2ms", "unlock bus", "suspend 1ms"])
    assert built.wcet_ns == 3_000_000
    assert layland.TaskSet([built], cpus=1, resources=["bus"])["a"].wcet_ns == 3_000_000


def chained(**constraints):
    tasks = [layland.Task(name, wcet="1ms", period=period) for name, period in (("eye", "10ms"), ("hand", "20ms"))]
    chain = {"name": "eye to hand", "tasks": ["eye", "hand"], **constraints}
    return layland.TaskSet(tasks, cpus=1, chains=[chain])


def test_chains_are_built_bounded_and_measured(command, tmp_path):
    tasks = chained(max_reaction=60 * layland.ms, max_age="1ms")
    path = tmp_path / "chains.toml"
    tasks.save(path)
    assert layland.TaskSet.load(path) == tasks
    [bound] = tasks.check("p-rm")["p-rm"].chains
    found = json.loads(command("check", str(path), "-p", "p-rm", "--json", codes=(0, 1, 4)))["policies"][0]["chains"][0]
    assert (bound.chain, bound.reaction_ns, bound.age_ns) == ("eye to hand", found["reaction_ns"], found["age_ns"])
    assert bound.keeps_reaction == found["max_reaction"]["verdict"] and bound.keeps_age == found["max_age"]["verdict"]
    run = tasks.simulate("p-rm", until="200ms")
    measured = run.chains.to_dict()
    told = json.loads(command("sim", str(path), "-p", "p-rm", "--until", "200ms", "--json", codes=(0, 1)))
    [of_command] = told["results"][0]["chains"]
    for key in ("chain", "communication", "reaction_ns", "reduced_reaction_ns", "age_ns", "reduced_age_ns", "late_jobs"):
        assert measured[key] == [of_command[key]], key
    assert measured["max_age_ns"] == [1_000_000] and measured["exceeded"] == [True]
    assert measured["reaction_ns"][0] <= bound.reaction_ns
    # The figures do not depend on the record of the schedule, and a policy in Python has them, too.
    assert tasks.simulate("p-rm", until="200ms", record=False).chains == run.chains
    class Rate(layland.Policy):
        like = "g-rm"

        def key(self, job, now):
            return job.task.period

    assert tasks.simulate(Rate, until="200ms").chains == run.chains
    assert len(layland.TaskSet.load("demo:dhall").simulate(until="1ms").chains) == 0
    assert layland.TaskSet.load("demo:dhall").check("p-edf")["p-edf"].chains == ()
