"""`elbowroom bench rollouts`: what it compares, and that it says whether the numbers are the same."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import card
from card import needs_cxx
from elbowroom.bench.encounters import on_card, rollouts
from elbowroom.cli import app
from elbowroom.compile.schedules import card as card_schedule


@pytest.fixture
def small(monkeypatch):
    """Two encounters of a fifth of a second."""
    monkeypatch.setattr(rollouts, "RUNS", (2, 1))
    monkeypatch.setattr(rollouts, "WHOLE", 2)
    monkeypatch.setattr(rollouts, "ALONE", 2)
    monkeypatch.setattr(rollouts, "DURATION", 0.2)


def test_one_by_one_and_side_by_side(small):
    result = CliRunner().invoke(app, ["bench", "rollouts", "--runs", "1", "--json", "-"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert {row["what"] for row in report["rows"]} == {"one by one", "in lanes", "with all"}
    assert {row["precision"] for row in report["rows"]} == {"float64", "float32"}
    assert all(row["rate"] > 0.0 < row["core_rate"] for row in report["rows"])
    assert report["same"] == report["compared"] > 0


@needs_cxx
def test_closed_loops_on_a_card(small, monkeypatch):
    """Where there is a card: the same numbers as in lanes, in both precisions.  Here it is the C++ compiler."""
    for module in (rollouts, on_card, card_schedule):
        monkeypatch.setattr(module, "library", lambda: card.cupy)
    monkeypatch.setattr(rollouts, "ON_CARD", 32)  # that many runs at once at most
    result = CliRunner().invoke(app, ["bench", "rollouts", "--robot", "planar2", "--runs", "1", "--json", "-"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    there = {row["precision"]: row for row in report["rows"] if row["what"] == "on a card"}
    assert {name: row["encounters"] for name, row in there.items()} == {"float64": 32, "float32": 32}
    assert report["same"] == report["compared"] == 8


def test_the_table(small):
    result = CliRunner().invoke(app, ["bench", "rollouts", "--runs", "1"])
    assert "in lanes" in result.stdout
    assert "had the same numbers to the bit" in result.stdout


def test_numbers_that_differ_are_counted(small, monkeypatch):
    alone = rollouts.run_alone

    def other(*args):
        track = alone(*args)
        track.asked[-1] += 1e-12
        return track

    monkeypatch.setattr(rollouts, "run_alone", other)
    report = rollouts.run(["panda"], runs=1)
    assert report.same == report.compared / 2 > 0  # those of single precision are compared with others
