"""``ludarium evaluate``: matches of an agent against baselines."""

from __future__ import annotations

import argparse

from ludarium.envs.engine.game import Game
from ludarium.training.agents import AgentSpec, Needs, make_agents, read_agent, require_different
from ludarium.training.agents.settings import DEFAULT_SIMULATIONS
from ludarium.training.evaluation import play_match, table

from .arguments import (
    add_game,
    add_games,
    add_json,
    add_opening_plies,
    add_options,
    add_positions,
    add_seed,
    add_simulations,
)
from .common import AGENTS_HELP, game_of, read_options
from .progress import shown_progress
from .result import Result

_USUAL = ["random", "greedy", "uct:1000", "alphabeta:4"]

HELP = "measure an agent against baselines"
DESCRIPTION = f"""\
Play matches between an agent and fixed opponents. Each opening is played from both seats; by
default openings vary. Scores have 95 % confidence intervals.

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
        help=f"an opponent (may be repeated); default: {', '.join(_USUAL)}, but not AGENT itself, "
        "nor those that cannot play the game",
    )
    add_games(parser, "games of each match", 200)
    about = "simulations per move of AGENT, if it is trained and its name sets neither them nor a "
    add_simulations(parser, f"{about}time; opponents' names set theirs", DEFAULT_SIMULATIONS)
    add_seed(parser, "seed of openings and agents")
    add_opening_plies(parser)
    add_positions(parser)
    add_game(parser)
    add_options(parser)
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Play the matches."""
    own = read_agent(given.agent).with_simulations(given.simulations)
    game = game_of([given.agent], read_options(given.option), given.game)
    against = [*map(read_agent, given.against or [])] or _usual_opponents(game, own)
    specs = [own, *against]
    require_different(specs)
    agent, *opponents = make_agents(specs, game)
    matches = []
    with shown_progress() as progress:
        for opponent in opponents:
            progress.begin(f"{agent.name} against {opponent.name}", given.games)
            games = play_match(
                *(game, agent, opponent, given.games, given.seed, given.opening_plies, progress),
                given.positions or (),
            )
            matches.append(games)
    return Result(
        [
            {**games.to_dict(), "first": str(own), "second": str(spec), "seed": given.seed}
            for games, spec in zip(matches, against, strict=True)
        ],
        table(matches),
        caveats=[
            f"{agent.name} against {games.players[1]}: {games.caveat}"
            for games in matches
            if games.caveat is not None
        ],
    )


def _usual_opponents(game: Game, own: AgentSpec) -> list[AgentSpec]:
    """The default opponents, without the agent and those that need a score the game lacks."""
    lacks = Needs.NOTHING if game.has_score else Needs.SCORE
    specs = map(read_agent, _USUAL)
    return [spec for spec in specs if spec != own and not lacks & spec.needs]
