"""Recordings as MCAP: the numbers of the CSV file to the bit, whole chunks after any accident, read by others."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import elbowroom
import elbowroom.cell.recording.table as record
from elbowroom.avoidance import Status
from elbowroom.cell.recording.columns import columns
from elbowroom.cell.recording.convert import convert
from elbowroom.cell.recording.mcap_file import DEFINITIONS, TOPICS
from elbowroom.cell.recording.mcap_read import CHUNK, MAGIC, RECORD_HEAD, McapFile
from elbowroom.cell.recording.table import Recording, read
from elbowroom.errors import ElbowroomError, RecordingError
from elbowroom.loading import load

pytest.importorskip("mcap", reason="mcap (extra connect) writes and reads these recordings")


def filled(recording: Recording, rows: int, seed: int = 0) -> Recording:
    """Rows of seeded numbers, a millisecond apart, with some that are not finite."""
    numbers = np.random.default_rng(seed)
    for k in range(len(recording), len(recording) + rows):
        recording.row[:] = numbers.normal(size=len(recording.columns))
        recording.row[0], recording.row[20] = k * 0.001, (np.nan, np.inf, -np.inf, -0.0)[k % 4]
        recording.row[5:7] = k // 100, k % 2
        recording.append("GO_HOME" if k % 3 else "GRASP", Status.OK if k % 5 else Status.STOP_HUMAN, "", "é, #\n")
    return recording


def same(got, wanted) -> None:
    """Bit by bit, but for the bits of a NaN."""
    assert list(got) == list(wanted)
    for name, values in wanted.items():
        assert got[name].dtype.kind == values.dtype.kind, name
        np.testing.assert_array_equal(got[name], values, err_msg=name)
        if values.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(got[name]), np.signbit(values), err_msg=name)


def until(condition) -> None:
    """Waits for another thread or process, and gives up only if something is badly wrong."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "gave up waiting"
        time.sleep(0.005)


def chunks(path: Path) -> list[tuple[int, int]]:
    """Where each whole chunk begins and ends."""
    data, at, found = path.read_bytes(), len(MAGIC), []
    while at + RECORD_HEAD.size <= len(data):
        opcode, size = RECORD_HEAD.unpack_from(data, at)
        end = at + RECORD_HEAD.size + size
        if opcode == CHUNK and end <= len(data):
            found.append((at, end))
        at = end
    return found


NOTES = {"robot": "puma560", "title": "two lines\nand é", "empty": ""}


@pytest.mark.parametrize("n", [1, 2, 7])
def test_the_table_is_the_same_from_memory_and_from_the_file(tmp_path, n):
    with filled(Recording(n, tmp_path / "run.mcap", notes=NOTES), 1100) as recording:
        wanted = recording.table()
    assert recording.problem is None
    got = read(tmp_path / "run.mcap")
    same(got, wanted)
    assert (got.n, got.notes, got.torn) == (n, NOTES, None)
    again = convert(tmp_path / "run.mcap", tmp_path / "run.csv")
    same(again, wanted)
    same(read(tmp_path / "run.csv"), wanted)
    convert(tmp_path / "run.csv", tmp_path / "back.mcap")
    same(read(tmp_path / "back.mcap"), wanted)


def test_the_same_run_gives_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "EVERY", 60.0)  # so that all rows go at the end, in the same pieces
    for name in ("one", "two"):
        filled(Recording(2, tmp_path / f"{name}.mcap", notes=NOTES), 300).close()
    assert (tmp_path / "one.mcap").read_bytes() == (tmp_path / "two.mcap").read_bytes()


def test_nothing_recorded_is_an_empty_table(tmp_path):
    Recording(3, tmp_path / "run.mcap", notes=NOTES).close()
    got = read(tmp_path / "run.mcap")
    assert (got.rows, got.n, got.notes, got.torn) == (0, 3, NOTES, None)


# ---- others read it


def test_the_library_of_the_format_reads_it_by_its_index(tmp_path):
    from mcap.reader import make_reader

    arm = load("planar2")
    with filled(Recording(2, tmp_path / "run.mcap", notes=NOTES | {"epoch": "1700000000000000000"}, arm=arm), 100):
        pass
    with (tmp_path / "run.mcap").open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        topics = {channel.topic for channel in summary.channels.values()}
        assert topics >= {"/elbowroom/step", "/joint_states", "/tf", "/markers", "/robot_description"}
        counts = {summary.channels[k].topic: n for k, n in summary.statistics.channel_message_counts.items()}
        assert (counts["/elbowroom/step"], counts["/joint_states"], counts["/robot_description"]) == (100, 100, 1)
        assert [each.metadata["title"] for each in reader.iter_metadata()] == [NOTES["title"]]
        found = list(reader.iter_messages(["/joint_states"]))
        times = [message.log_time for _, _, message in found]
        assert times == [1700000000000000000 + 1_000_000 * k for k in range(100)]
        assert sum(1 for _ in reader.iter_messages()) == summary.statistics.message_count


def test_rosbags_reads_every_message_with_the_definitions_in_the_file(tmp_path):
    pytest.importorskip("rosbags", reason="rosbags (extra dev) is the referee of bags")
    from rosbags.highlevel import AnyReader

    arm = load("planar2")
    with filled(Recording(2, tmp_path / "run.mcap", notes=NOTES, arm=arm), 60) as recording:
        pass
    table, seen = recording.table(), 0
    with AnyReader([tmp_path / "run.mcap"]) as reader:
        for connection, _, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            if connection.topic == "/elbowroom/step":
                assert message.t == table["t"][seen]
                assert message.state == table["state"][seen]
                np.testing.assert_array_equal(message.q, [table["q1"][seen], table["q2"][seen]])
                assert (message.tool.x, message.goal.z) == (table["tool_x"][seen], table["goal_z"][seen])
                seen += 1
            elif connection.topic == "/joint_states":
                assert tuple(message.name) == arm.joint_names
            elif connection.topic == "/tf":
                q = [table["q1"][seen - 1], table["q2"][seen - 1]]
                tool = message.transforms[-1]
                assert tool.child_frame_id == "tool"
                at = tool.transform.translation
                np.testing.assert_array_equal([at.x, at.y, at.z], arm.pose(np.array(q))[:3, 3])
    assert seen == 60


# ---- accidents


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9")
def test_a_killed_process_leaves_whole_chunks(tmp_path):
    path = tmp_path / "run.mcap"
    code = """
        import sys, time
        from elbowroom.cell.recording.table import Recording
        recording = Recording(6, sys.argv[1], notes={"robot": "puma560"})
        k = 0
        while True:
            recording.row[0] = k * 0.001
            recording.row[6:] = k
            recording.append("GO_HOME", "OK")
            k += 1
            time.sleep(0.0005)
    """
    env = os.environ | {"PYTHONPATH": str(Path(elbowroom.__file__).parents[1])}
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), str(path)], env=env)
    try:
        until(lambda: process.poll() is not None or (path.exists() and len(chunks(path)) >= 2))
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL  # it did not end by itself
    got = read(path)
    assert "the end is " in got.torn
    assert got.notes == {"robot": "puma560"}
    assert got.rows > 0
    np.testing.assert_array_equal(got["t"], np.arange(got.rows) * 0.001)
    np.testing.assert_array_equal(got["q6"], np.arange(got.rows))
    from mcap.stream_reader import StreamReader

    with path.open("rb") as stream:  # as Foxglove reads a file without an index: record by record
        records = StreamReader(stream, emit_chunks=True).records
        kinds = [type(next(records)).__name__ for _ in range(3)]
    assert kinds == ["Header", "Metadata", "Schema"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A recording of three chunks."""
    path = tmp_path_factory.mktemp("mcap") / "run.mcap"
    before, record.BLOCK = record.BLOCK, 64
    try:
        with Recording(2, path, notes=NOTES) as recording:
            filled(recording, 150)
    finally:
        record.BLOCK = before
    assert len(chunks(path)) >= 3
    return path


def test_a_torn_file_gives_its_whole_chunks_wherever_it_was_torn(whole, tmp_path):
    data, ends = whole.read_bytes(), [end for _, end in chunks(whole)]
    wanted = read(whole)
    path = tmp_path / "torn.mcap"
    first = chunks(whole)[0][0]
    for cut in [*range(first, len(data) - 60, 997), *ends, ends[-1] - 1, ends[-1] + 1]:
        path.write_bytes(data[:cut])
        got = read(path)
        held = sum(end <= cut for end in ends)
        assert got.rows == min(64 * held, 150), cut
        np.testing.assert_array_equal(got["t"], wanted["t"][: got.rows])
        if cut <= ends[-1]:
            assert got.torn.startswith(f"{path}: the end is ")
    path.write_bytes(data[: first - 1000])  # before the topics are all described
    with pytest.raises(RecordingError, match=r"torn.mcap: expected"):
        read(path)


def test_damage_is_refused_by_name(whole, tmp_path):
    data, path = whole.read_bytes(), tmp_path / "bad.mcap"
    begin, end = chunks(whole)[0]
    for at in (begin + 60, end - 5, end - 400):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        with pytest.raises(RecordingError, match=r"bad.mcap: expected .*(checksum|unpacked|bytes in a chunk)"):
            read(path)
    at = begin + RECORD_HEAD.size + 24  # after two times and a size: the checksum
    path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
    with pytest.raises(RecordingError, match=r"bad.mcap: expected a chunk with its checksum; it does not fit"):
        read(path)
    path.write_bytes(b"PK" + data[2:])
    with pytest.raises(RecordingError, match=r"bad.mcap: expected an MCAP file, which begins with its magic bytes"):
        read(path)
    path.write_bytes(data[: len(MAGIC)] + struct.pack("<BQ", 6, 2**60))
    with pytest.raises(RecordingError, match=r"expected records of at most .* bytes; got one of 1152921504606846976"):
        read(path)


def test_a_bag_of_others_is_no_recording(tmp_path):
    from mcap.writer import Writer

    with (tmp_path / "other.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start("ros2", "another")
        number = writer.register_schema("my_msgs/msg/Odd", "ros2msg", b"float64 x\n")
        channel = writer.register_channel("/odd", "cdr", number)
        writer.add_message(channel, 1, b"\0\1\0\0" + bytes(8), 1)
        writer.finish()
    with pytest.raises(RecordingError, match=r"expected a recording of elbowroom, with the topic .*; got /odd"):
        read(tmp_path / "other.mcap")
    odd = list(McapFile(tmp_path / "other.mcap").messages())
    assert [(topic, ns) for topic, ns, _ in odd] == [("/odd", 1)]


@pytest.mark.parametrize("fits", [0, 100, 5000, 100_000])
def test_a_full_disk_stops_the_file_and_not_the_run(tmp_path, monkeypatch, fits):
    real, written = record._write, 0
    recording = Recording(2, tmp_path / "run.mcap")

    def full(file, data):
        nonlocal written
        if written + len(data) > fits:
            some = real(file, data[: max(0, fits - written)])
            written += some
            if some == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return some
        written += len(data)
        return real(file, data)

    monkeypatch.setattr(record, "_write", full)
    with filled(recording, 2000):
        pass
    wanted = recording.table()
    assert "No space left on device (ENOSPC)" in recording.problem
    got = read(tmp_path / "run.mcap")
    assert got.rows < 2000
    assert (f"the {got.rows} rows until" if got.rows else "holds no row") in recording.problem
    np.testing.assert_array_equal(got["t"], wanted["t"][: got.rows])
    monkeypatch.setattr(record, "_write", real)
    recording.save(tmp_path / "whole.mcap")
    same(read(tmp_path / "whole.mcap"), wanted)


# ---- Parquet, and what is missing


def test_parquet_has_the_columns_and_the_notes(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow (extra campaign) writes Parquet")
    with filled(Recording(2, tmp_path / "run.mcap", notes=NOTES), 50) as recording:
        pass
    convert(tmp_path / "run.mcap", tmp_path / "run.parquet")
    got = parquet.read_table(tmp_path / "run.parquet")
    assert tuple(got.column_names) == columns(2)
    wanted = recording.table()
    for name in columns(2):
        np.testing.assert_array_equal(got[name].to_numpy(), wanted[name], err_msg=name)
    assert got.schema.metadata[b"elbowroom.title"].decode() == NOTES["title"]
    with pytest.raises(RecordingError, match=r"run.parquet: expected a new file"):
        convert(tmp_path / "run.mcap", tmp_path / "run.parquet")
    with pytest.raises(RecordingError, match=r"run.parq: expected a name that ends in .*; did you mean .parquet\?"):
        convert(tmp_path / "run.mcap", tmp_path / "run.parq")
    with pytest.raises(RecordingError, match="expected another file than the recording itself"):
        convert(tmp_path / "run.mcap", tmp_path / "run.mcap", replace=True)


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcap.records", None)
    with pytest.raises(ElbowroomError, match=r"MCAP need the package mcap: pip install (-e )?'.\[connect\]'"):
        Recording(2, tmp_path / "run.mcap")
    assert not (tmp_path / "run.mcap").exists()
    with pytest.raises(ElbowroomError, match=r"MCAP need the package mcap: pip install (-e )?'.\[connect\]'"):
        read(tmp_path / "run.mcap")


def test_the_foxglove_layout_shows_what_a_recording_has():
    """Every topic and field that the layout names is one of a recording's."""
    layout = Path(__file__).parents[2] / "docs" / "cell" / "foxglove_layout.json"
    text = layout.read_text(encoding="utf-8")
    panels = json.loads(text)["configById"]
    named = set(re.findall(r'"(/[a-z_/]+)[".]', text))
    assert named <= set(TOPICS)
    assert {"/elbowroom/step", "/markers", "/robot_description", "/diagnostics"} <= named
    fields = {field.name for field in DEFINITIONS[TOPICS["/elbowroom/step"]]}
    paths = [path["value"] for panel in panels.values() for path in panel.get("paths", ())]
    assert paths
    assert {re.fullmatch(r"/elbowroom/step\.(\w+)(\[:\])?", path)[1] for path in paths} <= fields
