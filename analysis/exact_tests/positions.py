"""`ExactTest`: positions with the exact value of every action; `make_exact_test` finds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ludarium.base.numbers import checked_flag, checked_whole
from ludarium.base.progress import UNWATCHED, Task
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.envs.engine.position import Position, contents_of
from ludarium.envs.engine.rule import ONGOING
from ludarium.training.agents import Agent, RandomAgent
from ludarium.training.evaluation.kernels import match as match_kernels
from ludarium.training.evaluation.openings import draw_openings

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
class Origin:
    """How a position arose.

    Attributes:
        seed: seed of the game's start; it matters where the start is random.
        actions: the actions played from the start.
    """

    seed: int
    actions: tuple[int, ...]

    def continues(self, earlier: Origin) -> bool:
        """Whether the game of this position begins like that of the earlier one."""
        return self.seed == earlier.seed and self.actions[: len(earlier.actions)] == earlier.actions


@dataclass(frozen=True)
class ExactPosition:
    """One position whose values are known.

    Attributes:
        position: the position, not finished.
        origin: how it arose.
        results: result of each legal action for the player to move: +1 a win, 0 a draw, -1 a
            loss.
    """

    position: Position
    origin: Origin
    results: dict[int, int]

    @property
    def keeping(self) -> list[int]:
        """The actions that keep the value."""
        best = max(self.results.values())
        return [action for action, result in self.results.items() if result == best]

    @property
    def has_choice(self) -> bool:
        """Whether some legal action loses value."""
        return len(self.keeping) < len(self.results)

    @property
    def is_hard(self) -> bool:
        """Whether few actions keep the value, none wins at once, and some loss is not seen at once.

        See ``only_hard`` of `make_exact_test`.
        """
        keeping = self.keeping
        if len(keeping) > FEW * len(self.results):
            return False
        is_won = self.results[keeping[0]] == 1
        if is_won and any(after(self.position, action).is_over for action in keeping):
            return False
        wrong = self.results.keys() - set(keeping)
        return any(not _is_refuted_at_once(self.position, action) for action in wrong)


@dataclass(frozen=True)
class ExactTest:
    """N positions with the exact result of every action.

    Attributes:
        game: the rules.
        states: structured array [N] of ``game.state_dtype``, no two alike, none finished.
        results: int8 [N, A], the result of each action with best play after it: +1 a win of the
            player to move, 0 a draw, -1 a loss, `ILLEGAL` where it is not legal.
        origins: how each position arose.
        made: how the test was made, for people: whose games, the seed, the selection.
    """

    game: Game
    states: np.ndarray
    results: np.ndarray
    origins: tuple[Origin, ...]
    made: dict[str, Any]

    @classmethod
    def of(cls, game: Game, found: Sequence[ExactPosition], made: dict[str, Any]) -> ExactTest:
        """A test of these positions."""
        states = game.new_states(len(found))
        results = np.full((len(found), game.num_actions), ILLEGAL, np.int8)
        for index, each in enumerate(found):
            states[index] = each.position.states[0]
            results[index, list(each.results)] = list(each.results.values())
        return cls(game, states, results, tuple(each.origin for each in found), made)

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
        """bool [N], whether some legal action loses value."""
        legal = self.results != ILLEGAL
        choice: np.ndarray = (legal & ~self.keeping).any(axis=1)
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
    task: Task = UNWATCHED,
) -> ExactTest:
    """Positions of played games with exact results; the same arguments give the same positions.

    Games start with up to 6 random plies, so that they differ, and at most 4 positions are taken
    from each, drawn from all that qualify.

    Args:
        game: the rules.
        count: number of positions, at most `MOST_POSITIONS`.
        seed: the seed of everything drawn.
        agent: plays both sides; random by default.
        only_choices: take only positions where some action loses value.
        only_hard: take only hard positions: at most a share `FEW` of the legal actions keeps the
            value, none of them wins at once, and at least one of the others neither ends the
            game nor lets a reply win at once.
        limit: node limit for the actions of one position; without effect in games with a table
            of all values.
        task: task that counts the positions found.

    Raises:
        ValueError: a number is out of range, or too few positions are found.
    """
    count = checked_whole("positions", count, 1, MOST_POSITIONS)
    limit = checked_whole("limit", limit, 1)
    only_choices = checked_flag("only_choices", only_choices)
    only_hard = checked_flag("only_hard", only_hard)
    rng = np.random.default_rng(seed)
    agent = RandomAgent(game) if agent is None else agent
    agent.restart(int(rng.integers(1 << 32)))
    task.begin("positions with exact results", count)
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
                task.advance()
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
    return ExactTest.of(game, list(found.values()), made)


def exact_positions(
    game: Game, agent: Agent, rng: np.random.Generator, limit: int = LIMIT
) -> Iterator[list[ExactPosition]]:
    """The positions with exact results of each game of an agent with itself, without end.

    Arguments as for `make_exact_test`.
    """
    known = _known_results(game, limit)
    while True:
        for played in _play_games(game, agent, rng):
            yield list(known(played))


def _is_refuted_at_once(position: Position, action: int) -> bool:
    """Whether the game is over after a wrong action, or the reply to it wins at once."""
    child = after(position, action)
    if child.is_over:
        return True
    ends = (after(child, reply) for reply in child.legal_actions.tolist())
    return any(end.is_over and end.rewards[child.mover] > 0 for end in ends)


#: A played game: its origin, with all actions, and the positions in which the agent chose those
#: after the opening.
_Played = tuple[Origin, np.ndarray]
#: Maps a played game to those of its positions whose results are known.
_Known = Callable[[_Played], Iterator[ExactPosition]]


def _known_results(game: Game, limit: int) -> _Known:
    """The best source of exact results for a game."""
    table = table_of(game)
    if table is not None:
        return partial(_looked_up, table)
    return partial(_walk_back, solver_of(game, _MEMORY), limit)


def _looked_up(table: TableSolution, played: _Played) -> Iterator[ExactPosition]:
    origin, states = played
    first = len(origin.actions) - len(states)
    known = np.flatnonzero(table.knows(states))
    for index, values in zip(known.tolist(), table.action_values(states[known]), strict=True):
        legal = np.flatnonzero(values != ILLEGAL)
        results = {action: int(np.sign(values[action])) for action in legal.tolist()}
        position = Position.of_state(table.game, states[index])
        yield ExactPosition(position, _until(origin, first + index), results)


def _walk_back(solver: Solver, limit: int, played: _Played) -> Iterator[ExactPosition]:
    """Solve positions backwards from the last one, until one has an undecided action."""
    origin, states = played
    first = len(origin.actions) - len(states)
    for index in reversed(range(len(states))):
        position = Position.of_state(solver.game, states[index])
        answers = solver.actions(position, limit, leads=False)
        if not all(answer.is_decided for answer in answers.values()):
            return
        results = {action: answer.low.outcome for action, answer in answers.items()}
        yield ExactPosition(position, _until(origin, first + index), results)


def _until(origin: Origin, plies: int) -> Origin:
    return Origin(origin.seed, origin.actions[:plies])


def _play_games(game: Game, agent: Agent, rng: np.random.Generator) -> list[_Played]:
    """Play games from random openings; return them with the positions in which the agent moved."""
    play = specialise(match_kernels, game).play
    openings = [
        draw_openings(game, 1, int(plies), int(rng.integers(1 << 32)))
        for plies in rng.integers(_OPENING_PLIES + 1, size=_GAMES)
    ]
    states = np.concatenate([opening.states for opening in openings])
    actions = [list(opening.actions[0]) for opening in openings]
    seeds = [opening.seeds[0] if game.random_start else 0 for opening in openings]
    positions: list[list[np.ndarray]] = [[] for _ in states]
    handles = [
        GameInPlay(game, number, seat, seeds[number], states, actions[number])
        for number in range(len(states))
        for seat in (0, 1)
    ]
    agent.begin(handles)
    while len(going := np.flatnonzero(states["outcome"] == ONGOING)):
        now = states[going]
        movers = 2 * going + now["mover"]
        chosen = agent.play([handles[number] for number in movers.tolist()], now)
        for index, state, action in zip(going, now.copy(), chosen.tolist(), strict=True):
            positions[index].append(state)
            actions[index].append(action)
        if play(game.tables, now, chosen, game.num_actions) >= 0:
            raise ValueError(f"agent {agent.name} chose an action that is not legal, or resigned")
        states[going] = now
    agent.finish(handles)
    return [
        (Origin(seed, tuple(played)), np.array(each, game.state_dtype))
        for seed, played, each in zip(seeds, actions, positions, strict=True)
    ]
