"""From LLVM IR text to functions in memory: this machine's CPU, object code, and loading it."""

from __future__ import annotations

import platform
import sys
from functools import cache
from typing import Any, NoReturn, Self

import llvmlite.binding as llvm

from .llvm import Target
from .lock import alone

# Code and constants lie together where llvmlite's own memory manager places them, and a constant is then one operand;
# in the model that LLVM takes otherwise, each needs its address in a register first.
_NEAR = sys.platform == "linux" and platform.machine() == "x86_64"
_MODEL = "small" if _NEAR else "jitdefault"


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
    )


@alone
def object_code(ir: str, target: Target) -> bytes:
    """The object file of a module.  Raises RuntimeError with LLVM's message if the text is wrong."""
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
