"""Hypothesis strategies: robots of every awkward shape, and states for them."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from elbowroom.model import Model, from_mdh
from referees import physical_tensor, placement


def examples(number: int) -> settings:
    """So many examples instead of the hundred that a test has without; `make test` takes a quarter of either."""
    return settings(max_examples=max(2, number * settings().max_examples // 100))


RIGHT_ANGLES = (0.0, math.pi / 2, -math.pi / 2, math.pi)


def _angle():
    return st.sampled_from(RIGHT_ANGLES) | st.floats(-math.pi, math.pi)


def _length():
    return st.just(0.0) | st.floats(-0.8, 0.8)


@st.composite
def robots(draw, max_joints: int = 5) -> Model:
    """Modified DH with zero offsets, right-angle twists, slides, rotors, friction, base and tool poses, any gravity."""
    n = draw(st.integers(1, max_joints))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def column(of):
        return np.array(draw(st.lists(of, min_size=n, max_size=n)))

    mass = rng.uniform(0.5, 5, n)
    com = rng.uniform(-0.3, 0.3, (n, 3)) * rng.integers(0, 2, (n, 3))  # half of them on an axis or a plane
    gravity = draw(st.sampled_from([(0, 0, -9.81), (0, 0, 0), (9.81, 0, 0), (1.0, -2.0, 3.0)]))
    return from_mdh(
        a=column(_length()),
        alpha=column(_angle()),
        d=column(_length()),
        theta=column(_angle()),
        mass=mass,
        com=com,
        inertia=np.array([physical_tensor(rng, m) for m in mass]),
        kinds="".join(draw(st.lists(st.sampled_from("RRP"), min_size=n, max_size=n))),
        rotor_inertia=rng.uniform(0, 0.5, n) if draw(st.booleans()) else None,
        viscous=rng.uniform(0, 1, n) if draw(st.booleans()) else None,
        coulomb=rng.uniform(0, 1, n) if draw(st.booleans()) else None,
        base=placement(rng) if draw(st.booleans()) else None,
        tool=placement(rng) if draw(st.booleans()) else None,
        gravity=gravity,
        name="drawn",
    )
