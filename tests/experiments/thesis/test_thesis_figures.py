"""The figures: every one is drawn from a short made-up run, marks what it should, and reads in grey."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import elbowroom as er
from elbowroom.errors import ConfigError, UnknownNameError
from elbowroom.experiments import figure_style as style
from elbowroom.experiments.thesis import figures as plots
from elbowroom.experiments.thesis import scene_drawings as scenes
from elbowroom.experiments.thesis.outcome import Outcome
from elbowroom.experiments.thesis.scene_drawings import SIDE, TOP, SceneDrawing, draw_capsules, stadium, window
from elbowroom.geometry import Capsule

pytest.importorskip("matplotlib")

ROWS = 120
STATES = ("to_home", "to_object", "pick", "to_goal", "avoid", "place", "back_home")


@pytest.fixture(scope="module")
def arm():
    return er.load("puma560")


@pytest.fixture(scope="module")
def view(arm):
    return SceneDrawing(arm, "thesis")


def made_up(arm, along="x"):
    """An arm that swings while somebody comes and goes; distances are not the true ones."""
    t = np.linspace(0.0, 12.0, ROWS)
    q = arm.ready + 0.3 * np.sin(t)[:, None] * np.array([1.0, 0.5, -0.5, 0.0, 0.2, 0.0])
    qd = np.gradient(q, t, axis=0)
    tool = np.array([arm.pose(each)[:3, 3] for each in q])
    speed = np.gradient(tool, t, axis=0)
    person = np.tile([1.4, -0.15, 0.0], (ROWS, 1))
    person[:, "xyz".index(along)] += 0.6 * np.cos(t)
    apart = np.linalg.norm((person - tool)[:, :2], axis=1)
    goal = np.where(np.arange(ROWS)[:, None] < 60, [[0.5, 0.3, 0.6]], [[0.5, -0.3, 0.6]])
    table = {"t": t, "state": np.repeat(STATES, 18)[:ROWS], "status": np.full(ROWS, "OK"), "verdict": np.full(ROWS, "")}
    for name, rows in (("tool", tool), ("person", person), ("goal", goal), ("object", tool)):
        table |= {f"{name}_{axis}": rows[:, k] for k, axis in enumerate("xyz")}
    for name, rows in (("tool_v", speed), ("person_v", np.gradient(person, t, axis=0))):
        table |= {f"{name}{axis}": rows[:, k] for k, axis in enumerate("xyz")}
    table |= {"distance_axes": apart, "distance_surfaces": apart - 0.39, "clearance": apart - 0.4}
    table |= {f"q{i + 1}": q[:, i] for i in range(arm.n)} | {f"qd{i + 1}": qd[:, i] for i in range(arm.n)}
    return table


@pytest.fixture(scope="module")
def outcomes(arm):
    runs = [(1, "supervised"), (1, "printed"), (1, "no_filter"), (1, "noise_filter"), (1, "noise_no_filter")]
    runs += [(test, "printed") for test in range(2, 7)]
    runs += [(1, "confined_filter"), (1, "confined_no_filter")]
    runs += [
        (7, f"{form}{way}") for form in ("", "mended_") for way in ("weak_potential", "strong_potential", "scaling")
    ]
    tables = {axis: made_up(arm, axis) for axis in "xy"}
    return [
        Outcome(test, None, variant, "kinematic", "puma560", "", {}, {}, tables["y" if test == 3 else "x"])
        for test, variant in runs
    ]


@pytest.fixture(scope="module")
def drawn(outcomes, view, tmp_path_factory):
    return plots.draw_all(outcomes, view, tmp_path_factory.mktemp("figures"), suffixes=(".svg",))


THESIS = [f"4.{k}" for k in range(1, 25) if k != 13]
OURS = ["4.4b", "4.4c", "4.20b", "4.21b", "4.23b"]


@pytest.mark.parametrize("number", [*THESIS, *OURS])
def test_every_figure_is_drawn(number, drawn):
    found = drawn[number]
    assert not found.missing
    assert found.test == plots.FIGURES[number].test
    text = found.svg.read_text()
    root = ET.fromstring(text)
    assert root.tag.endswith("svg")
    assert "nan" not in text.lower().replace("nanum", "")
    assert len(text) < 160_000  # 30 of them make a report of a few megabytes


def test_nothing_but_the_thesis_and_our_own(drawn):
    assert [number for number in drawn if number in THESIS] == THESIS
    assert [number for number in drawn if number not in THESIS] == OURS
    for number, found in drawn.items():
        assert found.caption.endswith("Not in the thesis.") == (number in OURS)


def test_the_same_numbers_give_the_same_file(outcomes, view, drawn, tmp_path):
    again = plots.draw("4.3", outcomes, view, [tmp_path / "again.svg"])
    assert again.svg.read_bytes() == drawn["4.3"].svg.read_bytes()


def test_formats_by_the_name_of_the_file(outcomes, view, tmp_path):
    paths = [tmp_path / f"figure{suffix}" for suffix in (".png", ".pdf")]
    assert plots.draw("4.6", outcomes, view, paths).paths == tuple(paths)
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert paths[1].read_bytes().startswith(b"%PDF")
    with pytest.raises(ConfigError, match=r"figure.bmp: a figure can be .svg, .png, .pdf"):
        plots.draw("4.6", outcomes, view, [tmp_path / "figure.bmp"])
    with pytest.raises(UnknownNameError, match=r"no figure '4\.13'"):
        plots.draw("4.13", outcomes, view, [])


def test_a_run_that_is_not_there_is_told(outcomes, view, tmp_path):
    some = [run for run in outcomes if run.variant != "no_filter" and run.test in (1, 3)]
    found = plots.draw_all(some, view, tmp_path, suffixes=(".svg",), tests=(1, 2))
    assert found["4.2"].missing == "no run of test 1 (no filter)"
    assert found["4.5"].missing == "no run of test 2"
    assert found["4.2"].svg is None
    assert not found["4.3"].missing
    assert "4.9" not in found
    assert not list(tmp_path.glob("figure_4_02*"))


def test_a_figure_that_fails_does_not_take_the_others_along(outcomes, view, tmp_path):
    broken = dict(outcomes[1].table)
    del broken["distance_axes"]
    runs = [Outcome(1, None, "printed", "kinematic", "puma560", "", {}, {}, broken)]
    found = plots.draw_all(runs, view, tmp_path, suffixes=(".svg",), tests=(1,))
    assert "distance_axes" in found["4.3"].missing


def test_names_of_files_sort():
    assert plots.name("4.2") == "figure_4_02"
    assert plots.name("4.24") == "figure_4_24"
    assert plots.name("4.4b") == "figure_4_04b"


def test_the_runs_of_one_arm_on_one_plant(outcomes):
    other = Outcome(1, None, "printed", "rigid", "puma560", "", {})
    scene = Outcome(None, "walk.csv", "bare", "kinematic", "puma560", "", {})
    assert plots.chosen([other, scene, *outcomes], "puma560", "kinematic") == list(outcomes)


def test_thinning_keeps_every_peak():
    t = np.linspace(0, 1, 50_001)
    curve = np.sin(7 * t)
    curve[12_345], curve[40_001] = 5.0, -5.0
    rows = style.thinned(t, curve, bins=100)
    assert len(rows) <= 202
    assert {0, 12_345, 40_001, 50_000} <= set(rows.tolist())
    assert (np.diff(rows) > 0).all()
    few = np.linspace(0, 1, 50)
    assert len(style.thinned(few, few)) == 50


def lightness(colour):
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(
    "together",
    [
        ("tool", "coworker", "difference", "thesis"),
        ("axes", "surfaces", "thesis", "influence"),
        ("tool", "coworker", "influence"),
        ("angle", "limit", "thesis"),
    ],
)
def test_lines_of_one_figure_differ_without_colour(together):
    for one, other in itertools.combinations(together, 2):
        a, b = style.STYLE[one], style.STYLE[other]
        dash = a["linestyle"] != b["linestyle"]
        width = max(a["linewidth"], b["linewidth"]) >= 1.5 * min(a["linewidth"], b["linewidth"])
        light = abs(lightness(a["color"]) - lightness(b["color"])) > 0.2
        assert dash or (width and light), (one, other)


def test_a_stadium_is_the_shadow_of_a_capsule():
    corners = stadium((0.0, 0.0), (3.0, 4.0), 0.5)
    x, y = corners.T
    area = 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
    assert area == pytest.approx(5.0 * 1.0 + np.pi * 0.25, rel=2e-3)  # half circles of 13 corners lack 1 part in 100
    s = np.clip(corners @ [3.0, 4.0] / 25.0, 0, 1)[:, None]
    np.testing.assert_allclose(np.linalg.norm(corners - s * [3.0, 4.0], axis=1), 0.5, atol=1e-12)
    point = stadium((1.0, 1.0), (1.0, 1.0), 0.2)  # seen along its axis
    np.testing.assert_allclose(np.linalg.norm(point - 1.0, axis=1), 0.2)


def test_what_is_nearer_to_the_eye_is_drawn_last():
    class Axis:
        def __init__(self):
            self.middles = []

        def add_patch(self, patch):
            x, y = patch.get_xy().T
            self.middles.append((round(x.min() + x.max()) / 2, round(y.min() + y.max()) / 2))

    left, right = Capsule((0.0, -1.0, 5.0), (0.0, -1.0, 5.0), 0.1), Capsule((1.0, 1.0, 2.0), (1.0, 1.0, 2.0), 0.1)
    side, top = Axis(), Axis()
    draw_capsules(side, [left, right], SIDE)
    draw_capsules(top, [right, left], TOP)
    assert side.middles == [(1.0, 2.0), (0.0, 5.0)]  # the eye is at -y
    assert top.middles == [(1.0, 1.0), (0.0, -1.0)]  # and above


def test_a_window_has_room_for_arm_and_person(view, outcomes):
    table = outcomes[1].table
    seen = window(view, table, (0,), SIDE)
    assert seen.right >= table["person_x"][0] + view.person_radius
    assert seen.top >= view.floor + view.person_height
    assert view.floor - 0.2 < seen.bottom < view.floor
    alone = window(view, table, (0,), SIDE, people=False)
    assert alone.right < seen.right
    assert window(view, table, (0,), TOP).grown(9.0).size[1] == pytest.approx(9.0)


def test_moments_show_every_state_and_the_nearest_approach(outcomes):
    table = outcomes[1].table
    rows = scenes.moments(table)
    assert len(rows) == scenes.SNAPSHOTS
    assert int(np.argmin(table["distance_axes"])) in rows
    assert len({str(table["state"][row]) for row in rows}) == scenes.SNAPSHOTS
    plain = table | {"state": np.full(ROWS, "resting")}
    assert 4 <= len(scenes.moments(plain)) <= scenes.SNAPSHOTS


def test_stations_are_goals_that_stay(outcomes):
    table = dict(outcomes[1].table)
    np.testing.assert_allclose(scenes.stations(table), [[0.5, 0.3, 0.6], [0.5, -0.3, 0.6]])
    table["goal_x"] = np.linspace(0, 1, ROWS)  # always on its way
    assert scenes.stations(table).shape == (0, 3)


def test_a_number_lies_on_no_curve():
    """As in figure 4.2, where the tool dips under the least difference and the coworker turns above it."""
    import matplotlib.pyplot as plt
    from matplotlib.text import Text

    t = np.linspace(0.0, 48.0, 481)
    coworker, tool = 1.0 + 0.3 * np.abs(t - 24.0), 0.75 - 0.5 * np.exp(-(((t - 24.4) / 1.5) ** 2))
    curves = [(t, curve) for curve in (coworker, tool, coworker - tool)]
    figure, axis = plt.subplots(figsize=(7.2, 2.3))
    try:
        for _, curve in curves:
            axis.plot(t, curve)
        axis.set(xlim=(0.0, 48.0), ylim=(-0.1, 3.6))
        style.mark(axis, 24.0, 0.75, "0.75 m", curves=curves)
        style.mark(axis, 24.0, 0.75, "0.75 m")
        figure.draw_without_rendering()
        turn = axis.transData.inverted()
        clear = []
        for label in axis.texts:
            (left, low), (right, high) = turn.transform(Text.get_window_extent(label))  # without its leader
            near = [curve[(t > left) & (t < right)] for _, curve in curves]
            clear.append(all((part > high).all() or (part < low).all() for part in near))
    finally:
        plt.close(figure)
    assert clear == [True, False]
