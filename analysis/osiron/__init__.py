"""Osiron solved: the value of every position, by retrograde analysis.

``colourings`` numbers the colourings of the board and tells which rules have the same values,
``kernels`` has the analysis in compiled code, ``retrograde`` runs it and keeps tables in files, and
``solution`` answers from them.
"""

from .colourings import MOVEMENTS, RuleSet, all_rule_sets
from .retrograde import Counts, SolvedTable, table_path
from .solution import OsironSolution, rules_of

__all__ = [
    "MOVEMENTS",
    "Counts",
    "OsironSolution",
    "RuleSet",
    "SolvedTable",
    "all_rule_sets",
    "rules_of",
    "table_path",
]
