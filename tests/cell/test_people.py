"""People as settings: every kind from TOML, where they come to stand, and what is refused."""

from __future__ import annotations

import math
import tomllib

import numpy as np
import pytest

from elbowroom.avoidance.settings import FieldError, read
from elbowroom.cell import (
    RandomWalk,
    Reach,
    ReachSettings,
    Recorded,
    RecordedSettings,
    Scene,
    StandSettings,
    Still,
    Walk,
    WalkSettings,
    WanderSettings,
)
from elbowroom.cell.people.settings import KINDS, Movable, made
from elbowroom.cell.scene import scene
from elbowroom.errors import ConfigError, RecordingError
from handwritten import NINE, vicon

ORIGIN, FLOOR = np.array([0.5, -0.1, 0.6]), -0.7
TEXT = {
    "walk": """
        start = [2.0, 0.0]
        end = [1.0, 0.5]
        speed = 0.4
        periods = 1.5
        pause = 0.5
        delay = 0.25
        acceleration = 1.0
        shape = "standing"
        height = 1.7
        """,
    "random": "seed = 4\narea = [0.5, 1.5, -0.5, 0.5]\nmax_speed = 1.0\nturn = 0.5\nfacing = 3.0\nheight = 1.6",
    "reach": 'position = [0.9, 0.0]\ntarget = [0.3, 0.1, 0.4]\ntimes = 2\nhand = "left"\nreach_time = 0.8',
    "still": 'position = [1.0, 0.2]\nfacing = 1.0\nshape = "standing"',
    "recorded": 'file = "take.csv"\nposition = [1.0, 0.0]\nturn = 0.5\nrate = 50\nbridge = 0.1\nend = "stale"',
}
SETTINGS = {
    "walk": WalkSettings((2.0, 0.0), (1.0, 0.5), 0.4, 1.5, 0.5, 0.25, 1.0, "standing", 1.7),
    "random": WanderSettings(4, (0.5, 1.5, -0.5, 0.5), 1.0, 0.5, 3.0, height=1.6),
    "reach": ReachSettings((0.9, 0.0), (0.3, 0.1, 0.4), times=2, hand="left", reach_time=0.8),
    "still": StandSettings((1.0, 0.2), 1.0, "standing"),
    "recorded": RecordedSettings("take.csv", (1.0, 0.0), 0.5, 50.0, 0.1, "stale"),
}
MADE = {"walk": Walk, "random": RandomWalk, "reach": Reach, "still": Still, "recorded": Recorded}


@pytest.fixture
def take(tmp_path):
    """A function that writes a recording and gives its path."""

    def write(**options) -> str:
        path = tmp_path / "take.csv"
        path.write_text(vicon(**options))
        return str(path)

    return write


def rows_at(who, t: float) -> np.ndarray:
    """The rows of a coworker."""
    out = np.empty((len(who.names), 13))
    who.look(t, out)
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_from_toml_and_becomes_somebody(kind, take, tmp_path):
    take(frames=40)
    table = {"people": {"ann": {"kind": kind} | tomllib.loads(TEXT[kind])}}
    assert scene(table).people == {"ann": SETTINGS[kind]}
    seen = scene(table, tmp_path).people["ann"].make(ORIGIN, FLOOR)
    assert isinstance(seen.actual, MADE[kind])
    assert (seen.sensed is seen.actual) == (kind != "recorded")
    assert seen.sensed.names == seen.actual.names
    assert seen.actual.point(0.0)[0][2] == pytest.approx(FLOOR, abs=0.03)  # a foot of `Still` sinks in by 2 cm


def test_points_count_from_the_origin_and_stand_on_the_floor():
    at = {kind: SETTINGS[kind].make(ORIGIN, FLOOR).actual.point(0.0)[0] for kind in ("walk", "reach", "still")}
    for kind, (x, y) in {"walk": (2.5, -0.1), "reach": (1.4, -0.1), "still": (1.5, 0.1)}.items():
        np.testing.assert_allclose(at[kind][:2], [x, y], rtol=0, atol=1e-12)  # one addition each
    who = SETTINGS["reach"].make(ORIGIN, FLOOR).actual
    np.testing.assert_allclose(who.target, [0.8, 0.0, 1.0], rtol=0, atol=1e-12)
    wander = SETTINGS["random"].make(ORIGIN, FLOOR).actual
    places = np.array([wander.point(t)[0] for t in np.linspace(0.0, wander.period, 500)])
    assert (places.min(axis=0)[:2] >= [1.0, -0.6]).all()
    assert (places.max(axis=0)[:2] <= [2.0, 0.4]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_everybody_can_be_moved(kind, take, tmp_path):
    take(frames=40)
    who = scene({"people": {"ann": {"kind": kind} | tomllib.loads(TEXT[kind])}}, tmp_path).people["ann"]
    assert isinstance(who, Movable)
    here, there = (each.make(ORIGIN, FLOOR).actual for each in (who, who.moved(0.4, -0.7)))
    for t in (0.0, 0.1, 1.3, 2.2):
        shift = np.zeros(13)
        shift[[0, 3]], shift[[1, 4]] = 0.4, -0.7  # both ends; radius and velocities are the same
        # a sum of a few numbers of order one, and what is divided by distances of a tenth of a metre
        np.testing.assert_allclose(rows_at(there, t), rows_at(here, t) + shift, rtol=0, atol=1e-9)


def test_a_take_without_a_position_stays_where_it_was_recorded(take):
    who = RecordedSettings(take(frames=40))
    assert who.moved(0.4, -0.7) is who


def test_sizes_reach_the_body():
    narrow, wide = (WalkSettings(radius=r, height=1.5).make(ORIGIN, FLOOR).actual for r in (0.1, 0.4))
    assert [rows_at(who, 0.0)[0, 6] for who in (narrow, wide)] == [0.1, 0.4]
    tall = StandSettings(height=2.0).make(ORIGIN, FLOOR).actual
    row = rows_at(tall, 0.0)[0]
    assert max(row[2], row[5]) + row[6] == pytest.approx(FLOOR + 2.0, abs=1e-12)  # the top of the capsule


# ---- recordings


def test_a_take_is_placed_by_its_hips(take):
    file = take(frames=41)  # walks 0.4 m along x
    seen = RecordedSettings(file, position=(1.0, 0.2)).make(ORIGIN, FLOOR)
    middle = np.mean([seen.actual.point(t)[0] for t in np.linspace(0.0, 0.4, 200)], axis=0)
    np.testing.assert_allclose(middle, [1.5, 0.1, FLOOR], rtol=0, atol=1e-9)  # sums of two hundred
    way = seen.actual.point(0.4)[0] - seen.actual.point(0.0)[0]
    np.testing.assert_allclose(way, [0.4, 0.0, 0.0], rtol=0, atol=1e-9)
    turned = RecordedSettings(file, position=(1.0, 0.2), turn=math.pi / 2).make(ORIGIN, FLOOR).actual
    np.testing.assert_allclose(turned.point(0.4)[0] - turned.point(0.0)[0], [0.0, 0.4, 0.0], rtol=0, atol=1e-9)
    heights = [
        rows_at(each, 0.1)[:, [2, 5]].max() for each in (turned, RecordedSettings(file).make(ORIGIN, FLOOR).actual)
    ]
    assert heights[0] == pytest.approx(heights[1], abs=1e-9)
    assert heights[0] == pytest.approx(FLOOR + 1.7, abs=0.1)  # the head at 1.7 m, a capsule about it


def test_in_a_gap_the_sensor_is_old_and_the_person_goes_on(take):
    file = take(frames=41, hide=[(k, "hip") for k in range(11, 31)])
    seen = RecordedSettings(file).make(ORIGIN, FLOOR)
    rows = np.empty((len(seen.sensed.names), 13))
    assert seen.sensed.look(0.2, rows) == pytest.approx(0.09, abs=1e-9)
    assert seen.actual.look(0.2, rows) == 0.2
    assert seen.actual.point(0.2)[0][0] - seen.sensed.point(0.2)[0][0] == pytest.approx(0.11, abs=1e-9)  # 10 mm a frame
    filled = RecordedSettings(file, bridge=0.3).make(ORIGIN, FLOOR)
    assert filled.sensed.look(0.2, rows) == 0.2


def test_the_end_of_a_take(take):
    file = take(frames=11)
    for end, stamp in (("hold", 5.0), ("stale", 0.1)):
        seen = RecordedSettings(file, end=end).make(ORIGIN, FLOOR)
        rows = np.empty((len(seen.sensed.names), 13))
        assert seen.sensed.look(5.0, rows) == pytest.approx(stamp, abs=1e-9)
        assert seen.actual.look(5.0, rows) == 5.0  # they do not vanish


def test_sensor_and_truth_begin_at_the_same_frame(take):
    # The head is hidden at first, but once; the hip before that.  With gaps filled frame 3 is whole, for the sensor 6.
    hide = [(1, "hip"), (2, "hip"), (4, "head"), (5, "head"), (1, "head"), (2, "head"), (3, "collar"), (4, "collar")]
    hide += [(5, "collar"), (1, "collar")]
    seen = RecordedSettings(take(frames=30, hide=hide)).make(ORIGIN, FLOOR)
    for t in (0.0, 0.1):
        np.testing.assert_allclose(seen.sensed.point(t)[0], seen.actual.point(t)[0], rtol=0, atol=1e-9)


def test_a_take_without_a_whole_frame_is_refused_by_its_name(take):
    file = take(frames=5, hide=[(k, NINE[k]) for k in range(1, 6)])
    with pytest.raises(RecordingError, match=r"take\.csv: expected a frame with every point"):
        made({"ann": RecordedSettings(file)}, ORIGIN, FLOOR)


# ---- what is refused


@pytest.mark.parametrize(
    "kind, key, value, said",
    [
        ("walk", "start", [1.0, True], "a finite number"),
        ("walk", "start", [1e9, 0.0], "a number >= -1000 and <= 1000 (m)"),
        ("walk", "end", [2.5, 0.0], "another point than start"),
        ("walk", "speed", 0, "a number > 0"),
        ("walk", "speed", 300, "<= 20"),
        ("walk", "periods", 0.3, "a multiple of a half"),
        ("walk", "periods", -1, "a number > 0"),
        ("walk", "pause", -1, "a number >= 0"),
        ("walk", "delay", -1, "a number >= 0"),
        ("walk", "acceleration", 0, "a number > 0"),
        ("walk", "shape", "round", '"cylinder" or "standing"'),
        ("walk", "height", 180, "<= 2.5"),
        ("walk", "radius", 0, ">= 0.02"),
        ("random", "seed", -1, "a whole number from 0"),
        ("random", "seed", 1.5, "a whole number"),
        ("random", "area", [1.0, 0.0, 0.0, 1.0], "with x0 <= x1 and y0 <= y1"),
        ("random", "area", [1.0, 1.0, 2.0, 2.0], "not both equal"),
        ("random", "max_speed", 0, "a number > 0"),
        ("random", "turn", 1e6, "<= 100"),
        ("reach", "target", [0.0, 0.0], "a list of 3"),
        ("reach", "hand", "both", '"right" or "left"'),
        ("reach", "reach_time", 0, "a number > 0"),
        ("reach", "hold", -1, "a number >= 0"),
        ("reach", "times", 0, "a whole number from 1"),
        ("reach", "height", 0.1, "a number >= 0.5"),
        ("still", "facing", 1e6, "<= 100"),
        ("still", "position", "here", "a list"),
        ("recorded", "file", "", "the name of a recording, Vicon CSV, BVH or a ROS 2 bag"),
        ("recorded", "rate", -5, "a number >= 0"),
        ("recorded", "bridge", -5, "a number >= 0"),
        ("recorded", "end", "loop", '"hold" or "stale"'),
    ],
)
def test_what_is_refused_and_where(kind, key, value, said):
    table = {"file": "take.csv"} if kind == "recorded" else {}
    with pytest.raises(FieldError) as caught:
        read(KINDS[kind], table | {key: value}, "people.ann")
    assert str(caught.value).startswith(f"people.ann.{key}")
    assert said in str(caught.value)


def test_someone_who_cannot_be_is_named():
    with pytest.raises(ConfigError, match=r"^people\.ann: Reach\.target: expected a point that the right arm of"):
        made({"ben": WalkSettings(), "ann": ReachSettings((3.0, 0.0))}, ORIGIN, FLOOR)
    with pytest.raises(FieldError, match="WalkSettings: start: expected a list of 2 numbers"):
        WalkSettings(start=(1.0, 2.0, 3.0))
    assert WalkSettings(start=np.array([1, 2])).start == (1.0, 2.0)
    assert Scene(people={"ann": WalkSettings()}).people["ann"].speed == 0.3
