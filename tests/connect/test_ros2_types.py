"""ROS 2's types on the wire: bytes and type hashes beside rosbags', names as ROS 2 has them; stamps of other clocks."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from elbowroom.cell.recording.ros_messages import COMMON, NUMBERS, encode
from elbowroom.connect.ros2.node import checked_topic, domain_of, network
from elbowroom.connect.ros2.stamps import DRIFT, LATEST, TOLERANCE, StampClock
from elbowroom.connect.ros2.types import HASHES, dds_name, fields, idl, needs_cyclonedds, ros_name, sample, user_data
from elbowroom.errors import ConfigError, ElbowroomError

pytest.importorskip("cyclonedds", reason="cyclonedds (extra connect) speaks DDS")


def drawn(rng: np.random.Generator, kind: str):
    """A random value of a type."""
    if kind in ("float64", "float32"):
        return float(np.float32(rng.normal()))
    if kind == "bool":
        return bool(rng.integers(2))
    if kind in NUMBERS:
        return int(rng.integers(0, 127))
    if kind == "string":
        return "".join(rng.choice(list("abcdé_/ 7"), rng.integers(0, 9)))
    return tuple(
        drawn(rng, f.type) if f.array is None else tuple(drawn(rng, f.type) for _ in range(rng.integers(0, 4)))
        for f in COMMON[kind]
    )


@pytest.mark.parametrize("name", COMMON)
def test_the_bytes_on_the_wire_are_those_that_rosbags_gives(name):
    """Those of `encode` are held against rosbags' in cell/test_ros_messages.py; here cyclonedds' are the same."""
    rng = np.random.default_rng(len(name))
    for _ in range(10):
        value = drawn(rng, name)
        made = sample(name, value)
        data, wanted = made.serialize(), encode(name, value)
        assert data[: len(wanted)] == wanted
        assert not any(data[len(wanted) :])
        assert fields(name, made) == value
        assert fields(name, idl(name).deserialize(wanted)) == value


@pytest.mark.parametrize("name", HASHES)
def test_type_hashes_are_those_that_rosbags_computes(name):
    typesys = pytest.importorskip("rosbags.typesys", reason="rosbags (extra dev) is the referee of type hashes")
    for distribution in ("ROS2_HUMBLE", "ROS2_IRON", "ROS2_JAZZY", "ROS2_KILTED"):
        store = typesys.get_typestore(getattr(typesys.Stores, distribution))
        store.register(typesys.get_types_from_msg("std_msgs/Header header\nstring[] ids\n", "hri_msgs/msg/IdsList"))
        wanted = store.hash_rihs01(name)
        assert user_data(name) == f"typehash={wanted};".encode(), distribution


def test_types_have_the_names_of_ros_2():
    assert dds_name("sensor_msgs/msg/JointState") == "sensor_msgs::msg::dds_::JointState_"
    assert ros_name("sensor_msgs::msg::dds_::JointState_") == "sensor_msgs/msg/JointState"
    assert ros_name("HelloWorld") == "HelloWorld"
    assert idl("sensor_msgs/msg/JointState").__idl_typename__.replace(".", "::") == dds_name(
        "sensor_msgs/msg/JointState"
    )


def test_names_and_numbers_are_checked(monkeypatch):
    for name in ("joint_states", "/", "/a//b", "/a b", "/1a", "/a/"):
        with pytest.raises(ConfigError, match=r"topic: expected a whole name such as /joint_states; got"):
            checked_topic(name)
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    assert (domain_of(None), domain_of(3)) == (7, 3)
    monkeypatch.setenv("ROS_DOMAIN_ID", "seven")
    with pytest.raises(ConfigError, match="ROS_DOMAIN_ID: expected a number from 0 to 232; got 'seven'"):
        domain_of(None)
    with pytest.raises(ConfigError, match="domain: expected a number from 0 to 232; got '233'"):
        domain_of(233)


def test_the_loopback_has_no_multicast_and_this_machine_as_its_only_peer():
    assert '<NetworkInterface name="lo" multicast="false"/>' in network("lo")
    assert "<AllowMulticast>false</AllowMulticast>" in network("lo")
    assert 'Peer address="127.0.0.1"' in network("lo")
    assert "Peer" not in network("eth0")
    assert 'name="&lt;&gt;&amp;"' in network("<>&")


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cyclonedds.core", None)
    with pytest.raises(
        ElbowroomError, match=r"ROS 2 needs the package cyclonedds .*: pip install (-e )?'.\[connect\]'"
    ):
        needs_cyclonedds()


# ---- stamps

T0 = 1_700_000_000_000_000_000  # ns
EXACT = 1e-6  # s: a float64 of seconds since 1970 has steps of 2.4e-7


def ns(seconds: float) -> int:
    return T0 + round(1e9 * seconds)


def test_a_message_is_as_old_as_it_was_held_up():
    clock = StampClock()
    for k in range(100):
        held = 0.03 if k % 7 == 3 else 0.0
        least = EXACT + 0.04 * DRIFT  # since the last that was not held up
        assert clock.taken(ns(0.01 * k), 50.0 + 0.01 * k + held) == pytest.approx(50.0 + 0.01 * k, abs=least)
    assert clock.fault == ""


def test_messages_that_lay_here_while_nobody_looked_are_no_jump():
    """The first were taken late, as while an arm is compiled; then all come at once, and then as they are sent."""
    clock = StampClock()
    for k in range(5):
        clock.taken(ns(0.01 * k), 0.15, 0.15)
    for k in range(15, 100):
        assert clock.taken(ns(0.01 * k), 0.01 * k, 0.01) == pytest.approx(0.01 * k, abs=EXACT)
    clock.taken(ns(1.0), 1.12, 0.12)  # late again
    clock.taken(ns(1.12), 1.13, 0.01)
    assert clock.fault == ""


def test_a_clock_that_drifts_is_followed():
    """50 ppm for an hour: 0.18 s, and no message is taken to be older than what the window lets drift."""
    clock = StampClock()
    for k in range(3600):
        assert clock.taken(ns(k * (1 - 5e-5)), float(k)) == pytest.approx(k, abs=1e-3)
    assert clock.fault == ""


@pytest.mark.parametrize(
    "step, said", [(0.2, "went ahead by 0.200 s"), (-0.2, "went back by "), (-5.0, "went back by ")]
)
def test_a_clock_that_jumps_is_a_fault_until_it_is_forgotten(step, said):
    clock = StampClock()
    for k in range(50):
        clock.taken(ns(0.01 * k), 0.01 * k)
    clock.taken(ns(0.5 + step), 0.5)
    assert said in clock.fault
    clock.taken(ns(0.51), 0.51)
    assert said in clock.fault
    clock.forget()
    assert clock.taken(ns(0.52 + step), 0.52) == pytest.approx(0.52, abs=EXACT)
    assert clock.fault == ""


def test_a_delay_that_lasts_is_not_learned_and_a_reset_keeps_what_is_known():
    clock = StampClock()
    for k in range(100):
        clock.taken(ns(0.01 * k), 0.01 * k)
    for k in range(100, 2100):
        assert clock.taken(ns(0.01 * k), 0.01 * k + 0.8) == pytest.approx(0.01 * k, abs=0.005)  # 200 ppm of 20 s
    assert clock.fault == "its messages come 0.798 s later than before, for 10 s"
    clock.forget()
    assert clock.taken(ns(21.0), 21.8) == pytest.approx(21.0, abs=0.005)
    assert clock.fault == ""


def test_a_clock_that_drifts_faster_than_clocks_do_is_a_fault():
    clock = StampClock()
    for k in range(6000):
        clock.taken(ns(0.1 * k * (1 - 5e-4)), 0.1 * k)
    assert "s later than before" in clock.fault


def test_stamps_that_are_zero_late_repeated_or_reordered_are_told():
    clock = StampClock()
    assert clock.taken(0, 1.0) is None
    assert clock.fault == "its stamps are 0"
    clock.forget()
    assert clock.taken(ns(1.0), 1.0) is not None
    assert clock.taken(ns(1.0), 1.01) is None
    assert clock.taken(ns(1.0 - 0.5 * TOLERANCE), 1.02) is None
    assert (clock.repeated, clock.reordered, clock.fault) == (1, 1, "")
    for k in range(30):
        clock.taken(ns(1.01 + 0.01 * k), 1.01 + 0.01 * k)
    clock.taken(ns(1.4), 1.4 + LATEST + 0.1)
    assert clock.fault.endswith("s late")
