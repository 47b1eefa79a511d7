"""The papers' tables and curves: what is in them, and that they are written."""

from __future__ import annotations

import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import elbowroom as er
from elbowroom import counting
from elbowroom.counting.compare import crossover
from elbowroom.dynamics import crba
from elbowroom.dynamics.published import EXECUTION_TIMES
from elbowroom.experiments import paper_curves, papers
from elbowroom.model import chains, from_mdh

TIMINGS = {("mass_matrix", "crba"): (5e-4, 4e-7)}


def test_the_metric_is_the_papers():
    A, B = np.array([[2.0, 1.0], [1.0, 4.0]]), np.array([[2.5, 1.0], [1.0, 3.0]])
    assert paper_curves.metric(A, B) == 1.5 / 3.5


def test_the_extended_matrix_is_the_mass_matrix():
    rng = np.random.default_rng(0)
    n, bodies = 6, chains.random(6, 1)
    a, alpha, d, q = rng.uniform(-1, 1, (4, n))
    body = {"mass": bodies.mass, "com": bodies.com, "inertia": bodies.inertia}
    ours = crba.mass_matrix(from_mdh(a=a, alpha=alpha, d=d, **body), q)
    assert (
        paper_curves.metric(ours, paper_curves.exact_mass_matrix(a, alpha, d, q, *body.values())) < 1e-13
    )  # 36 roundings


def test_errors_are_rounding_errors():
    (found,) = paper_curves.measure([5], samples=4)
    assert found.n == 5
    for values in (found.between, found.gdahj, found.crba):
        assert values.shape == (4,)
        assert (values > 0).all()
        assert (values < 1e-12).all()  # 25 entries of some hundred roundings of 1e-16


def test_crossover_is_the_first_n_from_which_one_stays_ahead():
    assert crossover([5, 3, 3, 1], [4, 4, 2, 2], [2, 3, 4, 5]) == 5
    assert crossover([1, 1], [2, 2], [2, 3]) == 2
    assert crossover([3, 3], [2, 2], [2, 3]) is None


def test_the_published_crossover_is_at_13_joints():
    joints = list(paper_curves.JOINTS)
    gdahj, crba_ = (paper_curves.published_totals(m, kinematics=False) for m in ("gdahj", "crba"))
    assert crossover(gdahj, crba_, joints) == 13
    with_kinematics = paper_curves.published_totals("gdahj", kinematics=True)
    later = crossover(with_kinematics, crba_, joints)
    assert later is not None
    assert later > 13


@pytest.mark.slow
def test_tables_hold_theirs_and_ours():
    found = papers.tables(TIMINGS)
    assert all(len(row) == len(table.columns) for table in found for row in table.rows)
    one = next(table for table in found if table.title.startswith("Table I,"))
    row = next(row for row in one.rows if row[0] == "CRBA")
    ours = counting.cost("mass_matrix", "crba")
    assert row[2:] == (
        "10n² + 22n - 32",
        "6n² + 37n - 43",
        str(ours.polynomials["mul"]),
        str(ours.polynomials["add"]),
        "1122",
        str(ours.at(7).total),
    )
    times = next(table for table in found if "execution times" in table.title)
    assert len(times.rows) == len(EXECUTION_TIMES)
    assert times.rows[0] == ("CRBA", "inertia matrix", "15 ms", "0.50 ms", "0.40 µs")


def test_a_reversed_order_of_methods_stands_beside_table_2_1():
    """The thesis: GDA's rate 69 ms, differencing 85; GDA's M 21 ms, columns 460."""
    kept = {("mass_matrix", "gda"): (1e-3, 1e-6), ("mass_matrix", "rnea_columns"): (2e-3, 2e-6)}
    (said,) = papers.order_of_methods(kept)
    assert said == "For each quantity the methods come in the thesis' order here."
    reversed_ = {
        ("mass_matrix", "gda"): (1e-3, 1e-6),
        ("mass_matrix", "rnea_columns"): (2e-3, 0.5e-6),
        ("mass_matrix_rate", "gda"): (2e-3, 3e-6),
        ("mass_matrix_rate", "difference"): (1e-3, 1e-6),
    }
    matrix, rate = papers.order_of_methods(reversed_)
    assert "columns (RTB) is ahead of GDA here (compiled 0.50 against 1.00 µs), behind it there (460 against" in matrix
    assert "ahead of GDA here (text 1.00 against 2.00 ms, compiled 1.00 against 3.00 µs)" in rate
    close = {("mass_matrix", "gda"): (1e-3, 1e-6), ("mass_matrix", "crba"): (1.01e-3, 0.9e-6)}
    assert papers.order_of_methods(close) == [said]
    times = next(table for table in papers.tables(reversed_) if "execution times" in table.title)
    assert {matrix, rate} <= set(times.remarks)


def test_the_order_of_differencing_is_told():
    """O(n³) in the thesis' table, a polynomial of degree two beside it."""
    table = next(table for table in papers.tables({}) if table.title == "Table 2.2, thesis (001)")
    row = next(row for row in table.rows if row[0] == "numerical differentiation")
    assert row[2] == "O(n³)"
    assert "n²" in row[4]
    assert "n³" not in row[4]
    assert any("numerical differentiation" in remark and "Ours is O(n²)" in remark for remark in table.remarks)


def test_all_seven_tables_are_there():
    titles = [table.title for table in papers.tables({})]
    wanted = (
        "Table 1, GDA",
        "Table 2.1",
        "Table 2.2",
        "Table I, GDAHJ",
        "Table 2, Koz",
        "Table 3, Koz",
        "Table 3, Mili",
    )
    assert all(any(title.startswith(start) for title in titles) for start in wanted)


class Reader(HTMLParser):
    """Counts tags and notes what the page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables = 0
        self.fetched: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tables += tag == "table"
        self.fetched += [value for name, value in attrs if name == "src"]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.slow
def test_page_and_pictures_are_written(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(papers, "JOINTS", (2, 4, 6))
    written = papers.write(tmp_path / "new" / "folder", TIMINGS)
    assert [path.name for path in written] == [
        *("index.html", "operations.png", "operations.svg", "errors.png", "errors.svg")
    ]
    assert all(path.stat().st_size > 5000 for path in written)
    reader = Reader()
    reader.feed(written[0].read_text(encoding="utf-8"))
    assert reader.open == []
    assert reader.tables == len(papers.tables(TIMINGS))
    assert all(source.startswith("data:image/svg+xml;base64,") for source in reader.fetched)


def test_the_page_escapes():
    table = papers.PaperTable("a < b", "`x` & <y>", ("<th>", "ours"), [("<script>", "&")], 1, ["<i>"])
    text = papers.page("title", [], [papers.Section("one", table.title, "one", papers._table(table))], "end")
    assert "<script>" not in text
    assert "<code>x</code> &amp; &lt;y&gt;" in text
    assert '<td class="ours">&amp;</td>' in text


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(er.ElbowroomError, match=r"pip install (-e )?'\.\[report\]'"):
        papers.write(tmp_path / "out", TIMINGS)
    assert not (tmp_path / "out").exists()
