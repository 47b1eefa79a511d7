"""People on the page: the capsules that are theirs, what they wear, and their bodies in motion (body_mesh.py).

Each capsule is a bone.  A bone is turned from the bone before it by the least turn that brings it to its direction, so
that nothing spins about its own axis.  Only the poses of the bones are sent while somebody moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...geometry.person import NAMES, SIDES
from .body_mesh import BONE, FRONT, LEFT, TORSO, UP, Lengths, RestPose, body, rest, unit
from .primitives import FAR, HEAD, HELMET, PERSON, SHOE, SLEEVE, TROUSERS, Array, copies, helmet, quaternion, seen

if TYPE_CHECKING:
    import viser

FIRST = ("head", "coworker")  # the parts that a person's capsules begin with
_WORN = {
    "head": HEAD, "torso": PERSON, "shoulders": PERSON, "upper_arm": SLEEVE, "forearm": SLEEVE, "hand": HEAD,
    "thigh": TROUSERS, "shin": TROUSERS,
}  # fmt: skip


def names_of(rows: int, names: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Names of so many capsules of people; where none are given, 13 in a row are a person of geometry.skeleton."""
    if names is not None and len(names) == rows:
        return tuple(names)
    return NAMES * (rows // len(NAMES)) if rows % len(NAMES) == 0 else ("",) * rows


def part_of(name: str) -> str:
    """The part of the body without its side: left_hand is a hand."""
    return name.removeprefix("left_").removeprefix("right_")


def clothes(names: tuple[str, ...]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Colours of the capsules' sides (k, 3), and of both their ends (k, 2, 3)."""
    sides = np.array([_WORN.get(part_of(name), PERSON) for name in names], dtype=np.uint8).reshape(-1, 3)
    ends = np.repeat(sides[:, None], 2, axis=1)
    for k, name in enumerate(names):
        if part_of(name) == "shin":
            ends[k, 1] = SHOE
    return sides, ends


def people_of(names: tuple[str, ...]) -> list[slice]:
    """Which rows are one person's."""
    starts = [
        k for k, name in enumerate(names) if part_of(name) in FIRST or (k and part_of(names[k - 1]) == "coworker")
    ]
    starts = sorted({0, *starts})
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], len(names)], strict=True)]


# ---- pose
def least_turn(u: Array, v: Array) -> Array:
    """The rotation (3, 3) by the least angle that takes the unit vector u to v."""
    axis, cosine = np.cross(u, v), float(u @ v)
    if cosine < -0.9999:  # half a turn, about any axis across
        other = np.cross(u, FRONT if abs(u[0]) < 0.9 else LEFT)
        other = other / np.linalg.norm(other)
        return 2.0 * np.outer(other, other) - np.eye(3)
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.eye(3) + K + K @ K / (1.0 + cosine)


BEFORE = {f"{side}_{part}": f"{side}_{other}" for side in SIDES
          for part, other in (("forearm", "upper_arm"), ("hand", "forearm"), ("shin", "thigh"))}  # fmt: skip
"""The bone that a bone is turned from; all others from the torso."""


def turns(rows: Array, at: RestPose) -> Array:
    """(13, 3, 3): how each bone is turned from the pose at rest, for capsules (13, 7)."""
    a, b = rows[:, :3], rows[:, 3:6]
    up = unit(a[TORSO] - b[TORSO], UP)
    left = a[BONE["shoulders"]] - b[BONE["shoulders"]]
    left = unit(left - (left @ up) * up, LEFT)
    trunk = np.stack([np.cross(left, up), left, up], axis=1)
    found = np.empty((len(NAMES), 3, 3))
    for name, k in BONE.items():  # torso before limbs, upper before lower
        before = BEFORE.get(name)
        base = found[BONE[before]] if before else trunk
        if name in ("torso", "head", "shoulders") or name.endswith("hand"):
            found[k] = base
            continue
        was = unit(at.b[k] - at.a[k], -UP)
        found[k] = least_turn(unit(base @ was, -UP), unit(b[k] - a[k], base @ was)) @ base
    return found


class _Skin(NamedTuple):
    """A piece of a person's skin on the page, and the bones that move it."""

    bones: tuple[int, ...]
    mesh: viser.MeshSkinnedHandle


class Figures:
    """People who are drawn whole, from 13 capsules each."""

    def __init__(self, scene: viser.SceneApi, people: Array) -> None:
        self._scene = scene
        self._skins: list[list[_Skin]] = [[] for _ in range(len(people) // len(NAMES))]  # none before they are seen
        self._rest: list[RestPose] = [rest(Lengths.of(self._of(people, p))) for p in range(len(self._skins))]
        self._last: Array = np.zeros(0)
        self._helmets = copies(scene, "/helmets", helmet(), len(self._skins), HELMET, size=0.112, receive_shadow=False)

    @staticmethod
    def _of(people: Array, p: int) -> Array:
        rows: Array = people[p * len(NAMES) : (p + 1) * len(NAMES)]
        return rows

    def _add(self, p: int, rows: Array) -> None:
        """The mesh of a person, once they are seen: it depends on their lengths."""
        lengths = Lengths.of(rows)
        self._rest[p] = at = rest(lengths)
        for k, piece in enumerate(body(lengths)):
            mesh = self._scene.add_mesh_skinned(
                f"/people/{p}/{k}",
                piece.vertices,
                piece.faces,
                bone_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (len(piece.bones), 1)),
                bone_positions=at.a[list(piece.bones)],
                skin_weights=piece.weights,
                color=piece.colour,
            )
            self._skins[p].append(_Skin(piece.bones, mesh))

    def show(self, people: Array, shown: bool = True) -> None:
        """People (13 each, 7) as they are."""
        now = np.append(people.ravel(), float(shown))
        if np.array_equal(now, self._last):
            return
        self._last = now
        places, heads = [], []
        for p in range(len(self._skins)):
            rows = self._of(people, p)
            there = bool((np.abs(rows) < FAR).all()) and shown
            if there and not self._skins[p]:
                self._add(p, rows)
            found = turns(rows, self._rest[p]) if there else np.tile(np.eye(3), (len(NAMES), 1, 1))
            self._pose(p, rows, [quaternion(turn) for turn in found] if there else None)
            head = found[BONE["head"]]
            at = rows[BONE["head"], :3] + head @ np.array([-0.012, 0.0, 0.028]) if there else [0.0, 0.0, -50.0]
            places.append(at)
            heads.append(quaternion(head))
        self._helmets.batched_positions = np.array(places, dtype=np.float32)
        self._helmets.batched_wxyzs = np.array(heads, dtype=np.float32)

    def _pose(self, p: int, rows: Array, turned: list[Array] | None) -> None:
        """Moves the bones of a person; None: they are not there."""
        for bones, mesh in self._skins[p]:
            seen(mesh, turned is not None)
            if turned is None:
                continue
            for k, bone in zip(bones, mesh.bones, strict=True):
                if not np.array_equal(bone.position, rows[k, :3]):
                    bone.position = rows[k, :3]
                if not np.array_equal(bone.wxyz, turned[k]):
                    bone.wxyz = turned[k]
