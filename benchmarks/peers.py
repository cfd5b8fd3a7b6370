"""Measures Connect Four here and in the libraries that others use, in one run on this machine.

    make bench-peers                          # in an environment of its own; half an hour
    python benchmarks/peers.py --output peers.md --seconds 0.2 --only loop batch

The game of ``examples/classics`` takes turns with PettingZoo's, OpenSpiel's, Pgx's and EnvPool's,
so that other work on the machine meets all alike. All draw legal actions at random, begin anew
where a game ends, and give masks and observations at each step. Everything is measured on one core,
and what uses several also on all of them:

- ``loop``: one game at a time, a call of Python for each step;
- ``batch``: many games at once, with float32 or with the smallest observations (uint8, bool);
- ``memory``: resident memory of a game;
- ``start``: from the start of Python to the first step, without and with code kept from before;
- ``selfplay``: search with the same network, of 32 channels and 4 blocks: Gumbel AlphaZero here,
  and mctx over Pgx.

The page that it writes says what each figure is, with medians and the ratio to ludarium's.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from common import Row, new_parser, print_table

ROOT = Path(__file__).resolve().parent.parent
CLASSICS = str(ROOT / "examples" / "classics")
PEERS = ("pgx", "jax", "mctx", "envpool", "open_spiel", "pettingzoo")
OURS = "ludarium"

#: Runs for about this many seconds; returns steps or plies per second.
Measure = Callable[[float], float]


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[1, 16, 256, 4096, 16384])
    parser.add_argument("--seconds", type=float, default=1.0, help="duration of a measurement")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--simulations", type=int, default=32, help="of self-play, for each move")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page there")
    parser.add_argument("--cores", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.quick:
        given.sizes, given.seconds, given.repeats, given.simulations = [16], 0.05, 1, 4
    if given.cores is None:
        orchestrate(given)
        return
    sys.path.insert(0, CLASSICS)
    for name in given.only:
        print_table(TABLES[name](given), given.json)


def orchestrate(given: argparse.Namespace) -> None:
    """Run each table in a process on one core, and again on all; write the page."""
    cores = sorted(os.sched_getaffinity(0))
    rows: dict[tuple[str, int], list[Row]] = {}
    about = machine(len(cores))
    for count in dict.fromkeys((1, len(cores))):
        for name in given.only:
            if count > 1 and name not in ON_ALL_CORES:
                continue
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "rows.jsonl"
                command = [sys.executable, __file__, "--cores", str(count), "--only", name]
                command += ["--json", str(file), "--sizes", *map(str, given.sizes)]
                for key in ("seconds", "repeats", "simulations"):
                    command += [f"--{key}", str(getattr(given, key))]
                environment = os.environ | {"OMP_NUM_THREADS": str(count)}
                narrow = partial(os.sched_setaffinity, 0, cores[:count])
                ended = subprocess.run(command, env=environment, preexec_fn=narrow)
                if ended.returncode:
                    raise SystemExit(ended.returncode)
                lines = file.read_text().splitlines() if file.exists() else []
                rows[name, count] = [json.loads(line) for line in lines]
    if given.output is not None:
        given.output.write_text(page(rows, about), encoding="utf-8")


def machine(cores: int) -> str:
    """The processor, the day, how busy the machine is, and the versions."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    load, busy = os.getloadavg()[0], ""
    if load > 1:
        busy = f" **The machine was busy (load {load:.1f}): the figures are not for quoting.**"
    versions = ", ".join(f"{each} {version(each)}" for each in PEERS)
    return (
        f"Measured on {time.strftime('%Y-%m-%d')} on {names[0] if names else platform.machine()}, "
        f"{cores} cores; Python {platform.python_version()}, {versions}.{busy}"
    )


def page(rows: Mapping[tuple[str, int], list[Row]], about: str) -> str:
    """The page in Markdown."""
    lines = ["# Beside other libraries", "", "<!-- Made by make bench-peers. -->", "", about, ""]
    for (name, cores), found in rows.items():
        if found:
            lines += [f"## {HEADINGS[name]}, {'one core' if cores == 1 else f'{cores} cores'}", ""]
            lines += [f"| {' | '.join(found[0])} |", f"|{'---|' * len(found[0])}"]
            lines += [f"| {' | '.join(map(shown, row.values()))} |" for row in found]
            lines.append("")
    return "\n".join([*lines, NOTES])


def shown(value: Any) -> str:
    """A number with three significant digits; everything else as it is."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{float(f'{value:.3g}'):,.10g}"


def compare(measures: Mapping[str, Measure], given: argparse.Namespace) -> Iterator[Row]:
    """The median of each, and its ratio to the first; they take turns, after a turn to warm up."""
    figures: dict[str, list[float]] = {name: [] for name in measures}
    for measure in measures.values():
        measure(given.seconds / 5)
    for _ in range(given.repeats):
        for name, measure in measures.items():
            figures[name].append(measure(given.seconds))
    first = next(iter(figures.values()))
    for name, found in figures.items():
        ratios = [ours / other for ours, other in zip(first, found, strict=True)]
        yield {"library": name, "per second": median(found), "ludarium / it": median(ratios)}


def repeated(call: Callable[[], int]) -> Measure:
    """Calls for some seconds; a call returns how much it has done."""

    def measure(seconds: float) -> float:
        done, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            done += call()
        return done / (time.perf_counter() - start)

    return measure


def our_game() -> Any:
    """Connect Four, registered."""
    from classics import ConnectFour

    from ludarium.envs import register_game

    register_game(ConnectFour)
    return ConnectFour()


# One game at a time.


def loop_rows(given: argparse.Namespace) -> Iterator[Row]:
    from pettingzoo.classic import connect_four_v3

    from ludarium.envs import make, make_raw

    our_game()
    random = np.random.default_rng(0)
    for face, measures in {
        "PettingZoo, env": (make("connect_four"), connect_four_v3.env()),
        "PettingZoo, raw_env": (make_raw("connect_four"), connect_four_v3.raw_env()),
    }.items():
        ours, theirs = (repeated(partial(aec_game, env, random)) for env in measures)
        for row in compare({OURS: ours, "PettingZoo": theirs}, given):
            yield {"interface": face, **row}
    states = {OURS: position_game(random), "OpenSpiel": openspiel_game(random)}
    for row in compare({name: repeated(game) for name, game in states.items()}, given):
        yield {"interface": "state of one game", **row}


def aec_game(env: Any, random: np.random.Generator) -> int:
    """A random game in PettingZoo's loop; returns its steps."""
    env.reset()
    steps = 0
    while env.agents:
        observation, _, terminated, truncated, _ = env.last()
        is_over = terminated or truncated
        legal = () if is_over else np.flatnonzero(observation["action_mask"])
        env.step(None if is_over else int(random.choice(legal)))
        steps += 1
    return steps


def position_game(random: np.random.Generator) -> Callable[[], int]:
    game = our_game()

    def play() -> int:
        position, steps = game.start(), 0
        while not position.is_over:
            position.observation()
            position.play(int(random.choice(position.legal_actions)))
            steps += 1
        return steps

    return play


def openspiel_game(random: np.random.Generator) -> Callable[[], int]:
    import pyspiel

    game = pyspiel.load_game("connect_four")

    def play() -> int:
        state, steps = game.new_initial_state(), 0
        while not state.is_terminal():
            state.observation_tensor()
            state.apply_action(int(random.choice(state.legal_actions())))
            steps += 1
        return steps

    return play


# Many games at once.


def batch_rows(given: argparse.Namespace) -> Iterator[Row]:
    for dtype in ("float32", "uint8"):
        for count in given.sizes:
            measures = {
                OURS: repeated(our_batch(count, dtype, given.cores, fused=True)),
                "ludarium, actions from Python": repeated(
                    our_batch(count, dtype, given.cores, fused=False)
                ),
                "Pgx": repeated(pgx_batch(count, dtype)),
                "EnvPool": repeated(envpool_batch(count, dtype, given.cores)),
            }
            for row in compare(measures, given):
                yield {"observations": dtype, "games": count, **row}


def our_batch(count: int, dtype: str, threads: int, fused: bool) -> Callable[[], int]:
    from ludarium.envs.batch import BatchEnv

    games = BatchEnv(our_game(), count, threads=threads, observation_dtype=dtype, seed=0)

    def step() -> int:
        if fused:
            games.step_random()
        else:
            games.step(games.random_actions())
        return count

    return step


def pgx_batch(count: int, dtype: str) -> Callable[[], int]:
    """A call draws actions, steps, begins finished games anew, and gives the observations."""
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make("connect_four")
    key = jax.random.PRNGKey(0)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, count))
    restarting = jax.vmap(auto_reset(env.step, env.init))

    @jax.jit
    def advance(state: Any, key: Any) -> Any:
        key, draw, again = jax.random.split(key, 3)
        logits = jnp.where(state.legal_action_mask, 0.0, -1e9)
        state = restarting(
            state, jax.random.categorical(draw, logits), jax.random.split(again, count)
        )
        seen = state.observation.astype(jnp.float32) if dtype == "float32" else state.observation
        return state, key, seen

    def step() -> int:
        nonlocal state, key
        state, key, seen = advance(state, key)
        seen.block_until_ready()
        return count

    return step


def envpool_batch(count: int, dtype: str, threads: int) -> Callable[[], int]:
    import envpool

    games = envpool.make(
        "ConnectFour-v1", env_type="gymnasium", num_envs=count, num_threads=threads, seed=0
    )
    random = np.random.default_rng(0)
    mask = games.reset()[1]["legal_action_mask"]

    def step() -> int:
        nonlocal mask
        actions = (mask * random.random(mask.shape, np.float32)).argmax(axis=1)
        seen, _, _, _, info = games.step(actions.astype(np.int32))
        mask = info["legal_action_mask"]
        if dtype == "float32":
            seen.astype(np.float32)
        return count

    return step


# Memory and start: each in a process of its own.

PREFACE = f"""
import sys
sys.path.insert(0, {CLASSICS!r})
from classics import ConnectFour
from ludarium.envs import make, register_game
from ludarium.envs.batch import BatchEnv
register_game(ConnectFour)
"""
PGX = """
import jax, pgx
env = pgx.make("connect_four")
init, step = jax.jit(jax.vmap(env.init)), jax.jit(jax.vmap(env.step))
def make_games(count):
    state = init(jax.random.split(jax.random.PRNGKey(0), count))
    state = step(state, jax.numpy.zeros(count, jax.numpy.int32))
    state.observation.block_until_ready()
    return state
"""
#: How each library makes many games and steps once.
MAKERS = {
    "ludarium, batch": PREFACE
    + """
def make_games(count):
    games = BatchEnv("connect_four", count, seed=0)
    games.step_random()
    return games
""",
    "ludarium, PettingZoo": PREFACE
    + """
def make_games(count):
    found = [make("connect_four") for _ in range(count)]
    for env in found:
        env.reset(); env.last(); env.step(0)
    return found
""",
    "Pgx": PGX,
    "EnvPool": """
import envpool, numpy
def make_games(count):
    games = envpool.make("ConnectFour-v1", env_type="gymnasium", num_envs=count)
    games.reset(); games.step(numpy.zeros(count, numpy.int32))
    return games
""",
    "OpenSpiel": """
import pyspiel
game = pyspiel.load_game("connect_four")
def make_games(count):
    found = [game.new_initial_state() for _ in range(count)]
    for state in found:
        state.observation_tensor(); state.legal_actions(); state.apply_action(0)
    return found
""",
    "PettingZoo": """
from pettingzoo.classic import connect_four_v3
def make_games(count):
    found = [connect_four_v3.env() for _ in range(count)]
    for env in found:
        env.reset(); env.last(); env.step(0)
    return found
""",
}
#: The same for a game that comes with its machine code.
SHIPPED = """
from ludarium.envs.batch import BatchEnv
def make_games(count):
    games = BatchEnv("corso", count, seed=0)
    games.step_random()
    return games
"""
RESIDENT = """
import os
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
few = make_games(16)
before = resident()
many = make_games(COUNT)
print((resident() - before) / COUNT)
"""


def run(script: str, cache: str) -> tuple[str, float]:
    """What a process prints, and how long it takes, with kept code in the folder ``cache``."""
    environment = os.environ | {
        "LUDARIUM_CODE_FOLDER": f"{cache}/ludarium",
        "JAX_COMPILATION_CACHE_DIR": f"{cache}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    start = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    if ended.returncode:
        raise SystemExit(f"{script}\n{ended.stderr}")
    return ended.stdout, time.perf_counter() - start


def memory_rows(given: argparse.Namespace) -> Iterator[Row]:
    count = given.sizes[-1]
    with tempfile.TemporaryDirectory() as folder:
        for name, script in MAKERS.items():
            singly = name in ("ludarium, PettingZoo", "OpenSpiel", "PettingZoo")
            games = min(count, 2048) if singly else count
            told, _ = run(script + RESIDENT.replace("COUNT", str(games)), folder)
            yield {"library": name, "games": games, "bytes a game": float(told)}


def start_rows(given: argparse.Namespace) -> Iterator[Row]:
    ours = {"ludarium, a shipped game (Corso), batch": SHIPPED}
    for name, script in (ours | MAKERS).items():
        first, later = [], []
        for _ in range(given.repeats):
            with tempfile.TemporaryDirectory() as folder:
                times = [run(script + "make_games(64)", folder)[1] for _ in range(2)]
            first.append(times[0])
            later.append(times[1])
        yield {"library": name, "cold, s": median(first), "warm, s": median(later)}


# Search.


def selfplay_rows(given: argparse.Namespace) -> Iterator[Row]:
    measures = {
        OURS: our_selfplay(given, "compiled"),
        "ludarium, eight bits": our_selfplay(given, "compiled-int8"),
    }
    for count in sorted({min(size, 1024) for size in given.sizes if size > 1}):
        measures[f"mctx with Pgx, {count} games"] = repeated(mctx_selfplay(given, count))
    yield from compare(measures, given)


def our_selfplay(given: argparse.Namespace, backend: str) -> Measure:
    """Positions of self-play per second."""
    from ludarium.configs import AlphaZeroConfig, apply_settings
    from ludarium.training.alphazero.actors import search_settings
    from ludarium.training.alphazero.self_play import SelfPlay
    from ludarium.training.networks import fresh_network, inference_engine, random_observations

    game = our_game()
    config = apply_settings(
        AlphaZeroConfig(game="connect_four"),
        ["network={channels: 32, blocks: 4}", f"self_play.simulations={given.simulations}"],
    )
    assert isinstance(config, AlphaZeroConfig)
    inputs = random_observations(game, 512, 1)
    network = fresh_network(game, config.network)
    engine = inference_engine(game, network, 1, backend, "cpu", inputs)
    settings = search_settings(config, 0.0)
    games = SelfPlay(game, config.self_play, settings, given.cores, engine)
    seeds = iter(range(1, 1_000_000))

    def measure(seconds: float) -> float:
        done, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            result = games.play(settings, engine, np.random.SeedSequence(next(seeds)))
            done += len(result.samples)
        return done / (time.perf_counter() - start)

    return measure


def mctx_selfplay(given: argparse.Namespace, count: int) -> Callable[[], int]:
    """A call searches a position of each game with mctx and plays."""
    import jax
    import jax.numpy as jnp
    import mctx
    import pgx
    from pgx.experimental import auto_reset

    env, channels, blocks = pgx.make("connect_four"), 32, 4
    shape, actions = (*env.observation_shape[:2], channels), env.num_actions
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 64))

    def weights(*size: int) -> Any:
        return 0.1 * jax.random.normal(next(keys), size)

    network = {
        "stem": weights(3, 3, env.observation_shape[2], channels),
        "body": [weights(3, 3, channels, channels) for _ in range(2 * blocks)],
        "policy": weights(int(np.prod(shape)), actions),
        "value": weights(int(np.prod(shape)), 1),
    }

    def convolved(x: Any, kernel: Any) -> Any:
        layout = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout)

    def evaluate(network: Any, observation: Any) -> tuple[Any, Any]:
        x = jax.nn.relu(convolved(observation.astype(jnp.float32), network["stem"]))
        for first, second in zip(network["body"][::2], network["body"][1::2], strict=True):
            x = jax.nn.relu(x + convolved(jax.nn.relu(convolved(x, first)), second))
        x = x.reshape(len(x), -1)
        return x @ network["policy"], jnp.tanh(x @ network["value"])[:, 0]

    def recurrent(network: Any, key: Any, action: Any, state: Any) -> Any:
        player = state.current_player
        state = jax.vmap(env.step)(state, action)
        logits, value = evaluate(network, state.observation)
        logits = jnp.where(state.legal_action_mask, logits, -1e9)
        reward = state.rewards[jnp.arange(count), player]
        output = mctx.RecurrentFnOutput(
            reward=reward,
            discount=jnp.where(state.terminated, 0.0, -1.0),
            prior_logits=logits,
            value=jnp.where(state.terminated, 0.0, value),
        )
        return output, state

    restarting = jax.vmap(auto_reset(env.step, env.init))

    @jax.jit
    def advance(network: Any, state: Any, key: Any) -> tuple[Any, Any]:
        key, search, again = jax.random.split(key, 3)
        logits, value = evaluate(network, state.observation)
        found = mctx.gumbel_muzero_policy(
            network,
            search,
            mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state),
            recurrent,
            num_simulations=given.simulations,
            invalid_actions=~state.legal_action_mask,
        )
        return restarting(state, found.action, jax.random.split(again, count)), key

    key = jax.random.PRNGKey(1)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, count))

    def step() -> int:
        nonlocal state, key
        state, key = advance(network, state, key)
        state.observation.block_until_ready()
        return count

    return step


TABLES: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "loop": loop_rows,
    "batch": batch_rows,
    "memory": memory_rows,
    "start": start_rows,
    "selfplay": selfplay_rows,
}
ON_ALL_CORES = ("batch", "selfplay")
HEADINGS = {
    "loop": "One game at a time, steps",
    "batch": "Many games at once, plies",
    "memory": "Memory",
    "start": "From the start of Python to the first step",
    "selfplay": "Self-play, positions",
}
NOTES = """\
All play Connect Four on 7 x 6: the game of [examples/classics](../../examples/classics/README.md),
PettingZoo's `connect_four_v3`, OpenSpiel's `connect_four` through Python, Pgx's `connect_four`,
EnvPool's `ConnectFour-v1`. They take turns, and the ratio is the median of the ratios of each turn.
Actions are random legal ones; each step gives masks and observations. Pgx and EnvPool have bool
observations, which are converted where float32 is asked for. EnvPool observes for both players, and
its actions are drawn by numpy. `cold` has no compiled code from before: ludarium brings code of its
own games, and compiles this one. Self-play: ludarium proves wins and keeps evaluations, mctx does
not; a position is a move of a game, after a search with the same number of simulations.
"""


if __name__ == "__main__":
    main()
