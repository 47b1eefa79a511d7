"""Tests that take long, as measured: their names are in long_tests.txt, and `make test` leaves them out as `slow` ones.

    make long-tests         measures every test that no mark calls slow, and writes the list anew; some minutes

The time of a test is what it and its child processes take of the CPU once its kernels are in the cache, so a busy
machine changes little.  A test that is slow by what it does has the mark beside it; this list is for the many cases of
which a few are long.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

LIST = Path(__file__).with_suffix(".txt")
LONG = 0.3  # s
ALWAYS = ("tests/avoidance/test_faults.py", "tests/avoidance/test_supervisor.py")  # what stops an arm, however long
MEASURED = "ELBOWROOM_MEASURED_TESTS"  # the folder into which each worker writes


def names() -> frozenset[str]:
    """The tests of the list, as pytest calls them."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def mark(items) -> None:
    """Marks those of these tests that the list has as slow."""
    long = names()
    for item in items:
        if item.nodeid in long:
            item.add_marker(pytest.mark.slow)


def cpu() -> float:
    """What this process and its children have taken, in s."""
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Measures a test, in a run that `main` has started."""
    before = cpu()
    try:
        return (yield)
    finally:
        with (Path(os.environ[MEASURED]) / str(os.getpid())).open("a", encoding="utf-8") as out:
            out.write(f"{cpu() - before:.3f} {item.nodeid}\n")


def main() -> int:
    """Runs the tests twice, the second time with kernels in the cache, and writes those that took long."""
    LIST.write_text("", encoding="utf-8")
    call = [sys.executable, "-m", "pytest", "-n", "auto", "-m", "not slow", "--hypothesis-profile", "quick"]
    with tempfile.TemporaryDirectory() as folder:
        paths = os.pathsep.join([str(LIST.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        subprocess.run(call, check=True, cwd=LIST.parent.parent)
        subprocess.run(
            [*call, "-p", "long_tests"],
            check=True,
            cwd=LIST.parent.parent,
            env=os.environ | {MEASURED: folder, "PYTHONPATH": paths},
        )
        lines = [line.split(" ", 1) for each in Path(folder).iterdir() for line in each.read_text().splitlines()]
    long = sorted(name for seconds, name in lines if float(seconds) >= LONG and not name.startswith(ALWAYS))
    LIST.write_text("".join(f"{name}\n" for name in long), encoding="utf-8")
    print(f"{len(long)} of {len(lines)} tests take {LONG} s or more: {LIST}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
