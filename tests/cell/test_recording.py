"""Recordings: exact to the bit, whole to the last row, and never in the way of the loop."""

from __future__ import annotations

import csv
import errno
import gc
import json
import logging
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import elbowroom
import elbowroom.cell.recording.table as record
from elbowroom.avoidance import Status
from elbowroom.cell.recording.columns import SIGNALS, TEXT, columns
from elbowroom.cell.recording.table import Recording, read
from elbowroom.errors import ElbowroomError, RecordingError, UnknownNameError

# numpy's arrays of text lose zeros at the end, so no text has any
TEXTS = st.text(st.characters(exclude_characters="\0"), max_size=12)


def filled(recording: Recording, rows: int, seed: int = 0) -> Recording:
    """Rows of seeded numbers, a millisecond apart."""
    numbers = np.random.default_rng(seed)
    t = recording.view("t")
    for k in range(len(recording), len(recording) + rows):
        recording.row[:] = numbers.normal(size=len(recording.columns))
        t[:] = k * 0.001
        recording.row[5:7] = k // 100, k % 2
        recording.append("GO_HOME" if k % 3 else "GRASP", Status.OK if k % 5 else Status.STOP_HUMAN, "")
    return recording


def same(got, wanted) -> None:
    """Bit by bit; but for the bits of a NaN, of which text knows one."""
    assert list(got) == list(wanted)
    for name, values in wanted.items():
        assert got[name].dtype.kind == values.dtype.kind, name
        np.testing.assert_array_equal(got[name], values, err_msg=name)
        if values.dtype.kind == "f":
            number = ~np.isnan(values)
            np.testing.assert_array_equal(np.signbit(got[name][number]), np.signbit(values[number]), err_msg=name)


def until(condition) -> None:
    """Waits for another thread or process, and gives up only if something is badly wrong."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "gave up waiting"
        time.sleep(0.005)


def test_the_columns_are_those_agreed_on():
    agreed = """t state status verdict law_status cycles contacts tool_x tool_y tool_z tool_vx tool_vy tool_vz
        person_x person_y person_z person_vx person_vy person_vz distance_axes distance_surfaces clearance age
        goal_x goal_y goal_z slow push limit q1 q2 qd1 qd2 command1 command2 object_x object_y object_z
        left_hand_x left_hand_y left_hand_z right_hand_x right_hand_y right_hand_z
        attraction_x attraction_y attraction_z repulsion_x repulsion_y repulsion_z margin
        route route_part replans residual1 residual2 felt tau1 tau2 felt_joint felt_torque"""
    assert columns(2) == tuple(agreed.split())
    assert len(columns(7)) == 51 + 5 * 7
    assert {"state", "status", "verdict", "law_status"} == TEXT
    assert len(SIGNALS) == 6
    assert {name for names in SIGNALS.values() for name in names} <= set(columns(6)) - TEXT
    for bad in (0, -1, 101, 2.0, True):
        with pytest.raises(ValueError, match="columns: expected a number of joints from 1 to 100; got"):
            columns(bad)


def test_views_are_parts_of_the_row():
    recording = Recording(3)
    for k, name in enumerate(("tool", "person_v", "goal", "q", "command", "object")):
        recording.view(name)[:] = 10 * k + np.arange(3)
    recording.view("clearance")[:] = 7.0
    recording.view("tool_vy")[:] = 8.0
    recording.append("", "OK")
    got = recording.table()
    wanted = {"tool_z": 2.0, "person_vx": 10.0, "goal_y": 21.0, "q3": 32.0, "command1": 40.0, "object_z": 52.0}
    assert {name: got[name][0] for name in wanted} == wanted
    assert got["clearance"][0] == 7.0
    assert got["tool_vy"][0] == 8.0
    assert math.isnan(got["slow"][0])  # never set
    with pytest.raises(UnknownNameError, match=r"expected one of t, state, .*; got 'tools'"):
        recording.view("tools")


def test_the_table_is_the_same_from_memory_and_from_the_file(tmp_path):
    path = tmp_path / "run.csv"
    with Recording(3, path, notes={"robot": "three", "seed": "7"}) as recording:
        filled(recording, 2500)  # three blocks
    assert recording.problem is None
    assert len(recording) == 2500
    table, got = recording.table(), read(path)
    same(got, table)
    assert (got.notes, got.n, got.rows, got.torn) == ({"robot": "three", "seed": "7"}, 3, 2500, None)
    assert table["cycles"].dtype == table["contacts"].dtype == np.int64
    assert table["cycles"][-1] == 24
    assert table["status"][:2].tolist() == ["STOP_HUMAN", "OK"]
    assert table["t"][-1] == 2499 * 0.001
    assert repr(got) == "<RecordedTable of 2500 rows, 3 joints, t = 0 to 2.499 s>"
    with path.open(newline="") as stream:  # as others see it
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    assert [float(row["q2"]) for row in rows] == table["q2"].tolist()
    recording.close()  # once more does nothing


@pytest.mark.parametrize("hands", [True, False])
@pytest.mark.parametrize(
    "supervision, verdicts, did",
    [
        ("stop", ["OK", "STOP_HUMAN", "SLOWING_LIMIT"], ["OK", "STOP_HUMAN", "SLOWING_LIMIT"]),
        ("watch", ["OK", "STOP_HUMAN", "SLOWING_LIMIT"], ["OK", "AVOIDING", "AVOIDING"]),
        ("off", ["", "", ""], ["OK", "AVOIDING", "AVOIDING"]),
        (None, ["OK", "STOP_HUMAN", "SLOWING_LIMIT"], ["OK", "STOP_HUMAN", "SLOWING_LIMIT"]),  # it has no scene
        (None, ["", "", ""], ["OK", "AVOIDING", "AVOIDING"]),
        (
            'off"\\na = 1' + "1" * 5000 + '\\nb = "',
            ["OK", "STOP_HUMAN", "OK"],
            ["OK", "STOP_HUMAN", "OK"],
        ),  # none to read
    ],
    ids=["stop", "watch", "off", "no scene", "no scene, no verdicts", "a scene that cannot be read"],
)
def test_an_older_recording_is_read_with_todays_meaning(tmp_path, supervision, verdicts, did, hands):
    """It has no law_status: there the status was the controller's, and what the arm did has to be told from both."""
    names = [name for name in columns(2) if name != "law_status"]
    names = names[: names.index("margin" if hands else "left_hand_x")]
    law = ["OK", "AVOIDING", "AVOIDING"]
    lines = [] if supervision is None else [f'# scene.toml: robot = "panda"\\nsupervision = "{supervision}"\\n']
    lines.append(",".join(names))
    for k, (status, verdict) in enumerate(zip(law, verdicts, strict=True)):
        numbers = [str(float(10 * k + j)) for j in range(len(names) - 6)]
        lines.append(",".join([f"{k / 100}", "GRASP", status, verdict, "4", str(k), *numbers]))
    path = tmp_path / "old.csv"
    path.write_text("\n".join(lines) + "\n")
    table = read(path)
    assert tuple(table) == columns(2)
    assert table["status"].tolist() == did
    assert table["law_status"].tolist() == law
    assert table["verdict"].tolist() == verdicts
    assert table["state"].tolist() == ["GRASP"] * 3
    assert table["contacts"].tolist() == [0, 1, 2]
    assert table["tool_x"].tolist() == [0.0, 10.0, 20.0]
    assert table["object_z"].tolist() == [float(10 * k + names.index("object_z") - 6) for k in range(3)]
    assert np.isnan(table["repulsion_z"]).all() != hands
    assert np.isnan(table["margin"]).all()


NUMBERS = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)


@given(st.lists(st.tuples(st.lists(NUMBERS, min_size=52, max_size=52), TEXTS, TEXTS, TEXTS, TEXTS), max_size=4))
@example([([0.0] * 52, '"', '"a"', 'b""', "")])
@example(
    [
        (
            [-0.0, math.nan, math.inf, -math.inf, 1e-300, 5e-324, 0.1, 1e22, 3.0, -1e-9, 7.0] * 4 + [2.0] * 8,
            'a,"b"',
            "\n\r\\n\t\\",
            "#\ud800é",
            "OK",
        )
    ]
)
def test_any_number_and_any_text_comes_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("any") / "run.csv"
    with Recording(1, path, notes={"x": "".join(text for row in rows for text in row[1:])}) as recording:
        for values, *texts in rows:
            recording.row[0] = values[0]
            recording.row[7:] = values[1:50]
            recording.row[5:7] = values[50:52]  # counts, whatever they are
            recording.append(*texts)
    got = read(path)
    same(got, recording.table())
    assert got.notes == recording.notes
    for name, k in (("state", 1), ("status", 2), ("verdict", 3), ("law_status", 4)):
        assert got[name].tolist() == [row[k] for row in rows]


def test_a_count_that_is_no_number_is_unknown(tmp_path):
    with Recording(1, tmp_path / "run.csv") as recording:
        for value in (3.0, math.nan, math.inf, 1e300):
            recording.row[5] = value
            recording.append("", "")
    assert read(tmp_path / "run.csv")["cycles"].tolist() == recording.table()["cycles"].tolist() == [3, -1, -1, -1]


def test_only_notes_have_the_mark_of_a_comment(tmp_path):
    with Recording(1, tmp_path / "run.csv", notes={"a": "#1"}) as recording:
        recording.append("#2", "#,#")
    note, names, row = (tmp_path / "run.csv").read_text().splitlines()
    assert note == "# a: #1"
    assert "#" not in names + row  # other readers would cut the row there
    assert read(tmp_path / "run.csv")["status"].tolist() == ["#,#"]


def test_the_same_run_gives_the_same_bytes(tmp_path, monkeypatch):
    notes = {"scene": "a\nb", "robot": "é"}
    with Recording(2, tmp_path / "one.csv", notes=notes) as one:
        filled(one, 1500)
    monkeypatch.setattr(record, "EVERY", 0.001)  # written in many pieces, resting between rows
    with Recording(2, tmp_path / "two.csv", notes=notes, keep=False) as two:
        for _ in range(15):
            filled(two, 100, seed=len(two))
            time.sleep(0.002)
    with Recording(2, tmp_path / "three.csv", notes=notes) as three:
        for _ in range(15):
            filled(three, 100, seed=len(three))
    assert (tmp_path / "two.csv").read_bytes() == (tmp_path / "three.csv").read_bytes()
    one.save(tmp_path / "four.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "four.csv").read_bytes()
    assert (tmp_path / "one.csv").read_bytes() != (tmp_path / "two.csv").read_bytes()
    assert (tmp_path / "one.csv").read_text(encoding="utf-8").startswith("# scene: a\\nb\n# robot: é\nt,state,")


def test_rows_arrive_in_the_file_while_the_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "EVERY", 0.001)
    recording = filled(Recording(2, tmp_path / "run.csv"), 10)
    until(lambda: read(tmp_path / "run.csv").rows == 10)
    filled(recording, 5)
    until(lambda: read(tmp_path / "run.csv").rows == 15)
    recording.close()


def test_rows_that_are_not_kept_leave_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "EVERY", 0.001)
    with Recording(2, tmp_path / "run.csv", keep=False) as recording:
        for _ in range(3):
            filled(recording, record.BLOCK)
            until(lambda: not recording._rows.blocks)
        with pytest.raises(RecordingError, match="expected keep=True, for a table; got keep=False"):
            recording.table()
    assert read(tmp_path / "run.csv").rows == 3 * record.BLOCK
    nowhere = filled(Recording(2, keep=False), 3 * record.BLOCK)
    assert len(nowhere._rows.blocks) == 1
    assert len(nowhere) == 3 * record.BLOCK


def test_nothing_recorded_is_an_empty_table(tmp_path):
    with Recording(2, tmp_path / "run.csv") as recording:
        pass
    same(read(tmp_path / "run.csv"), recording.table())
    assert read(tmp_path / "run.csv").rows == 0
    assert repr(read(tmp_path / "run.csv")) == "<RecordedTable of 0 rows, 2 joints>"


# --- what goes wrong while it is written


class FullDisk:
    """Takes so many bytes more, the last write in part, and then says that it is full."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self, file: int, data) -> int:
        if self.left <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sent = os.write(file, data[: self.left])
        self.left -= sent
        return sent


def test_a_full_disk_stops_the_file_and_not_the_run(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(record, "EVERY", 0.001)
    path = tmp_path / "run.csv"
    with caplog.at_level(logging.WARNING, logger="elbowroom.cell"), Recording(2, path) as recording:
        monkeypatch.setattr(record, "_write", FullDisk(50_000))
        filled(recording, 10)
        assert recording.problem is None  # some 7 kB
        filled(recording, 1990)
        until(lambda: recording.problem)
        filled(recording, 1000)
    got = read(path)
    assert got.torn is None  # the half row was cut off
    assert 40 < got.rows < 200
    same(got, {name: values[: got.rows] for name, values in recording.table().items()})
    assert len(recording.table()["t"]) == 3000
    assert recording.problem == (
        f"{path}: No space left on device (ENOSPC): the file holds the {got.rows} rows until "
        f"t = {got['t'][-1]:.9g} s; memory holds all of them"
    )
    assert [line.getMessage() for line in caplog.records] == [recording.problem]
    monkeypatch.setattr(record, "_write", os.write)
    recording.save(tmp_path / "elsewhere.csv")
    same(read(tmp_path / "elsewhere.csv"), recording.table())


def test_a_disk_that_is_full_and_cannot_be_cut_leaves_a_torn_row(tmp_path, monkeypatch):
    def refuses(file: int, size: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    with Recording(2, tmp_path / "run.csv") as recording:
        monkeypatch.setattr(record, "_write", FullDisk(5_000))
        monkeypatch.setattr(os, "ftruncate", refuses)
        filled(recording, 100)
    got = read(tmp_path / "run.csv")
    assert got.torn is not None
    same(got, {name: values[: got.rows] for name, values in recording.table().items()})


def test_a_full_disk_without_memory_keeps_memory_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "EVERY", 0.001)
    with Recording(2, tmp_path / "run.csv", keep=False) as recording:
        monkeypatch.setattr(record, "_write", FullDisk(0))
        filled(recording, 1)
        until(lambda: recording.problem)
        filled(recording, 5 * record.BLOCK)
        assert len(recording._rows.blocks) == 1
    assert "the file holds no row" in recording.problem
    assert "memory" not in recording.problem
    assert read(tmp_path / "run.csv").rows == 0


def test_a_disk_that_hangs_holds_up_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "EVERY", 0.001)
    monkeypatch.setattr(record, "BACKLOG", 2)
    hangs, goes_on = threading.Event(), threading.Event()

    def slow(file: int, data) -> int:
        hangs.set()
        goes_on.wait()
        return os.write(file, data)

    with Recording(2, tmp_path / "run.csv", keep=False) as recording:
        monkeypatch.setattr(record, "_write", slow)
        try:
            filled(recording, 10)
            assert hangs.wait(60)
            filled(recording, 6 * record.BLOCK)  # all of them while the disk hangs
            assert len(recording._rows.blocks) <= 3
            assert "the disk is 2048 rows behind" in recording.problem
        finally:
            goes_on.set()
    got = read(tmp_path / "run.csv")
    assert 1 <= got.rows <= 10  # no hole: what was on its way, as many as the thread had seen, and nothing after
    np.testing.assert_allclose(got["t"], 0.001 * np.arange(got.rows), atol=1e-12)
    assert f"the file holds the {got.rows} rows until t = {got['t'][-1]:g} s" in recording.problem


def test_a_fault_of_the_thread_is_told(tmp_path, monkeypatch):
    with Recording(2, tmp_path / "run.csv") as recording:
        monkeypatch.setattr(record.CsvFormat, "encoded", lambda self, rows, texts: 1 / 0)
        filled(recording, 3)
    assert "ZeroDivisionError: division by zero: the file holds no row" in recording.problem


def test_rows_after_the_end_are_told(tmp_path):
    recording = filled(Recording(2, tmp_path / "run.csv"), 3)
    recording.close()
    assert recording.problem is None
    filled(recording, 1)
    assert "rows came after it was closed: the file holds the 3 rows until t = 0.002 s" in recording.problem
    assert len(recording.table()["t"]) == 4


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_disk_that_is_full_from_the_start_is_told_at_once():
    with pytest.raises(RecordingError, match=r"^/dev/full: cannot be written: No space left on device \(ENOSPC\)$"):
        Recording(2, "/dev/full", replace=True)
    assert Path("/dev/full").exists()


def test_a_file_that_exists_is_refused_and_stays(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("precious")
    with pytest.raises(RecordingError, match=r"run\.csv: expected a new file; one is there already"):
        Recording(2, path)
    assert path.read_text() == "precious"
    with Recording(2, path, replace=True) as recording:
        filled(recording, 2)
    assert read(path).rows == 2
    with pytest.raises(RecordingError, match="one is there already"):
        recording.save(path)


def test_folders_are_told_at_once(tmp_path):
    with pytest.raises(RecordingError, match=r"run\.csv: expected a folder for it; there is no .*missing"):
        Recording(2, tmp_path / "missing" / "run.csv")
    with pytest.raises(RecordingError, match="expected a file; it is a folder"):
        Recording(2, tmp_path, replace=True)


@pytest.mark.parametrize("notes", [{"a: b": "c"}, {"": "c"}, {"a\n": "c"}, {" a": "c"}, {"a": 3}, {1: "c"}])
def test_notes_that_cannot_be_written_are_refused(tmp_path, notes):
    for path in (None, tmp_path / "run.csv"):
        with pytest.raises(ValueError, match="notes: "):
            Recording(2, path, notes=notes)
    assert not (tmp_path / "run.csv").exists()


def test_an_exception_in_the_run_loses_nothing(tmp_path):
    def interrupted() -> None:
        with Recording(2, tmp_path / "run.csv") as recording:
            filled(recording, 1234)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert read(tmp_path / "run.csv").rows == 1234


def test_a_recording_that_nobody_closes_closes_itself(tmp_path):
    recording = filled(Recording(2, tmp_path / "run.csv"), 12)
    thread = recording._writer._thread
    del recording
    gc.collect()
    assert not thread.is_alive()
    assert read(tmp_path / "run.csv").rows == 12


def child(tmp_path: Path, code: str) -> subprocess.Popen:
    """Another process, which runs the code with `recording` open on run.csv and fill(rows)."""
    before = """
        import json, sys, time
        from pathlib import Path
        from elbowroom.cell.recording.table import Recording
        def fill(rows):
            for k in range(len(recording), len(recording) + rows):
                recording.row[0] = k * 0.001
                recording.row[6:] = k
                recording.append("GO_HOME", "OK")
        folder = Path(sys.argv[1])
    """
    source = textwrap.dedent(before) + textwrap.dedent(code)
    path = str(Path(elbowroom.__file__).parents[1])
    return subprocess.Popen([sys.executable, "-c", source, str(tmp_path)], env=os.environ | {"PYTHONPATH": path})


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9")
def test_a_killed_process_leaves_a_file_that_can_be_read(tmp_path):
    path = tmp_path / "run.csv"
    process = child(
        tmp_path,
        """
        recording = Recording(6, folder / "run.csv", notes={"robot": "puma560"})
        while True:
            fill(10)
            time.sleep(0.001)
        """,
    )
    try:
        until(lambda: process.poll() is not None or (path.exists() and path.read_bytes().count(b"\n") > 50))
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL  # it did not end by itself
    got = read(path)
    assert got.notes == {"robot": "puma560"}
    assert got.rows >= 40
    np.testing.assert_array_equal(got["t"], np.arange(got.rows) * 0.001)
    np.testing.assert_array_equal(got["q6"], np.arange(got.rows))


def test_a_limit_of_the_system_and_an_end_without_close(tmp_path):
    pytest.importorskip("resource")
    process = child(
        tmp_path,
        """
        import resource
        recording = Recording(6, folder / "whole.csv")
        fill(400)  # never closed: the end of the program does it
        whole = recording
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        with Recording(6, folder / "run.csv") as recording:
            fill(3000)
        told = {"problem": recording.problem, "kept": len(recording.table()["t"])}
        (folder / "told.json").write_text(json.dumps(told))
        """,
    )
    assert process.wait(60) == 0
    told = json.loads((tmp_path / "told.json").read_text())
    got = read(tmp_path / "run.csv")
    assert got.torn is None
    assert 400 < got.rows < 3000
    assert told["kept"] == 3000
    assert f"File too large (EFBIG): the file holds the {got.rows} rows until" in told["problem"]
    assert read(tmp_path / "whole.csv").rows == 400


# --- what is wrong with a file


@pytest.fixture
def lines(tmp_path):
    """The lines of a good file: a note, the names, and four rows."""
    with Recording(1, tmp_path / "good.csv", notes={"a": "b"}) as recording:
        filled(recording, 4)
    return (tmp_path / "good.csv").read_text().splitlines(keepends=True)


@pytest.fixture
def reading(tmp_path):
    """Reads a file with that text."""

    def of(text: str | bytes):
        (tmp_path / "bad.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
        return read(tmp_path / "bad.csv")

    return of


def test_a_torn_file_gives_its_whole_rows_wherever_it_was_torn(lines, reading):
    text = "".join(lines)
    whole = reading(text)
    start = len("".join(lines[:2]))
    breaks = [k + side for k, mark in enumerate(text) if mark == "\n" and k > start for side in (0, 1)]
    for end in sorted({*range(start, len(text), 17), *breaks}):
        got = reading(text[:end])
        rows = text[start:end].count("\n")
        same(got, {name: values[:rows] for name, values in whole.items()})
        if text[:end].endswith("\n"):
            assert got.torn is None
        else:
            assert f"bad.csv, line {3 + rows}: the end is torn off, after " in got.torn
            assert "torn" in repr(got)
    for end in range(0, start, 7):
        with pytest.raises(RecordingError, match=r"bad\.csv: expected the names of the columns; the file ends"):
            reading(text[:end])
    assert reading(text[: start + 10] + "\0" * 100).torn  # as a power cut may leave it


def test_files_of_other_systems_read_the_same(lines, reading):
    text = "".join(lines)
    same(reading(text.replace("\n", "\r\n")), reading(text))
    same(reading("\ufeff" + text), reading(text))


def changed(row: str, column: str, word: str) -> str:
    cells = row.split(",")
    cells[columns(1).index(column)] = word
    return ",".join(cells)


@pytest.mark.parametrize(
    "column, word, expected",
    [
        ("t", "soon", "a number in column 't'; got 'soon'"),
        ("t", "1_0", "a number in column 't'; got '1_0'"),
        ("t", "\u0661", "a number in column 't'; got '\u0661'"),
        ("cycles", "\u0661", "a whole number in column 'cycles'; got '\u0661'"),
        ("q1", "", "a number in column 'q1'; got nothing"),
        ("slow", "1_0.5", "a number in column 'slow'; got '1_0.5'"),
        ("cycles", "1.5", "a whole number in column 'cycles'; got '1.5'"),
        ("contacts", str(2**53), "a whole number in column 'contacts'; got '9007199254740992'"),
        ("state", "a,b", "56 cells; got 57: "),
        ("state", '"a', "cells with their quotes closed; got "),
    ],
)
def test_a_wrong_cell_is_told_with_file_and_line(lines, reading, column, word, expected):
    lines[3] = changed(lines[3], column, word)
    with pytest.raises(RecordingError) as told:
        reading("".join(lines))
    assert f"bad.csv, line 4: expected {expected}" in str(told.value)


def test_a_wrong_head_is_told(lines, reading):
    note, names, *rows = lines
    rows = "".join(rows)
    for text, expected in (
        ("", "bad.csv: expected the names of the columns; the file ends after line 0"),
        (note, "bad.csv: expected the names of the columns; the file ends after line 1"),
        ("# nothing\n" + names, "bad.csv, line 1: expected a note, '# key: value'; got '# nothing'"),
        (names.replace("tool_y", "tool_w"), "bad.csv, line 1: expected 'tool_y', the name of column 9 of a recording"),
        (names.replace("q1,", ""), "bad.csv, line 1: expected 'q1', the name of column 30"),
        (names.replace("q1,", "q1,q2,"), "bad.csv, line 1: expected 'qd2', the name of column 33"),
        (names.replace(",object_z", ""), "bad.csv, line 1: expected 'object_z', the name of column 35"),
        (names.strip() + ",more\n", "bad.csv, line 1: expected 56 columns and no more; got 'more'"),
        (names + rows.replace("\n", ",0\n", 1), "bad.csv, line 2: expected 56 cells; got 57: "),
        (names + "\n" + rows, "bad.csv, line 2: expected 56 cells; got 1: nothing"),
    ):
        with pytest.raises(RecordingError) as told:
            reading(text)
        assert expected in str(told.value)


@pytest.mark.parametrize("first", ["left_hand_x", "margin", "route", "residual1", "tau1"])
def test_an_older_recording_is_read_and_does_not_know_of_what_came_later(lines, reading, first):
    """Of before there were columns of hands, attraction and repulsion, of margins, of routes, or of what is felt."""
    known = columns(1).index(first)
    older = [line if line.startswith("#") else ",".join(line.strip().split(",")[:known]) + "\n" for line in lines]
    got, whole = reading("".join(older)), reading("".join(lines))
    assert tuple(got) == columns(1)
    same({name: got[name] for name in columns(1)[:known]}, {name: whole[name] for name in columns(1)[:known]})
    assert all(np.isnan(got[name]).all() for name in columns(1)[known:])
    older[3] = changed(older[3], "q1", "x")
    with pytest.raises(RecordingError, match="line 4: expected a number in column 'q1'; got 'x'"):
        reading("".join(older))
    older[3] = older[2].strip() + ",1.0\n"
    with pytest.raises(RecordingError, match=f"line 4: expected {known} cells; got {known + 1}"):
        reading("".join(older))


def test_what_is_no_text_is_told(reading, tmp_path):
    with pytest.raises(RecordingError, match="line 1: expected text in UTF-8; got binary data"):
        reading(b"\xff\xfe\n")
    with pytest.raises(RecordingError, match="line 1: expected at most 1048576 bytes a line"):
        reading(b"#" * 2**21)
    with pytest.raises(RecordingError, match=r"missing\.csv: cannot be read: No such file"):
        read(tmp_path / "missing.csv")
    with pytest.raises(RecordingError, match="cannot be read: Is a directory"):
        read(tmp_path)


@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=4))
def test_any_damage_is_read_or_refused(tmp_path_factory, at, damage):
    folder = tmp_path_factory.mktemp("damage")
    with Recording(1, folder / "good.csv", notes={"a": "b"}) as recording:
        filled(recording, 3)
    data = bytearray((folder / "good.csv").read_bytes())
    at %= len(data)
    data[at : at + len(damage)] = damage
    (folder / "bad.csv").write_bytes(data)
    said = ""
    try:
        got = read(folder / "bad.csv")
    except ElbowroomError as error:
        said = str(error)
    assert said.startswith(str(folder / "bad.csv")) if said else {len(column) for column in got.values()} == {got.rows}
