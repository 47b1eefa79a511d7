"""People from ROS 2 topics with a clock and a network of the test's own: ages, sources, and who has no place."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from elbowroom.avoidance import Limits, Sensor, Status
from elbowroom.cell import Cell, Scene
from elbowroom.cell.mocap.ros_people import FRAMES
from elbowroom.cell.recording.scene_messages import header, transforms
from elbowroom.connect.ros2.goal import GoalTopic
from elbowroom.connect.ros2.node import Message
from elbowroom.connect.ros2.people import Ros2People
from elbowroom.connect.ros2.session import QUIET, Ros2Options, Ros2Session, root_of
from elbowroom.export.write_urdf import urdf
from elbowroom.geometry.person import standing_points
from elbowroom.loading import load
from elbowroom.model.rotations import pose

T0 = 1_700_000_000.0  # s: of another machine's clock, when ours is 0
EXACT = 1e-5  # s: a float64 of seconds since 1970 has steps of 2.4e-7, and DRIFT for some seconds
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
PEOPLE, BODIES, TF = "/people", "/humans/bodies/tracked", "/tf"


class Inbox:
    def __init__(self):
        self.messages = []

    def take(self):
        found, self.messages = self.messages, []
        return found


class Network:
    """A node without a network, and a clock that the test moves."""

    def __init__(self, places: int = 1, **settings):
        self.now, self.inboxes = 100.0, {}
        self.people = Ros2People(self, places, clock=lambda: self.now, **settings)
        self.rows = np.zeros((13, 13))

    def subscribe(self, topic, kind, quality):
        return self.inboxes.setdefault(topic, Inbox())

    def ns(self, ago: float = 0.0) -> int:
        return round(1e9 * (T0 + self.now - ago))

    def send(self, topic, value, publisher=1):
        self.inboxes[topic].messages.append(Message(value, publisher))

    def poses(self, *at, ago=0.0, frame="world", publisher=1):
        found = tuple(((x, y, 0.0), UPRIGHT) for x, y in at)
        self.send(PEOPLE, (header(self.ns(ago), frame), found), publisher)

    def ids(self, *names, ago=0.0, publisher=2):
        self.send(BODIES, (header(self.ns(ago)), names), publisher)

    def body(self, who="eve", ago=0.0, publisher=3):
        points = standing_points((1.0, 0.2, 0.0), 0.4)
        names = [f"{FRAMES[name]}_{who}" for name in points]
        self.send(TF, transforms(self.ns(ago), names, [pose(np.eye(3), at) for at in points.values()]), publisher)

    def pump(self, seconds: float = 0.02):
        self.now += seconds
        self.people.pump(self.now)

    def age(self, place: int = 0) -> float:
        return -self.people.places[place].look(0.0, self.rows)

    @property
    def nobody(self) -> bool:
        self.age()
        return self.rows[0, 0] > 1e5


def fed(network: Network, seconds: float, send, step: float = 0.02) -> None:
    for _ in range(round(seconds / step)):
        network.now += step
        send()
        network.pump(0.0)


# ---- ages


def test_what_the_sensor_states_as_its_latency_is_part_of_every_age():
    """Frames that are always stamped 0.1 s before they come look new to a clock that learns differences."""
    world = Network(latency=0.1)
    fed(world, 1.0, lambda: world.poses((2.0, 0.0), ago=0.1))
    assert world.age() == pytest.approx(0.1, abs=EXACT)
    fed(world, 1.0, lambda: world.poses(ago=0.1))
    assert world.nobody
    assert world.age() == pytest.approx(0.1, abs=EXACT)


def test_a_delay_that_lasts_stays_age_and_becomes_a_fault_that_a_reset_does_not_end():
    world = Network()
    fed(world, 2.0, lambda: world.poses((2.0, 0.0)))
    world.now += 0.8
    delayed = lambda: world.poses((2.0, 0.0), ago=0.8)  # noqa: E731
    fed(world, 9.0, delayed)
    assert world.age() == pytest.approx(0.8, abs=0.01)
    assert world.people.fault == ""
    fed(world, 6.0, delayed)
    assert world.age() == pytest.approx(0.8, abs=0.01)
    assert "s later than before, for 10 s" in world.people.fault
    world.people.forget()
    assert world.people.fault == ""
    fed(world, 0.1, delayed)
    assert world.age() == pytest.approx(0.8, abs=0.01)
    fed(world, 11.0, delayed)
    assert "s later than before, for 10 s" in world.people.fault


def test_nobody_ages_from_the_message_that_said_so():
    world = Network(latency=0.1)
    assert world.age() == math.inf  # nothing has come
    fed(world, 1.0, world.poses)
    world.now += 0.3
    assert world.nobody
    assert world.age() == pytest.approx(0.4, abs=EXACT)


def test_an_empty_cell_whose_reports_end_stops_after_what_the_sensor_states():
    sensor = Sensor(latency=0.1, frame_period=0.02, dropout=0.1)  # stale after 0.24 s
    world = Network(latency=sensor.latency)
    fed(world, 1.0, world.poses)
    scene = Scene(robot="planar2", origin="base", limits=Limits(sensor=sensor), people=world.people.settings)
    cell = Cell(scene)
    cell.reset()
    stopped, silent = math.nan, 1.0
    for k in range(200):
        t = 0.01 * k
        world.now = 200.0 + t
        if t <= silent:
            world.poses()
        world.pump(0.0)
        cell.step(t)
        cell.advance(t, 0.01)
        if cell.guard.latched is not None:
            stopped = t
            break
    assert cell.guard.latched is Status.STOP_HUMAN_STALE
    assert stopped == pytest.approx(silent + 0.14, abs=0.011)  # 0.24 s less the latency; one control step


# ---- sources


@pytest.mark.parametrize("first", [PEOPLE, BODIES])
def test_two_topics_of_people_are_a_fault_and_one_does_not_empty_the_others_places(first):
    world = Network()
    world.body()
    (world.poses((2.0, 0.0)) if first == PEOPLE else world.ids("eve"))
    world.pump()
    assert not world.nobody
    (world.ids() if first == PEOPLE else world.poses())
    world.pump()
    assert not world.nobody
    other = BODIES if first == PEOPLE else PEOPLE
    assert world.people.fault == f"{other}: people come from {first} already; expected one of both"


def test_an_empty_list_of_another_topic_does_not_wipe_out_too_many_people():
    world = Network(2)
    world.poses((2.0, 0.0), (2.0, 1.0), (2.0, 2.0))
    world.ids()
    world.pump()
    assert world.people.problem == "/people: 3 people, and room for 2"
    assert world.people.fault


def test_a_second_publisher_of_people_is_a_fault_until_a_reset():
    world = Network()
    world.poses((2.0, 0.0), publisher=1)
    world.pump()
    world.poses(publisher=9)
    world.pump()
    assert not world.nobody
    assert world.people.fault == "/people: a second publisher of people"
    world.people.forget()
    world.poses(publisher=9)  # the first has gone, as after its restart
    world.pump()
    assert world.nobody
    assert world.people.fault == ""


# ---- somebody of whom nothing is known is not nobody


def test_a_listed_body_without_frames_is_not_nobody_and_a_reset_does_not_hide_it():
    world = Network()
    fed(world, 1.0, world.ids)
    fed(world, 0.4, lambda: world.ids("eve"))
    assert world.people.fault == f"{BODIES}: no frames of body 'eve' in 'world'"
    assert world.age() == pytest.approx(0.4, abs=EXACT)  # nobody is as old as the last list that said so
    world.people.forget()
    assert world.people.fault
    world.now += 0.02
    world.body()
    world.ids("eve")
    world.pump()
    assert world.people.fault == ""
    assert not world.nobody


def test_more_people_than_places_let_what_was_known_age():
    world = Network()
    fed(world, 1.0, world.poses)
    fed(world, 0.4, lambda: world.poses((2.0, 0.0), (2.0, 1.0)))
    assert world.age() == pytest.approx(0.4, abs=EXACT)
    world.people.forget()
    assert world.people.fault == "/people: 2 people, and room for 1"


# ---- frames of /tf


def test_frames_are_as_old_as_they_are_on_their_own_clock():
    """Frames from a clock 0.4 s ahead of the list's, silent for 0.4 s: they are 0.4 s old, not new."""
    world = Network(max_age=1.0)

    def both():
        world.body(ago=-0.4)
        world.ids("eve")

    fed(world, 1.0, both)
    assert world.age() == pytest.approx(0.0, abs=EXACT)
    fed(world, 0.4, lambda: world.ids("eve"))
    assert world.age() == pytest.approx(0.4, abs=1e-3)
    fed(world, 0.7, lambda: world.ids("eve"))
    assert world.people.fault == f"{BODIES}: no frames of the last 1 s of body 'eve' in 'world'"


def test_people_in_a_moving_frame_are_as_old_as_the_frame():
    world = Network()
    camera = pose(np.eye(3), (0.5, 0.0, 0.0))
    world.send(TF, transforms(world.ns(), ["camera"], [camera]), 3)
    world.poses((2.0, 0.0), frame="camera")
    world.pump(0.0)
    assert world.age() == pytest.approx(0.0, abs=EXACT)
    fed(world, 0.3, lambda: world.poses((2.0, 0.0), frame="camera"))
    assert world.age() == pytest.approx(0.3, abs=EXACT)
    fed(world, 0.3, lambda: world.poses((2.0, 0.0), frame="camera"))
    assert world.people.fault == "/people: no transform of the last 0.5 s from 'camera' to 'world'"


# ---- frame and floor


def session(**asked) -> Ros2Session:
    """One without a network."""
    link = Ros2Session.__new__(Ros2Session)
    link.options, link.root = Ros2Options(**asked), ""
    return link


def test_the_frame_is_the_root_link_of_the_urdf_unless_another_is_asked_for(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(urdf(load("planar2").model).replace('"world"', '"pedestal"'))
    link = session()
    assert link.frame == "world"
    link.root = root_of(Scene(robot=str(path)))
    assert link.frame == link.root == "pedestal"
    assert root_of(Scene(robot="planar2")) == ""
    link.options = Ros2Options(frame="cell")
    assert link.frame == "cell"


def test_a_root_link_that_tf_has_elsewhere_than_the_frame_is_a_fault():
    world = Network(root="base_link")
    world.poses()
    world.pump()
    assert world.people.fault == ""  # nothing is said about it
    world.send("/tf_static", transforms(1, ["base_link"], [pose(np.eye(3), (0.0, 0.0, 0.75))]))
    world.pump()
    assert "the arm's root link 'base_link'" in world.people.fault
    assert "in 'world' /tf has 'base_link' at (0.000, 0.000, 0.750) m, turned by 0.0 deg" in world.people.fault
    world.people.forget()
    world.pump()
    assert world.people.fault
    world.send("/tf_static", transforms(1, ["base_link"], [np.eye(4)]))
    world.pump()
    assert world.people.fault == ""


def test_messages_without_a_frame_are_refused():
    world = Network()
    world.poses((2.0, 0.0), frame="")
    world.pump()
    assert world.people.fault == "/people: expected the name of a frame (header.frame_id); got none"
    assert world.age() == math.inf
    goals = GoalTopic("/goal_pose", world.people.tree, "world")
    goals.listen(world)
    world.send("/goal_pose", (header(world.ns(), ""), ((0.4, 0.0, 0.5), UPRIGHT)))
    goals.pump(world.now)
    assert (goals.pose, goals.problem) == (None, "/goal_pose: a goal was refused: expected a frame_id; got none")


@pytest.mark.parametrize("floor, feet", [(None, -0.75), (-0.5, -0.5)])
def test_people_stand_where_their_pose_is_or_on_the_floor_that_is_given(floor, feet):
    """An arm on a table: the map's floor is 0.75 m below its base."""
    world = Network(floor=floor)
    world.send("/tf_static", transforms(1, ["map"], [pose(np.eye(3), (0.0, 0.0, -0.75))]))
    world.poses((2.0, 0.0), frame="map")
    world.pump()
    world.age()
    seat = world.people.places[0]
    assert seat.at[2] == feet
    head = seat.names.index("head")
    assert 1.5 < world.rows[head, 2] - feet < 1.9


# ---- resets


def test_a_reset_that_is_repeated_does_not_end_the_next_stop():
    inbox, now, guard = Inbox(), 100.0, SimpleNamespace(latched=None, reset=lambda t: may)
    link = session()
    link.plant = SimpleNamespace(clock=lambda: now, unlatch=lambda: None)
    link._resets, link._heard, link.resets, link.refused = inbox, -math.inf, 0, 0
    link.people = link._watchdog = None
    cell, may = SimpleNamespace(guard=guard, task=None), True

    def ask(after: float, latched: object) -> int:
        nonlocal now
        now += after
        guard.latched = latched
        inbox.messages.append(Message((), 1))
        link._reset(cell, 0.0)
        return link.resets

    assert ask(0.0, None) == 0
    assert [ask(1.0, stop) for stop in (None, "stop", "stop", None, "stop")] == [0] * 5  # as `ros2 topic pub` does
    assert link.refused == 3
    may = False
    assert ask(QUIET + 0.1, "stop") == 0  # the arm still moves: it may be given again
    may = True
    assert ask(0.1, "stop") == 1
    assert ask(1.0, "stop") == 1
