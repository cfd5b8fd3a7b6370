"""Measures how fast one position is searched, and many games by the batched search.

    python benchmarks/analysis.py                       # three games, two minutes
    python benchmarks/analysis.py --games osiron --seconds 5

Both have the game's shipped network and the same cores; caches are empty at first. One position is
searched by `TreeSearch`, whose threads share one tree and a cache of 16 MB. Many games are searched
by a `BatchSearch` for each core, with 128 positions, an equal share of 16 MB, and 64 simulations
for each move. The two take turns, because the speed of a machine changes from one second to the
next. The table has simulations/s and their ratio, as medians of the rounds, and the ratio's range.
At a ratio of 1, one position is searched as fast as many.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from common import Row, new_parser, print_table

from ludarium.base.threads import available_cores, parallel_for
from ludarium.envs import make_game
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.models import InferenceEngine, load_checkpoint
from ludarium.models.inference import torch_threads
from ludarium.models.network import PolicyValueNetwork
from ludarium.training.agents.checkpoints import shipped_agent
from ludarium.training.evaluation.openings import draw_openings
from ludarium.training.networks import inference_engine
from ludarium.training.search import BatchSearch, Budget, SearchSettings, TreeSearch
from ludarium.training.search.tree_search import new_batches

GAMES = ["corso", "onyx", "obelisk"]
POSITIONS = 128  # in a batched search
SIMULATIONS = 64  # for each of its moves
CACHE = 16.0  # megabytes, for all cores together
_PLIES = (0, 3, 6, 9)  # random plies before the searched positions


def main() -> None:
    parser = new_parser(__doc__, GAMES)
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of each measurement")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--threads", type=int, default=available_cores())
    given = parser.parse_args()
    if given.quick:
        given.games, given.seconds, given.rounds = given.games[:1], 0.2, 2
    print_table(
        (row(name, given.threads, given.seconds, given.rounds) for name in given.games), given.json
    )


def row(name: str, threads: int, seconds: float, rounds: int) -> Row:
    """The figures of one game."""
    path = shipped_agent(name)
    if path is None:
        raise ValueError(f"there is no shipped agent of {name}")
    checkpoint = load_checkpoint(path)
    game = make_game(name, **checkpoint.options)
    return measure(game, checkpoint.network, threads, seconds, rounds)


def measure(
    game: Game, network: PolicyValueNetwork, threads: int, seconds: float, rounds: int
) -> Row:
    """The figures of a network."""
    with torch_threads(1):
        engine = inference_engine(game, network, POSITIONS)
    states = [
        draw_openings(game, POSITIONS, plies, np.random.SeedSequence(plies)).states
        for plies in _PLIES
    ]
    many = _Many(game, engine, threads)
    many.speed(states[0], 0.0)  # compiles, as does the next line
    speed_of_one(game, states[0][:1], engine, threads, 0.01)
    one_speeds, many_speeds = [], []
    for number in range(rounds):
        chosen = states[number % len(states)]
        one_speeds.append(speed_of_one(game, chosen[number : number + 1], engine, threads, seconds))
        many_speeds.append(many.speed(chosen, seconds))
    ratios = [one / all_ for one, all_ in zip(one_speeds, many_speeds, strict=True)]
    return {
        "game": game.name,
        "backend": engine.backend,
        "one position": statistics.median(one_speeds),
        "many games": statistics.median(many_speeds),
        "ratio": statistics.median(ratios),
        "from": min(ratios),
        "to": max(ratios),
    }


def speed_of_one(
    game: Game, state: np.ndarray, engine: InferenceEngine, threads: int, seconds: float
) -> float:
    """Simulations/s in one position; the search begins again when the value is proven."""
    simulations, spent = 0, 0.0
    while spent < seconds:
        search = TreeSearch(game, state, engine, batches=new_batches(game, threads, cache=CACHE))
        started = time.perf_counter()
        search.think(Budget(seconds=seconds - spent))
        spent += time.perf_counter() - started
        simulations += search.simulations
    return simulations / spent


class _Many:
    """Batched searches, one for each thread."""

    def __init__(self, game: Game, engine: InferenceEngine, threads: int) -> None:
        self._game = game
        self._engine = engine
        self._threads = threads
        settings = SearchSettings(simulations=SIMULATIONS)
        self._searches = [
            BatchSearch(game, settings, POSITIONS, seed=0, cache=CACHE / threads)
            for _ in range(threads)
        ]

    def speed(self, states: np.ndarray, seconds: float) -> float:
        """Simulations/s; each search plays its moves and goes on from there."""
        done = [0] * self._threads
        started = time.perf_counter()

        def share(begin: int, end: int) -> None:
            for number in range(begin, end):
                search, current = self._searches[number], states.copy()
                search.forget()
                while True:
                    result = search.run(current, self._engine)
                    done[number] += result.simulations
                    if time.perf_counter() - started >= seconds:
                        break
                    current = self._after(current, result.actions, states)

        parallel_for(share, self._threads, self._threads)
        return sum(done) / (time.perf_counter() - started)

    def _after(self, states: np.ndarray, actions: np.ndarray, first: np.ndarray) -> np.ndarray:
        """The positions after these actions; a finished game begins again."""
        after = states.copy()
        for index, action in enumerate(actions):
            position = Position.of_state(self._game, states[index])
            position.play(action)
            after[index] = first[index] if position.is_over else position.states[0]
        return after


if __name__ == "__main__":
    main()
