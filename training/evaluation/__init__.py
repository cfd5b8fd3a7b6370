"""How strong agents are: matches from paired openings, intervals, tables.

result = play_match(game, make_agent("uct:1000", game), make_agent("greedy", game), 200)
print(table([result]))
"""

from .match import MatchResult, Tally, play_match
from .openings import draw_openings
from .statistics import elo_difference, wilson_interval
from .table import table

__all__ = [
    "MatchResult",
    "Tally",
    "draw_openings",
    "elo_difference",
    "play_match",
    "table",
    "wilson_interval",
]
