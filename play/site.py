"""The page as a folder of static files: its contents, and how it is made.

    index.html, app/, style.css, ...   the page itself, as in ``play/page``; scripts of ``play/js``
    games/index.json                   list of the games, see `_entry`
    games/, networks/, levels/, rules/, exact/
                                       modules and pictures of games; agents; their levels of
                                       strength; rules as HTML, lessons, puzzles; modules with
                                       exact values
    site.json                          all other files, those that are loaded on demand, a digest

Every address within is relative, so a folder works on any host and under any path. A game's
files are loaded on demand, and have digests in their names, so a browser can keep them for good.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypedDict

from ludarium.arena.ladder import SUFFIX as LEVELS
from ludarium.arena.puzzles import puzzles_of, read_puzzles
from ludarium.base.durable import PARTIAL, make_folders
from ludarium.base.files import MEGABYTE, convert, read_json_file, sha256_of
from ludarium.base.messages import named, quoted
from ludarium.base.progress import SILENT, Progress
from ludarium.base.storage import take_place, writing
from ludarium.base.threads import available_cores
from ludarium.envs import Game

from .build import scene_content
from .lesson import read_lesson, small_picture
from .parts import BuiltFile, module_part, network_part, solver_part
from .variants import Variant
from .wasm.exact import source_text

_HERE = Path(__file__).parent
PAGE = _HERE / "page"
SCRIPTS = _HERE / "js"

INDEX = "games/index.json"
LIST = "site.json"
#: Folders of a game's files, which are loaded when it is played or analysed.
OF_GAMES = ("games/", "networks/", "levels/", "rules/", "exact/")
_FORMAT = 2
#: What the page needs to know of a puzzle.
_OF_PUZZLES = ("id", "band", "value", "best", "moves", "draws", "seed")
_MOST_BYTES = 4 * MEGABYTE  # limit for a list
_REMEDY = "build it anew (make page), or reinstall ludarium where there is no clone"

_Files = dict[str, bytes]  # contents by address


@dataclass(frozen=True)
class _Listed:
    """The content of ``site.json``.

    Attributes:
        version: a digest of all files.
        files: their addresses.
        on_demand: the addresses of files that a browser need not keep until they are used.
    """

    version: str
    files: list[str]
    on_demand: list[str]


class _Game(TypedDict):
    """What `Site` reads of a game in ``games/index.json``."""

    name: str
    variants: list[dict[str, Any]]


class _Index(TypedDict):
    """What `Site` reads of ``games/index.json``."""

    games: list[_Game]


@dataclass(frozen=True)
class Site:
    """A built page in a folder, which `read` has checked or `write_site` has written."""

    folder: Path

    @classmethod
    def read(cls, folder: Path) -> Site:
        """The site in a folder.

        Raises:
            FileNotFoundError: there is no site.
            ValueError: a file of it is missing, or its list is damaged; the message names the file.
        """
        name = named(folder)
        if not (folder / LIST).is_file():
            raise FileNotFoundError(
                f"there is no built page in {name}: in a clone of ludarium build it by make page"
            )
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
        """The list of games, as in ``games/index.json``.

        Raises:
            ValueError: that file has another format or is damaged.
        """
        index = read_json_file(self.folder / INDEX, _MOST_BYTES, "the page's list of games")
        if not isinstance(index, dict) or index.get("format") != _FORMAT:
            raise ValueError(f"{INDEX} of the page is not of format {_FORMAT}; {_REMEDY}")
        convert(index, f"{INDEX} of the page", _Index)
        games: list[dict[str, Any]] = index["games"]
        return games

    def is_current(self, variant: Variant) -> bool:
        """Whether the site has a variant, with these rules and this agent."""
        wanted = json.loads(_as_json(_entry(variant)))
        return any(wanted in game["variants"] for game in self.games)

    def with_variant(self, variant: Variant, folder: Path, progress: Progress = SILENT) -> Site:
        """A site with this variant too, in place of one with its id.

        Arguments and errors are those of `write_site`, but a folder with files is an ``OSError``.
        """
        files = {address: (self.folder / address).read_bytes() for address in self.files}
        games = {game["name"]: game for game in self.games}
        more, (added,) = _files_of_games([variant], progress)
        game = games.setdefault(added["name"], {**added, "variants": []})
        others = [each for each in game["variants"] if each.get("id") != variant.id]
        game["variants"] = others + added["variants"]
        return _write(folder, files | more, list(games.values()))


def write_site(folder: Path, variants: Sequence[Variant], progress: Progress = SILENT) -> Site:
    """Build a site.

    Args:
        folder: folder to write, a new or an empty one.
        variants: the variants that it offers, in this order within each game.
        progress: counts the parts that are not yet built.

    Raises:
        ValueError: the folder is not empty, or a part cannot be made; existing files stay.
        ImportError, OSError: packages are missing, or a file cannot be written.
    """
    if folder.is_symlink() or (folder.exists() and not _is_empty(folder)):
        raise ValueError(f"{named(folder)} is there already: give a new or an empty folder")
    files, games = _files_of_games(variants, progress)
    return _write(folder, page_files() | files, games)


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def page_files() -> _Files:
    """The files of the page itself.

    Raises:
        ValueError: its sources are missing.
    """
    if not (PAGE / "index.html").is_file():
        raise ValueError(f"the page's sources are not there: {PAGE} has no index.html")
    paths = {path.relative_to(PAGE).as_posix(): path for path in PAGE.rglob("*")}
    paths |= {path.name: path for path in SCRIPTS.glob("*.js")}
    return {address: path.read_bytes() for address, path in paths.items() if path.is_file()}


def _files_of_games(
    variants: Sequence[Variant], progress: Progress
) -> tuple[_Files, list[dict[str, Any]]]:
    """The files of variants, and each game's entry for the list of games."""
    from .rules_page import rules_html  # only a build needs the Markdown reader

    made = {
        part.address: part
        for each in variants
        for part in (module_part(each.game), solver_part(each.game), network_part(each))
        if part is not None
    }
    missing = {address for address, part in made.items() if part.kept() is None}
    progress.begin("parts of the page", len(missing))

    def content(part: BuiltFile) -> bytes:
        content = part.content(progress)
        progress.advance(part.address in missing)
        return content

    with ThreadPoolExecutor(available_cores()) as pool:  # each compiles in a process of its own
        files = dict(zip(made, pool.map(content, made.values()), strict=True))
    games: dict[str, dict[str, Any]] = {}
    for variant in variants:
        game, entry = variant.game, _entry(variant)
        files[entry["scene"]] = scene_content(game)
        if variant.ladder is not None:
            files[entry["levels"]] = variant.ladder.read_bytes()
        if game.name not in games:
            text = rules_html(game).encode()
            about = {name: getattr(game, name) for name in ("name", "title", "credit", "summary")}
            games[game.name] = {**about, "rules": _address(text, f"rules/{game.name}", ".html")}
            games[game.name] |= {"variants": [], "lesson": _lesson(game, files)}
            games[game.name]["puzzles"] = _puzzles(game.name, files)
            files[games[game.name]["rules"]] = text
        games[game.name]["variants"].append(entry)
    return files, list(games.values())


def _lesson(game: Game, files: _Files) -> dict[str, Any] | None:
    """The entry of a game's lesson, whose files are added; None without one."""
    lesson = read_lesson(game)
    if lesson is None:
        return None
    played = type(game)(**lesson.options)
    steps = _as_json([asdict(step) for step in lesson.steps])
    picture = small_picture(played, lesson.picture).encode()
    entry = {
        **{name: getattr(lesson, name) for name in ("goal", "move", "end", "marks")},
        "picture": _address(picture, f"rules/{game.name}", ".svg"),
        "steps": _address(steps, f"rules/{game.name}", ".lesson.json"),
        "options": played.options,
    }
    files |= {entry["picture"]: picture, entry["steps"]: steps}
    return entry


def _puzzles(name: str, files: _Files) -> dict[str, Any] | None:
    """The entry of a game's puzzles, whose file is added; None without any."""
    path = puzzles_of(name)
    if path is None:
        return None
    found = read_puzzles(path)
    puzzles = [{key: getattr(each, key) for key in _OF_PUZZLES} for each in found.puzzles]
    content = json.dumps(puzzles, ensure_ascii=False, separators=(",", ":")).encode()
    file = _address(content, f"rules/{name}", ".puzzles.json")
    files[file] = content
    return {"file": file, "options": found.game.options, "bands": found.bands}


def _entry(variant: Variant) -> dict[str, Any]:
    """A variant's entry for the list of games."""
    game, ladder, diagram = variant.game, variant.ladder, variant.diagram
    network, module = network_part(variant), module_part(game).address
    return {
        "id": variant.id,
        "title": variant.title,
        "diagram": diagram
        and {
            **{"option": diagram.option, "letters": diagram.letters, "start": diagram.start},
            **{"places": len(diagram.spots), "is_own": variant.is_own},
        },
        "options": game.options,
        "clock": None if game.clock is None else asdict(game.clock),
        "module": module,
        "scene": module.replace(".wasm", ".scene.json"),
        "network": None if network is None else network.address,
        "exact": {"source": source_text(game), "module": solver_part(game).address},
        "levels": ladder and _address(ladder.read_bytes(), f"levels/{game.name}", LEVELS),
    }


def _address(content: bytes, name: str, suffix: str) -> str:
    return f"{name}-{sha256_of(content)[:12]}{suffix}"


def _write(folder: Path, files: _Files, games: list[dict[str, Any]]) -> Site:
    """Write a site into a temporary folder beside ``folder``, and move it there at the end."""
    index = {"format": _FORMAT, "version": version("ludarium"), "games": games}
    files = {**files, INDEX: _as_json(index)}
    files.pop(LIST, None)
    digest = hashlib.sha256()
    for address in sorted(files):
        digest.update(f"{address}\n{sha256_of(files[address])}\n".encode())
    waiting = [each for each in sorted(files) if each.startswith(OF_GAMES) and each != INDEX]
    listed = _Listed(digest.hexdigest(), sorted(files), waiting)
    files[LIST] = _as_json(asdict(listed))
    folder = folder.absolute()
    make_folders(folder.parent)
    with tempfile.TemporaryDirectory(PARTIAL, f"{folder.name}.", folder.parent) as place:
        for address, content in files.items():
            path = Path(place, "new", address)
            with writing(folder / address):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        if folder.exists():
            folder.rmdir()
        take_place(Path(place, "new"), folder)
    return Site(folder)


def _as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"
