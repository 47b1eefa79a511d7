"""The report: whole or in part, it says what is there and what is not, and nothing in it leads elsewhere."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from elbowroom.experiments.html_report import Section, Words, blocks, inline_svg, page
from elbowroom.experiments.thesis.checks import Check
from elbowroom.experiments.thesis.figures import FIGURES, Drawn
from elbowroom.experiments.thesis.outcome import Outcome
from elbowroom.experiments.thesis.report import deviation, met, report, shown
from elbowroom.experiments.thesis.texts import IMPROVEMENTS, METRICS, SAFETY, SHOWN, TESTS, TOLERANCE

NASTY = '<script>alert("x")</script> & co.csv'
VOID = {"meta", "br", "path", "use", "img", "link"}


class Page(HTMLParser):
    """Checks that tags close, and collects ids, links, loaded things and text."""

    def __init__(self, source):
        super().__init__()
        self.ids, self.links, self.loaded, self.tags, self.words = [], [], [], [], []
        self._open = []
        self.feed(source)
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in VOID:
            self._open.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name == "href":
                self.links.append(value)
            if name in ("src", "srcset", "action", "onclick", "onload"):
                self.loaded.append((name, value))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def numbers(**changes):
    found = dict.fromkeys(METRICS, 0.5)
    found |= {"contacts": 0, "cycles": 3, "stops": 1, "reached": False, "joint_travel": [1.0, 2.0]}
    found |= {"peak_joint_speeds": [0.1, 0.2], "oscillation_frequency": None}
    return found | changes


def outcome(test, variant="printed", plant="kinematic", robot="puma560", thesis=None, **changes):
    return Outcome(test, None, variant, plant, robot, "", numbers(**changes), thesis or {})


SVG = (
    '<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/x.dtd">\n'
    '<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="5pt" height="4pt" viewBox="0 0 5 4" '
    'xmlns="http://www.w3.org/2000/svg"><metadata><a href="https://matplotlib.org/"/></metadata>'
    '<style type="text/css">*{stroke-linejoin: round}</style><!-- a comment -->'
    '<defs><clipPath id="p1"><rect/></clipPath><path id="m2" d="M 0 0"/></defs>'
    '<g id="axes_1" clip-path="url(#p1)"><use xlink:href="#m2" x="1"/></g></svg>'
)


@pytest.fixture
def figures(tmp_path):
    file = tmp_path / "figure.svg"
    file.write_text(SVG)
    return {number: Drawn(entry.caption, entry.test, (file,), plant="rigid") for number, entry in FIGURES.items()}


def whole(figures, folder, **options):
    runs = [
        outcome(test, variant, plant, thesis={"min_distance": 0.5} if test == 1 and variant == "printed" else None)
        for test in range(1, 8)
        for plant in ("mujoco", "kinematic", "rigid")
        for variant in ("printed", "supervised")
    ]
    runs += [outcome(1, robot="panda"), Outcome(None, NASTY, "bare", "kinematic", "puma560", "", numbers())]
    checks = [Check(1, "the filter removes <vibration>", 0.15, "below 0.5", True)]
    checks += [Check(4, "light joints move more", "0.1 against 0.2", "more", False)]
    options = {"checks": checks, "discussion": {"4": "because\n\n- of `this`\n- and that"}} | options
    path = report(runs, figures, folder / "report.html", **options)
    return path, path.read_text(encoding="utf-8")


def test_one_file_that_needs_nothing_else(figures, tmp_path):
    path, source = whole(figures, tmp_path, settings={"gains": 'x = "<y>"', "table": {"period": "20 ms"}})
    page = Page(source)
    assert page.loaded == []
    assert all(link.startswith("#") for link in page.links)
    assert {"script", "link", "img", "iframe"}.isdisjoint(page.tags)
    assert "http" not in source
    assert "url(" not in re.sub(r"url\(#", "", source)
    assert len(page.ids) == len(set(page.ids))  # figures do not share ids
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert "@media print" in source
    assert page.text.count(SAFETY) == 2
    assert path.parent == tmp_path
    assert not list(tmp_path.glob("*.part"))


def test_every_test_with_its_numbers_on_every_plant(figures, tmp_path):
    _, source = whole(figures, tmp_path)
    page = Page(source)
    for test, about in TESTS.items():
        assert f"Test {test}: {about.title}" in page.text
    for number in FIGURES:
        assert f"Figure {number}." in page.text
    heads = re.findall(r"<thead>(.*?)</thead>", source)
    order = [re.sub("<[^>]*>", " ", head).split() for head in heads]
    assert ["test", "number", "thesis", "tolerance", "kinematic", "rigid", "mujoco"] in order
    assert page.text.count("Plant: rigid.") == len(FIGURES)
    assert "Other arms" in page.text
    assert "Recorded people" in page.text
    assert "This report is not complete" not in page.text
    assert "1 of 1 numbers are within their tolerance of the thesis', on every plant." in page.text
    assert "1 of 2 results that are said in words hold" in page.text
    assert "✓ light joints" not in page.text
    assert re.search(r"✗ Test 4: light joints move more – does not hold", page.text)
    assert "found 0.15; wanted below 0.5" in page.text


def test_a_number_is_met_if_it_is_on_every_plant(tmp_path):
    def said(*values, checks=()):
        each = zip(("kinematic", "rigid", "mujoco"), values, strict=False)
        runs = [outcome(1, plant=plant, thesis={"min_distance": 0.75}, min_distance=value) for plant, value in each]
        return Page(report(runs, {}, tmp_path / "report.html", checks=checks).read_text(encoding="utf-8")).text

    assert "1 of 1 numbers are within their tolerance of the thesis'." in said(0.7)
    assert "1 of 1 numbers are within their tolerance of the thesis', on every plant." in said(0.7, 0.75, 0.8)
    assert "0 of 1 numbers" in said(0.7, 0.75, 0.5)
    twice = [Check(1, f"it holds ({plant})", "", "", met) for plant, met in (("kinematic", True), ("rigid", False))]
    assert "0 of 1 results that are said in words hold" in said(0.7, checks=twice)


def test_as_printed_and_as_improved_stand_side_by_side(tmp_path):
    runs = [outcome(1, variant, min_distance=0.1 * k) for k, variant in enumerate(IMPROVEMENTS)]
    source = report([*runs, outcome(1, "no_filter")], {}, tmp_path / "report.html").read_text(encoding="utf-8")
    section = source.split('id="improved"')[1].split("</section>")[0]
    for k, words in enumerate(IMPROVEMENTS.values()):
        assert re.search(rf"{re.escape(escape(words))}</t[dh]><td[^>]*>0\.{k}00\xa0m<", section), words
    alone = report([outcome(1), outcome(1, "mended")], {}, tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="improved"' not in alone


def test_what_comes_from_files_is_escaped(figures, tmp_path):
    runs = [
        Outcome(None, NASTY, NASTY, NASTY, NASTY, NASTY, numbers(min_distance=NASTY)),
        Outcome(1, None, NASTY, NASTY, NASTY, NASTY, numbers(min_distance=NASTY)),
        Outcome(1, None, "printed", NASTY, "another" + NASTY, NASTY, numbers()),
    ]
    path = report(
        runs,
        {"4.3": Drawn(NASTY, 1, (), missing=NASTY), "4.4": Drawn(NASTY, 1, figures["4.4"].paths)},
        tmp_path / "report.html",
        checks=[Check(1, NASTY, NASTY, NASTY, False), Check(None, NASTY, NASTY, NASTY, True)],
        discussion={"1": NASTY, "summary": "- " + NASTY, "arms": NASTY, "recorded": NASTY},
        settings={NASTY: NASTY, "other": {NASTY: NASTY}},
        missing={"2": NASTY, NASTY: NASTY},
    )
    page = Page(path.read_text(encoding="utf-8"))
    assert "script" not in page.tags
    assert page.text.count("<script>") > 20  # as words


def test_in_part_it_says_what_is_missing(figures, tmp_path):
    """As after Ctrl-C in test 3, with a test that failed before."""
    runs = [outcome(1, thesis={"min_distance": 0.75}), outcome(1, plant="rigid"), outcome(2)]
    some = {number: drawn for number, drawn in figures.items() if drawn.test == 1}
    some["4.6"] = Drawn("least distance", 2, missing="no run of test 2 (filter)")
    missing = {"3": "stopped by Ctrl-C after 4.2 s", "5": "the plant diverged at t = 3 s"}
    page = Page(report(runs, some, tmp_path / "report.html", missing=missing).read_text(encoding="utf-8"))
    assert "This report is not complete" in page.text
    for words in (
        "Test 2: no run on rigid.",
        "Test 3: stopped by Ctrl-C after 4.2 s",
        "Test 4: not run.",
        "Test 5: the plant diverged at t = 3 s",
        "Figure 4.6 is missing. no run of test 2",
        "✗ not met",
    ):
        assert words in page.text
    assert page.text.count("stopped by Ctrl-C") == 2  # at the top, and where the test would be


def test_one_test_alone_is_complete(tmp_path):
    page = Page(report([outcome(3)], {}, tmp_path / "report.html", expected=(3,)).read_text(encoding="utf-8"))
    assert "This report is not complete" not in page.text
    assert "Test 3: an approach" in page.text
    assert "Test 4" not in page.text


def test_nothing_at_all_is_still_a_page(tmp_path):
    page = Page(report([], {}, tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.text.count("not run.") == 14


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    report([outcome(1)], {}, path)
    before = path.read_text(encoding="utf-8")

    def full(self, *_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        report([outcome(2)], {}, path)
    monkeypatch.undo()
    assert path.read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    "metric, value, thesis, expected",
    [
        ("min_distance", 0.86, 1.0, True),
        ("min_distance", 0.84, 1.0, False),
        ("min_y_difference", 1.14, 1.0, True),
        ("peak_x_speed", 0.76, 1.0, True),
        ("peak_x_speed", 1.26, 1.0, False),
        ("peak_x_speed", None, 1.0, False),
        ("min_joint3_deg", 13.0, 12.4, True),
        ("min_joint3_deg", 10.2, 12.4, False),
        ("rms_jerk", 3.0, 3.0, None),
    ],
)
def test_tolerances(metric, value, thesis, expected):
    assert met(metric, value, thesis) is expected


def test_values_with_their_units():
    assert shown(0.7499, METRICS["min_distance"]) == "0.750\u00a0m"
    assert shown(-0.02, METRICS["min_clearance"]) == "−0.020\u00a0m"
    assert shown(12.4, METRICS["min_joint3_deg"]) == "12.4°"
    assert shown(3, METRICS["cycles"]) == "3"
    assert shown(False, METRICS["reached"]) == "no"
    assert shown(None, METRICS["reached"]) == "–"
    assert shown([0.5, 1.0], METRICS["joint_travel"]) == "0.50 · 1.00 rad"
    assert deviation(0.6, 0.5) == pytest.approx(0.2)
    assert deviation(True, 0.5) is None


def test_the_texts_name_what_there_is():
    assert set(SHOWN) == set(TESTS) == set(range(1, 8))
    assert {metric for shown_ in SHOWN.values() for metric in shown_} <= set(METRICS)
    assert set(TOLERANCE) <= set(METRICS)


def said(words):
    """What stands in a section that has these words alone."""
    source = page("title", [], [Section("one", "One", "One", [Words(words)])], "end")
    return source.split("<h2>One</h2>")[1].split("</section>")[0].strip()


def test_words_become_paragraphs_lists_and_code():
    assert said("a `b < c` d") == "<p>a <code>b &lt; c</code> d</p>"
    assert said("a lone ` stays") == "<p>a lone ` stays</p>"
    assert said("one\ntwo\n\n- a\n  b\n- c") == "<p>one two</p>\n<ul><li>a b</li><li>c</li></ul>"
    assert said("") == ""
    assert blocks("one\ntwo\n\n- a\n  b\n- c") == ["one two", ["a b", "c"]]


def test_an_svg_becomes_an_element_of_the_page():
    found = inline_svg(SVG, "f-", 'a "figure"')
    assert found.startswith('<svg role="img" aria-label="a &quot;figure&quot;" viewBox="0 0 5 4">')
    for words in ('id="f-p1"', 'id="f-m2"', "url(#f-p1)", 'href="#f-m2"'):
        assert words in found
    for words in ("http", "metadata", "style", "comment", "DOCTYPE", "xlink"):
        assert words not in found
    Page(found)
    with pytest.raises(ValueError, match="no <svg> element"):
        inline_svg("not a picture", "f-", "figure 1")
