"""The reader of BVH files: its kinematics against scipy's rotations, its names, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from elbowroom.cell.mocap.formats import Joint, joint_frames, read_bvh, usual_names
from elbowroom.cell.mocap.recorded import Motion, Recorded, read_motion
from elbowroom.errors import RecordingError
from handwritten import BVH, CHANNELS, REST, turned, vicon
from strategies import examples


@pytest.fixture
def write(write):
    """A function that writes a file, BVH unless its name says otherwise."""
    return lambda text, name="take.bvh": write(text, name)


def test_a_bvh_figure_stands_upright_with_its_arms_out(write):
    got = read_motion(write(BVH + REST + turned(_2=7), "take.bvh"))
    at = dict(zip(got.points, got.positions[0], strict=True))
    np.testing.assert_allclose(got.times, [0, 0.02])
    assert got.unused == ("LeftShoulder",)
    # y is up in the file and z towards the reader; here z is up and that is -y.
    np.testing.assert_allclose(at["hip"], [0, 0, 1.0], atol=1e-15)
    np.testing.assert_allclose(at["collar"], [0, 0, 1.5], atol=1e-15)
    np.testing.assert_allclose(at["head"], [0, 0, 1.7], atol=1e-15)  # half way to the end of the bone
    np.testing.assert_allclose(at["left_shoulder"], [0.18, 0, 1.5], atol=1e-15)
    np.testing.assert_allclose(at["left_elbow"], [0.48, 0, 1.5], atol=1e-15)
    np.testing.assert_allclose(at["left_wrist"], [0.73, 0, 1.5], atol=1e-15)
    np.testing.assert_allclose(at["right_wrist"], [-0.73, 0, 1.5], atol=1e-15)
    np.testing.assert_allclose(got.positions[1, got.points.index("hip")], [0, -0.07, 1.0], atol=1e-15)
    assert Recorded(got).look(0.0, np.empty((13, 13))) == 0.0


def test_bvh_rotations_are_in_degrees_and_in_the_order_of_the_channels(write):
    frames = turned(_15=90) + turned(_15=90, _16=90)  # LeftArm: z up by 90, then about its own x
    got = read_motion(write(BVH + frames, "take.bvh"))
    elbow, wrist = (got.positions[:, got.points.index(f"left_{x}")] for x in ("elbow", "wrist"))
    np.testing.assert_allclose(elbow[0], [0.18, 0, 1.8], atol=1e-12)
    np.testing.assert_allclose(elbow[1], [0.18, 0, 1.8], atol=1e-12)  # x is along the arm: nothing changes
    np.testing.assert_allclose(wrist[0], [0.18, 0, 2.05], atol=1e-12)
    whole = read_motion(write(BVH + turned(_5=90) + turned(_3=90), "take.bvh"))  # the root about y, and about z
    hand = whole.positions[:, whole.points.index("left_wrist")]
    np.testing.assert_allclose(hand[0], [0, 0.73, 1.5], atol=1e-12)  # x to -z of the file, which is our y
    np.testing.assert_allclose(hand[1], [-0.5, 0, 1.73], atol=1e-12)


def test_units_and_the_axis_that_is_up(write):
    path = write(BVH + REST + REST, "take.bvh")
    cm, mm, up = read_bvh(path), read_bvh(path, unit=0.001), read_bvh(path, up="z")
    np.testing.assert_allclose(mm.positions, 0.1 * cm.positions)
    np.testing.assert_allclose(up.positions[..., [0, 2, 1]] * [1, -1, 1], cm.positions, atol=1e-15)
    with pytest.raises(ValueError, match='up must be "y" or "z"'):
        read_bvh(path, up="x")
    with pytest.raises(ValueError, match="unit must be more than 0"):
        read_bvh(path, unit=0)
    with pytest.raises(RecordingError, match=r"frame 1: expected places within 1000 m; is unit=100 right\?"):
        read_bvh(path, unit=100)


def test_nan_in_a_bvh_frame_is_a_gap(write):
    got = read_motion(write(BVH + REST + turned(_8="nan"), "take.bvh"))
    np.testing.assert_array_equal(got.complete, [True, False])


@st.composite
def trees(draw):
    """Joints in the order of a file with channels in any order, and values of two frames."""
    count = draw(st.integers(1, 6))
    joints = []
    for k in range(count):
        rotations = draw(st.permutations(["Xrotation", "Yrotation", "Zrotation"]))[: draw(st.integers(0, 3))]
        places = draw(st.permutations(["Xposition", "Yposition", "Zposition"]))[
            : draw(st.integers(0, 3)) if k < 2 else 0
        ]
        offset = draw(arrays(float, 3, elements=st.floats(-50, 50)))
        joints.append(Joint(f"j{k}", draw(st.integers(0, k - 1)) if k else -1, offset, [*places, *rotations]))
    width = sum(len(j.channels) for j in joints)
    return joints, draw(arrays(float, (2, width), elements=st.floats(-180, 180)))


@given(trees())
def test_forward_kinematics_against_scipy(tree):
    """1e-11: six rotations of rounding error on offsets of 500 units."""
    joints, values = tree
    places, turns = joint_frames(joints, values)
    for t, row in enumerate(values):
        left, known = row.tolist(), []
        for k, joint in enumerate(joints):
            mine, left = left[: len(joint.channels)], left[len(joint.channels) :]
            spin = [(c[0], v) for c, v in zip(joint.channels, mine, strict=True) if c.endswith("rotation")]
            turn = (
                Rotation.from_euler("".join(c for c, _ in spin), [v for _, v in spin], degrees=True)
                if spin
                else Rotation.identity()
            )
            if np.ndim(turn.as_matrix()) == 3:
                turn = turn[0]
            shift = joint.offset.copy()
            for channel, value in zip(joint.channels, mine, strict=True):
                if channel.endswith("position"):
                    shift["XYZ".index(channel[0])] = value
            if joint.parent >= 0:
                base, frame = known[joint.parent]
                shift, turn = base + frame.apply(shift), frame * turn
            known.append((shift, turn))
            np.testing.assert_allclose(places[k][t], shift, atol=1e-11)
            np.testing.assert_allclose(turns[k][t], turn.as_matrix(), atol=1e-11)


FULL = {"head", "collar", "hip"}
FULL |= {f"{s}_{x}" for s in ("left", "right") for x in ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")}


def sided(pattern: str, sides, parts: str) -> list[str]:
    return [pattern.format(side, part) for side in sides for part in parts.split()]


WORDS = ("Left", "Right")


@pytest.mark.parametrize(
    "names, hands",
    [
        (  # Mixamo, MotionBuilder, LaFAN1
            [f"mixamorig:{x}" for x in ("Hips", "Spine", "Spine1", "Neck", "Head")]
            + sided("mixamorig:{}{}", WORDS, "Shoulder Arm ForeArm Hand HandThumb1 UpLeg Leg Foot ToeBase"),
            False,
        ),
        (  # Xsens and the like
            ["Hips", "Chest", "Neck", "Head", *sided("{}{}", WORDS, "Collar Shoulder Elbow Wrist Hip Knee Ankle")],
            False,
        ),
        (  # SMPL
            [
                "Pelvis",
                "Torso",
                "Spine",
                "Neck",
                "Head",
                *sided("{}_{}", "LR", "Thorax Shoulder Elbow Wrist Hand Hip Knee Ankle Toe"),
            ],
            True,
        ),
        (  # 3ds Max biped
            [f"Bip01 {x}" for x in ("Pelvis", "Spine", "Neck", "Head")]
            + sided("Bip01 {} {}", "LR", "Clavicle UpperArm Forearm Hand Thigh Calf Foot"),
            False,
        ),
        (  # Acclaim
            ["root", "thorax", "head", *sided("{}{}", "lr", "clavicle humerus radius wrist hand femur tibia foot")],
            True,
        ),
        (  # Blender
            ["hips", "neck", "head", *sided("{1}.{0}", "LR", "upper_arm forearm hand thigh shin foot")],
            False,
        ),
    ],
)
def test_names_of_joints_of_many_makers(names, hands):
    found = usual_names(names)
    points = FULL | ({"left_hand", "right_hand"} if hands else set())
    assert set(found.values()) == points
    assert len(found) == len(points)
    for name, point in found.items():
        if "shoulder" in point:
            assert "Collar" not in name
            assert "Clavicle" not in name
    if "mixamorig:LeftArm" in names:
        assert found["mixamorig:LeftArm"] == "left_shoulder"
        assert "mixamorig:LeftShoulder" not in found


def swapped(old: str, new: str) -> str:
    assert old in BVH
    return BVH.replace(old, new, 1) + REST + REST


@pytest.mark.parametrize(
    "text, message",
    [
        ("", r"the file is empty"),
        (b"\0\1\2", r"got binary data"),
        ("MOTION\n", r"line 1: expected 'HIERARCHY'.*got 'MOTION'"),
        (BVH[:300], r"expected 'MOTION' after the hierarchy; the file ends after line \d+"),
        (BVH[: BVH.index("MOTION") + 6], r"expected 'Frames:' and 'Frame Time:'; the file ends after"),
        (swapped("ROOT Hips", "ROOT"), r"line 2: expected a name after ROOT"),
        (swapped("ROOT Hips", "JOINT Hips"), r"line 2: expected ROOT, JOINT.*as fits here; got 'JOINT'"),
        (swapped("{\n  OFFSET 0 0 0", "\n  OFFSET 0 0 0"), r"line 4: expected '{'; got 'OFFSET 0 0 0'"),
        (
            swapped("OFFSET 0 50 0", "OFFSET 0 high 0"),
            r"line 8: expected OFFSET and three numbers; got 'OFFSET 0 high 0'",
        ),
        (swapped("OFFSET 0 50 0", "OFFSET 0 nan 0"), r"line 8: expected OFFSET and three numbers"),
        (swapped("OFFSET 0 50 0", "OFFSET 0 50"), r"line 8: expected OFFSET and three numbers"),
        (swapped("          OFFSET -25 0 0\n", ""), r"expected OFFSET of 'RightHand' before its end"),
        (swapped("CHANNELS 3 Z", "CHANNELS 4 Z"), r"line 9: expected CHANNELS, their number, and as many of"),
        (swapped("CHANNELS 1 Yrotation", "CHANNELS 1 yaw"), r"expected CHANNELS, their number"),
        (swapped("CHANNELS 1 Yrotation", "CHANNELS 2 Yrotation Yrotation"), r"expected CHANNELS, their number"),
        (
            swapped("    JOINT LeftShoulder", "    BONE LeftShoulder"),
            r"line 19: expected ROOT, .*as fits in 'Neck'; got 'BONE'",
        ),
        (swapped("JOINT RightHand", "JOINT LeftHand"), r"expected each joint once; 'LeftHand' is there twice"),
        (
            swapped("JOINT RightForeArm", "JOINT Twist"),
            r"a skeleton needs right_elbow besides .*the file has Hips, .*Twist",
        ),
        (swapped("Frames: 2", "Frames: two"), r"expected 'Frames:' and a number; got 'Frames: two'"),
        (swapped("Frames: 2", "Frames: 0"), r"expected a number of frames from 1 to 1000000"),
        (swapped("Frames: 2", "Frames: 1e9"), r"expected a number of frames from 1 to 1000000"),
        (swapped("Frames: 2", "Frames: 3"), r"expected 3 frames as in line \d+; got 2"),
        (swapped("Frames: 2", "Frames: 1"), r"expected 1 frames as in line \d+; got 2"),
        (swapped("Frame Time: 0.02", "Frame Time: 0"), r"expected the seconds of one frame; got 'Frame Time: 0'"),
        (swapped("Frame Time: 0.02", "Rate: 50"), r"expected 'Frame Time:' and a number; got 'Rate: 50'"),
        (BVH + REST + REST[:-5], rf"expected {CHANNELS} numbers, one a channel; got {CHANNELS - 2}"),
        (BVH + REST + turned(_4="x"), r"expected a number; got 'x'"),
        (BVH + REST + turned(_4="inf"), r"expected a number; got 'inf'"),
        (BVH + REST + turned(_4="1_0"), r"expected a number; got '1_0'"),
        (BVH + REST + turned(_4="\u0661"), r"expected a number; got '\u0661'"),
        (BVH + REST + turned(_0="1e308"), r"frame 2: expected places within 1000 m"),
        (swapped("OFFSET 0 50 0", "OFFSET 0 1e308 0"), r"frame 1: expected places within 1000 m"),
        (swapped("OFFSET 0 50 0", "OFFSET 0 50 0\nOFFSET 0 51 0"), r"line 9: expected one OFFSET of "),
        (
            swapped("CHANNELS 1 Yrotation", "CHANNELS 1 Yrotation\nCHANNELS 1 Xrotation"),
            r"expected CHANNELS of .* once",
        ),
        ("HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n" + "JOINT b\n{\nOFFSET 0 0 0\n" * 200, r"at most 1000 joints, 100 deep"),
    ],
)
def test_malformed_bvh_files_are_refused_by_line(write, text, message):
    with pytest.raises(RecordingError, match=message) as caught:
        read_motion(write(text, "take.bvh"))
    assert "\n" not in str(caught.value)
    assert "take.bvh" in str(caught.value)


@examples(150)
@given(st.sampled_from(["csv", "bvh"]), st.data())
def test_whatever_is_in_a_file_it_is_read_or_refused(tmp_path_factory, kind, data):
    """A piece cut out, or something written over it: a RecordingError or a Motion, nothing else."""
    text = (vicon(3) if kind == "csv" else BVH + REST + REST).encode()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 60, len(text))))
    junk = data.draw(st.binary(max_size=4) | st.sampled_from([b"{", b"}", b"\n", b",", b"1e400", b"-", b"JOINT x\n"]))
    path = tmp_path_factory.getbasetemp() / f"fuzz.{kind}"
    path.write_bytes(text[:start] + junk + text[end:])
    try:
        assert isinstance(read_motion(path), Motion)
    except RecordingError as error:
        assert str(error)  # noqa: PT017
