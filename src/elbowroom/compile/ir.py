"""A few helpers to write LLVM IR as text (building it from llvmlite.ir objects is an order slower)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Self


@dataclass
class IrWriter:
    """Lines of one function over scalars or SIMD lanes of one floating-point type."""

    scalar: str  # "double" or "float"
    lanes: int  # 1: scalars
    fma: bool  # whether the CPU fuses a product with a sum
    lines: list[str] = field(default_factory=list)
    needed: set[str] = field(default_factory=set)  # declarations and constants outside the function
    _next: int = 0
    _constants: dict[float, str] = field(default_factory=dict)  # in registers

    @property
    def type(self) -> str:
        """The type of a value."""
        return self.scalar if self.lanes == 1 else f"<{self.lanes} x {self.scalar}>"

    @property
    def size(self) -> int:
        """Bytes of a scalar."""
        return 8 if self.scalar == "double" else 4

    @property
    def bytes(self) -> int:
        """Bytes of a value."""
        return self.lanes * self.size

    @property
    def tile(self) -> int:
        """Scalars in 128 bits: within as many, shuffles are cheapest."""
        return 16 // self.size

    @property
    def integer(self) -> str:
        """The integer type of the same layout."""
        bits = "i64" if self.scalar == "double" else "i32"
        return bits if self.lanes == 1 else f"<{self.lanes} x {bits}>"

    @property
    def truth(self) -> str:
        """The type of a condition."""
        return "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"

    @property
    def suffix(self) -> str:
        """The type's name inside an intrinsic's."""
        bits = "f64" if self.scalar == "double" else "f32"
        return bits if self.lanes == 1 else f"v{self.lanes}{bits}"

    def widened(self, lanes: int) -> IrWriter:
        """The same lines, written over another number of lanes."""
        return IrWriter(self.scalar, lanes, self.fma, self.lines, self.needed, self._next)

    def name(self) -> str:
        """A new register."""
        self._next += 1
        return f"%r{self._next}"

    def put(self, text: str) -> str:
        """A new register holding the value of an instruction."""
        register = self.name()
        self.lines.append(f"  {register} = {text}")
        return register

    def restart(self) -> None:
        """Begin another function."""
        self.lines, self._next, self._constants = [], 0, {}

    def constant(self, value: float) -> str:
        """A number in every lane.

        In lanes it is read from memory as wide as it is used, and so becomes an operand of the instruction that uses
        it; left to itself LLVM keeps one number, and spends an instruction and a register on spreading it.
        """
        text = hex_float(value, self.scalar)
        if self.lanes == 1 or value == 0.0:
            return self._splat(text, self.scalar)
        if value not in self._constants:
            name = f"@constant_{self.suffix}_{text}"
            self.needed |= {
                f"{name} = internal constant {self.type} {self._splat(text, self.scalar)}, align {self.bytes}",
                "!0 = !{}",
            }
            self._constants[value] = self.put(f"load {self.type}, ptr {name}, align {self.bytes}, !invariant.load !0")
        return self._constants[value]

    def whole(self, value: int) -> str:
        """An integer in every lane."""
        return self._splat(str(value), "i64" if self.scalar == "double" else "i32")

    def _splat(self, text: str, element: str) -> str:
        return text if self.lanes == 1 else "<" + ", ".join([f"{element} {text}"] * self.lanes) + ">"

    def binary(self, instruction: str, x: str, y: str) -> str:
        """fadd, fsub, fmul, fdiv."""
        return self.put(f"{instruction} {self.type} {x}, {y}")

    def negated(self, x: str) -> str:
        """-x."""
        return self.put(f"fneg {self.type} {x}")

    def call(self, intrinsic: str, *arguments: str) -> str:
        """An intrinsic over values of this type."""
        listed = ", ".join(f"{self.type} {a}" for a in arguments)
        types = ", ".join([self.type] * len(arguments))
        self.needed.add(f"declare {self.type} @llvm.{intrinsic}.{self.suffix}({types})")
        return self.put(f"call {self.type} @llvm.{intrinsic}.{self.suffix}({listed})")

    def product_sum(self, a: str, b: str, c: str) -> str:
        """a * b + c, fused where the CPU can."""
        if self.fma:
            return self.call("fma", a, b, c)
        return self.binary("fadd", self.binary("fmul", a, b), c)

    def as_integer(self, x: str) -> str:
        """The bits of a value."""
        return self.put(f"bitcast {self.type} {x} to {self.integer}")

    def as_float(self, x: str) -> str:
        """The value of bits."""
        return self.put(f"bitcast {self.integer} {x} to {self.type}")

    def integer_op(self, instruction: str, x: str, y: str) -> str:
        """add, and, or, xor, shl, lshr."""
        return self.put(f"{instruction} {self.integer} {x}, {y}")

    def nonzero(self, x: str) -> str:
        """Whether an integer is not zero."""
        return self.put(f"icmp ne {self.integer} {x}, {self.whole(0)}")

    def in_double(self) -> Self:
        """The same lines and lanes in double precision, nothing fused, with registers of its own."""
        return type(self)("double", self.lanes, False, self.lines, self.needed, self._next + 1_000_000)

    def extended(self, x: str) -> str:
        """A single-precision value, in this writer's double precision."""
        single = "float" if self.lanes == 1 else f"<{self.lanes} x float>"
        return self.put(f"fpext {single} {x} to {self.type}")

    def truncated(self, x: str) -> str:
        """A double-precision value, in this writer's single precision."""
        double = "double" if self.lanes == 1 else f"<{self.lanes} x double>"
        return self.put(f"fptrunc {double} {x} to {self.type}")

    def select(self, condition: str, x: str, y: str) -> str:
        """x where the condition holds, else y."""
        return self.put(f"select {self.truth} {condition}, {self.type} {x}, {self.type} {y}")


Values = tuple[str, ...]


class Together:
    """Several values at once, each step done for all of them before the next, so that none waits for another."""

    def __init__(self, writer: IrWriter, count: int) -> None:
        self.writer, self.count = writer, count
        self.scalar, self.fma = writer.scalar, writer.fma

    def constant(self, value: float) -> Values:
        """A number in all of them."""
        return (self.writer.constant(value),) * self.count

    def whole(self, value: int) -> Values:
        """An integer in all of them."""
        return (self.writer.whole(value),) * self.count

    def binary(self, instruction: str, x: Values, y: Values) -> Values:
        """fadd, fsub, fmul, fdiv."""
        return tuple(self.writer.binary(instruction, *both) for both in zip(x, y, strict=True))

    def call(self, intrinsic: str, *arguments: Values) -> Values:
        """An intrinsic."""
        return tuple(self.writer.call(intrinsic, *each) for each in zip(*arguments, strict=True))

    def product_sum(self, a: Values, b: Values, c: Values) -> Values:
        """a * b + c."""
        return tuple(self.writer.product_sum(*each) for each in zip(a, b, c, strict=True))

    def as_integer(self, x: Values) -> Values:
        """The bits of values."""
        return tuple(map(self.writer.as_integer, x))

    def as_float(self, x: Values) -> Values:
        """The values of bits."""
        return tuple(map(self.writer.as_float, x))

    def integer_op(self, instruction: str, x: Values, y: Values) -> Values:
        """add, and, or, xor, shl, lshr."""
        return tuple(self.writer.integer_op(instruction, *both) for both in zip(x, y, strict=True))

    def nonzero(self, x: Values) -> Values:
        """Whether integers are not zero."""
        return tuple(map(self.writer.nonzero, x))

    def select(self, condition: Values, x: Values, y: Values) -> Values:
        """x where the condition holds, else y."""
        return tuple(self.writer.select(*each) for each in zip(condition, x, y, strict=True))

    def in_double(self) -> Together:
        """The same in double precision."""
        return Together(self.writer.in_double(), self.count)

    def extended(self, x: Values) -> Values:
        """Single-precision values in double precision."""
        return tuple(map(self.writer.extended, x))

    def truncated(self, x: Values) -> Values:
        """Double-precision values in single precision."""
        return tuple(map(self.writer.truncated, x))


def hex_float(value: float, scalar: str) -> str:
    """A number as LLVM writes it exactly (a float32 as the double that equals it)."""
    if scalar == "float":
        value = struct.unpack("f", struct.pack("f", value))[0]
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
