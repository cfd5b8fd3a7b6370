"""``ludarium tournament``: everyone against everyone, or some against the others, rated."""

from __future__ import annotations

import argparse
from typing import Any

from ludarium.arena.plot import check_plot, plot_ratings
from ludarium.arena.standings import Standings
from ludarium.arena.tables import standings_table
from ludarium.arena.tournament import StoredTournament, play_tournament, read_tournament
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted
from ludarium.envs.registry import make_game

from .common import (
    AGENTS_HELP,
    add_folder,
    add_json,
    add_opening_plies,
    add_options,
    print_json,
    read_options,
    warn,
)
from .progress import progress

_DEFAULT_GAMES = 100
_STOPPED = 130  # exit status after Ctrl-C

_DESCRIPTION = f"""\
Play a tournament on all cores: a round robin, or a gauntlet of some agents against the others.
Prints ratings with 95 % intervals, the cross-table, what moving first is worth, and draws.

  ludarium tournament corso random greedy uct:100 uct:1000 corso:16
  ludarium tournament corso random uct:100 corso --games 400 --folder tour --plot elo.svg
  ludarium tournament --folder tour                    goes on after Ctrl-C or a kill, or shows
  ludarium tournament --folder tour --show             how it stands, also while it is played
  ludarium tournament corso runs/a random uct:100 uct:1000 --gauntlet 1    runs/a against the rest
  ludarium tournament onyx uct:100 uct:1000 --option size=7 --anchor uct:1000=1000
                                      on the scale by which training rates its agents

With --folder, each game is kept as a record in a line of games.jsonl, beside results.json and
table.txt. Games start from varied openings, and each opening is played from both seats. The same
seed gives the same games, on however many cores and whatever was interrupted. An agent that fails
stops the tournament; once it is repaired, the same command goes on.

{AGENTS_HELP}"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "tournament",
        help="rate any list of agents by a round robin or a gauntlet",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("game", metavar="GAME", nargs="?", help="what they play")
    parser.add_argument("agents", metavar="AGENT", nargs="*", help="who plays, two or more")
    parser.add_argument(
        "--gauntlet",
        action="append",
        default=[],
        metavar="N|AGENT",
        help="the first N agents, or this one (may be repeated), meet the others but not each "
        "other; default: everyone meets everyone",
    )
    parser.add_argument(
        "--games", type=int, help=f"games of each pairing (default {_DEFAULT_GAMES})"
    )
    add_folder(parser, "keep the games there, go on there")
    parser.add_argument("--show", action="store_true", help="show --folder, play nothing")
    parser.add_argument("--seed", type=int, help="of openings and agents (default 1)")
    add_opening_plies(parser)
    parser.add_argument("--workers", type=int, help="cores to play on; default: all")
    parser.add_argument(
        "--anchor",
        action="append",
        default=[],
        metavar="AGENT=ELO",
        help="fix an agent's rating (may be repeated); default: the mean of all is 0",
    )
    parser.add_argument(
        "--plot", metavar="FILE", help="draw the ratings with their intervals: .svg, .png or .pdf"
    )
    add_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Play what is to be played, and print the standings."""
    anchor = _read_anchors(given.anchor)
    if given.plot is not None:
        check_plot(given.plot)
    if given.show or given.game is None:
        if given.folder is None:
            raise ValueError(
                "say what to play, such as `ludarium tournament corso random uct:100`, or give the "
                "--folder of a tournament"
            )
        return _resume(given, anchor)
    game = make_game(given.game, **read_options(given.option))
    arguments = {
        "games": given.games if given.games is not None else _DEFAULT_GAMES,
        "gauntlet": _read_gauntlet(given.gauntlet, given.agents),
        "seed": given.seed if given.seed is not None else 1,
        "opening_plies": given.opening_plies,
    }
    return _play(given, game, given.agents, arguments, anchor)


def _resume(given: argparse.Namespace, anchor: dict[str, float]) -> int:
    """Go on with what the folder says, or show it."""
    for name in ("gauntlet", "games", "seed", "opening_plies", "option"):
        if getattr(given, name) not in (None, []):
            raise ValueError(
                f"--{name.replace('_', '-')} goes with GAME and AGENT ...: the folder says what is "
                "played there"
            )
    stored = read_tournament(given.folder, anchor)
    if given.show or stored.is_finished:
        if stored.fault is not None:
            warn(stored.fault)
        return _show_stored(given, stored)
    plan = stored.plan
    arguments = {
        "games": plan.games,
        "gauntlet": plan.gauntlet,
        "seed": plan.seed,
        "opening_plies": plan.opening_plies,
        "from_file": True,
    }
    return _play(given, stored.game, plan.agents, arguments, anchor)


def _play(
    given: argparse.Namespace,
    game: Game,
    agents: Any,
    arguments: dict[str, Any],
    anchor: dict[str, float],
) -> int:
    try:
        with progress() as task:
            standings = play_tournament(
                game,
                agents,
                workers=given.workers,
                folder=given.folder,
                anchor=anchor,
                task=task,
                warn=warn,
                **arguments,
            )
    except KeyboardInterrupt:
        if given.folder is None:
            raise
        warn(
            f"stopped after {task.done:,} games; go on with "
            f"`ludarium tournament --folder {given.folder}`"
        )
        return _STOPPED
    data = {"game": game.name, "options": dict(game.options), "finished": True}
    _show(given, game, standings, data | standings.to_dict())
    return 0


def _show_stored(given: argparse.Namespace, stored: StoredTournament) -> int:
    if not stored.is_finished:
        warn(f"{stored.games:,} of {stored.total:,} games are finished")
    if stored.standings is not None:
        _show(given, stored.game, stored.standings, stored.to_dict())
    elif given.json:
        print_json(stored.to_dict())
    else:
        warn("no standings yet: not all agents have met")
    return 0


def _show(
    given: argparse.Namespace, game: Game, standings: Standings, data: dict[str, Any]
) -> None:
    if given.json:
        print_json(data)
        if standings.caveat is not None:
            warn(standings.caveat)
    else:
        print(standings_table(standings))
    if given.plot is not None:
        options = ", ".join(f"{name}={value}" for name, value in game.options.items())
        plot_ratings(standings, given.plot, f"{game.title} ({options})" if options else game.title)


def _read_gauntlet(texts: list[str], agents: list[str]) -> list[str]:
    if len(texts) == 1 and texts[0].isdecimal() and texts[0] not in agents:
        count = int(texts[0])
        if not 1 <= count < len(agents):
            raise ValueError(
                f"--gauntlet {count}: of {len(agents)} agents, 1 to {len(agents) - 1} can run it"
            )
        return agents[:count]
    return texts


def _read_anchors(texts: list[str]) -> dict[str, float]:
    anchors = {}
    for text in texts:
        name, equals, elo = text.rpartition("=")
        try:
            anchors[name] = float(elo)
        except ValueError:
            equals = ""
        if not (name and equals and -1e6 < anchors[name] < 1e6):
            raise ValueError(f"{quoted(text)} is no anchor: write AGENT=ELO, such as uct:1000=1000")
    return anchors
