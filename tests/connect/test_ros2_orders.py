"""The order of joints in commands, and single messages to a guard that runs: reset and goal, in two processes."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from ros2_offline import SPEEDS, Guarded, Network
from ros2_world import until

from elbowroom.avoidance import Command, Status
from elbowroom.connect.ros2.plant import Ros2Plant, Topics
from elbowroom.connect.ros2.simulated import AWAY, NEAR, PACE, SimulatedRobot
from elbowroom.errors import ConfigError
from elbowroom.loading import load

# ---- the order of joints


def test_joint_speeds_go_out_in_the_order_that_the_controller_has():
    world = Guarded("planar2")
    arm, node = world.arm, world.node
    assert arm.joint_names == ("shoulder", "elbow")
    command = Command(2)
    command.qd[:], command.status = (0.1, -0.2), Status.OK
    for names, sent in (((), (0.1, -0.2)), (("elbow", "shoulder"), (-0.2, 0.1))):
        Ros2Plant(arm, node, Topics(command=SPEEDS, command_joints=names)).write(command)
        assert node.topics[SPEEDS].queue[-1][1] == sent


@pytest.mark.parametrize(
    "names, got",
    [
        (("shoulder", "elbo"), "'elbo'; did you mean elbow?"),
        (("shoulder",), "got shoulder"),
        (("shoulder", "elbow", "elbow"), "'elbow' twice"),
        (("shoulder", "elbow", "finger"), "'finger'"),
    ],
)
def test_an_order_of_other_joints_is_refused_by_name(names, got):
    with pytest.raises(ConfigError, match="command joints: expected shoulder, elbow of planar2, in any order") as error:
        Ros2Plant(load("planar2"), Guarded("planar2").node, Topics(command=SPEEDS, command_joints=names))
    assert str(error.value).endswith(got)
    with pytest.raises(ConfigError, match="expected none for trajectories"):
        Ros2Plant(
            load("planar2"),
            Guarded("planar2").node,
            Topics(command="/c/joint_trajectory", command_joints=("elbow", "shoulder")),
        )


def test_a_controller_with_another_order_moves_the_wrong_joint_and_is_stopped_for():
    """The messages have no names: all that can be seen is a joint that stands while its command moves, or the like."""
    world = Guarded("planar2")
    world.joints = [1, 0]
    world.step(5)
    world.send(world.arm.pose(world.q + np.array([0.5, 0.0]))[:3, 3])
    world.until(lambda: world.cell.guard.latched is not None)
    assert world.cell.guard.latched in (Status.STOP_STATE_STALE, Status.STOP_STATE_INVALID)
    right = Guarded("planar2", command_joints=("elbow", "shoulder"))
    right.joints = [1, 0]
    right.step(5)
    right.send(right.arm.pose(right.q + np.array([0.5, 0.0]))[:3, 3])
    right.until(lambda: right.cell.task.state == "there")
    assert right.cell.guard.latched is None


def test_the_simulated_person_walks_up_to_the_tool_and_away():
    robot = SimulatedRobot(load("ur5e"), Network())
    tool = robot.arm.pose(robot.arm.ready)[:2, 3]
    away = [np.linalg.norm(np.array(robot.walked(t)[:2]) - tool) for t in np.arange(0.0, 28.0, 0.01)]
    assert min(away) == pytest.approx(NEAR, abs=1e-6)
    assert max(away) == pytest.approx(NEAR + AWAY, abs=1e-6)
    assert np.abs(np.diff(away)).max() / 0.01 == pytest.approx(PACE, abs=1e-6)  # m/s, without a jump
    robot.walks = True
    robot.step(0.01)
    _, (((x, y, _), _),) = robot.node.topics["/people"].queue[-1]
    assert np.linalg.norm(np.array([x, y]) - tool) == pytest.approx(NEAR + AWAY, abs=1e-6)


# ---- single messages, through a network


@pytest.fixture
def guard(domain, robot):
    """A guard of a simulated robot, stepped in a thread."""
    pytest.importorskip("cyclonedds", reason="cyclonedds (extra connect) speaks DDS")
    from test_ros2_link import Loop

    loop, end = Loop(domain), threading.Event()
    thread = threading.Thread(target=lambda: loop.steps(end.is_set, "for the end of the test"))
    thread.start()
    yield loop
    end.set()
    thread.join(60.0)
    loop.link.close()


def test_a_goal_and_a_reset_by_command(run, domain, robot, guard, monkeypatch):
    monkeypatch.setattr("elbowroom.connect.ros2.session.QUIET", 1000.0)  # s: a busy machine takes its time
    arm, asked = guard.cell.arm, ("--domain", domain)
    x, y, z = arm.pose(arm.ready + np.array([0.2, -0.2]))[:3, 3]
    status, said, errors = run("ros2", f"--go-to={x},{y},{z}", *asked)
    assert status == 0, errors
    assert said.startswith("goal sent; the guard says: ")
    assert "; goal 1: " in said
    status, said, _ = run("ros2", "--go-to", "0.1,0.2,9.0", *asked)
    assert status == 1
    assert "a goal was refused: unreachable" in said.replace("\n", " ")
    reasons = [""]  # which the loop's own thread takes up
    guard.link.plant.faults.append(lambda: reasons[0])

    def stop() -> None:
        reasons[0] = "a test"
        until(lambda: guard.stopped, "for the stop")
        reasons[0] = ""
        until(lambda: robot.order("report")["fastest"] == 0.0 and not guard.cell.command.qd.any(), "for it to stand")

    stop()
    status, said, errors = run("ros2", "--reset", *asked)
    assert status == 0, said + errors
    assert "reset sent; the guard says: " in said
    assert guard.link.resets == 1
    assert guard.stopped is None
    stop()
    status, said, _ = run("ros2", "--reset", *asked)  # within 5 s of the other: refused
    assert status == 1
    assert "the guard says: STOP_" in said


def test_an_order_to_nobody_and_one_without_sense_are_refused(run, domain):
    status, _, errors = run("ros2", "--reset", "--domain", domain, "--wait", 0.2)
    assert status == 1
    assert "/elbowroom/reset: expected a guard that listens in domain" in errors.replace("\n", " ")
    status, _, errors = run("ros2", "--go-to", "1,2", "--domain", domain)
    assert status == 2
    assert "--go-to: expected X,Y,Z in metres" in errors.replace("\n", " ")
