"""Encounters: people keep to their speeds, scenes to their seeds, the sensor to its faults, figures to their words."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance import Limits
from elbowroom.bench.encounters import METHODS, SEARCH, compare, methods, people_motion, report, simulate
from elbowroom.bench.encounters import people as walking
from elbowroom.bench.encounters import run as loop
from elbowroom.bench.encounters.methods import (
    PARTS,
    BarrierLaw,
    Mink,
    Pink,
    controller,
    expanded,
    placements,
    supervised,
)
from elbowroom.bench.encounters.run import RunResult, measured, more, paired, rate, ratio
from elbowroom.bench.encounters.scene import FRAME, GAP, LATENCY, NOISE, PERIOD, REACHED, STAND, frames, place, scene
from elbowroom.cell.people.reach import elbow
from elbowroom.errors import ElbowroomError, UnknownNameError
from elbowroom.geometry import Pairs
from elbowroom.geometry.distance import DISTANCE
from elbowroom.geometry.shapes import VELOCITY_A, VELOCITY_B, A, B

SHORT = 1.0  # s


@pytest.fixture(scope="module")
def panda():
    return place("panda")


@pytest.fixture(scope="module")
def told(panda):
    return scene(panda, 3)


# ---- people


@pytest.mark.parametrize("limit", [2.9, 1.6])
def test_no_limb_is_faster_than_stated(panda, limit):
    """Over many seeds, for every end of every capsule: a point between two ends is never faster than both."""
    fastest = []
    for seed in range(60):
        rows = scene(panda, seed, limb_speed=limit).rows
        for end in (A, B):
            moved = np.linalg.norm(np.diff(rows[..., end], axis=0), axis=-1) / PERIOD
            fastest.append(moved.max())
    assert max(fastest) <= limit
    assert max(fastest) > 0.75 * limit  # and the bound is no idle one


def test_hands_and_feet_keep_to_their_own_speeds(panda):
    hands, feet = [], []
    for seed in range(40):
        points = scene(panda, seed).points[:, 0]
        speeds = np.linalg.norm(np.diff(points, axis=0), axis=-1).max(axis=0) / PERIOD
        hands += [speeds[walking.POINTS.index(f"{side}_hand")] for side in ("left", "right")]
        feet.append(speeds[walking.POINTS.index("hip")])
    assert max(feet) <= walking.WALK[1] + 1e-9
    assert max(hands) > 1.5


def test_people_move_smoothly_and_keep_their_limbs(told):
    """No jump of a velocity, and bones as long at the end as at the beginning."""
    speeds = np.diff(told.points[:, 0], axis=0) / PERIOD
    # A least-jerk reach of 0.8 m with a peak of 2.5 m/s accelerates by less than 20 m/s^2; elbows by a few times that.
    assert np.abs(np.diff(speeds, axis=0)).max() / PERIOD < 100.0
    at = {name: told.points[:, 0, k] for k, name in enumerate(walking.POINTS)}
    for a, b in (("left_shoulder", "left_elbow"), ("right_elbow", "right_hand"), ("hip", "collar")):
        length = np.linalg.norm(at[a] - at[b], axis=1)
        assert np.ptp(length) < 1e-9


def test_the_elbow_is_that_of_the_cell():
    rng = np.random.default_rng(0)
    hand = rng.uniform([0.2, -0.3, -0.4], [0.45, 0.3, 0.2], (20, 3))
    across = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])  # y x
    expected = [elbow(h, np.zeros(3), 0.33, 0.36, across)[0] for h in hand]
    found = [people_motion.bent([0.0] * 3, list(h), 0.33, 0.36) for h in hand]
    assert np.abs(np.array(found, dtype=float) - expected).max() < 1e-12


def test_points_in_lanes_are_those_of_the_formulas(panda):
    """Walks, reaches and the figure at some times, by the functions on numbers; more times than lanes."""
    rng = np.random.default_rng(3)
    who = walking.visitor(rng, [np.array([0.5, 0.1, 0.4])], panda.base, panda.front, 8.0)
    assert who.steps
    assert who.grasps
    motion, figure = walking.motion().parts, walking._figure(who.height)
    times = np.linspace(0.0, 8.0, 11)
    found = who.points(times)
    for t, points in zip(times / who.slowness, found, strict=True):
        place, reaching = who.begin.copy(), np.zeros(9)
        for step in who.steps:
            given = np.array([step.start, step.length, step.speed])
            place += people_motion.walked(walking.RISE, t, given) * step.change
        for grasp in who.grasps:
            part = people_motion.grasped(t, np.array([grasp.start, grasp.time, grasp.hold]))
            reaching[0] += part * grasp.lean
            rest = figure[motion.hands[grasp.side]]
            reaching[1 + 3 * grasp.side : 4 + 3 * grasp.side] += part * (grasp.target - rest)
            reaching[7 + grasp.side] += part
        body = np.array([*figure.ravel(), *walking.arm_lengths(who.height), *who.base])
        wanted = people_motion.posed(motion, place, reaching, body).astype(float)
        assert np.abs(points - wanted).max() < 1e-12  # m: sums of a few numbers of metres, in another order
    steps = np.linalg.norm(np.diff(found, axis=0), axis=2)
    assert who.greatest_step(times) == pytest.approx(steps.max(), rel=1e-12)
    for count in (2, 3, 9, 10):  # fewer than lanes, and as many
        assert who.greatest_step(times[:count]) == pytest.approx(steps[: count - 1].max(), rel=1e-12)


def test_a_person_of_many_walks_and_reaches(panda):
    """More than are summed up in one call; the points that came with the search for the speed have the same bits."""
    who = walking.visitor(np.random.default_rng(5), [np.array([0.5, 0.1, 0.4])], panda.base, panda.front, 40.0)
    assert len(who.steps) > people_motion.TOGETHER < len(who.grasps)
    times = 0.01 * np.arange(4001.0)
    assert who.known is not None
    assert np.array_equal(times, who.known.times)
    again = replace(who)
    assert again.known is None
    assert np.array_equal(who.points(times), again.points(times))
    place = who.begin + sum(step.change for step in who.steps)
    hip = who.points(np.array([80.0]))[0, motion_parts().hip]  # when all is done
    assert np.abs(hip[:2] - who.base[:2] - place[0] * np.array([np.cos(place[1]), np.sin(place[1])])).max() < 1e-12
    rest = walking._figure(who.height)[motion_parts().hands, 2]
    assert np.abs(who.points(np.array([80.0]))[0, motion_parts().hands, 2] - who.base[2] - rest).max() < 1e-12


def motion_parts():
    return walking.motion().parts


@pytest.mark.parametrize("swing", [3.0, 0.3, 0.0])
def test_how_near_is_what_the_pairs_say(panda, swing):
    """The least of the pair tables, for people, the arm itself and the floor, of arms that jump about, move or stand.

    Where they hardly move most pairs are not measured, since they cannot be nearer than the nearest.
    """
    ways = np.sin(np.arange(panda.arm.n) + np.linspace(0.0, 3.0, 301)[:, None])
    for seed in range(6):
        what = scene(panda, seed, 1 + seed % 2, 3.0)
        q = panda.arm.ready + swing * ways
        if swing == 3.0:
            q = np.random.default_rng(seed).permutation(q)
        track = loop.RunTrack(q, np.diff(q, axis=0), 0, 0, np.zeros(len(q) - 1))
        near, apart = loop.nearest(what, track), loop.distances(what, track)
        people = apart.distance.min(axis=1)
        assert abs(near.people - people.min()) < 1e-9  # m: the same formulas, other roundings
        assert people[near.at] < people.min() + 1e-9
        assert abs(near.itself - min(panda.own(apart.rows).min(), 0.0)) < 1e-9
        assert (near.itself < 0.0) is (swing == 3.0)  # both are looked at
        assert abs(near.floor - panda.above(apart.rows).min()) < 1e-9


@pytest.mark.parametrize("swing", [1.5, 0.3])
def test_contacts_are_those_of_all_distances(panda, swing):
    """Where capsules overlap both have the same bits; elsewhere most times are not measured."""
    ways = swing * np.sin(np.arange(panda.arm.n) + np.linspace(0.0, 3.0, 301)[:, None])
    touched, measured = 0, 0.0
    for seed in range(12):
        what = scene(panda, seed, 1 + seed % 2, 3.0)
        q = panda.arm.ready + ways
        if seed % 3 == 2:
            what = replace(what, points=what.points[:18], times=what.times[:18])  # hardly more than one look
            q = q[:18]
        track = loop.RunTrack(q, np.diff(q, axis=0), 0, 0, np.zeros(len(q) - 1))
        every, some = loop.distances(what, track), loop.contacts(what, track)
        overlap = every.distance < 0.0
        assert np.array_equal(overlap, some.distance < 0.0)
        assert np.array_equal(every.distance[overlap], some.distance[overlap])
        assert np.array_equal(every.own[overlap], some.own[overlap])
        touched += overlap.any()
        measured += np.isfinite(some.distance).any(axis=1).mean() / 12
    assert touched
    assert measured < 0.5


def test_the_nearest_of_several_times_is_the_first(panda):
    """An arm and a person who stand: all times are alike."""
    what = scene(panda, 2, 1, 0.5)
    what = replace(what, points=np.repeat(what.points[20:21], len(what.times), axis=0))
    q = np.repeat(panda.arm.ready[None], len(what.times), axis=0)
    assert loop.nearest(what, loop.RunTrack(q, q[1:], 0, 0, q[1:, 0])).at == 0


def test_people_stay_off_the_base_and_on_the_floor(panda):
    for seed in range(20):
        points = scene(panda, seed, people=2).points
        hips = points[:, :, walking.POINTS.index("hip")] - panda.base
        assert np.linalg.norm(hips[..., :2], axis=-1).min() > walking.NEAREST - 1e-9
        assert points[..., 2].min() > panda.base[2]


# ---- scenes


def test_a_seed_is_a_scene(panda, told):
    again, other = scene(panda, 3), scene(panda, 4)
    assert np.array_equal(again.rows, told.rows)
    assert np.array_equal(again.goals, told.goals)
    assert not np.array_equal(other.goals, told.goals)
    assert not np.array_equal(other.rows, told.rows)
    both = scene(panda, 3, people=2)
    assert np.array_equal(both.rows[:, :1], told.rows)  # a second person changes nothing of the first


@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_goals_are_before_the_arm_above_the_floor_and_can_be_reached(name):
    where = place(name)
    arm = where.arm
    goals = np.concatenate([scene(where, seed, duration=0.1).goals[:3] for seed in range(4)])
    offset = goals - where.base
    facing = np.array([math.cos(where.front), math.sin(where.front)])
    assert (offset[:, :2] @ facing > 0).all()
    assert (offset[:, 2] > STAND).all()
    for goal in goals:
        assert min(np.linalg.norm(arm.pose(q)[:3, 3] - goal) for q in _towards(arm, goal)) < REACHED


def _towards(arm, goal, tries=8):
    """Configurations from damped least squares on the position alone, from several starts."""
    rng = np.random.default_rng(1)
    for start in [arm.ready, *rng.uniform(*arm.model.sampling_range(), (tries, arm.n))]:
        q = np.array(start)
        for _ in range(200):
            error = goal - arm.pose(q)[:3, 3]
            J = arm.jacobian(q)[0]
            q = np.clip(q + J.T @ np.linalg.solve(J @ J.T + 1e-4 * np.eye(3), error), arm.model.lower, arm.model.upper)
        yield q


def test_an_arm_without_room_for_goals_is_refused():
    hanging = er.load("panda").with_base(np.diag([1.0, -1.0, -1.0, 1.0]))
    with pytest.raises(ElbowroomError, match=r"panda: expected an arm with room for goals before it; of 4000"):
        scene(place(hanging), 0)


# ---- the sensor


def test_the_camera_has_the_faults_that_it_states(panda):
    latencies, errors, gaps = [], [], []
    for seed in range(12):
        what = scene(panda, seed)
        seen = frames(what, "camera")
        latencies += list(seen.arrivals - seen.stamps)
        gaps += list(np.diff(seen.stamps))
        later = seen.stamps >= 0
        truth = what.rows[np.round(seen.stamps[later] / PERIOD).astype(int)]
        hands = (seen.rows[later] - truth)[:, 0, 7, A]  # a ball: its middle is a point of the skeleton
        errors.append(hands.ravel())
    assert LATENCY[0] <= min(latencies) <= max(latencies) <= LATENCY[1]
    assert np.ptp(latencies) > 0.03  # drawn anew for each run
    noise = np.concatenate(errors)
    assert abs(noise.mean()) < 0.1 * NOISE
    assert abs(noise.std() - NOISE) < 0.05 * NOISE  # of some 10,000 draws: within 2 % by chance
    assert min(gaps) > FRAME - 1e-9
    assert GAP[0] < max(gaps) <= GAP[1] + FRAME + 1e-9
    assert 0.01 < np.mean(np.array(gaps) > 1.5 * FRAME) < 0.05


def test_an_ideal_sensor_shows_the_truth(told):
    seen = frames(told, "ideal")
    assert np.array_equal(seen.rows, told.rows)
    assert np.array_equal(seen.arrivals, told.times)
    assert np.array_equal(seen.stamps, told.times)
    shift = told.rows[2:, 0, :, A] - told.rows[:-2, 0, :, A]
    assert np.abs(told.rows[1:-1, 0, :, VELOCITY_A] - shift / (2 * PERIOD)).max() < 0.2  # ends that are made up
    with pytest.raises(UnknownNameError, match="sensor: expected camera or ideal; got 'radar'"):
        frames(told, "radar")


# ---- the loop


class Watching:
    """Stands still and keeps what it is shown; latches a stop at 0.2 s."""

    def __init__(self, arm, people, sensor):
        self.arm, self.latched, self.resets, self.shown = arm, None, [], []
        self.command = SimpleNamespace(qd=np.zeros(arm.n))

    def step(self, t, dt, state, obstacles, goal):
        self.shown.append((t, obstacles.stamps[0]))
        if abs(t - 0.2) < 1e-9:
            self.latched = "a reason"
        return self.command

    def reset(self, t):
        self.resets.append(t)
        self.latched = None


def test_frames_come_late_and_a_stop_is_reset_after_a_second(panda):
    made = []

    def factory(*arguments):
        made.append(Watching(*arguments))
        return made[-1]

    what = scene(panda, 1, duration=2.0)
    seen = frames(what, "camera")
    track = loop.run(what, factory, seen)
    (watching,) = made
    assert track.stops == 1
    assert watching.resets == pytest.approx([1.2])
    latency = seen.arrivals[0] - seen.stamps[0]
    for t, stamp in watching.shown:
        assert np.isfinite(stamp)  # the camera runs already when the arm begins
        assert t - stamp >= latency - 1e-9
        assert stamp == max(s for s, there in zip(seen.stamps, seen.arrivals, strict=True) if there <= t + 1e-9)


def test_a_blind_arm_does_what_it_does_alone_and_a_still_one_nothing(panda):
    found = compare({k: METHODS[k] for k in ("blind", "still")}, "panda", range(2), duration=5.0, jobs=1)
    for result in found["blind"]:
        assert result.goals == result.alone > 0
    for result in found["still"]:
        assert (result.goals, result.jerk, result.approach, result.fastest) == (0, 0.0, False, 0.0)


def test_one_process_or_two_give_the_same(panda):
    def timeless(results):
        return [replace(result, microseconds=0.0) for result in results]

    one, two = (simulate(METHODS["K"], "panda", range(3), duration=SHORT, jobs=jobs) for jobs in (1, 2))
    assert timeless(one) == timeless(two)
    assert [result.seed for result in one] == [0, 1, 2]


def test_joints_stop_at_their_limits_and_that_is_counted(panda):
    class Turning(Watching):
        def step(self, t, dt, state, obstacles, goal):
            self.command.qd = np.array([*np.zeros(6), 2.0])
            return self.command

    what = scene(panda, 0, duration=2.0)
    track = loop.run(what, Turning, None)
    assert track.q.max(axis=0)[6] == panda.arm.model.upper[6]
    assert measured(what, track, 1).ends == 1
    assert measured(what, loop.run(what, Watching, None), 1).ends == 0


# ---- what counts as what


def _still_scene(where, point, steps=40):
    """A scene in which a person's hands are at this point, and everything else is far away."""
    what = scene(where, 0, duration=steps * PERIOD)
    rows = what.rows.copy()
    rows[..., VELOCITY_A], rows[..., VELOCITY_B] = 0.0, 0.0
    for end in (A, B):
        rows[..., end] += 100.0
        rows[:, :, 7:9, end] = point
    return replace(what, other=rows)


def test_touching_is_approach_only_where_the_arm_closes_in(panda):
    arm = panda.arm
    tool = arm.pose(arm.ready)[:3, 3] + np.array([0.0, 0.12, 0.0])  # a hand on its left side
    steps = 40
    q = np.tile(arm.ready, (steps + 1, 1))
    still = loop.RunTrack(q, np.zeros((steps, arm.n)), 0, 0, np.ones(steps))
    result = measured(_still_scene(panda, tool), still, 3)
    assert (result.touched, result.approach, result.alone) == (True, False, 3)
    assert result.least < 0
    moving = q.copy()
    moving[:, 0] = np.linspace(-0.3, 0.0, steps + 1)  # at 0.75 rad/s
    into = loop.RunTrack(moving, np.diff(moving, axis=0) / PERIOD, 0, 0, np.ones(steps))
    assert measured(_still_scene(panda, tool), into, 3).approach
    away = loop.RunTrack(moving[::-1], np.diff(moving[::-1], axis=0) / PERIOD, 0, 0, np.ones(steps))
    result = measured(_still_scene(panda, tool), away, 3)
    assert (result.touched, result.approach) == (True, False)
    clear = measured(_still_scene(panda, tool + np.array([0.0, 0.0, 1.0])), into, 3)
    assert not clear.touched
    assert clear.least > 0


def test_the_base_cannot_be_touched(panda):
    """No joint moves it, and so no method could keep it clear."""
    what = _still_scene(panda, panda.arm.model.base[:3, 3] - [0.0, 0.0, 0.2])
    steps = len(what.times) - 1
    track = loop.RunTrack(np.tile(panda.arm.ready, (steps + 1, 1)), np.zeros((steps, 7)), 0, 0, np.ones(steps))
    assert not measured(what, track, 1).touched


def test_overlaps_with_itself_and_the_floor_are_found():
    where = place("ur5e")
    arm = where.arm
    q = np.random.default_rng(0).uniform(*arm.model.sampling_range(), (3000, arm.n))
    rows = where.body.kernel(q, np.zeros_like(q))
    low, tight = q[where.above(rows).argmin()], q[where.own(rows).argmin()]
    for config, floor, itself in ((low, True, None), (tight, None, True), (arm.ready, False, False)):
        track = loop.RunTrack(np.tile(config, (3, 1)), np.zeros((2, arm.n)), 0, 0, np.ones(2))
        result = measured(_still_scene(where, np.zeros(3), 2), track, 1)
        assert floor is None or (result.floor > 0) is floor
        assert itself is None or (result.itself > 0) is itself


def test_jerk_is_the_second_difference_of_the_command(panda):
    steps = 40
    t = PERIOD * np.arange(steps)
    asked = np.tile((0.5 * 7.0 * t**2)[:, None], (1, 7))  # a jerk of 7 rad/s^3 in every joint
    track = loop.RunTrack(np.tile(panda.arm.ready, (steps + 1, 1)), asked, 0, 0, np.ones(steps))
    assert measured(_still_scene(panda, np.full(3, 50.0)), track, 1).jerk == pytest.approx(7.0)


# ---- methods


def test_every_method_moves_an_arm_that_nobody_disturbs_to_its_goals(panda):
    """All draw as fast as the K controller does: alone they reach as many goals, or one more or less."""
    pytest.importorskip("daqp")
    what = scene(panda, 0, duration=5.0)
    seen = frames(what, "ideal")
    nobody = replace(seen, other=seen.rows + np.where(np.arange(13) < 6, 100.0, 0.0))
    alone = loop.run(what, METHODS["K"], None).goals
    for name in ("CBF-QP", "CBF-QP static", "mink"):
        if name == "mink":
            pytest.importorskip("mink")
        assert abs(loop.run(what, METHODS[name], nobody).goals - alone) <= 1, name


def test_the_barrier_law_gives_way_to_one_who_comes(panda):
    """A hand at rest beside the tool leaves the arm standing; one that comes drives it away, seen by velocity alone."""
    pytest.importorskip("daqp")
    from elbowroom.avoidance import Goal, State

    arm = panda.arm
    tool = arm.pose(arm.ready)[:3, 3]
    rows = _still_scene(panda, tool + np.array([0.35, 0.0, 0.0])).rows[0, 0]
    rows[7:9, VELOCITY_A] = rows[7:9, VELOCITY_B] = [-1.5, 0.0, 0.0]
    for velocity, gives_way in ((True, True), (False, False)):
        law = BarrierLaw(arm, 1, "ideal", velocity=velocity)
        places = law.obstacles()
        places.see(rows, 0.0)
        qd = law.step(0.0, PERIOD, State(arm.ready), places, Goal(tool)).qd
        assert (float(arm.jacobian(arm.ready)[0][0] @ qd) < -0.1) is gives_way


@pytest.mark.parametrize("peer", [Mink, Pink])
def test_peers_see_a_person_where_we_do(panda, told, peer):
    """Turned limbs too: the nearest distance that the library has after a cycle is ours."""
    pytest.importorskip(peer.__name__.lower())
    method = peer(panda.arm, 1, "ideal")
    people = frames(told, "ideal").rows[400, 0]
    places = method.obstacles()
    places.see(people, 0.0)
    method.solve(panda.arm.ready, places.rows, told.goals[0])
    own = panda.body.rows(panda.arm.ready, np.zeros(7))[panda.moving]
    ours = Pairs(len(own), 13)(np.concatenate([own, people]))[:, DISTANCE].min()
    if peer is Mink:
        configuration = method._problem.configuration
        mujoco = pytest.importorskip("mujoco")
        arm = [configuration.model.geom(f"arm {k}").id for k in panda.moving]
        theirs = min(
            mujoco.mj_geomDistance(configuration.model, configuration.data, i, j, 10.0, np.zeros(6))
            for i in arm
            for j in method._geoms
        )
    else:
        configuration = method._problem.configuration
        pairs = configuration.collision_model.collisionPairs
        of_person = [k for k, pair in enumerate(pairs) if pair.second in method._problem.person]
        theirs = min(configuration.collision_data.distanceResults[k].min_distance for k in of_person)
    assert theirs == pytest.approx(ours, abs=1e-6)  # as near to exact as coal is


def test_placed_capsules_lie_along_their_axes():
    rows = np.random.default_rng(5).uniform(-1, 1, (30, 13))
    rows[3, B] = rows[3, A]
    middle, R, half = placements(rows)
    assert np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max() < 1e-14
    assert (np.linalg.det(R) > 0).all()
    assert np.abs(middle + half[:, None] * R[:, :, 2] - rows[:, B]).max() < 1e-14
    assert half[3] == 0.0


# ---- how sure it is


def test_intervals_have_their_closed_forms():
    pytest.importorskip("scipy")
    nothing = rate(0, 1000)
    assert (nothing.value, nothing.low) == (0.0, 0.0)
    assert nothing.high == pytest.approx(1 - 0.05 ** (1 / 1000))  # about 3 / n
    everything = rate(20, 20)
    assert (everything.low, everything.high) == (pytest.approx(0.025 ** (1 / 20)), 1.0)
    half = rate(5, 10)  # the textbook's
    assert (half.low, half.high) == (pytest.approx(0.1871, abs=1e-4), pytest.approx(0.8129, abs=1e-4))


def test_pairs_are_tested_exactly():
    pytest.importorskip("scipy")
    alike = paired([True, False, True], [True, False, True])
    assert (alike.only_this, alike.only_other, alike.p) == (0, 0, 1.0)
    apart = paired([True] * 6 + [False] * 4, [False] * 10)
    assert (apart.only_this, apart.only_other) == (6, 0)
    assert apart.p == pytest.approx(2 * 0.5**6)


def test_a_ratio_is_of_sums_and_its_interval_holds_it():
    found = ratio([1, 2, 3, 0], [2, 4, 4, 2])
    assert found.value == 0.5
    assert found.low < 0.5 < found.high
    same = ratio([2, 2, 2], [4, 4, 4])
    assert (same.value, same.low, same.high) == (0.5, 0.5, 0.5)
    assert math.isnan(ratio([0], [0]).value)


# ---- the command


def test_each_of_the_parts_is_the_default_with_one_thing_changed():
    arm = er.load("panda")

    def settings(make):
        """Of the law and of the supervisor, as the factory has them; none of it is built."""
        given = dict(getattr(make, "keywords", {}))
        limits = asdict(given.pop("limits", Limits()))
        return limits | {f"law {name}": value for name, value in asdict(methods.config(arm, **given)).items()}

    default = settings(supervised)
    assert PARTS["K"] is controller
    makes = {name: make for name, make in PARTS.items() if make is not controller}
    assert all(make is supervised or make.func is supervised for make in makes.values())
    changed = {name: [k for k in default if settings(make)[k] != default[k]] for name, make in makes.items()}
    assert changed.pop("K supervised") == []
    assert all(len(names) == 1 for names in changed.values()), changed
    assert len(changed) == len(set(map(str, changed.values()))) == len(PARTS) - 2  # none twice; K has no supervisor


def test_a_set_stands_for_its_methods_each_once():
    assert expanded(["parts"]) == list(PARTS)
    assert expanded(["K", "parts", "k-supervised"]) == ["K", *(name for name in PARTS if name != "K")]


@pytest.mark.slow
def test_the_command_prints_writes_and_draws(run, tmp_path):
    pytest.importorskip("scipy")
    pytest.importorskip("matplotlib")
    picture = tmp_path / "clear.png"
    given = (
        "bench",
        "encounters",
        "--robot",
        "panda",
        "--runs",
        "2",
        "--methods",
        "blind,K,k-supervised,k-supervised-with-planning",
        "--jobs",
        "1",
    )
    status, out, err = run(*given, "--seed", "7", "--sensor", "ideal", "--plot", picture)
    assert (status, err) == (0, "")
    assert "2 encounters of 10 s, seeds 7 to 8: one person" in out
    assert "K supervised" in out
    assert "0 (< 77.6)" in out  # no event in two runs
    assert "Beside the same without" in out
    assert "1 (0:0)" in out  # p of touches, where nothing touched
    assert picture.stat().st_size > 10_000
    status, out, err = run(*given, "--people", "2", "--limb-speed", "1.6", "--json", "-")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert (told["elbowroom"], told["people"], told["limb_speed"]) == (er.__version__, 2, 1.6)
    assert [row["method"] for row in told["rows"]] == ["blind", "K", "K supervised", "K supervised with planning"]
    assert [(row["robot"], row["without"], row["runs"]) for row in told["pairs"]] == [("panda", "K supervised", 2)]
    assert told["rows"][0]["throughput"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert [r["seed"] for r in told["results"]["panda"]["K"]] == [0, 1]


@pytest.mark.parametrize(
    "given, said",
    [
        (("encounters", "--methods", "K,magic"), "no method 'magic': expected one of blind, still, k,"),
        (("encounters", "--methods", "cbfqp"), "did you mean cbf-qp"),
        (("encounters", "--methods", "part"), "or curve, parts; did you mean parts?"),
        (("encounters", "--seed", SEARCH), "seeds of figures must be from 0 to 999999, those beyond are for searches"),
        (("encounters", "--robot", "pandaa"), "no arm 'pandaa'"),
        (("encounters", "--people", "3"), "people"),
        (("encounters", "--sensor", "radar"), "'camera', 'ideal'"),
        (("encounters", "--rounds", "3"), "--rounds does not go with encounters"),
        (("dynamics", "--limb-speed", "1.6"), "--limb-speed does not go with dynamics"),
    ],
)
def test_bad_input_is_refused_by_name(run, given, said):
    status, _, err = run("bench", *given)
    assert status != 0
    assert said in " ".join(err.replace("│", " ").split())


def runs_with(*pairs):
    """Runs with these goals, and whether they touched."""
    none = dict.fromkeys((each.name for each in dataclasses.fields(RunResult)), 0.0)
    return [
        RunResult(**none | {"seed": k, "goals": goals, "touched": touched, "approach": False})
        for k, (goals, touched) in enumerate(pairs)
    ]


def test_a_method_is_compared_with_the_one_without_what_it_adds():
    """Goals and touches scene by scene; both arms together; what has nobody beside it is left out."""
    name, without = "K supervised with planning", "K supervised"
    results = {
        "one": {
            name: runs_with((5, False), (4, True), (3, True)),
            without: runs_with((4, False), (4, True), (4, False)),
        },
        "two": {name: runs_with((9, False)), without: runs_with((2, True))},
        "three": {name: runs_with((9, True))},
    }
    one, two, every = report.pair_rows(results)
    assert [(row.robot, row.runs, row.goals, row.goals_without) for row in (one, two, every)] == [
        ("one", 3, 12, 12), ("two", 1, 9, 2), ("all", 4, 21, 14),
    ]  # fmt: skip
    assert (every.better, every.worse, every.touched, every.touched_without) == (2, 1, 2, 2)
    assert (every.touches.only_this, every.touches.only_other) == (1, 1)
    assert (one.touches.only_this, one.touches.only_other) == (1, 0)
    assert every.more.value == 7.0
    assert report.pair_rows({"one": results["one"]}) == [one]


def test_goals_more_are_of_pairs():
    """Runs are drawn with their pairs: where every run has one goal more there is no doubt about it."""
    some = [3, 9, 1, 4, 7]
    sure = more([goals + 1 for goals in some], some)
    assert (sure.value, sure.low, sure.high) == (5.0, 5.0, 5.0)
    doubt = more([4, 8, 2, 4, 7], some)
    assert doubt.low < doubt.value == 1.0 < doubt.high


def test_missing_libraries_are_named(monkeypatch):
    monkeypatch.setattr(report, "NEEDS", {"mink": ("no_such_module",)})
    found = report.run(["panda"], runs=1, methods=["still", "mink"], jobs=1, duration=0.1)
    assert found.missing == ["mink"]
    assert [row.method for row in found.rows] == ["still"]
    with pytest.raises(ElbowroomError, match="none of the methods is installed here: mink"):
        report.run(["panda"], runs=1, methods=["mink"], jobs=1)
