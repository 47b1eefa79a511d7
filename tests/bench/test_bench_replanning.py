"""Replanning beside a walking person: requests and control steps are counted and timed as the page says."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from elbowroom.avoidance.planning.background import Background, Inline
from elbowroom.avoidance.planning.decision import Answer, Choice, Request
from elbowroom.avoidance.planning.settings import Planning
from elbowroom.bench.planning import replanning
from elbowroom.bench.planning.replanning import (
    CHOICES,
    UNANSWERED,
    WARM,
    RequestTimer,
    TimedCell,
    difference,
    one_run,
    process_time,
    scene_of,
    time_spread,
    walker,
)
from elbowroom.cell import Cell
from elbowroom.cell import run as run_cell
from elbowroom.cell.pace import AsFastAsPossible, RealTime
from elbowroom.geometry.shapes import ROW

ASKS_SOON = 0
"""The seed of a person who holds a panda up within two seconds."""


# ---- the scene


def test_a_person_is_a_function_of_the_seed_and_walks_across_the_work():
    assert walker(3) == walker(3)
    people = [walker(seed) for seed in range(40)]
    assert len({who.start for who in people}) == 40
    assert {np.sign(who.start[1]) for who in people} == {-1.0, 1.0}
    for who in people:
        assert who.start[1] * who.end[1] < 0.0  # from one belt's side to the other's
        assert all(0.2 <= x <= 0.7 for x, _ in (who.start, who.end))


def test_both_cells_are_the_same_but_for_planning():
    with_, without = (scene_of("panda", 1, rules) for rules in (Planning(), None))
    assert with_.people == without.people == {"coworker": walker(1)}
    assert without.controller.planning is None
    assert with_.controller.planning == Planning()
    assert with_.task == without.task


# ---- requests


class FakePlanner:
    """Answers what it is given, when it is given."""

    def __init__(self):
        self.problem, self.answer, self.takes, self.closed = "", None, True, False

    def ask(self, request):
        return self.takes

    def poll(self, t):
        answer, self.answer = self.answer, None
        return answer

    def close(self):
        self.closed = True


def request(number: int, t: float = 0.0) -> Request:
    nobody = np.zeros((0, 13, ROW))
    return Request(number, t, np.zeros(7), np.zeros(3), None, nobody, np.zeros(0), np.zeros((0, ROW)))


def answer(number: int, choice: Choice = Choice.AROUND) -> Answer:
    return Answer(number, 0.0, choice, np.zeros(3), seconds=0.02)


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves when it is told to; all of it is CPU time."""
    now = SimpleNamespace(t=100.0)
    fake = SimpleNamespace(perf_counter=lambda: now.t, thread_time=lambda: now.t)
    monkeypatch.setattr(replanning, "time", fake)
    return now


def test_a_request_takes_until_its_answer_is_polled(clock):
    planner = FakePlanner()
    timer = RequestTimer(planner, seed=5)
    assert timer.ask(request(1, 2.5))
    clock.t += 0.01
    assert timer.poll(2.51) is None
    assert timer.pending
    clock.t += 0.02
    planner.answer = answer(1, Choice.WAIT)
    assert timer.poll(2.53).number == 1
    assert not timer.pending
    (found,) = timer.results
    assert (found.seed, found.t, found.outcome, found.planning, found.cpu) == (5, 2.5, "wait", 0.02, None)
    assert found.seconds == pytest.approx(0.03, abs=1e-9)  # sums of hundredths near 100


def test_requests_that_are_replaced_or_left_are_unanswered_and_refused_ones_none(clock):
    planner = FakePlanner()
    timer = RequestTimer(planner)
    timer.ask(request(1))
    timer.ask(request(2))  # replaces it
    planner.answer = answer(1)  # and is not what this answers
    timer.poll(0.0)
    assert timer.pending
    planner.takes = False
    assert not timer.ask(request(3))
    planner.answer = answer(2)
    timer.poll(0.0)
    planner.takes = True
    timer.ask(request(4))
    planner.problem = "ended"
    assert not timer.pending  # nobody would answer
    assert timer.problem == "ended"
    timer.give_up()
    timer.give_up()
    assert [each.outcome for each in timer.results] == [UNANSWERED, "around", UNANSWERED]
    assert timer.results[0].seconds is None
    timer.close()
    assert planner.closed


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of other processes")
def test_cpu_time_of_a_process_grows_with_its_work_and_is_none_of_no_process():
    before = process_time(os.getpid())
    total = 0
    while process_time(os.getpid()) < before + 0.01:
        total += 1
    assert total > 0
    assert process_time(2**22 + 1) is None  # above the largest number that Linux gives a process


# ---- control steps


class FakeCell:
    """Its steps last as told, on the fake clock."""

    def __init__(self, clock, lasts):
        self.period, self.detour = 0.01, None
        self.plant = SimpleNamespace(contacts=0)
        self.times, self.advanced = [], []
        self._clock, self._lasts = clock, iter(lasts)

    def reset(self):
        """Nothing to reset."""

    def step(self, t):
        self.times.append(t)
        self._clock.t += next(self._lasts)

    def advance(self, t, dt):
        self.advanced.append((t, dt))


def paced(clock) -> RealTime:
    def sleep(seconds):
        clock.t += seconds

    return RealTime(0.01, spin=0.0, clock=lambda: round(clock.t * 1e9), sleep=sleep)


def test_steps_are_timed_from_their_beginning_and_from_their_deadline(clock):
    late = 8
    lasts = [0.001] * 20
    lasts[late] = 0.0125  # over; the next step begins 2.5 ms late
    cell = FakeCell(clock, lasts)
    timed = TimedCell(cell)
    timed.turn(paced(clock), 12)
    (turn,) = timed.turns
    assert turn.shape == (12 - WARM, 5)
    step, late_by = turn[:, 1], turn[:, 2]
    assert step[late - WARM] == pytest.approx(0.0125, abs=1e-6)  # the pace counts whole nanoseconds, and rounds
    assert late_by[late - WARM + 1] == pytest.approx(0.0025, abs=1e-6)
    others = [k for k in range(len(turn)) if k not in (late - WARM, late - WARM + 1)]
    assert np.abs(late_by[others]).max() < 1e-6
    assert np.abs(step[others] - 0.001).max() < 1e-6
    assert np.abs(turn[:, 0] - step).max() < 1e-9
    assert turn[:, 3].tolist() == [float(k == late - WARM) for k in range(len(turn))]
    assert not turn[:, 4].any()


def test_skipped_deadlines_count_and_the_plant_goes_on_meanwhile(clock):
    lasts = [0.001] * 20
    lasts[7] = 0.035  # until 5 ms after the third deadline that follows
    cell = FakeCell(clock, lasts)
    timed = TimedCell(cell)
    timed.turn(paced(clock), 10)
    assert timed.turns[0][7 - WARM : 9 - WARM, 3].tolist() == [1.0, 2.0]
    assert np.allclose(np.diff(cell.times), [0.01] * 7 + [0.03] + [0.01])
    # the period itself, then what was skipped
    assert [dt for _, dt in cell.advanced[7:9]] == pytest.approx([0.01, 0.02])
    assert timed.turns[0][8 - WARM, 2] == pytest.approx(0.005, abs=1e-6)


def test_turns_follow_each_other_and_last_until_the_answer(clock):
    planner = FakePlanner()
    timer = RequestTimer(planner)
    cell = FakeCell(clock, [0.001] * 60)
    timed = TimedCell(cell, timer)
    timed.turn(paced(clock), 10, more=5)
    assert len(cell.times) == 10
    clock.t += 3.0  # the other cell's turn
    timer.ask(request(1))
    timed.turn(paced(clock), 10, more=5)
    assert len(cell.times) == 25
    assert np.allclose(np.diff(cell.times), 0.01)
    assert not np.concatenate(timed.turns)[:, 3].any()
    assert [turn[:, 4].all() for turn in timed.turns] == [False, True]
    assert [each.outcome for each in timer.results] == [UNANSWERED]
    assert [len(turn) for turn in timed.turns] == [10 - WARM, 15 - WARM]


def test_a_cell_in_turns_moves_as_in_one_run():
    steps = 210
    scene = scene_of("panda", ASKS_SOON, Planning())
    timed = TimedCell(cell := Cell(scene), RequestTimer(Cell(scene).detour.planner))
    while len(np.concatenate(timed.turns or [np.zeros((0, 5))])) + WARM * len(timed.turns) < steps:
        timed.turn(AsFastAsPossible(cell.period), 30)
    whole = Cell(scene)
    table = run_cell(whole, cycles=steps).table()
    assert whole.detour.asked > 0
    assert cell.detour.asked == whole.detour.asked
    assert np.array_equal(cell.state.q, [table[f"q{i + 1}"][-1] for i in range(7)])


# ---- figures


def test_spreads_are_of_the_times_that_are_there():
    found = time_spread([None, *(1e-3 * k for k in range(1, 101))])
    assert (found.median, found.p95, found.p99, found.max) == pytest.approx((0.0505, 0.095, 0.099, 0.1))
    assert time_spread([None]) is None


def test_a_difference_is_that_of_all_steps_with_bounds_about_it():
    rng = np.random.default_rng(0)
    plain = [rng.gamma(2.0, 1e-4, (95, 3)) for _ in range(30)]
    slower = [turn + 1e-4 for turn in plain]
    found = difference(slower, plain, 1, 0.99)
    # the same noise in both: every draw has the same difference, but for rounding
    assert (found.value, found.low, found.high) == pytest.approx((1e-4, 1e-4, 1e-4), abs=1e-12)
    none = difference([rng.gamma(2.0, 1e-4, (95, 3)) for _ in range(30)], plain, 1, 0.5)
    assert none.low < none.value < none.high
    assert none.high - none.low > 1e-6


# ---- all of it


@pytest.fixture(scope="module")
def quick():
    """A run that reads no clock and plans in the loop."""
    return replanning.run(
        ["panda"], runs=1, seed=ASKS_SOON, duration=3.0, pace=AsFastAsPossible, background=False
    )  # fmt: skip


def test_a_report_counts_requests_and_steps(quick):
    (row,) = quick.requests
    assert row.requests == len(quick.results["panda"]) == sum(row.outcomes.values()) > 0
    assert list(row.outcomes) == [*CHOICES.values(), UNANSWERED]
    assert row.outcomes["failed"] == 0
    assert row.answers.median <= row.answers.p95 <= row.answers.max
    with_, at_work, without = quick.steps
    assert (with_.planning, at_work.planning, without.planning) == ("with", "at work", "without")
    assert 0 < at_work.steps < with_.steps
    assert without.steps == 3 * (100 - WARM)
    assert with_.steps >= without.steps
    assert quick.later[0].step_median.value == pytest.approx(with_.step.median - without.step.median, abs=2e-6)
    assert (quick.period, quick.notes) == (0.01, [])


def test_somebody_who_is_not_in_the_way_is_noted(monkeypatch):
    far = replanning.WalkSettings(start=(3.0, 1.0), end=(3.0, -1.0), shape="standing")
    monkeypatch.setattr(replanning, "walker", lambda seed: far)
    found = replanning.run(["panda"], runs=1, duration=1.0, pace=AsFastAsPossible, background=False)
    assert found.requests[0].requests == 0
    assert found.requests[0].answers is None
    assert [row.planning for row in found.steps] == ["with", "without"]
    assert found.notes == ["panda: nothing was asked for; the person of these seeds was not in its way."]


def test_the_command_prints_tables_and_writes_json(run, monkeypatch, tmp_path, quick):
    asked = []

    def measured(robots, *, progress, **options):
        asked.append((robots, options))
        progress("panda: run 1 of 1, turn 1 of 3")
        return quick

    monkeypatch.setattr(replanning, "run", measured)
    status, out, err = run("bench", "replanning", "--runs", "1", "--seed", "7")
    assert (status, err) == (0, "")
    assert asked == [(["panda"], {"runs": 1, "seed": 7})]
    words = [line.split() for line in out.splitlines()]
    row = quick.requests[0]
    assert ["panda", *map(str, (row.requests, *row.outcomes.values(), row.replans, row.dropped))] in words
    assert [line[1] for line in words if line[:1] == ["panda"]].count("with") == 1
    assert "core" in out
    assert "With planning less without, us" in out
    file = tmp_path / "replanning.json"
    assert run("bench", "replanning", "--robot", "panda", "--json", str(file))[0] == 0

    def no_such(name):
        raise AssertionError(f"{name} in a JSON file")

    data = json.loads(file.read_text(), parse_constant=no_such)
    assert data["requests"][0]["outcomes"] == row.outcomes
    assert len(data["results"]["panda"]) == row.requests
    for option in (["--plot", "x.svg"], ["--jobs", "2"]):
        status, _, err = run("bench", "replanning", *option)
        assert status == 2
        assert "does not go with replanning" in err


@pytest.mark.slow
def test_in_real_time_a_process_answers_and_is_ended():
    found = one_run("panda", ASKS_SOON, duration=4.0)
    timer = found.planned.timer
    assert isinstance(timer.planner, Background)
    assert timer.planner.pid is None
    answered = [each for each in found.requests if each.outcome != UNANSWERED]
    assert answered
    assert all(each.seconds >= each.planning > 0.0 for each in answered)
    if sys.platform.startswith("linux"):
        assert all(each.cpu > 0.0 for each in answered)
    assert found.plain.cell.detour is None
    assert not isinstance(timer.planner, Inline)
