"""Capsules from a URDF's collision geometry: covering shapes, mesh files, frames, and what cannot be used."""

from __future__ import annotations

import os
import struct
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from elbowroom.errors import ModelError, ModelNotice, ModelWarning
from elbowroom.model import meshes, urdf
from elbowroom.model.capsules import (
    MOST_PIECES,
    WORTH,
    covering_capsule,
    covering_capsules,
    covering_cylinder,
    distance_to_segment,
    starts,
)
from elbowroom.model.rotations import pose, rpy
from strategies import examples

INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'
CORNERS = np.array(np.meshgrid([0.0, 0.1], [0.0, 0.2], [0.0, 0.5])).reshape(3, -1).T


def collision(geometry: str, origin: str = "") -> str:
    return f"<collision><origin {origin}/><geometry>{geometry}</geometry></collision>"


def arm(shape: str, base: str = "", axis: str = "0 0 1", rest: str = "") -> str:
    return f"""<robot name="toy"><link name="base">{base}</link><link name="arm">{INERTIAL}{shape}</link>
        <joint name="turn" type="revolute"><origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><parent link="base"/>
        <child link="arm"/><axis xyz="{axis}"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
        {rest}</robot>"""


def only(text: str):
    (capsule,) = urdf.parse(text).capsules
    return capsule


# --- Covering ---


@examples(40)
@given(arrays(float, st.tuples(st.integers(1, 30), st.just(3)), elements=st.floats(-1, 1, width=32)))
def test_every_point_lies_in_its_capsule(points):
    """1e-12: the radius is the greatest distance itself, computed once more here."""
    cover = covering_capsule(points)
    assert distance_to_segment(points, cover.a, cover.b).max() <= cover.radius + 1e-12


def test_a_capsule_is_found_again():
    """Points of a capsule's own surface: the radius to 3 %, the ends to as much of the length."""
    random = np.random.default_rng(0)
    directions = random.normal(size=(3000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    a, b = np.array([0.1, -0.2, 0.3]), np.array([0.4, 0.5, -0.1])
    side = (directions @ (b - a) > 0)[:, None]
    points = np.where(side, b, a) + 0.1 * directions
    cover = covering_capsule(points)
    assert cover.radius == pytest.approx(0.1, rel=0.03)
    ends = sorted([cover.a, cover.b], key=lambda p: p[0])
    np.testing.assert_allclose(ends, [a, b], atol=0.03 * np.linalg.norm(b - a))


def test_many_points_are_covered_as_few_are():
    random = np.random.default_rng(1)
    points = random.uniform(-1, 1, (20_000, 3)) * [0.1, 0.2, 0.5]
    cover = covering_capsule(points)
    assert distance_to_segment(points, cover.a, cover.b).max() <= cover.radius + 1e-12
    few = covering_capsule(np.array(np.meshgrid([-0.1, 0.1], [-0.2, 0.2], [-0.5, 0.5])).reshape(3, -1).T)
    assert cover.volume < 1.1 * few.volume  # the box itself: its corners say almost all


def test_a_cylinder_in_closed_form():
    """The rims lie on the surface, and no other axis length gives less volume."""
    cover = covering_cylinder(0.1, 0.5)
    half = cover.b[2]
    assert cover.radius == pytest.approx(np.hypot(0.1, 0.25 - half))

    def volume(h):
        r = np.hypot(0.1, 0.25 - h)
        return np.pi * r**2 * (2 * h + 4 / 3 * r)

    assert all(cover.volume <= volume(h) * (1 + 1e-3) for h in np.linspace(0, 0.25, 50))  # 200 lengths are tried
    assert covering_cylinder(0.1, 1e-3).radius < 0.1001  # a disc becomes a sphere


def test_the_fit_is_never_larger_than_what_it_began_with():
    """The ball about the points, and the capsules along their principal axes."""
    random = np.random.default_rng(2)
    for _ in range(20):
        points = random.normal(size=(400, 3)) * random.uniform(0.02, 0.5, 3) + random.uniform(-1, 1, 3)
        found = covering_capsule(points)
        began = starts(points, points)
        assert len(began) == 4
        assert all(found.volume <= start.volume for start in began)
        assert any(found.volume < 0.999 * start.volume for start in began)


@pytest.mark.slow
def test_the_fit_is_near_the_least_volume():
    """Against a general optimiser from many starts: within 5 % on average, 15 % at worst."""
    optimize = pytest.importorskip("scipy.optimize")
    random = np.random.default_rng(3)
    ratios = []
    for _ in range(6):
        points = random.uniform(-1, 1, (60, 3)) * random.uniform(0.1, 1.0, 3)

        def volume(ends, points=points):
            r = distance_to_segment(points, ends[:3], ends[3:]).max()
            return np.pi * r**2 * (np.linalg.norm(ends[3:] - ends[:3]) + 4 / 3 * r)

        tried = [
            optimize.minimize(volume, random.normal(size=6), method="Nelder-Mead", options={"maxiter": 1500}).fun
            for _ in range(8)
        ]
        ratios.append(covering_capsule(points).volume / min(tried))
    assert np.mean(ratios) < 1.05
    assert max(ratios) < 1.15


def elbow(arm: float = 0.5, thick: float = 0.08):
    """An L of two boxes as one mesh: vertices, triangles."""
    from elbowroom.viewer.scene3d import primitives as solids

    (a, f), (b, g) = solids.box(arm, thick, thick), solids.box(thick, thick, arm)
    a, b = a + np.array([arm / 2, 0, 0]), b + np.array([0, 0, arm / 2])
    return np.concatenate([a, b]), np.concatenate([f, g + len(a)])


def edges_of(faces):
    return faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)


def test_a_bent_part_gets_several_capsules_that_hold_all_of_its_surface():
    vertices, faces = elbow()
    one = covering_capsule(vertices)
    found = covering_capsules(vertices, edges_of(faces))
    assert 2 <= len(found) <= MOST_PIECES
    assert sum(cover.volume for cover in found) < WORTH * one.volume
    weights = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    points = np.einsum("kc,fcd->fkd", weights, vertices[faces]).reshape(-1, 3)  # anywhere on the triangles
    away = [distance_to_segment(points, cover.a, cover.b) - cover.radius for cover in found]
    assert np.min(away, axis=0).max() <= 1e-9  # rounding of the points


def test_a_straight_part_keeps_one_capsule():
    from elbowroom.viewer.scene3d import primitives as solids

    vertices, faces = solids.capsule(0.5, 0.1)
    assert len(covering_capsules(vertices, edges_of(faces))) == 1


# --- Shapes ---


def test_sphere_and_capsule_are_themselves():
    ball = only(arm(collision('<sphere radius="0.2"/>', 'xyz="1 2 3"')))
    assert (ball.name, ball.link, ball.a, ball.b, ball.radius) == ("arm", 0, (1, 2, 3), (1, 2, 3), 0.2)
    rod = only(arm(collision('<capsule radius="0.2" length="0.6"/>', 'rpy="1.5707963267948966 0 0"')))
    np.testing.assert_allclose(sorted([rod.a, rod.b]), [(0, -0.3, 0), (0, 0.3, 0)], atol=1e-15)
    assert rod.radius == 0.2


def test_a_box_lies_in_its_capsule():
    capsule = only(arm(collision('<box size="0.1 0.2 0.5"/>', 'xyz="0.05 0.1 0.25"')))
    d = distance_to_segment(CORNERS, np.array(capsule.a), np.array(capsule.b))
    assert d.max() <= capsule.radius + 1e-12  # rounding of the placement
    assert capsule.radius < 0.13  # half the diagonal of its ends is 0.112


def test_a_cylinder_lies_in_its_capsule():
    capsule = only(arm(collision('<cylinder radius="0.1" length="0.4"/>')))
    rim = np.array([[0.1 * np.cos(t), 0.1 * np.sin(t), z] for t in np.linspace(0, 6, 20) for z in (-0.2, 0.2)])
    d = distance_to_segment(rim, np.array(capsule.a), np.array(capsule.b))
    assert d.max() <= capsule.radius + 1e-12


def test_several_shapes_have_names_of_their_own():
    two = collision('<sphere radius="0.1"/>') + collision('<sphere radius="0.2"/>')
    model = urdf.parse(arm(two, base=collision('<sphere radius="0.3"/>')))
    assert [(c.name, c.link, c.radius) for c in model.capsules] == [
        ("base", -1, 0.3),
        ("arm:1", 0, 0.1),
        ("arm:2", 0, 0.2),
    ]


def test_a_link_named_like_anothers_second_shape():
    two = collision('<sphere radius="0.1"/>') * 2
    extra = f"""<link name="arm:2">{collision('<sphere radius="0.3"/>')}</link><joint name="f" type="fixed">
        <parent link="arm"/><child link="arm:2"/></joint>"""
    assert [c.name for c in urdf.parse(arm(two, rest=extra)).capsules] == ["arm:1", "arm:2", "arm:2'"]


@pytest.mark.parametrize("axis", ["0 0 1", "1 0 0", "0 -1 0", "1 2 3"])
def test_shapes_turn_with_the_axis_as_the_centre_of_mass_does(axis):
    """A ball at the centre of mass stays there, whatever frame the axis gives the link."""
    text = arm(collision('<sphere radius="0.2"/>', 'xyz="0.1 0.2 0.3" rpy="1 2 3"'), axis=axis)
    model = urdf.parse(text.replace("<mass", '<origin xyz="0.1 0.2 0.3"/><mass'))
    np.testing.assert_allclose(model.capsules[0].a, model.com[0], atol=1e-15)


def test_shapes_behind_fixed_joints_stand_where_these_put_them():
    rest = f"""<link name="plate">{collision('<sphere radius="0.1"/>', 'xyz="0.1 0 0"')}</link>
        <joint name="f" type="fixed"><origin xyz="0 0 0.5" rpy="0 0 1"/><parent link="arm"/>
        <child link="plate"/></joint>
        <link name="stand">{collision('<sphere radius="0.2"/>', 'xyz="0 0.1 0"')}</link>
        <joint name="g" type="fixed"><origin xyz="0 0 -1" rpy="0.3 0 0"/><parent link="base"/>
        <child link="stand"/></joint>"""
    stand, plate = urdf.parse(arm("", rest=rest)).capsules
    assert (stand.link, plate.link) == (-1, 0)
    T = pose(rpy(0.3, 0, 0), (0, 0, -1)) @ [0, 0.1, 0, 1]
    np.testing.assert_allclose(stand.a, T[:3], atol=1e-15)
    T = pose(rpy(0, 0, 1), (0, 0, 0.5)) @ [0.1, 0, 0, 1]
    np.testing.assert_allclose(plate.a, T[:3], atol=1e-15)


def test_what_is_seen_stands_for_missing_collision_geometry(tmp_path):
    visual = '<visual><geometry><sphere radius="0.2"/></geometry></visual>'
    with pytest.warns(ModelNotice, match="capsules are about what is seen: 'arm'"):
        assert only(arm(visual)).radius == 0.2
    with pytest.warns(ModelNotice):  # a shape that cannot be used counts as none
        assert only(arm(collision("<cone/>") + visual)).radius == 0.2
    assert only(arm(collision('<sphere radius="0.1"/>') + visual)).radius == 0.1


def test_no_collision_geometry_is_no_capsules_and_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert urdf.parse(arm("")).capsules == ()


# --- Meshes ---


def binary_stl(points) -> bytes:
    points = np.asarray(points, dtype="<f4")
    faces = points[np.arange(3 * (len(points) // 3 + 1)) % len(points)].reshape(-1, 3, 3)
    body = b"".join(struct.pack("<3f", 0, 0, 0) + face.tobytes() + b"\0\0" for face in faces)
    return b"solid but binary".ljust(80) + struct.pack("<I", len(faces)) + body


def text_stl(points) -> bytes:
    loops = [
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"    vertex {x} {y} {z}\n" for x, y, z in corners)
        + "endloop\nendfacet\n"
        for corners in points[np.arange(3 * (len(points) // 3 + 1)) % len(points)].reshape(-1, 3, 3)
    ]
    return f"solid box\n{''.join(loops)}endsolid".encode()


def obj(points) -> bytes:
    lines = "\n".join(f"v {x} {y} {z}" for x, y, z in points)
    faces = "\n".join(f"f {k} {k + 1} {k + 2}" for k in range(1, len(points) - 1))
    return f"# a box\nmtllib x.mtl\n{lines}\nvn 9 9 9\nvt 9 9\n{faces}\n".encode()


WRITERS = {"a.stl": binary_stl, "b.STL": text_stl, "c.obj": obj}


@pytest.mark.parametrize("file", WRITERS)
@pytest.mark.parametrize("name", ["meshes/{}", "../meshes/{}", "package://toy_description/meshes/{}"])
def test_a_mesh_is_found_read_scaled_and_covered(tmp_path, file, name):
    folder = tmp_path / "toy_description"
    (folder / "urdf").mkdir(parents=True)
    (folder / "meshes").mkdir()
    (folder / "meshes" / file).write_bytes(WRITERS[file](CORNERS * 1000))
    mesh = f'<mesh filename="{name.format(file)}" scale="0.001 0.001 -0.001"/>'
    (folder / "urdf/toy.urdf").write_text(arm(collision(mesh, 'xyz="0 0 0.1"')))
    (capsule,) = urdf.load(folder / "urdf/toy.urdf").capsules
    points = CORNERS * [1, 1, -1] + [0, 0, 0.1]
    d = distance_to_segment(points, np.array(capsule.a), np.array(capsule.b))
    assert d.max() <= capsule.radius + 1e-7  # single precision in the binary file
    assert capsule.radius < 0.13


def put(tmp_path, filename: str) -> str:
    """The warning that loading an arm with this mesh gives."""
    file = tmp_path / "inner" / "toy.urdf"
    file.parent.mkdir(exist_ok=True)
    file.write_text(arm(collision(f'<mesh filename="{filename}"/>')))
    with pytest.warns(ModelWarning) as caught:
        model = urdf.load(file)
    assert model.capsules == ()
    assert caught[0].filename == __file__
    return str(caught[0].message)


def test_a_missing_mesh_is_told_by_link_and_file(tmp_path):
    told = put(tmp_path, "meshes/none.stl")
    assert told == (
        "toy: collision geometry without capsules, which distances will ignore: "
        f"link 'arm': mesh 'meshes/none.stl': not found in the model's folder; looked in {str(tmp_path / 'inner')!r}"
    )


@pytest.mark.parametrize(
    "filename",
    ["../secret.stl", "meshes/../../secret.stl", "{root}/secret.stl", "package://inner/../secret.stl", "out.stl"],
)
def test_a_mesh_outside_of_the_models_folder_is_not_touched(tmp_path, filename):
    (tmp_path / "secret.stl").write_bytes(binary_stl(CORNERS))
    (tmp_path / "inner").mkdir()
    os.symlink(tmp_path / "secret.stl", tmp_path / "inner/out.stl")
    assert "leads out of the model's folder" in put(tmp_path, filename.format(root=tmp_path))


@pytest.mark.parametrize("filename", ["file:///etc/passwd", "http://host/x.stl", "a\\b.stl"])
def test_other_places_are_refused(tmp_path, filename):
    assert "expected" in put(tmp_path, filename)


def test_a_package_of_another_name_is_not_found(tmp_path):
    assert "not found" in put(tmp_path, "package://other/x.stl")
    assert "not found" in put(tmp_path, "")


@pytest.mark.parametrize(
    "file, content",
    [
        ("x.stl", b""),
        ("x.stl", b"solid empty\nendsolid"),
        ("x.stl", binary_stl(CORNERS)[:-1]),
        ("x.stl", binary_stl([(np.nan, 0, 0)])),
        ("x.stl", b"solid\nvertex 1 2\nvertex 1 2 3"),
        ("x.obj", b"v 1 2 three"),
        ("x.obj", b"v 1 2"),
        ("x.obj", b"\xff\xfe\x00"),
        ("x.dae", b"<COLLADA/>"),
        ("x.stl", binary_stl([(1, 2, 3)])),  # one point has no size
    ],
)
def test_a_broken_mesh_is_a_warning(tmp_path, file, content):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / file).write_bytes(content)
    told = put(tmp_path, file)
    assert "link 'arm'" in told
    assert "expected" in told or "radius must be positive" in told


@pytest.mark.parametrize("name", ["loop.stl", "loop/x.stl", "x" * 300 + ".stl", "x/" * 3000 + "x.stl"])
def test_a_mesh_that_no_file_can_be_costs_its_shape_and_not_the_arm(tmp_path, name):
    (tmp_path / "inner").mkdir()
    for loop in ("loop", "loop.stl"):
        (tmp_path / "inner" / loop).symlink_to(tmp_path / "inner" / loop)
    told = put(tmp_path, name)
    assert "link 'arm': mesh " in told
    assert "not found in the model's folder" in told


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("bits", [0x7FC00000, 0x7F800001, 0xFFBFFFFF])  # quiet, and two that signal
def test_a_corner_that_is_no_number_is_refused_without_a_word_of_numpy(tmp_path, bits):
    data = binary_stl([(1.0, 0, 0), (0, 1, 0), (0, 0, 1)]).replace(struct.pack("<f", 1.0), struct.pack("<I", bits))
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "x.stl").write_bytes(data)
    assert "expected triangles of finite numbers" in put(tmp_path, "x.stl")


@pytest.mark.parametrize(
    "file, content",
    [
        ("x.obj", b"v 1 2 3\nv 1e308 0 0\nv -1e308 0 0\nf 1 2 3"),
        ("x.obj", b"v 1 2 3\nv 1e5 0 0\nv 0 1 0\nf 1 2 3"),
        ("x.obj", b"v 1 2 3\nv 1_0 0 0\nv 4 4 4"),
        ("x.stl", b"solid\nvertex 1 2 3\nvertex 1e200 2 3\nvertex 1_0 1 1"),
        ("x.stl", binary_stl([(3e38, 0, 0), (-3e38, 0, 0), (0, 1, 0)])),
    ],
)
def test_vertices_without_end_cost_their_shape_and_not_the_arm(tmp_path, file, content):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / file).write_bytes(content)
    told = put(tmp_path, file)
    assert "link 'arm'" in told
    assert "must be at most 10000 m in magnitude" in told or "expected " in told


@pytest.mark.parametrize("face", ["f 99999999999999999999 1 2", "f 1_0 1 2"])
def test_faces_of_impossible_vertices_are_an_error_of_our_own(tmp_path, face):
    (tmp_path / "x.obj").write_text(f"v 0 0 0\nv 1 0 0\nv 0 1 0\n{face}\n")
    with pytest.raises(ModelError, match=r"mesh 'x.obj': expected"):
        meshes.surfaces(tmp_path / "x.obj")


def test_a_huge_mesh_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(meshes, "MAX_BYTES", 100)
    (tmp_path / "x.stl").write_bytes(binary_stl(CORNERS))
    with pytest.raises(ModelError, match=r"mesh 'x.stl': must not be larger than 0.0001 MB"):
        meshes.surfaces(tmp_path / "x.stl")


def test_a_folder_is_no_mesh(tmp_path):
    (tmp_path / "inner" / "x.stl").mkdir(parents=True)
    assert "not found" in put(tmp_path, "x.stl")


@pytest.mark.parametrize(
    "geometry, message",
    [
        ('<sphere radius="-1"/>', "link 'arm': radius of <sphere> must be positive; got -1"),
        ("<sphere/>", "link 'arm': radius of <sphere> must be a finite number; got nothing"),
        ('<box size="1 2"/>', "link 'arm': size of <box> must be 3 finite numbers; got '1 2'"),
        ('<box size="1 2 0"/>', "link 'arm': size of <box> must be positive; got"),
        ('<cylinder radius="1" length="nan"/>', "link 'arm': length of <cylinder> must be a finite number; got 'nan'"),
        ('<sphere radius="1e308"/>', "link 'arm': radius of <sphere> must be at most 10000 m in magnitude"),
        ('<box size="1 2 1e200"/>', "link 'arm': size of <box> must be at most 10000 m in magnitude"),
        ('<sphere radius="1_0"/>', "link 'arm': radius of <sphere> must be a finite number; got '1_0'"),
        ("<cone/>", "link 'arm': <geometry> of <collision> must be one of sphere, capsule, cylinder, box, mesh"),
        ("", "link 'arm': <geometry> of <collision> must be one of"),
        ('<mesh filename="x.stl"/>', "link 'arm': mesh 'x.stl': a URDF that is no file has no folder to look in"),
    ],
)
def test_a_shape_that_cannot_be_used_is_a_warning_and_the_arm_loads(geometry, message):
    with pytest.warns(ModelWarning, match="without capsules") as caught:
        assert urdf.parse(arm(collision(geometry))).n == 1
    assert message in str(caught[0].message)


def test_many_that_fail_are_counted():
    with pytest.warns(ModelWarning, match=r"; and 5 more$"):
        urdf.parse(arm(collision("<cone/>") * 15))


def test_a_real_arm_is_covered_by_what_its_urdf_says():
    """The panda of example-robot-data: its own meshes, read by us, against the catalogue's capsules, fitted to them."""
    import importlib.util
    from pathlib import Path

    import elbowroom as er

    spec = importlib.util.find_spec("cmeel")
    places = [Path(p).parent / "cmeel.prefix" for p in (spec.submodule_search_locations or ())] if spec else []
    files = [p / "share/example-robot-data/robots/panda_description/urdf/panda.urdf" for p in places]
    if not any(file.is_file() for file in files):
        pytest.skip("example-robot-data's panda is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # the fingers are locked
        model = urdf.load(next(file for file in files if file.is_file()), "panda_link7")
    own = {c.name: c for c in model.capsules}
    for i, capsule in enumerate(er.load("panda").model.capsules):
        found = own[f"panda_link{i}"]
        assert found.link == capsule.link
        assert found.radius == pytest.approx(capsule.radius, rel=0.1)  # another search, of nearly the same volume
