"""Operation counts of the general algorithms, with symbols for parameters, and of customised arms."""

from __future__ import annotations

import numpy as np
import pytest

import elbowroom as er
from elbowroom import dynamics
from elbowroom.algebra import trace
from elbowroom.model.symbolic import symbolic
from referees import error, physical_tensor


def general(name, method, n, condition="general", kinds="R", share=True):
    quantity = dynamics.quantity(name)
    model = symbolic(kinds * n, condition, share=share)
    inputs = dict.fromkeys(quantity.inputs, (n,))
    return trace(quantity.formulation(method), model, inputs, name=name)


CASES = [
    (name, method)
    for name, q in dynamics.REGISTRY.items()
    if not q.located and name != "friction_torque"
    for method in (*q.formulations, *q.variants)
]


@pytest.mark.parametrize("name, method", CASES)
def test_every_formulation_traces_with_symbols_and_counts_the_same_each_time(name, method):
    for condition in ("general", "orthogonal"):
        first, second = (general(name, method, 3, condition) for _ in range(2))
        assert first.count == second.count
        assert first.digest == second.digest
        assert first.count.total > 0


@pytest.mark.parametrize("name, method", CASES)
def test_the_orthogonal_case_costs_less(name, method):
    assert general(name, method, 4, "orthogonal").count.total < general(name, method, 4).count.total


ORDER = {
    ("mass_matrix", "crba"): 2,
    ("mass_matrix", "gda"): 2,
    ("mass_matrix", "gdahj"): 2,
    ("coriolis_matrix", "christoffel"): 2,
    ("coriolis_matrix", "gda"): 2,
    ("mass_matrix_rate", "christoffel"): 2,
    ("mass_matrix_rate", "gda"): 2,
    ("inverse_dynamics", "rnea"): 1,
    ("coriolis_torque", "rnea"): 1,
    ("gravity_torque", "rnea"): 1,
    ("coriolis_transpose_qd", "christoffel"): 1,
    ("forward_dynamics", "aba"): 1,
    ("kinetic_energy", "rnea"): 1,
    ("potential_energy", "kinematics"): 1,
    ("christoffel", "christoffel"): 3,
}


@pytest.mark.parametrize("name, method", ORDER)
def test_counts_are_polynomials_of_the_order_the_papers_say(name, method):
    """The (order + 1)-th differences vanish from n = 4 on (the first joints meet the standing base and cost less)."""
    counts = [general(name, method, n).count for n in range(4, 9)]
    for kind in ("mul", "add"):
        differences = np.diff([getattr(c, kind) for c in counts], ORDER[name, method] + 1)
        assert not differences.any(), (kind, [getattr(c, kind) for c in counts])
    leading = np.diff([c.total for c in counts], ORDER[name, method])
    assert (leading > 0).all(), "and no lower order would do"


def test_the_general_composite_body_costs_no_more_than_published():
    """CRBA on modified DH, Kozlowski's polynomial 10 n^2 + 22 n - 32 multiplications, 6 n^2 + 37 n - 43 additions."""
    for n in (3, 6, 7, 10):
        count = general("mass_matrix", "crba", n).count
        assert count.mul <= 10 * n**2 + 22 * n - 32
        assert count.add <= 6 * n**2 + 37 * n - 43


def test_customising_pays():
    """The Panda's own constants against symbols: zeros and right angles fall out."""
    panda = er.load("panda").model
    for method in ("crba", "gda", "gdahj"):
        customised = dynamics.program(panda, "mass_matrix", method).count.total
        assert customised < general("mass_matrix", method, 7).count.total


def test_the_general_program_with_an_arms_numbers_is_that_arm():
    """Parameters filled with a robot's table give that robot's M, slides included."""
    rng = np.random.default_rng(2)
    a, alpha, d, mass = rng.uniform(-1, 1, 3), rng.uniform(-3, 3, 3), rng.uniform(-1, 1, 3), rng.uniform(1, 5, 3)
    com, inertia = rng.uniform(-0.3, 0.3, (3, 3)), np.array([physical_tensor(rng, m) for m in mass])
    arm = er.model.from_mdh(a=a, alpha=alpha, d=d, mass=mass, com=com, inertia=inertia, kinds="RPR")
    numbers = {}
    for i in range(3):
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia[i]
        row = {"a": a[i], "calpha": np.cos(alpha[i]), "salpha": np.sin(alpha[i]), "d": d[i], "m": mass[i]}
        row |= {"cx_": com[i, 0], "cy_": com[i, 1], "cz_": com[i, 2]}
        row |= {"Ixx_": xx, "Iyy_": yy, "Izz_": zz, "Ixy_": xy, "Iyz_": yz, "Ixz_": xz}
        numbers |= {f"{key}{i + 1}": value for key, value in row.items()}
    program = trace(dynamics.crba.mass_matrix, symbolic("RPR"), {"q": (3,)})
    q = rng.uniform(-2, 2, (10, 3))
    M = program.evaluate(q, g=9.81, **numbers)
    theirs = np.array([dynamics.crba.mass_matrix(arm, x) for x in q])
    assert error(M, theirs) < 1e-13  # rounding of some hundred operations


def test_unknown_condition():
    with pytest.raises(er.UnknownNameError, match="general, orthogonal; got 'planar'"):
        er.load("planar2").model.symbolic("planar")
