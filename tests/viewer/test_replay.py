"""A recording as pictures: what is shown is what was, to the last bit of the distances."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
from fake_page import sentence

from elbowroom.cell import Cell, Scene, run
from elbowroom.cell.layout import STANDARD
from elbowroom.cell.people.dragged import DraggedPerson
from elbowroom.cell.people.settings import RecordedSettings, Seen, StandSettings, WalkSettings
from elbowroom.cell.recording.columns import RecordedTable
from elbowroom.cell.recording.table import Recording
from elbowroom.cell.runner import Log, mounted, notes_of, record_to
from elbowroom.cell.scene import NOTE, scene_text
from elbowroom.errors import RecordingError
from elbowroom.geometry import Body
from elbowroom.loading import load
from elbowroom.viewer.panel.margins import margins
from elbowroom.viewer.panel.status import near
from elbowroom.viewer.replay.recorded import Replay
from elbowroom.viewer.snapshot import Nearest

CELL = STANDARD
ROUNDING = 1e-12  # m: an offset is a difference of recorded places, so the last bits are another sum's


def recorded(path, cell, cycles, hand=None, seen=None):
    """The path of a recording of this cell; `hand(k)` is called before each cycle, `seen(k)` after it."""
    recording = record_to(cell, path, replace=True)
    log = Log(cell, recording)
    cell.reset()
    for k in range(cycles):
        if hand is not None:
            hand(k)
        cell.step(k * cell.period)
        log.add(k * cell.period)
        if seen is not None:
            seen(k)
        cell.advance(k * cell.period, cell.period)
    recording.close()
    return path


def walked(delay=0.0, **changes):
    where = {"start": (1.4, 0.3), "end": (0.5, 0.1), "speed": 0.8, "pause": 0.3}
    people = {"visitor": WalkSettings(**where, delay=delay, shape="standing")}
    return dataclasses.replace(Scene.load(CELL), people=people, **changes)


def distances(replay):
    """Recomputed from the bodies, and recorded."""
    found = [replay.cell.nearest(replay.q[k], replay.bodies(k)[1])[0] for k in range(len(replay))]
    return np.array(found), replay.table["distance_surfaces"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A recording of pick and place beside a walker, and what there was in each cycle."""
    cell = Cell(walked(delay=10.0))
    truth = []

    def seen(k):
        truth.append(
            SimpleNamespace(
                people=cell.people_rows.copy(),
                arm=cell.controller.rows[: len(cell.body)].copy(),
                objects=np.array(cell.task.objects),
                nearest=(*cell.controller.nearest_points(), *cell.controller.nearest()),
                repulsion=np.array(cell.controller.command.repulsion),
                safety=margins(cell),
            )
        )

    path = recorded(tmp_path_factory.mktemp("replay") / "run.csv", cell, 1300, seen=seen)
    return Replay(path), truth


def test_the_distance_of_the_bodies_is_the_recorded_one(whole):
    replay, _ = whole
    computed, kept = distances(replay)
    np.testing.assert_array_equal(computed, kept)  # the same numbers into the same program
    assert kept.min() < 0.5  # somebody came near
    assert replay.warnings == []


def test_a_picture_is_what_was(whole):
    replay, truth = whole
    for k in range(0, 1300, 37):
        picture, was = replay.snapshot(replay.times[k]), truth[k]
        np.testing.assert_array_equal(picture.people, was.people[:, :7])
        # the run computed the arm with its speeds; another program, so other roundings
        np.testing.assert_allclose(picture.arm, was.arm[:, :7], atol=ROUNDING)
        assert len(picture.objects) == len(was.objects), k
        # sums of steps there, one product here
        np.testing.assert_allclose(np.sort(picture.objects, 0), np.sort(was.objects, 0), atol=1e-9)
        for mine, theirs in zip(picture.nearest[:2], was.nearest[:2], strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-9)
        assert was.nearest[3].endswith(picture.nearest[3])  # "person 0 left_hand"
        np.testing.assert_array_equal(picture.repulsion, was.repulsion)
        assert picture.t == replay.times[k] == k * 0.01
    assert {replay.snapshot(t).carrying for t in replay.times[::50]} == {True, False}
    assert any(sentence(replay.snapshot(t)).startswith("avoiding: ") for t in replay.times[::25])


@pytest.mark.parametrize("guests", [(), pytest.param(("guest",), marks=pytest.mark.slow)])
def test_people_of_one_shape_are_called_as_the_scene_calls_them(tmp_path, guests):
    people = {"visitor": StandSettings(shape="cylinder", position=(0.75, 0.0))}
    people |= {name: StandSettings(shape="cylinder", position=(3.0, 0.0)) for name in guests}
    cell = Cell(dataclasses.replace(Scene.load(CELL), people=people))
    picture = Replay(recorded(tmp_path / "run.csv", cell, 20)).snapshot(0.1)
    assert near(picture).startswith("visitor 0.")
    assert near(dataclasses.replace(picture, nearest=Nearest(0, 0, *cell.controller.nearest()))) == near(picture)


def test_the_bars_are_those_of_the_run(whole):
    replay, truth = whole
    for k in range(1, 1300, 37):
        found, was = replay.snapshot(replay.times[k]).safety, truth[k].safety
        assert was.part.endswith(found.part)
        assert found.why == was.why
        # capsules and nearest points have other roundings here, see above
        np.testing.assert_allclose(found[:5], was[:5], rtol=1e-6, atol=1e-9)
    assert len({round(truth[k].safety.used, 3) for k in range(0, 1300, 37)}) > 5  # it moved


def test_bars_need_the_speeds_of_the_joints(tmp_path, few_lines):
    replay = Replay(with_cell(few_lines["scene"], 3, "qd2", "nan", tmp_path / "run.csv"))
    assert replay.snapshot(replay.times[3]).safety is None
    assert replay.snapshot(replay.times[2]).safety is not None


def test_times_outside_are_held_within(whole):
    replay, _ = whole
    assert replay.snapshot(-5.0).t == 0.0
    assert replay.snapshot(1e9).t == replay.times[-1]
    assert replay.snapshot(0.0149).t == 0.01  # the last cycle that had begun
    assert len(replay) == 1300
    assert len(replay.moments(30.0)) == 390  # 12.99 s


@pytest.fixture(scope="module")
def few_lines(tmp_path_factory):
    """The lines of a recording of six cycles, with its scene and without."""
    path = recorded(tmp_path_factory.mktemp("few") / "run.csv", Cell(walked()), 6)
    lines = path.read_text().splitlines()
    return {"scene": lines, "no scene": [line for line in lines if not line.startswith(f"# {NOTE}")]}


def with_cell(lines, row, column, value, path):
    """A file of these lines with one cell replaced."""
    head = next(k for k, line in enumerate(lines) if line.startswith("t,"))
    cells = lines[head + 1 + row].split(",")
    cells[lines[head].split(",").index(column)] = value
    path.write_text("\n".join([*lines[: head + 1 + row], ",".join(cells), *lines[head + 2 + row :]]) + "\n")
    return path


@pytest.mark.parametrize("value", ["-1e308", "1e17", "nan", "inf"])
@pytest.mark.parametrize("column", ["q1", "tool_x", "tool_vx", "person_z", "goal_y", "object_x", "left_hand_x", "push"])
@pytest.mark.parametrize("notes", ["scene", "no scene"])
def test_a_cell_that_cannot_be_drawn_does_not_end_a_replay(tmp_path, few_lines, notes, column, value):
    """As of a run whose sensor or plant failed, which is the one to look at."""
    for row in (0, 3):
        replay = Replay(with_cell(few_lines[notes], row, column, value, tmp_path / "run.csv"))
        for t in replay.times:
            picture = replay.snapshot(t)
            assert np.isfinite(picture.arm).all()
            assert np.isfinite(picture.people).all()
        if column == "q1":
            assert any("positions to show: 1, the first at t = " in warning for warning in replay.warnings)
            shown, beside = replay.snapshot(replay.times[row]).q, replay.snapshot(replay.times[max(row - 1, 1)]).q
            np.testing.assert_array_equal(shown, beside)


@pytest.mark.parametrize("value", ["-1e308", "1e17", "nan"])
def test_a_time_that_cannot_be_is_refused_by_its_column(tmp_path, few_lines, value):
    for row in (0, 3):
        with pytest.raises(RecordingError, match=r"run.csv: expected times .*in column 't'; got"):
            Replay(with_cell(few_lines["scene"], row, "t", value, tmp_path / "run.csv"))


def test_a_recording_without_any_joints_is_refused(tmp_path, few_lines):
    path, lines = tmp_path / "run.csv", few_lines["scene"]
    for row in range(6):
        lines = with_cell(lines, row, "q2", "nan", path).read_text().splitlines()
    with pytest.raises(RecordingError, match="expected joint positions in columns 'q1'"):
        Replay(path)


def dragged(path):
    scene = dataclasses.replace(Scene.load(CELL), people={"anna": StandSettings(shape="standing", position=(0.9, 0.2))})
    cell = Cell(scene)
    who = DraggedPerson(cell.people[0].actual)
    cell.people[0] = Seen(who, who)

    def hand(k):
        if k == 20:
            who.drag((-0.2, 0.1))
            who.drag_hand("right", (-0.35, 0.0, 0.5))
        if k == 90:
            who.drag_hand("left", (-2.0, 0.4, 0.3))  # beyond its reach
        if k == 180:
            who.let_go()

    return recorded(path, cell, 300, hand)


def test_dragged_people_and_hands_are_where_they_were(tmp_path):
    replay = Replay(dragged(tmp_path / "run.csv"))
    computed, kept = distances(replay)
    np.testing.assert_allclose(computed, kept, atol=ROUNDING)
    assert replay.warnings == []
    assert np.ptp(kept) > 0.1
    picture = replay.snapshot(1.7)
    np.testing.assert_allclose(picture.offset, (-0.2, 0.1), atol=1e-3)  # the follower is nearly there
    assert picture.hand_offsets["right"][2] > 0.3
    assert picture.hands["left"] == pytest.approx([replay.table[f"left_hand_{axis}"][170] for axis in "xyz"])


def test_hands_count_in_the_distance(tmp_path):
    """The test above could not fail if the nearest thing never was a hand."""
    replay = Replay(dragged(tmp_path / "run.csv"))
    replay.hands = {side: np.full_like(places, np.nan) for side, places in replay.hands.items()}
    computed, kept = distances(replay)
    assert np.abs(computed - kept).max() > 0.02


def test_a_run_that_begins_anew_in_between_is_shown_in_the_order_of_its_rows(tmp_path):
    cell = Cell(walked(duration=0.3))
    path = recorded(tmp_path / "run.csv", cell, 30)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, *lines[-30:-10]]))
    replay = Replay(path)
    assert len(replay) == 50
    assert (np.diff(replay.times) > 0).all()
    np.testing.assert_array_equal(replay.snapshot(replay.times[35]).people, replay.snapshot(replay.times[5]).people)
    assert replay.snapshot(replay.times[35]).t == pytest.approx(0.35)


# ---- recordings that do not tell all


def older(path):
    """The same recording as it was before there were scenes and hands in it."""
    text, known = [], 0
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            text += [] if NOTE in line else [line]
        else:
            cells = line.split(",")
            known = known or cells.index("left_hand_x")
            text.append(",".join(cells[:known]))
    path.write_text("\n".join(text) + "\n")
    return path


def made(arm, place=None, cycles=5):
    """Columns as of a run in which nothing moved."""
    recording = Recording(arm.n)
    for k in range(cycles):
        recording.view("t")[:] = 0.01 * k
        recording.view("q")[:], recording.view("qd")[:] = arm.ready, 0.0
        recording.view("tool")[:], recording.view("tool_v")[:] = arm.pose(arm.ready)[:3, 3], 0.0
        if place is not None:
            recording.view("person")[:] = place
        recording.view("distance_surfaces")[:] = math.inf if place is None else 0.7
        recording.append("resting", "OK", "OK")
    return recording.table()


def test_an_older_recording_is_shown_as_far_as_it_tells(tmp_path):
    arm = mounted(Scene(robot="ur5e"))
    assert not np.allclose(arm.model.base, load("ur5e").model.base)  # the scene turns it
    table = made(arm, (0.9, 0.2, -0.5))
    replay = Replay(tmp_path / "run.csv", table=RecordedTable(table, arm.n, {"robot": "ur5e"}))
    assert replay.warnings == ["the recording does not hold its scene, as old ones; people are shown as figures"]
    picture = replay.snapshot(0.03)
    np.testing.assert_array_equal(picture.arm, Body(arm).rows(arm.ready, np.zeros(6))[:, :7])
    assert len(picture.people) == 13
    assert picture.nearest is None  # who that is, and how large, is not known
    assert picture.distance == 0.7
    np.testing.assert_allclose(picture.people[1, 3:5], (0.9, 0.2), atol=1e-9)  # the hip above the feet
    assert picture.scene.floor == -0.5
    assert sentence(picture) == "resting, 0.70 m"


def test_an_arm_that_is_not_known_can_be_said(tmp_path):
    path = older(recorded(tmp_path / "run.csv", Cell(walked(duration=0.05)), 5))
    path.write_text(path.read_text().replace("# robot: panda", "# robot: my own"))
    with pytest.raises(RecordingError, match=r"run\.csv: its arm is 'my own', which cannot be had"):
        Replay(path)
    assert Replay(path, robot="panda").snapshot(0.0).arm.shape[1] == 7
    with pytest.raises(RecordingError, match="expected an arm of 7 joints; puma560 has 6"):
        Replay(path, robot="puma560")


def test_a_motion_that_is_gone_leaves_a_figure(tmp_path):
    cell = Cell(walked(duration=0.1))
    table = run(cell).table()
    gone = dataclasses.replace(cell.scene, people={"anna": RecordedSettings(file=str(tmp_path / "take.csv"))})
    cell.scene = gone
    replay = Replay(tmp_path / "run.csv", table=RecordedTable(table, cell.arm.n, notes_of(cell)))
    assert "anna is shown as a standing figure" in replay.warnings[0]
    assert "take.csv: cannot be read: No such file" in replay.warnings[0]
    picture = replay.snapshot(0.05)
    assert picture.nearest is None
    np.testing.assert_allclose(picture.people[1, 3:5], picture.person[:2], atol=1e-6)  # the hip above the feet


def test_files_that_changed_are_told(tmp_path):
    path = recorded(tmp_path / "run.csv", Cell(walked(duration=0.1)), 10)
    path.write_text(path.read_text().replace("start = [1.4, 0.3]", "start = [1.4, -0.9]", 1))
    replay = Replay(path)  # the person's feet are recorded, but they face elsewhere
    assert "m off: the file of the arm or of a motion has changed" in replay.warnings[0]


def test_bad_files_are_told_in_one_line(tmp_path):
    path = tmp_path / "run.csv"
    for data, expected in (
        (b"", "expected the names of the columns"),
        (b"a,b,c\n1,2,3\n", "line 1: expected 't', the name of column 1 of a recording; got 'a'"),
        (b"\x89PNG\r\n\x1a\n\0\0", "expected text in UTF-8; got binary data"),
    ):
        path.write_bytes(data)
        with pytest.raises(RecordingError) as told:
            Replay(path)
        assert str(told.value).startswith(str(path))
        assert expected in str(told.value)
        assert "\n" not in str(told.value)
    good = recorded(path, Cell(walked(duration=0.1)), 10).read_text()
    head = "".join(line for line in good.splitlines(keepends=True)[:5])
    for text, expected in (
        (head, "the recording is empty"),
        (good.replace("[task]", "[tusk]", 1), "the note scene.toml: tusk: unknown key"),
        (good.replace('robot = "panda"', 'robot = "pandaa"', 1), "its arm is 'pandaa', which cannot be had"),
        (good.replace("\n0.05,", "\nnan,"), "expected times in column 't'; got nan"),
    ):
        path.write_text(text)
        with pytest.raises(RecordingError) as told:
            Replay(path)
        assert expected in str(told.value)


def test_a_recording_that_was_cut_off_is_shown_to_its_last_row(tmp_path):
    path = recorded(tmp_path / "run.csv", Cell(walked(duration=0.1)), 10)
    path.write_bytes(path.read_bytes()[:-40])
    replay = Replay(path)
    assert len(replay) == 9
    assert "the end is torn off" in replay.warnings[0]
    assert replay.snapshot(math.inf).t == pytest.approx(0.08)


def test_without_people_nothing_is_near(tmp_path):
    scene = dataclasses.replace(Scene.load(CELL), people={})
    arm = mounted(scene)
    replay = Replay(tmp_path / "run.csv", table=RecordedTable(made(arm), arm.n, {NOTE: scene_text(scene)}))
    assert replay.warnings == []
    picture = replay.snapshot(0.0)
    assert picture.nearest is picture.person is None
    assert picture.distance == math.inf
    assert picture.people.shape == (0, 7)
    assert sentence(picture) == "resting"
