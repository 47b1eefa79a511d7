"""Goal scaling: pushes of people and things fade as the tool comes to its goal, and a goal beside them is reached."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from closed_loop import PERIOD, ClosedLoop
from hypothesis import given
from hypothesis import strategies as st
from reference import arm_and_body

from elbowroom.avoidance import (
    Config,
    Force,
    GoalScaling,
    Limits,
    MovingAverage,
    Repulsion,
    Sensor,
    Status,
    Supervisor,
    Waiting,
    Workspace,
    dumps,
    loads,
)
from elbowroom.avoidance.control.repulsion import goal_share
from elbowroom.avoidance.safety.stop import EVADING
from elbowroom.errors import ConfigError
from elbowroom.geometry import Capsule, Sphere
from elbowroom.viewer.panel.margins import farther

RULES = GoalScaling()
FAR = 2.0 * RULES.least  # m: from here on a push may fade in full
LAWS = {
    "K": {},
    "K in joint space": {"superposition": "joint"},
    "K at the tool": {"superposition": "tool"},
    "K nearest": {"acting": "nearest"},
    "F": {"controller": "F"},
    "operational": {"controller": "F", "force": Force(method="operational")},
    "joint": {"controller": "F", "force": Force(method="joint")},
}


# ---- the formula


def test_the_share_is_nothing_at_the_goal_and_all_at_the_distance():
    """(1 - x)^2 of a push is gone, x = (e / distance)^n: all at e = 0, and at half the distance (3/4)^2 for n = 2."""
    assert goal_share(RULES, 0.0, FAR, 0.0) == 0.0
    assert goal_share(RULES, 0.5 * RULES.distance, 1.0, 0.0) == pytest.approx(1.0 - 0.75**2, rel=1e-14)
    assert goal_share(replace(RULES, exponent=1), 0.5 * RULES.distance, 1.0, 0.0) == pytest.approx(0.75, rel=1e-14)
    for error in (RULES.distance, 2.0 * RULES.distance, 1e6):
        assert goal_share(RULES, error, 1.0, 0.0) == 1.0


def test_what_is_near_or_comes_pushes_in_full():
    for distance in (RULES.least, 0.5 * RULES.least, 0.0, -0.1):
        assert goal_share(RULES, 0.0, distance, 0.0) == 1.0
    for speed in (RULES.speed, 10.0):
        assert goal_share(RULES, 0.0, 1.0, speed) == 1.0
    assert goal_share(RULES, 0.0, 1.5 * RULES.least, 0.0) == pytest.approx(0.5)
    assert goal_share(RULES, 0.0, 1.0, 0.5 * RULES.speed) == pytest.approx(0.5)
    assert goal_share(RULES, 0.0, 1.0, -3.0) == 0.0  # what leaves is at rest, or better


numbers = st.floats(0.0, 1.0)


@given(numbers, numbers, numbers, numbers, numbers, numbers, st.integers(1, 8))
def test_the_share_grows_with_error_nearness_and_speed_and_never_jumps(e1, e2, d1, d2, c1, c2, n):
    rules = replace(RULES, exponent=n)
    share = goal_share(rules, e1, d1, c1)
    assert 0.0 <= share <= 1.0
    least = goal_share(rules, min(e1, e2), max(d1, d2), min(c1, c2))
    most = goal_share(rules, max(e1, e2), min(d1, d2), max(c1, c2))
    assert least <= share + 1e-15  # rounding of a product of three
    assert share <= most + 1e-15
    slopes = 2.0 * n / rules.distance, 1.0 / rules.least, 1.0 / rules.speed  # the steepest of each
    apart = abs(e1 - e2) * slopes[0] + abs(d1 - d2) * slopes[1] + abs(c1 - c2) * slopes[2]
    assert abs(share - goal_share(rules, e2, d2, c2)) <= apart + 1e-12


# ---- the law


class Loop(ClosedLoop):
    """Somebody, or something, stands still beside the goal."""

    def __init__(self, scaling, **options):
        super().__init__(**{"goal_scaling": scaling, "waiting": None} | options)

    def stands(self, gap, speed=0.0):
        """Somebody upright in front of the arm with that much air (m) to its hand at the ready pose, coming so fast."""
        hand = self.body.capsules(self.arm.ready)[-1]
        x = max(hand.a[0], hand.b[0]) + hand.radius + gap + 0.2
        row = Capsule((x, 0.0, 0.0), (x, 0.0, 1.5), 0.2).row()
        row[7] = row[10] = -speed
        self.places.see([row], self.t)


def first(scaling, gap=0.12, speed=0.0, goal=(0.0, 0.0, 0.0), velocity=(0.0, 0.0, 0.0), **options):
    """The first command at the ready pose, unfiltered, with a goal off the tool."""
    loop = Loop(scaling, smoothing=MovingAverage(0.0), **options)
    loop.goal.position[:] += goal
    loop.goal.velocity[:] = velocity
    loop.stands(gap, speed)
    return loop.command().copy()


@pytest.mark.parametrize("law", LAWS)
def test_at_the_goal_nothing_pushes(law):
    """0.12 m from a person who stands: the plain field pushes, with goal scaling the field is zero and the arm stays.
    Of the torques, those that carry the arm are left."""
    plain, scaled = first(None, **LAWS[law]), first(RULES, **LAWS[law])
    assert plain.push > 0.1
    assert np.abs(plain.qd).max() > 1e-3
    assert (scaled.push, scaled.slow, scaled.status) == (0.0, 1.0, Status.OK)
    assert not scaled.repulsion.any()
    assert np.abs(scaled.qd).max() < 1e-12  # rounding of the tool's position
    assert scaled.distance == plain.distance > FAR


SAME = {
    "far from the goal": {"goal": (0.0, -RULES.distance, 0.0)},
    "a person nearer than the least": {"gap": 0.9 * RULES.least},
    "a person who comes": {"speed": RULES.speed},
    "a goal that moves": {"velocity": (0.0, RULES.speed, 0.0)},
}


@pytest.mark.parametrize("law", ["K", "F"])
@pytest.mark.parametrize("case", SAME)
def test_elsewhere_the_field_is_the_plain_one(case, law):
    """Not to the bit: it is another program, whose sums are fused otherwise."""
    plain, scaled = first(None, **SAME[case], **LAWS[law]), first(RULES, **SAME[case], **LAWS[law])
    assert plain.push > 0.1
    np.testing.assert_allclose(scaled.qd, plain.qd, rtol=0, atol=1e-12 * max(1.0, np.abs(plain.qd).max()))
    np.testing.assert_allclose(scaled.info, plain.info, rtol=0, atol=1e-12 * max(1.0, np.abs(plain.info).max()))


def test_the_floor_and_the_shells_push_at_the_goal_too():
    """The arm's own pushes are not scaled: beside nobody the two laws agree, and there is a push."""
    arm, _ = arm_and_body("few")
    tool = arm.pose(arm.ready)[:3, 3]
    walls = Workspace(outer=float(np.linalg.norm(tool)) + 0.02, center=(0.0, 0.0, 0.0))
    plain, scaled = (first(rules, gap=5.0, workspace=walls) for rules in (None, RULES))
    assert np.abs(plain.qd).max() > 1e-3
    np.testing.assert_allclose(scaled.qd, plain.qd, rtol=0, atol=1e-12)


def test_things_fade_as_people_do():
    loop = Loop(RULES, smoothing=MovingAverage(0.0))
    hand = loop.body.capsules(loop.arm.ready)[-1]
    place = np.array([max(hand.a[0], hand.b[0]) + hand.radius + 0.12 + 0.1, 0.0, hand.b[2]])
    loop.places.put(Sphere(place, 0.1))
    assert loop.command().push == 0.0
    loop.goal.position[1] -= 0.2
    assert loop.command().push > 0.01


# ---- the arm


@pytest.mark.parametrize("law", ["K", "K at the tool", "F", "operational"])
def test_a_goal_beside_a_person_is_reached(law):
    """The goal leaves 0.12 m of air.  From 0.2 m before it and aside, the plain field holds the tool off for ever;
    scaled, the tool gets there to a tenth of a millimetre, and nobody is touched on the way."""
    found = {}
    for rules in (None, RULES):
        loop = Loop(rules, **LAWS[law])
        loop.stands(0.12)
        loop.goal.position[:] += (-0.15, 0.12, 0.05)
        loop.run(4.0)
        loop.goal.position[:] = loop.tool
        loop.run(12.0)
        assert loop.least > RULES.least
        found[rules] = loop.error
    assert found[None] > 0.01
    assert found[RULES] < 1e-4


def test_a_person_who_steps_up_to_an_arm_at_its_goal_is_given_way_to():
    """Coming at 0.3 m/s from 0.5 m away to 0.06 m of air: the arm that stands at its goal leaves it while they come."""
    loop = Loop(RULES)
    gap = 0.5
    while gap > 0.06:
        loop.stands(gap, 0.3)
        loop.run(PERIOD)
        gap -= 0.3 * PERIOD
    assert loop.error > 0.05
    assert loop.least > RULES.least
    loop.stands(0.12)
    loop.run(12.0)
    assert loop.error < 1e-4  # and goes back when they stand, a little farther off


def test_an_arm_that_waits_for_people_still_does():
    """`waiting` is for goals that a person occupies: its wider field begins beyond `distance` and holds the arm off."""
    loop = Loop(GoalScaling(distance=0.1), waiting=Waiting())
    loop.stands(0.12)
    loop.goal.position[:] += (-0.3, 0.0, 0.0)
    loop.run(3.0)
    loop.goal.position[:] = loop.tool
    command = loop.run(8.0)
    assert loop.error > 0.1
    assert command.waiting > 0.9


# ---- under the supervisor


def test_under_a_supervisor_the_arm_waits_where_separation_demands_it_and_says_so():
    """A body without named parts is kept 0.26 m away (evasion_distance + evasion_hands): the arm stands short of a goal
    that leaves 0.12 m, with that reason; when the person has stepped back it goes on and arrives."""
    loop = Loop(RULES)
    limits = Limits(sensor=Sensor.exact(PERIOD), max_age=0.1, max_state_age=1.0)
    guard = Supervisor(loop.controller, limits)

    def run(gap, duration):
        for _ in range(round(duration / PERIOD)):
            loop.stands(gap)
            loop.state.t = loop.goal.t = loop.t
            command = guard.step(loop.t, PERIOD, loop.state, loop.places, loop.goal)
            assert guard.latched is None, command.reason
            loop.move(command)
        return command

    held = limits.evasion_distance + limits.evasion_hands
    loop.goal.position[:] += (-0.3, 0.0, 0.0)
    run(0.12, 4.0)
    loop.goal.position[:] = loop.tool
    loop.least = np.inf
    command = run(0.12, 12.0)
    assert np.abs(command.qd).max() < 1e-3  # it stands
    assert loop.error > 0.05
    assert loop.least > held - 0.03  # what evasion gives up against the wish, whose weight is finite
    assert (command.status, command.reason) == (Status.AVOIDING, EVADING)
    command = run(held + 0.05, 12.0)
    assert loop.error < 1e-3
    assert (command.status, command.reason) == (Status.OK, "")


def test_the_page_names_no_distance_at_which_the_arm_goes_on():
    """The plain field lets go at its influence; scaled, it is not the field that holds the arm."""
    for rules, known in ((None, True), (RULES, False)):
        loop = Loop(rules, smoothing=MovingAverage(0.0))
        loop.goal.position[1] += 0.3
        loop.stands(0.12)
        assert loop.command().status is Status.AVOIDING
        cell = SimpleNamespace(controller=loop.controller, obstacles=loop.places, task=SimpleNamespace(goal=loop.goal))
        assert math.isfinite(farther(cell, None)) == known


# ---- settings


def test_it_is_off_unless_it_is_asked_for():
    assert Config().goal_scaling is None
    for config in (Config(), Config(goal_scaling=RULES), Config(goal_scaling=GoalScaling(1.0, 3, 0.1, 0.5))):
        assert loads(Config, dumps(config)) == config
    assert loads(Config, "[goal_scaling]\ndistance = 0.3").goal_scaling == GoalScaling(0.3)
    assert loads(Config, "goal_scaling = false").goal_scaling is None
    for wrong, what in (({"distance": 0.0}, "distance"), ({"least": 0.0}, "least"), ({"exponent": 0}, "exponent")):
        with pytest.raises(ConfigError, match=what):
            GoalScaling(**wrong)


def test_its_gains_can_be_tuned_and_a_copy_has_them():
    loop = Loop(RULES)
    loop.stands(0.12)
    loop.goal.position[1] += 0.3
    before = loop.command().push
    loop.controller.tune(replace(loop.controller.config, goal_scaling=replace(RULES, distance=1.0)))
    after = loop.command().push
    assert 0.0 < after < before
    assert copy.deepcopy(loop.controller).step(loop.t, PERIOD, loop.state, loop.places, loop.goal).push == after
    with pytest.raises(ConfigError, match="tune changes gains alone"):
        loop.controller.tune(replace(loop.controller.config, goal_scaling=None))


def test_many_states_at_once_are_scaled_as_one():
    loop = Loop(RULES, smoothing=MovingAverage(0.0), repulsion=Repulsion(influence=0.4))
    loop.stands(0.12)
    loop.goal.position[1] += 0.3
    q, qd = loop.state.q.copy(), np.zeros(loop.arm.n)
    many = loop.controller.many(q, qd, loop.places.rows, loop.goal.position)
    one = loop.command()
    assert one.push > 0.01
    np.testing.assert_allclose(many.qd[0], one.qd, rtol=0, atol=1e-11)  # sums over lanes may be fused otherwise
