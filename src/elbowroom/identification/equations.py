"""The linear equations of a run: torques as columns times unknowns.

    tau - known = Y_base beta + viscous qd + coulomb sign(qd) [+ rotor qdd] [+ offset] [+ Y_n A payload]             (1)

Y_base are the columns of the base parameters (dynamics/identifiable.py).  Rotors are the model's, and known, unless
they are asked for.  One that no torque tells from a base parameter, as the first joint's, stays the model's.

A payload is a body in the tool frame, ten parameters as of a link.  Its pseudo-inertia in the last link's frame is
T J T^T, which is linear, so it adds to the last link's parameters A times its own.

Dry friction of a joint that stands is any force up to its coefficient, so that (1) does not hold for it.  Its equations
are left out where it was slower than SLOW of its greatest speed, or than STILL, for more than STANDS seconds within the
filter's reach.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ..arm import Arm
from ..dynamics.identifiable import BaseParameters, independent_columns
from ..model.parameters import NAMES
from .bodies import parameters_of, pseudo_inertias
from .filtering import check_cutoff, cutoff_for, differentiated, low_passed, thinned_rows
from .measurements import Array, Measurements

PER_LINK = len(NAMES)
SLOW, STILL = 0.003, 1e-3  # the latter in rad/s or m/s
STANDS = 0.03  # s


class Kind(StrEnum):
    """What an unknown is of."""

    BASE = "base"
    VISCOUS = "viscous"
    COULOMB = "coulomb"
    ROTOR = "rotor"
    OFFSET = "offset"
    PAYLOAD = "payload"


@dataclass(frozen=True)
class Unknown:
    """One column of the equations: its kind, its name, and the number of its joint, base or payload parameter."""

    kind: Kind
    name: str
    index: int


@dataclass(frozen=True, eq=False)
class Equations:
    """What is fitted of an arm, and what is known of it."""

    arm: Arm
    base: BaseParameters
    unknowns: tuple[Unknown, ...]
    links_known: bool = False  # the links' parameters are the model's: beside friction a payload alone is unknown
    fixed_rotors: tuple[int, ...] = ()  # joints whose rotors stay the model's

    def of(self, kind: Kind) -> list[int]:
        """The columns of one kind."""
        return [k for k, unknown in enumerate(self.unknowns) if unknown.kind is kind]


@dataclass(frozen=True, eq=False)
class Rows:
    """Equations (1) of a run, filtered and thinned: W (N, n, unknowns), tau (N, n) less what is known."""

    run: Measurements = field(repr=False)
    t: Array = field(repr=False)  # (N,)
    W: Array = field(repr=False)
    tau: Array = field(repr=False)
    known: Array = field(repr=False)  # (N, n) torque of what is known
    used: NDArray[np.bool_] = field(repr=False)  # (N, n) which equations hold: of joints that do not stand
    cutoff: float | None  # Hz; None: as measured


def equations(
    arm: Arm, *, rotors: bool = False, offset: bool = False, payload: bool = False, links_known: bool = False
) -> Equations:
    """What is to be fitted; `links_known` leaves friction and the payload alone."""
    base = arm.base_parameters()
    unknowns = [] if links_known else [Unknown(Kind.BASE, name, k) for k, name in enumerate(base.names)]
    kinds = [Kind.VISCOUS, Kind.COULOMB, *([Kind.OFFSET] if offset else [])]
    for kind in kinds:
        unknowns += [Unknown(kind, f"{joint}.{kind.value}", j) for j, joint in enumerate(arm.joint_names)]
    felt = _rotors_apart(arm, base) if rotors and not links_known else []
    unknowns += [Unknown(Kind.ROTOR, f"{arm.joint_names[j]}.rotor", j) for j in felt]
    if payload:
        unknowns += [Unknown(Kind.PAYLOAD, f"payload.{name}", k) for k, name in enumerate(NAMES)]
    fixed = tuple(j for j in range(arm.n) if j not in felt)
    return Equations(arm, base, tuple(unknowns), links_known, fixed)


def _rotors_apart(arm: Arm, base: BaseParameters) -> list[int]:
    """The joints whose rotors' torque is no combination of the base parameters' columns."""
    rng = np.random.default_rng(0)
    count = 20 * arm.n
    q = rng.uniform(*arm.model.sampling_range(), (count, arm.n))
    qd, qdd = rng.uniform(-2, 2, (2, count, arm.n))
    rigid = base.regressor(arm.regressor(q, qd, qdd))
    W = np.concatenate([rigid, _diagonal(qdd)], axis=2).reshape(-1, len(base) + arm.n)
    kept, _ = independent_columns(W / np.linalg.norm(W, axis=0))
    return [k - len(base) for k in kept if k >= len(base)]


def rows(what: Equations, run: Measurements, *, cutoff: float | None = None, loaded: bool = True) -> Rows:
    """The equations of a run.  `cutoff` (Hz) of the filters; None: chosen, or no filter where all was measured.

    `loaded`: whether the arm carries the payload in this run.
    """
    filtered = cutoff is not None or run.qd is None or run.qdd is None
    f = 0.0
    if filtered:
        f = cutoff_for(run) if cutoff is None else cutoff
        check_cutoff(run, f)
        run_ = differentiated(run, f)
    else:
        run_ = run
    W, known = columns(what, run_, loaded=loaded)
    tau = run.tau - known
    if not filtered:
        return Rows(run_, run.t, W, tau, known, moving(run_, 0.0), None)
    some = thinned_rows(len(run), f, run.rate)
    both = np.concatenate([W, tau[:, :, None], known[:, :, None]], axis=2)
    felt = both.any(axis=0)  # a joint feels no link before it
    kept = np.zeros((len(run.t[some]), *felt.shape))
    kept[:, felt] = low_passed(both[:, felt], f, run.rate)[some]
    return Rows(run_, run.t[some], kept[:, :, :-2], kept[:, :, -2], kept[:, :, -1], moving(run_, f)[some], f)


def moving(run: Measurements, f: float) -> NDArray[np.bool_]:
    """(N, n) whether a joint moves all the time within the reach of a filter of f Hz; 0: none."""
    assert run.qd is not None
    speed = np.abs(run.qd)
    slow = speed <= np.maximum(SLOW * speed.max(axis=0), STILL)
    if f == 0.0:
        return ~slow
    reach = round(0.5 * run.rate / f)
    total = np.concatenate([np.zeros((1, slow.shape[1])), np.cumsum(slow, axis=0)])
    low = np.maximum(np.arange(len(slow)) - reach, 0)
    high = np.minimum(np.arange(len(slow)) + reach + 1, len(slow))
    return np.asarray((total[high] - total[low]) / run.rate <= STANDS)


def columns(what: Equations, run: Measurements, *, loaded: bool = True) -> tuple[Array, Array]:
    """W (N, n, unknowns) and the known torque (N, n) of a run with speeds and accelerations, unfiltered."""
    arm, model = what.arm, what.arm.model
    assert run.qd is not None
    assert run.qdd is not None
    Y = arm.regressor(run.q, run.qd, run.qdd)
    blocks: dict[Kind, Array] = {
        Kind.BASE: what.base.regressor(Y),
        Kind.VISCOUS: _diagonal(run.qd),
        Kind.COULOMB: _diagonal(np.sign(run.qd)),
        Kind.ROTOR: _diagonal(run.qdd),
        Kind.OFFSET: _diagonal(np.ones_like(run.qd)),
    }
    if what.of(Kind.PAYLOAD):
        blocks[Kind.PAYLOAD] = Y[:, :, -PER_LINK:] @ payload_map(model.tool) * float(loaded)
    W = np.stack([blocks[unknown.kind][:, :, unknown.index] for unknown in what.unknowns], axis=2)
    fixed = list(what.fixed_rotors)
    known = np.zeros_like(run.qd)
    known[:, fixed] = model.rotor_inertia[fixed] * run.qdd[:, fixed]
    if what.links_known:
        known += Y @ model.parameters
    return W, known


def payload_map(tool: Array) -> Array:
    """A (10, 10): a body's parameters in the tool frame -> what it adds to the last link's."""
    return parameters_of(tool @ pseudo_inertias(np.eye(PER_LINK)) @ tool.T).T


def _diagonal(values: Array) -> Array:
    """(N, n) -> (N, n, n) with them on the diagonal."""
    return values[:, :, None] * np.eye(values.shape[1])
