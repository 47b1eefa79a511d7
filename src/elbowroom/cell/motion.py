"""How the joints move in one step: two formulas over any scalar, and their kernels.

**Speeds within limits.**  A joint changes its speed at its limit of acceleration until it has the wanted one, and keeps
that; the position is the exact integral.

**A rigid arm with friction and stops**, by semi-implicit Euler with impulses:

    A = M(q) + h D                                    D the viscous friction, which is taken at the end of the step
    v = qd + h A^-1 (tau - C qd - g - D qd)           without Coulomb friction and stops
    v+ = v + A^-1 (p + l)                             with their impulses
    q+ = q + h v+

p_i is Coulomb friction: against v+_i with all of c_i h, or less where that suffices to hold the joint still.  So a
joint sticks until more than c_i pulls at it, and standing still is standing still.  l_i is the stop: just enough to
keep q+_i within the limits, without bounce; the momentum goes on into the other joints as it must.

Both are found together by `SWEEPS` rounds of Gauss-Seidel, one joint after the other, with W = A^-1:

    p_i <- p_i - v_i / W_ii, within +-c_i h           l_i <- what brings v_i into ((lower - q) / h, (upper - q) / h)

A joint beyond its limit is not thrown back: it may stay, and comes no farther out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algebra import absolute, maximum, minimum, where
from ..algebra.linalg import cholesky_solve, vector
from ..compile import compiled
from ..compile.kernel import Kernel
from ..dynamics import whole
from ..model import Model
from .drive import ramped, stopped

SWEEPS = 30
"""Enough for 1e-3 rad/s with several light joints at their stops and sticking at once; the PUMA needs ten."""


def kinematic_motion(model: Model) -> Kernel:
    """q, qd, wanted (n,), limits (2, n) of speed and acceleration, clock (1,): the time -> q, qd."""
    n = model.n
    inputs: dict[str, tuple[int, ...]] = {"q": (n,), "qd": (n,), "wanted": (n,), "limits": (2, n), "clock": (1,)}
    return compiled(ramp, model, inputs, name="ramp")


def rigid_motion(model: Model) -> Kernel:
    """q, qd, tau (n,), clock (1,): the time -> q, qd."""
    n = model.n
    inputs: dict[str, tuple[int, ...]] = {"q": (n,), "qd": (n,), "tau": (n,), "clock": (1,)}
    return compiled(step, model, inputs, name="motion", method="semi-implicit")


def ramp(model: Model, q: Any, qd: Any, wanted: Any, limits: Any, clock: Any) -> dict[str, Any]:
    """q and qd (n,) after clock[0] seconds on the way to the wanted speeds (n,)."""
    h, positions, speeds = clock[0], [], []
    for i in range(model.n):
        v = ramped(qd[i], wanted[i], limits[0][i], limits[1][i], h)
        changing = minimum(absolute(v - qd[i]) / limits[1][i], h)
        ahead = q[i] + 0.5 * (qd[i] + v) * changing + v * (h - changing)
        held = stopped(model, i, q[i], ahead)
        positions.append(held)
        speeds.append(where(held < ahead, 0.0, where(held > ahead, 0.0, v)))
    return {"q": vector(*positions), "qd": vector(*speeds)}


def step(model: Model, q: Any, qd: Any, tau: Any, clock: Any) -> dict[str, Any]:
    """q and qd (n,) after clock[0] seconds under the torques tau (n,)."""
    n, h = model.n, clock[0]
    A = whole("mass_matrix", "crba")(model, q)
    A = A + np.diag(model.viscous) * h
    rest = whole("bias_torque", "rnea")(model, q, qd) + model.viscous * qd
    v = (qd + cholesky_solve(A, tau - rest) * h).tolist()
    columns = [cholesky_solve(A, unit) for unit in np.eye(n)]  # of W
    inertia = [1.0 / column[i] for i, column in enumerate(columns)]  # that joint i feels with the others free
    friction: list[Any] = [0.0] * n
    stop: list[Any] = [0.0] * n
    for _ in range(SWEEPS):
        for i, W in enumerate(columns):
            if model.coulomb[i] > 0:
                most = model.coulomb[i] * h
                p = minimum(maximum(friction[i] - v[i] * inertia[i], -most), most)
                v = _pushed(v, W, p - friction[i])
                friction[i] = p
            if np.isfinite(model.lower[i]) or np.isfinite(model.upper[i]):
                free = v[i] - W[i] * stop[i]
                l = (_within(model, i, q[i], free, h) - free) * inertia[i]  # noqa: E741  # as in the equations
                v = _pushed(v, W, l - stop[i])
                stop[i] = l
    after = [stopped(model, i, q[i], q[i] + h * v[i]) for i in range(n)]
    return {"q": vector(*after), "qd": vector(*v)}


def _pushed(v: list[Any], W: Any, impulse: Any) -> list[Any]:
    """The speeds after an impulse at one joint, W the column of that joint."""
    return [speed + w * impulse for speed, w in zip(v, W.tolist(), strict=True)]


def _within(model: Model, i: int, q: Any, v: Any, h: Any) -> Any:
    """The speed of joint i that does not carry it beyond its limits in h."""
    if np.isfinite(model.upper[i]):
        v = minimum(v, maximum((model.upper[i] - q) / h, 0.0))
    if np.isfinite(model.lower[i]):
        v = maximum(v, minimum((model.lower[i] - q) / h, 0.0))
    return v
