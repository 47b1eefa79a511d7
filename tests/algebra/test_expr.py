"""Expr: each folding rule, sharing, and what an expression refuses to be."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import elbowroom as er
from elbowroom.algebra import Graph, absolute, cos, maximum, minimum, sin, sqrt, where
from elbowroom.errors import TraceError


@pytest.fixture
def xy():
    graph = Graph()
    return graph.input("x"), graph.input("y")


def size(x):
    return len(x.graph.nodes)


# Folding: zeros, ones, constants.


@pytest.mark.parametrize(
    "identity",
    [
        lambda x: x + 0,
        lambda x: 0 + x,
        lambda x: x - 0,
        lambda x: x * 1,
        lambda x: 1.0 * x,
        lambda x: x / 1,
        lambda x: +x,
        lambda x: operator.neg(-x),
        lambda x: x**1,
        lambda x: x * -1 * -1,
        lambda x: x + np.float64(0),
        lambda x: x * np.int64(1),
        lambda x: 0 - (-x),
        lambda x: -x * -1,
        lambda x: x / -1 / -1,
    ],
)
def test_what_is_x_is_the_very_same_node(xy, identity):
    x, _ = xy
    assert identity(x) is x


@pytest.mark.parametrize("zero", [lambda x: x * 0, lambda x: 0.0 * x, lambda x: x - x, lambda x: 0 / x])
def test_what_is_zero_is_the_number(xy, zero):
    x, _ = xy
    before = size(x)
    assert type(zero(x)) is float
    assert zero(x) == 0.0
    assert size(x) == before, "nothing was added to the graph"


def test_constants_are_gathered(xy):
    x, _ = xy
    assert (x * 2) * 3 is x * 6
    assert (2 * (x * 0.25)) * 2 is x, "the factors cancel to one"
    assert x / 4 is x * 0.25
    assert (-2 * x) * -3 is x * 6


# Folding: negation is pulled outwards.


@pytest.mark.parametrize(
    "written, folded",
    [
        (lambda x, y: (-x) * y, lambda x, y: -(x * y)),
        (lambda x, y: x * (-y), lambda x, y: -(x * y)),
        (lambda x, y: (-x) * (-y), lambda x, y: x * y),
        (lambda x, y: x + (-y), lambda x, y: x - y),
        (lambda x, y: (-x) + y, lambda x, y: y - x),
        (lambda x, y: (-x) + (-y), lambda x, y: -(x + y)),
        (lambda x, y: x - (-y), lambda x, y: x + y),
        (lambda x, y: (-x) - y, lambda x, y: -(x + y)),
        (lambda x, y: (-x) - (-y), lambda x, y: y - x),
        (lambda x, y: (-x) / y, lambda x, y: -(x / y)),
        (lambda x, y: x / (-y), lambda x, y: -(x / y)),
        (lambda x, y: (-x) / (-y), lambda x, y: x / y),
        (lambda x, y: x * -2, lambda x, y: -(x * 2)),
        (lambda x, y: (-x) * 2, lambda x, y: -(x * 2)),
        (lambda x, y: x + -3, lambda x, y: x - 3),
        (lambda x, y: (-x) + 3, lambda x, y: 3 - x),
        (lambda x, y: 3 - (-x), lambda x, y: x + 3),
        (lambda x, y: -3 - x, lambda x, y: -(x + 3)),
        (lambda x, y: -2 / x, lambda x, y: -(2 / x)),
        (lambda x, y: 2 / (-x), lambda x, y: -(2 / x)),
        (lambda x, y: sin(-x), lambda x, y: -sin(x)),
        (lambda x, y: cos(-x), lambda x, y: cos(x)),
        (lambda x, y: absolute(-x), lambda x, y: absolute(x)),
    ],
)
def test_negations_move_outwards(xy, written, folded):
    assert written(*xy) is folded(*xy)


def test_a_root_keeps_its_negation(xy):
    """Alone among the functions, the root is neither odd nor even."""
    x, _ = xy
    assert sqrt(-x) is not sqrt(x)
    assert er.trace(lambda _, v: sqrt(-v), None, {"v": ()}).evaluate(-4.0) == 2.0


def test_a_difference_is_the_negation_of_the_reverse_one(xy):
    x, y = xy
    d = x - y
    assert y - x is -d
    e = 3 - x
    assert x - 3 is -e
    f = y - 5
    assert 5 - y is -f


# Sharing.


def test_equal_operations_are_one_node(xy):
    x, y = xy
    assert x * y + 1 is y * x + 1
    assert x + y is y + x
    assert sin(x) is sin(x)
    assert minimum(x, y) is minimum(y, x)
    assert minimum(x, x) is x
    assert where(x < y, x, x) is x
    assert x**2 is x * x
    assert x**3 is x * x * x
    assert x**4 is (x * x) * (x * x)


def test_different_operations_are_not(xy):
    x, y = xy
    assert x - y is not y - x
    assert x / y is not y / x
    assert minimum(x, y) is not maximum(x, y)
    assert (x < y) is not (x <= y)
    assert sin(x) is not cos(x)
    assert x * 2 is not x * 3


def test_without_sharing_a_text_is_counted_as_written():
    graph = Graph(share=False)
    x, y = graph.input("x"), graph.input("y")
    assert x * y is not x * y
    assert (y - x).operation[0] == "sub", "no negation of an earlier difference"

    def twice(_, x, y):
        return x * y + x * y

    assert er.trace(twice, None, {"x": (), "y": ()}).count.mul == 1
    assert er.trace(twice, None, {"x": (), "y": ()}, share=False).count.mul == 2


# What an expression is not.


def test_an_expression_has_no_truth_value(xy):
    x, y = xy
    with pytest.raises(TraceError, match=r"no truth value.*where, minimum or maximum"):
        bool(x < y)
    with pytest.raises(TraceError, match="where"):
        min(x, y)
    with pytest.raises(TraceError, match="where"):
        _ = x < y and y < x
    with pytest.raises(TraceError, match="where"):
        _ = x in [y]


@pytest.mark.parametrize("convert", [float, int, operator.index, lambda x: [1, 2][x], lambda x: np.zeros(3)[x]])
def test_an_expression_is_no_number(xy, convert):
    with pytest.raises((TraceError, IndexError)) as caught:
        convert(xy[0])
    if caught.type is TraceError:
        assert "not a number yet" in str(caught.value)
        assert "elbowroom.algebra" in str(caught.value)


def test_an_expression_refuses_to_enter_a_float_array(xy):
    with pytest.raises(TraceError):
        np.zeros(2)[0] = xy[0]
    with pytest.raises(TraceError):
        np.array([xy[0]], dtype=float)


@pytest.mark.parametrize(
    "mixed",
    [
        operator.add,
        operator.sub,
        operator.mul,
        operator.truediv,
        operator.lt,
        operator.ge,
        operator.eq,
        minimum,
        maximum,
        lambda x, y: -x + y,
        lambda x, y: x * -y,
        lambda x, y: x / -y,
        lambda x, y: where(x < 1, x, y),
        lambda x, y: (x < 1) & (y < 1),
    ],
)
def test_two_traces_do_not_mix(mixed):
    with pytest.raises(TraceError, match="two different traces"):
        mixed(Graph().input("x"), Graph().input("y"))


def test_a_result_of_another_trace_is_refused():
    stranger = Graph().input("s")
    with pytest.raises(TraceError, match="two different traces"):
        er.trace(lambda _, x: stranger, None, {"x": ()})


def test_nan_is_refused(xy):
    x, _ = xy
    for use in (
        lambda: x + float("nan"),
        lambda: x * np.nan,
        lambda: where(x < 1, x, np.nan),
        lambda: minimum(x, np.nan),
    ):
        with pytest.raises(TraceError, match="NaN"):
            use()


def test_division_by_the_constant_zero(xy):
    with pytest.raises(ZeroDivisionError, match="constant zero"):
        xy[0] / 0


@pytest.mark.parametrize("exponent", [0, 5, 0.5, -1])
def test_other_powers_are_refused_by_number(xy, exponent):
    with pytest.raises(TraceError, match=f"1, 2, 3 or 4.*{exponent}"):
        xy[0] ** exponent


@pytest.mark.parametrize("other", ["1", None, 1j, [1]])
def test_arithmetic_with_what_is_no_number(xy, other):
    for op in (operator.add, operator.sub, operator.mul, operator.truediv):
        with pytest.raises(TypeError):
            op(xy[0], other)
        with pytest.raises(TypeError):
            op(other, xy[0])


def test_conditions_and_numbers_are_kept_apart(xy):
    x, y = xy
    for use in (lambda: ~x, lambda: x & (x < y), lambda: (x < y) | y, lambda: where(x, x, y)):
        with pytest.raises(TraceError, match="condition"):
            use()
    assert ~~(x < y) is (x < y)
    assert ((x < y) & True) is (x < y)
    assert ((x < y) & False) is False
    assert ((x < y) | True) is True
    assert (False | (x < y)) is (x < y)


def test_repr_is_readable(xy):
    x, y = xy
    assert repr(x) == "x"
    assert repr(x * y) == "mul(x, y)"
    assert repr(x + 2) == "add(x, 2)"
    assert repr(sqrt(x * y)).startswith("sqrt(t")
