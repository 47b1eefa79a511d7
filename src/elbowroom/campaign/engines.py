"""Engines: what runs the blocks of a campaign, and where.

    for block, rows in engine.blocks(campaign, wanted, watch):      in any order
        store.write(block, rows)

`local` runs blocks in processes of this machine, `cuda` does so with the closed loops on a graphics card
(cuda_engine.py), `ray` on a cluster (ray_engine.py).  A process that ends before its
block is done is replaced and the block is run again; a block that has ended three processes ends the campaign.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from ..bench.encounters.on_card import Room
from ..errors import ElbowroomError, UnknownNameError, did_you_mean
from . import lanes, runs
from .runs import Rows
from .settings import Campaign

ATTEMPTS = 3  # processes that a block may end
PRECISIONS = ("float64", "float32")  # of closed loops
TICK = 0.2  # s between two looks at what was asked for meanwhile


@dataclass(frozen=True)
class Block:
    """Some runs, one after the other."""

    number: int
    first: int
    count: int


Done = Generator[tuple[Block, Rows], None, None]


def block_size(runs: int) -> int:
    """Runs of a block where none is asked for: about 200 blocks of up to 5000 runs.

    Since many run side by side, not below 256 unless there would be fewer than eight blocks.
    """
    return min(max(runs // 200, min(256, runs // 8), 20), 5000)


class Watch(Protocol):
    """What an engine reports to; `done` may raise KeyboardInterrupt to end the campaign."""

    def done(self, runs: int, steps: int) -> None:
        """So many more runs are done, with so many control steps; called with zeros, too, now and then."""

    def note(self, text: str) -> None:
        """Something that the user should know."""


class Silent:
    """A watch that says nothing."""

    def done(self, runs: int, steps: int) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


class Engine(Protocol):
    """What runs blocks.  Rows of one precision are the same whatever the engine and the number of workers."""

    name: str
    precision: str  # "float64" for the bits of the single loop

    def block(self, runs: int) -> int:
        """Runs of a block where none is asked for; 0: as many as make some 200 blocks."""

    def rows(self, campaign: Campaign, first: int, count: int) -> Rows:
        """Some runs, here and now."""

    def blocks(self, campaign: Campaign, wanted: Iterable[Block], watch: Watch) -> Done:
        """Blocks as they are done."""


ENGINES = ("local", "cuda", "ray")
MODULES = {"cuda": "cuda_engine", "ray": "ray_engine"}
"""Modules of engines that need more than this package; each has `engine(**options)`."""


def engine(
    name: str, workers: int | None = None, *, address: str | None = None, precision: str | None = None
) -> Engine:
    """The engine of this name; `address` is of a Ray cluster."""
    if name != "ray" and address is not None:
        raise ElbowroomError(f"engine {name!r} has no address; expected engine 'ray'")
    if name == "local":
        return Local(workers or os.cpu_count() or 1, precision or "float64")
    if name not in ENGINES:
        raise UnknownNameError(
            f"engine: expected one of {', '.join(ENGINES)}; got {name!r}{did_you_mean(name, ENGINES)}"
        )
    module = f"{__package__}.{MODULES[name]}"
    given = {key: x for key, x in (("address", address), ("precision", precision)) if x is not None}
    made: Engine = import_module(module).engine(workers=workers, **given)
    return made


def checked(precision: str) -> str:
    """A precision that there is."""
    if precision not in PRECISIONS:
        raise UnknownNameError(f"precision: expected {' or '.join(PRECISIONS)}; got {precision!r}")
    return precision


# ---- processes of this machine


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    block: Block | None = None
    runs: int = 0  # of its block, that were reported
    steps: int = 0


class Local:
    """Processes of this machine."""

    name = "local"
    room: Room | None = None  # on a card

    def __init__(self, workers: int = 1, precision: str = "float64") -> None:
        if workers < 1:
            raise ElbowroomError(f"workers: expected a whole number from 1 on; got {workers}")
        self.workers, self.precision = workers, checked(precision)
        methods = multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("fork" if "fork" in methods else "spawn")

    def rows(self, campaign: Campaign, first: int, count: int) -> Rows:
        """In this process, by the processor."""
        return runs.rows(campaign, first, count, precision=self.precision)

    def block(self, runs: int) -> int:
        """As many as make some 200 blocks."""
        return 0

    def _warm(self, campaign: Campaign, watch: Watch) -> None:
        """What all processes need, before they are started."""
        alone = [law for law in campaign.laws if not lanes.together_by_law(law)]
        if alone and (self.precision != "float64" or self.room is not None):
            told = "in double precision, one by one, on the processor"
            watch.note(f"{', '.join(alone)}: {told}; {self.precision} is of the other laws' closed loops")
        here = [law for law in campaign.laws if lanes.together_by_law(law) and not lanes.on_card_by_law(law)]
        if here and self.room is not None:
            watch.note(f"{', '.join(here)}: in {self.precision}, on the processor")
        runs.warm(campaign, watch.done, self.precision)

    def blocks(self, campaign: Campaign, wanted: Iterable[Block], watch: Watch) -> Done:
        """Blocks as they are done; all processes are ended when this is."""
        waiting, deaths = deque(wanted), dict[int, int]()
        if not waiting:
            return
        self._warm(campaign, watch)
        workers: list[_Worker] = []
        try:
            while waiting or any(worker.block for worker in workers):
                while len(workers) < self.workers and waiting:
                    workers.append(self._start(partial(_rows, campaign, self.precision, self.room)))
                for worker in workers:
                    if worker.block is None and waiting:
                        _give(worker, waiting)
                ready = wait([worker.pipe for worker in workers], TICK)
                watch.done(0, 0)
                for worker in [each for each in workers if each.pipe in ready]:
                    done = self._heard(worker, watch)
                    if done is not None:
                        yield done
                    elif not worker.pipe.closed:
                        continue
                    else:
                        workers.remove(worker)
                        _again(worker, waiting, deaths, watch)
        finally:
            for worker in workers:
                worker.process.kill()
            for worker in workers:
                worker.process.join()
                worker.pipe.close()

    def _start(self, work: Work) -> _Worker:
        mine, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, work, os.getpid()), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, mine)

    def _once(self, work: Work, watch: Watch) -> None:
        """Work without a block, in a process of its own, to its end."""
        worker = self._start(work)
        worker.block = Block(-1, 0, 0)
        try:
            worker.pipe.send(worker.block)
            while self._heard(worker, watch) is None:
                if worker.pipe.closed:
                    worker.process.join()
                    raise ElbowroomError(f"engine {self.name!r}: the process that prepares it {_ended(worker)}")
                watch.done(0, 0)
        finally:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()

    def _heard(self, worker: _Worker, watch: Watch) -> tuple[Block, Rows] | None:
        """What a process has to say: its rows, or None; its pipe is closed if it is no more."""
        if not worker.pipe.poll(TICK):
            return None
        try:
            kind, *what = worker.pipe.recv()
        except (EOFError, OSError):
            worker.pipe.close()
            return None
        if kind == "done":
            worker.runs += what[0]
            worker.steps += what[1]
            watch.done(*what)
            return None
        if kind == "error":
            error = ElbowroomError(what[0])
            error.add_note(what[1])  # where in the worker; --debug shows it
            raise error
        assert worker.block is not None
        block, worker.block, worker.runs, worker.steps = worker.block, None, 0, 0
        return block, what[0]


def _give(worker: _Worker, waiting: deque[Block]) -> None:
    worker.block = waiting.popleft()
    with suppress(OSError):  # a process that has ended shows when it is listened to
        worker.pipe.send(worker.block)


def _ended(worker: _Worker) -> str:
    code = worker.process.exitcode or 0
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def _again(worker: _Worker, waiting: deque[Block], deaths: dict[int, int], watch: Watch) -> None:
    """The block of a process that has ended goes back to the front."""
    worker.process.join()
    how, block = _ended(worker), worker.block
    if block is None:
        watch.note(f"a worker process {how}; another takes its place")
        return
    again(block, deaths, "a worker process", how, watch)
    watch.done(-worker.runs, -worker.steps)
    waiting.appendleft(block)


def again(block: Block, deaths: dict[int, int], who: str, how: str, watch: Watch) -> None:
    """Counts a worker that ended in a block, and says so; the third ends the campaign."""
    deaths[block.number] = deaths.get(block.number, 0) + 1
    what = f"block {block.number} (runs {block.first} to {block.first + block.count - 1})"
    if deaths[block.number] >= ATTEMPTS:
        raise ElbowroomError(
            f"{what}: {ATTEMPTS} worker processes ended in it, the last one {how}; is there memory enough?"
        )
    watch.note(f"{who} {how}; {what} is run again")


Work = Callable[[Block, Callable[[int, int], None]], Any]


def _rows(
    campaign: Campaign, precision: str, room: Room | None, block: Block, done: Callable[[int, int], None]
) -> Rows:
    columns = runs.schema(campaign)
    return runs.rows(campaign, block.first, block.count, done, columns=columns, precision=precision, card=room)


def _work(pipe: Connection, work: Work, parent: int) -> None:
    """A worker process: blocks in, rows out, until its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes of a terminal; the parent decides

    def alive() -> None:
        if os.getppid() != parent:  # killed: nobody would take the rows
            os._exit(0)

    def done(count: int, steps: int) -> None:
        alive()
        pipe.send(("done", count, steps))

    with suppress(EOFError, OSError):
        while True:
            while not pipe.poll(1.0):
                alive()
            block = pipe.recv()
            try:
                pipe.send(("rows", work(block, done)))
            except ElbowroomError as error:
                pipe.send(("error", str(error), traceback.format_exc()))
            except Exception as error:
                text = f"runs {block.first} to {block.first + block.count - 1}: {type(error).__name__}: {error}"
                pipe.send(("error", text, traceback.format_exc()))
