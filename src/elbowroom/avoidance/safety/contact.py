"""Contact felt through the joints' torques (F30): what the supervisor is told, and what the arm does then.

The momentum observer (momentum_observer.py) says that a link is touched, by the residual of a joint or by its change;
the stop is STOP_CONTACT, latched, and names the link.  In the cycle of the first reading beyond a threshold the outer
joints may not have felt all of it yet, so the link is named anew while the residual settles, `SETTLES` / gain seconds.

The arm runs down as in every controlled stop.  When it stands

    stop        it stands
    retract     it goes v = c V^2 r for a while, r being what the touched joints feel then (the residual or its change,
                whichever is more in thresholds) and V their velocity limits: of all speeds of that size in velocity
                limits the one that gives way most (the force does the work v . r > 0).  c has the far end of the
                touched link at `retract_speed`, for `retract_distance`
    float       it goes v = M^-1 r' / d with d = `float_damping` as long as something is felt, r' being what of r is
                beyond the thresholds; an arm with torque commands is given gravity compensation with the damping d

All of it passes the filter, so that people, things and limits are kept to, and any other reason to stop ends it for
good.  An arm that takes torques gets v as M k (v - qd) with its bias and friction, k = `hold_damping`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...arm import Arm
from ..control.command import State, Status, finite_numbers
from .limits import Bounds, Limits
from .momentum_observer import Contact, MomentumObserver

Array = NDArray[np.float64]
SETTLES = 5.0
"""Times 1 / gain: until then the residual has come to 99.3 % of a push."""


class ContactWatch:
    """Looks at every joint state for contact, and has the reaction; see the module's docstring."""

    def __init__(self, arm: Arm, settings: Contact, limits: Limits, bounds: Bounds, *, torque: bool) -> None:
        self.arm, self.settings, self.torque = arm, settings, torque
        self.observer = MomentumObserver(arm, settings)
        self.status: Status | None = None  # of the last state: STOP_CONTACT, or STOP_STATE_INVALID
        self.reason = ""
        self.link = -1  # that was named
        self._velocity, self._fastest = bounds.velocity, bounds.velocity * limits.retreat_fraction
        self._standing, self._damping = limits.standing, limits.hold_damping
        self._prepare()
        self.forget()

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def _prepare(self) -> None:
        """Compiles now what a reaction needs: not in the loop."""
        q, still = self.arm.ready, np.zeros(self.arm.n)
        self.arm.mass_matrix(q), self.arm.poses(q), self.arm.inverse_dynamics(q, still, still)

    def forget(self) -> None:
        """The stop has ended, or the joints may be elsewhere: the next state is the first."""
        self.observer.forget()
        self.link, self._felt = -1, math.nan
        self._way: Array | None = None
        self._until, self._stood, self.over = math.inf, False, False

    def look(self, state: State) -> bool:
        """Takes a joint state; whether it is a reason to stop, with `status` and `reason`."""
        self.status = None
        try:
            tau: Array = state.tau  # type: ignore[assignment]  # None is refused below
            link = self.observer.look(state.t, state.q, state.qd, tau)
        except (ValueError, TypeError):
            self.observer.forget()
            if finite_numbers(state.tau, self.arm.n) is None:
                self.status = Status.STOP_STATE_INVALID
                what = "no torques" if state.tau is None else f"{state.tau}"
                self.reason = f"tau must be {self.arm.n} finite numbers, since contact is watched; got {what}"
            return self.status is not None  # the rest of the state is for the state checks to refuse
        if link < 0:
            return False
        self._felt = state.t if math.isnan(self._felt) else self._felt
        if link > self.link and state.t - self._felt <= SETTLES / self.settings.gain:
            self.link, self.reason = link, self._told(link)
        self.status = Status.STOP_CONTACT
        return True

    def _told(self, link: int) -> str:
        names, joint = self.arm.model.link_names, self.arm.joint_names[link]
        unit = "N m" if self.arm.model.revolute(link) else "N"
        felt, allowed = (float(each[link]) for each in self.observer.felt())
        beyond = " or beyond" if link + 1 < self.arm.n else ""
        more = "" if felt == self.observer.residual[link] else " more than before"
        numbers = f"{abs(felt):.3g} {unit}{more}, allowed {allowed:.3g}"
        return f"contact with link {names[link]!r}{beyond}: joint {joint!r} feels {numbers}"

    def reaction(self, t: float, q: Array, qd: Array, last: Array) -> tuple[Array, Array] | None:
        """Speeds and torques (n,) that are wanted in a stop for contact; None to run down and stand.

        `last` are the speeds of the last command.
        """
        self._stood = self._stood or float(np.abs(qd if self.torque else last).max()) <= self._standing
        if self.over or not self._stood or self.settings.reaction == "stop":
            return None
        damping, still = self._damping, np.zeros(self.arm.n)
        if self.settings.reaction == "retract":
            if self._way is None and self.observer.touched >= 0:
                self._way = self._away(q)
                self._until = t + self.settings.retract_distance / self.settings.retract_speed
            if self._way is None or t >= self._until:
                self.over = self._way is not None or not self.observer.contact
                return None
            v = self._way
        elif self.torque:
            v, damping = still, self.settings.float_damping
        else:
            pushed: Array = np.linalg.solve(self.arm.mass_matrix(q), self.observer.beyond).astype(float, copy=False)
            v = self._within(pushed / self.settings.float_damping)
        return v, self.arm.inverse_dynamics(q, qd, damping * (v - qd)) if self.torque else still

    def _away(self, q: Array) -> Array:
        """The speeds (n,) of a retraction from what is felt at q."""
        touched = self.observer.touched
        felt, most = self.observer.felt()
        way: Array = self._velocity**2 * np.where(np.abs(felt) > most, felt, 0.0)
        frames = self.arm.poses(q)
        far = frames[touched + 1, :3, 3] if touched + 1 < self.arm.n else self.arm.pose(q)[:3, 3]
        axes, arms = frames[: touched + 1, :3, 2], far - frames[: touched + 1, :3, 3]
        turns = np.array([self.arm.model.revolute(j) for j in range(touched + 1)])[:, None]
        speed = float(np.linalg.norm(way[: touched + 1] @ np.where(turns, np.cross(axes, arms), axes)))
        pace = self.settings.retract_speed / speed if speed > 0.0 else math.inf
        return self._within(way, pace)

    def _within(self, way: Array, pace: float = 1.0) -> Array:
        """So much of these speeds, along their direction, as `retreat_fraction` of the velocity limits allows."""
        size = np.abs(way)
        most = np.divide(self._fastest, size, out=np.full(len(way), math.inf), where=size > 0.0).min()
        return way * min(pace, float(most)) if size.any() else way
