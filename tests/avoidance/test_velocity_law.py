"""The K controller: what a push does to the arm, what stays, what is symmetric (thesis 3.9.1)."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from reference import damped, unit

import elbowroom as er
from elbowroom.avoidance import (
    Attraction,
    Config,
    Controller,
    Force,
    Goal,
    JointLimits,
    MovingAverage,
    Repulsion,
    State,
)
from elbowroom.geometry import Body, Capsule, Sphere, distance
from elbowroom.model import LinkCapsule
from marks import slow_where

# Pushes alone: nothing draws, nothing rests or waits, nothing is filtered or near a limit.
ALONE = {
    "attraction": Attraction(kp=0.0, rotation_gain=0.0),
    "posture": 0.0,
    "smoothing": MovingAverage(0.0),
    "joint_limits": JointLimits("none"),
    "self_collision": None,
    "waiting": None,
}
# As the profile says (a bound so far off changes nothing), deaf to velocities.
SOFT = Repulsion("linear", gain=0.3, influence=0.5, max_strength=1e15, lookahead=0.0, ease=0.0)


def one_capsule(arm, link, length=0.2):
    """The arm as a single capsule on one link, off its joint's axis."""
    a, b = (0.05, 0.03, 0.0), (0.05, 0.03, length)
    return Body(arm, capsules=[LinkCapsule("only", link, a, b, 0.05)])


def step(arm, config, obstacles_of, q, goal=None, body=None, qd=None, **room):
    """One step of a fresh controller; `obstacles_of` fills its places."""
    controller = Controller(arm, config, body=body, **{"people": 1, "person_capsules": 1} | room)
    places = controller.obstacles()
    if obstacles_of is not None:
        obstacles_of(places)
    goal = Goal(arm.pose(q)[:3, 3], rotation=arm.pose(q)[:3, :3]) if goal is None else goal
    command = controller.step(0.0, config.period, State(q, qd), places, goal).copy()
    assert not command.status.stops, command.reason
    return command, controller


def open_configurations(arm, count, seed=0, least=0.1):
    """Configurations near `ready` whose tool is far from singular."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        q = arm.ready + 0.5 * rng.standard_normal(arm.n)
        q = np.clip(q, arm.model.lower + 0.3, arm.model.upper - 0.3)
        if np.linalg.svd(arm.jacobian(q)[0])[1].min() > least:
            found.append(q)
    return rng, found


# ---- (3.49), (3.50), (3.55)


@pytest.mark.parametrize("name", ["panda", "ur5e", "puma560"])
def test_repulsion_is_carried_to_the_tool(name):
    """(3.50): with nothing else, the tool's velocity is J_e qd_rep, up to what damping keeps back."""
    arm = er.load(name)
    rng, configurations = open_configurations(arm, 6)
    config = Config(superposition="tool", repulsion=SOFT, damping=1e-3, push_damping=1e-3, **ALONE)
    body = one_capsule(arm, 3)
    for q in configurations:
        capsule = body.capsules(q)[0]
        ball = Sphere(capsule.a + 0.3 * (d := unit(rng)), 0.05)
        command, _ = step(arm, config, lambda o, b=ball: o.see([b.row()], 0.0), q, body=body)
        apart = distance(capsule, ball)
        v = 0.3 * (1.0 - apart.distance / 0.5) * apart.normal
        point = apart.smooth_a + capsule.radius * apart.normal  # on the axis
        local = np.linalg.inv(arm.poses(q)[3]) @ np.r_[point, 1.0]
        rep = damped(arm.jacobian(q, link=3, point=local[:3])[0], v, 1e-3)
        # damping keeps back lambda^2 / (sigma^2 + lambda^2) = 1e-4 of it in the worst direction
        assert np.linalg.norm(rep) > 1e-3, d
        carried = arm.jacobian(q)[0] @ rep
        assert np.linalg.norm(command.tool_velocity[:3] - carried) < 2e-4 * np.linalg.norm(carried)
        np.testing.assert_allclose(command.repulsion, carried, rtol=0, atol=1e-9 * max(1, np.abs(rep).max()))


def test_command_at_the_tool_is_attraction_plus_repulsion():
    """(3.55)."""
    arm = er.load("ur5e")
    _, (q, *_) = open_configurations(arm, 1, seed=2)
    ball = Sphere(arm.pose(q)[:3, 3] + [0.2, 0.1, 0.05], 0.05)
    draws = ALONE | {"attraction": Attraction(slow_down="off")}
    config = Config(superposition="tool", repulsion=SOFT, damping=1e-4, **draws)
    goal = Goal(arm.pose(q)[:3, 3] + [0.0, -0.2, 0.1])
    command, _ = step(arm, config, lambda o: o.see([ball.row()], 0.0), q, goal, body=one_capsule(arm, 5))
    assert np.linalg.norm(command.attraction) > 0.05
    assert np.linalg.norm(command.repulsion) > 0.05
    # damping keeps back 1e-8 / 0.01 at most
    np.testing.assert_allclose(command.tool_velocity[:3], command.attraction + command.repulsion, rtol=0, atol=1e-5)


@pytest.mark.parametrize("inverse", ["dls", "transpose"])
def test_speeds_are_proportional_to_pushes(inverse):
    arm = er.load("panda")
    q = arm.ready
    ball = Sphere(arm.pose(q)[:3, 3] + [0.2, 0.1, 0.0], 0.05)

    def speeds(gain):
        config = Config(inverse=inverse, repulsion=dataclasses.replace(SOFT, gain=gain), **ALONE)
        return step(arm, config, lambda o: o.see([ball.row()], 0.0), q, body=one_capsule(arm, 6))[0].qd

    assert np.linalg.norm(speeds(0.1)) > 1e-3
    np.testing.assert_allclose(speeds(0.2), 2.0 * speeds(0.1), rtol=1e-12, atol=1e-14)


# ---- away from what is near


LAWS = {
    "K": {},
    "K in joint space": {"superposition": "joint"},
    "K transpose": {"inverse": "transpose", "superposition": "joint"},
    "K at the tool": {"superposition": "tool"},
    "K nearest": {"acting": "nearest"},
    "F": {"controller": "F"},
    "F in joint space": {"controller": "F", "superposition": "joint"},
    "F at the tool": {"controller": "F", "superposition": "tool"},
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", slow_where(lambda name: name == "ur5e", ["panda", "ur5e", "mixed"]))
def test_the_distance_grows(name, law):
    """One obstacle, one capsule: the true distance along the commanded joint speeds grows at once.

    For (3.49) the rate is n . J J^T (J J^T + lambda^2)^-1 n f >= 0, for F n . J M^-1 J^T n f, both positive unless the
    push is along a direction that the link cannot move in; the tests take links beyond the wrist.
    At the tool (3.55) it holds for a push on the tool's own link.
    """
    arm = er.chains.random(5, seed=3, kinds="RPRRP") if name == "mixed" else er.load(name)
    link = arm.n - 1
    body = one_capsule(arm, link)
    config = Config(repulsion=SOFT, **ALONE | LAWS[law])
    rng, configurations = open_configurations(arm, 5, seed=1, least=0.15)
    for q in configurations:
        capsule = body.capsules(q)[0]
        ball = Sphere(capsule.a + rng.uniform() * (capsule.b - capsule.a) + rng.uniform(0.15, 0.4) * unit(rng), 0.03)
        command, _ = step(arm, config, lambda o, b=ball: o.see([b.row()], 0.0), q, body=body)
        h = 1e-6
        before, after = (distance(body.capsules(q + s * h * command.qd)[0], ball).distance for s in (-1, 1))
        rate = (after - before) / (2 * h)
        assert np.linalg.norm(command.qd) > 1e-4
        assert rate > 0.05 * command.push, (rate, command.push)


def test_the_rate_is_that_of_the_push():
    """With little damping and a link that can move anywhere, the closest point moves off at the push's own speed."""
    arm = er.load("panda")
    body = one_capsule(arm, 6)
    config = Config(repulsion=SOFT, damping=1e-3, push_damping=1e-3, reluctance=1e-3, **ALONE)
    rng, configurations = open_configurations(arm, 8, seed=4)
    for q in configurations:
        capsule = body.capsules(q)[0]
        ball = Sphere(capsule.b + 0.25 * unit(rng), 0.03)
        command, _ = step(arm, config, lambda o, b=ball: o.see([b.row()], 0.0), q, body=body)
        h = 1e-6
        before, after = (distance(body.capsules(q + s * h * command.qd)[0], ball).distance for s in (-1, 1))
        # 1e-4 of damping, and the error of a difference of 1e-6: 1e-16 / 1e-6
        assert abs((after - before) / (2 * h) - command.push) < 1e-3 * command.push
        expected = 0.3 * (1.0 - distance(capsule, ball).distance / 0.5)
        assert command.push == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"controller": "F"}, {"inverse": "transpose"}, {"acting": "nearest"}])
def test_a_push_of_one_metre_a_second_does_not_whirl_the_arm(options):
    """The whole panda, the default fields, a person 5 to 30 cm away: the tool is not thrown.

    `max_strength` is 1 m/s, "the greatest push".  What the pushes make of the tool may be somewhat faster, as it is
    farther out than the link that is pushed; three times that is no longer giving way, it is a hazard of its own.
    """
    arm = er.load("panda")
    config = Config(**options | {"attraction": Attraction(kp=0.0), "posture": 0.0, "smoothing": MovingAverage(0.0)})
    controller = Controller(arm, config, people=1, person_capsules=1)
    places, rng, worst = controller.obstacles(), np.random.default_rng(0), 0.0
    for _ in range(300):
        q = np.clip(arm.ready + 0.6 * rng.standard_normal(7), arm.model.lower + 0.2, arm.model.upper - 0.2)
        angle, far = rng.uniform(0, 2 * np.pi), rng.uniform(0.4, 1.3)
        x, y = far * np.cos(angle), far * np.sin(angle)
        places.see([Capsule((x, y, 0.2), (x, y, 1.5), 0.2).row()], 0.0)
        command = controller.step(0.0, 0.001, State(q), places, Goal(arm.pose(q)[:3, 3]))
        if 0.05 < command.distance < 0.3:
            worst = max(worst, float(np.linalg.norm(command.tool_velocity[:3])))
    assert 0.1 < worst < 3.0


# ---- symmetry


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"task": "pose", "superposition": "tool"},
        {"inverse": "transpose", "jacobian": "alternate"},
        {"controller": "F"},
        {"controller": "F", "force": Force(method="operational")},
        {"controller": "F", "force": Force(method="joint"), "task": "pose"},
    ],
)
@pytest.mark.parametrize("name", slow_where(lambda name: name == "panda", ["panda", "scara"]))
def test_a_rigid_motion_of_everything_changes_nothing(name, options):
    """Base, goal and obstacles moved as one, gravity turned with them: the same joint speeds and torques."""
    arm = er.load(name)
    rng = np.random.default_rng(6)
    q = np.clip(arm.ready + 0.2 * rng.standard_normal(arm.n), arm.model.lower + 0.05, arm.model.upper - 0.05)
    qd = 0.2 * rng.standard_normal(arm.n)
    R, t = pin.exp3(rng.standard_normal(3)), rng.standard_normal(3)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, t
    moved = arm.with_base(T @ arm.model.base).with_gravity(R @ arm.model.gravity)
    tool = arm.pose(q)
    rows = []
    for _ in range(3):
        a, b = tool[:3, 3] + 0.4 * unit(rng), tool[:3, 3] + 0.5 * unit(rng)
        rows.append(np.r_[a, b, 0.05, 0.3 * rng.standard_normal(6)])
    turned = []
    for row in rows:
        a, b, v, w = (row[k : k + 3] for k in (0, 3, 7, 10))
        turned.append(np.r_[R @ a + t, R @ b + t, row[6], R @ v, R @ w])
    turn = pin.exp3(0.4 * rng.standard_normal(3))
    goal = Goal(tool[:3, 3] + 0.1 * unit(rng), 0.1 * unit(rng), turn @ tool[:3, :3])
    other = Goal(R @ goal.position + t, R @ goal.velocity, R @ goal.rotation)
    config = Config(**options)
    chosen = arm.model.capsules[3:6] or Body.from_frames(arm, 0.05).link_capsules
    body, moved_body = (Body(a, capsules=chosen) for a in (arm, moved))
    one, _ = step(arm, config, lambda o: o.see(rows, 0.0), q, goal, body, qd, person_capsules=3)
    two, _ = step(moved, config, lambda o: o.see(turned, 0.0), q, other, moved_body, qd, person_capsules=3)
    assert np.abs(one.qd).max() > 1e-3
    # a thousand roundings of 1e-16 times 1/lambda^2 = 400, or the condition of M, 1e4
    np.testing.assert_allclose(two.qd, one.qd, rtol=0, atol=1e-10 * max(1, np.abs(one.qd).max()))
    np.testing.assert_allclose(two.tau, one.tau, rtol=0, atol=1e-10 * max(1, np.abs(one.tau).max()))
    np.testing.assert_allclose(two.tool_velocity[:3], R @ one.tool_velocity[:3], rtol=0, atol=1e-9)


# ---- redundancy


def test_the_rest_posture_leaves_the_tool_alone():
    """Seven joints, three of the task: the pull to the posture is in the null space, to damping order."""
    arm = er.load("panda")
    _, configurations = open_configurations(arm, 6, seed=9)
    for q in configurations:
        posture = arm.ready
        config = Config(**ALONE | {"posture": 1.0, "damping": 1e-3})
        still, _ = step(arm, config, None, q, body=one_capsule(arm, 6))
        # without a task all of (posture - q) would be the speed; the tool would move by J (posture - q)
        would = arm.jacobian(q)[0] @ (posture - q)
        assert np.linalg.norm(still.qd) > 0.1 * np.linalg.norm(posture - q)
        assert np.linalg.norm(still.tool_velocity[:3]) < 1e-3 * max(np.linalg.norm(would), 0.1)
        # and it does bring the joints nearer to the posture
        assert still.qd @ (posture - q) > 0


def test_an_elbow_push_moves_the_elbow_and_the_tool_keeps_to_its_goal():
    """A redundant arm: what is pushed is the elbow, the tool's goal is met in the long run.

    No rest posture: it would pull the elbow back to the person for good.
    """
    arm = er.load("panda")
    config = Config(period=0.01, posture=0.0, repulsion=dataclasses.replace(SOFT, gain=0.15))
    controller = Controller(arm, config, people=1, person_capsules=1)
    places, state = controller.obstacles(), State(arm.ready)
    elbow = arm.poses(arm.ready)[3][:3, 3]
    place = elbow + np.array([-0.35, 0.25, 0.0])
    places.see([Sphere(place, 0.05).row()], 0.0)
    goal = Goal(arm.pose(arm.ready)[:3, 3])
    first = controller.step(0.0, 0.01, state, places, goal).copy()
    nearest = controller.nearest()[0]
    assert nearest in ("upper_arm", "elbow", "forearm", "shoulder"), nearest
    begin = first.distance
    for k in range(1500):
        command = controller.step(0.01 * k, 0.01, state, places, goal)
        state.q += 0.01 * command.qd
        state.qd[:] = command.qd
    assert command.distance > begin + 0.03
    # A push of 1 cm/s is left where attraction (3/s) and repulsion meet: an error of a millimetre or so.
    assert np.linalg.norm(arm.pose(state.q)[:3, 3] - goal.position) < 0.01
    assert np.linalg.norm(arm.poses(state.q)[3][:3, 3] - elbow) > 0.1
    assert np.linalg.norm(command.qd) < 0.02


# ---- alternate Jacobian, goal


def test_the_alternate_jacobian_is_that_of_the_goal_point():
    """The point of the last link that is at the goal now moves as the attraction says."""
    arm = er.load("ur5e")
    _, (q, *_) = open_configurations(arm, 1, seed=3)
    goal = Goal(arm.pose(q)[:3, 3] + [0.05, -0.1, 0.08])
    config = Config(jacobian="alternate", damping=1e-4, **ALONE | {"attraction": Attraction()})
    command, _ = step(arm, config, None, q, goal, Body.from_frames(arm, 0.05))
    Jv, Jw = arm.jacobian(q)
    v = Jv @ command.qd + np.cross(Jw @ command.qd, goal.position - arm.pose(q)[:3, 3])
    np.testing.assert_allclose(v, command.attraction, rtol=0, atol=1e-5)
    assert np.linalg.norm(command.tool_velocity[:3] - command.attraction) > 1e-3  # the plain one would give that


def test_a_moving_goal_is_led():
    """The pole's own velocity is fed forward, so a tool on a moving pole stays on it."""
    arm = er.load("panda")
    goal = Goal(arm.pose(arm.ready)[:3, 3], velocity=(0.05, 0.1, -0.02))
    command, _ = step(arm, Config(damping=1e-3, **ALONE), None, arm.ready, goal, one_capsule(arm, 6))
    np.testing.assert_allclose(command.tool_velocity[:3], goal.velocity, rtol=0, atol=1e-5)


def test_pose_task_turns_the_tool():
    arm = er.load("panda")
    tool = arm.pose(arm.ready)
    goal = Goal(tool[:3, 3], rotation=pin.exp3(np.array([0.0, 0.0, 0.2])) @ tool[:3, :3])
    options = ALONE | {"attraction": Attraction()}
    body = one_capsule(arm, 6)
    command, _ = step(arm, Config(task="pose", damping=1e-3, **options), None, arm.ready, goal, body)
    # 2 sin(0.1) about z, damping keeping back (1e-3 / 0.1)^2
    np.testing.assert_allclose(command.tool_velocity, [0, 0, 0, 0, 0, 2 * np.sin(0.1)], rtol=0, atol=1e-4)
    command, _ = step(arm, Config(task="position", damping=1e-3, **options), None, arm.ready, goal, body)
    assert np.abs(command.qd).max() < 1e-12
