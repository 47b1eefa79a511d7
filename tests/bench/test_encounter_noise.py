"""What is random in the encounters' sensor: functions of (seed, frame, channel), the same for one as for many."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from scipy import stats

from elbowroom.algebra import log, normal, uniform
from elbowroom.bench.encounters import noise
from elbowroom.bench.encounters.scene import BEFORE, FRAME, GAP, LATENCY, NOISE, SensorSettings, frames, place, scene
from elbowroom.campaign.draws import scene_seed

ROUNDING = 1e-12  # m, s: NumPy rounds where machine code fuses, in numbers of size 1


def test_a_frame_is_the_truth_and_the_noise_of_its_counters():
    what = scene(place("panda"), 5, duration=1.0)
    truth = what.points[:20]
    shown = noise.seen_points(5, truth, NOISE)
    errors = normal(2, 5, np.arange(20.0)[:, None], 4 + np.arange(float(truth[0].size)))
    np.testing.assert_allclose(shown, truth + NOISE * errors.reshape(truth.shape), rtol=0, atol=ROUNDING)


def test_latency_and_drop_outs_are_those_of_their_counters():
    drawn = list(islice(noise.timings(9, LATENCY, GAP, 1.5), 40))  # more than are drawn at once
    u = np.array([[uniform(2, 9, 0, 0), uniform(2, 9, j, 2), uniform(2, 9, j, 3)] for j in range(40)])
    wanted = [LATENCY[0] + np.diff(LATENCY) * u[:, 0], -1.5 * log(u[:, 1]), GAP[0] + np.diff(GAP) * u[:, 2]]
    np.testing.assert_allclose(np.transpose(drawn), wanted, rtol=0, atol=ROUNDING)


def test_they_are_distributed_as_stated():
    drawn = np.array([list(islice(noise.timings(seed, LATENCY, GAP, 1.5), 10)) for seed in range(300)])
    for values, law in (
        (drawn[:, 0, 0], stats.uniform(LATENCY[0], np.diff(LATENCY)[0])),
        (drawn[:, :, 1].ravel(), stats.expon(scale=1.5)),
        (drawn[:, :, 2].ravel(), stats.uniform(GAP[0], np.diff(GAP)[0])),
    ):
        assert stats.kstest(values, law.cdf).pvalue > 1e-3  # the draws are always the same


def test_the_sensor_takes_them():
    what, settings = scene(place("panda"), 3, duration=4.0), SensorSettings()
    seen = frames(what, settings)
    timings = noise.timings(3, settings.latency, settings.gap, settings.gap_every)
    latency, start, length = next(timings)
    np.testing.assert_allclose(seen.arrivals - seen.stamps, latency, rtol=0, atol=ROUNDING)
    gone = np.ones(len(seen.stamps), dtype=bool)
    while start < what.duration:
        gone &= (seen.stamps < start) | (seen.stamps >= start + length)
        _, wait, after = next(timings)
        start, length = start + length + wait, after
    assert gone.all()
    everything = frames(what, SensorSettings(gap_every=0.0))
    assert len(everything.stamps) == round((what.duration + BEFORE) / FRAME) + 1
    kept = np.isin(np.round(everything.stamps / FRAME), np.round(seen.stamps / FRAME))
    assert len(everything.stamps) > kept.sum() == len(seen.stamps)
    places = slice(0, 6)  # of a capsule's ends: a frame has the same noise whether others are missing or not
    np.testing.assert_array_equal(everything.rows[kept][..., places], seen.rows[..., places])


def test_a_second_person_does_not_change_the_first_s_noise():
    truth = np.zeros((30, 2, 15, 3))
    both, one = noise.seen_points(4, truth, 1.0), noise.seen_points(4, truth[:, :1], 1.0)
    np.testing.assert_array_equal(both[:, :1], one)
    assert not np.array_equal(both[:, 1:], one)
    assert not np.array_equal(one, noise.seen_points(5, truth[:, :1], 1.0))


def test_scenes_of_a_campaign_share_a_key_and_their_runs_are_small():
    """What a card computes with in single precision is the run; the key is a constant."""
    pairs = [noise.key_and_run(scene_seed(7, k)) for k in (0, 1, 999_999)]
    assert len({key for key, _ in pairs}) == 1
    assert [run for _, run in pairs] == [0, 1, 999_999]
    assert noise.key_and_run(scene_seed(8, 0))[0] != pairs[0][0] != noise.key_and_run(5)[0]
    assert noise.key_and_run(scene_seed(2**20 - 1, 2**32 - 1))[0] < 2**52


@pytest.mark.parametrize("seed", [0, 2**52 + 1, 2**63 - 1])
def test_every_seed_of_a_cell_has_noise_of_its_own(seed):
    from elbowroom.cell import Noisy, Walk

    def errors(seed):
        return Noisy(Walk((2.0, 0.0), (1.0, 0.0), 0.3), 1.0, seed).error(0.25)

    assert np.array_equal(errors(seed), errors(seed))
    assert not any(np.array_equal(errors(seed), errors(seed + other)) for other in (1, 2**32, 2**52))
