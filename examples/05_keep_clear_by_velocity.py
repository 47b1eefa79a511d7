"""The K controller: a person reaches into the work of a UR5e, and every link keeps its distance.

You learn the whole loop: see people, advance the goal, ask the supervisor for a command, hand it to the drive.
Run with a file name to draw the run: `python 05_keep_clear_by_velocity.py run.png` (needs matplotlib).
"""

import sys

import numpy as np

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Goal, Path, Pole, Repulsion, State, Supervisor, Workspace
from elbowroom.geometry import Person

dt = 0.004  # s
arm = er.load("ur5e")
config = Config(
    controller="K",
    period=dt,
    task="pose",  # keep the tool upright while it moves
    repulsion=Repulsion(influence=0.45),
    workspace=Workspace(floor=0.0),
)
guard = Supervisor(Controller(arm, config))
people = guard.controller.obstacles()
person = Person.standing((-1.4, -0.1, 0.0))  # on the side that the arm reaches to

here = arm.pose(arm.ready)
state = State(arm.ready)
goal = Goal(here[:3, 3], rotation=here[:3, :3])
track = here[:3, 3] + np.array([[0, 0, 0], [0, -0.25, 0], [0, 0.25, 0], [0, 0, 0]])
pole, clock = Pole(Path(track), speed=0.15, leash=0.15), 0.0

print(" time   status         clear (m)  nearest                        off its pole (m)")
history = []
for k in range(int(10.0 / dt)):
    t = k * dt
    reach = 0.5 - 0.5 * np.cos(2 * np.pi * np.clip(t - 2.0, 0.0, 6.0) / 6.0)  # in and out again, from 2 s to 8 s
    speed = 0.5 * np.sin(2 * np.pi * (t - 2.0) / 6.0) * 2 * np.pi / 6.0 if 2.0 < t < 8.0 else 0.0
    people.see(person.moved((0.5 * reach, 0.0, 0.0), velocity=(0.5 * speed, 0.0, 0.0)), t)
    clock = pole.advance(clock, dt, arm.pose(state.q)[:3, 3])
    goal.position[:], goal.velocity[:] = pole.at(clock)
    command = guard.step(t, dt, state, people, goal)
    state.qd[:] = command.qd  # a perfect drive
    state.q += command.qd * dt
    state.t = t + dt
    off = np.linalg.norm(arm.pose(state.q)[:3, 3] - goal.position)
    history.append((t, command.distance, off, np.linalg.norm(command.tool_velocity[:3])))
    if k % 250 == 0:
        nearest = " to ".join(guard.controller.nearest())
        print(f"{t:5.1f}   {command.status:14} {command.distance:8.2f}   {nearest:30} {off:.3f}")
least = min(row[1] for row in history)
print(f"least distance {least:.2f} m, fastest tool {max(row[3] for row in history):.2f} m/s, latched: {guard.latched}")

if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    time, clear, off, fast = np.array(history).T
    figure, (upper, lower) = plt.subplots(2, sharex=True)
    upper.plot(time, clear, label="clear")
    upper.plot(time, off, "--", label="off its pole")
    upper.set_ylabel("m")
    upper.legend()
    lower.plot(time, fast, color="black")
    lower.set(xlabel="s", ylabel="tool, m/s")
    figure.savefig(sys.argv[1])
