"""What pushes which link which way: sharing within a person, adding between people, floor, shells, the arm itself."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from reference import Kinematics, unit
from test_velocity_law import ALONE, SOFT, one_capsule, step

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Goal, Repulsion, State, Workspace
from elbowroom.avoidance.control.pushes import STRENGTH, WIDTH, PairLayout, gathered
from elbowroom.dynamics.kinematics import forward_kinematics
from elbowroom.geometry import Body, Capsule, Sphere, distance
from elbowroom.model import LinkCapsule

PLAIN = Config(repulsion=SOFT, **ALONE)


def pushes_of(controller, q):
    """The pushes that the law works with, on floats, from the pair table of the last step."""
    frames = forward_kinematics(controller.arm.model, q)
    return gathered(controller.arm.model, controller.layout, frames, controller.pairs, controller.config).pushes


def own_pushes_of(controller, q):
    """Those of the floor, the shells and the arm itself: they come after one for each capsule and each group."""
    movable = sum(c.link >= 0 for c in controller.layout.capsules)
    return pushes_of(controller, q)[movable * len(controller.layout.groups()) :]


def bent(f, most):
    """A push as it is given: f F / (f + F)."""
    return f * most / (f + most)


def stick(arm, link=None):
    """One capsule of 0.6 m across the last link."""
    link = arm.n - 1 if link is None else link
    return Body(arm, capsules=[LinkCapsule("stick", link, (-0.3, 0.0, 0.1), (0.3, 0.0, 0.1), 0.03)])


def built(config, body, q, rows_of_people, **room):
    """A controller after one step with these people, each a list of rows."""
    most = max(len(rows) for rows in rows_of_people)
    controller = Controller(
        body.arm, config, body=body, **{"people": len(rows_of_people), "person_capsules": most} | room
    )
    places = controller.obstacles()
    for person, rows in enumerate(rows_of_people):
        places.see(rows, 0.0, person)
    command = controller.step(0.0, 0.001, State(q), places, Goal(body.arm.pose(q)[:3, 3]))
    assert not command.status.stops, command.reason
    return controller


# ---- one obstacle


def test_a_push_acts_at_the_nearest_point_along_the_normal():
    arm = er.load("panda")
    rng = np.random.default_rng(0)
    body = stick(arm)
    for _ in range(20):
        q = arm.ready + 0.3 * rng.standard_normal(7)
        capsule = body.capsules(q)[0]
        ball = Sphere(capsule.a + rng.uniform() * (capsule.b - capsule.a) + rng.uniform(0.1, 0.5) * unit(rng), 0.04)
        (push,) = pushes_of(built(PLAIN, body, q, [[ball.row()]]), q)
        apart = distance(capsule, ball)
        assert push.link == 6
        assert push.strength == pytest.approx(max(0.3 * (1 - apart.distance / 0.5), 0.0), abs=1e-12)
        np.testing.assert_allclose(push.vector, push.strength * apart.normal, rtol=0, atol=1e-12)
        if push.strength > 0:
            np.testing.assert_allclose(push.point, apart.point_a + 0.03 * apart.normal, rtol=0, atol=1e-12)


@pytest.mark.parametrize("measure", ["surface", "axis"])
def test_the_field_goes_by_the_distance_that_it_names(measure):
    arm = er.load("panda")
    body = stick(arm)
    q = arm.ready
    capsule = body.capsules(q)[0]
    ball = Sphere(capsule.a + np.array([0.0, 0.0, 0.3]), 0.1)
    config = dataclasses.replace(PLAIN, repulsion=dataclasses.replace(SOFT, measure=measure))
    (push,) = pushes_of(built(config, body, q, [[ball.row()]]), q)
    apart = distance(capsule, ball)
    d = apart.axis_distance if measure == "axis" else apart.distance
    assert push.strength == pytest.approx(0.3 * (1 - d / 0.5), abs=1e-12)


# ---- a person is one body


@pytest.mark.slow
def test_a_person_of_thirteen_capsules_in_one_place_pushes_as_one():
    """However finely a person is modelled: coincident capsules push as one does, to rounding."""
    arm = er.load("panda")
    q = arm.ready
    row = Capsule((0.7, 0.1, 0.2), (0.7, 0.1, 1.4), 0.15).row((-0.2, 0.1, 0.0), (-0.3, 0.0, 0.0))
    for options in ({}, {"controller": "F"}, {"acting": "nearest"}, {"superposition": "tool"}):
        config = Config(**options)
        one, _ = step(arm, config, lambda o: o.see([row], 0.0), q, person_capsules=1)
        many, _ = step(arm, config, lambda o: o.see([row] * 13, 0.0), q, person_capsules=13)
        assert one.push > 0.05
        # a mean of 13 equal numbers rounds by 1e-15, times 1/lambda^2
        np.testing.assert_allclose(many.qd, one.qd, rtol=0, atol=1e-11 * max(1.0, np.abs(one.qd).max()))


def test_a_person_in_pieces_pushes_as_the_whole():
    """An upright cylinder cut in two at the height of the arm: the same direction, and no stronger than before."""
    arm = er.load("panda")
    body, q = one_capsule(arm, 6), arm.ready
    middle = body.capsules(q)[0]
    z = 0.5 * (middle.a + middle.b)[2]
    x, y = 0.5 * (middle.a + middle.b)[:2] + np.array([0.35, 0.0])
    whole = [Capsule((x, y, z - 0.6), (x, y, z + 0.6), 0.1).row()]
    halves = [Capsule((x, y, z - 0.6), (x, y, z), 0.1).row(), Capsule((x, y, z), (x, y, z + 0.6), 0.1).row()]
    (one,), (two,) = (pushes_of(built(PLAIN, body, q, [rows]), q) for rows in (whole, halves))
    assert one.strength > 0.1
    assert two.strength == pytest.approx(one.strength, rel=0.02)
    assert one.vector @ two.vector > 0.99 * np.linalg.norm(one.vector) * np.linalg.norm(two.vector)
    assert np.linalg.norm(two.vector) <= two.strength * (1 + 1e-12)


def test_different_people_add_up():
    arm = er.load("panda")
    body, q = stick(arm), arm.ready
    capsule = body.capsules(q)[0]
    first = [Sphere(0.5 * (capsule.a + capsule.b) + np.array([0.0, 0.0, 0.3]), 0.05).row()]
    second = [Sphere(0.5 * (capsule.a + capsule.b) + np.array([0.0, 0.3, 0.1]), 0.05).row()]
    (a,), (b,) = (pushes_of(built(PLAIN, body, q, [rows]), q) for rows in (first, second))
    both = pushes_of(built(PLAIN, body, q, [first, second]), q)
    for push, alone in zip(both, (a, b), strict=True):  # each at its own point
        np.testing.assert_allclose(push.vector, alone.vector, rtol=0, atol=1e-12)
        np.testing.assert_allclose(push.point, alone.point, rtol=0, atol=1e-12)
    assert a.strength > 0.05
    assert b.strength > 0.05


@pytest.mark.parametrize("options", [{}, {"controller": "F"}, {"superposition": "joint"}])
def test_two_opposite_people_cancel(options):
    arm = er.load("panda")
    body, q = stick(arm), arm.ready
    capsule = body.capsules(q)[0]
    middle, up = 0.5 * (capsule.a + capsule.b), np.array([0.0, 0.0, 1.0])
    config = dataclasses.replace(PLAIN, **options)

    def fill(o):
        o.see([Sphere(middle + 0.3 * up, 0.05).row()], 0.0, 0)
        o.see([Sphere(middle - 0.3 * up, 0.05).row()], 0.0, 1)

    command, _ = step(arm, config, fill, q, body=body, people=2)
    assert command.push > 0.1
    np.testing.assert_allclose(command.qd, 0.0, atol=1e-12)


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("controller", ["K", "F"])
@pytest.mark.parametrize(("near", "far"), [(0.05, 0.25), (0.1, 0.3), (0.02, 0.3)])
def test_of_two_opposite_obstacles_the_nearer_one_wins(near, far, controller, people):
    """The default field saturates at 0.31 m: what is at 2 cm must still push harder than what is at 30 cm.

    Two hands of one person, or two people, on opposite sides of the same link: the link moves off the nearer one.
    """
    arm = er.load("panda")
    body, q = stick(arm), arm.ready
    capsule = body.capsules(q)[0]
    middle, up = 0.5 * (capsule.a + capsule.b), np.array([0.0, 0.0, 1.0])
    hands = [Sphere(middle + (near + 0.08) * up, 0.05).row(), Sphere(middle - (far + 0.08) * up, 0.05).row()]
    config = Config(**ALONE | {"controller": controller})

    def fill(o):
        if people == 1:
            o.see(hands, 0.0)
        else:
            o.see(hands[:1], 0.0, 0)
            o.see(hands[1:], 0.0, 1)

    command, _ = step(arm, config, fill, q, body=body, people=people, person_capsules=2)
    J = Kinematics(arm.model).at(q, np.zeros(7)).jacobian(6, middle)[:3]
    upwards = float(up @ J @ command.qd)
    assert upwards < -0.05


@pytest.mark.parametrize("controller", ["K", "F"])
def test_pushes_at_the_two_ends_of_a_link_turn_it(controller):
    """One person above one end, another below the other: the link must turn out of the way, not stand still."""
    arm = er.load("panda")
    body, q = stick(arm), arm.ready
    capsule = body.capsules(q)[0]
    up = np.array([0.0, 0.0, 1.0])
    balls = [Sphere(capsule.a + 0.15 * up, 0.02), Sphere(capsule.b - 0.15 * up, 0.02)]

    def fill(o):
        o.see([balls[0].row()], 0.0, 0)
        o.see([balls[1].row()], 0.0, 1)

    command, _ = step(arm, dataclasses.replace(PLAIN, controller=controller), fill, q, body=body, people=2)
    moved = body.capsules(q + 1e-6 * command.qd)[0]
    gained = [distance(moved, ball).distance - distance(capsule, ball).distance for ball in balls]
    assert min(gained) > 1e-9


def test_one_person_close_by_does_not_hide_another():
    """Somebody 4 cm from the elbow, somebody else 12 cm from the hand: both must be felt as if they were alone."""
    arm = er.load("panda")
    q = arm.ready
    body = Body(arm, capsules=[c for c in arm.model.capsules if c.link in (3, 6)])
    elbow, hand = body.capsules(q)
    first = Sphere(0.5 * (elbow.a + elbow.b) + np.array([-elbow.radius - 0.09, 0.0, 0.0]), 0.05)
    second = Sphere(0.5 * (hand.a + hand.b) + np.array([hand.radius + 0.17, 0.0, 0.0]), 0.05)
    config = Config(**ALONE)
    alone = pushes_of(built(config, body, q, [[second.row()]]), q)[1]
    both = [p for p in pushes_of(built(config, body, q, [[first.row()], [second.row()]]), q) if p.link == 6]
    assert alone.strength > 0.5
    assert max(p.strength for p in both) > 0.5 * alone.strength


# ---- nearest


def test_only_the_capsule_that_is_pushed_hardest_acts():
    arm = er.load("panda")
    q = arm.ready
    rows = [[Capsule((0.6, 0.1, 0.0), (0.6, 0.1, 1.4), 0.15).row()]]
    every = pushes_of(built(Config(**ALONE), Body(arm), q, rows), q)
    one = pushes_of(built(Config(acting="nearest", **ALONE), Body(arm), q, rows), q)
    top = max(range(len(every)), key=lambda k: every[k].strength)
    assert sum(p.strength > 0 for p in every) > 2
    for k, (kept, push) in enumerate(zip(one, every, strict=True)):
        if push.strength == every[top].strength:  # ties all act
            np.testing.assert_array_equal(kept.vector, push.vector)
        else:
            assert kept.strength == 0, k
            np.testing.assert_array_equal(kept.vector, 0.0)


@pytest.mark.parametrize("field", [SOFT, Repulsion.thesis(0.4, 1.0)], ids=["soft", "printed"])
def test_the_floor_acts_beside_a_person_who_pushes_harder(field):
    """Somebody above, nearer than the floor below: they must not drive the arm into it."""
    arm = er.load("panda")
    body, q = stick(arm), arm.ready
    capsule = body.capsules(q)[0]
    over = [[Sphere(0.5 * (capsule.a + capsule.b) + np.array([0.0, 0.0, 0.15]), 0.05).row()]]
    config = Config(repulsion=field, acting="nearest", workspace=Workspace(floor=capsule.a[2] - 0.08), **ALONE)
    controller = built(config, body, q, over)
    (floor,) = own_pushes_of(controller, q)
    person = pushes_of(controller, q)[0]
    assert person.strength > 1.5 * floor.strength > 0.1
    assert person.vector[2] < 0 < floor.vector[2]
    assert floor.strength == pytest.approx(bent(0.5 * (1 - 0.05 / 0.1), 0.5), abs=1e-9)
    alone = built(dataclasses.replace(config, workspace=None), body, q, over)
    down = [each.command.tool_velocity[2] for each in (controller, alone)]
    assert down[0] > down[1] + 0.5 * floor.strength  # it acts on the arm too


def test_the_arm_s_own_pushes_act_beside_a_person_s():
    """Two links 1 to 6 cm apart, and somebody who pushes harder than they do: both pushes are there, and unchanged."""
    arm = er.load("panda")
    body = Body(arm)
    config = dataclasses.replace(PLAIN, self_collision=Config().self_collision)
    q, (i, j), _ = next(folded(arm, body, body.self_pairs))
    hand = body.capsules(q)[-1]
    rows = [[Sphere(hand.b + np.array([0.0, 0.0, hand.radius + 0.06]), 0.05).row()]]
    every, one = (
        built(dataclasses.replace(config, acting=acting), body, q, rows, people=1) for acting in ("each", "nearest")
    )
    own = own_pushes_of(one, q)
    assert {push.link for push in own if push.strength > 0} == {body.links[k] for k in (i, j)} - {-1}
    for kept, push in zip(own, own_pushes_of(every, q), strict=True):
        assert kept.strength == push.strength
        np.testing.assert_array_equal(kept.vector, push.vector)
    theirs = pushes_of(one, q)[: -len(own)]
    assert max(push.strength for push in theirs) > max(push.strength for push in own) > 0
    assert sum(push.strength > 0 for push in theirs) == 1


# ---- floor, shells, itself


def test_the_floor_lifts_the_links_above_it_and_not_the_first():
    arm = er.load("ur5e")
    q = np.array([0.0, -0.25, 0.6, -0.3, -1.5, 0.0])  # stretched out low
    body = Body.from_frames(arm, 0.06)
    heights = [min(c.a[2], c.b[2]) for c in body.capsules(q)]
    low = sorted(heights)[2]
    config = dataclasses.replace(PLAIN, workspace=Workspace(floor=low - 0.1))
    controller = built(config, body, q, [[np.r_[np.full(6, 1e6), 0.0, np.zeros(6)]]])
    found = own_pushes_of(controller, q)
    assert found
    for push in found:
        assert push.link >= 1  # the first link cannot rise
        np.testing.assert_allclose(push.vector[:2], 0.0, atol=1e-15)
        assert push.vector[2] >= 0
    assert max(p.strength for p in found) > 0.05
    command = controller.command
    moved = [min(c.a[2], c.b[2]) for c in body.capsules(q + 1e-6 * command.qd)]
    worst = int(np.argmin([h if c.link >= 1 else np.inf for h, c in zip(heights, body.link_capsules, strict=True)]))
    assert moved[worst] > heights[worst]
    off = built(dataclasses.replace(config, workspace=None), body, q, [[np.r_[np.full(6, 1e6), 0.0, np.zeros(6)]]])
    assert np.array_equal(off.command.qd, np.zeros(6))


def test_the_floor_pushes_level_links_at_their_middle():
    """Both ends are as low: the point is the middle, so nothing jumps when the other end becomes the lower one."""
    arm = er.load("panda")
    body = stick(arm)
    q = arm.ready
    capsule = body.capsules(q)[0]
    config = dataclasses.replace(PLAIN, workspace=Workspace(floor=capsule.a[2] - 0.06))
    (push,) = own_pushes_of(built(config, body, q, [[np.r_[np.full(6, 1e6), 0.0, np.zeros(6)]]]), q)
    assert abs(capsule.a[2] - capsule.b[2]) < 1e-9
    np.testing.assert_allclose(push.point, 0.5 * (capsule.a + capsule.b), rtol=0, atol=1e-6)
    # linear from 0.5 m/s at the surface to zero at 0.1 m, bent below 0.5 m/s; the surface is 3 cm away
    assert push.strength == pytest.approx(bent(0.5 * (1 - 0.03 / 0.1), 0.5), abs=1e-9)


@pytest.mark.parametrize(
    ("shell", "way"),
    [({"outer": 1.0}, -1.0), ({"inner": 1.0}, 1.0)],
)
def test_shells_push_the_tool_back_into_the_workspace(shell, way):
    arm = er.load("ur5e")
    body = Body.from_frames(arm, 0.06)
    q = arm.ready
    tool = arm.pose(q)[:3, 3]
    center = np.array([0.1, -0.05, 0.1])
    far = float(np.linalg.norm(tool - center))
    name = next(iter(shell))
    workspace = Workspace(**{name: far - way * 0.04}, center=tuple(center))
    config = dataclasses.replace(PLAIN, workspace=workspace)
    nobody = [[np.r_[np.full(6, 1e6), 0.0, np.zeros(6)]]]
    controller = built(config, body, q, nobody)
    *links, push = pushes_of(controller, q)
    assert all(p.strength == 0 for p in links)
    assert push.link == arm.n - 1
    assert push.strength == pytest.approx(bent(0.5 * (1 - 0.04 / 0.1), 0.5), abs=1e-9)
    np.testing.assert_allclose(push.vector, way * push.strength * (tool - center) / far, rtol=0, atol=1e-9)
    radial = controller.command.tool_velocity[:3] @ (tool - center)
    assert way * radial > 0.01
    assert np.array_equal(built(PLAIN, body, q, nobody).command.qd, np.zeros(6))


def folded(arm, body, pairs):
    """A configuration in which one of the pairs is 1 to 6 cm apart and no other is nearer."""
    rng = np.random.default_rng(2)
    for _ in range(3000):
        q = rng.uniform(*arm.model.sampling_range())
        capsules = body.capsules(q)
        apart = [distance(capsules[i], capsules[j]).distance for i, j in pairs]
        k = int(np.argmin(apart))
        if 0.01 < apart[k] < 0.06 and sorted(apart)[1] > 0.08:
            yield q, pairs[k], apart[k]


def test_links_that_come_near_each_other_push_each_other_apart():
    arm = er.load("panda")
    body = Body(arm)
    nobody = [[np.r_[np.full(6, 1e6), 0.0, np.zeros(6)]]]
    on = dataclasses.replace(PLAIN, self_collision=Config().self_collision)
    tried = 0
    for q, (i, j), gap in folded(arm, body, body.self_pairs):
        controller = built(on, body, q, nobody)
        felt = {push.link: push for push in own_pushes_of(controller, q) if push.strength > 0}
        assert set(felt) == {body.links[k] for k in (i, j)} - {-1}
        for push in felt.values():
            assert push.strength == pytest.approx(bent(0.5 * (1 - gap / 0.08), 0.5), abs=1e-9)
        if len(felt) == 2:
            np.testing.assert_allclose(sum(push.vector for push in felt.values()), 0.0, atol=1e-12)
        after = body.capsules(q + 1e-6 * controller.command.qd)
        assert distance(after[i], after[j]).distance > gap, (body.names[i], body.names[j])
        off = built(PLAIN, body, q, nobody)
        assert np.array_equal(off.command.qd, np.zeros(7))
        tried += 1
        if tried == 6:
            break
    assert tried >= 3


def test_the_base_cannot_give_way():
    """A person beside the pedestal pushes the links, not the base; nothing of the base's distance moves the arm."""
    arm = er.load("panda")
    body = Body(arm, capsules=[c for c in Body(arm).link_capsules if c.link < 0])
    command, _ = step(
        arm,
        PLAIN,
        lambda o: o.see([Sphere((0.2, 0.0, 0.05), 0.05).row()], 0.0),
        arm.ready,
        body=Body(arm, capsules=[*body.link_capsules, LinkCapsule("tip", 6, (0, 0, 0.1), (0, 0, 0.1), 0.01)]),
    )
    assert command.distance < 0.15
    assert command.push < 0.3 * (1 - 0.15 / 0.5)


def test_the_layout_numbers_pairs_as_the_table_does():
    capsules = Body(er.load("panda")).link_capsules
    layout = PairLayout(capsules, 2, 1, 3, ((0, 3),), (0.08,), ((True, True),) * len(capsules), False)
    assert layout.slots == 7
    assert len(layout.pairs) == layout.own * 7 + 1
    for i in range(layout.own):
        for k in range(7):
            assert layout.pairs[layout.pair(i, k)] == (i, layout.own + k)
    assert layout.groups() == [(0, 1, 2), (3, 4, 5), (6,)]
    assert WIDTH == STRENGTH + 1


def test_lookahead_and_ease_reach_the_push():
    """The person's own speed counts; the arm's does not: fed back a cycle late, it would ring."""
    arm = er.load("panda")
    body, q = stick(arm), arm.ready
    capsule = body.capsules(q)[0]
    up = np.array([0.0, 0.0, 1.0])
    field = Repulsion("linear", gain=0.3, influence=0.4, max_strength=1e15, lookahead=0.5, parting_speed=0.2)
    config = dataclasses.replace(PLAIN, repulsion=field)
    middle = 0.5 * (capsule.a + capsule.b)

    def push(person, qd):
        row = Sphere(middle + 0.28 * up, 0.05).row(person * up)
        command, _ = step(arm, config, lambda o: o.see([row], 0.0), q, body=body, qd=qd)
        return command.push

    still = np.zeros(7)
    d = 0.2
    assert push(0.0, still) == pytest.approx(0.3 * (1 - d / 0.4), abs=1e-9)
    assert push(-0.4, still) == pytest.approx(0.3 * (1 - d / (0.4 + 0.5 * 0.4)), abs=1e-9)
    assert push(0.1, still) == pytest.approx(0.3 * (1 - d / 0.4) * 0.75, abs=1e-9)
    # the arm goes up at 0.3 m/s towards somebody who stands
    J = Kinematics(arm.model).at(q, still).jacobian(6, middle)[:3]
    qd = np.linalg.pinv(J) @ (0.3 * up)
    assert push(0.0, qd) == push(0.0, still)


# ---- links that the joints between them hold close together


def resting(gap):
    """The body of an arm whose first and third link lie beside each other at the ready pose, that far apart."""
    bodies = [np.diag([0.01, 0.01, 0.01])] * 3
    model = er.Arm.from_mdh(
        a=[0.0, 0.3, 0.1 + gap], alpha=[0.0] * 3, d=[0.0] * 3, mass=[1.0] * 3, com=np.zeros((3, 3)), inertia=bodies,
        lower=[-3.0] * 3, upper=[3.0] * 3, velocity=[2.0] * 3, ready=[0.0, np.pi / 2, np.pi / 2],
    ).model  # fmt: skip
    ends = ((0.3, 0, 0), (0.1 + gap, 0, 0), (0.3, 0, 0))
    capsules = [LinkCapsule(f"link{k}", k, (0.0, 0.0, 0.0), end, 0.05) for k, end in enumerate(ends)]
    body = Body(er.Arm(model), capsules=capsules)
    vars(body)["self_pairs"] = ((0, 2),)  # in a plane they meet so often that they would be left out
    return body


@pytest.mark.parametrize("gap", [0.02, 0.05])
def test_links_that_rest_close_together_do_not_push_each_other_for_ever(gap):
    body = resting(gap)
    controller = Controller(body.arm, Config(period=0.01), body=body)
    assert controller.layout.self_gaps == (pytest.approx(gap, abs=1e-4),)
    q = body.arm.ready
    controller.step(0.0, 0.01, State(q), controller.obstacles(), Goal(body.arm.pose(q)[:3, 3]))
    assert all(push.strength == 0.0 for push in own_pushes_of(controller, q))
    nearer = q + np.array([0.0, 0.0, 2.0 * gap])  # the third link's end comes near to the first one
    assert body.self_gap(nearer[None])[0] < 0.5 * gap
    controller.step(0.01, 0.01, State(nearer), controller.obstacles(), Goal(body.arm.pose(q)[:3, 3]))
    assert max(push.strength for push in own_pushes_of(controller, nearer)) > 0.0
