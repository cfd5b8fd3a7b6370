"""A built page that is served, and a browser, for the tests of the page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from ludarium.play.parts import BUILT
from ludarium.play.server import PageServer
from ludarium.play.site import Site, page_files
from ludarium.play.variants import usual_variants

from .page_driver import DESKTOP, PHONE, PageDriver, open_browser, open_window


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the built page, which is served; ``LUDARIUM_SITE`` is that of another."""
    address = os.environ.get("LUDARIUM_SITE")
    if address:
        yield address
        return
    with PageServer(_built_page().folder) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.address
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One browser for all tests of a process."""
    with open_browser() as browser:
        yield browser


@pytest.fixture
def driver(browser: Any, site: str) -> Iterator[PageDriver]:
    """A window on the page."""
    with open_window(browser, site, DESKTOP) as driver:
        yield driver


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def sized(browser: Any, site: str, request: pytest.FixtureRequest) -> Iterator[PageDriver]:
    """The page on a screen of each size."""
    with open_window(browser, site, request.param) as driver:
        yield driver


@pytest.fixture
def keeping(browser: Any, site: str) -> Iterator[PageDriver]:
    """The page with its service worker, which keeps it for when there is no connection."""
    with open_window(browser, site, DESKTOP, service_workers="allow") as driver:
        yield driver


def _built_page() -> Site:
    """The page in ``play/built``; the test is skipped where there is none of these sources."""
    try:
        built = Site.read(BUILT)
    except (FileNotFoundError, ValueError) as error:
        pytest.skip(str(error))
    stale = _stale_parts(built)
    if stale:
        pytest.skip(f"{stale[0]} of the page in {BUILT} is not that of the sources: make page")
    return built


def _stale_parts(built: Site) -> list[str]:
    """Addresses of files, and names of variants, that a build would make anew."""
    files = [
        address
        for address, content in page_files().items()
        if address not in built.files or (built.folder / address).read_bytes() != content
    ]
    names = [game["name"] for game in built.games]
    variants = [variant for name in names for variant in usual_variants(name)]
    return files + [variant.id for variant in variants if not built.is_current(variant)]
