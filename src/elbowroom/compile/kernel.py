"""Kernel: a Program you can call.  Arrays in, arrays out, for one state or for many.

    f(q, qd)                    one state, (n,) each
    f(Q, Qd, threads=2)         a batch, (B, n) each: leading axes on every input or on none, but what all states share
    f(q, out=M)                 into an array of yours

    f(tensor)                   torch tensors, JAX arrays and tracers: answered in kind, with gradients (frameworks)

Whatever cannot be computed with is refused by name: a wrong shape or batch with `ShapeError`, a wrong dtype with
`DtypeError`, a NaN or an infinity with `ValueError`.  Lists, integers, read-only and strided arrays are taken.
A batch that is refused for a NaN has been computed in part: what `out` holds then means nothing.
"""

from __future__ import annotations

import math
import operator
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Protocol, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike

from ..algebra import Array as Array
from ..algebra import Count, Port
from ..errors import DtypeError, ShapeError
from .entry import function
from .frameworks import call, framework, product
from .loops import Compilable
from .recycled import fresh

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # one with a default, which Python itself has from 3.13 on

    R = TypeVar("R", default=Any)
else:
    from typing import TypeVar

    R = TypeVar("R")


def _whole(name: str, threads: SupportsIndex) -> int:
    try:
        count = operator.index(threads)
    except TypeError:
        count = 0
    if count < 1:
        raise ValueError(f"{name}: threads must be a whole number, at least 1; got {threads!r}")
    return count


@cache
def bundle(name: str, outputs: tuple[Port, ...], result: type[tuple[Any, ...]] | None = None) -> Any:
    """The named tuple for several outputs: `result`, or one that is made here; None for a single output.

    One that is made here pickles as what it is made of, since no module has its class.
    """
    if len(outputs) < 2:
        return None
    if result is not None:
        names, fields = tuple(p.name for p in outputs), getattr(result, "_fields", ())
        if fields != names:
            raise TypeError(f"{name}: result must be a named tuple with the fields {names}; got {result!r}")
        return result
    made = cast(Any, namedtuple(name.title().replace("_", ""), [p.name for p in outputs]))
    made.__reduce__ = lambda self: (_bundled, (name, outputs, tuple(self)))

    def no_shape(_: Any) -> Any:
        parts = ", ".join(p.name for p in outputs)
        raise AttributeError(
            f"{name} gives {len(outputs)} arrays, each with its own shape: {parts} = ...; np.vstack makes one of them"
        )

    made.shape = property(no_shape, doc="There is none; it says what to do.")
    return made


def _bundled(name: str, outputs: tuple[Port, ...], values: tuple[Any, ...]) -> Any:
    return bundle(name, outputs)(*values)


def bound(name: str, inputs: tuple[Port, ...], args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """The arguments in the inputs' order, each given once, by position or by name."""
    names = [p.name for p in inputs]
    if len(args) == len(names) and not named:
        return list(args)
    if len(args) > len(names):
        raise TypeError(f"{name} takes {len(names)} inputs ({', '.join(names)}); got {len(args)}")
    given = dict(zip(names, args, strict=False))
    for key, value in named.items():
        if key not in names or key in given:
            raise TypeError(f"{name} takes inputs {', '.join(names)}; got {key!r} twice or besides")
        given[key] = value
    if missing := [port for port in names if port not in given]:
        raise TypeError(f"{name} takes inputs {', '.join(names)}; missing: {', '.join(missing)}")
    return [given[port] for port in names]


class Backend(Protocol):
    """What turns contiguous inputs into contiguous outputs, all of one dtype."""

    def one(self, inputs: list[Array], outputs: list[Array]) -> None:
        """One state."""

    def many(self, inputs: list[Array], outputs: list[Array], batch: int, threads: int) -> bool:
        """`batch` states, row-major.  False if an input was not finite, where it stopped."""


@dataclass(frozen=True)
class Signature:
    """What a kernel takes and gives."""

    name: str
    method: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    def facts(self) -> dict[str, object]:
        """As JSON takes it."""
        ports = [[(p.name, p.shape, p.shared) for p in side] for side in (self.inputs, self.outputs)]
        return {"name": self.name, "method": self.method, "inputs": ports[0], "outputs": ports[1]}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Signature:
        """From what JSON gives back."""
        sides = (facts["inputs"], facts["outputs"])
        ports = [tuple(Port(name, tuple(shape), shared=shared) for name, shape, shared in side) for side in sides]
        return cls(facts["name"], facts["method"], *ports)


class Kernel(Generic[R]):
    """A compiled Program.  Thread-safe: it keeps no state between calls, so a copy of it is itself.

    It pickles as what made it (recipe.py), and is made again where it is unpickled.  For type checkers, `Kernel[R]`
    gives R: an array, a number or an array of them, or a named tuple of arrays.
    """

    def __init__(
        self,
        signature: Signature,
        backend: Backend,
        program: Callable[[], Compilable],
        *,
        dtype: Any = np.float64,
        entry: Callable[[Any], Callable[[Any], None] | None] | None = None,
        origin: tuple[Callable[..., Kernel], tuple[Any, ...]] | None = None,
        result: type[tuple[Any, ...]] | None = None,
    ) -> None:
        self.signature = signature
        self.backend = backend
        self.dtype = np.dtype(dtype)
        self.name, self.method = signature.name, signature.method
        self._program = program
        self._inputs, self._outputs = signature.inputs, signature.outputs
        self._bundle = bundle(self.name, self._outputs, result)
        self._enter = entry(self._bundle) if entry is not None else None
        self._fast = self.fast(self.general)
        self._origin = origin

    def fast(self, slow: Callable[..., Any]) -> Callable[..., Any]:
        """A function with the shortest way in for one state; for anything unusual it calls `slow`."""
        if self._enter is None:
            return slow
        made: Callable[..., Any] = function(self.name, slow)
        self._enter(made)
        return made

    def serve(self, waiting: Any) -> None:
        """From now on the kernel's code answers the calls of an emitted function that had none; others stay as is."""
        if self._enter is not None:
            self._enter(waiting)

    @property
    def program(self) -> Any:
        """What it was compiled from: a Program, mostly (traced now if the code came from the cache)."""
        return self._program()

    @property
    def identity(self) -> str | None:
        """What it goes by in the cache; None for one that has no place there."""
        return getattr(self._origin[1][0], "identity", None) if self._origin is not None and self._origin[1] else None

    @property
    def count(self) -> Count:
        """The operations of one evaluation."""
        return self.program.count

    def vjp(self, *of: str) -> Kernel:
        """The kernel of `program.vjp(*of)`, a vector times the Jacobian; compiled at every call, so keep it."""
        return cast("Kernel", product(self, "vjp", of))

    def jvp(self, *of: str) -> Kernel:
        """The kernel of `program.jvp(*of)`, the Jacobian times a vector; compiled at every call, so keep it."""
        return cast("Kernel", product(self, "jvp", of))

    def empty(self) -> R:
        """What `out=` takes for one state: an array, or a named tuple of arrays, still to be filled."""
        arrays: list[Any] = [np.empty(p.shape, self.dtype) for p in self._outputs]
        return arrays[0] if self._bundle is None else self._bundle(*arrays)

    def __copy__(self) -> Kernel[R]:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Kernel[R]:
        return self

    def __reduce__(self) -> tuple[Callable[..., Kernel], tuple[Any, ...]]:
        if self._origin is None:
            raise TypeError(f"{self!r} was made by hand and cannot be pickled; `compiled` makes one that can")
        return self._origin

    def __repr__(self) -> str:
        takes = ", ".join(f"{p.name} {p.shape}" for p in self._inputs)
        return f"<kernel {self.name}({takes}) by {self.method}, {self.dtype}>"

    def __call__(self, *args: ArrayLike, **named: Any) -> R:
        """The output for one state or a batch; see the module's docstring."""
        if "threads" in named and self._by_one_thread(args, named["threads"]):
            del named["threads"]  # the shortest way in takes it then
        return self._fast(*args, **named)

    def _by_one_thread(self, args: tuple[Any, ...], threads: object) -> bool:
        """Whether one thread does all of it, whatever is asked for."""
        if type(threads) is not int or threads < 1 or not args:
            return False  # which is for the general way to look at
        states = getattr(self.backend, "alone", 0)  # up to which it does
        return threads == 1 or (type(args[0]) is np.ndarray and args[0].size <= states * self._inputs[0].size)

    def general(self, *args: ArrayLike, out: Any = None, threads: int = 1, **named: ArrayLike) -> R:
        """The same by the way that takes everything: converts, checks, computes, or says what is wrong."""
        given = bound(self.name, self._inputs, args, named)
        if out is None and (which := framework(given)):
            answer: R = call(self, which, given)
            return answer
        arrays = [self._checked(port, value) for port, value in zip(self._inputs, given, strict=True)]
        batch = self._batch(arrays)
        threads = _whole(self.name, threads)
        outputs, copies = self._destinations(out, batch, arrays)
        if not batch:
            self._require_finite(arrays)
            self.backend.one(arrays, outputs)
        elif (states := math.prod(batch)) > 0 and not self.backend.many(arrays, outputs, states, threads):
            self._require_finite(arrays)
        for destination, result in copies:
            destination[...] = result
        given_back = [c[0] for c in copies] if copies else outputs
        if self._bundle is not None:
            return self._bundle(*given_back)
        only: Any = given_back[0]
        if only.ndim == 0 and out is None:
            only = float(only)
        return only

    # ---- for torch and JAX
    on_card = False

    def like(self, program: Compilable) -> Kernel:
        """A kernel of another program, for the same machine and dtype."""
        from .recipe import compiled  # which makes kernels

        return compiled(program, dtype=self.dtype)

    def of_arrays(self, arrays: list[Array]) -> tuple[Array, ...]:
        """The outputs, always several, for NumPy arrays."""
        found: Any = self.general(*arrays)
        return tuple(found) if self._bundle is not None else (np.asarray(found, self.dtype),)

    def of_tensors(self, tensors: list[Any]) -> tuple[Any, ...]:
        """The outputs, always several, for torch tensors without a history."""
        import torch

        return tuple(torch.from_numpy(x) for x in self.of_arrays([x.numpy() for x in tensors]))

    def _checked(self, port: Port, value: ArrayLike) -> Array:
        try:
            array = np.asarray(value)
        except ValueError as error:  # rows of different lengths
            raise ShapeError(f"{self.name}: {port.name} must be one array; got {value!r:.80} ({error})") from error
        if array.dtype != self.dtype:
            if array.dtype.kind not in "fiu":
                if array.dtype != object or array.size:
                    raise DtypeError(
                        f"{self.name}: {port.name} must be real numbers; got dtype {array.dtype} from {value!r:.80}"
                    )
                array = array.astype(self.dtype)
            array = array.astype(self.dtype)
        depth = array.ndim - len(port.shape)
        if depth < 0 or array.shape[depth:] != port.shape or (port.shared and depth):
            shape = ", ".join(map(str, port.shape))
            many = ", one for all states" if port.shared else f" or (B, {shape})"
            raise ShapeError(
                f"{self.name}: {port.name} must have shape ({shape}{',' if len(port.shape) == 1 else ''})"
                f"{many}; got {array.shape}"
            )
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise ValueError(f"{self.name}: {port.name} has masked entries; fill them first")
        return np.require(array, requirements=("C", "A"))

    def _require_finite(self, arrays: list[Array]) -> None:
        for port, array in zip(self._inputs, arrays, strict=True):
            if not np.isfinite(array).all():
                at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
                raise ValueError(f"{self.name}: {port.name} must be finite; got {array[at]} at {at}")

    def _batch(self, arrays: list[Array]) -> tuple[int, ...]:
        shapes = [a.shape[: a.ndim - len(p.shape)] for p, a in zip(self._inputs, arrays, strict=True) if not p.shared]
        if any(s != shapes[0] for s in shapes):
            told = ", ".join(f"{p.name} {a.shape}" for p, a in zip(self._inputs, arrays, strict=True))
            raise ShapeError(f"{self.name}: inputs must have one batch shape; got {told}")
        return shapes[0] if shapes else ()

    def _destinations(
        self, out: Any, batch: tuple[int, ...], inputs: list[Array]
    ) -> tuple[list[Array], list[tuple[Array, Array]]]:
        """Where the backend writes, and (yours, ours) pairs to copy: yours may be strided, or lie on an input."""
        shapes = [(*batch, *p.shape) for p in self._outputs]
        if out is None:
            return [fresh(s, self.dtype) for s in shapes], []
        wanted = list(out) if self._bundle is not None else [out]
        if len(wanted) != len(shapes):
            raise ShapeError(f"{self.name}: out must be {len(shapes)} arrays; got {len(wanted)}")
        outputs: list[Array] = []
        copies: list[tuple[Array, Array]] = []
        for port, array, shape in zip(self._outputs, wanted, shapes, strict=True):
            if not isinstance(array, np.ndarray) or array.dtype != self.dtype:
                got = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
                raise DtypeError(f"{self.name}: out for {port.name} must be an array of {self.dtype}; got {got}")
            if array.shape != shape:
                raise ShapeError(f"{self.name}: out for {port.name} must have shape {shape}; got {array.shape}")
            if not array.flags.writeable:
                raise ValueError(f"{self.name}: out for {port.name} is read-only")
            if any(np.may_share_memory(array, other) for other, _ in copies):
                raise ValueError(f"{self.name}: out for {port.name} lies on another of the outputs")
            plain = array.flags.carray and not any(np.may_share_memory(array, x) for x in inputs)
            ours = array if plain else np.empty(shape, self.dtype)
            outputs.append(ours)
            copies.append((array, ours))
        return outputs, copies
