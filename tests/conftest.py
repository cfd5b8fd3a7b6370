"""Lets the tests import what they share as ``tests...``, and keeps windows off the screen."""

import os
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

if "PYTEST_XDIST_WORKER" in os.environ:  # processes side by side: a core for each
    os.environ.setdefault("OMP_NUM_THREADS", "1")
