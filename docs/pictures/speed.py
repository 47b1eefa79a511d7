"""Measures distances and cycles on this machine and writes docs/avoidance/speed.md's figures and pictures.

python docs/pictures/speed.py            a few minutes; best on a machine that does nothing else
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PICTURES = Path(__file__).parent
PAGE = PICTURES.parent / "avoidance" / "speed.md"
SUITES = {"distance": "distance_times.svg", "avoidance": "cycle_times.svg"}


def measured(suite: str, picture: str) -> str:
    """What the benchmark prints."""
    command = [sys.executable, "-m", "elbowroom.cli", "bench", suite, "--plot", str(PICTURES / picture)]
    if suite == "avoidance" and sys.argv[1:]:
        command += ["--cycles", sys.argv[1]]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Every block after a line `<!-- bench NAME -->` becomes what that benchmark says."""
    text = PAGE.read_text(encoding="utf-8")
    for suite, picture in SUITES.items():
        said = "\n".join(line.rstrip() for line in measured(suite, picture).strip().splitlines())
        block = re.compile(rf"(<!-- bench {suite} -->\n```text\n).*?(```)", re.S)
        text, count = block.subn(lambda found, said=said: f"{found[1]}{said}\n{found[2]}", text)
        if count != 1:
            raise SystemExit(f"{PAGE}: expected one block of {suite!r}; found {count}")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
