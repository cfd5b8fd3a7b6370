"""Modules with the exact values of a game's positions, separate from those that play it.

They use the same sources as `ludarium.analysis.probing`: the analysis of all positions of Osiron,
the search made for Corso, or the search to the end that serves every game.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ludarium.analysis.osiron import OsironSolution
from ludarium.analysis.osiron.kernels import WIN
from ludarium.analysis.probing import source_of
from ludarium.analysis.search import EndgameSolver
from ludarium.envs.engine.game import Game
from ludarium.machine.compiler import in_own_process

from . import solve_corso, solve_late, solve_osiron
from .linker import find_zig
from .module import assemble, digest_of_parts


def build_solver(game: Game) -> bytes:
    """Compile a module for exact values of a game's positions, in a dedicated process.

    Raises:
        LinkerError: the linker is missing or fails.
        ValueError: the rules cannot be compiled; the message says why.
        ImportError: numba is not installed.
    """
    find_zig()  # check before the long compilation
    return in_own_process(_build, game)


def solver_digest(game: Game) -> str:
    """Digest of what a module is made of: kernels, rules, initial memory, words on the source."""
    templates = _templates(game)
    memory: Sequence[np.ndarray] = templates.solver_memory(game)
    contents = (array.tobytes() for array in memory if array.ravel().view(np.uint8).any())
    sizes = repr([(array.dtype, array.shape) for array in memory])
    return digest_of_parts(game, templates, sizes.encode(), source_text(game).encode(), *contents)


def source_text(game: Game) -> str:
    """The source of the values, in words."""
    return source_of(game).source


def _build(game: Game) -> bytes:
    templates = _templates(game)
    about = {"sources": solver_digest(game), "solver": _about_values(game)}
    return assemble(game, templates, {"solver": templates.solver_memory(game)}, about)


def _templates(game: Game) -> ModuleType:
    source = source_of(game)
    if source is OsironSolution:
        return solve_osiron
    return solve_late if source is EndgameSolver else solve_corso


def _about_values(game: Game) -> dict[str, Any]:
    """The meaning of a module's numbers.

    ``told`` is what a value tells besides who wins. With ``plies`` a win in n is ``win - n``; with
    ``lead`` it is ``span`` plus the lead, which is at most ``most``; a loss is the negative.
    """
    templates = _templates(game)
    if templates is solve_osiron:
        told: dict[str, Any] = {"told": "plies", "win": WIN}
    elif templates is solve_corso:
        told = {"told": "lead", "span": 0, "most": game.max_score}
    elif EndgameSolver.span_of(game) > 1:
        told = {"told": "lead", "span": EndgameSolver.span_of(game), "most": game.max_score}
    else:
        told = {"told": None}
    return {"source": source_text(game), **told}
