"""Waiting: while a person occupies the goal, the field of people reaches farther."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from closed_loop import PERIOD, ClosedLoop
from reference import arm_and_body

from elbowroom.avoidance import (
    Config,
    Controller,
    Goal,
    Limits,
    MovingAverage,
    Repulsion,
    Sensor,
    State,
    Status,
    Supervisor,
    Waiting,
    dumps,
    loads,
)
from elbowroom.avoidance.control.pushes import STRENGTH
from elbowroom.avoidance.control.repulsion import OCCUPIED, demand, followed, influence, occupied
from elbowroom.errors import ConfigError
from elbowroom.geometry import Capsule, Sphere
from elbowroom.geometry.distance import DISTANCE, SPEED_Y

RULES = Waiting()


# ---- the formula


def rows(*capsules):
    return [capsule.row() for capsule in capsules]


def test_the_level_goes_from_clear_to_near():
    """g is from the goal to the nearest surface: 0 beyond `clear`, 1 below `near`, linear between."""
    goal, radius = np.array([0.4, 0.1, 0.5]), 0.1
    for g, level in (
        (RULES.clear + 0.3, 0.0),
        (RULES.clear + 1e-9, 0.0),
        (0.5 * (RULES.near + RULES.clear), 0.5),
        (0.25 * RULES.near + 0.75 * RULES.clear, 0.25),
        (RULES.near - 1e-9, 1.0),
        (0.0, 1.0),
        (-radius, 1.0),  # the goal is on the axis
    ):
        beside = goal + np.array([0.0, g + radius, 0.0])
        limb = Capsule(
            beside - np.array([0.3, 0.0, 0.0]), beside + np.array([0.2, 0.0, 0.0]), radius
        )  # g from the inside of its axis
        over = goal + np.array([0.0, 0.0, g + radius])
        finger = Capsule(over, over + np.array([0.0, 0.0, 0.4]), radius)  # and from its end
        for found in (
            occupied(RULES.near, RULES.clear, goal, rows(limb)),
            occupied(RULES.near, RULES.clear, goal, rows(finger)),
        ):
            assert found == pytest.approx(level, abs=1e-7)


def test_the_nearest_person_counts():
    goal = np.zeros(3)
    near, far = Sphere((0.42, 0.0, 0.0), 0.1), Sphere((0.0, 3.0, 0.0), 0.1)
    balls = [Capsule(ball.center, ball.center, ball.radius) for ball in (far, near, far)]
    assert occupied(RULES.near, RULES.clear, goal, rows(*balls)) == pytest.approx(0.5)
    assert occupied(RULES.near, RULES.clear, goal, rows(far_one := balls[0], far_one)) == 0.0
    assert occupied(RULES.near, RULES.clear, goal, []) == 0.0


@pytest.mark.parametrize("dt", [0.001, 0.01, 0.1])
@pytest.mark.parametrize("time", [0.0, 0.05, 0.15])
def test_it_is_followed_first_order(time, dt):
    """After k steps the part (time / (time + dt))^k is missing; with no time, none."""
    rules, level = Waiting(time=time), 0.0
    for k in range(1, 30):
        level = followed(rules, level, 1.0, dt)
        assert level == pytest.approx(1.0 - (time / (time + dt)) ** k, abs=1e-12)
    for _ in range(30):
        down = followed(rules, level, 0.0, dt)
        assert down == pytest.approx(level * time / (time + dt), abs=1e-12)
        level = down


@pytest.mark.parametrize("time", [0.0, 0.15])
def test_no_time_changes_nothing(time):
    assert followed(Waiting(time=time), 0.3, 1.0, 0.0) == 0.3


def test_the_influence_grows_and_never_shrinks():
    field = Repulsion(influence=0.22)
    assert [influence(RULES, field, level) for level in (0.0, 0.5, 1.0)] == pytest.approx([0.22, 0.51, 0.8])
    wide = Repulsion(influence=1.2)
    assert [influence(RULES, wide, level) for level in (0.0, 0.5, 1.0)] == [1.2, 1.2, 1.2]


# ---- the controller


class Loop(ClosedLoop):
    """People are seen at once."""

    def __init__(self, waiting, **options):
        super().__init__(waiting=waiting, **options)

    def stands(self, gap):
        """Somebody upright, with that much air (m) to the goal."""
        x, y, _ = self.tool + (gap + 0.2) * np.array([1.0, 0.0, 0.0])
        self.places.see([Capsule((x, y, 0.0), (x, y, 1.5), 0.2).row()], self.t)

    @property
    def level(self):
        return float(self.controller._level[0])

    def asked(self, slot):
        """What the field asks for, the distance and the speed of the obstacle, of every pair with it."""
        layout = self.controller.layout
        table = self.controller.pairs[[layout.pair(link, slot) for link in range(layout.own)]]
        return table[:, STRENGTH], table[:, DISTANCE], table[:, SPEED_Y]


def test_an_arm_stands_farther_from_a_person_at_its_goal():
    """0.15 m from the goal to the person: the hand (the foot is where it is) gives way to 0.17 m without
    waiting, within the influence of 0.22 m, and to 0.42 m with it."""
    found = {}
    for waiting in (None, RULES):
        loop = Loop(waiting)
        loop.stands(0.15)
        command = loop.run(10.0)
        assert np.abs(command.qd).max() < 5e-3  # it stands
        found[waiting] = loop.asked(0)[1][-1]
    assert 0.1 < found[None] < Repulsion().influence
    assert Repulsion().influence < found[RULES] < RULES.influence
    assert found[RULES] - found[None] > 0.2


def test_it_goes_back_to_its_goal_when_the_person_has_left():
    loop = Loop(RULES)
    loop.stands(0.15)
    loop.run(6.0)
    assert loop.level == pytest.approx(1.0)
    assert loop.error > 0.15
    loop.stands(2.0)  # still there to be seen, but not at the goal
    loop.run(0.5)
    assert loop.level < 0.05
    loop.run(8.0)
    assert loop.error < 1e-3


def test_somebody_near_the_arm_but_not_at_the_goal_is_not_waited_for():
    """To the bit what a controller does that never waits."""
    waits, never = Loop(RULES), Loop(None)
    for loop in (waits, never):
        loop.goal.position[:] += [-0.1, 0.3, 0.0]
        loop.stands(0.25)  # from where the tool starts
    for _ in range(150):
        one, other = waits.step(), never.step()
        assert np.array_equal(one.qd, other.qd)
        assert one.distance < 0.6
    assert waits.level == 0.0


def test_without_waiting_every_goal_has_the_field_s_own_influence():
    """`waiting=None` with a person at the goal: every pair asks what the profile says at `repulsion.influence`; and
    waiting with no more influence than that is the same law."""
    loop, as_near = Loop(None), Loop(replace(RULES, influence=0.1))
    field = loop.controller.config.repulsion
    for each in (loop, as_near):
        each.stands(0.05)
        each.places.put(Sphere(each.tool + np.array([0.0, 0.4, 0.0]), 0.1))
    for _ in range(60):
        one, other = loop.step(), as_near.step()
        for slot in (0, 1):
            asked, distance, speed = loop.asked(slot)
            for link in range(len(asked)):
                assert asked[link] == pytest.approx(demand(field, distance[link], speed[link]), rel=1e-12)
        assert np.array_equal(one.qd, other.qd)
    assert loop.asked(0)[0].any()
    assert loop.level == 0.0
    assert as_near.level > 0.9


def test_things_keep_their_influence():
    """A thing at the goal is not waited for; and beside a person who is, it still pushes from `influence` alone."""
    alone, beside = Loop(RULES), Loop(RULES)
    for loop in (alone, beside):
        loop.places.put(Sphere(loop.tool + np.array([0.0, 0.35, 0.0]), 0.1))
    alone.step()
    assert alone.level == 0.0
    beside.stands(0.15)
    for _ in range(100):  # the arm is held where it is: only the level changes
        beside.controller.step(beside.t, PERIOD, beside.state, beside.places, beside.goal)
    assert beside.level > 0.99
    field = beside.controller.config.repulsion
    for slot, reach in ((0, RULES.influence), (1, field.influence)):
        asked, distance, speed = beside.asked(slot)
        assert ((field.influence < distance) & (distance < RULES.influence)).any()
        for link in range(len(asked)):
            assert asked[link] == pytest.approx(demand(field, distance[link], speed[link], reach), rel=0.02)
    assert np.array_equal(alone.asked(1)[0], beside.asked(1)[0])


def test_the_level_of_a_controller_is_followed_in_time():
    loop = Loop(RULES)
    loop.stands(0.5 * (RULES.near + RULES.clear))
    for k in range(1, 20):
        loop.step()
        assert loop.level == pytest.approx(0.5 * (1.0 - (RULES.time / (RULES.time + PERIOD)) ** k), abs=1e-12)


def test_many_states_at_once_do_not_wait():
    loop = Loop(RULES)
    loop.stands(0.15)
    q, qd = loop.state.q.copy(), np.zeros(loop.arm.n)
    many = loop.controller.many(q, qd, loop.places.rows, loop.goal.position)
    never = Loop(None, smoothing=MovingAverage(0.0))
    never.stands(0.15)
    one = never.controller.step(0.0, PERIOD, State(q, qd), never.places, never.goal)
    assert np.abs(one.qd).max() > 0.01
    np.testing.assert_allclose(many.qd[0], one.qd, rtol=0, atol=1e-11)  # sums over lanes may be fused otherwise
    assert loop.level == 0.0


def test_its_gains_can_be_tuned():
    loop = Loop(RULES)
    loop.stands(0.15)
    loop.run(4.0)
    before = loop.step().distance
    loop.controller.tune(replace(loop.controller.config, waiting=replace(RULES, influence=0.5)))
    after = loop.run(4.0).distance
    assert after < before - 0.05
    with pytest.raises(ConfigError, match="tune changes gains alone"):
        loop.controller.tune(replace(loop.controller.config, waiting=None))


def test_a_command_says_that_the_goal_is_occupied_and_for_how_much():
    loop = Loop(RULES)
    loop.places.nobody(0.0)
    command = loop.step()
    assert (command.waiting, command.reason) == (0.0, "")
    loop.stands(0.15)
    command = loop.run(3.0)
    assert command.waiting == loop.level > 0.99
    assert (command.status, command.reason) == (Status.AVOIDING, OCCUPIED)
    kept = command.copy()
    loop.stands(2.0)
    command = loop.run(8.0)
    assert command.waiting < 1e-3
    assert (command.status, command.reason) == (Status.OK, "")
    assert kept.waiting > 0.99  # a copy keeps its own


def test_whether_the_goal_is_free_is_not_known_where_nobody_looked():
    """No data is not nobody: there is no level before the first frame, in a stop, or where the arm does not wait."""
    never = Loop(None)
    never.stands(0.05)
    assert math.isnan(never.step().waiting)
    loop = Loop(RULES)
    loop.stands(0.15)
    assert loop.run(1.0).waiting > 0.9
    state = State(np.full(loop.arm.n, math.nan))
    stopped = loop.controller.step(loop.t, PERIOD, state, loop.places, loop.goal)
    assert stopped.status.stops
    assert math.isnan(stopped.waiting)
    assert loop.level > 0.9  # which the controller remembers
    assert loop.step().waiting > 0.9

    limits = Limits(sensor=Sensor.exact(PERIOD), max_age=0.1, max_state_age=1.0)
    guard, places = Supervisor(loop.controller, limits), loop.controller.obstacles()
    state, goal = State(loop.arm.ready.copy()), Goal(loop.tool)
    command = guard.step(0.0, PERIOD, state, places, goal)  # nobody was ever seen, nor was nobody
    assert command.status is Status.SLOWING_HUMAN
    assert math.isnan(command.waiting)
    x, y, _ = loop.tool + np.array([0.35, 0.0, 0.0])
    for k in range(1, 60):
        t = state.t = goal.t = k * PERIOD
        places.see([Capsule((x, y, 0.0), (x, y, 1.5), 0.2).row()], t)
        command = guard.step(t, PERIOD, state, places, goal)
        state.qd[:] = command.qd
        state.q += PERIOD * command.qd
    assert guard.latched is None
    assert command.waiting > 0.9
    state.q[0], state.t = math.nan, t + PERIOD
    command = guard.step(t + PERIOD, PERIOD, state, places, goal)
    assert command.status is Status.STOP_STATE_INVALID
    assert math.isnan(command.waiting)


# ---- what is remembered


def waited():
    loop = Loop(RULES, smoothing=MovingAverage(0.03))
    loop.stands(0.15)
    loop.run(0.2)
    assert 0.3 < loop.level < 0.9
    return loop


def test_a_reset_forgets_the_level():
    loop, new = waited(), Loop(RULES, smoothing=MovingAverage(0.03))
    loop.controller.reset()
    assert loop.level == 0.0
    new.stands(0.15)
    command = new.controller.step(0.0, PERIOD, loop.state, new.places, new.goal)
    assert np.array_equal(loop.controller.step(0.0, PERIOD, loop.state, loop.places, loop.goal).qd, command.qd)
    assert loop.level == new.level > 0.0


def test_a_step_that_could_not_be_made_leaves_the_level():
    loop = waited()
    before = loop.level
    goal = Goal(loop.goal.position.copy())
    goal.position[0] = math.nan
    hurled = Goal(loop.goal.position.copy(), np.full(3, 1e160))
    for to in (goal, hurled):  # refused before the law, and after it
        assert loop.controller.step(loop.t, PERIOD, loop.state, loop.places, to).status.stops
        assert loop.level == before
    loop.step()
    assert loop.level > before


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_goes_on_from_the_level(way):
    loop = waited()
    level = loop.level
    other = copy.copy(loop)
    other.controller, other.state = way(loop.controller), copy.deepcopy(loop.state)
    assert other.level == level
    first = [other.step().qd.copy() for _ in range(5)]
    assert loop.level == level  # the original's is its own
    assert other.level > level
    assert np.array_equal(first, [loop.step().qd.copy() for _ in range(5)])
    assert other.level == loop.level


class Asked(Controller):
    """The same controller, which a supervisor does not know and must ask."""


def test_the_native_cycle_waits_as_the_long_way_does():
    """A person walks up to the goal, stands and leaves: the same commands and levels to the bit."""
    found, told = [], []
    for kind in (Controller, Asked):
        reasons = set()
        arm, body = arm_and_body("few")
        controller = kind(arm, Config(period=PERIOD), body=body, person_capsules=1)
        limits = Limits(sensor=Sensor.exact(PERIOD), max_age=0.1, max_state_age=1.0)
        supervisor, tool = Supervisor(controller, limits), arm.pose(arm.ready)[:3, 3].copy()
        places, state, goal, said = controller.obstacles(), State(arm.ready.copy()), Goal(tool), []
        for k in range(300):
            t = state.t = goal.t = k * PERIOD
            gap = 0.15 + abs(1.5 - t) * 0.8
            x, y, _ = tool + np.array([gap + 0.2, 0.0, 0.0])
            u = math.copysign(0.8, t - 1.5)
            places.see([Capsule((x, y, 0.0), (x, y, 1.5), 0.2).row((u, 0.0, 0.0), (u, 0.0, 0.0))], t)
            command = supervisor.step(t, PERIOD, state, places, goal)
            assert supervisor.latched is None, supervisor.reason
            said.append([*command.qd, command.waiting])
            assert command.waiting == controller.command.waiting == float(controller._level[0])
            reasons.add((command.status, command.reason))
            state.qd[:] = command.qd
            state.q += PERIOD * state.qd
        assert (supervisor._own is not None) == (kind is Controller)
        found.append(np.array(said))
        told.append(reasons)
    assert np.array_equal(*found)
    assert told[0] == told[1]
    assert (Status.AVOIDING, OCCUPIED) in told[0]
    level = found[0][:, -1]
    assert level[0] == 0.0
    assert level.max() > 0.8
    assert level[-1] < 0.01


# ---- settings


def test_it_is_on_unless_it_is_switched_off():
    assert Config().waiting == Waiting()
    assert loads(Config, "") == Config()
    assert loads(Config, "waiting = false") == Config(waiting=None)
    assert "waiting = false\n" in dumps(Config(waiting=None))
    for config in (Config(), Config(waiting=None), Config(waiting=Waiting(0.6, 0.1, 0.3, 0.0))):
        assert loads(Config, dumps(config)) == config
    assert loads(Config, "[waiting]\nnear = 0.1").waiting == Waiting(near=0.1)


@pytest.mark.parametrize(
    "text, message",
    [
        ("near = 0.5", "waiting.near: expected a number below clear = 0.42; got 0.5"),
        ("near = 0.42", "waiting.near: expected a number below clear = 0.42; got 0.42"),
        ("near = -0.1", "waiting.near: expected a number >= 0 and <= 10 (m); got -0.1"),
        ("clear = 0", "waiting.clear: expected a number > 0 and <= 10 (m); got 0"),
        ("influence = 0", "waiting.influence: expected a number > 0 and <= 10 (m); got 0"),
        ("influence = 800", "waiting.influence: expected a number > 0 and <= 10 (m); got 800"),
        ("time = -1", "waiting.time: expected a number >= 0 and <= 10 (s); got -1"),
        ("influense = 1", "waiting.influense: unknown key; did you mean influence (in m)?"),
    ],
)
def test_what_cannot_be_is_refused_by_name(text, message):
    with pytest.raises(ConfigError) as caught:
        loads(Config, f"[waiting]\n{text}", "cell.toml")
    assert str(caught.value) == f"cell.toml: {message}"


def test_what_is_no_waiting_is_refused():
    with pytest.raises(ConfigError, match="waiting: expected a Waiting; got True"):
        Config(waiting=True)
