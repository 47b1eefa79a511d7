"""The script that writes the tables of README and docs/performance.md, on runs that nobody made."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from elbowroom.bench.timing import US, FirstCall, Report, Row

ROOT = Path(__file__).parent.parent.parent


def row(bench, robot, n, quantity, who, seconds, ratio, states=1):
    return Row(bench, robot, n, quantity, who, "1.2", seconds, seconds, 1.5 * seconds, ratio, states)


RUNS = {
    "dynamics": Report(
        [
            row("dynamics", robot, 7, "mass_matrix", who, seconds, ratio)
            for robot in ("panda", "ur5e")
            for who, seconds, ratio in ((US, 2e-7, 1.0), (f"{US}, out=", 1e-7, 0.5), ("Pinocchio", 1e-6, 5.0))
        ],
        ["frax"],
        "a CPU",
        2,
        "3.99",
        [FirstCall("panda", 7, "mass_matrix", 0.25)],
        ["A note."],
    ),
    "batch": Report(
        [
            row("batch", "panda", 7, "mass_matrix", who, seconds, ratio, states)
            for states in (256, 4096)
            for who, seconds, ratio in ((US, 5e-8, 1.0), ("Pinocchio", 1e-6, 20.0))
        ],
        [],
        "a CPU",
    ),
    "chains": Report(
        [
            row("chains", f"random{n}", n, "mass_matrix", who, seconds, ratio)
            for n in (7, 100)
            for who, seconds, ratio in ((US, 1e-6, 1.0), ("Pinocchio", 4e-6, 4.0))
        ],
        [],
        "a CPU",
        first_calls=[FirstCall("random7", 7, "mass_matrix", 0.3), FirstCall("random100", 100, "mass_matrix", 8.5)],
    ),
    "distance": Report(
        [
            row("distance", "panda", 7, "one pair", US, 1e-5, 1.0),
            row("distance", "panda", 7, "one pair", "coal", 1e-6, 0.1),
        ],
        [],
        "a CPU",
    ),
}


@pytest.fixture
def page(monkeypatch, tmp_path):
    """The script, writing copies of the pages; it is called with names of runs."""
    path = ROOT / "docs" / "pictures" / "performance.py"
    spec = importlib.util.spec_from_file_location("performance", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for name, source in (("README", ROOT / "README.md"), ("PAGE", ROOT / "docs" / "performance.md")):
        shutil.copy(source, tmp_path / source.name)
        monkeypatch.setattr(script, name, tmp_path / source.name)
    monkeypatch.setattr(script, "PICTURES", tmp_path)

    def call(*names: str) -> tuple[str, str]:
        files = []
        for name in names:
            file = tmp_path / f"{name}.json"
            file.write_text(json.dumps({"elbowroom": "1.2", **dataclasses.asdict(RUNS[name])}))
            files.append(str(file))
        monkeypatch.setattr("sys.argv", ["performance.py", *files])
        script.main()
        return script.README.read_text(), script.PAGE.read_text()

    return call


def test_the_pages_are_filled_from_the_runs(page, tmp_path):
    readme, whole = page("distance", "chains", "batch", "dynamics")  # in any order
    assert "on a CPU, 2 cores, Python 3.99: elbowroom 1.2, Pinocchio 1.2. Not installed for it: frax." in whole
    assert "kept within 1.5 times their best" in whole
    assert "| mass matrix of `panda`, one state, from Python | 200 ns | Pinocchio 1 us (5.0 times) |" in readme
    assert "`elbowroom bench batch`, a CPU, 2 cores: elbowroom 1.2, Pinocchio 1.2. Best of many rounds" in whole
    assert "| mass_matrix | 200 ns | 100 ns | 1 us | 5.0, 5.0 |" in whole
    assert "| mass_matrix | 50 ns | 1 us | 20.0 |" in whole
    assert "| mass_matrix | 1 us (4.0) | 1 us (4.0) |" in whole
    assert "| panda | mass_matrix | 200 ns | 100 ns (0.50) | 1 us (5.0) | 1.5 |" in whole
    assert "A note." in whole
    assert "**4096 states in a call**" in whole
    assert "panda, one pair: coal took 1 us, we took 10 us." in whole
    assert "took 250 ms to 250 ms for the arms above, 300 ms for 7 joints and 8.5 s for 100 joints." in whole
    assert sorted(p.name for p in tmp_path.glob("*.svg")) == [f"{s}_times.svg" for s in ("batch", "chains", "dynamics")]


def test_what_no_run_is_given_for_stays(page):
    _, whole = page("dynamics")
    original = (ROOT / "docs" / "performance.md").read_text()

    def part(text: str, name: str) -> str:
        return text.split(f"<!-- bench {name} -->")[1].split("<!-- end of it -->")[0]

    for name in ("batch", "chains", "slower", "gpu"):
        assert part(whole, name) == part(original, name)
    assert "200 ns" in part(whole, "dynamics")
