"""The value of each first move, which moves are fair, and the effect of the swap rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.training.evaluation import play_match
from ludarium.training.evaluation.kernels import match as match_templates
from ludarium.training.evaluation.openings import Openings
from ludarium.training.evaluation.statistics import Z_95, IntervalEstimate, MatchResult, rounded

from .enumeration import enumerate_positions
from .study import SWAP_OPTION, Study
from .value_sources import (
    ValueSource,
    exact_evaluator,
    exact_values,
    expit,
    logit,
    playout_values,
    searched_values,
)

#: A first move is fair if player 0's chance after it is within this of one half.
FAIR = 0.05

_REPEATS = 3  # searches of each position, each with its own playouts
_TRIED = 6  # first moves that are tried in games


def openings(study: Study) -> dict[str, Any] | None:
    """The value of each first move for player 0; None if the start is random."""
    if study.game.random_start:
        return None
    game = without_swap(study.game)
    start = game.start()
    actions = start.legal_actions
    after = np.repeat(start.states, len(actions))
    specialise(match_templates, game).play(game.tables, after, actions, game.num_actions)
    exact = study.exact
    if game is not study.game:
        exact = exact_evaluator(game, enumerate_positions(game, study.settings.positions))
    known = exact_values(game, exact, after)
    orbits = _orbits(game, actions)
    source = exact or _source(study, game)
    chances = _searched(study, source, after)
    searched = _estimates(chances, orbits)
    tried = _spread(searched)
    played = _played(study, game, [int(actions[orbits[number][0]]) for number in tried])
    calibrated = searched
    if not source.is_exact:
        calibrated = fit_chances(
            searched,
            tried,
            np.array([result["points"] for result in played]),
            np.array([result["player_0_score"]["count"] for result in played]),
        )
    texts = [start.action_to_text(int(action)) for action in actions]
    moves: list[dict[str, Any]] = [
        {
            "moves": [texts[place] for place in orbit],
            "actions": [int(actions[place]) for place in orbit],
            "chance": chance.to_dict(),
            "searched": estimate.to_dict(),
            "perfect": None if known is None else int(known[orbit[0]]),
        }
        for orbit, estimate, chance in zip(orbits, searched, calibrated, strict=True)
    ]
    ranked = sorted(moves, key=lambda move: -move["chance"]["value"])
    values = np.array([move["chance"]["value"] for move in ranked])
    counts = np.array([len(move["moves"]) for move in ranked])
    fairest = int(np.abs(values - 0.5).argmin())
    by_perfect = [
        sum(len(move["moves"]) for move in ranked if move["perfect"] == value)
        for value in (1, 0, -1)
    ]
    return {
        "has_swap_rule": SWAP_OPTION in study.game.options,
        "swap_rule_in_this_game": bool(study.game.options.get(SWAP_OPTION, False)),
        "players": study.strong_name,
        "evaluator": source.name,
        "exact": source.is_exact,
        "searches_per_move": chances.shape[1],
        "fair_within": FAIR,
        "moves": ranked,
        "legal": len(actions),
        "fair": int(counts[np.abs(values - 0.5) <= FAIR].sum()),
        "to_be_swapped": int(counts[values > 0.5 + FAIR].sum()),
        "perfect_wins_draws_losses": None if known is None else by_perfect,
        "fairest": ranked[fairest]["moves"][0],
        "chance_without_swap": ranked[0]["chance"],
        "chance_with_swap": rounded(np.minimum(values, 1 - values).max()),
        "played": [
            {"move": texts[orbits[number][0]]} | result
            for number, result in zip(tried, played, strict=True)
        ],
    }


def _spread(estimates: list[IntervalEstimate]) -> list[int]:
    """Numbers of at most `_TRIED` first moves from best to worst, evenly spread by rank."""
    order = sorted(range(len(estimates)), key=lambda number: -estimates[number].value)
    places = np.linspace(0, len(order) - 1, min(_TRIED, len(order))).round().astype(int)
    return [order[place] for place in places]


def fit_chances(
    estimates: list[IntervalEstimate], tried: list[int], points: np.ndarray, games: np.ndarray
) -> list[IntervalEstimate]:
    """Chances in games of strong players, from estimates and some played games.

    Estimates by networks and playouts tend to be in the right order, but too near to one half or
    too far from it. Their logits are fitted to the results by a slope and a shift (J. Platt,
    "Probabilistic Outputs for Support Vector Machines", 1999), by maximum likelihood with a weak
    normal prior about 1 and 0, of deviation 1. The variance of the results about the fit, beyond
    their own error, is taken as that of any first move: it widens the intervals of moves that were
    not played, and it decides how far played moves shift from the fit to their results (R.
    DerSimonian and N. Laird, "Meta-Analysis in Clinical Trials", 1986: random effects by moments).

    Args:
        estimates: estimates of all first moves.
        tried: numbers of the moves that were played.
        points: player 0's points in the games of each.
        games: how many games each had.

    Returns:
        The chance of every first move; ``count`` are its own games, or all if it was not played.
    """
    ends = np.array([[each.value, each.low, each.high] for each in estimates])
    logits, low, high = logit(ends).T
    design = np.stack([logits, np.ones(len(logits))], axis=1)
    fitted, covariance = _fit(design[tried], points, games)
    centres = design @ fitted
    noise = (fitted[0] * (high - low) / (2 * Z_95)) ** 2
    variances = np.einsum("ni,ij,nj->n", design, covariance, design) + noise
    scores = (points + 0.5) / (games + 1)
    results, errors = logit(scores), 1 / ((games + 1) * scores * (1 - scores))
    apart = max(0.0, float(((results - centres[tried]) ** 2 - errors).mean()))
    variances += apart
    played = dict(zip(tried, zip(results, errors, games, strict=True), strict=True))
    found = []
    for number, (centre, variance) in enumerate(zip(centres, variances, strict=True)):
        count = int(games.sum())
        if number in played:
            result, error, own_games = played[number]
            centre = (centre / variance + result / error) / (1 / variance + 1 / error)
            variance = 1 / (1 / variance + 1 / error)
            count = int(own_games)
        value, least, most = expit(centre + Z_95 * variance**0.5 * np.array([0.0, -1.0, 1.0]))
        found.append(IntervalEstimate(float(value), float(least), float(most), count))
    return found


def _fit(
    design: np.ndarray, points: np.ndarray, games: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fit slope and shift by Newton's method; return them and their covariance."""
    prior = np.array([1.0, 0.0])
    fitted = prior.copy()
    for _ in range(50):
        expected = expit(design @ fitted)
        gradient = design.T @ (points - games * expected) - (fitted - prior)
        weights = games * expected * (1 - expected)
        information = design.T @ (weights[:, None] * design) + np.eye(2)
        step = np.linalg.solve(information, gradient)
        fitted += step / max(1.0, float(np.abs(step).max()))
    return fitted, np.linalg.inv(information)


def without_swap(game: Game) -> Game:
    """The same game without its swap rule, if it has one."""
    if not game.options.get(SWAP_OPTION, False):
        return game
    return type(game)(**dict(game.options) | {SWAP_OPTION: False})


def _source(study: Study, game: Game) -> ValueSource:
    settings = study.settings
    if study.trained:
        deeper = study.trained.searching(settings.opening_simulations).make(game, seed=0)
        return searched_values(deeper.search, f"searches of {deeper.name}")
    return playout_values(game, settings.opening_playouts, study.seed(60))


def _searched(study: Study, source: ValueSource, after: np.ndarray) -> np.ndarray:
    """Player 0's chances, float64[first moves, searches]."""
    repeats = _REPEATS if source.plays_out else 1
    study.progress.begin("first moves", repeats)
    columns = []
    for _ in range(repeats):
        columns.append((source.values(after) + 1) / 2)
        study.progress.advance()
    return np.stack(columns, axis=1)


def _orbits(game: Game, actions: np.ndarray) -> list[list[int]]:
    """Places in ``actions`` of first moves that a symmetry of the start maps to each other."""
    symmetries = game.symmetries()
    start = game.start()
    seen = start.observation().ravel()
    tables = [
        symmetries.actions_of(start.states, number)[0]
        for number in range(len(symmetries))
        if (seen[symmetries.observation[number]] == seen).all()
    ]
    place_of = {int(action): place for place, action in enumerate(actions)}
    orbits: list[list[int]] = []
    done: set[int] = set()
    for place, action in enumerate(actions):
        if place not in done:
            images = {int(table[action]) for table in tables}
            orbit = [place, *sorted({place_of[image] for image in images} - {place})]
            orbits.append(orbit)
            done.update(orbit)
    return orbits


def _estimates(chances: np.ndarray, orbits: list[list[int]]) -> list[IntervalEstimate]:
    """The mean of each orbit's searches; their spread, pooled over all moves, gives intervals.

    The intervals reflect the noise of the searches, not errors that all of them share.
    """
    groups = [chances[orbit].ravel() for orbit in orbits]
    freedom = sum(len(group) - 1 for group in groups)
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    spread = (squares / freedom) ** 0.5 if freedom else 0.0
    halves = [Z_95 * spread / len(group) ** 0.5 for group in groups]
    return [
        IntervalEstimate(
            float(group.mean()),
            max(0.0, float(group.mean()) - half),
            min(1.0, float(group.mean()) + half),
            len(group),
        )
        for group, half in zip(groups, halves, strict=True)
    ]


def _beginning_with(game: Game, actions: Sequence[int], count: int) -> Openings:
    """``count`` beginnings of games, whose first actions are these in turn, again and again."""
    begun = Openings.begun(game, [0] * count)
    first = np.resize(np.array(actions, np.int64), count)
    states = begun.states.copy()
    specialise(match_templates, game).play(game.tables, states, first, game.num_actions)
    return replace(begun, states=states, actions=tuple((action,) for action in first.tolist()))


def _played(study: Study, game: Game, actions: list[int]) -> list[dict[str, Any]]:
    """Player 0's results in games of the strongest player that begin with each action."""
    spec = study.varied_player
    per_move = max(4, study.games // 8 * 2)
    games = per_move * len(actions)
    study.progress.begin(f"first moves played by {study.strong_name}", games)
    seed = study.seed(61)
    first, second = (spec.make(game, seed + number) for number in (0, 1))
    openings = _beginning_with(game, actions, games // 2)
    played = play_match(
        game, first, second, games, seed, progress=study.progress, openings=openings
    )
    found = []
    for action in actions:
        begun = np.flatnonzero(played.actions[:, 0] == action)
        result = MatchResult.of(played.rewards(0)[begun])
        found.append(
            {
                "players": study.strong_name,
                "player_0_score": result.score.to_dict(),
                "points": result.points,
                "draws": result.draws,
                "distinct_games": len({tuple(played.moves(number)) for number in begun.tolist()}),
            }
        )
    return found
