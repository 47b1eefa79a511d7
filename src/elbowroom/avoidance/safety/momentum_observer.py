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
    u_j   = friction + friction_error (viscous |qd_j| + coulomb),   and coulomb once more while the joint may stick
    s_j^2 = sigma_t^2 V  +  sigma_v^2 m_j S,      m_j = sum over k M_jk^2
    V' = a^2 V + (1 - a)^2,      S = c^2 + W,   c' = G,   W' = a^2 W + (a c - G)^2

(V and S tend to (1 - a) / (1 + a) and 2 G^2 / (1 + a) where h stays the same), the first two terms surely, the third
but for the part of readings that lies beyond so many sigmas (2e-9 for six).  A joint may stick unless both readings
have it move one way, faster than `sticking` (in the geometric mean): then its dry friction is known by its sign.  What
is not in the bound, since no part of the model says how large it is: a wrong centre of mass, an unknown payload,
elastic joints.

**The change.**  e_i stays what it is, so a wrong mass changes r_j no faster than the motion changes y_ij, while a push
comes at once.  Let ^ mark a reading `window` or more before this one and A = e^(-K (t - t^)).  Without contact
|r_j - r_j^| stays below

    jump_j = mass_error sum over i |y_ij - y_ij^|  +  u_j filtered + (1 - 2 A) u_j^ filtered  +  sigmas d_j
    d_j^2  = sigma_t^2 (V + V^ - 2 A V^)  +  sigma_v^2 (m_j S + m_j^ S^ + 2 max(m_j, m_j^) max(B c^ - A S^, 0))

The error of friction may turn round at any time, and what was before ^ has in r_j the part A of its weight in r_j^.
B = e^(-K (t - t1)) G1 with the time t1 and the gain G1 of the reading after ^, which has the noise of qd^ with the
other sign.  All of this holds for readings at any times, however far apart.  With no reading that long ago all that was
before counts as zero, and the change is the residual itself.

From the first reading with contact on ^ stays where it is, so a push is felt as long as it lasts, and its end is no
second one.  That ends when nothing has been felt for `RELEASED`; and a change alone is felt for `memory` at most: what
stays that long is taken for the model's error.  A residual that is felt without a change for a window has grown slowly,
so ^ may be in the push: then the residual alone counts until contact has ended.

**Which link.**  A force on link i is felt by joints 1 to i alone.  So the link of the last joint whose residual or
change is beyond its threshold is touched, or one farther out, by a force whose line passes the axes in between so
nearly that they feel less than their thresholds.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
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
RELEASED = 0.25  # s in which nothing is felt, to end a contact: an arm that brakes may hide a change for a while
SPACINGS = 16  # readings that are kept are at least so many parts of a window apart
ROUNDING = 1e-6  # part of a window by which stamps may fall short of it
RULES = ("a", "G", "A", "B", "mass_error", "friction_error", "friction", "sticking", "sigmas", "speed_noise")


@dataclasses.dataclass(frozen=True)
class Contact(Settings):
    """Settings of contact felt through the joints' torques, and of what the arm does then."""

    reaction: str = setting("stop", REACTIONS, "stop; retract, away along what is felt; or float, giving way to it")
    # ---- the observer
    gain: float = setting(100.0, "(0, 1e4] 1/s", "K: how fast the residual follows a push; noise grows with it")
    window: float = setting(
        0.01, "[0, 0.1] s", "the change of the residual over this time is tested, too; 0: it is not"
    )
    memory: float = setting(10.0, "(0, 3600] s", "a change that is felt longer is taken for the model's error")
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
    speed: Scalars  # (n,) qd
    share: Scalars  # (n + 1, n) y_ij
    filtered: Scalars  # (3, n) torque, friction, and what friction may be wrong by
    noise: Scalars  # (3,) V, W, c
    spread: Scalars  # (n,) m_j
    residual: Scalars  # (n,)
    threshold: Scalars  # (n,)
    change: Scalars  # (n,) of the residual
    jump: Scalars  # (n,) threshold of that
    excess: Scalars  # (1,) of the greatest of residuals and changes beyond its threshold


KEPT = Observed._fields[:7]
EARLIER = slice(3, 7)  # of these, what a later reading is compared with


def observed(
    model: Model,
    q: Scalars,
    qd: Scalars,
    tau: Scalars,
    rules: Scalars,
    momentum: Scalars,
    rest: Scalars,
    speed: Scalars,
    share: Scalars,
    filtered: Scalars,
    noise: Scalars,
    spread: Scalars,
    earlier_share: Scalars,
    earlier_filtered: Scalars,
    earlier_noise: Scalars,
    earlier_spread: Scalars,
) -> dict[str, Scalars]:
    """The formulas above, one reading further: an Observed by names, of what was KEPT of the one before and of ^."""
    a, G, A, B, mass_error, friction_error, more, sticking, sigmas, tremble = rules[: len(RULES)]
    p, b = link_momenta(model, q, qd)
    p, b = np.vstack([p, model.rotor_inertia * qd]), np.vstack([b, np.zeros(model.n)])
    y = a * share + G * (p - momentum) - (1.0 - a) * 0.5 * (b + rest)
    M = whole("mass_matrix", "crba")(model, q)
    friction, unsure = [], []
    for j in range(model.n):
        dry, wet = model.coulomb[j], model.viscous[j] * (0.5 * (qd[j] + speed[j]))
        slides = qd[j] * speed[j] > sticking * sticking
        friction.append(wet + where(slides, where(qd[j] > 0.0, dry, -dry), 0.0))
        unsure.append(more + friction_error * (absolute(wet) + dry) + where(slides, 0.0, dry))
    passed = a * filtered + (1.0 - a) * np.vstack([tau, vector(*friction), vector(*unsure)])
    V, W, c = a * a * noise[0] + (1.0 - a) * (1.0 - a), a * a * noise[1] + (a * noise[2] - G) * (a * noise[2] - G), G
    S, V0, S0 = c * c + W, earlier_noise[0], earlier_noise[2] * earlier_noise[2] + earlier_noise[1]
    steady, paired = V + V0 - 2.0 * A * V0, 2.0 * maximum(B * earlier_noise[2] - A * S0, 0.0)
    residual, threshold, change, jump, m = [], [], [], [], []
    for j in range(model.n):
        m.append(summed(M[j] * M[j]))
        m0, sigma, apart = earlier_spread[j], rules[len(RULES) + j], y[:, j] - earlier_share[:, j]
        residual.append(summed(y[:, j]) + passed[1, j] - passed[0, j])
        allowed = mass_error * summed(absolute(each) for each in y[:, j]) + passed[2, j]
        threshold.append(allowed + sigmas * sqrt(sigma * sigma * V + tremble * tremble * m[j] * S))
        since = passed[:, j] - earlier_filtered[:, j]
        change.append(summed(apart) + since[1] - since[0])
        varied = sigma * sigma * steady + tremble * tremble * (m[j] * S + m0 * S0 + maximum(m[j], m0) * paired)
        doubt = passed[2, j] + (1.0 - 2.0 * A) * earlier_filtered[2, j]
        jump.append(mass_error * summed(absolute(each) for each in apart) + doubt + sigmas * sqrt(varied))
    pairs = zip([*residual, *change], [*threshold, *jump], strict=True)
    excess = largest(absolute(felt) - most for felt, most in pairs)
    found = vector(*residual), vector(*threshold), vector(*change), vector(*jump), vector(excess)
    return Observed(p, b, vector(*qd), y, passed, vector(V, W, c), vector(*m), *found)._asdict()


class Reading:
    """What is known of one reading; and of the one after it the time, a and G."""

    __slots__ = ("after", "compared", "found", "kept", "past", "stamp")

    def __init__(self, found: Observed) -> None:
        self.found, self.past, self.compared = found, found[: len(KEPT)], found[EARLIER]
        self.stamp, self.after, self.kept = math.nan, (0.0, 0.0, 0.0), False

    def clear(self) -> None:
        """As before any reading."""
        self.stamp = math.nan
        for array in self.found:
            array[:] = 0.0


class MomentumObserver(Rebuilt):
    """Follows the readings of an arm: after each `look` the `residual` and its `change`, with their thresholds.

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
        known = [getattr(settings, name) for name in RULES[4:]]
        self.rules = np.array([0.0, 0.0, 0.0, 0.0, *known, *sigma])
        shapes = dict.fromkeys(("momentum", "rest", "share"), (n + 1, n)) | {"speed": (n,), "spread": (n,)}
        shapes |= {"filtered": (3, n), "noise": (3,)}
        inputs: dict[str, tuple[int, ...]] = {"q": (n,), "qd": (n,), "tau": (n,), "rules": self.rules.shape}
        inputs |= {name: shapes[name] for name in KEPT} | {f"earlier_{name}": shapes[name] for name in KEPT[EARLIER]}
        self._kernel = compiled(observed, model, inputs, name="momentum", method="observer")
        self._window = settings.window * (1.0 - ROUNDING)
        self._spare = [Reading(self._kernel.empty()) for _ in range(SPACINGS + 6)]
        self._none, self._now = self._spare.pop(), self._spare.pop()  # zeros, always; and the last reading
        self._none.clear()
        self._past: deque[Reading] = deque()  # without contact: the last reading a window ago, and some of those since
        self._held: Reading | None = None  # with contact: what it is compared with
        self._began = self._last = math.nan  # when contact was felt first and last
        self._sudden = False  # it was felt by a change
        self._make_ready()
        self.forget()

    def _ready(self) -> None:
        self._run: Any = self._kernel.fast(self._kernel.general)

    @property
    def residual(self) -> Array:
        """(n,) what is felt, N m or N."""
        felt: Array = self._now.found.residual
        return felt

    @property
    def threshold(self) -> Array:
        """(n,) what the model's errors and noise account for, N m or N."""
        allowed: Array = self._now.found.threshold
        return allowed

    @property
    def change(self) -> Array:
        """(n,) of the residual since an earlier reading, N m or N; the residual where there is none yet."""
        felt: Array = self._now.found.change
        return felt

    @property
    def jump(self) -> Array:
        """(n,) what of a change the model's errors and noise account for, N m or N."""
        allowed: Array = self._now.found.jump
        return allowed

    def felt(self) -> tuple[Array, Array]:
        """Of residual and change, joint by joint, that which is more in thresholds (n,), and its threshold (n,)."""
        r, most = self.residual, self.threshold
        if self._earlier is self._none:
            return r, most
        sudden = np.abs(self.change) * most > np.abs(r) * self.jump
        return np.where(sudden, self.change, r), np.where(sudden, self.jump, most)

    def forget(self) -> None:
        """The next reading is the first."""
        self._release()
        self._now.clear()
        self._earlier = self._none

    def look(self, t: float, q: Array, qd: Array, tau: Array) -> int:
        """Takes the joints as read at t: the number of the link that is touched, or -1.

        A reading with the stamp of the last one says nothing new.  A ValueError where numbers are not finite.
        """
        before, K = self._now, self.settings.gain
        h = t - before.stamp
        if h == 0.0:
            return self.touched
        if not 0.0 < h < LONGEST:
            self.forget()
        a = math.exp(-K * h) if 0.0 < h < LONGEST else 1.0
        G = (1.0 - a) / h if a < 1.0 else 0.0
        before.after = t, a, G
        earlier, now = self._compared(t), self._spare[-1]
        at, its_a, its_G = earlier.after
        since = math.exp(K * (at - t)) if earlier is not self._none else 0.0
        self.rules[:4] = a, G, since * its_a, since * its_G
        self._run(q, qd, tau, self.rules, *before.past, *earlier.compared, out=now.found)
        self._spare.pop()
        now.stamp, self._now, self._earlier = t, now, earlier
        if not before.kept:
            self._spare.append(before)
        touched = self.touched if now.found.excess[0] > 0.0 else -1
        if touched >= 0 or self._held is not None:
            self._follow(t, touched >= 0)
        return touched

    def _compared(self, t: float) -> Reading:
        """The earlier reading that one at t is compared with; zeros where there is none."""
        now, past, window = self._now, self._past, self._window
        if self._held is not None:
            return self._held
        if not (past and now.stamp - past[-1].stamp < window / SPACINGS) and now.stamp < t and window > 0.0:
            now.kept = True
            past.append(now)
        while len(past) > 1 and t - past[1].stamp >= window:
            self._free(past.popleft())
        return past[0] if past and t - past[0].stamp >= window else self._none

    def _follow(self, t: float, felt: bool) -> None:
        """A contact that begins, lasts or ends with the reading at t."""
        if not felt:
            if t - self._last > RELEASED:
                self._release()
            return
        if self._held is None:
            self._began, self._held = t, self._earlier
            while self._past:
                each = self._past.pop()
                if each is not self._held:
                    self._free(each)
        self._last = t
        known = self._held is not self._none
        self._sudden = self._sudden or (known and bool((np.abs(self.change) > self.jump).any()))
        if known and t - self._began > (self.settings.memory if self._sudden else self._window):
            self._free(self._held)
            self._held = self._none

    def _release(self) -> None:
        """No contact, and no earlier reading to compare with."""
        for each in (*self._past, self._held):
            if each is not None and each is not self._none and each is not self._now:
                self._free(each)
        self._past.clear()
        self._now.kept, self._held = False, None
        self._began = self._last = math.nan
        self._sudden = False

    def _free(self, reading: Reading) -> None:
        """To be written on again."""
        reading.kept = False
        self._spare.append(reading)

    @property
    def contact(self) -> bool:
        """Whether something is felt, or was felt not longer than `RELEASED` ago."""
        return self._held is not None

    @property
    def part(self) -> float:
        """The greatest residual or change in thresholds: above 1 is contact.  0 before there are two readings."""
        return self.most[0]

    @property
    def most(self) -> tuple[float, float, float]:
        """The same, the joint that feels it, from 1 on, and what that is, N m or N; NaN where none feels anything."""
        felt, most = self.felt()
        parts = np.abs(felt) / np.where(most > 0.0, most, math.inf)
        k = int(parts.argmax())
        return (float(parts[k]), k + 1.0, float(felt[k])) if parts[k] > 0.0 else (0.0, math.nan, math.nan)

    @property
    def beyond(self) -> Array:
        """(n,) what is felt beyond the thresholds, N m or N."""
        felt, most = self.felt()
        return felt - np.clip(felt, -most, most)

    @property
    def touched(self) -> int:
        """The number of the link of the last joint that feels more than its threshold, -1 if none does."""
        felt, most = self.felt()
        beyond = np.flatnonzero(np.abs(felt) > most)
        return int(beyond[-1]) if len(beyond) else -1
