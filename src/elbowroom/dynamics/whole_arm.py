"""Quantities of the whole arm: a formulation's rigid bodies, and the drives.

For every method

    inverse_dynamics = M qdd + C qd + g + friction - J^T w       and       forward_dynamics undoes it,

where M has the rotors' inertia on its diagonal.  Methods that know links by their moments alone are given the arm's
base parameters (`model.base_parameters`), and an arm's own program is rearranged (`algebra.rearrange`): up to rounding
the same numbers, in fewer operations.  Symbols are counted as the papers have them.

A mass matrix can be computed with if it is finite, and positive definite with digits to spare.  Eliminated from the
tip inwards, M = L^T D L, and D_k is the inertia that joint k moves while the joints beyond it are free.  It is at most
M_kk, where they are locked, and what is left of M_kk has lost as many digits as the quotient says. The quotient does
not depend on units: a slide beside a turning joint, or a light tip on a heavy arm, is no loss.
"""

from __future__ import annotations

import functools
import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np

from ..algebra import Program, Rolled, Sliced, trace
from ..algebra.derivatives import MOST_OPERATIONS, estimate
from ..algebra.rearrange import rearranged
from ..algebra.rolling import roll
from ..errors import ModelError, UnknownNameError
from ..model import Finding, Model, findings
from ..model.base_parameters import regrouped
from ..model.model import Array
from ..model.symbolic import RolledModel, SymbolicModel
from .formulation import BODIES, MOMENTS, SECOND, Formulation, Function, square
from .quantities import quantity

LEAST = 1e-30
"""kg m^2 or kg: the inverse of less overflows in float32, and so do accelerations under small torques."""

LOST = 1e-12
"""Of float64's 16 digits 12 are gone: nothing that is computed with the rest means anything.  Chains of a hundred links
have 1e-3, arms of the catalogue 0.3 and more."""


def examine(model: Model) -> list[Finding]:
    """What looks wrong with a model, and an error, first, where its mass matrix is not positive definite.

    A model whose links are all sound has one at every configuration unless digits are lost, which two show; where a
    link is suspect, five are looked at.
    """
    found = findings(model)
    suspects = list(dict.fromkeys(f.where for f in found if f.suspect))
    rng = np.random.default_rng(0)
    for q in rng.uniform(*model.sampling_range(), (5 if suspects else 2, model.n)):
        M = whole("mass_matrix", "crba")(model, q)
        k = lost_joint(M)
        if k is not None:
            where = ", ".join(suspects) or f"link {model.link_names[k]!r}"
            joint = f"the mass matrix is not positive definite: joint {model.joint_names[k]!r}"
            what = (
                f"{joint} moves nothing that has a mass"
                if M[k, k] == 0.0
                else f"{joint} moves {M[k, k]:.3g}, of which nothing is left with the joints beyond it free"
            )
            return [Finding("error", where, what), *found]
    return found


def lost_joint(M: Array) -> int | None:
    """The outermost joint whose D_k is not finite, not positive or lost in rounding; None if all are sound."""
    left = np.array(M, dtype=float)
    for k in range(len(M) - 1, -1, -1):
        if not (M[k, k] >= LEAST and left[k, k] > LOST * M[k, k] and np.isfinite(M[k]).all()):
            return k
        left[:k, :k] -= np.outer(left[:k, k], left[k, :k] / left[k, k])
    return None


LONG = 30
"""Joints beyond which the asymptotically better method is taken as it is: tracing the others would cost seconds."""

LARGE = 5000
"""Operations beyond which a program stays as it was traced: rearranging saves a few in a hundred and takes seconds."""


class Options(TypedDict, total=False):
    """What `program` may be asked for besides: outside wrenches, and the point that something is of."""

    wrench: str
    link: int | None
    point: bool


def whole(name: str, method: str, links: str = "") -> Function:
    """The function of the whole arm, drives included: f(model, q, ...).

    `links`: the base parameters to give it, MOMENTS or SECOND, where it takes any; its own choice if empty.
    """
    what = quantity(name)
    rigid = what.formulation(method)

    def f(model: Model, *inputs: Any, **named: Any) -> Any:
        if isinstance(model, Model) and not isinstance(model, SymbolicModel):
            # symbols are counted as the papers have them; a rolled model was made of the regrouped one
            model = _known_links(model, rigid, links)
        return rigid(model, *inputs, **named)

    return what.drives(f)


def _known_links(model: Model, formulation: Formulation, links: str = "") -> Model:
    """The model with its base parameters, for a formulation that knows links by their moments alone."""
    if formulation.links == BODIES:
        return model
    return regrouped(model, spread=(links or formulation.links) == SECOND)


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


def chosen(
    model: Model, name: str, method: str | None = None, **options: Unpack[Options]
) -> tuple[str, Program | Rolled | Sliced]:
    """The method, and its code as this arm should have it: straight-line, or with loops for a long chain."""
    what = quantity(name)
    if what.most and model.n > what.most:
        raise ModelError(
            f"{name}: expected up to {what.most} joints in one kernel; got {model.n}, a straight line of a million "
            f"operations; arm.{name}(...) takes any number, of several kernels"
        )
    looped = method or next(iter(what.looped), "")
    if not options.keys() - {"wrench"} and looped in what.looped and model.n >= what.formulation(looped).loops_from:
        return looped, rolled(model, name, looped, options.get("wrench", ""))
    if not options and what.slices[0] and method in (None, *what.fast) and model.n >= what.slices[2]:
        return what.fast[0], sliced(model, name)
    return cheapest(model, name, **options) if method is None else (method, program(model, name, method, **options))


@dataclass(frozen=True)
class Choice:
    """A quantity, or several in one kernel, with methods, options and derivatives, to be made for a model."""

    name: str | tuple[str, ...]
    method: str | tuple[str, ...] | None = None
    options: tuple[tuple[str, Any], ...] = ()
    derivative: tuple[str, ...] = ()  # inputs to differentiate by

    def __call__(self, model: Model) -> tuple[str, Program | Rolled | Sliced]:
        """The method, and the code for this model."""
        self._refuse_entries(model)
        made: tuple[str, Program | Rolled | Sliced]
        if isinstance(self.name, tuple):
            made = together(model, self.name, self.method if isinstance(self.method, tuple) else None)
        else:
            method = self.method if isinstance(self.method, str) else None
            made = chosen(model, self.name, method, **dict(self.options))
        if not self.derivative:
            return made
        looped = isinstance(made[1], Rolled) and isinstance(self.name, str) and not self.options
        if looped and isinstance(self.name, str) and quantity(self.name).slopes is not None:
            return "recursion", rolled_slopes(model, self.name, self.derivative)
        return made[0], self._jacobian(model, made[1])

    def _refuse_entries(self, model: Model) -> None:
        """A derivative that is too long by its entries alone: tracing the quantity would take minutes."""
        for name in (self.name,) if isinstance(self.name, str) else self.name:
            entries = sum(math.prod(shape) for shape in quantity(name).shapes(model.n)) * model.n * len(self.derivative)
            if entries > 4 * MOST_OPERATIONS:  # a few of them may be equal, or zero
                raise ModelError(
                    f"{name}: derivative={', '.join(map(repr, self.derivative))}: expected up to {MOST_OPERATIONS:,} "
                    f"operations, some ten seconds to compile; for {model.n} joints there are {entries:,} entries"
                )

    def _jacobian(self, model: Model, made: Program | Rolled | Sliced) -> Program:
        """The derivative as a straight line; refused if that is too long."""
        looped = isinstance(made, Rolled)
        straight = getattr(made, "straight", None)
        program = made if straight is None else straight()
        assert isinstance(program, Program)
        about = estimate(program, self.derivative)
        if about > MOST_OPERATIONS:
            by = ", ".join(map(repr, self.derivative))
            product = f"arm.compile({self.name!r}).jvp({by})"
            hint = f"; {product} keeps the loops and gives products with a vector" if looped else ""
            raise ModelError(
                f"{self.name if isinstance(self.name, str) else ', '.join(self.name)}: derivative={by}: expected up to "
                f"{MOST_OPERATIONS:,} operations in a straight line, some ten seconds to compile; for {model.n} joints "
                f"there are about {about:,}{hint}"
            )
        return program.jacobian(*self.derivative)

    def compiled_as(self) -> tuple[Any, ...]:
        """What the code follows from: the registry is open, and a name in it may be another function by now."""
        names = (self.name,) if isinstance(self.name, str) else self.name
        return self.name, self.method, self.options, self.derivative, *map(quantity, names)


def rolled_slopes(model: Model, name: str, by: tuple[str, ...]) -> Rolled:
    """The derivatives of a quantity by some of its inputs with loops over joints kept."""
    what = quantity(name)
    result = namedtuple("Slopes", [f"{name}_d{port}" for port in by])  # type: ignore[misc]  # names of now
    numbers = tuple(what.inputs.index(port) for port in by)

    def function(of: Any, **inputs: Any) -> Any:
        assert what.slopes is not None  # which the caller looks at
        return result(*what.slopes(of, numbers, *inputs.values()))

    return roll(
        function,
        RolledModel(regrouped(model, spread=True)),
        what.inputs,
        square(model.n),
        name=f"{name}_jacobian",
        straight=functools.cache(lambda: program(model, name, what.looped[0]).jacobian(*by)),
    )


def rolled(model: Model, name: str, method: str, wrench: str = "") -> Rolled:
    """The same with its loops over joints kept, for methods that the registry has `loops_from` of."""
    what = quantity(name)
    return roll(
        whole(name, method),
        RolledModel(_known_links(model, what.formulation(method))),
        what.inputs,
        what.shape(model.n),
        name=name,
        straight=functools.cache(lambda: program(model, name, method, wrench=wrench)),
        more={"wrench": (6,) if wrench == "tool" else (model.n, 6)} if wrench else {},
    )


def sliced(model: Model, name: str) -> Sliced:
    """A quantity of three axes, one matrix with loops after the other."""
    what = quantity(name)
    of, by, _ = what.slices
    matrix = rolled(model, of, quantity(of).looped[0])
    return Sliced(name, matrix, by, functools.cache(lambda: program(model, name, what.fast[0])))


def cheapest(
    model: Model, name: str, *, besides: Callable[[Program], int] | None = None, **options: Unpack[Options]
) -> tuple[str, Program]:
    """The method with the fewest operations for this very arm, among the registry's fast ones, and its Program.

    `besides`: what a program costs on some machine beyond its operations, in operations.
    """
    traced = {method: program(model, name, method, **options) for method in _competing(model, name)}
    costs = {method: _cost(each) + (besides(each) if besides else 0) for method, each in traced.items()}
    best = min(costs, key=lambda method: costs[method])
    return best, traced[best]


def _competing(model: Model, name: str) -> tuple[str, ...]:
    what = quantity(name)
    return (what.long,) if what.long and model.n > LONG else what.fast


def _cost(program: Program) -> int:
    """A sine or cosine is taken for ten operations and a division for four, which is about what they cost on a CPU."""
    count = program.count
    return count.total + 3 * count.div + 10 * count.sincos + count.other


def together(model: Model, names: tuple[str, ...], methods: tuple[str, ...] | None = None) -> tuple[str, Program]:
    """Several quantities in one Program that shares what they have in common, and the methods' names.

    Begins with the cheapest method of each and looks for one that shares more: other base parameters for all of them,
    another fast method of one of them.  An output has the quantity's name; of several arrays, `jacobian_Jv`.
    """
    if not names or len(set(names)) < len(names):
        raise UnknownNameError(f"expected one or more different quantities; got {', '.join(names) or 'none'}")
    if methods is not None and len(methods) != len(names):
        raise UnknownNameError(f"expected a method for each of {', '.join(names)}; got {', '.join(methods)}")
    if methods is not None or model.n > LONG:
        named = methods or tuple(_competing(model, name)[0] for name in names)
        return ", ".join(named), _joined(model, names, named, "")
    named = tuple(cheapest(model, name)[0] for name in names)
    candidates = {(named, links): _joined(model, names, named, links) for links in ("", MOMENTS, SECOND)}
    best = min(candidates, key=lambda key: _cost(candidates[key]))
    for k, name in enumerate(names):
        for method in quantity(name).fast:
            key = ((*best[0][:k], method, *best[0][k + 1 :]), best[1])
            if key not in candidates:
                candidates[key] = _joined(model, names, *key)
        best = min(candidates, key=lambda key: _cost(candidates[key]))
    return ", ".join(best[0]), candidates[best]


def _joined(model: Model, names: tuple[str, ...], methods: tuple[str, ...], links: str) -> Program:
    """One trace of all of them."""
    parts = [quantity(name) for name in names]
    functions = [whole(name, method, links) for name, method in zip(names, methods, strict=True)]
    inputs = dict.fromkeys((port for what in parts for port in what.inputs), (model.n,))

    def all_of_them(model: Model, **given: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for what, function in zip(parts, functions, strict=True):
            result = function(model, *(given[port] for port in what.inputs))
            if what.result is None:
                found[what.name] = result
            else:
                found |= {f"{what.name}_{field}": x for field, x in result._asdict().items()}
        return found

    traced = trace(all_of_them, model, inputs, name="_".join(names))
    return traced if len(traced.operations) > LARGE else rearranged(traced)
