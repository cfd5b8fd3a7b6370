"""Accuracy: how often an agent's moves keep the exact value, how exact a network's values are.

Matches say which agent is stronger; exact values say how far an agent is from perfect play, with
far less noise. The positions come from played games. Osiron has a table of all positions. In the
other games the positions must be searched to the end, so they come from the last part of a game:
the second half of a game of Corso 5 x 5, the end of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position, contents_of
from ludarium.envs.engine.rule import ONGOING
from ludarium.training.agents import Agent, RandomAgent
from ludarium.training.evaluation.kernels import match as match_kernels
from ludarium.training.evaluation.openings import draw_openings
from ludarium.training.evaluation.statistics import wilson_interval

from .probing import solver_of
from .progress import Progress, Show
from .solution import ILLEGAL, TableSolution
from .solutions import table_of
from .solver import Solver

#: Node limit of the search for the results of one position's actions.
LIMIT = 200_000

_GAMES = 32  # games played in parallel
_PATIENCE = 50  # rounds of games in a row without a new position
_MEMORY = 1 << 28  # bytes of a solver's table


@dataclass(frozen=True)
class ExactTest:
    """N positions with the exact result of every action.

    Attributes:
        game: the rules.
        states: structured array [N] of ``game.state_dtype``, no two alike, none finished.
        results: int8 [N, A], the result of each action with best play after it: +1 a win of the
            player to move, 0 a draw, -1 a loss, `ILLEGAL` where it is not legal.
    """

    game: Game
    states: np.ndarray
    results: np.ndarray

    def __len__(self) -> int:
        return len(self.states)

    @property
    def values(self) -> np.ndarray:
        """int8 [N], the exact values for the player to move: +1, 0 or -1."""
        values: np.ndarray = self.results.max(axis=1)
        return values

    @property
    def keeping(self) -> np.ndarray:
        """bool [N, A], the actions that keep the value."""
        keeping: np.ndarray = self.results == self.values[:, None]
        return keeping

    @property
    def has_choice(self) -> np.ndarray:
        """bool [N], where some legal action loses value."""
        legal = self.results != ILLEGAL
        choice: np.ndarray = (legal & ~self.keeping).any(axis=1)
        return choice


def make_exact_test(
    game: Game,
    count: int,
    seed: int = 0,
    agent: Agent | None = None,
    *,
    opening_plies: int = 6,
    only_choices: bool = False,
    per_game: int = 4,
    limit: int = LIMIT,
    show: Show | None = None,
) -> ExactTest:
    """Positions of played games with exact results; the same arguments give the same positions.

    Args:
        game: the rules.
        count: number of positions.
        seed: of everything drawn.
        agent: plays both sides; random by default.
        opening_plies: games start with up to this many random plies, so that they differ.
        only_choices: take only positions where some action loses value.
        per_game: the most positions to take of one game, drawn from all that are known.
        limit: positions to search; see `LIMIT`. Games with a table of all values need none.
        show: called with the progress, in positions found; see `Show`.

    Raises:
        ValueError: a number is out of range, or no more positions are found.
    """
    if count < 1 or opening_plies < 0 or per_game < 1 or limit < 1:
        raise ValueError(
            "count, per_game and limit are 1 or more and opening_plies 0 or more, not "
            f"{count}, {per_game}, {limit} and {opening_plies}"
        )
    lots = np.random.default_rng(seed)
    agent = RandomAgent(game) if agent is None else agent
    agent.restart(int(lots.integers(1 << 32)))
    known = _known_results(game, limit)
    states, results = game.new_states(count), np.empty((count, game.num_actions), np.int8)
    seen: set[bytes] = set()
    fruitless = 0
    while len(seen) < count:
        before = len(seen)
        for played in _play_games(game, agent, opening_plies, lots):
            found = [
                (state, result)
                for state, result in known(played)
                if not only_choices or (result[result != ILLEGAL] < result.max()).any()
            ]
            for index in lots.permutation(len(found))[:per_game]:
                state, result = found[index]
                content = contents_of(state)
                if content not in seen and len(seen) < count:
                    states[len(seen)], results[len(seen)] = state, result
                    seen.add(content)
            if show is not None:
                show(Progress(len(seen), count))
        fruitless = 0 if len(seen) > before else fruitless + 1
        if fruitless == _PATIENCE:
            raise ValueError(
                f"{_PATIENCE * _GAMES} games of {agent.name} in a row had no new position; there "
                f"are {len(seen)}: ask for fewer, or allow more random opening plies"
            )
    return ExactTest(game, states, results)


#: The positions of a game, in order -> those whose results are known, with the results.
Known = Callable[[np.ndarray], Iterator[tuple[np.ndarray, np.ndarray]]]


def _known_results(game: Game, limit: int) -> Known:
    """The best source of exact results for a game."""
    table = table_of(game)
    if table is not None:
        return partial(_looked_up, table)
    return partial(_walk_back, solver_of(game, _MEMORY), limit)


def _looked_up(table: TableSolution, played: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    values = table.action_values(played)
    yield from zip(played, np.where(values == ILLEGAL, ILLEGAL, np.sign(values)), strict=True)


def _walk_back(
    solver: Solver, limit: int, played: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Solve positions from the last one backwards, until one has an undecided action."""
    for state in played[::-1]:
        position = Position.of_state(solver.game, state)
        results = np.full(solver.game.num_actions, ILLEGAL, np.int8)
        for action, answer in solver.actions(position, limit, leads=False).items():
            if answer.outcome is None:
                return
            results[action] = answer.outcome
        yield state, results


def _play_games(
    game: Game, agent: Agent, opening_plies: int, lots: np.random.Generator
) -> list[np.ndarray]:
    """Games from varied openings: for each the positions that were played on, in order."""
    play = specialise(match_kernels, game.rules).play
    states = np.concatenate(
        [
            draw_openings(game, 1, int(plies), int(lots.integers(1 << 32))).states
            for plies in lots.integers(opening_plies + 1, size=_GAMES)
        ]
    )
    played: list[list[np.ndarray]] = [[] for _ in states]
    while len(going := np.flatnonzero(states["outcome"] == ONGOING)):
        now = states[going]
        for index, state in zip(going, now.copy(), strict=True):
            played[index].append(state)
        play(game.tables, now, agent.actions(now), game.num_actions)
        states[going] = now
    return [np.array(positions, game.state_dtype) for positions in played]


@dataclass(frozen=True)
class Accuracy:
    """How many moves keep the exact value.

    Attributes:
        kept: moves that keep the value.
        positions: moves in all.
    """

    kept: int
    positions: int

    @property
    def share(self) -> float:
        """Fraction of the moves that keep the value; 1 if there are none."""
        return self.kept / self.positions if self.positions else 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share (Wilson's)."""
        return wilson_interval(self.kept, self.positions) if self.positions else (0.0, 1.0)


def moves_that_keep(agent: Agent, test: ExactTest) -> np.ndarray:
    """Whether the agent's move keeps the exact value, bool [N]."""
    actions = agent.actions(test.states)
    kept: np.ndarray = np.take_along_axis(test.keeping, actions[:, None], axis=1)[:, 0]
    return kept


def accuracy(kept: np.ndarray, among: np.ndarray | None = None) -> Accuracy:
    """Count the results of `moves_that_keep`, all or only ``among`` some positions (bool [N])."""
    some = kept if among is None else kept[among]
    return Accuracy(int(some.sum()), len(some))


@dataclass(frozen=True)
class CalibrationBin:
    """Positions with similar estimated values.

    Attributes:
        low, high: the estimates are from ``low`` on and below ``high``.
        positions: how many.
        estimated: mean estimate.
        exact: mean exact value; equal to ``estimated`` if the estimates are calibrated.
    """

    low: float
    high: float
    positions: int
    estimated: float
    exact: float


@dataclass(frozen=True)
class Calibration:
    """Estimated values beside exact ones.

    Attributes:
        error: mean absolute difference.
        calibration_error: mean absolute difference between means of the bins, weighted by their
            positions (expected calibration error, Naeini et al. 2015).
        correct_side: share of the won and lost positions whose estimate has the right sign.
        bins: those that have positions, in order.
    """

    error: float
    calibration_error: float
    correct_side: float
    bins: tuple[CalibrationBin, ...]


def calibrate(estimates: np.ndarray, exact: np.ndarray, bins: int = 10) -> Calibration:
    """Compare estimates with exact values.

    Args:
        estimates: float [N], in [-1, 1].
        exact: [N], +1, 0 or -1.
        bins: of equal width.

    Raises:
        ValueError: nothing to compare, or arrays that do not belong together.
    """
    if not len(estimates) or len(estimates) != len(exact) or bins < 1:
        raise ValueError(
            f"as many estimates as exact values, 1 or more, in 1 or more bins are needed, not "
            f"{len(estimates)}, {len(exact)} and {bins}"
        )
    truth = exact.astype(float)
    numbers = np.clip(np.floor((estimates + 1) / 2 * bins).astype(int), 0, bins - 1)
    edges = np.linspace(-1, 1, bins + 1)
    found = []
    for number in range(bins):
        inside = numbers == number
        if inside.any():
            found.append(
                CalibrationBin(
                    float(edges[number]),
                    float(edges[number + 1]),
                    int(inside.sum()),
                    float(estimates[inside].mean()),
                    float(truth[inside].mean()),
                )
            )
    decided = exact != 0
    right = np.sign(estimates[decided]) == exact[decided]
    return Calibration(
        error=float(np.abs(estimates - truth).mean()),
        calibration_error=sum(part.positions * abs(part.estimated - part.exact) for part in found)
        / len(estimates),
        correct_side=float(right.mean()) if decided.any() else 1.0,
        bins=tuple(found),
    )
