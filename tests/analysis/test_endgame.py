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
from ludarium.training.exact_values import Value, ValueBounds
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


class Scripted:
    """A solver that searched 1,000 positions before, and answers as it is told.

    Args:
        answers: for no action, and for actions from the start: bounds for the player to move, and
            how many positions the search for them takes.
    """

    def __init__(self, answers):
        self.answers, self.nodes, self.asked = answers, 1000, []

    def answer(self, position, limit, leads):
        played = set(range(9)) - set(position.legal_actions.tolist())
        low, high, nodes = self.answers[played.pop() if played else None]
        self.nodes += nodes
        self.asked.append((limit, leads))
        return ValueBounds(low, high)


LOSS, DRAW, WIN = Value(-1), Value(0), Value(1)


@pytest.mark.parametrize(
    ("answers", "chosen", "limits"),
    [
        # A draw, which the choice would lose; the searches of actions may take all that is left.
        ({None: (DRAW, DRAW, 11), 4: (WIN, WIN, 10), 8: (DRAW, DRAW, 1)}, 8, [51, 90, 80]),
        ({None: (DRAW, DRAW, 11), 4: (LOSS, DRAW, 10)}, 4, [51, 90]),
        # Proven bounds that are too low, though more may be there.
        ({None: (WIN, WIN, 1), 4: (LOSS, WIN, 9), 8: (LOSS, LOSS, 9)}, 8, [51, 100, 91]),
        # Not found: each action gets half of what is left, and what may be a draw is played.
        ({None: (LOSS, WIN, 11), 4: (WIN, WIN, 10), 8: (DRAW, WIN, 1)}, 8, [51, 45, 40]),
        ({None: (LOSS, DRAW, 11), 4: (LOSS, WIN, 1)}, 4, [51, 45]),
        # Nothing is left: the choice.
        ({None: (LOSS, WIN, 51), 4: (WIN, WIN, 49), 8: (WIN, WIN, 1)}, 4, [51, 25, 1]),
        ({None: (LOSS, WIN, 101)}, 4, [51]),
        # All actions lose.
        ({None: (LOSS, LOSS, 1)}, 4, [51]),
    ],
)
def test_searches_share_the_positions_of_a_move(answers, chosen, limits):
    game = TicTacToe()
    agent = EndgameAgent(Stubborn(game, [0, 1, 2, 3, 9, 4, 5, 6, 8]), 101)
    agent._solver = Scripted(answers)
    assert agent.choose(game.start()) == chosen
    assert agent._solver.asked == [(limit, False) for limit in limits]


def test_a_lost_position_is_lost_by_as_little_as_can_be():
    game = make_game("corso", size=3)
    agent = EndgameAgent(Stubborn(game, [0, 1, 2, 3, 9, 4, 5, 6, 8]), 101, points=True)
    by_2, by_3 = Value(-1, -2), Value(-1, -3)
    answers = {None: (by_2, by_2, 1), 4: (-by_3, -by_3, 1), 8: (-by_2, -by_2, 1)}
    agent._solver = Scripted(answers)
    assert agent.choose(game.start()) == 8
    assert agent._solver.asked == [(51, True), (100, True), (99, True)]


@pytest.mark.parametrize(
    ("answers", "chosen", "limits"),
    [
        (
            {None: (Value(1, 1), Value(1, 9), 51), 4: (DRAW, DRAW, 9), 8: (LOSS, LOSS, 9)},
            8,
            [50, 41],
        ),
        ({None: (Value(-1, -9), Value(-1, -1), 51)}, 4, []),
    ],
)
def test_who_wins_is_kept_where_the_lead_is_not_found(answers, chosen, limits):
    game = make_game("corso", size=3)
    agent = EndgameAgent(Stubborn(game, [0, 1, 2, 3, 9, 4, 5, 6, 8]), 101, points=True)
    agent._solver = Scripted(answers)
    assert agent.choose(game.start()) == chosen
    assert agent._solver.asked == [(51, True), *((limit, False) for limit in limits)]


def test_a_new_game_forgets_searches_and_restarts_the_player():
    game = TicTacToe()
    agent = EndgameAgent(RandomAgent(game, 1))
    searched = agent._solver
    agent.restart(7)
    assert agent._solver is not searched
    states = game.start().states.repeat(40)
    np.testing.assert_array_equal(
        agent.player.actions(states), RandomAgent(game, 7).actions(states)
    )


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
