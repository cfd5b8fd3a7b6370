"""Drives the page in a browser, as a person would: by clicks, touches and keys."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 360, "height": 740}
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_OPPONENTS = {
    "random": "A random mover",
    "level": "A level of the agent",
    "person": "A person beside me",
}


@contextmanager
def open_browser() -> Iterator[Any]:
    """A browser; the test is skipped, with the reason, where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        pytest.skip(f"there is no browser for the page: {', '.join(_BROWSERS)}")
    with playwright.sync_playwright() as made:
        browser = made.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class PageDriver:
    """One window on a built site.

    Attributes:
        page: of Playwright.
        address: of the site.
        hosts: of all that the page has asked for.
        errors: messages of errors that no code has caught.
    """

    def __init__(
        self, browser: Any, address: str, viewport: dict[str, int], **context: Any
    ) -> None:
        self.address = address
        self.context = browser.new_context(
            viewport=viewport, has_touch=viewport is PHONE, reduced_motion="reduce", **context
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.hosts: set[str] = set()
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.is_touch = viewport is PHONE
        self.asks = False

    def open(self, fragment: str = "") -> None:
        """Load the page anew with a fragment."""
        self.asks = not fragment  # a page without an address to follow asks what to play
        self.page.goto("about:blank")
        self.page.goto(self.address + fragment)
        self.page.wait_for_selector("#board .ground")

    def new_game(self, side: str = "First", opponent: str = "random", level: int = 1) -> None:
        """Fill the dialog of a new game, and begin it."""
        dialog = self.page.locator("dialog")
        if not self.asks:
            self.page.locator("#new").click()
        dialog.get_by_role("radio", name=side, exact=True).check()
        dialog.get_by_label("Opponent").select_option(label=_OPPONENTS[opponent])
        if opponent == "level":
            dialog.get_by_label("Level", exact=True).fill(str(level))
        dialog.get_by_role("button", name="Play", exact=True).click()
        dialog.wait_for(state="detached")

    def wait_for(self, condition: str, seconds: float = 20.0) -> None:
        """Wait for an expression to be true; the page forbids what Playwright has for it."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"after {seconds:g} s this is still false: {condition}"
            self.page.wait_for_timeout(20)

    @property
    def fragment(self) -> str:
        return self.page.evaluate("location.hash")

    @property
    def moves(self) -> list[str]:
        """Texts of the moves in the list."""
        texts = self.page.locator(".move").all_inner_texts()
        return [" ".join(text.split()[1:]) for text in texts]

    @property
    def message(self) -> str:
        return self.page.locator("#message").inner_text()

    @property
    def targets(self) -> int:
        """Number of legal actions that are marked on the board."""
        return self.page.locator("#board .hints circle").count()

    @property
    def is_over(self) -> bool:
        status = self.page.locator(".players .status").all_inner_texts()
        return any("won" in text or "drawn" in text for text in status)

    def play(self, target: int = 0) -> None:
        """Click, or touch, a legal action on the board, and wait until it is played."""
        before = self.fragment
        mark = self.page.locator("#board .hints circle").nth(target)
        mark.scroll_into_view_if_needed()
        box = mark.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        (self.page.touchscreen.tap if self.is_touch else self.page.mouse.click)(x, y)
        self.wait_for(f"location.hash !== {json.dumps(before)}")

    def wait_for_turn(self) -> None:
        """Wait until there is something to click, or the game is over."""
        self.wait_for(
            "document.querySelector('#board .hints circle') !== null || "
            "/won|drawn/.test(document.querySelector('.players').textContent)"
        )

    def play_out(self) -> int:
        """Play the game to its end; returns how often this side has moved."""
        moves = 0
        self.wait_for_turn()
        while not self.is_over:
            self.play((7 * moves) % self.targets)
            moves += 1
            self.wait_for_turn()
        return moves

    def close(self) -> None:
        self.context.close()
