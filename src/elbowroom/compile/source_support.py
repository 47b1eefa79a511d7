"""What generated text stands on: the macro EW_FMA, and `ew_sincos`, the steps of sincos.py as C.

    EW_FMA(a, b, c)   a * b + c: fused where the target does that in hardware, as its compiler says; else a product
                      and a sum, since a fused step in software costs a hundred of them.  -DEW_USE_FMA=0 or 1 overrules.
    ew_sincos         in both variants, chosen by EW_USE_FMA: for double, exact products by a fused step or by Dekker's
                      splitting; for float, three fused steps or one subtraction in double

A compiler that fuses on its own (gcc's -ffp-contract=fast) cannot hurt ew_sincos where EW_FMA fuses too: the products
that must be rounded alone are read by fused steps as well, so they are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sincos import sincos
from .source_writer import Real, Writer, suffix

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
        w = Writer(dialect.real, fma, dialect.integer, dialect.product)
        sine, cosine = sincos(w, "x")
        bodies += [*w.lines, f"    *sine = {sine};", f"    *cosine = {cosine};", "#else"]
    real, helper = dialect.real, dialect.helper
    head = f"{helper} void ew_sincos({real} x, {real}* sine, {real}* cosine)"
    notes = [EXACT, bits(dialect)]
    says = f"/* Sine and cosine of x, radians: {RANGE[real]}. */"
    return "\n".join([*notes, says, head, "{", "#if EW_USE_FMA", *bodies[:-1], "#endif", "}", ""])


def sincos_steps(dialect: Dialect) -> int:
    """How many real instructions ew_sincos takes, where products and sums fuse."""
    w = Writer(dialect.real, True, dialect.integer, dialect.product)
    sincos(w, "x")
    return sum(f"const {dialect.real} " in line and " ? " not in line and "ew_real" not in line for line in w.lines)
