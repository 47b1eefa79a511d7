"""Kernels as functions of torch tensors: autograd in reverse, to any order, and `torch.func.vmap`.

Forward-mode differentiation (`torch.func.jvp`, `jacfwd`) has no rule here: torch says so.  A kernel of the CPU takes
tensors of the CPU, one of a card those of that card; results have the kernel's dtype.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...errors import DtypeError
from . import adjoint


def results(kernel: Any, values: list[Any]) -> tuple[Any, ...]:
    """The outputs for tensors (or what torch makes one of)."""
    import torch

    device = "cuda" if kernel.on_card else "cpu"
    dtype = torch.float64 if kernel.dtype == np.float64 else torch.float32
    tensors = []
    for port, x in zip(kernel.signature.inputs, values, strict=True):
        tensor = x if isinstance(x, torch.Tensor) else torch.as_tensor(np.asarray(x), device=device)
        if tensor.device.type != device:
            raise DtypeError(f"{kernel.name}: {port.name} must be a tensor on the {device}; got one on {tensor.device}")
        if tensor.is_complex() or tensor.dtype == torch.bool:
            raise DtypeError(f"{kernel.name}: {port.name} must be real numbers; got dtype {tensor.dtype}")
        tensors.append(tensor.to(dtype))
    found: tuple[Any, ...] = _function().apply(kernel, *tensors)
    return found


@cache
def _function() -> Any:
    """The torch.autograd.Function that every kernel is called by."""
    import torch

    class KernelFunction(torch.autograd.Function):  # type: ignore[misc]  # torch is Any to the type checker
        """A kernel; its backward pass is the adjoint kernel, called the same way."""

        @staticmethod
        def forward(kernel: Any, *tensors: Any) -> Any:
            """The outputs."""
            return kernel.of_tensors([x.detach() for x in tensors])

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            """Keeps the inputs."""
            ctx.kernel = inputs[0]
            ctx.save_for_backward(*inputs[1:])

        @staticmethod
        def backward(ctx: Any, *bars: Any) -> tuple[Any, ...]:
            """The inputs' adjoints."""
            found = KernelFunction.apply(adjoint(ctx.kernel), *ctx.saved_tensors, *bars)
            ports = zip(ctx.kernel.signature.inputs, found, strict=True)
            return None, *(x.reshape(-1, *port.shape).sum(0) if port.shared else x for port, x in ports)

        @staticmethod
        def vmap(info: Any, in_dims: tuple[int | None, ...], kernel: Any, *tensors: Any) -> tuple[Any, Any]:
            """A batch is a leading axis, which kernels take anyhow."""
            leading = [
                x.expand(info.batch_size, *x.shape) if at is None else x.movedim(at, 0)
                for x, at in zip(tensors, in_dims[1:], strict=True)
            ]
            found = KernelFunction.apply(kernel, *leading)
            return found, (0,) * len(found)

    return KernelFunction
