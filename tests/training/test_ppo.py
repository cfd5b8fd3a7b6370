"""Self-play PPO: what the learner sees, whom it meets, that it learns, and that nothing is lost."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from ludarium.cli import main
from ludarium.configs.schema import OpponentsConfig
from ludarium.envs import GAMES, Position, make_game
from ludarium.envs.batch import BatchEnv
from ludarium.models import build_network, load_checkpoint
from ludarium.models.network import Output, expected_value
from ludarium.training.agents import make_agent
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.alphazero.samples import BatchMaker, sample_dtype
from ludarium.training.evaluation import play_match
from ludarium.training.networks import network_shape

pytest.importorskip("sb3_contrib")

from stable_baselines3.common.utils import ConstantSchedule

from ludarium.training.ppo import loop
from ludarium.training.ppo.encoder import ObservationEncoder
from ludarium.training.ppo.environment import LearnerVecEnv
from ludarium.training.ppo.opponents import CURRENT, PastSelf, Pool
from ludarium.training.ppo.policy import NetworkPolicy, measure_statistics
from ludarium.training.run import make_trainer
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.metrics import METRICS
from tests.games import slow_but
from tests.progress import Told
from tests.tiny_runs import PPO, TinyRuns, changes_weights, run_by_command

RUNS = TinyRuns("corso/ppo", PPO)
tiny_config, trained = RUNS.config, RUNS.trained


class Favourite(nn.Module):
    """A network that plays one action wherever it is legal."""

    def __init__(self, action: int, num_actions: int) -> None:
        super().__init__()
        self.register_buffer("logits", 1e4 * torch.eye(num_actions)[action])

    def forward(self, observation):
        count = len(observation)
        return Output(self.logits.repeat(count, 1), torch.zeros(count, 3), torch.zeros(count))


def make_pool(game, network, num_envs=64, **settings) -> Pool:
    random = np.random.default_rng(0)
    encoder = ObservationEncoder(game, False, random)
    config = OpponentsConfig(**settings)
    return Pool(config, num_envs, network, encoder, torch.device("cpu"), random)


# What networks see.


@pytest.mark.parametrize("name", slow_but(["corso"], GAMES))
def test_the_encoding_is_the_one_that_alphazero_learns_from(name):
    """A policy that is sure of one action, as both show it, in the same symmetry."""
    game = make_game(name)
    batch = BatchEnv(game, 64, seed=1)
    for _ in range(5):
        batch.step_random()
    samples = np.zeros(64, sample_dtype(game))
    samples["state"] = batch.states
    samples["outcome"] = 1
    actions = batch.random_actions()
    samples["policy"][np.arange(64), actions] = 1
    theirs = BatchMaker(game)(samples, np.random.default_rng(7))
    seen = ObservationEncoder(game, True, np.random.default_rng(7))(batch, np.arange(64))
    np.testing.assert_array_equal(seen.observations, theirs.observations)
    np.testing.assert_array_equal(seen.decode(theirs.targets["policy"].argmax(axis=1)), actions)
    shown = np.take_along_axis(batch.masks, seen.actions, axis=1)
    np.testing.assert_array_equal(seen.masks, shown)
    np.testing.assert_array_equal(seen.masks.sum(axis=1), batch.masks.sum(axis=1))


def test_without_symmetries_an_encoder_shows_the_canonical_frame():
    game = make_game("onyx", size=6, swap_rule=True)
    batch = BatchEnv(game, 16, seed=1)
    batch.step_random()  # so that the second player is to move, who sees the board turned
    games = np.array([3, 9])
    seen = ObservationEncoder(game, False, np.random.default_rng(0))(batch, games)
    for k, number in enumerate(games):
        position = batch.position(number)
        assert position.is_turned()
        np.testing.assert_array_equal(seen.observations[k], position.observation(canonical=True))
        legal = {position.turned_action(action) for action in position.legal_actions}
        assert set(np.flatnonzero(seen.masks[k])) == legal


@pytest.mark.parametrize("name", slow_but(["corso"], GAMES))
def test_the_learner_plays_both_seats_and_is_rewarded_as_the_rules_say(name, monkeypatch):
    """Beside an account that replays what both sides played."""
    game = make_game(name)
    network = build_network(network_shape(game), 4, 1).eval()
    pool = make_pool(game, network, num_envs=16)
    env = LearnerVecEnv(game, pool, ObservationEncoder(game, True, pool.random), 4, pool.random)
    replies: dict[int, list[int]] = {}
    choose = pool.choose

    def spied(batch, games):
        actions = choose(batch, games)
        for number, action in zip(games.tolist(), actions.tolist(), strict=True):
            replies.setdefault(number, []).append(action)
        return actions

    monkeypatch.setattr(pool, "choose", spied)
    random = np.random.default_rng(1)
    observations = env.reset()
    seats, results = set(), set()
    for _ in range(150):
        batch = env.side.batch
        before, sides = batch.states.copy(), env.side.seats.copy()
        assert (batch.movers == sides).all()
        seats |= set(sides)
        masks = np.stack(env.env_method("action_masks"))
        actions = (masks * random.random(masks.shape)).argmax(axis=1)
        played = env.seen.decode(actions)
        assert observations.shape == (16, *game.observation_shape)
        replies.clear()
        observations, rewards, dones, infos = env.step(actions)
        assert infos == [{}] * 16  # nothing makes the critic stand for games that are cut off
        for number, (reward, is_over, seat) in enumerate(zip(rewards, dones, sides, strict=True)):
            position = Position.of_state(game, before[number])
            for action in (int(played[number]), *replies.get(number, [])):
                if not position.is_over:  # further ones are of the next game
                    position.play(action)
            assert position.is_over == is_over
            assert reward == position.rewards[seat]
            assert env.side.seats[number] == (1 - seat if is_over else seat)
            results |= {(int(seat), float(reward))} if is_over else set()
    assert seats == {0, 1}
    assert {(0, 1), (0, -1), (1, 1), (1, -1)} <= results


# The policy.


@pytest.fixture
def policy() -> NetworkPolicy:
    torch.manual_seed(0)
    game = make_game("corso", size=3)
    pool = make_pool(game, build_network(network_shape(game), 8, 2))
    env = LearnerVecEnv(game, pool, pool.encoder, 0, pool.random)
    return NetworkPolicy(
        env.observation_space, env.action_space, ConstantSchedule(1e-3), pool.current
    )


def test_the_policy_draws_legal_actions_with_the_probabilities_it_tells(policy):
    observations = torch.rand(1, 5, 3, 3).expand(20_000, -1, -1, -1)
    masks = torch.tensor([1, 0, 1, 1, 0, 0, 0, 1, 0], dtype=torch.bool)
    with torch.no_grad():
        actions, values, logs = policy(observations, action_masks=masks.repeat(20_000, 1).numpy())
    assert set(actions.tolist()) == {0, 2, 3, 7}
    for action, count in Counter(actions.tolist()).items():
        told = float(logs[actions == action][0].exp())
        assert count / 20_000 == pytest.approx(told, abs=0.02)
    assert values.shape == (20_000, 1)
    torch.testing.assert_close(policy.predict_values(observations[:1]), values[:1])
    with torch.no_grad():
        favourites = policy.network(observations[:1]).policy.topk(2).indices[0]
        others = torch.arange(9) != favourites[0]
        best, _, told = policy(observations[:1], deterministic=True, action_masks=others[None])
        assert policy(observations[:1], deterministic=True)[0] == favourites[0]
    assert best == favourites[1]
    torch.testing.assert_close(told, policy.evaluate_actions(observations[:1], best, others)[1])
    distribution = policy.get_distribution(observations[:1], masks.numpy())
    torch.testing.assert_close(distribution.log_prob(actions[:1]), logs[:1])
    torch.testing.assert_close(
        distribution.entropy(), policy.evaluate_actions(observations[:1], actions[:1], masks)[2]
    )


def test_learning_sees_the_probabilities_and_values_of_the_rollout(policy):
    """Also where the network normalises over batches: by the same statistics in both."""
    observations, masks = torch.rand(32, 5, 3, 3), torch.ones(32, 9, dtype=torch.bool)
    measure_statistics(policy.network, torch.rand(500, 5, 3, 3))
    policy.set_training_mode(False)
    actions, values, logs = policy(observations, action_masks=masks)
    policy.set_training_mode(True)
    again, relogged, entropies = policy.evaluate_actions(observations[:7], actions[:7], masks[:7])
    torch.testing.assert_close(relogged, logs[:7])
    torch.testing.assert_close(again, values[:7])
    assert (entropies > 0).all()
    outcome = policy.network(observations).outcome
    torch.testing.assert_close(values[:, 0], expected_value(outcome))


def test_measured_statistics_normalise(policy):
    observations = torch.rand(3000, 5, 3, 3)
    measure_statistics(policy.network, observations)
    with torch.no_grad():
        convolution, normalisation, _ = policy.network.stem
        stem = normalisation(convolution(observations))
    torch.testing.assert_close(stem.mean((0, 2, 3)), torch.zeros(8), atol=1e-2, rtol=0)
    torch.testing.assert_close(stem.std((0, 2, 3)), torch.ones(8), atol=2e-2, rtol=0)
    assert (normalisation.momentum, policy.network.training) == (0.1, False)


def test_every_observation_counts_alike_in_measured_statistics(policy):
    observations = torch.rand(1100, 5, 3, 3)
    observations[1024:] += 10  # the last chunk is a small one
    measure_statistics(policy.network, observations)
    with torch.no_grad():
        convolution, normalisation, _ = policy.network.stem
        means = convolution(observations).mean((0, 2, 3))
    torch.testing.assert_close(normalisation.running_mean, means, atol=1e-4, rtol=1e-4)
    flat = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(45))
    measure_statistics(flat, observations)
    means = observations.flatten(1).mean(0)
    torch.testing.assert_close(flat[1].running_mean, means, atol=1e-4, rtol=1e-4)


# Opponents.


def test_past_selves_are_weighted_by_how_well_they_do():
    pool = make_pool(make_game("corso", size=3), Favourite(0, 9))
    for number, score in enumerate((0.9, 0.5, 0.1)):
        pool.past.append(PastSelf(number, pool.current, points=100 * score, games=100))
    np.testing.assert_allclose(pool.weights(), np.array([0.01, 0.25, 0.81]) / 1.07)
    pool.past = [PastSelf(0, pool.current, points=50, games=50)]
    assert pool.weights() == [1]


def test_opponents_are_drawn_by_share_and_weight():
    pool = make_pool(make_game("corso", size=3), Favourite(0, 9), 4000, current=0.25, active=1)
    every = np.arange(4000)
    pool.begin(every)
    assert (pool.playing == CURRENT).all()
    for number, score in ((3, 1.0), (6, 0.0)):
        pool.past.append(PastSelf(number, pool.current, points=100 * score, games=100))
    for _ in range(20):
        pool.prepare()
        assert pool.active == [6]  # the other one never wins
    pool.begin(every)
    assert (pool.playing == CURRENT).mean() == pytest.approx(0.25, abs=0.03)
    assert set(pool.playing) == {CURRENT, 6}


def test_each_opponent_plays_by_its_own_network():
    game = make_game("corso", size=3)
    pool = make_pool(game, Favourite(4, 9), 9)
    pool.past = [PastSelf(5, Favourite(0, 9)), PastSelf(7, Favourite(8, 9))]
    pool.playing[:] = [CURRENT, 5, 7] * 3
    batch = BatchEnv(game, 9, seed=0)
    actions = pool.choose(batch, np.array([1, 2, 3, 8]))
    assert actions.tolist() == [0, 8, 4, 8]
    batch.step(np.full(9, 8))  # now 8 is taken by the other player
    assert pool.choose(batch, np.array([2]))[0] != 8


def test_results_count_for_the_opponent_that_played():
    pool = make_pool(make_game("corso", size=3), Favourite(4, 9), 4)
    pool.past = [PastSelf(1, pool.current), PastSelf(2, pool.current)]
    pool.playing[:] = [1, 1, 2, CURRENT]
    before = pool.past[1].score
    for _ in range(2000):
        pool.finish(np.arange(4), np.array([1, 0, -1, 1], np.float32))
    assert pool.past[0].score == pytest.approx(0.75, abs=0.01)
    assert pool.past[1].score == pytest.approx(0, abs=0.01)
    assert before == 0.5
    assert pool.points / pool.finished == pytest.approx(2.5 / 4)
    met = PastSelf(4, pool.current)  # as if 20 games had been even
    met.add_results(np.array([1.0]))
    fade = 0.5 ** (1 / 500)
    assert met.score == pytest.approx((10 * fade + 1) / (20 * fade + 1))
    met = PastSelf(3, pool.current, points=40, games=100)
    met.add_results(np.ones(500))  # which halve what was before
    assert (met.points, met.games) == (520, 550)


def test_the_pool_keeps_the_latest_as_they_were():
    game = make_game("corso", size=3)
    network = build_network(network_shape(game), 4, 1)
    pool = make_pool(game, network, 3, pool=2)
    for number in (1, 2):
        pool.add(number)
    pool.prepare()
    pool.playing[:] = [1, 2, CURRENT]
    with torch.no_grad():
        network.outcome.bias.fill_(5)
    pool.add(3)
    assert [each.number for each in pool.past] == [2, 3]
    assert pool.playing.tolist() == [CURRENT, 2, CURRENT]
    assert pool.active == [2]
    assert (pool.past[0].network.outcome.bias != 5).all()
    assert (pool.past[1].network.outcome.bias == 5).all()


# Training.


@pytest.mark.slow
def test_training_learns_corso_3x3(tmp_path):
    """A tiny run from nothing beats random play, more often than untrained networks do."""
    settings = (
        "budget={iterations: 16, minutes: null}",
        "network={channels: 16, blocks: 1}",
        "rollout={games: 64, steps: 16, opening_plies: 2}",
        "opponents={every: 5}",
        "learner={batch: 128, epochs: 4, learning_rate: 0.003}",
    )
    trainer = trained(tmp_path, *settings)
    game = trainer.game
    opponent = make_agent("random", game)

    def score(network) -> float:
        agent = NetworkAgent(game, network, 0, backend="eager")
        return play_match(game, agent, opponent, 200, seed=1, opening_plies=0).result.score.value

    untrained = []
    for seed in range(6):
        torch.manual_seed(seed)
        untrained.append(score(build_network(network_shape(game), 16, 1)))
    assert score(trainer.algorithm.network) > max(0.75, np.mean(untrained) + 0.1)
    searching = NetworkAgent(game, trainer.algorithm.network, 32, backend="eager")
    assert play_match(game, searching, opponent, 60, seed=1).result.score.value > 0.7


@pytest.mark.parametrize(("size", "steps"), [(5, 2), (3, 8)])
def test_a_score_is_of_games_that_ended(tmp_path, size, steps):
    rollout = [f"options={{size: {size}}}", f"rollout={{games: 16, steps: {steps}}}"]
    trained(tmp_path, *rollout, "learner.batch=16", iterations=1)
    (line,) = (tmp_path / "metrics.jsonl").read_text().splitlines()
    metrics = json.loads(line)
    assert (metrics["games"] > 0) == ("self_play_score" in metrics) == (size == 3)


def test_a_new_run_normalises_by_positions_of_random_games(tmp_path):
    run = RUNS.begun(tmp_path, "rollout.games=64")
    games = BatchEnv(run.game, 64, seed=9, canonical=True)
    seen = [(games.observations.copy(), games.step_random())[0] for _ in range(40)]
    run.close()
    with torch.no_grad():
        convolution, normalisation, _ = run.algorithm.network.stem
        stem = normalisation(convolution(torch.from_numpy(np.concatenate(seen))))
    torch.testing.assert_close(stem.mean((0, 2, 3)), torch.zeros(8), atol=0.1, rtol=0)
    torch.testing.assert_close(stem.std((0, 2, 3)), torch.ones(8), atol=0.1, rtol=0)


def test_an_interrupted_run_goes_on_as_if_it_had_not_been(tmp_path):
    opponents = "opponents={every: 1, pool: 2, active: 2, current: 0.3}"
    whole = trained(tmp_path / "whole", opponents)
    for stop in (1, 2, 4):
        parts = trained(tmp_path / "parts", opponents, iterations=stop)
    ours, theirs = (run.algorithm.state() for run in (whole, parts))
    assert ours.description == theirs.description
    assert [each["number"] for each in ours.description["pool"]["past"]] == [3, 4]
    assert (ours.arrays["playing"] != CURRENT).any()
    found, expected = ({**each.tensors, **each.arrays} for each in (ours, theirs))
    assert found.keys() == expected.keys()
    for key in found:
        np.testing.assert_array_equal(np.asarray(found[key]), expected[key], err_msg=key)


def test_figures_of_the_log_are_counts_by_the_clock(tmp_path, monkeypatch):
    """Beside what was told to the pool; play and learning take ten seconds each."""
    clock = SimpleNamespace(perf_counter=itertools.count(0, 10).__next__)
    monkeypatch.setattr(loop, "time", clock)
    done, results, scores = Counter[int](), [], []
    told = Told(lambda told: done.update({len(told.begun): told.steps[-1]}))
    run = make_trainer(tiny_config(), RunFolder(tmp_path), told)
    pool, finish, add = run.algorithm.pool, run.algorithm.pool.finish, run.algorithm.pool.add
    monkeypatch.setattr(pool, "finish", lambda g, r: (results.extend(r.tolist()), finish(g, r)))

    def added(number: int) -> None:
        scores.append(np.mean([each.points / each.games for each in pool.past] or [0.5]))
        add(number)

    def check(line):
        ended = [each for each in results if not math.isnan(each)]
        expected = {
            **{"step": 128 * line["iteration"], "steps_per_second": 128 / 20, "games": len(ended)},
            **{"play_seconds": 10, "learn_seconds": 10, "pool": min(line["iteration"], 2)},
            **{"self_play_score": 0.5 + np.mean(ended) / 2, "pool_score": scores[-1]},
        }
        assert {name: line[name] for name in expected} == pytest.approx(expected)
        results.clear()

    monkeypatch.setattr(pool, "add", added)
    run.run(on_iteration=check)
    run.close()
    assert told.begun == [("self-play", 128), ("learning", 256)] * 4
    assert [*done.values()] == [128, 256] * 4


def test_a_saved_run_of_other_games_is_refused(tmp_path):
    trainer = trained(tmp_path, iterations=1)
    state = trainer.algorithm.games.state()
    with pytest.raises(ValueError, match="do not fit"):
        trainer.algorithm.games.restore(state | {"batch.states": state["batch.states"][1:]})


def test_games_without_a_board_are_learnt_too(tmp_path):
    runs = TinyRuns("obelisk/ppo", PPO[2:])
    assert changes_weights(runs.begun(tmp_path, "budget={iterations: 1}"))


# What is done with it.


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A tiny run by the command line."""
    evaluation = "evaluation={every: 2, against: random, games: 4, simulations: 0}"
    folder = tmp_path_factory.mktemp("runs") / "run"
    return run_by_command(folder, "ppo", [*PPO[:-1], evaluation])


@pytest.mark.parametrize("explained", [0.25, math.nan])
def test_what_the_value_explains_of_returns_that_are_all_the_same_is_absent(tmp_path, explained):
    run = RUNS.begun(tmp_path)
    logged = run.algorithm.model.logger.name_to_value
    names = {
        **{"entropy_loss": "entropy", "policy_gradient_loss": "policy_loss"},
        **{name: name for name in ("value_loss", "approx_kl", "clip_fraction")},
    }
    for number, name in enumerate(names, 1):
        logged[f"train/{name}"] = number / 8
    logged["train/explained_variance"] = explained
    found = run.algorithm._metrics(8, 1.0, 1.0, 0.1)
    run.close()
    assert [found[name] for name in names.values()] == [-1 / 8, 2 / 8, 3 / 8, 4 / 8, 5 / 8]
    assert found.get("explained_variance", math.nan) == pytest.approx(explained, nan_ok=True)
    assert ("explained_variance" in found) == (explained == 0.25)


def test_a_run_leaves_a_checkpoint_and_nothing_pickled(run_folder):
    checkpoint = load_checkpoint(run_folder / "agent.safetensors")
    assert checkpoint.notes["algorithm"] == "ppo"
    assert checkpoint.options == {"size": 3}
    assert checkpoint.step == 4 * 16 * 8
    files = [file for file in run_folder.rglob("*") if file.is_file()]
    kinds = {file.suffix for file in files if "events" not in file.name and file.name != "lock"}
    assert kinds == {".safetensors", ".jsonl", ".yaml", ".zip"}
    lines = [json.loads(line) for line in (run_folder / "metrics.jsonl").open()]
    assert [line.get("opponent") for line in lines] == [None, "random", None, "random"]
    assert all(line.keys() <= METRICS.keys() for line in lines)


def test_configurations_of_the_other_algorithm_are_refused(capsys):
    assert main(["train", "corso", "--algorithm", "ppo", "--config", "corso/demo"]) == 2
    assert "corso/demo is for alphazero, not for ppo" in capsys.readouterr().err
    assert main(["bench", "corso", "--config", "corso/ppo"]) == 2
    assert "corso/ppo is for ppo, not for alphazero" in capsys.readouterr().err
