"""Measures the strength of the tests: changes the code at random places, one at a time.

``python -m tests.mutation rules osiron --count 40`` draws so many mutants of a group of files, and
runs the group's tests against each until one fails. They run as plain Python, which takes less time
than compiling anew; tests that take more than ``--seconds`` that way are left out. The search is
compiled, because plain Python cannot run it. Each mutant is a line in ``build/mutation``; those
that are there are not run again: to try survivors with compiled code, remove their lines, set
``NUMBA_DISABLE_JIT=0`` and allow more seconds.
"""

import argparse
import ast
import copy
import itertools
import json
import multiprocessing
import os
import random
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build/mutation"
#: References and games that were kept are not tests here: whoever reads them does not learn which
#: rule they protect.
OF_A_GAME = (
    "tests/envs/test_GAME.py tests/envs/test_references.py tests/envs/test_every_game.py "
    "tests/envs/test_pictures.py -k 'GAME and not the_reference'"
)
#: Files and tests of each group.
GROUPS = {
    "rules": ("envs/GAME/rules.py", OF_A_GAME),
    "display": ("envs/GAME/[!_r]*.py", f"tests/envs/test_foresight.py {OF_A_GAME}"),
    "search": (
        "training/search/*.py training/agents/kernels/*.py",
        "tests/training/test_search.py tests/training/test_search_against_mctx.py "
        "tests/training/test_search_cache.py tests/training/test_search_with_network.py "
        "tests/training/test_tree_search.py "
        "tests/training/test_level.py tests/training/test_agents.py",
    ),
    "record": (
        "envs/engine/record.py",
        "tests/envs/test_record.py tests/envs/test_environment.py -k record",
    ),
    "statistics": (
        "arena/sprt.py arena/standings.py training/evaluation/[bs]*.py",
        "tests/arena/test_sprt.py tests/arena/test_comparison.py tests/arena/test_tournament.py "
        "tests/training/test_ratings.py tests/training/test_bradley_terry.py "
        "tests/training/test_evaluation.py",
    ),
}
#: Operators, either of which may stand in the place of the other.
OPERATORS = [
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Lt, ast.GtE), (ast.LtE, ast.Gt)),
    *((ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn), (ast.And, ast.Or)),
    *((ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.Div, ast.Mult), (ast.Mod, ast.FloorDiv)),
    *((ast.LShift, ast.RShift), (ast.BitAnd, ast.BitOr), (ast.BitXor, ast.BitOr)),
]
REMOVED = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break)


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


def mutants(tree: ast.AST, within: Any = None) -> Iterator[tuple[Any, str, str]]:
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
                yield from mutants(tree, old)


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
    """`run_tests` in a process of its own, which need not import numba anew."""
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
            return pool.submit(run_tests, *arguments).result()
    except BrokenProcessPool:
        return {}, ["crash"]


def main() -> None:
    """Run mutants of a group."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("game", nargs="?", default="")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float)
    chosen = parser.parse_args()
    is_search = chosen.group == "search"
    seconds = chosen.seconds or (60 if is_search else 1.5)
    os.environ.setdefault("NUMBA_DISABLE_JIT", "0" if is_search else "1")
    label = f"{chosen.group}-{chosen.game}".strip("-")
    tree, output = RESULTS / f"tree-{label}", RESULTS / f"{label}.jsonl"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    command = f"git ls-files -z | xargs -0 cp --parents -t {tree} && make -sC {tree} types"
    subprocess.run(command, shell=True, cwd=ROOT, check=True)
    os.environ["NUMBA_CACHE_DIR"] = str(tree / "cache")
    import numba  # noqa: F401 (once here, rather than in every fork)

    patterns, tests = (text.replace("GAME", chosen.game) for text in GROUPS[chosen.group])
    files = [file for each in patterns.split() for file in sorted(tree.glob(each))]
    numbers = [(f, n) for f in files for n, _ in enumerate(mutants(ast.parse(f.read_text())))]
    times, failed = in_a_fork(tree, tests, {}, seconds)
    known = {name: times[name] for name in sorted(times, key=times.get) if name not in failed}
    print(f"{len(numbers)} mutants, {len(known)} tests; left out:", *failed, sep="\n  ")
    done = output.read_text() if output.exists() else ""
    for file, number in random.Random(chosen.seed).sample(numbers, min(chosen.count, len(numbers))):
        name = f"{file.relative_to(tree)} {number}"
        if f'"{name}"' in done:
            continue
        source = file.read_text()
        syntax = ast.parse(source)
        line, before, after = next(itertools.islice(mutants(syntax), number, None))
        file.write_text(ast.unparse(syntax))
        _, failed = in_a_fork(tree, tests, known, 10 * seconds)
        file.write_text(source)
        result = {"mutant": name, "line": line, "before": before, "after": after}
        text = json.dumps(result | {"killer": failed[0] if failed else None})
        print(text, flush=True)
        with output.open("a") as results:
            print(text, file=results)
    shutil.rmtree(tree)


if __name__ == "__main__":
    main()
