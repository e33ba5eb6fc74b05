"""Tables, charts and traces."""

import io

import layland
import pytest


@pytest.fixture(scope="module")
def run():
    return layland.TaskSet.load("demo:dhall").simulate("g-edf", until="44ms")


def test_other_libraries_take_the_tables(run):
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    pyarrow, duckdb = pytest.importorskip("pyarrow"), pytest.importorskip("duckdb")
    columns = run.jobs.to_dict()
    assert len(columns["seq"]) == len(run.jobs) == 15
    jobs = pyarrow.table(run.jobs)
    assert jobs.to_pydict() == columns
    assert polars.DataFrame(run.jobs).to_dict(as_series=False) == columns
    assert list(pandas.DataFrame.from_arrow(run.jobs)["name"]) == columns["name"]
    assert duckdb.sql("select count(*) from jobs where missed").fetchall() == [(1,)]
    segments = pyarrow.table(run.segments)
    assert segments.column_names == ["task", "name", "seq", "cpu", "start_ns", "end_ns", "overhead_ns"]


def test_a_capsule_that_nobody_reads_is_freed(run):
    for _ in range(100):
        run.jobs.__arrow_c_stream__()


def test_tables_of_lists():
    table = layland.Table.from_lists({"a": [1, None], "b": ["x", "y"], "c": [None, 0.5], "d": [True, None]})
    assert table.to_csv() == "a,b,c,d\n1,x,,true\n,y,0.5,\n"
    assert len(table) == 2
    with pytest.raises(layland.UsageError, match="different lengths"):
        layland.Table.from_lists({"a": [1], "b": []})
    with pytest.raises(TypeError, match="column `a`"):
        layland.Table.from_lists({"a": [object()]})
    with pytest.raises(TypeError):
        layland.Table.from_lists({"a": [1, "x"]})


def test_figures_by_task(run):
    tasks = run.tasks.to_dict()
    assert tasks["name"] == ["light-1", "light-2", "heavy"]
    assert sum(tasks["missed"]) == run.total["missed"] == 1
    assert not run.met


def test_comparisons(run):
    comparison = layland.compare(layland.TaskSet.load("demo:dhall"), ["g-edf", "p-edf", "g-fp"], until="44ms")
    table = comparison.table.to_dict()
    assert table["policy"] == ["g-edf", "p-edf", "g-fp"]
    assert table["missed"] == [1, 0, None]
    assert table["refused"][2] == comparison.refused[0].reason
    assert comparison.refused[0].task == "light-1"
    assert comparison["g-edf"].summary == run.summary
    assert "<table>" in comparison._repr_html_()


def test_charts_as_svg(run):
    svg = run.trace.svg("0ms", "20ms", width=640, rows="cpus")
    assert svg.startswith("<svg") and "heavy" in svg
    assert "<svg" in run._repr_html_()
    with pytest.raises(layland.UsageError, match="rows"):
        run.trace.svg(rows="columns")
    for start, end in [("20ms", "10ms"), ("-1ms", "5ms"), ("50ms", None)]:
        with pytest.raises(layland.UsageError):
            run.trace.svg(start, end)
    with pytest.raises(layland.UsageError, match="`width`"):
        run.trace.svg(width=-1)


def test_matplotlib_axes_in_and_out(run):
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, axes = plt.subplots(2)
    assert run.gantt(axes[0], end="20ms") is axes[0]
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["light-1", "light-2", "heavy"]
    assert axes[0].get_xlim() == (0, 20)
    assert run.responses(axes[1], task="heavy") is axes[1]
    line = axes[1].get_lines()[0]
    assert list(line.get_xdata())[-1] == 12 and list(line.get_ydata())[-1] == 1
    figure.savefig(io.BytesIO(), format="svg")
    assert layland.plot.gantt(run.trace).get_title() == "demo:dhall under g-edf"
    with pytest.raises(layland.UsageError, match="no job"):
        run.responses(task="nobody")
    plt.close("all")


def test_a_trace_is_held_to_its_set_and_its_policy(run, tmp_path):
    tasks = layland.TaskSet.load("demo:dhall")
    assert run.trace.check(tasks) == []
    assert run.trace.check(tasks, "g-rm") != []
    path = tmp_path / "trace.json"
    run.trace.save(path)
    lie = path.read_text().replace('"cpu":1', '"cpu":0')
    path.write_text(lie)
    assert layland.Trace.load(path).check(tasks)
    with pytest.raises(layland.UsageError, match="3 tasks"):
        run.trace.check(layland.TaskSet.load("demo:robot"))
    path.write_text("no trace")
    with pytest.raises(layland.UsageError, match="not a trace"):
        layland.Trace.load(path)


def test_a_schedule_that_is_too_long_is_not_recorded():
    tasks = layland.TaskSet.load("demo:dhall")
    for how_long in ({"until": "1000000s"}, {"hyperperiods": 2**31}):
        with pytest.raises(layland.UsageError, match="record=False"):
            tasks.simulate(**how_long)


def test_a_run_without_jobs_has_charts():
    late = layland.Task("late", wcet="1ms", period="5ms", offset="10ms")
    run = layland.TaskSet([late], cpus=1).simulate(until="1ms")
    assert run.met and len(run.jobs) == 0 and len(run.tasks) == 1
    assert "<svg" in run._repr_html_()
    with pytest.raises(layland.InputError, match="no task"):
        layland.TaskSet([], cpus=1)


def test_without_a_record_there_are_figures_alone():
    run = layland.TaskSet.load("demo:dhall").simulate(until="44ms", record=False)
    assert run.total["released"] == 15
    with pytest.raises(layland.UsageError, match="record=True"):
        run.trace.jobs
