"""Each key of a configuration has an effect, which is a number that a formula or a count tells."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from msgspec.inspect import StructType, type_info
from msgspec.structs import asdict

from ludarium.base.numbers import derived_seed
from ludarium.base.progress import SILENT
from ludarium.configs import ALGORITHMS, TrainingConfig
from ludarium.envs import make_game
from ludarium.envs.engine.position import contents_of
from ludarium.models import InferenceEngine, load_checkpoint
from ludarium.training.agents import make_agent
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.alphazero import loop
from ludarium.training.alphazero.actors import Actors, search_settings
from ludarium.training.alphazero.exact import ALL_EQUAL, CHOICE
from ludarium.training.alphazero.learner import Learner
from ludarium.training.alphazero.self_play import SelfPlayResult
from ludarium.training.evaluation import MatchResult
from ludarium.training.run import Iteration, make_trainer
from ludarium.training.runs import evaluation, trainer
from ludarium.training.runs.folder import RunFolder
from ludarium.training.search import SearchSettings
from tests.tiny_runs import ALPHAZERO, PPO, TinyRuns

from .test_learner import by_hand, learnt

RUNS = TinyRuns(
    "corso/demo",
    (
        *ALPHAZERO,
        "budget={iterations: 4}",
        "backend=eager",
        "self_play={games: 6, positions: 40, workers: 2, simulations: 4, opening_plies: 2}",
        "bootstrap={positions: 24, replay_ratio: 3}",
        "replay={first: 50, last: 90}",
        "learner={batch: 8, replay_ratio: 2, learning_rate: 0.02, warmup_steps: 3, "
        "weight_decay: 0.1, gradient_clip: 0.7, ema_decay: 0.4}",
        "evaluation={every: 3, against: random, games: 6, simulations: 5}",
    ),
)
PPO_RUNS = TinyRuns(
    "corso/ppo",
    (
        *PPO,
        "budget={iterations: 6}",
        "rollout={games: 4, steps: 4, opening_plies: 2}",
        "opponents={every: 1, pool: 4, active: 3, current: 0.3}",
        "learner={batch: 8}",
    ),
)


class Counting(Actors):
    """Actors that play nothing: of twice as many positions they return the samples asked for."""

    resources = "nothing"

    def __init__(self, run: trainer.Trainer, packer: Any, weights: Any) -> None:
        self.run, self.packer = run, packer
        self.settings: list[SearchSettings] = []

    def publish(self, weights: Any) -> dict[str, Any]:
        return {}

    def bootstrap(self, progress: Any) -> SelfPlayResult:
        played = self._samples(self.run.config.bootstrap.positions)
        counts = played.counts - Counter(evaluations=30, hits=10)
        return dataclasses.replace(played, counts=counts)

    def play(self, settings: SearchSettings, progress: Any) -> SelfPlayResult:
        self.settings.append(settings)
        return self._samples(self.run.config.self_play.positions)

    def _samples(self, count: int) -> SelfPlayResult:
        samples = np.zeros(count, self.packer.dtype)
        samples["state"], samples["policy"][:, 4] = self.run.game.start().state, 1
        counts = {"games": 2, "plies": 17, "simulations": 7 * count, "evaluations": 30, "hits": 10}
        return SelfPlayResult(samples, Counter(positions=2 * count, **counts))


def of_a_run(folder: Path, patch: pytest.MonkeyPatch, *settings: str) -> dict[str, Any]:
    """What can be counted in a run whose games are not played; ten seconds pass at each look."""
    steps: list[int] = []
    log: list[dict[str, Any]] = []
    matches: list[tuple] = []

    def step(learner: Learner, batches: Any, progress: float, _: Any) -> None:
        steps.append(sum(batch.size for batch in batches))
        assert progress == run.fraction
        learner.step += 1

    def match(game: Any, agent: Any, other: Any, games: int, *, seed: int, progress: Any) -> Any:
        matches.append((len(log) + 1, other.name, games, agent.budget.simulations, seed))
        return SimpleNamespace(players=(agent.name, other.name), result=MatchResult(3, 1, 1))

    patch.setattr(Learner, "learn", step)
    patch.setattr(evaluation, "play_match", match)
    for module in (trainer, loop):
        clock = SimpleNamespace(perf_counter=itertools.count(0, 10).__next__)
        patch.setattr(module, "time", clock)
    make = partial(loop.AlphaZero, actors=Counting)
    run = trainer.Trainer(RUNS.config(*settings), RunFolder(folder), make)
    weights = run.algorithm.network.state_dict()
    random = (float(weights["stem.0.weight"][0, 0, 0, 0]), *run.algorithm.rng.random(2))
    run.run(on_iteration=log.append)
    run.close()
    searches = run.algorithm.actors.settings
    # The first iteration is the bootstrap.
    assert [line["simulations_per_move"] for line in log[1:]] == [s.simulations for s in searches]
    ends = [0, *(line["step"] for line in log)]
    batches = [steps[a:b] for a, b in itertools.pairwise(ends)]
    return {
        **{f"self_play.{name}": value for name, value in asdict(searches[-1]).items()},
        "self_play.simulations": [each.simulations for each in searches],
        "options": run.game.num_actions,
        "seed": random,
        "budget": [*(line["progress"] for line in log), len(batches[0])],
        "network": [len(weights["stem.0.weight"]), sum("first.0" in name for name in weights)],
        "evaluation": matches,
        "save": sorted(int(path.stem) for path in folder.glob("agents/*")),
        "bootstrap": batches,
        "learner": batches,
        "replay": [line["replay"] for line in log],
        "log": log,
    }


def of_steps(folder: Path, patch: pytest.MonkeyPatch, *settings: str) -> dict[str, Any]:
    """What a learner comes to, which is so by formulas too."""
    config = RUNS.config(*settings).learner
    numbers = learnt(config)
    np.testing.assert_allclose(numbers, by_hand(config), rtol=1e-4, atol=1e-5)
    return {"learner": numbers.tolist()}


def of_play(folder: Path, patch: pytest.MonkeyPatch, *settings: str) -> dict[str, Any]:
    """What can be counted in an iteration that is played."""
    run = RUNS.begun(folder, *settings)
    actors = run.algorithm.actors
    result = actors.play(search_settings(run.config, 0.0), SILENT)
    decided = np.repeat(result.samples[:1], 2)
    if "solved" in decided.dtype.names:
        decided["solved"] = CHOICE, ALL_EQUAL
    (batch,) = run.algorithm.packer.batches(decided, np.random.default_rng(0))
    counts = result.counts
    ended = counts["solved"] + counts["unsolved"] or len(result.samples)
    running = [array for name, array in actors.state().items() if name.endswith("numbers")]
    run.close()
    return {
        "self_play.workers": len(running),
        "self_play.games": sum(map(len, running)),
        "self_play.positions": counts["positions"],
        "self_play.opening_plies": counts["plies"] - ended,
        "self_play.cache": counts["hits"],
        "self_play.solve": counts["solved"] / ended,
        "self_play.keep_trivial": batch.weights[0] / batch.weights[1],
    }


def of_ppo(folder: Path, patch: pytest.MonkeyPatch, *settings: str) -> dict[str, Any]:
    """What Stable-Baselines3 is given, and what can be counted, in a run of PPO."""
    run = PPO_RUNS.begun(folder, *settings)
    algorithm = run.algorithm
    model, games, pool = algorithm.model, algorithm.games, algorithm.pool
    (group,) = model.policy.optimizer.param_groups
    plies = set(games.side.batch.states["ply"].tolist())
    random = (next(algorithm.network.parameters()).flatten()[0].item(), algorithm.rng.random())
    told: list[tuple] = []
    run.run(
        on_iteration=lambda line: told.append(
            (
                *(line["step"], line["pool"], model.ent_coef, group["lr"], line["learning_rate"]),
                torch.initial_seed(),
            )
        )
    )
    run.close()
    steps, sizes, entropies, rates, logged, seeds = (list(each) for each in zip(*told, strict=True))
    assert (logged, len(set(seeds))) == (rates, len(seeds))
    plain = games._encoder.codec.encode(games.side.batch.states, None).observations
    pool.prepare()
    return {
        "seed": (*random, seeds[0]),
        "rollout": steps,
        "rollout.opening_plies": plies,
        "rollout.symmetries": not np.array_equal(games.seen.observations, plain),
        "opponents": sizes,
        "opponents.current": (pool.playing < 0).mean(),
        "opponents.active": len(pool.active),
        "learner.batch": model.batch_size,
        "learner.epochs": model._n_updates / len(steps),
        "learner.learning_rate": rates,
        "learner.final_learning_rate": rates,
        "learner.clip": model.clip_range(1.0),
        "learner.gamma": model.rollout_buffer.gamma,
        "learner.gae_lambda": model.rollout_buffer.gae_lambda,
        "learner.entropy": entropies,
        "learner.final_entropy": entropies,
        "learner.value_weight": model.vf_coef,
        "learner.gradient_clip": model.max_grad_norm,
        "learner.target_kl": model.target_kl,
    }


#: Functions that observe; keys with other values than usual, which are changed together, so that
#: none takes the place of another; and what is then observed of a key or a section, where that is
#: not the value itself. None: something else than usual.
EFFECTS: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (
        of_a_run,
        {
            **{"options": {"size": 4}, "seed": 7, "network.channels": 12, "network.blocks": 3},
            **{"evaluation.against": "uct:9", "evaluation.games": 10, "evaluation.simulations": 0},
            **{"save.keep": 2, "self_play.algorithm": "puct", "self_play.max_considered": 5},
            **{"self_play.noise": 0.6, "self_play.value_scale": 0.3, "self_play.c_puct": 2.5},
            **{"self_play.maxvisit_init": 20, "self_play.rescale_values": False},
            **{"self_play.dirichlet_alpha": 0.7, "self_play.temperature": 0.4},
            **{"self_play.solver": False, "self_play.temperature_plies": 13},
            "self_play.simulations": [[0, 7], [0.5, 11], [0.8, 9]],
        },
        {
            "options": 16,
            "seed": (0.06954062, 0.480582006, 0.0595418067),
            "network": [12, 3],
            "evaluation": [(3, "uct:9", 10, 0, 7), (4, "uct:9", 10, 0, 7)],
            "save": [2, 4],
            "self_play.algorithm": "puct",
            "self_play.simulations": [7, 11, 11],
        },
    ),
    (
        of_a_run,
        {
            **{"budget.iterations": 5, "evaluation.every": 2, "save.every": 3},
            **{"network.size": "tiny", "network.channels": None, "network.blocks": None},
            **{"bootstrap.positions": 48, "bootstrap.replay_ratio": 5, "learner.batch": 20},
            **{"learner.replay_ratio": 3, "replay.first": 58, "replay.last": 128},
        },
        {
            "budget": [0.2, 0.4, 0.6, 0.8, 1, 12],
            "evaluation": [(2, "random", 6, 5, 1), (4, "random", 6, 5, 1), (5, "random", 6, 5, 1)],
            "save": [3],
            "network": [16, 2],
            "bootstrap": [[20] * 12, *[[20] * 6] * 4],
            "learner": [[20] * 12, *[[20] * 6] * 4],
            "replay": [48, 72, 86, 100, 114],
        },
    ),
    # Two looks, then three in each iteration; a third of the minute is for learning in the first.
    (of_a_run, {"budget.minutes": 1}, {"budget": [20 / 60, 50 / 60, 1, 1]}),
    *(
        (of_steps, {f"learner.{name}": value}, {"learner": None})
        for name, value in (
            ("learning_rate", [[0, 0.01], [0.5, 0.05], [0.8, 0.02]]),
            *(("final_learning_rate", 0.01), ("warmup_steps", 9)),
            *(("weight_decay", 0.5), ("gradient_clip", 0.5), ("value_weight", 0.3)),
            *(("score_weight", 3), ("ema_decay", 0.3)),
        )
    ),
    (
        of_play,
        {
            **{"self_play.games": 9, "self_play.positions": 60, "self_play.workers": 3},
            **{"self_play.opening_plies": 0, "self_play.cache": 0, "self_play.solve": 100_000},
            "self_play.keep_trivial": 0.25,
        },
        {"self_play.solve": 1},
    ),
    (
        of_ppo,
        {
            **{"seed": 7, "rollout.games": 6, "rollout.steps": 5, "rollout.opening_plies": 0},
            **{"rollout.symmetries": False, "opponents.current": 1, "opponents.pool": 2},
            **{"opponents.every": 2, "opponents.active": 1, "learner.batch": 10},
            **{"learner.epochs": 3, "learner.clip": 0.25},
            **{"learner.final_learning_rate": 0.003, "learner.gamma": 0.9},
            **{"learner.gae_lambda": 0.8, "learner.entropy": 0.1, "learner.final_entropy": 0.04},
            **{"learner.value_weight": 0.7, "learner.gradient_clip": 0.6, "learner.target_kl": 5},
        },
        {
            "seed": (0.06954062, 0.0595418067, derived_seed(7, 0)),
            "rollout": [30, 60, 90, 120, 150, 180],
            "rollout.opening_plies": {0, 1},
            "opponents": [0, 1, 1, 2, 2, 2],
            "learner.final_learning_rate": [0.0015 + 0.00025 * number for number in range(6)],
            "learner.entropy": [0.1, 0.09, 0.08, 0.07, 0.06, 0.05],
            "learner.final_entropy": [0.1, 0.09, 0.08, 0.07, 0.06, 0.05],
        },
    ),
    (
        of_ppo,
        {"learner.learning_rate": [[0, 0.009], [0.5, 0.003], [0.75, 0.004]]},
        {"learner.learning_rate": [0.009, 0.007, 0.005, 0.003, 0.003 + 0.002 / 3, 0.004]},
    ),
]


#: Tests of keys whose effect takes more to see.
ELSEWHERE = {
    "game": "test_shipped_configurations_fit_into_four_gigabytes",
    "algorithm": "test_every_game_has_a_configuration_of_each_algorithm_and_corso_the_demo",
    "device": "test_what_the_machine_cannot_do_is_refused_before_anything_is_made",
    "start": "test_a_run_begins_with_the_agents_weights",
    "network.module": "test_checkpoints_keep_class_options_and_weights",
    "network.options": "test_configurations_keep_a_networks_own_keys",
    "evaluation.exact_test": "test_an_evaluation_counts_the_moves_that_keep_the_value",
    "backend": "test_integer_networks_train_and_are_matched_as_they_are",
    "bootstrap.playouts": "test_a_bootstrap_searches_for_its_share_of_the_minutes",
    "variants.options": "test_shares_are_divided_between_the_combinations",
    "variants.share": "test_each_game_has_its_share_of_everything",
    "cluster.actors": "test_a_cluster_does_all_that_the_local_loop_does",
    "cluster.actor_cpus": "test_actors_share_the_positions_of_an_iteration_in_several_chunks",
    "cluster.actor_gpus": "test_room_is_what_actors_take_of_each_resource",
    "cluster.games": "test_actors_share_the_positions_of_an_iteration_in_several_chunks",
    "cluster.staleness": "test_actors_play_ahead_of_a_slow_learner_as_far_as_they_may",
}


def keys_of(kind: StructType, before: str = "") -> Iterator[str]:
    """The keys of a section and of the sections within."""
    for field in kind.fields:
        section = getattr(field.type, "item_type", field.type)
        if isinstance(section, StructType):
            yield from keys_of(section, f"{before}{field.encode_name}.")
        else:
            yield before + field.encode_name


SHARED = {*keys_of(type_info(TrainingConfig))} - {"seed"}
KEYS = [
    (algorithm, key)
    for algorithm, kind in ALGORITHMS.items()
    for key in keys_of(type_info(kind))
    if algorithm == "alphazero" or key not in SHARED
]


@pytest.fixture(scope="module")
def observed(tmp_path_factory) -> Any:
    """Calls a function that observes, once for the same settings."""

    @cache
    def call(observe: Any, *settings: str) -> dict[str, Any]:
        torch.set_num_threads(1)
        with pytest.MonkeyPatch.context() as patch:
            return observe(tmp_path_factory.mktemp("run"), patch, *settings)

    return call


@pytest.mark.parametrize(("algorithm", "key"), KEYS)
def test_every_key_has_its_effect(algorithm, key, observed):
    of_algorithm = [line for line in EFFECTS if (line[0] is of_ppo) == (algorithm == "ppo")]
    line = next((line for line in of_algorithm if key in line[1]), None)
    if line is None:
        assert key in ELSEWHERE, f"{key} of {algorithm} has no test of its effect"
        tests = Path(__file__).parents[1].rglob("test_*.py")
        assert any(f"def {ELSEWHERE[key]}(" in path.read_text() for path in tests)
        return
    see, changes, effects = line
    settings = [f"{name}={json.dumps(value)}" for name, value in changes.items()]
    usual, changed = observed(see), observed(see, *settings)
    what = key if key in usual else key.partition(".")[0]
    assert usual[what] != changed[what]
    expected = effects[what] if what in effects else changes[key]
    if expected is not None:
        assert changed[what] == expected or changed[what] == pytest.approx(expected)


def test_no_two_chunks_of_self_play_have_the_same_games(tmp_path):
    schedule = "self_play.simulations=[[0, 4], [0.5, 9], [0.8, 6]]"
    run = RUNS.begun(tmp_path, "backend=compiled", schedule)
    (games, *_) = run.algorithm.actors.by_game[0].self_play.worker_games
    assert games.games.tree.nodes.shape[1] == 1 + 9, "there is room for the most simulations"
    chunks = []
    for run.iteration in (0, 1):
        run.algorithm.publish()
        for _ in range(2):
            played = run.algorithm.actors.play(search_settings(run.config, 0.0), SILENT)
            chunks.append(contents_of(played.samples["state"]))
    run.close()
    assert len(set(chunks)) == 4


@pytest.mark.parametrize(("algorithm", "noise"), [("gumbel", 1.0), ("puct", 0.25)])
def test_noise_that_is_left_out_is_that_of_the_search(algorithm, noise):
    settings = search_settings(RUNS.config(f"self_play.algorithm={algorithm}"), 0.0)
    assert (settings.noise, settings.temperature_plies) == (noise, None)
    without = RUNS.config(f"self_play.algorithm={algorithm}", "self_play.noise=0")
    assert search_settings(without, 0.0).noise == 0


def test_figures_of_the_log_are_counts_by_the_clock(observed):
    """Ten seconds pass while 80 positions are played, and with each gradient step."""
    lines = observed(of_a_run)["log"]
    assert "cache_hits" not in lines[0]
    for number, line in enumerate(lines[1:], 1):
        rate = 1e-4 + (0.02 - 1e-4) * (1 + np.cos(np.pi * number / 4)) / 2
        expected = {
            **{"step": 9 + 10 * number, "learning_rate": rate, "simulations_per_move": 4},
            **{"games_per_second": 0.2, "positions_per_second": 8, "evaluations_per_second": 3},
            **{"simulations_per_second": 28, "cache_hits": 0.25, "mean_plies": 8.5},
            **{"play_seconds": 10, "learn_seconds": 110, "seconds": 10 + 30 * (number + 1) - 10},
        }
        assert {name: line[name] for name in expected} == pytest.approx(expected)


@pytest.fixture(scope="module")
def networks(tmp_path_factory) -> dict[str, Any]:
    """What answers for a run in each place, and the weights that learn."""
    folder, found = tmp_path_factory.mktemp("run"), {}

    class Given(Counting):
        def publish(self, weights: Any) -> dict[str, Any]:
            found["actors"] = copy.deepcopy(weights.networks[0])
            return {}

    def given(game: Any, network: Any, *_: Any) -> None:
        found["evaluation"] = copy.deepcopy(network)

    make = partial(loop.AlphaZero, actors=Given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "NetworkAgent", given)
        patch.setattr(evaluation.AgentEvaluation, "of", lambda *_: {})
        config = RUNS.config("learner.learning_rate=0.1", "learner.ema_decay=0.9")
        run = trainer.Trainer(config, RunFolder(folder), make)
        run.run()
    found["callbacks"] = Iteration(run, {"iteration": 4}).agent(0)
    found["learning"] = copy.deepcopy(run.algorithm.network).eval()
    found["average"] = run.algorithm.learner.ema_network
    run.close()
    for place, name in (("folder", "agent"), ("past", "agents/000004")):
        found[place] = load_checkpoint(folder / f"{name}.safetensors").network
    found["agent"] = make_agent(f"{folder}:0", run.game)
    again = make_trainer(config, RunFolder(folder))
    found["local actors"] = again.algorithm.actors.by_game[0].engine
    again.close()
    return found


@pytest.mark.parametrize(
    "place", ["actors", "local actors", "evaluation", "callbacks", "folder", "past", "agent"]
)
def test_what_plays_is_the_average(place, networks):
    position = make_game("corso", size=3).start()
    position.play(4)
    observations = position.observation(canonical=True)[None]

    def logits(who: Any) -> np.ndarray:
        if isinstance(who, NetworkAgent):
            return who.evaluate(position.states).logits
        if isinstance(who, InferenceEngine):
            return who(observations).logits
        with torch.no_grad():
            return who(torch.from_numpy(observations)).policy.numpy()

    expected = logits(networks["average"])
    assert np.abs(expected - logits(networks["learning"])).max() > 0.1
    np.testing.assert_allclose(logits(networks[place]), expected, atol=0.01)
