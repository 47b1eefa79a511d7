"""The engine `ray`: a real Ray of two workers on 127.0.0.1, killed workers, and no process left behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import elbowroom as er
from elbowroom.campaign import Store, StoreError, engine, execute, loads, read_rows
from elbowroom.campaign import runs as runs_
from elbowroom.campaign.engines import ATTEMPTS, Silent
from elbowroom.campaign.ray_engine import differences, identity, steps
from elbowroom.errors import ElbowroomError

TEXT = 'seed = 3\nlaw = { each = ["still", "blind"] }\nduration = 1.0\nsensor.noise = { uniform = [0.0, 0.02] }\n'
CAMPAIGN = loads(TEXT)
LONG = loads(TEXT.replace("duration = 1.0", "duration = 60.0"))  # a block of them is at work when it is looked for
RUNS = 40
LIMIT = 300.0  # s, that a condition is waited for


def create(folder, block=5, campaign=CAMPAIGN):
    return Store.create(folder, campaign, RUNS, block=block, files="npy", precision="float64")


def finished(folder, motor):
    with Store.resume(folder, CAMPAIGN, None, precision="float64") as store:
        execute(CAMPAIGN, store, motor)


@pytest.fixture(scope="module")
def wanted():
    """The bits of the table, by the single loop in this process."""
    return runs_.rows(CAMPAIGN, 0, RUNS).tobytes()


def bits(folder):
    return read_rows(folder)[0].tobytes()


# ---- without Ray


def test_without_ray_one_hears_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ElbowroomError, match=r"engine 'ray' needs Ray: pip install (-e )?'.\[scale\]'"):
        engine("ray", 2)
    with pytest.raises(ElbowroomError, match="engine 'local' has no address; expected engine 'ray'"):
        engine("local", address="auto")


def test_what_differs_between_machines_is_named():
    here = identity(CAMPAIGN)
    assert {"numpy", "CPU features", "elbowroom's sources", "the model of panda"} <= set(here)
    assert differences(here, here) == []
    assert differences(here | {"numpy": "1.0"}, here) == [f"numpy: 1.0 there, {here['numpy']} here"]
    assert differences(here, here | {"the model of z1": "0"}) == ["the model of z1: nothing there, 0 here"]


def test_steps_are_those_of_the_runs():
    rows = runs_.rows(CAMPAIGN, 0, 3)
    assert steps(rows) == 300


# ---- a real one


def processes():
    """Process id: parent and command line, of all that run."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()
                if state[0] != "Z":
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found[int(entry.name)] = int(state[1]), line
            except OSError:  # it has ended meanwhile
                continue
    return found


def descendants(root):
    """Those of a process, with their command lines."""
    every, found, grown = processes(), {root: ""}, True
    while grown:
        more = {pid: line for pid, (parent, line) in every.items() if parent in found and pid not in found}
        found |= more
        grown = bool(more)
    return {pid: line for pid, line in found.items() if pid != root}


def until(condition):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come to that")


def listening(pids):
    """Addresses on which processes listen, as /proc has them."""
    inodes = set()
    for pid in pids:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                inodes.add(os.readlink(entry))
            except OSError:
                continue
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                found.append(words[1].partition(":")[0])
    return found


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.fixture(scope="module")
def motor():
    """Two workers; whatever Ray started must have ended with it."""
    if sys.platform != "linux":
        pytest.skip("looks at processes in /proc")
    pytest.importorskip("ray", reason="the engine ray needs Ray (the extra `scale`)")
    before = set(descendants(os.getpid()))
    made = engine("ray", 2)
    with made._ray():
        mine = set(descendants(os.getpid())) - before
        assert mine
        yield made
    until(lambda: not mine & set(processes()))


def workers():
    """Those at a block."""
    return [pid for pid, line in descendants(os.getpid()).items() if line.startswith("ray::_block")]


@pytest.mark.slow
def test_the_same_table_as_local(tmp_path, wanted, motor):
    reported = []

    class Counting(Silent):
        def done(self, runs, steps):
            reported.append((runs, steps))

    with create(tmp_path / "out", block=7) as store:
        execute(CAMPAIGN, store, motor, Counting())
    assert bits(tmp_path / "out") == wanted
    assert sum(runs for runs, _ in reported) == RUNS
    assert sum(steps for _, steps in reported) == 100 * RUNS
    found = listening(descendants(os.getpid()))
    assert found
    assert set(found) <= LOOPBACK


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing(tmp_path, wanted, motor):
    class Killing(Silent):
        def __init__(self):
            self.killed, self.notes = 0, []

        def done(self, runs, steps):
            if not self.killed:
                for pid in workers():
                    os.kill(pid, signal.SIGKILL)
                    self.killed += 1

        def note(self, text):
            self.notes.append(text)

    watch = Killing()
    with create(tmp_path / "out") as store:
        execute(CAMPAIGN, store, motor, watch)
    assert watch.killed
    assert any("a worker was lost" in text and "is run again" in text for text in watch.notes)
    assert bits(tmp_path / "out") == wanted
    lines = (tmp_path / "out/blocks/SHA256SUMS").read_text().splitlines()
    assert len(lines) == len({line.split()[1] for line in lines}) == 8  # each block once


@pytest.mark.slow
def test_a_block_that_ends_every_worker_ends_the_campaign(tmp_path, motor):
    class Killing(Silent):
        def done(self, runs, steps):
            for pid in workers():
                os.kill(pid, signal.SIGKILL)

    with (
        create(tmp_path / "out", block=100, campaign=LONG) as store,
        pytest.raises(ElbowroomError, match=rf"block 0 \(runs 0 to 39\): {ATTEMPTS} worker processes ended in it"),
    ):
        execute(LONG, store, motor, Killing())


@pytest.mark.slow
def test_interrupted_and_with_a_full_disk_nothing_is_lost(tmp_path, monkeypatch, wanted, motor):
    class Interrupting(Silent):
        def done(self, runs, steps):
            if runs:
                raise KeyboardInterrupt

    out = tmp_path / "out"
    with create(out) as store, pytest.raises(KeyboardInterrupt):
        execute(CAMPAIGN, store, motor, Interrupting())
    until(lambda: not workers())
    real, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 8:  # 2 for the list of blocks, and 3 for each of two blocks
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device; 2 blocks are kept"):
        finished(out, motor)
    monkeypatch.setattr(os, "fsync", real)
    assert len(read_rows(out)[0]) == 10
    finished(out, motor)
    assert bits(out) == wanted


@pytest.mark.slow
def test_errors_of_a_worker_and_other_machines_are_told(tmp_path, monkeypatch, motor):
    other = identity(CAMPAIGN) | {"numpy": "1.0"}
    with monkeypatch.context() as patch, create(tmp_path / "out") as store:
        patch.setattr("elbowroom.campaign.ray_engine.identity", lambda campaign: other)
        with pytest.raises(ElbowroomError, match=r"is not as this machine: numpy: .* there, 1\.0 here"):
            execute(CAMPAIGN, store, motor)


NODES = """
import os, secrets, sys
ours = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # on 127.0.0.1 alone
os.environ |= ours | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}  # of this cluster alone
from pathlib import Path
from ray.cluster_utils import Cluster
from elbowroom.campaign import Store, engine, execute, load
from elbowroom.campaign.engines import Silent

node = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "node_ip_address": "127.0.0.1"}
cluster = Cluster(initialize_head=True, head_node_args=node | {"include_dashboard": False})
second = cluster.add_node(**node)

class Losing(Silent):
    runs = lost = 0
    def done(self, runs, steps):
        self.runs += runs
        if self.runs >= 10 and not self.lost:
            self.lost = 1
            cluster.remove_node(second, allow_graceful=False)

try:
    campaign, watch = load("some.toml"), Losing()
    with Store.create(Path("out"), campaign, int(sys.argv[1]), block=2, files="npy", precision="float64") as store:
        execute(campaign, store, engine("ray", address=cluster.address), watch)
    assert watch.lost
finally:
    cluster.shutdown()
"""


@pytest.mark.slow
def test_a_node_that_goes_changes_nothing(tmp_path, wanted):
    """Two nodes of a cluster on this machine, connected to by their address; the second is killed with its workers."""
    pytest.importorskip("ray", reason="the engine ray needs Ray (the extra `scale`)")
    (tmp_path / "some.toml").write_text(TEXT)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(er.__file__).parents[1]), *sys.path])}
    words = [sys.executable, "-c", NODES, str(RUNS)]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=2 * LIMIT)
    assert done.returncode == 0, done.stderr[-3000:]
    assert bits(tmp_path / "out") == wanted


@pytest.mark.slow
def test_the_whole_command_killed_leaves_no_process_and_local_goes_on(tmp_path, wanted):
    """With a Ray of its own, which has to end with it."""
    if sys.platform != "linux":
        pytest.skip("looks at processes in /proc")
    pytest.importorskip("ray", reason="the engine ray needs Ray (the extra `scale`)")
    (tmp_path / "some.toml").write_text(TEXT)
    out = tmp_path / "out"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(er.__file__).parents[1]), *sys.path])}
    words = f"-m elbowroom campaign some.toml --runs {RUNS} --block 2 --format npy --no-report --engine ray --workers 2"
    process = subprocess.Popen([sys.executable, *words.split(), "--out", str(out)], cwd=tmp_path, env=environment)
    sums = out / "blocks/SHA256SUMS"
    try:
        until(lambda: process.poll() is not None or (sums.is_file() and sums.read_text().count("\n") >= 2))
        mine = set(descendants(process.pid))
    finally:
        process.kill()
        process.wait()
    assert mine
    until(lambda: not mine & set(processes()))
    finished(out, engine("local", 1))
    assert bits(out) == wanted
