"""From LLVM IR text to functions in memory: this machine's CPU, object code, loading it, and the lock of all that.

There is one lock for the process, as LLVM's context is one.  A fork waits for it and for llvmlite's own: a child has
none of its parent's other threads, so what one of them was changing would stay half changed there, and a lock that it
held would stay locked.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import os
import platform
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any, NoReturn, ParamSpec, Self, TypeVar

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from .llvm import Target

# Code and constants lie together where llvmlite's own memory manager places them, and a constant is then one operand;
# in the model that LLVM takes otherwise, each needs its address in a register first.
_NEAR = sys.platform == "linux" and platform.machine() == "x86_64"
_MODEL = "small" if _NEAR else "jitdefault"

P = ParamSpec("P")
R = TypeVar("R")

COMPILING = threading.RLock()
_LLVM: Any = getattr(ffi.lib, "_lock", nullcontext())  # held in every call into LLVM, also where an object of it dies


def alone(function: Callable[P, R]) -> Callable[P, R]:
    """A function that holds the lock."""

    @functools.wraps(function)
    def locked(*args: P.args, **named: P.kwargs) -> R:
        with COMPILING:
            return function(*args, **named)

    return locked


@contextmanager
def no_collection() -> Iterator[None]:
    """No garbage is collected: a trace makes many objects that live, and looking at them is a third of its time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _before_fork() -> None:
    COMPILING.acquire()
    _LLVM.__enter__()


def _after_fork() -> None:
    _LLVM.__exit__(None, None, None)
    COMPILING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@cache
def _initialized() -> bool:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return True


@cache
def host() -> Target:
    """This machine's CPU."""
    _initialized()
    features = llvm.get_host_cpu_features()
    arm = llvm.get_process_triple().startswith(("aarch64", "arm64"))
    bits = 512 if features.get("avx512f") else 256 if features.get("avx2") else 128
    return Target(
        cpu=llvm.get_host_cpu_name(),
        features=features.flatten(),
        vector_bits=bits,
        fma=arm or bool(features.get("fma")),
        registers=32 if arm or features.get("avx512vl") else 16,
    )


KEPT = 16 * 1024 * 1024  # bytes of object code that a process keeps for the next kernel of the same text
_MADE: dict[tuple[bytes, Target], bytes] = {}  # digest of the text, CPU -> object file; what was asked for last is last


@alone
def object_code(ir: str, target: Target) -> bytes:
    """The object file of a module.  Raises RuntimeError with LLVM's message if the text is wrong.

    Kernels of two settings often have one text, and that is compiled once a process.
    """
    name = hashlib.sha256(ir.encode()).digest(), target
    code = _MADE.pop(name, None) or _emitted(ir, target)
    _MADE[name] = code
    too_much = sum(map(len, _MADE.values())) - KEPT
    while too_much > 0:
        too_much -= len(_MADE.pop(next(iter(_MADE))))
    return code


@alone
def forget() -> None:
    """Keeps nothing that was compiled: the next kernel is compiled whatever was before."""
    _MADE.clear()


def _emitted(ir: str, target: Target) -> bytes:
    _initialized()
    module = llvm.parse_assembly(ir)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=target.cpu, features=target.features, opt=1, reloc="pic", codemodel=_MODEL
    )  # opt 2 and 3 take longer and gain nothing on straight-line code
    return bytes(machine.emit_object(module))


class OfThisProcess:
    """Machine code never changes and lies where it lies: a copy of what holds it is itself, and it cannot be pickled.

    llvmlite's own objects must not be copied at all: they end by freeing what is the original's.
    """

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"machine code ({type(self).__name__}) is of this process alone; pickle its kernel instead")


class Loaded(OfThisProcess):
    """Object code in memory; its functions live as long as this does."""

    @alone
    def __init__(self, code: bytes) -> None:
        _initialized()
        machine = llvm.Target.from_default_triple().create_target_machine(codemodel="jitdefault")
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine, use_lmm=_NEAR or None)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function is."""
        return int(self._engine.get_function_address(name))
