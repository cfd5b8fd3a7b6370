"""Descent: exact minimax, the trees of self-play, what is learnt, and that nothing is lost."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
import torch

from ludarium.cli import main
from ludarium.cli.play import _NoPageError, _own_variant
from ludarium.configs.schema import DescentSelfPlay
from ludarium.envs import GAMES, Position, make_game
from ludarium.envs.engine.compile import specialise
from ludarium.models import build_network, load_checkpoint, load_header
from ludarium.models.architecture import OwnNetwork
from ludarium.models.backends import answers_model, prepare, quantised, usable_backends
from ludarium.models.header import MINIMAX_SEARCH
from ludarium.models.network import ScoreAsPolicy
from ludarium.training.agents import make_agent, read_agent
from ludarium.training.agents.minimax import MinimaxAgent
from ludarium.training.alphazero.samples import sample_dtype as alphazero_samples
from ludarium.training.descent.kernels import self_play as kernels
from ludarium.training.descent.loop import DescentTrainer
from ludarium.training.descent.samples import BatchMaker, of_playouts, sample_dtype
from ludarium.training.descent.search import MinimaxSearch
from ludarium.training.descent.self_play import Group
from ludarium.training.descent.settings import MinimaxSettings
from ludarium.training.descent.tree import NO_STATE, NODE
from ludarium.training.evaluation import play_match
from ludarium.training.networks import network_shape
from tests.tictactoe import TicTacToe
from tests.tiny_runs import TinyRuns, changes_weights, run_by_command

from .random_tree import RandomTree
from .test_search import exact_value, random_positions, states_of

SEARCHES = pytest.mark.parametrize("to_end", [False, True], ids=["best-first", "descent"])

TINY = (
    "options={size: 3}",
    "backend=eager",
    "budget={iterations: 3, minutes: null}",
    "network={channels: 8, blocks: 1}",
    "self_play={games: 16, positions: 400, workers: 2, expansions: 8, batch: 32, opening_plies: 2}",
    "learner={batch: 64, replay_ratio: 2, learning_rate: 0.01, warmup_steps: 5}",
    "evaluation={every: 0}",
)
RUNS = TinyRuns(DescentTrainer, "corso/descent", TINY)
tiny_config, trained = RUNS.config, RUNS.trained


def made_up(seed: int):
    """An evaluator with fixed scores and values for each observation, whatever else is asked."""
    weights = np.random.default_rng(seed).normal(size=(4096, 2))

    def evaluate(observations: np.ndarray):
        flat = observations.reshape(len(observations), -1)
        answers = np.sin((flat[:, :, None] * weights[: flat.shape[1]]).sum(axis=1))
        return answers[:, 1:].astype(np.float32), (0.9 * answers[:, 0]).astype(np.float32)

    return evaluate


# The search.


@SEARCHES
def test_a_search_to_its_end_finds_the_exact_value(to_end):
    """Also where players move several times in a row, whatever the network says."""
    for number in range(40):
        game = RandomTree(number=number)
        search = MinimaxSearch(game, MinimaxSettings(10**4, to_end), batch=1)
        position = game.start(0)
        result = search.run(position.states, made_up(number))
        assert result.resolved.all()
        assert result.values[0] == exact_value(position)
        after = position.copy()
        after.play(int(result.actions[0]))
        kept = exact_value(after) * (1 if after.mover == position.mover else -1)
        if not after.is_over:
            assert kept == result.values[0]


@SEARCHES
@pytest.mark.parametrize("size", [2, 3])
def test_corso_is_solved_as_its_solver_does(to_end, size):
    from ludarium.analysis.corso.solver import CorsoSolver

    game = make_game("corso", size=size)
    positions = random_positions(game, 2 if size == 2 else 4, 12, seed=size)
    search = MinimaxSearch(game, MinimaxSettings(20_000, to_end, 0.5), batch=4, cache=1)
    result = search.run(states_of(positions), made_up(1))
    assert result.resolved.all()
    for position, value in zip(positions, result.values, strict=True):
        assert value == CorsoSolver(game, 1 << 20).outcome(position).outcome


def test_a_win_at_once_asks_the_network_nothing():
    game = TicTacToe()
    position = game.start(0)
    for text in ("a1", "b2", "a2", "b3"):
        position.play(position.text_to_action(text))

    def evaluate(observations):
        raise AssertionError("there is nothing to ask")

    result = MinimaxSearch(game, MinimaxSettings(5)).run(position.states, evaluate)
    assert (result.values, result.resolved) == (1, True)
    assert position.action_to_text(int(result.actions[0])) == "a3"
    assert result.expansions == 1


def brute_values(search: MinimaxSearch, number: int) -> dict[int, tuple[float, int]]:
    """Minimax of what the leaves of a tree are worth: value and completion by node."""
    nodes = search.tree.nodes[0]
    node = nodes[number]
    if node["state"] == NO_STATE:
        return {number: (float(node["value"]), int(node["completion"]))}
    found: dict[int, tuple[float, int]] = {}
    children = range(node["first"], node["end"])
    for child in children:
        found |= brute_values(search, child)
    sign = int(node["sign"])
    best = max(children, key=lambda child: (sign * found[child][1], sign * found[child][0]))
    return found | {number: found[best]}


@SEARCHES
def test_each_node_has_the_minimax_value_of_what_is_below(to_end):
    game = TicTacToe()
    search = MinimaxSearch(game, MinimaxSettings(150, to_end), batch=1)
    search.run(game.start(0).states, made_up(3))
    nodes = search.tree.nodes[0]
    found = brute_values(search, 0)
    assert len(found) == search.tree.roots[0]["nodes"] > 300
    for number, (value, completion) in found.items():
        assert nodes[number]["value"] == np.float32(value)
        assert nodes[number]["completion"] == completion


def test_descent_reaches_ends_of_the_game_that_best_first_minimax_does_not():
    game = make_game("corso", size=5)
    resolved = {}
    for to_end in (False, True):
        search = MinimaxSearch(game, MinimaxSettings(30, to_end), batch=1)
        search.run(game.start(0).states, made_up(2))
        size = search.tree.roots[0]["nodes"]
        resolved[to_end] = int(search.tree.nodes[0, :size]["resolved"].sum())
    assert resolved[False] == 0 < resolved[True]


def test_many_searches_at_a_time_find_what_each_finds_alone():
    game = make_game("corso", size=3)
    states = states_of(random_positions(game, 2, 20))
    settings = MinimaxSettings(12)
    together = MinimaxSearch(game, settings, batch=20, rows=40, cache=1).run(states, made_up(4))
    alone = MinimaxSearch(game, settings, batch=1).run(states, made_up(4))
    np.testing.assert_array_equal(together.actions, alone.actions)
    np.testing.assert_array_equal(together.values, alone.values)
    np.testing.assert_array_equal(together.visits, alone.visits)


def test_a_search_that_is_stopped_has_backed_up_what_it_asked():
    game = TicTacToe()
    search = MinimaxSearch(game, MinimaxSettings(1000), batch=1)
    answers = iter([True] * 20 + [False] * 100)
    result = search.run(game.start(0).states, made_up(5), lambda: next(answers))
    assert result.expansions == 21
    found = brute_values(search, 0)
    assert search.tree.nodes[0, 0]["value"] == np.float32(found[0][0])


def test_finished_positions_and_empty_searches_are_refused():
    game = TicTacToe()
    over = game.new_states(1)
    over["outcome"] = 1
    with pytest.raises(ValueError, match="finished"):
        MinimaxSearch(game, MinimaxSettings(1)).run(over, made_up(0))
    with pytest.raises(ValueError, match="at least 1 expansion"):
        MinimaxSearch(game, MinimaxSettings(0))


def test_the_network_without_its_policy_gives_the_same_values_and_scores():
    game = make_game("corso", size=3)
    network = build_network(network_shape(game), 8, 1).eval()
    shown = np.random.default_rng(0).random((5, *game.observation_shape)).astype(np.float32)
    scores, values = prepare(ScoreAsPolicy(network), "eager", shown, torch.device("cpu"), 1)(shown)
    _, whole = prepare(network, "eager", shown, torch.device("cpu"), 1)(shown)
    np.testing.assert_array_equal(values, whole)
    with torch.no_grad():
        expected = network(torch.from_numpy(shown)).score[:, None]
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_eight_bits_are_for_our_own_networks_in_any_wrapping():
    pytest.importorskip("onnxruntime")
    game = make_game("corso", size=3)
    shape = network_shape(game)
    network = build_network(shape, 8, 1).eval()
    shown = np.random.default_rng(0).random((64, *game.observation_shape)).astype(np.float32)
    models = [
        quantised(answers_model(each, game.observation_shape), shown)
        for each in (network, ScoreAsPolicy(network))
    ]
    counts = [[node.op_type for node in m.graph.node].count("QuantizeLinear") for m in models]
    assert counts[0] == counts[1] > 0
    own = ScoreAsPolicy(OwnNetwork("mine", network))
    assert "onnx-int8" not in usable_backends(own, torch.device("cpu"), with_examples=True)


# Self-play.


def new_group(game, **settings) -> Group:
    given = {"games": 4, "positions": 300, "expansions": 12, "batch": 32, "cache": 0.1} | settings
    return Group(game, DescentSelfPlay(**given), np.random.SeedSequence(3))


def play(group: Group, seed: int = 1, **settings):
    """One chunk of a single group."""
    given = {"expansions": 12, "to_end": True, "score_weight": 0.5, "exploitation": 0.3}
    group.begin(MinimaxSettings(**(given | settings)))
    while not group.is_full:
        group.step(made_up(seed))
    return group.collect()


def check_trees(group: Group) -> None:
    """Parents, children and positions of all trees fit each other."""
    game, tree = group.game, group.games.tree
    for b, root in enumerate(tree.roots):
        nodes, states = tree.nodes[b, : root["nodes"]], tree.states[b]
        expanded = np.flatnonzero(nodes["state"] != NO_STATE)
        assert sorted(nodes["state"][expanded]) == list(range(root["states"]))
        for place, holder in enumerate(tree.holders[b, : root["states"]]):
            assert nodes[holder]["state"] == place
        for number in expanded:
            position = Position.of_state(game, states[nodes[number]["state"]])
            children = np.arange(nodes[number]["first"], nodes[number]["end"])
            assert (nodes["parent"][children] == number).all()
            assert set(nodes["action"][children]) <= set(position.legal_actions)
            for child in children:
                after = position.copy()
                after.play(int(nodes[child]["action"]))
                if nodes[child]["state"] != NO_STATE:
                    there = Position.of_state(game, states[nodes[child]["state"]])
                    assert there == after


@pytest.mark.parametrize("name", GAMES)
def test_trees_stay_whole_when_games_move_on(name):
    game = make_game(name, **({"size": 3} if name == "corso" else {}))
    group = new_group(game, positions=60, expansions=6)
    for seed in range(3):
        play(group, seed, expansions=6, score_weight=0.5 * (game.max_score > 0))
        check_trees(group)


def test_each_expanded_position_is_recorded_once():
    """Those recorded and those still in the trees are all that were expanded."""
    game = make_game("corso", size=3)
    group = new_group(game)
    recorded = expanded = 0
    for seed in range(4):
        result = play(group, seed)
        recorded += len(result.samples)
        expanded += result.expansions
    roots = group.games.tree.roots
    assert result.games > 0
    assert recorded + roots["states"].sum() == expanded + roots["expansions"].sum()


def test_samples_are_open_positions_with_values_that_fit():
    game = make_game("corso", size=3)
    result = play(new_group(game, positions=2000))
    samples = result.samples
    assert len(samples) >= 2000
    assert (samples["state"]["outcome"] == 0).all()
    solved = samples[samples["resolved"] == 1][:60]
    assert len(solved) == 60
    for sample in solved:
        position = Position.of_state(game, sample["state"])
        view = 1 - 2 * position.mover
        assert sample["value"] == view * exact_value(position)


def test_the_ordinal_distribution_goes_by_ranks():
    draw = specialise(kernels, make_game("corso", size=3).rules).draw_child
    nodes = np.zeros(5, NODE)
    nodes[0]["first"], nodes[0]["end"], nodes[0]["sign"] = 1, 5, -1
    nodes["value"][1:] = [0.5, -0.25, 0.9, -0.2]  # player 1 moves: 2, 4, 1, 3
    nodes["completion"][3] = -1  # and a proven win is the best of all: 3, 2, 4, 1
    rng, passed = np.array([7, 9]), np.zeros(4, np.int8)
    for exploitation in (0.0, 0.4, 1.0):
        settings = MinimaxSettings(exploitation=exploitation)
        drawn = Counter(draw(nodes, settings, rng, passed) for _ in range(8000))
        left = 1.0
        for rank, child in enumerate((3, 2, 4, 1)):
            share = exploitation + (1 - exploitation) / (4 - rank)
            assert drawn[child] / 8000 == pytest.approx(left * share, abs=0.02)
            left *= 1 - share


def test_a_group_goes_on_exactly_where_its_state_was_taken():
    game = make_game("corso", size=3)
    one, other = new_group(game), new_group(game)
    play(one)
    other.restore({name: array.copy() for name, array in one.state().items()})
    first, second = play(one, 2), play(other, 2)
    assert first.samples.tobytes() == second.samples.tobytes()
    assert (first.games, first.evaluations) == (second.games, second.evaluations)
    state = one.state()
    with pytest.raises(ValueError, match="does not fit"):
        one.restore(state | {"rngs": state["rngs"][1:]})


# What is learnt.


def test_targets_are_in_the_movers_view():
    game = make_game("corso", size=3)
    samples = np.zeros(4, sample_dtype(game))
    samples["state"] = states_of(random_positions(game, 1, 4))
    samples["value"] = [0.5, 1, 0, 0]
    samples["resolved"] = [0, 1, 1, 0]
    samples["score"] = [0.25, 1, 0, 0]
    assert (samples["state"]["mover"] == 1).all()
    batch = BatchMaker(game)(samples, np.random.default_rng(0))
    np.testing.assert_allclose(
        batch.outcomes, [[0.25, 0, 0.75], [0, 0, 1], [0, 1, 0], [0.5, 0, 0.5]]
    )
    np.testing.assert_allclose(batch.scores, [-0.25, -1, 0, 0])
    assert not batch.policies.any()


def test_playouts_teach_the_mean_of_search_and_result():
    game = make_game("corso", size=3)
    samples = np.zeros(2, alphazero_samples(game))
    samples["state"] = np.concatenate([game.start(0).states] * 2)
    samples["state"]["mover"] = [0, 1]
    samples["outcome"], samples["search_value"], samples["score"] = [1, 2], [0.5, 0.5], [3, -9]
    own = of_playouts(samples, game)
    np.testing.assert_allclose(own["value"], [0.75, -0.75])
    np.testing.assert_allclose(own["score"], np.array([3, -9]) / game.max_score)


def test_training_learns_corso_3x3(tmp_path):
    """A tiny run from nothing beats random play, more often than untrained networks do."""
    trainer = trained(
        tmp_path,
        "budget={iterations: 12, minutes: null}",
        "network={channels: 16, blocks: 1}",
        "self_play={games: 16, positions: 600, workers: 1, expansions: 12}",
        "learner={batch: 64, replay_ratio: 2, learning_rate: 0.005}",
    )
    game = trainer.game
    opponent = make_agent("random", game)

    def score(network) -> float:
        agent = MinimaxAgent(game, network, 1, backend="eager")
        return play_match(game, agent, opponent, 100, seed=1, opening_plies=0).score

    untrained = []
    for seed in range(4):
        torch.manual_seed(seed)
        untrained.append(score(build_network(network_shape(game), 16, 1)))
    assert score(trainer.player) > max(0.75, np.mean(untrained) + 0.1)


def test_an_interrupted_run_goes_on_as_if_it_had_not_been(tmp_path):
    whole = trained(tmp_path / "whole")
    for stop in (1, 2, 3):
        parts = trained(tmp_path / "parts", iterations=stop)
    assert parts.iteration == whole.iteration == 3
    assert parts.step == whole.step > 0
    for name, value in whole.network.state_dict().items():
        assert torch.equal(value, parts.network.state_dict()[name]), name
    for name, array in whole.self_play.state().items():
        np.testing.assert_array_equal(array, parts.self_play.state()[name], name)
    lines = (tmp_path / "parts" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [1, 2, 3]


def test_a_run_may_begin_with_playouts(tmp_path):
    bootstrap = "bootstrap={positions: 200, playouts: 20, replay_ratio: 1}"
    trainer = trained(tmp_path, bootstrap, iterations=2)
    assert trainer.replay.chunks[0][1] >= 200
    assert len(trainer.replay.chunks) == 2


def test_games_without_a_board_are_learnt_too(tmp_path):
    runs = TinyRuns(DescentTrainer, "obelisk/descent", TINY[1:])
    assert changes_weights(runs.begun(tmp_path, "budget={iterations: 1}"))


# What is done with it.


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    evaluation = "evaluation={every: 2, against: random, games: 4, simulations: 4}"
    folder = tmp_path_factory.mktemp("descent") / "run"
    return run_by_command(folder, "descent", [*TINY, evaluation])


def test_the_checkpoint_says_which_search_plays_it(run_folder):
    header = load_header(run_folder / "agent.safetensors")
    assert header.search == MINIMAX_SEARCH
    game = make_game("corso", size=3)
    agent = make_agent(f"{run_folder}:4", game)
    assert isinstance(agent, MinimaxAgent)
    network = load_checkpoint(run_folder / "agent.safetensors").network
    same = MinimaxAgent(game, network, 4)
    states = states_of(random_positions(game, 3, 8))
    np.testing.assert_array_equal(agent.actions(states), same.actions(states))


@pytest.mark.parametrize("spec", ["{}:0", "{}:8", "{}?time=5ms"])
def test_evaluate_takes_the_agent(run_folder, spec, capsys):
    spec = spec.format(run_folder)
    assert main(["evaluate", spec, "--games", "4", "--against", "random", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert result["games"] == 4


def test_the_log_has_evaluations_by_its_search(run_folder):
    lines = [json.loads(line) for line in (run_folder / "metrics.jsonl").open()]
    assert [line.get("opponent") for line in lines] == [None, "random", "random"]


def test_what_needs_a_policy_is_refused(run_folder, capsys):
    assert main(["export", str(run_folder)]) == 2
    assert "has no policy" in capsys.readouterr().err
    with pytest.raises(ValueError, match="no policy to draw from"):
        make_agent(f"{run_folder}?temperature=1", make_game("corso", size=3))


def test_the_page_lacks_its_search(run_folder):
    factory = read_agent(str(run_folder))
    with pytest.raises(_NoPageError, match="learnt by Descent"):
        _own_variant(factory, make_game("corso", size=3))


def test_a_finished_game_has_no_action(run_folder):
    game = make_game("corso", size=3)
    states = game.new_states(2)
    states[0] = game.start(0).states[0]
    states[1]["outcome"] = 1
    first, second = make_agent(str(run_folder), game).actions(states)
    assert first >= 0
    assert second == -1
