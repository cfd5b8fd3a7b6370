"""Whole games in the page, by mouse and by touch, are those of Python; so are its analyses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ludarium.envs import GAMES
from ludarium.envs.engine.record import check_record, read_record_file
from ludarium.envs.engine.record_text import parse_record

from .page_driver import DESKTOP, PHONE, PageDriver

#: Of each game the title of the board that a game is played on; None is the default one.
BOARDS = {
    "corso": None,
    "onyx": "size 6",
    "osiron": "default",
    "obsidio": "size 7",
    "obelisk": None,
}
SIZES = {"desktop": DESKTOP, "phone": PHONE}


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", BOARDS)
def test_game_against_an_agent_to_the_end(
    browser: Any, site: str, name: str, size: str, tmp_path: Path
) -> None:
    driver = PageDriver(browser, site, SIZES[size])
    driver.open()
    title = GAMES[name].title
    driver.new_game(side="Second", opponent="level", game=title, board=BOARDS[name])
    driver.play_out()
    record = parse_record(driver.record)
    game, seed, actions = check_record(record, GAMES)
    position = game.start(seed)
    for action in actions:
        position.play(action)
    assert position.is_over
    assert driver.result == list(position.rewards) == record["result"]
    assert driver.moves == record["moves"]
    assert read_record_file(_saved(driver, tmp_path)) == record
    assert driver.errors == []
    driver.close()


def _saved(driver: PageDriver, folder: Path) -> Path:
    """The file that the page saves a record as."""
    driver.press(driver.page.get_by_role("button", name="Share"))
    with driver.page.expect_download() as download:
        driver.press(driver.page.get_by_role("button", name="Save as a file"))
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path
