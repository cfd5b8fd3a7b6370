"""Measures a ladder of levels from scratch: even steps of strength along the path of `knobs_at`.

A survey rates points of the path by matches between neighbours. The first level is placed where it
scores 60 % against random play. Then levels are placed from the strongest down: each next one where
the survey, corrected by all matches against the level above, predicts the wanted step. A
match then measures the step; if its score is not near the target, the level moves and is measured
again. At last the second level goes if it is too near to the first, or another comes between them
if it is too far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from operator import itemgetter
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from ludarium.base.messages import quoted
from ludarium.base.numbers import derived_seed
from ludarium.base.progress import UNWATCHED, Task
from ludarium.envs.engine.game import Game
from ludarium.training.agents import Agent, RandomAgent
from ludarium.training.evaluation import (
    Tally,
    elo_difference,
    expected_score,
    play_match,
)

from .knobs import knobs_at, strongest
from .ladder import RANDOM_STRENGTH, Ladder, Level, Meeting, rate_levels
from .level import LevelSearcher

if TYPE_CHECKING:
    from ludarium.models.inference import Network

#: Target score of each level against the one below.
TARGET_SCORE = 0.65
#: A measured score may be off by this much before the level is moved.
_TOLERANCE = 0.04
#: The same tolerance for the first level against random play.
_FIRST_TOLERANCE = 0.025
#: If the score after half a match is off by more, the other half is not played.
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
#: Standard deviation of the true step from the survey's, in Elo points.
_SURVEY_SPREAD = 60.0
_LEAST_SLOPE = 5.0  # Elo points per unit of strength, so that every rating has one strength
_NATURAL = math.log(10) / 400
_TOO_WEAK = "the agent is hardly stronger than random play: there is no room for levels between"


@dataclass
class _Bench:
    """Two players with adjustable strength, which play matches against each other.

    Attributes:
        games: games of a match that measures a step.
        seed: seed from which each match derives its own.
        played: how many matches were played.
    """

    game: Game
    upper: LevelSearcher
    lower: LevelSearcher
    random: Agent
    simulations: int
    games: int
    seed: int
    task: Task
    played: int = field(default=0, init=False)

    def play(self, upper: float, lower: float, games: int, title: str) -> Tally:
        """A match between two strengths; `RANDOM_STRENGTH` is random play."""
        seed = derived_seed(self.seed, self.played)
        self.played += 1
        first = self._player("upper", self.upper, upper)
        second = self._player("lower", self.lower, lower)
        self.task.begin(title, games)
        return play_match(self.game, first, second, games, seed, task=self.task).tally

    def _player(self, name: str, searcher: LevelSearcher, strength: float) -> Agent:
        if strength <= RANDOM_STRENGTH:
            return self.random
        searcher.adjust(knobs_at(strength, self.simulations))
        return Agent(self.game, name, searcher=searcher)


def calibrate(
    game: Game,
    network: Network,
    digest: str,
    simulations: int = 256,
    games: int = 200,
    levels: int | None = None,
    seed: int = 1,
    task: Task = UNWATCHED,
) -> Ladder:
    """Measure a ladder of levels.

    Args:
        game: the rules.
        network: the network that plays.
        digest: SHA-256 of its checkpoint.
        simulations: simulations of the strongest level, for each move.
        games: games of each match that measures a step, a multiple of 4. Matches that place the
            first level have twice as many, all others half as many.
        levels: how many, at even steps over the whole range; default: as many steps of
            `TARGET_SCORE` as fit, or about 8 levels at smaller steps if these would be fewer.
        seed: seed of all games; the same arguments give the same levels and matches.
        task: task that counts the finished games of each match.

    Raises:
        ValueError: an argument is out of range, the agent is hardly stronger than random play, or
            the levels come out in the wrong order.
    """
    top = strongest(simulations)
    if games < 4 or games % 4:
        raise ValueError(f"games of a match are a multiple of 4, not {quoted(games)}")
    if levels is not None and not 2 <= levels <= 50:
        raise ValueError(f"levels are 2 to 50, not {quoted(levels)}")
    started = perf_counter()
    most = knobs_at(top, simulations)
    upper, lower = (LevelSearcher(game, network, most) for _ in range(2))
    bench = _Bench(game, upper, lower, RandomAgent(game), simulations, games, seed, task)
    survey = _survey(bench, top)
    if survey.elo_at(top) < _FIRST_ELO + elo_difference(TARGET_SCORE):  # no second level
        raise ValueError(_TOO_WEAK)
    step = _step(survey, levels)
    strengths, meetings = _place(bench, survey, top, step, levels)
    meetings += _other_meetings(bench, strengths)
    rated = _rated(strengths, meetings, simulations)
    return Ladder(
        game=game.name,
        version=game.version,
        options=dict(game.options),
        agent=digest,
        date=datetime.now(UTC).date().isoformat(),
        seed=seed,
        seconds=round(perf_counter() - started, 1),
        simulations=simulations,
        levels=rated,
        meetings=tuple(meetings),
    )


def check_steps(
    game: Game,
    network: Network,
    ladder: Ladder,
    games: int = 200,
    seed: int = 2,
    task: Task = UNWATCHED,
) -> list[Meeting]:
    """Measure the steps of a ladder once more: each level against the one below.

    The matches in a ladder's file decided where its levels are, so their scores are a little
    nearer to the target than those of new games.

    Args:
        game, network: the game and network of the ladder.
        ladder: the ladder.
        games: games of each match, an even number.
        seed: seed of all games, another than the ladder's.
        task: task that counts the finished games of each match.
    """
    knobs = knobs_at(RANDOM_STRENGTH, ladder.simulations)
    upper, lower = (LevelSearcher(game, network, knobs, ladder.simulations) for _ in range(2))
    players = Agent(game, "upper", searcher=upper), Agent(game, "lower", searcher=lower)
    meetings = []
    for number, (weaker, stronger) in enumerate(pairwise(ladder.levels), 1):
        upper.adjust(stronger.knobs)
        lower.adjust(weaker.knobs)
        task.begin(f"level {number + 1} against {number}", games)
        played = play_match(game, *players, games, derived_seed(seed, number), task=task)
        meetings.append(Meeting(number + 1, number, played.tally))
    return meetings


@dataclass(frozen=True)
class _Survey:
    """Elo points by strength, increasing; random play has 0.

    Attributes:
        strengths: the measured points of the path; the first is random play.
        elo: Elo points of these.
    """

    strengths: np.ndarray
    elo: np.ndarray

    def elo_at(self, strength: float) -> float:
        return float(np.interp(strength, self.strengths, self.elo))

    def strength_at(self, elo: float) -> float:
        return float(np.interp(elo, self.elo, self.strengths))


def _survey(bench: _Bench, top: float) -> _Survey:
    """Rate points of the path by matches of each against the one below."""
    count = math.ceil(top - _LOWEST_SURVEYED)
    points = [RANDOM_STRENGTH, *np.linspace(_LOWEST_SURVEYED, top, count + 1).tolist()]
    elo = [0.0]
    for index in range(1, len(points)):
        lower, upper = points[index - 1], points[index]
        title = f"survey of the path, {index} of {len(points) - 1}"
        tally = bench.play(upper, lower, bench.games // 2, title)
        # One additional drawn game keeps the difference finite.
        difference = elo_difference((tally.points + 0.5) / (tally.games + 1))
        elo.append(elo[-1] + max(difference, _LEAST_SLOPE * (upper - lower)))
    return _Survey(np.array(points), np.array(elo))


def _step(survey: _Survey, levels: int | None) -> float:
    """Elo points between neighbouring levels."""
    wide = float(survey.elo[-1]) - _FIRST_ELO
    if levels is not None:
        return max(wide, _LEAST_SLOPE) / (levels - 1)
    return max(min(elo_difference(TARGET_SCORE), wide / (_FEWEST_LEVELS - 1)), _LEAST_SLOPE)


def _place(
    bench: _Bench, survey: _Survey, top: float, step: float, levels: int | None
) -> tuple[list[float], list[Meeting]]:
    """Place levels from the first one, near random play, up to the one of strength ``top``.

    The first is placed by matches against random play, the others from ``top`` down.

    Returns:
        Their strengths, ascending, and the matches that measured them.
    """
    first, beginning = _placed(
        bench,
        survey,
        RANDOM_STRENGTH,
        -_FIRST_ELO,
        "level 1",
        games=2 * bench.games,
        tolerance=_FIRST_TOLERANCE,
    )
    if first >= top:
        raise ValueError(_TOO_WEAK)
    strengths, tallies = [top], list[Tally]()
    while True:
        gap = survey.elo_at(strengths[-1]) - survey.elo_at(first)
        left = round(gap / step) if levels is None else levels - len(strengths)
        if left <= 1:
            break
        title = f"level {len(strengths) + 1} from the top"
        strength, tally = _placed(bench, survey, strengths[-1], gap / left, title)
        if strength <= first:
            break
        strengths.append(strength)
        tallies.append(tally)
    if levels is None and left < 1 and len(strengths) == 1:
        raise ValueError(_TOO_WEAK)
    tallies.append(bench.play(strengths[-1], first, bench.games, "level 2 against 1"))
    if levels is None:
        _even_out(bench, survey, first, strengths, tallies, expected_score(step))
    meetings = [Meeting(1, 0, beginning.reversed)]
    for number, tally in enumerate(reversed(tallies), 1):
        meetings.append(Meeting(number + 1, number, tally))
    return [first, *strengths[::-1]], meetings


def _even_out(
    bench: _Bench,
    survey: _Survey,
    first: float,
    strengths: list[float],
    tallies: list[Tally],
    target: float,
) -> None:
    """Remove the second level if it is too near to the first, or add one if it is too far.

    A level that is added is tried until both its steps are even, at most `_MOST_TRIES` times; then
    the most even one is taken.
    """
    if tallies[-1].score < target - _UNEVEN and len(strengths) > 1:
        del strengths[-1], tallies[-2:]
        tallies.append(bench.play(strengths[-1], first, bench.games, "level 2 against 1"))
    if tallies[-1].score > target + _UNEVEN:
        gap = elo_difference(min(tallies.pop().score, _MOST_SCORE))
        title = f"level {len(strengths) + 1} from the top"
        tries: list[tuple[float, float, list[Tally]]] = []
        while len(tries) < _MOST_TRIES and (not tries or tries[-1][0] > _UNEVEN):
            strength, above = _placed(bench, survey, strengths[-1], gap / 2, title)
            measured = [above, bench.play(strength, first, bench.games, "level 2 against 1")]
            error = max(_error(each, target) for each in measured)
            tries.append((error, strength, measured))
        _, strength, measured = min(tries, key=itemgetter(0))
        strengths.append(strength)
        tallies += measured


def _placed(
    bench: _Bench,
    survey: _Survey,
    opponent: float,
    step: float,
    title: str,
    games: int | None = None,
    tolerance: float = _TOLERANCE,
) -> tuple[float, Tally]:
    """Find the strength against which ``opponent`` is ``step`` Elo points stronger; measure it.

    A match is played in two halves, the second only if the first is not far from the target, or in
    the last try.

    Returns:
        The strength, and the results of ``opponent``.
    """
    target, half = expected_score(step), (games or bench.games) // 2
    evidence: list[tuple[float, Tally]] = []
    measured: list[tuple[float, Tally]] = []
    for attempt in range(1, _MOST_TRIES + 1):
        strength = _estimate(survey, opponent, step, evidence)
        name = f"{title}, try {attempt}"
        tally = bench.play(opponent, strength, half, name)
        if _error(tally, target) <= _FAR_OFF or attempt == _MOST_TRIES:
            tally += bench.play(opponent, strength, half, f"{name}, second half")
            measured.append((strength, tally))
        evidence.append((strength, tally))
        if measured and _error(measured[-1][1], target) <= tolerance:
            break
    return min(measured, key=lambda each: _error(each[1], target))


def _error(tally: Tally, target: float) -> float:
    """The distance of a score from the target."""
    return abs(tally.score - target)


def _estimate(
    survey: _Survey, opponent: float, step: float, evidence: list[tuple[float, Tally]]
) -> float:
    """The strength ``step`` Elo points below ``opponent``, by the survey and matches against it.

    The survey's differences from ``opponent`` are taken to be off by one common number. Newton's
    method finds its most likely value; its prior is normal, with deviation `_SURVEY_SPREAD`.
    """
    elo = survey.elo_at(opponent)
    off = 0.0
    for _ in range(20):
        slope, curvature = -off / _SURVEY_SPREAD**2, 1 / _SURVEY_SPREAD**2
        for strength, tally in evidence:
            expected = expected_score(elo - survey.elo_at(strength) + off)
            slope += _NATURAL * (tally.points - tally.games * expected)
            curvature += _NATURAL**2 * tally.games * expected * (1 - expected)
        off += slope / curvature
    strength = survey.strength_at(elo + off - step)
    apart = min(strength, opponent - 0.02) if step > 0 else max(strength, opponent + 0.02)
    return round(apart, 3)


def _other_meetings(bench: _Bench, strengths: list[float]) -> list[Meeting]:
    """Matches of each level against the level two below; level 0 is random play."""
    ladder = [RANDOM_STRENGTH, *strengths]
    return [
        Meeting(
            upper,
            upper - 2,
            bench.play(
                ladder[upper],
                ladder[upper - 2],
                bench.games // 2,
                f"level {upper} against {upper - 2 or 'random play'}",
            ),
        )
        for upper in range(2, len(ladder))
    ]


def _rated(strengths: list[float], meetings: list[Meeting], simulations: int) -> tuple[Level, ...]:
    """The levels with ratings from all meetings; random play has 0."""
    rated = rate_levels(strengths, meetings, simulations)
    if any(b.rating.elo <= a.rating.elo for a, b in pairwise(rated)) or rated[0].rating.elo <= 0:
        raise ValueError(
            "the levels do not get stronger one by one: try more games, or an agent that is better "
            "than random play"
        )
    return rated
