"""Draws the pictures of the tutorials: runs the code of their pages and keeps the SVG files that it writes."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

os.environ["SOURCE_DATE_EPOCH"] = "0"  # the same picture gives the same bytes

from elbowroom.experiments.figure_style import look

DOCS = Path(__file__).resolve().parent.parent
PAGES = ("your_own_urdf", "dynamics_for_control")


def main() -> None:
    """One run of each page in a folder of its own."""
    for page in PAGES:
        text = (DOCS / "tutorials" / f"{page}.md").read_text(encoding="utf-8")
        names: dict[str, object] = {}
        with look(), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for code in re.findall(r"```python\n(.*?)```", text, re.S):
                exec(code, names)
            shutil.copy(f"{page}.svg", DOCS / "pictures")


if __name__ == "__main__":
    main()
