"""One turn of a loop as LLVM IR: the steps of its Program over scalars or lanes."""

from __future__ import annotations

from ..algebra import Program
from .emit import Emitter
from .ir import Writer, hex_float
from .lower import Lowered, lower
from .sincos import sincos


class SharedWriter(Writer):
    """Registers are named by their line, so that several writers may share the lines.

    A number is no register: one that is loaded inside a loop or a case is not there outside of it.
    """

    def constant(self, value: float) -> str:
        """A number in every lane."""
        return self._splat(hex_float(value, self.scalar), self.scalar)

    def name(self) -> str:
        """A new register."""
        return f"%r{len(self.lines)}"


def spread(w: Writer, value: str) -> str:
    """A scalar in all lanes."""
    lane = w.put(f"insertelement {w.type} undef, {w.scalar} {value}, i32 0")
    return w.put(f"shufflevector {w.type} {lane}, {w.type} undef, <{w.lanes} x i32> zeroinitializer")


class Steps:
    """One turn's Program, written over scalars or lanes."""

    def __init__(self, program: Program, writer: Writer) -> None:
        self.lowered: Lowered = lower(program)
        self.program, self.w = program, writer
        self.inputs = [port.name for port in program.inputs]
        self._known: dict[int, str] = {}  # what does not depend on the lane, spread over the lanes
        self._done: set[int] = set()  # all of that, needed again or not
        self._value: dict[int, str] = {}

    def alone(self, writer: Writer, loads: dict[str, str]) -> None:
        """Compute what follows from these values alone, spread over the lanes where they are scalars."""
        done = self._run(writer, loads, {})
        needed = {k for v, op in self.lowered.steps if v not in done for k in op[1:] if k in done}
        needed |= {k for operands in self.program.results for k in operands if k in done}
        for k in sorted(needed):
            self._known[k] = done[k] if writer.lanes == self.w.lanes else spread(self.w, done[k])
        self._done = set(done)

    def run(self, loads: dict[str, str]) -> None:
        """Compute all the rest."""
        self._value = self._run(self.w, loads, self._known)

    def results(self) -> dict[str, str]:
        """The registers of the outputs, by name."""
        found = {}
        for port, (k,) in zip(self.program.outputs, self.program.results, strict=True):
            found[port.name] = self._value[k] if k >= 0 else self.w.constant(self.program.constants[-1 - k])
        return found

    def _run(self, writer: Writer, loads: dict[str, str], known: dict[int, str]) -> dict[int, str]:
        """The steps all of whose operands are there."""
        emitter = Emitter(self.lowered, writer, alone=True)
        value = emitter.value = dict(known)
        for k, (name, _) in self.lowered.loads.items():
            if name in loads:
                value[k] = loads[name]
        turned: dict[int, tuple[str, str]] = {}
        for k, operation in self.lowered.steps:
            if k in value or k in self._done or any(i >= 0 and i not in value for i in operation[1:]):
                continue
            if operation[0] in ("sin", "cos") and operation[1] >= 0:
                if operation[1] not in turned:
                    turned[operation[1]] = sincos(writer, value[operation[1]])
                value[k] = turned[operation[1]][operation[0] == "cos"]
            else:
                value[k] = emitter._step(operation)
        return value
