"""``ludarium rate``: ratings of fixed opponents, for evaluations during training."""

from __future__ import annotations

import argparse

from ludarium.envs.registry import GAMES, make_game
from ludarium.training.evaluation import load_ratings, measure_ratings, save_ratings
from ludarium.training.evaluation.anchors import REFERENCE, REFERENCE_ELO, pairs_to_rate

from .common import AGENTS_HELP, add_json, add_options, print_json, read_options
from .progress import bars

_DESCRIPTION = f"""\
Play a round robin of fixed opponents and rate them: {REFERENCE} has {REFERENCE_ELO:,.0f} Elo points
by convention, 400 points more stand for 10/11 of the points. A training run whose
`evaluation.against` is a list of opponents says by them how strong its agent is. Each
opponent meets the next two of the list, which goes from the weakest to the strongest.

  ludarium rate corso --option size=6
  ludarium rate corso --option size=6 --output mine.json   to use with evaluation.ratings=mine.json
  ludarium rate onyx --player random --player uct:200 --player runs/onyx:64

The package ships ratings of some opponents for the default options of each game. A training run
that needs other ratings measures them itself, with fewer games.

{AGENTS_HELP}"""

_PLAYERS = ["random", "uct:20", "uct:200", REFERENCE]


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "rate",
        help="rate fixed opponents on a common Elo scale",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("game", metavar="GAME", help=f"one of {', '.join(GAMES)}")
    parser.add_argument(
        "--player",
        action="append",
        metavar="AGENT",
        help=f"whom to rate (may be repeated); default: {', '.join(_PLAYERS)}",
    )
    parser.add_argument("--games", type=int, default=100, help="games of each match (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="of openings and agents (default 1)")
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="write the ratings there, beside those of other games or options",
    )
    add_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Play the matches and print the ratings."""
    game = make_game(given.game, **read_options(given.option))
    players = given.player or _PLAYERS
    if given.output is not None:
        load_ratings(game, given.output)  # refuse a file that cannot be extended before playing
    with bars() as bar:
        ratings = measure_ratings(
            game,
            players,
            given.games,
            seed=given.seed,
            progress=bar("games", len(pairs_to_rate(players, {})) * given.games),
        )
    if given.output is not None:
        save_ratings(ratings, given.output)
    if given.json:
        print_json(
            {
                name: {"elo": rating.elo, "elo_interval_95": [rating.low, rating.high]}
                for name, rating in ratings.players.items()
            }
        )
        return 0
    width = max(map(len, ratings.players))
    for name, rating in sorted(ratings.players.items(), key=lambda item: item[1].elo):
        print(f"{name:{width}}  {rating.elo:6,.0f}  ({rating.low:,.0f} to {rating.high:,.0f})")
    return 0
