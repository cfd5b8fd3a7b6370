"""The report in a few sentences, made from its figures."""

from __future__ import annotations

from typing import Any


def summarise(report: dict[str, Any]) -> list[str]:
    return []
