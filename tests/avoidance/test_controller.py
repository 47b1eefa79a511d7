"""The whole controller: the compiled step against the thesis' equations written again, its state, its manners."""

from __future__ import annotations

import dataclasses
import gc
import tracemalloc

import numpy as np
import pytest
from reference import Scene, arm_and_body

from elbowroom.avoidance import (
    Attraction,
    Config,
    Controller,
    Force,
    Goal,
    GoalScaling,
    JointLimits,
    MovingAverage,
    Obstacles,
    Repulsion,
    State,
    Status,
    Waiting,
    Workspace,
)
from elbowroom.errors import ConfigError, ShapeError
from elbowroom.geometry import Sphere
from marks import slow_where

NO_FILTER = MovingAverage(0.0)


def force(method, **more):
    return {"controller": "F", "force": Force(method=method, **more)}


CASES = {
    "defaults": ("panda", {}),
    "pose": ("few", {"task": "pose"}),
    "in joint space": ("few", {"superposition": "joint"}),
    "in joint space, slides": ("mixed", {"superposition": "joint", "task": "pose"}),
    "transpose": ("few", {"inverse": "transpose", "superposition": "joint"}),
    "transpose pose at the tool": ("ur5e", {"inverse": "transpose", "task": "pose", "superposition": "tool"}),
    "alternate": ("ur5e", {"jacobian": "alternate"}),
    "alternate pose transpose": ("scara", {"jacobian": "alternate", "task": "pose", "inverse": "transpose"}),
    "nearest in joint space": ("ur5e", {"acting": "nearest", "superposition": "joint"}),
    "at the tool": ("puma560", {"superposition": "tool", "acting": "nearest", "posture": 0.0}),
    "at the tool, alternate": ("moved", {"superposition": "tool", "jacobian": "alternate"}),
    "nearest": ("moved", {"acting": "nearest"}),
    "potential printed": ("puma560", {"joint_limits": JointLimits("potential", "printed", margin=1.0)}),
    "potential mended": ("scara", {"joint_limits": JointLimits("potential", "mended", margin=1.0, exponent=3)}),
    "scaling printed": ("few", {"joint_limits": JointLimits("scaling", "printed", margin=1.0)}),
    "scaling mended": ("mixed", {"joint_limits": JointLimits("scaling", "mended", margin=1.0)}),
    "no joint limits": ("mixed", {"joint_limits": JointLimits("none")}),
    "thesis' field": ("puma560", {"repulsion": Repulsion.thesis(0.1, 0.7), "attraction": Attraction(ki=0.4)}),
    "other profiles": (
        "scara",
        {"repulsion": Repulsion("inverse", 0.05), "attraction": Attraction(ki=2.0, slow_down="printed", exponent=1)},
    ),
    "no slowing": ("mixed", {"repulsion": Repulsion("cosine", 0.4), "attraction": Attraction(slow_down="off")}),
    "workspace": ("ur5e", {"workspace": Workspace(floor=0.1, inner=0.45, outer=0.8, center=(0.1, 0.0, 0.1))}),
    "workspace, nearest": ("few", {"workspace": Workspace(floor=0.3, outer=0.5), "acting": "nearest"}),
    "no self-collision": ("few", {"self_collision": None}),
    "no waiting": ("few", {"waiting": None}),
    "waits at once": ("few", {"waiting": Waiting(near=0.3, clear=1.0, time=0.0)}),
    "waits by the axes": (
        "mixed",
        {"waiting": Waiting(0.9, 0.0, 0.6, 0.02), "repulsion": Repulsion("linear", measure="axis", influence=0.3)},
    ),
    "waits with less than it has": ("few", {"waiting": Waiting(0.1, time=0.0)} | force("operational")),
    "goal scaling": ("few", {"goal_scaling": GoalScaling(1.0, speed=1.0), "waiting": None}),
    "goal scaling, restrained as printed": (
        "mixed",
        {"goal_scaling": GoalScaling(0.8, 3, 0.1, 0.8), "attraction": Attraction(slow_down="printed")},
    ),
    "goal scaling, nearest, F": (
        "few",
        {"goal_scaling": GoalScaling(2.0, 1, speed=2.0), "acting": "nearest", "waiting": None} | force("linearised"),
    ),
    "goal scaling, torques": ("few", {"goal_scaling": GoalScaling(1.0, speed=1.0)} | force("operational")),
    "filter of one sample": ("few", {"smoothing": NO_FILTER}),
    "F": ("panda", force("linearised")),
    "F in joint space (3.71)": ("few", {"superposition": "joint"} | force("linearised")),
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
    "operational": ("few", force("operational")),
    "operational pose": ("moved", {"task": "pose"} | force("operational", max_acceleration=1.0)),
    "operational, potential": ("scara", {"joint_limits": JointLimits("potential", margin=1.0)} | force("operational")),
    "operational, free": ("mixed", {"joint_limits": JointLimits("none")} | force("operational", null_damping=0.0)),
    "joint": ("ur5e", force("joint")),
    "joint pose": ("few", {"task": "pose"} | force("joint", torque_fraction=0.4)),
    "joint, slides": ("mixed", {"joint_limits": JointLimits("potential", "printed")} | force("joint")),
    "pushes not bent": ("few", {"repulsion": Repulsion(form="printed", max_strength=0.05), "acting": "nearest"}),
}
PEOPLE = ((1, 1), (2, 0), (0, 1), (1, 2))


LONG = ("ur5e", "moved", "puma560")  # six joints and all their capsules: a second of compiling each
AGAIN = (  # what differs from another case by one setting more
    *("in joint space, slides", "no slowing", "no joint limits", "scaling mended", "F in joint space (3.71)"),
    *("F pose", "operational, free", "operational, potential", "joint, slides", "filter of one sample"),
    *("no self-collision", "waits at once", "pushes not bent"),
)


@pytest.mark.parametrize("case", slow_where(lambda case: CASES[case][0] in LONG or case in AGAIN, CASES))
def test_the_step_is_the_thesis_equations(case):
    """Random states, people and goals; a filter of four samples unless the case says otherwise."""
    name, options = CASES[case]
    arm, body = arm_and_body(name)
    config = Config(**{"period": 0.01, "smoothing": MovingAverage(0.04)} | options)
    people, others = PEOPLE[list(CASES).index(case) % len(PEOPLE)]
    if config.acting == "nearest":  # without memory, so that a tie, which rounding decides, can be passed over
        config = dataclasses.replace(config, smoothing=NO_FILTER)
    scene = Scene(arm, config, body, people=people, others=others, seed=len(case))
    for k in range(12):
        state = scene.state()
        obstacles, goal = scene.fill(state.q), scene.goal(state.q)
        ours = scene.controller.step(0.01 * k, 0.01, state, obstacles, goal)
        theirs = scene.reference.step(0.01, state.q, state.qd, obstacles.rows, goal)
        if config.acting == "nearest" and theirs.tie:
            continue
        assert not ours.status.stops, ours.reason
        # 1e-9: some thousand roundings of 1e-16, times 1/lambda^2 = 400 or the condition of M, up to 1e4.
        names = ["qd", "q", "tool_velocity", "repulsion", "distance", "axis_distance", "slow", "push"]
        names += ["tau", "acceleration"] if scene.controller.makes_torque else ["attraction"]
        for what in names:
            expected = np.asarray(getattr(theirs, what))
            scale = max(1.0, float(np.abs(expected).max()))
            np.testing.assert_allclose(getattr(ours, what), expected, rtol=0, atol=1e-9 * scale, err_msg=what)


def test_the_scenes_of_that_comparison_reach_what_they_are_about():
    """A comparison of zeros proves nothing: pushes, limits, slowing and waiting must all have happened."""
    arm, body = arm_and_body("few")
    scene = Scene(arm, Config(joint_limits=JointLimits(margin=1.0), smoothing=NO_FILTER), body, seed=5)
    seen = []
    for _ in range(60):
        state = scene.state()
        command = scene.controller.step(0.0, 0.01, state, scene.fill(state.q), scene.goal(state.q))
        seen.append((command.push, command.limit, command.slow, command.distance, scene.controller._level[0]))
    push, limit, slow, distance, level = np.array(seen).T
    assert (push > 0.01).sum() > 20
    assert (push == 0).any()
    assert (limit < 0.9).sum() > 20
    assert ((slow > 0) & (slow < 1)).sum() > 10
    assert (distance < 0).any()
    assert ((level > 0.02) & (level < 1)).sum() > 20


def test_many_states_at_once_are_the_same_law():
    """`many` is the step of a new controller without its filter, for each state by itself."""
    arm, body = arm_and_body("few")
    for options in ({}, force("operational")):
        config = Config(self_collision=None, waiting=None, **options)  # `many` has no memory and does not wait
        scene = Scene(arm, config, body, seed=8)
        states = [scene.state() for _ in range(5)]
        rows = [scene.fill(state.q).rows.copy() for state in states]
        goals = [scene.goal(state.q) for state in states]
        q, qd = np.array([s.q for s in states]), np.array([s.qd for s in states])
        found = scene.controller.many(q, qd, rows, [g.packed for g in goals])
        unfiltered = dataclasses.replace(config, smoothing=NO_FILTER)
        alone = Controller(arm, unfiltered, body=body, people=1, others=1, person_capsules=2)
        places = alone.obstacles()
        for k, (state, goal) in enumerate(zip(states, goals, strict=True)):
            alone.reset()
            places.rows[:] = rows[k]
            one = alone.step(0.0, config.period, state, places, goal)
            # the same program over lanes: sums may be fused otherwise
            scale = max(1.0, np.abs(one.qd).max())
            np.testing.assert_allclose(found.qd[k], one.qd, rtol=0, atol=1e-11 * scale)
            np.testing.assert_allclose(found.tau[k], one.tau, rtol=0, atol=1e-11 * max(1.0, np.abs(one.tau).max()))
            np.testing.assert_allclose(found.info[k], one.info, rtol=0, atol=1e-10 * scale)


# ---- the filter, gains, memory


def scene_of(name="few", seed=1, **options):
    arm, body = arm_and_body(name)
    return Scene(arm, Config(**options), body, seed=seed)


@pytest.mark.parametrize("controller", ["K", "F"])
def test_the_command_is_the_mean_of_what_the_law_asked_for(controller):
    """(3.78) by brute force over 5 rings: the same controller without a filter gives the samples."""
    # without joint limits, whose factor comes after the mean
    options = {"controller": controller, "period": 0.01, "joint_limits": JointLimits(method="none")}
    smooth = scene_of(**options, smoothing=MovingAverage(0.07))
    raw = scene_of(**options, smoothing=NO_FILTER)
    asked = [np.zeros(7)] * 7  # an arm at rest
    for k in range(35):
        state = smooth.state()
        goal, rows = smooth.goal(state.q), smooth.fill(state.q).rows
        raw.obstacles.rows[:] = rows
        asked.append(raw.controller.step(0.01 * k, 0.01, state, raw.obstacles, goal).qd.copy())
        found = smooth.controller.step(0.01 * k, 0.01, state, smooth.obstacles, goal)
        np.testing.assert_allclose(found.qd, np.mean(asked[-7:], axis=0), rtol=0, atol=1e-12 * np.abs(asked).max())
    assert smooth.controller.delay == pytest.approx(0.03)  # (7 - 1) / 2 periods
    assert raw.controller.delay == 0.0


@pytest.mark.parametrize("controller", ["K", "F"])
@pytest.mark.parametrize("form", ["mended", "printed"])
def test_a_long_average_does_not_carry_a_joint_through_its_limit(controller, form):
    """The mended factor acts on what the filter gives; the printed one is averaged, and the joint runs through."""
    arm, body = arm_and_body("few")
    rules = JointLimits(form=form)
    lower = arm.ready - 0.3
    config = Config(controller=controller, period=0.01, smoothing=MovingAverage(0.7), joint_limits=rules,
                    self_collision=None, posture=0.0)  # fmt: skip
    made = Controller(arm, config, body=body, people=1, others=1, person_capsules=2, lower=lower)
    places, state = made.obstacles(), State(arm.ready)
    tool = arm.pose(arm.ready)[:3, 3]
    beyond = np.inf
    for k in range(600):  # the tool is drawn far aside, about the first joint and the others
        goal = Goal(tool + np.array([-0.3, -0.6, -0.2]))
        state.q[:] += 0.01 * made.step(0.01 * k, 0.01, state, places, goal).qd
        beyond = min(beyond, (state.q - lower).min())
    if form == "mended":
        assert -1e-9 < beyond < 0.2  # felt, and held to rounding
    else:
        assert beyond < -1e-3


def test_torques_are_not_filtered_and_say_so():
    arm, body = arm_and_body("few")
    config = Config(**force("operational"), smoothing=MovingAverage(0.2))
    assert Controller(arm, config, body=body).delay == 0.0


def test_tuning_changes_gains_at_once_and_compiles_nothing(monkeypatch):
    scene = scene_of(smoothing=NO_FILTER)
    config = scene.controller.config
    state = State(scene.arm.ready)
    goal = Goal(scene.arm.pose(state.q)[:3, 3] + [0.1, 0.0, 0.0])
    fast = scene.controller.step(0.0, 0.001, state, scene.obstacles, goal).tool_velocity[:3].copy()

    def compiling(*_):
        raise AssertionError("tune must not compile")

    monkeypatch.setattr("elbowroom.compile.cpu.kernel", compiling)
    scene.controller.tune(dataclasses.replace(config, attraction=Attraction(kp=0.5 * config.attraction.kp)))
    slow = scene.controller.step(0.0, 0.001, state, scene.obstacles, goal).tool_velocity[:3]
    np.testing.assert_allclose(slow, 0.5 * fast, rtol=1e-9)
    assert scene.controller.config.attraction.kp == 0.5 * config.attraction.kp


@pytest.mark.parametrize(
    "change",
    [
        {"controller": "F"},
        {"task": "pose"},
        {"acting": "nearest"},
        {"self_collision": None},
        {"waiting": None},
        {"workspace": Workspace(floor=0.0)},
        {"smoothing": MovingAverage(0.2)},
        {"period": 0.002},
        {"repulsion": Repulsion("linear")},
        {"attraction": Attraction(exponent=3)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_tuning_refuses_another_structure_and_keeps_the_old(change):
    scene = scene_of()
    before = scene.controller.config
    with pytest.raises(ConfigError, match="gains alone"):
        scene.controller.tune(dataclasses.replace(before, **change))
    assert scene.controller.config is before


@pytest.mark.parametrize("options", [{"attraction": Attraction(ki=1.0)}, force("joint"), {"task": "pose"}])
def test_reset_forgets(options):
    """After it the controller does what a new one does."""
    used, new = scene_of(**options), scene_of(**options)
    for _ in range(70):  # more than a ring
        state = used.state()
        used.controller.step(0.0, 0.001, state, used.fill(state.q), used.goal(state.q))
    used.controller.reset()
    for k in range(5):
        state = State(new.arm.ready + 0.01 * k)
        goal = Goal(new.arm.pose(new.arm.ready)[:3, 3] + [0.05, 0.0, 0.0])
        nobody = new.controller.obstacles()
        one = used.controller.step(0.0, 0.001, state, nobody, goal)
        two = new.controller.step(0.0, 0.001, state, nobody, goal)
        for what in ("qd", "q", "tau", "info"):
            np.testing.assert_array_equal(getattr(one, what), getattr(two, what))


def test_the_integral_takes_out_a_steady_error():
    """A joint speed that never reaches the arm in full: with ki the tool still arrives."""
    arm, body = arm_and_body("few")
    errors = {}
    for ki in (0.0, 0.5):
        config = Config(period=0.01, attraction=Attraction(ki=ki), self_collision=None)
        controller = Controller(arm, config, body=body, people=1, person_capsules=1)
        state, places = State(arm.ready), controller.obstacles()
        goal = Goal(arm.pose(arm.ready)[:3, 3] + [0.1, 0.1, 0.0])
        drag = 0.02 * np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0, 0.0])
        for k in range(2500):
            command = controller.step(0.01 * k, 0.01, state, places, goal)
            state.q += 0.01 * (command.qd - drag)
            state.qd[:] = command.qd - drag
        errors[ki] = np.linalg.norm(arm.pose(state.q)[:3, 3] - goal.position)
    assert errors[0.0] > 5e-3
    assert errors[0.5] < 1e-3


# ---- manners


def test_a_step_keeps_no_memory():
    """Rule 5: the loop never allocates without bound.  5,000 steps, people coming and going, leave nothing behind."""
    scene = scene_of()
    states = [scene.state() for _ in range(10)]
    goals = [scene.goal(state.q) for state in states]
    rows = [scene.fill(state.q).rows.copy() for state in states]

    def run(count):
        for k in range(count):
            np.copyto(scene.obstacles.rows, rows[k % 10])
            scene.controller.step(0.001 * k, 0.001, states[k % 10], scene.obstacles, goals[k % 10])

    run(200)
    gc.collect()
    tracemalloc.start()
    run(200)
    before = tracemalloc.get_traced_memory()[0]
    run(5000)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 4096


def test_a_step_writes_to_the_arrays_that_it_has():
    scene = scene_of(**force("operational"))
    command = scene.controller.command
    held = command.qd, command.q, command.tau, command.tool_velocity, command.info, command.acceleration
    state = scene.state()
    inputs = state.q.copy(), state.qd.copy(), scene.fill(state.q).rows.copy()
    goal = scene.goal(state.q)
    packed = goal.packed.copy()
    again = scene.controller.step(0.5, 0.001, state, scene.obstacles, goal)
    assert again is command
    assert (again.t, again.dt) == (0.5, 0.001)
    now = command.qd, command.q, command.tau, command.tool_velocity, command.info, command.acceleration
    assert all(a is b for a, b in zip(held, now, strict=True))
    copy = command.copy()
    scene.controller.step(0.6, 0.001, State(scene.arm.ready), scene.controller.obstacles(), goal)
    assert not np.array_equal(copy.qd, command.qd)
    for before, after in zip((*inputs, packed), (state.q, state.qd, scene.obstacles.rows, goal.packed), strict=True):
        np.testing.assert_array_equal(before, after)


SPOILED = ("q", "qd", "rows", "goal", "dt")
LAWS = {"K": {"attraction": Attraction(ki=0.5)}, "F": force("linearised")} | {
    name: force(name) for name in ("operational", "joint")
}


def spoil(what, value, state, obstacles, goal):
    target = {"q": state.q, "qd": state.qd, "rows": obstacles.rows[-1], "goal": goal.position, "dt": None}[what]
    if target is not None:
        target[0] = value
    return value if what == "dt" else 0.001


@pytest.mark.parametrize("when", ["first", "later"])
@pytest.mark.parametrize("what", SPOILED)
@pytest.mark.parametrize("law", LAWS)
def test_numbers_that_are_none_stop_the_arm_for_that_step_alone(law, what, when):
    """F5: same cycle, output finite and zero, and the next good step is as if nothing had been."""
    scene, twin = scene_of(**LAWS[law]), scene_of(**LAWS[law])
    good = State(scene.arm.ready)
    aim = scene.arm.pose(good.q)[:3, 3] + [0.1, 0.05, 0.0]
    for value in (np.nan, np.inf):
        for s in (scene, twin):
            s.controller.reset()
            for _ in range(0 if when == "first" else 5):
                s.controller.step(0.0, 0.001, good, s.controller.obstacles(), Goal(aim))
        state, goal, places = State(good.q), Goal(aim), scene.controller.obstacles()
        dt = spoil(what, value, state, places, goal)
        command = scene.controller.step(0.0, dt, state, places, goal)
        assert command.status.stops
        assert command.reason
        assert command.status == (Status.STOP_STATE_INVALID if what in ("q", "qd") else Status.STOP_INTERNAL)
        for array in (command.qd, command.tool_velocity, command.acceleration):
            assert np.array_equal(array, np.zeros_like(array))
        assert np.isfinite(command.q).all()
        assert np.isfinite(command.tau).all()
        for _ in range(3):
            one = scene.controller.step(0.0, 0.001, good, scene.controller.obstacles(), Goal(aim))
            two = twin.controller.step(0.0, 0.001, good, twin.controller.obstacles(), Goal(aim))
            assert not one.status.stops, one.reason
            np.testing.assert_array_equal(one.qd, two.qd)


@pytest.mark.parametrize("law", LAWS)
def test_numbers_too_great_do_not_come_out_as_none(law):
    """Rule 3: commands are finite.  Speeds of 1e160 rad/s are finite on the way in; their squares are not."""
    scene = scene_of(**LAWS[law])
    for what in ("q", "qd", "rows", "goal"):
        state, goal, places = State(scene.arm.ready), Goal((0.4, 0.0, 0.5)), scene.controller.obstacles()
        spoil(what, 1e160, state, places, goal)
        command = scene.controller.step(0.0, 0.001, state, places, goal)
        finite = all(np.isfinite(a).all() for a in (command.qd, command.q, command.tau, command.tool_velocity))
        assert finite, what
        nobody, aim = scene.controller.obstacles(), Goal((0.4, 0.0, 0.5))
        good = scene.controller.step(0.0, 0.001, State(scene.arm.ready), nobody, aim)
        assert not good.status.stops, (what, good.reason)


def test_a_stop_on_the_first_step_asks_for_where_the_arm_is():
    """An arm that takes positions must not be sent to q = 0 because a goal was bad."""
    scene = scene_of()
    goal = Goal((0.4, 0.0, 0.5))
    goal.position[0] = np.nan
    command = scene.controller.step(0.0, 0.001, State(scene.arm.ready), scene.obstacles, goal)
    assert command.status == Status.STOP_INTERNAL
    np.testing.assert_array_equal(command.q, scene.arm.ready)


@pytest.mark.parametrize("missing", ["state", "obstacles", "goal"])
def test_a_step_never_raises(missing):
    scene = scene_of()
    arguments = {"state": State(scene.arm.ready), "obstacles": scene.obstacles, "goal": Goal((0.4, 0.0, 0.5))}
    command = scene.controller.step(0.0, 0.001, **arguments | {missing: None})
    assert command.status.stops
    assert np.array_equal(command.qd, np.zeros(7))
    command = scene.controller.step(0.0, 0.001, State(np.zeros(6)), scene.obstacles, arguments["goal"])
    assert command.status.stops
    assert "7" in command.reason


@pytest.mark.parametrize("q", [True, "text", np.array([None] * 7), np.array(["a"] * 7)])
def test_a_state_that_holds_no_numbers_stops_the_arm(q):
    scene = scene_of()
    state = State(scene.arm.ready)
    for what in ("q", "qd"):
        setattr(state, what, q)
        command = scene.controller.step(0.0, 0.001, state, scene.obstacles, Goal((0.4, 0.0, 0.5)))
        assert command.status is Status.STOP_STATE_INVALID
        assert np.isfinite(command.q).all()


@pytest.mark.parametrize("law", ["K", "F"])  # torques are held by the effort limits
def test_a_goal_too_fast_for_any_arm_stops_it_for_that_step_alone(law):
    """Every number is finite, and what the law makes of them is not."""
    scene = scene_of(**LAWS[law])
    state, goal = State(scene.arm.ready), Goal((0.4, 0.0, 0.5), velocity=(1e308, 0.0, 0.0))
    command = scene.controller.step(0.0, 0.001, state, scene.controller.obstacles(), goal)
    assert command.status is Status.STOP_INTERNAL
    assert "not finite" in command.reason
    for array in (command.qd, command.tau, command.tool_velocity):
        assert not array.any()
    np.testing.assert_array_equal(command.q, state.q)
    good = scene.controller.step(0.0, 0.001, state, scene.controller.obstacles(), Goal((0.4, 0.0, 0.5)))
    assert not good.status.stops, good.reason


@pytest.mark.parametrize("layout", [(0, 1, 14), (0, 14, 14), (2, 0, 7), (2, 0, 14), (1, 1, 14), (1, 0, 13)])
def test_places_of_another_layout_are_refused(layout):
    """A person's rows read as things', or one row spread over fourteen, is no obstacle at all."""
    arm, body = arm_and_body("few")
    controller = Controller(arm, body=body, people=1, others=0)
    command = controller.step(0.0, 0.001, State(arm.ready), Obstacles(*layout), Goal((0.4, 0.0, 0.5)))
    assert command.status == Status.STOP_INTERNAL
    assert command.reason


def test_goals_and_states_check_what_they_are_given():
    with pytest.raises(ShapeError, match="position"):
        Goal((0.0, 0.0))
    with pytest.raises(ValueError, match="rotation"):
        Goal((0.0, 0.0, 0.0), rotation=np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(ShapeError, match="qd"):
        State(np.zeros(7), np.zeros(6))
    with pytest.raises(ShapeError, match="one axis"):
        State(np.zeros((2, 7)))


def test_a_goal_moves_when_it_is_assigned_to():
    """`goal.position = p` is what everybody writes first: it must move the goal, or be refused."""
    goal = Goal((0.0, 0.0, 0.0))
    try:
        goal.position = np.array([1.0, 2.0, 3.0])
    except AttributeError:
        return
    assert goal.packed[:3].tolist() == [1.0, 2.0, 3.0]


# ---- status


def test_status_says_what_holds():
    arm, body = arm_and_body("few")
    config = Config(smoothing=NO_FILTER, posture=0.0)
    controller = Controller(arm, config, body=body, people=1, person_capsules=1)
    tool = arm.pose(arm.ready)[:3, 3]

    def status(rows, q=arm.ready, goal=None):
        places = controller.obstacles()
        if rows is not None:
            places.see(rows, 0.0)
        return controller.step(0.0, 0.001, State(q), places, Goal(tool if goal is None else goal)).status

    assert status(None) == Status.OK
    near = np.array([config.repulsion.influence, 0.0, 0.0])  # to the axis: the surface is nearer
    assert status([Sphere(tool + near, 0.05).row()]) == Status.AVOIDING
    assert status([Sphere(tool, 0.05).row()]) == Status.IN_COLLISION
    assert status([Sphere(tool + np.array([3.0, 0.0, 0.0]), 0.05).row()]) == Status.OK
    near = arm.ready.copy()
    near[0] = arm.model.upper[0] - 0.02
    onwards = arm.pose(near + 0.3 * np.eye(7)[0])[:3, 3]
    assert status(None, near, onwards) == Status.SLOWING_LIMIT
