"""The engine `cuda`: closed loops on a graphics card, thousands of runs at once; the processor's cores do the rest.

    engine("cuda")                                   single precision, a process per core
    engine("cuda", workers=8, precision="float64")

Each process makes the goals, people and frames of a block's runs, gives their closed loops to the card
(bench/encounters/on_card.py), and takes the figures from their tracks.  Processes take turns on the card, and each may
take its share of the memory.  Runs have the bits that they have in the lanes of the engine `local` in that precision:
which of the two runs what is a matter of time alone.  Laws without a supervisor, and those of others, run as there.

The card is used in worker processes only: a process that has used it cannot be forked.
"""

from __future__ import annotations

import os
from functools import partial
from importlib.util import find_spec

from ..bench.encounters.on_card import Room, look
from ..errors import ElbowroomError, pip_install
from . import runs
from .engines import Block, Local, Silent, Watch, block_size
from .settings import Campaign

LANES = 16_384  # runs at once of a process, at most: a launch of fewer takes hardly less time
SHARE = 0.85  # of the card's memory, for all processes together
OWN = 0.5  # of the main memory, for the runs of all processes until their figures are known


def engine(workers: int | None = None, precision: str = "float32") -> Cuda:
    """The engine; a process of its own looks whether there is a card."""
    if find_spec("cupy") is None:
        what = "an NVIDIA card (elbowroom doctor says whether there is one) and CuPy"
        raise ElbowroomError(f"engine 'cuda' needs {what}: {pip_install('gpu')}, 1.8 GB")
    made = Cuda(workers or os.cpu_count() or 1, precision)
    made.look()
    return made


class Cuda(Local):
    """Processes of this machine that share a card."""

    name = "cuda"

    def __init__(self, workers: int = 1, precision: str = "float32") -> None:
        super().__init__(workers, precision)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self.room = Room(LANES, SHARE / workers, OWN * memory / workers)

    def look(self) -> None:
        """Raises an error where there is no card."""
        self._once(_look, Silent())

    def block(self, runs: int) -> int:
        """As many as a card takes at once, if that leaves a block for every process."""
        return min(LANES, max(block_size(runs), -(-runs // self.workers)))

    def _warm(self, campaign: Campaign, watch: Watch) -> None:
        """What the processor compiles is there for all processes; what the card runs is on disk for them."""
        super()._warm(campaign, watch)
        self._once(partial(_compile, campaign, self.precision, self.room), watch)


def _look(block: Block, done: object) -> None:
    """In a process of its own: whether there is a card."""
    look()


def _compile(campaign: Campaign, precision: str, room: Room | None, block: Block, done: object) -> None:
    """In a process of its own: the kernels of a campaign's first runs for the card."""
    runs.warm(campaign, None, precision, room)
