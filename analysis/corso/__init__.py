"""Corso solved by search: exact values of any position on boards up to 5 x 5. Import what is in
`__all__`; WebAssembly modules also use ``board``, ``kernels`` and ``solver``.

``kernels`` has the search in compiled code, ``board`` its records and sets of cells, ``solver``
the questions that can be asked, ``known`` a file of results that took long to find, and
``solution`` perfect play by the search.
"""

from .kernels import SIZES
from .known import shipped_known
from .solution import CorsoSolution
from .solver import CorsoSolver, first_actions

__all__ = [
    "SIZES",
    "CorsoSolution",
    "CorsoSolver",
    "first_actions",
    "shipped_known",
]
