"""Which parameters of a test are marked slow, and so left out by `make test`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def slow_where(long: Callable[[Any], bool], values: Iterable[Any]) -> list[Any]:
    """Values as parameters; those that take long are marked slow."""
    return [pytest.param(value, marks=pytest.mark.slow) if long(value) else value for value in values]
