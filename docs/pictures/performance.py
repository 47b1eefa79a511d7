"""Runs `elbowroom bench dynamics` and writes its tables into README.md and docs/performance.md, between their marks.

python docs/pictures/performance.py [FILE.json]       a minute or two; a FILE of an earlier --json is taken as it is
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
US, REFEREE = "elbowroom", "Pinocchio"
OTHERS = ("MuJoCo", "Robotics Toolbox")
KINDS = {"dynamics": "one state, from Python", "batch": "4096 states, time a state, one thread each"}


def measured() -> dict[str, Any]:
    """A run's report."""
    if len(sys.argv) > 1:
        return json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    command = [sys.executable, "-m", "elbowroom", "bench", "dynamics", "--json", "-"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def seconds(value: float) -> str:
    """With three digits, in a unit that suits it."""
    for unit, size in (("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def by_place(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """Robot and quantity -> who -> row."""
    found: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["robot"], row["quantity"]), {})[row["who"]] = row
    return found


def said(report: dict[str, Any]) -> str:
    """What ran on what."""
    versions = {row["who"]: row["version"] for row in report["rows"]}
    told = ", ".join(f"{who} {version}" for who, version in versions.items())
    return f"One run of `elbowroom bench dynamics` on {report['cpu']}, two cores of a virtual machine: {told}."


def short(report: dict[str, Any]) -> str:
    """A line a quantity: one arm's times, and the ratios of all."""
    robots = list(dict.fromkeys(row["robot"] for row in report["rows"]))
    lines = []
    for kind, title in KINDS.items():
        places = by_place([row for row in report["rows"] if row["bench"] == kind])
        names = [f"{name}" for name in robots]
        lines += [f"| {title} | {US} | {REFEREE} | ratio, {', '.join(names)} |", "| --- | --- | --- | --- |"]
        for quantity in dict.fromkeys(quantity for _, quantity in places):
            ours, theirs = (seconds(places[robots[0], quantity][who]["seconds_per_state"]) for who in (US, REFEREE))
            ratios = [f"{places[name, quantity][REFEREE]['ratio_to_us']:.1f}" for name in robots]
            lines.append(f"| {quantity} | {ours} | {theirs} | {', '.join(ratios)} |")
        lines.append("")
    return f"{said(report)} Times are those of `{robots[0]}`, best of many rounds in turns.\n\n" + "\n".join(lines)


def whole(report: dict[str, Any]) -> str:
    """Every row, with medians and the ninth tenth."""
    lines = [said(report), ""]
    for kind, title in KINDS.items():
        lines += [f"### {title[0].upper()}{title[1:]}", ""]
        others = [who for who in OTHERS if any(row["who"] == who and row["bench"] == kind for row in report["rows"])]
        head = ["arm", "quantity", US, REFEREE, "ratio", *others]
        lines += [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |"]
        for (robot, quantity), found in by_place([row for row in report["rows"] if row["bench"] == kind]).items():
            cells = [spread(found.get(US)), spread(found.get(REFEREE))]
            cells.append(f"{found[REFEREE]['ratio_to_us']:.1f}" if REFEREE in found else "")
            cells += [spread(found.get(who)) for who in others]
            lines.append(f"| {robot} | {quantity} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def spread(row: dict[str, Any] | None) -> str:
    """Best, median and the ninth tenth."""
    if row is None:
        return ""
    best, median, most = (seconds(row[name]) for name in ("seconds_per_state", "median_seconds", "p90_seconds"))
    return f"{best} ({median}, {most})"


def write(path: Path, text: str) -> None:
    """Between the marks of a page."""
    page = path.read_text(encoding="utf-8")
    marks = r"(<!-- bench dynamics -->\n).*?(<!-- end of it -->)"
    changed, count = re.subn(marks, lambda m: f"{m[1]}{text.strip()}\n{m[2]}", page, flags=re.S)
    if count != 1:
        raise SystemExit(f"{path}: expected its marks once; got {count}")
    path.write_text(changed, encoding="utf-8")


if __name__ == "__main__":
    found = measured()
    write(ROOT / "README.md", short(found))
    write(ROOT / "docs" / "performance.md", whole(found))
