"""The F controller on a torque-driven arm: the arm itself is simulated by forward dynamics, friction included.

You learn what the three force methods do in the same scene: which joints give way depends on how heavy they are.
"""

import numpy as np

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Force, Goal, State
from elbowroom.geometry import Person

dt = 0.002  # s
arm = er.load("panda")
start = arm.ready
person = Person.standing((0.0, 0.1, 0.0), facing=np.pi)

for method in ("linearised", "operational", "joint"):
    controller = Controller(arm, Config(controller="F", period=dt, force=Force(method=method)))
    people = controller.obstacles()
    state, goal = State(start), Goal(arm.pose(start)[:3, 3])
    least, moved = np.inf, np.zeros(arm.n)
    for k in range(int(6.0 / dt)):
        t = k * dt
        x = max(1.5 - 0.35 * t, 0.75) if t < 3.0 else 0.75 + 0.35 * (t - 3.0)
        walk = (0.0 if x == 0.75 else -0.35 if t < 3.0 else 0.35, 0.0, 0.0)
        people.see(person.moved((x, 0.0, 0.0), velocity=walk), t)
        command = controller.step(t, dt, state, people, goal)
        if controller.makes_torque:  # torques to the arm
            state.qd += arm.forward_dynamics(state.q, state.qd, command.tau) * dt
        else:  # velocities to a drive that follows them
            state.qd[:] = command.qd
        state.q += state.qd * dt
        least = min(least, command.distance)
        moved = np.maximum(moved, np.abs(state.q - start))
    back = np.linalg.norm(arm.pose(state.q)[:3, 3] - goal.position)
    print(
        f"{method:12} least distance {least:.2f} m; joints gave way by at most",
        np.degrees(moved).round(0),
        "deg;",
        end=" ",
    )
    print(f"{1000 * back:.0f} mm from the goal at the end")
