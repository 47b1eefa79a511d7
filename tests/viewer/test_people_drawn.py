"""People drawn whole: the surface of a shape, its skin, and the bones that move it."""

from __future__ import annotations

import numpy as np
import pytest
from fake_page import Server
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from elbowroom.geometry import PARKED, Person, Sizes
from elbowroom.geometry.person import NAMES
from elbowroom.viewer.scene3d import body_mesh as figures
from elbowroom.viewer.scene3d.body_mesh import BONE, Lengths, body, rest, split, surface
from elbowroom.viewer.scene3d.people import Figures, least_turn, turns

STEP = 0.05


def standing(**more):
    return Person.standing((0.3, -0.2, 0.0), **more).rows[:, :7].copy()


def reaching():
    """Somebody whose left arm is stretched forwards, and whose body leans."""
    rows = standing()
    for name, a, b in (("upper_arm", (0, 0, 0), (0.34, 0, 0)), ("forearm", (0.34, 0, 0), (0.6, 0, 0.05))):
        shoulder = rows[BONE["shoulders"], :3].copy()
        rows[BONE[f"left_{name}"], :6] = [*(shoulder + a), *(shoulder + b)]
    rows[BONE["left_hand"], :6] = np.tile(rows[BONE["shoulders"], :3] + [0.69, 0, 0.06], 2)
    return rows


def volume(vertices, faces):
    """By the divergence theorem."""
    a, b, c = (vertices[faces[:, k]].astype(float) for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def skinned(piece, at, rows, found):
    """A piece's corners, moved as the page moves them."""
    v = piece.vertices.astype(float)
    places = [rows[k, :3] + (v - at.a[k]) @ found[k].T for k in piece.bones]
    return np.einsum("bvi,vb->vi", np.array(places), piece.weights.astype(float))


def test_a_surface_is_closed_and_has_the_volume_of_its_ball():
    axes = [np.arange(-0.7, 0.7, STEP)] * 3
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    vertices, faces = surface(np.linalg.norm(grid, axis=-1) - 0.5, np.full(3, -0.7), STEP)
    edges = {}
    for face in faces:
        for i in range(3):
            edge = (int(face[i]), int(face[(i + 1) % 3]))
            edges[edge] = edges.get(edge, 0) + 1
    assert all(count == 1 and edges.get(edge[::-1]) == 1 for edge, count in edges.items())  # each once from either side
    chord = 3 * STEP**2 / (8 * 0.5)  # across a cell: how far it is inside the ball
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 0.5, atol=chord)
    assert volume(vertices, faces) == pytest.approx(4 / 3 * np.pi * 0.125, rel=0.02)


def test_a_surface_that_is_split_along_a_line_stays_closed_and_no_triangle_lies_across():
    axes = [np.arange(-0.7, 0.7, STEP)] * 3
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    whole = surface(np.linalg.norm(grid, axis=-1) - 0.5, np.full(3, -0.7), STEP)
    normal = np.array([0.3, 0.2, 0.9])
    vertices, faces = split(*whole, whole[0] @ normal - 0.11)
    corners = (vertices @ normal - 0.11)[faces]
    on = 1e-6  # m: corners are kept as 32-bit numbers
    assert ((corners > -on).all(axis=1) | (corners < on).all(axis=1)).all()
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    assert len(np.unique(edges, axis=0)) == len(edges)
    assert {tuple(edge) for edge in edges} == {tuple(edge) for edge in edges[:, ::-1]}
    assert len(faces) > len(whole[1])
    shift = 0.15 * STEP * 3**0.5  # m: a corner near the line is moved along its edge, in its own surface
    assert abs(volume(vertices, faces) - volume(*whole)) < np.pi * shift * STEP  # about the ring that was cut


def test_a_person_is_whole_and_of_a_persons_volume():
    pieces = body(Lengths.of(standing()))
    litres = 1000 * sum(volume(piece.vertices - [0, 0, 0.9], piece.faces) for piece in pieces)
    assert 55 < litres < 105  # of men from 60 to 100 kg in clothes; pieces are one closed surface together
    tall = np.concatenate([piece.vertices for piece in pieces])
    assert np.ptp(tall[:, 2]) == pytest.approx(1.8, abs=0.06)
    assert {piece.colour for piece in pieces} == {
        figures.HEAD, figures.PERSON, figures.TROUSERS, figures.SHOE, figures.TAPE,
    }  # fmt: skip
    for piece in pieces:
        np.testing.assert_allclose(piece.weights.sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("rows", [standing(), standing(height=1.6), reaching()], ids=["standing", "small", "reaching"])
def test_nothing_of_a_person_sticks_out_of_the_capsules_but_feet(rows):
    """What is drawn must not be nearer to the arm than what it keeps clear of."""
    lengths = Lengths.of(rows)
    at, found = rest(lengths), turns(rows, rest(lengths))
    a, b, radius = rows[:, :3], rows[:, 3:6], rows[:, 6]
    for piece in body(lengths):
        if piece.colour == figures.SHOE:  # geometry.Sizes: feet beyond the ankles are not covered
            continue
        points = skinned(piece, at, rows, found)
        way = b - a
        square = np.maximum((way**2).sum(axis=1), 1e-12)
        part = np.clip(np.einsum("vki,ki->vk", points[:, None] - a, way) / square, 0, 1)
        off = np.linalg.norm(points[:, None] - a - part[..., None] * way, axis=2) - radius
        assert off.min(axis=1).max() < 0.012  # lengths are taken to the centimetre


def test_bones_go_where_the_capsules_are():
    rows = reaching()
    at = rest(Lengths.of(rows))
    found = turns(rows, at)
    for name in NAMES:
        k = BONE[name]
        np.testing.assert_allclose(found[k] @ found[k].T, np.eye(3), atol=1e-9)
        if name in ("head", "torso", "shoulders") or name.endswith("hand"):
            continue
        was, now = at.b[k] - at.a[k], rows[k, 3:6] - rows[k, :3]
        np.testing.assert_allclose(
            found[k] @ was / np.linalg.norm(was), now / np.linalg.norm(now), atol=1e-6, err_msg=name
        )


UNIT = arrays(float, 3, elements=st.floats(-1, 1)).filter(lambda v: np.linalg.norm(v) > 0.1)


@given(UNIT, UNIT)
def test_the_least_turn_takes_one_direction_to_the_other(u, v):
    u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
    R = least_turn(u, v)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-6)
    np.testing.assert_allclose(R @ u, v, atol=0.02 if u @ v < -0.9999 else 1e-9)  # next to half a turn: half a turn
    angle = np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1))
    assert angle == pytest.approx(np.arccos(np.clip(u @ v, -1, 1)), abs=0.02)


def test_who_leaves_is_not_shown_and_who_comes_back_is():
    scene = Server().scene
    people = standing()
    shown = Figures(scene, people)
    shown.show(people)
    meshes = [thing for name, thing in scene.things.items() if name.startswith("/people/0/") and "bone" not in name]
    assert meshes
    assert all(mesh.visible for mesh in meshes)
    gone = np.tile(PARKED[:7], (13, 1))
    shown.show(gone)
    assert not any(mesh.visible for mesh in meshes)
    shown.show(people)
    assert all(mesh.visible for mesh in meshes)
    shown.show(people, shown=False)
    assert not any(mesh.visible for mesh in meshes)


def test_lengths_are_those_of_the_capsules():
    lengths = Lengths.of(standing())
    assert lengths.height == pytest.approx(1.8, abs=0.05)
    assert lengths.hips == pytest.approx(Sizes().hip_width, abs=0.01)
