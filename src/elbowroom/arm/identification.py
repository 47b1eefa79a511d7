"""What an arm's torques say about its links: the regressor, and the base parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..compile.method import answer, kernel_method
from ..dynamics.identifiable import BaseParameters, base_parameters
from .kernels import ArmKernels, Array

STATES = 20  # times n: random states in which base parameters are found


class Identification(ArmKernels):
    """An arm's methods for identification."""

    @kernel_method
    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, out: Array | None = None) -> Array:
        """Y (n, 10 n) with Y @ model.parameters = M qdd + C qd + g of the rigid bodies, without rotors and friction.

        Ten columns a link: m, m c (3), and I_xx, I_xy, I_yy, I_xz, I_yz, I_zz about its frame's origin; the order of
        Pinocchio's `computeJointTorqueRegressor`.
        """
        return answer(self, Identification.regressor, self._kernel("regressor"), q, qd, qdd, out=out)

    def base_parameters(self, *, seed: int = 0) -> BaseParameters:
        """The combinations of link parameters that torques depend on, by name; `print` shows them.

        Found by the rank of the regressor over random states; `seed` chooses the states.
        """
        model = self._model
        rng = np.random.default_rng(seed)
        count = STATES * model.n
        q = rng.uniform(*model.sampling_range(), (count, model.n))
        qd, qdd = rng.uniform(-2, 2, (2, count, model.n))
        return base_parameters(model, self._kernel("regressor")(q, qd, qdd))
