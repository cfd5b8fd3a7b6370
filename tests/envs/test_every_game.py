"""What must hold for any game and option set; a new game gets these tests by being registered."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ludarium.base.messages import quoted
from ludarium.envs import GAMES, Game, Position, make_game
from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.codec import Codec
from ludarium.envs.engine.description import describe_game
from ludarium.envs.engine.position import contents_of
from ludarium.envs.engine.rule import (
    DRAW,
    ONGOING,
    PLAYER_0_WINS,
    PLAYER_1_WINS,
    TRUNCATED,
    seed_rng,
)
from tests.envs.fingerprint import all_fingerprints
from tests.games import changed, garbage, random_game, random_positions, states_of
from tests.oddity import Oddity
from tests.processes import ROOT, python
from tests.tictactoe import TicTacToe

# The rules.


def test_start_writes_every_field(game: Game) -> None:
    for seed in range(3):
        states = garbage(game.new_states(1), seed)
        game.kernels.start(game.tables, states, seed_rng(seed))
        assert (states == game.start(seed).states).all()


def test_contents_of_a_position_are_without_what_lies_between_its_fields(game: Game) -> None:
    for position in random_positions(game, 5):
        other = garbage(game.new_states(1), seed=1)
        for name in game.state_dtype.names:
            other[name] = position.states[name]
        assert contents_of(other[0]) == contents_of(position.states[0])
        if not position.is_over:
            before = contents_of(position.states[0])
            position.play(position.legal_actions[0])
            assert contents_of(position.states[0]) != before


def test_start_depends_on_the_seed_only_where_starts_are_random(game: Game) -> None:
    starts = {contents_of(game.start(seed).states) for seed in range(20)}
    assert (len(starts) > 1) == game.random_start
    assert game.start(7) == game.start(7)


def test_legal_actions_are_those_that_can_be_played(game: Game) -> None:
    for position in random_positions(game, 12):
        for action in range(game.num_actions):
            tried = position.copy()
            if position.mask[action]:
                tried.play(action)
                assert tried.ply == position.ply + 1
            else:
                with pytest.raises(ValueError, match=f"action {action} .* is not legal"):
                    tried.play(action)
                assert tried == position


def test_a_game_goes_on_while_there_is_a_legal_action(game: Game) -> None:
    for seed in range(10):
        for ply, (position, _) in enumerate(random_game(game, seed)):
            assert position.ply == ply <= game.max_plies
            assert position.is_over == (not position.mask.any())
            assert position.mover in (0, 1)
            assert set(position.mask.tolist()) <= {0, 1}


def test_rewards_follow_the_outcome(game: Game) -> None:
    rewards = {
        ONGOING: (0, 0),
        PLAYER_0_WINS: (1, -1),
        PLAYER_1_WINS: (-1, 1),
        DRAW: (0, 0),
        TRUNCATED: (0, 0),
    }
    for seed in range(20):
        for position, action in random_game(game, seed):
            assert position.rewards == rewards[position.outcome]
            assert position.is_truncated == (position.outcome == TRUNCATED)
            if action is None and game.max_score:
                assert abs(position.score) <= game.max_score


def test_a_game_ends_only_where_the_rules_say_that_it_may(game: Game) -> None:
    may_end = getattr(game.rules, "may_end", None)
    answers = set()
    for seed in range(20):
        for position, action in random_game(game, seed):
            if action is None or may_end is None:
                continue
            may = bool(may_end(game.tables[0], position.states[0]))
            answers.add(may)
            for tried in position.legal_actions if not may else ():
                after = position.copy()
                after.play(tried)
                assert not after.is_over
    assert answers == ({True, False} if may_end else set())


def test_the_made_up_game_has_what_it_was_made_up_for() -> None:
    outcomes, movers = set(), set()
    for seed in range(40):
        plies = [position.copy() for position, _ in random_game(Oddity(), seed)]
        outcomes.add(plies[-1].outcome)
        movers |= {(one.mover, other.mover) for one, other in pairwise(plies)}
    assert outcomes == {PLAYER_0_WINS, PLAYER_1_WINS, TRUNCATED}
    assert movers == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_perft_counts_what_can_be_played(game: Game) -> None:
    start = game.start(0)
    assert start.perft(0) == 1
    assert start.perft(1) == len(start.legal_actions)
    second = 0
    for action in start.legal_actions:
        child = start.copy()
        child.play(action)
        second += len(child.legal_actions)
    assert start.perft(2) == second


# What the players see.


def test_observation_depends_on_nothing_but_the_position(game: Game) -> None:
    for position in random_positions(game, 15):
        for player in (0, 1):
            expected = position.observation(player)
            planes = garbage(np.empty(game.planes_shape, np.float32), position.ply)
            game.kernels.observe(game.tables, position.states, player, planes, False)
            np.testing.assert_array_equal(planes.reshape(game.observation_shape), expected)
            np.testing.assert_array_equal(position.copy().observation(player), expected)


def test_observation_fits_its_space(game: Game) -> None:
    for position in random_positions(game, 15):
        for player in (0, 1):
            observation = position.observation(player)
            assert observation.dtype == np.float32
            assert observation.shape == game.observation_shape
            assert observation.min() >= 0
            assert observation.max() <= 1
            if game.binary_observation:
                assert set(np.unique(observation)) <= {0, 1}
                as_bytes = position.observation(player, np.uint8)
                np.testing.assert_array_equal(as_bytes, observation)


def test_play_writes_the_next_mask_and_observation(game: Game) -> None:
    mask = garbage(np.empty(game.num_actions, np.int8), 1)
    planes = garbage(np.empty(game.planes_shape, np.float32), 2)
    for position, action in random_game(game, 3):
        if action is not None:
            after = position.copy()
            after._play(action, mask, planes)
            np.testing.assert_array_equal(mask, after.mask)
            np.testing.assert_array_equal(
                planes.reshape(game.observation_shape), after.observation()
            )


def test_symmetries_change_nothing_that_matters(game: Game) -> None:
    symmetries = game.symmetries()
    assert symmetries.actions.shape[-1] == game.num_actions
    assert symmetries.observation.shape[1] == np.prod(game.observation_shape)
    if game.random_start:
        pytest.skip("starts are random, so no start is known to be the image of another")
    for number in range(len(symmetries)):
        numbers = (number, _for_opponent(game, number))  # by which player 0 and player 1 know it
        image = game.start()
        seen = image.observation().ravel()
        if (seen[symmetries.observation[number]] != seen).any():
            assert game.name == "osiron"  # whose own tests begin games at images of the start
            continue
        for position, action in random_game(game, number):
            seen_as = symmetries.actions_of(position.states, numbers[position.mover])[0]
            image_of = np.argsort(seen_as)
            np.testing.assert_array_equal(image.mask, position.mask[seen_as])
            gather = [symmetries.observation[number] for number in numbers]
            for viewer in (0, 1):
                other = viewer if image.mover == position.mover else 1 - viewer
                np.testing.assert_array_equal(
                    image.observation(other).ravel(),
                    position.observation(viewer).ravel()[gather[viewer]],
                )
            assert image.is_over == position.is_over
            assert image.rewards[image.mover] == position.rewards[position.mover]
            if action is not None:
                image.play(image_of[action])


def _for_opponent(game: Game, number: int) -> int:
    """The row of the same symmetry from the other side: Obelisk's turn one's own tower first."""
    if game.name != "obelisk":
        return number
    mirrored, own, other = number // 16, number // 4 % 4, number % 4
    return 16 * mirrored + 4 * other + own


def test_owners_of_cells_are_a_matter_of_the_board(game: Game) -> None:
    """They move with the cells, and where a game ends, they are what the score counts."""
    if not game.has_owners:
        with pytest.raises(NotImplementedError, match=f"cells of {game.name} have no owners"):
            game.start().owners()
        return
    assert len(game.observation_shape) == 3
    assert game.canonical_turn is None
    symmetries = game.symmetries()
    cells = symmetries.of_cells(game.planes_shape[1])
    for number in range(len(symmetries)):
        image = game.start()
        for position, action in random_game(game, number):
            owners = position.owners()
            assert owners.dtype == np.int8
            assert owners.shape == (game.planes_shape[1],)
            np.testing.assert_array_equal(image.owners(), owners[cells[number]])
            if action is None:
                assert owners.sum(dtype=int) == position.score
            else:
                seen_as = symmetries.actions_of(position.states, number)[0]
                image.play(np.argsort(seen_as)[action])


@pytest.mark.parametrize(
    ("name", "options", "count"),
    [
        ("corso", {}, 8),
        ("onyx", {"size": 6}, 2),
        ("onyx", {"size": 6, "swap_rule": True}, 2),
        ("osiron", {}, 2),
        ("osiron", {"setup": "alternating"}, 12),
        ("osiron", {"setup": "random"}, 12),
        ("osiron", {"setup": "empty", "movement": "advanced"}, 12),
        ("osiron", {"setup": "LLLLLLLLLLDLDDDDDDDDDDDL"}, 1),
        ("obsidio", {"size": 7}, 8),
        ("obelisk", {}, 32),
    ],
)
def test_number_of_symmetries(name: str, options: dict[str, Any], count: int) -> None:
    assert len(make_game(name, **options).symmetries()) == count


def test_symmetries_form_a_group(game: Game) -> None:
    symmetries = game.symmetries()
    tables = symmetries.observation
    if symmetries.kind is None:
        tables = np.hstack([symmetries.actions, tables + game.num_actions])
    known = {row.tobytes() for row in tables}
    assert len(known) == len(symmetries)
    assert {second[first].tobytes() for first in tables for second in tables} == known


def test_positions_that_look_the_same_have_the_same_legal_actions(game: Game) -> None:
    masks: dict[bytes, bytes] = {}
    for seed in range(30):
        for position, action in random_game(game, seed):
            if action is not None:
                seen = position.observation().tobytes()
                assert masks.setdefault(seen, position.mask.tobytes()) == position.mask.tobytes()


@pytest.mark.parametrize(
    ("name", "options", "change", "side"),
    [
        ("onyx", {"size": 6, "start": "open"}, {"v_player": 1}, "plays V"),
        ("osiron", {}, {"mover": 1}, "is light"),
        ("osiron", {"movement": "advanced"}, {"mover": 1}, "is light"),
    ],
)
def test_the_turned_game_is_the_same_game_for_the_other_side(
    name: str, options: dict[str, Any], change: dict[str, int], side: str
) -> None:
    """If the other side begins, the turned game looks the same to both, but for which is theirs."""
    game = make_game(name, **options)
    codec, own_side = Codec(game), game.observation_names.index(side)
    for seed in range(5):
        twin = changed(game.start(), **change)
        for position, action in random_game(game, seed):
            for player in (0, 1):
                viewer = player if twin.mover == position.mover else 1 - player
                seen = position.observation(player, canonical=True)
                of_twin = twin.observation(viewer, canonical=True)
                assert (seen[own_side] == 1 - of_twin[own_side]).all()
                seen[own_side] = of_twin[own_side]
                np.testing.assert_array_equal(seen, of_twin)
                assert position.rewards[player] == twin.rewards[viewer]
            assert twin.is_over == position.is_over
            if action is not None:
                masks = [codec.encode(each.states).masks for each in (position, twin)]
                np.testing.assert_array_equal(*masks)
                twin.play(twin.turned_action(position.turned_action(action)))


# Names.


def test_names_of_actions_are_their_texts_unless_the_notation_says_more(
    default_game: Game,
) -> None:
    differs = False
    for position in random_positions(default_game, 60):
        for action in position.legal_actions:
            differs |= position.action_to_text(action) != default_game.action_names[action]
    assert differs == bool(default_game.notation)


def test_descriptions_are_json_and_tell_the_canonical_turn(game: Game) -> None:
    description = describe_game(game)
    assert json.loads(json.dumps(description)) == description
    assert make_game(description["game"], **description["options"]) == game
    assert description["observation"]["shape"] == list(game.observation_shape)
    turn = description["canonical_turn"]
    assert (turn is None) == (game.canonical_turn is None)
    for position in random_positions(game, 20):
        for player in (0, 1):
            planes = position.observation(player).reshape(game.planes_shape)
            if turn is not None:
                planes = planes[:, turn["cells"]] if position.is_turned(player) else planes
            canonical = position.observation(player, canonical=True)
            np.testing.assert_array_equal(planes, canonical.reshape(game.planes_shape))


def test_planes_are_named_after_their_constants(default_game: Game) -> None:
    if len(default_game.observation_shape) == 1:
        pytest.skip("features are named by what is in them")
    for number, name in enumerate(default_game.observation_names):
        constant, _, count = re.fullmatch(r"(.*?)( (\d+))?", name).groups()
        first = getattr(default_game.rules, constant.upper().replace(" ", "_"))
        assert number == first + (int(count) - 1 if count else 0)


# Notation.


def test_text_of_every_legal_action_reads_back(game: Game) -> None:
    for position in random_positions(game, 40):
        texts = [position.action_to_text(action) for action in position.legal_actions]
        assert len(set(texts)) == len(texts)
        for action, text in zip(position.legal_actions, texts, strict=True):
            assert text == text.lower() == text.strip()
            assert position.text_to_action(text) == action
            assert position.text_to_action(f" {text.upper()}\n") == action


def test_text_of_an_illegal_action_is_refused(game: Game) -> None:
    for position in random_positions(game, 12):
        legal = {position.action_to_text(action) for action in position.legal_actions}
        for action in np.flatnonzero(position.mask == 0):
            text = position.action_to_text(action)
            if text not in legal:
                with pytest.raises(ValueError) as refusal:  # noqa: PT011 (checked below)
                    position.text_to_action(text)
                assert quoted(text) in str(refusal.value)


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_other_text_is_a_value_error_that_names_it(game: Game, data: st.DataObject) -> None:
    position = data.draw(st.sampled_from(_few_positions(game)), "position")
    near_misses = st.text("abcdefghijkl0123456789!?+-=xo ,.>:", max_size=8)
    text = data.draw(st.text(max_size=12) | near_misses, "text")
    refusal = None
    try:
        action = position.text_to_action(text)
    except ValueError as error:
        refusal = str(error)
    if refusal is None:
        assert position.action_to_text(action) == text.strip().lower()
    else:
        assert quoted(text) in refusal


@pytest.mark.parametrize("text", [None, 3, b"a1", ["a1"], object()])
def test_what_is_no_text_is_a_value_error(default_game: Game, text: object) -> None:
    with pytest.raises(ValueError, match="is written as a text"):
        default_game.start(0).text_to_action(text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        *("x" * 100_000, "a1" + "1" * 100_000, "\x1b[2J\x00" * 1000, "choose " + "x" * 100_000),
        *("pick " + "y" * 100_000, "place " + "z" * 100_000 + " r0", "a1-" + "b" * 100_000),
    ],
    ids=["long", "digits", "control", "choose", "pick", "place", "pair"],
)
def test_a_long_text_is_not_repeated_whole(default_game: Game, text: str) -> None:
    for position in random_positions(default_game, 3):
        with pytest.raises(ValueError, match=r"malformed|legal") as refusal:
            position.text_to_action(text)
        assert len(str(refusal.value)) < 400
        assert str(refusal.value).isprintable()


def test_every_action_has_a_text_everywhere(game: Game) -> None:
    """Legal or not, on any move: messages name what is refused."""
    for position in random_positions(game, 6):
        for action in range(game.num_actions):
            text = position.action_to_text(action)
            assert text
            assert text == text.lower().strip()
            if not position.mask[action]:
                assert text in position.refusal(action)


_kept: dict[Game, list[Position]] = {}


def _few_positions(game: Game) -> list[Position]:
    if game not in _kept:
        _kept[game] = random_positions(game, 5)
    return _kept[game]


# Pictures.


def test_picture_is_well_formed_and_marks_the_last_action(game: Game) -> None:
    position, pictures = game.start(0), []
    for _, action in random_game(game, 0, max_plies=6):
        if action is not None:
            position.play(action)
            pictures = [position.svg(action), position.svg()]
            for picture in pictures:
                root = ElementTree.fromstring(picture)
                assert root.tag == "{http://www.w3.org/2000/svg}svg"
                assert {"width", "height", "viewBox"} <= set(root.attrib)
            assert pictures[0] != pictures[1]
    assert pictures


def test_board_text_says_whose_turn_it_is_and_which_marks_are_whose(default_game: Game) -> None:
    """In one line: the last, but in Osiron, where programs read the pieces off the last one."""
    at = -2 if default_game.name == "osiron" else -1
    endings = ("player_0 has won", "player_1 has won", "drawn", "drawn at the ply cap")
    for position, _ in random_game(default_game, 2):
        line = position.board_text().splitlines()[at]
        status, _, sides = line.partition("; ")
        if position.is_over:
            assert status in endings
            assert ("won" in status) == (position.rewards != (0, 0))
        else:
            assert status == f"player_{position.mover} to {position.to_do()}"
        marks = [default_game.marks(position, player) for player in (0, 1)]
        if not isinstance(default_game, Oddity):  # it has piles, which are nobody's
            assert marks[0] != marks[1]
            assert all(f"player_{player} ({marks[player]})" in sides for player in (0, 1))
        points = position.points
        assert (points is None) == ("points:" not in sides)
        if points is not None:
            assert points[0] - points[1] == position.score


@pytest.mark.parametrize("name", GAMES)
def test_rules_in_short_are_those_of_the_readme(name: str) -> None:
    rules = make_game(name).rules_text()
    assert len(rules) > 300
    assert "#" not in rules
    assert "README.md" in rules.splitlines()[-1]
    assert "not written down" in TicTacToe().rules_text()


def test_board_text_tells_all_that_the_players_see(game: Game) -> None:
    seen: dict[str, bytes] = {}
    for seed in range(6):
        for position, _ in random_game(game, seed):
            text = position.board_text()
            assert text == str(position)
            assert all(line == line.rstrip() for line in text.splitlines())
            if not position.is_over:
                planes = b"".join(position.observation(player).tobytes() for player in (0, 1))
                assert seen.setdefault(text, planes) == planes
    assert len(set(seen.values())) >= min(10, game.max_plies)


# Copies.


def test_copies_go_their_own_way(game: Game) -> None:
    for position, action in random_game(game, 8):
        for twin in (
            position.copy(),
            copy.copy(position),
            copy.deepcopy(position),
            pickle.loads(pickle.dumps(position)),
        ):
            assert twin == position
            assert twin.mover == position.mover
            assert twin.outcome == position.outcome
            if action is not None:
                before = position.states.copy()
                twin.play(action)
                assert twin != position
                assert (position.states == before).all()
        if position.ply > 5:
            break


def test_games_with_equal_options_are_equal(game: Game) -> None:
    twin = type(game)(**game.options)
    assert twin == game
    assert hash(twin) == hash(game)
    assert pickle.loads(pickle.dumps(game)) == game
    assert copy.deepcopy(game) == game
    assert twin.kernels is game.kernels


# Compiled loops over many games.


@pytest.mark.parametrize("fused", [False, True], ids=["choose and step", "fused"])
def test_games_in_a_batch_go_as_games_of_their_own(game: Game, fused: bool) -> None:
    """Whatever is in the buffers: they are full of garbage before each step."""
    games = BatchEnv(game, 9, seed=5)
    positions = [games.position(i) for i in range(9)]
    shown = (games._observations, games._masks, games._movers, games._rewards)
    finished = 0
    for _ in range(60):
        for i, position in enumerate(positions):
            assert games.position(i) == position
            np.testing.assert_array_equal(games.masks[i], position.mask)
            np.testing.assert_array_equal(games.observations[i], position.observation())
            assert games.movers[i] == position.mover
        for buffer in shown:
            garbage(buffer, 1)
        if fused:
            games.step_random()
        else:
            games.step(games.random_actions())
        for i, position in enumerate(positions):
            position.play(int(games.actions[i]))
            assert tuple(games.rewards[i]) == position.rewards
            assert games.terminated[i] == (position.is_over and not position.is_truncated)
            assert games.truncated[i] == position.is_truncated
            if position.is_over:
                positions[i] = games.position(i) if game.random_start else game.start()
                finished += 1
    assert finished or game.max_plies > 60


def test_random_actions_are_uniform(default_game: Game) -> None:
    """Drawn without a mask, out of few or of many."""
    game, draws = default_game, 6000
    positions = [p for p in random_positions(game, 60) if len(p.legal_actions) > 1]
    actions, rngs = np.empty(draws, np.int64), seed_rng(1, draws)
    for position in (
        min(positions, key=lambda p: len(p.legal_actions)),
        max(positions, key=lambda p: len(p.legal_actions)),
    ):
        states = states_of([position] * draws)
        game.batch_kernels.batch_random_actions(
            game.tables, states, rngs, actions, game.num_actions, 0, draws
        )
        counts = np.bincount(actions, minlength=game.num_actions)
        assert (counts[position.mask == 0] == 0).all()
        counts = counts[position.legal_actions]
        expected = draws / len(counts)
        chi_square = ((counts - expected) ** 2 / expected).sum()
        freedom = len(counts) - 1
        assert chi_square < freedom + 5 * np.sqrt(2 * freedom)


# What is written for people.


#: The options of each game where none is given.
DEFAULTS = {
    "corso": {"size": 5},
    "onyx": {"size": 12, "start": "standard", "swap_rule": False, "max_plies": None},
    "osiron": {"setup": "beginner", "movement": "basic", "max_plies": 200, "repetition": 3},
    "obsidio": {"size": 9, "diagonal_adjacency": True, "swap_rule": True},
    "obelisk": {"scoring": "points", "hourglass": False, "blocks": None, "max_plies": None},
}


@pytest.mark.parametrize("name", GAMES)
def test_default_options(name: str) -> None:
    assert make_game(name).options == DEFAULTS[name]


@pytest.mark.parametrize(
    ("name", "option", "value", "accepted"),
    [
        ("corso", "size", 1, "an integer from 2 to 9"),
        ("corso", "size", 10, "an integer from 2 to 9"),
        ("onyx", "size", 4, "an integer from 6 to 20 in steps of 2"),
        ("onyx", "size", 7, "an integer from 6 to 20 in steps of 2"),
        ("onyx", "start", "empty", "one of 'standard', 'open'"),
        ("onyx", "swap_rule", 1, "one of False, True"),
        ("onyx", "max_plies", 0, "a positive integer up to 1,000,000, or None"),
        ("osiron", "setup", "expert", "one of 'beginner', 'alternating', 'random', 'empty', or 24"),
        ("osiron", "setup", None, "one of 'beginner', 'alternating', 'random', 'empty', or 24"),
        ("osiron", "setup", "LD", "(it has 2 letters, not 24)"),
        ("osiron", "setup", 13 * "L" + 12 * "D", "(it has 25 letters, not 24)"),
        ("osiron", "setup", 13 * "L" + 11 * "D", "(it has 13 L and 11 D, not 12 of each)"),
        ("osiron", "setup", 12 * "L" + "X" + 11 * "D", "(its letter for c1 is 'X', not L or D)"),
        ("osiron", "setup", 12 * "l" + 12 * "d", "(its letter for a1 is 'l', not L or D)"),
        ("osiron", "movement", "expert", "one of 'basic', 'advanced'"),
        ("osiron", "max_plies", 0, "an integer from 1 to 10000"),
        ("osiron", "max_plies", 10_001, "an integer from 1 to 10000"),
        ("osiron", "repetition", 1, "0 (never) or an integer from 2 to 10000"),
        ("osiron", "repetition", -1, "0 (never) or an integer from 2 to 10000"),
        ("osiron", "repetition", 10_001, "0 (never) or an integer from 2 to 10000"),
        ("osiron", "repetition", True, "0 (never) or an integer from 2 to 10000"),
        ("obsidio", "size", 8, "one of 7, 9, 11"),
        ("obsidio", "diagonal_adjacency", 1, "one of True, False"),
        ("obsidio", "swap_rule", 1, "one of True, False"),
        ("obelisk", "scoring", "tower", "one of 'points', 'topple'"),
        ("obelisk", "hourglass", 1, "one of False, True"),
        ("obelisk", "max_plies", 0, "None or a positive integer"),
        ("obelisk", "blocks", 5, "None, the path of a JSON file"),
    ],
)
def test_other_options_are_refused(name: str, option: str, value: object, accepted: str) -> None:
    with pytest.raises(ValueError, match=f"option '{option}' is {value!r}; accepted: ") as refusal:
        make_game(name, **{option: value})
    assert accepted in str(refusal.value)


@pytest.mark.parametrize("name", GAMES)
def test_every_room_has_a_readme_that_credits_the_inventor(name: str) -> None:
    kind = GAMES[name]
    readme = Path(inspect.getfile(kind)).with_name("README.md").read_text(encoding="utf-8")
    assert kind.title in readme
    assert kind.credit.partition(",")[0] in readme


@pytest.mark.parametrize("name", GAMES)
def test_the_readme_names_the_entries_of_the_observation(name: str) -> None:
    """Rows of the table give numbers and either the name of each or the first and the last."""
    readme = Path(inspect.getfile(GAMES[name])).with_name("README.md").read_text(encoding="utf-8")
    table = readme.partition("\n## Observation\n")[2].partition("\n\n|")[2].partition("\n\n")[0]
    game = GAMES[name](**({"swap_rule": True} if name == "onyx" else {}))
    described = 0
    for row in table.splitlines()[2:]:
        numbers, names = re.search(r"\| ([\d, to-]+) \| (`.*?`) \|", row).groups()
        first, last = (int(re.findall(r"\d+", numbers)[index]) for index in (0, -1))
        expected = list(game.observation_names[first : last + 1])
        assert first == described
        described = last + 1
        given = re.findall(r"`(.*?)`", names)
        assert given == ([expected[0], expected[-1]] if " to " in names else expected)
    assert described == game.observation_shape[0]


# Plain Python.


@pytest.mark.slow
def test_plain_python_gives_the_same_as_compiled_code() -> None:
    program = "import runpy; runpy.run_module('tests.envs.fingerprint', run_name='__main__')"
    run = python(program, environment={"LUDARIUM_CODE": "plain"}, cwd=ROOT, check=True)
    assert json.loads(run.stdout) == all_fingerprints()
