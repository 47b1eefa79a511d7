"""The benchmark of cycles: its arithmetic on made-up times, its scene, its peers on the same scene, its report."""

from __future__ import annotations

import gc
import itertools
import sys
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest

from elbowroom.avoidance import Config, Repulsion, Waiting
from elbowroom.avoidance.control.repulsion import influence, occupied
from elbowroom.bench import avoidance, timing
from elbowroom.bench.avoidance import STATES, Batch, ControlLoop, at_work
from elbowroom.bench.peers.avoidance import mujoco_scene, pinocchio_scene, steppers
from elbowroom.bench.scene import FRAMES, PERIOD, TimedScene, of_rows, placed, scene
from elbowroom.bench.timing import BUSY, EMPTY, CycleContender, measure, spread
from elbowroom.geometry.distance import DISTANCE
from elbowroom.geometry.pairs import Pairs
from elbowroom.geometry.shapes import RADIUS, VELOCITY_A, VELOCITY_B, A, B


@pytest.fixture(scope="module")
def told() -> TimedScene:
    return scene()


@pytest.fixture(scope="module")
def table(told) -> Pairs:
    return Pairs(len(told.body), told.capsules)


# ---- percentiles


def test_the_spread_of_known_times():
    found = spread(np.random.default_rng(0).permutation(np.arange(1, 100_001)))
    assert found.median == pytest.approx(50_000.5e-9)
    assert found.p999 == pytest.approx(99_900e-9)  # 99900 of the 100000 kept within it, and no fewer
    assert found.max == pytest.approx(100_000e-9)


@pytest.mark.parametrize("slow, p999", [(1, 10e-9), (2, 1e-3)])
def test_one_slow_cycle_in_a_thousand_is_within_the_percentile_and_two_are_not(slow, p999):
    times = np.full(1000, 10)
    times[:slow] = 1_000_000
    found = spread(times)
    assert found.p999 == pytest.approx(p999)
    assert (found.median, found.max) == pytest.approx((10e-9, 1e-3))


@pytest.mark.parametrize("count", [1, 7, 1000, 54_321])
def test_a_curve_says_how_many_took_so_long(count):
    times = np.random.default_rng(1).lognormal(9.0, 1.0, count)
    curve = avoidance.curve(times)
    assert len(curve.seconds) == len(curve.longer) <= avoidance.POINTS
    assert curve.longer[0] == 1.0
    assert curve.longer[-1] == 1.0 / count  # down to the slowest one
    assert curve.seconds[-1] == pytest.approx(times.max() * 1e-9)
    for seconds, longer in zip(curve.seconds, curve.longer, strict=True):
        assert (times * 1e-9 >= seconds).mean() == pytest.approx(longer)


def test_the_part_beyond_each_threshold():
    times = np.array([9_000, 10_000, 11_000, 60_000, 2_000_000])  # ns
    assert avoidance.THRESHOLDS == (1e-5, 2e-5, 5e-5, 1e-4, 1e-3, 1e-2)
    assert avoidance.beyond(times) == [0.6, 0.4, 0.4, 0.2, 0.2, 0.0]


# ---- cycles, with a clock that goes on only when told to


@pytest.fixture
def clock(monkeypatch) -> SimpleNamespace:
    """A clock; `now` in ns."""
    fake = SimpleNamespace(now=0)
    fake.perf_counter_ns = lambda: fake.now
    fake.sleep = lambda seconds: setattr(fake, "now", fake.now + round(seconds * 1e9))
    monkeypatch.setattr(timing, "time", fake)
    return fake


class Recorded:
    """A contender that takes a known time and remembers what it was told."""

    def __init__(self, clock, takes: int, prepares: int = 0) -> None:
        self.clock, self.takes, self.prepares = clock, takes, prepares
        self.told: list[tuple[float, object]] = []
        self.collecting: set[bool] = set()

    def cycle(self, t, frame):
        self.told.append((t, frame))
        self.collecting.add(gc.isenabled())
        self.clock.now += self.takes

    def prepare(self, t, frame):
        self.clock.now += self.prepares


def test_only_the_cycle_is_timed(clock):
    one = Recorded(clock, takes=30, prepares=1000)
    two = Recorded(clock, takes=70)
    taken = measure(
        {
            "one": CycleContender(one.cycle, "abc", 230, prepare=one.prepare),
            "two": CycleContender(two.cycle, "x", 7, pause=0.001),
        },
        period=0.5,
        like="one",
        chunks=10,
    )
    assert taken["one"].tolist() == [30] * 230  # each cycle once, and nothing of prepare
    assert taken["two"].tolist() == [70] * 7  # fewer cycles than chunks, and nothing of the sleep
    assert taken[EMPTY].tolist() == taken[BUSY].tolist() == [0] * 230  # this clock stands still where nothing is done


def test_a_contender_sees_time_run_and_frames_in_order(clock):
    one = Recorded(clock, takes=1)
    measure({"one": CycleContender(one.cycle, "abc", 50)}, period=0.25, like="one", chunks=4)
    times, frames = zip(*one.told, strict=True)
    assert len(times) > 50  # those that warm up are told too
    assert np.diff(times) == pytest.approx(0.25)
    assert "".join(frames[:6]) == "bcabca"


def test_contenders_take_turns(clock):
    order: list[str] = []

    def contender(name: str) -> CycleContender:
        return CycleContender(lambda t, frame: order.append(name), [None], 100)

    measure({"one": contender("one"), "two": contender("two")}, period=1.0, like="one", chunks=5)
    changes = sum(a != b for a, b in itertools.pairwise(order))
    assert changes >= 2 * 5 - 1


@pytest.mark.usefixtures("collector")
def test_the_collector_rests_and_is_woken_again(clock):
    assert gc.isenabled()
    one = Recorded(clock, takes=1)
    measure({"one": CycleContender(one.cycle, [0], 10)}, period=1.0, like="one", chunks=1)
    assert one.collecting == {False}
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0

    def fails(t, frame):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        measure({"one": CycleContender(fails, [0], 10)}, period=1.0, like="one", chunks=1)
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize(
    "wanted, taken, turns, found",
    [(300.0, 100.0, 50, 150), (100.0, 300.0, 50, 17), (1.0, 1e6, 5, 1), (300.0, 0.0, 50, 50), (0.0, 300.0, 50, 50)],
)
def test_the_busy_floor_grows_to_the_length_of_our_cycle(wanted, taken, turns, found):
    """In proportion, one turn at least; what took no time tells nothing."""
    assert timing._like(wanted, taken, turns) == found


# ---- the scene


def test_the_scene_is_as_large_as_promised(told):
    assert told.arm.n == 7
    assert len(told.body) >= 8
    assert told.capsules >= 12
    assert len(told.frames) == FRAMES
    assert (told.frames[0].rows[:, RADIUS] > 0).all()


def test_the_arm_and_the_person_move_as_their_velocities_say(told):
    q, qd, rows, goal = (np.array(part) for part in zip(*told.frames, strict=True))
    ahead, back = (np.roll(q, s, axis=0) for s in (-1, 1))  # around the orbit: it must close without a jump
    # Central differences err by h^2/6 of the third derivative: 0.1 rad pi^3 1e-6 / 6.
    assert np.abs((ahead - back) / (2 * PERIOD) - qd).max() < 1e-6
    for end, velocity in ((A, VELOCITY_A), (B, VELOCITY_B)):
        ahead, back = (np.roll(rows[:, :, end], s, axis=0) for s in (-1, 1))
        assert np.abs((ahead - back) / (2 * PERIOD) - rows[:, :, velocity]).max() < 1e-6
    ahead, back = (np.roll(goal[:, :3], s, axis=0) for s in (-1, 1))
    assert np.abs((ahead - back) / (2 * PERIOD) - goal[:, 3:]).max() < 1e-6
    assert np.abs(np.diff(rows[:, 0, 0])).max() > 1e-5


@pytest.fixture(scope="module")
def lived(told) -> TimedScene:
    return at_work(told)


def test_the_arm_follows_its_commands_and_never_rests(lived):
    q, qd, _, _ = (np.array(part) for part in zip(*lived.frames, strict=True))
    assert np.abs(q[:-1] + PERIOD * qd[1:] - q[1:]).max() < 1e-12  # a sum, to rounding
    steps = np.abs(q - np.roll(q, 1, axis=0)).max(axis=1)
    assert steps.min() > 5e-5  # Pink keeps what it computed where q differs by less than about 2e-5
    assert steps[0] < 2.0 * steps[1:].max()  # no jump where it begins again
    assert np.abs(qd).max() < lived.arm.model.velocity.min()


def test_the_person_is_felt_and_does_not_stop_the_arm(lived, table):
    """Between the reach of the default field and contact, all the way round.

    The person stands at the goal, which the arm waits for: the field reaches farther than its own influence.
    """
    frames = range(0, FRAMES, 40)
    least = [table.least(lived.rows(k)).distance for k in frames]
    near, clear = Waiting().near, Waiting().clear
    levels = [occupied(near, clear, lived.frames[k].goal[:3], list(lived.frames[k].rows)) for k in frames]
    assert min(least) > 0.15
    assert min(levels) > 0.8
    for distance, level in zip(least, levels, strict=True):
        assert distance < influence(Waiting(), Repulsion(), level)


# ---- the peers on the same scene


@pytest.mark.parametrize("frame", [0, 700, 1333])
def test_mujoco_has_our_distances(told, table, frame):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco_scene(mujoco, told)
    data = mujoco.MjData(model)
    q, _, rows, _ = told.frames[frame]
    data.qpos[:] = q
    data.mocap_pos[:] = [capsule.middle for capsule in of_rows(rows)]
    mujoco.mj_kinematics(model, data)
    names = [f"arm {k}" for k in range(len(told.body))] + [f"person {k}" for k in range(told.capsules)]
    theirs = [
        mujoco.mj_geomDistance(model, data, model.geom(names[i]).id, model.geom(names[j]).id, 10.0, np.zeros(6))
        for i, j in table.pairs
    ]
    # Both are exact up to rounding; parallel capsules may lose half the digits of the points, not of the distance.
    assert np.abs(np.array(theirs) - table(told.rows(frame))[:, DISTANCE]).max() < 1e-9


@pytest.mark.parametrize("frame", [0, 1333])
def test_pinocchio_has_our_distances(told, table, frame):
    pin, coal = pytest.importorskip("pinocchio"), pytest.importorskip("coal")
    model, shapes, person = pinocchio_scene(pin, coal, told, static=True)
    q, _, rows, _ = told.frames[frame]
    for k, at in zip(person, of_rows(rows), strict=True):
        shapes.geometryObjects[k].placement = pin.SE3(at.R, at.middle)
    found = pin.GeometryData(shapes)
    pin.computeDistances(model, model.createData(), shapes, found, np.array(q))
    theirs = [result.min_distance for result in found.distanceResults]
    # coal errs by up to 1e-6 near parallel; these are not.
    assert np.abs(np.array(theirs) - table(told.rows(frame))[:, DISTANCE]).max() < 1e-9


def test_a_capsule_is_placed_along_its_axis():
    rng = np.random.default_rng(3)
    for a, b in rng.uniform(-1, 1, (20, 2, 3)):
        at = placed(a, b, 0.1)
        half = 0.5 * at.length * at.R[:, 2]
        assert np.abs(at.R @ at.R.T - np.eye(3)).max() < 1e-14
        assert np.linalg.det(at.R) > 0
        assert np.abs(at.middle - half - a).max() < 1e-14
        assert np.abs(at.middle + half - b).max() < 1e-14
    assert placed([1, 2, 3], [1, 2, 3], 0.1).length == 0.0  # a sphere has no axis


def test_the_peers_step_on_our_scene():
    """A cycle gives joint speeds, and what the peer then sees as nearest is what we see, the person moved with it."""
    pytest.importorskip("mink")
    pytest.importorskip("pink")
    small = scene(40)
    found, missing = steppers(small)
    assert missing == []
    assert [peer.name for peer in found] == ["mink", "mink", "Pink", "Pink"]
    own = len(small.body)
    moving = [k for k, link in enumerate(small.body.links) if link >= 0]  # what no joint parts they leave out
    ours = Pairs(own + small.capsules, more=[(i, own + k) for i in moving for k in range(small.capsules)])
    for peer in found:
        for frame in (3, 22):
            speeds = peer.cycle(0.0, peer.frames[frame])
            assert speeds.shape == (7,)
            assert np.isfinite(speeds).all()
            assert np.abs(speeds).max() > 0
            assert peer.nearest() == pytest.approx(ours.least(small.rows(frame)).distance, abs=1e-9)
        assert f"{len(ours) + len(small.body.self_pairs)} pairs" in peer.says


@pytest.mark.parametrize("absent, missing", [(("mink", "pink"), ["mink", "Pink"]), (("daqp",), ["mink", "Pink"])])
def test_missing_peers_are_named(monkeypatch, absent, missing):
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    assert steppers(scene(2)) == ([], missing)


# ---- the report


@pytest.fixture(scope="module")
def report() -> avoidance.CycleReport:
    return avoidance.run(cycles=1000, shown=scene(500), controllers={"K": Config()}, batches=False)


KEYS = {"bench", "robot", "n", "quantity", "who", "version", "seconds_per_state", "ratio_to_us"}
TIMES = {"median_s", "p999_s", "max_s", "floor_median_s", "floor_p999_s", "floor_max_s"}


def test_every_row_has_its_numbers(report):
    for row in map(asdict, report.rows):
        assert set(row) >= KEYS | TIMES
        assert row["bench"] == "avoidance"
        assert (row["robot"], row["n"]) == ("panda", 7)
        assert 0 < row["median_s"] <= row["p999_s"] <= row["max_s"]
        assert 0 <= row["floor_median_s"] <= row["floor_p999_s"] <= row["floor_max_s"]
        assert row["seconds_per_state"] == row["median_s"]
        assert row["says"]


def test_ratios_are_to_the_supervised_controller(report):
    first = report.rows[0]
    assert (first.quantity, first.who, first.ratio_to_us) == (avoidance.REFERENCE, "elbowroom", 1.0)
    for row in report.rows:
        assert row.ratio_to_us == pytest.approx(row.median_s / first.median_s)


def test_supervised_and_bare_whole_and_alone_are_there(report):
    ours = {row.quantity: row for row in report.rows if row.who == "elbowroom"}
    assert list(ours) == ["K, supervised", "K, supervised, step alone", "K, bare", "K, supervised, once a millisecond"]
    assert [row.cycles for row in ours.values()] == [1000, 1000, 1000, 20]
    assert {row.who for row in report.rows} | set(report.missing) == {"elbowroom", "mink", "Pink"}


def test_the_arm_was_at_work(report):
    assert sum(report.statuses.values()) >= 1000
    assert not [status for status in report.statuses if status.startswith("STOP") or status == "IN_COLLISION"]
    assert (report.capsules, report.person_capsules) >= (8, 12)
    assert report.pairs >= report.capsules * report.person_capsules
    assert report.thesis_s == 0.158
    assert {EMPTY, BUSY, "elbowroom: K, supervised"} <= set(report.curves) == set(report.beyond)
    assert all(parts == sorted(parts, reverse=True) for parts in report.beyond.values())


@pytest.mark.parametrize("supervised", [False, True])
def test_handing_over_and_stepping_is_the_whole_cycle(supervised):
    """The two ways to time a cycle do the same: equal commands, number for number."""
    small = scene(200)
    one, two = (ControlLoop(small, Config(), supervised=supervised) for _ in range(2))
    for k in range(30):
        t, frame = (k + 1) * PERIOD, small.frames[k]
        one.whole(t, frame)
        two.hand_over(t, frame)
        two.alone(t, frame)
        assert one.command.qd.tolist() == two.command.qd.tolist()
    assert np.abs(one.command.qd).max() > 0


def test_an_arm_that_does_what_its_frames_say_is_not_stopped(lived):
    """The frames are those of an arm under K: F, which asks for another motion, is timed at work too."""
    loop = ControlLoop(lived, Config(controller="F"), supervised=True)
    for k, frame in enumerate(lived.frames[:1000]):
        command = loop.whole((k + 1) * PERIOD, frame)
        assert not command.status.stops, command.reason


def test_a_batch_is_many_states_each_with_its_person():
    small = scene(300)
    calls = []
    batch = Batch(SimpleNamespace(many=lambda *inputs: calls.append(inputs)), small)
    batch.cycle(0.0, batch.frames[1])
    q, qd, rows, goals = calls[0]
    assert q.shape == qd.shape == (STATES, 7)
    assert rows.shape == (STATES, small.capsules, 13)
    assert goals.tolist() == [small.frames[(STATES + k) % 300].goal[:3].tolist() for k in range(STATES)]
    assert q[50].tolist() == small.frames[(STATES + 50) % 300].q.tolist()
    assert rows[50].tolist() == small.frames[(STATES + 50) % 300].rows.tolist()
