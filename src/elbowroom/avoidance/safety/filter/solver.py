"""The filter's solver: a small quadratic problem by a fixed number of steps of a dual active-set method.

Nothing branches: a step that finds nothing to do changes no bit, so the steps may be run some at a time until none is
left to be made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....algebra import Repeated, Scalar, absolute, maximum, minimum, sqrt, trace, where
from ....algebra.functions import best, summed
from ....algebra.linalg import Array, vector
from ....compile import compiled
from ....compile.kernel import Kernel
from .rows import ROWS

STEPS, ROUNDS = 4, 10  # steps in a round, and rounds at most; one is mostly enough
NONE = -1.0  # no constraint
ENDLESS = 1e6  # velocity limits: rows have no upper bound
NO_GRIP = 1e-9  # (m/s)^2: a row that joints at full speed move by less is left alone


class Tolerance(NamedTuple):
    """What counts as nothing."""

    slack: float  # of a constraint's grip: what it yields by, so that constraints which depend on others do no harm
    met: float  # of a velocity limit: what is violated by less is met
    still: float  # a price that falls more slowly does not fall


DOUBLE, SINGLE = Tolerance(1e-10, 1e-9, 1e-12), Tolerance(3e-6, 1e-5, 1e-6)
"""Of double precision, and of lanes in single precision, whose last digit is 6e-8."""


class QuadraticProblem(NamedTuple):
    """A quadratic problem: the point nearest to `wish`, low <= x <= up, A x + s >= need, s cheap where a row yields."""

    wish: Array  # (n,)
    low: Array
    up: Array
    A: Array  # (K, n)
    need: Array  # (K,)
    yields: Array  # (K,) 1/r of the slack; 0: it does not yield


class Tableau(NamedTuple):
    """Where the solver is: the m constraints are the K rows and then the n joints, some of them held at their bound."""

    table: Array  # (m (m + 1) / 2,) lower triangle: how what is free answers to prices, and prices to what is held
    at: Array  # (m,) a . x + yields price of a row, the speed of a joint
    price: Array  # (m,) of a joint above 0 at its lower end, below 0 at its upper one
    side: Array  # (m,) 1: held at `low`; -1: at `high`; 0: not held
    entering: Array  # (1,) which constraint's price is on its way up, -1 for none
    low: Array  # (m,)
    high: Array
    weight: Array  # (m,) 1 / |a|, 0 for a row that no joint moves
    left: Array = np.ones(1)  # (1,) 0: the last step had nothing to do


GIVEN = Tableau._fields[:-1]  # what a step takes, and what it changes
CHANGED = ("table", "at", "price", "side", "entering", "left")


def opened(p: QuadraticProblem, tolerance: Tolerance = DOUBLE) -> Tableau:
    """The tableau with nothing held: x is the wish."""
    n, K = len(p.wish), len(p.need)
    table, grips = [], []
    for i in range(K + n):
        for j in range(i + 1):
            dots = summed(p.A[i] * p.A[j]) if i < K else p.A[j][i - K] if j < K else float(i == j)
            if i == j:
                grips.append(dots)
                dots = dots * (1.0 + tolerance.slack) + (p.yields[i] if i < K else 0.0)
            table.append(dots)
    at = [summed(a * p.wish) for a in p.A]
    weight = [where(g > NO_GRIP, 1.0 / sqrt(where(g > NO_GRIP, g, 1.0)), 0.0) for g in grips[:K]]
    nothing = np.zeros(K + n)
    return Tableau(
        vector(*table),
        vector(*at, *p.wish),
        nothing,
        nothing,
        np.array([NONE]),
        vector(*p.need, *p.low),
        vector(*[ENDLESS] * K, *p.up),
        vector(*weight, *[1.0] * n),
    )


def _triangle(i: int, j: int) -> int:
    return i * (i + 1) // 2 + j if i >= j else j * (j + 1) // 2 + i


def _one_hot(index: Scalar, m: int) -> list[Scalar]:
    return [where(index == float(i), 1.0, 0.0) for i in range(m)]


def _column(table: Array, hot: list[Scalar]) -> list[Scalar]:
    """The column of the one constraint that is 1 in `hot`."""
    m = len(hot)
    return [summed([table[_triangle(i, j)] * hot[j] for j in range(m)]) for i in range(m)]


def pivot(s: Tableau, tolerance: Tolerance = DOUBLE) -> Tableau:
    """One step of the dual active-set method (Goldfarb and Idnani); nothing changes once no constraint is violated.

    The most violated constraint r has its price raised until it is met, then it is held; or until the price of one that
    is held has fallen to 0, then that one is let go and r goes on in the next step.  With prices as unknowns of what is
    held, and values of what is not, either is one sweep of a symmetric matrix S on its diagonal:

        S_dd -> -1 / S_dd,    S_id -> S_id / |S_dd|,    S_ij -> S_ij - S_id S_jd / S_dd
    """
    m = len(s.at)
    free = [side == 0.0 for side in s.side]
    over = [maximum(lo - x, x - hi) for lo, x, hi in zip(s.low, s.at, s.high, strict=True)]
    lacks = [where(f, lack * w, 0.0) for f, lack, w in zip(free, over, s.weight, strict=True)]
    most, worst = best([(lack, float(i)) for i, lack in enumerate(lacks)], lambda x, y: x[0] > y[0])
    going = s.entering[0] >= 0.0
    r = where(going, s.entering[0], worst)
    go = going | (most > tolerance.met)
    hot = _one_hot(r, m)
    column = _column(s.table, hot)
    towards = where(summed([h * (lo - x) for h, lo, x in zip(hot, s.low, s.at, strict=True)]) > 0.0, 1.0, -1.0)
    lack = summed([h * x for h, x in zip(hot, over, strict=True)])
    grip = summed([h * c for h, c in zip(hot, column, strict=True)])
    falls = [towards * side * c for side, c in zip(s.side, column, strict=True)]
    ends = [
        (where(fall > tolerance.still, absolute(p), 1.0), where(fall > tolerance.still, fall, 0.0), float(i))
        for i, (p, fall) in enumerate(zip(s.price, falls, strict=True))
    ]
    far, fast, d = best([(lack, grip, r), *ends], lambda x, y: x[0] * y[1] < y[0] * x[1])
    step = where(go, far / where(go, fast, 1.0), 0.0) * towards
    met = d == r  # r is held from now on; else d is let go
    at = [where(f, x + c * step, x) for f, x, c in zip(free, s.at, column, strict=True)]
    price = [where(f, p, p - c * step) + h * step for f, p, c, h in zip(free, s.price, column, hot, strict=True)]
    new = [where(go, h, 0.0) for h in _one_hot(d, m)]
    bound = [
        where(met & (h > 0.0), where(towards > 0.0, lo, hi), x)
        for h, lo, hi, x in zip(new, s.low, s.high, at, strict=True)
    ]
    price = [where((h > 0.0) & ~met, 0.0, p) for h, p in zip(new, price, strict=True)]
    side = [where(h > 0.0, where(met, towards, 0.0), old) for h, old in zip(new, s.side, strict=True)]
    column = _column(s.table, new)
    corner = summed([h * c for h, c in zip(new, column, strict=True)])
    sign = where(go, where(met, 1.0, -1.0), 0.0)
    factor = where(go, 1.0 / where(go, corner, 1.0), 0.0)
    column = [c - h * sign for c, h in zip(column, new, strict=True)]  # so that one product makes all of the three
    scaled = [c * factor for c in column]
    table = [
        s.table[_triangle(i, j)] - column[i] * scaled[j] - (2.0 * sign * new[i] if i == j else 0.0)
        for i in range(m)
        for j in range(i + 1)
    ]
    return Tableau(
        vector(*table),
        vector(*bound),
        vector(*price),
        vector(*side),
        vector(where(go & ~met, r, NONE)),
        s.low,
        s.high,
        s.weight,
        vector(where(go, 1.0, 0.0)),
    )


def nearest(p: QuadraticProblem, steps: int = STEPS * ROUNDS) -> tuple[Array, Array]:
    """The solution (n,), always inside the box, and the rows' prices (K,), by that many steps at most."""
    s, K = opened(p), len(p.need)
    for _ in range(steps):
        s = pivot(s)
    x = vector(*(minimum(maximum(v, lo), hi) for v, lo, hi in zip(s.at[K:], p.low, p.up, strict=True)))
    return x, s.price[:K]


# ---- its compiled form
class _Solver(NamedTuple):
    n: int
    steps: int
    rows: int
    tolerance: Tolerance


def _solving(size: _Solver) -> Repeated:
    m = size.rows + size.n
    shapes = {"table": (m * (m + 1) // 2,), "entering": (1,)}
    inputs = {name: shapes.get(name, (m,)) for name in GIVEN}
    return Repeated(trace(_turn, size.tolerance, inputs, name="solve"), size.steps)


def _turn(tolerance: Tolerance, **tableau: Array) -> dict[str, Array]:
    after = pivot(Tableau(**tableau), tolerance)
    return {name: getattr(after, name) for name in CHANGED}


def solver_kernel(n: int, steps: int = STEPS, rows: int = ROWS, tolerance: Tolerance = DOUBLE) -> Kernel:
    """So many steps of the solver, for any arm of n joints and so many rows; it takes a Tableau and gives what changes
    of it."""
    return compiled(_solving, _Solver(n, steps, rows, tolerance))
