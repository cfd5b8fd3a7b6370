"""Serves requests of `machine.compiler`: lines of JSON come in, answers and object code go out."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from dataclasses import replace
from importlib import import_module
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import IO, Any

from ludarium.machine.machines import Machine
from ludarium.machine.marks import remember_source
from ludarium.machine.recipe import Recipe


def main() -> None:
    """Answer until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what imported modules print is no answer
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    for line in sys.stdin.buffer:
        _answer(json.loads(line), finder, answers)


class _Finder(MetaPathFinder):
    """Finds modules where the parent found them, as they were when it loaded them.

    Attributes:
        files: the files of modules, by the modules' names.
        texts: what a file held, by the file, if it was edited since; see `marks.changed_sources`.
    """

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.texts: dict[str, str] = {}

    def find_spec(
        self, name: str, path: Any, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The file of a module, see `importlib.abc.MetaPathFinder`."""
        file = self.files.get(name)
        if file is None:
            return None
        text = self.texts.get(file)
        loader = None if text is None else _Loader(name, file, text.encode("latin-1"))
        return spec_from_file_location(name, file, loader=loader)


class _Loader(SourceLoader):
    """Loads a module from what its file held when the parent loaded it."""

    def __init__(self, name: str, file: str, content: bytes) -> None:
        self._name, self._file, self._content = name, file, content
        remember_source(file, content)

    def get_filename(self, name: str) -> str:
        return self._file

    def get_data(self, path: str | bytes) -> bytes:
        return self._content


def _answer(request: dict[str, Any], finder: _Finder, answers: IO[bytes]) -> None:
    try:
        finder.files.update(request["files"])
        finder.texts.update(request["texts"])
        sys.path += [each for each in request["path"] if each not in sys.path]
        answer, contents = _compiled(request)
    except Exception as error:
        from numba import NumbaError

        if isinstance(error, OSError | ImportError | MemoryError):
            answer = {"fault": "other", "told": traceback.format_exc(limit=-3)}
        else:  # numba has errors of Python's for what it does not know
            kind = "" if isinstance(error, NumbaError) else f"{type(error).__name__}: "
            answer = {"fault": "compile", "told": f"{kind}{error}"}
        contents = []
    answers.write(json.dumps(answer | {"sizes": list(map(len, contents))}).encode() + b"\n")
    answers.writelines(contents)
    answers.flush()


_prepared: dict[str, str] = {}  # the kind of processor that this process compiles for, by `prepare`
_compiled_before: set[str] = set()  # the `prepare` of what this process has compiled


def _compiled(request: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    given = request["recipe"]
    recipe = Recipe(**{name: _tuples(value) for name, value in given.items()})
    if recipe.prepare:
        # numba keeps types: those of earlier requests without this `prepare` fit this machine only.
        is_late = request["machines"] and _compiled_before - {recipe.prepare}
        if is_late or _prepared.setdefault(recipe.prepare, request["kind"]) != request["kind"]:
            return {"fault": "stale", "told": "this process compiles for another processor"}, []
        recipe.prepare_for(request["kind"])
    try:
        digest = recipe.ingredients().digest()
    except (ImportError, AttributeError):  # modules that were loaded here lack what is new
        digest = traceback.format_exc(limit=-3)
    if digest != request["digest"]:
        told = f"the sources differ from those that were loaded: {digest}"
        return {"fault": "stale", "told": told}, []
    _compiled_before.add(recipe.prepare)
    import llvmlite.binding as llvm

    from .exports import Blocks, callees

    here = replace(
        Machine.of_kind(request["kind"], llvm.get_default_triple()),
        relocation="static",
        code_model="large",
    )
    of = callees(recipe)
    templates = vars(import_module(recipe.templates))
    blocks, forms = Blocks(), []
    for number, (kernel, layouts) in enumerate(_tuples(request["kernels"])):
        symbol = f"{request['symbols']}_{number}"
        returned = blocks.add(symbol, of(templates[kernel]), layouts)
        forms.append([kernel, symbol, layouts, returned])
    machines = [Machine(**each) for each in request["machines"]] or [here]
    return {"forms": forms}, list(map(blocks.object_code, machines))


def _tuples(entry: Any) -> Any:
    return tuple(map(_tuples, entry)) if isinstance(entry, list) else entry
