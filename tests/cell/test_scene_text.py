"""The scene of a recording as one of its notes, and what a log writes of hands."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from elbowroom.avoidance import Config, Limits, Sensor, Workspace
from elbowroom.cell import Cell, Scene, run
from elbowroom.cell.people.dragged import DraggedPerson
from elbowroom.cell.people.settings import (
    ReachSettings,
    RecordedSettings,
    Seen,
    StandSettings,
    WalkSettings,
    WanderSettings,
)
from elbowroom.cell.recording.log import LEFT_OUT
from elbowroom.cell.recording.table import Recording, read
from elbowroom.cell.runner import Log, record_to
from elbowroom.cell.scene import NOTE, read_file, scene_of, scene_text, variants
from elbowroom.cell.task import GoTo
from elbowroom.errors import ConfigError
from elbowroom.experiments.thesis.experiment import SCENES
from elbowroom.geometry.shapes import A, B

FILES = sorted(SCENES.glob("test?.toml"))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_the_scenes_of_the_thesis_come_back(file):
    for variant in (None, *variants(read_file(file))):
        for robot in (None, "ur5e"):
            scene = Scene.load(file, variant=variant, robot=robot)
            assert scene_of(scene_text(scene)) == scene


def test_every_kind_of_person_and_any_name_comes_back(tmp_path):
    people = {
        "anna": WalkSettings(periods=1.5, acceleration=2.0),
        'Bo "the hand" [B] # é\\': ReachSettings(hand="left", times=3),
        "": StandSettings(shape="standing"),
        "a.b": WanderSettings(seed=4),
        "taken": RecordedSettings(file=str(tmp_path / "take.csv"), position=(1.0, 2.0)),
    }
    config = Config(period=0.02, workspace=Workspace(floor=0.1))
    scene = Scene(title='what "is" said\\ #é', people=people, controller=config, task=GoTo((0.1, 0.2, 0.3)))
    assert list(scene.people) == list(scene_of(scene_text(scene)).people)
    assert scene_of(scene_text(scene)) == scene
    assert scene_of(scene_text(Scene())) == Scene()


def test_names_of_files_are_whole_and_a_moved_file_is_found_beside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scene = Scene(robot="arm.urdf", people={"anna": RecordedSettings(file="take.csv")})
    text = scene_text(scene)
    again = scene_of(text)
    assert (again.robot, again.people["anna"].file) == (str(tmp_path / "arm.urdf"), str(tmp_path / "take.csv"))
    beside = tmp_path / "moved"
    beside.mkdir()
    (beside / "take.csv").touch()
    again = scene_of(text, beside)
    assert (again.robot, again.people["anna"].file) == (str(tmp_path / "arm.urdf"), str(beside / "take.csv"))
    (tmp_path / "take.csv").touch()  # where it was comes first
    assert scene_of(text, beside).people["anna"].file == str(tmp_path / "take.csv")


@dataclasses.dataclass(frozen=True)
class Own:
    """Somebody of one's own making."""

    def make(self, origin, floor) -> Seen:
        return StandSettings().make(origin, floor)


def test_what_no_file_can_hold_is_left_out_of_the_recordings_scene_and_named(tmp_path):
    scene = Scene(people={"anna": Own()}, duration=0.02)
    assert scene_text(scene) is None
    cell = Cell(scene)
    run(cell, record_to(cell, tmp_path / "run.csv"))
    notes = read(tmp_path / "run.csv").notes
    assert scene_of(notes[NOTE]) == dataclasses.replace(scene, people={})
    assert notes[LEFT_OUT] == "people: anna"


def test_text_that_is_no_scene_is_refused():
    for bad in ("x = [", "nonsense = 1", "a" * 5000):
        with pytest.raises(ConfigError):
            scene_of(bad)


def test_a_recording_holds_the_scene_as_it_is_tuned(tmp_path):
    cell = Cell(Scene(title="a # title", duration=0.05, people={"anna": StandSettings()}))
    tuned = dataclasses.replace(
        cell.scene.controller, repulsion=dataclasses.replace(cell.scene.controller.repulsion, gain=0.234)
    )
    cell.controller.tune(tuned)
    run(cell, record_to(cell, tmp_path / "run.csv", notes={"who": "me"}))
    notes = read(tmp_path / "run.csv").notes
    assert scene_of(notes[NOTE]) == dataclasses.replace(cell.scene, controller=tuned)
    assert (notes["title"], notes["who"]) == ("a # title", "me")
    lines = Path(tmp_path / "run.csv").read_text().splitlines()
    assert sum(line.startswith("# ") for line in lines) == 5  # one line each


# ---- hands


def test_the_palms_are_where_the_hands_are():
    people = {"anna": ReachSettings(position=(0.6, 0.0), target=(0.3, 0.0, 0.1))}
    cell = Cell(Scene(people=people, duration=1.5, floor=-0.8))
    hand = DraggedPerson(cell.people[0].actual)
    cell.people[0] = Seen(hand, hand)
    hand.drag_hand("left", (0.1, 0.05, 0.2))
    recording = Recording(cell.arm.n)
    log = Log(cell, recording)
    names, wanted = hand.names, []
    for k in range(150):
        t = k * cell.period
        cell.step(t)
        log.add(t)
        rows = cell.people_rows[: len(names)]
        wanted.append([rows[names.index(f"{side}_hand")] for side in ("left", "right")])
        wanted[-1] = [0.5 * (row[A] + row[B]) for row in wanted[-1]]
        cell.advance(t, cell.period)
    table = recording.table()
    for k, side in enumerate(("left", "right")):
        got = np.stack([table[f"{side}_hand_{axis}"] for axis in "xyz"], axis=1)
        np.testing.assert_array_equal(got, np.array(wanted)[:, k])  # the same numbers
        assert np.ptp(got, axis=0).max() > 0.1  # and both moved


def test_without_hands_there_are_none():
    for people in ({}, {"post": StandSettings(shape="cylinder")}):
        table = run(Cell(Scene(people=people, duration=0.03))).table()
        assert all(np.isnan(table[f"{side}_hand_{axis}"]).all() for side in ("left", "right") for axis in "xyz")
        assert np.isfinite(table["attraction_x"]).all()
        assert np.isfinite(table["repulsion_z"]).all()


# ---- older recordings


def test_a_scene_with_limits_of_an_older_supervisor_is_read():
    """Its settings that are gone would be refused in a file; whoever shows the run does without all of its limits."""
    settings = Scene(robot="puma560", limits=Limits(sensor=Sensor.exact(), max_age=0.3), duration=4.0)
    text = scene_text(settings)
    assert text is not None
    assert scene_of(text) == settings
    older = text.replace("[limits]\n", "[limits]\ndeceleration = 5.0\nperson_uncertainty = 0.05\ncreep = 0.0\n")
    older = older.replace(f"creep = {settings.limits.creep}\n", "")
    assert older.count("creep") == 1
    assert scene_of(older) == dataclasses.replace(settings, limits=Scene().limits)
