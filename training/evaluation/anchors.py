"""Anchors: fixed opponents with known ratings, against which an agent is rated.

In every game ``uct:1000`` has `REFERENCE_ELO` points, and a difference of 400 points stands for an
expected score of 10/11. Ratings of different games, or of different options of one game, cannot be
compared.

The package ships the ratings of some baselines (``ratings.json``). A training run, or a learning
curve, that needs others measures them when it starts (`measure_ratings`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ludarium.base.files import load_json
from ludarium.base.numbers import derived_seed
from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.game import Game

from ..agents import Agent, make_agent
from .bradley_terry import Pairing, fit_ratings
from .match import check_games, play_match
from .statistics import IntervalEstimate, MatchResult, expected_score

#: The player whose rating is fixed by convention, and that rating.
REFERENCE = "uct:1000"
REFERENCE_ELO = 1000.0

#: Games per match when anchors without a rating are rated.
ANCHOR_GAMES = 40

#: The games of an evaluation are split into this many parts at most; each picks its opponent.
_PARTS = 4
#: The agent's name in the fit; it may share its real name with an anchor, but no anchor has this.
_RATED = ""
#: Opponents with an expected score outside these bounds give little information.
_TELLING = (0.05, 0.95)


@dataclass(frozen=True)
class _Shipped:
    """What is read of the shipped ratings of one game with one set of options."""

    game: str
    version: int
    options: dict[str, Any]
    players: dict[str, IntervalEstimate]


def known_elo(game: Game) -> dict[str, float]:
    """Elo ratings by name: the reference's and the shipped ones."""
    content = files(__package__).joinpath("ratings.json").read_bytes()
    shipped: list[_Shipped] = load_json(content, "the shipped ratings", list[_Shipped])
    known = {REFERENCE: REFERENCE_ELO}
    for each in shipped:
        if (each.game, each.version, each.options) == (game.name, game.version, game.options):
            known |= {name: rating.value for name, rating in each.players.items()}
    return known


def pairs_to_rate(players: Sequence[str], known: Mapping[str, float]) -> list[tuple[str, str]]:
    """The pairings that rate ``players``: each player meets the next two of the list.

    The list must go from the weakest to the strongest. The reference (`REFERENCE`) is appended if
    it is not in the list. Players whose ratings are ``known`` do not meet each other.
    """
    names = list(dict.fromkeys([*players, REFERENCE]))
    return [
        (first, second)
        for index, first in enumerate(names)
        for second in names[index + 1 : index + 3]
        if not {first, second} <= {*known, REFERENCE}
    ]


def measure_ratings(
    game: Game,
    players: Sequence[str],
    games: int,
    known: Mapping[str, float] | None = None,
    seed: int = 1,
    progress: Progress = SILENT,
) -> dict[str, float]:
    """Rate players by matches between neighbours in the list; see `pairs_to_rate`.

    Args:
        game: the rules.
        players: names of agents (see `make_agent`), from the weakest to the strongest.
        games: games of each match, an even number.
        known: ratings that are not measured; the reference's is always added.
        seed: seed of the matches.
        progress: counts the finished games.

    Returns:
        Elo ratings by name, to 0.1 points, with those of ``known`` that are players, and the
        reference's.

    Raises:
        ValueError: an agent's name means nothing or cannot play this game, a known rating is not
            finite, ``games`` is not a positive even number, or ``seed`` is negative.
        FileNotFoundError, ImportError: see `make_agent`.
        StoppedError: ``progress`` was stopped.
    """
    known = dict(known or {}) | {REFERENCE: REFERENCE_ELO}
    pairs = pairs_to_rate(players, known)
    agents = {name: make_agent(name, game) for pair in pairs for name in pair}
    results: list[Pairing] = []
    for index, (first, second) in enumerate(pairs):
        played = play_match(
            game, agents[first], agents[second], games, derived_seed(seed, index), progress=progress
        )
        results.append((first, second, played.result))
    fixed = {name: elo for name, elo in known.items() if name in {*players, REFERENCE}}
    return {name: round(each.value, 1) for name, each in fit_ratings(results, fixed).items()}


def rate_anchors(
    game: Game,
    anchors: Sequence[str],
    known: Mapping[str, float],
    seed: int,
    progress: Progress,
    keep: Callable[[Callable[[], dict[str, float]]], dict[str, float]],
) -> dict[str, float]:
    """Ratings of anchors, from the weakest to the strongest: known ones, and others from games.

    Args:
        game: the rules.
        anchors: their names.
        known: ratings by name.
        seed: seed of the matches.
        progress: counts the games.
        keep: called if ratings are missing, with a function that measures them; returns them.

    Raises:
        ValueError, FileNotFoundError, ImportError, StoppedError: see `measure_ratings`.
    """
    if pairs := pairs_to_rate(anchors, known):
        progress.begin("anchors", len(pairs) * ANCHOR_GAMES)
        measured = keep(lambda: measure_ratings(game, anchors, ANCHOR_GAMES, known, seed, progress))
        known = {**known, **measured}
    return {name: known[name] for name in anchors}


def play_anchors(
    game: Game,
    agent: Agent,
    anchors: Mapping[str, float],
    games: int,
    guess: float | None = None,
    seed: int = 1,
    progress: Progress = SILENT,
) -> tuple[IntervalEstimate, dict[str, MatchResult]]:
    """Rate an agent by games against the anchors that are nearest to it in strength.

    The games are played in up to four parts. In each, the agent meets one of the two anchors
    nearest to the current estimate of its rating: the one that it has met in fewer games. If its
    expected score against the second nearest is below 5 % or above 95 %, it meets the nearest.
    The same arguments give the same games, unless an agent's moves depend on more than its seed,
    such as on time.

    Args:
        game: the rules.
        agent: plays it.
        anchors: their ratings in Elo points, by their names (see `make_agent`).
        games: how many in all, an even number: the two games of a pair share an opening.
        guess: a rating to begin with; without one, the agent begins at the weakest anchor.
        seed: seed of openings and of both agents.
        progress: counts the finished games.

    Returns:
        The agent's rating, and its result against each anchor that it met, the weakest first.

    Raises:
        ValueError: there are no anchors, a rating is not finite, an anchor or the agent does not
            play this game or chose an illegal action, ``games`` is not a positive even number, or
            ``seed`` is negative.
        FileNotFoundError, ImportError: see `make_agent`.
        StoppedError: ``progress`` was stopped.
    """
    if not anchors:
        raise ValueError("there are no anchors to play against")
    check_games(games)
    elo = min(anchors.values()) if guess is None else guess
    rating = IntervalEstimate.known(elo)
    results = {name: MatchResult() for name in sorted(anchors, key=anchors.__getitem__)}
    for index, part in enumerate(_even_parts(games)):
        anchor = _choose(anchors, results, rating.value)
        opponent, part_seed = make_agent(anchor, game), derived_seed(seed, index)
        played = play_match(game, agent, opponent, part, part_seed, progress=progress)
        results[anchor] += played.result
        met = {name: result for name, result in results.items() if result.games}
        pairings = [(_RATED, name, result) for name, result in met.items()]
        rating = fit_ratings(pairings, anchors)[_RATED]
    return rating, met


def _choose(anchors: Mapping[str, float], results: Mapping[str, MatchResult], elo: float) -> str:
    """The anchor to meet next if the agent's rating is about ``elo``."""
    nearest, *others = sorted(anchors, key=lambda name: abs(anchors[name] - elo))[:2]
    low, high = _TELLING
    telling = [name for name in others if low <= expected_score(elo - anchors[name]) <= high]
    return min([nearest, *telling], key=lambda name: results[name].games)


def _even_parts(games: int) -> list[int]:
    """An even number as a sum of up to `_PARTS` even numbers, as equal as possible."""
    openings = games // 2
    parts = [(openings + later) // _PARTS for later in range(_PARTS)]
    return [2 * part for part in parts if part]
