"""The search beyond mctx: exact values, both selection rules, players who move twice in a row."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from msgspec.structs import replace

from ludarium.envs import Position, make_game
from ludarium.envs.engine.codec import observations_of
from ludarium.models import Evaluation
from ludarium.training.search import Search, SearchSettings, puct
from ludarium.training.search.settings import settings_record
from ludarium.training.search.tree import EDGE, NO_NODE, NODE
from tests.games import ALL_GAMES, after, children, positions_after, slow_but, states_of

from .random_tree import RandomTree

ALGORITHMS = pytest.mark.parametrize("algorithm", ["gumbel", "puct"])


def random_network(seed: int, num_actions: int):
    """An evaluator with made-up but fixed answers for each observation."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(4096, num_actions + 1)).astype(np.float32)

    def evaluate(observations: np.ndarray):
        flat = observations.reshape(len(observations), -1)
        answers = np.sin(flat @ weights[: flat.shape[1]])
        known = Evaluation.of_values(3 * answers[:, 1:], 0.9 * answers[:, 0])
        return known._replace(score=np.tanh(answers[:, 1]))

    return evaluate


def exact_value(position: Position) -> int:
    """Minimax value for the player to move."""
    if position.is_over:
        return position.rewards[position.mover]
    best = -1
    for action in position.legal_actions:
        child = after(position, action)
        value = exact_value(child)
        best = max(best, value if child.mover == position.mover else -value)
        if best == 1:
            break
    return best


@ALGORITHMS
def test_enough_simulations_prove_the_exact_value(algorithm):
    game = make_game("corso", size=3)
    positions = positions_after(game, 4, 40)
    settings = SearchSettings(simulations=4000, algorithm=algorithm)
    search = Search(game, settings, batch=40, seed=0)
    found = search.run(states_of(positions), random_network(1, 9))
    assert found.proven.all()
    assert [exact_value(position) for position in positions] == list(found.values)
    for position, action, policy in zip(positions, found.actions, found.policies, strict=True):
        for chosen in {int(action), *np.flatnonzero(policy > 0)}:
            assert -exact_value(after(position, chosen)) == exact_value(position)


def worth_with_score(position: Position, share: float) -> float:
    """Minimax of the outcome with a share of the score, in the mover's view."""
    sign = 1 - 2 * position.mover
    if position.is_over:
        points = sign * position.score / position.game.max_score
        return (1 - share) * sign * position.rewards[0] + share * points
    worths = []
    for child in children(position).values():
        worth = worth_with_score(child, share)
        worths.append(worth if child.mover == position.mover else -worth)
    return max(worths)


@ALGORITHMS
def test_a_share_of_the_score_makes_the_search_play_for_points(algorithm):
    game = make_game("corso", size=3)
    positions = [each for each in positions_after(game, 5, 60) if not each.is_over]
    share = 0.2
    settings = SearchSettings(simulations=1500, algorithm=algorithm, score=share)
    found = Search(game, settings).run(states_of(positions), random_network(1, 9))
    plain = Search(game, replace(settings, score=0.0)).run(
        states_of(positions), random_network(1, 9)
    )

    def lost(position: Position, action: int) -> float:
        child = after(position, action)
        return worth_with_score(position, share) + worth_with_score(child, share)

    for_points = [lost(*each) for each in zip(positions, found.actions, strict=True)]
    for_wins = [lost(*each) for each in zip(positions, plain.actions, strict=True)]
    assert sum(for_points) < 0.6 * sum(for_wins)
    assert max(for_points) < 1  # no outcome is given away


def test_a_proven_outcome_bounds_the_value_and_leaves_the_score_open():
    game = make_game("corso", size=3)
    positions = positions_after(game, 5, 60)
    settings = SearchSettings(simulations=400, score=0.2)
    found = Search(game, settings).run(states_of(positions), random_network(1, 9))
    assert found.proven.sum() > 30
    assert found.simulations == 400 * len(positions)
    for position, proven, value in zip(positions, found.proven, found.values, strict=True):
        if proven:
            outcome = exact_value(position)
            assert 0.8 * outcome - 0.2 <= value <= 0.8 * outcome + 0.2


def wins_at_once(position: Position, action: int) -> bool:
    child = after(position, action)
    return child.is_over and child.rewards[position.mover] > 0


def allows_a_win(position: Position, action: int) -> bool:
    """Whether the other player can win at once after an action."""
    child = after(position, action)
    if child.is_over:
        return child.rewards[position.mover] < 0
    return any(wins_at_once(child, reply) for reply in child.legal_actions)


#: Games whose players win at once, after so many plies.
PLIES = {"tictactoe": 4, "osiron": 20}
TACTICAL = pytest.mark.parametrize("name", slow_but(["tictactoe"], PLIES))


@TACTICAL
@ALGORITHMS
def test_a_win_at_once_is_not_overlooked(algorithm, name):
    game = ALL_GAMES[name]()
    positions = [
        position
        for position in positions_after(game, PLIES[name], 400)
        if any(wins_at_once(position, action) for action in position.legal_actions)
    ]
    assert len(positions) >= 5
    settings = SearchSettings(simulations=1, algorithm=algorithm)
    found = Search(game, settings).run(states_of(positions), random_network(1, game.num_actions))
    assert found.proven.all()
    assert (found.values == 1).all()
    assert found.evaluations == len(positions)
    for position, action, policy in zip(positions, found.actions, found.policies, strict=True):
        assert wins_at_once(position, int(action))
        assert policy[action] == 1


@TACTICAL
def test_no_action_that_loses_at_once_is_played_where_there_is_another(name):
    game = ALL_GAMES[name]()
    positions, safe = [], []
    for position in positions_after(game, PLIES[name] - 1, 400):
        allowing = [allows_a_win(position, action) for action in position.legal_actions]
        if not any(allowing) or all(allowing):
            continue
        if name == "osiron" or exact_value(position) == 0:  # else it is lost in any case
            positions.append(position)
            safe.append(position.legal_actions[~np.array(allowing)])
    assert len(positions) >= 5
    settings = SearchSettings(simulations=32)
    found = Search(game, settings).run(states_of(positions), random_network(1, game.num_actions))
    for action, policy, kept in zip(found.actions, found.policies, safe, strict=True):
        assert action in kept
        assert policy[kept].sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("algorithm", slow_but(["gumbel"], ["gumbel", "puct"]))
def test_players_who_move_twice_in_a_row_are_searched_rightly(algorithm):
    settings = SearchSettings(simulations=1500, algorithm=algorithm)
    twice = 0
    for number in range(40):
        game = RandomTree(number=number)
        position = game.start()
        search = Search(game, settings, batch=1, seed=0)
        found = search.run(position.states, random_network(number, 3))
        assert found.proven[0]
        assert found.values[0] == exact_value(position)
        twice += after(position, found.actions[0]).mover == position.mover
    assert twice > 5


@functools.cache
def mean_backed_up_value(solver: bool) -> float:
    """Root value of a won position by the mean of its simulations, or exactly."""
    game = make_game("corso", size=3)
    position = positions_after(game, 5, 1)[0]
    settings = SearchSettings(simulations=200, solver=solver)
    evaluate = random_network(3, 9)
    return float(Search(game, settings, 1).run(position.states, evaluate).values[0])


def test_proof_makes_values_exact_where_means_are_not():
    assert abs(mean_backed_up_value(True)) in (0, 1)
    assert 0 < abs(mean_backed_up_value(False)) < 1


def knowing_network(game, positions: list[Position]):
    """An evaluator with the exact values of positions and all after them, and no preference."""
    states, values = [], []

    def solve(position: Position) -> int:
        if position.is_over:
            return position.rewards[0]
        value = (min if position.mover else max)(map(solve, children(position).values()))
        states.append(position.states)
        values.append(-value if position.mover else value)
        return value

    for position in positions:
        solve(position)
    shown = observations_of(game, np.concatenate(states))
    known = {each.tobytes(): value for each, value in zip(shown, values, strict=True)}

    def evaluate(observations: np.ndarray):
        found = np.array([known[each.tobytes()] for each in observations], np.float32)
        return Evaluation.of_values(np.zeros((len(observations), game.num_actions)), found)

    return evaluate


@ALGORITHMS
def test_actions_that_are_rejected_do_not_lower_the_value(algorithm):
    game = make_game("corso", size=3)
    positions = positions_after(game, 4, 24)
    evaluate = knowing_network(game, positions)
    noise = 1.0 if algorithm == "gumbel" else 0.5
    settings = SearchSettings(simulations=16, algorithm=algorithm, noise=noise, solver=False)
    search = Search(game, settings, batch=24, seed=0)
    found = search.run(states_of(positions), evaluate)
    exact = evaluate(observations_of(game, states_of(positions))).values
    assert {-1, 1} <= set(exact)
    roots = search.tree.nodes[:, 0]
    mean_of_visits = np.abs(roots["sign"] * roots["value"] - exact).mean()
    error = np.abs(found.values - exact).mean()
    assert error < mean_of_visits / 4


@ALGORITHMS
def test_together_or_one_by_one_is_the_same(algorithm):
    game = make_game("corso", size=3)
    positions = positions_after(game, 3, 12)
    settings = SearchSettings(simulations=40, algorithm=algorithm)
    evaluate = random_network(2, 9)
    together = Search(game, settings, batch=5).run(states_of(positions), evaluate)
    alone = Search(game, settings, batch=1)
    for index, position in enumerate(positions):
        single = alone.run(position.states, evaluate)
        assert single.actions[0] == together.actions[index]
        np.testing.assert_array_equal(single.visits[0], together.visits[index])
        np.testing.assert_allclose(single.policies[0], together.policies[index], atol=1e-5)


@ALGORITHMS
def test_only_legal_actions_are_visited_and_simulations_are_all_used(algorithm):
    game = make_game("corso", size=3)
    positions = positions_after(game, 3, 20)
    settings = SearchSettings(simulations=30, algorithm=algorithm, solver=False)
    found = Search(game, settings, batch=20).run(states_of(positions), random_network(5, 9))
    masks = np.stack([position.mask for position in positions])
    assert (found.visits[masks == 0] == 0).all()
    assert (found.policies[masks == 0] == 0).all()
    assert (found.visits.sum(axis=1) == 30).all()
    np.testing.assert_allclose(found.policies.sum(axis=1), 1, atol=1e-5)
    assert masks[np.arange(20), found.actions].all()


def test_one_legal_action_is_played():
    game = make_game("corso", size=3)
    forced = [
        position for position in positions_after(game, 7, 200) if len(position.legal_actions) == 1
    ]
    assert forced
    settings = SearchSettings(simulations=1)
    found = Search(game, settings, len(forced)).run(states_of(forced), random_network(1, 9))
    assert [position.legal_actions[0] for position in forced] == list(found.actions)


@ALGORITHMS
def test_root_noise_varies_the_choice_and_its_seed_repeats_it(algorithm):
    game = make_game("corso", size=3)
    noise = 1.0 if algorithm == "gumbel" else 0.5
    settings = SearchSettings(simulations=16, algorithm=algorithm, noise=noise, temperature=1.0)
    states = np.repeat(game.start().states, 64)

    def flat(observations):
        count = len(observations)
        return Evaluation.of_values(np.zeros((count, 9)), np.zeros(count))

    first = Search(game, settings, 64, seed=1).run(states, flat).actions
    again = Search(game, settings, 64, seed=1).run(states, flat).actions
    other = Search(game, settings, 64, seed=2).run(states, flat).actions
    assert len(set(first)) > 5
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_dirichlet_noise_has_the_moments_of_its_distribution():
    game = make_game("corso", size=3)
    settings = SearchSettings(
        simulations=1, algorithm="puct", noise=0.25, dirichlet_alpha=0.4, solver=False
    )
    search = Search(game, settings, batch=4000, seed=3)
    search.run(np.repeat(game.start().states, 4000), random_network(1, 9))
    noise = search.tree.roots["noise"]
    np.testing.assert_allclose(noise.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(noise.mean(axis=0), 1 / 9, atol=0.01)
    variance = (1 / 9) * (8 / 9) / (9 * 0.4 + 1)
    np.testing.assert_allclose(noise.var(axis=0), variance, rtol=0.1)


def test_no_positions_have_an_empty_finding():
    game = make_game("corso", size=3)
    found = Search(game, SearchSettings()).run(game.start().states[:0], random_network(1, 9))
    assert found.policies.shape == (0, 9)
    assert len(found.actions) == 0


def test_finished_games_and_empty_budgets_are_refused():
    game = make_game("corso", size=3)
    position = game.start()
    while not position.is_over:
        position.play(int(position.legal_actions[0]))
    with pytest.raises(ValueError, match="finished"):
        Search(game, SearchSettings()).run(position.states, random_network(1, 9))
    with pytest.raises(ValueError, match="at least 1"):
        Search(game, SearchSettings(), batch=0)
    with pytest.raises(ValueError, match=r"10+ simulations would take .* GiB of memory") as caught:
        Search(game, SearchSettings(simulations=10**5), batch=10**10)
    gibibytes = float(str(caught.value).split(" take ")[1].split()[0].replace(",", ""))
    node = game.state_dtype.itemsize + NODE.itemsize + game.num_actions * EDGE.itemsize
    assert gibibytes == pytest.approx(node * 10**10 * (10**5 + 1) / 2**30)
    search = Search(game, SearchSettings(simulations=32, max_considered=4))
    with pytest.raises(ValueError, match=r"room for 32 simulations and 4 considered .* 33 and 4"):
        search.use(SearchSettings(simulations=33, max_considered=4))


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("simulations", 1.5, "an integer from 1 to 100,000"),
        ("simulations", True, "an integer from 1 to 100,000"),
        ("max_considered", 0, "an integer from 1 to 1,000"),
        ("solver", 2, "False or True"),
        ("solver", "yes", "False or True"),
        ("noise", -0.1, "a number from 0 to 10"),
        ("noise", float("inf"), "a number from 0 to 10"),
        ("noise", float("nan"), "a number from 0 to 10"),
        ("c_puct", "1", "a number above 0, up to 100"),
        ("score", 1.0, "a number from 0 to below 1"),
        ("algorithm", 1, "gumbel or puct"),
        ("algorithm", "minimax", "gumbel or puct"),
        ("temperature_plies", -1, "an integer from 0 to 1,000,000, or none"),
    ],
)
def test_settings_of_another_type_or_range_are_refused_by_name(name, value, accepted):
    with pytest.raises(ValueError, match=f"setting {name} of a search is .*; accepted: {accepted}"):
        SearchSettings(**{name: value})


def test_noise_of_puct_is_a_share():
    with pytest.raises(ValueError, match="noise: 2 is more than 1"):
        SearchSettings(algorithm="puct", noise=2)


def test_puct_goes_by_the_priors_where_all_that_was_visited_is_proven_worse():
    """Actions 0 and 1 were visited and are closed; 2 and 3 are open, 4 is not legal."""
    nodes, edges = np.zeros(3, NODE), np.zeros(4, EDGE)
    nodes["visits"] = [7, 3, 3]
    nodes["lower"][0], nodes["upper"][0] = -1, 1
    nodes["end"][0] = 4
    edges["action"] = [0, 1, 2, 3]
    edges["child"] = [1, 2, NO_NODE, NO_NODE]
    edges["open"] = [0, 0, 1, 1]
    policy = np.full(5, np.nan, np.float32)
    settings = settings_record(SearchSettings(), ALL_GAMES["tictactoe"]())[0]
    for priors, expected in (
        ([0.5, 0.2, 0.2, 0.1], [0, 0, 2 / 3, 1 / 3, 0]),
        ([1, 0, 0, 0], [0, 0, 0.5, 0.5, 0]),
    ):
        edges["prior"] = priors
        puct.write_visit_policy(nodes, edges, settings, policy)
        np.testing.assert_allclose(policy, expected, rtol=1e-6)
    edges["open"] = [0, 1, 1, 1]
    puct.write_visit_policy(nodes, edges, settings, policy)
    np.testing.assert_array_equal(policy, [0, 1, 0, 0, 0])
