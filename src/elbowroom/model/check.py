"""What looks wrong with a model, by link and joint name.

`Model` itself refuses what never has a meaning (a negative mass, reversed limits) and magnitudes that no formula could
take (model/bounds.py).  Here are the things that a sound arm may have by design, so they warn; whether the arm as a
whole still has a positive definite mass matrix is asked where the mass matrix is known (dynamics/whole_arm.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .model import Model

TURNS = 8  # that a joint with limits may make; those of wrists with cables make three at most
FAR = 10.0  # m between two joints: more is no arm


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing: an `error` makes results meaningless, a `warning` does not."""

    severity: Literal["error", "warning"]
    where: str
    what: str
    suspect: bool = False  # could leave the mass matrix singular

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def findings(model: Model) -> list[Finding]:
    """Everything that looks wrong, inboard first."""
    found: list[Finding] = []
    for i in range(model.n):
        link, joint = f"link {model.link_names[i]!r}", f"joint {model.joint_names[i]!r}"

        def note(where: str, what: str, suspect: bool = False) -> None:
            found.append(Finding("warning", where, what, suspect))

        if model.mass[i] == 0:
            note(link, "mass is zero on a moving link", suspect=True)
        moments = np.linalg.eigvalsh(model.inertia[i])
        scale = max(float(np.abs(moments).max()), 1e-300)
        if moments[0] <= 0:
            note(link, f"inertia is not positive definite; principal moments {_numbers(moments)}", suspect=True)
        # Identified and rounded tensors sit on the boundary of the triangle inequality: a billionth is rounding.
        elif moments[0] + moments[1] < moments[2] * (1 - 1e-9) - 1e-12 * scale:
            note(link, f"inertia violates the triangle inequality; principal moments {_numbers(moments)}")
        if math.isinf(model.lower[i]) and math.isinf(model.upper[i]):
            if not model.revolute(i):
                note(joint, "a prismatic joint has no position limits")
        elif model.lower[i] == model.upper[i]:
            note(joint, f"position limits leave no room: both are {model.lower[i]:g}")
        if not model.lower[i] <= model.ready[i] <= model.upper[i]:
            note(joint, f"the ready configuration {model.ready[i]:g} is outside the limits")
        widest = max((abs(x) for x in (model.lower[i], model.upper[i]) if math.isfinite(x)), default=0.0)
        if model.revolute(i) and widest > TURNS * 2 * math.pi:
            turns = widest / (2 * math.pi)
            note(joint, f"a position limit of {widest:g} rad is {turns:.0f} turns: is it in degrees?")
        if (away := float(np.linalg.norm(model.p[i]))) > FAR:
            note(joint, f"it is {away:.4g} m from the joint before: is that in millimetres?")
        for what in ("velocity", "effort"):
            if getattr(model, what)[i] == 0:
                note(joint, f"{what} limit is zero")
    return found


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{v:.3g}" for v in values)
