"""Tasks: the table of Fig 4.13 is the machine, avoidance returns to what it interrupted, nothing is dropped."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elbowroom.avoidance.settings import dumps, loads, rows
from elbowroom.cell.pick_and_place import (
    AVOID,
    BACK_HOME,
    CAME_FROM,
    EVENTS,
    PERSON_FAR,
    PERSON_NEAR,
    PICK,
    PLACE,
    STATES,
    TO_GOAL,
    TO_HOME,
    TO_OBJECT,
    TRANSITIONS,
    Conveyor,
    Handling,
    InFeed,
    OutFeed,
    PickAndPlace,
    following,
)
from elbowroom.cell.scene import TASKS
from elbowroom.cell.task import GoTo, Rest, Task, TaskSettings
from elbowroom.errors import ConfigError, ElbowroomError, ShapeError
from strategies import examples

DT = 0.01
AT_WORK = [state for state in STATES if state != AVOID]
CELL = PickAndPlace()
BESIDE = np.array([0.1, 0.05, -0.2])  # neither home nor high enough to go across
ROUND = 1e-12  # m: a few roundings of numbers near 1


def nobody(_: int) -> float:
    return math.inf


def steps(
    job: Handling, count: int, *, dt: float = DT, distance: Callable[[int], float] = nobody, lag: float = 0.0
) -> Iterator[np.ndarray]:
    """Steps of a tool that is at the goal one step later, or comes nearer by (1 - lag) of the way; yields the tool."""
    tool = job.goal.position.copy()
    for k in range(count):
        job.step(k * dt, dt, tool, distance(k))
        yield tool
        tool = lag * tool + (1 - lag) * job.goal.position


def until(job: Handling, state: str) -> np.ndarray:
    """Follows perfectly until a state has begun and its pole is a little way on; returns the tool."""
    reached = any(job.state == state for _ in steps(job, 5000))
    assert reached, f"{state} never came"
    for _ in range(5):
        tool = job.goal.position.copy()
        job.step(0.0, DT, tool, math.inf)
    assert job.state == state
    return tool


def carries(job: Handling) -> bool:
    return (job.before if job.state == AVOID else job.state) in (TO_GOAL, PLACE)


# ---- the table


def test_the_table_has_the_seven_states_of_the_figure_and_one_answer_for_each_state_and_event():
    assert len(STATES) == len(set(STATES)) == 7
    assert {row.state for row in TRANSITIONS} == set(STATES)
    assert {row.event for row in TRANSITIONS} == set(EVENTS)
    assert {row.to for row in TRANSITIONS} == {*AT_WORK, AVOID, CAME_FROM} - {TO_HOME}
    pairs = [(row.state, row.event) for row in TRANSITIONS]
    assert len(pairs) == len(set(pairs))
    listed = {(row.state, row.event): row.to for row in TRANSITIONS}
    for state, event, before in itertools.product(STATES, EVENTS, AT_WORK):
        to = following(state, event, before)
        assert to in STATES
        assert to == listed.get((state, event), state).replace(CAME_FROM, before)


def test_every_state_is_reached_from_the_first_and_none_is_a_trap():
    def reached(start: str) -> set[str]:
        found, new = {start}, {start}
        while new:
            new = {following(s, e, b) for s in new for e in EVENTS for b in found - {AVOID}} - found
            found |= new
        return found

    assert reached(TO_HOME) == set(STATES)
    for state in AT_WORK:
        assert reached(state) >= set(STATES) - {TO_HOME}


def test_avoidance_is_entered_from_every_state_and_left_only_back_to_it():
    for state in AT_WORK:
        assert following(state, PERSON_NEAR, TO_HOME) == AVOID
        assert following(AVOID, PERSON_FAR, state) == state
    assert [row.to for row in TRANSITIONS if row.state == AVOID] == [CAME_FROM]


def test_a_cycle_goes_through_the_states_in_the_order_of_the_thesis():
    job = CELL.begin(BESIDE)
    seen = [job.state]
    for _ in steps(job, 3000):
        if job.state != seen[-1]:
            seen.append(job.state)
    cycle = [TO_OBJECT, PICK, TO_GOAL, PLACE, BACK_HOME]
    assert seen[:11] == [TO_HOME, *cycle, *cycle]


# ---- avoidance


@pytest.mark.parametrize("state", AT_WORK)
@pytest.mark.parametrize("near", [0.1, 0.0, -0.2, math.nan])
def test_a_person_interrupts_every_state_and_the_state_comes_back(state, near):
    job = CELL.begin(BESIDE)
    tool = until(job, state)
    held, cycles = job.goal.position.copy(), job.cycles
    just_off = CELL.safety + CELL.hysteresis  # between safety and here, nothing changes
    for distance in [CELL.safety, near, *[CELL.safety, just_off] * 100]:
        before = job.state
        job.step(0.0, DT, tool, distance)
        if distance == CELL.safety and before == state:
            assert job.state == state  # not nearer than the safety distance
            held = job.goal.position.copy()
            continue
        assert job.state == AVOID
        np.testing.assert_array_equal(job.goal.position, held)
        np.testing.assert_array_equal(job.goal.velocity, 0.0)
    job.step(0.0, DT, tool, np.nextafter(just_off, 1.0))
    assert job.state == state
    assert job.cycles == cycles
    assert np.linalg.norm(job.goal.position - held) <= CELL.speed * DT + ROUND


@pytest.mark.parametrize("state, after", [(PICK, TO_GOAL), (PLACE, BACK_HOME)])
def test_the_dwell_does_not_run_while_avoiding_and_is_redone_after(state, after):
    job = CELL.begin(BESIDE)
    tool = until(job, state)
    whole = round(CELL.dwell / DT)
    for _ in range(2 * whole):
        job.step(0.0, DT, tool, 0.1)
    job.step(0.0, DT, tool, math.inf)
    assert job.state == state
    for _ in range(whole - 1):
        job.step(0.0, DT, tool, math.inf)
        assert job.state == state
    for _ in range(2):  # the sum of the steps may round to just below the dwell
        job.step(0.0, DT, tool, math.inf)
    assert job.state == after


def test_a_person_at_the_moment_of_gripping_comes_first():
    job = CELL.begin(BESIDE)
    tool = until(job, PICK)
    while job._held + DT < CELL.dwell:
        job.step(0.0, DT, tool, math.inf)
    job.step(0.0, DT, tool, 0.1)
    assert job.state == AVOID
    assert job.placed == 0
    assert job.brought == 1
    np.testing.assert_array_equal(job.object, CELL.pick)


# ---- gripping


@pytest.mark.parametrize("state, towards", [(PICK, TO_OBJECT), (PLACE, TO_GOAL)])
def test_a_tool_that_was_pushed_off_comes_from_above_again(state, towards):
    job = CELL.begin(BESIDE)
    tool = until(job, state)
    end = np.array(CELL.pick if state == PICK else CELL.place)
    job.step(0.0, DT, tool, 0.1)
    pushed = tool - np.array([1.01 * CELL.leash, 0.0, 0.0])
    job.step(0.0, DT, pushed, math.inf)
    assert job.state == state  # back to where it was, and only then to the event
    job.step(0.0, DT, pushed, math.inf)
    assert job.state == towards
    for _ in range(100):  # the pole waits above
        job.step(0.0, DT, pushed, math.inf)
        assert job.state == towards
        np.testing.assert_allclose(job.goal.position, [*end[:2], end[2] + CELL.approach], atol=CELL.speed * DT)
        np.testing.assert_array_equal(job.goal.velocity, 0.0)
    for _ in range(1000):
        job.step(0.0, DT, job.goal.position.copy(), math.inf)
        if job.state != towards:
            break
    assert job.state == state


def test_without_a_dwell_the_tolerance_holds_all_the_same():
    job = PickAndPlace(dwell=0.0).begin(CELL.home)
    while job.state != PICK:
        job.step(0.0, DT, job.goal.position.copy(), math.inf)
    for off, state in ((1.01, PICK), (0.99, TO_GOAL)):
        job.step(0.0, DT, np.add(CELL.pick, (0.0, off * CELL.tolerance, 0.0)), math.inf)
        assert job.state == state


def test_a_tool_that_hovers_outside_the_tolerance_never_grips_and_one_inside_does():
    job = CELL.begin(BESIDE)
    tool, off = until(job, PICK), np.array([0.0, 0.0, CELL.tolerance])
    for _ in range(1000):
        job.step(0.0, DT, tool + 1.01 * off, math.inf)
        assert job.state == PICK
    for k in range(1000):  # every other step: the dwell begins anew each time
        job.step(0.0, DT, tool + (0.5, 1.5)[k % 2] * off, math.inf)
        assert job.state == PICK
    for _ in range(round(CELL.dwell / DT) + 1):
        job.step(0.0, DT, tool + 0.99 * off, math.inf)
    assert job.state == TO_GOAL


class Pushed:
    """A tool that is drawn to the goal and pushed about, and what an onlooker sees of the objects."""

    def __init__(self, seed: int, lag: float, push: float) -> None:
        self.rng = np.random.default_rng(seed)
        self.lag, self.push = lag, push
        self.job = PickAndPlace(dwell=0.05, speed=1.0).begin(BESIDE)
        self.tool = BESIDE.copy()
        self.grips = self.releases = self.visits = 0
        self.distance = 1.0

    def step(self) -> None:
        job, cell = self.job, self.job.settings
        if self.rng.random() < 0.03:
            self.distance = float(self.rng.choice([0.1, 0.42, 1.0, math.inf, math.nan]))
        old_tool = self.tool.copy()
        self.tool = self.lag * self.tool + (1 - self.lag) * job.goal.position
        if self.rng.random() < 0.03:
            self.tool += self.rng.normal(size=3) * self.push
        state, before, object_, carried = job.state, job.before, job.object.copy(), carries(job)
        goal, had = job.goal.position.copy(), len(job.objects)
        job.step(0.0, DT, self.tool, self.distance)
        self.visits += job.state == AVOID != state
        allowed = {state} | {following(state, event, before) for event in EVENTS}
        assert job.state in allowed
        moved = np.linalg.norm(self.tool - old_tool)
        if carried:
            offset = object_ - old_tool
            assert np.linalg.norm(offset) <= cell.tolerance + ROUND
            if carries(job):  # stays in the gripper
                assert np.abs(job.object - self.tool - offset).max() <= ROUND
                assert np.linalg.norm(job.object - object_) <= moved + ROUND
            else:
                self.releases += 1
                assert state == PLACE
                put = min(job.objects, key=lambda x: np.linalg.norm(x - self.tool))
                np.testing.assert_allclose(put, self.tool + offset, atol=ROUND)
                assert np.linalg.norm(put - cell.place) <= 2 * cell.tolerance + ROUND  # the tool's and the grip's
        elif carries(job):
            self.grips += 1
            assert state == PICK
            np.testing.assert_array_equal(job.object, cell.pick)  # it does not jump into the gripper
            assert np.linalg.norm(self.tool - cell.pick) <= cell.tolerance
        if job.state == AVOID:
            assert (job.goal.position == goal).all()
            assert not job.goal.velocity.any()
        assert abs(len(job.objects) - had) <= 2  # one may come, one may leave
        assert_conserved(job)


def assert_conserved(job: Handling) -> None:
    """Nothing is dropped and nothing is made up."""
    carried, waiting = int(carries(job)), int((job.objects[0] == job.settings.pick).all())
    on_infeed, on_outfeed = job._infeed.write(np.zeros((50, 3))), job._outfeed.write(np.zeros((50, 3)))
    assert len(job.objects) == on_infeed + on_outfeed + carried
    assert job.brought == job.placed + carried + waiting
    assert job.placed == job.delivered + on_outfeed
    assert job.placed - job.cycles in (0, 1)


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.5, 0.9]), st.sampled_from([0.005, 0.05, 0.5]))
@example(7, 0.5, 0.05)
@examples(8)
def test_the_object_stays_with_the_gripper_whatever_happens(seed, lag, push):
    world = Pushed(seed, lag, push)
    for _ in range(1500):
        world.step()
    assert world.visits > 0


def test_the_random_world_does_grip_place_and_avoid():
    """The test above says nothing if nothing happens in it."""
    world = Pushed(7, 0.5, 0.05)
    for _ in range(4000):
        world.step()
    assert world.grips >= 2
    assert world.releases >= 2
    assert world.visits >= 10


# ---- the way


def test_the_way_is_up_across_and_down():
    assert CELL.way(CELL.home, CELL.pick) == [CELL.home, CELL.home, (0.0, 0.3, -0.1), CELL.pick]
    assert CELL.way(CELL.pick, CELL.place) == [CELL.pick, (0.0, 0.3, -0.1), (0.0, -0.3, -0.1), CELL.place]
    low_home = PickAndPlace(home=(0.2, 0.0, -0.25))
    assert low_home.way(low_home.place, low_home.home)[1:] == [(0.0, -0.3, -0.1), (0.2, 0.0, -0.1), (0.2, 0.0, -0.25)]


@pytest.mark.parametrize("lag", [0.0, 0.9, 0.99])
def test_the_pole_waits_for_a_tool_that_lags_and_its_velocity_is_its_motion(lag):
    job = PickAndPlace(speed=0.5).begin(BESIDE)
    before, waits = job.goal.position.copy(), 0
    for tool in steps(job, 4000, lag=lag):
        moved = job.goal.position - before
        # from the last step the pole was let go within the leash, and went on for one step
        assert np.linalg.norm(before - tool) <= 0.1 + 0.5 * DT + ROUND
        assert np.linalg.norm(moved) <= 0.5 * DT + ROUND
        if not moved.any():
            waits += np.linalg.norm(tool - before) >= 0.1
            np.testing.assert_array_equal(job.goal.velocity, 0.0)
        elif np.isclose(np.linalg.norm(moved), 0.5 * DT) and job.goal.velocity.any():
            assert np.linalg.norm(job.goal.velocity) == pytest.approx(0.5)
        before = job.goal.position.copy()
    assert job.cycles >= 1
    assert (waits > 0) == (lag == 0.99)  # 0.5 m/s and 0.9 a step lag 5 cm, 0.99 a step would lag 50 cm


def test_the_velocity_is_that_of_the_pole_away_from_corners():
    job = CELL.begin(CELL.home)
    before = job.goal.position.copy()
    straight = 0
    for _ in steps(job, 1000):
        moved = (job.goal.position - before) / DT
        if np.linalg.norm(job.goal.velocity - moved) < 1e-9:
            straight += 1
        before = job.goal.position.copy()
    assert straight > 950  # a corner, or an end that is not on a step, is one step: ten of them in a cycle


def test_a_tool_that_starts_at_home_sets_out_at_once():
    job = CELL.begin(CELL.home)
    job.step(0.0, DT, np.array(CELL.home), math.inf)
    assert job.state == TO_OBJECT
    assert job.cycles == 0


@pytest.mark.parametrize(
    "cell",
    [
        CELL,
        PickAndPlace(dwell=0.0, speed=1.0, home=(0.2, 0.1, -0.3), place=(0.3, -0.3, -0.1)),
        PickAndPlace(infeed=Conveyor(speed=0.02)),  # 15 s from object to object
        PickAndPlace(outfeed=Conveyor(speed=0.025)),  # 12 s until there is room
    ],
    ids=["robot", "quick", "slow in-feed", "slow out-feed"],
)
def test_cycles_of_a_perfect_tool_take_the_closed_form_time(cell):
    job = cell.begin(cell.home)
    ends = []
    for k, _ in enumerate(steps(job, round(7.5 * cell.cycle_time / DT))):
        if len(ends) < job.cycles:
            ends.append(k * DT)
    assert job.cycles >= 6
    # A way and a dwell each end on a step, and a step later it is seen: up to 2 steps for each of 3 + 2.  A conveyor
    # that decides adds up to 2 for its arrival, and the pole may be held part of a step above.
    for taken in np.diff(ends[1:]):  # from the second on: the first may find an object without waiting
        assert cell.cycle_time - 2 * DT <= taken <= cell.cycle_time + 12 * DT


def test_finer_steps_come_nearer_to_the_closed_form():
    errors = []
    for dt in (0.02, 0.005):
        job = CELL.begin(CELL.home)
        cycles = [job.cycles for _ in steps(job, round(18 / dt), dt=dt)]
        ends = [cycles.index(count) * dt for count in (1, 2)]
        errors.append(abs(ends[1] - ends[0] - CELL.cycle_time))
    assert errors[0] <= 10 * 0.02
    assert errors[1] <= 10 * 0.005


# ---- conveyors


def test_a_late_robot_finds_a_queue_and_nothing_is_dropped():
    job = CELL.begin(CELL.home)
    at_first = job.objects.copy()
    for _ in range(3000):  # the tool does not move at all
        job.step(0.0, DT, np.array([0.5, 0.5, 0.5]), math.inf)
    np.testing.assert_array_equal(job.objects, at_first)
    assert (job.brought, job.placed, job.delivered) == (1, 0, 0)
    for _ in steps(job, 3000):
        pass
    assert job.placed >= 3


def test_the_robot_waits_above_until_there_is_an_object():
    cell = PickAndPlace(infeed=Conveyor(speed=0.02))
    job = cell.begin(cell.home)
    waited = 0
    for tool in steps(job, 3000):
        if job.state == TO_OBJECT and not job._infeed.waiting:
            assert np.isnan(job.object).all()
            assert job.goal.position[2] >= cell.up(cell.pick)[2] - ROUND
            if np.linalg.norm(tool - cell.up(cell.pick)) < ROUND:
                waited += 1
                np.testing.assert_array_equal(job.goal.velocity, 0.0)
    assert waited > 500  # an object takes 15 s, a cycle 8.3 s


def test_an_in_feed_moves_at_its_speed_and_stops_when_an_object_is_there():
    belt = Conveyor(direction=(0.0, 0.0, 2.0), speed=0.1, length=1.0, spacing=0.4)
    feed, out = InFeed(belt, (1.0, 2.0, 3.0)), np.zeros((3, 3))
    assert feed.write(out) == 3
    np.testing.assert_allclose(out, [[1, 2, 3], [1, 2, 2.6], [1, 2, 2.2]])
    feed.take()
    assert not feed.waiting
    feed.move(1.0)
    assert feed.write(out) == 2
    np.testing.assert_allclose(out[:2], [[1, 2, 2.7], [1, 2, 2.3]])
    feed.move(100.0)
    assert feed.waiting
    assert feed.brought == 2
    assert feed.write(out) == 3
    np.testing.assert_array_equal(out[0], [1, 2, 3])


def test_an_out_feed_carries_away_and_counts():
    belt = Conveyor(direction=(3.0, 0.0, 0.0), speed=0.1, length=0.5, spacing=0.2)
    feed, out = OutFeed(belt), np.zeros((4, 3))
    assert feed.free
    feed.put(np.array([1.0, 2.0, 3.0]))
    assert not feed.free
    feed.move(1.0)
    assert not feed.free
    feed.move(1.5)
    assert feed.free
    feed.put(np.array([1.0, 2.1, 3.0]))
    feed.move(1.0)
    assert feed.write(out) == 2
    np.testing.assert_allclose(out[:2], [[1.35, 2, 3], [1.1, 2.1, 3]])
    feed.move(2.0)
    assert feed.write(out) == 1
    np.testing.assert_allclose(out[0], [1.3, 2.1, 3])
    assert feed.delivered == 1
    feed.move(1e300)
    assert feed.write(out) == 0
    assert feed.delivered == 2


# ---- numbers of every kind


def test_the_same_calls_give_the_same_numbers_and_start_begins_anew():
    def trace(job: Handling) -> list[bytes]:
        out = []
        for _ in steps(job, 2500, distance=lambda k: 0.3 if k % 700 > 600 else 2.0, lag=0.7):
            out.append(b"|".join((job.goal.packed.tobytes(), job.objects.tobytes(), job.state.encode())))
        return out

    job = CELL.begin(BESIDE)
    goal = job.goal
    first = trace(job)
    job.start(BESIDE)
    assert job.goal is goal
    assert trace(job) == first == trace(CELL.begin(BESIDE))


def test_twenty_minutes_are_as_good_as_one():
    cell = PickAndPlace(speed=1.0, dwell=0.1, infeed=Conveyor(speed=1.0), outfeed=Conveyor(speed=1.0))
    dt, long = 0.05, 1200.0
    job = cell.begin(cell.home)
    most = 0
    for _ in steps(job, round(long / dt), dt=dt):
        most = max(most, len(job.objects))
    assert_conserved(job)
    assert long / (cell.cycle_time + 12 * dt) - 1 <= job.cycles <= long / (cell.cycle_time - 2 * dt)
    assert most <= cell.infeed.room + cell.outfeed.room + 1
    for row in job.objects[: cell.infeed.room - 1]:  # on the line of the belt still
        np.testing.assert_allclose(row[[0, 2]], np.array(cell.pick)[[0, 2]], atol=ROUND)


ANY = st.floats(allow_nan=True, allow_infinity=True, width=64)


@given(st.lists(st.tuples(ANY, ANY, st.tuples(ANY, ANY, ANY) | st.none(), ANY), max_size=40), st.sampled_from(AT_WORK))
@example([(0.0, 1e308, None, math.inf)] * 20, TO_OBJECT)
@example([(0.0, 0.01, (1e300, -1e300, math.inf), math.inf)] * 5, TO_GOAL)
@example([(0.0, 0.01, (1.7e-271, 0.0, 0.0), math.inf)] * 5, TO_GOAL)
@examples(40)
def test_no_number_breaks_a_step_or_gets_into_the_goal(calls, state):
    job = CELL.begin(BESIDE)
    until(job, state)
    with np.errstate(all="raise", under="ignore"):  # a square that is too small to be told from zero is zero
        for t, dt, tool, distance in calls:
            at = job.goal.position.copy() if tool is None else np.array(tool)
            goal = job.step(t, dt, at, distance)
            assert np.isfinite(goal.packed).all()
            assert np.isfinite(job.objects).all()
            assert np.isfinite(job.object).all() or np.isnan(job.object).all()
            assert_conserved(job)
    assert job.state in STATES


@pytest.mark.parametrize("state", AT_WORK)
def test_a_step_of_no_time_moves_nothing(state):
    job = CELL.begin(BESIDE)
    tool = until(job, state)
    goal, objects, now = job.goal.packed.copy(), job.objects.copy(), job.state
    for dt in (0.0, -0.1, math.nan):
        for _ in range(1000):
            job.step(0.0, dt, tool, math.inf)
    np.testing.assert_array_equal(job.goal.packed, goal)
    np.testing.assert_array_equal(job.objects, objects)
    assert job.state == now


def test_a_tool_that_is_not_known_stops_the_pole_and_keeps_the_object():
    job = CELL.begin(BESIDE)
    until(job, TO_GOAL)
    goal, carried = job.goal.position.copy(), job.object.copy()
    for _ in range(100):
        job.step(0.0, DT, np.array([math.nan, 0.0, 0.0]), math.inf)
    np.testing.assert_array_equal(job.goal.position, goal)
    np.testing.assert_array_equal(job.goal.velocity, 0.0)
    np.testing.assert_array_equal(job.object, carried)


# ---- as data


@pytest.mark.parametrize(
    "task", [Rest(), GoTo((0.1, 0.2, 0.3), 0.02), CELL, PickAndPlace(dwell=2, outfeed=Conveyor((0, 1, 0), 0.5, 2.0))]
)
def test_tasks_are_data_and_come_back_from_toml(task):
    assert isinstance(task, TaskSettings)
    assert type(task) in TASKS.values()
    assert loads(type(task), dumps(task, comments=True)) == task
    assert all(row.doc for row in rows(task))
    job = task.begin((0.5, 0.0, 0.5))
    assert isinstance(job, Task)
    job.goal.rotation = np.diag([1.0, -1.0, -1.0])
    goal = job.step(0.25, DT, np.array([0.5, 0.0, 0.5]), math.inf)
    assert goal is job.goal
    assert goal.t == 0.25
    job.start((0.4, 0.0, 0.5))
    np.testing.assert_array_equal(goal.rotation, np.diag([1.0, -1.0, -1.0]))
    assert job.objects.shape[1:] == (3,)
    for wrong, error in (((1.0, 2.0), ShapeError), ((math.nan, 0.0, 0.0), ConfigError), ((500, 0, 3e3), ConfigError)):
        with pytest.raises(error, match="tool must"):
            job.start(wrong)


def test_points_shift_with_the_origin_and_nothing_else_does():
    origin = np.array([1.0, -2.0, 0.5])
    moved = CELL.placed(origin)
    for name in ("home", "pick", "place"):
        np.testing.assert_array_equal(getattr(moved, name), origin + getattr(CELL, name))
    assert moved.cycle_time == pytest.approx(CELL.cycle_time)
    assert (moved.approach, moved.infeed) == (CELL.approach, CELL.infeed)
    assert GoTo((1.0, 0.0, 0.0)).placed(origin) == GoTo((2.0, -2.0, 0.5))
    assert Rest().placed(origin) == Rest()
    with pytest.raises(ShapeError, match="origin must have shape"):
        CELL.placed([1.0, 2.0])


@pytest.mark.parametrize(
    "text, message",
    [
        ("home = [1, 2]", "home: expected a list of 3"),
        ("pick = [0, 0, 2500]", r"pick\[2\]: expected a number >= -1000 and <= 1000 \(m\); got 2500"),
        ("place = [0.0, 0.3, -0.25]", "place: expected a point farther than leash = 0.1 m from pick"),
        ("tolerance = 0.1", "tolerance: expected a number below leash = 0.1"),
        ("approach = 0", r"approach: expected a number > 0 and <= 10 \(m\); got 0"),
        ("dwell = -1", r"dwell: expected a number >= 0 .* \(s\); got -1"),
        ("safety = nan", r"safety: expected a finite number >= 0 and <= 100 \(m\); got nan"),
        ("safty = 1", "safty: unknown key; did you mean safety"),
        ("[infeed]\nspeed = 0", r"infeed.speed: expected a number > 0 and <= 10 \(m/s\); got 0"),
        ("[outfeed]\nspacing = 2", "outfeed.spacing: expected a number below length = 1.0; got 2"),
        ("[infeed]\ndirection = [0, 0, 0]", "infeed.direction: expected a vector that is not zero"),
        ("[infeed]\nspacing = 1e-4", "infeed.spacing: expected at least length / 1000"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_by_name(text, message):
    with pytest.raises(ElbowroomError, match=message):
        loads(PickAndPlace, text)


def test_rest_stays_where_the_tool_was():
    job = Rest().begin((0.1, 0.2, 0.3))
    for tool in ((0.1, 0.2, 0.3), (5.0, 5.0, 5.0), (math.nan, 0.0, 0.0)):
        goal = job.step(1.0, DT, np.array(tool), 0.0)
        np.testing.assert_array_equal(goal.position, [0.1, 0.2, 0.3])
    assert (job.state, job.cycles, job.objects.shape) == ("resting", 0, (0, 3))
    assert np.isnan(job.object).all()


def test_go_to_is_going_or_there_and_remembers_that_it_was():
    job = GoTo((1.0, 0.0, 0.0), tolerance=0.05).begin((0.0, 0.0, 0.0))
    assert (job.state, job.cycles) == ("going", 0)
    for x, state, cycles in ((0.9, "going", 0), (0.96, "there", 1), (0.5, "going", 1), (1.04, "there", 1)):
        goal = job.step(0.0, DT, np.array([x, 0.0, 0.0]), 0.1)
        np.testing.assert_array_equal(goal.position, [1.0, 0.0, 0.0])
        assert (job.state, job.cycles) == (state, cycles)
    job.step(0.0, DT, np.array([math.nan, 0.0, 0.0]), 0.1)
    assert job.state == "going"
    job.start((0.0, 0.0, 0.0))
    assert (job.state, job.cycles) == ("going", 0)
