"""Link parameters that bodies can have, nearest to the data and, where the data is silent, to the model.

Base parameters beta = K p say nothing about how a sum is shared among the links, and noise may give sums that no bodies
have.  So of all link parameters p with friction x those are taken that minimise

    1/2 d^T F d + r sum_i D(J_i, J0_i),        d = (K p, x) - (estimate of least squares), F its information       (1)
    D(J, J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4                                                                 (2)

D is the log-determinant divergence of a link's pseudo-inertia J (bodies.py) from the model's J0 (Lee, Wensing, Park,
"Geometric robot dynamic identification: a convex programming approach", 2020).  It does not depend on units, nor on
the frame, and it is infinite where J is not positive definite, so that every link is a body.  Near J0 it is half the
squared relative change, tr((J0^-1 dJ)^2)/2: with r = 1 the model is taken to be right within 50 % in size and within
100 % along one axis alone (one standard deviation), which any data overrules that knows better.

(1) is convex and smooth, and its Hessian is at hand; Newton's method with a line search finds the one minimum from J0,
some ten steps with 10 n unknowns.  A cone solver (Clarabel, SCS) would solve the same with two more packages.

Friction cannot be negative: a coefficient that would be is 0, and the others are found anew.  One that no row depends
on stays the model's.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..dynamics.identifiable import BaseParameters
from ..errors import ConfigError, ElbowroomError, ModelError
from ..export.bodies import realizable
from ..model import Model
from .bodies import BASIS, PER_LINK, parameters_of, pseudo_inertias
from .equations import Kind, Unknown
from .least_squares import Fit
from .measurements import Array

THIN = 0.01
"""m: the least radius of gyration, in every direction, of the bodies J0; a model's points and rods have none there."""
LEAST_MASS = 1e-3  # kg, of such a body

STEPS = 100  # of a stage
DECREMENT = 1e-12  # half the squared Newton decrement at which the minimum is reached, of the value there or of 1
ROUNDED = 1e-6  # the same where rounding ends it
SLOPE, SMALLEST = 1e-4, 1e-14  # of the line search
FASTER = 10.0


@dataclass(frozen=True, eq=False)
class Consistent:
    """Link parameters of bodies, and friction, offsets and rotors with them."""

    parameters: Array = field(repr=False)  # (10 n,)
    covariance: Array = field(repr=False)  # (10 n, 10 n), of (1) as a posterior, at the minimum
    drives: Array = field(repr=False)  # values of the unknowns that are not base parameters, in their order
    zeroed: tuple[str, ...]  # friction that would have been negative
    prior: Array = field(repr=False)  # (10 n,) parameters of J0
    prior_notes: tuple[str, ...]  # what was changed of the model to have bodies
    distance: float  # d^T F d: what consistency costs, in squared standard errors
    regularisation: float  # r, or more where the data wants links that are no bodies, beyond what can be computed
    steps: int

    @property
    def errors(self) -> Array:
        """(10 n,) standard deviations of the link parameters."""
        return np.sqrt(np.diag(self.covariance))


def prior_bodies(model: Model) -> tuple[Array, tuple[str, ...]]:
    """J0 (n, 4, 4), positive definite, and what was changed of the model to have them."""
    try:
        bodies, notes = realizable(model, adjust=True)  # which no torque tells from the model, where it can
    except ModelError:
        bodies, notes = model, ("links that are no bodies were made bodies each by itself",)
    J = pseudo_inertias(bodies.parameters.reshape(-1, PER_LINK))
    thin: list[str] = []
    for i, name in enumerate(model.link_names):
        m = max(float(J[i, 3, 3]), LEAST_MASS)
        J[i, 3, 3] = m
        S = J[i, :3, :3] - np.outer(J[i, :3, 3], J[i, :3, 3]) / m
        w, V = np.linalg.eigh((S + S.T) / 2)
        least = m * THIN**2
        if w[0] < least:
            J[i, :3, :3] += (V * (np.maximum(w, least) - w)) @ V.T
            thin.append(name)
    if thin:
        notes += (f"thinner than {100 * THIN:g} cm, and taken as that thick: {', '.join(thin)}",)
    return J, notes


def prior_deviation(base: BaseParameters, J0: Array) -> Array:
    """(b,) the standard deviations of the base parameters under D alone with r = 1."""
    blocks = _inverse(_curvature(_inverse(J0)))  # (n, 10, 10)
    K = base.combinations.reshape(len(base), -1, PER_LINK)
    return np.sqrt(np.einsum("bik,ikl,bil->b", K, blocks, K))


def consistent(model: Model, base: BaseParameters, unknowns: tuple[Unknown, ...], found: Fit, r: float) -> Consistent:
    """The minimum of (1) for an estimate of these unknowns."""
    if not (np.isfinite(r) and r > 0):
        raise ConfigError(f"regularisation: expected a number above 0; got {r!r}")
    known = np.array([unknown.kind is not Kind.PAYLOAD for unknown in unknowns])
    F, estimate = _marginal(found.information, known), found.values[known]
    b = len(base)
    others = [unknown for unknown in unknowns if unknown.kind not in (Kind.BASE, Kind.PAYLOAD)]
    silent = ~found.determined[known][b:]
    drives = np.where(silent, [_of_model(model, unknown) for unknown in others], estimate[b:])
    J0, notes = prior_bodies(model)
    p0 = parameters_of(J0).ravel()
    zeroed = np.zeros(len(others), dtype=bool)
    signed = np.array([unknown.kind is not Kind.OFFSET for unknown in others], dtype=bool)
    while True:
        free = ~silent & ~zeroed
        problem = _Problem(F, estimate, base.combinations, np.where(zeroed, 0.0, drives), free, J0, r)
        z, steps, part = _minimum(problem, np.concatenate([p0, estimate[b:][free]]))
        drives = problem.drives(z)
        negative = free & signed & (drives < 0.0)
        if not negative.any():
            break
        zeroed |= negative
    p = z[: len(p0)]
    H = problem.hessian(z, part)
    d = np.concatenate([base.combinations @ p, drives]) - estimate
    return Consistent(
        p,
        np.asarray(np.linalg.pinv(H, hermitian=True)[: len(p), : len(p)], dtype=float),
        drives,
        tuple(unknown.name for unknown, zero in zip(others, zeroed, strict=True) if zero),
        p0,
        notes,
        float(d @ F @ d),
        r / part,
        steps,
    )


def _of_model(model: Model, unknown: Unknown) -> float:
    values = {Kind.VISCOUS: model.viscous, Kind.COULOMB: model.coulomb, Kind.ROTOR: model.rotor_inertia}
    return float(values[unknown.kind][unknown.index]) if unknown.kind in values else 0.0


def _marginal(information: Array, known: NDArray[np.bool_]) -> Array:
    """The information about some unknowns where the others are free."""
    if known.all():
        return information
    A, B, C = (information[np.ix_(x, y)] for x, y in ((known, known), (known, ~known), (~known, ~known)))
    return A - B @ np.linalg.pinv(C, hermitian=True) @ B.T


class _Problem:
    """(1) over z = (p, the other unknowns that are free), with a part of the information F."""

    def __init__(
        self, F: Array, estimate: Array, K: Array, drives: Array, free: NDArray[np.bool_], J0: Array, r: float
    ) -> None:
        b, self.m = K.shape
        self.F, self.r, self.free, self.fixed = F, r, free, drives
        self.inverse0 = _inverse(J0)
        self.constant = 4.0 * len(J0) + float(np.linalg.slogdet(self.inverse0)[1].sum())
        self.L = np.zeros((len(estimate), self.m + int(free.sum())))
        self.L[:b, : self.m] = K
        self.L[b + np.flatnonzero(free), np.arange(self.m, self.L.shape[1])] = 1.0
        self.wanted = estimate.copy()
        self.wanted[b:][~free] -= drives[~free]
        self.quadratic = self.L.T @ F @ self.L

    def drives(self, z: Array) -> Array:
        """The unknowns that are not of links."""
        found = self.fixed.copy()
        found[self.free] = z[self.m :]
        return found

    def value(self, z: Array, part: float) -> float:
        """(1), infinite where a link is no body."""
        d = self.L @ z - self.wanted
        J = pseudo_inertias(z[: self.m].reshape(-1, PER_LINK))
        try:
            factor = np.linalg.cholesky(J)
        except np.linalg.LinAlgError:  # not positive definite
            return np.inf
        logarithm = 2.0 * float(np.log(np.einsum("iaa->ia", factor)).sum())
        divergence = float(np.einsum("iab,iba->", self.inverse0, J)) - logarithm - self.constant
        return float(0.5 * part * d @ self.F @ d + self.r * divergence)

    def gradient(self, z: Array, part: float) -> Array:
        """Of (1)."""
        inverse = _inverse(pseudo_inertias(z[: self.m].reshape(-1, PER_LINK)))
        found: Array = part * self.L.T @ (self.F @ (self.L @ z - self.wanted))
        found[: self.m] += self.r * np.einsum("iab,kba->ik", self.inverse0 - inverse, BASIS).ravel()
        return found

    def hessian(self, z: Array, part: float) -> Array:
        """Of (1)."""
        inverse = _inverse(pseudo_inertias(z[: self.m].reshape(-1, PER_LINK)))
        found: Array = part * self.quadratic
        found[: self.m, : self.m] += self.r * _block_diagonal(_curvature(inverse))
        return found


def _minimum(problem: _Problem, z: Array) -> tuple[Array, int, float]:
    """The minimum of (1) from z by Newton's method, the steps that it took, and the part of F that counts.

    F grows to its size by factors of `FASTER`: from J0 at once, steps would be cut short again and again by the edge of
    what can exist.  Exact torques of links that are no bodies would have the minimum on that edge; where rounding ends
    the way there, the part of F that was reached is the answer.
    """
    d = problem.L @ z - problem.wanted
    far = max(1.0, 0.5 * float(d @ problem.F @ d) / problem.r)
    steps, reached = 0, 0.0
    for stage in range(int(np.ceil(np.log10(far) / np.log10(FASTER))), -1, -1):
        part = FASTER**-stage
        found, taken = _newton(problem, z, part)
        steps += taken
        if found is None:
            break
        z, reached = found, part
    if reached == 0.0:
        raise ElbowroomError("physical consistency: no minimum; expected information about parameters that is finite")
    return z, steps, reached


def _newton(problem: _Problem, z: Array, part: float) -> tuple[Array | None, int]:
    """The minimum for a part of F, None where none is reached, and the steps that it took."""
    now = problem.value(z, part)
    for step in range(1, STEPS + 1):
        gradient, H = problem.gradient(z, part), problem.hessian(z, part)
        scale = 1.0 / np.sqrt(np.diag(H))  # kilograms beside kg m^2
        move = -scale * np.linalg.lstsq(H * scale * scale[:, None], scale * gradient, rcond=1e-15)[0]
        decrement = -float(gradient @ move)
        if decrement <= 2 * DECREMENT * max(1.0, now):
            return z, step
        size = 1.0
        while not (new := problem.value(z + size * move, part)) <= now - SLOPE * size * decrement:
            size *= 0.5
            if size < SMALLEST:  # what is left is rounding, or too much
                return (z if decrement <= ROUNDED * max(1.0, now) else None), step
        z, now = z + size * move, new
    return (z if decrement <= ROUNDED * max(1.0, now) else None), STEPS


def _inverse(matrices: Array) -> Array:
    return np.asarray(np.linalg.inv(matrices), dtype=float)


def _curvature(inverse: Array) -> Array:
    """(n, 10, 10) second derivatives of -log det J by the ten parameters, of J^-1 (n, 4, 4)."""
    turned = inverse[:, None] @ BASIS  # (n, 10, 4, 4)
    return np.einsum("ikab,ilba->ikl", turned, turned)


def _block_diagonal(blocks: Array) -> Array:
    n, k, _ = blocks.shape
    found = np.zeros((n * k, n * k))
    for i, block in enumerate(blocks):
        found[i * k : (i + 1) * k, i * k : (i + 1) * k] = block
    return found


def applied(model: Model, found: Consistent, unknowns: tuple[Unknown, ...]) -> Model:
    """The model with these parameters."""
    from ..model.parameters import with_parameters

    b = sum(unknown.kind is Kind.BASE for unknown in unknowns)
    viscous, coulomb, rotors = model.viscous.copy(), model.coulomb.copy(), model.rotor_inertia.copy()
    arrays = {Kind.VISCOUS: viscous, Kind.COULOMB: coulomb, Kind.ROTOR: rotors}
    others = [unknown for unknown in unknowns if unknown.kind is not Kind.PAYLOAD][b:]
    for unknown, value in zip(others, found.drives, strict=True):
        if unknown.kind in arrays:
            arrays[unknown.kind][unknown.index] = value
    new = with_parameters(model, found.parameters)
    return dataclasses.replace(new, estimated=(), viscous=viscous, coulomb=coulomb, rotor_inertia=rotors)
