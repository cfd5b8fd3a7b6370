"""One run that learns several sets of a game's options."""

from itertools import product

import numpy as np
import pytest

import ludarium.training.agents.checkpoints as checkpoints
from ludarium.envs import GAMES, make_game
from ludarium.models import load_checkpoint
from ludarium.training.agents import make_agent
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.alphazero.samples import sample_dtype
from ludarium.training.alphazero.variants import VariantPacker
from ludarium.training.networks import fitted
from ludarium.training.runs import trainer as runs_trainer
from ludarium.training.runs.evaluation import AgentEvaluation
from ludarium.training.runs.trainer import games_of
from tests.games import MORE_OPTIONS
from tests.tiny_runs import ALPHAZERO, TinyRuns

VARIANTS = "variants=[{options: {size: 2}, share: 3}, {options: {size: 3}}]"
RUNS = TinyRuns(
    "corso/demo",
    (*ALPHAZERO, "device=cpu", "backend=compiled", "network={channels: 8, blocks: 2}", VARIANTS),
)
tiny_config, trained = RUNS.config, RUNS.trained


def test_shares_are_divided_between_the_combinations():
    variants = "variants=[{options: {size: [2, 4]}, share: 3}, {options: {size: 3}}]"
    played = games_of(tiny_config(variants))
    assert [(game.options["size"], share) for game, share in played] == [
        (2, 0.375),
        (4, 0.375),
        (3, 0.25),
    ]
    one = games_of(tiny_config("variants=[]"))
    assert [(game.options["size"], share) for game, share in one] == [(3, 1.0)]


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("variants=[{options: {size: 3}}]", "variants: 1 sets of options"),
        ("variants=[{options: {size: [3, 3]}}]", "occurs twice"),
        ("variants=[{options: {size: [3, 99]}}]", "size"),
        ("variants=[{options: {size: [3, 4]}, share: 0}]", "share"),
        ("variants=[{options: {sise: [3, 4]}}]", "sise"),
        ("network={module: 'mine:Net'}", "network.module"),
    ],
)
def test_variants_that_cannot_be_are_refused_before_anything_is_made(tmp_path, setting, told):
    with pytest.raises(ValueError, match=told):
        trained(tmp_path / "run", setting)
    assert not (tmp_path / "run").exists()


def test_samples_of_all_games_come_back_from_one_buffer():
    games = [game for game, _ in games_of(tiny_config())]
    packer = VariantPacker(games, solved=True)
    rng = np.random.default_rng(1)
    packed, samples = [], []
    for number, game in enumerate(games):
        dtype = sample_dtype(game, solved=True)
        made = np.zeros(5 + number, dtype)
        for name in set(dtype.names) - {"state"}:
            made[name] = rng.integers(0, 2, made[name].shape)
        made["state"] = game.start().state
        samples.append(made)
        packed.append(packer.pack(number, made))
    order = rng.permutation(sum(map(len, packed)))
    records = np.concatenate(packed)[order]
    for number, found in enumerate(packer.unpack(records)):
        mine = records["game"] == number
        assert found.dtype == samples[number].dtype
        start = sum(map(len, packed[:number]))
        np.testing.assert_array_equal(found, samples[number][order[mine] - start])
    records["game"][0] = 7
    with pytest.raises(ValueError, match="game 7"):
        packer.unpack(records)


def test_any_part_of_an_iteration_has_the_games_in_their_proportions(tmp_path):
    """So the replay keeps these where it has forgotten a part."""
    replay = trained(tmp_path / "run").algorithm.replay
    games = replay[np.arange(replay.chunks[0][1])]["game"]
    for part in (games[: len(games) // 3], games[len(games) // 2 :]):
        expected = np.bincount(games) * len(part) / len(games)
        np.testing.assert_allclose(np.bincount(part), expected, atol=1)


def test_each_game_has_its_share_of_everything(tmp_path, monkeypatch):
    checked = []
    monkeypatch.setattr(runs_trainer, "check_resources", lambda *given: checked.append(given[1]))
    run = RUNS.begun(
        tmp_path / "run",
        "self_play={games: 40, positions: 102, cache: 8}",
        "bootstrap={positions: 30}",
        "budget.minutes=2",
    )
    shares = [
        (play.games, play.positions, play.cache, player.config.bootstrap.positions, minutes)
        for player in run.algorithm.actors.by_game
        for play, minutes in [(player.config.self_play, player.config.budget.minutes)]
    ]
    run.close()
    assert checked == [[game for game, _ in run.games]]
    assert shares == [(30, 76, 6, 22, 1.5), (10, 26, 2, 8, 0.5)]


def test_of_several_networks_the_largest_deviation_is_told(tmp_path):
    """By examples that are new games' at first, and then the replay's."""
    run = RUNS.begun(tmp_path / "run", "backend=compiled-int8")
    algorithm = run.algorithm
    assert [len(each) for each in algorithm.calibration_inputs()] == [512, 512]
    run.run()
    inputs, told = algorithm.calibration_inputs(), algorithm.publish()
    actors = algorithm.actors.by_game
    found = [each.engine.deviation(some) for each, some in zip(actors, inputs, strict=True)]
    for each, some in zip(actors, inputs, strict=True):
        np.testing.assert_array_equal(each.engine._calibration_inputs, some)
    run.close()
    assert sum(map(len, inputs)) == 1024
    assert 0.6 < len(inputs[0]) / 1024 < 0.9  # three of four positions
    largest = {
        f"{name}_deviation": max(getattr(each, name) for each in found)
        for name in ("policy", "value")
    }
    assert told == largest | {"backend": "compiled-int8"}
    assert found[0].policy != found[1].policy
    told = "cpu, 2 workers, network compiled-int8, 2 sets of options"
    assert run.algorithm.resources == told


def test_the_agent_plays_every_board_and_is_measured_on_its_own(tmp_path, monkeypatch):
    boards = []
    monkeypatch.setattr(AgentEvaluation, "of", lambda _, a, *__: boards.append(a.game.size) or {})
    trainer = trained(tmp_path / "run", "evaluation.every=1", iterations=1)
    assert boards == [3]
    path = trainer.folder.path / "agent.safetensors"
    checkpoint = load_checkpoint(path)
    assert [each["size"] for each in checkpoint.variants] == [2, 3]
    assert checkpoint.options == {"size": 3}
    for size, simulations in ((2, 0), (3, 4), (5, 4)):
        game = make_game("corso", size=size)
        agent = make_agent(f"{path}?simulations={simulations}", game)
        position = game.start()
        assert position.mask[agent.choose(position)]
        expected = NetworkAgent(game, fitted(checkpoint, game, "it").network, 0)
        found, wanted = (each.evaluate(position.states).logits for each in (agent, expected))
        np.testing.assert_allclose(found, wanted, atol=1e-3)
    with pytest.raises(ValueError, match="plays corso"):
        make_agent(str(path), make_game("onyx", size=6))


def test_an_agent_of_these_options_comes_before_one_of_many(tmp_path, monkeypatch):
    many = trained(tmp_path / "many", iterations=1).folder.path / "agent.safetensors"
    two = trained(tmp_path / "two", "options={size: 2}", "variants=[]", iterations=1)
    two = two.folder.path / "agent.safetensors"
    monkeypatch.setattr(checkpoints, "shipped_agents", lambda game: [two, many])
    found = {
        size: checkpoints.fitting_agent(make_game("corso", size=size)) for size in (2, 3, 4, 5)
    }
    assert found == {2: two, 3: many, 4: many, 5: many}
    assert checkpoints.shipped_agent("corso") == two
    assert checkpoints.selecting_options("corso") == {two: {"size": 2}, many: {"size": 3}}


@pytest.mark.parametrize("name", sorted(GAMES))
def test_every_set_of_options_has_an_agent_that_ships(name: str) -> None:
    listed = {
        option.name: list(option.accepts)
        for option in GAMES[name].option_list
        if isinstance(option.accepts, tuple | range) and len(option.accepts) < 20
    }
    sets = [dict(zip(listed, values, strict=True)) for values in product(*listed.values())]
    for options in [*sets, *MORE_OPTIONS.get(name, [])]:
        assert checkpoints.fitting_agent(make_game(name, **options)) is not None, options
