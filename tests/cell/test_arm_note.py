"""The arm as a note of its recording: the same model again, and a recording that is shown without the arm's file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given

from elbowroom.arm import Arm
from elbowroom.cell import Cell, Scene, StandSettings, run
from elbowroom.cell.recording.arm_note import ARM, arm_of, arm_text
from elbowroom.cell.recording.convert import convert
from elbowroom.cell.recording.csv_file import LONGEST
from elbowroom.cell.recording.table import read
from elbowroom.cell.runner import record_to
from elbowroom.errors import RecordingError
from elbowroom.export.write_urdf import urdf
from elbowroom.loading import load
from elbowroom.model import Model, catalogue
from elbowroom.viewer.replay.recorded import Replay
from strategies import examples, robots


def same(a: Model, b: Model) -> bool:
    """Equal to the last bit, shapes included."""
    return a.digest == b.digest and (a.capsules, a.covers, a.has_ready) == (b.capsules, b.covers, b.has_ready)


@pytest.mark.parametrize("name", catalogue.names())
def test_a_catalogue_arm_comes_back_to_the_last_bit(name):
    model = load(name).model
    assert same(arm_of(arm_text(model)), model)
    assert "\n" not in arm_text(model)


@given(robots())
@examples(20)
def test_any_arm_comes_back_to_the_last_bit(model):
    assert same(arm_of(arm_text(model)), model)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"name": "x"}', '{"capsules": [[1]]}', "9" * 5000, '{"covers": 5}'])
def test_what_is_no_arm_is_refused(text):
    with pytest.raises(RecordingError, match=r"the note arm\.json: expected an arm"):
        arm_of(text)


def test_a_number_that_is_none_and_a_capsule_without_a_link_are_refused():
    fields = json.loads(arm_text(load("planar2").model))
    for name, value in (("mass", [1.0, "a"]), ("E", [[1.0]]), ("capsules", [["a", 9, [0, 0, 0], [0, 0, 1], 0.1]])):
        with pytest.raises(RecordingError, match=r"the note arm\.json"):
            arm_of(json.dumps(fields | {name: value}))
    assert same(arm_of(json.dumps(fields | {"of_a_later_version": 1})), load("planar2").model)


def test_an_arm_too_long_for_a_line_has_no_note(monkeypatch):
    monkeypatch.setattr("elbowroom.cell.recording.arm_note.LONGEST", 100)
    assert LONGEST > 100
    assert arm_text(load("planar2").model) is None


@pytest.mark.parametrize("ending", ["csv", "mcap"])
def test_a_recording_is_shown_again_without_the_file_of_its_arm(tmp_path, ending):
    pytest.importorskip("mcap", reason="mcap (extra connect) writes MCAP")
    file = tmp_path / "arms" / "my_arm.urdf"
    file.parent.mkdir()
    file.write_text(urdf(load("planar2").model))
    scene = Scene(robot=str(file), people={"anna": StandSettings(position=(2.0, 1.0))}, duration=0.1, check_reach=False)
    cell = Cell(scene)
    path = tmp_path / f"run.{ending}"
    run(cell, record_to(cell, path))
    shown = Replay(path).snapshot(0.05)
    file.unlink()
    again = Replay(path)
    assert again.warnings == []
    np.testing.assert_array_equal(again.snapshot(0.05).arm, shown.arm)
    np.testing.assert_array_equal(again.snapshot(0.05).people, shown.people)
    assert same(again.cell.arm.model, cell.arm.model)
    other = tmp_path / ("again.mcap" if ending == "csv" else "again.csv")
    convert(path, other)
    assert same(Arm(arm_of(read(other).notes[ARM])).model, cell.arm.model)
