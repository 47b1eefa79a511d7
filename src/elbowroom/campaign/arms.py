"""The arms of a campaign, each loaded once a process, and what moves them in a run."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..avoidance import Config, Limits
from ..avoidance.control.config import structure
from ..avoidance.settings import leaves
from ..bench.encounters.methods import ALL, Factory, law_settings
from ..bench.encounters.scene import Place, place
from ..bench.planning.arms import FOREIGN, foreign
from ..loading import load
from .draws import RunParameters
from .settings import made, nested, overrides


@cache
def arm_of(name: str, tip: str | None = None) -> Arm:
    """An arm of a campaign."""
    return foreign(name) if name in FOREIGN else load(name, tip)


@cache
def where(arm: str, tip: str | None = None) -> Place:
    """The place of an arm of a campaign."""
    return place(arm_of(arm, tip))


def factory(of: RunParameters) -> Factory:
    """What makes the method of a run."""
    make: Any = ALL[of.law]
    known = overrides(of.law)
    given = dict(make.keywords) if isinstance(make, partial) else {}
    if of.limits and "limits" in known:
        make = partial(make, limits=made("limits", dict(of.limits), given.get("limits", Limits())))
    if of.controller and "controller" in known:
        make = partial(make, overrides=nested("controller", dict(of.controller)))
    found: Factory = make
    return found


def gains(of: RunParameters) -> NDArray[np.float64] | None:
    """The law's numbers in a run, as `Controller` has them; None where they are those of every other run."""
    return np.array([value for _, value in leaves(_settings(_law(of)))]) if of.controller else None


def program(of: RunParameters) -> Hashable:
    """What else of the law's settings is a run's own: all that chooses its programs, and what a supervisor reads."""
    if not of.controller:
        return None
    found = _settings(_law(of))
    return structure(found), found.workspace


_Law = tuple[str, str | None, str, tuple[tuple[str, object], ...]]


def _law(of: RunParameters) -> _Law:
    return of.arm, of.tip, of.law, of.controller


@lru_cache(maxsize=1024)
def _settings(law: _Law) -> Config:
    arm, tip, name, changed = law
    make: Any = ALL[name]
    given = {k: v for k, v in make.keywords.items() if k != "limits"} if isinstance(make, partial) else {}
    return law_settings(where(arm, tip).arm, **given, overrides=nested("controller", dict(changed)))
