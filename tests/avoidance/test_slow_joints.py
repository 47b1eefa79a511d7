"""An arm on a slow lift: the lift does little of the work, so that its speed limit does not slow the arm."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance import (
    Config,
    Controller,
    Force,
    Goal,
    JointLimits,
    MovingAverage,
    Repulsion,
    State,
)
from elbowroom.avoidance.control.least_squares import SLOW_SLIDE, speed_weights
from elbowroom.geometry import Sphere
from elbowroom.model import Model, catalogue, create

LIFT = 0.02  # m/s
V = np.array([0.1, -0.05, 0.2])  # m/s, of the goal: mostly upwards, where a lift helps most
BARE = {"smoothing": MovingAverage(0.0), "joint_limits": JointLimits("none"), "self_collision": None}
LAWS = {
    "K": Config(**BARE),
    "transpose": Config(inverse="transpose", **BARE),
    "tool": Config(superposition="tool", **BARE),
    "linearised": Config(controller="F", **BARE),
}


def lifted(speed: float) -> er.Arm:
    """A panda on a vertical slide of 0.4 m."""
    panda = catalogue.load("panda")

    def first(value, array):
        return np.concatenate([[value], array])

    model = create(
        "P" + panda.kinds,
        first(np.eye(3), panda.E),
        first(np.zeros(3), panda.p),
        first(20.0, panda.mass),
        first(np.zeros(3), panda.com),
        first(np.eye(3), panda.inertia),
        lower=first(0.0, panda.lower),
        upper=first(0.4, panda.upper),
        velocity=first(speed, panda.velocity),
        tool=panda.tool,
        ready=first(0.2, panda.ready),
        capsules=[dataclasses.replace(c, link=c.link + 1) for c in panda.capsules],
        name="lifted",
    )
    return er.Arm(model)


def moved(arm: er.Arm, config: Config, velocity=V, thing: Sphere | None = None) -> np.ndarray:
    """Joint speeds when the goal moves off from where the tool is, beside a thing if there is one."""
    controller = Controller(arm, config, people=0, others=1)
    places = controller.obstacles()
    if thing is not None:
        places.put(thing)
    pose = arm.pose(arm.ready)
    goal = Goal(pose[:3, 3], velocity=velocity, rotation=pose[:3, :3])
    command = controller.step(0.0, config.period, State(arm.ready), places, goal)
    assert not command.status.stops, command.reason
    return command.qd.copy()


def within_limits(arm: er.Arm, qd: np.ndarray) -> np.ndarray:
    """All joints slowed by one factor until the slowest keeps its limit, as a drive or a supervisor does."""
    return qd * min(1.0, float((arm.model.velocity / np.maximum(np.abs(qd), 1e-12)).min()))


@pytest.mark.parametrize("law", LAWS)
def test_the_arm_follows_and_the_lift_hardly_moves(law):
    arm, quick = lifted(LIFT), lifted(math.inf)
    qd, unlimited = moved(arm, LAWS[law]), moved(quick, LAWS[law])
    Jv = arm.jacobian(arm.ready)[0]
    asked = Jv @ unlimited  # damping and, in the transpose, the direction cost some of V with any arm
    got = Jv @ within_limits(arm, qd)
    assert got @ V >= 0.9 * (asked @ V)
    assert abs(qd[0]) < 0.5 * LIFT
    assert (Jv @ within_limits(arm, unlimited)) @ V < 0.5 * (asked @ V)  # what it would be without weights


@pytest.mark.parametrize("law", ["K", "transpose"])
def test_it_gives_way_with_the_arm(law):
    """Something below the hand pushes it up: the lift alone would be at its limit."""
    config = dataclasses.replace(LAWS[law], repulsion=Repulsion("linear", gain=0.4, influence=0.5))
    arm, quick = lifted(LIFT), lifted(math.inf)
    below = Sphere(tuple(arm.pose(arm.ready)[:3, 3] - [0.0, 0.0, 0.2]), 0.05)
    qd, unlimited = (moved(each, config, np.zeros(3), below) for each in (arm, quick))
    Jv = arm.jacobian(arm.ready)[0]
    got, without = (Jv @ within_limits(arm, each) for each in (qd, unlimited))  # the second: without weights
    assert got[2] > 0.5 * (Jv @ unlimited)[2] > without[2]
    assert abs(qd[0]) < 0.3 * abs(unlimited[0])


@pytest.mark.parametrize("method", ["operational", "joint"])
def test_torques_accelerate_the_lift_less_too(method):
    config = Config(controller="F", force=Force(method=method), **BARE)
    slow, quick = moved(lifted(LIFT), config), moved(lifted(math.inf), config)
    assert abs(slow[0]) < 0.1 * abs(quick[0])


@pytest.mark.parametrize("name", catalogue.names())
def test_an_arm_without_slow_joints_has_no_weights(name):
    assert speed_weights(catalogue.load(name)) is None


@pytest.mark.parametrize("config", [Config(), Config(controller="F", force=Force(method="joint"))], ids=["K", "F"])
def test_and_moves_as_if_it_had_no_limits_to_the_last_bit(config):
    panda = catalogue.load("panda")
    free = dataclasses.replace(panda, velocity=np.full(panda.n, math.inf))
    assert np.array_equal(moved(er.Arm(panda), config), moved(er.Arm(free), config))


def with_speeds(*speeds: float) -> Model:
    return dataclasses.replace(catalogue.load("scara"), velocity=np.array(speeds))  # turns, turns, slides, turns


def test_weights_are_by_the_speed_of_each_joint():
    weights = speed_weights(with_speeds(6.0, math.inf, 0.2 * SLOW_SLIDE, 0.4))
    assert weights == pytest.approx([1.0, 1.0, 0.2, 0.8])
    assert speed_weights(with_speeds(6.0, math.inf, 0.0, 4.0)) is None  # no speed at all is none that is known
    assert speed_weights(with_speeds(0.1, 0.1, 0.05, 0.1)) is None  # all alike: a slow arm is no other arm
    assert speed_weights(with_speeds(0.1, 0.1, 0.025, 0.1)) == pytest.approx([1.0, 1.0, 0.5, 1.0])
