"""Times: exact, with units."""

from datetime import timedelta
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
