"""Proofs that there is no way: no free configuration lies in a barrier, and a barrier parts what it says."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom.arm import Arm
from elbowroom.avoidance import Goal
from elbowroom.avoidance.planning import Box, Checker, Outcome, Planner, World, barrier, planner
from elbowroom.avoidance.planning.barrier import Barrier, joined
from elbowroom.errors import ModelWarning
from elbowroom.geometry import Body, Capsule, HalfSpace, Sphere
from elbowroom.geometry.body import skeleton
from strategies import examples, robots

UR = er.load("ur5e")
UR_PLANNER = Planner(UR)
FLOOR = HalfSpace((0, 0, 0.0), (0, 0, 1))
RING = [  # about the arm, at the height of its shoulder: the upper arm passes no such ring downwards
    Capsule(0.4 * np.array([np.cos(a), np.sin(a), 0.2]), 0.4 * np.array([np.cos(b), np.sin(b), 0.2]), 0.02)
    for a, b in zip(np.arange(8) * np.pi / 4, np.arange(1, 9) * np.pi / 4, strict=True)
]
UP, TURNED = UR.ready.copy(), UR.ready.copy()
UP[1], TURNED[1] = -1.6, -1.6 + 2 * np.pi  # the same place, a whole turn of the shoulder later


def test_a_whole_turn_through_the_floor_is_no_way():
    plan = UR_PLANNER.plan(UP, TURNED, World([FLOOR]), margin=0.0, rounds=400)
    assert plan.outcome is Outcome.NO_WAY
    assert plan.reason == (
        "goal: no way, proved: shoulder_pan_joint, shoulder_lift_joint cannot go there: one of shoulder, "
        "shoulder_lift, upper_arm, elbow would come too near"
    )
    assert plan.rounds == min(planner.PROOFS)
    np.testing.assert_array_equal(plan.path[0], UP)  # as near as the search came
    again = UR_PLANNER.plan(UP, TURNED, World([FLOOR]), margin=0.0, rounds=20, prove=False)
    assert again.outcome is Outcome.BUDGET_SPENT
    both = UR_PLANNER.plan(UP, np.array([TURNED, UP + 0.3]), World([FLOOR]), margin=0.0, rounds=60)
    assert both.reached  # one of two goals is on this side


def test_of_a_tools_goal_nothing_is_proved():
    """Its joint poses are those that were found: with seeds 4 and 7 a barrier parts them all, and others are free."""
    arm = er.load("panda")
    world = World([FLOOR, Box((-0.099, -0.265, 0.624), (0.192, 0.305, 0.081))])
    start = [-0.052, -1.704, 1.575, -1.221, -1.63, 1.329, -0.702]
    for seed in (4, 7):
        plan = Planner(arm).plan(start, Goal([0.152, 0.492, 0.205]), world, rounds=20, seed=seed)
        assert plan.outcome is Outcome.BUDGET_SPENT


def test_one_gap_is_a_way():
    """A ring parts above from below; with a piece of it gone nothing is proved, and a margin shuts the gap again."""
    below = UP.copy()
    below[1:3] = 0.9, 0.0
    q = np.vstack([UP, below])
    for shapes, margin, parts in ((RING, 0.0, True), (RING[:5], 0.0, False), (RING[:5], 1.0, True)):
        found = Barrier(UR_PLANNER.checker, World(shapes), margin)
        assert found.between(q[0], q[1:], 5) is parts, (len(shapes), margin)


def test_too_many_cells_prove_nothing(monkeypatch):
    """As a slide of a kilometre would have; then the search has all of its time."""
    monkeypatch.setattr(barrier, "MOST", 200)
    found = Barrier(UR_PLANNER.checker, World(RING), 0.0)
    assert found.between(UP, TURNED[None], 5) is None
    assert found.divided == -1
    monkeypatch.setattr(barrier, "MOST", 5000)
    found = Barrier(UR_PLANNER.checker, World(RING), 0.0)
    found.between(UP, TURNED[None], 5)
    assert 0 <= found.divided < 5


@pytest.mark.parametrize("size", [5.0, 5000.0])
def test_large_shapes_are_trusted_less(size):
    """Clearances are found in float32: a floor that is a box of 5 km came out 0.24 mm too near, beyond TRUST."""
    found = Barrier(UR_PLANNER.checker, World([Box((0.0, 0.0, -size), (size, size, size))]), 0.0)
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (300, 2))
    plain = Barrier(UR_PLANNER.checker, World([FLOOR]), 0.0)._clearance(q)  # the same floor, in small numbers
    outside = plain > 0.0  # how deep an axis is in a box is not told
    assert 10 < outside.sum() < 290
    assert np.abs(found._clearance(q) - plain)[outside].max() < found._trust < 1e-3 * size


def test_nothing_there_and_nothing_that_moves_prove_nothing():
    goals = TURNED[None]
    assert Barrier(UR_PLANNER.checker, World(), 0.0).between(UP, goals, 3) is False
    only_the_wrist = [each for each in Body(UR).link_capsules if each.link > 3]
    checker = Checker(Body(UR, only_the_wrist))
    assert Barrier(checker, World([FLOOR]), 0.0).between(UP, goals, 3) is False


@pytest.mark.parametrize("margin", [0.0, 0.04])
def test_no_configuration_in_a_barrier_is_free(margin):
    """Joints of two turns, whose cells are those of one."""
    checker, world = UR_PLANNER.checker, World([FLOOR, *RING[:6], Box((0.3, 0.2, 0.5), (0.1, 0.2, 0.3))])
    found = Barrier(checker, world, margin)
    q = np.random.default_rng(0).uniform(checker.lower, checker.upper, (40_000, 6))
    free, before = checker.free(q, world, margin), 0
    for _ in range(4):
        found._look()
        blocked = found.blocked(q)
        assert not (blocked & free).any()
        assert before <= blocked.sum()
        before = int(blocked.sum())
    assert before > 10_000  # of 40,000


@pytest.mark.slow
@given(robots(), st.integers(0, 2**32 - 1))
@examples(12)
def test_no_configuration_of_any_robot_in_a_barrier_is_free(model, seed):
    rng = np.random.default_rng(seed)
    low, high = model.sampling_range()
    turns = np.array([model.revolute(i) for i in range(model.n)])
    factor = np.where(turns, rng.choice([0.3, 1.0, 2.1], model.n), 1.0)  # some turn more than once, some never end
    endless = turns & (rng.random(model.n) < 0.3)
    lower, upper = np.where(endless, -np.inf, factor * low), np.where(endless, np.inf, factor * high)
    bounded = dataclasses.replace(model, lower=lower, upper=upper)
    capsules = skeleton(bounded, 0.05)
    assume(capsules)
    checker = Checker(Body(Arm(bounded), capsules=capsules))
    assume(checker.moving)
    at = checker.center
    shapes = [
        *(Sphere(at + 0.5 * rng.standard_normal(3), rng.uniform(0.05, 0.3)) for _ in range(2)),
        Box(at + 0.6 * rng.standard_normal(3), rng.uniform(0.05, 0.4, 3)),
        HalfSpace(at + np.array([0.0, 0.0, -0.2]), (0.0, 0.0, 1.0)),
    ]
    margin = float(rng.choice([0.0, 0.05]))
    found = Barrier(checker, World(shapes), margin)
    q = rng.uniform(np.maximum(lower, -15.0), np.minimum(upper, 15.0), (4000, model.n))
    while found.parts is None and found.divided < 3:
        found._look()
    assert not (found.blocked(q) & checker.free(q, World(shapes), margin)).any()


@given(
    st.integers(1, 3).flatmap(
        lambda axes: st.tuples(st.lists(st.integers(1, 6), min_size=axes, max_size=axes), st.integers(0, 2**32 - 1))
    )
)
@examples(100)
def test_groups_are_those_of_a_flood(drawn):
    shape, seed = drawn
    rng = np.random.default_rng(seed)
    marked, circle = rng.random(shape) < rng.uniform(0.3, 0.9), rng.random(len(shape)) < 0.5
    found = joined(marked, circle)
    np.testing.assert_array_equal(found >= 0, marked)
    flooded = np.full(shape, -1)
    for number, first in enumerate(map(tuple, np.argwhere(marked))):
        if flooded[first] >= 0:
            continue
        flooded[first], todo = number, [first]
        while todo:
            cell = todo.pop()
            for axis in range(len(shape)):
                for step in (-1, 1):
                    to = cell[axis] + step
                    if not circle[axis] and not 0 <= to < shape[axis]:
                        continue
                    other = (*cell[:axis], to % shape[axis], *cell[axis + 1 :])
                    if marked[other] and flooded[other] < 0:
                        flooded[other] = number
                        todo.append(other)
    pairs = {(int(a), int(b)) for a, b in zip(found.ravel(), flooded.ravel(), strict=True)}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def on_a_slide(folder):
    """A post on a slide of 14 m, and a beam on it that turns about the vertical without end."""
    file = folder / "slide.urdf"
    file.write_text(
        '<robot name="s"><link name="b"/>'
        '<link name="l"><collision><origin xyz="0 0 0.3"/><geometry><cylinder radius="0.05" length="0.6"/></geometry>'
        '</collision></link><link name="t"><collision><origin xyz="0.3 0 0" rpy="0 1.5708 0"/>'
        '<geometry><cylinder radius="0.04" length="0.6"/></geometry></collision></link>'
        '<joint name="x" type="prismatic"><parent link="b"/><child link="l"/><axis xyz="1 0 0"/>'
        '<limit lower="-8" upper="6" velocity="1" effort="10"/></joint>'
        '<joint name="j" type="continuous"><parent link="l"/><child link="t"/><origin xyz="0 0 0.6"/>'
        '<axis xyz="0 0 1"/><limit velocity="1" effort="10"/></joint></robot>'
    )
    with pytest.warns(ModelWarning, match="mass or inertia are missing"):
        return Planner(er.load(str(file), density=650))


def test_slides_and_joints_without_end(tmp_path):
    """In a corridor the beam cannot turn round; where the corridor ends, within the slide's reach, it can."""
    turning = on_a_slide(tmp_path)
    start, goal = np.array([1.0, 0.0]), np.array([1.0, 3.1])
    for end, outcome in ((-5.5, Outcome.REACHED), (-9.0, Outcome.NO_WAY)):
        middle, half = (9.5 + end) / 2, (9.5 - end) / 2
        walls = World([Box((middle, y, 0.6), (half, 0.2, 0.2)) for y in (-0.35, 0.35)])
        assert turning.plan(start, goal, walls, margin=0.0, rounds=600).outcome is outcome, end
    post = World([Sphere((1.4, 0.0, 0.6), 0.05)])
    assert Barrier(turning.checker, post, 0.0).between(np.array([1.0, -0.8]), np.array([[1.0, 0.8]]), 5) is False
    # a joint whose end is far beyond one turn counts as endless, too: its cells are those of one
    assert Barrier(turning.checker, post, 0.0).circle.tolist() == [False, True]


def test_what_is_divided_no_more_stays_open(monkeypatch):
    """Too coarse for a proof either way: nothing is said."""
    found = Barrier(UR_PLANNER.checker, World(RING), 0.0)
    assert found.between(UP, TURNED[None], 0) is None
    assert found.divided == 0
    monkeypatch.setattr(barrier, "TRUST", 10.0)  # a guard that no overlap exceeds
    blind = Barrier(UR_PLANNER.checker, World([FLOOR]), 0.0)
    assert blind.between(UP, TURNED[None], 3) is None
