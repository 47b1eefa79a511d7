"""Plans: free all along, within the joints' speeds and accelerations, the same for a seed, and plain about failing."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import elbowroom as er
from elbowroom.arm import Arm
from elbowroom.avoidance import Goal
from elbowroom.avoidance.control.attraction import rotation_error
from elbowroom.avoidance.planning import Box, Checker, Outcome, Planner, Route, World, goals, smoothing
from elbowroom.avoidance.planning.nearest import nearest_pair
from elbowroom.errors import ModelWarning, ShapeError
from elbowroom.geometry import Body, Capsule, HalfSpace, Sphere
from elbowroom.model import LinkCapsule

PANDA = er.load("panda")
PLANNER = Planner(PANDA)
WALL = World([Box((0.45, 0.0, 0.4), (0.25, 0.01, 0.4)), HalfSpace((0, 0, -0.05), (0, 0, 1))])
LEFT, RIGHT = PANDA.ready.copy(), PANDA.ready.copy()
LEFT[0], RIGHT[0] = 1.1, -1.1


@pytest.mark.parametrize("seed", range(4))
def test_a_wall_is_gone_around(seed):
    plan = PLANNER.plan(LEFT, RIGHT, WALL, margin=0.03, rounds=400, seed=seed)
    assert plan.outcome is Outcome.REACHED, plan.reason
    assert plan.rounds > 0  # not straight through
    route = plan.route
    np.testing.assert_array_equal(route.q[0], LEFT)
    np.testing.assert_array_equal(route.q[-1], RIGHT)
    dense = np.array([route.at(t)[0] for t in np.linspace(0.0, route.duration, 800)])
    assert PLANNER.checker.against(WALL, 0.03).slack(dense).min() > -1e-3  # FINEST: half of 2 mm
    assert route.clearance == pytest.approx(np.min(PLANNER.checker.clearance(route.q, WALL)))
    again = PLANNER.plan(LEFT, RIGHT, WALL, margin=0.03, rounds=400, seed=seed)
    np.testing.assert_array_equal(again.path, plan.path)


def test_nothing_in_the_way_is_a_straight_line():
    plan = PLANNER.plan(LEFT, RIGHT, World())
    assert (plan.reason, plan.rounds, len(plan.path)) == ("straight", 0, 2)


def test_a_point_is_reached_by_whatever_joint_pose_is_free():
    target = np.array([0.45, -0.35, 0.4])
    plan = PLANNER.plan(LEFT, Goal(target), WALL, margin=0.02, rounds=400)
    assert plan.reached, plan.reason
    np.testing.assert_allclose(PANDA.pose(plan.route.q[-1])[:3, 3], target, atol=2e-3)  # goals.CLOSE, tenfold
    pose = PANDA.pose(RIGHT)
    plan = PLANNER.plan(LEFT, pose, WALL, margin=0.02, rounds=400)
    assert plan.reached, plan.reason
    np.testing.assert_allclose(PANDA.pose(plan.route.q[-1]), pose, atol=2e-3)


def test_what_cannot_be_is_said():
    at = PANDA.pose(LEFT)[:3, 3]
    blocked = World([Sphere(at, 0.1)])
    plan = PLANNER.plan(LEFT, RIGHT, blocked)
    assert plan.outcome is Outcome.START_IN_COLLISION
    assert re.fullmatch(
        r"start: -0\.\d{3} m clear between \w+ and sphere at \[[-\d., ]+\], 0\.020 m asked for", plan.reason
    )
    assert plan.route is None
    assert re.fullmatch(
        r"start: -0\.\d{3} m clear, 0\.020 m asked for", PLANNER.plan(LEFT, RIGHT, blocked, prove=False).reason
    )
    plan = PLANNER.plan(RIGHT, LEFT, blocked)
    assert plan.outcome is Outcome.GOAL_IN_COLLISION
    assert "in a joint pose between " in plan.reason
    assert plan.reason.endswith(", 0.020 m asked for")
    plan = PLANNER.plan(LEFT, Goal((3.0, 0.0, 0.5)), World())
    assert (plan.outcome, plan.reason) == (
        Outcome.GOAL_UNREACHABLE,
        "goal: no joint pose within the limits reaches [3.0, 0.0, 0.5]",
    )
    beyond = LEFT.copy()
    beyond[3] = 0.5
    beyond[1] = -2.0
    model = PANDA.model
    told = "; ".join(
        f"{model.joint_names[k]} is {beyond[k]:g}, limits {model.lower[k]:.4g} to {model.upper[k]:.4g} rad"
        for k in (1, 3)
    )
    assert PLANNER.plan(beyond, RIGHT, World()).reason == f"start: beyond a joint limit: {told}"
    assert PLANNER.plan(LEFT, beyond, World()).reason == f"goal: beyond a joint limit: {told}"


@pytest.mark.parametrize(
    ("shape", "what"),
    [
        (lambda at: Sphere(at, 0.1), "sphere at"),
        (lambda at: Capsule(at, at + 0.2, 0.1), "capsule at"),
        (lambda at: Box(at + 0.03, (0.05, 0.2, 0.1)), "box at"),
        (lambda at: HalfSpace(at, (0.0, 0.0, 1.0)), "half-space below at"),
    ],
)
def test_the_nearest_pair_is_the_one_that_the_clearance_is_of(shape, what):
    """A body of this link alone has the same clearance."""
    least, links = shape(PANDA.pose(LEFT)[:3, 3]), {each.name: each for each in PANDA.model.capsules}
    far = Sphere((0.0, 0.0, 2.0), 0.1)
    link, obstacle = nearest_pair(PLANNER.checker, LEFT, World([far, least])).split(" and ")
    assert obstacle.startswith(what)
    alone = Checker(Body(PANDA, capsules=[links[link]]))
    clear = alone.clearance(LEFT, World([least]))
    assert clear == pytest.approx(PLANNER.checker.clearance(LEFT, World([far, least])))


def test_links_of_the_arm_that_are_nearest_to_each_other_are_named():
    x, y = nearest_pair(PLANNER.checker, LEFT, World()).split(" and ")
    assert {x, y} <= set(PLANNER.checker.body.names)
    assert nearest_pair(PLANNER.checker, LEFT, World([Sphere((9.0, 0.0, 0.0), 0.1)])) == f"{x} and {y}"


def test_a_budget_that_is_spent_leaves_the_way_that_came_nearest():
    narrow = 0.9, 0.005, 3.0  # a wall with a slit of 0.3 m above the base: three rounds do not lead through it
    shut = World([Box((1.05, 0.0, 0.5), narrow), Box((-1.05, 0.0, 0.5), narrow)])
    plan = PLANNER.plan(LEFT, RIGHT, shut, margin=0.0, rounds=3)
    assert plan.outcome is Outcome.BUDGET_SPENT
    assert plan.reason.endswith(" s, 3 rounds; the budget is 3 rounds")
    timed = PLANNER.plan(LEFT, RIGHT, shut, margin=0.0, budget=1e-6)
    assert timed.reason.endswith("; the budget is 1e-06 s")
    np.testing.assert_array_equal(plan.path[0], LEFT)
    if plan.route is not None:
        assert PLANNER.checker.against(shut).slack(plan.route.q).min() > -1e-3


def test_a_corner_is_not_rounded_into_what_it_goes_around():
    path = np.tile(PANDA.ready, (3, 1))
    path[0, 0], path[2, 0] = 0.25, -0.25
    path[1, 1] += 1.2  # reaches out in the middle
    checker = Checker(Body(PANDA, capsules=[LinkCapsule("tip", 6, (0, 0, 0), (0, 0, 0.1), 0.01)]))  # all else is air
    curve = smoothing.rounded(checker.against(World()), path)
    assert len(curve) == smoothing.CURVE + 2
    halfway = checker.body.capsules(curve[5])[-1]
    for offset in np.random.default_rng(0).uniform(-0.02, 0.02, (200, 3)):
        against = checker.against(World([Sphere(halfway.a + offset, 0.0)]))
        if against.slack(curve[5:6])[0] < 0.0 and against.edges_free(path[:-1], path[1:]).all():
            break
    else:
        pytest.fail("no place that the curve meets and the path does not")
    found = smoothing.rounded(against, path)
    assert against.edges_free(found[:-1], found[1:]).all()


def test_routes_keep_speeds_and_accelerations():
    rng = np.random.default_rng(0)
    speed, acceleration = np.array([1.0, 0.5, 2.0]), np.array([4.0, 2.0, 8.0])
    route = Route(np.cumsum(rng.normal(size=(6, 3)), axis=0), speed, acceleration)
    t = np.linspace(0.0, route.duration, 4000)
    q, qd = (np.array(x) for x in zip(*(route.at(x) for x in t), strict=True))
    assert (np.abs(qd) <= speed * (1 + 1e-9)).all()
    assert np.abs(qd).max() > 0.4  # it moves
    np.testing.assert_allclose(qd[[0, -1]], 0.0)
    step = t[1] - t[0]
    summed = np.cumsum(0.5 * (qd[1:] + qd[:-1]) * step, axis=0)  # speeds are those of the positions
    np.testing.assert_allclose(q[1:], q[0] + summed, atol=2e-3)  # at most one step of 2.5 ms wrong at a corner
    assert (np.abs(np.diff(qd, axis=0)) / step <= acceleration * (1 + 1e-9)).all()
    np.testing.assert_array_equal(route.at(-1.0)[0], route.path[0])
    np.testing.assert_array_equal(route.at(route.duration + 1.0)[0], route.path[-1])
    assert route.rest(0.5 * route.duration).shape[0] == len(route.times(0.5 * route.duration))
    assert route.times(0.5 * route.duration)[-1] == pytest.approx(0.5 * route.duration)


def test_what_does_not_fit_is_named():
    with pytest.raises(ShapeError, match=r"start must have shape \(7,\); got \(6,\)"):
        PLANNER.plan(np.zeros(6), RIGHT, World())
    with pytest.raises(ShapeError, match=r"goal must be joint poses \(7,\) or \(k, 7\), a pose \(4, 4\) or a Goal"):
        PLANNER.plan(LEFT, np.zeros(6), World())
    with pytest.raises(ShapeError, match=r"a Goal; got \(0, 7\)"):
        PLANNER.plan(LEFT, np.zeros((0, 7)), World())
    for margin in (np.nan, -0.1, np.inf):  # what is not a number would leave nothing in the way
        with pytest.raises(ValueError, match="margin must be a number of 0 or more"):
            PLANNER.plan(LEFT, RIGHT, WALL, margin=margin)
    with pytest.raises(ValueError, match="tries must be 1 or more; got 0"):
        PLANNER.plan(LEFT, RIGHT, WALL, tries=0)
    with pytest.raises(ValueError, match="goal must be finite"):
        PLANNER.plan(LEFT, np.full(7, np.nan), World())
    with pytest.raises(ValueError, match=r"speed must be \(7,\) positive numbers"):
        Route([LEFT, RIGHT], np.zeros(7), np.ones(7))


def test_a_route_goes_through_all_points_of_a_curve_and_wide_curves_are_quicker():
    """Curves of less than a sample of a long path, and of more; none is slower than the corner, give or take 1 %."""
    t, corner, taken = np.linspace(0.0, 1.0, 25)[:, None], np.array([5.0, 0.0]), []
    for size in (0.02, 0.1, 0.5):
        curve = (1 - t) ** 2 * (corner - [size, 0]) + 2 * t * (1 - t) * corner + t**2 * (corner - [0, -size])
        path = np.vstack([[[0.0, 0.0]], curve, [[5.0, 5.0]]])
        route = Route(path, np.full(2, 2.0), np.full(2, 10.0))
        assert max(np.abs(route.q - point).max(axis=1).min() for point in path) < 1e-12
        taken.append(route.duration)
    sharp = Route([[0.0, 0.0], corner, [5.0, 5.0]], np.full(2, 2.0), np.full(2, 10.0)).duration
    assert sharp * 1.01 > taken[0] > taken[1] > taken[2]
    assert taken[2] < 0.96 * sharp


def test_between_samples_a_route_stays_at_its_path_and_within_its_limits():
    """A sharp corner, curves of every size, and a point that is there twice: what was checked is what is driven."""
    rng = np.random.default_rng(3)
    speed, acceleration = np.array([2.0, 1.0, 3.0]), np.array([10.0, 4.0, 10.0])
    for _ in range(20):
        corners = np.cumsum(rng.uniform(-1.0, 1.0, (6, 3)), axis=0)
        path = np.insert(corners, 3, corners[3] + 1e-17, axis=0)
        route = Route(path, speed, acceleration)
        states = [route.at(t) for t in np.linspace(0.0, route.duration, 4001)]
        q, qd = (np.array(part) for part in zip(*states, strict=True))
        a, s = corners[:-1, None], np.diff(corners, axis=0)[:, None]
        part = np.clip(((q - a) * s).sum(axis=2) / (s * s).sum(axis=2), 0.0, 1.0)
        off = np.linalg.norm(q - a - part[..., None] * s, axis=2).min(axis=0)
        assert off.max() < 2e-3  # rad; a kink of 0.15 within a sample of some 0.05, or any within 0.005
        assert (np.abs(qd) <= speed * (1 + 1e-9)).all()
        step = route.duration / 4000
        assert (np.abs(np.diff(qd, axis=0)) <= acceleration * step * (1 + 1e-6)).all()


def test_a_joint_without_limits_is_planned_for_wherever_it_has_turned_to():
    free = dataclasses.replace(
        PANDA.model,
        lower=np.r_[-np.inf, PANDA.model.lower[1:]],
        upper=np.r_[np.inf, PANDA.model.upper[1:]],
    )
    planner = Planner(Arm(free))
    wound = np.eye(7)[0] * 4.0 * np.pi
    for turns in (0.0 * wound, wound, -wound):
        plan = planner.plan(LEFT + turns, RIGHT + turns, WALL, margin=0.03, rounds=50)
        assert plan.reached, plan.reason


def test_a_joint_without_limits_takes_the_shorter_way_round():
    free = dataclasses.replace(
        PANDA.model,
        lower=np.r_[-np.inf, PANDA.model.lower[1:]],
        upper=np.r_[np.inf, PANDA.model.upper[1:]],
    )
    planner = Planner(Arm(free))
    start, goal = LEFT.copy(), LEFT.copy()
    start[0], goal[0] = 3.0, -3.0
    end = planner.plan(start, goal, World(), rounds=50).path[-1]
    assert end[0] == pytest.approx(2.0 * np.pi - 3.0)
    np.testing.assert_array_equal(end[1:], goal[1:])
    tool = planner.plan(start, PANDA.pose(goal), World(), rounds=50).path[-1]
    assert abs(tool[0] - start[0]) < np.pi
    limited = PLANNER.plan(
        np.clip(start, PANDA.model.lower, PANDA.model.upper),
        np.clip(goal, PANDA.model.lower, PANDA.model.upper),
        World(),
    )
    assert limited.path[-1][0] == PANDA.model.lower[0]  # a joint pose is that very pose where joints have ends


@pytest.mark.parametrize(("lower", "upper", "found"), [(-10.0, 10.0, 9.2831853), (-7.0, 7.0, 3.0), (-9.0, 9.0, 3.0)])
def test_whole_turns_stay_within_limits(lower, upper, found):
    start, pose = np.array([8.9]), np.array([[3.0]])
    np.testing.assert_allclose(
        goals.wrapped(pose, start, np.array([lower]), np.array([upper]), np.array([True])), [[found]], atol=1e-6
    )
    np.testing.assert_array_equal(goals.wrapped(pose, start, pose[0], pose[0], np.array([False])), pose)


def test_of_an_arm_with_four_joints_poses_of_the_tool_and_of_joints_are_told_apart():
    pose = PANDA.pose(RIGHT)
    np.testing.assert_array_equal(goals.target_of(pose, 4), pose)
    assert goals.target_of(np.arange(16.0).reshape(4, 4), 4) is None
    assert goals.target_of(np.eye(4)[:, ::-1], 4) is None
    with pytest.raises(ValueError, match=r"expected a pose \(4, 4\), a rotation above a row of 0, 0, 0, 1"):
        PLANNER.plan(LEFT, 2.0 * np.eye(4), World())


def test_the_missing_turn_of_many_is_that_of_each():
    Q = np.random.default_rng(0).uniform(*PANDA.model.sampling_range(), (200, 7))
    here, to = PANDA.pose(Q)[:, :3, :3], PANDA.pose(RIGHT)[:3, :3]
    one_by_one = np.array([np.asarray(rotation_error(R, to), dtype=float) for R in here])
    np.testing.assert_allclose(goals._turned(here, to), one_by_one, rtol=0, atol=1e-14)


def test_the_tool_keeps_to_a_speed():
    quick, slow = PLANNER.plan(LEFT, RIGHT, World()), Planner(PANDA, tool_speed=0.2).plan(LEFT, RIGHT, World())
    assert slow.route.duration > 2.0 * quick.route.duration
    t = np.linspace(0.0, slow.route.duration, 2000)
    tool = PANDA.pose(np.array([slow.route.at(x)[0] for x in t]))[:, :3, 3]
    speed = np.linalg.norm(np.diff(tool, axis=0), axis=1) / (t[1] - t[0])
    assert 0.18 < speed.max() < 0.2 * 1.05  # between samples of the path it may be a little more


def test_of_several_ways_the_quickest_is_taken():
    goal = Goal(PANDA.pose(RIGHT)[:3, 3])
    pairs = []
    for seed in range(4):
        one, many = (
            PLANNER.plan(LEFT, goal, WALL, margin=0.03, rounds=600, seed=seed, tries=tries) for tries in (1, 5)
        )
        assert one.reached
        assert many.reached
        pairs.append((one.route.duration, many.route.duration))
    ones, manys = np.array(pairs).T
    assert (manys <= ones + 1e-9).all()
    assert (manys < 0.99 * ones).any()


def test_links_that_overlap_a_little_get_apart_again():
    checker = PLANNER.checker
    Q = np.random.default_rng(0).uniform(*PANDA.model.sampling_range(), (20_000, 7))
    own = checker.clearance(Q, World())
    start = Q[(own < -0.005) & (own > -0.02)][0]
    plan = PLANNER.plan(start, PANDA.ready, World())
    assert plan.reached, plan.reason
    assert checker.clearance(plan.route.q, World()).min() > checker.clearance(start, World()) - 0.002  # GUARD, samples
    groups = checker.against(World()).own(Q)
    mild = np.flatnonzero((own < -0.01) & (own > -0.025))
    one = mild[0]
    group = groups[:, one].argmin()
    others = [k for k in mild if groups[group, k] > 0.0 and own[k] > own[one]]  # other links overlap, and less
    plan = PLANNER.plan(Q[one], Q[others[0]], World())
    assert plan.outcome is Outcome.GOAL_IN_COLLISION  # what is put up with is of those links alone
    deep = Q[own < -0.035]
    if len(deep):
        assert PLANNER.plan(deep[0], PANDA.ready, World()).outcome is Outcome.START_IN_COLLISION


def test_no_time_is_said():
    plan = PLANNER.plan(LEFT, RIGHT, WALL, margin=0.03, budget=0.0)
    assert plan.outcome is Outcome.BUDGET_SPENT


# ---- whole turns, long slides, hidden goals, what is refused
def gantry(folder, kind, limits):
    """A link on a slide, and a second that turns about the vertical without end."""
    file = folder / "gantry.urdf"
    file.write_text(
        '<robot name="g"><link name="b"/>'
        '<link name="l"><collision><origin xyz="0 0 0.3"/><geometry><cylinder radius="0.05" length="0.6"/></geometry>'
        '</collision></link><link name="t"><collision><origin xyz="0.3 0 0" rpy="0 1.5708 0"/>'
        '<geometry><cylinder radius="0.04" length="0.6"/></geometry></collision></link>'
        f'<joint name="x" type="{kind}"><parent link="b"/><child link="l"/><axis xyz="1 0 0"/>'
        f'<limit {limits} velocity="1" effort="10"/></joint>'
        '<joint name="j" type="continuous"><parent link="l"/><child link="t"/><origin xyz="0 0 0.6"/>'
        '<axis xyz="0 0 1"/><limit velocity="1" effort="10"/></joint></robot>'
    )
    with pytest.warns(ModelWarning, match="mass or inertia are missing"):
        return er.load(str(file), density=650)


def test_a_joint_without_ends_goes_the_long_way_round_where_the_short_one_is_blocked(tmp_path):
    planner = Planner(gantry(tmp_path, "prismatic", 'lower="-0.01" upper="0.01"'))
    post = World([Sphere((0.4, 0.0, 0.6), 0.05)])
    plan = planner.plan([0.0, -0.8], [0.0, 0.8], post, rounds=300)
    assert plan.reached
    assert plan.path[-1, 1] == pytest.approx(0.8 - 2 * np.pi)
    free = planner.plan([0.0, -0.8], [0.0, 0.8], World(), rounds=300)
    assert free.path[-1, 1] == pytest.approx(0.8)


def test_a_long_slide_is_used_whole(tmp_path):
    """There is room to turn at one end alone, 6 m from where the arm stands."""
    planner = Planner(gantry(tmp_path, "prismatic", 'lower="-8" upper="6"'))
    walls = World([Box((2.0, y, 0.6), (7.5, 0.2, 0.2)) for y in (-0.35, 0.35)])  # a corridor for x > -5.5
    plan = planner.plan([1.0, 0.0], [1.0, 3.1], walls, margin=0.0, rounds=600)
    assert plan.reached
    assert plan.path[:, 0].min() < -5.5


def test_a_goal_whose_nearest_joint_poses_touch_is_still_found():
    """A ball stands at the wrist of each joint pose that is found first, and leaves others free."""
    goal, start = Goal(PANDA.pose(RIGHT)[:3, 3]), LEFT.copy()
    start[0] = 2.2
    first = PLANNER.joint_poses(goal, start, np.random.default_rng(0))
    balls = World([Sphere(at, 0.01) for at in PANDA.poses(first)[:, 6, :3, 3]])
    assert not PLANNER.checker.free(first, balls).any()
    assert PLANNER.plan(start, goal, balls, margin=0.0, rounds=400).reached


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"tool_speed": np.nan}, "tool_speed must be a number above 0"),
        ({"tool_speed": 0.0}, "tool_speed must be a number above 0"),
        ({"checker": PLANNER.checker, "upper": np.ones(7)}, "lower, upper: a checker that is given has its own"),
    ],
)
def test_what_a_planner_cannot_be_made_with(change, match):
    with pytest.raises(ValueError, match=match):
        Planner(PANDA, **change)


@pytest.mark.parametrize("grown", [np.nan, -np.inf, np.inf])
def test_people_do_not_vanish_by_a_number_that_is_none(grown):
    rows = np.zeros((1, 13))
    rows[0, 6] = 0.15
    with pytest.raises(ValueError, match="grown must be a number"):
        World.of_rows(rows, grown=grown)
    for radius in (-0.1, np.inf):
        rows[0, 6] = radius
        with pytest.raises(ValueError, match="radii of 0 or more"):
            World.of_rows(rows)


def test_a_capsule_with_one_end_far_away_is_there():
    row = np.zeros((1, 13))
    row[0, :7] = 2e4, 0.0, 0.5, 0.4, 0.0, 0.5, 0.1
    assert len(World.of_rows(row)) == 1
    row[0, 3:6] = 2e4
    assert len(World.of_rows(row)) == 0


def test_goals_and_distances_that_are_none_are_refused():
    mirror = PANDA.pose(RIGHT).copy()
    mirror[:3, 0] *= -1.0
    with pytest.raises(ValueError, match="expected a pose"):
        PLANNER.plan(LEFT, mirror, WALL)
    nowhere = PANDA.pose(RIGHT).copy()
    nowhere[0, 3] = np.inf
    with pytest.raises(ValueError, match="goal must be finite"):
        PLANNER.plan(LEFT, nowhere, WALL)
    with pytest.raises(ValueError, match="apart must be a number of 0 or more"):
        PLANNER.plan(LEFT, RIGHT, WALL, apart=np.nan)


@pytest.mark.parametrize("world", [None, [], "panda"])
def test_a_world_must_be_one(world):
    arm = er.load("planar2")
    with pytest.raises(TypeError, match=r"world: expected a World, World\(\) where nothing stands; got"):
        Planner(arm).plan(arm.ready, arm.ready + 0.1, world)
