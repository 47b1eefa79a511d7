"""The engine `ray`: blocks as tasks of a Ray cluster, or of a Ray of this machine alone.

    engine("ray", workers=2)                        a Ray that is started here, on 127.0.0.1, and ended afterwards
    engine("ray", address="10.0.0.1:6379")          a cluster that runs already; "auto" for the one of this machine

A block is a function of campaign and numbers alone, so that a task may be lost and run again, anywhere: rows are the
same, and the folder takes each block once.  Ray itself retries nothing: tasks whose worker or node is gone are handed
out anew here, where they are counted; a block that has ended three workers ends the campaign.

Before its first block every worker process compares itself with this one (`identity`): versions, sources, arms and CPU
features.  Where they differ, rows would differ in their last bits or more, and the campaign ends with an error that
names the node and the difference.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
import traceback
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from .. import __version__
from ..bench.encounters.scene import PERIOD
from ..compile.engine import host
from ..disk_cache import SOURCES
from ..errors import ElbowroomError, pip_install
from . import runs
from .arms import where
from .engines import TICK, Block, Done, Watch, again, checked
from .runs import Rows
from .settings import Campaign

STORE = 80 * 2**20  # bytes of the object store of a Ray that is started here: rows are some kB a block
QUEUED = 2  # blocks handed out for each CPU of the cluster: none of them waits for this process
OURS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # or 127.0.0.1 is replaced by the machine's own address
}
"""Environment of a Ray that is started here: nothing is sent, nothing listens but on 127.0.0.1."""

Outcome = tuple[str, Any, Any]


def engine(workers: int | None = None, address: str | None = None, precision: str = "float64") -> Ray:
    """The engine; Ray is imported now, and started or connected to when blocks are run."""
    with _environment(address is None):
        try:
            import_module("ray")
        except ImportError as error:
            raise ElbowroomError(f"engine 'ray' needs Ray: {pip_install('scale')}") from error
    return Ray(workers, address, precision)


def identity(campaign: Campaign) -> dict[str, str]:
    """What must be the same on all machines for rows that are the same to the bit."""
    cpu = host()
    arms = {f"the model of {arm}": where(arm, campaign.tips.get(arm)).arm.model.digest[:16] for arm in campaign.arms}
    return {
        "elbowroom": __version__,
        "elbowroom's sources": SOURCES.digest[:16],
        "numpy": np.__version__,
        "llvmlite": version("llvmlite"),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "libc": " ".join(platform.libc_ver()),
        "CPU": cpu.cpu,
        "CPU features": hashlib.sha256(cpu.features.encode()).hexdigest()[:16],
        **arms,
    }


class Ray:
    """Tasks of Ray."""

    name = "ray"

    def __init__(self, workers: int | None = None, address: str | None = None, precision: str = "float64") -> None:
        self.workers, self.address, self.precision = workers, address, checked(precision)

    def block(self, runs: int) -> int:
        """As many as make some 200 blocks."""
        return 0

    def rows(self, campaign: Campaign, first: int, count: int) -> Rows:
        """In this process."""
        return runs.rows(campaign, first, count, precision=self.precision)

    def blocks(self, campaign: Campaign, wanted: Iterable[Block], watch: Watch) -> Done:
        """Blocks as they are done; tasks that run still are cancelled when this ends."""
        waiting, deaths = deque(wanted), dict[int, int]()
        if not waiting:
            return
        runs.warm(campaign, watch.done, self.precision)  # and on this machine kernels are in the cache then
        with self._ray() as ray:
            task = ray.remote(num_cpus=1, max_retries=0)(_block)
            given, expected = ray.put(campaign), identity(campaign)
            flying: dict[Any, Block] = {}
            try:
                while waiting or flying:
                    while waiting and len(flying) < QUEUED * self._cpus(ray):
                        block = waiting.popleft()
                        flying[task.remote(given, block, expected, self.precision)] = block
                    ready, _ = ray.wait(list(flying), num_returns=1, timeout=TICK)
                    watch.done(0, 0)
                    for one in ready:
                        block = flying.pop(one)
                        rows = self._heard(ray, one, block, waiting, deaths, watch)
                        if rows is not None:
                            watch.done(block.count, steps(rows))
                            yield block, rows
            finally:
                for one in flying:
                    with suppress(Exception):  # whatever is wrong with Ray: this ends
                        ray.cancel(one, force=True)

    def _heard(
        self, ray: Any, one: Any, block: Block, waiting: deque[Block], deaths: dict[int, int], watch: Watch
    ) -> Rows | None:
        """The rows of a task; None where it is run again."""
        try:
            kind, what, more = ray.get(one)
        except ray.exceptions.RayTaskError as error:  # Ray's own trouble in a worker: our errors come as outcomes
            raise ElbowroomError(f"block {block.number}: {error}") from error
        except ray.exceptions.RayError as error:
            how = f"was lost ({type(error).__name__})"
            again(block, deaths, "a worker", how, watch)
            waiting.appendleft(block)
            return None
        if kind == "error":
            failed = ElbowroomError(what)
            failed.add_note(more)  # where in the worker; --debug shows it
            raise failed
        rows: Rows = np.array(what)  # Ray's own is read-only memory of its store
        return rows

    def _cpus(self, ray: Any) -> int:
        """How many tasks run at a time: those asked for, or what the cluster has now, which may change."""
        return self.workers or max(int(ray.cluster_resources().get("CPU", 1)), 1)

    @contextmanager
    def _ray(self) -> Iterator[Any]:
        """Ray, started or connected to, and left as it was."""
        ray = import_module("ray")
        if ray.is_initialized():  # the caller's own
            yield ray
            return
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        if self.address is not None:
            try:
                ray.init(self.address, **quiet)
            except Exception as error:  # ConnectionError, ValueError, RuntimeError: its own for each step
                raise ElbowroomError(f"address: no Ray cluster answers at {self.address!r}: {error}") from error
            try:
                yield ray
            finally:
                ray.shutdown()
            return
        folder = tempfile.mkdtemp(prefix="ray-")  # its logs and sockets
        try:
            with _environment(True):
                ray.init(
                    "local",
                    num_cpus=self.workers or os.cpu_count() or 1,
                    include_dashboard=False,
                    object_store_memory=STORE,
                    _node_ip_address="127.0.0.1",
                    _temp_dir=folder,
                    **quiet,
                )
            if (at := ray.util.get_node_ip_address()) != "127.0.0.1":
                raise ElbowroomError(f"Ray listens on {at}, not on 127.0.0.1 alone; start one and give its --address")
            yield ray
        finally:
            ray.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


def steps(rows: Rows) -> int:
    """Control steps of some runs."""
    return int(np.rint(rows["duration"].astype(float) / PERIOD).sum())


@contextmanager
def _environment(local: bool) -> Iterator[None]:
    """For a Ray that is started here, `OURS`; as before afterwards."""
    before = {name: os.environ.get(name) for name in OURS} if local else {}
    os.environ.update(OURS if local else {})
    known = sys.modules.get("ray._private.ray_constants") if local else None  # it has read its environment already
    clusters = getattr(known, "ENABLE_RAY_CLUSTER", None)
    if clusters is not None:
        known.ENABLE_RAY_CLUSTER = False  # type: ignore[union-attr]  # a module
    try:
        yield
    finally:
        if clusters is not None:
            known.ENABLE_RAY_CLUSTER = clusters  # type: ignore[union-attr]  # a module
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


# ---- in a worker process

_compared: set[str] = set()


def differences(there: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """What of two identities is not the same, in words."""
    return [
        f"{name}: {there.get(name, 'nothing')} there, {here.get(name, 'nothing')} here"
        for name in dict.fromkeys([*here, *there])
        if there.get(name) != here.get(name)
    ]


def _block(campaign: Campaign, block: Block, expected: Mapping[str, str], precision: str) -> Outcome:
    """A task: the rows of a block, or what was wrong."""
    what = f"runs {block.first} to {block.first + block.count - 1}"
    try:
        key = repr(expected)
        if key not in _compared:
            other = differences(identity(campaign), expected)
            if other:
                raise ElbowroomError(f"node {platform.node()}: is not as this machine: {'; '.join(other)}")
            _compared.add(key)
        return "rows", runs.rows(campaign, block.first, block.count, precision=precision), None
    except ElbowroomError as error:
        return "error", str(error), traceback.format_exc()
    except Exception as error:
        return "error", f"{what}: {type(error).__name__}: {error}", traceback.format_exc()
