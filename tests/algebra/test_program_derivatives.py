"""Derivatives of Programs: closed forms, conventions at kinks, products with vectors, structural zeros, any expression.

Complex steps are the referee where every operation is analytic: Program.evaluate computes with complex numbers, and
Im f(x + i h) / h has no cancellation, so it is exact to rounding for a tiny h.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elbowroom.algebra import (
    absolute,
    cos,
    exp,
    log,
    maximum,
    minimum,
    normal,
    sign,
    sin,
    sqrt,
    trace,
    uniform,
    where,
)
from elbowroom.algebra.derivatives import differentiated
from elbowroom.algebra.linalg import vector
from elbowroom.compile import compiled
from elbowroom.errors import TraceError, UnknownNameError
from strategies import examples


def of_one(f):
    """The Program of a scalar function of a scalar."""
    return trace(lambda _, x: f(x), None, {"x": ()}, output="y")


def slope(f, at):
    """f' by `jacobian`, of a vector-Jacobian product and of a Jacobian-vector product, which must agree."""
    program = of_one(f)
    products = (program.vjp(), program.jvp())
    values = [float(program.jacobian("x").evaluate(at)), *(float(p.evaluate(at, 1.0)) for p in products)]
    assert values[1:] == pytest.approx(values[:1] * 2, rel=1e-13)
    return values[0]


SMOOTH = {
    "sum": (lambda x: 3.0 * x - x + 2.0, lambda x: 2.0),
    "negation": (lambda x: -(x * x), lambda x: -2 * x),
    "quotient": (lambda x: 1.0 / (x + 4.0) + x / 7.0, lambda x: -1 / (x + 4) ** 2 + 1 / 7),
    "x over x": (lambda x: (x + 1.0) / (x + 4.0), lambda x: 3 / (x + 4) ** 2),
    "sine": (lambda x: sin(2.0 * x), lambda x: 2 * math.cos(2 * x)),
    "cosine": (lambda x: cos(x) * x, lambda x: math.cos(x) - x * math.sin(x)),
    "root": (lambda x: sqrt(x + 4.0), lambda x: 0.5 / math.sqrt(x + 4)),
    "logarithm": (lambda x: log(x + 4.0), lambda x: 1 / (x + 4)),
    "exponential": (exp, math.exp),
    "power": (lambda x: x**3, lambda x: 3 * x * x),
    "absolute": (absolute, lambda x: math.copysign(1, x)),
    "branch": (lambda x: where(x < 0.0, x * x, 5.0 * x), lambda x: 2 * x if x < 0 else 5.0),
    "least": (lambda x: minimum(x, 0.2 * x), lambda x: 1.0 if x < 0 else 0.2),
    "greatest": (lambda x: maximum(x, 0.2 * x), lambda x: 0.2 if x < 0 else 1.0),
    "sign": (lambda x: sign(x) * x, lambda x: math.copysign(1, x)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_closed_forms(name):
    f, expected = SMOOTH[name]
    for x in (-1.3, -0.4, 0.7, 2.9):
        assert slope(f, x) == pytest.approx(expected(x), rel=1e-14), name


KINKS = {
    "absolute at 0": (absolute, 0.0, 0.0),
    "root at 0": (sqrt, 0.0, 0.0),
    "norm at 0": (lambda x: sqrt(x * x), 0.0, 0.0),
    "sign at 0": (sign, 0.0, 0.0),
    "exponential at 0": (exp, 0.0, 1.0),
    "equal operands": (lambda x: minimum(x, 3.0 * x), 0.0, 2.0),
    "equal operands, greatest": (lambda x: maximum(x, 3.0 * x), 0.0, 2.0),
    "branch at its edge": (lambda x: where(x < 0.0, x, 2.0 * x), 0.0, 2.0),
    "branch that includes its edge": (lambda x: where(x <= 0.0, x, 2.0 * x), 0.0, 1.0),
    "uniform": (lambda x: uniform(1.0, x, 0.0, 0.0), 3.0, 0.0),
    "normal": (lambda x: x + normal(1.0, x, 0.0, 0.0), 3.0, 1.0),
}


@pytest.mark.parametrize("name", KINKS)
def test_conventions_at_kinks(name):
    f, at, expected = KINKS[name]
    assert slope(f, at) == expected


def test_a_branch_that_is_not_taken_does_not_spoil_the_jacobian():
    """x / x at 0 is infinite in the branch that is not taken; forwards that is never looked at."""
    program = of_one(lambda x: where(x > 0.0, sin(x) / x, 1.0))
    assert program.jacobian("x").evaluate(0.0) == 0.0
    x = 1e-3
    assert program.jacobian("x").evaluate(x) == pytest.approx((x * math.cos(x) - math.sin(x)) / x**2, rel=1e-9)


def _several(_, q, qd):
    a = sin(q[0]) * qd[1] + q[1] * q[1]
    return {"a": vector(a, qd[0] * 3.0, 7.0), "b": q[0] * q[1] * qd[0]}


PAIR = {"q": (2,), "qd": (2,)}


def test_names_shapes_and_the_order_of_axes():
    program = trace(_several, None, PAIR)
    found = program.jacobian("qd", "q")
    assert [(p.name, p.shape) for p in found.outputs] == [
        ("a_dqd", (3, 2)),
        ("a_dq", (3, 2)),
        ("b_dqd", (2,)),
        ("b_dq", (2,)),
    ]
    assert found.inputs == program.inputs
    q, qd = np.array([0.3, 0.5]), np.array([2.0, -1.0])
    values = found.evaluate(q, qd)
    assert np.allclose(values["a_dq"], [[-math.cos(0.3), 1.0], [0, 0], [0, 0]], rtol=1e-15)
    assert np.allclose(values["a_dqd"], [[0, math.sin(0.3)], [3, 0], [0, 0]], rtol=1e-15)
    assert np.allclose(values["b_dq"], [1.0, 0.6], rtol=1e-15)


def test_values_come_along():
    program = trace(_several, None, PAIR)
    found = program.jacobian("q", value=True)
    assert [p.name for p in found.outputs] == ["a", "a_dq", "b", "b_dq"]
    q = np.array([0.3, 0.5]), np.array([2.0, -1.0])
    assert np.array_equal(found.evaluate(*q)["a"], program.evaluate(*q)["a"])


def test_products_with_vectors_are_the_jacobian_times_vectors():
    program = trace(_several, None, PAIR)
    rng = np.random.default_rng(0)
    q, qd, v, w, a, b = *rng.normal(size=(4, 2)), rng.normal(size=3), rng.normal()
    J = program.jacobian().evaluate(q, qd)
    forward = program.jvp("q", "qd").evaluate(q, qd, v, w)
    assert [p.name for p in program.jvp("q").inputs] == ["q", "qd", "q_dot"]
    assert np.allclose(forward["a_dot"], J["a_dq"] @ v + J["a_dqd"] @ w, rtol=1e-14)
    assert np.allclose(forward["b_dot"], J["b_dq"] @ v + J["b_dqd"] @ w, rtol=1e-14)
    reverse = program.vjp().evaluate(q, qd, a, b)
    assert [p.name for p in program.vjp("q").outputs] == ["q_bar"]
    assert np.allclose(reverse["q_bar"], a @ J["a_dq"] + b * J["b_dq"], rtol=1e-14)
    assert np.allclose(reverse["qd_bar"], a @ J["a_dqd"] + b * J["b_dqd"], rtol=1e-14)


def test_second_derivatives_and_products_of_a_hessian_with_a_vector():
    program = trace(lambda _, x: sin(x[0]) * x[1] * x[1] + x[0] / x[1], None, {"x": (2,)}, output="y")
    a, b = 0.7, 1.9
    hessian = np.array(
        [
            [-math.sin(a) * b * b, 2 * b * math.cos(a) - 1 / b**2],
            [2 * b * math.cos(a) - 1 / b**2, 2 * math.sin(a) + 2 * a / b**3],
        ]
    )
    twice = program.jacobian("x").jacobian("x")
    assert twice.outputs[0].name == "y_dx_dx"
    assert np.allclose(twice.evaluate([a, b]), hessian, rtol=1e-14)
    product = program.vjp().jvp("x")
    assert [p.name for p in product.inputs] == ["x", "y_bar", "x_dot"]
    v = np.array([0.2, -1.1])
    assert np.allclose(product.evaluate([a, b], 1.0, v), hessian @ v, rtol=1e-14)
    assert [p.name for p in program.jvp().jvp().inputs] == ["x", "x_dot", "x_dot2", "x_dot_dot"]


def test_structural_zeros():
    program = trace(_several, None, PAIR)
    zeros = program.sparsity
    assert list(zeros) == [("a", "q"), ("a", "qd"), ("b", "q"), ("b", "qd")]
    assert zeros["a", "q"].tolist() == [[True, True], [False, False], [False, False]]
    assert zeros["a", "qd"].tolist() == [[False, True], [True, False], [False, False]]
    assert zeros["b", "qd"].tolist() == [True, False]
    branch = of_one(lambda x: where(x < 1.0, 2.0, 3.0))
    assert not branch.sparsity["y", "x"]


def test_an_unknown_input_is_refused_with_the_nearest():
    program = trace(_several, None, PAIR)
    with pytest.raises(UnknownNameError, match=r"has no input 'qdd'; did you mean qd or q\?; expected one of q, qd"):
        program.jacobian("qdd")
    with pytest.raises(UnknownNameError, match="named twice"):
        program.vjp("q", "q")


def test_an_expression_is_no_variable():
    """Folding may take a negation apart, so what was computed cannot be told from what it was computed of."""

    def of_expression(_, x):
        return differentiated(sin(-x), [-x])[0]

    with pytest.raises(TraceError, match="by inputs of a trace"):
        trace(of_expression, None, {"x": (2,)})
    found = trace(lambda _, x: differentiated(sin(-x), [x])[0], None, {"x": (2,)})
    assert np.allclose(found.evaluate([0.3, 2.0]), np.diag([-math.cos(0.3), -math.cos(2.0)]))


def test_the_cheaper_mode_is_taken():
    """One output of twenty inputs costs about as much as the function in reverse, twenty times as much forwards."""
    narrow = trace(lambda _, x: sin(sum(x[i] * x[i] for i in range(20))), None, {"x": (20,)})
    assert narrow.jacobian().count.total < 3 * narrow.count.total
    wide = trace(lambda _, x: vector(*(sin(x * float(k)) * x for k in range(1, 21))), None, {"x": ()})
    assert wide.jacobian().count.total < 5 * wide.count.total


def test_compiled_derivatives_in_batches():
    kernel = compiled(trace(_several, None, PAIR).vjp().jvp("q"))
    rng = np.random.default_rng(1)
    batch = [rng.normal(size=(9, *p.shape)) for p in kernel.signature.inputs]
    many = kernel(*batch)
    slow = kernel.program.evaluate(*batch)
    for name, values in slow.items():
        assert np.allclose(getattr(many, name), values, rtol=1e-13)


# ---- any expression, against a complex step
LEAVES = st.integers(0, 2) | st.floats(-2, 2)


def _trees(children):
    unary = st.tuples(st.sampled_from(["sin", "cos", "square", "over", "neg", "exp"]), children)
    binary = st.tuples(st.sampled_from(["add", "sub", "mul"]), children, children)
    return unary | binary


def _built(tree, x):
    if isinstance(tree, int):
        return x[tree]
    if isinstance(tree, float):
        return tree
    name, *parts = tree
    a, *rest = [_built(part, x) for part in parts]
    return {
        "sin": lambda: sin(a),
        "cos": lambda: cos(a),
        "square": lambda: a * a,
        "over": lambda: 1.0 / (a * a + 2.0),
        "neg": lambda: -a,
        "exp": lambda: a + 0.3 * cos(a) * a,
        "add": lambda: a + rest[0],
        "sub": lambda: a - rest[0],
        "mul": lambda: a * rest[0],
    }[name]()


@given(
    st.recursive(LEAVES, _trees, max_leaves=25),
    st.recursive(LEAVES, _trees, max_leaves=25),
    st.lists(st.floats(-2, 2), min_size=3, max_size=3),
)
@examples(60)
def test_any_expression_against_a_complex_step(first, second, at):
    program = trace(lambda _, x: vector(_built(first, x), _built(second, x)), None, {"x": (3,)})
    J = program.jacobian("x").evaluate(at)
    h = 1e-40
    steps = program.evaluate(np.array(at) + 1j * h * np.eye(3), dtype=complex)
    expected = (steps.imag / h).T
    scale = 1.0 + np.abs(expected).max() + np.abs(program.evaluate(at)).max()
    # a square of a square of ... has terms far greater than their sum; 1e-11 of the largest entry leaves room for it
    if scale < 1e8:
        assert np.abs(J - expected).max() <= 1e-9 * scale
        assert not (np.abs(expected) > 1e-9 * scale)[~program.sparsity["out", "x"]].any()
        weights = np.array([0.3, -1.7])
        assert np.abs(program.vjp().evaluate(at, weights) - weights @ J).max() <= 1e-9 * scale
        assert np.abs(program.jvp().evaluate(at, np.ones(3)) - J.sum(axis=1)).max() <= 1e-9 * scale
