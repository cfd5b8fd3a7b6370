"""Words that nobody knows are refused in a line, with the word that was meant."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from ludarium.cli import command_line, main
from ludarium.cli.result import Result, name_options, show, with_options

_ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "line",
    [
        "evaluate runs/corso",
        "evaluate ./corso",
        "evaluate corso.safetensors",
        "evaluate gomoku",
        "levels morse",
        "compare corso great",
    ],
)
def test_what_is_another_word_is_not_taken_for_a_slip(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == 2
    assert "did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("tarin corso", "train"),
        ("help trian", "train"),
        ("match corso", "evaluate"),
        ("selfplay corso", "train"),
        ("help gredy", "greedy"),
        ("games --jsno", "--json"),
        ("--versoin", "--version"),
        ("play --opponnet=random", "--opponent"),
        ("train corso --sett x=1", "--set"),
        ("train corso --set learner.btach=3", "batch"),
        ("train corso --set lerner.batch=3", "learner"),
        ("train corso --set sed=3", "seed"),
        ("train corso --algorithm pppo", "ppo"),
        ("train corso --config corso/defautl", "corso/default"),
        ("evaluate corso --against gredy", "greedy"),
        ("evaluate corzo", "corso"),
        ("evaluate corso:16?simulatons=3", "simulations"),
        ("evaluate uct:playuts=3 --game corso", "playouts"),
        ("evaluate level:hrad --game corso", "hard"),
        ("evaluate shipped:onix", "onyx"),
        ("compare corso gredy", "greedy"),
        ("tournament random gredy --game corso", "greedy"),
        ("play onyx --option sise=4", "size"),
        ("report corzo", "corso"),
        ("report corso --compare sizee=5,6", "size"),
        ("levels corzo", "corso"),
        ("analyse corzo", "corso"),
        ("engine corzo", "corso"),
        ("solve osirn", "osiron"),
        ("render game.json --output a.png --layer legl", "legal"),
    ],
)
def test_the_word_that_was_meant_is_named(
    line: str,
    meant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == 2
    captured = capsys.readouterr()
    assert f"did you mean {meant}?" in captured.err
    assert len(captured.err.splitlines()) == 1
    assert not captured.out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [["solve"], ["games"], [], ["tune", "corso", "--trials"]])
def test_a_long_word_is_cut(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "9" * 5000]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert len(line) < 500


@pytest.mark.parametrize("line", ["accuracy random --game corso", "export corso"])
def test_more_positions_than_can_be_are_refused(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*line.split(), "--positions", "1e12"]) == 2
    assert "positions" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_takes_too_much_memory_is_refused_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", "corso", "--memory", "99999999GiB", "--option", "size=2"]) == 2
    assert "bytes is more memory than there is: ask for less" in capsys.readouterr().err

    def run(arguments: list[str]) -> int:
        raise MemoryError("Unable to allocate\n7 GiB")

    monkeypatch.setattr("ludarium.cli._run", run)
    assert main(["games"]) == 2
    said = "ludarium: there is not enough memory: ask for less (Unable to allocate 7 GiB)\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("line", "told", "said"),
    [
        ("train corso", "set restart=True, start=a", "set --restart, --from a"),
        ("train corso", "give another folder", "give another --folder"),
        ("page site", "give another folder", "give another folder"),  # which is no option there
        ("evaluate corso", "corso?seed=3: no restart=True", "corso?seed=3: no restart=True"),
    ],
)
def test_the_command_line_names_its_options(line: str, told: str, said: str, capsys) -> None:
    name_options(command_line(line.split()[:1]).parse_args(line.split()))
    assert with_options(told) == said
    show(Result(None, f"warning: {told}", caveats=[told]), False)
    assert capsys.readouterr().out == f"warning: {said}\n"


def test_messages_of_the_library_name_no_options_of_the_command_line() -> None:
    """A Python caller has arguments; a whole command, ``ludarium play --port 8000``, may stand."""
    rooms = ("analysis", "arena", "base", "configs", "envs", "models", "play", "training")
    found = []
    for file in (file for room in rooms for file in (_ROOT / room).rglob("*.py")):
        raised = [
            node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Raise)
        ]
        for node in raised:
            parts = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
            text = re.sub(r"(ludarium|engine:)[^,;]*", "", "".join(map(str, parts)))
            found += [f"{file}:{node.lineno}"] * bool(re.search(r"(?<!\S)\W?--[a-z]", text))
    assert not found
