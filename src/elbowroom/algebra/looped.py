"""Programs that keep their loops, as data: Repeated, one Program run a number of times; Rolled, loops over joints.

A Repeated feeds outputs that have the name and shape of an input back into it:

    x, y = program(x, y, a, b)      times over

The other inputs (a, b) are the same in every turn, but one that `rows` names: it takes row k of an array in turn k,
and all states of a batch share that array.  The outputs are those of the last turn.  A backend keeps the loop,
so its code stays as short as that of the program.  Every turn computes the whole program: what follows from the inputs
that stay the same is better computed before, by a program of its own.

A Rolled is a recursion over the joints of a chain, its steps traced once each (rolling.py makes it).  Every loop has
one small Program a kind of joint, over columns of numbers, one number a joint.  Names in it:

    t3      a column of constants               v.s3            the column s3 of another joint i (in pairs, at joint j)
    s3      a column that some loop writes      forth0, back0   the elements (j, i) and (i, j) of a matrix
    k.3     what a recursion carries            d               element (i, i), before and after
    q, ...  an input
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ..errors import ShapeError
from .program import Count, Port, Program

if TYPE_CHECKING:
    from .unwound import Unwound


@dataclass(frozen=True, eq=False)
class Repeated:
    """A Program, and how often it is run on what it returned."""

    program: Program
    times: int
    rows: str = ""  # the input that takes another row in every turn

    def __post_init__(self) -> None:
        try:
            times = operator.index(self.times)
        except TypeError:
            times = 0
        if times < 1 or isinstance(self.times, bool):
            raise ValueError(f"{self.name}: times must be a whole number, at least 1; got {self.times!r}")
        object.__setattr__(self, "times", times)
        inputs = {p.name: p for p in self.program.inputs}
        if self.rows and (self.rows not in inputs or self.rows in {p.name for p in self.outputs}):
            raise ShapeError(f"{self.name}: rows must name an input that is not fed back; got {self.rows!r}")
        for port in self.outputs:
            if port.name in inputs and port.shape != inputs[port.name].shape:
                raise ShapeError(
                    f"{self.name}: {port.name} is fed back, so its shape as an output must be that as an input, "
                    f"{inputs[port.name].shape}; got {port.shape}"
                )
        if not self.fed:
            raise ShapeError(
                f"{self.name}: one output at least must have the name of an input, to be fed back; "
                f"got outputs {', '.join(p.name for p in self.outputs)} and inputs {', '.join(inputs) or 'none'}"
            )

    @property
    def name(self) -> str:
        """The program's name."""
        return self.program.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The program's: what is fed back as it is before the first turn, what stays the same, and the rows."""
        return tuple(
            Port(p.name, (self.times, *p.shape), shared=True) if p.name == self.rows else p for p in self.program.inputs
        )

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The program's, after the last turn."""
        return self.program.outputs

    @cached_property
    def fed(self) -> tuple[Port, ...]:
        """The outputs that are fed back."""
        inputs = {p.name for p in self.program.inputs}
        return tuple(p for p in self.outputs if p.name in inputs)

    @property
    def count(self) -> Count:
        """The operations of all turns."""
        one = self.program.count
        return Count(**{what: self.times * getattr(one, what) for what in Count.__dataclass_fields__})

    @cached_property
    def digest(self) -> str:
        """A hash of the content."""
        return hashlib.sha256(repr(("repeated", self.program.digest, self.times, self.rows)).encode()).hexdigest()

    def vjp(self, *of: str) -> Unwound:
        """`Program.vjp`, with the loop kept; of the rows a derivative for every turn."""
        from .unwound import repeated_vjp  # which stands on this module

        return repeated_vjp(self, of)

    def evaluate(self, *args: ArrayLike, dtype: DTypeLike = np.float64, **named: ArrayLike) -> Any:
        """The outputs after the last turn, slowly; see `Program.evaluate`."""
        given: dict[str, Any] = dict(zip((p.name for p in self.inputs), args, strict=False)) | named
        rows = np.zeros(self.times) if not self.rows else np.asarray(given[self.rows], dtype)
        if self.rows:
            given[self.rows] = rows[0]
        values: dict[str, Any] = dict(self.program._bind((), given, dtype))
        fed = self.fed[0]
        batch = values[fed.name].shape[: values[fed.name].ndim - len(fed.shape)]
        found: Any = None
        for row in rows:
            if self.rows:
                values[self.rows] = np.broadcast_to(row, (*batch, *row.shape))
            found = self.program.evaluate(dtype=dtype, **values)
            results = found if len(self.outputs) > 1 else {self.outputs[0].name: found}
            values |= {p.name: results[p.name] for p in self.fed}
        return found

    def __str__(self) -> str:
        head, *lines, end = str(self.program).splitlines()
        steps, results = lines[: -len(self.outputs)], lines[-len(self.outputs) :]
        together = [", ".join(part) for part in zip(*(line.strip().split(" = ", 1) for line in results), strict=True)]
        turn = ["    " + line for line in (*steps, f"    {together[0]} = {together[1]}")]
        return "\n".join([head, f"    for _ in range({self.times}):", *turn, end])


@dataclass(frozen=True)
class JointLoop:
    """One loop: its form, a Program a kind of joint, and what a recursion starts from."""

    form: str
    bodies: tuple[Program, ...]
    carried: tuple[tuple[str, float], ...] = ()  # of a scan: name and first value
    born: tuple[tuple[str, str | float], ...] = ()  # of pairs: the column that moves, and where it is born
    matrix: int = 0  # of a diagonal: the output whose it is
    back: tuple[Program, ...] = ()  # of columns: the adjoints, outwards; the bodies move the column inwards before

    @property
    def carried_names(self) -> tuple[str, ...]:
        """What a recursion carries."""
        return tuple(name for name, _ in self.carried)


@dataclass(frozen=True, eq=False)
class Rolled:
    """Loops over the joints of a chain: named, shaped inputs -> named, shaped outputs, as a Program."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    joints: int
    kinds: tuple[int, ...]  # of every joint
    constants: dict[str, tuple[float, ...]]  # t columns
    written: tuple[str, ...]  # s columns
    loops: tuple[JointLoop, ...]
    vectors: tuple[str, ...] = ()  # the columns that are the outputs, where those are one number a joint
    straight: Callable[[], Program] | None = None  # the same function without loops
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of inputs with several numbers a joint, (n, k), or with k that are the same for all, (k,): their columns."""

    @cached_property
    def digest(self) -> str:
        """A hash of the content."""
        loops = [
            (x.form, [b.digest for b in x.bodies], x.carried, x.born, x.matrix, [b.digest for b in x.back])
            for x in self.loops
        ]
        rest = (self.inputs, self.outputs, self.kinds, self.constants, self.written, self.vectors, self.columns)
        return hashlib.sha256(repr((rest, loops)).encode()).hexdigest()

    @property
    def count(self) -> Count:
        """The operations of all turns of all loops, those of pairs n (n + 1) / 2 times."""
        total = dict.fromkeys(Count.__dataclass_fields__, 0)
        for loop in self.loops:
            for i, kind in enumerate(self.kinds):
                times = self.joints - i if loop.form in ("pairs", "columns") else 1
                for body in (loop.bodies[kind], *loop.back[kind : kind + 1]):
                    for what in total:
                        total[what] += times * getattr(body.count, what)
        return Count(**total)

    def jacobian(self, *of: str, value: bool = False) -> Program:
        """`Program.jacobian` of the same function without loops."""
        assert self.straight is not None  # `roll` gives it
        return self.straight().jacobian(*of, value=value)

    def vjp(self, *of: str) -> Program | Rolled:
        """`Program.vjp`, with the loops kept; without them of an adjoint of a matrix."""
        from .rolled_adjoints import rolled_vjp  # which stands on this module

        found = rolled_vjp(self, of)
        if found is not None:
            return found
        assert self.straight is not None  # `roll` gives it
        return self.straight().vjp(*of)

    def jvp(self, *of: str) -> Program | Rolled:
        """`Program.jvp`, with the loops kept; without them of an adjoint of a matrix."""
        from .rolled_derivatives import rolled_jvp

        found = rolled_jvp(self, of)
        if found is not None:
            return found
        assert self.straight is not None
        return self.straight().jvp(*of)

    @property
    def sparsity(self) -> dict[tuple[str, str], Any]:
        """`Program.sparsity` of the same function without loops."""
        assert self.straight is not None
        return self.straight().sparsity

    def evaluate(self, *args: Any, **named: Any) -> Any:
        """The outputs by the straight-line Program of the same function; see `Program.evaluate`."""
        assert self.straight is not None  # `roll` gives it
        return self.straight().evaluate(*args, **named)

    def __str__(self) -> str:
        lines = [f"def {self.name}({', '.join(f'{p.name}: {p.shape}' for p in self.inputs)}):"]
        for loop in self.loops:
            for kind, body in enumerate(loop.bodies):
                lines.append(f"    for joints of kind {kind}, {loop.form}:")
                lines += ["    " + line for line in str(body).splitlines()[1:-1]]
        return "\n".join(lines)
