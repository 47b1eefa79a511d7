"""The cache on disk: found again without tracing, never trusted blindly, safe with two processes at once."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import numpy as np
import pytest

import elbowroom as er
from elbowroom.compile import cache


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ELBOWROOM_CACHE", str(tmp_path))
    return tmp_path / "kernels"


def entries(folder):
    return sorted(p for p in folder.iterdir() if not p.name.startswith("."))


def forbid_tracing(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("traced although the kernel is in the cache")

    monkeypatch.setattr(er.dynamics.whole_arm, "rolled", refuse)
    monkeypatch.setattr(er.dynamics.whole_arm, "cheapest", refuse)
    monkeypatch.setattr(er.dynamics.whole_arm, "program", refuse)


def ask():
    arm = er.load("ur5e")
    return arm.mass_matrix(arm.ready)


def test_a_kernel_is_found_again_without_tracing(folder, monkeypatch):
    first = ask()
    assert len(entries(folder)) == 1
    forbid_tracing(monkeypatch)
    assert np.array_equal(ask(), first)
    kernel = er.load("ur5e").compile("mass_matrix")
    assert kernel.method in er.dynamics.quantity("mass_matrix").fast
    assert kernel.signature.inputs[0].shape == (6,)


def test_another_arm_method_or_type_is_another_entry(folder):
    er.load("ur5e").compile("mass_matrix")
    er.load("ur5e").compile("mass_matrix", method="gda")
    er.load("ur5e").compile("mass_matrix", dtype=np.float32)
    er.load("ur5e").with_payload(0.5).compile("mass_matrix")
    assert len(entries(folder)) == 4


def test_a_change_of_our_source_is_another_entry(folder, monkeypatch):
    ask()
    monkeypatch.setattr(cache.SOURCES, "digest", "another source")
    ask()
    assert len(entries(folder)) == 2


def test_the_folder_and_its_entries_are_private(folder):
    ask()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(entries(folder)[0].stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", ["truncated", "altered", "emptied", "another name", "not ours"])
def test_a_damaged_entry_is_ignored_and_made_again(folder, damage):
    first = ask()
    (path,) = entries(folder)
    whole = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "altered":
        path.write_bytes(whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:])
    elif damage == "emptied":
        path.write_bytes(b"")
    elif damage == "another name":  # a valid entry of another kernel put in its place
        er.load("planar2").compile("mass_matrix")
        (other,) = (p for p in entries(folder) if p != path)
        path.write_bytes(other.read_bytes())
    else:
        path.write_bytes(b"something else altogether\n\x00")
    assert np.array_equal(ask(), first)
    assert path.read_bytes()[:100] == whole[:100]  # made again, in place


def test_an_entry_that_others_can_write_is_ignored(folder, monkeypatch):
    ask()
    (path,) = entries(folder)
    path.chmod(0o666)
    forbid_tracing(monkeypatch)
    with pytest.raises(AssertionError, match="traced"):
        ask()


def test_a_folder_that_others_can_write_is_not_used(folder):
    folder.mkdir(mode=0o700)
    folder.chmod(0o777)
    ask()
    assert entries(folder) == []


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
def test_a_folder_of_somebody_else_is_not_used(folder):
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    ask()
    assert entries(folder) == []


def test_a_folder_that_others_can_read_is_not_used(folder):
    folder.mkdir(mode=0o700)
    folder.chmod(0o755)
    ask()
    assert entries(folder) == []


def test_files_that_are_not_ours_are_never_touched(folder, monkeypatch):
    monkeypatch.setattr(cache, "LARGEST", 10)
    others = [folder.parent / "thesis.tar", folder / "notes.txt"]
    folder.mkdir(mode=0o700)
    for path in others:
        path.write_text("dear to somebody")
        os.utime(path, (1, 1))
    ask()
    assert all(path.read_text() == "dear to somebody" for path in others)


def test_a_kernel_in_use_is_not_the_first_to_go(folder):
    ask()
    (path,) = entries(folder)
    os.utime(path, (1, 1))
    ask()
    assert path.stat().st_mtime > 1e9


def test_without_our_sources_nothing_is_cached(folder, monkeypatch):
    monkeypatch.setattr(cache.SOURCES, "digest", "")
    ask()
    assert not folder.exists()


def test_off_means_off(folder, monkeypatch):
    monkeypatch.setenv("ELBOWROOM_CACHE", "off")
    ask()
    assert not folder.exists()


def test_a_full_disk_does_not_matter(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert ask().shape == (6, 6)
    assert entries(folder) == []
    assert list(folder.iterdir()) == []  # nor is a temporary file left behind


def test_the_oldest_go_when_there_are_too_many(folder, monkeypatch):
    er.load("planar2").compile("mass_matrix")
    (oldest,) = entries(folder)
    os.utime(oldest, (1, 1))
    monkeypatch.setattr(cache, "LARGEST", oldest.stat().st_size + 1000)
    ask()
    assert oldest not in entries(folder)


SCRIPT = "import elbowroom as er; a = er.load('panda'); print(repr(a.mass_matrix(a.ready).tobytes().hex()))"


def test_two_processes_compiling_at_once_agree(folder):
    environment = dict(os.environ, ELBOWROOM_CACHE=str(folder.parent))
    started = [
        subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = {process.communicate(timeout=120)[0] for process in started}
    assert all(process.returncode == 0 for process in started)
    assert len(said) == 1
    assert len(entries(folder)) == 1
