"""What generated C and CUDA stand on: fused products and sums, sines, logarithms and random numbers of our own.

    EW_FMA(a, b, c)   a * b + c: fused where the target does that in hardware, as its compiler says; else a product
                      and a sum, since a fused step in software costs a hundred of them.  -DEW_USE_FMA=0 or 1 overrules.
    ew_sincos         in both variants, chosen by EW_USE_FMA: for double, exact products by a fused step or by Dekker's
                      splitting; for float, three fused steps or one subtraction in double
    ew_log            the logarithm, where it is not libm's
    ew_uniform        the two random numbers of a block of Philox4x32-10

A compiler that fuses on its own (gcc's -ffp-contract=fast) cannot hurt ew_sincos and ew_log where EW_FMA fuses too: the
products that must be rounded alone are read by fused steps as well, or are exact, so they are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..algebra.philox import Philox
from .log import log
from .sincos import sincos
from .source import Dialect, Real, Source, SourceWriter, suffix

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
/* The steps of ew_sincos and ew_log count on IEEE 754 arithmetic, each of them rounded once, as it is written. */
#if defined(__FAST_MATH__)
#error "ew_sincos and ew_log need IEEE arithmetic: compile without -ffast-math, or take both from libm"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "ew_sincos and ew_log need FLT_EVAL_METHOD 0 (-msse2 -mfpmath=sse on a 32-bit PC), or take both from libm"
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
        w = _writer(dialect, fma)
        sine, cosine = sincos(w, "x")
        bodies += [*w.lines, f"    *sine = {sine};", f"    *cosine = {cosine};", "#else"]
    real, helper = dialect.real, dialect.helper
    head = f"{helper} void ew_sincos({real} x, {real}* sine, {real}* cosine)"
    says = f"/* Sine and cosine of x, radians: {RANGE[real]}. */"
    return "\n".join([says, head, "{", "#if EW_USE_FMA", *bodies[:-1], "#endif", "}", ""])


def sincos_steps(dialect: Dialect) -> int:
    """How many real instructions ew_sincos takes, where products and sums fuse."""
    w = _writer(dialect, True)
    sincos(w, "x")
    return sum(f"const {dialect.real} " in line and " ? " not in line and "ew_real" not in line for line in w.lines)


def own_log(dialect: Dialect) -> str:
    """The function ew_log."""
    w = _writer(dialect, True)
    found = log(w, "x")
    says = "/* Natural logarithm of x: within 1 ulp; -infinity at 0, NaN below it. */"
    head = f"{dialect.helper} {dialect.real} ew_log({dialect.real} x)"
    return "\n".join([says, head, "{", *w.lines, f"    return {found};", "}", ""])


def own_uniform(dialect: Dialect) -> str:
    """The function ew_uniform."""
    w = _writer(dialect, True)
    steps = Philox(w)
    words = steps.words(("c0", "c1", "c2", "c3"), ("k0", "k1"))
    even, odd = (steps.between(words, k) for k in (0, 1))
    word, real = dialect.integers[0], dialect.real
    given = ", ".join(f"{word} {name}" for name in ("c0", "c1", "c2", "c3", "k0", "k1"))
    says = "/* Two random numbers in (0, 1), from a counter and a key: Philox4x32-10. */"
    head = f"{dialect.helper} void ew_uniform({given}, {real}* even, {real}* odd)"
    body = [*w.lines, f"    *even = {even};", f"    *odd = {odd};"]
    return "\n".join([says, head, "{", *_read(body), "}", ""])


def _read(lines: list[str]) -> list[str]:
    """Lines without those whose variable no other reads: the lowest words, in single precision."""
    text = "\n".join(lines)
    kept = []
    for line in lines:
        name = re.match(r" *const \w[\w ]* (\w+) =", line)
        if name is None or len(re.findall(rf"\b{name[1]}\b", text)) > 1:
            kept.append(line)
    return kept


def support(dialect: Dialect, sources: Iterable[Source], *, always: bool = False) -> str:
    """What these texts of one dialect stand on, in front of them once; `always` with ew_bits and ew_real."""
    there = {op[0] for source in sources for _, op in source.steps}
    own = dialect.trig == "own"
    turns, logs, draws = own and bool(there & {"sin", "cos"}), own and "log" in there, "uniform" in there
    parts = [fused(dialect.real)]
    parts += [bits(dialect)] if always or turns or logs or draws else []
    parts += [EXACT] if turns or logs else []
    parts += [own_sincos(dialect)] if turns else []
    parts += [own_log(dialect)] if logs else []
    parts += [own_uniform(dialect)] if draws else []
    return "\n".join(parts)


def _writer(dialect: Dialect, fma: bool) -> SourceWriter:
    return SourceWriter(dialect.real, fma, dialect.integer, dialect.product, dialect.integers)
