"""A random walk over the whole page: no action leaves it broken, at any width, in two windows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ludarium.envs import GAMES

from .page_driver import DESKTOP, PageDriver, open_window

STEPS = 300  # of each game
SEED = 54
WIDTHS = (320, 360, 390, 520, 640, 740, 860, 861, 1000, 1180, 1280, 1600)
KEYS = (*("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter", " ", "Escape"),
        *("Home", "End", "r", "R", "f", "Tab"))  # fmt: skip
TEXTS = ("", "{", "c3 b2", "#g=corso&o=corso&m=12.6", '{"game": "corso"}', "#g=chess")

#: What can be pressed: all of a dialog if one is open. A file chooser would wait for a person.
PRESSABLE = """() => {
    const scope = document.querySelector("dialog[open]") ?? document;
    const all = scope.querySelectorAll("button, summary, input[type=radio], input[type=checkbox]");
    const isOne = (each) =>
        !each.disabled && each.checkVisibility() && !/Load a file|Save as/.test(each.textContent);
    return [...all].filter(isOne);
}"""
#: What is wrong with what the page shows, in words; nothing if all is well.
FAULT = """() => {
    const board = document.querySelector("#board");
    const message = document.querySelector("#message").textContent;
    const holds = !document.querySelector("#hand").hidden;
    if (!board.querySelector(".ground")?.innerHTML) return "the board is empty";
    if (!board.querySelector(".slots > g > *")) return "nothing lies on the board";
    if (!board.ariaLabel?.includes(". ")) return `the board is called ${board.ariaLabel}`;
    if (holds !== board.ariaLabel.endsWith("Escape puts it back.")) return "the hand and its label";
    if (document.documentElement.scrollWidth > innerWidth) return `wider than ${innerWidth} px`;
    if (/has failed|undefined|\\[object|TypeError/.test(message)) return message;
    return "";
}"""


class Walk:
    """One random walk, which remembers what it did."""

    def __init__(self, driver: PageDriver, game: str) -> None:
        self.driver = driver
        self.lot = np.random.default_rng([SEED, list(GAMES).index(game)])
        self.start = f"#g={game}"
        self.links = [self.start, "#g=corso&o=corso&m=99", "#g=nothing"]
        self.records = list(TEXTS)
        self.done: list[str] = []
        self.other: Any = None  # the other window

    @property
    def page(self) -> Any:
        return self.driver.page

    def step(self, number: int) -> None:
        """Do something at random, and look at the page."""
        ways: dict[Callable[[], str], int] = {
            **{self.play: 12, self.press: 12, self.key: 6, self.point: 3, self.resize: 3},
            **{self.follow: 2, self.load: 1, self.reload: 1, self.change_window: 1},
        }
        way = self.lot.choice(list(ways), p=np.array([*ways.values()]) / sum(ways.values()))
        link = self.page.evaluate("location.href")
        told = way() if number % 30 else self.follow(self.start)
        self.done.append(told)
        self.page.wait_for_timeout(30)
        fault = self.driver.errors or self.page.evaluate(FAULT)
        assert not fault, (
            f"step {number}: {fault}\n{self.page.viewport_size} {link}\nafter: {self.done[-30:]}"
        )

    def play(self) -> str:
        """A legal action, by its mark on the board or by its button."""
        there = self.page.evaluate(
            """([selector, share]) => {
                const all = document.querySelectorAll(selector);
                const number = Math.floor(share * all.length);
                if (!all.length || document.querySelector("dialog")) return null;
                all[number].scrollIntoView({ block: "center" });
                const { x, y, width, height } = all[number].getBoundingClientRect();
                return [x + width / 2, y + height / 2, `${number} ${all[number].textContent}`];
            }""",
            ["#board .hints circle, #off-board button, #board .choice button", self.lot.random()],
        )
        if there is None:
            return self.press()
        x, y, told = there
        self.driver.press_at(x, y)
        return f"play {told}"

    def press(self) -> str:
        """Any button, switch or choice that can be pressed."""
        told: str = self.page.evaluate(
            f"share => {{ const all = ({PRESSABLE})();"
            "const each = all[Math.floor(share * all.length)];"
            "const told = each.ariaLabel ?? (each.textContent || each.value);"
            "each.focus(); each.click(); return told; }",
            self.lot.random(),
        )
        return f"press {told}"

    def key(self) -> str:
        key = str(self.lot.choice(KEYS))
        self.page.keyboard.press("Shift+R" if key == "R" else key)
        return key

    def point(self) -> str:
        """Any point of the window."""
        size = self.page.viewport_size
        x, y = self.lot.integers(size["width"]), self.lot.integers(60, size["height"])
        self.driver.press_at(int(x), int(y))
        return f"click at {x}, {y}"

    def resize(self) -> str:
        size = {"width": int(self.lot.choice(WIDTHS)), "height": int(self.lot.choice((500, 800)))}
        self.page.set_viewport_size(size)
        return f"resize to {size}"

    def follow(self, link: str = "") -> str:
        """An address of before, or a wrong one."""
        self.links.append(self.page.evaluate("location.hash") or self.start)
        link = link or str(self.lot.choice(self.links))
        self.page.evaluate("document.querySelector('dialog')?.close()")
        self.page.evaluate("link => (location.hash = link)", link)
        return f"follow {link}"

    def load(self) -> str:
        """A record of before, a list of moves, a link, or what is none of them."""
        self.page.evaluate(
            "document.querySelector('dialog')?.close(); document.querySelector('#share').click()"
        )
        text = self.page.get_by_label("Record of a game")
        self.records.append(text.input_value())
        chosen = str(self.lot.choice(self.records))
        text.fill(chosen)
        self.page.get_by_role("button", name="Load this text").click()
        return f"load {json.dumps(chosen)}"

    def reload(self) -> str:
        self.page.reload()
        self._wait()
        return "reload"

    def change_window(self) -> str:
        """To the other window, which opens the address of this one."""
        address = self.page.evaluate("location.href")
        if self.other is None:
            self.other = self.driver.context.new_page()
            self.other.goto(address)
        self.driver.page, self.other = self.other, self.page
        self.page.bring_to_front()
        self._wait()
        return "other window"

    def _wait(self) -> None:
        self.page.wait_for_selector("#board .ground > *", state="attached")


@pytest.mark.parametrize("game", GAMES)
def test_a_random_walk_leaves_no_page_broken(browser: Any, site: str, game: str) -> None:
    with open_window(browser, site, DESKTOP) as driver:
        driver.open(f"#g={game}")
        walk = Walk(driver, game)
        for number in range(STEPS):
            walk.step(number)
