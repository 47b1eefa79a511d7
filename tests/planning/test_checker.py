"""Batch validity: clearances are those of `distance` shape by shape, and a free motion is free everywhere on it."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import card
import elbowroom as er
from card import needs_cxx, to_card
from elbowroom.arm import Arm
from elbowroom.avoidance.planning import Box, Checker, World
from elbowroom.avoidance.planning import card as on_card
from elbowroom.avoidance.planning.card import OnCard
from elbowroom.avoidance.planning.checker import COARSE
from elbowroom.compile import cuda
from elbowroom.errors import ConfigError, ShapeError
from elbowroom.geometry import Body, Capsule, HalfSpace, Person, Sphere, distance
from elbowroom.geometry.body import skeleton
from strategies import examples, robots

PANDA = er.load("panda")
PANDA_BODY = Body(PANDA)
CHECKER = Checker(PANDA_BODY)
SHAPES = [
    Capsule((0.5, 0.2, 0.1), (0.6, 0.3, 0.9), 0.06),
    Sphere((-0.4, 0.3, 0.5), 0.1),
    HalfSpace((0, 0, -0.2), (0.1, 0, 1)),
]


def drawn(count: int, seed: int = 0, arm: Arm = PANDA) -> np.ndarray:
    return np.random.default_rng(seed).uniform(*arm.model.sampling_range(), (count, arm.n))


def by_hand(checker: Checker, q: np.ndarray, shapes) -> float:
    """The least distance, shape by shape."""
    body = checker.body
    placed = zip(body.link_capsules, body.capsules(q), strict=True)
    apart = [
        distance(capsule, shape).distance for each, capsule in placed if each in checker.moving for shape in shapes
    ]
    return min([*apart, float(body.self_gap(q[None])[0])])


def test_clearances_are_those_of_the_shapes():
    Q = drawn(40)
    found = CHECKER.clearance(Q, World(SHAPES))
    wanted = [by_hand(CHECKER, q, SHAPES) for q in Q]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)  # rounding of metre-sized numbers
    assert CHECKER.clearance(Q[0], World(SHAPES)) == found[0]


def test_a_turned_box_is_a_row_of_balls_at_its_surface():
    turn = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    box = Box((0.45, 0.1, 0.4), (0.2, 0.1, 0.15), turn)
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, 21),) * 3), axis=-1).reshape(-1, 3)
    points = box.center + (grid * box.half) @ turn.T
    Q = drawn(300, 1)
    alone = CHECKER.clearance(Q, World())  # of the arm from itself
    found, balls = CHECKER.clearance(Q, World([box])), CHECKER.clearance(Q, World([Sphere(p, 0.0) for p in points]))
    outside = (found < alone) & (balls > 0.0)
    assert outside.sum() > 50
    assert (found <= balls + 1e-9).all()
    assert (balls[outside] - found[outside] < 0.012).all()  # half the diagonal of a grid's cell at the surface


def test_float32_says_the_same_and_many_rows_go_in_turns():
    rng = np.random.default_rng(2)
    centres = rng.uniform((-0.9, -0.9, -0.4), (0.9, 0.9, 1.4), (150, 3))
    many = World([Sphere(x, 0.02) for x in centres])
    Q = drawn(200, 3)
    clear = CHECKER.clearance(Q, many)
    slack = CHECKER.against(many, 0.01).slack(Q)
    by_world = clear < CHECKER.clearance(Q, World()) - 1e-6  # and not by the arm's own links, which have no margin
    assert by_world.sum() > 100
    np.testing.assert_allclose(slack[by_world], clear[by_world] - 0.01, rtol=0, atol=2e-5)
    assert (slack[~by_world] <= clear[~by_world] + 2e-5).all()
    sure = np.abs(slack) > 1e-4  # m: what float32 cannot tell apart
    np.testing.assert_array_equal(CHECKER.free(Q, many, 0.01)[sure], (slack > 0.0)[sure])


def test_people_are_rows():
    rows = Person.standing((0.6, 0.0, 0.0)).rows
    Q = drawn(20, 4)
    found = CHECKER.clearance(Q, World.of_rows(rows))
    shapes = [Capsule(row[:3], row[3:6], row[6]) for row in rows]
    np.testing.assert_allclose(found, [by_hand(CHECKER, q, shapes) for q in Q], rtol=0, atol=1e-12)
    grown = CHECKER.clearance(Q, World.of_rows(rows, grown=0.05))
    by_world = found < CHECKER.clearance(Q, World())
    np.testing.assert_allclose(grown[by_world], found[by_world] - 0.05, rtol=0, atol=1e-12)
    assert by_world.any()


def test_beyond_a_joint_limit_nothing_is_free():
    q = PANDA.ready.copy()
    assert CHECKER.free(q[None], World()).all()
    q[1] = PANDA.model.upper[1] + 0.01
    assert not CHECKER.free(q[None], World()).any()
    assert CHECKER.against(World()).slack(q[None])[0] < 0.0


def test_what_stands_far_away_is_left_out_and_changes_nothing():
    world = World([*SHAPES, Sphere((4.0, 0, 0), 0.1), Box((0, -5, 0), (1, 1, 1)), Box((0, -1, 0.3), (0.3, 0.3, 0.3))])
    near = world.within(CHECKER.center, CHECKER.radius + 0.5)
    assert (len(near.capsules), len(near.boxes), len(near.planes)) == (2, 1, 1)
    Q = drawn(50, 5)
    np.testing.assert_array_equal(CHECKER.clearance(Q, near), CHECKER.clearance(Q, world))


@pytest.mark.parametrize("margin", [0.0, 0.03])
def test_a_motion_is_free_if_all_of_it_is(margin):
    world = World([*SHAPES, Box((0.4, -0.3, 0.4), (0.1, 0.1, 0.02))])
    against = CHECKER.against(world, margin)
    Q = drawn(600, 6)
    Q = Q[against.slack(Q) > 0.0]
    a, b = Q[: len(Q) // 2], Q[len(Q) // 2 : 2 * (len(Q) // 2)]
    part = against.free_part(a, b)
    steps = np.linspace(0.0, 1.0, 400)
    verdicts = []
    for k in range(120):
        dense = against.slack(a[k] + (b[k] - a[k]) * steps[:, None])
        verdicts.append(bool((dense > 0.0).all()))
        if part[k] >= 1.0:
            assert dense.min() > -1e-3, k  # half of what moves between two samples that are near enough
        else:
            assert not verdicts[-1] or dense.min() < 2e-3, k
            assert (dense[steps < part[k]] > -1e-3).all(), k  # and what was said to be free is
    assert 20 < sum(verdicts) < 100  # both happen


def test_a_thing_between_two_samples_is_met():
    """The arm swings about its first joint, and a point lies on the tip's way, halfway between two first samples."""
    stretched = np.array([0.0, 1.2, 0.0, -0.3, 0.0, 1.5, 0.0])
    met = 0
    for far in np.linspace(0.4, 2.0, 40):
        end = stretched + np.eye(7)[0] * far
        pieces = int(np.ceil(CHECKER.moved((end - stretched)[None])[0] / COARSE))
        parts = np.linspace(0.0, 1.0, pieces + 1)
        halfway = stretched + (end - stretched) * 0.5 * (parts[pieces // 2] + parts[pieces // 2 + 1])
        capsule = PANDA_BODY.capsules(halfway)[-1]
        out = capsule.b / np.linalg.norm(capsule.b[:2]) * [1, 1, 0]
        against = CHECKER.against(World([Sphere(capsule.b + 0.9 * capsule.radius * out, 0.0)]))
        sampled = against.slack(stretched + (end - stretched) * parts[:, None]).min()
        met += sampled > 0.0  # the samples alone do not see it
        assert not against.edges_free(stretched[None], end[None])[0], far
    assert met > 10


@pytest.mark.parametrize("joint", range(7))
def test_the_bound_on_motion_is_near(joint):
    Q = drawn(4000, 9)
    P = Q.copy()
    P[:, joint] += 1e-4
    before, after = (PANDA_BODY.kernel.general(x, np.zeros_like(x)) for x in (Q, P))
    ends = np.concatenate([after[:, :, :3] - before[:, :, :3], after[:, :, 3:6] - before[:, :, 3:6]], axis=1)
    moved = np.linalg.norm(ends, axis=2).max() / 1e-4
    assert moved <= CHECKER.reach[joint]
    assert moved > 0.4 * CHECKER.reach[joint] - 0.1  # the radius of capsules, and lengths that never lie in one line


@given(robots(), st.integers(0, 2**32 - 1))
@examples(30)
def test_no_point_moves_farther_than_said(model, seed):
    rng = np.random.default_rng(seed)
    low, high = model.sampling_range()
    bounded = dataclasses.replace(model, lower=low, upper=high)  # the rod of a slide is as long as its travel
    capsules = skeleton(bounded, 0.05)
    assume(capsules)  # all joints in one point: no body
    arm = Arm(bounded)
    body = Body(arm, capsules=capsules)
    checker = Checker(body)
    q, p = rng.uniform(low, high, (2, 16, arm.n))
    p = q + (p - q) * rng.uniform(0, 0.2)
    before, after = (body.kernel.general(x, np.zeros_like(x))[:, :, :6].reshape(16, -1, 3) for x in (q, p))
    moved = np.linalg.norm(after - before, axis=2).max(axis=1)
    assert moved.max() > 0.0 or not checker.moving
    assert (moved <= checker.moved(p - q) + 1e-9).all()


def test_a_slide_moves_as_far_as_the_limits_of_the_checker_let_it():
    """A panda whose second joint slides out from the axis of the first."""
    body = Body(Arm(dataclasses.replace(PANDA.model, kinds="RPRRRRR")))
    lower, upper = PANDA.model.lower.copy(), PANDA.model.upper.copy()
    lower[1], upper[1] = -9.0, 9.0
    checker = Checker(body, lower=lower, upper=upper)
    q = np.zeros((1, 7))
    q[0, 1] = 9.0
    p = q + 0.01 * np.eye(7)[:1]
    before, after = (body.kernel.general(x, np.zeros_like(x))[:, :, :3] for x in (q, p))
    moved = np.linalg.norm(after - before, axis=2).max()
    assert 0.08 < moved <= checker.moved(p - q)[0]
    upper[1] = np.inf
    with pytest.raises(ConfigError, match=r"slide .*: planning needs its limits, m"):
        Checker(body, lower=lower, upper=upper)


def test_what_does_not_fit_is_named():
    with pytest.raises(ShapeError, match=r"q must have shape \(7,\) or \(B, 7\); got \(4, 6\)"):
        CHECKER.clearance(np.zeros((4, 6)), World())
    with pytest.raises(TypeError, match="World: expected Capsule, Sphere, Box or HalfSpace; got str"):
        World(["table"])
    with pytest.raises(ShapeError, match=r"rows must have shape \(k, 13\); got \(7,\)"):
        World.of_rows(np.zeros(7))
    with pytest.raises(ValueError, match="rows must be numbers; got NaN"):
        World.of_rows(np.full((1, 13), np.nan))  # else it would stand nowhere
    with pytest.raises(ValueError, match="q must be finite"):
        CHECKER.against(World()).slack(np.full((3, 7), np.nan))


@needs_cxx
def test_a_card_says_the_same(monkeypatch):
    monkeypatch.setattr(cuda, "library", lambda: card.cupy)
    monkeypatch.setattr(on_card, "library", lambda: SimpleNamespace(asarray=to_card))
    world = World([*SHAPES, Box((0.4, -0.3, 0.4), (0.1, 0.1, 0.02))])
    Q = drawn(50, 7)
    found = np.asarray(OnCard(CHECKER, world, 0.01).slack(to_card(Q.T.astype(np.float32).copy())))
    # the same steps in float32, fused alike; the compiler of the card's text may divide and take roots otherwise
    np.testing.assert_allclose(found, CHECKER.against(world, 0.01).slack(Q), rtol=0, atol=2e-5)


def test_what_was_prepared_is_not_compiled_when_it_is_needed():
    checker = Checker(PANDA_BODY)
    checker.prepare(10)
    made = set(checker._kernels)
    for count in range(1, 13):
        world = World([Sphere((0.1 * k, 1.0, 1.0), 0.1) for k in range(count)])
        checker.against(world).slacks(drawn(3))
        checker.clearance(drawn(3), world)
    assert set(checker._kernels) == made
