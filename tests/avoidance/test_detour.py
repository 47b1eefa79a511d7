"""Detours: an arm that is held up goes around; answers that will not do are dropped, and the arm goes on without."""

from __future__ import annotations

import dataclasses
import logging

import numpy as np
import pytest
from planner_scenes import RULES, HeldUp

import elbowroom as er
from elbowroom.avoidance.planning.decision import Answer, Choice, Request, choose, could_come
from elbowroom.avoidance.planning.detour import WITHOUT, RouteState
from elbowroom.avoidance.planning.follower import SampledRoute
from elbowroom.avoidance.planning.planner import Planner
from elbowroom.avoidance.planning.settings import Planning
from elbowroom.avoidance.planning.world import World
from elbowroom.errors import ConfigError
from elbowroom.geometry import PARKED, Person
from elbowroom.geometry.shapes import RADIUS, VELOCITY_A, VELOCITY_B, A, B


@pytest.fixture(scope="module")
def arm():
    return er.load("panda")


@pytest.fixture(scope="module")
def planner(arm):
    return Planner(arm)


class Scripted:
    """A planner that says what a test wants: `answer(request)` at the next poll."""

    def __init__(self, answer=lambda request: None, takes=True):
        self.answer, self.takes, self.requests, self.problem = answer, takes, [], ""
        self._next = None

    def ask(self, request):
        self.requests.append(request)
        self._next = self.answer(request)
        return self.takes

    def poll(self, t):
        found, self._next = self._next, None
        return found

    def close(self):
        pass


def straight(request, end, seconds=2.0, samples=128):
    """A straight route of joints, whatever is in the way."""
    part = np.linspace(0.0, 1.0, samples)[:, None]
    smooth, rate = part**2 * (3 - 2 * part), 6 * part * (1 - part) / seconds
    way = end - request.q
    return SampledRoute(request.q + smooth * way, rate * way, seconds)


def around(request, route, **changes):
    said = Answer(request.number, request.t, Choice.AROUND, request.aim, 0.1, 0.0, route)
    return dataclasses.replace(said, **changes)


class TestGoingAround:
    def test_reaches_what_the_arm_alone_does_not(self, arm):
        alone, loop = HeldUp(arm, None), HeldUp(arm)
        assert not alone.run(4.0)
        assert loop.run(4.0)
        assert loop.least > 0.0
        assert loop.guard.latched is None
        assert loop.texts == ["", "looking for a way around torso", "going around torso"]

    def test_is_repeatable(self, arm):
        first, second = HeldUp(arm), HeldUp(arm)
        assert first.run(3.0) == second.run(3.0)
        assert np.array_equal(first.state.q, second.state.q)

    def test_leaves_an_arm_that_gets_on_alone(self, arm):
        """With the person out of the way both do the very same."""
        alone, loop = HeldUp(arm, None, where=(2.0, 0.0)), HeldUp(arm, where=(2.0, 0.0))
        alone.run(2.0)
        loop.run(2.0)
        assert np.array_equal(alone.state.q, loop.state.q)
        assert loop.detour.asked == 0

    def test_waits_where_there_is_no_way(self, arm):
        loop = HeldUp(arm, planner=Scripted(lambda r: Answer(r.number, r.t, Choice.NO_WAY, r.aim)))
        loop.run(3.0)
        assert loop.texts[-1] == "waiting: no way around torso"
        assert loop.detour.state is RouteState.NO_WAY
        assert 2 <= loop.detour.asked <= 4  # again after `again`, 1 s; not in every step

    def test_a_route_that_people_step_into_is_given_up(self, arm):
        loop = HeldUp(arm)
        assert loop.run(3.0, until=lambda loop: loop.detour.state is RouteState.AROUND)
        ahead = loop.detour.follower.route.at(loop.detour.follower.clock + 0.3).q
        x, y = arm.pose(ahead)[:2, 3]
        loop.person = Person.standing((x, y, -0.4))
        loop.run(0.1, until=lambda loop: False)
        assert loop.detour.replans == 1
        assert not loop.detour.follower.active
        assert loop.controller._overrides == {}  # the field is back

    def test_a_long_route_is_left_when_people_have_gone(self, arm):
        slow = Scripted(lambda r: around(r, straight(r, r.q + 0.02, seconds=20.0)))
        loop = HeldUp(arm, planner=slow)
        assert loop.run(3.0, until=lambda loop: loop.detour.state is RouteState.AROUND)
        loop.run(0.3, until=lambda loop: False)
        assert loop.detour.follower.active  # while they stand there
        loop.person = Person.standing((3.0, 3.0, -0.4))
        assert loop.run(1.0, until=lambda loop: not loop.detour.follower.active)
        assert loop.run(3.0)

    def test_works_beside_a_person_who_stands_and_stops_it_when_they_move(self, arm):
        loop = HeldUp(arm)
        assert loop.run(4.0)
        assert loop.run(2.0, until=lambda loop: loop.detour.state is RouteState.BESIDE)
        assert loop.detour.text == "working beside torso"
        assert loop.controller._overrides
        loop.person = Person.standing((0.55, 0.3, -0.4))
        loop.step()
        loop.step()
        loop.step()
        assert loop.controller._overrides == {}

    def test_gives_up_the_route_while_the_arm_is_stopped(self, arm):
        loop = HeldUp(arm)
        assert loop.run(3.0, until=lambda loop: loop.detour.state is RouteState.AROUND)
        loop.guard.stop("a test")
        loop.step()
        loop.step()
        assert not loop.detour.follower.active
        assert loop.controller._overrides == {}

    def test_the_field_is_back_after_a_stop_beside_somebody(self, arm):
        loop = HeldUp(arm)
        assert loop.run(4.0)
        assert loop.run(2.0, until=lambda loop: loop.detour.state is RouteState.BESIDE)
        loop.guard.stop("a test")
        loop.step()
        loop.step()
        assert loop.detour.state is RouteState.NONE
        assert loop.controller._overrides == {}

    def test_the_field_is_back_after_an_error_beside_somebody(self, arm):
        def broken(t):
            raise RuntimeError("broken")

        loop = HeldUp(arm)
        assert loop.run(4.0)
        assert loop.run(2.0, until=lambda loop: loop.detour.state is RouteState.BESIDE)
        loop.detour.planner.poll = broken
        loop.step()
        assert loop.detour.state is RouteState.WITHOUT
        assert loop.controller._overrides == {}

    def test_a_joint_measured_a_hair_beyond_its_limit_does_not_block_a_route(self, arm):
        loop = HeldUp(arm)
        assert loop.run(3.0, until=lambda loop: loop.detour.state is RouteState.AROUND)
        q, upper = loop.state.q, loop.detour.lookout.checker.upper.copy()
        upper[6] = q[6] - 1e-9
        loop.detour.lookout.checker.upper = upper
        route = loop.detour.follower.route
        route.q[:, 6] = np.minimum(route.q[:, 6], upper[6])
        loop.step()
        loop.step()
        loop.step()
        assert (loop.detour.state, loop.detour.replans) == (RouteState.AROUND, 0)


class TestSomebodyMoves:
    """A route with little room, or with `moving_people` = "wait" any, is not set out on if they could come to it."""

    def to_and_fro(self, loop):
        """A person beside the route who does not stand for as long as 0.6 s."""
        loop.person = Person.standing((0.55, 0.15 * abs(1.0 - (loop.t / 0.3) % 2.0), -0.4))
        return loop.detour.state is RouteState.AROUND

    def test_the_arm_waits_for_them_to_stand_and_says_so(self, arm):
        loop = HeldUp(arm, Planning(moving_people="wait"))
        assert not loop.run(4.0, until=self.to_and_fro)
        assert "waiting to go around torso: somebody moves who could reach the route" in loop.texts
        assert "going around torso" not in loop.texts
        assert loop.detour.state is RouteState.REACHABLE
        assert loop.detour.state.waits

    def test_beside_the_same_person_a_route_is_taken_where_they_are_to_be_gone_around(self, arm):
        loop = HeldUp(arm, Planning(moving_margin=0.1))
        assert loop.run(4.0, until=self.to_and_fro)

    @pytest.mark.parametrize("choice", ["wait", "around"])
    def test_sets_out_as_soon_as_they_stand(self, arm, choice):
        """Not only when it would have asked again."""
        loop = HeldUp(arm, Planning(moving_people=choice, moving_margin=2.0, again=30.0))  # m: there is no such way
        loop.run(2.5, until=self.to_and_fro)
        assert loop.detour.state is not RouteState.AROUND
        asked, stood = loop.detour.asked, loop.t
        assert loop.run(3.0, until=lambda loop: loop.detour.state is RouteState.AROUND)
        rules = loop.detour.rules
        assert loop.t - stood < rules.still_after + rules.latency + 0.1  # s: since `stood`, or a moment before
        assert loop.detour.asked == asked + 1

    def test_a_planner_that_then_refuses_is_not_asked_with_every_step(self, arm):
        """Once nobody moves it is asked at once, and from then on every 0.1 s until it takes the request."""
        refusing = Scripted(lambda r: Answer(r.number, r.t, Choice.REACHABLE, r.aim))
        loop = HeldUp(arm, Planning(again=30.0), planner=refusing)
        assert loop.run(2.5, until=lambda loop: loop.detour.state is RouteState.REACHABLE)
        refusing.takes, before = False, len(refusing.requests)
        loop.run(3.0)
        assert 5 <= len(refusing.requests) - before <= 31  # every 0.1 s

    @pytest.mark.parametrize(
        ("choice", "room", "follows"), [("wait", 0.1, False), ("around", 0.1, True), ("around", 0.6, False)]
    )
    def test_somebody_who_begins_to_move_while_it_is_planned(self, arm, choice, room, follows):
        """Whoever stood when it was asked for and moves when the answer comes."""

        class Later(Scripted):
            def poll(self, t):
                return super().poll(t) if self.requests and t > self.requests[-1].t + 0.05 else None

        rules = Planning(moving_people=choice, moving_margin=room, still_after=0.2, still_within=0.02)
        loop = HeldUp(arm, rules, planner=Later(lambda r: around(r, straight(r, r.q + 0.02))))
        assert loop.run(1.5, until=lambda loop: bool(loop.detour.planner.requests))
        loop.person = Person.standing((0.6, 0.0, -0.4))
        loop.run(0.1)
        followed = loop.detour.state is RouteState.AROUND
        assert followed is follows
        assert loop.detour.state in (RouteState.AROUND, RouteState.REACHABLE)


class TestF31Wrong:
    """F31, wrong: what the planner says is looked at again before it is done."""

    def dropped(self, arm, answer, seconds=1.2):
        loop = HeldUp(arm, planner=Scripted(answer))
        loop.run(seconds, until=lambda loop: loop.detour.dropped > 0)
        assert loop.detour.dropped == 1
        assert not loop.detour.follower.active
        assert loop.guard.latched is None
        return loop

    def test_a_route_in_collision(self, arm):
        through = arm.ready.copy()
        through[1] += 0.6  # straight ahead, into the person
        self.dropped(arm, lambda r: around(r, straight(r, through)))

    def test_the_same_route_is_taken_with_nobody_there(self, arm):
        """So that the test above cannot pass for another reason."""
        through = arm.ready.copy()
        through[1] += 0.6
        loop = HeldUp(arm, planner=Scripted(lambda r: around(r, straight(r, through))))
        loop.run(1.2, until=lambda loop: bool(loop.detour.planner.requests))
        loop.obstacles.rows[:] = PARKED
        loop.detour._begin(
            loop.t, loop.state.q, straight(loop.detour.planner.requests[0], through), 0.1, loop.obstacles
        )
        assert loop.detour.follower.active

    def test_a_late_one(self, arm):
        self.dropped(arm, lambda r: around(r, straight(r, r.q + 0.01), t=r.t - RULES.latest - 0.5))

    def test_one_for_another_aim(self, arm):
        self.dropped(arm, lambda r: around(r, straight(r, r.q + 0.01), aim=r.aim + 0.3))

    def test_one_to_an_older_request(self, arm):
        self.dropped(arm, lambda r: around(r, straight(r, r.q + 0.01), number=r.number - 1))

    def test_one_that_begins_elsewhere(self, arm):
        away = lambda r: SampledRoute(r.q + np.array([[1.0], [1.1]]), np.zeros((2, arm.n)), 1.0)  # noqa: E731
        self.dropped(arm, lambda r: around(r, away(r)))

    def test_one_for_another_arm(self, arm):
        self.dropped(arm, lambda r: around(r, SampledRoute(np.zeros((2, 3)), np.zeros((2, 3)), 1.0)))

    @pytest.mark.parametrize("margin", [np.nan, -1.0, 1e-6, 1e6])
    def test_one_with_a_margin_that_was_not_asked_for(self, arm, margin):
        self.dropped(arm, lambda r: around(r, straight(r, r.q + 0.01), margin=margin))

    def test_a_planner_that_raised(self, arm):
        self.dropped(arm, lambda r: Answer(r.number, r.t, Choice.FAILED, r.aim, problem="ZeroDivisionError"))


class TestF31Late:
    """F31, late or dead: the arm goes on as without it, and says so."""

    @pytest.mark.parametrize("planner", [Scripted(), Scripted(takes=False)], ids=["silent", "starting"])
    def test_the_very_same_steps_as_without(self, arm, planner):
        alone, loop = HeldUp(arm, None), HeldUp(arm, planner=planner)
        alone.run(3.0)
        loop.run(3.0)
        assert np.array_equal(alone.state.q, loop.state.q)

    def test_is_reported_once(self, arm, caplog):
        loop = HeldUp(arm, planner=Scripted())
        with caplog.at_level(logging.WARNING, logger="elbowroom.planning"):
            loop.run(5.0, until=lambda loop: False)
        assert loop.detour.state in (RouteState.WITHOUT, RouteState.ASKED)
        assert WITHOUT in loop.texts
        assert [record.message for record in caplog.records] == [f"{WITHOUT} (no answer)"]

    def test_one_that_raises_in_the_loop(self, arm):
        def raises(request):
            raise RuntimeError("broken")

        alone, loop = HeldUp(arm, None), HeldUp(arm, planner=Scripted(raises))
        alone.run(2.0)
        loop.run(2.0)
        assert np.array_equal(alone.state.q, loop.state.q)
        assert WITHOUT in loop.texts


class TestChoosing:
    def asked(self, arm, still, velocity=(0.0, 0.0, 0.0), where=(0.55, 0.0)):
        loop = HeldUp(arm, None, where=where)
        rows = np.array(loop.person.rows)
        rows[:, VELOCITY_A] = rows[:, VELOCITY_B] = velocity
        return Request(1, 0.0, loop.start, loop.aim, None, rows[None], np.array([60.0 * still]), np.zeros((0, 13)))

    def test_around_one_who_stands(self, arm, planner):
        asked = self.asked(arm, True)
        answer = choose(planner, asked, Planning(), repeatable=True)
        assert answer.choice is Choice.AROUND
        assert np.allclose(answer.route.q[0], asked.q)
        assert np.linalg.norm(arm.pose(answer.route.q[-1])[:3, 3] - asked.aim) < 1e-3  # m, of inverse kinematics
        clear = planner.checker.clearance(answer.route.q, World.of_rows(asked.people[0]))
        least = planner.checker.clearance(answer.route.q, World())  # the arm from itself
        assert (np.minimum(clear, least) >= np.minimum(least, answer.margin - 0.01)).all()

    def test_the_widest_margin_first(self, arm, planner):
        wide = choose(planner, self.asked(arm, True, where=(0.9, 0.0)), Planning(margins=(0.3, 0.05)), repeatable=True)
        near = choose(planner, self.asked(arm, True), Planning(margins=(2.0, 0.05)), repeatable=True)
        assert (wide.margin, near.margin) == (0.3, 0.05)

    def test_waits_for_one_who_walks_away(self, arm, planner):
        """Through where they are now costs more than to wait until they are gone; who stands there is gone around."""
        away = self.asked(arm, False, velocity=(1.5, 0.0, 0.0))
        rules = Planning(uncertainty=0.0, margins=(0.15,))
        costs = {}
        from elbowroom.avoidance.planning.decision import _Asked

        work = _Asked(planner, away, rules, repeatable=True)
        _, through = work.best(np.array([False]))
        for delay in (0.0, 1.0):
            costs[delay] = work.costs(through, (delay,), np.array([True]))[0] - delay
        assert costs[1.0] < costs[0.0]  # later the way is clear

    @pytest.mark.parametrize(
        ("choice", "x", "answer"),
        [
            ("wait", 1.2, Choice.REACHABLE),
            ("wait", 3.0, Choice.AROUND),
            ("around", 1.2, Choice.REACHABLE),
            ("around", 3.0, Choice.AROUND),
        ],
    )
    def test_another_who_moves(self, arm, planner, choice, x, answer):
        """Somebody stands in the way, a second person moves: near, or too far away to come to the route in its time."""
        asked = self.asked(arm, True, where=(0.7, 0.0))
        moves = Person.standing((x, 0.0, -0.4)).rows
        both = dataclasses.replace(asked, people=np.stack([asked.people[0], moves]), stood=np.array([60.0, 0.0]))
        found = choose(planner, both, Planning(moving_people=choice), repeatable=True)
        assert found.choice is answer
        if (choice, answer) == ("wait", Choice.AROUND):  # and no reason for another route
            alone = choose(planner, asked, Planning(), repeatable=True)
            assert np.array_equal(found.route.q, alone.route.q)

    def test_one_who_moves_far_away_closes_no_narrow_way_past_another_who_stands(self, arm, planner):
        asked = self.asked(arm, True)
        moves = Person.standing((9.0, 0.0, -0.4)).rows
        both = dataclasses.replace(asked, people=np.stack([asked.people[0], moves]), stood=np.array([60.0, 0.0]))
        found = choose(planner, both, Planning(margins=(0.1,)), repeatable=True)
        assert (found.choice, found.margin) == (Choice.AROUND, 0.1)

    @pytest.mark.parametrize("velocity", [(0.0, 0.0, 0.0), (-0.3, 0.0, 0.0), (1.5, 0.0, 0.0)])
    def test_no_route_comes_near_to_where_somebody_who_moves_is_expected(self, arm, planner, velocity):
        """Nearer than half of `moving_margin`, at the time when the arm would be there."""
        asked, rules = self.asked(arm, False, velocity), Planning(moving_margin=0.4, uncertainty=0.0)
        found = choose(planner, asked, rules, repeatable=True)
        least = 0.5 * 0.4 - 0.05  # m: looked at in 16 places, which the arm may pass later than `expected_room` has it
        if found.route is None:
            assert found.choice in (Choice.NO_WAY, Choice.WAIT)
        else:
            assert self.expected_room(planner, asked, found.route, velocity) > least
        careless = choose(planner, asked, dataclasses.replace(rules, kept=1e-9), repeatable=True)
        if velocity[0] < 0.0:  # towards the arm: the rule is what keeps it from that way
            assert careless.route is not None
            assert self.expected_room(planner, asked, careless.route, velocity) < 0.5 * 0.4

    def expected_room(self, planner, asked, route, velocity):
        """The least distance (m) on a route to somebody who keeps a velocity."""
        clear = []
        for part in np.linspace(0.0, 1.0, 20):
            people = asked.people[0].copy()
            people[:, A] += part * route.duration * np.array(velocity)
            people[:, B] += part * route.duration * np.array(velocity)
            q = route.at(part * route.duration).q
            clear.append(planner.checker.against(World.of_rows(people)).each(q[None])[0, 0])
        return min(clear)

    def test_who_could_come_to_a_route(self, arm, planner):
        """At `hand_speed` from where they are, `latency` before the arm sets out, to where it is by then."""
        asked = self.asked(arm, True)
        route = straight(asked, asked.q)  # it stands for 2 s
        far = float(planner.checker.against(World.of_rows(asked.people[0])).each(asked.q[None])[0, 0])
        assert far > 0.1
        for speed, clock, comes in (
            (far / 2.15, 0.0, False), (far / 2.05, 0.0, True), (far / 2.05, 1.0, False), (far / 1.05, 1.0, True),
        ):  # fmt: skip
            rules = Planning(hand_speed=speed, latency=0.1)
            assert could_come(planner.checker, route, clock, asked.people[0], rules) is comes, (speed, clock)

    def test_what_is_done_about_them_is_one_of_two(self):
        with pytest.raises(ConfigError, match="moving_people"):
            Planning(moving_people="go")

    def test_a_long_way_around_is_taken_once_they_have_stood_for_as_long(self, arm, planner):
        """At a hundredth of a metre a second any way around takes minutes more than the straight one."""
        asked, slow = self.asked(arm, True), Planning(speed=0.01, still_after=0.5)
        for stood, choice in ((1.0, Choice.WAIT), (1e5, Choice.AROUND)):
            answer = choose(planner, dataclasses.replace(asked, stood=np.array([stood])), slow, repeatable=True)
            assert answer.choice is choice

    def test_no_way_out_of_a_cage(self, arm, planner):
        asked = self.asked(arm, True)
        tool = arm.pose(asked.q)[:3, 3]
        ring = [Person.cylinder((tool[0] + x, tool[1] + y, -0.4), height=3.0, radius=0.1).rows for x, y in RING]
        caged = dataclasses.replace(asked, people=np.concatenate(ring)[None])
        answer = choose(planner, caged, Planning(rounds=20), repeatable=True)
        assert answer.choice is Choice.NO_WAY


RING = [(0.3 * np.cos(a), 0.3 * np.sin(a)) for a in np.linspace(-1.2, 1.2, 9)] + [
    (0.3 * np.cos(a), 0.3 * np.sin(a)) for a in np.linspace(1.4, 4.9, 9)
]


class TestLookout:
    """Whether a route is free is looked at from the arm on, with people as they will be, group by group of links."""

    @pytest.fixture
    def loop(self, arm):
        return HeldUp(arm, where=(3.0, 3.0))

    def looked(self, loop, route, q=None):
        """Whether it is blocked, after a frame of a person who has not stood for long."""
        lookout, shown = loop.detour.lookout, loop.obstacles
        lookout.reset()
        loop.t += 1.0
        shown.see(loop.person, loop.t)
        lookout.look(loop.t, shown)
        return lookout.blocked(route.q[0] if q is None else q, route, 0.0, 0.1, shown)

    def route(self, loop):
        request = Request(
            1, 0.0, loop.turned(-1.2), loop.aim, None, np.zeros((1, 13, 13)), np.zeros(1), np.zeros((0, 13))
        )
        return straight(request, loop.turned(1.2))

    def test_one_who_walks_into_it_blocks_it_before_being_there(self, arm, loop):
        route = self.route(loop)
        x, y, _ = arm.pose(route.at(0.9).q)[:3, 3]
        standing = Person.standing((x + 1.0, y, -0.4))
        for speed, blocks in ((0.0, False), (-2.5, True), (2.5, False)):  # m/s; to the tool's place it is 0.4 s
            rows = standing.rows.copy()
            rows[:, VELOCITY_A] = rows[:, VELOCITY_B] = (speed, 0.0, 0.0)
            loop.person = dataclasses.replace(standing, rows=rows)
            assert self.looked(loop, route) is blocks

    def test_what_lies_between_an_arm_that_lags_and_its_route_is_looked_at(self, arm, loop):
        """The arm and the route are free, a post between them is not."""
        ready, turn = arm.ready, np.eye(arm.n)[0]
        ways = np.linspace(0.0, 1.2, 128)[:, None] * turn
        route, lag = SampledRoute(ready + ways, np.tile(0.6 * turn, (128, 1)), 2.0), ready - turn
        x, y, _ = arm.pose(ready - 0.5 * turn)[:3, 3]
        rows = loop.person.rows.copy()
        rows[:, A], rows[:, B], rows[:, RADIUS] = (x, y, 0.0), (x, y, 1.2), 0.01
        loop.person = dataclasses.replace(loop.person, rows=rows)
        assert not self.looked(loop, route)
        assert self.looked(loop, route, lag)

    def test_links_that_overlap_do_not_excuse_others(self, loop, monkeypatch):
        slack = np.ones((3, 200))
        slack[1] = -0.01  # a group that overlaps from the start on

        class Known:
            def each(self, q):
                return slack[:, : len(q)]

        monkeypatch.setattr(loop.detour.lookout.checker, "against", lambda *_: Known())
        assert not self.looked(loop, self.route(loop))
        slack[2, 5] = -0.005  # another, later on
        assert self.looked(loop, self.route(loop))
        slack[2], slack[1, 5] = 1.0, -0.02  # the same, by more
        assert self.looked(loop, self.route(loop))
