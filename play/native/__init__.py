"""Builds native libraries of a game, the search over it and a trained network, for C and languages
that call C. Import what is in `__all__`.

``templates/glue.c`` has the library's functions, around kernels of `ludarium.play.wasm.kernels`
that ``compiler`` turns into objects for each of ``targets``; ``buffer`` has the places of arrays,
``library`` links the objects, ``texts`` makes the header and other texts beside them.
"""

from .library import write_library
from .targets import TARGETS, this_machine
from .texts import Library

__all__ = ["TARGETS", "Library", "this_machine", "write_library"]
