"""``ludarium evaluate``: matches of an agent against baselines."""

from __future__ import annotations

import argparse

from ludarium.training.agents import make_agent
from ludarium.training.evaluation import play_match, table

from .common import add_json, add_options, game_and_agent, print_json, read_options
from .progress import bars

_DEFAULT_OPPONENTS = ["random", "greedy", "uct:1000", "alphabeta:4"]

_DESCRIPTION = """\
Play matches between an agent and fixed opponents. Seats alternate, openings are varied and
each is played from both seats; scores come with 95 % intervals.

  ludarium evaluate runs/corso                            a run's latest agent, the usual opponents
  ludarium evaluate corso --against uct:10000             the agent that comes along
  ludarium evaluate a.safetensors --against b.safetensors:128
  ludarium evaluate uct:1000 --game corso --against greedy

Opponents: random, greedy, uct:PLAYOUTS, alphabeta:DEPTH, perfect (in games that are solved), or
a checkpoint with :SIMULATIONS."""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "evaluate",
        help="measure an agent against baselines",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "checkpoint", metavar="CHECKPOINT", help="a checkpoint, a run's folder, or a game's name"
    )
    parser.add_argument(
        "--against",
        action="append",
        metavar="AGENT",
        help=f"an opponent (may be repeated); default: {', '.join(_DEFAULT_OPPONENTS)}",
    )
    parser.add_argument("--games", type=int, default=200, help="games of each match (default 200)")
    parser.add_argument(
        "--simulations", type=int, default=64, help="of the agent, for each move (default 64)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of openings and agents (default 1)")
    parser.add_argument(
        "--opening-plies",
        type=int,
        help="random plies at the start of each game; default: 0 to 3, varied",
    )
    parser.add_argument("--game", help="the game, for agents that are no checkpoint")
    add_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Play the matches and print the table."""
    game, agent = game_and_agent(
        given.checkpoint, read_options(given.option), given.simulations, given.game
    )
    opponents = [make_agent(spec, game) for spec in given.against or _DEFAULT_OPPONENTS]
    with bars() as bar:
        results = [
            play_match(
                game,
                agent,
                opponent,
                given.games,
                seed=given.seed,
                opening_plies=given.opening_plies,
                progress=bar(f"{agent.name} against {opponent.name}", given.games),
            )
            for opponent in opponents
        ]
    if given.json:
        print_json([result.to_dict() for result in results])
    else:
        print(table(results))
    return 0
