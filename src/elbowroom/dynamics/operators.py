"""The spatial operators of a chain, the factorisations of its mass matrix, and inverse dynamics through them.

After Kozlowski (1995), who follows Jain and Rodriguez (1994); equation numbers are his.  Links are numbered FROM THE
TIP: his link k = 1..N is our link N - k.  Everything named `Operators` is in his order and in world axes, written free
of coordinates; whatever takes a model and q takes and returns our order, base first.  A spatial vector is (angular,
linear) at the link frame's origin O_k, a spatial force (moment, force) about it.

    phi(k, k-1) = [[1, l~], [0, 1]]      l from O_k to O_{k-1}: forces come inwards by phi, motions go outwards by phi*
    E_Phi, E_Psi                         blocks phi(k, k-1), phi(k, k-1) taubar(k-1) below the diagonal
    Phi = (1 - E_Phi)^-1,  Psi = (1 - E_Psi)^-1,  ~ of either: less the identity
    V = Phi* H* thetad                   H(k) = (h, 0) for a joint that turns about h, (0, h) for one that slides
    P = E_Phi taubar P taubar* E_Phi* + M     (12)   articulated inertia
    D = H P H*,  G = P H* D^-1,  taubar = 1 - G H,  K = E_Phi G
    Omega = diag [[w~, 0], [0, w~]]           (2)    turning of each frame
    Omega_delta = [[h~, 0], [0, h~]] thetad   (4)    of each frame against the next, if the joint turns
                = [[0, h~], [0, 0]] thetad           if it slides: the frame does not turn, its arm phi grows
    lambda = E_Psi lambda E_Psi* + X + X*     (21)   rate of P seen from the next frame inboard, X = Omega_delta P
    a = Omega_delta* V                               bias acceleration
    b = (V x) M V - M (0, gravity) - outside forces  bias force, V x = [[w~, v~], [0, w~]]  (33)

For a joint that turns, Omega_delta is skew and X + X* is the paper's commutator [Omega_delta, P]; written with the
star, every equation here holds for both kinds of joint.  H Omega_delta = 0 for both, which is what the cancellations
rest on.

    M = H Phi M Phi* H*                       (22)   the mass matrix (left) from the links' inertias (right)
      = (1 + H Phi K) D (1 + H Phi K)*        (23)   (1 + H Phi K)^-1 = 1 - H Psi K (24)
    M^-1 = (1 - H Psi K)* D^-1 (1 - H Psi K)  (25)
    M = m m*,  m = (1 + H Phi K) D^1/2        (26)
    tau = M thetadd + H Phi (M Phi* a + b)    (38)

(38) as a two-point boundary-value problem is O(n): alpha = Phi* (H* thetadd + a) from the base outwards, the forces
f = Phi (M alpha + b) from the tip inwards, tau = H f.  That is `inverse_dynamics`; it differs from Newton-Euler by
carrying the velocity v of every frame and the rate of v in the frame itself, not the acceleration.

How the operators change in time, and the Coriolis terms made of that, are in `operator_rates`.

Misprints of the paper that matter here and there: `l(k, k-1)` must run from O_k to O_{k-1}; the force row of b starts
with m w x v; Table 1 row 1 ends at E_Phi Omega_delta; (16) has a dot on the inner P; `[E_Psi, lambda]` of (31), (42)
and (47) is E_Psi lambda - lambda E_Psi*; (36) has lambda for the rate of P; (48) has P Omega_delta* for P Omega_delta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..algebra import Scalar, cross, sqrt
from ..algebra.linalg import Array, settled, skew, vector, zeros
from ..model import Model
from .kinematics import Joints, Z, forward_kinematics, link_wrench, velocities

Spatial = tuple[Array, Array]
"""Angular and linear part, or moment and force, in a link's own axes."""


@dataclass(frozen=True)
class Operators:
    """The operators at one state, N links from the tip."""

    E_Phi: Array  # (6N, 6N)
    Phi: Array  # (6N, 6N)
    H: Array  # (N, 6N)
    M: Array  # (6N, 6N), block diagonal
    P: Array  # (6N, 6N), block diagonal
    D: Array  # (N, N), diagonal
    G: Array  # (6N, N)
    tau_bar: Array  # (6N, 6N), block diagonal
    E_Psi: Array  # (6N, 6N)
    Psi: Array  # (6N, 6N)
    K: Array  # (6N, N)
    V: Array  # (6N,)
    V_cross: Array  # (6N, 6N), block diagonal
    Omega: Array  # (6N, 6N), block diagonal
    Omega_delta: Array  # (6N, 6N), block diagonal
    lam: Array  # (6N, 6N), block diagonal
    a: Array  # (6N,)
    b: Array  # (6N,)
    theta_dot: Array  # (N,)

    @property
    def N(self) -> int:
        """How many joints."""
        return len(self.theta_dot)

    @property
    def X(self) -> Array:
        """Omega_delta P."""
        return self.Omega_delta @ self.P

    @property
    def D_root(self) -> Array:
        """D^1/2 (N, N)."""
        return _diagonal([sqrt(d) for d in np.diag(self.D)])

    @property
    def D_inverse(self) -> Array:
        """D^-1 (N, N)."""
        return _diagonal([1.0 / d for d in np.diag(self.D)])

    @property
    def D_root_inverse(self) -> Array:
        """D^-1/2 (N, N)."""
        return _diagonal([1.0 / sqrt(d) for d in np.diag(self.D)])

    @property
    def xi(self) -> Array:
        """(1 + H Phi K)* thetad (N,), (34)."""
        return unit_factor(self).T @ self.theta_dot

    @property
    def nu(self) -> Array:
        """D^1/2 xi (N,), (28)."""
        return self.D_root @ self.xi


class TorqueTerms(NamedTuple):
    """(39): what link or joint j adds to the torque of joint k; row k summed over all three is tau_k.  Base first."""

    acceleration: Array  # (n, n): M_kj thetadd_j
    bias_acceleration: Array  # (n, n): of a(j)
    bias_force: Array  # (n, n): of b(j), no part for a link j inboard of k


# ---- building them


def spatial_operators(
    model: Model, q: Array, qd: Array, wrench: Array | None = None, *, gravity: bool = True
) -> Operators:
    """The operators at (q, qd); outside wrenches (as everywhere) and, unless left out, gravity enter b alone."""
    N = model.n
    order = range(N - 1, -1, -1)  # our numbers of his links 1..N
    frames = forward_kinematics(model, q)
    omega, v = velocities(model, frames, qd)
    identity = np.eye(6)

    phi: list[Array] = []  # phi(k+1, k): link i to link i-1
    H, M, turning, sweep, V, b = [], [], [], [], [], []
    for i in order:
        h, o = frames.z[i], np.zeros(3)
        revolute = model.revolute(i)
        H.append(vector(*h, *o) if revolute else vector(*o, *h))
        M.append(_rigid(model, i, frames.R[i]))
        turning.append(_blocks(skew(omega[i]), np.zeros((3, 3)), skew(omega[i])))
        h_cross = skew(h * qd[i])
        empty = np.zeros((3, 3))
        sweep.append(_blocks(h_cross, empty, h_cross) if revolute else _blocks(empty, h_cross, empty))
        V.append(vector(*omega[i], *v[i]))
        weight = M[-1] @ vector(*o, *model.gravity) if gravity else np.zeros(6)
        b.append(_crossing(V[-1]) @ (M[-1] @ V[-1]) - weight - _outside(model, i, frames.R[i], wrench))
        if i > 0:
            phi.append(_blocks(np.eye(3), skew(frames.p[i] - frames.p[i - 1]), np.eye(3)))

    P: list[Array] = []
    G: list[Array] = []
    tau_bar: list[Array] = []
    lam: list[Array] = []
    psi: list[Array] = []
    D: list[Any] = []
    for k in range(N):
        P.append(M[k])
        X = sweep[k] @ P[k]
        lam.append(X + X.T)
        if k > 0:
            P[k] = P[k] + psi[-1] @ P[k - 1] @ psi[-1].T  # (12)
            X = sweep[k] @ P[k]
            lam[k] = psi[-1] @ lam[k - 1] @ psi[-1].T + X + X.T  # (21)
        D.append(H[k] @ P[k] @ H[k])
        G.append(P[k] @ H[k] * (1.0 / D[k]))
        tau_bar.append(identity - np.outer(G[k], H[k]))
        if k < N - 1:
            psi.append(phi[k] @ tau_bar[k])

    E_Phi, E_Psi = _shift(phi, N), _shift(psi, N)
    G_, delta, V_ = _columns(G), block_diagonal(sweep), np.concatenate(V)
    return Operators(
        E_Phi=E_Phi,
        Phi=_transition(phi, N),
        H=_columns(H).T,
        M=block_diagonal(M),
        P=block_diagonal(P),
        D=_diagonal(D),
        G=G_,
        tau_bar=block_diagonal(tau_bar),
        E_Psi=E_Psi,
        Psi=_transition(psi, N),
        K=settled(E_Phi @ G_),
        V=V_,
        V_cross=block_diagonal([_crossing(x) for x in V]),
        Omega=block_diagonal(turning),
        Omega_delta=delta,
        lam=block_diagonal(lam),
        a=delta.T @ V_,
        b=np.concatenate(b),
        theta_dot=qd[::-1],
    )


def _blocks(upper: Array, corner: Array, lower: Array) -> Array:
    """[[upper, corner], [0, lower]]."""
    out = zeros(6, 6)
    out[:3, :3], out[:3, 3:], out[3:, 3:] = upper, corner, lower
    return settled(out)


def _rigid(model: Model, i: int, R: Array) -> Array:
    """M(k) (6, 6) of our link i in world axes."""
    mass, first, inertia, _ = model.moments[i]
    first, inertia = R @ first, R @ inertia @ R.T
    out = zeros(6, 6)
    out[:3, :3], out[:3, 3:], out[3:, :3], out[3:, 3:] = inertia, skew(first), -skew(first), mass * np.eye(3)
    return settled(out)


def _crossing(V: Array) -> Array:
    """V x (6, 6), (33)."""
    return _blocks(skew(V[:3]), skew(V[3:]), skew(V[:3]))


def _outside(model: Model, i: int, R: Array, wrench: Array | None) -> Array:
    """The spatial force (6,) from outside on link i, about its frame and in world axes."""
    if wrench is None:
        return np.zeros(6)
    force, moment, arm = link_wrench(model, i, wrench)
    return np.zeros(6) if force is None else vector(*(moment + cross(R @ arm, force)), *force)


def block_diagonal(blocks: list[Array]) -> Array:
    """The (6 N, 6 N) matrix with these (6, 6) blocks on its diagonal."""
    out = zeros(6 * len(blocks), 6 * len(blocks))
    for k, block in enumerate(blocks):
        out[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = block
    return settled(out)


def _columns(vectors: list[Array]) -> Array:
    """(6N, N) with spatial vector k in column k, rows 6k..6k+5."""
    out = zeros(6 * len(vectors), len(vectors))
    for k, x in enumerate(vectors):
        out[6 * k : 6 * k + 6, k] = x
    return settled(out)


def _diagonal(entries: list[Scalar]) -> Array:
    out = zeros(len(entries), len(entries))
    for k, x in enumerate(entries):
        out[k, k] = x
    return settled(out)


def _shift(steps: list[Array], N: int) -> Array:
    """E: block (k+1, k) is steps[k]."""
    out = zeros(6 * N, 6 * N)
    for k, step in enumerate(steps):
        out[6 * k + 6 : 6 * k + 12, 6 * k : 6 * k + 6] = step
    return settled(out)


def _transition(steps: list[Array], N: int) -> Array:
    """(1 - E)^-1: block (i, j) is the product of the steps from j up to i."""
    out = zeros(6 * N, 6 * N)
    for j in range(N):
        block = np.eye(6)
        out[6 * j : 6 * j + 6, 6 * j : 6 * j + 6] = block
        for i in range(j + 1, N):
            block = steps[i - 1] @ block
            out[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = block
    return settled(out)


def tilde(operator: Array) -> Array:
    """Phi~ or Psi~: less the identity."""
    return operator - np.eye(len(operator))


def block(operator: Array, k: int, j: int) -> Array:
    """Block (k, j) (6, 6), from zero."""
    return operator[6 * k : 6 * k + 6, 6 * j : 6 * j + 6]


# ---- factorisations, all (N, N) and from the tip


def mass_matrix(o: Operators) -> Array:
    """H Phi M Phi* H*, (22)."""
    return o.H @ o.Phi @ o.M @ o.Phi.T @ o.H.T


def unit_factor(o: Operators) -> Array:
    """1 + H Phi K, unit lower triangular; the mass matrix is this times D times its transpose, (23)."""
    return np.eye(o.N) + o.H @ o.Phi @ o.K


def unit_factor_inverse(o: Operators) -> Array:
    """1 - H Psi K, (24)."""
    return np.eye(o.N) - o.H @ o.Psi @ o.K


def mass_matrix_inverse(o: Operators) -> Array:
    """(1 - H Psi K)* D^-1 (1 - H Psi K), (25)."""
    inverse = unit_factor_inverse(o)
    return inverse.T @ o.D_inverse @ inverse


def mass_factor(o: Operators) -> Array:
    """m = (1 + H Phi K) D^1/2, the mass matrix being m m*, (26)."""
    return unit_factor(o) @ o.D_root


# ---- inverse dynamics, base first


def inverse_dynamics(model: Model, q: Array, qd: Array, qdd: Array, wrench: Array | None = None) -> Array:
    """tau (n,) by (38) in O(n): alpha outwards, f inwards, in link frames; gravity is an acceleration of the base."""
    joints = Joints(model, q)
    outside = outside_forces(model, q, wrench)
    V: Spatial = (np.zeros(3), np.zeros(3))
    alpha: Spatial = (np.zeros(3), -model.base[:3, :3].T @ model.gravity)
    forces: list[Spatial] = []
    for i in range(model.n):
        V, alpha = joints.motion_outward(i, *V), joints.motion_outward(i, *alpha)
        (w, v), (wd, vd) = V, alpha
        if model.revolute(i):  # a = (w x h, v x h) thetad
            wd = wd + vector(w[1] * qd[i], -(w[0] * qd[i]), qdd[i])
            vd = vd + vector(v[1] * qd[i], -(v[0] * qd[i]), 0.0)
            w = w + Z * qd[i]
        else:  # a = (0, w x h thetad)
            vd = vd + vector(w[1] * qd[i], -(w[0] * qd[i]), qdd[i])
            v = v + Z * qd[i]
        V, alpha = (w, v), (wd, vd)
        n, f = link_force(model, i, V, alpha)
        forces.append((n - outside[i][0], f - outside[i][1]))

    tau: list[Scalar] = [0.0] * model.n
    n, f = np.zeros(3), np.zeros(3)
    for i in range(model.n - 1, -1, -1):
        n, f = n + forces[i][0], f + forces[i][1]
        tau[i] = n[2] if model.revolute(i) else f[2]
        if i > 0:
            n, f = joints.force_inward(i, n, f)
    return vector(*tau)


def inverse_dynamics_by_blocks(model: Model, q: Array, qd: Array, qdd: Array, wrench: Array | None = None) -> Array:
    """tau (n,) by (38) as it stands, with the (6N, 6N) operators: to read, not to run."""
    o = spatial_operators(model, q, qd, wrench)
    alpha = o.Phi.T @ (o.H.T @ qdd[::-1] + o.a)
    f = o.Phi @ (o.M @ alpha + o.b)
    return (o.H @ f)[::-1]


def torque_terms(model: Model, q: Array, qd: Array, qdd: Array, wrench: Array | None = None) -> TorqueTerms:
    """(38) joint by joint, each term apart, as (39) shows for one joint of three.

    With the composite inertia r(k) = phi(k, k-1) r(k-1) phi*(k, k-1) + M(k), an acceleration x(j) = H*(j) thetadd(j) or
    a(j) of link j is felt at joint k as H(k) Phi(k, j) r(j) x(j) if j is beyond k, else as H(k) r(k) Phi*(j, k) x(j).
    """
    o = spatial_operators(model, q, qd, wrench)
    N = o.N
    theta_ddot = qdd[::-1]
    composite = [block(o.M, 0, 0)]
    for k in range(1, N):
        step = block(o.E_Phi, k, k - 1)
        composite.append(step @ composite[-1] @ step.T + block(o.M, k, k))
    out = TorqueTerms(zeros(N, N), zeros(N, N), zeros(N, N))
    for k in range(N):
        h = o.H[k, 6 * k : 6 * k + 6]
        for j in range(N):
            part = slice(6 * j, 6 * j + 6)
            carried = block(o.Phi, k, j) @ composite[j] if j < k else composite[k] @ block(o.Phi, j, k).T
            out.acceleration[k, j] = h @ (carried @ (o.H[j, part] * theta_ddot[j]))
            out.bias_acceleration[k, j] = h @ (carried @ o.a[part])
            if j <= k:
                out.bias_force[k, j] = h @ (block(o.Phi, k, j) @ o.b[part])
    return TorqueTerms(*(settled(table)[::-1, ::-1] for table in out))


def link_force(model: Model, i: int, velocity: Spatial, acceleration: Spatial) -> Spatial:
    """M alpha + (V x) M V of link i alone, in its axes; `acceleration` is the rate of (w, v) in the link's own frame.

    The centre of mass c accelerates at vd + wd x c + w x (v + w x c); the moment about it is I wd + w x I w.
    """
    (w, v), (wd, vd) = velocity, acceleration
    c, inertia = model.com[i], model.inertia[i]
    f = model.mass[i] * (vd + cross(wd, c) + cross(w, v + cross(w, c)))
    return inertia @ wd + cross(w, inertia @ w) + cross(c, f), f


def outside_forces(model: Model, q: Array, wrench: Array | None) -> list[Spatial]:
    """The spatial force from outside on every link, about its frame and in its axes."""
    none: Spatial = (np.zeros(3), np.zeros(3))
    if wrench is None:
        return [none] * model.n
    frames = forward_kinematics(model, q)
    found = []
    for i in range(model.n):
        force, moment, arm = link_wrench(model, i, wrench)
        if force is None:
            found.append(none)
        else:
            force = frames.R[i].T @ force
            found.append((frames.R[i].T @ moment + cross(arm, force), force))
    return found
