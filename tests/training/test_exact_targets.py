"""Exact targets of self-play, beside values from a search of one's own that knows no shortcut."""

from functools import cache
from importlib.metadata import EntryPoints

import msgspec
import numpy as np
import pytest

from ludarium.configs.schema import SelfPlayConfig
from ludarium.envs import Game, make_game
from ludarium.envs.engine.position import Position
from ludarium.models import Evaluation
from ludarium.training import exact_values
from ludarium.training.alphazero.exact import ALL_EQUAL, CHOICE, UNSOLVED, ExactTargets
from ludarium.training.alphazero.samples import BatchMaker, sample_dtype
from ludarium.training.alphazero.self_play import SelfPlay, SelfPlayResult
from ludarium.training.search.settings import SearchSettings
from tests.games import changed, children

SETTINGS = SearchSettings(simulations=8, noise=1.0)
ENOUGH = 1_000_000


def know_nothing(observations):
    """A network whose answers are all the same."""
    count, cells = len(observations), observations.shape[-1] * observations.shape[-2]
    return Evaluation.of_values(np.zeros((count, cells), np.float32), np.zeros(count, np.float32))


def self_play(solve: int, threads: int = 1, **given) -> SelfPlayResult:
    """A chunk of games of Corso, with exact targets if ``solve`` is above 0."""
    game = make_game("corso", size=3)
    config = SelfPlayConfig(games=24, positions=900, opening_plies=2, solve=solve, **given)
    seed = np.random.SeedSequence(3)
    dtype = sample_dtype(game, solved=solve > 0)
    self_play = SelfPlay(game, config, SETTINGS, threads, know_nothing, dtype)
    return self_play.play(SETTINGS, know_nothing, seed)


def ends_of_games(game: Game, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples of the last three positions of random games, and the game of each."""
    rng = np.random.default_rng(2)
    states, games = [], []
    for number in range(count):
        position = game.start(number)
        line = []
        while not position.is_over:
            line.append(position.states.copy())
            position.play(int(rng.choice(position.legal_actions)))
        states += line[-3:]
        games += [number] * len(line[-3:])
    samples = np.zeros(len(states), sample_dtype(game, solved=True))
    samples["state"] = np.concatenate(states)
    samples["policy"] = 1
    return samples, np.array(games)


@cache
def value_of(position_bytes: bytes, size: int) -> int:
    """What a position of Corso is worth to its mover, by trying every line of play to the end."""
    game = make_game("corso", size=size)
    position = Position.of_state(game, np.frombuffer(position_bytes, game.state_dtype))
    if position.is_over:
        return int(np.sign(position.rewards[position.mover]))
    return max(values_of(position).values())


def values_of(position: Position) -> dict[int, int]:
    """What each action is worth to the mover."""
    found = {}
    for action, child in children(position).items():
        child = changed(child, ply=0)  # which does not matter, so that values are found once
        value = value_of(child.states.tobytes(), child.game.size)
        found[action] = value if child.mover == position.mover else -value
    return found


@pytest.fixture(scope="module")
def plain():
    """Samples of self-play that no search has corrected."""
    return self_play(0).samples


def test_targets_are_those_of_a_search_of_every_line(plain):
    samples = self_play(ENOUGH).samples
    assert len(samples) == len(plain)
    np.testing.assert_array_equal(samples["state"], plain["state"])  # the games are the same
    assert set(samples["solved"]) == {CHOICE, ALL_EQUAL}
    game = make_game("corso", size=3)
    for sample, before in zip(samples[::7], plain[::7], strict=True):
        position = Position.of_state(game, sample["state"])
        values = values_of(position)
        best = max(values.values())
        assert sample["outcome"] == (0, 1, 2)[best * (1 - 2 * position.mover)]
        optimal_actions = {action for action, value in values.items() if value == best}
        if sample["solved"] == CHOICE:
            assert len(optimal_actions) < len(values)
            assert set(np.flatnonzero(sample["policy"])) == optimal_actions
            assert set(sample["policy"]) == {0, 1}
        else:
            assert len(optimal_actions) == len(values)
            np.testing.assert_array_equal(sample["policy"], before["policy"])


def test_draws_are_values_too():
    """On an even board a game may be drawn; only then is the outcome that of a draw."""
    game = make_game("corso", size=4)
    samples, games = ends_of_games(game, 60)
    ExactTargets(game, 2000).correct(samples, games, 0)
    drawn = 0
    for sample in samples[samples["state"]["open_cells"] <= 3]:
        position = Position.of_state(game, sample["state"])
        best = max(values_of(position).values())
        drawn += best == 0
        assert sample["outcome"] == (3, 1, 2)[best * (1 - 2 * position.mover)]
    assert drawn


def test_what_takes_too_long_keeps_its_targets_but_learns_the_result_of_the_rest(plain):
    """With a small limit the end of each game is solved; games are told apart by their ply."""
    game = make_game("corso", size=3)
    config = SelfPlayConfig(games=1, positions=120, opening_plies=0, solve=30)

    def played(solve: int) -> np.ndarray:
        dtype = sample_dtype(game, solved=True)
        given = msgspec.structs.replace(config, solve=solve)
        seed = np.random.SeedSequence(5)
        self_play = SelfPlay(game, given, SETTINGS, 1, know_nothing, dtype)
        return self_play.play(SETTINGS, know_nothing, seed).samples

    samples, before = played(30), played(1)
    assert {UNSOLVED, CHOICE} <= set(samples["solved"])
    starts = np.flatnonzero(samples["state"]["ply"] == 0)
    assert len(starts) > 3
    for rows in np.split(np.arange(len(samples)), starts[1:]):
        ofgame = samples[rows]
        solved = ofgame["solved"] != UNSOLVED
        first = int(solved.argmax()) if solved.any() else len(rows)
        assert solved[first:].all()
        assert not solved[:first].any()
        early = rows[:first]
        np.testing.assert_array_equal(samples["policy"][early], before["policy"][early])
        if solved.any():
            assert (ofgame["outcome"][:first] == ofgame["outcome"][first]).all()


def test_what_is_found_does_not_depend_on_the_threads():
    game = make_game("corso", size=3)
    samples = self_play(1).samples
    games = np.cumsum(np.random.default_rng(1).random(len(samples)) < 0.2)
    found = []
    for threads in (1, 3):
        corrected = samples.copy()
        corrected["solved"] = UNSOLVED
        kept = ExactTargets(game, 40, 0.5).correct(corrected, games, 7, threads)
        found.append((corrected, kept))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert UNSOLVED in found[0][0]["solved"]


def test_decided_positions_may_be_left_out_and_only_these():
    everything, some = self_play(ENOUGH), self_play(ENOUGH, keep_trivial=0.25)
    chosen = [result.samples["solved"] for result in (everything, some)]
    assert (chosen[0] == CHOICE).sum() == (chosen[1] == CHOICE).sum()
    share = (chosen[1] == ALL_EQUAL).sum() / (chosen[0] == ALL_EQUAL).sum()
    assert 0.15 < share < 0.35
    assert everything.counts["solved"] == some.counts["solved"] == len(chosen[0])
    assert some.counts == everything.counts


def test_a_batch_counts_decided_positions_for_those_that_are_left_out():
    game = make_game("corso", size=3)
    samples = self_play(ENOUGH, keep_trivial=0.25).samples
    batch = BatchMaker(game, 0.25)(samples, np.random.default_rng(0))
    decided = samples["solved"] == ALL_EQUAL
    is_choice = batch.targets["solved"] == CHOICE
    np.testing.assert_array_equal(is_choice, samples["solved"] == CHOICE)
    np.testing.assert_allclose(batch.weights.mean(), 1, rtol=1e-5)
    assert batch.weights.dtype == np.float32
    np.testing.assert_allclose(
        batch.weights[decided].mean() / batch.weights[~decided].mean(), 4, rtol=1e-5
    )
    certain = np.abs(batch.targets["outcome"][:, 0] - batch.targets["outcome"][:, 2])
    np.testing.assert_array_equal(certain, 1)
    np.testing.assert_array_equal(
        (batch.targets["policy"] > 0).sum(axis=1)[is_choice],
        samples["policy"].astype(bool).sum(axis=1)[is_choice],
    )
    unsolved = BatchMaker(game)(self_play(0).samples, np.random.default_rng(0))
    assert (unsolved.targets["solved"] == UNSOLVED).all()
    np.testing.assert_array_equal(unsolved.weights, 1)


def test_without_a_source_of_exact_values_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setattr(exact_values, "entry_points", lambda **_: EntryPoints())
    with pytest.raises(ImportError, match=r"self_play\.solve needs .* leave self_play\.solve out"):
        ExactTargets(make_game("corso", size=3), 10)
