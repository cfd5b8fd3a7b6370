"""Learning curves of runs: `ludarium curve`."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ludarium.analysis.exact_tests import make_exact_test, read_exact_test, write_exact_test
from ludarium.arena import curve
from ludarium.arena.curve import Curve, CurvePlan, Point, measure_curves
from ludarium.arena.curve_plot import plot_curves
from ludarium.base.progress import SILENT
from ludarium.cli import curve as command
from ludarium.cli import main
from ludarium.envs import make_game
from ludarium.models import load_checkpoint, save_checkpoint
from ludarium.training import train
from ludarium.training.agents.checkpoints import CheckpointSpec
from ludarium.training.evaluation import play_match
from ludarium.training.evaluation.statistics import wilson
from ludarium.training.runs.folder import RunFolder
from tests.tiny_runs import ALPHAZERO, ARGUMENTS, TinyRuns, run_by_command

GAME = make_game("corso", size=3)
SMALLER = ("self_play.positions=64", "self_play.simulations=2", "learner.batch=32")
RUNS = TinyRuns("corso/demo", (*ALPHAZERO, *SMALLER))


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with two runs and an exact test."""
    base = tmp_path_factory.mktemp("curve")
    RUNS.trained(base / "a")
    RUNS.trained(base / "b", "seed=2", "save={every: 3}")
    write_exact_test(base / "corso.test", make_exact_test(GAME, 30, only_choices=True))
    return base


@pytest.fixture
def base(made, tmp_path) -> Path:
    """The same, where nothing was measured."""
    shutil.copytree(made, tmp_path / "base")
    return tmp_path / "base"


def test_each_agent_that_was_kept_is_measured_as_it_is(base):
    plan = CurvePlan(("random",), str(base / "corso.test"), games=10, simulations=4, seed=7)
    first, second = measure_curves([base / "a", base / "b"], plan)
    assert [point.iteration for point in first.points] == [1, 2, 3]
    assert [point.iteration for point in second.points] == [3]
    minutes = [point.seconds for point in first.points]
    assert minutes == sorted(minutes)
    folder = RunFolder(base / "a")
    test = read_exact_test(base / "corso.test")
    for point in first.points:
        agent = CheckpointSpec(path=folder.past_agent(point.iteration), simulations=4).make(GAME)
        kept = test.optimal_mask[range(len(test)), agent.actions(test.states)].sum()
        assert point.found["accuracy"] == wilson(int(kept), len(test)).to_dict()
        games = play_match(GAME, agent, "random", 10, seed=plan.seed)
        assert point.found["score"] == games.result.score.to_dict()


@pytest.fixture
def measured(monkeypatch):
    """The measurements that are made from now on."""
    made = []
    original = curve.AgentEvaluation.of

    def counted(self, *arguments):
        made.append(self)
        return original(self, *arguments)

    monkeypatch.setattr(curve.AgentEvaluation, "of", counted)
    return made


def test_what_was_measured_is_measured_once(base, measured):
    plan = CurvePlan(("random",), games=4, simulations=2)
    before = measure_curves([base / "a"], plan)
    measured.clear()
    assert measure_curves([base / "a"], plan) == before
    assert measured == []
    with_test = CurvePlan(("random",), str(base / "corso.test"), games=4, simulations=2)
    found = measure_curves([base / "a"], with_test)
    assert [each.against for each in measured] == [()] * 3  # games are known
    scores = [point.found["score"] for point in found[0].points]
    assert scores == [point.found["score"] for point in before[0].points]
    file = str(base / "other.test")
    write_exact_test(file, make_exact_test(GAME, 9, seed=2))
    others = {"games": 6}, {"seed": 2}, {"exact_test": file}, {"simulations": 3}
    for other, made in zip(others, (3, 3, 3, 6), strict=True):
        measured.clear()
        measure_curves([base / "a"], replace(with_test, **other))
        assert len(measured) == made


def test_games_against_a_network_are_of_its_file_as_it_is(base):
    plan = CurvePlan((f"{base / 'b'}?simulations=1",), games=4, simulations=2)
    lines = measured_lines(base, plan)
    assert len(lines) == 3
    assert measured_lines(base, plan) == lines
    shutil.copy(RunFolder(base / "a").past_agent(1), RunFolder(base / "b").agent)
    assert len(measured_lines(base, plan)) == 6


def test_a_network_that_changes_in_between_ends_the_measurement(base, monkeypatch):
    original = curve.AgentEvaluation.of

    def changing(self, *arguments):
        found = original(self, *arguments)
        shutil.copy(RunFolder(base / "a").past_agent(1), RunFolder(base / "b").agent)
        return found

    monkeypatch.setattr(curve.AgentEvaluation, "of", changing)
    with pytest.raises(ValueError, match="a network has changed since the games began"):
        measure_curves([base / "a"], CurvePlan((str(base / "b"),), games=4, simulations=2))


def test_games_against_what_may_change_unseen_are_not_kept(base, measured, monkeypatch):
    (base / "mine.py").write_text("def policy(position): return position.legal_actions[0]\n")
    monkeypatch.syspath_prepend(str(base))
    for against in (("python:mine:policy",), ("random", "python:mine:policy")):
        plan = CurvePlan(against, games=4, simulations=2)
        assert measured_lines(base, plan) == []
        assert len(measured) == 3
        measured.clear()


def test_an_agent_of_no_iteration_is_refused_before_any_game(base, monkeypatch):
    def nothing_is_played(*_):
        raise AssertionError("a game was played")

    monkeypatch.setattr(curve.AgentEvaluation, "of", nothing_is_played)
    checkpoint = load_checkpoint(RunFolder(base / "b").agent)
    save_checkpoint(replace(checkpoint, notes={}), RunFolder(base / "a").past_agent(2))
    with pytest.raises(ValueError, match="does not say after which iteration"):
        measure_curves([base / "a"], CurvePlan(("random",), games=4))
    monkeypatch.setattr(RunFolder, "past_agents", lambda self: [])
    with pytest.raises(ValueError, match="b has kept no agent to measure"):
        measure_curves([base / "b"], CurvePlan(("random",), games=4))


def measured_lines(base: Path, plan: CurvePlan) -> list[str]:
    measure_curves([base / "a"], plan)
    file = base / "a" / "curve.jsonl"
    return file.read_text().splitlines() if file.exists() else []


def test_a_damaged_wrong_or_cut_line_is_measured_again(base):
    plan = CurvePlan(("random",), games=4, simulations=2)
    before = measure_curves([base / "a"], plan)
    file = base / "a" / "curve.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    wrong = json.loads(lines[1])
    wrong["measured"]["score"]["value"] += 0.25
    wrong = json.dumps(wrong).encode() + b"\n"
    file.write_bytes(b"x" + lines[0] + wrong + lines[2][:-20])
    assert measure_curves([base / "a"], plan) == before
    assert len(file.read_bytes().splitlines()) == 6
    assert measure_curves([base / "a"], plan) == before
    assert len(file.read_bytes().splitlines()) == 6


def test_it_goes_on_where_it_was_stopped(base, capsys, monkeypatch):
    command = ["curve", str(base / "a"), "--against", "random", "--games", "4", "--json"]
    original, calls = curve.AgentEvaluation.of, []

    def stopping(self, *arguments):
        if len(calls) == 1:
            raise KeyboardInterrupt
        calls.append(self)
        return original(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(curve.AgentEvaluation, "of", stopping)
        assert main(command) == 130
    assert "the same command continues" in capsys.readouterr().err
    assert len((base / "a" / "curve.jsonl").read_text().splitlines()) == 1
    assert main(command) == 0
    assert len(json.loads(capsys.readouterr().out)["curves"][0]["points"]) == 3


def test_several_opponents_give_a_rating_and_are_rated_once(base):
    plan = CurvePlan(("random", "uct:2"), games=8, simulations=2)
    (found,) = measure_curves([base / "a"], plan)
    for point in found.points:
        elo = point.estimates["elo"]
        assert elo.low < elo.value < elo.high
        assert {"random", "uct:2"} >= point.found["anchors"].keys()
    lines = [json.loads(line) for line in (base / "a" / "curve.jsonl").read_text().splitlines()]
    assert lines[0]["what"].keys() == {"ratings", "networks", "known", "seed"}
    assert lines[0]["what"]["ratings"] == ["random", "uct:2"]
    assert measure_curves([base / "a"], plan) == [found]


def test_a_table_and_a_picture(base, capsys):
    picture = base / "curve.svg"
    command = ["curve", str(base / "a"), str(base / "b"), "--games", "4", "--simulations", "2"]
    test = shutil.copy(base / "corso.test", base / f"{90 * 'x'}.test")
    command += ["--against", "random", "--test", str(test), "--seed", "7"]
    assert main([*command, "--plot", str(picture), "--by", "iterations"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Corso(size=3), 2 simulations; 4 games against random; exact test")
    assert "score (95 %)" in lines[2]
    assert "value kept (95 %)" in lines[2]
    assert len(lines) == 3 + 3 + 1 + 1
    assert "b has only its latest agent" in lines[-1]
    text = picture.read_text()
    for word in ("score, %", "value kept, %", "iterations", "/a", "/b"):
        assert word in text
    assert f"{90 * 'x'}.test" in re.sub(r"<!--.*?-->|<[^>]*>|\s", "", text)  # no title is cut
    kept = [json.loads(line)["what"] for line in (base / "a" / "curve.jsonl").open()]
    assert {(each["games"], each["seed"]) for each in kept if "seed" in each} == {(4, 7)}
    assert {each["simulations"] for each in kept} == {2}
    before = picture.read_bytes()
    assert main([*command, "--plot", str(picture), "--by", "iterations"]) == 0
    assert picture.read_bytes() == before


def test_rows_tell_of_what_was_measured():
    found = {"score": wilson(5, 10).to_dict(), "accuracy": wilson(31, 60).to_dict()}
    points = Point(1200, 5433.0, 34_567, found), Point(1400, 6012.0, 40_123, found)
    head, *rows = (
        " ".join(row.split()) for row in command._table([Curve("a", points)]).splitlines()
    )
    ends = "50 % (24 to 76) 52 % (39 to 64)"
    assert rows == [f"a 1,200 90.5 34,567 {ends}", f"a 1,400 100.2 40,123 {ends}"]
    assert head == "run iteration minutes steps score (95 %) value kept (95 %)"
    for plan, title in (
        (CurvePlan(("a", "b"), games=8, simulations=0), ["no search", "8 games against a, b"]),
        (CurvePlan((), "hard", simulations=5), ["5 simulations", "exact test hard"]),
    ):
        assert command._title(GAME, plan) == [f"Corso(size=3), {title[0]}", title[1]]


def test_the_picture_has_the_points_and_runs_of_any_name(tmp_path, figures):
    found = {"score": wilson(5, 10).to_dict()}
    curves = [Curve(name, (Point(1, 60.0, 10, found),)) for name in ("_first", "se$co$nd")]
    plot_curves(curves, tmp_path / "curve.svg", "title")
    text = (tmp_path / "curve.svg").read_text()
    assert "_first" in text
    assert "se$co$nd" in text
    assert figures[0][0].lines[1].get_xydata().tolist() == [[1, 50]]  # a minute, percent


def test_runs_that_cannot_be_compared_are_refused(base, capsys):
    run_by_command(
        base / "c",
        "alphazero",
        [each[6:] for each in ARGUMENTS[1:]]
        + ["options={size: 2}", "budget={iterations: 1}", "evaluation={every: 0}"],
    )
    capsys.readouterr()
    assert main(["curve", str(base / "a"), str(base / "c")]) == 2
    assert "c has learnt Corso(size=2)" in capsys.readouterr().err
    assert main(["curve", str(base / "none")]) == 2
    assert "there is no checkpoint" in capsys.readouterr().err
    assert main(["curve", str(base / "a"), "--against", "nobody"]) == 2
    assert main(["curve", str(base / "c"), "--test", "hard"]) == 2
    assert "there is no hard test for Corso(size=2)" in capsys.readouterr().err
    assert main(["curve", str(base / "c"), "--test", str(base / "corso.test")]) == 2
    assert "are of Corso(size=3), not of Corso(size=2)" in capsys.readouterr().err


def test_a_restart_forgets_what_was_measured(base):
    measure_curves([base / "a"], CurvePlan(("random",), games=4, simulations=2))
    train(RUNS.config(), base / "a", restart=True, progress=SILENT)
    assert not (base / "a" / "curve.jsonl").exists()
