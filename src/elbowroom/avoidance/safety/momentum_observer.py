"""Momentum observer: the torque that something outside puts on each joint, from q, qd and the torques measured.

An arm that is pushed moves by  M qdd + C qd + g + f = tau + tau_e.  With the momentum p = M qd and b = C^T qd - g

    r = K (p - integral of (tau + b - f + r) dt)          so that      dr/dt = K (tau_e - r)

the residual r is tau_e behind a first-order filter of the gain K (1/s), and no acceleration is measured or differenced.

**Sampled.**  Readings come at times t_k, h apart, tau_k being the mean of the torque since the reading before.  For a
push that is constant in between the filter is exact with

    a = e^(-K h),   G = (1 - a) / h,    r' = a r + G (p' - p - h (tau' + b - f))

which is the formula above with G in K's place: stable for every h, K itself as h goes to 0.  b and f are means of both
readings (error h^2 / 12 of their curvature).  The filter is linear, so it can take each term for itself: link i has
a filtered torque y_i that moves it (dynamics/momentum.py), and with friction and torque filtered alike

    y_ij' = a y_ij + G (p_ij' - p_ij - h b_ij),           r_j = sum over i of y_ij + f_j - tau_j

**What is allowed for.**  A model whose link i is wrong by the part e_i, |e_i| <= mass_error, mass and tensor alike and
the centre of mass right, is wrong by e_i y_ij in r_j; a friction that is wrong by u_j(t) by no more than u filtered
likewise; white noise of tau (sigma_t, N m or N) and of qd (sigma_v) comes out of the filter with the variance s^2.
So without contact |r_j| stays below

    threshold_j = mass_error sum over i |y_ij|  +  u_j filtered  +  sigmas s_j
    u_j   = friction + friction_error (viscous |qd_j| + coulomb),   and all of coulomb while the joint may stick
    s_j^2 = sigma_t^2 (1 - a) / (1 + a)  +  sigma_v^2 sum over k M_jk^2  2 G^2 / (1 + a)

the first two terms surely, the third but for the part of readings that lies beyond so many sigmas (2e-9 for six).  A
joint may stick unless both readings have it move one way, faster than `sticking` (in the geometric mean): then its dry
friction is known by its sign.  What is not in the bound, since no part of the model says how large it is: a wrong
centre of mass, an unknown payload, elastic joints.

**Which link.**  A force on link i is felt by joints 1 to i alone.  So the link of the last joint whose residual is
beyond its threshold is touched, or one farther out, by a force whose line passes the axes in between so nearly that
they feel less than their thresholds.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...algebra import absolute, maximum, sqrt, where
from ...algebra.functions import largest, summed
from ...algebra.linalg import Array as Scalars
from ...algebra.linalg import vector
from ...arm import Arm
from ...compile import compiled
from ...dynamics import whole
from ...dynamics.momentum import link_momenta
from ...errors import ConfigError
from ...model import Model
from ..checks import Settings, setting
from ..copies import Rebuilt

Array = NDArray[np.float64]
REACTIONS = ("stop", "retract", "float")
SIDES = ("motor", "link")
LONGEST = 1.0  # s: readings farther apart say nothing about the motion in between
RULES = ("a", "G", "mass_error", "friction_error", "friction", "sticking", "torque_part", "speed_part")


@dataclasses.dataclass(frozen=True)
class Contact(Settings):
    """Settings of contact felt through the joints' torques, and of what the arm does then."""

    reaction: str = setting("stop", REACTIONS, "stop; retract, away along what is felt; or float, giving way to it")
    # ---- the observer
    gain: float = setting(100.0, "(0, 1e4] 1/s", "K: how fast the residual follows a push; noise grows with it")
    measured: str = setting("motor", SIDES, "where torques are measured: motor, or link: behind gears and friction")
    # ---- what the model may be wrong by
    mass_error: float = setting(0.1, "[0, 1]", "part by which any link may be lighter or heavier than its model")
    friction_error: float = setting(0.5, "[0, 10]", "part by which the model's friction may be wrong")
    friction: float = setting(0.0, "[0, 1e4] N m or N", "of a joint beyond the model's")
    sticking: float = setting(0.05, "[0, 1] rad/s or m/s", "a slower joint may stick: its dry friction is not known")
    torque_noise: float = setting(0.1, "[0, 1e4] N m", "standard deviation of a revolute joint's torque")
    force_noise: float = setting(1.0, "[0, 1e4] N", "and of a prismatic joint's force")
    speed_noise: float = setting(2e-4, "[0, 1] rad/s or m/s", "standard deviation of a joint's speed")
    sigmas: float = setting(6.0, "[0, 100]", "standard deviations of the residual's noise that are allowed for")
    # ---- reactions
    retract_speed: float = setting(0.15, "(0, 2] m/s", "retract: of the touched link's far end")
    retract_distance: float = setting(0.1, "(0, 2] m", "retract: how far that end goes")
    float_damping: float = setting(5.0, "(0, 1000] 1/s", "float: how fast a speed dies out without a push")


class Observed(NamedTuple):
    """What the observer keeps of a reading, and what it found; rows of the tables are the links, then the rotors."""

    momentum: Scalars  # (n + 1, n) p_ij
    rest: Scalars  # (n + 1, n) b_ij
    share: Scalars  # (n + 1, n) y_ij
    filtered: Scalars  # (3, n) torque, friction, and what friction may be wrong by
    speed: Scalars  # (n,) qd
    residual: Scalars  # (n,)
    threshold: Scalars  # (n,)
    excess: Scalars  # (1,) of the greatest residual beyond its threshold


KEPT = Observed._fields[:5]


def observed(
    model: Model,
    q: Scalars,
    qd: Scalars,
    tau: Scalars,
    rules: Scalars,
    momentum: Scalars,
    rest: Scalars,
    share: Scalars,
    filtered: Scalars,
    speed: Scalars,
) -> dict[str, Scalars]:
    """The formulas above, one reading further: an Observed by names, of what was KEPT of the one before."""
    a, G, mass_error, friction_error, more, sticking, torque_part, speed_part = rules[: len(RULES)]
    p, b = link_momenta(model, q, qd)
    p, b = np.vstack([p, model.rotor_inertia * qd]), np.vstack([b, np.zeros(model.n)])
    y = a * share + G * (p - momentum) - (1.0 - a) * 0.5 * (b + rest)
    M = whole("mass_matrix", "crba")(model, q)
    friction, unsure = [], []
    for j in range(model.n):
        dry, wet = model.coulomb[j], model.viscous[j] * (0.5 * (qd[j] + speed[j]))
        slides = qd[j] * speed[j] > sticking * sticking
        doubt = friction_error * (absolute(wet) + dry)
        friction.append(wet + where(slides, where(qd[j] > 0.0, dry, -dry), 0.0))
        unsure.append(more + where(slides, doubt, maximum(doubt, dry)))
    passed = a * filtered + (1.0 - a) * np.vstack([tau, vector(*friction), vector(*unsure)])
    residual, threshold = [], []
    for j in range(model.n):
        noise, tremble = torque_part * rules[len(RULES) + j], speed_part * speed_part * summed(M[j] * M[j])
        residual.append(summed(y[:, j]) + passed[1, j] - passed[0, j])
        allowed = mass_error * summed(absolute(each) for each in y[:, j]) + passed[2, j]
        threshold.append(allowed + sqrt(noise * noise + tremble))
    excess = largest(absolute(r) - most for r, most in zip(residual, threshold, strict=True))
    found = vector(*residual), vector(*threshold), vector(excess)
    return Observed(p, b, y, passed, vector(*qd), *found)._asdict()


class MomentumObserver(Rebuilt):
    """Follows the readings of an arm: `residual` and `threshold` (n,), N m or N, after each `look`.

    `look` once a reading; `forget` where the joints may be elsewhere for a good reason.  The first reading gives zeros.
    """

    def __init__(self, arm: Arm, settings: Contact) -> None:
        guesses = arm.model.estimated
        if guesses:
            links = ", ".join(map(repr, guesses))
            raise ConfigError(
                f"{arm.name}: contact is felt by masses that somebody measured, and those of {links} are estimates"
            )
        n, model = arm.n, arm.model
        self.arm, self.settings = arm, settings
        if settings.measured == "link":  # rotors and friction are on the other side
            model = dataclasses.replace(model, rotor_inertia=np.zeros(n), viscous=np.zeros(n), coulomb=np.zeros(n))
        sigma = [settings.torque_noise if model.revolute(j) else settings.force_noise for j in range(n)]
        self.rules = np.array([*(0.0 for _ in RULES), *sigma])
        self.rules[2:6] = settings.mass_error, settings.friction_error, settings.friction, settings.sticking
        inputs: dict[str, tuple[int, ...]] = {"q": (n,), "qd": (n,), "tau": (n,), "rules": self.rules.shape}
        inputs |= dict.fromkeys(KEPT[:3], (n + 1, n)) | {"filtered": (3, n), "speed": (n,)}
        self._kernel = compiled(observed, model, inputs, name="momentum", method="observer")
        self._now, self._spare = self._kernel.empty(), self._kernel.empty()  # one is read, the other written
        self._stamp = math.nan
        self._make_ready()
        self.forget()

    def _ready(self) -> None:
        self._run: Any = self._kernel.fast(self._kernel.general)

    @property
    def residual(self) -> Array:
        """(n,) what is felt, N m or N."""
        felt: Array = self._now.residual
        return felt

    @property
    def threshold(self) -> Array:
        """(n,) what the model's errors and noise account for, N m or N."""
        allowed: Array = self._now.threshold
        return allowed

    def forget(self) -> None:
        """The next reading is the first."""
        self._stamp = math.nan
        for array in self._now:
            array[:] = 0.0

    def look(self, t: float, q: Array, qd: Array, tau: Array) -> int:
        """Takes the joints as read at t: the number of the link that is touched, or -1.

        A reading with the stamp of the last one says nothing new.  A ValueError where numbers are not finite.
        """
        h = t - self._stamp
        if h == 0.0:
            return self.touched
        if not 0.0 < h < LONGEST:
            self.forget()
        decay = math.exp(-self.settings.gain * h) if 0.0 < h < LONGEST else 1.0
        gain = (1.0 - decay) / h if decay < 1.0 else 0.0
        within = self.settings.sigmas / math.sqrt(1.0 + decay)
        self.rules[0:2] = decay, gain
        self.rules[6:8] = within * math.sqrt(1.0 - decay), within * self.settings.speed_noise * gain * math.sqrt(2.0)
        self._run(q, qd, tau, self.rules, *self._now[: len(KEPT)], out=self._spare)
        self._now, self._spare, self._stamp = self._spare, self._now, t
        return self.touched if self._now.excess[0] > 0.0 else -1

    @property
    def part(self) -> float:
        """The greatest residual in thresholds: above 1 is contact.  0 before there are two readings."""
        most = self.threshold
        return float(np.max(np.abs(self.residual) / np.where(most > 0.0, most, math.inf)))

    @property
    def touched(self) -> int:
        """The number of the link of the last joint that feels more than its threshold, -1 if none does."""
        beyond = np.flatnonzero(np.abs(self.residual) > self.threshold)
        return int(beyond[-1]) if len(beyond) else -1
