"""Sequential comparisons by games: what counts, resuming, the command."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from ludarium.arena import schedule
from ludarium.arena.contest import Comparison, Contest, play_contest, read_contest
from ludarium.arena.sprt import MOST_REPEATS, SPRT, SPRTResult, Verdict
from ludarium.cli import main
from ludarium.envs import make_game
from tests.progress import Told

GAME = make_game("corso", size=3)
TEST = SPRT(-10, 200, 0.1, 0.05)
PLAN = Comparison(("uct:50", "random"), **asdict(TEST))


@pytest.fixture(autouse=True)
def small_matches(monkeypatch):
    monkeypatch.setattr(schedule, "MATCH_OPENINGS", 2)
    monkeypatch.setattr(schedule, "BLOCK", 20)


def compare(folder: Path | None = None, plan: Comparison = PLAN, **others: Any) -> Contest:
    return play_contest(GAME, plan, folder=folder, **others)


def ended(contest: Contest) -> SPRTResult:
    assert isinstance(contest.outcome, SPRTResult)
    return contest.outcome


def test_the_verdict_and_what_counts_do_not_depend_on_the_number_of_workers():
    told = Told()
    contest = compare(progress=told, workers=1)
    assert contest.to_dict() == compare(workers=5).to_dict()
    assert told.begun == [("games", PLAN.games_limit)]
    assert told.notes[-1] == contest.line


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_pair_counts_after_the_one_that_decides(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(schedule, "MATCH_OPENINGS", 10)
    found = ended(compare(tmp_path, replace(PLAN, seed=seed), workers=2))
    assert found.games % 20  # it was decided within a match
    assert found.verdict is not Verdict.OPEN
    assert not found.repeated
    lines = (tmp_path / "games.jsonl").read_text().splitlines()
    records = {(record := json.loads(line))["number"]: record for line in lines}
    points = [
        records[number]["result"][records[number]["players"].index("uct:50")] / 2 + 0.5
        for number in range(found.games)
    ]
    counts = [0] * 5
    for one, other in zip(points[::2], points[1::2], strict=True):
        assert TEST.verdict(float(TEST.llr(counts))) is Verdict.OPEN
        counts[round(2 * (one + other))] += 1
    assert counts == list(found.counts)
    assert len(lines) >= found.games


def test_a_limit_ends_it_without_a_verdict():
    contest = compare(plan=Comparison(("uct:50", "uct:51"), elo1=5, games_limit=10))
    assert contest.is_over
    found = ended(contest)
    assert (found.games, found.verdict) == (10, Verdict.OPEN)
    assert contest.text().startswith("no verdict within 10 games")


def test_bounds_may_be_in_normalised_elo(tmp_path):
    contest = compare(tmp_path, replace(PLAN, normalised=True))
    assert "H1 (+200 normalised Elo) rather than H0 (-10 normalised Elo)" in contest.text()
    assert read_contest(tmp_path, Comparison).to_dict() == contest.to_dict()
    assert contest.to_dict()["normalised_elo"]["low"] > 0


def test_pairs_of_games_that_repeat_earlier_ones_do_not_count():
    """Nor do agents that always answer alike come to a verdict by one pair, played for ever."""
    plan = replace(PLAN, agents=("first", "last"), opening_plies=0)
    players = {
        "first": lambda position: position.legal_actions[0],
        "last": lambda position: position.legal_actions[-1],
    }
    contest = compare(plan=plan, players=players)
    found = ended(contest)
    assert contest.is_over
    assert (found.games, found.repeated) == (2, MOST_REPEATS)
    assert found.verdict is Verdict.OPEN
    assert contest.caveats[0].startswith(f"{MOST_REPEATS} of {MOST_REPEATS + 1} pairs of games")
    assert contest.text().startswith(f"no verdict: the last {MOST_REPEATS} pairs of games repeat")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"agents": ("a", "b", "c")}, "a comparison is of two agents, not of 3"),
        ({"agents": ("a", "a")}, "'a' is named twice"),
        ({"games_limit": 5}, "games_limit is a positive even number"),
        ({"games_limit": 4.0}, r"games_limit is 4\.0; accepted: a whole number from 2 on"),
    ],
)
def test_plans_that_cannot_be_played_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Comparison(**{"agents": ("a", "b"), **arguments})


def test_the_command_compares_resumes_and_shows(tmp_path, capsys):
    folder = str(tmp_path / "test")
    arguments = ["compare", "uct:50", "random", "--game", "corso", "--option", "size=3"]
    assert main([*arguments, "--elo1", "200", "--folder", folder]) == 0
    assert "uct:50 is stronger than random: H1 (+200 Elo)" in capsys.readouterr().out
    assert main(["compare", "--folder", folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "H1"
