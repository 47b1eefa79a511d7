"""How fast an arm may approach a person, in closed form (promise.py has it for every pair), or a joint its limit.

The formulas are those of ISO/TS 15066 (now in ISO 10218-2:2025) as secondary sources print them; we have not seen the
standards' own text.  With v_h the person's speed, v_r the arm's towards the person, T_r the reaction time, a the arm's
deceleration, T_s = v_r / a the time it takes to stop, C the intrusion distance and Z what both positions may err by:

    S_p = v_h (T_r + T_s) + v_r T_r + v_r^2 / (2 a) + C + Z                             separation that is needed
    v_max = sqrt(v_h^2 + (a T_r)^2 + 2 a (d - C - Z)) - a T_r - v_h, at least 0         speed that keeps S_p <= d

v_max is the positive root of S_p = d; below d = v_h T_r + C + Z there is none and the arm must not come nearer at all.
As a person walks on at v_h, v_max falls at a (v_h + v) / (v_h + v + a T_r) < a: an arm that follows it never brakes
harder than a.

Before a limit that is `margin` away a joint must be able to stop, though a command is held for h until the next:

    margin >= v h + v^2 / (2 a),    so    v <= sqrt((a h)^2 + 2 a margin) - a h,    and 0 at and beyond the limit

One step of h or less later the bound has fallen by a h at most, so that a joint that follows it never passes the limit
and never brakes harder than a.
"""

from __future__ import annotations

from typing import Any

from ...algebra.functions import maximum, sqrt


def separation_distance(
    v_r: Any, human_speed: Any, reaction: Any, deceleration: Any, clearance: Any, stopping_time: Any = None
) -> Any:
    """S_p (m): how far a person must be for the arm to come towards them at v_r (m/s); clearance is C + Z."""
    stopping = v_r / deceleration if stopping_time is None else stopping_time
    braking = v_r * v_r / (2.0 * deceleration)
    return human_speed * (reaction + stopping) + v_r * reaction + braking + clearance


def separation_speed(
    distance: Any, human_speed: Any, reaction: Any, deceleration: Any, clearance: Any, least: Any = 0.0
) -> Any:
    """v_max (m/s): how fast the arm may come towards a person at this distance (m), at least `least`."""
    run, twice = deceleration * reaction, 2.0 * deceleration
    square = human_speed * human_speed + (run * run - twice * clearance) + twice * distance
    return maximum(sqrt(maximum(square, 0.0)) - (run + human_speed), least)


def braking_speed(margin: Any, deceleration: Any, horizon: Any) -> Any:
    """The greatest speed towards a limit that is `margin` away, if a command may last for `horizon` (s)."""
    run = deceleration * horizon
    return sqrt(run * run + 2.0 * deceleration * maximum(margin, 0.0)) - run
