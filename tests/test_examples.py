"""Every file in examples/ runs, headless, and shows something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import elbowroom as er

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples_and_they_are_numbered():
    assert len(EXAMPLES) >= 4
    assert [p.name[:2] for p in EXAMPLES] == [f"{k:02}" for k in range(1, len(EXAMPLES) + 1)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_example_runs(path, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment["PYTHONPATH"] = str(Path(er.__file__).parents[1])  # the same elbowroom as here, from any folder
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "an example shows something"
    assert not done.stderr
    assert not list(tmp_path.iterdir()), "and leaves nothing behind"
