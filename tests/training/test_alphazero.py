"""The trainer: what it plays, what it learns from, and that nothing is lost."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from threading import Event
from types import SimpleNamespace
from typing import get_args, get_type_hints

import numpy as np
import pytest
import torch

from ludarium.base.progress import SILENT, Progress
from ludarium.base.threads import available_cores
from ludarium.configs.schema import NetworkConfig, SelfPlayConfig
from ludarium.envs import GAMES, make_game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.envs.engine.position import contents_of
from ludarium.envs.engine.rule import DRAW, ONGOING, PLAYER_0_WINS, PLAYER_1_WINS, TRUNCATED
from ludarium.models import Evaluation, InferenceEngine, build_network, load_checkpoint
from ludarium.models.kernels import in_search
from ludarium.models.network import SIZES
from ludarium.training import train
from ludarium.training.alphazero import bootstrap, loop
from ludarium.training.alphazero.bootstrap import bootstrap_samples
from ludarium.training.alphazero.samples import BatchMaker, sample_dtype
from ludarium.training.alphazero.self_play import (
    SelfPlay,
    SelfPlayResult,
    choose_threads,
    games_of_worker,
    torch_threads_of_worker,
)
from ludarium.training.evaluation import play_anchors
from ludarium.training.networks import (
    chosen_architecture,
    inference_engine,
    network_shape,
    random_observations,
)
from ludarium.training.run import train_in
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.trainer import Trainer
from ludarium.training.search import SearchSettings
from tests.games import slow_but
from tests.progress import StopWhen, Told
from tests.survival.tiny import metrics
from tests.tiny_runs import ALPHAZERO, TinyRuns

RUNS = TinyRuns("corso/demo", ALPHAZERO)
tiny_config, trained = RUNS.config, RUNS.trained


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    return trainer.algorithm.learner.network.state_dict()


def positions(trainer: Trainer) -> np.ndarray:
    """What the replay holds, the oldest first."""
    return trainer.algorithm.replay[np.arange(len(trainer.algorithm.replay))]


def network(observations):
    """A network with fixed answers, each the same whatever else is asked."""
    flat = observations.reshape(len(observations), -1)
    weights = np.random.default_rng(1).normal(size=(flat.shape[1], 10))
    answers = np.sin((flat[:, :, None] * weights).sum(axis=1)).astype(np.float32)
    return Evaluation.of_values(2 * answers[:, 1:], 0.9 * answers[:, 0])


SEED = np.random.SeedSequence(3)


def self_play_of(workers: int, evaluate=network, cache=1) -> tuple[SelfPlay, SearchSettings]:
    """Self-play of small groups."""
    settings = SearchSettings(simulations=8, noise=1.0)
    config = SelfPlayConfig(games=24, positions=900, cache=cache)
    game = make_game("corso", size=3)
    return SelfPlay(game, config, settings, workers, evaluate), settings


def assert_same_samples(found: SelfPlayResult, expected: SelfPlayResult) -> None:
    assert contents_of(found.samples["state"]) == contents_of(expected.samples["state"])
    for name in ("policy", "outcome", "score"):
        np.testing.assert_array_equal(found.samples[name], expected.samples[name])
    for name in ("games", "plies", "positions", "simulations"):
        assert found.counts[name] == expected.counts[name]


def compiled_engine(seed: int = 1, backend: str = "compiled") -> InferenceEngine:
    game = make_game("corso", size=3)
    torch.manual_seed(seed)
    fresh = build_network(network_shape(game), 8, 1)
    return inference_engine(
        game, fresh, 8, backend, calibration_inputs=random_observations(game, 64, 0)
    )


@pytest.mark.parametrize("backend", ["compiled", "compiled-int8"])
def test_whole_games_are_the_same_for_any_number_of_workers(backend):
    engine = compiled_engine(backend=backend)
    chunks = []
    for workers in (1, 2, 3):
        self_play, settings = self_play_of(workers, engine)
        assert self_play.one_game_per_worker
        chunks.append(
            [self_play.play(settings, engine, np.random.SeedSequence(seed)) for seed in (3, 4)]
        )
    for other in chunks[1:]:
        for found, expected in zip(other, chunks[0], strict=True):
            assert_same_samples(found, expected)
    first, second = chunks[0]
    assert contents_of(first.samples["state"]) != contents_of(second.samples["state"])
    for result in chunks[0]:
        # The last game is the one with which there are enough positions.
        assert 900 <= result.counts["positions"] == len(result.samples) < 900 + 9


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_told_within_a_game_and_ends_at_the_goal(workers, monkeypatch):
    engine = compiled_engine()
    self_play, settings = self_play_of(workers, engine)
    monkeypatch.setattr("ludarium.training.alphazero.self_play._PATIENCE", 0.0)
    told = Told()
    result = self_play.play(settings, engine, SEED, told)
    assert set(told.steps) <= {0, 1}, "more than a position at once"
    assert sum(told.steps) == 900 <= result.counts["positions"]


def test_an_answer_that_is_no_number_ends_self_play_by_name():
    engine = compiled_engine()
    self_play, settings = self_play_of(2, engine)
    inside = in_search(engine, 1)
    assert inside is not None
    inside.network.arrays.head_bias[:] = np.nan
    with pytest.raises(ValueError, match="InferenceEngine answered logits that are not finite"):
        self_play.play(settings, engine, SEED)


def test_a_gpu_gets_batches_worth_its_while():
    cores = available_cores()
    assert choose_threads(SelfPlayConfig(games=256), "cpu") == cores
    assert choose_threads(SelfPlayConfig(games=64 * cores), "cuda") == cores
    assert choose_threads(SelfPlayConfig(games=127), "cuda") == 1
    assert choose_threads(SelfPlayConfig(games=16), "cuda") == 1
    assert choose_threads(SelfPlayConfig(games=16, workers=5), "cuda") == 5


def test_workers_divide_games_and_threads_and_have_one_at_least(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    assert [torch_threads_of_worker(workers) for workers in (1, 2, 3, 9)] == [7, 3, 2, 1]
    config = SelfPlayConfig(games=10)
    assert [games_of_worker(config, workers) for workers in (1, 3, 20)] == [10, 3, 1]


def test_an_error_of_the_network_ends_self_play(monkeypatch):
    self_play, settings = self_play_of(workers=2)
    calls, is_told, stop = itertools.count(), Event(), Progress.stop
    monkeypatch.setattr(Progress, "stop", lambda ending: (stop(ending), is_told.set()))

    def fail(observations):
        if next(calls) == 0:
            raise MemoryError("no room")
        assert is_told.wait(60)  # until the other thread is past its error
        return network(observations)

    with pytest.raises(MemoryError, match="no room"):
        self_play.play(settings, fail, SEED)
    assert next(calls) <= 2, "the other thread went on"


def test_every_chunk_of_play_begins_with_an_empty_cache():
    """The network may be another."""
    engines = [compiled_engine(seed) for seed in (1, 2)]
    chunks = []
    for first in engines:
        self_play, settings = self_play_of(1, first)
        self_play.play(settings, first, SEED)
        chunks.append(self_play.play(settings, engines[1], SEED))
    assert chunks[0].counts["hits"] > 0
    assert_same_samples(*chunks)
    self_play, settings = self_play_of(1, engines[1], cache=0)
    counts = self_play.play(settings, engines[1], SEED).counts
    assert counts["evaluations"] == chunks[0].counts["evaluations"] + chunks[0].counts["hits"]


#: Settings of runs that are interrupted, and which figures of their logs are shares.
INTERRUPTED = {
    "games of their own": (["backend=auto"], []),
    "games in progress": (["backend=eager"], []),
    "several boards": (["variants=[{options: {size: 2}, share: 3}, {options: {size: 3}}]"], []),
    "a cache": (
        [
            "self_play.temperature_plies=4",
            "self_play.cache=0.1",
            "self_play.workers=1",  # with more the hits depend on who plays which game
        ],
        ["cache_hits"],
    ),
    "exact targets": (["self_play.solve=30", "self_play.keep_trivial=0.5"], ["solved"]),
}


@pytest.mark.parametrize("case", slow_but(list(INTERRUPTED)[:2], INTERRUPTED))
def test_an_interrupted_run_goes_on_as_if_it_had_not_been(tmp_path, case):
    settings, shares = INTERRUPTED[case]
    whole = trained(tmp_path / "whole", *settings)
    for stop in (1, 2, 3):
        parts = trained(tmp_path / "parts", *settings, iterations=stop)
    assert parts.iteration == whole.iteration == 3
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(parts)[name]), name
    np.testing.assert_array_equal(positions(whole), positions(parts))
    logs = [metrics(tmp_path / name) for name in ("whole", "parts")]
    told = [[[line[name] for name in ("iteration", *shares)] for line in log] for log in logs]
    assert told[0] == told[1]
    assert [number for number, *_ in told[0]] == [1, 2, 3]
    assert all(0 < share < 1 for _, *found in told[0] for share in found)


@pytest.mark.parametrize("backends", [("compiled", "eager"), ("eager", "compiled")])
def test_a_run_goes_on_with_new_games_where_they_are_played_in_another_way(
    tmp_path, monkeypatch, backends
):
    """As with another device, which decides whether games are played in batches."""
    told: list[str] = []
    monkeypatch.setattr(Progress, "say", lambda _, text, style="": told.append(text))
    for stop, backend in enumerate(backends, 1):
        monkeypatch.setattr(InferenceEngine, "_usual_backend", lambda *_, name=backend: name)
        monkeypatch.setattr(loop, "choose_threads", lambda *_, cores=stop: cores)
        trainer = trained(tmp_path, "backend=auto", iterations=stop)
        assert trainer.algorithm.actors.by_game[0].self_play.one_game_per_worker == (
            backend == "compiled"
        )
        assert (trainer.iteration, trainer.algorithm.workers) == (stop, 1)  # as it began
        assert len([text for text in told if "new games are begun" in text]) == stop - 1


def test_a_bootstrap_searches_for_its_share_of_the_minutes(monkeypatch):
    """A third of a minute, of which ten seconds pass at each look: two positions of each game."""
    clock = SimpleNamespace(perf_counter=itertools.count(0, 10).__next__)
    monkeypatch.setattr(bootstrap, "time", clock)
    game, settings = make_game("corso", size=3), ["self_play.opening_plies=2", "budget.minutes=1"]
    config = RUNS.config("bootstrap={positions: 960, playouts: 8}", *settings)
    found = bootstrap_samples(game, config, np.random.SeedSequence(5), sample_dtype(game), SILENT)
    assert len(found) == 32
    plies = found["state"]["ply"].reshape(2, 16)
    assert set(plies[0]) <= {0, 1, 2}
    np.testing.assert_array_equal(plies[1], plies[0] + 1)
    np.testing.assert_array_equal(found["policy"] * 8 % 1, 0)
    assert (found["outcome"] != ONGOING).all()


def test_a_bootstrap_draws_moves_by_their_playouts():
    game = make_game("corso", size=3)
    config = RUNS.config("bootstrap={positions: 96, playouts: 20}")
    arguments = game, config, np.random.SeedSequence(4), sample_dtype(game), SILENT
    recorder, states = bootstrap._Recorder(*arguments), np.repeat(game.start().states, 1000)
    actions = recorder.play([GameInPlay(game, 0, 0, 0, states, [])] * 1000, states)
    shares = recorder._recorded[0]["policy"].astype(float)
    played = shares[np.arange(1000), actions].mean()
    assert played == pytest.approx((shares**2).sum(axis=1).mean(), abs=0.01)


def test_a_bootstrap_takes_its_share_of_the_minutes_and_says_so(tmp_path, capsys):
    settings = ["bootstrap={positions: 1000000, playouts: 50}", "budget.minutes=0.01"]
    train(RUNS.config(*settings), tmp_path)
    told = capsys.readouterr().err
    assert "games by tree search with random playouts (within 0 s)" in told
    assert re.search(r"bootstrap ended by its share of budget.minutes: [\d,]+ of 1,000,000", told)


def test_a_stop_ends_the_bootstrap_and_the_run_begins_anew(tmp_path):
    config = RUNS.config("bootstrap={positions: 96, playouts: 4}")
    folder, asked = RunFolder(tmp_path / "stopped"), iter([False])
    result = train_in(folder, config, progress=StopWhen(lambda: next(asked, True)))
    assert (result.iteration, result.finished) == (0, False)
    whole = train(config, tmp_path / "whole", progress=SILENT)
    again = train(config, folder.path, progress=SILENT)
    assert (again.iteration, again.step) == (whole.iteration, whole.step)
    agents = [
        load_checkpoint(tmp_path / name / "agent.safetensors") for name in ("stopped", "whole")
    ]
    found, expected = (agent.network.state_dict() for agent in agents)
    assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("name", GAMES)
def test_every_size_of_the_configuration_has_a_network_for_every_game(name):
    game = make_game(name)
    names = get_args(get_args(get_type_hints(NetworkConfig)["size"])[0])
    assert len(names) == 3
    for size in names:
        chosen = chosen_architecture(game, NetworkConfig(size=size))
        assert tuple(chosen.options.values()) == SIZES[len(game.observation_shape)][size]
        assert chosen_architecture(game, NetworkConfig(**chosen.options)) == chosen


def test_targets_are_seen_from_the_mover_in_a_random_symmetry():
    game = make_game("corso", size=3)
    position = game.start()
    for text in ("b2", "a1", "b2!"):
        position.play(position.text_to_action(text))
    samples = np.zeros(64, sample_dtype(game))
    samples["state"] = position.states
    samples["policy"][:, 0] = 0.5  # expand a1, a corner; a target's sum is 1 all the same
    samples["outcome"] = [PLAYER_0_WINS, PLAYER_1_WINS, DRAW, TRUNCATED] * 16
    samples["score"] = 3
    batch = BatchMaker(game)(samples, np.random.default_rng(0))
    assert position.mover == 1
    expected = [[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0]] * 16  # a loss, a win, draws
    np.testing.assert_allclose(batch.targets["outcome"], expected)
    np.testing.assert_allclose(batch.targets["score"], -3 / 9)
    corners = batch.targets["policy"].argmax(axis=1)
    np.testing.assert_array_equal(batch.targets["policy"].max(axis=1), 1)
    assert set(corners) == {0, 2, 6, 8}
    # The own marble is on the corner that the policy expands, whatever the symmetry.
    own_marbles = batch.observations[:, 0].reshape(64, -1)
    assert (own_marbles.argmax(axis=1) == corners).all()


ANCHORED = "evaluation={every: 1, against: [random, 'uct:20'], games: 8, simulations: 4}"


def test_evaluations_against_anchors_are_ratings_and_survive_an_interruption(tmp_path, monkeypatch):
    """Ratings that do not come along are measured once, when the run starts."""
    guesses = []
    known = {"random": 77.0, "uct:1000": 1000.0}
    monkeypatch.setattr("ludarium.training.runs.trainer.known_elo", lambda game: known)

    def rated(*arguments, guess, **others):
        guesses.append(guess)
        return play_anchors(*arguments, guess=guess, **others)

    monkeypatch.setattr("ludarium.training.runs.evaluation.play_anchors", rated)
    whole = trained(tmp_path / "whole", ANCHORED)
    logs = [metrics(tmp_path / "whole")]
    assert guesses == [None, *(line["elo"]["value"] for line in logs[0][:2])]
    parts = trained(tmp_path / "parts", ANCHORED, iterations=1)
    assert parts.elo is not None

    def again(*_, **__):
        raise AssertionError("ratings are measured a second time")

    monkeypatch.setattr("ludarium.training.evaluation.anchors.measure_ratings", again)
    trained(tmp_path / "parts", ANCHORED)
    logs.append(metrics(tmp_path / "parts"))
    keys = ("elo", "anchors")
    ratings = [[{key: line[key] for key in keys} for line in log] for log in logs]
    assert len(ratings[0]) == 3
    assert ratings[0] == ratings[1]
    assert {line["anchors"].get("random", {"elo": 77})["elo"] for line in logs[0]} == {77}
    for line in logs[0]:
        assert line["elo"]["low"] < line["elo"]["value"] < line["elo"]["high"]
        assert line["elo"]["count"] == 8
        assert sum(anchor["score"]["count"] for anchor in line["anchors"].values()) == 8
    assert whole.elo == logs[0][-1]["elo"]["value"]


@pytest.mark.parametrize(("title", "iterations"), [("anchors", 0), ("evaluation", 1)])
def test_a_stopped_run_finishes_an_evaluation_but_not_the_ratings_that_it_begins_with(
    tmp_path, title, iterations
):
    class Stops(Progress):
        def begin(self, begun, total=None, done=0):
            if begun == title:
                self.stop()

    result = train_in(RunFolder(tmp_path), RUNS.config(ANCHORED), progress=Stops())
    assert (result.iteration, result.finished) == (iterations, False)
    lines = metrics(tmp_path) if (tmp_path / "metrics.jsonl").exists() else []
    assert ["elo" in line for line in lines] == [True] * iterations


def test_a_run_says_what_it_does_and_how_far_it_is(tmp_path):
    config = RUNS.config(
        "backend=compiled",
        "budget={iterations: 2, minutes: null}",
        "bootstrap={positions: 96, playouts: 4, replay_ratio: 2}",
        "evaluation={every: 1, games: 4, against: [random, 'uct:2'], simulations: 0}",
    )
    done = Counter[int]()
    told = Told(lambda told: done.update({len(told.begun): told.steps[-1]}))
    lines = []
    train(config, tmp_path, lambda it: lines.append(it.metrics) or it.stop(), progress=told)
    train(config, tmp_path, progress=told)
    simulations = lines[0]["simulations_per_second"]
    assert simulations == pytest.approx(4 * lines[0]["positions_per_second"])
    first, second = (line["step"] for line in metrics(tmp_path))
    tasks = [each for each in told.begun if each[0] != "anchors"]
    assert tasks == [
        *(("bootstrap", 96), ("learning", first), ("evaluation", 4)),
        *(("self-play", 256), ("learning", second - first), ("evaluation", 4)),
    ]
    counted = [done[number] for number, each in enumerate(told.begun, 1) if each in tasks]
    assert counted == [pytest.approx(96, abs=8), first, 4, 256, second - first, 4]
    begun, plan, *shown = told.said[:5]
    where = "alphazero, cpu, 2 workers, network compiled)"
    assert begun == f"training Corso(size=3) in {tmp_path} (new run; {where}"
    assert plan == (
        "plan: first 96 positions of games by tree search with random playouts; self-play, 256 "
        "positions in each iteration; games against random to uct:2 every 1 iteration; until "
        "2 iterations"
    )
    going_on = begun.replace("new run", "going on after iteration 1")
    assert told.said[5:10] == [going_on, plan, *shown]  # the last row is there again


def test_integer_networks_train_and_are_matched_as_they_are(tmp_path):
    trainer = trained(tmp_path, "backend=compiled-int8", "evaluation.every=1", iterations=2)
    assert trainer.algorithm.actors.by_game[0].engine.backend == "compiled-int8"
    lines = metrics(tmp_path)
    assert len(lines) == 2
    assert all(0 < line["value_deviation"] < 0.1 for line in lines)
    assert all(0 <= line["score"]["value"] <= 1 for line in lines)
