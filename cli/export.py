"""``ludarium export``: a trained network as an ONNX file, or a whole game as a library for C."""

from __future__ import annotations

import argparse
from pathlib import Path

from ludarium.arena.ladder import Ladder, ladder_beside, ladder_of, load_ladder
from ludarium.base.messages import named, quoted
from ludarium.envs.engine.description import describe_game
from ludarium.envs.engine.game import Game
from ludarium.models.layers import BoardLayers, VectorLayers
from ludarium.play.native import TARGETS, Library, this_machine, write_library
from ludarium.training.agents.checkpoints import CheckpointSpec, PocketSpec
from ludarium.training.agents.names import read_trained_agent
from ludarium.training.networks import fitted, random_observations, stored_network
from ludarium.training.table import text_table

from .arguments import add_json, add_options, add_seed, output_file, read_positive
from .common import read_options
from .progress import shown_progress
from .result import Result, warn

_POSITIONS, _SEED = 1024, 1

HELP = "write an agent for other programs: ONNX, or a library for C"
DESCRIPTION = """\
Write an agent for programs that have neither this package nor Python.

As onnx: the network alone, which takes batches of any size. The file also describes its inputs and
outputs, see the guide's page "Export". It is compared with the network on positions of random games
before it is put in place.

As c: the rules of the game, a search, the network in eight bits and its levels of strength as a
native library without dependencies, for video games, in a minute or two. A folder gets the header,
for each target a static and (not for phones) a shared library, the board's picture as scene.json,
an example, a README and licences.

  ludarium export corso                          the shipped agent, as corso.onnx
  ludarium export runs/corso --json              a run's latest agent, as runs/corso/agent.onnx
  ludarium export a.safetensors --output b.onnx
  ludarium export corso --as c                   in corso-c, for this machine
  ludarium export pocket:corso --as c            a small agent, in a library of a third of the size
  ludarium export onyx --as c --target x86_64-windows --target arm64-macos --output lib/onyx"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "agent", metavar="AGENT", help="a checkpoint, a run, GAME, pocket:GAME or hf:OWNER/NAME"
    )
    parser.add_argument(
        "--as", dest="kind", choices=("onnx", "c"), default="onnx", help="default: %(default)s"
    )
    parser.add_argument(
        "--output",
        metavar="PATH",
        type=Path,
        help="the file, or for c the folder; default: beside a checkpoint of yours; in the current "
        "folder for c and for GAME, pocket: and hf:",
    )
    parser.add_argument(
        "--positions",
        type=read_positive,
        metavar="N",
        help=f"onnx: number of positions to compare on (default {_POSITIONS:,})",
    )
    add_seed(parser, f"onnx: seed of these positions (default {_SEED})", None)
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        metavar="TARGET",
        help="c: x86_64-linux, aarch64-linux, x86_64-windows, arm64-macos, x86_64-macos, or, "
        "without a shared library, arm64-android, arm64-ios (may be repeated; default: this "
        "machine's)",
    )
    parser.add_argument(
        "--levels",
        type=Path,
        metavar="FILE",
        help="c: file of this agent's levels, from `ludarium levels`; default: the one beside it",
    )
    add_options(parser)
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Write the requested files."""
    return _write_library(given) if given.kind == "c" else _write_onnx(given)


def _write_onnx(given: argparse.Namespace) -> Result:
    """Write the file and return its largest difference from the network for each output."""
    from ludarium.models import load_checkpoint
    from ludarium.models.export import SUFFIX, TOLERANCE, export_checkpoint

    if given.target or given.levels:
        raise ValueError("--target and --levels are for --as c")
    positions = given.positions or _POSITIONS
    try:
        output = given.output and output_file()(str(given.output))
    except argparse.ArgumentTypeError as error:
        raise ValueError(f"--output: {error}") from None
    agent = read_trained_agent(given.agent)
    options = read_options(given.option)
    source = agent.checkpoint_path(options)
    checkpoint = load_checkpoint(source)
    game = agent.choose_game(options)
    checkpoint = fitted(checkpoint, game, str(source))
    beside = source if isinstance(agent, CheckpointSpec) else Path(source.name)
    path = output or beside.with_suffix(SUFFIX)
    with shown_progress() as progress:
        progress.begin(f"writing and checking {named(path)}")
        differences = export_checkpoint(
            checkpoint,
            describe_game(game),
            path,
            random_observations(game, positions, _SEED if given.seed is None else given.seed),
        )
    size = path.stat().st_size
    data = {
        "file": str(path),
        "bytes": size,
        "positions": positions,
        "differences": differences,
        "tolerance": TOLERANCE,
    }
    rows = [[name, f"{difference:.1e}"] for name, difference in differences.items()]
    lines = [
        f"{named(path, 400)}  {size / 1e6:.1f} MB, {game}, step {checkpoint.step:,}",
        f"greatest difference from the network on {positions:,} random positions:",
        text_table(None, rows),
    ]
    return Result(data, "\n".join(lines))


def _write_library(given: argparse.Namespace) -> Result:
    """Write the folder and return the libraries in it."""
    if given.positions is not None or given.seed is not None:
        raise ValueError("--positions and --seed are for --as onnx")
    agent = read_trained_agent(given.agent)
    options = read_options(given.option)
    source = agent.checkpoint_path(options)
    game = agent.choose_game(options)
    targets = list(dict.fromkeys(given.target)) or [this_machine()]
    for name in targets:
        if name not in TARGETS:
            raise ValueError(f"no library for {quoted(name)}; accepted: {', '.join(TARGETS)}")
    network = stored_network(source, game, str(source))
    if not isinstance(network, BoardLayers | VectorLayers):
        raise ValueError(f"{named(source)} has a network of your own: a library plays ludarium's")
    library = Library(game, network, _ladder_of(source, game, given.levels))
    kind = "-pocket" if isinstance(agent, PocketSpec) and source.stem.endswith("-pocket") else ""
    if isinstance(agent, PocketSpec) and not kind:
        warn(f"{game} has no small agent: the library gets the usual one, {source.name}")
    folder = given.output or Path(f"{library.prefix.removeprefix('ludarium_')}{kind}-c")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--output: {named(folder)} is a file: name a folder")
    with shown_progress() as progress:
        written = write_library(library, targets, folder, progress)
    rows = [[str(path), f"{path.stat().st_size / 1e3:,.0f} kB"] for path in written]
    levels = 0 if library.ladder is None else len(library.ladder.levels)
    data = {
        "folder": str(folder),
        "libraries": {str(path): path.stat().st_size for path in written},
        "levels": levels,
    }
    told = f"{named(folder, 400)}  {game}, {levels} levels; README.md there tells how to use it"
    return Result(data, "\n".join([told, text_table(None, rows)]))


def _ladder_of(source: Path, game: Game, file: Path | None) -> Ladder | None:
    """The levels of an agent, from ``file``, or if that is None from the one beside the checkpoint.

    Returns:
        None if no file is beside it, or, with a warning, if that file is of other rules or weights.

    Raises:
        FileNotFoundError: there is no ``file``.
        ValueError: the file holds no levels or is damaged; or ``file`` has levels of another agent,
            game or options.
    """
    if file is not None:
        ladder = load_ladder(file)
        ladder.check_fits(game, source)
        return ladder
    beside, found = ladder_beside(source), ladder_of(source, game)
    if found is None and beside.is_file():
        warn(f"the library has no levels: {beside.name} is of other rules or weights")
    return found
