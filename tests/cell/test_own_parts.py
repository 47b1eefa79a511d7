"""A task, a person and a plant of a user's own, written from the protocols alone; what is said of a wrong one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from elbowroom.avoidance import Goal
from elbowroom.avoidance.protocols import lacking
from elbowroom.cell import Cell, GoTo, Kinematic, Plant, Scene, Seen, Task, WalkSettings, mounted, run
from elbowroom.errors import ConfigError
from elbowroom.geometry import Person

SCENE = Scene(robot="planar2", duration=0.1, check_reach=False)


class Swing:
    """A task and its settings in one."""

    objects, object = np.zeros((0, 3)), np.full(3, np.nan)
    state, cycles = "swinging", 0

    def placed(self, origin):
        self.origin = np.asarray(origin)
        return self

    def begin(self, tool):
        self.start(tool)
        return self

    def start(self, tool):
        self.goal = Goal(tool)

    def step(self, t, dt, tool, distance):
        self.goal.position[:], self.goal.t = self.origin - [0.0, 0.0, 0.1 * math.sin(t)], t
        return self.goal


class Bystander:
    """A person and their settings in one."""

    names, duration = ("body",), math.inf

    def make(self, origin, floor):
        self.at = np.array([origin[0] + 3.0, origin[1], floor])
        return Seen(self, self)

    def point(self, t):
        return self.at, np.zeros(3)

    def look(self, t, out):
        out[:] = Person.cylinder(self.at, radius=0.2).rows
        return t


class Lagging:
    """An arm whose joints take 20 ms to move as they are told; nothing of elbowroom's own in it."""

    contacts, touching = 0, False

    def __init__(self, arm):
        self.arm = arm

    def reset(self, q):
        self.q, self.qd, self.wanted, self.t = np.array(q, dtype=float), np.zeros(self.arm.n), np.zeros(self.arm.n), 0.0

    def write(self, command):
        self.wanted = command.qd.copy()

    def brake(self):
        self.wanted = np.zeros(self.arm.n)

    def advance(self, dt, person_rows=None):
        self.qd += (self.wanted - self.qd) * -math.expm1(-dt / 0.02)
        self.q += self.qd * dt
        self.t += dt

    def read(self, state):
        state.q[:], state.qd[:], state.t = self.q, self.qd, self.t


def changed(what, **members):
    """An object of a class that has other members; None takes one away."""
    return type(what.__name__, (what,), members)


def test_one_of_each_makes_a_run():
    scene = replace(SCENE, duration=2.0, task=Swing(), people={"anna": Bystander()})
    cell = Cell(scene, plant=Lagging(mounted(scene)))
    table = run(cell).table()
    assert repr(cell) == "<Cell: planar2 on the plant Lagging, Swing, with anna>"
    assert set(table["status"]) <= {"OK", "SLOWING_LIMIT"}
    assert np.ptp(table["tool_z"]) > 0.02
    assert table["distance_surfaces"].max() < 3.0


@pytest.mark.parametrize(
    "task, said",
    [
        (object(), r"^Scene: task: expected a task, such as GoTo\(point\), but object has no placed\(origin\), begin"),
        (Swing, "^Scene: task: expected .* but Swing is a class, not an object of it; got <class"),
        (
            changed(Swing, begin=lambda self: self)(),
            "^Scene: task: expected .* but Swing.begin does not take tool; got <",
        ),
        (changed(Swing, placed=lambda self, origin: None)(), "^task: Swing.placed: expected a task, but there is none"),
        (
            changed(Swing, begin=lambda self, tool: GoTo((0.0, 0.0, 0.0)))(),
            "^task: Swing.begin: .* GoTo has no state, cyc",
        ),
        (
            changed(Swing, start=lambda self, tool: setattr(self, "goal", None))(),
            "^task: Swing.begin: expected a Goal as",
        ),
        (
            changed(Swing, step=lambda self, t, dt, tool, distance: None)(),
            "^task: Swing.step: expected a Goal; got None",
        ),
    ],
)
def test_what_is_no_task_is_refused_by_name(task, said):
    with pytest.raises(ConfigError, match=said):
        run(Cell(replace(SCENE, task=task)))


@pytest.mark.parametrize(
    "who, said",
    [
        (
            3,
            r"^Scene: people.anna: expected a person, such as WalkSettings\(\), but int has no make\(origin, floor",
        ),
        (WalkSettings, "^Scene: people.anna: expected a person, .* but WalkSettings is a class"),
        (
            changed(Bystander, make=lambda self, origin, floor: self)(),
            r"^people.anna: Bystander.make: expected Seen\(sens",
        ),
        (
            changed(Bystander, look=None)(),
            r"^people.anna: Bystander.make: .* as sensed, but Bystander has no look\(t, out\)",
        ),
        (
            changed(Bystander, look=lambda self, t, out: out.fill(math.nan) or t)(),
            "^people.anna: look: .* finite numbers; got NaN",
        ),
        (
            changed(Bystander, names="body")(),
            "^people.anna: Bystander.make: Bystander.names: expected the names of its capsules; got 'body'",
        ),
        (
            changed(Bystander, point=lambda self, t: self.at)(),
            r"^people.anna: Bystander.make: Bystander.point: expected a place \(3,\) and a velocity \(3,\); got array",
        ),
    ],
)
def test_who_is_no_person_is_refused_by_name(who, said):
    with pytest.raises(ConfigError, match=said):
        run(Cell(replace(SCENE, people={"anna": who})))


@pytest.mark.parametrize(
    "plant, said",
    [
        (
            lambda arm: "mujoco",
            "^plant: expected an object that is a Plant, but str has no arm, contacts, touching, reset",
        ),
        (lambda arm: Lagging, "^plant: .* but Lagging is a class, not an object of it"),
        (lambda arm: changed(Lagging, brake=None)(arm), r"^plant: .* but Lagging has no brake\(\); got <"),
        (
            lambda arm: changed(Lagging, advance=lambda self, dt: None)(arm),
            "advance does not take dt, person_rows; got <",
        ),
    ],
)
def test_what_is_no_plant_is_refused_by_name(plant, said):
    with pytest.raises(ConfigError, match=said):
        Cell(SCENE, plant=plant(mounted(SCENE)))


def test_what_a_protocol_asks_for_is_looked_for_and_not_called():
    class Careful(Lagging):
        @property
        def contacts(self):
            raise RuntimeError("asked too early")

    assert lacking(Careful(mounted(SCENE)), Plant) == ""
    assert lacking(Kinematic(mounted(SCENE)), Plant) == ""
    assert lacking(Swing(), Task) == "Swing has no goal"  # which begins with `start`
