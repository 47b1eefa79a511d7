"""ROS 2 messages: definitions and bytes beside rosbags', an implementation of others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elbowroom.cell.recording.ros_messages import (
    COMMON,
    NUMBERS,
    Field,
    decode,
    encode,
    fields_of,
    joint_state,
    parse_fields,
    read_schema,
    schema,
)
from elbowroom.errors import RecordingError, UnknownNameError

stores = pytest.importorskip("rosbags.typesys", reason="rosbags (extra dev) is the referee of messages")


@pytest.fixture(scope="module")
def store():
    found = stores.get_typestore(stores.Stores.ROS2_JAZZY)
    text = "std_msgs/Header header\nstring[] ids\n"
    found.register(stores.get_types_from_msg(text, "hri_msgs/msg/IdsList"))
    return found


RANGES = {"byte": (0, 127), "uint8": (0, 255), "int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1)}


def drawn(rng: np.random.Generator, kind: str, known=COMMON):
    """A random value of a type."""
    if kind in ("float64", "float32"):
        return float(np.float32(rng.normal()))
    if kind == "bool":
        return bool(rng.integers(2))
    if kind in NUMBERS:
        low, high = RANGES[kind]
        return int(rng.integers(low, high, endpoint=True))
    if kind == "string":
        return "".join(rng.choice(list("abcdé_/ 7"), rng.integers(0, 9)))
    return tuple(
        drawn(rng, f.type) if f.array is None else tuple(drawn(rng, f.type) for _ in range(rng.integers(0, 4)))
        for f in known[kind]
    )


def theirs(store, name, value):
    """The same message as an object of rosbags."""
    made = {}
    for field, each in zip(COMMON[name], value, strict=True):
        if field.type in NUMBERS and field.array is not None:
            each = np.array(each, dtype={"float64": "f8", "uint8": "u1"}[field.type])
        elif field.type not in NUMBERS and field.type != "string":
            one = field.array is None
            each = theirs(store, field.type, each) if one else [theirs(store, field.type, x) for x in each]
        elif field.array is not None:
            each = list(each)
        made[field.name] = each
    if not made:
        made["structure_needs_at_least_one_member"] = 0
    return store.types[name](**made)


@pytest.mark.parametrize("name", COMMON)
def test_every_type_has_the_bytes_that_rosbags_gives_it(store, name):
    rng = np.random.default_rng(len(name))
    for _ in range(20):
        value = drawn(rng, name)
        ours = encode(name, value)
        wanted = bytes(store.serialize_cdr(theirs(store, name, value), name))
        assert wanted[4 : len(ours)] == ours[4:]
        assert not any(wanted[len(ours) :])  # rosbags fills up to a multiple of four
        assert len(wanted) - len(ours) in (0, 1, 2, 3), (len(wanted), len(ours))
        again = decode(name, wanted)
        assert again == value


@pytest.mark.parametrize("name", COMMON)
def test_every_definition_is_that_of_rosbags(store, name):
    text, _ = store.generate_msgdef(name, ros_version=2)
    assert read_schema(name, text)[name] == COMMON[name]
    assert read_schema(name, schema(name)) == {each: COMMON[each] for each in read_schema(name, schema(name))}
    assert set(read_schema(name, schema(name))) == set(read_schema(name, text))


@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=9), min_size=1, max_size=8))
@settings(max_examples=50)
def test_a_joint_state_is_written_the_fast_way_as_the_slow_way(names):
    n = len(names)
    q, qd = np.linspace(0.1, 1, n).tolist(), np.linspace(-1, 1, n).tolist()
    slow = encode("sensor_msgs/msg/JointState", (((7, 5), "world"), tuple(names), q, qd, ()))
    assert joint_state(7_000_000_005, "world", tuple(names), q, qd) == slow


def test_big_endian_messages_are_read():
    data = b"\0\0\0\0" + (5).to_bytes(4, "big") + (6).to_bytes(4, "big")
    assert decode("builtin_interfaces/msg/Time", data) == (5, 6)


def test_definitions_of_others_are_read():
    text = [
        "# a comment",
        "int32 MOST=5 # a constant",
        'string<=9 name "somebody"',
        "float64[36] covariance",
        "uint8[<=4] few",
        "Inner inner",
        "",
    ]
    assert parse_fields(text, "my_msgs") == (
        Field("string", "name"),
        Field("float64", "covariance", 36),
        Field("uint8", "few", 0),
        Field("my_msgs/msg/Inner", "inner"),
    )
    with pytest.raises(RecordingError, match=r"expected 'type name'; got '\?\?'"):
        parse_fields(["??"])
    with pytest.raises(RecordingError, match="got a wstring"):
        parse_fields(["wstring name"])


def test_what_is_no_message_is_refused_by_name():
    whole = encode("std_msgs/msg/Header", ((1, 2), "world"))
    for cut in range(4, len(whole) - 1):
        with pytest.raises(RecordingError, match="std_msgs/msg/Header: expected a whole message; got"):
            decode("std_msgs/msg/Header", whole[:cut])
    with pytest.raises(RecordingError, match="expected CDR of ROS 2, which begins 00 01 or 00 00; got 00 07"):
        decode("std_msgs/msg/Header", b"\0\7" + whole[2:])
    with pytest.raises(RecordingError, match="a sequence of 4294967295 elements"):
        decode("sensor_msgs/msg/JointState", encode("std_msgs/msg/Header", ((0, 0), "")) + b"\0\0\0\xff\xff\xff\xff")
    with pytest.raises(ValueError, match="std_msgs/msg/Header: expected the tuple of its fields"):
        encode("std_msgs/msg/Header", (1, 2))
    with pytest.raises(UnknownNameError, match=r"no message type 'std_msgs/msg/Heeder' is known; did you mean"):
        fields_of("std_msgs/msg/Heeder")
