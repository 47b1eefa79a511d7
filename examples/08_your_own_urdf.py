"""An arm from a URDF file: its collision shapes become capsules, and the same loop keeps it clear.

You learn what elbowroom takes from a URDF, how to look at the capsules, and which of them are kept apart.
"""

import tempfile
from pathlib import Path

import numpy as np

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Goal, State, Supervisor
from elbowroom.geometry import Body, Person

LINK = """<link name="{name}"><inertial><origin xyz="0 0 {half}"/><mass value="{mass}"/>
<inertia ixx="{i}" iyy="{i}" izz="{j}" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 {half}"/><geometry><cylinder radius="{radius}" length="{length}"/></geometry></collision>
</link>"""
JOINT = """<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="0 0 {z}"/>
<axis xyz="{axis}"/><limit lower="-2.8" upper="2.8" velocity="2" effort="150"/></joint>"""


def urdf() -> str:
    """A plain arm of four joints, 1.2 m long."""
    parts, before, z = ['<robot name="reacher"><link name="base"/>'], "base", 0.0
    for k, (axis, length, radius, mass) in enumerate(
        [("0 0 1", 0.35, 0.08, 8.0), ("0 1 0", 0.4, 0.07, 6.0), ("0 1 0", 0.35, 0.06, 4.0), ("0 1 0", 0.12, 0.05, 1.0)]
    ):
        i, j = mass * (3 * radius**2 + length**2) / 12, mass * radius**2 / 2
        parts.append(LINK.format(name=f"l{k}", half=length / 2, mass=mass, i=i, j=j, radius=radius, length=length))
        parts.append(JOINT.format(name=f"j{k}", parent=before, child=f"l{k}", z=z, axis=axis))
        before, z = f"l{k}", length
    parts.append('<link name="tool"/><joint name="flange" type="fixed"><parent link="l3"/><child link="tool"/>')
    parts.append(f'<origin xyz="0 0 {z}"/></joint></robot>')
    return "\n".join(parts)


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "reacher.urdf"
    file.write_text(urdf())
    arm = er.load(str(file), tip="tool")

body = Body(arm)
print(arm, body)
for capsule in body.capsules(np.zeros(arm.n)):
    print("  capsule", capsule.a.round(2), "to", capsule.b.round(2), f"radius {capsule.radius:.3f} m")
print("kept apart from each other:", [(body.names[i], body.names[j]) for i, j in body.self_pairs])

dt = 0.005
guard = Supervisor(Controller(arm, Config(period=dt), body=body))
people = guard.controller.obstacles()
start = np.array([0.0, 0.5, 1.2, 0.6])
state, goal = State(start), Goal(arm.pose(start)[:3, 3])
least = np.inf
for k in range(1200):
    t = k * dt
    x = 1.8 - 0.3 * t if t < 3.0 else 0.9 + 0.3 * (t - 3.0)
    people.see(Person.cylinder((x, 0.0, 0.0), velocity=(-0.3 if t < 3.0 else 0.3, 0.0, 0.0)), t)
    command = guard.step(t, dt, state, people, goal)
    state.qd[:] = command.qd
    state.q += command.qd * dt
    state.t = t + dt
    least = min(least, command.distance)
print(f"least distance {least:.2f} m, {guard.latched or 'no stop'}, status at the end {command.status}")
