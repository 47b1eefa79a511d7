"""The pages that show code with its output: README and docs.  Run this file to write the true outputs into them.

python tests/pages.py [docs/counting.md ...]
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.S)
BODY = '<inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>'
URDF = f"""<robot name="mine"><link name="base"/><link name="arm">{BODY}</link><link name="tool0">{BODY}</link>
<joint name="one" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
<joint name="two" type="revolute"><parent link="arm"/><child link="tool0"/><axis xyz="0 1 0"/><origin xyz="0 0 .5"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


def prepare(folder: Path) -> None:
    """The files that the pages' code opens."""
    (folder / "my.urdf").write_text(URDF)
    shutil.copy(ROOT / "src/elbowroom/model/catalogue/scara.toml", folder / "my.toml")


def outputs(text: str) -> list[tuple[str, str]]:
    """Runs the python blocks of a page one after the other: (what each printed, what the page says it prints)."""
    names: dict = {}
    found = []
    for code, shown in BLOCK.findall(text):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(code, "page", "exec"), names)
        found.append((said.getvalue(), shown))
    return found


def refreshed(text: str) -> str:
    """The page with the true outputs."""
    printed = iter([true for true, _ in outputs(text)])

    def block(match: re.Match) -> str:
        true = next(printed)
        return f"```python\n{match[1]}```" + (f"\n\n```text\n{true}```" if true else "")

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    named = [Path(name).resolve() for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        os.chdir(folder)
        for page in named or PAGES:
            page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
