"""How far GDAHJ and CRBA are from each other and from the truth (GDAHJ paper, equation 32 and Figure 5).

    e(A, B) = sum |A - B| / max |(A + B) / 2|                                                                  (32)

over all entries of two mass matrices of one chain.  The paper takes A and B from the two algorithms, both in double
precision.  Here each is also held against the plain sum over the links, M = sum m Jv^T Jv + Jw^T I Jw, in extended
precision, so that one sees whose error it is.  The chains are the paper's: masses of 1 to 10 kg, positive definite
tensors with entries of 1 to 10 kg m^2, random Denavit-Hartenberg parameters, a random pose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algebra.linalg import Array
from ..dynamics import crba, gdahj
from ..model import chains, from_mdh

EXTENDED = np.longdouble
HAS_EXTENDED = bool(np.finfo(EXTENDED).eps < np.finfo(float).eps / 100)
"""Whether this machine's long double is longer (on x86 it is; elsewhere it may be double itself)."""


@dataclass(frozen=True)
class Accuracy:
    """Metric (32) for chains of n joints, one value a chain."""

    n: int
    between: NDArray[Any]  # GDAHJ and CRBA, both in double: the paper's Figure 5
    gdahj: NDArray[Any]  # GDAHJ in double and the extended truth
    crba: NDArray[Any]  # CRBA in double and the extended truth


def metric(A: Array, B: Array) -> float:
    """(32) of two matrices."""
    return float(np.abs(A - B).sum() / np.abs((A + B) / 2).max())


def measure(
    numbers: Sequence[int], *, samples: int = 12, seed: int = 0, progress: Callable[[int, int, str], None] | None = None
) -> list[Accuracy]:
    """Metric (32) for `samples` random chains of every number of joints."""
    found = []
    for k, n in enumerate(numbers):
        if progress is not None:
            progress(k, len(numbers), f"error metric (32), {n} joints")
        rng = np.random.default_rng((seed, n))
        values = np.array([_sample(n, rng) for _ in range(samples)])
        found.append(Accuracy(n, *values.T))
    return found


def _sample(n: int, rng: np.random.Generator) -> tuple[float, float, float]:
    bodies = chains.random(n, int(rng.integers(1 << 30)))
    a, d = rng.uniform(-0.5, 0.5, (2, n))
    alpha, q = rng.uniform(-np.pi, np.pi, (2, n))
    model = from_mdh(a=a, alpha=alpha, d=d, mass=bodies.mass, com=bodies.com, inertia=bodies.inertia)
    one, other = gdahj.mass_matrix(model, q), crba.mass_matrix(model, q)
    truth = exact_mass_matrix(a, alpha, d, q, bodies.mass, bodies.com, bodies.inertia)
    return metric(one, other), metric(one, truth), metric(other, truth)


def exact_mass_matrix(
    a: Array, alpha: Array, d: Array, q: Array, mass: Array, com: Array, inertia: Array
) -> NDArray[Any]:
    """M (n, n) of revolute joints in modified Denavit-Hartenberg parameters, every operation in extended precision."""
    a, alpha, d, q, mass, com, inertia = (np.asarray(x, dtype=EXTENDED) for x in (a, alpha, d, q, mass, com, inertia))
    n = len(q)
    R, p = np.eye(3, dtype=EXTENDED), np.zeros(3, dtype=EXTENDED)
    axes, origins = np.zeros((3, n), dtype=EXTENDED), np.zeros((3, n), dtype=EXTENDED)
    M = np.zeros((n, n), dtype=EXTENDED)
    for i in range(n):
        ca, sa, cq, sq = np.cos(alpha[i]), np.sin(alpha[i]), np.cos(q[i]), np.sin(q[i])
        p = p + R @ np.array([a[i], -sa * d[i], ca * d[i]])
        R = R @ np.array([[cq, -sq, 0 * cq], [ca * sq, ca * cq, -sa], [sa * sq, sa * cq, ca]])
        axes[:, i], origins[:, i] = R[:, 2], p
        Jw, r = axes[:, : i + 1], (p + R @ com[i])[:, None] - origins[:, : i + 1]
        Jv = np.cross(Jw, r, axis=0)
        M[: i + 1, : i + 1] += mass[i] * (Jv.T @ Jv) + Jw.T @ (R @ inertia[i] @ R.T) @ Jw
    return M
