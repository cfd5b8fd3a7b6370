"""Measures a ladder of levels from scratch: even steps of strength along the path of `params_at`.

A survey rates points of the path by matches between neighbours. The first level is placed where it
scores 60 % against random play. Then levels are placed from the strongest down: each next one where
the survey, corrected by all matches against the level above, predicts the wanted step. A
match then measures the step; if its score is not near the target, the level moves and is measured
again. Unless a number of levels is asked for, at last the second level goes if it is too near to
the first, or another comes between them if it is too far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from ludarium.base.messages import quoted
from ludarium.base.numbers import checked_whole, derived_seed
from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.game import Game
from ludarium.training.agents import Agent, RandomAgent
from ludarium.training.evaluation import MatchResult, elo_difference, expected_score, play_match
from ludarium.training.evaluation.statistics import ELO

from .ladder import RANDOM_STRENGTH, Ladder, LevelMatch, Scale, rate_levels
from .level import LevelAgent
from .level_params import params_at, strongest

if TYPE_CHECKING:
    from ludarium.models.inference import Network

#: Target score of each level against the one below.
TARGET_SCORE = 0.65
#: A measured score may be off by this much before the level is moved.
_TOLERANCE = 0.04
#: The same tolerance for the first level against random play.
_FIRST_TOLERANCE = 0.025
#: If the score after half a match is off by more, the other half is played only in the last try.
_FAR_OFF = 0.075
#: If the lowest step's score is off its target by more, a level is removed or added there, and an
#: added one is tried again while either of its steps is.
_UNEVEN = 0.05
_MOST_SCORE = 0.9  # higher scores count as this when a step is halved
#: Target score of the first level against random play, such that beginners can win.
FIRST_SCORE = 0.6
_FIRST_ELO = elo_difference(FIRST_SCORE)
_FEWEST_LEVELS = 8
_LOWEST_SURVEYED = -1.0
_MOST_TRIES = 8
#: Standard deviation of the error of a surveyed step, in Elo points.
_SURVEY_SPREAD = 60.0
_LEAST_SLOPE = 5.0  # Elo points per unit of strength, so that every rating has one strength
_TOO_WEAK = "the agent is hardly stronger than random play: there is no room for levels between"


@dataclass
class MatchRunner:
    """Two players with adjustable strength, which play matches against each other.

    Attributes:
        game: the rules.
        network: the network that plays, which fits the game.
        simulations: simulations of the strongest level.
        games: games of a match that measures a step.
        seed: seed from which each match derives its own.
        progress: counts the finished games of each match.
        played: number of the next match, from which its seed derives.

    Raises:
        ValueError: ``simulations`` is out of range.
    """

    game: Game
    network: Network
    simulations: int
    games: int
    seed: int
    progress: Progress
    played: int = 0

    def __post_init__(self) -> None:
        most = params_at(strongest(self.simulations), self.simulations)
        self._upper, self._lower = (
            LevelAgent(self.game, self.network, most, name=name) for name in ("upper", "lower")
        )
        self._random = RandomAgent(self.game)

    def play(self, upper: float, lower: float, games: int, title: str) -> MatchResult:
        """A match between two strengths, points of the path of `params_at`.

        Args:
            upper, lower: the strengths; `RANDOM_STRENGTH` and less is random play.
            games: how many games, an even number.
            title: what progress is begun with.

        Returns:
            The result of ``upper``.

        Raises:
            ValueError: ``games`` is not an even number from 2 on.
            StoppedError: the progress was stopped.
        """
        seed = derived_seed(self.seed, self.played)
        self.played += 1
        first = self._player(self._upper, upper)
        second = self._player(self._lower, lower)
        self.progress.begin(title, games)
        return play_match(self.game, first, second, games, seed, progress=self.progress).result

    def _player(self, level: LevelAgent, strength: float) -> Agent:
        if strength <= RANDOM_STRENGTH:
            return self._random
        level.adjust(params_at(strength, self.simulations))
        return level


def calibrate(
    game: Game,
    network: Network,
    digest: str,
    simulations: int = 256,
    games: int = 200,
    levels: int | None = None,
    seed: int = 1,
    progress: Progress = SILENT,
) -> Ladder:
    """Measure a ladder of levels.

    Args:
        game: the rules.
        network: the network that plays, which fits the game.
        digest: SHA-256 of its checkpoint, hexadecimal.
        simulations: simulations of the strongest level, for each move, `FEWEST_SIMULATIONS` to
            10,000.
        games: games of each match that measures a step, a multiple of 4. Matches that place the
            first level have twice as many, all others half as many.
        levels: how many, 2 to 50, at even steps over the whole range; fewer if there is no room
            for as many. Default: as many steps of `TARGET_SCORE` as fit, or about 8 levels at
            smaller steps if these would be fewer.
        seed: seed of all games; the same arguments give the same levels and matches.
        progress: counts the finished games of each match.

    Raises:
        ValueError: an argument is out of range, the agent is hardly stronger than random play, or
            the levels come out in the wrong order.
        StoppedError: ``progress`` was stopped.
    """
    top = strongest(simulations)
    if games < 4 or games % 4:
        raise ValueError(f"games of a match are a multiple of 4, not {quoted(games)}")
    if levels is not None:
        checked_whole("levels", levels, 2, 50)
    started = perf_counter()
    runner = MatchRunner(game, network, simulations, games, seed, progress)
    # Survey the path, place levels on it, and rate them by all their matches.
    survey = _survey(runner, top)
    if survey.elo_at(top) < _FIRST_ELO + elo_difference(TARGET_SCORE):  # no second level
        raise ValueError(_TOO_WEAK)
    step = _step(survey, levels)
    strengths, matches = _place(runner, survey, top, step, levels)
    matches += _other_matches(runner, strengths)
    return Ladder(
        game=game.name,
        version=game.version,
        options=dict(game.options),
        agent=digest,
        date=datetime.now(UTC).date().isoformat(),
        seed=seed,
        seconds=round(perf_counter() - started, 1),
        simulations=simulations,
        levels=rate_levels(strengths, matches, simulations),
        matches=tuple(matches),
    )


def check_steps(
    game: Game,
    network: Network,
    ladder: Ladder,
    games: int = 200,
    seed: int = 2,
    progress: Progress = SILENT,
) -> list[LevelMatch]:
    """Measure the steps of a ladder once more: each level against the one below.

    The matches in a ladder's file decided where its levels are, so their scores are a little
    nearer to the target than those of new games.

    Args:
        game, network: the game and network of the ladder.
        ladder: the ladder.
        games: games of each match, an even number.
        seed: seed of all games, another than the ladder's.
        progress: counts the finished games of each match.

    Returns:
        The matches of levels 2 and 1, 3 and 2, and so on.

    Raises:
        ValueError: ``games`` is not an even number from 2 on.
        StoppedError: ``progress`` was stopped.
    """
    runner = MatchRunner(game, network, ladder.simulations, games, seed, progress, played=1)
    matches = []
    for number, (weaker, stronger) in enumerate(pairwise(ladder.levels), 1):
        title = f"level {number + 1} against {number}"
        result = runner.play(stronger.strength, weaker.strength, games, title)
        matches.append(LevelMatch(number + 1, number, result))
    return matches


def _survey(runner: MatchRunner, top: float) -> Scale:
    """Rate points of the path by matches of each against the one below."""
    count = math.ceil(top - _LOWEST_SURVEYED)
    points = [RANDOM_STRENGTH, *np.linspace(_LOWEST_SURVEYED, top, count + 1).tolist()]
    elo = [0.0]
    for index in range(1, len(points)):
        lower, upper = points[index - 1], points[index]
        title = f"survey of the path, {index} of {len(points) - 1}"
        result = runner.play(upper, lower, runner.games // 2, title)
        # One additional drawn game keeps the difference finite.
        difference = elo_difference((result.points + 0.5) / (result.games + 1))
        elo.append(elo[-1] + max(difference, _LEAST_SLOPE * (upper - lower)))
    return Scale(points, elo)


def _step(survey: Scale, levels: int | None) -> float:
    """Elo points between neighbouring levels."""
    wide = survey.elo[-1] - _FIRST_ELO
    if levels is not None:
        return max(wide, _LEAST_SLOPE) / (levels - 1)
    return max(min(elo_difference(TARGET_SCORE), wide / (_FEWEST_LEVELS - 1)), _LEAST_SLOPE)


@dataclass(frozen=True)
class _Placed:
    """A level that was placed by matches against an opponent.

    Scores are the opponent's: above 1/2 where the level is the weaker one, as all are that are
    placed below another; below 1/2 where the opponent is random play.

    Attributes:
        strength: its place on the path.
        result: result of the opponent against it.
    """

    strength: float
    result: MatchResult

    def error(self, target: float) -> float:
        """The distance of the opponent's score from the target."""
        return abs(self.result.score.value - target)


def _place(
    runner: MatchRunner, survey: Scale, top: float, step: float, levels: int | None
) -> tuple[list[float], list[LevelMatch]]:
    """Place the first level, near random play, then the others from ``top`` down.

    Returns:
        Their strengths, ascending, and the matches that measured them.
    """
    # 1. The first level, by matches against random play.
    first = _placed(
        *(runner, survey, RANDOM_STRENGTH, 1 - FIRST_SCORE, "level 1"),
        games=2 * runner.games,
        tolerance=_FIRST_TOLERANCE,
    )
    if first.strength >= top:
        raise ValueError(_TOO_WEAK)
    # 2. The levels between, from the strongest down: each is measured by the one above it, and its
    #    place divides the rest of the way into equal steps.
    above: list[_Placed] = []
    lowest = top
    while True:
        gap = survey.elo_at(lowest) - survey.elo_at(first.strength)
        left = round(gap / step) if levels is None else levels - 1 - len(above)
        if left <= 1:
            break
        title = f"level {len(above) + 2} from the top"
        level = _placed(runner, survey, lowest, expected_score(gap / left), title)
        if level.strength <= first.strength:
            break
        above.append(level)
        lowest = level.strength
    # 3. The lowest step, which is measured last, and takes up what is left.
    if levels is not None:
        placed = [*above, _against_first(runner, lowest, first.strength)]
    elif left < 1 and not above:
        raise ValueError(_TOO_WEAK)
    else:
        placed = _even_out(runner, survey, first.strength, top, above, expected_score(step))
    placed = placed[::-1]
    matches = [LevelMatch(1, 0, first.result.reversed)]
    matches += [LevelMatch(n + 1, n, level.result) for n, level in enumerate(placed, 1)]
    return [*(level.strength for level in placed), top], matches


def _against_first(runner: MatchRunner, second: float, first: float) -> _Placed:
    """The first level, measured by the second."""
    return _Placed(first, runner.play(second, first, runner.games, "level 2 against 1"))


def _even_out(
    runner: MatchRunner,
    survey: Scale,
    first: float,
    top: float,
    placed: list[_Placed],
    target: float,
) -> list[_Placed]:
    """Measure the first level; leave out the second if it is too near, or add one if it is too far.

    A level that is added is tried until both its steps are even, at most `_MOST_TRIES` times; then
    the most even one is taken.

    Args:
        runner: plays the matches.
        survey: the survey.
        first: strength of the first level.
        top: strength of the last one.
        placed: the levels between them, from the strongest down.
        target: the score that is wanted of each level against the next.

    Returns:
        The levels below the last one, from the strongest down to the first.
    """

    def second(placed: list[_Placed]) -> float:
        return placed[-1].strength if placed else top

    lowest = _against_first(runner, second(placed), first)
    if lowest.result.score.value < target - _UNEVEN and placed:
        placed = placed[:-1]
        lowest = _against_first(runner, second(placed), first)
    score = lowest.result.score.value
    if score <= target + _UNEVEN:
        return [*placed, lowest]
    half = elo_difference(min(score, _MOST_SCORE)) / 2
    title = f"level {len(placed) + 2} from the top"
    tries: list[tuple[float, _Placed, _Placed]] = []  # the error, and the two steps
    while len(tries) < _MOST_TRIES and (not tries or tries[-1][0] > _UNEVEN):
        added = _placed(runner, survey, second(placed), expected_score(half), title)
        lowest = _against_first(runner, added.strength, first)
        tries.append((max(added.error(target), lowest.error(target)), added, lowest))
    _, added, lowest = min(tries, key=lambda each: each[0])
    return [*placed, added, lowest]


def _placed(
    runner: MatchRunner,
    survey: Scale,
    opponent: float,
    target: float,
    title: str,
    games: int | None = None,
    tolerance: float = _TOLERANCE,
) -> _Placed:
    """Find the strength against which ``opponent`` scores ``target``, and measure it.

    A match is played in two halves, the second only if the first is not far from the target, or in
    the last try.
    """
    half = (games or runner.games) // 2
    tries: list[_Placed] = []
    for attempt in range(1, _MOST_TRIES + 1):
        strength = _estimate(survey, opponent, target, tries)
        name = f"{title}, try {attempt}"
        level = _Placed(strength, runner.play(opponent, strength, half, name))
        is_whole = level.error(target) <= _FAR_OFF or attempt == _MOST_TRIES
        if is_whole:
            other = runner.play(opponent, strength, half, f"{name}, second half")
            level = _Placed(strength, level.result + other)
        tries.append(level)
        if is_whole and level.error(target) <= tolerance:
            break
    whole = [level for level in tries if level.result.games == 2 * half]
    return min(whole, key=lambda level: level.error(target))


def _estimate(survey: Scale, opponent: float, target: float, evidence: list[_Placed]) -> float:
    """The strength against which ``opponent`` scores ``target``, by the survey and its matches.

    The survey's differences from ``opponent`` are taken to be off by one common number. Newton's
    method finds its most likely value; its prior is normal, with deviation `_SURVEY_SPREAD`.
    """
    elo = survey.elo_at(opponent)
    off = 0.0
    for _ in range(20):
        # Derivatives of the logarithm of the posterior: of the prior, and of each match's result.
        slope, curvature = -off / _SURVEY_SPREAD**2, 1 / _SURVEY_SPREAD**2
        for level in evidence:
            result = level.result
            expected = expected_score(elo - survey.elo_at(level.strength) + off)
            slope += (result.points - result.games * expected) / ELO
            curvature += result.games * expected * (1 - expected) / ELO**2
        off += slope / curvature
    strength = survey.strength_at(elo + off - elo_difference(target))
    is_below = target > 0.5
    return round(min(strength, opponent - 0.02) if is_below else max(strength, opponent + 0.02), 3)


def _other_matches(runner: MatchRunner, strengths: list[float]) -> list[LevelMatch]:
    """Matches of each level against the level two below; level 0 is random play."""
    ladder = [RANDOM_STRENGTH, *strengths]
    matches = []
    for upper, lower in enumerate(range(len(ladder) - 2), 2):
        title = f"level {upper} against {lower or 'random play'}"
        result = runner.play(ladder[upper], ladder[lower], runner.games // 2, title)
        matches.append(LevelMatch(upper, lower, result))
    return matches
