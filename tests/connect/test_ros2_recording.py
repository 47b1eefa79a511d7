"""Recordings of a guarded ROS 2 robot: whole in themselves, and shown again without a flag or another file."""

from __future__ import annotations

import numpy as np
import pytest
from ros2_offline import Guarded
from test_ros2_limits import Peopled

from elbowroom.cell.recording.table import read
from elbowroom.cell.runner import Log, record_to
from elbowroom.connect.ros2.session import saved_description
from elbowroom.export.write_urdf import urdf
from elbowroom.geometry.shapes import PARKED
from elbowroom.loading import load
from elbowroom.viewer.replay.recorded import Replay

pytest.importorskip("mcap", reason="mcap (extra connect) writes MCAP")
ENDINGS = pytest.mark.parametrize("ending", ["csv", "mcap"])


def recorded(world: Guarded, path, steps) -> None:
    """Control steps into a file; `steps` is called with each number before the step."""
    with record_to(world.cell, path, keep=False) as recording:
        log = Log(world.cell, recording)
        for k in range(40):
            steps(k)
            t = world.t
            world.step()
            log.add(t)


@ENDINGS
def test_an_arm_of_robot_description_is_in_its_recording(tmp_path, ending):
    path = tmp_path / f"run.{ending}"
    with saved_description(urdf(load("planar2").model)) as file:
        world = Guarded(str(file))
    assert not file.parent.exists()  # nothing is left behind
    recorded(world, path, lambda k: None)
    shown = Replay(path)
    assert shown.warnings == []
    assert shown.cell.arm.model.digest == world.cell.arm.model.digest
    assert shown.cell.arm.model.capsules == world.cell.arm.model.capsules
    assert shown.cell.scene.start == world.cell.scene.start
    assert read(path).notes["not in the scene"] == "task: FollowGoal"


@ENDINGS
def test_people_of_topics_are_figures_where_they_were_and_nobody_is_nobody(tmp_path, ending):
    world, path = Peopled((2.0, 1.0)), tmp_path / f"run.{ending}"

    def comes_and_goes(k: int) -> None:
        world.people = () if 10 <= k < 30 else ((2.0, 1.0 + 0.01 * k),)

    recorded(world, path, comes_and_goes)
    shown = Replay(path)
    assert shown.warnings == [
        "people came from outside of the scene, as on ROS 2: the first is shown as a standing figure"
    ]
    there = np.isfinite(shown.person).all(axis=1)
    assert there[:9].all()
    assert not there[15:29].any()
    assert there[35:].all()
    for k in (5, 20, 38):
        _, people, _ = shown.bodies(k)
        if k == 20:
            assert (people == PARKED).all()
        else:
            np.testing.assert_allclose(people[1, 3:5], shown.person[k, :2], atol=1e-9)  # the hip above the feet
