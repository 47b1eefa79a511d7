"""Sine and cosine of our own, in any number of lanes, with the same bits in each.

Reduction: k = round(x 2/pi) and r = x - k pi/2 with pi/2 = P1 + P2 + P3 (53 bits each).  x - k P1 is exact in a fused
step, and each of the two that follow rounds what is left, so r keeps its relative accuracy next to the multiples of
pi/2.  Then, on [-pi/4, pi/4] with z = r^2,

    sin r = r + r z S(z)          cos r = 1 + z (-1/2 + z C(z))

S and C are Chebyshev fits of degree 5 over [0, 0.6175] (errors 2^-56 and 2^-60 of the result).  The last two bits of k
choose and sign the two.  NaN and infinity give NaN.  Within 2 ulp for |x| <= 1e4 and 2^-52 absolutely up to 1e9;
beyond 2^30 the reduction runs out of bits.  Where nothing is fused, Dekker's splitting gives the exact products.

Single precision reduces with three 24-bit parts of pi/2 (in double where nothing is fused) and fits of degree 2.
"""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

V = TypeVar("V")  # what stands for a value: a register, a variable, or several of them


class _Writer(Protocol[V]):
    """What writes the steps: LLVM IR (ir.IrWriter, ir.Together) or C (source.SourceWriter)."""

    @property
    def scalar(self) -> str: ...
    @property
    def fma(self) -> bool: ...
    def constant(self, value: float) -> V: ...
    def whole(self, value: int) -> V: ...
    def binary(self, instruction: str, x: V, y: V) -> V: ...
    def call(self, intrinsic: str, *arguments: V) -> V: ...
    def product_sum(self, a: V, b: V, c: V) -> V: ...
    def as_integer(self, x: V) -> V: ...
    def as_float(self, x: V) -> V: ...
    def integer_op(self, instruction: str, x: V, y: V) -> V: ...
    def nonzero(self, x: V) -> V: ...
    def less(self, x: V, y: V) -> V: ...
    def select(self, condition: V, x: V, y: V) -> V: ...
    def in_double(self) -> Self: ...
    def extended(self, x: V) -> V: ...
    def truncated(self, x: V) -> V: ...


TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
HALF_PI = tuple(map(float.fromhex, ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110")))
HALF_PI_SINGLE = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
ROUND = {
    "double": 6755399441055744.0,
    "float": 12582912.0,
}  # 1.5 * 2^52, 1.5 * 2^23: adding it rounds to a whole number
SINE = (
    -0.16666666666666666,
    0.008333333333330936,
    -0.0001984126983673957,
    2.7557316092699366e-06,
    -2.5051129792549024e-08,
    1.591798150140412e-10,
)
COSINE = (
    0.041666666666666664,
    -0.0013888888888887389,
    2.48015872987538e-05,
    -2.755731726556589e-07,
    2.0876144984413913e-09,
    -1.1382539967177458e-11,
)
SINE_SINGLE = (-0.16666664655991992, 0.008332747042492818, -0.00019587625680276993)
COSINE_SINGLE = (0.04166666465316798, -0.0013888301805264362, 2.4547676325688715e-05)


def sincos(w: _Writer[V], x: V) -> tuple[V, V]:
    """sin x and cos x."""
    double = w.scalar == "double"
    rounded = w.product_sum(x, w.constant(TWO_OVER_PI), w.constant(ROUND[w.scalar]))
    k = w.binary("fsub", rounded, w.constant(ROUND[w.scalar]))
    sine, cosine = _kernels(w, _reduced(w, x, k))
    quadrant = w.as_integer(rounded)
    odd = w.nonzero(w.integer_op("and", quadrant, w.whole(1)))
    first, second = w.select(odd, cosine, sine), w.select(odd, sine, cosine)
    shift = w.whole(62 if double else 30)  # bit 1 of the quadrant becomes the sign bit
    sign = w.integer_op("shl", w.integer_op("and", quadrant, w.whole(2)), shift)
    next_ = w.integer_op("add", quadrant, w.whole(1))
    sign_next = w.integer_op("shl", w.integer_op("and", next_, w.whole(2)), shift)
    return (
        w.as_float(w.integer_op("xor", w.as_integer(first), sign)),
        w.as_float(w.integer_op("xor", w.as_integer(second), sign_next)),
    )


def _reduced(w: _Writer[V], x: V, k: V) -> V:
    """x - k pi/2."""
    double = w.scalar == "double"
    if w.fma:
        for part in HALF_PI if double else HALF_PI_SINGLE:
            x = w.call("fma", k, w.constant(-part), x)
        return x
    if double:
        return _reduced_apart(w, x, k)
    wide = w.in_double()
    x64, k64 = wide.extended(x), wide.extended(k)
    left = wide.binary("fsub", x64, wide.binary("fmul", k64, wide.constant(HALF_PI[0])))
    return w.truncated(left)


def _reduced_apart(w: _Writer[V], x: V, k: V) -> V:
    """x - k pi/2 in double precision by products and sums alone."""
    p1, p2, p3 = (w.constant(p) for p in HALF_PI)
    head, tail = _product(w, k, p1)
    r = w.binary("fsub", w.binary("fsub", x, head), tail)  # both exact: what is left has few bits
    head, tail = _product(w, k, p2)
    hi = w.binary("fsub", r, head)  # and its error, by Knuth's two-sum
    virtual = w.binary("fsub", r, hi)
    error = w.binary(
        "fadd",
        w.binary("fsub", r, w.binary("fadd", hi, virtual)),
        w.binary("fsub", virtual, head),
    )
    lo = w.binary("fsub", w.binary("fsub", error, tail), w.binary("fmul", k, p3))
    return w.binary("fadd", hi, lo)


def _product(w: _Writer[V], a: V, b: V) -> tuple[V, V]:
    """a * b exactly, as head + tail, by Dekker's splitting."""
    head = w.binary("fmul", a, b)
    a1, a2 = _split(w, a)
    b1, b2 = _split(w, b)
    error = w.binary("fsub", head, w.binary("fmul", a1, b1))
    error = w.binary("fsub", error, w.binary("fmul", a2, b1))
    error = w.binary("fsub", error, w.binary("fmul", a1, b2))
    return head, w.binary("fsub", w.binary("fmul", a2, b2), error)


def _split(w: _Writer[V], a: V) -> tuple[V, V]:
    """a as two halves of 26 bits."""
    scaled = w.binary("fmul", a, w.constant(134217729.0))  # 2^27 + 1
    high = w.binary("fsub", scaled, w.binary("fsub", scaled, a))
    return high, w.binary("fsub", a, high)


def _kernels(w: _Writer[V], r: V) -> tuple[V, V]:
    """sin and cos of r within an eighth of a turn."""
    double = w.scalar == "double"
    z = w.binary("fmul", r, r)

    def horner(coefficients: tuple[float, ...]) -> V:
        value = w.constant(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            value = w.product_sum(value, z, w.constant(c))
        return value

    sine = w.product_sum(w.binary("fmul", r, z), horner(SINE if double else SINE_SINGLE), r)
    return sine, horner((1.0, -0.5, *(COSINE if double else COSINE_SINGLE)))
