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


#: The functions in which each command does its work; the first without an answer ends it.
PLACES = {
    "evaluate": "cli.evaluate.play_match",
    "tournament": "cli.contests.play_contest",
    "compare": "cli.contests.play_contest",
    "curve": "cli.curve.game_of_runs cli.curve.measure_curves cli.curve.plot_curves",
    "levels": "arena.calibration.calibrate arena.calibration.check_steps cli.levels.save_ladder",
    "report": "cli.report.make_report cli.report.compare_options",
    "analyse": "cli.analyse.make_thinker cli.analyse.analyse_game cli.analyse.plot_values",
    "engine": "cli.common.game_of cli.engine.Engine",
    "export": "models.export.export_checkpoint cli.export.write_library",
    "push": "cli.push.hub.push",
    "bench": "cli.bench.measure",
    "code": "cli.code.units_of",
    "solve": "cli.solve_corso.CorsoSolver cli.solve_osiron.SolvedTable.solve",
    "probe": "cli.probe.prober_of",
    "accuracy": "cli.accuracy.make_exact_test cli.accuracy.find_exact_test "
    "cli.accuracy.write_exact_test cli.accuracy.chosen_actions "
    "training.agents.network.NetworkAgent.search",
    "puzzles": "cli.puzzles.make_puzzles",
    "language": "cli.language.rate cli.language.exact_sets cli.language.answers_in_all",
    "check": "cli.check.check_game",
    "train": "training.run.train_in",
    "tune": "training.run.train_in training.tuning.study.tune",
    "render": "cli.render.contact_sheet cli.render.gif cli.render.png cli.render.write_whole "
    "training.agents.network.NetworkAgent.search",
    "play": "cli.terminal.random.SystemRandom cli.terminal._TerminalGame cli.play._site_with "
    "cli.play.PageServer",
}
#: What they answer, by what takes their arguments and these.
ANSWERS: dict[str, Callable[[Take, Mapping[str, Any]], Any]] = {
    "game_of_runs": lambda *_: make_game("corso"),
    "measure_curves": lambda *_: [],
    "calibrate": a_ladder,
    "make_report": lambda take, _: Fake(take, Report, "write", data={}, summary=()),
    "make_thinker": lambda take, _: Fake(take, Thinker, "think", analysis=None),
    "analyse_game": lambda *_: None,
    "game_of": lambda *_: make_game("corso"),
    "CorsoSolver": lambda take, given: Fake(take, CorsoSolver, "answer_all", game=given["game"]),
    "prober_of": lambda take, _: Fake(take, Prober, "at", "actions"),
    "make_exact_test": an_exact_test,
    "find_exact_test": an_exact_test,
    "write_exact_test": lambda *_: None,
    "exact_sets": lambda *_: {},
    "tune": lambda _, given: given["train"](None, given["folder"], None),
    "SystemRandom": lambda *_: random.Random(0),
    "_site_with": lambda *_: SimpleNamespace(folder="page"),
}

#: Words after a command that change the argument of their name alone, to their value.
OWN = {
    "evaluate pocket:corso": "--games=6 --seed=5 --opening-plies=2",
    "tournament random uct:5 uct:6 --game=corso": (
        "--games=6 --folder=here --seed=5 --opening-plies=2 --workers=3"
    ),
    "compare random uct:5 --game=corso": (
        "--elo0=-7 --elo1=40 --alpha=0.1 --beta=0.2 --games-limit=8 --normalised "
        "--folder=here --seed=5 --opening-plies=2 --workers=3"
    ),
    "curve run": "--games=6 --simulations=3 --seed=5",
    "curve run --plot=a.svg": "--by=steps",
    "levels corso --measure --agent=pocket:corso": "--games=8 --seed=5 --levels=4 --simulations=3",
    "levels corso --check": "--games=8 --seed=5",
    "report corso": "--games=8 --seed=5 --agent=greedy",
    "report corso --quick": "--games=8",
    "analyse corso --agent=uct:9": (
        "'--position=5/5/2O2/5/5 1' --agent=uct:5 --simulations=7 --seconds=3"
    ),
    "engine corso --agent=uct:9": "--simulations=7",
    "push onyx me/onyx": "--private",
    "bench corso": "--seconds=3",
    "solve corso --option=size=3": "--seed=5 --eager=4 --threads=3",
    "solve osiron": "--threads=3",
    "probe corso --record=moves.txt": "--limit=7 --threads=3",
    "probe corso": "'--position=5/5/2O2/5/5 1'",
    "accuracy uct:5 --game=corso": "--only-choices --only-hard --limit=7 --seed=5",
    "puzzles corso --output=a.jsonl": "--per-band=3 --rounds=4 --limit=7 --seed=5",
    "language corso --agent=greedy": "--agent=uct:5 --within=50 --seed=5",
    "language corso --agent=greedy --positions=7": "--seed=5",
    "check onyx": "--games=6 --seed=5",
    "train corso": "--restart --cluster=auto",
    "tune corso": "--seeds=3 --cluster=auto --folder=here",
    "tune corso --search=learner.batch=128,256": "--trials=3",
    "render moves.txt --game=corso --output=a.png --every": "--columns=2",
    "render moves.txt --game=corso --output=a.gif": "--width=400",
}
#: Words that change an argument, or several, in a way that is not told here.
OTHER = {
    "evaluate uct --game=corso": "--game=onyx",
    "tournament random uct:5 uct:6 --game=corso": "--game=onyx",
    "compare random uct:5 --game=corso": "--game=onyx",
    "levels onyx --measure": "--option=size=8",
    "levels corso": "--check --measure",
    "report corso": "--compare=size=4,5 --quick",
    "analyse corso --agent=uct:9": "--option=size=4",
    "analyse osiron --option=setup=random --agent=uct:9": "--seed=5",
    "export pocket:corso --positions=70": "--positions=7 --seed=5 --as=c",
    "export onyx --positions=70": "--option=size=8",
    "bench corso": "--agent=pocket:corso --config=corso/demo",
    "solve osiron": "--option=movement=advanced --all",
    "probe osiron --option=setup=random": "--seed=5",
    "accuracy uct:5 --game=corso": "--test=hard --game=onyx",
    "language corso --agent=greedy": "--positions=7",
    "check onyx": "--option=size=6",
    "train corso": "--from=corso --algorithm=ppo --config=corso/demo",
    "tune corso": "--algorithm=ppo --config=corso/demo",
    "render moves.txt --game=corso --output=a.svg": (
        "--ply=1 --layer=legal --option=size=4 '--position=5/5/5/5/OX3 0' --game=onyx"
    ),
    "render moves.txt --game=corso --output=a.png --every": "--every=2",
    "render moves.txt --game=corso --output=a.svg --layer=policy --agent=corso": (
        "--agent=pocket:corso"
    ),
    "play corso --terminal": "--option=size=4",
}
#: The words after a bar, with all the arguments that they change.
RENAMED: dict[str, dict[str, Any]] = {
    "evaluate pocket:corso | --against=uct:5": {"second": "uct:5"},
    "evaluate pocket:corso | --simulations=3": {"first": "pocket:corso:3"},
    "evaluate pocket:corso | --positions=positions.txt": {"openings": ["5/5/2O2/5/5 1"]},
    "evaluate uct --game=corso | --option=size=4": {"game": "Corso(size=4)"},
    "tournament random uct:5 uct:6 --game=corso | --gauntlet=2": {
        "plan.gauntlet": ["random", "uct:5"]
    },
    "tournament random uct:5 uct:6 --game=corso | --anchor=uct:5=7": {"anchors.uct:5": 7},
    "tournament random uct:5 uct:6 --game=corso | --positions=positions.txt": {
        "plan.positions": ["5/5/2O2/5/5 1"]
    },
    "tournament random uct:5 uct:6 --game=corso | --option=size=4": {"game": "Corso(size=4)"},
    "compare random uct:5 --game=corso | --positions=positions.txt": {
        "plan.positions": ["5/5/2O2/5/5 1"]
    },
    "compare random uct:5 --game=corso | --option=size=4": {"game": "Corso(size=4)"},
    "curve run | --against=greedy": {"plan.against": ["greedy"]},
    "curve run | --test=hard": {"plan.against": [], "plan.exact_test": "hard"},
    "curve run | --plot=a.svg": {"curves": [], "path": "a.svg", "title": ELSE, "by": "minutes"},
    "levels corso --measure --agent=pocket:corso | --agent=corso": {
        "network": ELSE,
        "digest": ELSE,
        "path": "corso.levels.json",
    },
    "levels corso --measure --agent=pocket:corso | --output=a.json": {"path": "a.json"},
    "levels corso --check | --ladder=ladder.json": {"ladder.seed": 99},
    "report corso | --option=size=4": {"game": "Corso(size=4)"},
    "report corso | --output=a.html": {"path": "a.html"},
    "analyse corso --agent=uct:9 | --moves=c3": {"position": "5/5/2O2/5/5 1"},
    "analyse corso --record=moves.txt --picture=b.svg --agent=uct:9 | --record=other.txt": {
        "actions": [0, 1]
    },
    "analyse corso --record=moves.txt --picture=b.svg --agent=uct:9 | --picture=a.svg": {
        "path": "a.svg"
    },
    "engine corso --agent=uct:9 | --agent=uct:5": {"agent": "uct:5", "names": ["uct:5"]},
    "engine corso --agent=uct:9 | --option=size=4": {"options.size": 4},
    "export pocket:corso --positions=70 | --output=a.onnx": {"path": "a.onnx"},
    "export corso --as=c | --output=here": {"folder": "here"},
    "export corso --as=c | --target=arm64-ios": {"targets": ["arm64-ios"]},
    "export corso --as=c | --levels=ladder.json": {"library.ladder.seed": 99},
    "push onyx me/onyx | --option=size=8": {
        "files.README.md": ELSE,
        "files.agent.safetensors": ELSE,
    },
    "bench corso | --set=seed=5": {"config.seed": 5},
    "bench corso | --option=size=4": {"game": "Corso(size=4)", "config.options.size": 4},
    "code corso | --option=size=4": {"game": "Corso(size=4)"},
    "solve corso --option=size=3 | --option=size=4": {"game": "Corso(size=4)", "positions": ELSE},
    "solve corso --option=size=3 | --first-move=a1": {"positions": ["3/3/O2 1"]},
    "solve corso --option=size=3 | --score": {"leads": True},
    "solve corso --option=size=3 | --memory=1MiB": {"memory": 1048576},
    "probe corso --record=moves.txt | --record=other.txt": {"position": "5/5/5/5/OX3 0"},
    "probe corso --record=moves.txt | --moves=a1": {"position": "5/1X3/2O2/5/O4 1"},
    "probe corso --record=moves.txt | --back=1": {"position": "5/5/2O2/5/5 1"},
    "probe corso --record=moves.txt | --outcome": {"leads": False},
    "probe corso --record=moves.txt | --memory=1MiB": {"memory": 1048576},
    "probe corso | --option=size=4": {"game": "Corso(size=4)", "position": ELSE},
    "accuracy uct:5 --game=corso | --positions=7": {"count": 7},
    "accuracy uct:5 --game=corso | --by=greedy": {"agent": "greedy"},
    "accuracy uct:5 --game=corso | --option=size=4": {"game": "Corso(size=4)"},
    "accuracy pocket:corso | --simulations=3": {"self": "pocket:corso:3"},
    "accuracy uct:5 --game=corso --save=b.jsonl | --save=a.jsonl": {"path": "a.jsonl"},
    "puzzles corso --output=a.jsonl | --output=b.jsonl": {"file": "b.jsonl"},
    "puzzles corso --output=a.jsonl | --option=size=4": {"game": "Corso(size=4)"},
    "language corso --agent=greedy | --games=6": {"most": 6},
    "language corso --agent=greedy --positions=7 | --positions=8": {"count": 8},
    "language corso --agent=greedy --positions=7 | --price=2,3": {"prices": [2, 3]},
    "language corso --agent=greedy --positions=7 | --option=size=4": {"game": "Corso(size=4)"},
    "train corso | --option=size=4": {"config.options.size": 4},
    "train corso | --set=seed=5": {"config.seed": 5},
    "train corso | --folder=here": {"folder.path": "here"},
    "tune corso | --search=learner.batch=128,256": {
        "plan.space.texts": ["learner.batch=128,256"],
        "plan.space.distributions.learner.batch": ELSE,
    },
    "tune corso | --stopping=never": {"plan.prunes": False},
    "tune corso | --option=size=4": {"plan.space.config.options.size": 4},
    "tune corso | --set=seed=5": {"plan.space.config.seed": 5},
    "tune corso --search=learner.batch=128,256 | --grid": {"plan.grid": True, "plan.prunes": False},
    "render moves.txt --game=corso --output=a.svg | --output=b.svg": {"path": "b.svg"},
    "render moves.txt --game=corso --output=a.gif | --seconds=4": {"seconds": 4, "last_seconds": 4},
    "render moves.txt --game=corso --output=a.svg --layer=policy --agent=corso | --simulations=7": {
        "self": "corso:7"
    },
    "play corso --terminal | --opponent=uct:5": {"opponent": "uct:5", "command": ELSE},
    "play corso --terminal | --simulations=3": {"opponent": "corso:3", "command": ELSE},
    "play corso --terminal | --position=5/5/5/5/OX3 0": {"begun": ELSE},
    "play corso --terminal | --resume=moves.txt": {
        "begun": ["Corso(size=5)", 0, None, [12, 16], None]
    },
    "play corso --no-browser | --port=8000": {"folder": ELSE, "port": 8000},
}
#: What does the work gets where no option says otherwise.
USUAL: dict[str, dict[str, Any]] = {
    "evaluate pocket:corso": {"games": 200, "seed": 1, "first": "pocket:corso:64"},
    "tournament random uct:5 uct:6 --game=corso": {"plan.games": 100, "plan.seed": 1},
    "compare random uct:5 --game=corso": {
        **{"plan.elo0": 0, "plan.elo1": 30, "plan.alpha": 0.05, "plan.beta": 0.05},
        **{"plan.games_limit": 20_000, "plan.normalised": False, "plan.seed": 1},
    },
    "curve run": {"plan.against": ["uct:200"], "plan.games": 40, "plan.simulations": 64},
    "levels corso --measure --agent=pocket:corso": {"games": 200, "simulations": 256},
    "report corso": {"settings.playouts": [100, 1000], "settings.opening_playouts": 2000},
    "analyse corso": {"budget.simulations": 10_000, "budget.seconds": None},
    "analyse corso --record=moves.txt --picture=b.svg": {"budget.simulations": 1_000},
    "engine corso --agent=uct:9": {"simulations": 1_000},
    "solve corso --option=size=3": {"memory": 4 << 30, "eager": 5, "leads": False},
    "accuracy uct:5 --game=corso": {"count": 500, "seed": 1, "agent": "random"},
    "puzzles corso --output=a.jsonl": {"seed": 1, "per_band": 40, "rounds": 50},
    "language corso --agent=greedy": {"within": 100, "most": 100, "seed": 1},
    "language corso --agent=greedy --positions": {"count": 200},
    "render moves.txt --game=corso --output=a.gif": {"width": 800, "seconds": 1, "last_seconds": 3},
    "render moves.txt --game=corso --output=a.png --every": {"columns": 4},
    "play corso --terminal": {"opponent": "corso:64"},
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
        for place in PLACES[line.split()[0]].split():
            path = f"ludarium.{place}"
            answer = ANSWERS.get(path.rpartition(".")[2])
            patch.setattr(path, taker(pkgutil.resolve_name(path), take, answer))
        main(shlex.split(line))
    return found


#: Each command with words after it.
CASES = [
    (line, word)
    for table in (OWN, OTHER)
    for line, words in table.items()
    for word in shlex.split(words)
] + [tuple(key.split(" | ")) for key in RENAMED]


@pytest.mark.parametrize(("line", "words"), CASES)
def test_an_option_changes_what_it_is_for_and_nothing_else(line, words, capsys):
    usual, changed = taken_by(line), taken_by(f"{line} {shlex.quote(words)}")
    new = {
        name: changed.get(name, "nothing")
        for name in {**usual, **changed}
        if usual.get(name, "nothing") != changed.get(name, "nothing")
    }
    assert new, capsys.readouterr().err
    expected = RENAMED.get(f"{line} | {words}")
    if expected is not None:
        assert expected == {n: ELSE if expected.get(n) is ELSE else new[n] for n in new}
    elif words in shlex.split(OWN.get(line, "")):
        option, _, value = words[2:].partition("=")
        names = {name.rpartition(".")[2]: str(new[name]).removesuffix(".0") for name in new}
        assert names == {option.replace("-", "_"): value or "True"}, new


@pytest.mark.parametrize("line", USUAL)
def test_without_an_option_the_usual_value_is_taken(line):
    assert taken_by(line).items() >= USUAL[line].items()


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
        for line, words in CASES
    }
    assert {*options_of(command_line())} == seen | ELSEWHERE.keys()
    tests = "".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))
    assert [name for name in ELSEWHERE.values() if f"def {name}(" not in tests] == []
