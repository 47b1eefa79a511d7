"""Things in the way: seen when an aim is new, gone around with a margin, and not left for the straight way."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Goal, State
from elbowroom.avoidance.planning.decision import Choice, Request, _Asked, choose
from elbowroom.avoidance.planning.detour import Detour, RouteState
from elbowroom.avoidance.planning.planner import Planner
from elbowroom.avoidance.planning.settings import Planning
from elbowroom.avoidance.planning.world import World
from elbowroom.errors import ConfigError
from elbowroom.geometry import PARKED, Capsule, Person
from elbowroom.geometry.pairs import Clearance
from elbowroom.geometry.shapes import RADIUS

PERIOD = 0.01
PANDA = er.load("panda")
POST = Capsule((0.3, 0.0, 0.1), (0.3, 0.0, 1.0), 0.04)


def turned(angle):
    q = PANDA.ready.copy()
    q[0] += angle
    q[3] += 0.9  # out, to where the post is
    return q


class Loop:
    """A panda without a supervisor that should turn past a post."""

    def __init__(self, rules=None):
        self.controller = Controller(PANDA, Config(period=PERIOD, waiting=None), people=0, others=1)
        self.obstacles = self.controller.obstacles()
        self.obstacles.put(POST)
        self.detour = None if rules is None else Detour(self.controller, rules)
        self.state, self.aim = State(turned(-0.9)), PANDA.pose(turned(0.9))[:3, 3].copy()
        self.goal, self.t, self.least, self.states = Goal(self.aim), 0.0, np.inf, []
        self._clear = Clearance(self.controller.body, 1)

    def run(self, seconds):
        for _ in range(round(seconds / PERIOD)):
            self.state.t, goal = self.t, self.goal
            tool = PANDA.pose(self.state.q)[:3, 3]
            if self.detour is not None:
                goal = self.detour.step(self.t, PERIOD, self.state.q, tool, self.aim, self.obstacles) or goal
                self.states.append(self.detour.state)
            command = self.controller.step(self.t, PERIOD, self.state, self.obstacles, goal)
            self.state.qd[:] = command.qd
            self.state.q += PERIOD * command.qd
            self.t += PERIOD
            self.least = min(self.least, self._clear.of(self.state.q, POST.row()[None])[1].surfaces)
            if np.linalg.norm(tool - self.aim) < 0.01:
                return True
        return False


def test_a_post_is_gone_around_from_the_first_step_on():
    alone, loop = Loop(), Loop(Planning())
    assert not alone.run(4.0)
    assert loop.run(4.0)
    assert loop.least > 0.0
    first = loop.states.index(RouteState.AROUND)
    assert first * PERIOD < Planning().patience  # it was asked for before the arm was held up
    left = loop.states[first:]
    assert RouteState.ASKED not in left[: left.index(RouteState.NONE)] if RouteState.NONE in left else True


def test_a_thing_off_the_way_is_not_asked_about():
    loop = Loop(Planning())
    loop.obstacles.put(Capsule((-0.6, -0.6, 0.1), (-0.6, -0.6, 1.0), 0.05))
    assert loop.run(4.0)
    assert set(loop.states) == {RouteState.NONE}


def request(people, things):
    rows = np.tile(PARKED, (1, 14, 1)) if people is None else people[None]
    return Request(1, 0.0, turned(-0.9), np.zeros(3), None, rows, np.full(1, 9.0), things)


def test_margins_to_people_and_to_things():
    planner, rules = Planner(PANDA), Planning(margins=(0.3, 0.1), thing_margins=(0.02, 0.12, 0.05))
    person, thing, nothing = Person.standing((0.6, 0, 0)).rows, POST.row()[None], PARKED[None]
    somebody, nobody = np.array([True]), np.array([False])

    def margins(who, things):
        return _Asked(planner, request(person, things), rules).margins(who)

    assert margins(somebody, nothing) == [(0.3, 0.0), (0.1, 0.0)]
    assert margins(somebody, thing) == [(0.3, 0.12), (0.1, 0.1), (0.1, 0.05), (0.1, 0.02)]
    assert margins(nobody, thing) == [(0.12, 0.12), (0.05, 0.05), (0.02, 0.02)]
    assert margins(nobody, nothing) == [(0.3, 0.0)]
    with pytest.raises(ConfigError, match="thing_margins"):
        Planning(thing_margins=())


@pytest.mark.parametrize(
    ("stood", "expected"),
    [
        (0.0, [(0.6, 0.12), (0.6, 0.05)]),  # who moves is not come nearer to
        (9.0, [(0.6, 0.12), (0.35, 0.12), (0.1, 0.1), (0.1, 0.05)]),
    ],
)
def test_margins_while_anybody_moves(stood, expected):
    asked = request(Person.standing((0.6, 0, 0)).rows, POST.row()[None])
    asked = dataclasses.replace(asked, stood=np.array([stood]))
    rules = Planning(margins=(0.35, 0.1), thing_margins=(0.12, 0.05), moving_margin=0.6)
    assert _Asked(Planner(PANDA), asked, rules).margins(np.array([True]), hurry=True) == expected


def test_the_world_has_people_who_move_with_more_room():
    people = np.stack([Person.standing((x, 0, 0)).rows for x in (0.6, 1.2)])
    asked = Request(1, 0.0, turned(-0.9), np.zeros(3), None, people, np.array([9.0, 0.0]), np.zeros((0, 13)))
    made = _Asked(Planner(PANDA), asked, Planning(moving_margin=0.5)).world(np.array([True, True]), 0.1)
    grown = made.capsules[:, RADIUS].reshape(2, -1) - people[:, :, RADIUS]
    assert np.allclose(grown[0], 0.1)
    assert np.allclose(grown[1], 0.5)


@pytest.mark.parametrize(("stood", "least"), [(0.0, 0.6), (9.0, 0.08)])
def test_a_route_keeps_the_margin_of_people_who_move(monkeypatch, stood, least):
    """Where no margin has a way: somebody who stands is tried closely, somebody who moves is not."""
    tried = []

    def nowhere(self, who, margin, thing_margin, part, tries):
        tried.append(margin)

    monkeypatch.setattr(_Asked, "_with", nowhere)
    rows = Person.standing((0.6, 0, 0)).rows[None]
    aim = PANDA.pose(turned(0.9))[:3, 3]
    asked = Request(1, 0.0, turned(-0.9), aim, None, rows, np.array([stood]), np.zeros((0, 13)))
    answer = choose(Planner(PANDA), asked, Planning(), repeatable=True)
    assert answer.choice is Choice.NO_WAY
    assert min(tried) == least


@pytest.mark.parametrize(
    ("choice", "x", "margin", "answer"),
    [
        ("wait", 1.3, 0.6, Choice.REACHABLE),
        ("around", 1.3, 0.6, Choice.REACHABLE),  # beside the post the field reaches less far
        ("around", 1.3, 0.1, Choice.AROUND),
        ("around", 9.0, 0.6, Choice.AROUND),
    ],
)
def test_around_a_thing_while_somebody_moves(choice, x, margin, answer):
    rows, aim = Person.standing((x, 0, 0)).rows[None], PANDA.pose(turned(0.9))[:3, 3]
    asked = Request(1, 0.0, turned(-0.9), aim, None, rows, np.zeros(1), POST.row()[None])
    rules = Planning(moving_people=choice, moving_margin=margin)
    assert choose(Planner(PANDA), asked, rules, repeatable=True).choice is answer


def test_things_out_of_reach_change_no_margin():
    planner, rules = Planner(PANDA), Planning()
    person, far = Person.standing((0.6, 0, 0)).rows, Capsule((4.0, 0.0, 0.0), (4.0, 0.0, 1.0), 0.1).row()[None]
    asked = _Asked(planner, request(person, far), rules)
    assert asked.margins(np.array([True])) == [(each, 0.0) for each in rules.margins]


def test_a_thing_that_is_put_on_the_route_ends_it():
    loop = Loop(Planning())
    loop.run(0.4)
    assert loop.detour.state is RouteState.AROUND
    tool = PANDA.pose(loop.detour.follower.route.q[-1])[:3, 3]
    up = np.array([0.0, 0.0, 0.1])
    loop.obstacles.put(Capsule(tool - up, tool + up, 0.15))
    loop.run(0.1)
    assert loop.detour.replans == 1


class TestMargins:
    """Of several margins the widest is kept, unless a narrower one is worth it."""

    def best(self, x, margins):
        post = Capsule((x, 0.0, 0.0), (x, 0.0, 1.0), 0.04)
        nobody = np.zeros((0, 13, 13)), np.zeros(0)
        aim = PANDA.pose(turned(0.9))[:3, 3]
        request = Request(1, 0.0, turned(-0.9), aim, None, *nobody, post.row()[None])
        work = _Asked(Planner(PANDA, tool_speed=0.8), request, Planning(thing_margins=margins), repeatable=True)
        margin, route = work.best(np.zeros(0, dtype=bool))
        return margin, route.duration

    def test_a_narrower_one_where_that_is_much_quicker(self):
        """8 cm from this post the arm must go around it, 4 cm from it straight past."""
        _, long = self.best(0.25, (0.08,))
        _, short = self.best(0.25, (0.04,))
        assert short < 0.8 * long
        assert self.best(0.25, (0.08, 0.04)) == (0.04, short)

    def test_the_widest_where_that_is_as_quick(self):
        assert self.best(0.35, (0.12, 0.04))[0] == 0.12


def test_rounds_bound_a_plan_with_all_its_tries():
    """The budget of a run that must be repeatable, whatever the clock says; half of it once there is a way."""
    planner = Planner(PANDA, tool_speed=0.8)
    world = World([Capsule((0.25, 0.0, 0.0), (0.25, 0.0, 1.0), 0.04)])
    aim = PANDA.pose(turned(0.9))[:3, 3]
    some, many = (
        planner.plan(turned(-0.9), Goal(aim), world, margin=0.08, rounds=rounds, tries=100) for rounds in (40, 400)
    )
    assert some.reached
    assert some.rounds <= 40 < many.rounds <= 400
