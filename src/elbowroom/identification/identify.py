"""Identification of an arm: from measured runs to parameters with standard errors, and a model of bodies.

    run = read("run.csv", arm)
    found = identify(arm, run)
    found.table                      base parameters, friction: value, standard error, the model's
    found.arm                        the arm with link parameters that bodies can have
    identify(arm, run, empty=read("empty.csv", arm)).payload        what the arm carries in `run` and not in `empty`

The steps: equations.py (columns), least_squares.py (estimate and errors), consistency.py (bodies).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..arm import Arm
from ..errors import ConfigError
from .consistency import Consistent, applied, consistent, prior_bodies, prior_deviation
from .equations import Equations, Kind, Rows, equations, rows
from .least_squares import Fit, fit
from .measurements import Array, Measurements
from .payload import Payload, payload

REGULARISATION = 1.0
OPPOSITE = -0.5  # correlation of measured torques with the model's, below which a sign is wrong
FAR = 10.0  # squared standard errors a parameter
FLAT = 1.0
"""Of the rms torque of its joint: friction, an offset or a rotor with an error that makes as much is not determined."""


@dataclass(frozen=True)
class Identified:
    """One parameter that was fitted."""

    name: str
    meaning: str  # the combination of link parameters, or what else it is
    unit: str
    value: float
    error: float  # standard error; inf where the data says nothing
    model: float | None  # the model's value; None where it has none
    determined: bool  # whether the data knows it better than the model is taken to
    consistent: float | None  # of the model of bodies


@dataclass(frozen=True, eq=False)
class Prediction:
    """Measured and predicted torque of one run, after the filter that the fit had: (N, n) each."""

    name: str
    t: Array = field(repr=False)
    measured: Array = field(repr=False)
    model: Array = field(repr=False)  # of the arm as it was given
    least_squares: Array = field(repr=False)
    consistent: Array | None = field(repr=False)  # of the model of bodies; None where there is none

    def rms(self, which: Array) -> Array:
        """(n,) root mean square of the error of a prediction."""
        return np.sqrt(((which - self.measured) ** 2).mean(axis=0))


@dataclass(frozen=True, eq=False)
class Identification:
    """What was found: see the module's docstring."""

    prior: Arm  # as it was given
    arm: Arm | None  # with the new parameters; None where the payload alone was looked for
    equations: Equations = field(repr=False)
    fit: Fit = field(repr=False)
    consistent: Consistent | None = field(repr=False)
    table: tuple[Identified, ...] = field(repr=False)
    payload: Payload | None
    predictions: tuple[Prediction, ...] = field(repr=False)  # of every run
    cutoffs: tuple[float | None, ...]  # Hz, of every run

    @property
    def far_from_bodies(self) -> bool:
        """Whether least squares wants links that are no bodies, beyond its errors: a sign or unit may be wrong."""
        return self.consistent is not None and self.consistent.distance > FAR * len(self.table)

    @property
    def reversed_joints(self) -> tuple[str, ...]:
        """The joints whose measured torque runs against that of the model as given, in every run: a sign is wrong."""
        against = [_correlation(each.measured, each.model) < OPPOSITE for each in self.predictions]
        return tuple(name for j, name in enumerate(self.prior.joint_names) if all(found[j] for found in against))

    @property
    def undetermined(self) -> tuple[str, ...]:
        """The parameters that this data does not determine."""
        return tuple(row.name for row in self.table if not row.determined)


def identify(
    arm: Arm,
    runs: Measurements | Sequence[Measurements],
    *,
    empty: Measurements | Sequence[Measurements] = (),
    carrying: bool = False,
    rotors: bool = False,
    offset: bool = False,
    cutoff: float | None = None,
    regularisation: float = REGULARISATION,
) -> Identification:
    """The parameters of an arm from runs with measured torques.

    `empty`: runs of the same arm without the payload that it carries in `runs`, which is then identified too.
    `carrying`: that payload beside the arm's model, whose links are taken as true; friction is fitted with it.
    `rotors`: rotor inertias, too.  `offset`: a constant torque for each joint, too.  `cutoff` (Hz) of the filters; by
    the motion where it is None, and no filter where speeds and accelerations were measured.  `regularisation`: r of
    consistency.py, how much the model counts where the data is silent.
    """
    loaded = [runs] if isinstance(runs, Measurements) else list(runs)
    unloaded = [empty] if isinstance(empty, Measurements) else list(empty)
    if not loaded:
        raise ConfigError("runs: expected at least one; got none")
    if carrying and unloaded:
        raise ConfigError("expected runs without the payload, or carrying with links that are known; got both")
    if cutoff is not None and not (np.isfinite(cutoff) and cutoff > 0):
        raise ConfigError(f"cutoff: expected Hz, above 0; got {cutoff!r}")
    what = equations(arm, rotors=rotors, offset=offset, payload=carrying or bool(unloaded), links_known=carrying)
    each = [rows(what, run, cutoff=cutoff, loaded=k >= len(unloaded)) for k, run in enumerate(unloaded + loaded)]
    found = _fitted(each)
    bodies = None if carrying else consistent(arm.model, what.base, what.unknowns, found, regularisation)
    new = None if bodies is None else Arm(applied(arm.model, bodies, what.unknowns))
    return Identification(
        arm,
        new,
        what,
        found,
        bodies,
        _table(what, found, bodies, each),
        _payload(what, found),
        tuple(predicted(what, found, bodies, part) for part in each),
        tuple(part.cutoff for part in each),
    )


def _correlation(x: Array, y: Array) -> Array:
    """(n,) of columns; 0 where one does not change."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    size = np.sqrt((x * x).sum(axis=0) * (y * y).sum(axis=0))
    return np.asarray(np.divide((x * y).sum(axis=0), size, out=np.zeros(x.shape[1]), where=size > 0.0))


def _fitted(each: Sequence[Rows]) -> Fit:
    W = np.concatenate([part.W for part in each])
    tau = np.concatenate([part.tau for part in each])
    ends = np.cumsum([len(part.t) for part in each])[:-1]
    used = np.concatenate([part.used for part in each])
    return fit(W, tau, used, tuple(int(end) for end in ends), " and ".join(part.run.name for part in each))


def predicted(what: Equations, found: Fit, bodies: Consistent | None, part: Rows) -> Prediction:
    """The torques of a run as measured, by the model as it was given, by least squares and by the model of bodies."""
    prior = _model_values(what)
    by_bodies = None
    if bodies is not None:
        loads = found.values[what.of(Kind.PAYLOAD)]
        values = np.concatenate([what.base.combinations @ bodies.parameters, bodies.drives, loads])
        by_bodies = part.W @ values + part.known
    return Prediction(
        part.run.name,
        part.t,
        part.tau + part.known,
        part.W @ np.nan_to_num(prior) + part.known,
        part.W @ found.values + part.known,
        by_bodies,
    )


def unseen(found: Identification, run: Measurements, cutoff: float | None = None) -> Prediction:
    """Prediction of a run that was not fitted, carrying what the fitted ones carried."""
    return predicted(found.equations, found.fit, found.consistent, rows(found.equations, run, cutoff=cutoff))


def _model_values(what: Equations) -> Array:
    """(k,) what the model as it was given says of each unknown; NaN where it says nothing."""
    model = what.arm.model
    values = {
        Kind.BASE: what.base.combinations @ model.parameters,
        Kind.VISCOUS: model.viscous,
        Kind.COULOMB: model.coulomb,
        Kind.ROTOR: model.rotor_inertia,
    }
    nothing = np.full(max(model.n, 10), np.nan)
    return np.array([values.get(unknown.kind, nothing)[unknown.index] for unknown in what.unknowns])


MEANINGS = {
    Kind.VISCOUS: "viscous friction",
    Kind.COULOMB: "Coulomb friction",
    Kind.ROTOR: "rotor inertia at the joint",
    Kind.OFFSET: "constant torque",
    Kind.PAYLOAD: "of the body in the tool frame",
}


def _table(what: Equations, found: Fit, bodies: Consistent | None, each: Sequence[Rows]) -> tuple[Identified, ...]:
    prior, errors = _model_values(what), found.errors
    new = np.full(len(prior), np.nan)
    if bodies is not None:
        some = np.concatenate([what.base.combinations @ bodies.parameters, bodies.drives])
        new[: len(some)] = some
    determined = _determined(what, found, each)
    table = []
    for k, unknown in enumerate(what.unknowns):
        base = unknown.kind is Kind.BASE
        table.append(
            Identified(
                unknown.name,
                what.base.combination(unknown.index) if base else MEANINGS[unknown.kind],
                _unit(what, k),
                float(found.values[k]),
                float(errors[k]),
                None if np.isnan(prior[k]) else float(prior[k]),
                bool(determined[k]),
                None if np.isnan(new[k]) else float(new[k]),
            )
        )
    return tuple(table)


def _determined(what: Equations, found: Fit, each: Sequence[Rows]) -> Array:
    """(k,) whether the data knows a parameter better than the model is taken to, or than by the whole torque."""
    W, tau = np.concatenate([part.W for part in each]), np.concatenate([part.tau + part.known for part in each])
    made = np.sqrt((W**2).mean(axis=0)).max(axis=0)  # N m a unit, where it makes most
    most = np.full(W.shape[2], np.inf)
    torque = np.sqrt((tau**2).mean(axis=0))
    for k, unknown in enumerate(what.unknowns):
        if unknown.kind not in (Kind.BASE, Kind.PAYLOAD) and made[k] > 0.0:
            most[k] = FLAT * torque[unknown.index] / made[k]
    base = what.of(Kind.BASE)
    if base:
        most[base] = prior_deviation(what.base, prior_bodies(what.arm.model)[0])
    return np.asarray(found.errors < most)


def _unit(what: Equations, k: int) -> str:
    unknown, model = what.unknowns[k], what.arm.model
    if unknown.kind in (Kind.BASE, Kind.PAYLOAD):
        quantity = unknown.name.rpartition(".")[2]
        return "kg" if quantity == "m" else "kg m2" if quantity.startswith("I") else "kg m"
    turning = model.revolute(unknown.index)
    units = {
        Kind.VISCOUS: ("N m s/rad", "N s/m"),
        Kind.COULOMB: ("N m", "N"),
        Kind.OFFSET: ("N m", "N"),
        Kind.ROTOR: ("kg m2", "kg"),
    }
    return units[unknown.kind][0 if turning else 1]


def _payload(what: Equations, found: Fit) -> Payload | None:
    place = what.of(Kind.PAYLOAD)
    if not place:
        return None
    told = "the model's links" if what.links_known else "runs without it"
    return payload(found.values[place], found.covariance[np.ix_(place, place)], found.errors[place], told)
