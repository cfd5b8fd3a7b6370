"""The rules of every game compile for a GPU, to code without what is slow there."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.games import ALL_GAMES

pytestmark = pytest.mark.slow

KERNELS = [
    "batch_start",
    "batch_step",
    "batch_step_random",
    "batch_random_actions",
    "encode",
]


@pytest.fixture(scope="module")
def reports() -> dict[str, dict]:
    for package in ("numba-cuda", "nvidia-cuda-nvrtc", "nvidia-nvvm"):
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pytest.skip(f"{package} is not installed: make cuda-compile")
    run = subprocess.run(
        [sys.executable, "-m", "tests.envs.compile_for_cuda"],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "NUMBA_DISABLE_JIT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ALL_GAMES)
def test_kernel_compiles_to_lean_gpu_code(reports: dict[str, dict], name: str, kernel: str) -> None:
    report = reports[name][kernel]
    assert report["lines"] > 100
    assert not any(report["unwanted"].values()), report["unwanted"]
