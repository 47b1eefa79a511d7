"""From how near people are retreated from: hands, and what has no name, from farther away than the rest of a body."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Goal, Limits, Repulsion, Sensor, State, Supervisor
from elbowroom.avoidance.safety.filter.body_regions import retreats
from elbowroom.geometry import Body, Person, Sphere, distance
from elbowroom.geometry.person import NAMES

PERIOD = 0.01
ARM = er.load("panda")
LIMITS = Limits(sensor=Sensor.exact(PERIOD), evasion_distance=0.12, evasion_hands=0.14, separation=False)
BODY, HAND = 0.12, 0.12 + 0.14


# ---- by name


def test_hands_and_what_has_no_name_from_farther_away():
    found = retreats([("torso", "left_hand", "right_forearm", "head", "a box")], 6, LIMITS)
    assert found.shape == (6, 1)
    assert found[:, 0].tolist() == pytest.approx([BODY, HAND, BODY, BODY, HAND, HAND])  # the last has no name at all


def test_of_a_whole_person_the_hands_alone():
    found = retreats([NAMES], len(NAMES), LIMITS)[:, 0]
    hands = {name for name, far in zip(NAMES, found, strict=True) if far > 0.2}
    assert hands == {"left_hand", "right_hand"}
    assert set(found) == {BODY, LIMITS.evasion_distance + LIMITS.evasion_hands}


def test_each_person_has_places_of_their_own():
    found = retreats([("torso",), (), ("left_hand", "torso")], 2, LIMITS)[:, 0]
    assert found.tolist() == pytest.approx([BODY, HAND, HAND, HAND, HAND, BODY])


def test_more_names_than_places_are_left():
    assert retreats([("torso", "left_hand", "head")], 1, LIMITS)[:, 0].tolist() == [BODY]


def test_nobody_takes_no_place_from_others():
    assert retreats([], 13, LIMITS).shape == (1, 1)  # there is always a row


# ---- a supervisor


class Cell:
    """A panda whose law feels nobody and wants to stand, beside balls: what moves it is evasion."""

    def __init__(self, gap, people=1, kind=Controller, **limits):
        config = Config(period=PERIOD, waiting=None, repulsion=Repulsion(gain=1e-9, influence=0.02))
        self.controller = kind(ARM, config, people=people, person_capsules=1)
        self.supervisor = Supervisor(self.controller, replace(LIMITS, **limits))
        self.places, self.state = self.controller.obstacles(), State(ARM.ready.copy())
        self.goal, self.k = Goal(ARM.pose(ARM.ready)[:3, 3].copy()), 0
        body = Body(ARM)
        ahead = ARM.pose(ARM.ready)[:3, 3] + [1.0, 0.0, 0.0]
        near = min(distance(link, Sphere(ahead, 0.05)).distance for link in body.capsules(ARM.ready))
        for _ in range(50):  # straight ahead of the arm, as far off as is said
            ahead[0] += gap - near
            near = min(distance(link, Sphere(ahead, 0.05)).distance for link in body.capsules(ARM.ready))
        assert near == pytest.approx(gap, abs=1e-9)
        self.rows = Sphere(ahead, 0.05).row()[None]

    def run(self, cycles, *names):
        """The last command (n,); the arm is held where it is."""
        for _ in range(cycles):
            t = self.state.t = self.goal.t = self.k * PERIOD
            for p, name in enumerate(names):
                self.places.see(self.rows if p == 0 else self.rows + FAR, t, p, (name,) if name else ())
            self.supervisor.state_checks.forget()
            command = self.supervisor.step(t, PERIOD, self.state, self.places, self.goal)
            assert not command.status.stops, command.reason
            self.k += 1
        return command.qd.copy()

    @property
    def retreat(self):
        return self.supervisor.limiter.retreat[:, 0].tolist()


FAR = np.r_[5.0, 0.0, 0.0, 5.0, 0.0, 0.0, np.zeros(7)]


@pytest.mark.parametrize(
    "gap, name, retreating",
    [
        (0.2, "torso", False),
        (0.2, "head", False),
        (0.2, "left_hand", True),
        (0.2, "", True),
        (0.2, "somebody's broom", True),
        (0.1, "torso", True),
        (0.3, "left_hand", False),
        (0.3, "", False),
    ],
)
def test_an_arm_gives_way_to_hands_earlier(gap, name, retreating):
    command = Cell(gap).run(100, name)
    assert (np.abs(command).max() > 0.05) == retreating
    if not retreating:
        assert np.abs(command).max() < 1e-6


def opening(q, qd, row):
    """How fast (m/s) the arm comes away from a ball, by its motion alone."""
    ball, step = Sphere(row[:3], row[6]), 1e-6

    def gap(at):
        return min(distance(link, ball).distance for link in Body(ARM).capsules(at))

    return (gap(q + step * qd) - gap(q - step * qd)) / (2 * step)


@pytest.mark.parametrize("effort", [0.02, 0.05])
def test_evasion_asks_a_point_for_a_part_of_what_its_joints_can_give_it(effort):
    """A hand 2 cm away asks for 1.1 m/s; so small an effort is less, and is had."""
    cell = Cell(0.02, evasion_effort=effort, evasion_weight=1e5)
    command, row = cell.run(100, "left_hand"), cell.rows[0]
    greatest = sum(abs(opening(ARM.ready, speed, row)) for speed in np.diag(ARM.model.velocity))
    had = opening(ARM.ready, command, row) / (effort * greatest)
    assert 0.999 < had < 1.2  # above 1 where another link, which asks as well, carries this one along


def test_with_all_effort_evasion_has_what_it_asks_for():
    cell = Cell(0.02, evasion_effort=3.0, evasion_weight=1e5)
    command = cell.run(100, "left_hand")
    limits = cell.supervisor.limits
    asked = limits.evasion_gain * (limits.evasion_distance + limits.evasion_hands - 0.02)
    assert opening(ARM.ready, command, cell.rows[0]) == pytest.approx(asked, rel=1e-3)


class Asked(Controller):
    """The same controller, which a supervisor does not know and must ask."""


@pytest.mark.parametrize("kind", [Controller, Asked])
def test_it_follows_the_names(kind):
    """Unknown until they are told, and anew whenever they change; the native cycle too."""
    cell = Cell(0.2, people=2, kind=kind)
    assert cell.retreat == pytest.approx([HAND, HAND])
    moving = cell.run(100, "left_hand", "torso")
    assert cell.retreat == pytest.approx([HAND, BODY])
    standing = cell.run(100, "torso", "left_hand")
    assert cell.retreat == pytest.approx([BODY, HAND])
    assert np.abs(moving).max() > 0.05
    assert np.abs(standing).max() < 1e-6
    cell.run(2, "", "torso")
    assert cell.retreat == pytest.approx([HAND, BODY])
    again = cell.run(100, "", "torso")
    assert np.abs(again).max() > 0.05


def test_a_whole_person_is_told_by_their_own_names():
    controller = Controller(ARM, Config(period=PERIOD), person_capsules=len(NAMES) + 1)
    supervisor, places = Supervisor(controller, LIMITS), controller.obstacles()
    state, goal = State(ARM.ready.copy()), Goal(ARM.pose(ARM.ready)[:3, 3])
    for k in range(3):
        t = state.t = goal.t = k * PERIOD
        places.see(Person.standing((2.0, 0.0, -0.4)), t)
        supervisor.step(t, PERIOD, state, places, goal)
    names = places.names[0]
    expected = [HAND if k >= len(names) or names[k].endswith("hand") else BODY for k in range(len(NAMES) + 1)]
    assert supervisor.limiter.retreat[:, 0].tolist() == pytest.approx(expected)


def test_a_refused_frame_does_not_rename_a_hand():
    """Late by half a second: neither where it says that people are, nor what, is believed."""
    cell = Cell(0.2)
    cell.run(5, "left_hand")
    t = cell.state.t = cell.goal.t = cell.k * PERIOD
    cell.places.see(cell.rows, t - 0.5, 0, ("torso",))
    cell.supervisor.step(t, PERIOD, cell.state, cell.places, cell.goal)
    assert cell.retreat == pytest.approx([HAND])


def test_a_copy_has_names_of_its_own():
    cell = Cell(0.2)
    cell.run(50, "torso")
    other = copy.copy(cell)
    other.supervisor = copy.copy(cell.supervisor)
    other.controller = other.supervisor.controller
    other.places, other.state, other.goal = (copy.deepcopy(x) for x in (cell.places, cell.state, cell.goal))
    moving = other.run(100, "left_hand")
    assert other.retreat == pytest.approx([HAND])
    assert cell.retreat == pytest.approx([BODY])
    assert np.abs(moving).max() > 0.05
    assert np.abs(cell.run(100, "torso")).max() < 1e-6


# ---- names that cannot be trusted


def test_a_forearm_counts_where_a_person_has_no_hand():
    found = retreats([("torso", "left_forearm")], 2, LIMITS)[:, 0]
    assert found.tolist() == pytest.approx([BODY, HAND])


def test_names_of_a_refused_frame_are_not_taken():
    """Nor one cycle later, when the frame is no longer new."""
    cell = Cell(0.2)
    cell.run(3, "left_hand")
    assert cell.supervisor.limiter.retreat[0, 0] == pytest.approx(HAND)
    t = cell.state.t = cell.goal.t = cell.k * PERIOD
    cell.places.see(np.full_like(cell.rows, np.nan), t, 0, ("torso",))
    for _ in range(3):
        cell.supervisor.step(t, PERIOD, cell.state, cell.places, cell.goal)
        assert cell.supervisor.limiter.retreat[0, 0] == pytest.approx(HAND)
        t = cell.state.t = cell.goal.t = t + PERIOD


@pytest.mark.parametrize("names", [None, ["torso"]])
def test_names_may_be_none_or_a_list_that_changes(names):
    cell = Cell(0.3)
    for k in range(4):
        t = cell.state.t = cell.goal.t = k * PERIOD
        cell.places.see(cell.rows, t, 0, names)
        command = cell.supervisor.step(t, PERIOD, cell.state, cell.places, cell.goal)
        assert not command.status.stops, command.reason
    assert cell.supervisor.limiter.retreat[0, 0] == pytest.approx(HAND if names is None else BODY)
    if names:
        names[0] = "left_hand"
        t = cell.state.t = cell.goal.t = t + PERIOD
        cell.places.see(cell.rows, t, 0, names)
        cell.supervisor.step(t, PERIOD, cell.state, cell.places, cell.goal)
        assert cell.supervisor.limiter.retreat[0, 0] == pytest.approx(HAND)


def test_places_of_another_layout_are_a_controlled_stop():
    """The arm runs down; it does not stop dead."""
    cell = Cell(0.6)
    cell.goal.position[2] += 0.3
    for k in range(20):
        t = cell.state.t = cell.goal.t = k * PERIOD
        cell.places.see(cell.rows, t, 0, ("torso",))
        command = cell.supervisor.step(t, PERIOD, cell.state, cell.places, cell.goal)
        cell.state.q += command.qd * PERIOD
        cell.state.qd[:] = command.qd
    fast = np.abs(command.qd).max()
    assert fast > 0.3
    others = Controller(ARM, Config(period=PERIOD), people=2, person_capsules=1).obstacles()
    t = cell.state.t = cell.goal.t = t + PERIOD
    command = cell.supervisor.step(t, PERIOD, cell.state, others, cell.goal)
    assert command.status.stops
    assert np.abs(command.qd).max() == pytest.approx(fast - 15.0 * PERIOD, abs=1e-6)  # 1.5 times 10 rad/s^2


def test_an_arm_that_evades_says_so():
    cell = Cell(0.2)
    cell.run(5, "left_hand")
    assert cell.supervisor.command.status is er.avoidance.Status.AVOIDING
