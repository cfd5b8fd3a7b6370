from __future__ import annotations

import json
import math
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludarium.arena import calibration
from ludarium.arena.adaptive import AdaptiveAgent, OpponentEstimate
from ludarium.arena.calibration import calibrate, check_steps
from ludarium.arena.ladder import (
    RANDOM_STRENGTH,
    Ladder,
    LevelMatch,
    ladder_beside,
    load_ladder,
    rate_levels,
    save_ladder,
)
from ludarium.arena.level import LevelAgent
from ludarium.arena.level_params import LevelParams, params_at, strongest
from ludarium.base.files import sha256_of_file
from ludarium.cli import main
from ludarium.configs.schema import NetworkConfig
from ludarium.envs import GAMES, Game, make_game
from ludarium.envs.single import SingleAgentEnv
from ludarium.models import Checkpoint, save_checkpoint
from ludarium.models.network import PolicyValueNetwork
from ludarium.training.agents import RandomAgent, make_agent, read_agent
from ludarium.training.agents.checkpoints import PocketSpec, shipped_agents
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.evaluation import IntervalEstimate, MatchResult, expected_score, play_match
from ludarium.training.networks import fresh_network
from tests.checkpoints import LADDERS, tiny_checkpoint
from tests.games import children, random_positions, states_of
from tests.progress import Told
from tests.tictactoe import TicTacToe


@pytest.mark.parametrize("name", GAMES)
def test_pocket_agents_are_small_and_reach_the_sixth_level(name: str) -> None:
    path = PocketSpec(game=name).checkpoint_path({})
    ladder = load_ladder(ladder_beside(path))
    assert ladder.agent == sha256_of_file(path)
    assert path.stat().st_size <= 4 * 130_000  # the weights are float32 there
    shipped = next(path for path in LADDERS if path.name.startswith(name))
    sixth = load_ladder(shipped).levels[5]
    assert ladder.levels[-1].rating.value >= sixth.rating.value
    assert read_agent(f"pocket:{name}:8").make(make_game(name), 1).name == f"pocket:{name}:8"


@pytest.fixture(scope="module")
def game() -> Game:
    return make_game("corso", size=3)


@pytest.fixture(scope="module")
def network(game: Game) -> PolicyValueNetwork:
    return fresh_network(game, NetworkConfig(channels=2, blocks=1))


@pytest.fixture(scope="module")
def checkpoint(game: Game, network: PolicyValueNetwork) -> Checkpoint:
    return tiny_checkpoint(game, channels=2, network=network)


def a_ladder(game: Game, agent: str = "0" * 64, simulations: int = 32) -> Ladder:
    """Eight levels, some 110 Elo points apart, as if they had been measured."""
    strengths = np.linspace(0.5, strongest(simulations), 8).round(3).tolist()
    matches = [LevelMatch(n, n - 1, MatchResult(130, 0, 70)) for n in range(1, 9)]
    return Ladder(
        game=game.name,
        version=game.version,
        options=dict(game.options),
        agent=agent,
        date="2026-01-01",
        seed=1,
        seconds=2.5,
        simulations=simulations,
        levels=rate_levels(strengths, matches, simulations),
        matches=tuple(matches),
    )


def open_states(game: Game, count: int) -> np.ndarray:
    """Positions of random games that go on."""
    positions = [each for each in random_positions(game, 4 * count) if not each.is_over]
    return states_of(positions[:count])


# Parameters and the choice of a move.


def test_the_path_goes_from_random_play_to_the_whole_agent() -> None:
    top = strongest(256)
    path = [params_at(each, 256) for each in np.linspace(-3, top, 50).tolist()]
    for weaker, stronger in pairwise(path):
        assert weaker.temperature > stronger.temperature
        assert weaker.simulations <= stronger.simulations
        assert weaker.max_value_loss >= stronger.max_value_loss
        assert weaker.win_detection_prob <= stronger.win_detection_prob
    assert path[-1] == LevelParams(simulations=256, temperature=0, max_value_loss=0, logit_noise=0)
    assert path[0].temperature > 10
    assert not path[0].win_detection_prob
    top_temperature = 2.0 ** (1 - top)
    for temperature, prob in ((0.99, 1), (1.5, 0.5), (2.01, 0)):  # wins are overlooked late
        strength = 1 - math.log2(temperature + top_temperature)
        assert params_at(strength, 256).win_detection_prob == pytest.approx(prob, abs=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"simulations": 0},
        {"simulations": 10**6},
        {"simulations": 16.0},
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"max_value_loss": True},
        {"logit_noise": "1"},
        {"win_detection_prob": 1.5},
        {"win_detection_prob": True},
    ],
)
def test_parameters_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LevelParams(**{"simulations": 16, **wrong})


def test_positions_get_the_same_moves_one_by_one_and_together(
    game: Game, network: PolicyValueNetwork
) -> None:
    params = replace(params_at(1.0, 16), logit_noise=1.0, win_detection_prob=0.5)
    agent = LevelAgent(game, network, params, seed=3)
    states = open_states(game, 40)
    together = agent.actions(states)
    agent.restart(3)
    one_by_one = [int(agent.actions(states[index : index + 1])[0]) for index in range(len(states))]
    assert together.tolist() == one_by_one
    agent.restart(4)
    assert together.tolist() != agent.actions(states).tolist()


def test_a_network_of_another_game_is_refused(network: PolicyValueNetwork) -> None:
    with pytest.raises(ValueError, match=r"\[5, 3, 3\] and 9 actions, .*size=5.* 25: take"):
        LevelAgent(make_game("corso", size=5), network, LevelParams(8))


def test_no_positions_get_no_moves(game: Game, network: PolicyValueNetwork) -> None:
    agent = LevelAgent(game, network, LevelParams(8, temperature=1.0))
    assert agent.search(game.start(0).states[:0]).actions.shape == (0,)


def test_finished_games_get_no_move(game: Game, network: PolicyValueNetwork) -> None:
    agent = LevelAgent(game, network, params_at(1.0, 16), seed=3)
    over = random_positions(game, 10)[-1].states
    assert agent.actions(over).tolist() == [-1]


def test_wins_at_once_are_found_from_a_strength_on(game: Game, network: PolicyValueNetwork) -> None:
    states, wins = [], []
    for position in random_positions(game, 400, seed=5):
        after = {} if position.is_over else children(position)
        won = {
            action
            for action, child in after.items()
            if child.is_over and child.rewards[position.mover] > 0
        }
        if won and len(won) < len(after):
            states.append(position.states)
            wins.append(won)
    assert len(states) >= 10
    agent = LevelAgent(game, network, params_at(3.0, 16), seed=1)
    found = agent.actions(np.concatenate(states))
    assert all(action in won for action, won in zip(found.tolist(), wins, strict=True))
    agent.adjust(params_at(-3.0, 16))
    missed = agent.actions(np.concatenate(states))
    assert not all(action in won for action, won in zip(missed.tolist(), wins, strict=True))


def test_the_strongest_level_plays_as_the_trained_agent(
    game: Game, network: PolicyValueNetwork
) -> None:
    states = open_states(game, 30)
    level = LevelAgent(game, network, params_at(strongest(32), 32))
    whole = NetworkAgent(game, network, 32, backend="compiled-int8")
    assert level.actions(states).tolist() == whole.actions(states).tolist()


# The ladder and its file.


def test_a_ladder_is_read_as_it_was_written(game: Game, tmp_path: Path) -> None:
    ladder = a_ladder(game)
    save_ladder(ladder, tmp_path / "mine.json")
    assert ladder == load_ladder(tmp_path / "mine.json") is load_ladder(tmp_path / "mine.json")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", 1, "format is 1"),
        ("levels", [], r"levels is \[\].*length >= 2"),
        ("levels", "all", "levels is 'all'"),
        ("simulations", 10**9, "simulations is 1000000000"),
        ("simulations", 16, "more than the 16"),
        ("agent", "a\nb", "agent is"),
        ("options", [], "options is"),
        ("seconds", -1, "seconds is -1"),
        ("matches", [(2, 1, 0, 0, 0)], "wins, draws and losses"),
        ("matches", [(1, 2, 5, 0, 5)], "levels"),
        ("matches", [(99, 1, 5, 0, 5)], "level 99"),
    ],
)
def test_a_file_that_holds_no_ladder_is_refused(
    game: Game, tmp_path: Path, key: str, value: Any, message: str
) -> None:
    path = tmp_path / "bad.json"
    save_ladder(a_ladder(game), path)
    stored = json.loads(path.read_text())
    if key == "matches":
        names = "wins", "draws", "losses"
        value = [
            {"upper": upper, "lower": lower, "result": dict(zip(names, results, strict=True))}
            for upper, lower, *results in value
        ]
    (stored if key == "format" else stored["ladder"])[key] = value
    path.write_text(json.dumps(stored))
    with pytest.raises(ValueError, match=message) as caught:
        load_ladder(path)
    assert "bad.json" in str(caught.value)


def test_a_file_with_the_old_word_is_refused_with_the_new_one(game: Game, tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    save_ladder(a_ladder(game), path)
    path.write_text(path.read_text().replace('"params"', '"knobs"').replace(":4,", ":3,", 1))
    with pytest.raises(ValueError, match="knobs are called params now; measure levels anew"):
        load_ladder(path)


def test_a_level_that_its_matches_do_not_make_is_refused(game: Game, tmp_path: Path) -> None:
    path = tmp_path / "bent.json"
    save_ladder(a_ladder(game), path)
    stored = json.loads(path.read_text())
    level, result = stored["ladder"]["levels"][3], stored["ladder"]["matches"][3]["result"]
    for part in (level, level["params"], level["rating"], result):
        for key, value in part.items():
            if isinstance(value, int | float):
                part[key] = value + 1 if type(value) is int else value * 0.99
                path.write_text(json.dumps(stored))
                with pytest.raises(ValueError, match=r"bent.json is damaged: level \d is"):
                    load_ladder(path)
                part[key] = value


def test_levels_in_the_wrong_order_are_refused(game: Game) -> None:
    ladder = a_ladder(game)
    with pytest.raises(ValueError, match="increase in strength"):
        replace(ladder, levels=ladder.levels[::-1])
    levels = [replace(each, rating=ladder.levels[0].rating) for each in ladder.levels]
    with pytest.raises(ValueError, match="increase in Elo points"):
        replace(ladder, levels=levels)


def test_words_are_spread_over_the_levels(game: Game) -> None:
    ladder = a_ladder(game)
    assert ladder.words["beginner"] == ladder.number("1") == 1
    assert ladder.words["strongest"] == ladder.number("8") == 8
    assert list(ladder.words.values()) == sorted(ladder.words.values())
    assert ladder.number("0001") == 1
    for wrong in ("0", "00", "9", "000000011", "1" * 40, "", "genius", "²", "٣"):
        with pytest.raises(ValueError, match=r"there is no level.*accepted: 1 to 8"):
            ladder.number(wrong)


def test_strengths_between_levels_follow_their_ratings(game: Game) -> None:
    ladder = a_ladder(game)
    third, fourth = ladder.levels[2], ladder.levels[3]
    assert ladder.scale.strength_at(third.rating.value) == pytest.approx(third.strength)
    middle = (third.rating.value + fourth.rating.value) / 2
    assert third.strength < ladder.scale.strength_at(middle) < fourth.strength
    assert ladder.scale.strength_at(-500) == RANDOM_STRENGTH
    assert ladder.scale.strength_at(5000) == ladder.levels[-1].strength


# Levels by name.


def test_a_ladder_of_ones_own_names_levels(
    game: Game, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    agent = save_checkpoint(checkpoint, tmp_path / "mine.safetensors")
    save_ladder(a_ladder(game, sha256_of_file(agent)), tmp_path / "mine.json")
    settings = f"ladder={tmp_path / 'mine.json'}&agent={agent}"
    assert read_agent(f"level:hard?{settings}").choose_game({}) == game
    assert read_agent(f"level:hard?agent={agent}").choose_game({}) == game
    weak, strong = (make_agent(f"level:{each}?{settings}", game, 1) for each in ("1", "strongest"))
    assert isinstance(weak, LevelAgent)
    assert isinstance(strong, LevelAgent)
    assert weak.params.temperature > strong.params.temperature == 0
    assert isinstance(make_agent(f"level:auto?{settings}", game), AdaptiveAgent)
    with pytest.raises(ValueError, match=r"elo of level:auto is 0 to 10,000, not 10000\.5"):
        make_agent(f"level:auto?{settings}&elo=10000.5", game)
    result = play_match(game, weak, f"level:auto?{settings}", 4, seed=1)
    assert len(result) == 4


def test_a_ladder_of_another_agent_is_refused(
    game: Game, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    agent = save_checkpoint(checkpoint, tmp_path / "mine.safetensors")
    save_ladder(a_ladder(game), tmp_path / "other.json")
    settings = f"ladder={tmp_path / 'other.json'}&agent={agent}"
    with pytest.raises(ValueError, match="measured with another agent than mine"):
        make_agent(f"level:2?{settings}", game)
    with pytest.raises(ValueError, match="not of version 0 of Corso"):
        make_agent(f"level:2?{settings}", make_game("corso", size=4))
    save_ladder(replace(a_ladder(game), version=7), tmp_path / "other.json")
    with pytest.raises(ValueError, match="are of corso version 7 with the options"):
        make_agent(f"level:2?{settings}", game)


@pytest.mark.parametrize("name", ["level", "level:", "level:most", "level:-1", "level:1?elo=3"])
def test_what_names_no_level_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"a level is|elo is a setting"):
        read_agent(name)


def test_where_only_a_game_is_named_it_is_that_of_the_shipped_agent() -> None:
    assert read_agent("level:2").choose_game({}, "onyx").options["size"] == 6
    assert read_agent("endgame:random").choose_game({}, "onyx") == make_game("onyx")


def test_options_without_levels_say_how_to_get_them() -> None:
    with pytest.raises(FileNotFoundError, match="ludarium levels corso"):
        make_agent("level:1", make_game("corso", size=3))
    with pytest.raises(
        FileNotFoundError, match=r'levels tictactoe --measure --agent RUN`.*&agent=RUN"'
    ):
        make_agent("level:1", TicTacToe())


# Calibration.


class Scale:
    """A runner whose players' results follow a known curve of Elo points by strength."""

    games = 2000

    def __init__(self, whole: float) -> None:
        self.random = np.random.default_rng(1)
        self.whole = whole

    def elo(self, strength: float) -> float:
        return self.whole / (1 + np.exp(-(strength - 3)))

    def play(self, upper: float, lower: float, games: int, title: str) -> MatchResult:
        wins = int(self.random.binomial(games, expected_score(self.elo(upper) - self.elo(lower))))
        return MatchResult(wins, 0, games - wins)


@pytest.mark.parametrize(
    ("whole", "levels", "fewest"), [(1200, None, 8), (470, None, 8), (1200, 5, 5)]
)
def test_levels_are_placed_at_even_steps(whole: float, levels: int | None, fewest: int) -> None:
    runner: Any = Scale(whole)
    survey = calibration._survey(runner, 9.0)
    step = calibration._step(survey, levels)
    strengths, steps = calibration._place(runner, survey, 9.0, step, levels)
    elo = np.array([runner.elo(each) for each in strengths])
    assert levels in (None, len(elo))
    assert len(elo) >= fewest
    assert np.diff(elo) == pytest.approx(step, rel=0.35)
    assert (steps[0].upper, steps[0].lower) == (1, 0)
    first = elo[0] - runner.elo(RANDOM_STRENGTH)
    assert 0.55 < expected_score(first) < 0.65  # whoever plays at random wins at times


def test_steps_are_checked_by_each_level_against_the_one_below(
    game: Game, network: PolicyValueNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "MatchRunner", lambda *_, **__: Scale(1200))
    found = check_steps(game, network, a_ladder(game), games=400)
    assert [(each.upper, each.lower) for each in found] == [(n + 1, n) for n in range(1, 8)]
    assert all(each.result.score.value > 0.5 for each in found)
    assert calibrate(game, network, "0" * 64, seed=7).seed == 7


class Script:
    """A runner that plays no games, but has given scores, in percent, of matches of each kind."""

    games = 200

    def __init__(self, **scores: list[int]) -> None:
        self.scores = scores

    def play(self, upper: float, lower: float, games: int, title: str) -> MatchResult:
        wins = self.scores["first" if title == "level 2 against 1" else "other"].pop(0)
        return MatchResult(wins * games // 100, 0, games - wins * games // 100)


@pytest.mark.parametrize(
    ("tries", "kept", "left"),
    [([55, 66, 64], 66, [64]), ([55, 80, 58, 52, 81, 79, 56, 50], 58, [])],
)
def test_a_level_that_is_added_is_tried_until_both_its_steps_are_even(
    tries: list[int], kept: int, left: list[int]
) -> None:
    runner: Any = Script(first=[80, *tries], other=[64] * 100)
    survey = calibration.Scale([RANDOM_STRENGTH, 1.0, 9.0], [0.0, 50, 1200])
    above = calibration._Placed(3.0, MatchResult(130, 0, 70))
    found = calibration._even_out(runner, survey, 1.0, 9.0, [above], 0.65)
    assert [each.result.score.value for each in found] == [0.65, 0.64, kept / 100]
    assert found[0] == above
    assert found[-1].strength == 1.0
    assert runner.scores["first"] == left


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("whole", [0.0, 60.0])
def test_an_agent_like_random_play_is_refused(
    game: Game,
    checkpoint: Checkpoint,
    monkeypatch: pytest.MonkeyPatch,
    levels: int | None,
    whole: float,
) -> None:
    monkeypatch.setattr(calibration, "MatchRunner", lambda *_: Scale(whole))
    with pytest.raises(ValueError, match="the agent is hardly stronger than random play"):
        calibrate(game, checkpoint.network, "0" * 64, levels=levels)


def test_a_calibration_is_repeated_by_its_seed(game: Game, checkpoint: Checkpoint) -> None:
    # All zeros: the network says the same on every machine, however that rounds sums, and so the
    # games, too few to be sure of the order of the levels, are those of this seed everywhere.
    network = deepcopy(checkpoint.network)
    for weights in network.parameters():
        weights.detach().zero_()
    told = Told()
    first, second = (
        calibrate(
            game, network, "0" * 64, simulations=16, games=40, levels=3, seed=1, progress=told
        )
        for _ in range(2)
    )
    assert replace(first, seconds=0) == replace(second, seconds=0)
    assert first.fits(game)
    assert first.levels[-1].strength == strongest(16)
    matches = [(each.upper, each.lower, each.result.games) for each in first.matches]
    assert matches == [(1, 0, 80), (2, 1, 40), (3, 2, 40), (2, 0, 20), (3, 1, 20)]
    assert len({title for title, _ in told.begun}) > 5


def test_bad_arguments_of_a_calibration_are_refused(game: Game, checkpoint: Checkpoint) -> None:
    for wrong in ({"games": 3}, {"levels": 1}, {"simulations": 2}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            calibrate(game, checkpoint.network, "0" * 64, **wrong)  # type: ignore[arg-type]


# Adapting.


def test_an_estimate_is_that_of_bayes_on_a_finer_grid() -> None:
    """Of an opponent whose strength changes a little after each game, in steps of one point."""
    estimate, elo = OpponentEstimate(0, 1000, 300.0), np.arange(-1000.0, 1601.0)
    belief = np.exp(-(((elo - 300) / 400) ** 2) / 2)
    change = np.exp(-((np.arange(-100.0, 101.0) / 25) ** 2) / 2)
    for own, points in ((250.0, 1.0), (400.0, 1.0), (700.0, 0.0), (600.0, 0.5), (550.0, 0.0)):
        estimate.learn(own, points)
        chance = 1 / (1 + 10 ** ((own - elo) / 400))
        belief = np.convolve(belief * chance**points * (1 - chance) ** (1 - points), change, "same")
        belief /= belief.sum()
        mean = elo @ belief
        assert estimate.elo == pytest.approx(mean, abs=1)
        assert estimate.spread == pytest.approx(np.sqrt((elo - mean) ** 2 @ belief), abs=1)
    assert OpponentEstimate(0, 1000).elo == pytest.approx(500)


def test_what_it_finds_is_of_the_strength_that_a_new_game_has(
    game: Game, network: PolicyValueNetwork
) -> None:
    agent = AdaptiveAgent(game, network, a_ladder(game), start=0.0, seed=1)
    states = game.start(0).states
    agent.search(states)
    weak = agent.level.params
    for _ in range(20):
        agent.estimate.learn(agent.elo, 1.0)
    agent.search(states)
    assert agent.level.params != weak
    agent.actions(states)
    strong = agent.level.params
    agent.level.adjust(weak)  # as a game that began before
    agent.search(states)
    assert agent.level.params == strong


def test_it_adapts_from_game_to_game_and_restart_forgets(
    game: Game, network: PolicyValueNetwork
) -> None:
    agent = AdaptiveAgent(game, network, a_ladder(game), seed=1)
    middle = agent.elo
    env = SingleAgentEnv(game, opponent=agent, seat="alternate")
    player = RandomAgent(game, 1)
    for number in range(10):
        expected, elo = deepcopy(agent.estimate), agent.elo
        env.reset(seed=1 if number == 0 else None)
        reward, is_over = 0.0, False
        while not is_over:
            _, reward, is_over, truncated, _ = env.step(player.choose(env.aec.position))
            is_over = is_over or truncated
        expected.learn(elo, (1 + reward) / 2)
        assert agent.estimate.elo == pytest.approx(expected.elo)
        assert agent.level.params == params_at(agent._ladder.scale.strength_at(elo), 32)
    assert agent.elo != middle
    agent.restart(1)
    assert agent.elo == middle
    weak, again, other = (
        AdaptiveAgent(game, network, a_ladder(game), start=300.0, seed=seed) for seed in (1, 1, 2)
    )
    assert weak.elo == pytest.approx(300, abs=5)
    chosen = [each.actions(open_states(game, 40)).tolist() for each in (weak, again, other)]
    assert chosen[0] == chosen[1] != chosen[2]


# What ships.


@pytest.mark.parametrize("path", LADDERS, ids=lambda path: path.name)
def test_a_shipped_ladder_is_even_and_of_its_agent(path: Path) -> None:
    ladder = load_ladder(path)
    agents = {sha256_of_file(each): each for each in shipped_agents(ladder.game)}
    assert agents[ladder.agent].name.partition(".")[0] == path.name.partition(".")[0]
    assert len(ladder.levels) >= 8
    elo = [level.rating.value for level in ladder.levels]
    assert elo == sorted(elo)
    assert [each.upper for each in ladder.steps] == list(range(2, len(elo) + 1))
    for step in ladder.steps:
        assert step.result.games >= 100
        assert 0.6 <= step.result.score.value <= 0.7
    against_random = next(each for each in ladder.matches if (each.upper, each.lower) == (1, 0))
    assert (
        0.55 <= against_random.result.score.value <= 0.65
    )  # whoever plays at random wins at times
    assert against_random.result.games >= 400
    shares = [each / elo[-1] for each in elo]
    probs = [level.params.win_detection_prob for level in ladder.levels]
    assert all(prob == 1 for prob, share in zip(probs, shares, strict=True) if share > 0.4)


def test_the_command_shows_a_ladder(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["levels", "corso"]) == 0
    shown = capsys.readouterr().out
    assert "beginner" in shown
    assert "strongest" in shown
    assert main(["levels", "corso", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert len(data["levels"]) == data["words"]["strongest"]
    first, second, _, _, *rows = shown.splitlines()
    assert first == f"corso size=5: {len(data['levels'])} levels, measured on {data['date']}"
    assert second == f"in {data['seconds']:,.0f} s; Elo points above random play"
    words = {number: word for word, number in data["words"].items()}
    steps = {each["upper"]: each for each in data["matches"] if each["upper"] == each["lower"] + 1}
    for number, (row, level) in enumerate(zip(rows, data["levels"], strict=False), 1):
        score = IntervalEstimate(**steps[number]["score"])
        assert row.split() == [
            *(str(number), *words.get(number, "").split(), f"{level['elo']['value']:,.0f}"),
            *(str(level["simulations"]), f"{level['temperature']:.3f}"),
            *(f"{level['max_value_loss']:.2f}", *f"{score:.1%}".split(), str(score.count)),
        ]
    again = [LevelMatch(2, 1, MatchResult(7, 2, 1))]
    monkeypatch.setattr(calibration, "check_steps", lambda *_: again)
    assert main(["levels", "corso", "--check"]) == 0
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert [*last[:3], last[-1]] == ["2", "1", "80.0", "10"]
    assert main(["levels", "corso", "--output", "mine.json"]) == 2
    assert "give --measure too" in capsys.readouterr().err
    assert main(["levels", "corso", "--option", "size=3"]) == 2
    assert "ludarium levels corso --measure`" in capsys.readouterr().err


def test_the_command_shows_matches_of_levels_that_are_not_neighbours(
    game: Game, checkpoint: Checkpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = save_checkpoint(checkpoint, tmp_path / "mine.safetensors")
    ladder = a_ladder(game, sha256_of_file(agent))
    others = (LevelMatch(3, 0, MatchResult(20, 0, 0)), LevelMatch(3, 1, MatchResult(12, 4, 4)))
    matches = ladder.matches + others
    strengths = [level.strength for level in ladder.levels]
    levels = rate_levels(strengths, matches, ladder.simulations)
    save_ladder(replace(ladder, matches=matches, levels=levels), tmp_path / "mine.json")
    words = ["levels", "corso", "--agent", str(agent), "--ladder"]
    assert main([*words, str(tmp_path / "mine.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].split()[:3] == ["3", "0", "100.0"]
    assert lines[-2].split()[-6:-3] == ["20", "+332", "+inf"]
    assert lines[-1].split()[:3] == ["3", "1", "70.0"]
    assert lines[-1].split()[-6:-3] == ["20", "+217", "+147"]
    assert ["2", "easy", "224"] in [line.split()[:3] for line in lines]
