"""The documents: links lead somewhere, and pages that are made from the code are current."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path

import pytest

from tests.mutation import named_tests, source_files
from tests.processes import ROOT

#: Links of Markdown and addresses of pictures in HTML; not those with a scheme.
_LINK = re.compile(r"\]\((?![a-z]+:)([^)\s]+)\)|(?:src|href)=\"(?![a-z]+:)([^\"]+)\"")
#: The folders of the packages.
PACKAGES = [path.parent for path in ROOT.glob("*/py.typed")]
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


#: Where documents are.
_PLACES = ("*.md", "docs/**/*.md", "envs/*/README.md", "models/shipped/*.md", "play/**/README.md")


def _documents() -> list[Path]:
    found = {path for place in _PLACES for path in ROOT.glob(place)}
    return sorted(path.relative_to(ROOT) for path in found if "built" not in path.parts)


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("document", _documents(), ids=str)
def test_links_lead_somewhere(document: Path) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    broken = []
    for pair in _LINK.findall(_CODE.sub("", text)):
        link = "".join(pair)
        address, _, anchor = link.partition("#")
        target = (ROOT / document).parent / address if address else ROOT / document
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert not broken


def test_pages_of_the_site_link_in_markdown() -> None:
    """In HTML an address would stay as it is, though the site has the page in a folder of its own.

    README.md is read in the repository and on the package index alone.
    """
    written = re.compile(r"(?:src|href)=\"(?![a-z]+:|#)")
    pages = (page for page in _documents() if page.name != "README.md" or len(page.parts) > 1)
    texts = {page: _CODE.sub("", (ROOT / page).read_text(encoding="utf-8")) for page in pages}
    assert [str(page) for page, text in texts.items() if written.search(text)] == []


def test_pages_made_from_the_code_are_current() -> None:
    program = run_path(str(ROOT / "docs/tools/generate.py"))
    for name, page in program["PAGES"].items():
        text = (ROOT / "docs/guide" / name).read_text(encoding="utf-8")
        assert text == page(), f"docs/guide/{name} is not current: make pages"


def test_the_map_names_tests_of_every_file() -> None:
    found = {name: named_tests(name) for name in source_files([folder.name for folder in PACKAGES])}
    assert [name for name, tests in found.items() if not tests] == []
    assert found["envs/onyx/rules.py"].startswith("tests/envs/test_onyx.py ")
    own = "tests/analysis/test_probe.py tests/cli/test_options.py"
    assert found["cli/probe.py"] == own  # in a row before `cli/*`, and in that of *also*


def test_the_map_names_files_that_are_there() -> None:
    text = (ROOT / "docs/guide/architecture.md").read_text(encoding="utf-8")
    places = re.findall(r"`([a-z]+(?:/[\w.]+)+)`", text)
    assert len(places) > 30
    gone = [place for place in places if not (ROOT / place.replace("GAME", "corso")).exists()]
    assert not gone
