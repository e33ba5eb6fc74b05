"""Times: exact, with units."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import layland
import pytest


@pytest.mark.parametrize(
    ("time", "ns"),
    [
        ("5ms", 5_000_000),
        ("10/4us", 2_500),
        (timedelta(days=1, microseconds=1), 86_400_000_001_000),
        (Fraction(3, 2), 1_500_000),
        (3 * layland.us, 3_000),
        (layland.s * Fraction(1, 4), 250_000_000),
    ],
)
def test_each_way_to_write_a_time_is_exact(time, ns):
    assert layland.as_ns(time) == ns


@pytest.mark.parametrize("time", [5.0, 5, True, None, b"5ms", float("nan")])
def test_what_has_no_unit_is_a_type_error(time):
    with pytest.raises(TypeError, match="a time cannot be"):
        layland.as_ns(time)
    with pytest.raises(TypeError):
        layland.Task("a", wcet=time, period="5ms")


@pytest.mark.parametrize("text", ["", "5", "ms", "5 parsecs", "1.5ns", "1/0ms", "9" * 40 + "s"])
def test_texts_that_are_no_times_say_what_to_write(text):
    with pytest.raises(layland.UsageError):
        layland.as_ns(text)


def test_times_have_a_limit():
    for time in (timedelta.max, 10**12 * layland.s, Fraction(10**20), "99999999999s"):
        with pytest.raises(layland.UsageError, match="too long|36 years"):
            layland.as_ns(time)


def test_a_float_makes_no_duration():
    with pytest.raises(TypeError):
        1.5 * layland.ms
    with pytest.raises(layland.UsageError, match="not a whole number of nanoseconds"):
        Fraction(1, 3) * layland.ns


def test_durations_compare_and_count():
    assert layland.ms < layland.s
    assert 2 * layland.ms - layland.us == layland.Duration("1.999ms")
    assert str(-layland.ms) == "-1ms"
    assert len({layland.ms, 1000 * layland.us}) == 1


def derived(kind, *arguments):
    """A value of a type that is derived from another one, and carries more."""
    made = type("Derived", (kind,), {"more": 900})
    return made(*arguments)


def test_a_derived_type_counts_exactly_or_is_refused_by_its_name():
    """A time of any type counts as what it says, to the nanosecond, or is refused."""
    numpy = pytest.importorskip("numpy", reason="needs NumPy")
    exact = [
        (derived(str, "1.9us"), 1_900),
        (numpy.str_("1.9us"), 1_900),
        (numpy.timedelta64(1_900, "ns"), 1_900),
        (numpy.array([19], dtype="m8[100ns]")[0], 1_900),
    ]
    for time, ns in exact:
        assert layland.as_ns(time) == ns
        assert layland.Task("a", wcet=time, period="4ms", offset=time).wcet_ns == ns
    refused = [
        derived(timedelta, 0, 0, 1),
        derived(Fraction, 3, 2),
        derived(layland.Duration, "1ms"),
        derived(int, 5),
        derived(float, 0.5),
        Decimal("0.5"),
        derived(Decimal, "0.5"),
        numpy.int64(5),
        numpy.float64(0.5),
        numpy.datetime64("2026-01-01"),
        numpy.array([5]),
        numpy.bool_(True),
        5,
        0.5,
        True,
        None,
    ]
    tasks = layland.TaskSet.load("demo:dhall")
    for time in refused:
        kind = type(time).__name__
        for ask in (
            lambda time=time: layland.as_ns(time),
            lambda time=time: layland.Duration(time),
            lambda time=time: layland.Task("a", wcet=time, period="4ms"),
            lambda time=time: layland.Task("a", wcet="1ms", period=time),
        ):
            with pytest.raises(TypeError, match=kind):
                ask()
        # A key that is None is left out.
        if time is not None:
            with pytest.raises(TypeError, match=kind):
                layland.Task("a", wcet="1ms", period="4ms", jitter=time)
            with pytest.raises(TypeError, match=kind):
                tasks.simulate("g-edf", until=time)
            with pytest.raises(TypeError, match=kind):
                tasks.check("g-edf", tick=time)


def test_a_timedelta_of_pandas_counts_with_its_nanoseconds():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    for text, ns in (("900ns", 900), ("1.9us", 1_900), ("-1ns", -1), ("3 days 5ns", 259_200_000_000_005)):
        assert layland.as_ns(pandas.Timedelta(text)) == ns
    for unit in ("s", "ms", "us", "ns"):
        assert layland.as_ns(pandas.Timedelta("2s").as_unit(unit)) == 2_000_000_000
    a = layland.Task("a", wcet=pandas.Timedelta("1.9us"), period="2us", release={"kind": "sporadic", "extra": "1us"})
    b = layland.Task("b", wcet=pandas.Timedelta("1.4us"), period="4us", jitter=pandas.Timedelta("1ns"))
    tasks = layland.TaskSet([a, b], cpus=1)
    assert tasks.utilization == Fraction(13, 10) and tasks.tasks[1].keys["jitter"] == "1ns"
    assert tasks.check("p-edf").verdict is layland.Verdict.NO
    for wrong in (pandas.NaT, type("Derived", (pandas.Timedelta,), {})("900ns")):
        with pytest.raises(TypeError, match=type(wrong).__name__):
            layland.as_ns(wrong)


def test_factors_and_numbers_are_exact_whatever_type_they_are():
    numpy = pytest.importorskip("numpy", reason="needs NumPy")
    five = derived(int, 5)
    for factor in (numpy.int64(5), numpy.uint8(5), five):
        assert factor * layland.ms == layland.ms * factor == 5 * layland.ms
    for factor in (0.5, numpy.float64(0.5), numpy.float32(0.5), True, numpy.bool_(True), Decimal(1), derived(Fraction, 1)):
        for product in (lambda factor=factor: factor * layland.ms, lambda factor=factor: layland.ms * factor):
            with pytest.raises(TypeError):
                product()
    assert layland.Duration.of_ns(numpy.int64(7)).ns == 7
    for wrong in (1.9, numpy.float64(2), Decimal(1), True, "1"):
        with pytest.raises(TypeError, match="ns"):
            layland.Duration.of_ns(wrong)
    task = layland.Task("a", wcet="1ms", period="5ms", priority=numpy.int64(3), rank=five, affinity=[numpy.int8(0)])
    keys = layland.TaskSet([task], cpus=numpy.int64(2)).tasks[0].keys
    assert (keys["priority"], keys["rank"], keys["affinity"]) == (3, 5, "0")
    for wrong in (1.0, numpy.float64(1), Decimal(1), derived(Decimal, 1), {0}, b"0"):
        with pytest.raises(TypeError, match=type(wrong).__name__):
            layland.Task("a", wcet="1ms", period="5ms", priority=wrong)
        with pytest.raises(TypeError, match="cpus"):
            layland.TaskSet([task], cpus=wrong)
