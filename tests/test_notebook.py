"""The notebook for students: its cells run in order, and it shows what they print and draw."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "examples" / "seven_experiments.ipynb"
NUMBER = re.compile(r"-?\d+\.?\d*")
LARGEST = 1_500_000  # bytes: what GitHub still shows at once
FIGURES = 10


@pytest.fixture(scope="module")
def runner():
    """The script that makes the outputs; it runs cells without Jupyter."""
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "docs" / "pictures" / "notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def notebook():
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def code(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def text(cell):
    return "".join(cell["source"])


def said(outputs):
    return "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream")


def pictures(outputs):
    return [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]


def test_it_is_a_notebook_as_github_and_jupyter_read_it(notebook):
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert [cell["execution_count"] for cell in code(notebook)] == list(range(1, len(code(notebook)) + 1))
    assert NOTEBOOK.stat().st_size < LARGEST
    for cell in code(notebook):
        assert {output["output_type"] for output in cell["outputs"]} <= {
            "stream",
            "display_data",
        }  # no errors, no reprs
        assert not re.search(r"(?:^|\s)/(?:home|work|tmp|root)/", said(cell["outputs"]))
    shown = [picture for cell in code(notebook) for picture in pictures(cell["outputs"])]
    assert len(shown) == FIGURES
    assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in shown)


def test_it_has_every_test_its_equations_and_something_to_try(notebook):
    words = "\n".join(text(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    for number in range(1, 8):
        section = words.split(f"## Test {number}: ")[1].split("\n## ")[0]
        assert "figures 4." in section
        assert "**To think about" in section
        assert f"run_test({number}, " in "\n".join(map(text, code(notebook)))
    wanted = {"3.46", "3.48", "3.49", "3.50", "3.55", "3.57", "3.71", "3.72", "3.74", "3.77", "3.78"}
    assert wanted <= set(re.findall(r"\((3\.\d+)\)", words))
    assert sum(text(cell).startswith("# Try it") for cell in code(notebook)) >= 6


@pytest.mark.slow
def test_its_cells_run_and_show_what_the_file_shows(notebook, runner):
    pytest.importorskip("matplotlib")
    for cell, outputs in zip(code(notebook), runner.executed(notebook), strict=True):
        assert len(pictures(outputs)) == len(pictures(cell["outputs"])), text(cell)
        new, old = said(outputs), said(cell["outputs"])
        assert NUMBER.sub("#", new) == NUMBER.sub("#", old)
        # Other machines round otherwise, and a swing carries it on: two per cent, or a unit of the last digit.
        for a, b in zip(NUMBER.findall(new), NUMBER.findall(old), strict=True):
            last = 10.0 ** -len(b.partition(".")[2])
            assert float(a) == pytest.approx(float(b), rel=0.02, abs=1.01 * last), text(cell)


def test_a_cell_that_fails_is_not_passed_over(runner):
    def cells(*sources):
        return {"cells": [{"cell_type": "code", "source": [source]} for source in sources]}

    with pytest.raises(ZeroDivisionError):
        runner.executed(cells("x = 1", "x / 0"))
    first, second, third = runner.executed(cells("x = 2\nprint('a')\nx", "x + 1;", "x"))
    assert [output["output_type"] for output in first] == ["stream", "execute_result"]
    assert second == []
    assert third[0]["data"] == {"text/plain": ["2"]}
