"""Searches over configurations: what is tried, what is stopped, and what is made of it."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

import pytest

from ludarium.cli import main
from ludarium.configs import apply_settings, load_config
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.trainer import DivergedError, RunResult
from tests.progress import StopWhen
from tests.tiny_runs import ARGUMENTS

pytest.importorskip("optuna", reason='no Optuna: pip install "ludarium[tune]"')

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from ludarium.base.lock import WriterLock
from ludarium.training.evaluation import IntervalEstimate
from ludarium.training.tuning.space import Space, read_dimension
from ludarium.training.tuning.study import BEST, REASON, TuningPlan, load_study, trials_of, tune

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

    def __call__(self, config, folder, progress):
        folder.path.mkdir(parents=True, exist_ok=True)
        done = len(folder.metrics.read_text().splitlines()) if folder.metrics.exists() else 0
        while done < 10 and not progress.stopped:
            if self.left == 0:
                raise KilledError
            self.left -= 1
            done += 1
            score = self.strength(config) * done / 10
            metrics = {"iteration": done, "progress": done / 10, "seconds": 6.0 * done}
            metrics |= {"score": IntervalEstimate(score, score - 0.1, score + 0.1, 10).to_dict()}
            with open(folder.metrics, "a") as log:
                log.write(json.dumps(metrics) + "\n")
        self.trained.append((folder.path.name, done))
        return RunResult(done, done == 10, 6.0 * done, done)


def plan_of(*texts, trials=1, **given):
    return TuningPlan(Space(CONFIG, texts), trials, **given)


def search(folder, plan, training):
    """Search to the end; the trials, the best first."""
    assert tune(folder, plan, training)
    return trials_of(load_study(folder))


def closeness(config):
    """Best at a learning rate of 0.001."""
    return 0.9 - 0.3 * abs(math.log10(config.learner.learning_rate) + 3)


def test_values_of_a_key_are_a_list_or_a_range():
    assert read_dimension("network.size=tiny, small") == (
        "network.size",
        CategoricalDistribution(['"tiny"', '"small"']),
    )
    assert read_dimension("network={size: tiny},{channels: 8, blocks: 2}") == (
        "network",
        CategoricalDistribution(['{"size": "tiny"}', '{"channels": 8, "blocks": 2}']),
    )
    assert read_dimension("self_play.games=8..64") == ("self_play.games", IntDistribution(8, 64))
    log = FloatDistribution(0.0001, 0.01, log=True)
    assert read_dimension(RATE) == ("learner.learning_rate", log)
    assert read_dimension("learner.score_weight=0..0.5")[1] == FloatDistribution(0.0, 0.5)
    assert Space(CONFIG, ("learner.score_weight=0..1",)).usual == {}, "a half is no whole number"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("learner.batch", "says no values"),
        ("learner.batch=", "says no values"),
        ("learner.batch=64..64", "is not a range: LOW is not below HIGH"),
        ("learner.batch=64,,128", "is not YAML"),
        ("learner.batch=a..b", "'a' in .* is not a number"),
        ("learner.batch=0..64,log", "is not a range: .*log"),
        ("learner.batch=64,64", "has a value twice"),
        ("learner.batsh=64,128", "batsh"),
        ("learner.batch=64,many", "learner.batch is 'many'"),
        ("learner.learning_rate=0.001..7", r"learner.learning_rate is 7"),
        ("options.size=4,5", "several rules cannot be compared"),
        ("seed=1,2,3", "come with seeds=3"),
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
    plan = plan_of(*space, seeds=3, grid=True, prunes=False)
    best, second, *others = search(tmp_path / "study", plan, training)
    assert len(training.trained) == 12
    assert {best.params["learner.batch"], second.params["learner.batch"]} == {"128"}
    assert best.value == pytest.approx(0.62)
    assert [row.value for row in others] == pytest.approx([0.52, 0.52])
    with pytest.raises(ValueError, match="not a range"):
        search(tmp_path / "other", plan_of(RATE, grid=True), training)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("killed", [0, 1, 3])
def test_a_grid_that_is_killed_while_it_is_written_down_is_whole(tmp_path, monkeypatch, killed):
    plan = plan_of("learner.batch=64,128", "self_play.solve=0,1", grid=True, prunes=False)
    enqueue, left = optuna.Study.enqueue_trial, iter(range(killed))

    def enqueue_or_die(*arguments, **given):
        if next(left, None) is None:
            raise KilledError
        enqueue(*arguments, **given)

    with monkeypatch.context() as patch:
        patch.setattr(optuna.Study, "enqueue_trial", enqueue_or_die)
        with pytest.raises(KilledError):
            search(tmp_path, plan, Training(closeness))
    for _ in range(2):  # once more: nothing is written down twice
        rows = search(tmp_path, plan, Training(closeness))
        tried = sorted(tuple(row.params.values()) for row in rows)
        assert tried == [("128", "0"), ("128", "1"), ("64", "0"), ("64", "1")]


def test_a_search_goes_further_but_no_other_search_goes_on(tmp_path):
    folder = tmp_path / "study"
    search(folder, plan_of(RATE, trials=2), Training(closeness))
    training = Training(closeness)
    rows = search(folder, plan_of(RATE, trials=3), training)
    assert len({row.params["learner.learning_rate"] for row in rows}) == 3
    assert len(training.trained) == 1
    for other, key in ((plan_of(trials=3), "search"), (plan_of(RATE, trials=3, seeds=2), "seeds")):
        problem = rf"another search \({key}: .* there, .* now\); give another folder"
        with pytest.raises(ValueError, match=problem):
            search(folder, other, training)
    with pytest.raises(ValueError, match="holds no search"):
        load_study(tmp_path / "nothing")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("Dear")
    with pytest.raises(ValueError, match="holds no search; give another folder"):
        search(tmp_path / "mine", plan_of(RATE), training)


def test_the_journal_of_a_search_has_one_writer(tmp_path):
    folder, plan = tmp_path / "study", plan_of(RATE, trials=2)
    search(folder, plan, Training(closeness))
    before = (folder / "journal.log").read_bytes()
    assert main(["tune", "corso", "--show", "--folder", str(folder)]) == 0
    lock = WriterLock(folder / "lock")
    lock.acquire()
    try:
        with pytest.raises(ValueError, match="study is in use by"):
            search(folder, plan_of(RATE, trials=3), Training(closeness))
    finally:
        lock.release()
    assert (folder / "journal.log").read_bytes() == before
    (folder / "journal.log").write_bytes(before.replace(b"{", b"(", 1))
    with pytest.raises(ValueError, match=r"journal\.log is damaged \(JSONDecodeError: .*copy"):
        load_study(folder)


def test_a_search_finds_good_values_and_stops_bad_trials(tmp_path):
    training = Training(closeness)
    rows = search(tmp_path / "study", plan_of(RATE, trials=15), training)
    usual = next(row for row in rows if row.number == 0)
    assert usual.params == {"learner.learning_rate": CONFIG.learner.learning_rate}
    assert abs(math.log10(rows[0].params["learner.learning_rate"]) + 3) < 0.3
    ended = [done for _, done in training.trained]
    assert ended.count(1) >= 3, "after the first of ten parts"
    assert {*ended} == {1, 10}
    best = load_config(tmp_path / "study" / BEST)
    assert best.learner.learning_rate == rows[0].params["learner.learning_rate"]


@pytest.mark.parametrize("killed", [1, 14, 33, 57])
def test_a_search_that_is_killed_goes_on_with_the_run_that_it_was_in(tmp_path, killed):
    folder, plan = tmp_path / "study", plan_of(RATE, "learner.batch=64,128", trials=8, prunes=False)
    with pytest.raises(KilledError):
        search(folder, plan, Training(closeness, killed))
    training = Training(closeness)
    rows = search(folder, plan, training)
    assert training.trained[0] == (f"trial-{killed // 10:03d}-seed-1", 10)
    assert len(rows) == 8
    assert {row.state.name for row in rows} == {"COMPLETE"}
    assert len([path for path in folder.iterdir() if path.is_dir()]) == 8
    for row in rows:
        assert row.value == pytest.approx(closeness(plan.space.configure(row.params)))


def test_a_search_that_is_stopped_says_that_there_is_more(tmp_path):
    asked = iter([False] * 15 + [True] * 100)
    plan = plan_of(RATE, trials=3, prunes=False)
    assert not tune(tmp_path, plan, Training(closeness), StopWhen(lambda: next(asked)))
    states = [row.state.name for row in trials_of(load_study(tmp_path))]
    assert states == ["COMPLETE", "RUNNING"]
    assert len(search(tmp_path, plan, Training(closeness))) == 3


def test_a_trial_that_fails_is_told_and_the_search_goes_on(tmp_path):
    def strength(config):
        if config.learner.batch == 128:
            raise DivergedError("training has diverged")
        return 0.5

    plan = plan_of("learner.batch=64,128", grid=True, prunes=False)
    rows = search(tmp_path / "study", plan, Training(strength))
    assert [(row.state.name, row.user_attrs.get(REASON)) for row in rows] == [
        ("COMPLETE", None),
        ("FAIL", "training has diverged"),
    ]


def test_what_keeps_a_run_from_going_on_ends_the_search_and_no_trial(tmp_path):
    def train(config, folder, stop):
        raise ValueError("cannot use the Ray cluster")

    plan = plan_of(RATE, trials=2)
    with pytest.raises(ValueError, match="cannot use the Ray cluster"):
        search(tmp_path / "study", plan, train)
    rows = search(tmp_path / "study", plan, Training(closeness))
    assert [row.state.name for row in rows] == ["COMPLETE"] * 2


def test_a_search_goes_on_with_keys_that_change_no_result(tmp_path):
    def plan(trials, *settings):
        return TuningPlan(Space(apply_settings(CONFIG, settings), (RATE,)), trials)

    search(tmp_path, plan(1), Training(closeness))
    rows = search(tmp_path, plan(2, "save.keep=7", "cluster.staleness=3"), Training(closeness))
    assert len(rows) == 2
    other = plan(2, "learner.batch=7")
    with pytest.raises(ValueError, match=r"config\.learner\.batch: \d+ there, 7 now"):
        search(tmp_path, other, Training(closeness))


def test_a_search_that_knew_fewer_keys_goes_on(tmp_path):
    plan = plan_of(RATE)
    search(tmp_path, plan, Training(closeness))
    study = load_study(tmp_path)
    config = plan.description["config"]
    del config["evaluation"]["exact_test"]
    study.set_user_attr("plan", plan.description | {"config": config})
    assert len(search(tmp_path, plan_of(RATE, trials=2), Training(closeness))) == 2


def test_trials_without_evaluations_are_refused():
    config = apply_settings(CONFIG, ["evaluation.every=0"])
    with pytest.raises(ValueError, match=r"evaluation\.every is 0"):
        TuningPlan(Space(config, ()), 1)


@pytest.mark.parametrize(
    ("setting", "problem"),
    [("device=cuda:77", "not on this machine"), ("network={module: 'no:Net'}", "network 'no:Net'")],
)
def test_what_cannot_be_trained_is_refused_before_a_folder_is_made(
    setting, problem, tmp_path, capsys
):
    folder = tmp_path / "study"
    arguments = ["tune", "corso", *ARGUMENTS, f"--set={setting}", "--folder", str(folder)]
    assert main(arguments) == 2
    assert problem in capsys.readouterr().err
    assert not folder.exists()


def test_the_command_trains_runs_that_other_commands_read(tmp_path, capsys):
    folder = tmp_path / "study"
    search = ["--grid", "--search=learner.learning_rate=0.001,0.01", "--seeds=2"]
    tiny = [*ARGUMENTS, "--set=budget={iterations: 2}", "--set=seed=2"]
    command = ["tune", "corso", *tiny, *search, "--folder", str(folder)]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measure"] == "score"
    assert [trial["state"] for trial in found["trials"]] == ["complete"] * 2
    evaluate = ["evaluate", str(folder / "trial-000-seed-2"), "--against", "random"]
    assert main([*evaluate, "--games", "2", "--simulations", "2", "--json"]) == 0
    capsys.readouterr()
    assert main(["tune", "corso", "--show", "--set=evaluation.every=0", *command[-2:]]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["trial", "learner.learning_rate", "score"]
    assert "the best one: learner.learning_rate=0.0" in lines[3]
    assert Path(lines[4].split()[-1]).is_dir()  # of the search's seed, which is not the usual one
    longer = shlex.split(lines[5].partition("ludarium ")[2])
    assert longer[-1] == "budget.iterations=4"  # twice as many
    assert main([*longer, "--folder", str(tmp_path / "longer")]) == 0
    assert RunFolder(tmp_path / "longer").begun().budget.iterations == 4
    assert main([*command, "--trials=3"]) == 2
    assert "leave out --trials" in capsys.readouterr().err


def test_trials_without_search_are_refused(capsys):
    assert main(["tune", "corso", "--trials", "5"]) == 2
    assert "without --search there is one trial" in capsys.readouterr().err
