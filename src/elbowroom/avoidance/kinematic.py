"""The K controller: repulsion and attraction as velocities (thesis, section 3.9.1).

Each push is a velocity of its control point, turned into joint speeds by that point's own Jacobian (3.49), (3.51).
The tool's velocity is that of the attraction plus what the pushes make of it (3.50), (3.55).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algebra.linalg import Array
from ..dynamics.kinematics import jacobian_at
from .law import Memory, Situation, attraction, combined, finished, given_way, information, off_limits
from .resolution import resolved


def pushed_speeds(s: Situation) -> list[Array]:
    """The joint speeds (n,) that each push asks for: (3.49) or (3.51) at its control point."""
    speeds = []
    for push in s.pushes:
        J = jacobian_at(s.model, s.frames, push.link, push.point).Jv
        speeds.append(resolved(s.g.inverse, J, push.vector, s.g.push_damping, s.weights))
    return speeds


def law(s: Situation, memory: Memory, dt: Any, restart: Any, oldest: Array, samples: int) -> dict[str, Any]:
    """One step: joint and tool velocities, and the memory after it."""
    each = pushed_speeds(s)
    pushed = given_way(s, each, np.zeros(s.model.n))
    drawn, integral = attraction(s, memory.integral, dt)
    asked, limit = combined(s, drawn, each), 1.0
    if s.g.joint_limits.form == "printed":
        asked, limit = off_limits(s, asked)
    done = finished(s, asked, limit, off_limits, oldest, memory, restart, samples)
    speed = done.speed
    tool = jacobian_at(s.model, s.frames, s.model.n - 1, s.tool)
    return {
        "qd": speed,
        "q": s.q + speed * dt,
        "tool_velocity": np.concatenate([tool.Jv @ speed, tool.Jw @ speed]),
        "raw": done.raw,
        "unfiltered": done.unfiltered,
        "memory": np.concatenate([integral, done.total, done.fresh, memory.desired]),
        "info": information(s, done.limit, drawn, tool.Jv @ pushed),
    }
