"""``ludarium train``: train an agent from scratch, or resume a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from ludarium.base.messages import quoted
from ludarium.configs import ALGORITHMS, TrainingConfig, apply_settings, load_config, shipped
from ludarium.envs.registry import GAMES, find_game

from .arguments import add_folder, add_json, add_options
from .common import as_argument, read_options
from .modules import program
from .progress import shown_progress
from .result import Result, warn

HELP = "train an agent from scratch, or resume a run"
DESCRIPTION = """\
Train an agent by self-play. The run is stored in a folder: its latest agent
(agent.safetensors), TensorBoard curves, and everything needed to resume it. Ctrl-C stops the run
after the current iteration, or at once in the bootstrap. The same command resumes the run, even
after a crash.

  ludarium train corso                                   the default configuration
  ludarium train corso --algorithm ppo                   PPO instead of AlphaZero
  ludarium train corso --config corso/demo               a shipped one, by name
  ludarium train corso --config my.yaml --set seed=3     your own file, with one key changed
  ludarium train corso --option size=6 --folder runs/corso-6    a board of another size
  ludarium train corso --set budget.minutes=5            a shorter run
  ludarium train corso --from corso                      start from the shipped agent
  ludarium train corso --cluster auto                    on the Ray cluster of this machine
  ludarium train --folder runs/corso-6                   resume the run in a folder
  tensorboard --logdir runs                              watch the curves

Without a shipped configuration for the game, AlphaZero starts from games of UCT with random
playouts, and the run takes 20 minutes at most. The guide's page "Training" explains the keys."""

#: Settings if neither the user nor the package has a configuration; similar to the shipped ones.
_USUAL_SETTINGS = {
    "alphazero": (
        "budget={iterations: 400, minutes: 20}",
        "bootstrap={positions: 20000, playouts: 400, replay_ratio: 4}",
        "replay={first: 60000, last: 200000}",
    ),
    "ppo": ("budget={iterations: 2000, minutes: 20}", "evaluation.simulations=0"),
}

STOPPING = (
    "stopping after this iteration, or at once in the bootstrap "
    "(Ctrl-C again: at once, without this iteration)"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "game",
        metavar="GAME",
        nargs="?",
        help=f"one of {', '.join(GAMES)}; none: that of --config, or resume the run in --folder",
    )
    add_configuration(parser)
    parser.add_argument(
        "--from",
        dest="start",
        metavar="AGENT",
        help="begin with the weights of a trained agent: a checkpoint, the folder of a run, or the "
        "name of a shipped agent; the run takes over its network, unless --set network= asks for a "
        "larger one, which then has the same outputs at first; such a run has no bootstrap",
    )
    add_folder(
        parser,
        "folder of the run; default: runs/GAME, or runs/GAME-CONFIG if the configuration is a file "
        "or a shipped one, such as GAME/ppo, other than GAME/default",
    )
    parser.add_argument(
        "--restart",
        action="store_true",
        help="begin anew: the run that the folder holds is deleted when the first iteration of the "
        "new one is saved",
    )
    add_json(parser)


def add_configuration(parser: argparse.ArgumentParser) -> None:
    """Add the options for configuration and cluster."""
    parser.add_argument(
        "--algorithm",
        choices=ALGORITHMS,
        help="the algorithm; default: the one in --config, or alphazero",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help=f"a YAML file, or a shipped configuration ({', '.join(shipped())}); "
        "default: GAME/default or GAME/ppo",
    )
    add_options(parser, "; the same as --set options.NAME=VALUE")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="KEY=VALUE",
        help="change a key of the configuration, such as learner.batch=256 (may be repeated)",
    )
    parser.add_argument(
        "--cluster",
        nargs="?",
        const="",
        metavar="ADDRESS",
        help="play on a Ray cluster: HOST:PORT, auto for the one that this machine belongs to, or "
        "nothing to start one here; AlphaZero only; a run may be resumed with or without it",
    )


def read_settings(given: argparse.Namespace) -> list[str]:
    """The settings of ``--option`` and ``--set``; errors in options are reported first."""
    read_options(given.option)
    return [f"options.{option}" for option in given.option] + given.settings


def choose_config(
    game: str, name: str | None, settings: list[str], algorithm: str | None = None
) -> tuple[TrainingConfig, str]:
    """The configuration for the arguments, and the default name of its folder.

    Args:
        game: the game's name.
        name: the configuration's file or shipped name; None: the game's shipped one for the
            algorithm, or else `_USUAL_SETTINGS`.
        settings: keys to change, each as ``KEY=VALUE``.
        algorithm: a key of `ALGORITHMS`; None: that of the configuration, or ``alphazero``.

    Raises:
        ValueError: there is no such game or key, a value is not accepted, or the configuration is
            for another game or algorithm.
        FileNotFoundError: there is no such configuration.
    """
    find_game(game)
    default = f"{game}/{'default' if algorithm in (None, 'alphazero') else algorithm}"
    if name is None and default in shipped():
        name = default
    if name is not None:
        config = load_config(name)
    else:
        kind = algorithm or "alphazero"
        config = ALGORITHMS[kind](game=game, algorithm=kind)
        config = apply_settings(config, _USUAL_SETTINGS[config.algorithm])
    if config.game != game:
        raise ValueError(f"configuration {name} is for {config.game}, not for {game}")
    if algorithm is not None and config.algorithm != algorithm:
        raise ValueError(f"configuration {name} is for {config.algorithm}, not for {algorithm}")
    label = game if name is None or name == f"{game}/default" else Path(name).stem
    if label != game and not label.startswith(f"{game}-"):
        label = f"{game}-{label}"
    config = apply_settings(config, settings)
    if config.game != game:
        raise ValueError(
            f"--set game={config.game}: the game is {game}; name {config.game} instead"
        )
    return config, label


def run(given: argparse.Namespace) -> Result:
    """Train."""
    settings, game = read_settings(given), given.game
    if game is None and given.config is not None:
        game = load_config(given.config).game
    if game is not None:
        config, label = choose_config(game, given.config, settings, given.algorithm)
    from ludarium.training.run import train_in
    from ludarium.training.runs.folder import RunFolder
    from ludarium.training.runs.start import start_settings

    if game is None:
        begun = None if given.folder is None else RunFolder(given.folder).begun()
        if given.folder is not None and begun is None:
            raise ValueError(
                f"{quoted(given.folder)} holds no run to go on with: give a GAME to begin one"
            )
        if begun is None or given.algorithm is not None:
            raise ValueError(
                "give a GAME to train, a --config that names one, or only the --folder of a run to "
                "resume it"
            )
        config, label = apply_settings(begun, settings), ""
    folder = RunFolder(given.folder or Path("runs") / label, given.restart)
    if given.start is not None:
        of_start = start_settings(given.start, config, folder.begun())
        config = apply_settings(config, [*of_start, *settings])
    with shown_progress(can_stop=True, stopping=STOPPING) as progress:
        outcome = train_in(folder, config, cluster=given.cluster, progress=progress)
    if outcome.iteration and not outcome.step:
        warn(
            "nothing was learnt, so the agent is unchanged: there were too few positions for a "
            "single batch; raise self_play.positions or learner.replay_ratio, or lower "
            "learner.batch"
        )
    data = {
        "folder": str(folder.path),
        "agent": str(folder.agent) if outcome.iteration else None,
        "iteration": outcome.iteration,
        "step": outcome.step,
        "finished": outcome.finished,
        "seconds": round(outcome.seconds, 1),
    }
    if not outcome.iteration:
        what = "the old run is unchanged" if folder.agent.is_file() else "there is no agent yet"
        return Result(data, f"stopped before the first iteration: {what}; the same command begins")
    state = "finished" if outcome.finished else "stopped; the same command continues"
    lines = [
        f"{state}: iteration {outcome.iteration}, {outcome.seconds / 60:.1f} minutes",
        f"agent: {folder.agent}",
        f"measure it: {program()} evaluate {as_argument(folder.path)}",
        f"play it:    {program()} play {as_argument(folder.path)}",
    ]
    return Result(data, "\n".join(lines))
