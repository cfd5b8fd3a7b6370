"""The search beyond mctx: exact values, both selection rules, players who move twice in a row."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from msgspec.structs import replace

from ludarium.envs import Position, make_game
from ludarium.models import Evaluation
from ludarium.training.search import BatchSearch, SearchSettings
from ludarium.training.search.settings import settings_record
from ludarium.training.search.tree import EDGE, NO_NODE, NODE
from tests.games import ALL_GAMES, after, children, positions_after, slow_but, states_of
from tests.kernels import compiled
from tests.tictactoe import TicTacToe

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
    positions = positions_after(game, 4, 20) + positions_after(game, 5, 20)
    settings = SearchSettings(simulations=4000, algorithm=algorithm)
    search = BatchSearch(game, settings, batch=40, seed=0)
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
    found = BatchSearch(game, settings).run(states_of(positions), random_network(1, 9))
    plain = BatchSearch(game, replace(settings, score=0.0)).run(
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
    found = BatchSearch(game, settings).run(states_of(positions), random_network(1, 9))
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


@ALGORITHMS
def test_a_win_at_once_stays_proven_while_a_search_for_points_goes_on(algorithm):
    game = ALL_GAMES["tictactoe"]()
    positions = [each for each in positions_after(game, 5, 60) if not each.is_over]
    search = BatchSearch(game, SearchSettings(simulations=400, algorithm=algorithm, score=0.2))
    search.run(states_of(positions), random_network(1, game.num_actions))
    for nodes, states, root in zip(
        search.tree.nodes, search.tree.states, search.tree.roots, strict=True
    ):
        for node, state in zip(nodes[1 : root["size"]], states[1:], strict=False):
            position = Position.of_state(game, np.array([state], game.state_dtype))
            if any(wins_at_once(position, action) for action in position.legal_actions):
                assert node["lower"] == node["upper"] == node["sign"]


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
    found = BatchSearch(game, settings).run(
        states_of(positions), random_network(1, game.num_actions)
    )
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
    found = BatchSearch(game, settings).run(
        states_of(positions), random_network(1, game.num_actions)
    )
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
        search = BatchSearch(game, settings, batch=1, seed=0)
        found = search.run(position.states, random_network(number, 3))
        assert found.proven[0]
        assert found.values[0] == exact_value(position)
        twice += after(position, found.actions[0]).mover == position.mover
    assert twice > 5


@ALGORITHMS
def test_together_or_one_by_one_is_the_same(algorithm):
    game = make_game("corso", size=3)
    positions = positions_after(game, 3, 12)
    settings = SearchSettings(simulations=40, algorithm=algorithm)
    evaluate = random_network(2, 9)
    together = BatchSearch(game, settings, batch=5).run(states_of(positions), evaluate)
    alone = BatchSearch(game, settings, batch=1)
    for index, position in enumerate(positions):
        single = alone.run(position.states, evaluate)
        assert single.actions[0] == together.actions[index]
        np.testing.assert_array_equal(single.visits[0], together.visits[index])
        np.testing.assert_allclose(single.policies[0], together.policies[index], atol=1e-5)


@ALGORITHMS
def test_root_noise_is_that_of_its_seed_with_the_moments_of_its_distribution(algorithm):
    """Gumbel noise is scaled; Dirichlet noise adds up to 1."""
    game = make_game("corso", size=3)
    settings = SearchSettings(
        simulations=1, algorithm=algorithm, noise=0.25, dirichlet_alpha=0.4, solver=False
    )
    found = []
    for seed in (3, 3, 4):
        search = BatchSearch(game, settings, batch=4000, seed=seed)
        search.run(np.repeat(game.start().states, 4000), random_network(1, 9))
        found.append(search.tree.roots["noise"].copy())
    noise, again, other = found
    assert (noise == again).all()
    assert (noise != other).all()
    mean, variance = 0.25 * np.euler_gamma, 0.25**2 * np.pi**2 / 6
    if algorithm == "puct":
        np.testing.assert_allclose(noise.sum(axis=1), 1, atol=1e-5)
        mean, variance = 1 / 9, (1 / 9) * (8 / 9) / (9 * 0.4 + 1)
    np.testing.assert_allclose(noise.mean(axis=0), mean, atol=0.02)
    np.testing.assert_allclose(noise.var(axis=0), variance, rtol=0.1)


def puct_in_plain_python(root: Position, evaluate, simulations, c_puct, noise) -> list[int]:
    """The visits of the root's actions, by the definition of PUCT; values are player 0's.

    Noise has a share of 0.3 in the root's prior, and in no other.
    """
    means, visits, priors, raw = {}, {}, {}, {}
    for _ in range(simulations + 1):  # the first evaluates the root
        line, position = (), root.copy()
        while line in priors and not position.is_over:
            sign, scores = -1 if position.mover else 1, {}
            for action in position.legal_actions.tolist():
                child = (*line, action)
                value = sign * means.get(child, raw[line])
                spread = priors[line][action] * visits[line] ** 0.5 / (1 + visits.get(child, 0))
                scores[action] = value + c_puct * spread
            action = max(scores, key=lambda action: scores[action])
            position.play(action)
            line = (*line, action)
        value = float(position.rewards[0])
        if not position.is_over:
            found = evaluate(position.observation()[None])
            value = float(found.values[0]) * (-1 if position.mover else 1)
            weights = np.exp(found.logits[0].astype(float)) * position.mask
            priors[line], raw[line] = weights / weights.sum(), value
            priors[line] += (not line) * 0.3 * (noise - priors[line])
        for end in range(len(line) + 1):
            count, mean = visits.get(line[:end], 0), means.get(line[:end], 0.0)
            visits[line[:end]] = count + 1
            means[line[:end]] = mean + (value - mean) / (count + 1)
    return [visits.get((action,), 0) for action in range(root.game.num_actions)]


def test_puct_visits_what_it_does_in_plain_python_whoever_is_to_move():
    settings = SearchSettings(simulations=60, algorithm="puct", c_puct=1.2, noise=0.3, solver=False)
    movers = set()
    for number in range(20):
        game = RandomTree(number=number)
        root, evaluate = game.start(), random_network(number, 3)
        search = BatchSearch(game, settings, 1, seed=number)
        (visits,), (noise,) = search.run(root.states, evaluate).visits, search.tree.roots["noise"]
        assert visits.tolist() == puct_in_plain_python(root, evaluate, 60, 1.2, noise)
        movers.add(root.mover)
    assert movers == {0, 1}


def test_a_proven_draw_keeps_its_share_of_the_visits_until_the_root_is_proven():
    positions = positions_after(TicTacToe(), 4, 200)  # draws are proven soon here
    settings = SearchSettings(simulations=30, algorithm="puct")
    search = BatchSearch(positions[0].game, settings, batch=len(positions), seed=3)
    found = search.run(states_of(positions), random_network(1, 9))
    kept = np.where(found.policies > 0, found.visits, 0)[~found.proven]
    assert len(kept) > 20
    np.testing.assert_allclose(found.policies[~found.proven], kept / kept.sum(axis=1)[:, None])


def test_puct_draws_actions_by_their_visits_to_a_power():
    game = make_game("corso", size=3)
    settings = SearchSettings(simulations=40, algorithm="puct", temperature=0.5, solver=False)
    search = BatchSearch(game, settings, batch=3000, seed=7)
    found = search.run(np.repeat(game.start().states, 3000), random_network(1, 9))
    assert (found.visits == found.visits[0]).all()
    weights = found.visits[0].astype(float) ** 2
    drawn = np.bincount(found.actions, minlength=9) / 3000
    np.testing.assert_allclose(drawn, weights / weights.sum(), atol=0.03)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_findings_are_of_the_network_and_a_copy_finds_the_same(copied):
    game, asked = make_game("corso", size=3), []

    def evaluate(observations):
        asked.append(len(observations))
        return random_network(5, 9)(observations)

    settings = SearchSettings(simulations=32, max_considered=5, noise=1, solver=False)
    search = BatchSearch(game, settings, 4, seed=3)
    search.use(replace(settings, simulations=20, max_considered=3))
    positions = [*positions_after(game, 2, 3), *positions_after(game, 3, 4)]
    found = search.run(states_of(positions), evaluate)
    assert (found.simulations, found.evaluations) == (7 * 20, sum(asked))
    assert found.visits.sum(axis=1).tolist() == [20] * 7
    np.testing.assert_array_equal(np.isnan(found.action_values), found.visits == 0)
    for position, priors in zip(positions, found.priors, strict=True):
        logits = random_network(5, 9)(position.observation()[None]).logits[0].astype(float)
        weights = np.exp(logits) * position.mask
        np.testing.assert_allclose(priors, weights / weights.sum(), rtol=1e-4)
    twin = copied(search)
    again = [each.run(states_of(positions), evaluate) for each in (search, twin)]
    for name, array in vars(again[0]).items():
        np.testing.assert_array_equal(getattr(again[1], name), array)
    assert (again[0].visits != found.visits).any()  # noise goes on
    with pytest.raises(ValueError, match="room for 32 simulations and 5 considered actions"):
        twin.use(replace(settings, max_considered=6))
    twin.use(settings)
    assert twin.run(positions[0].states, evaluate).simulations == 32


def test_settings_are_read_as_they_are_written():
    changed = {
        **{"simulations": 77, "algorithm": "puct", "max_considered": 5, "noise": 0.3},
        **{"value_scale": 0.7, "maxvisit_init": 11.0, "rescale_values": False, "c_puct": 2.5},
        **{"dirichlet_alpha": 0.6, "temperature": 0.4, "temperature_plies": 9, "score": 0.2},
        "solver": False,
    }
    assert {*changed} == {*SearchSettings.__struct_fields__}
    for game, max_score in ((make_game("corso", size=3), 9), (ALL_GAMES["tictactoe"](), 1)):
        (record,) = settings_record(SearchSettings(**changed), game)
        assert {each: record[each] for each in changed} == changed | {"algorithm": 1}
        assert record["max_score"] == max_score
    assert settings_record(SearchSettings(), game)["temperature_plies"] > 10**9


def test_no_positions_have_an_empty_finding():
    game = make_game("corso", size=3)
    found = BatchSearch(game, SearchSettings()).run(game.start().states[:0], random_network(1, 9))
    assert found.policies.shape == (0, 9)
    assert len(found.actions) == 0


def test_finished_games_and_empty_budgets_are_refused():
    game = make_game("corso", size=3)
    position = game.start()
    while not position.is_over:
        position.play(int(position.legal_actions[0]))
    with pytest.raises(ValueError, match="finished"):
        BatchSearch(game, SearchSettings()).run(position.states, random_network(1, 9))
    with pytest.raises(ValueError, match="at least 1"):
        BatchSearch(game, SearchSettings(), batch=0)
    with pytest.raises(ValueError, match=r"10+ simulations would take .* GiB of memory") as caught:
        BatchSearch(game, SearchSettings(simulations=10**5), batch=10**10)
    gibibytes = float(str(caught.value).split(" take ")[1].split()[0].replace(",", ""))
    node = game.state_dtype.itemsize + NODE.itemsize + game.num_actions * EDGE.itemsize
    assert gibibytes == pytest.approx(node * 10**10 * (10**5 + 1) / 2**30)
    search = BatchSearch(game, SearchSettings(simulations=32, max_considered=4))
    with pytest.raises(ValueError, match=r"room for 32 simulations and 4 considered .* 33 and 4"):
        search.use(SearchSettings(simulations=33, max_considered=4))
    search.use(SearchSettings(simulations=20, max_considered=2))
    settings = SearchSettings(simulations=20, max_considered=4)
    search.use(settings)  # whose schedule is as in a search that never had another
    every = search, BatchSearch(game, settings)
    found = [each.run(game.start().states, random_network(1, 9)).visits for each in every]
    np.testing.assert_array_equal(*found)


def test_puct_goes_by_the_priors_where_all_that_was_visited_is_proven_worse():
    """Actions 0 and 1 were visited and are pruned; 2 and 3 are not, 4 is not legal."""
    nodes, edges = np.zeros(3, NODE), np.zeros(4, EDGE)
    nodes["visits"] = [7, 3, 3]
    nodes["lower"][0], nodes["upper"][0] = -1, 1
    nodes["end"][0] = 4
    edges["action"] = [0, 1, 2, 3]
    edges["child"] = [1, 2, NO_NODE, NO_NODE]
    edges["pruned"] = [1, 1, 0, 0]
    policy = np.full(5, np.nan, np.float32)
    settings = settings_record(SearchSettings(), ALL_GAMES["tictactoe"]())
    for priors, expected in (
        ([0.5, 0.2, 0.2, 0.1], [0, 0, 2 / 3, 1 / 3, 0]),
        ([1, 0, 0, 0], [0, 0, 0.5, 0.5, 0]),
    ):
        edges["prior"] = priors
        compiled.write_visit_policy(nodes, edges, settings, policy)
        np.testing.assert_allclose(policy, expected, rtol=1e-6)
    edges["pruned"] = [1, 0, 0, 0]
    compiled.write_visit_policy(nodes, edges, settings, policy)
    np.testing.assert_array_equal(policy, [0, 1, 0, 0, 0])


def test_gumbel_takes_the_least_visited_actions_where_none_has_the_visits_of_the_schedule():
    game, settings = TicTacToe(), SearchSettings(simulations=60, solver=False)
    search = BatchSearch(game, settings, batch=1, seed=2)
    search.run(game.start().states, random_network(1, 9))
    tree, record = search.tree, settings_record(settings, game)
    root_edges, nodes = tree.edges[0][:9], tree.nodes[0]
    visits = nodes["visits"][root_edges["child"]]
    assert len(set(visits.tolist())) > 2
    for least in sorted(set(visits.tolist())):
        edge = compiled.choose_at_root((tree.roots, tree.nodes, tree.edges), record, 99)
        assert visits[edge] == least
        root_edges["pruned"][visits == least] = 1


@ALGORITHMS
def test_from_a_ply_on_the_choice_is_greedy_and_the_search_still_noisy(algorithm):
    game = make_game("corso", size=3)
    position = game.start()
    states = np.repeat(position.states, 60)
    settings = SearchSettings(
        simulations=12, algorithm=algorithm, noise=0.9, temperature=2.0, temperature_plies=1
    )
    search = BatchSearch(game, settings, 60, seed=1)
    network = random_network(1, 9)
    early = search.run(states, network)
    position.play(0)
    late = search.run(np.repeat(position.states, 60), network)
    assert len({visits.tobytes() for visits in late.visits}) > 5
    assert len(set(late.actions)) < len(set(early.actions))
    if algorithm == "puct":
        np.testing.assert_array_equal(late.actions, late.visits.argmax(axis=1))
        return
    for action, policy, visits in zip(late.actions, late.policies, late.visits, strict=True):
        finalists = np.flatnonzero(visits == visits.max())
        assert action == finalists[policy[finalists].argmax()]
