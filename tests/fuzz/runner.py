"""Targets in processes of their own, watched: a hang, a crash or a jump in memory is a finding with a name.

A worker feeds one target, input by input, and says in shared numbers which one it is at and since when.  The parent
looks at these: a worker that is too long at one input is ended, one that died is asked why, and in both cases another
goes on with the next input.  What a worker counted before it died is kept.
"""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from .target import Outcome, Target, judge, rng_of
from .targets import kind as kind_of
from .targets import make

CONTEXT = multiprocessing.get_context("spawn")
SETUP = 600.0  # s that a target may take to get ready: it may compile
TRACE = 2.0  # s for a worker that hangs to say where
LOOK = 0.05  # s between two looks at the workers
KEPT = 5  # inputs that are saved of one kind of finding
MB = 2**20
INDEX, SINCE, TRIED, ACCEPTED, REFUSED, FOUND, PEAK, SLOWEST, SLOWEST_AT, READY = range(10)


@dataclass(frozen=True)
class Limits:
    """What one input may take."""

    seconds: float = 30.0  # of time, setting up not counted
    memory: float = 2048.0  # MB beyond what the target has when it is ready
    growth: float = 400.0  # MB by which the most memory in use may rise


@dataclass(frozen=True)
class Finding:
    """An input whose answer was not the library's own."""

    target: str
    index: int
    kind: str
    detail: str
    file: str = ""  # where it was saved


@dataclass
class Tally:
    """What became of the inputs of one target."""

    target: str
    tried: int = 0
    accepted: int = 0
    refused: int = 0
    slowest: float = 0.0  # s
    slowest_at: int = -1
    peak: float = 0.0  # MB
    findings: list[Finding] = field(default_factory=list)

    @property
    def kinds(self) -> dict[str, list[Finding]]:
        """The findings by what they have in common."""
        found: dict[str, list[Finding]] = {}
        for finding in self.findings:
            found.setdefault(finding.kind, []).append(finding)
        return found


def resident() -> float:
    """The most memory that this process has had, MB; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# ---- in the worker


def work(
    name: str, seed: int, indices: range, until: float, limits: Limits, shared: Any, pipe: Connection, trace: str
) -> None:
    """The process: until the inputs or the time (s, monotonic) are used up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C
    folder = Path(tempfile.mkdtemp(prefix="elbowroom-fuzz-"))
    try:
        with Path(trace).open("w") as stream:
            if hasattr(signal, "SIGUSR1"):
                faulthandler.register(signal.SIGUSR1, file=stream, all_threads=True)
            target = make(name, folder)
            _bound_memory(limits.memory)
            shared[READY] = 1.0
            try:
                _work(target, seed, indices, until, limits, shared, pipe)
            finally:
                target.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _bound_memory(most: float) -> None:
    """What asks for more gets a MemoryError, which is a finding, and not the machine's last page."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        whole = pages * os.sysconf("SC_PAGE_SIZE") + int(most * MB)
        resource.setrlimit(resource.RLIMIT_AS, (whole, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _work(
    target: Target, seed: int, indices: range, until: float, limits: Limits, shared: Any, pipe: Connection
) -> None:
    before = resident()
    for index in indices:
        started = time.monotonic()
        if started > until:
            return
        shared[INDEX], shared[SINCE] = index, started
        data = target.generate(rng_of(seed, target.name, index))
        outcome = judge(target, data)
        took, after = time.monotonic() - started, resident()
        if not outcome.kind and after - before > limits.growth:
            outcome = Outcome(False, "takes memory", f"{after - before:.0f} MB more than any input before")
        before = after
        shared[SINCE] = 0.0
        shared[TRIED] += 1
        shared[FOUND if outcome.kind else ACCEPTED if outcome.accepted else REFUSED] += 1
        shared[PEAK] = after
        if took > shared[SLOWEST]:
            shared[SLOWEST], shared[SLOWEST_AT] = took, index
        if outcome.kind:
            pipe.send((index, data, outcome.kind, outcome.detail))


# ---- in the parent


class Job:
    """A target at work: its worker, and others after it where one dies."""

    def __init__(self, name: str, seed: int, indices: range, seconds: float, limits: Limits, out: Path) -> None:
        self.tally = Tally(name)
        self.seed, self.indices, self.limits, self.out = seed, indices, limits, out
        self.seconds, self.until = seconds, 0.0
        self.started = False
        self.done = False

    def start(self) -> None:
        """Starts, or goes on after the last input."""
        if not self.started:
            self.until = time.monotonic() + self.seconds
            self.started = True
        self._shared = CONTEXT.RawArray("d", 10)
        self._pipe, theirs = CONTEXT.Pipe(duplex=False)
        handle, self._trace = tempfile.mkstemp(prefix="elbowroom-fuzz-", suffix=".trace")
        os.close(handle)
        given = (self.tally.target, self.seed, self.indices, self.until, self.limits, self._shared, theirs, self._trace)
        self._process = CONTEXT.Process(target=work, args=given)
        self._process.start()
        theirs.close()
        self._began = time.monotonic()

    @property
    def now(self) -> Tally:
        """The tally with what the worker has counted so far."""
        shared, so_far = self._shared if self.started and not self.done else None, self.tally
        if shared is None:
            return so_far
        slower = shared[SLOWEST] > so_far.slowest
        return Tally(
            so_far.target,
            so_far.tried + int(shared[TRIED]),
            so_far.accepted + int(shared[ACCEPTED]),
            so_far.refused + int(shared[REFUSED]),
            shared[SLOWEST] if slower else so_far.slowest,
            int(shared[SLOWEST_AT]) if slower else so_far.slowest_at,
            max(so_far.peak, shared[PEAK]),
            so_far.findings,
        )

    def look(self) -> None:
        """What the worker found, whether it lives, whether it goes on."""
        self._take()
        alive = self._process.is_alive()
        now, since = time.monotonic(), self._shared[SINCE]
        if alive and self._shared[READY] and since and now - since > self.limits.seconds:
            if hasattr(signal, "SIGUSR1"):  # it says where it is
                os.kill(self._process.pid or 0, signal.SIGUSR1)
                self._process.join(TRACE)
            self._over(f"no answer within {self.limits.seconds:g} s")
        elif alive and not self._shared[READY] and now - self._began > SETUP:
            self._over(f"not ready within {SETUP:g} s", go_on=False)
        elif not alive:
            code = self._process.exitcode
            if code == 0:
                self._fold()
            elif self._shared[READY] and since:
                self._over(f"the process died, {_reason(code)}")
            else:
                self._over(f"the process could not start, {_reason(code)}", go_on=False)

    def stop(self) -> None:
        """Ends the worker."""
        if self.started and not self.done:
            self._process.kill()
            self._process.join()
            self._take()
            self._fold()

    def _over(self, kind: str, go_on: bool = True) -> None:
        self._process.kill()
        self._process.join()
        self._take()
        index = int(self._shared[INDEX])
        data = b"" if not go_on else make_input(self.tally.target, self.seed, index)
        trace = Path(self._trace).read_text()
        self._fold()
        self.tally.tried += 1
        self._keep(index, data, kind, trace[-4000:])
        self.indices = range(index + 1, self.indices.stop) if go_on else range(0)
        if self.indices and time.monotonic() < self.until:
            self.done = False
            self.start()

    def _fold(self) -> None:
        self.tally = self.now
        self.done = True
        self._pipe.close()
        with contextlib.suppress(OSError):
            Path(self._trace).unlink()

    def _take(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while self._pipe.poll():
                self._keep(*self._pipe.recv())

    def _keep(self, index: int, data: bytes, kind: str, detail: str) -> None:
        target, file = self.tally.target, ""
        if len(self.tally.kinds.get(kind, [])) < KEPT:
            self.out.mkdir(parents=True, exist_ok=True)
            path = self.out / f"{kind_of(target).name}-{self.seed}-{index}{kind_of(target).suffix}"
            path.write_bytes(data)
            (self.out / f"{path.name}.txt").write_text(f"{kind}\n\n{detail}\n", errors="backslashreplace")
            file = str(path)
        self.tally.findings.append(Finding(target, index, kind, detail, file))


def make_input(name: str, seed: int, index: int) -> bytes:
    """The bytes of an input, made again by a target that feeds nothing."""
    with tempfile.TemporaryDirectory(prefix="elbowroom-fuzz-") as folder:
        target = make(name, Path(folder))
        try:
            return target.generate(rng_of(seed, target.name, index))
        finally:
            target.close()


def _reason(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {-code} ({signal.Signals(-code).name})"
    return f"status {code}"


def run(jobs: Sequence[Job], at_once: int, progress: Callable[[Sequence[Job]], object]) -> list[Tally]:
    """Runs all, so many at a time; what has been counted, also where somebody interrupts it."""
    waiting, running = list(jobs), list[Job]()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                job = waiting.pop(0)
                job.start()
                running.append(job)
            time.sleep(LOOK)
            for job in running:
                job.look()
            running = [job for job in running if not job.done]
            progress(jobs)
    except KeyboardInterrupt:
        pass
    finally:
        for job in jobs:
            job.stop()
    return [job.tally for job in jobs]
