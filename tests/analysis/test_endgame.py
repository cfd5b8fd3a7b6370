"""`EndgameAgent`: the player's moves, but for what a search to the end of the game knows."""

from __future__ import annotations

import numpy as np
import pytest

from ludarium.analysis import ILLEGAL, solution_of
from ludarium.analysis.accuracy import moves_that_keep
from ludarium.analysis.endgame import EndgameAgent, EndgameSpec
from ludarium.analysis.exact_tests import make_exact_test
from ludarium.envs import Position, make_game
from ludarium.models import build_network
from ludarium.training.agents import RESIGN, Agent, RandomAgent, make_agent, read_agent
from ludarium.training.agents.timed import TimedNetworkAgent
from ludarium.training.evaluation import play_match
from ludarium.training.networks import network_shape
from tests.analysis.corso_positions import minimax
from tests.games import after, children
from tests.oddity import Oddity
from tests.tictactoe import TicTacToe


class Stubborn(Agent):
    """Prefers actions by a fixed order, and counts how often it is asked for that."""

    def __init__(self, game, order):
        super().__init__(game, "stubborn")
        self.order = np.asarray(order, float)
        self.asked = 0

    def preferences(self, states):
        self.asked += 1
        return np.tile(self.order, (len(states), 1))

    def actions(self, states):
        masks = np.array([Position.of_state(self.game, state).mask for state in states])
        return np.where(masks == 1, self.order, -np.inf).argmax(axis=1)


@pytest.fixture(scope="module")
def corso_test():
    return make_exact_test(make_game("corso", size=3), 60, seed=2)


@pytest.mark.parametrize("game", [make_game("corso", size=3), Oddity()], ids=str)
def test_what_keeps_the_value_is_played_in_the_players_order(game):
    test = make_exact_test(game, 60, seed=2)
    order = np.random.default_rng(1).permutation(game.num_actions)
    player = Stubborn(game, order)
    chosen = EndgameAgent(player).actions(test.states)
    assert moves_that_keep(chosen, test).all()
    assert not moves_that_keep(player.actions(test.states), test).all()
    best = test.results.max(axis=1, keepdims=True)
    keeps = (test.results == best) & (test.results != ILLEGAL)
    np.testing.assert_array_equal(chosen, np.where(keeps, order, -np.inf).argmax(axis=1))


def test_the_player_is_asked_for_other_actions_only_where_its_choice_loses_value(corso_test):
    player = Stubborn(corso_test.game, np.random.default_rng(1).permutation(9))
    wrong = ~moves_that_keep(player.actions(corso_test.states), corso_test)
    EndgameAgent(player).actions(corso_test.states)
    assert player.asked == wrong.sum()


def test_a_player_that_resigns_has_resigned(corso_test):
    class Resigns(Agent):
        def play(self, games, states):
            return np.full(len(states), RESIGN)

    games = play_match(corso_test.game, EndgameAgent(Resigns(corso_test.game, "gone")), "random", 4)
    assert games.result.losses == 4


def test_with_points_the_lead_is_kept_too(corso_test):
    known: dict = {}

    def points_lost(agent):
        chosen = agent.actions(corso_test.states)
        for state, action in zip(corso_test.states, chosen, strict=True):
            position = Position.of_state(corso_test.game, state)
            leads = {each: -minimax(child, known) for each, child in children(position).items()}
            yield max(leads.values()) - leads[action]

    player = RandomAgent(corso_test.game, 1)
    assert any(points_lost(EndgameAgent(player, seed=1)))
    assert not any(points_lost(EndgameAgent(player, points=True, seed=1)))


def test_an_action_that_is_proven_to_lose_is_not_played():
    game = TicTacToe()
    position = after(game.start(), 0, 4, 1)  # the next player must stop three in a row at 2
    blind = Stubborn(game, [0, 0, 1, 9, 0, 8, 7, 6, 5])
    assert blind.choose(position) == 3
    for limit in (200, 100_000):  # too few for the value of the position, and enough
        assert EndgameAgent(blind, limit).choose(position) == 2
    assert EndgameAgent(blind, 1).choose(position) == 3


def test_it_never_loses_what_it_can_search():
    game = TicTacToe()
    agent = EndgameAgent(RandomAgent(game), seed=1)
    match = play_match(game, agent, "uct:200", 40, seed=1, opening_plies=0)
    assert match.result.losses == 0


@pytest.mark.slow
def test_games_with_a_table_are_played_perfectly():
    game = make_game("osiron")
    test = make_exact_test(game, 100, seed=3)
    agent = EndgameAgent(RandomAgent(game, 1))
    assert moves_that_keep(agent.actions(test.states), test).all()
    best = solution_of(game).best_actions(test.states)
    assert best[np.arange(100), agent.actions(test.states)].all()


def test_games_that_a_player_remembers_are_handed_on():
    game = TicTacToe()
    network = build_network(network_shape(game), 4, 1)
    agent = EndgameAgent(TimedNetworkAgent(game, network, 0.002, backend="eager"))
    match = play_match(game, agent, "random", 10, seed=1)
    assert match.result.losses == 0
    assert agent.player._in_play == 0
    start = game.start().states
    assert agent.preferences(start).shape == (1, 9)


def test_names_are_read_and_given_back():
    game = make_game("corso", size=3)
    for name in (
        "endgame:uct:50",
        "endgame:uct:50?positions=1000",
        "endgame:uct:50?positions=1000&points=true",
        "endgame:corso:16",
        "endgame:corso:16?temperature=0.5&positions=1000",
    ):
        assert make_agent(name, game).name == name
    factory = read_agent("endgame:corso:16?positions=7&score=0.1")
    assert isinstance(factory, EndgameSpec)
    assert (factory.positions, factory.points) == (7, False)
    assert factory.player == read_agent("corso:16?score=0.1")
    assert factory.choose_game({"size": 6}) == make_game("corso", size=6)
    assert read_agent("endgame:corso").with_simulations(4).player == read_agent("corso:4")
    assert read_agent("endgame:random").choose_game({}) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("endgame", "endgame needs an agent"),
        ("endgame:", "endgame needs an agent"),
        ("endgame:endgame:uct", "it cannot be nested"),
        ("endgame:nobody", "nobody"),
        ("endgame:uct:50?positions=many", "is not a whole number"),
        ("endgame:uct:50?positions=0", "positions is 0; accepted: a whole number"),
        ("endgame:uct:50?points=yes", "is neither true nor false"),
        ("endgame:uct:50?temperature=1", "there is no setting 'temperature'"),
        ("endgame:python:os:getcwd", "runs code, so it does not play within endgame$"),
        ("endgame:engine:true?points=true", "runs a program, so it does not play within endgame$"),
    ],
)
def test_wrong_names_are_refused(name, reason):
    with pytest.raises(ValueError, match=reason):
        make_agent(name, make_game("corso", size=3))


def test_points_need_a_game_that_counts_them():
    game = make_game("onyx", size=6)
    with pytest.raises(ValueError, match="counts no points to play for: leave out points"):
        make_agent("endgame:random?points=true", game)
