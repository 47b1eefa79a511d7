"""Small motion files, written by hand: a Vicon CSV and a BVH file of a few frames."""

from __future__ import annotations

NINE = (
    "collar", "head", "left_elbow", "left_hand", "left_shoulder", "right_elbow", "right_hand", "right_shoulder", "hip",
)  # fmt: skip
POSE = {  # mm, somebody who looks along y
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


def vicon(frames: int = 5, *, rate="100", bodies=NINE, unit="mm", first=1, hide=(), skip=(), step=10.0) -> str:
    """A Vicon CSV: the pose above, going along x by `step` a frame; `hide` has (frame, body)."""
    lines = ["Objects", rate, ",," + "".join(f"Global Angle {b}:{b},,,,,," for b in bodies)]
    lines.append("Frame,Sub Frame" + ",RX,RY,RZ,TX,TY,TZ" * len(bodies))
    lines.append("," + f",rad,rad,rad,{unit},{unit},{unit}" * len(bodies))
    for k in range(frames):
        if first + k in skip:
            continue
        cells = [str(first + k), "0"]
        for b in bodies:
            x, y, z = POSE.get(b, (0, 0, 0))
            hidden = (first + k, b) in hide
            cells += [""] * 6 if hidden else ["0.1", "0.2", "0.3", str(x + step * k), str(y), str(z)]
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Neck
  {
    OFFSET 0 50 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT Head
    {
      OFFSET 0 10 0
      CHANNELS 3 Zrotation Xrotation Yrotation
      End Site
      {
        OFFSET 0 20 0
      }
    }
    JOINT LeftShoulder
    {
      OFFSET 3 0 0
      CHANNELS 3 Zrotation Xrotation Yrotation
      JOINT LeftArm
      {
        OFFSET 15 0 0
        CHANNELS 3 Zrotation Xrotation Yrotation
        JOINT LeftForeArm
        {
          OFFSET 30 0 0
          CHANNELS 3 Zrotation Xrotation Yrotation
          JOINT LeftHand
          {
            OFFSET 25 0 0
            CHANNELS 3 Zrotation Xrotation Yrotation
            End Site
            {
              OFFSET 5 0 0
            }
          }
        }
      }
    }
    JOINT RightArm {
      OFFSET -18 0 0
      CHANNELS 3 Yrotation Zrotation Xrotation
      JOINT RightForeArm {
        OFFSET -30 0 0
        CHANNELS 1 Yrotation
        JOINT RightHand {
          OFFSET -25 0 0
        }
      }
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.02
"""
CHANNELS = 6 + 6 * 3 + 3 + 1
REST = "0 100 0 " + " ".join(["0"] * (CHANNELS - 3)) + "\n"


def turned(**at) -> str:
    """A frame with some of its numbers set, by column."""
    values = REST.split()
    for column, value in at.items():
        values[int(column[1:])] = str(value)
    return " ".join(values) + "\n"
