"""What a target is, and how one input is judged."""

from __future__ import annotations

import traceback
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elbowroom.errors import ElbowroomError, ModelNotice, ModelWarning, RecordingWarning

LONGEST = 20_000  # characters of an error's message: more is the input said back, and no help


class Broken(Exception):  # noqa: N818  # as one says it
    """The library took an input and what it made of it is wrong; raised by the checks of a target."""


class Target:
    """Something that takes inputs from outside.  One of these lives in a process; `folder` is its own."""

    name = ""
    suffix = ".bin"  # of a saved input
    share = 1.0  # of the inputs of a run, as a weight

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def generate(self, rng: np.random.Generator) -> bytes:
        """An input.  Nothing but `rng` decides which."""
        raise NotImplementedError

    def feed(self, data: bytes) -> bool:
        """Gives the input to the library and uses what comes of it: True if it was accepted, False if refused.

        The library's own errors may pass through; they are refusals.  Any other exception is a finding.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Gives back what it holds."""


@dataclass(frozen=True)
class Outcome:
    """What became of one input; `kind` is empty unless it is a finding, and the same for findings of one cause."""

    accepted: bool
    kind: str = ""
    detail: str = ""


def rng_of(seed: int, name: str, index: int) -> np.random.Generator:
    """The random numbers that input `index` of a target is made from."""
    return np.random.default_rng([seed, zlib.crc32(name.encode()), index])


def judge(target: Target, data: bytes) -> Outcome:
    """Feeds one input; whatever happens is an outcome."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", append=True)  # after what elbowroom itself has set
        warnings.simplefilter("always", ResourceWarning)
        warnings.simplefilter("ignore", ModelWarning)
        warnings.simplefilter("ignore", ModelNotice)
        warnings.simplefilter("ignore", RecordingWarning)
        try:
            accepted = bool(target.feed(data))
        except ElbowroomError as error:
            accepted, said = False, str(error)
            if not said.strip() or len(said) > LONGEST:
                kind = f"{type(error).__name__} {'too long' if said.strip() else 'without words'} at {_place(error)}"
                return Outcome(False, kind, said[:LONGEST])
        except Exception as error:
            said = f"{type(error).__name__}: {error}"[:300]
            kind = said if isinstance(error, Broken) else f"{type(error).__name__} at {_place(error)}"
            trace = "".join(traceback.format_exception(error, limit=-12))
            return Outcome(False, kind, trace[-LONGEST:] if len(trace) > LONGEST else trace)
    for warning in seen:
        where = f"{Path(warning.filename).name}:{warning.lineno}"
        return Outcome(False, f"{warning.category.__name__} at {where}", str(warning.message)[:LONGEST])
    return Outcome(accepted)


def _place(error: BaseException) -> str:
    """The innermost line of elbowroom that the error went through, else of anybody."""
    frames = list(traceback.extract_tb(error.__traceback__))
    ours = [frame for frame in frames if "elbowroom" in Path(frame.filename).parts]
    last = (ours or frames or [None])[-1]
    return "nowhere" if last is None else f"{'/'.join(Path(last.filename).parts[-2:])}:{last.lineno}"
