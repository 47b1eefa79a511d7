"""A CPython function written in LLVM IR: checks, allocation and kernel in one call, without ctypes.

    arm.mass_matrix(q)          arm.mass_matrix(q, out=M)           kernel(q, out=kernel.empty())

takes this way when every argument is a plain array of the kernel's dtype and shape, contiguous and finite, or every one
a batch of them along one axis in front.  Anything else (lists, another dtype, NaN, a wrong shape, more axes, other
keywords) is handed to the kernel's Python `__call__`, which computes it or says what is wrong.  The code reads
CPython's and NumPy's objects at offsets; `supported` checks on real arrays that they are where we look, and where they
are not (another interpreter, a free-threaded build) the Python way serves alone.

Addresses of this process (types, functions) are not in the code, which is cached on disk, but in a table that `bind`
hands over after loading.

    one state       every input a plain array of its port's shape          the check for NaN, then `one`
    a batch         every input a plain array with one axis in front       `many`, the interpreter's lock let go
"""

from __future__ import annotations

import ctypes
import inspect
import struct
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as np

from ..algebra import Port
from . import finite
from .finite import LANES, every_zero, zero_sum
from .ir import IrWriter
from .loops import DONE, Compilable
from .recycled import LARGE

TYPE = 8  # offsets in bytes: object's type
DATA, NDIM, DIMS, STRIDES, DESCR, FLAGS = 16, 24, 32, 40, 56, 64  # ndarray
TUPLE_SIZE, TUPLE_ITEMS = 16, 24
ALIGNED, WRITEABLE = 0x100, 0x400
TABLE = (  # what the code finds at run time: types, functions of CPython and NumPy
    "ndarray",
    "dtype",
    "new_from_descr",
    "vectorcall",
    "out",
    "new_float",
    "incref",
    "decref",
    "allocate",
    "save_thread",
    "restore_thread",
    "bundle",
    "many",
)


class EntryCode:
    """The lines of `entry` and `bind`."""

    def __init__(self, program: Compilable, scalar: str) -> None:
        self.program, self.scalar = program, scalar
        self.bytes = 8 if scalar == "double" else 4
        self.lines: list[str] = []
        self.count = ""  # how many states; empty for one
        self._next = 0
        self._write()

    def put(self, text: str) -> str:
        """A new register."""
        self._next += 1
        self.lines.append(f"  %e{self._next} = {text}")
        return f"%e{self._next}"

    def field(self, kind: str, where: str, offset: int) -> str:
        """What lies so many bytes behind an address."""
        return self.put(f"load {kind}, ptr {self.put(f'getelementptr i8, ptr {where}, i64 {offset}')}")

    def of_table(self, name: str) -> str:
        """A type or function that is found at run time."""
        table = self.put("load ptr, ptr @table")
        return self.put(f"load ptr, ptr {self.put(f'getelementptr ptr, ptr {table}, i64 {TABLE.index(name)}')}")

    def argument(self, k: int) -> str:
        """The k-th object that the caller gave."""
        return self.put(f"load ptr, ptr {self.put(f'getelementptr ptr, ptr %args, i64 {k}')}")

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
        first = self.argument(0)
        self.proceed_if(self.put(f"icmp eq ptr {self.field('ptr', first, TYPE)}, {self.of_table('ndarray')}"))
        deeper = self.put(f"icmp eq i32 {self.field('i32', first, NDIM)}, {len(inputs[0].shape) + 1}")
        self.lines.append(f"  br i1 {deeper}, label %batch, label %state")
        self.lines.append("state:")
        self.way("state")
        self.lines.append("batch:")
        self.count = self.field("i64", self.field("ptr", first, DIMS), 0)
        self.proceed_if(self.put(f"icmp sgt i64 {self.count}, 0"))
        self.proceed_if(self.put(f"icmp ne ptr {self.of_table('many')}, null"))  # compiled when first asked for
        self.way("batch")
        self.lines.append("slow:")
        slow, call = self.field("ptr", "%self", TUPLE_ITEMS), self.of_table("vectorcall")
        self.lines += [f"  %r = call ptr {call}(ptr {slow}, ptr %args, i64 %nargs, ptr %names)", "  ret ptr %r"]
        self.lines += ["nothing:", "  ret ptr null", "}"]

    def way(self, name: str) -> None:
        """From the arguments to the result, for one state or a batch."""
        data = []
        for k, port in enumerate(self.program.inputs):
            array = self.argument(k)
            self.plain(array, port, ALIGNED)
            data.append(self.field("ptr", array, DATA))
        if not self.count:
            self.finite(data)
        self.lines.append(f"  br i1 {self.put('icmp eq ptr %names, null')}, label %{name}_fresh, label %{name}_named")
        self.lines.append(f"{name}_named:")
        self.into_given(data)
        self.lines.append(f"{name}_fresh:")
        self.into_new(data)

    def plain(self, array: str, port: Port, flags: int) -> None:
        """Go on if the object is a contiguous ndarray of the dtype and of the port's shape, or a batch of it."""
        shape = self.shape(port)
        self.proceed_if(self.put(f"icmp eq ptr {self.field('ptr', array, TYPE)}, {self.of_table('ndarray')}"))
        self.proceed_if(self.put(f"icmp eq ptr {self.field('ptr', array, DESCR)}, {self.of_table('dtype')}"))
        self.proceed_if(self.put(f"icmp eq i32 {self.field('i32', array, NDIM)}, {len(shape)}"))
        dims, strides = self.field("ptr", array, DIMS), self.field("ptr", array, STRIDES)
        found = self.put(f"and i32 {self.field('i32', array, FLAGS)}, {flags}")
        fits = self.put(f"icmp eq i32 {found}, {flags}")
        stride = self.bytes
        for axis in reversed(range(len(shape))):
            right = self.put(f"icmp eq i64 {self.field('i64', dims, 8 * axis)}, {shape[axis]}")
            fits = self.put(f"and i1 {fits}, {right}")
            right = self.put(f"icmp eq i64 {self.field('i64', strides, 8 * axis)}, {stride}")
            fits = self.put(f"and i1 {fits}, {right}")
            stride *= port.shape[axis - len(shape)] if axis or not self.count else 1
        self.proceed_if(fits)

    def finite(self, data: list[str]) -> None:
        """Go on if no input is NaN or infinite: looked through in vectors, and what is left of them in scalars.

        Those of many numbers in a loop: written out, they take long to compile.
        """
        for where, port in zip(data, self.program.inputs, strict=True):
            if port.size > finite.MOST:
                self.proceed_if(self.put(f"call i1 @finite_rows(ptr {where}, i64 {port.size})"))
        vectors = IrWriter(self.scalar, LANES, fma=False, lines=self.lines)
        sizes = [port.size if port.size <= finite.MOST else 0 for port in self.program.inputs]
        total = zero_sum(vectors, [(where, size // LANES) for where, size in zip(data, sizes, strict=True)])
        fine = every_zero(vectors, total)
        scalars, left = vectors.widened(1), []
        for where, size in zip(data, sizes, strict=True):
            if size % LANES:
                rest = size % LANES
                left.append((self.put(f"getelementptr {self.scalar}, ptr {where}, i64 {size - rest}"), rest))
        if left:
            fine = self.put(f"and i1 {fine}, {every_zero(scalars, zero_sum(scalars, left))}")
        self.proceed_if(fine)

    def shape(self, port: Port) -> list[str]:
        """The axes of an array of this port: numbers, and the register that holds the batch's length."""
        return [*([self.count] if self.count else []), *map(str, port.shape)]

    def size(self, port: Port) -> str:
        """How many numbers an array of this port holds."""
        return self.put(f"mul i64 {self.count}, {port.size}") if self.count else str(port.size)

    def apart(self, x: str, x_size: str, y: str, y_size: str) -> str:
        """Whether two arrays share no memory."""
        x_end = self.put(f"getelementptr {self.scalar}, ptr {x}, i64 {x_size}")
        y_end = self.put(f"getelementptr {self.scalar}, ptr {y}, i64 {y_size}")
        return self.put(f"or i1 {self.put(f'icmp ule ptr {x_end}, {y}')}, {self.put(f'icmp ule ptr {y_end}, {x}')}")

    def compute(self, data: list[str], places: list[str], otherwise: str) -> None:
        """Call the kernel; where a batch stops, go elsewhere."""
        pointers = [*data, *places]
        if not self.count:
            self.lines.append(f"  call void @one({', '.join(f'ptr {p}' for p in pointers)})")
            return
        array = self.put(f"alloca [{len(pointers)} x ptr]")
        for k, pointer in enumerate(pointers):
            at = self.put(f"getelementptr ptr, ptr {array}, i64 {k}")
            self.lines.append(f"  store ptr {pointer}, ptr {at}")
        many = self.of_table("many")
        thread = self.put(f"call ptr {self.of_table('save_thread')}()")
        answer = self.put(f"call i64 {many}(ptr {array}, i64 {self.count})")
        self.lines.append(f"  call void {self.of_table('restore_thread')}(ptr {thread})")
        self.proceed_if(self.put(f"icmp eq i64 {answer}, {DONE}"), otherwise)

    def into_given(self, data: list[str]) -> None:
        """f(q, out=M): one keyword, named `out`, with a writeable array that lies on no input.

        Of several outputs a named tuple of such arrays, as `Kernel.empty` makes it, none on another.
        """
        self.proceed_if(self.put(f"icmp eq i64 {self.field('i64', '%names', TUPLE_SIZE)}, 1"))
        self.proceed_if(self.put(f"icmp eq ptr {self.field('ptr', '%names', TUPLE_ITEMS)}, {self.of_table('out')}"))
        given = self.argument(len(self.program.inputs))
        outputs = self.program.outputs
        arrays = [given]
        if len(outputs) > 1:
            self.proceed_if(self.put(f"icmp eq ptr {self.field('ptr', given, TYPE)}, {self.of_table('bundle')}"))
            # tuple.__new__ makes a named tuple of any length
            self.proceed_if(self.put(f"icmp eq i64 {self.field('i64', given, TUPLE_SIZE)}, {len(outputs)}"))
            arrays = [self.field("ptr", given, TUPLE_ITEMS + 8 * k) for k in range(len(outputs))]
        others = [(where, self.size(port)) for where, port in zip(data, self.program.inputs, strict=True)]
        places = []
        for array, port in zip(arrays, outputs, strict=True):
            self.plain(array, port, ALIGNED | WRITEABLE)
            place, size = self.field("ptr", array, DATA), self.size(port)
            for where, other in others:
                self.proceed_if(self.apart(place, size, where, other))
            others.append((place, size))
            places.append(place)
        self.compute(data, places, "slow")
        self.lines.append(f"  call void {self.of_table('incref')}(ptr {given})")
        self.lines.append(f"  ret ptr {given}")

    def into_new(self, data: list[str]) -> None:
        """f(q): a new array, a float for a scalar, or a named tuple of new arrays."""
        outputs = self.program.outputs
        if not outputs[0].shape and not self.count:
            number = self.put(f"alloca {self.scalar}")
            self.compute(data, [number], "slow")
            value = self.put(f"load {self.scalar}, ptr {number}")
            if self.scalar != "double":
                value = self.put(f"fpext {self.scalar} {value} to double")
            result = self.put(f"call ptr {self.of_table('new_float')}(double {value})")
            self.lines.append(f"  ret ptr {result}")
            return
        if self.count:  # memory of large results is used again, by the Python way
            state = self.bytes * max(port.size for port in outputs)
            self.proceed_if(self.put(f"icmp ult i64 {self.count}, {-(-LARGE // state)}"))
        arrays = [self.new_array(port) for port in outputs]
        self.compute(data, [self.field("ptr", array, DATA) for array in arrays], "undo")
        together = arrays[0]
        if len(arrays) > 1:
            kind = self.of_table("bundle")
            together = self.put(f"call ptr {self.of_table('allocate')}(ptr {kind}, i64 {len(arrays)})")
            self.or_nothing(together)
            for k, array in enumerate(arrays):
                at = self.put(f"getelementptr i8, ptr {together}, i64 {TUPLE_ITEMS + 8 * k}")
                self.lines.append(f"  store ptr {array}, ptr {at}")
        self.lines.append(f"  ret ptr {together}")
        if self.count:  # stopped at a NaN: the arrays go, and the Python way says where it is
            self.lines.append("undo:")
            for array in arrays:
                self.lines.append(f"  call void {self.of_table('decref')}(ptr {array})")
            self.lines.append("  br label %slow")

    def new_array(self, port: Port) -> str:
        """A new array for an output."""
        shape = self.shape(port)
        dims = self.put(f"alloca [{len(shape)} x i64]")
        for axis, size in enumerate(shape):
            at = self.put(f"getelementptr i64, ptr {dims}, i64 {axis}")
            self.lines.append(f"  store i64 {size}, ptr {at}")
        descr = self.of_table("dtype")
        self.lines.append(f"  call void {self.of_table('incref')}(ptr {descr})")  # the new array keeps it
        array = self.put(
            f"call ptr {self.of_table('new_from_descr')}(ptr {self.of_table('ndarray')}, ptr {descr}, "
            f"i32 {len(shape)}, ptr {dims}, ptr null, ptr null, i32 0, ptr null)"
        )
        self.or_nothing(array)
        return array

    def or_nothing(self, made: str) -> None:
        """Give up with the error that is set if there was no memory."""
        self.proceed_if(self.put(f"icmp ne ptr {made}, null"), otherwise="nothing")


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
        "dtype": 0,
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


def table(bundle: type | None, dtype: np.dtype[Any]) -> Any:
    """The table for one kernel's `bind`; it must outlive the code.  `bundle` is the named tuple of several outputs."""
    entries = addresses() | {"dtype": id(np.dtype(dtype.type))} | ({} if bundle is None else {"bundle": id(bundle)})
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
    arguments = _arguments_of(slow.__func__) if isinstance(slow, MethodType) else _arguments(slow)
    return f"{name}{arguments}\n--\n\n{slow.__doc__ or ''}"


def _arguments(slow: Callable[..., Any]) -> str:
    signature = inspect.signature(slow)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(inspect.Signature(bare))


@lru_cache(maxsize=256)  # methods of a few classes, for every object of theirs
def _arguments_of(method: Callable[..., Any]) -> str:
    """Those of a method, as one bound to an object takes them."""
    return _arguments(MethodType(method, method))


def inside(data: bytes) -> int:
    """Where the content of a bytes object is."""
    return int(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0)


def fits(inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> bool:
    """Whether an entry can be written for these ports."""
    shaped = bool(inputs) and all(p.shape and not p.shared for p in inputs)
    return shaped and (len(outputs) == 1 or all(p.shape for p in outputs))


def emit(program: Compilable, scalar: str) -> str:
    """IR of `entry` and `bind`; nothing for a Program with scalar inputs or several outputs of which one is scalar."""
    if not fits(program.inputs, program.outputs):
        return ""
    return "\n".join(EntryCode(program, scalar).lines)
