"""Measuring agents: matches from paired openings, confidence intervals, ratings, tables. Import
what is in `__all__` from here; other packages also import more of `anchors`, `match`,
`openings` and `statistics`, and the kernels.

games = play_match(game, make_agent("uct:1000", game), make_agent("greedy", game), 200)
print(table([games]), f"{games.result.score:.1%}")
"""

from .anchors import measure_ratings, play_anchors
from .bradley_terry import BradleyTerry, fit_ratings
from .games import Games
from .match import play_games, play_match
from .openings import draw_openings
from .statistics import IntervalEstimate, MatchResult, elo_difference, expected_score
from .table import table

__all__ = [
    "BradleyTerry",
    "Games",
    "IntervalEstimate",
    "MatchResult",
    "draw_openings",
    "elo_difference",
    "expected_score",
    "fit_ratings",
    "measure_ratings",
    "play_anchors",
    "play_games",
    "play_match",
    "table",
]
