"""The diagonalized equations of motion in O(n): velocities in which the mass matrix is the identity, or diagonal.

After Jain and Rodriguez (1994) and Kozlowski (1995), whose equation numbers these are.  The articulated inertia P of
the links beyond a joint has D = h . P h along the joint's axis h (one number) and G = P h / D.  With V+ the velocity
that joint i would hand on if it stood still, in its own frame,

    xi = qd + G . V+     (34)      nu = D^1/2 xi     (28)      2 T = sum D xi^2 = |nu|^2     (43), (27)
    kappa = tau - h . z,  epsilon = D^-1/2 kappa               z: from outboard, z+ = z + G kappa goes inboard
    D xid + C(q, xi) = kappa     (44)          nud + C(q, nu) = epsilon     (40)

No coordinates have xi or nu as their rates, so the state is (q, xi) or (q, nu), and qd comes back from either by the
same recursion, base to tip.

The recursion.  With b = V x M V (less weight and outside forces), X = Omega_delta P and lambda = Psi lambda Psi* + X +
X* (see `operators`) the paper has, tip to base, V' and lambda' of the link outboard and V" of the link inboard,

    (45)   C(q, xi) = h . y                   y = Psi y' + lambda h xi + b - X V
    (42)   C(q, nu) = D^-1/2 h . y / 2        y = Psi y' + 2 b + (X* - X) V + Psi lambda' V' - lambda Psi* V"

Four remarks make this cheap.

(a) The second y is twice the first less lambda h xi: put Psi* V" = V - h xi into (42) and the products of lambda with V
    telescope.  So C(q, nu) = D^-1/2 (C(q, xi) - Dd xi / 2), which is (46), and the normalized equations need hardly
    more than the others; the paper's Table 2 charges them 105 N more multiplications.
(b) lambda = L + X + X*, L the rate of P in frame i itself.  Crossing the joint, P+ = P - G D G* has the rate
    L+ = L - G w* - w G*, w = L h - G Dd / 2, Dd = h . L h; and since the axis is common to both frames, sweeping may
    wait until after: L(inboard) = L+ + Omega_delta P+ + P+ Omega_delta*, turned and shifted.  P+ and L+ have an empty
    row and column along h, so 15 of their 21 entries are left.
(c) lambda h xi - X V = L h xi - Omega_delta P+ V+, by P V - P h xi = P+ V+.
(d) kappa and C travel together, s = z + y:  e = tau - h . s,  s+ = s + G e,  and D xid = e.  Therefore

        e = tau - h . (s' + L h xi),   s+ = s' + L h xi + G e - Omega_delta P+ V+,   s' = b + what comes from outboard
        xid = e / D,        nud = (e + Dd xi / 2) D^-1/2

Joint accelerations: from xid = qdd + G . A + Gd . V+, Gd = (L h - G Dd) / D, with A = Vd+ + Omega_delta* V+ handed
outwards as V is.

Slides: Omega_delta = [[0, h~], [0, 0]] qd instead of [[h~, 0], [0, h~]] qd, nothing else (see `operators`).

Rotors.  `joint_inertia` r adds to M's diagonal and so to D = h . P h + r, which stays the D of (23) and of the kinetic
energy.  Everything above is written so that it holds with r as it stands: P+ = P - G D G* is then no longer
taubar P taubar* but that plus r G G*, while its rate is still taubar lambda taubar* because r is constant.  No term is
added; only the row along h is no longer empty (h . G = 1 - r / D), and the paper's taubar P taubar* must not be used.

nu . C(q, nu) = 0 without gravity and outside forces: C does no work (47).

`part` says which recursion of the paper's Table 2 the lines after it belong to (counting/recursions.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import Scalar, dot, sqrt
from ..algebra.linalg import Array, is_constant, matrix, symmetric, vector
from ..algebra.parts import part
from ..model import Model
from . import operator_rates, operators
from .aba import Articulated, freed, moved, rigid
from .joints import Joints
from .operators import Spatial, link_force, outside_forces


class _Hinge(NamedTuple):
    """Joint i as the links beyond make it."""

    G: Spatial
    D: Scalar
    inverse: Scalar  # 1 / D
    root: Scalar  # D^1/2, and
    inverse_root: Scalar  # D^-1/2; both 0 unless asked for
    left: Articulated  # P+
    ideal: bool  # no rotor: the row and column of P+ along the axis are empty, and h . G = 1


class _Motion(NamedTuple):
    """Velocities at joint i, in its frame."""

    arriving: Spatial  # V+
    V: Spatial
    qd: Scalar
    xi: Scalar


class _Balance(NamedTuple):
    """What the inward recursion leaves at joint i."""

    e: Scalar  # D xid
    D_rate: Scalar
    slope: Spatial  # L h


# ---- velocities and forces, both ways


def diagonal_inertia(model: Model, q: Array, joint_inertia: Array | None = None) -> Array:
    """D (n,), base first: the inertia along each joint's axis with all joints beyond it free."""
    return vector(*(hinge.D for hinge in _hinges(model, Joints(model, q), joint_inertia)))


def quasi_velocities(
    model: Model, q: Array, qd: Array, *, normalized: bool = True, joint_inertia: Array | None = None
) -> Array:
    """nu (n,) = D^1/2 (1 + H Phi K)* qd (28), with |nu|^2 = qd . M qd; or xi (34), with sum D xi^2 = qd . M qd."""
    joints = Joints(model, q)
    hinges = _hinges(model, joints, joint_inertia, roots=normalized)
    motion = _outward(model, joints, hinges, qd)
    return vector(*(m.xi * h.root if normalized else m.xi for m, h in zip(motion, hinges, strict=True)))


def joint_velocities(
    model: Model, q: Array, nu: Array, *, normalized: bool = True, joint_inertia: Array | None = None
) -> Array:
    """qd (n,) = (1 - H Psi K)* D^-1/2 nu, or from xi: the inverse of `quasi_velocities`."""
    joints = Joints(model, q)
    hinges = _hinges(model, joints, joint_inertia, roots=normalized)
    return vector(*(m.qd for m in _outward(model, joints, hinges, _xi(hinges, nu, normalized), quasi=True)))


def quasi_forces(
    model: Model, q: Array, tau: Array, *, normalized: bool = True, joint_inertia: Array | None = None
) -> Array:
    """epsilon (n,) = D^-1/2 (1 - H Psi K) tau, or kappa without the root: nu . epsilon = xi . kappa = qd . tau."""
    joints = Joints(model, q)
    hinges = _hinges(model, joints, joint_inertia, roots=normalized)
    kappa = _force_recursion(model, joints, hinges, tau, forwards=True)
    return vector(*(k * h.inverse_root if normalized else k for k, h in zip(kappa, hinges, strict=True)))


def joint_torques(
    model: Model, q: Array, epsilon: Array, *, normalized: bool = True, joint_inertia: Array | None = None
) -> Array:
    """tau (n,) = (1 + H Phi K) D^1/2 epsilon, or from kappa: the inverse of `quasi_forces`."""
    joints = Joints(model, q)
    hinges = _hinges(model, joints, joint_inertia, roots=normalized)
    kappa = [x * h.root if normalized else x for x, h in zip(epsilon, hinges, strict=True)]
    return vector(*_force_recursion(model, joints, hinges, kappa, forwards=False))


# ---- equations of motion


def quasi_acceleration(
    model: Model,
    q: Array,
    nu: Array,
    tau: Array,
    *,
    normalized: bool = True,
    wrench: Array | None = None,
    joint_inertia: Array | None = None,
) -> Array:
    """nud (n,) from (q, nu, tau) by (40); with `normalized=False`, xid from (q, xi, tau) by (44)."""
    joints = Joints(model, q)
    hinges = _hinges(model, joints, joint_inertia, roots=normalized)
    motion = _outward(model, joints, hinges, _xi(hinges, nu, normalized), quasi=True)
    balance = _inward(model, joints, hinges, motion, tau, outside_forces(model, q, wrench))
    return vector(*_quasi_rates(hinges, motion, balance, normalized))


def coriolis(
    model: Model,
    q: Array,
    qd: Array,
    *,
    normalized: bool = True,
    gravity: bool = True,
    wrench: Array | None = None,
    joint_inertia: Array | None = None,
) -> Array:
    """C(q, nu) (n,) of (40) and (42), or C(q, xi) of (44) and (45): what the equations have beside inertia and tau.

    Gravity and outside wrenches are in it, as the paper has them in b; with both left out, nu . C(q, nu) = 0.
    """
    joints = Joints(model, q)
    hinges = _hinges(model, joints, joint_inertia, roots=normalized)
    motion = _outward(model, joints, hinges, qd)
    outside = outside_forces(model, q, wrench)
    balance = _inward(model, joints, hinges, motion, np.zeros(model.n), outside, gravity=gravity)
    if normalized:
        return -vector(*_quasi_rates(hinges, motion, balance, normalized))
    return vector(*(-b.e for b in balance))


def coriolis_components(model: Model, q: Array, qd: Array, *, normalized: bool = True) -> Array:
    """c (n, n), base first: the part of C(q, nu) that frames turning against each other bring is c nu (48).

    Without gravity and wrenches C(q, nu) = c nu + D^-1/2 H Psi b, b = V x M V.  c is skew; that of xi
    (`normalized=False`) is skew but for half of D's rate on its diagonal.  O(n^3), element by element as printed.
    """
    o = operators.spatial_operators(model, q, qd)
    return operator_rates.coriolis_elements(o, normalized=normalized)[::-1, ::-1]


def forward_dynamics(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | None = None,
    joint_inertia: Array | None = None,
) -> Array:
    """qdd (n,) through the normalized equations: nu, nud, and back."""
    return _forward_dynamics(model, q, qd, tau, wrench, joint_inertia, normalized=True)


def forward_dynamics_unnormalized(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | None = None,
    joint_inertia: Array | None = None,
) -> Array:
    """qdd (n,) through the unnormalized equations: xi, xid, and back; no roots."""
    return _forward_dynamics(model, q, qd, tau, wrench, joint_inertia, normalized=False)


def _forward_dynamics(
    model: Model,
    q: Array,
    qd: Array,
    tau: Array,
    wrench: Array | None,
    joint_inertia: Array | None,
    *,
    normalized: bool,
) -> Array:
    joints = Joints(model, q)
    hinges = _hinges(model, joints, joint_inertia, roots=normalized)
    motion = _outward(model, joints, hinges, qd)
    balance = _inward(model, joints, hinges, motion, tau, outside_forces(model, q, wrench))
    rates = _quasi_rates(hinges, motion, balance, normalized)
    part("q̈")
    if normalized:  # nu = D^1/2 xi, so xid = D^-1/2 nud - Dd xi / (2 D)
        rates = [
            x * h.inverse_root - 0.5 * b.D_rate * m.xi * h.inverse
            for x, h, m, b in zip(rates, hinges, motion, balance, strict=True)
        ]
    part("q̈")
    qdd: list[Scalar] = []
    A: Spatial = (np.zeros(3), np.zeros(3))
    for i, (hinge, m, b) in enumerate(zip(hinges, motion, balance, strict=True)):
        wd, vd = joints.motion_outward(i, *A)
        (w, v), rate = m.arriving, m.qd
        if model.revolute(i):  # Omega_delta* V+
            wd = wd + vector(w[1] * rate, -(w[0] * rate), 0.0)
            vd = vd + vector(v[1] * rate, -(v[0] * rate), 0.0)
        else:
            vd = vd + vector(w[1] * rate, -(w[0] * rate), 0.0)
        G_rate = (_inner(b.slope, m.arriving) - b.D_rate * (m.xi - m.qd)) * hinge.inverse  # Gd . V+
        qdd.append(rates[i] - _inner(hinge.G, (wd, vd)) - G_rate)
        A = _along(model, i, (wd, vd), qdd[i])
    return vector(*qdd)


def _quasi_rates(
    hinges: list[_Hinge], motion: list[_Motion], balance: list[_Balance], normalized: bool
) -> list[Scalar]:
    """nud or xid of every joint (remark d)."""
    part("ν̇")
    if not normalized:
        return [b.e * h.inverse for b, h in zip(balance, hinges, strict=True)]
    return [(b.e + b.D_rate * (0.5 * m.xi)) * h.inverse_root for b, h, m in zip(balance, hinges, motion, strict=True)]


# ---- the recursions


def _hinges(model: Model, joints: Joints, joint_inertia: Array | None, *, roots: bool = False) -> list[_Hinge]:
    """D, G and P+ of every joint, base first; made from the tip."""
    extra = np.zeros(model.n) if joint_inertia is None else joint_inertia
    found: list[_Hinge] = []
    carried: Articulated | None = None
    for i in range(model.n - 1, -1, -1):
        part("P")
        P = rigid(model, i) if carried is None else _sum(rigid(model, i), carried)
        revolute = model.revolute(i)
        u_n, u_f = _column(P, revolute)
        ideal = is_constant(extra[i], 0.0)
        part("G")
        D = (u_n[2] if revolute else u_f[2]) + extra[i]
        root = sqrt(D) if roots else 0.0
        inverse_root = 1.0 / root if roots else 0.0
        inverse = inverse_root * inverse_root if roots else 1.0 / D
        G = (u_n * inverse, u_f * inverse)
        if ideal:
            G = _with_axis(G, 1.0, revolute=revolute)
        part("P")
        left = freed(P, u_n, u_f, inverse, on_axis=ideal, revolute=revolute)
        found.append(_Hinge(G, D, inverse, root, inverse_root, left, ideal))
        if i > 0:
            carried = moved(joints, i, left)
    return found[::-1]


def _outward(
    model: Model, joints: Joints, hinges: list[_Hinge], speeds: Array | list[Scalar], *, quasi: bool = False
) -> list[_Motion]:
    """Velocities base to tip, from qd or (`quasi`) from xi."""
    found: list[_Motion] = []
    V: Spatial = (np.zeros(3), np.zeros(3))
    for i in range(model.n):
        part("V⁺")
        arriving = joints.motion_outward(i, *V)
        part("θ̇")
        given = _inner(hinges[i].G, arriving)
        if quasi:
            rate, xi = speeds[i] - given, speeds[i]
        else:
            rate, xi = speeds[i], speeds[i] + given
        part("V")
        V = _along(model, i, arriving, rate)
        found.append(_Motion(arriving, V, rate, xi))
    return found


def _force_recursion(
    model: Model, joints: Joints, hinges: list[_Hinge], given: Array | list[Scalar], *, forwards: bool
) -> list[Scalar]:
    """kappa from tau (forwards) or tau from kappa, tip to base, with z+ = z + G kappa handed inboard."""
    out: list[Scalar] = [0.0] * model.n
    z: Spatial = (np.zeros(3), np.zeros(3))
    for i in range(model.n - 1, -1, -1):
        along = z[0][2] if model.revolute(i) else z[1][2]
        out[i] = given[i] - along if forwards else given[i] + along
        kappa = out[i] if forwards else given[i]
        if i > 0:
            G = hinges[i].G
            z = joints.force_inward(i, z[0] + G[0] * kappa, z[1] + G[1] * kappa)
    return out


def _inward(
    model: Model,
    joints: Joints,
    hinges: list[_Hinge],
    motion: list[_Motion],
    tau: Array,
    outside: list[Spatial],
    *,
    gravity: bool = True,
) -> list[_Balance]:
    """Remarks (b) to (d): the rate L of P and the force s, tip to base."""
    n = model.n
    part("b")
    down = _gravity(model, joints) if gravity else [np.zeros(3)] * n
    found: list[_Balance] = []
    L: Articulated | None = None
    s: Spatial = (np.zeros(3), np.zeros(3))
    for i in range(n - 1, -1, -1):
        revolute, hinge, m = model.revolute(i), hinges[i], motion[i]
        part("b")
        b_n, b_f = link_force(model, i, m.V, (np.zeros(3), -down[i]))
        part("y")
        s = (s[0] + (b_n - outside[i][0]), s[1] + (b_f - outside[i][1]))
        slope: Spatial = (np.zeros(3), np.zeros(3)) if L is None else _column(L, revolute)
        D_rate = slope[0][2] if revolute else slope[1][2]
        part("κ")
        e = tau[i] - (s[0][2] if revolute else s[1][2]) - D_rate * m.xi
        found.append(_Balance(e, D_rate, slope))
        if i == 0:
            break
        part("y")
        (G_n, G_f), swept = hinge.G, _swept(_times(hinge.left, m.arriving), m.qd, revolute=revolute)
        part("z⁺")
        s_n = s[0] + slope[0] * m.xi + G_n * e - swept[0]
        s_f = s[1] + slope[1] * m.xi + G_f * e - swept[1]
        s_n, s_f = _with_axis((s_n, s_f), tau[i], revolute=revolute) if hinge.ideal else (s_n, s_f)
        part("z")
        s = joints.force_inward(i, s_n, s_f)
        part("X")
        turning = _sweeping(hinge.left, m.qd, revolute=revolute)
        part("λ")
        L = moved(joints, i, turning if L is None else _sum(_freed_rate(L, hinge, slope, revolute), turning))
    return found[::-1]


def _gravity(model: Model, joints: Joints) -> list[Array]:
    """Gravity in the axes of every link."""
    g = model.base[:3, :3].T @ model.gravity
    found = []
    for i in range(model.n):
        g = joints.outward(i, g)
        found.append(g)
    return found


def _xi(hinges: list[_Hinge], nu: Array, normalized: bool) -> list[Scalar]:
    part("θ̇")
    return [x * h.inverse_root if normalized else x for x, h in zip(nu, hinges, strict=True)]


# ---- spatial vectors and symmetric matrices in blocks


def _along(model: Model, i: int, V: Spatial, rate: Scalar) -> Spatial:
    """V + h rate."""
    (wx, wy, wz), (vx, vy, vz) = V[0].tolist(), V[1].tolist()
    if model.revolute(i):
        return vector(wx, wy, wz + rate), V[1]
    return V[0], vector(vx, vy, vz + rate)


def _inner(a: Spatial, b: Spatial) -> Scalar:
    return dot(a[0], b[0]) + dot(a[1], b[1])


def _column(A: Articulated, revolute: bool) -> Spatial:
    """A h."""
    return (A.J[:, 2], A.H[2, :]) if revolute else (A.H[:, 2], A.K[:, 2])


def _with_axis(x: Spatial, value: Scalar, *, revolute: bool) -> Spatial:
    """x with this component along h."""
    n, f = x
    return (vector(n[0], n[1], value), f) if revolute else (n, vector(f[0], f[1], value))


def _sum(A: Articulated, B: Articulated) -> Articulated:
    return Articulated(A.J + B.J, A.H + B.H, A.K + B.K)


def _times(A: Articulated, V: Spatial) -> Spatial:
    """A V."""
    return A.J @ V[0] + A.H @ V[1], A.H.T @ V[0] + A.K @ V[1]


def _swept(x: Spatial, rate: Scalar, *, revolute: bool) -> Spatial:
    """Omega_delta x of a force."""
    (nx, ny, _), (fx, fy, _) = x[0].tolist(), x[1].tolist()
    if revolute:
        return vector(-(ny * rate), nx * rate, 0.0), vector(-(fy * rate), fx * rate, 0.0)
    return vector(-(fy * rate), fx * rate, 0.0), np.zeros(3)


def _sweeping(A: Articulated, rate: Scalar, *, revolute: bool) -> Articulated:
    """Omega_delta A + A Omega_delta*."""
    if revolute:
        return Articulated(*(_turning(block, rate) for block in A))
    (Hxx, Hxy, _), (Hyx, Hyy, _), (Hzx, Hzy, _) = A.H.tolist()
    Kx, Ky, _ = A.K.tolist()
    J = symmetric(-2.0 * Hxy, 2.0 * Hyx, 0.0, Hxx - Hyy, Hzx, -Hzy)  # z~ H^T and its transpose
    return Articulated(J * rate, matrix([[-x * rate for x in Ky], [x * rate for x in Kx], [0.0] * 3]), np.zeros((3, 3)))


def _turning(A: Array, rate: Scalar) -> Array:
    """(z~ A - A z~) rate (3, 3): how A turned about z changes."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, _) = A.tolist()
    across, along = (xy + yx) * rate, (xx - yy) * rate
    return matrix([[-across, along, -(yz * rate)], [along, across, xz * rate], [-(zy * rate), zx * rate, 0.0]])


def _freed_rate(L: Articulated, hinge: _Hinge, slope: Spatial, revolute: bool) -> Articulated:
    """L+ = L - G w* - w G* (remark b)."""
    half = 0.5 * (slope[0][2] if revolute else slope[1][2])
    (G_n, G_f), (l_n, l_f) = hinge.G, slope
    w_n, w_f = l_n - G_n * half, l_f - G_f * half
    H = [[L.H[a, b] - (G_n[a] * w_f[b] + w_n[a] * G_f[b]) for b in range(3)] for a in range(3)]
    if hinge.ideal:
        for a in range(3):
            if revolute:
                H[2][a] = 0.0
            else:
                H[a][2] = 0.0
    return Articulated(
        _less_pair(L.J, G_n, w_n, hollow=hinge.ideal and revolute),
        matrix(H),
        _less_pair(L.K, G_f, w_f, hollow=hinge.ideal and not revolute),
    )


def _less_pair(S: Array, g: Array, w: Array, *, hollow: bool) -> Array:
    """The symmetric S - g w^T - w g^T; `hollow` says that its third row and column cancel."""

    def entry(a: int, b: int) -> Scalar:
        if hollow and 2 in (a, b):
            return 0.0
        both = g[a] * w[b] if a == b else 0.0
        return S[a, b] - (both + both if a == b else g[a] * w[b] + w[a] * g[b])

    return symmetric(entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(1, 2), entry(0, 2))
