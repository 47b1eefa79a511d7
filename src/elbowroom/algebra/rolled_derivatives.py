"""Forward derivatives of a Rolled, its loops kept: the Jacobian times a vector, in loops.

Every column, and everything that a recursion carries, gets a tangent beside it where it depends on the inputs in
question; a step computes its results and their tangents, and the outputs are the tangents.

    s3 -> s3_dot        k.3 -> k.3_dot, from 0        forth0, back0, d: their tangents alone
"""

from __future__ import annotations

from collections.abc import Sequence

from .derivatives import LEAVES, Replay, free_name, named_inputs, tangents
from .expr import Expr, Scalar
from .looped import JointLoop, Rolled
from .program import Port, Program, assemble

ELEMENTS = ("forth", "back")  # of a matrix


def rolled_jvp(rolled: Rolled, of: Sequence[str]) -> Rolled | None:
    """The Rolled of the Jacobian by these inputs (all, if none is named) times a vector; see `Program.jvp`.

    None of a program that has matrices for inputs, as an adjoint of a matrix has.
    """
    inputs = named_inputs(rolled, of)
    if any(loop.form == "columns" for loop in rolled.loops):
        return None
    taken = {port.name for port in rolled.inputs}
    vectors = {port.name: Port(free_name(f"{port.name}_dot", taken), port.shape) for port in inputs}
    dots: dict[str, str] = {}  # column -> the column of its tangent
    columns = dict(rolled.columns)
    for name, port in vectors.items():
        if name in columns:
            columns[port.name] = tuple(f"{port.name}.{c}" for c in range(port.shape[-1]))
            dots |= dict(zip(columns[name], columns[port.name], strict=True))
        else:
            dots[name] = port.name
    given = len(dots)
    loops = [_loop(loop, dots) for loop in rolled.loops]
    written = tuple(dots.values())[given:]
    results = []
    for column in rolled.vectors:
        dot = dots.get(column, "")
        if not dot:
            dot = f"{column}_dot"
            zero = Program("turn", (), (Port(dot, ()),), (), (0.0,), ((-1,),))
            loops.append(JointLoop("each", (zero,) * (max(rolled.kinds) + 1)))
            written += (dot,)
        results.append(dot)
    straight = rolled.straight
    return Rolled(
        name=f"{rolled.name}_jvp",
        inputs=(*rolled.inputs, *vectors.values()),
        outputs=tuple(Port(f"{port.name}_dot", port.shape) for port in rolled.outputs),
        joints=rolled.joints,
        kinds=rolled.kinds,
        constants=rolled.constants,
        written=rolled.written + written,
        loops=tuple(loops),
        vectors=tuple(results),
        columns=columns,
        straight=None if straight is None else lambda: straight().jvp(*of),
    )


def _loop(loop: JointLoop, dots: dict[str, str]) -> JointLoop:
    """A loop with tangents; `dots` learns of the columns that have them now."""
    carried: dict[str, str] = {}  # what is carried -> its tangent, as far as is known
    born = []
    for name, source in loop.born:
        if isinstance(source, str) and source in dots:
            dots[name] = f"{name}_dot"
    while True:  # what depends on what is carried, until nothing more does
        known = len(carried), len(dots)
        steps = [_Step(body, dots | carried) for body in loop.bodies]
        for step in steps:
            for name in step.active:
                if name.startswith("k."):
                    carried.setdefault(name, f"{name}_dot")
                elif not name.startswith((*ELEMENTS, "v.")) and name != "d":
                    dots.setdefault(name, f"{name}_dot")
                elif name.startswith("v."):
                    dots.setdefault(name[2:], f"{name[2:]}_dot")
        if known == (len(carried), len(dots)):
            break
    for name, source in loop.born:
        born.append((name, source))
        if name in dots:
            born.append((dots[name], dots.get(source, 0.0) if isinstance(source, str) else 0.0))
    starts = (*loop.carried, *((carried[name], 0.0) for name, _ in loop.carried if name in carried))
    bodies = tuple(step.program(dots | carried) for step in steps)
    return JointLoop(loop.form, bodies, starts, tuple(born), loop.matrix)


class _Step:
    """One kind's turn, and the tangents of its results."""

    def __init__(self, body: Program, dots: dict[str, str]) -> None:
        self.body, self.replay = body, Replay(body)
        seeds: dict[int, dict[int, Scalar]] = {}
        for index, (name, _) in list(self.replay.position.items()):
            dot = _dot_of(name, dots)
            if dot is not None:
                seeds[index] = {0: self.replay.new_input(Port(dot, ()))[0]}
        self.results = [results[0] for results in self.replay.results]
        found = tangents(self.replay.graph, self.results, seeds)
        self.tangents = [row.get(0, 0.0) for row in found]

    @property
    def active(self) -> list[str]:
        """The results that have a tangent."""
        names = [port.name for port in self.body.outputs]
        return [name for name, x in zip(names, self.tangents, strict=True) if type(x) is Expr or x != 0.0]

    def program(self, dots: dict[str, str]) -> Program:
        """The turn with its tangents."""
        results: dict[str, Scalar] = {}
        for port, value, tangent in zip(self.body.outputs, self.results, self.tangents, strict=True):
            name = port.name
            if name.startswith(ELEMENTS) or name == "d":
                results[name] = tangent
                continue
            results[name] = value
            dot = _dot_of(name, dots)
            if dot is not None:
                results[dot] = tangent
        return turn_program(self.replay, results)


def turn_program(replay: Replay, results: dict[str, Scalar]) -> Program:
    """The Program of a turn: its inputs are the columns that its results need."""
    traced = assemble("turn", replay.graph, (), results, replay.position)
    used = [operation[1][0] for operation in traced.operations if operation[0] in LEAVES]
    ports = tuple(Port(name, ()) for name in dict.fromkeys(used))
    return Program(traced.name, ports, traced.outputs, traced.operations, traced.constants, traced.results)


def _dot_of(name: str, dots: dict[str, str]) -> str | None:
    """The tangent's name of a column, of one of another joint, or of an element that changes."""
    if name == "d":
        return "d"  # the matrix holds tangents
    if name.startswith("v."):
        dot = dots.get(name[2:])
        return None if dot is None else f"v.{dot}"
    return dots.get(name)
