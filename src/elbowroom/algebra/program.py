"""Program: a traced function as data.  Named, shaped inputs -> straight-line operations -> named, shaped outputs.

Operation k writes value k; its operands are earlier values (>= 0) or constants (< 0, number -1 - operand).  Every
backend takes a Program; `evaluate` here is the slow one that needs nothing but NumPy, many states at once.

`count` is how many operations a Program does, as the papers count: subtractions are additions, negations are free but
listed, and operations on parameters alone are offline (done once, before the robot moves) and free.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..errors import ShapeError, TraceError
from .expr import Array, Graph, Operation, Scalar
from .philox import numbers

_KIND = {"add": "add", "sub": "add", "mul": "mul", "div": "div", "sqrt": "sqrt", "neg": "neg"}
_KIND |= {"sin": "sincos", "cos": "sincos", "log": "calls", "uniform": "calls"}


@dataclass(frozen=True)
class Port:
    """A named, shaped input or output."""

    name: str
    shape: tuple[int, ...]
    parameter: bool = False  # known before the robot moves
    shared: bool = False  # one array for all states of a batch

    @property
    def size(self) -> int:
        """How many scalars it has."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Count:
    """Operations by kind; `other` are comparisons, selections, minima, maxima and absolute values."""

    mul: int = 0
    add: int = 0
    div: int = 0
    sqrt: int = 0
    sincos: int = 0
    calls: int = 0  # logarithms and random numbers, each of them one
    neg: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """Multiplications, additions, divisions and roots."""
        return self.mul + self.add + self.div + self.sqrt

    def __str__(self) -> str:
        text = f"{self.mul} multiplications, {self.add} additions"
        for value, what in (
            (self.div, "divisions"),
            (self.sqrt, "roots"),
            (self.sincos, "sines and cosines"),
            (self.calls, "logarithms and random numbers"),
        ):
            text += f", {value} {what}" if value else ""
        return text


@dataclass(frozen=True, eq=False)
class Program:
    """Straight-line code for one function."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    operations: tuple[Operation, ...]
    constants: tuple[float, ...]
    results: tuple[tuple[int, ...], ...]  # per output, the operand of each of its scalars

    @cached_property
    def digest(self) -> str:
        """A hash of the content."""
        content = repr((self.inputs, self.outputs, self.operations, [c.hex() for c in self.constants], self.results))
        return hashlib.sha256(content.encode()).hexdigest()

    def __hash__(self) -> int:
        return int(self.digest[:15], 16)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.digest == other.digest

    @cached_property
    def count(self) -> Count:
        """How many operations of each kind it does."""
        return count(self)

    # ---- derivatives (derivatives.py has the conventions at kinks)
    def jacobian(self, *of: str, value: bool = False) -> Program:
        """The Program of the derivatives of every output by these inputs (by all, if none is named).

        Output `tau` of shape (n,) by input `q` of shape (m,) is the output `tau_dq`, (n, m).  Forwards or in reverse,
        whichever takes fewer operations.  `value`: the outputs themselves come along.  A second derivative is
        `program.jacobian("q").jacobian("q")`: `tau_dq_dq`, (n, m, m).
        """
        from .derivatives import jacobian  # which stands on this module

        return jacobian(self, of, value=value)

    def jvp(self, *of: str) -> Program:
        """The Program of the Jacobian by these inputs (all, if none is named) times a vector, without forming it.

        An input `q_dot` a named input `q`, an output `tau_dot` an output `tau`.  `program.vjp().jvp("q")` has products
        of a Hessian with a vector.
        """
        from .derivatives import jvp

        return jvp(self, of)

    def vjp(self, *of: str) -> Program:
        """The Program of a vector times the Jacobian by these inputs (all, if none is named), without forming it.

        An input `tau_bar` an output `tau`, an output `q_bar` a named input `q`: of a scalar output the gradient.
        """
        from .derivatives import vjp

        return vjp(self, of)

    @cached_property
    def sparsity(self) -> dict[tuple[str, str], Array]:
        """Structural zeros: (output, input) -> booleans in the shape of that derivative, False where it is always 0."""
        from .derivatives import sparsity

        return sparsity(self)

    def evaluate(
        self, *args: ArrayLike, dtype: DTypeLike = np.float64, **kwargs: ArrayLike
    ) -> Array | dict[str, Array]:
        """The outputs for one state or, with leading axes on every input, for many; every step rounded to `dtype`.

        One output comes as an array, several as a dict.  Inputs by position or by name.
        """
        arrays = self._bind(args, kwargs, dtype)
        batch = self._batch_shape(arrays)
        columns = {
            (port.name, k): arrays[port.name].reshape((*batch, port.size))[..., k]
            for port in self.inputs
            for k in range(port.size)
        }
        values = self._run(columns)

        def gather(port: Port, operands: tuple[int, ...]) -> Array:
            out = np.empty((*batch, port.size), dtype)
            for k, operand in enumerate(operands):
                out[..., k] = values[operand] if operand >= 0 else self.constants[-1 - operand]
            return out.reshape((*batch, *port.shape))

        results = {p.name: gather(p, r) for p, r in zip(self.outputs, self.results, strict=True)}
        return results if len(results) > 1 else results[self.outputs[0].name]

    def _bind(self, args: tuple[ArrayLike, ...], kwargs: Mapping[str, ArrayLike], dtype: DTypeLike) -> dict[str, Array]:
        names = [p.name for p in self.inputs]
        if len(args) > len(names):
            raise ShapeError(f"{self.name} takes {len(names)} inputs ({', '.join(names)}); got {len(args)}")
        given: dict[str, Any] = dict(zip(names, args, strict=False)) | dict(kwargs)
        missing, extra = set(names) - set(given), set(given) - set(names)
        if missing or extra:
            raise ShapeError(
                f"{self.name} takes inputs {', '.join(names)}; "
                f"missing: {', '.join(sorted(missing)) or 'none'}; unknown: {', '.join(sorted(extra)) or 'none'}"
            )
        arrays = {}
        for port in self.inputs:
            array = np.asarray(given[port.name], dtype)
            if array.shape[array.ndim - len(port.shape) :] != port.shape:
                raise ShapeError(
                    f"{self.name}: {port.name} must have shape {port.shape} or a batch of it; got {array.shape}"
                )
            arrays[port.name] = array
        return arrays

    def _batch_shape(self, arrays: dict[str, Array]) -> tuple[int, ...]:
        batches = {
            p.name: arrays[p.name].shape[: arrays[p.name].ndim - len(p.shape)] for p in self.inputs if not p.parameter
        }
        shapes = set(batches.values()) or {()}
        if len(shapes) > 1:
            raise ShapeError(f"{self.name}: inputs must have one batch shape; got {batches}")
        batch = shapes.pop()
        for p in self.inputs:  # one parameter set serves every state
            if p.parameter:
                arrays[p.name] = np.broadcast_to(arrays[p.name], (*batch, *p.shape))
        return batch

    def _run(self, columns: Mapping[tuple[str, int], Array]) -> list[Any]:
        values: list[Any] = []
        constants = self.constants
        last = self._last_use
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            for k, (name, *operands) in enumerate(self.operations):
                if name in ("input", "parameter"):
                    values.append(columns[operands[0]])
                    continue
                arguments = [values[i] if i >= 0 else constants[-1 - i] for i in operands]
                values.append(NUMPY[name](*arguments))
                for i in operands:  # a value is let go after its last reader
                    if i >= 0 and last[i] == k:
                        values[i] = None
        return values

    @cached_property
    def _last_use(self) -> list[int]:
        last = [-1] * len(self.operations)
        for k, (name, *operands) in enumerate(self.operations):
            if name not in ("input", "parameter"):
                for i in operands:
                    if i >= 0:
                        last[i] = k
        for operands_ in self.results:
            for i in operands_:
                if i >= 0:
                    last[i] = len(self.operations)  # outputs live to the end
        return last

    def __str__(self) -> str:
        def show(operand: int) -> str:
            if operand < 0:
                return repr(self.constants[-1 - operand])
            name, *rest = self.operations[operand]
            return _element(*rest[0]) if name in ("input", "parameter") else f"t{operand}"

        def _element(port: str, k: int) -> str:
            shape = next(p.shape for p in self.inputs if p.name == port)
            return port + "".join(f"[{i}]" for i in np.unravel_index(k, shape)) if shape else port

        lines = [f"def {self.name}({', '.join(f'{p.name}: {p.shape}' for p in self.inputs)}):"]
        for k, (name, *operands) in enumerate(self.operations):
            if name not in ("input", "parameter"):
                lines.append(f"    t{k} = " + SHOWN.get(name, name + "({})").format(*map(show, operands)))
        for port, operands_ in zip(self.outputs, self.results, strict=True):
            lines.append(f"    {port.name} = array({port.shape}, [{', '.join(map(show, operands_))}])")
        lines.append("    return " + ", ".join(p.name for p in self.outputs))
        return "\n".join(lines)


def count(program: Program) -> Count:
    """The live, online operations of a Program."""
    return tallied(kinds(program.operations))


def kinds(operations: Iterable[Operation]) -> Iterator[str]:
    """What each operation counts as, a field of Count; "" for leaves and for what is offline."""
    offline: list[bool] = []
    for op, *operands in operations:
        if op in ("input", "parameter"):
            offline.append(op == "parameter")
            yield ""
            continue
        free = all(offline[i] for i in operands if i >= 0)
        offline.append(free)
        yield "" if free else _KIND.get(op, "other")


def tallied(found: Iterable[str]) -> Count:
    """The Count of such kinds."""
    tally = dict.fromkeys(("", *Count.__dataclass_fields__), 0)
    for kind in found:
        tally[kind] += 1
    del tally[""]
    return Count(**tally)


NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "log": np.log,
    "uniform": numbers,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "select": np.where,
}

SHOWN = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "eq": "{} == {}",
    "and": "{} and {}",
    "or": "{} or {}",
    "not": "not {}",
    "sin": "sin({})",
    "cos": "cos({})",
    "sqrt": "sqrt({})",
    "log": "log({})",
    "uniform": "uniform({}, {}, {}, {})",
    "abs": "abs({})",
    "min": "min({}, {})",
    "max": "max({}, {})",
    "select": "{1} if {0} else {2}",
}


def trace(
    function: Callable[..., object],
    subject: object,
    inputs: Mapping[str, tuple[int, ...]],
    *,
    name: str | None = None,
    output: str = "out",
    share: bool = True,
) -> Program:
    """The Program of `function(subject, **inputs)`; an input of shape () is a scalar.

    `subject` is passed through as it is (usually a Model).  If it is symbolic it brings its own graph and parameters.
    The function returns an array or scalar (named `output`), a dict, or a NamedTuple of arrays.
    """
    graph: Graph = getattr(subject, "graph", None) or Graph(share=share)
    if graph.traced:
        raise TraceError(f"the symbols of {subject!r:.60} were traced before; ask for new ones, model.symbolic(...)")
    graph.traced = True
    leaves: dict[str, Scalar | Array] = {}
    position: dict[int, tuple[str, int]] = {}  # node -> (port, element)
    for port, shape in inputs.items():
        array = np.empty(shape, dtype=object)
        for k in range(array.size):
            leaf = graph.input(f"{port}[{k}]" if shape else port)
            array.flat[k] = leaf
            position[leaf.index] = (port, k)
        leaves[port] = array if shape else array.item()
    result = function(subject, **leaves)
    brought = []  # leaves that a symbolic subject brought along
    for node in graph.nodes:
        if node.op in ("input", "parameter") and node.index not in position:
            brought.append(Port(node.operation[1], (), parameter=node.op == "parameter"))
            position[node.index] = (node.operation[1], 0)
    ports = [*(Port(n, tuple(s)) for n, s in inputs.items()), *brought]
    title = name or str(getattr(function, "__name__", ""))
    title = title if title.isidentifier() else "program"
    return assemble(title, graph, tuple(ports), _named(result, output), position)


def _named(result: Any, output: str) -> dict[str, Scalar | Array]:
    if isinstance(result, Mapping):
        return dict(result)
    if hasattr(result, "_asdict"):
        return dict(result._asdict())
    if isinstance(result, tuple):
        return {f"{output}{k}": value for k, value in enumerate(result)}
    return {output: result}


def assemble(
    name: str,
    graph: Graph,
    inputs: tuple[Port, ...],
    results: Mapping[str, Scalar | Array],
    position: Mapping[int, tuple[str, int]],
) -> Program:
    """The Program of a graph: only what the outputs need, renumbered in the order it was made.

    `position` says which port and element a leaf of the graph is.
    """
    arrays = {key: np.asarray(value, dtype=object) for key, value in results.items()}
    operands = {key: [graph.operand(x) for x in array.flat] for key, array in arrays.items()}
    live = live_nodes(graph, (k for ks in operands.values() for k in ks))
    number = {old: new for new, old in enumerate(live)}
    used: dict[int, int] = {}
    constants: list[float] = []

    def renumber(operand: int) -> int:
        if operand >= 0:
            return number[operand]
        if operand not in used:
            constants.append(graph.constants[-1 - operand])
            used[operand] = -len(constants)
        return used[operand]

    operations: list[Operation] = []
    for old in live:
        op, *rest = graph.nodes[old].operation
        if op in ("input", "parameter"):
            operations.append((op, position[old]))
        else:
            operations.append((op, *map(renumber, rest)))
    return Program(
        name=name,
        inputs=inputs,
        outputs=tuple(Port(key, array.shape) for key, array in arrays.items()),
        results=tuple(tuple(map(renumber, ks)) for ks in operands.values()),
        operations=tuple(operations),
        constants=tuple(constants),
    )


def live_nodes(graph: Graph, roots: Iterable[int]) -> list[int]:
    """The nodes that the roots need, in the order they were made (which is an order of evaluation)."""
    needed = bytearray(len(graph.nodes))
    for k in roots:
        if k >= 0:
            needed[k] = 1
    for k in range(len(graph.nodes) - 1, -1, -1):
        if needed[k]:
            op, *operands = graph.nodes[k].operation
            if op not in ("input", "parameter"):
                for i in operands:
                    if i >= 0:
                        needed[i] = 1
    return [k for k, keep in enumerate(needed) if keep]
