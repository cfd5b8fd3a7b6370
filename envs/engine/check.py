"""Checks of a new game: some run whenever a game is made, others play it (`check_game`).

`check_description`, `check_rules` and `check_view` neither compile nor play anything, and take less
than a millisecond; every `Game` runs them when it is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import NumbaError

from .messages import quoted, shortened
from .rule import plain, state_dtype

if TYPE_CHECKING:
    from .game import Game

#: How many arguments the functions of a game's modules are called with.
_RULES = {
    **dict.fromkeys(("score", "may_end"), 2),
    **dict.fromkeys(("init", "is_legal", "step", "is_turned", "set_up"), 3),
    "observe": 4,
}
_VIEW = {
    **dict.fromkeys(("task", "pass_turn"), 2),
    **dict.fromkeys(("word", "role", "points", "owner"), 3),
    "at_hand": 4,
    "next_pose": 5,
    "show": 6,
}
_NEEDED = ("init", "is_legal", "step", "observe")
_MOST_ACTIONS = 2**15 - 1  # search trees store action numbers in two bytes
_MOST_PLIES = 2**31 - 1
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # numba's messages have colours where colorama is there
_WHOLE_NUMBERS = {
    "num_actions": (1, _MOST_ACTIONS),
    "max_plies": (1, _MOST_PLIES),
    "max_score": (0, _MOST_PLIES),
}
_FLAGS = ("binary_observation", "random_start", "has_owners", "has_points")


# What `setup` has set.


def check_description(game: Game) -> None:
    """Check the attributes of a game, as far as they can be checked without its rules.

    Raises:
        ValueError: one is missing, or does not fit the others; the message says which and how.
    """
    for fault in _faults_of_description(game):
        raise ValueError(f"{game.name}: {fault}")


def _faults_of_description(game: Game) -> Iterator[str]:
    names = ("state_dtype", "tables", "action_names", "observation_shape", "observation_names")
    for name in (*names, *_WHOLE_NUMBERS, *_FLAGS):
        if not hasattr(game, name):
            yield f"setup does not set {name}"
    for name, (least, most) in _WHOLE_NUMBERS.items():
        value = getattr(game, name)
        if type(value) is not int or not least <= value <= most:
            yield f"{name} is {quoted(value)}; it must be an integer from {least} to {most:,}"
    for name in _FLAGS:
        if type(getattr(game, name)) is not bool:
            yield f"{name} is {quoted(getattr(game, name))}; it must be True or False"
    shape = game.observation_shape
    is_shape = isinstance(shape, tuple) and len(shape) in (1, 3)
    if not is_shape or not all(type(size) is int and size > 0 for size in shape):
        yield f"observation_shape is {quoted(shape)}; write (planes, height, width) or (features,)"
    yield from _faults_of_names("action_names", game.action_names, game.num_actions, "actions")
    entries = "planes" if len(shape) == 3 else "features"
    yield from _faults_of_names("observation_names", game.observation_names, shape[0], entries)
    events = game.event_names
    number = len(events) if isinstance(events, Sequence) else 0
    yield from _faults_of_names("event_names", events, number, "events")
    for name in ("words", "tasks"):
        yield from _faults_of_texts(name, getattr(game, name))
    yield from _faults_of_clock(game)
    yield from _faults_of_records(game)
    yield from _faults_of_places(game)
    if game.has_owners and len(shape) != 3:
        yield "has_owners is True, but cells have owners only on a board (planes, height, width)"


def _faults_of_clock(game: Game) -> Iterator[str]:
    clock = game.clock
    if clock is None:
        return
    if game.options.get(clock.option) not in (True, False):
        yield f"its clock has the option {quoted(clock.option)}, which must be True or False"
    if clock.action not in game.action_names:
        yield f"its clock plays {quoted(clock.action)}, which is no action"


def _faults_of_texts(title: str, texts: Any) -> Iterator[str]:
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        yield f"{title} is {quoted(texts)}; it must be a list of texts"
    if not texts:
        yield f"{title} is empty; it must have a text"


def _faults_of_names(title: str, names: Any, count: int, what: str) -> Iterator[str]:
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        yield f"{title} is {quoted(names)}; it must be a list of texts"
    if len(names) != count:
        yield f"{title} are {len(names)}, but there are {count} {what}"
    if len(set(names)) != len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        yield f"{title} has {quoted(twice)} twice; every name must differ"


def _faults_of_records(game: Game) -> Iterator[str]:
    dtype, common = game.state_dtype, state_dtype()
    if not isinstance(dtype, np.dtype) or dtype.names is None:
        yield f"state_dtype is {quoted(dtype)}; make it with engine.rule.state_dtype(...)"
    fields = dict(dtype.fields or {})
    if any(name not in fields or fields[name][0] != common[name] for name in common.names or ()):
        yield "state_dtype lacks ply, mover or outcome; make it with engine.rule.state_dtype(...)"
    for name in ("tables", "view_tables"):
        tables = getattr(game, name)
        if not isinstance(tables, np.ndarray) or tables.shape != (1,):
            yield f"{name} is {quoted(tables)}; make it with engine.rule.table_record(...)"
    for name in game.log_fields:
        if name not in fields or name in (common.names or ()):
            yield f"log_fields names {quoted(name)}; the game's own fields are " + ", ".join(
                field for field in fields if field not in (common.names or ())
            )


def _faults_of_places(game: Game) -> Iterator[str]:
    places = game.action_places
    if places is None:
        return
    if not isinstance(places, np.ndarray) or places.shape != (game.num_actions,):
        yield f"action_places is {quoted(places)}; it must be an array of num_actions numbers"
    if not np.issubdtype(places.dtype, np.integer) or (places < -1).any():
        yield "action_places must be whole numbers, -1 for an action without a place"
    if len(game.observation_shape) != 3:
        yield "action_places are places on a board, and the observation is none"
    on_board = places[places >= 0]
    if len(np.unique(on_board)) != len(on_board):
        numbers, counts = np.unique(on_board, return_counts=True)
        place = int(numbers[counts > 1][0])
        first, second = np.flatnonzero(places == place)[:2]
        yield (
            f"action_places puts actions {first} and {second} at the same place, {place}; use "
            "another plane for one of them (plane * height * width + cell)"
        )


# The functions of the rules and of the view.


def check_rules(game: Game) -> None:
    """Check the functions of a game's rules.

    Raises:
        ValueError: one is missing or takes another number of arguments.
    """
    for fault in _faults_of_rules(game):
        raise ValueError(f"the rules of {game.name}: {fault}")


def check_view(game: Game) -> None:
    """Check the functions of a game's view.

    Raises:
        ValueError: one takes another number of arguments, or ``points`` and ``has_points`` do not
            go together.
    """
    for fault in _faults_of_view(game):
        raise ValueError(f"the view of {game.name}: {fault}")


def _faults_of_rules(game: Game) -> Iterator[str]:
    for name in _NEEDED:
        if not hasattr(game.rules, name):
            yield f"there is no function {name}"
    yield from _faults_of_calls(game.rules, _RULES)


def _faults_of_view(game: Game) -> Iterator[str]:
    counts = hasattr(game.view, "points")
    if game.has_points and not counts:
        yield "has_points is True, but there is no function points"
    if counts and not game.has_points:
        yield "there is a function points, but has_points is False; set it in setup"
    if game.view is not None:
        yield from _faults_of_calls(game.view, _VIEW)


def _faults_of_calls(module: ModuleType, calls: dict[str, int]) -> Iterator[str]:
    """Functions that take another number of arguments than they are called with."""
    for name, count in calls.items():
        function = getattr(module, name, None)
        if function is not None:
            taken = plain(function).__code__.co_argcount
            if taken != count:
                yield f"{name} takes {taken} arguments; it is called with {count}"


# What the compiler says.

#: What numba raises where it cannot compile; a KeyError for a field that a record does not have.
COMPILE_ERRORS = (NumbaError, KeyError)


def compile_error(game: Game, error: Exception) -> ValueError:
    """Shorten numba's error to two lines: which function, where, and what to do."""
    text = _COLOUR.sub("", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reason = next(
        (line for line in lines if not line.startswith("Failed in")), type(error).__name__
    )
    if isinstance(error, KeyError):
        reason = f"no record has the field {error}"
    function = re.search(r"<function (\w+) at", text)
    name = function[1] if function else "a function"
    what, line = "view" if name in _VIEW and hasattr(game.view, name) else "rules", ""
    for kind, module in (("rules", game.rules), ("view", game.view)):
        source = re.escape(Path(str(getattr(module, "__file__", ""))).name)
        place = re.search(rf'File "[^"]*{source}", line (\d+)', text) if source else None
        if place:
            what, line = kind, f", line {place[1]}"
    return ValueError(
        f"the {what} of {game.name} cannot be compiled ({name}{line}): {shortened(reason)}\n"
        "run with NUMBA_DISABLE_JIT=1: rules are plain Python then, and an error shows its line"
    )
