"""The robot, as data: a serial chain of n joints, frozen, validated and read-only.

Joint i moves about (`R`) or along (`P`) the z axis of its own frame i.  At q_i = 0 that frame stands in frame i-1
(frame 0 is the base) with rotation `E[i]` and origin `p[i]`:

    revolute    R_i = E_i Rz(q_i)      p_i
    prismatic   R_i = E_i              p_i + q_i E_i z

Link i is rigid in frame i: `mass`, `com` (centre of mass), `inertia` (about the centre of mass, axes of frame i).
Modified Denavit-Hartenberg is the special case E = Rx(alpha) Rz(theta), p = (a, -d sin alpha, d cos alpha).

`capsules` cover the links from outside (model/capsules.py); `covers` holds other such sets by name.  They say where the
arm is, not how it moves, so `digest` does not depend on them.

Everything is SI.  Drive quantities are as the joint feels them: `rotor_inertia` is the motor's inertia times the gear
ratio squared, `viscous` and `coulomb` are friction at the joint.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algebra import Array as Array
from ..algebra import Scalar
from ..algebra.linalg import PrincipalForm, principal_form
from ..errors import ModelError, UnknownNameError
from .capsules import Covers, LinkCapsule, checked_capsules, checked_covers
from .check import ANGLE, FIELDS, LENGTH, LINK_FIELDS, RATIO, bounded

if TYPE_CHECKING:
    from .symbolic import SymbolicModel

STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # m/s^2, world z up


class Moments(NamedTuple):
    """A body about its frame's origin: mass, first moment h = m c (3,), inertia I (3, 3), S = int x x^T dm (3, 3)."""

    mass: Scalar
    first: Array
    inertia: Array
    second: Array


class Split(NamedTuple):
    """E = twist Rz(theta) with twist = Rx(alpha), and p = (a, 0, 0) + twist (0, 0, along_z); None if p is not so."""

    twist: Array  # (3, 3); all of E, with theta 0, where it is no such product
    theta: Scalar
    along_z: Scalar | None


@dataclass(frozen=True, eq=False)
class Model:
    """n joints and n links in a chain.  Build one with `model.create`, a loader, or `dataclasses.replace`."""

    unchanging = True  # compile/identity.py looks into each once

    name: str
    kinds: str  # one letter a joint: R revolute, P prismatic
    joint_names: tuple[str, ...]
    link_names: tuple[str, ...]
    E: Array = field(repr=False)  # (n, 3, 3)
    p: Array = field(repr=False)  # (n, 3)
    mass: Array = field(repr=False)  # (n,)
    com: Array = field(repr=False)  # (n, 3)
    inertia: Array = field(repr=False)  # (n, 3, 3)
    lower: Array = field(repr=False)  # (n,) rad or m, -inf where unlimited
    upper: Array = field(repr=False)  # (n,)
    velocity: Array = field(repr=False)  # (n,) rad/s or m/s, inf where unlimited
    effort: Array = field(repr=False)  # (n,) N m or N
    viscous: Array = field(repr=False)  # (n,) N m s/rad or N s/m
    coulomb: Array = field(repr=False)  # (n,) N m or N
    rotor_inertia: Array = field(repr=False)  # (n,) kg m^2 or kg, reflected to the joint
    base: Array = field(repr=False)  # (4, 4) frame 0 in the world
    gravity: Array = field(repr=False)  # (3,) in the world
    tool: Array = field(repr=False)  # (4, 4) tool in frame n
    ready: Array = field(repr=False)  # (n,) a configuration to start from
    description: str = field(default="", repr=False)
    source: str = field(default="", repr=False)
    capsules: tuple[LinkCapsule, ...] = field(default=(), repr=False)  # the arm's own cover; () where none is known
    covers: Covers = field(default=(), repr=False)  # other covers by name
    has_ready: bool = field(default=True, repr=False)  # whether `ready` was given; else it only lies within the limits
    estimated: tuple[str, ...] = field(default=(), repr=False)  # links whose mass or inertia is a guess (inertia.py)

    def __post_init__(self) -> None:
        n = len(self.kinds)
        if n == 0 or set(self.kinds) - {"R", "P"}:
            raise ModelError(
                f"{self.name}: kinds must be one letter a joint, R (revolute) or P (prismatic); got {self.kinds!r}"
            )
        for what, names in (("joint_names", self.joint_names), ("link_names", self.link_names)):
            if len(names) != n:
                raise ModelError(f"{self.name}: {what} must have {n} names; got {len(names)}")
        for what, shape in _shapes(n).items():
            array = _frozen(self.name, what, getattr(self, what), shape, self._owners(what))
            object.__setattr__(self, what, array)
        object.__setattr__(self, "capsules", checked_capsules(self.capsules, n, self.name))
        object.__setattr__(self, "covers", checked_covers(self.covers, n, self.name))
        self._straighten()
        self._validate()

    def _owners(self, what: str) -> tuple[str, ...]:
        """Whose numbers the rows of an array are, for messages; () where they belong to the whole arm."""
        if what in ("base", "gravity", "tool"):
            return ()
        part, names = ("link", self.link_names) if what in LINK_FIELDS else ("joint", self.joint_names)
        return tuple(f"{part} {name!r}: " for name in names)

    def _straighten(self) -> None:
        """Every rotation becomes one to the last digit, or is refused."""
        E, base, tool = self.E.copy(), self.base.copy(), self.tool.copy()
        for i, joint in enumerate(self.joint_names):
            E[i] = _rotation(E[i], f"{self.name}: joint {joint!r}: placement rotation E")
        for what, T in (("base", base), ("tool", tool)):
            T[:3, :3] = _rotation(T[:3, :3], f"{self.name}: {what} pose")
        for what, array in (("E", E), ("base", base), ("tool", tool)):
            array.flags.writeable = False
            object.__setattr__(self, what, array)

    def _validate(self) -> None:
        """Refuse what has no meaning whatever the rest of the arm looks like, and what no formula could take."""
        for what, bound in FIELDS.items():
            values = getattr(self, what)
            if not (np.abs(values) <= bound.most).all():
                for row, owner in (
                    zip(values, self._owners(what), strict=True) if self._owners(what) else [(values, "")]
                ):
                    bounded(row, bound, f"{self.name}: {owner}{what}")
        for what in ("base", "tool"):
            bounded(getattr(self, what)[:3, 3], LENGTH, f"{self.name}: origin of the {what} pose")
        for i, link in enumerate(self.link_names):
            joint = self.joint_names[i]
            if self.mass[i] < 0:
                raise ModelError(f"{self.name}: link {link!r}: mass must not be negative; got {self.mass[i]:g} kg")
            asymmetry = np.abs(self.inertia[i] - self.inertia[i].T).max()
            if asymmetry > 1e-9 * max(1e-12, float(np.abs(self.inertia[i]).max())):
                raise ModelError(
                    f"{self.name}: link {link!r}: inertia must be symmetric; entries differ by {asymmetry:.3g}"
                )
            if self.lower[i] > self.upper[i]:
                raise ModelError(
                    f"{self.name}: joint {joint!r}: lower limit must not exceed the upper one; "
                    f"got {self.lower[i]:g} > {self.upper[i]:g}"
                )
            for what in ("velocity", "effort", "viscous", "coulomb", "rotor_inertia"):
                value = getattr(self, what)[i]
                if value < 0:
                    raise ModelError(f"{self.name}: joint {joint!r}: {what} must not be negative; got {value:g}")
        for what in ("base", "tool"):
            T = getattr(self, what)
            if not np.array_equal(T[3], [0, 0, 0, 1]):
                raise ModelError(f"{self.name}: last row of the {what} pose must be 0 0 0 1; got {T[3]}")

    @property
    def n(self) -> int:
        """How many joints (and links) the chain has."""
        return len(self.kinds)

    def revolute(self, i: int) -> bool:
        """Whether joint i turns (else it slides)."""
        return self.kinds[i] == "R"

    def sampling_range(self) -> tuple[Array, Array]:
        """Bounds (n,) within the limits to draw configurations from: at most a turn where a limit is open or far."""
        low, high = np.maximum(self.lower, -1e6), np.minimum(self.upper, 1e6)
        wide = high - low > 4 * math.pi
        middle = np.clip(0.0, np.where(np.isfinite(self.lower), low + math.pi, -math.inf), high - math.pi)
        low, high = np.where(wide, middle - math.pi, low), np.where(wide, middle + math.pi, high)
        return low, np.maximum(low, high)

    def split(self, i: int) -> Split:
        """Placement i in the parts of a Denavit-Hartenberg row, as far as it is one."""
        E = self.E[i]
        if E[0, 2] != 0.0:  # not Rx Rz
            return Split(E, 0.0, None)
        c, s = E[2, 2], -E[1, 2]
        twist = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        aside = float(c * self.p[i][1] + s * self.p[i][2])
        along = float(c * self.p[i][2] - s * self.p[i][1])
        rounding = 1e-15 * float(np.abs(self.p[i]).max())
        theta = math.atan2(-E[0, 1], E[0, 0])
        return Split(twist, theta, along if abs(aside) <= rounding else None)

    @cached_property
    def moments(self) -> tuple[Moments, ...]:
        """Every link about its own frame: all that its motion feels of it, and linear in what it is made of."""
        from .inertia import about_origin, second_moment

        found = []
        for m, c, about_com in zip(self.mass, self.com, self.inertia, strict=True):
            inertia = about_origin(m, c, about_com)
            found.append(Moments(m, m * c, inertia, second_moment(inertia)))
        return tuple(found)

    @cached_property
    def parameters(self) -> Array:
        """The links' inertial parameters (10 n,), read-only, in the order of `regressor`'s columns (parameters.py)."""
        from .parameters import parameters

        found = parameters(self)
        found.flags.writeable = False
        return found

    def principal(self, i: int) -> PrincipalForm:
        """Link i's inertia in the form that turns most cheaply (algebra.tensors), made before the robot moves."""
        return principal_form(self.inertia[i])

    @cached_property
    def digest(self) -> str:
        """A hash of what its dynamics go by, so without covers, `has_ready`, `estimated`; the same in every process."""
        h = hashlib.sha256()
        for f in dataclasses.fields(self):
            if f.name in ("capsules", "covers", "has_ready", "estimated"):
                continue
            value = getattr(self, f.name)
            data = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
            h.update(f"{f.name}:{len(data)}:".encode() + data)
        return h.hexdigest()

    def __hash__(self) -> int:
        return int(self.digest[:15], 16)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and all(
            getattr(self, what) == getattr(other, what)
            for what in ("digest", "capsules", "covers", "has_ready", "estimated")
        )

    def cover(self, name: str) -> tuple[LinkCapsule, ...]:
        """The capsules of the cover of that name."""
        known = dict(self.covers)
        if name not in known:
            has = ", ".join(map(repr, known)) if known else "no cover beside its own capsules"
            raise UnknownNameError(f"{self.name}: no cover {name!r}; it has {has}")
        return known[name]

    def with_payload(self, mass: float, com: ArrayLike = (0, 0, 0), inertia: ArrayLike | None = None) -> Model:
        """The same arm holding a body in its tool frame (com and inertia about its com, in that frame)."""
        from .inertia import MassProperties, merge, moved

        if not mass >= 0 or not math.isfinite(mass):
            raise ModelError(f"{self.name}: payload mass must be finite and not negative; got {mass} kg")
        load = MassProperties(
            float(mass),
            _frozen(self.name, "payload com", com, (3,)),
            _frozen(self.name, "payload inertia", np.zeros((3, 3)) if inertia is None else inertia, (3, 3)),
        )
        for part, bound in LINK_FIELDS.items():  # asked before it is merged and has no name
            bounded(getattr(load, part), bound, f"{self.name}: payload {part}")
        moments = np.linalg.eigvalsh(load.inertia)
        if np.abs(load.inertia - load.inertia.T).max() > 1e-9 * max(1e-12, float(np.abs(load.inertia).max())):
            raise ModelError(f"{self.name}: payload inertia must be symmetric; got\n{load.inertia}")
        if moments[0] < -1e-12 * max(1.0, float(moments[-1])):
            raise ModelError(f"{self.name}: payload inertia must not have negative moments; got {moments}")
        last = MassProperties(float(self.mass[-1]), self.com[-1], self.inertia[-1])
        both = merge(last, moved(load, self.tool))
        mass_, com_, inertia_ = self.mass.copy(), self.com.copy(), self.inertia.copy()
        mass_[-1], com_[-1], inertia_[-1] = both
        return dataclasses.replace(self, mass=mass_, com=com_, inertia=inertia_)

    def with_tool(self, tool: ArrayLike) -> Model:
        """The same arm with its tool frame at `tool` (4, 4) in the last link's frame."""
        return dataclasses.replace(self, tool=_frozen(self.name, "tool", tool, (4, 4)))

    def with_base(self, base: ArrayLike) -> Model:
        """The same arm mounted at `base` (4, 4) in the world; gravity stays the world's."""
        return dataclasses.replace(self, base=_frozen(self.name, "base", base, (4, 4)))

    def with_gravity(self, gravity: ArrayLike) -> Model:
        """The same arm under another gravity vector (3,), m/s^2 in the world."""
        return dataclasses.replace(self, gravity=_frozen(self.name, "gravity", gravity, (3,)))

    def without_friction(self) -> Model:
        """The same with drives that have none."""
        none = _frozen(self.name, "viscous", np.zeros(self.n), (self.n,))
        return dataclasses.replace(self, viscous=none, coulomb=none)

    def symbolic(self, condition: str = "general") -> SymbolicModel:
        """This chain with symbols for numbers, to count operations with; see `symbolic.py`."""
        from .symbolic import symbolic

        return symbolic(self.kinds, condition, self.name)


def create(
    kinds: str | Sequence[str],
    E: ArrayLike,
    p: ArrayLike,
    mass: ArrayLike,
    com: ArrayLike,
    inertia: ArrayLike,
    *,
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
    """A Model with defaults for what is left out: no limits, no friction, no rotors, identity base and tool.

    With `gear_ratio`, `rotor_inertia` is the motor's own and is reflected to the joint here.
    """
    kinds = "".join(kinds)
    n = len(kinds)

    def per_joint(value: ArrayLike | None, default: float) -> Array:
        return np.full(n, default) if value is None else np.asarray(value, dtype=float)

    low, high = per_joint(lower, -math.inf), per_joint(upper, math.inf)
    for what, limit in (("lower", low), ("upper", high)):
        if limit.shape != (n,):
            raise ModelError(f"{name}: {what} must have shape ({n},); got {limit.shape}")
    rotor = per_joint(rotor_inertia, 0.0)
    if gear_ratio is not None:
        ratio = np.asarray(gear_ratio, dtype=float)
        bounded(ratio, RATIO, f"{name}: gear_ratio")
        with np.errstate(over="ignore"):  # what is infinite then is refused by name
            rotor = rotor * ratio**2
    has_ready = ready is not None
    if ready is None:  # zero where the limits allow it, else the middle, or the limit where the other is none
        near = (np.abs(low) <= ANGLE.most) & (np.abs(high) <= ANGLE.most)
        middle = np.where(near, (np.where(near, low, 0.0) + np.where(near, high, 0.0)) / 2, np.clip(0.0, low, high))
        ready = np.where((low <= 0) & (high >= 0), 0.0, middle)
    return Model(
        name=name,
        kinds=kinds,
        joint_names=tuple(joint_names) if joint_names is not None else tuple(f"joint{i + 1}" for i in range(n)),
        link_names=tuple(link_names) if link_names is not None else tuple(f"link{i + 1}" for i in range(n)),
        E=np.asarray(E, dtype=float),
        p=np.asarray(p, dtype=float),
        mass=np.asarray(mass, dtype=float),
        com=np.asarray(com, dtype=float),
        inertia=np.asarray(inertia, dtype=float),
        lower=low,
        upper=high,
        velocity=per_joint(velocity, math.inf),
        effort=per_joint(effort, math.inf),
        viscous=per_joint(viscous, 0.0),
        coulomb=per_joint(coulomb, 0.0),
        rotor_inertia=rotor,
        base=np.eye(4) if base is None else np.asarray(base, dtype=float),
        gravity=np.asarray(gravity, dtype=float),
        tool=np.eye(4) if tool is None else np.asarray(tool, dtype=float),
        ready=np.asarray(ready, dtype=float),
        description=description,
        source=source,
        capsules=tuple(capsules),
        covers=checked_covers(covers, n, name),
        has_ready=has_ready,
    )


def _shapes(n: int) -> dict[str, tuple[int, ...]]:
    per_joint = (
        "lower",
        "upper",
        "velocity",
        "effort",
        "viscous",
        "coulomb",
        "rotor_inertia",
        "ready",
        "mass",
    )
    return dict.fromkeys(per_joint, (n,)) | {
        "E": (n, 3, 3),
        "p": (n, 3),
        "com": (n, 3),
        "inertia": (n, 3, 3),
        "base": (4, 4),
        "gravity": (3,),
        "tool": (4, 4),
    }


_MAY_BE_INFINITE = {"lower", "upper", "velocity", "effort"}


def _frozen(model: str, what: str, value: ArrayLike, shape: tuple[int, ...], owners: tuple[str, ...] = ()) -> Array:
    """A read-only float64 copy of the given shape, finite; `owners` begin the complaint about a row."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{model}: {what} must be numbers of shape {shape}; got {value!r}") from error
    if array.shape != shape:
        raise ModelError(f"{model}: {what} must have shape {shape}; got {array.shape}")
    bad = np.isnan(array) if what in _MAY_BE_INFINITE else ~np.isfinite(array)
    if bad.any():
        at = tuple(int(k) for k in np.argwhere(bad)[0])
        owner = owners[at[0]] if owners else ""
        raise ModelError(f"{model}: {owner}{what} must be finite; got {array[at]} at {at}")
    array += 0.0  # -0.0 becomes 0.0, so that equal models hash equally
    array.flags.writeable = False
    return array


def _rotation(R: Array, what: str) -> Array:
    """The rotation that R stands for: R itself, or the nearest one if it was typed with a few decimals.

    1e-5: a matrix typed with six decimals passes, a scaled or mirrored one does not.
    """
    off = np.abs(R @ R.T - np.eye(3)).max() if np.abs(R).max() < 2.0 else math.inf  # no square may overflow
    if off > 1e-5 or np.linalg.det(R) < 0:
        raise ModelError(f"{what} must be a rotation matrix; got\n{R}")
    if off < 1e-12:  # rounding; exact zeros and ones stay
        return R
    U, _, V = np.linalg.svd(R)
    return U @ V
