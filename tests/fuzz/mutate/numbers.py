"""Numbers as people mistype them, and as nobody ever measured them."""

from __future__ import annotations

import math
import re

import numpy as np

Rng = np.random.Generator

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")

EXTREMES = (
    0.0, -0.0, 1.0, -1.0, 5e-324, 1e-308, -1e-308, 1e-160, 1e-30, 1e-9, 1e3, 1e6, 1e9, 1e17, 1e30, 1e150, 1e160,
    -1e160, 1e200, 1e300, 1e307, 1e308, -1e308, 1.7976931348623157e308, math.nan, math.inf, -math.inf, 2.0**31,
    2.0**53, 2.0**63, -(2.0**63), 2.0**64, math.pi, 2 * math.pi, 1e5, 1e15,
)  # fmt: skip

TEXTS = (
    "nan", "-nan", "NaN", "inf", "-inf", "Infinity", "1e400", "-1e400", "1e-400", "0x10", "0b1", "1_0", "1e",
    "e1", "--1", "+-1", "1.2.3", "1,5", "٣", "１", "²", "½", "", " ", "-", "+", ".", "true", "None", "1" * 400,
    "1" * 5000, "0." + "0" * 400 + "1", "9" * 20, "-9223372036854775809", "18446744073709551616",
    "1e99999999999", "1 2", "1\t2", "\x00",
)  # fmt: skip


def gentle(rng: Rng, value: float) -> float:
    """Near the value, or its negative, or rounded: what a sound input may still have."""
    how = rng.integers(5)
    if how == 0:
        return -value
    if how == 1:
        return float(value * 10.0 ** rng.normal(0.0, 0.5))
    if how == 2:
        return float(value + rng.normal(0.0, 0.1))
    if how == 3:
        return round(value, int(rng.integers(0, 4)))
    return float(rng.uniform(-2.0, 2.0))


def extreme(rng: Rng) -> float:
    """One of the numbers that break things, or of any magnitude."""
    if rng.random() < 0.7:
        return float(EXTREMES[rng.integers(len(EXTREMES))])
    return float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-320.0, 308.0))


def number(rng: Rng, value: float, wild: float = 0.5) -> float:
    """Another number in the place of this one; `wild` is how often it is an extreme one."""
    return extreme(rng) if rng.random() < wild else gentle(rng, value)


def number_text(rng: Rng, text: str, wild: float = 0.5) -> str:
    """Another text in the place of a number's; seldom it is none at all."""
    if rng.random() < 0.25 * wild:
        return str(TEXTS[rng.integers(len(TEXTS))])
    try:
        value = float(text)
    except ValueError:
        value = 1.0
    return repr(number(rng, value, wild))


def one_number(rng: Rng, text: str, wild: float = 0.5) -> str:
    """The text with one of the numbers in it changed."""
    found = list(NUMBER.finditer(text))
    if not found:
        return text
    at = found[rng.integers(len(found))]
    return text[: at.start()] + number_text(rng, at[0], wild) + text[at.end() :]
