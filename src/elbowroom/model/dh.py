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

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, did_you_mean
from .capsules import BASE, Covers, LinkCapsule, checked_capsules, moved_capsule
from .check import ANGLE, LENGTH, LINK_FIELDS, bounded
from .inertia import MassProperties, moved
from .model import STANDARD_GRAVITY, Array, Model, create
from .rotations import pose, rx, rz

P = ParamSpec("P")
R = TypeVar("R")

SYNONYMS = {
    "damping": "viscous",
    "friction": "coulomb, or viscous for friction that grows with speed",
    "frictionloss": "coulomb",
    "armature": "rotor_inertia",
    "limits": "lower and upper, or velocity, or effort",
    "range": "lower and upper",
    "qlim": "lower and upper",
    "torque": "effort",
    "offset": "theta",
}
"""What other libraries and formats call the same things."""


def _known_arguments(maker: Callable[P, Model]) -> Callable[P, Model]:
    """A decorator: an argument of another name is a TypeError that names the right one."""
    known = inspect.signature(maker).parameters

    @functools.wraps(maker)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Model:
        for name in kwargs:
            if name not in known:
                means = SYNONYMS.get(name.lower())
                hint = f"; did you mean {means}?" if means else did_you_mean(name, known)
                raise TypeError(
                    f"{maker.__name__}: unknown argument {name!r}{hint or '; expected ' + ', '.join(known)}"
                )
        return maker(*args, **kwargs)

    return checked


@_known_arguments
def from_mdh(
    *,
    a: ArrayLike,
    alpha: ArrayLike,
    d: ArrayLike,
    theta: ArrayLike | None = None,
    mass: ArrayLike,
    com: ArrayLike,
    inertia: ArrayLike,
    kinds: str | Sequence[str] | None = None,
    name: str = "arm",
    joint_names: Sequence[str] | None = None,
    link_names: Sequence[str] | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    viscous: ArrayLike | None = None,
    coulomb: ArrayLike | None = None,
    rotor_inertia: ArrayLike | None = None,
    gear_ratio: ArrayLike | None = None,
    base: ArrayLike | None = None,
    gravity: ArrayLike = STANDARD_GRAVITY,
    tool: ArrayLike | None = None,
    ready: ArrayLike | None = None,
    description: str = "",
    source: str = "",
    capsules: Sequence[LinkCapsule] = (),
    covers: Mapping[str, Sequence[LinkCapsule]] | Covers = (),
) -> Model:
    """A Model from modified DH; every argument is by name.  SI units: m, rad, kg, s.

    a, alpha, d, theta  (n,) the table at q = 0: m, rad, m, rad; theta may be left out for zeros
    mass                (n,) of the links, kg
    com                 (n, 3) centre of mass in the link's modified frame, m
    inertia             (n, 3, 3) about it, in the frame's axes, kg m^2
    kinds               one letter a joint, R revolute or P prismatic; all R if left out
    lower, upper        (n,) joint limits, rad or m; none if left out, likewise the two below
    velocity, effort    (n,) limits: rad/s or m/s, N m or N
    viscous, coulomb    (n,) friction at the joint: N m s/rad or N s/m, N m or N; none if left out
    rotor_inertia       (n,) kg m^2 or kg, as the joint feels it; with gear_ratio (n,) the motor's own
    base, tool          (4, 4) frame 0 in the world, and the tool in the last frame; identity if left out
    gravity             (3,) in the world, m/s^2
    ready               (n,) a configuration to start from, rad or m; searched for if left out
    capsules, covers    what covers the links from outside, in the links' modified frames (model/capsules.py)
    """
    a, alpha, d, theta, kinds = _table(a, alpha, d, theta, kinds)
    E = np.array([rx(x) @ rz(t) for x, t in zip(alpha, theta, strict=True)])
    p = np.array([[ai, *(rx(x) @ [0, 0, di])[1:]] for ai, x, di in zip(a, alpha, d, strict=True)])
    return create(
        kinds,
        E,
        p,
        mass,
        com,
        inertia,
        name=name,
        joint_names=joint_names,
        link_names=link_names,
        lower=lower,
        upper=upper,
        velocity=velocity,
        effort=effort,
        viscous=viscous,
        coulomb=coulomb,
        rotor_inertia=rotor_inertia,
        gear_ratio=gear_ratio,
        base=base,
        gravity=gravity,
        tool=tool,
        ready=ready,
        description=description,
        source=source,
        capsules=capsules,
        covers=covers,
    )


@_known_arguments
def from_dh(
    *,
    a: ArrayLike,
    alpha: ArrayLike,
    d: ArrayLike,
    theta: ArrayLike | None = None,
    mass: ArrayLike,
    com: ArrayLike,
    inertia: ArrayLike,
    kinds: str | Sequence[str] | None = None,
    name: str = "arm",
    joint_names: Sequence[str] | None = None,
    link_names: Sequence[str] | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    viscous: ArrayLike | None = None,
    coulomb: ArrayLike | None = None,
    rotor_inertia: ArrayLike | None = None,
    gear_ratio: ArrayLike | None = None,
    base: ArrayLike | None = None,
    gravity: ArrayLike = STANDARD_GRAVITY,
    tool: ArrayLike | None = None,
    ready: ArrayLike | None = None,
    description: str = "",
    source: str = "",
    capsules: Sequence[LinkCapsule] = (),
    covers: Mapping[str, Sequence[LinkCapsule]] | Covers = (),
) -> Model:
    """A Model from standard DH, with the arguments of `from_mdh`.

    `com`, `inertia`, `capsules` and `covers` are in the standard (far) frame of the link, as published tables give
    them, and `tool` stands in the last standard frame.
    """
    a, alpha, d, theta, kinds = _table(a, alpha, d, theta, kinds)
    n = len(kinds)
    mass, com, inertia = (np.asarray(x, dtype=float) for x in (mass, com, inertia))
    for what, value, shape in (("mass", mass, (n,)), ("com", com, (n, 3)), ("inertia", inertia, (n, 3, 3))):
        if value.shape != shape:
            raise ModelError(f"{what} must have shape {shape}, one row a joint; got {value.shape}")
        names = link_names or [f"link{i + 1}" for i in range(n)]
        for link, row in zip(names, value, strict=False):  # before it is moved; how many names there are is asked later
            bounded(row, LINK_FIELDS[what], f"link {link!r}: {what}")
    far = [pose(rx(alpha[i]), [a[i], 0, 0]) for i in range(n)]  # far frame of link i in its near frame

    def near(capsules: Sequence[LinkCapsule]) -> list[LinkCapsule]:
        checked = checked_capsules(capsules, n, name)
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
        covers={which: near(cover) for which, cover in dict(covers).items()},
        name=name,
        joint_names=joint_names,
        link_names=link_names,
        lower=lower,
        upper=upper,
        velocity=velocity,
        effort=effort,
        viscous=viscous,
        coulomb=coulomb,
        rotor_inertia=rotor_inertia,
        gear_ratio=gear_ratio,
        base=base,
        gravity=gravity,
        ready=ready,
        description=description,
        source=source,
    )


def _table(
    a: ArrayLike, alpha: ArrayLike, d: ArrayLike, theta: ArrayLike | None, kinds: str | Sequence[str] | None
) -> tuple[Array, Array, Array, Array, str]:
    """The four columns as arrays of one length, with that many joint kinds."""
    n = len(np.atleast_1d(np.asarray(a, dtype=float)))
    table = []
    for what, column in (("a", a), ("alpha", alpha), ("d", d), ("theta", theta)):
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


def parameters_of(maker: Callable[P, Model]) -> Callable[[Callable[..., R]], Callable[Concatenate[Any, P], R]]:
    """A decorator: gives a class method the parameters of a function here, for editors, mypy and `inspect`.

    What the function says of them follows the first line of the method's docstring.
    """
    cls = inspect.Parameter("cls", inspect.Parameter.POSITIONAL_ONLY)
    parameters = [cls, *inspect.signature(maker).parameters.values()]

    def signed(method: Any) -> Any:
        returns = inspect.signature(method).return_annotation
        method.__signature__ = inspect.Signature(parameters, return_annotation=returns)
        method.__doc__ = f"{method.__doc__}\n\n{inspect.getdoc(maker)}"
        return method

    return signed
