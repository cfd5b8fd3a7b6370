"""Measures two known games here and in the libraries that others use, in one run on this machine.

    make bench-peers                          # in an environment of its own; a quarter of an hour
    python benchmarks/peers.py --only loop batch --seconds 0.2
    python benchmarks/peers.py --only strength --output docs/results/peers.md    # an hour

Connect Four and Hex 11 x 11 of ``examples/classics`` take turns with PettingZoo's, OpenSpiel's,
Pgx's and EnvPool's, so that other work on the machine meets all alike. All draw legal actions at
random, begin anew where a game ends, and give masks and observations at each step. Everything is
measured on one core, and what uses several also on all of them:

- ``loop``: one game at a time, a call of Python for each step;
- ``batch``: many games at once, with float32 or with the smallest observations (uint8, bool);
- ``memory``: resident memory of a game;
- ``start``: from the start of Python to the first step, without and with code kept from before;
- ``selfplay``: search with a network of 32 channels and 4 blocks: Gumbel AlphaZero here, mctx over
  Pgx, and OpenSpiel's AlphaZero;
- ``learner``: steps of gradient descent of such a network: ours, OpenSpiel's, and optax's;
- ``strength``, only if it is asked for: processor time until an agent beats uct:1000.

The page that it writes says what each figure is. The rows lie beside it as JSON: a run of some
tables replaces these and leaves the others. A picture lies there too.
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
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import numpy as np
from common import Row, new_parser, print_table

CONFIGS = Path(__file__).resolve().parent.parent / "examples" / "classics" / "configs"
PEERS = ("pgx", "jax", "mctx", "envpool", "open_spiel", "flax", "pettingzoo")
OURS, EIGHT_BITS = "ludarium", "ludarium, eight bits"
NETWORK: dict[str, Any] = {"channels": 32, "blocks": 4}
LEARNER_BATCH = 256
NETWORK_BATCH = 256
FROM_PYTHON = "ludarium, actions from Python"
#: Most repeats of what takes seconds each time.
FEW = 3

#: Runs for about this many seconds; returns steps or plies per second.
Measure = Callable[[float], float]


@dataclass(frozen=True)
class Known:
    """A game that the libraries have, by its name in each.

    Attributes:
        title: what people call it.
        pgx, openspiel, envpool, ours, options: its names, and our options.
        batches: how many games mctx searches at once.
        positions: how many positions a turn of our self-play has.
    """

    title: str
    pgx: str
    openspiel: str
    envpool: str
    ours: str
    options: dict[str, Any] = field(default_factory=dict)
    batches: tuple[int, ...] = (16, 128, 1024)
    positions: int = 4096

    def make(self) -> Any:
        """The rules in ludarium."""
        from ludarium.envs import make_game

        return make_game(self.ours, **self.options)


FOUR = Known("Connect Four", "connect_four", "connect_four", "ConnectFour-v1", "connect_four")
HEX = Known(
    "Hex 11 x 11",
    "hex",
    "hex(board_size=11,swap=True)",
    "Hex-v1",
    "hex",
    {"size": 11, "swap_rule": True},
    batches=(16, 128),
    positions=1024,
)
GAMES = (FOUR, HEX)


def main() -> None:
    parser = new_parser(__doc__)
    usual = [name for name in TABLES if name != "strength"]
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=usual)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1, 16, 256, 4096, 16384])
    parser.add_argument("--seconds", type=float, default=0.25, help="duration of a measurement")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--simulations", type=int, default=32, help="of self-play, for each move")
    parser.add_argument("--minutes", type=float, default=25, help="of a run of strength")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page there")
    parser.add_argument("--cores", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.quick:
        given.sizes, given.seconds, given.repeats, given.simulations = [16], 0.05, 1, 4
    if given.cores is None:
        orchestrate(given)
    else:
        (name,) = given.only
        print_table(TABLES[name](given), given.json)


def orchestrate(given: argparse.Namespace) -> None:
    """Run each table in a process on one core, and again on all; write the page."""
    cores = sorted(os.sched_getaffinity(0))
    about = machine(len(cores), given)
    tables: dict[str, Any] = {}
    if given.output is not None and (data := given.output.with_suffix(".json")).exists():
        tables = json.loads(data.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        for count in dict.fromkeys((1, len(cores))):
            for name in given.only:
                if count > 1 and name not in ON_ALL_CORES:
                    continue
                file = Path(folder) / f"{name}-{count}.jsonl"
                command = [sys.executable, __file__, *sys.argv[1:]]
                command += ["--cores", str(count), "--only", name, "--json", str(file)]
                environment = os.environ | {"OMP_NUM_THREADS": str(count)} | jax_cache(folder)
                narrow = partial(os.sched_setaffinity, 0, cores[:count])
                print(f"\n{HEADINGS[name]}, {shown_cores(count)}", flush=True)
                ended = subprocess.run(command, env=environment, preexec_fn=narrow)
                if ended.returncode:
                    raise SystemExit(ended.returncode)
                rows = [json.loads(line) for line in file.read_text().splitlines()]
                tables[f"{name} {count}"] = {"about": about, "rows": rows}
                if given.output is not None:  # each time: a run that is stopped leaves what it has
                    write(tables, given.output)


def write(tables: Mapping[str, Any], output: Path) -> None:
    """Write the page, and beside it its rows and its picture."""
    output.with_suffix(".json").write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")
    has_picture = draw(tables, output.with_suffix(".svg"))
    output.write_text(page(tables, has_picture, output.stem), encoding="utf-8")


def shown_cores(count: int) -> str:
    return "one core" if count == 1 else f"{count} cores"


def jax_cache(folder: str) -> dict[str, str]:
    """The variables with which JAX keeps its compiled code in a folder."""
    return {
        "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def machine(cores: int, given: argparse.Namespace) -> str:
    """The processor, the day, how busy the machine is, the versions, and how it was measured."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    others, busy = busy_cores(), ""
    if others > 0.2:
        busy = f" **Other work took {others:.1f} cores: rates are not for quoting.**"
    versions = ", ".join(f"{each} {version(each)}" for each in PEERS)
    return (
        f"Measured on {time.strftime('%Y-%m-%d')} on {names[0] if names else platform.machine()}, "
        f"{shown_cores(cores)}; Python {platform.python_version()}, {versions}. A rate is the "
        f"median of {given.repeats} measurements of {given.seconds:g} s, of "
        f"{min(FEW, given.repeats)} in self-play, in learning and for the start.{busy}"
    )


def busy_cores() -> float:
    """How many cores other processes use now, in two seconds of waiting; Linux only."""
    ticks = []
    for seconds in (2, 0):
        unused = Path("/proc/stat").read_text().split(maxsplit=6)[4:6]  # idle, or waits for a disk
        ticks.append((sum(map(int, unused)), time.monotonic()))
        time.sleep(seconds)
    (idle, begin), (idle_after, end) = ticks
    return (os.cpu_count() or 1) - (idle_after - idle) / os.sysconf("SC_CLK_TCK") / (end - begin)


def page(tables: Mapping[str, Any], has_picture: bool, stem: str) -> str:
    """The page in Markdown."""
    lines = ["# Beside other libraries", "", "<!-- Made by make bench-peers. -->", "", INTRODUCTION]
    abouts = [table["about"] for table in tables.values()]
    lines += [abouts[0], ""]
    if has_picture:
        lines += [f"![Plies, steps and positions per second of each library]({stem}.svg)", ""]
        lines += ["On one core; of mctx the number of games at once that is best.", ""]
    for name, heading in HEADINGS.items():
        of_name = {key: table for key, table in tables.items() if key.split()[0] == name}
        if not of_name:
            continue
        lines += [f"## {heading}", "", NOTES[name]]
        for key, table in of_name.items():
            rows = table["rows"]
            if table["about"] != abouts[0]:
                lines += [table["about"], ""]
            if len(of_name) > 1 or name in ON_ALL_CORES:
                lines += [f"On {shown_cores(int(key.split()[1]))}:", ""]
            lines += [f"| {' | '.join(rows[0])} |", f"|{'---|' * len(rows[0])}"]
            lines += [f"| {' | '.join(map(shown, row.values()))} |" for row in rows]
            lines.append("")
    return "\n".join(lines)


def shown(value: Any) -> str:
    """A number with three significant digits; everything else as it is."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{float(f'{value:.3g}'):,.10g}"


# The picture.

COLOURS = {
    OURS: "#2f6690",
    EIGHT_BITS: "#81b1d6",
    "Pgx": "#c8553d",
    "mctx with Pgx": "#c8553d",
    "EnvPool": "#588157",
    "OpenSpiel": "#8d6a9f",
    "PettingZoo": "#b08900",
}


def draw(tables: Mapping[str, Any], path: Path) -> bool:
    """Draw batches by size, and bars of loops and self-play, on one core; false: not measured."""
    if not {"loop 1", "batch 1", "selfplay 1"} <= set(tables):
        return False
    from ludarium.analysis.figures import figure_file

    loop, batch, search = (tables[f"{name} 1"]["rows"] for name in ("loop", "batch", "selfplay"))
    with figure_file(path, 10, 8) as figure:
        axes = figure.subplots(2, 2, height_ratios=(1, 1.1))
        for place, game in zip(axes[0], GAMES, strict=True):
            draw_batches(place, game.title, batch)
        draw_bars(axes[1][0], "One game at a time, steps per second", "interface", loop, "linear")
        draw_bars(axes[1][1], "Self-play, positions per second", "game", search, "log")
    return True


def draw_batches(axes: Any, title: str, rows: list[Row]) -> None:
    """Plies per second by the number of games, a line for each library."""
    for row in rows:
        if (row["game"], row["observations"]) == (title, "float32") and row["library"] in COLOURS:
            sizes = [key for key in row if key.replace(",", "").isdigit()]
            colour, label = COLOURS[row["library"]], row["library"]
            numbers = [int(key.replace(",", "")) for key in sizes]
            axes.loglog(numbers, [row[key] for key in sizes], "o-", color=colour, label=label)
            axes.set_xticks(numbers, sizes, fontsize=8)
    axes.minorticks_off()
    axes.set_title(f"{title}, plies per second, float32", fontsize=10)
    axes.set_xlabel("games at once")
    axes.grid()
    axes.legend(frameon=False, fontsize=9)


def draw_bars(axes: Any, title: str, key: str, rows: list[Row], scale: str) -> None:
    """Horizontal bars under a heading for each group, the best of those of one colour."""
    labels: dict[int, str] = {}
    y = 0
    for group in dict.fromkeys((row["game"], row[key]) for row in rows):
        heading = ", ".join(dict.fromkeys(group))
        axes.text(0.01, y, heading, transform=axes.get_yaxis_transform(), va="center", fontsize=9)
        best: dict[str, float] = {}
        for row in rows:
            if (row["game"], row[key]) == group:
                library = max(
                    (each for each in COLOURS if row["library"].startswith(each)), key=len
                )
                best[library] = max(best.get(library, 0.0), row["per second"])
        for library, value in best.items():
            y += 1
            axes.barh(y, value, color=COLOURS[library])
            axes.annotate(
                shown(value),
                (value, y),
                (4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
            labels[y] = library
        y += 1
    axes.set_xscale(scale)
    axes.set_xlim(right=axes.get_xlim()[1] * (1.15 if scale == "linear" else 4))
    axes.set_yticks(list(labels), list(labels.values()), fontsize=9)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    if scale == "linear":
        axes.locator_params(axis="x", nbins=5)
        axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(y - 0.5, -0.8)
    axes.set_title(title, fontsize=10)
    axes.grid(axis="x")


# Measurements.


def turns(measures: Mapping[str, Measure], seconds: float, repeats: int) -> dict[str, list[float]]:
    """The figures of each; they take turns, after a turn to warm up."""
    for measure in measures.values():
        measure(seconds / 5)
    figures: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(repeats):
        for name, measure in measures.items():
            figures[name].append(measure(seconds))
    return figures


def compare(measures: Mapping[str, Measure], seconds: float, repeats: int) -> Iterator[Row]:
    """The median of each, from the lowest to the highest, and its ratio to the first."""
    figures = turns(measures, seconds, repeats)
    first = next(iter(figures.values()))
    for name, found in figures.items():
        ratios = [ours / other for ours, other in zip(first, found, strict=True)]
        yield {
            "library": name,
            "per second": median(found),
            "from - to": f"{shown(min(found))} - {shown(max(found))}",
            "ludarium / it": median(ratios),
        }


def repeated(call: Callable[[], int]) -> Measure:
    """Calls for some seconds; a call returns how much it has done."""

    def measure(seconds: float) -> float:
        done, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            done += call()
        return done / (time.perf_counter() - start)

    return measure


# One game at a time.


def loop_rows(given: argparse.Namespace) -> Iterator[Row]:
    from pettingzoo.classic import connect_four_v3

    from ludarium.envs import make, make_raw

    random = Random(0)
    for face, envs in {
        "PettingZoo, env": (make(FOUR.ours), connect_four_v3.env()),
        "PettingZoo, raw_env": (make_raw(FOUR.ours), connect_four_v3.raw_env()),
    }.items():
        ours, theirs = (repeated(partial(aec_game, env, random)) for env in envs)
        measures = {OURS: ours, "PettingZoo": theirs}
        for row in compare(measures, given.seconds, given.repeats):
            yield {"game": FOUR.title, "interface": face, **row}
    for game in GAMES:
        measures = {
            OURS: repeated(position_game(game, random)),
            "OpenSpiel": repeated(openspiel_game(game, random)),
        }
        for row in compare(measures, given.seconds, given.repeats):
            yield {"game": game.title, "interface": "state of a game", **row}


def drawn(legal: Any, random: Random) -> int:
    """One of the legal actions; numpy's ``choice`` takes longer than a step."""
    return int(legal[int(random.random() * len(legal))])


def aec_game(env: Any, random: Random) -> int:
    """A random game in PettingZoo's loop; returns its steps."""
    env.reset()
    steps = 0
    while env.agents:
        observation, _, terminated, truncated, _ = env.last()
        is_over = terminated or truncated
        mask = observation["action_mask"]
        env.step(None if is_over else drawn(mask.nonzero()[0], random))
        steps += 1
    return steps


def position_game(game: Known, random: Random) -> Callable[[], int]:
    rules = game.make()

    def play() -> int:
        position, steps = rules.start(), 0
        while not position.is_over:
            position.observation()
            position.play(drawn(position.legal_actions, random))
            steps += 1
        return steps

    return play


def openspiel_game(game: Known, random: Random) -> Callable[[], int]:
    import pyspiel

    rules = pyspiel.load_game(game.openspiel)

    def play() -> int:
        state, steps = rules.new_initial_state(), 0
        while not state.is_terminal():
            state.observation_tensor()
            state.apply_action(drawn(state.legal_actions(), random))
            steps += 1
        return steps

    return play


# Many games at once.


def batch_rows(given: argparse.Namespace) -> Iterator[Row]:
    for game in GAMES:
        for dtype in ("float32", "uint8"):
            found: dict[str, list[float]] = {}
            for count in given.sizes:
                measures = {
                    OURS: our_batch(game, count, dtype, given.cores, fused=True),
                    FROM_PYTHON: our_batch(game, count, dtype, given.cores, fused=False),
                    "Pgx": pgx_batch(game, count, dtype),
                    "EnvPool": envpool_batch(game, count, dtype, given.cores),
                }
                calls = {name: repeated(call) for name, call in measures.items()}
                for name, figures in turns(calls, given.seconds, given.repeats).items():
                    found.setdefault(name, []).append(median(figures))
            for name, medians in found.items():
                row: Row = {"game": game.title, "observations": dtype, "library": name}
                row |= {
                    f"{count:,}": each for count, each in zip(given.sizes, medians, strict=True)
                }
                yield row | {"ludarium / it, each at its best": max(found[OURS]) / max(medians)}


def our_batch(game: Known, count: int, dtype: str, threads: int, fused: bool) -> Callable[[], int]:
    from ludarium.envs.batch import BatchEnv

    games = BatchEnv(game.make(), count, threads=threads, observation_dtype=dtype, seed=0)

    def step() -> int:
        if fused:
            games.step_random()
        else:
            games.step(games.random_actions())
        return count

    return step


def pgx_batch(game: Known, count: int, dtype: str) -> Callable[[], int]:
    """A call draws actions, steps, begins finished games anew, and gives the observations."""
    import jax
    import jax.numpy as jnp
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(game.pgx)
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


def envpool_batch(game: Known, count: int, dtype: str, threads: int) -> Callable[[], int]:
    import envpool

    games = envpool.make(
        game.envpool, env_type="gymnasium", num_envs=count, num_threads=threads, seed=0
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

PREFACE = """
from ludarium.envs import make
from ludarium.envs.batch import BatchEnv
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
    environment = os.environ | jax_cache(cache) | {"LUDARIUM_CODE_FOLDER": f"{cache}/ludarium"}
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
        for _ in range(min(FEW, given.repeats)):
            with tempfile.TemporaryDirectory() as folder:
                times = [run(script + "make_games(64)", folder)[1] for _ in range(2)]
            first.append(times[0])
            later.append(times[1])
        yield {"library": name, "cold, s": median(first), "warm, s": median(later)}


# Search.


def selfplay_rows(given: argparse.Namespace) -> Iterator[Row]:
    for game in GAMES:
        measures = {
            OURS: our_selfplay(game, given, "compiled"),
            EIGHT_BITS: our_selfplay(game, given, "compiled-int8"),
        }
        for count in game.batches[: 1 if given.quick else None]:
            measures[f"mctx with Pgx, {count} games"] = repeated(mctx_selfplay(game, given, count))
        if given.cores == 1:
            measures["OpenSpiel"] = repeated(openspiel_selfplay(game, given))
        for row in compare(measures, given.seconds, min(FEW, given.repeats)):
            yield {"game": game.title, **row}


def our_selfplay(game: Known, given: argparse.Namespace, backend: str) -> Measure:
    """Positions of self-play per second."""
    from ludarium.configs import AlphaZeroConfig, apply_settings
    from ludarium.training.alphazero.actors import search_settings
    from ludarium.training.alphazero.self_play import SelfPlay

    rules = game.make()
    config = apply_settings(
        AlphaZeroConfig(game=game.ours, options=game.options),
        [
            f"network={NETWORK}",
            f"self_play.simulations={given.simulations}",
            f"self_play.positions={64 if given.quick else game.positions}",
        ],
    )
    assert isinstance(config, AlphaZeroConfig)
    engine, settings = our_engine(rules, backend), search_settings(config, 0.0)
    games = SelfPlay(rules, config.self_play, settings, given.cores, engine)
    seeds = iter(range(1, 1_000_000))

    def play() -> int:
        result = games.play(settings, engine, np.random.SeedSequence(next(seeds)))
        return len(result.samples)

    return repeated(play)


def our_engine(rules: Any, backend: str) -> Any:
    """The network of self-play, ready to evaluate."""
    from ludarium.configs.schema import NetworkConfig
    from ludarium.training.networks import fresh_network, inference_engine, random_observations

    network = fresh_network(rules, NetworkConfig(**NETWORK))
    inputs = random_observations(rules, 512, 1)
    return inference_engine(rules, network, 1, backend, "cpu", inputs)


def jax_network(env: Any) -> tuple[Any, Callable[[Any, Any], tuple[Any, Any]]]:
    """Weights for a game of Pgx, and the function from weights and observations to answers."""
    import jax
    import jax.numpy as jnp

    channels = NETWORK["channels"]
    shape = (*env.observation_shape[:2], channels)
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 64))

    def weights(*size: int) -> Any:
        return 0.1 * jax.random.normal(next(keys), size)

    network = {
        "stem": weights(3, 3, env.observation_shape[2], channels),
        "body": [weights(3, 3, channels, channels) for _ in range(2 * NETWORK["blocks"])],
        "policy": weights(int(np.prod(shape)), env.num_actions),
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

    return network, evaluate


def mctx_selfplay(game: Known, given: argparse.Namespace, count: int) -> Callable[[], int]:
    """A call searches a position of each game with mctx and plays."""
    import jax
    import jax.numpy as jnp
    import mctx
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(game.pgx)
    network, evaluate = jax_network(env)

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


def openspiel_model(rules: Any) -> Any:
    """The network of OpenSpiel's AlphaZero, with its own settings but for the size."""
    from open_spiel.python.algorithms.alpha_zero.model_nnx import Model

    return Model.build_model(
        "resnet",
        rules.observation_tensor_shape(),
        rules.num_distinct_actions(),
        nn_width=NETWORK["channels"],
        nn_depth=NETWORK["blocks"],
        weight_decay=1e-4,
        learning_rate=1e-3,
        path=None,
    )


def openspiel_selfplay(game: Known, given: argparse.Namespace) -> Callable[[], int]:
    """A call searches a position as an actor of OpenSpiel's AlphaZero does, and plays."""
    import pyspiel
    from open_spiel.python.algorithms import mcts
    from open_spiel.python.algorithms.alpha_zero.evaluator import AlphaZeroEvaluator

    rules = pyspiel.load_game(game.openspiel)
    random = np.random.default_rng(0)
    bot = mcts.MCTSBot(
        rules,
        2,
        given.simulations,
        AlphaZeroEvaluator(rules, openspiel_model(rules)),
        dirichlet_noise=(0.25, 1.0),
        child_selection_fn=mcts.SearchNode.puct_value,
        solve=False,
        dont_return_chance_node=True,
    )
    state = rules.new_initial_state()

    def step() -> int:
        nonlocal state
        children = bot.mcts_search(state).children
        visits = np.array([child.explore_count for child in children])
        state.apply_action(children[random.choice(len(visits), p=visits / visits.sum())].action)
        if state.is_terminal():
            state = rules.new_initial_state()
        return 1

    return step


# Networks.


def network_rows(given: argparse.Namespace) -> Iterator[Row]:
    for game in GAMES:
        measures = {
            OURS: repeated(our_evaluations(game, "compiled")),
            EIGHT_BITS: repeated(our_evaluations(game, "compiled-int8")),
            "JAX": repeated(jax_evaluations(game)),
        }
        for row in compare(measures, given.seconds, given.repeats):
            yield {"game": game.title, **row}


def our_evaluations(game: Known, backend: str) -> Callable[[], int]:
    """A call evaluates a batch; on more cores each takes a part of it, as in self-play."""
    from ludarium.base.threads import available_cores, parallel_for
    from ludarium.training.networks import random_observations

    rules = game.make()
    engine, inputs = our_engine(rules, backend), random_observations(rules, NETWORK_BATCH, 2)
    threads = available_cores()

    def evaluate() -> int:
        parallel_for(lambda begin, end: engine(inputs[begin:end]), NETWORK_BATCH, threads)
        return NETWORK_BATCH

    return evaluate


def jax_evaluations(game: Known) -> Callable[[], int]:
    """The same of the network that mctx searches with."""
    import jax
    import jax.numpy as jnp
    import pgx

    env = pgx.make(game.pgx)
    network, evaluate = jax_network(env)
    compiled, seen = jax.jit(evaluate), jnp.ones((NETWORK_BATCH, *env.observation_shape), bool)

    def step() -> int:
        jax.block_until_ready(compiled(network, seen))
        return NETWORK_BATCH

    return step


# Learning.


def learner_rows(given: argparse.Namespace) -> Iterator[Row]:
    for game in GAMES:
        measures = {
            OURS: repeated(our_learner(game, given.cores)),
            "OpenSpiel": repeated(openspiel_learner(game)),
            "JAX and optax": repeated(optax_learner(game)),
        }
        for row in compare(measures, given.seconds, min(FEW, given.repeats)):
            yield {"game": game.title, **row}


def random_policies(actions: int) -> np.ndarray:
    """Targets of a batch, float32 [`LEARNER_BATCH`, ``actions``]."""
    random = np.random.default_rng(0)
    return random.dirichlet(np.ones(actions), LEARNER_BATCH).astype(np.float32)


def our_learner(game: Known, workers: int) -> Callable[[], int]:
    """A call is one step."""
    from ludarium.configs.schema import LearnerConfig, NetworkConfig
    from ludarium.training.alphazero.exact import UNSOLVED
    from ludarium.training.alphazero.learner import Learner, Losses
    from ludarium.training.alphazero.samples import Batch
    from ludarium.training.networks import fresh_network, random_observations

    rules = game.make()
    network = fresh_network(
        rules, NetworkConfig(channels=NETWORK["channels"], blocks=NETWORK["blocks"])
    )
    learner = Learner(network, LearnerConfig(batch=LEARNER_BATCH), False, "cpu", workers)
    batch = Batch(
        observations=random_observations(rules, LEARNER_BATCH, 1),
        targets={
            "policy": random_policies(rules.num_actions),
            "outcome": np.eye(3, dtype=np.float32)[np.arange(LEARNER_BATCH) % 3],
            "score": np.zeros(LEARNER_BATCH, np.float32),
            "solved": np.full(LEARNER_BATCH, UNSOLVED, np.int8),
        },
        weights=np.ones(LEARNER_BATCH, np.float32),
    )
    losses = Losses()

    def step() -> int:
        learner.learn([batch], 0.5, losses)
        return 1

    return step


def openspiel_learner(game: Known) -> Callable[[], int]:
    """A call is one step of the learner of OpenSpiel's AlphaZero."""
    import jax
    import jax.numpy as jnp
    import pyspiel
    from open_spiel.python.algorithms.alpha_zero.utils import TrainInput

    rules = pyspiel.load_game(game.openspiel)
    model, actions = openspiel_model(rules), rules.num_distinct_actions()
    batch = TrainInput(
        observation=jnp.ones((LEARNER_BATCH, rules.observation_tensor_size()), jnp.float32),
        legals_mask=jnp.ones((LEARNER_BATCH, actions), bool),
        policy=jnp.asarray(random_policies(actions)),
        value=jnp.zeros(LEARNER_BATCH, jnp.float32),
    )

    def step() -> int:
        jax.block_until_ready(model.update(batch).policy)
        return 1

    return step


def optax_learner(game: Known) -> Callable[[], int]:
    """A call is one step of Adam on the network that mctx searches with."""
    import jax
    import jax.numpy as jnp
    import optax
    import pgx

    env = pgx.make(game.pgx)
    network, evaluate = jax_network(env)
    seen = jnp.ones((LEARNER_BATCH, *env.observation_shape), jnp.float32)
    policies = jnp.asarray(random_policies(env.num_actions))
    optimiser = optax.adam(1e-3)

    def loss(network: Any) -> Any:
        logits, values = evaluate(network, seen)
        return optax.softmax_cross_entropy(logits, policies).mean() + (values**2).mean()

    @jax.jit
    def update(network: Any, kept: Any) -> tuple[Any, Any]:
        changes, kept = optimiser.update(jax.grad(loss)(network), kept)
        return optax.apply_updates(network, changes), kept

    kept = optimiser.init(network)

    def step() -> int:
        nonlocal network, kept
        network, kept = update(network, kept)
        jax.block_until_ready(network)
        return 1

    return step


def strength_rows(given: argparse.Namespace) -> Iterator[Row]:
    """Of ``base`` in ``ablations.py`` on Connect Four; see ``strength.py``."""
    from ablations import TINY
    from strength import points_against, reached, train_all

    settings = [
        "bootstrap={positions: 15000, playouts: 400, replay_ratio: 4}",
        "save={every: 5, keep: null}",
    ]
    minutes, games = (0.02, 2) if given.quick else (given.minutes, 100)
    for seed in (1,) if given.quick else (1, 2):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "run"
            config = str(CONFIGS / f"{FOUR.ours}.yaml")
            train_all(config, seed, minutes, folder, TINY if given.quick else settings)
            points = points_against(folder, games)
        yield {
            "library": OURS,
            "seed": seed,
            "minutes": points[-1].seconds / 60,
            "minutes to 90 %": reached(points, "score"),
            "last score, %": 100 * points[-1].estimates["score"].value,
        }


TABLES: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "loop": loop_rows,
    "batch": batch_rows,
    "memory": memory_rows,
    "start": start_rows,
    "selfplay": selfplay_rows,
    "networks": network_rows,
    "learner": learner_rows,
    "strength": strength_rows,
}
ON_ALL_CORES = ("batch", "selfplay", "networks", "learner")
HEADINGS = {
    "loop": "One game at a time: steps per second",
    "batch": "Many games at once: plies per second",
    "memory": "Memory of a game of Connect Four",
    "start": "From the start of Python to the first step of Connect Four",
    "selfplay": "Self-play: positions per second",
    "networks": "The network alone: evaluations per second",
    "learner": "Learning: steps per second",
    "strength": "From nothing to 90 % against uct:1000 in Connect Four",
}
INTRODUCTION = """\
Two games that others have too, Connect Four (7 x 6) and Hex (11 x 11, with the swap rule), in one
run: the games of [examples/classics](../../examples/classics/README.md), Pgx's `connect_four` and
`hex`, EnvPool's `ConnectFour-v1` and `Hex-v1`, OpenSpiel's `connect_four` and `hex` through
Python, PettingZoo's `connect_four_v3`. The libraries take turns; a ratio above 1 says how many
times ludarium is faster. `make bench-peers` makes this page.
"""
NOTES = {
    "loop": """\
Random legal actions; each step gives the mask and the observation. The ratio is the median of the
ratios of each turn. PettingZoo has no Hex.
""",
    "batch": """\
By how many games there are at once. Random legal actions; each step gives masks and observations,
and a game that ends begins anew. `actions from Python`: ludarium draws them in one call and plays
them in another, else both are one call. Pgx and EnvPool have bool observations, which are
converted where float32 is asked for. EnvPool observes for both players, and its actions are drawn
by numpy. The ratio is that of the largest figures of both rows. Observations of many games do not
fit into a core's cache: from there on the memory's speed is the limit, first in float32.
""",
    "memory": """\
Growth of the process's resident memory.
""",
    "start": """\
`cold` has no compiled code from before, `warm` has. Ludarium brings the code of its own games, of
which Corso is one, and compiles Connect Four, which is not among them.
""",
    "selfplay": """\
A position is a move of a game, after a search with 32 simulations and a fresh network of 32
channels and 4 blocks, in float32 unless it says eight bits. Ludarium and mctx
search with Gumbel AlphaZero; ludarium also proves wins and keeps evaluations. OpenSpiel's
AlphaZero evaluates one position at a time with a network that it does not compile, and keeps
evaluations; its convolutions take the last axis of the observation, the columns of the board, for
the planes. It uses more cores by more processes, so it is measured on one. This is the one in
Python: the one in C++ is not built into its package.
""",
    "networks": f"""\
Batches of {NETWORK_BATCH} positions, with the networks of self-play. A search that evaluates a
position in each of its 32 simulations gives at most a 32nd of this in positions of self-play; one
that keeps evaluations, and needs none where a game has ended, may give more.
""",
    "learner": f"""\
Steps of gradient descent on a batch of {LEARNER_BATCH} positions that is ready, float32, with the
networks of self-play. Ludarium's and OpenSpiel's normalise each batch; ludarium's step also clips
gradients and averages weights. `JAX and optax` is Adam on the network without normalisation that
mctx searches with, which is less work. What OpenSpiel's convolutions see of Connect Four has 18
places instead of 42, of Hex 99 instead of 121 (see above): so much less work too.
""",
    "strength": """\
Minutes of processor time of a run of AlphaZero on one core. The agent of every fifth iteration
plays 100 games against UCT with 1,000 playouts, with 32 simulations a move; the goal is reached
where two such agents in turn have it, a dash is never. The other libraries tell no such figure.

    python benchmarks/peers.py --only strength --output docs/results/peers.md

""",
}


if __name__ == "__main__":
    main()
