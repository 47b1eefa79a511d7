"""Bodies that could exist, in the place of published ones that could not, where no joint feels the difference.

A body is its pseudo-inertia in its link's frame, over the coordinates (x, y, z, 1):

    J = [ S    m c ]      S = integral of r r^T dm, about the frame's origin
        [ m c^T  m ]      I about the centre of mass = tr(S_c) 1 - S_c,    S_c = S - m c c^T

It could exist if J is positive semidefinite, which holds the triangle inequality of the moments.  Tensors that were
identified or left out break that: the PUMA's first link has a moment and no mass.  MuJoCo refuses those.

Mass on the axis of a turning joint moves alike with both links of the joint, and turning inertia alike with both links
of a slide.  So a part K of that kind may pass from link i-1 to link i, and from the base to the first link, and every
joint torque of every motion stays what it was:

    J_i + K        J_{i-1} - T_i K T_i^T        T_i = (E_i, p_i)

K is zero but for its rows and columns F: z, or z and 1, of a turning joint; x, y and z of a slide.  With H the others,
the least that heals J_i is there if its block over H is positive definite:

    K_FF = positive part of  slack - (J_FF - J_FH J_HH^-1 J_HF)

The links are healed from the tip inwards, since each takes from the one before it.  One sweep need not find bodies
wherever there are some.  Forces inside the joints, and the potential energy by a constant, are not kept.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..errors import ModelError
from ..model.inertia import MassProperties
from ..model.model import Array, Model
from ..model.rotations import pose

ROUNDING = 1e-10
"""A tensor this far outside, beside its own size, is one that was rounded: it is lifted over the edge and no more."""

EDGE = 1e-12
"""How far inside a body must be, beside its own size and in kg m^2: MuJoCo has no tolerance of its own."""

MASS_SLACK = 1e-3
"""A body without mass is given this part of the arm's."""

MOMENT_SLACK = 1e-6
"""A healed body has at least this part of the arm's greatest tensor, as S, in every direction."""

INSIDE = 1e-3
"""What K cannot reach must be this positive by itself, beside the slack."""


def realizable(model: Model, *, adjust: bool = False) -> tuple[Model, tuple[str, ...]]:
    """The same arm with bodies that could exist, and what was changed; the model itself where nothing must be.

    Every joint feels the same.  Where no such bodies are found, a `ModelError` names the link, or with `adjust` the
    least that heals it alone is added, which the joints do feel; the notes say how much it is.
    """
    bodies = [
        pseudo_inertia(MassProperties(float(model.mass[i]), model.com[i], model.inertia[i])) for i in range(model.n)
    ]
    changed: set[int] = set()
    notes: list[str] = []
    for i in reversed(range(model.n)):
        J, name = bodies[i], f"link {model.link_names[i]!r}"
        if _sound(J):
            continue
        changed.add(i)
        if _rounded(J):
            bodies[i] = J + _missing(J, _edge(J))
        elif (K := _unfelt(J, _slack(model), turning=model.revolute(i))) is not None:
            bodies[i] = J + K
            giver = "the base"
            if i:
                T = pose(model.E[i], model.p[i])
                bodies[i - 1] = bodies[i - 1] - T @ K @ T.T
                changed.add(i - 1)
                giver = f"link {model.link_names[i - 1]!r}"
            notes.append(f"{name}: took {_told(K)} from {giver}; no joint feels it")
        elif adjust:
            part = _missing(J, _edge(J))
            part[3, 3] = _slack(model)[3] if J[3, 3] <= EDGE else 0.0
            bodies[i] = J + part
            notes.append(f"{name}: added {_told(part)}, which the joints feel")
        else:
            raise ModelError(
                f"{model.name}: {name}: no body has its mass {model.mass[i]:g} kg and principal moments "
                f"{_moments(model, i)} kg m2, none was found that the joints could not tell from it, and MuJoCo takes "
                "bodies alone; adjust=True (--allow-adjust) adds the least that makes it one"
            )
    if not changed:
        return model, ()
    mass, com, inertia = model.mass.copy(), model.com.copy(), model.inertia.copy()
    for i in changed:
        mass[i], com[i], inertia[i] = body_of(bodies[i])
    return dataclasses.replace(model, mass=mass, com=com, inertia=inertia), tuple(notes[::-1])


def pseudo_inertia(body: MassProperties) -> Array:
    """J (4, 4) of a body, about the origin of the frame that it is given in."""
    m, c, I = body  # noqa: E741  # as in the equations
    J = np.zeros((4, 4))
    J[:3, :3] = np.trace(I) / 2 * np.eye(3) - (I + I.T) / 2 + m * np.outer(c, c)
    J[:3, 3] = J[3, :3] = m * c
    J[3, 3] = m
    return J


def body_of(J: Array) -> MassProperties:
    """The body of a pseudo-inertia with mass."""
    m, c = float(J[3, 3]), J[:3, 3] / J[3, 3]
    S = _central((J + J.T) / 2)
    return MassProperties(m, c, np.trace(S) * np.eye(3) - S)


def _central(J: Array) -> Array:
    """S_c (3, 3), S about the centre of mass."""
    if J[3, 3] == 0:
        return J[:3, :3]
    return J[:3, :3] - np.outer(J[:3, 3], J[:3, 3]) / J[3, 3]


def _edge(J: Array) -> float:
    return EDGE * max(1.0, float(np.abs(_central(J)).max()))


def _sound(J: Array) -> bool:
    return bool(J[3, 3] > EDGE and np.linalg.eigvalsh(_central(J))[0] >= 0.5 * _edge(J))


def _rounded(J: Array) -> bool:
    """Whether the body has mass and lies outside by rounding alone."""
    S = _central(J)
    outside = -np.linalg.eigvalsh(S)[0]
    return bool(J[3, 3] > EDGE and outside <= max(_edge(J), ROUNDING * np.abs(S).max()))


def _slack(model: Model) -> Array:
    """How far inside a healed body lies, along x, y, z and 1: small beside the arm."""
    moment, mass = float(np.trace(model.inertia, axis1=1, axis2=2).max()), float(model.mass.sum())
    if not (moment > 0 and mass > 0):
        raise ModelError(f"{model.name}: an arm must have mass and moments of inertia; got {mass:g} kg in all")
    return np.array([MOMENT_SLACK * moment] * 3 + [MASS_SLACK * mass])


def _missing(J: Array, least: float) -> Array:
    """What J lacks, about its centre of mass, to have S_c of this size in every direction."""
    part = np.zeros((4, 4))
    part[:3, :3] = _positive_part(least * np.eye(3) - _central(J))
    return part


def _unfelt(J: Array, slack: Array, *, turning: bool) -> Array | None:
    """The least K that heals J and moves mass only where it must, if there is one; see the module docstring."""
    scale = np.sqrt(np.outer(slack, slack))  # so that metres and kilograms are of one size
    for free in ([2], [2, 3]) if turning else ([0, 1, 2],):
        held = [k for k in range(4) if k not in free]
        H, F, across = np.ix_(held, held), np.ix_(free, free), np.ix_(held, free)
        if np.linalg.eigvalsh(J[H] / scale[H])[0] < INSIDE:
            continue
        lacking = np.diag(slack)[F] - (J[F] - J[across].T @ np.linalg.solve(J[H], J[across]))
        K = np.zeros((4, 4))
        K[F] = _positive_part(lacking / scale[F]) * scale[F]
        if _sound(J + K):
            return K
    return None


def _positive_part(symmetric: Array) -> Array:
    w, V = np.linalg.eigh(symmetric)
    return (V * np.maximum(w, 0.0)) @ V.T


def _moments(model: Model, i: int) -> str:
    return ", ".join(f"{v:.3g}" for v in np.linalg.eigvalsh(model.inertia[i]))


def _told(part: Array) -> str:
    moment = np.linalg.eigvalsh(np.trace(part[:3, :3]) * np.eye(3) - part[:3, :3])[-1]
    mass = f"{part[3, 3]:.3g} kg and " if part[3, 3] else ""
    return f"{mass}up to {moment:.3g} kg m2"
