"""A CPython function written in LLVM IR: checks, allocation and kernel in one call, without ctypes.

    arm.mass_matrix(q)          arm.mass_matrix(q, out=M)           kernel(q, out=kernel.empty())

takes this way when every argument is a plain float64 array of the kernel's shape, contiguous and finite.  Anything else
(lists, batches, float32, NaN, a wrong shape, keywords) is handed to the kernel's Python `__call__`, which computes it
or says what is wrong.  The code reads CPython's and NumPy's objects at the offsets below; `supported` checks on real
arrays that they are where we look, and where they are not (another interpreter, a free-threaded build) the Python way
serves alone.

Addresses of this process (types, functions) are not in the code, which is cached on disk, but in a table that `bind`
hands over after loading.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..algebra import Port, Program, Rolled, Table

TYPE = 8  # offsets in bytes: object's type
DATA, NDIM, DIMS, STRIDES, DESCR, FLAGS = 16, 24, 32, 40, 56, 64  # ndarray
TUPLE_SIZE, TUPLE_ITEMS = 16, 24
ALIGNED, WRITEABLE = 0x100, 0x400
SUMS = 8  # that the check for NaN keeps apart
NEW_FROM_DESCR = 94  # place in NumPy's C API table
TABLE = ("ndarray", "float64", "new_from_descr", "vectorcall", "out", "new_float", "incref", "allocate", "bundle")
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
def _addresses() -> dict[str, int]:
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
        "allocate": address(python.PyType_GenericAlloc),
        "bundle": 0,
    }


def table(bundle: type | None) -> Any:
    """The table for one kernel's `bind`; it must outlive the code.  `bundle` is the named tuple of several outputs."""
    entries = _addresses() | ({} if bundle is None else {"bundle": id(bundle)})
    return (ctypes.c_void_p * len(TABLE))(*(entries[name] for name in TABLE))


def function(name: str, address: int, slow: Callable[..., Any], *kept: Any) -> Any:
    """The Python function at `address`, with `slow` to fall back on; it keeps `kept` alive.

    CPython reads a function's PyMethodDef until the very end of the function's life, also while the garbage collector
    takes a cycle apart.  So the definition is bytes, which nothing clears, held by the function's own `self`: a tuple
    of the fallback, which the emitted code calls, and of everything that must live on.
    """
    title, told = name.encode() + b"\0", (slow.__doc__ or "").encode() + b"\0"
    definition = struct.pack("PPi4xP", _inside(title), address, FASTCALL_WITH_KEYWORDS, _inside(told))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(_inside(definition), (slow, title, told, definition, *kept), None)


def _inside(data: bytes) -> int:
    """Where the content of a bytes object is."""
    return int(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0)


def fits(inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> bool:
    """Whether an entry can be written for these ports."""
    return bool(inputs) and all(p.shape for p in inputs) and (len(outputs) == 1 or all(p.shape for p in outputs))


def emit(program: Program | Table | Rolled) -> str:
    """IR of `entry` and `bind`; nothing for a Program with scalar inputs or several outputs of which one is scalar."""
    if not fits(program.inputs, program.outputs):
        return ""
    return "\n".join(_Entry(program).lines)


class _Entry:
    def __init__(self, program: Program | Table | Rolled) -> None:
        self.program = program
        self.lines: list[str] = []
        self._next = 0
        self._write()

    def put(self, text: str) -> str:
        self._next += 1
        self.lines.append(f"  %e{self._next} = {text}")
        return f"%e{self._next}"

    def field(self, kind: str, where: str, offset: int) -> str:
        return self.put(f"load {kind}, ptr {self.put(f'getelementptr i8, ptr {where}, i64 {offset}')}")

    def of_table(self, name: str) -> str:
        table = self.put("load ptr, ptr @table")
        return self.put(f"load ptr, ptr {self.put(f'getelementptr ptr, ptr {table}, i64 {TABLE.index(name)}')}")

    def proceed_if(self, condition: str, otherwise: str = "slow") -> None:
        """Go on where the condition holds, else to another place."""
        self._next += 1
        self.lines.append(f"  br i1 {condition}, label %go{self._next}, label %{otherwise}")
        self.lines.append(f"go{self._next}:")

    def _write(self) -> None:
        inputs = self.program.inputs
        self.lines += [
            "@table = internal global ptr null",
            "define void @bind(ptr %t) {",
            "  store ptr %t, ptr @table",
            "  ret void",
            "}",
            "define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %names) {",
        ]
        self.proceed_if(self.put(f"icmp eq i64 %nargs, {len(inputs)}"))
        data = []
        for k, port in enumerate(inputs):
            array = self.put(f"load ptr, ptr {self.put(f'getelementptr ptr, ptr %args, i64 {k}')}")
            self.plain(array, port, ALIGNED)
            data.append(self.field("ptr", array, DATA))
        self.finite(data)
        arguments = ", ".join(f"ptr {d}" for d in data)
        self.lines.append(f"  br i1 {self.put('icmp eq ptr %names, null')}, label %fresh, label %named")
        self.lines.append("named:")
        self.into_given(arguments, data)
        self.lines.append("fresh:")
        self.into_new(arguments)
        self.lines.append("slow:")
        slow, call = self.field("ptr", "%self", TUPLE_ITEMS), self.of_table("vectorcall")
        self.lines += [f"  %r = call ptr {call}(ptr {slow}, ptr %args, i64 %nargs, ptr %names)", "  ret ptr %r"]
        self.lines += ["nothing:", "  ret ptr null", "}"]

    def plain(self, array: str, port: Port, flags: int) -> None:
        """Go on if the object is a contiguous float64 ndarray of the port's shape."""
        self.proceed_if(self.put(f"icmp eq ptr {self.field('ptr', array, TYPE)}, {self.of_table('ndarray')}"))
        self.proceed_if(self.put(f"icmp eq ptr {self.field('ptr', array, DESCR)}, {self.of_table('float64')}"))
        self.proceed_if(self.put(f"icmp eq i32 {self.field('i32', array, NDIM)}, {len(port.shape)}"))
        dims, strides = self.field("ptr", array, DIMS), self.field("ptr", array, STRIDES)
        fits = self.flags_set(array, flags)
        stride = 8
        for axis in reversed(range(len(port.shape))):
            right = self.put(f"icmp eq i64 {self.field('i64', dims, 8 * axis)}, {port.shape[axis]}")
            fits = self.put(f"and i1 {fits}, {right}")
            right = self.put(f"icmp eq i64 {self.field('i64', strides, 8 * axis)}, {stride}")
            fits = self.put(f"and i1 {fits}, {right}")
            stride *= port.shape[axis]
        self.proceed_if(fits)

    def flags_set(self, array: str, flags: int) -> str:
        found = self.put(f"and i32 {self.field('i32', array, FLAGS)}, {flags}")
        return self.put(f"icmp eq i32 {found}, {flags}")

    def finite(self, data: list[str]) -> None:
        """Go on if no input is NaN or infinite: then x - x is zero, in several sums that do not wait for each other."""
        sums, turn, tail = ["zeroinitializer"] * SUMS, 0, "0.0"
        for where, port in zip(data, self.program.inputs, strict=True):
            whole = port.size - port.size % 4
            for start in range(0, whole, 4):
                at = self.put(f"getelementptr double, ptr {where}, i64 {start}")
                x = self.put(f"load <4 x double>, ptr {at}, align 8")
                sums[turn] = self.put(f"fadd <4 x double> {sums[turn]}, {self.put(f'fsub <4 x double> {x}, {x}')}")
                turn = (turn + 1) % SUMS
            for k in range(whole, port.size):
                x = self.put(f"load double, ptr {self.put(f'getelementptr double, ptr {where}, i64 {k}')}")
                tail = self.put(f"fadd double {tail}, {self.put(f'fsub double {x}, {x}')}")
        total = "zeroinitializer"
        for part in sums:
            total = self.put(f"fadd <4 x double> {total}, {part}")
        for lane in range(4):
            x = self.put(f"extractelement <4 x double> {total}, i32 {lane}")
            tail = self.put(f"fadd double {tail}, {x}")
        self.proceed_if(self.put(f"fcmp oeq double {tail}, 0.0"))

    def apart(self, x: str, x_size: int, y: str, y_size: int) -> str:
        """Whether two arrays of doubles share no memory."""
        x_end = self.put(f"getelementptr double, ptr {x}, i64 {x_size}")
        y_end = self.put(f"getelementptr double, ptr {y}, i64 {y_size}")
        return self.put(f"or i1 {self.put(f'icmp ule ptr {x_end}, {y}')}, {self.put(f'icmp ule ptr {y_end}, {x}')}")

    def into_given(self, arguments: str, data: list[str]) -> None:
        """f(q, out=M): one keyword, named `out`, with a writeable array that lies on no input.

        Of several outputs a named tuple of such arrays, as `Kernel.empty` makes it, none on another.
        """
        self.proceed_if(self.put(f"icmp eq i64 {self.field('i64', '%names', TUPLE_SIZE)}, 1"))
        self.proceed_if(self.put(f"icmp eq ptr {self.field('ptr', '%names', TUPLE_ITEMS)}, {self.of_table('out')}"))
        given = self.put(f"load ptr, ptr {self.put(f'getelementptr ptr, ptr %args, i64 {len(self.program.inputs)}')}")
        outputs = self.program.outputs
        arrays = [given]
        if len(outputs) > 1:
            self.proceed_if(self.put(f"icmp eq ptr {self.field('ptr', given, TYPE)}, {self.of_table('bundle')}"))
            arrays = [self.field("ptr", given, TUPLE_ITEMS + 8 * k) for k in range(len(outputs))]
        others = [(where, port.size) for where, port in zip(data, self.program.inputs, strict=True)]
        places = []
        for array, port in zip(arrays, outputs, strict=True):
            self.plain(array, port, ALIGNED | WRITEABLE)
            place = self.field("ptr", array, DATA)
            for where, size in others:
                self.proceed_if(self.apart(place, port.size, where, size))
            others.append((place, port.size))
            places.append(f"ptr {place}")
        self.lines.append(f"  call void @one({arguments}, {', '.join(places)})")
        self.lines.append(f"  call void {self.of_table('incref')}(ptr {given})")
        self.lines.append(f"  ret ptr {given}")

    def into_new(self, arguments: str) -> None:
        """f(q): a new array, a float for a scalar, or a named tuple of new arrays."""
        outputs = self.program.outputs
        if not outputs[0].shape:
            number = self.put("alloca double")
            self.lines.append(f"  call void @one({arguments}, ptr {number})")
            value = self.put(f"load double, ptr {number}")
            result = self.put(f"call ptr {self.of_table('new_float')}(double {value})")
            self.lines.append(f"  ret ptr {result}")
            return
        arrays = [self.new_array(port) for port in outputs]
        places = ", ".join(f"ptr {self.field('ptr', array, DATA)}" for array in arrays)
        self.lines.append(f"  call void @one({arguments}, {places})")
        if len(arrays) == 1:
            self.lines.append(f"  ret ptr {arrays[0]}")
            return
        together = self.put(f"call ptr {self.of_table('allocate')}(ptr {self.of_table('bundle')}, i64 {len(arrays)})")
        self.or_nothing(together)
        for k, array in enumerate(arrays):
            at = self.put(f"getelementptr i8, ptr {together}, i64 {TUPLE_ITEMS + 8 * k}")
            self.lines.append(f"  store ptr {array}, ptr {at}")
        self.lines.append(f"  ret ptr {together}")

    def new_array(self, port: Port) -> str:
        dims = self.put(f"alloca [{len(port.shape)} x i64]")
        for axis, size in enumerate(port.shape):
            at = self.put(f"getelementptr i64, ptr {dims}, i64 {axis}")
            self.lines.append(f"  store i64 {size}, ptr {at}")
        descr = self.of_table("float64")
        self.lines.append(f"  call void {self.of_table('incref')}(ptr {descr})")  # the new array keeps it
        array = self.put(
            f"call ptr {self.of_table('new_from_descr')}(ptr {self.of_table('ndarray')}, ptr {descr}, "
            f"i32 {len(port.shape)}, ptr {dims}, ptr null, ptr null, i32 0, ptr null)"
        )
        self.or_nothing(array)
        return array

    def or_nothing(self, made: str) -> None:
        """Give up with the error that is set if there was no memory."""
        self.proceed_if(self.put(f"icmp ne ptr {made}, null"), otherwise="nothing")
