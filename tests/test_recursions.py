"""Table 2 of document 003 recursion by recursion: ours add up, and stand beside the printed lines."""

from __future__ import annotations

import json

import pytest

from elbowroom import counting
from elbowroom.algebra import trace
from elbowroom.algebra.parts import listening, part
from elbowroom.counting import recursions
from elbowroom.dynamics import diagonalized
from elbowroom.dynamics.published import TABLE_2, published
from elbowroom.model.symbolic import CONDITIONS, symbolic

KINDS = ("mul", "add", "div", "sqrt", "sincos")
both = pytest.mark.parametrize("form", recursions.FORMS)
conditions = pytest.mark.parametrize("condition", CONDITIONS)


@both
@conditions
@pytest.mark.parametrize("n", [1, 3, 6])
def test_the_parts_are_the_whole(form, condition, n):
    def whole(model, q, nu, tau):
        return diagonalized.quasi_acceleration(model, q, nu, tau, normalized=form == "normalized")

    count = trace(whole, symbolic("R" * n, condition), dict.fromkeys(("q", "nu", "tau"), (n,))).count
    parts = recursions.by_part(n, condition, form)
    for kind in KINDS:
        assert sum(getattr(each, kind) for each in parts.values()) == getattr(count, kind), kind


@both
@conditions
def test_the_lines_add_up_and_stay_below_the_printed_ones(form, condition):
    rows = recursions.table_2(form, condition)
    assert [row.name for row in rows] == [line.name for line in TABLE_2 if line.part in ("common", form)]
    figure = published("forward_dynamics", recursions.FORMS[form], condition)[0]
    mul, add = recursions.whole(form, condition)
    for n in (4, 6, 12):
        ours = [(row.mul(n), row.add(n)) for row in rows if row.mul is not None]
        assert sum(m for m, _ in ours) == mul(n)
        assert sum(a for _, a in ours) == add(n)
        assert mul(n) < figure.mul(n)
        assert add(n) < figure.add(n)
        assert sum(row.published_mul(n) for row in rows) == figure.mul(n)
    for name in ("P", "λ", "b", "y"):  # the long ones: each is below the paper's
        row = next(row for row in rows if row.name == name)
        assert row.mul(6) < row.published_mul(6), name


def test_lines_that_ours_does_not_have_say_why():
    for form in recursions.FORMS:
        for row in recursions.table_2(form):
            assert (row.mul is None) == bool(row.within)
    assert [row.within for row in recursions.table_2("normalized") if row.name == "ψ"] == ["not formed"]


def test_a_part_is_heard_only_where_somebody_listens():
    heard: list[str] = []
    part("nobody")
    with listening(heard.append):
        part("P")
    part("nobody")
    assert heard == ["P"]


def test_going_on_to_joint_accelerations_costs_more():
    for form, method in recursions.FORMS.items():
        assert counting.cost("forward_dynamics", method).at(6).mul > recursions.whole(form)[0](6) - 6  # divisions


def test_the_command_prints_theirs_and_ours(run):
    status, out, _ = run("count", "--recursions", "--condition", "general")
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["P", "101N", "-", "108", "76N", "-", "130", "94N", "-", "105", "93N", "-", "168"] in lines
    assert next(words for words in lines if words[:1] == ["ψ"]).count("formed") == 2
    data = json.loads(run("count", "--recursions", "--json")[1])
    assert len(data) == 2 * 2 * 15
    assert {row["condition"] for row in data} == set(CONDITIONS)
    assert next(row for row in data if row["name"] == "P")["published_mul"] == "101n - 108"
    status, _, said = run("count", "panda", "--recursions")
    assert status == 2
    assert "leave the arm, --n and --quantity out" in " ".join(said.split())
