"""``ludarium evaluate``: matches of an agent against baselines."""

from __future__ import annotations

import argparse

from ludarium.arena.entrants import label_agents
from ludarium.envs.engine.game import Game
from ludarium.training.agents import Agent, AgentFactory, make_agent, read_agent
from ludarium.training.agents.settings import DEFAULT_SIMULATIONS
from ludarium.training.evaluation import play_match, table

from .arguments import (
    add_game,
    add_games,
    add_json,
    add_opening_plies,
    add_options,
    add_seed,
    add_simulations,
)
from .common import AGENTS_HELP, game_and_agent, read_options
from .progress import progress
from .result import Result

_WITHOUT_SCORE = ["random", "uct:1000"]
_DEFAULT_OPPONENTS = ["random", "greedy", "uct:1000", "alphabeta:4"]

HELP = "measure an agent against baselines"
DESCRIPTION = f"""\
Play matches between an agent and fixed opponents. Games start from varied openings, and each
opening is played from both seats. Scores have 95 % confidence intervals.

  ludarium evaluate runs/corso                       a run's latest agent, the usual opponents
  ludarium evaluate corso --against uct:10000        the shipped agent
  ludarium evaluate runs/corso --against corso       yours against the shipped agent
  ludarium evaluate a.safetensors --against b.safetensors:128
  ludarium evaluate uct:1000 --game corso --against greedy

{AGENTS_HELP}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("agent", metavar="AGENT", help="the agent to measure")
    parser.add_argument(
        "--against",
        action="append",
        metavar="AGENT",
        help=f"an opponent (may be repeated); default: {', '.join(_DEFAULT_OPPONENTS)}",
    )
    add_games(parser, "games of each match", 200)
    about = "simulations per move of a trained AGENT whose name sets none"
    add_simulations(parser, about, DEFAULT_SIMULATIONS)
    add_seed(parser, "seed of openings and agents")
    add_opening_plies(parser)
    add_game(parser)
    add_options(parser)
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Play the matches."""
    options = read_options(given.option)
    game, agent = game_and_agent(given.agent, options, given.simulations, given.game)
    own = read_agent(given.agent)
    against = given.against or [
        spec for spec in _usual_opponents(game) if not _makes(spec, own, agent)
    ]
    opponents = [make_agent(name, game) for name in against]
    label_agents([given.agent, *against], [agent, *opponents])
    matches = []
    with progress() as task:
        for opponent in opponents:
            task.begin(f"{agent.name} against {opponent.name}", given.games)
            plies = given.opening_plies
            games = play_match(game, agent, opponent, given.games, given.seed, plies, task)
            matches.append(games)
    return Result(
        [{**games.to_dict(), "seed": given.seed} for games in matches],
        table(matches),
        caveats=[
            f"{agent.name} against {games.players[1]}: {games.caveat}"
            for games in matches
            if games.caveat is not None
        ],
    )


def _usual_opponents(game: Game) -> list[str]:
    """The default opponents that can play the game: some need its score."""
    has_score = hasattr(game.rules, "score")
    return [spec for spec in _DEFAULT_OPPONENTS if has_score or spec in _WITHOUT_SCORE]


def _makes(spec: str, own: AgentFactory, agent: Agent) -> bool:
    """Whether a name means the agent that ``own`` made: ``uct:1000`` is what ``uct`` means too."""
    factory = read_agent(spec)
    return type(factory) is type(own) and factory.make(agent.game).name == agent.name
