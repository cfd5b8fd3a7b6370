"""`ExactTest`: positions with the exact value of every action; `make_exact_test` finds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ludarium.base.numbers import checked_flag, checked_whole
from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position, contents_of
from ludarium.training.agents import Agent, RandomAgent
from ludarium.training.evaluation.match import play_games
from ludarium.training.evaluation.openings import Openings, draw_openings
from ludarium.training.exact_values import ValueBounds

from ..probing import solver_of
from ..solution import ILLEGAL, TableSolution
from ..solutions import table_of
from ..solver import Solver, after

#: Node limit for finding the values of one position's actions.
LIMIT = 200_000
#: Most positions of an exact test, since most games search each to the end.
MOST_POSITIONS = 1_000_000
#: In a hard position at most this share of the legal actions keeps the value.
FEW = 0.2

_GAMES = 32  # games played in parallel
_OPENING_PLIES = 6  # most random plies at the start of a game
_PER_GAME = 4  # most positions of one game
_PATIENCE = 50  # rounds of games in a row without a new position
_MEMORY = 1 << 28  # bytes of a solver's table


@dataclass(frozen=True)
class ExactPosition:
    """One position whose values are known, and how it arose.

    Attributes:
        position: the position, not finished.
        seed: seed of the game's start; it matters where the start is random.
        actions: the actions played from the start.
        results: result of each legal action for the player to move: +1 a win, 0 a draw, -1 a
            loss.
    """

    position: Position
    seed: int
    actions: tuple[int, ...]
    results: dict[int, int]

    def continues(self, earlier: ExactPosition) -> bool:
        """Whether the game of this position begins like that of the earlier one."""
        played = self.actions[: len(earlier.actions)]
        return (self.seed, played) == (earlier.seed, earlier.actions)

    @property
    def optimal(self) -> list[int]:
        """The actions that keep the value."""
        best = max(self.results.values())
        return [action for action, result in self.results.items() if result == best]

    @property
    def has_choice(self) -> bool:
        """Whether some legal action loses value."""
        return len(self.optimal) < len(self.results)

    @property
    def is_hard(self) -> bool:
        """Whether few actions keep the value, none wins at once, and some loss is not seen at once.

        See ``only_hard`` of `make_exact_test`.
        """
        optimal = self.optimal
        if len(optimal) > FEW * len(self.results):
            return False
        is_won = self.results[optimal[0]] == 1
        if is_won and any(after(self.position, action).is_over for action in optimal):
            return False
        wrong = self.results.keys() - set(optimal)
        return any(not _is_refuted_at_once(self.position, action) for action in wrong)


@dataclass(frozen=True, eq=False)
class ExactTest:
    """N positions with the exact result of every action.

    Attributes:
        game: the rules.
        positions: the positions, no two alike.
        made: how the test was made, for people: whose games, the seed, the selection.
    """

    game: Game
    positions: tuple[ExactPosition, ...]
    made: dict[str, Any]

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def states(self) -> np.ndarray:
        """The positions, structured array [N] of ``game.state_dtype``."""
        states = self.game.new_states(len(self))
        for index, each in enumerate(self.positions):
            states[index] = each.position.states[0]
        return states

    @cached_property
    def results(self) -> np.ndarray:
        """The result of each action with best play after it, for the player to move, int8 [N, A].

        +1 a win, 0 a draw, -1 a loss, `ILLEGAL` where it is not legal.
        """
        results = np.full((len(self), self.game.num_actions), ILLEGAL, np.int8)
        for index, each in enumerate(self.positions):
            results[index, list(each.results)] = list(each.results.values())
        return results

    @property
    def values(self) -> np.ndarray:
        """int8 [N], the exact values for the player to move: +1, 0 or -1."""
        values: np.ndarray = self.results.max(axis=1)
        return values

    @property
    def optimal_mask(self) -> np.ndarray:
        """bool [N, A], the actions that keep the value."""
        mask: np.ndarray = self.results == self.values[:, None]
        return mask

    @property
    def has_choice(self) -> np.ndarray:
        """bool [N], whether some legal action loses value."""
        legal = self.results != ILLEGAL
        choice: np.ndarray = (legal & ~self.optimal_mask).any(axis=1)
        return choice


def make_exact_test(
    game: Game,
    count: int,
    seed: int = 0,
    agent: Agent | None = None,
    *,
    only_choices: bool = False,
    only_hard: bool = False,
    limit: int = LIMIT,
    progress: Progress = SILENT,
) -> ExactTest:
    """Positions of played games with exact results; the same arguments give the same positions.

    That needs an agent whose moves follow from its seed. The agent is restarted. Games start with
    up to 6 random plies, so that they differ, and at most 4 positions are taken from each, drawn
    from all that qualify.

    Args:
        game: the rules.
        count: number of positions, at most `MOST_POSITIONS`.
        seed: the seed of everything drawn.
        agent: plays both sides; random by default.
        only_choices: take only positions where some action loses value.
        only_hard: take only hard positions: at most a share `FEW` of the legal actions keeps the
            value, none of them wins at once, and at least one of the others neither ends the
            game nor lets a reply win at once.
        limit: node limit for the actions of one position; without effect in games with a table.
        progress: counts the positions found.

    Raises:
        ValueError: a number is out of range, the agent plays another game or fails, or too few
            positions are found; or see `table_of` and `solver_of`.
    """
    count = checked_whole("positions", count, 1, MOST_POSITIONS)
    limit = checked_whole("limit", limit, 1)
    only_choices = checked_flag("only_choices", only_choices)
    only_hard = checked_flag("only_hard", only_hard)
    rng = np.random.default_rng(seed)
    agent = RandomAgent(game) if agent is None else agent
    agent.restart(int(rng.integers(1 << 32)))
    progress.begin("positions with exact results", count)
    found: dict[bytes, ExactPosition] = {}
    fruitless = 0
    for each_game in exact_positions(game, agent, rng, limit):
        before = len(found)
        wanted = [
            each
            for each in each_game
            if (not only_choices or each.has_choice) and (not only_hard or each.is_hard)
        ]
        for index in rng.permutation(len(wanted))[:_PER_GAME]:
            content = contents_of(wanted[index].position.states[0])
            if content not in found and len(found) < count:
                found[content] = wanted[index]
                progress.advance()
        if len(found) == count:
            break
        fruitless = 0 if len(found) > before else fruitless + 1
        if fruitless == _PATIENCE * _GAMES:
            raise ValueError(
                f"{fruitless} games of {agent.name} in a row had no new position of the kind "
                f"asked for; {len(found)} were found: ask for fewer, or for another kind"
            )
    made = {
        "games_of": agent.name,
        "seed": seed,
        "opening_plies": _OPENING_PLIES,
        "positions": "hard" if only_hard else "choices" if only_choices else "all",
        "per_game": _PER_GAME,
        "limit": limit,
    }
    return ExactTest(game, tuple(found.values()), made)


def exact_positions(
    game: Game, agent: Agent, rng: np.random.Generator, limit: int = LIMIT
) -> Iterator[list[ExactPosition]]:
    """The positions with exact results of each game of an agent with itself, without end.

    The generator ``rng`` draws the openings; other arguments and errors as for `make_exact_test`.
    """
    known = _known_results(game, limit)
    while True:
        openings = [
            draw_openings(game, 1, int(plies), int(rng.integers(1 << 32)))
            for plies in rng.integers(_OPENING_PLIES + 1, size=_GAMES)
        ]
        played = play_games(game, (agent, agent), Openings.joined(openings))
        for number, states in enumerate(played.decisions()):
            seed, actions = int(played.seeds[number]), played.moves(number)
            yield [
                ExactPosition(
                    Position.of_state(game, states[index]),
                    seed,
                    tuple(actions[: len(actions) - len(states) + index]),
                    results,
                )
                for index, results in known(states)
            ]


def _is_refuted_at_once(position: Position, action: int) -> bool:
    """Whether the game is over after a wrong action, or a reply to it wins at once."""
    child = after(position, action)
    if child.is_over:
        return True
    ends = (after(child, reply) for reply in child.legal_actions.tolist())
    return any(end.is_over and end.rewards[child.mover] > 0 for end in ends)


#: Finds results of actions in a game's positions, structured [P] in the order of play: the index
#: of a position, with the result of each legal action there.
_Known = Callable[[np.ndarray], Iterator[tuple[int, dict[int, int]]]]


def _known_results(game: Game, limit: int) -> _Known:
    """The best source of exact results for a game."""
    table = table_of(game)
    if table is not None:
        return partial(_looked_up, table)
    return partial(_walk_back, solver_of(game, _MEMORY), limit)


def _looked_up(table: TableSolution, states: np.ndarray) -> Iterator[tuple[int, dict[int, int]]]:
    known = np.flatnonzero(table.knows(states))
    for index, values in zip(known.tolist(), table.action_values(states[known]), strict=True):
        legal = np.flatnonzero(values != ILLEGAL)
        yield index, {action: int(np.sign(values[action])) for action in legal.tolist()}


def _walk_back(
    solver: Solver, limit: int, states: np.ndarray
) -> Iterator[tuple[int, dict[int, int]]]:
    """Solve positions backwards from the last one, until one has an undecided action."""
    for index in reversed(range(len(states))):
        position = Position.of_state(solver.game, states[index])
        outcomes = ValueBounds.outcomes(solver.actions(position, limit, leads=False))
        if outcomes is None:
            return
        yield index, outcomes
