"""GDA's inertia matrix step by step, and the orders that the thesis' tables give."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from elbowroom import counting, dynamics
from elbowroom.algebra import Expr
from elbowroom.counting import markdown
from elbowroom.counting.steps import GDA_INERTIA, in_all
from elbowroom.dynamics import gda
from elbowroom.dynamics.kinematics import Frames
from elbowroom.dynamics.published import published
from elbowroom.model.symbolic import symbolic

PAPER, THESIS = published("mass_matrix", "gda")


def step(start):
    return next(each for each in GDA_INERTIA if each.name.startswith(start))


def test_the_steps_add_up_to_what_is_printed():
    for which, figure in (("paper", PAPER), ("thesis", THESIS)):
        assert (in_all(which).mul, in_all(which).add) == (figure.mul, figure.add), figure.where


def test_the_steps_add_up_to_what_is_traced():
    """Every coefficient of both polynomials."""
    one = counting.cost("mass_matrix", "gda", kinematics=False)
    assert one.since == 3
    assert (in_all("ours").mul, in_all("ours").add) == (one.polynomials["mul"], one.polynomials["add"])


@pytest.mark.parametrize("n", [3, 5, 8])
def test_each_of_our_steps_is_what_the_code_does(n, monkeypatch):
    """Products by kind: 9 and 9 a point, 28 and 21 a tensor, 6 and 3 a cross product, 3 and 2 an inner product."""
    calls: Counter[str] = Counter()

    def counted(name, function, *, at=0):
        def wrapped(*arguments):
            """Folded products (of zeros, of parameters alone) are none."""
            found = function(*arguments)
            vectors = arguments[at:]
            calls[name] += all(any(type(x) is Expr for x in vector.ravel()) for vector in vectors)
            return found

        return wrapped

    monkeypatch.setattr(gda, "cross", counted("cross", gda.cross, at=0))
    monkeypatch.setattr(gda, "dot", counted("dot", gda.dot))
    rotate, point = gda.rotate_principal, Frames.point

    def turned(R, form):
        calls["tensor"] += 1
        return rotate(R, form)

    def placed(frames, i, local):
        calls["point"] += 1
        return point(frames, i, local)

    monkeypatch.setattr(gda, "rotate_principal", turned)
    monkeypatch.setattr(Frames, "point", placed)
    dynamics.program(symbolic("R" * n, frames=True), "mass_matrix", "gda")

    pairs, inner = n * (n + 1) // 2, n * (n - 1) // 2
    assert calls["point"] * 9 == step("centre of mass of a link").ours.mul(n)
    assert calls["tensor"] * 28 == step("tensor").ours.mul(n)
    assert calls["tensor"] * 21 == step("tensor").ours.add(n)
    accelerations, carried, first = pairs - 1, inner - 1, 1
    assert calls["cross"] == accelerations + carried + first
    assert calls["dot"] == pairs + pairs + inner
    assert step("part along").ours.mul(n) == 3 * inner
    assert step("moment by the tensor").ours.mul(n) == 3 * pairs + 9 * n  # and a matrix by an axis for each joint
    assert step("acceleration").ours.mul(n) == 6 * accelerations + 6 * (n - 2)  # and the common centre
    levers = 6 * (n - 1) + 3 * (n - 2) + 3 * first  # of each joint, of each step inwards, of the first joint
    assert step("moment of the force").ours.mul(n) == 3 * pairs + 6 * (carried + first) + levers


def test_ours_is_below_both_figures_at_every_number_of_joints():
    for n in range(1, 101):
        count = counting.cost("mass_matrix", "gda", kinematics=False).at(n)
        for figure in (PAPER, THESIS):
            assert count.mul < figure.mul(n), (n, figure.where)
            assert count.add < figure.add(n), (n, figure.where)


def test_the_docs_have_the_steps():
    page = (Path(__file__).parent.parent / "docs/counting.md").read_text(encoding="utf-8")
    assert "\n".join(markdown.steps()) in page, "run: python -m elbowroom.counting.markdown docs/counting.md"


def test_differencing_is_quadratic():
    """The thesis says O(n³)."""
    assert counting.cost("mass_matrix_rate", "difference").total.degree == 2
    assert counting.cost("coriolis_matrix", "rnea_columns").total.degree == 3
