"""Late positions out of played games, with the exact value of every legal action."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludarium.envs.engine.position import Position, contents_of
from ludarium.envs.engine.record import make_record
from ludarium.training.agents import Agent, RandomAgent

from ..answer import Answer, Value
from .solver import EndgameSolver

#: Default node limit for each position.
LIMIT = 1_000_000
#: Default number of random plies at the start of each game.
OPENING = 4

_PATIENCE = 100  # games in a row without a position that is wanted


@dataclass(frozen=True)
class LatePosition:
    """A position of a played game that was searched to the end.

    Attributes:
        position: the position.
        seed: of the start of the game.
        moves: texts of the actions played up to here.
        plies_to_end: plies that the game went on from here.
        actions: every legal action with what it is worth to the mover, the best first; all decided.
    """

    position: Position
    seed: int
    moves: tuple[str, ...]
    plies_to_end: int
    actions: dict[int, Answer]

    @property
    def value(self) -> Value:
        """The exact value for the player to move."""
        return Answer.best(self.actions.values()).low

    @property
    def best_actions(self) -> list[int]:
        """The actions that keep the exact value."""
        value = self.value
        return [action for action, answer in self.actions.items() if answer.low == value]

    def to_record(self) -> dict[str, Any]:
        """A game record, which ``ludarium.envs.from_record`` and ``probe --record`` read."""
        return make_record(self.position.game, self.seed, self.moves, self.position)


def exact_positions(
    solver: EndgameSolver,
    count: int,
    seed: int = 0,
    agent: Agent | None = None,
    *,
    opening: int = OPENING,
    limit: int = LIMIT,
    leads: bool = True,
    per_game: int = 1,
    only_choices: bool = False,
) -> Iterator[LatePosition]:
    """Play games and walk back from their ends as far as the positions can be decided.

    The same arguments give the same positions, if the solver has one thread.

    Args:
        solver: of the game; its table is emptied for each game played.
        count: of positions.
        seed: of everything drawn.
        agent: that plays both sides; random by default.
        opening: random plies at the start of each game, so that games differ.
        limit: positions to search for each position on the way back. The table keeps what the
            positions after it took.
        leads: find out by how much too, not only who wins, in games that have points.
        per_game: how many positions to take of a game: those farthest from its end, but the
            farthest first.
        only_choices: take only positions where the actions are not all worth the same.

    Yields:
        Positions, no two alike.

    Raises:
        ValueError: a number is out of range, or 100 games in a row yielded nothing.
    """
    if count < 0 or opening < 0 or per_game < 1:
        raise ValueError(
            f"count and opening are 0 or more, per_game is 1 or more, not {count}, {opening}, "
            f"{per_game}"
        )
    game = solver.game
    agent = RandomAgent(game) if agent is None else agent
    lots = np.random.default_rng(seed)
    seen: set[bytes] = set()
    fruitless = 0
    while len(seen) < count:
        start, agent_seed = (int(lot) for lot in lots.integers(1 << 32, size=2))
        agent.restart(agent_seed)
        solver.forget()
        found = _walk_back(solver, _play(agent, start, opening), start, limit, leads)
        wanted = [late for late in found if len(late.best_actions) < len(late.actions)]
        taken = 0
        for late in reversed(wanted if only_choices else found):
            content = contents_of(late.position.states[0])
            if content not in seen and taken < per_game and len(seen) < count:
                seen.add(content)
                taken += 1
                yield late
        fruitless = 0 if taken else fruitless + 1
        if fruitless == _PATIENCE:
            raise ValueError(
                f"{_PATIENCE} games in a row had no new position that {limit:,} positions decide: "
                "allow more, or choose another agent"
            )


def _play(agent: Agent, seed: int, opening: int) -> list[tuple[Position, int]]:
    """The positions of a game with the action played in each."""
    position = agent.game.start(seed)
    beginner = RandomAgent(agent.game, seed)
    played = []
    while not position.is_over:
        action = (beginner if position.ply < opening else agent).choose(position)
        played.append((position.copy(), action))
        position.play(action)
    return played


def _walk_back(
    solver: EndgameSolver,
    played: list[tuple[Position, int]],
    seed: int,
    limit: int,
    leads: bool,
) -> list[LatePosition]:
    """The positions of a game from the last one on, up to the first that is not decided."""
    moves = [position.action_to_text(action) for position, action in played]
    found: list[LatePosition] = []
    for ply in reversed(range(len(played))):
        position = played[ply][0]
        actions = solver.actions(position, limit, leads=leads)
        if not all(answer.is_decided for answer in actions.values()):
            break
        found.append(LatePosition(position, seed, tuple(moves[:ply]), len(played) - ply, actions))
    return found
