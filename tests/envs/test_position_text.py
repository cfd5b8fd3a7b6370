"""Positions as lines of text: exact round trips, one text for one future, refusals in a line."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludarium.envs import Game, Position, from_record, make_game, make_raw
from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.record import check_record
from ludarium.envs.engine.rule import DRAW
from ludarium.envs.single import SingleAgentEnv
from ludarium.envs.vector import VectorBoardGameEnv
from tests.envs.test_opponents import Listener
from tests.games import CASES, after, random_game, random_positions, slow_but

CORSO = "5/2O2/1X3/5/5 0"
_OSIRON = "DDDDD/DDDDDDD/LLLLLLL/LLLLL"
#: The examples of docs/guide/positions.md.
EXAMPLES: list[tuple[str, dict[str, Any], str]] = [
    ("corso", {}, "2o2/1ooo1/1Xo2/5/5 1"),
    ("onyx", {"size": 6, "swap_rule": True},
     "2HH2/4V1/V4V/V4V/6/2HH2 1 midpoints=Hcd23 swapped=yes"),
    ("osiron", {}, "DDDDD/LDDDDDL/DLLLLLD/LLLLL 0 forbidden=b7-c7 seen0=000fff seen1=001fdfb1c1"),
    ("osiron", {"setup": "empty"}, "L2DD/D5L/L5L/L2D1 1"),
    ("obsidio", {"size": 7}, "t5b/b6/7/b6/7/7/1b4t 0 last=b1 turn=second"),
    ("obelisk", {}, "000/022/000|010/111/010 0 used=green-o-upright,blue-x "
     "zone=green-s-flat,blue-w points=2,3"),
    ("tictactoe", {}, "- 0 ply=2 cells=1,2,7*0"),
]  # fmt: skip


def _game(name: str, options: dict[str, Any]) -> Game:
    kind, _ = next(case for case in CASES.values() if case[0].name == name)
    return kind(**options)


def _looks_alike(one: Position, other: Position) -> bool:
    """Whether two positions can do, show and are the same at present."""
    return (
        (one.mover, one.outcome, one.score) == (other.mover, other.outcome, other.score)
        and (one.mask == other.mask).all()
        and (one.is_over or (one.observation() == other.observation()).all())
    )


@pytest.mark.parametrize(
    "case", slow_but([name for name, (_, options) in CASES.items() if not options], CASES)
)
def test_every_position_of_random_games_is_read_back_and_goes_on_alike(case: str) -> None:
    kind, options = CASES[case]
    game = kind(**options)
    first = [position.copy() for position, _ in islice(random_game(game, 1), 4)]
    for position in [*first, *random_positions(game, 10, seed=1)]:
        again = Position.from_text(game, position.text)
        assert again.text == position.text
        assert _looks_alike(again, position)
        lot = random.Random(position.text)
        for _ in range(8):  # the same moves lead to the same texts
            if position.is_over:
                break
            action = lot.choice(position.legal_actions.tolist())
            position.play(action)
            again.play(action)
            assert _looks_alike(again, position)
            assert again.text == position.text


@pytest.mark.parametrize(("name", "options", "text"), EXAMPLES)
def test_the_guide_has_an_example_of_each_game(
    name: str, options: dict[str, Any], text: str
) -> None:
    assert Position.from_text(_game(name, options), text).text == text
    assert text in Path("docs/guide/positions.md").read_text()


def test_ways_to_one_position_give_one_text() -> None:
    corso = make_game("corso").start()
    assert after(corso, "a1", "b2", "c3").text == after(corso, "c3", "b2", "a1").text
    assert after(corso, "a1", "e5").text == "4X/5/5/5/O4 0"
    ways = ("b1-c1", "b7-c7", "b3-c3", "b5-c5"), ("b3-c3", "b7-c7", "b1-c1", "b5-c5")
    blind, seeing = (make_game("osiron", repetition=number).start() for number in (0, 3))
    assert len({after(blind, *way).text for way in ways}) == 1
    assert len({after(seeing, *way).text for way in ways}) == 2  # they have seen other positions


def test_onyx_tells_who_has_which_side_whoever_is_to_move() -> None:
    start = make_game("onyx", size=6, swap_rule=True).start()
    for line, mover in ((("b2", "swap"), 0), (("b2", "swap", "e5"), 1)):
        assert f" {mover} swapped=yes" in after(start, *line).text


def test_onyx_counts_the_plies_that_captures_hide() -> None:
    game = make_game("onyx", size=6, start="open")
    quick = Position.from_text(game, "6/6/6/6/6/V5 1")
    slow = Position.from_text(game, "6/6/6/6/6/V5 1 plies=9")
    assert (quick.ply, slow.ply) == (1, 9)
    assert quick.text != slow.text


def test_osiron_remembers_the_positions_that_a_repetition_would_count() -> None:
    game = make_game("osiron", repetition=2)
    position = after(game.start(), "b1-c1", "b7-c7", "b1-c1", "b7-c7")
    again = Position.from_text(game, position.text)
    unseen = Position.from_text(game, position.text.partition(" seen")[0])
    assert after(again, "b1-c1").outcome == after(position, "b1-c1").outcome == DRAW
    assert not after(unseen, "b1-c1").is_over
    assert unseen.text != position.text
    capped = make_game("osiron", repetition=3, max_plies=8).start()
    over = after(capped, *["b1-c1", "b7-c7"] * 4)
    assert (over.is_truncated, "seen" in over.text) == (True, False)  # no repetition counts now


def test_the_pile_of_obelisk_decides_the_text() -> None:
    game = make_game("obelisk")
    board = "000/022/000|010/111/010 1 used=green-o-upright,blue-x"
    whole = Position.from_text(game, f"{board} points=2,3")
    chosen = Position.from_text(game, f"{board} zone=blue-w points=2,3")
    blue = game.action_names.index("choose blue-w")
    assert (whole.mask[blue], chosen.mask[blue]) == (1, 0)
    assert after(whole, "choose blue-w").text == chosen.text
    assert whole.slots()[[at for _, at in game.drawn_scene.rows[1].places]].tolist() == [0, 2, 2]


@pytest.mark.parametrize(
    ("name", "options", "text", "reason"),
    [
        ("corso", {}, "", "write the board, a space, and the player to move, 0 or 1"),
        ("corso", {}, "5/5/5/5/5 w", "the player to move is 'w'; write 0 or 1"),
        ("corso", {}, "5/5/5/5 0", "its rows are 4, not 5; write them from the top"),
        ("corso", {}, "5/5/5/5/4 0", "the row '4' has 4 of 5 cells"),
        ("corso", {}, "5/5/5/5/99999999999 0", "the row '99999999999' has more than 5 cells"),
        ("corso", {}, "5/5/5/5/4Q 0", "the row '4Q' has 'Q'; accepted: O, X, o, x, and numbers"),
        ("corso", {}, "5/5/5/5/4O 0", "without dye, player_0 has placed as many marbles"),
        ("corso", {}, "5/5/5/5/1o3 1", "no expansion left the dye in row 5, cell 2: neither this"),
        ("corso", {}, "5/5/5/4o/1O1oo 0", "3 or more marbles were expanded, and each leaves a"),
        ("corso", {}, "5/5/5/5/5 0 plies=0", "it has no field 'plies' here; fields: none"),
        ("corso", {}, "5/5/5/5/5 0 plies", "'plies' is not a field: write name=value"),
        ("onyx", {"size": 6}, "6/6/6/6/6/V5 0", "V has 1 stones, H has 0, and V is to move"),
        ("onyx", {"size": 6}, "6/6/6/6/6/6 0 plies=2", "this board takes 0 plies, or 4, 8, 12"),
        ("onyx", {"size": 6}, "6/6/6/6/6/6 0 midpoints=Va1", "has 'Va1'; write V or H and"),
        ("onyx", {"size": 6}, "V5/V5/V5/VH4/VHHH2/VHH3 0", "V joins its sides, so the game"),
        ("onyx", {"size": 6}, "6/VH4/HV4/6/6/6 0", "there is neither Vab45 nor Hab45: the last"),
        ("osiron", {}, "DDDDD/DDDDDDL/DLLLLLL/LLLLL 0", "so that player_1 is to move"),
        ("osiron", {}, "5/7/7/5 0", "the board has 0 L and 0 D, not 12 and 12"),
        ("osiron", {}, f"{_OSIRON} 0 seen0=fff", "seen0 has 'fff'; write the set"),
        ("osiron", {}, f"{_OSIRON} 0 seen0=000fff*99", "more positions than"),
        ("osiron", {}, f"{_OSIRON} 0 forbidden=b1-c1", "exchanged last"),
        ("osiron", {}, f"{_OSIRON} 0 plies=9", "takes 0 plies, or 2, 4, 6"),
        ("osiron", {"max_plies": 8}, f"{_OSIRON} 0 plies=10", "played 10 plies or more before"),
        ("osiron", {"setup": "empty"}, "5/7/7/L4 0", "1 pieces are placed, so that player_1"),
        ("obsidio", {}, "9/9/9/9/9/9/9/9/B8 0 last=a1", "on a1; B and T stand on targets"),
        ("obsidio", {}, "9/9/9/9/9/9/9/1B7/9 0 last=b2", "has only 0 of 4 tokens around it"),
        ("obsidio", {}, "9/9/9/9/9/9/9/9/b8 1", "here it is missing"),
        ("obsidio", {}, "9/9/9/9/9/9/9/9/b8 0 last=a1", "but with player_0 to move both have had"),
        ("obelisk", {}, "000/000 0", "the board is '000/000'; write the heights"),
        ("obelisk", {}, "900/000/000|000/000/000 0", "the columns have 9 levels, and the blocks"),
        ("obelisk", {}, "000/000/000|000/000/000 0 used=blue-x", "used has 1 blocks"),
        ("obelisk", {}, "000/000/000|000/000/000 0 zone=blue-q", "zone has 'blue-q'; write ids"),
        ("obelisk", {}, "000/000/000|000/000/000 1", "player_0 is the active player in turn 1"),
        ("obelisk", {}, "000/000/000|000/000/000 0 points=3,0", "worth 0 together"),
        ("obelisk", {}, "z00/000/000|000/000/000 0", "a column has 35 levels; blocks reach"),
        ("tictactoe", {}, "- 0 cells=9*7", "the rules fail there"),
        ("tictactoe", {}, "- 0 cells=999999999*0", "accepted: a whole number from 1 to 9"),
        ("tictactoe", {}, "- 0 outcome=7", "outcome is 7; accepted: 0 to 4"),
    ],
)  # fmt: skip
def test_a_wrong_text_is_refused_with_the_reason(
    name: str, options: dict[str, Any], text: str, reason: str
) -> None:
    game = _game(name, options)
    with pytest.raises(ValueError, match=rf"is no position of {name}: ") as error:
        Position.from_text(game, text)
    message = str(error.value)
    assert any(part in message for part in reason.split("|"))
    assert len(message) <= 400
    assert "\n" not in message


def test_a_text_is_measured_before_it_is_read() -> None:
    with pytest.raises(ValueError, match="has 200001 characters; accepted: at most 63"):
        Position.from_text(make_game("corso"), "5" * 200_001)
    with pytest.raises(ValueError, match="written as a text"):
        Position.from_text(make_game("corso"), 5)  # type: ignore[arg-type]


def test_moves_are_played_out_of_one_text() -> None:
    position = make_game("corso").start()
    assert [position.game.action_names[a] for a in position.play_moves("c3 b2, c3!")] == [
        *("c3", "b2", "c3")
    ]
    with pytest.raises(ValueError, match="move 2: 'z9' is malformed"):
        position.play_moves("a1 z9")
    assert position.ply == 4


# Environments.


def test_an_environment_begins_at_a_position_and_records_it() -> None:
    env = make_raw("corso")
    env.reset(1)
    assert env.mask().all()
    env.reset(1, {"position": CORSO})
    assert env.agent_selection == "player_0"
    for mask in (env.observe("player_0")["action_mask"], env.mask()):
        assert (mask == Position.from_text(env.game, CORSO).mask).all()
    env.step(env.text_to_action("c4!"))
    record = env.to_record()
    assert (record["position"], record["moves"]) == (CORSO, ["c4!"])
    assert from_record(record).position.text == env.position.text
    before = env.position
    with pytest.raises(ValueError, match="its rows are 1, not 5"):
        env.reset(1, {"position": "5 0"})
    assert env.position == before
    env.reset(1)
    assert (env.position.ply, "position" in env.to_record()) == (0, False)


def test_nobody_plays_on_where_the_game_is_over() -> None:
    with pytest.raises(ValueError, match="the game is over at"):
        make_raw("corso", size=2).reset(options={"position": "oo/xx 0"})
    record = {"game": "corso", "version": 0, "options": {}, "moves": [], "position": "5 0"}
    with pytest.raises(ValueError, match="position of the game record: '5 0' is no position"):
        check_record(record, {"corso": type(make_game("corso"))})


def test_games_of_a_batch_begin_at_positions() -> None:
    games = BatchEnv("corso", 2, seed=1)
    games.reset(2, {"position": CORSO})
    assert [games.position(number).text for number in (0, 1)] == [CORSO, CORSO]
    texts = ["5/5/5/5/5 0", "5/2O2/5/5/5 1"]
    games.reset(2, {"position": texts})
    assert [games.position(number).text for number in (0, 1)] == texts
    assert games.movers.tolist() == [0, 1]
    assert games.masks.sum(axis=1).tolist() == [25, 24]
    with pytest.raises(ValueError, match="position is a list of 1 for 2 games"):
        games.reset(2, {"position": [CORSO]})


@pytest.mark.parametrize("seat", [0, 1])
def test_one_side_begins_at_a_position_and_opponents_know_it(seat: int) -> None:
    first = Listener(range(25))  # which replays its games
    single = SingleAgentEnv("corso", opponent=first, seat=seat)
    single.reset(seed=1, options={"position": CORSO})
    envs = VectorBoardGameEnv("corso", 2, opponent=first, seat=seat)
    envs.reset(seed=1, options={"position": CORSO})
    expected = CORSO if seat == 0 else "5/2O2/1X3/5/O4 1"
    assert single.aec.position.text == expected
    assert [envs.batch.position(number).text for number in (0, 1)] == [expected] * 2
    assert [game.start for game in first.begun] == [CORSO] * 3
    assert not np.any(envs.batch.terminated)
