"""The parts that ``ludarium tournament`` and ``ludarium compare`` share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from ludarium.arena.contest import Contest, Plan, play_contest, read_contest

from .arguments import (
    add_folder,
    add_game,
    add_json,
    add_opening_plies,
    add_options,
    add_positions,
    add_seed,
    read_positive,
)
from .common import game_of, read_options
from .interrupt import STOPPED
from .modules import program
from .progress import shown_progress
from .result import Result, warn


def add_contest(parser: argparse.ArgumentParser) -> None:
    """Add the options that all contests have."""
    add_game(parser)
    add_folder(parser, "folder in which games are kept, and from which they resume")
    parser.add_argument("--show", action="store_true", help="show --folder, play nothing")
    add_seed(parser, f"seed of openings and agents (default {Plan.seed})", None)
    add_opening_plies(parser)
    add_positions(parser)
    parser.add_argument(
        "--workers", type=read_positive, metavar="N", help="cores to play on; default: all"
    )
    add_options(parser)
    add_json(parser)


def run_contest(
    given: argparse.Namespace,
    kind: type[Plan],
    settings: Mapping[str, Any],
    anchors: Mapping[str, float] | None = None,
) -> Contest | None:
    """Play the contest that the arguments describe, resume the one in the folder, or read it.

    Args:
        given: the arguments, among them those of `add_contest` and ``agents``.
        kind: `Tournament` or `Comparison`.
        settings: the plan's settings, except the agents; those that were not given are None.
        anchors: see `play_contest`.

    Returns:
        The contest, or None after Ctrl-C, if it can be resumed.

    Raises:
        ValueError, FileNotFoundError: the arguments do not go together, there is no such agent or
            folder, or see `play_contest`.
        KeyboardInterrupt: Ctrl-C was pressed, and there is no folder to resume from.
    """
    make: Callable[..., Plan] = kind
    openings = {"opening_plies": given.opening_plies, "positions": given.positions}
    settings = {**settings, "seed": given.seed, **openings}
    if given.show or not given.agents:
        if given.folder is None:
            raise ValueError(
                f"name the agents, as in `{program()} {given.command} uct:200 uct:100 --game "
                f"corso`, or give the --folder of a {kind.kind}"
            )
        if given.agents:
            raise ValueError("--show shows the games in --folder: leave out the agents")
        for name, value in {**settings, "game": given.game, "option": given.option}.items():
            if value not in (None, []):
                raise ValueError(
                    f"--{name.replace('_', '-')} goes with agents: the folder says what is played"
                )
        contest = read_contest(given.folder, kind, anchors)
        if given.show or contest.is_over:
            return contest
        game, plan = contest.game, contest.plan
    else:
        game = game_of(given.agents, read_options(given.option), given.game)
        chosen = {name: value for name, value in settings.items() if value is not None}
        plan = make(tuple(given.agents), **chosen)
    try:
        with shown_progress() as progress:
            return play_contest(
                game,
                plan,
                anchors=anchors,
                workers=given.workers,
                folder=given.folder,
                progress=progress,
                from_file=not given.agents,
            )
    except KeyboardInterrupt:
        if given.folder is None:
            raise
        warn("stopped; the same command goes on")
        return None


def result_of(contest: Contest | None) -> Result:
    """The command's output for a contest."""
    if contest is None:
        return Result(None, "", STOPPED)
    if not contest.is_over:
        total = contest.plan.schedule.games
        warn(f"{len(contest.results):,} of {total:,} games are finished")
    return Result(contest.to_dict(), contest.text(), caveats=contest.caveats)
