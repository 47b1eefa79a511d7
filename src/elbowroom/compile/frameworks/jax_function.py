"""Kernels as functions of JAX arrays: under `jit`, `vmap` and `grad`, to any order.

On the CPU XLA calls the kernel's machine code (`jax_ffi`), where the installed JAX has that interface; otherwise, of
arrays on a card and of kernels in another precision, the kernel runs on the host (`jax.pure_callback`).  A batch is one
call.  The adjoint kernel is the rule for `jax.grad` and `jax.jacrev` (`jax.custom_vjp`).  `jax.jvp` and `jax.jacfwd`
have no rule: JAX says so.  Without jax_enable_x64 arrays are float32, and so are results; the kernel still computes in
its own dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DtypeError, ElbowroomError, ShapeError
from . import adjoint
from .jax_ffi import target


def results(kernel: Any, values: list[Any]) -> tuple[Any, ...]:
    """The outputs for arrays or tracers (or what JAX makes one of)."""
    import jax.numpy as jnp

    arrays = [jnp.asarray(x) for x in values]
    for port, x in zip(kernel.signature.inputs, arrays, strict=True):
        depth = x.ndim - len(port.shape)
        if depth < 0 or x.shape[depth:] != port.shape or (port.shared and depth):
            many = ", one for all states" if port.shared else " or a batch of it"
            raise ShapeError(f"{kernel.name}: {port.name} must have shape {port.shape}{many}; got {x.shape}")
        if not jnp.issubdtype(x.dtype, jnp.floating):
            raise DtypeError(f"{kernel.name}: {port.name} must be an array of floats; got {x.dtype}")
    found: tuple[Any, ...] = _function(kernel)(*arrays)
    return found


def _function(kernel: Any) -> Any:
    """The kernel as a function with a rule for its gradient, made once."""
    found = vars(kernel).get("_jax")
    if found is None:
        import jax

        found = jax.custom_vjp(lambda *xs: _computed(kernel, xs))
        found.defvjp(lambda *xs: (_function(kernel)(*xs), xs), lambda xs, bars: _backward(kernel, xs, bars))
        vars(kernel)["_jax"] = found
    return found


def _backward(kernel: Any, xs: tuple[Any, ...], bars: tuple[Any, ...]) -> tuple[Any, ...]:
    found = _function(adjoint(kernel))(*xs, *bars)
    ports = zip(kernel.signature.inputs, found, xs, strict=True)
    return tuple(
        (bar.reshape(-1, *port.shape).sum(0) if port.shared else bar).astype(x.dtype) for port, bar, x in ports
    )


def _computed(kernel: Any, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    import jax

    inputs, outputs = kernel.signature.inputs, kernel.signature.outputs
    batches = {x.shape[: x.ndim - len(port.shape)] for port, x in zip(inputs, xs, strict=True) if not port.shared}
    if len(batches) > 1:
        told = ", ".join(f"{port.name} {x.shape}" for port, x in zip(inputs, xs, strict=True))
        raise ShapeError(f"{kernel.name}: inputs must have one batch shape; got {told}")
    batch, dtype = batches.pop() if batches else (), jax.dtypes.canonicalize_dtype(kernel.dtype)
    shapes = tuple(jax.ShapeDtypeStruct((*batch, *port.shape), dtype) for port in outputs)

    if kernel.on_card:
        return _on_card(kernel, shapes, xs)

    def host(*arrays: Any) -> tuple[Any, ...]:
        found = kernel.of_arrays([np.asarray(x, kernel.dtype) for x in arrays])
        return tuple(np.asarray(x, dtype) for x in found)

    def called(*arrays: Any) -> Any:
        return tuple(jax.pure_callback(host, shapes, *arrays, vmap_method="broadcast_all"))

    if any(port.shared for port in inputs):
        return _sharing(kernel, called, xs)
    name = target(kernel) if dtype == kernel.dtype else None
    if name is None:
        return tuple(called(*xs))
    direct = jax.ffi.ffi_call(name, shapes, vmap_method="broadcast_all")
    found: tuple[Any, ...] = jax.lax.platform_dependent(
        *(x.astype(dtype) for x in xs), cpu=lambda *arrays: tuple(direct(*arrays)), default=called
    )
    return found


def _sharing(kernel: Any, called: Any, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """A kernel with inputs that all states share: `vmap` leaves those as they are, and refuses to go along them."""
    import jax
    import jax.numpy as jnp

    def batched(size: int, along: list[bool], *arrays: Any) -> Any:
        ports = kernel.signature.inputs
        for port, each in zip(ports, along, strict=True):
            if port.shared and each:
                raise ShapeError(
                    f"{kernel.name}: {port.name} is one for all states: in_axes of vmap must be None for it"
                )
        wide = [
            x if each or port.shared else jnp.broadcast_to(x, (size, *x.shape))
            for port, each, x in zip(ports, along, arrays, strict=True)
        ]
        found = _computed(kernel, tuple(wide))
        return found, (True,) * len(found)

    function = jax.custom_batching.custom_vmap(called)
    function.def_vmap(batched)
    return tuple(function(*xs))


def _on_card(kernel: Any, shapes: tuple[Any, ...], xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """A kernel of a card in XLA's stream there; what is not finite is not looked for."""
    import jax

    name = target(kernel) if kernel.layout == "rows" else None
    if name is None:
        raise ElbowroomError(
            f'{kernel.name}: JAX takes kernels of a card with layout="rows", without inputs that all states share, '
            "where its foreign function interface is one that is known"
        )
    if shapes[0].dtype != kernel.dtype:
        raise DtypeError(f"{kernel.name}: {kernel.dtype} on a card needs jax_enable_x64, or dtype='float32'")
    direct = jax.ffi.ffi_call(name, shapes, vmap_method="broadcast_all")
    return tuple(direct(*(x.astype(kernel.dtype) for x in xs)))
