"""``ludarium tune``: search over keys of a configuration, or compare settings by several seeds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludarium.base.progress import Progress
from ludarium.configs import TrainingConfig
from ludarium.envs.registry import GAMES
from ludarium.training.table import text_table

from .arguments import add_folder, add_json, read_count
from .common import as_argument
from .interrupt import STOPPED
from .modules import program
from .progress import shown_progress
from .result import Result, warn
from .train import STOPPING, add_configuration, choose_config, read_settings

if TYPE_CHECKING:
    import optuna

    from ludarium.training.runs.folder import RunFolder
    from ludarium.training.runs.trainer import RunResult

_TRIALS = 20

HELP = "search over keys of a configuration, or compare settings with several seeds"
DESCRIPTION = """\
Find good values for keys of a configuration: train one trial after the other, after ten
choose the values of each from the results so far (Optuna's TPE), and stop those that fall behind.
Or compare settings, each trained with several seeds. A trial is a run as `ludarium train` makes it,
in a folder of its own, or one for each seed; its result is the run's last evaluation, its Elo
rating or its score; with several seeds it is their mean.

  ludarium tune corso --search learner.learning_rate=0.0005..0.01,log \\
      --search "network={size: tiny},{size: small}" --trials 20 --set budget.minutes=5
  ludarium tune corso --search self_play.simulations=16..64 --stopping never
  ludarium tune corso --grid --search learner.ema_decay=0,0.99,0.995 --seeds 3     each, three times
  ludarium tune corso --seeds 5                     the mean of five seeds
  ludarium tune corso --folder runs/tune-corso --show         the table of the trials so far

The values of a key are a list (A,B,C) or a range (LOW..HIGH, or LOW..HIGH,log for a logarithmic
scale). Without --grid, the first trial has those of the configuration's own values that are among
the values to try.
Ctrl-C stops after the current iteration, or at once in the bootstrap, which then begins anew; the
same command resumes, even after a crash, and with a larger --trials it goes further. The best
configuration is written as best.yaml into the folder.

Evaluations of few games are noisy: take --set evaluation.games=200 or more if differences are
small, and train the best settings again with --seeds. The guide's page on tuning has more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("game", metavar="GAME", help=f"one of {', '.join(GAMES)}")
    add_configuration(parser)
    parser.add_argument(
        "--search",
        action="append",
        default=[],
        metavar="KEY=VALUES",
        help="a key, and the values to try: A,B,C or LOW..HIGH or LOW..HIGH,log (may be repeated)",
    )
    parser.add_argument("--grid", action="store_true", help="try every combination of the values")
    parser.add_argument(
        "--trials",
        type=read_count,
        help=f"how many trials of a search (default {_TRIALS}); not with --grid, which tries all",
    )
    parser.add_argument(
        "--seeds",
        type=read_count,
        default=1,
        help="runs of each trial, each with another seed (default %(default)s)",
    )
    parser.add_argument(
        "--stopping",
        choices=("median", "never"),
        help="stop a trial whose best evaluation so far is below the median of the complete "
        "trials, of which there must be three, at that part of the run, or never (default median; "
        "with --grid never); only the run of the first seed is judged",
    )
    add_folder(
        parser,
        "folder of the search; default: runs/tune-GAME, or runs/tune-GAME-CONFIG if the "
        "configuration is a file or a shipped one, such as GAME/ppo, other than GAME/default",
    )
    parser.add_argument("--show", action="store_true", help="train nothing, show the trials so far")
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Search, unless ``--show`` is given; return the table of the trials."""
    config, label = choose_config(given.game, given.config, read_settings(given), given.algorithm)
    folder = Path(given.folder or Path("runs") / f"tune-{label}")
    if given.grid and given.trials is not None:
        raise ValueError("--grid tries all combinations: leave out --trials")
    if given.trials is not None and not given.search:
        raise ValueError(
            "without --search there is one trial: leave out --trials, or repeat it with --seeds"
        )
    from ludarium.training.run import train_in
    from ludarium.training.tuning.space import Space
    from ludarium.training.tuning.study import TuningPlan, load_study, tune

    if given.show:
        return _result(folder, load_study(folder), 0)
    plan = TuningPlan(
        space=Space(config, tuple(given.search)),
        trials=_TRIALS if given.trials is None else given.trials,
        seeds=given.seeds,
        grid=given.grid,
        prunes=given.stopping == "median" or not (given.stopping or given.grid),
    )

    def train(config: TrainingConfig, run: RunFolder, progress: Progress) -> RunResult:
        return train_in(run, config, cluster=given.cluster, progress=progress)

    with shown_progress(can_stop=True, stopping=STOPPING) as progress:
        is_done = tune(folder, plan, train, progress)
    if not is_done:
        warn("stopped; the same command continues")
    return _result(folder, load_study(folder), 0 if is_done else STOPPED)


def _result(folder: Path, study: optuna.Study, status: int) -> Result:
    """The trials so far, best first, and commands that evaluate and train the best one."""
    from ludarium.training.tuning.study import (
        BEST,
        REASON,
        config_of,
        described,
        run_folder,
        trials_of,
        value_of,
        value_text,
    )

    config = config_of(folder, study.user_attrs["plan"])
    rows: list[dict[str, Any]] = [
        {
            "number": trial.number,
            "values": trial.params,
            "state": trial.state.name.lower(),
            "value": value_of(trial),
            "reason": trial.user_attrs.get(REASON),
        }
        for trial in trials_of(study)
    ]
    measure = "score" if isinstance(config.evaluation.against, str) else "elo"
    keys = list(max((row["values"] for row in rows), key=len, default={}))
    digits = 0 if measure == "elo" else 3
    cells = [
        [
            str(row["number"]),
            *(value_text(row["values"][key]) if key in row["values"] else "" for key in keys),
            "" if row["value"] is None else f"{row['value']:.{digits}f}",
            ": ".join(filter(None, (row["state"], row["reason"]))),
        ]
        for row in rows
    ]
    header = ["trial", *keys, "Elo" if measure == "elo" else "score", ""]
    lines = [text_table(header, cells, left={len(header) - 1})]
    if rows and rows[0]["value"] is not None:
        run = run_folder(folder, rows[0]["number"], config.seed)
        longer = f"--set budget.iterations={2 * config.budget.iterations}"
        if config.budget.minutes is not None:
            longer += f" --set budget.minutes={2 * config.budget.minutes:.10g}"
        lines += [
            f"the best one: {described(rows[0]['values'])}",
            f"measure it: {program()} evaluate {as_argument(run)}",
            f"train it longer: {program()} train {config.game} --config "
            f"{as_argument(folder / BEST)} {longer}",
        ]
    data = {"folder": str(folder), "measure": measure, "trials": rows}
    return Result(data, "\n".join(lines), status)
