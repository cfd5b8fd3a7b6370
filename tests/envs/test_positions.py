"""Positions as lines of text: the same future, the same text; nothing that no game can reach."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ludarium.envs import GAMES, Game, Position, batch, make, make_game
from ludarium.envs.engine.record import check_record
from ludarium.envs.single import SingleAgentEnv
from ludarium.envs.vector import VectorBoardGameEnv
from tests.oddity import Oddity
from tests.tictactoe import TicTacToe

CORSO = "5/2O2/1X3/5/5 0"
SETS = [
    *((name, options) for name, kind in GAMES.items() for options in ({}, *kind.boards)),
    ("osiron", {"setup": "empty", "max_plies": 60, "repetition": 2}),
    ("onyx", {"size": 6, "swap_rule": True, "max_plies": 30}),
    ("obelisk", {"hourglass": True}),
    (TicTacToe, {}),
    (Oddity, {}),
]


def game_of(kind: str | type[Game], options: dict[str, Any]) -> Game:
    return make_game(kind, **options) if isinstance(kind, str) else kind(**options)


def positions_of(game: Game, seed: int) -> Iterator[Position]:
    """The positions of a random game, the end among them."""
    random = np.random.default_rng(seed)
    position = game.start(seed)
    while not position.is_over:
        yield position
        position.play(int(random.choice(position.legal_actions)))
    yield position


def seen(position: Position) -> tuple[Any, ...]:
    """What a player sees of a position."""
    return (
        *(position.mask.tobytes(), position.outcome, position.score, position.text),
        *(position.observation(player).tobytes() for player in (0, 1)),
    )


@pytest.mark.parametrize(("kind", "options"), SETS, ids=str)
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3))])
def test_a_position_comes_back_from_its_text_and_goes_on_alike(kind, options, seed):
    game = game_of(kind, options)
    before: Position | None = None
    for position in positions_of(game, seed):
        again = Position.from_text(game, position.text)
        assert seen(again) == seen(position)
        if before is not None:  # what came back a ply ago, after the same move
            assert seen(before) == seen(position)
        before = again
        if not position.is_over:
            random = np.random.default_rng([seed, int(position.state.ply)])
            action = int(random.choice(position.legal_actions))
            aside = position.copy()
            aside.play(action)
            again.play(action)
            assert again.text == aside.text
            before = None


@pytest.mark.parametrize("name", GAMES)
def test_a_text_is_all_that_decides_the_rest(name):
    """Games that meet in a text have the same futures, and equal records have equal texts."""
    options = {"size": 3} if name == "corso" else {"size": 6} if name == "onyx" else {}
    game = make_game(name, **options)
    futures: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    texts: dict[bytes, str] = {}
    random = np.random.default_rng(5)
    for _ in range(60):
        position = game.start(0)
        for _ in range(4):
            # Among few actions, so that games meet.
            position.play(int(random.choice(position.legal_actions[:3])))
            state = position.states
            for field in game.log_fields:
                state[field] = 0
            known = b"".join(state[each].tobytes() for each in state.dtype.names or ())
            assert texts.setdefault(known, position.text) == position.text
            futures[position.text].add(
                tuple(child_text(position, action) for action in position.legal_actions)
            )
            if position.is_over:
                break
    assert max(map(len, futures.values())) == 1
    assert len(futures) < 240


def child_text(position: Position, action: int) -> str:
    child = position.copy()
    child.play(int(action))
    return child.text


def test_the_same_board_with_another_past_is_another_text():
    """In Osiron a position counts towards a draw by repetition."""
    game = make_game("osiron", repetition=2)
    start = game.start()
    position = start.copy()
    position.play(int(start.legal_actions[0]))
    board, mover, *fields = position.text.split()
    forgotten = " ".join([board, mover, *(each for each in fields if "seen" not in each)])
    assert Position.from_text(game, forgotten).text == forgotten != position.text


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("corso", "", "write the board, a space, and the player to move, 0 or 1"),
        ("corso", "5/5/5/5/5", "write the board, a space, and the player to move"),
        ("corso", "5/5/5/5/5 2", "the player to move is '2'; write 0 or 1"),
        ("corso", "5/5/5/5 0", "the board has 4 rows, not 5; write them from the top"),
        ("corso", "5/5/5/5/6 0", "the row '6' has more than 5 cells"),
        ("corso", "5/5/5/5/4 0", "the row '4' has 4 cells, not 5"),
        ("corso", "5/5/5/5/4Q 0", "has 'Q'; accepted: O, X, o, x, and numbers"),
        ("corso", f"{'9' * 5000}/5/5/5/5 0", "has more than 5 cells"),
        ("corso", "5/5/5/5/5 1", "without dye, player_0 has placed as many marbles"),
        ("corso", "5/5/5/5/5 0 plies=3", "it has no field 'plies' here; fields: none"),
        ("corso", "5/5/5/5/5 0 word", "'word' is not a field: write name=value"),
        ("corso", "5/5/5/5/5 0 a=1 a=2", "it has the field 'a' twice"),
        ("corso", "5" * 300_000, "it has 300,000 characters; accepted: at most 200,000"),
        ("onyx", "5HH5/12/12/12/12/V10V/V10V/12/12/12/12/5HH5 1", "V has 4 stones, H has 4"),
        ("onyx", "5HH5/12/12/12/12/V10V/V10V/12/12/12/12/5HH5 0 plies=2", "0 plies, or 4, 8"),
        ("osiron", "DDDDD/DDDDDDD/LLLLLLL/LLLLL 1", "so that player_0 is to move"),
        ("osiron", "DDDDD/DDDDDDD/LLLLLLL/LLLL1 0", "the board has 11 L and 12 D"),
        ("osiron", "DDDDD/DDDDDDD/LLLLLLL/LLLLL 0 forbidden=a1-a2", "that was exchanged last"),
        ("osiron", "DDDDD/DDDDDDD/LLLLLLL/LLLLL 0 seen0=zz", "six hexadecimal digits"),
        ("obsidio", "9/9/9/9/9/9/9/9/9 1", "it is one more for player_0"),
        ("obsidio", "9/9/9/9/9/9/9/9/4b4 1", "last is the cell of the token that was placed last"),
        ("obsidio", "9/9/9/9/9/9/9/9/4B4 1", "B is on e1; B and T stand on targets"),
        ("obelisk", "x 0", "write the heights of player_0's columns"),
        ("obelisk", "000/000/000|000/000/000 0 black=5", "a whole number from 0 to 4"),
        ("obelisk", "100/000/000|000/000/000 0", "the columns have 1 levels, and the blocks"),
    ],
)
def test_a_text_that_no_game_can_reach_is_refused_with_the_reason(name, text, told):
    with pytest.raises(ValueError, match="is no position of") as refusal:
        Position.from_text(make_game(name), text)
    assert told in str(refusal.value)
    assert len(str(refusal.value)) < 700


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- 0 cells=9*7", "no action is legal there, and the game is not over"),
        ("- 0 cells=1", "cells has more or fewer than 9 values"),
        ("- 0 cells=99999999*1", "a number of entries of cells is '99999999'"),
        ("- 0 cells=9*300", "cells is '300'; accepted: a whole number from"),
        ("- 0 ply=99", "ply is 99, and a game has at most 9"),
        ("3/3/3 0", "the board is '3/3/3'; write -, and fields"),
    ],
)
def test_a_game_of_ones_own_refuses_what_its_rules_cannot_play(text, told):
    with pytest.raises(ValueError, match="is no position of tictactoe") as refusal:
        Position.from_text(TicTacToe(), text)
    assert told in str(refusal.value)


def test_what_is_no_text_is_refused():
    with pytest.raises(ValueError, match=r"written as a text \(str\), not 5"):
        Position.from_text(make_game("corso"), 5)  # type: ignore[arg-type]


def test_moves_are_played_out_of_one_text():
    position = Position.from_text(make_game("corso"), CORSO)
    assert position.play_moves("c4!, b3!") == [17, 11]
    assert position.text == "2o2/1xoo1/xxx2/1x3/5 0"
    with pytest.raises(ValueError, match=r"^move 2: 'z9'"):
        position.play_moves("a1 z9")


# Environments.


def test_environments_begin_at_a_position():
    env = make("corso")
    env.reset(seed=1, options={"position": CORSO})
    assert env.unwrapped.position.text == CORSO
    single = SingleAgentEnv("corso", seat=0, opponent="random")
    single.reset(seed=1, options={"position": CORSO})
    assert single.board.position.text == CORSO
    vector = VectorBoardGameEnv("corso", 2, seat=0, opponent="random")
    vector.reset(seed=1, options={"position": CORSO})
    assert [vector.batch.position(number).text for number in (0, 1)] == [CORSO] * 2
    games = batch.make("corso", 2, seed=1)
    start = games.position(0).text
    games.reset(options={"position": [start, CORSO]})
    assert [games.position(number).text for number in (0, 1)] == [start, CORSO]
    games.restart([1])
    assert games.position(1).text == start


@pytest.mark.parametrize("text", ["5/5/5/5/5 1", "OOOOO/OOOOO/OOOOO/XXXXX/XXXXX 0", 7])
def test_a_position_that_is_none_changes_no_environment(text):
    env = make("corso")
    env.reset(seed=1)
    env.step(0)
    games = batch.make("corso", 2, seed=1)
    games.step(games.random_actions())
    before = env.unwrapped.position.text, games.states
    for reset in (env.reset, games.reset):
        with pytest.raises(ValueError, match="position"):
            reset(seed=2, options={"position": text})
    assert env.unwrapped.position.text == before[0]
    assert (games.states == before[1]).all()


def test_as_many_positions_as_games():
    games = batch.make("corso", 2, seed=1)
    with pytest.raises(ValueError, match="position has 3 texts; give one, or 2"):
        games.reset(options={"position": [CORSO] * 3})


def test_a_record_says_where_its_game_began():
    env = make("corso")
    env.reset(seed=1, options={"position": CORSO})
    env.step(17)
    record = env.unwrapped.to_record()
    assert record["position"] == CORSO
    game, _, actions, _ = check_record(record, GAMES)
    assert actions == [17]
    with pytest.raises(ValueError, match=r"position of .*: 'nothing' is no position of corso"):
        check_record(record | {"position": "nothing"}, GAMES)
    assert "position" not in make_record_at_start()
    assert game == env.unwrapped.game


def make_record_at_start() -> dict[str, Any]:
    env = make("corso")
    env.reset(seed=1)
    env.step(0)
    return env.unwrapped.to_record()
