"""Measures the strength of the tests: changes the code at random places, one at a time.

``python -m tests.mutation training/evaluation arena --file cli/evaluate.py --count 40`` draws so
many mutants of these folders and files, Python or JavaScript, and runs against each the tests that
``docs/guide/architecture.md`` names for its file until one fails. ``--list FILE`` takes mutants
from JSON lines instead, each with the ``file`` and its text ``before`` and ``after``.

In ``envs`` tests run as plain Python, which takes less time than compiling anew; elsewhere code is
compiled, from the code that is kept. ``LUDARIUM_CODE`` decides otherwise. Tests that take
more than ``--seconds``, or fail without a mutant, are left out. Each mutant is a line in
``build/mutation/results.jsonl``; those that tests have killed are not run again.
"""

import argparse
import ast
import copy
import itertools
import json
import multiprocessing
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build/mutation"
TABLE = ROOT / "docs/guide/architecture.md"
#: Operators, either of which may stand in the place of the other.
OPERATORS = [
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Lt, ast.GtE), (ast.LtE, ast.Gt)),
    *((ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn), (ast.And, ast.Or)),
    *((ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.Div, ast.Mult), (ast.Mod, ast.FloorDiv)),
    *((ast.LShift, ast.RShift), (ast.BitAnd, ast.BitOr), (ast.BitXor, ast.BitOr)),
]
REMOVED = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break)
#: The tokens of JavaScript: first those that stay as they are.
TOKENS = re.compile(
    r"//.*|/\*[\s\S]*?\*/"  # comments
    r"|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|\$\{(?:[^`}]|`[^`]*`)*\}|[^`\\])*`"  # texts
    r"|/(?![*/ ])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n])+/[a-z]*"  # regular expressions
    r"|(?P<statement>(?<=\n)[ ]+(?:(?:this\.)?[#\w.?]+\([^\n]*\)|[#\w.?]+\.[#\w]+ = [^\n]*);(?=\n))"
    r"|[A-Za-z_$#][\w$]*|0x[\da-f]+|\d[\d_.]*(?:e\d+)?|=>|\?\.|\?\?=?|\*\*|>>>?|<<|[!=]==|&&|\|\||[-+<>*/]=|[-+<>*/!]"
)
SWAPPED = {
    **{"<": ["<=", ">="], ">": [">=", "<="], "<=": ["<", ">"], ">=": [">", "<"]},
    **{"===": ["!=="], "!==": ["==="], "&&": ["||"], "||": ["&&"], "??": ["&&"], "!": [""]},
    **{"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "+=": ["-="], "-=": ["+="]},
    **{"true": ["false"], "false": ["true"]},
}
#: A mutant: its file, the number of its line, that before and after, and the whole file after.
Mutant = tuple[str, int, str, str, str]


def named_tests(file: str) -> str:
    """The tests that the page names for a file; empty if it is in no row."""
    games = [path.parent.name for path in ROOT.glob("envs/*/rules.py")]
    also = ""
    for line in TABLE.read_text(encoding="utf-8").rpartition("\n| files |")[2].splitlines()[2:]:
        patterns, tests = (re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:3])
        for pattern, game in itertools.product(patterns, games):
            if fnmatch(file, pattern.replace("GAME", game)):
                named = " ".join(tests).replace("GAME", game)
                if not line.startswith("| also "):
                    return named + also
                also = f" {named}"
    return ""


def alternatives(node: Any) -> Iterator[ast.AST]:
    """What may stand in the place of a node, or of an operator."""
    pairs = [pair for pair in OPERATORS if type(node) in pair]
    yield from (one() if type(node) is other else other() for one, other in pairs)
    if isinstance(node, ast.If | ast.IfExp):
        changed = copy.copy(node)
        changed.test = ast.UnaryOp(ast.Not(), node.test)
        yield changed
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    is_entry = isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name)
    if is_call or is_entry or isinstance(node, REMOVED):
        yield ast.Pass()


def changes(tree: ast.AST, within: Any = None) -> Iterator[tuple[Any, str, str]]:
    """Each change of a tree: yields statement, before and after, while the tree is changed."""
    parent = within or tree
    for name, value in ast.iter_fields(parent):
        entries = range(len(value)) if isinstance(value, list) else [name]
        holder = value if isinstance(value, list) else vars(parent)
        for entry in () if name in ("annotation", "returns", "decorator_list") else entries:
            old = holder[entry]
            shown = old if hasattr(old, "lineno") else parent
            before = ast.unparse(shown) if isinstance(shown, ast.AST) else ""
            for new in alternatives(old):
                holder[entry] = new
                yield shown.lineno, before, ast.unparse(new if shown is old else parent)
                holder[entry] = old
            if isinstance(old, ast.AST):
                yield from changes(tree, old)


def changes_of_javascript(source: str) -> Iterator[tuple[int, str, str, str]]:
    """Each change of a script: line, before and after, and the whole script after."""
    for token in TOKENS.finditer(source):
        text, begin, end = token[0], token.start(), token.end()
        news = SWAPPED.get(text, [])
        if token["statement"]:
            news = [""]
        elif text.isdecimal():
            news = [str(int(text) + 1), str(int(text) - 1)]
        line = source.count("\n", 0, begin) + 1
        first, last = source.rfind("\n", 0, begin + 1) + 1, source.find("\n", end)
        for new in news:
            before, after = source[first:begin], source[end:last]
            shown = ((before + text + after).strip(), (before + new + after).strip())
            yield line, *shown, source[:begin] + new + source[end:]


def mutants_of(file: str, source: str) -> Iterator[tuple[str, int, str, str, Callable[[], str]]]:
    """Each mutant of a file; the last value makes its text, before the next one is asked for."""
    if file.endswith(".js"):
        for line, before, after, changed in changes_of_javascript(source):
            yield file, line, before, after, lambda changed=changed: changed
    else:
        tree = ast.parse(source)
        for line, before, after in changes(tree):
            yield file, line, before, after, lambda: ast.unparse(tree)


def source_files(places: list[str], tree: Path = ROOT) -> list[str]:
    """Python's and JavaScript's files among folders and files, but for what is built."""
    paths = {path for place in places for path in (tree / place, *(tree / place).rglob("*"))}
    names = sorted(path.relative_to(tree).as_posix() for path in paths)
    return [name for name in names if name.endswith((".py", ".js")) and "/built/" not in name]


def draw(tree: Path, places: list[str], count: int, seed: int) -> Iterator[Mutant]:
    """Draw mutants of folders and files; each is as likely as any other."""
    files = source_files(places, tree)
    sources = {file: (tree / file).read_text(encoding="utf-8") for file in files}
    numbers = [(f, n) for f in files for n, _ in enumerate(mutants_of(f, sources[f]))]
    print(f"{len(numbers)} mutants of {len(files)} files")
    for file, number in random.Random(seed).sample(numbers, min(count, len(numbers))):
        *about, text = next(itertools.islice(mutants_of(file, sources[file]), number, None))
        yield *about, text()


def read_list(tree: Path, path: str) -> Iterator[Mutant]:
    """The mutants of a list; ``ValueError`` if what is before is not there once."""
    for entry in map(json.loads, Path(path).read_text(encoding="utf-8").splitlines()):
        file, before, after = entry["file"], entry["before"], entry["after"]
        begin, *rest = (tree / file).read_text(encoding="utf-8").split(before)
        if len(rest) != 1:
            raise ValueError(f"{file} has {before!r} {len(rest)} times, not once")
        yield file, begin.count("\n") + 1, before, after, begin + after + rest[0]


class Watch:
    """Runs the tests that it knows, in their order; keeps what they took, and which failed."""

    def __init__(self, known: dict[str, float]) -> None:
        self.known, self.times, self.failed = known, dict[str, float](), list[str]()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = {item.nodeid: item for item in items}
        items[:] = [found[name] for name in self.known or found]  # an error if one is missing

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.times[report.nodeid] = self.times.get(report.nodeid, 0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)


def run_tests(tree: Path, tests: str, known: dict[str, float], seconds: float) -> Any:
    """Run tests in this process; return what they took, and what failed."""
    os.chdir(tree)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.dont_write_bytecode = bool(known)
    sys.path[:0] = [str(tree), str(tree / "build/types")]
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    watch = Watch(known)
    options = ["-m", "not slow", "-p", "no:cacheprovider", f"--timeout={seconds}"]
    if known:
        options.append("--timeout-method=thread")  # compiled loops hear no signal
    options += ["--maxfail", "1" if known else "0", *shlex.split(tests)]
    code = pytest.main(options, [watch])
    return watch.times, watch.failed or ["collection"] * bool(code)


def in_a_fork(*arguments: Any) -> Any:
    """`run_tests` in a process of its own, which has what is imported here."""
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
            return pool.submit(run_tests, *arguments).result()
    except BrokenProcessPool:
        return {}, ["crash"]


def main() -> None:
    """Run mutants."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="*", metavar="FOLDER", help="such as arena, or play/js")
    parser.add_argument("--file", action="append", default=[], help="one file (may be repeated)")
    parser.add_argument("--list", metavar="FILE", help="mutants as JSON lines, instead of drawing")
    parser.add_argument("--count", type=int, default=40, help="how many (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default %(default)s)")
    parser.add_argument("--seconds", type=float, help="most for a test: 1.5, compiled 60")
    chosen = parser.parse_args()
    tree, output = RESULTS / f"tree-{os.getpid()}", RESULTS / "results.jsonl"
    tree.mkdir(parents=True)
    command = f"git ls-files -z | xargs -0 cp --parents -t {tree} && make -sC {tree} types"
    subprocess.run(command, shell=True, cwd=ROOT, check=True)
    done = map(json.loads, output.read_text().splitlines() if output.exists() else ())
    killed = {row["mutant"]: row for row in done if row["killer"]}
    places = chosen.places + chosen.file
    try:
        drawn = draw(tree, places, chosen.count, chosen.seed)
        mutants = list(read_list(tree, chosen.list) if chosen.list else drawn)
        is_plain = all(file.startswith("envs/") for file, *_ in mutants)
        seconds = chosen.seconds or (1.5 if is_plain else 60)
        os.environ.setdefault("LUDARIUM_CODE", "plain" if is_plain else "")
        # Begin with the kernels that this user keeps; those of mutants stay in the tree.
        ask = "from ludarium.machine.cache import folder; print(folder())"
        found = subprocess.run([sys.executable, "-c", ask], stdout=subprocess.PIPE, text=True)
        subprocess.run(["cp", "-r", found.stdout.strip(), tree / "code"])
        os.environ["LUDARIUM_CODE_FOLDER"] = str(tree / "code")
        results = [try_out(tree, mutant, seconds, killed, output) for mutant in mutants]
    finally:
        shutil.rmtree(tree)
    survivors = [row for row in results if not row["killer"]]
    print(f"\n{len(results) - len(survivors)} of {len(results)} killed; survivors:")
    for row in survivors:
        print(f"  {row['mutant']}")


#: What the tests of a row take without a mutant.
_known: dict[str, dict[str, float]] = {}


def try_out(
    tree: Path, mutant: Mutant, seconds: float, killed: dict[str, Any], output: Path
) -> dict[str, Any]:
    """Run a mutant's tests, unless they have killed it before; return and keep the result."""
    file, line, before, after, text = mutant
    name = f"{file}:{line}: {before} -> {after}"
    if name in killed:
        return killed[name]
    tests = named_tests(file)
    if tests not in _known:
        times, failed = in_a_fork(tree, tests, {}, seconds)
        _known[tests] = {t: times[t] for t in sorted(times, key=times.get) if t not in failed}
        print(f"{len(_known[tests])} tests of {file}; left out:", *failed, sep="\n  ", flush=True)
    source = (tree / file).read_text(encoding="utf-8")
    (tree / file).write_text(text, encoding="utf-8")
    most = seconds + 3 * max(_known[tests].values(), default=0)
    _, failed = in_a_fork(tree, tests, _known[tests], most)
    (tree / file).write_text(source, encoding="utf-8")
    result = {"mutant": name, "killer": failed[0] if failed else None}
    print(json.dumps(result), flush=True)
    with output.open("a") as results:
        print(json.dumps(result), file=results)
    return result


if __name__ == "__main__":
    main()
