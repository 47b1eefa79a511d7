"""How contenders are timed, and how times become rows."""

from __future__ import annotations

import pytest

from elbowroom import chains
from elbowroom.bench import timing
from elbowroom.bench.timing import US, CallTime, Contender, Statement, race, raced


def test_everybody_is_called_in_turns():
    called = []
    names = {"note": called.append, "sleep": __import__("time").sleep}
    # longer than a round, so that each is called once a round: two calls to warm up, then the rounds
    slow = {who: Statement(f"note({who!r}), sleep(0.0005)", names) for who in "ab"}
    times = race(slow, rounds=3, round_seconds=1e-6)
    assert "".join(called) == "aabb" + "ab" * 3
    for taken in times.values():
        assert 0.0005 <= taken.best <= taken.median <= taken.p90


def test_a_round_of_many_calls_has_one_more_that_is_not_timed(monkeypatch):
    asked = []

    class Timer:
        def __init__(self, *_, **__):
            pass

        def timeit(self, count):
            asked.append(count)
            return 1e-3 * count

    monkeypatch.setattr(timing, "Timer", Timer)
    assert race({"a": lambda: None}, rounds=2, round_seconds=0.0051)["a"] == CallTime(1e-3, 1e-3, 1e-3)
    assert asked == [1, 1, 1, 5, 1, 5]


def test_a_statement_gives_what_it_computes():
    assert Statement("x + y", {"x": 2, "y": 3})() == 5


def test_rows_are_told_by_the_state_and_by_our_best(monkeypatch):
    monkeypatch.setattr(
        timing, "race", lambda calls, rounds: {US: CallTime(2.0, 4.0, 6.0), "x": CallTime(3.0, 3.0, 9.0)}
    )
    contenders = {US: Contender("1", lambda: None, 10), "x": Contender("2", lambda: None, 1)}
    ours, theirs = raced("batch", chains.planar(2), "mass_matrix", contenders, 5, states=10)
    assert (ours.seconds_per_state, ours.median_seconds, ours.p90_seconds, ours.ratio_to_us) == (0.2, 0.4, 0.6, 1.0)
    assert (theirs.seconds_per_state, theirs.ratio_to_us, theirs.version) == (3.0, pytest.approx(15.0), "2")
    assert (theirs.bench, theirs.n, theirs.states) == ("batch", 2, 10)
