"""An arm's dynamics at its tool."""

from __future__ import annotations

from typing import TypeAlias

from numpy.typing import ArrayLike

from ..compile.method import answer, kernel_method
from ..dynamics.operational_space import OperationalSpace
from .kernels import ArmKernels, Array

Five: TypeAlias = tuple[Array, Array, Array, Array, Array]


class TaskSpace(ArmKernels):
    """An arm's methods for operational-space control."""

    @kernel_method
    def operational_space(self, q: ArrayLike, qd: ArrayLike, *, out: Five | None = None) -> OperationalSpace:
        """(inertia, inverse, null_space, bias, rank) of the tool's velocity and angular velocity, world axes.

        Lambda (6, 6), Jbar (n, 6), N (n, n), mu (6,): tau = J^T (Lambda xdd + mu) + N tau_0 accelerates the tool by
        xdd.  Rotors are in it, friction is not.  At singularities it stays finite: `rank` directions are kept.
        """
        return answer(self, TaskSpace.operational_space, self._kernel("operational_space"), q, qd, out=out)

    @kernel_method
    def operational_space_translation(
        self, q: ArrayLike, qd: ArrayLike, *, out: Five | None = None
    ) -> OperationalSpace:
        """The same of the tool's velocity alone: Lambda (3, 3), Jbar (n, 3), N (n, n), mu (3,), rank."""
        method = TaskSpace.operational_space_translation
        return answer(self, method, self._kernel("operational_space_translation"), q, qd, out=out)
