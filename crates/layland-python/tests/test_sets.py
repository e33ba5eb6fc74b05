"""Task sets: built, read and written."""

import copy
import json
import pickle
import warnings
from datetime import timedelta
from fractions import Fraction

import layland
import pytest


def small():
    tasks = [
        layland.Task("control", wcet="1.2ms", period="5ms", deadline="4ms"),
        layland.Task("log", wcet=Fraction(8), period=timedelta(milliseconds=20), offset=layland.ms),
    ]
    return layland.TaskSet(tasks, cpus=2)


def test_a_set_that_is_built_is_the_one_that_is_read():
    text = """
layland = 1
[platform]
cpus = 2
[[task]]
name = "control"
period = "5ms"
deadline = "4ms"
wcet = "1.2ms"
[[task]]
name = "log"
period = "20ms"
wcet = "8ms"
offset = "1ms"
"""
    assert layland.TaskSet.loads(text) == small()
    assert hash(layland.TaskSet.loads(text)) == hash(small())


def test_tasks_come_back():
    tasks = small().tasks
    assert [task.name for task in tasks] == ["control", "log"]
    assert (tasks[0].wcet_ns, tasks[0].period_ns, tasks[0].deadline_ns) == (1_200_000, 5_000_000, 4_000_000)
    assert tasks[1].keys["offset"] == "1ms"
    assert layland.TaskSet(tasks, cpus=2) == small()
    assert small().utilization == Fraction(16, 25)
    assert small().hyperperiod_ns == 20_000_000


@pytest.mark.parametrize("format", ["toml", "rt-app", "csv", "simso", "schedcat", "jsonl"])
def test_every_format_is_written_and_read(format, tmp_path):
    a, b = layland.Task("a", wcet="2ms", period="10ms"), layland.Task("b", wcet="3ms", period="15ms")
    tasks = layland.TaskSet([a, b], cpus=1)
    path = tmp_path / "set.txt"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tasks.save(path, format=format)
        back = layland.TaskSet.load(path, format=format, cpus=1)
    assert all(issubclass(warning.category, layland.InputWarning) for warning in told)
    assert bool(told) == (format in {"rt-app", "schedcat"})
    assert [(task.wcet_ns, task.period_ns) for task in back] == [(2_000_000, 10_000_000), (3_000_000, 15_000_000)]


def test_tables_are_read_by_their_titles_or_by_columns():
    markdown = "| Task | C_i | T_i |\n|---|---|---|\n| pump | 3 | 9 |\n"
    assert layland.TaskSet.loads(markdown, unit="ms", cpus=1).tasks[0].wcet_ns == 3_000_000
    course = layland.TaskSet.loads("0,3,8,9\n", unit="ms", cpus=1, columns="O,C,D,T")
    assert (course.tasks[0].period_ns, course.tasks[0].deadline_ns) == (9_000_000, 8_000_000)
    with pytest.raises(layland.UsageError, match="`X` is not the title of a column"):
        layland.TaskSet.loads("0,3\n", columns="X,C")
    with pytest.raises(layland.InputError, match="this is C source, and not a task set"):
        layland.TaskSet.loads("#include <time.h>\nint main(void) { }\n")


def test_a_set_that_a_format_cannot_have_is_an_error(tmp_path):
    tasks = [layland.Task(f"t{k}", wcet="1us", period="5ms", priority=k) for k in range(100)]
    path = tmp_path / "set.json"
    with pytest.raises(layland.Error, match="needs 100 priorities, and SCHED_FIFO has 99"):
        layland.TaskSet(tasks, cpus=2).save(path, format="rt-app")
    assert not path.exists()


def test_blocking_times_count_in_analyses():
    task = layland.Task("a", wcet="1ms", period="4ms", blocking=1 * layland.ms)
    assert task.keys["blocking"] == "1ms"
    tasks = layland.TaskSet([task, layland.Task("b", wcet="2ms", period="6ms")], cpus=1)
    assert layland.TaskSet.loads(tasks.dumps("csv")) == tasks
    assert [(bound.by, bound.ns) for bound in tasks.check("p-rm")["p-rm"].bounds] == [
        ("RTA-RM", 2_000_000),
        ("RTA-RM", 3_000_000),
    ]


def test_the_ending_names_the_format(tmp_path):
    small().save(tmp_path / "set.toml")
    small().save(tmp_path / "set.jsonl")
    assert layland.TaskSet.load(tmp_path / "set.toml") == layland.TaskSet.load(str(tmp_path / "set.jsonl")) == small()
    (tmp_path / "two.jsonl").write_text(small().dumps("jsonl") * 2)
    assert list(layland.TaskSet.load_lines(tmp_path / "two.jsonl")) == [small(), small()]


def test_criticality_exec_and_release_have_their_tables():
    tasks = [
        layland.Task("a", wcet={"LO": "1ms", "HI": "2ms"}, period="10ms", criticality="HI"),
        layland.Task(
            "b",
            wcet="2ms",
            period="10ms",
            exec={"model": "fraction", "of": Fraction(1, 2)},
            release={"kind": "sporadic", "extra": 4 * layland.ms},
        ),
    ]
    made = layland.TaskSet(tasks, cpus=1, levels=["LO", "HI"], platform={"overhead": {"release": "1us"}})
    assert made.levels == ["LO", "HI"]
    assert made.tasks[0].wcet_ns == 2_000_000
    with pytest.raises(TypeError, match="exact"):
        layland.Task("c", wcet="1ms", period="2ms", exec={"model": "fraction", "of": 0.5})


def test_an_error_has_its_place():
    text = 'layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = "a"\nperiod = "5"\nwcet = "1ms"\n'
    with pytest.raises(layland.InputError) as raised:
        layland.TaskSet.loads(text, name="robot.toml")
    error = raised.value
    assert (error.line, error.column) == (6, 10)
    assert error.help == "add ns, us, ms or s to the number"
    assert error.problems[0].code.startswith("layland::") and error.problems[0].severity == "error"
    assert "robot.toml:6:10" in str(error)
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff\xfe", b"layland = 1", b"{", b"<a>", b"\x00" * 100, b'{"layland":1,"task":[{"name":"a"}]}'],
)
def test_bad_texts_are_input_errors(text):
    with pytest.raises(layland.InputError):
        layland.TaskSet.loads(text)


def test_other_wrong_arguments():
    with pytest.raises(layland.InputError):
        layland.TaskSet([layland.Task("a", wcet="6ms", period="5ms", colour="red")], cpus=1)
    with pytest.raises(layland.InputError):
        layland.TaskSet([], cpus=0)
    with pytest.raises(layland.UsageError, match="layland.demos"):
        layland.TaskSet.load("demo:nothing")
    with pytest.raises(FileNotFoundError):
        layland.TaskSet.load("nothing.toml")
    with pytest.raises(layland.UsageError, match="not a format"):
        small().dumps("word")
    with pytest.raises(layland.UsageError, match="not a unit"):
        layland.TaskSet.loads("1 5\n", unit="days")
    with pytest.raises(layland.UsageError, match="`cpus`"):
        layland.TaskSet.loads("1 5\n", unit="ms", cpus=-1)
    with pytest.raises(layland.InputError, match="4096"):
        layland.TaskSet.loads("1 5\n", unit="ms", cpus=10**6)
    with pytest.raises(layland.InputError, match="out of range"):
        layland.TaskSet([layland.Task("a", wcet="1ms", period="5ms", rank=2**70)], cpus=1)
    with pytest.raises((layland.InputError, UnicodeEncodeError)):
        layland.TaskSet.loads("\ud800")


def test_generated_sets_are_those_of_the_command(command):
    made = layland.generate(6, "2.5", cpus=4, seed=3, sets=2, periods="log:10ms..100ms", min="0.1")
    text = command(
        "gen", "-n", "6", "-u", "2.5", "--cpus", "4", "--seed", "3", "--sets", "2", "--to", "jsonl",
        "--periods", "log:10ms..100ms", "--min", "0.1",
    )  # fmt: skip
    assert "".join(drawn.dumps("jsonl") for drawn in made) == text
    graphs = layland.generate(2, "2.5", cpus=4, max=2, graphs="fork-join", nodes=(4, 9), branches=3, edge_probability="0.1")
    assert "".join(drawn.dumps("jsonl") for drawn in graphs) == command(
        "gen", "-n", "2", "-u", "2.5", "--cpus", "4", "--max", "2", "--graphs", "fork-join", "--nodes", "4..9",
        "--branches", "3", "--edge-probability", "0.1", "--to", "jsonl",
    )  # fmt: skip
    steps = layland.generate(6, "2.5", cpus=4, resources=3, access="1/2", requests=2, section="medium", suspensions=1)
    assert "".join(drawn.dumps("jsonl") for drawn in steps) == command(
        "gen", "-n", "6", "-u", "2.5", "--cpus", "4", "--resources", "3", "--access", "1/2", "--requests", "2",
        "--section", "medium", "--suspensions", "1", "--to", "jsonl",
    )  # fmt: skip
    delays = layland.generate(
        6, "0.7", bursts=(1, 3), burst_distance="0.2", regions="floating:0.1..0.3", cache_sets=64,
        cache_utilization=Fraction(5, 2), reuse=("0", "0.5"), block_reload="4us",
    )  # fmt: skip
    assert "".join(drawn.dumps("jsonl") for drawn in delays) == command(
        "gen", "-n", "6", "-u", "0.7", "--bursts", "1..3", "--burst-distance", "0.2", "--regions", "floating:0.1..0.3",
        "--cache-sets", "64", "--cache-utilization", "5/2", "--reuse", "0..0.5", "--block-reload", "4us",
        "--to", "jsonl",
    )  # fmt: skip
    with pytest.raises(TypeError, match="exact"):
        layland.generate(6, 2.5)
    with pytest.raises(layland.UsageError, match="how many `tasks`"):
        layland.generate()
    with pytest.raises(layland.UsageError):
        layland.generate(3, "1", periods="every now and then")
    with pytest.raises(layland.UsageError, match="it goes with `bursts`"):
        layland.generate(3, "1", burst_distance="0.2")
    with pytest.raises(layland.UsageError, match="`seed` cannot be -1"):
        layland.generate(3, "1", seed=-1)
    with pytest.raises(layland.UsageError, match="they say when jobs arrive"):
        layland.generate(3, "1", bursts=2, arrivals="sporadic:1")


def test_sets_and_tasks_go_to_other_processes():
    for name in ("dhall", "mixed", "overload"):
        tasks = layland.TaskSet.load(f"demo:{name}")
        back = pickle.loads(pickle.dumps(tasks))
        assert (back, back.name) == (tasks, tasks.name)
        assert copy.deepcopy(tasks.tasks) == tasks.tasks


def test_notebooks_show_the_set():
    assert "<table>" in small()._repr_html_()
    escaped = layland.TaskSet([layland.Task("<b>", wcet="1ms", period="2ms")], cpus=1)._repr_html_()
    assert "<b>" not in escaped


NAMES = ["\U0001f697", "\U0001f697\U0001f697", "\U0010ffff", "\ufffd", "\u00e9", "e\u0301", "\u4e2d", 'a"b\\\\c', "a b", "\ud7ff\ue000"]


def test_any_name_survives():
    """Any name that a file can have: by the constructor, by each way to write a set, and by results."""
    tasks = layland.TaskSet([layland.Task(name, wcet="1ms", period="40ms") for name in NAMES], cpus=1)
    assert [task.name for task in tasks] == NAMES
    assert [task.name for task in layland.TaskSet.loads(tasks.dumps(), format="toml")] == NAMES
    for line in (tasks.dumps("jsonl"), json.dumps(json.loads(tasks.dumps("jsonl")))):
        assert [task.name for task in layland.TaskSet.loads(line, format="jsonl")] == NAMES
        assert layland.TaskSet.loads(line, format="jsonl") == tasks
    run = tasks.simulate("p-edf", until="40ms")
    assert run.trace.task_names == NAMES and run.tasks.to_dict()["name"] == NAMES
    assert [bound.task for bound in tasks.check("p-edf")["p-edf"].bounds] == NAMES
    assert all(proof.valid for proof in layland.verify(tasks, tasks.check("p-edf").certificate()) if proof.policy)


def test_half_a_surrogate_pair_is_refused_with_its_place():
    with pytest.raises(layland.UsageError, match="`name` is .*character 2 is half of a surrogate pair"):
        layland.Task("a\ud83d", wcet="1ms", period="4ms")
    with pytest.raises(layland.UsageError, match="half of a surrogate pair"):
        layland.Task("a", wcet="1ms", period="4ms", criticality="\udc00")
    line = '{"layland":1,"platform":{"cpus":1},"task":[{"name":"a%s","period":"4ms","wcet":"1ms"}]}'
    for half in ("\\ud83d", "\\ude97", "\\ud83dx", "\\ud83d\\ud83d", "\\ud83d\\u0041", "\\ude97\\ud83d"):
        with pytest.raises(layland.InputError, match="half of a surrogate pair") as raised:
            layland.TaskSet.loads(line % half, format="jsonl")
        assert (raised.value.line, raised.value.column) in {(1, 55), (1, 54)}, raised.value.column
