"""Which results survive other gains: what is changed, one at a time, and how the table of it is made."""

from __future__ import annotations

import json

import pytest

from elbowroom.experiments.thesis import robustness
from elbowroom.experiments.thesis.checks import Check
from elbowroom.experiments.thesis.experiment import TESTS, experiments, read
from elbowroom.experiments.thesis.robustness import (
    GAINS,
    PART,
    RUNS,
    Results,
    Survival,
    changed,
    changes,
    scaled,
    value_at,
    vary,
)

KP = "controller.attraction.kp"
WEAK = "variants.weak_potential.controller.joint_limits.gain"


def test_the_value_at_a_place():
    table = {"a": {"b": {"c": 3}}, "d": 0.5}
    assert (value_at(table, "a.b.c"), value_at(table, "d")) == (3.0, 0.5)
    assert value_at(table, "a.x.c") is value_at(table, "d.e") is value_at(table, "x") is None


def test_a_table_of_one_number():
    assert changed("a.b.c", 2.5) == {"a": {"b": {"c": 2.5}}}
    assert changed("a", 2.5) == {"a": 2.5}
    for place in GAINS.values():
        assert value_at(changed(place, 0.7), place) == 0.7


def test_a_scaled_test_is_the_test_but_for_one_gain():
    own, other = experiments()[0], scaled(1, KP, 1.2)
    assert value_at(other.table, KP) == pytest.approx(1.2 * value_at(own.table, KP))
    assert read(own.file, changed(KP, value_at(own.table, KP))).table == own.table
    back = read(own.file, changed(KP, value_at(other.table, KP) / 1.2))
    assert back.scene("printed") == own.scene("printed")
    assert other.scene("printed").controller.attraction.kp == pytest.approx(1.2 * 4.7)
    assert other.scene("improved") == own.scene("improved")  # which has gains of its own
    assert (other.thesis, other.others, other.axis) == (own.thesis, own.others, own.axis)


def test_a_test_without_the_gain_is_as_it_is():
    assert scaled(1, WEAK, 1.2).table == experiments()[0].table
    seven = scaled(7, WEAK, 0.8)
    limits = {name: seven.scene(name).controller.joint_limits.gain for name in ("weak_potential", "strong_potential")}
    assert limits == pytest.approx({"weak_potential": 0.8e-7, "strong_potential": 1e-5})


def test_every_gain_is_one_of_a_test():
    for words, place in GAINS.items():
        there = [test for test in TESTS if value_at(experiments()[test - 1].table, place) is not None]
        assert there, words
        for test in there:
            given = value_at(experiments()[test - 1].table, place)
            assert scaled(test, place, 1.2).table != experiments()[test - 1].table
            assert given > 0


def test_every_run_is_a_variant_of_its_test():
    assert tuple(RUNS) == tuple(TESTS)
    for test, variants in RUNS.items():
        assert set(variants) <= set(experiments()[test - 1].variants)
        assert set(experiments()[test - 1].thesis) <= set(variants)  # those that have the thesis' numbers


def test_gains_go_up_and_down_one_at_a_time():
    first, *others = changes()
    assert (first[0], first[2]) == ("as they are", 1.0)
    assert len(others) == 2 * len(GAINS)
    assert {place for _, place, _ in others} == set(GAINS.values())
    assert {factor for _, _, factor in others} == {1 - PART, 1 + PART} == {0.8, 1.2}
    assert others[:2] == [("kp of the attraction -20 %", KP, 0.8), ("kp of the attraction +20 %", KP, 1.2)]
    assert len({words for words, _, _ in changes()}) == 1 + len(others)


@pytest.fixture
def one(monkeypatch):
    """One gain, and one test of a few seconds: joint 3 under the scaling factor."""
    monkeypatch.setattr(robustness, "GAINS", {"margin": "controller.joint_limits.margin"})
    monkeypatch.setattr(robustness, "TESTS", (7,))
    monkeypatch.setattr(robustness, "RUNS", {7: ("scaling",)})


def test_a_table_of_what_survives(one):
    told = []
    rows = vary(lambda *said: told.append(said))
    assert told == [(1, 3, "as they are"), (2, 3, "margin -20 %"), (3, 3, "margin +20 %")]
    (row,) = rows
    assert (row.test, row.text, row.as_is, row.of) == (7, "min joint3 deg", True, 2)
    assert row.holds + len(row.fails) == 2
    assert set(row.fails) <= {"margin -20 %", "margin +20 %"}


@pytest.mark.slow
def test_a_result_that_another_gain_takes_away(one, monkeypatch):
    """With a margin far from the one that was found the number is not met, and it says with which."""
    monkeypatch.setattr(robustness, "PART", 0.8)
    (row,) = vary()
    assert row.as_is
    assert row.fails
    assert row.holds == 2 - len(row.fails)


def test_a_result_that_is_not_there_does_not_survive(monkeypatch):
    def results(run, *each):
        return Results({(test, text): Check(test, text, "", "", met) for test, text, met in each}, {1: run})

    first = "a (kinematic)"
    found = {"as they are": results("0", (1, first, True), (None, "b", False))}
    found["x -20 %"] = results("1", (1, first, True))
    found["x +20 %"] = results("2", (None, "b", True))
    plan = [(words, KP, factor) for words, factor in (("as they are", 1.0), ("x -20 %", 0.8), ("x +20 %", 1.2))]
    monkeypatch.setattr(robustness, "changes", lambda: iter(plan))
    words = {factor: words for words, _, factor in plan}
    monkeypatch.setattr(robustness, "_results", lambda place, factor, told: found[words[factor]])
    first, last = vary()
    assert (first.test, first.text, first.as_is, first.holds, first.of) == (1, "a", True, 1, 2)
    assert first.fails == ("x +20 %",)
    assert (last.test, last.as_is, last.holds, last.fails) == (None, False, 1, ("x -20 %",))


def test_a_change_that_touches_nothing_is_not_counted(monkeypatch):
    """F's resistance says nothing about K: its runs are the same to the last digit."""
    checks = {(test, "a"): Check(test, "a", "", "", True) for test in (1, 2, 3, None)}
    found = iter([Results(checks, {1: "0", 2: "0", 3: "0"}), Results(checks, {1: "1", 2: "0", 3: "0"})])
    monkeypatch.setattr(robustness, "changes", lambda: iter([("as they are", KP, 1.0), ("x -20 %", KP, 0.8)]))
    monkeypatch.setattr(robustness, "_results", lambda place, factor, told: next(found))
    assert {row.test: (row.holds, row.of) for row in vary()} == {1: (1, 1), 2: (1, 1), 3: (0, 0), None: (1, 1)}


# ---- the command


@pytest.mark.parametrize(
    "option",
    [
        ["--plant", "rigid"],
        ["--robot", "panda"],
        ["--robot", "mine.urdf", "--tip", "tool0"],
        ["--motion", "take.csv"],
        ["--out", "folder"],
        ["--force"],
    ],
    ids=lambda option: option[0],
)
def test_vary_refuses_other_options(run, monkeypatch, tmp_path, option):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(robustness, "vary", lambda *_: pytest.fail("it ran"))
    status, out, err = run("experiment", "vary", *option)
    assert (status, out) == (2, "")
    assert "vary takes no option but --json: it runs puma560 on the kinematic plant" in " ".join(err.split())
    assert list(tmp_path.iterdir()) == []


def test_vary_as_a_person_and_as_a_program_see_it(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def found(told):
        told(1, 1, "as they are")
        return [Survival(7, "min joint3 deg", True, 1, 2, ("margin +20 %",)), Survival(None, "b", False, 2, 2, ())]

    monkeypatch.setattr(robustness, "vary", found)
    status, out, _ = run("experiment", "vary")
    assert status == 0
    assert "every gain is 20 % more or less, one at a time" in " ".join(out.split())
    words = " ".join(out.split())
    assert "7 min joint3 deg yes 1 of 2 margin +20 %" in words
    assert "b no 2 of 2" in words
    status, out, _ = run("experiment", "vary", "--json")
    assert status == 0
    row, _ = json.loads(out)
    assert set(row) == {"test", "text", "as_is", "holds", "of", "fails"}
    assert list(row.values()) == [7, "min joint3 deg", True, 1, 2, ["margin +20 %"]]
    assert list(tmp_path.iterdir()) == []  # nothing is written


def test_an_interrupted_vary_says_that_nothing_is_written(run, monkeypatch):
    def interrupted(told):
        raise KeyboardInterrupt

    monkeypatch.setattr(robustness, "vary", interrupted)
    status, out, err = run("experiment", "vary")
    assert (status, out) == (130, "")
    assert "interrupted: nothing is written" in err
