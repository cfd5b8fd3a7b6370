"""Each option of each command reaches what does the work, and changes nothing else there."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import pkgutil
import random
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from ludarium.analysis.corso import CorsoSolver
from ludarium.analysis.exact_tests import find_exact_test
from ludarium.analysis.probing import Prober
from ludarium.analysis.thinking import Thinker
from ludarium.arena.ladder import find_ladder, save_ladder
from ludarium.arena.report import Report
from ludarium.base.progress import Progress
from ludarium.cli import command_line, main
from ludarium.envs import make_game
from ludarium.envs.engine.position import Position
from ludarium.play.native import Library
from ludarium.training.agents import Agent
from ludarium.training.runs.folder import RunFolder

Take = Callable[[Mapping[str, Any]], None]

#: Something else than usual, whatever it is.
ELSE = object()


def parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """An argument by name, or its fields by their names, as what can be compared."""
    if isinstance(value, RunFolder):
        value = {"path": str(value.path), "restart": value._restart}
    elif isinstance(value, torch.nn.Module):
        value = float(sum(weights.double().sum() for weights in value.state_dict().values()))
    elif isinstance(value, np.ndarray):
        value = value.tolist() if value.dtype.names else hash(value.tobytes())
    elif isinstance(value, Agent):
        value = value.name
    elif isinstance(value, Position):
        value = value.text
    if isinstance(value, str | bool | int | float | bytes | None):
        yield name, value
    elif isinstance(value, Sequence):
        yield name, [each for inner in value for _, each in parts("", inner)]
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from parts(f"{name}.{key}", inner)
    elif dataclasses.is_dataclass(value) or isinstance(value, msgspec.Struct | Library):
        fields = getattr(value, "__struct_fields__", None) or vars(value)
        yield from parts(name, {field: getattr(value, field) for field in fields})
    elif type(value).__name__ == "Space":
        yield from parts(name, vars(value))
    elif not isinstance(value, Progress | Callable):
        yield name, str(value)


def taker(function: Any, take: Take, answer: Any = None, *before: Any) -> Callable[..., Any]:
    """What has a function's arguments, and takes them; ``answer`` answers, None ends all."""

    def call(*given: Any, **named: Any) -> Any:
        bound = inspect.signature(function).bind(*before, *given, **named)
        bound.apply_defaults()
        if not isinstance(bound.arguments.get("self"), Agent):
            bound.arguments.pop("self", None)
        take(dict(pair for item in bound.arguments.items() for pair in parts(*item)))
        if answer is None:
            raise ValueError("all was taken")
        return answer(take, bound.arguments)

    return call


class Fake:
    """In an object's place: its methods are takers, of which the last one ends all."""

    def __init__(self, take: Take, kind: type, *methods: str, **attributes: Any) -> None:
        vars(self).update(attributes)
        for name in methods:
            answer = None if name == methods[-1] else lambda *_: self
            setattr(self, name, taker(getattr(kind, name), take, answer, self))


def an_exact_test(*_: Any) -> Any:
    return find_exact_test("hard", make_game("corso"))


def a_ladder(*_: Any) -> Any:
    return find_ladder(make_game("corso"))


#: Several arguments that are others, which are not told.
SEVERAL = object()

#: Where each command does its work, and what answers there; None ends the command.
PLACES: dict[str, dict[str, Any]] = {
    "evaluate": {"cli.evaluate.play_match": None},
    "tournament": {"cli.contests.play_contest": None},
    "compare": {"cli.contests.play_contest": None},
    "curve": {
        "cli.curve.game_of_runs": lambda *_: make_game("corso"),
        "cli.curve.measure_curves": lambda *_: [],
        "cli.curve.plot_curves": None,
    },
    "levels": {
        "arena.calibration.calibrate": a_ladder,
        "arena.calibration.check_steps": None,
        "cli.levels.save_ladder": None,
    },
    "report": {
        "cli.report.make_report": lambda take, _: Fake(take, Report, "write", data={}, summary=()),
        "cli.report.compare_options": None,
    },
    "analyse": {
        "cli.analyse.make_thinker": lambda take, _: Fake(take, Thinker, "think", analysis=None),
        "cli.analyse.analyse_game": lambda *_: None,
        "cli.analyse.plot_values": None,
    },
    "engine": {"cli.common.game_of": lambda *_: make_game("corso"), "cli.engine.Engine": None},
    "export": {"models.export.export_checkpoint": None, "play.native.write_library": None},
    "push": {"cli.push.hub.push": None},
    "bench": {"cli.bench.measure": None},
    "code": {"cli.code.units_of": None},
    "solve": {
        "cli.solve_corso.CorsoSolver": lambda take, given: Fake(
            take, CorsoSolver, "answer_all", game=given["game"]
        ),
        "cli.solve_osiron.SolvedTable.solve": None,
    },
    "probe": {"cli.probe.prober_of": lambda take, _: Fake(take, Prober, "at", "actions")},
    "accuracy": {
        "cli.accuracy.make_exact_test": an_exact_test,
        "cli.accuracy.find_exact_test": an_exact_test,
        "cli.accuracy.write_exact_test": lambda *_: None,
        "cli.accuracy.chosen_actions": None,
        "training.agents.network.NetworkAgent.search": None,
    },
    "puzzles": {"cli.puzzles.make_puzzles": None},
    "language": {
        "cli.language.rate": None,
        "cli.language.exact_sets": lambda *_: {},
        "cli.language.answers_in_all": None,
    },
    "check": {"cli.check.check_game": None},
    "train": {"training.run.train_in": None},
    "tune": {
        "training.run.train_in": None,
        "training.tuning.study.tune": lambda _, given: given["train"](None, given["folder"], None),
    },
    "render": {
        **{f"cli.render.{name}": None for name in ("contact_sheet", "gif", "png", "write_whole")},
        "training.agents.network.NetworkAgent.search": None,
    },
    "play": {
        "cli.terminal.random.SystemRandom": lambda *_: random.Random(0),
        "cli.terminal._TerminalGame": None,
        "cli.play._site_with": lambda *_: SimpleNamespace(folder="page"),
        "play.server.PageServer": None,
    },
}

#: Words with all the arguments of that work that they change, by the command before them.
CASES: dict[str, dict[str, Any]] = {
    "evaluate pocket:corso": {
        "--against=uct:5": {"second": "uct:5"},
        "--games=6": {"games": 6},
        "--simulations=3": {"first": "pocket:corso:3"},
        "--seed=5": {"seed": 5},
        "--opening-plies=2": {"opening_plies": 2},
        "--positions=positions.txt": {"openings": ["5/5/2O2/5/5 1"]},
    },
    "evaluate uct --game=corso": {
        "--game=onyx": {"game": ELSE},
        "--option=size=4": {"game": "Corso(size=4)"},
    },
    "tournament random uct:5 uct:6 --game=corso": {
        "--games=6": {"plan.games": 6},
        "--gauntlet=2": {"plan.gauntlet": ["random", "uct:5"]},
        "--anchor=uct:5=7": {"anchors.uct:5": 7},
        "--game=onyx": {"game": ELSE},
        "--folder=here": {"folder": "here"},
        "--seed=5": {"plan.seed": 5},
        "--opening-plies=2": {"plan.opening_plies": 2},
        "--positions=positions.txt": {"plan.positions": ["5/5/2O2/5/5 1"]},
        "--workers=3": {"workers": 3},
        "--option=size=4": {"game": "Corso(size=4)"},
    },
    "compare random uct:5 --game=corso": {
        "--elo0=-7": {"plan.elo0": -7},
        "--elo1=40": {"plan.elo1": 40},
        "--alpha=0.1": {"plan.alpha": 0.1},
        "--beta=0.2": {"plan.beta": 0.2},
        "--games-limit=8": {"plan.games_limit": 8},
        "--normalised": {"plan.normalised": True},
        "--game=onyx": {"game": ELSE},
        "--folder=here": {"folder": "here"},
        "--seed=5": {"plan.seed": 5},
        "--opening-plies=2": {"plan.opening_plies": 2},
        "--positions=positions.txt": {"plan.positions": ["5/5/2O2/5/5 1"]},
        "--workers=3": {"workers": 3},
        "--option=size=4": {"game": "Corso(size=4)"},
    },
    "curve run": {
        "--against=greedy": {"plan.against": ["greedy"]},
        "--test=hard": {"plan.against": [], "plan.exact_test": "hard"},
        "--games=6": {"plan.games": 6},
        "--simulations=3": {"plan.simulations": 3},
        "--seed=5": {"plan.seed": 5},
        "--plot=a.svg": {"curves": [], "path": "a.svg", "title": ELSE, "by": "minutes"},
    },
    "curve run --plot=a.svg": {
        "--by=steps": {"by": "steps"},
    },
    "levels corso --measure --agent=pocket:corso": {
        "--games=8": {"games": 8},
        "--seed=5": {"seed": 5},
        "--levels=4": {"levels": 4},
        "--simulations=3": {"simulations": 3},
        "--agent=corso": {"network": ELSE, "digest": ELSE, "path": "corso.levels.json"},
        "--output=a.json": {"path": "a.json"},
    },
    "levels onyx --measure": {
        "--option=size=8": SEVERAL,
    },
    "levels corso --check": {
        "--games=8": {"games": 8},
        "--seed=5": {"seed": 5},
        "--ladder=ladder.json": {"ladder.seed": 99},
    },
    "levels corso": {
        "--check": SEVERAL,
        "--measure": SEVERAL,
    },
    "report corso": {
        "--option=size=4": {"game": "Corso(size=4)"},
        "--compare=size=4,5": SEVERAL,
        "--games=8": {"settings.games": 8},
        "--seed=5": {"settings.seed": 5},
        "--agent=greedy": {"settings.agent": "greedy"},
        "--quick": SEVERAL,
        "--output=a.html": {"path": "a.html"},
    },
    "report corso --quick": {
        "--games=8": {"settings.games": 8},
    },
    "analyse corso --agent=uct:9": {
        "--moves=c3": {"position": "5/5/2O2/5/5 1"},
        "--position=5/5/2O2/5/5 1": {"position": "5/5/2O2/5/5 1"},
        "--agent=uct:5": {"agent": "uct:5"},
        "--simulations=7": {"budget.simulations": 7},
        "--seconds=3": {"budget.seconds": 3},
        "--option=size=4": {"position": ELSE},
    },
    "analyse osiron --option=setup=random --agent=uct:9": {
        "--seed=5": {"position": ELSE},
    },
    "analyse corso --record=moves.txt --picture=b.svg --agent=uct:9": {
        "--record=other.txt": {"actions": [0, 1]},
        "--picture=a.svg": {"path": "a.svg"},
    },
    "engine corso --agent=uct:9": {
        "--agent=uct:5": {"agent": "uct:5", "names": ["uct:5"]},
        "--simulations=7": {"simulations": 7},
        "--option=size=4": {"options.size": 4},
    },
    "export pocket:corso --positions=70": {
        "--output=a.onnx": {"path": "a.onnx"},
        "--positions=7": {"observations": ELSE},
        "--seed=5": {"observations": ELSE},
        "--as=c": SEVERAL,
    },
    "export corso --as=c": {
        "--output=here": {"folder": "here"},
        "--target=arm64-ios": {"targets": ["arm64-ios"]},
        "--levels=ladder.json": {"library.ladder.seed": 99},
    },
    "export onyx --positions=70": {
        "--option=size=8": SEVERAL,
    },
    "push onyx me/onyx": {
        "--private": {"private": True},
        "--option=size=8": {"files.README.md": ELSE, "files.agent.safetensors": ELSE},
    },
    "bench corso": {
        "--agent=pocket:corso": SEVERAL,
        "--config=corso/demo": SEVERAL,
        "--set=seed=5": {"config.seed": 5},
        "--seconds=3": {"seconds": 3},
        "--option=size=4": {"game": "Corso(size=4)", "config.options.size": 4},
    },
    "code corso": {
        "--option=size=4": {"game": "Corso(size=4)"},
    },
    "solve corso --option=size=3": {
        "--option=size=4": {"game": "Corso(size=4)", "positions": ELSE},
        "--first-move=a1": {"positions": ["3/3/O2 1"]},
        "--score": {"leads": True},
        "--seed=5": {"seed": 5},
        "--eager=4": {"eager": 4},
        "--memory=1MiB": {"memory": 1048576},
        "--threads=3": {"threads": 3},
    },
    "solve osiron": {
        "--option=movement=advanced": SEVERAL,
        "--all": SEVERAL,
        "--threads=3": {"threads": 3},
    },
    "probe corso --record=moves.txt": {
        "--record=other.txt": {"position": "5/5/5/5/OX3 0"},
        "--moves=a1": {"position": "5/1X3/2O2/5/O4 1"},
        "--back=1": {"position": "5/5/2O2/5/5 1"},
        "--outcome": {"leads": False},
        "--limit=7": {"limit": 7},
        "--memory=1MiB": {"memory": 1048576},
        "--threads=3": {"threads": 3},
    },
    "probe corso": {
        "--position=5/5/2O2/5/5 1": {"position": "5/5/2O2/5/5 1"},
        "--option=size=4": {"game": "Corso(size=4)", "position": ELSE},
    },
    "probe osiron --option=setup=random": {
        "--seed=5": {"position": ELSE},
    },
    "accuracy uct:5 --game=corso": {
        "--test=hard": SEVERAL,
        "--positions=7": {"count": 7},
        "--by=greedy": {"agent": "greedy"},
        "--only-choices": {"only_choices": True},
        "--only-hard": {"only_hard": True},
        "--limit=7": {"limit": 7},
        "--seed=5": {"seed": 5},
        "--game=onyx": {"game": ELSE},
        "--option=size=4": {"game": "Corso(size=4)"},
    },
    "accuracy pocket:corso": {
        "--simulations=3": {"self": "pocket:corso:3"},
    },
    "accuracy uct:5 --game=corso --save=b.jsonl": {
        "--save=a.jsonl": {"path": "a.jsonl"},
    },
    "puzzles corso --output=a.jsonl": {
        "--output=b.jsonl": {"file": "b.jsonl"},
        "--per-band=3": {"per_band": 3},
        "--rounds=4": {"rounds": 4},
        "--limit=7": {"limit": 7},
        "--seed=5": {"seed": 5},
        "--option=size=4": {"game": "Corso(size=4)"},
    },
    "language corso --agent=greedy": {
        "--agent=uct:5": {"agent": "uct:5"},
        "--games=6": {"most": 6},
        "--within=50": {"within": 50},
        "--seed=5": {"seed": 5},
        "--positions=7": SEVERAL,
    },
    "language corso --agent=greedy --positions=7": {
        "--positions=8": {"count": 8},
        "--price=2,3": {"prices": [2, 3]},
        "--seed=5": {"seed": 5},
        "--option=size=4": {"game": "Corso(size=4)"},
    },
    "check onyx": {
        "--games=6": {"games": 6},
        "--seed=5": {"seed": 5},
        "--option=size=6": {"game": ELSE},
    },
    "train corso": {
        "--from=corso": SEVERAL,
        "--restart": {"folder.restart": True},
        "--algorithm=ppo": SEVERAL,
        "--config=corso/demo": SEVERAL,
        "--option=size=4": {"config.options.size": 4},
        "--set=seed=5": {"config.seed": 5},
        "--cluster=auto": {"cluster": "auto"},
        "--folder=here": {"folder.path": "here"},
    },
    "tune corso": {
        "--search=learner.batch=128,256": {
            "plan.space.texts": ["learner.batch=128,256"],
            "plan.space.distributions.learner.batch": ELSE,
        },
        "--seeds=3": {"plan.seeds": 3},
        "--stopping=never": {"plan.prunes": False},
        "--algorithm=ppo": SEVERAL,
        "--config=corso/demo": SEVERAL,
        "--option=size=4": {"plan.space.config.options.size": 4},
        "--set=seed=5": {"plan.space.config.seed": 5},
        "--cluster=auto": {"cluster": "auto"},
        "--folder=here": {"folder": "here"},
    },
    "tune corso --search=learner.batch=128,256": {
        "--grid": {"plan.grid": True, "plan.prunes": False},
        "--trials=3": {"plan.trials": 3},
    },
    "render moves.txt --game=corso --output=a.svg": {
        "--output=b.svg": {"path": "b.svg"},
        "--ply=1": {"content": ELSE},
        "--layer=legal": {"content": ELSE},
        "--option=size=4": {"content": ELSE},
        "--position=5/5/5/5/OX3 0": {"content": ELSE},
        "--game=onyx": {"content": ELSE},
    },
    "render moves.txt --game=corso --output=a.png --every": {
        "--every=2": {"pictures": ELSE},
        "--columns=2": {"columns": 2},
    },
    "render moves.txt --game=corso --output=a.gif": {
        "--width=400": {"width": 400},
        "--seconds=4": {"seconds": 4, "last_seconds": 4},
    },
    "render moves.txt --game=corso --output=a.svg --layer=policy --agent=pocket:corso": {
        "--simulations=7": {"self": "pocket:corso:7"},
        "--agent=corso": {"self": ELSE},
    },
    "play corso --terminal": {
        "--opponent=uct:5": {"opponent": "uct:5", "command": ELSE},
        "--simulations=3": {"opponent": "corso:3", "command": ELSE},
        "--position=5/5/5/5/OX3 0": {"position": "5/5/5/5/OX3 0", "begin": ELSE},
        "--resume=moves.txt": {"begin": [0, None]},
        "--option=size=4": SEVERAL,
    },
    "play corso --no-browser": {
        "--port=8000": {"folder": ELSE, "port": 8000},
    },
}

#: Tests of options that are not passed on.
ELSEWHERE = {
    "code --clear": "test_a_game_is_compiled_beforehand_listed_and_cleared",
    "compare --show": "test_the_command_compares_resumes_and_shows",
    "language --folder": "test_an_evaluation_goes_on_where_it_was_stopped",
    "language --output": "test_half_of_the_positions_are_the_fixed_ones",
    "play --no-browser": "test_what_the_page_lacks_is_played_in_the_terminal",
    "play --seat": "test_the_address_says_what_was_chosen",
    "play --terminal": "test_what_only_the_terminal_knows_implies_it",
    "tournament --plot": "test_the_command_plays_draws_resumes_and_shows",
    "tournament --show": "test_the_command_plays_draws_resumes_and_shows",
    "tune --show": "test_a_search_goes_further_but_no_other_search_goes_on",
}


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    """A folder with files to read."""
    monkeypatch.chdir(tmp_path)
    Path("moves.txt").write_text("c3 b4")
    Path("other.txt").write_text("a1 b1")
    Path("positions.txt").write_text("5/5/2O2/5/5 1\n")
    save_ladder(dataclasses.replace(a_ladder(), seed=99), Path("ladder.json"))


@cache
def taken_by(line: str) -> dict[str, Any]:
    """All arguments that reach the places where a command does its work."""
    found: dict[str, Any] = {}

    def take(arguments: Mapping[str, Any]) -> None:
        found.update(arguments | found)  # the first of a name counts

    with pytest.MonkeyPatch.context() as patch:
        for place, answer in PLACES[line.split()[0]].items():
            path = f"ludarium.{place}"
            function = pkgutil.resolve_name(path)
            patch.setattr(path, taker(function, take, answer))
        main(shlex.split(line))
    return found


@pytest.mark.parametrize(
    ("line", "words", "expected"),
    [(line, words, *each) for line, options in CASES.items() for words, *each in options.items()],
)
def test_an_option_changes_what_it_is_for_and_nothing_else(line, words, expected, capsys):
    usual, changed = taken_by(line), taken_by(f"{line} {shlex.quote(words)}")
    different = {
        name: changed.get(name, "nothing")
        for name in {**usual, **changed}
        if usual.get(name, "nothing") != changed.get(name, "nothing")
    }
    assert different, capsys.readouterr().err
    if expected is not SEVERAL:
        told = {
            name: ELSE if expected.get(name) is ELSE else each for name, each in different.items()
        }
        assert told == expected, capsys.readouterr().err


def options_of(parser: argparse.ArgumentParser, before: str = "") -> Iterator[str]:
    """All options of all commands, ``evaluate --games`` and so on."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from options_of(inner, f"{before}{name} ")
        elif before and action.option_strings and action.dest not in ("help", "json"):
            yield before + action.option_strings[-1]


def test_every_option_has_a_test_of_its_effect():
    seen = {
        " ".join([*line.split()[: 1 + line.startswith("solve ")], words.partition("=")[0]])
        for line, options in CASES.items()
        for words in options
    }
    assert {*options_of(command_line())} == seen | ELSEWHERE.keys()
    tests = "".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))
    assert [name for name in ELSEWHERE.values() if f"def {name}(" not in tests] == []
