"""Targets that go wrong in every way there is, for the tests of the runner."""

from __future__ import annotations

import os
import signal
import threading
import warnings

import numpy as np

from elbowroom.errors import ModelError, ModelWarning

from .target import Broken, Target

ACCEPTED, REFUSED, RAISES, WARNS, WRONG, WORDLESS, CALM = range(7)


class Soft(Target):
    """Inputs 0 to 6, again and again, one for each thing that can happen without a crash."""

    name, suffix = "soft", ".soft"

    def generate(self, rng: np.random.Generator) -> bytes:
        return bytes([int(rng.integers(7))])

    def feed(self, data: bytes) -> bool:
        what = data[0]
        if what == REFUSED:
            raise ModelError("not this one")
        if what == RAISES:
            raise KeyError("nobody caught it")
        if what == WARNS:
            warnings.warn("overflow", RuntimeWarning, stacklevel=1)
        if what == WRONG:
            raise Broken("not finite")
        if what == WORDLESS:
            raise ModelError("")
        if what == CALM:
            warnings.warn("odd, but usable", ModelWarning, stacklevel=1)
        return True


class Hard(Target):
    """One input in four hangs, kills its process, or takes memory."""

    name = "hard"

    def generate(self, rng: np.random.Generator) -> bytes:
        return bytes([int(rng.integers(4))])

    def feed(self, data: bytes) -> bool:
        if data[0] == 1:
            threading.Event().wait()
        if data[0] == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        if data[0] == 3:
            bytearray(2**40)
        return True


class Well(Target):
    """Nothing is wrong with it."""

    name = "well"

    def generate(self, rng: np.random.Generator) -> bytes:
        return rng.bytes(4)

    def feed(self, data: bytes) -> bool:
        if data[0] < 64:
            raise ModelError("too small")
        return True
