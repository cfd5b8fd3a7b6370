"""Whole games in the page, by mouse and by touch, are those of Python."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from ludarium.envs import GAMES, from_record
from ludarium.envs.engine.draw.scene import describe_scene
from ludarium.envs.engine.record import check_record, read_record_file
from ludarium.envs.registry import make_game

from .page_driver import PageDriver

#: Of each game the title of the board that a game is played on; None is the first one.
BOARDS = {
    "corso": None,
    "onyx": "size 6",
    "osiron": None,
    "obsidio": "size 7",
    "obelisk": None,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOARDS)
def test_game_against_an_agent_to_the_end(sized: PageDriver, name: str, tmp_path: Path) -> None:
    driver = sized
    driver.open()
    title = GAMES[name].title
    driver.new_game(side="Second", opponent="level", game=title, board=BOARDS[name])
    driver.play_out()
    record = json.loads(driver.record)
    game, seed, _, actions, _ = check_record(record, GAMES)
    position = game.start(seed)
    for action in actions:
        position.play(action)
    assert position.is_over
    assert driver.result == list(position.rewards) == record["result"]
    assert driver.moves == record["moves"]
    assert ("has won" in driver.page.locator("#live").inner_text()) == any(record["result"])
    assert read_record_file(_saved(driver, tmp_path)) == record


@pytest.mark.slow
@pytest.mark.parametrize("setup", ["empty", "own"])
@pytest.mark.parametrize("movement", ["basic", "advanced"])
def test_osiron_with_other_starts_and_movements_to_the_end(
    sized: PageDriver, setup: str, movement: str
) -> None:
    """Against a random mover; pieces are placed by pressing, and a start is set up likewise."""
    driver = sized
    driver.open()
    start = "your own setup" if setup == "own" else f"setup {setup}"
    board = start + (", movement advanced" if movement == "advanced" else "")
    if setup == "own":
        driver.choose(game="Osiron", board=board)
        for place in ("b6", "d5"):
            driver.press(driver.page.locator(f'.diagram button[aria-label^="{place}:"]'))
    driver.new_game(game="Osiron", board=board)
    plies = driver.play_out()
    record = json.loads(driver.record)
    diagram = "LLLLLLLLLLDLDDDDDDDDDDDL"
    assert record["options"]["setup"] == (diagram if setup == "own" else setup)
    assert record["options"]["movement"] == movement
    game, seed, _, actions, _ = check_record(record, GAMES)
    position = game.start(seed)
    for action in actions:
        position.play(action)
    assert position.is_over
    assert driver.result == list(position.rewards) == record["result"]
    assert len(driver.moves) >= plies
    # The link leads to the same game.
    fragment, moves = driver.fragment, driver.moves
    driver.open(fragment)
    assert (driver.fragment, driver.moves) == (fragment, moves)


def test_a_start_that_is_set_up_has_twelve_pieces_each(driver: PageDriver) -> None:
    driver.open()
    driver.choose(game="Osiron", board="your own setup")
    driver.press(driver.page.locator('.diagram button[aria-label^="a1:"]'))
    told = driver.page.locator(".diagram output")
    assert told.inner_text() == "11 light, 13 dark; there must be 12 of each."
    driver.press(driver.page.get_by_role("button", name="Play", exact=True))
    alert = driver.page.locator("dialog .told")
    assert alert.inner_text() == "This is not a start: it has 11 L and 13 D, not 12 of each."
    driver.press(driver.page.locator('.diagram button[aria-label^="a1:"]'))
    driver.press(driver.page.get_by_role("button", name="Play", exact=True))
    driver.page.locator("dialog").wait_for(state="detached")
    assert "o=osiron&" in f"{driver.fragment}&"  # what was set up has a name


@pytest.mark.parametrize(
    ("diagram", "message"),
    [
        ("LLLL", "it has 4 letters, not 24"),
        ("LLLLLLLLLLLLLDDDDDDDDDDD", "it has 13 L and 11 D, not 12 of each"),
        ("LLLLLLLLLLLLDDDDDDDDDDDX", "it has the letter “X”, not L or D"),
    ],
)
def test_a_link_with_a_wrong_diagram_is_refused(
    driver: PageDriver, diagram: str, message: str
) -> None:
    driver.open(f"#g=osiron&o=osiron-own&d={diagram}")
    assert driver.message == f"The link has d={diagram}: {message}."
    driver.open("#g=osiron&o=osiron-own&d=LLLLLLLLLLLLDDDDDDDDDDDD")
    assert driver.fragment == "#g=osiron&o=osiron"


def test_agents_think_about_the_start_that_was_set_up(driver: PageDriver) -> None:
    """Opponent, hint and analysis: after a move that the usual start does not allow."""
    diagram = "LLLLLLLLLLDLDDDDDDDDDDDL"
    position = make_game("osiron", setup=diagram).start()
    action = position.text_to_action("b5-b6")
    assert not make_game("osiron").start().mask[action]
    position.play(action)
    fragment = f"#g=osiron&o=osiron-own&d={diagram}&m={action}"
    driver.open(f"{fragment}&opponent=network:16&seat=0")
    said = "!document.querySelector('#message').hidden"
    driver.wait_for(f"document.querySelectorAll('.move').length === 2 || {said}")
    assert driver.message == ""
    assert position.mask[position.text_to_action(driver.moves[1])]

    driver.open(fragment)
    driver.press(driver.page.get_by_role("button", name="Hint", exact=True))
    driver.wait_for(said)
    assert driver.message.startswith("Hint: ")
    assert position.mask[position.text_to_action(driver.message.removeprefix("Hint: "))]

    driver.open(fragment)
    driver.page.locator("#tab-analysis").click()
    driver.page.locator("#tab-details").click()
    driver.page.locator("#analysis-seconds").select_option("0")  # the network's values only
    driver.page.locator("#analysis-size").select_option("50")
    driver.page.locator("#analysis-on").check()
    searched = "/; 50 simulations/.test(document.querySelector('.best caption')?.textContent)"
    driver.wait_for(f"{searched} || {said}")
    assert driver.message == ""


def test_a_picked_piece_of_osiron_shows_what_it_can_be_exchanged_with(driver: PageDriver) -> None:
    """In the second round, what it points at: b4 at c4, not what it borders."""
    start = "o=osiron-movement%3Dadvanced-own&d=LLLLLLLLLLDLDDDDDDDDDDDL"
    driver.open(f"#g=osiron&{start}&m=b5-c5.c1-b1")
    game = make_game("osiron", movement="advanced")
    ends = describe_scene(game)["ends"]
    of_b4 = ends[game.action_names.index("b4-c4")]
    driver.press_at(*driver.on_screen(*of_b4[0]))
    lines = driver.page.locator("#board .pick path").evaluate_all(
        "paths => [...new Set(paths.map((path) => path.getAttribute('d')))]"
    )
    assert [line.count("L") for line in lines] == [1]
    driver.press_at(*driver.on_screen(*of_b4[1]))
    driver.wait_for("document.querySelectorAll('.move').length === 3")
    assert driver.moves[-1] == "b4-c4"


def _saved(driver: PageDriver, folder: Path) -> Path:
    """The file that the page saves a record as."""
    driver.press(driver.page.get_by_role("button", name="Share"))
    with driver.page.expect_download() as download:
        driver.press(driver.page.get_by_role("button", name="Save as a file"))
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.mark.parametrize("way", ["two presses", "drag"])
def test_pieces_of_osiron_are_exchanged_by_their_places(sized: PageDriver, way: str) -> None:
    game = make_game("osiron")
    action = int(game.start(0).legal_actions[-1])
    driver = sized
    driver.open("#g=osiron&o=osiron")
    places = [driver.on_screen(*end) for end in describe_scene(game)["ends"][action]]
    if way == "drag":
        driver.page.mouse.move(*places[0])
        driver.page.mouse.down()
        driver.page.mouse.move(*places[1], steps=4)
        driver.page.mouse.up()
    else:
        for place in places:
            driver.press_at(*place)
    driver.wait_for("document.querySelector('.move') !== null")
    assert driver.moves == [game.action_names[action]]


def test_only_the_left_button_drags_and_the_next_press_counts(driver: PageDriver) -> None:
    position = make_game("osiron").start(0)
    ends = describe_scene(position.game)["ends"]
    driver.open("#g=osiron&o=osiron")
    told = []
    for button in ("right", "left"):
        action = int(position.legal_actions[-1])
        places = [driver.on_screen(*end) for end in ends[action]]
        driver.page.mouse.move(*places[0])
        driver.page.mouse.down(button=button)
        driver.page.mouse.move(*places[1], steps=4)
        driver.page.mouse.up(button=button)
        told.append(len(driver.moves))
    position.play(action)
    action = int(position.legal_actions[-1])
    for end in ends[action]:
        driver.press_at(*driver.on_screen(*end))
    driver.wait_for("document.querySelectorAll('.move').length === 2")
    assert told == [0, 1]


def test_a_position_is_typed_set_up_and_told_in_link_and_record(driver: PageDriver) -> None:
    driver.open("#g=corso&o=corso&m=12.6")
    driver.press(driver.page.get_by_role("button", name="Share"))
    field, told = driver.page.get_by_label("Position as text"), driver.page.locator("dialog output")
    assert field.input_value() == "5/5/2O2/1X3/5 0"
    before = driver.page.locator(".position svg").inner_html()
    field.fill("5/5/5/5/4O 0")
    assert "without dye, player_0 has placed as many marbles as player_1" in told.inner_text()
    field.fill("5/2O2/1X3/5/5 0")
    assert told.inner_text() == ""
    assert driver.page.locator(".position svg").inner_html() != before
    driver.press(driver.page.get_by_role("button", name="Analyse"))
    driver.page.wait_for_selector("dialog", state="detached")
    driver.play()
    record = json.loads(driver.record)
    assert (record["position"], len(record["moves"])) == ("5/2O2/1X3/5/5 0", 1)
    position = from_record(record).position
    driver.page.goto("about:blank")
    driver.open(f"#g=corso&o=corso&f={quote(position.text)}&opponent=random&seat=1")
    driver.play()
    assert json.loads(driver.record)["position"] == position.text
    driver.open("#g=corso&o=corso&f=5%200")
    assert driver.message == (
        "“5 0” is no position of corso: its rows are 1, not 5; write them from the top, with / "
        "between them."
    )


def test_a_position_is_set_up_by_clicks_and_keys(sized: PageDriver) -> None:
    page = sized.page
    sized.open("#g=corso&o=corso&opponent=random&seat=0")
    sized.press(page.get_by_role("button", name="Share"))
    field, told = page.get_by_label("Position as text"), page.locator("dialog output")
    sized.press(page.get_by_text("Set up by clicking"))
    sized.press(page.get_by_label("Row 2, cell 3: empty"))
    assert field.input_value() == "5/2O2/5/5/5 0"
    assert "player_0 has placed as many marbles as player_1" in told.inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("X")
    assert field.input_value() == "5/2O2/1X3/5/5 0"
    assert told.inner_text() == ""
    sized.press(page.locator("dialog label", has_text="Player 2"))
    assert field.input_value() == "5/2O2/1X3/5/5 1"
    assert sized.barriers == []
    field.fill("5/2O2/1X2X/5/o4 0")
    assert page.get_by_label("Row 3, cell 5: X").inner_text() == "X"
    assert page.get_by_label("Player 1", exact=True).is_checked()
    page.get_by_label("Row 5, cell 1: o").press("Delete")
    page.get_by_label("Row 3, cell 5: X").press("Backspace")
    sized.press(page.get_by_role("button", name="Play from here"))
    page.wait_for_selector("dialog", state="detached")
    sized.play()
    sized.wait_for("document.querySelectorAll('.move').length === 2")  # the opponent goes on
    assert json.loads(sized.record)["position"] == "5/2O2/1X3/5/5 0"


def test_any_board_is_set_up_and_analysed(driver: PageDriver) -> None:
    driver.open("#g=osiron&o=osiron")
    driver.press(driver.page.get_by_role("button", name="Share"))
    field = driver.page.get_by_label("Position as text")
    driver.press(driver.page.get_by_text("Set up by clicking"))
    driver.press(driver.page.get_by_label("Row 2, cell 1: D"))
    driver.page.get_by_label("Row 3, cell 1: L").press("D")
    driver.press(driver.page.locator("dialog label", has_text="Player 2"))
    assert field.input_value() == "DDDDD/LDDDDDD/DLLLLLL/LLLLL 1"
    driver.press(driver.page.get_by_role("button", name="Analyse"))
    driver.page.wait_for_selector("dialog", state="detached")
    assert driver.page.get_by_role("tab", name="Analysis").get_attribute("aria-selected") == "true"
