"""The colours of the page, and who wears what."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...geometry.skeleton import NAMES

Colour = tuple[int, int, int]

ARM: tuple[Colour, Colour] = ((238, 240, 241), (214, 219, 223))
JOINT = (62, 74, 84)
TOOL = (54, 62, 70)
PERSON, HEAD = (104, 132, 156), (232, 190, 160)
SLEEVE, TROUSERS, SHOE, TAPE = (92, 118, 142), (74, 82, 96), (52, 50, 50), (226, 228, 214)
HELMET = (236, 186, 78)
DANGER, CARE, CALM = (206, 58, 52), (226, 154, 44), (62, 138, 96)
PUSH, PULL, TRACE = (206, 58, 52), (46, 140, 96), (46, 120, 160)
FLOOR, GRID, LINES = (236, 237, 238), (220, 223, 225), (200, 205, 209)
HAZE = (221, 219, 217)  # beyond the floor: as the floor looks far away
STEEL, RAIL, BELT = (150, 156, 160), (196, 201, 204), (84, 92, 98)
OBJECT = (216, 124, 62)
SHELL, INNER, REACH = (70, 130, 170), (190, 110, 70), (226, 154, 44)
GRIP, HELD = (38, 132, 160), (236, 186, 78)

NEAR, FAR = 0.1, 0.4  # m: from which distance on a line is red, and from which green

_WORN = {
    "head": HEAD, "torso": PERSON, "shoulders": PERSON, "upper_arm": SLEEVE, "forearm": SLEEVE, "hand": HEAD,
    "thigh": TROUSERS, "shin": TROUSERS,
}  # fmt: skip


def colour_of(distance: float) -> Colour:
    """How near is dangerous: green, amber half way, red."""
    if not math.isfinite(distance) or distance >= FAR:
        return CALM
    if distance <= NEAR:
        return DANGER
    part = (distance - NEAR) / (FAR - NEAR)
    return mixed(DANGER, CARE, 2 * part) if part < 0.5 else mixed(CARE, CALM, 2 * part - 1)


def mixed(first: Colour, second: Colour, part: float) -> Colour:
    """From the first to the second."""
    r, g, b = (round(a + (b - a) * part) for a, b in zip(first, second, strict=True))
    return r, g, b


def linear(colours: ArrayLike) -> NDArray[np.uint8]:
    """The same colours as amounts of light: what viser's page takes the colours of copies of a mesh for."""
    part = np.asarray(colours, dtype=float) / 255
    light = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return np.round(255 * light).astype(np.uint8)


def names_of(rows: int, names: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Names of so many capsules of people; where none are given, 13 in a row are a person of geometry.skeleton."""
    if names is not None and len(names) == rows:
        return tuple(names)
    return NAMES * (rows // len(NAMES)) if rows % len(NAMES) == 0 else ("",) * rows


def part_of(name: str) -> str:
    """left_hand is a hand."""
    return name.removeprefix("left_").removeprefix("right_")


def clothes(names: tuple[str, ...]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Colours of the capsules' sides (k, 3), and of both their ends (k, 2, 3)."""
    sides = np.array([_WORN.get(part_of(name), PERSON) for name in names], dtype=np.uint8).reshape(-1, 3)
    ends = np.repeat(sides[:, None], 2, axis=1)
    for k, name in enumerate(names):
        if part_of(name) == "shin":
            ends[k, 1] = SHOE
    return sides, ends
