"""Mistakes in a new game are named: when it is made, when it is compiled, or by `check_game`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ludarium.base.progress import Progress
from ludarium.cli import starter
from ludarium.envs import Game, Symmetries, check_game
from ludarium.envs.aec import GuardedBoardGameEnv
from ludarium.envs.engine.check import compile_error
from ludarium.envs.engine.guarded import guarded
from tests.oddity import Oddity
from tests.processes import ROOT, python
from tests.tictactoe import TicTacToe

SOURCE = Path(starter.__file__).parent
Change = tuple[str, str]

VIEW = '''"""What people see of a position of tic-tac-toe: two slots for each cell."""

from ludarium.envs.engine.rule import rule

from .rules import CELLS


@rule
def show(tables, view, before, state, action, shown):
    """The mark on each cell, and whether it is the last one."""
    for cell in range(CELLS):
        shown[cell] = state.cells[cell]
        shown[CELLS + cell] = int(cell == action)
'''
PICTURE = """
    def action_spots(self) -> np.ndarray:
        frame = draw_frame(_SIDE, _SIDE, "#d8d2c4")
        return np.array([frame.place(cell) for cell in range(CELLS)])

    def scene(self) -> Scene:
        frame = draw_frame(_SIDE, _SIDE, "#d8d2c4")
        places = [frame.place(cell) for cell in range(CELLS)]
        marks = ["", *(svg_text(0, 0, symbol, 50, "#2b2b2b") for symbol in "XO")]
        last = last_mark(square(frame.unit))
        return Scene(
            bottom=frame.bottom,
            ground=frame.elements,
            slots=[*slots_at(places, marks), *slots_at(places, ["", last])],
            roles=[Role("", svg_text(0, 0, symbol, 50, "#2b2b2b")) for symbol in "XO"],
            show=view.show,
        )
"""
IMPORTS = """from ludarium.envs.engine.spec import BoardTurn
from ludarium.envs.engine.draw.grid import cell_name, draw_frame, square_symmetries
from ludarium.envs.engine.draw.picture import last_mark, square, svg_text
from ludarium.envs.engine.draw.scene import Role, Scene, slots_at
"""


@pytest.fixture
def changed(tmp_path, monkeypatch) -> Callable[..., type[Game]]:
    """Tic-tac-toe with a picture of its own, and changes of the sources of it all."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(*changes: Change) -> type[Game]:
        board = (SOURCE / "board.py").read_text() + PICTURE
        board = board.replace(
            "from ludarium.envs.engine.draw.grid import cell_name, square_symmetries\n", IMPORTS
        )
        board = board.replace("from . import rules\n", "from . import rules, view\n")
        sources = {
            "rules.py": (SOURCE / "rules.py").read_text(),
            "board.py": board,
            "view.py": VIEW,
        }
        for old, new in changes:
            (name,) = (name for name, source in sources.items() if old in source)
            sources[name] = sources[name].replace(old, new, 1)
        folder = tmp_path / "changed_game"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        for name, source in sources.items():
            (folder / name).write_text(source)
        kind: type[Game] = import_module("changed_game.board").TicTacToe
        return kind

    yield make
    for name in [name for name in sys.modules if name.startswith("changed_game")]:
        del sys.modules[name]


def _function(function: str, value: str) -> Change:
    """A change that adds a function to the view."""
    return "@rule\ndef show", f"@rule\ndef {function}:\n    return {value}\n\n\n@rule\ndef show"


def _in_spec(given: str) -> Change:
    """A change that gives the spec something else."""
    return "max_plies=CELLS,", f"max_plies=CELLS,\n            {given},"


# When it is made.


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("        return Spec(", "        return dict(", "; it must return a Spec"),
        ("max_plies=CELLS", "max_plies=None", "max_plies is None; it must be an integer"),
        ('    name = "tictactoe"\n', "", "TicTacToe lacks class attributes of a game: name"),
        ('name = "tictactoe"', 'name = "t"\n    view = rules', "has a module view; give its f"),
        ('name = "tictactoe"', "name = None", "has the name None; a name is a letter a-z"),
        ('name = "tictactoe"', 'name = "tic-tac-toe"', "has the name 'tic-tac-toe'; a name is"),
        (
            "max_score=1",
            "canonical_turn=BoardTurn(np.arange(9), np.arange(9), rules.is_legal)",
            "its canonical turn leaves every cell and every action where it is",
        ),
        ("board=(_SIDE, _SIDE)", "board=[3, 3]", "board is [3, 3]; write (height, w"),
        ("observation_names=PLANES", "observation_names=()", "observation_names is empty"),
        ('"own marks", "other', '"own marks", "own marks", "other', "'own marks' twice"),
        ("[cell_name(cell, _SIDE) for", "[cell for", "action_names is [0, 1, 2"),
        ("[cell_name(cell, _SIDE) for", "[cell_name(0, _SIDE) for", "action_names has 'a1' twice"),
        ("[cell_name(cell, _SIDE) for cell in range(CELLS)]", "[]", "there are 0 actions; there"),
        ("=np.arange(CELLS),", "=[*range(9)],", "must be an array of a number for each"),
        ("=np.arange(CELLS),", "=np.arange(CELLS - 1),", "has 8 entries, but there are 9 actions"),
        ("=np.arange(CELLS),", "=np.arange(CELLS) // 2,", "actions 0 and 1 at the same place, 0"),
        ("=np.arange(CELLS),", "=np.arange(CELLS) - 2,", "-1 for an action without a place"),
        ("max_score=1", "binary_observation=1", "binary_observation is 1; it must"),
        ("max_score=1", "max_score=-1", "max_score is -1"),
        ("max_score=1", "event_names=['win', 'win']", "event_names has 'win' twice"),
        ("max_score=1", "event_names=7", "event_names is 7; it must be a list of texts"),
        ("rules.state_dtype()", "np.dtype([('cells', np.int8, 9)])", "lacks ply, mover or outcome"),
        ("table_record(lines=np.array(_LINES, np.uint8))", "{}", "tables is {}; make it with"),
        ("(CELLS,)))", "(CELLS,)), log=('moves',))", "log names 'moves'; the game's own fields ar"),
        (
            "def is_legal(tables, state, action)",
            "def is_legal(tables, state)",
            "2 arguments; it is called with 3: tables, state, action",
        ),
        ("def observe(", "def observes(", "its rules have no function observe"),
        (
            "def score(",
            "def scores(",
            "max_score is 1, but its rules have neither score nor points",
        ),
        ("max_score=1", "words=7", "words is 7; write Texts(texts) or Texts(texts, function)"),
        ("max_score=1", "words=Texts('ab')", "words is 'ab'; it must be a list of texts"),
        ("max_score=1", "tasks=Texts(())", "tasks is empty; it must have a text"),
        ('("{0} is taken",)', "()", "reasons is empty; it must have a text"),
        ("max_score=1", "view_tables={}", "view_tables is {}; make it with"),
        (*_in_spec("owner=rules.observe"), "owner takes 4 arguments; it is called with 3"),
        (*_in_spec("owner=7"), "owner is 7; it is called with 3: tables, state, cell"),
        (*_in_spec("takes=lambda t, b, s, c: 0"), "takes is TicTacToe.setup.<locals>.<lambda>; it"),
        ('title = "Tic-tac-toe"', "title = 3", "the title is 3; it must be a text"),
        (
            "action_names=[cell_name(cell, _SIDE)",
            "action_names=[cell * 'a'",
            "action_names has ''; a name is printable, and has no space at its ends",
        ),
        (
            "@rule\ndef _has_line",
            "def points(tables, state):\n    return 0, 0\n\n\n@rule\ndef _has_line",
            "its rules have points and score; leave out the score",
        ),
    ],
)
def test_what_shows_at_once_is_refused_when_the_game_is_made(changed, old, new, words):
    kind = changed((old, new))
    with pytest.raises(ValueError, match=re.escape(words)) as refusal:
        kind()
    message = str(refusal.value)
    assert len(message) < 300
    assert "\n" not in message


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("seconds", "its clock has the option 'glass', which must be True or False"),
        ("glass", "its clock plays 'pass', which is not an action"),
    ],
)
def test_a_clock_needs_its_option_and_its_action(changed, option, words):
    kind = changed(
        ("import Game, Position", "import Option, Game, Position"),
        (
            "from . import rules",
            "from ludarium.envs.engine.options import Clock\nfrom . import rules",
        ),
        (
            "    rules: ClassVar = rules\n",
            f"    option_list = (Option({option!r}, False, (False, True), ''),)\n"
            "    clock = Clock('glass', 'glass', 60, 'pass', 'move')\n"
            "    rules: ClassVar = rules\n",
        ),
    )
    with pytest.raises(ValueError, match=words):
        kind()


# When it is compiled.


@pytest.mark.parametrize(
    ("change", "use", "told"),
    [
        (
            ("if _has_line(", "if _has_lines("),
            Game.start,
            "the rules of tictactoe cannot be compiled (step",
        ),
        (
            ("int(cell == action)", "_has_lines(cell, action)"),
            lambda game: game.start().svg(),
            "the rules of tictactoe cannot be compiled (show",
        ),
    ],
)
def test_what_the_compiler_refuses_is_told_in_two_lines(changed, change, use, told):
    with pytest.raises(ValueError, match="_has_lines") as refusal:
        use(changed(change)())
    first, second = str(refusal.value).splitlines()
    assert first.startswith(told)
    assert "LUDARIUM_CODE=plain" in second


def test_a_misspelt_field_that_the_compiler_meets_is_named(changed):
    game = changed(("state.cells[action] = ", "state.cels[action] = "))()
    for begin in (game.start, lambda: GuardedBoardGameEnv(game).reset()):
        with pytest.raises(ValueError, match=r"^the rules of tictactoe cannot be") as refusal:
            begin()
        assert "no record has the field 'cels'\n" in str(refusal.value)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("np.arange(9)", "an array of int64 that can be written.* by .setflags"),
        ("(1, (np.arange(9),))", "a tuple with a tuple with an array of int64 that can be wr"),
        ("np.broadcast_to(np.array(None), 9)", "of type ndarray; compiled code reads numbers, t"),
        ("{}", "a value of type dict; .*: make it one of them, or a table of the Spec"),
        ("(1, 2.5, None, 'x', np.int8(1), np.broadcast_to(np.arange(9), 9))", None),
    ],
)
@pytest.mark.parametrize("read", ["LINES", "other.LINES"])
def test_a_global_that_may_change_under_compiled_code_is_named(changed, read, lines, told):
    """In the rules when the game is made, in the view by the check."""
    rule, other = "def _has_line(tables, state, mark):\n", "changed_game.rules"
    new = f"import sys\n\nother = sys.modules[__name__]\nLINES = {lines}\n\n\n@rule\ndef _fits"
    make = f"{new}():\n    return {read}\n\n\n@rule\n{rule}    if _fits() is None: return False\n"
    kind = changed(("@rule\n" + rule, make))
    if told is None:
        kind()
    else:
        with pytest.raises(ValueError, match=rf"{other}._fits reads {other}.{read}, .*{told}"):
            kind()


def test_a_view_that_reads_what_may_change_is_reported(changed):
    game = changed(
        ("@rule\ndef show", "SIZES = [1]\n\n\n@rule\ndef show"),
        ("CELLS + cell] = int", "CELLS + cell] = SIZES[0] * int"),
    )
    (fault,) = check_game(game(), games=2)
    assert "changed_game.view.show reads changed_game.view.SIZES, a value of type list" in fault


def test_a_helper_that_is_no_rule_is_told_where_it_is_compiled(changed):
    game = changed(("@rule\ndef _has_line", "def _has_line"))()
    with pytest.raises(ValueError, match=r"_has_line.*: is it a function without @rule\?\n"):
        game.start().play(0)


@pytest.mark.parametrize("made", ["len([mark])", "len(str(mark))", "(np.arange(3) + mark)[0]"])
def test_what_takes_memory_is_told_with_what_to_do(
    changed: Callable[..., type[Game]], made: str
) -> None:
    game = changed(("length = 0\n", f"length = int({made})\n"))()
    with pytest.raises(ValueError, match=r"\(_has_line.*\n.*make no list, text or array;"):
        game.start().play(0)


def test_a_check_says_how_far_it_is(capsys, monkeypatch):
    monkeypatch.setattr("ludarium.base.progress_bar._LINE_EVERY", 0.0)
    assert check_game(TicTacToe(), games=2) == []
    lines = capsys.readouterr().err.splitlines()
    assert "ludarium: check of tictactoe: games: 1 of 2" in lines
    assert "ludarium: check of tictactoe: symmetries: 7 of 7" in lines
    assert "ludarium: check of tictactoe: compiled games: 2 of 2" in lines
    assert check_game(TicTacToe(), games=2, progress=Progress()) == []
    assert capsys.readouterr().err == ""


def test_a_check_without_compiled_code_says_so():
    program = "from ludarium.cli import main; main(['check', 'tests.tictactoe', '--games', '1'])"
    done = python(program, environment={"LUDARIUM_CODE": "plain"}, cwd=ROOT, check=True)
    assert "tictactoe: compiled code was not compared with plain Python: " in done.stderr


def test_colours_of_the_compilers_message_are_left_out():
    text = (
        "\x1b[1m\x1b[1mFailed in nopython mode pipeline (step: nopython frontend)\n"
        "\x1b[1mUntyped global name '_has_lines'\x1b[0m\nin <function step at 0x7f00>"
    )
    first = str(compile_error(TicTacToe(), TypeError(text))).splitlines()[0]
    assert first == (
        "the rules of tictactoe cannot be compiled (step): Untyped global name '_has_lines'"
    )


# When it is played.


def test_a_group_may_go_over_several_texts_of_the_ground(changed):
    change = ("ground=frame.elements", "ground=['<g>', *frame.elements, '</g>']")
    assert check_game(changed(change)(), games=1) == []


@pytest.mark.parametrize("kind", [TicTacToe, Oddity])
def test_nothing_is_found_where_nothing_is_wrong(kind: type[Game]) -> None:
    assert check_game(kind(), games=10) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([("for cell in range(CELLS):\n        state", "for cell in range(8):\n        state")],
         "init does not write all of state.cells"),
        ([("    state.ply = 0\n", "")], "init does not write all of state.ply"),
        ([("state.cells[action] = ", "state.cels[action] = ")],
         r"no attribute 'cels' .line \d+ of rules.py, in step"),
        ([("tables.lines[line, k]", "tables.line[line, k]")],
         r"no attribute 'line' .line \d+ of rules.py, in _has_line"),
        ([("= state.cells[cell]\n        shown", "= state.cels[cell]\n        shown")],
         "no attribute 'cels' .line 12 of view.py, in show"),
        ([("= state.cells[cell]\n        shown", "= before.cels[cell]\n        shown")],
         "show fails: .* no attribute 'cels'"),
        ([("= state.cells[cell]\n        shown", "= view.marks[cell]\n        shown")],
         "show fails: .* no attribute 'marks'"),
        ([("state.ply = 0", "state.ply = 2")], "init sets ply to 2"),
        ([("state.mover = 0", "state.mover = engine.random_below(rng, 2)")],
         "random_start is False"),
        ([("state.ply += 1", "state.ply += state.cells[0]")], "step takes ply from"),
        ([("return state.cells[action] == EMPTY", "return state.cells[action + 1] == EMPTY")],
         r"is_legal fails: IndexError.*line \d+ of rules.py, in is_legal"),
        ([("return state.cells[action] == EMPTY", "return False")], "no action is legal, and the"),
        ([("planes[OWN_MARKS, cell] =", "planes[OWN_MARKS + 3, cell] =")],
         "observe fails: IndexError.* of rules.py, in observe"),
        ([("        planes[EMPTY_CELLS, cell] = content == EMPTY\n", "")],
         r"observe leaves entries unwritten: 'empty cells' \(at the start"),
        ([("planes[OWN_MARKS, cell] = content == MARK", "planes[OWN_MARKS, cell] = MARK")],
         "observe writes more than 1"),
        ([("planes[OWN_MARKS, cell] = content == MARK + player",
           "planes[OWN_MARKS, cell] = 0.5 * player")],
         "observe writes fractions"),
        ([("content = state.cells[cell]", "content = state.cells[cell]\n        state.mover = 0")],
         "is_legal or observe changes state.mover"),
        ([("max_plies=CELLS", "max_plies=4")], "goes on, and max_plies is 4"),
        ([("max_score=1", "event_names=['win']")],
         r"events gives int32 of shape \(1, 0\) for 1 ply; .* \[1, 1\], one for each"),
        ([("    def board_text",
           "    def text_to_action(self, position, text):\n        return 0\n\n"
           "    def board_text")],
         "is read as 0"),
        ([('return "\\n".join(', "return tuple(")],
         r"board_text gives \('3 . . .', .*; it must be a text"),
        ([("    def board_text", "    def why_illegal(self, position, action):\n"
           "        return position.state.nothing\n\n    def board_text")],
         "no attribute 'nothing'.* of board.py, in why_illegal"),
        ([("for cell in range(CELLS)])\n\n    def scene",
           "for cell in range(3)])\n\n    def scene")],
         r"action_spots has the shape \(3, 2\), not \(9, 2\)"),
        ([("def scene(self)", "def scene(self, state)")], "scene fails: TypeError"),
        ([('["", last]', '["", [last]]')],
         "the scene has .* where a text must be"),
        ([('["", last]', "[]")], r"slot \[9\] of the scene has no shape"),
        ([('for symbol in "XO"],\n', 'for symbol in ""],\n')], "the scene has no roles"),
        ([("= state.cells[cell]\n        shown", "= state.cells[cell] + 1\n        shown")],
         r"show for slot \d+ is 3, but there are 3 choices: 0 to 2 \(a(t the start|fter ply \d)"),
        ([("= int(cell == action)", "= -int(cell == action)")],
         r"show for slot \d+ is -1, but there are 2 choices: 0 to 1"),
        ([("        shown[CELLS + cell] = int(cell == action)\n", "")],
         "show leaves slot 9 unwritten; it must write all 18 slots"),
        ([("[CELLS + cell]", "[CELLS + cell + 1]")],
         "show fails: IndexError: .*line 13 of view.py, in show.; the scene has 18 slots"),
        ([("slots=[*slots_at(places, marks)", "slots=[*slots_at(places * 2, marks)")],
         "show leaves slot 18 unwritten"),
        ([("int(cell == action)", "int(cell == action)\n    state.ply = 0")],
         "the view changes the position; it may write only into shown"),
        ([_function("word(tables, state, action)", "action + state.ply"),
          _in_spec("words=Texts((), view.word)")],
         r"word of action 8 is 9, but there are 9 words: 0 to 8 \(after ply 1"),
        ([_function("task(tables, state)", "state.mover"),
          _in_spec("tasks=Texts(('move',), view.task)")],
         "task is 1, but there are 1 tasks: 0 to 0"),
        ([("def score(tables, state):\n", "def points(tables, state):\n")],
         "points gives .*; it must be two numbers, of player_0 and of player_1"),
        ([_function("reason(tables, state, action)", "9"),
          ('Texts(("{0} is taken",))', 'Texts(("{0} is taken",), view.reason)')],
         "reason of action . is 9, but there are 9 reasons: 0 to 8"),
        ([_function("role(tables, state, player)", "player + 1"),
          ("show=view.show", "show=view.show, role=view.role")],
         "role of player 1 is 2, but there are 2 roles of the scene"),
        ([("before, state, action, shown", "state, action, shown")],
         "scene fails: ValueError: tictactoe: show takes 5 arguments; it is called with 6"),
        ([("planes[OWN_MARKS, cell] = content == MARK + player",
           "planes[OWN_MARKS, cell] = tables.half[0]"),
          ("table_record(", "table_record(half=np.array([0.5], np.float32), ")],
         "observe writes fractions: set binary_observation=False in the Spec"),
        ([("@rule\ndef _has_line", "def _has_line")],
         r"_has_line is called, and is not a rule: decorate it with @rule \(line \d+ of rules"),
        ([("return state.cells[action] == EMPTY", "return state.cells[action - 9] == EMPTY")],
         r"is_legal fails: IndexError: index -9 is below 0, and would count from the end \(line"),
        ([("return state.cells[action] == EMPTY", 'return state["cells"][action - 9] == EMPTY')],
         r"is_legal fails: IndexError: index -9 is below 0, and would count from the end \(line"),
        ([("length = 0", "length = 0 * tables.lines[line - 8, 0]")],
         r"step fails: IndexError: index -8 is below 0.*, in _has_line"),
        ([("mover = int(state.mover)", "mover = int(state.mover / 1)")],
         r"/ makes fractions.*: write //, or take .* table \(line \d+ of rules"),
        ([('marks = ["", *(', 'marks = ["<rect", *(')], r"scene has '<rect': this is not SVG \("),
        ([('[Role("", ', '[Role("", "<text>&</text>" + ')], "the scene has .*: this is not SVG"),
        ([("square_symmetries(_SIDE), len", "np.array([[*range(9)], [1, 0, *range(2, 9)]]), len")],
         "the image of a position has other legal actions: do both of its tables say the same"),
        ([("square_symmetries(_SIDE)", "np.array([[*range(9)], [2, 1, 0, *range(3, 9)]])")],
         "the image of a position has other legal actions"),  # which one game does not show
        ([("square_symmetries(_SIDE), len(PLANES))",
           "np.array([[*range(9)], [*range(9)][::-1]]), len(PLANES))\n"
           "        return Symmetries(tables.actions, np.array([range(27)] * 2))"),
          ("return Symmetries.of_board", "tables = Symmetries.of_board")],
         "the image of a position .*: do both of its tables say the same"),
        ([("    state.mover = 1 - mover\n", "")],
         "after every ply player_0 is to move again: let step write state.mover"),
        ([("length = 0\n", "length = len([mark]) - 1\n")],
         r"cannot be compiled \(_has_line\): it needs memory .* make no list, text"),
        ([("return state.cells[action] == EMPTY",
           "return len([action]) == 1 and state.cells[action] == EMPTY")],
         r"cannot be compiled \(is_legal\): it needs memory .* make no list, text"),
        ([("square_symmetries(_SIDE), len", "square_symmetries(_SIDE)[::-1], len")],
         "symmetries: ValueError: a symmetry must be a permutation, and row 0 the identity"),
    ],
)  # fmt: skip
def test_what_shows_in_play_is_reported(changed, changes, words):
    faults = check_game(changed(*changes)(), games=10)
    assert len(faults) >= 1
    assert any(re.search(words, fault) for fault in faults), faults
    assert all(len(fault) < 400 for fault in faults)


def test_an_error_is_told_by_the_line_that_made_it_not_by_numpys():
    def is_legal(tables, state, action):
        return state.cels[action] == 0

    rules = ModuleType("rules")
    vars(rules).update(vars(starter.rules) | {"is_legal": is_legal})
    (fault,) = check_game(type("Misspelt", (TicTacToe,), {"rules": rules})(), games=1)
    assert re.search(r"no attribute 'cels' \(line \d+ of test_check.py, in is_legal\)", fault)


def test_rules_may_print_what_they_are_given():
    state = np.zeros(1, [("cells", np.int8, (2, 3))])[0]
    assert repr(guarded(state)) == repr(state)
    cells = state["cells"]
    assert f"{guarded(cells)} {guarded(cells)[1:]!r}" == f"{cells} {cells[1:]!r}"


def test_fields_may_be_written_as_keys(changed):
    changes = [
        ("return state.cells[action] == EMPTY", 'return state["cells"][action] == EMPTY'),
        ("mover = int(state.mover)", 'mover = int(state["mover"])'),
        ("state.mover = 1 - mover", 'state["mover"] = 1 - mover'),
    ]
    assert check_game(changed(*changes)(), games=10) == []


@pytest.mark.parametrize("scratch", ["('room',)", "()"])
def test_scratch_that_is_left_dirty_is_reported(changed, scratch):
    changes = [
        ("np.int8, (CELLS,)))", f"np.int8, (CELLS,)), ('room', np.int8, (2,)), scratch={scratch})"),
        ("state.ply = 0", "state.ply = 0\n    state.room[0] = 0\n    state.room[1] = 0"),
        ("    state.mover = 1", "    state.room[1] = action + 1\n    state.mover = 1"),
    ]
    faults = check_game(changed(*changes)(), games=3)
    told = "step leaves state.room other than zero: it is scratch (after ply 1"
    assert [fault[: len(told)] for fault in faults] == [told] * (scratch != "()")


def test_a_turn_and_a_symmetry_whose_order_matters_are_reported():
    class Disordered(Oddity):
        def symmetries(self) -> Symmetries:
            return Symmetries(
                actions=np.array([range(7), [2, 3, 0, 1, 4, 5, 6]]),
                observation=np.array([range(5), [1, 0, 2, 3, 4]]),
            )

    (fault,) = check_game(Disordered(), games=1)
    assert "symmetry [1] after the canonical turn is another than before it" in fault


@pytest.mark.parametrize(
    "given",
    [
        {"symmetries": lambda _: None},
        {"symmetries": lambda game: replace(TicTacToe.symmetries(game), kind=lambda states: 9)},
        {"event_names": ("a",), "events": lambda *_: np.array([["x"]])},
        {"event_names": ("a",), "events": lambda *_: [[None]]},
        {"action_spots": lambda _: [[1, 2], [3]]},
    ],
)
def test_what_is_of_the_wrong_kind_is_reported(given):
    name = next(reversed(given))
    (fault,) = check_game(type("Wrong", (TicTacToe,), given)(), games=2)
    assert fault.startswith(name)


def test_a_game_that_ends_unannounced_is_reported(changed):
    never = "@rule\ndef may_end(tables, state):\n    return False\n\n\n@rule\ndef _has_line"
    faults = check_game(changed(("@rule\ndef _has_line", never))())
    assert any("may_end said that it could not" in fault for fault in faults)


@pytest.mark.filterwarnings("ignore:.* runs as plain Python")  # as no source says what is loaded
def test_compiled_code_that_goes_other_ways_is_reported(changed):
    game = changed(
        ("= content == EMPTY\n", "= (content == EMPTY) & _SHOWN\n"),
        ("EMPTY_CELLS = range(3)\n", "EMPTY_CELLS = range(3)\n_SHOWN = 1\n"),
    )()
    game.start().observation()  # compiled while empty cells are shown, which then ends
    sys.modules["changed_game.rules"]._SHOWN = 0
    (fault,) = check_game(game, games=3)
    assert "compiled code observes other values than plain Python" in fault


def test_a_compiled_view_that_goes_other_ways_is_reported(changed):
    game = changed(
        ("int(cell == action)", "int(cell == action) * _SHOWN"),
        ("\n\n\n@rule\ndef show", "\n\n_SHOWN = 1\n\n\n@rule\ndef show"),
    )()
    game.start().svg()  # compiled while the last action is shown, which then ends
    sys.modules["changed_game.view"]._SHOWN = 0
    (fault,) = check_game(game, games=3)
    assert "compiled code shows other numbers than the view in plain Python" in fault
