"""`elbowroom doctor`, whatever state a machine is in; and how the command starts where it hardly can."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
from functools import partial
from pathlib import Path

import llvmlite.binding
import pytest

from elbowroom import __main__ as starting
from elbowroom.cli import doctor
from elbowroom.compile import engine

ROOT = Path(__file__).parent.parent
STATES = {doctor.OK, doctor.NOTE, doctor.MISSING, doctor.BROKEN}


@pytest.fixture
def run(run):
    """A function that runs the doctor in this process: (exit status, stdout, stderr)."""
    return partial(run, "doctor")


@pytest.fixture
def quick(monkeypatch):
    """No processes: packages are fine, and so is the kernel."""

    def probe(what, *names):
        return {} if what == "import" else {"compiled_s": 0.1, "off": 1e-16, "call_s": 1e-6}

    monkeypatch.setattr(doctor, "probe", probe)
    monkeypatch.setattr(doctor, "SLEEPS", 3)
    monkeypatch.setattr(doctor, "version", lambda package: "1.0")


def by_name(found):
    return {each.name: each for each in found}


def test_it_says_what_is_here_and_that_the_core_works(run):
    status, out, err = run()
    assert (status, err) == (0, "")
    for words in (doctor.CORE, doctor.MACHINE, doctor.EXTRAS, "NumPy", "LLVM", "self check", "kernel cache", "viewer"):
        assert words in out
    assert re.search(r"^  ok +self check +a mass matrix: compiled in \d+ ms, equal to the reference", out, re.M)
    assert out.endswith("\nThe core works.\n")


def test_json_is_alone_on_stdout(run, quick):
    status, out, err = run("--json")
    assert (status, err) == (0, "")
    data = json.loads(out)
    assert data["healthy"] is True
    assert {each["state"] for each in data["findings"]} <= STATES
    names = {each["name"]: each for each in data["findings"]}
    assert names["vectors"]["data"]["bits"] in (128, 256, 512)
    assert names["CPU"]["data"]["threads"] >= 1
    assert {*doctor.USES, "timer", "GPU", "kernel cache"} <= set(names)


def test_the_note_is_aligned(quick):
    lines = [line for line in doctor.as_text(doctor.examine()).splitlines() if re.match(r"  (ok|note|missing) ", line)]
    wide = max(len(each.name) for each in doctor.examine())
    assert len(lines) > 10
    assert all(line[9] == " " and line[10] != " " and line[10 + wide :][:2] == "  " for line in lines)


# ---- what is optional


def test_the_extras_are_those_of_pyproject():
    assert set(doctor.USES) == set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    )
    assert set(doctor.TRIED) <= set(doctor.USES)


def test_what_extras_need_is_read_from_the_installed_package(monkeypatch):
    texts = [
        "numpy>=2",
        "viser<2,>=1.1; extra == 'viewer'",
        'pin[x]; python_version > "3" and extra == "bench"',
        "rich",
    ]
    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda name: texts)
    assert doctor.requirements() == {"": ["numpy", "rich"], "viewer": ["viser"], "bench": ["pin"]}


def test_where_it_is_not_installed_pyproject_says_what_is_needed(monkeypatch):
    def missing(name):
        raise doctor.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.importlib.metadata, "requires", missing)
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {"": wanted["dependencies"], **wanted["optional-dependencies"]}
    assert doctor.requirements() == {
        extra: [re.split(r"[<>=[]", package)[0] for package in packages] for extra, packages in needed.items()
    }


@pytest.mark.parametrize(
    "record, command",
    [
        ('{"url": "file:///x", "dir_info": {"editable": true}}', "pip install -e '.[viewer]'"),
        ('{"url": "file:///x", "dir_info": {}}', "pip install '.[viewer]'"),
        (None, "pip install '.[viewer]'"),
        ("{", "pip install '.[viewer]'"),
    ],
)
def test_what_is_missing_names_the_feature_and_the_command(quick, monkeypatch, record, command):
    """An editable installation stays one."""
    monkeypatch.setattr(doctor.importlib.metadata.Distribution, "read_text", lambda self, name: record, raising=False)
    monkeypatch.setattr(doctor.importlib.metadata.PathDistribution, "read_text", lambda self, name: record)
    monkeypatch.setattr(doctor, "requirements", lambda: {"": ["numpy"], "viewer": ["viser"]})
    monkeypatch.setattr(doctor, "version", lambda package: "" if package == "viser" else "1.0")
    found = doctor.examine()
    viewer = by_name(found)["viewer"]
    assert (viewer.state, viewer.data["missing"]) == (doctor.MISSING, ["viser"])
    assert doctor.healthy(found)
    text = doctor.as_text(found)
    assert re.search(r"^  missing +viewer +the live page \(demo, replay\): without viser$", text, re.M)
    assert re.search(rf"^  the live page \(demo, replay\) +{re.escape(command)}$", text, re.M)


def test_a_hidden_package_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    assert not doctor.there("viser")
    monkeypatch.setitem(sys.modules, "halfway", type(sys)("halfway"))
    assert not doctor.there("halfway")  # a module without a spec
    assert doctor.there("json")
    assert not doctor.version("no-such-package")


@pytest.mark.parametrize(
    "code, said",
    [
        ("raise ImportError('libviser.so is not there')", "ImportError: libviser.so is not there"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import os; print('hello'); os.abort()", "it crashed (signal 6)"),
        ("import os; os._exit(7)", "it ended with status 7"),
        ("import os; os._exit(0)", "no answer"),
    ],
)
def test_a_package_that_cannot_be_imported_does_not_take_the_doctor_along(monkeypatch, tmp_path, code, said):
    for name, text in (("viser", code), ("trimesh", "print('{\"not\": \"ours\"}', end='')")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert doctor.import_errors(["trimesh", "viser", "json"]) == {"trimesh": "", "viser": said, "json": ""}
    monkeypatch.setattr(doctor, "USES", {"viewer": doctor.USES["viewer"]})
    monkeypatch.setattr(doctor, "TRIED", ("viewer",))
    (viewer,) = doctor.extras()
    assert viewer.state == doctor.BROKEN
    assert said in viewer.text
    assert re.fullmatch(r"pip install --force-reinstall (-e )?'\.\[viewer\]'", viewer.mend)


@pytest.mark.slow
def test_a_process_that_never_ends_or_cannot_begin(monkeypatch, tmp_path):
    (tmp_path / "slow.py").write_text("import time; time.sleep(60)")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(doctor, "PROBE", 1.0)
    assert doctor.import_errors(["slow"]) == {"slow": "it took longer than 1 s"}
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nosuch"))
    assert doctor.import_errors(["json", "re"])["re"] == "no process could be started: No such file or directory"


def test_no_browser(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    (found,) = doctor.browser()
    assert (found.state, found.mend) == (doctor.MISSING, "sudo apt-get install chromium chromium-driver")
    assert "without Chromium and chromedriver" in found.text


# ---- what is needed


def test_a_broken_core_has_status_1_and_says_how_to_mend_it(run, quick, monkeypatch):
    broken = {"numpy": "ImportError: no"}
    monkeypatch.setattr(doctor, "import_errors", lambda names: {name: broken.get(name, "") for name in names})
    status, out, _ = run()
    assert status == 1
    assert re.search(r"^  broken +NumPy +cannot be imported: ImportError: no$", out, re.M)
    assert "pip install --force-reinstall numpy" in out
    assert out.endswith("\nThe core does not work here: see what is broken above.\n")


@pytest.mark.parametrize(
    "answer, said",
    [
        ({"off": 0.1, "compiled_s": 1, "call_s": 1}, "differs from the reference by 1.0e-01"),
        ({"off": float("nan"), "compiled_s": 1, "call_s": 1}, "differs from the reference by nan"),
        ({"error": "RuntimeError: [bold]no[/]\x1b[31m"}, "RuntimeError: [bold]no[/] [31m"),
        ({"error": "it crashed (signal 4)"}, "it crashed (signal 4)"),
    ],
)
def test_a_kernel_that_does_not_compute_is_a_broken_core(run, quick, monkeypatch, answer, said):
    monkeypatch.setattr(doctor, "probe", lambda what, *names: {} if what == "import" else answer)
    status, out, _ = run()
    assert status == 1
    assert said in next(line for line in out.splitlines() if "self check" in line)


def test_the_self_check_sees_a_wrong_kernel(monkeypatch, tmp_path):
    """The comparison is not of a thing with itself: with a reference that is off by a part in a million it fails."""
    (tmp_path / "sitecustomize.py").write_text(
        "import elbowroom.dynamics as d\nreal = d.whole\nd.whole = lambda *a: (lambda *b: real(*a)(*b) * 1.000001)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (found,) = doctor.kernel()
    assert found.state == doctor.BROKEN
    assert "differs from the reference by 1.0e-06" in found.text


def test_every_look_may_fail(quick, monkeypatch):
    def fails(*args, **kwargs):
        raise RuntimeError("no\nluck")

    for name in (
        "python",
        "core_packages",
        "kernel",
        "kernel_cache",
        "cpu",
        "gpu",
        "timer",
        "port",
        "extras",
        "browser",
    ):
        monkeypatch.setattr(doctor, name, fails)
    found = doctor.examine()
    assert len(found) == 10
    assert all(each.text == "could not be looked at: RuntimeError: no luck" for each in found)
    assert not doctor.healthy(found)
    assert doctor.as_text(found).count("\n") < 20


# ---- the cache


def test_a_cache_that_is_off_or_cannot_be_used_is_told_and_is_no_illness(quick, monkeypatch, tmp_path):
    def look(value):
        monkeypatch.setenv("ELBOWROOM_CACHE", str(value))
        (found,) = doctor.kernel_cache()
        return found

    assert look("off").text == "off, by ELBOWROOM_CACHE=off: each process compiles again"
    (tmp_path / "file").write_text("")
    found = look(tmp_path / "file" / "below")
    assert "is not used (it cannot be made): each process compiles again" in found.text
    assert found.mend.startswith("export ELBOWROOM_CACHE=")
    (tmp_path / "open" / "kernels").mkdir(parents=True)
    (tmp_path / "open" / "kernels").chmod(0o755)
    found = look(tmp_path / "open")
    assert "is not used (not yours alone)" in found.text
    assert found.mend == f"chmod 700 {tmp_path}/open/kernels"
    found = look(tmp_path / "new")
    assert (found.state, found.data["files"], found.data["writable"]) == (doctor.OK, 0, True)
    (tmp_path / "new" / "kernels" / ("a" * 64)).write_bytes(b"x" * 2_000_000)
    assert "1 files, 2 of at most 268 MB, can be written" in look(tmp_path / "new").text
    assert doctor.healthy(doctor.examine())


def test_a_cache_that_is_full(monkeypatch, tmp_path):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("ELBOWROOM_CACHE", str(tmp_path))
    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", full)
    (found,) = doctor.kernel_cache()
    assert (found.state, found.data["writable"]) == (doctor.NOTE, False)
    assert "cannot be written (No space left on device)" in found.text


# ---- the machine


@pytest.fixture
def features(monkeypatch):
    """A function that gives the CPU other features."""
    engine.host.cache_clear()
    yield lambda what: monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", what)
    engine.host.cache_clear()


def test_a_cpu_without_known_features(features):
    def fails():
        raise RuntimeError("no host features")

    features(fails)
    cpu, vectors = doctor.cpu()
    assert cpu.state == doctor.OK
    assert (vectors.state, vectors.text) == (doctor.NOTE, "unknown: RuntimeError: no host features")


@pytest.mark.parametrize(
    "names, said",
    [
        ((), "128 bits: 2 states of a batch at once; "),
        (("avx2", "fma"), "256 bits: 4 states of a batch at once; fused multiply-add; "),
        (("avx512f", "avx2", "fma"), "512 bits: 8 states of a batch at once; fused multiply-add; "),
    ],
)
def test_what_kernels_use_of_a_cpu(features, names, said):
    features(lambda: llvmlite.binding.targets.FeatureMap(dict.fromkeys(names, True)))
    assert list(doctor.cpu())[1].text.startswith(said)


def test_a_gpu_is_told_plainly(monkeypatch):
    monkeypatch.setattr(doctor, "_nvidia", lambda: ([], ""))
    monkeypatch.setattr(doctor, "there", lambda module: False)
    (found,) = doctor.gpu()
    assert (found.state, found.text) == (doctor.OK, "no NVIDIA driver; not used: CuPy is not there")
    monkeypatch.setattr(doctor, "_nvidia", lambda: (["H100"], "550"))
    assert (next(doctor.gpu()).state, next(doctor.gpu()).text) == (doctor.NOTE, "H100; not used: CuPy is not there")
    monkeypatch.setattr(doctor, "there", lambda module: True)
    monkeypatch.setattr(doctor, "probe", lambda *what: {"cupy": "14.0", "devices": ["H100"]})
    assert next(doctor.gpu()).text == "H100, CuPy 14.0"
    monkeypatch.setattr(doctor, "probe", lambda *what: {"error": "it crashed (signal 11)"})
    assert next(doctor.gpu()).text == "H100; not used: it crashed (signal 11)"


def test_the_tool_of_the_driver_is_believed_only_if_it_answers(monkeypatch, tmp_path):
    tool = tmp_path / "nvidia-smi"
    monkeypatch.setattr(doctor.shutil, "which", lambda name: str(tool))
    for text, wanted in (("echo 'H100, 550.1'", (["H100"], "550.1")), ("exit 9", ([], "present"))):
        tool.write_text(f"#!/bin/sh\n{text}\n")
        tool.chmod(0o755)
        assert doctor._nvidia() == wanted
    tool.write_bytes(b"\0")
    assert doctor._nvidia() == ([], "present")


def test_a_port_that_is_taken_and_a_timer_that_is_late(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(doctor, "PORT", taken.getsockname()[1])
        (found,) = doctor.port()
        assert (found.state, found.data["free"]) == (doctor.NOTE, False)
        assert "takes the next and says which" in found.text
    (found,) = doctor.port()
    assert (found.state, found.data["free"]) == (doctor.OK, True)
    clock = iter(range(10**6))
    monkeypatch.setattr(doctor.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(doctor.time, "perf_counter", lambda: 0.012 * next(clock))
    (found,) = doctor.timer()
    assert found.data["median_s"] == pytest.approx(0.011)
    assert (found.state, found.text[-56:]) == (doctor.NOTE, "): cycles shorter than 50 ms will be missed now and then")


# ---- where the rest cannot be imported


def test_without_the_command_line_it_says_why_and_the_doctor_still_works(monkeypatch, capsys, quick):
    kept = {name: module for name, module in sys.modules.items() if name.startswith("elbowroom.cli")}
    for name in kept:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.setattr(sys, "argv", ["elbowroom", "robots"])
    with pytest.raises(SystemExit) as stopped:
        starting.main()
    assert stopped.value.code == 1
    err = capsys.readouterr().err
    assert err.startswith("error: elbowroom cannot start: import of typer halted")
    assert err.count("\n") == 1
    monkeypatch.setattr(sys, "argv", ["elbowroom", "robots", "--debug"])
    with pytest.raises(ImportError):
        starting.main()
    monkeypatch.setattr(starting, "_doctor", lambda: doctor)
    for words, wanted in ((["doctor"], "What elbowroom needs"), (["doctor", "--json"], '"healthy": true')):
        monkeypatch.setattr(sys, "argv", ["elbowroom", *words])
        with pytest.raises(SystemExit) as stopped:
            starting.main()
        assert stopped.value.code == 0
        assert wanted in capsys.readouterr().out


def test_it_needs_the_standard_library_alone(monkeypatch):
    code = (
        "import sys\nfor name in ('typer', 'rich', 'platformdirs'): sys.modules[name] = None\n"
        "import elbowroom.__main__ as m\nc = m._doctor()\n"
        "c.probe = lambda *what: {'error': 'not tried'}\n"
        "print(c.__name__, len(c.as_text(c.examine())) > 500)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "elbowroom.cli.doctor True\n", done.stderr


def test_ctrl_c_while_packages_are_imported_leaves_no_trace(tmp_path):
    """The command line's own packages take a while; typer here says when it is at it, and waits."""
    (tmp_path / "typer.py").write_text("import sys, time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "elbowroom", "robots"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "src")])},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout.readline() == "importing\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")
