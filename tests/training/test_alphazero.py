"""The trainer: what it plays, what it learns from, and that nothing is lost."""

from __future__ import annotations

import copy
import itertools
import json
import threading
import time
from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
import torch

from ludarium.configs import apply_settings, load_config
from ludarium.configs.schema import Bootstrap
from ludarium.configs.schema import Learner as LearnerConfig
from ludarium.configs.schema import Network as NetworkConfig
from ludarium.configs.schema import SelfPlay as SelfPlayConfig
from ludarium.envs import GAMES, make_game
from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.position import contents_of
from ludarium.envs.engine.threads import available_cores
from ludarium.models import InferenceEngine, NetworkShape, build_network, load_checkpoint
from ludarium.models.network import SIZES
from ludarium.training.agents import make_agent
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.alphazero.actors import search_settings
from ludarium.training.alphazero.bootstrap import bootstrap_samples
from ludarium.training.alphazero.kernels.self_play import NEVER_RESIGN
from ludarium.training.alphazero.learner import Learner, Losses
from ludarium.training.alphazero.loop import AlphaZeroTrainer
from ludarium.training.alphazero.resignation import TRIAL, Calibration, false_positive_rate
from ludarium.training.alphazero.samples import Batch, BatchMaker, sample_dtype
from ludarium.training.alphazero.self_play import Group, SelfPlay, SelfPlayResult, choose_threads
from ludarium.training.evaluation import (
    load_ratings,
    play_anchors,
    play_match,
)
from ludarium.training.networks import chosen_architecture, network_shape
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.reporting import Reporter
from ludarium.training.search import Search, SearchSettings, join_results
from ludarium.training.search.settings import GUMBEL, PUCT
from tests.tiny_runs import ALPHAZERO, TinyRuns

RUNS = TinyRuns(AlphaZeroTrainer, "corso/demo", ALPHAZERO)
tiny_config, trained = RUNS.config, RUNS.trained


def weights(trainer: AlphaZeroTrainer) -> dict[str, torch.Tensor]:
    return trainer.learner.network.state_dict()


def positions(trainer: AlphaZeroTrainer) -> np.ndarray:
    """What the replay holds, the oldest first."""
    return trainer.replay[np.arange(len(trainer.replay))]


@pytest.fixture
def group():
    return new_group(SearchSettings(simulations=8))


def play(group: Group, settings: SearchSettings, evaluate, **given) -> SelfPlayResult:
    """One chunk of a single group."""
    group.begin(settings, **given)
    while not group.is_full:
        group.step(evaluate)
    return group.collect()


def uniform(observations):
    """A network that knows nothing."""
    return np.zeros((len(observations), 9), np.float32), np.zeros(len(observations), np.float32)


def test_self_play_samples_are_searched_positions_with_their_games_result(group):
    game = group.game
    result = play(group, SearchSettings(simulations=8, noise=1.0), uniform)
    samples = result.samples
    assert result.positions == 400
    assert 0 < len(samples) < 400
    assert len(samples) + len(group.pending) == 400
    assert (samples["state"]["outcome"] == 0).all()
    np.testing.assert_allclose(samples["policy"].astype(float).sum(axis=1), 1, atol=5e-3)
    masks = np.zeros((len(samples), 9), np.int8)
    states = np.ascontiguousarray(samples["state"])
    game.kernels.legal_actions(game.tables, states, masks)
    assert (samples["policy"][masks == 0] == 0).all()
    # The result goes with the score: player 0 is ahead exactly in the games that he won.
    assert (
        np.sign(samples["score"])
        == np.select([samples["outcome"] == 1, samples["outcome"] == 2], [1, -1], 0)
    ).all()
    assert {1, 2} <= set(samples["outcome"])


def test_a_samples_result_is_that_of_its_own_game(group):
    """One cell left to fill: the result is known from the position alone."""
    settings = SearchSettings(simulations=8, noise=1.0)
    samples = np.concatenate([play(group, settings, uniform).samples for _ in range(5)])
    game, checked = group.game, 0
    for sample in samples:
        from ludarium.envs import Position

        position = Position.of_state(game, sample["state"])
        results = set()
        for action in position.legal_actions:
            after = position.copy()
            after.play(action)
            results.add((after.outcome, after.score) if after.is_over else None)
        if len(results) == 1 and None not in results:
            assert results == {(sample["outcome"], sample["score"])}
            checked += 1
    assert checked > 20


def network(observations):
    """A network with fixed answers, each the same whatever else is asked."""
    flat = observations.reshape(len(observations), -1)
    weights = np.random.default_rng(1).normal(size=(flat.shape[1], 10))
    answers = np.sin((flat[:, :, None] * weights).sum(axis=1)).astype(np.float32)
    return 2 * answers[:, 1:], 0.9 * answers[:, 0]


def new_group(
    settings: SearchSettings, positions: int = 400, cache: float = 0.0, **stored: bool
) -> Group:
    game = make_game("corso", size=3)
    dtype = sample_dtype(game, **stored)
    config = SelfPlayConfig(
        games=8, positions=positions, opening_plies=2, cache=cache, resign_disabled_fraction=0.5
    )
    return Group(game, config, settings, np.random.SeedSequence(3), dtype)


def self_play_of(threads: int) -> tuple[SelfPlay, SearchSettings]:
    """Self-play of small groups."""
    settings = SearchSettings(simulations=8, noise=1.0)
    config = SelfPlayConfig(games=24, positions=900, cache=1)
    seed = np.random.SeedSequence(3)
    return SelfPlay(make_game("corso", size=3), config, settings, threads, seed), settings


class SlowCaller:
    """A network for two threads, in which the caller's is slow, whatever the machine does.

    A step of it lasts until the other thread has done three more, or has filled what it can have.
    """

    def __init__(self, groups: list[Group]) -> None:
        self.groups = groups
        self.caller = threading.current_thread()
        self.steps = {"caller": 0, "other": 0}
        self.reached = 0
        self.changed = threading.Condition()

    def __call__(self, observations):
        me = "caller" if threading.current_thread() is self.caller else "other"
        with self.changed:
            self.steps[me] += 1
            self.changed.notify_all()
            if me == "caller":
                goal = self.steps["other"] + 3
                self._wait(lambda: self.steps["other"] >= goal or self._open_groups() == 1)
            else:  # so that the caller has a group, too
                self._wait(lambda: self.steps["caller"] > 0)
        return network(observations)

    def _wait(self, condition: Callable[[], bool]) -> None:
        assert self.changed.wait_for(condition, 300)

    def _open_groups(self) -> int:
        return sum(not group.is_full for group in self.groups)

    def progress(self, positions: int) -> None:
        """Called after each step."""
        with self.changed:
            self.reached += positions
            self.changed.notify_all()


def test_a_slow_core_takes_fewer_steps_and_changes_nothing():
    self_play, settings = self_play_of(threads=2)
    uneven = []
    for _ in range(2):
        evaluate = SlowCaller(self_play.groups)
        uneven.append(self_play.play(settings, evaluate, evaluate.progress))
        assert evaluate.reached == 900
        assert evaluate.steps["other"] > 1.5 * evaluate.steps["caller"] > 0

    groups = self_play_of(threads=2)[0].groups
    assert [len(group.games.serials) for group in groups] == [8, 8, 8]
    for result in uneven:
        alone = join_results([play(group, settings, network) for group in groups])
        assert contents_of(result.samples["state"]) == contents_of(alone.samples["state"])
        for name in ("policy", "search_value", "outcome", "score"):
            np.testing.assert_array_equal(result.samples[name], alone.samples[name])
        assert (result.games, result.simulations, result.hits) == (
            alone.games,
            alone.simulations,
            alone.hits,
        )


def test_one_thread_has_one_group():
    self_play, settings = self_play_of(threads=1)
    assert len(self_play.groups) == 1
    assert self_play.play(settings, network).positions == 900


def test_a_gpu_gets_batches_worth_its_while():
    cores = available_cores()
    assert choose_threads(SelfPlayConfig(games=256), "cpu") == cores
    assert choose_threads(SelfPlayConfig(games=64 * (cores + 1)), "cuda") == cores
    assert choose_threads(SelfPlayConfig(games=128), "cuda") == 1
    assert choose_threads(SelfPlayConfig(games=16), "cuda") == 1
    assert choose_threads(SelfPlayConfig(games=16, workers=5), "cuda") == 5


def test_an_error_of_the_network_ends_self_play():
    self_play, settings = self_play_of(threads=2)

    numbers, calls = itertools.count(), []

    def fail(observations):
        number = next(numbers)
        calls.append(number)
        if number == 0:
            raise MemoryError("no room")
        while not self_play._has_failed:  # until the other thread is past its error
            time.sleep(0.001)
        return network(observations)

    with pytest.raises(MemoryError, match="no room"):
        self_play.play(settings, fail)
    assert len(calls) <= 2, "the other thread went on"


def test_a_cache_changes_nothing_of_the_games_but_what_they_cost():
    """Game for game; which of them are further on when the log is full does change."""
    settings = SearchSettings(simulations=16, noise=1.0)
    games = []
    for cache in (0.0, 1.0):
        group = new_group(settings, 2000, cache)
        result = play(group, settings, network)
        lines: dict[int, list[bytes]] = {}
        for serial, state in zip(group.log.games, group.log.states, strict=True):
            lines.setdefault(serial, []).append(state.tobytes())
        # Serial numbers are given in the order of starting, so compare each tree's first game.
        games.append([lines[serial] for serial in range(8)])
        assert (result.hits > 0) == (cache > 0)
        assert result.positions == 2000
    assert games[0] == games[1]
    assert result.hits > result.evaluations


def test_every_chunk_of_play_begins_with_an_empty_cache():
    """The network may be another; and a resumed run has no cache to go on with."""
    settings = SearchSettings(simulations=8, noise=1.0)
    group = new_group(settings, cache=1.0)
    play(group, settings, network)
    saved = {name: array.copy() for name, array in group.state().items()}
    resumed = new_group(settings, cache=1.0)
    resumed.restore(saved)
    other = lambda observations: tuple(-answers for answers in network(observations))  # noqa: E731
    first, second = play(group, settings, other), play(resumed, settings, other)
    assert first.hits == second.hits > 0
    np.testing.assert_array_equal(first.samples, second.samples)
    known = {observation.tobytes() for observation in group.observations}
    assert known == {observation.tobytes() for observation in resumed.observations}


@pytest.mark.parametrize("algorithm", [GUMBEL, PUCT], ids=["gumbel", "puct"])
def test_from_a_ply_on_the_choice_is_greedy_and_the_search_still_noisy(algorithm):
    game = make_game("corso", size=3)
    position = game.start()
    states = np.repeat(position.states, 60)
    settings = SearchSettings(
        simulations=12, algorithm=algorithm, noise=0.9, temperature=2.0, temperature_plies=1
    )
    search = Search(game, settings, 60, seed=1)
    early = search.run(states, network)
    position.play(0)
    late = search.run(np.repeat(position.states, 60), network)
    assert len({visits.tobytes() for visits in late.visits}) > 5
    assert len(set(late.actions)) < len(set(early.actions))
    if algorithm == PUCT:
        np.testing.assert_array_equal(late.actions, late.visits.argmax(axis=1))
        return
    for action, policy, visits in zip(late.actions, late.policies, late.visits, strict=True):
        finalists = np.flatnonzero(visits == visits.max())
        assert action == finalists[policy[finalists].argmax()]


@pytest.mark.slow
def test_a_run_with_every_economy_goes_on_as_if_it_had_not_been_interrupted(tmp_path):
    economies = (
        "self_play.temperature_plies=4",
        "self_play.cache=0.1",
        "budget={iterations: 2}",
    )
    whole = trained(tmp_path / "whole", *economies)
    for stop in (1, 2):
        parts = trained(tmp_path / "parts", *economies, iterations=stop)
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(parts)[name]), name
    both = [
        [json.loads(line) for line in trainer.folder.metrics.read_text().splitlines()]
        for trainer in (whole, parts)
    ]
    hits = [[line["cache_hits"] for line in lines] for lines in both]
    assert hits[0] == hits[1]
    assert all(0 < share < 1 for share in hits[0])
    plain = trained(tmp_path / "plain", "self_play.cache=0", iterations=1)
    assert json.loads(plain.folder.metrics.read_text())["cache_hits"] == 0


def test_proven_positions_have_exact_search_values(group):
    settings = SearchSettings(simulations=8, noise=1.0)
    samples = play(group, settings, uniform).samples
    last = samples["state"]["open_cells"] == 1
    assert last.any()
    assert (np.abs(samples["search_value"][last]) == 1).mean() > 0.5


def test_an_interrupted_run_goes_on_as_if_it_had_not_been(tmp_path):
    whole = trained(tmp_path / "whole")
    for stop in (1, 2, 3):
        parts = trained(tmp_path / "parts", iterations=stop)
    assert parts.iteration == whole.iteration == 3
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(parts)[name]), name
    np.testing.assert_array_equal(positions(whole), positions(parts))
    lines = (tmp_path / "parts" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [1, 2, 3]


def test_same_seed_same_games_other_seed_other_games(tmp_path):
    first = positions(trained(tmp_path / "a", iterations=1))
    again = positions(trained(tmp_path / "b", iterations=1))
    other = positions(trained(tmp_path / "c", "seed=9", iterations=1))
    assert (first["state"] == again["state"]).all()
    assert len(first) != len(other) or (first["state"] != other["state"]).any()


def test_a_folder_of_another_configuration_is_refused(tmp_path):
    trained(tmp_path, iterations=1)
    with pytest.raises(ValueError, match=r"learner.batch: 64 there, 32 now.*--restart"):
        trained(tmp_path, "learner.batch=32")


def test_training_learns_corso_3x3(tmp_path):
    """A tiny run from nothing beats random play, where an untrained network does not.

    Rounding, which differs between processors, makes other runs of it: they score 0.86 and more.
    """
    trainer = trained(tmp_path, "budget={iterations: 24}", "self_play.positions=512")
    game = trainer.game
    agent = NetworkAgent(game, trainer.learner.ema_network, 0, backend="eager")
    random_agent = make_agent("random", game)
    result = play_match(game, agent, random_agent, 200, seed=1)
    torch.manual_seed(0)
    untrained = NetworkAgent(game, build_network(network_shape(game), 8, 1), 0, backend="eager")
    before = play_match(game, untrained, random_agent, 200, seed=1)
    assert result.score > 0.7
    assert result.score > before.score + 0.15


def test_a_named_size_is_written_out_in_the_checkpoint(tmp_path):
    trained(tmp_path, "budget={iterations: 1}", "network={size: tiny}")
    checkpoint = load_checkpoint(tmp_path / "agent.safetensors")
    size = SIZES[len(checkpoint.shape.observation)]["tiny"]
    assert tuple(checkpoint.architecture.options.values()) == size


@pytest.mark.parametrize("name", GAMES)
def test_every_size_of_the_configuration_has_a_network_for_every_game(name):
    game = make_game(name)
    names = get_args(get_args(NetworkConfig.model_fields["size"].annotation)[0])
    assert len(names) == 3
    for size in names:
        chosen = chosen_architecture(game, NetworkConfig(size=size))
        assert tuple(chosen.options.values()) == SIZES[len(game.observation_shape)][size]
        assert chosen_architecture(game, NetworkConfig(**chosen.options)) == chosen


def test_checkpoint_plays_as_the_network_it_was_saved_from(tmp_path):
    trainer = trained(tmp_path, iterations=1)
    checkpoint = load_checkpoint(trainer.folder.agent)
    assert checkpoint.game == "corso"
    assert checkpoint.options == {"size": 3}
    observations = np.random.default_rng(0).random((5, 5, 3, 3), np.float32)
    saved = InferenceEngine(checkpoint.network, (5, 3, 3), 8, "eager")(observations)
    now = InferenceEngine(trainer.learner.ema_network, (5, 3, 3), 8, "eager")(observations)
    np.testing.assert_array_equal(saved[0], now[0])


def test_targets_are_seen_from_the_mover_in_a_random_symmetry():
    game = make_game("corso", size=3)
    position = game.start()
    for text in ("b2", "a1", "b2!"):
        position.play(position.text_to_action(text))
    samples = np.zeros(64, sample_dtype(game))
    samples["state"] = position.states
    samples["policy"][:, 0] = 1  # expand a1, a corner
    samples["outcome"] = 1  # player 0 won; player 1 is to move
    samples["score"] = 3
    samples["search_value"] = -0.5
    batch = BatchMaker(game, search_value=0.5)(samples, np.random.default_rng(0))
    assert position.mover == 1
    np.testing.assert_allclose(batch.outcomes, [[0.125, 0, 0.875]] * 64)
    np.testing.assert_allclose(batch.scores, -3 / 9)
    corners = batch.policies.argmax(axis=1)
    assert set(corners) == {0, 2, 6, 8}
    # The own marble is on the corner that the policy expands, whatever the symmetry.
    own_marbles = batch.observations[:, 0].reshape(64, -1)
    assert (own_marbles.argmax(axis=1) == corners).all()


def test_samples_know_who_owned_the_board_when_their_game_ended():
    """Dye is never open again, the score is the owners' sum, and positions agree on a game's."""
    settings = SearchSettings(simulations=8, noise=1.0)
    group = new_group(settings, ownership=True)
    samples = np.concatenate([play(group, settings, uniform).samples for _ in range(3)])
    np.testing.assert_array_equal(samples["owners"].sum(axis=1, dtype=int), samples["score"])
    assert (samples["owners"] != 0).all()
    # A marble or dye that nobody can reach any more stays: on a board with one open cell and no
    # marbles next to it, everything else has its owner already.
    last = samples["state"]["open_cells"] == 1
    without_marbles = ~np.isin(samples["state"]["cells"], (1, 2)).any(axis=1)
    decided = samples[last & without_marbles]
    assert len(decided)
    now = group.game.owners(decided["state"])
    filled = np.where(now == 0, 1 - 2 * decided["state"]["mover"][:, None], now)
    np.testing.assert_array_equal(decided["owners"], filled)
    plain = new_group(settings)
    expected = play(plain, settings, uniform).samples
    assert "owners" not in expected.dtype.names
    for name in expected.dtype.names:
        np.testing.assert_array_equal(samples[: len(expected)][name], expected[name])


@pytest.mark.parametrize(("name", "size"), [("corso", 3), ("obsidio", 7)])
def test_first_positions_know_the_owners_too(name, size):
    game = make_game(name, size=size)
    config, seed = Bootstrap(positions=200, playouts=4), np.random.SeedSequence
    samples = bootstrap_samples(game, config, 2, seed(1), sample_dtype(game, True))
    np.testing.assert_array_equal(samples["owners"].sum(axis=1, dtype=int), samples["score"])
    plain = bootstrap_samples(game, config, 2, seed(1))
    assert "owners" not in plain.dtype.names
    np.testing.assert_array_equal(samples["policy"], plain["policy"])


@pytest.mark.parametrize(("name", "size"), [("corso", 4), ("obsidio", 7)])
def test_owners_lie_as_the_observation_does_in_every_symmetry(name, size):
    """Owners are taken from the position shown, so its planes say what the target must be."""
    game = make_game(name, size=size)
    own, other = ((0, 2), (1, 3)) if name == "corso" else ((2,), (3,))
    batch = BatchEnv(game, 64, seed=1)
    for _ in range(30 if name == "corso" else 45):
        batch.step_random()
    samples = np.zeros(64, sample_dtype(game, ownership=True))
    samples["state"] = batch.states
    samples["policy"][:, 0] = 1
    samples["owners"] = game.owners(batch.states)
    made = BatchMaker(game, search_value=0.5)(samples, np.random.default_rng(2))
    planes = made.observations.reshape(64, game.planes_shape[0], -1)
    expected = planes[:, own].sum(axis=1) - planes[:, other].sum(axis=1)
    assert set(batch.states["mover"]) == {0, 1}
    assert made.owners.dtype == np.float32
    assert {-1, 1} <= set(made.owners.ravel())
    np.testing.assert_array_equal(made.owners, expected)
    unchanged = np.where(batch.states["mover"] == 0, 1, -1)[:, None] * samples["owners"]
    assert (made.owners != unchanged).any()


OWNERSHIP = "learner.ownership_weight=0.25"


def board_batch(count: int = 32) -> Batch:
    """Random observations of a 3x3 board, owned by whoever the first plane says."""
    rng = np.random.default_rng(0)
    policies = rng.random((count, 9), np.float32)
    observations = rng.integers(2, size=(count, 5, 3, 3)).astype(np.float32)
    return Batch(
        observations=observations,
        policies=policies / policies.sum(1, keepdims=True),
        outcomes=np.full((count, 3), 1 / 3, np.float32),
        scores=np.zeros(count, np.float32),
        owners=2 * observations[:, 0].reshape(count, 9) - 1,
        ended=np.ones(count, np.float32),
        keeping=np.zeros(count, np.bool_),
        weights=np.ones(count, np.float32),
    )


def test_ownership_is_learnt_for_each_cell():
    torch.manual_seed(0)
    network = build_network(NetworkShape((5, 3, 3), 9), 16, 1)
    config = LearnerConfig(warmup_steps=0, learning_rate=0.01, ownership_weight=1.0)
    learner = Learner(network, config, True)
    batch = board_batch()
    first, last = Losses(), Losses()
    learner.learn([batch], 0.0, first)
    for _ in range(60):
        last = Losses()
        learner.learn([batch], 0.0, last)
    learner.close()
    assert first.ownership > 0.7
    assert last.ownership < 0.1
    assert learner.ownership is not None
    # The head is in no network that plays.
    assert learner.ema_network.state_dict().keys() == network.state_dict().keys()
    assert not any("ownership" in name for name in network.state_dict())


def test_without_a_weight_there_is_no_head_and_the_trunk_learns_nothing_of_owners():
    """The same first step as ever; with a weight it is another one."""
    learnt = {}
    for weight in (0.0, 0.25):
        torch.manual_seed(0)
        network = build_network(NetworkShape((5, 3, 3), 9), 8, 1)
        learner = Learner(network, LearnerConfig(warmup_steps=0, ownership_weight=weight), True)
        losses = Losses()
        learner.learn([board_batch()], 0.0, losses)
        learner.close()
        learnt[weight] = network.stem[0].weight
        assert (learner.ownership is None) == (weight == 0)
        assert (losses.ownership == 0) == (weight == 0)
    assert not torch.equal(learnt[0.0], learnt[0.25])


def test_ownership_needs_a_board():
    network = build_network(NetworkShape((7,), 6), 16, 2)
    with pytest.raises(ValueError, match=r"ownership_weight needs a network of ludarium"):
        Learner(network, LearnerConfig(ownership_weight=0.1), True)


def test_games_without_owners_are_refused_before_anything_is_written(tmp_path):
    config = apply_settings(load_config("onyx/default"), [OWNERSHIP])
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(ValueError, match=r"ownership_weight is 0\.25, but the cells of onyx have"):
        AlphaZeroTrainer(config, folder, Reporter())
    assert not folder.path.exists()


@pytest.mark.slow
def test_a_run_that_learns_ownership_goes_on_and_its_agent_is_as_any(tmp_path):
    settings = (OWNERSHIP, "bootstrap={positions: 200, playouts: 8}", "budget={iterations: 2}")
    whole = trained(tmp_path / "whole", *settings)
    for stop in (1, 2):
        parts = trained(tmp_path / "parts", *settings, iterations=stop)
    assert same_weights(whole.learner.network, parts.learner.network)
    assert whole.learner.ownership is not None
    assert same_weights(whole.learner.ownership, parts.learner.ownership)
    a, b = positions(whole), positions(parts)
    np.testing.assert_array_equal(a["owners"], b["owners"])
    np.testing.assert_array_equal(a["owners"].sum(axis=1, dtype=int), a["score"])
    lines = [json.loads(line) for line in whole.folder.metrics.read_text().splitlines()]
    assert all(line["ownership_loss"] > 0 for line in lines)
    plain = build_network(network_shape(whole.game), 8, 1)
    saved = load_checkpoint(whole.folder.agent).network
    assert saved.state_dict().keys() == plain.state_dict().keys()
    assert same_weights(saved, whole.learner.ema_network)


def test_a_player_resigns_at_the_threshold_but_in_free_games():
    settings = SearchSettings(simulations=8, noise=1.0)
    group = new_group(settings, 2000, resignation=True, ownership=True)
    result = play(group, settings, network, resign_at=-0.3)
    log, ended, owners = group.log, result.games, group.game.owners
    assert result.resigned == log.ended_resigned[:ended].sum() > 20
    free = log.ended_free[:ended]
    assert abs(free.mean() - 0.5) < 4 * 0.5 / np.sqrt(ended)
    assert not (free & log.ended_resigned[:ended]).any()
    trials = iter(result.trials)
    games = log.games[np.isin(log.games, log.ended_games[:ended])]  # of the samples
    assert len(games) == len(result.samples)
    for row, game in enumerate(log.ended_games[:ended]):
        mine = log.games == game
        values, movers = log.values[mine], log.states["mover"][mine]
        outcome = log.ended_outcomes[row]
        if log.ended_resigned[row]:
            assert values[-1] <= -0.3 < values[:-1].min(initial=1)
            assert outcome == (2, 1)[movers[-1]]
            known = (0, 0)
        else:
            assert free[row] or values.min() > -0.3
            last = log.ended_states[row : row + 1]
            known = (owners(last).sum(), np.abs(owners(last)).sum())
            assert known[1] == 9
        if free[row]:
            for player in (0, 1):
                trial = next(trials)
                assert trial["lowest"] == values[movers == player].min(initial=1)
                assert trial["lost"] == (outcome == 2 - player)
        samples = result.samples[games == game]
        assert (samples["outcome"] == outcome).all()
        assert (samples["resigned"] == log.ended_resigned[row]).all()
        assert (samples["score"] == known[0]).all()
        assert (np.abs(samples["owners"]).sum(axis=1, dtype=int) == known[1]).all()
    assert next(trials, None) is None
    resigned = result.samples["resigned"]
    assert 0 < resigned.mean() < 1
    assert (result.samples["score"][resigned] == 0).all()
    assert (result.samples["score"][~resigned] != 0).all()
    made = BatchMaker(group.game, 0.5)(result.samples, np.random.default_rng(0))
    np.testing.assert_array_equal(made.ended, ~resigned)
    wins = made.outcomes[:, 0] > made.outcomes[:, 2]
    assert wins[resigned].any()
    assert not wins[resigned].all()


def test_nobody_resigns_below_all_values():
    settings = SearchSettings(simulations=8, noise=1.0)
    result = play(new_group(settings, resignation=True), settings, network)
    assert result.resigned == 0
    assert not result.samples["resigned"].any()
    assert 0 < len(result.trials) < 2 * result.games
    assert not len(play(new_group(settings), settings, network).trials)


@pytest.mark.parametrize("accepted", [0.02, 0.05, 0.3])
def test_the_threshold_is_the_highest_that_is_wrong_seldom_enough(accepted):
    rng = np.random.default_rng(1)
    trials = np.zeros(1500, TRIAL)
    trials["lowest"] = np.round(rng.uniform(-1, 1, 1500), 2)  # so that many are equal
    trials["lost"] = rng.random(1500) < (1 - trials["lowest"]) / 2
    calibration = Calibration(accepted)
    calibration.add(trials[:150])
    assert calibration.threshold == NEVER_RESIGN
    calibration.add(trials[150:])
    found = calibration.threshold
    assert -1 <= found <= 0
    assert false_positive_rate(trials, found) <= accepted
    higher = [value for value in np.unique(trials["lowest"]) if found < value <= 0]
    assert all(false_positive_rate(trials, value) > accepted for value in higher)
    # The latest trials count.
    never_lost = np.zeros(2000, TRIAL)
    never_lost["lowest"] = -1
    calibration.add(never_lost)
    assert calibration.threshold == NEVER_RESIGN
    assert false_positive_rate(trials[:0], 0.0) is None


def test_unknown_scores_and_owners_teach_nothing():
    """What stands in their place does not matter; elsewhere it does."""
    batch = board_batch()
    batch.ended[::2] = 0
    learnt = []
    for spoilt in (slice(0, 0), slice(0, None, 2), slice(1, None, 2)):
        scores, owners = batch.scores.copy(), batch.owners.copy()
        scores[spoilt], owners[spoilt] = 1, 0
        torch.manual_seed(0)
        network = build_network(NetworkShape((5, 3, 3), 9), 8, 1)
        learner = Learner(network, LearnerConfig(warmup_steps=0, ownership_weight=0.25), True)
        losses = Losses()
        learner.learn([batch._replace(scores=scores, owners=owners)], 0.0, losses)
        learner.close()
        learnt.append((network, losses.score, losses.ownership))
    assert same_weights(learnt[0][0], learnt[1][0])
    assert learnt[0][1:] == learnt[1][1:]
    assert not same_weights(learnt[0][0], learnt[2][0])


@pytest.mark.slow
def test_a_run_with_resignation_goes_on_as_if_it_had_not_been_interrupted(tmp_path, monkeypatch):
    monkeypatch.setattr("ludarium.training.alphazero.resignation._FEWEST", 10)
    settings = (
        "self_play.resign=0.3",
        "self_play.resign_disabled_fraction=0.5",
        "bootstrap={positions: 100, playouts: 8}",
    )
    whole = trained(tmp_path / "whole", *settings)
    for stop in (1, 2, 3):
        parts = trained(tmp_path / "parts", *settings, iterations=stop)
    assert same_weights(whole.learner.network, parts.learner.network)
    np.testing.assert_array_equal(whole.calibration.trials, parts.calibration.trials)
    assert len(whole.calibration.trials) >= 10
    np.testing.assert_array_equal(positions(whole)["resigned"], positions(parts)["resigned"])
    keys = ("resign_threshold", "resigned", "resign_false_positive_rate")
    logs = [
        [json.loads(line) for line in trainer.folder.metrics.read_text().splitlines()]
        for trainer in (whole, parts)
    ]
    metrics = [[{key: line.get(key) for key in keys} for line in log] for log in logs]
    assert metrics[0] == metrics[1]
    assert metrics[0][0] == {
        "resign_threshold": -2,
        "resigned": 0,
        "resign_false_positive_rate": None,
    }
    last = metrics[0][2]
    assert -1 <= last["resign_threshold"] <= 0
    assert 0 < last["resigned"] < 1
    assert 0 <= last["resign_false_positive_rate"] <= 1


def test_learning_does_not_depend_on_the_number_of_workers():
    """Where nothing is normalised over the batch, shared work is the same work."""
    rng = np.random.default_rng(0)
    policies = rng.random((32, 6), np.float32)
    outcomes = rng.random((32, 3), np.float32)
    batch = Batch(
        observations=rng.random((32, 7), np.float32),
        policies=policies / policies.sum(1, keepdims=True),
        outcomes=outcomes / outcomes.sum(1, keepdims=True),
        scores=rng.random(32, np.float32),
        owners=np.zeros((32, 0), np.float32),
        ended=(rng.random(32) < 0.7).astype(np.float32),
        keeping=rng.random(32) < 0.3,
        weights=np.ones(32, np.float32),
    )
    learnt = []
    for workers in (1, 3):
        torch.manual_seed(1)
        network = build_network(NetworkShape((7,), 6), 16, 2)
        learner = Learner(network, LearnerConfig(warmup_steps=0), True, "cpu", workers)
        losses = Losses()
        for _ in range(5):
            learner.learn([batch], 0.0, losses)
        learner.close()
        learnt.append((network(torch.from_numpy(batch.observations)).policy, losses.policy))
    torch.testing.assert_close(learnt[0][0], learnt[1][0], atol=1e-3, rtol=1e-3)
    assert learnt[0][1] == pytest.approx(learnt[1][1], rel=1e-3)
    assert learner.step == 5


def test_schedule_of_simulations():
    config = tiny_config("self_play.simulations=[[0, 8], [0.5, 16]]")
    assert [search_settings(config, share).simulations for share in (0, 0.4, 0.5, 1)] == [
        8, 8, 16, 16,
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"self_play.simulations: .*ascends"):
        tiny_config("self_play.simulations=[[0.5, 8], [0, 16]]")


GATE = "gate={games: 4, simulations: 2, score: %s}"


def same_weights(a: torch.nn.Module, b: torch.nn.Module) -> bool:
    other = b.state_dict()
    return all(torch.equal(value, other[name]) for name, value in a.state_dict().items())


@pytest.mark.slow
def test_a_network_that_does_not_pass_the_gate_does_not_play(tmp_path):
    """Nobody scores more than all points, and everybody at least none."""
    open_gate = trained(tmp_path / "open", GATE % 0)
    without = trained(tmp_path / "without")
    assert same_weights(open_gate.player, open_gate.learner.ema_network)
    assert same_weights(open_gate.player, without.player)
    assert without.player is without.learner.ema_network

    trainer = RUNS.begun(tmp_path / "closed", GATE % 1)
    first = copy.deepcopy(trainer.player)
    seen = []

    def lost(game, new, old, games, **others):
        seen.append((new.name, old.name, games))
        return play_match(game, make_agent("random", game), old, games, **others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ludarium.training.alphazero.loop.play_match", lost)
        trainer.run(stop=lambda: trainer.iteration == 2)
    trainer.close()
    lines = [json.loads(line) for line in trainer.folder.metrics.read_text().splitlines()]
    assert seen == [("new", "old", 4)] * 2
    assert all(line["gate_passed"] == (line["gate_score"] == 1) for line in lines)
    assert not lines[-1]["gate_passed"]
    assert same_weights(trainer.player, first)
    assert same_weights(load_checkpoint(trainer.folder.agent).network, first)
    assert not same_weights(trainer.learner.ema_network, first)
    # A resumed run knows both.
    resumed = AlphaZeroTrainer(trainer.config, trainer.folder, Reporter())
    resumed.close()
    assert same_weights(resumed.player, first)
    assert same_weights(resumed.learner.ema_network, trainer.learner.ema_network)


ANCHORED = "evaluation={every: 1, against: [random, 'uct:20'], games: 8, simulations: 4}"


def test_evaluations_against_anchors_are_ratings_and_survive_an_interruption(tmp_path, monkeypatch):
    """No ratings come along for Corso 3x3: they are measured once, when the run starts."""
    whole = trained(tmp_path / "whole", ANCHORED)
    parts = trained(tmp_path / "parts", ANCHORED, iterations=1)
    assert parts.elo is not None

    def again(*_, **__):
        raise AssertionError("ratings are measured a second time")

    monkeypatch.setattr("ludarium.training.runs.trainer.measure_ratings", again)
    parts = trained(tmp_path / "parts", ANCHORED)
    logs = [
        [json.loads(line) for line in trainer.folder.metrics.read_text().splitlines()]
        for trainer in (whole, parts)
    ]
    keys = ("elo", "elo_low", "elo_high", "anchors")
    ratings = [[{key: line[key] for key in keys} for line in log] for log in logs]
    assert len(ratings[0]) == 3
    assert ratings[0] == ratings[1]
    for line in logs[0]:
        assert line["elo_low"] < line["elo"] < line["elo_high"]
        assert sum(anchor["games"] for anchor in line["anchors"].values()) == 8
    known = load_ratings(whole.game, whole.folder.ratings).elo
    assert set(known) == {"random", "uct:20", "uct:1000"}
    assert all(
        anchor["elo"] == known[name] for line in logs[0] for name, anchor in line["anchors"].items()
    )
    assert whole.elo == logs[0][-1]["elo"]


def test_the_last_rating_says_where_an_evaluation_begins(tmp_path, monkeypatch):
    guesses = []

    def rated(*arguments, guess, **others):
        guesses.append(guess)
        return play_anchors(*arguments, guess=guess, **others)

    monkeypatch.setattr("ludarium.training.runs.evaluation.play_anchors", rated)
    trainer = trained(tmp_path, ANCHORED)
    lines = [json.loads(line) for line in trainer.folder.metrics.read_text().splitlines()]
    assert guesses == [None, lines[0]["elo"], lines[1]["elo"]]


def test_bad_anchors_are_refused_before_the_first_iteration(tmp_path):
    with pytest.raises(ValueError, match="no agent is called 'nobody'"):
        trained(tmp_path / "run", ANCHORED.replace("'uct:20'", "nobody"))
    assert not list(tmp_path.iterdir())


def test_integer_networks_train_and_are_matched_as_they_are(tmp_path):
    trainer = trained(tmp_path, "backend=onnx-int8", "evaluation.every=1", iterations=2)
    assert trainer.actors.backend == "onnx-int8"
    lines = [json.loads(line) for line in trainer.folder.metrics.read_text().splitlines()]
    assert len(lines) == 2
    assert all(0 < line["value_deviation"] < 0.1 for line in lines)
    assert all(0 <= line["score"] <= 1 for line in lines)
