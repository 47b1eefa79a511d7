"""Runs `elbowroom experiment all` and the recordings that are at hand, and brings docs/experiments.md up to date.

python docs/pictures/experiments.py [FOLDER]       FOLDER has recordings (*/*.csv); some minutes
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PICTURES = Path(__file__).parent
PAGE = PICTURES.parent / "experiments.md"
PLANTS = ("kinematic", "rigid", "mujoco")
WORDS = {
    "min_distance": ("least distance", "m"),
    "min_x_difference": ("least x difference", "m"),
    "min_y_difference": ("least y difference", "m"),
    "peak_x_speed": ("peak x speed", "m/s"),
    "min_joint3_deg": ("least angle of joint 3", "°"),
}


def experiment(*arguments: str) -> list[dict[str, Any]]:
    """The rows of one call."""
    command = [sys.executable, "-m", "elbowroom.cli", "experiment", *arguments, "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def numbers(rows: list[dict[str, Any]]) -> str:
    """The thesis' numbers beside ours."""
    found: dict[tuple[int, str], dict[str, float]] = {}
    for row in rows:
        if row["robot"] == "puma560" and row["thesis"] and row.get("test"):
            for name, thesis in row["thesis"].items():
                cells = found.setdefault((row["test"], name), {"thesis": thesis})
                cells[row["plant"]] = row["metrics"][name]
    lines = ["| test | | thesis | " + " | ".join(PLANTS) + " |", "| --- | --- | --- | --- | --- | --- |"]
    for (test, name), cells in found.items():
        words, unit = WORDS[name]
        digits = 1 if unit == "°" else 3
        ours = [f"{cells[plant]:.{digits}f} ({100 * (cells[plant] / cells['thesis'] - 1):+.0f} %)" for plant in PLANTS]
        lines.append(f"| {test} | {words}, {unit} | {cells['thesis']:g} | " + " | ".join(ours) + " |")
    return "\n".join(lines)


def arms(rows: list[dict[str, Any]]) -> str:
    """The other arms, bare and guarded: least distance of surfaces, and what the arm did to itself."""
    names = [name for name in dict.fromkeys(row["robot"] for row in rows) if name != "puma560"]
    lines = ["| test | | " + " | ".join(names) + " |", "| --- | --- |" + " --- |" * len(names)]
    for test in range(1, 6):
        mine = [row for row in rows if row.get("test") == test and row["robot"] in names]
        for variant in dict.fromkeys(row["variant"] for row in mine):
            cells = [outcome(row["metrics"], test) for name in names for row in mine
                     if (row["robot"], row["variant"]) == (name, variant)]  # fmt: skip
            words = {"printed": "as printed", "improved": "as improved"}.get(variant, variant)
            lines.append(f"| {test} | {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def outcome(m: dict[str, Any], test: int) -> str:
    """A run in a few words: what is left, the work done, and what could not be done."""
    words = [f"{m['min_clearance']:.2f} m"] + ([f"{m['cycles']} task cycles"] if test == 5 else [])
    words += [f"{m['contacts']} contacts"] if m["contacts"] else []
    words += [f"{m['limit_hits']} ends hit"] if m["limit_hits"] else []
    words += [f"{-100 * m['min_self_distance']:.1f} cm into itself"] if m["min_self_distance"] < 0 else []
    words += [f"{-100 * m['min_height']:.1f} cm below the floor"] if m["min_height"] < 0 else []
    return ", ".join(words)


def improved(rows: list[dict[str, Any]]) -> str:
    """Tests 1 to 4 as printed, with one improvement at a time, and as improved."""
    from elbowroom.experiments.thesis.texts import IMPROVEMENTS

    lines = ["| | " + " | ".join(f"test {k}" for k in range(1, 5)) + " |", "| --- | --- | --- | --- | --- |"]
    for variant, words in IMPROVEMENTS.items():
        cells = []
        for test in range(1, 5):
            m = next(r["metrics"] for r in rows if (r.get("test"), r["variant"], r["plant"], r["robot"])
                     == (test, variant, "kinematic", "puma560"))  # fmt: skip
            cells.append(f"{m['min_surface_distance']:.2f} m, {m['peak_tool_speed']:.2f} m/s, {m['rms_jerk']:.1f}")
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def survivors() -> str:
    """Which results survive other gains."""
    lines = ["| test | result | survives | fails with |", "| --- | --- | --- | --- |"]
    for row in experiment("vary"):
        fails = "; ".join(row["fails"]) if row["as_is"] else "all, and as it is"
        lines.append(f"| {row['test']} | {row['text']} | {row['holds']} of {row['of']} | {fails} |")
    return "\n".join(lines)


def people(rows: list[dict[str, Any]]) -> str:
    """Recorded people, bare and supervised."""
    lines = [
        "| recording | | least distance of surfaces | contacts | cycles | stops |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        m = row["metrics"]
        stops = m["supervisor_stops"] if row["variant"] == "supervised" else "-"
        scene = row["scene"].replace("_", "/", 1)
        cells = (scene, row["variant"], f"{m['min_clearance']:.2f} m", m["contacts"], m["cycles"], stops)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    """Every part between `<!-- NAME -->` and `<!-- end -->` becomes what the runs say."""
    with tempfile.TemporaryDirectory() as folder:
        rows = experiment("all", "--out", f"{folder}/all")
        for figure in sorted(Path(folder, "all", "figures").glob("*.svg")):
            (PICTURES / "experiments" / figure.name).write_bytes(figure.read_bytes())
        parts = {"numbers": numbers(rows), "arms": arms(rows), "improved": improved(rows), "survivors": survivors()}
        if sys.argv[1:]:
            takes = [x for take in sorted(Path(sys.argv[1]).glob("*/*.csv")) for x in ("--motion", str(take))]
            parts["people"] = people(experiment("recorded", *takes, "--out", f"{folder}/recorded"))
    text = PAGE.read_text(encoding="utf-8")
    for name, said in parts.items():
        text, count = re.subn(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda f, s=said: f"{f[1]}{s}\n\n{f[2]}", text, flags=re.S
        )
        if count != 1:
            raise SystemExit(f"{PAGE}: expected one part {name!r}; found {count}")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
