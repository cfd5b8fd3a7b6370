"""With an unknown version of numba games play the same, and agents say which one they need."""

from __future__ import annotations

import pytest

from ludarium.envs import GAMES
from tests.games import slow_but
from tests.processes import LUDARIUM, python

JIT = {"NUMBA_DISABLE_JIT": "0"}
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


@pytest.mark.parametrize("name", slow_but(["corso"], GAMES))
def test_games_are_the_same_with_an_unknown_numba(name: str) -> None:
    code = GAMES_PLAYED.format(name=name)
    unknown, known = (python(each, environment=JIT) for each in (UNKNOWN + code, code))
    assert known.returncode == 0, known.stderr
    assert unknown.stdout == known.stdout
    (warning,) = [line for line in unknown.stderr.splitlines() if "RuntimeWarning" in line]
    assert "numba 9.9.1 is not a version that ludarium knows" in warning
    assert "pip install 'numba>=" in warning
    assert "RuntimeWarning" not in known.stderr


def test_an_opponent_says_which_numba_it_needs() -> None:
    code = "import gymnasium, ludarium.envs\ngymnasium.make('ludarium/Corso-v0', opponent='uct:25')"
    done = python(UNKNOWN + code, environment=JIT)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: numba 9.9.1 is not a version that ludarium knows; install one: "
        "pip install 'numba>=0.61,<0.69'"
    )


def test_the_command_line_says_which_numba_it_needs() -> None:
    silent = JIT | {"PYTHONWARNINGS": "ignore"}
    done = python(UNKNOWN + LUDARIUM, "games", environment=silent)
    assert done.returncode == 2
    assert done.stderr.startswith("ludarium: numba 9.9.1 is not a version that ludarium knows")
    assert done.stderr.count("\n") == 1
