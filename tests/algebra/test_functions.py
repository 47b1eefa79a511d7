"""sin, cos, sqrt, absolute, exp, power, minimum, maximum, where, sign: numbers, arrays, Expr, mixed arrays; linalg."""

from __future__ import annotations

import numpy as np
import pytest

import elbowroom as er
from elbowroom.algebra import Expr, absolute, cos, cross, dot, linalg, maximum, minimum, sign, sin, sqrt, where
from elbowroom.algebra.functions import exp, power
from elbowroom.compile import compiled

UNARY = {"sin": (sin, np.sin), "cos": (cos, np.cos), "sqrt": (sqrt, np.sqrt), "absolute": (absolute, np.abs)}
BINARY = {"minimum": (minimum, np.minimum), "maximum": (maximum, np.maximum)}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    ours, numpys = UNARY[name]
    array = np.array([0.3, 0.0, 2.5])
    assert ours(0.3) == numpys(0.3)
    assert np.array_equal(ours(array), numpys(array))
    assert ours(array).dtype == float
    program = er.trace(lambda _, x: ours(x), None, {"x": (3,)})
    assert np.array_equal(program.evaluate(array), numpys(array))
    scalar = er.trace(lambda _, x: ours(x), None, {"x": ()})
    assert np.array_equal(scalar.evaluate(array), numpys(array)), "a scalar input over a batch"


@pytest.mark.parametrize("ours, numpys", [(absolute, np.abs), (sign, np.sign)])
def test_absolute_value_and_sign(ours, numpys):
    program = er.trace(lambda _, x: ours(x), None, {"x": ()})
    values = np.array([-2.0, -0.0, 0.0, 3.0])
    assert np.array_equal(ours(values), numpys(values))
    for x in values:
        assert ours(float(x)) == numpys(x) == program.evaluate(x)


@pytest.mark.parametrize("name", UNARY)
def test_unary_on_a_mixed_array(name):
    ours, numpys = UNARY[name]

    def mixed(_, x):
        return ours(np.array([x, 0.7, x * 2], dtype=object))

    assert np.allclose(er.trace(mixed, None, {"x": ()}).evaluate(0.4), numpys([0.4, 0.7, 0.8]), rtol=1e-16)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    ours, numpys = BINARY[name]
    a, b = np.array([1.0, -2.0, 3.0]), np.array([0.5, 2.0, 3.0])
    assert ours(1.0, 2.0) == numpys(1.0, 2.0)
    assert np.array_equal(ours(a, b), numpys(a, b))
    assert np.array_equal(ours(a, 0.0), numpys(a, 0.0))
    for inputs in ({"x": (3,), "y": (3,)}, {"x": (), "y": ()}):
        program = er.trace(lambda _, x, y: ours(x, y), None, inputs)
        assert np.array_equal(program.evaluate(a, b), numpys(a, b))
    against_array = er.trace(lambda _, x: ours(x, b), None, {"x": ()})
    assert np.array_equal(against_array.evaluate(1.0), numpys(1.0, b))
    against_number = er.trace(lambda _, x: ours(1.0, x), None, {"x": (3,)})
    assert np.array_equal(against_number.evaluate(a), numpys(1.0, a))


@pytest.mark.parametrize("way", ["evaluated", "compiled"])
def test_the_traced_exponential(way):
    """Rounding grows with |x| through the doublings: 1e-15 (1 + |x|), relative, as its docstring says."""
    program = er.trace(lambda _, x: exp(x), None, {"x": ()})
    run = program.evaluate if way == "evaluated" else compiled(program, method="exp")
    small = np.logspace(-300, 0, 301)
    x = np.concatenate([np.linspace(-700, 700, 5601), np.linspace(-40, 0, 4001), small, -small, [0.0, -0.0]])
    true = np.exp(x.astype(np.longdouble))
    error = np.abs(run(x) - true) / true
    assert (error <= 1e-15 * (1 + np.abs(x))).all()
    assert run(0.0) == 1.0


def test_the_traced_exponential_stays_at_the_ends_of_its_range():
    program = er.trace(lambda _, x: exp(x), None, {"x": ()})
    assert program.evaluate(-1e9) == program.evaluate(-700.0) < 1e-303
    assert program.evaluate(1e9) == program.evaluate(700.0) > 1e303


def test_exponentials_and_powers_of_numbers_arrays_and_mixed_arrays():
    array = np.array([-2.0, 0.0, 0.5])
    assert exp(0.3) == np.exp(0.3)
    assert np.array_equal(exp(array), np.exp(array))
    mixed = er.trace(lambda _, x: exp(np.array([x, 0.7], dtype=object)), None, {"x": ()})
    assert np.allclose(mixed.evaluate(0.4), np.exp([0.4, 0.7]), rtol=2e-15)
    assert np.array_equal(power(array, 3), array * array * array)
    for n in range(1, 17):
        assert power(1.5, n) == 1.5**n, "exact in binary"
        assert power(-2.0, n) == (-2.0) ** n
        program = er.trace(lambda _, x, n=n: power(x, n), None, {"x": ()})
        assert program.evaluate(1.5) == 1.5**n
        squarings, factors = n.bit_length() - 1, n.bit_count() - 1
        assert er.algebra.count(program).mul == squarings + factors


@pytest.mark.parametrize("n", [0, -1, 2.0, True])
def test_a_power_that_is_not_whole_and_positive_is_refused(n):
    with pytest.raises(er.TraceError, match="whole exponent of 1 or more"):
        power(2.0, n)


def test_where():
    a, b = np.array([1.0, -2.0, 3.0]), np.array([0.5, 2.0, 3.0])
    assert where(True, 1.0, 2.0) == 1.0
    assert np.array_equal(where(a < b, a, b), np.where(a < b, a, b))

    def chosen(_, x, y):
        below = np.array([x[k] < y[k] for k in range(3)], dtype=object)
        return where(below, x * 10, y)

    program = er.trace(chosen, None, {"x": (3,), "y": (3,)})
    assert np.array_equal(program.evaluate(a, b), np.where(a < b, a * 10, b))
    plain = er.trace(lambda _, x: where(np.array([True, False, True]), x, 7.0), None, {"x": (3,)})
    assert np.array_equal(plain.evaluate(a), [1.0, 7.0, 3.0])


@pytest.mark.parametrize("x", [-1.0, 0.0, 1.0, 2.0])
def test_every_comparison_and_connective(x):
    cases = {
        "lt": (lambda v: v < 1, x < 1),
        "le": (lambda v: v <= 1, x <= 1),
        "gt": (lambda v: v > 1, x > 1),
        "ge": (lambda v: v >= 1, x >= 1),
        "eq": (lambda v: v == 1, x == 1),
        "ne": (lambda v: v != 1, x != 1),
        "right": (lambda v: v > 0, x > 0),
        "and": (lambda v: (v > 0) & (v < 2), 0 < x < 2),
        "or": (lambda v: (v < 0) | (v > 1), x < 0 or x > 1),
        "not": (lambda v: ~(v < 1), not x < 1),
    }
    for name, (condition, expected) in cases.items():
        program = er.trace(lambda _, v, c=condition: where(c(v), 1.0, 0.0), None, {"v": ()})
        assert bool(program.evaluate(x)) is bool(expected), name


# The small-matrix operations.

RNG = np.random.default_rng(5)
A, B = RNG.normal(size=3), RNG.normal(size=3)
SQUARE = RNG.normal(size=(3, 3))
SYMMETRIC = SQUARE + SQUARE.T
C, S = np.cos(0.7), np.sin(0.7)
TURN = np.array([[C, -S, 0], [S, C, 0], [0, 0, 1]])
TWIST = np.array([[1, 0, 0], [0, C, -S], [0, S, C]])
ROUND = {"rtol": 0, "atol": 1e-15 * 20}  # sums of a few products of order one


def test_products():
    assert np.allclose(cross(A, B), np.cross(A, B), **ROUND)
    assert np.isclose(dot(A, B), A @ B, **ROUND)
    assert np.allclose(linalg.skew(A) @ B, np.cross(A, B), **ROUND)
    assert np.allclose(linalg.congruence(TURN, SYMMETRIC), TURN @ SYMMETRIC @ TURN.T, **ROUND)
    assert np.allclose(linalg.turned_vector(C, S, A), TURN @ A, **ROUND)
    assert np.allclose(linalg.turned_back_vector(C, S, A), TURN.T @ A, **ROUND)


@pytest.mark.parametrize("tensor", [SYMMETRIC, SQUARE], ids=["symmetric", "any"])
def test_a_tensor_turned_in_a_plane(tensor):
    assert np.allclose(linalg.turned_matrix(C, S, tensor), TURN @ tensor @ TURN.T, **ROUND)
    assert np.allclose(linalg.turned_matrix(C, S, tensor, plane=(1, 2, 0)), TWIST @ tensor @ TWIST.T, **ROUND)


@pytest.mark.parametrize(
    "E", [np.eye(3), TWIST, TURN, TURN @ TWIST, np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0]])],
    ids=["identity", "twist", "turn", "any", "permutation"],
)  # fmt: skip
def test_a_placed_tensor(E):
    E = E.astype(float)
    assert np.allclose(linalg.placed_matrix(E, SYMMETRIC), E @ SYMMETRIC @ E.T, **ROUND)
    assert np.allclose(linalg.placed_matrix(E, SQUARE, is_symmetric=False), E @ SQUARE @ E.T, **ROUND)


def test_factors_and_solutions():
    M = SQUARE @ SQUARE.T + np.eye(3)
    L, D = linalg.ltdl(M)
    L = L.astype(float)
    assert np.allclose(L.T @ np.diag(D) @ L, M, rtol=0, atol=1e-14)
    assert np.array_equal(np.diag(L), np.ones(3))
    assert not np.triu(L, 1).any()
    assert np.allclose(linalg.cholesky_solve(M, A), np.linalg.solve(M, A), rtol=1e-12)  # cond(M) of some 10


def test_arrays_are_of_objects_only_where_an_expression_is_inside():
    x = er.algebra.Graph().input("x")
    assert linalg.vector(1, 2.0).dtype == float
    assert linalg.vector(1, x).dtype == object
    assert linalg.matrix([[1, 2], [3, 4]]).dtype == float
    assert linalg.matrix([[1, x], [3, 4]]).dtype == object
    assert linalg.settled(np.array([1, 2], dtype=object)).dtype == float
    assert linalg.settled(np.array([1, x], dtype=object)).dtype == object
    assert type((np.array([[x, 0], [0, 1.0]], dtype=object) @ np.array([1.0, 2.0]))[0]) is Expr
