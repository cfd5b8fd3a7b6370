"""Ratings with draws and the first player's advantage: what they must be, and how sure they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ludarium.training.evaluation import BradleyTerry, MatchResult, fit_ratings
from ludarium.training.evaluation.bradley_terry import Pairing
from ludarium.training.evaluation.statistics import ELO


def chances(difference: float, nu: float) -> list[float]:
    """Win, draw and loss of player_0, as the model says."""
    weights = [math.exp(difference / 2 / ELO), nu, math.exp(-difference / 2 / ELO)]
    return [weight / sum(weights) for weight in weights]


def round_robin(
    elos: dict[str, float], advantage: float, nu: float, games: float, random=None
) -> list[Pairing]:
    """What so many games in each seat give; on average, or drawn at random."""
    scores = []
    for one in elos:
        for other in elos:
            if one != other:
                share = chances(elos[one] - elos[other] + advantage, nu)
                counts = random.multinomial(games, share) if random else np.multiply(games, share)
                scores.append((one, other, MatchResult(*counts)))
    return scores


ELOS = {"a": -150.0, "b": -50.0, "c": 20.0, "d": 180.0}


def test_many_games_give_back_what_they_were_played_by():
    model = BradleyTerry(round_robin(ELOS, 60, 0.5, 1e9))
    assert {name: model.rating(name).value for name in ELOS} == pytest.approx(ELOS, abs=0.01)
    assert model.advantage().value == pytest.approx(60, abs=0.01)
    assert model.nu == pytest.approx(0.5, abs=1e-6)


def test_an_anchor_moves_all_ratings_alike():
    scores = round_robin(ELOS, 60, 0.5, 100)
    free, held = BradleyTerry(scores), BradleyTerry(scores, {"b": 1000.0})
    shift = held.rating("a").value - free.rating("a").value
    for name in "acd":
        assert held.rating(name).value - free.rating(name).value == pytest.approx(shift, abs=1e-4)
    assert (held.rating("b").low, held.rating("b").high) == (1000, 1000)
    assert sum(free.rating(name).value for name in ELOS) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("elos", "advantage", "nu", "games"),
    [
        (ELOS, 60, 0.5, 20),
        ({"a": -300, "b": -100, "c": 100, "d": 300}, 30, 0.0, 20),
        ({"a": -250, "b": 0, "c": 250}, 150, 2.0, 10),
    ],
)
def test_intervals_cover_the_truth_as_often_as_they_say(elos, advantage, nu, games):
    """Of 120 tournaments with known strengths; 0.95 within what chance allows."""
    random = np.random.default_rng(5)
    covered = total = first = 0
    for _ in range(120):
        model = BradleyTerry(round_robin(elos, advantage, nu, games, random))
        for name, elo in elos.items():
            rating = model.rating(name)
            covered += rating.low <= elo - np.mean(list(elos.values())) <= rating.high
            total += 1
        interval = model.advantage()
        first += interval.low <= advantage <= interval.high
    assert 0.92 <= covered / total <= 0.98
    assert 0.89 <= first / 120 <= 0.99


def test_one_who_won_all_games_has_a_finite_rating_and_an_interval_that_is_wide_above():
    rating = BradleyTerry(
        [("a", "b", MatchResult(20, 0, 0)), ("b", "a", MatchResult(0, 0, 20))]
    ).rating("a")
    assert 0 < rating.low < rating.value < rating.high < 2000
    assert rating.high - rating.value > 1.5 * (rating.value - rating.low)


def test_players_whose_ratings_are_known_may_be_far_apart():
    scores = [("a", "c", MatchResult(10, 0, 10)), ("c", "b", MatchResult(0, 0, 20))]
    rating = BradleyTerry(scores, {"a": 0, "b": 3000}).rating("c")
    assert -1000 < rating.low < rating.value < rating.high < 3000


def test_without_draws_and_advantage_it_is_the_fit_of_anchors():
    model = BradleyTerry([("a", "b", MatchResult(7, 2, 3))], {"b": 500}, points_only=True)
    simple = fit_ratings([("a", "b", MatchResult(8, 0, 4))], {"b": 500})["a"]
    assert model.rating("a") == simple


def test_names_of_those_who_cannot_be_rated_are_told():
    with pytest.raises(ValueError, match="no match leads from c, d to the other players"):
        BradleyTerry([("a", "b", MatchResult(1, 0, 1)), ("c", "d", MatchResult(1, 0, 1))])
    with pytest.raises(ValueError, match="there are none"):
        BradleyTerry([])
    with pytest.raises(ValueError, match="a cannot be rated by games against itself"):
        BradleyTerry([("a", "a", MatchResult(1, 0, 1))])
    for wrong in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match="a result has a count below 0 or one that is not"):
            BradleyTerry([("a", "b", MatchResult(1, 0, wrong))])
    with pytest.raises(ValueError, match="the rating of b is nan; accepted: a finite number"):
        fit_ratings([("a", "b", MatchResult(1, 0, 1))], {"b": math.nan})
