"""The comparison of random numbers with NumPy's: its rows."""

from __future__ import annotations

from elbowroom.bench import random_numbers
from elbowroom.bench.random_numbers import measured


def test_rows_of_both_distributions_and_precisions(monkeypatch):
    monkeypatch.setattr(random_numbers, "ALONE", 16)  # numbers: what it measures takes seconds to compile
    rows = list(measured(rounds=1))
    assert [(row.what, row.dtype) for row in rows] == [
        (what, dtype) for dtype in ("float64", "float32") for what in ("uniform", "normal")
    ]
    assert all(row.lanes > 0 and row.numpy > 0 for row in rows)
