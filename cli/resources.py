"""Arguments that the searches have in common."""

from __future__ import annotations

import argparse
import re

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def read_bytes(text: str) -> int:
    """An amount of memory: a number with KiB, MiB or GiB, such as ``2GiB``."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(?:([KMG])i?B?|B?)", text.strip(), re.IGNORECASE)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of memory: write 2GiB or 512MiB")
    return int(float(match[1]) * _UNITS[(match[2] or "").upper()])


def add_resources(parser: argparse.ArgumentParser, memory: str) -> None:
    """Add ``--memory``, with this default, and ``--threads``."""
    parser.add_argument(
        "--memory",
        type=read_bytes,
        default=memory,
        metavar="BYTES",
        help=f"that the table may take (default {memory})",
    )
    parser.add_argument("--threads", type=int, help="default: as many as there are cores")
