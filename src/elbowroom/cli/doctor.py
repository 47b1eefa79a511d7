"""`elbowroom doctor`: what is installed, what this machine can do, and what is missing for which feature.

    findings = examine()          a `Diagnosis` for each line; no look can raise
    healthy(findings)             whether the core works
    mending(findings)             what is missing for which feature, and the command that mends it

This module needs the standard library alone, so that it works where the rest of elbowroom cannot be imported.  What may
crash is tried in a process of its own, which runs this file:

    python doctor.py import viser       whether modules can be imported
    python doctor.py kernel             one kernel, compiled anew, against the reference
    python doctor.py cuda               the devices that CuPy sees
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OK, NOTE, MISSING, BROKEN = "ok", "note", "missing", "broken"
"""How it is: good; worth knowing; an extra that is not there; something that should work and does not."""

CORE, MACHINE, EXTRAS = "What elbowroom needs", "This machine", "Extras, each for some features"
MEND = "What would mend the rest"
WELL = "The core works."
ILL = "The core does not work here: see what is broken above."

USES = {
    "viewer": "the live page (demo, replay)",
    "report": "figures (experiment, tables, bench --plot)",
    "identify": "identification of inertias and friction (identify, excite)",
    "campaign": "tables of campaigns as Parquet, with bounds; searches (campaign)",
    "scale": "campaigns on many machines by Ray (campaign --engine ray)",
    "connect": "ROS 2 on the wire (ros2, run --plant ros2), recordings as MCAP, bags",
    "rerun": "Rerun as a second viewer (run --rerun)",
    "mujoco": "arms that MuJoCo moves (--plant mujoco)",
    "xacro": "robots written as xacro (--xacro)",
    "looks": "the catalogue's panda drawn with its meshes (demo)",
    "foreign": "arms of others, for tests",
    "gpu": 'batches on graphics cards (device="cuda", bench gpu)',
    "torch": "kernels with gradients of torch tensors",
    "jax": "kernels with gradients of JAX arrays",
    "casadi": "programs as functions of CasADi (codegen.casadi_function)",
    "bench": "other libraries beside ours (bench)",
    "dev": "tests and documentation of elbowroom itself",
}
"""What each extra of pyproject.toml is for, in the order in which they are told."""
TRIED = ("viewer", "report", "campaign", "connect", "mujoco", "xacro")  # extras whose packages are imported, too
SHOWN = {"numpy": "NumPy", "llvmlite": "llvmlite"}  # packages of the core with a line of their own
MODULES = {
    "pycollada": "collada",
    "mujoco-core": "mujoco",
    "rerun-sdk": "rerun",
}  # imported by another name

PACKAGE = Path(__file__).parents[1]
PROBE = 60.0  # s that a process may take
MARK = "elbowroom doctor: "  # before the answer of such a process
EQUAL = 1e-12  # of the largest entry: roundings of sums of a few hundred products
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PORT = 8080
SLEEPS, SLEEP = 150, 1e-3  # how many, s
LATE = 2e-3  # s: where one sleep in a hundred ends later than this, cycles of a few milliseconds are not kept

Facts = dict[str, Any]  # as JSON has them


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was looked at: its section, its name, its state, in words, as data, and what mends it."""

    section: str
    name: str
    state: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    mend: str = ""


# ---- the whole


def examine() -> list[Diagnosis]:
    """Everything, in the order in which it is told.  A look that fails is told as broken."""
    found: list[Diagnosis] = []
    for section, name, look in (
        (CORE, "elbowroom", python),
        (CORE, "packages", core_packages),
        (CORE, "self check", kernel),
        (CORE, "kernel cache", kernel_cache),
        (MACHINE, "CPU", cpu),
        (MACHINE, "GPU", gpu),
        (MACHINE, "timer", timer),
        (MACHINE, f"port {PORT}", port),
        (EXTRAS, "extras", extras),
        (EXTRAS, "browser", browser),
    ):
        try:
            found.extend(look())
        except Exception as error:  # whatever it is, the other looks go on
            state = BROKEN if section == CORE else NOTE
            found.append(Diagnosis(section, name, state, f"could not be looked at: {_said(error)}"))
    return found


def healthy(findings: Sequence[Diagnosis]) -> bool:
    """Whether the core works: nothing that it needs is missing or broken."""
    return not any(each.state in (BROKEN, MISSING) for each in findings if each.section == CORE)


def mending(findings: Sequence[Diagnosis]) -> list[tuple[str, str]]:
    """(what for, command) of everything that can be mended, the core first; each command once."""
    chosen: dict[str, str] = {}
    for each in sorted(findings, key=lambda each: each.section != CORE):
        if each.mend:
            chosen.setdefault(each.mend, each.data.get("use", each.name))
    return [(use, command) for command, use in chosen.items()]


def as_json(findings: Sequence[Diagnosis]) -> str:
    """All of it as data."""
    mend = [{"for": use, "command": command} for use, command in mending(findings)]
    told = {"healthy": healthy(findings), "findings": [asdict(each) for each in findings], "mend": mend}
    return json.dumps(told, indent=1) + "\n"


def as_text(findings: Sequence[Diagnosis]) -> str:
    """A doctor's note: what was found, aligned, and at the end what would mend it."""
    wide = max(len(each.name) for each in findings)
    lines: list[str] = []
    for section in dict.fromkeys(each.section for each in findings):
        here = [each for each in findings if each.section == section]
        lines += ["", section, *(f"  {each.state:8}{each.name:{wide}}  {_printable(each.text)}" for each in here)]
    if todo := mending(findings):
        wide = max(len(use) for use, _ in todo)
        lines += ["", MEND, *(f"  {use:{wide}}   {_printable(command)}" for use, command in todo)]
    return "\n".join([*lines, "", WELL if healthy(findings) else ILL, ""])


def _printable(text: str) -> str:
    """On one line: names and messages come from elsewhere."""
    return "".join(c if c.isprintable() else " " for c in text)


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _short(path: Path) -> str:
    """With ~ for the home folder."""
    home = os.path.expanduser("~")
    return str(path).replace(home, "~", 1) if str(path).startswith(f"{home}{os.sep}") else str(path)


# ---- packages


def requirements() -> dict[str, list[str]]:
    """The packages that each extra needs, "" for the core; of pyproject.toml where elbowroom is not installed."""
    try:
        texts = importlib.metadata.requires("elbowroom") or []
    except importlib.metadata.PackageNotFoundError:
        import tomllib

        project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        texts = project["dependencies"]
        texts += [f"{t}; extra == '{name}'" for name, some in project["optional-dependencies"].items() for t in some]
    found: dict[str, list[str]] = {}
    for text in texts:
        name, extra = re.match(r"[\w.-]+", text), re.search(r"extra == ['\"]([\w.-]+)['\"]", text)
        if name:
            found.setdefault(extra[1] if extra else "", []).append(name[0])
    return found


def version(package: str) -> str:
    """Of a package as it is installed; empty if it is not."""
    try:
        return importlib.metadata.version(package)
    except Exception:  # not installed as a package, or its record is broken
        return ""


def python() -> Iterator[Diagnosis]:
    """elbowroom itself, and the interpreter."""
    from .. import __version__ as own

    yield Diagnosis(CORE, "elbowroom", OK, f"{own}, in {_short(PACKAGE)}", {"version": own, "path": str(PACKAGE)})
    said = f"{platform.python_version()}, {platform.python_implementation()}, {platform.system()} {platform.machine()}"
    fits = sys.version_info >= (3, 11)
    text = said if fits else f"{said}; elbowroom needs 3.11 or newer"
    yield Diagnosis(CORE, "Python", OK if fits else BROKEN, text, {"version": platform.python_version()})


def core_packages() -> Iterator[Diagnosis]:
    """Each package that the core cannot do without, imported in a process of its own."""
    packages = sorted(requirements()[""], key=lambda package: [*SHOWN, package].index(package))
    errors = import_errors(packages)
    others = []
    for package in packages:
        known, name, error = version(package), SHOWN.get(package, ""), errors[package]
        if error:
            text, mend = f"cannot be imported: {error}", f"pip install --force-reinstall {package}"
            yield Diagnosis(CORE, name or package, BROKEN, text, {"module": package}, mend)
        elif name:
            llvm = f", LLVM {_llvm()}" if package == "llvmlite" else ""
            yield Diagnosis(CORE, name, OK, f"{known}{llvm}", {"version": known})
        else:
            others.append(f"{package} {known}".strip())
    if others:
        yield Diagnosis(CORE, "others", OK, ", ".join(others))


def _llvm() -> str:
    try:
        import llvmlite.binding

        return ".".join(map(str, llvmlite.binding.llvm_version_info))
    except Exception:
        return "unknown"


def extras() -> Iterator[Diagnosis]:
    """Each extra: what of it is there, what is not, and what cannot be imported."""
    from ..errors import pip_install  # this file is also run alone

    needed = requirements()
    errors = import_errors([p for extra in TRIED for p in needed.get(extra, ()) if version(p)])
    for extra, use in USES.items():
        whole, broken, absent = [], [], []
        for package in needed.get(extra, ()):
            if not (known := version(package)):
                absent.append(package)
            elif extra in TRIED and errors[package]:
                broken.append(f"{package} ({errors[package]})")
            else:
                whole.append(f"{package} {known}")
        data = {"use": use, "there": whole, "missing": absent, "broken": broken}
        if broken:
            text = f"{use}: cannot be imported: {', '.join(broken)}"
            yield Diagnosis(EXTRAS, extra, BROKEN, text, data, pip_install(extra, again=True))
        elif absent:
            yield Diagnosis(EXTRAS, extra, MISSING, f"{use}: without {', '.join(absent)}", data, pip_install(extra))
        else:
            shown = ", ".join(whole) if len(whole) <= 2 else f"all {len(whole)} packages"
            yield Diagnosis(EXTRAS, extra, OK, f"{use}: {shown}", data)


# ---- whether it computes


def kernel() -> Iterator[Diagnosis]:
    """One kernel, compiled now, beside the same algorithm without a compiler."""
    facts = probe("kernel")
    if "off" not in facts:
        text = f"no kernel could be compiled: {facts['error']}"
    elif not facts["off"] <= EQUAL:
        text = f"a compiled mass matrix differs from the reference by {facts['off']:.1e}: trust no numbers here"
    else:
        text = (
            f"a mass matrix: compiled in {1e3 * facts['compiled_s']:.0f} ms, equal to the reference"
            f" ({facts['off']:.0e}), {1e6 * facts['call_s']:.1f} us a call"
        )
        yield Diagnosis(CORE, "self check", OK, text, facts)
        return
    yield Diagnosis(CORE, "self check", BROKEN, text, facts, "pip install --force-reinstall . llvmlite numpy")


def kernel_cache() -> Iterator[Diagnosis]:
    """Kernels on disk.  Without them everything works, but each process compiles again."""
    name, again = "kernel cache", "each process compiles again"
    told = os.environ.get("ELBOWROOM_CACHE", "")
    if told.lower() in ("off", "0", "none"):
        yield Diagnosis(CORE, name, NOTE, f"off, by ELBOWROOM_CACHE={told}: {again}", {"path": None})
        return
    from .. import disk_cache as cache

    path = (Path(told).expanduser() if told else cache._default()) / "kernels"
    data: Facts = {"path": str(path), "writable": False}
    if cache.folder() is None:
        open_to_others = path.is_dir()
        why = "not yours alone" if open_to_others else "it cannot be made"
        mend = f"chmod 700 {path}" if open_to_others else "export ELBOWROOM_CACHE=/some/folder/of/yours"
        yield Diagnosis(CORE, name, NOTE, f"{_short(path)} is not used ({why}): {again}", data, mend)
        return
    files = [file.lstat().st_size for file in path.iterdir() if not file.name.startswith(".")]
    size = f"{len(files)} files, {sum(files) / 1e6:.0f} of at most {cache.LARGEST / 1e6:.0f} MB"
    data |= {"files": len(files), "bytes": sum(files), "most_bytes": cache.LARGEST}
    try:
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(b"elbowroom")
    except OSError as error:
        text = f"{_short(path)}, {size}, cannot be written ({error.strerror}): {again}"
        yield Diagnosis(CORE, name, NOTE, text, data, "export ELBOWROOM_CACHE=/some/folder/of/yours")
        return
    yield Diagnosis(CORE, name, OK, f"{_short(path)}, {size}, can be written", data | {"writable": True})


# ---- the machine


def cpu() -> Iterator[Diagnosis]:
    """Its name, threads, and what kernels use of it."""
    from ..bench.timing import cpu_name

    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # not everywhere
        usable = os.cpu_count() or 1
    text = f"{cpu_name()}, {usable} thread{'' if usable == 1 else 's'}"
    yield Diagnosis(MACHINE, "CPU", OK, text, {"name": cpu_name(), "threads": usable})
    try:
        from ..compile import engine

        target = engine.host()
    except Exception as error:
        yield Diagnosis(MACHINE, "vectors", NOTE, f"unknown: {_said(error)}")
        return
    lanes, fused = target.lanes("double"), "fused multiply-add" if target.fma else "no fused multiply-add"
    text = f"{target.vector_bits} bits: {lanes} states of a batch at once; {fused}; kernels are made for {target.cpu}"
    yield Diagnosis(MACHINE, "vectors", OK, text, {"bits": target.vector_bits, "fma": target.fma, "cpu": target.cpu})


def gpu() -> Iterator[Diagnosis]:
    """Cards, and whether CuPy can use them."""
    cards, driver = _nvidia()
    seen = ", ".join(cards) if cards else "an NVIDIA driver, but no card" if driver else "no NVIDIA driver"
    facts = probe("cuda") if there("cupy") else {"error": "CuPy is not there"}
    data: Facts = {"cards": cards, "driver": driver} | facts
    if facts.get("devices"):
        yield Diagnosis(MACHINE, "GPU", OK, f"{', '.join(facts['devices'])}, CuPy {facts['cupy']}", data)
    else:
        text = f"{seen}; not used: {facts.get('error') or 'CuPy sees no device'}"
        yield Diagnosis(MACHINE, "GPU", NOTE if cards else OK, text, data)


def there(module: str) -> bool:
    """Whether there is such a module, without importing it."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError, AttributeError):  # one that is there in part
        return False


def _nvidia() -> tuple[list[str], str]:
    """Names of the cards and the driver's version, as its own tool says."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return [], "present" if Path("/proc/driver/nvidia/version").exists() else ""
    try:
        call = [tool, "--query-gpu=name,driver_version", "--format=csv,noheader"]
        done = subprocess.run(call, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return [], "present"
    rows = [line.split(", ") for line in done.stdout.splitlines() if ", " in line] if done.returncode == 0 else []
    return [row[0] for row in rows], rows[0][1] if rows else "present"


def timer() -> Iterator[Diagnosis]:
    """How late a sleep of a millisecond ends: what a loop in real time has to live with."""
    late = []
    for _ in range(SLEEPS):
        start = time.perf_counter()
        time.sleep(SLEEP)
        late.append(time.perf_counter() - start - SLEEP)
    late.sort()
    median, most = late[len(late) // 2], late[min(len(late) - 1, int(0.99 * len(late)))]
    fine = most < LATE
    kept = next((ms for ms in (5, 10, 20, 50, 100, 200, 500) if ms > 2e3 * most), 1000)
    verdict = "good enough for real time" if fine else f"cycles shorter than {kept} ms will be missed now and then"
    text = f"a sleep ends {1e3 * median:.2f} ms late (median), {1e3 * most:.2f} ms (99 %): {verdict}"
    yield Diagnosis(MACHINE, "timer", OK if fine else NOTE, text, {"median_s": median, "p99_s": most})


def port() -> Iterator[Diagnosis]:
    """Whether the live page finds its usual port free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", PORT))
            text, free = "free for the live page", True
        except OSError as error:
            text, free = f"taken ({error.strerror}): the live page takes the next and says which", False
    yield Diagnosis(MACHINE, f"port {PORT}", OK if free else NOTE, text, {"free": free})


def browser() -> Iterator[Diagnosis]:
    """Chromium and its driver: the tests of the live page drive them."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    driver, use = shutil.which("chromedriver"), "tests of the live page"
    data = {"use": use, "browser": browser, "driver": driver}
    if browser and driver:
        yield Diagnosis(EXTRAS, "Chromium", OK, f"{use}: {browser}, {driver}", data)
    else:
        lack = " and ".join(name for name, found in (("Chromium", browser), ("chromedriver", driver)) if not found)
        mend = "sudo apt-get install chromium chromium-driver" if shutil.which("apt-get") else ""
        yield Diagnosis(EXTRAS, "Chromium", MISSING, f"{use}: without {lack}", data, mend)


# ---- what is tried in a process of its own


def import_errors(packages: Sequence[str]) -> dict[str, str]:
    """What goes wrong when each package is imported; empty where nothing does.

    All are imported in one process and, where that fails, each in a process of its own.
    """
    modules = {package: MODULES.get(package, package) for package in packages}
    if "error" not in probe("import", *modules.values()):
        return dict.fromkeys(packages, "")
    return {package: probe("import", module).get("error", "") for package, module in modules.items()}


def probe(*what: str) -> Facts:
    """What this file says as a program; `error` says what went wrong, or how it ended."""
    paths = [str(PACKAGE.parent), *(path for path in sys.path if path)]
    call = [sys.executable, "-P", "-W", "ignore", __file__, *what]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    try:
        done = subprocess.run(
            call, capture_output=True, text=True, errors="replace", timeout=PROBE, check=False, env=env
        )
    except subprocess.TimeoutExpired:
        return {"error": f"it took longer than {PROBE:.0f} s"}
    except OSError as error:
        return {"error": f"no process could be started: {error.strerror}"}
    if done.returncode < 0:
        return {"error": f"it crashed (signal {-done.returncode})"}
    if done.returncode:
        last = " ".join(done.stderr.strip().splitlines()[-1:])
        return {"error": last or f"it ended with status {done.returncode}"}
    answers = [line.removeprefix(MARK) for line in done.stdout.splitlines() if line.startswith(MARK)]
    facts: Facts = json.loads(answers[-1]) if answers else {"error": "no answer"}
    return facts


def _compute() -> Facts:
    """The Panda's mass matrix: compiled, not from the cache, and beside what the algorithm gives without a compiler."""
    os.environ["ELBOWROOM_CACHE"] = "off"
    import numpy as np

    from elbowroom import dynamics
    from elbowroom.loading import load

    arm = load("panda")
    start = time.perf_counter()
    compiled = arm.compile("mass_matrix")
    took = time.perf_counter() - start
    states = np.random.default_rng(0).uniform(arm.model.lower, arm.model.upper, (16, arm.n))
    wanted = np.array([dynamics.whole("mass_matrix", "crba")(arm.model, q) for q in states])
    both = np.array([compiled(q) for q in states]), compiled(states)
    off = max(float(np.abs(found - wanted).max()) for found in both)
    best, q = np.inf, states[0]
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(100):
            compiled(q)
        best = min(best, (time.perf_counter() - start) / 100)
    return {"compiled_s": took, "off": off / float(np.abs(wanted).max()), "call_s": best}


def _cuda() -> Facts:
    """CuPy and its devices."""
    import cupy

    runtime = cupy.cuda.runtime
    names = [runtime.getDeviceProperties(k)["name"].decode() for k in range(runtime.getDeviceCount())]
    return {"cupy": cupy.__version__, "devices": names, "runtime": runtime.runtimeGetVersion()}


def _imports(*modules: str) -> Facts:
    for module in modules:
        importlib.import_module(module)
    return {}


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    try:
        tried: dict[str, Callable[..., Facts]] = {"import": _imports, "kernel": _compute, "cuda": _cuda}
        answer = tried[what](*rest)
    except BaseException as error:  # a broken package may raise anything
        answer = {"error": _said(error)}
    print(f"\n{MARK}{json.dumps(answer)}", flush=True)  # on a line of its own: packages print what they like
