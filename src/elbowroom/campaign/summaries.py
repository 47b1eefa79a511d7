"""Rows of a campaign in 53 bytes each: what was measured; what was drawn follows from the file and the run's number.

    small = summary(rows)                       a structured array of SUMMARY
    rows = whole(small, campaign, columns)      as they were, but for single precision

For tables that must be sent on from where they were made.  All numbers but the least distance are in single precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import runs
from .draws import parameters
from .runs import METRICS, Rows, Schema
from .settings import Campaign

KEPT = ("least",)  # in double precision
SUMMARY = np.dtype(
    [("run", "<u4"), *((name, "<f4" if kind == "<f8" and name not in KEPT else kind) for name, kind in METRICS)]
)


def summary(rows: Rows) -> NDArray[Any]:
    """What was measured."""
    small = np.empty(len(rows), SUMMARY)
    for name in SUMMARY.names or ():
        small[name] = rows[name]
    return small


def whole(small: NDArray[Any], campaign: Campaign, columns: Schema) -> Rows:
    """The rows, with what was drawn for them; runs in order, without gaps."""
    rows = np.empty(len(small), columns.dtype)
    if len(small):
        nothing = (0,) * len(METRICS)
        given = parameters(campaign, int(small["run"][0]), len(small))
        rows[:] = [(*runs.given(of, columns), *nothing) for of in given]
    for name, _ in METRICS:
        rows[name] = small[name]
    return rows
