"""The documents: links lead somewhere, and pages that are made from the code are current."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.processes import ROOT, load_program

#: Links of Markdown and addresses of pictures in HTML; not those with a scheme.
_LINK = re.compile(r"\]\((?![a-z]+:)([^)\s]+)\)|(?:src|href)=\"(?![a-z]+:)([^\"]+)\"")
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


#: Where documents are.
_PLACES = ("*.md", "docs/**/*.md", "envs/*/README.md", "models/shipped/*.md", "play/**/README.md")


def _documents() -> list[Path]:
    found = {path for place in _PLACES for path in ROOT.glob(place)}
    return sorted(path.relative_to(ROOT) for path in found if "built" not in path.parts)


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as GitHub and the site make them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", _CODE.sub(_keep_inline, text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        found.add(anchor)
    return found | set(re.findall(r'id="([^"]+)"', text))


def _keep_inline(code: re.Match[str]) -> str:
    return "" if code[1] else code[0]


def test_headings_have_the_anchors_that_readers_use() -> None:
    text = "# A `b`, c\n\n```\n# not one\n```\n\n## [Link](x.md): 5 x 5\n"
    assert anchors(text) == {"a-b-c", "link-5-x-5"}


@pytest.mark.parametrize("document", _documents(), ids=str)
def test_links_lead_somewhere(document: Path) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    broken = []
    for pair in _LINK.findall(_CODE.sub("", text)):
        link = "".join(pair)
        address, _, anchor = link.partition("#")
        target = (ROOT / document).parent / address if address else ROOT / document
        if not target.exists() or (
            anchor
            and target.suffix == ".md"
            and anchor not in anchors(target.read_text(encoding="utf-8"))
        ):
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
    program = load_program(ROOT / "docs/tools/generate.py")
    for name, page in program.PAGES.items():
        text = (ROOT / "docs/guide" / name).read_text(encoding="utf-8")
        assert text == page(), f"docs/guide/{name} is not current: make pages"


def test_every_page_is_on_the_site() -> None:
    """By name in its table of contents: a page that is left out is not found."""
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")}
    pages |= {f"agents/{path.name}" for path in ROOT.glob("models/shipped/*.md")}
    pages |= {f"games/{path.parent.name}.md" for path in ROOT.glob("envs/*/README.md")}
    assert sorted(page for page in pages if page not in contents) == []


def test_the_map_names_files_that_are_there() -> None:
    text = (ROOT / "docs/guide/architecture.md").read_text(encoding="utf-8")
    places = re.findall(r"`([a-z]+(?:/[\w.]+)+)`", text)
    assert len(places) > 30
    gone = [place for place in places if not (ROOT / place.replace("GAME", "corso")).exists()]
    assert not gone
