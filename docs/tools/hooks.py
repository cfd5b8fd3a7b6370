"""What the site adds to the pages in docs: those that lie elsewhere in the repository.

MkDocs takes pages from one folder. The README is the site's front page, and every game's and every
shipped agent's page lies with its code; each gets an address here, and so does each notebook. Links
between all of them are those that hold in the repository, so that pages can be read there too;
where a link leads to a file that is no page, the site has a copy of the file.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: A link's beginning and its address, in Markdown and in HTML; not those with a scheme.
_LINK = re.compile(r"(\]\(|(?:src|href)=\")(?![a-z]+:|#)([^)\s\"#]+)")
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def _pages() -> dict[Path, str]:
    """Pages that lie outside this folder, and their addresses on the site."""
    found = {ROOT / "README.md": "index.md"}
    for name in ("CHANGELOG", "CONTRIBUTING", "RELEASING", "SECURITY"):
        found[ROOT / f"{name}.md"] = f"project/{name.lower()}.md"
    for page in ROOT.glob("envs/*/README.md"):
        found[page] = f"games/{page.parent.name}.md"
    for page in ROOT.glob("models/shipped/*.md"):
        found[page] = f"agents/{page.stem}.md"
    for page in DOCS.glob("notebooks/*.ipynb"):
        found[page] = f"notebooks/{page.stem}.md"
    return {page: address for page, address in found.items() if page.exists()}


def _content(page: Path) -> str:
    """A page as Markdown; of a notebook its texts and its code."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
    parts = [f"```python\n{code}\n```" if kind == "code" else code for kind, code in cells]
    return "\n\n".join([*parts, f"[This notebook as a file]({page.name}){{ download }}\n"])


PAGES = _pages()


def _address(target: Path) -> str:
    """Where the site has a file of the repository."""
    if target in PAGES:
        return PAGES[target]
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    return f"source/{target.relative_to(ROOT).as_posix()}"


def _linked(text: str, folder: Path) -> set[Path]:
    """The files that a page's links lead to."""
    targets = {(folder / address).resolve() for _, address in _LINK.findall(_CODE.sub("", text))}
    return {target for target in targets if target.is_file()}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from elsewhere, and the files that pages link to."""
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
    homes = {address: source for source, address in PAGES.items()}
    address = page.file.src_uri
    source = homes.get(address, DOCS / address)

    def turn(link: re.Match[str]) -> str:
        target = (source.parent / link[2]).resolve()
        if target.is_dir() and (target / "README.md").exists():
            target /= "README.md"
        if not target.is_file():
            return link[0]  # MkDocs says so
        relative = os.path.relpath(_address(target), os.path.dirname(address) or ".")
        return link[1] + Path(relative).as_posix()

    parts = []
    end = 0
    for code in _CODE.finditer(markdown):
        parts += [_LINK.sub(turn, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(turn, markdown[end:])])
