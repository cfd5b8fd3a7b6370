"""What a player is worth: a rating on the ladder of a game's levels, and exact positions.

Both take any agent, and keep nothing: a journal does. The games and questions follow from the seed
and from what the player says, so a player whose answers are in a journal goes on where it stopped.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ludarium.analysis.accuracy import moves_that_keep
from ludarium.analysis.exact_tests import ExactTest, make_exact_test, read_exact_test, shipped_test
from ludarium.analysis.probing import prober_of
from ludarium.analysis.thinking import default_agent
from ludarium.arena.ladder import find_ladder
from ludarium.base.numbers import derived_seed
from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.agents import RESIGN, Agent, GameInPlay
from ludarium.training.evaluation import (
    Games,
    IntervalEstimate,
    MatchResult,
    fit_ratings,
    play_match,
)
from ludarium.training.evaluation.match import check_games
from ludarium.training.evaluation.statistics import mean, wilson
from ludarium.training.exact_values import ValueBounds

from .agent import Decision

#: Most games that are played side by side against one opponent, two from each opening.
ROUND = 4
#: Games before which no rating is known well enough, see `Rated.is_within`.
FEWEST_GAMES = 3 * ROUND
#: A move that loses this much value or more is a mistake; values are from -1 to 1.
MISTAKE = 0.5
#: Names of the thirds of a game.
PHASES = ("opening", "middle", "end")

_NODES = 20_000  # positions that are searched for the exact values of a position's moves
_MEMORY = 1 << 24  # bytes of that search's table
_PORTION = 20  # exact positions between reports of progress


def ladder_of(game: Game) -> dict[str, float]:
    """The opponents of a game, random play and its levels, by name, with their Elo points.

    Raises:
        FileNotFoundError: the game has no levels with these options.
        ValueError: their file is damaged.
    """
    levels = enumerate(find_ladder(game).levels, 1)
    return {"random": 0.0} | {f"level:{number}": each.rating.value for number, each in levels}


@dataclass
class Rated:
    """A player's games against opponents of a ladder, and its rating after them.

    Attributes:
        game: the rules.
        elo: the opponents' Elo points by name, the weakest first.
        opponents, rounds: the opponent of each round, and its games.
        decisions: what the player said in each round; nothing if it is no language model.
    """

    game: Game
    elo: dict[str, float]
    opponents: list[str] = field(default_factory=list)
    rounds: list[Games] = field(default_factory=list)
    decisions: list[list[Decision]] = field(default_factory=list)

    @property
    def games(self) -> int:
        """How many games were played."""
        return sum(map(len, self.rounds))

    @property
    def results(self) -> dict[str, MatchResult]:
        """The player's results by opponent, the weakest first."""
        found = dict.fromkeys(self.elo, MatchResult())
        for name, games in zip(self.opponents, self.rounds, strict=True):
            found[name] += games.result
        return {name: result for name, result in found.items() if result.games}

    @property
    def rating(self) -> IntervalEstimate:
        """The rating in Elo points, after one game or more; random play has 0."""
        met = [("", name, result) for name, result in self.results.items()]
        return fit_ratings(met, self.elo)[""]

    def is_within(self, elo: float) -> bool:
        """Whether `FEWEST_GAMES` were played, and tell the rating to plus or minus ``elo``."""
        rating = self.rating
        return self.games >= FEWEST_GAMES and rating.high - rating.low <= 2 * elo


def rate(
    agent: Agent, within: float, most: int, seed: int = 1, progress: Progress = SILENT
) -> Rated:
    """Rate a player: each round is against the opponent whose rating is nearest to its own so far.

    The first round is against the opponent in the middle of the ladder.

    Args:
        agent: the player.
        within: it ends when half the 95 % interval is at most this many Elo points, not before
            `FEWEST_GAMES`.
        most: or after so many games, an even number.
        seed: seed of openings and opponents.
        progress: counts the games.

    Raises:
        FileNotFoundError: the game has no levels with these options.
        ValueError: ``most`` is not a positive even number; or the player fails, such as by an
            `EndpointError`.
        StorageError: the journal of the player's answers cannot be written.
        StoppedError: ``progress`` was stopped.
    """
    rated = Rated(agent.game, ladder_of(agent.game))
    elo = sorted(rated.elo.values())[len(rated.elo) // 2]
    progress.begin(f"{agent.name} on the ladder", check_games(most, "most"))
    while rated.games < most and not (rated.rounds and rated.is_within(within)):
        name = min(rated.elo, key=lambda name: abs(rated.elo[name] - elo))
        progress.advance(0, f"against {name}")
        drawn = derived_seed(seed, len(rated.rounds))
        rated.opponents.append(name)
        games = min(ROUND, most - rated.games)
        rated.rounds.append(play_match(agent.game, agent, name, games, drawn, progress=progress))
        rated.decisions.append(sorted_decisions(agent))
        elo = rated.rating.value
    return rated


def sorted_decisions(agent: Agent) -> list[Decision]:
    """What a language model has said since its restart, in order; nothing for other agents."""
    found: list[Decision] = getattr(agent, "decisions", [])
    return sorted(found, key=lambda each: (each.game, each.ply))


@dataclass(frozen=True)
class Loss:
    """How much value a move lost.

    Attributes:
        game: number of the game, over all rounds.
        ply: actions before the move.
        phase: 0, 1 or 2, the third of the game, see `PHASES`.
        value: the loss, 0 to 2; 2 turns a win into a loss.
        exact: whether it is proven.
    """

    game: int
    ply: int
    phase: int
    value: float
    exact: bool


def losses(rated: Rated, progress: Progress = SILENT) -> list[Loss]:
    """What each of the player's moves lost: exactly if a table or search tells, else as estimated.

    Estimates are those of `default_agent`. A player who resigns loses what the position was worth
    by an estimate, as if by a move.
    """
    game = rated.game
    prober, judge = prober_of(game, _MEMORY), default_agent(game)
    found: list[Loss] = []
    first = 0
    progress.begin("value of moves", rated.games)
    for games in rated.rounds:
        for number in range(len(games)):
            judge.restart(number)
            seat, plies = int(games.seats[number]), int(games.plies[number])
            position = game.start(int(games.seeds[number]))
            for ply, action in enumerate(games.moves(number)):
                if position.mover == seat and ply >= games.opening_plies[number]:
                    answers = prober.actions(position, _NODES, leads=False)
                    value = _proven(answers, action)
                    exact = value is not None
                    if value is None:
                        value = _estimated(judge, position, action)
                    phase = 3 * ply // plies
                    found.append(Loss(first + number, ply, phase, value, exact))
                position.play(action)
            if not position.is_over and position.mover == seat:  # it has resigned
                value = float(judge.search(position.states).values[0]) + 1
                found.append(Loss(first + number, plies, len(PHASES) - 1, value, False))
            progress.advance()
        first += len(games)
    return found


def _proven(answers: Mapping[int, ValueBounds], action: int) -> float | None:
    """What an action loses by proven values; None if they do not tell."""
    known = [each.outcome for each in answers.values() if each.outcome is not None]
    got = answers[action].outcome
    if got is None or not (1 in known or len(known) == len(answers)):
        return None
    return float(max(known) - got)


def _estimated(judge: Agent, position: Position, action: int) -> float:
    """What an action loses by the values of a search, before it and after it."""
    after = position.copy()
    after.play(action)
    value = float(judge.search(position.states).values[0])
    if after.is_over:
        return max(0.0, value - after.rewards[position.mover])
    left = float(judge.search(after.states).values[0])
    return max(0.0, value - (left if after.mover == position.mover else -left))


def mistakes(found: Iterable[Loss], games: int) -> dict[str, Any]:
    """Mean loss by phase, and where the first mistake of each game was, as JSON values.

    Args:
        found: the losses.
        games: how many games they are from, those without any loss included.

    Returns:
        ``loss`` has the mean of each of `PHASES` with a move, and ``exact``, how many are proven.
        ``games_without_mistake`` is a count. ``first_mistake`` has ``plies``, the plies, from 1, of
        the first mistakes of those games that have one, and their median, ``median_ply``; None if
        no game has one.
    """
    found = list(found)
    phases = {}
    for number, phase in enumerate(PHASES):
        values = [each.value for each in found if each.phase == number]
        proven = sum(each.exact for each in found if each.phase == number)
        if values:
            phases[phase] = {**mean(np.array(values)).to_dict(), "exact": proven}
    first: dict[int, int] = {}
    for each in found:
        if each.value >= MISTAKE:
            first.setdefault(each.game, each.ply + 1)
    moves = sorted(first.values())
    return {
        "loss": phases,
        "games_without_mistake": games - len(first),
        "first_mistake": {"median_ply": float(np.median(moves)), "plies": moves} if moves else None,
    }


@dataclass(frozen=True)
class Asked:
    """Exact positions that a player was asked, and the actions it chose, int64 [N].

    ``name`` is the set's, and ``decisions`` are what a language model said.
    """

    name: str
    test: ExactTest
    actions: np.ndarray
    decisions: Sequence[Decision]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: the shares of moves, and of random ones, that keep the value, and so on.

        ``value_lost`` is the mean loss, 0 to 2; to resign is to lose.
        """
        kept, keeping = moves_that_keep(self.actions, self.test), self.test.optimal_mask
        chance = keeping.sum(axis=1) / (self.test.results >= -1).sum(axis=1)  # of the legal actions
        rows, said = np.arange(len(kept)), self.actions != RESIGN
        got = np.where(said, self.test.results[rows, self.actions], -1)
        return {
            "set": self.name,
            "made": self.test.made,
            "positions": len(kept),
            "kept": wilson(int(kept.sum()), len(kept)).to_dict(),
            "kept_by_random_play": float(chance.mean()),
            "value_lost": mean((self.test.values - got).astype(float)).to_dict(),
            "first_plies": int(self.test.states["ply"].min()),
        }


def exact_sets(
    game: Game, count: int, seed: int, progress: Progress = SILENT
) -> dict[str, ExactTest]:
    """Half of the positions from the fixed set that ships, if one does; the others fresh.

    Args:
        game: the rules.
        count: how many positions, 1 or more.
        seed: seed of the fresh ones.
        progress: counts the fresh ones.

    Returns:
        The tests by name: ``fixed``, unless none ships or ``count`` is 1, and ``fresh``.

    Raises:
        ValueError: see `make_exact_test`.
    """
    found, path = {}, shipped_test(game)
    if path is not None and count > 1:
        whole = read_exact_test(path)
        order = np.sort(np.random.default_rng(0).permutation(len(whole))[: count // 2])
        positions = tuple(whole.positions[number] for number in order.tolist())
        found["fixed"] = ExactTest(game, positions, {**whole.made, "file": path.name})
    rest = count - sum(map(len, found.values()))
    found["fresh"] = make_exact_test(game, rest, seed, only_choices=True, progress=progress)
    return found


def ask_positions(agent: Agent, name: str, test: ExactTest, progress: Progress = SILENT) -> Asked:
    """Ask a player for its move in each position of a test.

    Args:
        agent: the player, which is restarted.
        name: the set's name.
        test: the positions.
        progress: counts them.

    Raises:
        ValueError: the player fails, such as by an `EndpointError`.
        StorageError: the journal of the player's answers cannot be written.
        StoppedError: ``progress`` was stopped.
    """
    agent.restart(0)
    states, actions = test.states.copy(), np.full(len(test), RESIGN, np.int64)
    games = [
        GameInPlay(test.game, number, each.position.mover, each.seed, states, list(each.actions))
        for number, each in enumerate(test.positions)
    ]
    progress.begin(f"{name} positions", len(test))
    agent.begin(games)
    try:
        for begin in range(0, len(test), _PORTION):
            progress.check()
            portion = slice(begin, begin + _PORTION)
            actions[portion] = agent.play(games[portion], states[portion])
            progress.advance(len(games[portion]))
    finally:
        agent.finish(games)
    return Asked(name, test, actions, sorted_decisions(agent))


def answers_in_all(
    decisions: Sequence[Decision], prices: tuple[float, float] | None = None
) -> dict[str, Any] | None:
    """Faults, tokens, cost and time of all answers, as JSON values; None if there are none.

    Args:
        decisions: what the model said.
        prices: of a million input and output tokens, for answers of which the endpoint names no
            cost; without them ``cost`` is None if there is such an answer.
    """
    answers = [answer for each in decisions for answer in each.answers]
    if not answers:
        return None
    asked, answered = prices or (math.nan, math.nan)
    cost = sum(
        (each.input_tokens * asked + each.output_tokens * answered) / 1e6
        if each.cost is None
        else each.cost
        for each in answers
    )
    faults = Counter(fault for each in decisions for fault in each.faults if fault)
    wrong = sum(bool(each.faults[0]) for each in decisions)
    return {
        "decisions": len(decisions),
        "answers": len(answers),
        "first_answer_wrong": wilson(wrong, len(decisions)).to_dict(),
        "faults": dict(faults),
        "resigned": sum(each.action == RESIGN for each in decisions),
        "input_tokens": sum(each.input_tokens for each in answers),
        "output_tokens": sum(each.output_tokens for each in answers),
        "cost": None if math.isnan(cost) else round(cost, 6),
        "seconds": round(sum(each.seconds for each in answers), 3),
    }
