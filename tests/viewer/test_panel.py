"""The sentence of the page: what is wrong is never called work."""

from __future__ import annotations

import math

import pytest

from elbowroom.avoidance import Status
from elbowroom.viewer.panel import GREEN, GREY, RED, facts, judged


def seen(**changes):
    picture = {
        "status": "OK", "law_status": "OK", "verdict": "OK", "distance": 0.43,
        "nearest": (0, 0, "wrist", "left_hand"), "stopped": False, "reason": "",
        "touching": False, "running": True, "state": "to_object", "supervision": "stop",
        "would_stop": False, "cycles": 2, "contacts": 0, "t": 3.0,
    }  # fmt: skip
    return picture | changes


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_green_is_for_work_alone(status):
    said, colour = judged(seen(status=status.value))
    assert colour != GREEN
    if status.value.startswith("STOP") or status is Status.IN_COLLISION:
        assert colour == RED
        assert "work" not in said
    if not status.stops:  # a controller's own stop is the arm's
        assert judged(seen(law_status=status.value))[1] != GREEN


@pytest.mark.parametrize(("distance", "said"), [(0.0, "overlapping somebody"), (-0.03, "overlapping somebody")])
def test_an_overlap_is_told_paused_or_not(distance, said):
    for running in (True, False):
        assert judged(seen(distance=distance, running=running)) == (said, RED)


def test_what_is_not_known_is_told():
    assert judged(seen(distance=math.nan)) == ("how near people are is not known", RED)
    assert "sure that nobody" in judged(seen(distance=math.inf, status="SLOWING_HUMAN"))[0]


def test_a_stop_is_told_before_all_else_and_paused_before_work():
    assert judged(seen(stopped=True, reason="asked to", running=False)) == ("stopped: asked to", RED)
    assert judged(seen(running=False)) == ("paused", GREY)


def test_what_only_watches_slows_nothing_and_the_page_says_that_it_does():
    watched = seen(verdict="SLOWING_HUMAN", supervision="watch")
    assert judged(watched)[1] == GREEN
    assert "supervisor only watches" in facts(watched)
    assert "would have stopped" in facts(watched | {"would_stop": True})
    assert "supervisor off" in facts(seen(supervision="off"))
    assert "supervisor" not in facts(seen())
