"""``ludarium train``: train an agent from nothing, or go on with a run."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from ludarium.configs import ALGORITHMS, TrainingConfig, apply_settings, load_config, shipped
from ludarium.envs.registry import GAMES, find_game

from .common import add_json, print_json

if TYPE_CHECKING:
    from ludarium.training.runs.trainer import Trainer

_DESCRIPTION = """\
Train an agent by self-play. The run lives in a folder: its latest agent
(agent.safetensors), TensorBoard curves, and all that is needed to go on. Ctrl-C stops after
the iteration at hand; the same command goes on where the run stopped, and so it does after
a crash.

  ludarium train corso                                   the default configuration
  ludarium train corso --algorithm ppo                   PPO instead of AlphaZero
  ludarium train corso --config corso/demo               a shipped one, by name
  ludarium train corso --config my.yaml --set seed=3     your own file, a key changed
  tensorboard --logdir runs                              watch the curves"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "train",
        help="train an agent from nothing, or go on with a run",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("game", metavar="GAME", help=f"one of {', '.join(GAMES)}")
    parser.add_argument(
        "--algorithm",
        choices=ALGORITHMS,
        help="how to learn; default: what --config says, or alphazero",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help=f"a YAML file, or a shipped configuration ({', '.join(shipped())}); "
        "default: GAME/default, or GAME/ppo",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="KEY=VALUE",
        help="change a key of the configuration, such as learner.batch=256 (may be repeated)",
    )
    parser.add_argument(
        "--folder", metavar="DIR", help="where the run lives; default: runs/NAME_OF_CONFIG"
    )
    parser.add_argument(
        "--restart", action="store_true", help="throw away the run that the folder holds"
    )
    parser.add_argument(
        "--salvage",
        action="store_true",
        help="go on without positions of the replay that are damaged or missing",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def choose_config(
    game: str, name: str | None, settings: list[str], algorithm: str | None = None
) -> tuple[TrainingConfig, str]:
    """The configuration that the arguments mean, and the default name of its folder."""
    find_game(game)
    default = f"{game}/{'default' if algorithm in (None, 'alphazero') else algorithm}"
    if name is None and default in shipped():
        name = default
    if name is not None:
        config = load_config(name)
    else:
        config = ALGORITHMS[algorithm or "alphazero"].model_validate({"game": game})
    if config.game != game:
        raise ValueError(f"configuration {name} is for {config.game}, not for {game}")
    if algorithm is not None and config.algorithm != algorithm:
        raise ValueError(f"configuration {name} is for {config.algorithm}, not for {algorithm}")
    label = game if name is None or name == f"{game}/default" else Path(name).stem
    if label != game and not label.startswith(f"{game}-"):
        label = f"{game}-{label}"
    return apply_settings(config, settings), label


class _StopFlag:
    """Set by the first Ctrl-C; the second one interrupts as usual."""

    def __init__(self) -> None:
        self.asked = False
        self._before = signal.signal(signal.SIGINT, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self._before)
        print(
            "\nludarium: stopping after this iteration (Ctrl-C again: at once, losing it)",
            file=sys.stderr,
        )

    def __call__(self) -> bool:
        return self.asked

    def close(self) -> None:
        """Give Ctrl-C its usual meaning back."""
        signal.signal(signal.SIGINT, self._before)


def _trainer_class(algorithm: str) -> type[Trainer]:
    """What runs an algorithm; only the libraries that it needs are imported."""
    if algorithm == "ppo":
        from ludarium.training.ppo.loop import PPOTrainer

        return PPOTrainer
    from ludarium.training.alphazero.loop import AlphaZeroTrainer

    return AlphaZeroTrainer


def run(given: argparse.Namespace) -> int:
    """Train."""
    config, label = choose_config(given.game, given.config, given.settings, given.algorithm)
    try:
        from ludarium.training.runs.folder import RunFolder
        from ludarium.training.runs.reporting import TerminalReporter

        trainer_class = _trainer_class(config.algorithm)
    except ImportError as error:
        raise ImportError(
            f'training needs more: pip install "ludarium[train]" ({error})'
        ) from error
    folder = RunFolder(given.folder or Path("runs") / label, given.restart, given.salvage)
    reporter = TerminalReporter(folder, trainer_class.columns)
    stop = _StopFlag()
    try:
        trainer = trainer_class(config, folder, reporter)
        where = f"going on after iteration {trainer.iteration}" if trainer.iteration else "new run"
        reporter.say(
            f"training {trainer.game} in {folder.path} ({where}; {config.algorithm}, "
            f"{trainer.resources})"
        )
        try:
            outcome = trainer.run(stop)
        finally:
            trainer.close()
    finally:
        stop.close()
        reporter.close()
    if given.json:
        print_json(
            {
                "folder": str(folder.path),
                "agent": str(folder.agent),
                "iteration": outcome.iteration,
                "finished": outcome.finished,
                "seconds": round(outcome.seconds, 1),
            }
        )
    else:
        state = "finished" if outcome.finished else "stopped; the same command goes on"
        print(f"{state}: {outcome.iteration} iterations, {outcome.seconds / 60:.1f} minutes")
        print(f"agent: {folder.agent}")
        print(f"measure it: ludarium evaluate {folder.path}")
        print(f"play it:    ludarium play {folder.path}")
    return 0
