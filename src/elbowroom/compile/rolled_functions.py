"""The functions of a Rolled: `one` for one state, `block` for as many as there are lanes.

In `one`, columns lie one after the other in a scratch array, each with `lanes` times a whole number of entries: joint
i is at place i + pad, the first `pad` places are empty.  Then every joint has its place in an aligned block of lanes,
and the last block is full.

    each        blocks of joints in SIMD lanes (one joint after the other if joints are of several kinds)
    scan        one joint after the other, what is carried in registers
    pairs       one joint j after the other, inwards; the columns i >= j in SIMD lanes, last block first.  What depends
                on j alone is computed once and spread over the lanes.

The block that holds column j holds some i < j too.  Those lanes compute from columns that are not born yet, and write
elements (j, i) and (i, j) that joint i writes again, later; so nothing needs to be masked but the empty places.

`block` computes as many states as there are lanes, one a lane, each by the same operations as `one`: a place of a
column holds all states, and every loop is over single joints.
"""

from __future__ import annotations

from collections.abc import Callable

from ..algebra import Program, Rolled
from ..algebra.rolled import Loop
from .rolled import Function
from .turn import Steps


def function(name: str, rolled: Rolled, scalar: str, lanes: int, fma: bool, needed: set[str]) -> str:
    """The function `one` or `block` with its tables; `needed` gets what the module must declare."""
    needed.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    kind = OneState if name == "one" else Block
    return "\n".join(kind(rolled, scalar, lanes, fma, needed).text(name))


class OneState(Function):
    """Lanes over joints, and over columns."""

    def __init__(self, rolled: Rolled, scalar: str, lanes: int, fma: bool, needed: set[str]) -> None:
        super().__init__(rolled, scalar, lanes, fma, needed)
        self.w = self.s
        self.pad = -rolled.joints % lanes

    def _take_inputs(self) -> None:
        if self.pad:
            for name in self.column:  # the empty places must hold numbers
                self._store(self.v, self._address(name, "0"), "zeroinitializer")
        for port in self.rolled.inputs:
            if port.name in self.column:
                self._copy(self._address(port.name, str(self.pad)), f"%i_{port.name}")

    def _give_vector(self, column: str) -> None:
        self._copy(self.matrix, self._address(column, str(self.pad)))

    def _copy(self, to: str, source: str) -> None:
        size = self.rolled.joints * self.bytes
        self._put(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 0)")

    def _each(self, loop: Loop) -> None:
        if len(loop.bodies) > 1:
            self._scan(loop)
            return

        def block(x: str, _: dict[str, str]) -> dict[str, str]:
            steps = Steps(loop.bodies[0], self.v)
            steps.run({name: self._load(self.v, name, x) for name in steps.inputs})
            for name, value in steps.results().items():
                self._store(self.v, self._address(name, x), value)
            return {}

        self._turns("0", str(self.places - self.lanes), self.lanes, {}, block)

    def _on_diagonal(self, i: str, change: Callable[[str], str]) -> None:
        at = self._element(self.s.put(f"mul i64 {i}, {self.rolled.joints + 1}"))
        self._store(self.s, at, change(self.s.put(f"load {self.scalar}, ptr {at}")))

    def _row(self, program: Program, x: str) -> dict[str, str]:
        """From the last block of columns to the first that holds one."""
        n, s = self.rolled.joints, self.s
        j = s.put(f"sub i64 {x}, {self.pad}")
        row = s.put(f"sub i64 {s.put(f'mul i64 {j}, {n}')}, {self.pad}")  # element (j, i) is at row + place of i
        column = s.put(f"sub i64 {j}, {self.pad * n}")  # element (i, j) is at column + n times the place of i
        first = s.put(f"and i64 {x}, {-self.lanes}")
        steps = Steps(program, self.v)
        steps.alone(s, {name: self._load(s, name, x) for name in steps.inputs if not name.startswith("v.")})

        def block(y: str, lanes: range) -> None:
            forth, back = self._columns(steps, self.v, y)
            down = s.put(f"add i64 {column}, {s.put(f'mul i64 {y}, {n}')}")
            for lane in lanes:
                self._store(s, self._element(down, lane * n), self._lane(back, lane))
            along = s.put(f"add i64 {row}, {y}")
            if len(lanes) == self.lanes:
                self._store(self.v, self._element(along), forth, aligned=False)
                return
            for lane in lanes:
                self._store(s, self._element(along, lane), self._lane(forth, lane))

        def full(y: str, _: dict[str, str]) -> dict[str, str]:
            block(y, range(self.lanes))
            return {}

        if not self.pad:
            self._turns(str(self.places - self.lanes), first, -self.lanes, {}, full)
            return {}
        low = s.put(f"icmp slt i64 {first}, {self.lanes}")  # then the first block is needed, which has empty places
        last = s.put(f"select i1 {low}, i64 {self.lanes}, i64 {first}")
        self._turns(str(self.places - self.lanes), last, -self.lanes, {}, full)
        some, done = self._label(), self._label()
        self._put(f"br i1 {low}, label %{some}, label %{done}")
        self._open(some)
        block("0", range(self.pad, self.lanes))
        self._put(f"br label %{done}")
        self._open(done)
        return {}


class Block(Function):
    """Lanes over states, whose arrays follow each other in memory."""

    def __init__(self, rolled: Rolled, scalar: str, lanes: int, fma: bool, needed: set[str]) -> None:
        super().__init__(rolled, scalar, lanes, fma, needed)
        self.w = self.v

    def _take_inputs(self) -> None:
        n, s, v = self.rolled.joints, self.s, self.v
        for port in self.rolled.inputs:
            if port.name not in self.column:
                continue

            def take(x: str, name: str = port.name) -> None:
                packed = "undef"
                at = s.put(f"getelementptr {self.scalar}, ptr %i_{name}, i64 {x}")
                for lane in range(self.lanes):
                    address = s.put(f"getelementptr {self.scalar}, ptr {at}, i64 {lane * n}")
                    value = s.put(f"load {self.scalar}, ptr {address}")
                    packed = v.put(f"insertelement {v.type} {packed}, {self.scalar} {value}, i32 {lane}")
                self._store(v, self._address(name, x), packed)

            self._joints(take)

    def _give_vector(self, column: str) -> None:
        n = self.rolled.joints
        self._joints(lambda x: self._scatter(x, n, self._load(self.v, column, x)))

    def _scatter(self, offset: str, apart: int, values: str) -> None:
        """A number of every state, whose arrays are so far apart."""
        for lane in range(self.lanes):
            self._store(self.s, self._element(offset, lane * apart), self._lane(values, lane))

    def _each(self, loop: Loop) -> None:
        self._scan(loop)

    def _on_diagonal(self, i: str, change: Callable[[str], str]) -> None:
        n = self.rolled.joints
        offset, packed = self.s.put(f"mul i64 {i}, {n + 1}"), "undef"
        for lane in range(self.lanes):
            value = self.s.put(f"load {self.scalar}, ptr {self._element(offset, lane * n * n)}")
            packed = self.v.put(f"insertelement {self.v.type} {packed}, {self.scalar} {value}, i32 {lane}")
        self._scatter(offset, n * n, change(packed))

    def _row(self, program: Program, x: str) -> dict[str, str]:
        n, s = self.rolled.joints, self.s
        steps = Steps(program, self.v)
        own = {name: self._load(self.v, name, x) for name in steps.inputs if not name.startswith("v.")}
        steps.alone(self.v, own)
        row = s.put(f"mul i64 {x}, {n}")

        def column(y: str, _: dict[str, str]) -> dict[str, str]:
            forth, back = self._columns(steps, self.v, y)
            self._scatter(s.put(f"add i64 {s.put(f'mul i64 {y}, {n}')}, {x}"), n * n, back)
            self._scatter(s.put(f"add i64 {row}, {y}"), n * n, forth)
            return {}

        self._turns(str(n - 1), x, -1, {}, column)
        return {}
