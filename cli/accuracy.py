"""``ludarium accuracy``: how often an agent's moves keep the exact value of a position."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from ludarium.analysis import Show
from ludarium.analysis.accuracy import (
    LIMIT,
    Accuracy,
    Calibration,
    ExactTest,
    accuracy,
    calibrate,
    make_exact_test,
    moves_that_keep,
)
from ludarium.training.agents import Agent, make_agent

from .common import (
    add_json,
    add_options,
    game_and_agent,
    print_json,
    read_options,
)
from .progress import Reach, bars
from .resources import read_count

_DESCRIPTION = """\
Let an agent choose a move in positions whose exact values are known. Count the moves that keep the
value: a won position stays won, a drawn one drawn. For a network, also measure how far its values
are from the exact ones.

  ludarium accuracy osiron                            the shipped agent
  ludarium accuracy osiron --option setup=alternating
  ludarium accuracy runs/corso --by uct:200           positions from games of uct:200
  ludarium accuracy uct:1000 --game onyx --option size=6 --positions 200

Osiron has a table of all positions. In the other games the positions are searched to the end of the
game, so they come from the later part of games, and finding them takes some time."""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "accuracy",
        help="compare an agent's moves and values with exact ones",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "checkpoint", metavar="CHECKPOINT", help="a checkpoint, a run's folder, or a game's name"
    )
    parser.add_argument("--positions", type=int, default=500, help="how many (default 500)")
    parser.add_argument(
        "--by",
        default="random",
        metavar="AGENT",
        help="agent whose games the positions come from: random (default), uct:200, ...",
    )
    parser.add_argument(
        "--only-choices",
        action="store_true",
        help="only positions where some move loses value; no lost position is among them",
    )
    parser.add_argument(
        "--simulations", type=int, default=64, help="simulations per move of the agent (default 64)"
    )
    parser.add_argument(
        "--limit",
        type=read_count,
        default=LIMIT,
        metavar="N",
        help=f"positions to search for each position (default {LIMIT:,}); more go farther back",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the positions (default 1)")
    parser.add_argument("--game", help="the game, for an agent that is not a checkpoint")
    add_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Make the test positions, ask the agent, print the results."""
    from ludarium.training.agents.network import NetworkAgent

    game, agent = game_and_agent(
        given.checkpoint, read_options(given.option), given.simulations, given.game
    )
    with bars() as bar:
        test = make_exact_test(
            game,
            given.positions,
            given.seed,
            make_agent(given.by, game),
            only_choices=given.only_choices,
            limit=given.limit,
            show=_counting(bar("positions with exact results", given.positions)),
        )
    rows = {agent.name: agent}
    calibration = None
    if isinstance(agent, NetworkAgent):
        rows = {"network alone": agent.without_search(), **rows}
        calibration = calibrate(agent.evaluate(test.states)[1], test.values)
    found = {name: _accuracies(player, test) for name, player in rows.items()}
    if given.json:
        print_json(_as_data(test, given.by, found, calibration))
        return 0
    print(f"{len(test)} positions of {game} from games of {given.by}")
    _print_accuracies(found)
    if calibration is not None:
        _print_calibration(calibration)
    return 0


def _counting(reach: Reach) -> Show:
    return lambda progress: reach(progress.done)


def _accuracies(agent: Agent, test: ExactTest) -> dict[str, Accuracy]:
    """Accuracy on all positions, on those where a move can lose value, on won and drawn ones."""
    kept, choice = moves_that_keep(agent, test), test.has_choice
    return {
        "all": accuracy(kept),
        "choices": accuracy(kept, choice),
        "won": accuracy(kept, choice & (test.values == 1)),
        "drawn": accuracy(kept, choice & (test.values == 0)),
    }


_PARTS = {
    "all": "all positions",
    "choices": "where some move loses value",
    "won": "  of these: won",
    "drawn": "  of these: drawn",
}


def _print_accuracies(found: dict[str, dict[str, Accuracy]]) -> None:
    print("\nmoves that keep the value (95 % interval)")
    print(f"{'':27}" + "".join(f"  {name:>29}" for name in found))
    for key, title in _PARTS.items():
        cells = [_cell(parts[key]) for parts in found.values()]
        if any(cells):
            print(f"{title:27}" + "".join(f"  {cell:>29}" for cell in cells))


def _cell(part: Accuracy) -> str:
    if not part.positions:
        return ""
    low, high = (100 * end for end in part.interval)
    return f"{part.kept}/{part.positions} {100 * part.share:.1f} % ({low:.1f}-{high:.1f})"


def _print_calibration(calibration: Calibration) -> None:
    print(
        f"\nthe network's values: mean error {calibration.error:.3f}, calibration error "
        f"{calibration.calibration_error:.3f}, right side of won and lost positions "
        f"{100 * calibration.correct_side:.1f} %\n"
        f"  {'estimates':>14}  {'positions':>9}  {'mean':>6}  {'exact':>6}"
    )
    for part in calibration.bins:
        print(
            f"  {part.low:>5.1f} to {part.high:>5.1f}  {part.positions:>9}  "
            f"{part.estimated:>6.2f}  {part.exact:>6.2f}"
        )


def _as_data(
    test: ExactTest,
    by: str,
    found: dict[str, dict[str, Accuracy]],
    calibration: Calibration | None,
) -> dict[str, Any]:
    return {
        "game": test.game.name,
        "options": dict(test.game.options),
        "positions": len(test),
        "by": by,
        "agents": {
            name: {
                key: {**asdict(part), "share": part.share, "interval_95": list(part.interval)}
                for key, part in parts.items()
            }
            for name, parts in found.items()
        },
        "calibration": None if calibration is None else asdict(calibration),
    }
