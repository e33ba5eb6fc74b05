"""Tables for pandas and from frames, and what notebooks show."""

import datetime
import sys
import warnings
from decimal import Decimal

import layland
import pytest

pandas = pytest.importorskip("pandas", reason="needs pandas")
polars = pytest.importorskip("polars", reason="needs polars")
pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")


def tasks():
    return layland.TaskSet.load("demo:dhall")


def tables():
    """Tables of every kind, each with and without cells that are empty."""
    cut, whole = tasks().simulate("g-edf", until="21ms"), tasks().simulate("g-edf", until="110ms")
    compared = layland.compare(tasks(), ["g-edf", "g-fp"], until="44ms")
    results = layland.experiment("stevanato2021").run("fig1a", sets=1, at={"utilization": "7.2"}, horizon="100ms")
    chained = layland.TaskSet([layland.Task("a", wcet="1ms", period="5ms")], cpus=1, chains=[{"name": "c", "tasks": ["a"]}])
    return {
        "jobs, some pending": cut.jobs,
        "jobs": whole.jobs,
        "segments": whole.segments,
        "marks": whole.trace.marks,
        "tasks": whole.tasks,
        "compared": compared.table,
        "checked": tasks().check("g-edf", "p-edf").table,
        "results": results.table,
        "curves": results.curves("fig1a"),
        "chains": chained.simulate(until="0ms").chains,
        "all": layland.compare_all([tasks()], ["g-edf", "g-fp"], check=True, until="44ms"),
        "nothing": layland.Table.from_lists({"a": [], "b": []}),
    }


@pytest.mark.parametrize("name", list(tables()))
def test_pandas_has_the_types_of_the_table_whatever_the_data(name):
    table = tables()[name]
    frame = table.to_pandas()
    kinds = {"int": "Int64", "bool": "boolean", "real": "float64", "text": "string"}
    assert [str(kind) for kind in frame.dtypes] == [kinds[kind] for _, kind in table.column_types]
    assert list(frame.columns) == table.column_names and len(frame) == len(table)
    for column, values in table.to_dict().items():
        back = [None if pandas.isna(value) else value for value in frame[column].tolist()]
        assert back == values, column


def test_types_do_not_depend_on_pending_jobs():
    kinds = {tuple(map(str, tables()[name].to_pandas().dtypes)) for name in ("jobs, some pending", "jobs")}
    assert len(kinds) == 1
    frame = tables()["jobs, some pending"].to_pandas()
    assert frame["end_ns"].isna().any() and frame["end_ns"].max() == int(frame["end_ns"].max())
    assert frame[frame["missed"]]["name"].tolist() == ["heavy"]
    assert pandas.to_timedelta(frame["release_ns"]).max() == pandas.Timedelta("20ms")


def test_without_pandas_it_says_what_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        tasks().simulate(until="1ms").jobs.to_pandas()


def test_lists_have_the_type_of_all_of_their_values():
    numpy = pytest.importorskip("numpy", reason="needs NumPy")
    of = layland.Table.from_lists
    mixed = {"a": [1, 2.5, None], "b": [numpy.int64(3), None, 4], "c": [numpy.float32(0.5), 1, 2], "d": [numpy.True_, None, False]}
    assert of(mixed).column_types == [("a", "real"), ("b", "int"), ("c", "real"), ("d", "bool")]
    assert of(mixed).to_dict() == {"a": [1.0, 2.5, None], "b": [3, None, 4], "c": [0.5, 1.0, 2.0], "d": [True, None, False]}
    for wrong in ([1, "x"], ["x", 1], [True, 1], [1, True], [object()], [[1]]):
        with pytest.raises(TypeError, match="column `a`"):
            of({"a": wrong})
    with pytest.raises(TypeError, match="column `a`"):
        of({"a": [2**64]})


ROWS = {"name": ["a", "b"], "wcet": ["1ms", "2.5ms"], "period": ["5ms", "10ms"], "deadline": ["4ms", None]}


def expected():
    a = layland.Task("a", wcet="1ms", period="5ms", deadline="4ms")
    return layland.TaskSet([a, layland.Task("b", wcet="2.5ms", period="10ms")], cpus=2)


def frames():
    numbers = {"name": ["a", "b"], "wcet": [1.0, 2.5], "period": [5, 10], "deadline": [4, None]}
    ns = {"name": ["a", "b"], "wcet_ns": [10**6, 2_500_000], "period_ms": [5, 10], "deadline_us": [4_000, None]}
    durations = {
        key: [None if text is None else datetime.timedelta(milliseconds=float(text[:-2])) for text in ROWS[key]]
        for key in ("wcet", "period", "deadline")
    }
    return {
        "texts": (ROWS, None),
        "numbers": (numbers, "ms"),
        "units of columns": (ns, None),
        "durations": ({"name": ["a", "b"], **durations}, None),
        "decimals": ({**numbers, "wcet": [Decimal(1), Decimal("2.5")]}, "ms"),
    }


LIBRARIES = ("dict", "pandas", "polars", "pyarrow", "layland")
# A table of ours has no columns of durations and of decimals.
CASES = [(kind, of) for kind in frames() for of in LIBRARIES if of != "layland" or kind not in ("durations", "decimals")]


@pytest.mark.parametrize(("kind", "library"), CASES)
def test_a_set_of_any_frame(kind, library):
    frame, unit = frames()[kind]
    if library == "pandas":
        frame = pandas.DataFrame(frame)
    elif library == "polars":
        frame = polars.DataFrame(frame)
    elif library == "pyarrow":
        frame = pyarrow.table(frame)
    elif library == "layland":
        frame = layland.Table.from_lists(frame)
    assert layland.TaskSet.from_frame(frame, cpus=2, unit=unit) == expected()


def test_floating_point_numbers_are_the_decimal_numbers_that_are_printed():
    made = layland.TaskSet.from_frame({"wcet": [0.1, 0.3], "period": [0.7, 1e3]}, cpus=1, unit="ms")
    assert [(task.name, task.wcet_ns, task.period_ns) for task in made] == [("t1", 100_000, 700_000), ("t2", 300_000, 10**9)]
    numpy = pytest.importorskip("numpy", reason="needs NumPy")
    small = layland.TaskSet.from_frame({"wcet": numpy.array([0.1]), "period": numpy.array([5])}, cpus=1, unit="us")
    assert (small[0].wcet_ns, small[0].period_ns) == (100, 5_000)
    for wrong in (0.1, 1 / 3, float("inf"), 1e300):
        with pytest.raises(layland.UsageError, match="row 2, column `wcet`"):
            layland.TaskSet.from_frame({"wcet": [1, wrong], "period": [5, 5]}, cpus=1, unit="ns")


def test_other_keys_and_groups_of_frames():
    frame = pandas.DataFrame(
        {
            "who": ["a", "b", "c"],
            "C": [1, 2, 3],
            "period": [10, 20, 40],
            "priority": [2, None, 1],
            "affinity": ["0-1", None, 1],
            "on_miss": [None, "abort", None],
            "note": ["x", "y", "z"],
        }
    )
    columns = {"who": "name", "C": "wcet", "note": None}
    made = layland.TaskSet.from_frame(
        frame, cpus=2, unit="ms", columns=columns, name="mine", chains=[{"name": "c", "tasks": ["a", "c"]}]
    )
    assert made.name == "mine" and made.chains == [{"name": "c", "tasks": ["a", "c"]}]
    assert [task.priority for task in made] == [2, None, 1]
    assert made["b"].keys["on_miss"] == "abort" and "on_miss" not in made["a"].keys
    assert made["c"].keys["affinity"] == "1"
    # A column that is no key is not dropped.
    with pytest.raises(layland.InputError, match="`note`"):
        layland.TaskSet.from_frame(frame, cpus=2, unit="ms", columns={"who": "name", "C": "wcet"})
    with pytest.raises(layland.UsageError, match="row 2 has no `period`"):
        layland.TaskSet.from_frame({"wcet": ["1ms", "1ms"], "period": ["5ms", None]}, cpus=1)
    with pytest.raises(layland.UsageError, match="different lengths"):
        layland.TaskSet.from_frame({"wcet": ["1ms"], "period": ["5ms", "6ms"]}, cpus=1)


def test_a_frame_of_tasks_comes_back():
    for name in ("dhall", "constrained", "rm-edf"):
        first = layland.TaskSet.load(f"demo:{name}")
        columns = ("name", "wcet_ns", "period_ns", "deadline_ns", "offset_ns", "priority")
        frame = pandas.DataFrame([{column: getattr(task, column) for column in columns} for task in first])
        again = layland.TaskSet.from_frame(frame, cpus=first.cpus)
        assert [(task.name, task.wcet_ns, task.deadline_ns, task.period_ns) for task in again] == [
            (task.name, task.wcet_ns, task.deadline_ns, task.period_ns) for task in first
        ]


def test_notebooks_show_everything():
    run = tasks().simulate("g-edf", until="440ms")
    named = layland.TaskSet([layland.Task("<b>", wcet="1ms", period="5ms", priority=1)], cpus=1)
    shown = {
        "Table": run.jobs,
        "Task": named[0],
        "Guarantee": named.check("p-edf")["p-edf"],
        "Experiment": layland.experiment("tang2021"),
        "jobs of <b>": named.simulate(until="5ms").jobs,
    }
    for kind, value in shown.items():
        html = value._repr_html_()
        assert html.count("<table>") == html.count("</table>") == 1, kind
        assert "<b>&" not in html and "<td><b></td>" not in html, kind
    assert "&lt;b&gt;" in shown["Task"]._repr_html_() and "&lt;b&gt;" in shown["jobs of <b>"]._repr_html_()
    assert f"and {len(run.jobs) - 60} more rows" in run.jobs._repr_html_()
    assert "stevanato" not in shown["Experiment"]._repr_html_() and "tasks: 16, 40" in shown["Experiment"]._repr_html_()


def test_percentiles_are_as_exact_as_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = tasks().simulate("p-edf", until="440ms")
    responses = sorted(value for value in run.jobs.to_dict()["response_ns"] if value is not None)
    found = run.total["response"]["p50_ns"]
    exact = responses[(len(responses) - 1) // 2]
    assert exact <= found <= exact * 1.001
