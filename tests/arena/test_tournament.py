"""Tournaments: their games, determinism, folders that survive whatever happens, the command."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludarium.arena import schedule
from ludarium.arena.contest import Contest, Tournament, play_contest, read_contest
from ludarium.arena.plot import plot_ratings
from ludarium.arena.results import ROW, Crosstable
from ludarium.arena.schedule import ScheduledMatch, SeededOpenings
from ludarium.arena.standings import Standings
from ludarium.base.durable import StorageError
from ludarium.base.lock import WriterLock
from ludarium.base.threads import available_cores
from ludarium.cli import main
from ludarium.envs import from_record, make_game
from ludarium.training.agents import RESIGN, Agent, RandomAgent, read_agent
from tests.progress import Told
from tests.survival.faults import FailingOS, Killed

GAME = make_game("corso", size=3)
AGENTS = ("random", "greedy", "uct:5")


@pytest.fixture(autouse=True)
def small_matches(monkeypatch):
    """So that a few games are many matches."""
    monkeypatch.setattr(schedule, "MATCH_OPENINGS", 2)
    monkeypatch.setattr(schedule, "BLOCK", 6)


def play(folder: Path | None = None, **others: Any) -> Contest:
    return play_contest(GAME, Tournament(AGENTS, 8, seed=3), folder=folder, **others)


def play_own(players: dict[str, Any], games: int, **others: Any) -> Contest:
    """A tournament of players of one's own."""
    return play_contest(GAME, Tournament(tuple(players), games), players, **others)


def games_in(folder: Path) -> list[dict[str, Any]]:
    """The records, without what time it took, sorted."""
    records = [json.loads(line) for line in (folder / "games.jsonl").read_text().splitlines()]
    for record in records:
        del record["seconds"]
    return sorted(records, key=lambda record: (sorted(record["players"]), record["number"]))


def contents(folder: Path) -> tuple[Any, ...]:
    """All that must not depend on what happened on the way."""
    return (
        games_in(folder),
        *((folder / name).read_text() for name in ("arena.json", "results.json", "table.txt")),
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A tournament that nobody interrupted, on one core."""
    folder = tmp_path_factory.mktemp("tournament") / "whole"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "MATCH_OPENINGS", 2)
        patch.setattr(schedule, "BLOCK", 6)
        play(folder, workers=1)
    return folder


# Games.


def test_everyone_meets_everyone_from_both_seats(whole):
    records = games_in(whole)
    assert len(records) == 3 * 8
    for one, other in (("random", "greedy"), ("random", "uct:5"), ("greedy", "uct:5")):
        games = [each for each in records if set(each["players"]) == {one, other}]
        assert [each["number"] for each in games] == list(range(8))
        for first, second in zip(games[::2], games[1::2], strict=True):
            assert first["players"] == second["players"][::-1] == [one, other]
            plies = first["opening_plies"]
            assert first["moves"][:plies] == second["moves"][:plies]


def test_every_line_is_a_record_that_replays_to_its_result(whole):
    for line in (whole / "games.jsonl").read_text().splitlines():
        record = json.loads(line)
        env = from_record(record)
        assert all(env.terminations.values())
        assert [env.rewards[agent] for agent in env.possible_agents] == record["result"]
        assert len(record["seconds"]) == len(record["moves"])


def test_results_are_counted_as_they_were_played(whole):
    results = json.loads((whole / "results.json").read_text())
    records = games_in(whole)
    for agent in results["agents"]:
        own = [each for each in records if agent["name"] in each["players"]]
        rewards = [each["result"][each["players"].index(agent["name"])] for each in own]
        assert (agent["wins"], agent["draws"], agent["losses"]) == tuple(
            rewards.count(reward) for reward in (1, 0, -1)
        )
    first = results["first_player"]
    assert first["wins"] == sum(each["result"] == [1, -1] for each in records)
    assert results["games"] == 24
    for pairing in results["pairings"]:
        for key in ("wins", "draws", "losses"):
            assert pairing["as_player_0"][key] + pairing["as_player_1"][key] == pairing[key]
        points = [pairs * score / 2 for score, pairs in enumerate(pairing["pairs_by_score"])]
        assert sum(points) / pairing["score"]["count"] == pairing["score"]["value"]
        assert (pairing["normalised_elo"]["value"] > 0) == (pairing["score"]["value"] > 0.5)


def test_the_table_has_the_percent_against_the_agent_of_each_rank(whole):
    results = json.loads((whole / "results.json").read_text())
    names = [agent["name"] for agent in results["agents"]]
    scores = {
        (each["first"], each["second"]): each["score"]["value"] for each in results["pairings"]
    }
    scores |= {(other, one): 1 - score for (one, other), score in scores.items()}
    header, *lines = (whole / "table.txt").read_text().splitlines()
    rows = lines[: len(names)]
    assert [row[header.index("agent") :].split()[0] for row in rows] == names
    assert [row.split()[-len(names) :] for row in rows] == [
        ["-" if one == other else f"{100 * scores[one, other]:.0f}" for other in names]
        for one in names
    ]


@pytest.mark.parametrize("workers", [2, 5])
def test_games_do_not_depend_on_the_number_of_workers(whole, workers, tmp_path):
    play(tmp_path / "other", workers=workers)
    assert contents(tmp_path / "other") == contents(whole)


def test_numbers_of_numpy_are_kept_as_any_others(tmp_path):
    numbers = {"games": np.int64(2), "seed": np.int64(3), "opening_plies": np.int64(1)}
    play_contest(GAME, Tournament(AGENTS, **numbers), folder=tmp_path / "t")
    settings = json.loads((tmp_path / "t" / "arena.json").read_text())
    assert {name: settings[name] for name in numbers} == {"games": 2, "seed": 3, "opening_plies": 1}


def test_games_whose_digests_differ_by_one_are_distinct():
    rows = np.zeros(2, ROW)
    rows["digest"] = 2**63, 2**63 + 1
    assert Crosstable(("a", "b"), rows).distinct == 2
    rows["digest"], rows["second"] = 5, (1, 2)  # alike, of other pairings
    assert Crosstable(("a", "b", "c"), rows).distinct == 2
    for repeats, told in ((5, None), (6, "6 of 100 games repeat")):  # more than one in twenty
        rows = np.zeros(100, ROW)
        rows["second"], rows["digest"] = 1, np.maximum(np.arange(100), repeats)
        caveat = Crosstable(("a", "b"), rows).caveat
        assert caveat is None if told is None else caveat.startswith(told)


def test_the_table_says_why_draws_do_not_narrow_intervals():
    found = []
    for games, decided in ((100, 0), (10_000, 0), (500, 200)):
        rows = np.zeros(games, ROW)
        rows["second"], rows["number"], rows["digest"] = 1, np.arange(games), np.arange(games)
        rows["reward"][:decided:4], rows["reward"][2:decided:4] = 1, -1
        found.append(Standings(Crosstable(("a", "b"), rows)))
    few, many, decided = found
    assert many.ratings["a"].high > few.ratings["a"].high - 20
    assert "10,000 of 10,000 games are drawn, and only decided games tell" in many.text(False)
    assert decided.ratings["a"].high < 60
    assert decided.caveat is None


def made_up_rows(sign: int = 1) -> np.ndarray:
    """Games of three agents, most won by player_0; some repeat others, and not all are paired."""
    random = np.random.default_rng(4)
    rows = [
        (*pair, n, sign * random.choice([1, 1, 1, 0, -1, -1]), *random.integers([5, 0], [20, 15]))
        for pair, games in (((0, 1), 14), ((0, 2), 9), ((1, 2), 22))
        for n in range(games)
    ]
    return np.array(rows, ROW)


def test_standings_are_counted_again_from_made_up_games(tmp_path, figures):
    names, rows = ("b", "a", "c"), made_up_rows()
    standings = Standings(Crosstable(names, rows), {"a": 100.0})
    data, text = standings.to_dict(), standings.text(terminal=False).splitlines()
    games = [  # the agents, player_0 first; its reward; whether the seats are turned; the digest
        ((names[one], names[other])[:: -1 if n % 2 else 1], reward, n % 2, digest)
        for one, other, n, reward, _, digest in rows.tolist()
    ]

    def counted(found: dict, rewards: list[int]) -> bool:
        wins, draws, losses = (rewards.count(each) for each in (1, 0, -1))
        assert (found["wins"], found["draws"], found["losses"]) == (wins, draws, losses)
        return found["score"]["value"] == pytest.approx((wins + draws / 2) / len(rewards), abs=1e-5)

    def rewards_of(name: str, *others: str) -> list[int]:
        own = [(each, reward) for each, reward, *_ in games if {name, *others} <= {*each}]
        return [reward if seats[0] == name else -reward for seats, reward in own]

    assert [each["name"] for each in data["agents"]] == [*standings.ratings]
    elo = [each["elo"]["value"] for each in data["agents"]]
    assert elo == sorted(elo, reverse=True)
    assert all(counted(each, rewards_of(each["name"])) for each in data["agents"])
    known = standings.ratings["a"]
    assert (known.low, known.value, known.high, known.count) == pytest.approx([100, 100, 100, 36])
    assert len(data["pairings"]) == 3
    for each in data["pairings"]:
        one, other = each["first"], each["second"]
        assert counted(each, rewards_of(one, other))
        as_0, as_1 = (
            [r for s, r, *_ in games if s == seats] for seats in ((one, other), (other, one))
        )
        assert counted(each["as_player_0"], as_0)
        assert counted(each["as_player_1"], [-reward for reward in as_1])
        found = rewards_of(one, other)
        scores = [2 + sum(pair) for pair in zip(found[::2], found[1::2], strict=False)]
        assert each["pairs_by_score"] == [scores.count(score) for score in range(5)]
    every, plies = [reward for _, reward, *_ in games], rows["plies"].sum() / 45
    assert counted(data["first_player"], every)
    distinct = len({(seats, digest) for seats, _, _, digest in games})
    assert (data["games"], data["distinct_games"]) == (45, distinct)
    assert data["mean_plies"] == pytest.approx(plies)
    turned = Standings(Crosstable(names, made_up_rows(-1)))
    assert 10 < standings.advantage.value == pytest.approx(-turned.advantage.value, abs=0.1)
    wins, draws, losses = (every.count(each) for each in (1, 0, -1))
    share, drawn = 100 * (wins + draws / 2) / 45, draws / 0.45
    assert text[-3:-1] == [
        f"player_0, who moves first: {wins}-{draws}-{losses}, {share:.1f} %; an advantage of "
        f"{standings.advantage:+.0f} Elo",
        f"45 games, {draws} drawn ({drawn:.1f} %), {plies:.1f} plies on average",
    ]
    assert text[-1].startswith(f"warning: {45 - distinct} of 45 games repeat another one")
    plot_ratings(standings, tmp_path / "elo.svg", "title")
    (axes,), rated = figures[0], [*standings.ratings.items()][::-1]  # the strongest on top
    assert [label.get_text() for label in axes.get_yticklabels()] == [name for name, _ in rated]
    assert axes.lines[0].get_xdata() == pytest.approx([each.value for _, each in rated])
    ends = np.array([ends[:, 0] for ends in axes.collections[0].get_segments()])
    assert ends == pytest.approx(np.array([[each.low, each.high] for _, each in rated]))


def test_who_runs_the_gauntlet_meets_the_others_only():
    results = play_contest(GAME, Tournament(AGENTS, 4, gauntlet=("uct:5",))).results
    assert len(results) == 8
    assert results.between("random", "greedy").games == 0
    assert results.between("uct:5", "greedy").games == 4


def test_without_a_folder_standings_are_the_same(whole):
    assert play().text(terminal=False) + "\n" == (whole / "table.txt").read_text()


def test_a_class_plays_on_one_core_in_one_worker_at_a_time_and_is_told_of_every_game():
    inside, told = threading.Lock(), Counter[str]()

    class Careful(RandomAgent):
        def restart(self, seed=None):
            told["seeds"] += seed is not None
            told["cores"] |= available_cores()
            super().restart(seed)

        def begin(self, games):
            told["begun"] += len(games)

        def finish(self, games):
            told["ended"] += len(games)

        def actions(self, states):
            assert inside.acquire(blocking=False), "two workers at once"
            try:
                time.sleep(1e-4)  # lets another thread in
                return super().actions(states)
            finally:
                inside.release()

    play_own({"careful": Careful, "random": "random"}, 40, workers=4)
    assert told == {"seeds": 10, "begun": 40, "ended": 40, "cores": 1}


# Failures.


class Faulty(RandomAgent):
    """Plays an illegal action, or fails, in its third decision."""

    def __init__(self, game, seed=None):
        super().__init__(game, seed)
        self.name = "faulty"

    def actions(self, states):
        if (states["ply"] >= 3).any():
            raise ZeroDivisionError("division by zero")
        return super().actions(states)


class Illegal(Faulty):
    def actions(self, states: np.ndarray) -> np.ndarray:
        return np.full(len(states), 10**6)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Faulty, r"faulty against greedy stopped in games \d+ to \d+: ZeroDivisionError: division"),
        (Illegal, r"faulty against greedy stopped in games \d+ to \d+: agent faulty in game"),
    ],
)
def test_an_agent_that_fails_stops_the_tournament_and_is_named(kind, message, tmp_path):
    agents: dict[str, Any] = {"faulty": kind, "greedy": "greedy"}
    with pytest.raises(ValueError, match=message):
        play_own(agents, 8, folder=tmp_path)
    # Once it is repaired, the tournament goes on where it was.
    agents["faulty"] = RandomAgent
    assert len(play_own(agents, 8, folder=tmp_path).results) == 8


@pytest.mark.parametrize("how", ["kill", "power", "full"])
def test_a_failure_of_the_disk_at_any_operation_changes_nothing(whole, how, tmp_path, monkeypatch):
    expected = contents(whole)
    counting = FailingOS()
    with monkeypatch.context() as patch:
        counting.stand_in(patch)
        play(tmp_path / "counted", workers=1)
    assert {"mkdir", "open", "write", "fsync", "replace"} <= set(counting.done)
    first, step = {"kill": (0, 1), "power": (1, 3), "full": (2, 3)}[how]
    for number in range(first, len(counting.done), step):
        operation = counting.done[number]
        folder = tmp_path / f"tournament-{number}"
        with monkeypatch.context() as patch:
            FailingOS(number, how).stand_in(patch)
            with pytest.raises(StorageError if how == "full" else Killed):
                play(folder, workers=1)
        play(folder, workers=2)
        assert contents(folder) == expected, (number, operation)


def test_games_that_are_there_are_not_played_again(whole, tmp_path):
    folder = tmp_path / "again"
    shutil.copytree(whole, folder)
    lines = (folder / "games.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "games.jsonl").write_bytes(b"".join(lines[:8]))
    told = Told()
    play(folder, progress=told)
    assert told.begun == [("games", 24)]
    assert told.steps[0] == 8
    assert sum(told.steps) == 24
    assert (folder / "games.jsonl").read_bytes().startswith(b"".join(lines[:8]))


def edited(**edits: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """Changes values of a line."""

    def edit(line: bytes) -> bytes:
        record = json.loads(line)
        changed = {key: change(record[key]) for key, change in edits.items()}
        return json.dumps(record | changed).encode() + b"\n"

    return edit


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda line: line.replace(b"[", b"", 1), "the game is not valid JSON"),
        (lambda line: line.replace(b'"number": ', b'"number": 99'), "have no game 99"),
        (lambda line: line + line, "the game occurs twice"),
        (edited(result=lambda old: old[::-1]), r"its result is \[.*\], but the moves lead to"),
        (edited(moves=lambda old: old[:-1]), r"the game goes on after its \d+ moves"),
        (edited(moves=lambda old: old + old[:1]), r"move \d+: .* is not legal now: the game is"),
        (edited(moves=lambda old: ["b2", *old[1:]]), "its opening is not"),
        (edited(opening_plies=lambda old: old + 1), "its opening is not"),
        (edited(players=lambda old: old[::-1]), "have no game"),
        (edited(options=lambda old: {"size": 4}), r"its options is \{'size': 4\}, not"),
    ],
)
def test_a_damaged_line_is_named_and_its_game_comes_again(whole, damage, reason, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(whole, folder)
    file = folder / "games.jsonl"
    first, rest = file.read_bytes().split(b"\n", 1)
    file.write_bytes(damage(first + b"\n") + rest)
    with pytest.raises(
        ValueError, match=rf"is damaged in line [12]: .*{reason}.*; delete the line"
    ):
        play(folder)
    with pytest.raises(ValueError, match=reason):
        read_contest(folder, Tournament)
    file.write_bytes(rest)
    play(folder)
    assert contents(folder) == contents(whole)


# Folders of something else.


def test_a_folder_has_one_writer(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "copy")
    lock = WriterLock(tmp_path / "copy" / "lock")
    lock.acquire()
    try:
        with pytest.raises(ValueError, match="is in use by"):
            play(tmp_path / "copy")
        assert read_contest(tmp_path / "copy", Tournament).is_over
    finally:
        lock.release()


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"seed": 4}, "its seed is 3, not 4"),
        ({"opening_plies": 2}, "its opening_plies is None, not 2"),
        ({"gauntlet": ("random",)}, "its gauntlet is"),
        ({"games": 10}, "its games is 8, not 10"),
    ],
)
def test_a_folder_of_another_tournament_is_refused(whole, others, message):
    with pytest.raises(ValueError, match=message):
        play_contest(GAME, Tournament(AGENTS, **{"games": 8, "seed": 3, **others}), folder=whole)


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds no tournament, but other things"):
        play(tmp_path)
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(FileNotFoundError, match="no tournament"):
        read_contest(tmp_path / "nowhere", Tournament)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "comparison"}, "is of kind 'comparison'"),
        ({"format": 2}, "has format 2; this program reads 1"),
        ({"game": "chess"}, "is of game 'chess'; known games: corso"),
        ({"version": 7}, "is for version 7 of corso, and this program has version 0"),
        ({"options": {"size": 3000}}, "arena.json: "),
        ({"agents": ["random", "a\x1b[2J"]}, "is not the name of an agent"),
        ({"agents": 7}, "holds no tournament: agents is 7; accepted: a list"),
        ({"games": 10**9}, "3,000,000,000 games are more than 10,000,000"),
        ({"seed": -1}, "seed is -1; accepted"),
        ({"opening_plies": "2"}, "opening_plies is '2'"),
    ],
)
def test_settings_of_a_stranger_are_checked(whole, changes, message, tmp_path):
    folder = tmp_path / "strange"
    shutil.copytree(whole, folder)
    settings = json.loads((folder / "arena.json").read_text())
    (folder / "arena.json").write_text(json.dumps(settings | changes))
    with pytest.raises(ValueError, match=message) as error:
        read_contest(folder, Tournament)
    assert "\x1b" not in str(error.value)


def test_settings_have_all_their_keys_and_no_other(whole, tmp_path, capsys):
    folder = tmp_path / "strange"
    shutil.copytree(whole, folder)
    settings = json.loads((folder / "arena.json").read_text())
    for key in settings:
        changed = {other: value for other, value in settings.items() if other != key}
        (folder / "arena.json").write_text(json.dumps(changed | {f"{key}s": settings[key]}))
        for command in (["--show"], [], [*AGENTS, "--game=corso", "--option=size=3", "--seed=3"]):
            arguments = [*command, "--games=8"] if len(command) > 1 else command
            assert main(["tournament", "--folder", str(folder), *arguments]) == 2
            assert "arena.json" in capsys.readouterr().err or key in ("kind", "format")
    (folder / "arena.json").write_text(json.dumps(settings | {"networks": {"corso": "0"}}))
    with pytest.raises(ValueError, match="a network of 'corso', which is no agent"):
        read_contest(folder, Tournament)


def test_networks_of_a_stranger_are_not_those_of_the_agents(whole, tmp_path):
    folder = tmp_path / "strange"
    shutil.copytree(whole, folder)
    settings = json.loads((folder / "arena.json").read_text())
    (folder / "arena.json").write_text(json.dumps(settings | {"networks": 5}))
    with pytest.raises(ValueError, match=r"its networks is 5, not \{\}"):
        play(folder)
    with pytest.raises(ValueError, match="its agents is"):
        play_contest(GAME, Tournament(("random", "uct:5"), 8, seed=3), folder=folder)


def test_a_folder_runs_no_code_of_a_stranger(whole, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "trap"
    shutil.copytree(whole, folder)
    (tmp_path / "trap_module.py").write_text("raise SystemExit('it ran')")
    monkeypatch.chdir(tmp_path)
    settings = json.loads((folder / "arena.json").read_text())
    settings["agents"] = ["random", "python:trap_module:Bot"]
    (folder / "arena.json").write_text(json.dumps(settings))
    (folder / "games.jsonl").unlink()
    assert main(["tournament", "--folder", str(folder)]) == 2
    assert "runs code, so it is not taken from a file" in capsys.readouterr().err


def test_an_agent_whose_network_changed_is_refused(tmp_path):
    from ludarium.training.agents import AgentSpec

    file = tmp_path / "network"
    file.write_bytes(b"old")

    @dataclass(frozen=True)
    class Learner(AgentSpec):
        number: int

        def make(self, game, seed=None) -> Agent:
            return RandomAgent(game, seed)

        def network_file(self, game) -> Path:
            return file

    agents = {"learner": Learner(1), "other": Learner(2)}
    play_own(agents, 4, folder=tmp_path / "tournament")
    file.write_bytes(b"new")
    with pytest.raises(ValueError, match="another network that was called learner, other"):
        play_own(agents, 4, folder=tmp_path / "tournament")


def test_the_network_within_another_agent_is_found():
    game = make_game("corso")
    file = read_agent("corso:8").network_file(game)
    assert file is not None
    assert read_agent("endgame:corso:8").network_file(game) == file
    assert read_agent("level:2?ladder=own.json").network_file(game) == Path("own.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"agents": ("a",)}, "two agents or more"),
        ({"agents": ("a", "b", "a")}, "'a' is named twice"),
        ({"agents": ("a", "b\udcff")}, r"name 'b\\udcff' is not UTF-8, and results are"),
        ({"games": 7}, "positive even number"),
        ({"games": 4.0}, r"games is 4\.0; accepted: a whole number from 2 on"),
        ({"gauntlet": ("c",)}, "'c' is to run the gauntlet, but is not among"),
        ({"gauntlet": ("a", "b")}, "a gauntlet needs opponents"),
    ],
)
def test_plans_that_cannot_be_played_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Tournament(**{"agents": ("a", "b"), "games": 2, **arguments})


# The command.


def test_the_command_plays_draws_resumes_and_shows(tmp_path, capsys):
    folder, plot = str(tmp_path / "tour"), tmp_path / "elo.svg"
    arguments = ["tournament", *AGENTS, "--game", "corso", "--option", "size=3", "--games", "8"]
    assert (
        main([*arguments, "--folder", folder, "--anchor", "uct:5=1000", "--plot", str(plot)]) == 0
    )
    printed = capsys.readouterr().out
    assert re.search(r"^\d  uct:5 +1000 \(1000 to 1000\) +16 ", printed, re.MULTILINE)
    assert "player_0, who moves first" in printed
    assert plot.read_text().startswith("<?xml")
    assert ">Corso (size=3)<" in plot.read_text()
    assert main(["tournament", "--folder", folder, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["finished"]
    assert sum(agent["elo"]["value"] for agent in data["agents"]) == pytest.approx(0, abs=0.1)
    lines = (tmp_path / "tour" / "games.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "tour" / "games.jsonl").write_bytes(b"".join(lines[:12]))
    assert main(["tournament", "--folder", folder, "--show", "--json"]) == 0
    shown = capsys.readouterr()
    assert "12 of 24 games are finished" in shown.err
    assert not json.loads(shown.out)["finished"]
    assert main(["tournament", "--folder", folder, "--show", "--anchor", "nosuch=5"]) == 2
    assert "nosuch is the anchor, but not among the agents" in capsys.readouterr().err
    assert main(["tournament", *AGENTS, "--folder", folder, "--show"]) == 2
    assert "leave out the agents" in capsys.readouterr().err
    assert main(["tournament", "--folder", folder]) == 0
    assert len((tmp_path / "tour" / "games.jsonl").read_bytes().splitlines()) == 24
    capsys.readouterr()
    assert main(["tournament", "--folder", folder, "--show", "--anchor", "uct:5=1000"]) == 0
    assert re.search(r"uct:5 +1000 \(1000 to 1000\)", capsys.readouterr().out)


def test_anchors_that_no_games_could_connect_are_refused(capsys):
    command = "tournament random greedy --game corso --games 2 --anchor random=0"
    assert main([*command.split(), "--anchor=greedy=3001"]) == 2
    assert "anchors lie 3,001 Elo points apart" in capsys.readouterr().err


def test_other_seeds_and_matches_have_other_games():
    plan, corso = Tournament(("random", "uct:1"), 16, opening_plies=0), make_game("corso")
    one, other = (play_contest(corso, replace(plan, seed=seed)).results for seed in (1, 2))
    assert one.distinct == 16
    assert not {*one.rows["digest"].tolist()} & {*other.rows["digest"].tolist()}
    drawn = SeededOpenings(corso, 3, seed=5)
    assert not {*drawn.between(0, 6).actions} & {*drawn.between(6, 12).actions}  # of two blocks


def test_games_that_an_agent_resigns_are_kept_and_read_again(tmp_path: Path) -> None:
    class Quitter(RandomAgent):
        def play(self, games, states):
            for each in games:
                each.notes[len(each.actions)] = "enough"
            return np.where(states["ply"] > 3, RESIGN, self.actions(states))

        def finish(self, games):
            assert all(each.forfeited_by == each.seat and each.reward == -1 for each in games)

    plan = Tournament(("quitter", "random"), games=4)
    game = make_game("corso", size=3)
    first = play_contest(game, plan, {"quitter": Quitter}, folder=tmp_path)
    assert play_contest(game, plan, {"quitter": Quitter}, folder=tmp_path).to_dict() == (
        first.to_dict()
    )
    records = [json.loads(line) for line in (tmp_path / "games.jsonl").open()]
    for record in records:
        assert record["resigned"]
        assert record["result"][record["players"].index("quitter")] == -1
        assert "enough" in record["notes"].values()


# Positions to begin at.

POSITIONS = ("1O1/1X1/3 0", "2X/o2/oo1 1", "3/3/2O 1", "O2/3/2X 0")


def test_games_begin_in_turn_at_positions_each_from_both_seats(tmp_path):
    plan = Tournament(("random", "greedy"), 16, seed=3, positions=POSITIONS)
    first = play_contest(GAME, plan, folder=tmp_path, workers=1)
    records = games_in(tmp_path)
    assert [each["position"] for each in records] == [POSITIONS[k // 2 % 4] for k in range(16)]
    assert all(each["opening_plies"] == 0 for each in records)
    for one, other in zip(records[::2], records[1::2], strict=True):
        assert one["players"] == other["players"][::-1]
        assert from_record(one).position.is_over
    assert json.loads((tmp_path / "results.json").read_text())["positions"] == list(POSITIONS)
    again = read_contest(tmp_path, Tournament)  # which replays each game from its position
    assert again.text() == first.text()
    with pytest.raises(ValueError, match="its positions is"):
        play_contest(GAME, Tournament(("random", "greedy"), 16, seed=3), folder=tmp_path)


def test_every_match_has_a_seed_of_its_own():
    matches = [
        ScheduledMatch(*pairing, begin, begin + 5)
        for pairing in (("a", "b"), ("b", "a"), ("a", "c"))
        for begin in (0, 10)
    ]
    seeds = {schedule._match_seed(seed, match) for seed in (1, 2) for match in matches}
    assert len(seeds) == 12
    assert (matches[1].games, [*matches[1].numbers]) == (10, [*range(20, 30)])


def test_texts_that_are_no_positions_to_play_on_from_are_refused():
    for text, reason in (("3/3 0", "its rows are 2, not 3"), ("ooo/ooo/oox 1", "the game is over")):
        with pytest.raises(ValueError, match=reason):
            play_contest(GAME, Tournament(("random", "greedy"), 2, positions=(text,)))


@pytest.mark.parametrize("command", ["tournament", "compare", "evaluate"])
def test_commands_take_a_file_of_positions(command, tmp_path, capsys):
    file = tmp_path / "positions.txt"
    file.write_text("\n".join(POSITIONS) + "\n\n")
    game = ["--game", "corso", "--option", "size=3", "--positions"]
    agents = {
        "tournament": ["random", "greedy", "--games", "2"],
        "compare": ["random", "greedy", "--games-limit", "2"],
        "evaluate": ["random", "--against", "greedy", "--games", "2"],
    }[command]
    assert main([command, *agents, *game, str(file)]) == 0
    file.write_text("3/3 0")
    assert main([command, *agents, *game, str(file)]) != 0
    assert "'3/3 0' is no position of corso" in capsys.readouterr().err
