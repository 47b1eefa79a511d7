"""Cells at work: the same bytes again, who decides what, what is recorded, and what happens when something fails."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import math
import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import elbowroom as er
import elbowroom.cell.recording.table as record
from elbowroom.avoidance import Attraction, Config, Force, Limits, Repulsion, Sensor, Status
from elbowroom.avoidance.control.command import INDEX
from elbowroom.cell import (
    Cell,
    GoTo,
    Kinematic,
    PickAndPlace,
    PlantClient,
    PlantServer,
    RealTime,
    RecordedSettings,
    Recording,
    RigidBody,
    Scene,
    StandSettings,
    Walk,
    WalkSettings,
    run,
)
from elbowroom.cell.people.settings import Seen
from elbowroom.cell.recording.table import read
from elbowroom.cell.runner import Log, mounted, record_to
from elbowroom.cell.scene import PlantSettings, scene
from elbowroom.errors import ConfigError
from elbowroom.experiments.thesis.experiment import experiments
from elbowroom.geometry import Body, Capsule, distance
from elbowroom.geometry.pairs import Near
from handwritten import vicon

START = (0.0, 0.75, -2.15, 0.0, 0.7, 0.0)
WALKER = WalkSettings((1.5, 0.0), (0.5, 0.0), speed=0.8, periods=0.5)
CONFIG = Config(period=0.02)
INTEGRAL = dataclasses.replace(CONFIG, attraction=dataclasses.replace(CONFIG.attraction, ki=0.3))
PUMA = Scene(
    robot="puma560",
    cover="thesis",  # two capsules: quick to compile
    start=START,
    duration=1.6,
    controller=CONFIG,
    people={"ann": WALKER},
)


def changed(**changes) -> Scene:
    """The scene of these tests, but for this."""
    return dataclasses.replace(PUMA, **changes)


def numbers(recording: Recording, *names: str) -> np.ndarray:
    """Columns of a recording, (k, len(names)) or (k,)."""
    table = recording.table()
    return np.squeeze(np.column_stack([table[name] for name in names]))


def joints(recording: Recording) -> np.ndarray:
    """Commands and joints, (k, 18)."""
    return numbers(recording, *(f"{what}{k + 1}" for what in ("command", "q", "qd") for k in range(6)))


# ---- the same again


@pytest.mark.parametrize("kind, noise", [("kinematic", 0.0), ("kinematic", 0.02), ("rigid", 0.02), ("mujoco", 0.0)])
def test_the_same_scene_gives_the_same_bytes(tmp_path, kind, noise):
    settings = changed(noise=noise, task=GoTo((0.0, 0.1, 0.0))).with_plant(kind)
    cell = Cell(settings)
    for name, each in (("one", cell), ("reset", cell), ("fresh", Cell(settings))):
        run(each, record_to(each, tmp_path / name))
    one = (tmp_path / "one").read_bytes()
    assert one.count(b"\n") == 80 + 5  # rows; four notes, the scene among them, and the names
    assert (tmp_path / "reset").read_bytes() == one
    assert (tmp_path / "fresh").read_bytes() == one
    if noise:
        other = run(Cell(dataclasses.replace(settings, seed=2)))
        assert not np.array_equal(joints(other), joints(run(cell)))


def test_a_run_does_not_depend_on_what_was_done_before(tmp_path):
    settings = changed(task=PickAndPlace(pick=(0.0, 0.15, -0.1), place=(0.0, -0.15, -0.1)), duration=3.0, people={})
    cell = Cell(settings)
    first = joints(run(cell))
    run(cell, cycles=37)  # broken off in the middle of something
    np.testing.assert_array_equal(joints(run(cell)), first)
    assert cell.task.state != "resting"


class Clock:
    """A clock that only a sleep moves, and a cycle that takes `busy` nanoseconds now and then."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1000  # looking takes a microsecond, so that spinning ends
        return self.now

    def sleep(self, seconds: float) -> None:
        """Lets time pass."""
        self.now += round(seconds * 1e9)


def test_real_time_gives_the_same_commands():
    clock = Clock()
    pace = RealTime(PUMA.period, clock=clock, sleep=clock.sleep)
    cell = Cell(PUMA)
    np.testing.assert_array_equal(joints(run(cell, pace=pace)), joints(run(cell)))
    assert clock.now == pytest.approx(79 * 0.02e9, rel=1e-3)
    assert pace.summary().cycles == 80
    assert pace.summary().overruns == 0


def test_a_pause_is_caught_up_with_by_the_plant():
    clock = Clock()
    pace = RealTime(PUMA.period, clock=clock, sleep=clock.sleep)
    cell = Cell(changed(supervision="off", task=GoTo((0.0, 0.3, 0.0))))

    def busy(done: int, count: int) -> None:
        clock.now += 110_000_000 if done == 30 else 0  # five periods and a half

    table = run(cell, pace=pace, progress=busy).table()
    gaps = np.round(np.diff(table["t"]) / 0.02)
    assert gaps.max() == 5  # the cycle after it is late, and that is all
    assert (gaps == 1).sum() == 78
    at = int(gaps.argmax())
    moved = table["q1"][at + 1] - table["q1"][at]
    assert moved == pytest.approx(table["command1"][at] * 0.1, rel=0.05)  # the drive was nearly there, then went on


def test_a_pause_stops_a_supervised_arm():
    clock = Clock()
    pace = RealTime(PUMA.period, clock=clock, sleep=clock.sleep)

    def busy(done: int, count: int) -> None:
        clock.now += 3_000_000_000 if done == 30 else 0

    cell = Cell(PUMA)
    verdicts = run(cell, pace=pace, progress=busy).table()["verdict"].tolist()
    assert {v for v in verdicts[30:] if v.startswith("STOP")} == {"STOP_STATE_STALE"}  # a plant catches up with 1 s


# ---- who decides


GAP = [(k, "hip") for k in range(31, 91)]  # hidden from 0.3 s to 0.9 s


@pytest.fixture
def take(tmp_path):
    """A recording with a gap of 0.6 s, of somebody who walks along x by 0.2 m/s."""
    path = tmp_path / "take.csv"
    path.write_text(vicon(401, hide=GAP, step=2.0))
    return RecordedSettings(str(path), position=(0.6, 0.0), turn=math.pi)


def test_watching_leaves_the_bare_controllers_motion_to_the_bit(take):
    runs = {}
    for mode in ("off", "watch", "stop"):
        settings = changed(people={"ann": take, "ben": WALKER}, supervision=mode, noise=0.03, reset_after=0.5)
        runs[mode] = run(Cell(dataclasses.replace(settings, controller=INTEGRAL)))
    watched, bare, held = (joints(runs[mode]) for mode in ("watch", "off", "stop"))
    assert watched.tobytes() == bare.tobytes()
    assert not np.array_equal(held, bare)
    tables = {mode: each.table() for mode, each in runs.items()}
    assert set(tables["off"]["verdict"]) == {""}
    assert "STOP_HUMAN_STALE" in set(tables["watch"]["verdict"])
    for mode, table in tables.items():  # the status is of whoever's command the arm was given
        np.testing.assert_array_equal(table["status"], table["verdict" if mode == "stop" else "law_status"])
    assert "STOP_HUMAN_STALE" in set(tables["stop"]["status"])
    assert "STOP_HUMAN_STALE" not in set(tables["stop"]["law_status"]) | set(tables["watch"]["status"])


def test_a_watching_supervisor_can_be_reset_and_the_arm_does_not_notice(tmp_path):
    path = tmp_path / "take.csv"
    path.write_text(vicon(401, hide=GAP, step=0.0))  # stands still, and so does the arm, pushed off its goal
    ann = RecordedSettings(str(path), position=(0.8, 0.0), turn=math.pi)
    settings = changed(people={"ann": ann}, controller=INTEGRAL, supervision="watch", duration=4.0, reset_after=2.5)
    cell = Cell(settings)
    watched = run(cell)
    verdicts = watched.table()["verdict"].tolist()
    assert "STOP_HUMAN_STALE" in verdicts
    assert verdicts[-1] != "STOP_HUMAN_STALE"  # the arm stands, so that a reset is taken
    assert (cell.resets, cell.guard.counters["stops"]) == (1, 1)
    bare = run(Cell(dataclasses.replace(settings, supervision="off")))
    assert joints(watched).tobytes() == joints(bare).tobytes()  # its integral is still there


def test_a_watching_supervisor_leaves_what_the_sensor_shows_to_the_controller():
    """It carries people on to now, and smooths them, in memory of its own."""
    cell = Cell(changed(noise=0.03, supervision="watch"))
    shown = np.zeros((1, 13))
    for k in range(20):
        cell.step(0.02 * k)
        cell.people[0].sensed.look(0.02 * k, shown)
        np.testing.assert_array_equal(cell.obstacles.rows, shown)
    assert not np.array_equal(cell.guard.watch.predicted.rows, shown)


def test_the_supervisor_takes_the_sensor_for_no_better_than_the_scene_makes_it(take):
    assert Cell(PUMA).guard.limits.sensor == Sensor.exact()
    slow = dataclasses.replace(take, rate=10.0)
    cell = Cell(changed(people={"ann": slow, "ben": WALKER}, noise=0.03))
    assert cell.guard.limits.sensor == dataclasses.replace(Sensor.exact(), noise=0.03, frame_period=0.1)
    worse = Limits(sensor=Sensor(frame_period=0.2, noise=0.05))
    cell = Cell(changed(people={"ann": slow}, noise=0.03, limits=worse))
    assert cell.guard.limits == worse


def test_the_margin_is_the_supervisors():
    for mode in ("off", "watch", "stop"):
        cell = Cell(changed(supervision=mode))
        found = run(cell).table()["margin"]
        if cell.guard is None:
            assert np.isnan(found).all()
        else:
            judged = cell.guard.recorder.table()["margin"]
            np.testing.assert_array_equal(found[-len(judged) :], judged)
            assert np.isfinite(found).all()
            assert np.ptp(found) > 0.1  # somebody comes


def test_a_reset_makes_another_supervisor_unless_nobody_had_the_last_one():
    cell = Cell(PUMA)
    unseen = cell._guard
    cell.reset()
    assert cell.guard is unseen
    cell.guard.stop("tried")
    cell.reset()
    assert cell.guard is not unseen
    assert cell.guard.latched is None
    cell.reset()
    stepped = cell._guard
    cell.step(0.0)
    cell.reset()
    assert cell._guard is not stepped
    waiting = cell._guard
    cell.controller.tune(dataclasses.replace(cell.controller.config))
    cell.reset()
    assert cell._guard is not waiting


def test_a_gap_stops_the_arm_until_an_operator_resets_it(take):
    far = dataclasses.replace(take, position=(2.0, 0.0))
    cell = Cell(changed(people={"ann": far}, task=GoTo((0.0, 0.3, 0.0)), duration=4.0, reset_after=1.0))
    table = run(cell).table()
    t, age, verdict = table["t"], table["age"], table["verdict"]
    stopped = verdict == "STOP_HUMAN_STALE"
    first, last = t[stopped][0], t[stopped][-1]
    assert age[t <= 0.29].max() < 1e-9
    assert age.max() == pytest.approx(0.6, abs=0.021)  # a cycle
    assert first == pytest.approx(0.29 + cell.guard.limits.oldest, abs=0.021)  # and a cycle
    assert stopped[(t >= first) & (t <= last)].all()  # latched, also when the person is seen again, at 0.9 s
    assert last == pytest.approx(first + 1.0, abs=0.021)
    standing = (t > first + 0.3) & (t < last)
    speeds = np.column_stack([table[f"qd{k}"] for k in range(1, 7)])
    assert np.abs(speeds[standing]).max() == 0.0
    assert np.abs(speeds[t > last + 0.3]).max() > 0.01  # and then it goes on
    assert (cell.resets, cell.guard.counters["stops"], cell.guard.latched) == (1, 1, None)


def test_without_an_operator_a_stop_stays(take):
    cell = Cell(changed(people={"ann": take}, reset_after=0.0))
    assert run(cell).table()["verdict"][-1] == "STOP_HUMAN_STALE"
    assert cell.resets == 0


def test_a_reset_is_tried_again_while_it_is_refused(take):
    cell = Cell(changed(people={"ann": take}, reset_after=0.2))
    table = run(cell).table()
    assert cell.guard.counters["resets_refused"] >= 1  # at 0.6 s the person is still hidden
    assert cell.resets == 1
    assert table["verdict"][-1] != "STOP_HUMAN_STALE"


# ---- what is recorded


def test_the_true_distances_are_those_of_the_geometry():
    settings = changed(
        people={"ann": WalkSettings((0.9, 0.2), (0.8, 0.0), shape="standing"), "ben": StandSettings((0.0, 0.8))}
    )
    cell = Cell(settings)
    table = run(cell, cycles=5).table()
    body = Body(cell.arm, cover="thesis")
    for k in (0, 4):
        q = np.array([table[f"q{i}"][k] for i in range(1, 7)])
        out = np.empty((13, 13))
        cell.people[0].actual.look(table["t"][k], out)
        ben = np.empty((1, 13))
        cell.people[1].actual.look(table["t"][k], ben)
        others = [Capsule(row[:3], row[3:6], row[6]) for row in (*out, *ben)]
        for name, own in (("distance_surfaces", body), ("clearance", Body(cell.arm))):
            links = [Capsule(row[:3], row[3:6], row[6]) for row in own.rows(q, np.zeros(6))]
            least = min(distance(x, y).distance for x in links for y in others)
            assert table[name][k] == pytest.approx(least, abs=1e-9)  # roundings, and a square root's near zero
            if own is body:
                axes = min(distance(x, y).distance + x.radius + y.radius for x in links for y in others)
                assert table["distance_axes"][k] == pytest.approx(axes, abs=1e-9)
        np.testing.assert_allclose([table[f"tool_{x}"][k] for x in "xyz"], cell.arm.pose(q)[:3, 3], rtol=0, atol=0)
    at, velocity = cell.people[0].actual.point(table["t"][4])
    assert [table[f"person_{x}"][4] for x in ("x", "y", "z", "vx", "vy", "vz")] == [*at, *velocity]


def test_tool_velocity_and_columns():
    gentle = dataclasses.replace(CONFIG, attraction=Attraction(kp=1.0))  # 0.3 m/s at first
    cell = Cell(changed(task=GoTo((0.0, 0.3, 0.0)), people={}, duration=1.0, supervision="off", controller=gentle))
    recording = run(cell)
    table = recording.table()
    for axis in "xyz":
        # The drive reaches a new speed in the first millisecond of a cycle, and holds it for the other nineteen.  In
        # half a cycle the links turn by 3 mrad, which changes 0.3 m/s by 1 mm/s.
        slopes = np.diff(table[f"tool_{axis}"])[5:] / 0.02
        np.testing.assert_allclose(table[f"tool_v{axis}"][6:], slopes, rtol=0, atol=2e-3)
    assert np.isnan(table["person_x"]).all()
    assert np.isinf(table["clearance"]).all()
    assert (table["age"] == 0).all()
    assert set(table["state"]) == {"going"}
    goal = cell.origin + np.array([0.0, 0.3, 0.0])
    np.testing.assert_allclose([table[f"goal_{x}"][-1] for x in "xyz"], goal, rtol=0, atol=1e-12)


def test_every_number_is_in_its_own_column():
    """Each of another value, so that no two can be exchanged."""
    cell = Cell(changed())
    recording = Recording(cell.arm.n)
    log = Log(cell, recording)
    cell.near, cell.clearance = Near(0.4, 0.3), Near(9.0, 0.2)
    cell.age, cell.margin = 0.05, 0.6
    said = cell.controller.command.info
    said[[INDEX[name] for name in ("slow", "push", "limit")]] = 0.7, 0.8, 0.9
    cell.detour = SimpleNamespace(state=2, part=5, replans=3)
    log.add(1.25)
    cell.detour = None
    log.add(1.27)
    table = recording.table()
    wanted = {"t": 1.25, "distance_axes": 0.4, "distance_surfaces": 0.3, "clearance": 0.2, "age": 0.05, "margin": 0.6}
    wanted |= {"slow": 0.7, "push": 0.8, "limit": 0.9, "route": 2.0, "route_part": 5.0, "replans": 3.0}
    assert {name: table[name][0] for name in wanted} == wanted
    assert all(math.isnan(table[name][1]) for name in ("route", "route_part", "replans", "felt", "residual1"))


def test_the_object_goes_where_the_tool_goes():
    task = PickAndPlace(home=(0, 0, 0.02), pick=(0.0, 0.1, -0.02), place=(0.0, -0.1, -0.02), approach=0.03, dwell=0.1)
    cell = Cell(changed(task=task, people={}, duration=8.0))
    table = run(cell).table()
    carried = (table["state"] == "to_goal") & (table["cycles"] == 0)
    offset = np.column_stack([table[f"object_{x}"] - table[f"tool_{x}"] for x in "xyz"])[carried]
    assert carried.sum() > 20
    assert np.ptp(offset[1:], axis=0).max() < 1e-12
    assert table["cycles"][-1] >= 1


def test_contacts_are_counted():
    cell = Cell(
        changed(people={"ann": WalkSettings((1.0, 0.0), (-0.3, 0.0), 5.0, 0.5)}, supervision="off", duration=0.4)
    )
    table = run(cell).table()
    assert table["contacts"][0] == 0
    assert table["contacts"][-1] == 1
    assert table["clearance"][table["contacts"] == 0].min() > 0  # seen at the end of the cycle, recorded in the next


# ---- arms and their places


@pytest.mark.parametrize("robot", ["ur10e", "panda", "puma560"])
def test_arms_are_turned_to_face_x(robot):
    arm, plain = mounted(Scene(robot=robot)), er.load(robot)
    x, y, z = arm.pose(arm.ready)[:3, 3] - arm.model.base[:3, 3]
    assert x > abs(y)
    before = plain.pose(plain.ready)[:3, 3] - plain.model.base[:3, 3]
    assert math.hypot(x, y) == pytest.approx(math.hypot(*before[:2]), abs=1e-12)  # a turn about z alone
    assert z == pytest.approx(before[2], abs=1e-12)
    assert mounted(Scene(robot=robot, face=False)).model.digest == plain.model.digest
    assert (arm.model.digest == plain.model.digest) == (robot != "ur10e")


@pytest.mark.parametrize("turn", [-1.5, -0.6, 0.6, 1.5, 2.5])
def test_an_arm_that_starts_to_the_side_is_turned_by_quarters(turn):
    start = er.load("panda").ready + np.array([turn, 0, 0, 0, 0, 0, 0])
    arm = mounted(Scene(robot="panda", start=tuple(start)))
    x, y, _ = arm.pose(start)[:3, 3]
    left = math.remainder(turn, math.pi / 2)
    assert math.atan2(y, x) == pytest.approx(left, abs=1e-6)  # ready looks along x but for roundings of its angles


@pytest.mark.parametrize("face", [True, False])
@pytest.mark.parametrize("far", [2e6, -1e17, 1e300])
def test_a_start_that_no_joint_can_have_is_named(far, face):
    with pytest.raises(ConfigError, match=r"start\[1\]: expected joint 'elbow' within 1e\+06 rad or m; got"):
        Cell(Scene(robot="planar2", start=(0.0, far), face=face))


def test_points_count_from_the_tool_or_the_base():
    task = GoTo((-0.1, 0.3, 0.2))
    from_tool, from_base = (Cell(changed(origin=origin, task=task, floor=-0.5)) for origin in ("tool", "base"))
    rest, base = from_tool.arm.pose(np.array(START))[:3, 3], from_tool.arm.model.base[:3, 3]
    np.testing.assert_allclose(from_tool.task.goal.position, rest + np.array(task.point), rtol=0, atol=1e-12)
    np.testing.assert_allclose(from_base.task.goal.position, base + np.array(task.point), rtol=0, atol=1e-12)
    assert from_base.people[0].actual.point(0.0)[0].tolist() == [base[0] + 1.5, base[1], base[2] - 0.5]


def test_a_controller_that_turns_the_tool_keeps_it_as_it_rests():
    config = Config(period=0.02, task="pose")
    cell = Cell(changed(controller=config, people={}, duration=1.0))
    table = run(cell).table()
    assert max(np.abs(table[f"command{k}"]).max() for k in range(1, 7)) < 1e-9  # nothing to do


# ---- several, and nobody


def test_two_people_are_two_people():
    far, near = WalkSettings((1.5, 0.0), (0.9, 0.0)), WalkSettings((0.0, 1.5), (0.0, 0.4), 0.8)
    cell = Cell(changed(people={"far": far, "near": near}))
    alone = Cell(changed(people={"near": near}))
    both, one = run(cell).table(), run(alone).table()
    assert both["distance_surfaces"].min() == pytest.approx(one["distance_surfaces"].min(), abs=0.1)
    assert both["distance_surfaces"].min() < run(Cell(changed(people={"far": far}))).table()["distance_surfaces"].min()
    assert both["person_x"][0] == cell.origin[0] + 1.5  # the first of the file is recorded
    assert cell.obstacles.counts.tolist() == [1, 1]
    assert "far, near" in repr(cell)


def test_nobody_is_data_too():
    cell = Cell(changed(people={}, task=GoTo((0.0, 0.1, 0.0)), duration=3.0))
    table = run(cell).table()
    assert not {v for v in table["verdict"] if v.startswith("STOP")}
    assert cell.task.state == "there"
    assert table["contacts"][-1] == 0
    assert "nobody" in repr(cell)


@pytest.mark.parametrize("mode", ["stop", "watch"])
def test_a_cell_without_people_never_slows_for_one(mode):
    """A scene says who is there: where that is nobody there is no sensor to wait for, and none to have failed."""
    cell = Cell(changed(people={}, task=GoTo((0.0, 0.1, 0.0)), supervision=mode, duration=3.0))
    verdicts = run(cell).table()["verdict"]
    assert "SLOWING_HUMAN" not in set(verdicts)
    assert cell.guard.counters["slowed"] == 0
    first = run(cell, cycles=1).table()
    assert any(first[f"command{k}"][0] for k in range(1, 7))  # it goes at once


class Ghost:
    """Somebody whom the sensor sees for a while, then not; or with data that is old."""

    def __init__(self, stamp) -> None:
        self.walk, self.stamp = Walk((2.0, 0.0), (1.5, 0.0), 0.1), stamp
        self.names, self.duration, self.point = self.walk.names, math.inf, self.walk.point

    def make(self, origin, floor) -> Seen:
        """Seen as it is."""
        return Seen(self, self)

    def look(self, t, out):
        """Like a walk."""
        self.walk.look(t, out)
        return self.stamp(t)


def test_a_coworker_of_ones_own_says_itself_how_old_it_is():
    gone = Cell(changed(people={"ann": Ghost(lambda t: t if t < 0.2 else None)}))
    table = run(gone).table()
    assert table["distance_surfaces"][-1] > 1e5  # parked: nobody is there
    old = Cell(changed(people={"ann": Ghost(lambda t: min(t, 0.2))}))
    table = run(old).table()
    assert table["age"][-1] == pytest.approx(table["t"][-1] - 0.2)
    assert table["verdict"][-1] == "STOP_HUMAN_STALE"
    never = Cell(changed(people={"ann": Ghost(lambda t: -math.inf)}, task=GoTo((0.0, 0.3, 0.0))))
    waited = run(never)
    assert set(waited.table()["verdict"]) == {"SLOWING_HUMAN"}  # waits for the first frame, however long
    assert not numbers(waited, *(f"command{k + 1}" for k in range(6))).any()


# ---- plants


@pytest.mark.parametrize("kind, method", [("rigid", "operational"), ("mujoco", "operational"), ("rigid", "joint")])
def test_torques_move_masses(kind, method):
    config = Config(controller="F", period=0.002, self_collision=None)
    config = dataclasses.replace(config, force=dataclasses.replace(config.force, method=method))
    settings = Scene(robot="panda", controller=config, task=GoTo((0.0, 0.1, 0.0), tolerance=0.05), duration=1.2)
    cell = Cell(settings.with_plant(kind))
    table = run(cell).table()
    assert table["state"][-1] == "there"
    assert np.abs(cell.command.tau).max() > 1.0
    with pytest.raises(
        ConfigError, match=r"^plant\.kind: expected rigid or mujoco, since the controller makes torques"
    ):
        Cell(settings)


def test_a_payload_is_unknown_to_the_controller():
    heavy = Cell(changed(plant=PlantSettings("rigid", mass_error=0.5, payload=2.0)))
    assert heavy.plant.actual.model.mass.sum() == pytest.approx(1.5 * heavy.arm.model.mass.sum() + 2.0)
    assert not np.array_equal(joints(run(heavy)), joints(run(Cell(PUMA.with_plant("rigid")))))


@pytest.mark.parametrize("mass_error, payload", [(0.3, 0.0), (0.5, 2.0)])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_model_that_is_wrong_by_half_does_not_touch(number, mass_error, payload):
    """F25: one approach of the standard scenes, from half a second before the person is felt."""
    settings = experiments()[number - 1].scene("printed", "rigid")
    who = settings.people["coworker"]
    towards = np.array(who.end) - who.start
    start = tuple(np.array(who.end) - towards * 1.2 / np.linalg.norm(towards))
    near = dataclasses.replace(who, start=start, periods=0.5)
    plant = PlantSettings("rigid", mass_error=mass_error, payload=payload)
    cell = Cell(dataclasses.replace(settings, people={"coworker": near}, plant=plant, duration=1.0 + 1.2 / who.speed))
    table = run(cell).table()
    assert table["contacts"][-1] == 0
    assert table["clearance"].min() > 0.05
    assert table["person_vx" if number != 3 else "person_vy"][-1] == 0.0  # it came all the way


class Encoder:
    """A plant whose positions are read with noise and in steps of a quantum (rad)."""

    def __init__(self, plant, noise, quantum) -> None:
        self.plant, self.noise, self.quantum = plant, noise, quantum
        self.rng = np.random.default_rng(0)

    def __getattr__(self, name):
        return getattr(self.plant, name)

    def read(self, state) -> None:
        """As read by the encoders; speeds are as they are."""
        self.plant.read(state)
        state.q += self.rng.uniform(-self.noise, self.noise, len(state.q))
        if self.quantum:
            state.q[:] = self.quantum * np.round(state.q / self.quantum)


TORQUES = Config(  # a field that reaches far enough to push the arm through its dry friction
    controller="F", period=0.005, force=Force(method="operational"), repulsion=Repulsion(influence=0.5)
)


@pytest.mark.parametrize("noise, quantum", [(0.0, 0.0), (1e-3, 0.0), (0.0, 2e-3)])
@pytest.mark.parametrize(
    "kind, controller, options",
    [
        ("kinematic", CONFIG, {}),
        ("rigid", CONFIG, {"mass_error": 0.5, "payload": 2.0}),
        ("mujoco", CONFIG, {}),
        ("rigid", TORQUES, {}),
        ("rigid", TORQUES, {"mass_error": 0.3}),  # its dry friction holds it
    ],
)
def test_no_plants_states_are_doubted(kind, controller, options, noise, quantum):
    """F26 to F29: a supervisor believes every plant, also where the arm must evade, and with a common encoder."""
    settings = changed(controller=controller, task=GoTo((0.0, 0.3, 0.0)), duration=3.0)
    settings = dataclasses.replace(settings, plant=PlantSettings(kind, **options))
    cell = Cell(settings)
    cell = Cell(settings, plant=Encoder(cell.plant, noise, quantum))
    table = run(cell).table()
    assert cell.guard.latched is None, cell.guard.reason
    moved = max(np.ptp(table[f"q{k}"]) for k in range(1, 7))
    assert moved > 0.1 or (controller is TORQUES and options)


# ---- a plant in another program


@pytest.fixture
def served():
    """A function that serves a plant in lockstep from a thread and gives a client for it."""
    ended, threads, things = threading.Event(), [], []

    def serve(plant) -> PlantClient:
        server = PlantServer(plant, lockstep=True, timeout=0.05)
        threads.append(threading.Thread(target=server.serve, args=(ended.is_set,)))
        threads[-1].start()
        client = PlantClient(plant.arm, server.address, lockstep=True, patience=0.5)
        things.extend([server, client])
        assert client.wait(5.0)
        return client

    yield serve
    ended.set()
    for thread in threads:
        thread.join()
    for thing in things:
        thing.close()


@pytest.mark.parametrize("plant", [Kinematic, RigidBody])
def test_a_plant_behind_a_socket_gives_the_same_bytes(served, tmp_path, plant):
    settings = changed(task=GoTo((0.0, 0.1, 0.0))).with_plant("kinematic" if plant is Kinematic else "rigid")
    arm = mounted(settings)
    local, remote = Cell(settings), Cell(settings, plant=served(plant(arm)))
    run(local, Recording(6, tmp_path / "local"))
    run(remote, Recording(6, tmp_path / "remote"))
    assert (tmp_path / "remote").read_bytes() == (tmp_path / "local").read_bytes()
    assert f"on the plant {settings.plant.kind} at 127.0.0.1:" in repr(remote)


def test_a_plant_that_falls_silent_stops_the_arm(served):
    cell = Cell(PUMA, plant=served(Kinematic(mounted(PUMA))))
    client = cell.plant

    def silence(done: int, count: int) -> None:
        if done == 20:
            client.advance = lambda *_: None  # nothing reaches the plant any more: its states stay as they are

    table = run(cell, cycles=60, progress=silence).table()
    assert set(table["verdict"][:20]) <= {"OK", "AVOIDING", "SLOWING_LIMIT", "SLOWING_HUMAN"}
    assert table["verdict"][-1] == "STOP_STATE_STALE"
    assert all(table[f"command{k}"][-1] == 0.0 for k in range(1, 7))


def test_a_plant_of_another_arm_is_refused():
    with pytest.raises(ConfigError, match=r"^plant: expected that of puma560 as mounted\(scene\) has it"):
        Cell(PUMA, plant=Kinematic(er.load("puma560").with_payload(1.0)))


# ---- when something fails


@pytest.mark.parametrize("how", ["over", "interrupted", "failed"])
def test_the_end_is_told_before_anything_waits_for_the_disk(how):
    cell, order = Cell(PUMA), []
    recording = Recording(cell.arm.n)
    close, recording.close = recording.close, lambda: (order.append("disk"), close())
    raised = {"interrupted": KeyboardInterrupt, "failed": RuntimeError}.get(how)

    def progress(done: int, total: int) -> None:
        if raised is not None:
            raise raised

    with contextlib.nullcontext() if raised is None else pytest.raises(raised):
        run(cell, recording, cycles=2, progress=progress, ended=lambda: order.append("ended"))
    assert order == ["ended", "disk"]
    with pytest.raises(ConfigError):  # it never began
        run(cell, cycles=0, ended=lambda: order.append("again"))
    assert "again" not in order


def test_ctrl_c_leaves_a_whole_file_and_goes_on(tmp_path):
    cell = Cell(PUMA)
    whole = joints(run(cell))

    def interrupt(done: int, count: int) -> None:
        if done == 33:
            raise KeyboardInterrupt

    recording = record_to(cell, tmp_path / "run.csv")
    with pytest.raises(KeyboardInterrupt):
        run(cell, recording, progress=interrupt)
    assert not [t for t in threading.enumerate() if t.name.startswith("recording")]
    table = read(tmp_path / "run.csv")
    assert not table.torn
    assert table.notes["robot"] == "puma560"
    found = np.column_stack([table[name] for name in recording.columns if name.startswith(("command", "q"))])
    assert len(found) == 33
    np.testing.assert_array_equal(joints(recording), whole[:33])


def test_a_full_disk_does_not_disturb_the_run(tmp_path, monkeypatch):
    """F23."""
    cell = Cell(PUMA)
    whole = joints(run(cell))
    left = 20_000  # bytes, of some 60 000

    def write(file: int, data) -> int:
        nonlocal left
        if left <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = os.write(file, data[:left])
        left -= taken
        return taken

    monkeypatch.setattr(record, "_write", write)
    recording = run(cell, record_to(cell, tmp_path / "run.csv"))
    np.testing.assert_array_equal(joints(recording), whole)
    assert "No space left on device" in recording.problem
    assert 0 < read(tmp_path / "run.csv").rows < 80


def test_a_run_that_cannot_be_is_refused_and_its_file_closed(tmp_path):
    cell = Cell(PUMA)
    for wrong, said in (
        ({"cycles": 0}, "cycles: expected a whole number above 0; got 0"),
        ({"cycles": 2.5}, "cycles: expected a whole number"),
        ({"pace": RealTime(0.01)}, "pace: expected the cell's period, 0.02 s; got 0.01 s"),
        ({"recording": Recording(7)}, "recording: expected one for the 6 joints of puma560; got one for 7"),
    ):
        with pytest.raises(ConfigError, match=said):
            run(cell, **wrong)
    assert len(run(cell, cycles=3)) == 3


def test_a_scene_from_a_table_is_the_scene_from_its_file():
    table = {"robot": "puma560", "cover": "thesis", "start": list(START), "duration": 1.6}
    table |= {
        "controller": {"period": 0.02},
        "people": {"ann": {"kind": "walk", "start": [1.5, 0.0], "end": [0.5, 0.0]}},
    }
    table["people"]["ann"] |= {"speed": 0.8, "periods": 0.5}
    assert scene(table) == PUMA
    assert Limits(sensor=Sensor.exact()) == PUMA.limits
    assert Cell(PUMA).command.status is Status.OK


def test_a_plant_whose_state_is_no_number_stops_the_arm_and_raises_nothing():
    class Broken(Kinematic):
        def read(self, state):
            super().read(state)
            if state.t > 0.05:
                state.q[0] = np.nan

    scene = Scene(robot="planar2", start=(0.9, -1.7))
    cell = Cell(scene, plant=Broken(mounted(scene)))
    recording = run(cell, cycles=10)
    table = recording.table()
    assert table["status"][-1] == "STOP_STATE_INVALID"
    assert np.isnan(table["q1"][-1])
    assert np.isfinite(table["tool_x"]).all()
    assert not cell.command.qd.any()
