"""Bodies: where capsules stand, how their ends move, which pairs are kept apart, and what is refused."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

import elbowroom as er
from elbowroom.errors import ModelError, UnknownNameError
from elbowroom.geometry import Body, Capsule, Sphere, distance
from elbowroom.geometry.body import NEAR, rows, skeleton
from elbowroom.geometry.shapes import RADIUS, VELOCITY_A, VELOCITY_B, A, B
from elbowroom.model import LinkCapsule, catalogue
from elbowroom.model.rotations import pose, rpy
from referees import physical_chain

every = pytest.mark.parametrize("name", catalogue.names())


def state(arm, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(arm.model.lower, arm.model.upper), random.normal(size=arm.n)


# --- Where they are ---


def test_two_links_by_hand():
    """planar2 at q: the upper arm from the base to (cos, 0, sin) / 2, the forearm on from there."""
    arm = er.load("planar2")
    upper, fore = Body(arm).capsules([0.3, 0.4])
    elbow = 0.5 * np.array([np.cos(0.3), 0, np.sin(0.3)])
    np.testing.assert_allclose(upper.a, [0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(upper.b, elbow, atol=1e-15)
    np.testing.assert_allclose(fore.a, elbow, atol=1e-15)
    np.testing.assert_allclose(fore.b, elbow + 0.4 * np.array([np.cos(0.7), 0, np.sin(0.7)]), atol=1e-15)
    assert (upper.radius, fore.radius) == (0.05, 0.04)


@every
def test_ends_are_the_points_of_their_links(name):
    arm = er.load(name).with_base(pose(rpy(0.1, 0.2, 0.3), (1, 2, 3)))
    body = Body(arm)
    q, qd = state(arm)
    frames = arm.poses(q)
    for row, capsule in zip(body.rows(q, qd), body.link_capsules, strict=True):
        T = arm.model.base if capsule.link < 0 else frames[capsule.link]
        # 1e-14: a sum of a few products of numbers below 4
        np.testing.assert_allclose(row[A], T[:3, :3] @ capsule.a + T[:3, 3], atol=1e-14)
        np.testing.assert_allclose(row[B], T[:3, :3] @ capsule.b + T[:3, 3], atol=1e-14)
        assert row[RADIUS] == capsule.radius


@every
def test_velocities_are_the_rates_of_the_ends(name):
    """Central differences over 1e-6 s: their own error is about 1e-9, of rounding and of the third derivative."""
    arm = er.load(name)
    body = Body(arm)
    q, qd = state(arm, seed=1)
    h = 1e-6
    now = body.rows(q, qd)
    rate = (body.rows(q + h * qd, qd) - body.rows(q - h * qd, qd)) / (2 * h)
    np.testing.assert_allclose(now[:, VELOCITY_A], rate[:, A], atol=1e-8)
    np.testing.assert_allclose(now[:, VELOCITY_B], rate[:, B], atol=1e-8)


def test_velocities_are_those_of_the_jacobian():
    arm = er.load("iiwa7")
    body = Body(arm)
    q, qd = state(arm, seed=2)
    for row, capsule in zip(body.rows(q, qd), body.link_capsules, strict=True):
        if capsule.link >= 0:
            Jv, _ = arm.jacobian(q, link=capsule.link, point=capsule.b)
            np.testing.assert_allclose(row[VELOCITY_B], Jv @ qd, atol=1e-13)  # sums of 7 products below 10


def test_the_base_stands_still():
    arm = er.load("puma560")
    body = Body(arm)
    q, qd = state(arm)
    table = body.rows(q, qd)
    still = [k for k, link in enumerate(body.links) if link < 0]
    assert [body.names[k] for k in still] == ["foot", "column"]
    assert (table[still, 7:] == 0).all()
    np.testing.assert_array_equal(table[still], body.rows(arm.ready, qd)[still])


def test_the_formula_on_floats_is_what_is_compiled():
    arm = er.load("stanford")  # with a slide
    body = Body(arm)
    q, qd = state(arm, seed=3)
    slow = rows(arm.model, q, qd, body.link_capsules)
    assert slow.dtype == float
    np.testing.assert_allclose(body.rows(q, qd), slow, atol=1e-13)  # fused multiply-add differs in the last bits


def test_a_batch_is_its_states_and_out_is_filled():
    arm = er.load("panda")
    body = Body(arm)
    Q, Qd = np.random.default_rng(0).normal(size=(2, 5, 7))
    many = body.rows(Q, Qd)
    assert many.shape == (5, len(body), 13)
    out = np.empty((len(body), 13))
    for k in range(5):
        assert body.rows(Q[k], Qd[k], out=out) is out
        np.testing.assert_allclose(many[k], out, atol=1e-13)
    assert body.rows(list(Q[0]), list(Qd[0])).shape == (len(body), 13)


def test_capsules_are_shapes_with_the_rows_numbers():
    arm = er.load("panda")
    body = Body(arm)
    shapes = body.capsules(arm.ready)
    assert all(isinstance(shape, Capsule) for shape in shapes)
    table = body.rows(arm.ready, np.zeros(7))
    np.testing.assert_array_equal([[*s.a, *s.b, s.radius] for s in shapes], table[:, :7])


def test_the_catalogues_panda_has_its_eight_capsules():
    body = Body(er.load("panda"))
    assert len(body) == 8
    assert body.links == (-1, 0, 1, 2, 3, 4, 5, 6)
    assert body.names[0], body.names[-1] == ("base", "flange")


# --- Which capsules ---


def test_capsules_of_your_own_and_other_covers():
    arm = er.load("puma560")
    own = Body(arm, capsules=[LinkCapsule("tool", 5, (0, 0, 0), (0, 0, 0.2), 0.03)])
    assert own.names == ("tool",)
    assert Body(arm, cover="thesis").names == ("upper_arm", "lower_arm")
    assert len(Body(arm)) == 9
    with pytest.raises(UnknownNameError, match="puma560: no cover 'thesus'; it has 'thesis'"):
        Body(arm, cover="thesus")
    with pytest.raises(UnknownNameError, match="panda: no cover 'thesis'; it has no cover beside its own"):
        Body(er.load("panda"), cover="thesis")
    with pytest.raises(ValueError, match="not both"):
        Body(arm, capsules=own.link_capsules, cover="thesis")


def test_what_is_no_capsule_of_the_arm_is_refused():
    arm = er.load("planar2")
    with pytest.raises(
        ModelError, match=r"planar2: capsule 'x': link must be a number from -1 \(the base\) to 1; got 2"
    ):
        Body(arm, capsules=[LinkCapsule("x", 2, (0, 0, 0), (0, 0, 0), 0.1)])
    with pytest.raises(ModelError, match="must be LinkCapsule; got 'x'"):
        Body(arm, capsules=["x"])


def test_an_arm_without_capsules_says_how_to_give_them():
    arm = er.Arm(physical_chain(2, seed=1))
    with pytest.raises(ModelError, match=r"no capsules.*Body\(arm, capsules=.*Body.from_frames\(arm, radius=0.08\)"):
        Body(arm)
    assert len(Body.from_frames(arm, radius=0.08)) >= 1


def test_from_frames_runs_from_joint_to_joint_to_tool():
    arm = er.load("planar2")
    upper, fore = Body.from_frames(arm, radius=0.07).capsules([0.0, np.pi / 2])
    np.testing.assert_allclose(upper.b, [0.5, 0, 0], atol=1e-15)
    np.testing.assert_allclose(fore.a, [0.5, 0, 0], atol=1e-15)
    np.testing.assert_allclose(fore.b, arm.pose([0.0, np.pi / 2])[:3, 3], atol=1e-15)
    assert upper.radius == fore.radius == 0.07


@pytest.mark.parametrize("extension", [-0.1, 0.0, 0.1, 0.2])
def test_from_frames_covers_a_slide_however_far_it_is_out(extension):
    arm = er.Arm(dataclasses.replace(er.load("scara").model, lower=np.array([-2.0, -2.0, -0.1, -6.0])))
    q = [0.3, 0.4, extension, 0.0]
    capsules = Body.from_frames(arm, radius=0.05).capsules(q)
    forearm_end = arm.poses([0.3, 0.4, 0.0, 0.0])[2][:3, 3]
    for part in np.linspace(0, 1, 5):  # the line from where the slide leaves the forearm to the tool
        point = Capsule(*([forearm_end + part * (arm.pose(q)[:3, 3] - forearm_end)] * 2), 0.0)
        assert min(distance(point, c).axis_distance for c in capsules) < 1e-12


def test_from_frames_refuses_an_endless_slide_and_a_bad_radius():
    model = dataclasses.replace(er.load("scara").model, upper=np.array([1, 1, np.inf, 1]))
    with pytest.raises(
        ModelError, match="joint 'quill': the rod of a slide is as long as its travel, which has no lim"
    ):
        skeleton(model, 0.1)
    with pytest.raises(ModelError, match="radius must be positive"):
        Body.from_frames(er.load("panda"), radius=0.0)


def test_a_payload_a_tool_and_a_base_keep_the_capsules():
    arm = er.load("panda")
    for other in (
        arm.with_payload(1.0),
        arm.with_tool(np.eye(4)),
        arm.with_base(np.eye(4)),
        arm.with_gravity((0, 0, 0)),
    ):
        assert other.model.capsules == arm.model.capsules


def test_a_pickled_body_is_the_same():
    body = Body(er.load("puma560"), cover="thesis")
    body.rows(body.arm.ready, np.zeros(6))  # compiled, which is not pickled
    again = pickle.loads(pickle.dumps(body))
    assert again.link_capsules == body.link_capsules


def test_bad_states_are_refused_by_name():
    body = Body(er.load("panda"))
    for _ in range(2):  # the method, then the entry that took its place
        with pytest.raises(ValueError, match="q must be finite"):
            body.rows(np.full(7, np.nan), np.zeros(7))
        with pytest.raises(er.ShapeError, match=r"rows: q must have shape \(7,\)"):
            body.rows(np.zeros(6), np.zeros(7))
        body.rows(np.zeros(7), np.zeros(7))


# --- Pairs of the arm with itself ---


def test_the_pandas_self_pairs():
    body = Body(er.load("panda"))
    named = {(body.names[i], body.names[j]) for i, j in body.self_pairs}
    assert named == {
        ("base", "forearm_upper"),
        *(("base", x) for x in ("forearm_lower", "wrist", "flange")),
        *(("shoulder", x) for x in ("forearm_lower", "wrist", "flange")),
        *(("upper_arm", x) for x in ("forearm_lower", "wrist", "flange")),
    }


@every
def test_self_pairs_are_apart_at_ready_not_neighbours_and_the_same_each_time(name):
    arm = er.load(name)
    body = Body(arm)
    shapes = body.capsules(arm.ready)
    assert body.self_pairs == Body(arm).self_pairs
    for i, j in body.self_pairs:
        assert i < j
        assert abs(body.links[i] - body.links[j]) > 1
        assert distance(shapes[i], shapes[j]).distance > 0


def test_a_pair_left_out_never_meets_or_always_does():
    """Over other configurations than the ones it was judged by."""
    arm = er.load("panda")
    body = Body(arm)
    Q = np.random.default_rng(99).uniform(arm.model.lower, arm.model.upper, (300, 7))
    shapes = [body.capsules(q) for q in Q]
    for i in range(len(body)):
        for j in range(i + 2, len(body)):  # one capsule a link here, so j = i + 1 are neighbours
            if (i, j) not in body.self_pairs:
                apart = np.array([distance(s[i], s[j]).distance for s in shapes])
                assert apart.min() > 0 or (apart <= 0).mean() > 0.15 or apart.min() > NEAR, (
                    body.names[i],
                    body.names[j],
                )


def test_a_real_self_collision_is_a_pair():
    """The panda folded on itself: the hand's flange in the shoulder."""
    arm = er.load("panda")
    body = Body(arm)
    Q = np.random.default_rng(5).uniform(arm.model.lower, arm.model.upper, (400, 7))
    table = body.rows(Q, np.zeros_like(Q))
    first, last = body.names.index("shoulder"), body.names.index("flange")
    met = [
        k
        for k in range(len(Q))
        if distance(
            Capsule(table[k, first, A], table[k, first, B], table[k, first, RADIUS]),
            Capsule(table[k, last, A], table[k, last, B], table[k, last, RADIUS]),
        ).distance
        < 0
    ]
    assert met
    assert (first, last) in body.self_pairs


def test_a_tool_that_sticks_out_gets_a_capsule():
    """`with_tool` moves the tool's point; a hand at the tip of a long tool must not read as clear of the arm."""
    arm = er.load("panda")
    offset = np.eye(4)
    offset[2, 3] = 0.4
    long = arm.with_tool(arm.model.tool @ offset)
    assert "tool" not in Body(arm).names
    body = Body(long)
    assert body.names[-1] == "tool"
    tip = Sphere(long.pose(arm.ready)[:3, 3], 0.05)
    assert min(distance(c, tip).distance for c in body.capsules(arm.ready)) < 0
