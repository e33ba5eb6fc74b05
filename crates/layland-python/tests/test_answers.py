"""The answers are those of the command, byte for byte."""

import json
import subprocess
import sys
from fractions import Fraction

import layland
import pytest

SETS = ["demo:dhall", "demo:robot", "demo:mixed", "demo:affinity-defect", "demo:overload"]


@pytest.mark.parametrize("name", SETS)
def test_check_is_what_the_command_prints(name, command):
    tasks = layland.TaskSet.load(name)
    assert tasks.check(effort=200).json == command("check", name, "--json", "--effort", "200", codes=(0, 1, 4))
    named = tasks.check("g-edf", "p-edf:fit=wfd", every_test=True, factor=False, effort=0)
    arguments = ["-p", "g-edf,p-edf:fit=wfd", "--all", "--no-margin", "--effort", "0", "--json"]
    assert named.json == command("check", name, *arguments, codes=(0, 1, 4))


@pytest.mark.parametrize("name", SETS)
def test_the_assignment_is_that_of_the_command(name, command):
    tasks = layland.TaskSet.load(name)
    printed = json.loads(command("check", name, "-p", "p-dm,g-edf", "--json", codes=(0, 1, 4)))
    for found, expected in zip(tasks.check("p-dm", "g-edf").policies, printed["policies"], strict=True):
        assert found.tightest == expected["tightest"]
        entries = expected["assignment"]
        if entries is None:
            assert found.assignment is None
        else:
            assert [(of.task, of.cpu, of.priority) for of in found.assignment] == [
                (entry["task"], entry["cpu"], entry["priority"]) for entry in entries
            ]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("policy", ["g-edf", "p-edf", "dl", "run", "amc"])
def test_traces_and_figures_are_those_of_the_command(name, policy, command, tmp_path):
    tasks, path = layland.TaskSet.load(name), tmp_path / "x.json"
    arguments = ["sim", name, "-p", policy, "--until", "100ms", "--seed", "5", "--json", "-q", "-o", str(path)]
    [result] = json.loads(command(*arguments, codes=(0, 1)))["results"]
    if "refused" in result:
        with pytest.raises(layland.Refused) as raised:
            tasks.simulate(policy, until="100ms", seed=5)
        assert raised.value.reason == result["refused"]
        return
    run = tasks.simulate(policy, until="100ms", seed=5)
    assert run.trace.dumps() == path.read_bytes()
    assert run.summary == result["summary"]
    assert (run.events, run.decisions, run.end_ns) == (result["events"], result["decisions"], result["end_ns"])
    assert run.first_missed_deadline_ns == result["first_missed_deadline_ns"]
    assert layland.Trace.load(path).jobs.to_dict() == run.jobs.to_dict()


def test_lengths_and_exploration_are_those_of_the_command(command):
    tasks = layland.TaskSet.load("demo:dhall")
    for options, arguments in [
        ({}, []),
        ({"hyperperiods": 3}, ["--hyperperiods", "3"]),
        ({"explore": 7, "until": "1s"}, ["--explore", "7", "--until", "1s"]),
    ]:
        text = command("sim", "demo:dhall", "-p", "g-edf", "--json", "-q", *arguments, codes=(0, 1))
        [result] = json.loads(text)["results"]
        assert tasks.simulate("g-edf", record=False, **options).summary == result["summary"]


def test_an_unknown_verdict_has_no_truth_value():
    tasks = layland.TaskSet.load("demo:dhall")
    unknown = tasks.check("g-edf", effort=0, tests=["GFB"])
    assert unknown.verdict is layland.Verdict.UNKNOWN
    for value in (unknown, unknown.verdict, unknown["g-edf"], tasks.analyse("GFB")):
        with pytest.raises(layland.UnknownVerdict):
            bool(value)
    assert tasks.check("p-edf")
    assert not tasks.check("g-edf")


def test_guarantees_have_reasons_bounds_and_witnesses():
    checked = layland.TaskSet.load("demo:dhall").check("g-edf", "p-edf")
    assert [found.policy for found in checked] == ["g-edf", "p-edf"]
    assert checked["g-edf"].witness["task"] == "heavy"
    assert checked["p-edf"].decided_by == "QPA"
    assert checked["p-edf"].bound("light-1").exact_ns == Fraction(4_000_000)
    assert checked["p-edf"].reasons
    with pytest.raises(KeyError):
        checked["p-rm"]
    assert checked.table.to_dict()["verdict"] == ["no", "yes"]
    assert "<table>" in checked._repr_html_()


def test_analyses_run_one_by_one():
    tasks = layland.TaskSet.load("demo:dhall")
    names = {known.name: known for known in layland.analyses()}
    assert {"GFB", "QPA", "BAR"} <= set(names)
    for name, known in names.items():
        found = tasks.analyse(name)
        if found.does_not_apply:
            assert found.does_not_apply.reason and found.verdict is None
        else:
            assert (found.verdict is None) == (known.kind == "bound")
    assert tasks.analyse("GFB").reasons
    assert any(tasks.analyse(name).tardiness_ns for name, known in names.items() if known.kind == "bound")
    with pytest.raises(layland.UsageError, match="there is no analysis"):
        tasks.analyse("gfbx")


def test_names_that_are_wrong_say_which_are_right():
    tasks = layland.TaskSet.load("demo:dhall")
    for ask in (tasks.check, tasks.simulate):
        with pytest.raises(layland.UsageError, match="g-edf"):
            ask("g-edff")
        with pytest.raises(layland.UsageError, match="colour"):
            ask("g-edf:colour=red")
    with pytest.raises(layland.UsageError, match="no test"):
        tasks.check(tests=["XYZ"])
    with pytest.raises(layland.UsageError):
        tasks.check(effort=-1)
    with pytest.raises(layland.UsageError, match="`until` cannot be -1s"):
        tasks.simulate(until="-1s")
    with pytest.raises(layland.UsageError, match="twice"):
        tasks.simulate(until="1s", hyperperiods=2)
    with pytest.raises(layland.UsageError, match="seed"):
        tasks.simulate(seed=-1)


def test_the_catalogue_of_policies():
    known = {policy.name: policy for policy in layland.policies()}
    assert known["p-edf"].options["fit"]
    assert "@" in known["run"].bibtex[0]
    assert "dhall" in layland.demos()


def test_the_command_comes_with_the_package(command):
    assert layland.__version__ in command("--version")
    assert layland.run_command(["demos"]) == 0
    as_module = [sys.executable, "-m", "layland", "--version"]
    assert subprocess.run(as_module, capture_output=True, text=True, check=True).stdout == command("--version")


AMC = """
layland = 1
[platform]
cpus = 1
[criticality]
levels = ["LO", "HI"]
[[task]]
name = "tau1"
period = "2ms"
wcet = "1ms"
[[task]]
name = "tau2"
criticality = "HI"
period = "10ms"
wcet = { LO = "1ms", HI = "5ms" }
[[task]]
name = "tau3"
criticality = "HI"
period = "100ms"
wcet = "20ms"
"""


def test_the_numbers_of_papers_are_there_with_every_test():
    tasks = layland.TaskSet.loads(AMC)
    assert tasks.check("amc", factor=False)["amc"].numbers is None
    (cpu,) = tasks.check("amc", every_test=True, factor=False)["amc"].numbers
    found = {numbers["analysis"]: numbers for numbers in cpu["analyses"]}
    assert found["AMC-IA-PAPER"]["tasks"][2]["response_ns"] == [50_000_000, 58_000_000]
    assert found["AMC-IA"]["safe"] and not found["AMC-IA-PAPER"]["safe"]
