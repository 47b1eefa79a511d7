"""Arms that nothing in the package knows, in the standard cell; they need the wheels of the extra `foreign`."""

from __future__ import annotations

import importlib.metadata
import warnings
from pathlib import Path

import pytest

import elbowroom as er
from foreign import ARMS, ran


def missing(name: str) -> bool:
    try:
        return not ARMS[name].path.is_file()
    except importlib.metadata.PackageNotFoundError:
        return True


def test_the_package_knows_none_of_them():
    names = "|".join(ARMS)
    sources = [*Path(er.__file__).parent.rglob("*.py"), *Path(er.__file__).parent.rglob("*.toml")]
    known = {path.name for path in sources for name in ARMS if Path(ARMS[name].file).name in path.read_text("utf-8")}
    assert not known, names


@pytest.mark.parametrize("name", ARMS)
def test_a_foreign_arm_picks_and_places_and_keeps_clear(name):
    if missing(name):
        pytest.skip("needs robot descriptions: pip install '.[foreign]'")
    found = ran(name)
    assert found.alone >= 3
    assert found.contacts == 0
    assert found.least > 0.0


@pytest.mark.parametrize("name", ["xarm7", "z1", "ur5", "tiago"])
def test_a_ready_pose_is_the_same_each_time_and_within_the_limits(name):
    if missing(name):
        pytest.skip("needs robot descriptions: pip install '.[foreign]'")
    from elbowroom.dynamics.ready import _cached

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arm = er.load(ARMS[name].path, ARMS[name].tip)
    first = arm.ready
    _cached.cache_clear()
    assert (arm.ready == first).all()
    assert ((arm.model.lower < first) & (first < arm.model.upper)).all()
