"""Learning curves: how strong a run's successive agents were, and how often their moves were exact.

`measure_curves` measures each agent that a run has kept (``save`` of its configuration), and the
latest one, as an evaluation during training would. Results are kept in the run's folder, so the
same call later measures only agents that are new; but games against an opponent that may change
under its name, such as a program, are played again. A call that names other opponents plays new
games with all agents, but repeats no exact test.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ludarium.analysis.exact_tests import ExactTest, find_exact_test
from ludarium.base.durable import append
from ludarium.base.files import load_json, read_regular_file, sha256_of, sha256_of_file
from ludarium.base.messages import named
from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.game import Game
from ludarium.models import CheckpointHeader, load_header
from ludarium.training.agents import AgentSpec, Needs, read_agent, require_different
from ludarium.training.agents.checkpoints import CheckpointSpec
from ludarium.training.agents.settings import DEFAULT_SIMULATIONS
from ludarium.training.evaluation import IntervalEstimate
from ludarium.training.evaluation.anchors import known_elo, rate_anchors
from ludarium.training.runs.evaluation import AgentEvaluation
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.metrics import ESTIMATES, estimates_of

_LARGEST_FILE = 1 << 30  # bytes


@dataclass(frozen=True)
class CurvePlan:
    """What is to be measured of each agent.

    Attributes:
        against: opponents: one gives a score; several, from the weakest to the strongest, give a
            rating; if empty, no games are played.
        exact_test: exact test in which moves that keep the value are counted, a file or ``hard``;
            None for no test.
        games: how many against all opponents together, an even number.
        simulations: the agent's simulations per move; 0: the policy alone, without search.
        seed: seed of openings and of all agents.
    """

    against: tuple[str, ...] = ()
    exact_test: str | None = None
    games: int = 40
    simulations: int = DEFAULT_SIMULATIONS
    seed: int = 1


@dataclass(frozen=True)
class Point:
    """An agent of a run, and its measurements.

    Attributes:
        iteration: the iteration of the run after which it was saved.
        seconds: seconds of training until then.
        step: how long the network had learnt, in steps of the algorithm.
        found: metrics as in an evaluation during training: ``score`` or ``elo``, and ``accuracy``.
    """

    iteration: int
    seconds: float
    step: int
    found: dict[str, Any]

    @property
    def estimates(self) -> dict[str, IntervalEstimate]:
        """Those of `ESTIMATES` that were measured."""
        return estimates_of(self.found)


@dataclass(frozen=True)
class Curve:
    """The agents of a run, from first to last.

    Attributes:
        run: the run's folder.
        points: the agents with their measurements, one or more.
    """

    run: str
    points: tuple[Point, ...]


def game_of_runs(runs: Sequence[str | os.PathLike[str]]) -> Game:
    """The game that runs have learnt.

    Raises:
        FileNotFoundError: a folder holds no run, or a run has no agent yet.
        ValueError: they have learnt different games, or different options of one game.
    """
    games = [CheckpointSpec(path=RunFolder(run).agent).choose_game({}) for run in runs]
    for run, game in zip(runs, games, strict=True):
        if game != games[0]:
            raise ValueError(
                f"{os.fspath(run)} has learnt {game}, and {os.fspath(runs[0])} {games[0]}: "
                "one picture is of one game"
            )
    return games[0]


def measure_curves(
    runs: Sequence[str | os.PathLike[str]], plan: CurvePlan, progress: Progress = SILENT
) -> list[Curve]:
    """Measure the agents of runs.

    Args:
        runs: their folders; they may still be trained.
        plan: what to measure.
        progress: counts the finished games.

    Raises:
        FileNotFoundError: a folder holds no run, a run has no agent yet, or the file of an opponent
            or of the test is missing.
        ValueError: the runs are of different games; an opponent or the test does not fit; a file of
            a run is no agent that a run has saved; or an opponent's file changes meanwhile.
        ImportError: an opponent needs a package that is not installed.
        StoppedError: ``progress`` was stopped.
        StorageError: a run's folder cannot be written.
    """
    game = game_of_runs(runs)
    exact_test = None if plan.exact_test is None else find_exact_test(plan.exact_test, game)
    specs = [read_agent(name) for name in plan.against]
    require_different(specs)
    for spec in specs:
        spec.make(game)  # check it before any game is played
    opponents = _contents(game, specs)
    folders = [RunFolder(run) for run in runs]
    for folder in folders:
        for path in folder.past_agents():
            with suppress(FileNotFoundError):
                _moment(path, load_header(path))  # check it before any game is played
    caches = [MeasurementCache(folder.curve) for folder in folders]
    anchors: dict[str, float] = {}
    if len(specs) > 1:
        names, known = [str(spec) for spec in specs], known_elo(game)
        what = {"ratings": names, "networks": opponents, "known": known, "seed": plan.seed}
        keep = (lambda measure: measure()) if opponents is None else partial(caches[0].ask, what)
        anchors = rate_anchors(game, names, known, plan.seed, progress, keep)
    against = specs[0] if len(specs) == 1 else specs
    evaluation = AgentEvaluation(against, plan.games, anchors, exact_test, plan.seed)
    return [
        _curve(folder, game, plan, specs, evaluation, opponents, cache, progress)
        for folder, cache in zip(folders, caches, strict=True)
    ]


def _contents(game: Game, specs: Sequence[AgentSpec]) -> dict[str, str] | None:
    """SHA-256 of the files of opponents that have a network, by name.

    Returns:
        None if an opponent may change and keep its name: it is code, or a network whose file is not
        known. No results of games are then kept.
    """
    found = {}
    for spec in specs:
        file = spec.network_file(game)
        if Needs.CODE in spec.needs or (file is None and Needs.NETWORK in spec.needs):
            return None
        if file is not None:
            found[str(spec)] = sha256_of_file(file)
    return found


def _moment(path: Path, header: CheckpointHeader) -> tuple[int, float]:
    """The iteration after which an agent was saved, and the seconds of training until then."""
    iteration, seconds = (header.notes.get(name) for name in ("iteration", "seconds"))
    if not isinstance(iteration, int) or not isinstance(seconds, int | float):
        raise ValueError(f"{named(path)} does not say after which iteration of a run it was saved")
    return iteration, float(seconds)


def _curve(
    folder: RunFolder,
    game: Game,
    plan: CurvePlan,
    specs: Sequence[AgentSpec],
    evaluation: AgentEvaluation,
    opponents: dict[str, str] | None,
    cache: MeasurementCache,
    progress: Progress,
) -> Curve:
    """Measure the agents of one run."""
    paths, points = folder.past_agents(), {}
    names = [str(spec) for spec in specs]
    guess: float | None = None  # each agent is about as strong as the one before
    for number, path in enumerate(paths, 1):
        try:
            header, digest = load_header(path), sha256_of_file(path)
            iteration, seconds = _moment(path, header)
            if iteration in points:
                continue  # the latest agent is among the others too
            agent = CheckpointSpec(path=path, simulations=plan.simulations).make(game)
        except FileNotFoundError:
            continue  # the run has meanwhile removed it
        of_agent = {"agent": digest, "simulations": plan.simulations}
        found: dict[str, Any] = {}
        if specs:
            if _contents(game, specs) != opponents:
                raise ValueError(
                    f"of {', '.join(plan.against)} a network has changed since the games began: "
                    "copy its file, and let the copy play"
                )
            progress.begin(f"{folder.path}: agent {number} of {len(paths)}", plan.games)
            of_games = {
                **of_agent,
                "against": names[0] if len(names) == 1 else names,
                "networks": opponents,
                "games": plan.games,
                "anchors": evaluation.anchors,
                "seed": plan.seed,
            }
            games = replace(evaluation, exact_test=None)
            measure_games = partial(games.of, agent, guess, progress)
            found |= measure_games() if opponents is None else cache.ask(of_games, measure_games)
            if "elo" in found:
                guess = found["elo"]["value"]
        if evaluation.exact_test is not None:
            progress.begin(f"{folder.path}: agent {number} of {len(paths)}, exact test")
            moves = replace(evaluation, against=())
            of_test = {**of_agent, "exact_test": _digest(evaluation.exact_test)}
            found |= cache.ask(of_test, partial(moves.of, agent, None, progress))
        points[iteration] = Point(iteration, seconds, header.step, found)
    if not points:
        raise ValueError(f"{named(folder.path)} has kept no agent to measure")
    return Curve(str(folder.path), tuple(points.values()))


def _digest(test: Any) -> str:
    """A digest that distinguishes an exact test from others."""
    assert isinstance(test, ExactTest)
    played = [(each.seed, each.actions) for each in test.positions]
    return sha256_of(repr(played).encode() + test.results.tobytes())


class _Measurement(msgspec.Struct):
    """A line of the file: the arguments of a measurement, its result, and a digest of both."""

    what: dict[str, Any]
    measured: dict[str, Any]
    sha256: str

    def __post_init__(self) -> None:
        if self.sha256 != _sha256(self.what, self.measured):
            raise ValueError("the digest is another one")


class MeasurementCache:
    """Earlier measurements, in a file with one line for each.

    Args:
        path: path of the file, which need not be there yet. Lines that are damaged are ignored:
            what they hold is measured again.

    Raises:
        ValueError: there is something else than a file, or one that is too large.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, dict[str, Any]] = {}
        self._start = b""  # begins the next line
        try:
            content = read_regular_file(path, _LARGEST_FILE, "what was measured of a run")
        except FileNotFoundError:
            return
        if content and not content.endswith(b"\n"):
            self._start = b"\n"  # a kill has cut the last line
        for line in content.splitlines():
            with suppress(ValueError):
                known = load_json(line, "a measurement", _Measurement)
                self._known[_key(known.what)] = known.measured

    def ask(self, what: dict[str, Any], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of a measurement, which is made unless it was made before.

        Args:
            what: everything that the result depends on.
            measure: function that makes the measurement.

        Raises:
            StorageError: it cannot be kept.
        """
        key = _key(what)
        if key not in self._known:
            self._known[key] = measured = measure()
            digest = _sha256(what, measured)
            line = json.dumps({"what": what, "measured": measured, "sha256": digest})
            append(self._path, self._start + f"{line}\n".encode())
            self._start = b""
        return self._known[key]


def _key(what: dict[str, Any]) -> str:
    return json.dumps(what, sort_keys=True)


def _sha256(what: dict[str, Any], measured: dict[str, Any]) -> str:
    return sha256_of(_key({"what": what, "measured": measured}).encode())


def metrics_of(curves: Sequence[Curve]) -> list[str]:
    """The `ESTIMATES` that points of curves have."""
    return [name for name in ESTIMATES if any(name in p.found for c in curves for p in c.points)]
