"""A piece in hand on the page: it is turned, moved, put down and put back, by each kind of pointer.

Obelisk's rules say where it comes to rest; so these tests ask the game in Python, not the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ludarium.envs import Position
from ludarium.envs.engine.views import FLIP, ROTATE
from ludarium.envs.registry import make_game

from .page_driver import DESKTOP, PHONE, PageDriver, open_window

GAME = make_game("obelisk")
#: A hook in the hand of the player who was active; the other one's tower is empty.
MOVES = ("choose red-l-upright", "choose green-t-flat", "pick green-t-flat")


def in_hand(*moves: str) -> Position:
    position = GAME.start()
    for text in MOVES + moves:
        position.play(position.text_to_action(text))
    return position


@pytest.fixture
def mouse(browser: Any, site: str) -> Iterator[PageDriver]:
    yield from _driver(browser, site, DESKTOP)


@pytest.fixture
def fingers(browser: Any, site: str) -> Iterator[PageDriver]:
    yield from _driver(browser, site, PHONE)


def _driver(browser: Any, site: str, viewport: dict[str, int]) -> Iterator[PageDriver]:
    numbers = ".".join(text.replace(" ", "%20") for text in MOVES)
    with open_window(browser, site, viewport) as driver:
        driver.open(f"#g=obelisk&o=obelisk&m={numbers}")
        yield driver


def place_of(position: Position, text: str) -> np.ndarray:
    """Where a person points for an action: the middle of its columns, seen from above."""
    action = position.text_to_action(text)
    after = position.copy()
    after.play(action)
    changed = after.slots(action, position) != position.slots()
    handling = GAME.drawn_scene.handling
    assert handling is not None
    from_above = handling.drawings[0]
    return np.mean([place for slot, place in from_above.items() if changed[slot]], axis=0)


def pose_after(position: Position, *ways: int) -> str:
    """How a placement's text tells the pose after turns and flips."""
    pose = 0
    for way in ways:
        pose = position.next_pose(pose, way)
    return f"r{pose % 4}{'f' * (pose // 4)}"


def test_a_chosen_block_is_picked_where_it_is_seen(sized: PageDriver) -> None:
    sized.open(f"#g=obelisk&m={'.'.join(MOVES[:2]).replace(' ', '%20')}")
    name = sized.page.locator("#board .slots text", has_text="green-t-flat").bounding_box()
    block = (name["x"] + name["width"] / 2, name["y"] - 3 * name["height"])
    sized.press_at(*block)
    assert sized.moves == list(MOVES)


def test_a_block_follows_the_mouse_is_turned_and_placed(mouse: PageDriver) -> None:
    position = in_hand()
    assert mouse.holds
    assert mouse.ghosts == 0
    mouse.page.mouse.move(*mouse.on_screen(*place_of(position, "place b2 r0")))
    assert mouse.held.startswith("place b2 r0, reaches 2 of 9, ")
    assert mouse.ghosts > 0
    mouse.page.mouse.move(*mouse.on_screen(*place_of(position, "place a1 r0")))
    assert mouse.held.startswith("place a1 r0, ")
    mouse.page.keyboard.press("r")
    assert f" {pose_after(position, ROTATE)}, " in mouse.held
    assert mouse.page.locator("#live").inner_text() == f"A quarter turn: {mouse.held}"
    mouse.page.keyboard.press("f")
    assert f" {pose_after(position, ROTATE, FLIP)}, " in mouse.held
    mouse.page.keyboard.press("f")
    mouse.page.keyboard.press("Shift+R")
    assert mouse.held.startswith("place a1 r0, ")
    place = place_of(position, "place b2 r0")
    mouse.page.mouse.click(*mouse.on_screen(*place))
    assert mouse.moves == [*MOVES, "place b2 r0"]
    assert mouse.ghosts == 0


def test_a_preview_is_the_picture_after_the_action(mouse: PageDriver) -> None:
    mouse.page.mouse.move(*mouse.on_screen(*place_of(in_hand(), "place b2 r0")))
    drawn = "Array.from(document.querySelectorAll('#board .slots > g'), (each) => each.innerHTML)"
    before = mouse.page.evaluate(drawn)
    mouse.page.keyboard.press("Escape")
    without = mouse.page.evaluate(drawn)
    mouse.page.mouse.click(*mouse.on_screen(*place_of(in_hand(), "place b2 r0")))
    after = mouse.page.evaluate(drawn)
    handling = GAME.drawn_scene.handling
    assert handling is not None
    slots = set(handling.slots)
    assert [text for slot, text in enumerate(before) if slot in slots] == [
        text for slot, text in enumerate(after) if slot in slots
    ]
    assert before != without
    assert all(before[slot] == without[slot] for slot in range(len(before)) if slot not in slots)


def test_a_block_is_put_back(mouse: PageDriver) -> None:
    mouse.page.mouse.move(*mouse.on_screen(*place_of(in_hand(), "place b2 r0")))
    mouse.page.keyboard.press("r")
    mouse.page.keyboard.press("Escape")
    assert mouse.held == "Block in hand, not turned."
    assert mouse.ghosts == 0
    assert mouse.page.get_by_role("button", name="Place", exact=True).is_disabled()
    assert mouse.moves == list(MOVES)


def test_a_block_is_placed_by_the_keyboard_alone(mouse: PageDriver) -> None:
    position = in_hand()
    mouse.page.locator("#board").focus()
    mouse.page.keyboard.press("ArrowLeft")
    said = []
    for key in ("ArrowLeft", "ArrowDown", "ArrowDown", "ArrowUp", "r", "ArrowRight", "ArrowUp"):
        mouse.page.keyboard.press(key)
        said.append(mouse.page.locator("#live").inner_text())
    turned = pose_after(position, ROTATE)
    assert said[2].startswith("place a1 r0, ")
    assert said[3].startswith("place a2 r0, ")
    assert said[-1] == mouse.held
    assert turned in said[-1]
    mouse.page.keyboard.press("Enter")
    assert mouse.moves[-1] == said[-1].split(",")[0]
    assert mouse.page.evaluate("document.activeElement.id") == "board"


def test_a_placement_of_another_pose_is_shown_and_clicked_among_the_heights(
    mouse: PageDriver,
) -> None:
    position = in_hand()
    action = position.text_to_action("place b1 r2")
    spots = GAME.action_spots()
    assert spots is not None
    mouse.page.mouse.move(*mouse.on_screen(*spots[action]))
    assert mouse.ghosts > 0
    assert mouse.held == "Block in hand, not turned."
    mouse.page.mouse.click(*mouse.on_screen(*spots[action]))
    assert mouse.moves == [*MOVES, "place b1 r2"]


def test_a_finger_shows_first_and_places_with_its_second_tap(fingers: PageDriver) -> None:
    place = place_of(in_hand(), "place a1 r0")
    fingers.press_at(*fingers.on_screen(*place))
    assert fingers.held.startswith("place a1 r0, ")
    assert fingers.moves == list(MOVES)
    fingers.press_at(*fingers.on_screen(*place))
    assert fingers.moves == [*MOVES, "place a1 r0"]


def test_a_finger_drags_on_the_pad_and_buttons_do_the_rest(fingers: PageDriver) -> None:
    position = in_hand()
    start, end = (
        fingers.on_screen(*place_of(position, text), within="#hand .pad")
        for text in ("place a1 r0", "place b2 r0")
    )
    fingers.touch(start)
    assert fingers.held.startswith("place a1 r0, ")
    fingers.touch(end)
    assert fingers.held.startswith("place b2 r0, ")
    fingers.touch()
    assert fingers.moves == list(MOVES)
    fingers.page.get_by_role("button", name="Turn (R)").tap()
    assert f" {pose_after(position, ROTATE)}, " in fingers.held
    fingers.page.get_by_role("button", name="Flip (F)").tap()
    text = fingers.held.split(",")[0]
    assert text.endswith(f" {pose_after(position, ROTATE, FLIP)}")
    fingers.page.get_by_role("button", name="Place", exact=True).tap()
    assert fingers.moves == [*MOVES, text]


def test_two_fingers_turn_a_block(fingers: PageDriver) -> None:
    position = in_hand()
    one = fingers.on_screen(*place_of(position, "place a1 r0"), within="#hand .pad")
    x, y = one
    fingers.touch(one)
    fingers.touch(one, (x - 60, y))
    fingers.touch(one, (x - 40, y + 45))  # counterclockwise on the screen
    fingers.touch(one)
    fingers.touch()
    assert f" {pose_after(position, ROTATE)}, " in fingers.held
    fingers.touch(one)
    fingers.touch(one, (x - 60, y))
    fingers.touch(one)  # a tap of the second finger
    fingers.touch()
    assert f" {pose_after(position, ROTATE, ROTATE)}, " in fingers.held
    assert fingers.moves == list(MOVES)
