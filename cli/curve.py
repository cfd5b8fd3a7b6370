"""``ludarium curve``: how strong a run's past agents are, and how exact their moves."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from textwrap import wrap

from ludarium.analysis.figures import SUFFIXES
from ludarium.arena.curve import Curve, CurvePlan, game_of_runs, measure_curves, metrics_of
from ludarium.arena.curve_plot import HORIZONTAL, plot_curves
from ludarium.base.messages import escaped
from ludarium.envs.engine.game import Game
from ludarium.training.agents.settings import DEFAULT_SIMULATIONS
from ludarium.training.runs.metrics import ESTIMATES
from ludarium.training.table import text_table

from .arguments import add_games, add_json, add_seed, add_simulations, output_file
from .common import AGENTS_HELP
from .interrupt import STOPPED
from .progress import shown_progress
from .result import Result, warn

_USUAL_OPPONENT = "uct:200"
_WIDEST = 80  # longest line of the picture's title, in characters

HELP = "measure a run's past agents: learning curves"
DESCRIPTION = f"""\
Measure the agents that a run has kept, in the order in which they were saved: their strength in
games (--against), or how many of their moves keep the exact value of a position (--test), or both.
Each measurement has a 95 % interval.

  ludarium curve runs/corso --test hard                  the game's shipped hard positions
  ludarium curve runs/corso --against uct:1000            the score against an opponent
  ludarium curve runs/corso --against uct:200 --against uct:1000    an Elo rating by games
  ludarium curve runs/a runs/b --test corso.test --plot curve.png  two runs in one picture

Which agents a run keeps is set in `ludarium train`: --set save.every=10 --set save.keep=50.
Results are kept in the run's folder: after Ctrl-C, or when the run has gone on, the same command
measures only what is new. With other opponents it plays new games with all agents, but repeats no
test. Games against a network are kept while its file is unchanged; those against what may change
unseen, such as programs, are played each time. `ludarium accuracy AGENT --save FILE` makes a test.

{AGENTS_HELP}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="the folder of a run")
    parser.add_argument(
        "--against",
        action="append",
        metavar="AGENT",
        help="an opponent; one gives a score, several (from the weakest to the "
        "strongest) give an Elo rating; default, without --test: " + _USUAL_OPPONENT,
    )
    parser.add_argument(
        "--test",
        metavar="hard|FILE",
        help="an exact test: the game's shipped hard positions, or those in a file",
    )
    add_games(
        parser,
        "games of each agent, against all opponents together",
        CurvePlan.games,
    )
    add_simulations(parser, "the agents' simulations for each move", DEFAULT_SIMULATIONS)
    add_seed(parser, "seed of openings and opponents")
    parser.add_argument(
        "--by",
        choices=list(HORIZONTAL),
        default="minutes",
        help="the picture's horizontal axis (default %(default)s)",
    )
    parser.add_argument(
        "--plot",
        type=output_file(*SUFFIXES),
        metavar="FILE",
        help=f"draw the curves: {', '.join(SUFFIXES)}",
    )
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Measure the agents, and return the curves."""
    against = given.against or ([] if given.test else [_USUAL_OPPONENT])
    plan = CurvePlan(tuple(against), given.test, given.games, given.simulations, given.seed)
    game = game_of_runs(given.runs)
    try:
        with shown_progress() as progress:
            curves = measure_curves(given.runs, plan, progress)
    except KeyboardInterrupt:
        warn("stopped; the same command continues")
        return Result(None, "", STOPPED)
    title = _title(game, plan)
    if given.plot is not None:
        lines = [line for part in title for line in wrap(escaped(part), _WIDEST)]
        plot_curves(curves, given.plot, "\n".join(lines), given.by)
    data = {
        "game": game.name,
        "options": dict(game.options),
        **asdict(plan),
        "curves": [asdict(curve) for curve in curves],
    }
    caveats = [
        f"{curve.run} has only its latest agent: `save` in a run's configuration says how many it "
        "keeps"
        for curve in curves
        if len(curve.points) < 2
    ]
    warnings = [f"\nwarning: {caveat}" for caveat in caveats]
    text = f"{'; '.join(title)}\n\n{_table(curves)}{''.join(warnings)}"
    return Result(data, text, caveats=caveats)


def _title(game: Game, plan: CurvePlan) -> list[str]:
    """The parts of a title that says what was measured."""
    search = f"{plan.simulations} simulations" if plan.simulations else "no search"
    parts = [f"{game}, {search}"]
    if plan.against:
        parts.append(f"{plan.games} games against {', '.join(plan.against)}")
    if plan.exact_test is not None:
        parts.append(f"exact test {plan.exact_test}")
    return parts


def _table(curves: list[Curve]) -> str:
    metrics = metrics_of(curves)
    header = ["run", "iteration", "minutes", "steps"]
    header += [f"{ESTIMATES[metric][0]} (95 %)" for metric in metrics]
    rows = [
        [
            curve.run,
            f"{point.iteration:,}",
            f"{point.seconds / 60:.1f}",
            f"{point.step:,}",
            *(f"{point.estimates[metric]:{ESTIMATES[metric][1]}}" for metric in metrics),
        ]
        for curve in curves
        for point in curve.points
    ]
    return text_table(header, rows)
