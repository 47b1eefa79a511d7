"""Pipeline: compiled kernels that run one after the other in a single native call, on arrays bound beforehand.

    steps = [
        Call(rows, (q, qd), own),                                   # inputs, out: as kernel(q, qd, out=own)
        Call(law, (q, qd, pairs, memory), results, checked=("pairs",)),
        Copy(results.memory, memory),                               # source, destination
        ToRing(results.row, ring, at),                              # into row at[0] of `ring`; FromRing: out of it
        Sound(results.go),                                          # ends the run where a number is not finite
    ]
    run = Pipeline(steps, takes=(q, qd)).run
    refused = run(q_now, qd_now)                                    # None, or Refused(step, kernel, input)

A call of a kernel from Python costs 0.1 to 0.5 us before its first step: arguments are checked, their places looked
up.  A pipeline does that once, when it is made.  What `takes` names are arrays that every run is given new numbers for:
the arguments are copied into them (an array without axes takes a Python float).

Before each kernel its checked inputs (all, unless said otherwise) are looked through, and at the first that has a NaN
or an infinity the run ends: what stood before has been computed, the rest has not.  The caller finds out by calling the
kernel itself, which raises with the place and the value.  What an earlier step was checked for, and none has written
since, is not looked through again.

A pipeline holds its arrays and kernels; do not give an array's memory away (`resize` with refcheck=False).  It keeps
the interpreter's lock, so runs in several threads follow each other, on the same arrays.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, NoReturn

import llvmlite
import numpy as np

from .. import disk_cache as disk
from ..algebra import Port
from ..errors import DtypeError, ShapeError
from . import engine, entry
from .cpu import Cpu
from .entry import FLAGS
from .kernel import Array, Kernel
from .llvm import ROOM
from .pipeline_code import BYTES, CHECK, CONTIGUOUS, FINE, FLOAT, TABLE, module


class Refused(NamedTuple):
    """Why a run ended early: an input of a kernel was not finite."""

    step: int  # its number
    kernel: str
    input: str


@dataclass(frozen=True, eq=False)
class Call:
    """One kernel on one state: `out` is an array, or as many as it has outputs; `checked` names inputs (None: all)."""

    kernel: Kernel
    inputs: Sequence[Array]
    out: Any
    checked: Collection[str] | None = None


@dataclass(frozen=True, eq=False)
class Copy:
    """One array's numbers into another."""

    source: Array
    to: Array


@dataclass(frozen=True, eq=False)
class FromRing:
    """A row of an array, whose number is in `at` (1,), into another array; the first row where there is no such."""

    ring: Array
    at: Array
    to: Array


@dataclass(frozen=True, eq=False)
class ToRing:
    """An array into that row of another."""

    source: Array
    ring: Array
    at: Array


@dataclass(frozen=True, eq=False)
class Sound:
    """Goes on only where an array's numbers are finite; a kernel writes an infinity there to end the run."""

    array: Array
    name: str = "sound"


Step = Call | Copy | FromRing | ToRing | Sound


class Span(NamedTuple):
    """The memory of an array without gaps: addresses from `start` up to `end`, and what lies there."""

    start: int
    end: int
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, array: Array) -> Span:
        """That of an array."""
        start = int(array.__array_interface__["data"][0])
        return cls(start, start + array.nbytes, array.dtype)

    def meets(self, other: Span) -> bool:
        """Whether they have a place in common."""
        return self.start < other.end and other.start < self.end and self.start < self.end and other.start < other.end

    def within(self, other: Span) -> bool:
        """Whether all of it lies in the other, and is read alike."""
        return other.start <= self.start and self.end <= other.end and self.dtype == other.dtype


class Pipeline:
    """Calls and copies in order, and the arrays that a run's arguments are copied into.

    `run` is the function to call.
    """

    run: Callable[..., Refused | None]

    def __init__(self, steps: Iterable[Step], *, takes: Sequence[Array] = ()) -> None:
        self.steps = tuple(steps)
        self.takes = tuple(takes)
        if not self.steps and not self.takes:
            raise ValueError("a pipeline needs one step at least, or an array to copy an argument into; got none")
        for k, array in enumerate(self.takes):
            _writable(f"takes[{k}]", _plain(f"takes[{k}]", array))
            if array.ndim == 0 and array.dtype != np.float64:
                raise DtypeError(f"takes[{k}]: an array that takes a float must be of float64; got {array.dtype}")
        self._kept: list[bytes] = []  # records
        self._sound: list[Span] = []  # looked through, and not written since
        refusals: list[Refused] = []
        records = [word for k, step in enumerate(self.steps) for word in self._step(k, step, refusals)]
        taken = [word for array in self.takes for word in self._taken(array)]
        self._refusals = tuple(refusals)
        entries = {
            "steps": self._keep(*records),
            "step_count": len(self.steps),
            "taken": self._keep(*taken),
            "taken_count": len(self.takes),
        }
        if supported():
            entries |= _objects() | {"fine": id(None), "refusals": id(self._refusals)}
        self._table = _words(*(entries.get(name, 0) for name in TABLE))
        self._native = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(_address("run"))
        self.run = self.general
        if supported():
            kept = tuple(self._kept), self._refusals, self.steps, self.takes
            self.run = entry.function("run", self.general, self._table, *kept)
            entry.enter(self.run, _address("entry"), _code())

    def __repr__(self) -> str:
        names = ", ".join(s.kernel.name if isinstance(s, Call) else type(s).__name__.lower() for s in self.steps)
        return f"<pipeline of {len(self.steps)} steps: {names}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Pipeline is bound to memory of this process and cannot be pickled or copied; make a new one")

    def general(self, *args: Any) -> Refused | None:
        """`run` for arguments of any kind: converts them, or says what is wrong."""
        if len(args) != len(self.takes):
            raise TypeError(f"this pipeline takes {len(self.takes)} arguments; got {len(args)}")
        arrays = []
        for k, (value, place) in enumerate(zip(args, self.takes, strict=True)):
            array = np.asarray(value)
            if array.dtype.kind not in "fiu":
                raise DtypeError(f"argument {k} must be real numbers; got dtype {array.dtype} from {value!r:.80}")
            if array.shape != place.shape:
                raise ShapeError(f"argument {k} must have shape {place.shape}; got {array.shape}")
            arrays.append(array)
        for array, place in zip(arrays, self.takes, strict=True):
            place[...] = array
        ended = self._native(entry.inside(self._table))
        return None if ended == FINE else self._refusals[ended]

    # ---- records
    def _keep(self, *words: int) -> int:
        """Where a record lies that is kept."""
        self._kept.append(_words(*words))
        return entry.inside(self._kept[-1])

    def _step(self, k: int, step: Step, refusals: list[Refused]) -> tuple[int, int, int, int]:
        if isinstance(step, Copy):
            return self._copy(k, step)
        if isinstance(step, FromRing | ToRing):
            return self._ring(k, step)
        if isinstance(step, Sound):
            array = _plain(f"step {k}: array", step.array)
            refusals.append(Refused(k, step.name, "array"))
            check = self._keep(array.ctypes.data, array.size, array.itemsize, len(refusals) - 1)
            return _address("nothing"), 0, check, 1
        if not isinstance(step, Call):
            raise TypeError(f"step {k} of a pipeline must be a Call or a Copy; got {step!r:.80}")
        kernel = step.kernel
        if not isinstance(kernel, Kernel) or not isinstance(kernel.backend, Cpu):
            raise TypeError(f"step {k}: expected a kernel of the CPU, as arm.compile makes it; got {kernel!r:.80}")
        ports = kernel.signature
        what = f"step {k}, {kernel.name}"
        inputs = _bound(f"{what}: inputs", ports.inputs, step.inputs, kernel.dtype)
        given = (step.out,) if isinstance(step.out, np.ndarray) else step.out
        outputs = _bound(f"{what}: out", ports.outputs, given, kernel.dtype)
        names = [p.name for p in ports.inputs]
        checked = names if step.checked is None else list(step.checked)
        if unknown := [name for name in checked if name not in names]:
            raise ValueError(f"{what}: checked must be of its inputs {', '.join(names)}; got {unknown}")
        read, written = [Span.of(x) for x in inputs], [Span.of(x) for x in outputs]
        for j, (port, array) in enumerate(zip(ports.outputs, outputs, strict=True)):
            _writable(f"{what}: out for {port.name}", array)
            others = zip((*names, *(p.name for p in ports.outputs[:j])), (*read, *written[:j]), strict=True)
            for other, span in others:
                if span.meets(written[j]):
                    raise ValueError(f"{what}: out for {port.name} lies on {other}; it must have memory of its own")
        checks: list[int] = []
        for name, array, span in zip(names, inputs, read, strict=True):
            if name in checked and not any(span.within(x) for x in self._sound):
                checks += (span.start, array.size, array.itemsize, len(refusals))
                refusals.append(Refused(k, kernel.name, name))
                self._sound.append(span)
        self._written(*written)
        pointers = self._keep(*(x.start for x in (*read, *written)))
        return kernel.backend.single, pointers, self._keep(*checks), len(checks) // len(CHECK)

    def _copy(self, k: int, step: Copy) -> tuple[int, int, int, int]:
        source, to = _plain(f"step {k}: source", step.source), _plain(f"step {k}: to", step.to)
        _writable(f"step {k}: to", to)
        if source.shape != to.shape or source.dtype != to.dtype:
            raise ShapeError(
                f"step {k}: source and to must be alike; "
                f"got {source.shape} of {source.dtype} and {to.shape} of {to.dtype}"
            )
        self._written(Span.of(to))
        return _address("copy"), self._keep(to.ctypes.data, source.ctypes.data, to.nbytes), 0, 0

    def _ring(self, k: int, step: FromRing | ToRing) -> tuple[int, int, int, int]:
        one = step.to if isinstance(step, FromRing) else step.source
        for name, array in (("ring", step.ring), ("array", one), ("at", step.at)):
            _plain(f"step {k}: {name}", array)
        if step.at.shape != (1,) or step.at.dtype != np.float64:
            raise ShapeError(f"step {k}: at must have shape (1,), of float64; got {step.at.shape} of {step.at.dtype}")
        if not len(step.ring) or step.ring.shape[1:] != one.shape or step.ring.dtype != one.dtype:
            raise ShapeError(
                f"step {k}: a row of the ring must be like the array; "
                f"got {step.ring.shape} of {step.ring.dtype} and {one.shape} of {one.dtype}"
            )
        to, source = (one, step.ring) if isinstance(step, FromRing) else (step.ring, one)
        _writable(f"step {k}: to", to)
        self._written(Span.of(to))
        words = to.ctypes.data, source.ctypes.data, one.nbytes, step.at.ctypes.data, len(step.ring)
        return _address("from_ring" if isinstance(step, FromRing) else "to_ring"), self._keep(*words), 0, 0

    def _written(self, *spans: Span) -> None:
        for span in spans:
            self._sound = [x for x in self._sound if not x.meets(span)]

    def _taken(self, array: Array) -> tuple[int, int, int, int, int]:
        descr = id(np.dtype(array.dtype.type)) if array.ndim else 0
        return descr, array.ndim, self._keep(*array.shape), array.nbytes, array.ctypes.data


def _bound(what: str, ports: tuple[Port, ...], arrays: Sequence[Array], dtype: np.dtype[Any]) -> list[Array]:
    if not isinstance(arrays, tuple | list) or len(arrays) != len(ports):
        got = len(arrays) if isinstance(arrays, tuple | list) else f"{arrays!r:.80}"
        raise ShapeError(f"{what} must be {len(ports)} arrays ({', '.join(p.name for p in ports)}); got {got}")
    for port, array in zip(ports, arrays, strict=True):
        _plain(f"{what} for {port.name}", array)
        if array.dtype != dtype:
            raise DtypeError(f"{what} for {port.name} must be of {dtype}; got {array.dtype}")
        if array.shape != port.shape:
            raise ShapeError(f"{what} for {port.name} must have shape {port.shape}; got {array.shape}")
    return list(arrays)


def _plain(what: str, array: Any) -> Array:
    """The array, if its numbers lie as kernels read them."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{what} must be an array that can be bound; got {array!r:.80}")
    if array.dtype not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise DtypeError(f"{what} must be of float64 or float32; got {array.dtype}")
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise ValueError(f"{what} must be contiguous and aligned; got strides {array.strides} of shape {array.shape}")
    return array


def _writable(what: str, array: Array) -> None:
    if not array.flags.writeable:
        raise ValueError(f"{what} is read-only")


def _words(*values: int) -> bytes:
    return struct.pack(f"{len(values)}q", *values)


@cache
def supported() -> bool:
    """Whether this interpreter's objects are laid out as the emitted function expects (else ctypes calls the code)."""
    if not entry.supported():
        return False
    text, number, array = b"records", 1.5, np.zeros((2, 3))
    flags = [ctypes.c_int32.from_address(id(x) + FLAGS).value for x in (array, array[:, :2])]
    return (
        entry.inside(text) == id(text) + BYTES
        and ctypes.c_double.from_address(id(number) + FLOAT).value == number
        and [flag & CONTIGUOUS for flag in flags] == [CONTIGUOUS, 0]
    )


@cache
def _objects() -> dict[str, int]:
    """Types and functions of CPython."""
    known = entry.addresses()
    return {"float": id(float), **{name: known[name] for name in ("ndarray", "vectorcall", "incref")}}


@cache
def _code() -> engine.Loaded:
    """The code that runs any pipeline."""
    target = engine.host()
    name = disk.key("pipeline", target, llvmlite.__version__)
    found = disk.load(name)
    if found is None:
        found = {}, engine.object_code(module(ROOM), target)
        disk.store(name, *found)
    return engine.Loaded(found[1])


@cache
def _address(function: str) -> int:
    return _code().address(function)
