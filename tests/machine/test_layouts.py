"""Layouts of arguments: the same text in every process, and the same type for the compiler."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from ludarium.envs import GAMES, make_game
from ludarium.machine.layouts import dtype_of, example_of, fits, layout_of, text_of
from ludarium.training.search.settings import SETTINGS


class Pair(NamedTuple):
    """Arguments that belong together."""

    first: np.ndarray
    second: int


EXAMPLES = [
    *(np.zeros(2, np.int8), np.zeros((2, 3), np.float32), np.zeros((4, 4))[::2], np.bool_(1)),
    *(1, np.int16(1), np.uint64(1), True, 1.5, np.float32(1), None),
    *((1, (None, np.zeros(1))), Pair(np.zeros(2, np.uint8), 3)),
]


@pytest.mark.parametrize("value", EXAMPLES, ids=str)
def test_an_example_has_the_layout_that_it_was_made_from(value: Any) -> None:
    layout = layout_of(value)
    assert layout_of(example_of(layout)) == layout


@pytest.mark.parametrize("name", GAMES)
def test_a_dtype_comes_back_from_its_text_and_is_the_same_for_the_compiler(name: str) -> None:
    game = make_game(name)
    for dtype in (game.state_dtype, game.tables.dtype, game.view_tables.dtype, SETTINGS):
        again = dtype_of(text_of(dtype))
        assert again == dtype
        assert again.type is dtype.type
        assert numba.from_dtype(again) == numba.from_dtype(dtype)


def test_what_can_be_written_and_is_contiguous_stands_for_what_need_not() -> None:
    array = np.zeros((4, 4))
    fixed = np.zeros((4, 4))
    fixed.setflags(write=False)
    apart, whole, read_only = (layout_of(each) for each in (array[::2, ::2], array, fixed))
    assert fits(whole, apart)
    assert fits(whole, read_only)
    assert not fits(apart, whole)
    assert not fits(read_only, whole)
    assert not fits(layout_of((array, 1)), layout_of((array,)))
    assert not fits(layout_of(True), layout_of(1))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (make_game("corso").tables[0], "not record: pass an array of one record"),
        ("text", "not str"),
        ([1], "not list"),
        (np.zeros(1, object), "kernels take no arrays of object"),
        (np.zeros(1, ">i4"), "kernels take no arrays of >i4"),
    ],
)
def test_what_kernels_do_not_take_is_refused_by_name(value: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        layout_of(value)
