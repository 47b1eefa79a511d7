"""Reverse derivatives of a Rolled, its loops kept: a vector times the Jacobian, in loops.

The loops run once as they are, as far as anything of them is needed, and then backwards.  Every column gets a column of
its adjoint, to which each reader adds; a recursion runs the other way, carrying the adjoints of what it carried, and
reads what it carried from columns in which the first run stored it.  Within a step everything is computed again.

    each        each again                                   outward     inward, from adjoints of 0
    inward      outward                                      diagonal    nothing: the adjoint of M passes through
    pairs       `columns`: one column after the other, carried inwards once more and its adjoint outwards back.  The
                adjoint of the matrix is an input; what a joint gives to all columns is a sum over them

Names:  s3_bar   an adjoint of the column s3 (s3_bar2 with the next reader's)       k.3_bar   of what is carried
        s3_old   what a recursion carried, joint by joint                          forth0, back0   here inputs
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .derivatives import LEAVES, Replay, active_nodes, adjoints, differentiated_operands, free_name, named_inputs
from .expr import Expr, Scalar
from .looped import JointLoop, Rolled
from .program import Port, Program
from .rolled_derivatives import ELEMENTS, turn_program

FLIPPED = {"each": "each", "outward": "inward", "inward": "outward"}


def rolled_vjp(rolled: Rolled, of: Sequence[str]) -> Rolled | None:
    """The Rolled of a vector times the Jacobian by these inputs (all, if none is named); None where there is none.

    There is none of a program that has matrices for inputs, or whose diagonal depends on an input, nor by an input
    with several numbers a joint.
    """
    inputs = named_inputs(rolled, of)
    if any(loop.form == "columns" for loop in rolled.loops) or any(port.name in rolled.columns for port in inputs):
        return None
    made = _Adjoint(rolled, [port.name for port in inputs])
    for k in range(len(rolled.loops) - 1, -1, -1):
        if not made.reverse(k):
            return None
    return made.finished(inputs, of)


class _Adjoint:
    """Loops backwards, one after the other."""

    def __init__(self, rolled: Rolled, inputs: list[str]) -> None:
        self.rolled, self.kinds = rolled, max(rolled.kinds) + 1
        self.forward = list(rolled.loops)
        self.taken = {p.name for p in rolled.inputs} | set(rolled.written) | set(rolled.constants)
        self.taken |= {name for names in rolled.columns.values() for name in names}
        self.taken |= {name for loop in rolled.loops for name, _ in loop.carried}
        self.written = list(rolled.written)
        self.ports = [Port(free_name(f"{p.name}_bar", self.taken), p.shape) for p in rolled.outputs]
        self.bars: dict[str, str] = {}  # column -> the column of its adjoint, so far
        self.loops: list[JointLoop] = []
        for column, port in zip(rolled.vectors, self.ports, strict=False):
            self._give({column: [port.name] * self.kinds}, [Replay(NOTHING) for _ in range(self.kinds)])
        self.active: list[set[str]] = []  # per loop: the columns, and what it carries, that depend on the inputs
        columns = set(inputs)
        for loop in rolled.loops:
            found = _reached(loop, columns)
            self.active.append(found)
            columns = found - set(loop.carried_names)

    # ---- a loop
    def reverse(self, k: int) -> bool:
        """The loop backwards; False if it has no adjoint."""
        loop = self.forward[k]
        if loop.form == "diagonal":
            return all(self._passes(body, self.active[k]) for body in loop.bodies)
        if loop.form == "pairs":
            self._pairs(loop, self.active[k])
        else:
            self._steps(k, loop, self.active[k])
        return True

    @staticmethod
    def _passes(body: Program, active: set[str]) -> bool:
        """Whether an element's adjoint is the same before and after, and nothing else has one."""
        step = _Step(body, active | {"d"}, {"d": "d_bar"})
        found = {name: x for name, x in step.bars.items() if type(x) is Expr or x != 0.0}
        return list(found) == ["d"] and step.is_seed(found["d"], "d_bar")

    def _steps(self, k: int, loop: JointLoop, active: set[str]) -> None:
        """A loop of `each`, or a recursion."""
        outs = {port.name for body in loop.bodies for port in body.outputs}
        seeds = {name: self.bars[name] for name in outs if name in self.bars}
        names = {name for name, _ in loop.carried}
        carried: dict[str, str] = {}  # what is carried -> its adjoint
        while True:  # what is carried has an adjoint where what follows from it has one
            steps = [_Step(body, active, seeds | carried) for body in loop.bodies]
            fresh = [name for name in dict(loop.carried) if name not in carried and any(s.has(name) for s in steps)]
            if not fresh:
                break
            carried |= {name: free_name(f"{name}_bar", self.taken) for name in fresh}
        for name in seeds:
            del self.bars[name]
        if not any(step.has(name) for step in steps for name in step.bars):
            return
        results: list[dict[str, Scalar]] = [
            {bar: step.bars.get(name, 0.0) for name, bar in carried.items()} for step in steps
        ]
        touched = dict.fromkeys(name for step in steps for name in step.bars if name not in names and step.has(name))
        for name in touched:
            self._added(name, steps, results)
        used = {name for step, made in zip(steps, results, strict=True) for name in step.used(made)} & names
        kept = {name: self._new(f"{name.removeprefix('k.')}_old") for name in loop.carried_names if name in used}
        for step in steps:
            step.rename(kept)
        bodies = tuple(turn_program(step.replay, made) for step, made in zip(steps, results, strict=True))
        starts = tuple((bar, 0.0) for bar in carried.values())
        self.loops.append(JointLoop(FLIPPED[loop.form], bodies, starts))
        if kept:
            self.forward[k] = replace(loop, bodies=tuple(_storing(body, kept) for body in loop.bodies))

    def _pairs(self, loop: JointLoop, active: set[str]) -> None:
        """A sweep of columns, column by column."""
        elements = {port.name: port.name for port in loop.bodies[0].outputs if port.name.startswith(ELEMENTS)}
        moving = [port.name for port in loop.bodies[0].outputs if port.name.startswith("v.")]
        columns = dict.fromkeys(port.name for body in loop.bodies for port in body.inputs if port.name.startswith("v."))
        columns |= dict.fromkeys(moving)
        known = active | {name for name in columns if name[2:] in active}
        bars: dict[str, str] = {}  # v.s3 -> the adjoint of the column s3, which is carried outwards
        while True:
            seeds = elements | {name: bars[name] for name in moving if name in bars}
            steps = [_Step(body, known, seeds) for body in loop.bodies]
            fresh = [name for name in columns if name not in bars and any(step.has(name) for step in steps)]
            if not fresh:
                break
            bars |= {name: self._new(f"{name[2:]}_bar") for name in fresh}
        results: list[dict[str, Scalar]] = [{} for _ in steps]
        for name, bar in bars.items():
            for step, made in zip(steps, results, strict=True):
                given = step.bars.get(name, 0.0)
                made[bar] = given if name in moving else step.leaf(bar) + given
        own = dict.fromkeys(name for step in steps for name in step.bars if name not in columns and step.has(name))
        sums = {}
        if own:  # sums begin with what there is
            starts: list[dict[str, Scalar]] = [{} for _ in steps]
            empty = [Replay(NOTHING) for _ in steps]
            for name in own:
                sums[name] = self._new(f"{name}_bar")
                for start, replay in zip(starts, empty, strict=True):
                    start[sums[name]] = _leaf(replay, self.bars[name]) if name in self.bars else 0.0
                self.bars[name] = sums[name]
            bodies = [turn_program(replay, made) for replay, made in zip(empty, starts, strict=True)]
            self.loops.append(JointLoop("each", tuple(bodies)))
        for step, made in zip(steps, results, strict=True):
            made |= {bar: step.bars.get(name, 0.0) for name, bar in sums.items()}
        back = tuple(turn_program(step.replay, made) for step, made in zip(steps, results, strict=True))
        moves = _moves(loop, moving, back)
        needed = {name for body in (*moves, *back) for name in _names(body.inputs)}
        born = tuple((name, source) for name, source in loop.born if f"v.{name}" in needed)
        self.loops.append(JointLoop("columns", moves, tuple((bar, 0.0) for bar in bars.values()), born, back=back))
        sources = dict(loop.born)
        for name, bar in bars.items():
            source = sources.get(name[2:], name[2:])
            if isinstance(source, str) and source in active:
                self._give({source: [bar] * self.kinds}, [Replay(NOTHING) for _ in range(self.kinds)])

    # ---- adjoints of columns
    def _new(self, name: str) -> str:
        self.written.append(free_name(name, self.taken))
        return self.written[-1]

    def _added(self, name: str, steps: list[_Step], results: list[dict[str, Scalar]]) -> None:
        """What the steps give to the adjoint of a column, and what it had before, in a column that is new."""
        before, after = self.bars.get(name), self._new(f"{name}_bar")
        for step, made in zip(steps, results, strict=True):
            old = 0.0 if before is None else step.leaf(before)
            made[after] = old + step.bars.get(name, 0.0)
        self.bars[name] = after

    def _give(self, more: dict[str, list[str]], replays: list[Replay]) -> None:
        """Columns that are added to the adjoints of others."""
        for name, columns in more.items():
            before = self.bars.get(name)
            if before is None:
                self.bars[name] = columns[0]
                continue
            after = self._new(f"{name}_bar")
            made = [
                turn_program(replay, {after: _leaf(replay, before) + _leaf(replay, column)})
                for replay, column in zip(replays, columns, strict=True)
            ]
            self.loops.append(JointLoop("each", tuple(made)))
            self.bars[name] = after

    # ---- at the end
    def finished(self, inputs: list[Port], of: Sequence[str]) -> Rolled:
        """The first run, as far as it is needed, and all of the second."""
        rolled, straight = self.rolled, self.rolled.straight
        vectors = []
        for port in inputs:
            column = self.bars.get(port.name)
            if column is None:
                column = self._new(f"{port.name}_bar")
                zero = Program("turn", (), (Port(column, ()),), (), (0.0,), ((-1,),))
                self.loops.append(JointLoop("each", (zero,) * self.kinds))
            vectors.append(column)
        return Rolled(
            name=f"{rolled.name}_vjp",
            inputs=(*rolled.inputs, *self.ports),
            outputs=tuple(Port(f"{port.name}_bar", port.shape) for port in inputs),
            joints=rolled.joints,
            kinds=rolled.kinds,
            constants=rolled.constants,
            written=tuple(self.written),
            loops=needed_loops([*self.forward, *self.loops], vectors),
            vectors=tuple(vectors),
            columns=rolled.columns,
            straight=None if straight is None else lambda: straight().vjp(*of),
        )


NOTHING = Program("turn", (), (), (), (), ())


class _Step:
    """One kind's turn, and the adjoints of what it reads."""

    def __init__(self, body: Program, active: set[str], seeds: dict[str, str]) -> None:
        self.replay = Replay(body)
        self._leaves = {name: index for index, (name, _) in self.replay.position.items()}
        variables = {name: index for name, index in self._leaves.items() if name in active}
        nodes = active_nodes(self.replay.graph, variables.values())
        given: dict[int, Scalar] = {}
        for port, (result,) in zip(body.outputs, self.replay.results, strict=True):
            if port.name in seeds and type(result) is Expr and nodes[result.index]:
                bar = self.leaf(seeds[port.name])
                given[result.index] = given[result.index] + bar if result.index in given else bar
        found = adjoints(self.replay.graph, given, nodes)
        self.bars: dict[str, Scalar] = {name: found.get(index, 0.0) for name, index in variables.items()}

    def has(self, name: str) -> bool:
        """Whether what is read has an adjoint."""
        x = self.bars.get(name, 0.0)
        return type(x) is Expr or x != 0.0

    def leaf(self, name: str) -> Scalar:
        """The symbol of another column."""
        if name not in self._leaves:
            found = _leaf(self.replay, name)
            self._leaves[name] = found.index
        return self.replay.graph.nodes[self._leaves[name]]

    def is_seed(self, x: Scalar, name: str) -> bool:
        """Whether a scalar is this symbol, as it is."""
        return type(x) is Expr and x.index == self._leaves.get(name)

    def used(self, results: dict[str, Scalar]) -> list[str]:
        """The columns, and what is carried, that results are computed from."""
        return [port.name for port in turn_program(self.replay, results).inputs]

    def rename(self, names: dict[str, str]) -> None:
        """Columns to read in place of what was carried."""
        for index, (name, element) in list(self.replay.position.items()):
            self.replay.position[index] = names.get(name, name), element


def _leaf(replay: Replay, name: str) -> Expr:
    (found,) = replay.new_input(Port(name, ()))
    assert type(found) is Expr  # a symbol
    return found


def _names(ports: Iterable[Port]) -> set[str]:
    return {port.name for port in ports}


def _reached(loop: JointLoop, columns: set[str]) -> set[str]:
    """The columns that depend on these after a loop, and what it carries."""
    found = set(columns)
    found |= {name for name, source in loop.born if isinstance(source, str) and source in columns}
    while True:
        known = len(found)
        for body in loop.bodies:
            depends = bytearray(len(body.operations))
            for k, operation in enumerate(body.operations):
                if operation[0] in LEAVES:
                    depends[k] = operation[1][0].removeprefix("v.") in found
                else:
                    depends[k] = any(depends[i] for i in differentiated_operands(operation))
            for port, (k,) in zip(body.outputs, body.results, strict=True):
                if k >= 0 and depends[k] and not port.name.startswith(ELEMENTS) and port.name != "d":
                    found.add(port.name.removeprefix("v."))
        if len(found) == known:
            return found


def _storing(body: Program, kept: dict[str, str]) -> Program:
    """A step that also writes what was carried before it, into columns."""
    replay = Replay(body)
    at = {name: index for index, (name, _) in replay.position.items()}
    results = {port.name: x for port, (x,) in zip(body.outputs, replay.results, strict=True)}
    for name, column in kept.items():
        results[column] = replay.graph.nodes[at[name]] if name in at else _leaf(replay, name)
    return turn_program(replay, results)


def _restricted(body: Program, names: set[str]) -> Program:
    """A step with these results alone."""
    if _names(body.outputs) <= names:
        return body
    replay = Replay(body)
    kept = {p.name: x for p, (x,) in zip(body.outputs, replay.results, strict=True) if p.name in names}
    return turn_program(replay, kept)


def _moves(loop: JointLoop, moving: list[str], back: Sequence[Program]) -> tuple[Program, ...]:
    """How columns are moved on, as far as they are looked at again."""
    wanted = {name for body in back for name in _names(body.inputs) if name in moving}
    while True:
        bodies = tuple(_restricted(body, wanted) for body in loop.bodies)
        more = {name for body in bodies for name in _names(body.inputs) if name in moving} - wanted
        if not more:
            return bodies
        wanted |= more


def needed_loops(loops: Sequence[JointLoop], columns: Iterable[str]) -> tuple[JointLoop, ...]:
    """The loops without what these columns do not need; matrices are not needed."""
    needed = set(columns)
    found = []
    for loop in reversed(loops):
        if loop.form == "columns":
            found.append(loop)
            bodies = (*loop.bodies, *loop.back)
            needed |= {name.removeprefix("v.") for body in bodies for name in _names(body.inputs)}
            needed |= {source for _, source in loop.born if isinstance(source, str)}
            continue
        carried = {name for name, _ in loop.carried}
        wanted = needed - carried
        if loop.form in ("pairs", "diagonal") or not any(_names(body.outputs) & wanted for body in loop.bodies):
            continue
        while True:  # what is carried is needed where it is read for what is needed
            bodies = tuple(_restricted(body, wanted) for body in loop.bodies)
            more = {name for body in bodies for name in _names(body.inputs) & carried} - wanted
            if not more:
                break
            wanted |= more
        needed |= {name for body in bodies for name in _names(body.inputs)} - carried
        starts = tuple((name, first) for name, first in loop.carried if name in wanted)
        found.append(replace(loop, bodies=bodies, carried=starts))
    return tuple(reversed(found))
