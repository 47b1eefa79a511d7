"""Rerun as a second viewer: the same snapshot, in a file."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.cell import Cell, Scene, StandSettings, run
from elbowroom.errors import ElbowroomError
from elbowroom.viewer.rerun_viewer import RATE, RerunViewer
from elbowroom.viewer.snapshot import SceneView, Snapshot

SCENE = Scene(robot="planar2", start=(0.9, -1.7), people={"anna": StandSettings((1.5, 0.0))})


def test_the_snapshot_is_that_of_the_cell():
    cell = Cell(SCENE)
    run(cell, cycles=5)
    shown = Snapshot.of_cell(cell, SceneView.of_cell(cell))
    assert shown.t == cell.command.t
    np.testing.assert_array_equal(shown.q, cell.state.q)
    assert shown.distance == cell.near.surfaces
    assert len(shown.people) == len(cell.people_rows) == len(shown.scene.people_names)
    assert shown.status == cell.command.status.value


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rerun", None)
    with pytest.raises(ElbowroomError, match=r"--rerun needs the package rerun-sdk: pip install (-e )?'.\[rerun\]'"):
        RerunViewer(Cell(SCENE), "run.rrd")


def test_a_run_is_written_for_rerun(tmp_path, monkeypatch):
    """Rerun's own command line is not asked: it reports its use over the network."""
    rerun = pytest.importorskip("rerun", reason="rerun-sdk (extra rerun, 500 MB) is not installed")
    monkeypatch.setattr("rerun.error_utils._strict_mode", True)  # what is wrong with an archetype is raised
    assert rerun.strict_mode()
    cell, path, shown = Cell(SCENE), tmp_path / "run.rrd", []
    with RerunViewer(cell, path) as viewer:
        real = viewer.show
        monkeypatch.setattr(viewer, "show", lambda snapshot: (shown.append(snapshot.t), real(snapshot)))
        run(cell, cycles=100, progress=viewer.told(cell))
    assert len(shown) == pytest.approx(RATE, abs=6)  # one second, and when the status changed
    assert path.read_bytes()[:3] == b"RRF"
    assert path.stat().st_size > 10_000
