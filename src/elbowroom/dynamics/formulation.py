"""The records of the registry (quantities.py): a formulation, and a quantity with its formulations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import UnknownNameError, did_you_mean
from . import drives

Function = Callable[..., Any]
Shape = Callable[[int], tuple[int, ...]]

BODIES, MOMENTS, SECOND = "bodies", "moments", "second moments"
"""What a formulation knows of a link: mass, centre and inertia tensor; `model.moments` alone, so that it can be given
the arm with its base parameters; or these, multiplied with the second moments S more than with the inertias."""


@dataclass(frozen=True)
class Formulation:
    """One way to compute a quantity: its function, and all that the others must know about it."""

    method: str
    function: Function
    links: str = BODIES
    fast: bool = False  # competes, by operation count, when no method is named
    long: bool = False  # taken without tracing the others for a long chain (whole_arm.LONG)
    loops_from: int = 0  # joints from which its loops are kept when it is compiled; 0: straight-line code always
    variant: bool = False  # same name, other numbers, by design

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The quantity of the rigid bodies: f(model, q, ...)."""
        return self.function(*args, **named)


@dataclass(frozen=True)
class Quantity:
    """Something to compute, with all the ways to compute it."""

    name: str
    inputs: tuple[str, ...]
    shape: Shape
    formulations: dict[str, Formulation]  # by method
    variants: dict[str, Formulation]  # likewise, those with other numbers
    drives: Callable[[Function], Function] = drives.absent  # how rotors and friction enter
    wrench: bool = False  # takes outside wrenches
    located: bool = False  # is of a point on a link
    result: type[tuple[Any, ...]] | None = None  # the named tuple of several arrays; None: one array
    parts: tuple[Shape, ...] = ()  # shapes of its arrays, where they differ; `shape` is the first's then
    slopes: Function | None = None  # of the whole arm: derivatives(model, numbers of inputs, q, ...), with loops
    slices: tuple[str, str, int] = ("", "", 0)
    """The matrix that its slices are, by unit vectors of which input, and the joints from which loops are kept."""
    most: int = 0  # joints beyond which there is no kernel; 0: as many as there are
    unit: str = ""
    meaning: str = ""

    @property
    def fast(self) -> tuple[str, ...]:
        """Methods that compete when none is named."""
        return tuple(each.method for each in self.formulations.values() if each.fast)

    @property
    def long(self) -> str:
        """The method for a long chain; "" where the fast ones compete there, too."""
        return next((each.method for each in self.formulations.values() if each.long), "")

    @property
    def looped(self) -> tuple[str, ...]:
        """Methods that can be compiled with their loops kept, the fastest first."""
        found = [each for each in self.formulations.values() if each.loops_from]
        return tuple(each.method for each in sorted(found, key=lambda each: not each.long))

    def shapes(self, n: int) -> tuple[tuple[int, ...], ...]:
        """The shapes of its arrays for n joints."""
        fields = getattr(self.result, "_fields", ("",))
        return tuple(part(n) for part in self.parts) or (self.shape(n),) * len(fields)

    def formulation(self, method: str) -> Formulation:
        """The record of a method."""
        known = self.formulations | self.variants
        if method not in known:
            near = did_you_mean(method, known, 3, 0.5)
            raise UnknownNameError(f"method of {self.name} must be one of {', '.join(known)}; got {method!r}{near}")
        return known[method]


def scalar(_: int) -> tuple[int, ...]:
    """Shape of one number."""
    return ()


def per_joint(n: int) -> tuple[int, ...]:
    """Shape of one number a joint."""
    return (n,)


def square(n: int) -> tuple[int, ...]:
    """Shape of one number a pair of joints."""
    return (n, n)


def cube(n: int) -> tuple[int, ...]:
    """Shape of one number a triple of joints."""
    return (n, n, n)


def every_pose(n: int) -> tuple[int, ...]:
    """Shape of a homogeneous matrix a link."""
    return (n, 4, 4)


def one_pose(_: int) -> tuple[int, ...]:
    """Shape of a homogeneous matrix."""
    return (4, 4)


def three_by(n: int) -> tuple[int, ...]:
    """Shape of a column (3,) a joint."""
    return (3, n)


def by_three(n: int) -> tuple[int, ...]:
    """Shape of a row (3,) a joint."""
    return (n, 3)


def per_parameter(n: int) -> tuple[int, ...]:
    """Shape of ten columns a link, a row a joint."""
    return (n, 10 * n)


def fixed(*shape: int) -> Shape:
    """A shape that does not depend on the number of joints."""
    return lambda _: shape


def per_joint_and(k: int) -> Shape:
    """Shape of k numbers a joint."""
    return lambda n: (n, k)
