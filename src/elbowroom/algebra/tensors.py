"""Three ways to turn a symmetric tensor: R I R^T, over any scalar.

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

from typing import NamedTuple

import numpy as np

from .expr import Scalar
from .linalg import Array, symmetric


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
