"""Texts of positions: each is read back and goes on alike, hostile ones are refused in a line.

    SURVIVAL_TIMES=100 python -m pytest --timeout 0 -s tests/survival/test_positions.py

goes through a million positions of random games of each game and option set, all positions of
Osiron and of Corso 3 x 3, and 10,000 hostile texts of each; by default through a hundredth of them.
It tells how far it is, and ends with a table. ``-k osiron`` chooses a game.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

from ludarium.analysis.osiron.colourings import all_colourings
from ludarium.envs import GAMES, Game, Position, make_game, make_raw
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.rule import seed_rng
from tests.games import CASES, random_game, slow_but

from . import round_trips
from .mutate import wrong_text
from .round_trips import memory
from .tiny import TIMES

POSITIONS = 10_000 * TIMES
TEXTS = 100 * TIMES
CHUNK = 5_000
PLIES = 3  # random moves after each position
SHIPPED = {name: case for name, case in CASES.items() if case[0].name in GAMES}


@pytest.fixture(scope="module", name="table")
def _table() -> Iterator[list[str]]:
    """Lines of the table that stands at the end."""
    lines: list[str] = []
    yield lines
    print("\n\n" + "\n".join(lines))


def _go_through(
    game: Game, chunks: Iterator[np.ndarray], table: list[str], title: str, deeper: bool = False
) -> int:
    """Write and read the positions; return how many these were."""
    kernels, room, rng = specialise(round_trips, game), memory(game), seed_rng(1)[0]
    done, begin = 0, time.monotonic()
    for states in chunks:
        count = kernels.count_alike(game.tables, states, room, rng, PLIES, deeper)
        if count < 0:
            text = Position.of_state(game, states[-1 - count : -count or None]).text
            pytest.fail(f"{title}: {text!r}, or a position after it, is not read back")
        done += count
        print(f"\r{title}: {done:,}", end="", flush=True)
    table.append(f"{title:50} {done:11,} positions {time.monotonic() - begin:7,.0f} s")
    return done


@pytest.mark.parametrize("case", slow_but(["corso"], SHIPPED))
def test_positions_of_random_games_are_read_back_and_go_on_alike(
    case: str, table: list[str]
) -> None:
    kind, options = SHIPPED[case]
    game, rng = kind(**options), seed_rng(2)[0]

    def chunks() -> Iterator[np.ndarray]:
        states = game.new_states(CHUNK)
        states[-1:] = game.start(2).states
        for _ in range(0, POSITIONS, CHUNK):
            specialise(round_trips, game).go_on(game.tables, states, rng, game.num_actions)
            yield states

    assert _go_through(game, chunks(), table, case) == POSITIONS


@pytest.mark.slow
def test_all_positions_of_a_small_board_are_read_back_and_go_on_alike(table: list[str]) -> None:
    game = make_game("corso", size=3)
    front = [game.start()]
    found = {}
    while front:
        position = front.pop()
        for action in [] if position.is_over else position.legal_actions.tolist():
            child = position.copy()
            child.play(action)
            key = child.states["cells"].tobytes(), child.mover
            if key not in found:
                found[key] = child.states
                front.append(child)
    states = np.concatenate([game.start().states, *found.values()])
    assert _go_through(game, iter([states]), table, "corso 3 x 3, all") == 11_612


@pytest.mark.slow
def test_all_positions_of_osiron_are_read_back_and_go_on_alike(table: list[str]) -> None:
    """All boards, which decide who is to move, and all positions one exchange after them.

    So every position that a game can reach is among them, with the pair that is forbidden.
    """
    game, colourings = make_game("osiron"), all_colourings()[:: max(1, 100 // TIMES)]
    kernels, room, boards = specialise(round_trips, game), memory(game), 0

    def chunks() -> Iterator[np.ndarray]:
        nonlocal boards
        states = game.new_states(2 * CHUNK)
        for first in range(0, len(colourings), CHUNK):
            light = colourings[first : first + CHUNK, None] >> np.arange(24) & 1
            count = kernels.read_boards(game.tables, states, room, (2 - light).astype(np.int8))
            boards += count
            yield states[:count]

    _go_through(game, chunks(), table, "osiron, all", deeper=True)
    assert boards == len(colourings)


@pytest.mark.parametrize("case", slow_but(["corso"], SHIPPED))
def test_hostile_texts_are_refused_in_a_line_or_lead_to_positions_that_are_read_back(
    case: str, table: list[str]
) -> None:
    kind, options = SHIPPED[case]
    env, rng, refused = make_raw(kind.name, **options), random.Random(case), 0
    env.reset(1)
    game, before = env.game, env.position
    texts = [position.text for position, _ in islice(random_game(game, 3), 0, 120, 2)]

    def accepted() -> Iterator[np.ndarray]:
        nonlocal refused
        for _ in range(TEXTS):
            text, why = wrong_text(texts, rng), ""
            try:
                found = Position.from_text(game, text)
            except ValueError as error:
                why = str(error)
            if why:
                refused += 1
                assert f" is no position of {game.name}: " in why
                assert why.isprintable()
                assert len(why) <= 400
                with pytest.raises(ValueError, match="is no position of"):
                    env.reset(1, {"position": text})
                assert env.position == before
                continue
            assert Position.from_text(game, found.text).text == found.text
            reached = [found.states]
            while not found.is_over:
                found.play(rng.choice(found.legal_actions.tolist()))
                reached.append(found.states)
            yield np.concatenate(reached)

    _go_through(game, accepted(), table, f"{case}, after hostile texts")
    table.append(f"{case:50} {TEXTS:11,} texts, {refused:,} refused")
