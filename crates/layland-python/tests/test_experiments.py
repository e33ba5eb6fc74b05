"""Experiments: the rows, files and claims of the command, in whole and in part."""

import subprocess
import sys
import textwrap
from fractions import Fraction

import layland
import matplotlib.pyplot as plt
import polars
import pytest


class Edf(layland.Policy):
    """Global EDF."""

    like = "g-edf"

    def key(self, job, now):
        return job.deadline


FILE = """
lab = 1
title = "Mine"
sets = 3
seed = 1
horizon = "500ms"
[generator]
cpus = 2
tasks = 5
periods = "list:10ms,20ms,25ms,50ms"
[[series]]
name = "ours"
policy = "g-edf"
[[series]]
name = "mine"
policy = "Edf"
[[grid]]
name = "u"
utilization = ["1.5", "1.9"]
series = ["ours", "mine"]
[[figure]]
name = "misses"
grid = "u"
x = "utilization"
y = "miss_ratio"
statistic = "mean"
x_label = "U"
y_label = "Miss ratio"
[[claim]]
name = "alike"
text = "Both miss alike."
figures = ["misses"]
left = "mine"
is = "at most"
right = "ours"
"""


def rows(results, *columns):
    table = results.table.to_dict()
    return list(zip(*(table[column] for column in columns), strict=True))


def test_packaged_experiments_are_those_of_the_command(command):
    # Long titles are wrapped.
    listed = " ".join(command("lab", "list").split())
    assert all(f"{name}: {layland.experiment(name).title}" in listed for name in layland.experiments())
    assert layland.experiment("tang2021").toml == command("lab", "show", "tang2021")
    with pytest.raises(layland.UsageError, match="did you mean `tang2021`"):
        layland.experiment("tang")


def test_files_are_those_of_the_command(command, tmp_path):
    experiment = layland.experiment("stevanato2021")
    options = {"sets": 2, "horizon": "500ms", "seed": 3}
    results = experiment.run("fig1a", **options, folder=tmp_path / "mine")
    arguments = ["--sets", "2", "--horizon", "500ms", "--seed", "3", "--only", "fig1a", "-q"]
    command("lab", "run", "stevanato2021", *arguments, "--output", str(tmp_path / "ours"))
    for name in ("results.csv", "results.parquet", "claims.txt", "figures/fig1a.svg", "figures/fig1a.pdf"):
        assert (tmp_path / "mine" / name).read_bytes() == (tmp_path / "ours" / name).read_bytes(), name
    assert results.svg("fig1a") == (tmp_path / "ours/figures/fig1a.svg").read_text()
    assert results.pdf("fig1a") == (tmp_path / "ours/figures/fig1a.pdf").read_bytes()
    assert results.table.to_csv() == (tmp_path / "ours/results.csv").read_text()
    # Existing shards are not measured again: a damaged one would be.
    [first, *_] = sorted((tmp_path / "mine/shards").iterdir())
    before = first.stat().st_mtime_ns
    experiment.run("fig1a", **options, folder=tmp_path / "mine")
    assert first.stat().st_mtime_ns == before
    experiment.run("fig1a", **options, folder=tmp_path / "mine", fresh=True)
    assert first.stat().st_mtime_ns > before


def test_a_part_has_the_rows_of_the_whole():
    experiment = layland.experiment("stevanato2021")
    keys = ("at_utilization", "set", "series", "seed", "miss_ratio", "migrations")
    whole = rows(experiment.run("fig1a", sets=2, horizon="500ms"), *keys)
    at, series = {"utilization": ["7.2", Fraction(38, 5)]}, ["g-edf", "apedf"]
    part = experiment.run("fig1a", sets=1, horizon="500ms", at=at, series=series, threads=1)
    expected = [row for row in whole if row[0] in ("7.2", "7.6") and row[1] == 0 and row[2] in ("g-edf", "apedf")]
    assert rows(part, *keys) == expected and len(expected) == 4
    assert part.curves("fig1a").to_dict()["x"] == [7.2, 7.6] * 2
    assert part.claim("a2pedf-best-8").here == "undecided"
    assert polars.DataFrame(part.table).height == 4


def test_what_is_not_there_says_what_is():
    experiment = layland.experiment("stevanato2021")
    for arguments, options, told in [
        (["fig9"], {}, "there are fig1a"),
        ([], {"at": {"speed": 1}}, "there are utilization, tasks"),
        ([], {"at": {"utilization": "9"}}, "there are 4.4"),
        ([], {"series": ["edf"]}, "there are g-edf"),
        ([], {"horizon": "soon"}, "hyperperiods"),
        ([], {"sets": 0}, "from 1 on"),
    ]:
        with pytest.raises(layland.UsageError, match=told):
            experiment.run(*arguments, **options)
    with pytest.raises(TypeError, match="exact"):
        experiment.run(at={"utilization": 7.2})
    with pytest.raises(layland.InputError, match="`edf` is global"):
        layland.Experiment.loads(FILE)


def test_a_policy_in_python_is_a_series(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    experiment = layland.experiment(path, policies=[Edf])
    assert experiment.name == "mine" and experiment.series == {"ours": "ours", "mine": "mine"}
    results = experiment.run(folder=tmp_path / "out")
    of = {name: [row[2:] for row in rows(results, "series", "set", "miss_ratio", "preemptions_per_job", "migrations")
                 if row[0] == name] for name in ("ours", "mine")}
    assert of["ours"] == of["mine"] and len(of["mine"]) == 6
    assert not (tmp_path / "out/shards").exists() and (tmp_path / "out/results.parquet").exists()
    more = layland.experiment("stevanato2021").with_policy(Edf, label="mine").run(
        "fig1a", sets=1, horizon="300ms", at={"utilization": "7.6"}
    )
    assert more.curves("fig1a").to_dict()["series"][-1] == "Edf"
    with pytest.raises(layland.UsageError, match="already"):
        experiment.with_policy("g-rm", name="ours")


def test_what_a_policy_raises_in_an_experiment_is_raised():
    class Broken(layland.Policy):
        def key(self, job, now):
            return 1 // 0

    experiment = layland.experiment("stevanato2021").with_policy(Broken)
    with pytest.raises(ZeroDivisionError):
        experiment.run("fig1a", sets=1, horizon="1s")


def test_figures_of_every_kind_are_drawn():
    drawn = layland.experiment("tang2021").run("tardiness-16", sets=1, horizon="1s", at={"tasks": 16})
    axes = drawn.plot("tardiness-16")
    assert axes.get_xlim() == (0, 3) and axes.get_xlabel() == "Tardiness / period"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["DL (Linux)", "DL-SP (repaired)"]
    assert len(drawn.distribution) > 0
    bars = layland.experiment("compagnin2015")
    [name, *_] = [figure.name for figure in bars.figures if figure.kind == "bars"]
    axes = bars.run(name, sets=1, horizon="1s").plot(name)
    assert len(axes.patches) > 1 and axes.get_ylabel()
    _, mine = plt.subplots()
    assert drawn.plot("pushes", mine) is mine
    with pytest.raises(layland.UsageError, match="was measured"):
        drawn.plot("mean-tardiness-overheads")
    plt.close("all")


def test_progress_and_claims(capsys):
    results = layland.experiment("tang2021").run("bound", sets=6, horizon="1s", progress=True)
    assert "12/12" in capsys.readouterr().err
    claim = results.claim("bounded-tardiness")
    assert (claim.here, claim.interval) == ("holds", (2, 2))
    assert "bounded-tardiness" in results._repr_html_() and results.tables["bound"].startswith("Theorem 1")
    with pytest.raises(KeyError):
        results.claim("nothing")


def test_ctrl_c_ends_an_experiment_at_once(tmp_path):
    script = textwrap.dedent(
        """
        import layland, os, signal, sys, threading, time
        class Slow(layland.Policy):
            def key(self, job, now): return job.deadline
        experiment = layland.experiment("stevanato2021")
        if sys.argv[1] == "python":
            experiment = experiment.with_policy(Slow)
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        try:
            experiment.run(horizon="100000s", folder=sys.argv[2])
        except KeyboardInterrupt:
            print(time.monotonic() - began)
        """
    )
    for kind in ("rust", "python"):
        done = subprocess.run(
            [sys.executable, "-c", script, kind, str(tmp_path / kind)], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        assert 0.4 < float(done.stdout) < 5
