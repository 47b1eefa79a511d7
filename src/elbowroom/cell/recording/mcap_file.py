"""MCAP files of recordings: ROS 2 messages, opened by Foxglove, Rerun and rosbags, and read back exactly.

    /elbowroom/step      elbowroom_msgs/ControlStep    one row per control step, every column (columns.py)
    /joint_states        sensor_msgs/JointState        positions, speeds and measured torques, one per control step
    /command             std_msgs/Float64MultiArray    commanded joint speeds, one per control step
    /diagnostics         diagnostic_msgs/DiagnosticArray    whenever the status changes
    /markers             visualization_msgs/MarkerArray     person, hands, goal and object; `SHOWN` a second at most
    /tf                  tf2_msgs/TFMessage            frames of the arm's links, where the arm is known; as often
    /robot_description   std_msgs/String               the arm as URDF, once

The definitions of all types are in the file, those of elbowroom too, so that a reader needs no others.  The notes are
the MCAP metadata "elbowroom".  Log times are `epoch` (a note, nanoseconds since 1970; else 0) plus t.

Rows that are written together are one chunk, with its checksum: a process that is killed leaves a file of whole chunks
without the index that stands at the end.  It is read as it is; `torn` says so.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...arm import Arm
from ...export.write_urdf import urdf
from .columns import COUNTS, TEXT, Array, count, places
from .csv_file import check_notes
from .mcap_read import MAGIC, MESSAGE, MESSAGE_HEAD, NOTES, RECORD_HEAD, STEP, STEP_TOPIC, needs_mcap
from .ros_messages import COMMON, HEAD, Field, encode, joint_state, schema, stamp
from .scene_messages import GOAL, OBJECT, PERSON, WORLD, Markers, diagnostics, transforms

EPOCH = "epoch"  # the note: ns since 1970 at t = 0
SHOWN = 30.0  # Hz at most, of frames and markers
TOPICS = {
    STEP_TOPIC: STEP,
    "/joint_states": "sensor_msgs/msg/JointState",
    "/command": "std_msgs/msg/Float64MultiArray",
    "/diagnostics": "diagnostic_msgs/msg/DiagnosticArray",
    "/tf": "tf2_msgs/msg/TFMessage",
    "/markers": "visualization_msgs/msg/MarkerArray",
    "/robot_description": "std_msgs/msg/String",
}
PERSON_SIZE = 1.8, 0.2  # m: height and radius of the marker that stands where the first person stands


def step_fields() -> tuple[Field, ...]:
    """The message of one control step: a header, then every quantity, numbers before texts."""
    widths = {name: place.stop - place.start for name, place in places(2).items()}
    numbers = [name for name in widths if name not in (*TEXT, *COUNTS)]
    joints = [name for name in numbers if widths[name] == 2]
    found = [Field("std_msgs/msg/Header", "header")]
    found += [Field("float64", name) for name in numbers if widths[name] == 1]
    found += [Field("geometry_msgs/msg/Vector3", name) for name in numbers if widths[name] == 3]
    found += [Field("float64", name, 0) for name in joints]
    found += [Field("int64", name) for name in widths if name in COUNTS]
    return (*found, *(Field("string", name) for name in widths if name in TEXT))


DEFINITIONS = {**COMMON, STEP: step_fields()}
_FRAME = encode("std_msgs/msg/Header", ((0, 0), WORLD))[4:]
_FRAME += bytes(-len(_FRAME) % 8)


class _StepLayout:
    """Where the numbers of a row are in the message of its control step, for n joints."""

    def __init__(self, n: int) -> None:
        where = places(n)
        floats = [f.name for f in DEFINITIONS[STEP] if f.type in ("float64", "geometry_msgs/msg/Vector3")]
        joints = [f.name for f in DEFINITIONS[STEP] if f.array == 0]
        plain = [name for name in floats if name not in joints]
        self.plain = [k for name in plain for k in range(where[name].start, where[name].stop)]
        self.joints = [list(range(where[name].start, where[name].stop)) for name in joints]
        self.counts = [where[f.name].start for f in DEFINITIONS[STEP] if f.type == "int64"]
        self.texts = [where[f.name].start for f in DEFINITIONS[STEP] if f.type == "string"]
        form = f"<{len(self.plain)}d" + f"I4x{n}d" * len(self.joints) + f"{len(self.counts)}q"
        self.numbers = struct.Struct(form)
        self.n = n

    def encoded(self, ns: int, row: list[float], texts: Sequence[bytes]) -> bytes:
        """The message of a row of floats."""
        numbers: list[float] = [row[k] for k in self.plain]
        for part in self.joints:
            numbers.append(self.n)
            numbers += [row[k] for k in part]
        numbers += [count(row[k]) for k in self.counts]
        data = bytearray(HEAD + struct.pack("<iI", *stamp(ns)) + _FRAME[8:] + self.numbers.pack(*numbers))
        for k in self.texts:
            data += bytes(-len(data) % 4) + texts[int(row[k])]
        return bytes(data)


class McapFormat:
    """A recording of n joints as MCAP: what `Recording` asks a file format for (`RecordingFormat`).

    With an arm there are its frames, its URDF and the names of its joints.
    """

    def __init__(self, n: int, notes: Mapping[str, str], arm: Arm | None = None) -> None:
        needs_mcap()
        from mcap.data_stream import RecordBuilder
        from mcap.records import Channel, Header, Metadata, MetadataIndex, Schema, Statistics

        check_notes(notes)
        self._n, self._arm, self._layout = n, arm, _StepLayout(n)
        self._epoch = int(notes[EPOCH]) if notes.get(EPOCH, "").isdigit() else 0
        self._names = tuple(f"joint{k + 1}" for k in range(n)) if arm is None else arm.joint_names
        self._place = places(n)
        self._texts: list[bytes] = []
        self._pending: list[tuple[int, int, int]] = []  # channel, log time, bytes: messages of the chunk to come
        self._rows = 0
        self._status, self._next = "", -math.inf
        self._sequence = 0
        self._schemas, self._channels = list[Schema](), list[Channel]()
        builder = RecordBuilder()
        builder.write(MAGIC)
        Header(profile="ros2", library="elbowroom").write(builder)
        start, kept = (
            builder.count,
            {key: value.encode(errors="backslashreplace").decode() for key, value in notes.items()},
        )
        Metadata(name=NOTES, metadata={"joints": str(n), **kept}).write(builder)
        self._notes = MetadataIndex(offset=start, length=builder.count - start, name=NOTES)
        for k, name in enumerate(dict.fromkeys(TOPICS.values()), 1):
            text = schema(name, DEFINITIONS).encode()
            self._schemas.append(Schema(id=k, name=name, encoding="ros2msg", data=text))
            self._schemas[-1].write(builder)
        for k, (topic, name) in enumerate(TOPICS.items(), 1):
            number = next(each.id for each in self._schemas if each.name == name)
            quality = {"offered_qos_profiles": ""}
            self._channels.append(
                Channel(id=k, topic=topic, message_encoding="cdr", metadata=quality, schema_id=number)
            )
            self._channels[-1].write(builder)
        self._number = {topic: k for k, topic in enumerate(TOPICS, 1)}
        self._indexes: list[bytes] = []
        self._statistics = Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts={},
            chunk_count=0,
            message_count=0,
            message_end_time=0,
            message_start_time=0,
            metadata_count=1,
            schema_count=len(self._schemas),
        )
        self.beginning: bytes = builder.end()  # type: ignore[no-untyped-call]  # of mcap, untyped
        self._size = 0  # bytes that are in the file
        self._last: tuple[int, int] = (len(self.beginning), 0)  # bytes and rows of what is being written

    # ---- rows as messages
    def encoded(self, rows: Array, texts: Sequence[str]) -> bytes:
        """Rows (k, width) as messages; the columns of `TEXT` hold the numbers of their texts."""
        while len(self._texts) < len(texts):
            data = texts[len(self._texts)].encode(errors="replace").replace(b"\0", b"\xef\xbf\xbd")
            self._texts.append(struct.pack("<I", len(data) + 1) + data + b"\0")
        parts: list[bytes] = []
        q, qd, command, tau = (self._place[name] for name in ("q", "qd", "command", "tau"))
        for row in rows.tolist():
            ns = self._time(row[0])
            parts.append(self._message(STEP_TOPIC, ns, self._layout.encoded(ns, row, self._texts)))
            effort = row[tau] if not math.isnan(row[tau][0]) else ()
            state = joint_state(ns, WORLD, self._names, row[q], row[qd], effort)
            parts.append(self._message("/joint_states", ns, state))
            parts.append(self._message("/command", ns, _floats(row[command])))
            status = texts[int(row[2])]
            if status != self._status:
                self._status = status
                said = diagnostics(ns, "elbowroom", status, "", "", {"t": row[0], "state": texts[int(row[1])]})
                parts.append(self._message("/diagnostics", ns, encode(TOPICS["/diagnostics"], said)))
            if not row[0] < self._next:  # NaN too
                parts += self._shown(ns, np.array(row))
                self._next = row[0] + 1.0 / SHOWN if math.isfinite(row[0]) else -math.inf
            self._rows += 1
        return b"".join(parts)

    def _time(self, t: float) -> int:
        ns = self._epoch + round(1e9 * t) if math.isfinite(t) and abs(t) < 1e9 else self._epoch
        return min(max(ns, 0), 2**31 * 10**9 - 1)

    def _message(self, topic: str, ns: int, data: bytes) -> bytes:
        channel = self._number[topic]
        self._sequence = (self._sequence + 1) & 0xFFFFFFFF
        self._pending.append((channel, ns, RECORD_HEAD.size + MESSAGE_HEAD.size + len(data)))
        head = RECORD_HEAD.pack(MESSAGE, MESSAGE_HEAD.size + len(data))
        return head + MESSAGE_HEAD.pack(channel, self._sequence, ns, ns) + data

    def _shown(self, ns: int, row: Array) -> Iterator[bytes]:
        """What is drawn of a row: the arm's frames, the goal, the object, the person."""
        marks, arm = Markers(ns), self._arm
        q = row[self._place["q"]]
        known = bool(np.isfinite(q).all()) and bool((np.abs(q) < 1e4).all())
        if arm is not None and self._next == -math.inf:
            yield self._message("/robot_description", ns, encode("std_msgs/msg/String", (urdf(arm.model),)))
        if arm is not None and known:
            poses = np.concatenate([arm.model.base[None], arm.poses(q), arm.pose(q)[None]])
            frames = transforms(ns, ("base", *arm.model.link_names, "tool"), poses)
            yield self._message("/tf", ns, encode(TOPICS["/tf"], frames))
        marks.ball("goal", row[self._place["goal"]], 0.02, GOAL)
        marks.cube("object", row[self._place["object"]], 0.05, OBJECT)
        feet, (tall, radius) = row[self._place["person"]], PERSON_SIZE
        if np.isfinite(feet).all():
            ends = feet + np.array([[0, 0, radius], [0, 0, tall - radius]])
            marks.capsules("person", np.array([[*ends[0], *ends[1], radius]]), PERSON)
        for side in ("left", "right"):
            marks.ball(f"{side}_hand", row[self._place[f"{side}_hand"]], 0.06, PERSON)
        yield self._message("/markers", ns, encode(TOPICS["/markers"], marks.message))

    # ---- chunks, and the end
    def framed(self, messages: bytes) -> bytes:
        """The messages of rows that are written together: a chunk, and where each message is in it."""
        import zstandard
        from mcap.data_stream import RecordBuilder
        from mcap.records import Chunk, ChunkIndex, MessageIndex

        builder = RecordBuilder()
        packed = zstandard.compress(messages, 1)
        times = [time for _, time, _ in self._pending] or [0]
        start, end = min(times), max(times)
        Chunk("zstd", packed, end, start, zlib.crc32(messages), len(messages)).write(builder)
        length, at, offsets = builder.count, 0, dict[int, int]()
        found: dict[int, list[tuple[int, int]]] = {}
        for channel, time, size in self._pending:
            found.setdefault(channel, []).append((time, at))
            at += size
        for channel, entries in found.items():
            offsets[channel] = self._size + builder.count
            MessageIndex(channel, entries).write(builder)
        index = ChunkIndex(
            chunk_length=length,
            chunk_start_offset=self._size,
            compression="zstd",
            compressed_size=len(packed),
            message_end_time=end,
            message_index_length=builder.count - length,
            message_index_offsets=offsets,
            message_start_time=start,
            uncompressed_size=len(messages),
        )
        packed_index = RecordBuilder()
        index.write(packed_index)
        self._indexes.append(packed_index.end())  # type: ignore[no-untyped-call]  # four a second, for hours
        known = self._statistics
        known.message_start_time = start if not known.message_count else min(start, known.message_start_time)
        known.message_end_time = max(end, known.message_end_time)
        known.message_count += len(self._pending)
        known.chunk_count += 1
        for channel, entries in found.items():
            counts = known.channel_message_counts
            counts[channel] = counts.get(channel, 0) + len(entries)
        self._last = builder.count, self._rows
        self._pending, self._rows = [], 0
        return builder.end()  # type: ignore[no-untyped-call]  # of mcap, untyped

    def whole(self, data: bytes) -> tuple[int, int]:
        """How many rows are whole: all of what was framed last, or none."""
        size, rows = self._last
        if len(data) < size:
            return 0, 0
        self._size += size
        return rows, size

    def ending(self) -> bytes:
        """The index of the whole file, which readers look for at its end."""
        from mcap.data_stream import RecordBuilder
        from mcap.opcode import Opcode
        from mcap.records import DataEnd, Footer, SummaryOffset

        builder = RecordBuilder()
        DataEnd(0).write(builder)
        begin = self._size + builder.count
        groups = (
            (Opcode.SCHEMA, self._schemas),
            (Opcode.CHANNEL, self._channels),
            (Opcode.STATISTICS, [self._statistics]),
            (Opcode.CHUNK_INDEX, self._indexes),
            (Opcode.METADATA_INDEX, [self._notes]),
        )
        offsets = []
        for opcode, records in groups:
            start = self._size + builder.count
            for record in records:
                builder.write(record) if isinstance(record, bytes) else record.write(builder)
            if records:
                offsets.append(SummaryOffset(opcode, start, self._size + builder.count - start))
        listed = self._size + builder.count
        for offset in offsets:
            offset.write(builder)
        Footer(summary_start=begin, summary_offset_start=listed, summary_crc=0).write(builder)
        builder.write(MAGIC)
        self._last = builder.count, 0
        return builder.end()  # type: ignore[no-untyped-call]  # of mcap, untyped


def _floats(values: Sequence[float]) -> bytes:
    """A std_msgs/Float64MultiArray without a layout: no dimensions, no offset, then the numbers."""
    return HEAD + struct.pack(f"<III4x{len(values)}d", 0, 0, len(values), *values)
