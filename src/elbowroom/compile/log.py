"""Natural logarithm of our own, in any number of lanes, with the same bits in each.

x = 2^k m, m from sqrt(1/2) to sqrt(2), by integer steps on its bits.  Then f = m - 1, s = f / (2 + f), z = s^2:

    log x = k ln 2 + f - (f^2 / 2 - s (f^2 / 2 + z P(z)))          ln 2 in two parts; k times the first is exact

P is a Chebyshev fit of degree 6 over [0, 0.0295], in single precision of degree 3 (errors 2^-56 and 2^-34 of s).
Within 1 ulp.  Infinity gives infinity, NaN and what is below 0 NaN; 0 and numbers below the least normal one give
-infinity.
"""

from __future__ import annotations

from .sincos import V, _Writer

FIT = {
    "double": (
        0.666666666666667,
        0.39999999999899505,
        0.28571428625975487,
        0.2222221113479508,
        0.18182889125261723,
        0.15331721600556042,
        0.14616449685043406,
    ),
    "float": (0.6666666655449709, 0.40000121839806124, 0.28550820815960665, 0.23330467216303835),
}
LN2 = {
    "double": (float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")),
    "float": (float.fromhex("0x1.62e3p-1"), 9.058001523953862e-06),
}
MANTISSA = {"double": 52, "float": 23}
ONE = {"double": 0x3FF0000000000000, "float": 0x3F800000}  # bits of 1, of sqrt(1/2), of 2^52 or 2^23, of infinity, NaN
ROOT = {"double": 0x3FE6A09E667F3BCD, "float": 0x3F3504F3}
WHOLE = {"double": 0x4330000000000000, "float": 0x4B000000}
INFINITE = {"double": 0x7FF0000000000000, "float": 0x7F800000}
NEGATIVE = {"double": 0xFFF0000000000000, "float": 0xFF800000}
UNDEFINED = {"double": 0x7FF8000000000000, "float": 0x7FC00000}
LEAST = {"double": 2.0**-1022, "float": 2.0**-126}


def log(w: _Writer[V], x: V) -> V:
    """log x."""
    real, width = w.scalar, MANTISSA[w.scalar]
    shifted = w.integer_op("add", w.as_integer(x), w.whole(ONE[real] - ROOT[real]))
    exponent = w.integer_op("lshr", shifted, w.whole(width))  # k and the exponent of 1
    exponent = w.as_float(w.integer_op("or", exponent, w.whole(WHOLE[real])))
    k = w.binary("fsub", exponent, w.constant(2.0**width + (ONE[real] >> width)))
    mantissa = w.integer_op("and", shifted, w.whole((1 << width) - 1))
    m = w.as_float(w.integer_op("add", mantissa, w.whole(ROOT[real])))
    found = _near_one(w, k, w.binary("fsub", m, w.constant(1.0)))
    below = w.select(w.less(x, w.constant(0.0)), _bits(w, UNDEFINED), _bits(w, NEGATIVE))
    found = w.select(w.less(x, w.constant(LEAST[real])), below, found)
    return w.select(w.less(x, _bits(w, INFINITE)), found, w.binary("fadd", x, x))  # infinity and NaN stay


def _near_one(w: _Writer[V], k: V, f: V) -> V:
    """k ln 2 + log(1 + f)."""
    first, second = (w.constant(part) for part in LN2[w.scalar])
    s = w.binary("fdiv", f, w.binary("fadd", f, w.constant(2.0)))
    z = w.binary("fmul", s, s)
    fit = FIT[w.scalar]
    value = w.constant(fit[-1])
    for c in reversed(fit[:-1]):
        value = w.product_sum(value, z, w.constant(c))
    square = w.binary("fmul", w.binary("fmul", f, w.constant(0.5)), f)
    rest = w.product_sum(s, w.product_sum(z, value, square), w.binary("fmul", k, second))
    less = w.binary("fsub", w.binary("fsub", square, rest), f)
    return w.binary("fsub", w.binary("fmul", k, first), less)


def _bits(w: _Writer[V], bits: dict[str, int]) -> V:
    return w.as_float(w.whole(bits[w.scalar]))
