"""What is drawn: each argument has its effect, each seed its own numbers, and each part its own."""

from __future__ import annotations

import ast
import inspect
import json
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import torch

from ludarium.arena.contest import Tournament, play_contest
from ludarium.arena.ladder import find_ladder
from ludarium.arena.level import LevelAgent
from ludarium.arena.report import ReportSettings
from ludarium.base.progress import SILENT
from ludarium.configs.schema import NetworkConfig
from ludarium.envs import make_game
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position, contents_of
from ludarium.training.agents import Agent, make_agent
from ludarium.training.alphazero import loop
from ludarium.training.alphazero.actors import LocalActors, Weights, search_settings
from ludarium.training.alphazero.samples import sample_dtype
from ludarium.training.alphazero.variants import VariantPacker
from ludarium.training.evaluation import MatchResult
from ludarium.training.networks import fresh_network
from ludarium.training.search import Budget
from tests.tictactoe import TicTacToe
from tests.tiny_runs import ALPHAZERO, TinyRuns

ROOT = Path(__file__).parents[1]
SMALL, OSIRON = make_game("corso", size=3), make_game("osiron", setup="random")
SHIPPED = make_game("corso")
MIDDLE = "1O1/3/1X1 0"
RUNS = TinyRuns("corso/demo", (*ALPHAZERO, "bootstrap={positions: 40}"))

NETWORK = fresh_network(SMALL, NetworkConfig(channels=2, blocks=1))
ANCHORS = {"random": 0.0, "greedy": 400.0}
LEGAL = sorted({*OSIRON.start(1).legal_actions} & {*OSIRON.start(2).legal_actions})
REPORT = ReportSettings(
    **{"games": 6, "playouts": (5, 10), "rungs": (5, 10), "opening_playouts": 8},
    **{"value_playouts": 6, "positions": 100},
)

#: What functions work on, and how that is shown or read: nothing of it is drawn.
SUBJECTS = {"game", "network", "digest", "ladder", "dtype", "progress", "from_file"}


def plainly(value: Any) -> Any:
    """A result without times, as what can be compared."""
    if isinstance(value, Game):
        return str(value)
    if isinstance(value, Path | Position):
        return getattr(value, "text", str(value))
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return [(key, plainly(each)) for key, each in value.items() if key != "seconds"]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plainly(each) for each in value]
    if hasattr(value, "as_json"):
        return plainly(value.as_json())
    if is_dataclass(value):
        names = (each.name for each in fields(value) if each.name not in ("date", "seconds"))
        return [(name, plainly(getattr(value, name))) for name in names]
    return value


class Unplayed:
    """Games that are not played: the first player wins two of three, a little by what was asked."""

    def __init__(self, asked: Any, games: int) -> None:
        wins = (2 * games + crc32(repr(asked).encode()) % 2) // 3
        self.result = MatchResult(wins, 0, games - wins)

    def __len__(self) -> int:
        return self.result.games

    def as_json(self) -> MatchResult:
        return self.result


class Matches(list):
    """Takes the place of `play_match` in a module, and keeps what is asked of it."""

    def __call__(
        self, game: Any, first: Any, second: Any, games: int, seed: int, **_: Any
    ) -> Unplayed:
        who = [
            (each, plainly(each.params))
            if isinstance(each, LevelAgent)
            else getattr(each, "name", each)
            for each in (first, second)
        ]
        self.append((str(game), [str(each) for each in who], games, seed))
        return Unplayed(self[-1], games)


def moves_of(agent: Agent) -> Any:
    states = np.repeat(SMALL.start().states, 20)
    if isinstance(agent, Agent):
        for number in range(0, 20, 2):
            states[number : number + 1] = SMALL.start(0, "3/1O1/3 1").states
    return agent.name, agent.actions(states).tolist()


def contest(**given: Any) -> Any:
    """The records of a contest, in any order."""
    with TemporaryDirectory() as folder:
        play_contest(folder=folder, **given)
        lines = (Path(folder) / "games.jsonl").read_text().splitlines()
    return sorted([plainly(json.loads(line)) for line in lines], key=repr)


def without_settings(report: Any) -> Any:
    return {name: each for name, each in report.data.items() if name not in ("seed", "settings")}


def flat_network(seed: int = 1) -> torch.nn.Module:
    torch.manual_seed(seed)
    size = int(np.prod(SMALL.observation_shape))
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(size, SMALL.num_actions))


#: A function by its place; its arguments; and other ones, each of which changes the result. One
#: with a point is a field of the one before. What is called makes an argument.
FUNCTIONS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "training.evaluation.match.play_match",
        {"game": SMALL, "first": "random", "second": "greedy", "games": 4, "seed": 1},
        {
            **{"first": "greedy", "second": "random", "games": 6, "seed": 2},
            **{"opening_plies": 3, "openings": (MIDDLE,)},
        },
    ),
    (
        "training.evaluation.openings.draw_openings",
        {"game": SMALL, "count": 6, "plies": 2, "seed": 1},
        {"count": 7, "plies": 3, "seed": 2, "positions": [MIDDLE]},
    ),
    (
        "training.evaluation.anchors.measure_ratings",
        {"game": SMALL, "players": ["random", "greedy"], "games": 12},
        {"players": ["greedy"], "games": 14, "known": {"random": 5.0}, "seed": 2},
    ),
    (
        "training.evaluation.anchors.play_anchors",
        {"game": SMALL, "agent": make_agent("uct:3", SMALL), "games": 16, "anchors": ANCHORS},
        {
            **{"agent": make_agent("uct:4", SMALL), "anchors": {"random": 9.0}, "games": 18},
            **{"guess": 900.0, "seed": 2},
        },
    ),
    (
        "training.alphazero.bootstrap.bootstrap_samples",
        {"game": SMALL, "config": RUNS.config(), "seed": lambda: np.random.SeedSequence(1)}
        | {"dtype": sample_dtype(SMALL), "progress": SILENT},
        {
            "config": RUNS.config("bootstrap.playouts=9"),
            "seed": lambda: np.random.SeedSequence(2),
        },
    ),
    (
        "training.networks.random_observations",
        {"game": SMALL, "count": 70, "seed": 1},
        {"count": 71, "seed": 2},
    ),
    (
        "training.agents.names.make_agent",
        {"name": "random", "game": SMALL, "seed": 1},
        {"name": "greedy", "seed": 2},
    ),
    (
        "training.agents.names.as_agent",
        {"player": flat_network, "game": SMALL, "seed": 1, "temperature": 1.0},
        {
            **{"player": flat_network(2), "seed": 2, "name": "I", "temperature": 0.1},
            **{"canonical": True},
        },
    ),
    (
        "training.tuning.study.run_folder",
        {"folder": Path("a"), "number": 1, "seed": 1},
        {"folder": Path("b"), "number": 2, "seed": 2},
    ),
    (
        "arena.calibration.calibrate",
        {"game": SMALL, "network": NETWORK, "digest": "0" * 64, "simulations": 16, "games": 40},
        {"simulations": 32, "games": 44, "levels": 3, "seed": 2},
    ),
    (
        "arena.calibration.check_steps",
        {"game": SMALL, "network": NETWORK, "ladder": find_ladder(SHIPPED)},
        {"games": 44, "seed": 3},
    ),
    (
        "arena.contest.play_contest",
        {"game": SMALL, "plan": Tournament(("random", "greedy", "uct:3"), games=4)},
        {
            **{"plan.agents": ("random", "greedy"), "plan.games": 6, "plan.seed": 2},
            **{"plan.gauntlet": ("random",), "plan.opening_plies": 4},
            **{"plan.positions": (MIDDLE,)},
        },
    ),
    (
        "arena.report.report.make_report",
        {"game": TicTacToe(), "settings": REPORT},
        {
            **{"settings.games": 8, "settings.seed": 2, "settings.agent": "uct:12"},
            **{"settings.playouts": (6, 12), "settings.rungs": (3, 6)},
            **{"settings.opening_playouts": 9, "settings.value_playouts": 7},
            **{"settings.positions": 5},
        },
    ),
    (
        "arena.report.games.random_games",
        {"game": SMALL, "count": 9, "seed": 1},
        {"count": 8, "seed": 2},
    ),
    (
        "arena.report.value_sources.playout_values",
        {"game": SMALL, "playouts": 9, "seed": 1},
        {"playouts": 10, "seed": 2},
    ),
    (
        "language.evaluation.rate",
        {"agent": make_agent("random", SHIPPED), "within": 1, "most": 20},
        {"agent": make_agent("greedy", SHIPPED), "within": 900, "most": 16, "seed": 2},
    ),
    (
        "language.evaluation.exact_sets",
        {"game": SMALL, "count": 6, "seed": 1},
        {"count": 7, "seed": 2},
    ),
    (
        "analysis.exact_tests.positions.make_exact_test",
        {"game": SMALL, "count": 8},
        {
            **{"count": 9, "seed": 2, "agent": make_agent("greedy", SMALL), "limit": 9},
            **{"only_choices": True, "only_hard": True},
        },
    ),
    (
        "analysis.games.analyse_game",
        {
            "game": OSIRON,
            "seed": 1,
            "actions": LEGAL[:1],
            "agent": make_agent("alphabeta:1", OSIRON),
        },
        {"seed": 2, "actions": LEGAL[1:2], "agent": make_agent("alphabeta:2", OSIRON)},
    ),
    (
        "analysis.games.analyse_game",
        {"game": SMALL, "seed": 1, "actions": [0], "agent": lambda: make_agent("uct:9", SMALL, 1)},
        {"budget": Budget(simulations=30), "start": MIDDLE},
    ),
    ("analysis.search.solver.random_factors", {"words": 4, "seed": 1}, {"words": 5, "seed": 2}),
]

#: How else functions are called, or what is seen of their results.
CALLS: dict[str, Callable[..., Any]] = {"play_contest": contest}
SEEN: dict[str, Callable[[Any], Any]] = {
    **{"make_agent": moves_of, "as_agent": moves_of, "make_report": without_settings},
    "playout_values": lambda source: source.values(SMALL.start().states),
}
#: Functions that play hundreds of games, of which only what is asked is seen.
UNPLAYED = ("measure_ratings", "play_anchors", "calibrate", "check_steps", "rate")
#: Functions whose arguments come from others or go to others, and arguments that need a trained
#: network.
ELSEWHERE = {
    *("play_matches", "make_puzzles", "agent_script", "rate_anchors"),
    *("simulations", "opening_simulations"),
}


def generators(patch: pytest.MonkeyPatch) -> list[tuple]:
    """The seeds of generators that are made from now on.

    Those of intervals and of tables of keys are always the same, and new agents are restarted.
    """
    make, found = np.random.default_rng, []

    def made(seed: Any = None) -> np.random.Generator:
        caller, before = sys._getframe(1).f_code, sys._getframe(2).f_code
        file = Path(caller.co_filename).stem
        is_drawn = file not in ("statistics", "solver", "kernels") and before.co_name != "__init__"
        if seed is not None and is_drawn:
            sequence = (
                seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
            )
            found.append(tuple(sequence.generate_state(4)))
        return make(seed)

    patch.setattr(np.random, "default_rng", made)
    return found


@cache
def called(number: int, changed: str = "", again: int = 0) -> tuple[Any, list[Any]]:
    """What a function returns, and the seeds of the parts of its work, whichever comes first."""
    place, usual, others = FUNCTIONS[number]
    name, given = place.rpartition(".")[2], dict(usual)
    whole, _, part = changed.partition(".")
    if changed:
        given[whole] = replace(given[whole], **{part: others[changed]}) if part else others[changed]
    for argument, value in given.items():
        if inspect.isfunction(value):
            given[argument] = value()
    matches: Matches | None = None
    with pytest.MonkeyPatch.context() as patch:
        seeds = generators(patch)
        if name in UNPLAYED:
            matches = Matches()
            patch.setattr(f"ludarium.{place.rpartition('.')[0]}.play_match", matches)
        call = CALLS.get(name) or pkgutil.resolve_name(f"ludarium.{place}")
        try:
            result = SEEN.get(name, plainly)(call(**given))
        except ValueError as error:
            if matches is None:
                raise
            result = str(error)  # matches that are not played may make no sense
    if matches is None:
        return plainly(result), sorted(seeds, key=repr)
    played = sorted(matches, key=repr)
    return [plainly(result), *played], [seed for *_, seed in played]


@pytest.mark.parametrize(
    ("number", "argument"),
    [(number, name) for number, (*_, others) in enumerate(FUNCTIONS) for name in others],
    ids=lambda each: each if isinstance(each, str) else FUNCTIONS[each][0].rpartition(".")[2],
)
def test_an_argument_changes_the_result(number, argument):
    assert called(number, argument)[0] != called(number)[0]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)), ids=lambda each: FUNCTIONS[each][0])
def test_the_same_arguments_give_the_same_and_each_part_draws_its_own(number):
    result, seeds = called(number)
    assert called(number, again=1) == (result, seeds)
    assert len(set(seeds)) == len(seeds)


def with_seeds() -> Iterator[tuple[str, list[str]]]:
    """Each public function that takes a seed, and its arguments."""
    for room in ("training", "arena", "analysis", "language"):
        for file in (ROOT / room).rglob("*.py"):
            for node in ast.parse(file.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                    names = [each.arg for each in every]
                    if "seed" in names and "kernels" not in file.as_posix():
                        yield node.name, names


def test_every_function_that_takes_a_seed_has_tests_of_its_arguments():
    told: dict[str, set[str]] = {}
    for place, _, others in FUNCTIONS:
        told.setdefault(place.rpartition(".")[2], set()).update(others)
    for name, arguments in with_seeds():
        if name not in ELSEWHERE:
            assert {*arguments} - SUBJECTS - ELSEWHERE - told.get(name, set()) == set(), name
    for plan, name in ((Tournament, "play_contest"), (ReportSettings, "make_report")):
        fields_of = {each.name for each in fields(plan)} - ELSEWHERE
        assert fields_of == {each.partition(".")[2] for each in told[name]}


def test_parts_of_a_run_follow_its_seed_and_each_draws_its_own(tmp_path, monkeypatch):
    """Games of the bootstrap and of self-play, with one network and the same rules twice."""
    networks: list[Weights] = []

    def actors(games: Any, packer: Any, *others: Any) -> LocalActors:
        *others, weights, of_bootstrap, of_play = others
        networks.append(weights)
        first = networks[0].networks, networks[0].calibration_inputs
        twice = Weights(0, *(each * 2 for each in first))
        packer = VariantPacker([SMALL, SMALL])
        games = [(SMALL, 0.5)] * 2
        return LocalActors(games, packer, *others, twice, of_bootstrap, of_play)

    monkeypatch.setattr(loop, "LocalActors", actors)
    found: list[list[bytes]] = []
    for number, seed in enumerate((1, 1, 2)):
        run = RUNS.begun(tmp_path / str(number), f"seed={seed}")
        settings, of_games = search_settings(run.config, 0.0), run.algorithm.actors.by_game
        parts = [actor.bootstrap(SILENT) for actor in of_games]
        parts += [actor.play(settings, (0, 0), SILENT) for actor in of_games]
        run.close()
        found.append([contents_of(part.samples["state"]) for part in parts])
        assert len({*found[-1]}) == 4
    assert found[0] == found[1]
    assert not {*found[0]} & {*found[2]}
