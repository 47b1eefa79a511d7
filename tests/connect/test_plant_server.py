"""The link: packets to the last bit, control and stops on a clock of our own, and processes that are killed."""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom.avoidance import Command, State, Status
from elbowroom.cell import Kinematic, MuJoCo, PlantClient, PlantServer, RigidBody, Stop
from elbowroom.connect.packet import HEADER, LARGEST, NUMBERS, VERSION, Decoder, Encoder, Kind, Order, Tally
from elbowroom.connect.plant_server import AT_ONCE, outside
from elbowroom.geometry import Capsule
from strategies import examples

PERIOD, TIMEOUT = 0.01, 0.1  # s
SPEED, ACCELERATION = 0.4, 2.0  # rad/s, rad/s2: a fifth of a second to brake
BRAKING = math.ceil(SPEED / ACCELERATION / PERIOD)  # ticks


# ---- packets

doubles = st.floats(allow_nan=False, allow_infinity=False)


def received(packet: bytes, tally: Tally | None = None) -> Decoder | None:
    """The decoder after this datagram, None if it was dropped."""
    decoder = Decoder(Tally() if tally is None else tally)
    packet = packet[: len(decoder.buffer)]
    decoder.buffer[: len(packet)] = packet
    return decoder if decoder.unpack(len(packet)) else None


def packed(kind=Kind.COMMAND, numbers=(1.0, -2.5, math.pi), session=7, sequence=1, stamp=12.5) -> bytes:
    encoder = Encoder(session)
    encoder.sequence = sequence - 1
    encoder.numbers[: len(numbers)] = numbers
    return bytes(encoder.pack(kind, stamp, len(numbers)))


@given(
    st.sampled_from(Kind),
    st.lists(doubles, max_size=40),
    st.integers(0, 2**64 - 1),
    st.integers(1, 2**64 - 1),
    st.floats(-1e9, 1e9),
)
def test_a_packet_comes_out_as_it_went_in(kind, numbers, session, sequence, stamp):
    found = received(packed(kind, numbers, session, sequence, stamp))
    assert found is not None
    assert (found.kind, found.session, found.sequence, found.stamp) == (kind, session, sequence, stamp)
    assert found.numbers.tobytes() == np.array(numbers).tobytes()


def test_the_layout_is_what_the_page_says():
    packet = packed(Kind.STATE, (1.0,), session=0x0102030405060708, sequence=2, stamp=0.5)
    assert packet[:8] == b"ELBR" + bytes([VERSION, 7, 1, 0])
    assert packet[8:16] == bytes([8, 7, 6, 5, 4, 3, 2, 1])
    assert packet[16:24] == bytes([2, 0, 0, 0, 0, 0, 0, 0])
    assert np.frombuffer(packet[24:40], "<f8").tolist() == [0.5, 1.0]
    assert len(packet) == HEADER.size + 8 + 4


def test_every_flipped_bit_is_found():
    packet, tally = packed(), Tally()
    for k in range(8 * len(packet)):
        broken = bytearray(packet)
        broken[k // 8] ^= 1 << k % 8
        assert received(bytes(broken), tally) is None
    assert tally.total == 8 * len(packet)
    assert tally["corrupted"] > 8 * 40
    assert tally["magic"] == 32
    assert tally["version"] == 8
    assert tally["short"] + tally["long"] == 16  # those of n


def test_what_is_cut_lengthened_or_strange_is_counted_by_reason():
    packet, tally = packed(), Tally()
    for size in range(len(packet)):
        assert received(packet[:size], tally) is None
    assert tally["short"] == len(packet)
    for more in (1, 8, 100_000):
        assert received(packet + bytes(more), tally) is None
    assert tally["long"] == 3
    for numbers in ((math.nan,), (math.inf,)):
        assert received(packed(numbers=numbers), tally) is None
    assert received(packed(stamp=math.nan), tally) is None
    assert tally["numbers"] == 3
    assert received(packed(kind=99), tally) is None
    assert tally["kind"] == 1
    assert received(packed(numbers=np.ones(NUMBERS))) is not None
    assert len(packed(numbers=np.ones(NUMBERS))) == LARGEST


@given(st.lists(st.integers(1, 150), max_size=80))
def test_numbers_pass_once_and_only_upwards(sequence):
    tally = Tally()
    order = Order(tally)
    passed = [k for k in sequence if order.admit(k)]
    assert passed == sorted(set(passed))
    highest, expected = 0, []
    for k in sequence:
        if k > highest:
            expected.append(k)
            highest = k
    assert passed == expected  # the newest always passes
    assert tally["duplicated"] + tally["reordered"] == len(sequence) - len(passed)
    assert order.lost == highest - len(passed)


def test_a_repeated_number_is_told_from_a_late_one():
    tally = Tally()
    order = Order(tally)
    told = [order.admit(k) for k in (1, 2, 2, 5, 4, 4, 1, 200, 5)]
    assert told == [True, True, False, True, False, False, False, True, False]
    assert (tally["duplicated"], tally["reordered"]) == (3, 2)  # 2, the second 4, 1; the first 4, and 5 too long ago
    assert repr(tally) == "<dropped: 3 duplicated, 2 reordered>"


def test_a_number_from_the_other_end_of_the_range_is_late_and_no_more():
    """A packet may say any 64-bit number; what came then lies 2**63 behind it."""
    tally = Tally()
    order = Order(tally)
    assert [order.admit(k) for k in (1, 2**63, 2, 2**64 - 1, 1)] == [True, True, False, True, False]
    assert tally["reordered"] == 2


# ---- a plant, its controller and a clock in one process


@pytest.fixture(scope="module")
def arm():
    return er.load("planar2")


class Bench:
    """A server and clients on a clock that only ticks here."""

    def __init__(self, arm, plant=None, **options):
        self.arm, self.now = arm, 100.0
        self.plant = Kinematic(arm, acceleration=ACCELERATION) if plant is None else plant
        self.server = PlantServer(self.plant, period=PERIOD, timeout=TIMEOUT, clock=self.clock, **options)
        self.state, self.command = State(np.zeros(arm.n)), Command(arm.n)
        self.client = self.another()

    def clock(self):
        return self.now

    def another(self, arm=None):
        return PlantClient(arm or self.arm, self.server.address, timeout=TIMEOUT, clock=self.clock)

    def tick(self, count=1, speed=None, client=None, listening=True):
        """Time passes at the plant; the controller reads, and commands a speed of joint 1 if one is given."""
        client = client or self.client
        for _ in range(count):
            self.now += PERIOD
            if speed is not None:
                self.command.qd[0] = speed
                client.write(self.command)
            self.server.step(self.now)
            if listening:
                client.read(self.state)

    def alone(self, count):
        """Time passes at the controller, and nobody answers."""
        for _ in range(count):
            self.now += PERIOD
            self.client.write(self.command)
            self.client.advance(PERIOD)
            self.client.read(self.state)

    def begin(self, speed=SPEED):
        """Under way at a constant speed."""
        self.tick()
        self.client.reset(self.arm.ready)
        self.tick(BRAKING + 2, speed)
        assert self.state.qd[0] == speed

    def close(self):
        self.client.close()
        self.server.close()


@pytest.fixture
def bench(arm):
    made = Bench(arm)
    yield made
    made.close()


def test_nothing_moves_before_the_first_reset(bench):
    bench.tick(5, SPEED)
    assert bench.client.connected
    assert (bench.client.stopped, bench.client.stop_reason) == (True, Stop.START)
    assert not bench.state.qd.any()
    assert bench.server.dropped["stopped"] == 5
    bench.client.unlatch()
    bench.tick(5, SPEED)
    assert bench.state.qd[0] > 0
    assert not bench.client.stopped


def test_the_state_is_the_plants_with_its_stamp(bench):
    bench.begin()
    twin = Kinematic(bench.arm, acceleration=ACCELERATION)
    twin.reset(bench.arm.ready)
    twin.write(bench.command)
    for _ in range(BRAKING + 2):
        twin.advance(PERIOD)
    beside = State(np.zeros(bench.arm.n))
    twin.read(beside)
    assert (bench.state.q == beside.q).all()
    assert (bench.state.qd == beside.qd).all()
    assert bench.state.t == bench.now
    assert bench.server.dropped.total == bench.client.dropped.total == bench.server.lost == 0


def test_without_commands_the_plant_stops_by_itself_and_stays(bench):
    """F13, F15: timeout, then braking within the limits, then a latch that only a reset opens."""
    bench.begin()
    last = bench.now
    speeds = []
    while not bench.server.stopped:
        bench.tick()
        speeds.append(bench.state.qd[0])
    assert bench.now - last > TIMEOUT
    assert bench.now - last < TIMEOUT + 1.5 * PERIOD
    assert speeds[:-1] == [SPEED] * (len(speeds) - 1)
    before = SPEED
    for _ in range(BRAKING):
        assert before - bench.state.qd[0] <= ACCELERATION * PERIOD * (1 + 1e-12)
        before = bench.state.qd[0]
        bench.tick()
    assert bench.state.qd[0] == 0
    assert bench.client.stop_reason is Stop.TIMEOUT
    assert "no valid command" in bench.client.stop_reason.text
    where = bench.state.q.copy()
    bench.tick(50, SPEED)  # commands again
    assert (bench.state.q == where).all()
    assert bench.server.dropped["stopped"] == 50
    bench.client.unlatch()
    bench.tick(20)
    assert not bench.client.stopped
    assert (bench.state.q == where).all()  # a reset alone moves nothing either
    bench.tick(3, SPEED)
    assert bench.state.qd[0] > 0


def test_a_reset_while_the_arm_moves_is_refused(bench):
    bench.begin()
    while not bench.server.stopped:
        bench.tick()
    bench.client.unlatch()
    bench.tick(2, SPEED)
    assert bench.server.dropped["moving"] == 1
    assert bench.client.stopped
    assert bench.state.qd[0] < SPEED


def test_the_plants_own_stop_is_latched_too(bench):
    bench.begin()
    bench.server.stop()
    bench.tick(BRAKING + 2, SPEED)
    assert (bench.client.stop_reason, bench.state.qd[0]) == (Stop.ASKED, 0.0)


def test_a_brake_is_no_stop(bench):
    bench.begin()
    bench.client.brake()
    bench.tick(5)
    assert bench.state.qd[0] < SPEED
    assert not bench.client.stopped
    bench.tick(BRAKING, SPEED)
    assert bench.state.qd[0] == SPEED


def raw(bench):
    """A socket that speaks as the bench's client, and its encoder."""
    return bench.client._socket, bench.client._encoder


def command_packet(bench, speed, age=0.0, session=None):
    _, encoder = raw(bench)
    kept, encoder.session = encoder.session, session or encoder.session
    encoder.numbers[:5] = [0.0, speed, 0.0, 0.0, 0.0]
    packet = bytes(encoder.pack(Kind.COMMAND, bench.now - age, 5))
    encoder.session = kept
    return packet


@pytest.mark.parametrize(
    ("reason", "spoil"),
    [
        ("corrupted", lambda b, p: bytes([*p[:-1], p[-1] ^ 1])),
        ("short", lambda b, p: p[:-8]),
        ("version", lambda b, p: p[:4] + bytes([VERSION + 1]) + p[5:]),
        ("magic", lambda b, p: b"XX" + p[2:]),
        ("stale", lambda b, p: command_packet(b, SPEED, age=TIMEOUT + 0.05)),
        ("future", lambda b, p: command_packet(b, SPEED, age=-TIMEOUT - 0.05)),
        ("session", lambda b, p: command_packet(b, SPEED, session=12345)),
        ("numbers", lambda b, p: packed(Kind.COMMAND, (0.0, 1.0), raw(b)[1].session, raw(b)[1].sequence + 1, b.now)),
        ("kind", lambda b, p: packed(Kind.STATE, (0.0,), raw(b)[1].session, raw(b)[1].sequence + 1, b.now)),
    ],
)
def test_commands_that_cannot_be_trusted_are_no_commands(bench, reason, spoil):
    """F19: dropped, counted, and the arm stops as if nothing came."""
    bench.begin()
    before = bench.server.dropped[reason]
    count = 0
    while not bench.server.stopped:
        bench.now += PERIOD
        bench.client._socket.send(spoil(bench, command_packet(bench, SPEED)))
        count += 1
        bench.server.step(bench.now)
        assert count < 20
    assert bench.server.stop_reason is Stop.TIMEOUT
    assert bench.server.dropped[reason] - before == count


def test_duplicated_and_reordered_commands_are_dropped_and_counted(bench):
    bench.begin()
    bench.now += PERIOD
    packets = [command_packet(bench, speed) for speed in (0.1, 0.2, 0.3)]
    for k in (0, 0, 2, 1, 2):
        bench.client._socket.send(packets[k])
    bench.server.step(bench.now)
    assert bench.plant.drive.wanted[0] == 0.3  # the newest, though others came after it
    dropped = bench.server.dropped
    assert (dropped["duplicated"], dropped["reordered"]) == (2, 1)
    assert bench.server.lost == 1


def test_a_command_that_is_not_finite_stops_the_arm(bench):
    bench.begin()
    bench.tick(12, math.nan)
    assert bench.client.stop_reason is Stop.TIMEOUT
    assert bench.server.dropped["numbers"] == 12
    bench.client.write(Command(5))  # nor does one of another arm raise
    assert bench.client.unsent == 1


def test_one_controller_has_control_and_the_next_must_reset(bench):
    bench.begin()
    second = bench.another()
    bench.tick(5, SPEED)
    assert bench.server.dropped["busy"] == 1
    second.write(bench.command)
    bench.tick(1, SPEED)
    assert bench.server.dropped["session"] == 1
    assert not second.connected
    while not bench.server.stopped:  # the first falls silent
        bench.tick(listening=False)
    for _ in range(30):
        bench.tick(1, SPEED, client=second)
    assert second.connected
    assert second.stopped
    assert bench.state.qd[0] == 0
    second.unlatch()
    bench.tick(3, SPEED, client=second)
    assert bench.state.qd[0] > 0
    second.close()


def test_a_controller_of_another_arm_is_refused(bench):
    """F17: as many joints, but others."""
    other = bench.another(er.Arm(er.model.create("RR", [np.eye(3)] * 2, np.zeros((2, 3)), [1, 1], np.zeros((2, 3)),
                                                 [np.eye(3)] * 2, joint_names=["a", "b"])))  # fmt: skip
    bench.tick(20, client=other)
    assert bench.server.dropped["joints"] >= 1
    assert not other.connected
    other.close()


def test_a_silent_plant_is_seen_and_not_waited_for(bench):
    """F13, half-open: the socket stands, and nobody answers."""
    bench.begin()
    bench.tick(150, SPEED)  # long enough for sequence numbers that a new session has not reached below
    stamp, where = bench.state.t, bench.state.q.copy()
    bench.alone(30)
    assert not bench.client.connected
    assert bench.state.t == stamp  # a supervisor sees it grow old
    assert (bench.state.q == where).all()
    bench.tick(40, SPEED)  # the plant is back, and has heard nothing valid meanwhile
    assert bench.client.connected
    assert bench.client.stopped
    assert bench.state.qd[0] == 0
    assert bench.server.dropped["stale"] > 0
    bench.client.unlatch()
    bench.tick(3, SPEED)
    assert bench.state.qd[0] > 0


def test_a_plant_that_is_gone_is_no_error(arm):
    """F13, reset: the port is closed."""
    bench = Bench(arm)
    bench.begin()
    bench.server.close()
    bench.alone(30)
    assert not bench.client.connected
    assert bench.client.unsent > 0
    bench.client.close()
    bench.client.write(bench.command)
    bench.client.read(bench.state)


def test_another_plant_at_the_same_port_does_not_move_before_a_reset(arm):
    bench = Bench(arm)
    bench.begin()
    bench.server.close()
    bench.plant.reset(arm.ready)
    bench.server = PlantServer(bench.plant, bench.server.address, period=PERIOD, timeout=TIMEOUT, clock=bench.clock)
    bench.tick(40, SPEED)
    assert bench.client.connected
    assert (bench.client.stop_reason, bench.state.qd[0]) == (Stop.START, 0.0)
    bench.client.unlatch()
    bench.tick(3, SPEED)
    assert bench.state.qd[0] > 0
    bench.close()


# ---- a plant that fails, and places where no arm can be

MAKERS = {
    "kinematic": Kinematic,
    "rigid": RigidBody,
    "rigid, torque": lambda arm: RigidBody(arm, drive="torque"),
    "mujoco": lambda arm: MuJoCo(arm, person_capsules=2),
    "mujoco, torque": lambda arm: MuJoCo(arm, person_capsules=2, drive="torque"),
}
kinds = pytest.mark.parametrize("kind", MAKERS)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes its warnings to a file where it runs."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def any_bench(arm, kind, elsewhere):
    made = Bench(arm, MAKERS[kind](arm))
    yield made
    made.close()


def comes_back(bench):
    """Whether a place within the limits ends the stop, and the arm then obeys."""
    bench.client.reset(bench.arm.ready)
    bench.command.tau[:] = bench.arm.gravity_torque(bench.arm.ready)
    bench.command.tau[0] += 0.5
    bench.tick(5, SPEED)
    return not bench.client.stopped and bench.client.connected and bench.state.qd[0] > 0


@kinds
@pytest.mark.parametrize("place", [1e150, -1e308, 1e6, 4.0])
def test_a_place_outside_the_limits_is_refused_and_stops_the_arm(any_bench, place, caplog):
    """A PLACE that is finite ended the server with a DivergenceError."""
    bench = any_bench
    assert comes_back_first(bench)
    bench.client.reset(np.full(2, place))
    bench.tick(3, SPEED)
    assert bench.client.connected
    assert bench.client.stop_reason is bench.server.stop_reason is Stop.PLACE
    assert "outside its joint limits" in bench.client.stop_reason.text
    assert bench.server.dropped["limits"] == 1
    name = bench.arm.joint_names[0]
    assert [r for r in caplog.records if f"joint '{name}': expected" in r.getMessage()]
    assert np.abs(bench.state.q - bench.arm.ready).max() < 1.0  # it was not placed there
    assert comes_back(bench)


def comes_back_first(bench):
    bench.tick()
    return comes_back(bench)


def test_a_place_may_be_a_rounded_limit_and_needs_one_to_be_refused(arm):
    model = arm.model
    assert outside(arm, model.upper + 0.009) == ""
    assert outside(arm, model.upper + 0.011).startswith(f"joint '{arm.joint_names[0]}'")
    free = er.Arm(er.model.create("RP", [np.eye(3)] * 2, np.zeros((2, 3)), [1, 1], np.zeros((2, 3)), [np.eye(3)] * 2))
    assert outside(free, np.array([9e5, 9e3])) == ""
    assert outside(free, np.array([2e6, 0.0])).startswith("joint 'joint1': expected -1e+06 to 1e+06")
    assert outside(free, np.array([0.0, 2e4])).startswith("joint 'joint2': expected -10000 to 10000")


class Failing:
    """A plant that raises in what it is told to, from then on."""

    def __init__(self, plant, failing=(), error=RuntimeError):
        self.plant, self.failing, self.error = plant, set(failing), error

    def __getattr__(self, name):
        if name in self.failing:
            raise self.error(f"{name} failed")
        return getattr(self.plant, name)


@kinds
@pytest.mark.parametrize("what", ["advance", "read", "write", "brake", "touching", "contacts"])
def test_a_plant_that_raises_stops_latched_and_told(arm, kind, what, caplog, elsewhere):
    plant = Failing(MAKERS[kind](arm))
    bench = Bench(arm, plant)
    assert comes_back_first(bench)
    stamp = bench.state.t
    plant.failing.add(what)
    if what == "brake":
        bench.client.brake()
    bench.tick(30, SPEED)
    assert bench.client.connected
    assert bench.client.stop_reason is Stop.FAULT
    assert "its log says how" in bench.client.stop_reason.text
    assert bench.server.fault == f"RuntimeError: {what} failed"
    told = [r for r in caplog.records if f"RuntimeError: {what} failed" in r.getMessage()]
    assert 1 <= len(told) <= 2  # the failure, and that of the brake; not one a tick
    assert told[0].exc_info
    if what in ("read", "touching", "contacts"):
        assert bench.state.t == stamp  # a supervisor sees the state grow old
    bench.client.unlatch()
    bench.tick(3, SPEED)
    assert bench.client.stopped or what == "brake"  # whatever still fails stops it again
    plant.failing.clear()
    bench.tick(BRAKING + 20)
    assert comes_back(bench)
    assert bench.server.fault == ""
    bench.close()


def test_a_plant_that_failed_once_brakes_and_goes_on_after_a_reset(arm):
    plant = Failing(Kinematic(arm, acceleration=ACCELERATION))
    bench = Bench(arm, plant)
    bench.begin()
    plant.failing.add("advance")
    bench.tick(1, SPEED)
    plant.failing.clear()
    bench.client.unlatch()
    bench.tick(2, SPEED)
    assert bench.server.dropped["moving"] == 1  # still braking
    assert 0 < bench.state.qd[0] < SPEED
    bench.tick(BRAKING, SPEED)
    assert (bench.client.stop_reason, bench.state.qd[0]) == (Stop.FAULT, 0.0)
    bench.client.unlatch()
    bench.tick(3, SPEED)
    assert bench.state.qd[0] > 0
    bench.close()


@pytest.mark.parametrize("kind", ["rigid, torque", "mujoco, torque"])
def test_a_plant_that_diverges_is_placed_anew(arm, kind, elsewhere):
    """A state that is not finite does not go out: the client would drop it, and hear no reason."""
    bench = Bench(arm, MAKERS[kind](arm))
    assert comes_back_first(bench)
    spoilt = bench.plant._qd if kind.startswith("rigid") else bench.plant.data.qvel
    spoilt[:] = math.nan
    bench.tick(5, SPEED)
    assert bench.client.connected
    assert bench.client.stop_reason is Stop.FAULT
    assert "DivergenceError" in bench.server.fault
    assert np.isfinite(bench.state.q).all()
    bench.client.unlatch()  # where it stands is nowhere
    bench.tick(3, SPEED)
    assert bench.server.dropped["moving"] == 1
    assert bench.client.stopped
    assert comes_back(bench)
    bench.close()


@kinds
@pytest.mark.parametrize("lockstep", [False, True])
def test_no_packet_of_the_right_session_ends_a_server(arm, kind, lockstep, elsewhere):
    """Every kind, with as many numbers as it has and of every magnitude."""
    bench = Bench(arm, MAKERS[kind](arm), lockstep=lockstep)
    bench.tick()
    rng = np.random.default_rng(3)
    socket_, encoder = raw(bench)
    values = np.array([0.0, 1.0, -1.0, 0.01, 3.0, 7.0, 1e-300, 1e6, -1e9, 1e150, 1e308, -1e308])
    for _ in range(300):
        what = Kind(int(rng.integers(1, 8)))
        n = {Kind.HELLO: 2, Kind.COMMAND: 5, Kind.ADVANCE: 1 + 13 * int(rng.integers(0, 3)), Kind.PLACE: 2}.get(what, 0)
        encoder.numbers[:n] = rng.choice(values, n)
        if what is Kind.PLACE and rng.random() < 0.5:
            encoder.numbers[:n] = arm.ready
        if what is Kind.ADVANCE:
            encoder.numbers[0] = PERIOD
        if what is Kind.COMMAND:
            encoder.numbers[0] = rng.integers(0, 3)
        bench.now += PERIOD
        socket_.send(encoder.pack(what, bench.now, n))
        bench.server.step(bench.now)
    bench.client._receive()
    if lockstep:
        return
    bench.client.advance(PERIOD)  # those whom the last packet has put there are gone
    bench.tick(BRAKING)
    assert comes_back(bench)
    bench.close()


def test_people_travel_with_the_messages():
    arm = er.load("panda")
    bench = Bench(arm, MuJoCo(arm, person_capsules=2))
    bench.tick()
    at = arm.pose(arm.ready)[:3, 3]
    row = Capsule(at, np.add(at, [0, 0, 0.3]), 0.1).row()
    bench.client.advance(PERIOD, row[None])
    bench.tick()
    assert (bench.client.touching, bench.client.contacts) == (True, 1)
    bench.client.advance(PERIOD, np.array([row] * 3))  # more than that plant takes
    bench.tick()
    assert bench.server.dropped["numbers"] == 1
    bench.client.advance(PERIOD)
    bench.tick(2)
    assert not bench.client.touching
    with pytest.raises(er.ShapeError, match="at most 78 rows"):
        bench.client.advance(PERIOD, np.array([row] * 79))
    bench.close()


def test_a_status_travels_with_the_torques():
    """A stop without torques asks for the brakes (drive.py); without its status it would let the arm fall."""
    arm = er.load("panda")
    bench = Bench(arm, RigidBody(arm, drive="torque"))
    bench.tick()
    bench.client.reset(arm.ready)
    bench.command.status = Status.STOP_STATE_INVALID
    bench.tick(5, 0.0)
    assert not bench.client.stopped
    assert np.abs(bench.state.qd).max() < 1e-9
    bench.command.status = Status.OK
    bench.tick(5, 0.0)
    assert np.abs(bench.state.qd).max() > 0.1
    bench.close()


def test_states_for_others_or_of_another_shape_are_dropped(arm):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plant:
        plant.bind(("127.0.0.1", 0))
        with PlantClient(arm, plant.getsockname()) as client:
            hello, peer = plant.recvfrom(LARGEST)
            session = received(hello).session
            state, numbers = State(np.zeros(2)), [0.5, 1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4]
            now = client.clock()
            for packet in (
                packed(Kind.STATE, numbers, session ^ 2, 1, now),
                packed(Kind.STATE, numbers[:-1], session, 1, now),
                packed(Kind.STATE, [*numbers[:2], 9.0, *numbers[3:]], session, 1, now),
                packed(Kind.COMMAND, numbers, session, 1, now),
                packed(Kind.STATE, numbers, session, 1, now + 10.0),
            ):
                plant.sendto(packet, peer)
            client.read(state)
            assert not client.connected
            assert dict(client.dropped).items() >= {"session": 1, "numbers": 2, "kind": 1, "future": 1}.items()
            plant.sendto(packed(Kind.STATE, numbers, session, 1, now), peer)
            client.read(state)
            assert (*state.q, *state.qd, state.t) == (0.1, 0.2, 0.3, 0.4, 0.5)
            assert state.tau is None  # not measured there
            plant.sendto(packed(Kind.STATE, [*numbers, 7.0, 8.0], session, 2, now), peer)
            client.read(state)
            assert (*state.qd, *state.tau) == (0.3, 0.4, 7.0, 8.0)


def test_torques_come_over_the_link(arm):
    bench = Bench(arm, RigidBody(arm))
    bench.begin()
    bench.tick(300, 0.0)  # it stands by now
    assert np.allclose(bench.state.tau, arm.gravity_torque(bench.state.q), rtol=0, atol=1e-6)
    assert np.abs(bench.state.tau).max() > 1.0
    bench.close()


def test_a_flood_holds_nothing_up(bench):
    bench.begin()
    for _ in range(2 * AT_ONCE):
        bench.client._socket.send(b"noise")
    bench.tick()
    assert bench.server.dropped["short"] == AT_ONCE
    bench.tick(12, SPEED)
    assert not bench.server.stopped


def test_bad_addresses_and_times_are_refused(bench):
    plant, arm = bench.plant, bench.arm
    for bad, told in (
        (lambda: PlantServer(plant, ("0.0.0.0", 0)), "expected one of this machine"),
        (lambda: PlantServer(plant, ("example.org", 0)), "expected one of this machine"),
        (lambda: PlantClient(arm, ("192.0.2.1", 5005)), "expected one of this machine"),
        (lambda: PlantServer(plant, bench.server.address), "expected one that is free"),
        (lambda: PlantServer(plant, period=0.1, timeout=0.1), "expected more than the period"),
    ):
        with pytest.raises(er.ElbowroomError, match=told):
            bad()
    with pytest.raises(ValueError, match="dt must be above 0"):
        bench.client.advance(2.0)
    assert PlantServer(plant, ("localhost", 0)).address[0] == "127.0.0.1"


@given(st.lists(st.sampled_from(["command", "lose", "repeat", "late", "break", "reset", "hello"]), max_size=60))
@examples(30)
def test_whatever_the_wire_does_the_arm_obeys_only_fresh_commands(path):
    """The plant moves on only while a valid command is younger than the timeout; else it brakes or stands."""
    bench = Bench(er.load("planar2"))
    try:
        bench.begin()
        kept = command_packet(bench, SPEED)
        fresh = bench.now
        for what in path:
            bench.now += 0.03
            if what == "command":
                bench.client.write(bench.command)
                fresh = bench.now if not bench.server.stopped else fresh
            elif what == "repeat":
                kept = command_packet(bench, SPEED)
                bench.client._socket.send(kept)
                bench.client._socket.send(kept)
                fresh = bench.now if not bench.server.stopped else fresh
            elif what == "late":
                bench.client._socket.send(kept)
            elif what == "break":
                bench.client._socket.send(bytes([*kept[:40], kept[40] ^ 4, *kept[41:]]))
            elif what == "reset":
                bench.client.unlatch()
            elif what == "hello":
                bench.another().close()
            before = bench.state.qd[0]
            bench.server.step(bench.now)
            bench.client._receive()
            bench.plant.read(bench.state)
            if bench.now - fresh > TIMEOUT + 1e-9:
                assert abs(bench.state.qd[0]) < abs(before) or bench.state.qd[0] == 0
    finally:
        bench.close()


# ---- two processes

CONTROLLER = """
import sys, time
import elbowroom as er
from elbowroom.avoidance import Command, State
from elbowroom.cell import PlantClient
arm = er.load("planar2")
plant = PlantClient(arm, ("127.0.0.1", int(sys.argv[1])), timeout=1.0)
assert plant.wait(20)
plant.reset(arm.ready)
command, state = Command(2), State(arm.ready)
command.qd[0] = float(sys.argv[2])
while True:
    plant.read(state)
    plant.write(command)
    time.sleep(0.005)
"""

PLANT = """
import sys
import elbowroom as er
from elbowroom.cell import Kinematic, PlantServer, RigidBody
kind = {"kinematic": Kinematic, "rigid": RigidBody}[sys.argv[1]]
server = PlantServer(kind(er.load(sys.argv[2])), lockstep=sys.argv[3] == "lockstep")
print(server.address[1], flush=True)
server.serve()
"""

GIVE_UP = 60.0  # s: a test that hangs ends; none is judged by it


@pytest.fixture
def started():
    """A function that starts Python code in a process, which is ended with the test."""
    children = []

    def start(code, *arguments):
        child = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
        children.append(child)
        return child

    yield start
    for child in children:
        if child.poll() is None:
            child.kill()
        child.wait()
        child.stdout.close()


@pytest.mark.parametrize("name", ["kill", "suspend"])
def test_a_controller_that_is_killed_or_suspended_stops_the_arm(arm, started, name):
    """F15.  The plant runs here in real time, its controller in another process."""
    plant = Kinematic(arm, acceleration=ACCELERATION)
    state, log, ended = State(np.zeros(2)), [], None
    timeout = 0.5  # s, that a busy machine does not reach by itself
    with PlantServer(plant, period=PERIOD, timeout=timeout) as server:
        child = started(CONTROLLER, str(server.address[1]), str(SPEED))
        start = time.monotonic()
        while time.monotonic() - start < GIVE_UP:
            t = time.monotonic()
            server.step(t)
            plant.read(state)
            log.append((t, server._commanded, server.stop_reason, state.qd[0]))
            if ended is None and state.qd[0] == SPEED:
                os.kill(child.pid, signal.SIGKILL if name == "kill" else signal.SIGSTOP)
                ended = len(log)
            if ended is not None and state.qd[0] == 0:
                break
            time.sleep(PERIOD)
        stop = next(k for k, (_, _, reason, _) in enumerate(log) if k >= ended and reason is Stop.TIMEOUT)
        t, commanded, _, _ = log[stop]
        assert t - commanded > timeout  # not before its time
        assert log[stop - 1][0] - commanded <= timeout  # and at the first tick after it
        assert len(log) - stop <= BRAKING + 1  # ticks
        speeds = [speed for *_, speed in log[stop - 1 :]]
        assert max(-np.diff(speeds)) <= ACCELERATION * PERIOD * (1 + 1e-12)
        where = state.q.copy()
        if name == "suspend":  # it goes on, and commands again
            os.kill(child.pid, signal.SIGCONT)
            refused = server.dropped["stopped"]
            while server.dropped["stopped"] < refused + 5 and time.monotonic() - start < GIVE_UP:
                server.step(time.monotonic())
                time.sleep(PERIOD)
            assert server.dropped["stopped"] >= refused + 5
        plant.read(state)
        assert (state.q == where).all()
        assert server.stopped


def run(plant, arm, cycles=200):
    """A motion to and fro with feedback, a person passing: every state, as bytes."""
    state, command, told = State(arm.ready), Command(arm.n), []
    plant.reset(arm.ready)
    for k in range(cycles):
        plant.read(state)
        command.qd[:] = 0.4 * np.sin(0.1 * k + np.arange(arm.n)) - 0.5 * (state.q - arm.ready)
        command.status = Status.AVOIDING
        plant.write(command)
        at = np.array([1.0 - 0.01 * k, 0.2, 0.3])
        plant.advance(0.005, Capsule(at, at + np.array([0.0, 0.0, 0.5]), 0.1).row()[None])
        plant.read(state)
        told.append([*state.q, *state.qd, state.t, plant.touching, plant.contacts])
    return np.array(told)


@pytest.mark.parametrize("kind", ["kinematic", "rigid"])
def test_a_run_over_the_link_is_the_run_in_one_process(started, kind):
    child = started(PLANT, kind, "panda", "lockstep")
    arm = er.load("panda")
    with PlantClient(arm, ("127.0.0.1", int(child.stdout.readline())), lockstep=True, patience=GIVE_UP) as client:
        assert client.wait(GIVE_UP)
        over = run(client, arm)
        assert client.connected
        assert client.dropped.total == 0
    here = run({"kinematic": Kinematic, "rigid": RigidBody}[kind](arm), arm)
    assert over.tobytes() == here.tobytes()
    assert here[-1, -1] == 1  # the person passed through the arm


def test_a_plant_that_is_killed_leaves_a_stale_state(started):
    child = started(PLANT, "kinematic", "planar2", "real time")
    arm = er.load("planar2")
    with PlantClient(arm, ("127.0.0.1", int(child.stdout.readline())), timeout=1.0) as client:
        assert client.wait(GIVE_UP)
        client.reset(arm.ready)
        state, command = State(arm.ready), Command(2)
        client.read(state)
        first, start = state.t, time.monotonic()
        while state.t == first and time.monotonic() - start < GIVE_UP:
            client.read(state)
            time.sleep(0.01)
        assert 0 <= time.monotonic() - state.t < GIVE_UP  # the clocks of the two are one
        child.kill()
        child.wait()
        for _ in range(5):  # what was still on its way
            client.read(state)
        last = state.t
        while client.connected and time.monotonic() - start < GIVE_UP:
            client.write(command)
            client.read(state)
            time.sleep(0.01)
        assert not client.connected
        assert state.t == last


def test_a_lockstep_plant_that_does_not_answer_is_given_up(arm):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        with PlantClient(arm, deaf.getsockname(), lockstep=True, patience=0.05) as client:
            client.reset(arm.ready)
            client.advance(0.01)
            assert not client.connected
