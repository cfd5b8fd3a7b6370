"""Configurations: shipped ones are good, bad ones are refused by key."""

from __future__ import annotations

import pytest

from ludarium.configs import apply_settings, load_config, shipped
from ludarium.configs.loading import parse_config
from ludarium.envs import GAMES, make_game


@pytest.mark.parametrize("name", shipped())
def test_shipped_configurations_are_valid_and_for_their_game(name):
    config = load_config(name)
    assert config.game == name.split("/")[0]
    make_game(config.game, **config.options)


def test_every_game_has_a_configuration_of_each_algorithm_and_corso_the_demo():
    assert "corso/demo" in shipped()
    for name in GAMES:
        assert load_config(f"{name}/default").algorithm == "alphazero"
        assert load_config(f"{name}/ppo").algorithm == "ppo"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 1", "game: missing"),
        ("game: corso\nnetwrok: {}", "netwrok: there is no such key"),
        ("game: corso\nlearner: {batch: 0}", r"learner\.batch: .*\(given 0\)"),
        ("game: corso\nlearner: {batch: many}", r"learner\.batch: .*\(given 'many'\)"),
        ("game: corso\nself_play: {simulations: []}", "self_play"),
        ("game: corso\nalgorithm: dqn", "algorithm: there is none called 'dqn'.*alphazero, ppo"),
        ("game: corso\nalgorithm: ppo\nself_play: {}", "self_play: there is no such key"),
        ("game: corso\nopponents: {}", "opponents: there is no such key"),
        ("game: corso\nnetwork: {size: huge}", r"network\.size: .*tiny.*small.*base.*'huge'"),
        ("game: corso\nnetwork: {size: tiny, blocks: 2}", "either size or channels and blocks"),
        ("game: corso\nnetwork: {channels: 32}", "channels and blocks go together"),
        ("game: corso\nalgorithm: ppo\nopponents: {current: 2}", r"opponents\.current: "),
        ("game: corso\nevaluation: {against: []}", r"evaluation\.against"),
        ("game: corso\nevaluation: {games: 7}", r"evaluation\.games: .*multiple of 2"),
        ("- a list", "no mapping"),
        ("a: [", "not YAML"),
        ("game: corso\noptions: 3", "options"),
    ],
)
def test_bad_configurations_are_refused_by_key(text, message):
    with pytest.raises(ValueError, match=message):
        parse_config(text, "some.yaml")


@pytest.mark.parametrize(
    ("text", "size", "numbers"),
    [
        ("", "small", (None, None)),
        ("network: {}", "small", (None, None)),
        ("network: {size: base}", "base", (None, None)),
        ("network: {channels: 8, blocks: 0}", None, (8, 0)),
    ],
)
def test_networks_have_a_name_or_numbers_and_keep_them(text, size, numbers):
    config = parse_config(f"game: corso\n{text}", "some.yaml")
    network = config.network
    assert (network.size, (network.channels, network.blocks)) == (size, numbers)
    assert apply_settings(config, ["seed=3"]).network == network


def test_settings_change_numbers_of_a_network_to_a_name_as_the_error_says():
    config = load_config("corso/demo")
    with pytest.raises(ValueError, match=r'--set "network=\{size: small\}"'):
        apply_settings(config, ["network.size=small"])
    assert apply_settings(config, ["network={size: small}"]).network.size == "small"


def test_a_file_that_is_not_there_is_refused_with_the_shipped_names():
    with pytest.raises(FileNotFoundError, match=r"nowhere\.yaml.*corso/demo"):
        load_config("nowhere.yaml")


def test_settings_change_single_keys(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("game: corso\nseed: 5\n")
    config = apply_settings(load_config(file), ["learner.batch=32", "options={size: 4}"])
    assert (config.seed, config.learner.batch, config.options) == (5, 32, {"size": 4})
    assert config.learner.replay_ratio == load_config(file).learner.replay_ratio


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("learner.batch", "write key=value"),
        ("nothing.batch=3", "'nothing' is no section"),
        ("learner.bath=3", r"learner\.bath: there is no such key"),
        ("seed=-1", "seed"),
        ("seed=[", "not YAML"),
    ],
)
def test_bad_settings_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        apply_settings(load_config("corso/demo"), [setting])
