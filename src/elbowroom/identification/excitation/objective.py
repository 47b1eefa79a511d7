"""How much of an arm's parameters a motion shows, with penalties for what is beyond limits: value and gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dynamics
from ...algebra import Program
from ...arm import Arm
from ...avoidance.safety.limits import Bounds
from ...compile import compiled
from ...dynamics.identifiable import BaseParameters
from ...model import Model
from ..measurements import Array
from .fourier import Series
from .limits import INSIDE, Clearance


class Objective:
    """Objective (1) of an arm: columns, weights, limits and clearances at the samples."""

    def __init__(
        self, arm: Arm, base: BaseParameters, at: Series, fine: Series, bounds: Bounds, clear: Clearance
    ) -> None:
        self.arm, self.base, self.at, self.fine, self.bounds, self.clear = arm, base, at, fine, bounds, clear
        self.weights = 1.0 / torque_sizes(arm)
        self.vjp = compiled(_vjp_program, arm.model)
        self.evaluations = 0

    def columns(self, motion: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """W (M, n, k), weighted, and the regressor's part of it before the weights."""
        q, qd, qdd = motion
        Y = self.arm.regressor(q, qd, qdd)
        eye = np.eye(self.arm.n)
        W = np.concatenate([self.base.regressor(Y), qd[:, :, None] * eye, np.sign(qd)[:, :, None] * eye], axis=2)
        return W * self.weights[:, None], Y

    def worth(self, motion: tuple[Array, Array, Array]) -> tuple[float, float]:
        """log det(W^T W) / k per sample, and the condition number of W with columns of length 1."""
        W = self.columns(motion)[0]
        flat = W.reshape(-1, W.shape[2])
        length = np.linalg.norm(flat, axis=0)
        if not (length > 0.0).all():
            return -np.inf, np.inf
        w = np.linalg.eigvalsh((flat / length).T @ (flat / length))  # squares of the singular values
        if w[0] <= 1e-12 * w[-1]:
            return -np.inf, np.inf
        volume = float(2.0 * np.log(length).sum() + np.log(w).sum()) / W.shape[2] - float(np.log(len(W)))
        return volume, float(np.sqrt(w[-1] / w[0]))

    def __call__(self, x: Array, weight: float) -> tuple[float, Array]:
        """(1) and its gradient by the coefficients x."""
        self.evaluations += 1
        at, n = self.at, self.arm.n
        X = x.reshape(-1, n)
        motion = at.motion(X)
        W, _ = self.columns(motion)
        k, b = W.shape[2], len(self.base)
        flat = W.reshape(-1, k)
        G = flat.T @ flat
        scale = 1.0 / np.sqrt(np.diag(G))
        sign, logarithm = np.linalg.slogdet(G * scale * scale[:, None])
        if sign <= 0 or not np.isfinite(logarithm):
            return 1e10, np.zeros_like(x)
        value = -(logarithm - 2.0 * float(np.log(scale).sum())) / k
        inverse = np.linalg.inv(G * scale * scale[:, None]) * scale * scale[:, None]
        slope = (-2.0 / k) * (flat @ inverse).reshape(W.shape) * self.weights[:, None]
        Y_bar = np.zeros((len(W), n, len(self.base.parameters)))
        Y_bar[:, :, self.base.kept] = slope[:, :, :b]
        found: Any = self.vjp(*motion, Y_bar)
        q_bar, qd_bar, qdd_bar = found.q_bar, found.qd_bar.copy(), found.qdd_bar
        qd_bar += np.einsum("mjj->mj", slope[:, :, b : b + n])  # viscous; Coulomb has no slope
        excess, over = self.excess(motion)
        q_bar, qd_bar, qdd_bar = (bar + weight * more for bar, more in zip((q_bar, qd_bar, qdd_bar), over, strict=True))
        lack, by_q = self.clear.lack(self.fine.value @ X)
        gradient = at.value.T @ q_bar + at.rate.T @ qd_bar + at.second.T @ qdd_bar
        gradient += weight * (self.fine.value.T @ by_q)
        return value + weight * (excess + lack), gradient.ravel()

    def excess(self, motion: tuple[Array, Array, Array]) -> tuple[float, tuple[Array, Array, Array]]:
        """What is beyond the joints' limits, squared, and its slopes by q, qd and qdd."""
        bounds = self.bounds
        middle, half = 0.5 * (bounds.lower + bounds.upper), 0.5 * (bounds.upper - bounds.lower)
        total, slopes = 0.0, []
        for values, centre, size in (
            (motion[0], middle, half),
            (motion[1], 0.0, bounds.velocity),
            (motion[2], 0.0, bounds.acceleration),
        ):
            part = (values - centre) / (INSIDE * size)
            over = np.sign(part) * np.maximum(np.abs(part) - 1.0, 0.0)
            total += float((over**2).sum())
            slopes.append(2.0 * over / (INSIDE * size))
        if np.isfinite(bounds.effort).any():
            part = self.arm.inverse_dynamics(*motion) / (INSIDE * bounds.effort)
            over = np.sign(part) * np.maximum(np.abs(part) - 1.0, 0.0)
            some = np.flatnonzero(over.any(axis=1))
            total += float((over**2).sum())
            if len(some):
                turned = self.arm.inverse_dynamics_derivatives(*(values[some] for values in motion))
                weight = 2.0 * over[some] / (INSIDE * bounds.effort)
                for slope, by in zip(slopes, (turned.dtau_dq, turned.dtau_dqd, turned.dtau_dqdd), strict=True):
                    slope[some] += np.einsum("mi,mij->mj", weight, by)
        return total, (slopes[0], slopes[1], slopes[2])


def torque_sizes(arm: Arm) -> Array:
    """(n,) the torque limits, or where there are none the torques of slow motions: what noise is proportional to."""
    rng = np.random.default_rng(0)
    q = rng.uniform(*arm.model.sampling_range(), (200, arm.n))
    qd, qdd = rng.uniform(-1, 1, (2, 200, arm.n))
    rms = np.sqrt((arm.inverse_dynamics(q, qd, qdd) ** 2).mean(axis=0))
    rms = np.maximum(rms, 1e-3 * max(float(rms.max()), 1e-9))
    return np.where(np.isfinite(arm.model.effort) & (arm.model.effort > 0.0), arm.model.effort, rms)


def _vjp_program(model: Model) -> Program:
    return dynamics.program(model, "regressor", "axes").vjp("q", "qd", "qdd")
