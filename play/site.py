"""The page as a folder of static files: what it holds, and how it is made.

    index.html, app/, style.css, ...   the page itself, as in ``play/page``; scripts of ``play/js``
    vendor/onnxruntime-web/            the library that runs networks, see `vendor`
    games/index.json                   what there is to play, see `Variant`
    games/NAME-DIGEST.wasm             rules and search of a game with its options
    games/NAME.scene.json              its picture
    networks/, levels/, rules/         agents, their levels of strength, rules as HTML
    exact/                             modules with exact values
    site.json                          all files, those that wait until they are wanted, a digest

Every address within is relative, so a folder works on any host and under any path. A site is a new
folder: it is made under another name beside it, and renamed at the end. What takes long to make is
kept, see `parts`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ludarium.arena.ladder import SUFFIX as LEVELS
from ludarium.envs.engine.files import MEGABYTE, read_json_file
from ludarium.envs.engine.messages import quoted
from ludarium.envs.engine.storage import take_place
from ludarium.envs.engine.threads import available_cores
from ludarium.training.runs.files import PARTIAL, make_folders

from .build import scene_content
from .parts import EXACT, Part, Say, module_part, network_part, solver_part
from .variants import Variant
from .vendor import library_files
from .wasm import module_name
from .wasm.exact import source_text

_HERE = Path(__file__).parent
PAGE = _HERE / "page"
SCRIPTS = _HERE / "js"

INDEX = "games/index.json"
LIST = "site.json"
_FORMAT = 1
_MOST_BYTES = 4 * MEGABYTE  # of a list
_REMEDY = "build it anew: make page"


@dataclass(frozen=True)
class _Listed:
    """What ``site.json`` holds.

    Attributes:
        version: a digest of all files.
        files: their addresses.
        on_demand: those of them that a browser need not keep until they are wanted.
    """

    version: str
    files: list[str]
    on_demand: list[str]


@dataclass(frozen=True)
class Site:
    """A built page.

    Attributes:
        folder: that holds it.
    """

    folder: Path

    @classmethod
    def read(cls, folder: Path) -> Site:
        """The site in a folder.

        Raises:
            FileNotFoundError: there is none.
            ValueError: a file of it is missing, or its list is damaged; the message names it.
        """
        name = quoted(str(folder), 100)
        if not (folder / LIST).is_file():
            raise FileNotFoundError(f"there is no built page in {name}: make page")
        site = cls(folder)
        for address in site.files:
            if not (folder / address).is_file():
                raise ValueError(f"the page in {name} lacks {quoted(address)}; {_REMEDY}")
        return site

    @property
    def files(self) -> list[str]:
        """The address of each file.

        Raises:
            ValueError: the list of files is damaged.
        """
        what = "the page's list of files"
        return [*read_json_file(self.folder / LIST, _MOST_BYTES, what, _Listed).files, LIST]

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum((self.folder / address).stat().st_size for address in self.files)

    @property
    def games(self) -> list[dict[str, Any]]:
        """What there is to play, as ``games/index.json`` has it.

        Raises:
            ValueError: that file is not as it is written here.
        """
        index = read_json_file(self.folder / INDEX, _MOST_BYTES, "the page's list of games")
        if not isinstance(index, dict) or index.get("format") != _FORMAT:
            raise ValueError(f"{INDEX} of the page is not of format {_FORMAT}; {_REMEDY}")
        games: list[dict[str, Any]] = index["games"]
        return games

    def is_current(self, variant: Variant) -> bool:
        """Whether the site has a variant, of these rules and with this agent."""
        wanted = json.loads(_as_json(_entry(variant)))
        return any(wanted in game["variants"] for game in self.games)

    def with_variant(self, variant: Variant, folder: Path, say: Say) -> Site:
        """This site and one more variant, in another folder.

        Args:
            variant: of any game that is registered.
            folder: a new one.
            say: takes a line about what takes long.

        Raises:
            ValueError, ImportError, OSError: a part cannot be made; the message has the remedy.
        """
        shutil.copytree(self.folder, folder)
        others = [
            {**game, "variants": [each for each in game["variants"] if each["id"] != variant.id]}
            for game in self.games
        ]
        (entry,) = _write_games(folder, [variant], say)
        known = [game for game in others if game["name"] == entry["name"]]
        if known:
            known[0]["variants"] += entry["variants"]
        _write_lists(folder, others if known else [*others, entry])
        return Site(folder)


def write_site(folder: Path, variants: Sequence[Variant], say: Say = print) -> Site:
    """Build a site.

    Args:
        folder: where it goes: a new or an empty one.
        variants: what it offers, in this order.
        say: takes a line about each part that takes long.

    Raises:
        ValueError: the folder holds something, or a part cannot be made; what is there stays.
        ImportError, OSError: packages are missing, or a file cannot be written.
    """
    folder = folder.absolute()
    if not (PAGE / "index.html").is_file():
        raise ValueError(f"the page's sources are not there: {PAGE} has no index.html")
    if folder.is_symlink() or (folder.exists() and not _is_empty(folder)):
        name = quoted(str(folder), 100)
        raise ValueError(f"{name} is there already: give a new or an empty folder")
    make_folders(folder.parent)
    with tempfile.TemporaryDirectory(PARTIAL, f"{folder.name}.", folder.parent) as place:
        new = Path(place, "new")
        for address, content in {**page_files(), **library_files(say)}.items():
            _write(new, address, content)
        _write_lists(new, _write_games(new, variants, say))
        if folder.exists():
            folder.rmdir()
        take_place(new, folder)
    return Site(folder)


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


# What a site holds.


def page_files() -> dict[str, bytes]:
    """The page itself."""
    paths = {path.relative_to(PAGE).as_posix(): path for path in PAGE.rglob("*")}
    paths |= {path.name: path for path in SCRIPTS.glob("*.js")}
    return {address: path.read_bytes() for address, path in paths.items() if path.is_file()}


def _describe_diagram(variant: Variant) -> dict[str, Any] | None:
    """What the list says of a start that people may agree on."""
    diagram = variant.diagram
    if diagram is None:
        return None
    about = {"option": diagram.option, "letters": diagram.letters, "places": len(diagram.spots)}
    return {**about, "start": diagram.start, "is_own": variant.is_own}


def _entry(variant: Variant) -> dict[str, Any]:
    """What the list of games says of a variant."""
    game = variant.game
    network = network_part(variant)
    return {
        "id": variant.id,
        "title": variant.title,
        "diagram": _describe_diagram(variant),
        "options": game.options,
        "clock": None if game.clock is None else asdict(game.clock),
        "module": module_part(game).address,
        "scene": _scene_address(variant),
        "network": None if network is None else network.address,
        "exact": {"source": source_text(game), "module": solver_part(game).address},
        "levels": None if variant.ladder is None else _levels_address(variant),
    }


def _scene_address(variant: Variant) -> str:
    return f"games/{module_name(variant.game)}.scene.json"


def _levels_address(variant: Variant) -> str:
    return f"levels/{module_name(variant.without_clock.game)}{LEVELS}"


def _write_games(folder: Path, variants: Sequence[Variant], say: Say) -> list[dict[str, Any]]:
    """Write the files of variants; returns what the list says of their games."""
    from .rules_page import rules_html  # its reader of Markdown serves nothing but a build

    _write_parts(folder, [part for each in variants for part in _parts(each)], say)
    games: dict[str, dict[str, Any]] = {}
    for variant in variants:
        game, ladder = variant.game, variant.ladder
        _write(folder, _scene_address(variant), scene_content(game))
        if ladder is not None:
            _write(folder, _levels_address(variant), ladder.read_bytes())
        if game.name not in games:
            rules = f"rules/{game.name}.html"
            _write(folder, rules, rules_html(game).encode())
            games[game.name] = {
                "name": game.name,
                "title": game.title,
                "credit": game.credit,
                "summary": game.summary,
                "rules": rules,
                "variants": [],
            }
        games[game.name]["variants"].append(_entry(variant))
    return list(games.values())


def _parts(variant: Variant) -> list[Part]:
    game = variant.game
    made = module_part(game), solver_part(game), network_part(variant)
    return [part for part in made if part is not None]


def _write_parts(folder: Path, parts: Sequence[Part], say: Say) -> None:
    """Write what takes long; modules side by side, as each is compiled in its own process."""
    different = {part.address: part for part in parts}
    modules = [part for part in different.values() if part.address.endswith(".wasm")]
    others = [part for part in different.values() if part not in modules]
    with ThreadPoolExecutor(available_cores()) as pool:
        contents = pool.map(lambda part: part.content(say), modules)
        for part, content in zip(modules, contents, strict=True):
            _write(folder, part.address, content)
    for part in others:
        _write(folder, part.address, part.content(say))


def _write_lists(folder: Path, games: list[dict[str, Any]]) -> None:
    """Write the list of games, and that of all files."""
    index = {"format": _FORMAT, "version": version("ludarium"), "games": games}
    _write(folder, INDEX, _as_json(index))
    found = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    files = sorted(set(found) - {LIST})
    digest = hashlib.sha256()
    for address in files:
        content = hashlib.sha256((folder / address).read_bytes()).hexdigest()
        digest.update(f"{address}\n{content}\n".encode())
    waiting = [address for address in files if address.startswith(EXACT)]
    listed = _Listed(digest.hexdigest(), files, waiting)
    _write(folder, LIST, _as_json(asdict(listed)))


def _write(folder: Path, address: str, content: bytes) -> None:
    path = folder / address
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"
