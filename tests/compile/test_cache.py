"""The cache on disk: found again without tracing, never trusted blindly, safe with two processes at once."""

from __future__ import annotations

import functools
import gc
import importlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import elbowroom as er
from elbowroom import disk_cache as cache
from elbowroom.algebra import sin
from elbowroom.avoidance import Config, Controller, Repulsion
from elbowroom.avoidance.control.repulsion import PROFILES
from elbowroom.compile import compiled, cpu, engine
from elbowroom.errors import TraceError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty cache, and a process that keeps nothing that it has loaded: what is found again is found on disk."""
    monkeypatch.setenv("ELBOWROOM_CACHE", str(tmp_path))
    monkeypatch.setattr(cpu, "KEPT", 0)
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


# ---- what this process has loaded
@pytest.fixture
def loads(monkeypatch):
    """A process that keeps what it loads; every load is a line."""
    seen = []
    begin = engine.Loaded.__init__
    monkeypatch.setattr(cpu, "KEPT", 8)
    monkeypatch.setattr(cpu, "_kept", type(cpu._kept)())
    monkeypatch.setattr(engine.Loaded, "__init__", lambda self, code: (seen.append(len(code)), begin(self, code))[1])
    return seen


def times(_, x, factor=None):
    return x * factor.value


class Factor:
    """What a kernel is made of, and a program may change."""

    def __init__(self, value):
        self.value = value


def test_what_is_loaded_is_not_loaded_again(loads):
    first, second = ask(), ask()
    assert len(loads) == 1
    assert np.array_equal(first, second)
    arms = er.load("ur5e"), er.load("ur5e")
    kernels = [arm.compile("mass_matrix") for arm in arms]
    assert kernels[0].backend is kernels[1].backend
    states = np.tile(arms[0].ready, (3, 1))
    assert np.array_equal(kernels[0](states), kernels[1](states))
    assert np.array_equal(arms[1].mass_matrix(states), kernels[1](states))
    assert len(loads) == 2  # the code for many


def test_results_of_two_types_are_told_apart(loads):
    class Parts(NamedTuple):
        a: np.ndarray
        b: np.ndarray

    def both(_, x):
        return {"a": x, "b": 2.0 * x}

    plain = compiled(both, None, {"x": (2,)})
    typed = compiled(both, None, {"x": (2,)}, result=Parts)
    for _ in range(2):
        assert type(typed(np.ones(2))) is Parts
        assert type(plain(np.ones(2))) is not Parts


def test_only_the_last_are_kept_loaded(loads, monkeypatch):
    monkeypatch.setattr(cpu, "KEPT", 2)
    for factor in (1.0, 2.0, 3.0, 3.0, 2.0, 1.0):
        assert compiled(functools.partial(times, factor=Factor(factor)), None, {"x": (1,)})(X) == factor * X
    assert len(loads) == 4
    assert len(cpu._kept) == 2


def test_what_another_has_changed_since_is_traced_from_what_is_as_it_was(loads):
    """The code for batches is traced when it is needed: of the newest that was compiled, which has not changed."""
    old, new = Factor(2.0), Factor(2.0)
    compiled(functools.partial(times, factor=old), None, {"x": (1,)})
    old.value = 3.0
    kernel = compiled(functools.partial(times, factor=new), None, {"x": (1,)})
    assert len(loads) == 1
    assert np.array_equal(kernel(np.ones((5, 1))), np.full((5, 1), 2.0))
    assert kernel.program.inputs[0].shape == (1,)


def test_a_kernel_is_traced_though_a_newer_one_of_the_same_has_changed(loads):
    first, second = Factor(2.0), Factor(2.0)
    old = compiled(functools.partial(times, factor=first), None, {"x": (1,)})
    cpu._kept.clear()  # as in a process that finds the code for one state on disk
    old = compiled(functools.partial(times, factor=first), None, {"x": (1,)})
    compiled(functools.partial(times, factor=second), None, {"x": (1,)})
    new = compiled(functools.partial(times, factor=second), None, {"x": (1,)})
    second.value = 3.0
    with pytest.raises(TraceError, match="has changed since"):
        new.program  # noqa: B018
    assert old.program.inputs[0].shape == (1,)
    assert np.array_equal(old(np.ones((5, 1))), np.full((5, 1), 2.0))


def test_a_kernel_that_dies_while_another_is_compiled_takes_nothing_along(loads, monkeypatch):
    """The code for batches may be of a program that another kernel has traced, and that one may go at any time."""
    whole, other = cpu._Source.program, []

    def program(source):
        found = whole(source)
        other.clear()
        gc.collect()
        return found

    monkeypatch.setattr(cpu._Source, "program", program)
    factor = functools.partial(times, factor=Factor(2.0))
    compiled(factor, None, {"x": (1,)})
    cpu._kept.clear()
    other.append(compiled(factor, None, {"x": (1,)}))
    assert other[0].program.inputs[0].shape == (1,)
    kernel = compiled(factor, None, {"x": (1,)})
    kernel._program.__self__.made = None  # as if it had come before
    assert np.array_equal(kernel(np.ones((5, 1))), np.full((5, 1), 2.0))


def test_programs_go_with_their_kernels(loads):
    """Code stays loaded; what it was compiled from, a hundred times as large, does not."""
    arm = er.load("ur5e")
    kernel = arm.compile("mass_matrix")
    program = weakref.ref(kernel.program)
    del kernel, arm
    gc.collect()
    assert program() is None
    again = er.load("ur5e").compile("mass_matrix")
    assert again(np.zeros((3, 6))).shape == (3, 6, 6)
    assert again.program.outputs[0].shape == (6, 6)


def test_a_change_of_our_source_is_another_entry(folder, monkeypatch):
    ask()
    monkeypatch.setattr(cache.SOURCES, "digest", "another source")
    ask()
    assert len(entries(folder)) == 2


# ---- our own sources
@pytest.fixture
def package(tmp_path):
    """A copy of the package's sources, to be changed."""
    return Path(shutil.copytree(Path(er.__file__).parent, tmp_path / "copy" / "elbowroom", ignore=only_sources))


def only_sources(folder, names):
    return [n for n in names if not n.endswith((".py", ".toml")) and not (Path(folder) / n).is_dir()]


def digest(package):
    return cache.Sources("elbowroom", package).digest


def test_a_copy_of_the_sources_has_the_same_digest(package):
    assert digest(package) == cache.SOURCES.digest


def test_every_source_file_counts_at_any_depth(package):
    """A change in each, and a new one in a folder that was not there."""
    found = [digest(package)]
    files = sorted(package.rglob("*.py"))
    rooms = {path.parent: path for path in files}  # one file of every room
    assert package / "cell" in rooms
    for path in {*rooms.values(), package / "cell" / "plants" / "drive.py"}:
        with path.open("a") as file:
            file.write("# changed\n")
        found.append(digest(package))
    deep = package / "cell" / "plants" / "inner"
    deep.mkdir(parents=True)
    (deep / "new.py").write_text("")
    found.append(digest(package))
    (deep / "new.py").rename(deep / "other.py")
    found.append(digest(package))
    (deep / "notes.txt").write_text("no source")
    assert digest(package) == found[-1]
    assert len(set(found)) == len(found)


DRIVE = """
import numpy as np, elbowroom as er
from elbowroom.cell.plants.drive import Drive
arm = er.load("planar2")
drive = Drive(arm)
drive.reset(arm.ready)
drive.position += 0.01
print(drive.torque(arm.ready, np.zeros(2), 0.001).tolist())
"""


def run(package, folder, script, cached=True):
    environment = dict(os.environ, PYTHONPATH=str(package.parent), ELBOWROOM_CACHE=str(folder) if cached else "off")
    done = subprocess.run(
        [sys.executable, "-B", "-c", script], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_drive_whose_source_has_changed_is_compiled_again(package, folder):
    first = run(package, folder, DRIVE)
    assert run(package, folder, DRIVE) == first
    path = package / "cell" / "plants" / "drive.py"
    text = path.read_text()
    assert "gain * gain * 0.25" in text
    path.write_text(text.replace("gain * gain * 0.25", "gain * gain * 0.5"))
    changed = run(package, folder, DRIVE)
    assert changed != first
    assert changed == run(package, folder, DRIVE, cached=False)


@pytest.mark.parametrize("change", ["imported later", "reloaded"])
def test_a_process_of_two_versions_caches_nothing(tmp_path, monkeypatch, change):
    name = f"two_versions_{change.replace(' ', '_')}"
    root = tmp_path / name
    root.mkdir()
    for file in ("__init__", "first", "second"):
        (root / f"{file}.py").write_text(f"x = {file!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    sources = cache.Sources(name, root)
    first = importlib.import_module(f"{name}.first")
    assert sources.loaded()
    changed = root / ("second.py" if change == "imported later" else "first.py")
    changed.write_text("x = 'changed, and longer'\n")
    assert sources.loaded()  # what runs here is what was read
    if change == "imported later":
        importlib.import_module(f"{name}.second")
    else:
        importlib.reload(first)
    assert not sources.loaded()
    monkeypatch.setattr(cache, "SOURCES", sources)
    assert cache.folder() is None


# ---- functions of a user
GAIN = 2.0


def scaled(_, x):
    return GAIN * sin(x[0])


X = np.array([0.5])


def test_a_global_of_a_traced_function_is_part_of_the_key(folder, monkeypatch):
    assert compiled(scaled, None, {"x": (1,)})(X) == 2.0 * np.sin(0.5)
    monkeypatch.setitem(globals(), "GAIN", 3.0)
    assert compiled(scaled, None, {"x": (1,)})(X) == 3.0 * np.sin(0.5)
    assert len(entries(folder)) == 2


def test_what_a_traced_function_encloses_is_part_of_the_key(folder):
    for gain in (1.0, 2.0, 4.0, 2.0):
        assert compiled(lambda _, x, gain=gain: gain * x[0], None, {"x": (1,)})(X) == gain * 0.5
    assert len(entries(folder)) == 3


def test_a_traced_function_is_found_again_without_tracing(folder, monkeypatch):
    compiled(scaled, None, {"x": (1,)})

    def refuse(*_, **__):
        raise AssertionError("traced although the kernel is in the cache")

    monkeypatch.setattr("elbowroom.compile.recipe.trace", refuse)
    assert compiled(scaled, None, {"x": (1,)})(X) == 2.0 * np.sin(0.5)


def test_inputs_names_and_types_are_part_of_the_key(folder):
    compiled(scaled, None, {"x": (1,)})
    compiled(scaled, None, {"x": (2,)})
    compiled(scaled, None, {"x": (1,)}, name="other")
    compiled(scaled, None, {"x": (1,)}, output="other")
    compiled(scaled, None, {"x": (1,)}, dtype=np.float32)
    compiled(scaled, "a subject", {"x": (1,)})
    assert len(entries(folder)) == 6


def test_what_cannot_be_identified_is_not_kept(folder):
    def locked(_, x, lock=threading.Lock()):  # noqa: B008  # on purpose
        with lock:
            return x[0] + 1.0

    assert compiled(locked, None, {"x": (1,)})(X) == 1.5
    assert not folder.exists() or entries(folder) == []


def test_a_script_that_changes_is_compiled_again(folder, tmp_path):
    """What a user does: a function in a file, with a helper in another, run, changed, run."""
    (tmp_path / "helper.py").write_text("GAIN = 25.0\ndef scaled(x):\n    return GAIN * x\n")
    (tmp_path / "script.py").write_text(
        "import helper\nimport numpy as np\nfrom elbowroom.compile import compiled\n"
        "def law(_, x):\n    return helper.scaled(x[0])\n"
        "print(compiled(law, None, {'x': (1,)})(np.ones(1)))\n"
    )

    def said():
        asked = [sys.executable, "-B", tmp_path / "script.py"]  # its bytecode may be as old as the second
        done = subprocess.run(asked, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    assert [said(), said()] == [25.0, 25.0]
    assert len(entries(folder)) == 1
    (tmp_path / "helper.py").write_text("GAIN = 60.0\ndef scaled(x):\n    return GAIN * x\n")
    assert said() == 60.0
    (tmp_path / "helper.py").write_text("GAIN = 60.0\ndef scaled(x):\n    return GAIN * x + 1.0\n")
    assert said() == 61.0


WAYS = {
    "a closure": "def make():\n    import helper as h\n    return lambda _, x: h.G * x[0]\nf = make()",
    "the subject": "f, subject = (lambda h, x: h.G * x[0]), helper",
    "a list": "hs = [helper]\ndef f(_, x): return hs[0].G * x[0]",
    "getattr": "def f(_, x): return getattr(helper, 'G') * x[0]",
    "globals": "g = helper.G\ndef f(_, x): return globals()['g'] * x[0]",
    "sys.modules": "import sys\ndef f(_, x): return sys.modules['helper'].G * x[0]",
    "builtins": "import builtins\nbuiltins.put = helper.G\ndef f(_, x): return put * x[0]",
}


def test_a_module_that_changes_is_seen_in_the_next_process(folder, tmp_path):
    """However a function comes to the module; all in one script, as each process takes its time to start."""
    script = "import helper\nfrom elbowroom.compile import compiled\n"
    for text in WAYS.values():
        script += f"subject = None\n{text}\nprint(compiled(f, subject, {{'x': (1,)}}, name='f')([1.0]))\n"
    (tmp_path / "script.py").write_text(script)
    for gain in (2.0, 3.25):
        (tmp_path / "helper.py").write_text(f"G = {gain}\n")
        done = subprocess.run(
            [sys.executable, "-B", tmp_path / "script.py"], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        assert dict(zip(WAYS, map(float, done.stdout.split()), strict=True)) == dict.fromkeys(WAYS, gain)


def test_a_function_that_changed_meanwhile_is_not_traced_under_its_old_name(monkeypatch):
    """The code for batches is made when it is first needed: it must not be of another function than that for one."""
    compiled(scaled, None, {"x": (1,)})
    again = compiled(scaled, None, {"x": (1,)})  # from the cache, not traced yet
    monkeypatch.setitem(globals(), "GAIN", 3.0)
    assert again(X) == 2.0 * np.sin(0.5)
    with pytest.raises(TraceError, match="scaled: what it was compiled from has changed since"):
        again(np.zeros((5, 1)))


def test_a_formulation_of_a_user_is_part_of_the_key(monkeypatch):
    what = er.dynamics.quantity("gravity_torque")
    for gain in (2.0, 3.0):
        mine = functools.partial(lambda model, q, gain: gain * q, gain=gain)
        monkeypatch.setitem(what.formulations, "mine", er.dynamics.Formulation("mine", mine))
        kernel = er.load("planar2").compile("gravity_torque", method="mine")
        assert np.array_equal(kernel(np.ones(2)), [gain, gain])


def test_a_repulsion_profile_of_a_user_is_part_of_the_key(monkeypatch):
    arm = er.load("planar2")
    found = []
    for gain in (1.0, 0.5):
        monkeypatch.setitem(PROFILES, "mine", lambda k, d, d0, gain=gain: gain * k * (1.0 - d / d0))
        config = Config(repulsion=Repulsion(profile="mine", gain=0.5, influence=5.0), self_collision=None)
        controller = Controller(arm, config, person_capsules=1)
        rows = np.broadcast_to(er.geometry.Sphere((1.0, 1.0, 0.0), 0.1).row(), (1, 13))
        found.append(controller.many(arm.ready, np.zeros(2), rows, arm.pose(arm.ready)[:3, 3]).info[0].copy())
    push = er.avoidance.control.command.INDEX["push"]
    assert 0.0 < found[1][push] < found[0][push]


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda: compiled(3.0), "expected a function, a Program, Table, Rolled, Repeated or Unwound; got 3.0"),
        (lambda: compiled(scaled, None, [1]), r'inputs must be names and shapes, {"q": \(7,\)}; got \[1\]'),
        (lambda: compiled(lambda subject: 2.0, None), "without inputs it must return a Program, .*; got 2.0"),
        (lambda: compiled(scaled, None, {"x": (1,)}, dtype=int), "dtype must be float64 or float32; got int64"),
    ],
)
def test_what_cannot_be_compiled_is_refused(wrong, said):
    with pytest.raises((TypeError, er.DtypeError), match=said):
        wrong()


def test_no_room_writes_a_key_of_its_own():
    """`compiled` is the only way from a function to a kernel."""
    source = Path(er.__file__).parent
    for path in source.rglob("*.py"):
        if source / "compile" not in path.parents:
            text = path.read_text()
            assert "cpu.kernel" not in text, path
            assert "disk.key" not in text, path
            assert "cache.key" not in text, path


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


def put(kind, path):
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as server:
            here = os.open(path.parent, os.O_RDONLY)
            server.bind(f"/proc/self/fd/{here}/{path.name}")  # the path itself is too long for one
            os.close(here)
    else:
        target = {"a device": "/dev/zero", "a link to nothing": "nowhere", "a link to itself": path.name}[kind]
        path.symlink_to(target)


KINDS = ["a pipe", "a folder", "a socket", "a device", "a link to nothing", "a link to itself"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="pipes and devices as Linux has them")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_not_waited_for(folder, kind):
    """In a process of its own, which can be ended if it waits."""
    ask()
    (path,) = entries(folder)
    path.unlink()
    put(kind, path)
    script = "import elbowroom as er; a = er.load('ur5e'); print(a.mass_matrix(a.ready).shape)"
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
        assert done.stdout == "(6, 6)\n", done.stderr
        assert done.stderr == ""
    assert path.is_dir() if kind == "a folder" else stat.S_ISREG(path.lstat().st_mode)  # made again where that can be


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="pipes and devices as Linux has them")
def test_what_is_no_file_does_not_keep_the_oldest(folder, monkeypatch):
    er.load("planar2").compile("mass_matrix")
    (oldest,) = entries(folder)
    os.utime(oldest, (1, 1))
    odd = [folder / f"{k:064x}" for k in range(len(KINDS))]
    for kind, path in zip(KINDS, odd, strict=True):
        put(kind, path)
        os.utime(path, (0, 0), follow_symlinks=False)
    monkeypatch.setattr(cache, "LARGEST", oldest.stat().st_size + 1000)
    ask()
    left = entries(folder)
    assert oldest not in left
    assert all(path in left for path in odd)  # touched by nobody


def test_an_entry_larger_than_all_may_be_is_not_read(folder):
    first = ask()
    (path,) = entries(folder)
    try:
        os.truncate(path, 1 << 40)  # a terabyte that takes no room
    except OSError:
        pytest.skip("this file system has no files with holes")
    assert np.array_equal(ask(), first)
    assert path.stat().st_size < 1 << 20


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


def test_not_every_entry_that_is_stored_has_all_the_others_looked_at(folder, monkeypatch):
    looks, prune = [], cache._prune
    monkeypatch.setattr(cache, "_prune", lambda where: looks.append(where) or prune(where))
    monkeypatch.setattr(cache, "LARGEST", 64_000)
    for k in range(250):
        cache.store(f"{k:064x}", {}, bytes(300))
    assert looks == [folder] * 63  # the first one, and then each time that 1000 bytes have come: with every fourth
    assert 64_000 - 1000 < sum(path.stat().st_size for path in entries(folder)) < 64_000 + 4 * 500


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
