"""Searches over configurations: what is tried, what is stopped, and what is made of it."""

from __future__ import annotations

import json
import math

import pytest

from ludarium.cli import main
from ludarium.configs import apply_settings, load_config
from ludarium.training.runs.log import encode_line
from ludarium.training.runs.trainer import RunResult
from ludarium.training.tuning.space import Choice, Range, Space, read_dimension
from ludarium.training.tuning.standing import mean_interval, standings, student_t_95
from ludarium.training.tuning.study import Plan, Study
from tests.tiny_runs import ARGUMENTS

CONFIG = apply_settings(load_config("corso/demo"), ["evaluation={every: 1, against: random}"])
RATE = "learner.learning_rate=0.0001..0.01,log"


class KilledError(Exception):
    """The process is killed."""


class Training:
    """Stands for training: each run has ten iterations, and scores what ``strength`` says of it.

    Args:
        strength: of a configuration.
        killed: iterations in all after which the process is killed.
    """

    def __init__(self, strength, killed=math.inf):
        self.strength = strength
        self.left = killed
        self.trained = []

    def __call__(self, config, folder, stop):
        folder.path.mkdir(parents=True, exist_ok=True)
        done = len(folder.metrics.read_text().splitlines()) if folder.metrics.exists() else 0
        while done < 10 and not stop():
            if self.left == 0:
                raise KilledError
            self.left -= 1
            done += 1
            score = self.strength(config) * done / 10
            metrics = {"iteration": done, "progress": done / 10, "seconds": 6.0 * done}
            metrics |= {"score": score, "score_low": score - 0.1, "score_high": score + 0.1}
            with open(folder.metrics, "a") as log:
                log.write(encode_line(metrics) + "\n")
        self.trained.append((folder.path.name, done))
        return RunResult(done, done == 10, 6.0 * done)


def never():
    return False


def search(folder, plan, training):
    """Run a study to its end; the trials by number."""
    study = Study.open(folder, plan)
    try:
        assert study.run(training, lambda _: None, never)
    finally:
        study.close()
    return study


def test_values_of_a_key_are_a_list_or_a_range():
    assert read_dimension("network.size=tiny, small") == Choice("network.size", ("tiny", "small"))
    assert read_dimension("network={size: tiny},{channels: 8, blocks: 2}") == Choice(
        "network", ("{size: tiny}", "{channels: 8, blocks: 2}")
    )
    assert read_dimension("self_play.games=8..64") == Range("self_play.games", 8, 64, False)
    assert read_dimension(RATE) == Range("learner.learning_rate", 0.0001, 0.01, True)
    assert read_dimension("learner.search_value=0..0.5").low == 0.0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("learner.batch", "says no values"),
        ("learner.batch=", "says no values"),
        ("learner.batch=64..64", "is empty"),
        ("learner.batch=a..b", "'a' in .* is no number"),
        ("learner.batch=0..64,log", "only above 0"),
        ("learner.batch=64,64", "has a value twice"),
        ("learner.batsh=64,128", "batsh: there is no such key"),
        ("learner.batch=64,many", "learner.batch: .*many"),
        ("learner.learning_rate=0.001..7", r"learner.learning_rate: .*7"),
        ("options.size=4,5", "several rules cannot be compared"),
        ("seed=1,2,3", "come with --seeds"),
    ],
)
def test_what_cannot_be_searched_is_refused(text, problem):
    with pytest.raises(ValueError, match=problem):
        Space(CONFIG, (text,))


def test_a_grid_tries_all_combinations_with_every_seed(tmp_path):
    space = ("network={size: tiny},{size: small}", "learner.batch=64,128")
    training = Training(
        lambda config: 0.5 + 0.1 * (config.learner.batch == 128) + config.seed / 100
    )
    plan = Plan(CONFIG, space, trials=1, seeds=3, grid=True, stopping="never")
    study = search(tmp_path / "study", plan, training)
    assert len(training.trained) == 12
    best, second, *others = standings(study)
    assert {best.values["learner.batch"], second.values["learner.batch"]} == {"128"}
    assert best.value == pytest.approx(0.62)
    # Of 0.61, 0.62 and 0.63: the mean's standard error is 0.01 / sqrt(3), t of 2 is 4.303.
    assert best.high - best.value == pytest.approx(4.303 * 0.01 / math.sqrt(3), abs=1e-5)
    assert others[0].high < best.low
    assert best.seconds == pytest.approx(180)
    with pytest.raises(ValueError, match="not a range"):
        Study.open(tmp_path / "other", Plan(CONFIG, (RATE,), 1, grid=True, stopping="never"))
    assert not (tmp_path / "other").exists()


def test_more_seeds_go_on_with_a_search(tmp_path):
    plan = Plan(CONFIG, (), trials=1, seeds=1, grid=True, stopping="never")
    search(tmp_path, plan, Training(lambda config: 0.5))
    training = Training(lambda config: 0.7)
    more = Plan(CONFIG, (), trials=1, seeds=2, grid=True, stopping="never")
    study = search(tmp_path, more, training)
    assert training.trained == [("trial-000-seed-2", 10)]
    assert standings(study)[0].found == [0.5, 0.7]
    with pytest.raises(ValueError, match="another search; give another --folder"):
        Study.open(tmp_path, Plan(CONFIG, (RATE,), 1, grid=False))


def test_intervals_of_means_are_those_of_students_t():
    """Points as in any table of the distribution."""
    points = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262, 10: 2.228, 30: 2.042}
    for freedom, point in points.items():
        assert student_t_95(freedom) == pytest.approx(point, abs=6e-4)
    low, high = mean_interval([1.0, 3.0])
    assert low == pytest.approx(2 - 12.706, abs=1e-3)
    assert high == pytest.approx(2 + 12.706, abs=1e-3)


@pytest.fixture
def optuna():
    return pytest.importorskip("optuna", reason='no Optuna: pip install "ludarium[tune]"')


def closeness(config):
    """Best at a learning rate of 0.001."""
    return 0.9 - 0.3 * abs(math.log10(config.learner.learning_rate) + 3)


def test_a_search_finds_good_values_and_stops_bad_trials(tmp_path, optuna):
    training = Training(closeness)
    study = search(tmp_path, Plan(CONFIG, (RATE,), 15), training)
    rows = standings(study)
    usual = next(row for row in rows if row.number == 0)
    assert usual.values == {"learner.learning_rate": CONFIG.learner.learning_rate}
    assert abs(math.log10(rows[0].values["learner.learning_rate"]) + 3) < 0.15
    stopped = [row for row in rows if row.fate == "stopped"]
    assert len(stopped) >= 3
    assert all(row.progress < 1 for row in stopped)
    assert max(row.value for row in stopped) < rows[0].value
    assert {row.fate for row in rows} == {"finished", "stopped"}


@pytest.mark.parametrize("killed", [1, 14, 33, 57])
def test_a_search_that_is_killed_goes_on_as_if_it_were_not(tmp_path, optuna, killed):
    plan = Plan(CONFIG, (RATE, "learner.batch=64,128"), 8)
    whole = search(tmp_path / "whole", plan, Training(closeness))
    with pytest.raises(KilledError):
        search(tmp_path / "killed", plan, Training(closeness, killed))
    again = search(tmp_path / "killed", plan, Training(closeness))
    assert again.trials == whole.trials
    found = [[row.value for row in standings(study)] for study in (whole, again)]
    assert found[0] == found[1]


def test_a_trial_that_fails_is_told_and_the_search_goes_on(tmp_path):
    def strength(config):
        if config.learner.batch == 128:
            raise ValueError("training has diverged")
        return 0.5

    plan = Plan(CONFIG, ("learner.batch=64,128",), 1, grid=True, stopping="never")
    rows = standings(search(tmp_path, plan, Training(strength)))
    assert [(row.fate, row.reason) for row in rows] == [
        ("finished", None),
        ("failed", "training has diverged"),
    ]


def test_the_command_trains_runs_that_other_commands_read(tmp_path, capsys):
    folder = str(tmp_path / "study")
    search = ["--grid", "--search=learner.learning_rate=0.001,0.01", "--seeds=2"]
    tiny = [*ARGUMENTS, "--set=budget={iterations: 2}"]
    command = ["tune", "corso", *tiny, *search, "--folder", folder]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measure"] == "score"
    assert [trial["fate"] for trial in found["trials"]] == ["finished"] * 2
    assert all(len(trial["found"]) == 2 for trial in found["trials"])
    run = found["trials"][0]["folders"][1]
    evaluate = ["evaluate", run, "--against", "random", "--games", "2", "--simulations", "2"]
    assert main([*evaluate, "--json"]) == 0
    capsys.readouterr()
    assert main([*command, "--show"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["trial", "learner.learning_rate", "score"]
    assert len(lines) == 5
    assert main([*command, "--trials=3"]) == 2
    assert "leave out --trials" in capsys.readouterr().err
