"""Every figure of a report against a count in plain Python over the same games."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from ludarium.arena.report.complexity import complexity
from ludarium.arena.report.drama import decisiveness, mistakes, value_games
from ludarium.arena.report.enumeration import observed
from ludarium.arena.report.games import random_games
from ludarium.arena.report.replays import replays
from ludarium.arena.report.shape import balance, branching, length, rules_in_play
from ludarium.arena.report.study import ReportSettings, Study, begin_study
from ludarium.arena.report.value_sources import ValueSource
from ludarium.envs import Game, make_game
from ludarium.envs.engine.position import contents_of
from ludarium.training.evaluation.statistics import mean, ratio, rounded, wilson
from tests.oddity import Oddity

GAMES = {"weak": 70, "middling": 30, "strong": 50}  # of which 40 at most have values
TINY = ReportSettings(games=40, playouts=(2, 3), rungs=(2, 4), positions=10, value_playouts=2)


def opinions(states: np.ndarray) -> np.ndarray:
    """Values of positions that follow no rule: many lead changes, comebacks and mistakes."""
    likely = (0.9, 0.9, 0.8, 0.8, 0.4, 0.1, 0.0, -0.2, -0.5, -0.95)
    return np.array([likely[crc32(contents_of(state)) % 10] for state in states])


class Played:
    """A game of a sample, replayed one move after another."""

    def __init__(self, sample: Any, number: int) -> None:
        game, position = sample.game, sample.game.start(int(sample.seeds[number]))
        self.actions, self.before, events = sample.moves(number), [], []
        for action in self.actions:
            self.before.append(position.copy())
            position.play(action)
            before = self.before[-1].states
            events.append(game.events(before, np.array([action]), position.states)[0])
        self.events = np.sum(events, axis=0)
        self.plies = len(self.actions)
        self.movers = [each.mover for each in self.before]
        self.choices = [len(each.legal_actions) for each in self.before]
        self.reward, self.is_capped = position.rewards[0], position.state.outcome == 4
        self.chances = [(opinions(each.states)[0] + 1) / 2 for each in self.before]
        self.chances.append((self.reward + 1) / 2)


def share(found: list[bool]) -> dict[str, Any]:
    return wilson(sum(found), len(found)).to_dict()


def average(numbers: list[float]) -> dict[str, Any]:
    return mean(np.array(numbers)).to_dict()


def per_ply(totals: list[float], games: list[Played]) -> dict[str, Any]:
    return ratio(np.array(totals), np.array([each.plies for each in games])).to_dict()


@pytest.fixture(scope="module", params=[Oddity(), make_game("corso", size=3)], ids=str)
def study(request: pytest.FixtureRequest) -> Study:
    game: Game = request.param
    study = begin_study(game, replace(TINY, agent="uct:5"))
    study.samples = {
        name: replace(random_games(game, count, seed), players=(name, name))
        for seed, (name, count) in enumerate(GAMES.items(), 5)
    }
    return study


@pytest.fixture(scope="module")
def played(study: Study) -> dict[str, list[Played]]:
    return {
        name: [Played(sample, number) for number in range(len(sample))]
        for name, sample in study.samples.items()
    }


def test_lengths_choices_results_and_rules(study: Study, played: dict[str, list[Played]]) -> None:
    for found, (name, games) in zip(length(study), played.items(), strict=True):
        plies = [each.plies for each in games]
        assert found == {
            "players": name,
            "plies": average(plies),
            "turns": average([len(list(groupby(each.movers))) for each in games]),
            "standard_deviation": rounded(np.std(plies)),
            "percentiles": {str(p): rounded(np.percentile(plies, p)) for p in (5, 25, 50, 75, 95)},
            "shortest": min(plies),
            "longest": max(plies),
            "games_by_plies": {str(ply): plies.count(ply) for ply in sorted(set(plies))},
        }
    for found, (name, games) in zip(branching(study), played.items(), strict=True):
        at = [[each.choices[n] for each in games if each.plies > n] for n in range(99)]
        shown = [each for each in at if len(each) >= max(5, len(games) / 10)]
        assert found == {
            "players": name,
            "mean": per_ply([sum(each.choices) for each in games], games),
            "forced": per_ply([each.choices.count(1) for each in games], games),
            "largest": max(max(each.choices) for each in games),
            "by_ply": [{"ply": n} | average(each) for n, each in enumerate(shown, 1)],
        }
    for found, (name, games) in zip(balance(study)["by_strength"], played.items(), strict=True):
        results = Counter(each.reward for each in games)
        assert found == {
            "players": name,
            "player_0_wins": wilson(results[1], len(games)).to_dict(),
            "draws": wilson(results[0], len(games)).to_dict(),
            "player_1_wins": wilson(results[-1], len(games)).to_dict(),
            "player_0_score": wilson(results[1] + results[0] / 2, len(games)).to_dict(),
            "ended_at_ply_cap": sum(each.is_capped for each in games),
            "distinct_games": len({repr((each.actions, each.before[0].states)) for each in games}),
        }
    rules, every = rules_in_play(study), [each for games in played.values() for each in games]
    for number, found in enumerate(rules["rules"]):
        counts = {name: [each.events[number] for each in games] for name, games in played.items()}
        assert found["rule"] == study.game.event_names[number]
        assert found["by_strength"] == [
            {"players": n, "per_game": average(c), "games_with": share([each > 0 for each in c])}
            for n, c in counts.items()
        ]
        assert (found["rule"] in rules["never"]) == (not sum(map(sum, counts.values())))
    unplayed = {*range(study.game.num_actions)}.difference(*(each.actions for each in every))
    assert (rules["games"], rules["actions_never_played"]) == (len(every), len(unplayed))
    assert rules["named"] == [study.game.action_names[action] for action in sorted(unplayed)[:20]]


@pytest.mark.parametrize("is_exact", [False, True])
def test_values_along_games(study: Study, played: dict[str, list[Played]], is_exact: bool) -> None:
    study.evaluator = ValueSource("opinions", opinions, is_exact)
    found = value_games(study)
    drama, errors = decisiveness(study, found)["by_strength"], mistakes(study, found)
    of_each = {name: games[:40] for name, games in played.items()}
    chances = smooth = {name: [each.chances for each in games] for name, games in of_each.items()}
    if not is_exact:
        slope = likely_slope(of_each["strong"])
        chances = {name: [scaled(each, slope) for each in c] for name, c in chances.items()}
        smooth = {name: [smoothed(each) for each in c] for name, c in chances.items()}
    drops = {
        name: [
            [
                (before - after) * (1, -1)[mover]
                for mover, (before, after) in zip(g.movers, pairwise(c), strict=True)
            ]
            for g, c in zip(games, chances[name], strict=True)
        ]
        for name, games in of_each.items()
    }
    leaning = 0.0 if is_exact else sum(map(sum, drops["strong"])) / sum(map(len, drops["strong"]))
    assert errors["leaning"] == pytest.approx(leaning, abs=1e-5)
    for row, wrong, (name, games) in zip(
        drama, errors["by_strength"], of_each.items(), strict=True
    ):
        changes = [lead_changes(each) for each in smooth[name]]
        won = [
            c if each.reward > 0 else [1 - chance for chance in c]
            for each, c in zip(games, smooth[name], strict=True)
            if each.reward
        ]
        clear = [max((n + 1 for n, c in enumerate(e) if c < 0.9), default=0) for e in won]
        clear = [n / (len(each) - 1) for n, each in zip(clear, won, strict=True)]
        halfway = [each[(len(each) - 1) // 2] for each in won]
        along = [[between(each, n / 20 * (len(each) - 1)) for each in won] for n in range(21)]
        close(
            row,
            {
                "players": name,
                "games": len(games),
                "decided": len(won),
                "lead_changes": average(changes),
                "games_without_lead_change": share([not each for each in changes]),
                "clear_at": average(clear),
                "clear_at_percentiles": {str(p): np.percentile(clear, p) for p in (10, 50, 90)},
                "comebacks": share([min(each[1:]) <= 0.25 for each in won]),
                "ahead_halfway_wins": share([each > 0.5 for each in halfway if each != 0.5]),
                "winners_chance": [
                    {"share": n / 20, "low": low, "median": median, "high": high}
                    | {"mean": sum(each) / len(each)}
                    for n, each in enumerate(along)
                    for low, median, high in [np.percentile(each, (10, 50, 90))]
                ],
            },
        )
        lost = [[drop - leaning for drop in each] for each in drops[name]]
        plies = [[n for n, drop in enumerate(e, 1) if drop >= 0.25 - 1e-9] for e in lost]
        first = [each[0] for each in plies if each]
        close(
            wrong,
            {
                "players": name,
                "games": len(games),
                "loss_per_move": per_ply([sum(each) for each in lost], games),
                "mistakes_per_game": average([len(each) for each in plies]),
                "games_with_mistake": share([bool(each) for each in plies]),
                "first_mistake_ply": average(first),
                "first_mistake_median": np.median(first),
                "without_mistake_by_ply": [
                    sum(not each or each[0] > n for each in plies) / len(plies)
                    for n in range(int(np.percentile([each.plies for each in games], 95)) + 1)
                ],
            },
        )
    check_replays(
        study, replays(study, found), of_each["strong"], chances["strong"], smooth["strong"]
    )


def check_replays(study: Study, found: list, games: list, chances: list, smooth: list) -> None:
    """Each replay has what its reasons promise; the first game of several alike is taken."""
    winners = [
        min(c if each.reward > 0 else 1 - c for c in smooth[n][1:]) if each.reward else 9
        for n, each in enumerate(games)
    ]
    changes = [lead_changes(each) for each in smooth]
    decided = [each.plies if each.reward else 999 for each in games]
    expected = {"the shortest game": decided.index(min(decided))}
    times = "once" if max(changes) == 1 else f"{max(changes)} times"
    expected[f"the lead changes {times}"] = changes.index(max(changes))
    expected[f"won from a chance of {100 * min(winners):.0f} %"] = winners.index(min(winners))
    if study.game.event_names:
        events = [each.events[0] for each in games]
        name = f'most of "{study.game.event_names[0]}": {max(events)}'
        expected[name] = events.index(max(events))
    assert {why: each["actions"] for each in found for why in each["why"]} == {
        why: games[number].actions for why, number in expected.items()
    }
    for each in found:
        number = expected[each["why"][0]]
        assert each["player_0_chances"] == pytest.approx(chances[number], abs=1e-5)


def close(found: Any, expected: Any) -> None:
    """Equal, numbers to five digits."""
    assert type(found) is not dict or found.keys() == expected.keys()
    if isinstance(expected, dict):
        for key, value in expected.items():
            close(found[key], value)
    elif isinstance(expected, list):
        for one, other in zip(found, expected, strict=True):
            close(one, other)
    else:
        assert found == (
            expected if isinstance(expected, str) else pytest.approx(expected, abs=2e-5)
        )


def logit(chance: float) -> float:
    chance = min(max(chance, 0.005), 0.995)
    return math.log(chance / (1 - chance))


def scaled(chances: list[float], slope: float) -> list[float]:
    """The estimates with their logits multiplied, and the result."""
    return [c if c in (0, 1) else 1 / (1 + math.exp(-slope * logit(c))) for c in chances]


def likely_slope(games: list[Played]) -> float:
    """Where the likelihood of the results, one for each game, times the prior is highest."""

    def gain(slope: float) -> float:
        return (
            1
            - slope
            + sum(
                logit(c)
                * ((each.reward + 1) / 2 - 1 / (1 + math.exp(-slope * logit(c))))
                / len(each.chances)
                for each in games
                for c in each.chances
            )
        )

    low, high = 0.1, 9.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gain(middle) > 0 else (low, middle)
    return low


def smoothed(chances: list[float]) -> list[float]:
    first, *_, last = chances
    return [first, *((one + other) / 2 for one, other in pairwise(chances[:-1])), last]


def lead_changes(chances: list[float]) -> int:
    leaders = [chance > 0.5 for chance in chances if abs(chance - 0.5) >= 0.6 - 0.5]
    return sum(one != other for one, other in pairwise(leaders))


def between(row: list[float], place: float) -> float:
    low = min(int(place), len(row) - 2)
    return row[low] + (place - low) * (row[low + 1] - row[low])


def test_sizes(study: Study, played: dict[str, list[Played]]) -> None:
    found, games = complexity(study), played["weak"]
    products = [math.prod(each.choices) for each in games]
    assert found["tree_knuth"]["value"] == pytest.approx(math.log10(sum(products) / 70), abs=1e-4)
    powers = [math.log10(math.prod(each.choices)) for each in played["strong"]]
    close(found["tree_power"], average(powers) | {"players": "strong"})
    seen = [
        Counter(
            observed(study.game, each.before[ply].states).tobytes()
            for each in games
            if each.plies > ply
        )
        for ply in range(max(each.plies for each in games))
    ]
    bounds = 0.0
    for counter in seen:
        times = Counter(counter.values())
        bounds += len(counter) + times[1] * (times[1] - 1) / (2 * (times[2] + 1))
    least = found["positions_seen_at_least"]
    assert least["value"] == pytest.approx(math.log10(bounds), abs=1e-5)
    assert 0.01 < least["high"] - least["value"] < 0.3
    planes = np.concatenate([observed(study.game, p.states) for g in games for p in g.before])
    even = {n for n in range(planes.shape[1]) if all(len(set(each[n])) == 1 for each in planes)}
    if planes.shape[2] == 1:
        even = set()
    kinds = 2 * len({tuple(each[n][0] for n in even) for each in planes})
    for cell in range(planes.shape[2]):
        kinds *= len({tuple(np.delete(each[:, cell], [*even])) for each in planes})
    assert found["positions_at_most"]["value"] == pytest.approx(math.log10(kinds), abs=1e-5)
