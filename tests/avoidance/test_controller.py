"""The whole controller: the compiled step against the thesis' equations written again, its state, its manners."""

from __future__ import annotations

import dataclasses
import functools
import gc
import tracemalloc

import numpy as np
import pytest
from reference import Scene

import elbowroom as er
from elbowroom.avoidance import (
    Attraction,
    Config,
    Controller,
    Force,
    Goal,
    JointLimits,
    MovingAverage,
    Obstacles,
    Repulsion,
    State,
    Status,
    Workspace,
)
from elbowroom.errors import ConfigError, ShapeError
from elbowroom.geometry import Body, Capsule, Sphere

NO_FILTER = MovingAverage(0.0)


@functools.cache
def arm_and_body(name):
    """Arms of 4 to 7 joints, with slides, base anywhere, own covers and drawn ones."""
    if name == "mixed":
        arm = er.chains.random(5, seed=3, kinds="RPRPR")
        return arm, Body.from_frames(arm, 0.05)
    if name == "moved":
        base = np.eye(4)
        base[:3, :3] = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])  # on a wall
        base[:3, 3] = 0.3, -0.2, 0.9
        arm = er.load("ur5e").with_base(base)
        return arm, Body.from_frames(arm, 0.06)
    arm = er.load(name)
    return arm, Body(arm) if arm.model.capsules else Body.from_frames(arm, 0.06)


def force(method, **more):
    return {"controller": "F", "force": Force(method=method, **more)}


CASES = {
    "defaults": ("panda", {}),
    "pose": ("panda", {"task": "pose"}),
    "in joint space": ("panda", {"superposition": "joint"}),
    "in joint space, slides": ("mixed", {"superposition": "joint", "task": "pose"}),
    "transpose": ("panda", {"inverse": "transpose", "superposition": "joint"}),
    "transpose pose at the tool": ("ur5e", {"inverse": "transpose", "task": "pose", "superposition": "tool"}),
    "alternate": ("ur5e", {"jacobian": "alternate"}),
    "alternate pose transpose": ("scara", {"jacobian": "alternate", "task": "pose", "inverse": "transpose"}),
    "nearest in joint space": ("ur5e", {"acting": "nearest", "superposition": "joint"}),
    "at the tool": ("puma560", {"superposition": "tool", "acting": "nearest", "posture": 0.0}),
    "at the tool, alternate": ("moved", {"superposition": "tool", "jacobian": "alternate"}),
    "nearest": ("moved", {"acting": "nearest"}),
    "potential printed": ("puma560", {"joint_limits": JointLimits("potential", "printed", margin=1.0)}),
    "potential mended": ("scara", {"joint_limits": JointLimits("potential", "mended", margin=1.0, exponent=3)}),
    "scaling printed": ("panda", {"joint_limits": JointLimits("scaling", "printed", margin=1.0)}),
    "scaling mended": ("mixed", {"joint_limits": JointLimits("scaling", "mended", margin=1.0)}),
    "no joint limits": ("mixed", {"joint_limits": JointLimits("none")}),
    "thesis' field": ("puma560", {"repulsion": Repulsion.thesis(0.1, 0.7), "attraction": Attraction(ki=0.4)}),
    "other profiles": (
        "scara",
        {"repulsion": Repulsion("inverse", 0.05), "attraction": Attraction(ki=2.0, slow_down="printed", exponent=1)},
    ),
    "no slowing": ("mixed", {"repulsion": Repulsion("cosine", 0.4), "attraction": Attraction(slow_down="off")}),
    "workspace": ("ur5e", {"workspace": Workspace(floor=0.1, inner=0.45, outer=0.8, center=(0.1, 0.0, 0.1))}),
    "workspace, nearest": ("panda", {"workspace": Workspace(floor=0.3, outer=0.5), "acting": "nearest"}),
    "no self-collision": ("panda", {"self_collision": None}),
    "filter of one sample": ("panda", {"smoothing": NO_FILTER}),
    "F": ("panda", force("linearised")),
    "F in joint space (3.71)": ("panda", {"superposition": "joint"} | force("linearised")),
    "F at the tool (3.76)": (
        "puma560",
        {"joint_limits": JointLimits("scaling", "printed", margin=1.0), "superposition": "tool"}
        | force("linearised", time_factor=0.3, resistance=20.0),
    ),
    "F with potential (3.73)": (
        "scara",
        {"joint_limits": JointLimits("potential", "printed", margin=1.0), "superposition": "joint"}
        | force("linearised"),
    ),
    "F pose": ("mixed", {"task": "pose", "inverse": "transpose"} | force("linearised")),
    "operational": ("panda", force("operational")),
    "operational pose": ("moved", {"task": "pose"} | force("operational", max_acceleration=1.0)),
    "operational, potential": ("scara", {"joint_limits": JointLimits("potential", margin=1.0)} | force("operational")),
    "operational, free": ("mixed", {"joint_limits": JointLimits("none")} | force("operational", null_damping=0.0)),
    "joint": ("ur5e", force("joint")),
    "joint pose": ("panda", {"task": "pose"} | force("joint", torque_fraction=0.4)),
    "joint, slides": ("mixed", {"joint_limits": JointLimits("potential", "printed")} | force("joint")),
}
PEOPLE = ((1, 1), (2, 0), (0, 1), (1, 2))


@pytest.mark.parametrize("case", CASES)
def test_the_step_is_the_thesis_equations(case):
    """Random states, people and goals; a filter of four samples unless the case says otherwise."""
    name, options = CASES[case]
    arm, body = arm_and_body(name)
    config = Config(**{"period": 0.01, "smoothing": MovingAverage(0.04)} | options)
    people, others = PEOPLE[list(CASES).index(case) % len(PEOPLE)]
    scene = Scene(arm, config, body, people=people, others=others, seed=len(case))
    for k in range(16):
        state = scene.state()
        obstacles, goal = scene.fill(state.q), scene.goal(state.q)
        ours = scene.controller.step(0.01 * k, 0.01, state, obstacles, goal)
        theirs = scene.reference.step(0.01, state.q, state.qd, obstacles.rows, goal)
        assert not ours.status.stops, ours.reason
        # 1e-9: some thousand roundings of 1e-16, times 1/lambda^2 = 400 or the condition of M, up to 1e4.
        names = ["qd", "q", "tool_velocity", "repulsion", "distance", "axis_distance", "slow", "push"]
        names += ["tau", "acceleration"] if scene.controller.makes_torque else ["attraction"]
        for what in names:
            expected = np.asarray(getattr(theirs, what))
            scale = max(1.0, float(np.abs(expected).max()))
            np.testing.assert_allclose(getattr(ours, what), expected, rtol=0, atol=1e-9 * scale, err_msg=what)


def test_the_scenes_of_that_comparison_reach_what_they_are_about():
    """A comparison of zeros proves nothing: pushes, limits and slowing must all have happened."""
    arm, body = arm_and_body("panda")
    scene = Scene(arm, Config(joint_limits=JointLimits(margin=1.0), smoothing=NO_FILTER), body, seed=5)
    seen = []
    for _ in range(60):
        state = scene.state()
        command = scene.controller.step(0.0, 0.01, state, scene.fill(state.q), scene.goal(state.q))
        seen.append((command.push, command.limit, command.slow, command.distance))
    push, limit, slow, distance = np.array(seen).T
    assert (push > 0.01).sum() > 20
    assert (push == 0).any()
    assert (limit < 0.9).sum() > 20
    assert ((slow > 0) & (slow < 1)).sum() > 10
    assert (distance < 0).any()
