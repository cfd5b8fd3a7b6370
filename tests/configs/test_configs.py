"""Configurations: shipped ones are good, bad ones are refused by key."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import time
from collections.abc import Iterator
from importlib.resources import files

import msgspec
import pytest
import yaml

from ludarium.configs import ALGORITHMS, apply_settings, load_config, shipped
from ludarium.configs.loading import parse_config, read_yaml, write_yaml
from ludarium.envs import GAMES
from ludarium.envs.one_side import MOST_OPENING_PLIES


def test_every_game_has_a_configuration_of_each_algorithm_and_corso_the_demo():
    assert "corso/demo" in shipped()
    for name in GAMES:
        assert load_config(f"{name}/default").algorithm == "alphazero"
        assert load_config(f"{name}/ppo").algorithm == "ppo"


DEFAULTS = {"alphazero": "7803c8a652592ba9", "ppo": "e8850e6a203352f6"}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_default_changes_only_knowingly(algorithm):
    """Old configurations would mean other runs; with a changed default, change the digest too."""
    values = msgspec.to_builtins(ALGORITHMS[algorithm](game="corso"))
    text = json.dumps(values, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == DEFAULTS[algorithm], text


@pytest.mark.parametrize("name", shipped())
def test_shipped_configurations_hold_only_what_differs_from_the_defaults(name):
    def repeated(given, default, place=""):
        if isinstance(given, dict) and isinstance(default, dict):
            parts = (repeated(given[key], default.get(key), f"{place}.{key}") for key in given)
            return list(itertools.chain(*parts))
        return [place] if given == default else []

    text = files("ludarium.configs").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    given = read_yaml(text, name)
    bare = {key: given.pop(key) for key in ("game", "algorithm") if key in given}
    default = parse_config(write_yaml(bare), name)
    assert repeated(given, msgspec.to_builtins(default)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 1", "some.yaml: missing required field `game`"),
        ("game: corso\nnetwrok: {}", "unknown field `netwrok`"),
        (
            "game: corso\nlearner: {batch: many}",
            r"learner\.batch is 'many'; accepted: a whole number",
        ),
        ("game: corso\nself_play: {simulations: []}", r"\[\].*; give a whole number, or pairs"),
        ("game: corso\nlearner: {learning_rate: 7}", r"is 7.*; give a number, or pairs \[pro"),
        (
            "game: corso\nlearner: {learning_rate: [[0.1, 0.002]]}",
            r"learner: learning_rate: the pairs start at progress 0 and ascend; give .*\[\[0,",
        ),
        ("game: corso\nalgorithm: dqn", "algorithm: there is none called 'dqn'.*alphazero, ppo"),
        ("game: corso\nalgorithm: ppo\nself_play: {}", "unknown field `self_play`"),
        ("game: corso\nopponents: {}", "unknown field `opponents`"),
        (
            "game: corso\nnetwork: {size: huge}",
            r"network\.size is 'huge'; accepted: base, small, tiny",
        ),
        ("game: corso\nnetwork: {size: tiny, blocks: 2}", "either size or channels and blocks"),
        ("game: corso\nnetwork: {channels: 32}", "channels and blocks go together"),
        *(
            (
                f"game: corso\nalgorithm: {algorithm}\n"
                f"{section}: {{opening_plies: {MOST_OPENING_PLIES + 1}}}",
                rf"opening_plies is {MOST_OPENING_PLIES + 1}; "
                rf"accepted: a whole number <= {MOST_OPENING_PLIES}$",
            )
            for algorithm, section in (("alphazero", "self_play"), ("ppo", "rollout"))
        ),
        ("game: corso\nevaluation: {against: []}", r"evaluation\.against"),
        ("game: corso\nevaluation: {against: [random, random]}", "an opponent occurs twice"),
        ("game: corso\nself_play: {keep_trivial: 0}", r"keep_trivial is 0; accepted: .* >= 0\.01"),
        ("game: corso\nreplay: {first: 5, last: 1}", "replay: first: 5 is more than last, 1"),
        (
            "game: corso\nevaluation: {games: 7}",
            r"evaluation\.games is 7; accepted: a whole number that's a multiple of 2",
        ),
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
    with pytest.raises(ValueError, match=r"as in network=\{size: small\}"):
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
        ("nothing.batch=3", "'nothing' is not a section"),
        ("self_play.prove=true", "contains unknown field `prove`: it is called solver"),
        ("learner.bath=3", r"learner: contains unknown field `bath`; did you mean batch\?"),
        (
            "variants=[{options: {size: 4}, sed: 2}]",
            r"variants\[0\]: contains unknown field `sed`$",
        ),
        ("algorithm=ppo", "begin with one whose algorithm is ppo"),
        ("seed=[", "not YAML"),
    ],
)
def test_bad_settings_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        apply_settings(load_config("corso/demo"), [setting])


_DOUBLING = "a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(40))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_DOUBLING, "anchors and aliases are not accepted.*line 1"),
        ("game: *corso", "anchors and aliases"),
        ("a: &a {b: *a}", "anchors and aliases"),
        ("game: !!python/object/apply:os.system [true]", "tags are not accepted"),
        ("seed: !!int ''", "tags are not accepted"),
        ("#" * 50_000_000, "50,000,000 characters; at most 65,536 are allowed"),
        ("[" * 60_000, "nested more than"),
        ("a: " * 20_000, "not YAML"),
        ("game: corso\noptions: [" + "1," * 30_000 + "]", "more than 3,000 keys and values"),
        ("game: corso\nalgorithm: [ppo]", r"algorithm: there is none called \['ppo'\]"),
        ("game: corso\nalgorithm: {ppo: 1}", "algorithm: there is none called"),
        ("game: corso\n? [1]\n: 2", "not YAML"),
        ("game: corso\n7: 2", "some.yaml: "),
        ("game: corso\nseed: 0x_", "seed is '0x_'; accepted: a whole number"),
        ('game: corso\ndevice: "\\UFFFFFFFF"', "not YAML"),
        ("game: corso\nseed: " + "9" * 60_000, "seed: |not YAML"),
        (
            "game: corso\nseed: true",
            "seed is True; accepted: a whole number",
        ),
        ("game: corso\nseed: 2001-12-14", "seed is '2001-12-14'"),
        ("game: " + "x" * 60_000, "game is .*length <= 1000"),
        ("game: corso\ngame: onyx", "a key occurs twice.*line 1"),
        ('game: corso\n"\\e[31m": 1', r"unknown field `\\x1b\[31m`"),
        (
            "game: corso\nevaluation: {against: [1]}",
            r"evaluation\.against\[0\] is 1; accepted: a text",
        ),
        (
            "game: corso\nself_play: {simulations: [[0, 8], [0, 9]]}",
            "start at progress 0 and ascend",
        ),
        ("game: corso\nself_play: {simulations: [[0, .inf]]}", r"simulations\[0\]\[1\] is inf"),
        ("game: corso\nself_play: {algorithm: puct, noise: 2}", "noise: 2 is more than 1"),
        ("game: corso\nalgorithm: ppo\nrollout: {games: 3, steps: 3}\nlearner: {batch: 4}", "one"),
        (
            "game: corso\nalgorithm: ppo\nlearner: {batch: 1}",
            r"learner\.batch is 1; accepted: a whole number >= 2",
        ),
    ],
    ids=range(27),
)
def test_hostile_configurations_are_refused_in_one_short_line_at_once(text, message):
    begin = time.process_time()
    with pytest.raises(ValueError, match=message) as caught:
        parse_config(text, "some.yaml")
    assert time.process_time() - begin < 2
    assert len(str(caught.value)) <= 400
    assert str(caught.value).isprintable()


def _numbers(section: dict, path: str = "") -> Iterator[str]:
    """The keys of a configuration whose values are numbers, or may be."""
    for key, value in section.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{path}{key}.")
        elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield path + key


_NUMBERS = [
    (algorithm, key)
    for algorithm, kind in ALGORITHMS.items()
    for key in _numbers(msgspec.to_builtins(kind(game="corso")))
    if key not in ("network.size", "network.module", "start")
]


@pytest.mark.parametrize(("algorithm", "key"), _NUMBERS)
@pytest.mark.parametrize("value", [".inf", "-.inf", ".nan", "1.0e+30", "1" * 30, "-1"])
def test_every_number_has_a_range_that_its_error_names(algorithm, key, value):
    config = parse_config(f"game: corso\nalgorithm: {algorithm}", "some.yaml")
    with pytest.raises(ValueError, match=rf"{key} is .*; accepted: a"):
        apply_settings(config, [f"{key}={value}"])


def test_a_configuration_is_read_from_a_regular_file_of_some_size(tmp_path):
    (tmp_path / "large.yaml").write_text("#" * 70_000)
    with pytest.raises(ValueError, match="70,000 bytes; a configuration has at most 65,536"):
        load_config(tmp_path / "large.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"bytes\.yaml is not UTF-8"):
        load_config(tmp_path / "bytes.yaml")
    for wrong in ("options: {size: 77}", "variants: [{options: {size: [5, 77]}}]"):
        (tmp_path / "options.yaml").write_text(f"game: corso\n{wrong}\n")
        with pytest.raises(ValueError, match=r"options\.yaml: option 'size' is 77; accepted"):
            load_config(tmp_path / "options.yaml")
    (tmp_path / "half.yaml").write_text('game: corso\n"\\ud800": 3\n')
    with pytest.raises(ValueError, match=r"half\.yaml has the key '\\ud800', which is no text"):
        load_config(tmp_path / "half.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3), ("1.5e3", 1500.0), ("-.5e2", -50.0), ("+2.", 2.0), ("-.inf", -math.inf),
        ("010", 10), ("-3", -3), ("0x10", 16), ("0o17", 15),
        ("1:30", "1:30"), ("1_000", "1_000"), (".", "."),
    ],
)  # fmt: skip
def test_numbers_are_those_of_yaml_1_2(text, value):
    found = read_yaml(f"key: {text}", "it")["key"]
    assert (found, type(found)) == (value, type(value))


def test_other_readers_of_yaml_are_left_alone():
    assert yaml.safe_load("key: 08") == {"key": "08"}
    assert yaml.safe_dump({"key": "08"}) == "key: 08\n"


@pytest.mark.parametrize(
    "value", ["08", "1.5e3", "-.5", "1:30", "0o17", "0b1", "yes", 8, 0.5, None]
)
def test_what_is_written_is_read_back(value):
    found = read_yaml(write_yaml({"key": value}), "it")["key"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("value", ["{1: 2}", ".inf", "[.nan]"])
def test_options_that_a_run_could_not_keep_are_refused(value):
    text = f"game: corso\nalgorithm: alphazero\nnetwork: {{module: 'a:B', mine: {value}}}"
    with pytest.raises(ValueError, match=r"network: mine: .*JSON, which cannot hold this value"):
        parse_config(text, "it")


@pytest.mark.parametrize(
    "value",
    [
        "runs/\U0001f600",
        "\U0001d538\u00e9\ufeff\x7f\u2028",
        "a\udcffb",
        {"\U0001f600": [1, "\U0001f601"]},
    ],
)
def test_json_is_read_as_it_was_written(value):
    """Also characters that JSON writes as two surrogates, and those of a name that is no UTF-8."""
    assert read_yaml(json.dumps(value), "a value") == value
    config = apply_settings(load_config("corso/demo"), [f"start={json.dumps(str(value))}"])
    assert config.start == str(value)
    assert parse_config(json.dumps(msgspec.to_builtins(config)), "a state") == config
