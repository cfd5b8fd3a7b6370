"""What agents think of positions, and of whole games, in one structure."""

from __future__ import annotations

import copy
import json
import threading
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from ludarium.analysis import Budget, TableSolution, Value
from ludarium.analysis.games import analyse_game
from ludarium.analysis.perfect import SolvedAgent
from ludarium.analysis.thinking import Estimate, analyse_position, make_thinker
from ludarium.analysis.value_graph import plot_values
from ludarium.arena.level import LevelAgent
from ludarium.arena.level_params import LevelParams
from ludarium.envs import Position, make_game
from ludarium.models import build_network
from ludarium.training.agents import Agent, make_agent, timed
from ludarium.training.agents.agent import GameInPlay
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.agents.timed import TimedNetworkAgent
from ludarium.training.networks import network_shape
from ludarium.training.search import TreeSearch
from tests.games import after
from tests.oddity import Oddity
from tests.progress import Told
from tests.tictactoe import TicTacToe

GAME = TicTacToe()


def from_start(*texts: str) -> Position:
    return after(GAME.start(0), *texts)


@pytest.fixture(scope="module")
def with_network() -> Agent:
    return NetworkAgent(GAME, build_network(network_shape(GAME), 4, 1), 50, "mine:50", 0, "eager")


def check(analysis: Any, position: Position) -> None:
    """What holds for every analysis."""
    assert sorted(move.action for move in analysis.moves) == list(position.legal_actions)
    assert analysis.mover == position.mover
    for move in analysis.moves:
        assert move.text == position.action_to_text(move.action)
        assert move.variation[0] == move.text
        estimate = move.estimate
        if estimate.win is not None:
            assert estimate.win + estimate.draw + estimate.loss == pytest.approx(1)
            assert estimate.win - estimate.loss == pytest.approx(estimate.value, abs=1e-6)
    json.dumps(analysis.as_json(), allow_nan=False)


def test_a_network_tells_all_there_is(with_network):
    position = from_start("b2", "a1")
    analysis = analyse_position(position, with_network)
    check(analysis, position)
    assert analysis.agent == "mine:50"  # a name that the caller gave is whole
    assert analysis.simulations == 50
    assert sum(move.visits for move in analysis.moves) == 50
    assert sum(move.prior for move in analysis.moves) == pytest.approx(1, abs=1e-5)
    assert analysis.speed > 0
    assert analysis.best.visits == max(move.visits for move in analysis.moves)
    assert len(analysis.best.variation) > 1


@pytest.mark.parametrize(
    ("texts", "wins", "value", "note"),
    [
        ("a1 b2 a2 c3", "a3", 1, "win in 1"),
        ("a1 b2 c2 b1 c3", "b3", 1, "win in 1"),
        ("a2 a1 b3 c1 a3 c3", None, -1, "loss in 2"),
        ("a1 b2 c3 c1 a3", None, -1, "loss in 2"),
    ],
)
def test_wins_and_losses_of_either_player_are_told_in_the_movers_view(
    with_network, texts, wins, value, note
):
    position = from_start(*texts.split())
    exact = Estimate(float(value), float(value > 0), 0.0, float(value < 0), True)
    proven = analyse_position(position, with_network, Budget(1000))
    assert proven.simulations < 1000
    counted = analyse_position(position, make_agent("alphabeta:3", GAME, 1))
    assert counted.estimate == replace(exact, note=note)
    played = analyse_position(position, make_agent("uct:2000", GAME, 1))
    assert played.estimate.value == pytest.approx(value, abs=0.3)
    assert played.best.estimate.value == pytest.approx(value, abs=0.3)
    for analysis in (proven, counted, played):
        check(analysis, position)
        assert wins in (None, analysis.best.text)
    assert proven.estimate == proven.best.estimate == exact
    assert all(move.estimate.exact for move in proven.moves) == (wins is None)
    assert counted.moves[-1].estimate == (Estimate(note="not better") if wins else counted.estimate)


def test_thinking_goes_on_and_follows_the_game(with_network):
    thinker = make_thinker(with_network, from_start("b2"))
    first = thinker.think(Budget(simulations=40))
    more = thinker.think(Budget(simulations=60))
    assert (first.simulations, more.simulations) == (40, 60)
    assert more.seconds > first.seconds
    assert more.speed == pytest.approx(60 / more.seconds)
    thinker.play(more.best.action)
    kept = thinker.analysis()
    assert (kept.simulations, kept.seconds, kept.speed) == (more.best.visits - 1, 0, 0)
    assert kept.best.text == more.best.variation[1]
    assert kept.estimate.value == pytest.approx(-more.best.estimate.value, abs=0.1)
    with pytest.raises(ValueError, match="taken"):
        thinker.play(more.best.action)
    assert thinker.analysis() == kept


def test_uct_tells_visits_and_chances():
    position = from_start("a1", "b2", "c3", "b3", "b1", "c1", "a3", "a2")
    analysis = analyse_position(position, "uct:20")
    check(analysis, position)
    assert (analysis.agent, analysis.simulations) == ("uct", 20)
    assert analysis.best.prior is None
    assert analysis.best.estimate == Estimate(0.0, 0.0, 1.0, 0.0)
    explored = analyse_position(from_start(), "uct:900?exploration=1000")
    assert all(90 <= move.visits <= 110 for move in explored.moves)
    twice = np.repeat(GAME.start(0).states, 2)
    result = make_agent("uct:900?exploration=1000", GAME, 1).search(twice)
    assert (abs(result.visits - 100) <= 10).all()
    assert (result.action_values[0] != result.action_values[1]).any()  # other random numbers


def test_the_shipped_agent_is_asked_where_none_is_named():
    for game, name in ((make_game("corso"), "corso"), (GAME, "uct")):
        assert analyse_position(game.start(0), budget=Budget(1)).agent == name


def test_alphabeta_tells_a_score_of_what_it_does_not_see():
    unknown = analyse_position(from_start("b2"), "alphabeta:2")
    assert unknown.estimate.value is None
    assert unknown.estimate.note.startswith("score ")


class CentreWins(TableSolution):
    source = "written down here"

    def values(self, states: np.ndarray) -> np.ndarray:
        return np.full(len(states), 1, np.int8)

    def action_values(self, states: np.ndarray) -> np.ndarray:
        return np.array([[0, 0, 0, 0, 1, 0, 0, 0, 0]] * len(states), np.int8)

    def decode(self, value: int) -> Value:
        return Value(value, plies=3 if value else None)


def test_a_solution_tells_exact_values():
    agent = SolvedAgent(CentreWins(GAME))
    analysis = analyse_position(GAME.start(0), agent)
    check(analysis, GAME.start(0))
    assert analysis.best.text == "b2"
    assert analysis.estimate == Estimate(1, 1.0, 0.0, 0.0, True, "win in 3")
    assert analysis.moves[1].estimate == Estimate(0, 0.0, 1.0, 0.0, True, "draw")


def test_what_cannot_be_asked(with_network):
    with pytest.raises(ValueError, match="agent random cannot say what it thinks"):
        analyse_position(from_start("b2"), "random")
    with pytest.raises(ValueError, match="the game is over"):
        analyse_position(from_start("a1", "b2", "a2", "c3", "a3"), with_network)
    with pytest.raises(ValueError, match="plays TicTacToe"):
        make_thinker(with_network, make_game("corso", size=3).start(0))
    with pytest.raises(ValueError, match="chances of winning: leave the setting score out"):
        analyse_position(make_game("corso").start(0), "corso?score=0.5")


@pytest.mark.slow
def test_a_level_tells_what_its_network_thinks():
    network = build_network(network_shape(GAME), 4, 1)
    params = LevelParams(16, temperature=1.0)
    level = LevelAgent(GAME, network, params, name="level:1")
    full = NetworkAgent(GAME, network, 30, backend="compiled-int8")
    analysis = analyse_position(from_start("b2"), level, Budget(simulations=30))
    assert analysis.agent == "level:1"
    priors, expected = (
        {move.text: move.prior for move in each.moves}
        for each in (analysis, analyse_position(from_start("b2"), full, Budget(simulations=30)))
    )
    assert priors == pytest.approx(expected, abs=1e-6)
    assert make_thinker(level, from_start("b2"))._budget == Budget(simulations=1000)


def test_unknown_draws_leave_the_value():
    assert Estimate.of(0.5, float("nan")) == Estimate(0.5)
    assert Estimate.of(float("nan"), float("nan")) == Estimate()
    assert Estimate.of(-0.5, 0.9) == Estimate(-0.5, 0.0, 0.5, 0.5)


# Whole games.

BLUNDER = ("a1", "b2", "c3", "c1", "b3", "a3")  # b3 overlooks a3, which wins


def blunder() -> list[int]:
    assert from_start(*BLUNDER).rewards == (-1, 1)
    return [GAME.action_names.index(text) for text in BLUNDER]


def test_the_move_that_lost_most_is_found(with_network):
    analysis = analyse_game(GAME, 0, blunder(), with_network, Budget(simulations=4000))
    assert analysis.is_complete
    assert [move.text for move in analysis.moves] == list(BLUNDER)
    assert analysis.values[-1] == -1.0
    worst, second = analysis.worst(2)
    assert (worst.text, worst.best_value, worst.value, worst.loss) == ("b3", 1.0, -1.0, 2.0)
    assert (second.text, second.best_value, second.value) == ("c1", 0.0, -1.0)  # a fork follows
    assert worst.before.best.text == "a3"
    assert analysis.mean_loss(1) == pytest.approx(1 / 3)
    unknown, better, little, least = (
        replace(analysis.moves[1], best_value=0.01, value=value)
        for value in (None, 0.02, 0.004, 0.006)
    )
    assert better.loss == 0
    assert replace(analysis, moves=(least, little, better, unknown)).worst() == [little]
    more = replace(analysis, moves=(*analysis.moves, unknown))
    assert more.mean_loss(1) == analysis.mean_loss(1)
    told = json.loads(json.dumps(analysis.as_json(), allow_nan=False))
    assert told["values"] == pytest.approx(analysis.values, abs=1e-4)
    assert told["worst"] == [move.ply for move in analysis.worst()]
    assert told["worst"][:2] == [5, 4]
    losses = [each["loss"] for each in told["moves"]]
    assert told["mean_loss"] == pytest.approx([sum(losses[n::2]) / 3 for n in (0, 1)], abs=1e-4)
    for number, (each, move) in enumerate(zip(told["moves"], analysis.moves, strict=True)):
        best = move.before.moves[0]
        assert (each["ply"], each["mover"]) == (number + 1, f"player_{number % 2}")
        assert (each["move"], each["best"], each["pv"][0]) == (
            BLUNDER[number],
            best.text,
            best.text,
        )
        assert each["exact"] == move.before.estimate.exact
    unfinished = analyse_game(GAME, 0, blunder()[:-1], with_network, Budget(simulations=4000))
    assert (unfinished.values[-1], unfinished.is_complete) == (-1, True)


def test_a_player_moves_twice_after_a_random_start():
    """Of the piles 1, 3 and 2 player_0 leaves 1 and 1, and takes one of them."""
    game = Oddity()
    actions = [game.action_names.index(text) for text in ("b2", "c2", "a1", "b1")]
    agent = make_agent("uct:2000", game, 1)
    analysis = analyse_game(game, 5, actions, agent)
    assert [move.before.mover for move in analysis.moves] == [0, 0, 0, 1]
    assert analysis.values[1:] == pytest.approx((-1, -1, -1, -1), abs=0.2)
    assert [move.value for move in analysis.moves] == pytest.approx([-1, -1, -1, 1], abs=0.2)
    assert [move.loss for move in analysis.moves[1:]] == pytest.approx([0, 0, 0], abs=0.2)


def test_an_analysis_can_be_stopped(with_network):
    def stop_after_two(told: Told) -> None:
        if sum(told.steps) == 2:
            told.stop()

    told = Told(stop_after_two)
    analysis = analyse_game(GAME, 0, blunder(), with_network, Budget(simulations=30), told)
    assert told.begun == [("moves analysed", 6)]
    assert not analysis.is_complete
    assert len(analysis.moves) == 2
    assert len(analysis.values) == 3
    with pytest.raises(ValueError, match="no moves"):
        analyse_game(GAME, 0, [], with_network)


def test_an_analysis_that_is_stopped_at_the_last_position_is_not_complete(with_network):
    def stop_at_the_last(told: Told) -> None:
        if sum(told.steps) == 5 and told.steps[-1] == 0:
            told.stop()

    told = Told(stop_at_the_last)
    analysis = analyse_game(GAME, 0, blunder()[:-1], with_network, Budget(simulations=500), told)
    assert told.stopped
    assert len(analysis.moves) == 5
    assert not analysis.is_complete


def test_the_picture_of_a_game(with_network, tmp_path, figures):
    analysis = analyse_game(GAME, 0, blunder(), with_network, Budget(simulations=20))
    analysis = replace(analysis, agent="a$b$c")
    pictures = []
    for name in ("one.png", "one.svg", "again.svg"):
        plot_values(analysis, tmp_path / name)
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0].startswith(b"\x89PNG")
    assert b"<svg" in pictures[1]
    assert b"a$b$c" in pictures[1]
    assert pictures[1] == pictures[2]
    (axes,) = figures[0]
    assert axes.lines[0].get_xydata().tolist() == [[*each] for each in enumerate(analysis.values)]
    assert [(each.get_text(), each.xy) for each in axes.texts] == [
        (f"{each.ply}. {each.text}", (each.ply, analysis.values[each.ply]))
        for each in analysis.worst()
    ]


# Agents that think for a given time.


def test_memory_is_shared_by_the_games_in_play(monkeypatch):
    network = build_network(network_shape(GAME), 4, 1)
    monkeypatch.setattr("ludarium.training.agents.timed._MEMORY", 8_000_000)
    agent = TimedNetworkAgent(GAME, network, 0.001, backend="eager")
    states = np.repeat(GAME.start(0).states, 4)
    moves: list[list[int]] = [[] for _ in range(4)]
    games = [GameInPlay(GAME, number, 0, 0, states, moves[number]) for number in range(4)]
    agent.begin(games)
    chosen = agent.play(games, states)
    assert {each.memory.search.memory for each in games} == {2_000_000}
    tree = games[0].memory.search
    position = GAME.start(0)
    for action in (int(chosen[0]), int(chosen[0] == 0)):  # the agent's, and some other
        position.play(action)
        moves[0].append(action)
    states[0] = position.states[0]
    agent.play(games[:1], states[:1])
    assert games[0].memory.search is tree
    assert (tree.state == position.states).all()


class Searches:
    """What `TimedNetworkAgent` asks of its searches, on a machine of three cores.

    Attributes:
        made: number of batches and memory of each new search.
        budgets: of each call of ``think``.
        emptied: how often a cache of a thread was emptied.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[int, int]] = []
        self.budgets: list[Budget] = []
        self.emptied = 0
        think = TreeSearch.think

        def make(*arguments: Any) -> TreeSearch:
            self.made.append((len(arguments[4]), arguments[5]))
            return TreeSearch(*arguments)

        def think_little(search: TreeSearch, budget: Budget) -> None:
            self.budgets.append(budget)
            think(search, Budget(simulations=2))

        def empty(cache: Any) -> None:
            self.emptied += 1

        monkeypatch.setattr(timed, "available_cores", lambda: 3)
        monkeypatch.setattr(timed, "_MEMORY", 12_000_000)
        monkeypatch.setattr(timed, "TreeSearch", make)
        monkeypatch.setattr(TreeSearch, "think", think_little)
        monkeypatch.setattr(timed, "empty", empty)

    def new_agent(self, seconds: float = 1) -> TimedNetworkAgent:
        network = build_network(network_shape(GAME), 4, 1)
        agent = TimedNetworkAgent(GAME, network, seconds, backend="eager")
        self.made.clear()
        self.budgets.clear()
        return agent


def games_in_play(count: int) -> list[GameInPlay]:
    return [GameInPlay(GAME, each, 0, 0, GAME.start(0).states, []) for each in range(count)]


def test_one_position_gets_all_cores_and_of_several_each_gets_one(monkeypatch):
    searches = Searches(monkeypatch)
    agent = searches.new_agent()
    agent.search(GAME.start(0).states)
    agent.search(GAME.start(0).states.repeat(2))
    agent.search(GAME.start(0).states.repeat(5))
    assert searches.made == [(3, 12_000_000)] + 2 * [(1, 6_000_000)] + 5 * [(1, 4_000_000)]
    games = games_in_play(2)
    agent.play(games, GAME.start(0).states.repeat(2))
    agent.play(games[:1], GAME.start(0).states)  # the other has ended
    assert len(games[0].memory.search.batches) == 3
    assert len(searches.made) == 10


def test_games_that_end_leave_their_memory_to_others(monkeypatch):
    searches = Searches(monkeypatch)
    agent = searches.new_agent()
    games = games_in_play(6)
    agent.begin(games)
    agent.play(games[:1], GAME.start(0).states)
    agent.finish(games[:4])
    assert games[0].memory is None
    agent.play(games[4:5], GAME.start(0).states)
    agent.play(games[:4], GAME.start(0).states.repeat(4))  # never begun
    assert [memory for _, memory in searches.made] == [2_000_000, 6_000_000] + 4 * [3_000_000]


@pytest.mark.parametrize(("seconds", "left"), [(1, 0.75), (0.125, 0.0)])
def test_setting_up_a_search_is_part_of_its_seconds(seconds, left, monkeypatch):
    searches = Searches(monkeypatch)
    agent = searches.new_agent(seconds)
    monkeypatch.setattr(timed, "time", Clock(0.25))
    agent.search(GAME.start(0).states)
    agent.budget = Budget(simulations=7)
    agent.search(GAME.start(0).states)
    assert searches.budgets == [Budget(seconds=left), Budget(simulations=7)]


def test_answers_are_forgotten_once_when_weights_change(monkeypatch):
    searches = Searches(monkeypatch)
    evaluate = partial(searches.new_agent()._evaluator)  # as a function of the user's own
    agent = TimedNetworkAgent(GAME, evaluate, 1)
    games, states = games_in_play(1), GAME.start(0).states
    agent.play(games, states)
    first = games[0].memory.search
    assert searches.emptied == 0
    evaluate.version = 77
    for _ in range(2):
        agent.play(games, states)
    assert searches.emptied == 3
    assert games[0].memory.search is not first
    assert len(searches.made) == 3, "with the one that compiles"


def test_a_copy_of_an_agent_or_a_game_begins_with_a_new_tree(monkeypatch):
    searches = Searches(monkeypatch)
    agent = searches.new_agent()
    games, states = games_in_play(1), GAME.start(0).states
    agent.play(games, states)
    agent, games = copy.deepcopy((agent, games))
    assert games[0].memory is None
    agent.play(games, states)
    assert searches.made == 2 * [(3, 12_000_000)]


class Clock(threading.local):
    """Of each thread its own, which goes on by ``step`` seconds when it is looked at."""

    def __init__(self, step: float = 1e-4) -> None:
        self.now, self.step = 0.0, step

    def perf_counter(self) -> float:
        self.now += self.step
        return self.now


@pytest.mark.parametrize("spec", ["uct:time=5ms", "uct?time=5ms&exploration=1"])
def test_a_time_in_place_of_playouts(spec, monkeypatch):
    clock = "ludarium.training.agents.uct_search.time"
    monkeypatch.setattr(clock, Clock())  # no machine is too slow
    agent = make_agent(spec, GAME, seed=1)
    assert agent.name == spec.replace("uct:", "uct?")
    states = np.concatenate([from_start().states, from_start("a1", "b2", "a2", "c3").states])
    actions = agent.actions(states)
    assert GAME.action_names[actions[1]] == "a3"
    assert agent.choose(from_start("a1", "b2", "a2", "c3")) == actions[1]
