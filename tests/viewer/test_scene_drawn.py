"""What the page shows: shapes, turns, colours; capsules in batches, people, marks, shells, meshes; and sentences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fake_page import Server, at_work, person, sentence, snapshot
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from elbowroom.avoidance import Workspace
from elbowroom.errors import ModelWarning
from elbowroom.geometry import PARKED
from elbowroom.geometry.person import NAMES
from elbowroom.model.visuals import Visual
from elbowroom.viewer.scene3d import overlays, scene
from elbowroom.viewer.scene3d import primitives as solids
from elbowroom.viewer.scene3d.people import clothes, names_of, people_of
from elbowroom.viewer.scene3d.primitives import CALM, CARE, DANGER, capsule, colour_of, turned
from elbowroom.viewer.scene3d.scene import PageScene
from elbowroom.viewer.session.setup import ShownSettings
from elbowroom.viewer.snapshot import Nearest

EYE = tuple(map(tuple, np.eye(4)))


# --- Shapes ---


def outward(vertices, faces, within=(0.0, 0.0, 0.0)):
    """Whether no face looks at an inner point; those without area look nowhere."""
    a, b, c = (vertices[faces[:, k]].astype(float) for k in range(3))
    return (np.einsum("ij,ij->i", np.cross(b - a, c - a), (a + b + c) / 3 - within) >= -1e-9).all()


@pytest.mark.parametrize(("length", "radius"), [(0.3, 0.05), (0.0, 0.1), (1.0, 0.01)])
def test_a_capsule_is_closed_and_has_its_size(length, radius):
    vertices, faces = capsule(length, radius)
    top = length / 2 + radius
    np.testing.assert_allclose([vertices[:, 2].min(), vertices[:, 2].max()], [-top, top], atol=1e-6)
    along = np.clip(vertices[:, 2], -length / 2, length / 2)
    off = np.linalg.norm(vertices - np.stack([0 * along, 0 * along, along], axis=1), axis=1)
    np.testing.assert_allclose(off, radius, rtol=1e-5)  # every corner on the surface; float32
    assert faces.max() < len(vertices)
    assert outward(vertices, faces)


@pytest.mark.parametrize(
    ("solid", "volume"),
    [
        (solids.box(0.2, 0.4, 0.6), 0.048),
        (solids.cylinder(0.1, 0.5), 0.005 * np.pi),
        (solids.ball(), 4 / 3 * np.pi),
        (solids.capsule(0.3, 0.05), np.pi * 0.0025 * (0.3 + 0.2 / 3)),
    ],
)
def test_solids_are_convex_closed_and_of_their_volume(solid, volume):
    vertices, faces = solid
    assert outward(vertices, faces)
    a, b, c = (vertices[faces[:, k]].astype(float) for k in range(3))
    # by the divergence theorem; 32 corners of a circle leave out 0.6 % of its area, and a ball's rings as much again
    assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6 == pytest.approx(volume, rel=0.02)


@pytest.mark.parametrize(
    "solid", [solids.helmet(), solids.gripper(0.08), solids.ring(0.3, 0.4, 0.01), solids.dome(1.0)]
)
def test_other_solids_are_whole(solid):
    vertices, faces = solid
    assert vertices.dtype == np.float32
    assert np.isfinite(vertices).all()
    assert faces.max() < len(vertices)
    assert len(np.unique(faces)) == len(vertices)


def turned_z(q):
    w, x, y, z = np.moveaxis(q, -1, 0)
    return np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=-1)


@given(arrays(float, (3, 3), elements=st.floats(-1, 1)))
def test_z_is_turned_to_the_axes(axes):
    found = turned(axes)
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1.0)
    for axis, q in zip(axes, found, strict=True):
        np.testing.assert_array_equal(q, turned(axis))
        if np.linalg.norm(axis) > 1e-6:
            np.testing.assert_allclose(turned_z(q), axis / np.linalg.norm(axis), atol=1e-6)


@pytest.mark.parametrize("axis", [(0, 0, -1.0), (0, 0, 1.0), (1e-8, 0, -1.0), (0, 0, 0)])
def test_straight_up_and_down(axis):
    expected = np.array(axis) if any(axis) else np.array([0, 0, 1.0])
    np.testing.assert_allclose(turned_z(turned(np.array(axis, dtype=float))), expected, atol=1e-6)


@given(arrays(float, 4, elements=st.floats(-1, 1)).filter(lambda q: np.linalg.norm(q) > 0.1))
def test_a_rotation_and_its_quaternion(q):
    w, x, y, z = q / np.linalg.norm(q)
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    found = solids.quaternion(R)
    # the sign is free; 1e-7: near a half turn a difference of numbers near one is divided by a small one
    assert abs(found @ np.array([w, x, y, z])) == pytest.approx(1.0, abs=1e-7)


# --- Colours ---


def test_near_is_red_and_far_is_green():
    assert [colour_of(d) for d in (-0.1, 0.1, 0.25, 0.5)] == [DANGER, DANGER, CARE, CALM]
    assert colour_of(float("nan")) == colour_of(float("inf")) == CALM
    reds = [colour_of(d)[1] for d in np.linspace(0.1, 0.25, 20)]
    assert reds == sorted(reds)


def test_who_wears_what():
    assert names_of(13) == NAMES
    assert names_of(2) == ("", "")
    assert names_of(2, ("coworker", "head")) == ("coworker", "head")
    assert names_of(26, ("too", "few")) == NAMES * 2
    sides, ends = clothes(NAMES)
    assert tuple(sides[NAMES.index("left_hand")]) != tuple(sides[NAMES.index("left_forearm")])
    shin = NAMES.index("left_shin")
    assert tuple(ends[shin, 1]) != tuple(ends[shin, 0]) == tuple(sides[shin])


# --- The stage ---


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def stage(server):
    return PageScene(server)


def test_capsules_stand_where_the_rows_say(server, stage):
    shown = snapshot()
    stage.figures = False
    stage.show(shown)
    things = server.scene.things
    for name, rows in (("/arm", shown.arm), ("/people", shown.people)):
        tubes, balls = things[f"{name}/tubes"], things[f"{name}/balls"]
        k = len(rows)
        np.testing.assert_allclose(balls.batched_positions.reshape(k, 6), rows[:, :6], atol=1e-6)
        np.testing.assert_allclose(balls.batched_scales.reshape(k, 6), np.repeat(rows[:, 6:], 6, axis=1), rtol=1e-6)
        ends = tubes.batched_positions[:k] + 0.5 * tubes.batched_scales[:k, 2:] * turned_z(tubes.batched_wxyzs[:k])
        np.testing.assert_allclose(ends, rows[:, 3:6], atol=1e-5)  # float32
        np.testing.assert_allclose(tubes.batched_scales[:k, 0], rows[:, 6], rtol=1e-6)


def test_moving_makes_nothing_new_and_sends_little(server, stage):
    stage.show(snapshot())
    made, rng = server.scene.made, np.random.default_rng(0)
    sent = server.scene.sent
    for k in range(1, 11):
        rows = person(x=1.0 + 0.01 * k)
        rows[:, 3:6] += rng.normal(0, 0.003, (13, 3))  # limbs of recorded people change their lengths
        arm = snapshot().arm + 0.001 * k
        stage.show(snapshot(people=rows, arm=arm, t=0.03 * k, tool=np.array([0.4 + 0.01 * k, 0, 0.5])))
    assert server.scene.made == made
    # assignments for each picture, whatever the number of the arm's capsules; and place and turn of a person's bones
    bones = sum("/bone" in name for name in server.scene.things)
    assert (server.scene.sent - sent) / 10 < 25 + 2 * bones
    before = server.scene.sent
    stage.show(snapshot(people=rows, arm=arm, t=0.3, tool=np.array([0.5, 0, 0.5])))
    assert server.scene.sent - before < 10  # nothing has moved


def test_who_is_not_there_is_not_shown(server, stage):
    rows = person()
    rows[:] = PARKED[:7]
    rows[3] = np.nan
    stage.show(snapshot(people=rows, nearest=None))
    for part in ("tubes", "balls"):
        thing = server.scene.things[f"/people/{part}"]
        assert np.isfinite(thing.batched_positions).all()
        assert np.abs(thing.batched_positions).max() < 100
        assert thing.batched_scales.max() < 1e-5


def test_helmets_look_where_people_do(server, stage):
    stage.show(snapshot())
    helmet = server.scene.things["/helmets"]
    w, x, y, z = helmet.batched_wxyzs[0]
    front = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]
    np.testing.assert_allclose(front, [1.0, 0.0, 0.0], atol=1e-5)  # Person.standing looks along x
    np.testing.assert_allclose(helmet.batched_positions[0], person()[0, :3], atol=0.04)  # on top of the head


def test_another_scene_is_built_anew(server, stage):
    stage.show(snapshot())
    old = server.scene.things["/people/balls"]
    stage.show(snapshot(generation=2, people=np.zeros((0, 7)), nearest=None))
    assert old.removed
    assert not [name for name in server.scene.things if name.startswith("/people")]
    assert stage.generation == 2
    stage.show(snapshot(generation=2))  # somebody more, without a word
    assert "/people/balls" in server.scene.things


def test_a_snapshot_may_lack_what_not_every_source_has(server, stage):
    stage.shells = True
    stage.show(snapshot(tool_pose=None, arm_links=None, hands={}, hand_offsets={}, shown=ShownSettings()))
    assert not server.scene.things["/marks/tool/open"].visible


@pytest.mark.parametrize("floor", [0.0, -0.75])
@pytest.mark.parametrize("size", [(1110, 900), (570, 700), (1700, 500)])
@pytest.mark.parametrize("early", [True, False])
def test_arm_and_person_are_in_view_in_a_window_of_any_shape(server, stage, floor, size, early):
    shown = snapshot(floor=floor, people=person() + np.array([0, 0, floor + 0.75] * 2 + [0]))
    page = server.connect(*size) if early else None
    stage.show(shown)
    camera = (server.connect(*size) if page is None else page).camera
    inside = in_view(camera, shown, size[0] / size[1])
    assert inside.max() < 1.0  # nobody is cut off
    assert inside.max() > 0.7  # nor far away


def in_view(camera, shown, aspect):
    """How far from the middle of the window the ends of all capsules are, 1 at its edges."""
    eye, middle = np.array(camera.position), np.array(camera.look_at)
    ahead = (middle - eye) / np.linalg.norm(middle - eye)
    right = np.cross(ahead, (0, 0, 1)) / np.linalg.norm(np.cross(ahead, (0, 0, 1)))
    ends = np.concatenate([rows[:, k : k + 3] for rows in (shown.arm, shown.people) for k in (0, 3)]) - eye
    deep = np.tan(camera.fov / 2) * (ends @ ahead)
    assert (deep > 0).all()
    return np.maximum(np.abs(ends @ right) / (aspect * deep), np.abs(ends @ np.cross(right, ahead)) / deep)


def test_another_scene_is_framed_anew_and_another_controller_is_not(server, stage):
    page = server.connect(1110, 900)
    stage.show(snapshot(shown=ShownSettings("cell", "panda")))
    page.camera.position = np.array([9.0, 9.0, 9.0])  # somebody turned it
    stage.show(snapshot(generation=2, shown=ShownSettings("cell", "panda")))
    assert page.camera.position[0] == 9.0
    stage.show(snapshot(generation=3, shown=ShownSettings("test 3", "panda")))
    assert page.camera.position[0] != 9.0


@pytest.mark.parametrize("name", scene.FROM)
def test_every_preset_looks_at_the_cell(server, stage, name):
    page = server.connect(1110, 900)
    shown = snapshot()
    stage.show(shown)
    stage.look(page, name)
    away = np.array(page.camera.position) - np.array(page.camera.look_at)
    way = np.array(scene.FROM[name])
    np.testing.assert_allclose(away / np.linalg.norm(away), way / np.linalg.norm(way), atol=1e-9)
    if name == "tool":
        np.testing.assert_allclose(page.camera.look_at, shown.tool)


def test_objects_come_and_go(server, stage):
    for count in (2, 3, 0, 1):
        stage.show(snapshot(objects=np.ones((count, 3))))
        assert ("/objects" in server.scene.things) == (count > 0)
        if count:
            assert len(server.scene.things["/objects"].batched_positions) == count


def test_the_path_fades_and_begins_anew(server, stage):
    for k in range(5):
        stage.show(snapshot(t=0.1 * k, tool=np.array([0.1 * k, 0.0, 0.0])))
    path = server.scene.things["/marks/path"]
    np.testing.assert_allclose(path.points[-1], [[0.3, 0, 0], [0.4, 0, 0]], atol=1e-6)
    assert len(path.points) == overlays.TRAIL  # as many as there are colours
    assert tuple(path.colors[0, 0]) != tuple(path.colors[-1, 1])
    stage.show(snapshot(t=0.1, tool=np.array([0.1, 0.0, 0.0])))  # back in time
    assert not path.visible


def test_arrows_are_drawn_where_something_pushes(server, stage):
    stage.show(snapshot(repulsion=np.array([0.0, 0.5, 0.0]), attraction=np.zeros(3)))
    push, pull = server.scene.things["/marks/push"], server.scene.things["/marks/pull"]
    assert (push.visible, pull.visible) == (True, False)
    np.testing.assert_allclose(push.points[0], [[0.4, 0, 0.5], [0.4, 0.5 * overlays.SCALE, 0.5]], atol=1e-6)


def test_the_least_distance_is_between_surfaces():
    arm, people = np.array([[0, 0, 0, 0, 0, 1, 0.1]]), np.array([[1, 0, 0, 1, 0, 1, 0.2]])
    ends = overlays.surfaces(arm, people, np.array([0, 0, 0.5]), np.array([1, 0, 0.5]))
    np.testing.assert_allclose(ends, [[0.1, 0, 0.5], [0.8, 0, 0.5]], atol=1e-12)
    into = overlays.surfaces(arm, people, np.array([0, 0, 0.5]), np.array([0.25, 0, 0.5]))
    np.testing.assert_array_equal(into, [[0, 0, 0.5], [0.25, 0, 0.5]])  # they overlap


def test_the_line_is_labelled_coloured_and_hidden(server, stage):
    stage.show(snapshot(distance=0.05))
    least, label = server.scene.things["/marks/least"], server.scene.things["/marks/label"]
    assert (tuple(least.colors), label.text) == (DANGER, "0.05 m")
    for nothing in (
        {"nearest": None},
        {"distance": 5.0},
        {"nearest": Nearest(np.full(3, np.nan), np.zeros(3), "", "")},
    ):
        stage.show(snapshot(**nothing))
        assert not least.visible
        assert not label.visible


# --- Shells ---


def test_shells_on_demand(server, stage):
    wanted = Workspace(floor=-0.5, inner=0.3, outer=0.9, center=(0.0, 0.0, 0.3))
    stage.show(snapshot(workspace=wanted))
    assert not [name for name in server.scene.things if name.startswith("/shells")]
    stage.shells = True
    stage.show(snapshot(workspace=wanted))
    parts = {name.removeprefix("/shells/") for name in server.scene.things if name.startswith("/shells")}
    assert {"workspace/inner", "workspace/outer", "workspace/floor", "people/0"} <= parts
    outer = server.scene.things["/shells/workspace/outer"]
    assert outer.vertices[:, 2].min() == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(np.linalg.norm(outer.vertices, axis=1), 0.9, rtol=1e-5)
    stage.show(snapshot(workspace=replace(wanted, inner=None, outer=1.2)))
    assert "/shells/workspace/inner" not in server.scene.things
    assert server.scene.things["/shells/workspace/outer"].vertices.max() == pytest.approx(1.2)
    stage.shells = False
    stage.show(snapshot(workspace=wanted))
    assert not [name for name in server.scene.things if name.startswith("/shells")]


def test_a_person_who_only_walks_has_one_surface(server, stage):
    stage.shells = True
    for k in range(9):
        stage.show(snapshot(people=person(x=1.0 + 0.1 * k), t=0.1 * k))
    around = server.scene.things["/shells/people/0"]
    assert around.sent == 8  # its place, each time; no new triangles
    assert around.position[0] == pytest.approx(1.8)


@given(arrays(float, (4, 2, 3), elements=st.floats(-0.3, 0.3)), st.floats(0.1, 0.5))
def test_the_surface_round_a_person_is_at_the_distance(ends, influence):
    directions = solids.ball(12)[0].astype(float)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    a, b = ends[:, 0], ends[:, 1]
    a = a - 0.5 * (a[0] + b[0])  # the origin is in the first
    b = b - 0.5 * (ends[0, 0] + ends[0, 1])
    radii = np.full(4, influence)
    s = overlays.around(a, b, radii, directions)
    points = directions * s[:, None]
    part = np.clip(np.einsum("mij,ij->mi", points[:, None] - a, b - a) / np.maximum(((b - a) ** 2).sum(1), 1e-12), 0, 1)
    gap = (np.linalg.norm(points[:, None] - a - part[..., None] * (b - a), axis=-1) - radii).min(axis=1)
    # a ray along a capsule comes near in ever smaller steps and is left after STEPS of them, within a few centimetres
    assert (gap > -1e-6).all()
    assert (gap < 0.05).all()
    assert np.median(gap) < overlays.ENOUGH


def test_people_are_told_apart():
    assert people_of(("coworker", *NAMES, "coworker")) == [slice(0, 1), slice(1, 14), slice(14, 15)]
    assert people_of(NAMES * 2) == [slice(0, 13), slice(13, 26)]
    assert people_of(("",)) == [slice(0, 1)]


# --- Meshes ---


def visual(link, kind="box", size=(0.1, 0.1, 0.1), **more):
    return Visual("some", link, kind, size, EYE, **more)


def scales(server, row):
    return server.scene.things["/arm/balls"].batched_scales.reshape(-1, 2, 3)[row].max()


def test_meshes_replace_the_capsules_of_their_links(server, stage):
    poses = np.tile(np.eye(4), (2, 1, 1))
    poses[1, :3, 3] = (0.0, 0.0, 0.4)
    shown = snapshot(visuals=(visual(1, colour=(1.0, 0.0, 0.0, 0.5)),), poses=poses)
    stage.show(shown)
    thing = server.scene.things["/looks/1/0_0"]
    assert (thing.color, thing.opacity) == ((255, 0, 0), 0.5)
    np.testing.assert_allclose(server.scene.things["/looks/1"].position, (0.0, 0.0, 0.4))
    assert scales(server, 0) > 0.01  # the base has no visual
    assert scales(server, 1) < 1e-5
    stage.meshes = False
    stage.show(shown)
    assert not server.scene.things["/looks/1"].visible
    assert scales(server, 1) > 0.01
    stage.meshes = True
    stage.show(shown)
    assert server.scene.things["/looks/1"].visible
    assert stage.problem == ""


def test_a_mesh_that_fails_is_named_and_its_capsules_shown(server, stage, tmp_path):
    bad = tmp_path / "bad.stl"
    bad.write_bytes(b"nothing of the kind")
    poses = np.tile(np.eye(4), (2, 1, 1))
    visuals = (visual(0), visual(1), visual(1, "mesh", (1.0, 1.0, 1.0), mesh=str(bad)))
    with pytest.warns(ModelWarning, match=r"bad\.stl"):
        stage.show(snapshot(visuals=visuals, poses=poses))
    assert "bad.stl" in stage.problem
    assert scales(server, 0) < 1e-5
    assert scales(server, 1) > 0.01


def test_the_page_can_say_why_a_mesh_is_missing(server, stage, recwarn):
    """Whoever read the URDF has warned on the terminal; the reason comes with the picture."""
    poses = np.tile(np.eye(4), (2, 1, 1))
    lost = visual(1, "missing", (), reason="link 'fore': mesh 'gone.stl': not found in the model's folder")
    stage.show(snapshot(visuals=(visual(0), lost), poses=poses))
    assert stage.problem == f"not drawn, capsules are shown instead: {lost.reason}"
    assert scales(server, 1) > 0.01
    assert not recwarn.list  # not a second time
    stage.show(snapshot(generation=2, visuals=(visual(0), *12 * [lost]), poses=poses))
    assert stage.problem.endswith("; and 2 more")
    stage.show(snapshot(generation=3, visuals=(visual(0),), poses=poses))
    assert stage.problem == ""


def test_shapes_of_visuals_have_their_sizes(server, stage):
    poses = np.tile(np.eye(4), (2, 1, 1))
    shapes = (("sphere", (0.2,)), ("cylinder", (0.1, 0.6)), ("capsule", (0.1, 0.4)), ("box", (0.2, 0.2, 0.6)))
    stage.show(snapshot(visuals=tuple(visual(0, kind, size) for kind, size in shapes), poses=poses))
    tops = [server.scene.things[f"/looks/0/{k}_0"].vertices[:, 2].max() for k in range(4)]
    np.testing.assert_allclose(tops, [0.2, 0.3, 0.3, 0.3], rtol=1e-6)


# --- Sentences ---


def seen(**changes):
    return sentence(at_work(**changes))


def test_plain_sentences():
    assert seen(status="AVOIDING") == "avoiding: left hand 0.43 m from wrist"
    assert seen(status="SLOWING_HUMAN", law_status="AVOIDING") == "avoiding: left hand 0.43 m from wrist"
    assert seen() == "working: to object, left hand 0.43 m from wrist"
    assert seen(status="AVOIDING", waited=12.3) == "waiting for room: left hand 0.43 m from wrist"
    assert seen(status="AVOIDING", waited=0.5) == "avoiding: left hand 0.43 m from wrist"
    assert seen(running=False, waited=12.3) == "paused"
    assert seen(running=False) == "paused"
    assert seen(stopped=True, reason="a person is <b>near</b>") == "stopped: a person is &lt;b&gt;near&lt;/b&gt;"
    assert seen(status="SLOWING_LIMIT") == "working, slowed by the arm's own limits"
    assert "<script>" not in seen(state="<script>")
