"""Obelisk's hourglass on the page: it runs while two blocks are chosen, and then the turn is lost.

The browser's time is Playwright's, so nothing waits for a minute.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from ludarium.envs import GAMES
from ludarium.envs.engine.record import check_record

from .page_driver import PageDriver

PLAYED = "#g=obelisk&o=obelisk-hourglass%3DTrue"


@pytest.fixture
def driver(driver: PageDriver) -> Iterator[PageDriver]:
    driver.page.clock.install(time=0)
    yield driver
    driver.page.clock.resume()  # axe-core waits for timers


def begin(driver: PageDriver, opponent: str = "person", hourglass: bool = True) -> None:
    driver.open()
    driver.page.clock.pause_at(3600)
    driver.new_game(game="Obelisk", opponent=opponent, hourglass=hourglass)


def told(driver: PageDriver) -> str:
    """What the row with the hourglass says."""
    return driver.page.locator("#clock").inner_text()


def said(driver: PageDriver) -> str:
    return driver.page.locator("#live").inner_text()


def wait(driver: PageDriver, seconds: float) -> None:
    """Let time pass in the browser."""
    driver.page.clock.run_for(int(1000 * seconds))


def choose(driver: PageDriver, text: str) -> None:
    """Play a move of the list."""
    driver.page.locator("details:not([open]) summary").filter(has_text="Legal moves").click()
    driver.page.locator(".legal").get_by_role("button", name=text, exact=True).click()
    driver.page.locator("details[open] summary").click()


def test_a_game_is_played_without_the_hourglass_unless_it_is_asked_for(driver: PageDriver) -> None:
    begin(driver, hourglass=False)
    assert driver.fragment == "#g=obelisk&o=obelisk"
    assert driver.page.locator("#clock").is_hidden()


def test_whose_minute_is_over_loses_the_turn(driver: PageDriver) -> None:
    begin(driver)
    assert driver.fragment == PLAYED
    assert told(driver) == "Player 1: 1:00 to choose two blocks"
    wait(driver, 20.5)
    assert told(driver).startswith("Player 1: 0:40 ")
    choose(driver, "choose blue-x")
    assert told(driver).startswith("Player 1: 0:40 ")  # one minute for both
    wait(driver, 10)
    assert said(driver) == "30 seconds left to choose two blocks."
    wait(driver, 30)
    assert driver.moves == ["choose blue-x", "timeout"]
    assert told(driver) == "Player 2: 1:00 to choose two blocks"
    assert "time is up, timeout" in said(driver)
    wait(driver, 61)
    assert driver.moves == ["choose blue-x", "timeout", "timeout"]
    record = json.loads(driver.record)
    game, seed, _, actions, _ = check_record(record, GAMES)
    assert game.options["hourglass"] is True
    position = game.start(seed)
    for action in actions:
        position.play(action)
    assert position.mover == 0


def test_the_hourglass_is_stopped_while_one_looks_back_or_analyses(driver: PageDriver) -> None:
    begin(driver)
    choose(driver, "choose blue-x")
    wait(driver, 20.5)
    driver.page.get_by_role("button", name="Back", exact=True).click()
    assert told(driver) == "The hourglass is stopped at 0:40"
    wait(driver, 100)
    driver.page.get_by_role("button", name="To the game").click()
    assert told(driver).startswith("Player 1: 0:40 ")
    driver.page.locator("#tab-analysis").click()
    driver.page.locator("#analysis-on").check()
    assert told(driver) == "The hourglass is stopped at 0:40"
    wait(driver, 100)
    assert len(driver.moves) == 1


def test_the_hourglass_is_stopped_during_a_review_and_goes_on_after_it(driver: PageDriver) -> None:
    begin(driver)
    choose(driver, "choose blue-x")
    wait(driver, 20.5)
    driver.page.locator("#tab-analysis").click()
    at_once = "button => (button.click(), document.querySelector('#clock').innerText)"
    told_at_once = driver.page.locator("#review").evaluate(at_once)
    assert told_at_once == "The hourglass is stopped at 0:40"
    driver.page.wait_for_selector("#review")
    assert told(driver).startswith("Player 1: 0:40 ")


def test_the_hourglass_goes_on_where_an_analysis_fails(driver: PageDriver) -> None:
    driver.page.route("**/networks/*", lambda route: route.abort())
    begin(driver)
    driver.page.locator("#tab-analysis").click()
    driver.page.locator("#analysis-on").check()
    driver.page.wait_for_selector("#message:not([hidden])")
    assert told(driver).startswith("Player 1: ")


def test_an_agent_goes_on_where_a_person_was_too_late(driver: PageDriver) -> None:
    begin(driver, opponent="random")
    wait(driver, 60.5)
    wait(driver, 5)
    assert driver.moves[0] == "timeout"
    assert driver.moves[1].startswith("choose ")
    assert driver.page.locator("#off-board button").count() == 0
