"""Base parameters: the same dynamics from fewer numbers, counted by the rank of a regressor that nobody here wrote."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given

import elbowroom as er
from elbowroom import dynamics
from elbowroom.algebra import trace
from elbowroom.algebra.rearrange import rearranged
from elbowroom.dynamics.quantities import BODIES, SECOND
from elbowroom.model import create
from elbowroom.model.base_parameters import regrouped
from referees import Pinocchio, error, frictionless, joined, physical_chain, physical_tensor, rotation, states, subject
from strategies import examples, robots

ROUNDING = 1e-12
"""Some thousand operations of 1e-16 each; M^-1 and forward dynamics lose cond(M) more."""

REGROUPED = [
    (name, method)
    for name, q in dynamics.REGISTRY.items()
    for method, way in (q.formulations | q.variants).items()
    if way.links != BODIES
]
KEPT = {"R": (1, 2, 4, 5, 7, 8, 9), "P": (0, 1, 2, 3)}  # of Pinocchio's m, hx, hy, hz, xx, xy, yy, xz, yz, zz


def general_chain(n: int, kinds: str = ""):
    """Turning joints (or `kinds`) in general position, gravity along no axis."""
    rng = np.random.default_rng(n)
    mass = rng.uniform(0.5, 5, n)
    tensors = np.array([physical_tensor(rng, m) for m in mass])
    E = np.array([rotation(rng) for _ in range(n)])
    return create(kinds or "R" * n, E, rng.uniform(-0.5, 0.5, (n, 3)), mass, rng.uniform(-0.3, 0.3, (n, 3)), tensors)


def numbers(model):
    """All links' ten numbers in a row, in Pinocchio's order."""
    return np.concatenate(
        [[m, *h, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]] for m, h, I, _ in model.moments]  # noqa: E741
    )


def regressor(model, count=40):
    """tau = Y numbers for a stack of states, by Pinocchio."""
    engine, s = Pinocchio(model), states(model, count)
    each = zip(s.q, s.qd, s.qdd, strict=True)
    return np.vstack([pin.computeJointTorqueRegressor(engine.model, engine.data, *x).copy() for x in each])


def plain(model, name, method):
    """The program of a formulation on the arm as it is given, rigid body alone."""
    q = dynamics.quantity(name)
    return trace(q.formulation(method), model, dict.fromkeys(q.inputs, (model.n,)), name=name)


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("robot", ["panda", "puma560", "stanford", "scara", "physical4", "physical7"])
def test_pinocchios_regressor_cannot_tell_them_from_the_links(robot, spread):
    model = subject(robot)
    base = regrouped(model, spread=spread)
    Y, ours, theirs = regressor(model), numbers(base), numbers(model)
    assert np.abs(Y @ (ours - theirs)).max() < 1e-14 * np.abs(Y).max() * np.abs(theirs).sum()  # rounding of the sums
    for kind, (mass, h, inertia, S), ten in zip(model.kinds, base.moments, ours.reshape(-1, 10), strict=True):
        assert np.allclose(S, np.trace(inertia) / 2 * np.eye(3) - inertia, rtol=0, atol=1e-15 * np.abs(inertia).max())
        if kind == "R" and spread and inertia[1, 1] != 0:
            assert S[2, 2] == mass == h[2] == 0
        else:
            assert not np.delete(ten, KEPT[kind]).any()


@pytest.mark.parametrize(
    "robot, count",
    [("general6", 38), ("general3", 17), ("puma560", 36), ("panda", 43), ("stanford", 33), ("RRPRP", 25)],
)
def test_as_many_as_the_literature_says_and_not_one_to_spare(robot, count):
    """7 n - 4 in general position (Gautier and Khalil), 7 n - 6 with a vertical first axis, 3 less for each slide.

    The rank of the regressor is how many combinations of the links' numbers any motion can show.  The columns of those
    kept that are not zero have that same rank and no more: nothing is lost and nothing is there twice.
    """
    if robot.startswith("general"):
        model = general_chain(int(robot[-1]))
    else:
        model = general_chain(len(robot), robot) if set(robot) <= {"R", "P"} else er.load(robot).model
    Y = regressor(model)
    kept = Y[:, [10 * i + k for i, kind in enumerate(model.kinds) for k in KEPT[kind]]]
    felt = kept[:, np.abs(kept).max(axis=0) > 1e-9 * np.abs(Y).max()]  # rounding is 1e-16, the least column 1e-2
    for columns in (Y, felt):
        assert np.linalg.matrix_rank(columns, tol=1e-9 * np.linalg.norm(columns, 2)) == count
    assert felt.shape[1] == count


@pytest.mark.parametrize("robot", ["panda", "stanford", "physical4"])
@pytest.mark.parametrize("name, method", REGROUPED)
def test_every_quantity_of_every_such_method_is_the_arms(robot, name, method):
    model = subject(robot)
    if name in ("christoffel", "centrifugal_matrix") or method == "rnea_columns":
        model = subject("physical3")  # the dear ones on a short chain
    q, s = dynamics.quantity(name), states(model, 10)
    args = [getattr(s, x) for x in q.inputs]
    theirs = joined(plain(model, name, method).evaluate(*args))
    size = np.abs(dynamics.whole("mass_matrix", "gda")(model, s.q[0])).max()
    bound = 1e-9 if method == "difference" else ROUNDING  # a difference quotient divides rounding by 1e-5
    for spread in (False, True):
        ours = joined(plain(regrouped(model, spread=spread), name, method).evaluate(*args))
        assert error(ours, theirs, floor=size) < bound


@given(robot=robots(max_joints=4))
@examples(25)
def test_drawn_robots_move_as_they_did(robot):
    """Slides, right angles, zero offsets, rotors, friction, wrenches on links and at the tool."""
    s = states(robot, 1)
    q, qd, qdd, tau, at_tool, at_links = (x[0] for x in s)
    condition = np.linalg.cond(dynamics.crba.mass_matrix(robot, q))
    scale = np.abs(dynamics.gda.inverse_dynamics(robot, q, qd, qdd, at_links)).max() + 1
    for wrench in (None, at_tool, at_links):
        ours = dynamics.whole("inverse_dynamics", "rnea")(robot, q, qd, qdd, wrench)
        theirs = dynamics.whole("inverse_dynamics", "gda")(robot, q, qd, qdd, wrench)
        assert np.abs(ours - theirs).max() < ROUNDING * scale
        for method in ("aba", "brandl", "crba"):
            f = dynamics.quantity("forward_dynamics").formulation(method)
            rotors = {"joint_inertia": robot.rotor_inertia}
            base = regrouped(robot, spread=method == "brandl")
            ours, theirs = (f(model, q, qd, tau, wrench, **rotors) for model in (base, robot))
            assert np.abs(ours - theirs).max() < ROUNDING * condition * (np.abs(theirs).max() + 1)
    energy = [dynamics.whole("kinetic_energy", method)(robot, q, qd) for method in ("crba", "rnea")]
    assert energy[0] == pytest.approx(energy[1], rel=1e-11, abs=1e-12)  # the one by moments, the other by bodies


@pytest.mark.parametrize("name, method", [("inverse_dynamics", "rnea"), ("forward_dynamics", "brandl")])
def test_single_precision_loses_no_more_than_before(name, method):
    """Over chains whose links weigh from a gram to 100 kg, half of them folded onto themselves.

    The truth is the arm as given, in extended precision.  Errors scatter by a factor of ten from arm to arm, so it is
    the medians that are compared: twice would be one bit.
    """
    errors = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        model = physical_chain(5, seed)
        weight = 10 ** rng.uniform(-3, 2, 5) / model.mass
        changed = {"mass": model.mass * weight, "inertia": model.inertia * weight[:, None, None]}
        if seed % 2:  # equal and opposite offsets bring heavy links back over the axes before them
            changed["p"] = np.array([np.array([0.4, 0, 0]) * (-1) ** i for i in range(5)])
        model = er.model.Model(**{f: getattr(model, f) for f in model.__dataclass_fields__} | changed)
        s = states(model, 10)
        args = [getattr(s, x).astype(np.float32) for x in dynamics.quantity(name).inputs]
        given, base = plain(model, name, method), plain(regrouped(model, spread=True), name, method)
        truth = given.evaluate(*args, dtype=np.longdouble)
        errors.append([error(p.evaluate(*args, dtype=np.float32), truth) for p in (given, base)])
    before, after = np.median(errors, axis=0)
    assert after < 2 * before


@pytest.mark.parametrize("robot", ["panda", "ur5e", "puma560", "iiwa14", "stanford"])
def test_operations_become_fewer(robot):
    model = frictionless(er.load(robot).model)
    for name, method in [
        ("mass_matrix", "crba"),
        ("inverse_dynamics", "rnea"),
        ("gravity_torque", "rnea"),
        ("coriolis_matrix", "christoffel"),
        ("forward_dynamics", "brandl"),
    ]:
        second = dynamics.quantity(name).formulation(method).links == SECOND
        traced = plain(regrouped(model, spread=second), name, method)
        assert traced.count.total < plain(model, name, method).count.total, name
        if name in ("gravity_torque", "coriolis_matrix"):  # no drives in these: what is compiled is made of it
            assert dynamics.program(model, name, method).operations == rearranged(traced).operations


def test_a_method_that_needs_bodies_cannot_read_them_from_base_parameters():
    model = regrouped(er.load("ur5e").model)
    with pytest.raises(er.TraceError, match="NaN"):
        trace(dynamics.gda.mass_matrix, model, {"q": (6,)})
    assert np.isnan(dynamics.energy.kinetic_energy(model, np.ones(6), np.ones(6)))


def test_symbols_stay_as_the_papers_have_them():
    """A general chain's masses are in its program: nothing was moved."""
    traced = dynamics.program(er.load("puma560").model.symbolic(), "inverse_dynamics", "rnea")
    read = {rest[0][0] for op, *rest in traced.operations if op == "parameter"}
    assert {f"m{i}" for i in range(2, 7)} <= read
