"""People and joints from ROS 2 bags: MCAP files, and sqlite3 bags (.db3 or their folder) through rosbags.

    read_people("bag.mcap")                     a Motion: skeletons of REP-155 on /tf, or else /people
    read_joints("bag.mcap", arm.joint_names)    a JointLog: positions and speeds in the arm's order
    bag_messages("bag", {"/tf": TF})            messages of some topics as tuples of their fields

A topic whose messages are of another type than expected, or that is not there, is a RecordingError that says which
there are.  An MCAP file is read to its last whole chunk.  Bags of message types that nobody knows are no trouble: only
the topics that are asked for are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import ElbowroomError, RecordingError, RecordingWarning, did_you_mean, pip_install, warn
from ...reading import named
from ..recording.mcap_read import McapFile
from ..recording.ros_messages import COMMON, Value, decode
from .ros_people import FRAMES, FrameTree, heading, nanoseconds, skeleton, standing, transform
from .tracks import MAX_FRAMES, Motion

Array = NDArray[np.float64]

PEOPLE, BODIES, TF, TF_STATIC, JOINTS = "/people", "/humans/bodies/tracked", "/tf", "/tf_static", "/joint_states"
TYPES = {
    PEOPLE: "geometry_msgs/msg/PoseArray",
    BODIES: "hri_msgs/msg/IdsList",
    TF: "tf2_msgs/msg/TFMessage",
    TF_STATIC: "tf2_msgs/msg/TFMessage",
    JOINTS: "sensor_msgs/msg/JointState",
}
HEIGHT = 1.8  # m, of a person who is a pose


def bag_messages(file: str | Path, wanted: Mapping[str, str]) -> Iterator[tuple[str, int, tuple[Value, ...]]]:
    """Topic, log time (ns) and fields of the messages of these topics, each with the type that it must have."""
    path = Path(file)
    if path.suffix.lower() == ".mcap" and not path.is_dir():
        yield from _from_mcap(path, wanted)
    else:
        yield from _from_sqlite(path, wanted)


def _from_mcap(path: Path, wanted: Mapping[str, str]) -> Iterator[tuple[str, int, tuple[Value, ...]]]:
    source = McapFile(path)
    checked: set[str] = set()
    for topic, ns, data in source.messages(wanted):
        if topic not in checked:
            _check(path, topic, source.type_of(topic), wanted[topic])
            checked.add(topic)
            if any(COMMON.get(name, of) != of for name, of in source.definitions(topic).items()):
                raise RecordingError(
                    f"{named(path)}: {topic}: expected {wanted[topic]} as ROS 2 defines it; got another"
                )
        yield topic, ns, source.decoded(topic, data)
    _some(path, checked, wanted, {each.topic for each in source.channels.values()}, source.torn)
    if source.torn is not None:
        warn(source.torn, RecordingWarning)


def _from_sqlite(path: Path, wanted: Mapping[str, str]) -> Iterator[tuple[str, int, tuple[Value, ...]]]:
    try:
        from rosbags.rosbag2 import Reader
    except ImportError:
        raise ElbowroomError(f"bags of ROS 2 in sqlite3 need the package rosbags: {pip_install('connect')}") from None
    if not path.exists():
        raise RecordingError(f"{named(path)}: cannot be read: there is no such file or folder")
    try:
        with Reader(path) as reader:
            chosen = [each for each in reader.connections if each.topic in wanted]
            for each in chosen:
                _check(path, each.topic, each.msgtype, wanted[each.topic])
            for each, ns, data in reader.messages(chosen) if chosen else ():
                try:
                    yield each.topic, ns, decode(wanted[each.topic], bytes(data), COMMON)
                except ElbowroomError as error:
                    raise RecordingError(f"{named(path)}: {each.topic}: {error}") from None
            there = {each.topic for each in reader.connections}
            _some(path, {each.topic for each in chosen}, wanted, there)
    except ElbowroomError:
        raise
    except Exception as error:  # of rosbags: of its readers, of SQLite, of YAML
        raise RecordingError(f"{named(path)}: expected a bag of ROS 2; {type(error).__name__}: {error}") from None


def _check(path: Path, topic: str, got: str, expected: str) -> None:
    if got != expected:
        raise RecordingError(f"{named(path)}: {topic}: expected messages of type {expected}; got {got or 'no type'}")


def _some(path: Path, met: set[str], wanted: Mapping[str, str], there: set[str], torn: str | None = None) -> None:
    if not met:
        hint = did_you_mean(next(iter(wanted)), there)
        cut = "" if torn is None else f" ({torn.removeprefix(f'{named(path)}: ')})"
        shown, more = ", ".join(sorted(there)[:12]) or "none", " ..." if len(there) > 12 else ""
        raise RecordingError(
            f"{named(path)}: expected the topic {' or '.join(wanted)}; there are {shown}{more}{hint}{cut}"
        )


# ---- people


def read_people(file: str | Path, *, body: str = "", topic: str = PEOPLE, height: float = HEIGHT) -> Motion:
    """The motion of one person in a bag: of the body of that id, else of the one that is there most often.

    Skeletons (REP-155) are in the frame at the root of their chain.  Without any, the poses of `topic` are people of
    that height (m), and `body` is a place in the array, "0" for the first.
    """
    path = Path(file)
    tree, bodies = FrameTree(), Counter[str]()
    frames: list[tuple[int, str, dict[str, Array]]] = []
    poses: list[tuple[int, Value]] = []
    wanted = {topic: TYPES[PEOPLE], **{name: TYPES[name] for name in (BODIES, TF, TF_STATIC)}}
    for name, ns, fields in bag_messages(path, wanted):
        if name == BODIES:
            bodies.update(fields[1])
        elif name in (TF, TF_STATIC):
            tree.add(fields, fixed=name == TF_STATIC)
            frames += _bodies(tree, fields)
        elif name == topic:
            poses.append((nanoseconds(fields[0][0]) or ns, fields[1]))
        if len(frames) > MAX_FRAMES or len(poses) > MAX_FRAMES:
            raise RecordingError(f"{named(path)}: expected at most {MAX_FRAMES} frames of people; there are more")
    if frames:
        often = bodies or Counter(who for _, who, _ in frames)
        return _of_skeletons(path, frames, body or often.most_common(1)[0][0])
    if poses:
        return _of_poses(path, topic, poses, body, height)
    raise RecordingError(
        f"{named(path)}: expected people: frames of bodies (body_ID, head_ID ...) on {TF}, poses on {topic}; got none"
    )


def _bodies(tree: FrameTree, message: Value) -> Iterator[tuple[int, str, dict[str, Array]]]:
    """Every body of which this message moved the root."""
    for (stamp, _), child, _ in message[0]:
        frame = child.lstrip("/")
        if frame.startswith("body_"):
            who = frame.removeprefix("body_")
            found = skeleton(tree, who, tree.root(frame))
            if found is not None:
                yield nanoseconds(stamp), who, found.points


def _of_skeletons(path: Path, frames: Sequence[tuple[int, str, dict[str, Array]]], body: str) -> Motion:
    mine = [(ns, points) for ns, who, points in frames if who == body]
    if not mine:
        there = sorted({who for _, who, _ in frames})
        raise RecordingError(
            f"{named(path)}: expected the body {body!r}; there are {', '.join(there)}{did_you_mean(body, there)}"
        )
    names = tuple(name for name in FRAMES if name in mine[0][1])
    return _motion(path, names, mine)


def _of_poses(path: Path, topic: str, poses: Sequence[tuple[int, Value]], body: str, height: float) -> Motion:
    number = int(body or 0) if (body or "0").isdigit() else -1
    most = max(len(all_of) for _, all_of in poses)
    if not 0 <= number < most:
        raise RecordingError(f"{named(path)}: {topic}: expected a person from 0 to {most - 1}; got {body!r}")
    mine = []
    for ns, all_of in poses:
        if number < len(all_of):
            T = transform(*all_of[number])
            if T is not None:
                mine.append((ns, standing(T[:3, 3], heading(T), height)))
    if not mine:
        raise RecordingError(f"{named(path)}: {topic}: expected poses of finite numbers; got none")
    return _motion(path, tuple(mine[0][1]), mine)


def _motion(path: Path, names: tuple[str, ...], frames: Sequence[tuple[int, dict[str, Array]]]) -> Motion:
    """The frames in the order of their times, one for each time."""
    by_time = dict(sorted(frames, key=lambda each: each[0]))
    times = np.array(list(by_time))
    gone = np.full(3, np.nan)
    positions = np.array([[points.get(name, gone) for name in names] for points in by_time.values()])
    valid = np.isfinite(positions).all(axis=2)
    return Motion(names, 1e-9 * (times - times[0]), positions, valid, named(path))


# ---- joints


@dataclass(frozen=True, eq=False)
class JointLog:
    """Joint positions and speeds over time: `times` (T,) s from the first, `q` and `qd` (T, n), NaN where not given."""

    names: tuple[str, ...]
    times: Array
    q: Array
    qd: Array
    effort: Array

    def __repr__(self) -> str:
        return f"<JointLog of {len(self.names)} joints: {len(self.times)} states, {self.times[-1]:.2f} s>"


def read_joints(file: str | Path, names: Sequence[str] = (), *, topic: str = JOINTS) -> JointLog:
    """The joint states in a bag, in the order of `names`; of the first message if there are none."""
    path, joints = Path(file), tuple(names)
    times, rows, other = list[int](), list[Array](), dict[str, None]()
    for _, ns, (header, there, *values) in bag_messages(path, {topic: TYPES[JOINTS]}):
        joints = joints or there
        if not set(joints) <= set(there):
            other |= dict.fromkeys(there)  # a gripper, say, has messages of its own
            continue
        order = [there.index(name) for name in joints]
        row = [[column[k] if k < len(column) else np.nan for k in order] for column in values]
        times.append(nanoseconds(header[0]) or ns)
        rows.append(np.array(row))
    if not rows:
        missing = [name for name in joints if name not in other]
        raise RecordingError(
            f"{named(path)}: {topic}: expected the joints {', '.join(joints)}; no message has {', '.join(missing)}: "
            f"there are {', '.join(other) or 'none'}{did_you_mean(missing[0] if missing else '', other)}"
        )
    sorting = np.argsort(times, kind="stable")
    table = np.array(rows)[sorting]
    stamps = np.array(times)[sorting]
    return JointLog(joints, 1e-9 * (stamps - stamps[0]), table[:, 0], table[:, 1], table[:, 2])
