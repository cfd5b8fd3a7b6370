"""``ludarium train``: train an agent from nothing, or go on with a run."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from ludarium.configs import TrainingConfig, apply_settings, load_config, shipped
from ludarium.envs.registry import GAMES, find_game

from .common import add_json, print_json

_DESCRIPTION = """\
Train an agent by self-play. The run lives in a folder: its latest agent
(agent.safetensors), TensorBoard curves, and all that is needed to go on. Ctrl-C stops after
the iteration at hand; the same command goes on where the run stopped, and so it does after
a crash.

  ludarium train corso                                   the default configuration
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
        "--config",
        metavar="FILE",
        help=f"a YAML file, or a shipped configuration ({', '.join(shipped())}); "
        "default: GAME/default where there is one",
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
    add_json(parser)
    parser.set_defaults(run=run)


def choose_config(game: str, name: str | None, settings: list[str]) -> tuple[TrainingConfig, str]:
    """The configuration that the arguments mean, and the default name of its folder."""
    find_game(game)
    if name is None and f"{game}/default" in shipped():
        name = f"{game}/default"
    config = load_config(name) if name is not None else TrainingConfig(game=game)
    if config.game != game:
        raise ValueError(f"configuration {name} is for {config.game}, not for {game}")
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


def run(given: argparse.Namespace) -> int:
    """Train."""
    config, label = choose_config(given.game, given.config, given.settings)
    try:
        from ludarium.training.alphazero.loop import Trainer
        from ludarium.training.alphazero.reporting import TerminalReporter
        from ludarium.training.alphazero.run_folder import RunFolder
    except ImportError as error:
        raise ImportError(
            f'training needs more: pip install "ludarium[train]" ({error})'
        ) from error
    folder = RunFolder(given.folder or Path("runs") / label)
    if given.restart:
        folder.clear()
    reporter = TerminalReporter(folder)
    stop = _StopFlag()
    try:
        trainer = Trainer(config, folder, reporter)
        where = f"going on after iteration {trainer.iteration}" if trainer.iteration else "new run"
        reporter.say(
            f"training {trainer.game} in {folder.path} ({where}; {trainer.device}, "
            f"{len(trainer.self_play.workers)} workers, network {trainer.engine.form})"
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
