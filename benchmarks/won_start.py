"""Can an agent win what is won? Corso 5 x 5 as the first player, against perfect play.

    python benchmarks/won_start.py corso:100 endgame:corso:100 --games 100

The first player wins Corso 5 x 5 after every first action. So each game begins with a random action
of either player, all beginnings different, and the agent goes on as the first player against
`perfect`: a game that is not won is the agent's mistake. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from ludarium.analysis.perfect import PerfectAgent
from ludarium.envs import make_game
from ludarium.envs.engine.rule import PLAYER_0_WINS
from ludarium.training.agents import make_agent
from ludarium.training.evaluation.match import Tally
from ludarium.training.evaluation.openings import draw_openings


def main() -> None:
    """Play and count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("agents", nargs="+", metavar="AGENT")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    game = make_game("corso")
    openings = draw_openings(game, given.games, 2, given.seed)
    print("| agent | games | different | won | score (95 %) | seconds |\n|---|---|---|---|---|---|")
    for name in given.agents:
        started = time.perf_counter()
        players = (make_agent(name, game, given.seed), PerfectAgent(game, seed=given.seed))
        positions = [game.start() for _ in openings.actions]
        records = [list(opening) for opening in openings.actions]
        for position, record in zip(positions, records, strict=True):
            for action in record:
                position.play(action)
        seat = 0
        while going := [
            number for number, position in enumerate(positions) if not position.is_over
        ]:
            states = np.concatenate([positions[number].states for number in going])
            for number, action in zip(going, players[seat].actions(states).tolist(), strict=True):
                positions[number].play(action)
                records[number].append(action)
            seat = 1 - seat
        won = sum(position.outcome == PLAYER_0_WINS for position in positions)
        tally = Tally(won, 0, given.games - won)
        low, high = tally.interval
        print(
            f"| {name} | {given.games} | {len(set(map(tuple, records)))} | {won} | "
            f"{100 * tally.score:.1f} % ({100 * low:.0f}-{100 * high:.0f}) | "
            f"{time.perf_counter() - started:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
