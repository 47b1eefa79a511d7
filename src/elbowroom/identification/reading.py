"""Reading of measured runs: CSV and Parquet by columns, MCAP and bags of ROS 2 by joint states.

    t,q1,...,qn,tau1,...,taun[,qd1,...,qdn][,qdd1,...,qddn]

A column of joint k may also have the joint's name, `q_shoulder_pan`, `tau_shoulder_pan`.  `time` stands for t, and
`effort` for tau.  Other columns are ignored; lines that begin with "#" are notes.  Of MCAP files and bags the topic
/joint_states is read (sensor_msgs/msg/JointState), with positions and efforts in the arm's own order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..arm import Arm
from ..errors import ElbowroomError, RecordingError, did_you_mean, pip_install
from ..reading import decimal, named, text_lines, wrong_line
from .measurements import Array, Measurements, checked

LARGEST = 2**30  # bytes of a text file
BEYOND = 0.1  # of a joint's range: a measured position may be as far outside
TIMES = ("t", "time")
TORQUES = ("tau", "effort")
UNMEASURED = (
    "recordings of `elbowroom run` hold torques where the plant measures them: "
    "--plant rigid or mujoco, or ros2 with efforts in its joint states"
)


def read(file: str | Path, arm: Arm, *, resample: float | None = None) -> Measurements:
    """The run in a file, for that arm; a RecordingError names the column, and the row, that is wrong.

    `resample`: at so many rows a second, for times that are not even.
    """
    path = Path(file)
    if path.suffix.lower() in (".mcap", ".db3") or path.is_dir():
        return _from_bag(path, arm, resample)
    columns = _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path, arm)
    return from_columns(named(path), columns, arm, resample=resample)


def from_columns(name: str, columns: Mapping[str, Array], arm: Arm, *, resample: float | None = None) -> Measurements:
    """The run of that arm in a table, column by name."""
    time = _first(columns, TIMES)
    if time is None:
        raise RecordingError(f"{name}: expected the column 't', s; there are {_listed(columns)}")
    q = _joint_columns(name, columns, arm, ("q",), needed=True)
    tau = _joint_columns(name, columns, arm, TORQUES, needed=True)
    qd = _joint_columns(name, columns, arm, ("qd",), needed=False)
    qdd = _joint_columns(name, columns, arm, ("qdd",), needed=False)
    assert q is not None
    assert tau is not None
    if len(tau) and np.isnan(tau).all():
        raise RecordingError(f"{name}: tau1 ...: expected torques; got nan in every row; {UNMEASURED}")
    _near_limits(name, arm, q)
    known = slice(_begin(tau), None)
    qd, qdd = (None if values is None else values[known] for values in (qd, qdd))
    return checked(name, arm.n, columns[time][known], q[known], tau[known], qd, qdd, resample=resample)


def _near_limits(name: str, arm: Arm, q: Array) -> None:
    """Refuses positions that this arm cannot have: degrees, or another arm's."""
    low, high = arm.model.lower, arm.model.upper
    room = np.where(np.isfinite(high - low), BEYOND * (high - low), np.inf)
    beyond = np.argwhere((q < low - room) | (q > high + room))
    if len(beyond):
        row, j = beyond[0]
        raise RecordingError(
            f"{name}: q{j + 1}: expected positions within the limits of {arm.joint_names[j]!r}, "
            f"{low[j]:g} to {high[j]:g}; got {q[row, j]:g} in row {row + 1}: rad and m are meant, of {arm.name}"
        )


def _begin(tau: Array) -> int:
    """The first row that has torques: a simulated drive has measured none before its first step."""
    return int(np.isnan(tau).any(axis=1).argmin()) if len(tau) else 0


def _first(columns: Mapping[str, Array], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in columns), None)


def _joint_columns(
    file: str, columns: Mapping[str, Array], arm: Arm, kinds: Sequence[str], *, needed: bool
) -> Array | None:
    """The columns of one quantity, (N, n); None where there is none of them and none is needed."""
    found: list[str | None] = []
    for k, joint in enumerate(arm.joint_names, start=1):
        found.append(_first(columns, [name for kind in kinds for name in (f"{kind}{k}", f"{kind}_{joint}")]))
    missing = [k for k, name in enumerate(found, start=1) if name is None]
    if not missing:
        return np.column_stack([columns[name] for name in found if name is not None])
    if not needed and len(missing) == arm.n:
        return None
    k = missing[0]
    wanted = f"{kinds[0]}{k}"
    hint = f"; {UNMEASURED}" if wanted == "tau1" and "law_status" in columns else ""
    raise RecordingError(
        f"{file}: expected the column {wanted!r} or '{kinds[0]}_{arm.joint_names[k - 1]}', of joint {k} of {arm.n} of "
        f"{arm.name}; there are {_listed(columns)}{hint or did_you_mean(wanted, columns)}"
    )


def _listed(columns: Mapping[str, Array]) -> str:
    names = list(columns)
    return ", ".join(names[:40]) + (" ..." if len(names) > 40 else "")


def _csv(path: Path, arm: Arm) -> dict[str, Array]:
    lines = text_lines(path, LARGEST)
    for text in lines:
        if not text.startswith("#"):
            break
        what, _, robot = text[1:].partition(":")
        if what.strip() == "robot" and robot.strip() != arm.name:
            raise RecordingError(
                f"{named(path)}: expected a run of {arm.name!r}; its note says robot: {robot.strip()} "
                "(without that line any arm with these columns is taken)"
            )
    numbered = [(k, text) for k, text in enumerate(lines, start=1) if text.strip() and not text.startswith("#")]
    if not numbered:
        raise RecordingError(f"{named(path)}: expected the names of the columns; there are notes alone")
    (first, head), *rows = numbered
    names = [word.strip().strip('"') for word in head.split(",")]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise wrong_line(path, first, "every column once", doubled)
    if all(decimal(name) is not None for name in names):
        raise wrong_line(path, first, "the names of the columns, t,q1,...,tau1,...", head)
    cells = [text.split(",") for _, text in rows]
    for (number, _), row in zip(rows, cells, strict=True):
        if len(row) != len(names):
            raise RecordingError(f"{named(path)}, line {number}: expected {len(names)} cells; got {len(row)}")
    found: dict[str, Array] = {}
    for k, name in enumerate(names):
        values = [decimal(row[k].strip()) for row in cells]
        if None in values:
            if not _wanted(name):
                continue  # words, as the recordings have them
            number = rows[values.index(None)][0]
            raise wrong_line(path, number, f"a number in column {name!r}", cells[values.index(None)][k])
        found[name] = np.array(values, dtype=float)
    return found


def _wanted(name: str) -> bool:
    return name in TIMES or name.startswith(("q", "tau", "effort"))


def _parquet(path: Path) -> dict[str, Array]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise ElbowroomError(f"Parquet needs the package pyarrow: {pip_install('campaign')}") from None
    try:
        table: Any = parquet.read_table(path)
    except (OSError, ValueError) as error:  # pyarrow's own errors are of these kinds
        raise RecordingError(f"{named(path)}: expected a Parquet file; {error}") from None
    found = {}
    for name in table.column_names:
        values = table[name].to_numpy()
        if values.dtype.kind in "fiu":
            found[name] = values.astype(float)
    return found


def _from_bag(path: Path, arm: Arm, resample: float | None) -> Measurements:
    from ..cell.mocap.bags import JOINTS, read_joints

    log = read_joints(path, arm.joint_names)
    name = named(path)
    begin = _begin(log.effort)
    t, q, tau = log.times[begin:], log.q[begin:], log.effort[begin:]
    if np.isnan(tau).any():
        raise RecordingError(
            f"{name}: {JOINTS}: expected an effort for every joint in every message; some have none; {UNMEASURED}"
        )
    qd = None if np.isnan(log.qd[begin:]).any() else log.qd[begin:]
    return checked(name, arm.n, t, q, tau, qd, resample=resample)
