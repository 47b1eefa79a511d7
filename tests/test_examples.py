"""Every file in examples/ runs, headless, and shows something."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import elbowroom as er
from marks import slow_where

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
LONG = ("03", "05", "06", "07", "08", "09")  # numbers of those that run for seconds


def start(path, folder, *arguments):
    """The example in a process of its own, without a screen."""
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment["PYTHONPATH"] = str(Path(er.__file__).parents[1])  # the same elbowroom as here, from any folder
    command = [sys.executable, "-W", "error", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def test_there_are_examples_and_they_are_numbered():
    assert len(EXAMPLES) >= 4
    assert [p.name[:2] for p in EXAMPLES] == [f"{k:02}" for k in range(1, len(EXAMPLES) + 1)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_example_says_what_one_learns(path):
    said = ast.get_docstring(ast.parse(path.read_text()))
    assert "You learn " in said


def test_recordings_and_pictures_are_kept_on_request(tmp_path):
    path = EXAMPLES[9]
    assert path.name == "10_replay_and_plot.py"
    done = start(path, tmp_path, "kept")
    assert done.returncode == 0, done.stderr
    drawn = {"distance.png"} if find_spec("matplotlib") else set()
    assert {file.name for file in (tmp_path / "kept").iterdir()} == {"run.csv"} | drawn
    assert "the same numbers as in memory: True" in done.stdout


@pytest.mark.parametrize("path", slow_where(lambda p: p.name[:2] in LONG, EXAMPLES), ids=lambda p: p.name)
def test_example_runs(path, tmp_path):
    done = start(path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "an example shows something"
    assert not done.stderr
    assert not list(tmp_path.iterdir()), "and leaves nothing behind"
