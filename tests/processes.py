"""Programs of Python in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: The command line as a program.
LUDARIUM = "import sys; from ludarium.cli import main; sys.exit(main())"


def python(
    program: str, *arguments: object, environment: Mapping[str, str] | None = None, **others: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program; what it has written is text.

    Args:
        program: its source.
        arguments: words of its command line.
        environment: variables besides those of this process.
        others: further arguments of `subprocess.run`.
    """
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        return subprocess.run(
            [sys.executable, "-c", program, *map(str, arguments)],
            env={**os.environ, **(environment or {})},
            text=True,
            **{**streams, **others},
        )
    except subprocess.CalledProcessError as error:
        error.add_note(str(error.stderr))
        raise
