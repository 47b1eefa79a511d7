"""Motion from torque and back: closed forms, orders of accuracy, energy, the tool, and what goes wrong."""

from __future__ import annotations

import dataclasses
import math
import sys

import numpy as np
import pytest

import elbowroom as er
from elbowroom import simulation
from elbowroom.errors import DivergenceError
from elbowroom.model import chains
from elbowroom.simulation import quintic, simulate, tool_history, torque_history


def arm_of(model, **changes):
    return er.Arm(dataclasses.replace(model, **changes))


def lossless(name="panda"):
    model = er.load(name).model
    return arm_of(model, viscous=np.zeros(model.n), coulomb=np.zeros(model.n))


PENDULUM = er.Arm(chains.planar(1))  # a rod of 1 m and 1 kg: I = 1/3 kg m^2


# Closed forms.


@pytest.mark.parametrize("method", simulation.METHODS)
def test_constant_torque_without_gravity(method):
    """I qdd = tau: a parabola, on which all three methods are exact but for rounding."""
    rod = arm_of(chains.planar(1), gravity=np.zeros(3))
    motion = simulate(rod, [0.2], [0.5], [2.0], duration=1.0, dt=0.1, method=method)
    expected = 0.2 + 0.5 * motion.t + 0.5 * 6.0 * motion.t**2
    assert len(motion.t) == 11
    assert np.abs(motion.q[:, 0] - expected).max() < 1e-12
    assert np.abs(motion.qd[:, 0] - (0.5 + 6.0 * motion.t)).max() < 1e-12
    assert np.abs(motion.work - 2.0 * (expected - 0.2)).max() < 1e-12, "torque times angle"


@pytest.mark.parametrize("method", simulation.METHODS)
def test_the_period_of_a_pendulum(method):
    """Hung down and let go 1 rad off: the period by the arithmetic-geometric mean, T = 2 pi sqrt(I / m g l) / agm."""
    a, b = 1.0, math.cos(0.5)
    for _ in range(8):
        a, b = (a + b) / 2, math.sqrt(a * b)
    period = 2 * math.pi * math.sqrt((1 / 3) / (9.81 * 0.5)) / a
    down = math.pi / 2  # q = 0 is level and q turns about -y, so one of the two level-to-down turns hangs
    hanging = down if PENDULUM.potential_energy([down]) < 0 else -down
    motion = simulate(PENDULUM, [hanging + 1.0], [0.0], [0.0], duration=period, dt=1e-3, method=method)
    allowed = 1e-4 if method == "symplectic" else 1e-8  # dt^2 and dt^4 against 1.6 s
    assert abs(motion.q[-1, 0] - (hanging + 1.0)) < allowed
    assert np.abs(motion.q - hanging).max() < 1.0 + allowed
    assert abs(motion.q[len(motion.t) // 2, 0] - (hanging - 1.0)) < 1e-3 + allowed, "half way round"


@pytest.mark.parametrize("method, order", [("rk4", 4), ("symplectic", 2)])
def test_orders_of_accuracy(method, order):
    """Halving dt divides the error by 2^order, on a mixed chain with speed-dependent inertia, torque and friction."""
    arm = arm_of(chains.random(3, seed=1, kinds="RPR"), viscous=np.full(3, 0.5))
    q, qd = np.array([0.3, 0.1, -0.4]), np.array([1.0, -0.5, 0.8])

    def torque(t, q, qd):
        return np.array([5 * math.sin(3 * t), 40.0, -2.0 * q[2]])

    exact = simulate(arm, q, qd, torque, duration=0.4, dt=0.4, method="adaptive").q[-1]
    errors = [
        np.abs(simulate(arm, q, qd, torque, duration=0.4, dt=dt, method=method).q[-1] - exact).max()
        for dt in (0.02, 0.01)
    ]
    assert errors[1] > 1e-10, "well above the reference's own error"
    assert 0.75 * 2**order < errors[0] / errors[1] < 1.35 * 2**order


# Energy.


@pytest.mark.slow
def test_the_symplectic_step_keeps_energy_in_a_band_and_runge_kutta_does_not():
    """400 s of a swinging pendulum in coarse steps: the one stays as good as it was, the other loses ever more."""
    start = [0.2]
    leap = simulate(PENDULUM, start, [0.0], [0.0], duration=400.0, dt=0.05, method="symplectic")
    drift = np.abs(leap.energy_drift)
    half = len(drift) // 2
    assert drift[half:].max() < 1.05 * drift[:half].max()
    rk4 = simulate(PENDULUM, start, [0.0], [0.0], duration=400.0, dt=0.05)
    early, late = np.abs(rk4.energy_drift[: half // 4]).max(), np.abs(rk4.energy_drift[half:]).max()
    assert late > 3 * early


def test_the_symplectic_step_runs_backwards():
    """Reversed speeds lead back to the start, because the step is symmetric in time: to the tolerance of its solves."""
    arm = er.Arm(chains.planar(2))
    there = simulate(arm, [0.3, 0.4], [0.5, -1.0], [0.0, 0.0], duration=1.0, dt=0.02, method="symplectic")
    back = simulate(arm, there.q[-1], -there.qd[-1], [0.0, 0.0], duration=1.0, dt=0.02, method="symplectic")
    assert np.abs(back.q[-1] - [0.3, 0.4]).max() < 1e-10  # 50 steps of 4e-15, spread by the chain some hundred times
    assert np.abs(there.q[-1] - [0.3, 0.4]).max() > 0.1


@pytest.mark.parametrize("wrench", ["tool", "links"])
def test_work_of_torque_friction_and_wrench_is_accounted_for(wrench):
    """The energy changes by joules and the drift stays at the integrator's error; friction takes, it never gives."""
    arm = er.load("panda")
    arm = arm_of(arm.model, viscous=np.full(7, 1.0), coulomb=np.zeros(7))
    w = np.array([5.0, -3.0, 8.0, 0.5, 0.2, -0.4])
    push = w if wrench == "tool" else np.tile(w, (7, 1))

    def torque(t, q, qd):
        return arm.gravity_torque(q) + 3.0 * math.cos(4 * t)

    motion = simulate(arm, arm.ready, np.zeros(7), torque, duration=0.2, dt=0.01, method="adaptive", wrench=push)
    assert abs(motion.energy[-1] - motion.energy[0]) > 0.1
    assert np.abs(motion.energy_drift).max() < 1e-7  # 1e-10 a step, relative to some 100 J
    assert np.array_equal(motion.energy_drift, motion.energy - motion.energy[0] - motion.work)
    weightless = arm_of(arm.model, gravity=np.zeros(3))
    coasting = simulate(weightless, arm.ready, np.full(7, 0.5), np.zeros(7), duration=0.1, dt=1e-3)
    assert (np.diff(coasting.work) < 0).all()
    # The wrist stops within 2 ms, two of the steps: that costs Runge and Kutta a few digits.
    assert np.abs(coasting.energy_drift).max() < 1e-4 * abs(coasting.work[-1])


# The converse, and the tool.


def test_planned_torques_drive_the_planned_motion():
    """Inverse dynamics along a quintic, fed to the simulator, gives the quintic back."""
    arm = lossless()
    q1 = arm.ready + np.array([0.4, -0.3, 0.2, 0.3, -0.2, 0.5, 0.1])
    plan = quintic(arm.ready, q1, duration=0.5, dt=0.01)
    tau = torque_history(arm, *plan)
    assert tau.shape == plan.q.shape
    assert np.abs(tau[0] - arm.gravity_torque(arm.ready)).max() < 1e-10, "at rest at the start"

    def torque(t, q, qd):
        s = min(max(t / 0.5, 0.0), 1.0)
        way = q1 - arm.ready
        return arm.inverse_dynamics(
            arm.ready + way * (10 * s**3 - 15 * s**4 + 6 * s**5),
            way * (30 * s**2 - 60 * s**3 + 30 * s**4) / 0.5,
            way * (60 * s - 180 * s**2 + 120 * s**3) / 0.25,
        )

    motion = simulate(arm, arm.ready, np.zeros(7), torque, duration=0.5, dt=0.01, method="adaptive")
    assert np.abs(motion.q - plan.q).max() < 1e-6  # 1e-10 a step; an arm without feedback spreads errors some 1e3 times
    assert np.abs(motion.torque - tau).max() < 1e-9 * np.abs(tau).max()


def test_quintic():
    plan = quintic([0.0, 1.0], [1.0, -1.0], duration=2.0, dt=0.01)
    assert plan.t[0] == 0
    assert plan.t[-1] == 2.0
    assert np.allclose(plan.q[[0, -1]], [[0, 1], [1, -1]], atol=1e-14)
    for end in (plan.qd, plan.qdd):
        assert np.abs(end[[0, -1]]).max() < 1e-12
    assert np.abs(np.gradient(plan.q, plan.t, axis=0)[1:-1] - plan.qd[1:-1]).max() < 1e-3  # dt^2/6 x third derivative
    assert np.abs(np.gradient(plan.qd, plan.t, axis=0)[1:-1] - plan.qdd[1:-1]).max() < 1e-2


def test_the_joint_history_is_carried_over_to_the_tool():
    arm = lossless()
    motion = simulate(arm, arm.ready, np.full(7, 0.4), arm.gravity_torque(arm.ready), duration=0.2, dt=1e-3)
    assert motion.tool.shape == (201, 4, 4)
    for k in (0, 77, 200):
        assert np.abs(motion.tool[k] - arm.pose(motion.q[k])).max() < 1e-14
    slope = np.gradient(motion.tool[:, :3, 3], motion.t, axis=0)
    assert np.abs(slope[1:-1] - motion.tool_velocity[1:-1, :3]).max() < 1e-4  # dt^2 times the tool's jerk
    R, w = motion.tool[:, :3, :3], motion.tool_velocity[:, 3:]
    spin = np.gradient(R, motion.t, axis=0) @ R.swapaxes(1, 2)
    assert np.abs(np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], 1)[1:-1] - w[1:-1]).max() < 1e-4
    pose, velocity = tool_history(arm, motion.q, motion.qd)
    assert np.array_equal(pose, motion.tool)
    assert np.array_equal(velocity, motion.tool_velocity)


def test_dt_that_does_not_divide_the_duration_is_shortened():
    assert len(simulate(PENDULUM, [0.0], [0.0], [0.0], duration=0.3, dt=0.1).t) == 4
    t = simulate(PENDULUM, [0.0], [0.0], [0.0], duration=0.25, dt=0.1).t
    assert np.allclose(t, [0, 0.25 / 3, 0.5 / 3, 0.25])


# When the torque and the wrench are asked for.


class Asked:
    """A motor with a state of its own: every answer is another one, and all are given in the same array."""

    def __init__(self, size):
        self.calls, self.answers = [], []
        self._array = np.zeros(size)

    def __call__(self, t, q, qd):
        self.calls.append((t, *q, *qd))
        self._array[:] = 0.1 * len(self.calls) - 0.5 * qd[0]
        self.answers.append(self._array.copy())
        return self._array

    @property
    def times(self):
        return [call[0] for call in self.calls]


def test_runge_kutta_asks_four_times_a_step_and_reports_what_it_was_told():
    torque, wrench = Asked(1), Asked(6)
    motion = simulate(PENDULUM, [0.2], [0.5], torque, duration=0.3, dt=0.1, wrench=wrench)
    stages = [0.0, 0.05, 0.05, 0.1, 0.1, 0.15, 0.15, 0.2, 0.2, 0.25, 0.25, 0.3]
    assert wrench.times == pytest.approx(stages, abs=1e-15)
    assert torque.times == pytest.approx([*stages, 0.3], abs=1e-15)
    first = slice(None, None, 4)  # of every step, and the one for the last row
    assert np.array_equal(torque.answers[first], motion.torque)
    assert np.array_equal(torque.calls[first], np.column_stack([motion.t, motion.q, motion.qd]))


def test_one_step_of_runge_kutta_takes_the_torques_in_the_order_of_its_stages():
    """I qdd = tau without gravity: qd grows by dt / 6 I (tau1 + 2 tau2 + 2 tau3 + tau4)."""
    told = iter([1.0, 2.0, 4.0, 8.0, 16.0])
    rod = arm_of(chains.planar(1), gravity=np.zeros(3))
    motion = simulate(rod, [0.0], [0.0], lambda t, q, qd: [next(told)], duration=0.1, dt=0.1)
    assert motion.qd[1, 0] == pytest.approx(0.1 / 6 * 3 * (1 + 2 * 2 + 2 * 4 + 8), rel=1e-12)
    assert motion.torque.tolist() == [[1.0], [16.0]]


def test_the_symplectic_step_asks_once_a_repetition_and_once_at_its_end():
    asked, pushed = [], []

    def torque(t, q, qd):
        asked.append((t, *q, *qd))
        return -0.5 * qd

    def wrench(t, q, qd):
        pushed.append((t, *q, *qd))
        return np.ones(6)

    motion = simulate(PENDULUM, [0.2], [0.5], torque, duration=0.3, dt=0.1, method="symplectic", wrench=wrench)
    assert np.array_equal(motion.torque, -0.5 * motion.qd)
    assert len(set(asked)) == len(asked), "no state twice"
    times = [call[0] for call in asked]
    assert times == sorted(times)
    assert {round(t, 12) for t in times} == {0.0, 0.1, 0.2, 0.3}
    assert [round(t, 12) for t in times[-2:]] == [0.3, 0.3], "the end of the last step, and the last row"
    assert round(times[-3], 12) == 0.2
    assert pushed == asked[:-1]


def test_adaptive_asks_once_a_stage_and_once_for_every_row():
    torque, wrench = [], []

    def drive(t, q, qd):
        torque.append(t)
        return -0.5 * qd

    def push(t, q, qd):
        wrench.append(t)
        return np.zeros(6)

    motion = simulate(PENDULUM, [0.2], [0.5], drive, duration=0.3, dt=0.1, method="adaptive", wrench=push)
    assert torque[: len(wrench)] == wrench
    assert torque[len(wrench) :] == motion.t.tolist()
    assert np.array_equal(motion.torque, -0.5 * motion.qd)


# What goes wrong.


@pytest.mark.parametrize("method", ["rk4", "symplectic"])
def test_divergence_names_the_time(method):
    """A motor that pushes the harder the faster it turns, in steps far too long."""

    def runaway(t, q, qd):
        return 1e3 * qd

    with pytest.raises(DivergenceError, match=r"t = \d.* s"):
        simulate(PENDULUM, [0.0], [1.0], runaway, duration=100.0, dt=0.5, method=method)


def test_a_nan_torque_names_the_time():
    def broken(t, q, qd):
        return [math.nan if t > 0.05 else 0.0]

    with pytest.raises(ValueError, match=r"torque must be finite; got \[nan\] at t = 0\.0"):
        simulate(PENDULUM, [0.0], [0.0], broken, duration=0.1, dt=0.01)


def test_bad_input_is_refused():
    good = {"duration": 0.1, "dt": 0.01}
    with pytest.raises(er.ShapeError, match=r"q must have shape \(1,\); got \(2,\)"):
        simulate(PENDULUM, [0.0, 1.0], [0.0], [0.0], **good)
    with pytest.raises(ValueError, match="qd must be finite"):
        simulate(PENDULUM, [0.0], [math.inf], [0.0], **good)
    with pytest.raises(er.ShapeError, match=r"torque must have shape \(1,\); got \(3,\)"):
        simulate(PENDULUM, [0.0], [0.0], [0.0, 0.0, 0.0], **good)
    with pytest.raises(er.ShapeError, match=r"torque must have shape \(1,\); got \(2,\) at t = 0 s"):
        simulate(PENDULUM, [0.0], [0.0], lambda t, q, qd: [0.0, 0.0], **good)
    with pytest.raises(er.ShapeError, match=r"wrench must have shape \(6,\) or \(1, 6\)"):
        simulate(PENDULUM, [0.0], [0.0], [0.0], wrench=[1.0, 2.0], **good)
    with pytest.raises(er.UnknownNameError, match="rk4, symplectic, adaptive; got 'euler'"):
        simulate(PENDULUM, [0.0], [0.0], [0.0], method="euler", **good)
    for duration, dt in ((0.0, 0.1), (1.0, -0.1), (math.nan, 0.1)):
        with pytest.raises(ValueError, match="must be positive times"):
            simulate(PENDULUM, [0.0], [0.0], [0.0], duration=duration, dt=dt)
    with pytest.raises(er.ShapeError, match=r"qd must have shape \(2, 1\)"):
        torque_history(PENDULUM, [0.0, 1.0], np.zeros((2, 1)), np.zeros((3, 1)), np.zeros((2, 1)))
    with pytest.raises(er.ShapeError, match="increasing times"):
        torque_history(PENDULUM, [0.0, 0.0], np.zeros((2, 1)), np.zeros((2, 1)), np.zeros((2, 1)))
    with pytest.raises(er.ShapeError, match="same shape"):
        quintic([0.0], [1.0, 2.0], 1.0, 0.1)


def test_adaptive_without_scipy_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.integrate", None)
    with pytest.raises(er.ElbowroomError, match="needs SciPy: pip install"):
        simulate(PENDULUM, [0.0], [0.0], [0.0], duration=0.1, dt=0.01, method="adaptive")
