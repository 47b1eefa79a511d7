"""The kernels of an arm: a quantity, several at once or their derivatives, compiled when first asked for and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, Unpack, cast, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .. import dynamics
from ..algebra import Program
from ..compile import compiled
from ..compile.engine import COMPILING
from ..compile.kernel import Kernel
from ..dynamics.derivatives import ForwardDynamicsDerivatives, InverseDynamicsDerivatives
from ..dynamics.kinematics import Jacobian
from ..dynamics.quantities import ArrayName, EnergyName, JacobianName
from ..dynamics.whole_arm import Options
from ..errors import ElbowroomError, ShapeError, UnknownNameError, did_you_mean
from ..model import Model

if TYPE_CHECKING:
    from ..compile.cuda import CudaKernel, Layout

Array: TypeAlias = NDArray[np.float64]
Number: TypeAlias = float | Array  # a float for one state, an array (B,) for a batch
Names: TypeAlias = str | tuple[str, ...]


class ArmKernels:
    """What an arm computes with."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._kernels: dict[tuple[object, ...], Kernel] = {}
        self._cuda_kernels: dict[tuple[object, ...], CudaKernel] = {}

    @overload
    def compile(self, quantity: ArrayName, *, method: str | None = None) -> Kernel[Array]: ...
    @overload
    def compile(self, quantity: EnergyName, *, method: str | None = None) -> Kernel[Number]: ...
    @overload
    def compile(self, quantity: JacobianName, *, method: str | None = None) -> Kernel[Jacobian]: ...
    @overload
    def compile(
        self, quantity: Literal["inverse_dynamics_derivatives"], *, method: str | None = None
    ) -> Kernel[InverseDynamicsDerivatives]: ...
    @overload
    def compile(
        self, quantity: Literal["forward_dynamics_derivatives"], *, method: str | None = None
    ) -> Kernel[ForwardDynamicsDerivatives]: ...
    @overload
    def compile(
        self,
        quantity: Names,
        *,
        derivative: Names | None = None,
        method: Names | None = None,
        dtype: DTypeLike = ...,
        device: Literal["cpu"] = "cpu",
    ) -> Kernel: ...
    @overload
    def compile(
        self,
        quantity: Names,
        *,
        derivative: Names | None = None,
        method: Names | None = None,
        dtype: DTypeLike = ...,
        device: Literal["cuda"],
        layout: Layout = "rows",
    ) -> CudaKernel: ...
    def compile(
        self,
        quantity: Names,
        *,
        derivative: Names | None = None,
        method: Names | None = None,
        dtype: DTypeLike = np.float64,
        device: str = "cpu",
        layout: str = "rows",
    ) -> Kernel | CudaKernel:
        """The kernel of a quantity: f(q), f(q, out=M), f(Q, threads=2); `f.count`, `f.program`, `f.method`.

        Without `method` the cheapest for this arm of the registry's fast ones.  float32 on request.
        Several quantities, ("mass_matrix", "bias_torque"), are one kernel that shares what they have in common and
        gives a named tuple; its inputs are all of theirs, once each.
        derivative="q", or ("q", "qd"): the derivatives by these inputs instead of the quantity, `mass_matrix_dq` with
        the input's axis last; see docs/derivatives.md.
        device="cuda": a kernel for batches on a graphics card, of CuPy, torch or JAX arrays, (B, n) or, with
        layout="columns", (n, B); see docs/gpu.md.
        """
        by = _inputs(quantity, derivative)
        named = method if method is None or isinstance(method, str) == isinstance(quantity, str) else None
        if named is None and method is not None:
            raise UnknownNameError(f"method: expected a name for each of {quantity!r}; got {method!r}")
        if device == "cuda":
            return self._on_card(quantity, named, dtype, layout, by)
        if device != "cpu":
            raise ElbowroomError(f"device: expected 'cpu' or 'cuda'; got {device!r}")
        if layout != "rows":
            raise ElbowroomError(f"layout: the CPU takes 'rows', (B, n); got {layout!r}")
        return self._kernel(quantity, method=named, dtype=dtype, derivative=by)

    def _on_card(
        self, name: Names, method: Names | None, dtype: DTypeLike, layout: str, derivative: tuple[str, ...]
    ) -> CudaKernel:
        from ..compile import cuda  # not needed before

        key = (name, method, np.dtype(dtype).str, layout, derivative)
        with COMPILING:
            if key not in self._cuda_kernels:
                made = self._made(name, method, derivative)
                result = _result(name, derivative)
                self._cuda_kernels[key] = cuda.CudaKernel(*made, dtype, cast("Layout", layout), result)
            return self._cuda_kernels[key]

    def _made(self, name: Names, method: Names | None, derivative: tuple[str, ...] = ()) -> tuple[str, Program]:
        """The chosen method's name, and the program without loops."""
        from ..compile.cuda import spilling_cost  # not needed before

        if isinstance(name, tuple):
            found = dynamics.together(self._model, name, method if isinstance(method, tuple) else None)
        elif isinstance(method, str):
            found = method, dynamics.program(self._model, name, method)
        else:
            found = dynamics.cheapest(self._model, name, besides=spilling_cost)
        return found if not derivative else (found[0], found[1].jacobian(*derivative))

    def _kernel(
        self,
        name: Names,
        *,
        method: Names | None = None,
        dtype: DTypeLike = np.float64,
        derivative: tuple[str, ...] = (),
        **options: Unpack[Options],
    ) -> Kernel:
        kind = np.dtype(dtype).str
        key = (name, method, kind, derivative, *sorted(options.items()))
        kernel = self._kernels.get(key)
        if kernel is None:
            with COMPILING:  # threads that ask for the same at once get the same
                kernel = self._kernels.get(key)
                if kernel is None:
                    result = _result(name, derivative)  # an unknown name is refused before anything is looked up
                    choice = dynamics.Choice(name, method, tuple(sorted(options.items())), derivative)
                    kernel = compiled(choice, self._model, dtype=kind, result=result)
                self._kernels[key] = kernel
        return kernel

    def _pushed(
        self,
        name: str,
        inputs: tuple[ArrayLike, ...],
        wrench: ArrayLike,
        out: Any,
        derivative: tuple[str, ...] = (),
    ) -> Any:
        w = np.asarray(wrench)
        depth = np.ndim(inputs[0]) - 1
        inner = w.shape[depth:] if depth >= 0 else ()
        if inner not in ((6,), (self._model.n, 6)):
            self._refuse_wrench(name, np.shape(inputs[0]), w.shape)
        kernel = self._kernel(name, wrench="tool" if inner == (6,) else "links", derivative=derivative)
        return kernel(*inputs, w, out=out)

    def _refuse_wrench(self, name: str, state: tuple[int, ...], got: tuple[int, ...]) -> NoReturn:
        raise ShapeError(
            f"{name}: wrench must have shape (6,) at the tool or ({self._model.n}, 6) at the links, "
            f"with the batch axes of q {state}; got {got}"
        )


def _result(name: Names, derivative: tuple[str, ...]) -> Any:
    """The named tuple that a kernel gives, None where one is made for it, or where it gives one array."""
    results = [dynamics.quantity(each).result for each in ((name,) if isinstance(name, str) else name)]
    return results[0] if isinstance(name, str) and not derivative else None


def _inputs(quantity: Names, derivative: Names | None) -> tuple[str, ...]:
    """The inputs to differentiate by, which the quantities must have."""
    if derivative is None:
        return ()
    by = (derivative,) if isinstance(derivative, str) else tuple(derivative)
    names = (quantity,) if isinstance(quantity, str) else quantity
    known = list(dict.fromkeys(port for name in names for port in dynamics.quantity(name).inputs))
    for port in by:
        if port not in known:
            near = did_you_mean(port, known, 3, 0.5)
            raise UnknownNameError(
                f"derivative: {' and '.join(names)} has the inputs {', '.join(known)}; got {port!r}{near}"
            )
    if not by or len(set(by)) < len(by):
        raise UnknownNameError(f"derivative: expected one or more different inputs of {', '.join(known)}; got {by}")
    return by
