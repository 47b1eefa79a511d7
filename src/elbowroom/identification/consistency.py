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

Friction cannot be negative: a coefficient that would be is 0, and the others are found anew.
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

STEPS = 200
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
    chosen = [k for k, unknown in enumerate(unknowns) if unknown.kind is not Kind.PAYLOAD]
    b = sum(unknown.kind is Kind.BASE for unknown in unknowns)
    J0, notes = prior_bodies(model)
    p0 = parameters_of(J0).ravel()
    friction = [k for k in chosen if unknowns[k].kind in (Kind.VISCOUS, Kind.COULOMB, Kind.ROTOR)]
    held: list[int] = []
    while True:
        free = [k for k in chosen[b:] if k not in held]
        known = np.ones(len(unknowns), dtype=bool)
        known[[k for k in range(len(unknowns)) if k not in chosen]] = False
        F = _marginal(found.information, known)
        p, x, steps = _minimum(F, found.values[known], base.combinations, J0, p0, r, [chosen.index(k) for k in free])
        drives = np.zeros(len(chosen) - b)
        drives[[chosen.index(k) - b for k in free]] = x
        negative = [k for k in friction if k not in held and drives[chosen.index(k) - b] < 0.0]
        if not negative:
            break
        held += negative
    free_places = [chosen.index(k) for k in free]
    L = np.zeros((len(chosen), len(p) + len(free_places)))
    L[:b, : len(p)] = base.combinations
    L[free_places, np.arange(len(p), L.shape[1])] = 1.0
    H = L.T @ F @ L
    H[: len(p), : len(p)] += r * _block_diagonal(_curvature(_inverse(pseudo_inertias(p.reshape(-1, PER_LINK)))))
    d = np.concatenate([base.combinations @ p, drives]) - found.values[known]
    return Consistent(
        p,
        np.asarray(np.linalg.pinv(H, hermitian=True)[: len(p), : len(p)], dtype=float),
        drives,
        tuple(unknowns[k].name for k in held),
        p0,
        notes,
        float(d @ F @ d),
        steps,
    )


def _marginal(information: Array, known: NDArray[np.bool_]) -> Array:
    """The information about some unknowns where the others are free."""
    if known.all():
        return information
    A, B, C = (information[np.ix_(x, y)] for x, y in ((known, known), (known, ~known), (~known, ~known)))
    return A - B @ np.linalg.pinv(C, hermitian=True) @ B.T


def _minimum(
    F: Array, estimate: Array, K: Array, J0: Array, p0: Array, r: float, free: list[int]
) -> tuple[Array, Array, int]:
    """p and the free other unknowns by Newton's method, F growing to its size by factors of `FASTER`.

    From J0 at once, steps of exact data that no bodies have would be cut short again and again by the cone's edge.
    """
    b, m = K.shape
    L = np.zeros((len(estimate), m + len(free)))
    L[:b, :m] = K
    L[free, np.arange(m, L.shape[1])] = 1.0
    z = np.concatenate([p0, estimate[free]])
    d = L @ z - estimate
    stages = max(0, int(np.ceil(np.log10(max(1.0, 0.5 * float(d @ F @ d) / r)) / np.log10(FASTER))))
    steps = 0
    for stage in range(stages, -1, -1):
        z, taken = _newton(FASTER**-stage * F, estimate, L, z, _inverse(J0), r)
        steps += taken
    return z[:m], z[m:], steps


def _newton(F: Array, estimate: Array, L: Array, z: Array, inverse0: Array, r: float) -> tuple[Array, int]:
    """The minimum of (1) from z = (p, others), and the steps that it took."""
    m = PER_LINK * len(inverse0)
    quadratic = L.T @ F @ L
    constant = 4.0 * len(inverse0) + float(np.linalg.slogdet(inverse0)[1].sum())

    def value(z: Array) -> float:
        d = L @ z - estimate
        J = pseudo_inertias(z[:m].reshape(-1, PER_LINK))
        try:
            factor = np.linalg.cholesky(J)
        except np.linalg.LinAlgError:  # not positive definite
            return np.inf
        logarithm = 2.0 * float(np.log(np.einsum("iaa->ia", factor)).sum())
        divergence = float(np.einsum("iab,iba->", inverse0, J)) - logarithm - constant
        return float(0.5 * d @ F @ d + r * divergence)

    now = value(z)
    for step in range(1, STEPS + 1):
        inverse = _inverse(pseudo_inertias(z[:m].reshape(-1, PER_LINK)))
        gradient = L.T @ (F @ (L @ z - estimate))
        gradient[:m] += r * np.einsum("iab,kba->ik", inverse0 - inverse, BASIS).ravel()
        H = quadratic.copy()
        H[:m, :m] += r * _block_diagonal(_curvature(inverse))
        scale = 1.0 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))  # kilograms beside kg m^2
        move = -scale * np.linalg.lstsq(H * scale * scale[:, None], scale * gradient, rcond=1e-15)[0]
        decrement = -float(gradient @ move)
        if decrement <= 2 * DECREMENT * max(1.0, now):
            return z, step
        size = 1.0
        while (new := value(z + size * move)) > now - SLOPE * size * decrement:
            size *= 0.5
            if size < SMALLEST:
                if decrement <= ROUNDED * max(1.0, now):  # what is left is the rounding of `value`
                    return z, step
                raise ElbowroomError(f"physical consistency: stuck after {step} steps, decrement {decrement:.3g}")
        z, now = z + size * move, new
    if decrement <= ROUNDED * max(1.0, now):
        return z, STEPS
    raise ElbowroomError(f"physical consistency: no minimum after {STEPS} steps, decrement {decrement:.3g}")


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
