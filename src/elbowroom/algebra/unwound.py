"""Reverse derivatives of a Repeated, its loop kept: a vector times the Jacobian.

    forth     x = program(x, y, a, row)                             as often but one, every x stored
    back      x_bar, a_bar, row_bar = adjoint(x, y, a, row, x_bar, y_bar), from the last turn to the first

What is fed back has an adjoint that is fed back, too; to the adjoint of what stays the same (a) every turn adds; each
of the rows has its own.  Outputs that are not fed back (y) have an adjoint in the last turn alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .derivatives import Replay, active_nodes, adjoints, free_name, named_inputs
from .expr import Expr, Scalar
from .program import Count, Port, Program

if TYPE_CHECKING:
    from .looped import Repeated


@dataclass(frozen=True, eq=False)
class Unwound:
    """A vector times the Jacobian of a Repeated, as data: its turns once more, and backwards."""

    repeated: Repeated
    of: tuple[Port, ...]  # the inputs by which it is differentiated
    bars: dict[str, str]  # output, or input -> the name of its adjoint
    forth: Program  # the outputs that are fed back
    back: Program  # a turn of the adjoints
    active: tuple[str, ...]  # what is fed back and has an adjoint

    @property
    def name(self) -> str:
        """The program's name."""
        return f"{self.repeated.name}_vjp"

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The Repeated's, and the adjoint of every output."""
        return (*self.repeated.inputs, *(Port(self.bars[p.name], p.shape) for p in self.repeated.outputs))

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The adjoints of the inputs, of the rows for every turn."""
        return tuple(Port(f"{p.name}_bar", p.shape) for p in self.of)

    @property
    def sums(self) -> tuple[Port, ...]:
        """The inputs that stay the same and have an adjoint."""
        fed = {p.name for p in self.repeated.fed} | {self.repeated.rows}
        return tuple(p for p in self.of if p.name not in fed)

    @property
    def count(self) -> Count:
        """The operations of all turns."""
        forth, back, times = self.forth.count, self.back.count, self.repeated.times
        fields = Count.__dataclass_fields__
        return Count(**{f: (times - 1) * getattr(forth, f) + times * getattr(back, f) for f in fields})

    @cached_property
    def digest(self) -> str:
        """A hash of the content."""
        content = ("unwound", self.repeated.digest, self.forth.digest, self.back.digest, self.of, self.active)
        return hashlib.sha256(repr(content).encode()).hexdigest()

    def evaluate(self, *args: ArrayLike, dtype: DTypeLike = np.float64, **named: ArrayLike) -> Any:
        """The adjoints, slowly, for one state or many; see `Program.evaluate`."""
        repeated, program = self.repeated, self.repeated.program
        given: dict[str, Any] = dict(zip((p.name for p in self.inputs), args, strict=False)) | named
        given = {name: np.asarray(x, dtype) for name, x in given.items()}
        first = repeated.outputs[0]
        batch = given[self.bars[first.name]].shape[: given[self.bars[first.name]].ndim - len(first.shape)]
        rows = given[repeated.rows] if repeated.rows else np.zeros(repeated.times)
        same = {p.name: given[p.name] for p in program.inputs if p.name != repeated.rows}

        def at(k: int) -> dict[str, Any]:
            return {repeated.rows: np.broadcast_to(rows[k], (*batch, *rows[k].shape))} if repeated.rows else {}

        tape = [same]
        for k in range(repeated.times - 1):
            found = self.forth.evaluate(dtype=dtype, **{p.name: (tape[k] | at(k))[p.name] for p in self.forth.inputs})
            tape.append(tape[k] | (found if isinstance(found, dict) else {self.forth.outputs[0].name: found}))
        bars = {self.bars[p.name]: given[self.bars[p.name]] for p in repeated.outputs}
        bars |= {f"{p.name}_bar": np.zeros((*batch, *p.shape), dtype) for p in self.sums}
        each: list[Any] = []
        fed = {p.name for p in repeated.fed}
        for k in range(repeated.times - 1, -1, -1):
            takes = tape[k] | at(k) | bars
            found = self.back.evaluate(dtype=dtype, **{p.name: takes[p.name] for p in self.back.inputs})
            results = found if isinstance(found, dict) else {self.back.outputs[0].name: found}
            each.insert(0, results.get(f"{repeated.rows}_bar"))
            bars |= {name: x for name, x in results.items() if name != f"{repeated.rows}_bar"}
            bars |= {self.bars[p.name]: 0.0 * bars[self.bars[p.name]] for p in repeated.outputs if p.name not in fed}
        found = {}
        for p in self.of:
            if p.name == repeated.rows:
                found[f"{p.name}_bar"] = np.stack(each, axis=len(batch))
            else:
                found[f"{p.name}_bar"] = bars[self.bars.get(p.name, f"{p.name}_bar")]
        return found if len(found) > 1 else found[f"{self.of[0].name}_bar"]


def repeated_vjp(repeated: Repeated, of: Sequence[str]) -> Unwound:
    """The Unwound of a Repeated, by these inputs (all, if none is named)."""
    program = repeated.program
    wanted = named_inputs(program, of)
    shapes = {p.name: p for p in repeated.inputs}
    taken = {p.name for p in program.inputs}
    bars = {p.name: free_name(f"{p.name}_bar", taken) for p in program.outputs}
    replay = Replay(program)
    fed = {p.name: p for p in repeated.fed}
    results = dict(zip((p.name for p in program.outputs), replay.results, strict=True))
    active = {p.name for p in wanted if p.name in fed}
    while True:  # what is fed back depends on the inputs that are asked for, at last
        ports = [p for p in program.inputs if p.name in active or p in wanted]
        leaves = replay.leaves(ports)
        nodes = active_nodes(replay.graph, [k for ks in leaves for k in ks if k is not None])
        more = {n for n in fed if any(type(x) is Expr and nodes[x.index] for x in results[n])} - active
        if not more:
            break
        active |= more
    seeds: dict[int, Scalar] = {}
    adjoint_ports = [Port(bars[p.name], p.shape) for p in program.outputs if p.name in active or p.name not in fed]
    by_bar = {bar: name for name, bar in bars.items()}
    for port in adjoint_ports:
        for x, scalar in zip(results[by_bar[port.name]], replay.new_input(port), strict=True):
            if type(x) is Expr and nodes[x.index]:
                seeds[x.index] = seeds[x.index] + scalar if x.index in seeds else scalar
    found = adjoints(replay.graph, seeds, nodes)
    outputs: dict[str, tuple[Port, list[Scalar]]] = {}
    sums = []
    for port, ks in zip(ports, leaves, strict=True):
        scalars: list[Scalar] = [0.0 if k is None else found.get(k, 0.0) for k in ks]
        name = bars.get(port.name, f"{port.name}_bar") if port.name in fed else f"{port.name}_bar"
        if port.name not in fed and port.name != repeated.rows:
            sums.append(Port(name, port.shape))
            scalars = [a + b for a, b in zip(replay.new_input(sums[-1]), scalars, strict=True)]
        outputs[name] = Port(name, port.shape), scalars
    back = replay.finished(f"{program.name}_back", (*adjoint_ports, *sums), outputs)
    first = Replay(program)
    stored = {p.name: (p, x) for p, x in zip(program.outputs, first.results, strict=True) if p.name in fed}
    forth = first.finished(program.name, (), stored)
    return Unwound(
        repeated, tuple(shapes[p.name] for p in wanted), bars, forth, back, tuple(n for n in fed if n in active)
    )
