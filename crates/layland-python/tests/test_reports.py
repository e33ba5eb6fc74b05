"""Pages, charts, margins and certificates: the bytes of the command."""

import json
import subprocess
import sys
from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import layland
import pytest
from layland import _verifier

ROOT = Path(__file__).parents[3]


class Edf(layland.Policy):
    """Global EDF."""

    like = "g-edf"

    def key(self, job, now):
        return job.deadline


@pytest.mark.parametrize("name", ["demo:dhall", "demo:mixed"])
def test_pages_and_charts_are_those_of_the_command(name, command, tmp_path):
    endings = ["html", "svg", "pdf", "tex", "txt", "json"]
    for options, arguments in [
        ({"until": "100ms", "seed": 5}, ["--until", "100ms", "--seed", "5"]),
        ({}, []),
        ({"hyperperiods": 1, "explore": 3}, ["--hyperperiods", "1", "--explore", "3"]),
    ]:
        outputs = [f"-o{tmp_path}/ours.{ending}" for ending in endings]
        command("sim", name, "-p", "p-edf", *arguments, *outputs, "-q", codes=(0, 1))
        run = layland.TaskSet.load(name).simulate("p-edf", record=False, **options)
        run.save(*(tmp_path / f"mine.{ending}" for ending in endings))
        for ending in endings:
            assert (tmp_path / f"mine.{ending}").read_bytes() == (tmp_path / f"ours.{ending}").read_bytes(), ending
        assert run.html() == (tmp_path / "ours.html").read_text()


def test_policies_share_a_page(command, tmp_path):
    tasks = layland.TaskSet.load("demo:dhall")
    compared = layland.compare(tasks, ["g-edf", "p-edf", "run"], until="44ms")
    command("sim", "demo:dhall", "-p", "g-edf,p-edf", "--until", "44ms", "-q", f"-o{tmp_path}/x.html", codes=(1,))
    assert compared["g-edf"].html() != compared.html()
    runs = layland.compare(tasks, ["g-edf", "p-edf"], until="44ms")
    assert runs.html() == (tmp_path / "x.html").read_text()
    runs.save(tmp_path / "y.svg", start="0ms", end="20ms")
    assert sorted(path.name for path in tmp_path.glob("y*")) == ["y.g-edf.svg", "y.p-edf.svg"]
    with_mine = layland.compare(tasks, [Edf, "p-edf"], until="44ms")
    assert "Edf" in with_mine.html()
    with pytest.raises(layland.UsageError, match="no known ending"):
        runs.save(tmp_path / "x.odt")
    with pytest.raises(layland.UsageError, match="no folder"):
        runs.save(tmp_path / "no" / "x.svg")


def test_traces_draw_themselves():
    trace = layland.TaskSet.load("demo:dhall").simulate("g-edf", until="44ms").trace
    assert trace.pdf().startswith(b"%PDF")
    assert trace.tikz(end="20ms", rows="cpus").lstrip().startswith(("%", "\\"))
    assert "heavy" in trace.text(rows="tasks") and "heavy" in trace.text()
    with pytest.raises(layland.UsageError, match="rows"):
        trace.pdf(rows="all")


def test_a_check_has_a_page(command, tmp_path):
    checked = layland.TaskSet.load("demo:robot").check("g-edf", "p-edf", effort=0)
    command("check", "demo:robot", "-p", "g-edf,p-edf", "--effort", "0", f"-o{tmp_path}/x.html", codes=(0, 1, 4))
    assert checked.html() == (tmp_path / "x.html").read_text()
    checked.save(tmp_path / "y.html")
    assert (tmp_path / "y.html").read_bytes() == (tmp_path / "x.html").read_bytes()
    checked.save(tmp_path / "y.json")
    assert (tmp_path / "y.json").read_text() == checked.json
    with pytest.raises(layland.UsageError, match="no known ending"):
        checked.save(tmp_path / "y.pdf")


@pytest.mark.parametrize(
    ("margin", "said"),
    [("0.05", "0.05"), (Fraction(1, 5), "1/5"), ("5ms", "5ms"), (5 * layland.ms, "5ms"), (timedelta(microseconds=7), "7us")],
)
def test_margins_are_those_of_the_command(margin, said, command):
    checked = layland.TaskSet.load("demo:dhall").check("dl-sp", "run", "p-edf", reserve=margin)
    arguments = ["-p", "dl-sp,run,p-edf", "--reserve", said, "--json"]
    assert checked.json == command("check", "demo:dhall", *arguments, codes=(0, 1, 4))
    assert [found.larger for found in checked] == ["budgets", "wcets", None]
    assert checked["run"].verdict_without_margin is layland.Verdict.YES


def test_margins_are_exact():
    tasks = layland.TaskSet.load("demo:robot")
    for wrong in (0.05, True, 5):
        with pytest.raises(TypeError, match="reserve"):
            tasks.check("run", reserve=wrong)
    with pytest.raises(layland.UsageError):
        tasks.check("run", reserve="-5ms")
    assert tasks.check("run")["run"].verdict_without_margin is None
    assert tasks.check("p-edf", factor=False)["p-edf"].wcet_factor is None


def test_certificates_are_those_of_the_command_and_hold(command, tmp_path):
    assert Path(_verifier.__file__).read_bytes() == (ROOT / "tools/verify_certificate.py").read_bytes()
    for name in ("demo:robot", "demo:dhall", "demo:mixed"):
        tasks = layland.TaskSet.load(name)
        checked = tasks.check("g-edf", "p-edf", "p-rm")
        path = tmp_path / "c.json"
        command("check", name, "-p", "g-edf,p-edf,p-rm", "--certificate", str(path), codes=(0, 1, 4))
        assert checked.certificate() == path.read_text()
        proofs = layland.verify(tasks, checked.certificate())
        assert any(proof.valid for proof in proofs) and not any(proof.valid is False for proof in proofs)
        # The verifier of the repository says the same.
        tasks.save(tmp_path / "s.toml")
        program = [sys.executable, ROOT / "tools/verify_certificate.py", tmp_path / "s.toml", path]
        told = subprocess.run(program, capture_output=True, text=True, check=False)
        assert told.returncode == (0 if all(proof.valid for proof in proofs) else 1), told.stderr
        claims = [f"{proof.policy or 'any policy'} {proof.verdict} {proof.test or '-'}".split() for proof in proofs]
        assert [line.split()[1 : 1 + len(claim)] for line, claim in zip(told.stdout.splitlines(), claims, strict=True)] == claims


def test_what_is_wrong_with_a_certificate_is_found():
    tasks = layland.TaskSet.load("demo:robot")
    document = json.loads(tasks.check("p-edf").certificate())
    assert layland.verify(tasks, document)[0].valid
    document["answers"][0]["verdict"] = "no"
    [proof, *_] = layland.verify(tasks, document)
    assert proof.valid is False and proof.reason
    for wrong in ("", "{}", "[]", b"\xff", {"certificate": 2}):
        with pytest.raises(layland.UsageError, match="no certificate"):
            layland.verify(tasks, wrong)
    with pytest.raises(layland.UsageError, match="without a reserve"):
        tasks.check("run", reserve="5ms").certificate()
