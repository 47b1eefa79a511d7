"""Identification of arms in MuJoCo whose true parameters are known: are they found within their stated errors?

For every arm:

    true        links 10 % lighter to 10 % heavier than the model says, friction that the model lacks, and a payload
                of 1.5 kg that it does not know
    excite      a trajectory for a load of 2 kg, and another from the next seed, which no fit sees
    follow      MuJoCo moves the true arm along them, without and with the payload, under a controller of the model
    measure     positions and torques with white noise: 2e-5 rad or m, 1 % of the joint's largest torque
    identify    all base parameters, friction and payload, again for every draw of the noise

Figures: how many of the 95 % intervals (1.96 standard errors) hold the true value, base parameters and friction, and of
the payload mass and centre; the error of the payload; and on the unseen trajectory, with the payload, the error of
predicted torques against the true ones without noise, by the model as it was given and as it was identified.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arm import Arm
from ..export.bodies import realizable
from ..identification import Identification, identify, unseen
from ..identification.equations import Kind
from ..identification.excitation import excite
from ..identification.excitation.objective import torque_sizes
from ..identification.measurements import Array
from ..identification.simulated import Followed, follow
from .planning.arms import known
from .timing import Progress, cpu_name, silent

RUNS = 10
SECONDS, STEPS = 20.0, 60
LIGHTER = 0.1  # links' true masses and tensors differ from the model's by up to this part
VISCOUS, COULOMB, ROTOR = 0.01, 0.02, 0.002  # of the largest torque: N m s/rad, N m, kg m^2
MASS, COM, INERTIA = 1.5, (0.03, -0.02, 0.08), (0.004, 0.003, 0.002)  # kg, m, kg m^2: the payload in the tool frame
DESIGN_LOAD = 2.0  # kg
TORQUE_NOISE, ENCODER_NOISE = 0.01, 2e-5  # of the largest torque; rad or m
INTERVAL = 1.96  # standard errors


@dataclass(frozen=True)
class IdentifiedArm:
    """One arm over all draws of the noise."""

    robot: str
    joints: int
    parameters: int  # base parameters and friction
    undetermined: int  # of them, not determined by the data, in the first draw
    condition_before: float
    condition: float
    errors_smaller_by: float  # by the descent, geometric mean
    clearance: float | None  # m
    intervals: int
    covered: float  # part of the intervals of base parameters and friction that hold the true value
    spread: float  # rms of (estimate - true) / standard error; 1 is right
    payload_intervals: int
    payload_covered: float  # of mass and centre
    mass: float  # kg, mean
    mass_error: float  # kg, stated, mean
    mass_off: float  # kg, rms
    centre_error: float  # m, stated, mean of the three
    centre_off: float  # m, rms
    torque: float  # rms on the unseen trajectory, of the largest torques, mean over joints
    torque_model: float  # the same of the error of the model as it was given
    torque_found: float  # and of the model of bodies, with the payload
    joints_better: int  # joints whose torque is predicted better than by the model as it was given, in every draw


@dataclass(frozen=True)
class IdentificationReport:
    """What `run` found."""

    rows: tuple[IdentifiedArm, ...]
    runs: int
    seed: int
    seconds: float
    cpu: str
    notes: tuple[str, ...]


def run(
    robots: Sequence[str],
    *,
    runs: int = RUNS,
    seed: int = 0,
    seconds: float = SECONDS,
    steps: int = STEPS,
    progress: Progress = silent,
) -> IdentificationReport:
    """So many draws of the noise for each arm; `steps` of each descent of the trajectories."""
    notes: list[str] = []
    rows = [_arm(name, arm, runs, seed, seconds, steps, progress) for name, arm in known(robots, notes)]
    return IdentificationReport(tuple(rows), runs, seed, seconds, cpu_name(), tuple(notes))


def hidden(arm: Arm, seed: int) -> tuple[Arm, Arm]:
    """The arm as it is believed to be, and as it truly is, without the payload.

    Both have rotors, as geared joints do: without them a wrist of some grams would have friction alone.
    """
    size = torque_sizes(arm)
    model = dataclasses.replace(realizable(arm.model.without_friction(), adjust=True)[0], rotor_inertia=ROTOR * size)
    part = 1.0 + np.random.default_rng(seed).uniform(-LIGHTER, LIGHTER, arm.n)
    true = dataclasses.replace(
        model,
        mass=model.mass * part,
        inertia=model.inertia * part[:, None, None],
        viscous=VISCOUS * size,
        coulomb=COULOMB * size,
    )
    return Arm(model), Arm(true)


def _arm(name: str, arm: Arm, runs: int, seed: int, seconds: float, steps: int, progress: Progress) -> IdentifiedArm:
    believed, true = hidden(arm, seed)
    size = torque_sizes(believed)
    loaded = true.with_payload(MASS, COM, np.diag(INERTIA))
    design = true.with_payload(DESIGN_LOAD, COM)
    controlled = Arm(dataclasses.replace(believed.model, viscous=true.model.viscous, coulomb=true.model.coulomb))
    progress(f"{name}: a trajectory")
    first = excite(design, seconds, seed=seed, steps=steps)
    second = excite(design, seconds, seed=seed + 1, steps=steps)
    progress(f"{name}: followed in MuJoCo")
    empty, carrying, other = (
        follow(controlled, true, first),
        follow(controlled, loaded, first),
        follow(controlled, loaded, second),
    )
    found: list[Identification] = []
    errors: list[tuple[Array, Array, Array]] = []
    for k in range(runs):
        progress(f"{name}: draw {k + 1} of {runs}")
        rng = np.random.default_rng([seed, k])
        found.append(
            identify(
                believed,
                carrying.measured("loaded", rng, TORQUE_NOISE * size, ENCODER_NOISE),
                empty=empty.measured("empty", rng, TORQUE_NOISE * size, ENCODER_NOISE),
            )
        )
        errors.append(_unseen(found[-1], other))
    z = np.array([_scores(each, true) for each in found])
    loads = [each.payload for each in found if each.payload is not None]
    mass = np.array([load.mass for load in loads])
    com = np.array([load.com for load in loads])
    payload_z = np.array([[(p.mass - MASS) / p.mass_error, *((p.com - COM) / p.com_error)] for p in loads], dtype=float)
    whole, by_model, by_found = (np.array([each[k] for each in errors]) for k in range(3))
    return IdentifiedArm(
        robot=name,
        joints=arm.n,
        parameters=z.shape[1],
        undetermined=len(found[0].undetermined),
        condition_before=first.condition_before,
        condition=first.condition,
        errors_smaller_by=first.gain,
        clearance=first.clearance,
        intervals=z.size,
        covered=float((np.abs(z) < INTERVAL).mean()),
        spread=float(np.sqrt((z**2).mean())),
        payload_intervals=payload_z.size,
        payload_covered=float((np.abs(payload_z) < INTERVAL).mean()),
        mass=float(mass.mean()),
        mass_error=float(np.mean([load.mass_error for load in loads])),
        mass_off=float(np.sqrt(((mass - MASS) ** 2).mean())),
        centre_error=float(np.mean([load.com_error for load in loads])),
        centre_off=float(np.sqrt(((com - COM) ** 2).mean())),
        torque=float((whole / size).mean()),
        torque_model=float((by_model / size).mean()),
        torque_found=float((by_found / size).mean()),
        joints_better=int((by_found < by_model).all(axis=0).sum()),
    )


def _scores(found: Identification, true: Arm) -> Array:
    """(estimate - true) / standard error of base parameters and friction."""
    what, model = found.equations, true.model
    truth = {
        Kind.BASE: what.base.combinations @ model.parameters,
        Kind.VISCOUS: model.viscous,
        Kind.COULOMB: model.coulomb,
    }
    place = [k for k, unknown in enumerate(what.unknowns) if unknown.kind in truth]
    values = np.array([truth[what.unknowns[k].kind][what.unknowns[k].index] for k in place])
    return np.asarray((found.fit.values[place] - values) / found.fit.errors[place])


def _unseen(found: Identification, other: Followed) -> tuple[Array, Array, Array]:
    """(n,) rms of the true torque, of the given model's error, and of the identified one's."""
    shown = unseen(found, other.measured("unseen", np.random.default_rng(0)))
    assert shown.consistent is not None
    return shown.rms(0.0 * shown.measured), shown.rms(shown.model), shown.rms(shown.consistent)
