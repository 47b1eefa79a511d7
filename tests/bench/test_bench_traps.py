"""Traps: the obstacle is on the way and leaves start and goal free, methods see it, and figures count the solvable."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from elbowroom.avoidance.planning import Route
from elbowroom.avoidance.planning.settings import Planning
from elbowroom.bench.encounters.methods import Mink, controller
from elbowroom.bench.encounters.run import in_processes
from elbowroom.bench.encounters.run import run as follow
from elbowroom.bench.encounters.scene import APART, PERIOD, REACHED, place
from elbowroom.bench.peers import ompl
from elbowroom.bench.traps import methods, report
from elbowroom.bench.traps import scene as traps
from elbowroom.bench.traps.methods import FREE, METHODS, RouteArm, free_arm, method_named
from elbowroom.bench.traps.report import OmplResult, TrapResult, arrival, ompl_row, trap_row
from elbowroom.bench.traps.scene import CAPSULES, KINDS, TOOL_CLEAR, TrapScene, obstacle, trap
from elbowroom.errors import ElbowroomError, UnknownNameError
from elbowroom.geometry import Capsule, Sphere, distance
from elbowroom.geometry.shapes import RADIUS, A, B


@pytest.fixture(scope="module")
def panda():
    return place("panda")


def shapes(rows):
    return [Capsule(row[A], row[B], float(row[RADIUS])) for row in rows]


# ---- scenes


def test_a_seed_is_a_trap(panda):
    one, again, other = trap(panda, 5), trap(panda, 5), trap(panda, 6)
    for name in ("start", "goal", "point", "rows"):
        assert np.array_equal(getattr(one, name), getattr(again, name))
    assert not np.array_equal(one.rows, other.rows)


@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_the_obstacle_is_on_the_straight_way_and_clear_of_both_ends(name):
    where = place(name)
    arm, body = where.arm, where.body
    for seed in range(12):
        scene = trap(where, seed)
        obstacle_ = shapes(scene.rows)
        first, last = (arm.pose(q)[:3, 3] for q in (scene.start, scene.goal))
        assert np.abs(last - scene.point).max() < 1e-9
        way = [first + (last - first) * part for part in np.linspace(0, 1, 200)]
        assert min(distance(c, Sphere(x, 0.0)).distance for c in obstacle_ for x in way) < 0.0
        for q, tool in ((scene.start, first), (scene.goal, last)):
            assert min(distance(c, Sphere(tool, 0.0)).distance for c in obstacle_) >= TOOL_CLEAR - 1e-9
            between = [distance(c, o).distance for c in body.capsules(q) for o in obstacle_]
            assert min(between) >= traps.ARM_CLEAR - 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("along", [(1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.6, -0.64, 0.48)])
def test_obstacles_hold_the_point_that_they_are_put_at(kind, along):
    middle = np.array([0.5, 0.1, 0.6])
    rows = obstacle(kind, middle, np.array(along), -0.4, np.random.default_rng(0))
    assert rows.shape == (CAPSULES, 13)
    assert not rows[:, 7:].any()  # at rest
    assert min(distance(c, Sphere(middle, 0.0)).distance for c in shapes(rows)) < -0.03
    if kind == "post":
        assert min(rows[:, [2, 5]].ravel()) == -0.4


def test_all_kinds_are_drawn(panda):
    assert {trap(panda, seed).kind for seed in range(20)} == set(KINDS)


def test_a_scene_without_room_is_refused(panda, monkeypatch):
    monkeypatch.setattr(traps, "ARM_CLEAR", 3.0)
    monkeypatch.setattr(traps, "DRAWS", 50)
    with pytest.raises(ElbowroomError, match="panda: expected room for an obstacle between two poses"):
        trap(panda, 0)


def test_the_scenes_of_encounters_are_as_before(panda):
    """A pair that a wrist holds together needs less room; the catalogue's arms have none, and keep their goals."""
    _, rows = panda._drawn
    assert np.array_equal(panda._kept_apart(rows), panda.own(rows) > APART)


# ---- methods


def test_the_free_arm_does_not_see_the_obstacle(panda):
    """It runs straight through, which makes the scene a trap."""
    scene = trap(panda, 0)
    result = report._one(scene, free_arm(scene), 6.0, None)
    assert result.reached
    assert result.touched


def test_planning_gets_around_where_the_field_stays(panda):
    scene = trap(panda, 0)
    stays = report._one(scene, METHODS["K"](scene), 6.0, 2.0)
    held_up = report._one(scene, METHODS["K with planning"](scene), 12.0, 2.0)
    at_once = report._one(scene, METHODS["K planned at once"](scene), 12.0, 2.0)
    assert not stays.reached
    assert not stays.touched
    assert stays.planning is None
    for around in (held_up, at_once):
        assert around.reached
        assert not around.touched
    assert at_once.planning > 0.0


def test_the_arm_stands_while_it_plans_and_then_keeps_to_its_route(panda, monkeypatch):
    scene = trap(panda, 0)
    made: list[RouteArm] = []
    routes: list[Route] = []

    def factory(*arguments):
        made.append(RouteArm(*arguments))
        return made[0]

    real = methods.planner_of(panda.arm)

    class Slow:
        def plan(self, *arguments, **options):
            plan = real.plan(*arguments, **options)
            routes.append(plan.route)
            return replace(plan, seconds=0.5)

    monkeypatch.setattr(methods, "planner_of", lambda arm: Slow())
    track = follow(scene.encounter(3.0), factory, scene.frames, "ideal")
    assert np.array_equal(track.q[: round(0.5 / PERIOD)], np.tile(scene.start, (round(0.5 / PERIOD), 1)))
    assert len(made[0].planning) == 1
    off = np.abs(track.q[:, None] - routes[0].q[None]).max(axis=2).min(axis=1)
    # the route waits for joints that lag by the leash, 0.3; most of that lag is along the route, not off it
    assert off.max() < 0.5 * Planning().leash


def test_mink_is_shown_the_obstacle_as_large_as_it_is(panda):
    for module in ("mink", "mujoco", "daqp"):
        pytest.importorskip(module)
    scene = trap(panda, 0)
    law = Mink(panda.arm, 1, "ideal", rows=scene.rows)
    assert law.obstacles().rows.shape == scene.rows.shape
    sizes = [law._problem.configuration.model.geom_size[k, 0] for k in law._geoms]
    assert np.abs(np.array(sizes) - scene.rows[:, RADIUS]).max() < 1e-12


def test_names_of_methods():
    assert method_named("k-with-planning") == "K with planning"
    with pytest.raises(
        UnknownNameError, match="no method 'minc': expected one of k, k-with-planning, k-planned-at-once, cbf-qp, mink"
    ):
        method_named("minc")


# ---- figures


def test_the_time_of_arrival_is_the_first(panda):
    scene = trap(panda, 0)
    steps = np.linspace(0.0, 1.0, 11)[:, None]

    class Track:
        q = np.vstack([scene.start + (scene.goal - scene.start) * steps, np.tile(scene.goal, (3, 1))])

    away = np.linalg.norm(panda.arm.pose(Track.q[9])[:3, 3] - scene.point)
    assert away > REACHED
    assert arrival(scene, Track) == pytest.approx(10 * PERIOD)
    Track.q = Track.q[:5]
    assert arrival(scene, Track) is None


def result(seed, seconds, free=2.0, touched=False):
    return TrapResult(seed, "ball", seconds is not None, seconds, free, touched, 0.1, False, False, None)


def test_only_scenes_that_can_be_solved_count():
    some = [result(0, 3.0), result(1, None), result(2, 5.0), result(3, 4.0, free=None, touched=True)]
    row = trap_row("panda", "K", some, {0, 1, 3})
    assert row.runs == 3
    assert row.reached.value == pytest.approx(2 / 3)
    assert (row.time_ratio, row.touched) == (1.5, 1)  # where the free arm arrives too
    none = trap_row("panda", "K", some, set())
    assert (none.runs, none.reached, none.time_ratio) == (0, None, None)
    solved = ompl_row("panda", [OmplResult(0, "ball", True, 0.5), OmplResult(1, "ball", False, 10.0)])
    assert (solved.runs, solved.reached.value, solved.planning) == (2, 0.5, 0.5)


def test_work_in_processes_comes_back_in_order():
    called = []
    assert list(in_processes(lambda seed: seed * seed, range(5), 2, lambda: called.append(1))) == [0, 1, 4, 9, 16]
    assert called == [1]
    assert list(in_processes(lambda seed: seed, [7], 1, lambda: called.append(2))) == [7]
    assert called == [1]  # one process compiles as it goes


def test_the_benchmark_from_the_command_line(run, monkeypatch, tmp_path):
    def short(robots, **options):
        return report_run(robots, duration=4.0, budget=2.0, **options)

    report_run = report.run
    monkeypatch.setattr(report, "run", short)
    file = tmp_path / "traps.json"
    options = ("--robot", "panda", "--runs", "1", "--jobs", "1", "--methods", "K,k-with-planning")
    status, out, err = run("bench", "traps", *options)
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert any(words[:3] == ["K", "with", "planning"] for words in lines)
    assert ("OMPL" in out) == (ompl.version() is not None) or "Not installed here" in out
    assert run("bench", "traps", *options, "--json", str(file))[0] == 0
    told = json.loads(file.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert list(told["results"]["panda"]) == [FREE, "K", "K with planning"]
    assert [row["method"] for row in told["rows"]][:3] == [FREE, "K", "K with planning"]


def test_seeds_of_searches_are_refused(run):
    status, _, err = run("bench", "traps", "--seed", "1000000", "--runs", "1")
    assert status != 0
    assert "seeds of figures must be from 0 to 999999" in " ".join(err.split())


@pytest.mark.slow
def test_all_methods_in_the_same_scenes():
    for module in ("mink", "mujoco", "daqp"):
        pytest.importorskip(module)
    found = report.run(["ur5e"], runs=3, jobs=1, duration=10.0, budget=5.0)
    by = {row.method: row for row in found.rows}
    assert by["K planned at once"].reached.value == 1.0
    assert by["K planned at once"].touched == by["K with planning"].touched == 0
    assert by["K"].reached.value < 1.0
    assert by[FREE].touched == by[FREE].runs
    assert all(len(results) == 3 for results in found.results["ur5e"].values())


def test_a_controller_takes_as_many_capsules_as_an_obstacle_has(panda):
    assert controller(panda.arm, 1, "ideal", capsules=CAPSULES).obstacles().rows.shape == (CAPSULES, 13)
    assert isinstance(trap(panda, 1), TrapScene)
