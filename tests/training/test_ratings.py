"""Ratings: the fits, the anchors that come along, and evaluations against them."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

from ludarium.configs import load_config, shipped
from ludarium.envs import GAMES, Game, make_game
from ludarium.training.agents import make_agent
from ludarium.training.evaluation import (
    IntervalEstimate,
    MatchResult,
    anchors,
    elo_difference,
    expected_score,
    fit_ratings,
    measure_ratings,
    play_anchors,
)
from tests.progress import Told

# The rating of one player.


def of_points(points: float, games: int) -> MatchResult:
    """A result with so many points."""
    draws = int(2 * (points % 1))
    return MatchResult(int(points), draws, games - int(points) - draws)


def rated(opponents: list[float], results: list[MatchResult]) -> IntervalEstimate:
    """A player, by its results against each opponent."""
    known = {str(number): elo for number, elo in enumerate(opponents)}
    pairings = [("new", *each) for each in zip(known, results, strict=True)]
    return fit_ratings(pairings, known)["new"]


@pytest.mark.parametrize(("points", "games"), [(0, 40), (40, 40), (20, 40), (13.5, 20), (1, 2)])
def test_against_one_opponent_a_rating_is_the_score_with_a_drawn_game_added(points, games):
    rating = rated([700], [of_points(points, games)])
    assert rating.value == pytest.approx(
        700 + elo_difference((points + 0.5) / (games + 1)), abs=1e-4
    )
    assert rating.low < rating.value < rating.high
    assert all(map(math.isfinite, (rating.low, rating.high)))


# A round robin.


@pytest.mark.parametrize("seed", range(10))
def test_everybody_expects_the_points_that_they_have(seed):
    """What makes ratings most likely, also where some matches were won throughout."""
    random = np.random.default_rng(seed)
    names = "abcdef"
    matches = [
        (x, y, of_points(float(random.choice([0, 20, random.integers(0, 41) / 2])), 20))
        for x, y in [*pairwise(names), ("a", "c"), ("b", "f")]
    ]
    ratings = fit_ratings(matches, {"c": 500.0})
    for name in set(names) - {"c"}:
        surplus = 0.0
        for first, second, result in matches:
            if name in (first, second):
                other = second if name == first else first
                own = result if name == first else result.reversed
                difference = ratings[name].value - ratings[other].value
                surplus += own.points + 0.5 - (own.games + 1) * expected_score(difference)
        assert surplus == pytest.approx(0, abs=1e-5)


# Ratings in files.


@pytest.mark.parametrize("name", GAMES)
def test_ratings_that_come_along_are_what_their_matches_say(name):
    config = load_config(f"{name}/default")
    game = make_game(name, **config.options)
    stored = json.loads(files(anchors.__package__).joinpath("ratings.json").read_bytes())
    (own,) = (each for each in stored if (each["game"], each["options"]) == (name, game.options))
    matches = [
        (each["first"], each["second"], of_points(each["points"], each["games"]))
        for each in own["matches"]
    ]
    again = fit_ratings(matches, {anchors.REFERENCE: anchors.REFERENCE_ELO})
    assert again.keys() == own["players"].keys()
    for player, rating in again.items():
        assert own["players"][player] == pytest.approx(vars(rating), abs=0.051)
        assert make_agent(player, game).name == player
    known = anchors.known_elo(game)
    assert known == {player: rating["value"] for player, rating in own["players"].items()}
    assert known[anchors.REFERENCE] == anchors.REFERENCE_ELO == 1000
    assert known["random"] < known["uct:200"] < known["uct:1000"]


@pytest.mark.parametrize("name", shipped())
def test_shipped_configurations_have_anchors_with_ratings(name):
    config = load_config(name)
    known = anchors.known_elo(make_game(config.game, **config.options))
    against = config.evaluation.against
    assert isinstance(against, list)
    assert set(against) <= set(known)
    assert sorted(against, key=known.__getitem__) == against


@pytest.fixture
def small() -> Game:
    return make_game("corso", size=3)


def test_players_meet_the_next_two_of_the_list_unless_both_are_known(small, monkeypatch):
    pairs = anchors.pairs_to_rate(["random", "greedy", "uct:20"], {})
    assert pairs == [
        ("random", "greedy"),
        ("random", "uct:20"),
        ("greedy", "uct:20"),
        ("greedy", "uct:1000"),
        ("uct:20", "uct:1000"),
    ]
    players, known = ["random", "greedy", "uct:20"], {"random": -300.0, "uct:20": 800.0}
    assert anchors.pairs_to_rate(players, known) == [
        ("random", "greedy"),
        ("greedy", "uct:20"),
        ("greedy", "uct:1000"),
    ]
    assert anchors.known_elo(small) == {"uct:1000": 1000}  # others are of other options
    told, seeds = Told(), set()
    play = anchors.play_match
    monkeypatch.setattr(anchors, "play_match", lambda *a, **b: seeds.add(a[4]) or play(*a, **b))
    elo = measure_ratings(small, players, 6, known, progress=told)
    assert len(seeds) == 3  # each match has openings of its own, and each part of an evaluation
    play_anchors(small, make_agent("random", small), {"random": 0.0}, 8, seed=2)
    assert len(seeds) == 3 + 4
    assert elo.keys() == {*players, "uct:1000"}
    assert (elo["random"], elo["uct:20"], elo["uct:1000"]) == (-300, 800, 1000)
    assert sum(told.steps) == 18


# Evaluations against anchors.


@pytest.fixture(scope="module")
def corso() -> Game:
    return make_game("corso")


def test_an_agent_of_known_strength_is_rated_near_it(corso):
    """uct:200 once more, from the other anchors."""
    known = anchors.known_elo(corso)
    truth = known.pop("uct:200")
    agent = make_agent("uct:200", corso)
    rating, results = play_anchors(corso, agent, known, 200, guess=truth, seed=3)
    assert rating.low - 60 < truth < rating.high + 60
    assert rating.high - rating.low < 150
    assert not {"random", "uct:10000"} & results.keys()
    assert sum(result.games for result in results.values()) == rating.count == 200
    opponents = [known[name] for name in results]
    assert opponents == sorted(opponents)
    assert rating.value == pytest.approx(rated(opponents, list(results.values())).value, abs=1e-3)


def test_an_agent_is_not_its_anchor_though_it_has_the_name(small):
    known = {"random": 700.0, "uct:2": 800.0}
    rating, results = play_anchors(
        small, make_agent("random", small), known, 40, guess=720.0, seed=1
    )
    assert results.keys() == known.keys()
    again = rated([known[name] for name in results], list(results.values()))
    assert rating.value == pytest.approx(again.value, abs=1e-3)
    assert rating.low < rating.value < rating.high


def test_without_a_guess_an_agent_starts_at_the_weakest_and_climbs(corso):
    known = {"random": 0.0, "uct:20": 500.0, "uct:200": 900.0, "uct:1000": 1200.0}
    agent = make_agent("uct:1000", corso)
    result = play_anchors(corso, agent, known, 40, seed=1)
    results = result[1]
    assert (next(iter(results)), results["random"].games) == ("random", 10)
    assert list(results)[-1] == "uct:1000"
    assert result == play_anchors(corso, agent, known, 40, seed=1)
    assert result != play_anchors(corso, agent, known, 40, seed=2)


def test_hopeless_and_certain_anchors_are_left_alone(corso):
    known = {"random": 0.0, "greedy": 200.0, "uct:20": 4000.0}
    agent = make_agent("random", corso)
    _, results = play_anchors(corso, agent, known, 24, guess=0.0, seed=1)
    assert list(results) == ["random", "greedy"]
    # The next anchor is 3,800 points away: nothing is learnt from losing against it.
    far = {"random": 0.0, "uct:20": 4000.0}
    assert list(play_anchors(corso, agent, far, 24, guess=100.0, seed=1)[1]) == ["random"]


@pytest.mark.parametrize("games", [2, 4, 6, 10, 14])
def test_as_many_games_as_asked_for(small, games):
    agent = make_agent("random", small)
    told = Told()
    known = {"random": 0.0, "greedy": 300.0}
    _, results = play_anchors(small, agent, known, games, progress=told)
    assert sum(result.games for result in results.values()) == games
    assert all(result.games % 2 == 0 for result in results.values())
    assert sum(told.steps) == games
    assert min(told.steps) > 0


def test_evaluations_need_anchors(small):
    with pytest.raises(ValueError, match="no anchors"):
        play_anchors(small, make_agent("random", small), {}, 2)
