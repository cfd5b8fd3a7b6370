"""`ludarium.training.train`: runs from Python, with callbacks."""

from __future__ import annotations

import json
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ludarium.base.progress import SILENT
from ludarium.configs import load_config
from ludarium.configs.schema import EvaluationConfig
from ludarium.envs import make_game
from ludarium.models import load_header
from ludarium.training import Iteration, run, train
from ludarium.training.agents import make_agent
from ludarium.training.cluster.actors import ClusterActors
from ludarium.training.evaluation import IntervalEstimate, MatchResult
from ludarium.training.evaluation.statistics import wilson
from ludarium.training.run import make_trainer
from ludarium.training.runs import evaluation, trainer
from ludarium.training.runs.evaluation import AgentEvaluation, find_opponents
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.metrics import METRICS
from tests.progress import Told, run_until
from tests.tiny_runs import ALPHAZERO, TinyRuns

RUNS = TinyRuns("corso/demo", ALPHAZERO)


def test_each_iteration_is_told_once_it_is_saved(tmp_path):
    told: list[Iteration] = []

    def callback(iteration: Iteration) -> None:
        lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
        assert iteration.metrics == json.loads(lines[-1])
        assert iteration.numbers.items() <= iteration.metrics.items()
        assert iteration.metrics.keys() - iteration.numbers.keys() == {"backend"}
        assert iteration.metrics.keys() <= METRICS.keys()
        assert iteration.folder == tmp_path
        iteration.metrics.clear()  # the callback's own
        told.append(iteration)

    result = train(RUNS.config(), tmp_path, callback, lambda _: None, callback, progress=SILENT)
    assert (result.iteration, result.finished) == (3, True)
    assert [each.number for each in told] == [1, 1, 2, 2, 3, 3]
    assert train(RUNS.config(), tmp_path, callback, progress=SILENT).finished
    assert len(told) == 6


def test_a_callback_stops_the_run_which_goes_on(tmp_path, capsys):
    result = train(RUNS.config(), tmp_path / "a", lambda it: it.stop())
    assert (result.iteration, result.finished) == (1, False)
    assert "new run" in capsys.readouterr().err
    told = []
    train(RUNS.config(), tmp_path / "a", lambda it: told.append(it.number), progress=SILENT)
    assert told == [2, 3]
    assert capsys.readouterr() == ("", "")


def test_an_agent_that_a_callback_asked_for_stays_as_it_was(tmp_path):
    agents, names, told = [], [], []
    config = RUNS.config("evaluation.simulations=9", "seed=5")

    def keep(iteration: Iteration) -> None:
        agents.append(iteration.agent(0))
        names.extend([agents[-1].name, iteration.agent().name])

    result = train(config, tmp_path, keep, told.append, progress=SILENT)
    with pytest.raises(RuntimeError, match="iteration 1 is asked for after the callback"):
        told[0].agent(0)
    assert names == [f"iteration {n}:{simulations}" for n in (1, 2, 3) for simulations in (0, 9)]
    header = load_header(tmp_path / "agent.safetensors")
    told = {"algorithm": "alphazero", "iteration": 3, "seed": 5}
    assert header.notes.items() >= told.items()
    assert 0 < header.notes["seconds"] <= round(result.seconds, 1)
    assert header.notes["config"]["learner"]["batch"] == 64
    assert header.step == result.step > 0
    states = agents[0].game.new_states(4)
    states[:] = agents[0].game.start().states[0]
    found = [agent.evaluate(states[:1]).logits for agent in agents]
    assert not np.array_equal(found[0], found[2])
    latest = make_agent(f"{tmp_path}:0", agents[0].game)
    np.testing.assert_allclose(found[2], latest.evaluate(states[:1]).logits, atol=1e-4)


@pytest.mark.parametrize("against", ["random", ["random", "uct:9"]])
def test_an_evaluation_is_what_games_and_exact_values_say(against, monkeypatch):
    """Of made-up results; of five moves three keep the value."""
    game, asked, told = make_game("corso", size=3), [], Told()

    def match(*given, **named):
        asked.append((given[0], given[1], given[2].name, given[3], named))
        return SimpleNamespace(result=MatchResult(5, 2, 1))

    def anchors(*given, **named):
        asked.append((*given, named))
        results = {"random": MatchResult(3, 0, 1), "uct:9": MatchResult(1, 1, 2)}
        return IntervalEstimate(900.0, 800.0, 1000.0, 8), results

    monkeypatch.setattr(evaluation, "play_match", match)
    monkeypatch.setattr(evaluation, "play_anchors", anchors)
    agent, ratings = make_agent("random", game), {"random": 10.0, "uct:9": 500.0}
    monkeypatch.setattr(agent, "actions", lambda states: np.array([4, 0, 8, 4, 1][: len(states)]))
    mask = np.zeros((5, 9), bool)
    mask[range(5), [4, 0, 4, 4, 0]] = True
    test = SimpleNamespace(states=np.repeat(game.start().states, 5), optimal_mask=mask)
    opponents = find_opponents(EvaluationConfig(against=against), game)
    found = AgentEvaluation(opponents, 8, ratings, test, 6).of(agent, 123.0, told)
    named = {"seed": 6, "progress": told}
    assert found.pop("accuracy") == wilson(3, 5).to_dict()
    if against == "random":
        assert asked == [(game, agent, "random", 8, named)]
        assert found == {"opponent": "random", "score": wilson(6, 8).to_dict()}
    else:
        assert asked == [(game, agent, ratings, 8, named | {"guess": 123.0})]
        assert found.pop("elo") == {"value": 900, "low": 800, "high": 1000, "count": 8}
        of_random = {"wins": 3, "draws": 0, "losses": 1, "score": wilson(3, 4).to_dict()}
        of_uct = {"wins": 1, "draws": 1, "losses": 2, "score": wilson(1.5, 4).to_dict()}
        anchors = {"random": {"elo": 10.0, **of_random}, "uct:9": {"elo": 500.0, **of_uct}}
        assert found == {"anchors": anchors}
    with pytest.raises(ValueError, match=r"evaluation\.against: .*plays onyx"):
        find_opponents(EvaluationConfig(against="onyx"), game)


def test_what_a_callback_raises_ends_the_call_and_loses_nothing(tmp_path):
    def fail(iteration):
        raise RuntimeError("the logger is gone")

    with pytest.raises(RuntimeError, match="the logger is gone"):
        train(RUNS.config(), tmp_path, fail, progress=SILENT)
    told = []
    train(RUNS.config(), tmp_path, lambda it: told.append(it.number), progress=SILENT)
    assert told == [2, 3]


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        ((5,), {}, "config is 5; accepted"),
        (("corso/demo", None), {}, "a callback is None; accepted: a function"),
        (("corso/demo",), {"settings": ["learner.batch=3"]}, "settings is .*; accepted: values"),
        (("corso/demo",), {"settings": {"seed": object()}}, "settings: seed is <object"),
        (("corso/demo",), {"restart": "no"}, "restart is 'no'; accepted: False or True"),
        (("corso/demo",), {"cluster": 5}, "cluster is 5; accepted: an address"),
    ],
)
def test_arguments_of_a_wrong_type_are_refused_before_a_run_is_touched(
    arguments, given, message, tmp_path
):
    config, *callbacks = arguments
    with pytest.raises(ValueError, match=message):
        train(config, tmp_path / "run", *callbacks, **given)
    assert not (tmp_path / "run").exists()


def test_configurations_are_taken_by_name_by_file_and_changed(tmp_path):
    with pytest.raises(ValueError, match=r"evaluation\.every"):
        train("corso/demo", tmp_path / "run", settings={"evaluation.every": -1})
    with pytest.raises(FileNotFoundError, match="there is no configuration"):
        train(tmp_path / "nowhere.yaml", tmp_path / "run")
    assert not (tmp_path / "run").exists()
    file = tmp_path / "mine.yaml"
    file.write_text("game: corso\noptions: {size: 3}\nbackend: eager\nbudget: {iterations: 9}\n")
    tiny = {
        "network": {"channels": 8, "blocks": 1},
        "self_play": {"games": 8, "positions": 64, "workers": 1, "simulations": 2},
        "learner.batch": 32,
        "evaluation.every": 0,
        "budget.iterations": 1,
    }
    tiny["learner.batch"] = np.int64(32)
    assert train(file, tmp_path / "run", settings=tiny, progress=SILENT).iteration == 1
    told: list[Iteration] = []
    again = {"settings": tiny, "progress": SILENT, "restart": True}
    assert train(str(file), tmp_path / "run", told.append, **again).finished
    assert [each.number for each in told] == [1]


def test_a_run_begins_with_a_trained_agent(tmp_path):
    RUNS.trained(tmp_path / "a", iterations=1)
    start, settings = str(tmp_path / "a"), {"budget.iterations": 1, "network.blocks": 2}
    given = {"settings": settings, "start": start, "progress": SILENT}
    train(RUNS.config(), tmp_path / "b", **given)
    (tmp_path / "a" / "agent.safetensors").unlink()  # a run that goes on needs it no more
    assert train(RUNS.config(), tmp_path / "b", **given).finished
    config = load_config(tmp_path / "b" / "config.yaml")
    assert (config.start, config.network.channels, config.network.blocks) == (start, 8, 2)


@pytest.mark.parametrize("cluster", [None, "", "auto"])
def test_a_run_is_on_a_cluster_where_one_is_named(cluster, tmp_path, monkeypatch):
    told: list[Any] = []

    def refuse(config, folder, algorithm, progress, on_cluster):
        told.extend([on_cluster, getattr(algorithm, "keywords", {}).get("actors")])
        raise RuntimeError("here it ends")

    monkeypatch.setattr(run, "Trainer", refuse)
    monkeypatch.setattr(run, "columns_of", lambda *given: told.append(given) or ())
    monkeypatch.setattr(run, "joined", lambda address: nullcontext(told.append(address)))
    with pytest.raises(RuntimeError, match="here it ends"):
        train(RUNS.config(), tmp_path, cluster=cluster, progress=Told())
    found = [False, None] if cluster is None else [cluster, True, ClusterActors]
    assert told == [("alphazero", cluster is not None), *found]


@pytest.mark.parametrize("stops", [False, True])
def test_a_run_ends_after_an_evaluation_of_its_last_agent(stops, tmp_path, monkeypatch):
    """The first one uses up the time that is left: another iteration has the last one."""
    now = [0.0]

    def slow(*_: object) -> dict[str, Any]:
        now[0] += 61
        return {"elo": IntervalEstimate.known(now[0]).to_dict()}

    monkeypatch.setattr(AgentEvaluation, "of", slow)
    monkeypatch.setattr(trainer, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    config = RUNS.config("budget={iterations: 9, minutes: 1}", "evaluation.every=1")
    run = make_trainer(config, RunFolder(tmp_path / "run"))
    if stops:
        assert not run_until(run, 1).finished
        run.close()
        run = make_trainer(config, RunFolder(tmp_path / "run"))
    assert run.run().finished
    assert (run.iteration, run.elo) == (2, 122.0)
    assert run.run().iteration == 2
    run.close()
