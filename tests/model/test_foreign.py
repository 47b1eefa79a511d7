"""Robots of others, from wheels of the extra `foreign`: each is loaded, or refused with a reason that helps."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

from elbowroom.errors import ModelError
from elbowroom.loading import read

NO_ARM = ("several tips", "no joint moves: every joint is fixed", "the robot has no links", "not well-formed XML")
"""Two arms or four legs; a body without joints; an empty file; a text that is no XML."""


def found() -> list[Path]:
    places = []
    for package, inner in (("cmeel", "../cmeel.prefix/share/example-robot-data/robots"), ("rtbdata", ".")):
        spec = importlib.util.find_spec(package)
        places += [Path(place) / inner for place in (spec.submodule_search_locations or ())] if spec else []
    return sorted(file.resolve() for place in places for file in place.glob("**/*.urdf"))


FILES = found()
SOME = {
    "kinova", "z1", "xarm7", "ur5_robot", "panda", "lbr_iiwa_14_r820", "kr16_2", "irb140", "tiago_no_hand",
    "anymal-kinova", "so100", "hextilt_flying_arm_5", "g1_29dof_rev_1_0", "baxter", "a1", "quadrotor_base",
}  # fmt: skip
SMALL = [file for file in FILES if file.stem in SOME]
pytestmark = pytest.mark.skipif(not FILES, reason="the wheels of the extra `foreign` are not installed")


@pytest.mark.parametrize("file", SMALL, ids=lambda file: file.stem)
def test_a_robot_of_others_is_loaded_or_refused_with_a_reason(file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = read(file)
        except ModelError as error:
            refusal = str(error)
        else:
            refusal = ""
    if refusal:
        assert any(reason in refusal for reason in NO_ARM)
        return
    assert model.n >= 2
    assert model.capsules
    moving = {capsule.link for capsule in model.capsules if capsule.link >= 0}
    assert len(moving) >= model.n - 2  # a link or two inside another has no shape of its own
    assert np.isfinite(model.tool).all()


TIPS = {
    "ur5_robot": ("tool0", 6),
    "kinova": ("j2s6s200_end_effector", 6),
    "panda": ("panda_hand_tcp", 7),
    "z1": ("gripperStator", 6),
    "so100": ("gripper", 5),
    "tiago_no_hand": ("wrist_ft_tool_link", 8),
    "anymal-kinova": ("j2s6s200_end_effector", 6),
}


@pytest.mark.parametrize("name", TIPS)
def test_the_natural_tip_is_that_of_the_arm(name):
    file = next((file for file in FILES if file.stem == name), None)
    if file is None:
        pytest.skip(f"{name}.urdf is not installed")
    tip, joints = TIPS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guessed, named = read(file), read(file, tip)
    assert guessed == named
    assert guessed.n == joints
