"""Exact tests as files: lines of JSON that can be checked by hand.

    {"format": "ludarium exact test 1", "game": "corso", "version": 0, "options": {"size": 5},
     "made": {"games_of": "corso:64?temperature=0.3", "seed": 1, ...}, "sha256": "..."}
    {"moves": ["c3", "b2", "d4", ...],
     "positions": [{"ply": 8, "win": ["c3!", "d2"], "loss": ["a1", "b1", ...]}]}

The lines are wrapped here. The first line describes the test, and has the SHA-256 of all that
follows. Every other line is a game, with its moves up to the last of its positions, its ``seed``
if the start is random, and for each position the number of moves before it (``ply``) and the legal
actions by their value for the player to move: ``win``, ``draw`` or ``loss``. ``ludarium probe GAME
--moves MOVES --outcome`` prints the same values, if it is given those moves that come before the
position, the test's options, and the seed if there is one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import msgspec

from ludarium.base.files import MEGABYTE, load_json
from ludarium.base.messages import named, quoted
from ludarium.base.numbers import SEED_LIMIT
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position, contents_of

from ..lines import Head, read_each, read_lines, write_lines
from .positions import ExactPosition, ExactTest

#: The name of a game's shipped test.
HARD = "hard"

_FORMAT = "ludarium exact test 1"
_SUFFIX = ".test.jsonl"
_LARGEST_FILE = 16 * MEGABYTE
_RESULTS = {"win": 1, "draw": 0, "loss": -1}  # the best first


def write_exact_test(path: str | os.PathLike[str], test: ExactTest) -> None:
    """Write a test to a file.

    Raises:
        ValueError: the positions take more than `read_exact_test` accepts, less a megabyte.
        OSError: the file cannot be written.
    """
    games: list[list[ExactPosition]] = []
    for each in sorted(test.positions, key=lambda each: -len(each.actions)):
        # The longest come first, so that each finds a game that continues it.
        game = next((known for known in games if known[0].continues(each)), None)
        if game is None:
            games.append([each])
        else:
            game.append(each)
    lines = sorted(_game_line(test.game, game) for game in games)
    body = "".join(f"{line}\n" for line in lines).encode()
    most = _LARGEST_FILE - MEGABYTE  # leaves room for the first line
    if len(body) > most:
        raise ValueError(
            f"the test has {len(body):,} bytes, at most {most:,} fit: take fewer positions"
        )
    write_lines(path, _FORMAT, test.game, test.made, body)


def _game_line(game: Game, positions: list[ExactPosition]) -> str:
    """The line of a game with these positions, which are given from the latest to the earliest."""
    first = positions[0]
    entries = [{"ply": len(each.actions), **_worths(each)} for each in reversed(positions)]
    seed = {"seed": first.seed} if game.random_start else {}
    moves = game.start(first.seed).play_all(first.actions)
    return json.dumps({**seed, "moves": moves, "positions": entries})


def _worths(found: ExactPosition) -> dict[str, list[str]]:
    """The legal actions by value, the best first."""
    worths = {}
    for word, result in _RESULTS.items():
        if actions := sorted(each for each in found.results if found.results[each] == result):
            worths[word] = [found.position.action_to_text(action) for action in actions]
    return worths


def read_exact_test(path: str | os.PathLike[str]) -> ExactTest:
    """Read a test from a file, which may come from a stranger.

    Every position is played by the rules, and every legal action must have a value; the values
    themselves are trusted.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not an exact test, or its lines after the first have been changed; the
            message says where.
    """
    return read_lines(path, "exact test", _LARGEST_FILE, _Head, _read_games)


def _read_games(game: Game, made: dict[str, Any], lines: Sequence[bytes]) -> ExactTest:
    """The test of a file's lines."""
    found = [*chain(*read_each(lines, _GameLine, partial(_read_game, game)))]
    if not found:
        raise ValueError("it has no positions")
    if len({contents_of(each.position.states[0]) for each in found}) < len(found):
        raise ValueError("two of its positions are alike")
    return ExactTest(game, tuple(found), made)


class _Head(Head):
    """The first line."""

    format: Literal["ludarium exact test 1"]

    def __post_init__(self) -> None:
        for key in ("games_of", "positions"):
            if not isinstance(self.made.get(key), str):
                raise ValueError(f"made has no text as its {key}")


class _GameLine(msgspec.Struct):
    """A game; its positions have their ``ply``, and actions by value."""

    moves: list[str]
    positions: list[dict[str, int | list[str]]]
    seed: int = 0


def _read_game(game: Game, line: _GameLine) -> list[ExactPosition]:
    """The positions of a line."""
    if not 0 <= line.seed < SEED_LIMIT:
        raise ValueError(f"seed is {quoted(line.seed)}; accepted: 0 to 2**128 - 1")
    by_ply: dict[int, dict[str, int | list[str]]] = {}
    for entry in line.positions:
        ply = entry.pop("ply", None)
        if not isinstance(ply, int):
            raise ValueError(f"a position has no whole number as its ply: {quoted(entry)}")
        if by_ply.setdefault(ply, entry) is not entry:
            raise ValueError(f"the game has two positions at ply {ply}")
    position, found = game.start(line.seed), []
    actions: list[int] = []
    for text in [*line.moves, None]:
        if len(actions) in by_ply:
            results = _read_results(position, len(actions), by_ply.pop(len(actions)))
            found.append(ExactPosition(position.copy(), line.seed, tuple(actions), results))
        if text is not None:
            actions.append(position.text_to_action(text))
            position.play(actions[-1])
    if by_ply:
        raise ValueError(f"the game does not reach ply {next(iter(by_ply))}, which has a position")
    return found


def _read_results(position: Position, ply: int, worths: dict[str, Any]) -> dict[int, int]:
    results: dict[int, int] = {}
    where = f"the position at ply {ply}"
    for word, texts in worths.items():
        if word not in _RESULTS or not isinstance(texts, list):
            raise ValueError(
                f"{where} has {quoted(word)}: {quoted(texts, 40)}; accepted: a list of moves under "
                "win, draw or loss"
            )
        for text in texts:
            action = position.text_to_action(text)
            if action in results:
                raise ValueError(f"{where} has {quoted(text)} twice")
            results[action] = _RESULTS[word]
    if position.is_over or set(results) != set(position.legal_actions.tolist()):
        raise ValueError(f"{where} must give each legal action one value")
    return results


def find_exact_test(name: str | os.PathLike[str], game: Game) -> ExactTest:
    """A game's shipped test, called ``hard``, or a test in a file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: no test ships for the game with its options, or the file is not an exact test of
            it.
    """
    path = shipped_test(game) if name == HARD else Path(name)
    if path is None:
        raise ValueError(
            f"there is no hard test for {game}; make one with `ludarium accuracy AGENT --only-hard "
            "--by AGENT --save FILE`"
        )
    test = read_exact_test(path)
    if test.game != game:
        raise ValueError(f"the positions of {named(path)} are of {test.game}, not of {game}")
    return test


def shipped_test(game: Game) -> Path | None:
    """The file of the hard exact test that ships for a game with its options; None without one."""
    for path in sorted(Path(__file__).with_name("hard").glob(f"{game.name}*{_SUFFIX}")):
        with path.open("rb") as file:
            head = load_json(file.readline(), f"the first line of {path.name}", _Head)
        if head.options == dict(game.options) and head.version == game.version:
            return path
    return None
