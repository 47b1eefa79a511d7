"""ROS 2 messages: definitions, as ROS 2's .msg files have them, and their binary form (CDR).

    encode("std_msgs/msg/Header", ((5, 0), "world"))       bytes; a message is the tuple of its fields, in their order
    decode("std_msgs/msg/Header", data)                    the same tuple again
    schema("sensor_msgs/msg/JointState")                   the text that an MCAP file holds (encoding "ros2msg")
    read_schema(name, text)                                the definitions in such a text, for messages of others

CDR is what ROS 2 sends and records: a header of four bytes (0, 1, 0, 0: little-endian, plain CDR), then the fields one
after the other, each number at a multiple of its size; a text is its length with the zero at its end, then its bytes; a
sequence is its length, then its elements.  Texts are UTF-8.

`connect.ros2` makes its types on the wire of the same definitions.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ...errors import RecordingError, UnknownNameError, did_you_mean

Value = Any  # a number, a text, or a tuple or list of them, by the definition
HEAD = b"\0\1\0\0"
NUMBERS = {
    "bool": "?",
    "byte": "B",
    "char": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
"""Primitive types, and what `struct` calls them."""
DEEPEST = 16  # types within types
MOST = 2**27  # elements of a sequence: more is a damaged length
SEPARATOR = "=" * 80

TEXT = """
builtin_interfaces/Time: int32 sec, uint32 nanosec
builtin_interfaces/Duration: int32 sec, uint32 nanosec
std_msgs/Header: builtin_interfaces/Time stamp, string frame_id
std_msgs/String: string data
std_msgs/Empty:
std_msgs/ColorRGBA: float32 r, float32 g, float32 b, float32 a
std_msgs/MultiArrayDimension: string label, uint32 size, uint32 stride
std_msgs/MultiArrayLayout: std_msgs/MultiArrayDimension[] dim, uint32 data_offset
std_msgs/Float64MultiArray: std_msgs/MultiArrayLayout layout, float64[] data
geometry_msgs/Point: float64 x, float64 y, float64 z
geometry_msgs/Quaternion: float64 x, float64 y, float64 z, float64 w
geometry_msgs/Vector3: float64 x, float64 y, float64 z
geometry_msgs/Pose: geometry_msgs/Point position, geometry_msgs/Quaternion orientation
geometry_msgs/PoseStamped: std_msgs/Header header, geometry_msgs/Pose pose
geometry_msgs/PoseArray: std_msgs/Header header, geometry_msgs/Pose[] poses
geometry_msgs/Transform: geometry_msgs/Vector3 translation, geometry_msgs/Quaternion rotation
geometry_msgs/TransformStamped: std_msgs/Header header, string child_frame_id, geometry_msgs/Transform transform
hri_msgs/IdsList: std_msgs/Header header, string[] ids
sensor_msgs/JointState: std_msgs/Header header, string[] name, float64[] position, float64[] velocity, float64[] effort
sensor_msgs/CompressedImage: std_msgs/Header header, string format, uint8[] data
tf2_msgs/TFMessage: geometry_msgs/TransformStamped[] transforms
trajectory_msgs/JointTrajectoryPoint: float64[] positions, float64[] velocities, float64[] accelerations,
 float64[] effort, builtin_interfaces/Duration time_from_start
trajectory_msgs/JointTrajectory: std_msgs/Header header, string[] joint_names,
 trajectory_msgs/JointTrajectoryPoint[] points
diagnostic_msgs/KeyValue: string key, string value
diagnostic_msgs/DiagnosticStatus: byte level, string name, string message, string hardware_id,
 diagnostic_msgs/KeyValue[] values
diagnostic_msgs/DiagnosticArray: std_msgs/Header header, diagnostic_msgs/DiagnosticStatus[] status
visualization_msgs/UVCoordinate: float32 u, float32 v
visualization_msgs/MeshFile: string filename, uint8[] data
visualization_msgs/Marker: std_msgs/Header header, string ns, int32 id, int32 type, int32 action,
 geometry_msgs/Pose pose, geometry_msgs/Vector3 scale, std_msgs/ColorRGBA color, builtin_interfaces/Duration lifetime,
 bool frame_locked, geometry_msgs/Point[] points, std_msgs/ColorRGBA[] colors, string texture_resource,
 sensor_msgs/CompressedImage texture, visualization_msgs/UVCoordinate[] uv_coordinates, string text,
 string mesh_resource, visualization_msgs/MeshFile mesh_file, bool mesh_use_embedded_materials
visualization_msgs/MarkerArray: visualization_msgs/Marker[] markers
"""
"""The definitions of the common messages that are read and written here; the same from Humble to Kilted."""


class Field(NamedTuple):
    """One field of a message: its type without array, its name, and how many there are of it."""

    type: str  # a key of NUMBERS, "string", or a message, "std_msgs/msg/Header"
    name: str
    array: int | None = None  # None: one; 0: a sequence; else an array of so many


Definitions = Mapping[str, tuple[Field, ...]]

_FIELD = re.compile(r"(?P<type>[A-Za-z]\w*(?:/\w+){0,2})(?:<=\d+)?(?P<array>\[(?:<=)?\d*\])?\s+(?P<name>[A-Za-z]\w*)")


_SHORT = {"time": "Time", "duration": "Duration", "Header": "std_msgs/Header"}


def full_name(name: str, package: str = "") -> str:
    """The name of a message type with "/msg/" in it: "std_msgs/Header" is "std_msgs/msg/Header"."""
    parts = name.split("/")
    if len(parts) == 1:
        parts = [package or "builtin_interfaces", name]
    return "/".join(parts if len(parts) == 3 else [parts[0], "msg", parts[-1]])


def parse_fields(lines: Sequence[str], package: str = "") -> tuple[Field, ...]:
    """The fields in the lines of a .msg file; constants, defaults and comments are passed over."""
    found = []
    for line in lines:
        text = line.partition("#")[0].strip()
        match = _FIELD.match(text)
        if not text or (match and re.match(r"\s*=", text[match.end() :])):  # nothing, or a constant
            continue
        if match is None:
            raise RecordingError(f"message definition: expected 'type name'; got {line.strip()!r:.60}")
        kind, array = match["type"], match["array"]
        if kind not in NUMBERS and kind != "string":
            if kind == "wstring":
                raise RecordingError("message definition: expected texts of UTF-8, string; got a wstring")
            kind = full_name(_SHORT.get(kind, kind), package)
        fixed = array is not None and array[1:-1].isdigit()
        found.append(Field(kind, match["name"], None if array is None else int(array[1:-1]) if fixed else 0))
    return tuple(found)


def _common() -> dict[str, tuple[Field, ...]]:
    found = {}
    for line in TEXT.strip().replace(",\n", ",").splitlines():
        name, _, fields = line.partition(":")
        found[full_name(name)] = parse_fields([each for each in fields.split(",") if each.strip()])
    return found


COMMON: Definitions = _common()


def fields_of(name: str, known: Definitions = COMMON) -> tuple[Field, ...]:
    """The fields of a message type."""
    try:
        return known[name]
    except KeyError:
        raise UnknownNameError(f"no message type {name!r} is known{did_you_mean(name, known)}") from None


def schema(name: str, known: Definitions = COMMON) -> str:
    """The definition of a message type as text, with those of all types in it after it."""
    names, k = [name], 0
    while k < len(names):
        inner = [field.type for field in fields_of(names[k], known) if field.type not in (*NUMBERS, "string")]
        names += [each for each in dict.fromkeys(inner) if each not in names]
        k += 1
    parts = ["".join(f"{_shown(field)}\n" for field in known[each]) for each in names]
    heads = [f"{SEPARATOR}\nMSG: {each.replace('/msg/', '/')}\n" for each in names]
    return parts[0] + "".join(head + part for head, part in zip(heads[1:], parts[1:], strict=True))


def _shown(field: Field) -> str:
    array = "" if field.array is None else f"[{field.array or ''}]"
    return f"{field.type.replace('/msg/', '/')}{array} {field.name}"


def read_schema(name: str, text: str) -> dict[str, tuple[Field, ...]]:
    """The definitions in a text as `schema` gives it: of the type of that name, and of those in it."""
    found: dict[str, tuple[Field, ...]] = {}
    current, lines = full_name(name), list[str]()
    for line in [*text.splitlines(), SEPARATOR]:
        if line.startswith("====="):
            found[current] = parse_fields(lines, current.partition("/")[0])
            lines = []
        elif line.startswith("MSG: "):
            current = full_name(line[5:].strip())
        else:
            lines.append(line)
    return found


# ---- CDR


class _Writer:
    def __init__(self) -> None:
        self.data = bytearray()

    def number(self, form: str, value: Value) -> None:
        self.align(struct.calcsize(form))
        self.data += struct.pack("<" + form, value)

    def align(self, size: int) -> None:
        self.data += bytes(-len(self.data) % size)

    def text(self, value: str) -> None:
        encoded = value.encode(errors="replace")
        self.number("I", len(encoded) + 1)
        self.data += encoded + b"\0"

    def field(self, field: Field, value: Value, known: Definitions) -> None:
        kind, count = field.type, field.array
        if count is None:
            self.one(kind, value, known)
            return
        if count and len(value) != count:
            raise ValueError(f"{field.name}: expected {count} elements; got {len(value)}")
        if not count:
            self.number("I", len(value))
        if kind in NUMBERS:
            if len(value):
                form = NUMBERS[kind]
                self.align(struct.calcsize(form))
                self.data += struct.pack(f"<{len(value)}{form}", *value)
        else:
            for each in value:
                self.one(kind, each, known)

    def one(self, kind: str, value: Value, known: Definitions) -> None:
        if kind in NUMBERS:
            self.number(NUMBERS[kind], value)
        elif kind == "string":
            self.text(value)
        else:
            self.message(kind, value, known)

    def message(self, name: str, value: Value, known: Definitions) -> None:
        fields = fields_of(name, known)
        if not fields:
            self.data += b"\0"  # ROS 2 gives an empty message one byte
        for field, each in zip(fields, value, strict=True):
            self.field(field, each, known)


def encode(name: str, value: Value, known: Definitions = COMMON) -> bytes:
    """A message in CDR, with its header of four bytes."""
    writer = _Writer()
    try:
        writer.message(name, value, known)
    except (TypeError, ValueError, struct.error) as error:
        raise ValueError(f"{name}: expected the tuple of its fields; {error}") from None
    return HEAD + bytes(writer.data)


class _Reader:
    def __init__(self, data: bytes, order: str) -> None:
        self.data, self.order, self.at = data, order, 0

    def number(self, form: str) -> Value:
        size = struct.calcsize(form)
        self.at += -self.at % size
        (value,) = struct.unpack_from(self.order + form, self.data, self.at)
        self.at += size
        return value

    def text(self) -> str:
        size = self.number("I")
        if size > len(self.data) - self.at:
            raise ValueError(f"a text of {size} bytes, where {len(self.data) - self.at} are left")
        part = self.data[self.at : self.at + size]
        self.at += size
        return part.rstrip(b"\0").decode(errors="replace")

    def field(self, field: Field, known: Definitions, depth: int) -> Value:
        if field.array is None:
            return self.one(field.type, known, depth)
        count = field.array or self.number("I")
        if count > MOST or count > len(self.data):
            raise ValueError(f"{field.name}: a sequence of {count} elements, where {len(self.data)} bytes came")
        if field.type not in NUMBERS:
            return tuple(self.one(field.type, known, depth) for _ in range(count))
        form = NUMBERS[field.type]
        if not count:
            return ()
        size = struct.calcsize(form)
        self.at += -self.at % size
        values = struct.unpack_from(f"{self.order}{count}{form}", self.data, self.at)
        self.at += size * count
        return values

    def one(self, kind: str, known: Definitions, depth: int) -> Value:
        if kind in NUMBERS:
            return self.number(NUMBERS[kind])
        if kind == "string":
            return self.text()
        return self.message(kind, known, depth + 1)

    def message(self, name: str, known: Definitions, depth: int) -> tuple[Value, ...]:
        if depth > DEEPEST:
            raise ValueError(f"types within types, more than {DEEPEST} deep")
        return tuple(self.field(field, known, depth) for field in fields_of(name, known))


def decode(name: str, data: bytes, known: Definitions = COMMON) -> tuple[Value, ...]:
    """The fields of a message from its bytes; a RecordingError for bytes that are none of this type."""
    if len(data) < 4 or data[0] != 0 or data[1] not in (0, 1):
        raise RecordingError(f"{name}: expected CDR of ROS 2, which begins 00 01 or 00 00; got {data[:4].hex(' ')}")
    reader = _Reader(data[4:], "<" if data[1] else ">")
    try:
        return reader.message(name, known, 0)
    except (struct.error, ValueError) as error:
        raise RecordingError(f"{name}: expected a whole message; got {len(data)} bytes: {error}") from None


# ---- times, and messages with a fast way to be written


def stamp(ns: int) -> tuple[int, int]:
    """Seconds and nanoseconds of a time in nanoseconds."""
    return divmod(ns, 1_000_000_000)


@cache
def _names_part(frame: str, names: tuple[str, ...]) -> bytes:
    """What follows the stamp of a joint state, up to its positions."""
    whole = encode("sensor_msgs/msg/JointState", (((0, 0), frame), names, (), (), ()))
    return whole[12:-12]  # the header and the stamp are before, three empty sequences after


def joint_state(
    ns: int,
    frame: str,
    names: tuple[str, ...],
    q: Sequence[float],
    qd: Sequence[float],
    effort: Sequence[float] = (),
) -> bytes:
    """A sensor_msgs/JointState of joint positions, speeds and, where they are given, efforts, in CDR."""
    part, n = _names_part(frame, names), len(names)
    at = 8 + len(part)
    form, numbers = f"<iI{len(part)}s", []
    for values in (q, qd, effort) if len(effort) else (q, qd):
        lead = -at % 4
        at += lead + 4
        gap = -at % 8
        at += gap + 8 * n
        form += f"{lead}xI{gap}x{n}d"
        numbers += [n, *values]
    rest = () if len(effort) else (0,)
    return HEAD + struct.pack(form + "I" * len(rest), *stamp(ns), part, *numbers, *rest)
