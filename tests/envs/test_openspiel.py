"""The games in OpenSpiel: its own checks, the same play as ours."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest

from ludarium.envs import GAMES, Game, Position, make_game
from tests.games import CASES, random_game
from tests.oddity import Oddity
from tests.processes import ROOT, python
from tests.tictactoe import TicTacToe

pyspiel = pytest.importorskip("pyspiel", reason="OpenSpiel (open_spiel) is not installed")
openspiel = pytest.importorskip("ludarium.envs.openspiel")
get_all_states = pytest.importorskip("open_spiel.python.algorithms.get_all_states")


def load(kind: type[Game], options: dict[str, Any]) -> Any:
    """The game in OpenSpiel; those that are only there for tests are registered first."""
    if kind.name not in GAMES:
        openspiel.register(kind)
    return pyspiel.load_game(f"ludarium_{kind.name}", options)


def test_games_begin_at_a_position() -> None:
    text = "5/2O2/1X3/5/5 0"
    game = pyspiel.load_game("ludarium_corso", {"position": text})
    state = game.new_initial_state()
    state.apply_action(17)
    ours = Position.from_text(make_game("corso"), text)
    ours.play(17)
    assert state.legal_actions() == ours.legal_actions.tolist()
    again = pickle.loads(pickle.dumps(game)).new_initial_state()
    assert again.legal_actions() == game.new_initial_state().legal_actions()
    with pytest.raises(ValueError, match="is no position of corso"):
        pyspiel.load_game("ludarium_corso", {"position": "5 0"})


@pytest.fixture(
    params=[
        pytest.param(case, id=name, marks=[pytest.mark.slow] if case[1] else [])
        for name, case in CASES.items()
    ]
)
def case(request: pytest.FixtureRequest) -> tuple[Any, Game]:
    """Each game with each option set: as OpenSpiel's and as ours."""
    kind, options = request.param
    return load(kind, options), kind(**options)


def test_openspiels_own_random_simulations_pass(case):
    spiel_game, _ = case
    pyspiel.random_sim_test(spiel_game, num_sims=1, serialize=True, verbose=False)


def test_the_game_says_what_ours_says(case):
    spiel_game, game = case
    assert spiel_game.num_distinct_actions() == game.num_actions
    assert spiel_game.observation_tensor_shape() == list(game.observation_shape)
    assert spiel_game.max_game_length() == game.max_plies
    assert str(pickle.loads(pickle.dumps(spiel_game))) == str(spiel_game)


def test_every_position_is_the_same_as_ours(case):
    spiel_game, game = case
    state = spiel_game.new_initial_state()
    assert state.is_chance_node() == game.random_start
    for digit in (0, 0, 3) if game.random_start else ():
        assert not np.any(state.observation_tensor(0))
        assert sum(chance for _, chance in state.chance_outcomes()) == pytest.approx(1)
        state.apply_action(digit)
    for position, action in random_game(game, seed=3):
        assert state.is_terminal() == position.is_over
        assert state.returns() == list(position.rewards)
        for player in (0, 1):
            seen = np.reshape(state.observation_tensor(player), game.observation_shape)
            assert (seen == position.observation(player)).all()
        if action is None:
            break
        assert state.current_player() == position.mover
        assert state.legal_actions() == position.legal_actions.tolist()
        assert state.legal_actions_mask() == position.mask.tolist()
        assert state.action_to_string(action) == position.action_to_text(action)
        before = state.clone()
        state.apply_action(action)
        assert before.position == position
        assert len(before.history()) + 1 == len(state.history())


def test_tic_tac_toe_is_openspiels_tic_tac_toe():
    ours = get_all_states.get_all_states(load(TicTacToe, {}), include_terminals=True, to_string=str)
    theirs = get_all_states.get_all_states(
        pyspiel.load_game("tic_tac_toe"), include_terminals=True, to_string=str
    )
    assert len(ours) == len(theirs) == 5478
    assert outcomes(ours) == outcomes(theirs)


def outcomes(states: dict[str, Any]) -> Counter:
    """How many positions end with which returns; None for those that do not end."""
    return Counter(
        tuple(state.returns()) if state.is_terminal() else None for state in states.values()
    )


# Parameters, errors.


def test_a_parameter_stands_for_an_option_that_is_none():
    game = pyspiel.load_game("ludarium_onyx(size=6,max_plies=0)")
    assert game.rules == make_game("onyx", size=6)
    assert pyspiel.load_game("ludarium_obelisk(blocks=)").rules == make_game("obelisk")
    assert pyspiel.load_game("ludarium_onyx(size=6,max_plies=7)").max_game_length() == 7


def test_what_the_game_does_not_accept_is_refused_by_name():
    with pytest.raises(ValueError, match="option 'size' is 77; accepted: an integer from 2 to 9"):
        pyspiel.load_game("ludarium_corso(size=77)")
    with pytest.raises(pyspiel.SpielError, match="Unknown parameter 'sise'"):
        pyspiel.load_game("ludarium_corso(sise=3)")
    with pytest.raises(ValueError, match="observations have no parameters"):
        pyspiel.load_game("ludarium_corso").make_py_observer(params={"a": 1})


def test_an_illegal_action_is_refused_and_changes_nothing():
    state = pyspiel.load_game("ludarium_corso(size=3)").new_initial_state()
    state.apply_action(0)
    before = state.position.copy()
    with pytest.raises(ValueError, match=r"action 0 \(a1.*\) is not legal"):
        state.apply_action(0)
    assert state.position == before


def test_the_ply_cap_is_a_draw():
    state = pyspiel.load_game("ludarium_onyx(size=6,max_plies=2)").new_initial_state()
    for _ in range(2):
        state.apply_action(state.legal_actions()[0])
    assert state.is_terminal()
    assert state.returns() == [0, 0]


def test_a_random_start_is_that_of_its_seed():
    game = pyspiel.load_game("ludarium_osiron(setup=random)")
    assert game.get_type().chance_mode == pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
    assert game.max_chance_nodes_in_history() == 3
    state = game.new_initial_state()
    told = [str(state)]
    for digit in (4, 2, 7):
        with pytest.raises(ValueError, match="outcome 10 is out of range; outcomes are 0 to 9"):
            state.apply_action(10)
        state.apply_action(digit)
        told.append(str(state))
    assert state.position == make_game("osiron", setup="random").start(427)
    assert len(set(told)) == len(told)  # algorithms tell states apart by their texts
    few = load(Oddity, {}).new_initial_state()
    for digit in (1, 0, 6):
        few.apply_action(digit)
    assert few.position == Oddity().start(1 * 7**2 + 6)


#: Calls everything that a state has, with players and actions that make no sense, at every kind of
#: node; what is refused is an exception.
_ASK_WRONGLY = """
import itertools, sys, pyspiel
from ludarium.envs import openspiel
from tests.oddity import Oddity

openspiel.register(Oddity)
names = [name for name in dir(pyspiel.State) if not name.startswith("_")]
names += ["_legal_actions", "_apply_action", "_action_to_string"]
numbers = (-4, -1, 0, 1, 2, 29, 999, 10**6, 2**31 - 1)
calls = [(), *[(one,) for one in numbers], *itertools.product(numbers, numbers)]
for text in sys.argv[1:]:
    state = pyspiel.load_game(text).new_initial_state()
    while True:
        if state.is_chance_node() or state.is_terminal() or len(state.history()) < 4:
            for name, arguments in itertools.product(names, calls):
                try:
                    getattr(state.clone(), name)(*arguments)
                except Exception:
                    pass
        if state.is_terminal():
            break
        state.apply_action(state.legal_actions()[-1])
"""


def test_no_question_at_any_node_ends_the_process():
    """OpenSpiel's C++ trusts the counts of actions and outcomes that a game has given it."""
    games = "ludarium_osiron(setup=random)", "ludarium_oddity", "ludarium_corso(size=3)"
    ended = python(_ASK_WRONGLY, *games, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr[-500:]


def test_a_mask_is_as_long_as_the_actions_at_a_chance_node():
    for game in (load(Oddity, {}), pyspiel.load_game("ludarium_osiron(setup=random)")):
        state = game.new_initial_state()
        assert game.max_chance_outcomes() <= game.num_distinct_actions()
        assert len(state.legal_actions_mask(0)) == game.num_distinct_actions()
        with pytest.raises(ValueError, match="a random start is to be drawn"):
            state._legal_actions(0)
        while state.is_chance_node():
            state.apply_action(0)
        with pytest.raises(ValueError, match="there is no chance node here"):
            state.chance_outcomes()


# Beside other things.


@pytest.mark.parametrize("wrong", [1, "False", None, [False]])
def test_canonical_is_a_flag(wrong: Any) -> None:
    kind = type(pyspiel.load_game("ludarium_corso"))
    with pytest.raises(ValueError, match=r"canonical is .*; accepted: False or True"):
        kind({"canonical": wrong})


def test_python_ends_in_peace():
    """OpenSpiel drops the games that it holds after Python has ended."""
    script = "import pyspiel, ludarium.envs.openspiel; pyspiel.load_game('ludarium_corso')"
    python(script, check=True)


def test_without_openspiel_the_error_names_the_remedy():
    script = "import sys; sys.modules['pyspiel'] = None; import ludarium.envs.openspiel"
    ended = python(script)
    assert ended.returncode == 1
    assert "pip install open_spiel" in ended.stderr


def test_in_the_canonical_frame_actions_and_observations_are_as_the_player_sees_them() -> None:
    plain = pyspiel.load_game("ludarium_onyx(size=6)").new_initial_state()
    canonical = pyspiel.load_game("ludarium_onyx(size=6,canonical=True)").new_initial_state()
    for _ in range(12):
        position, player = plain.position, plain.current_player()
        actions = plain.legal_actions()
        turned = [position.turned_action(action) for action in actions]
        assert canonical.legal_actions() == sorted(turned)
        observer = canonical.get_game().make_py_observer()
        observer.set_from(canonical, player)
        np.testing.assert_array_equal(
            observer.dict["observation"], position.observation(player, canonical=True)
        )
        assert canonical.action_to_string(player, turned[-1]) == plain.action_to_string(actions[-1])
        plain.apply_action(actions[-1])
        canonical.apply_action(turned[-1])
        assert plain.position == canonical.position
