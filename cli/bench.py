"""``ludarium bench``: how fast this machine plays random games, evaluates and searches."""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ludarium.configs import AlphaZeroConfig
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import seed_rng
from ludarium.envs.registry import GAMES, make_stored_game
from ludarium.models.inference import torch_threads
from ludarium.training.agents.names import read_trained_agent
from ludarium.training.networks import (
    chosen_architecture,
    fitted,
    fresh_network,
    inference_engine,
    random_observations,
)
from ludarium.training.runs.metrics import metrics_of
from ludarium.training.table import text_table

from .arguments import add_json, add_options, read_seconds
from .common import read_options
from .result import Result
from .train import choose_config

if TYPE_CHECKING:
    from ludarium.models import Checkpoint

_SHARE_ALONE = 0.2  # share of self-play's time for which the network is timed alone

HELP = "measure the speed of this machine"
DESCRIPTION = """\
Measure this machine, one game at a time:
  random plies/s   bare compiled random games on one core
  network/s        positions that the network of the configuration evaluates on all cores
                   (or a GPU), timed between parts of self-play
  simulations/s    of self-play with that network, in the same number format
  cache hits       share of self-play's evaluations that came from its cache; a trained network
                   has more than a fresh one, because its games come back to the same positions
  share            simulations/s over network/s: 1 would be a search without costs; it
                   can be more, because finished, proven and cached positions need no network
  deviation        how far the number format is from float32: the value; the policy, in nats

examples:
  ludarium bench                            all games, with fresh networks
  ludarium bench onyx --option size=6
  ludarium bench corso --agent corso        with the network of the shipped agent
  ludarium bench corso --agent corso --set self_play.cache=0"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "game", nargs="?", metavar="GAME", help=f"one of {', '.join(GAMES)}; default: all"
    )
    parser.add_argument(
        "--agent",
        metavar="AGENT",
        help="take the network of an agent, not a fresh one: a checkpoint, a run's folder, or "
        "a game's name for its shipped agent",
    )
    parser.add_argument("--config", metavar="FILE", help="this and --set: as for `ludarium train`")
    parser.add_argument("--set", action="append", default=[], dest="settings", metavar="KEY=VALUE")
    parser.add_argument(
        "--seconds",
        type=read_seconds,
        default=5,
        help="seconds of self-play for each game (default %(default)s); the other figures take no "
        "longer",
    )
    add_options(parser)
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Measure."""
    from ludarium.models import load_checkpoint

    results = []
    chosen = read_options(given.option)
    checkpoint = None
    if given.agent:
        checkpoint = load_checkpoint(read_trained_agent(given.agent).checkpoint_path(chosen))
        names = [given.game or checkpoint.game]
    else:
        names = [given.game] if given.game else list(GAMES)
    for name in names:
        config, _ = choose_config(name, given.config, given.settings, "alphazero")
        trained_on = checkpoint.options if checkpoint and checkpoint.game == name else {}
        options = config.options | trained_on | chosen
        config = msgspec.structs.replace(config, options=options)
        assert isinstance(config, AlphaZeroConfig)
        given_options = {key: value for key, value in options.items() if key not in trained_on}
        game = make_stored_game(name, trained_on, **(given_options | chosen))
        trained = None if checkpoint is None else fitted(checkpoint, game, given.agent)
        results.append(measure(game, config, given.seconds, trained))
    lines = []
    for result in results:
        network = "x".join(map(str, result["network"].values()))
        size = f"{network} {result['backend']} on {result['device']}"
        lines.append(f"{result['game']} {result['options']}")
        rows = [
            ["random plies/s", f"{result['random_plies_per_second']:,.0f}", "one core"],
            [
                "network/s",
                f"{result['network_per_second']:,.0f}",
                f"{size}, batch {result['batch']}",
            ],
            [
                "simulations/s",
                f"{result['simulations_per_second']:,.0f}",
                f"{result['simulations']} for each move, {result['workers']} workers",
            ],
            [
                "cache hits",
                f"{result['cache_hits']:.2f}",
                f"of the evaluations; {result['evaluations_per_simulation']:.2f} by the network "
                "for each simulation",
            ],
            ["share", f"{result['share']:.2f}", ""],
            [
                "deviation",
                f"{result['value_deviation']:.4f}",
                f"mean error of the value in this number format; {result['policy_deviation']:.4f} "
                "nats of the policy",
            ],
        ]
        lines.append(text_table(None, rows, left=(0, 2)))
    return Result(results, "\n".join(lines))


def measure(
    game: Game, config: AlphaZeroConfig, seconds: float, checkpoint: Checkpoint | None = None
) -> dict[str, Any]:
    """All figures of one game. The network is the checkpoint's, or a fresh one.

    Args:
        game: the rules.
        config: its network (without ``checkpoint``), self-play, backend, device and seed are used.
        seconds: seconds of self-play.
        checkpoint: the network to measure.
    """
    from ludarium.training.alphazero.actors import search_settings
    from ludarium.training.alphazero.self_play import (
        SelfPlay,
        SelfPlayResult,
        choose_threads,
        games_of_worker,
        torch_threads_of_worker,
    )
    from ludarium.training.runs.resources import check_device

    device = check_device(config.device)
    threads = choose_threads(config.self_play, device)
    if checkpoint is not None:
        architecture, network = checkpoint.architecture, checkpoint.network
    else:
        architecture = chosen_architecture(game, config.network)
        network = fresh_network(game, config.network)
    settings = search_settings(config, 0.0)
    batch = games_of_worker(config.self_play, threads)
    inputs = random_observations(game, 512, config.seed)
    with torch_threads(torch_threads_of_worker(threads)):
        engine = inference_engine(game, network, batch, config.backend, device, inputs)
    self_play = SelfPlay(game, config.self_play, settings, threads, engine)
    seeds = map(np.random.SeedSequence, itertools.count(config.seed))
    self_play.play(settings, engine, next(seeds))  # compiles, and spreads games over their phases
    play_seconds, results = 0.0, []
    network_seconds, evaluated = 0.0, 0
    while play_seconds < seconds:
        started = time.perf_counter()
        results.append(self_play.play(settings, engine, next(seeds)))
        spent = time.perf_counter() - started
        play_seconds += spent
        # The speed of a machine may change from one second to the next: so the parts alternate.
        alone, started = 0.0, time.perf_counter()
        while not alone or alone < _SHARE_ALONE * spent:
            engine(inputs)
            evaluated += len(inputs)
            alone = time.perf_counter() - started
        network_seconds += alone
    deviation = engine.deviation(random_observations(game, 512, config.seed + 1))
    counts = SelfPlayResult.joined(results).counts
    network_speed = evaluated / network_seconds
    play_speed = counts["simulations"] / play_seconds
    return {
        "game": game.name,
        "options": dict(game.options),
        "random_plies_per_second": random_speed(game, min(seconds, 3.0)),
        "network_per_second": network_speed,
        "simulations_per_second": play_speed,
        "cache_hits": metrics_of(counts, play_seconds)["cache_hits"],
        "evaluations_per_simulation": counts["evaluations"] / counts["simulations"],
        "share": play_speed / network_speed,
        "simulations": settings.simulations,
        "workers": threads,
        "device": device,
        "batch": batch,
        "network": architecture.described(),
        "backend": engine.backend,
        "policy_deviation": deviation.policy,
        "value_deviation": deviation.value,
    }


def random_speed(
    game: Game, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Plies per second, by a clock, of bare random games on one core."""
    states, counts = game.new_states(1), np.zeros(5, np.int64)
    rng = seed_rng(1)[0]
    arguments = (game.tables, states, rng, game.num_actions)
    game.kernels.random_games(*arguments, 10, counts)
    plies, started = 0, clock()
    while clock() - started < seconds:
        plies += game.kernels.random_games(*arguments, 1000, counts)
    return plies / (clock() - started)
