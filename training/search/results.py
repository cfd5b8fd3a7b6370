"""Joins the results of several searches, workers or actors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Result = TypeVar("Result", bound="DataclassInstance")


def join_results(results: Sequence[Result]) -> Result:
    """Join results, dataclasses of one class.

    Numbers are added up, arrays are concatenated in the order of the results, and a field that is
    None in the first stays None.

    Raises:
        ValueError: there are none.
    """
    if not results:
        raise ValueError("there are no results to join")
    joined: dict[str, Any] = {}
    for each in fields(results[0]):
        values = [getattr(result, each.name) for result in results]
        if isinstance(values[0], np.ndarray):
            # Without its dtype, np.concatenate would drop the padding between fields.
            joined[each.name] = np.concatenate(values, dtype=values[0].dtype)
        else:
            joined[each.name] = None if values[0] is None else sum(values)
    return type(results[0])(**joined)
