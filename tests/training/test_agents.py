"""The agents: what they choose, that it is legal, and that a seed decides it."""

from __future__ import annotations

import itertools
import signal
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ludarium.envs import Game, Position, make_game
from ludarium.envs.engine.rule import PLAYER_1_WINS
from ludarium.machine.unit import Unit
from ludarium.training.agents import AlphaBetaAgent, UCTAgent, make_agent, uct_search
from ludarium.training.agents.alphabeta import WIN
from ludarium.training.evaluation import play_match
from ludarium.training.search import Budget, SearchResult
from tests.games import ALL_GAMES, after, children, random_positions, slow_but, states_of
from tests.processes import python
from tests.progress import StopWhen
from tests.tictactoe import TicTacToe
from tests.training.random_tree import RandomTree

SPECS = ["random", "greedy", "uct:40", "alphabeta:2", "endgame:uct:20?positions=50"]


@pytest.fixture
def corso() -> Game:
    return make_game("corso")


def unfinished(game: Game, count: int, seed: int = 0) -> list[Position]:
    return [position for position in random_positions(game, count, seed) if not position.is_over]


def uct(game: Game, playouts: int, seed: int = 0) -> UCTAgent:
    return UCTAgent(game, Budget(simulations=playouts), seed=seed)


def same_result(one: SearchResult, other: SearchResult) -> None:
    for name, array in vars(one).items():
        np.testing.assert_array_equal(getattr(other, name), array, name)


# Every agent.


@pytest.mark.parametrize("name", slow_but(["corso", "tictactoe"], ALL_GAMES))
def test_agents_choose_legal_actions_in_every_game(name: str) -> None:
    game = ALL_GAMES[name]()
    positions = random_positions(game, 12)
    for spec in SPECS:
        if not game.has_score and spec.startswith(("greedy", "alphabeta")):
            with pytest.raises(ValueError, match="score"):
                make_agent(spec, game, seed=1)
            continue
        agent = make_agent(spec, game, seed=1)
        actions = agent.actions(states_of(positions))
        assert actions.dtype == np.int64
        for position, action in zip(positions, actions, strict=True):
            assert action == -1 if position.is_over else position.mask[action]


@pytest.mark.parametrize("spec", SPECS)
def test_the_seed_decides_and_a_batch_is_the_same_as_one_by_one(corso: Game, spec: str) -> None:
    positions = unfinished(corso, 40)
    agent = make_agent(spec, corso, seed=5)
    together = agent.actions(states_of(positions))
    agent.restart(5)
    assert [agent.choose(position) for position in positions] == together.tolist()
    agent.restart(6)
    assert agent.actions(states_of(positions)).tolist() != together.tolist()
    again = make_agent(spec, corso, seed=5)
    assert again.actions(states_of(positions)).tolist() == together.tolist()


@pytest.mark.parametrize("spec", SPECS)
def test_agents_do_not_change_the_positions(corso: Game, spec: str) -> None:
    states = states_of(unfinished(corso, 10))
    before = states.copy()
    states.flags.writeable = False
    make_agent(spec, corso, seed=0).actions(states)
    assert (states == before).all()


@pytest.mark.parametrize("spec", ["uct:3", "alphabeta:4"])
def test_cores_change_nothing(corso: Game, spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    states = states_of(unfinished(corso, 60))
    found = []
    module = uct_search if spec == "uct:3" else sys.modules[AlphaBetaAgent.__module__]
    for cores in (1, 7):
        monkeypatch.setattr(module, "available_cores", lambda n=cores: n)
        found.append(make_agent(spec, corso, seed=0).search(states))
    same_result(*found)


def test_every_tree_of_uct_asks_whether_it_is_to_stop(
    corso: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one thread does the work of all, as within another search."""

    def by_one_thread(task: Callable[[int, int], None], count: int, *others: object) -> None:
        for number in range(count):
            task(0, number)

    monkeypatch.setattr(uct_search, "run_tasks", by_one_thread)
    monkeypatch.setattr(uct_search, "available_cores", lambda: 4)
    search = uct(corso, 1, seed=1).start_search(corso.start())
    search.think(Budget(simulations=400), StopWhen(lambda: search.simulations >= 300))
    assert search.simulations == 300
    search.restart(corso.start().states)
    ticks = itertools.count()  # a second for each look at the clock
    monkeypatch.setattr(uct_search, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    monkeypatch.setattr(search, "_limits", [16] * 4)
    search.think(Budget(simulations=400, seconds=2))
    assert search.simulations == 4 * 16


def test_uct_with_playouts_asks_whether_it_is_to_stop(
    corso: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = itertools.count(1)
    positions, budget = unfinished(corso, 40), Budget(simulations=1_000_000)
    search = uct_search.UCTSearch(corso, 0.7)
    search.make_room(1_000_000)
    search.restart(states_of(positions), np.ones((len(positions), 2), np.int64))
    search.think(budget, StopWhen(lambda: next(asked) == 3))
    found = search.result()
    assert 0 < found.simulations < 1_000_000
    assert all(position.mask[found.actions[n]] for n, position in enumerate(positions))


@pytest.mark.parametrize("count", [1, 3])
def test_an_interrupt_ends_long_searches_of_uct(corso: Game, count: int) -> None:
    agent = uct(corso, 10_000_000)
    states = states_of(unfinished(corso, 10)[:count])
    uct(corso, 1).search(states)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        agent.search(states)
    timer.join()
    assert agent._search.simulations < 10_000_000


def test_long_searches_go_in_portions_that_change_nothing(
    corso: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = states_of(unfinished(corso, 40))
    whole = uct(corso, 20).search(states)
    monkeypatch.setattr(uct_search, "_TASK_PLAYOUTS", 50)
    monkeypatch.setattr(uct_search, "_MOST_PLAYOUTS_AT_ONCE", 7)
    same_result(uct(corso, 20).search(states), whole)


@pytest.mark.parametrize("spec", SPECS)
def test_agents_take_no_positions_at_all_and_strided_ones(corso: Game, spec: str) -> None:
    agent = make_agent(spec, corso, seed=0)
    states = states_of(unfinished(corso, 10))
    assert agent.actions(states[:0]).shape == (0,)
    strided = agent.actions(states[::2])
    agent.restart(0)
    assert (agent.actions(states[::2].copy()) == strided).all()


def test_a_network_with_a_time_takes_no_positions_too(corso: Game) -> None:
    found = make_agent("corso?time=1ms", corso).search(corso.new_states(0))
    assert found.policies.shape == (0, corso.num_actions)


def test_no_way_to_pass_positions_compiles_anew(
    corso: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = uct(corso, 10)
    states = states_of(unfinished(corso, 10))
    agent.actions(states)
    monkeypatch.delattr(Unit, "_load")
    locked = states.copy()
    locked.flags.writeable = False
    for others in (states[::2], locked, corso.start().states, states[:0]):
        agent.actions(others)


@pytest.mark.parametrize("seed", [-1, "x", 1.5, True])
def test_what_is_no_seed_of_an_agent_or_a_match_is_named(corso: Game, seed: Any) -> None:
    message = "seed is .*; accepted: an integer from 0 to"
    for spec in ("random", "uct:5"):
        with pytest.raises(ValueError, match=message):
            make_agent(spec, corso, seed)
    with pytest.raises(ValueError, match=message):
        play_match(corso, "random", "random", 2, seed)


def test_uct_needs_playouts_or_a_time(corso: Game) -> None:
    with pytest.raises(ValueError, match="uct playouts is None; accepted: a whole"):
        UCTAgent(corso, Budget())


def test_an_agent_refuses_what_it_cannot_decide(corso: Game) -> None:
    agent = make_agent("random", corso)
    with pytest.raises(ValueError, match=r"plays Corso\(size=5\), not Corso\(size=4\)"):
        agent.choose(make_game("corso", size=4).start())
    over = next(position for position in random_positions(corso, 5) if position.is_over)
    with pytest.raises(ValueError, match="random cannot move: the game is over"):
        agent.choose(over)
    with pytest.raises(ValueError, match=r"positions of Corso.* are needed"):
        agent.actions(np.zeros(3))
    with pytest.raises(ValueError, match=r"of shape \[N\], not \(1, 1\)"):
        agent.actions(corso.start().states.reshape(1, 1))


# Arguments.


def test_positions_from_a_file_are_decided_though_they_are_the_first(tmp_path) -> None:
    """Their type has lost the flag that it is aligned: another type to the compiler."""
    np.save(tmp_path / "positions.npy", make_game("corso").start(seed=1).states)
    code = (
        "import sys, numpy as np\n"
        "from ludarium.envs import make_game\n"
        "from ludarium.training.agents import make_agent\n"
        "states = np.load(sys.argv[1])\n"
        "assert not states.dtype.isalignedstruct\n"
        "game = make_game('corso')\n"
        "assert make_agent('uct:5', game, seed=1).actions(states)[0] >= 0\n"
    )
    python(code, tmp_path / "positions.npy", check=True)


def test_a_game_without_score_has_no_greedy_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    game = TicTacToe()
    monkeypatch.setattr(game, "has_score", False)
    with pytest.raises(ValueError, match="greedy need a score, and the rules of tictactoe"):
        make_agent("greedy", game)


# Greedy and alpha-beta.


def minimax(position: Position, depth: int, ply: int = 0) -> int:
    """Plain full-width minimax in player 0's view, as `AlphaBetaAgent` values positions."""
    if position.is_over:
        return position.rewards[0] * (WIN - ply)
    if ply == depth:
        return position.score
    values = [minimax(child, depth, ply + 1) for child in children(position).values()]
    return min(values) if position.mover else max(values)


def check_against_minimax(game: Game, positions: list[Position], depth: int) -> None:
    agent, states = AlphaBetaAgent(game, depth, seed=0), states_of(positions)
    actions, scores, bests = agent.minimax(states)
    found = agent.search(states)
    for index, position in enumerate(positions):
        values = {action: minimax(child, depth, 1) for action, child in children(position).items()}
        value = min(values.values()) if position.mover else max(values.values())
        assert scores[index] == value
        best = [action for action, other in values.items() if other == value]
        assert np.flatnonzero(bests[index]).tolist() == best
        assert np.flatnonzero(found.policies[index]).tolist() == best
        assert actions[index] in best
        assert found.proven[index] == (abs(value) >= WIN - depth)
        if found.proven[index]:
            assert found.values[index] == np.sign(value) * (-1 if position.mover else 1)
        else:
            assert np.isnan(found.values[index])


@pytest.mark.parametrize("depth", range(1, 8))
def test_alphabeta_equals_minimax_where_players_move_several_times_in_a_row(depth: int) -> None:
    for number in range(8):
        game = RandomTree(number=number)
        check_against_minimax(game, [game.start(), *unfinished(game, 6, number)], depth)


@pytest.mark.parametrize(
    ("name", "plies", "depth"),
    [("corso", 8, 1), ("corso", 8, 2), ("corso", 8, 3), ("tictactoe", 3, 3), ("tictactoe", 3, 9)],
)
def test_alphabeta_equals_minimax_late_in_a_game(name: str, plies: int, depth: int) -> None:
    game = ALL_GAMES[name]()
    late = [position for position in unfinished(game, 60) if position.ply >= plies]
    check_against_minimax(game, late[:10], depth)


def test_equally_good_actions_are_all_chosen_at_times(corso: Game) -> None:
    states = np.repeat(corso.start().states, 400)
    result = AlphaBetaAgent(corso, 1, seed=0).search(states)
    assert set(result.actions) == set(np.flatnonzero(result.policies[0]))


def test_greedy_takes_the_best_score(corso: Game) -> None:
    for position in unfinished(corso, 30):
        sign = 1 - 2 * position.mover
        values = {
            action: sign * (WIN * child.rewards[0] if child.is_over else child.score)
            for action, child in children(position).items()
        }
        assert values[make_agent("greedy", corso).choose(position)] == max(values.values())


# UCT.


def test_uct_shares_its_playouts_among_legal_actions(corso: Game) -> None:
    positions = random_positions(corso, 20)
    result = uct(corso, 150).search(states_of(positions))
    assert result.values.dtype == np.float32
    assert (abs(result.values) <= 1).all()
    for index, position in enumerate(positions):
        visits = result.visits[index]
        assert visits.sum() == (0 if position.is_over else 150)
        assert not visits[position.mask == 0].any()
        if not position.is_over:
            assert visits[result.actions[index]] == visits.max()


def test_uct_tries_every_action_before_any_twice(corso: Game) -> None:
    for position in unfinished(corso, 10):
        found = uct(corso, len(position.legal_actions)).search(position.states)
        assert (found.visits[0] == position.mask).all()


def test_values_are_in_the_view_of_the_player_to_move() -> None:
    before = after(TicTacToe().start(), "a1", "a2", "b1", "b2")
    lost = after(before, "c3")  # now O wins on c2
    agent = uct(before.game, 300)
    values = agent.search(states_of([before, lost])).values
    assert (values > 0.7).all()
    over = after(lost, "c2")
    assert over.outcome == PLAYER_1_WINS
    assert agent.search(over.states).values[0] == over.rewards[over.mover]


def test_uct_finds_the_best_action_where_players_move_several_times_in_a_row() -> None:
    for number in range(20):
        position = RandomTree(number=number).start()
        action = make_agent("uct:10000", position.game, number).choose(position)
        values = {action: minimax(child, 99) for action, child in children(position).items()}
        results = {action: np.sign(value) for action, value in values.items()}
        best = min(results.values()) if position.mover else max(results.values())
        assert results[action] == best


def test_a_full_tree_stops_growing_and_goes_on_counting(
    corso: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uct_search, "MOST_NODES", 60)
    result = uct(corso, 500).search(corso.start().states)
    assert result.visits.sum() == 500
    assert corso.start().mask[result.actions[0]]


def test_a_temperature_to_draw_at_is_not_below_0():
    for wrong in (-1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="temperature is a number from 0 on, not"):
            UCTAgent(make_game("corso"), Budget(simulations=1), temperature=wrong)


def test_actions_are_drawn_by_their_shares_to_a_power() -> None:
    shares = np.tile(np.array([0.6, 0.3, 0.1, 0], np.float32), (20_000, 1))
    found: Any = SimpleNamespace(policies=shares)
    for temperature in (1.0, 0.5):
        agent = UCTAgent(make_game("corso"), Budget(simulations=1), seed=1, temperature=temperature)
        actions = agent.select(found)
        counts = np.bincount(actions, minlength=4) / len(shares)
        expected = shares[0] ** (1 / temperature)
        np.testing.assert_allclose(counts, expected / expected.sum(), atol=0.02)
        assert counts[3] == 0
