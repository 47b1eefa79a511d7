"""The controller in motion: nothing jumps, nothing rings, people come and go and are not touched."""

from __future__ import annotations

import numpy as np
import pytest
from reference import arm_and_body

from elbowroom.avoidance import Config, Controller, Force, Goal, MovingAverage, State, Waiting
from elbowroom.geometry import Capsule
from marks import slow_where

NO_FILTER, AT_ONCE = MovingAverage(0.0), Waiting(time=0.0)

# ---- nothing jumps


def walk(controller, seed, lo, hi, count):
    """Commands along a smooth motion of arm, people and all velocities; the part from lo to hi of it."""
    arm, rng = controller.arm, np.random.default_rng(seed)
    q0 = arm.ready + 0.3 * rng.standard_normal(arm.n)
    q1, (v0, v1) = q0 + 0.6 * rng.standard_normal(arm.n), 0.3 * rng.standard_normal((2, arm.n))
    tool = arm.pose(q0)[:3, 3]
    ends = tool + 0.5 * rng.standard_normal((2, 3, 2, 3))
    moves = 0.3 * rng.standard_normal((2, 3, 6))
    places, goal, found = controller.obstacles(), Goal(tool + np.array([0.1, 0.1, 0.0])), []
    for s in np.linspace(lo, hi, count):
        a, v = ends[0] + s * (ends[1] - ends[0]), moves[0] + s * (moves[1] - moves[0])
        places.see([np.r_[a[k].ravel(), 0.05, v[k]] for k in range(3)], 0.0)
        command = controller.step(0.0, 0.001, State(q0 + s * (q1 - q0), v0 + s * (v1 - v0)), places, goal)
        found.append(np.r_[command.qd, command.distance])
    return np.array(found)


@pytest.mark.parametrize("name", slow_where(lambda name: name == "ur5e", ["panda", "ur5e"]))
@pytest.mark.parametrize("options", [{}, {"superposition": "joint"}, {"superposition": "tool"}, {"controller": "F"}])
def test_the_command_has_no_jumps(name, options):
    """A step of one part in 25 million of the motion changes the command by next to nothing, contact aside.

    Waiting is followed at once: followed in time, its level would run on from step to step however small they are.

    The greatest change of a coarse walk is looked at 300 times closer, twice: where the law is continuous its change
    shrinks with the step, by 1e5 and more; a jump stays.  Where axes cross (deep in penetration) the normal must jump.
    """
    arm, body = arm_and_body(name)
    config = Config(smoothing=NO_FILTER, waiting=AT_ONCE, **options)
    controller = Controller(arm, config, body=body, people=1, person_capsules=3)
    for seed in range(8):
        lo, hi = 0.0, 1.0
        for _ in range(3):
            found = walk(controller, seed, lo, hi, 300)
            change = np.abs(np.diff(found[:, :-1], axis=0)).max(axis=1)
            change[np.minimum(found[1:, -1], found[:-1, -1]) < 0.0] = 0.0
            k, width = int(change.argmax()), (hi - lo) / 299
            lo, hi = lo + k * width, lo + (k + 1) * width
        assert change.max() < 1e-3, (seed, lo, found[k, -1])


def test_a_limb_swinging_through_parallel_does_not_jump():
    """Closest points run from one end of a limb to the other as it passes parallel; the command must not notice."""
    arm, body = arm_and_body("ur5e")
    config = Config(smoothing=NO_FILTER, superposition="joint", waiting=AT_ONCE)
    controller = Controller(arm, config, body=body, person_capsules=1)
    places, link = controller.obstacles(), max(body.capsules(arm.ready), key=lambda c: c.length)
    along = (link.b - link.a) / link.length
    across = np.cross(along, [0.3, 0.5, 0.1])
    across /= np.linalg.norm(across)
    speeds = []
    for angle in (-1e-7, 1e-7):
        limb = np.cos(angle) * along + np.sin(angle) * across
        swing = -np.sin(angle) * along + np.cos(angle) * across  # 1 rad/s
        middle = 0.5 * (link.a + link.b) + 0.25 * across
        capsule = Capsule(middle - 0.25 * limb, middle + 0.25 * limb, 0.05)
        places.see([capsule.row(-0.25 * swing, 0.25 * swing)], 0.0)
        command = controller.step(0.0, 0.001, State(arm.ready), places, Goal(arm.pose(arm.ready)[:3, 3]))
        speeds.append(command.qd.copy())
    assert np.abs(speeds[0]).max() > 0.1
    assert np.abs(speeds[1] - speeds[0]).max() < 1e-3


# ---- closed loops


LOOPS = {"K": {}, "K joint": {"superposition": "joint"}, "K tool": {"superposition": "tool"}} | {
    name: {"controller": "F", "force": Force(method=name)} for name in ("linearised", "operational", "joint")
}
WITH_ARMS = [(law, "panda") for law in LOOPS] + [
    pytest.param(law, arm, marks=pytest.mark.slow) for law in ("K", "operational") for arm in ("ur5e", "puma560")
]
PERIOD = 0.01


class Loop:
    """A controller that moves a perfect arm at 100 Hz."""

    def __init__(self, name, **options):
        self.arm, body = arm_and_body(name)
        self.controller = Controller(
            self.arm, Config(period=PERIOD, **options), body=body, people=1, others=1, person_capsules=1
        )
        self.state, self.places = State(self.arm.ready), self.controller.obstacles()
        self.start = self.arm.pose(self.arm.ready).copy()
        self.goal = Goal(self.start[:3, 3], rotation=self.start[:3, :3])
        self.least, self.t = np.inf, 0.0

    def run(self, duration, person=None, goal=None):
        """`person(t)` gives position (2,) and velocity (2,) of somebody upright."""
        for _ in range(round(duration / PERIOD)):
            if person is not None:
                (x, y), (u, v) = person(self.t)
                upright = Capsule((x, y, 0.2), (x, y, 1.5), 0.2)
                self.places.see([upright.row((u, v, 0.0), (u, v, 0.0))], self.t)
            if goal is not None:
                self.goal.position[:], self.goal.velocity[:] = goal(self.t)
            command = self.controller.step(self.t, PERIOD, self.state, self.places, self.goal)
            assert not command.status.stops, command.reason
            self.state.qd[:] = command.qd
            self.state.q += PERIOD * command.qd
            self.least = min(self.least, command.distance)
            self.t += PERIOD
        return command

    @property
    def error(self):
        return float(np.linalg.norm(self.arm.pose(self.state.q)[:3, 3] - self.goal.position))


@pytest.mark.parametrize(("law", "name"), WITH_ARMS)
def test_the_tool_reaches_its_goal_where_nobody_is(law, name):
    """To a tenth of a millimetre, whatever the rest posture says (3/s of attraction, 15 s).

    Dry friction, which the puma has and a torque law does not know, leaves somewhat more: c / (kp M) of a joint.
    """
    loop = Loop(name, **LOOPS[law])
    loop.goal.position[:] += [0.05, 0.15, -0.1]
    loop.run(15.0)
    assert loop.error < (5e-4 if loop.arm.model.coulomb.any() and loop.controller.makes_torque else 1e-4)


@pytest.mark.parametrize(("law", "name"), WITH_ARMS)
def test_somebody_walks_in_and_out(law, name):
    """0.3 m/s from outside towards the tool, a second there, and back: no contact, and the tool is back at its goal."""
    loop = Loop(name, **LOOPS[law])
    tool = loop.start[:2, 3]
    outwards = tool / np.linalg.norm(tool)

    def person(t):
        far = max(1.5 - 0.3 * t, 0.35) if t < 4.9 else min(0.35 + 0.3 * (t - 4.9), 1.5)
        speed = 0.3 * (-1.0 if t < 1.15 / 0.3 else 0.0 if t < 4.9 else 1.0 if far < 1.5 else 0.0)
        return tool + far * outwards, speed * outwards

    loop.run(9.0, person)
    assert 0.02 < loop.least < 0.45  # he came near: closer than the field reaches
    loop.places.nobody(loop.t)
    loop.run(12.0)
    assert loop.error < 2e-3


@pytest.mark.parametrize("law", LOOPS)
def test_a_pole_is_followed(law):
    """A goal on a circle at 6 cm/s, fed forward: the tool lags by no more than the filter's delay and a little."""
    loop = Loop("panda", **LOOPS[law])
    center = loop.start[:3, 3] + [0.0, 0.1, 0.0]

    def goal(t):
        w = 0.6
        return center + 0.1 * np.array([np.sin(w * t), -np.cos(w * t), 0.0]), 0.06 * np.array(
            [np.cos(w * t), np.sin(w * t), 0.0]
        )

    loop.run(12.0, goal=goal)
    assert loop.error < 0.01


@pytest.mark.parametrize("law", LOOPS)
def test_a_post_in_the_way_is_not_touched(law):
    """It stands between tool and goal: the tool may stay on this side (3.12.2), but must not touch it."""
    loop = Loop("panda", **LOOPS[law])
    loop.goal.position[:] += [0.0, 0.45, 0.0]
    x, y, _ = loop.start[:3, 3] + [0.0, 0.3, 0.0]
    loop.places.put(Capsule((x, y, 0.0), (x, y, 1.2), 0.05))
    loop.run(10.0)
    assert 0.01 < loop.least < 0.3


@pytest.mark.parametrize("law", LOOPS)
def test_somebody_who_stands_in_the_way_is_not_touched(law):
    """A person between tool and goal, the goal far behind: whatever draws the tool must not pull it through."""
    loop = Loop("panda", **LOOPS[law])
    loop.goal.position[:] += [0.0, 0.6, 0.0]
    x, y, _ = loop.start[:3, 3]
    loop.run(10.0, lambda t: ((x, y + 0.45), (0.0, 0.0)))
    assert 0.01 < loop.least < 0.3


@pytest.mark.parametrize("smoothing", [NO_FILTER, MovingAverage()])
@pytest.mark.parametrize("law", ["K", "linearised"])
def test_the_command_does_not_chatter(law, smoothing):
    """Somebody walks up at 0.5 m/s.  Lookahead feeds the arm's own speed back: the loop must not ring at its period.

    A smooth command changes by much less from step to step than it is large.
    """
    loop = Loop("panda", **LOOPS[law], smoothing=smoothing)
    tool = loop.start[:2, 3]
    outwards = tool / np.linalg.norm(tool)
    turns, previous, change = 0, np.zeros(7), np.zeros(7)
    for _ in range(220):
        command = loop.run(PERIOD, lambda t: (tool + (1.5 - 0.5 * t) * outwards, -0.5 * outwards))
        now = command.qd - previous
        turns += now @ change < -1e-2
        previous, change = command.qd.copy(), now
    assert loop.least < 0.45
    assert turns <= 3
