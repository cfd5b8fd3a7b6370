"""Every sample of self-play and of the bootstrap, beside an account in plain Python.

The account replays each game from its samples by the rules and the network's answers alone. It
knows what one simulation finds, but neither trees nor chunks nor how games are played side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from ludarium.configs.schema import SelfPlayConfig
from ludarium.envs import Game, Position, make_game
from ludarium.envs.engine.position import contents_of
from ludarium.models import Evaluation, build_network
from ludarium.training.alphazero import samples as declared
from ludarium.training.alphazero.bootstrap import bootstrap_samples
from ludarium.training.alphazero.replay import ReplayBuffer
from ludarium.training.alphazero.samples import BatchMaker, Field, sample_dtype
from ludarium.training.alphazero.self_play import SelfPlay, WorkerGames
from ludarium.training.networks import inference_engine, network_shape, random_observations
from ludarium.training.search import SearchSettings
from tests.games import children
from tests.oddity import Oddity
from tests.progress import Told
from tests.tiny_runs import ALPHAZERO, TinyRuns

#: Values are not rescaled, so that targets depend on how large they are.
SETTINGS = SearchSettings(
    simulations=1, noise=1.0, value_scale=0.5, maxvisit_init=3.0, rescale_values=False
)
SIGMA = (3.0 + 1) * 0.5  # what values are multiplied by after one visit

Network = Callable[[np.ndarray], Evaluation]


def made_up(num_actions: int) -> Network:
    """A network with fixed answers, each the same whatever else is asked."""

    def answer(observations: np.ndarray) -> Evaluation:
        flat = observations.reshape(len(observations), -1)
        weights = np.random.default_rng(2).normal(size=(flat.shape[1], 1 + num_actions))
        found = np.sin((flat[:, :, None] * weights).sum(axis=1)).astype(np.float32)
        return Evaluation.of_values(2 * found[:, 1:], 0.9 * found[:, 0])

    return answer


def beginnings(game: Game, plies: int) -> set[bytes]:
    """Every position that so many plies, or fewer, can lead to, without those that are final."""
    layer = {contents_of(each.state): each for each in map(game.start, range(300))}
    found = set(layer)
    for _ in range(plies):
        ways = [child for each in layer.values() for child in children(each).values()]
        layer = {contents_of(each.state): each for each in ways if not each.is_over}
        found |= set(layer)
    return found


def share_of(weights: dict[int, float], num_actions: int) -> np.ndarray:
    """The softmax of the actions' weights, 0 for other actions."""
    policy = np.zeros(num_actions)
    policy[list(weights)] = np.exp(list(weights.values()))
    return policy / policy.sum()


def targets(position: Position, network: Network) -> Iterator[tuple[np.ndarray, list[int]]]:
    """What one simulation may have found: policy targets, with the actions played after them."""
    mover, count = position.mover, position.game.num_actions

    def reward(child: Position) -> int | None:
        return child.rewards[mover] if child.is_over else None

    ways = children(position)
    wins = [action for action, child in ways.items() if reward(child) == 1]
    if wins:
        yield share_of({wins[0]: 0.0}, count), wins[:1]
        return
    known = network(position.observation()[None])
    logits = {action: float(known.logits[0, action]) for action in ways}
    for tried, child in ways.items():
        exact = reward(child)
        sign = 1 if child.mover == mover else -1
        if not child.is_over and any(
            each.is_over and each.rewards[child.mover] == 1 for each in children(child).values()
        ):
            exact = sign
        others = [action for action in ways if action != tried]
        if exact == 1:
            yield share_of({tried: 0.0}, count), [tried]
        elif exact == -1 and others:
            yield share_of({action: logits[action] for action in others}, count), others
        else:
            value = exact
            if value is None:
                value = sign * float(network(child.observation()[None]).values[0])
            untried = (float(known.values[0]) + value) / 2
            weights = {action: logits[action] + SIGMA * untried for action in others}
            yield share_of(weights | {tried: logits[tried] + SIGMA * value}, count), [tried]


def replayed(
    game: Game, samples: np.ndarray, found: Callable[[Position, np.ndarray], list[int]]
) -> bool:
    """Check one game's samples, in the order of play: each leads to the next, the last to the end.

    Args:
        game: the rules.
        samples: the samples.
        found: function from a position and its policy target to the actions that may follow.

    Returns:
        Whether only one result can follow.
    """
    results = {(int(each["outcome"]), int(each["score"])) for each in samples}
    assert len(results) == 1
    following: dict[bytes, Position] = {}
    for number, sample in enumerate(samples):
        position = Position.of_state(game, sample["state"])
        assert not position.is_over
        assert number == 0 or contents_of(position.state) in following
        every = children(position)
        ways = [every[action] for action in found(position, sample["policy"].astype(float))]
        following = {contents_of(each.state): each for each in ways}
    ends = {(each.outcome, each.score) for each in following.values() if each.is_over}
    assert results <= ends
    return len(ends) == 1


#: The game, whether each worker plays one game at a time, and random plies of openings. In Oddity a
#: player may move twice in a row, starts are random, and the longest openings end the game.
CASES: dict[str, tuple[Callable[[], Game], bool, int]] = {
    "oddity": (lambda: Oddity(max_plies=7), False, 7),
    "corso": (lambda: make_game("corso", size=3), False, 2),
    "corso, one at a time": (lambda: make_game("corso", size=3), True, 2),
}


@pytest.mark.parametrize("case", CASES)
def test_every_sample_is_what_the_account_says(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In chunks that are shorter than a game, by two workers, until each has played some games."""
    make, alone, opening_plies = CASES[case]
    game = make()
    network = made_up(game.num_actions)
    if alone:
        torch.manual_seed(3)
        fresh = build_network(network_shape(game), 8, 1)
        inputs = random_observations(game, 64, 0)
        network = inference_engine(game, fresh, 8, "compiled", calibration_inputs=inputs)
    numbers: list[np.ndarray] = []
    collect = WorkerGames.collect

    def spied(games: WorkerGames):
        played = collect(games)
        numbers.append(played[1])
        return played

    def found(position: Position, policy: np.ndarray) -> list[int]:
        fitting = [
            actions
            for target, actions in targets(position, network)
            if np.allclose(target, policy, rtol=1e-3, atol=1e-3)
        ]
        assert fitting, (position, policy)
        return [action for actions in fitting for action in actions]

    monkeypatch.setattr(WorkerGames, "collect", spied)
    config = SelfPlayConfig(games=24, positions=40, opening_plies=opening_plies, cache=1)
    self_play = SelfPlay(game, config, SETTINGS, 2, network)
    assert self_play.one_game_per_worker == alone
    searched, kept, hits, seen, clear, firsts = 0, 0, 0, set[int](), 0, []
    for seed in range(11, 23):
        numbers.clear()
        told = Told()
        result = self_play.play(SETTINGS, network, np.random.SeedSequence(seed), told)
        assert (
            sum(told.steps) == 40 <= result.counts["positions"] <= 40 + alone * (game.max_plies - 1)
        )
        plies = result.samples["state"]["ply"].astype(int)
        if alone:  # one after another
            games = len(seen) + np.cumsum(np.diff(plies, prepend=-2) != 1)
        else:
            games = np.concatenate(numbers)
        of_games = [np.flatnonzero(games == number) for number in np.unique(games)]
        for rows in of_games:
            clear += replayed(game, result.samples[rows], found)
            firsts.append(result.samples["state"][rows[0]])
        assert not seen & set(games)
        seen |= set(games.tolist())
        searched, kept = searched + result.counts["positions"], kept + len(result.samples)
        hits += result.counts["hits"]
        assert result.counts["simulations"] == result.counts["positions"]
        assert result.counts["games"] == len(of_games)
        assert result.counts["plies"] == sum(plies[rows[-1]] + 1 for rows in of_games)
    assert clear > 0.9 * len(seen) > 40
    assert hits > 20
    caches = [each.games.cache for each in self_play.worker_games]
    kept_bytes = sum(array.nbytes for each in caches for array in (each.sets, *each.answers))
    assert 0.9 < kept_bytes / 2**20 <= 1  # all workers' together
    assert searched == kept + sum(len(each.pending) for each in self_play.worker_games)
    if not alone:
        begun = {
            number
            for worker, each in enumerate(self_play.worker_games)
            for number in range(worker, int(each.games.next_number[0]), 2)
        }
        playing = {int(n) for each in self_play.worker_games for n in each.games.numbers}
        assert len(playing) == 24
        assert seen == begun - playing
    possible = beginnings(game, opening_plies)
    assert all(contents_of(first) in possible for first in firsts)
    assert {int(first["ply"]) for first in firsts} == set(range(min(opening_plies, 6) + 1))
    assert {int(first["mover"]) for first in firsts} == {0, 1}


def test_a_position_that_was_searched_before_it_came_up_has_the_networks_answer() -> None:
    game, network = make_game("corso", size=3), made_up(9)
    settings = SearchSettings(simulations=12, noise=1.0)
    self_play = SelfPlay(game, SelfPlayConfig(games=24, positions=200), settings, 1, network)
    self_play.play(settings, network, np.random.SeedSequence(5))
    tree = self_play.worker_games[0].games.tree
    answered = np.flatnonzero(tree.nodes["evaluated"][:, 0])
    assert len(answered) > 12
    for b in answered:
        position, root = Position.of_state(game, tree.states[b, 0]), tree.nodes[b, 0]
        known, edges = network(position.observation()[None]), tree.edges[b, : root["end"]]
        assert root["raw_value"] == pytest.approx((1 - 2 * position.mover) * known.values[0])
        np.testing.assert_array_equal(edges["logit"], known.logits[0, edges["action"]])


def test_every_sample_of_the_bootstrap_is_of_a_game_that_its_playouts_played() -> None:
    game = make_game("corso", size=3)
    settings = ["bootstrap={positions: 300, playouts: 4}", "self_play.opening_plies=2"]
    config = TinyRuns("corso/demo", ALPHAZERO).config(*settings)
    progress = Told()
    samples = bootstrap_samples(
        game, config, np.random.SeedSequence(4), sample_dtype(game), progress
    )
    told = progress.steps
    assert sum(told) == len(samples) >= 300

    def tried(position: Position, policy: np.ndarray) -> list[int]:
        assert (4 * policy == np.round(4 * policy)).all()
        assert policy.sum() == policy[position.legal_actions].sum() == 1
        return np.flatnonzero(policy).tolist()

    def goes_on(line: list[int], row: int) -> bool:
        now, then = (Position.of_state(game, samples["state"][each]) for each in (line[-1], row))
        ways = children(now)
        return any(ways[action] == then for action in tried(now, samples["policy"][line[-1]]))

    lines: list[list[int]] = []
    playing: list[list[int]] = []
    for end, count in zip(np.cumsum(told).tolist(), told, strict=True):
        rows = list(range(end - count, end))  # one for each game in play, in the games' order
        before, playing = playing, []
        for line in before:
            if rows and goes_on(line, rows[0]):
                line.append(rows.pop(0))
                playing.append(line)
        if rows:
            assert not playing
            playing = [[row] for row in rows]
            lines += playing
    clear = [replayed(game, samples[line], tried) for line in lines]
    assert sum(clear) > 0.6 * len(lines) > 30
    firsts = samples["state"][[line[0] for line in lines]]
    assert set(firsts["ply"]) == {0, 1, 2}
    assert len(np.unique(firsts)) > 12  # each round of games has openings of its own


def test_a_declared_field_is_in_samples_replay_and_batches_and_old_samples_have_its_default(
    monkeypatch,
) -> None:
    game = make_game("corso", size=3)

    def played() -> np.ndarray:
        self_play = SelfPlay(game, SelfPlayConfig(games=4, positions=40), SETTINGS, 1, made_up(9))
        return self_play.play(SETTINGS, made_up(9), np.random.SeedSequence(1)).samples

    def at_end(_: Game, samples: np.ndarray, ends: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return ends["ply"][rows] - samples["state"]["ply"]

    before = played()
    left = Field("left", lambda _: np.int32, -1, at_end, lambda _, samples, __: samples["left"])
    monkeypatch.setattr(declared, "FIELDS", (*declared.FIELDS, left))
    after, replay = played(), ReplayBuffer(sample_dtype(game), 100)
    assert set(after["left"] + after["state"]["ply"]) <= {5, 6, 7, 8, 9}
    replay.restore([(1, 10), (2, 9)], {1: after, 2: before}.__getitem__)
    batch = BatchMaker(game)(replay[np.arange(19)], np.random.default_rng(1))
    assert batch.targets["left"].tolist() == [*after["left"][-10:], *[-1] * 9]
    with pytest.raises(ValueError, match=r"another kind \(left\): take the version"):
        ReplayBuffer(before.dtype, 100).restore([(1, 10)], lambda _: after)
