"""Motion from the CSV files of Vicon's software: the section `Objects`, bodies with six columns each.

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

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import RecordingError
from ...geometry.skeleton import ALIASES, POINTS
from ...reading import text_lines, wrong_line
from .tracks import LARGEST, MAX_BYTES, MAX_FRAMES, Motion, coordinate, skeleton_names

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
