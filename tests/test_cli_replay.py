"""`elbowroom replay`, and `elbowroom run --html`."""

from __future__ import annotations

import dataclasses
import json

import pytest

pytest.importorskip("viser")

from elbowroom.cell import Cell, Scene, run
from elbowroom.cell.layout import STANDARD
from elbowroom.cell.people.settings import WalkSettings
from elbowroom.cell.runner import record_to
from elbowroom.cell.scene import scene_text

PEOPLE = {"visitor": WalkSettings(start=(1.4, 0.3), end=(0.5, 0.1), speed=0.8, shape="standing")}


@pytest.fixture(scope="module")
def scene():
    return dataclasses.replace(Scene.load(STANDARD), people=PEOPLE, duration=0.5)


@pytest.fixture(scope="module")
def recording(scene, tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "run.csv"
    cell = Cell(scene)
    run(cell, record_to(cell, path))
    return path


def test_a_page_is_served_for_so_long(run, recording):
    status, out, err = run("replay", recording, "--no-open", "--port", 0, "--seconds", 0.3)
    assert (status, err) == (0, "")
    assert "50 control steps, 0.5 s, at http://127.0.0.1:" in out


def test_a_file_is_written_and_not_overwritten(run, recording, tmp_path):
    page = tmp_path / "run.html"
    status, out, err = run("replay", recording, "--html", page, "--rate", 10)
    assert (status, err) == (0, "")
    assert f"{page}: 5 pictures, 0.5 s" in out.replace("\n", "")
    before = page.read_bytes()
    status, _, err = run("replay", recording, "--html", page)
    assert status == 1
    assert "is there already; --force overwrites it" in err
    assert page.read_bytes() == before
    assert run("replay", recording, "--html", page, "--rate", 10, "--force")[0] == 0


@pytest.mark.parametrize(
    "data, expected",
    [
        (None, "cannot be read: No such file"),
        (b"", "expected the names of the columns; the file ends after line 0"),
        (b"\x00\xff\xfe\n", "line 1: expected text in UTF-8; got binary data"),
        (b"time,x,y\n0,1,2\n", "line 1: expected 't', the name of column 1 of a recording; got 'time'"),
    ],
)
def test_what_is_no_recording_is_told_in_one_line(run, tmp_path, data, expected):
    path = tmp_path / "bad.csv"
    if data is not None:
        path.write_bytes(data)
    status, out, err = run("replay", path, "--no-open")
    assert (status, out) == (1, "")
    assert err.startswith("error: ")
    assert expected in err
    assert err.count("\n") == 1


def test_one_that_was_cut_off_plays_what_is_there_and_says_so(run, recording, tmp_path):
    path = tmp_path / "cut.csv"
    path.write_bytes(recording.read_bytes()[:-100])
    status, out, err = run("replay", path, "--no-open", "--port", 0, "--seconds", 0.1)
    assert status == 0
    assert "49 control steps" in out
    assert err.startswith("warning: ")
    assert "the end is torn off" in err


def test_another_machine_needs_a_token(run, recording):
    status, _, err = run("replay", recording, "--no-open", "--host", "example.invalid", "--token", "short")
    assert status == 1
    assert "token: expected 16 to 128 letters" in err


def test_run_writes_a_page_too(run, scene, tmp_path):
    (tmp_path / "cell.toml").write_text(scene_text(scene))
    status, out, _ = run("run", tmp_path / "cell.toml", "--html", tmp_path / "run.html")
    assert status == 0
    assert "run.html: 15 pictures" in out.replace("\n", "")
    assert "Pick and place beside a person" in (tmp_path / "run.html").read_text(encoding="utf-8")
    status, _, err = run("run", tmp_path / "cell.toml", "--html", tmp_path / "run.html")
    assert status == 1
    assert "is there already" in err


def test_the_numbers_of_a_recording_are_the_same_in_either_format(run, recording, tmp_path):
    pytest.importorskip("mcap", reason="mcap (extra connect) writes MCAP")
    other = tmp_path / "other.mcap"
    assert run("convert", recording, other)[0] == 0
    status, out, err = run("replay", recording, "--numbers", "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["duration"] == pytest.approx(0.49)
    assert found["min_distance"] > found["min_surface_distance"] > 0.0
    assert run("replay", other, "--numbers", "--json") == (0, out, "")
    shown = run("replay", other, "--numbers")[1]
    assert "least distance, between surfaces of the cover, m " in shown
    assert "OK " in next(row for row in shown.splitlines() if row.startswith("time in status"))
    other.write_bytes(other.read_bytes()[: other.stat().st_size // 2])  # of its one chunk nothing is left
    status, _, err = run("replay", other, "--numbers")
    assert status == 1
    assert "the end is torn off" in err.replace("\n", " ")
    assert "expected a recording of two control steps or more; got 0" in err.replace("\n", " ")
    status, _, err = run("replay", other, "--json")
    assert status == 2


def test_a_recording_goes_from_format_to_format_and_is_replayed(run, tmp_path):
    pytest.importorskip("mcap", reason="mcap (extra connect) writes MCAP")
    scene = tmp_path / "scene.toml"
    scene.write_text('robot = "planar2"\nstart = [0.9, -1.7]\n')
    file, table, page = (str(tmp_path / name) for name in ("run.mcap", "run.csv", "run.html"))
    status, _, error = run("run", str(scene), "--seconds", "0.2", "--out", file)
    assert status == 0, error
    status, out, error = run("convert", file, table)
    assert (status, error) == (0, "")
    assert "20 control steps" in out
    status, _, error = run("convert", table, str(tmp_path / "back.mcap"))
    assert (status, error) == (0, "")
    status, _, error = run("convert", table, file)
    assert status == 1
    assert "is there already; --force overwrites it" in error
    status, _, error = run("run", file)
    assert status == 1
    assert "is a recording or a bag, not a scene" in error
    status, out, error = run("replay", file, "--html", page)
    assert (status, error) == (0, "")
    assert "pictures" in out
