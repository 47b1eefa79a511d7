"""The limits of a guarded arm as they are by default, with a clock and a network of the test's own: when it stops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ros2_offline import PERIOD, SPEEDS, Guarded

from elbowroom.avoidance import Status
from elbowroom.cell.recording.scene_messages import header
from elbowroom.connect.ros2.node import Message
from elbowroom.connect.ros2.plant import TIMEOUT
from elbowroom.connect.ros2.session import AGE

UPRIGHT = (0.0, 0.0, 0.0, 1.0)


class Peopled(Guarded):
    """With a topic of people that says in every step who is there: `people` are places (x, y), None says nothing."""

    def __init__(self, *people: tuple[float, float]) -> None:
        self.people: tuple[tuple[float, float], ...] | None = people
        super().__init__("planar2", people=1)

    def tell(self) -> None:
        super().tell()
        if self.people is not None:
            poses = tuple(((x, y, 0.0), UPRIGHT) for x, y in self.people)
            topic = self.node.subscribe("/people", "geometry_msgs/msg/PoseArray")
            topic.queue.append(Message((header(round(1e9 * self.now), "world"), poses), 3))


def moving(world: Guarded) -> Guarded:
    """An arm on its way, at some speed."""
    world.step(60)  # nobody, for long enough
    world.send(world.arm.pose(world.q + np.array([1.0, -0.8]))[:3, 3])
    world.until(lambda: np.abs(world.qd).max() > 0.2)
    assert world.cell.guard.latched is None, world.cell.guard.reason
    return world


def stopped(world: Guarded, most: float = 2.0) -> float:
    """How long it takes until the arm is stopped, s."""
    since = world.t
    world.until(lambda: world.cell.guard.latched is not None, round(most / PERIOD))
    return world.cell.command.t - since


def test_silence_stops_the_arm_after_the_stated_times(monkeypatch):
    world = moving(Guarded("planar2"))
    monkeypatch.setattr(world, "tell", lambda: None)
    taken = stopped(world)
    assert world.cell.guard.latched is Status.STOP_STATE_STALE
    assert AGE <= taken + PERIOD <= AGE + 3 * PERIOD
    assert "max_state_age" in world.cell.guard.reason
    world.step(round(TIMEOUT / PERIOD) + 2)
    assert not world.link.plant.connected
    world.step(50)
    assert not any(world.node.topics[SPEEDS].queue[-1][1])


def test_people_who_are_not_reported_any_more_stop_it_after_what_the_sensor_states():
    """0.216 s after the last message, as the page says: 0.316 s less the latency that every age has."""
    for people in ((), ((3.0, 3.0),)):
        world = moving(Peopled(*people))
        world.people = None
        assert stopped(world) == pytest.approx(0.216, abs=2 * PERIOD)
        assert world.cell.guard.latched is Status.STOP_HUMAN_STALE


def test_joints_that_stand_while_they_are_commanded_stop_it(monkeypatch):
    """With stamps that go on and speeds of zero, as an encoder that hangs."""
    world = moving(Guarded("planar2"))
    stands, tell = world.q.copy(), world.tell

    def frozen() -> None:
        world.q, world.qd = stands.copy(), np.zeros(2)
        tell()

    monkeypatch.setattr(world, "tell", frozen)
    assert stopped(world) < 1.0
    assert world.cell.guard.latched is Status.STOP_STATE_STALE


@pytest.mark.parametrize("spoil", [lambda q: [math.nan, *q[1:]], lambda q: [q[0] + 1.0, *q[1:]]])
def test_a_state_that_cannot_be_stops_it_in_the_same_step(monkeypatch, spoil):
    world = moving(Guarded("planar2"))
    tell = world.tell

    def spoilt() -> None:
        right, world.q = world.q, np.array(spoil(world.q.tolist()))
        tell()
        world.q = right

    monkeypatch.setattr(world, "tell", spoilt)
    world.step(2)
    assert world.cell.guard.latched is Status.STOP_STATE_INVALID
    assert np.isfinite(np.array([sent[1] for sent in world.node.topics[SPEEDS].queue])).all()


def test_a_person_who_comes_near_a_waiting_arm_is_given_way_to_and_it_comes_back():
    world = Peopled((3.0, 3.0))
    world.step(60)
    stands, (x, y, _) = world.q.copy(), world.arm.pose(world.q)[:3, 3]
    world.people = ((x + 0.45, y),)
    world.step(200)
    assert np.abs(world.q - stands).max() > 0.01
    assert world.cell.guard.latched is None
    world.people = ((3.0, 3.0),)
    world.step(1500)
    np.testing.assert_allclose(world.q, stands, atol=1e-3)
