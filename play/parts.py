"""Parts of the page that take long to make: each is made once, and then kept.

The address of a part contains a digest of everything that it is made of, so it identifies the
content. A part is read from the shipped page or from the user's cache folder, or else made and kept
in that folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ludarium.base import storage
from ludarium.base.files import sha256_of_file
from ludarium.base.progress import SILENT, Progress
from ludarium.envs import Game, batch
from ludarium.envs.engine import batch_kernels
from ludarium.envs.engine.compile import sources_of
from ludarium.envs.engine.description import describe_game
from ludarium.models import layers, options, shape, weights
from ludarium.models.layers import BoardLayers, VectorLayers
from ludarium.training import networks
from ludarium.training.networks import stored_network

from .variants import Variant
from .wasm import Limits, build_module, digest_of, module_name
from .wasm import network as of_networks
from .wasm.exact import build_solver, solver_digest

#: The page built by `make page`, which a wheel made later contains.
BUILT = Path(__file__).with_name("built")

#: Sources that determine a network's file, besides the kernels, whose digest is in its layout.
_PACKERS = (layers, options, shape, weights, networks, batch, of_networks)


def cache_folder() -> Path:
    """The folder of parts, which may be removed at any time."""
    return storage.cache_folder() / "page"


@dataclass(frozen=True)
class BuiltFile:
    """A file that takes long to make.

    Attributes:
        address: address within the page, with a digest of everything that it is made of.
        make: function that makes the content.
        message: message that is shown while it is made.
    """

    address: str
    make: Callable[[], bytes]
    message: str

    def kept(self) -> Path | None:
        """The file of the content; None if it is to be made."""
        paths = (folder / self.address for folder in (BUILT, cache_folder()))
        return next(filter(Path.is_file, paths), None)

    def content(self, progress: Progress = SILENT) -> bytes:
        """The content, which is made if it does not exist yet.

        Raises:
            ValueError, ImportError, OSError: it cannot be made; the message says why.
        """
        kept = self.kept()
        if kept is not None:
            return kept.read_bytes()
        progress.advance(0, self.message)
        content = self.make()
        with suppress(OSError):  # if this fails, it is made again the next time
            keep(self.address, content)
        return content


def keep(address: str, content: bytes) -> None:
    """Keep a file in the cache folder.

    Raises:
        OSError: it cannot be written.
    """
    with storage.replacing(cache_folder() / address) as partial:
        partial.write_bytes(content)


def module_part(game: Game, limits: Limits | None = None) -> BuiltFile:
    """Rules and search of a game."""
    limits = limits or Limits()
    return BuiltFile(
        f"games/{module_name(game)}-{_short(digest_of(game), json.dumps(asdict(limits)))}.wasm",
        lambda: build_module(game, limits),
        f"compiling {module_name(game)}",
    )


def solver_part(game: Game) -> BuiltFile:
    """The module with exact values of a game's positions."""
    return BuiltFile(
        f"exact/{module_name(game)}-{_short(solver_digest(game))}.wasm",
        lambda: build_solver(game),
        f"compiling the solver of {module_name(game)}",
    )


def network_part(variant: Variant) -> BuiltFile | None:
    """The network of a variant's agent; None without an agent."""
    plain = variant.without_clock
    if plain.agent is None:
        return None
    game = plain.game
    digest = _short(
        sha256_of_file(plain.agent),
        json.dumps(describe_game(game), ensure_ascii=False),
        of_networks.layout_of(game),
        sources_of(batch_kernels, game),  # ranges of numbers come from random games
        game.tables.tobytes().hex(),
        *(Path(str(module.__file__)).read_text(encoding="utf-8") for module in _PACKERS),
    )
    return BuiltFile(
        f"networks/{plain.id}-{digest}.network",
        lambda: _packed(plain),
        f"packing the network of {plain.id}",
    )


def _packed(variant: Variant) -> bytes:
    """The content of a network's file.

    Raises:
        ValueError: it is a custom network, for which modules have no kernel.
    """
    game, path = variant.game, variant.agent
    assert path is not None
    network = stored_network(path, game, str(path))
    if not isinstance(network, BoardLayers | VectorLayers):
        raise ValueError(f"the page plays networks of ludarium only, not {path}: use the terminal")
    return of_networks.network_content(game, network)


def _short(*texts: str) -> str:
    """A digest, in the short form for addresses."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()[:12]
