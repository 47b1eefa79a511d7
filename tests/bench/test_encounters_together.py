"""Encounters side by side: every number as in a run alone, to the bit, stops and resets included."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from elbowroom.avoidance import Limits
from elbowroom.avoidance.safety.lanes import STOPPED, SupervisorLanes
from elbowroom.bench.encounters import batch
from elbowroom.bench.encounters.batch import LOOK, Together, run_together
from elbowroom.bench.encounters.methods import StandingArm, controller, supervised
from elbowroom.bench.encounters.run import run
from elbowroom.bench.encounters.scene import SensorSettings, frames, place, scene
from elbowroom.errors import ConfigError

SECONDS = 1.5


def compared(arm, factory, seeds, people=1, sensor="camera", seconds=SECONDS):
    """The tracks together, each held against that of a run alone."""
    scenes = [scene(place(arm), seed, people, seconds) for seed in seeds]
    seen = [frames(each, sensor) for each in scenes]
    kind = sensor if isinstance(sensor, str) else sensor.kind
    tracks = run_together(scenes, factory, seen, kind)
    for each, shown, track in zip(scenes, seen, tracks, strict=True):
        alone = run(each, factory, shown, kind)
        assert np.array_equal(track.q, alone.q)
        assert np.array_equal(track.asked, alone.asked)
        assert (track.goals, track.stops) == (alone.goals, alone.stops)
    return tracks


def test_the_same_bits_as_alone():
    tracks = compared("panda", supervised, range(5))
    assert any(np.abs(track.asked).max() > 0.1 for track in tracks)  # rad/s: they are at work


@pytest.mark.slow
@pytest.mark.parametrize(("arm", "law"), [("panda", "K"), ("panda", "F"), ("ur5e", "K"), ("iiwa14", "F")])
def test_the_same_bits_with_other_laws_and_arms(arm, law):
    compared(arm, partial(supervised, law=law), range(100, 112), seconds=6.0)


@pytest.mark.slow
def test_the_same_bits_of_laws_without_a_supervisor():
    compared("panda", controller, range(200, 212), seconds=6.0)
    compared("iiwa14", partial(controller, law="F"), range(200, 212), people=2, seconds=6.0)


def test_a_law_without_a_supervisor_has_the_same_bits_and_never_stops():
    tracks = compared("scara", controller, range(9), seconds=1.0)  # more than there are lanes
    assert any(np.abs(track.asked).max() > 0.1 for track in tracks)  # rad/s
    assert not any(track.stops for track in tracks)
    late = SensorSettings(latency=(0.5, 0.5))  # nobody is seen at first: the arm itself begins
    compared("scara", controller, range(2), sensor=late, seconds=1.0)


@pytest.mark.slow
def test_two_people_and_an_exact_sensor():
    compared("scara", supervised, range(3), people=2, seconds=0.6)  # four joints: compiled in a third of the time
    compared("panda", supervised, range(3), sensor="ideal", seconds=0.6)


def test_stops_and_resets():
    """Where a camera's data is stale soon, some arms stop; they are reset after a second, as alone."""
    strict = partial(supervised, limits=Limits(max_age=0.14))
    tracks = compared("panda", strict, range(6), seconds=2.5)
    stopped = [track for track in tracks if track.stops]
    assert len(stopped) not in (0, len(tracks))
    ends = [track for track in stopped if np.abs(track.asked[-20:]).max() > 0.05]  # rad/s: at work again
    assert ends


def test_stops_of_the_last_moment():
    near = partial(supervised, limits=Limits(stop_distance=0.6))
    assert any(track.stops for track in compared("panda", near, range(6), seconds=3.0))


def test_stops_and_first_cycles_stay_in_their_lanes(monkeypatch):
    """Nobody goes on alone for a stop, nor to begin; and a sensor that is silent for long keeps an arm stopped."""

    def alone(*_args):
        raise AssertionError("a run left its lane")

    for name in ("leave", "born"):
        monkeypatch.setattr(SupervisorLanes, name, alone)
    silent = SensorSettings(gap=(0.3, 1.5), gap_every=1.0)
    tracks = compared("panda", supervised, range(6), sensor=silent, seconds=4.0)
    assert sum(track.stops for track in tracks) > 3


class Shuttling(Together):
    """Every few steps some runs leave their lanes, and go on alone until their cycles are ordinary."""

    turn, stopped = 0, 0

    def _run_lanes(self, label, lanes, ready, found):
        label = super()._run_lanes(label, lanes, ready, found)
        self.turn += 1
        for lane in [k for k in lanes if (k + self.turn) % 3 == 0 and label == LOOK]:
            run, latched = lanes.pop(lane), self._schedule[self._arms.latch][STOPPED, lane] > 0.0
            guard, _ = self._arms.leave(lane, None)
            self._read(lane, run)
            run.latched = bool(latched)
            self.stopped += run.latched
            self._go_on(run, guard, ready, found)
        return label


def test_runs_may_leave_their_lanes_at_any_time(monkeypatch):
    """Also while they are stopped; and come back, to the bit."""
    monkeypatch.setattr(batch, "TURNS", 7)
    where, strict = place("panda"), partial(supervised, limits=Limits(max_age=0.14))
    scenes = [scene(where, seed, 1, 2.0) for seed in range(6)]
    seen = [frames(each, "camera") for each in scenes]
    together = Shuttling(strict, where, 1)
    for each, shown, track in zip(scenes, seen, together.run(scenes, seen), strict=True):
        alone = run(each, strict, shown)
        assert np.array_equal(track.q, alone.q)
        assert (track.goals, track.stops) == (alone.goals, alone.stops)
    assert together.stopped > 0


def test_a_stop_for_a_person_who_is_near_is_seen():
    """The test above can fail: some of its arms stop."""
    scenes = [scene(place("panda"), seed, 1, 3.0) for seed in range(6)]
    factory = partial(supervised, limits=Limits(stop_distance=0.6))
    assert sum(track.stops for track in run_together(scenes, factory, [frames(s, "camera") for s in scenes]))


def test_runs_of_any_length_share_the_lanes():
    """More runs than lanes, none as long as the others: each has the bits that it has alone."""
    where = place("panda")
    together = Together(supervised, where, 1)
    scenes = [scene(where, seed, 1, 0.3 + 0.05 * seed) for seed in range(together.lanes + 3)]
    seen = [frames(each, "camera") for each in scenes]
    order = list[int]()
    for number, what, track in together.stream(zip(scenes, seen, strict=True)):
        order.append(number)
        assert what is scenes[number]
        assert np.array_equal(track.q, run(what, supervised, seen[number]).q)
    assert sorted(order) == list(range(len(scenes)))
    again = together.run(scenes[:2], seen[:2])  # nothing is left of the runs before
    assert np.array_equal(again[1].q, run(scenes[1], supervised, seen[1]).q)


def test_a_sensor_that_is_late_at_first():
    """Before the first frame an arm waits; its lane is another's until then."""
    late = SensorSettings(latency=(0.5, 0.5))
    where = place("panda")
    scenes = [scene(where, seed, 1, 1.0) for seed in range(2)]
    seen = [frames(scenes[0], late), frames(scenes[1], "camera")]
    for each, shown, track in zip(scenes, seen, run_together(scenes, supervised, seen), strict=True):
        alone = run(each, supervised, shown)
        assert np.array_equal(track.q, alone.q)
        assert track.stops == alone.stops


def test_single_precision_repeats_alone_and_is_near():
    """The same bits in company and alone; and numbers that a rounding error of single precision explains."""
    where = place("panda")
    scenes = [scene(where, seed, 1, 1.5) for seed in (0, 1, 2, 4)]
    seen = [frames(each, "camera") for each in scenes]
    single = Together(supervised, where, 1, dtype=np.float32)
    company, double = single.run(scenes, seen), run_together(scenes, supervised, seen)
    for k, track in enumerate(company):
        assert np.array_equal(single.run(scenes[k : k + 1], seen[k : k + 1])[0].q, track.q)
        assert np.abs(track.q - double[k].q).max() < 1e-4  # rad: 150 steps, each rounded at 1e-7
        assert not np.array_equal(track.q, double[k].q)


@pytest.mark.slow
def test_single_precision_moves_as_smoothly():
    """Rounding alone must not pull a command back to the stop ramp.

    In eight such groups of scenes the mean of the jerk differed by up to 0.4 %, as chance would have it; by 4 to 10 %
    where roundings of single precision counted.
    """
    where = place("panda")
    scenes = [scene(where, seed, 1) for seed in range(24)]
    seen = [frames(each, "camera") for each in scenes]
    single, double = (run_together(scenes, supervised, seen, dtype=d) for d in (np.float32, np.float64))
    jerks = [np.mean([np.std(np.diff(track.asked, n=2, axis=0)) for track in tracks]) for tracks in (single, double)]
    assert jerks[0] == pytest.approx(jerks[1], rel=0.02)


def test_single_precision_stops_and_goes_on():
    strict = partial(supervised, limits=Limits(max_age=0.14))
    where = place("panda")
    scenes = [scene(where, seed, 1, 2.5) for seed in range(6)]
    seen = [frames(each, "camera") for each in scenes]
    single, double = (run_together(scenes, strict, seen, dtype=d) for d in (np.float32, np.float64))
    assert sum(track.stops for track in single) > 0
    assert abs(sum(track.stops for track in single) - sum(track.stops for track in double)) <= 1


def test_only_our_laws_and_scenes_of_a_kind():
    scenes = [scene(place("panda"), 0, 1, 0.1), scene(place("panda"), 1, 2, 0.1)]
    seen = [frames(each, "camera") for each in scenes]
    with pytest.raises(ConfigError, match="as many people"):
        run_together(scenes, supervised, seen)
    with pytest.raises(ConfigError, match="only laws of this package"):
        run_together(scenes[:1], StandingArm, seen[:1])


@pytest.mark.parametrize("law", [supervised, controller])
def test_an_arm_whose_state_is_no_number_stops_and_the_others_go_on(law):
    """What ends an ordinary cycle ends that of one arm alone; a joint that is no number stops it for good."""
    where = place("panda")
    scenes = [scene(where, seed, 1, 0.5) for seed in range(3)]
    seen = [frames(each, "camera") for each in scenes]
    whole = run_together(scenes, law, seen)
    broken = scenes[1].goals.copy()
    broken[:] = np.nan
    odd = replace(scenes[1], goals=broken)
    found = run_together([scenes[0], odd, scenes[2]], law, seen)
    for k in (0, 2):
        assert np.array_equal(found[k].q, whole[k].q)
    alone = run(odd, law, seen[1])
    assert np.array_equal(found[1].q, alone.q)
    assert not np.array_equal(found[1].q, whole[1].q)
