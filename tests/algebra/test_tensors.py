"""Three ways to turn a symmetric tensor: one answer, and exactly the published numbers of operations."""

from __future__ import annotations

import numpy as np
import pytest

from elbowroom.algebra import trace
from elbowroom.algebra.linalg import (
    PrincipalForm,
    principal_form,
    rotate_featherstone,
    rotate_naive,
    rotate_principal,
    symmetric,
)
from referees import rotation

SIX = {"xx": (), "yy": (), "zz": (), "xy": (), "yz": (), "xz": ()}


def naive(_, R, **six):
    return rotate_naive(R, symmetric(**six))


def featherstone(_, R, **six):
    return rotate_featherstone(R, symmetric(**six))


def principal(_, R, lambda3, total, Q):
    return rotate_principal(R, PrincipalForm(lambda3, total, Q))


PROGRAMS = {
    "naive": (naive, SIX, (54, 36)),
    "featherstone": (featherstone, SIX, (28, 29)),
    "principal": (principal, {"lambda3": (), "total": (), "Q": (3, 2)}, (28, 21)),
}


@pytest.mark.parametrize("way", PROGRAMS)
def test_the_published_counts_exactly(way):
    """R and the tensor (or its offline form) symbols; what is shared by hash-consing would show as fewer."""
    function, inputs, published = PROGRAMS[way]
    count = trace(function, None, {"R": (3, 3), **inputs}).count
    assert (count.mul, count.add) == published
    assert count.div == count.sqrt == count.other == 0


def tensors(rng):
    """Positive, indefinite, with two and with three equal moments, diagonal, and zero."""
    for _ in range(10):
        A = rng.normal(size=(3, 3))
        yield A + A.T
    Q = rotation(rng)
    yield Q @ np.diag([2.0, 2.0, 5.0]) @ Q.T
    yield Q @ np.diag([2.0, 5.0, 5.0]) @ Q.T
    yield 3.0 * np.eye(3)
    yield np.diag([1.0, 2.0, 3.0])
    yield np.zeros((3, 3))


def test_one_answer():
    rng = np.random.default_rng(0)
    for tensor in tensors(rng):
        tensor = (tensor + tensor.T) / 2
        for R in (rotation(rng), np.eye(3)):
            expected = np.einsum("ia,ab,jb->ij", R, tensor, R)
            for ours in (
                rotate_naive(R, tensor),
                rotate_featherstone(R, tensor),
                rotate_principal(R, principal_form(tensor)),
            ):
                # Some fifty operations on entries of the tensor's size; eigh is exact to a few units in the last place.
                assert np.abs(ours - expected).max() <= 1e-14 * max(np.abs(tensor).max(), 1e-300)


def test_traced_programs_agree_on_a_batch():
    rng = np.random.default_rng(1)
    R = np.array([rotation(rng) for _ in range(8)])
    S = rng.normal(size=(8, 3, 3))
    S = S + S.swapaxes(1, 2)
    expected = R @ S @ R.swapaxes(1, 2)
    six = {
        "xx": S[:, 0, 0], "yy": S[:, 1, 1], "zz": S[:, 2, 2], "xy": S[:, 0, 1], "yz": S[:, 1, 2], "xz": S[:, 0, 2]
    }  # fmt: skip
    for way in ("naive", "featherstone"):
        function, inputs, _ = PROGRAMS[way]
        W = trace(function, None, {"R": (3, 3), **inputs}).evaluate(R=R, **six)
        assert np.abs(W - expected).max() < 1e-13  # entries up to 5, fifty operations
    forms = [principal_form(s) for s in S]
    W = trace(principal, None, {"R": (3, 3), **PROGRAMS["principal"][1]}).evaluate(
        R=R, lambda3=[f.lambda3 for f in forms], total=[f.trace for f in forms], Q=[f.Q for f in forms]
    )
    assert np.abs(W - expected).max() < 1e-13


def test_the_offline_form_rebuilds_the_tensor():
    """I = lambda3 1 + Q Q^T (2.62) with lambda3 the least moment."""
    rng = np.random.default_rng(2)
    for tensor in tensors(rng):
        form = principal_form(tensor)
        assert form.Q.shape == (3, 2)
        scale = max(np.abs(tensor).max(), 1e-300)
        assert np.abs(form.lambda3 * np.eye(3) + form.Q @ form.Q.T - tensor).max() <= 1e-14 * scale
        assert abs(form.trace - np.trace(tensor)) <= 1e-14 * scale
        assert form.lambda3 <= np.linalg.eigvalsh(tensor).min() + 1e-14 * scale


def test_the_misprint_of_2_67():
    """As printed, w33 = trace - w22 - w33: the right side cannot hold unless w11 = w33."""
    rng = np.random.default_rng(3)
    tensor, R = np.diag([1.0, 2.0, 4.0]), rotation(rng)
    W = rotate_naive(R, tensor)
    assert abs(W[2, 2] - (np.trace(tensor) - W[0, 0] - W[1, 1])) < 1e-14
    assert abs(W[2, 2] - (np.trace(tensor) - W[1, 1] - W[2, 2])) > 0.1
