"""``ludarium export``: write a trained network as an ONNX file."""

from __future__ import annotations

import argparse
from pathlib import Path

from ludarium.envs.engine.description import describe_game
from ludarium.training.agents.checkpoints import ShippedFactory
from ludarium.training.agents.names import read_trained_agent
from ludarium.training.random_positions import random_observations
from ludarium.training.table import text_table

from .arguments import add_json, add_options, add_seed, output_file, read_positive
from .common import read_options
from .progress import progress
from .result import Result

HELP = "write a network for other programs (ONNX)"
DESCRIPTION = """\
Write a checkpoint's network for programs that have neither this package nor PyTorch. The
exported network takes batches of any size. The file also describes its inputs and outputs, see
docs/guide/export.md. The file is compared with the network on positions of random games before it
is put in place.

  ludarium export corso                          the shipped agent, as corso.onnx
  ludarium export runs/corso --json              a run's latest agent, as runs/corso/agent.onnx
  ludarium export a.safetensors --output b.onnx"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "agent", metavar="AGENT", help="a checkpoint, a run's folder, or a game's name"
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=output_file(),
        help="default: beside the checkpoint; for a game's name, in the current folder",
    )
    parser.add_argument(
        "--positions",
        type=read_positive,
        default=1024,
        metavar="N",
        help="to compare on (default 1024)",
    )
    add_seed(parser, "of these positions (default 1)")
    add_options(parser)
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Write the file and return its largest difference from the network."""
    from ludarium.models import load_checkpoint
    from ludarium.models.export import SUFFIX, TOLERANCE, export_checkpoint
    from ludarium.training.networks import fitted

    agent = read_trained_agent(given.agent)
    options = read_options(given.option)
    source = agent.checkpoint_path(options)
    checkpoint = load_checkpoint(source)
    game = agent.choose_game(options)
    checkpoint = fitted(checkpoint, game, str(source))
    beside = Path(source.name) if isinstance(agent, ShippedFactory) else source
    path = given.output or beside.with_suffix(SUFFIX)
    with progress() as task:
        task.begin(f"writing and checking {path}")
        differences = export_checkpoint(
            checkpoint,
            describe_game(game),
            path,
            random_observations(game, given.positions, given.seed, canonical=False),
        )
    size = path.stat().st_size
    data = {
        "file": str(path),
        "bytes": size,
        "positions": given.positions,
        "differences": differences,
        "tolerance": TOLERANCE,
    }
    rows = [[name, f"{difference:.1e}"] for name, difference in differences.items()]
    lines = [
        f"{path}  {size / 1e6:.1f} MB, {game}, step {checkpoint.step:,}",
        f"greatest difference from the network on {given.positions:,} random positions:",
        text_table(None, rows),
    ]
    return Result(data, "\n".join(lines))
