"""Runs the cells of examples/seven_experiments.ipynb and saves what they print and draw, so that GitHub shows it.

python docs/pictures/notebook.py            half a minute; no Jupyter is needed

Cells are plain Python: they run one after the other in one namespace, as in Jupyter.  What a cell prints, the value of
its last line and the figures that it leaves open are its outputs.  `executed` does the same for the tests.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[2] / "examples" / "seven_experiments.ipynb"
DPI = 90


def executed(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of every code cell; the first error ends it."""
    os.environ["MPLBACKEND"] = "Agg"
    names: dict[str, Any] = {"__name__": "__main__"}
    _figures()  # those that somebody else left open
    return [_run("".join(cell["source"]), names) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _run(code: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said, value = io.StringIO(), None
    with contextlib.redirect_stdout(said):
        exec(compile(tree, "a cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "a cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if said.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": said.getvalue().splitlines(True)})
    if value is not None and not code.rstrip().endswith(";"):  # as in Jupyter
        data = {"text/plain": repr(value).splitlines(True)}
        outputs.append({"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": None})
    return outputs + _figures()


def _figures() -> list[dict[str, Any]]:
    """The figures that are open, which are closed then."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    plt = sys.modules["matplotlib.pyplot"]
    shown = []
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, format="png", dpi=DPI, bbox_inches="tight", metadata={"Software": None})
        data = {"image/png": base64.b64encode(picture.getvalue()).decode() + "\n", "text/plain": ["<a figure>"]}
        shown.append({"output_type": "display_data", "data": data, "metadata": {}})
    plt.close("all")
    return shown


def refreshed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the true outputs."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, (cell, outputs) in enumerate(zip(code, executed(notebook), strict=True), 1):
        cell["execution_count"] = count
        cell["outputs"] = [
            output | {"execution_count": count} if output["output_type"] == "execute_result" else output
            for output in outputs
        ]
    return notebook


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "src"))
    made = refreshed(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    NOTEBOOK.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
