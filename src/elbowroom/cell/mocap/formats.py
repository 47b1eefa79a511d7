"""Files of recorded motion: BVH, and the CSV of Vicon's software.

Motion from BVH files (Biovision hierarchy): a tree of joints with offsets, then their channels frame by frame.

A joint's frame in its parent's is a translation by its OFFSET and rotations about its axes, in degrees, in the order in
which CHANNELS lists them:

    R = R_1 R_2 R_3,    p_joint = p_parent + R_parent offset,    R_joint = R_parent R

Position channels take the place of the offset's components, for the root and for other joints, as animation software
writes and reads them.  BVH has no unit and no word on which axis is up: `unit` is metres a unit, a centimetre by
default, and `up` is "y" or "z".  From y-up the points come as (x, -z, y).  The point `head` is half way from the joint
to the end of the head's bone.

Names of joints differ from maker to maker.  Case, separators, name spaces and where the side stands make no difference:
LeftForeArm, mixamorig:LeftForeArm, left_forearm, L_Elbow, ForeArm.L and lradius are all the left elbow.  A bone's joint
is where the bone begins, so `LeftArm` is the shoulder and `LeftHand` the wrist, unless there is a `LeftWrist`.

Motion from the CSV files of Vicon's software: the section `Objects`, bodies with six columns each.

    line 1       Objects
    line 2       frames a second
    line 3       , , NAME , , , , , , NAME ...         "Global Angle collar:collar" is `collar`
    line 4       Frame, Sub Frame, RX, RY, RZ, TX, TY, TZ, RX ...
    line 5       , , rad, rad, rad, mm, mm, mm, rad ...
    then         one line a frame; z is up

Only the places TX, TY, TZ are read.  A body is hidden where one of them is blank, NaN, or all are exactly zero, as the
software writes what it does not see; a frame whose number is left out is hidden as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...arrays import number
from ...errors import RecordingError
from ...geometry.person import ALIASES, POINTS
from ...reading import text_lines, wrong_line
from .tracks import LARGEST, MAX_BYTES, MAX_FRAMES, Motion, coordinate, skeleton_names

Array = NDArray[np.float64]

MAX_JOINTS, MAX_DEPTH = 1000, 100
AXES = {"X": 0, "Y": 1, "Z": 2}


@dataclass
class Joint:
    """A joint of the hierarchy: its parent (-1 for the root), offset (3,), channels, and the end of its bone (3,)."""

    name: str
    parent: int
    offset: Array = field(default_factory=lambda: np.full(3, np.nan))  # NaN until it is read
    channels: list[str] = field(default_factory=list)
    end: Array = field(default_factory=lambda: np.zeros(3))


@dataclass
class _Hierarchy:
    """What was read of the tree, and where the motion begins."""

    joints: list[Joint] = field(default_factory=list)
    motion: int = 0  # the index of the line with MOTION


def read_bvh(
    file: str | Path,
    unit: float = 0.01,
    up: Literal["y", "z"] = "y",
    names: Mapping[str, str] | None = None,
) -> Motion:
    """The motion in a BVH file.  `names` says which point of a skeleton a joint is, where its name does not."""
    if up not in ("y", "z"):
        raise ValueError(f'up must be "y" or "z"; got {up!r}')
    scale = number("unit", unit, more=True)
    path = Path(file)
    text = text_lines(path, MAX_BYTES)
    tree = _hierarchy(path, text)
    every = [joint.name for joint in tree.joints]
    if len(set(every)) < len(every):
        twice = next(name for name in every if every.count(name) > 1)
        raise RecordingError(f"{path}: expected each joint once; {twice!r} is there twice")
    points = skeleton_names(path, every, names or {}, usual_names(every))
    step, values = _motion(path, text, tree)
    good = np.asarray(np.isfinite(values).all(axis=1))
    keep = [k for k, point in enumerate(points) if point]
    head = points.index("head")
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
        places, turns = joint_frames(tree.joints, np.where(good[:, None], values, 0.0))
        places[head] = places[head] + turns[head] @ (0.5 * tree.joints[head].end)
        positions = scale * np.stack([places[k] for k in keep], axis=1)  # (T, P, 3)
    far = ~(np.abs(positions) <= LARGEST).all(axis=(1, 2))  # true of NaN, as of infinity less infinity
    if far.any():
        raise RecordingError(
            f"{path}, frame {int(far.argmax()) + 1}: expected places within {LARGEST:g} m; is unit={scale:g} right?"
        )
    if up == "y":
        positions = np.stack([positions[..., 0], -positions[..., 2], positions[..., 1]], axis=-1)
    valid = np.repeat(good[:, None], len(keep), axis=1)
    unused = tuple(name for name, point in zip(every, points, strict=True) if not point)
    times = step * np.arange(len(values), dtype=np.float64)
    return Motion(tuple(points[k] for k in keep), times, positions, valid, str(path), unused)


# ---- the hierarchy


def _hierarchy(path: Path, text: list[str]) -> _Hierarchy:
    """Reads the lines from HIERARCHY to MOTION."""
    tree = _Hierarchy()
    if text[0].split() != ["HIERARCHY"]:
        raise wrong_line(path, 1, "'HIERARCHY', the first line of a BVH file", text[0])
    stack: list[int] = []  # indices of the open joints; -1 is an End Site
    opening: int | None = None  # a joint whose brace is still to come
    for line, row in enumerate(text[1:], start=2):
        words = row.replace("{", " { ").replace("}", " } ").split()
        while words:
            word = words[0]
            if opening is not None:
                if word != "{":
                    raise wrong_line(path, line, "'{'", row)
                stack.append(opening)
                opening = None
                words = words[1:]
            elif word == "}" and stack:
                _closed(path, tree, stack.pop(), line)
                words = words[1:]
            elif word == "MOTION" and not stack and tree.joints:
                tree.motion = line - 1
                return tree
            else:
                opening = _statement(path, tree, stack, line, words)
                words = words[words.index("{") :] if "{" in words else []
    raise RecordingError(f"{path}: expected 'MOTION' after the hierarchy; the file ends after line {len(text)}")


def _statement(path: Path, tree: _Hierarchy, stack: list[int], line: int, words: list[str]) -> int | None:
    """One of ROOT, JOINT, End Site, OFFSET, CHANNELS; the joint that it opens, if any."""
    kind, rest = words[0], [w for w in words[1:] if w != "{"]
    inside = tree.joints[stack[-1]] if stack and stack[-1] >= 0 else None
    if (kind == "ROOT" and not stack and not tree.joints) or (kind == "JOINT" and inside):
        if not rest:
            raise wrong_line(path, line, f"a name after {kind}", " ".join(words))
        if len(tree.joints) >= MAX_JOINTS or len(stack) >= MAX_DEPTH:
            raise wrong_line(path, line, f"at most {MAX_JOINTS} joints, {MAX_DEPTH} deep", " ".join(words))
        tree.joints.append(Joint(" ".join(rest), stack[-1] if stack else -1))
        return len(tree.joints) - 1
    if kind == "End" and rest == ["Site"] and inside:
        return -1
    if kind == "OFFSET" and stack:
        values = [coordinate(word) for word in rest]
        if len(values) != 3 or not all(v is not None and np.isfinite(v) for v in values):
            raise wrong_line(path, line, "OFFSET and three numbers", " ".join(words))
        offset = np.array(values, dtype=float)
        if inside:
            if not np.isnan(inside.offset).any():
                raise wrong_line(path, line, f"one OFFSET of {inside.name!r}", " ".join(words))
            inside.offset = offset
        else:
            tree.joints[stack[-2]].end = offset
        return None
    if kind == "CHANNELS" and inside:
        if inside.channels:
            raise wrong_line(path, line, f"CHANNELS of {inside.name!r} once", " ".join(words))
        inside.channels = _channels(path, line, rest)
        return None
    place = f"in {inside.name!r}" if inside else "here"
    raise wrong_line(
        path, line, f"ROOT, JOINT, End Site, OFFSET, CHANNELS, a brace or MOTION, as fits {place}", words[0]
    )


def _channels(path: Path, line: int, rest: list[str]) -> list[str]:
    named = rest[1:]
    fits = all(re.fullmatch(r"[XYZ](position|rotation)", name) for name in named) and len(set(named)) == len(named)
    if not rest or rest[0] != str(len(named)) or not fits:
        raise wrong_line(path, line, "CHANNELS, their number, and as many of Xposition ... Zrotation", " ".join(rest))
    return named


def _closed(path: Path, tree: _Hierarchy, index: int, line: int) -> None:
    """Refuses a joint that is closed without an offset."""
    if index >= 0 and np.isnan(tree.joints[index].offset).any():
        raise wrong_line(path, line, f"OFFSET of {tree.joints[index].name!r} before its end", "}")


# ---- the motion


def _motion(path: Path, text: list[str], tree: _Hierarchy) -> tuple[float, Array]:
    """Seconds a frame, and the values (T, channels)."""
    width = sum(len(joint.channels) for joint in tree.joints)
    rows = [(k, row) for k, row in enumerate(text[tree.motion + 1 :], start=tree.motion + 2) if row.strip()]
    if len(rows) < 2:
        raise RecordingError(f"{path}: expected 'Frames:' and 'Frame Time:'; the file ends after line {len(text)}")
    count = _after(path, rows[0], "Frames:")
    step = _after(path, rows[1], "Frame Time:")
    if count != int(count) or not 1 <= count <= MAX_FRAMES:
        raise wrong_line(path, rows[0][0], f"a number of frames from 1 to {MAX_FRAMES}", rows[0][1])
    if not 1e-5 <= step <= 10:
        raise wrong_line(path, rows[1][0], "the seconds of one frame", rows[1][1])
    values = np.empty((min(int(count), len(rows) - 2), width))
    for k, (line, row) in enumerate(rows[2 : 2 + int(count)]):
        words = row.split()
        if len(words) != width:
            raise RecordingError(f"{path}, line {line}: expected {width} numbers, one a channel; got {len(words)}")
        for j, word in enumerate(words):
            value = coordinate(word)
            if value is None:
                raise wrong_line(path, line, "a number", word)
            values[k, j] = value
    if len(rows) - 2 != count:
        raise RecordingError(f"{path}: expected {int(count)} frames as in line {rows[0][0]}; got {len(rows) - 2}")
    return step, values


def _after(path: Path, row: tuple[int, str], label: str) -> float:
    """The number after a label."""
    line, text = row
    said = " ".join(text.split())
    value = coordinate(said[len(label) :]) if said.startswith(label) else None
    if value is None or not np.isfinite(value):
        raise wrong_line(path, line, f"{label!r} and a number", text)
    return value


def joint_frames(joints: Sequence[Joint], values: Array) -> tuple[list[Array], list[Array]]:
    """Places (T, 3) and rotations (T, 3, 3), one a joint, in the file's units and axes, from values (T, channels)."""
    places: list[Array] = []
    turns: list[Array] = []
    column = 0
    for joint in joints:
        shift = np.tile(joint.offset, (len(values), 1))
        turn = np.tile(np.eye(3), (len(values), 1, 1))
        for channel in joint.channels:
            value, axis = values[:, column], AXES[channel[0]]
            column += 1
            if channel.endswith("position"):
                shift[:, axis] = value
            else:
                turn = turn @ _about(axis, np.radians(value))
        if joint.parent >= 0:
            shift = places[joint.parent] + (turns[joint.parent] @ shift[..., None])[..., 0]
            turn = turns[joint.parent] @ turn
        places.append(shift)
        turns.append(turn)
    return places, turns


def _about(axis: int, angle: Array) -> Array:
    """(T, 3, 3) rotations about one axis."""
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn = np.zeros((len(angle), 3, 3))
    turn[:, axis, axis] = 1.0
    turn[:, i, i] = turn[:, j, j] = c
    turn[:, i, j], turn[:, j, i] = -s, s
    return turn


CENTRE = {
    "head": ("head",),
    "collar": ("neck", "neck1", "neck01", "lowerneck", "neckbase", "collar", "thorax", "upperchest"),
    "hip": ("hips", "hip", "pelvis", "root"),
}
LIMB = {  # the first that is there; what comes later may mean another joint where an earlier one is there
    "shoulder": ("arm", "uparm", "upperarm", "humerus", "shoulder"),
    "elbow": ("forearm", "lowarm", "lowerarm", "elbow", "radius"),
    "wrist": ("wrist", "hand"),
    "hip": ("upleg", "upperleg", "thigh", "femur", "hip"),
    "knee": ("leg", "lowleg", "lowerleg", "shin", "calf", "tibia", "knee"),
    "ankle": ("foot", "ankle"),
}
SIDE = {"left": "left", "l": "left", "right": "right", "r": "right"}


def usual_names(joints: Sequence[str]) -> dict[str, str]:
    """The point of a skeleton that a joint of this name usually is, for those that are known."""
    plain: dict[tuple[str, str], str] = {}
    for name in joints:
        plain.setdefault(plain_name(name), name)
    found: dict[str, str] = {}
    for point, words in CENTRE.items():
        first = next((plain["", word] for word in words if ("", word) in plain), None)
        if first is not None:
            found.setdefault(first, point)
    for side in ("left", "right"):
        for limb, words in LIMB.items():
            first = next((plain[side, word] for word in words if (side, word) in plain), None)
            if first is not None:
                found.setdefault(first, f"{side}_{limb}")
        if (side, "wrist") in plain and (side, "hand") in plain:
            found[plain[side, "hand"]] = f"{side}_hand"
    return found


def plain_name(name: str) -> tuple[str, str]:
    """(side, the rest of the name in small letters without separators)."""
    bare = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name.rpartition(":")[2])
    words = [w for w in re.split(r"[^A-Za-z0-9]+", bare) if w]
    words = [w.lower() for w in words if not re.fullmatch(r"(bip|character|mixamorig|def)\d*", w.lower())]
    sides = [SIDE[w] for w in words if w in SIDE]
    rest = "".join(w for w in words if w not in SIDE)
    acclaim = re.fullmatch(r"([lr])(humerus|radius|wrist|hand|femur|tibia|foot)", rest)
    if not sides and acclaim:
        return SIDE[acclaim[1]], acclaim[2]
    return (sides[0] if len(sides) == 1 else ""), rest


UNITS = {"mm": 0.001, "cm": 0.01, "m": 1.0}


def read_vicon(file: str | Path, names: Mapping[str, str] | None = None) -> Motion:
    """The motion in a Vicon CSV file.  `names` says which point of a skeleton a body is, where its name does not."""
    path = Path(file)
    text = text_lines(path, MAX_BYTES)
    table = [row.split(",") for row in text]
    if [cell.strip() for cell in table[0]][:1] != ["Objects"]:
        raise wrong_line(path, 1, "'Objects', the first line of a Vicon CSV file", text[0])
    if len(table) < 5:
        raise RecordingError(f"{path}: expected five lines of header; the file ends after line {len(table)}")
    rate = coordinate(table[1][0])
    if rate is None or not 0.1 <= rate <= 1e5:
        raise wrong_line(path, 2, "the number of frames a second", text[1])
    columns, scales, bodies = _header(path, table, text)
    points = skeleton_names(path, bodies, names or {}, _usual(bodies))
    frames, values = _frames(path, table, text, columns)
    keep = [k for k, point in enumerate(points) if point]
    places = values[:, keep] * np.array(scales)[keep, None]  # (F, P, 3)
    if (np.abs(places) > LARGEST).any():
        line, k, _ = np.argwhere(np.abs(places) > LARGEST)[0]
        where = f"{path}, frame {frames[line]}: {points[keep[k]]}"
        raise RecordingError(f"{where}: expected a place within {LARGEST:g} m; got {places[line, k].tolist()} m")
    times = np.arange(frames[-1] - frames[0] + 1) / rate
    at = np.array(frames) - frames[0]
    positions = np.full((len(times), len(keep), 3), np.nan)
    positions[at] = places
    hidden = np.isnan(positions).any(axis=2) | (positions == 0).all(axis=2)
    unused = tuple(body for body, point in zip(bodies, points, strict=True) if not point)
    return Motion(tuple(points[k] for k in keep), times, positions, ~hidden, str(path), unused)


def _usual(bodies: list[str]) -> dict[str, str]:
    """The bodies that are called as the points of a skeleton are."""
    plain = {body: body.strip().lower().replace(" ", "_").replace("-", "_") for body in bodies}
    return {body: name for body, name in plain.items() if name in (*POINTS, *ALIASES)}


def _header(path: Path, table: list[list[str]], text: list[str]) -> tuple[list[list[int]], list[float], list[str]]:
    """For each body the columns of TX, TY, TZ; metres a unit; its name."""
    heads = [cell.strip() for cell in table[3]]
    units = [cell.strip() for cell in table[4]]
    if heads[:2] != ["Frame", "Sub Frame"]:
        raise wrong_line(path, 4, "'Frame,Sub Frame,' and the names of the columns", text[3])
    starts = [k for k, cell in enumerate(table[2]) if cell.strip()]
    if not starts:
        raise wrong_line(path, 3, "the names of the bodies", text[2])
    columns, scales, bodies = [], [], []
    for start, end in zip(starts, [*starts[1:], len(heads)], strict=True):
        body = table[2][start].strip().rpartition(":")[2]
        own = dict(zip(heads[start:end], range(start, end), strict=False))
        if not {"TX", "TY", "TZ"} <= set(own):
            raise wrong_line(path, 4, f"columns TX, TY, TZ of {body!r}", ",".join(heads[start:end]))
        unit = {units[own[axis]] if own[axis] < len(units) else "" for axis in ("TX", "TY", "TZ")}
        if len(unit) > 1 or not unit <= set(UNITS):
            raise wrong_line(path, 5, f"the unit mm, cm or m of {body!r}", ",".join(sorted(unit)))
        columns.append([own[axis] for axis in ("TX", "TY", "TZ")])
        scales.append(UNITS[unit.pop()])
        bodies.append(body)
    if len(set(bodies)) < len(bodies):
        raise RecordingError(f"{path}, line 3: expected each body once; got {', '.join(bodies)}")
    return columns, scales, bodies


def _frames(
    path: Path, table: list[list[str]], text: list[str], columns: list[list[int]]
) -> tuple[list[int], NDArray[np.float64]]:
    """Numbers of the frames, and the values (F, bodies, 3), NaN where a cell is blank."""
    width = len(table[3])
    frames: list[int] = []
    values: list[list[float]] = []
    ended = 0
    for line, cells in enumerate(table[5:], start=6):
        if not any(cell.strip() for cell in cells):
            ended = ended or line
            continue
        if ended:
            raise wrong_line(path, line, f"nothing after the blank line {ended}: one section a file", text[line - 1])
        if len(cells) != width:
            raise RecordingError(f"{path}, line {line}: expected {width} cells; got {len(cells)}")
        number, sub = cells[0].strip(), cells[1].strip()
        if not (number.isascii() and number.isdecimal()) or len(number) > 12:
            raise wrong_line(path, line, "the number of a frame", cells[0])
        if sub not in ("", "0"):
            raise wrong_line(path, line, "sub frame 0", sub)
        if frames and int(number) <= frames[-1]:
            raise wrong_line(path, line, f"a frame after {frames[-1]}", number)
        frames.append(int(number))
        if frames[-1] - frames[0] >= MAX_FRAMES:
            raise wrong_line(path, line, f"at most {MAX_FRAMES} frames", number)
        values.append([_value(path, line, cells[k]) for own in columns for k in own])
    if not frames:
        raise RecordingError(f"{path}: expected frames after the header; the file ends after line {len(table)}")
    return frames, np.array(values).reshape(len(frames), len(columns), 3)


def _value(path: Path, line: int, cell: str) -> float:
    if not cell.strip():
        return np.nan
    value = coordinate(cell)
    if value is None:
        raise wrong_line(path, line, "a number or a blank cell", cell)
    return value
