"""Checks that run whenever a game is made; those of `game_check.check_game` play it.

`check_spec` and `check_hooks` neither compile nor play anything, and take less than a millisecond.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.base.messages import quoted, shortened
from ludarium.machine.marks import plain

from .hooks import Hook
from .rule import state_dtype
from .spec import Spec, Texts

if TYPE_CHECKING:
    from .game import Game

_MOST_ACTIONS = 2**15 - 1  # search trees store action numbers in two bytes
_MOST_PLIES = 2**31 - 1
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # numba's messages have colours where colorama is there


# The class.

#: What games may be called: modules, files and commands have the same name.
NAME = re.compile(r"[a-z][a-z0-9_]*")


def fault_of_class(game_class: type[Game]) -> str | None:
    """The first fault in a game's class attributes: the end of a sentence on the class; or None."""
    absent = [name for name in ("name", "rules") if not hasattr(game_class, name)]
    if absent:
        return f"lacks class attributes of a game: {', '.join(absent)}"
    if not isinstance(game_class.name, str) or not NAME.fullmatch(game_class.name):
        return f"has the name {quoted(game_class.name)}; a name is a letter a-z, then a-z, 0-9 or _"
    if type(game_class.version) is not int or game_class.version < 0:
        return f"has version {quoted(game_class.version)}; a version is 0, 1, 2, ..."
    if isinstance(game_class.view, ModuleType):
        return "has a module view; give its functions one by one, as in Scene(show=show)"
    return None


# What `setup` has returned.


def check_spec(game: Game, spec: Any) -> None:
    """Check a game's spec, as far as is possible without calling the rules.

    Raises:
        ValueError: something does not fit; the message says what and how.
    """
    for fault in _faults_of_spec(game, spec):
        raise ValueError(f"{game.name}: {fault}")


def _faults_of_spec(game: Game, spec: Any) -> Iterator[str]:
    if not isinstance(game.title, str) or not game.title:
        yield f"the title is {game.title!r}; it must be a text"
    if not isinstance(spec, Spec):
        yield f"setup returns {quoted(spec)}; it must return a Spec"
    for name, least in (("max_plies", 1), ("max_score", 0)):
        value = getattr(spec, name)
        if type(value) is not int or not least <= value <= _MOST_PLIES:
            must = f"it must be an integer from {least} to {_MOST_PLIES:,}"
            yield f"{name} is {quoted(value)}; {must}"
    for name in ("binary_observation", "random_start"):
        if type(getattr(spec, name)) is not bool:
            yield f"{name} is {quoted(getattr(spec, name))}; it must be True or False"
    board = spec.board
    is_board = isinstance(board, tuple) and len(board) == 2
    if board is not None and not (is_board and all(type(n) is int and n > 0 for n in board)):
        yield f"board is {quoted(board)}; write (height, width), or None for a row of features"
    for name in ("action_names", "observation_names", "event_names"):
        yield from _faults_of_names(name, getattr(spec, name))
    actions = len(spec.action_names)
    if not 1 <= actions <= _MOST_ACTIONS:
        yield f"there are {actions} actions; there must be 1 to {_MOST_ACTIONS:,}"
    if not spec.observation_names:
        yield "observation_names is empty; an observation has a plane or a feature"
    for name in ("words", "tasks", "reasons"):
        value = getattr(spec, name)
        if not isinstance(value, Texts):
            yield f"{name} is {quoted(value)}; write Texts(texts) or Texts(texts, function)"
        yield from _faults_of_texts(name, value.texts)
    for name in ("tasks", "reasons"):
        if not getattr(spec, name).texts:
            yield f"{name} is empty; it must have a text"
    yield from _faults_of_clock(game, spec)
    yield from _faults_of_records(spec)
    yield from _faults_of_places(spec)
    yield from _faults_of_turn(spec)
    if spec.owner is not None and spec.board is None:
        yield "its spec has a function owner, but cells have owners only on a board"
    leads = [name for name in ("points", "score") if hasattr(game.rules, name)]
    if len(leads) == 2:
        yield "its rules have points and score; leave out the score, the difference of the points"
    if spec.max_score and not leads:
        yield f"max_score is {spec.max_score}, but its rules have neither score nor points"


def _faults_of_turn(spec: Spec) -> Iterator[str]:
    turn = spec.canonical_turn
    if turn is None:
        return
    cells = prod(spec.board) if spec.board else len(spec.observation_names)
    actions = len(spec.action_names)
    if len(turn.cells) != cells or len(turn.actions) != actions:
        yield (
            f"its canonical turn has {len(turn.cells)} cells and {len(turn.actions)} actions, but "
            f"the game has {cells} and {actions}"
        )
    if all((table == np.arange(len(table))).all() for table in (turn.cells, turn.actions)):
        yield "its canonical turn leaves every cell and every action where it is; say how they turn"


def _faults_of_clock(game: Game, spec: Spec) -> Iterator[str]:
    clock = game.clock
    if clock is None:
        return
    if game.options.get(clock.option) not in (True, False):
        yield f"its clock has the option {quoted(clock.option)}, which must be True or False"
    if clock.action not in spec.action_names:
        yield f"its clock plays {quoted(clock.action)}, which is not an action"


def _faults_of_texts(title: str, texts: Any) -> Iterator[str]:
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        yield f"{title} is {quoted(texts)}; it must be a list of texts"


def _faults_of_names(title: str, names: Any) -> Iterator[str]:
    yield from _faults_of_texts(title, names)
    for name in names:
        if not name or name != name.strip() or not name.isprintable():
            yield f"{title} has {quoted(name)}; a name is printable, and has no space at its ends"
    if len(set(names)) != len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        yield f"{title} has {quoted(twice)} twice; every name must differ"


def _faults_of_records(spec: Spec) -> Iterator[str]:
    dtype, common = spec.state_dtype, state_dtype()
    if not isinstance(dtype, np.dtype) or dtype.names is None:
        yield f"state_dtype is {quoted(dtype)}; make it with engine.rule.state_dtype(...)"
    fields = dict(dtype.fields or {})
    if any(name not in fields or fields[name][0] != common[name] for name in common.names or ()):
        yield "state_dtype lacks ply, mover or outcome; make it with engine.rule.state_dtype(...)"
    for name in ("tables", "view_tables"):
        tables = getattr(spec, name)
        is_record = isinstance(tables, np.ndarray) and tables.shape == (1,)
        if tables is not None and not is_record:
            yield f"{name} is {quoted(tables)}; make it with engine.rule.table_record(...)"


def _faults_of_places(spec: Spec) -> Iterator[str]:
    places = spec.action_places
    if places is None:
        return
    if not isinstance(places, np.ndarray) or places.ndim != 1:
        yield f"action_places is {quoted(places)}; it must be an array of a number for each action"
    actions = len(spec.action_names)
    if len(places) != actions:
        yield f"action_places has {len(places)} entries, but there are {actions} actions"
    if not np.issubdtype(places.dtype, np.integer) or (places < -1).any():
        yield "action_places must be whole numbers, -1 for an action without a place"
    if spec.board is None:
        yield "action_places are places on a board, but the spec has no board"
    on_board = places[places >= 0]
    if len(np.unique(on_board)) != len(on_board):
        numbers, counts = np.unique(on_board, return_counts=True)
        place = int(numbers[counts > 1][0])
        first, second = np.flatnonzero(places == place)[:2]
        yield (
            f"action_places puts actions {first} and {second} at the same place, {place}; use "
            "another plane for one of them (plane * height * width + cell)"
        )


# The functions.


def check_hooks(game: Game, hooks: Sequence[Hook]) -> None:
    """Check functions of a game.

    Raises:
        ValueError: one is missing or no function, takes another number of arguments, or belongs to
            the `Spec` or the picture and is not found in its module by name.
    """
    for hook in hooks:
        function, arguments = plain(hook.own(game)), ", ".join(hook.arguments)
        taken = getattr(function, "__code__", None)
        if function is None and hook.default is None:
            raise ValueError(f"{game.name}: its rules have no function {hook.name}")
        if function is None:
            continue
        if taken is None or taken.co_argcount != len(hook.arguments):
            given = f"takes {taken.co_argcount} arguments" if taken else f"is {quoted(function)}"
            raise ValueError(
                f"{game.name}: {hook.name} {given}; it is called with {len(hook.arguments)}: "
                f"{arguments}"
            )
        home = sys.modules.get(function.__module__)
        if hook.given and getattr(home, function.__name__, None) is not hook.own(game):
            raise ValueError(
                f"{game.name}: {hook.name} is {function.__qualname__}; it must be a function of a "
                "module, as compiled code finds it by name"
            )


# Errors of the compiler.


class RefusedError(ValueError):
    """A game cannot be compiled."""


def compile_error(game: Game, error: Exception) -> RefusedError:
    """The error to raise for the compiler's: two lines with the function, its place, a remedy."""
    text = _COLOUR.sub("", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reason = next(
        (line for line in lines if not line.startswith("Failed in")), type(error).__name__
    )
    if reason.startswith("KeyError: "):
        reason = f"no record has the field {reason.removeprefix('KeyError: ')}"
    if "of <class 'function'>" in reason:
        reason = f"{shortened(reason)}: is it a function without @rule?"
    if reason.startswith("NRT required"):
        reason = "it needs memory of its own"
    function = re.search(r"<function (\w+) at", text)
    name = function[1] if function else "a function"
    home = Path(str(getattr(game.rules, "__file__", ""))).parent.name  # files may be relative
    places = [(Path(file), line) for file, line in re.findall(r'File "([^"]+)", line (\d+)', text)]
    own = [f", line {line} of {file.name}" for file, line in places if file.parent.name == home]
    place = own[-1] if own else ""
    return RefusedError(
        f"the rules of {game.name} cannot be compiled ({name}{place}): {shortened(reason)}\n"
        "rules compute with numbers and make no list, text or array; with LUDARIUM_CODE=plain they "
        "are plain Python, and an error shows its line"
    )
