"""MCAP files, read to their last whole chunk: recordings of ours, and messages of any ROS 2 bag.

    read(path)                                the recording (a RecordedTable), as csv_file.read gives it
    file = McapFile(path)
    for topic, ns, data in file.messages():   messages in the order of the file; `file.torn` says what is missing

A file without an end, as a killed process leaves it, is read as far as it goes; an index is not needed.  A chunk whose
checksum does not fit is an error, for what is in it cannot be trusted.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Collection, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ...errors import ElbowroomError, RecordingError, pip_install
from ...reading import named, opened
from .columns import COUNTS, MOST_JOINTS, TEXT, UNKNOWN, Array, RecordedTable, columns, places, table
from .ros_messages import Definitions, Value, decode, read_schema

if TYPE_CHECKING:
    from mcap.records import Channel, Schema

MAGIC = b"\x89MCAP0\r\n"
STEP = "elbowroom_msgs/msg/ControlStep"
STEP_TOPIC = "/elbowroom/step"
NOTES = "elbowroom"  # the name of the metadata
SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA, DATA_END, FOOTER = 0x03, 0x04, 0x05, 0x06, 0x0C, 0x0F, 0x02
LARGEST = 2**30  # bytes of a record, or of a chunk unpacked
RECORD_HEAD = struct.Struct("<BQ")
MESSAGE_HEAD = struct.Struct("<HIQQ")  # channel, sequence number, log time, publish time


def needs_mcap() -> None:
    """An error that says how to get what reads and writes MCAP, where it is missing."""
    try:
        import mcap.records  # noqa: F401  # whether it is there
    except ImportError:
        raise ElbowroomError(f"recordings as MCAP need the package mcap: {pip_install('connect')}") from None


class McapFile:
    """An MCAP file: `schemas` and `channels` by number, `metadata` by name, as far as it has been read."""

    def __init__(self, file: str | Path) -> None:
        needs_mcap()
        self.path = Path(file)
        self.schemas: dict[int, Schema] = {}
        self.channels: dict[int, Channel] = {}
        self.metadata: dict[str, dict[str, str]] = {}
        self.torn: str | None = None
        self._known: dict[int, Definitions] = {}

    def type_of(self, topic: str) -> str:
        """The message type of a topic that has been met; "" if there is none."""
        for channel in self.channels.values():
            if channel.topic == topic and channel.schema_id in self.schemas:
                return self.schemas[channel.schema_id].name
        return ""

    def messages(self, topics: Collection[str] | None = None) -> Iterator[tuple[str, int, bytes]]:
        """Topic, log time (ns) and bytes of each message, of these topics or of all."""
        for channel, ns, data in self._all():
            known = self.channels.get(channel)
            if known is None:
                raise self._wrong(f"a message of channel {channel}, which nothing has described")
            if topics is None or known.topic in topics:
                yield known.topic, ns, data

    def definitions(self, topic: str) -> Definitions:
        """The definition of a topic's messages that the file holds, and of those in them."""
        channel = next(each for each in self.channels.values() if each.topic == topic)
        schema = self.schemas.get(channel.schema_id)
        if channel.message_encoding != "cdr" or schema is None or schema.encoding != "ros2msg":
            coded = f"{channel.message_encoding}, {'no schema' if schema is None else schema.encoding}"
            raise self._wrong(f"{topic}: messages of ROS 2 (cdr, ros2msg) were expected; got {coded}")
        if schema.id not in self._known:
            try:
                found = read_schema(schema.name, schema.data.decode())
            except (ElbowroomError, UnicodeDecodeError) as error:
                raise self._wrong(f"{topic}: {schema.name}: {error}") from None
            if schema.name not in found:
                raise self._wrong(f"{topic}: expected the definition of {schema.name!r:.60}; got another")
            self._known[schema.id] = found
        return self._known[schema.id]

    def decoded(self, topic: str, data: bytes) -> tuple[Value, ...]:
        """The fields of a message, by the definition that the file holds."""
        known = self.definitions(topic)
        try:
            return decode(self.type_of(topic), data, known)
        except ElbowroomError as error:
            raise self._wrong(f"{topic}: {error}") from None

    def _wrong(self, what: str) -> RecordingError:
        return RecordingError(f"{named(self.path)}: {what}")

    # ---- records
    def _all(self) -> Iterator[tuple[int, int, bytes]]:
        """Channel, log time and bytes of every message."""
        self.torn = None
        with opened(self.path, RecordingError) as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                raise self._wrong("expected an MCAP file, which begins with its magic bytes; got something else")
            for opcode, data in self._records(stream):
                if opcode == CHUNK:
                    yield from self._chunk(data)
                else:
                    yield from self._record(opcode, data)

    def _records(self, stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
        while True:
            at, head = stream.tell(), stream.read(RECORD_HEAD.size)
            if len(head) < RECORD_HEAD.size:
                self.torn = f"{named(self.path)}: the end is missing, after {at} bytes, as where a process was killed"
                return
            opcode, size = RECORD_HEAD.unpack(head)
            if size > LARGEST:
                raise self._wrong(f"expected records of at most {LARGEST} bytes; got one of {size} at byte {at}")
            data = stream.read(size)
            if len(data) < size:
                kind = "a chunk" if opcode == CHUNK else "a record"
                got = f"{len(data)} of {size} bytes"
                self.torn = (
                    f"{named(self.path)}: the end is torn off, in {kind} at byte {at} ({got}), which is left out"
                )
                return
            if opcode in (DATA_END, FOOTER):  # what follows repeats what was said
                return
            yield opcode, data

    def _chunk(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        from mcap.records import Chunk

        chunk = self._parsed(Chunk.read, data)
        if chunk.uncompressed_size > LARGEST:
            raise self._wrong(f"expected chunks of at most {LARGEST} bytes; got one of {chunk.uncompressed_size}")
        whole = self._unpacked(chunk)
        if chunk.uncompressed_crc not in (0, zlib.crc32(whole)):
            raise self._wrong("expected a chunk with its checksum; it does not fit: the file is damaged")
        at = 0
        while at < len(whole):
            if at + RECORD_HEAD.size > len(whole):
                raise self._wrong("expected whole records in a chunk; the last is cut off")
            opcode, size = RECORD_HEAD.unpack_from(whole, at)
            at += RECORD_HEAD.size
            if at + size > len(whole):
                raise self._wrong("expected whole records in a chunk; the last is cut off")
            yield from self._record(opcode, whole[at : at + size])
            at += size

    def _unpacked(self, chunk: Any) -> bytes:
        import lz4.frame
        import zstandard

        size = chunk.uncompressed_size
        try:
            if chunk.compression == "zstd":
                reader = zstandard.ZstdDecompressor().stream_reader(BytesIO(chunk.data))
                data = reader.read(size + 1)
            elif chunk.compression == "lz4":
                data = lz4.frame.LZ4FrameDecompressor().decompress(chunk.data, size + 1)
            elif chunk.compression == "":
                data = chunk.data
            else:
                raise self._wrong(f"expected chunks packed by zstd, lz4 or not at all; got {chunk.compression!r:.40}")
        except (zstandard.ZstdError, RuntimeError, MemoryError) as error:
            raise self._wrong(f"expected a chunk that can be unpacked; {error}") from None
        if len(data) != size:
            raise self._wrong(f"expected {size} bytes in a chunk; got {'more' if len(data) > size else len(data)}")
        return data

    def _record(self, opcode: int, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        if opcode == MESSAGE:
            if len(data) < MESSAGE_HEAD.size:
                raise self._wrong("expected whole messages; got one without its head")
            channel, _, ns, _ = MESSAGE_HEAD.unpack_from(data)
            yield channel, ns, data[MESSAGE_HEAD.size :]
        elif opcode in (SCHEMA, CHANNEL, METADATA):
            from mcap.records import Channel, Metadata, Schema

            if opcode == SCHEMA:
                schema = self._parsed(Schema.read, data)
                self.schemas[schema.id] = schema
            elif opcode == CHANNEL:
                known = self._parsed(Channel.read, data)
                self.channels[known.id] = known
            else:
                found = self._parsed(Metadata.read, data)
                self.metadata[found.name] = found.metadata

    def _parsed(self, reader: Callable[[Any], Any], data: bytes) -> Any:
        from mcap.data_stream import ReadDataStream
        from mcap.exceptions import McapError

        try:
            return reader(ReadDataStream(BytesIO(data)))
        except (McapError, struct.error, ValueError, TypeError, OverflowError, MemoryError) as error:
            raise self._wrong(f"expected records as MCAP has them; {type(error).__name__}: {error}") from None


# ---- recordings


def read(file: str | Path) -> RecordedTable:
    """The recording in an MCAP file, to its last whole chunk; `torn` says what is missing."""
    source = McapFile(file)
    rows: list[Array] = []
    texts: dict[str, int] = {"": 0}
    n, layout = 0, None
    for _, _, data in source.messages([STEP_TOPIC]):
        if layout is None:
            if source.type_of(STEP_TOPIC) != STEP:
                break
            n = _joints(source)
            layout = _RowReader(source, n)
        rows.append(layout.row(data, texts))
    if not source.channels or source.type_of(STEP_TOPIC) != STEP:
        got = ", ".join(sorted({each.topic for each in source.channels.values()})[:6]) or "no topic"
        cut = "" if source.torn is None else f" ({source.torn.removeprefix(f'{named(source.path)}: ')})"
        raise RecordingError(
            f"{named(source.path)}: expected a recording of elbowroom, with the topic {STEP_TOPIC}; got {got}{cut}"
        )
    n = n or _joints(source)
    whole = np.array(rows) if rows else np.zeros((0, len(columns(n))))
    notes = {key: value for key, value in source.metadata.get(NOTES, {}).items() if key != "joints"}
    return RecordedTable(table(whole, n, list(texts)), n, notes, source.torn)


def _joints(source: McapFile) -> int:
    told = source.metadata.get(NOTES, {}).get("joints", "")
    if not (told.isascii() and told.isdigit() and 1 <= int(told) <= MOST_JOINTS):
        raise RecordingError(
            f"{named(source.path)}: expected the note 'joints', 1 to {MOST_JOINTS}, in its metadata; got {told!r:.20}"
        )
    return int(told)


class _RowReader:
    """Rows of a recording from its messages, by the names of the fields that its file gives them."""

    def __init__(self, source: McapFile, n: int) -> None:
        self.source, self.places = source, places(n)
        self.width = len(columns(n))
        self._names: list[str] | None = None

    def row(self, data: bytes, texts: dict[str, int]) -> Array:
        """One row; texts by their numbers, new ones are added."""
        fields = self.source.decoded(STEP_TOPIC, data)
        if self._names is None:
            self._names = [field.name for field in self.source.definitions(STEP_TOPIC)[STEP]]
        row = np.full(self.width, np.nan)
        for name in COUNTS:
            row[self.places[name]] = UNKNOWN
        for name in TEXT:
            row[self.places[name]] = 0
        for name, value in zip(self._names, fields, strict=True):
            place = self.places.get(name)
            if place is None:  # the header; or a quantity of a later version
                continue
            if name in TEXT:
                value = texts.setdefault(str(value), len(texts))
            try:
                row[place] = value
            except (ValueError, TypeError):
                wide = place.stop - place.start
                raise RecordingError(
                    f"{named(self.source.path)}: {STEP_TOPIC}: {name}: expected {wide} numbers; got {value!r:.60}"
                ) from None
        return row
