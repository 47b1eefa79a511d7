"""Lines of C, one value a line: what ir.Writer is for LLVM IR, so that sincos.py is written once for both."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Literal, Self

Real = Literal["double", "float"]

BINARY = {"fadd": "{} + {}", "fsub": "{} - {}", "fdiv": "{} / {}"}
WHOLE = {"and": "&", "or": "|", "xor": "^", "add": "+", "shl": "<<"}


def suffix(real: Real) -> str:
    """What ends the names of math.h's functions, and numbers, of this type."""
    return "" if real == "double" else "f"


def rounded(value: float, real: Real) -> float:
    """The number of this type that is nearest."""
    if real == "double" or math.isinf(value):
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:  # beyond the greatest float
        return math.copysign(math.inf, value)


def digits(value: float, real: Real) -> str:
    """A finite number with as many digits as tell it from its neighbours, and a point or an exponent."""
    if real == "double":
        return repr(value)
    text = next(t for k in range(1, 10) if rounded(float(t := f"{value:.{k}g}"), real) == value)
    return text if any(c in text for c in ".e") else text + ".0"


def literal(value: float, real: Real, infinity: str = "") -> str:
    """A number as C writes it, in brackets if it is negative.  Decimal: C++ before 2017 has no other.

    `infinity` is how the language writes that; math.h's macro where nothing else is said.
    """
    value = rounded(value, real)
    size = abs(value)
    endless = infinity or "HUGE_VAL" + suffix(real).upper()
    text = endless if math.isinf(size) else digits(size, real) + suffix(real)
    return f"(-{text})" if math.copysign(1.0, value) < 0 else text


@dataclass
class Writer:
    """Lines of one function's body."""

    scalar: Real
    fma: bool = True  # whether EW_FMA fuses; else products and sums are apart
    integer: str = ""  # the unsigned integer of the same size
    product: str = "{} * {}"
    lines: list[str] = field(default_factory=list)
    _next: int = 0

    def put(self, text: str, kind: str = "", name: str = "", *, changes: bool = False) -> str:
        """A new variable holding the value of an expression."""
        if not name:
            self._next += 1
            name = f"r{self._next}"
        self.lines.append(f"    {'' if changes else 'const '}{kind or self.scalar} {name} = {text};")
        return name

    def constant(self, value: float) -> str:
        """A number."""
        return literal(value, self.scalar)

    def whole(self, value: int) -> str:
        """A whole number."""
        return f"{value}u"

    def binary(self, instruction: str, x: str, y: str) -> str:
        """fadd, fsub, fmul, fdiv."""
        return self.put((self.product if instruction == "fmul" else BINARY[instruction]).format(x, y))

    def negated(self, x: str) -> str:
        """-x."""
        return f"(-{x})"

    def call(self, intrinsic: str, *arguments: str) -> str:
        """A function of math.h; fma as EW_FMA."""
        name = "EW_FMA" if intrinsic == "fma" else intrinsic + suffix(self.scalar)
        return self.put(f"{name}({', '.join(arguments)})")

    def product_sum(self, a: str, b: str, c: str) -> str:
        """a * b + c, fused where the machine can."""
        return self.put(f"EW_FMA({a}, {b}, {c})")

    def as_integer(self, x: str) -> str:
        """The bits of a value."""
        return self.put(f"ew_bits({x})", self.integer)

    def as_float(self, x: str) -> str:
        """The value of bits."""
        return self.put(f"ew_real({x})")

    def integer_op(self, instruction: str, x: str, y: str) -> str:
        """add, and, or, xor, shl."""
        return self.put(f"{x} {WHOLE[instruction]} {y}", self.integer)

    def nonzero(self, x: str) -> str:
        """Whether an integer is not zero."""
        return self.put(f"{x} != 0u", "int")

    def select(self, condition: str, x: str, y: str) -> str:
        """x where the condition holds, else y."""
        return self.put(f"{condition} ? {x} : {y}")

    def in_double(self) -> Self:
        """The same lines in double precision, with names of its own; for plain sums and products."""
        return type(self)("double", False, "", "{} * {}", self.lines, self._next + 1000)

    def extended(self, x: str) -> str:
        """A float as a double."""
        return self.put(f"(double){x}")

    def truncated(self, x: str) -> str:
        """A double as a float."""
        return self.put(f"(float){x}")
