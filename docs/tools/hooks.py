"""Adds to the site the pages that lie elsewhere in the repository than in docs.

MkDocs takes pages from one folder. The page of each game and each shipped agent lies with its code;
each gets an address here, and so does each notebook, with its outputs. Links between pages are
written for the repository, so that pages can be read there too; if a link leads to a file that is
no page, the site has a copy of the file. The site also has the page for playing, if it is built,
and ``llms.txt``, a list of the pages for programs.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BUILT = ROOT / "play" / "built"
ICON = "img/icon.svg"
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
LOG = logging.getLogger("mkdocs.hooks.ludarium")
#: A link's beginning and its address, in Markdown; not those with a scheme.
_LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)\s\"#]+)")
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def _pages() -> dict[Path, str]:
    """Pages that lie outside this folder, and their addresses on the site."""
    found: dict[Path, str] = {}
    for name in ("CHANGELOG", "CODE_OF_CONDUCT", "CONTRIBUTING", "RELEASING", "SECURITY"):
        found[ROOT / f"{name}.md"] = f"project/{name.lower()}.md"
    for page in ROOT.glob("envs/*/README.md"):
        found[page] = f"games/{page.parent.name}.md"
    for page in ROOT.glob("examples/*/README.md"):
        found[page] = f"examples/{page.parent.name}.md"
    for page in ROOT.glob("models/shipped/*.md"):
        found[page] = f"agents/{page.stem}.md"
    for page in DOCS.glob("notebooks/*.ipynb"):
        found[page] = f"notebooks/{page.stem}.md"
    return {page: address for page, address in found.items() if page.exists()}


def _content(page: Path) -> str:
    """A page as Markdown; for a notebook its texts, its code and the code's output."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    parts: list[str] = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [shown for output in cell.get("outputs", []) if (shown := _output(output))]
    colab = URLS["Repository"].replace(
        "https://github.com/", "https://colab.research.google.com/github/"
    )
    address = f"{colab}/blob/main/{page.relative_to(ROOT).as_posix()}"
    links = f"[Open in Colab]({address}) · [This notebook as a file]({page.name}){{ download }}"
    return "\n\n".join([parts[0], links, *parts[1:]])


def _output(output: dict[str, Any]) -> str:
    """The output of a notebook's cell, as Markdown, without standard error."""
    data = output.get("data", {})
    for kind in ("image/svg+xml", "image/png"):
        if kind in data:
            content = "".join(data[kind])
            if kind == "image/svg+xml":
                content = base64.b64encode(content.encode()).decode()
            return f'<img alt="drawn by the cell above" src="data:{kind};base64,{content.strip()}">'
    text = "".join(output.get("text", data.get("text/plain", "")))
    is_shown = output.get("name") != "stderr" and text.strip()
    return f"```text\n{text.rstrip()}\n```" if is_shown else ""


PAGES = _pages()


def _address(target: Path) -> str:
    """The address on the site of a file of the repository."""
    if target in PAGES:
        return PAGES[target]
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    return f"source/{target.relative_to(ROOT).as_posix()}"


def _linked(text: str, folder: Path) -> set[Path]:
    """The files that a page links to."""
    targets = {(folder / address).resolve() for _, address in _LINK.findall(_CODE.sub("", text))}
    return {target for target in targets if target.is_file()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the addresses of the site and its sources, from pyproject.toml."""
    config.site_url = URLS["Homepage"]
    # repo_url is not set: the theme would ask the host of the sources for numbers of stars.
    sources = {"icon": "fontawesome/brands/github", "link": URLS["Repository"], "name": "Sources"}
    config.extra["social"] = [sources]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from elsewhere, and the files that pages link to."""
    icon = ROOT / "play" / "page" / "icon.svg"
    files.append(File.generated(config, ICON, abs_src_path=str(icon)))
    texts = {page: _content(page) for page in PAGES}
    for page, address in PAGES.items():
        file = File.generated(config, address, content=texts[page])
        file.edit_uri = None
        files.append(file)
    for file in files.documentation_pages():
        if file.abs_src_path is not None:
            texts[Path(file.abs_src_path)] = file.content_string
    for page, text in texts.items():
        for target in _linked(text, page.parent):
            address = _address(target)
            if address.startswith("source/") and files.get_file_from_path(address) is None:
                files.append(File.generated(config, address, abs_src_path=str(target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links that hold in the repository into links that hold on the site."""
    markdown = markdown.replace("<!-- the page -->", _page_to_play())
    homes = {address: source for source, address in PAGES.items()}
    address = page.file.src_uri
    source = homes.get(address, DOCS / address)

    def turn(link: re.Match[str]) -> str:
        target = (source.parent / link[2]).resolve()
        if target.is_dir() and (target / "README.md").exists():
            target /= "README.md"
        if not target.is_file():
            return link[0]  # MkDocs reports it
        relative = os.path.relpath(_address(target), os.path.dirname(address) or ".")
        return link[1] + Path(relative).as_posix()

    parts = []
    end = 0
    for code in _CODE.finditer(markdown):
        parts += [_LINK.sub(turn, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(turn, markdown[end:])])


def _page_to_play() -> str:
    """The page with a game, if it is built."""
    if not (BUILT / "index.html").is_file():
        return "The page is not part of this build of the site: `make page` makes it."
    return (
        '<iframe class="page" title="Corso, to play" loading="lazy" '
        'src="play/index.html#g=corso&o=corso&seat=0&opponent=level:2"></iframe>'
    )


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Keep the table of contents, which `on_post_build` writes down."""
    config.extra["contents"] = nav
    return nav


def on_post_build(config: MkDocsConfig) -> None:
    """Add the page for playing, and a list of all pages."""
    site = Path(config.site_dir)
    if BUILT.is_dir():
        shutil.copytree(BUILT, site / "play", dirs_exist_ok=True)
    else:
        LOG.info("the site goes without the page to play on: make page")
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for item in config.extra["contents"].items:
        if isinstance(item, Section):
            lines += [f"## {item.title}", "", *_listed(item), ""]
    (site / "llms.txt").write_text("\n".join(lines), encoding="utf-8", newline="\n")


def _listed(section: Section) -> list[str]:
    """The pages of a section and of its subsections."""
    lines: list[str] = []
    for item in section.children:
        if isinstance(item, Section):
            lines += _listed(item)
        elif isinstance(item, Page):
            lines.append(f"- [{item.title}]({item.canonical_url})")
    return lines
