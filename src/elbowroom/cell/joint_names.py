"""Names of joints in motion files, which differ from maker to maker, and the points of a skeleton that they are.

Case, separators, name spaces and where the side stands make no difference:
LeftForeArm, mixamorig:LeftForeArm, left_forearm, L_Elbow, ForeArm.L and lradius are all the left elbow.  A bone's joint
is where the bone begins, so `LeftArm` is the shoulder and `LeftHand` the wrist, unless there is a `LeftWrist`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

CENTRE = {
    "head": ("head",),
    "collar": ("neck", "neck1", "neck01", "lowerneck", "neckbase", "collar", "thorax", "upperchest"),
    "hip": ("hips", "hip", "pelvis", "root"),
}
LIMB = {  # the first that is there; what comes later may mean another joint where an earlier one is there
    "shoulder": ("arm", "uparm", "upperarm", "humerus", "shoulder"),
    "elbow": ("forearm", "lowarm", "lowerarm", "elbow", "radius"),
    "wrist": ("wrist", "hand"),
    "hip": ("upleg", "upperleg", "thigh", "femur", "hip"),
    "knee": ("leg", "lowleg", "lowerleg", "shin", "calf", "tibia", "knee"),
    "ankle": ("foot", "ankle"),
}
SIDE = {"left": "left", "l": "left", "right": "right", "r": "right"}


def usual_names(joints: Sequence[str]) -> dict[str, str]:
    """The point of a skeleton that a joint of this name usually is, for those that are known."""
    plain: dict[tuple[str, str], str] = {}
    for name in joints:
        plain.setdefault(plain_name(name), name)
    found: dict[str, str] = {}
    for point, words in CENTRE.items():
        first = next((plain["", word] for word in words if ("", word) in plain), None)
        if first is not None:
            found.setdefault(first, point)
    for side in ("left", "right"):
        for limb, words in LIMB.items():
            first = next((plain[side, word] for word in words if (side, word) in plain), None)
            if first is not None:
                found.setdefault(first, f"{side}_{limb}")
        if (side, "wrist") in plain and (side, "hand") in plain:
            found[plain[side, "hand"]] = f"{side}_hand"
    return found


def plain_name(name: str) -> tuple[str, str]:
    """(side, the rest of the name in small letters without separators)."""
    bare = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name.rpartition(":")[2])
    words = [w for w in re.split(r"[^A-Za-z0-9]+", bare) if w]
    words = [w.lower() for w in words if not re.fullmatch(r"(bip|character|mixamorig|def)\d*", w.lower())]
    sides = [SIDE[w] for w in words if w in SIDE]
    rest = "".join(w for w in words if w not in SIDE)
    acclaim = re.fullmatch(r"([lr])(humerus|radius|wrist|hand|femur|tibia|foot)", rest)
    if not sides and acclaim:
        return SIDE[acclaim[1]], acclaim[2]
    return (sides[0] if len(sides) == 1 else ""), rest
