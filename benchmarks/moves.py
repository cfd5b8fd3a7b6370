"""Measures the cost of a move and of self-play, with the shipped networks in both precisions.

    python benchmarks/moves.py                              # two games, a minute
    python benchmarks/moves.py --games osiron --seconds 5

A move is searched one position at a time, on one thread, with an empty cache; the figure is the
median over positions after six random plies. Self-play has one worker with the game's default
configuration (Corso: corso/demo), in simulations per second. Times are processor time, so that
other work on the machine counts less. The precisions take turns.
"""

from __future__ import annotations

import statistics
import time

import msgspec
import numpy as np
from common import Row, new_parser, print_table

from ludarium.base.threads import one_core
from ludarium.configs import AlphaZeroConfig, load_config
from ludarium.envs import make_game
from ludarium.envs.engine.game import Game
from ludarium.models import InferenceEngine
from ludarium.training.agents.checkpoints import shipped_agent
from ludarium.training.alphazero.actors import search_settings
from ludarium.training.alphazero.self_play import SelfPlay
from ludarium.training.evaluation.openings import draw_openings
from ludarium.training.networks import inference_engine, random_observations, stored_network
from ludarium.training.search import BatchSearch, SearchSettings

GAMES = ["corso", "onyx"]
OPTIONS = {"onyx": {"size": 6}}
CONFIGS = {"corso": "corso/demo"}
SIMULATIONS = (100, 800)
BACKENDS = ("compiled", "compiled-int8")
CACHE = 16.0  # megabytes
_PLIES = 6
_POSITIONS = 16
_CHUNK = 2000  # positions of self-play at a time


def main() -> None:
    parser = new_parser(__doc__, GAMES)
    parser.add_argument("--seconds", type=float, default=5.0, help="self-play in each precision")
    given = parser.parse_args()
    if given.quick:
        given.games, given.seconds = given.games[:1], 0.2
    with one_core():
        print_table((row for name in given.games for row in rows(name, given.seconds)), given.json)


def rows(name: str, seconds: float) -> list[Row]:
    """The figures of one game."""
    game = make_game(name, **OPTIONS.get(name, {}))
    path = shipped_agent(name, game.options)
    if path is None:
        raise ValueError(f"there is no shipped agent of {name}")
    network, examples = stored_network(path, game, name), random_observations(game, 512, 0)
    engines = [
        inference_engine(game, network, 1, backend, calibration_inputs=examples)
        for backend in BACKENDS
    ]
    moves = [
        dict(zip(BACKENDS, times_of_moves(game, engines, simulations), strict=True))
        for simulations in SIMULATIONS
    ]
    config = load_config(CONFIGS.get(name, f"{name}/default"))
    assert isinstance(config, AlphaZeroConfig)
    speeds = speeds_of_self_play(game, config, engines, seconds)
    return [
        {
            "game": name,
            "backend": backend,
            **{
                f"{simulations} simulations, ms": milliseconds[backend]
                for simulations, milliseconds in zip(SIMULATIONS, moves, strict=True)
            },
            "self-play, simulations per processor-second": speed,
        }
        for backend, speed in zip(BACKENDS, speeds, strict=True)
    ]


def times_of_moves(game: Game, engines: list[InferenceEngine], simulations: int) -> list[float]:
    """Median milliseconds of a search of one position, by engine."""
    states = draw_openings(game, _POSITIONS, _PLIES, seed=0).states
    settings = SearchSettings(simulations=simulations)
    searches = [BatchSearch(game, settings, 1, seed=0, cache=CACHE) for _ in engines]
    times: list[list[float]] = [[] for _ in engines]
    for number in [0, *range(len(states))]:  # the first one compiles
        for engine, search, own in zip(engines, searches, times, strict=True):
            search.forget()
            started = time.process_time()
            search.run(states[number : number + 1], engine)
            own.append(1000 * (time.process_time() - started))
    return [statistics.median(own[1:]) for own in times]


def speeds_of_self_play(
    game: Game, config: AlphaZeroConfig, engines: list[InferenceEngine], seconds: float
) -> list[float]:
    """Simulations of self-play for each second of processor time, by engine."""
    play = msgspec.structs.replace(config.self_play, positions=_CHUNK)
    settings = search_settings(config, 0.0)
    groups = [SelfPlay(game, play, settings, 1, engine) for engine in engines]
    done, spent = [0] * len(engines), [0.0] * len(engines)
    for number in range(1_000_000):
        for k, (engine, group) in enumerate(zip(engines, groups, strict=True)):
            started = time.process_time()
            result = group.play(settings, engine, np.random.SeedSequence(number))
            if number:  # the first one compiles
                done[k] += result.counts["simulations"]
                spent[k] += time.process_time() - started
        if min(spent) >= seconds:
            break
    return [count / own for count, own in zip(done, spent, strict=True)]


if __name__ == "__main__":
    main()
