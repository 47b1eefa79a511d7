"""Encounters side by side: every number as in a run alone, to the bit, stops and resets included."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from elbowroom.avoidance import Limits
from elbowroom.avoidance.safety.batch import SupervisorBatch
from elbowroom.bench.encounters.batch import run_together
from elbowroom.bench.encounters.methods import controller, supervised
from elbowroom.bench.encounters.run import run
from elbowroom.bench.encounters.scene import frames, place, scene
from elbowroom.errors import ConfigError

SECONDS = 1.5


def compared(arm, factory, seeds, people=1, sensor="camera", seconds=SECONDS):
    """The tracks together, each held against that of a run alone."""
    scenes = [scene(place(arm), seed, people, seconds) for seed in seeds]
    seen = [frames(each, sensor) for each in scenes]
    tracks = run_together(scenes, factory, seen, sensor)
    for each, shown, track in zip(scenes, seen, tracks, strict=True):
        alone = run(each, factory, shown, sensor)
        assert np.array_equal(track.q, alone.q)
        assert np.array_equal(track.asked, alone.asked)
        assert (track.goals, track.stops) == (alone.goals, alone.stops)
    return tracks


def test_the_same_bits_as_alone():
    tracks = compared("panda", supervised, range(5))
    assert any(np.abs(track.asked).max() > 0.1 for track in tracks)  # rad/s: they are at work


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["panda", "ur5e", "iiwa14"])
@pytest.mark.parametrize("law", ["K", "F"])
def test_the_same_bits_with_other_laws_and_arms(arm, law):
    compared(arm, partial(supervised, law=law), range(100, 112), seconds=6.0)


@pytest.mark.slow
def test_two_people_and_an_exact_sensor():
    compared("panda", supervised, range(3), people=2, seconds=0.6)
    compared("panda", supervised, range(3), sensor="ideal", seconds=0.6)


def test_stops_and_resets():
    """Where a camera's data is stale soon, some arms stop; they are reset after a second, as alone."""
    strict = partial(supervised, limits=Limits(max_age=0.14))
    tracks = compared("panda", strict, range(6), seconds=2.5)
    stopped = [track for track in tracks if track.stops]
    assert len(stopped) not in (0, len(tracks))
    ends = [track for track in stopped if np.abs(track.asked[-20:]).max() > 0.05]  # rad/s: at work again
    assert ends


@pytest.mark.parametrize("limits", [Limits(stop_distance=0.6), Limits(in_collision="stop")])
def test_stops_of_the_last_moment(limits):
    compared("panda", partial(supervised, limits=limits), range(6), seconds=3.0)


def test_a_stop_for_a_person_who_is_near_is_seen():
    """The test above can fail: some of its arms stop."""
    scenes = [scene(place("panda"), seed, 1, 3.0) for seed in range(6)]
    factory = partial(supervised, limits=Limits(stop_distance=0.6))
    assert sum(track.stops for track in run_together(scenes, factory, [frames(s, "camera") for s in scenes]))


def test_only_supervised_laws_and_scenes_of_a_kind():
    scenes = [scene(place("panda"), 0, 1, 0.1), scene(place("panda"), 1, 1, 0.2)]
    seen = [frames(each, "camera") for each in scenes]
    with pytest.raises(ConfigError, match="same duration"):
        run_together(scenes, supervised, seen)
    with pytest.raises(ConfigError, match="supervised"):
        run_together(scenes[:1], controller, seen[:1])


def test_an_arm_whose_state_is_no_number_stops_and_the_others_go_on():
    """What ends an ordinary cycle ends that of one arm alone."""
    where = place("panda")
    scenes = [scene(where, seed, 1, 0.5) for seed in range(3)]
    seen = [frames(each, "camera") for each in scenes]

    def commands(broken):
        batch = SupervisorBatch(lambda: supervised(where.arm, 1, "camera"), 3, [seen[0].names])
        q, found = np.tile(where.arm.ready, (3, 1)), []
        goals = np.zeros((3, 15))
        goals[:, :3], goals[:, 6:] = [each.goals[0] for each in scenes], np.eye(3).ravel()
        rows = np.stack([each.rows[0, 0] for each in seen])
        for k in range(20):
            t = 0.01 * k
            shown = q.copy()
            if broken and k == 10:
                shown[1, 2] = np.nan
            stamps = np.full((3, 1), t - 0.03)
            found.append(batch.step(t, 0.01, shown, np.zeros_like(q), rows, stamps, goals).copy())
            q = q + 0.01 * found[-1]
        return np.array(found), batch.latched

    whole, none = commands(False)
    found, latched = commands(True)
    assert not none.any()
    assert latched.tolist() == [False, True, False]
    assert np.array_equal(found[:, [0, 2]], whole[:, [0, 2]])
    assert not found[10:, 1].any()
