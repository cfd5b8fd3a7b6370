"""Train with your own logger, and end the run when the agent is strong enough.

    python examples/own_logger.py                      # until it scores 90 % against uct:100
    python examples/own_logger.py --until 0.8 --against uct:20 --folder runs/mine

Each iteration is a line of a CSV. Any other logger, such as Weights & Biases, is a function like
``CSVLogger.__call__`` (docs/guide/training.md). After Ctrl-C the same command goes on.
"""

import argparse
import csv
from pathlib import Path

from ludarium.training import train
from ludarium.training.evaluation import play_match

COLUMNS = ("iteration", "seconds", "policy_loss", "learning_rate")


class CSVLogger:
    """Appends some metrics of each iteration to a file."""

    def __init__(self, path):
        self.path = Path(path)

    def __call__(self, iteration):
        is_new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.writer(file)
            if is_new:
                writer.writerow(COLUMNS)
            # An iteration without a gradient step has no losses.
            writer.writerow([iteration.numbers.get(name) for name in COLUMNS])


class StrongEnough:
    """Plays a match every few iterations, and stops the run at a score."""

    def __init__(self, against, until, every, games=40):
        self.against, self.until, self.every, self.games = against, until, every, games

    def __call__(self, iteration):
        if iteration.number % self.every:
            return
        agent = iteration.agent()
        played = play_match(agent.game, agent, self.against, self.games, seed=1)
        print(f"iteration {iteration.number}: {played.result.score:.0%} against {self.against}")
        if played.result.score.value >= self.until:
            iteration.stop()


def main():
    """Train, and print why the run ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--config", default="corso/demo")
    parser.add_argument("--folder", default="runs/own-logger")
    parser.add_argument("--against", default="uct:100")
    parser.add_argument("--until", type=float, default=0.9, help="score, from 0 to 1")
    parser.add_argument("--every", type=int, default=2, help="iterations between two matches")
    given = parser.parse_args()
    result = train(
        given.config,
        given.folder,
        CSVLogger(f"{given.folder}.csv"),
        StrongEnough(given.against, given.until, given.every),
        settings={"evaluation.every": 0},
    )
    end = "the budget is used up" if result.finished else "strong enough"
    print(f"{end}: {result.iteration} iterations, {result.seconds:.0f} s")


if __name__ == "__main__":
    main()
