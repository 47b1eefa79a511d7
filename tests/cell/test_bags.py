"""People and joints from ROS 2 bags, MCAP and sqlite3."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from elbowroom.cell.mocap.bags import read_joints, read_people
from elbowroom.cell.mocap.recorded import Recorded, is_motion, read_motion
from elbowroom.cell.mocap.ros_people import FRAMES, FrameTree
from elbowroom.cell.recording.ros_messages import COMMON, encode, schema
from elbowroom.cell.recording.scene_messages import header, point, transforms, turned
from elbowroom.cell.recording.table import Recording
from elbowroom.errors import ElbowroomError, RecordingError, RecordingWarning
from elbowroom.experiments.thesis.experiment import ready, recorded
from elbowroom.geometry import Person
from elbowroom.geometry.person import standing_points
from elbowroom.model.rotations import pose, rz

pytest.importorskip("mcap", reason="mcap (extra connect) reads bags")
START = 1_700_000_000_000_000_000  # ns

Message = tuple[str, str, int, object]  # topic, type, ns, fields


def at(k: int) -> int:
    return START + k * 20_000_000


def posed(x: float, y: float, yaw: float):
    return point((x, y, 0.0)), turned(rz(yaw))


def poses(k: int, *people) -> Message:
    return "/people", "geometry_msgs/msg/PoseArray", at(k), (header(at(k)), tuple(posed(*each) for each in people))


def frames(k: int, body: str, points: dict[str, np.ndarray], parent: str) -> Message:
    named = [f"{FRAMES[name]}_{body}" for name in points if name in FRAMES]
    T = [pose(np.eye(3), p) for name, p in points.items() if name in FRAMES]
    return "/tf", "tf2_msgs/msg/TFMessage", at(k), transforms(at(k), named, T, parent)


def joints(k: int, names, q, qd=()) -> Message:
    return "/joint_states", "sensor_msgs/msg/JointState", at(k), (header(at(k), ""), tuple(names), q, qd, ())


ODD: Message = ("/odd", "my_msgs/msg/Odd", START, (1.5,))


def mcap_bag(path: Path, messages: list[Message]) -> Path:
    from mcap.writer import Writer

    known = {**COMMON, "my_msgs/msg/Odd": COMMON["std_msgs/msg/String"]}
    with path.open("wb") as stream:
        writer, channels = Writer(stream, chunk_size=2000), {}
        writer.start("ros2", "test")
        for topic, kind, ns, fields in messages:
            if topic not in channels:
                number = writer.register_schema(kind, "ros2msg", schema(kind, known).encode())
                channels[topic] = writer.register_channel(topic, "cdr", number)
            data = b"\0\1\0\0" + bytes(8) if kind not in COMMON else encode(kind, fields)
            writer.add_message(channels[topic], ns, data, ns)
        writer.finish()
    return path


def sqlite_bag(path: Path, messages: list[Message]) -> Path:
    rosbag2 = pytest.importorskip("rosbags.rosbag2", reason="rosbags (extra connect) reads sqlite3 bags")
    stores = pytest.importorskip("rosbags.typesys")
    store = stores.get_typestore(stores.Stores.ROS2_JAZZY)
    store.register(stores.get_types_from_msg("float64 x\n", "my_msgs/msg/Odd"))
    store.register(stores.get_types_from_msg("std_msgs/Header header\nstring[] ids\n", "hri_msgs/msg/IdsList"))
    with rosbag2.Writer(path, version=9, storage_plugin=rosbag2.StoragePlugin.SQLITE3) as writer:
        connections = {}
        for topic, kind, ns, fields in messages:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=store)
            data = b"\0\1\0\0" + bytes(8) if kind not in COMMON else encode(kind, fields)
            writer.write(connections[topic], ns, data)
    return path


BAGS = {"mcap": mcap_bag, "sqlite3": sqlite_bag}


@pytest.fixture(params=BAGS)
def bag(request, tmp_path):
    name = "bag.mcap" if request.param == "mcap" else "bag"
    return lambda messages: BAGS[request.param](tmp_path / name, messages)


def test_poses_are_standing_people(bag):
    """Walking along x at 1 m/s and looking along y: the figure of Person.standing, moved."""
    path = bag([ODD, *(poses(k, (9.0, 9.0, 0.0), (0.02 * k, 0.5, math.pi / 2)) for k in range(40))])
    who = Recorded(read_people(path, body="1"))
    assert who.duration == pytest.approx(39 * 0.02, abs=1e-9)  # stamps are whole nanoseconds
    rows = np.zeros((13, 13))
    assert who.look(0.4, rows) == 0.4
    wanted = Person.standing((0.4, 0.5, 0.0), math.pi / 2).moved((0, 0, 0), velocity=(1.0, 0, 0)).rows
    np.testing.assert_allclose(rows, wanted, atol=1e-6)  # times are rounded to nanoseconds: velocities to 1e-7
    with pytest.raises(RecordingError, match=r"/people: expected a person from 0 to 1; got '2'"):
        read_people(path, body="2")


def test_skeletons_of_rep_155_are_people(bag):
    """Frames of a body in a camera's, which /tf_static places in the world; another body is there for a moment."""
    camera = pose(rz(math.pi / 2), (1.0, 0.0, 0.0))
    ids = "/humans/bodies/tracked", "hri_msgs/msg/IdsList", at(0), (header(at(0)), ("bob", "eve"))
    only = "/humans/bodies/tracked", "hri_msgs/msg/IdsList", at(1), (header(at(1)), ("bob",))
    messages = [ids, only, ("/tf_static", "tf2_msgs/msg/TFMessage", at(0), transforms(at(0), ["camera"], [camera]))]
    for k in range(30):
        messages.append(frames(k, "bob", standing_points((1.0 + 0.01 * k, 0.2, 0.0), 0.3), "camera"))
    messages.append(frames(3, "eve", standing_points((5.0, 5.0, 0.0)), "camera"))
    path = bag(messages)
    motion = read_motion(path)
    assert len(motion.times) == 30
    k = motion.points.index("left_wrist")
    wanted = camera @ np.append(standing_points((1.1, 0.2, 0.0), 0.3)["left_wrist"], 1.0)
    np.testing.assert_allclose(motion.positions[10, k], wanted[:3], atol=1e-12)
    Recorded(path)
    assert len(read_people(path, body="eve").times) == 1
    with pytest.raises(RecordingError, match=r"expected the body 'bobby'; there are bob, eve; did you mean bob\?"):
        read_people(path, body="bobby")


def test_joints_come_in_the_arms_order(bag):
    """A gripper's messages between the arm's are passed over; the arm's have their joints in another order."""
    messages = [joints(k, ("b", "finger", "a"), (0.1 * k, 7.0, 0.2 * k), (1.0, 0.0, 2.0)) for k in range(10)]
    path = bag([*messages, joints(10, ("finger",), (1.0,)), ODD])
    log = read_joints(path, ("a", "b"))
    np.testing.assert_allclose(log.q, np.outer(np.arange(10), (0.2, 0.1)))
    np.testing.assert_array_equal(log.qd, np.tile((2.0, 1.0), (10, 1)))
    assert np.isnan(log.effort).all()
    np.testing.assert_allclose(log.times, 0.02 * np.arange(10), atol=1e-9)
    expected = r"/joint_states: expected the joints a, c; no message has c: there are "
    with pytest.raises(RecordingError, match=expected):
        read_joints(path, ("a", "c"))


def test_a_topic_of_another_type_or_none_is_refused_by_name(bag):
    path = bag([ODD, ("/people", "std_msgs/msg/String", at(0), ("somebody",))])
    with pytest.raises(
        RecordingError, match=r"/people: expected messages of type .*PoseArray; got std_msgs/msg/String"
    ):
        read_people(path)
    with pytest.raises(RecordingError, match=r"expected the topic /joint_states; there are /odd, /people"):
        read_joints(path, ("a",))


def test_our_own_recording_has_joints_and_no_people(tmp_path):
    with Recording(2, tmp_path / "run.mcap") as recording:
        for k in range(5):
            recording.row[0] = 0.01 * k
            recording.view("q")[:] = k, -k
            recording.append("GO", "OK")
    log = read_joints(tmp_path / "run.mcap", ("joint2", "joint1"))
    np.testing.assert_array_equal(log.q, [(-k, k) for k in range(5)])
    with pytest.raises(RecordingError, match="expected the topic /people or "):
        read_people(tmp_path / "run.mcap")


def test_a_torn_bag_is_read_to_its_last_whole_chunk(tmp_path):
    path = mcap_bag(tmp_path / "bag.mcap", [joints(k, ("a", "b"), (0.1 * k, 0.0)) for k in range(100)])
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.warns(RecordingWarning, match=r"bag\.mcap: the end is torn off, in a chunk at byte"):
        log = read_joints(path, ("a", "b"))
    assert 5 < len(log.times) < 95
    np.testing.assert_allclose(log.q[:, 0], 0.1 * np.arange(len(log.times)))
    path.write_bytes(data[:300])
    with pytest.raises(RecordingError, match=r"expected the topic /joint_states; there are none \(the end is torn off"):
        read_joints(path, ("a", "b"))


def test_an_experiment_beside_a_bag_takes_its_folder_too(tmp_path):
    pytest.importorskip("rosbags", reason="rosbags (extra connect) writes bags")
    folder = sqlite_bag(tmp_path / "take", [poses(k, (1.0, 0.01 * k, 0.0)) for k in range(60)])
    assert folder.is_dir()
    jobs = recorded([folder], ["kinematic"], "planar2")
    ready(jobs)
    assert jobs[0].scene.people["coworker"].file == str(folder)
    (tmp_path / "empty").mkdir()
    assert not is_motion(tmp_path / "empty")
    with pytest.raises(RecordingError, match="empty: is a folder, and no ROS 2 bag"):
        recorded([tmp_path / "empty"], ["kinematic"])


def test_what_is_no_bag_is_refused(tmp_path, monkeypatch):
    (tmp_path / "bag.db3").write_bytes(b"nothing")
    pytest.importorskip("rosbags", reason="rosbags (extra connect) reads sqlite3 bags")
    with pytest.raises(RecordingError, match=r"bag.db3: expected a bag of ROS 2; "):
        read_people(tmp_path / "bag.db3")
    with pytest.raises(RecordingError, match=r"gone.db3: cannot be read"):
        read_people(tmp_path / "gone.db3")
    import sys

    monkeypatch.setitem(sys.modules, "rosbags.rosbag2", None)
    with pytest.raises(ElbowroomError, match=r"need the package rosbags: pip install (-e )?'.\[connect\]'"):
        read_people(tmp_path / "bag.db3")


def test_frames_without_sense_are_counted_and_not_taken():
    tree = FrameTree()
    good = transforms(5, ["camera"], [pose(rz(0.3), (1, 2, 3))])
    tree.add(good)
    ((stamp, parent), child, (p, q)), *_ = good[0]
    for wrong in (
        ((stamp, parent), child, ((math.nan, 0, 0), q)),
        ((stamp, parent), child, (p, (0.0, 0.0, 0.0, 0.5))),
        ((stamp, "camera"), child, (p, q)),
        ((stamp, ""), child, (p, q)),
        ((stamp, parent), child, ((1e9, 0, 0), q)),
    ):
        tree.add(((wrong,),))
    assert tree.refused == 5
    np.testing.assert_allclose(tree.pose("camera", "world").T, pose(rz(0.3), (1, 2, 3)), atol=1e-15)
    np.testing.assert_allclose(tree.pose("world", "camera").T @ pose(rz(0.3), (1, 2, 3)), np.eye(4), atol=1e-15)
    assert tree.pose("camera", "elsewhere") is None
    tree.add(transforms(4, ["camera"], [np.eye(4)]))  # older: not taken
    assert tree.pose("camera", "world").ns == 5
    tree.add(transforms(6, ["world"], [np.eye(4)], "camera"))  # a circle ends all the same
    assert tree.root("camera") in ("camera", "world")
