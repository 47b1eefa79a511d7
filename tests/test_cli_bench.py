"""`elbowroom bench` as a person, a pipe and a script see it; what is measured is in tests/bench."""

from __future__ import annotations

import json
import math
import sys
from typing import NamedTuple

import numpy as np
import pytest

import elbowroom as er
from elbowroom.bench import avoidance as cycles
from elbowroom.bench import distance as distances
from elbowroom.bench import dynamics as suite
from elbowroom.bench import gpu
from elbowroom.bench.gpu import CardReport, CardRow
from elbowroom.bench.timing import ROBOTS, FirstCall, Report, Row
from elbowroom.errors import pip_install

BENCH = "elbowroom.bench.dynamics"


def is_one_line(message: str) -> bool:
    return message.startswith("error: ") and message.count("\n") == 1 and message.endswith("\n")


def cells(out: str, first: str) -> list[str]:
    """The words of the first line that starts with this one."""
    return next(words for line in out.splitlines() if (words := line.split()) and words[0] == first)


class Asked(NamedTuple):
    """What the benchmark was asked for."""

    robots: list[list[str]]


@pytest.fixture
def measured(monkeypatch) -> Asked:
    """A benchmark that measures nothing, in the place of the real one."""
    asked = Asked([])

    def row(quantity, who, seconds, ratio):
        return Row("dynamics", "[red]arm", 7, quantity, who, "1.2", seconds, seconds, 1.5 * seconds, ratio)

    def run(robots, *, progress):
        asked.robots.append(robots)
        progress("[bold]arm[/]: mass_matrix")
        rows = [
            row("mass_matrix", "elbowroom", 4e-7, 1.0),
            row("mass_matrix", "elbowroom, out=", 2e-7, 0.5),
            row("mass_matrix", "Pinocchio", 1.3e-6, 3.25),
            row("mass_matrix_rate", "elbowroom", math.nan, 1.0),
        ]
        calls = [FirstCall("[red]arm", 7, "mass_matrix", 0.25)]
        return Report(rows, ["MuJoCo", "frax"], "a CPU", 3, first_calls=calls, notes=["a [red]note."], load=5.0)

    monkeypatch.setattr(suite, "one_state", run)
    return asked


def test_bench_passes_the_robots_on(run, measured):
    assert run("bench", "dynamics", "--robot", "scara", "--robot", "ur5e")[0] == 0
    assert run("bench", "dynamics")[0] == 0
    assert measured.robots == [["scara", "ur5e"], list(ROBOTS)]


def test_bench_prints_times_and_ratios(run, measured):
    status, out, err = run("bench", "dynamics")
    assert (status, err) == (0, "")
    assert "elbowroom 1.2, Pinocchio 1.2; a CPU, 3 cores" in out
    told = cells(out, "[red]arm")
    assert told == ["[red]arm", "mass_matrix", "400", "ns", "200", "ns", "(0.50)", "1.3", "us", "(3.2)", "1.5"]
    assert "nan" in out
    assert "[red]arm 250 ms" in out
    assert "a [red]note." in out
    assert "busy: 5.0 processes on 3 cores" in out
    assert "Not installed here: MuJoCo, frax." in out
    assert ".[bench]" in out
    assert "pip install frax." in out


@pytest.fixture
def measured_sizes(monkeypatch) -> list[dict]:
    """Batches and chains that were not measured; the list says with what they were asked for."""
    asked: list[dict] = []

    def rows(bench, robot, n, states):
        return [
            Row(bench, robot, n, quantity, who, "1.2", seconds, seconds, 2 * seconds, seconds / 1e-7, states)
            for quantity in ("mass_matrix", "inverse_dynamics")
            for who, seconds in (("elbowroom", 1e-7), ("elbowroom, 2 threads", 6e-8), ("Pinocchio", 2e-6), ("x", 1e-5))
        ]

    def batch(robots, *, progress, **options):
        asked.append({"robots": robots} | options)
        sizes = [options["states"]] if options else [256, 4096]
        return Report([row for name in robots for size in sizes for row in rows("batch", name, 7, size)], [], "a CPU")

    def chain(*, progress, **options):
        asked.append(options)
        return Report([row for n in (6, 20) for row in rows("chains", f"random{n}", n, 1)], [], "a CPU", 1, load=1.0)

    monkeypatch.setattr(suite, "batches", batch)
    monkeypatch.setattr(suite, "long_chains", chain)
    return asked


def test_bench_batch_has_a_table_a_size(run, measured_sizes):
    status, out, err = run("bench", "batch", "--robot", "panda")
    assert (status, err) == (0, "")
    first, second = out.split("4096 states a call")
    assert "256 states a call" in first
    for part in (first, second):
        assert " ".join(cells(part, "panda")) == "panda mass_matrix 100 ns 60 ns (0.60) 2 us (20.0) 10 us (100) 2.0"
    assert run("bench", "batch", "--states", "32", "--rounds", "4")[0] == 0
    assert measured_sizes == [{"robots": ["panda"]}, {"robots": list(ROBOTS), "states": 32, "rounds": 4}]


def test_bench_chains_has_a_line_a_length(run, measured_sizes):
    status, out, err = run("bench", "chains", "--joints", "6", "--joints", "20")
    assert (status, err) == (0, "")
    assert measured_sizes == [{"joints": [6, 20]}]
    assert cells(out, "random20")[:2] == ["random20", "mass_matrix"]
    assert "a CPU, 1 core\n" in out
    assert "busy" not in out


def test_bench_says_what_is_wrong_with_a_name(run):
    status, out, err = run("bench", "dynamics", "--robot", "pandda")
    assert (status, out) == (1, "")
    assert is_one_line(err)
    assert "did you mean panda" in err


def test_json_is_alone_on_stdout(run, measured, tmp_path):
    status, out, err = run("bench", "dynamics", "--json", "-")
    assert (status, err) == (0, "")
    data = json.loads(out)
    assert data["elbowroom"] == er.__version__
    assert data["missing"] == ["MuJoCo", "frax"]
    assert data["cores"] == 3
    assert [r["ratio_to_us"] for r in data["rows"]] == [1.0, 0.5, 3.25, 1.0]
    path = tmp_path / "result.json"
    status, out, err = run("bench", "dynamics", "--json", path)
    assert (status, err) == (0, "")
    assert " ".join(out.split()) == f"Written: {path}"
    assert json.loads(path.read_text())["cpu"] == "a CPU"


def test_json_that_cannot_be_written_is_one_line(run, measured, tmp_path):
    status, out, err = run("bench", "dynamics", "--json", tmp_path / "no" / "such" / "folder.json")
    assert (status, out) == (1, "")
    assert is_one_line(err)


def test_a_benchmark_that_is_missing_is_one_line(run, monkeypatch):
    monkeypatch.setitem(sys.modules, BENCH, None)
    status, out, err = run("bench", "dynamics")
    assert (status, out) == (1, "")
    assert is_one_line(err)
    assert "not part of this installation" in err


def test_a_peer_that_is_missing_names_the_extra(run, monkeypatch):
    def find(name):
        raise ModuleNotFoundError("No module named 'pinocchio'", name="pinocchio")

    monkeypatch.setattr("importlib.import_module", find)
    status, _, err = run("bench", "dynamics")
    assert status == 1
    assert is_one_line(err)
    assert f"needs pinocchio: {pip_install('bench')}" in err


@pytest.fixture
def measured_distances(monkeypatch):
    """A report of distances that were not measured."""

    def run(*, progress):
        progress("[bold]all pairs")
        rows = [
            Row("distance", "arm", 7, "all pairs", who, "1.2", seconds, seconds, 1.5 * seconds, ratio)
            for who, seconds, ratio in (("elbowroom", 2e-6, 1.0), ("coal", 1e-4, 50.0))
        ]
        return Report(rows, ["Pinocchio"], "a CPU")

    monkeypatch.setattr(distances, "run", run)


@pytest.fixture
def measured_cycles(monkeypatch) -> list[dict]:
    """A report of cycles that were not measured; the list says with what it was asked for."""
    asked: list[dict] = []

    def row(quantity, who, median, ratio, says):
        times = (median, 2 * median, 3 * median, 1e-7, 2e-7, 3e-7, median, 4 * median, 5 * median)
        return cycles.CycleRow(
            "avoidance", "arm", 7, quantity, who, "1.2", median, median, median, ratio, 1000, *times, says
        )

    def run(*, progress, **options):
        asked.append(options)
        progress("turn 1")
        rows = [
            row("K, supervised", "elbowroom", 1e-5, 1.0, "supervised: it"),
            row("F, supervised", "elbowroom", 2e-5, 2.0, "supervised: it"),
            row("QP", "mink", 4e-4, 40.0, "[red]within"),
        ]
        taken = np.arange(1.0, 1000.0)
        curves = {name: cycles.curve(taken) for name in ("empty", "busy", "elbowroom: K, supervised", "mink: QP")}
        beyond = {"elbowroom: K, supervised": [1.0, 0.997, 0.25, 0.0012, 0.0, 0.0], "empty": [0.0] * 6}
        statuses = {"AVOIDING": 998, "OK": 2}
        return cycles.CycleReport(rows, ["Pink"], "a CPU", 1000, 8, 13, 114, statuses, beyond, curves=curves)

    monkeypatch.setattr(cycles, "run", run)
    return asked


def test_bench_distance_stands_beside_coal(run, measured_distances):
    status, out, err = run("bench", "distance")
    assert (status, err) == (0, "")
    assert cells(out, "arm") == ["arm", "all", "pairs", "2", "us", "100", "us", "(50.0)", "1.5"]
    assert "Not installed here: Pinocchio" in out


def test_bench_avoidance_shows_tails_and_floor(run, measured_cycles):
    status, out, err = run("bench", "avoidance", "--cycles", "5000")
    assert (status, err) == (0, "")
    assert measured_cycles == [{"cycles": 5000}]
    _, tails = out.split("One cycle")
    assert cells(tails, "elbowroom")[-7:] == ["10", "us", "20", "us", "30", "us", "1.00"]
    assert cells(tails, "mink")[-7:] == ["400", "us", "800", "us", "1.2", "ms", "40.00"]
    assert cells(out, "the")[-6:] == ["100", "ns", "200", "ns", "300", "ns"]
    assert cells(out, "a")[-6:] == ["10", "us", "40", "us", "50", "us"]
    assert "8 capsules, a person of 13, 114 pairs" in out
    _, longer = out.split("took longer than")
    assert " ".join(cells(longer, "elbowroom")) == "elbowroom K, supervised all > 99 % 25 % 0.12 % - -"
    assert " ".join(cells(longer, "the")) == "the clock alone - - - - - -"
    assert "158 ms" in out
    assert "AVOIDING 998" in out
    assert "stood still" not in out
    assert "quadratic program" in out
    assert "Not installed here: Pink" in out
    assert out.count("elbowroom, supervised: it.") == 1  # what is said of several is said once
    assert "mink, [red]within." in out


def test_bench_avoidance_says_if_the_arm_stood_still(run, measured_cycles, monkeypatch):
    report = cycles.run(progress=lambda text: None)
    report.statuses["STOP_OVERRUN"] = 7
    monkeypatch.setattr(cycles, "run", lambda **_: report)
    assert "stood still in 7" in run("bench", "avoidance")[1]


def test_bench_avoidance_as_json(run, measured_cycles):
    status, out, err = run("bench", "avoidance", "--json", "-")
    assert (status, err) == (0, "")
    assert measured_cycles == [{}]
    data = json.loads(out)
    wanted = {"median_s": 1e-5, "p999_s": 2e-5, "max_s": 3e-5, "floor_p999_s": 2e-7, "seconds_per_state": 1e-5}
    assert {key: data["rows"][0][key] for key in wanted} == pytest.approx(wanted)
    assert data["person_capsules"] == 13
    assert data["missing"] == ["Pink"]
    assert data["beyond"]["empty"] == [0.0] * len(data["thresholds_s"])
    assert "curves" not in data


@pytest.fixture
def measured_pages(monkeypatch):
    """Lateness that was not measured."""
    load = pytest.importorskip("elbowroom.viewer.session.page_benchmark")
    late = {"cycles": 100, "median": 1e-5, "p99": 1e-4, "p999": 2e-4, "worst": 1e-3, "overruns": 0}
    rows = [load.LoadRow(pages=pages, bytes_a_second=1e4, **late) for pages in (-1, 0, 5)]
    monkeypatch.setattr(load, "run", lambda *, progress: load.LoadReport(rows, "a CPU", 0.01))


@pytest.fixture
def measured_card(monkeypatch):
    """Batches on a card that were not measured."""
    rows = [
        CardRow(
            "gpu",
            robot,
            7,
            "mass_matrix",
            who,
            "1.2",
            seconds,
            seconds,
            seconds,
            seconds / 1e-11,
            1 << 20,
            dtype="float32",
            of_copy=0.9,
            of_arithmetic=0.25,
            steps_per_state=steps,
        )
        for robot in ("a", "b", "c")
        for who, seconds, steps in (("elbowroom", 1e-11, 9), ("elbowroom, columns", 5e-12, 9), ("frax", 8e-9, 0))
    ]
    report = CardReport(
        rows, ["CuPy"], "a CPU", 16, card="a card", copy_bytes_per_second=4e12, fused_per_second={"float32": 3e13}
    )
    monkeypatch.setattr(gpu, "run", lambda robots, *, progress, **options: report)


def test_bench_gpu_shows_how_close_it_comes(run, measured_card):
    status, out, err = run("bench", "gpu")
    assert (status, err) == (0, "")
    assert "a card" in out
    assert "The card copies 4.00 TB/s, read and written; multiply-adds: 30.0 T/s in float32." in out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "a mass_matrix rows 1048576 10.0 ps (1.0) 100 90 % 25 % 1.00" in lines
    assert "a mass_matrix columns 1048576 5.0 ps (0.50) 200 90 % 25 % 1.00" in lines
    assert "a mass_matrix frax 1048576 8000.0 ps (800) 0.125 1.00" in lines
    assert "Results: the CPU's, to the last bit." in out
    assert "CuPy: pip install cupy-cuda13x." in out


def test_bench_gpu_without_a_card_says_so_in_a_line(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    status, out, err = run("bench", "gpu")
    assert (status, out) == (1, "")
    assert is_one_line(err)
    assert f"device 'cuda' needs CuPy ({pip_install('gpu')})" in err


SUITES = ("dynamics", "batch", "chains", "distance", "avoidance", "gpu", "page")


@pytest.mark.parametrize(
    "suite_name, kind, head",
    [*((name, "png", b"\x89PNG") for name in SUITES), ("dynamics", "svg", b"<?xml"), ("chains", "pdf", b"%PDF")],
)
@pytest.mark.usefixtures("measured", "measured_sizes", "measured_distances", "measured_cycles", "measured_card")
def test_bench_draws(run, measured_pages, tmp_path, suite_name, kind, head):
    path = tmp_path / f"picture.{kind}"
    one = ["--robot", "panda"] if suite_name == "batch" else []  # each has panels of its own
    status, out, err = run("bench", suite_name, *one, "--plot", path)
    assert (status, err) == (0, "")
    assert out  # the table too
    assert path.read_bytes().startswith(head)


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("dynamics", "--joints", "6"), "--joints does not go with dynamics"),
        (("chains", "--states", "6"), "--states does not go with chains"),
        (("avoidance", "--rounds", "6"), "--rounds does not go with avoidance"),
        (("dynamics", "--cycles", "5000"), "--cycles does not go with dynamics"),
        (("distance", "--cycles", "5000"), "--cycles does not go with distance"),
        (("avoidance", "--robot", "ur5e"), "--robot does not go with avoidance"),
        (("avoidance", "--plot", "x.doc"), "must end with .png, .svg, .pdf"),
        (("avoidance", "--cycles", "10"), "--cycles"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, measured, measured_distances, measured_cycles, arguments, text):
    status, out, err = run("bench", *arguments)
    assert (status, out) == (2, "")
    assert text in err
    assert not measured_cycles


def test_a_plot_without_a_folder_is_refused_before_anything_is_measured(run, measured_cycles, tmp_path):
    status, out, err = run("bench", "avoidance", "--plot", tmp_path / "no" / "such.png")
    assert (status, out) == (1, "")
    assert is_one_line(err)
    assert not measured_cycles
