"""With an unknown version of numba games play the same, and agents say which one they need."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ludarium.envs import GAMES

UNKNOWN = "import numba; numba.__version__ = '9.9.1'\n"
GAMES_PLAYED = """
import hashlib
import numpy as np
from ludarium.envs import batch

games = batch.make({name!r}, num_envs=3, seed=1)
random = np.random.default_rng(2)
seen = hashlib.sha256()
for _ in range(150):
    games.step(np.array([random.choice(np.flatnonzero(mask)) for mask in games.masks]))
    seen.update(games.masks.tobytes() + games.observations.tobytes())
    for field in games.states.dtype.names:
        seen.update(games.states[field].tobytes())
print(seen.hexdigest())
"""


def run(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "0"},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "name",
    [name if name == "corso" else pytest.param(name, marks=pytest.mark.slow) for name in GAMES],
)
def test_games_are_the_same_with_an_unknown_numba(name: str) -> None:
    code = GAMES_PLAYED.format(name=name)
    unknown, known = run(UNKNOWN + code), run(code)
    assert known.returncode == 0, known.stderr
    assert unknown.stdout == known.stdout
    (warning,) = [line for line in unknown.stderr.splitlines() if "RuntimeWarning" in line]
    assert "numba 9.9.1 is not a version that ludarium knows" in warning
    assert "pip install 'numba>=" in warning
    assert "RuntimeWarning" not in known.stderr


def test_an_opponent_says_which_numba_it_needs() -> None:
    code = "import gymnasium, ludarium.envs\ngymnasium.make('ludarium/Corso-v0', opponent='uct:25')"
    done = run(UNKNOWN + code)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: numba 9.9.1 is not a version that ludarium knows; install one: "
        "pip install 'numba>=0.61,<0.69'"
    )


def test_the_command_line_says_which_numba_it_needs() -> None:
    done = run(
        UNKNOWN + "from ludarium.cli import main\nraise SystemExit(main(['games']))", "-W", "ignore"
    )
    assert done.returncode == 2
    assert done.stderr.startswith("ludarium: numba 9.9.1 is not a version that ludarium knows")
    assert done.stderr.count("\n") == 1
