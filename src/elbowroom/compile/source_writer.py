"""Lines of C, one value a line: what ir.IrWriter is for LLVM IR, so that sincos.py is written once for both.

The generated text stands on

    EW_FMA(a, b, c)   a * b + c: fused where the target does that in hardware, as its compiler says; else a product
                      and a sum, since a fused step in software costs a hundred of them.  -DEW_USE_FMA=0 or 1 overrules.
    ew_sincos         in both variants, chosen by EW_USE_FMA: for double, exact products by a fused step or by Dekker's
                      splitting; for float, three fused steps or one subtraction in double

A compiler that fuses on its own (gcc's -ffp-contract=fast) cannot hurt ew_sincos where EW_FMA fuses too: the products
that must be rounded alone are read by fused steps as well, so they are kept.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self

from .sincos import sincos

if TYPE_CHECKING:
    from .source import Dialect

FUSED = """\
/* a * b + c: fused where the target does that in hardware, else a product and a sum.
   -DEW_USE_FMA=0 or 1 overrules what the compiler says about its target. */
#ifndef EW_USE_FMA
#if {macros}
#define EW_USE_FMA 1
#else
#define EW_USE_FMA 0
#endif
#endif
#if !EW_USE_FMA
#define EW_FMA(a, b, c) ((a) * (b) + (c))
#elif defined(__GNUC__) && !defined(__CUDACC__)
#define EW_FMA(a, b, c) __builtin_fma{suffix}(a, b, c)
#else
#define EW_FMA(a, b, c) fma{suffix}(a, b, c)
#endif
"""
HARDWARE: dict[Real, str] = {
    "double": "defined(__FP_FAST_FMA) || defined(FP_FAST_FMA) || defined(__FMA__) || defined(__CUDACC__) \\\n"
    "    || (defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && (__ARM_FP & 8))",
    "float": "defined(__FP_FAST_FMAF) || defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__CUDACC__) \\\n"
    "    || (defined(__ARM_FEATURE_FMA) && defined(__ARM_FP) && (__ARM_FP & 4))",
}
EXACT = """\
/* The steps of ew_sincos count on IEEE 754 arithmetic, each of them rounded once, as it is written. */
#if defined(__FAST_MATH__)
#error "ew_sincos needs IEEE arithmetic: compile without -ffast-math, or take sin and cos from libm"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "ew_sincos needs FLT_EVAL_METHOD 0 (-msse2 -mfpmath=sse on a 32-bit PC), or take sin and cos from libm"
#endif
"""
BITS = """\
{helper} {integer} ew_bits({real} x)
{{
    {integer} bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}}

{helper} {real} ew_real({integer} bits)
{{
    {real} x;
    memcpy(&x, &bits, sizeof x);
    return x;
}}
"""
RANGE: dict[Real, str] = {
    "double": "within 2 ulp for |x| <= 1e4, within 2^-52 absolutely for |x| <= 1e9; NaN for NaN and infinity",
    "float": "within 2^-23 absolutely for |x| <= 1e4; NaN for NaN and infinity",
}


def fused(real: Real) -> str:
    """The macro EW_FMA."""
    return FUSED.format(macros=HARDWARE[real], suffix=suffix(real))


def bits(dialect: Dialect) -> str:
    """The functions ew_bits and ew_real: a number's bits, and the number of bits."""
    return BITS.format(helper=dialect.helper, real=dialect.real, integer=dialect.integer)


def own_sincos(dialect: Dialect) -> str:
    """The function ew_sincos."""
    bodies = []
    for fma in (True, False):
        w = SourceWriter(dialect.real, fma, dialect.integer, dialect.product)
        sine, cosine = sincos(w, "x")
        bodies += [*w.lines, f"    *sine = {sine};", f"    *cosine = {cosine};", "#else"]
    real, helper = dialect.real, dialect.helper
    head = f"{helper} void ew_sincos({real} x, {real}* sine, {real}* cosine)"
    notes = [EXACT, bits(dialect)]
    says = f"/* Sine and cosine of x, radians: {RANGE[real]}. */"
    return "\n".join([*notes, says, head, "{", "#if EW_USE_FMA", *bodies[:-1], "#endif", "}", ""])


def sincos_steps(dialect: Dialect) -> int:
    """How many real instructions ew_sincos takes, where products and sums fuse."""
    w = SourceWriter(dialect.real, True, dialect.integer, dialect.product)
    sincos(w, "x")
    return sum(f"const {dialect.real} " in line and " ? " not in line and "ew_real" not in line for line in w.lines)


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
class SourceWriter:
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
