"""Node.js for tests of what runs outside Python."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ludarium.play.wasm import LinkerError, linker


def need_tools() -> None:
    """Skip the test where modules cannot be linked or run."""
    try:
        linker.find_zig()
    except LinkerError as error:
        pytest.skip(str(error))
    if shutil.which("node") is None:
        pytest.skip("there is no node, which runs the modules")


def ask(script: Path, *arguments: str, text: str = "") -> Any:
    """What a script answers, as JSON.

    Args:
        script: its file.
        arguments: of the script.
        text: for its standard input.

    Raises:
        AssertionError: it fails; the message is what it says of that.
    """
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node, which runs the page's files")
    run = subprocess.run(
        [node, str(script), *arguments], input=text, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def run_tests(script: Path, **paths: Path) -> None:
    """Run a file of Node's tests; all must pass.

    Args:
        script: the file.
        paths: which it finds in the environment.
    """
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node, which runs the page's files")
    run = subprocess.run(
        [node, "--test", str(script)],
        env={name: str(path) for name, path in paths.items()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
