"""Exponential and logarithm of our own against those of the system's library."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from ludarium.envs.engine import mathematics
from tests.kernels import compiled

_RANDOM = np.random.default_rng(1)
EXPONENTS = [
    *_RANDOM.uniform(-745, 709, 20_000),
    *_RANDOM.uniform(-2, 2, 20_000),
    *(10.0 ** _RANDOM.uniform(-300, 0, 2000) * _RANDOM.choice([-1, 1], 2000)),
    *(0.0, -0.0, 709.782712893384, -708.4, -744.9, -745.13),
]
NUMBERS = [
    *np.exp(_RANDOM.uniform(-744, 709, 20_000)),
    *_RANDOM.uniform(0.5, 2, 20_000),
    *(1 + 10.0 ** _RANDOM.uniform(-16, -1, 2000)),
    *(1.0, 2.0**0.5, 2.0**-0.5, 5e-324, 2.0**-1022, 1.7976931348623157e308),
]


def assert_near(found: float, wanted: float) -> None:
    """Within one unit in the last place of what is right to half a unit or little more."""
    assert abs(found - wanted) <= math.ulp(wanted), (found, wanted)


@pytest.mark.parametrize(
    ("function", "library", "arguments"),
    [(compiled.exp, math.exp, EXPONENTS), (compiled.log, math.log, NUMBERS)],
)
def test_they_are_right_to_the_last_bit_or_so(
    function: Callable, library: Callable, arguments: list[float]
) -> None:
    for each in map(float, arguments):
        assert_near(function(each), library(each))


def test_the_ends_are_those_of_the_numbers() -> None:
    inf, nan = math.inf, math.nan
    assert [compiled.exp(each) for each in (inf, -inf, 710.0, -746.0)] == [inf, 0, inf, 0]
    assert [compiled.log(each) for each in (inf, 0.0, -0.0)] == [inf, -inf, -inf]
    assert all(map(math.isnan, (compiled.exp(nan), compiled.log(nan), compiled.log(-1.0))))


@pytest.mark.parametrize(("name", "arguments"), [("exp", EXPONENTS), ("log", NUMBERS)])
def test_plain_python_gives_the_same_bits(name: str, arguments: list[float]) -> None:
    in_code, in_python = getattr(compiled, name), getattr(mathematics, name)
    for each in map(float, arguments):
        assert in_python(each).hex() == in_code(each).hex()


def test_numbers_of_single_precision_are_taken_as_they_are() -> None:
    third = np.float32(1 / 3)
    assert compiled.exp(third) == compiled.exp(float(third))
    assert compiled.log(third) == compiled.log(float(third))
