"""The search of one position: many leaves at a time, and a tree that lasts."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest

from ludarium.base.progress import Periodic
from ludarium.envs import Position, make_game
from ludarium.models import Evaluation
from ludarium.training.agents import UCTAgent, uct_search
from ludarium.training.search import BatchSearch, Budget, SearchSettings, TreeSearch
from ludarium.training.search.tree_search import new_batches
from tests.games import after, changed, children, positions_after
from tests.progress import StopWhen
from tests.tictactoe import TicTacToe

from .test_search import exact_value, random_network

GAME = TicTacToe()
DRAW = 0.25


def from_start(*texts: str) -> Position:
    return after(GAME.start(0), *texts)


def evaluate(observations: np.ndarray) -> Evaluation:
    """Made-up answers with a quarter of draws."""
    found = random_network(1, GAME.num_actions)(observations)
    wdl = (1 - DRAW) * found.wdl
    wdl[:, 1] = DRAW
    return found._replace(wdl=wdl)


def search(position: Position, threads: int = 1, size: int = 8, cache: float = 1.0, **others):
    batches = new_batches(GAME, threads, size, cache)
    return TreeSearch(GAME, position.states, evaluate, batches=batches, **others)


def visits_by_action(tree: TreeSearch) -> np.ndarray:
    return tree.result().visits[0].astype(np.int64)


def test_with_one_leaf_at_a_time_it_is_the_batched_search():
    position = from_start("b2")
    settings = SearchSettings(simulations=60, algorithm="puct")
    batched = BatchSearch(GAME, settings, 1).run(position.states, evaluate)
    tree = search(position, size=1, cache=0.0)
    tree.think(Budget(simulations=60))
    assert (visits_by_action(tree) == batched.visits[0]).all()
    assert tree.result().values[0] == pytest.approx(batched.values[0], abs=1e-6)


def test_many_leaves_at_a_time_find_about_the_same():
    position = from_start("b2")
    settings = SearchSettings(algorithm="puct", solver=False)
    one, many = (search(position, size=size, settings=settings) for size in (1, 8))
    for tree in (one, many):
        tree.think(Budget(simulations=2000))
    assert many.result().values[0] == pytest.approx(one.result().values[0], abs=0.05)
    moved = np.abs(visits_by_action(many) - visits_by_action(one)).sum() / 2
    assert moved < 0.25 * 2000


@pytest.mark.parametrize("threads", [1, 3])
def test_no_simulation_is_lost_or_counted_twice(threads):
    """However the threads take turns: each node has the mean of what ended in it and below it."""
    tree = search(
        from_start("b2"), threads, settings=SearchSettings(algorithm="puct", solver=False)
    )
    tree.think(Budget(simulations=1500))
    assert tree.simulations == 1500
    assert tree.result().visits.sum() == 1500
    nodes = tree._nodes[: tree.size]
    assert not nodes["pending"].any()
    parents, below = nodes["parent"][1:], nodes[1:]
    visits, sums = (nodes["evaluated"].astype(float), nodes["raw_value"].astype(float))
    np.add.at(visits, parents, below["visits"])
    np.add.at(sums, parents, below["visits"] * below["value"].astype(float))
    inner = nodes["evaluated"] == 1
    assert inner.sum() > 100
    np.testing.assert_array_equal(nodes["visits"][inner], visits[inner])
    np.testing.assert_allclose((nodes["value"] * nodes["visits"])[inner], sums[inner], atol=1e-3)
    ended = tree._states["outcome"][: len(nodes)] != 0
    np.testing.assert_array_equal(inner, ~ended)
    assert set(np.abs(nodes["value"][ended])) <= {0.0, 1.0}


def test_enough_simulations_prove_the_exact_value():
    for position in positions_after(GAME, 3, 12):
        tree = search(position, threads=2)
        tree.think(Budget(simulations=30_000))
        found = tree.result()
        assert found.proven[0]
        assert found.values[0] == exact_value(position)
        assert found.draws[0] == (found.values[0] == 0)
        assert -exact_value(after(position, found.actions[0])) == found.values[0]


def test_a_win_at_once_is_found_and_exact_without_a_search():
    tree = search(from_start("a1", "b2", "a2", "c3"))  # a3 wins
    found, ((best, *_), *others) = tree.result(), tree.lines()
    assert GAME.action_names[best] == "a3"
    assert (found.values[0], found.proven_actions[0, best], found.proven[0]) == (1.0, True, True)
    assert np.isnan(found.action_values[0, [line[0] for line in others]]).all()


def test_one_thread_finds_the_same_again():
    first, second = (search(from_start("b2")) for _ in range(2))
    for tree in (first, second):
        tree.think(Budget(simulations=200))
    assert (visits_by_action(first) == visits_by_action(second)).all()
    assert first.lines() == second.lines()


@pytest.mark.parametrize("mover", [0, 1])
def test_the_tree_is_kept_when_a_move_is_played(mover):
    tree = search(from_start(*["b2"] * mover), settings=SearchSettings(algorithm="puct", noise=0.1))
    tree.think(Budget(simulations=100))
    before = tree.result()
    action = int(before.actions[0])
    (first, following, *_), *_ = tree.lines()
    assert first == action
    visits = before.visits[0, action]
    tree.play(action)
    kept = tree.result()
    assert kept.simulations == visits - 1 == kept.visits.sum()
    root = tree._nodes[0]
    assert root["sign"] * root["value"] == pytest.approx(-before.action_values[0, action], abs=1e-5)
    assert tree._roots["noise"][0, action] == 0, "noise is of the actions that are legal now"
    assert kept.draws[0] == pytest.approx(before.action_draws[0, action], abs=1e-5)
    assert kept.actions[0] == following
    assert tree.size <= visits
    tree.think(Budget(simulations=kept.simulations + 50))
    assert tree.result().visits.sum() == kept.simulations + 50


def test_a_move_that_was_never_tried_begins_a_new_tree():
    tree = search(from_start("b2"))
    with pytest.raises(ValueError, match="action 9 is not legal"):
        tree.play(9)
    tree.play(0)
    assert tree.simulations == 0
    assert tree.state["ply"][0] == 2


def test_a_game_can_be_played_to_its_end_in_one_tree():
    position = GAME.start(0)
    tree = search(position, threads=2)
    while True:
        tree.think(Budget(simulations=1_000_000))  # there are not as many positions: it is proven
        assert tree.is_exact
        action = int(tree.result().actions[0])
        position.play(action)
        if position.is_over:
            break
        tree.play(action)
        assert (tree.state == position.states).all()
    assert position.rewards == (0, 0)
    with pytest.raises(ValueError, match="nothing to search in a finished game"):
        tree.restart(position.states)


def test_draws_of_the_network_are_averaged():
    tree = search(GAME.start(0), settings=SearchSettings(algorithm="puct", solver=False))
    tree.think(Budget(simulations=8))  # no end of the game is that near
    found = tree.result()
    assert found.draws[0] == pytest.approx(DRAW)
    assert found.action_draws[found.visits > 0] == pytest.approx(DRAW)


def test_games_that_the_rules_end_as_draws_count_without_proofs_too():
    position = from_start("a1", "b2", "c3", "b1", "b3", "a3", "c1", "c2")  # the last move draws
    tree = search(position, settings=SearchSettings(algorithm="puct", solver=False))
    tree.think(Budget(simulations=9))
    assert tree.result().draws[0] == pytest.approx((9 + DRAW) / 10)
    assert np.nanmax(tree.result().action_draws) == 1


def test_a_proven_outcome_ends_the_thinking_unless_points_are_played_for():
    position, asked = make_game("corso", size=3).start(), []
    for text in ("b2", "a1", "c3", "a2", "c2"):
        position.play_moves(text)

    def counted(observations: np.ndarray) -> Evaluation:
        asked.append(len(observations))
        return random_network(1, 9)(observations)

    for score in (0.0, 0.5):
        asked.clear()
        settings = SearchSettings(algorithm="puct", score=score)
        batches = new_batches(position.game, 1, 8, 0.0)
        tree = TreeSearch(position.game, position.states, counted, settings, batches)
        tree.think(Budget(simulations=5000))
        assert tree.is_exact
        assert (tree.simulations < 5000) == (score == 0)
        assert tree.evaluations == sum(asked)


def test_a_kept_win_at_once_is_played_also_where_points_are_searched_for():
    game, kept = make_game("corso", size=4), 0
    network = random_network(1, game.num_actions)
    settings = SearchSettings(algorithm="puct", score=0.5)
    for seed in range(40):
        position, rng = game.start(), np.random.default_rng(seed)
        while position.ply < 9:
            position.play(int(rng.choice(position.legal_actions)))
        for action, child in children(position).items():
            mover, ends = child.mover, [end for end in children(child).values() if end.is_over]
            if not any(end.rewards[mover] > 0 for end in ends):
                continue
            batches = new_batches(game, 1, 8, 0.0)
            tree = TreeSearch(game, position.states, network, settings, batches)
            tree.think(Budget(simulations=300))
            kept += visits_by_action(tree)[action] > 1
            tree.play(action)
            found = tree.result()
            assert found.policies.sum() == pytest.approx(1)
            assert found.proven_actions[0, found.actions[0]]
    assert kept > 3


def test_what_ends_the_thinking():
    tree = search(GAME.start(0), settings=SearchSettings(algorithm="puct", solver=False))
    calls = itertools.count()
    tree.think(Budget(), StopWhen(lambda: next(calls) == 5))
    assert 0 < tree.simulations < 500
    began = time.perf_counter()
    reports: list[int] = []
    tree.think(Budget(seconds=0.05), Periodic(lambda: reports.append(tree.simulations), 0.01))
    assert time.perf_counter() - began >= 0.05
    assert reports == sorted(reports)
    assert reports
    with pytest.raises(ValueError, match="every is -1; accepted: seconds from 0 on"):
        Periodic(reports.clear, -1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *[
            ({"simulations": wrong}, f"simulations of a budget is {wrong!r}; accepted: a whole")
            for wrong in (-1, 1.5, True, "9")
        ],
        *[
            ({"seconds": wrong}, f"seconds of a budget is {wrong!r}; accepted: a finite number")
            for wrong in (-1, math.nan, math.inf, True, "9")
        ],
    ],
)
def test_a_budget_has_whole_simulations_and_finite_seconds(given: dict, message: str):
    with pytest.raises(ValueError, match=message):
        Budget(**given)


def test_a_full_memory_ends_the_thinking_and_a_move_or_a_new_tree_makes_room():
    settings = SearchSettings(algorithm="puct", solver=False)
    tree = search(GAME.start(0), settings=settings, memory=300_000)
    tree.think(Budget(simulations=1_000_000))
    assert tree.is_full
    assert tree.bytes <= 1_000_000  # what it begins with is more than that memory
    done = tree.simulations
    tree.play(int(tree.result().actions[0]))
    kept = tree.simulations
    tree.think(Budget(simulations=kept + 20))
    assert done > tree.simulations == kept + 20
    tree.think(Budget(simulations=1_000_000))
    assert tree.is_full
    tree.restart(GAME.start(0).states)
    tree.think(Budget(simulations=20))
    assert tree.simulations == 20


def test_after_one_visit_a_bound_chooses_the_visited_action():
    tree = search(from_start("b2"))
    tree.think(Budget(simulations=1))
    (visited,) = np.flatnonzero(tree.result().visits[0])
    assert tree.result(3.0).actions[0] == tree.result().actions[0] == visited


def test_a_failing_network_leaves_an_empty_tree_that_works():
    failing = True

    def unreliable(observations: np.ndarray) -> Evaluation:
        if failing and len(observations) > 1:
            raise RuntimeError("no memory")
        return evaluate(observations)

    tree = TreeSearch(GAME, from_start("b2").states, unreliable, batches=new_batches(GAME, 2, 8))
    with pytest.raises(RuntimeError, match="no memory"):
        tree.think(Budget(simulations=500))
    failing = False
    assert tree.simulations == 0
    tree.think(Budget(simulations=50))
    assert tree.result().visits.sum() == 50


def test_answers_are_cached_by_observation():
    tree = search(GAME.start(0), settings=SearchSettings(algorithm="puct", solver=False))
    tree.think(Budget(simulations=500))
    assert tree.evaluations < 400 < tree.simulations


def test_uct_can_be_resumed_and_is_the_same_search(monkeypatch):
    monkeypatch.setattr(uct_search, "available_cores", lambda: 1)
    position = from_start("b2")
    expected = UCTAgent(GAME, Budget(simulations=300), 1.3, seed=3).search(position.states)
    resumed = UCTAgent(GAME, Budget(simulations=300), 1.3, seed=3).start_search(position)
    resumed.think(Budget(simulations=100))
    assert resumed.simulations == 100
    resumed.think(Budget(simulations=300))
    found = resumed.result()
    for name, array in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), array)
    assert not (np.abs(found.action_values) + found.action_draws > 1.001).any()
    assert resumed.lines()[0][0] == found.actions[0]
    resumed.think(Budget(seconds=0.01))
    assert resumed.simulations > 300


def test_uct_adds_up_the_trees_of_its_threads(monkeypatch):
    monkeypatch.setattr(uct_search, "available_cores", lambda: 3)
    position = from_start("a1", "b2", "a2", "c3")
    resumed = UCTAgent(GAME, Budget(simulations=1), seed=1).start_search(position)
    assert {len(line) for line in resumed.lines()} == {1}
    resumed.think(Budget(simulations=1000))
    assert resumed.result().visits.sum() == resumed.simulations == 1000
    best, second, *_ = resumed.lines()
    assert GAME.action_names[best[0]] == "a3"
    assert len(second) > 1


@pytest.mark.parametrize("mover", [0, 1])
def test_actions_are_ranked_by_visits_and_then_by_their_value_for_the_mover(mover):
    tree = search(from_start(*["b2"] * mover))
    tree.think(Budget(simulations=20))
    found = tree.result()
    ranked = [(found.visits[0, each], found.action_values[0, each]) for each, *_ in tree.lines()]
    visited = [(visits, value) for visits, value in ranked if visits]
    assert visited == sorted(visited, reverse=True) == ranked[: len(visited)]
    assert len({visits for visits, _ in visited}) < len(visited)


@pytest.mark.parametrize("mover", [0, 1])
def test_uct_ranks_equally_visited_actions_by_their_results_for_the_mover(mover, monkeypatch):
    """Whoever it is at that ply."""
    monkeypatch.setattr(uct_search, "available_cores", lambda: 1)
    position = changed(GAME.start(0), mover=mover)
    resumed = UCTAgent(GAME, Budget(simulations=1), seed=5).start_search(position)
    resumed.think(Budget(simulations=9))
    found = resumed.result()
    assert (found.visits == 1).all()
    assert {-1, 1} <= set(found.action_values[0])
    assert (np.diff(found.action_values[0, [line[0] for line in resumed.lines()]]) <= 0).all()


def test_squares_are_the_means_of_what_was_backed_up():
    tree = search(from_start("b2"), settings=SearchSettings(algorithm="puct", solver=False))
    tree.think(Budget(simulations=300))
    nodes = tree._nodes[: tree.size]
    sums = nodes["raw_value"].astype(float) ** 2
    for number in range(len(nodes) - 1, 0, -1):
        node = nodes[number]
        if not node["evaluated"]:  # the game is over here: each visit backed up the same value
            sums[number] = node["visits"] * node["value"] ** 2
        sums[node["parent"]] += sums[number]
    np.testing.assert_allclose(nodes["value_sq"], sums / nodes["visits"], atol=1e-4)


def test_an_action_that_is_surely_better_is_played_before_it_has_most_visits():
    tree = search(from_start("b2"), settings=SearchSettings(algorithm="puct", solver=False))
    tree.think(Budget(simulations=300))
    root, sign = tree._nodes[0], tree._nodes[0]["sign"]
    edges = tree._edges[root["first"] : root["end"]]
    children = edges["child"]
    for index, (visits, value, value_sq) in enumerate(((100, 0.1, 0.2), (60, 0.5, 1.85))):
        node = tree._nodes[children[index]]
        node["visits"], node["value"], node["value_sq"] = visits, sign * value, value_sq
    tree._nodes["visits"][children[2:]] = 5
    tree._nodes["value"][children[2:]] = sign
    assert tree.result().actions[0] == edges["action"][0]
    assert tree.result(3.0).actions[0] == edges["action"][1]  # and not one that was hardly visited
    tree._nodes["value_sq"][children[1]] = 2.45  # 0.5 - 3 sqrt(2.2 / 60) < 0.1 - 3 sqrt(0.19 / 100)
    assert tree.result(3.0).actions[0] == edges["action"][0]
