"""Every figure of a report against a count in plain Python over the same games."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import replace
from itertools import count, groupby, pairwise
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from ludarium.arena.report import openings as first_moves
from ludarium.arena.report import page
from ludarium.arena.report.charts import heat_marks, spot_radius
from ludarium.arena.report.comparison import _summary, compare
from ludarium.arena.report.complexity import complexity
from ludarium.arena.report.drama import decisiveness, mistakes, value_games
from ludarium.arena.report.enumeration import observed
from ludarium.arena.report.games import random_games
from ludarium.arena.report.measure import measure
from ludarium.arena.report.mirror import MirrorAgent, mirror
from ludarium.arena.report.openings import _estimates, fit_chances, openings, without_swap
from ludarium.arena.report.replays import replays
from ludarium.arena.report.shape import balance, branching, length, rules_in_play
from ludarium.arena.report.skill import skill
from ludarium.arena.report.study import ReportSettings, Study, begin_study
from ludarium.arena.report.summary import summarise
from ludarium.arena.report.value_sources import ValueSource
from ludarium.base.progress import SILENT
from ludarium.envs import Game, make_game
from ludarium.envs.engine.position import contents_of
from ludarium.training.agents import read_agent
from ludarium.training.evaluation import Games, fit_ratings, play_match
from ludarium.training.evaluation.statistics import (
    IntervalEstimate,
    MatchResult,
    mean,
    ratio,
    rounded,
    wilson,
)
from tests.analysis.corso_positions import minimax
from tests.games import after as played_on
from tests.games import children
from tests.oddity import Oddity
from tests.tictactoe import TicTacToe

COUNTS = {"weak": 70, "middling": 30, "strong": 50}  # of which 40 at most have values
DRAMA = "lead_changes", "comebacks"
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


@pytest.fixture(scope="module", params=[Oddity(), make_game("corso", size=3), TicTacToe()], ids=str)
def study(request: pytest.FixtureRequest) -> Study:
    game: Game = request.param
    study = begin_study(game, replace(TINY, agent="uct:5"))
    for seed, (name, games) in enumerate(COUNTS.items(), 5):
        sample = replace(random_games(game, games, seed), players=(name, name))
        assert (len(set(sample.seeds)) > 9) == game.random_start
        rows = np.arange(games) % 45  # some games come twice
        columns = ("seeds", "seats", "opening_plies", "actions", "plies", "outcomes")
        again = {column: getattr(sample, column)[rows] for column in columns}
        study.samples[name] = replace(sample, **again)
    return replace(study, samples={name: study.samples[name] for name in COUNTS})


@pytest.fixture(scope="module")
def played(study: Study) -> dict[str, list[Played]]:
    return {
        name: [Played(sample, number) for number in range(len(sample))]
        for name, sample in study.samples.items()
    }


def test_games_between_equals_follow_the_seed() -> None:
    studies = [begin_study(make_game("corso", size=3), replace(TINY, seed=n)) for n in (1, 1, 2)]
    for same, again, other in zip(*(each.samples.values() for each in studies), strict=True):
        np.testing.assert_array_equal(same.actions, again.actions)
        assert [*map(same.moves, range(9))] != [*map(other.moves, range(9))]


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
            [(b - a) * (1, -1)[m] for m, (b, a) in zip(g.movers, pairwise(c), strict=True)]
            for g, c in zip(games, chances[name], strict=True)
        ]
        for name, games in of_each.items()
    }
    leaning = 0.0 if is_exact else sum(map(sum, drops["strong"])) / sum(map(len, drops["strong"]))
    assert errors["leaning"] == pytest.approx(leaning, abs=1e-5)
    for row, name in enumerate(of_each):
        games = of_each[name]
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
        assert leaves(drama[row]) == near(
            {
                **{"players": name, "games": len(games), "decided": len(won)},
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
            }
        )
        lost = [[drop - leaning for drop in each] for each in drops[name]]
        plies = [[n for n, drop in enumerate(e, 1) if drop >= 0.25 - 1e-9] for e in lost]
        first = [each[0] for each in plies if each]
        longest = int(np.percentile([each.plies for each in games], 95))
        assert leaves(errors["by_strength"][row]) == near(
            {
                **{"players": name, "games": len(games)},
                "loss_per_move": per_ply([sum(each) for each in lost], games),
                "mistakes_per_game": average([len(each) for each in plies]),
                "games_with_mistake": share([bool(each) for each in plies]),
                "first_mistake_ply": average(first),
                "first_mistake_median": np.median(first),
                "without_mistake_by_ply": [
                    sum(not each or each[0] > n for each in plies) / len(plies)
                    for n in range(longest + 1)
                ],
            }
        )
    check_replays(study, replays(study, found), *(x["strong"] for x in (of_each, chances, smooth)))


def check_replays(study: Study, found: list, games: list, chances: list, smooth: list) -> None:
    """Each replay has what its reasons promise; the first game of several alike is taken."""
    winners = [
        min(c if each.reward > 0 else 1 - c for c in smooth[n][1:]) if each.reward else 9
        for n, each in enumerate(games)
    ]
    changes = [lead_changes(each) for each in smooth]
    decided = [each.plies if each.reward else 999 for each in games]
    expected = {"the shortest decided game": decided.index(min(decided))}
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


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """What figures consist of, by the path to each."""
    if not isinstance(value, dict | list):
        return {path: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return {k: v for key, each in items for k, v in leaves(each, f"{path}/{key}").items()}


def near(expected: Any) -> Any:
    return pytest.approx(leaves(expected), abs=2e-5)


def logit(chance: float) -> float:
    chance = min(max(chance, 0.005), 0.995)
    return math.log(chance / (1 - chance))


def scaled(chances: list[float], slope: float) -> list[float]:
    """The estimates with their logits multiplied, and the result."""
    return [c if c in (0, 1) else 1 / (1 + math.exp(-slope * logit(c))) for c in chances]


def likely_slope(games: list[Played]) -> float:
    """Where the likelihood of the results, one for each game, times the prior is highest."""
    x = np.array([logit(chance) for each in games for chance in each.chances])
    points = np.array([(each.reward + 1) / 2 for each in games for _ in each.chances])
    weights = np.array([1 / len(each.chances) for each in games for _ in each.chances])
    low, high = 0.1, 9.0
    for _ in range(60):
        slope = (low + high) / 2
        gain = 1 - slope + (weights * x * (points - 1 / (1 + np.exp(-slope * x)))).sum()
        low, high = (slope, high) if gain > 0 else (low, slope)
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
    assert leaves(found["tree_power"]) == near(average(powers) | {"players": "strong"})
    bounds = 0.0
    for ply in range(max(each.plies for each in games)):
        on = [each.before[ply].states for each in games if each.plies > ply]
        seen = Counter(observed(study.game, states).tobytes() for states in on)
        times = Counter(seen.values())
        bounds += len(seen) + times[1] * (times[1] - 1) / (2 * (times[2] + 1))
    least = found["positions_seen_at_least"]
    assert least["value"] == pytest.approx(math.log10(bounds), abs=1e-5)
    assert 0.01 < least["high"] - least["value"] < 0.3
    planes = np.concatenate([observed(study.game, p.states) for g in games for p in g.before])
    even = {n for n in range(planes.shape[1]) if all(len(set(each[n])) == 1 for each in planes)}
    kinds = 2 * len({tuple(each[n][0] for n in even) for each in planes})
    for cell in range(planes.shape[2]):
        kinds *= len({tuple(np.delete(each[:, cell], [*even])) for each in planes})
    assert found["positions_at_most"]["value"] == pytest.approx(math.log10(kinds), abs=1e-5)


@pytest.fixture
def matches(monkeypatch: pytest.MonkeyPatch) -> dict[str, Games]:
    """The games of each match that a study plays from now on, by the match's title."""
    found, match = {}, Study.match

    def kept(self: Study, title: str, *others: Any) -> Games:
        return found.setdefault(title, match(self, title, *others))

    monkeypatch.setattr(Study, "match", kept)
    return found


def test_mirrors_follow_a_game_that_began_at_a_position() -> None:
    game = make_game("corso", size=3)
    start = played_on(played_on(game.start(0), 0), 8)
    agent = MirrorAgent(game, game.symmetries(), 1)
    games = play_match(game, agent, "random", 2, seed=1, openings=[start.text])
    plies = games.plies - games.opening_plies
    # It begins one game, and has nothing to mirror then; each other move of its own has an image.
    assert agent.tried.tolist() == [(plies[0] - 1) // 2, plies[1] // 2]


def test_mirrors(study: Study, matches: dict[str, Games]) -> None:
    rows, symmetries = mirror(study)["played"], study.game.symmetries()
    turn, legal = study.game.canonical_turn, {}
    for title, played in matches.items():
        number, against = int(title.split()[1]), title.split()[-1]
        answers: tuple[list[bool], list[bool]] = ([], [])  # of each seat: were images legal?
        for row, seat in enumerate(played.seats.tolist()):
            images, last, position = [], seat, study.game.start(int(played.seeds[row]))
            for action in played.moves(row):
                mover, before = position.mover, position.copy()
                if mover != seat:
                    table = symmetries.actions_of(before.states, number)[0].tolist()
                    image = table.index(action)
                    images = images * (last == mover)
                    images.append(image if turn is None else int(turn.actions[image]))
                elif images:
                    image, *images = images
                    answers[seat].append(image in before.legal_actions)
                    assert action == image or not answers[seat][-1]
                last = mover
                position.play(action)
        shares = [sum(each) / max(1, len(each)) for each in answers]
        if against == "random":
            legal[number] = max(shares)
        of_match = [row for row in rows if (row["number"], row["against"]) == (number, against)]
        for seat, found in enumerate(of_match):
            rewards = played.rewards(seat)[played.seats == seat].tolist()
            results = [Counter(rewards)[n] for n in (1, 0)]
            points = wilson(results[0] + results[1] / 2, len(rewards))
            told = {"value": shares[seat], "moves": len(answers[seat]), "games": len(rewards)}
            assert (found["seat"], found["score"], found["legal"]) == (seat, points.to_dict(), told)
    ranked = sorted((n for n in legal if legal[n] >= 0.05), key=lambda n: -legal[n])
    of_each = [(n, a) for n in ranked for a in ["random"] + ["uct:2"] * (n in ranked[:3])]
    assert [(row["number"], row["against"]) for row in rows] == [e for e in of_each for _ in (0, 1)]


def test_the_ladder(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    results = {
        ("random", "uct:2"): MatchResult(1, 2, 9),
        ("uct:2", "uct:16"): MatchResult(3, 1, 8),
        ("uct:16", "uct:5"): MatchResult(3, 4, 5),
    }
    monkeypatch.setattr(
        Study,
        "match",
        lambda _, title, *__: SimpleNamespace(result=results[*title.split(" against ")]),
    )
    study = replace(study, settings=replace(study.settings, rungs=(2, 16)))
    found = skill(study)
    rated = fit_ratings([(*pair, result) for pair, result in results.items()], {"random": 0.0})
    ranked = sorted(rated, key=lambda name: rated[name].value)
    assert ranked == ["random", "uct:2", "uct:16", "uct:5"]
    assert [each["player"] for each in found["ladder"]] == ranked
    assert [each["is_rung"] for each in found["ladder"]] == [True, True, True, False]
    for row in found["ladder"]:
        assert row["value"] == rounded(rated[row["player"]].value)
    spans = rated["uct:5"].to_dict(), rated["uct:16"].to_dict()
    assert (found["span"], found["span_of_search"]) == spans
    assert (found["strongest"], found["steps"]) == ("uct:5", rounded(rated["uct:5"].value / 100))
    gained = rated["uct:16"].value - rated["uct:2"].value
    assert found["elo_per_doubling"]["value"] == pytest.approx(gained / 3, rel=1e-3)
    for row, ((against, player), result) in zip(found["matches"], results.items(), strict=True):
        told = {"player": player, "against": against, "wins": result.losses}
        assert told.items() <= row.items()


def test_a_network_and_its_policy_are_on_the_ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    met: dict[tuple[str, str], list[str]] = {}

    def match(_: Study, title: str, *agents: Any) -> Any:
        met[*title.split(" against ")] = [agent.name for agent in agents[:2]]
        return SimpleNamespace(result=MatchResult(1, 1, 1))

    monkeypatch.setattr(Study, "match", match)
    game, settings = make_game("corso"), replace(TINY, agent="corso:3", rungs=(2, 4, 8))
    skill(Study(game, settings, SILENT, read_agent("corso:3"), *[None] * 3))
    assert list(met)[3:] == [
        *(("uct:8", "trained"), ("uct:4", "policy alone"), ("policy alone", "trained"))
    ]
    assert met["policy alone", "trained"] == ["corso:0", "corso:3"]


@pytest.mark.parametrize("is_exact", [False, True])
@pytest.mark.parametrize(
    "game",
    [TicTacToe(), *(make_game("onyx", size=6, swap_rule=swap) for swap in (True, False))],
    ids=str,
)
def test_first_moves(game: Game, is_exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    noise, step, begun = count(), 0 if is_exact else 0.03, []
    source = ValueSource(
        "noisy", lambda states: opinions(states) + step * (next(noise) % 3), is_exact, not is_exact
    )
    monkeypatch.setattr(first_moves, "playout_values", lambda *_: source)
    monkeypatch.setattr(first_moves, "exact_evaluator", lambda *_: source if is_exact else None)
    monkeypatch.setattr(
        first_moves, "play_match", lambda *a, **k: begun.append(play_match(*a, **k)) or begun[-1]
    )
    study = begin_study(game, replace(TINY, agent="uct:5"))
    study.exact = source if is_exact else None
    found, game = openings(study), without_swap(game)
    after, symmetries = children(game.start()), game.symmetries().observation
    seen = {action: child.observation().ravel() for action, child in after.items()}
    orbits = []
    for action, planes in seen.items():
        images = {planes[each].tobytes() for each in symmetries}
        orbit = [other for other, others in seen.items() if others.tobytes() in images]
        if action == min(orbit):
            orbits.append(orbit)
    repeats = 1 if is_exact else 3
    values = [[opinions(c.states)[0] + step * n for n in range(repeats)] for c in after.values()]
    chances = (np.array(values) + 1) / 2
    places = {action: place for place, action in enumerate(after)}
    estimates = _estimates(chances, [[places[action] for action in orbit] for orbit in orbits])
    order = sorted(range(len(orbits)), key=lambda n: -estimates[n].value)
    most = min(6, len(orbits))
    tried = [order[round(n * (len(orbits) - 1) / (most - 1))] for n in range(most)]
    (games,) = begun
    points, of_each = [], []
    for row, number in zip(found["played"], tried, strict=True):
        mine = [n for n in range(len(games)) if games.moves(n)[0] == orbits[number][0]]
        rewards = [played_on(game.start(), *games.moves(n)).rewards[0] for n in mine]
        points.append((len(mine) + sum(rewards)) / 2)
        of_each.append(len(mine))
        assert row == {
            "move": game.start().action_to_text(orbits[number][0]),
            "players": "uct:5",
            "player_0_score": wilson(points[-1], len(mine)).to_dict(),
            "points": points[-1],
            "draws": rewards.count(0),
            "distinct_games": len({tuple(games.moves(n)) for n in mine}),
        }
    fitted = fit_chances(estimates, tried, np.array(points), np.array(of_each))
    fitted = estimates if is_exact else fitted
    ranked = [*zip(fitted, estimates, orbits, strict=True)]
    ranked.sort(key=lambda each: -rounded(each[0].value))
    for row, (chance, searched, orbit) in zip(found["moves"], ranked, strict=True):
        assert row["actions"] == orbit
        assert row["moves"] == [game.start().action_to_text(action) for action in orbit]
        assert [row["chance"], row["searched"]] == [chance.to_dict(), searched.to_dict()]
    values = [chance.value for chance, *_, orbit in ranked for _ in orbit]
    fairest = min(ranked, key=lambda each: abs(each[0].value - 0.5))
    expected = {
        "fair": sum(abs(value - 0.5) <= 0.05 for value in values),
        "to_be_swapped": sum(value > 0.55 for value in values),
        "chance_without_swap": ranked[0][0].to_dict(),
        "chance_with_swap": max(min(value, 1 - value) for value in values),
        "fairest": game.start().action_to_text(fairest[2][0]),
        "legal": len(after),
        "searches_per_move": repeats,
        "has_swap_rule": game.name == "onyx",
        "swap_rule_in_this_game": study.game.options.get("swap_rule", False),
    }
    assert leaves({key: found[key] for key in expected}) == near(expected)


def test_perfect_first_moves() -> None:
    game = make_game("corso", size=3)
    found, known = openings(begin_study(game, TINY)), {}
    perfect = {a: int(np.sign(-minimax(c, known))) for a, c in children(game.start()).items()}
    assert {a: m["perfect"] for m in found["moves"] for a in m["actions"]} == perfect
    counts = Counter(perfect.values())
    assert found["perfect_wins_draws_losses"] == [counts[1], counts[0], counts[-1]]
    assert counts[1] != counts[-1]


def renumbered(value: Any, numbers: Any) -> Any:
    """A copy of a report whose estimates all differ."""
    if isinstance(value, dict) and {"value", "low", "high"} <= value.keys():
        number = round(next(numbers), 4)
        value = {**value, "value": number, "low": number - 0.0002, "high": number + 0.0002}
    elif isinstance(value, dict):
        value = {key: renumbered(each, numbers) for key, each in value.items()}
    elif isinstance(value, list):
        value = [renumbered(each, numbers) for each in value]
    return value


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    report = measure(make_game("corso", size=3), replace(TINY, agent="uct:5"))
    return renumbered(report, count(0.2, 0.0003))


def told(figure: dict[str, Any], factor: int = 100) -> str:
    """As a report's sentences do."""
    estimate = IntervalEstimate(figure["value"], figure["low"], figure["high"], 0)
    return f"{estimate:{'.0%' if factor == 100 else ',.1f'}}"


def test_sentences(data: dict[str, Any]) -> None:
    data = renumbered(data, count(0.2, 0.0003))
    of = {name: data[name][-1] for name in ("length", "branching")}
    score, drama = data["balance"]["by_strength"][-1], data["decisiveness"]["by_strength"][-1]
    random = data["balance"]["by_strength"][0]["player_0_score"]
    first, skill, size = data["openings"], data["skill"], data["complexity"]
    skill["span"]["value"] = 234.0
    first.update(to_be_swapped=2, fair=3, perfect_wins_draws_losses=[4, 1, 3], chance_with_swap=0.4)
    data["rules_in_play"].update(never=["this", "that"], actions_never_played=2)
    of["length"]["percentiles"] = {"5": 3, "25": 4, "50": 5, "75": 6, "95": 7}
    rows = data["mirror"]["played"]
    assert len({row["against"] for row in rows}) == 2
    best = [row for row in rows if row["against"] == "uct:2"][-1]  # as the numbers rise
    best["score"].update(value=0.52, low=0.48, high=0.56)
    counts = score["player_0_wins"]["count"], score["player_0_score"]["value"] < 0.5
    assert counts == (40, True)
    data["balance"]["by_strength"][0]["player_0_wins"]["count"] = 400
    assert summarise(data) == [
        f"Between equal strong players (uct:5, 40 games) player_0, who moves first, wins "
        f"{told(score['player_0_wins'])}, player_1 wins {told(score['player_1_wins'])}, and "
        f"{told(score['draws'])} are drawn.",
        f"The second player has the advantage: player_0 scores {told(score['player_0_score'])} of "
        f"the points, and {told(random)} of the points when both play at random.",
        "With perfect play player_0 wins: that is proven.",
        f"Their games last {told(of['length']['plies'], 1)} plies in "
        f"{told(of['length']['turns'], 1)} turns, nine in ten of them 3 to 7, with "
        f"{told(of['branching']['mean'], 1)} legal moves on average.",
        f"The best first move, {first['moves'][0]['moves'][0]}, gives player_0 "
        f"{told(first['moves'][0]['chance'])} of the points between strong players; 2 of 9 first "
        "moves give more than 55 %, so that an opponent should swap, and 3 are fair (45 to 55 %).",
        "With perfect play 4 of them win, 1 draw, 3 lose.",
        f"Under a swap rule player_0 does best to offer {first['fairest']}, which would leave "
        "player_0 40 % and player_1 60 %.",
        f"The winner is clear (a chance of 90 % that lasts) after {told(drama['clear_at'])} of a "
        f"game; the lead changes {told(drama['lead_changes'], 1)} times, and "
        f"{told(drama['comebacks'])} of decided games are won after the winner's chance was down "
        "to a quarter.",
        f"Each doubling of a search's playouts gains {told(skill['elo_per_doubling'], 1)} Elo "
        f"points; from random play to {skill['strongest']} the ladder is 234 Elo high, some "
        f"{skill['steps']:.0f} steps at each of which the better player scores 64 %.",
        "In 500 games these rules never came into play: this, that.",
        "2 of 9 actions were never played.",
        f"Mirror play does not work: at best ({best['symmetry']}, as player_{best['seat']}) it "
        "scores 52 % (48 to 56) against uct:2.",
        f"The game tree has about 10^{size['tree_knuth']['value']:.0f} leaves; the positions are "
        f"at least 10^{size['positions_seen_at_least']['value']:.1f} and at most about "
        f"10^{size['positions_at_most']['value']:.0f}.",
    ]


def test_comparisons(data: dict[str, Any]) -> None:
    reports = [renumbered(data, count(n, 0.0003)) for n in (0.3, 0.1, 0.3003)]
    for players, row in (("uct:5", -1), ("uct:3", -2)):
        found = compare("size", [5, 4, 3], reports)
        assert found["players"] == players
        told_by = [
            [report["balance"]["by_strength"][row][key] for key in ("player_0_score", "draws")]
            + [report["openings"]["chance_without_swap"] if row == -1 else None]
            + [report["length"][row]["plies"], report["branching"][row]["mean"]]
            + [report["skill"][key] for key in ("elo_per_doubling", "span_of_search")]
            + [report["complexity"]["tree_knuth"]]
            + [report["decisiveness"]["by_strength"][row].get(key) for key in ("clear_at", *DRAMA)]
            + [report["mistakes"]["by_strength"][1]["loss_per_move"]]
            for report in reports
        ]
        assert [figure["values"] for figure in found["figures"]] == list(
            map(list, zip(*told_by, strict=True))
        )
        for name, place, factor in (("Draws", 1, 100), ("Plies of a game", 3, 1)):
            high, low = (told(told_by[n][place], factor) for n in (2, 1))
            assert f"{name}: {high} with size = 3, but {low} with size = 4." in found["summary"]
        near = compare("size", [5, 3], reports[::2])["summary"]
        assert near == ["In all of these figures the intervals overlap."]
        text = json.dumps(reports[2]["balance"]).replace("uct:5", "other")
        reports[2]["balance"] = json.loads(text)
    reports[0]["evaluator"] = "another"
    assert len(compare("size", [5, 4, 3], reports)["figures"]) == 8


def test_a_comparison_tells_of_any_intervals_that_do_not_overlap() -> None:
    found = ((0.1, 0.0, 0.9, 9), (0.5, 0.48, 0.52, 9), (0.8, 0.7, 0.85, 9))
    values = [IntervalEstimate(*each).to_dict() for each in found]
    figure = {"name": "draws", "share": True, "values": values}
    (sentence,) = _summary("size", [5, 4, 3], [figure])
    assert " with size = 3, but " in sentence
    assert sentence.endswith(" with size = 4.")


def test_charts_show_the_figures(data: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    data, shown = renumbered(data, count(0.2, 0.0003)), dict[str, Any]()
    wide = {"10": 3, "13": 1, "31": 2, "50": 1}
    data["length"][0].update(standard_deviation=5, games_by_plies=wide)
    for name in ("line_chart", "dot_chart", "share_chart"):
        monkeypatch.setattr(
            page, name, lambda rows, *others, **_: shown.update({others[0]: rows, others[1]: rows})
        )
    monkeypatch.setattr(page, "heat_map", lambda *given: given)
    board, moves = page._view(make_game("corso", size=3), data)["board"], data["openings"]["moves"]
    assert board[2] == {a: m["chance"]["value"] for m in moves for a in m["actions"]}
    page._first_moves(moves)
    dots = shown["Chance of player_0 after each first move"]
    assert [row.value for row in dots] == [move["chance"]["value"] for move in moves]
    rows = data["balance"]["by_strength"]
    shares = [
        [r[key]["value"] for key in ("player_0_wins", "draws", "player_1_wins")] for r in rows
    ]
    assert [row.shares for row in shown["How often each side wins, by strength of play"]] == shares
    for line, row in zip(shown["Length of games"], data["length"], strict=True):
        width, counts = line.x[1] - line.x[0], row["games_by_plies"]
        for x, y in zip(line.x, line.y, strict=True):
            games = sum(counts[n] for n in counts if abs(int(n) - x) < width / 2)
            assert y == pytest.approx(games / sum(counts.values()) / width)
        assert sum(line.y) * width == pytest.approx(1)
    for line, row in zip(shown["Branching factor"], data["branching"], strict=True):
        of_each = [[each[key] for each in row["by_ply"]] for key in ("ply", "value", "low", "high")]
        assert [line.x, line.y, line.low, line.high] == of_each
    rows = data["decisiveness"]["by_strength"]
    for line, row in zip(shown["Chance of the eventual winner"], rows, strict=True):
        points = row["winners_chance"]
        assert line.x == [100 * each["share"] for each in points]
        assert line.y == [each["median"] for each in points]
        assert list(line.low) == [each["low"] for each in points if row is rows[-1]]
    for line, row in zip(shown["First mistakes"], data["mistakes"]["by_strength"], strict=True):
        shares = row["without_mistake_by_ply"]
        assert (line.x, line.y) == ([*range(len(shares))], shares)
    ladder = [(row.value, row.low, row.high, row.series) for row in shown["Elo ladder"]]
    keys = "value", "low", "high"
    players = data["skill"]["ladder"]
    assert ladder == [(*(each[key] for key in keys), 1 - each["is_rung"]) for each in players]
    many = [{"chance": {"value": n / 60}} for n in range(60, 0, -1)]
    kept = [*range(60, 52, -1), *range(33, 25, -1), *range(8, 0, -1)]
    found = {round(60 * each["chance"]["value"]) for each in page._shown_moves(many)}
    assert found ^ set(kept) <= {26, 34}


def test_marks_of_charts_are_at_their_places() -> None:
    line = page.Line("a", [2, 4], [0.1, 0.3], [0.0, 0.2], [0.2, 0.4])
    svg = page.line_chart([line, line], "t", "x", "y", (0, 1))
    low, value, high = ([8 + 186 * (1 - y) for y in ys] for ys in (line.low, line.y, line.high))
    shapes = [re.findall(r"[0-9.]+", each) for each in re.findall(r'points="([^"]*)"', svg)]
    of_band = [44, high[0], 410, high[1], 410, low[1], 44, low[0]]
    expected = [of_band] * 2 + [[44, value[0], 410, value[1]]] * 2
    for shape, numbers in zip(shapes, expected, strict=True):
        assert list(map(float, shape)) == pytest.approx(numbers, abs=0.1)
    assert svg.count('class="key"') == 2
    svg = page.share_chart([page.Row("a", shares=(0.5, 0.43, 0.07))], ("a", "b", "c"), "t")
    rooms = re.findall(r'<rect class="bar s\d" x="([0-9.]+)" y="3" width="([0-9.]+)"', svg)
    places = [float(number) for room in rooms for number in room]
    assert places == pytest.approx([100, 158, 258, 135.9, 393.9, 22.1], abs=0.1)
    assert re.findall(r'class="inside".*?>(\d+)<', svg) == ["50", "43"]
    assert 'class="mark" d="M258.0 0' in svg
    svg = page.dot_chart([page.Row("a", 0.5, 0.4, 0.8)], "t", "{:.2f}".format)
    assert 'd="M100.0 12.5H354.0"' in svg
    assert 'cx="163.5"' in svg
    assert svg.count(">0.50<") == 2  # a tick, and the value
    svg = page.dot_chart([page.Row("a", 0.7, 0.6, 0.8)], "t", "{:.2f}".format, mark=0.5)
    assert 'class="mark" d="M100.0 ' in svg  # beside all intervals
    assert 'd="M184.7 12.5H354.0"' in svg
    assert [page.diverging(n) for n in (1, 0.5, 0)] == ["#005c9e", "#ffffff", "#d55e00"]
    assert [page.ink_on(n) for n in (0.1, 0.4, 0.9)] == ["#fff", "#111", "#fff"]
    spots = np.array([[0.0, 0], [30, 0], [0, 10], [np.nan, np.nan]])
    assert spot_radius(spots) == pytest.approx(4.6)
    marks = heat_marks(spots, {0: 0.47, 1: 0.3, 2: 0.9, 3: 0.5}, 4.6, 0.05)
    assert re.findall(r">(\d+)<", marks) == ["47", "30", "90"]
    assert marks.count("stroke-width") == 1
