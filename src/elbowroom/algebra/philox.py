"""Philox4x32-10: random words from a key and a counter (Salmon, Moraes, Dror, Shaw: Parallel random numbers, 2011).

Ten rounds of two 32 x 32 bit products turn a counter of four words and a key of two into four random words.  There is
no state: any number of any stream is there at once, in any order, and the same in every lane and on every machine.

The text is written once, for whatever does the steps: LLVM IR (compile/ir.py), C and CUDA (compile/source.py), or NumPy
(`NumpyWriter`, here), which is what `uniform` of numbers and `Program.evaluate` take.  A word that is known while the
text runs is an int, and steps on ints are done then.

A number in (0, 1) of four whole numbers, as `uniform` has them:

    key        the two words of the key, the lower 32 bits first
    counter    (channel // 2, frame, run, run // 2^32)
    bits       words 0 and 1 for an even channel, 2 and 3 for an odd one: a block serves two channels
    double     N = the upper 52 bits of (first word, second word)        u = (N + 1/2) / 2^52
    float      N = the upper 23 bits of the first word                   u = (N + 1/2) / 2^23

So u is never 0 or 1, 1 - u is as likely and as exact as u, and single precision gives the middle of the interval of
2^-23 that the double lies in: runs in the two precisions see the same noise up to rounding.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

V = TypeVar("V")  # what stands for a value: a register, a variable, an array
Words = tuple[V | int, V | int, V | int, V | int]

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)  # added to the key between two rounds
WORD = 0xFFFFFFFF
MANTISSA = {"double": 52, "float": 23}
WHOLE = {real: 2.0**width for real, width in MANTISSA.items()}  # x + 2^52 has the whole number x in its lowest bits
ONE = {"double": 0x3FF0000000000000, "float": 0x3F800000}  # the bits of 1
CENTRED = {real: 1.0 - 0.5 / whole for real, whole in WHOLE.items()}  # 1 + N / 2^52 less this is u


class _WordWriter(Protocol[V]):
    """What writes, or does, the steps.  A word is 32 bits, in whatever integer the writer holds them."""

    @property
    def scalar(self) -> str: ...
    def constant(self, value: float) -> V: ...
    def whole(self, value: int) -> V: ...
    def binary(self, instruction: str, x: V, y: V) -> V: ...
    def as_integer(self, x: V) -> V: ...
    def as_float(self, x: V) -> V: ...
    def integer_op(self, instruction: str, x: V, y: V) -> V: ...
    def nonzero(self, x: V) -> V: ...
    def select(self, condition: V, x: V, y: V) -> V: ...
    def word(self, value: int) -> V: ...
    def word_of(self, bits: V, first: int) -> V: ...
    def word_op(self, instruction: str, x: V, y: V) -> V: ...
    def wide_product(self, x: V, factor: int) -> tuple[V, V]: ...
    def joined(self, high: V, low: V) -> V: ...


class Philox(Generic[V]):
    """The steps, by a writer.  A word that is known is an int."""

    def __init__(self, writer: _WordWriter[V]) -> None:
        self.w = writer

    def words(self, counter: Words[V], key: tuple[V | int, V | int]) -> Words[V]:
        """The four random words of a counter and a key."""
        c0, c1, c2, c3 = counter
        k0, k1 = key
        for k in range(ROUNDS):
            if k > 0:
                k0, k1 = self._step("add", k0, WEYL[0]), self._step("add", k1, WEYL[1])
            high0, low0 = self._product(c0, MULTIPLIERS[0])
            high1, low1 = self._product(c2, MULTIPLIERS[1])
            c0, c1 = self._step("xor", self._step("xor", c1, k0), high1), low1
            c2, c3 = self._step("xor", self._step("xor", c3, k1), high0), low0
        return c0, c1, c2, c3

    def _product(self, x: V | int, factor: int) -> tuple[V | int, V | int]:
        """The upper and the lower word of a product."""
        return (x * factor >> 32, x * factor & WORD) if isinstance(x, int) else self.w.wide_product(x, factor)

    def _step(self, name: str, x: V | int, y: V | int) -> V | int:
        """xor, or a sum modulo 2^32."""
        if isinstance(x, int) and isinstance(y, int):
            return x ^ y if name == "xor" else x + y & WORD
        if isinstance(y, int) and y == 0:
            return x
        if isinstance(x, int) and x == 0:
            return y
        return self.w.word_op(name, self._word(x), self._word(y))

    def _word(self, x: V | int) -> V:
        return self.w.word(x) if isinstance(x, int) else x

    def block(self, key: V | int, run: V | int, frame: V | int, channel: V | int) -> Words[V]:
        """The words of a channel and its neighbour.  A number that is known is an int, all else is held as a float."""
        return self.words(*self.counted(key, run, frame, channel))

    def counted(
        self, key: V | int, run: V | int, frame: V | int, channel: V | int
    ) -> tuple[Words[V], tuple[V | int, V | int]]:
        """The counter and the key of four such numbers."""
        (k0, k1), (r0, r1), f0, c0 = self._split(key), self._split(run), self._low(frame), self._low(channel)
        half = c0 >> 1 if isinstance(c0, int) else self.w.word_op("lshr", c0, self.w.word(1))
        return (half, f0, r0, r1), (k0, k1)

    def _split(self, x: V | int) -> tuple[V | int, V | int]:
        """A whole number as its lower 32 bits and the rest."""
        if isinstance(x, int):
            return x & WORD, x >> 32
        bits = self._bits(x)
        return self.w.word_of(bits, 0), (self.w.word_of(bits, 32) if self.w.scalar == "double" else 0)

    def _low(self, x: V | int) -> V | int:
        """The lower 32 bits of a whole number."""
        return x & WORD if isinstance(x, int) else self.w.word_of(self._bits(x), 0)

    def _bits(self, x: V) -> V:
        """A whole number that is held as a float, as an integer of its size."""
        w = self.w
        bits = w.as_integer(w.binary("fadd", x, w.constant(WHOLE[w.scalar])))
        return w.integer_op("and", bits, w.whole((1 << MANTISSA[w.scalar]) - 1))

    def between(self, words: Words[V], odd: int) -> V:
        """The number in (0, 1) of the even or the odd channel of a block."""
        w = self.w
        high, low = map(self._word, words[2 * odd : 2 * odd + 2])
        shift = (64 if w.scalar == "double" else 32) - MANTISSA[w.scalar]
        bits = w.integer_op("lshr", w.joined(high, low), w.whole(shift))
        one = w.as_float(w.integer_op("or", bits, w.whole(ONE[w.scalar])))  # 1 + N / 2^52
        return w.binary("fsub", one, w.constant(CENTRED[w.scalar]))

    def chosen(self, channel: V, even: V, odd: V) -> V:
        """Of a block's two numbers, the one of a channel that is not known before."""
        w = self.w
        low = w.word_of(self._bits(channel), 0)
        return w.select(w.nonzero(w.word_op("and", low, w.word(1))), odd, even)


LIMITS = {"key": 52, "run": 52, "frame": 32, "channel": 32}  # bits


def check(*given: Any) -> None:
    """Refuses what is no whole number of so many bits."""
    for (name, bits), x in zip(LIMITS.items(), given, strict=True):
        array = np.asarray(x, dtype=np.float64)
        good = (array >= 0) & (array < 2.0**bits) & (array == np.floor(array))
        if not good.all():
            raise ValueError(f"{name} must be a whole number from 0 to 2^{bits} - 1; got {array[~good].flat[0]}")


class NumpyWriter:
    """Does the steps on arrays; words are held in 64 bits."""

    def __init__(self, dtype: Any = np.float64) -> None:
        self.dtype = np.dtype(dtype)
        self.scalar = "double" if self.dtype.itemsize == 8 else "float"
        self._integer = np.dtype(f"u{self.dtype.itemsize}")

    def constant(self, value: float) -> Any:
        """A number."""
        return self.dtype.type(value)

    def whole(self, value: int) -> Any:
        """A whole number of a float's size."""
        return self._integer.type(value)

    def binary(self, instruction: str, x: Any, y: Any) -> Any:
        """fadd, fsub."""
        return x + y if instruction == "fadd" else x - y

    def as_integer(self, x: Any) -> Any:
        """The bits of a value."""
        return x.view(self._integer)

    def as_float(self, x: Any) -> Any:
        """The value of bits."""
        return x.view(self.dtype)

    def integer_op(self, instruction: str, x: Any, y: Any) -> Any:
        """and, or, lshr."""
        return _NUMPY[instruction](x, y)

    def nonzero(self, x: Any) -> Any:
        """Whether an integer is not zero."""
        return x != 0

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        """x where the condition holds, else y."""
        return np.where(condition, x, y)

    def word(self, value: int) -> Any:
        """A word."""
        return np.uint64(value)

    def word_of(self, bits: Any, first: int) -> Any:
        """32 bits of a whole number."""
        return bits.astype(np.uint64) >> np.uint64(first) & np.uint64(WORD)

    def word_op(self, instruction: str, x: Any, y: Any) -> Any:
        """add, and, xor, lshr."""
        return _NUMPY[instruction](x, y) & np.uint64(WORD)

    def wide_product(self, x: Any, factor: int) -> tuple[Any, Any]:
        """The upper and the lower word of a product."""
        product = x * np.uint64(factor)
        return product >> np.uint64(32), product & np.uint64(WORD)

    def joined(self, high: Any, low: Any) -> Any:
        """Two words in the integer of a double's size, or the upper one in that of a float's."""
        return high << np.uint64(32) | low if self.scalar == "double" else high.astype(np.uint32)


_NUMPY = {
    "add": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshr": np.right_shift,
}


def words(key: ArrayLike, counter: ArrayLike) -> NDArray[np.uint32]:
    """Philox4x32-10 itself, on arrays: keys (..., 2) and counters (..., 4) of 32-bit words -> words (..., 4)."""
    k, c = (np.asarray(x).astype(np.uint64) for x in (key, counter))
    if k.shape[-1:] != (2,) or c.shape[-1:] != (4,):
        raise ValueError(f"words: expected a key (..., 2) and a counter (..., 4); got {k.shape} and {c.shape}")
    found = Philox[Any](NumpyWriter()).words((c[..., 0], c[..., 1], c[..., 2], c[..., 3]), (k[..., 0], k[..., 1]))
    return np.stack(np.broadcast_arrays(*found), axis=-1).astype(np.uint32)


def checked(key: Any, run: Any, frame: Any, channel: Any) -> Any:
    """`numbers`, of what is whole and within its limits; a float of numbers."""
    check(key, run, frame, channel)
    found = numbers(key, run, frame, channel)
    return found if isinstance(found, np.ndarray) and found.ndim else float(found)


def numbers(key: Any, run: Any, frame: Any, channel: Any) -> Any:
    """`uniform` of arrays of whole numbers, in single precision where those are."""
    arrays = [x for x in (key, run, frame, channel) if isinstance(x, np.ndarray | np.generic)]
    single = bool(arrays) and all(x.dtype == np.float32 for x in arrays)
    w = NumpyWriter(np.float32 if single else np.float64)
    steps = Philox[Any](w)
    known = (int, float)
    given = [int(x) if type(x) in known else np.asarray(x, w.dtype) for x in (key, run, frame, channel)]
    with np.errstate(over="ignore"):  # words of no dimension wrap as the others do
        found = steps.block(given[0], given[1], given[2], given[3])
        if isinstance(given[3], int):
            return steps.between(found, given[3] % 2)
        return steps.chosen(given[3], steps.between(found, 0), steps.between(found, 1))
