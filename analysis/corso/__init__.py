"""Corso solved by search: exact values of any position on boards up to 5 x 5.

``kernels`` has the search in compiled code, ``board`` its records and sets of cells, and
``solver`` the questions that can be asked.
"""

from .board import SIZES
from .solver import Answer, CorsoSolver, first_actions

__all__ = ["SIZES", "Answer", "CorsoSolver", "first_actions"]
