"""Planning problems are what they say, peers answer as we do, and figures count what they should."""

from __future__ import annotations

import io
import json
import math
import tarfile
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance.planning import Box, Checker, Planner, World, search
from elbowroom.bench.encounters.scene import place
from elbowroom.bench.peers import ompl
from elbowroom.bench.planning import motionbenchmaker as mbm
from elbowroom.bench.planning import problems, report, validity
from elbowroom.bench.planning.arms import FOREIGN, known
from elbowroom.bench.planning.report import ProblemResult, dense, length, set_row, solve_one
from elbowroom.errors import ElbowroomError, UnknownNameError
from elbowroom.geometry import Body, Capsule, Sphere, distance

has_ompl = pytest.mark.skipif(ompl.version() is None, reason="OMPL is not installed")


@pytest.fixture(scope="module")
def panda():
    return place("panda")


@pytest.fixture(scope="module")
def checker(panda):
    return Checker(panda.body)


# ---- MotionBenchMaker's problems

URDF = """<robot name="panda">
  <link name="base"><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
  <link name="upper"><collision><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.05 0.05"/></geometry></collision>
    <inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="panda_hand"><collision><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.05 0.05"/></geometry></collision>
    <inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="first" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="2" effort="10"/></joint>
  <joint name="second" type="revolute"><parent link="upper"/><child link="panda_hand"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="2" effort="10"/></joint>
</robot>"""

SCENE = """
world:
  collision_objects:
    - id: a box, turned by a quarter about z, in an object that is shifted
      pose: {position: [0, 0, 1], orientation: [0, 0, 0, 1]}
      primitives: [{type: box, dimensions: [0.2, 0.4, 0.6]}]
      primitive_poses: [{position: [2, 0, 0], orientation: [0, 0, 0.70710678118, 0.70710678118]}]
    - id: two in one
      primitives: [{type: sphere, dimensions: [0.3]}, {type: cylinder, dimensions: [0.5, 0.1]}]
      primitive_poses:
        - {position: [0, 3, 0], orientation: [0, 0, 0, 1]}
        - {position: [0, -3, 0], orientation: [0.70710678118, 0, 0, 0.70710678118]}
"""


def request(start: float, goal: float) -> str:
    """The names come in another order than the arm's."""
    return f"""
start_state: {{joint_state: {{name: [second, finger, first], position: [{start}, 0.04, 0.25]}}}}
goal_constraints:
  - joint_constraints: [{{joint_name: second, position: {goal}}}, {{joint_name: first, position: -0.5}}]
"""


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))


@pytest.fixture
def archive(tmp_path) -> Path:
    """A source archive with one arm and one scene of three problems; the goal of number 2 is in contact."""
    pytest.importorskip("yaml")
    blocked = SCENE + (
        "    - {id: wall, primitives: [{type: box, dimensions: [0.1, 0.1, 0.1]}],\n"
        "       primitive_poses: [{position: [0.35, -0.19, 0], orientation: [0, 0, 0, 1]}]}\n"
    )
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w:bz2") as tar:
        for number, scene in ((1, SCENE), (2, blocked), (10, SCENE)):
            _add(tar, f"problems/box_panda/scene{number:04d}.yaml", scene.encode())
            _add(tar, f"problems/box_panda/request{number:04d}.yaml", request(1.0, 0.125 * number).encode())
    path = tmp_path / "vamp_planner-1.2.3.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        _add(tar, "vamp_planner-1.2.3/resources/panda/panda.urdf", URDF.encode())
        _add(tar, "vamp_planner-1.2.3/resources/panda/problems.tar.bz2", inner.getvalue())
    return path


def test_problems_are_read_from_the_archive_and_from_its_folder(archive, tmp_path):
    (found,) = mbm.problem_sets(archive, "panda", 5, ("box",))
    assert found.name == "MBM panda box"
    assert [p.number for p in found.problems] == [1, 10]
    assert found.refused == [2]
    first = found.problems[0]
    assert first.start.tolist() == [0.25, 1.0]  # in the arm's order, fingers left out
    assert first.goal.tolist() == [-0.5, 0.125]
    box, ball, cylinder = first.shapes
    assert isinstance(box, Box)
    assert np.abs(box.center - [2.0, 0.0, 1.0]).max() < 1e-9
    assert np.abs(np.abs(box.rotation @ box.half) - [0.2, 0.1, 0.3]).max() < 1e-9
    assert isinstance(ball, Sphere)
    assert (ball.center.tolist(), ball.radius) == ([0.0, 3.0, 0.0], 0.3)
    axis = cylinder.b - cylinder.a if isinstance(cylinder, Capsule) else cylinder.rotation[:, 2]
    assert abs(axis[1]) > 0.999 * np.linalg.norm(axis)  # its z lies along the world's -y
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "there", filter="data")
    for folder in (tmp_path / "there", tmp_path / "there/vamp_planner-1.2.3", tmp_path):
        (again,) = mbm.problem_sets(folder, "panda", 1, ("box",))
        assert [p.number for p in again.problems] == [1]
        assert np.array_equal(again.problems[0].start, first.start)


def test_what_is_no_archive_is_refused_with_the_way_to_get_one(tmp_path, archive):
    for wrong in (tmp_path / "nowhere", Path(__file__), tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(
            ElbowroomError, match=r"--problems: expected the source archive of vamp-planner.*pip download"
        ):
            mbm.archive(wrong)
    with pytest.raises(ElbowroomError, match="expected a folder resources/ur5 in it"):
        mbm.problem_sets(archive, "ur5", 1)
    with pytest.raises(UnknownNameError, match=r"no problems of 'pandaa': expected panda or ur5.*did you mean panda"):
        mbm.problem_sets(archive, "pandaa", 1)


@pytest.mark.parametrize(("size", "radius"), [(0.14, 0.03), (0.5, 0.05), (0.04, 0.3)])
def test_covers_of_a_cylinder_hold_it_and_the_smallest_is_first(size, radius):
    rng = np.random.default_rng(0)
    R = problems._about_z(0.3) @ np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    p = np.array([0.3, -0.2, 0.5])
    covers = mbm.cylinder_covers(p, R, size, radius)
    angle, part = rng.uniform(0, 2 * math.pi, 400), rng.choice([0.0, 1.0, 0.4], 400)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), size * (part - 0.5)]) @ R.T + p
    volumes = []
    for cover in covers:
        if isinstance(cover, Box):
            inside = np.abs((points - cover.center) @ cover.rotation) <= cover.half + 1e-12
            assert inside.all()
            volumes.append(8 * cover.half.prod())
        else:
            assert max(distance(cover, Sphere(x, 0.0)).distance for x in points) < 1e-12
            volumes.append(math.pi * cover.radius**2 * (cover.length + 4 / 3 * cover.radius))
    assert volumes == sorted(volumes)
    assert {type(cover) for cover in covers} == {Box, Capsule}


# ---- problems of our own


@pytest.mark.parametrize("kind", problems.KINDS)
def test_problems_of_a_kind_are_free_at_both_ends_and_the_same_for_a_seed(panda, checker, kind):
    found = problems.own_set(panda, checker, kind, 3)
    assert found.name == f"panda {kind}"
    assert [p.number for p in found.problems] == [0, 1, 2]
    for problem in found.problems:
        assert (checker.clearance(np.array([problem.start, problem.goal]), problem.world) > 0.0).all()
        only = World(problem.shapes[:-1])  # the floor is last
        no_shape = World(())
        assert (checker.clearance(np.array([problem.start, problem.goal]), only) > 0.0).all()
        assert checker.clearance(problem.start, no_shape) >= checker.clearance(problem.start, problem.world)
    again = problems.own_set(panda, checker, kind, 3)
    other = problems.own_set(panda, checker, kind, 3, seed=1)
    for a, b, c in zip(found.problems, again.problems, other.problems, strict=True):
        assert np.array_equal(a.goal, b.goal)
        assert not np.array_equal(a.goal, c.goal)


def test_most_problems_are_no_straight_motion(panda, checker):
    """A scene that leaves the straight joint motion free asks nothing of a planner."""
    straight = [
        checker.edge_free(problem.start, problem.goal, problem.world)
        for kind in problems.KINDS
        for problem in problems.own_set(panda, checker, kind, 5).problems
    ]
    assert sum(straight) < len(straight) / 2


def test_poses_towards_a_point_have_the_tool_there(panda):
    arm, point = panda.arm, np.array([0.45, 0.2, 0.4])
    rng = np.random.default_rng(0)
    found = problems.towards(arm, point, rng.uniform(*arm.model.sampling_range(), (32, arm.n)))
    assert len(found) > 16
    assert max(np.linalg.norm(arm.pose(q)[:3, 3] - point) for q in found) < problems.NEAR
    assert ((found >= arm.model.lower) & (found <= arm.model.upper)).all()
    assert not len(problems.towards(arm, np.array([5.0, 0.0, 0.0]), arm.ready[None]))


def test_a_kind_that_is_not_known_is_refused_by_name(panda, checker):
    with pytest.raises(UnknownNameError, match="no kind of scene 'tabel': expected one of table, shelf, box, cage"):
        problems.own_set(panda, checker, "tabel", 1)


@pytest.mark.parametrize("turn", [0.0, 0.7])
def test_shapes_are_placed_as_the_arm_is(turn):
    R, p = problems._about_z(turn), np.array([0.1, 0.2, 0.3])
    at = Sphere(np.array([0.4, 0.0, 0.1]), 0.05)
    shape = Capsule(np.zeros(3), np.array([0.0, 0.3, 0.0]), 0.02)
    before = distance(shape, at).distance
    moved = [problems.placed_shape(each, R, p) for each in (shape, at)]
    assert abs(distance(*moved).distance - before) < 1e-12


# ---- peers


@has_ompl
def test_ompl_finds_ways_that_our_checker_calls_free(panda, checker):
    found = problems.own_set(panda, checker, "shelf", 4).problems
    problem = next(p for p in found if not checker.edge_free(p.start, p.goal, p.world))
    world = problem.world
    answer = ompl.rrt_connect(checker, problem.start, problem.goal, world, margin=0.0, budget=20.0, shorten=0.1)
    assert answer.solved
    assert np.abs(answer.path[0] - problem.start).max() < 1e-12
    assert np.abs(answer.path[-1] - problem.goal).max() < 1e-12
    for a, b in pairwise(answer.path):
        assert checker.edge_free(a, b, world)
    assert 0.0 < answer.length <= length(answer.path) + 1e-9


@has_ompl
def test_ompl_does_not_find_what_is_not_there(panda, checker):
    """A wall with a hole for the shoulder alone, from one side to the other: both ends are free."""
    beside = [Box(np.array([x, 0.0, 0.0]), np.array([1.0, 0.01, 1.0])) for x in (-1.14, 1.14)]
    walls = World([*beside, Box(np.array([0.0, 0.0, 1.5]), np.array([2.0, 0.01, 1.0]))])
    left = np.array([math.pi / 2, 0.9, 0.0, -1.5, 0.0, 2.4, 0.78])
    right = left * [-1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert checker.free(np.array([left, right]), walls).all()
    answer = ompl.rrt_connect(checker, left, right, walls, margin=0.0, budget=0.3)
    assert not answer.solved
    assert len(answer.path) == 0
    assert math.isnan(answer.length)


def test_distances_and_contacts_are_those_of_pinocchio_and_coal():
    pytest.importorskip("pinocchio")
    arm = er.load("ur5e")
    scene = validity.validity_scene(arm)
    q = validity.configurations(arm, 200)
    calls = validity.pinocchio_calls(scene, q)
    checker, world = Checker(scene.body), World.of_rows(scene.frames[0].rows)
    theirs, contacts = calls["least"].call(), calls[validity.YES_NO].call()
    ours = checker.clearance(q, world)
    outside = theirs > 0.0
    assert 20 < outside.sum() < 180
    # coal stops its iterations at 1e-6 of relative error, on distances below 2 m
    assert np.abs(ours - theirs)[outside].max() < 1e-5
    sure = np.abs(ours) > 1e-4  # ours says yes or no in float32, some micrometres at these lengths
    assert (checker.free(q, world) == ~contacts.astype(bool))[sure].all()


# ---- figures


def test_a_route_is_looked_at_densely_from_start_to_goal(panda, checker):
    problem = problems.own_set(panda, checker, "box", 1).problems[0]
    plan = Planner(panda.arm, checker=checker).plan(problem.start, problem.goal, problem.world, margin=0.0)
    assert plan.reached
    way = dense(plan)
    assert np.abs(way[0] - problem.start).max() < 1e-9
    assert np.abs(way[-1] - problem.goal).max() < 1e-9
    # coarse pieces are cut evenly in time; within one the speed changes by less than its mean
    assert np.abs(np.diff(way, axis=0)).max() < 3 * report.DENSE


@has_ompl
def test_one_problem_has_both_answers(panda, checker):
    each = problems.own_set(panda, checker, "table", 1)
    found = solve_one(each, Planner(panda.arm, checker=checker), each.problems[0], 5.0, 0, True)
    assert found.solved
    assert found.ompl_solved
    assert found.least > 0.0
    assert found.length >= np.linalg.norm(each.problems[0].goal - each.problems[0].start) - 1e-9


def result(number, solved, ompl_solved, least=0.01, seconds=0.01, outcome="budget spent"):
    outcome = "reached" if solved else outcome
    return ProblemResult(
        number, outcome, solved, seconds, 2.0 if solved else None, 1.0 if solved else None, least if solved else None,
        5, ompl_solved, None if ompl_solved is None else 0.5, 3.0 if ompl_solved else None, 0.5 * seconds,
    )  # fmt: skip


def test_figures_of_a_set_count_what_they_say():
    row = set_row(
        "a set",
        "panda",
        2,
        [result(0, True, True), result(1, False, True), result(2, True, False), result(3, True, True)],
    )
    assert row.refused == 2
    assert row.solved.value == 0.75
    assert row.ompl_solved.value == 0.75
    assert row.of_ompl.value == pytest.approx(2 / 3)
    assert (row.length, row.ompl_length, row.touches) == (2.0, 3.0, 0)
    touching = set_row("a set", "panda", 2, [result(0, True, None, least=-1e-4), result(1, False, None)])
    assert (touching.touches, touching.of_ompl, touching.ompl_solved, touching.ompl_median) == (1, None, None, None)


def test_problems_without_a_way_are_counted_apart_unless_somebody_solves_them():
    some = [result(0, True, True), result(1, False, False), result(2, False, False, outcome="no way", seconds=0.05)]
    row = set_row("a set", "panda", 0, some)
    assert (row.problems, row.no_way, row.solved.value, row.ompl_solved.value) == (3, 1, 0.5, 0.5)
    assert row.p95 > 0.04  # its time counts
    wrong = set_row("a set", "panda", 0, [*some, result(3, False, True, outcome="no way")])
    assert (wrong.no_way, wrong.of_ompl.value) == (1, 0.5)
    none = set_row("a set", "panda", 0, [result(0, False, False, outcome="no way")])
    assert (none.no_way, none.solved, none.ompl_solved, none.of_ompl) == (1, None, None, None)


def test_a_proof_that_somebody_refutes_is_said(panda, monkeypatch):
    monkeypatch.setattr(report, "solve_set", lambda each, *rest: iter([result(7, False, True, outcome="no way")]))
    monkeypatch.setattr(report.validity, "rows", lambda arm, rounds: [])
    told = report.run(["panda"], runs=1, kinds=["table"])
    assert "panda table: OMPL solves [7], which ours says to have no way: a defect of ours." in told.notes


def test_arms_that_are_not_installed_are_left_out_and_noted(monkeypatch):
    import importlib.metadata

    def nothing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", nothing)
    notes: list[str] = []
    assert [each.name for each in known(["panda", *FOREIGN], notes)] == ["panda"]
    assert notes == [f"{name} was left out: its URDF comes with pip install example-robot-data." for name in FOREIGN]
    with pytest.raises(ElbowroomError, match="none of the arms is here"):
        known(["z1"], [])


def test_the_benchmark_from_the_command_line(run, monkeypatch, tmp_path):
    def small(robots, **options):
        assert options.pop("runs") == 1
        return report_run(robots, runs=1, rounds=2, budget=2.0, kinds=["table"], **options)

    report_run = report.run
    monkeypatch.setattr(report, "run", small)
    status, out, err = run("bench", "planning", "--robot", "panda", "--runs", "1")
    assert (status, err) == (0, "")
    assert "panda table" in out
    assert "MotionBenchMaker's problems were not run." in out
    file = tmp_path / "planning.json"
    assert run("bench", "planning", "--robot", "panda", "--runs", "1", "--json", str(file))[0] == 0
    told = json.loads(file.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert told["rows"][0]["problems"] == 1
    assert told["validity"][0]["quantity"] == validity.DISTANCES
    assert told["results"]["panda table"][0]["outcome"] == "reached"


def test_what_the_command_refuses(run, tmp_path):
    status, _, err = run("bench", "planning", "--problems", str(tmp_path / "none.tar.gz"))
    assert status != 0
    assert "expected the source archive of vamp-planner" in " ".join(err.split())
    assert run("bench", "planning", "--plot", "x.png")[0] != 0
    assert run("bench", "traps", "--problems", "x")[0] != 0


def test_a_report_is_data():
    json.dumps(asdict(set_row("a set", "panda", 2, [result(0, True, None)])), allow_nan=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur5e", "iiwa14"])
def test_every_kind_has_problems_for_other_arms_and_most_are_solved(name):
    where = place(name)
    checker = Checker(Body(where.arm))
    planner = Planner(where.arm, checker=checker)
    solved = []
    for kind in problems.KINDS:
        found = problems.own_set(where, checker, kind, 5)
        assert len(found.problems) == 5
        for p in found.problems:
            solved.append(planner.plan(p.start, p.goal, p.world, margin=0.0, budget=5.0).reached)
    assert sum(solved) >= 0.8 * len(solved)


def test_branches_that_stay_near_find_the_way_out_of_a_cage(monkeypatch):
    """Most of what is drawn from the whole range lies behind poles."""
    where = place("iiwa14")
    checker = Checker(where.body)
    planner = Planner(where.arm, checker=checker)
    some_cages = problems.own_set(where, checker, "cage", count=4).problems

    def rounds(part):
        monkeypatch.setattr(search, "NEARBY", part)
        plans = [planner.plan(p.start, p.goal, p.world, margin=0.0, rounds=300) for p in some_cages]
        return sum(plan.rounds for plan in plans), all(plan.reached for plan in plans)

    (some, found), (many, _) = rounds(search.NEARBY), rounds(0.0)
    assert found
    assert 3 * some < many  # 77 and 641 when it was written
