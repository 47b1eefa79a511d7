"""BatchPipeline: the steps of a pipeline for many states at once, each state with arrays of its own.

    batch = BatchPipeline(steps, states=256)       # of a Pipeline that is bound to one state's arrays
    batch[q][:m] = ...                             # (256, n): what stands for the array q of the steps
    refused = batch.run(m)                         # for the first m states: None, or which of them went no farther

Every kernel runs in SIMD lanes, as `kernel(q)` of a batch does: the same operations as for one state, so the same bits.

A state that a `Sound` ends, or whose checked inputs are not finite, must not go on, while the others do.  `run` ends
before anything that lasts was written (the first Copy or ToRing) and gives the numbers of such states; the caller takes
them out (`swap` puts them behind the others) and runs the rest anew.

Arrays of the steps that share memory, a table and its parts say, are written together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernel import Array
from .pipeline import Call, Copy, FromRing, Sound, Span, Step, ToRing

Indices = NDArray[np.int_]


def arrays_of(step: Step) -> list[Array]:
    """The arrays that a step reads, then those that it writes."""
    if isinstance(step, Call):
        return [*step.inputs, *((step.out,) if isinstance(step.out, np.ndarray) else step.out)]
    if isinstance(step, Copy):
        return [step.source, step.to]
    if isinstance(step, FromRing):
        return [step.ring, step.at, step.to]
    if isinstance(step, ToRing):
        return [step.source, step.at, step.ring]
    return [step.array]


def distinct(steps: Iterable[Step]) -> list[Array]:
    """The arrays of some steps, each once, in the order of their first use."""
    found: dict[tuple[int, int], Array] = {}
    for step in steps:
        for array in arrays_of(step):
            found.setdefault(_key(array), array)
    return list(found.values())


def _key(array: Array) -> tuple[int, int]:
    """The same for an array and for one of another shape on the same memory."""
    return Span.of(array).start, array.nbytes


class BatchPipeline:
    """See the module's docstring.  `steps` may be run in parts: `run(m, first, last)`."""

    def __init__(self, steps: Iterable[Step], states: int) -> None:
        self.steps, self.states = tuple(steps), states
        self.arrays = distinct(self.steps)
        self._of = {_key(array): np.repeat(array[None], states, axis=0) for array in self.arrays}
        self.lasting = next(
            (k for k, step in enumerate(self.steps) if isinstance(step, Copy | ToRing)), len(self.steps)
        )
        self._runs = [self._made(step) for step in self.steps]

    def __getitem__(self, array: Array) -> Array:
        """(states, *shape): what stands for an array of the steps."""
        return self._of[_key(array)].reshape(self.states, *array.shape)

    def has(self, array: Array) -> bool:
        """Whether it is one of the steps' arrays."""
        return _key(array) in self._of

    # ---- states
    def keep(self, kept: Indices) -> None:
        """Only these states, kept (ascending), in the first places."""
        for batch in self._of.values():
            for to, place in enumerate(kept.tolist()):
                if to != place:
                    batch[to] = batch[place]

    def put(self, state: int, arrays: Iterable[Array] | None = None) -> None:
        """A state from the steps' own arrays, or from others in the same order."""
        for own, given in zip(self.arrays, self.arrays if arrays is None else arrays, strict=True):
            self[own][state] = given

    def take(self, state: int, arrays: Iterable[Array] | None = None) -> None:
        """A state into the steps' own arrays, or into others in the same order."""
        for own, given in zip(self.arrays, self.arrays if arrays is None else arrays, strict=True):
            given[...] = self[own][state]

    def swap(self, a: int, b: int) -> None:
        """Two states change places."""
        if a != b:
            for batch in self._of.values():
                batch[[a, b]] = batch[[b, a]]

    # ---- running
    def run(self, count: int, first: int = 0, last: int | None = None) -> Indices | None:
        """Steps `first` to `last` for the first `count` states."""
        for run in self._runs[first:last]:
            refused = run(count)
            if refused is not None:
                return refused
        return None

    def _made(self, step: Step) -> Callable[[int], Indices | None]:
        if isinstance(step, Call):
            return self._call(step)
        if isinstance(step, Copy):
            return self._copied(self[step.source], self[step.to], self._shared(step.to))
        if isinstance(step, Sound):
            array = self[step.array].reshape(self.states, -1)

            def sound(count: int) -> Indices | None:
                fine = np.isfinite(array[:count]).all(axis=1)
                return None if fine.all() else np.flatnonzero(~fine)

            return sound
        ring, at = self[step.ring], self[step.at].reshape(-1)
        every, size = np.arange(self.states), step.ring.shape[0]

        def row(count: int) -> Indices:
            place = at[:count]
            return np.where((place >= 0.0) & (place < size), place, 0.0).astype(int)

        if isinstance(step, FromRing):
            to = self[step.to]

            def read(count: int) -> None:
                to[:count] = ring[every[:count], row(count)]

            return read
        source = self[step.source]

        def write(count: int) -> None:
            ring[every[:count], row(count)] = source[:count]

        return write

    def _call(self, step: Call) -> Callable[[int], Indices | None]:
        backend: Any = step.kernel.backend
        out = (step.out,) if isinstance(step.out, np.ndarray) else tuple(step.out)
        inputs, outputs = [self[x] for x in step.inputs], [self[x] for x in out]
        run: Callable[[int], bool] = backend.on(inputs, outputs)
        after = [part for array in out for part in self._shared(array)]

        def call(count: int) -> Indices | None:
            if not run(count):
                fine = np.ones(count, dtype=bool)
                for array in inputs:
                    fine &= np.isfinite(array[:count].reshape(count, -1)).all(axis=1)
                return np.flatnonzero(~fine)
            for part in after:
                part(count)
            return None

        return call

    def _copied(self, source: Array, to: Array, after: list[Callable[[int], None]]) -> Callable[[int], None]:
        def copy(count: int) -> None:
            to[:count] = source[:count]
            for part in after:
                part(count)

        return copy

    def _shared(self, array: Array) -> list[Callable[[int], None]]:
        """What brings numbers of an array to all others that share memory with it."""
        span, size = Span.of(array), array.itemsize
        found = []
        for other in self.arrays:
            with_ = Span.of(other)
            if _key(other) == _key(array) or not span.meets(with_):
                continue
            start, end = max(span.start, with_.start), min(span.end, with_.end)
            here = slice((start - span.start) // size, (end - span.start) // size)
            there = slice((start - with_.start) // size, (end - with_.start) // size)
            mine, its = (self[x].reshape(self.states, -1) for x in (array, other))
            found.append(_part(mine, here, its, there))
        return found


def _part(mine: Array, here: slice, its: Array, there: slice) -> Callable[[int], None]:
    def bring(count: int) -> None:
        its[:count, there] = mine[:count, here]

    return bring
