"""Input files of every kind: names that no file can have, TOML without end, and numbers that only Python takes."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path

import pytest

import elbowroom as er
from elbowroom.avoidance import Config
from elbowroom.avoidance import settings as er_settings
from elbowroom.cell import Scene
from elbowroom.cell.mocap.recorded import read_motion, read_placement
from elbowroom.cell.recording.table import read as read_recording
from elbowroom.cell.scene import scene_of
from elbowroom.errors import ConfigError, ElbowroomError, ModelError, RecordingError
from elbowroom.model.meshes import surfaces
from elbowroom.reading import MAX_DEPTH, decimal, named, parse_toml, read_bytes

READERS = {
    "urdf": (er.load, ".urdf", ModelError),
    "robot": (er.load, ".toml", ModelError),
    "settings": (lambda file: er_settings.load(Config, file), ".toml", ConfigError),
    "scene": (Scene.load, ".toml", ConfigError),
    "bvh": (read_motion, ".bvh", RecordingError),
    "vicon": (read_motion, ".csv", RecordingError),
    "placement": (read_placement, ".json", RecordingError),
    "recording": (read_recording, ".csv", RecordingError),
}
TOML_FILES = ("robot", "settings", "scene")


# ---- names


@pytest.mark.parametrize("stem", ["a\0", "\ud800", "x" * 300, "missing", "loop", "folder", "missing/" * 2000 + "x"])
@pytest.mark.parametrize("kind", READERS)
def test_a_name_that_cannot_be_read_is_an_error_of_our_own(tmp_path, kind, stem):
    read, suffix, error = READERS[kind]
    (tmp_path / f"loop{suffix}").symlink_to(tmp_path / f"loop{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    path = os.path.join(tmp_path, stem + suffix)
    with pytest.raises(error) as caught:
        read(path)
    said = str(caught.value)
    assert said.encode()  # it can be printed
    assert "cannot be read" in said or "no such file" in said
    assert named(path) in said


def test_extends_may_name_anything(tmp_path):
    (tmp_path / "loop.toml").symlink_to(tmp_path / "loop.toml")
    for name in ("loop.toml", "x" * 300, "a\\u0000"):
        (tmp_path / "scene.toml").write_text(f'extends = "{name}"\n')
        with pytest.raises(ConfigError, match=r"cannot be read|expected the name of a file"):
            Scene.load(tmp_path / "scene.toml")


def test_a_long_chain_of_scenes_is_refused_and_not_a_recursion(tmp_path):
    for k in range(2000):
        (tmp_path / f"{k}.toml").write_text(f'extends = "{k + 1}.toml"\n')
    with pytest.raises(ConfigError, match=r"32\.toml: extends: expected at most 32 files"):
        Scene.load(tmp_path / "0.toml")


def test_a_recording_with_a_name_as_long_as_may_be(tmp_path):
    """NAME_info.json, looked for beside it, would be longer."""
    from elbowroom.cell import Recorded
    from handwritten import vicon

    path = tmp_path / ("x" * 250 + ".csv")
    path.write_text(vicon())
    assert Recorded(path).duration > 0


def test_a_file_is_read_to_its_cap(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5, ModelError) == b"12345"
    with pytest.raises(ModelError, match="f: expected at most 4 bytes; the file is larger"):
        read_bytes(path, 4, ModelError)


@pytest.mark.parametrize("kind", TOML_FILES)
def test_a_huge_toml_file_is_not_read_whole(tmp_path, kind):
    read, suffix, error = READERS[kind]
    path = tmp_path / f"huge{suffix}"
    path.touch()
    os.truncate(path, 2**30)
    with pytest.raises(error, match=r"expected at most \d+ bytes; the file is larger"):
        read(path)


# ---- pipes and devices


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("held", [False, True], ids=["alone", "held"])
@pytest.mark.parametrize("kind", [*READERS, "mesh"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, kind, held):
    read, suffix, error = (READERS | {"mesh": (surfaces, ".stl", ModelError)})[kind]
    path = tmp_path / f"pipe{suffix}"
    os.mkfifo(path)
    writer = os.open(path, os.O_RDWR) if held else None
    caught = []

    def attempt():
        try:
            read(path)
        except Exception as problem:
            caught.append(problem)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(60)  # for ever, if it waits for what is never written
    if writer is not None:
        os.close(writer)
    assert [type(problem) for problem in caught] == [error]
    assert f"pipe{suffix}" in str(caught[0])
    assert "cannot be read: expected a regular file" in str(caught[0])


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no file without an end here")
@pytest.mark.parametrize("kind", READERS)
def test_a_device_is_refused(tmp_path, kind):
    read, suffix, error = READERS[kind]
    (tmp_path / f"endless{suffix}").symlink_to("/dev/zero")
    with pytest.raises(error, match=f"endless{suffix}: cannot be read: expected a regular file"):
        read(tmp_path / f"endless{suffix}")


# ---- TOML

DEEP = {
    "lists": "name = " + "[" * 3000 + "]" * 3000,
    "a few lists": "name = " + "[" * 100 + "]" * 100,
    "tables": "name = " + "{a=" * 3000 + "1" + "}" * 3000,
    "a dotted key": "a." * 3000 + "b = 1",
    "a dotted header": "[" + "a." * 3000 + "b]",
    "a dotted list of tables": "[[" + "a." * 3000 + "b]]",
}
LONG = {
    "decimal": "name = 1" + "0" * 5000,
    "hexadecimal": "name = 0x1" + "0" * 5000,
    "inside": "a = [{b = 0o1%s}]" % ("0" * 6000),
}


@pytest.mark.parametrize("kind", TOML_FILES)
@pytest.mark.parametrize("text", [*DEEP.values(), *LONG.values()], ids=[*DEEP, *LONG])
def test_toml_that_python_cannot_hold_is_refused_by_every_reader(tmp_path, kind, text):
    read, suffix, error = READERS[kind]
    path = tmp_path / f"mine{suffix}"
    path.write_text(text)
    with pytest.raises(error) as caught:
        read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: expected ")
    assert len(said) < 1000
    with pytest.raises(ConfigError):
        scene_of(text)


def test_the_depth_that_is_allowed_is_allowed():
    deep = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    assert list(parse_toml(f"a = {deep}", "f", ModelError)) == ["a"]
    with pytest.raises(ModelError, match=f"f: expected TOML with tables and lists at most {MAX_DEPTH} deep"):
        parse_toml(f"a = [{deep}]", "f", ModelError)


def test_toml_is_utf8():
    with pytest.raises(ConfigError, match=r"f: expected TOML in UTF-8; .* at byte 5"):
        parse_toml(b"a = '\xff'", "f", ConfigError)
    assert issubclass(ConfigError, ElbowroomError)


# ---- numbers


@pytest.mark.parametrize("text", ["1", "-1.5", "+.5", "1.", "1e3", " 2 ", "nan", "inf", "-Infinity", "1e400"])
def test_decimal_numbers(text):
    value = decimal(text)
    assert value is not None
    assert value == float(text) or math.isnan(value)


@pytest.mark.parametrize(
    "text", ["", "x", "1_0", "1_000.5", "\u0661", "\uff11", "1\u2003", "0x10", "1,5", "1 2", "1e", "True"]
)
def test_what_is_no_decimal_number(text):
    assert decimal(text) is None
