"""Derivatives of a Program, as Programs: Jacobians, Jacobian-vector and vector-Jacobian products, structural zeros.

A Program is rebuilt on a graph of its own and differentiated there, operation by operation, exactly: forwards, tangents
from inputs to outputs, or in reverse, adjoints from outputs to inputs.  The new operations are made by the same
hash-consing and folding as those of a trace, so zeros vanish and what derivatives share with values is shared.  A
Jacobian is taken in whichever of the two modes needs fewer operations.  Derivatives are Programs again: a second
derivative is the derivative of a derivative.

Conventions, where a function has a kink or no derivative:

    where(c, x, y)          that of the branch which is taken; the condition has none
    minimum, maximum        that of the smaller (greater) operand; where both are equal, half of each
    absolute                the sign, 0 at 0
    sqrt                    1 / (2 sqrt x), and 0 at 0: a norm has the derivative 0 at the origin
    sign, comparisons       0, at the jump too
    uniform, normal         0: a random number is a function of whole numbers

In reverse, an adjoint of 0 is sent into the branch of `where` that is not taken; where an operand there is infinite,
that gives NaN.  So the Jacobian of a program which has a branch, and a division or a logarithm, is taken forwards, in
which a branch that is not taken is never looked at.  `vjp` is always in reverse: guard the operand, not the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from ..errors import TraceError, UnknownNameError, did_you_mean
from .expr import Array, Condition, Expr, Graph, Scalar, select
from .functions import cos, sign, sin
from .linalg import vector
from .program import Port, assemble, live_nodes
from .rearrange import REMAKE, rearranged

if TYPE_CHECKING:
    from .looped import Rolled
    from .program import Program
    from .sliced import Sliced

MOST_OPERATIONS = 300_000
"""Of the derivative of a quantity: as many take some ten seconds to compile, and ten times as many a hundred."""

FLAT = frozenset({"lt", "le", "eq", "and", "or", "not", "uniform"})
"""Operations whose derivative is zero wherever it exists."""

LEAVES = ("input", "parameter")
BOTH = 20_000  # operations of a Jacobian up to which both modes are tried; beyond, the one that is estimated cheaper
SWEEPS = 20_000_000  # operations times outputs, likewise
LARGE = 5000
"""Operations beyond which a derivative stays as it was found: rearranging saves a few in a hundred and takes time."""


class Replay:
    """A Program on a graph of its own, to be added to."""

    def __init__(self, program: Program) -> None:
        self.program, self.graph = program, Graph()
        self.position: dict[int, tuple[str, int]] = {}
        made: list[Scalar] = []

        def value(operand: int) -> Scalar:
            return made[operand] if operand >= 0 else program.constants[-1 - operand]

        for name, *operands in program.operations:
            if name in LEAVES:
                made.append(self._leaf(*operands[0], parameter=name == "parameter"))
            else:
                made.append(REMAKE[name](*map(value, operands)))
        self.results = [[value(k) for k in operands] for operands in program.results]

    def _leaf(self, port: str, element: int, *, parameter: bool = False) -> Expr:
        leaf = self.graph.input(f"{port}[{element}]", parameter=parameter)
        self.position[leaf.index] = (port, element)
        return leaf

    def leaves(self, ports: Sequence[Port]) -> list[list[int | None]]:
        """Per port the node of each of its scalars, None for one that nothing reads."""
        found = {place: index for index, place in self.position.items()}
        return [[found.get((port.name, k)) for k in range(port.size)] for port in ports]

    def new_input(self, port: Port) -> list[Scalar]:
        """The scalars of an input more."""
        return [self._leaf(port.name, k) for k in range(port.size)]

    def finished(self, name: str, more: Iterable[Port], outputs: dict[str, tuple[Port, list[Scalar]]]) -> Program:
        """The Program of these outputs, rearranged if it is not too long."""
        arrays = {key: vector(*scalars).reshape(port.shape) for key, (port, scalars) in outputs.items()}
        inputs = (*self.program.inputs, *more)
        found = assemble(name, self.graph, inputs, arrays, self.position)
        return found if len(found.operations) > LARGE else rearranged(found)


def jacobian(program: Program, of: Sequence[str], *, value: bool = False) -> Program:
    """The derivatives of every output by the named inputs; see `Program.jacobian`."""
    inputs = named_inputs(program, of)
    modes: list[Callable[[Graph, list[Scalar], list[int]], list[list[Scalar]]]] = [_forward, _reverse]
    if _branches(program):
        modes = [_forward]
    else:
        forward, reverse = _estimates(program, inputs)
        sweeps = len(program.operations) * sum(port.size for port in program.outputs)  # of the reverse mode
        if min(forward, reverse) > BOTH or sweeps > SWEEPS:
            modes = [_forward if forward <= reverse else _reverse]
    found = [_jacobian(program, inputs, mode, value) for mode in modes]
    if len(found) == 1:  # to count the operations of a long one takes a while
        return found[0]
    return min(found, key=lambda each: each.count.total + each.count.neg + 3 * each.count.div)


def estimate(program: Program, of: Sequence[str]) -> int:
    """About how many operations the Jacobian by these inputs has, found much sooner than the Jacobian itself."""
    forward, reverse = _estimates(program, named_inputs(program, of))
    return forward if _branches(program) else min(forward, reverse)


def _branches(program: Program) -> bool:
    """Whether it has a branch, and a division or a logarithm: in reverse, what is not taken might be infinite."""
    operations = {operation[0] for operation in program.operations}
    return "select" in operations and not {"div", "log"}.isdisjoint(operations)


def _jacobian(
    program: Program,
    inputs: list[Port],
    mode: Callable[[Graph, list[Scalar], list[int]], list[list[Scalar]]],
    value: bool,
) -> Program:
    replay = Replay(program)
    leaves = replay.leaves(inputs)
    variables = [k for nodes in leaves for k in nodes if k is not None]
    roots = [x for results in replay.results for x in results]
    rows = iter(mode(replay.graph, roots, variables))
    outputs: dict[str, tuple[Port, list[Scalar]]] = {}
    for port, results in zip(program.outputs, replay.results, strict=True):
        if value:
            outputs[port.name] = port, results
        block = [next(rows) for _ in results]
        first = 0
        for by, nodes in zip(inputs, leaves, strict=True):
            scalars: list[Scalar] = []
            last = first + sum(k is not None for k in nodes)
            for row in block:
                part = iter(row[first:last])
                scalars += [0.0 if k is None else next(part) for k in nodes]
            first = last
            name = f"{port.name}_d{by.name}"
            outputs[name] = Port(name, (*port.shape, *by.shape)), scalars
    return replay.finished(f"{program.name}_jacobian", (), outputs)


def jvp(program: Program, of: Sequence[str]) -> Program:
    """The Jacobian times a vector; see `Program.jvp`."""
    inputs = named_inputs(program, of)
    replay = Replay(program)
    taken = {port.name for port in program.inputs}
    vectors = [Port(free_name(f"{port.name}_dot", taken), port.shape) for port in inputs]
    seeds: dict[int, dict[int, Scalar]] = {}
    for nodes, tangent in zip(replay.leaves(inputs), vectors, strict=True):
        for k, scalar in zip(nodes, replay.new_input(tangent), strict=True):
            if k is not None:
                seeds[k] = {0: scalar}
    rows = iter(tangents(replay.graph, [x for results in replay.results for x in results], seeds))
    outputs = {}
    for port in program.outputs:
        name = f"{port.name}_dot"
        outputs[name] = Port(name, port.shape), [next(rows).get(0, 0.0) for _ in range(port.size)]
    return replay.finished(f"{program.name}_jvp", vectors, outputs)


def vjp(program: Program, of: Sequence[str]) -> Program:
    """A vector times the Jacobian; see `Program.vjp`."""
    inputs = named_inputs(program, of)
    replay = Replay(program)
    taken = {port.name for port in program.inputs}
    bars = [Port(free_name(f"{port.name}_bar", taken), port.shape) for port in program.outputs]
    seeds: dict[int, Scalar] = {}
    for results, adjoint in zip(replay.results, bars, strict=True):
        for x, scalar in zip(results, replay.new_input(adjoint), strict=True):
            if type(x) is Expr:
                seeds[x.index] = seeds[x.index] + scalar if x.index in seeds else scalar
    leaves = replay.leaves(inputs)
    found = adjoints(
        replay.graph, seeds, active_nodes(replay.graph, [k for nodes in leaves for k in nodes if k is not None])
    )
    outputs = {}
    for port, nodes in zip(inputs, leaves, strict=True):
        name = f"{port.name}_bar"
        outputs[name] = Port(name, port.shape), [0.0 if k is None else found.get(k, 0.0) for k in nodes]
    return replay.finished(f"{program.name}_vjp", bars, outputs)


def sparsity(program: Program) -> dict[tuple[str, str], Array]:
    """Which derivatives may differ from zero; see `Program.sparsity`."""
    bits = _depends(program, program.inputs)
    found = {}
    first = 0
    for by in program.inputs:
        mask = (1 << by.size) - 1
        for port, operands in zip(program.outputs, program.results, strict=True):
            rows = [(bits[k] >> first) & mask if k >= 0 else 0 for k in operands]
            flags = np.array([[bool(row >> k & 1) for k in range(by.size)] for row in rows], dtype=bool)
            found[port.name, by.name] = flags.reshape((*port.shape, *by.shape))
        first += by.size
    return {(o.name, i.name): found[o.name, i.name] for o in program.outputs for i in program.inputs}


def differentiated(outputs: Array, by: Sequence[Array]) -> list[Array]:
    """The derivatives of traced scalars by arrays of inputs of the same trace, (*outputs.shape, *input.shape) each."""
    if any(type(x) is Expr and x.op not in LEAVES for array in by for x in array.flat):
        raise TraceError("a derivative is taken by inputs of a trace; got an expression that was computed from them")
    roots: list[Scalar] = list(outputs.ravel())
    graph = next((x.graph for x in roots if type(x) is Expr), Graph())
    variables = [x.index for array in by for x in array.flat if type(x) is Expr]
    rows = (_reverse if len(roots) <= len(variables) else _forward)(graph, roots, variables)
    place = {k: c for c, k in enumerate(variables)}
    found = []
    for array in by:
        columns = [place[x.index] if type(x) is Expr else None for x in array.flat]
        scalars = [0.0 if c is None else row[c] for row in rows for c in columns]
        found.append(vector(*scalars).reshape((*outputs.shape, *array.shape)))
    return found


# ---- what depends on what
def named_inputs(program: Program | Rolled | Sliced, of: Sequence[str]) -> list[Port]:
    """The inputs of these names; all of them, if there is none."""
    ports = {port.name: port for port in program.inputs}
    for name in of:
        if name not in ports:
            near = did_you_mean(name, ports, 3, 0.5)
            raise UnknownNameError(f"{program.name} has no input {name!r}{near}; expected one of {', '.join(ports)}")
    if len(set(of)) < len(of):
        raise UnknownNameError(f"{program.name}: an input is named twice in {', '.join(of)}")
    return [ports[name] for name in of] or list(ports.values())


def free_name(name: str, taken: set[str]) -> str:
    """The name, or with a number behind it that makes it a new one."""
    found, k = name, 2
    while found in taken:
        found, k = f"{name}{k}", k + 1
    taken.add(found)
    return found


def differentiated_operands(operation: Sequence[object]) -> tuple[int, ...]:
    """The operands of an operation by which it has a derivative."""
    name, *operands = operation
    if name in FLAT or name in LEAVES:
        return ()
    if name == "select":
        del operands[0]
    return tuple([k for k in operands if isinstance(k, int) and k >= 0])


def _depends(program: Program, inputs: Sequence[Port]) -> list[int]:
    """Of every value, the scalars of these inputs by which it has a derivative, as bits."""
    place, first = {}, 0
    for port in inputs:
        for k in range(port.size):
            place[port.name, k] = first + k
        first += port.size
    bits: list[int] = []
    for operation in program.operations:
        if operation[0] in LEAVES:
            at = place.get(operation[1])
            bits.append(0 if at is None else 1 << at)
        else:
            found = 0
            for k in differentiated_operands(operation):
                found |= bits[k]
            bits.append(found)
    return bits


def _estimates(program: Program, inputs: Sequence[Port]) -> tuple[int, int]:
    """About how many operations a Jacobian takes forwards, and in reverse."""
    bits = _depends(program, inputs)
    reached = [0] * len(bits)
    for k, operand in enumerate(k for operands in program.results for k in operands):
        if operand >= 0:
            reached[operand] |= 1 << k
    forward = reverse = 0
    for k in range(len(bits) - 1, -1, -1):
        if bits[k]:
            for i in differentiated_operands(program.operations[k]):
                if bits[i]:
                    reached[i] |= reached[k]
                    forward += bits[i].bit_count()
                    reverse += reached[k].bit_count()
    return forward, reverse


def active_nodes(graph: Graph, variables: Iterable[int]) -> bytearray:
    """Which nodes have a derivative by one of these."""
    active = bytearray(len(graph.nodes))
    for k in variables:
        active[k] = 1
    for node in graph.nodes:
        if not active[node.index] and any(active[k] for k in differentiated_operands(node.operation)):
            active[node.index] = 1
    return active


# ---- one operation
def _partials(graph: Graph, k: int) -> list[tuple[int, Scalar]]:
    """The operands of a node and its derivative by each, `select` aside."""
    name, *operands = graph.nodes[k].operation
    x = graph.value(operands[0])
    if name in ("add", "sub"):
        return [(operands[0], 1.0), (operands[1], 1.0 if name == "add" else -1.0)]
    if name == "neg":
        return [(operands[0], -1.0)]
    if name == "mul" and operands[0] == operands[1]:
        return [(operands[0], 2.0 * x)]
    if name == "mul":
        return [(operands[0], graph.value(operands[1])), (operands[1], x)]
    if name == "div":
        y = graph.value(operands[1])
        return [(operands[0], 1.0 / y), (operands[1], -(graph.nodes[k] / y))]
    if name == "sin":
        return [(operands[0], cos(x))]
    if name == "cos":
        return [(operands[0], -sin(x))]
    if name == "sqrt":
        root = graph.nodes[k]
        return [(operands[0], select(root > 0.0, 0.5 / root, 0.0))]
    if name == "log":
        return [(operands[0], 1.0 / x)]
    if name == "abs":
        return [(operands[0], sign(x))]
    assert name in ("min", "max"), f"no derivative of the operation {name!r}"
    y = graph.value(operands[1])
    first = select(x < y, 1.0, select(x > y, 0.0, 0.5))
    first, second = (first, 1.0 - first) if name == "min" else (1.0 - first, first)
    return [(operands[0], first), (operands[1], second)]


# ---- the two modes
def tangents(graph: Graph, roots: list[Scalar], seeds: dict[int, dict[int, Scalar]]) -> list[dict[int, Scalar]]:
    """The tangents of the roots, by the number of each direction; zeros left out."""
    tangent = dict(seeds)
    for k in live_nodes(graph, [x.index for x in roots if type(x) is Expr]):
        operation = graph.nodes[k].operation
        if k in tangent or not any(i in tangent for i in differentiated_operands(operation)):
            continue
        if operation[0] == "select":
            chosen = cast("Condition", graph.value(operation[1]))
            a, b = tangent.get(operation[2], {}), tangent.get(operation[3], {})
            tangent[k] = {c: select(chosen, a.get(c, 0.0), b.get(c, 0.0)) for c in dict.fromkeys((*a, *b))}
            continue
        total: dict[int, Scalar] = {}
        for i, partial in _partials(graph, k):
            for c, x in tangent.get(i, {}).items() if i >= 0 else ():
                term = x * partial
                total[c] = total[c] + term if c in total else term
        tangent[k] = {c: x for c, x in total.items() if type(x) is Expr or x != 0.0}
    return [tangent.get(x.index, {}) if type(x) is Expr else {} for x in roots]


def _forward(graph: Graph, roots: list[Scalar], variables: list[int]) -> list[list[Scalar]]:
    """The Jacobian by tangents."""
    rows = tangents(graph, roots, {k: {c: 1.0} for c, k in enumerate(variables)})
    return [[row.get(c, 0.0) for c in range(len(variables))] for row in rows]


def adjoints(graph: Graph, seeds: dict[int, Scalar], active: bytearray) -> dict[int, Scalar]:
    """The adjoints of the active nodes that the seeds reach."""
    adjoint = {k: x for k, x in seeds.items() if active[k]}

    def give(k: int, x: Scalar) -> None:
        if k >= 0 and active[k] and (type(x) is Expr or x != 0.0):
            adjoint[k] = adjoint[k] + x if k in adjoint else x

    for k in range(max(adjoint, default=-1), -1, -1):
        if k not in adjoint or graph.nodes[k].operation[0] in LEAVES:
            continue
        bar, operation = adjoint[k], graph.nodes[k].operation
        if operation[0] == "select":
            chosen = cast("Condition", graph.value(operation[1]))
            give(operation[2], select(chosen, bar, 0.0))
            give(operation[3], select(chosen, 0.0, bar))
            continue
        for i, partial in _partials(graph, k):
            if i >= 0 and active[i]:
                give(i, bar * partial)
    return adjoint


def _reverse(graph: Graph, roots: list[Scalar], variables: list[int]) -> list[list[Scalar]]:
    """The Jacobian by adjoints, a row at a time; equal roots have one row."""
    active = active_nodes(graph, variables)
    rows: dict[int, list[Scalar]] = {}
    for root in roots:
        if type(root) is Expr and root.index not in rows:
            found = adjoints(graph, {root.index: 1.0}, active)
            rows[root.index] = [found.get(k, 0.0) for k in variables]
    none: list[Scalar] = [0.0] * len(variables)
    return [rows[root.index] if type(root) is Expr else none for root in roots]
