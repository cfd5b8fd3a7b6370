"""Measures the page in a browser: what it loads, when it moves first, and its speed.

    python benchmarks/page.py                              # all, some minutes
    python benchmarks/page.py --parts bytes speed --games corso onyx

It needs the page (make page), the package playwright (pip install playwright), and a browser:
chromium or google-chrome on the PATH, or Playwright's own (playwright install chromium). It prints
tables in Markdown. The parts are:

- ``bytes``: downloads of a first visit, for each game against the agent, and then for all games
  with exact values, plain and with gzip;
- ``first``: seconds from opening an address, in which the agent begins, to its first move, as fast
  as the machine is, and with the tab's process stopped for three quarters of the time;
- ``speed``: simulations/s of searches with the shipped network, one position at a time, on the page
  and in Python on one core, on the same positions; the median over them.

Times are wall time: other work on the machine makes them longer, so its load is printed.
"""

from __future__ import annotations

import gzip
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from statistics import median
from threading import Event, Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from common import Row, new_parser, print_table

from ludarium.envs import GAMES, Game
from ludarium.models import load_checkpoint
from ludarium.models.inference import torch_threads
from ludarium.play.parts import BUILT
from ludarium.play.server import Handler, PageServer
from ludarium.play.site import Site
from ludarium.play.wasm import Limits, module_name
from ludarium.training.agents.checkpoints import fitting_agent
from ludarium.training.networks import fitted, inference_engine
from ludarium.training.search import BatchSearch, SearchSettings

PARTS = ("bytes", "first", "speed")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPENED = 3  # times that a page is opened
THROTTLING = 4  # how many times slower a slow device is
RUNS = 0.004  # seconds at a time that a slowed process runs
SETTINGS = SearchSettings(simulations=256, solver=False)
POSITIONS = (9, 7, 5, 3, 0, 2, 4, 6, 8)  # random plies before the searched positions
WARM_UP = 4  # the first ones do not count: browsers compile long-running code again

# Play a move, and wait for the next turn: resolves with true if there was no answer in between,
# because a player moves twice in a row; false if there was one, or the game is over.
PLAY = """number => new Promise((resolve) => {
    const moves = () => [...document.querySelectorAll(".legal button")];
    const isOver = () => /won|drawn/.test(document.querySelector(".players").textContent);
    const played = () => document.querySelectorAll(".move").length;
    const choices = moves();
    const before = played();
    choices[number % choices.length].click();
    const look = () => {
        if (isOver()) resolve(false);
        else if (!moves().length) setTimeout(look, 5);
        else resolve(played() - before <= 1);
    };
    look();
})"""

SEARCH = """async ({ module, network, settings, positions }) => {
    const { Engine } = await import(new URL("engine.js", location.href).href);
    const engine = await Engine.load(module);
    const worker = new Worker("worker.js", { type: "module" });
    const ask = (message) => new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => {
            if ("error" in data) reject(new Error(data.error));
            if ("done" in data) resolve(data.done);
        };
        worker.postMessage({ id: 1, ...message });
    });
    const address = new URL(network, location.href).href;
    await ask({ type: "open", module: engine.module, network: address });
    const speeds = [];
    for (const actions of positions) {
        const began = performance.now();
        const found = await ask({ type: "search", seed: 0, actions, settings });
        speeds.push(found.simulations / ((performance.now() - began) / 1000));
    }
    worker.terminate();
    return speeds;
}"""


@contextmanager
def serving(site: Site) -> Iterator[tuple[str, set[str]]]:
    """Serve a site; yields its address, and the set of the files that are asked for."""
    asked: set[str] = set()

    class Noting(Handler):
        """Notes the files that are asked for."""

        def log_request(self, code: Any = "-", size: Any = "-") -> None:
            """Note the file."""
            asked.add(unquote(urlsplit(self.path).path).removeprefix("/") or "index.html")

    with PageServer(site.folder) as server:
        server.RequestHandlerClass = Noting
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.address, asked
        server.shutdown()


@contextmanager
def new_browser() -> Iterator[Any]:
    """Launch Chromium, and close it at the end.

    Raises:
        SystemExit: Playwright or a browser is missing.
    """
    try:
        playwright = import_module("playwright.sync_api")
    except ImportError:
        raise SystemExit("this needs Playwright: pip install playwright") from None
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with playwright.sync_playwright() as made:
        if path is None and not Path(made.chromium.executable_path).is_file():
            raise SystemExit(
                f"this needs a browser: none of {', '.join(BROWSERS)} is on the PATH; "
                "playwright install chromium fetches one"
            )
        browser = made.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def new_tab(browser: Any) -> Iterator[Any]:
    """A tab in a new profile, without a service worker, which would fetch files twice."""
    context = browser.new_context(service_workers="block", reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()


def wait_for_turn(page: Any) -> None:
    """Wait until a person may move."""
    page.wait_for_selector("#board .hints circle, #off-board button", state="attached")


def open_board(page: Any, address: str, game: Game) -> None:
    """Open the page with a board, without an opponent."""
    page.goto(f"{address}#g={game.name}&o={module_name(game)}")
    wait_for_turn(page)


def play_until_answer(page: Any) -> None:
    """Play until the opponent answers, or the game is over."""
    move = 0
    while page.evaluate(PLAY, 7 * move):
        move += 1


def bytes_rows(browser: Any, site: Site, games: Sequence[Game]) -> Iterator[Row]:
    """The downloads of a visitor for a game, by kind, in kB, and in brackets with gzip."""
    all_asked: set[str] = set()
    for game in games:
        with serving(site) as (address, asked), new_tab(browser) as page:
            page.goto(f"{address}#g={game.name}&o={module_name(game)}&seat=0&opponent=network:1")
            wait_for_turn(page)
            play_until_answer(page)
        yield {"game": module_name(game)} | _sizes(site, asked)
        all_asked |= asked | {_variant(site, game)["exact"]["module"]}
    yield {"game": "all, with exact values"} | _sizes(site, all_asked)


def _sizes(site: Site, asked: set[str]) -> Row:
    sizes = {kind: [0, 0] for kind in ("all", "page", "games", "networks", "exact")}
    for name in asked & set(site.files):
        content = (site.folder / name).read_bytes()
        for kind in ("all", _kind(name)):
            sizes[kind][0] += len(content)
            sizes[kind][1] += len(gzip.compress(content))
    return {
        kind: f"{plain / 1e3:,.0f} ({small / 1e3:,.0f})" for kind, (plain, small) in sizes.items()
    }


def _kind(address: str) -> str:
    folder = address.partition("/")[0]
    if folder == "levels":
        return "networks"
    return folder if folder in ("games", "networks", "exact") else "page"


def _variant(site: Site, game: Game) -> dict[str, Any]:
    """The entry for a board in the list of games."""
    variants = [variant for entry in site.games for variant in entry["variants"]]
    return next(each for each in variants if each["id"] == module_name(game))


def first_rows(browser: Any, site: Site, games: Sequence[Game]) -> Iterator[Row]:
    """The times until the agent's first move of a game."""
    for game in games:
        row: Row = {"game": module_name(game)}
        for name, times in (("first move, s", 1), (f"{THROTTLING} times slower, s", THROTTLING)):
            row[name] = median(_first_move(browser, site, game, times) for _ in range(OPENED))
        yield row


def _first_move(browser: Any, site: Site, game: Game, times: float) -> float:
    with serving(site) as (address, _), new_tab(browser) as page:
        page.goto(f"{address}icon.svg")  # now the site has its process
        session = page.context.new_cdp_session(page)
        session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        with slowed(_renderers(browser), times):
            began = time.perf_counter()
            page.goto(
                f"{address}#g={game.name}&o={module_name(game)}&seat=1&opponent=network:128",
                wait_until="commit",
            )
            page.wait_for_selector(".move", state="attached")
            return time.perf_counter() - began


@contextmanager
def slowed(processes: Sequence[int], times: float) -> Iterator[None]:
    """Let processes, with all their threads, run only for a part of the time."""
    ended = Event()

    def stop_and_go() -> None:
        while not ended.is_set():
            for signal, seconds in ((SIGSTOP, RUNS * (times - 1)), (SIGCONT, RUNS)):
                for process in processes:
                    with suppress(ProcessLookupError):
                        os.kill(process, signal)
                time.sleep(seconds)

    thread = Thread(target=stop_and_go)
    if times > 1:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if times > 1:
            thread.join()


def _renderers(browser: Any) -> list[int]:
    """The processes that show pages."""
    told = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return [each["id"] for each in told if each["type"] == "renderer"]


def speed_rows(browser: Any, site: Site, games: Sequence[Game]) -> Iterator[Row]:
    """Simulations/s on the page and in Python."""
    for game in games:
        positions = [_random_actions(game, plies) for plies in POSITIONS]
        its = _variant(site, game)
        settings = {"simulations": SETTINGS.simulations, "solver": SETTINGS.solver}
        request = {name: its[name] for name in ("module", "network")}
        request |= {"settings": settings, "positions": positions}
        with serving(site) as (address, _), new_tab(browser) as page:
            open_board(page, address, game)
            in_page = median(page.evaluate(SEARCH, request)[WARM_UP:])
        native = median(_native_speeds(game, positions)[WARM_UP:])
        yield {
            "game": module_name(game),
            "simulations/s: page": in_page,
            "Python, one core": native,
            "page / Python": in_page / native,
        }


def _random_actions(game: Game, plies: int) -> list[int]:
    position, lot = game.start(0), np.random.default_rng(plies)
    actions: list[int] = []
    for _ in range(plies):
        actions.append(int(lot.choice(position.legal_actions)))
        position.play(actions[-1])
    return actions


def _native_speeds(game: Game, positions: Sequence[Sequence[int]]) -> list[float]:
    path = fitting_agent(game)
    assert path is not None
    speeds = []
    with torch_threads(1):
        network = fitted(load_checkpoint(path), game, str(path)).network
        engine = inference_engine(game, network, batch=1)
        search = BatchSearch(game, SETTINGS, batch=1, cache=Limits().cache)
        for actions in positions:
            position = game.start(0)
            for action in actions:
                position.play(action)
            began = time.perf_counter()
            result = search.run(position.states, engine)
            speeds.append(result.simulations / (time.perf_counter() - began))
    return speeds


def main() -> None:
    parser = new_parser(__doc__, list(GAMES))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    given = parser.parse_args()
    if given.quick:
        given.games = ["corso"]
    try:
        site = Site.read(BUILT)
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    games = [GAMES[name]() for name in given.games]
    with new_browser() as browser:
        print(f"Chromium {browser.version}; {os.cpu_count()} cores, load average {_load()}")
        tables = {
            "bytes": lambda: bytes_rows(browser, site, games),
            "first": lambda: first_rows(browser, site, games),
            "speed": lambda: speed_rows(browser, site, games),
        }
        for part in given.parts:
            print_table(tables[part](), given.json)
        print(f"\nLoad average at the end: {_load()}")


def _load() -> str:
    """The load averages of 1, 5 and 15 minutes."""
    return ", ".join(f"{each:.1f}" for each in os.getloadavg())


if __name__ == "__main__":
    main()
