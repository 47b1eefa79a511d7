"""Kernels in torch and JAX, with gradients from vector-Jacobian kernels.

A kernel that is called with tensors of torch, or with arrays or tracers of JAX, answers in kind.  What is made for a
framework is imported when one of its arrays comes along, never before.
"""

from __future__ import annotations

import sys
from typing import Any

from ...algebra import Program, Repeated, Rolled, Sliced
from ...errors import ElbowroomError


def framework(values: list[Any]) -> str:
    """The framework that one of the values is of, torch or jax; empty if none is."""
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")  # who has such an array has imported it
    for x in values:
        if torch is not None and isinstance(x, torch.Tensor):
            return "torch"
        if jax is not None and isinstance(x, jax.Array):  # tracers are instances, too
            return "jax"
    return ""


def traced_by_jax(values: list[Any]) -> bool:
    """Whether JAX is tracing: its compiled code, or a derivative, asks for the kernel."""
    jax = sys.modules.get("jax")
    tracer: Any = getattr(getattr(jax, "core", None), "Tracer", ())
    return any(isinstance(x, tracer) for x in values)


def call(kernel: Any, which: str, values: list[Any]) -> Any:
    """The kernel's answer as arrays of a framework: one, or a named tuple."""
    if which == "torch":
        from . import torch_function

        results = torch_function.results(kernel, values)
    else:
        from . import jax_function

        results = jax_function.results(kernel, values)
    made = kernel._bundle
    return results[0] if made is None else made(*results)


def product(kernel: Any, which: str, of: tuple[str, ...]) -> Any:
    """The kernel of a program's `vjp` or `jvp` by these inputs."""
    program = kernel.program
    if not hasattr(program, which) or (kernel.on_card and not isinstance(program, Program)):
        where = " on a card" if kernel.on_card else ""
        raise ElbowroomError(f"{kernel.name}: a {type(program).__name__}{where} has no {which}")
    return kernel.like(getattr(program, which)(*of))


def adjoint(kernel: Any) -> Any:
    """The kernel of a kernel's vector-Jacobian products by all its inputs, made when first asked for."""
    found = vars(kernel).get("_adjoint")
    if found is None:
        program = kernel.program
        if not isinstance(program, Program | Rolled | Sliced | Repeated) or (
            kernel.on_card and not isinstance(program, Program)
        ):
            where = " on a card" if kernel.on_card else ""
            raise ElbowroomError(f"{kernel.name}: a {type(program).__name__}{where} has no gradients")
        found = kernel.like(program.vjp())
        vars(kernel)["_adjoint"] = found
    return found
