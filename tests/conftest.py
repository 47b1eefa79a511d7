"""What all tests share: a Hypothesis profile, a cache of kernels, files that live a test, the command."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, settings

import long_tests

# Seeded, so that a failure in CI is a failure here; no deadline, because no test asserts a time.
settings.register_profile(
    "elbowroom",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("quick", settings.get_profile("elbowroom"), max_examples=25)  # `make test`
settings.load_profile("elbowroom")
OFTEN = gc.get_threshold()


def pytest_configure(config):
    """Kernels of the tests stay out of the user's cache: they have a folder beside pytest's own notes.

    It stays from one run to the next, since a kernel's name covers the sources of the package, what it is made of, the
    compiler and the CPU; `pytest --cache-clear` empties it.  The workers of pytest-xdist inherit it: a kernel is
    compiled once.  Tests of the cache itself have empty folders of their own.
    """
    # A shell that starts the tests in its background has them ignore Ctrl-C, and the programs that they start, too.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "ELBOWROOM_CACHE" not in os.environ:
        notes = getattr(config, "cache", None)
        folder = notes.mkdir("elbowroom") if notes else tempfile.mkdtemp(prefix="elbowroom-tests-")
        os.environ["ELBOWROOM_CACHE"] = str(folder)
        if not notes:
            config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(tryfirst=True)  # before `-m "not slow"` chooses
def pytest_collection_modifyitems(items):
    """Marks what long_tests.txt names as slow, and begins with what drives a browser.

    One worker does all of that with one Chromium, and none waits for it at the end: pytest-xdist gives each worker a
    stretch of the list, and one that is done takes from the ends of the others'.
    """
    long_tests.mark(items)
    items.sort(key=lambda item: item.path.name != "test_browser.py")


def pytest_collection_finish():
    """What pytest keeps of ten thousand tests stays to the end: collecting garbage need not look through it again.

    Nor as often as Python does by itself: tracing makes many small objects that live on (5 to 10 % of the time).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, *OFTEN[1:])


@pytest.fixture
def collector():
    """As Python starts: on, nothing frozen; and afterwards as after the collection of the tests."""
    gc.unfreeze()
    gc.enable()
    gc.set_threshold(*OFTEN)
    yield
    gc.unfreeze()
    gc.enable()
    pytest_collection_finish()


@pytest.fixture
def urdf_file(tmp_path):
    """A function that writes URDF text into a file and gives its path."""

    def write(text: str, name: str = "arm.urdf"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def run(capsys, monkeypatch):
    """A function that runs the command in this process: (exit status, stdout, stderr)."""
    for variable in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)

    from elbowroom import cli  # not before a test asks for it

    def call(*arguments) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main([str(a) for a in arguments])
        said = capsys.readouterr()
        return stopped.value.code or 0, said.out, said.err

    return call
