"""Osiron solved: the value of every position, by retrograde analysis.

``colourings`` numbers the colourings of the board, ``kernels`` has the analysis in compiled
code, and ``solution`` runs it, keeps the table in a file, and answers from it.
"""

from .solution import OsironSolution, Totals, rule_set, table_path

__all__ = ["OsironSolution", "Totals", "rule_set", "table_path"]
