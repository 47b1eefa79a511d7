"""A CPython function written in LLVM IR: checks, allocation and kernel in one call, without ctypes.

    arm.mass_matrix(q)          arm.mass_matrix(q, out=M)           kernel(q, out=kernel.empty())

takes this way when every argument is a plain float64 array of the kernel's shape, contiguous and finite, or every one a
batch of them along one axis in front.  Anything else (lists, float32, NaN, a wrong shape, more axes, other keywords) is
handed to the kernel's Python `__call__`, which computes it or says what is wrong.  The code (entry_code.py) reads
CPython's and NumPy's objects at offsets; `supported` checks on real arrays that they are where we look, and where they
are not (another interpreter, a free-threaded build) the Python way serves alone.

Addresses of this process (types, functions) are not in the code, which is cached on disk, but in a table that `bind`
hands over after loading.
"""

from __future__ import annotations

import ctypes
import inspect
import struct
import sys
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..algebra import Port
from .entry_code import (
    ALIGNED,
    DATA,
    DESCR,
    DIMS,
    FLAGS,
    NDIM,
    STRIDES,
    TABLE,
    TUPLE_ITEMS,
    TUPLE_SIZE,
    TYPE,
    WRITEABLE,
    Entry,
)
from .loops import Compilable

NEW_FROM_DESCR = 94  # place in NumPy's C API table
FASTCALL_WITH_KEYWORDS = 0x0080 | 0x0002


@cache
def supported() -> bool:
    """Whether this interpreter's objects are laid out as the emitted code expects, tried on arrays of several kinds."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or not _is_gil_enabled():
        return False
    for array in (np.arange(3.0), np.zeros((4, 2)), np.arange(12.0).reshape(3, 4)[:, ::2]):
        at = id(array)

        def word(offset: int, at: int = at) -> int:
            return ctypes.c_int64.from_address(at + offset).value

        nd = ctypes.c_int32.from_address(at + NDIM).value
        if nd != array.ndim or word(TYPE) != id(np.ndarray) or word(DATA) != array.__array_interface__["data"][0]:
            return False
        dims = (ctypes.c_int64 * nd).from_address(word(DIMS))
        strides = (ctypes.c_int64 * nd).from_address(word(STRIDES))
        flags = ctypes.c_int32.from_address(at + FLAGS).value
        if tuple(dims) != array.shape or tuple(strides) != array.strides or word(DESCR) != id(array.dtype):
            return False
        if not flags & ALIGNED or not flags & WRITEABLE:
            return False
    names = ("out",)
    return ctypes.c_int64.from_address(id(names) + TUPLE_SIZE).value == 1 and ctypes.c_int64.from_address(
        id(names) + TUPLE_ITEMS
    ).value == id(names[0])


def _is_gil_enabled() -> bool:
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


@cache
def addresses() -> dict[str, int]:
    """Where the types and functions are that every entry uses."""
    from numpy._core import multiarray

    python = ctypes.pythonapi
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    numpy_api = python.PyCapsule_GetPointer(multiarray._ARRAY_API, None)
    functions = ctypes.cast(numpy_api, ctypes.POINTER(ctypes.c_void_p))

    def address(function: Any) -> int:
        return int(ctypes.cast(function, ctypes.c_void_p).value or 0)

    return {
        "ndarray": id(np.ndarray),
        "float64": id(np.dtype(np.float64)),
        "new_from_descr": functions[NEW_FROM_DESCR],
        "vectorcall": address(python.PyObject_Vectorcall),
        "out": id(sys.intern("out")),
        "new_float": address(python.PyFloat_FromDouble),
        "incref": address(python.Py_IncRef),
        "decref": address(python.Py_DecRef),
        "allocate": address(python.PyType_GenericAlloc),
        "save_thread": address(python.PyEval_SaveThread),
        "restore_thread": address(python.PyEval_RestoreThread),
        "bundle": 0,
        "many": 0,
    }


def table(bundle: type | None) -> Any:
    """The table for one kernel's `bind`; it must outlive the code.  `bundle` is the named tuple of several outputs."""
    entries = addresses() | ({} if bundle is None else {"bundle": id(bundle)})
    return (ctypes.c_void_p * len(TABLE))(*(entries[name] for name in TABLE))


def offer(table: Any, many: int) -> None:
    """Tell an entry where the kernel's function for batches is: from now on it serves them too."""
    table[TABLE.index("many")] = many


class Held(tuple[Any, ...]):
    """The `self` of an emitted function: its fallback, where the emitted code looks for it, and what must live as long.

    CPython reads a function's PyMethodDef until the very end of the function's life, also while the garbage collector
    takes a cycle apart.  So the definition lies in bytes, which nothing clears, held by a tuple, which nothing clears.
    """

    __slots__ = ()

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The fallback's answer: all there is until the function has code."""
        return self[FALLBACK](*args, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        """CPython pickles a function as an attribute of its `self`: of one that has the fallback by that name."""
        return _namespace, (self[TITLE][:-1].decode(), self[FALLBACK])


FALLBACK, TITLE, DEFINITION, KEPT, MORE = 0, 1, 3, 4, 5  # in `Held`
METHOD = struct.calcsize("P")  # offset of ml_meth in a PyMethodDef


def _namespace(name: str, value: Any) -> SimpleNamespace:
    return SimpleNamespace(**{name: value})


def function(name: str, slow: Callable[..., Any], *more: Any) -> Any:
    """A CPython function that calls `slow`, until `enter` gives it code; with the name, words and signature of it.

    `more` is held too, from the place `MORE` on, where the code may look for it.
    """
    title, told = name.encode() + b"\0", _told(name, slow).encode() + b"\0"
    nothing_yet = addresses()["vectorcall"]  # takes what a method of this kind takes, and calls its `self`
    definition = bytearray(
        struct.pack("PPi4xP", inside(title), nothing_yet, FASTCALL_WITH_KEYWORDS, inside(told)),
    )
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    at = ctypes.addressof(ctypes.c_char.from_buffer(definition))
    return new(at, Held((slow, title, told, definition, [], *more)), None)


def enter(function: Any, address: int, *kept: Any) -> None:
    """Give the code at `address` to a function that has none yet, through every reference to it; it keeps `kept`."""
    held = getattr(function, "__self__", None)
    if isinstance(held, Held) and not held[KEPT]:
        held[KEPT].extend(kept)
        struct.pack_into("P", held[DEFINITION], METHOD, address)


def _told(name: str, slow: Callable[..., Any]) -> str:
    """A docstring as CPython wants it: with the signature in front, from which it is read again."""
    signature = inspect.signature(slow)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return f"{name}{inspect.Signature(bare)}\n--\n\n{slow.__doc__ or ''}"


def inside(data: bytes) -> int:
    """Where the content of a bytes object is."""
    return int(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0)


def fits(inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> bool:
    """Whether an entry can be written for these ports."""
    return bool(inputs) and all(p.shape for p in inputs) and (len(outputs) == 1 or all(p.shape for p in outputs))


def emit(program: Compilable) -> str:
    """IR of `entry` and `bind`; nothing for a Program with scalar inputs or several outputs of which one is scalar."""
    if not fits(program.inputs, program.outputs):
        return ""
    return "\n".join(Entry(program).lines)
