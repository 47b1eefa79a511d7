"""Copies of controllers and supervisors, and pickled ones, go on where the original was, with memory of their own."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from supervising import ARM, PERIOD, PERSON, Cell, fast

from elbowroom.avoidance import Config, Controller, Force, Goal, Limits, MovingAverage, Obstacles, State, Status
from elbowroom.geometry import PARKED, Capsule


def unpickled(x):
    return pickle.loads(pickle.dumps(x))


WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": unpickled}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
deep = pytest.mark.parametrize("way", [copy.deepcopy, unpickled], ids=["deepcopy", "pickle"])
CONFIGS = {
    "K": Config(period=PERIOD, smoothing=MovingAverage(0.02)),
    "F": Config(period=PERIOD, controller="F"),
    "F, torques": Config(period=PERIOD, controller="F", force=Force(method="operational")),
}


def copied(cell, way):
    """A cell like this one that shares nothing with it."""
    other = copy.copy(cell)
    other.supervisor = way(cell.supervisor)
    other.controller = other.supervisor.controller
    other.state, other.goal, other.obstacles = (copy.deepcopy(x) for x in (cell.state, cell.goal, cell.obstacles))
    return other


def walking(k):
    """Somebody who comes near, (2, 13)."""
    rows = PERSON.copy()
    rows[:, [0, 3]] -= 3.0 + 0.0008 * k
    rows[:, [7, 10]] = -0.8
    return rows


def run(cell, cycles):
    """The commands of that many cycles with a person who walks up."""
    found = []
    for _ in range(cycles):
        cell.person = walking(cell.k)
        command = cell.cycle()
        found.append(
            (str(command.status), command.reason, command.qd.tobytes(), command.tau.tobytes(), command.q.tobytes())
        )
    return found


def moving(config):
    cell = Cell(Controller(ARM, config, person_capsules=2), Limits(max_repeats=5))
    cell.goal.position[:] = ARM.pose(ARM.ready + np.array([0.6, 0.4]))[:3, 3]
    run(cell, 700)
    assert cell.supervisor.latched is None
    assert np.abs(cell.state.qd).max() > 1e-3
    return cell


@ways
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_copied_supervisor_gives_the_same_commands(config, way):
    """To the bit, while the original is not touched by what the copy does."""
    cell = moving(config)
    first, second = copied(cell, way), copied(cell, copy.deepcopy)
    expected = run(second, 200)
    assert run(first, 200) == expected
    assert run(cell, 200) == expected
    assert first.supervisor.counters == cell.supervisor.counters
    assert first.supervisor.recorder.events == cell.supervisor.recorder.events
    for name, column in cell.supervisor.recorder.table().items():
        np.testing.assert_array_equal(first.supervisor.recorder.table()[name], column)


@ways
def test_a_latched_stop_stays_latched(way):
    cell = moving(CONFIGS["K"])
    cell.supervisor.stop("a hand in the way")
    run(cell, 3)
    other = copied(cell, way)
    guard = other.supervisor
    assert guard.latched is Status.STOP_INTERNAL
    assert guard.reason == "operator: a hand in the way"
    assert not guard.reset(cell.t)  # the arm still moves
    assert np.abs(cell.supervisor.command.qd).max() > 0.0
    run(other, 500)
    assert guard.latched is Status.STOP_INTERNAL
    assert not other.state.qd.any()
    assert guard.recorder.dump is not None
    assert guard.reset(other.t)
    assert guard.latched is None
    assert cell.supervisor.latched is Status.STOP_INTERNAL  # the original is another
    assert len(cell.supervisor.recorder.dumps) == 1


@ways
def test_a_copy_made_before_the_first_cycle_works(way):
    cell = Cell(Controller(ARM, CONFIGS["K"], person_capsules=2), Limits())
    assert run(copied(cell, way), 50) == run(cell, 50)


@deep
def test_who_was_seen_is_remembered(way):
    cell = moving(CONFIGS["K"])
    other = copied(cell, way)
    for c in (cell, other):
        c.obstacles.nobody(c.t + PERIOD)
        command = c.cycle(see=False)
        assert (c.supervisor.watch.believed != PARKED).any()  # not gone before that is confirmed
    assert command.distance < 10.0


@deep
def test_a_copy_believes_in_its_own_memory(way):
    """People are written where the controller reads them: of the copy's controller, and of no other."""
    cell = moving(CONFIGS["K"])
    other = copied(cell, way)
    cell.cycle(), other.cycle()
    for c in (cell, other):
        watch, controller = c.supervisor.watch, c.controller
        assert np.shares_memory(watch.believed, controller.all_rows)
        assert np.shares_memory(watch.predicted.rows, controller.all_rows)
    assert not np.shares_memory(cell.controller.all_rows, other.controller.all_rows)


@deep
def test_a_copy_that_is_used_later_stops(way):
    """Its clock stands where the original's stood; time that has passed since is a gap."""
    cell = moving(CONFIGS["K"])
    other = copied(cell, way)
    other.k += 3000
    command = other.cycle()
    assert command.status.stops
    assert other.supervisor.latched is command.status
    assert not command.qd.any()


@deep
def test_a_supervisor_of_another_controller_is_copied_with_it(way):
    cell = Cell(limits=fast())
    cell.moving()
    other = copied(cell, way)
    assert other.supervisor.controller is not cell.controller
    other.controller.wanted[:] = 0.0
    other.cycle(200)
    assert not other.supervisor.command.qd.any()
    assert np.array_equal(cell.cycle().qd, [0.6, -0.3])


@deep
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_copied_controller_steps_the_same(config, way):
    controller = Controller(ARM, config, person_capsules=2)
    obstacles, goal, state = controller.obstacles(own=True), Goal([0.5, 0.5, 0.0]), State(ARM.ready)

    def steps(c, seen, k):
        found = []
        for _ in range(k):
            seen.see(PERSON, 0.0)
            found.append(c.step(0.0, PERIOD, state, seen, goal).copy().qd)
        return np.array(found)

    steps(controller, obstacles, 30)
    again, seen = way((controller, obstacles))
    apart = way(controller)
    expected = steps(copy.deepcopy(controller), apart.obstacles(), 30)
    assert np.abs(expected).max() > 0.0
    assert np.array_equal(steps(again, seen, 30), expected)
    assert np.array_equal(steps(apart, apart.obstacles(own=True), 30), expected)
    assert np.array_equal(steps(controller, obstacles, 30), expected)
    assert apart.nearest() == controller.nearest()
    assert not np.shares_memory(apart.rows, controller.rows)
    assert np.shares_memory(apart._own, apart.rows)


@deep
def test_copied_obstacles_show_who_is_seen(way):
    """Its parts were copies of their own once, and a person went into none that anybody read."""
    obstacles = Obstacles(people=2, others=1, person_capsules=2)
    obstacles.see(PERSON, 1.0, 1)
    other = way(obstacles)
    assert np.array_equal(other.rows, obstacles.rows)
    other.see(PERSON + 1.0, 2.0, 0)
    assert np.array_equal(other.rows[:2], PERSON + 1.0)
    assert (obstacles.rows[:2] == PARKED).all()
    other.put(Capsule([1, 0, 0], [1, 0, 1], 0.1))
    assert (obstacles.rows[4] == PARKED).all()
    assert (other.stamps.tolist(), obstacles.stamps[1]) == ([2.0, 1.0], 1.0)


@deep
def test_a_copied_goal_moves(way):
    goal = Goal([1.0, 2.0, 3.0], [0.1, 0.0, 0.0], t=1.0, valid_for=2.0)
    other = way(goal)
    other.position = 4.0, 5.0, 6.0
    other.rotation = np.diag([1.0, -1.0, -1.0])
    assert other.packed[:3].tolist() == [4.0, 5.0, 6.0]
    assert other.packed[10] == -1.0
    assert (other.t, other.valid_for) == (1.0, 2.0)
    assert other.velocity.tolist() == [0.1, 0.0, 0.0]
    assert goal.packed[:3].tolist() == [1.0, 2.0, 3.0]
