"""Puzzles on the page: by difficulty, by a link, and from one's own games."""

from __future__ import annotations

from typing import Any

import pytest

from ludarium.arena.puzzles import BANDS, Puzzle, puzzles_of, read_puzzles
from ludarium.envs import GAMES, Position, make_game

from .page_driver import PageDriver


def _puzzles(name: str, band: str) -> list[Puzzle]:
    path = puzzles_of(name)
    assert path is not None
    return [puzzle for puzzle in read_puzzles(path).puzzles if puzzle.band == band]


def _button(driver: PageDriver, name: str) -> Any:
    return driver.page.locator("#puzzle").get_by_role("button", name=name)


def _told(driver: PageDriver) -> str:
    text: str = driver.page.locator("#puzzle p").inner_text()
    return text


def _answer(driver: PageDriver, text: str) -> None:
    """Play a move by its text in the list."""
    moves = driver.page.locator(".legal")
    if not moves.is_visible():
        driver.page.get_by_text("Legal moves").click()
    moves.get_by_role("button", name=text, exact=True).click()


def _dialog(driver: PageDriver) -> Any:
    driver.page.locator("#puzzles").click()
    return driver.page.locator("dialog")


def test_puzzles_of_a_difficulty_are_solved_in_a_row(driver: PageDriver) -> None:
    first, second, third, *_ = _puzzles("corso", "easy")
    driver.open("#g=corso")
    _dialog(driver).get_by_role("button", name="Begin: Easy").click()
    driver.page.wait_for_selector("#puzzle:not([hidden])")
    assert driver.moves == first.moves
    assert driver.fragment == f"#g=corso&puzzle={first.id}"
    assert driver.page.locator("#controls").is_hidden()
    _answer(driver, first.best)
    assert driver.moves == [*first.moves, first.best]
    assert f"Well found: {first.best} is the only move" in _told(driver)
    assert "1 in a row, your best so far." in _told(driver)
    _button(driver, "Next puzzle").click()
    driver.wait_for(f"document.querySelectorAll('.move').length === {len(second.moves)}")
    wrong = next(
        text
        for text in driver.page.locator(".legal button").all_text_contents()
        if text not in (second.best, *second.draws)
    )
    _answer(driver, wrong)
    assert "loses with best play. Try another move." in driver.message
    assert driver.moves == second.moves
    _answer(driver, second.best)
    assert _told(driver).endswith(f"{second.best} is the only move that keeps the win.")
    assert driver.fragment == f"#g=corso&puzzle={second.id}"
    driver.page.reload()
    driver.page.wait_for_selector("#puzzle:not([hidden])")  # the same again
    assert driver.moves == second.moves
    dialog = _dialog(driver)
    assert "0 in a row; your best is 1." in dialog.inner_text()
    assert f"2 of {len(_puzzles('corso', 'easy'))} solved" in dialog.inner_text()
    dialog.get_by_role("button", name="Go on: Easy").click()
    dialog.wait_for(state="detached")
    assert driver.moves == third.moves
    kept = 'Object.values(localStorage).some((text) => text.includes(\'"moves":["\'))'
    assert not driver.page.evaluate(kept)


@pytest.mark.parametrize("name", [name for name in GAMES if puzzles_of(name)])
def test_a_puzzle_of_a_link_shows_its_move(sized: PageDriver, name: str) -> None:
    puzzle = _puzzles(name, BANDS[-1])[0]
    sized.open(f"#g={name}&puzzle={puzzle.id}")
    sized.page.wait_for_selector("#puzzle:not([hidden])")
    assert sized.moves == puzzle.moves
    sized.press(_button(sized, "Show the move"))
    assert _told(sized).endswith(f"is {puzzle.best}.")
    assert sized.page.locator("#board .hint > *").count()
    sized.press(_button(sized, "Leave"))
    assert sized.fragment.startswith(f"#g={name}&o=")


def test_a_played_game_has_its_puzzles_and_guided_game_without_a_connection(
    keeping: PageDriver,
) -> None:
    puzzle = _puzzles("onyx", "easy")[0]  # of a smaller board than the one that is played
    keeping.open("#g=onyx&o=onyx")
    keeping.wait_for(
        """caches.keys().then(async ([name]) => {
            const kept = name ? await (await caches.open(name)).keys() : [];
            const wanted = [/puzzles.json/, /lesson.json/, /=6-.*wasm/, /=6-.*scene/];
            return wanted.every((each) => kept.some(({ url }) => each.test(url)));
        })"""
    )
    keeping.context.set_offline(True)
    for link in (f"#g=onyx&puzzle={puzzle.id}", "#g=onyx&learn=0"):
        keeping.open(link)
        keeping.page.wait_for_selector(".guide:not([hidden])")
        assert keeping.message == ""


def test_a_link_to_no_puzzle_is_told(driver: PageDriver) -> None:
    driver.open("#g=corso&puzzle=nonsense")
    assert driver.message == "Corso has no such puzzle here."


def test_a_reviewed_game_gives_moments_to_try_again(driver: PageDriver) -> None:
    puzzle = _puzzles("corso", "easy")[0]
    position = Position.from_text(make_game("corso"), puzzle.position)
    texts = map(position.action_to_text, position.legal_actions)
    wrong = next(text for text in texts if text != puzzle.best)
    driver.open(f"#g=corso&m={'.'.join([*puzzle.moves, wrong])}")
    dialog = _dialog(driver)
    assert "come here after" in dialog.inner_text()
    dialog.get_by_role("button", name="Close").click()
    driver.page.locator("#tab-analysis").click()
    driver.page.locator("#tab-details").click()
    driver.page.locator("#analysis-seconds").select_option("0")
    driver.page.locator("#analysis-size").select_option("50")
    driver.page.locator("#review").click()
    driver.page.wait_for_selector("#review:enabled")
    driver.open("#g=onyx")
    dialog = _dialog(driver)
    dialog.get_by_role("button", name="Try: Corso").click()
    dialog.wait_for(state="detached")
    assert driver.message.startswith("Find a better move than ")
    assert driver.page.locator(".move[aria-current]").count()
