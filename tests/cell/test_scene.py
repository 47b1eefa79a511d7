"""Scenes from files: layers, and one clear line for whatever is wrong with them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from elbowroom.avoidance import Config, Limits, Sensor
from elbowroom.avoidance.settings import rows
from elbowroom.cell import (
    Cell,
    GoTo,
    PickAndPlace,
    RecordedSettings,
    Rest,
    Scene,
    StandSettings,
    WalkSettings,
    WanderSettings,
)
from elbowroom.cell.scene import PlantSettings, layered, merged, read_file, scene, variants
from elbowroom.errors import ConfigError, ModelError, RecordingError

SCENES = Path(__file__).parents[2] / "src/elbowroom/experiments/thesis/scenes"


@pytest.fixture
def write(write):
    """A function that writes a file, a scene unless its name says otherwise."""
    return lambda text, name="cell.toml": write(text, name)


@pytest.fixture
def refused(write):
    """A function that gives the one line by which a file is refused, without the file's name."""

    def line(text: str, *, build: bool = False, **options) -> str:
        path = write(text)
        made = (lambda: Cell(Scene.load(path, **options))) if build else (lambda: Scene.load(path, **options))
        with pytest.raises(ConfigError) as caught:
            made()
        said = str(caught.value)
        assert said.startswith(f"{path}: ")
        assert "\n" not in said
        return said.removeprefix(f"{path}: ")

    return line


# ---- what a file says


def test_an_empty_file_is_a_scene(write):
    found = Scene.load(write(""))
    assert found == Scene()
    assert (found.robot, found.task, found.people, found.supervision) == ("panda", Rest(), {}, "stop")


def test_a_file_says_what_python_says(write):
    path = write(
        """
        title = "Two people"
        robot = "ur5e"
        start = [0, -1.6, 1.9, -1.87, -1.571, 0]
        duration = 2.5
        supervision = "watch"
        [controller]
        period = 0.005
        repulsion.influence = 0.4
        [limits]
        max_age = 0.3
        [plant]
        kind = "rigid"
        payload = 2.0
        [task]
        kind = "go_to"
        point = [0.1, 0.0, 0.2]
        [people.anna]
        kind = "walk"
        speed = 1.0
        [people.ben]
        kind = "still"
        shape = "standing"
        """
    )
    config = Config(period=0.005)
    assert Scene.load(path) == Scene(
        title="Two people",
        robot="ur5e",
        start=(0.0, -1.6, 1.9, -1.87, -1.571, 0.0),
        duration=2.5,
        supervision="watch",
        controller=dataclasses.replace(config, repulsion=dataclasses.replace(config.repulsion, influence=0.4)),
        limits=Limits(sensor=Sensor.exact(), max_age=0.3),  # a cell tells what is true unless told not to
        plant=PlantSettings("rigid", payload=2.0),
        task=GoTo((0.1, 0.0, 0.2)),
        people={"anna": WalkSettings(speed=1.0), "ben": StandSettings(shape="standing")},
    )
    assert Scene.load(path).cycles == 500
    assert Scene.load(path).source == str(path)


def test_every_setting_has_a_meaning():
    for each in (
        Scene(),
        *(kind() for kind in (WalkSettings, WanderSettings, StandSettings, PickAndPlace)),
        RecordedSettings(file="take.csv"),
    ):
        assert all(row.doc for row in rows(each))


def test_another_plant_keeps_what_is_wrong_with_the_arm():
    heavy = Scene(plant=PlantSettings("rigid", mass_error=0.3))
    assert heavy.with_plant("mujoco").plant == PlantSettings("mujoco", mass_error=0.3)
    with pytest.raises(ConfigError, match=r"plant\.kind: expected rigid or mujoco where there is a mass_error"):
        heavy.with_plant("kinematic")


@pytest.mark.parametrize("number", range(1, 8))
def test_the_scenes_of_the_experiments_load_as_they_are(number):
    path = SCENES / f"test{number}.toml"
    for variant in variants(read_file(path)):
        for robot in (None, "panda", "iiwa7", "ur10e"):
            assert Scene.load(path, variant=variant, robot=robot).people


# ---- layers


def test_later_layers_win_key_by_key(write):
    write('robot = "puma560"\nduration = 5.0\nnoise = 0.1\n[controller]\nperiod = 0.02\ndamping = 0.1\n', "low.toml")
    write('extends = "low.toml"\nduration = 6.0\n[controller]\ndamping = 0.2\n', "middle.toml")
    path = write(
        """
        extends = "middle.toml"
        [controller]
        posture = 0.1
        [robots.puma560]
        noise = 0.2
        seed = 5
        [robots.panda]
        seed = 6
        [variants.loud]
        noise = 0.3
        controller.posture = 0.7
        """
    )
    plain, loud = Scene.load(path), Scene.load(path, variant="loud")
    assert (plain.duration, plain.noise, plain.seed) == (6.0, 0.2, 5)
    assert (plain.controller.period, plain.controller.damping, plain.controller.posture) == (0.02, 0.2, 0.1)
    assert (loud.noise, loud.seed, loud.controller.posture, loud.controller.damping) == (0.3, 5, 0.7, 0.2)
    assert Scene.load(path, robot="panda").seed == 6
    assert variants(read_file(path)) == ("loud",)


def test_what_belongs_to_one_arm_is_not_given_to_another(write):
    text = """
        robot = "puma560"
        cover = "thesis"
        start = [0.0, 0.75, -2.15, 0.0, 0.7, 0.0]
        duration = 3.0
        [robots.ur5e]
        start = [0, -1.6, 1.9, -1.87, -1.571, 0]
        [variants.other]
        robot = "ur10e"
        """
    path = write(text)
    assert Scene.load(path).cover == "thesis"
    asked = Scene.load(path, robot="ur5e")  # as many joints: it would have started anywhere
    assert (asked.robot, asked.cover, asked.start[1], asked.duration) == ("ur5e", "", -1.6, 3.0)
    assert Scene.load(path, robot="ur10e").start == ()
    varied = Scene.load(path, variant="other")
    assert (varied.robot, varied.cover, varied.start) == ("ur10e", "", ())
    assert Scene.load(path, variant="other", robot="ur5e").robot == "ur5e"  # who asks has the last word


def test_a_person_of_another_kind_replaces_the_one_below(write):
    path = write(
        """
        [people.coworker]
        kind = "walk"
        speed = 0.4
        radius = 0.3
        [variants.slow.people.coworker]
        speed = 0.1
        [variants.stands.people.coworker]
        kind = "still"
        position = [0.8, 0.0]
        [variants.works.task]
        kind = "go_to"
        [variants.alone]
        people.coworker = false
        [variants.empty]
        people = false
        """
    )
    assert Scene.load(path, variant="alone").people == {}
    assert Scene.load(path, variant="empty").people == {}
    assert Scene.load(path, variant="slow").people == {"coworker": WalkSettings(speed=0.1, radius=0.3)}
    assert Scene.load(path, variant="stands").people == {"coworker": StandSettings(position=(0.8, 0.0))}
    assert Scene.load(path, variant="works").task == GoTo()


def test_merged_leaves_its_inputs_alone():
    below, above = {"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"c": 4}, "d": {"e": 5}}
    assert merged(below, above) == {"a": {"b": 1, "c": 4}, "d": {"e": 5}}
    assert below == {"a": {"b": 1, "c": 2}, "d": 3}
    assert layered({"x": 1, "variants": {"v": {"x": 2}}}, None, "v") == {"x": 2}


def test_files_are_looked_for_beside_the_file_that_names_them(write, tmp_path, monkeypatch):
    write('robot = "arm.toml"\n[people.one]\nkind = "recorded"\nfile = "take.csv"\n', "base/low.toml")
    path = write(
        'extends = "base/low.toml"\n[people.two]\nkind = "recorded"\nfile = "takes/b.bvh"\n'
        '[variants.urdf]\nrobot = "arm.urdf"\n[robots."arm.urdf"]\nseed = 9\n'
    )
    found = Scene.load(path)
    assert found.robot == str(tmp_path / "base/arm.toml")
    assert [who.file for who in found.people.values()] == [
        str(tmp_path / "base/take.csv"),
        str(tmp_path / "takes/b.bvh"),
    ]
    varied = Scene.load(path, variant="urdf")
    assert (varied.robot, varied.seed) == (str(tmp_path / "arm.urdf"), 9)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)  # an arm that is asked for is not looked for beside the scene
    assert Scene.load(path, robot="arm.urdf").robot == str(elsewhere / "arm.urdf")
    assert Scene.load("../cell.toml").robot == str(elsewhere / "../base/arm.toml")
    table = {"robot": "a.urdf", "people": {"one": {"kind": "recorded", "file": "b.csv"}}}
    placed = scene(table, Path("folder"))
    assert (placed.robot, placed.people["one"].file) == ("folder/a.urdf", "folder/b.csv")


def test_a_circle_of_files_is_told(write):
    write('extends = "cell.toml"\n', "b.toml")
    path = write('extends = "b.toml"\n')
    with pytest.raises(ConfigError, match=r"b\.toml: extends: .*circle, cell\.toml -> b\.toml -> cell\.toml$"):
        Scene.load(path)
    with pytest.raises(ConfigError, match=r"circle, self\.toml -> self\.toml"):
        Scene.load(write('extends = "self.toml"', "self.toml"))


# ---- what is wrong with a file

WRONG = {
    'pepole = "x"': "pepole: unknown key; did you mean people?",
    "taks = 1": "taks: unknown key; did you mean task?",
    "zzz = 1": "zzz: unknown key; expected title, robot, ",
    "source = 1": "source: unknown key",
    "robot = 5": "robot: expected a string; got 5",
    'robot = ""': "robot: expected an arm of the catalogue, or a URDF or TOML file; got ''",
    'title = "two\\nlines"': "title: expected one line of text; got 'two\\nlines'",
    'start = "left"': "start: expected a list of numbers (rad or m); got 'left'",
    "start = [0, nan]": "start[1]: expected a finite number (rad or m); got nan",
    "duration = 0": "duration: expected a number > 0 and <= 86400 (s); got 0",
    "duration = 86400\n[controller]\nperiod = 0.001":
        "duration: expected at most 5000000 control steps of 0.001 s; got 8",
    "noise = -1": "noise: expected a number >= 0 and <= 1 (m); got -1",
    'supervision = "wacth"': "supervision: expected \"stop\" or \"watch\" or \"off\" (did you mean 'watch'?); got",
    'origin = "flange"': 'origin: expected "tool" or "base"; got \'flange\'',
    "reset_after = -1": "reset_after: expected a number >= 0 and <= 3600 (s); got -1",
    "controller = 3": "controller: expected a table; got 3",
    "[controller]\nperoid = 1": "controller.peroid: unknown key; did you mean period (in s)?",
    "[limits]\nperiod = 0.5": "limits.period: expected the controller's, 0.01, or nothing; got 0.5",
    '[plant]\nkind = "drake"': 'plant.kind: expected "kinematic" or "rigid" or "mujoco"; got \'drake\'',
    "[plant]\npayload = 1": "plant.kind: expected rigid or mujoco where there is a mass_error or a payload; got",
    "task = 1": "task: expected a table with a kind; got 1",
    "[task]\npoint = [0, 0, 0]": 'task.kind: expected "rest" or "go_to" or "pick_and_place"; it is missing',
    '[task]\nkind = "goto"': "(did you mean 'go_to'?); got 'goto'",
    '[task]\nkind = "go_to"\npoint = [0, 0]': "task.point: expected a list of 3 numbers (m); got [0, 0]",
    "people = 3": "people: expected a table a person, [people.NAME]; got 3",
    'people = "anna"': "people: expected a table a person",
    "[people]\nanna = 3": "people.anna: expected a table with a kind; got 3",
    '[people.anna]\nkind = "walker"': "people.anna.kind: expected \"walk\" or ",
    '[people.anna]\nkind = "still"\nspeed = 1': "people.anna.speed: unknown key",
    "robots = 1": "robots: expected a table of tables, [robots.NAME]; got 1",
    "[robots.pandda]\nnoise = 0.1": "robots.pandda: expected an arm of the catalogue, or the name of its file; did",
    '[robots.panda]\nrobot = "ur5e"': "robots.panda.robot: expected settings for that arm; got 'ur5e'",
    "variants = [1]": "variants: expected a table of tables, [variants.NAME]; got [1]",
    "extends = 3": "extends: expected the name of a file; got 3",
    "this is not TOML": "expected TOML; ",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text.replace("\n", " ")[:40])
def test_what_is_wrong_is_one_line_with_its_key(refused, text):
    assert WRONG[text] in refused(text)


def test_an_unknown_variant_names_those_there_are(refused):
    text = "[variants.fast]\n[variants.slow]\n"
    assert refused(text, variant="fats") == "variants: expected fast or slow (did you mean 'fast'?); got 'fats'"
    assert refused("", variant="fast") == "variants: expected none: there are none; got 'fast'"


def test_files_that_cannot_be_read(write, tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.toml: cannot be read: No such file"):
        Scene.load(tmp_path / "nowhere.toml")
    with pytest.raises(ConfigError, match=r"cell\.toml: .*low\.toml: cannot be read: No such file"):
        Scene.load(write('extends = "low.toml"'))
    with pytest.raises(ConfigError, match="cannot be read"):
        Scene.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe4"')
    with pytest.raises(ConfigError, match=r"expected TOML in UTF-8; .* at byte 9"):
        Scene.load(tmp_path / "latin.toml")
    with pytest.raises(ConfigError, match="at most 1048576 bytes"):
        Scene.load(write("#" * 2**20 + "\n"))


UNFIT = {
    'robot = "pandda"': "robot: no arm 'pandda'",
    "start = [0, 0]": "start: expected 7 numbers, one a joint of panda; got 2",
    "start = [0, 9, 0, -1.5, 0, 1.5, 0]": "start[1]: expected joint 'panda_joint2' within its limits, -1.7",
    'lower = [-9, -1, -2, -3, -2, 0, -2]': "lower[0]: expected joint 'panda_joint1' within the arm's own limits, -2.8",
    'upper = [2, 1, 2, -0.1, 2, 3.7, 9]': "upper[6]: expected joint 'panda_joint7' within the arm's own limits, -2.8",
    'cover = "boxes"': "cover: ",
    '[limits]\nvelocities = [1, 2]': "Limits: velocities: expected 7 numbers, one a joint of panda; got 2",
    '[people.ann]\nkind = "reach"\nposition = [9, 9]': "people.ann: Reach.target: expected a point that the right arm",
    '[controller]\ncontroller = "F"\nforce.method = "joint"': "plant.kind: expected rigid or mujoco, since the contr",
}  # fmt: skip


@pytest.mark.parametrize("text", UNFIT, ids=lambda text: text.replace("\n", " ")[:40])
def test_what_does_not_fit_the_arm_is_one_line_too(refused, text):
    assert UNFIT[text] in refused(text, build=True)


def test_other_files_speak_for_themselves(write, tmp_path):
    with pytest.raises(ModelError, match=r"nosuch\.urdf"):
        Cell(Scene.load(write('robot = "nosuch.urdf"')))
    with pytest.raises(RecordingError, match=r"^.*nosuch\.csv: "):
        Cell(Scene.load(write('[people.ann]\nkind = "recorded"\nfile = "nosuch.csv"')))


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"people": [WalkSettings()]}, "people: expected people by name"),
        ({"people": {"ann": "a walk"}}, r"people\.ann: expected a person"),
        ({"task": "rest"}, "task: expected a task"),
        ({"controller": {"period": 0.1}}, "controller: expected a Config"),
        ({"start": 5}, r"start: expected a list of numbers \(rad or m\)"),
        ({"start": (0.0, float("inf"))}, r"start\[1\]: expected a finite number \(rad or m\); got inf"),
        ({"face": 1}, "face: expected true or false"),
        ({"title": None}, "title: expected a string; got None"),
    ],
)
def test_a_scene_made_in_python_is_checked_too(wrong, said):
    with pytest.raises(ConfigError, match=f"^Scene: {said}"):
        Scene(**wrong)
