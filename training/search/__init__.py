"""Batched tree search (Gumbel AlphaZero and PUCT) over any game's rules. Import what is in
`__all__`, and the module `level`; the rest of `training`, `play` and `arena.units` use the other
files too.

The search knows nothing of a network's layers: its caller evaluates the leaves, or passes the
address of a compiled network. Its modules are ``settings`` (as compiled code reads them), ``tree``
(storage), ``gumbel`` and ``puct`` (which action to try), ``proof`` (exact values), ``value`` (the
value of a root), ``cache`` (the network's answers), ``simulate`` (the simulation loop),
``batch_search`` (running it from Python), ``result`` (the result of a search). ``leaves`` and
``tree_search`` search one position by all cores; ``level`` draws the mistakes of a level, before
and after its search.
"""

from ludarium.configs.schema import SearchSettings

from .batch_search import BatchSearch
from .result import Budget, Search, SearchResult
from .tree_search import TreeSearch

__all__ = [
    "BatchSearch",
    "Budget",
    "Search",
    "SearchResult",
    "SearchSettings",
    "TreeSearch",
]
