"""The words and bars of the page: what is wrong is never called work."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from fake_page import at_work

import elbowroom as er
from elbowroom.avoidance import Status
from elbowroom.cell import Cell, Scene
from elbowroom.cell.layout import STANDARD
from elbowroom.cell.people.settings import StandSettings, WalkSettings
from elbowroom.geometry.shapes import RADIUS
from elbowroom.viewer.panel.margins import FORBIDDEN, UNKNOWN, Margins, Stopping, at_nearest, margins
from elbowroom.viewer.panel.status import (
    AMBER,
    GREEN,
    GREY,
    ORANGE,
    RED,
    LastMinute,
    detail,
    facts,
    gauges,
    headline,
    judged,
    strip,
)
from elbowroom.viewer.snapshot import Nearest, link_name, part_name


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_green_is_for_work_alone(status):
    said, colour = judged(at_work(status=status.value))
    assert colour != GREEN
    if status.value.startswith("STOP") or status is Status.IN_COLLISION:
        assert colour == RED
        assert "work" not in said
    if not status.stops:  # a controller's own stop is the arm's
        assert judged(at_work(law_status=status.value))[1] != GREEN


@pytest.mark.parametrize(("distance", "said"), [(0.0, "overlapping a person"), (-0.03, "overlapping a person")])
def test_an_overlap_is_told_paused_or_not(distance, said):
    for running in (True, False):
        assert judged(at_work(distance=distance, running=running)) == (said, RED)


def test_what_is_not_known_is_told():
    assert judged(at_work(distance=math.nan)) == ("how near people are is not known", RED)
    assert "sure that nobody" in judged(at_work(distance=math.inf, status="SLOWING_HUMAN"))[0]


def test_a_stop_is_told_before_all_else_and_paused_before_work():
    assert judged(at_work(stopped=True, reason="asked to", running=False)) == ("stopped: asked to", RED)
    assert judged(at_work(running=False)) == ("paused", GREY)


def test_what_only_watches_slows_nothing_and_the_page_says_that_it_does():
    watched = at_work(verdict="SLOWING_HUMAN", supervision="watch")
    assert judged(watched)[1] == GREEN
    assert "supervisor only watches" in facts(watched)
    assert "would have stopped" in facts(dataclasses.replace(watched, would_stop=True))
    assert "supervisor off" in facts(at_work(supervision="off"))
    assert "supervisor" not in facts(at_work())


def test_an_arm_that_stands_for_somebody_says_so_for_how_long_and_what_would_let_it_go_on():
    waits = at_work(status="AVOIDING", waited=18 * 60.0, farther=0.07)
    assert judged(waits) == ("waiting for room: left hand 0.43 m from wrist", ORANGE)
    assert detail(waits) == "for 1080 s; goes on when they are 0.07 m farther away"
    assert detail(dataclasses.replace(waits, farther=math.nan)) == "for 1080 s"
    assert detail(at_work(status="AVOIDING", waited=0.2)) == ""
    assert "go on" in detail(at_work(stopped=True))


def test_bars_say_what_is_needed_and_had_allowed_and_used():
    near = Margins(needed=0.4, had=0.3, used=0.1, allowed=0.4, bears=0.5, part="left_hand")
    said = gauges(at_work(safety=near, undisturbed=4))
    assert "0.30 m, needs 0.40" in said
    assert RED in said  # more is needed than is there
    assert "0.10 m/s, allowed 0.40" in said
    assert "0.10 m/s, allowed 0.50" in said
    assert "2 of 4 task cycles" in said
    assert RED not in gauges(at_work(safety=near._replace(had=1.0), undisturbed=2))
    none = near._replace(bears=math.nan, part="<b>")
    assert "not permitted" in gauges(at_work(safety=none._replace(why=FORBIDDEN)))
    assert "<b>:" not in gauges(at_work(safety=none._replace(why=FORBIDDEN)))
    assert "nobody is there" in gauges(at_work(safety=None, distance=math.inf))
    assert "nobody is there" not in gauges(at_work(safety=None))  # somebody is, but how fast all is was not recorded
    assert "throughput" not in gauges(at_work(safety=near, replayed=True))  # of a recording


def test_no_line_of_the_headline_ends_between_a_number_and_its_unit():
    said = headline("working: place, right hand 0.46 m from link6", GREEN)
    assert 'right hand <span style="white-space:nowrap">0.46 m</span> from link6' in said


def test_separation_is_to_the_body_that_the_supervisor_believes_in():
    """Seen as they are, people are where they are believed to be; older data grows them, and the bar says so."""
    people = {"near": StandSettings(shape="standing", position=(0.9, 0.0))}
    cell = Cell(dataclasses.replace(Scene.load(STANDARD), people=people))
    cell.step(0.0)
    fresh = margins(cell)
    assert fresh.believed == pytest.approx(fresh.had, abs=1e-12)
    assert "seen" not in gauges(at_work(safety=fresh))
    cell.guard.watch.believed[:, RADIUS] += 0.1
    old = margins(cell)
    assert old.had == fresh.had
    assert old.believed == pytest.approx(fresh.had - 0.1, abs=1e-12)
    assert old.allowed < fresh.allowed
    assert f"seen {fresh.had - 0.1:.2f} m, needs {fresh.needed:.2f}" in gauges(at_work(safety=old))
    assert f"true: {fresh.had:.2f} m" in gauges(at_work(safety=old))
    assert RED in gauges(at_work(safety=old._replace(believed=0.5 * old.needed)))
    unseen = old._replace(had=0.5 * old.needed, believed=5.0)  # nearer than anybody who is seen
    assert RED in gauges(at_work(safety=unseen))
    assert "5.00" not in gauges(at_work(safety=unseen))
    cell.guard = None
    assert math.isnan(cell.distance_believed())
    assert margins(cell).believed == fresh.had


@pytest.mark.parametrize(
    ("shape", "several", "part"),
    [("cylinder", False, ""), pytest.param("standing", True, "hand", marks=pytest.mark.slow)],
)
def test_contact_is_judged_by_the_part_of_the_body_that_is_nearest(shape, several, part):
    people = {"near": StandSettings(shape=shape, position=(0.75, 0.0))}
    people |= {"far": StandSettings(shape=shape, position=(3.0, 0.0))} if several else {}
    cell = Cell(dataclasses.replace(Scene.load(STANDARD), people=people))
    cell.step(0.0)
    found = margins(cell)
    said = gauges(at_work(safety=found))
    if part:
        assert found.part.startswith("person 0 ")
        assert found.bears > 0.0
        assert "not permitted" not in said
    else:  # one shape has no parts, and none is made up
        assert found.why == UNKNOWN
        assert "body part unknown" in said
        assert "not permitted" not in said.replace("takes no contact as permitted", "")


def test_the_strip_keeps_a_minute_and_the_worst_of_a_moment():
    minute = LastMinute()
    for k in range(3000):  # 100 s, 30 pictures a second
        minute.add(k / 30, RED if k == 2400 else GREEN if k % 2 else AMBER)
    said = strip(minute.columns)
    assert said.count(RED + " ") == 1
    assert GREEN + " 9" not in said  # amber is worse, and in every column
    assert said.count(AMBER + " ") == 119
    minute.clear()
    assert 'data-strip="0"' in strip(minute.columns)
    assert GREEN + " " not in strip(minute.columns)


KINOVA = ("j2s6s200_link_base", "j2s6s200_link_1", "j2s6s200_link_finger_tip_1")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (KINOVA, ["base", "link 1", "finger tip 1"]),
        (("panda_link0", "panda_hand"), ["link0", "hand"]),
        (("shoulder_link", "upper_arm_link"), ["shoulder link", "upper arm link"]),
        (("upper_arm",), ["upper arm"]),
        (("arm_1", "arm_2"), ["arm 1", "arm 2"]),
        (("arm", "arm_tool"), ["arm", "arm tool"]),  # of each name something is left
        (("", "__"), ["", "__"]),
    ],
)
def test_links_are_called_by_what_tells_them_apart(names, said):
    assert [link_name(name, names) for name in names] == said


def test_the_sentence_says_short_names_and_who_it_is():
    near = at_work(status="AVOIDING", arm_names=KINOVA, who=("visitor",))
    own = dataclasses.replace(near, nearest=Nearest(0, 0, KINOVA[2], "coworker"))
    assert judged(own)[0] == "avoiding: visitor 0.43 m from finger tip 1"
    wicked = dataclasses.replace(near, nearest=Nearest(0, 0, "<b>", "<i>"))
    assert "<" not in judged(wicked)[0]
    assert part_name("left_hand", ["visitor"]) == "left hand"
    assert part_name("person 1 coworker", ["a", "b"]) == "b"
    assert part_name("person 1 left_hand", ["a", "b"]) == "b left hand"
    assert part_name("b coworker", ["a", "b"]) == "b"  # as a recording says it


def test_the_allowed_approach_is_the_speed_at_which_all_of_the_distance_is_needed():
    cell = Cell(Scene.load(STANDARD))
    cell.step(0.0)
    rules = Stopping(cell.guard.limits, cell.guard.bounds.acceleration, cell.guard.reaction)
    towards = np.array([0.3, -0.2, 0.1, 0.0, 0.0, 0.0, 0.0])
    for had in (0.6, 1.0, 2.0):
        speed = rules.allowed(towards, had)
        qd = speed * towards / (towards @ towards)
        assert towards @ qd == pytest.approx(speed)
        assert rules.needed(qd, speed) == pytest.approx(had)
    assert rules.allowed(towards, 0.01) == cell.guard.limits.creep  # too near to come nearer


def test_somebody_who_runs_needs_more_room():
    """The supervisor takes a person for as fast as they are seen to be; so does the bar."""
    found = []
    for speed in (0.5, 3.0):
        walker = WalkSettings(start=(3.0, 0.0), end=(0.5, 0.0), speed=speed, shape="standing")
        cell = Cell(dataclasses.replace(Scene.load(STANDARD), people={"visitor": walker}))
        for k in range(40):
            cell.step(k * cell.period)
            cell.advance(k * cell.period, cell.period)
        found.append(margins(cell).needed)
    assert found[1] > 1.3 * found[0]  # 3 m/s instead of the 1.6 that anybody may have


def test_a_head_bears_no_contact_and_a_hand_some():
    arm = er.load("panda")
    at = arm.pose(arm.ready)[:3, 3]
    row = np.r_[at - [0.0, 0.0, 0.1], at, 0.05, np.zeros(6)]
    for part, why in (("head", FORBIDDEN), ("person 1 head", FORBIDDEN), ("left_hand", ""), ("cylinder", UNKNOWN)):
        nearest = (row, 6, at, at + np.array([0.3, 0.0, 0.0]), part)
        found = at_nearest(arm, arm.ready, np.zeros(7), nearest, 0.25, None)
        assert found.why == why
        assert math.isfinite(found.bears) == (why == "")


def test_what_the_joints_feel_has_a_bar_each_and_the_fullest_is_named():
    scene = {"joints": ("lift", "<b>", "wrist"), "kinds": "PRR"}
    felt = at_work(residual=np.array([3.0, -4.0, 0.1]), allowed=np.array([10.0, 3.0, 1.0]), felt=4 / 3, **scene)
    said = gauges(felt)
    row = said[said.index(">felt<") :]
    assert "joint 2: 4.0 of 3.0 N m" in row
    assert row.count(f"width:30%;background:{GREEN}") == 1
    assert row.count(f"width:100%;background:{RED}") == 1
    assert "lift 3.00 N of 10.00, &lt;b&gt; 4.00 N m of 3.00, wrist 0.10 N m of 1.00" in said
    recorded = gauges(
        dataclasses.replace(felt, allowed=np.zeros(0), felt=0.4, felt_joint=2, felt_torque=-4.0, replayed=True)
    )
    assert "joint 2: 4.0 N m; 40 %" in recorded
    assert ">felt<" not in gauges(at_work())  # where contact is not watched
