"""A newcomer is taught each game by the page, finds an opponent, and is told what comes next."""

from __future__ import annotations

from typing import Any

import pytest

from ludarium.envs import GAMES, make_game
from ludarium.play.lesson import read_lesson

from .page_driver import DESKTOP, PHONE, PageDriver, open_window

MARK = """() => {
    document.querySelector("#board .hint").scrollIntoView({ block: "center" });
    const { x, y, width, height } = document.querySelector("#board .hint").getBBox();
    const point = new DOMPoint(x + width / 2, y + height / 2);
    const there = document.querySelector("#board svg").getScreenCTM();
    const { x: left, y: top } = point.matrixTransform(there);
    return [left, top];
}"""


def _button(driver: PageDriver, name: str) -> Any:
    return driver.page.locator("#lesson").get_by_role("button", name=name)


def _follow(driver: PageDriver) -> None:
    """Do what the page asks for, by its mark."""
    driver.page.wait_for_selector("#board .hint > *", state="attached")
    before = driver.label
    driver.press_at(*driver.page.evaluate(MARK))
    if driver.label == before:
        driver.press_at(*driver.page.evaluate(MARK))  # the first touch shows where a block lands


@pytest.mark.parametrize("name", GAMES)
def test_a_newcomer_is_led_through_a_first_game(sized: PageDriver, name: str) -> None:
    lesson = read_lesson(make_game(name))
    assert lesson is not None
    sized.open()
    dialog = sized.choose(game=GAMES[name].title)
    dialog.get_by_text(lesson.goal, exact=True).wait_for()
    assert dialog.locator(".cards img").count() == len(GAMES)
    boxes = [
        dialog.get_by_role("button", name=text).bounding_box() for text in ("Show me how", "Play")
    ]
    ends = [0.0, *(box["y"] + box["height"] for box in boxes), sized.page.viewport_size["height"]]
    assert ends == sorted(ends)  # both are in sight at once
    sized.press(dialog.get_by_role("button", name="Show me how"))
    dialog.wait_for(state="detached")
    told = sized.page.locator("#lesson p")
    for number, step in enumerate(lesson.steps):
        sized.wait_for(
            f"document.querySelector('#lesson').textContent.includes({step.do.split('{')[0][:40]!r})"
        )
        assert told.inner_text().startswith(f"Guided game, {number + 1} of {len(lesson.steps)}")
        _follow(sized)
        assert step.told.split("{")[0] in told.inner_text()
        if step.points:
            points = sized.page.locator(".points").all_text_contents()
            assert [int(text.split()[0]) for text in points] == step.points
        if number < len(lesson.steps) - 1:
            sized.press(_button(sized, "Go on"))
    assert sized.result == [1, -1]
    sized.press(_button(sized, "Play a game"))
    again = sized.page.locator("dialog").get_by_role("button", name="Show me how")
    assert "primary" not in (again.get_attribute("class") or "")
    kept = 'Object.values(localStorage).some((text) => text.includes(\'"moves":["\'))'
    assert not sized.page.evaluate(kept)


def test_a_guided_game_takes_no_other_move_and_goes_on_after_a_reload(driver: PageDriver) -> None:
    driver.open("#g=corso&learn=1")
    moves = driver.moves
    driver._press_mark(0)
    assert driver.message == "The guided game asks for another move: c2."
    driver.page.keyboard.press("ArrowLeft")
    assert driver.moves == moves
    _follow(driver)
    _button(driver, "Go on").click()
    driver.wait_for("document.querySelector('#lesson').textContent.includes('3 of 8')")
    assert driver.fragment == "#g=corso&learn=2"
    driver.page.reload()
    driver.page.wait_for_selector("#lesson:not([hidden])")
    assert "3 of 8" in driver.page.locator("#lesson").inner_text()
    _button(driver, "Leave").click()
    assert driver.page.locator("#lesson").is_hidden()
    assert driver.page.evaluate("localStorage['ludarium.taught.corso']") == '"left"'


def _resign(driver: PageDriver) -> None:
    driver.page.get_by_role("button", name="Resign").click()
    driver.page.locator("dialog").get_by_role("button", name="Resign", exact=True).click()


def _ending(driver: PageDriver) -> Any:
    return driver.page.locator("#ending")


def test_a_first_opponent_suits_and_a_rematch_changes_sides_and_level(driver: PageDriver) -> None:
    driver.open()
    dialog = driver.choose(game="Corso")
    assert "One that suits me" in dialog.get_by_label("Opponent").locator(":checked").inner_text()
    assert "level 3 of 11, easy: beats a beginner three of four times" in dialog.inner_text()
    driver.new_game(opponent="auto")
    driver.play()
    driver.wait_for("document.querySelectorAll('.move').length === 2")
    assert _ending(driver).is_hidden()
    _resign(driver)
    told = _ending(driver).inner_text()
    assert told.startswith(
        "You have resigned. Your opponent gets easier: next time it plays at level"
    )
    level = told.split("at level ")[1].split()[0]
    _ending(driver).get_by_role("button", name="Rematch").click()
    assert f"Level {level}, adapting" in driver.page.locator("#player0").inner_text()
    assert "You" in driver.page.locator("#player1").inner_text()
    assert _ending(driver).is_hidden()


def test_the_end_offers_another_level_and_a_look_at_the_mistakes(driver: PageDriver) -> None:
    driver.open("#g=corso&seat=0&opponent=level:2")
    for ply in (2, 4, 6):
        driver.play()
        driver.wait_for(f"document.querySelectorAll('.move').length === {ply}")
    _resign(driver)
    _ending(driver).get_by_role("button", name="What did I do wrong?").click()
    driver.page.wait_for_selector("#panel-analysis .review ol, #panel-analysis .review .faint")
    _ending(driver).get_by_role("button", name="An easier opponent: level 1").click()
    driver.wait_for("document.querySelector('#player1').textContent.includes('Level 1')")
    assert "You" in driver.page.locator("#player0").inner_text()


def test_a_new_game_offers_the_opponent_just_played(driver: PageDriver) -> None:
    driver.open("#g=corso&seat=1&opponent=level:2")
    driver.wait_for("document.querySelectorAll('.move').length === 1")
    dialog = driver.choose()
    assert dialog.get_by_label("Opponent").input_value() == "level"
    assert dialog.get_by_label("Level", exact=True).input_value() == "2"
    assert dialog.get_by_label("Second").is_checked()


def test_a_visitor_who_chooses_nothing_sees_a_board_that_is_loaded_only_then(
    driver: PageDriver,
) -> None:
    asked: list[str] = []
    driver.page.on("request", lambda request: asked.append(request.url))
    driver.open()
    driver.page.wait_for_timeout(500)
    assert not [url for url in asked if url.endswith(".wasm")]
    driver.page.keyboard.press("Escape")
    driver.page.wait_for_selector("#board .ground > *", state="attached")
    driver.play()
    assert len(driver.moves) == 1


# What is seen.


def test_a_chain_reaction_runs_outwards_unless_motion_is_unwelcome(browser: Any, site: str) -> None:
    delays = (
        "[...document.querySelectorAll('#board .come')].map((each) => each.style.animationDelay)"
    )
    for motion in ("no-preference", "reduce"):
        with open_window(browser, site, DESKTOP, reduced_motion=motion) as driver:
            driver.open("#g=corso&m=12.6.7.18")
            driver.press_at(*driver.on_screen(400, 504))
            assert driver.moves[-1] == "c3!"
            found = {int(delay.removesuffix("ms")) for delay in driver.page.evaluate(delays)}
            assert found == ({0, 134, 190, 268, 300} if motion == "no-preference" else set())


def test_exchanged_pieces_slide_to_each_other(browser: Any, site: str) -> None:
    with open_window(browser, site, DESKTOP, reduced_motion="no-preference") as driver:
        driver.open("#g=osiron")
        driver.play()
        assert driver.page.locator("#board .slid").count() >= 2
        assert (
            driver.page.locator("#board .gone").count()
            <= driver.page.locator("#board .come").count()
        )


@pytest.mark.parametrize("size", [DESKTOP, PHONE | {"width": 390}], ids=["desktop", "phone"])
def test_every_text_of_obelisk_can_be_read(browser: Any, site: str, size: dict[str, int]) -> None:
    texts = """() => [...document.querySelectorAll("#board text")]
        .filter((each) => each.getClientRects().length && !each.closest("defs"))
        .map((each) => [each.textContent,
            each.getAttribute("font-size") * each.getScreenCTM().a,
            each.getBoundingClientRect().top])"""
    with open_window(browser, site, size) as driver:
        for moves in ("", "&m=7.30"):
            driver.open(f"#g=obelisk&seat=0&opponent=random{moves}")
            found = driver.page.evaluate(texts)
            tops = {text: top for text, _, top in found}
            assert {"You", "Random mover"} <= set(tops)
            assert [text for text, pixels, _ in found if pixels < 11.9] == []
            # The pile lies beside the towers where there is room, else below them.
            assert (tops["in circles: points"] < tops["c"]) == (size is DESKTOP)


def test_a_turned_board_takes_the_same_moves(driver: PageDriver) -> None:
    driver.open("#g=corso")
    driver.page.get_by_role("button", name="Turn the board").click()
    across, down = driver.on_screen(400, 504)  # the middle stays where it is
    driver.press_at(across + 200, down)
    assert driver.moves == ["b3"] or driver.moves == ["a3"]
    driver.page.locator("#board").focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        driver.page.keyboard.press(key)
    assert driver.moves[1] in ("b3", "a3")


def test_places_too_near_for_a_finger_take_a_second_tap(browser: Any, site: str) -> None:
    with open_window(browser, site, PHONE) as driver:
        driver.open("#g=onyx&o=onyx")
        driver._press_mark(40)
        assert driver.moves == []
        text = driver.message.removesuffix(": tap again to play it.")
        driver._press_mark(40)
        assert [move.capitalize() for move in driver.moves] == [text]
