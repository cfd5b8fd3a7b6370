"""How large and fast the networks are, and which kind of trunk learns best for its time.

    python benchmarks/networks.py                        # sizes and speeds, two minutes
    python benchmarks/networks.py --games osiron onyx
    python benchmarks/networks.py --compare osiron       # trunks, ten minutes
    python benchmarks/networks.py --compare obelisk --seconds 20 --seeds 1 --positions 5000

Without ``--compare``: a Markdown table of the named sizes of each game's network, positions/s on
one core by ONNX Runtime, batches of 128, in float32 and with the trunk in eight-bit integers.

With it: each kind of trunk gets the width at which it evaluates about as many positions/s as the
present kind does (each in the faster of the two backends), then learns for the same processor time
from the same positions, and is asked about others. Osiron: positions of random games and, a fifth,
of games of UCT, values and good actions from the exact solution; "value kept" counts only
positions in which some legal action loses value. Other games: searches of UCT, their policies and
how the games ended. Losses are in nats; that of the policy is over the target's own entropy.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress, track
from torch.nn import functional as F
from trunks import Make, candidates

from ludarium.analysis import TableSolution, solution_of
from ludarium.analysis.solution import ILLEGAL
from ludarium.configs.schema import Bootstrap
from ludarium.configs.schema import Learner as LearnerConfig
from ludarium.envs import GAMES, make_game
from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.codec import Codec
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import DRAW, PLAYER_0_WINS, PLAYER_1_WINS
from ludarium.models import InferenceEngine, PolicyValueNetwork, build_network
from ludarium.models.network import SIZES, network_size
from ludarium.training.alphazero.bootstrap import bootstrap_samples
from ludarium.training.alphazero.learner import Learner, Losses
from ludarium.training.alphazero.samples import Batch, BatchMaker, sample_dtype
from ludarium.training.networks import network_shape
from ludarium.training.random_positions import random_observations

#: Options that differ from a game's defaults: those of the agents that come along.
OPTIONS: dict[str, dict[str, Any]] = {"onyx": {"size": 6}, "obsidio": {"size": 7}}
BACKENDS = ("onnx", "onnx-int8")
BATCH = 128  # of inference
_LEARNER = LearnerConfig(batch=256)
_OPENING_PLIES = 4
_CHANNELS = {3: 48, 1: 256}  # of the present kinds, with three blocks, by axes of observations
_SAME_TIME = 1.25  # another trunk may take up to so much of the present one's time
_PLIES_BETWEEN = 3  # positions kept of one random game


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", nargs="+", choices=list(GAMES), default=list(GAMES))
    parser.add_argument("--compare", metavar="GAME", choices=list(GAMES))
    parser.add_argument("--seconds", type=float, default=60, help="of learning, for each network")
    parser.add_argument("--seeds", type=int, default=2, help="networks of each kind")
    parser.add_argument("--positions", type=int, default=40_000, help="at least, from whole games")
    parser.add_argument("--playouts", type=int, default=800, help="of each search")
    parser.add_argument("--json", type=Path, help="file to write all figures to")
    parser.add_argument("--timing", type=float, default=2.0, help="seconds for each network")
    parser.add_argument("--quick", action="store_true", help="only whether all of it still runs")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.quick:
        given.games, given.timing = ["corso"], 0.02
        given.seconds, given.seeds, given.positions, given.playouts = 0.2, 1, 300, 10
    rows = []
    if given.quick or not given.compare:
        for name in track(given.games, "sizes", console=Console(stderr=True)):
            rows += size_rows(name, given.timing)
        print_markdown(rows)
    for name in ["corso", "osiron"] if given.quick else [given.compare]:
        if name:
            rows = compare(
                name, given.seconds, given.seeds, given.positions, given.playouts, given.timing
            )
            print_markdown(rows)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n")


def print_markdown(rows: list[dict[str, Any]]) -> None:
    """A table whose columns are the keys of the first row."""
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(map(_cell, row.values())) + " |")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


# Sizes.


def size_rows(name: str, timing: float) -> list[dict[str, Any]]:
    """Parameters and speeds of the named sizes of one game's network."""
    options = OPTIONS.get(name, {})
    game = make_game(name, **options)
    shape = network_shape(game)
    sizes = {size: network_size(shape, size) for size in SIZES[len(shape.observation)]}
    networks = [build_network(shape, *size) for size in sizes.values()]
    return [
        {
            "game": " ".join([name, *(f"{key} {value}" for key, value in options.items())]),
            "size": f"{size}, {channels} x {blocks}",
            "parameters": count_parameters(network),
            "positions/s, float32": round(speeds["onnx"]),
            "positions/s, int8": round(speeds["onnx-int8"]),
        }
        for (size, (channels, blocks)), network, speeds in zip(
            sizes.items(), networks, backend_speeds(game, timing, *networks), strict=True
        )
    ]


def count_parameters(network: PolicyValueNetwork) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def backend_speeds(
    game: Game, timing: float, *networks: PolicyValueNetwork
) -> list[dict[str, float]]:
    """Positions/s on one core of each network in each backend, ``timing`` seconds for a network.

    They take turns, and the best times count, as other work on the machine comes and goes.
    """
    examples = random_observations(game, 512, seed=1)
    batch = examples[:BATCH]
    engines = [
        (
            name,
            InferenceEngine(network, game.observation_shape, BATCH, name, examples=examples),
        )
        for network in networks
        for name in BACKENDS
    ]
    best = [float("inf")] * len(engines)
    for _, engine in engines:
        engine(batch)
    deadline = time.perf_counter() + timing * len(networks)
    while time.perf_counter() < deadline:
        for number, (_, engine) in enumerate(engines):
            started = time.perf_counter()
            engine(batch)
            best[number] = min(best[number], time.perf_counter() - started)
    speeds = [
        (backend, BATCH / seconds) for (backend, _), seconds in zip(engines, best, strict=True)
    ]
    return [
        dict(speeds[start : start + len(BACKENDS)])
        for start in range(0, len(speeds), len(BACKENDS))
    ]


# Comparison.


def compare(
    name: str, seconds: float, seeds: int, positions: int, playouts: int, timing: float
) -> list[dict[str, Any]]:
    """A row for each kind of trunk, means over the seeds."""
    game = make_game(name, **OPTIONS.get(name, {}))
    kinds = candidates(game)
    console = Console(stderr=True)
    with Progress(console=console) as progress:
        data = searched(game, positions, playouts, progress)
        channels = choose_widths(game, kinds, timing)
        networks = [make(channels[kind]) for kind, (make, _) in kinds.items()]
        speeds = backend_speeds(game, timing, *networks)
        console.print(f"channels: {channels}")
        found: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
        for seed in range(seeds):  # in turns, since the machine's speed varies
            for kind, (make, _) in kinds.items():
                torch.manual_seed(seed)
                network = make(channels[kind])
                found[kind].append(learn(network, data, _LEARNER, seconds, seed, progress, kind))
                console.print(f"{kind}, seed {seed}: {found[kind][-1]}")
    return [
        {
            "trunk": f"{kind}: {blocks}",
            "channels": channels[kind],
            "parameters": count_parameters(make(channels[kind])),
            "positions/s": round(max(of_backends.values())),
            **{name: _each([result[name] for result in found[kind]]) for name in found[kind][0]},
        }
        for (kind, (make, blocks)), of_backends in zip(kinds.items(), speeds, strict=True)
    ]


def _each(values: list[float]) -> str:
    """The figures of all seeds."""
    return " / ".join(_cell(value) for value in values)


def choose_widths(game: Game, kinds: dict[str, tuple[Make, str]], timing: float) -> dict[str, int]:
    """Channels of each kind; the first one is the present kind, with which it is compared."""
    first, *others = kinds
    channels = {first: _CHANNELS[len(game.observation_shape)]}
    present = kinds[first][0](channels[first])
    for kind in others:
        channels[kind] = width_of_equal_time(game, kinds[kind][0], present, timing)
    return channels


def width_of_equal_time(game: Game, make: Make, present: PolicyValueNetwork, timing: float) -> int:
    """The most channels, in multiples of 8, with which a trunk is about as fast as ``present``."""
    low, high = 1, 64  # multiples of 8: fast enough (or the least there is), too slow
    while high - low > 1:
        middle = (low + high) // 2
        ours, theirs = backend_speeds(game, timing, make(8 * middle), present)
        is_fast = max(ours.values()) * _SAME_TIME >= max(theirs.values())
        low, high = (middle, high) if is_fast else (low, middle)
    return 8 * low


@dataclass(frozen=True)
class Data:
    """Positions to learn from, and others to be asked about.

    Attributes:
        game: the rules.
        train: structured array of `sample_dtype`.
        batches: makes batches of them.
        held_out: a batch of positions of other games, none of which is in ``train``.
        matters: bool [N], which of them count for "value kept"; None without a solution.
        legal: float32 [N, A], 1 for their legal actions, numbered as in ``held_out``.
    """

    game: Game
    train: np.ndarray
    batches: BatchMaker
    held_out: Batch
    matters: np.ndarray | None = None
    legal: np.ndarray | None = None


def searched(game: Game, positions: int, playouts: int, progress: Progress) -> Data:
    """So many positions to learn from, and a fifth as many to be asked about."""
    batches = BatchMaker(game, search_value=0.0)
    exact = game.name == "osiron"
    train, held_out = (
        _samples(game, count, playouts, seed, exact, progress)
        for seed, count in enumerate((positions, positions // 5))
    )
    held_out = held_out[~np.isin(_keys(game, held_out), _keys(game, train))]
    data = Data(game, train, batches, batches(held_out, np.random.default_rng(0)))
    if not exact:
        return data
    legal = held_out.copy()
    masks = np.empty((len(legal), game.num_actions), np.int8)
    game.kernels.legal_actions(game.tables, np.ascontiguousarray(legal["state"]), masks)
    legal["policy"] = masks
    return replace(
        data,
        matters=((masks > 0) & (held_out["policy"] == 0)).any(axis=1),
        legal=batches(legal, np.random.default_rng(0)).policies > 0,
    )


def _keys(game: Game, samples: np.ndarray) -> np.ndarray:
    """What the network sees of each position, as bytes."""
    seen = Codec(game).encode(np.ascontiguousarray(samples["state"])).observations
    bits = np.packbits(seen.reshape(len(seen), -1) > 0, axis=1)
    return bits.view(f"V{bits.shape[1]}").ravel()


def _samples(
    game: Game, count: int, playouts: int, seed: int, exact: bool, progress: Progress
) -> np.ndarray:
    """Positions of games of UCT; with ``exact`` targets a fifth, and others of random games."""
    searched = count // 5 if exact else count
    bar = progress.add_task("searching", total=searched)

    def advance(done: int) -> None:
        progress.advance(bar, done)

    samples = bootstrap_samples(
        game,
        Bootstrap(positions=searched, playouts=playouts),
        _OPENING_PLIES,
        np.random.SeedSequence(seed),
        progress=advance,
    )
    progress.remove_task(bar)
    if not exact:
        return samples
    others = _random_states(game, count - searched, seed)
    return _with_exact_targets(game, np.concatenate([samples["state"], others]))


def _random_states(game: Game, count: int, seed: int) -> np.ndarray:
    """Positions of random games, some plies apart."""
    games = BatchEnv(game, 512, threads=1, seed=seed)
    found: list[np.ndarray] = []
    while len(found) * games.num_envs < count:
        for _ in range(_PLIES_BETWEEN):
            games.step_random()
        found.append(games.states[games.states["outcome"] == 0])
    return np.concatenate(found)[:count]


def _with_exact_targets(game: Game, states: np.ndarray) -> np.ndarray:
    """Samples whose outcome is the exact value, and whose policy is even over what keeps it."""
    solution = solution_of(game)
    assert isinstance(solution, TableSolution)
    states = np.ascontiguousarray(states)
    signs = np.sign(solution.values(states)).astype(int)
    of_actions = solution.action_values(states)
    keeps = (np.sign(of_actions) == signs[:, None]) & (of_actions != ILLEGAL)
    samples = np.zeros(len(states), sample_dtype(game))
    samples["state"] = states
    samples["policy"] = keeps / keeps.sum(axis=1, keepdims=True)
    samples["outcome"] = np.array([PLAYER_1_WINS, DRAW, PLAYER_0_WINS])[
        1 + signs * (1 - 2 * states["mover"].astype(int))
    ]
    return samples


def learn(
    network: PolicyValueNetwork,
    data: Data,
    config: LearnerConfig,
    seconds: float,
    seed: int,
    progress: Progress,
    name: str,
) -> dict[str, float]:
    """Learn for so much processor time; then losses and the like on the held-out positions.

    The network becomes what is measured, the mean of its weights over the steps.
    """
    learner = Learner(network, config, has_score=data.game.max_score > 0)
    rng, losses = np.random.default_rng(seed), Losses()
    bar = progress.add_task(f"{name}, seed {seed}", total=seconds)
    started = time.process_time()  # the learner has a thread of its own
    while (spent := time.process_time() - started) < seconds:
        chosen = data.train[rng.integers(len(data.train), size=config.batch)]
        learner.learn([data.batches(chosen, rng)], spent / seconds, losses)
        progress.update(bar, completed=spent)
    progress.remove_task(bar)
    learner.close()
    network.load_state_dict(learner.ema_network.state_dict())
    return {"steps": learner.step, **held_out_measures(network.eval(), data)}


@torch.inference_mode()
def held_out_measures(network: PolicyValueNetwork, data: Data) -> dict[str, float]:
    """How good the network is where it has not learnt."""
    held_out = data.held_out
    observations, policies, outcomes = (
        torch.from_numpy(array)
        for array in (held_out.observations, held_out.policies, held_out.outcomes)
    )
    outputs = [network(part) for part in observations.split(1024)]
    policy = torch.cat([output.policy for output in outputs])
    outcome = torch.cat([output.outcome for output in outputs])
    entropy = -torch.xlogy(policies, policies).sum(1).mean()
    right = outcome.argmax(1) == outcomes.argmax(1)
    measures = {
        "policy loss": float(F.cross_entropy(policy, policies) - entropy),
        "result loss": float(F.cross_entropy(outcome, outcomes)),
        "result right": float(right.float().mean()),
    }
    if data.matters is not None and data.legal is not None:
        favourites = policy.masked_fill(~torch.from_numpy(data.legal), -torch.inf).argmax(1)
        kept = policies[torch.arange(len(policies)), favourites] > 0
        measures["value kept"] = float(kept[torch.from_numpy(data.matters)].float().mean())
    return measures


if __name__ == "__main__":
    main()
