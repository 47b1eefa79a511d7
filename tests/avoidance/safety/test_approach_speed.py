"""The promise: if people move no faster than is assumed, the arm can always stop before it strikes one.

Whatever is wanted, whoever comes, and with a sensor that is late, noisy and sometimes silent.  After every command the
arm is sent down its stop ramp, sampled, while people go anywhere that they can have got to since they were last seen:

    the arm       goes on for the reaction time, then all joints run down together: `filter.ramp`
    a person      the body as it was when last seen, thicker by human_speed x (its age + the time that has gone by)
    struck        a point of the arm is inside while its own motion closes the pair faster than `creep`; but for pairs
                  that touch as last seen: somebody has walked into the arm, and out on the other side the normal is
                  another one.  Out there, the pair counts again after the time that a stop took when the two touched,
                  and at once if the arm closes it faster than its stop ramp would

    ELBOWROOM_PROMISES=40 pytest tests/avoidance/safety/test_approach_speed.py      40 times as many runs
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Goal, Limits, Sensor, State, Supervisor
from elbowroom.geometry import Body, Pairs
from elbowroom.geometry.distance import CLOSING, DISTANCE
from elbowroom.geometry.shapes import RADIUS, VELOCITY_A, VELOCITY_B
from elbowroom.model import from_mdh
from elbowroom.model.capsules import BASE, LinkCapsule
from referees import physical_tensor

MORE = int(os.environ.get("ELBOWROOM_PROMISES", "1"))
PERIOD, SAMPLES = 0.01, 12
CAMERA = Sensor(latency=0.06, frame_period=0.02, dropout=0.12, noise=0.01)
SENSORS = {"camera": CAMERA, "motion capture": Sensor.motion_capture(), "exact": Sensor.exact(PERIOD)}
PEOPLE = 3  # capsules of the person


class Reckless(Controller):
    """Wants any joint speeds, others every so often, and does not look where it goes."""

    rng = np.random.default_rng(0)
    wish = np.zeros(0)

    def step(self, t, dt, state, obstacles, goal):
        command = super().step(t, dt, state, obstacles, goal)
        if not self.wish.size or self.rng.random() < dt / 0.3:
            speed = np.where(np.isfinite(self.arm.model.velocity), self.arm.model.velocity, 2.0)
            self.wish = self.rng.uniform(-1, 1, self.arm.n) * speed
        command.qd[:] = self.wish
        return command


class Visitor:
    """Capsules that wander towards points of the arm and away, no end faster than `speed`, and what is seen of them."""

    def __init__(self, rng, sensor, centre, reach, speed):
        self.rng, self.sensor, self.centre, self.reach, self.speed = rng, sensor, centre, reach, speed
        away = rng.standard_normal((PEOPLE, 3))
        middle = centre + away / np.linalg.norm(away, axis=1, keepdims=True) * (reach + 1.0)
        self.ends = middle[:, None] + rng.uniform(-0.2, 0.2, (PEOPLE, 2, 3))
        self.radius = rng.uniform(0.03, 0.15, PEOPLE)
        self.velocity = np.zeros((PEOPLE, 2, 3))
        self.frames = []  # (arrival, stamp, rows, rows without noise)
        self.silent_until = self.next_frame = -1.0

    def move(self, t):
        """One period."""
        for k in range(PEOPLE):
            if self.rng.random() < PERIOD / 0.4 or not self.velocity[k].any():
                to = self.centre + self.rng.uniform(-0.7, 0.7, 3) * self.reach - self.ends[k].mean(axis=0)
                pace = self.speed * self.rng.choice([0.3, 1.0, 1.0])
                self.velocity[k] = to / max(np.linalg.norm(to), 1e-9) * pace
        self.ends = self.ends + self.velocity * PERIOD
        if t >= self.next_frame - 1e-9:
            self.next_frame = t + self.sensor.frame_period
            if self.rng.random() < PERIOD / 1.0:
                self.silent_until = t + self.rng.uniform(0.0, self.sensor.dropout)
            if t >= self.silent_until:
                # no point is off by more than three standard deviations, which is what is stated about the sensor
                noise = self.sensor.noise * np.clip(self.rng.standard_normal(self.ends.shape), -1.7, 1.7)
                speeds = np.zeros_like(noise) if self.sensor.velocity_noise > 1 else self.velocity
                rows, truth = (
                    np.concatenate([ends.reshape(-1, 6), self.radius[:, None], speeds.reshape(-1, 6)], axis=1)
                    for ends in (self.ends + noise, self.ends)
                )
                self.frames.append((t + self.sensor.latency, t, rows, truth))

    def arrived(self, t):
        """The newest frame that is there, as (stamp, rows, truth); None if none is new."""
        there = [f for f in self.frames if f[0] <= t + 1e-9]
        self.frames = [f for f in self.frames if f[0] > t + 1e-9]
        return there[-1][1:] if there else None


class Log(NamedTuple):
    """(T, ...) of a run."""

    q: np.ndarray
    qd: np.ndarray
    rows: np.ndarray  # people as they were when they were last seen
    age: np.ndarray
    stopped: np.ndarray


def run(body, sensor, seed, *, cycles=300, speed=1.6, **limits):
    """A run of a reckless arm among people."""
    rng, arm = np.random.default_rng(seed), body.arm
    controller = Reckless(arm, Config(period=PERIOD), body=body, person_capsules=PEOPLE)
    controller.rng = rng
    supervisor = Supervisor(controller, Limits(sensor=sensor, **limits))
    low, high = arm.model.sampling_range()
    state, obstacles, goal = State(rng.uniform(low, high)), controller.obstacles(), Goal(np.zeros(3))
    rows = body.rows(state.q, np.zeros(arm.n))
    centre = rows[:, :3].mean(axis=0)
    reach = 0.3 + np.linalg.norm(rows[:, 3:6] - centre, axis=1).max()
    visitor = Visitor(rng, sensor, centre, reach, speed)
    found, last, latched = [], None, 0
    for k in range(cycles):
        t = k * PERIOD
        visitor.move(t)
        seen = visitor.arrived(t)
        if seen is not None:
            last = seen
            obstacles.see(seen[1], seen[0])
        state.t = goal.t = t
        command = supervisor.step(t, PERIOD, state, obstacles, goal)
        if last is not None:
            found.append((state.q.copy(), command.qd.copy(), last[2], t - last[0], supervisor.latched is not None))
        latched = latched + 1 if supervisor.latched is not None else 0
        if latched > 50:
            supervisor.reset(t)
        state.q += command.qd * PERIOD
        state.qd[:] = command.qd
    return supervisor, Log(*map(np.array, zip(*found, strict=True)))


class Strikes(NamedTuple):
    """What was found, of every cycle: the deepest and the fastest."""

    depth: np.ndarray  # (T,) m, above 0 where a person is struck
    speed: np.ndarray  # (T,) m/s of it


def strikes(body, supervisor, log):
    """The stop ramps of all cycles, against wherever people can be."""
    tolerance = TOLERANCE + SIDEWAYS * supervisor.limits.sensor.uncertainty / NEAR
    limits, bounds = supervisor.limits, supervisor.bounds
    own = [k for k, link in enumerate(body.links) if link != BASE]
    pairs = Pairs(len(own), PEOPLE)
    lasting = (np.abs(log.qd) / (bounds.acceleration * limits.stop_factor)).max(axis=1)
    depth, speed = np.zeros(len(log.q)), np.zeros(len(log.q))
    still = log.rows.copy()
    still[..., VELOCITY_A], still[..., VELOCITY_B] = 0.0, 0.0

    def measured(qd):
        return pairs(np.ascontiguousarray(np.concatenate([body.kernel(log.q, qd)[:, own], still], axis=1)))

    now = measured(log.qd)
    ramps = np.maximum(1 - PERIOD / np.where(lasting > 0, lasting, PERIOD), 0.0)[:, None] * log.qd
    ramped = measured(np.concatenate([log.qd[:1], ramps[:-1]]))[..., CLOSING]  # the next command of the stop ramp
    braked = now[..., CLOSING] <= np.maximum(ramped, limits.creep) + tolerance
    touched = now[..., DISTANCE] <= 0
    until = np.zeros(touched.shape[1:])  # s, for which a pair that touched is left alone
    for k in range(len(touched)):
        until = np.where(touched[k], supervisor.reaction + lasting[k], np.where(braked[k], until - PERIOD, 0.0))
        touched[k] |= until > 0
    for part in np.linspace(0.0, 1.0, SAMPLES):
        gone = part * (supervisor.reaction + lasting)
        steady, down = np.minimum(gone, supervisor.reaction), np.maximum(gone - supervisor.reaction, 0.0)
        left = np.where(lasting > 0, 1 - down / np.where(lasting > 0, lasting, 1.0), 0.0)
        moved = steady + down * (1 + left) / 2
        rows = body.kernel(log.q + log.qd * moved[:, None], log.qd * left[:, None])[:, own]
        people = still.copy()
        people[..., RADIUS] += limits.human_speed * (log.age + gone)[:, None]
        table = pairs(np.ascontiguousarray(np.concatenate([rows, people], axis=1)))
        inside, closing = -table[..., DISTANCE], table[..., CLOSING]
        struck = (inside > 0) & (closing > limits.creep + tolerance) & ~touched
        depth = np.maximum(depth, np.where(struck, inside, 0.0).max(axis=1))
        speed = np.maximum(speed, np.where(struck, closing, 0.0).max(axis=1))
    return Strikes(depth, speed)


def drawn(seed):
    """The body of a random arm of two or three joints, one in three of them prismatic, a capsule on each link."""
    rng = np.random.default_rng([7, seed])
    n = int(rng.integers(2, 4))
    mass = rng.uniform(0.5, 5, n)
    model = from_mdh(
        a=rng.uniform(-0.5, 0.5, n),
        alpha=rng.choice([0.0, np.pi / 2, -np.pi / 2, 0.7], n),
        d=rng.uniform(-0.4, 0.4, n),
        theta=rng.uniform(-3, 3, n),
        mass=mass,
        com=rng.uniform(-0.2, 0.2, (n, 3)),
        inertia=np.array([physical_tensor(rng, m) for m in mass]),
        kinds="".join(rng.choice(list("RRP"), n)),
        name=f"drawn{seed}",
    )
    ends = rng.uniform(-0.4, 0.4, (n, 3))
    capsules = [LinkCapsule(f"link{i}", i, (0.0, 0.0, 0.0), tuple(ends[i]), 0.05) for i in range(n)]
    return Body(er.Arm(model), capsules=capsules)


BODIES = {name: lambda name=name: Body(er.load(name)) for name in ("planar2", "scara", "ur5e")}
BODIES |= {f"random {k}": lambda k=k: drawn(k) for k in range(2)}
RUNS = 3 * MORE
TOLERANCE = 0.01  # m/s beyond creep: what the turning of a link may give it beyond its first derivative
SIDEWAYS = 0.5  # m/s: a link that passes somebody so fast ...
NEAR = 0.3  # m: ... at this distance of axes approaches them by noise / NEAR of it, as the direction is off by so much


@pytest.fixture(scope="module")
def runs():
    """(body, supervisor, log) of all arms and sensors."""
    return [
        (body, *run(body, sensor, seed))
        for body in (make() for make in BODIES.values())
        for sensor in SENSORS.values()
        for seed in range(RUNS)
    ]


@pytest.mark.slow
def test_the_runs_are_what_they_say(runs):
    """Arms move, people come near, frames go missing, and people keep to the speed that is assumed."""
    for body in {id(b): b for b, *_ in runs}.values():
        logs = [log for b, _, log in runs if b is body]
        assert np.mean([np.abs(log.qd).max(axis=1) > 0.05 for log in logs[0:1]]) > 0.3
    ages = np.concatenate([log.age for _, sup, log in runs if sup.limits.sensor is CAMERA])
    assert ages.max() > CAMERA.ordinary_age + CAMERA.frame_period
    assert any(sup.counters["slowed"] > 0 for _, sup, _ in runs)


@pytest.mark.slow
def test_no_point_that_moves_towards_a_person_is_in_one(runs):
    struck = [strikes(body, supervisor, log).depth > 0 for body, supervisor, log in runs]
    assert not np.concatenate(struck).any()


@pytest.mark.parametrize("sensor", SENSORS)
@pytest.mark.parametrize("name", ["planar2", "random 0"])
def test_nor_in_a_run_of_few_joints(name, sensor):
    body = BODIES[name]()
    supervisor, log = run(body, SENSORS[sensor], 0)
    assert np.abs(log.qd).max() > 0.05  # it moves
    assert not (strikes(body, supervisor, log).depth > 0).any()


def test_a_way_to_a_standstill_is_not_drawn_out():
    """Scara, exact sensor, seed 0: a pair inside a person closes above creep while the time to a stop grows."""
    body = BODIES["scara"]()
    supervisor, log = run(body, SENSORS["exact"], 0)
    struck = strikes(body, supervisor, log).depth > 0
    stop = supervisor.bounds.acceleration * supervisor.limits.stop_factor
    lasting = (np.abs(log.qd) / stop).max(axis=1)
    again = struck[1:] & struck[:-1]
    assert (lasting[1:][again] <= lasting[:-1][again] - PERIOD + 1e-9).all()


HOLES = [
    ("planar2", "exact", 1042),  # the nearest point leaps from the base's end of a link to the other one
    ("puma560", "motion capture", 1009),  # link and limb pass through parallel
    ("scara", "exact", 1030),  # a link that passes somebody who steps in its way
    ("scara", "exact", 1011),
    ("panda", "exact", 1000),
    ("scara", "camera", 1072),
    ("panda", "exact", 2036),  # somebody who has been inside a link is out on the other side of it
    ("scara", "exact", 2009),
]


@pytest.mark.parametrize("arm, sensor, seed", HOLES)
def test_states_that_a_search_once_found_struck(arm, sensor, seed):
    body = Body(er.load(arm))
    supervisor, log = run(body, SENSORS[sensor], seed)
    assert not (strikes(body, supervisor, log).depth > 0).any()
