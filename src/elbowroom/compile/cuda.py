"""The CUDA backend: a kernel for millions of states on a graphics card, through CuPy.

    f = arm.compile("mass_matrix", device="cuda")                     # (B, n) -> (B, n, n), as on the CPU
    f = arm.compile("mass_matrix", device="cuda", layout="columns")   # (n, B) -> (n, n, B)
    M = f(Q)                                                          # CuPy, torch or JAX in, the same out
    f(Q, out=M, check=False)                                          # queued on the current stream, nothing awaited

The steps are those of the CPU's kernels, and so are the roundings: the compiler may fuse nothing that `lower` did not.
Inputs that are not finite are found in passing and refused with `ValueError`, for which the call waits until the card
is done; with check=False it does not wait, and such a state's results are meaningless.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..algebra import Count, Port, Program, Repeated
from ..errors import DtypeError, ElbowroomError, ShapeError
from . import cuda_source
from .cuda_source import LAYOUTS, Layout
from .kernel import Signature, bound, bundle
from .source import Source, identifier
from .source_writer import Real

OPTIONS = ("-std=c++17", "--fmad=false")
"""For NVRTC.  No fusing on its own: `lower` chose what is fused, for all backends alike."""


def library() -> Any:
    """CuPy, if it is there and sees a card."""
    try:
        import cupy
    except ImportError as error:
        raise ElbowroomError(f"device 'cuda' needs CuPy (pip install '.[gpu]'): {error}") from error
    try:
        devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise ElbowroomError(f"device 'cuda': CuPy {cupy.__version__} finds no card: {error}") from error
    if not devices:
        raise ElbowroomError(f"device 'cuda': CuPy {cupy.__version__} finds no card")
    return cupy


class CudaKernel:
    """A compiled Program on the card.  Thread-safe: it keeps no state between calls."""

    def __init__(
        self,
        method: str,
        program: Program | Repeated,
        dtype: Any = np.float64,
        layout: Layout = "rows",
        result: type[tuple[Any, ...]] | None = None,
    ) -> None:
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.dtype(np.float64), np.dtype(np.float32)):
            raise DtypeError(f"dtype must be float64 or float32; got {self.dtype}")
        if layout not in LAYOUTS:
            raise ElbowroomError(f"layout: expected one of {', '.join(map(repr, LAYOUTS))}; got {layout!r}")
        self.signature = Signature(program.name, method, program.inputs, program.outputs)
        self.name, self.method, self.layout, self.program = program.name, method, layout, program
        self._result, self._bundle = result, bundle(self.name, program.outputs, result)

    @cached_property
    def _kernel(self) -> cuda_source.CudaText:
        """Its text for the current card; for any card where there is none."""
        try:
            shared = int(library().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])
        except ElbowroomError:
            shared = cuda_source.SHARED
        real: Real = "double" if self.dtype.itemsize == 8 else "float"
        return cuda_source.CudaText(self.program, real, self.layout, shared=shared)

    @property
    def source(self) -> Source:
        """The steps as they are written."""
        return self._kernel.source

    @property
    def count(self) -> Count:
        """The operations of one evaluation."""
        return self.program.count

    def __reduce__(self) -> tuple[type[CudaKernel], tuple[object, ...]]:  # compiled again where it arrives
        return type(self), (self.method, self.program, self.dtype, self.layout, self._result)

    @cached_property
    def text(self) -> str:
        """The CUDA text that is compiled."""
        return cuda_source.text(self._kernel, identifier(self.name))

    @cached_property
    def function(self) -> Any:
        """CuPy's kernel of it; its attributes tell the registers, local memory and shared memory it takes."""
        cupy = library()
        function = cupy.RawModule(code=self.text, options=OPTIONS).get_function(identifier(self.name))
        if self._kernel.dynamic:
            function.max_dynamic_shared_size_bytes = self._kernel.dynamic
        return function

    def __repr__(self) -> str:
        takes = ", ".join(f"{p.name} {self._shown(p, 'B')}" for p in self.signature.inputs)
        return f"<CUDA kernel {self.name}({takes}) by {self.method}, {self.dtype}, {self.layout}>"

    def __call__(self, *args: Any, out: Any = None, check: bool = True, **named: Any) -> Any:
        """The output for a batch; see the module's docstring."""
        cupy = library()
        ports = self.signature.inputs
        given = bound(self.name, ports, args, named)
        arrays = [self._taken(cupy, port, x) for port, x in zip(ports, given, strict=True)]
        batch = self._batch(arrays)
        if len({x.device.id for x in arrays}) > 1:
            told = ", ".join(f"{p.name} on {x.device.id}" for p, x in zip(ports, arrays, strict=True))
            raise ElbowroomError(f"{self.name}: inputs must be on one card; got {told}")
        with arrays[0].device:
            outputs = self._destinations(cupy, out, batch, arrays)
            self._launch(cupy, arrays, outputs, math.prod(batch), check)
        if out is not None:
            return out
        back = _like(given[0])
        results = [back(x) for x in outputs]
        return results[0] if self._bundle is None else self._bundle(*results)

    def _launch(self, cupy: Any, arrays: list[Any], outputs: list[Any], states: int, check: bool) -> None:
        if not states:
            return
        odd: Any = cupy.zeros(1, np.int32) if check else np.uint64(0)
        threads, shared = self._kernel.threads, self._kernel.dynamic
        given = (*arrays, *outputs, np.int64(states), odd)
        self.function((-(-states // threads),), (threads,), given, shared_mem=shared)
        if check and int(odd[0]):  # waits for the card
            for port, x in zip(self.signature.inputs, arrays, strict=True):
                if not bool(cupy.isfinite(x).all()):
                    raise ValueError(f"{self.name}: {port.name} must be finite; it has a NaN or an infinity")

    def _taken(self, cupy: Any, port: Port, x: Any) -> Any:
        """An input as a contiguous CuPy array of the right kind: a view where that can be."""
        array = _viewed(cupy, f"{self.name}: {port.name}", x)
        if array.dtype != self.dtype:
            raise DtypeError(
                f"{self.name}: {port.name} must be an array of {self.dtype} on the card; got {array.dtype} "
                f"(compile with dtype={str(array.dtype)!r}, or convert)"
            )
        inner = self._inner(port, array.shape)
        if inner != port.shape:
            raise ShapeError(f"{self.name}: {port.name} must have shape {self._shown(port, 'B')}; got {array.shape}")
        return cupy.ascontiguousarray(array)

    def _inner(self, port: Port, shape: tuple[int, ...]) -> tuple[int, ...]:
        own = len(port.shape)
        return shape[len(shape) - own :] if self.layout == "rows" else shape[:own]

    def _outer(self, port: Port, shape: tuple[int, ...]) -> tuple[int, ...]:
        own = len(port.shape)
        return shape[: len(shape) - own] if self.layout == "rows" else shape[own:]

    def _whole(self, port: Port, batch: tuple[int, ...]) -> tuple[int, ...]:
        return (*batch, *port.shape) if self.layout == "rows" else (*port.shape, *batch)

    def _shown(self, port: Port, batch: str) -> str:
        sides = [batch, *map(str, port.shape)] if self.layout == "rows" else [*map(str, port.shape), batch]
        return f"({', '.join(sides)}{',' if len(sides) == 1 else ''})"

    def _batch(self, arrays: list[Any]) -> tuple[int, ...]:
        ports = self.signature.inputs
        shapes = [self._outer(p, x.shape) for p, x in zip(ports, arrays, strict=True)]
        if any(s != shapes[0] for s in shapes):
            told = ", ".join(f"{p.name} {x.shape}" for p, x in zip(ports, arrays, strict=True))
            raise ShapeError(f"{self.name}: inputs must have one batch shape; got {told}")
        return shapes[0]

    def _destinations(self, cupy: Any, out: Any, batch: tuple[int, ...], inputs: list[Any]) -> list[Any]:
        ports = self.signature.outputs
        shapes = [self._whole(p, batch) for p in ports]
        if out is None:
            return [cupy.empty(s, self.dtype) for s in shapes]
        wanted = list(out) if self._bundle is not None else [out]
        if len(wanted) != len(shapes):
            raise ShapeError(f"{self.name}: out must be {len(shapes)} arrays; got {len(wanted)}")
        outputs: list[Any] = []
        for port, given, shape in zip(ports, wanted, shapes, strict=True):
            x = _viewed(cupy, f"{self.name}: out for {port.name}", given)
            if x.dtype != self.dtype:
                raise DtypeError(f"{self.name}: out for {port.name} must be an array of {self.dtype}; got {x.dtype}")
            if x.shape != shape or not x.flags.c_contiguous:
                kind = "contiguous" if x.flags.c_contiguous else "strided"
                raise ShapeError(
                    f"{self.name}: out for {port.name} must be contiguous, of shape {shape}; got {kind} {x.shape}"
                )
            if any(cupy.may_share_memory(x, other) for other in (*inputs, *outputs)):
                raise ValueError(f"{self.name}: out for {port.name} lies on an input or on another output")
            outputs.append(x)
        return outputs


def _viewed(cupy: Any, what: str, x: Any) -> Any:
    """An array on the card as CuPy's, without a copy."""
    if isinstance(x, cupy.ndarray):
        return x
    try:
        if hasattr(x, "__cuda_array_interface__"):
            return cupy.asarray(x)
        if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):
            return cupy.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise DtypeError(f"{what} must be an array on the card; this {type(x).__name__} is not: {error}") from error
    raise DtypeError(
        f"{what} must be an array on the card (CuPy, or what has DLPack or __cuda_array_interface__: torch, JAX); "
        f"got {type(x).__name__}; cupy.asarray(x) copies it there"
    )


def _like(x: Any) -> Callable[[Any], Any]:
    """What turns a result into an array of the library that x came from, on the same memory."""
    name = type(x).__module__.partition(".")[0]
    if name == "torch":
        import torch

        return lambda result: torch.from_dlpack(result)
    if name in ("jax", "jaxlib"):
        import jax

        return lambda result: jax.dlpack.from_dlpack(result)
    return lambda result: result
