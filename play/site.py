"""The page as a folder of static files: what it holds, how it is made, and whether it is whole.

    index.html, app/, style.css, ...   the page itself, as in ``play/page``; scripts of ``play/js``
    vendor/onnxruntime-web/            the library that runs networks, see `vendor`
    games/index.json                   what there is to play, see `Variant`
    games/NAME.wasm, NAME.scene.json   rules and search of a game with its options, and its picture
    networks/, levels/, rules/         agents, their levels of strength, rules as HTML
    exact/                             modules with exact values
    site.json                          all files, those that wait until they are wanted, a digest

Every address within is relative, so a folder works on any host and under any path. A site is made
beside its folder and put in place at the end, ``site.json`` last. What takes long to make is taken
from an earlier build where it is current, a build that was killed included.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any

import ludarium.models
from ludarium.arena.ladder import SUFFIX as LEVELS
from ludarium.arena.ladder import digest_of
from ludarium.envs import Game
from ludarium.envs.engine.description import describe_game
from ludarium.envs.engine.files import MEGABYTE, load_json, read_regular_file
from ludarium.envs.engine.messages import quoted
from ludarium.envs.engine.threads import available_cores
from ludarium.training.runs.files import (
    PARTIAL,
    StorageError,
    make_folders,
    remove_file,
    remove_folder,
    write_file,
)
from ludarium.training.runs.lock import FolderLock

from .build import is_current_module, scene_content, write_module
from .variants import Variant
from .vendor import Library, licences
from .wasm import Limits, build_module, module_name
from .wasm.exact import build_solver, solver_digest, source_text

_HERE = Path(__file__).parent

#: The page that `make page` builds, which a wheel made after it holds.
BUILT = _HERE / "built"
PAGE = _HERE / "page"
SCRIPTS = _HERE / "js"

INDEX = "games/index.json"
LIST = "site.json"
EXACT = "exact/"  # what is loaded, and kept in the browser, only once somebody analyses
_FORMAT = 1
_LIBRARY = "vendor/onnxruntime-web"
_MOST_FILES = 10_000
_MOST_BYTES = 256 * MEGABYTE  # of a file
_MOST_TEXT_BYTES = 4 * MEGABYTE  # of a list
_POSITIONS = 1024  # on which an exported network is compared
_REMEDY = "build it anew: make page"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Site:
    """A built page.

    Attributes:
        files: each file by its address within the site, such as ``games/corso.wasm``.
    """

    files: Mapping[str, Path]

    @classmethod
    def read(cls, folder: Path) -> Site:
        """The site in a folder.

        Raises:
            FileNotFoundError: there is none.
            ValueError: it is damaged, or a file of it is missing; the message names it.
        """
        name = quoted(str(folder), 100)
        if not (folder / LIST).is_file():
            raise FileNotFoundError(f"there is no built page in {name}: make page")
        listed = _read_list(folder)
        missing = [address for address in listed["files"] if not (folder / address).is_file()]
        if missing:
            raise ValueError(f"the page in {name} lacks {quoted(missing[0])}; {_REMEDY}")
        site = cls({address: folder / address for address in listed["files"]})
        if site.version != listed["version"]:
            raise ValueError(f"the page in {name} was changed after it was built; {_REMEDY}")
        return cls({**site.files, LIST: folder / LIST})

    @property
    def version(self) -> str:
        """A digest of all files, which are read for it."""
        digest = hashlib.sha256()
        for address in sorted(set(self.files) - {LIST}):
            content = read_regular_file(self.files[address], _MOST_BYTES, "a file of the page")
            digest.update(f"{address}\n{hashlib.sha256(content).hexdigest()}\n".encode())
        return digest.hexdigest()

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(path.stat().st_size for path in self.files.values())

    @property
    def games(self) -> list[dict[str, Any]]:
        """What there is to play, as ``games/index.json`` has it.

        Raises:
            ValueError: that file is not as it is written here.
        """
        content = read_regular_file(self.files[INDEX], _MOST_TEXT_BYTES, "a list of games")
        index = load_json(content, INDEX)
        if not isinstance(index, dict) or index.get("format") != _FORMAT:
            raise ValueError(f"{INDEX} of the page is not of format {_FORMAT}; {_REMEDY}")
        games: list[dict[str, Any]] = index["games"]
        return games

    def entry(self, variant: Variant) -> dict[str, Any] | None:
        """What the list of games says of a variant; None where it lacks it."""
        for game in self.games:
            for entry in game["variants"]:
                if entry["id"] == variant.id:
                    return dict(entry)
        return None

    def is_current(self, variant: Variant) -> bool:
        """Whether the site has a variant, of these rules and with this agent."""
        entry = self.entry(variant)
        if entry is None or not is_current_module(self.files[entry["module"]], Limits()):
            return False
        is_exact = entry.get("exact") == _exact_parts(variant.game)
        return is_exact and bool(entry["network"] == _network_address(variant))

    def with_variant(self, variant: Variant, folder: Path, kept: Path, say: Say) -> Site:
        """This site and one more variant.

        Args:
            variant: of any game that is registered.
            folder: an empty one, for files that the site lacks.
            kept: a folder with modules made earlier, into which new ones go too.
            say: takes a line about what takes long.

        Raises:
            ValueError, ImportError, OSError: a part cannot be made; the message has the remedy.
        """
        parts = _Parts(folder, [self.files[LIST].parent, kept], say)
        entry = parts.add_variant(variant)
        module = entry["module"]
        with suppress(StorageError):  # the next time takes as long, and that is all
            if not is_current_module(kept / module, Limits()):
                parts.copy_to(kept, module)
            if not (kept / entry["exact"]["module"]).is_file():
                parts.copy_to(kept, entry["exact"]["module"])
        games = [
            {**game, "variants": [each for each in game["variants"] if each["id"] != variant.id]}
            for game in self.games
        ]
        known = next((game for game in games if game["name"] == variant.game.name), None)
        if known is None:
            games.append(known := parts.add_game(variant) | {"variants": []})
        known["variants"].append(entry)
        parts.add_index(games)
        both = Site({**self.files, **parts.site.files})
        parts.add(LIST, _list_content(both))
        return Site({**both.files, **parts.site.files})


def write_site(
    folder: Path,
    variants: Sequence[Variant],
    near: Sequence[Path] = (),
    vendor: Path | None = None,
    say: Say = print,
) -> Site:
    """Build a site, or bring one up to date.

    Files in the folder that no earlier build put there stay, such as a ``CNAME`` or ``.git``.

    Args:
        folder: where it goes; a new or empty one, or one with a site.
        variants: what it offers, in this order.
        near: folders of other sites, from which current parts are taken.
        vendor: a folder for the files of onnxruntime-web; None takes a temporary one.
        say: takes a line about each part that takes long.

    Raises:
        ValueError: the folder holds something else, another process builds there, or a part
            cannot be made; what is there stays.
        ImportError, OSError: packages are missing, or a file cannot be written.
    """
    folder = folder.absolute()
    if not (PAGE / "index.html").is_file():
        raise ValueError(f"the page's sources are not there: {PAGE} has no index.html")
    before = _addresses_before(folder)
    stage = folder.with_name(folder.name + PARTIAL)
    make_folders(stage)
    with _locked(stage):
        parts = _Parts(stage / "site", [folder, *near], say)
        parts.add_page()
        parts.add_library(vendor)
        parts.add_games(variants)
        parts.add(LIST, _list_content(parts.site))
        _put_in_place(parts.site, stage / "site", folder, before)
    remove_folder(stage)
    return Site.read(folder)


class _Parts:
    """Files of a site that is being made, in a folder."""

    def __init__(self, folder: Path, near: Sequence[Path], say: Say) -> None:
        self._folder = folder
        self._near = near
        self._say = say
        self._addresses: dict[str, None] = {}

    @property
    def site(self) -> Site:
        """What was added so far."""
        return Site({address: self._folder / address for address in self._addresses})

    def add(self, address: str, content: bytes) -> str:
        """Add a file; returns its address."""
        path = self._folder / address
        make_folders(path.parent)
        write_file(path, content)
        self._addresses[address] = None
        return address

    def add_page(self) -> None:
        """Add the page itself."""
        pages = [path for path in sorted(PAGE.rglob("*")) if path.is_file()]
        for path in pages:
            self.add(path.relative_to(PAGE).as_posix(), path.read_bytes())
        for path in sorted(SCRIPTS.glob("*.js")):
            self.add(path.name, path.read_bytes())

    def add_library(self, vendor: Path | None) -> None:
        """Add onnxruntime-web with its licences."""
        library = Library.pinned()
        with tempfile.TemporaryDirectory() as place:
            source = vendor or Path(place)

            def make(path: Path) -> None:
                if not library.is_whole(source):
                    self._say(f"fetching {library.package} {library.version} with npm")
                    library.fetch(source)
                write_file(path, (source / path.name).read_bytes())

            for name in library.files:
                self._add_part(f"{_LIBRARY}/{name}", library.is_file, make)
        for name, content in licences().items():
            self.add(f"{_LIBRARY}/{name}", content)

    def add_games(self, variants: Sequence[Variant]) -> None:
        """Add games, and the list of them."""
        self._add_modules(variants)
        games: dict[str, dict[str, Any]] = {}
        for variant in variants:
            name = variant.game.name
            if name not in games:
                games[name] = self.add_game(variant) | {"variants": []}
            games[name]["variants"].append(self.add_variant(variant))
        self.add_index(list(games.values()))

    def add_index(self, games: list[dict[str, Any]]) -> None:
        """Add the list of games."""
        index = {"format": _FORMAT, "version": version("ludarium"), "games": games}
        self.add(INDEX, json.dumps(index, ensure_ascii=False, indent=1).encode() + b"\n")

    def add_game(self, variant: Variant) -> dict[str, Any]:
        """Add what all variants of a game share; returns what the list says of it."""
        from .rules_page import rules_html  # its reader of Markdown serves nothing but a build

        game = variant.game
        return {
            "name": game.name,
            "title": game.title,
            "credit": game.credit,
            "summary": game.summary,
            "rules": self.add(f"rules/{game.name}.html", rules_html(game).encode()),
        }

    def add_variant(self, variant: Variant) -> dict[str, Any]:
        """Add a variant's files; returns what the list says of it."""
        game = variant.game
        name = module_name(game)
        ladder, ladder_name = variant.ladder, module_name(variant.without_clock.game)
        return {
            "id": variant.id,
            "title": variant.title,
            "diagram": _describe_diagram(variant),
            "options": game.options,
            "clock": None if game.clock is None else asdict(game.clock),
            "module": self._add_module(variant),
            "scene": self.add(f"games/{name}.scene.json", scene_content(game)),
            "network": self._add_network(variant),
            "exact": self._add_exact(game),
            "levels": None
            if ladder is None
            else self.add(f"levels/{ladder_name}{LEVELS}", ladder.read_bytes()),
        }

    def copy_to(self, folder: Path, address: str) -> None:
        """Copy a part into another folder."""
        target = folder / address
        make_folders(target.parent)
        write_file(target, (self._folder / address).read_bytes())

    def _add_modules(self, variants: Sequence[Variant]) -> None:
        """Add what takes longest, as many at a time as there are cores."""
        different = {module_name(variant.game): variant for variant in variants}
        with ThreadPoolExecutor(available_cores()) as pool:
            list(pool.map(self._add_module, different.values()))

    def _add_module(self, variant: Variant) -> str:
        def make(path: Path) -> None:
            self._say(f"compiling {variant.game}, up to a minute")
            made = build_module(variant.game)
            with tempfile.TemporaryDirectory() as place:
                write_file(path, write_module(Path(place), variant.game, made).read_bytes())

        address = f"games/{module_name(variant.game)}.wasm"
        return self._add_part(address, lambda path: is_current_module(path, Limits()), make)

    def _add_exact(self, game: Game) -> dict[str, str]:
        """Add what finds exact values of a game's positions; their names tell what they are of."""

        def make(path: Path) -> None:
            self._say(f"compiling what finds exact values of {game}")
            write_file(path, build_solver(game).content)

        parts = _exact_parts(game)
        self._add_part(parts["module"], Path.is_file, make)
        return parts

    def _add_network(self, variant: Variant) -> str | None:
        def make(path: Path) -> None:
            self._say(f"exporting the network of {variant.game}")
            _export(variant.without_clock, path)

        address = _network_address(variant)
        return None if address is None else self._add_part(address, Path.is_file, make)

    def _add_part(
        self, address: str, is_current: Callable[[Path], bool], make: Callable[[Path], None]
    ) -> str:
        """Add a file that is kept, or taken from near, where it is current, or else made, once."""
        if address in self._addresses:
            return address
        path = self._folder / address
        self._addresses[address] = None
        make_folders(path.parent)
        if is_current(path):
            return address
        for folder in self._near:
            if is_current(folder / address):
                write_file(path, (folder / address).read_bytes())
                return address
        make(path)
        return address


def _describe_diagram(variant: Variant) -> dict[str, Any] | None:
    """What the list says of a start that people may agree on."""
    diagram = variant.diagram
    if diagram is None:
        return None
    about = {"option": diagram.option, "letters": diagram.letters, "places": len(diagram.spots)}
    return {**about, "start": diagram.start, "is_own": variant.is_own}


def _exact_parts(game: Game) -> dict[str, str]:
    """What the list says of a game's exact values, and the address of their module."""
    digest = solver_digest(game)
    return {
        "source": source_text(game),
        "module": f"{EXACT}{module_name(game)}-{digest[:12]}.wasm",
    }


def _network_address(variant: Variant) -> str | None:
    """Where a variant's network is: its name tells what it was exported from, and how."""
    variant = variant.without_clock
    if variant.agent is None:
        return None
    digest = hashlib.sha256(digest_of(variant.agent).encode())
    digest.update(json.dumps(describe_game(variant.game), ensure_ascii=False).encode())
    for name in ("export.py", "onnx_graph.py"):
        digest.update(Path(ludarium.models.__file__).with_name(name).read_bytes())
    return f"networks/{variant.id}-{digest.hexdigest()[:12]}.onnx"


def _export(variant: Variant, path: Path) -> None:
    """Write a variant's network; raises as `export_checkpoint` and `fitted` do."""
    from ludarium.models import load_checkpoint
    from ludarium.models.export import export_checkpoint
    from ludarium.training.networks import fitted
    from ludarium.training.random_positions import random_observations

    game, source = variant.game, variant.agent
    assert source is not None
    checkpoint = fitted(load_checkpoint(source), game, str(source))
    positions = random_observations(game, _POSITIONS, seed=1, canonical=False)
    export_checkpoint(checkpoint, describe_game(game), path, positions)


def _list_content(site: Site) -> bytes:
    files = sorted(set(site.files) - {LIST})
    waiting = [address for address in files if address.startswith(EXACT)]
    listed = {"version": site.version, "files": files, "on_demand": waiting}
    return json.dumps(listed, ensure_ascii=False, indent=1).encode() + b"\n"


def _read_list(folder: Path) -> dict[str, Any]:
    """A site's list of files; every address leads into the folder."""
    what = f"the list of files in {quoted(str(folder), 100)}"
    listed = load_json(read_regular_file(folder / LIST, _MOST_TEXT_BYTES, what), what)
    files = listed.get("files") if isinstance(listed, dict) else None
    if not isinstance(files, list) or len(files) > _MOST_FILES or INDEX not in files:
        raise ValueError(f"{what} is no list of a page; {_REMEDY}")
    for address in files:
        if not isinstance(address, str) or not _is_within(address):
            raise ValueError(f"{what} names {quoted(address)}, which is no file of a page")
    return {"version": listed.get("version"), "files": files}


def _is_within(address: str) -> bool:
    path = PurePosixPath(address)
    forbidden = "\\" in address or ":" in address or "\0" in address
    return bool(address) and not path.is_absolute() and ".." not in path.parts and not forbidden


def _addresses_before(folder: Path) -> list[str]:
    """The files that an earlier build put into a folder.

    Raises:
        ValueError: it holds no site, but something else.
    """
    if (folder / LIST).is_file():
        return _read_list(folder)["files"]
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(
            f"{quoted(str(folder), 100)} holds no page, but something else: give a new or an empty "
            "folder"
        )
    return []


def _put_in_place(site: Site, stage: Path, folder: Path, before: Sequence[str]) -> None:
    """Let a folder hold a site that was made beside it, and no more of what it held before."""
    if not before:
        for path in set(filter(Path.is_file, stage.rglob("*"))) - set(site.files.values()):
            remove_file(path)  # of a build that was killed
        if folder.exists():
            folder.rmdir()
        os.replace(stage, folder)
        return
    for address in [*sorted(set(site.files) - {LIST}), LIST]:
        target, content = folder / address, site.files[address].read_bytes()
        make_folders(target.parent)
        if not target.is_file() or target.read_bytes() != content:
            write_file(target, content)
    for address in set(before) - set(site.files):
        remove_file(folder / address)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = FolderLock(folder / "lock")
    lock.acquire()
    try:
        yield
    finally:
        lock.release()
