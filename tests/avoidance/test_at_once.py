"""A supervised cycle in one native call gives what the long way gives, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Force, Goal, Limits, State, Supervisor
from elbowroom.geometry import Person
from marks import slow_where

PERIOD = 0.01
CONFIGS = {
    "K": Config(period=PERIOD),
    "F": Config(controller="F", period=PERIOD),
    "torque": Config(controller="F", period=PERIOD, force=Force(method="operational")),
}


class Asked(Controller):
    """The same controller, which a supervisor does not know and must ask."""


def run(kind, name, limits, cycles=250):
    """Every command of an arm that a person walks up to, and what was counted."""
    arm = er.load("panda")
    supervisor = Supervisor(kind(arm, CONFIGS[name], person_capsules=13), limits)
    controller, rng = supervisor.controller, np.random.default_rng(5)
    obstacles, state = controller.obstacles(), State(arm.ready.copy())
    goal = Goal(arm.pose(arm.ready)[:3, 3] + [0.2, 0.3, -0.1])
    found = []
    for k in range(cycles):
        t = state.t = k * PERIOD
        if k % 2 == 0 and not 120 < k < 130:  # with a silence
            x = max(1.5 - 0.8 * t, 0.75)
            obstacles.see(Person.standing((x, 0.1 * rng.standard_normal(), -0.4)), t - 0.03)
        command = supervisor.step(t, PERIOD, state, obstacles, goal)
        found.append([*command.qd, *command.tau, *command.q, command.margin, float(len(command.reason))])
        if controller.makes_torque:
            state.qd[:] = np.clip(state.qd + PERIOD * arm.forward_dynamics(state.q, state.qd, command.tau), -1.0, 1.0)
        else:
            state.qd[:] = command.qd
        state.q += PERIOD * state.qd
    return np.array(found), supervisor


@pytest.mark.parametrize("mode", slow_where(lambda mode: mode == "both", ["separation", "both"]))
@pytest.mark.parametrize("name", CONFIGS)
def test_the_same_bits(name, mode):
    limits = Limits(mode=mode, max_state_age=1.0, overspeed=10.0, following_error=10.0, position_jump=1.0)
    (at_once, ours), (asked, theirs) = (run(kind, name, limits) for kind in (Controller, Asked))
    assert ours._own is not None
    assert theirs._own is None
    assert np.array_equal(at_once, asked, equal_nan=True)
    assert ours.counters == theirs.counters
    ours, theirs = (s.recorder.table() for s in (ours, theirs))
    for name in ours:  # the native call writes the same rows
        assert np.array_equal(ours[name], theirs[name], equal_nan=name != "status"), name
    # and it was no idle run: the filter had something to do in some cycles, and in some it had not
    lacking = np.array(ours["margin"])
    assert np.ptp(lacking) > 0


def test_what_is_not_finite_takes_the_long_way():
    arm = er.load("panda")
    supervisor = Supervisor(Controller(arm, CONFIGS["K"], person_capsules=13))
    obstacles, state = supervisor.controller.obstacles(), State(arm.ready.copy())
    goal = Goal(arm.pose(arm.ready)[:3, 3])
    seen = Person.standing((1.5, 0.0, -0.4)).rows
    for k in range(20):
        t = state.t = k * PERIOD
        rows = seen.copy()
        if k == 10:
            rows[3, 2] = np.nan
        obstacles.see(rows, t)
        supervisor.step(t, PERIOD, state, obstacles, goal)
    assert supervisor.counters["rejected_frames"] == 1
    assert supervisor.latched is None
    assert np.isfinite(supervisor.watch.believed).all()


@pytest.mark.parametrize("cause", ["time back", "late state", "goal", "jump", "callback"])
def test_what_is_not_ordinary_ends_the_native_call_and_is_found_by_the_long_way(cause):
    """Each in one cycle: the same commands, statuses and reasons from both."""
    said = []
    for kind in (Controller, Asked):
        arm = er.load("panda")
        supervisor = Supervisor(kind(arm, CONFIGS["K"], person_capsules=13), Limits(record_after=0.02))
        obstacles, state = supervisor.controller.obstacles(), State(arm.ready.copy())
        goal = Goal(arm.pose(arm.ready)[:3, 3] + [0.1, 0.1, 0.0], valid_for=0.05)
        seen, found = Person.standing((1.5, 0.0, -0.4)).rows, []
        for k in range(40):
            t = state.t = goal.t = k * PERIOD
            odd = k == 20
            state.t -= 0.5 * odd * (cause == "late state")
            goal.t -= odd * (cause == "goal")
            state.q[0] += 0.3 * odd * (cause == "jump")
            obstacles.see(seen, t)
            supervisor.on_command = (lambda _: 1 / 0) if odd and cause == "callback" else None
            command = supervisor.step(t - odd * (cause == "time back"), PERIOD, state, obstacles, goal)
            found.append((command.status, command.reason, command.qd.tolist(), command.dt))
            if supervisor.latched is None:
                state.qd[:] = command.qd
            else:
                state.qd[:] = 0.0
                supervisor.reset(t)
            state.q += PERIOD * state.qd
        said.append((found, supervisor.counters, len(supervisor.recorder.dumps)))
    assert said[0] == said[1]
    assert len({status for status, *_ in said[0][0]}) > 1
