"""How the spatial operators change in time, and the Coriolis terms of the diagonal equations made of that.

Operators, numbering (from the tip) and equation numbers as in `operators`.  Each rate stands as Table 1 prints it, with
the slips that `operators` lists set right, and is held against a finite difference by the tests.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import Scalar
from ..algebra.linalg import Array, settled, zeros
from .operators import Operators, block, tilde, unit_factor_inverse


class Rates(NamedTuple):
    """Time derivatives of the operators (Table 1, and of P)."""

    E_Phi: Array
    Phi: Array
    H: Array
    M: Array
    P: Array
    D: Array
    G: Array
    tau_bar: Array
    E_Psi: Array


def local_rates(o: Operators) -> Rates:
    """How the operators change as each frame sees its own (Table 1, left): rows of link k in frame k, columns too."""
    P = _local_inertia_rate(o)
    E_Phi = o.E_Phi @ o.Omega_delta
    G = o.tau_bar @ P @ o.H.T @ o.D_inverse
    return Rates(
        E_Phi=E_Phi,
        Phi=o.Phi @ E_Phi @ o.Phi,
        H=np.zeros(o.H.shape),
        M=np.zeros(o.M.shape),
        P=P,
        D=o.H @ P @ o.H.T,
        G=G,
        tau_bar=-G @ o.H,
        E_Psi=o.E_Psi @ (o.Omega_delta @ o.tau_bar - P @ o.H.T @ o.D_inverse @ o.H),
    )


def inertial_rates(o: Operators) -> Rates:
    """How the operators change as the world sees them (Table 1, right)."""
    local = local_rates(o)

    def turning(A: Array) -> Array:
        return o.Omega @ A - A @ o.Omega

    return Rates(
        E_Phi=local.E_Phi + turning(o.E_Phi),
        Phi=local.Phi + o.Phi @ turning(o.E_Phi) @ o.Phi,
        H=-o.H @ o.Omega,
        M=turning(o.M),
        P=local.P + turning(o.P),
        D=local.D,
        G=local.G + o.Omega @ o.G,
        tau_bar=local.tau_bar + turning(o.tau_bar),
        E_Psi=local.E_Psi + turning(o.E_Psi),
    )


def _local_inertia_rate(o: Operators) -> Array:
    """Pdot = E_Psi (Pdot + X + X*) E_Psi*, (16), which is E_Psi lambda E_Psi*, (20)."""
    return o.E_Psi @ o.lam @ o.E_Psi.T


def mass_factor_rate(o: Operators) -> Array:
    """mdot = H Phi [Omega_delta Phi P + (1 + taubar) Pdot / 2] H* D^-1/2, (29)."""
    half = 0.5 * (np.eye(6 * o.N) + o.tau_bar)
    inner = o.Omega_delta @ o.Phi @ o.P + half @ _local_inertia_rate(o)
    return o.H @ o.Phi @ inner @ o.H.T @ o.D_root_inverse


def mass_factor_rate_by_lambda(o: Operators) -> Array:
    """mdot = H Phi [Omega_delta Phi~ P + (1 + taubar) lambda / 2] H* D^-1/2, (30)."""
    half = 0.5 * (np.eye(6 * o.N) + o.tau_bar)
    return o.H @ o.Phi @ (o.Omega_delta @ tilde(o.Phi) @ o.P + half @ o.lam) @ o.H.T @ o.D_root_inverse


def mass_factor_rate_times_nu(o: Operators) -> Array:
    """mdot nu = H Phi [Omega_delta Phi K H P + (X + X*) / 2 + (E_Psi lambda - lambda E_Psi*) / 2] V (N,), (31)."""
    inner = o.Omega_delta @ o.Phi @ o.K @ o.H @ o.P + 0.5 * (o.X + o.X.T) + 0.5 * _lambda_bracket(o)
    return o.H @ o.Phi @ (inner @ o.V)


def energy_gradient(o: Operators) -> Array:
    """thetad* M_theta thetad (N,), twice the gradient of the kinetic energy over theta, (32)."""
    once = np.eye(6 * o.N) + o.Phi @ o.K @ o.H
    return 2.0 * (o.H @ o.Phi @ ((o.Omega_delta @ once @ o.P - o.V_cross @ o.M) @ o.V))


def xi_rate(o: Operators, theta_ddot: Array) -> Array:
    """xidot = D^-1 H lambda taubar* V + D^-1 H P Phi~* Omega_delta* V + G* Phi* H* thetadd (N,), (36); tip first."""
    bias = o.lam @ o.tau_bar.T @ o.V + o.P @ tilde(o.Phi).T @ o.a
    return o.D_inverse @ o.H @ bias + o.G.T @ o.Phi.T @ o.H.T @ theta_ddot


def _lambda_bracket(o: Operators) -> Array:
    """The bracket of (31) and (42): E_Psi lambda - lambda E_Psi*, which is skew (and no commutator)."""
    return o.E_Psi @ o.lam - o.lam @ o.E_Psi.T


# ---- the Coriolis term of the diagonal equations, from the tip


def coriolis(o: Operators, *, normalized: bool = True) -> Array:
    """C(theta, nu) (N,) by (42), or C(theta, xi) by (45), with V x M V replaced by b: gravity and wrenches included."""
    if normalized:
        skewed = 0.5 * (_lambda_bracket(o) - o.X + o.X.T) @ o.V
        return o.D_root_inverse @ o.H @ o.Psi @ (skewed + o.b)
    return o.H @ o.Psi @ (o.lam @ o.H.T @ o.xi - o.X @ o.V + o.b)


def coriolis_from_rates(o: Operators) -> Array:
    """C(theta, nu) = m^-1 (mdot nu - thetad* M_theta thetad / 2) (N,), (41): without gravity and wrenches."""
    inverse = o.D_root_inverse @ unit_factor_inverse(o)
    return inverse @ (mass_factor_rate_times_nu(o) - 0.5 * energy_gradient(o))


def coriolis_elements(o: Operators, *, normalized: bool = True) -> Array:
    """The (N, N) matrix c with C(theta, nu) = c nu + D^-1/2 H Psi b, or the same of xi, element by element (48):

        c_ki = D(k)^-1/2 sum_{m<i} H(k) Psi(k, m) P(m) Omega_delta*(m) Psi*(i, m) H*(i) D(i)^-1/2,   c_ik = -c_ki

    for k > i (from the tip).  The normalized c is skew; the other one lacks the roots and has half of D's rate on its
    diagonal, which is the same sum for k = i.
    """
    N = o.N
    scale = np.diag(o.D_root_inverse) if normalized else np.ones(N)
    c = zeros(N, N)
    for i in range(N):
        for k in range(i if not normalized else i + 1, N):
            total: Scalar = 0.0
            for m in range(i):
                seen = block(o.Psi, i, m).T @ o.H[i, 6 * i : 6 * i + 6]
                pushed = block(o.P, m, m) @ (block(o.Omega_delta, m, m).T @ seen)
                total = total + o.H[k, 6 * k : 6 * k + 6] @ (block(o.Psi, k, m) @ pushed)
            c[k, i] = scale[k] * total * scale[i]
            if k > i:
                c[i, k] = -c[k, i]
    return settled(c)
