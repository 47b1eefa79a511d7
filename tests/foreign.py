"""Arms that this package knows nothing of, from two wheels of robot descriptions (the extra `foreign`).

python tests/foreign.py [NAME ...]      runs each through the standard cell and prints the table
python tests/foreign.py --write         writes the table of all into docs/cell/foreign_arms.md
python tests/foreign.py --write NAME    writes the rows of some into it, and leaves the others as they are
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import logging
import re
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

from elbowroom.cell import Cell, Scene, run
from elbowroom.cell.layout import STANDARD
from elbowroom.dynamics.ready import reach
from elbowroom.errors import ElbowroomError

SECONDS = 40.0
PAGE = Path(__file__).parent.parent / "docs/cell/foreign_arms.md"
WHEELS = {
    "example-robot-data": "cmeel.prefix/share/example-robot-data/robots",
    "rtb-data": "rtbdata/xacro",
}


class Foreign(NamedTuple):
    """An arm of a wheel: its file, the link that it ends at, and what it is."""

    file: str
    tip: str
    what: str
    wheel: str = "example-robot-data"

    @property
    def path(self) -> Path:
        """The file on this machine; a PackageNotFoundError without the wheel."""
        found = importlib.metadata.distribution(self.wheel).locate_file(WHEELS[self.wheel])
        return Path(str(found)) / self.file


ARMS = {
    "xarm7": Foreign("xarm_description/urdf/xarm7.urdf", "link_eef", "UFACTORY xArm 7"),
    "z1": Foreign("z1_description/urdf/z1.urdf", "link06", "Unitree Z1"),
    "ur3": Foreign("ur_description/urdf/ur3_robot.urdf", "tool0", "Universal Robots UR3"),
    "ur5": Foreign("ur_description/urdf/ur5_robot.urdf", "tool0", "Universal Robots UR5"),
    "ur10": Foreign("ur_description/urdf/ur10_robot.urdf", "tool0", "Universal Robots UR10"),
    "panda": Foreign("panda_description/urdf/panda.urdf", "panda_hand_tcp", "Franka Panda with its hand"),
    "so100": Foreign("so_arm_description/urdf/so100.urdf", "gripper", "SO-100, a printed arm for the desk"),
    "so101": Foreign("so_arm_description/urdf/so101.urdf", "gripper_frame_link", "SO-101, its successor"),
    "baxter": Foreign("baxter_description/urdf/baxter.urdf", "left_gripper", "Rethink Baxter, left arm"),
    "talos": Foreign("talos_data/robots/talos_full_v2.urdf", "arm_right_7_link", "PAL Talos, torso and right arm"),
    "talos_arm": Foreign("talos_data/robots/talos_left_arm.urdf", "arm_left_7_link", "PAL Talos, left arm alone"),
    "tiago": Foreign("tiago_description/robots/tiago_no_hand.urdf", "wrist_ft_tool_link", "PAL Tiago, lift and arm"),
    "tiago_pro": Foreign(
        "tiago_pro_description/robots/tiago_pro.urdf", "arm_left_tool_link", "PAL Tiago Pro, lift and left arm"
    ),
    "tiago_dual": Foreign(
        "tiago_description/robots/tiago_dual.urdf",
        "hand_left_grasping_frame",
        "PAL Tiago Dual, lift and left arm",
    ),
    "pr2": Foreign("pr2_description/urdf/pr2.urdf", "r_gripper_tool_frame", "Willow Garage PR2, lift and right arm"),
    "g1": Foreign("g1_description/urdf/g1_29dof_rev_1_0.urdf", "left_rubber_hand", "Unitree G1, waist and left arm"),
    "centauro": Foreign("centauro_description/urdf/centauro.urdf", "arm1_8", "IIT Centauro, left arm"),
    "alex": Foreign("alex_description/urdf/alex_nub_hands.urdf", "leftNub", "IHMC Alex, spine and left arm"),
    "anymal": Foreign(
        "anymal_b_simple_description/robots/anymal-kinova.urdf", "j2s6s200_end_effector", "Kinova Jaco on ANYmal B"
    ),
    "b1": Foreign("b1_description/urdf/b1-z1.urdf", "gripperStator", "Unitree Z1 on a B1"),
    "kinova": Foreign("kinova_description/robots/kinova.urdf", "j2s6s200_end_effector", "Kinova Jaco, two fingers"),
    "romeo": Foreign("romeo_description/urdf/romeo_small.urdf", "l_gripper", "Aldebaran Romeo, trunk and left arm"),
    "kr16": Foreign("kuka_description/kuka_kr16/urdf/kr16_2.urdf", "tool0", "KUKA KR 16", "rtb-data"),
    "kr120": Foreign("kuka_description/kuka_kr120/urdf/kr120r2500pro.urdf", "tool0", "KUKA KR 120", "rtb-data"),
    "kr210": Foreign("kuka_description/kuka_kr210/urdf/kr210l150.urdf", "tool0", "KUKA KR 210", "rtb-data"),
    "iiwa": Foreign(
        "kuka_description/kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.urdf", "tool0", "KUKA LBR iiwa 14, no masses", "rtb-data"
    ),
    "puma560": Foreign(
        "unimation_puma560_description/urdf/puma560_robot.urdf", "link7", "Unimation PUMA 560, no masses", "rtb-data"
    ),
    "al5d": Foreign(
        "lynxmotion_al5d_description/urdf/al5d_robot.urdf", "link4", "Lynxmotion AL5D, no inertias", "rtb-data"
    ),
}


class Ran(NamedTuple):
    """What happened in the standard cell."""

    arm: str
    joints: int
    reach: float  # m
    alone: int  # task cycles in `SECONDS`
    beside: int  # beside somebody who walks up to the work and away
    least: float  # m
    contacts: int


def ran(name: str) -> Ran:
    """An arm in the standard cell, alone and beside a person who walks."""
    arm = ARMS[name]
    cells, tables = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its description lacks is `elbowroom check`'s to say
        for variant in ("alone", "walking"):
            scene = Scene.load(STANDARD, robot=str(arm.path), variant=variant)
            cells.append(Cell(dataclasses.replace(scene, tip=arm.tip, duration=SECONDS)))
            tables.append(run(cells[-1]).table())
    alone, beside = tables
    contacts = sum(int(table["contacts"][-1]) for table in tables)
    least = float(beside["distance_surfaces"].min())
    model = cells[0].arm.model
    return Ran(name, model.n, reach(model), int(alone["cycles"][-1]), int(beside["cycles"][-1]), least, contacts)


HEAD = (
    "arm",
    "what it is",
    "`--tip`",
    "joints",
    "reach",
    "cycles alone",
    "beside a person",
    "least distance",
    "contacts",
)


def row(one: Ran) -> tuple[str, ...]:
    """The row of the table."""
    arm = ARMS[one.arm]
    numbers = (f"{one.reach:.2f} m", str(one.alone), str(one.beside), f"{one.least:.2f} m", str(one.contacts))
    return (one.arm, arm.what, f"`{arm.tip}`", str(one.joints), *numbers)


def line(cells: tuple[str, ...]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def written(page: str, rows: dict[str, str]) -> str:
    """A page with these rows, by arm, in its table; those of other known arms stay as they are."""
    found = re.search(r"\| arm \|.*?\n(?!\|)", page, flags=re.S)
    if found is None:
        raise ValueError("expected a table whose head begins with | arm |; got a page without one")
    old = {each.split("|")[1].strip(): each for each in found[0].splitlines()[2:]}
    kept = [(old | rows)[name] for name in ARMS if name in old | rows]
    table = [line(HEAD), line(("---",) * len(HEAD)), *kept]
    return page[: found.start()] + "\n".join(table) + "\n" + page[found.end() :]


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    names = [name for name in sys.argv[1:] if name != "--write"] or list(ARMS)
    print(line(HEAD), line(("---",) * len(HEAD)), sep="\n", flush=True)
    rows = {}
    for name in names:
        try:
            rows[name] = line(row(ran(name)))
        except ElbowroomError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            continue
        print(rows[name], flush=True)
        if "--write" in sys.argv:
            PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
