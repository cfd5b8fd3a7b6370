"""Calls of machine code, by the extension and in Python: the same words, the same answers."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ludarium.machine import calling
from ludarium.machine.layouts import layout_of

CODE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))


@pytest.fixture(params=["extension", "Python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "Python":
        monkeypatch.setattr(calling, "_call", None)
        monkeypatch.setattr(calling, "_warn", lambda: None)
    else:
        assert calling._call is not None


def refuse(*arguments: Any) -> str:
    return "no form"


class Bound:
    """A kernel with one form, whose code is a function of the block's first words."""

    def __init__(self, code: Callable[..., int], examples: tuple, returned: str) -> None:
        self.code = CODE(code)
        self.kernel = calling.kernel("bound", refuse, True)
        address = ctypes.cast(self.code, ctypes.c_void_p).value
        assert address is not None
        calling.add(self.kernel, address, tuple(map(layout_of, examples)), returned)


@pytest.mark.usefixtures("way")
def test_arguments_become_words_in_order() -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    seen: list[int] = []

    def code(block: Any) -> int:
        seen.extend(block[k] for k in range(12))
        return 7

    given = (array, 1, (True, None, 1.0), np.uint64(2**64 - 1), np.int8(-3), array[:, ::2])
    bound = Bound(code, given, "i")
    assert bound.kernel(*given) == 7
    one = np.float64(1).view(np.int64)
    assert seen == [array.ctypes.data, 2, 3, 6, 2, 1, 1, one, -1, -3, array.ctypes.data, 2]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("returned", "word", "value"),
    [("n", 5, None), ("b", 5, True), ("i", -5, -5), ("u", -1, 2**64 - 1)]
    + [(kind, int(np.float64(0.5).view(np.int64)), 0.5) for kind in "fg"],
)
def test_a_word_becomes_what_the_kernel_returns(returned: str, word: int, value: object) -> None:
    found = Bound(lambda block: word, (), returned).kernel()
    assert found == value
    assert type(found) is type(value)


@pytest.mark.usefixtures("way")
def test_a_tuple_comes_back_in_the_block() -> None:
    def code(block: Any) -> int:
        block[0], block[1] = -3, 1
        return 0

    assert Bound(code, (1,), "Tib").kernel(1) == (-3, True)


@pytest.mark.usefixtures("way")
def test_what_fits_no_form_goes_elsewhere() -> None:
    array = np.zeros((2, 2), np.float32)
    read_only = array.copy()
    read_only.setflags(write=False)
    kernel = Bound(lambda block: 1, (array, 1, True), "i").kernel
    assert kernel(array, 2, np.bool_(False)) == 1
    others: list[tuple] = [
        *((array.astype(float), 1, True), (array[0], 1, True), (array[:, :1], 1, True)),
        *((read_only, 1, True), (array, 1.0, True), (array, True, True), (array, 1, 1)),
        *((array, None, True), (array, (1,), True), (array, 1), (array, 1, True, 1)),
    ]
    for arguments in others:
        assert kernel(*arguments) == "no form", arguments


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("other", [1, np.int64(1), True])
def test_a_number_without_a_sign_is_no_other_integer(other: Any) -> None:
    """Code for it would compute otherwise."""
    kernel = Bound(lambda block: 1, (np.uint64(1),), "i").kernel
    assert kernel(np.uint64(2**64 - 1)) == 1
    assert kernel(other) == "no form"


@pytest.mark.usefixtures("way")
def test_a_form_that_is_added_during_a_call_serves_it() -> None:
    code = CODE(lambda block: block[0] + 1)

    def find(*arguments: Any) -> Any:
        address = ctypes.cast(code, ctypes.c_void_p).value
        assert address is not None
        calling.add(kernel, address, tuple(map(layout_of, arguments)), "i")
        return kernel(*arguments)

    kernel = calling.kernel("late", find, False)
    assert [kernel(number) for number in (1, 2)] == [2, 3]


def test_calls_leave_no_references() -> None:
    array = np.zeros(3)
    dtype = array.dtype
    kernel = Bound(lambda block: 1, (array, (array, 1)), "i").kernel
    before = sys.getrefcount(array), sys.getrefcount(dtype)
    for _ in range(1000):
        kernel(array, (array, 1))
        kernel(array, (array, "fits nothing"))
    after = sys.getrefcount(array), sys.getrefcount(dtype)
    assert after[0] == before[0]
    assert after[1] - before[1] <= 2  # kept with the form's two arrays


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ((len, 1, (), "i"), TypeError),
        ((None, 1, (("x",),), "i"), ValueError),
        ((None, 1, ((1,),), "i"), ValueError),
        ((None, 1, (("A", "x", -1, True, True),), "i"), ValueError),
        ((None, 1, (("T", "", [1]),), "i"), ValueError),
        ((None, 0, (), "i"), ValueError),
        ((None, 1, (), "x"), ValueError),
        ((None, 1, (), "T" + 9 * "i"), ValueError),
        ((None, 1, [], "i"), TypeError),
    ],
)
def test_what_is_no_form_is_refused(arguments: tuple, kind: type[Exception]) -> None:
    kernel = calling.kernel("kernel", refuse, True)
    first, *others = arguments
    with pytest.raises(kind):
        calling.add(kernel if first is None else first, *others)
    assert kernel() == "no form"


def test_both_ways_know_this_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    known = calling.level()
    if not sys.platform.startswith("linux") or known in ("neon", "dotprod"):
        pytest.skip("without the extension only Linux tells about x86")
    monkeypatch.setattr(calling, "_call", None)
    assert calling.level() == known
