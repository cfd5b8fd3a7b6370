"""Batched tree search (Gumbel AlphaZero and PUCT) over any game's rules. Import what is in
`__all__`; self-play and WebAssembly modules compile the other files into kernels of their own.

The search knows nothing of networks: whoever runs it evaluates the leaves, or hands it a compiled
network as a part of its kernels. Cut as in the literature: ``tree`` (storage), ``gumbel`` and
``puct`` (which action to try), ``proof`` (exact values), ``simulate`` (the simulation loop),
``search`` (running it from Python), ``finding`` (what a search returns), ``results`` (joining what
several found). ``leaves`` and ``tree_search`` search one position by all cores;
``level`` is what a level of strength draws before its search and after it.
"""

from .finding import Budget, Finding
from .results import join_results
from .search import Search
from .settings import GUMBEL, PUCT, SearchSettings
from .tree_search import TreeSearch

__all__ = [
    "GUMBEL",
    "PUCT",
    "Budget",
    "Finding",
    "Search",
    "SearchSettings",
    "TreeSearch",
    "join_results",
]
