"""Models from Denavit-Hartenberg tables, modified (Craig) and standard (Paul).

Modified DH places frame i at the *near* end of link i, on joint i's axis:

    T_i = Rx(alpha_i) Tx(a_i) Rz(theta_i) Tz(d_i)

which is our placement E = Rx(alpha) Rz(theta_i at q = 0), p = (a, -d sin alpha, d cos alpha) as it stands.  Standard DH
places frame i at the *far* end of link i:

    T_i = Rz(theta_i) Tz(d_i) Tx(a_i) Rx(alpha_i)

Regrouping the product, Rz(theta_i) Tz(d_i) of row i stays with joint i and Tx(a_i) Rx(alpha_i) goes to joint i+1, so a
standard row i lends its a and alpha to modified row i+1, the last ones to the tool, and link i's centre of mass,
tensor and capsules, given in the far frame, move by Tx(a_i) Rx(alpha_i).  Revolute: q_i adds to theta_i.  Prismatic:
to d_i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from .capsules import BASE, Covers, LinkCapsule, checked_capsules, moved_capsule
from .check import ANGLE, LENGTH, LINK_FIELDS, bounded
from .inertia import MassProperties, moved
from .model import Array, Model, create
from .rotations import pose, rx, rz


def from_mdh(
    *,
    a: ArrayLike,
    alpha: ArrayLike,
    d: ArrayLike,
    theta: ArrayLike | None = None,
    mass: ArrayLike,
    com: ArrayLike,
    inertia: ArrayLike,
    kinds: str | None = None,
    **rest: Any,
) -> Model:
    """A Model from modified DH.  Lengths in m, angles in rad; `theta` is the offset at q = 0 (0 by default).

    `com` (n, 3) and `inertia` (n, 3, 3) about it are in the modified frame of the link; `rest` goes to `model.create`.
    """
    a, alpha, d, theta, kinds = _table(a, alpha, d, theta, kinds)
    E = np.array([rx(x) @ rz(t) for x, t in zip(alpha, theta, strict=True)])
    p = np.array([[ai, *(rx(x) @ [0, 0, di])[1:]] for ai, x, di in zip(a, alpha, d, strict=True)])
    return create(kinds, E, p, mass, com, inertia, **rest)


def from_dh(
    *,
    a: ArrayLike,
    alpha: ArrayLike,
    d: ArrayLike,
    theta: ArrayLike | None = None,
    mass: ArrayLike,
    com: ArrayLike,
    inertia: ArrayLike,
    kinds: str | None = None,
    tool: ArrayLike | None = None,
    capsules: Sequence[LinkCapsule] = (),
    covers: Mapping[str, Sequence[LinkCapsule]] | Covers = (),
    **rest: Any,
) -> Model:
    """A Model from standard DH; `com`, `inertia` and capsules are in the standard (far) frame of the link, as published
    tables give them, and `tool` stands in the last standard frame."""
    a, alpha, d, theta, kinds = _table(a, alpha, d, theta, kinds)
    n = len(kinds)
    mass, com, inertia = (np.asarray(x, dtype=float) for x in (mass, com, inertia))
    for what, value, shape in (("mass", mass, (n,)), ("com", com, (n, 3)), ("inertia", inertia, (n, 3, 3))):
        if value.shape != shape:
            raise ModelError(f"{what} must have shape {shape}, one row a joint; got {value.shape}")
        names = rest.get("link_names") or [f"link{i + 1}" for i in range(n)]
        for name, row in zip(names, value, strict=False):  # before it is moved; how many names there are is asked later
            bounded(row, LINK_FIELDS[what], f"link {name!r}: {what}")
    far = [pose(rx(alpha[i]), [a[i], 0, 0]) for i in range(n)]  # far frame of link i in its near frame

    def near(capsules: Sequence[LinkCapsule]) -> list[LinkCapsule]:
        checked = checked_capsules(capsules, n, rest.get("name", "arm"))
        return [c if c.link == BASE else moved_capsule(c, far[c.link]) for c in checked]

    links = [moved(MassProperties(float(mass[i]), com[i], inertia[i]), far[i]) for i in range(n)]
    return from_mdh(
        a=np.r_[0, a[:-1]],
        alpha=np.r_[0, alpha[:-1]],
        d=d,
        theta=theta,
        mass=mass,
        com=np.array([link.com for link in links]),
        inertia=np.array([link.inertia for link in links]),
        kinds=kinds,
        tool=far[-1] @ (np.eye(4) if tool is None else np.asarray(tool, dtype=float)),
        capsules=near(capsules),
        covers={name: near(cover) for name, cover in dict(covers).items()},
        **rest,
    )


def _table(*columns: Any) -> tuple[Array, Array, Array, Array, str]:
    """The four columns as arrays of one length, with that many joint kinds."""
    *numbers, kinds = columns
    n = len(np.atleast_1d(np.asarray(numbers[0], dtype=float)))
    table = []
    for what, column in zip(("a", "alpha", "d", "theta"), numbers, strict=True):
        values = np.zeros(n) if column is None else np.asarray(column, dtype=float)
        if values.shape != (n,):
            raise ModelError(f"DH column {what} must have {n} entries like column a; got shape {values.shape}")
        if not np.isfinite(values).all():
            raise ModelError(f"DH column {what} must be finite; got {values}")
        for i, value in enumerate(values):
            bounded(value, LENGTH if what in ("a", "d") else ANGLE, f"DH column {what}, row {i},")
        table.append(values)
    kinds = "R" * n if kinds is None else "".join(kinds).upper()
    if len(kinds) != n:
        raise ModelError(f"kinds must have {n} letters, one a row of the DH table; got {kinds!r}")
    return table[0], table[1], table[2], table[3], kinds
