"""Bytes, words, lines and cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from .numbers import NUMBER, number_text, one_number

Rng = np.random.Generator
Change = Callable[[Rng, bytes], bytes]

WORDS = re.compile(r"\w+|[^\w\s]|\s+")
STRANGE = (
    "", " ", "\t", "\n", "\r\n", "\0", "\x1b[31m", "\x7f", "\u2028", "\ufeff", "é", "日本", "🤖", "\u202eabc",
    "e\u0301", "ﬁ", "a" * 300, "x" * 5000, "../..", "/etc/passwd", "..\\..", "%s%n", "{}", "<b>", "&amp;",
    "${x}", "'", '"', "\\", "#", "__proto__", "CON", "NUL", "nan", "0", "-", ".", "null", "true", "\ud800",
)  # fmt: skip
BYTES = (
    b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\x80", b"\xc0\xaf", b"\r", b"\n", b"\t", b" ", b"<", b">",
    b"[", b"]", b'"', b",", b"=", b"#", b"\x1a",
)  # fmt: skip


def strange(rng: Rng) -> str:
    """A text that nobody expects."""
    return STRANGE[rng.integers(len(STRANGE))]


def some(rng: Rng) -> int:
    """How often to change something: mostly once."""
    return 1 if rng.random() < 0.6 else int(rng.integers(2, 6))


def encode(text: str) -> bytes:
    """UTF-8, lone surrogates too, which makes it none."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """As text, whatever it is; `encode` gives the bytes of valid UTF-8 back."""
    return data.decode("utf-8", "replace")


def raw(rng: Rng, data: bytes) -> bytes:
    """One change that knows nothing of what the bytes mean."""
    data = data or b" "
    i, j = sorted(int(rng.integers(len(data) + 1)) for _ in range(2))
    how = rng.integers(9)
    if how == 0:  # a bit
        at = int(rng.integers(len(data)))
        return data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :]
    if how == 1:  # a byte
        at = int(rng.integers(len(data)))
        return data[:at] + bytes([int(rng.integers(256))]) + data[at + 1 :]
    if how == 2:
        return data[:i] + BYTES[rng.integers(len(BYTES))] * int(rng.choice([1, 1, 1, 2, 100])) + data[i:]
    if how == 3:  # a few bytes gone
        return data[:i] + data[i + int(rng.integers(1, 9)) :]
    if how == 4:  # torn off
        return data[:i]
    if how == 5:
        return data[i:]
    if how == 6:  # a piece twice
        return data[:j] + data[i : min(j, i + 4000)] + data[j:]
    if how == 7:  # a piece elsewhere
        k = int(rng.integers(len(data) + 1))
        rest = data[:i] + data[min(j, i + 200) :]
        return rest[:k] + data[i : min(j, i + 200)] + rest[k:]
    return data[:i] + encode(strange(rng)) + data[i:]


def words(rng: Rng, data: bytes) -> bytes:
    """One word changed: into another of the same text, into something strange, or a number into another."""
    text = decode(data)
    if rng.random() < 0.5 and NUMBER.search(text):
        return encode(one_number(rng, text))
    found = list(WORDS.finditer(text))
    if not found:
        return raw(rng, data)
    at, other = (found[rng.integers(len(found))] for _ in range(2))
    how = rng.integers(5)
    if how == 0:
        new = ""
    elif how == 1:
        new = at[0] * 2
    elif how == 2:
        new = strange(rng)
    elif how == 3 and NUMBER.fullmatch(at[0]):
        new = number_text(rng, at[0])
    else:
        new = other[0]
    return encode(text[: at.start()] + new + text[at.end() :])


def lines(rng: Rng, data: bytes) -> bytes:
    """One line removed, doubled, moved, cut, repeated or changed in a number."""
    ending = b"\r\n" if b"\r\n" in data else b"\n"
    found = data.split(ending)
    at, to = (int(rng.integers(len(found))) for _ in range(2))
    how = rng.integers(8)
    if how == 0:
        del found[at]
    elif how == 1:
        found.insert(at, found[at])
    elif how == 2:
        found.insert(to, found.pop(at))
    elif how == 3:
        found[at] = found[at][: int(rng.integers(len(found[at]) + 1))]
    elif how == 4:
        found[at] = b""
    elif how == 5:
        found[at : at + 1] = [found[at]] * int(rng.choice([3, 10, 200]))
    elif how == 6:
        ending = [b"\r\n", b"\r", b"\n\n", b"\x0b", b"\xe2\x80\xa8"][rng.integers(5)]
    else:
        found[at] = encode(one_number(rng, decode(found[at])))
    return ending.join(found)


def cells(rng: Rng, data: bytes, separator: bytes = b",", wild: float = 0.5) -> bytes:
    """One cell of a table changed; mostly in a row, seldom a whole column, or one more or less."""
    rows = data.split(b"\n")
    k = int(rng.integers(len(rows)))
    row = rows[k].split(separator)
    at = int(rng.integers(len(row)))
    how = rng.random()
    if how < 0.5:
        row[at] = encode(number_text(rng, decode(row[at]), wild))
    elif how < 0.6:
        row[at] = row[int(rng.integers(len(row)))]
    elif how < 0.7:
        row[at] = b""
    elif how < 0.78:
        row[at] = encode(strange(rng))
    elif how < 0.82:
        row.insert(at, row[at])
    elif how < 0.86:
        del row[at]
    else:  # a whole column
        new = encode(number_text(rng, decode(row[at]), wild))
        for j in range(k, len(rows)):
            other = rows[j].split(separator)
            if at < len(other):
                other[at] = new
                rows[j] = separator.join(other)
        return b"\n".join(rows)
    rows[k] = separator.join(row)
    return b"\n".join(rows)


def changed(rng: Rng, data: bytes, ways: Sequence[tuple[float, Change]]) -> bytes:
    """The data after some changes, each by one of the ways, which have weights."""
    weights = np.array([weight for weight, _ in ways])
    for _ in range(some(rng)):
        data = ways[rng.choice(len(ways), p=weights / weights.sum())][1](rng, data)
    return data
