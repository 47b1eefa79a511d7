"""A dragged person: a person of a scene, moved on the page as a whole or by the hands.

    who = DraggedPerson(Walk(...));  who.drag((0.4, 0.0));  who.drag_hand("right", (0.1, 0.0, 0.3));  who.let_go()

The person goes on as before, shifted by an offset d.  It follows the wanted offset w at a limited speed, as a
critically damped spring would: with time constant T

    d' = u,    u' = ((w - d) / T - 2 u) / T,    |u| at most `speed`

so places and velocities are smooth, whatever jumps a mouse makes, and the velocities in the rows are the true ones.
Hands have offsets of their own, from where they would be; an arm follows its hand by two links, as far as it reaches.
Unlike other coworkers this one remembers: times must not decrease.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import finite, number
from ...geometry.person import SIDES
from ...geometry.shapes import VELOCITY_A, VELOCITY_B, A, B
from .coworker import Coworker

Array = NDArray[np.float64]

FARTHEST = 10.0  # m: an offset beyond is cut back to it
STRETCH = 0.99  # of an arm's length: as far as it is stretched
STEP = 0.01  # s: the longest step of the offsets


class SmoothOffset:
    """An offset (k,) that follows a wanted one smoothly: a damped spring with a speed limit."""

    def __init__(self, size: int, time: float, speed: float) -> None:
        self.time, self.speed = time, speed
        self.wanted, self.at, self.rate = np.zeros(size), np.zeros(size), np.zeros(size)

    def advance(self, dt: float) -> None:
        """dt (s) later."""
        steps = max(1, math.ceil(dt / STEP * (1 - 1e-9)))  # a rounding error is not worth one more
        h = dt / steps
        for _ in range(steps):
            pull = ((self.wanted - self.at) / self.time - 2.0 * self.rate) / self.time
            rate = self.rate + h * pull
            size = math.sqrt(rate @ rate)
            self.rate = rate * (self.speed / size) if size > self.speed else rate
            self.at = self.at + h * self.rate


class DraggedPerson:
    """A coworker with offsets: `drag` (x, y) moves all of them, `drag_hand` (x, y, z) one hand; `let_go` gives back.

    `speed` is the greatest of the body's offset, `hand_speed` of a hand's, m/s; `time` (s) how fast they follow.
    """

    def __init__(self, who: Coworker, *, speed: float = 1.6, hand_speed: float = 2.5, time: float = 0.12) -> None:
        self.who = who
        self.names, self.duration = who.names, who.duration
        self._time = number("DraggedPerson.time", time, more=True)
        self._speeds = (
            number("DraggedPerson.speed", speed, more=True),
            number("DraggedPerson.hand_speed", hand_speed, more=True),
        )
        self._arms = {side: arm_rows(who.names, side) for side in SIDES if f"{side}_hand" in who.names}
        self.reset()

    @property
    def hands(self) -> tuple[str, ...]:
        """The hands that can be dragged: none of a cylinder's."""
        return tuple(self._arms)

    def reset(self) -> None:
        """As if nobody had touched them, and time begins anew."""
        self._body = SmoothOffset(2, self._time, self._speeds[0])
        self._hands = {side: SmoothOffset(3, self._time, self._speeds[1]) for side in self._arms}
        self._t = -math.inf

    def drag(self, offset: ArrayLike) -> None:
        """Where they should be, (x, y) m from where they would be."""
        wanted = finite("DraggedPerson.drag", offset, (2,))
        self._body.wanted = wanted * min(1.0, FARTHEST / max(float(np.linalg.norm(wanted)), 1e-12))

    def drag_hand(self, side: str, offset: ArrayLike) -> None:
        """Where a hand ("left" or "right") should be, (x, y, z) m from where it would be."""
        if side not in self._hands:
            raise ValueError(f"DraggedPerson.drag_hand: expected one of {self.hands or 'none'}; got {side!r}")
        self._hands[side].wanted = finite("DraggedPerson.drag_hand", offset, (3,))

    def let_go(self) -> None:
        """Back to where they would be."""
        self._body.wanted = np.zeros(2)
        for hand in self._hands.values():
            hand.wanted = np.zeros(3)

    @property
    def offset(self) -> Array:
        """Where they are now, (x, y) m from where they would be."""
        return self._body.at.copy()

    @property
    def hand_offsets(self) -> dict[str, Array]:
        """Where the hands are now, (x, y, z) m from where they would be."""
        return {side: hand.at.copy() for side, hand in self._hands.items()}

    def look(self, t: float, out: Array) -> float | None:
        """The capsules at t, with velocities."""
        if t > self._t:
            dt = t - self._t if self._t > -math.inf else 0.0
            for offset in (self._body, *self._hands.values()) if dt else ():
                offset.advance(dt)
            self._t = t
        stamp = self.who.look(t, out)
        if stamp is None or stamp == -math.inf:
            return stamp
        shift, rate = np.array([*self._body.at, 0.0]), np.array([*self._body.rate, 0.0])
        out[:, A] += shift
        out[:, B] += shift
        out[:, VELOCITY_A] += rate
        out[:, VELOCITY_B] += rate
        for side, hand in self._hands.items():
            if hand.at.any() or hand.wanted.any():
                bend_to(out, self._arms[side], hand.at, hand.rate)
        return stamp

    def point(self, t: float) -> tuple[Array, Array]:
        """Where they stand, and the velocity."""
        at, velocity = self.who.point(t)
        return at + np.array([*self._body.at, 0.0]), velocity + np.array([*self._body.rate, 0.0])


def arm_rows(names: tuple[str, ...], side: str) -> tuple[int, int, int]:
    """The rows of an arm: upper arm, forearm, hand."""
    upper, fore, hand = (names.index(f"{side}_{what}") for what in ("upper_arm", "forearm", "hand"))
    return upper, fore, hand


def bend_to(rows: Array, arm: tuple[int, int, int], offset: Array, rate: Array) -> None:
    """Moves a hand by an offset, held within the arm's length, and bends the arm to it.

    The elbow stays in the plane of shoulder, hand and where it was, on its side of the line between them.
    """
    upper, fore, hand = arm
    shoulder, bend, wrist = rows[upper, A].copy(), rows[fore, A].copy(), rows[fore, B].copy()
    palm = 0.5 * (rows[hand, A] + rows[hand, B])
    a, b = float(np.linalg.norm(bend - shoulder)), float(np.linalg.norm(palm - bend))
    wanted = palm + offset - shoulder
    far = float(np.linalg.norm(wanted))
    most, least = STRETCH * (a + b), abs(a - b) + 0.05
    if far > most or far < least:
        wanted = wanted * ((most if far > most else least) / far) if far > 0 else np.array([least, 0.0, 0.0])
        rate = np.zeros(3)  # at the end of its reach it goes no further
        far = float(np.linalg.norm(wanted))
    u = wanted / far
    along = (a * a - b * b + far * far) / (2 * far)
    high = math.sqrt(max(a * a - along * along, 0.0))
    side = bend - shoulder - u * float(u @ (bend - shoulder))
    size = float(np.linalg.norm(side))
    if size < 1e-6:  # a straight arm: bend it downwards, or outwards where it points down
        side = np.array([0.0, 0.0, -1.0]) - u * -u[2]
        side = np.cross(u, [1.0, 0.0, 0.0]) if float(np.linalg.norm(side)) < 1e-6 else side
        size = float(np.linalg.norm(side))
    new_bend, new_palm = shoulder + along * u + high / size * side, shoulder + wanted
    reach = (new_palm - new_bend) / max(float(np.linalg.norm(new_palm - new_bend)), 1e-9)
    new_wrist = new_bend + reach * float(np.linalg.norm(wrist - bend))
    moved = rate
    rows[upper, B] = rows[fore, A] = new_bend
    rows[fore, B] = new_wrist
    rows[hand, A], rows[hand, B] = rows[hand, A] + new_palm - palm, rows[hand, B] + new_palm - palm
    for row, end, part in ((upper, VELOCITY_B, 0.5), (fore, VELOCITY_A, 0.5), (fore, VELOCITY_B, 1.0)):
        rows[row, end] += part * moved  # the elbow goes about half as fast as the hand
    rows[hand, VELOCITY_A] += moved
    rows[hand, VELOCITY_B] += moved
