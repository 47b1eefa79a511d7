"""Which drawn parameters matter: rank correlations (Spearman) with the least distance and with the goals, by law.

A parameter and an outcome of n runs are replaced by their ranks (ties share the mean of theirs), and correlated.  The
bounds at 95 % are the bootstrap's: `DRAWS` times as many scenes are drawn anew, each with all its runs, which keep
their ranks.  What is not monotone is not seen; a parameter of words has no rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...bench.encounters.run import LEVEL, Interval
from ..runs import Rows

Array = NDArray[np.float64]
DRAWS = 1000
CHUNK = 50  # draws at a time: as much memory as CHUNK numbers for every scene
OUTCOMES = ("least", "goals")
FEWEST = 10  # runs
FLAT = 1e-15  # of ranks from -1 to 1: where a variance is rounding, nothing changes


@dataclass(frozen=True)
class Correlation:
    """Of a parameter with an outcome under a law."""

    law: str
    parameter: str
    outcome: str
    rank: Interval

    @property
    def clear(self) -> bool:
        """Whether 0 is outside its bounds."""
        return self.rank.low > 0.0 or self.rank.high < 0.0


def correlations(sample: Rows, laws: Sequence[str], parameters: Sequence[str], paired: int) -> list[Correlation]:
    """Of each parameter with each outcome, law by law; NaN where either never changes.

    `sample` has the parameters, the outcomes, `run` and `law`; `paired` runs share a scene.
    """
    found: list[Correlation] = []
    if not parameters or not len(sample):
        return found
    _, scene = np.unique(sample["run"] // paired, return_inverse=True)
    shown, sums = list[str](), list[Array]()
    for k, law in enumerate(laws):
        mine = sample["law"] == k
        if np.count_nonzero(mine) >= FEWEST:
            x, y = (
                np.stack([ranks(sample[name][mine].astype(float)) for name in names], axis=1)
                for names in (parameters, OUTCOMES)
            )
            shown.append(law)
            sums.append(_sums(x, y, scene[mine], int(scene.max()) + 1))
    if not shown:
        return found
    value, low, high = _bounded(np.stack(sums), len(parameters))
    for k, law in enumerate(shown):
        for i, parameter in enumerate(parameters):
            for j, outcome in enumerate(OUTCOMES):
                rank = Interval(*(float(each[k, i, j]) for each in (value, low, high)))
                found.append(Correlation(law, parameter, outcome, rank))
    return found


def ranks(values: Array) -> Array:
    """From 0 to 1 in order, equal values sharing the mean of their ranks, less the mean of all."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    mean = np.cumsum(counts) - 0.5 * (counts + 1)
    found: Array = mean[inverse] / max(len(values) - 1, 1)
    return found - found.mean()


def _sums(x: Array, y: Array, scene: NDArray[np.int64], scenes: int) -> Array:
    """(scenes, terms): of the rows of each scene the sums of 1, x, y, x^2, y^2 and x y, x being (n, P) and y (n, O)."""
    products = (x[:, :, None] * y[:, None]).reshape(len(x), -1)
    terms = np.concatenate([np.ones((len(x), 1)), x, y, x**2, y**2, products], axis=1)
    return np.stack([np.bincount(scene, column, scenes) for column in terms.T], axis=1)


def _bounded(sums: Array, parameters: int) -> tuple[Array, Array, Array]:
    """(L, P, O) correlations from sums (L, scenes, terms), and their bounds."""
    random, scenes = np.random.default_rng(0), sums.shape[1]
    value = _correlations(sums.sum(axis=1), parameters)
    drawn = []
    for _ in range(DRAWS // CHUNK):
        weights = [np.bincount(random.integers(scenes, size=scenes), minlength=scenes) for _ in range(CHUNK)]
        drawn.append(_correlations(np.array(weights, dtype=float) @ sums, parameters))  # (L, CHUNK, ...)
    known = np.isfinite(value)
    every = np.where(known[:, None], np.concatenate(drawn, axis=1), 0.0)
    low, high = np.nanquantile(every, [(1.0 - LEVEL) / 2, (1.0 + LEVEL) / 2], axis=1)
    return value, np.where(known, low, np.nan), np.where(known, high, np.nan)


def _correlations(sums: Array, p: int) -> Array:
    """(..., P, O) from sums (..., terms)."""
    o = len(OUTCOMES)
    n, *rest = np.split(sums, np.cumsum([1, p, o, p, o]), axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mx, my, xx, yy, xy = (each / n for each in rest)
        both = xy.reshape(*xy.shape[:-1], p, o) - mx[..., :, None] * my[..., None, :]
        spread = (xx - mx**2)[..., :, None] * (yy - my**2)[..., None, :]
        found: Array = both / np.sqrt(np.where(spread > FLAT, spread, np.nan))
    return found
