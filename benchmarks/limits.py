"""What keeps a network from perfect play: its games, its targets, or what it makes of them?

    python benchmarks/limits.py runs/corso
    python benchmarks/limits.py runs/corso --learn 32x3@128 64x5@128 64x5@512 --seconds 150

Takes positions of the replay of a run of AlphaZero for one board, finds what their actions are
worth, and keeps those in which some action loses value. Of these it counts how often the most
probable action of the policy target keeps the value, and how often that of the run's own network,
which has learnt from these very targets. Where the targets are right and the network is not, more
games of the same kind will not help it much.

With ``--learn``, networks with fresh weights (CHANNELSxBLOCKS@BATCH) learn from the same replay,
each for the same processor time. They are asked about the same positions, and their losses are
those on the replay's latest chunk, which they do not learn from. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
import torch
from networks import Data, learn
from rich.console import Console
from rich.progress import Progress, track

from ludarium.analysis.accuracy import accuracy, moves_that_keep
from ludarium.analysis.exact_tests import ExactTest
from ludarium.analysis.exact_tests.positions import ExactPosition, Origin
from ludarium.analysis.probing import prober_of
from ludarium.configs import AlphaZeroConfig, load_config
from ludarium.configs.schema import Learner as LearnerConfig
from ludarium.envs import make_game
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.models import build_network
from ludarium.training.agents import make_agent
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.alphazero.samples import BatchMaker, join_samples
from ludarium.training.networks import network_shape

_LIMIT = 200_000  # positions that are searched for the values of one
_PARTS = 4  # of the positions, by ply
_AGAIN = re.compile(r"(\d{1,4})x(\d{1,3})@(\d{1,5})")


def main() -> None:
    """Solve, ask, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="folder of a run")
    parser.add_argument("--positions", type=int, default=4000, help="of the replay to solve")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn")
    parser.add_argument("--learn", nargs="+", default=[], metavar="CHANNELSxBLOCKS@BATCH")
    parser.add_argument("--seconds", type=float, default=150, help="of learning, for each network")
    given = parser.parse_args()
    torch.set_num_threads(1)
    again = [_AGAIN.fullmatch(text) for text in given.learn]
    if None in again:
        parser.error(f"--learn takes CHANNELSxBLOCKS@BATCH, such as 64x5@128, not {given.learn}")
    if not (given.run / "config.yaml").is_file():
        parser.error(f"{given.run} is no folder of a run: it has no config.yaml")
    config = load_config(given.run / "config.yaml")
    if not isinstance(config, AlphaZeroConfig) or config.variants:
        parser.error(f"{given.run} is no run of AlphaZero for one board")
    game = make_game(config.game, **config.options)
    files = sorted((given.run / "replay").glob("*.npy"))
    if len(files) < 2:
        parser.error(f"{given.run} has {len(files)} chunks in its replay: 2 or more are needed")
    *chunks, latest = (np.load(file, allow_pickle=False) for file in files)
    samples = join_samples(chunks)
    test, targets = critical(game, samples, given.positions, given.seed)
    if not len(test):
        print(f"in none of {given.positions:,} positions an action is known to lose value")
        return
    agent = make_agent(f"{given.run}:0", game)
    print_kept(test, {"target": targets, "the run's network": agent.actions(test.states)})
    batches = BatchMaker(game, LearnerConfig().search_value, config.self_play.keep_decided)
    data = Data(game, samples, batches, batches(latest, np.random.default_rng(0)))
    if again:
        print("\n| network | batch | positions learnt | policy loss | result loss | keeps |")
        print("|---|---|---|---|---|---|")
    for match in filter(None, again):
        channels, blocks, batch = map(int, match.groups())
        print(learn_again(data, test, channels, blocks, batch, given.seconds), flush=True)


def critical(
    game: Game, samples: np.ndarray, count: int, seed: int
) -> tuple[ExactTest, np.ndarray]:
    """Those of ``count`` samples in which some action loses value, by ply, and their targets.

    Samples whose values are not found within `_LIMIT` positions are left out.

    Returns:
        The positions, and int64 [N], the most probable action of each one's policy target.
    """
    prober = prober_of(game)
    found: list[tuple[ExactPosition, int]] = []
    drawn = np.random.default_rng(seed).permutation(len(samples))[:count]
    for row in track(drawn, "solving", console=Console(stderr=True)):
        position = Position.of_state(game, samples["state"][row])
        answers = prober.actions(position, _LIMIT, leads=False)
        values = {action: answer.outcome for action, answer in answers.items()}
        results = {action: value for action, value in values.items() if value is not None}
        exact = ExactPosition(position, Origin(0, ()), results, None)
        if len(results) == len(values) and exact.has_choice:
            found.append((exact, int(samples["policy"][row].argmax())))
    found.sort(key=lambda each: each[0].position.ply)
    test = ExactTest.of(game, [exact for exact, _ in found], {"replay": len(samples)})
    return test, np.array([target for _, target in found], np.int64)


def print_kept(test: ExactTest, chosen: dict[str, np.ndarray]) -> None:
    """A table of how many choices keep the value, for each part of the plies and for all."""
    plies = test.states["ply"]
    kept = [moves_that_keep(actions, test) for actions in chosen.values()]
    print(f"| plies | positions | {' | '.join(chosen)} |\n|---|---|{'---|' * len(chosen)}")
    parts = [*np.array_split(np.arange(len(test)), _PARTS), np.arange(len(test))]
    for part in filter(len, parts):
        cells = [f"{plies[part].min()} to {plies[part].max()}", f"{len(part):,}"]
        cells += [f"{100 * each[part].mean():.1f} %" for each in kept]
        print(f"| {' | '.join(cells)} |")


def learn_again(
    data: Data, test: ExactTest, channels: int, blocks: int, batch: int, seconds: float
) -> str:
    """Let a network learn; the row of what has become of it."""
    torch.manual_seed(0)
    network = build_network(network_shape(data.game), channels, blocks)
    config = LearnerConfig(batch=batch)
    name = f"{channels} x {blocks}"
    with Progress(console=Console(stderr=True)) as progress:
        found = learn(network, data, config, seconds, 0, progress, name)
    agent = NetworkAgent(data.game, network, 0, name)
    kept = accuracy(moves_that_keep(agent.actions(test.states), test)).share
    return (
        f"| {name} | {batch} | {found['steps'] * batch:,} | {found['policy loss']:.3f} | "
        f"{found['result loss']:.3f} | {100 * kept:.1f} % |"
    )


if __name__ == "__main__":
    main()
