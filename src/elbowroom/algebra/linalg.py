"""Small matrices over any scalar, written to cost few operations; and three ways to turn a symmetric tensor.

The few small-matrix operations that the algorithms share, over any scalar, written to cost few operations.

`A @ v` of NumPy serves for general products.  What stands here is what NumPy has not (`np.cross` costs 23 us on floats)
or what has a cheaper form than the product: symmetric congruence and rotation in a plane.

Three ways to turn a symmetric tensor: R I R^T, over any scalar.

    rotate_naive          two matrix products                              54 multiplications, 36 additions
    rotate_featherstone   I = L + I_33 1 + [v x]                           28 multiplications, 29 additions
    rotate_principal      I = lambda_3 1 + Q Q^T, Q (3, 2), made offline   28 multiplications, 21 additions

Featherstone's split (thesis, 2.68) leaves L one column short of full and needs two rows of R L,

    L = [[I_11 - I_33, I_12, 0], [I_12, I_22 - I_33, 0], [2 I_13, 2 I_23, 0]],      v = (-I_23, I_13, 0)

so that R I R^T = R L R^T + I_33 1 + [R v x]; the first diagonal entry of R L R^T follows from its trace.

The thesis' way (Appendix I, Algorithm 2.2) stores a tensor by its least principal moment lambda_3, its trace and
Q = [q_1 sqrt(lambda_1 - lambda_3), q_2 sqrt(lambda_2 - lambda_3)] (2.64).  With s_i = Q^T e_i, e_i row i of R (2.65),

    W_ij = s_i . s_j + lambda_3 (i = j)       (2.66)        W_33 = trace - W_11 - W_22       (2.67)

(2.67) is printed with w_22 and w_33 on its right side, which would define W_33 by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .expr import Array as Array
from .expr import Expr, Scalar


def vector(*entries: Scalar) -> Array:
    """An array of these scalars; of objects as soon as one is an Expr."""
    return np.array(entries, dtype=object if any(type(x) is Expr for x in entries) else float)


def matrix(rows: Array | Sequence[Sequence[Scalar]]) -> Array:
    """A matrix of these rows of scalars; of objects as soon as one is an Expr."""
    traced = any(type(x) is Expr for row in rows for x in row)
    return np.array(rows, dtype=object if traced else float)


def zeros(*shape: int) -> Array:
    """Zeros that may be replaced by any scalar."""
    return np.zeros(shape).astype(object)


def settled(array: Array) -> Array:
    """A float array if no entry is an Expr, else the object array as it is."""
    if array.dtype == object and not any(type(x) is Expr for x in array.flat):
        return array.astype(float)
    return array


def cross(a: Array, b: Array) -> Array:
    """a x b, 6 multiplications and 3 additions."""
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return vector(a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0)


def dot(a: Array, b: Array) -> Scalar:
    """a . b of two 3-vectors."""
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return a0 * b0 + a1 * b1 + a2 * b2


def skew(a: Array) -> Array:
    """The matrix of a x: skew(a) @ b = a x b."""
    x, y, z = a.tolist()
    return matrix([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def symmetric(xx: Scalar, yy: Scalar, zz: Scalar, xy: Scalar, yz: Scalar, xz: Scalar) -> Array:
    """The symmetric (3, 3) matrix of six scalars."""
    return matrix([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def congruence(R: Array, S: Array) -> Array:
    """R S R^T of a symmetric S, each of its six entries once."""
    left = R @ S
    xx, xy, xz, yy, yz, zz = (dot(left[i], R[j]) for i in range(3) for j in range(i, 3))
    return symmetric(xx, yy, zz, xy, yz, xz)


def is_constant(x: Scalar, *values: float) -> bool:
    """Whether a scalar is a plain number among these (never true of an Expr)."""
    return type(x) is not Expr and float(x) in values


def turned_vector(c: Scalar, s: Scalar, v: Array) -> Array:
    """Rz v with c, s = cos, sin: 4 multiplications, 2 additions."""
    x, y, z = v.tolist()
    return vector(c * x - s * y, s * x + c * y, z)


def turned_back_vector(c: Scalar, s: Scalar, v: Array) -> Array:
    """Rz^T v: 4 multiplications, 2 additions."""
    x, y, z = v.tolist()
    return vector(c * x + s * y, c * y - s * x, z)


def turned_matrix(c: Scalar, s: Scalar, A: Array, plane: tuple[int, int, int] = (0, 1, 2)) -> Array:
    """R A R^T for a rotation by cos c, sin s in the plane of axes (i, j) about axis k.

    In the plane, trace and skew part stay; with u = c (A_ii - A_jj) - s (A_ij + A_ji):
    A_ii' = A_jj + c u, A_jj' = A_ii - c u, A_ij' = A_ij + s u.  8 multiplications, 9 additions when A is symmetric.
    """
    i, j, k = plane
    a = A.tolist()
    u = c * (a[i][i] - a[j][j]) - s * (a[i][j] + a[j][i])
    cu, su = c * u, s * u
    out: list[list[Scalar]] = [[0.0] * 3 for _ in range(3)]
    out[i][i], out[j][j], out[k][k] = a[j][j] + cu, a[i][i] - cu, a[k][k]
    out[i][j], out[j][i] = a[i][j] + su, a[j][i] + su
    out[i][k], out[j][k] = c * a[i][k] - s * a[j][k], s * a[i][k] + c * a[j][k]
    out[k][i], out[k][j] = c * a[k][i] - s * a[k][j], s * a[k][i] + c * a[k][j]
    return matrix(out)


def placed_matrix(E: Array, A: Array, *, is_symmetric: bool = True) -> Array:
    """E A E^T for a joint's fixed rotation E, by the cheapest of three ways.

    A signed permutation only moves entries; a twist Rx is a rotation in a plane; anything else is the full product.
    """
    entries = E.ravel().tolist()
    permutation = all(is_constant(x, 0.0, 1.0, -1.0) for x in entries)
    if not permutation and is_constant(E[0, 0], 1.0):
        return turned_matrix(E[1, 1], E[2, 1], A, plane=(1, 2, 0))
    return congruence(E, A) if is_symmetric else E @ A @ E.T


def cholesky_solve(M: Array, b: Array) -> Array:
    """x of M x = b for symmetric positive definite M (n, n), by L D L^T from the last row up (no roots)."""
    L, D = ltdl(M)
    n = len(D)
    x = b.tolist()
    for i in range(n - 1, -1, -1):  # L^T y = b, from the tip: L is unit lower, M = L^T D L
        for j in range(i):
            x[j] = x[j] - L[i, j] * x[i]
    x = [x[i] * (1.0 / D[i]) for i in range(n)]
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - L[i, j] * x[j]
    return vector(*x)


def ltdl(M: Array) -> tuple[Array, list[Scalar]]:
    """Unit lower L and diagonal D with M = L^T D L; D[i] is the articulated inertia of joint i, tip first."""
    n = len(M)
    A = [[M[i, j] for j in range(n)] for i in range(n)]
    L = np.eye(n).astype(object)
    D: list[Scalar] = [0.0] * n
    for k in range(n - 1, -1, -1):
        D[k] = A[k][k]
        inverse = 1.0 / D[k]
        for i in range(k):
            L[k, i] = A[k][i] * inverse
        for i in range(k):
            for j in range(i + 1):
                A[i][j] = A[i][j] - L[k, i] * A[k][j]
    return L, D


class PrincipalForm(NamedTuple):
    """A symmetric tensor as lambda3 1 + Q Q^T, with its trace."""

    lambda3: Scalar
    trace: Scalar
    Q: Array  # (3, 2)


def principal_form(tensor: Array) -> PrincipalForm:
    """The form of a symmetric (3, 3) tensor of numbers; done once, before the robot moves."""
    moments, axes = np.linalg.eigh(np.asarray(tensor, dtype=float))  # ascending: the least first
    Q = axes[:, :0:-1] * np.sqrt(moments[:0:-1] - moments[0])  # (2.64)
    return PrincipalForm(float(moments[0]), float(moments.sum()), Q)


def rotate_naive(R: Array, tensor: Array) -> Array:
    """R I R^T (3, 3) by two products: 54 multiplications, 36 additions."""
    return R @ tensor @ R.T


def rotate_featherstone(R: Array, tensor: Array) -> Array:
    """R I R^T (3, 3) by (2.68): 28 multiplications, 29 additions; 24 if the tensor is known offline."""
    I, r = tensor.tolist(), R.tolist()  # noqa: E741  # the letter of the equations
    I33 = I[2][2]
    L = ((I[0][0] - I33, I[0][1]), (I[0][1], I[1][1] - I33), (I[0][2] + I[2][0], I[1][2] + I[2][1]))
    Y = [[r[i][0] * L[0][k] + r[i][1] * L[1][k] + r[i][2] * L[2][k] for k in range(2)] for i in range(3)]
    v = [r[i][1] * I[0][2] - r[i][0] * I[1][2] for i in range(3)]

    def entry(i: int, j: int) -> Scalar:
        """(R L R^T)_ij; row 1 is never asked for."""
        return Y[i][0] * r[j][0] + Y[i][1] * r[j][1]

    yy, zz = entry(1, 1), entry(2, 2)
    xx = (L[0][0] + L[1][1]) - yy - zz
    return symmetric(xx + I33, yy + I33, zz + I33, xy=entry(1, 0) + v[2], yz=entry(2, 1) + v[0], xz=entry(2, 0) - v[1])


def rotate_principal(R: Array, form: PrincipalForm) -> Array:
    """R I R^T (3, 3) from the offline form: 28 multiplications, 21 additions (Algorithm 2.2)."""
    s = (R @ form.Q).tolist()  # row i is s_i (2.65)

    def entry(i: int, j: int) -> Scalar:
        return s[i][0] * s[j][0] + s[i][1] * s[j][1]

    xx, yy = entry(0, 0) + form.lambda3, entry(1, 1) + form.lambda3  # (2.66)
    zz = form.trace - xx - yy  # (2.67)
    return symmetric(xx, yy, zz, xy=entry(0, 1), yz=entry(1, 2), xz=entry(0, 2))
