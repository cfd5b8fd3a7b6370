"""``ludarium compare``: is A stronger than B? As few games as it takes to say."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from ludarium.arena.comparison import (
    DEFAULT_GAMES,
    Comparison,
    compare_agents,
    read_comparison,
)
from ludarium.arena.sprt import SPRT
from ludarium.arena.tables import comparison_table
from ludarium.envs.engine.game import Game

from .common import (
    AGENTS_HELP,
    add_folder,
    add_json,
    add_opening_plies,
    add_options,
    game_of,
    print_json,
    read_options,
    warn,
)
from .progress import progress

_STOPPED = 130  # exit status after Ctrl-C
_TEST = SPRT()

_DESCRIPTION = f"""\
Play two agents against each other until a sequential test (SPRT) can say whether A is stronger than
B, with stated rates of error. H0: A is --elo0 Elo points stronger; H1: A is --elo1 points stronger.
The test ends when the logarithm of the likelihood ratio (LLR) reaches one of its bounds.

  ludarium compare runs/corso corso                         is mine stronger than the shipped agent?
  ludarium compare uct:400 uct:200 --game corso --elo1 50
  ludarium compare corso:64 corso:32 --folder test          keeps the games
  ludarium compare --folder test                            goes on, or shows
  ludarium compare a.safetensors b.safetensors --elo0 -20 --elo1 0    is it no weaker?

The closer --elo0 and --elo1 are, the more games it takes: about 600 for 0 and 30 at 5 %, 60 for 0
and 100. Games start from varied openings, each played from both seats; the pairs are what counts.
The interval of the Elo difference is as of a number of games that was fixed before.

{AGENTS_HELP}"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "compare",
        help="is A stronger than B? by a sequential test (SPRT)",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("agents", metavar="AGENT", nargs="*", help="A and B")
    parser.add_argument("--game", help="the game, for agents that are not trained")
    for name, text in (
        ("elo0", "how much stronger A is by H0"),
        ("elo1", "how much stronger A is by H1"),
        ("alpha", "how often H1 may be accepted although H0 is true"),
        ("beta", "how often H0 may be accepted although H1 is true"),
    ):
        default = getattr(_TEST, name)
        parser.add_argument(f"--{name}", type=float, help=f"{text} (default {default:g})")
    parser.add_argument(
        "--games-limit",
        type=int,
        help=f"games after which the test ends without a verdict (default {DEFAULT_GAMES:,})",
    )
    add_folder(parser, "keep the games there, go on there")
    parser.add_argument("--seed", type=int, help="of openings and agents (default 1)")
    add_opening_plies(parser)
    parser.add_argument("--workers", type=int, help="cores to play on; default: all")
    add_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Play, showing how the test stands, and print the verdict."""
    if not given.agents and given.folder is not None:
        return _resume(given)
    if len(given.agents) != 2:
        raise ValueError(
            f"a comparison is of two agents, A and B, not of {len(given.agents)}: "
            "`ludarium compare uct:200 uct:100 --game corso`"
        )
    first, second = given.agents
    game = game_of(given.agents, read_options(given.option), given.game)
    values = {name: getattr(given, name) for name in asdict(_TEST)}
    test = SPRT(**{name: value for name, value in values.items() if value is not None})
    limit = given.games_limit if given.games_limit is not None else DEFAULT_GAMES
    seed = given.seed if given.seed is not None else 1
    return _play(given, game, first, second, test, limit, seed, given.opening_plies, False)


def _resume(given: argparse.Namespace) -> int:
    """Go on with what the folder says, or show it."""
    own = [*asdict(_TEST), "games_limit", "seed", "opening_plies", "game", "option"]
    for name in own:
        if getattr(given, name) not in (None, []):
            raise ValueError(
                f"--{name.replace('_', '-')} goes with A and B: the folder says what is played"
            )
    stored = read_comparison(given.folder)
    standing = stored.standing
    if standing.is_finished:
        _show(given, standing)
        return 0
    return _play(
        given,
        stored.game,
        standing.first,
        standing.second,
        standing.test,
        standing.games_limit,
        stored.seed,
        stored.opening_plies,
        True,
    )


def _play(
    given: argparse.Namespace,
    game: Game,
    first: str,
    second: str,
    test: SPRT,
    limit: int,
    seed: int,
    opening_plies: int | None,
    from_file: bool,
) -> int:
    try:
        with progress() as task:
            standing = compare_agents(
                game,
                first,
                second,
                test,
                limit,
                seed,
                opening_plies,
                given.workers,
                given.folder,
                task,
                warn,
                from_file=from_file,
            )
    except KeyboardInterrupt:
        if given.folder is None:
            raise
        warn(f"stopped; go on with `ludarium compare --folder {given.folder}`")
        return _STOPPED
    _show(given, standing)
    return 0


def _show(given: argparse.Namespace, standing: Comparison) -> None:
    if given.json:
        data: dict[str, Any] = {"agents": [standing.first, standing.second]}
        print_json(data | asdict(standing.test) | standing.to_dict())
    else:
        print(comparison_table(standing))
