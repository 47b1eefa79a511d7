"""A few helpers to write LLVM IR as text (building it from llvmlite.ir objects is an order slower)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

FAR = 1_000_000  # between the numbers of registers of two writers of the same lines


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
    _intrinsics: dict[tuple[str, int], str] = field(default_factory=dict)  # how a call of them begins
    registers: int = 16  # that the CPU has for numbers
    _negatives: dict[str, str] | None = None  # of registers, where LLVM does not take a sign into a product itself

    @cached_property
    def type(self) -> str:
        """The type of a value."""
        return self.scalar if self.lanes == 1 else f"<{self.lanes} x {self.scalar}>"

    @cached_property
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
        self._negatives = None if self._negatives is None else {}

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
        bits = 8 * self.size
        signed = value - (1 << bits) if value >> (bits - 1) else value  # as LLVM reads it
        return self._splat(str(signed), f"i{bits}")

    def _splat(self, text: str, element: str) -> str:
        return text if self.lanes == 1 else "<" + ", ".join([f"{element} {text}"] * self.lanes) + ">"

    def binary(self, instruction: str, x: str, y: str) -> str:
        """fadd, fsub, fmul, fdiv."""
        return self.put(f"{instruction} {self.type} {x}, {y}")

    def negated(self, x: str) -> str:
        """-x."""
        if self._negatives is None:
            return self.put(f"fneg {self.type} {x}")
        if x not in self._negatives:  # one instruction, where `fneg` as it stands is four
            self._negatives[x] = self.put(f"fmul {self.type} {x}, {self._splat('-1.0', self.scalar)}")
        return self._negatives[x]

    def is_negated(self, x: str) -> bool:
        """Whether -x is there already."""
        return self._negatives is not None and x in self._negatives

    def keep_negatives(self) -> None:
        """Every value is negated once, for code that LLVM does not optimize."""
        self._negatives = {}

    def call(self, intrinsic: str, *arguments: str) -> str:
        """An intrinsic over values of this type."""
        known = intrinsic, len(arguments)
        if known not in self._intrinsics:
            head = f"{self.type} @llvm.{intrinsic}.{self.suffix}"
            self.needed.add(f"declare {head}({', '.join([self.type] * len(arguments))})")
            self._intrinsics[known] = f"call {head}({self.type} "
        return self.put(f"{self._intrinsics[known]}{f', {self.type} '.join(arguments)})")

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

    def less(self, x: str, y: str) -> str:
        """Whether x < y."""
        return self.put(f"fcmp olt {self.type} {x}, {y}")

    # ---- words of 32 bits, for algebra/philox.py: in lanes of 64 bits where the numbers are doubles
    def word(self, value: int) -> str:
        """A word in every lane."""
        return self.whole(value)

    def word_of(self, bits: str, first: int) -> str:
        """The word that begins at a bit."""
        if self.size == 4:
            return bits
        return self.integer_op("lshr", bits, self.whole(32)) if first else self._low(bits)

    def _low(self, x: str) -> str:
        return self.integer_op("and", x, self.whole(0xFFFFFFFF))

    def word_op(self, instruction: str, x: str, y: str) -> str:
        """add, and, xor, lshr."""
        found = self.integer_op(instruction, x, y)
        return self._low(found) if self.size == 8 and instruction == "add" else found

    def wide_product(self, x: str, factor: int) -> tuple[str, str]:
        """The upper and the lower word of a product."""
        if self.size == 8:
            product = self.integer_op("mul", x, self.whole(factor))
            return self.integer_op("lshr", product, self.whole(32)), self._low(product)
        if self.lanes == 1:
            product = self.put(f"mul i64 {self.put(f'zext i32 {x} to i64')}, {factor}")
            upper = self.put(f"lshr i64 {product}, 32")
            return self.put(f"trunc i64 {upper} to i32"), self.put(f"trunc i64 {product} to i32")
        return self._products_of_pairs(x, factor)

    def _products_of_pairs(self, x: str, factor: int) -> tuple[str, str]:
        """Upper and lower words in lanes of 32 bits: two products in 64, of every second lane and of the others."""
        wide = self.widened(self.lanes // 2)
        pairs = f"<{wide.lanes} x i64>"
        factors, low, half = (wide._splat(str(value), "i64") for value in (factor, 0xFFFFFFFF, 32))
        both = self.put(f"bitcast {self.integer} {x} to {pairs}")
        products = []
        for lane in (self.put(f"and {pairs} {both}, {low}"), self.put(f"lshr {pairs} {both}, {half}")):
            product = self.put(f"mul {pairs} {lane}, {factors}")
            products.append(self.put(f"bitcast {pairs} {product} to {self.integer}"))
        found = []
        for first in (1, 0):
            places = [f"i32 {k - k % 2 + first + (self.lanes if k % 2 else 0)}" for k in range(self.lanes)]
            mask = f"<{self.lanes} x i32> <{', '.join(places)}>"
            found.append(self.put(f"shufflevector {self.integer} {products[0]}, {self.integer} {products[1]}, {mask}"))
        return found[0], found[1]

    def joined(self, high: str, low: str) -> str:
        """Two words in the integer of a double's size, or the upper one in that of a float's."""
        if self.size == 4:
            return high
        return self.integer_op("or", self.integer_op("shl", high, self.whole(32)), low)

    def in_double(self) -> Self:
        """The same lines and lanes in double precision, nothing fused, with registers of its own."""
        return type(self)("double", self.lanes, False, self.lines, self.needed, self._next + FAR)

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

    def less(self, x: Values, y: Values) -> Values:
        """Whether x < y."""
        return tuple(self.writer.less(*both) for both in zip(x, y, strict=True))

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
