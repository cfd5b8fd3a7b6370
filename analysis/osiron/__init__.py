"""Osiron solved: the value of every position, by retrograde analysis. Import what is in `__all__`;
WebAssembly modules also use ``colourings`` and ``kernels``.

``colourings`` numbers the colourings of the board and tells which rules have the same values,
``kernels`` has the analysis in compiled code, ``retrograde`` runs it and keeps tables in files, and
``solution`` answers from them.
"""

from .colourings import MOVEMENTS, RuleSet, all_rule_sets, view_record
from .retrograde import Counts, SolvedTable, table_path
from .solution import OsironSolution, view_of_game

__all__ = [
    "MOVEMENTS",
    "Counts",
    "OsironSolution",
    "RuleSet",
    "SolvedTable",
    "all_rule_sets",
    "table_path",
    "view_of_game",
    "view_record",
]
