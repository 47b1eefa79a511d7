"""Arm: the public face.  A model you can call; what it is asked for is compiled on first use.

Every quantity takes one state, arrays of shape (n,), or a batch, (B, n), and `out=` to fill an array of yours.
SI units, radians, world axes with z up; see docs/conventions.md.
"""

from __future__ import annotations

from functools import lru_cache
from os import PathLike
from typing import Any, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from .. import disk_cache
from ..compile.method import answer, kernel_method
from ..dynamics.derivatives import ForwardDynamicsDerivatives, InverseDynamicsDerivatives
from ..dynamics.inverse_kinematics import IKResult, solve
from ..dynamics.kinematics import Injected, Jacobian, link_index
from ..dynamics.ready import Posed, ready_pose
from ..dynamics.whole_arm import Options, examine
from ..errors import DtypeError, ModelError, ShapeError, warn
from ..model import Finding, Model, from_dh, from_mdh
from ..model.dh import parameters_of
from ..model.inertia import DENSITY, about_estimates, lacking
from .identification import Identification
from .kernels import Array, Number
from .task_space import TaskSpace

Pair: TypeAlias = tuple[Array, Array]
Three: TypeAlias = tuple[Array, Array, Array]


LOOPS = 10
"""Joints from which derivatives of forward dynamics are put together of kernels with loops: a straight line of them all
grows with the cube of n."""


class Arm(Identification, TaskSpace):
    """A serial arm: `arm.model` is all that it knows, the rest is computed."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)

    @classmethod
    def from_urdf(cls, path: str | PathLike[str], tip: str | None = None) -> Arm:
        """The chain from the root of a URDF file to the link `tip`."""
        from ..model import urdf  # brings an XML parser along

        return cls.checked(urdf.load(path, tip))

    @classmethod
    @parameters_of(from_mdh)
    def from_mdh(cls, **table: Any) -> Arm:
        """From modified Denavit-Hartenberg columns (m, rad), masses, centres and inertias (kg, m, kg m^2) of links."""
        return cls.checked(from_mdh(**table))

    @classmethod
    @parameters_of(from_dh)
    def from_dh(cls, **table: Any) -> Arm:
        """From standard Denavit-Hartenberg columns (m, rad), masses, centres and inertias (kg, m, kg m^2) of links."""
        return cls.checked(from_dh(**table))

    @classmethod
    def checked(cls, model: Model) -> Arm:
        """The arm, after saying what looks wrong: errors raise, warnings warn."""
        arm = cls(model)
        found = arm.examine()
        if errors := [f for f in found if f.severity == "error"]:
            hint = (
                f"; er.load(..., density={DENSITY:g}) estimates them, kg/m^3"
                if lacking(model) and model.capsules
                else ""
            )
            raise ModelError(f"{model.name}: {'; '.join(map(str, errors))}{hint}")
        for said in (about_estimates(model), *map(str, found)):
            if said:
                warn(f"{model.name}: {said}")
        return arm

    def examine(self) -> list[Finding]:
        """What looks wrong with the model.  A mass matrix that is not positive definite is an error."""
        return examine(self.model)

    # ---- what it is
    @property
    def model(self) -> Model:
        """The robot as data.  Another model is another arm: `Arm(model)`, `with_payload`, `with_base`, ..."""
        return self._model

    @property
    def n(self) -> int:
        """How many joints."""
        return self.model.n

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints' names, base first."""
        return self.model.joint_names

    @property
    def ready(self) -> Array:
        """A configuration (n,) to start from: the description's own, else one that is searched for on first use.

        Searched for: off the limits and singularities, clear of itself and of the floor, the tool over the work and
        pointing down where it can (dynamics/ready.py).  The same each time.
        """
        return self.model.ready if self.model.has_ready else _searched(Posed(self.model)).copy()

    def __repr__(self) -> str:
        return f"<Arm {self.name}: {self.n} joints {self.model.kinds}>"

    def with_payload(self, mass: float, com: ArrayLike = (0, 0, 0), inertia: ArrayLike | None = None) -> Arm:
        """The arm holding a body: mass (kg), centre of mass and inertia about it in the tool frame."""
        return type(self)(self.model.with_payload(mass, com, inertia))

    def with_tool(self, tool: ArrayLike) -> Arm:
        """The arm with its tool frame at `tool` (4, 4) in the last link's frame."""
        return type(self)(self.model.with_tool(tool))

    def with_base(self, base: ArrayLike) -> Arm:
        """The arm mounted at `base` (4, 4) in the world; gravity stays the world's."""
        return type(self)(self.model.with_base(base))

    def with_gravity(self, gravity: ArrayLike) -> Arm:
        """The arm under another gravity vector (3,), m/s^2 in the world."""
        return type(self)(self.model.with_gravity(gravity))

    def without_friction(self) -> Arm:
        """The arm without the damping and dry friction of its description: rigid bodies and rotors alone."""
        return type(self)(self.model.without_friction())

    # ---- dynamics
    @kernel_method
    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """M (n, n), symmetric positive definite, rotors included."""
        return self._call("mass_matrix", q, out=out)

    @kernel_method
    def mass_matrix_inverse(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """M^-1 (n, n)."""
        return self._call("mass_matrix_inverse", q, out=out)

    @kernel_method
    def mass_matrix_rate(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """dM/dt (n, n) along qd; equals C + C^T with the Christoffel C."""
        return self._call("mass_matrix_rate", q, qd, out=out)

    @kernel_method
    def coriolis_matrix(
        self, q: ArrayLike, qd: ArrayLike, *, form: str = "christoffel", out: Array | None = None
    ) -> Array:
        """C (n, n) with C qd the Coriolis and centrifugal torque.

        form="christoffel": dM/dt - 2C is skew, as observers and passivity-based control need.
        form="gda": the GDA paper's matrix; the same product C qd, but *not* skew and not to be transposed.
        """
        if form == "christoffel":
            return self._call("coriolis_matrix", q, qd, out=out)
        if form == "gda":
            return self.compile("coriolis_matrix", method="gda")(q, qd, out=out)
        raise ValueError(f"coriolis_matrix: form must be 'christoffel' or 'gda'; got {form!r}")

    @kernel_method
    def centrifugal_matrix(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """The part of C that multiplies each speed with itself, (n, n)."""
        return self._call("centrifugal_matrix", q, qd, out=out)

    @kernel_method
    def coriolis_transpose_qd(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """C^T qd (n,) with the Christoffel C, = dM/dt qd - C qd: the momentum observer's term."""
        return self._call("coriolis_transpose_qd", q, qd, out=out)

    @kernel_method
    def christoffel(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Gamma (n, n, n), first kind: Gamma[i,j,k] qd_j qd_k summed is the Coriolis torque."""
        return self._call("christoffel", q, out=out)

    @kernel_method
    def gravity_torque(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """g (n,), the torque that holds the arm still."""
        return self._call("gravity_torque", q, out=out)

    @kernel_method
    def coriolis_torque(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """C qd (n,)."""
        return self._call("coriolis_torque", q, qd, out=out)

    @kernel_method
    def bias_torque(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """C qd + g (n,), Pinocchio's nle and MuJoCo's qfrc_bias."""
        return self._call("bias_torque", q, qd, out=out)

    @kernel_method
    def friction_torque(self, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """viscous qd + coulomb sign(qd), (n,)."""
        return self._call("friction_torque", qd, out=out)

    @kernel_method
    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Number:
        """qd^T M qd / 2, joules."""
        return self._call("kinetic_energy", q, qd, out=out)

    @kernel_method
    def potential_energy(self, q: ArrayLike, *, out: Array | None = None) -> Number:
        """Joules; its gradient is `gravity_torque`."""
        return self._call("potential_energy", q, out=out)

    @kernel_method
    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        wrench: ArrayLike | None = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """tau (n,) = M qdd + C qd + g + friction - J^T w.

        The friction is the description's: `friction_torque(qd)` is it alone, `without_friction()` an arm that has none.
        `wrench` is a force and a moment on the arm in world axes: (6,) at the tool, or (n, 6) at the link frames.
        """
        if wrench is None:
            return self._call("inverse_dynamics", q, qd, qdd, out=out)
        return self._pushed("inverse_dynamics", (q, qd, qdd), wrench, out)

    @kernel_method
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        wrench: ArrayLike | None = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """qdd (n,) that the torques tau give; undoes `inverse_dynamics`, wrenches and friction included."""
        if wrench is None:
            return self._call("forward_dynamics", q, qd, tau, out=out)
        return self._pushed("forward_dynamics", (q, qd, tau), wrench, out)

    # ---- derivatives
    @kernel_method
    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        wrench: ArrayLike | None = None,
        *,
        out: Three | None = None,
    ) -> InverseDynamicsDerivatives:
        """(dtau_dq, dtau_dqd, dtau_dqdd), (n, n) each, of `inverse_dynamics`; the last is M.

        dtau_dqd = 2 C + viscous friction with the Christoffel C.  Dry friction jumps at 0 and has the derivative 0.
        """
        if wrench is None:
            return self._call("inverse_dynamics_derivatives", q, qd, qdd, out=out)
        found = self._pushed("inverse_dynamics", (q, qd, qdd), wrench, out, derivative=("q", "qd", "qdd"))
        return InverseDynamicsDerivatives(*found)

    @kernel_method
    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        wrench: ArrayLike | None = None,
        *,
        out: Three | None = None,
    ) -> ForwardDynamicsDerivatives:
        """(dqdd_dq, dqdd_dqd, dqdd_dtau), (n, n) each, of `forward_dynamics`; the last is M^-1."""
        if wrench is None and self.n < LOOPS:
            return self._call("forward_dynamics_derivatives", q, qd, tau, out=out)
        qdd = self.forward_dynamics(q, qd, tau, wrench)
        by_q, by_qd, _ = self.inverse_dynamics_derivatives(q, qd, qdd, wrench)
        inverse = self.mass_matrix_inverse(q)
        found = ForwardDynamicsDerivatives(-(inverse @ by_q), -(inverse @ by_qd), inverse)
        for array, given in zip(found, out or (), strict=out is not None):
            given[...] = array
        return found if out is None else ForwardDynamicsDerivatives(*out)

    @kernel_method
    def pose_derivatives(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """(4, 4, n): the derivatives of `pose` by every joint."""
        return answer(self, Arm.pose_derivatives, self._kernel("pose", derivative=("q",)), q, out=out)

    # ---- the diagonalized equations
    @kernel_method
    def diagonal_inertia(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """D (n,): the inertia each joint feels with the joints beyond it free; M = m m^T with D on m's diagonal."""
        return self._call("diagonal_inertia", q, out=out)

    @kernel_method
    def quasi_velocities(
        self, q: ArrayLike, qd: ArrayLike, *, normalized: bool = True, out: Array | None = None
    ) -> Array:
        """nu (n,), in which the kinetic energy is nu . nu / 2; normalized=False: xi, in which it is xi . D xi / 2."""
        return self._quasi("quasi_velocities", normalized, q, qd, out=out)

    @kernel_method
    def joint_velocities(
        self, q: ArrayLike, nu: ArrayLike, *, normalized: bool = True, out: Array | None = None
    ) -> Array:
        """qd (n,) from the quasi-velocities nu (or xi)."""
        return self._quasi("joint_velocities", normalized, q, nu, out=out)

    @kernel_method
    def quasi_forces(self, q: ArrayLike, tau: ArrayLike, *, normalized: bool = True, out: Array | None = None) -> Array:
        """epsilon (n,), the torques as nu feels them; normalized=False: kappa.  Friction is not in it."""
        return self._quasi("quasi_forces", normalized, q, tau, out=out)

    @kernel_method
    def joint_torques(
        self, q: ArrayLike, epsilon: ArrayLike, *, normalized: bool = True, out: Array | None = None
    ) -> Array:
        """tau (n,) from the quasi-forces epsilon (or kappa)."""
        return self._quasi("joint_torques", normalized, q, epsilon, out=out)

    @kernel_method
    def quasi_coriolis(
        self, q: ArrayLike, qd: ArrayLike, *, normalized: bool = True, out: Array | None = None
    ) -> Array:
        """C (n,) of nu_dot + C = epsilon, gravity in it; normalized=False: of D xi_dot + C = kappa."""
        return self._quasi("quasi_coriolis", normalized, q, qd, out=out)

    @kernel_method
    def quasi_acceleration(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, *, normalized: bool = True, out: Array | None = None
    ) -> Array:
        """nu_dot (n,), or xi_dot, that the torques tau give; take `friction_torque` off tau first if it counts."""
        return self._quasi("quasi_acceleration", normalized, q, nu, tau, out=out)

    def _quasi(self, name: str, normalized: bool, *inputs: ArrayLike, out: Array | None) -> Any:
        if normalized:
            return self._call(name, *inputs, out=out, method="diagonalized")
        return self._kernel(name, method="diagonalized_unnormalized")(*inputs, out=out)

    # ---- kinematics
    @kernel_method
    def pose(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """(4, 4) tool in the world."""
        return self._call("pose", q, out=out)

    @kernel_method
    def poses(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """(n, 4, 4) link frames in the world."""
        return self._call("poses", q, out=out)

    @kernel_method
    def jacobian(
        self, q: ArrayLike, *, link: int | str | None = None, point: ArrayLike | None = None, out: Pair | None = None
    ) -> Jacobian:
        """(Jv, Jw), (3, n) each: v = Jv qd, w = Jw qd.  Of the tool; of `link`'s frame; of `point` (3,) in its axes."""
        return self._located("jacobian", (q,), link, point, out)

    @kernel_method
    def jacobian_rate(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        link: int | str | None = None,
        point: ArrayLike | None = None,
        out: Pair | None = None,
    ) -> Jacobian:
        """(Jv, Jw) of the time derivatives of `jacobian`'s along qd."""
        return self._located("jacobian_rate", (q, qd), link, point, out)

    @kernel_method
    def injected_accelerations(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        link: int | str | None = None,
        point: ArrayLike | None = None,
        out: tuple[Array, Array, Array] | None = None,
    ) -> Injected:
        """(tangential, normal, coriolis), (n, 3) each: the acceleration of a point by the frame that injects it."""
        return self._located("injected_accelerations", (q, qd, qdd), link, point, out)

    def inverse_kinematics(
        self,
        T: ArrayLike,
        start: ArrayLike | None = None,
        *,
        tolerance: float = 1e-9,
        iterations: int = 200,
        restarts: int = 100,
    ) -> IKResult:
        """Joint angles within limits that bring the tool to T (4, 4); `.q`, `.success`, `.error` (m and rad together).

        Starts from `start` (`ready` if omitted), then from up to `restarts` others, the same ones each time.
        """
        return solve(
            self.model,
            lambda q: self.pose(q),
            lambda q: np.vstack(self.jacobian(q)),
            T,
            self.ready if start is None else start,
            tolerance=tolerance,
            iterations=iterations,
            restarts=restarts,
        )

    # ---- how it is computed
    def _call(
        self,
        name: str,
        *inputs: ArrayLike,
        out: Array | tuple[Array, ...] | None = None,
        method: str | None = None,
        **options: Unpack[Options],
    ) -> Any:
        return answer(self, getattr(Arm, name), self._kernel(name, method=method, **options), *inputs, out=out)

    def __reduce__(self) -> tuple[type[Arm], tuple[Model]]:
        return type(self), (self.model,)

    def _located(
        self, name: str, inputs: tuple[ArrayLike, ...], link: int | str | None, point: ArrayLike | None, out: Any
    ) -> Any:
        if link is None and point is None:
            return self._call(name, *inputs, out=out, link=None, point=False)
        kernel = self._kernel(name, link=link_index(self.model, link), point=point is not None)
        if point is None:
            return kernel.general(*inputs, out=out)
        where = np.asarray(point)
        if where.shape != (3,):
            raise ShapeError(f"{name}: point must have shape (3,), in the link's axes; got {where.shape}")
        if where.dtype.kind not in "fiu":
            raise DtypeError(f"{name}: point must be real numbers; got dtype {where.dtype} from {point!r:.80}")
        batch = np.shape(inputs[0])[:-1]
        return kernel.general(*inputs, np.broadcast_to(where, (*batch, 3)), out=out)


@lru_cache(maxsize=64)
def _searched(posed: Posed) -> Array:
    """The ready pose, which takes up to some seconds to find: kept on disk, too."""
    model = posed.model
    return disk_cache.numbers(lambda: ready_pose(model), model.n, "ready pose", posed.parts)[0]
