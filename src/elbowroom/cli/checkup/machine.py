"""This machine: its CPU and what kernels use of it, graphics cards, timer, the live page's port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...bench.report import cpu_name
from .parts import MACHINE, NOTE, OK, Finding, probe, said, there

PORT = 8080
SLEEPS, SLEEP = 150, 1e-3
LATE = 2e-3  # s: where one sleep in a hundred ends later than this, cycles of a few milliseconds are not kept


def cpu() -> Iterator[Finding]:
    """Its name, threads, and what kernels use of it."""
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # not everywhere
        usable = os.cpu_count() or 1
    threads = f"{usable} thread{'' if usable == 1 else 's'}"
    data: dict[str, Any] = {"name": cpu_name(), "threads": usable}
    yield Finding(MACHINE, "CPU", OK, f"{cpu_name()}, {threads}", data)
    try:
        from elbowroom.compile import engine

        target = engine.host()
    except Exception as error:
        yield Finding(MACHINE, "vectors", NOTE, f"unknown: {said(error)}")
        return
    lanes, fused = target.lanes("double"), "fused multiply-add" if target.fma else "no fused multiply-add"
    text = f"{target.vector_bits} bits: {lanes} states of a batch at once; {fused}; kernels are made for {target.cpu}"
    yield Finding(MACHINE, "vectors", OK, text, {"bits": target.vector_bits, "fma": target.fma, "cpu": target.cpu})


def gpu() -> Iterator[Finding]:
    """Cards, and whether CuPy can use them."""
    cards, driver = _nvidia()
    seen = ", ".join(cards) if cards else "an NVIDIA driver, but no card" if driver else "no NVIDIA driver"
    data: dict[str, Any] = {"cards": cards, "driver": driver}
    lines, problem = probe("cuda") if there("cupy") else ([], "CuPy is not there")
    facts: dict[str, Any] = lines[-1] if lines else {"error": problem}
    data |= facts
    if facts.get("devices"):
        yield Finding(MACHINE, "GPU", OK, f"{', '.join(facts['devices'])}, CuPy {facts['cupy']}", data)
    else:
        text = f"{seen}; not used: {facts.get('error') or 'CuPy sees no device'}"
        yield Finding(MACHINE, "GPU", NOTE if cards else OK, text, data)


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


def timer() -> Iterator[Finding]:
    """How late a sleep of a millisecond ends: what a loop in real time has to live with."""
    late = []
    for _ in range(SLEEPS):
        start = time.perf_counter()
        time.sleep(SLEEP)
        late.append(time.perf_counter() - start - SLEEP)
    late.sort()
    median, most = late[len(late) // 2], late[min(len(late) - 1, int(0.99 * len(late)))]
    fine = most < LATE
    text = f"a sleep ends {1e3 * median:.2f} ms late (median), {1e3 * most:.2f} ms (99 %): "
    text += (
        "good enough for real time" if fine else f"cycles shorter than {_above(most)} ms will be missed now and then"
    )
    yield Finding(MACHINE, "timer", OK if fine else NOTE, text, {"median_s": median, "p99_s": most})


def _above(seconds: float) -> int:
    return next((ms for ms in (5, 10, 20, 50, 100, 200, 500) if ms > 2e3 * seconds), 1000)


def port() -> Iterator[Finding]:
    """Whether the live page finds its usual port free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", PORT))
            text, free = "free for the live page", True
        except OSError as error:
            text, free = f"taken ({error.strerror}): the live page takes the next and says which", False
    yield Finding(MACHINE, f"port {PORT}", OK if free else NOTE, text, {"free": free})
