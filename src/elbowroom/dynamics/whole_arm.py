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
from ..algebra.rearrange import rearranged
from ..algebra.rolling import roll
from ..model import Model
from ..model.base_parameters import regrouped
from ..model.rolled import RolledModel
from ..model.symbolic import SymbolicModel
from .quantities import BODIES, SECOND, Formulation, Function, quantity

LONG = 30
"""Joints beyond which the asymptotically better method is taken as it is: tracing the others would cost seconds."""

LARGE = 5000
"""Operations beyond which a program stays as it was traced: rearranging saves a few in a hundred and takes seconds."""


def whole(name: str, method: str) -> Function:
    """The function of the whole arm, drives included: f(model, q, ...)."""
    what = quantity(name)
    rigid = what.formulation(method)

    def f(model: Model, *inputs: Any, **named: Any) -> Any:
        if isinstance(model, Model) and not isinstance(model, SymbolicModel):
            # symbols are counted as the papers have them; a rolled model was made of the regrouped one
            model = _known_links(model, rigid)
        return rigid(model, *inputs, **named)

    return what.drives(f)


def _known_links(model: Model, formulation: Formulation) -> Model:
    """The model with its base parameters, for a formulation that knows links by their moments alone."""
    return model if formulation.links == BODIES else regrouped(model, spread=formulation.links == SECOND)


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
    what = quantity(name)
    looped = method or next(iter(what.looped), "")
    if not options and looped in what.looped and model.n >= what.formulation(looped).loops_from:
        return looped, rolled(model, name, looped)
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
    """The same with its loops over joints kept, for methods that the registry has `loops_from` of."""
    what = quantity(name)
    return roll(
        whole(name, method),
        RolledModel(_known_links(model, what.formulation(method))),
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
