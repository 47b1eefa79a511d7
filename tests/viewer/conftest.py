"""What the viewer's tests share: a small recording of a person."""

from __future__ import annotations

import pytest

BODIES = {  # mm, somebody who looks along y
    "collar": (0, 0, 1500),
    "head": (0, 50, 1700),
    "left_elbow": (-250, 0, 1200),
    "left_hand": (-250, 200, 1000),
    "left_shoulder": (-200, 0, 1450),
    "right_elbow": (250, 0, 1200),
    "right_hand": (250, 200, 1000),
    "right_shoulder": (200, 0, 1450),
    "hip": (0, 0, 1000),
}


@pytest.fixture
def take(tmp_path):
    """A Vicon CSV of one second: a person who goes 0.1 m along x."""
    lines = ["Objects", "100", ",," + "".join(f"Global Angle {name}:{name},,,,,," for name in BODIES)]
    lines.append("Frame,Sub Frame" + ",RX,RY,RZ,TX,TY,TZ" * len(BODIES))
    lines.append("," + ",rad,rad,rad,mm,mm,mm" * len(BODIES))
    for k in range(100):
        lines.append(f"{k + 1},0" + "".join(f",0,0,0,{x + k},{y},{z}" for x, y, z in BODIES.values()))
    path = tmp_path / "take.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
