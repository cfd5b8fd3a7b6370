"""Builds native libraries of a game, the search over it and a trained network, for C and all that
calls C. Import what is in `__all__`.

``templates/glue.c`` are the library's functions, around kernels of `ludarium.play.wasm.kernels`
that ``compiler`` makes objects of, for each of ``targets``; ``library`` links them, ``texts`` is
what is written beside.
"""

from .library import write_library
from .targets import TARGETS, this_machine
from .texts import Library

__all__ = ["TARGETS", "Library", "this_machine", "write_library"]
