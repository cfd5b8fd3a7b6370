"""Drives the page in a browser, as a person would: by clicks, touches and keys."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

try:
    from axe_playwright_python.sync_playwright import Axe
except ImportError:
    Axe = None

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 360, "height": 740}
PATIENCE = 120.0  # seconds; only what does not happen at all takes so long, on a busy machine too
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_OPPONENTS = {
    "random": "Random moves",
    "level": "A level that I choose",
    "auto": "One that suits me",
    "person": "A person beside me",
}


@contextmanager
def open_browser() -> Iterator[Any]:
    """A browser of this machine, or else Playwright's own.

    The test is skipped, with the reason, where there is none.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    with playwright.sync_playwright() as made:
        if path is None and not Path(made.chromium.executable_path).is_file():
            pytest.skip(
                f"there is no browser for the page: none of {', '.join(_BROWSERS)}, and none of "
                "Playwright's own (playwright install chromium)"
            )
        browser = made.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def open_window(
    browser: Any, site: str, viewport: dict[str, int], **context: Any
) -> Iterator[PageDriver]:
    """A window on the site, in which no error stays uncaught, and which asks no other host.

    What it shows at last has nothing that axe-core finds inaccessible.
    """
    driver = PageDriver(browser, site, viewport, **context)
    yield driver
    barriers = driver.barriers
    driver.close()
    assert barriers == [], barriers
    assert driver.hosts <= {urlsplit(site).netloc, ""}
    assert driver.errors == []


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
        self.is_touch = viewport is PHONE
        # A service worker would fetch every game for each window that a test opens.
        defaults = {"reduced_motion": "reduce", "service_workers": "block"}
        self.context = browser.new_context(
            viewport=viewport,
            has_touch=self.is_touch,
            is_mobile=self.is_touch,
            **{**defaults, **context},
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.hosts: set[str] = set()
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        self.context.on("weberror", lambda caught: self.errors.append(str(caught.error)))
        self.asks = False
        self._protocol: Any = None
        self._touches = 0

    def open(self, fragment: str = "") -> None:
        """Load the page anew with a fragment."""
        self.asks = not fragment  # a page without an address to follow asks what to play
        self.page.goto("about:blank")
        self.page.goto(self.address + fragment)
        self.page.wait_for_selector("dialog .cards" if self.asks else "#board .ground")

    def press(self, element: Any) -> None:
        """Click, or touch, an element."""
        element.tap() if self.is_touch else element.click()

    def choose(self, game: str | None = None, board: str | None = None) -> Any:
        """Open the dialog of a new game, unless it is open; choose a game and a board there.

        A board without an agent may be named without saying that. Returns the dialog.
        """
        dialog = self.page.locator("dialog")
        if not self.asks:
            self.press(self.page.locator("#new"))
        self.asks = True
        if game is not None:
            self.press(dialog.locator("label").filter(has_text=re.compile(f"^{game}$")))
        if board is not None:
            field = dialog.get_by_label("Board and rules")
            alone = f"{board} (without an agent)"
            there = field.locator("option").filter(
                has_text=re.compile(f"^{re.escape(board)}( \\(|$)")
            )
            there.first.wait_for(state="attached")
            field.select_option(label=alone if there.first.inner_text() == alone else board)
        return dialog

    def new_game(
        self,
        side: str = "First",
        opponent: str = "random",
        game: str | None = None,
        board: str | None = None,
        hourglass: bool = False,
    ) -> None:
        """Fill the dialog of a new game, and begin it.

        Args:
            side: label of the side.
            opponent: ``random``, ``level`` (the first), ``auto`` or ``person``.
            game: title of a game; None leaves the one that is proposed.
            board: title of its board; None leaves the one that is proposed.
            hourglass: ask for it.
        """
        dialog = self.choose(game, board)
        self.asks = False
        if hourglass:
            self.press(dialog.locator("label").filter(has_text="Hourglass"))
        self.press(dialog.locator("label").filter(has_text=re.compile(f"^{side}$")))
        dialog.get_by_label("Opponent").select_option(label=_OPPONENTS[opponent])
        if opponent == "level":
            dialog.get_by_label("Level", exact=True).fill("1")
        self.press(dialog.get_by_role("button", name="Play", exact=True))
        dialog.wait_for(state="detached")

    def wait_for(self, condition: str) -> None:
        """Wait for an expression to be true; the page forbids what Playwright has for it."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"after {PATIENCE:g} s this is still false: {condition}"
            self.page.wait_for_timeout(20)

    @property
    def fragment(self) -> str:
        """The address's, once it has followed the game: it does so a few times a second."""
        self.page.wait_for_timeout(500)
        fragment: str = self.page.evaluate("location.hash")
        return fragment

    @property
    def label(self) -> str:
        """What the board tells of its position in words; each ply has another."""
        return self.page.locator("#board").get_attribute("aria-label") or ""

    @property
    def moves(self) -> list[str]:
        """Texts of the moves in the list."""
        texts = self.page.locator(".move").all_inner_texts()
        return [" ".join(text.split()[1:]) for text in texts]

    @property
    def message(self) -> str:
        return self.page.locator("#message > span").inner_text()

    @property
    def targets(self) -> int:
        """Number of legal actions that are marked on the board, or are buttons beside it."""
        return self._marks.count() + self._buttons.count()

    @property
    def holds(self) -> bool:
        """Whether a piece is in hand."""
        return self.page.locator("#hand").is_visible()

    @property
    def held(self) -> str:
        """What is told of the piece in hand."""
        return self.page.locator("#hand .held").inner_text()

    @property
    def ghosts(self) -> int:
        """Number of parts of the picture that a preview changes."""
        return self.page.locator("#board .ghost").count()

    @property
    def is_over(self) -> bool:
        return self.result is not None

    @property
    def result(self) -> list[int] | None:
        """Rewards of both players as their panels tell them; None while the game goes on."""
        status = self.page.locator(".players .status").all_inner_texts()
        if all("drawn" in text for text in status):
            return [0, 0]
        won = ["has won" in text for text in status]
        return [1 if is_winner else -1 for is_winner in won] if any(won) else None

    @property
    def record(self) -> str:
        """The game as text, as the dialog has it."""
        self.press(self.page.get_by_role("button", name="Share"))
        text: str = self.page.get_by_label("Record of a game").input_value()
        self.press(self.page.get_by_role("button", name="Close"))
        return text

    @property
    def barriers(self) -> list[Any]:
        """What axe-core finds wrong with what is shown: rules and elements; none without it."""
        if Axe is None or self.page.is_closed() or not self.page.url.startswith(self.address):
            return []
        violations = Axe().run(self.page).response["violations"]
        return [(each["id"], [node["html"] for node in each["nodes"]]) for each in violations]

    @property
    def _marks(self) -> Any:
        return self.page.locator("#board .hints circle")

    @property
    def _buttons(self) -> Any:
        return self.page.locator("#off-board button")

    def play(self, target: int = 0) -> None:
        """Click, or touch, a legal action, and wait until it is played.

        Where several actions have the same place, it is the first that the page then offers.
        """
        before = self.label
        marks = self._marks.count()
        if target < marks:
            self._press_mark(target)
            choice = self.page.locator("#board .choice button")
            if self.is_touch and self.label == before and not choice.count():
                self._press_mark(target)  # the first touch only points
            if self.label == before and choice.count():
                self.press(choice.first)
        else:
            self.press(self._buttons.nth(target - marks))
        self.wait_for(f"document.querySelector('#board').ariaLabel !== {json.dumps(before)}")

    def _press_mark(self, target: int) -> None:
        """Press where a mark is: the board takes it, and draws its marks anew often."""
        center = self.page.evaluate(
            """number => {
                const mark = document.querySelectorAll("#board .hints circle")[number];
                mark.scrollIntoView({ block: "center" }); // not below the block in hand
                const { x, y, width, height } = mark.getBoundingClientRect();
                return [x + width / 2, y + height / 2];
            }""",
            target,
        )
        self.press_at(*center)

    def press_at(self, x: float, y: float) -> None:
        """Click, or touch, a point of the window."""
        (self.page.touchscreen.tap if self.is_touch else self.page.mouse.click)(x, y)

    def touch(self, *points: tuple[float, float]) -> None:
        """Let fingers be at these points: they touch the screen, move on it, or leave it."""
        self._protocol = self._protocol or self.context.new_cdp_session(self.page)
        kind = "touchEnd" if not points else "touchMove" if self._touches else "touchStart"
        self._touches = len(points)
        touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        self._protocol.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def on_screen(self, x: float, y: float, within: str = "#board svg") -> tuple[float, float]:
        """Where a point of the board's picture is in the window."""
        across, down = self.page.evaluate(
            """([x, y, within]) => {
                const picture = document.querySelector(within);
                const point = new DOMPoint(x, y).matrixTransform(picture.getScreenCTM());
                return [point.x, point.y];
            }""",
            [x, y, within],
        )
        return across, down

    def wait_for_turn(self) -> None:
        """Wait until there is something to click, or the game is over."""
        self.wait_for(
            "document.querySelector('#board .hints circle, #off-board button') !== null || "
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
