"""Wrong arguments: each error names the argument that the user wrote, and no form that only Layland knows."""

import re
import warnings

import layland
import numpy
import pytest


def task(name="a", **keys):
    return layland.Task(name, **{"wcet": "1ms", "period": "5ms", **keys})


def built(*tasks, **keys):
    return layland.TaskSet(tasks or [task()], **{"cpus": 1, **keys})


def demo():
    return layland.TaskSet.load("demo:dhall")


def run():
    return demo().simulate("g-edf", until="44ms")


def small(**changes):
    return layland.experiment("tang2021").run(**changes)


# The argument, and a call in which it is wrong.
WRONG = [
    ("seed", lambda: demo().simulate(seed=None)),
    ("seed", lambda: demo().simulate(seed=1.5)),
    ("seed", lambda: demo().simulate(seed=-1)),
    ("seed", lambda: demo().simulate(seed=2**64)),
    ("hyperperiods", lambda: demo().simulate(hyperperiods=1.5)),
    ("hyperperiods", lambda: demo().simulate(hyperperiods=True)),
    ("hyperperiods", lambda: demo().simulate(hyperperiods=0)),
    ("explore", lambda: demo().simulate(explore="x")),
    ("cycle", lambda: demo().simulate(cycle=5)),
    ("until", lambda: demo().simulate(until=44)),
    ("until", lambda: demo().simulate(until="44 parsecs")),
    ("until", lambda: demo().simulate(until="-1ms")),
    ("record", lambda: demo().simulate(record="no")),
    ("progress", lambda: demo().simulate(progress=3)),
    ("cpus", lambda: built(cpus=None)),
    ("cpus", lambda: built(cpus="2")),
    ("cpus", lambda: built(cpus=0)),
    ("cpus", lambda: built(cpus=True)),
    ("cpus", lambda: built(platform={"cpus": 4})),
    ("cpus", lambda: layland.TaskSet.loads("1 5\n", unit="ms", cpus=2.5)),
    ("cpus", lambda: layland.TaskSet.loads("1 5\n", unit="ms", cpus=0)),
    ("text", lambda: layland.TaskSet.loads(None)),
    ("name", lambda: task(None)),
    ("name", lambda: task(5)),
    ("name", lambda: built(name=None)),
    ("wcet", lambda: task(wcet=True)),
    ("wcet", lambda: task(wcet=5)),
    ("wcet", lambda: task(wcet=5.0)),
    ("wcet", lambda: task(wcet={"LO": 5})),
    ("wcet", lambda: task(wcet=None)),
    ("wcet", lambda: task(wcet=numpy.timedelta64(5, "M"))),
    ("wcet", lambda: task(wcet=numpy.timedelta64("NaT", "ms"))),
    ("period", lambda: task(period=None)),
    ("deadline", lambda: task(deadline=5)),
    ("jitter", lambda: task(jitter="soon")),
    ("priority", lambda: task(priority=numpy.float64(1))),
    ("priority", lambda: built(task(priority=True))),
    ("affinity", lambda: built(task(affinity=0))),
    ("affinity", lambda: built(task(affinity=[3]))),
    ("exec", lambda: built(task(exec={"model": "nope"}))),
    ("exec", lambda: built(task(exec={"model": "fraction"}))),
    ("exec.of", lambda: task(exec={"model": "fraction", "of": 0.5})),
    ("colour", lambda: built(task(colour="red"))),
    ("criticality", lambda: built(task(criticality="HI"))),
    ("steps", lambda: built(task(steps=["lock bus", "run 1ms", "unlock bus"]))),
    ("period", lambda: built(task(period="0ms"))),
    ("tasks", lambda: built({"name": "a"})),
    ("tasks", lambda: built(("a", 1, 2))),
    ("tasks", lambda: layland.TaskSet(task(), cpus=1)),
    ("tasks", lambda: layland.TaskSet(None, cpus=1)),
    ("tasks", lambda: layland.TaskSet("a", cpus=1)),
    ("platform", lambda: built(platform=5)),
    ("platform.speed.0", lambda: built(platform={"speed": {0: 0.5}})),
    ("speeds", lambda: built(platform={"speeds": {"0": "1/2"}})),
    ("levels", lambda: built(levels=5)),
    ("requests", lambda: built(requests={"at": "1ms"})),
    ("requests", lambda: built(requests=["leave"])),
    ("task", lambda: built(requests=[{"at": "1ms", "task": "b", "leave": True}])),
    ("chains", lambda: built(chains="a")),
    ("tasks", lambda: built(chains=[{"name": "c", "tasks": ["nobody"]}])),
    ("resources", lambda: built(resources=5)),
    ("defaults", lambda: built(defaults=[])),
    ("policies", lambda: layland.compare(demo(), 5)),
    ("effort", lambda: demo().check("p-edf", effort=1e3)),
    ("effort", lambda: demo().check("p-edf", effort="many")),
    ("effort", lambda: demo().check("p-edf", effort=-1)),
    ("tests", lambda: demo().check("p-edf", tests=5)),
    ("factor", lambda: demo().check("p-edf", factor=None)),
    ("tick", lambda: demo().check("p-edf", tick=0)),
    ("reserve", lambda: demo().check("p-edf", reserve=0.05)),
    ("reserve", lambda: demo().check("p-edf", reserve="many")),
    ("name", lambda: demo().analyse(None)),
    ("width", lambda: run().trace.svg(width=0)),
    ("width", lambda: run().trace.svg(width=1.5)),
    ("start", lambda: run().trace.svg(5)),
    ("end", lambda: run().save("x.svg", end=5)),
    ("utilization", lambda: layland.generate(6, 2.5)),
    ("tasks", lambda: layland.generate(6.5, "2.5")),
    ("seed", lambda: layland.generate(6, "2.5", seed=1.5)),
    ("sets", lambda: layland.generate(6, "2.5", sets=0)),
    ("bursts", lambda: layland.generate(6, "2.5", bursts=(1.5, 2))),
    ("reuse", lambda: layland.generate(6, "2.5", reuse=0.5)),
    ("granularity", lambda: layland.generate(6, "2.5", granularity=5)),
    ("periods", lambda: layland.generate(6, "2.5", periods="every")),
    ("sets", lambda: small(sets=1.5)),
    ("threads", lambda: small(threads="two")),
    ("tasks", lambda: small(at={"tasks": [1.5]})),
    ("series", lambda: small(series=5)),
    ("horizon", lambda: small(horizon=5)),
    ("sets", lambda: layland.compare_all(5, "g-edf")),
    ("sets", lambda: layland.compare_all([task()], "g-edf")),
    ("policies", lambda: layland.compare_all([demo()], None)),
    ("workers", lambda: layland.compare_all([demo()], "g-edf", workers=0)),
    ("check", lambda: layland.compare_all([demo()], "g-edf", check="all")),
    ("frame", lambda: layland.TaskSet.from_frame(5, cpus=1)),
    ("unit", lambda: layland.TaskSet.from_frame({"wcet": [1], "period": [5]}, cpus=1)),
    ("unit", lambda: layland.TaskSet.from_frame({"wcet": [1], "period": [5]}, cpus=1, unit=5)),
    ("columns", lambda: layland.TaskSet.from_frame({"wcet": [1]}, cpus=1, columns={"C": "wcet"})),
    ("period", lambda: layland.TaskSet.from_frame({"wcet": ["1ms"]}, cpus=1)),
]

# A place in our JSON, an option of the command, an extraction of the module, a value that is stuck to a unit.
FORMS_OF_OURS = re.compile(r":\d+:\d+:|--[a-z]|failed to extract|JSON|`layland [a-z]+`|-t name=|\[\[|Nonems|Truems|<JOBS>")


@pytest.mark.parametrize("at", range(len(WRONG)))
def test_an_error_names_the_argument_as_it_was_written(at):
    argument, call = WRONG[at]
    with pytest.raises((TypeError, layland.Error)) as raised:
        call()
    said = str(raised.value)
    assert f"`{argument}`" in said, said
    assert not FORMS_OF_OURS.search(said), said


def test_problems_of_a_built_set_have_a_place_and_no_line():
    with pytest.raises(layland.InputError) as raised:
        built(task("a"), task("\U0001f697", wcet="2ms", priority="high", colour="red"), task("a", period="0ms"))
    error = raised.value
    assert (error.line, error.column) == (None, None)
    places = [problem.place for problem in error.problems]
    assert places == ["task `\U0001f697`, `priority`", "task `\U0001f697`, `colour`"] or set(places) >= {
        "task `\U0001f697`, `priority`",
        "task `\U0001f697`, `colour`",
    }
    with pytest.raises(layland.InputError) as raised:
        built(task("a"), task("b"), task("a"))
    assert [problem.place for problem in raised.value.problems] == ["task 3 (`a`), `name`"]
    with pytest.raises(layland.InputError, match='levels=\\["LO", "HI"\\]'):
        built(task(criticality="HI"))
    with pytest.raises(layland.InputError, match='{"model": "fraction", "of": "0.95"}'):
        built(task(exec={"model": "fraction"}))
    # A file that the user wrote keeps its lines.
    with pytest.raises(layland.InputError) as raised:
        layland.TaskSet.loads('layland = 1\n[platform]\ncpus = "x"\n')
    assert raised.value.line == 3 and raised.value.problems[0].place is None


def test_what_numbers_and_collections_of_other_libraries_are():
    tasks = built(
        task(priority=numpy.int64(3), affinity={1, 0}, nonpreemptive=numpy.True_),
        task("b", affinity=numpy.array([1]), wcet=numpy.timedelta64(2, "ms"), period=numpy.timedelta64(5000, "us")),
        task("c", affinity=range(2), wcet=numpy.timedelta64(7, "ns")),
        cpus=numpy.int64(2),
    )
    assert tasks.tasks[0].priority == 3 and type(tasks.tasks[0].priority) is int
    assert [one.wcet_ns for one in tasks] == [1_000_000, 2_000_000, 7]
    assert tasks.tasks[1].keys["affinity"] == "1" or tasks.tasks[1].keys["affinity"] == [1]
    run = tasks.simulate("p-edf", until="10ms", seed=numpy.uint32(4), record=numpy.bool_(False))
    assert run.total["released"] == 9 and tasks.check("p-edf", effort=numpy.int16(10)).verdict == "yes"
    drawn = layland.generate(numpy.int64(4), "1.5", cpus=numpy.int64(2), seed=numpy.int64(7))
    assert drawn == layland.generate(4, "1.5", cpus=2, seed=7)
    # Weeks do not overflow in the conversion.
    assert layland.as_ns(numpy.timedelta64(3, "W")) == 3 * 7 * 86_400 * 10**9
    with pytest.raises(layland.UsageError, match="too long"):
        layland.as_ns(numpy.timedelta64(2**40, "s"))
    # A key that is None is left out, as it is in a file.
    assert task(priority=None, offset=None) == task()


def test_a_single_name_is_a_list_of_one():
    tasks = demo()
    assert layland.compare(tasks, "g-edf", until="44ms") == layland.compare(tasks, ["g-edf"], until="44ms")
    assert tasks.check("p-edf", tests="qpa") == tasks.check("p-edf", tests=["QPA"])
    assert built(levels="LO").levels == ["LO"]
    assert built(resources="bus").resources == built(resources=[{"name": "bus"}]).resources == [{"name": "bus"}]


def test_names_that_are_nearly_right():
    tasks = demo()
    assert tasks.analyse("gfb") == tasks.analyse("GFB")
    for call, meant in (
        (lambda: tasks.analyse("GFBB"), "did you mean `GFB`"),
        (lambda: tasks.check("p-edf", tests=["QPAA"]), "did you mean `QPA`"),
        (lambda: tasks.check("g-eddf"), "did you mean"),
        (lambda: layland.TaskSet.load("demo:dhal"), "did you mean `dhall`"),
        (lambda: layland.experiment("tang2012"), "did you mean `tang2021`"),
        (lambda: layland.TaskSet.load("demo:nothing-like-it"), "layland.demos()"),
    ):
        with pytest.raises(layland.UsageError) as raised:
            call()
        assert meant in str(raised.value) and len(str(raised.value)) < 300, raised.value


def test_what_a_result_lacks_is_an_error_with_names():
    tasks = demo()
    checked, compared = tasks.check("p-edf", "p-edf:fit=wf"), layland.compare(tasks, ["G-EDF", "g-fp"], until="44ms")
    assert checked["P-EDF"] == checked["p-edf"] and checked["P-EDF:fit=wf"].refused
    assert compared["gedf"] == compared["g-edf"]
    for lookup, names in (
        (lambda: checked["g-edf"], "`p-edf`"),
        (lambda: compared["p-edf"], "`g-edf`"),
        (lambda: checked["p-edf"].bound("nobody"), "heavy"),
        (lambda: tasks["nobody"], "heavy"),
    ):
        with pytest.raises(KeyError) as raised:
            lookup()
        assert isinstance(raised.value, layland.Error) and names in str(raised.value)
        assert not str(raised.value).startswith(("'", '"'))
    # A policy that refused the set says why.
    with pytest.raises(layland.Refused, match="no priority"):
        compared["g-fp"]
    assert checked["p-edf:fit=wf"].refused


def test_warnings_and_refusals_name_arguments_too():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        layland.TaskSet.loads("1 5\n", unit="ms")
    [warning] = told
    assert not FORMS_OF_OURS.search(str(warning.message))
    with pytest.raises(layland.Error) as raised:
        layland.TaskSet.loads("1 5\n2 9\n", cpus=1)
    assert "`unit`" in str(raised.value) and not FORMS_OF_OURS.search(str(raised.value).replace("<text>:1:1:", "")), raised.value


def test_an_ending_without_a_writer_is_refused(tmp_path):
    for ending in ("yaml", "html", "tomll"):
        with pytest.raises(layland.UsageError, match=f"`{ending}` shows no format"):
            demo().save(tmp_path / f"set.{ending}")
        assert not (tmp_path / f"set.{ending}").exists()
    demo().save(tmp_path / "SET.CSV")
    assert (tmp_path / "SET.CSV").read_text().startswith("# cpus = 2\nname,")
    demo().save(tmp_path / "set")
    assert (tmp_path / "set").read_text().startswith("layland = 1")
