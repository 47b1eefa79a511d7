"""Counts of the registry's methods: polynomials, the three ways of counting, rows, the command, and the docs' table."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
from pathlib import Path

import pytest
import typer

import elbowroom as er
from elbowroom import counting, dynamics
from elbowroom.algebra import cross, trace
from elbowroom.cli import count as command
from elbowroom.cli.show import show_structure
from elbowroom.counting import compare, markdown
from elbowroom.counting.compare import comparable, tensor_rotations, verdict
from elbowroom.dynamics.published import PUBLISHED, published
from elbowroom.dynamics.structure import EntryKind, structure
from elbowroom.model import catalogue
from marks import slow_where
from referees import thinned

ROOT = Path(__file__).parent.parent
KEYS = [
    *("quantity", "method", "condition", "kinematics", "n", "mul", "add", "div", "sqrt", "sincos"),
    *("published_mul", "published_add", "published_total", "published_in", "counting"),
]
DEAR = {
    *((quantity, "lagrange_euler") for quantity in ("coriolis_matrix", "coriolis_torque", "christoffel")),
    *(("inverse_dynamics", "lagrange_euler"), ("coriolis_matrix", "rnea_columns"), ("coriolis_transpose_qd", "gda")),
}
CHEAP = [each for each in compare.counted() if each not in DEAR]  # nothing is traced to collect tests


def run(*arguments: str) -> tuple[int, str, str]:
    """The command by itself, whether or not it is registered yet: (exit status, stdout, stderr)."""
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(command.count)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
        app(args=list(arguments), prog_name="count")
    return stopped.value.code or 0, out.getvalue(), err.getvalue()


def test_the_methods_of_these_tests_are_those_that_take_no_time():
    assert markdown.cheap() == CHEAP


# ---- what an operation is


def test_a_cross_product_takes_six_multiplications_and_three_additions():
    count = trace(lambda _, a, b: cross(a, b), None, {"a": (3,), "b": (3,)}).count
    assert (count.mul, count.add) == (6, 3)


def test_the_three_ways_to_turn_a_tensor_cost_what_the_thesis_says():
    found = tensor_rotations()
    for p in PUBLISHED:
        if p.quantity == "tensor_rotation":
            assert (found[p.method].mul, found[p.method].add) == (p.mul(1), p.add(1)), p.method


def test_an_equal_expression_counts_once_when_shared_and_twice_as_written():
    def twice(_, a, b):
        return [a * b + 1.0, a * b + 2.0]

    shared, written = (trace(twice, None, {"a": (), "b": ()}, share=share).count for share in (True, False))
    assert (shared.mul, shared.add) == (1, 2)
    assert (written.mul, written.add) == (2, 2)


@pytest.mark.parametrize("quantity, method", CHEAP)
def test_sharing_never_costs(quantity, method):
    """Two programs of one text: the shared one is the other with equal operations merged."""
    shared, written = (compare.general(quantity, method, 5, "general", True, way) for way in ("shared", "as_written"))
    assert shared.mul <= written.mul
    assert shared.add <= written.add


# ---- polynomials


@pytest.mark.parametrize("quantity, method", CHEAP)
@pytest.mark.parametrize(
    "condition", slow_where(lambda condition: condition == "orthogonal", ["general", "orthogonal"])
)
def test_counts_are_exact_polynomials(quantity, method, condition):
    """Fitted to small n, met at two further ones by `cost` itself, and here at one more that it never saw."""
    one = counting.cost(quantity, method, condition)
    assert one.since is not None
    assert one.since <= 6
    further = one.since + max(p.degree for p in one.polynomials.values()) + 3
    traced = compare.general(quantity, method, further, condition, True, "shared")
    assert all(one.polynomials[kind](further) == getattr(traced, kind) for kind in compare.KINDS)
    assert one.at(further).total == traced.total


def test_small_arms_are_traced():
    one = counting.cost("forward_dynamics", "crba")
    assert one.since is not None
    assert one.since > 1
    assert one.at(1) == compare.general("forward_dynamics", "crba", 1, "general", True, "shared")
    assert one.at(30).total > one.at(7).total > one.at(1).total


def test_kinematics_apart_costs_less_where_link_frames_are_asked_for():
    assert counting.needs_frames("mass_matrix", "gdahj")
    apart, included = (counting.cost("mass_matrix", "gdahj", kinematics=k) for k in (False, True))
    assert apart.at(7).total < included.at(7).total
    assert apart.at(7).sincos == 0
    assert not counting.needs_frames("mass_matrix", "crba")
    assert counting.cost("mass_matrix", "crba", kinematics=False).at(7) == counting.cost("mass_matrix", "crba").at(7)


def test_unknown_names():
    with pytest.raises(er.UnknownNameError, match="as_written, shared; got 'customised'"):
        counting.cost("mass_matrix", "crba", counting="customised")
    with pytest.raises(er.UnknownNameError, match="general, orthogonal; got 'planar'"):
        counting.cost("mass_matrix", "crba", "planar")
    with pytest.raises(er.UnknownNameError, match="method of mass_matrix"):
        counting.cost("mass_matrix", "nosuch")


# ---- beside the papers


def test_a_row_takes_the_lower_of_two_printed_figures():
    rows = list(counting.general_rows([7], ["general"], "mass_matrix", ["shared"]))
    row = next(r for r in rows if r.method == "gda" and not r.kinematics)
    assert (row.published_mul, row.published_add, row.published_total) == (931, 781, 1712)
    assert row.published_in == "001 Table 2.2"
    assert row.difference == row.total - 1712
    crba = [r for r in rows if r.method == "crba"]
    assert [r.kinematics for r in crba] == [False, True]
    assert {r.published_in for r in crba} == {"000 Table 1, 001 Table 2.2, 002 Table I"}
    assert next(r for r in rows if r.method == "gda" and r.kinematics).published_total is None


def test_a_printed_figure_that_cannot_be_right_stays_the_published_one():
    row = next(counting.general_rows([7], ["general"], "centrifugal_matrix", ["shared"]))
    assert (row.method, row.published_mul, row.published_add) == ("gda", 1141, 935)
    assert counting.strictest(comparable("centrifugal_matrix", "gda", kinematics=False), 7).printed


def test_half_operations_stay_half():
    p = published("forward_dynamics", "walker_orin_4")[0]
    assert p.total(7) == 7910.5


def test_the_verdict_says_where_a_count_is_above():
    one, figure = counting.cost("mass_matrix", "crba"), published("mass_matrix", "crba")[0]
    assert verdict(one, figure).startswith("below (-")
    dearer = dataclasses.replace(one, polynomials=one.polynomials | {"mul": figure.mul, "add": figure.total})
    assert verdict(dearer, figure).startswith("above (+")
    equal = dataclasses.replace(one, polynomials=one.polynomials | {"mul": figure.mul, "add": figure.add})
    assert verdict(equal, figure) == "equal (0 at n = 7, 0 at n = 30)"


def test_customised_rows_are_the_arms_own_programs():
    arm = er.load("ur5e")
    rows = list(counting.customised_rows(arm.model, "inverse_dynamics"))
    row = next(r for r in rows if r.method == "rnea")
    count = dynamics.program(arm.model, "inverse_dynamics", "rnea").count
    assert (row.mul, row.add, row.sincos) == (count.mul, count.add, count.sincos)
    assert (row.condition, row.counting, row.n) == ("ur5e", "customised", 6)


@pytest.mark.parametrize("name", ["panda", "scara"])
def test_customised_rows_include_kinematics_and_have_no_published_figure(name):
    """One row a method; the papers' figures are of general chains."""
    rows = list(counting.customised_rows(er.load(name).model, "mass_matrix"))
    assert [(r.quantity, r.method) for r in rows] == list(counting.counted("mass_matrix"))
    assert all(r.kinematics for r in rows)
    figures = {(r.published_mul, r.published_add, r.published_total, r.published_in, r.difference) for r in rows}
    assert figures == {(None,) * 5}


# ---- the command


def test_json_rows_have_exactly_these_keys():
    status, out, err = run("--quantity", "mass_matrix", "--n", "3,7", "--json")
    rows = json.loads(out)
    assert (status, err) == (0, "")
    assert all(list(row) == KEYS for row in rows)
    methods = dynamics.quantity("mass_matrix").formulations
    assert len(rows) == 2 * len(methods) * 2 * 2 * 2  # conditions, methods, kinematics, countings, n
    assert {row["counting"] for row in rows} == {"as_written", "shared"}
    assert {row["n"] for row in rows} == {3, 7}
    assert all(type(row["kinematics"]) is bool for row in rows)
    crba = next(r for r in rows if (r["method"], r["n"], r["condition"]) == ("crba", 7, "general"))
    assert crba["published_total"] == 1122


def test_json_of_an_arm():
    status, out, err = run("panda", "--quantity", "mass_matrix", "--json")
    rows = json.loads(out)
    assert (status, err) == (0, "")
    assert all(list(row) == KEYS for row in rows)
    assert {(row["condition"], row["counting"], row["n"]) for row in rows} == {("panda", "customised", 7)}
    assert {row["kinematics"] for row in rows} == {True}
    assert {row[key] for row in rows for key in KEYS if key.startswith("published")} == {None}


def test_tables_name_the_ways_of_counting_and_the_papers():
    status, out, err = run("--quantity", "mass_matrix", "--condition", "general", "--n", "7")
    assert (status, err) == (0, "")
    for word in ("as_written", "shared", "customised", "published", "612 + 510 = 1122", "10n² + 22n - 32", "002 TI"):
        assert word in out
    one = counting.cost("mass_matrix", "gdahj", kinematics=False)
    assert str(one.polynomials["mul"]) in out
    assert str(one.at(7).mul) in out


def test_the_table_of_an_arm():
    status, out, err = run("puma560", "--quantity", "forward_dynamics")
    assert (status, err) == (0, "")
    assert "customised" in out
    assert all(method in out for method in dynamics.quantity("forward_dynamics").formulations)
    assert "Kinematics included" in out
    head = next(line for line in out.splitlines() if "quantity" in line)
    assert head.split() == ["quantity", "method", "mul", "add", "div", "root", "sin,", "cos", "in", "all"]
    count = dynamics.program(er.load("puma560").model, "forward_dynamics", "aba").count
    assert f"{count.mul + count.add + count.div}" in next(line for line in out.splitlines() if " aba " in line)


@pytest.mark.parametrize(
    "arguments",
    [("--n", "0"), ("--n", "7,x"), ("--n", ""), ("--n", "100000"), ("panda", "--n", "7"), ("--condition", "x")],
)
def test_a_call_that_is_not_understood_has_status_2(arguments):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert "Error" in err


def test_an_unknown_quantity_is_an_error():
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(command.count)
    with pytest.raises(er.UnknownNameError, match="no quantity"):
        app(args=["--quantity", "mass"], prog_name="count")


# ---- the structure of an arm


def test_the_structure_of_a_scara():
    """Two parallel turns, a slide along them: gravity and the slide stand apart from the rest."""
    found = structure(er.load("scara").model)
    inertia, velocity = found.vanishing()
    assert inertia == [(1, 3), (2, 3), (3, 4)]
    assert found.inertia[2, 2] == EntryKind.CONSTANT
    assert not [h for h in found.vanishing(EntryKind.VARIES)[1] if 3 in h]
    assert (1, 1, 3) in velocity


def test_the_structure_of_two_rods():
    found = structure(er.load("planar2").model)
    assert found.vanishing() == ([], [(1, 1, 1), (2, 1, 2), (2, 2, 2)])
    assert found.vanishing(EntryKind.ROUNDING) == ([], [])
    assert found.inertia.tolist() == [[EntryKind.VARIES, EntryKind.VARIES], [EntryKind.VARIES, EntryKind.CONSTANT]]


@pytest.mark.parametrize("name", thinned(catalogue.names()))
def test_what_must_vanish_does_and_what_does_not_is_not_said_to(name):
    """h_iki = 0 for k <= i (004: h_iii = 0), h_ikm = h_imk; and every claim holds at poses of our own."""
    import numpy as np

    arm = er.load(name)
    found = structure(arm.model)
    n = arm.n
    assert all(found.velocity[i, k, i] == EntryKind.ZERO for i in range(n) for k in range(i + 1))
    assert np.array_equal(found.velocity, found.velocity.swapaxes(1, 2))
    q = np.random.default_rng(7).uniform(-2, 2, (20, n))
    for values, entries in ((arm.mass_matrix(q), found.inertia), (arm.christoffel(q), found.velocity)):
        largest = np.abs(values).max(axis=0)
        scale = largest.max()
        assert (largest[entries <= EntryKind.ROUNDING] < 1e-12 * scale).all()  # some hundred roundings of 1e-16
        assert (largest[entries >= EntryKind.CONSTANT] > 1e-12 * scale).all()
        constant = values[:, entries == EntryKind.CONSTANT]
        assert np.ptp(constant, axis=0).max(initial=0.0) < 1e-15 * scale


def test_the_structure_is_shown(capsys):
    show_structure(er.load("puma560").model)
    out = capsys.readouterr().out
    assert "D45 D56" in out
    assert "h213" in out
    assert "Vanish identically: 2 of D" in out


# ---- docs


@pytest.mark.slow
def test_the_docs_have_the_counts_of_the_code():
    """docs/counting.md, for the cheap methods; `python -m elbowroom.counting.markdown docs/counting.md` renews it."""
    page = (ROOT / "docs/counting.md").read_text(encoding="utf-8")
    generated = page.split(markdown.BEGIN)[1].split(markdown.END)[0].splitlines()
    for quantity, method in CHEAP:
        for line in markdown.lines(quantity, method):
            assert line in generated, "run: python -m elbowroom.counting.markdown docs/counting.md"


def test_the_docs_are_renewed_between_their_marks(tmp_path, monkeypatch):
    monkeypatch.setattr(markdown, "counted", lambda: [("mass_matrix", "crba")])
    page = tmp_path / "counting.md"
    page.write_text(f"before\n{markdown.BEGIN}\nold\n{markdown.END}\nafter\n", encoding="utf-8")
    markdown.write(page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "| mass_matrix | crba | general | its own |" in text
    assert "10n² + 22n - 32 | 6n² + 37n - 43" in text
