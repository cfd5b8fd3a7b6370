"""Measuring agents: matches from paired openings, confidence intervals, ratings, tables. Import
what is in `__all__` from here.

games = play_match(game, make_agent("uct:1000", game), make_agent("greedy", game), 200)
print(table([games]), games.tally.interval)
"""

from .anchors import AnchoredResult, measure_ratings, play_anchors
from .bradley_terry import BradleyTerry, Score, fit_ratings
from .games import Games, Tally
from .match import play, play_match
from .openings import draw_openings
from .statistics import Match, Rating, elo_difference, expected_score, wilson_interval
from .table import table

__all__ = [
    "AnchoredResult",
    "BradleyTerry",
    "Games",
    "Match",
    "Rating",
    "Score",
    "Tally",
    "draw_openings",
    "elo_difference",
    "expected_score",
    "fit_ratings",
    "measure_ratings",
    "play",
    "play_anchors",
    "play_match",
    "table",
    "wilson_interval",
]
