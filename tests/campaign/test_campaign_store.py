"""The folder of a campaign: whole blocks or none, damage found by name, another campaign refused."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest

from elbowroom.campaign import Store, StoreError, engine, execute, loads, read, read_rows
from elbowroom.campaign import runs as runs_
from elbowroom.campaign import store as store_
from elbowroom.campaign.engines import ATTEMPTS, Local, Silent
from elbowroom.campaign.execute import tallies
from elbowroom.errors import ElbowroomError, UnknownNameError

TEXT = 'seed = 3\nlaw = { each = ["still", "blind"] }\nduration = 0.3\nsensor.noise = { uniform = [0.0, 0.02] }\n'
CAMPAIGN = loads(TEXT)
RUNS = 13


class Interrupting(Silent):
    """Ctrl-C after so many runs."""

    def __init__(self, after):
        self.left = after

    def done(self, runs, steps):
        self.left -= runs
        if self.left <= 0:
            raise KeyboardInterrupt


def create(folder, campaign=CAMPAIGN, runs=RUNS, block=3, files="npy"):
    return Store.create(folder, campaign, runs, block=block, files=files, precision="float64")


def resume(folder, campaign=CAMPAIGN, runs=None):
    return Store.resume(folder, campaign, runs, precision="float64")


def made(folder, workers=1, watch=None, **options):
    with create(folder, **options) as store:
        execute(CAMPAIGN, store, engine("local", workers), watch)


def finished(folder, workers=1):
    with resume(folder) as store:
        execute(CAMPAIGN, store, engine("local", workers))
        return store


@pytest.fixture(scope="module")
def wanted():
    """The bits of the table, by the single loop in this process."""
    return runs_.rows(CAMPAIGN, 0, RUNS).tobytes()


def bits(folder):
    return read_rows(folder)[0].tobytes()


# ---- the same table


@pytest.mark.parametrize("workers, block", [(1, 3), (2, 1), (2, 5), (3, 100)])
def test_the_same_table_whatever_the_workers_and_blocks(tmp_path, wanted, workers, block):
    made(tmp_path / "out", workers, block=block)
    assert bits(tmp_path / "out") == wanted


def test_the_same_table_interrupted_and_resumed(tmp_path, wanted):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        made(out, 2, Interrupting(7), block=2)
    assert not multiprocessing.active_children()
    kept = read_rows(out)[0]
    assert 0 < len(kept) < RUNS
    assert finished(out, 2).done == RUNS
    assert bits(out) == wanted


def test_more_runs_of_the_same_campaign(tmp_path, wanted):
    out = tmp_path / "out"
    made(out, runs=7)
    assert bits(out) == wanted[: len(bits(out))]
    with resume(out, runs=RUNS) as store:
        assert [block.number for block in store.missing()] == [2, 3, 4]  # the third had one run of three
        assert store.damaged == []
        execute(CAMPAIGN, store, engine("local", 1))
    assert bits(out) == wanted
    assert json.loads((out / "campaign.json").read_text())["runs"] == RUNS
    with pytest.raises(StoreError, match=r"runs: 13 there, 7 here \(more may be asked for, not fewer\)"):
        resume(out, runs=7)


def test_parquet_holds_the_same(tmp_path, wanted):
    pytest.importorskip("pyarrow")
    out = tmp_path / "out"
    made(out, files="parquet")
    assert bits(out) == wanted
    table = read(out)
    assert table.column_names[:7] == ["run", "seed", "arm", "law", "people", "duration", "sensor.noise"]
    assert table.column("run").to_pylist() == list(range(RUNS))
    assert set(table.column("law").to_pylist()) == {"still", "blind"}
    assert set(table.column("contact_part").to_pylist()) == {""}
    rows, columns = read_rows(out)
    assert store_.as_rows(store_.as_table(rows, columns), columns).tobytes() == wanted


def test_without_pyarrow_one_hears_how_to_do_without(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(StoreError, match=r"pip install (-e )?'.\[campaign\]'; --format npy does without"):
        create(tmp_path / "out", files="parquet")
    assert not (tmp_path / "out").exists()


# ---- processes that end


class Killing(Silent):
    """Ends processes with SIGKILL, each time a run was reported, so many times."""

    def __init__(self, times):
        self.times, self.notes = times, []

    def done(self, runs, steps):
        if runs > 0 and self.times:
            self.times -= 1
            for child in multiprocessing.active_children():
                os.kill(child.pid, signal.SIGKILL)
                child.join()

    def note(self, text):
        self.notes.append(text)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_process_changes_nothing_in_the_table(tmp_path, wanted, workers):
    watch = Killing(2)
    made(tmp_path / "out", workers, watch, block=4)
    assert bits(tmp_path / "out") == wanted
    assert any("ended by SIGKILL; block" in text and "is run again" in text for text in watch.notes)


def test_a_block_that_ends_every_process_ends_the_campaign(tmp_path):
    with pytest.raises(ElbowroomError, match=rf"block 0 \(runs 0 to 12\): {ATTEMPTS} worker processes ended in it"):
        made(tmp_path / "out", 1, Killing(100), block=100)


def test_runs_that_were_lost_are_not_counted_as_done(tmp_path):
    counted = []

    class Counting(Killing):
        def done(self, runs, steps):
            counted.append(runs)
            super().done(runs, steps)

    made(tmp_path / "out", 1, Counting(1), block=4)
    assert sum(counted) == RUNS


def test_an_error_in_a_process_is_raised_here(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ValueError("no such thing")

    with create(tmp_path / "out") as store:
        monkeypatch.setattr(runs_, "rows", broken)
        with pytest.raises(ElbowroomError, match=r"^runs 0 to 2: ValueError: no such thing") as caught:
            execute(CAMPAIGN, store, Local(1))
    assert any("in broken" in text for text in caught.value.__notes__)


def test_engines_that_do_not_exist_are_refused_by_name():
    with pytest.raises(UnknownNameError, match="expected one of local, cuda, ray; got 'locale'; did you mean local"):
        engine("locale")
    with pytest.raises(ElbowroomError, match="workers: expected a whole number from 1 on; got -1"):
        engine("local", -1)


# ---- files that are damaged


def cut(path):
    path.write_bytes(path.read_bytes()[:-9])


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("files", ["npy", "parquet"])
@pytest.mark.parametrize(
    "damage, said", [(cut, "is not as it was written"), (flip, "is not as it was written"), (os.remove, "is missing")]
)
def test_a_damaged_block_is_named_and_run_again(tmp_path, wanted, files, damage, said):
    if files == "parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / "out"
    made(out, files=files)
    damage(out / f"blocks/000002.{files}")
    with pytest.raises(StoreError, match=rf"000002\.{files}: .*; --resume runs it again"):
        read_rows(out)
    with resume(out) as store:
        assert [block.number for block in store.missing()] == [2]
    assert len(store.damaged) == 1
    assert store.damaged[0].startswith(f"blocks/000002.{files} {said}")
    finished(out)
    assert bits(out) == wanted


def test_a_torn_line_and_files_without_one_do_not_count(tmp_path, wanted):
    """As a crash leaves them: the file renamed and its line half written, and a temporary file."""
    out = tmp_path / "out"
    made(out)
    sums = out / "blocks/SHA256SUMS"
    sums.write_bytes(sums.read_bytes()[:-20])
    (out / "blocks/.000004.npy.part").write_bytes(b"half")
    assert len(read_rows(out)[0]) == 12
    with resume(out) as store:
        assert [block.number for block in store.missing()] == [4]
        assert store.damaged == []
    finished(out)
    assert bits(out) == wanted
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=out / "blocks", capture_output=True
    )
    assert checked.returncode == 0


# ---- a disk that is full


@pytest.mark.parametrize("at", [11, 12, 13])
def test_a_full_disk_loses_nothing_that_was_written(tmp_path, monkeypatch, wanted, at):
    """Full when the third block is written: its file, its folder, its line."""
    out, real, calls = tmp_path / "out", os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) >= at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"\.npy: cannot be written: No space left on device; 2 blocks are kept"):
        made(out)
    monkeypatch.setattr(os, "fsync", real)
    assert not list(out.glob("blocks/.*"))
    assert len((out / "blocks/SHA256SUMS").read_text().splitlines()) == 2
    assert bits(out) == wanted[: len(bits(out))]
    assert len(read_rows(out)[0]) == 6
    finished(out)
    assert bits(out) == wanted


def test_a_disk_that_is_full_from_the_beginning(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="cannot be written to: No space left on device"):
            create(tmp_path / "out")
    create(tmp_path / "out").close()  # what is left of it is in nobody's way


def test_a_limit_on_the_size_of_files(tmp_path, wanted):
    """The kernel's own refusal in the middle of a write, not a mock: EFBIG, as with a quota."""
    out = tmp_path / "out"
    with create(out, block=4) as store:
        size = len(store_.encoded(runs_.rows(CAMPAIGN, 0, 4), store.columns, "npy"))
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        done = engine("local", 1).blocks(CAMPAIGN, store.missing(), Silent())
        store.write(*next(done))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size - 100, before[1]))
        try:
            with pytest.raises(StoreError, match=r"cannot be written: File too large; 1 blocks are kept"):
                store.write(*next(done))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            done.close()
    assert [path.name for path in sorted((out / "blocks").iterdir())] == ["000000.npy", "SHA256SUMS"]
    finished(out)
    assert bits(out) == wanted


# ---- folders


def test_a_folder_that_is_not_empty_is_refused(tmp_path):
    (tmp_path / "mine").write_text("")
    with pytest.raises(StoreError, match=r"is not empty; expected a new folder$"):
        create(tmp_path)
    with pytest.raises(StoreError, match="is a file; expected a new folder"):
        create(tmp_path / "mine")
    create(tmp_path / "out").close()
    with pytest.raises(
        StoreError, match="is not empty; expected a new folder; --resume goes on with the campaign there"
    ):
        create(tmp_path / "out")
    with pytest.raises(StoreError, match="no campaign is there"):
        resume(tmp_path)


@pytest.mark.parametrize(
    "text, said",
    [
        (TEXT.replace("seed = 3", "seed = 4"), "seed: 3 there, 4 here"),
        (TEXT.replace("0.02", "0.03"), 'sensor.noise: {"uniform": [0.0, 0.02]} there, {"uniform": [0.0, 0.03]} here'),
        (TEXT + "people = 2\n".replace("people", "sensor.baseline"), "sensor.baseline: nothing there, 2 here"),
        (TEXT.replace(', "blind"', ""), 'law: {"each": ["still", "blind"]} there, {"each": ["still"]} here'),
    ],
)
def test_another_campaign_is_not_resumed_and_the_difference_is_named(tmp_path, text, said):
    create(tmp_path / "out").close()
    with pytest.raises(StoreError) as caught:
        resume(tmp_path / "out", loads(text))
    assert said in str(caught.value)
    assert "holds another campaign" in str(caught.value)


@pytest.mark.parametrize(
    "key, what", [("sources", "elbowroom's sources"), ("precision", "precision"), ("arms", "the model")]
)
def test_other_code_numbers_or_arms_are_not_mixed(tmp_path, key, what):
    create(tmp_path / "out").close()
    path = tmp_path / "out/campaign.json"
    there = json.loads(path.read_text())
    there[key] = {"panda": "0"} if key == "arms" else "other"
    path.write_text(json.dumps(there))
    with pytest.raises(StoreError, match=what):
        resume(tmp_path / "out")


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": 9}', "\x00"])
def test_a_manifest_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "campaign.json").write_text(text)
    with pytest.raises(StoreError, match=r"campaign\.json: expected"):
        resume(tmp_path)


def test_two_processes_do_not_write_into_one_folder(tmp_path):
    create(tmp_path / "out").close()
    lock = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.lockf(f, fcntl.LOCK_EX); print('held'); input()"
    with subprocess.Popen(
        [sys.executable, "-u", "-c", lock, str(tmp_path / "out/.lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(StoreError, match="another process is running the campaign there"):
            resume(tmp_path / "out")
        other.communicate(b"\n")
    resume(tmp_path / "out").close()


def test_a_block_of_other_rows_is_refused(tmp_path):
    with create(tmp_path / "out") as store:
        block = store.missing()[0]
        with pytest.raises(StoreError, match="block 0: expected 3 rows with the campaign's columns"):
            store.write(block, np.zeros(2, dtype=store.columns.dtype))


# ---- summary


def test_tallies_count_by_arm_and_law():
    columns = runs_.schema(CAMPAIGN)
    rows = np.zeros(6, dtype=columns.dtype)
    rows["law"], rows["touched"], rows["goals"] = [0, 1, 0, 1, 1, 1], [1, 0, 0, 1, 1, 0], [30000, 2, 3, 30000, 30000, 0]
    found = tallies([rows[:2], rows[2:]], columns)
    assert [(t.law, t.runs, t.touched, t.goals) for t in found] == [("still", 2, 1, 30003), ("blind", 4, 2, 60002)]
