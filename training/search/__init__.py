"""Batched tree search (Gumbel AlphaZero and PUCT) over any game's rules.

The search knows nothing of networks: whoever runs it evaluates the leaves. Cut as in the
literature: ``tree`` (storage), ``gumbel`` and ``puct`` (which action to try), ``proof``
(exact values), ``simulate`` (the simulation loop), ``search`` (running it from Python),
``results`` (joining what several found).
``leaves`` and ``tree_search`` use the same parts to search one position by all cores.
"""

from .results import join_results
from .search import Search, SearchResult
from .settings import GUMBEL, PUCT, SearchSettings
from .tree_search import TreeResult, TreeSearch

__all__ = [
    "GUMBEL",
    "PUCT",
    "Search",
    "SearchResult",
    "SearchSettings",
    "TreeResult",
    "TreeSearch",
    "join_results",
]
