"""Players from outside: functions, torch modules, exported networks, agents that keep games."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ludarium.envs import GAMES, Game, Position, from_record, make_game
from ludarium.envs.engine.description import describe_game
from ludarium.models import PolicyValueNetwork, build_network, load_checkpoint
from ludarium.models.export import ExportedNetwork, export_checkpoint
from ludarium.training.agents import (
    Agent,
    GameInPlay,
    RandomAgent,
    as_agent,
    make_agent,
    read_agent,
)
from ludarium.training.agents.checkpoints import fitting_agent
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.agents.outside import spec_of_object
from ludarium.training.evaluation import play_match
from ludarium.training.networks import network_shape
from tests.checkpoints import tiny_checkpoint
from tests.games import first_legal
from tests.oddity import Oddity
from tests.tictactoe import TicTacToe


@pytest.fixture
def game() -> Game:
    return TicTacToe()


class Corner(nn.Module):
    """Likes low numbers, and thinks that all is well."""

    def __init__(self, game: Game, with_values: bool = True) -> None:
        super().__init__()
        self.actions, self.with_values = game.num_actions, with_values
        self.unused = nn.Linear(1, 1)

    def forward(self, observations: torch.Tensor) -> Any:
        logits = -torch.arange(self.actions).float().expand(len(observations), -1)
        return (logits, torch.full((len(observations), 1), 0.5)) if self.with_values else logits


def test_a_function_from_positions_to_actions_plays(game: Game) -> None:
    by_number = play_match(game, first_legal, "random", 20, seed=1)
    by_text = play_match(game, lambda each: each.action_to_text(first_legal(each)), "random", 20, 1)
    assert by_number.players == ("first_legal", "random")
    assert by_number.actions.tolist() == by_text.actions.tolist()


@pytest.mark.parametrize("answer", [None, 0.5, [1, 2], "nowhere", object()])
def test_a_function_that_answers_nonsense_is_named(game: Game, answer: object) -> None:
    def stubborn(position: Position) -> Any:
        return answer

    with pytest.raises(ValueError, match=r"agent stubborn(: 'nowhere' is| answered)"):
        play_match(game, stubborn, "random", 2)


@pytest.mark.parametrize("with_values", [True, False])
def test_a_module_plays_its_most_probable_legal_action(game: Game, with_values: bool) -> None:
    mine = play_match(game, Corner(game, with_values), "random", 20, seed=1)
    other = play_match(game, first_legal, "random", 20, seed=1)
    assert mine.actions.tolist() == other.actions.tolist()


def test_a_module_searches_if_it_has_values(game: Game) -> None:
    agent = as_agent(Corner(game), game, simulations=16)
    start = game.start()
    for action in (0, 3, 1, 4):
        start.play(action)
    assert agent.choose(start) == 2  # wins at once, which the search proves
    with pytest.raises(ValueError, match="returned no values, which a search needs"):
        as_agent(Corner(game, with_values=False), game, simulations=16)


def test_a_module_of_another_shape_is_refused(game: Game) -> None:
    with pytest.raises(
        ValueError, match=r"Corner answered .* of shape \(1, 25\); needed: \(1, 9\)"
    ):
        as_agent(Corner(make_game("corso")), game)
    with pytest.raises(ValueError, match=r"Linear takes no observations"):
        as_agent(nn.Linear(4, 9), game)
    with pytest.raises(ValueError, match=r"BatchNorm3d takes no observations .*ValueError: expec"):
        as_agent(nn.BatchNorm3d(4), game)  # which raises a ValueError itself


@pytest.mark.parametrize("with_score", [False, True])
def test_a_module_returns_what_a_network_to_train_returns(game: Game, with_score: bool) -> None:
    class Trained(Corner):
        def forward(self, observations: torch.Tensor) -> Any:
            logits, _ = super().forward(observations)
            outcome = torch.tensor([0.0, -99, -99]).expand(len(observations), -1)
            score = torch.full((len(observations),), 0.25)
            return (logits, outcome, score) if with_score else (logits, outcome)

    agent = as_agent(Trained(game), game, simulations=4)
    assert isinstance(agent, NetworkAgent)
    assert agent.evaluate(game.start().states).values.tolist() == [1.0]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "NoneType"),
        ((), "an empty tuple"),
        ((torch.zeros(1, 9),) * 4, "Tensor, Tensor, Tensor, Tensor"),
        ([torch.zeros(1, 9)], "list"),
        ((torch.zeros(1, 9), "x"), "Tensor, str"),
    ],
)
def test_a_module_that_returns_something_else_is_told_what_is_accepted(
    game: Game, answer: Any, said: str
) -> None:
    class Odd(Corner):
        def forward(self, observations: torch.Tensor) -> Any:
            return answer

    with pytest.raises(ValueError, match=f"Odd returned {said}; return a tensor of policy logits"):
        as_agent(Odd(game), game)


def test_a_module_is_left_in_the_mode_in_which_it_was(game: Game) -> None:
    module = Corner(game).train()
    module.unused.eval()
    as_agent(module, game).choose(game.start())
    assert module.training
    assert not module.unused.training


def test_a_network_of_many_boards_is_not_played_as_it_is() -> None:
    network = load_checkpoint(fitting_agent(make_game("corso", size=2))).network
    with pytest.raises(ValueError, match="FamilyNetwork is a network for many sets of options"):
        as_agent(network, make_game("corso", size=2))


def test_temperature_draws_and_the_seed_tells_what(game: Game) -> None:
    def actions(seed: int, temperature: float) -> list[int]:
        agent = as_agent(Corner(game), game, seed, temperature=temperature)
        return agent.actions(np.repeat(game.start().states, 50)).tolist()

    assert set(actions(1, 0.0)) == {0}
    assert set(actions(1, 1e-9)) == {0}
    assert actions(1, 2.0) == actions(1, 2.0) != actions(2, 2.0)
    counts = np.bincount(actions(1, 2.0), minlength=9)
    assert counts[:3].sum() > counts[3:].sum() > 0


def test_temperature_draws_from_the_policy_of_the_search(game: Game) -> None:
    agent = as_agent(Corner(game), game, 1, simulations=16, temperature=1.0)
    position = game.start()
    for action in (0, 3, 1, 4):
        position.play(action)
    assert agent.choose(position) == 2  # a proven win is all of the policy


@pytest.mark.parametrize("name", ["tictactoe", "oddity", "onyx"])
def test_an_exported_network_plays_as_its_checkpoint(name: str, tmp_path: Path) -> None:
    games: dict[str, Callable[[], Game]] = {"tictactoe": TicTacToe, "oddity": Oddity}
    game = games.get(name, lambda: make_game("onyx", size=6))()
    torch.manual_seed(1)
    checkpoint = tiny_checkpoint(game, channels=8)
    seen = np.random.default_rng(1).integers(0, 2, (8, *checkpoint.shape.observation))
    seen = seen.astype(np.float32)
    export_checkpoint(checkpoint, describe_game(game), tmp_path / "net.onnx", seen)
    exported = make_agent(f"onnx:{tmp_path / 'net.onnx'}?simulations=0", game)
    assert isinstance(exported, NetworkAgent)
    mine = NetworkAgent(game, checkpoint.network, 0, backend="eager")
    position = game.start(1)
    random = np.random.default_rng(1)
    while not position.is_over:
        for found, expected in zip(
            *(each.evaluate(position.states) for each in (exported, mine)), strict=True
        ):
            np.testing.assert_allclose(found, expected, atol=1e-4)
        position.play(random.choice(position.legal_actions))


def test_an_exported_network_of_another_game_is_refused(game: Game, tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    for spec in (f"onnx:{tmp_path / 'bad.onnx'}", f"onnx:{tmp_path}"):
        with pytest.raises(ValueError, match=r"not a readable ONNX file|must end in|regular"):
            make_agent(spec, game)
    with pytest.raises(ValueError, match=r"udcff\.onnx is not a name .* it must be UTF-8"):
        make_agent("onnx:b\udcff.onnx", game)
    with pytest.raises(FileNotFoundError, match="there is no exported network"):
        make_agent(f"onnx:{tmp_path / 'none.onnx'}", game)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"game": "corso"}, "' does not say its game and the game's options"),
        ({"options": {}}, "' does not say its game and the game's options"),
        ({"game": "chess", "options": {}}, ": no game is called 'chess'"),
        ({"game": "corso", "options": {"size": 99}}, ": option 'size' is 99"),
    ],
)
def test_an_exported_network_that_does_not_say_its_game_is_refused(
    metadata: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = ExportedNetwork({"outputs": {}, **metadata}, lambda _: [])
    monkeypatch.setattr("ludarium.models.export.load_exported", lambda _: exported)
    with pytest.raises(ValueError, match=rf"net\.onnx{reason}"):
        read_agent("onnx:net.onnx").choose_game({})


class Keeper(RandomAgent):
    """Keeps what it is told of each game."""

    def __init__(self, game: Game, seed: Any = None) -> None:
        super().__init__(game, seed)
        self.told: list[tuple[str, int]] = []
        self.rewards: list[int] = []

    def begin(self, games: Sequence[GameInPlay]) -> None:
        self.told += [("begin", each.number) for each in games]

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        for each, state in zip(games, states, strict=True):
            assert each.position.state == state
            assert each.position.mover == each.seat
            assert len(each.actions) == each.position.ply
            assert each.memory is None or each.memory < len(each.actions)
            each.memory = len(each.actions)
        return self.actions(states)

    def finish(self, games: Sequence[GameInPlay]) -> None:
        self.told += [("finish", each.number) for each in games]
        self.rewards += [each.reward for each in games]


def test_a_match_hands_over_whole_games(game: Game) -> None:
    keeper = Keeper(game)
    result = play_match(game, keeper, "random", 10, seed=1)
    numbers = list(range(10))
    assert [number for what, number in keeper.told if what == "begin"] == numbers
    assert sorted(number for what, number in keeper.told if what == "finish") == numbers
    assert keeper.rewards.count(1) == result.result.wins
    assert keeper.rewards.count(-1) == result.result.losses


def test_a_class_of_agents_is_made_for_the_game(game: Game) -> None:
    agent = as_agent(Keeper, game, 1)
    assert isinstance(agent, Keeper)
    assert as_agent(agent, game) is agent
    with pytest.raises(ValueError, match=r"plays TicTacToe.*, not Corso"):
        as_agent(agent, make_game("corso"))


def test_a_class_with_play_alone_plays_matches_and_single_positions(game: Game) -> None:
    class Player(Agent):
        def __init__(self, game: Game, seed: Any = None) -> None:
            super().__init__(game, "player", seed)

        def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
            assert all(each.seat == each.position.mover for each in games)
            return np.array([each.position.legal_actions[-1] for each in games])

    def last_legal(position: Position) -> int:
        return int(position.legal_actions[-1])

    mine, expected = (play_match(game, each, "random", 10, 1) for each in (Player, last_legal))
    np.testing.assert_array_equal(mine.actions, expected.actions)
    position = game.start(0)
    position.play(8)
    agent = Player(game)
    assert agent.choose(position) == 7
    over = game.new_states(2)
    over["outcome"][0] = 1
    over["mover"][1] = 1
    assert agent.actions(over).tolist() == [-1, 8]


def test_a_class_without_a_choice_is_named(game: Game) -> None:
    class Idle(Agent):
        pass

    with pytest.raises(NotImplementedError, match="agent idle cannot choose: Idle must have"):
        Idle(game, "idle").choose(game.start(0))
    with pytest.raises(ValueError, match=r"Idle is called with game and seed: .* 'name'"):
        as_agent(Idle, game)


def test_a_game_is_given_by_name_too() -> None:
    assert make_agent("random", "corso").game == make_game("corso")
    assert as_agent(first_legal, "corso").game == make_game("corso")
    assert play_match("corso", "random", "random", 2, seed=1).game == make_game("corso")
    with pytest.raises(ValueError, match="no game"):
        make_agent("random", "corsi")
    with pytest.raises(ValueError, match="game is 5; accepted: the name of a game, or a Game"):
        as_agent(first_legal, 5)  # type: ignore[arg-type]


def test_a_class_of_modules_that_wants_arguments_is_refused(game: Game) -> None:
    with pytest.raises(ValueError, match="Corner cannot be made without arguments"):
        as_agent(Corner, game)


def test_a_module_is_not_asked_for_a_score_that_it_may_not_have() -> None:
    with pytest.raises(ValueError, match="score is not for a module of your own"):
        spec_of_object(torch.nn.Identity(), simulations=8, search=(("score", 0.1),))


@pytest.mark.parametrize("player", [3, None, [1]])
def test_what_cannot_play_is_refused(game: Game, player: object) -> None:
    with pytest.raises(ValueError, match="cannot play: give an agent"):
        as_agent(player, game)


def test_a_players_own_module_is_imported_by_name(
    game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine_outside.py").write_text(
        "from ludarium.training.agents import make_agent\n"
        "def last(position):\n    return position.legal_actions[-1]\n"
        "AGENT = make_agent('random', 'corso')\n"
    )
    (tmp_path / "broken_outside.py").write_text("import mine_outside\n\nmine_outside.last(1)\n")
    monkeypatch.chdir(tmp_path)
    agent: Agent = make_agent("python:mine_outside:last", game)
    assert agent.name == "python:mine_outside:last"
    assert agent.choose(game.start()) == 8
    made = make_agent("python:mine_outside:AGENT", make_game("corso"))
    assert made is sys.modules["mine_outside"].AGENT
    for name in ("last", "AGENT"):
        with pytest.raises(ValueError, match=f"{name} is not a torch module, so it takes no sett"):
            make_agent(f"python:mine_outside:{name}?simulations=8", game)
    place = re.escape(f"in {str(tmp_path / 'mine_outside.py')!r}, line 3)")
    with pytest.raises(ValueError, match=f"AttributeError: 'int' object .*{place}$"):
        make_agent("python:broken_outside:policy", game)


@pytest.mark.parametrize(
    "setting", [{"name": "mine"}, {"simulations": 400}, {"temperature": 0.5}, {"canonical": True}]
)
def test_settings_are_not_for_an_agent_or_its_name(game: Game, setting: dict[str, Any]) -> None:
    for player in ("uct:7", make_agent("uct:7", game)):
        with pytest.raises(ValueError, match="an agent and its name take no settings"):
            as_agent(player, game, **setting)


def test_games_of_a_match_are_records_that_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a game with random starts."""
    monkeypatch.setitem(GAMES, "oddity", Oddity)
    result = play_match(Oddity(), "random", first_legal, 6, seed=1, opening_plies=2)
    for number, record in enumerate(result.records()):
        assert (
            record["players"] == (["random", "first_legal"], ["first_legal", "random"])[number % 2]
        )
        assert record["seconds"][:2] == [0, 0]
        assert len(record["moves"]) == len(record["seconds"]) == result.plies[number]
        env = from_record(record)
        assert env.unwrapped.position.outcome == result.outcomes[number]
    assert len(set(result.seeds)) == 3


@pytest.mark.parametrize("name", ["onyx", "osiron", "corso"])
def test_networks_see_the_turned_board_and_answer_in_the_boards_frame(name: str) -> None:
    game = make_game(name)
    torch.manual_seed(1)
    network: PolicyValueNetwork = build_network(network_shape(game), 4, 1).eval()

    class Module(nn.Module):
        def forward(self, observations: torch.Tensor) -> Any:
            return network(observations)

    agents = [
        NetworkAgent(game, network, 0, backend="eager"),
        as_agent(network, game, simulations=0),
        as_agent(Module(), game, simulations=0, canonical=True),
    ]
    position, turned = game.start(1), 0
    random = np.random.default_rng(1)
    for _ in range(8):
        seen = torch.from_numpy(position.observation(canonical=True))[None]
        with torch.inference_mode():
            policy, outcome, _ = network(seen)
        numbers = [position.turned_action(action) for action in range(game.num_actions)]
        for agent in agents:
            assert isinstance(agent, NetworkAgent)
            found = agent.evaluate(position.states)
            np.testing.assert_allclose(found.logits[0], policy[0, numbers], atol=1e-5)
            np.testing.assert_allclose(found.wdl, outcome.softmax(1), atol=1e-5)
            told = agent.search(position.states)
            chances = np.exp(found.logits[0]) * position.mask
            np.testing.assert_allclose(told.policies[0], chances / chances.sum(), atol=1e-5)
            assert told.actions[0] == chances.argmax()
            assert (told.values[0], told.draws[0]) == (found.values[0], found.wdl[0, 1])
        turned += position.is_turned()
        position.play(int(random.choice(position.legal_actions)))
    assert turned == (4 if game.canonical_turn is not None else 0)
