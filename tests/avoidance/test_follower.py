"""Following a route: the arm goes where the route goes, waits where it is held, and is left as it was."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Limits, Repulsion, Sensor, State, Supervisor
from elbowroom.avoidance.planning.follower import Follower, SampledRoute
from elbowroom.avoidance.planning.settings import Planning
from elbowroom.avoidance.settings import dumps, leaves, loads
from elbowroom.errors import ConfigError, ShapeError, UnknownNameError
from elbowroom.geometry import Capsule

PERIOD = 0.01


def minimum_jerk(a, b, duration: float, samples: int = 101) -> SampledRoute:
    """A straight line of joints, at rest at both ends."""
    x = np.linspace(0.0, 1.0, samples)
    part, rate = x**3 * (10 - 15 * x + 6 * x**2), 30 * x**2 * (1 - x) ** 2 / duration
    return SampledRoute(a + part[:, None] * (b - a), rate[:, None] * (b - a), duration)


@pytest.fixture(scope="module")
def arm():
    return er.load("panda")


@pytest.fixture
def controller(arm):
    return Controller(arm, Config(period=PERIOD, planning=Planning()), others=1, person_capsules=1)


@pytest.fixture
def route(arm):
    end = arm.ready + np.array([0.9, 0.2, -0.3, 0.3, 0.4, -0.2, 0.5])
    return minimum_jerk(arm.ready, end, 3.0)


def follow(follower, step, state, seconds, hold=lambda t: False):
    """Runs the loop; the joints do as commanded.  Yields after every step."""
    controller = follower.controller
    obstacles = controller.obstacles()
    for k in range(round(seconds / PERIOD)):
        t = k * PERIOD
        obstacles.nobody(t)
        goal = follower.step(PERIOD, state.q)
        goal.t = t
        state.t = t
        command = step(t, PERIOD, state, obstacles, goal)
        qd = np.zeros_like(state.q) if hold(t) else command.qd.copy()
        state.q += PERIOD * qd
        state.qd[:] = qd
        yield t
        if not follower.active:
            return


class TestSampledRoute:
    def test_is_the_route_between_its_samples(self):
        """A cubic goes through a cubic: s(t) = 3 t^2 - 2 t^3."""
        t = np.linspace(0.0, 1.0, 5)
        route = SampledRoute((3 * t**2 - 2 * t**3)[:, None], (6 * t - 6 * t**2)[:, None], 1.0)
        for s in np.linspace(0.0, 0.99, 37):
            q, qd = route.at(s)
            assert q[0] == pytest.approx(3 * s**2 - 2 * s**3, abs=1e-14)
            assert qd[0] == pytest.approx(6 * s - 6 * s**2, abs=1e-13)

    def test_rests_at_its_ends(self):
        route = SampledRoute([[0.0], [1.0]], [[1.0], [1.0]], 2.0)
        for t, q in ((-1.0, 0.0), (2.0, 1.0), (9.0, 1.0)):
            assert route.at(t).q[0] == q
            assert route.at(t).qd[0] == 0.0

    def test_of_another(self, arm, route):
        again = SampledRoute.of(route, 31)
        for t in (0.0, 0.7, 2.9, 3.0):
            assert np.allclose(again.at(t).q, route.at(t).q, atol=1e-4)  # rad; of cubics over 0.1 s

    @pytest.mark.parametrize("q, qd", [([[0.0]], [[0.0]]), ([[0.0], [1.0]], [[0.0]])])
    def test_refuses_what_is_none(self, q, qd):
        with pytest.raises(ShapeError, match="k >= 2"):
            SampledRoute(q, qd, 1.0)
        with pytest.raises(ConfigError, match="finite"):
            SampledRoute([[0.0], [np.nan]], [[0.0], [0.0]], 1.0)


class TestFollowing:
    def test_the_arm_ends_where_the_route_ends(self, arm, controller, route):
        follower, state = Follower(controller, Planning(speed=2.0)), State(arm.ready)
        follower.begin(route, 0.3)
        off = [np.abs(state.q - route.at(follower.clock).q).max() for _ in follow(follower, controller.step, state, 6)]
        assert not follower.active
        assert np.abs(state.q - route.q[-1]).max() < 0.05  # rad, as near as counts as arrived
        assert max(off) < 0.1  # rad: on the way all joints, not the tool alone, stay by the route

    def test_supervised(self, arm, controller, route):
        guard = Supervisor(controller, Limits(sensor=Sensor.exact()))
        follower, state = Follower(controller, Planning(speed=2.0)), State(arm.ready)
        follower.begin(route, 0.3)
        for _ in follow(follower, guard.step, state, 8):
            assert guard.latched is None, guard.reason
        assert not follower.active
        assert np.abs(state.q - route.q[-1]).max() < 0.05

    def test_waits_for_an_arm_that_is_held(self, arm, controller, route):
        """Held from 0.5 s on the clock stops within a leash; let go, the arm comes to the end."""
        follower, state = Follower(controller, Planning(speed=2.0)), State(arm.ready)
        follower.begin(route, 0.3)
        clocks = {}
        for t in follow(follower, controller.step, state, 12, hold=lambda t: 0.5 < t < 4.0):
            clocks[round(t, 2)] = follower.clock
            assert follower.lag <= follower.settings.leash
        assert clocks[3.9] < 2.0  # of 3 s
        assert clocks[3.9] - clocks[3.8] < 0.01
        assert not follower.active
        assert np.abs(state.q - route.q[-1]).max() < 0.05

    def test_keeps_to_the_speed_of_the_tool(self, arm, controller, route):
        follower, state = Follower(controller, Planning(speed=0.1)), State(arm.ready)
        follower.begin(route, 0.3)
        steps = 0
        for _ in follow(follower, controller.step, state, 60):
            assert np.linalg.norm(follower.goal.velocity) <= 0.1 * 1.05  # one step's change of direction and speed
            steps += 1
        assert steps * PERIOD > 3.0  # longer than the route would take by itself

    def test_the_field_does_not_fight_the_route(self, arm, controller, route):
        """A thing at the margin from the arm's elbow pushes without a route, and does not on one."""
        state = State(arm.ready)
        obstacles, goal = controller.obstacles(), Follower(controller, Planning()).goal
        elbow = arm.poses(arm.ready)[3, :3, 3]
        reach = next(
            d for d in np.linspace(0.1, 0.6, 101) if _pushed(controller, state, obstacles, goal, elbow, d) == 0
        )
        near = reach - 0.04
        assert _pushed(controller, state, obstacles, goal, elbow, near) > 0.0
        follower = Follower(controller, Planning())
        follower.begin(route, 0.2)  # the field of 0.22 m reaches 0.16 m meanwhile
        assert _pushed(controller, state, obstacles, goal, elbow, near) == 0.0
        follower.end()
        assert _pushed(controller, state, obstacles, goal, elbow, near) > 0.0

    def test_leaves_the_controller_as_it_was(self, controller, route):
        gains, posture, config = controller._gains.copy(), controller.posture.copy(), controller.config
        follower = Follower(controller, Planning())
        follower.begin(route, 0.2)
        follower.step(PERIOD, controller.arm.ready + 0.01)
        assert (controller._gains != gains).any()
        assert controller.config is config
        follower.end()
        assert np.array_equal(controller._gains, gains)
        assert np.array_equal(controller.posture, posture)

    def test_never_reaches_farther_than_the_field_did(self, controller, route):
        """A route with a wide margin does not make a small field large."""
        controller.tune(dataclasses.replace(controller.config, repulsion=Repulsion(influence=0.05)))
        Follower(controller, Planning()).begin(route, 0.5)
        names = [name for name, _ in leaves(controller.config)]
        assert controller._gains[names.index("repulsion.influence")] == 0.05


def _pushed(controller, state, obstacles, goal, at, distance):
    y = np.array([0.0, 1.0, 0.0])
    obstacles.put(Capsule(at + (distance + 0.1) * y, at + (distance + 0.2) * y, 0.05))
    obstacles.nobody(0.0)
    goal.position = controller.arm.pose(state.q)[:3, 3]
    return controller.step(0.0, PERIOD, state, obstacles, goal).push


class TestOverride:
    def test_a_tune_meanwhile_is_kept(self, controller):
        controller.override({"repulsion.influence": 0.05})
        controller.tune(dataclasses.replace(controller.config, damping=0.07))
        values = dict(zip((name for name, _ in leaves(controller.config)), controller._gains, strict=True))
        assert (values["repulsion.influence"], values["damping"]) == (0.05, 0.07)
        controller.override({})
        values = dict(zip((name for name, _ in leaves(controller.config)), controller._gains, strict=True))
        assert (values["repulsion.influence"], values["damping"]) == (Repulsion().influence, 0.07)

    def test_refuses_by_name(self, controller):
        with pytest.raises(UnknownNameError, match=r"'repulsion.influense'; did you mean repulsion\.influence\?"):
            controller.override({"repulsion.influense": 0.1})


class TestSettings:
    def test_are_no_inputs_of_the_law(self):
        """With planning a controller is the same program on the same gains, so the same bits."""
        with_, without = Config(planning=Planning(gain=7.0)), Config()
        assert leaves(with_) == leaves(without)
        from elbowroom.avoidance.control.config import structure

        assert structure(with_) == structure(without)

    def test_in_and_out_of_toml(self):
        config = loads(Config, "[planning]\npatience = 0.7\nmargins = [0.1, 0.3]\n")
        assert config.planning == Planning(patience=0.7, margins=(0.3, 0.1))
        assert loads(Config, dumps(config)) == config
        assert loads(Config, "").planning is None
        assert loads(Config, "planning = false").planning is None

    def test_refuse_by_name(self):
        with pytest.raises(ConfigError, match=r"planning\.patience"):
            loads(Config, "[planning]\npatience = 0\n")
        with pytest.raises(ConfigError, match=r"at least budget = 3\.0 s"):
            Planning(budget=3.0, silent=2.0)
        with pytest.raises(ConfigError, match="margins"):
            Planning(margins=())
