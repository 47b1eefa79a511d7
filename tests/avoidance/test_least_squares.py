"""Velocities to joints: damped least squares (3.49), Jacobian transpose (3.51)-(3.54), and the measure of openness."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifting import ROUNDING

import elbowroom as er
from elbowroom.avoidance.control.least_squares import damped, null_space, openness, resolved, transposed
from elbowroom.compile import compiled

seeds = st.integers(0, 2**32 - 1)
shapes = st.tuples(st.sampled_from([3, 6]), st.integers(1, 8))


def drawn(seed, shape, rank=None):
    """A Jacobian of order one, of full rank or less, and a velocity."""
    rng = np.random.default_rng(seed)
    J = rng.standard_normal(shape)
    if rank is not None:
        J = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    return J, rng.standard_normal(shape[0])


def as_float(x):
    return np.asarray(x, dtype=float)


@given(seeds, shapes, st.floats(0.01, 1.0))
def test_damped_least_squares_minimises_what_it_says(seed, shape, damping):
    """(3.49) is the minimum of |J x - v|^2 + lambda^2 |x|^2: its gradient there is zero."""
    J, v = drawn(seed, shape)
    x = as_float(damped(J, v, damping))
    gradient = J.T @ (J @ x - v) + damping**2 * x
    # the solution is right to 1e-16 times the condition of the Gram matrix, at most |J|^2 / lambda^2 = 1e6 here
    assert np.abs(gradient).max() < 1e-9 * max(1.0, float(np.linalg.norm(J)) ** 2)


@given(seeds, shapes, st.floats(0.01, 1.0))
def test_with_weights_the_least_squares_are_of_weighted_joints(seed, shape, damping):
    """The minimum of |J x - v|^2 + lambda^2 |D^-1 x|^2: its gradient there, times D, is zero."""
    J, v = drawn(seed, shape)
    d = np.random.default_rng(seed + 1).uniform(0.05, 1.0, shape[1])
    x = as_float(damped(J, v, damping, d))
    gradient = d * (J.T @ (J @ x - v)) + damping**2 * x / d
    assert np.abs(gradient).max() < 1e-9 * max(1.0, float(np.linalg.norm(J)) ** 2)  # as without weights
    b = as_float(transposed(J, v, 0.0, d))
    np.testing.assert_allclose(b, d * as_float(transposed(J * d, v, 0.0)), rtol=1e-12, atol=0)


@given(seeds, st.tuples(st.just(3), st.integers(4, 8)))
def test_a_task_does_not_feel_the_weighted_null_space_either(seed, shape):
    J, x = drawn(seed, shape)[0], np.random.default_rng(seed + 1).standard_normal(shape[1])
    d = np.random.default_rng(seed + 2).uniform(0.1, 1.0, shape[1])
    if np.linalg.svd(J * d)[1].min() < 0.01:
        return
    # eps^2 / (sigma^2 + eps^2) <= 1e-4 of J x is left
    assert np.linalg.norm(J @ as_float(null_space(J, x, d))) <= 2e-4 * np.linalg.norm(J @ x) + 1e-9


@given(seeds, st.tuples(st.just(3), st.integers(3, 8)))
def test_with_little_damping_it_is_the_pseudo_inverse(seed, shape):
    J, v = drawn(seed, shape)
    least = np.linalg.svd(J)[1].min()
    if least < 0.1:
        return
    found = as_float(damped(J, v, 1e-5))
    # J^T (J J^T + lambda^2)^-1 differs from the pseudo-inverse by lambda^2 / sigma^3, 1e-7 here at most
    np.testing.assert_allclose(found, np.linalg.pinv(J) @ v, rtol=0, atol=2e-7 * np.linalg.norm(v))


@given(seeds, shapes, st.integers(0, 2), st.floats(0.01, 1.0))
def test_damping_bounds_the_answer_at_every_rank(seed, shape, rank, damping):
    """No direction is amplified by more than 1 / (2 lambda)."""
    J, v = drawn(seed, shape, rank)
    x = as_float(damped(J, v, damping))
    assert np.isfinite(x).all()
    assert np.linalg.norm(x) <= np.linalg.norm(v) / (2 * damping) * (1 + 1e-9)


def test_a_jacobian_of_zeros_moves_nothing():
    J, v = np.zeros((3, 4)), np.ones(3)
    assert np.array_equal(as_float(damped(J, v, 0.05)), np.zeros(4))
    assert np.array_equal(as_float(transposed(J, v, 0.0)), np.zeros(4))


def test_a_velocity_that_no_joint_can_give_moves_nothing():
    J = np.array([[1.0, 0.5], [0.0, 0.0], [0.2, -1.0]])
    v = np.array([0.0, 1.0, 0.0])
    assert np.array_equal(as_float(transposed(J, v, 0.0)), np.zeros(2))
    assert np.array_equal(as_float(damped(J, v, 0.05)), np.zeros(2))


@given(seeds, shapes, st.floats(-2.0, 2.0))
def test_alpha_is_the_best_step(seed, shape, other):
    """(3.54): of all alpha, |v - alpha J J^T v| is least."""
    J, v = drawn(seed, shape)
    x = as_float(transposed(J, v, 0.0))
    best = np.linalg.norm(v - J @ x)
    assert best <= np.linalg.norm(v - other * (J @ J.T @ v)) + 1e-12 * np.linalg.norm(v)
    assert abs((v - J @ x) @ (J @ J.T @ v)) < 1e-9 * float(np.linalg.norm(J)) ** 2 * float(v @ v)


@given(seeds, shapes)
def test_the_three_ways_to_print_alpha_agree(seed, shape):
    """(3.52) and (3.53)-(3.54)."""
    J, v = drawn(seed, shape)
    G = J @ J.T
    alpha = (v @ G @ v) / (v @ G @ G @ v)
    np.testing.assert_allclose(as_float(transposed(J, v, 0.0)), alpha * J.T @ v, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("lever", [1e-1, 1e-2, 1e-3, 1e-6])
@pytest.mark.parametrize("method", ["dls", "transpose"])
def test_a_point_near_the_joint_axis_does_not_whirl_the_joint(method, lever):
    """One joint, a point `lever` from its axis, asked for 1 m/s: both methods must stay bounded as lever goes to 0.

    The bound is that of damped least squares, 1 / (2 lambda) = 10 rad/s for the default damping of 0.05 m.
    """
    J = np.array([[lever], [0.0], [0.0]])
    x = as_float(resolved(method, J, np.array([1.0, 0.0, 0.0]), 0.05))
    assert np.abs(x).max() <= 10.0 * (1 + 1e-12)


@given(seeds, shapes, st.integers(0, 2) | st.none())
def test_what_a_task_does_not_feel(seed, shape, rank):
    """N x gives the task next to nothing, is not longer than x, and takes nothing from what was free already."""
    J, _ = drawn(seed, shape, rank)
    x = np.random.default_rng(seed + 1).standard_normal(shape[1])
    free = as_float(null_space(J, x))
    # eps^2 / (sigma^2 + eps^2) sigma <= eps / 2 of each singular direction, and rounding of 1e-16 / eps^2
    assert np.linalg.norm(J @ free) <= (1e-4 + 1e-7 * np.linalg.norm(J)) * np.linalg.norm(x)
    assert np.linalg.norm(free) <= np.linalg.norm(x) * (1 + 1e-6)
    again = as_float(null_space(J, free))
    assert np.linalg.norm(again - free) <= 1e-3 * np.linalg.norm(x) or np.linalg.svd(J)[1].min() < 1e-2


@given(seeds, st.integers(3, 8), st.floats(0.01, 0.5))
def test_openness_is_between_none_and_all(seed, n, damping):
    J, _ = drawn(seed, (3, n))
    sigma = np.linalg.svd(J)[1]
    expected = np.prod(sigma**2 / (sigma**2 + damping**2))
    # relative to the determinant's terms, of order |J|^6
    assert abs(float(openness(J, damping)) - expected) < 1e-9
    assert float(openness(J, damping)) <= (sigma.min() ** 2 / (sigma.min() ** 2 + damping**2)) + 1e-9


def test_openness_is_zero_at_a_singularity():
    J = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.3, -1.0, 1.0]])
    assert abs(float(openness(J, 0.05))) < 1e-15


@pytest.mark.parametrize("method", ["dls", "transpose"])
@pytest.mark.parametrize("rank", [None, 1])
def test_compiled_as_on_floats(method, rank):
    J, v = drawn(3, (3, 5), rank)

    def formula(_, J, v, damping):
        return resolved(method, J, v, damping[0])

    program = er.trace(formula, None, {"J": (3, 5), "v": (3,), "damping": (1,)})
    kernel = compiled(program)
    np.testing.assert_allclose(kernel(J, v, np.array([0.05])), as_float(resolved(method, J, v, 0.05)), **ROUNDING)
