"""Measures which parts of the AlphaZero loop are worth their time, by leaving out or changing each.

    python benchmarks/ablations.py corso --minutes 1.5
    python benchmarks/ablations.py onyx --seeds 1 2 --only base PUCT "no bootstrap"

Every variant trains from nothing on one core for the same processor time (not wall time, so that
other work on the machine affects all alike). Then each plays `base` of its seed and fixed
opponents, and chooses moves in positions with exact results (`ludarium.analysis.accuracy`) where
some move loses value. `base` of each further seed plays `base` of the first seed, which shows how
much two equal runs differ. The runs in existing folders are resumed.
"""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context, parent_process
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from threading import Thread
from typing import TYPE_CHECKING, Any

from common import Row, new_parser, print_table

if TYPE_CHECKING:
    import numpy as np

#: Settings of all variants of all games, on top of the game's default configuration.
COMMON = [
    "self_play.workers=1",
    "self_play.positions=4096",
    "self_play.simulations=32",
    "network={channels: 32, blocks: 3}",
    "replay={first: 60000, last: 200000}",
    "learner.batch=256",
    "learner.replay_ratio=4",
    "evaluation.every=0",
    "budget.iterations=100000",
]
GAMES: dict[str, list[str]] = {
    "corso": ["bootstrap={positions: 20000, playouts: 400, replay_ratio: 4}"],
    "onyx": ["bootstrap={positions: 15000, playouts: 400, replay_ratio: 4}", "options={size: 6}"],
    "osiron": ["bootstrap={positions: 20000, playouts: 200, replay_ratio: 4}"],
    "obsidio": [
        "bootstrap={positions: 10000, playouts: 400, replay_ratio: 4}",
        "options={size: 7}",
    ],
    "obelisk": [
        "bootstrap={positions: 20000, playouts: 400, replay_ratio: 4}",
        "network={channels: 256, blocks: 3}",
        "learner.learning_rate=0.001",
    ],
}
#: The name of each variant, and the settings that it changes.
VARIANTS: dict[str, list[str]] = {
    "base": [],
    "PUCT": ["self_play.algorithm=puct"],
    "16 simulations": ["self_play.simulations=16"],
    "64 simulations": ["self_play.simulations=64"],
    "greedy after 8 plies": ["self_play.temperature_plies=8"],
    "no cache": ["self_play.cache=0"],
    "no proof": ["self_play.solver=false"],
    "no bootstrap": ["bootstrap.positions=0"],
    "replay ratio 2": ["learner.replay_ratio=2"],
    "replay ratio 8": ["learner.replay_ratio=8"],
    "batch 128": ["learner.batch=128"],
    "exact targets, 1000 positions": ["self_play.solve=1000"],
    "exact targets, 5000 positions": ["self_play.solve=5000"],
    "exact targets, 50000 positions": ["self_play.solve=50000"],
    "the same, a fifth of the decided": [
        "self_play.solve=50000",
        "self_play.keep_trivial=0.2",
    ],
    "Q-values not rescaled": ["self_play.rescale_values=false"],
    "constant learning rate": ["learner.final_learning_rate=0.002"],  # Obelisk begins with 0.001
    "network 48x4": ["network={channels: 48, blocks: 4}"],
    "grows from 32x3 to 48x4": ["network={channels: 48, blocks: 4}"],
    "network 384x3": ["network={channels: 384, blocks: 3}"],  # this one and the next two:
    "network 512x3": ["network={channels: 512, blocks: 3}"],  # perceptrons, for Obelisk
    "network 512x4": ["network={channels: 512, blocks: 4}"],
    "network in float32": ["backend=compiled"],
    "no weight averaging": ["learner.ema_decay=0"],
    "no symmetries": [],  # see `train`
}
#: Variants that begin with another network: the share of the time, and that network's settings.
BEGINNINGS: dict[str, tuple[float, list[str]]] = {
    "grows from 32x3 to 48x4": (0.4, ["network={channels: 32, blocks: 3}"]),
}
OPPONENTS = {
    "corso": ("uct:1000", "uct:10000"),
    "onyx": ("uct:1000",),
    "osiron": ("uct:200", "uct:1000"),
    "obsidio": ("uct:1000", "uct:3000"),
    "obelisk": ("uct:1000", "uct:3000"),
}
SIMULATIONS = 32  # for the compared agents
#: Settings of a short run that compiles what all runs need.
TINY = ["bootstrap={positions: 1, playouts: 1, replay_ratio: 4}", "self_play.positions=256"]


def train(
    game: str, variant: str, seed: int, minutes: float, folder: Path, extra: list[str]
) -> dict[str, Any]:
    """Train one variant; returns the last line of its log, with its ``iterations`` in all.

    Args:
        game: a shipped game, or the file of a configuration.
        variant: one of `VARIANTS`.
        seed: seed of the run.
        minutes: its processor time.
        folder: its folder.
        extra: more settings.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    from ludarium.configs import apply_settings, load_config
    from ludarium.envs.engine.codec import Codec

    if variant == "no symmetries":  # this process trains nothing else
        Codec.draw_symmetries = identities  # type: ignore[assignment,method-assign]
    config = load_config(f"{game}/default" if game in GAMES else game)
    config = apply_settings(config, [*COMMON, *GAMES.get(game, []), f"seed={seed}"])
    begun: list[str] = []
    lines: list[dict[str, Any]] = []
    if variant in BEGINNINGS:
        share, settings = BEGINNINGS[variant]
        first = folder.with_name(f"{folder.name}-first")
        settings = [f"budget.minutes={share * minutes}", *settings, *extra]
        lines += train_by_processor_time(apply_settings(config, settings), first)
        begun = [f"start={first}", "bootstrap.positions=0"]
        minutes *= 1 - share
    settings = [f"budget.minutes={minutes}", *VARIANTS[variant], *extra, *begun]
    lines += train_by_processor_time(apply_settings(config, settings), folder)
    return {"iterations": len(lines), **lines[-1]}


def identities(codec: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """Replaces `Codec.draw_symmetries`: always number 0, the identity."""
    import numpy as np  # after `train` has set the threads

    return np.zeros(count, np.int64)


def train_by_processor_time(config: Any, folder: Path) -> list[dict[str, Any]]:
    """Train on one core by processor time; returns the lines of the log.

    The clock of the process stays changed: call this in a process of its own.
    """
    import torch

    from ludarium.training.run import make_trainer
    from ludarium.training.runs.folder import RunFolder

    torch.set_num_threads(1)
    time.perf_counter = time.process_time
    trainer = make_trainer(config, RunFolder(folder))
    trainer.run()
    trainer.close()
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def exact_test(game_name: str, file: Path, most: int = 10_000) -> Any:
    """At most ``most`` positions with a choice and exact results; made unless ``file`` has some."""
    from ludarium.analysis.exact_tests import make_exact_test, read_exact_test, write_exact_test
    from ludarium.training.agents import make_agent

    game = game_of(game_name)
    if file.exists():
        return read_exact_test(file)
    count = {"osiron": 2000, "onyx": 150}.get(game_name, 500)  # as many as are found quickly
    test = make_exact_test(
        game, min(count, most), 1, make_agent("uct:200", game), only_choices=True
    )
    write_exact_test(file, test)
    return test


def game_of(name: str) -> Any:
    """The game with the options that its variants are trained with."""
    from ludarium.configs import apply_settings, load_config
    from ludarium.envs import make_game

    config = apply_settings(load_config(f"{name}/default"), GAMES[name])
    return make_game(name, **config.options)


def measure(
    game_name: str, agent_folder: Path, base: Path | None, test_file: Path, games: int
) -> dict[str, Any]:
    """One run's scores in ``games`` games per opponent and 2 ``games`` against base, and accuracy.

    The match against ``base`` is left out if there is none, or if it is this run.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    from ludarium.analysis.accuracy import accuracy, moves_that_keep
    from ludarium.training.agents import make_agent
    from ludarium.training.evaluation import play_match

    torch.set_num_threads(1)
    game = game_of(game_name)
    agent = make_agent(f"{agent_folder}:{SIMULATIONS}", game)
    found: dict[str, Any] = {}
    if base not in (agent_folder, None):
        other = make_agent(f"{base}:{SIMULATIONS}", game)
        found["base"] = play_match(game, agent, other, 2 * games, seed=1).result.score.value
    for opponent in OPPONENTS[game_name]:
        match = play_match(game, agent, make_agent(opponent, game), games, seed=1)
        found[opponent] = match.result.score.value
    test = exact_test(game_name, test_file)
    for name, simulations in (("policy", 0), ("search", SIMULATIONS)):
        player = make_agent(f"{agent_folder}:{simulations}", game)
        found[name] = accuracy(moves_that_keep(player.actions(test.states), test)).value
    return found


def main() -> None:
    """Train and compare."""
    parser = new_parser(__doc__)
    parser.add_argument("game", nargs="?", default="corso", choices=sorted(GAMES))
    parser.add_argument("--minutes", type=float, default=1.5, help="processor time of each variant")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--only", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    parser.add_argument("--folder", type=Path, default=Path("runs/ablations"))
    given = parser.parse_args()
    if given.quick:
        given.minutes, given.only, given.jobs = 0.02, ["base", "grows from 32x3 to 48x4"], 1
        given.settings += ["bootstrap.positions=0", "self_play.positions=256"]
        given.folder = Path(mkdtemp())
    root = given.folder / given.game
    root.mkdir(parents=True, exist_ok=True)
    folders = {
        (name, seed): root / f"{name.replace(' ', '-')}-{seed}"
        for name in given.only
        for seed in given.seeds
    }
    bases = {seed: folders["base", seed] for seed in given.seeds if "base" in given.only}
    with (
        ProcessPoolExecutor(
            given.jobs, get_context("spawn"), end_with_the_parent, max_tasks_per_child=1
        ) as pool,
        TemporaryDirectory() as scratch,
    ):
        # Compile first, so that no variant spends its time on it.
        pool.submit(train, given.game, "base", 1, 0.001, Path(scratch), TINY).result()
        runs = {
            pool.submit(train, given.game, *run, given.minutes, folder, given.settings): run
            for run, folder in folders.items()
        }
        logs = {}
        for done in as_completed(runs):
            name, seed = runs[done]
            logs[name, seed] = done.result()
            print(
                f"trained {name}, seed {seed}: {logs[name, seed]['iterations']} iterations",
                flush=True,
            )
        test_file = root / "exact.test.jsonl"
        exact_test(given.game, test_file, 20 if given.quick else 10_000)
        matches = {
            (name, seed): pool.submit(
                measure,
                given.game,
                folder,
                bases.get(given.seeds[0] if name == "base" else seed),
                test_file,
                2 if given.quick else 200,
            )
            for (name, seed), folder in folders.items()
        }
        rows = (row(given.game, *run, logs[run], match.result()) for run, match in matches.items())
        print_table(rows, given.json)


def end_with_the_parent() -> None:
    """Let this process end when its parent does, even if the parent is killed."""
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


def row(game: str, name: str, seed: int, log: dict[str, Any], found: dict[str, Any]) -> Row:
    """One run's row; scores and shares in percent."""
    scores = {
        "against base": found.get("base"),
        **{f"against {opponent}": found[opponent] for opponent in OPPONENTS[game]},
        "policy keeps": found["policy"],
        "search keeps": found["search"],
    }
    return {
        "variant": name,
        "seed": seed,
        "iterations": log["iterations"],
        "simulations/s": log["simulations_per_second"],
        **{key: "" if each is None else f"{100 * each:.1f}" for key, each in scores.items()},
    }


if __name__ == "__main__":
    main()
