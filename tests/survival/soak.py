"""Train and evaluate for hours; watch the memory and the open files of both processes.

    python tests/survival/soak.py                    two hours; build/soak/soak.csv
    python tests/survival/soak.py --minutes 10

One process trains Corso, with evaluations and checkpoints all the time. The other does what a
program that uses agents does: it loads the run's latest agent and others, plays matches, opens
environments, over and over. Every few seconds resident memory and open files of both are noted.
The exit status is 1 if a process ends early, if memory grows by more than a few per cent after the
first quarter, or if files stay open. Linux only: it reads ``/proc``.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

_EVERY = 10.0  # seconds between two looks
_MOST_GROWTH = 0.05  # of the median memory of the second quarter, up to that of the last
_MEGABYTE = 1 << 20
_SETTINGS = [
    "seed=1",
    "budget={iterations: 1000000, minutes: null}",
    "network={channels: 16, blocks: 2}",
    "self_play={positions: 2048, workers: 1, simulations: 16}",
    "bootstrap={positions: 4000, playouts: 100}",
    "replay={first: 10000, last: 20000}",
    "evaluation={every: 2, games: 8, simulations: 16, against: [random, 'uct:20', 'uct:200']}",
]
_COLUMNS = ["seconds", "process", "resident_mib", "open_files"]


def use_agents(run: Path) -> None:
    """Load agents, play matches and open environments until the process is killed."""
    import gymnasium

    from ludarium.envs.faces import gymnasium_id
    from ludarium.envs.registry import make_game
    from ludarium.training.agents import make_agent
    from ludarium.training.evaluation import play_match

    options = {"corso": {"size": 5}, "osiron": {}}
    for number in range(1_000_000_000):
        name = list(options)[number % 2]
        game = make_game(name, **options[name])
        trained = run if name == "corso" and (run / "agent.safetensors").exists() else name
        agent = make_agent(f"{trained}:8", game, number)
        play_match(game, agent, make_agent("uct:20", game, number), 8, seed=number)
        place = f"ludarium.envs:{gymnasium_id(name, game.version)}"
        env = gymnasium.make(place, opponent="uct:10", **options[name])
        _, info = env.reset(seed=number)
        for _ in range(200):
            *_, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
            if terminated or truncated:
                _, info = env.reset()
        env.close()


def look(process: int) -> tuple[float, int]:
    """Resident memory in MiB, and the number of open files, of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    resident = pages * os.sysconf("SC_PAGE_SIZE") / _MEGABYTE
    return resident, len(os.listdir(f"/proc/{process}/fd"))


def watch(commands: dict[str, list[str]], minutes: float, folder: Path) -> list[str]:
    """Run the commands for so long, and write ``soak.csv``; returns what went wrong."""
    processes = {
        name: subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=(folder / f"{name}.log").open("w"),
            stderr=subprocess.STDOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for name, command in commands.items()
    }
    began = time.monotonic()
    try:
        with (folder / "soak.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(_COLUMNS)
            while (seconds := time.monotonic() - began) < 60 * minutes:
                for name, process in processes.items():
                    if process.poll() is not None:
                        return [f"{name} ended after {seconds:.0f} s: see {folder / name}.log"]
                    resident, open_files = look(process.pid)
                    rows.writerow([round(seconds), name, round(resident, 1), open_files])
                file.flush()
                time.sleep(_EVERY)
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            process.wait(300)
    return []


def read(folder: Path) -> dict[str, np.ndarray]:
    """For each process, float[N, 3]: seconds, memory in MiB, open files."""
    found: dict[str, list[list[float]]] = {}
    with (folder / "soak.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            values = [float(row[name]) for name in _COLUMNS if name != "process"]
            found.setdefault(row["process"], []).append(values)
    return {name: np.array(rows) for name, rows in found.items()}


def judge(name: str, rows: np.ndarray) -> list[str]:
    """Print the growth from the second quarter to the last; returns what is too much."""
    quarters = np.array_split(rows, 4)
    memory = [float(np.median(quarter[:, 1])) for quarter in quarters]
    files = [int(quarter[:, 2].max()) for quarter in quarters]
    growth = memory[3] / memory[1] - 1
    shown = ", ".join(f"{each:.0f}" for each in memory)
    print(
        f"{name}: {rows[-1, 0] / 60:.0f} minutes; MiB, median of each quarter: {shown} "
        f"({growth:+.1%} from the second to the last); most open files: {files}"
    )
    wrong = [f"{name}: memory grew by {growth:.1%}"] if growth > _MOST_GROWTH else []
    if files[3] > max(files[:2]):
        wrong.append(f"{name}: open files rose from {max(files[:2])} to {files[3]}")
    return wrong


def main() -> int:
    """Soak, and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120, help="at least 2")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "soak")
    parser.add_argument("--use", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.use:
        use_agents(given.use)
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    run = folder / "run"
    settings = [text for setting in _SETTINGS for text in ("--set", setting)]
    start = "import sys; from ludarium.cli import main; sys.exit(main())"
    training = ["train", "corso", "--config", "corso/demo", "--folder", str(run), "--restart"]
    commands = {
        "train": [sys.executable, "-c", start, *training, *settings],
        "use": [sys.executable, __file__, "--use", str(run)],
    }
    wrong = watch(commands, given.minutes, folder)
    found = read(folder)
    for name, rows in found.items():
        wrong += judge(name, rows)
    for line in wrong:
        print(line)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
