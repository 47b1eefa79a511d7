"""Quantities of the whole arm: a formulation's rigid bodies, and the drives.

For every method

    inverse_dynamics = M qdd + C qd + g + friction - J^T w       and       forward_dynamics undoes it,

where M has the rotors' inertia on its diagonal.  Methods that know links by their moments alone are given the arm's
base parameters (`model.base_parameters`), and an arm's own program is rearranged (`algebra.rearrange`): up to rounding
the same numbers, in fewer operations.  Symbols are counted as the papers have them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from ..algebra import Program, Rolled, trace
from ..algebra.linalg import Array
from ..algebra.rearrange import rearranged
from ..algebra.rolling import roll
from ..model import Model
from ..model.base_parameters import regrouped
from ..model.rolled import RolledModel
from ..model.symbolic import SymbolicModel
from . import drives
from .quantities import Formulation, quantity

LONG = 30
"""Joints beyond which the asymptotically better method is taken as it is: tracing the others would cost seconds."""

LARGE = 5000
"""Operations beyond which a program stays as it was traced: rearranging saves a few in a hundred and takes seconds."""

LOOPED = {
    "mass_matrix": (16, ("gdahj", "crba")),
    "coriolis_matrix": (12, ("christoffel",)),
    "mass_matrix_rate": (12, ("christoffel",)),
    "mass_matrix_inverse": (16, ("compliance",)),
    "inverse_dynamics": (12, ("rnea",)),
    "bias_torque": (12, ("rnea",)),
    "coriolis_torque": (12, ("rnea",)),
    "gravity_torque": (12, ("rnea",)),
    "forward_dynamics": (12, ("brandl",)),
}
"""Quantities that are compiled with their loops kept: from how many joints on, and the methods that can be, the fastest
first.  Straight-line code knows more zeros but grows with the square of n and leaves the caches; the numbers are where
the two took the same time for one state of a random chain (docs/chains.md)."""

BY_MOMENTS = ("crba", "rnea", "aba", "brandl", "christoffel", "compliance", "rnea_columns", "difference")
"""Methods that know links by `model.moments` alone: they are given the arm with its base parameters."""

BY_SECOND = {(name, "rnea") for name in ("inverse_dynamics", "bias_torque", "coriolis_torque")} | {
    ("forward_dynamics", "brandl"),
    ("forward_dynamics", "crba"),
    ("mass_matrix_rate", "christoffel"),
    ("coriolis_matrix", "christoffel"),
    ("christoffel", "christoffel"),
    ("centrifugal_matrix", "christoffel"),
}
"""Those among them that multiply with the links' second moments S more than with their inertias."""

BY_BODIES = {("kinetic_energy", "rnea")}
"""Quantities for which such a method asks for the links' masses and centres after all."""

_FEEL_ROTORS = (
    "mass_matrix_inverse",
    "diagonal_inertia",
    "quasi_velocities",
    "joint_velocities",
    "quasi_forces",
    "joint_torques",
    "quasi_coriolis",
    "quasi_acceleration",
)


def whole(name: str, method: str) -> Formulation:
    """The function of the whole arm, drives included: f(model, q, ...)."""
    rigid = quantity(name).formulation(method)
    by_moments = method in BY_MOMENTS and (name, method) not in BY_BODIES

    def f(model: Model, *inputs: Any, **named: Any) -> Any:
        if by_moments and isinstance(model, Model) and not isinstance(model, SymbolicModel):
            # symbols are counted as the papers have them; a rolled model was made of the regrouped one
            model = regrouped(model, spread=(name, method) in BY_SECOND)
        return rigid(model, *inputs, **named)

    def mass_matrix(model: Model, q: Array) -> Array:
        return drives.rotors_on_diagonal(model, f(model, q))

    def inverse_dynamics(model: Model, q: Array, qd: Array, qdd: Array, wrench: Array | None = None) -> Array:
        return f(model, q, qd, qdd, wrench) + drives.rotor_torque(model, qdd) + drives.friction_torque(model, qd)

    def forward_dynamics(model: Model, q: Array, qd: Array, tau: Array, wrench: Array | None = None) -> Array:
        driving = tau - drives.friction_torque(model, qd)
        return f(model, q, qd, driving, wrench, joint_inertia=model.rotor_inertia)

    def with_rotors(model: Model, *inputs: Array, **named: Array) -> Array:
        return f(model, *inputs, **named, joint_inertia=model.rotor_inertia)

    def kinetic_energy(model: Model, q: Array, qd: Array) -> Any:
        return f(model, q, qd) + drives.rotor_energy(model, qd)

    if name in _FEEL_ROTORS:
        return with_rotors
    special = (mass_matrix, inverse_dynamics, forward_dynamics, kinetic_energy)
    return {g.__name__: g for g in special}.get(name, f)


def program(
    model: Model, name: str, method: str, *, wrench: str = "", link: int | None = None, point: bool = False
) -> Program:
    """The traced Program of a quantity of the whole arm.

    `wrench` is "" (none), "tool" or "links"; `link` and `point` (an input then) place what is of a point on a link.
    """
    what = quantity(name)
    n = model.n
    inputs: dict[str, tuple[int, ...]] = dict.fromkeys(what.inputs, (n,))
    function = whole(name, method)
    if wrench:
        inputs["wrench"] = (6,) if wrench == "tool" else (n, 6)
    if what.located:
        function = functools.partial(function, link=link)
        if point:
            inputs["point"] = (3,)
    traced = trace(function, model, inputs, name=name, output=name)
    if isinstance(model, SymbolicModel) or len(traced.operations) > LARGE:
        return traced
    return rearranged(traced)


def chosen(model: Model, name: str, method: str | None = None, **options: Any) -> tuple[str, Program | Rolled]:
    """The method, and its code as this arm should have it: straight-line, or with loops for a long chain."""
    joints, methods = LOOPED.get(name, (model.n + 1, ()))
    if model.n >= joints and not options and (method is None or method in methods):
        method = method or methods[0]
        return method, rolled(model, name, method)
    return cheapest(model, name, **options) if method is None else (method, program(model, name, method, **options))


@dataclass(frozen=True)
class Choice:
    """A quantity with its method and options, to be made for a model: `chosen` as data."""

    name: str
    method: str | None = None
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self, model: Model) -> tuple[str, Program | Rolled]:
        """The method, and the code for this model."""
        return chosen(model, self.name, self.method, **dict(self.options))

    def compiled_as(self) -> tuple[Any, ...]:
        """What the code follows from: the registry is open, and a name in it may be another function by now."""
        return self.name, self.method, self.options, quantity(self.name)


def rolled(model: Model, name: str, method: str) -> Rolled:
    """The same with its loops over joints kept, for quantities and methods of `LOOPED`."""
    what = quantity(name)
    own = regrouped(model, spread=(name, method) in BY_SECOND) if method in BY_MOMENTS else model
    return roll(
        whole(name, method),
        RolledModel(own),
        what.inputs,
        what.shape(model.n),
        name=name,
        straight=functools.cache(lambda: program(model, name, method)),
    )


def cheapest(model: Model, name: str, **options: Any) -> tuple[str, Program]:
    """The method with the fewest operations for this very arm, among the registry's fast ones, and its Program.

    A sine or cosine is taken for ten operations and a division for four, which is about what they cost on a CPU.
    """
    what = quantity(name)
    candidates = (what.long,) if what.long and model.n > LONG else what.fast
    traced = {method: program(model, name, method, **options) for method in candidates}

    def cost(method: str) -> int:
        count = traced[method].count
        return count.total + 3 * count.div + 10 * count.sincos + count.other

    best = min(traced, key=cost)
    return best, traced[best]
