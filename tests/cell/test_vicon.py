"""The reader of Vicon CSV files, on files written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.cell.mocap import formats as vicon_module
from elbowroom.cell.mocap.recorded import Recorded, read_motion, read_vicon
from elbowroom.errors import ElbowroomError, RecordingError
from handwritten import NINE, vicon


def test_a_vicon_file_gives_points_in_metres_and_seconds(write):
    got = read_motion(write(vicon(3, first=7)))
    assert got.points == NINE
    np.testing.assert_allclose(got.times, [0, 0.01, 0.02])
    assert got.valid.all()
    np.testing.assert_allclose(got.positions[2, NINE.index("left_hand")], [-0.23, 0.2, 1.0])
    assert got.source.endswith("take.csv")


def test_the_marks_of_other_systems_do_no_harm(write):
    plain = read_motion(write(vicon()))
    for text in ("\ufeff" + vicon(), vicon().replace("\n", "\r\n"), vicon() + "\n\n", vicon(unit="mm").rstrip()):
        np.testing.assert_array_equal(read_motion(write(text)).positions, plain.positions)
    np.testing.assert_allclose(read_motion(write(vicon(unit="cm"))).positions, 10 * plain.positions)
    assert read_motion(write(vicon(rate="50"))).times[-1] == pytest.approx(0.08)
    assert read_motion(write(vicon(), "TAKE.CSV")).points == NINE


def test_hidden_bodies_and_missing_frames_are_gaps(write):
    text = vicon(6, hide={(2, "hip"), (3, "hip"), (3, "head")}, skip={5})
    text = text.replace(",250.0", ",nan", 1)  # the right elbow's TX in frame 1
    got = read_motion(write(text))
    hip, head, elbow = (NINE.index(x) for x in ("hip", "head", "right_elbow"))
    assert len(got.times) == 6
    np.testing.assert_array_equal(got.valid[:, hip], [1, 0, 0, 1, 0, 1])
    np.testing.assert_array_equal(got.valid[:, head], [1, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(got.valid[:, elbow], [0, 1, 1, 1, 0, 1])
    assert np.isnan(got.positions[~got.valid]).all()
    zeros = vicon(2).replace("0.1,0.2,0.3,0.0,0,1000", "0,0,0,0,0,0")  # the hip of frame 1, as an export may say it
    assert not read_motion(write(zeros)).valid[0, hip]


def test_one_blank_cell_hides_the_body(write):
    got = read_motion(write(vicon(2).replace("0.1,0.2,0.3,0.0,0,1000", "0.1,0.2,0.3,0.0,,1000")))
    assert not got.valid[0, NINE.index("hip")]
    turned = read_motion(write(vicon(2).replace("0.1,0.2,0.3,0.0,0,1000", ",,,0.0,0,1000")))
    assert turned.valid.all()  # rotations are not read


def test_other_bodies_are_named_and_other_names_can_be_said(write):
    bodies = (*NINE[:-1], "belt", "box")
    got = read_vicon(write(vicon(bodies=bodies)), names={"belt": "pelvis"})
    assert got.points == (*NINE[:-1], "hip")
    assert got.unused == ("box",)
    spelt = read_vicon(write(vicon().replace("left_hand", "Left Hand")))
    assert spelt.points == NINE
    with pytest.raises(RecordingError, match=r"take.csv: a skeleton needs hip.*the file has .*belt, box; say which"):
        read_vicon(write(vicon(bodies=bodies)))
    with pytest.raises(RecordingError, match=r"names: 'girdle' is not in the file, which has collar"):
        read_vicon(write(vicon()), names={"girdle": "hip"})
    with pytest.raises(RecordingError, match=r"names: 'box' is said to be 'tail'; expected one of head"):
        read_vicon(write(vicon(bodies=(*NINE, "box"))), names={"box": "tail"})
    with pytest.raises(RecordingError, match=r"'hip' is there twice"):
        read_vicon(write(vicon(bodies=(*NINE, "box"))), names={"box": "hip"})


@pytest.mark.parametrize("rate", ["1e-30", "0.09", "0", "-100", "1e6", "nan"])
def test_a_rate_that_no_camera_has_is_refused(write, rate):
    """A take of seven frames at 1e-30 Hz would last longer than anything, and its person could not be resampled."""
    with pytest.raises(RecordingError, match=r"line 2: expected the number of frames a second"):
        read_vicon(write(vicon(rate=rate)))


def broken(change) -> str:
    lines = vicon().split("\n")
    change(lines)
    return "\n".join(lines)


def put(line: int, old: str, new: str, count: int = 1):
    """A change of one line, from 1."""

    def change(lines):
        assert old in lines[line - 1]
        lines[line - 1] = lines[line - 1].replace(old, new, count)

    return change


@pytest.mark.parametrize(
    "text, message",
    [
        ("", r"take.csv: the file is empty$"),
        (" \n\n", r"take.csv: the file is empty$"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", r"expected text in UTF-8; got binary data"),
        (b"Objects\n\xff\xfe", r"expected text in UTF-8; got binary data"),
        (vicon().encode("utf-16"), r"expected text in UTF-8; got binary data"),
        ("time,x,y,z\n1,2,3,4\n", r"line 1: expected 'Objects'.*; got 'time,x,y,z'"),
        ("Objects\n100\n", r"expected five lines of header; the file ends after line 2"),
        (broken(put(1, "Objects", "Trajectories")), r"line 1: expected 'Objects'.*got 'Trajectories'"),
        (broken(put(2, "100", "fast")), r"line 2: expected the number of frames a second; got 'fast'"),
        (broken(put(2, "100", "0")), r"line 2: expected the number of frames a second; got '0'"),
        (broken(put(2, "100", "nan")), r"line 2: expected the number of frames a second; got 'nan'"),
        (vicon(bodies=()), r"line 3: expected the names of the bodies"),
        (broken(put(4, "Frame", "Time")), r"line 4: expected 'Frame,Sub Frame,'"),
        (broken(put(4, "TZ", "Z")), r"line 4: expected columns TX, TY, TZ of 'collar'; got 'RX,RY,RZ,TX,TY,Z'"),
        (vicon(unit="inch"), r"line 5: expected the unit mm, cm or m of 'collar'; got 'inch'"),
        (broken(put(5, "mm", "m")), r"line 5: expected the unit mm, cm or m of 'collar'; got 'm,mm'"),
        (vicon(bodies=(*NINE, "hip")), r"line 3: expected each body once"),
        (vicon(0), r"expected frames after the header; the file ends after line 5"),
        (vicon()[:-25], r"line 10: expected 56 cells; got 5\d"),
        (broken(put(7, "0.1", "0.1,7")), r"line 7: expected 56 cells; got 57"),
        (broken(put(8, "1500", "high")), r"line 8: expected a number or a blank cell; got 'high'"),
        (broken(put(8, "1500", "1_500")), r"line 8: expected a number or a blank cell; got '1_500'"),
        (broken(put(8, "1500", "inf")), r"line 8: expected a number or a blank cell; got 'inf'"),
        (broken(put(8, "1500", "1.5e9")), r"frame 3: collar: expected a place within 1000 m"),
        (broken(put(8, "3,", "two,")), r"line 8: expected the number of a frame; got 'two'"),
        (broken(put(8, "3,", "\u0663,")), r"line 8: expected the number of a frame; got '\u0663'"),
        (broken(put(8, "3,", "1,")), r"line 8: expected a frame after 2; got '1'"),
        (broken(put(8, "3,0", "3,1")), r"line 8: expected sub frame 0; got '1'"),
        (broken(put(10, "5,", "999999999,")), r"line 10: expected at most 1000000 frames"),
        (vicon() + "\nTrajectories\n100\n", r"line 12: expected nothing after the blank line 11"),
    ],
)
def test_malformed_vicon_files_are_refused_by_line(write, text, message):
    with pytest.raises(RecordingError, match=message) as caught:
        read_motion(write(text))
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ElbowroomError)
    assert str(caught.value).startswith(str(write(text)))


def test_files_that_cannot_be_opened(tmp_path, write, monkeypatch):
    with pytest.raises(RecordingError, match=r"away.csv: cannot be read: No such file"):
        read_motion(tmp_path / "away.csv")
    with pytest.raises(RecordingError, match=r"away.csv: cannot be read: No such file"):
        Recorded(tmp_path / "away.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(RecordingError, match=r"folder.csv: cannot be read: "):
        read_motion(tmp_path / "folder.csv")
    with pytest.raises(
        RecordingError, match=r"take.mov: expected a name that ends in .csv or .bvh or .mcap or .db3; got '.mov'"
    ):
        read_motion(write("", "take.mov"))
    monkeypatch.setattr(vicon_module, "MAX_BYTES", 1000)
    with pytest.raises(RecordingError, match=r"take.csv: expected at most 0.000953674 MiB; the file is larger"):
        read_motion(write(vicon()))
