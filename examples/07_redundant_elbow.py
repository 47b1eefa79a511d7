"""Seven joints for a six-dimensional task: the elbow gives way while the tool stays where it is.

You learn what the ways to add up pushes and task cost at the tool.  A thing comes near the elbow from the side.  With
`superposition = "null"` the arm first gives way where the tool does not feel it; with "joint" pushes and task just add
up; with "tool" (the thesis' way) the push is carried to the tool.
"""

import numpy as np

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Goal, Repulsion, State
from elbowroom.geometry import Sphere

dt = 0.005
arm = er.load("iiwa7")
here = arm.pose(arm.ready)
elbow = arm.poses(arm.ready)[3, :3, 3]

for superposition in ("null", "joint", "tool"):
    config = Config(
        task="pose", period=dt, superposition=superposition, posture=0.1, repulsion=Repulsion(influence=0.3)
    )
    controller = Controller(arm, config, people=0, others=1)
    things = controller.obstacles()
    state, goal = State(arm.ready), Goal(here[:3, 3], rotation=here[:3, :3])
    least, drift = np.inf, 0.0
    for k in range(int(6.0 / dt)):
        t = k * dt
        gap = max(0.7 - 0.15 * t, 0.28)
        velocity = (0.0, -0.15 if gap > 0.28 else 0.0, 0.0)
        things.put(Sphere(elbow + np.array([0.0, gap, 0.0]), radius=0.1), velocity=velocity)
        command = controller.step(t, dt, state, things, goal)
        state.qd[:] = command.qd
        state.q += command.qd * dt
        least = min(least, command.distance)
        drift = max(drift, np.linalg.norm(arm.pose(state.q)[:3, 3] - here[:3, 3]))
    swing = np.linalg.norm(arm.poses(state.q)[3, :3, 3] - elbow)
    print(
        f'"{superposition}": least distance {least:.3f} m, elbow moved {swing:.3f} m, tool off by {1000 * drift:.0f} mm'
    )
