"""Pictures of all games: what each one tells, marks of the last action, layers."""

from __future__ import annotations

import re
from itertools import combinations
from math import dist
from xml.etree import ElementTree

import numpy as np
import pytest

from ludarium.envs import GAMES, Game, Position, make_game
from ludarium.envs.engine.draw.layers import LAYERS
from ludarium.envs.engine.draw.picture import GOLD, HEAD, LIGHT, SMALL_TEXT, WIDTH, size_of
from ludarium.envs.engine.views import POINTS, ROLE, TASK
from tests.games import ALL_GAMES, random_game


@pytest.fixture(params=[*GAMES, "tictactoe"])
def drawn_game(request: pytest.FixtureRequest) -> Game:
    """Each game whose picture follows the conventions, with its default options."""
    return ALL_GAMES[request.param]()


@pytest.fixture(params=ALL_GAMES)
def any_game(request: pytest.FixtureRequest) -> Game:
    return ALL_GAMES[request.param]()


_SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{_SVG}text")]


def played(game: Game, *moves: str) -> tuple[Position, int, Position]:
    """The position before the last of the moves, that move, and the position after it."""
    position = game.start(0)
    for move in moves[:-1]:
        position.play(position.text_to_action(move))
    before, action = position.copy(), position.text_to_action(moves[-1])
    position.play(action)
    return before, action, position


def test_a_picture_tells_whose_turn_it_is_the_points_and_the_result(drawn_game: Game) -> None:
    for position, _ in random_game(drawn_game, 1):
        svg = position.svg()
        words, points = texts(svg), position.points
        assert size_of(svg)[0] == WIDTH
        assert position.standing() in ElementTree.fromstring(svg).itertext()
        if points is not None:
            assert [word for word in words if re.fullmatch(r"-?\d+", word)][:2] == [
                *map(str, points)
            ]
        results = {"has won", "drawn", "drawn at the ply cap"} & set(words)
        assert bool(results) == position.is_over
        to_do = f"to {position.to_do()}"
        assert (to_do in words) == (not position.is_over)


def test_most_of_a_picture_is_readable_at_400_pixels(drawn_game: Game) -> None:
    for position, _ in random_game(drawn_game, 2, max_plies=8):
        root = ElementTree.fromstring(position.svg())
        sizes = [float(element.attrib["font-size"]) for element in root.iter(f"{_SVG}text")]
        assert min(sizes) >= 8  # pixels at twice the width: long names of blocks
        assert np.mean(np.array(sizes) >= SMALL_TEXT - 6) > 0.5


def test_the_last_ply_is_told_and_marked(drawn_game: Game) -> None:
    before, played_before = None, None
    for position, action in random_game(drawn_game, 3, max_plies=4):
        if before is not None:
            svg = position.svg(played_before, before)
            text = before.action_to_text(played_before)
            assert f"ply {position.ply}: player_{before.mover} {text}" in texts(svg)
            assert svg.count(LIGHT) > position.svg().count(LIGHT)
        before, played_before = position.copy(), action


def test_a_view_chooses_among_what_there_is(any_game: Game) -> None:
    scene = any_game.drawn_scene
    choices = np.array([slot.choices for slot in scene.slots])
    for row in scene.rows:
        assert {choices[slot] for _, slot in row.places} <= {len(row.words)}
    for seed in range(3):
        before, last_action = None, None
        for position, action in random_game(any_game, seed):
            for last, since in ((None, None), (last_action, None), (last_action, before)):
                shown = position.slots(last, since)
                assert shown.shape == choices.shape
                assert ((shown >= 0) & (shown < choices)).all()
            words = [position.word(each) for each in range(any_game.num_actions)]
            assert min(words) >= 0
            assert max(words) < len(any_game.words)
            facts = position.facts()
            assert 0 <= facts[TASK] < len(any_game.tasks)
            assert ((facts[ROLE:POINTS] >= 0) & (facts[ROLE:POINTS] < len(scene.roles))).all()
            if any_game.has_points:
                assert facts[POINTS] - facts[POINTS + 1] == position.score
            before, last_action = position.copy(), action


@pytest.mark.parametrize(
    "name",  # boards of squares
    ["corso", "obsidio"],
)
def test_what_differs_looks_different_and_stays_on_its_place(name: str) -> None:
    scene = make_game(name).drawn_scene
    assert len({role.piece for role in scene.roles}) == 2
    spots = np.unique(np.array([(slot.x, slot.y) for slot in scene.slots]), axis=0)
    apart = min(dist(*pair) for pair in combinations(spots.tolist(), 2))
    for slot in scene.slots:
        shown = [shape for shape in slot.shapes if shape]
        assert len({*shown}) == len(shown)
        for shape in shown:
            root = ElementTree.fromstring(f"<g>{shape}</g>")
            widths = [float(each.attrib["width"]) for each in root.iter("rect")]
            widths += [2 * float(each.attrib["r"]) for each in root.iter("circle")]
            assert max(widths, default=0) <= apart


def test_corso_shows_what_an_expansion_reached_and_took() -> None:
    before, action, after = played(make_game("corso", size=3), "b2", "b1", "a1", "c2", "b2!")
    new = after.svg(action, before).count(f'stroke="{LIGHT}"')
    assert (
        new - after.svg(action).count(f'stroke="{LIGHT}"') == 7 + 2
    )  # all but a3; b1 and c2 were taken


def test_onyx_shows_captured_stones_and_the_winning_chain() -> None:
    game = make_game("onyx", size=6, start="open")
    before, action, after = played(game, "b1", "c1", "c2", "a6", "f6", "b2")
    assert after.svg(action, before).count('<g opacity="0.4">') == 2
    assert after.svg(action).count('<g opacity="0.4">') == 0
    columns = [f"{file}{rank}" for rank in range(1, 7) for file in "da"]
    _, action, won = played(game, *columns[:-1])
    assert won.rewards == (1, -1)
    line = rf'translate\((\S+) (\S+)\)"><path d="M0 0l(\S+) (\S+)" fill="none" stroke="{GOLD}"'
    gold = np.array(re.findall(line, won.svg()), float)
    column = game.action_spots()[3::6][:6]
    assert gold[:, :2] == pytest.approx(column[1:], abs=0.01)
    assert gold[:, 2:] == pytest.approx(-np.diff(column, axis=0), abs=0.01)


def test_obelisk_shows_where_a_block_comes_to_rest() -> None:
    game = make_game("obelisk")
    _, action, position = played(game, "choose red-i-upright", "choose blue-x", "pick blue-x")
    words = texts(position.svg(action))
    assert words.count("3") >= 9  # an upright block of three reaches 3 on each of nine columns
    assert words.count("r0") == 1
    assert "r1" not in words  # it looks the same from all sides
    spots = game.action_spots()[position.legal_actions]
    assert len({tuple(spot) for spot in spots.tolist()}) == len(spots)


def test_actions_lie_inside_the_picture_and_apart(drawn_game: Game) -> None:
    spots, (width, height) = drawn_game.action_spots(), size_of(drawn_game.start(0).svg())
    assert spots.shape == (drawn_game.num_actions, 2)
    there = spots[~np.isnan(spots[:, 0])]
    assert len(there)
    assert ((there > (0, HEAD)) & (there < (width, height))).all()
    for position, _ in random_game(drawn_game, 0, max_plies=40):
        legal = [spot for spot in spots[position.legal_actions].tolist() if spot[0] == spot[0]]
        assert all(dist(one, other) > 10 for one, other in combinations(legal, 2))


def test_layers_are_drawn_where_actions_lie(drawn_game: Game) -> None:
    position = drawn_game.start(0)
    mask = position.mask.astype(float)
    layers = {"legal": None, "policy": mask / mask.sum(), "visits": mask * 7}
    layers["values"] = np.where(mask > 0, -0.25, np.nan)
    svg = position.svg(layers=layers)
    root = ElementTree.fromstring(svg)
    groups = {
        group.attrib["class"]: group
        for group in root.iter(f"{_SVG}g")
        if group.attrib.get("class", "").startswith("layer")
    }
    placed = (~np.isnan(drawn_game.action_spots()[position.legal_actions, 0])).sum()
    assert set(groups) == {"layer legal", "layer policy visits values"}
    heat = groups["layer policy visits values"]
    assert len(heat.findall(f"{_SVG}circle")) == placed
    assert [text.text for text in heat.findall(f"{_SVG}text")].count("-.25") == placed
    assert position.svg(layers={}) == position.svg() == position._repr_svg_()


def test_only_the_first_layer_gives_colours() -> None:
    position = make_game("corso", size=3).start()
    policy, values = np.eye(9)[0], np.full(9, -0.5)
    for layers, white in (
        ({"policy": policy, "values": values}, 8),
        ({"values": values, "policy": policy}, 0),
    ):
        assert position.svg(layers=layers).count("rgb(255,255,255)") == white


def test_the_best_actions_without_a_place_are_listed() -> None:
    _, _, position = played(make_game("onyx", size=6, swap_rule=True), "d4")
    policy = np.zeros(position.game.num_actions)
    policy[[position.game.swap, 0]] = 0.9, 0.1
    svg = position.svg(layers={"policy": policy})
    assert "policy: swap 90" in texts(svg)
    assert size_of(svg)[1] > size_of(position.svg())[1]


def test_ownership_is_that_of_the_board_or_given() -> None:
    _, _, position = played(make_game("corso", size=3), "b2", "a1")
    for given in (None, [-1, 0, 0, 0, 1, 0, 0, 0, 0]):
        root = ElementTree.fromstring(position.svg(layers={"ownership": given}))
        (group,) = [group for group in root.iter(f"{_SVG}g") if "class" in group.attrib]
        marks = [mark[0].tag.removeprefix(_SVG) for mark in group]
        assert marks == ["path", "rect"]  # a diamond is player_1's


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ({"heat": None}, "'heat' is not a layer of a picture; layers are legal, policy"),
        ({"policy": [1, 2]}, "9 numbers for corso"),
        ({"policy": [-1] * 9}, "no negative number"),
        ({"policy": "much"}, "takes shares of the actions"),
        ({"visits": [np.nan] * 9}, "no NaN"),
        ({"values": [3] * 9}, "from -1 to 1"),
        ({"ownership": [0] * 4}, "9 numbers for corso"),
        ({"ownership": [np.nan] * 9}, "from 1 (player_0) to -1"),
        ({"legal": [2] * 9}, "1 for an action, else 0"),
        (["legal"], "layers is ['legal']"),
    ],
)
def test_wrong_layers_are_refused(layers: dict, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        make_game("corso", size=3).start().svg(layers=layers)


@pytest.mark.parametrize("action", [-5, 9999, "a1"])
def test_what_is_no_action_marks_nothing(action: object) -> None:
    with pytest.raises(ValueError, match=re.escape(str(action))):
        make_game("osiron").start().svg(action)


def test_a_position_of_another_game_is_not_the_one_before() -> None:
    with pytest.raises(ValueError, match=r"before is a position of Corso\(size=3\), not of"):
        make_game("corso", size=4).start().svg(0, make_game("corso", size=3).start())


def test_games_without_owners_have_no_ownership() -> None:
    with pytest.raises(ValueError, match="cells of osiron have no owners"):
        make_game("osiron").start().svg(layers={"ownership": None})
    assert set(LAYERS) == {"legal", "policy", "visits", "values", "ownership", "threats"}


def test_a_position_says_what_it_is() -> None:
    _, _, position = played(make_game("corso", size=2), "a1")
    assert repr(position) == "<Position of Corso(size=2): ply 1, player_1 to move>"
    _, _, over = played(make_game("corso", size=2), "a1", "b2", "a2", "b2!")
    assert repr(over).endswith(": ply 4, player_1 has won>")
